//! Sequences go on behind the largest number that was given.

use super::{Each, Finding, FindingKind, Found, Mend, StoredRows};
use crate::Error;
use crate::change::sequence_counter;
use crate::facts::FactError;
use crate::layout::Layout;
use crate::load::{Sorted, Sorter};
use crate::row::{decode_values, encode_values};
use crate::schema::Schema;
use crate::store::Reader;
use querent_compiler::model::EntityId;
use querent_compiler::value::Value;
use std::path::Path;

/// Collects the numbers in fact rows.
pub(crate) struct Numbers {
    sorter: Sorter,
}

impl Numbers {
    pub(crate) fn new(folder: &Path, memory: usize) -> Numbers {
        Numbers {
            sorter: Sorter::new(folder, memory),
        }
    }

    /// Adds the numbers of one fact row.
    pub(crate) fn add(
        &mut self,
        schema: &Schema,
        root: EntityId,
        row: &[Value],
    ) -> Result<(), Error> {
        for (slot, sequence) in schema.sequence_slots(root) {
            let Some(Value::Int(given)) = row.get(slot) else {
                continue;
            };
            if let (1.., Some(layout)) = (*given, layout(schema)) {
                let counter = sequence_counter(schema, root, slot, &sequence, row);
                let key = layout.encode_key(&counter);
                let key = key.map_err(|source| FactError::Key {
                    structure: "_sequences".into(),
                    source,
                })?;
                self.push(&key, *given, &layout.kept(&counter))?;
            }
        }
        Ok(())
    }

    /// Adds a counter as it stands.
    pub(crate) fn add_counter(
        &mut self,
        schema: &Schema,
        key: &[u8],
        row: &[u8],
    ) -> Result<(), Error> {
        let Some(layout) = layout(schema) else {
            return Ok(());
        };
        match (last(layout, row), layout.decode_key(key, row)) {
            (Some(last), Ok(counter)) => self.push(key, last, &layout.kept(&counter)),
            _ => Ok(()),
        }
    }

    fn push(&mut self, key: &[u8], number: i64, kept: &[Value]) -> Result<(), Error> {
        let mut entry = number.to_be_bytes().to_vec();
        encode_values(kept, &mut entry);
        Ok(self.sorter.push(key, &entry)?)
    }

    /// The largest number of each counter, by the counter's key.
    pub(crate) fn finish(self) -> Result<Largest, Error> {
        Ok(Largest {
            sorted: self.sorter.finish()?,
            ahead: None,
        })
    }

    /// Names counters that are behind.
    pub(super) fn compare<R: Reader>(
        self,
        schema: &Schema,
        reader: &R,
        each: Each<'_>,
    ) -> Result<(), Error> {
        let Some(layout) = layout(schema) else {
            return Ok(());
        };
        let mut largest = self.finish()?;
        let mut rows = StoredRows::new(reader, schema.sequences())?;
        let mut stored = rows.next()?;
        while let Some(Counter { key, given, kept }) = largest.next()? {
            while let Some((at, row)) = stored.take_if(|(at, _)| **at < *key) {
                unread(schema, layout, &at, &row, each)?;
                stored = rows.next()?;
            }
            let row = match &stored {
                Some((at, row)) if **at == *key => Some(row.to_vec()),
                _ => None,
            };
            let found = row.as_deref().map_or(Some(0), |row| last(layout, row));
            if found.is_none_or(|found| found < given) {
                let mended = layout.encode_kept(&[Value::Int(given)], &kept);
                let mut finding = named(layout, &key, &mended);
                let found = found.map_or("bytes that are no row".into(), |n| n.to_string());
                finding.note = Some(format!(
                    "found {found}, expected at least {given}, which was given"
                ));
                let mend = Mend {
                    structure: schema.sequences(),
                    key: key.clone(),
                    found: row,
                    row: Some(mended),
                };
                each(Found {
                    finding,
                    mend: Some(mend),
                })?;
            }
            if stored.as_ref().is_some_and(|(at, _)| **at == *key) {
                stored = rows.next()?;
            }
        }
        while let Some((at, row)) = stored {
            unread(schema, layout, &at, &row, each)?;
            stored = rows.next()?;
        }
        Ok(())
    }
}

/// A counter of which no number is left in the facts: all that matters is that it can be read.
fn unread(
    schema: &Schema,
    layout: &Layout,
    key: &[u8],
    row: &[u8],
    each: Each<'_>,
) -> Result<(), Error> {
    if last(layout, row).is_some() {
        return Ok(());
    }
    let mut finding = named(layout, key, row);
    finding.kind = FindingKind::Damaged;
    finding.note = Some("the row cannot be read, and no fact has a number of this sequence".into());
    let mend = Mend {
        structure: schema.sequences(),
        key: key.to_vec(),
        found: Some(row.to_vec()),
        row: None,
    };
    each(Found {
        finding,
        mend: Some(mend),
    })
}

pub(crate) fn layout(schema: &Schema) -> Option<&Layout> {
    let layout = schema.layouts.get(usize::from(schema.sequences()));
    layout.map(AsRef::as_ref)
}

/// The last number in a counter's row.
fn last(layout: &Layout, row: &[u8]) -> Option<i64> {
    match layout.decode_row(row).ok()?.first() {
        Some(Value::Int(n)) => Some(*n),
        _ => None,
    }
}

fn named(layout: &Layout, key: &[u8], row: &[u8]) -> Finding {
    let parts = layout.decode_key(key, row).unwrap_or_default();
    let mut parts = parts.iter().filter_map(|v| match v {
        Value::Text(t) if !t.is_empty() => Some(t.as_str()),
        _ => None,
    });
    let what = parts.next().unwrap_or_default();
    let row = parts
        .next()
        .map_or(what.to_owned(), |per| format!("{what} per {per}"));
    Finding {
        kind: FindingKind::Sequence,
        structure: "_sequences".into(),
        instance: None,
        row,
        columns: vec![],
        note: None,
        advice: None,
    }
}

/// A counter and the largest number that it gave.
pub(crate) struct Counter {
    key: Vec<u8>,
    given: i64,
    /// What its row keeps of its key.
    kept: Vec<Value>,
}

impl Counter {
    /// Its key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The largest number that it gave.
    pub(crate) fn given(&self) -> i64 {
        self.given
    }

    /// Its key and row.
    pub(crate) fn pair(self, layout: &Layout) -> (Vec<u8>, Vec<u8>) {
        let row = layout.encode_kept(&[Value::Int(self.given)], &self.kept);
        (self.key, row)
    }
}

/// The largest number of each counter.
pub(crate) struct Largest {
    sorted: Sorted,
    ahead: Option<Counter>,
}

impl Largest {
    /// The next counter.
    pub(crate) fn next(&mut self) -> Result<Option<Counter>, Error> {
        let Some(mut counter) = self.pull()? else {
            return Ok(None);
        };
        while let Some(next) = self.pull()? {
            if next.key != counter.key {
                self.ahead = Some(next);
                break;
            }
            counter.given = counter.given.max(next.given);
        }
        Ok(Some(counter))
    }

    fn pull(&mut self) -> Result<Option<Counter>, Error> {
        if let Some(counter) = self.ahead.take() {
            return Ok(Some(counter));
        }
        let Some((key, entry)) = self.sorted.next()? else {
            return Ok(None);
        };
        let (given, kept) = entry.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let kept = decode_values(kept).map_err(|source| FactError::Row {
            structure: "_sequences".into(),
            source,
        })?;
        Ok(Some(Counter {
            key: key.to_vec(),
            given: i64::from_be_bytes(*given),
            kept,
        }))
    }
}
