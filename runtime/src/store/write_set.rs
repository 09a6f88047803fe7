//! What a change writes, complete before its first put.

use super::{MAX_KEY, StoreError};
use querent_compiler::design::StructureId;
use std::collections::BTreeMap;

/// The phases of a write plan, in order. An engine with transactions applies all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Claims of uniqueness and sequences, and the intent.
    Guard,
    /// Homes.
    Homes,
    /// Structures that opposite changes walk.
    Paths,
    /// All other copies.
    Copies,
    /// The intent is closed.
    Close,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Phase; 5] = [
        Phase::Guard,
        Phase::Homes,
        Phase::Paths,
        Phase::Copies,
        Phase::Close,
    ];
}

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// Structure.
    pub structure: StructureId,
    /// Encoded key.
    pub key: &'a [u8],
    /// The new row; none for a delete.
    pub row: Option<&'a [u8]>,
    /// Phase.
    pub phase: Phase,
}

/// Structure and key.
type Place = (StructureId, Vec<u8>);

/// Puts and deletes, by structure and key: one entry per key, the last one wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteSet {
    writes: BTreeMap<Place, (Option<Vec<u8>>, Phase)>,
}

impl WriteSet {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The row at the key becomes this.
    pub fn put(&mut self, phase: Phase, structure: StructureId, key: Vec<u8>, row: Vec<u8>) {
        self.writes.insert((structure, key), (Some(row), phase));
    }

    /// The row at the key goes, if there is one.
    pub fn delete(&mut self, phase: Phase, structure: StructureId, key: Vec<u8>) {
        self.writes.insert((structure, key), (None, phase));
    }

    /// What is written at a key: none if nothing, `Some(None)` if a delete.
    pub fn get(&self, structure: StructureId, key: &[u8]) -> Option<Option<&[u8]>> {
        self.writes
            .get(&(structure, key.to_vec()))
            .map(|(row, _)| row.as_deref())
    }

    /// All writes by structure and key: the order in which a transaction applies them fastest.
    pub fn iter(&self) -> impl Iterator<Item = Write<'_>> {
        self.writes
            .iter()
            .map(|((structure, key), (row, phase))| Write {
                structure: *structure,
                key,
                row: row.as_deref(),
                phase: *phase,
            })
    }

    /// The writes of one phase, by structure and key.
    pub fn phase(&self, phase: Phase) -> impl Iterator<Item = Write<'_>> {
        self.iter().filter(move |write| write.phase == phase)
    }

    /// Whether a store of so many structures can hold all writes: asked before the first is put.
    pub(crate) fn check(&self, structures: usize) -> Result<(), StoreError> {
        for &(structure, ref key) in self.writes.keys() {
            if usize::from(structure) >= structures {
                return Err(StoreError::NoStructure {
                    structure,
                    structures,
                });
            }
            check_key(structure, key)?;
        }
        Ok(())
    }

    /// How many writes.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// True without a write.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}

/// Whether the engines can hold the key.
pub(crate) fn check_key(structure: StructureId, key: &[u8]) -> Result<(), StoreError> {
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(StoreError::KeyLength {
            structure,
            length: key.len(),
            max: MAX_KEY,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_write_of_a_key_wins() {
        let mut set = WriteSet::new();
        set.put(Phase::Homes, 1, vec![1], vec![7]);
        set.put(Phase::Copies, 0, vec![2], vec![8]);
        set.delete(Phase::Copies, 1, vec![1]);
        assert_eq!(set.get(1, &[1]), Some(None));
        assert_eq!(set.get(1, &[2]), None);
        let order: Vec<_> = set.iter().map(|w| (w.structure, w.phase)).collect();
        assert_eq!(order, [(0, Phase::Copies), (1, Phase::Copies)]);
        assert_eq!(set.phase(Phase::Homes).count(), 0);
    }
}
