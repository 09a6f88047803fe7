//! Fact rows from CSV and JSONL files, one at a time: a file may be larger than memory.

use super::Reject;
use querent_compiler::codec::{
    CodecError, Named, RecordLayout, entity_row_from_json, json_from_line,
};
use querent_compiler::model::{EntityId, Model};
use querent_compiler::value::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A row of more bytes than this is a mistake, most likely a quote that is never closed. Without
/// a bound it would fill the memory.
const LONGEST_ROW: usize = 64 << 20;

/// What follows the last byte of a CSV file: a row of its own, unless a quote is still open there.
const END: &[u8] = b"\0\n";

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Delimiters that a header is searched for; the first wins where none is more frequent.
const DELIMITERS: [u8; 4] = [b',', b'|', b';', b'\t'];

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

struct Csv {
    reader: csv::Reader<Guard>,
    layout: RecordLayout,
    delimiter: u8,
    /// Lines end with `\r\n`, as the header's does.
    windows: bool,
    record: csv::ByteRecord,
}

struct Jsonl {
    reader: BufReader<Box<dyn Read>>,
    line: u64,
    bytes: u64,
    text: Vec<u8>,
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
        let mut source = BufReader::with_capacity(1 << 16, Box::new(source) as Box<dyn Read>);
        let head = match first_line(&mut source) {
            Ok(head) => head,
            Err(source) => {
                return Err(InputError::Read {
                    file,
                    line: 1,
                    source,
                });
            }
        };
        let delimiter = delimiter(&head);
        let windows = head.ends_with(b"\r\n");
        let source = Guard {
            source: io::Cursor::new(head).chain(source),
            left: LONGEST_ROW,
            last: b'\n',
            given: 0,
            end: END,
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            // Not also `\r`, which would make it impossible to count lines.
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(source);
        let mut record = csv::ByteRecord::new();
        let found = reader.read_byte_record(&mut record);
        match found {
            Ok(true) if !(is_last(&reader) && is_end(&record)) => {}
            Ok(_) => return Err(InputError::Empty { file }),
            Err(why) => return Err(csv_error(&file, 1, why)),
        }
        if windows {
            strip_return(&mut record);
        }
        let names: Vec<String> = record
            .iter()
            .map(|name| String::from_utf8_lossy(name).trim().to_owned())
            .collect();
        let layout = RecordLayout::new(model, entity, Named::Column, &names).map_err(|source| {
            InputError::Header {
                file: file.clone(),
                source,
            }
        })?;
        let rows = Rows::Csv(Box::new(Csv {
            reader,
            layout,
            delimiter,
            windows,
            record,
        }));
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
        let reader = BufReader::with_capacity(1 << 16, Box::new(source) as Box<dyn Read>);
        let rows = Rows::Jsonl(Jsonl {
            reader,
            line: 0,
            bytes: 0,
            text: Vec::new(),
        });
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
            Rows::Csv(csv) => {
                let behind = if is_last(&csv.reader) { END.len() } else { 0 };
                csv.reader.position().byte().saturating_sub(behind as u64)
            }
            Rows::Jsonl(jsonl) => jsonl.bytes,
        }
    }

    fn next_row(&mut self) -> Result<Option<InputRow>, InputError> {
        let read = match &mut self.rows {
            Rows::Csv(csv) => csv.next(&self.file, self.model)?,
            Rows::Jsonl(jsonl) => jsonl.next(&self.file, self.model, self.entity)?,
        };
        Ok(read.map(|(line, row)| InputRow {
            line,
            row: row.map_err(|(reason, text)| Reject {
                file: self.file.clone(),
                line,
                reason,
                text,
            }),
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

/// A row, or the reason against it and its text.
type Read1 = Option<(u64, Result<Vec<Value>, (String, String)>)>;

impl Csv {
    fn next(&mut self, file: &str, model: &Model) -> Result<Read1, InputError> {
        let line = loop {
            self.reader.get_mut().left = LONGEST_ROW;
            let before = self.reader.position().line();
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(why) => return Err(csv_error(file, before, why)),
            }
            // The record ended with a line end; others within it were in quotes. Counted from its
            // end, because the reader skips empty lines before it.
            let lines = self.record.as_slice().split(|&b| b == b'\n').count() as u64;
            if is_last(&self.reader) {
                if is_end(&self.record) {
                    return Ok(None);
                }
                // All that follows the quote is in it, other rows as well.
                let line = (self.reader.position().line() + 1).saturating_sub(lines);
                let reason = "found a quote that is never closed, expected its end";
                let text = self.text();
                let text = text.split('\n').next().unwrap_or_default();
                return Ok(Some((line, Err((reason.to_owned(), text.to_owned())))));
            }
            if self.windows {
                strip_return(&mut self.record);
            }
            let blank = self.windows && self.record.len() == 1 && self.record.as_slice().is_empty();
            if !blank {
                break self.reader.position().line().saturating_sub(lines);
            }
        };
        let cells: Result<Vec<&str>, _> = self.record.iter().map(std::str::from_utf8).collect();
        let row = match cells {
            Ok(cells) => self
                .layout
                .row(model, &cells)
                .map_err(|why| why.to_string()),
            Err(_) => Err("found bytes that are not UTF-8, expected text in UTF-8".to_owned()),
        };
        Ok(Some((line, row.map_err(|reason| (reason, self.text())))))
    }

    /// The record as it might have been written.
    fn text(&self) -> String {
        let mut writer = csv::WriterBuilder::new()
            .delimiter(self.delimiter)
            .from_writer(Vec::new());
        let written = writer.write_byte_record(&self.record).is_ok();
        let bytes = writer.into_inner().unwrap_or_default();
        let text = String::from_utf8_lossy(if written { &bytes } else { &[] });
        text.trim_end_matches('\n').to_owned()
    }
}

impl Jsonl {
    /// The line that was read last, without what does not belong to the object.
    fn row(&self) -> &[u8] {
        let text = match self.text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if self.line == 1 => rest,
            _ => &self.text,
        };
        text.trim_ascii()
    }

    fn next(&mut self, file: &str, model: &Model, entity: EntityId) -> Result<Read1, InputError> {
        loop {
            self.text.clear();
            self.line += 1;
            let line = self.line;
            let most = LONGEST_ROW as u64 + 1;
            let read = self
                .reader
                .by_ref()
                .take(most)
                .read_until(b'\n', &mut self.text);
            match read {
                Ok(0) => return Ok(None),
                Ok(read) => self.bytes += read as u64,
                Err(source) => {
                    return Err(InputError::Read {
                        file: file.to_owned(),
                        line,
                        source,
                    });
                }
            }
            if self.text.len() > LONGEST_ROW {
                return Err(InputError::TooLong {
                    file: file.to_owned(),
                    line,
                });
            }
            let text = self.row();
            if text.is_empty() {
                continue;
            }
            let row = json_from_line(text)
                .and_then(|json| entity_row_from_json(model, entity, &json))
                .map_err(|why| (why.to_string(), String::from_utf8_lossy(text).into_owned()));
            return Ok(Some((line, row)));
        }
    }
}

/// A reader that fails once a row has taken too many bytes, and ends with a line end and [`END`].
struct Guard {
    source: io::Chain<io::Cursor<Vec<u8>>, BufReader<Box<dyn Read>>>,
    left: usize,
    last: u8,
    /// Bytes that were read from it.
    given: u64,
    /// What is still to come behind the source.
    end: &'static [u8],
}

/// Whether the record that was read last is the one that [`END`] is in.
fn is_last(reader: &csv::Reader<Guard>) -> bool {
    let guard = reader.get_ref();
    guard.end.is_empty() && reader.position().byte() == guard.given
}

/// Whether a record is [`END`] itself.
fn is_end(record: &csv::ByteRecord) -> bool {
    record.len() == 1 && END.strip_suffix(b"\n") == Some(record.as_slice())
}

impl Read for Guard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "a row without an end",
            ));
        }
        let mut read = self.source.read(buffer)?;
        self.left = self.left.saturating_sub(read);
        if let Some(&last) = buffer.get(..read).and_then(<[u8]>::last) {
            self.last = last;
        } else if let ([first, ..], true) = (&mut *buffer, self.last != b'\n') {
            *first = b'\n';
            self.last = b'\n';
            read = 1;
        } else {
            read = self.end.read(buffer)?;
        }
        self.given += read as u64;
        Ok(read)
    }
}

