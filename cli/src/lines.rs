//! JSON objects from standard input, one a line.

use anyhow::{Context, Result};
use serde_json::Value as Json;
use std::io::BufRead;

/// One line that is not empty: its number, from 1, and what it is.
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) json: Result<Json, NotJson>,
}

/// A line that is not JSON.
#[derive(Debug)]
pub(crate) struct NotJson(serde_json::Error);

impl std::fmt::Display for NotJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The line that the parser counts is always the first.
        let text = self.0.to_string();
        let why = text.split(" at line ").next().unwrap_or_default();
        write!(
            f,
            "found something that is not JSON ({why}, column {}), expected an object",
            self.0.column()
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
            json: serde_json::from_str(&line).map_err(NotJson),
        })),
        Err(error) => Some(Err(error)),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_are_numbered_and_empty_ones_passed_over() {
        let lines: Vec<_> = super::read(&b"{}\n\n  \nno\n"[..])
            .map(Result::unwrap)
            .collect();
        let found: Vec<_> = lines.iter().map(|l| (l.number, l.json.is_ok())).collect();
        assert_eq!(found, [(1, true), (4, false)]);
    }
}
