//! Changes: statements to facts, checks, and from the difference of the facts to the rows of every
//! structure. Nothing is written before everything is known.

mod checks;
mod maintain;
mod popular_key;
mod refusal;
mod statements;

pub(crate) use popular_key::Totals;
pub use refusal::Refusal;
pub(crate) use statements::sequence_counter;

use crate::facts::{FactError, Overlay, StoreFacts};
use crate::key::KeyError;
use crate::operator::AskError;
use crate::schema::Schema;
use crate::store::{Reader, WriteSet};
use querent_compiler::model::{EntityId, Field};
use querent_compiler::value::Value;
use querent_compiler::view::delta::{FactChanges, InstanceChange};
use querent_compiler::view::facts::{Facts, Key, key_of_row};
use std::collections::{BTreeMap, BTreeSet};

/// Why a change did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeFailure {
    /// The change is against a rule of the model. Nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A fact could not be read.
    #[error(transparent)]
    Facts(FactError),
    /// The instances to change could not be found.
    #[error(transparent)]
    Ask(#[from] AskError),
}

impl From<FactError> for ChangeFailure {
    fn from(error: FactError) -> Self {
        match error {
            // The values are at fault, not the database.
            FactError::Key {
                structure,
                source: KeyError::TooLong { found, max },
            } => ChangeFailure::Refused(Refusal::KeyTooLong {
                structure,
                found,
                max,
            }),
            error => ChangeFailure::Facts(error),
        }
    }
}

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Instances inserted, updated and deleted, cascades included.
    pub inserted: usize,
    /// Updated.
    pub updated: usize,
    /// Deleted.
    pub deleted: usize,
    /// Gets made to decide and maintain.
    pub reads: u64,
    /// Rows put and deleted, by structure name.
    pub written: BTreeMap<String, (usize, usize)>,
    /// Values that the database assigned, by attribute name, in order.
    pub assigned: Vec<(String, Value)>,
}

/// What is to be done.
pub(crate) enum Work {
    /// A change of the model, by position, with its parameters.
    Change(usize, Vec<Value>),
    /// Whole rows, inserted or put in the place of what is there.
    Put(Vec<(EntityId, Vec<Value>)>),
    /// Instances, by root and key, that are deleted if their deadline has come.
    Expire(Vec<(EntityId, Key)>),
}

/// Decides a change against a state of the store, at a time: all that it writes, or why not.
pub(crate) fn decide<R: Reader>(
    schema: &Schema,
    reader: &R,
    now: i64,
    work: &Work,
) -> Result<(WriteSet, Receipt), ChangeFailure> {
    let before = StoreFacts::new(schema, reader);
    let mut draft = Draft {
        schema,
        reader,
        now,
        before: &before,
        after: Overlay::new(&schema.model, &before),
        sequences: BTreeMap::new(),
        receipt: Receipt::default(),
        deleted: BTreeSet::new(),
    };
    match work {
        Work::Change(at, params) => {
            if let Some(change) = schema.model.changes.get(*at) {
                draft.change(change, *at, params)?;
            }
        }
        Work::Put(rows) => draft.put(rows)?,
        Work::Expire(instances) => {
            for (root, key) in instances {
                draft.expire(*root, key)?;
            }
        }
    }
    draft.number_popular_keys()?;
    let changes = draft.fact_changes()?;
    draft.check(&changes)?;
    draft.finish(&changes)
}

/// A change that is being decided.
struct Draft<'a, R> {
    schema: &'a Schema,
    reader: &'a R,
    now: i64,
    before: &'a StoreFacts<'a, R>,
    after: Overlay<'a, StoreFacts<'a, R>>,
    sequences: BTreeMap<[Value; 2], i64>,
    receipt: Receipt,
    deleted: BTreeSet<(EntityId, Vec<Value>)>,
}

