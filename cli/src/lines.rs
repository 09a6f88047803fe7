//! JSON objects from standard input, one a line.

use anyhow::{Context, Result};
use querent_compiler::codec::{CodecError, json_from_line};
use serde_json::Value as Json;
use std::io::BufRead;

/// One line that is not empty: its number, from 1, and what it is.
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) json: Result<Json, CodecError>,
}

/// The lines of standard input.
pub(crate) fn stdin() -> impl Iterator<Item = Result<Line>> {
    read(std::io::stdin().lock())
}

fn read(input: impl BufRead) -> impl Iterator<Item = Result<Line>> {
    let numbered = input.split(b'\n').enumerate();
    numbered.filter_map(|(at, line)| match line.context("reading standard input") {
        Ok(line) => {
            // Some editors begin a text with a mark that is no part of it.
            let text = match line.strip_prefix("\u{feff}".as_bytes()) {
                Some(rest) if at == 0 => rest,
                _ => &line,
            };
            (!text.trim_ascii().is_empty()).then(|| {
                Ok(Line {
                    number: at + 1,
                    json: json_from_line(text),
                })
            })
        }
        Err(error) => Some(Err(error)),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_are_numbered_and_empty_ones_passed_over() {
        let lines: Vec<_> = super::read(&b"{}\n\n  \nno\n{\"a\":1,\"a\":2}\n"[..])
            .map(Result::unwrap)
            .collect();
        let found: Vec<_> = lines.iter().map(|l| (l.number, l.json.is_ok())).collect();
        assert_eq!(found, [(1, true), (4, false), (5, false)]);
    }

    #[test]
    fn a_line_that_is_not_text_is_one_of_many() {
        let lines: Vec<_> = super::read(&b"\xef\xbb\xbf{}\r\n{\"a\":\"\xff\"}\n{}"[..])
            .map(Result::unwrap)
            .collect();
        let found: Vec<_> = lines.iter().map(|l| (l.number, l.json.is_ok())).collect();
        assert_eq!(found, [(1, true), (2, false), (3, true)]);
        let why = lines[1].json.as_ref().unwrap_err().to_string();
        assert_eq!(
            why,
            "found the byte 0xff (column 7), expected text in UTF-8"
        );
    }
}
