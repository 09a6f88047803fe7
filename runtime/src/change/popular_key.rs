//! Popular keys: the sub-partition of an instance is given once, the first that has room.

use super::Draft;
use crate::facts::FactError;
use crate::store::Reader;
use querent_compiler::model::Split;
use querent_compiler::value::Value;
use querent_compiler::view::facts::Key;
use std::collections::BTreeMap;

/// How many instances each sub-partition of one key holds.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    held: BTreeMap<i64, u64>,
    /// Those below have no room.
    full: i64,
}

impl Totals {
    /// More instances of a sub-partition.
    pub(crate) fn count(&mut self, number: i64, instances: u64) {
        *self.held.entry(number).or_default() += instances;
    }

    fn leave(&mut self, number: i64) {
        if let Some(held) = self.held.get_mut(&number) {
            *held = held.saturating_sub(1);
        }
    }

    /// The first sub-partition with room, which is taken.
    pub(crate) fn take(&mut self, capacity: u64) -> i64 {
        while self.held.get(&self.full).is_some_and(|n| *n >= capacity) {
            self.full += 1;
        }
        self.count(self.full, 1);
        self.full
    }
}

impl<R: Reader> Draft<'_, R> {
    /// Numbers the instances that are new, or share other values than before; all others keep
    /// their number. What has left a sub-partition makes room in it.
    pub(super) fn number_popular_keys(&mut self) -> Result<(), FactError> {
        let model = &self.schema.model;
        for split in &model.splits {
            for (slot, _) in model.splits_of(split.entity).filter(|(_, s)| *s == split) {
                for (key, number) in self.numbers(split, slot)? {
                    let Some(Some(row)) = self.after.changed(split.entity, &key) else {
                        continue;
                    };
                    let mut row = row.clone();
                    if let Some(place) = row.get_mut(slot) {
                        *place = number;
                    }
                    self.after.set(split.entity, key, Some(row));
                }
            }
        }
        Ok(())
    }

    /// The number of every instance that the change leaves.
    fn numbers(&self, split: &Split, slot: usize) -> Result<Vec<(Key, Value)>, FactError> {
        let model = &self.schema.model;
        let mut out = Vec::new();
        let mut left: Vec<(Vec<Value>, i64)> = Vec::new();
        let mut came: BTreeMap<Vec<Value>, Vec<Key>> = BTreeMap::new();
        for (key, new) in self.after.changed_of(split.entity) {
            let old = self.before.row(split.entity, key)?;
            let had = old.as_ref().and_then(|old| match old.get(slot) {
                Some(Value::Int(number)) => Some((split.shared(model, old), *number)),
                _ => None,
            });
            let shared = new.map(|new| split.shared(model, new));
            match (had, shared) {
                (Some((before, number)), Some(after)) if before == after => {
                    out.push((key.clone(), Value::Int(number)));
                }
                (had, shared) => {
                    left.extend(had);
                    if let Some(shared) = shared {
                        came.entry(shared).or_default().push(key.clone());
                    }
                }
            }
        }
        for (shared, keys) in came {
            let mut totals = self.before.totals(split.attribute, &shared)?;
            let here = left.iter().filter(|(of, _)| *of == shared);
            here.for_each(|(_, number)| totals.leave(*number));
            let numbered = keys
                .into_iter()
                .map(|key| (key, Value::Int(totals.take(split.capacity))));
            out.extend(numbered);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn the_first_with_room_is_taken() {
        let mut totals = Totals::default();
        let taken: Vec<i64> = (0..7).map(|_| totals.take(3)).collect();
        assert_eq!(taken, [0, 0, 0, 1, 1, 1, 2]);
        let mut totals = Totals::default();
        // The second has gone, and somebody has left the first.
        totals.count(0, 3);
        totals.count(2, 3);
        totals.leave(0);
        let taken: Vec<i64> = (0..6).map(|_| totals.take(3)).collect();
        assert_eq!(taken, [0, 1, 1, 1, 3, 3]);
    }
}
