//! Sequences go on behind the largest number that was given.

use super::{Each, Finding, FindingKind, Found, Mend, StoredRows};
use crate::Error;
use crate::change::sequence_counter;
use crate::facts::FactError;
use crate::layout::Layout;
use crate::load::{Sorted, Sorter};
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
                self.sorter.push(&key, &given.to_be_bytes())?;
            }
        }
        Ok(())
    }

    /// Adds a counter as it stands.
    pub(crate) fn add_counter(&mut self, key: &[u8], last: i64) -> Result<(), Error> {
        Ok(self.sorter.push(key, &last.to_be_bytes())?)
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
        while let Some((key, given)) = largest.next()? {
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
                let mut finding = named(layout, &key);
                let found = found.map_or("bytes that are no row".into(), |n| n.to_string());
                finding.note = Some(format!(
                    "found {found}, expected at least {given}, which was given"
                ));
                let mend = Mend {
                    structure: schema.sequences(),
                    key: key.clone(),
                    found: row,
                    row: Some(layout.encode_row(&[Value::Int(given)])),
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
    let mut finding = named(layout, key);
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
    schema.layouts.get(usize::from(schema.sequences()))
}

/// The last number in a counter's row.
pub(crate) fn last(layout: &Layout, row: &[u8]) -> Option<i64> {
    match layout.decode_row(row).ok()?.first() {
        Some(Value::Int(n)) => Some(*n),
        _ => None,
    }
}

fn named(layout: &Layout, key: &[u8]) -> Finding {
    let parts = layout.decode_key(key).unwrap_or_default();
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

/// The largest number of each counter.
pub(crate) struct Largest {
    sorted: Sorted,
    ahead: Option<(Vec<u8>, i64)>,
}

impl Largest {
    /// The next counter.
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<u8>, i64)>, Error> {
        let Some((key, mut largest)) = self.pull()? else {
            return Ok(None);
        };
        while let Some((next, given)) = self.pull()? {
            if next != key {
                self.ahead = Some((next, given));
                break;
            }
            largest = largest.max(given);
        }
        Ok(Some((key, largest)))
    }

    fn pull(&mut self) -> Result<Option<(Vec<u8>, i64)>, Error> {
        if let Some(pair) = self.ahead.take() {
            return Ok(Some(pair));
        }
        let next = self.sorted.next()?;
        Ok(next.map(|(key, given)| {
            (
                key.to_vec(),
                given.first_chunk().map_or(0, |b| i64::from_be_bytes(*b)),
            )
        }))
    }
}
