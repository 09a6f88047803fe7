//! Tuples that are ordered by a stored number, and otherwise as they came: one word for each says
//! where it stands. Counts and times mostly lie so near one another that the word has room for the
//! tuple's number as well, and is sorted in half the time of a place of [`super::sort`].

use super::Tuples;
use super::stored::StoredNumber;
use crate::key::NumberOrder;
use crate::store::Buf;

/// The ranks of tuples, by the tuples' numbers.
pub(super) struct Ranks {
    number: StoredNumber,
    order: NumberOrder,
    /// Whether the last of equal tuples comes first.
    reversed: bool,
    words: Vec<u64>,
}

impl Ranks {
    pub(super) fn new((number, order): (StoredNumber, NumberOrder), reversed: bool) -> Self {
        Ranks {
            number,
            order,
            reversed,
            words: Vec::new(),
        }
    }

    /// How many tuples have one.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Ranks the tuples that have none; false at the first whose number is not where most are.
    #[inline(never)]
    pub(super) fn add<B: Buf>(&mut self, tuples: &Tuples<B>) -> bool {
        let Ranks { number, order, .. } = *self;
        let words = &mut self.words;
        words.reserve(tuples.len() - words.len());
        for (_, tuple) in tuples.rest(words.len()) {
            let Some(number) = number.read(tuple) else {
                return false;
            };
            words.push(order.rank(number));
        }
        true
    }

    /// The numbers of the tuples in their order; the ranks as they were where they are too far from
    /// one another.
    pub(super) fn sorted(mut self) -> Result<Vec<u64>, Self> {
        if sort(&mut self.words, self.reversed) {
            Ok(self.words)
        } else {
            Err(self)
        }
    }

    /// The encoded numbers of the tuples, from the highest byte on.
    pub(super) fn heads(self) -> impl Iterator<Item = u128> {
        let order = self.order;
        self.words.into_iter().map(move |rank| order.head(rank))
    }
}

/// Puts the numbers of words in the order of the words in the place of these, equal ones up or down.
/// False, and nothing done, where the words are too far from one another.
fn sort(words: &mut [u64], reversed: bool) -> bool {
    let (Some(&least), Some(&most)) = (words.iter().min(), words.iter().max()) else {
        return true;
    };
    let bits = usize::BITS - words.len().leading_zeros();
    if (most - least).leading_zeros() < bits {
        return false;
    }
    let mask = (1 << bits) - 1;
    let turned = if reversed { mask } else { 0 };
    for (number, word) in (0..).zip(words.iter_mut()) {
        *word = (*word - least) << bits | (number ^ turned);
    }
    words.sort_unstable();
    for word in words {
        *word = (*word & mask) ^ turned;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Near ones are sorted as a stable sort does it, far ones are left as they are.
        #[test]
        fn as_a_stable_sort(
            least: u64,
            near in prop::collection::vec(prop_oneof![0_u64..4, 0_u64..1 << 20, any::<u64>()], 0..80),
            reversed: bool,
        ) {
            let words: Vec<u64> = near.iter().map(|word| least.saturating_add(*word)).collect();
            let mut expected: Vec<u64> = (0..words.len() as u64).collect();
            if reversed {
                expected.reverse();
            }
            expected.sort_by_key(|&number| words[number as usize]);
            let mut sorted = words.clone();
            if sort(&mut sorted, reversed) {
                prop_assert_eq!(sorted, expected);
            } else {
                let spread = words.iter().max().unwrap() - words.iter().min().unwrap();
                prop_assert!(spread >= 1 << 57);
                prop_assert_eq!(sorted, words);
            }
        }
    }
}
