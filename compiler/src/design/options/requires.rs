//! What a plan requires: candidates, and columns of them.

use crate::design::marks::{marks, may_be_within};
use crate::design::shape::{Requirement, ShapeId};

/// A set of requirements. Partial plans hold few and are copied by the thousand, so they are in one
/// piece, in order, with a word of marks that settles most comparisons.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Requires {
    sorted: Vec<Requirement>,
    /// Those of its members.
    marks: u64,
}

impl Requires {
    /// Adds one; true where it is new.
    pub(super) fn insert(&mut self, r: Requirement) -> bool {
        let Err(at) = self.sorted.binary_search(&r) else {
            return false;
        };
        self.sorted.insert(at, r);
        self.marks |= mark(&r);
        true
    }

    pub(super) fn extend(&mut self, other: &Requires) {
        for &r in &other.sorted {
            self.insert(r);
        }
    }

    pub(super) fn contains(&self, r: &Requirement) -> bool {
        may_be_within(mark(r), self.marks) && self.sorted.binary_search(r).is_ok()
    }

    pub(crate) fn is_subset(&self, other: &Requires) -> bool {
        if !may_be_within(self.marks, other.marks) || self.len() > other.len() {
            return false;
        }
        // Both are in order: what is behind one member is behind those before it, too.
        let mut others = other.sorted.iter();
        self.sorted.iter().all(|r| others.any(|o| o == r))
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The candidates, each with the columns of it.
    pub(crate) fn by_shape(&self) -> impl Iterator<Item = (ShapeId, Vec<usize>)> {
        let shapes = self.sorted.chunk_by(|a, b| a.shape == b.shape);
        shapes.filter_map(|of| {
            let columns = of.iter().filter_map(|r| r.column);
            Some((of.first()?.shape, columns.collect()))
        })
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Requirement> {
        self.sorted.iter()
    }
}

impl<'a> IntoIterator for &'a Requires {
    type Item = &'a Requirement;
    type IntoIter = std::slice::Iter<'a, Requirement>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn mark(r: &Requirement) -> u64 {
    marks(std::iter::once(r.shape * 7 + r.column.map_or(0, |c| c + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn members() -> impl Strategy<Value = BTreeSet<Requirement>> {
        let one = (0usize..6, prop::option::of(0usize..4));
        let one = one.prop_map(|(shape, column)| Requirement { shape, column });
        prop::collection::btree_set(one, 0..12)
    }

    fn required(members: &BTreeSet<Requirement>) -> Requires {
        let mut out = Requires::default();
        // In the order in which it is hardest.
        for &r in members.iter().rev() {
            assert!(out.insert(r));
        }
        out
    }

    proptest! {
        /// It says what a set says.
        #[test]
        fn is_a_set(a in members(), b in members()) {
            let (small, large) = (required(&a), required(&b));
            prop_assert!(small.iter().eq(a.iter()));
            prop_assert_eq!(small.is_subset(&large), a.is_subset(&b));
            prop_assert!(a.iter().all(|r| large.contains(r) == b.contains(r)));
            let mut both = small.clone();
            both.extend(&large);
            let all: BTreeSet<Requirement> = a.union(&b).copied().collect();
            prop_assert!(both.iter().eq(all.iter()));
            prop_assert!(small.is_subset(&both) && large.is_subset(&both));
        }
    }
}