/// Takes the `\r` of the line end off the last cell.
fn strip_return(record: &mut csv::ByteRecord) {
    let Some(last) = record.len().checked_sub(1) else {
        return;
    };
    let stripped = record
        .get(last)
        .and_then(|cell| cell.strip_suffix(b"\r"))
        .map(<[u8]>::to_vec);
    if let Some(stripped) = stripped {
        record.truncate(last);
        record.push_field(&stripped);
    }
}

fn csv_error(file: &str, line: u64, why: csv::Error) -> InputError {
    let source = match why.into_kind() {
        csv::ErrorKind::Io(source) => source,
        other => io::Error::other(format!("{other:?}")),
    };
    let file = file.to_owned();
    if source.kind() == io::ErrorKind::FileTooLarge {
        InputError::TooLong { file, line }
    } else {
        InputError::Read { file, line, source }
    }
}

/// The first line, without a byte order mark, with its end.
fn first_line(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    source
        .by_ref()
        .take(LONGEST_ROW as u64)
        .read_until(b'\n', &mut head)?;
    if head.starts_with(BYTE_ORDER_MARK) {
        head.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(head)
}

/// The delimiter that the header uses most, outside quotes.
fn delimiter(head: &[u8]) -> u8 {
    let mut counts = DELIMITERS.map(|d| (d, 0));
    let mut quoted = false;
    for &byte in head {
        quoted ^= byte == b'"';
        for (delimiter, count) in &mut counts {
            *count += usize::from(!quoted && byte == *delimiter);
        }
    }
    // The last of equals would win: the order is turned round.
    counts
        .iter()
        .rev()
        .max_by_key(|(_, count)| *count)
        .map_or(b',', |(delimiter, _)| *delimiter)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use querent_compiler::model::{Attribute, AttributeId, Entity, EntityKind, Field, Size, Type};

    const USER: EntityId = EntityId(0);

    /// `entity User { id int key, name text? }`
    fn model() -> Model {
        let text = Type::Text(Size {
            avg: 5.0,
            max: None,
        });
        let attribute = |name: &str, ty, optional| Attribute {
            name: name.into(),
            entity: USER,
            ty,
            optional,
            unique: false,
            sequence: None,
            cardinality: None,
        };
        let fields: Vec<Field> = (0..2).map(|i| Field::Attribute(AttributeId(i))).collect();
        Model {
            name: "m".into(),
            attributes: vec![
                attribute("id", Type::Int, false),
                attribute("name", text, true),
            ],
            entities: vec![Entity {
                name: "User".into(),
                kind: EntityKind::Root,
                root: USER,
                subtypes: vec![],
                count: 1.0,
                own: fields.clone(),
                fields,
                key: vec![0],
                sides: vec![],
                expires: None,
                deadline: None,
            }],
            ..Model::default()
        }
    }

    /// Each row as `line id name`, or `line !reason`.
    fn show(input: Input<'_>) -> Vec<String> {
        input
            .map(|row| row.unwrap())
            .map(|InputRow { line, row }| match row {
                Ok(values) => match &values[..] {
                    [Value::Int(id), Value::Text(name)] => format!("{line} {id} {name}"),
                    [Value::Int(id), Value::Null] => format!("{line} {id}"),
                    other => panic!("{other:?}"),
                },
                Err(reject) => format!("{line} !{}", reject.reason),
            })
            .collect()
    }

    fn csv(text: &'static str) -> Vec<String> {
        let model = model();
        show(Input::csv(&model, USER, "u.csv".into(), text.as_bytes()).unwrap())
    }

    #[test]
    fn csv_with_all_delimiters_marks_and_line_ends() {
        for text in [
            "id,name\n1,a\n2,\n",
            "id|name\n1|a\n2|\n",
            "name;id\na;1\n;2",
            "id\tname\n1\ta\n2\t\n",
        ] {
            assert_eq!(csv(text), ["2 1 a", "3 2"], "{text}");
        }
        assert_eq!(csv("\u{feff}id,name\r\n1,a\r\n2,\r\n"), ["2 1 a", "3 2"]);
        assert_eq!(
            csv("id,name\r\n\r\n1,\"a\"\r\n\r\n2,\"b\r\nc\""),
            ["3 1 a", "5 2 b\r\nc"]
        );
        assert_eq!(csv("id\n1\n"), ["2 1"]);
        assert_eq!(csv("\"id\",\"name\"\n1,a\n"), ["2 1 a"]);
    }

    #[test]
    fn lines_are_counted_through_quoted_line_ends() {
        let text = "id,name\n1,\"a\nb\"\n\nx,c\n2,d,e\n3,\"e \"\"f\"\"\"\n";
        assert_eq!(
            csv(text),
            [
                "2 1 a\nb",
                "5 !id: found `x`, expected a whole number",
                "6 !found 3 cells, expected 2, as in the header",
                "7 3 e \"f\"",
            ]
        );
    }

    #[test]
    fn rejects_keep_their_text_and_bytes_that_are_no_text_are_rejected() {
        let model = model();
        let source: &[u8] = b"id|name\n1|\xff\nx|\"a|b\"\n";
        let rejects: Vec<Reject> = Input::csv(&model, USER, "u.csv".into(), source)
            .unwrap()
            .map(|row| row.unwrap().row.unwrap_err())
            .collect();
        assert!(rejects[0].reason.contains("UTF-8"));
        assert_eq!(rejects[1].text, "x|\"a|b\"");
        assert_eq!((rejects[1].file.as_str(), rejects[1].line), ("u.csv", 3));
    }

    #[test]
    fn a_wrong_header_is_told_at_once() {
        let model = model();
        let open = |text: &'static str| {
            Input::csv(&model, USER, "u.csv".into(), text.as_bytes())
                .err()
                .unwrap()
                .to_string()
        };
        assert_eq!(
            open("id,nmae\n1,a\n"),
            "u.csv:1: in the header found the column `nmae`, expected a name of User; \
             did you mean `name`?"
        );
        assert!(open("name\n").contains("no column `id`"));
        assert!(open("").contains("no header"));
    }

    #[test]
    fn jsonl() {
        let model = model();
        let text =
            "\u{feff}{\"id\": 1, \"name\": \"a\"}\r\n\n{\"id\": 2}\n{\"id\": }\n{\"ids\": 3}";
        let rows = show(Input::jsonl(
            &model,
            USER,
            "u.jsonl".into(),
            text.as_bytes(),
        ));
        assert_eq!(rows[..2], ["1 1 a", "3 2"]);
        assert!(
            rows[2].starts_with("4 !found something that is not JSON"),
            "{}",
            rows[2]
        );
        assert!(
            rows[3].starts_with("5 !found the field `ids`"),
            "{}",
            rows[3]
        );
        assert!(rows[3].ends_with("did you mean `id`?"), "{}", rows[3]);
    }

    #[test]
    fn a_quote_that_is_never_closed_does_not_fill_the_memory() {
        let model = model();
        let source = io::Cursor::new(b"id,name\n1,\"a").chain(io::repeat(b'x'));
        let mut input = Input::csv(&model, USER, "u.csv".into(), source).unwrap();
        let error = input.next().unwrap().unwrap_err();
        assert!(
            matches!(error, InputError::TooLong { line: 2, .. }),
            "{error}"
        );
        assert!(input.next().is_none());
    }

    #[test]
    fn a_quote_that_is_never_closed_swallows_no_rows_silently() {
        let never = "found a quote that is never closed, expected its end";
        for text in [
            "id,name\n1,a\n2,\"b\n3,c\n4,d\n",
            "id,name\n1,a\n2,\"b\n3,c\n4,d",
            "id,name\r\n1,a\r\n2,\"b\r\n3,c\r\n",
            "id,name\n1,a\n2,\"",
        ] {
            assert_eq!(
                csv(text),
                ["2 1 a".to_owned(), format!("3 !{never}")],
                "{text}"
            );
        }
        // What stands behind the last row is seen by nobody.
        assert_eq!(csv("id,name\n1,\0\n2,\"\0\""), ["2 1 \0", "3 2 \0"]);
        let text = "id\n\0\n1\n";
        assert_eq!(csv(text).len(), 2);
        let model = model();
        let mut input = Input::csv(&model, USER, "u.csv".into(), text.as_bytes()).unwrap();
        assert_eq!(input.by_ref().count(), 2);
        assert_eq!(input.bytes(), text.len() as u64);
    }

    #[test]
    fn a_name_that_is_given_twice_is_rejected() {
        let model = model();
        let text =
            "{\"id\": 1, \"name\": \"a:\\\"b\", \"id\": 2}\n{\"id\": 3, \"name\": \"{\\\\\"}\n";
        let rows = show(Input::jsonl(
            &model,
            USER,
            "u.jsonl".into(),
            text.as_bytes(),
        ));
        assert_eq!(
            rows,
            [
                "1 !found a name twice in one object, expected each once",
                "2 3 {\\",
            ]
        );
    }

    #[test]
    fn the_name_tells_the_kind() {
        let model = model();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.JSONL");
        std::fs::write(&path, "{\"id\": 1}\n").unwrap();
        assert_eq!(show(Input::open(&model, USER, &path).unwrap()), ["1 1"]);
        let other = Input::open(&model, USER, Path::new("u.xml")).err().unwrap();
        assert!(matches!(other, InputError::Kind { .. }));
        let missing = Input::open(&model, USER, Path::new("missing.csv"))
            .err()
            .unwrap();
        assert!(matches!(missing, InputError::Open { .. }));
    }
}
