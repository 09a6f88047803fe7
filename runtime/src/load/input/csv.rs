//! Records of a CSV file, lines counted, and quotes that are closed too early or never found.

use super::quotes::Quotes;
use super::{BYTE_ORDER_MARK, InputError, LONGEST_ROW, Read1, Unread};
use querent_compiler::codec::{Named, RecordLayout};
use querent_compiler::model::{EntityId, Model};
use std::io::{self, BufRead, BufReader, Read};

/// What follows the last byte of a CSV file: a row of its own, unless a quote is still open there.
const END: &[u8] = b"\0\n";

/// Why a row is rejected that is no text.
const NOT_UTF8: &str = "found bytes that are not UTF-8, expected text in UTF-8";

/// Why a row is rejected whose quotes end within a cell.
pub(super) const CLOSED_EARLY: &str =
    "found a quote that ends before its cell does, expected two quotes for one within quotes";

/// So many bytes of a cell are quoted at a time. The writer searches all that is left of a cell for
/// quotes each time, so that a small piece of a large cell would cost as much as all of it.
pub(crate) const WRITTEN_AT_ONCE: usize = 1 << 20;

/// Delimiters that a header is searched for; the first wins where none is more frequent.
const DELIMITERS: [u8; 4] = [b',', b'|', b';', b'\t'];

pub(super) struct Csv {
    reader: csv::Reader<Guard>,
    layout: RecordLayout,
    delimiter: u8,
    record: csv::ByteRecord,
}

impl Csv {
    /// Matches the header to the entity's fields.
    pub(super) fn open(
        model: &Model,
        entity: EntityId,
        file: &str,
        source: Box<dyn Read>,
    ) -> Result<Csv, InputError> {
        let mut source = BufReader::with_capacity(1 << 16, source);
        let head = match first_line(&mut source) {
            Ok(head) => head,
            Err(source) => {
                return Err(InputError::Read {
                    file: file.to_owned(),
                    line: 1,
                    source,
                });
            }
        };
        let delimiter = delimiter(&head);
        let source = Guard {
            source: io::Cursor::new(head).chain(source),
            left: LONGEST_ROW,
            last: b'\n',
            given: 0,
            end: END,
            quotes: Quotes::new(delimiter),
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
            Ok(_) => {
                return Err(InputError::Empty {
                    file: file.to_owned(),
                });
            }
            Err(why) => return Err(csv_error(file, 1, why)),
        }
        if closed_early(&mut reader) {
            return Err(InputError::Quote {
                file: file.to_owned(),
            });
        }
        strip_return(&mut reader, &mut record);
        let names: Vec<String> = record
            .iter()
            .map(|name| String::from_utf8_lossy(name).trim().to_owned())
            .collect();
        let layout = RecordLayout::new(model, entity, Named::Column, &names).map_err(|source| {
            InputError::Header {
                file: file.to_owned(),
                source,
            }
        })?;
        Ok(Csv {
            reader,
            layout,
            delimiter,
            record,
        })
    }

    /// How many bytes of the file were read.
    pub(super) fn bytes(&self) -> u64 {
        let behind = if is_last(&self.reader) { END.len() } else { 0 };
        self.reader.position().byte().saturating_sub(behind as u64)
    }

    pub(super) fn next(&mut self, file: &str, model: &Model) -> Result<Read1, InputError> {
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
                // Its own line, and what ends the file, are not behind it.
                let taken = match lines.saturating_sub(3) {
                    0 => String::new(),
                    1 => "; it takes in the line behind it".to_owned(),
                    n => format!("; it takes in the {n} lines behind it"),
                };
                let reason = format!("found a quote that is never closed, expected its end{taken}");
                let text = self.text();
                let text = text.trim_end_matches(['"', '\n', '\0']).to_owned();
                let key = None;
                return Ok(Some((line, Err(Unread { reason, text, key }))));
            }
            let stripped = strip_return(&mut self.reader, &mut self.record);
            let blank = stripped && self.record.len() == 1 && self.record.as_slice().is_empty();
            if !blank {
                break self.reader.position().line().saturating_sub(lines);
            }
        };
        if closed_early(&mut self.reader) {
            let (reason, text, key) = (CLOSED_EARLY.to_owned(), self.text(), None);
            return Ok(Some((line, Err(Unread { reason, text, key }))));
        }
        let cells: Result<Vec<&str>, _> = self.record.iter().map(std::str::from_utf8).collect();
        let row = match cells {
            Ok(cells) => self
                .layout
                .row(model, &cells)
                .map_err(|why| (why.to_string(), self.layout.key(model, &cells))),
            Err(_) => Err((NOT_UTF8.to_owned(), None)),
        };
        let row = row.map_err(|(reason, key)| Unread {
            reason,
            text: self.text(),
            key,
        });
        Ok(Some((line, row)))
    }

    /// The record as it might have been written.
    pub(super) fn text(&self) -> String {
        let mut writer = csv::WriterBuilder::new()
            .delimiter(self.delimiter)
            .buffer_capacity(WRITTEN_AT_ONCE)
            .from_writer(Vec::new());
        let written = writer.write_byte_record(&self.record).is_ok();
        let bytes = writer.into_inner().unwrap_or_default();
        let text = String::from_utf8_lossy(if written { &bytes } else { &[] });
        text.trim_end_matches('\n').to_owned()
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
    quotes: Quotes,
}

/// Whether quotes ended within a cell of the record that was read last.
fn closed_early(reader: &mut csv::Reader<Guard>) -> bool {
    let place = reader.position().byte();
    reader.get_mut().quotes.mistaken_before(place)
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
        self.quotes.look(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// Takes the `\r` of the line end off the last cell of the record that was read last, if it has one.
fn strip_return(reader: &mut csv::Reader<Guard>, record: &mut csv::ByteRecord) -> bool {
    let place = reader.position().byte();
    if reader.get_mut().quotes.closed_before(place) {
        return false;
    }
    let Some(last) = record.len().checked_sub(1) else {
        return false;
    };
    let stripped = record
        .get(last)
        .and_then(|cell| cell.strip_suffix(b"\r"))
        .map(<[u8]>::to_vec);
    if let Some(stripped) = &stripped {
        record.truncate(last);
        record.push_field(stripped);
    }
    stripped.is_some()
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