impl<R: Reader> Draft<'_, R> {
    /// The row of an instance as the change has left it so far.
    fn current(&self, entity: EntityId, key: &[Value]) -> Result<Option<Vec<Value>>, FactError> {
        match self.after.changed(entity, key) {
            Some(row) => Ok(row.clone()),
            None => self.before.row(entity, key),
        }
    }

    /// Inserts rows, or puts them in the place of what is there.
    fn put(&mut self, rows: &[(EntityId, Vec<Value>)]) -> Result<(), ChangeFailure> {
        let model = &self.schema.model;
        // Numbers that are left out go on behind all that are given: no row takes the place of one
        // beside it.
        for (entity, row) in rows {
            self.note_sequences(model.entity(*entity).root, row)?;
        }
        for (entity, row) in rows {
            let root = model.entity(*entity).root;
            let mut row = row.clone();
            // Numbers of sub-partitions come last, and nobody gives them.
            row.resize(model.root(root).fields.len(), Value::Null);
            self.schema.set_deadline(root, &mut row, self.now);
            self.number_missing(root, &mut row)?;
            let key = key_of_row(model, root, &row);
            // Where there is only one type, nothing is read for it.
            if model.slot(root, Field::Type).is_some()
                && let Some(old) = self.current(root, &key)?
            {
                self.check_same_type(*entity, &key, &old, &row)?;
            }
            self.after.set(root, key, Some(row));
        }
        Ok(())
    }

    /// What takes the place of an instance is of its type: references may ask for that type, and
    /// what the others have would be lost.
    fn check_same_type(
        &self,
        entity: EntityId,
        key: &[Value],
        old: &[Value],
        new: &[Value],
    ) -> Result<(), ChangeFailure> {
        let model = &self.schema.model;
        let slot = model.slot(model.entity(entity).root, Field::Type);
        if slot.is_some_and(|slot| old.get(slot) != new.get(slot)) {
            return Err(Refusal::OtherType {
                entity: self.entity_name(entity),
                key: self.key_text(entity, key),
            }
            .into());
        }
        Ok(())
    }

    /// Deletes an instance whose deadline has come. What the home says counts, not the list.
    fn expire(&mut self, root: EntityId, key: &[Value]) -> Result<(), ChangeFailure> {
        let slot = self.schema.model.deadline_slot(root);
        let row = self.current(root, key)?;
        let deadline = row.as_deref().and_then(|row| row.get(slot?));
        match deadline {
            Some(Value::Timestamp(deadline)) if *deadline <= self.now => self.delete(root, key),
            _ => Ok(()),
        }
    }

    /// The net difference of the facts.
    fn fact_changes(&mut self) -> Result<FactChanges, FactError> {
        let mut changes = FactChanges::new();
        for ((entity, key), new) in self.after.all_changed() {
            let old = self.before.row(*entity, key)?;
            let change = match (&old, new) {
                (None, None) => continue,
                (Some(_), None) => {
                    self.receipt.deleted += 1;
                    InstanceChange {
                        stays: false,
                        slots: all_slots(self.schema, *entity),
                    }
                }
                (None, Some(_)) => {
                    self.receipt.inserted += 1;
                    InstanceChange {
                        stays: false,
                        slots: all_slots(self.schema, *entity),
                    }
                }
                (Some(old), Some(new)) => {
                    let differs = old.iter().zip(new).enumerate().filter(|(_, (a, b))| a != b);
                    let slots: BTreeSet<usize> = differs.map(|(i, _)| i).collect();
                    if slots.is_empty() {
                        continue;
                    }
                    self.receipt.updated += 1;
                    InstanceChange { stays: true, slots }
                }
            };
            changes.insert((*entity, key.clone()), change);
        }
        Ok(changes)
    }
}

fn all_slots(schema: &Schema, entity: EntityId) -> BTreeSet<usize> {
    (0..schema.model.root(entity).fields.len()).collect()
}

/// Whether an instance exists in a state.
fn exists<F: Facts>(facts: &F, entity: EntityId, key: &[Value]) -> Result<bool, F::Error> {
    facts.exists(entity, key)
}
