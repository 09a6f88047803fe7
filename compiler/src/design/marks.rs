//! A word that tells most sets apart: a mark for each member, of which many share one. A set that has
//! a mark that another has not is not within it, which spares most comparisons of the sets themselves.

/// The marks of a set.
pub(in crate::design) fn marks(members: impl Iterator<Item = usize>) -> u64 {
    members.fold(0, |marks, member| marks | 1 << (member % 64))
}

/// Whether a set may be within another, by their marks.
pub(in crate::design) fn may_be_within(small: u64, large: u64) -> bool {
    small & !large == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// What is within another set is never told to be not.
        #[test]
        fn subsets_are_never_missed(
            large in prop::collection::btree_set(0usize..500, 0..40),
            keep in prop::collection::vec(any::<bool>(), 40),
        ) {
            let kept = large.iter().zip(keep).filter(|(_, keep)| *keep);
            let small: BTreeSet<usize> = kept.map(|(m, _)| *m).collect();
            let of = |set: &BTreeSet<usize>| marks(set.iter().copied());
            prop_assert!(may_be_within(of(&small), of(&large)));
        }
    }
}
