//! Files and the old homes become fact rows on disk, each key once.

use super::bulk::{Load, LoadError, Progress, Sorters};
use super::facts::{Origin, decode, encode};
use super::numbering::Waiting;
use super::{Input, Reject, Sorter};
use crate::facts::StoreFacts;
use crate::store::Store;
use crate::store::lmdb::Lmdb;
use crate::text::instance_text;
use crate::verify::{StoredRows, concrete};
use crate::{Database, Error};
use querent_compiler::model::EntityId;
use querent_compiler::value::Value;
use querent_compiler::view::facts::key_of_row;
use std::path::Path;

/// Progress is told once in so many rows.
const PROGRESS: u64 = 10_000;

impl Load<'_> {
    fn place(&self, root: EntityId, row: &[Value]) -> Result<Vec<u8>, String> {
        self.keys
            .encode(root, &key_of_row(&self.schema.model, root, row))
    }

    /// What the database has already.
    pub(super) fn read_database(
        &mut self,
        database: &Database<Lmdb>,
        sorters: &mut Sorters,
        waiting: &mut Waiting,
    ) -> Result<(), Error> {
        let snapshot = database.store().snapshot()?;
        let reader = snapshot.reader();
        let mut counters = StoredRows::new(&reader, self.schema.sequences())?;
        while let Some((key, row)) = counters.next()? {
            waiting.note_counter(self.schema, key, row)?;
        }
        for (root, sorter) in sorters {
            let Some(&home) = self.schema.access.homes.get(root).and_then(|h| h.first()) else {
                continue;
            };
            let mut rows = StoredRows::new(&reader, home)?;
            let (Some(layout), Some(structure)) = (
                self.schema.layouts.get(usize::from(home)),
                self.schema.design.structures.get(usize::from(home)),
            ) else {
                continue;
            };
            let paths = querent_compiler::design::key_paths(&self.schema.model, *root);
            let positions: Vec<usize> = paths
                .iter()
                .filter_map(|p| structure.key().position(|e| e == p))
                .collect();
            while let Some((key, row)) = rows.next()? {
                let damaged = |source| crate::facts::FactError::Row {
                    structure: structure.name.clone(),
                    source,
                };
                let parts = layout.decode_key(key, row).map_err(damaged)?;
                let key: Vec<Value> = positions
                    .iter()
                    .map(|&p| parts.get(p).cloned().unwrap_or_default())
                    .collect();
                // Nothing is remembered from one instance to the next.
                let Some(row) = StoreFacts::new(self.schema, &reader).row(*root, &key)? else {
                    continue;
                };
                waiting.note(self.schema, *root, &row)?;
                self.longest.note(self.schema, *root, &row);
                if let Ok(place) = self.place(*root, &row) {
                    sorter.push(&place, &encode(Origin::Database, &row))?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn read_file(
        &mut self,
        entity: EntityId,
        path: &Path,
        file: u32,
        sorters: &mut Sorters,
        waiting: &mut Waiting,
    ) -> Result<(), Error> {
        let model = &self.schema.model;
        let root = model.entity(entity).root;
        let Some((_, sorter)) = sorters.iter_mut().find(|(r, _)| *r == root) else {
            return Ok(());
        };
        let name = path.display().to_string();
        let mut input = Input::open(model, entity, path).map_err(LoadError::from)?;
        while let Some(row) = input.next() {
            let row = row.map_err(LoadError::from)?;
            self.read += 1;
            if let Some(report) = self.files.get_mut(file as usize) {
                report.read += 1;
            }
            if self.read.is_multiple_of(PROGRESS) {
                (self.progress)(Progress::Reading {
                    file: name.clone(),
                    rows: self.read,
                    bytes: self.bytes + input.bytes(),
                    of: self.of_bytes,
                });
            }
            let values = match row.row {
                Ok(mut values) => {
                    self.schema.set_deadline(root, &mut values, self.now);
                    values
                }
                Err(reject) => {
                    self.reject(file, reject)?;
                    if let Some(key) = &row.key {
                        self.note_gone(root, key, Origin::File(file, row.line))?;
                    }
                    continue;
                }
            };
            self.longest.note(self.schema, root, &values);
            waiting.note(self.schema, root, &values)?;
            if waiting.take(self.schema, root, (file, row.line), &values)? {
                continue;
            }
            match self.keys.encode(root, &key_of_row(model, root, &values)) {
                Ok(place) => sorter.push(&place, &encode(Origin::File(file, row.line), &values))?,
                Err(reason) => {
                    let reject = Reject {
                        file: name.clone(),
                        line: row.line,
                        reason,
                        text: input.text(),
                    };
                    self.reject(file, reject)?;
                }
            }
        }
        self.bytes += input.bytes();
        (self.progress)(Progress::Reading {
            file: name,
            rows: self.read,
            bytes: self.bytes,
            of: self.of_bytes,
        });
        Ok(())
    }

    /// Writes the fact rows of a root, each key once.
    pub(super) fn store_facts(
        &mut self,
        facts: &Lmdb,
        root: EntityId,
        sorter: Sorter,
    ) -> Result<(), Error> {
        let mut sorted = sorter.finish()?;
        let mut ahead: Option<(Vec<u8>, Vec<u8>)> = None;
        let mut failed: Option<Error> = None;
        let structure = self.keys.structure(root);
        let mut next = || -> Result<Option<(Vec<u8>, Vec<u8>)>, Error> {
            loop {
                let pair = sorted
                    .next()?
                    .map(|(key, value)| (key.to_vec(), value.to_vec()));
                let Some((key, value)) = pair else {
                    return Ok(ahead.take());
                };
                match &mut ahead {
                    Some((known, first)) if *known == key => {
                        let (origin, row) = decode(&value)?;
                        let other = decode(first)?.0;
                        let model = &self.schema.model;
                        let instance = instance_text(model, root, &key_of_row(model, root, &row));
                        let kind = |row: &[Value]| concrete(model, root, row);
                        let reason = if other != Origin::Database || !self.options.replace {
                            format!("{instance} is {}", self.origin_text(other))
                        } else if kind(&decode(first)?.1) == kind(&row) {
                            *first = value;
                            continue;
                        } else {
                            format!("{instance} exists and is of another type; delete it first")
                        };
                        self.reject_at(origin, &reason)?;
                    }
                    _ => {
                        if let Some(done) = ahead.replace((key, value)) {
                            return Ok(Some(done));
                        }
                    }
                }
            }
        };
        let mut rows = std::iter::from_fn(|| match next() {
            Ok(pair) => pair.map(Ok),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        facts.load(structure, &mut rows)?;
        failed.map_or(Ok(()), Err)
    }
}
