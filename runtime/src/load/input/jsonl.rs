//! Objects of a JSONL file, one a line.

use super::{BYTE_ORDER_MARK, InputError, LONGEST_ROW, Read1, Unread};
use querent_compiler::codec::{
    CodecError, entity_key_from_json, entity_row_from_json, json_from_line,
};
use querent_compiler::model::{EntityId, Model};
use std::io::{BufRead, BufReader, Read};

pub(super) struct Jsonl {
    reader: BufReader<Box<dyn Read>>,
    line: u64,
    pub(super) bytes: u64,
    text: Vec<u8>,
}

impl Jsonl {
    pub(super) fn new(source: Box<dyn Read>) -> Jsonl {
        Jsonl {
            reader: BufReader::with_capacity(1 << 16, source),
            line: 0,
            bytes: 0,
            text: Vec::new(),
        }
    }

    /// The line that was read last, without what does not belong to the object.
    pub(super) fn row(&self) -> &[u8] {
        let text = match self.text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if self.line == 1 => rest,
            _ => &self.text,
        };
        text.trim_ascii()
    }

    pub(super) fn next(
        &mut self,
        file: &str,
        model: &Model,
        entity: EntityId,
    ) -> Result<Read1, InputError> {
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
            let unread = |why: CodecError, key| Unread {
                reason: why.to_string(),
                text: String::from_utf8_lossy(text).into_owned(),
                key,
            };
            let row = match json_from_line(text) {
                Ok(json) => entity_row_from_json(model, entity, &json)
                    .map_err(|why| unread(why, entity_key_from_json(model, entity, &json))),
                Err(why) => Err(unread(why, None)),
            };
            return Ok(Some((line, row)));
        }
    }
}
