//! Rows of the load that are not in it, by key: whoever refers to one is told where it was.

use super::bulk::Load;
use super::check::change_facts;
use super::facts::{Origin, encode};
use crate::Error;
use crate::store::lmdb::Lmdb;
use crate::store::{Phase, WriteSet};
use querent_compiler::model::EntityId;
use querent_compiler::value::Value;

/// They are written in changes of so many.
const BATCH: usize = 1000;

/// A fact row that is taken out: its place, and where it came from.
pub(super) type Taken = (Vec<u8>, Origin);

impl Load<'_> {
    /// Remembers a row that was rejected before the facts were stored.
    pub(super) fn note_gone(
        &mut self,
        root: EntityId,
        key: &[Value],
        origin: Origin,
    ) -> Result<(), Error> {
        if let Ok(place) = self.keys.encode(root, key) {
            let mut named = root.0.to_be_bytes().to_vec();
            named.extend(place);
            self.gone.push(&named, &encode(origin, &[]))?;
        }
        Ok(())
    }

    /// Stores them beside the facts.
    pub(super) fn store_gone(&mut self, facts: &Lmdb) -> Result<(), Error> {
        let fresh = super::Sorter::new(&self.folder, 1 << 20);
        let mut gone = std::mem::replace(&mut self.gone, fresh).finish()?;
        let mut batch = Vec::new();
        loop {
            let next = gone.next()?;
            let last = next.is_none();
            if let Some((named, origin)) = next {
                let (root, place) = named.split_first_chunk().unwrap_or((&[0; 4], &[]));
                let root = EntityId(u32::from_be_bytes(*root));
                batch.push((self.keys.gone(root), place.to_vec(), origin.to_vec()));
            }
            if last || batch.len() == BATCH {
                let mut writes = WriteSet::new();
                for (structure, place, origin) in batch.drain(..) {
                    writes.put(Phase::Homes, structure, place, origin);
                }
                change_facts(facts, writes)?;
            }
            if last {
                return Ok(());
            }
        }
    }

    /// Takes rows out of the facts, and remembers where they came from.
    pub(super) fn take_out(
        &self,
        facts: &Lmdb,
        root: EntityId,
        taken: &[Taken],
    ) -> Result<(), Error> {
        let (structure, gone) = (self.keys.structure(root), self.keys.gone(root));
        for batch in taken.chunks(BATCH) {
            let mut writes = WriteSet::new();
            for (place, origin) in batch {
                writes.delete(Phase::Homes, structure, place.clone());
                writes.put(Phase::Homes, gone, place.clone(), encode(*origin, &[]));
            }
            change_facts(facts, writes)?;
        }
        Ok(())
    }
}
