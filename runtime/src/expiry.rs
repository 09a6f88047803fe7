//! Expiry: an instance is gone from the moment its deadline has come.
//!
//! The deadline is a fact of the instance (a hidden attribute), and the list of deadlines a
//! structure of the design like any other. What is due is deleted, by the ordinary way of changes,
//! before anything else is done at that time: a snapshot is handed out, and a change decided, only
//! on a state in which nothing is due. So no answer shows what has expired, however late the
//! deletes come; and while nothing is due, all this costs is one look at the head of each list.

use crate::change::{Work, decide};
use crate::clock::Clock;
use crate::facts::FactError;
use crate::row::RowError;
use crate::schema::Schema;
use crate::store::{
    Batch, ChangeError, Fill, Keys, Read, Reader, Source, Store, StoreError, WriteSet,
};
use crate::{ChangeFailure, Database, Error, Receipt};
use querent_compiler::design::StructureId;
use querent_compiler::model::{EntityId, Expr};
use querent_compiler::value::{Value, ops};
use querent_compiler::view::facts::Key;
use std::sync::Arc;

/// So many instances expire in one change, at most: a database that was closed for long has many.
const BATCH: usize = 256;

/// When an instance expires that is made now.
pub(crate) fn deadline(now: i64, lifetime: Option<u64>) -> Value {
    lifetime.map_or(Value::Null, |millis| {
        Value::Timestamp(now.saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
    })
}

/// An instance whose deadline has come.
#[derive(Clone, Debug)]
struct Due {
    deadline: i64,
    entity: EntityId,
    key: Key,
}

/// Instances of one entity whose deadline has come, the earliest first.
fn due_of<R: Reader>(
    schema: &Schema,
    reader: &R,
    entity: EntityId,
    now: i64,
    limit: usize,
) -> Result<Vec<Due>, FactError> {
    let mut found = Vec::new();
    let Some((structure, positions)) = schema.access.expiries.get(&entity) else {
        return Ok(found);
    };
    let Some(layout) = schema.layouts.get(usize::from(*structure)) else {
        return Ok(found);
    };
    let until = list_key(schema, *structure, now);
    let at = until.len().saturating_sub(1);
    let last = layout.encode_key(&until).map_err(|source| FactError::Key {
        structure: list_name(schema, entity),
        source,
    })?;
    let mut source = reader.open(&Read {
        structure: *structure,
        keys: Keys::Range {
            lower: vec![],
            upper: crate::key::successor(&last),
        },
        reverse: false,
        limit: Some(limit),
    })?;
    let mut batch = Batch::default();
    while found.len() < limit {
        match source.fill(limit - found.len(), &mut batch)? {
            Fill::End => break,
            Fill::Wait => return Err(FactError::Wait),
            Fill::Rows => {}
        }
        for (bytes, row) in batch.rows.drain(..) {
            let damaged = |source| FactError::Row {
                structure: list_name(schema, entity),
                source,
            };
            let parts = layout.decode_key(&bytes, &row).map_err(damaged)?;
            let Some(Value::Timestamp(deadline)) = parts.get(at) else {
                return Err(damaged(RowError::Value("no deadline")));
            };
            let key = positions.iter().map(|&p| parts.get(p).cloned());
            found.push(Due {
                deadline: *deadline,
                entity,
                key: key.map(Option::unwrap_or_default).collect(),
            });
        }
    }
    Ok(found)
}

/// The first key parts of what expires at a time in a list: its bucket, if it is in buckets, and
/// the time itself.
fn list_key(schema: &Schema, list: StructureId, at: i64) -> Vec<Value> {
    let structure = schema.design.structures.get(usize::from(list));
    let buckets = structure
        .map(|s| s.partition.as_slice())
        .unwrap_or_default();
    let at = Value::Timestamp(at);
    let bucket = |e: &Expr| match e {
        Expr::Const(value) => value.clone(),
        Expr::Call(width, _) => ops::call(*width, std::slice::from_ref(&at)),
        _ => Value::Null,
    };
    let mut key: Vec<Value> = buckets.iter().map(bucket).collect();
    key.push(at);
    key
}

fn list_name(schema: &Schema, entity: EntityId) -> String {
    let list = schema.access.expiries.get(&entity);
    let list = list.and_then(|(id, _)| schema.design.structures.get(usize::from(*id)));
    list.map_or(String::new(), |s| s.name.clone())
}

/// The earliest deadline that has come, where one has.
fn overdue<R: Reader>(schema: &Schema, reader: &R, now: i64) -> Result<Option<i64>, FactError> {
    let mut earliest = None;
    for &entity in schema.access.expiries.keys() {
        for due in due_of(schema, reader, entity, now, 1)? {
            earliest = Some(earliest.map_or(due.deadline, |e: i64| e.min(due.deadline)));
        }
    }
    Ok(earliest)
}

impl<S: Store> Database<S> {
    /// Removes what has expired, and tells how many instances that were, those included that fell
    /// with others. Asking and changing do it by themselves; this is for a database that is seldom
    /// asked.
    pub fn refresh(&self) -> Result<usize, Error> {
        let mut removed = 0;
        if self.schema().access.expiries.is_empty() {
            return Ok(removed);
        }
        loop {
            let (schema, clock) = (Arc::clone(self.schema()), Arc::clone(self.clock()));
            let (due, deleted) = self
                .store()
                .change(move |reader: &S::Reader<'_>| expire(&schema, reader, &*clock))?;
            if due == 0 {
                return Ok(removed);
            }
            removed += deleted;
        }
    }

    /// A snapshot in which nothing is due. Where nothing can be written: as things stand, with the
    /// earliest deadline that has come.
    pub(crate) fn settled(&self) -> Result<(S::Snapshot, Option<i64>), Error> {
        loop {
            let snapshot = self.store().snapshot()?;
            if self.schema().access.expiries.is_empty() {
                return Ok((snapshot, None));
            }
            let now = self.clock().now();
            let found = overdue(self.schema(), &S::reader(&snapshot), now);
            let deadline = match found {
                Ok(Some(deadline)) => deadline,
                Ok(None) => return Ok((snapshot, None)),
                // A store that must be waited for waits within a change.
                Err(FactError::Wait) => {
                    drop(snapshot);
                    self.refresh()?;
                    return Ok((self.store().snapshot()?, None));
                }
                Err(error) => return Err(error.into()),
            };
            // It would keep the pages that the deletes replace.
            drop(snapshot);
            match self.refresh() {
                Ok(_) => {}
                Err(Error::Store(StoreError::ReadOnly { .. })) => {
                    return Ok((self.store().snapshot()?, Some(deadline)));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Decides and applies work on a state in which nothing is due.
    pub(crate) fn apply(&self, work: Work) -> Result<Receipt, Error> {
        let work = Arc::new(work);
        loop {
            let (schema, clock, work) = (
                Arc::clone(self.schema()),
                Arc::clone(self.clock()),
                Arc::clone(&work),
            );
            let decided: Result<Option<Receipt>, ChangeError<ChangeFailure>> =
                self.store().change(move |reader: &S::Reader<'_>| {
                    let now = clock.now();
                    if overdue(&schema, reader, now)?.is_some() {
                        return Ok((WriteSet::new(), None));
                    }
                    let (writes, receipt) = decide(&schema, reader, now, &work)?;
                    Ok((writes, Some(receipt)))
                });
            match decided? {
                Some(receipt) => return Ok(receipt),
                None => drop(self.refresh()?),
            }
        }
    }
}

/// One batch of what is due: how many were, and how many instances go.
fn expire<R: Reader>(
    schema: &Schema,
    reader: &R,
    clock: &dyn Clock,
) -> Result<(WriteSet, (usize, usize)), ChangeFailure> {
    let now = clock.now();
    let mut due = Vec::new();
    for &entity in schema.access.expiries.keys() {
        if due.len() < BATCH {
            due.extend(due_of(schema, reader, entity, now, BATCH - due.len())?);
        }
    }
    let (first, count) = (due.first().map(|d| d.entity), due.len());
    let work = Work::Expire(due.into_iter().map(|d| (d.entity, d.key)).collect());
    let (writes, receipt) = decide(schema, reader, now, &work)?;
    if let Some(entity) = first.filter(|_| receipt.deleted == 0) {
        // The list names instances that are not there, or whose time has not come.
        return Err(FactError::Row {
            structure: list_name(schema, entity),
            source: RowError::Value("an instance that does not expire then"),
        }
        .into());
    }
    Ok((writes, (count, receipt.deleted)))
}
