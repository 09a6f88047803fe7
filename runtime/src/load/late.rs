//! Rows that are rejected after they were read: their text is looked up in the files again.

use super::bulk::{Load, LoadError};
use super::facts::Origin;
use super::{Input, Reject, Sorter};
use crate::Error;
use crate::text::instance_text;
use querent_compiler::model::EntityId;
use querent_compiler::value::Value;
use querent_compiler::view::facts::key_of_row;
use std::path::{Path, PathBuf};

/// Reasons by file and line.
pub(super) struct Late {
    sorter: Sorter,
    count: u64,
}

impl Late {
    pub(super) fn new(folder: &Path) -> Late {
        Late {
            sorter: Sorter::new(folder, 16 << 20),
            count: 0,
        }
    }
}

impl Load<'_> {
    /// Rejects a row of a file. Rows of the database are none of the load's business.
    pub(super) fn reject_at(&mut self, origin: Origin, reason: &str) -> Result<(), Error> {
        let Origin::File(file, line) = origin else {
            return Ok(());
        };
        let mut place = file.to_be_bytes().to_vec();
        place.extend(line.to_be_bytes());
        self.late.sorter.push(&place, reason.as_bytes())?;
        self.late.count += 1;
        Ok(())
    }

    /// Rejects a row that must go, wherever it came from: one of the database only where it was
    /// damaged before, or where a row that it depends on was replaced.
    pub(super) fn reject_row(
        &mut self,
        origin: Origin,
        root: EntityId,
        row: &[Value],
        reason: &str,
    ) -> Result<(), Error> {
        if origin != Origin::Database {
            return self.reject_at(origin, reason);
        }
        let model = &self.schema.model;
        let instance = instance_text(model, root, &key_of_row(model, root, row));
        self.rejects.add(Reject {
            file: "the database".into(),
            line: 0,
            reason: format!("{instance}: {reason}"),
            text: String::new(),
        })
    }

    /// How many rows were rejected so far.
    pub(super) fn rejected(&self) -> u64 {
        self.rejects.count + self.late.count
    }

    /// Gives the late rejects their text and puts them to the others.
    pub(super) fn tell_late(&mut self, sources: &[(EntityId, PathBuf)]) -> Result<(), Error> {
        let late = std::mem::replace(&mut self.late, Late::new(&self.folder));
        let mut sorted = late.sorter.finish()?;
        let mut reading: Option<(u32, Input<'_>)> = None;
        let mut last = (u32::MAX, 0, String::new());
        while let Some((place, reason)) = sorted.next()? {
            let (file, line) = place.split_first_chunk().unwrap_or((&[0; 4], &[]));
            let file = u32::from_be_bytes(*file);
            let line = line.first_chunk().map_or(0, |b| u64::from_be_bytes(*b));
            let reason = String::from_utf8_lossy(reason).into_owned();
            if reading.as_ref().is_none_or(|(of, _)| *of != file) {
                let Some((entity, path)) = sources.get(file as usize) else {
                    continue;
                };
                let input = Input::open(&self.schema.model, *entity, path);
                reading = Some((file, input.map_err(LoadError::from)?));
            }
            // A row may have taken several values that are unique.
            let again = (last.0, last.1) == (file, line);
            if !again && let Some((_, input)) = &mut reading {
                let found = input.find(|row| row.as_ref().map_or(true, |row| row.line >= line));
                let text = match found {
                    Some(Ok(row)) if row.line == line => input.text(),
                    // The file was changed meanwhile.
                    _ => String::new(),
                };
                last = (file, line, text);
            }
            let reject = Reject {
                file: self.file_name(file).to_owned(),
                line,
                reason,
                text: last.2.clone(),
            };
            if again {
                self.rejects.tell(reject)?;
            } else {
                self.reject(file, reject)?;
            }
        }
        Ok(())
    }
}
