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
    /// It has no meaning.
    Syntax(serde_json::Error),
    /// It has two.
    Twice(CodecError),
}

impl std::fmt::Display for NotJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let error = match self {
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
    let numbered = input.lines().enumerate();
    numbered.filter_map(|(at, line)| match line.context("reading standard input") {
        Ok(line) if line.trim().is_empty() => None,
        Ok(line) => Some(Ok(Line {
            number: at + 1,
            json: parsed(&line),
        })),
        Err(error) => Some(Err(error)),
    })
}

fn parsed(line: &str) -> Result<Json, NotJson> {
    let json = serde_json::from_str(line).map_err(NotJson::Syntax)?;
    says_once(line.as_bytes(), &json).map_err(NotJson::Twice)?;
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
}
