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
use crate::layout::Layout;
use crate::row::RowError;
use crate::schema::Schema;
use crate::store::{
    Batch, ChangeError, Fill, Keys, Read, Reader, Source, Store, StoreError, WriteSet,
};
use crate::{ChangeFailure, Database, Error, Receipt};
use querent_compiler::design::StructureId;
use querent_compiler::design::spread::salted_last;
use querent_compiler::model::{EntityId, Expr};
use querent_compiler::value::{Value, ops};
use querent_compiler::view::Structure;
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

/// The list of the deadlines of an entity.
struct List<'s> {
    entity: EntityId,
    id: StructureId,
    structure: &'s Structure,
    layout: &'s Layout,
    /// Where the parts of an instance's key stand.
    positions: &'s [usize],
}

impl<'s> List<'s> {
    fn of(schema: &'s Schema, entity: EntityId) -> Option<List<'s>> {
        let (id, positions) = schema.access.expiries.get(&entity)?;
        Some(List {
            entity,
            id: *id,
            structure: schema.design.structures.get(usize::from(*id))?,
            layout: schema.layouts.get(usize::from(*id))?,
            positions,
        })
    }

    /// Instances whose deadline has come, the earliest first.
    fn due<R: Reader>(&self, reader: &R, now: i64, limit: usize) -> Result<Vec<Due>, FactError> {
        let (_, salts) = salted_last(self.structure);
        let Some((_, salts)) = salts else {
            let upper = self.behind(self.bucket(now), [Value::Timestamp(now)])?;
            return self.read(reader, vec![], upper, limit);
        };
        let mut found = Vec::new();
        let (mut lower, last) = (vec![], self.behind(self.bucket(now), [])?);
        // Buckets are in order of their times, but in each of them every salt is.
        while found.len() < limit
            && let Some(first) = self.read(reader, lower, last.clone(), 1)?.first()
        {
            let bucket = self.bucket(first.deadline);
            let most = limit - found.len();
            let mut due = Vec::new();
            for salt in (0..salts).map(Value::Int) {
                let from = self.encoded(bucket.clone(), [salt.clone()])?;
                let upper = self.behind(bucket.clone(), [salt, Value::Timestamp(now)])?;
                due.extend(self.read(reader, from, upper, most)?);
            }
            due.sort_by_key(|d| d.deadline);
            due.truncate(most);
            found.extend(due);
            let Some(next) = self.behind(bucket, [])? else {
                break;
            };
            lower = next;
        }
        Ok(found)
    }

    /// The rows between two keys, the first in their order.
    fn read<R: Reader>(
        &self,
        reader: &R,
        lower: Vec<u8>,
        upper: Option<Vec<u8>>,
        limit: usize,
    ) -> Result<Vec<Due>, FactError> {
        let mut found = Vec::new();
        let mut source = reader.open(&Read {
            structure: self.id,
            keys: Keys::Range { lower, upper },
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
                found.push(self.listed(&bytes, &row)?);
            }
        }
        Ok(found)
    }

    /// What a row lists.
    fn listed(&self, bytes: &[u8], row: &[u8]) -> Result<Due, FactError> {
        let damaged = |source| FactError::Row {
            structure: self.structure.name.clone(),
            source,
        };
        let parts = self.layout.decode_key(bytes, row).map_err(damaged)?;
        let Some(Value::Timestamp(deadline)) = parts.get(self.structure.partition.len()) else {
            return Err(damaged(RowError::Value("no deadline")));
        };
        let key = self.positions.iter().map(|&p| parts.get(p).cloned());
        Ok(Due {
            deadline: *deadline,
            entity: self.entity,
            key: key.map(Option::unwrap_or_default).collect(),
        })
    }

    /// The key parts before the salts of what expires at a time: its bucket, if there are buckets.
    fn bucket(&self, at: i64) -> Vec<Value> {
        let (before, _) = salted_last(self.structure);
        let at = Value::Timestamp(at);
        let value = |part: &Expr| match part {
            Expr::Const(value) => value.clone(),
            Expr::Call(width, _) => ops::call(*width, std::slice::from_ref(&at)),
            _ => Value::Null,
        };
        before.iter().map(value).collect()
    }

    /// The bytes of a bucket and the parts behind it.
    fn encoded<const N: usize>(
        &self,
        mut bucket: Vec<Value>,
        behind: [Value; N],
    ) -> Result<Vec<u8>, FactError> {
        bucket.extend(behind);
        let encoded = self.layout.encode_key(&bucket);
        encoded.map_err(|source| FactError::Key {
            structure: self.structure.name.clone(),
            source,
        })
    }

    /// The first key behind all that begin so; none where they are the last.
    fn behind<const N: usize>(
        &self,
        bucket: Vec<Value>,
        parts: [Value; N],
    ) -> Result<Option<Vec<u8>>, FactError> {
        Ok(crate::key::successor(&self.encoded(bucket, parts)?))
    }
}

/// Instances of one entity whose deadline has come, the earliest first.
fn due_of<R: Reader>(
    schema: &Schema,
    reader: &R,
    entity: EntityId,
    now: i64,
    limit: usize,
) -> Result<Vec<Due>, FactError> {
    let list = List::of(schema, entity);
    list.map_or_else(|| Ok(vec![]), |list| list.due(reader, now, limit))
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
            structure: List::of(schema, entity)
                .map_or_else(String::new, |list| list.structure.name.clone()),
            source: RowError::Value("an instance that does not expire then"),
        }
        .into());
    }
    Ok((writes, (count, receipt.deleted)))
}
