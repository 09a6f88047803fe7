//! Fact rows from CSV and JSONL files, one at a time: a file may be larger than memory.

mod csv;
mod jsonl;
mod quotes;
#[cfg(test)]
mod tests;

use super::Reject;
use csv::Csv;
pub(super) use csv::WRITTEN_AT_ONCE;
use jsonl::Jsonl;
use querent_compiler::codec::CodecError;
use querent_compiler::model::{EntityId, Model};
use querent_compiler::value::Value;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A row of more bytes than this is a mistake, most likely a quote that is never closed. Without
/// a bound it would fill the memory.
const LONGEST_ROW: usize = 64 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What makes a file unreadable as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be opened.
    #[error("{file} cannot be opened: {source}")]
    Open {
        /// File.
        file: String,
        /// Cause.
        source: io::Error,
    },
    /// Reading failed.
    #[error("{file}:{line}: reading failed: {source}")]
    Read {
        /// File.
        file: String,
        /// The last line that was read.
        line: u64,
        /// Cause.
        source: io::Error,
    },
    /// The name does not tell the form.
    #[error("{file}: found an unknown kind of file, expected .csv or .jsonl")]
    Kind {
        /// File.
        file: String,
    },
    /// The header of a CSV file does not fit the entity.
    #[error("{file}:1: in the header {source}")]
    Header {
        /// File.
        file: String,
        /// What is wrong.
        source: CodecError,
    },
    /// A CSV file without a header.
    #[error("{file}: found no header, expected a line with the names of the columns")]
    Empty {
        /// File.
        file: String,
    },
    /// A name in the header of a CSV file whose quotes end before it does.
    #[error("{file}:1: in the header {}", csv::CLOSED_EARLY)]
    Quote {
        /// File.
        file: String,
    },
    /// A row without an end.
    #[error(
        "{file}:{line}: found a row of more than {} MB, expected its end before; \
         is a quote not closed?",
        LONGEST_ROW >> 20
    )]
    TooLong {
        /// File.
        file: String,
        /// The line on which the row starts.
        line: u64,
    },
}

/// One row of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRow {
    /// The line on which it starts, from 1.
    pub line: u64,
    /// The slots of the root's row, or why it was not accepted.
    pub row: Result<Vec<Value>, Reject>,
    /// The key of a row that was not accepted, where it could be read.
    pub key: Option<Vec<Value>>,
}

/// An open file: an iterator over its rows. An error ends it.
pub struct Input<'m> {
    model: &'m Model,
    entity: EntityId,
    file: String,
    rows: Rows,
    failed: bool,
}

enum Rows {
    Csv(Box<Csv>),
    Jsonl(Jsonl),
}

impl<'m> Input<'m> {
    /// Opens a file by its name: `.csv` (`.tsv`, `.tbl`) or `.jsonl` (`.ndjson`).
    pub fn open(model: &'m Model, entity: EntityId, path: &Path) -> Result<Self, InputError> {
        let file = path.display().to_string();
        let extension = path
            .extension()
            .map(|e| e.to_string_lossy().to_ascii_lowercase());
        let is_csv = match extension.as_deref() {
            Some("csv" | "tsv" | "tbl") => true,
            Some("jsonl" | "ndjson") => false,
            _ => return Err(InputError::Kind { file }),
        };
        let open = File::open(path);
        let source = open.map_err(|source| InputError::Open {
            file: file.clone(),
            source,
        })?;
        if is_csv {
            Self::csv(model, entity, file, source)
        } else {
            Ok(Self::jsonl(model, entity, file, source))
        }
    }

    /// Reads CSV. The header is matched to the entity's fields at once.
    pub fn csv(
        model: &'m Model,
        entity: EntityId,
        file: String,
        source: impl Read + 'static,
    ) -> Result<Self, InputError> {
        let csv = Csv::open(model, entity, &file, Box::new(source))?;
        let rows = Rows::Csv(Box::new(csv));
        Ok(Self {
            model,
            entity,
            file,
            rows,
            failed: false,
        })
    }

    /// Reads JSONL.
    pub fn jsonl(
        model: &'m Model,
        entity: EntityId,
        file: String,
        source: impl Read + 'static,
    ) -> Self {
        let rows = Rows::Jsonl(Jsonl::new(Box::new(source)));
        Self {
            model,
            entity,
            file,
            rows,
            failed: false,
        }
    }

    /// The text of the row that was given last.
    pub fn text(&self) -> String {
        match &self.rows {
            Rows::Csv(csv) => csv.text(),
            Rows::Jsonl(jsonl) => String::from_utf8_lossy(jsonl.row()).into_owned(),
        }
    }

    /// How many bytes of the file were read.
    pub fn bytes(&self) -> u64 {
        match &self.rows {
            Rows::Csv(csv) => csv.bytes(),
            Rows::Jsonl(jsonl) => jsonl.bytes,
        }
    }

    fn next_row(&mut self) -> Result<Option<InputRow>, InputError> {
        let read = match &mut self.rows {
            Rows::Csv(csv) => csv.next(&self.file, self.model)?,
            Rows::Jsonl(jsonl) => jsonl.next(&self.file, self.model, self.entity)?,
        };
        let Some((line, row)) = read else {
            return Ok(None);
        };
        Ok(Some(match row {
            Ok(values) => InputRow {
                line,
                row: Ok(values),
                key: None,
            },
            Err(Unread { reason, text, key }) => InputRow {
                line,
                row: Err(Reject {
                    file: self.file.clone(),
                    line,
                    reason,
                    text,
                }),
                key,
            },
        }))
    }
}

impl Iterator for Input<'_> {
    type Item = Result<InputRow, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.next_row().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

/// A row, or the reason against it.
type Read1 = Option<(u64, Result<Vec<Value>, Unread>)>;

/// A row that was not accepted.
struct Unread {
    reason: String,
    text: String,
    key: Option<Vec<Value>>,
}
