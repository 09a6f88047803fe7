//! JSON objects from standard input, one a line.

use anyhow::{Context, Result};
use querent_compiler::codec::{CodecError, says_once};
use serde_json::Value as Json;
use std::io::BufRead;

/// One line that is not empty: its number, from 1, and what it is.
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) json: Result<Json, NotJson>,
}

/// A line that is not JSON, or that says a thing twice.
#[derive(Debug)]
pub(crate) enum NotJson {
    /// It is not text: the first byte that is not UTF-8, and its column, from 1.
    NotText { byte: u8, column: usize },
    /// It has no meaning.
    Syntax(serde_json::Error),
    /// It has two.
    Twice(CodecError),
}

impl std::fmt::Display for NotJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let error = match self {
            NotJson::NotText { byte, column } => {
                return write!(
                    f,
                    "found the byte {byte:#04x} (column {column}), expected JSON in UTF-8"
                );
            }
            NotJson::Syntax(error) => error,
            NotJson::Twice(error) => return error.fmt(f),
        };
        // The line that the parser counts is always the first.
        let text = error.to_string();
        let why = text.split(" at line ").next().unwrap_or_default();
        write!(
            f,
            "found something that is not JSON ({why}, column {}), expected an object",
            error.column()
        )
    }
}
impl std::error::Error for NotJson {}

/// The lines of standard input.
pub(crate) fn stdin() -> impl Iterator<Item = Result<Line>> {
    read(std::io::stdin().lock())
}

fn read(input: impl BufRead) -> impl Iterator<Item = Result<Line>> {
    let numbered = input.split(b'\n').enumerate();
    numbered.filter_map(|(at, line)| match line.context("reading standard input") {
        Ok(line) if line.trim_ascii().is_empty() => None,
        Ok(line) => Some(Ok(Line {
            number: at + 1,
            json: parsed(&line),
        })),
        Err(error) => Some(Err(error)),
    })
}

fn parsed(line: &[u8]) -> Result<Json, NotJson> {
    if let Err(error) = std::str::from_utf8(line) {
        let column = error.valid_up_to();
        let byte = line.get(column).copied().unwrap_or_default();
        return Err(NotJson::NotText {
            byte,
            column: column + 1,
        });
    }
    let json = serde_json::from_slice(line).map_err(NotJson::Syntax)?;
    says_once(line, &json).map_err(NotJson::Twice)?;
    Ok(json)
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
        let lines: Vec<_> = super::read(&b"{}\r\n{\"a\":\"\xff\"}\n{}"[..])
            .map(Result::unwrap)
            .collect();
        let found: Vec<_> = lines.iter().map(|l| (l.number, l.json.is_ok())).collect();
        assert_eq!(found, [(1, true), (2, false), (3, true)]);
        let why = lines[1].json.as_ref().unwrap_err().to_string();
        assert_eq!(
            why,
            "found the byte 0xff (column 7), expected JSON in UTF-8"
        );
    }
}
