//! Diagnostics as text and as JSON.

use super::{Diagnostic, Severity};
use crate::syntax::Span;
use serde_json::{Value, json};
use std::fmt::Write;

/// How text is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text.
    Plain,
    /// With ANSI colours.
    Colour,
}

/// Prints all findings, in the order of the text, each with its source line underlined.
pub fn to_text(diagnostics: &[Diagnostic], file: &str, text: &str, style: Style) -> String {
    let mut out = String::new();
    for diagnostic in sorted(diagnostics) {
        one_to_text(&mut out, diagnostic, file, text, style);
    }
    out
}

/// All findings as a JSON array, in the order of the text.
pub fn to_json(diagnostics: &[Diagnostic], file: &str, text: &str) -> Value {
    let place = |span: Span| {
        let (start, end) = (Place::of(text, span.start), Place::of(text, span.end));
        json!({
            "start": span.start, "end": span.end,
            "line": start.line, "column": start.column,
            "end_line": end.line, "end_column": end.column,
        })
    };
    let one = |d: &Diagnostic| {
        let labels: Vec<Value> = d
            .labels
            .iter()
            .map(|(span, message)| json!({ "message": message, "span": place(*span) }))
            .collect();
        json!({
            "code": d.code.id, "title": d.code.title, "severity": d.severity, "message": d.message,
            "file": file, "span": place(d.span), "labels": labels, "help": d.help,
        })
    };
    Value::Array(sorted(diagnostics).into_iter().map(one).collect())
}

fn sorted(diagnostics: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|d| (d.span.start, d.code.id));
    sorted
}

/// A place for people: lines and columns from 1, columns in characters.
struct Place<'t> {
    line: usize,
    column: usize,
    source: &'t str,
}

impl<'t> Place<'t> {
    fn of(text: &'t str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let source = text
            .get(start..)
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default();
        Place {
            line: before.matches('\n').count() + 1,
            column: before.get(start..).unwrap_or_default().chars().count() + 1,
            source,
        }
    }
}

fn one_to_text(out: &mut String, d: &Diagnostic, file: &str, text: &str, style: Style) {
    let paint = |code: &str, text: &str| match style {
        Style::Plain => text.to_owned(),
        Style::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    };
    let (word, colour) = match d.severity {
        Severity::Error => ("error", "1;31"),
        Severity::Warning => ("warning", "1;33"),
    };
    let place = Place::of(text, d.span.start);
    // Writing into a String cannot fail.
    let head = paint(colour, &format!("{word}[{}]", d.code.id));
    let _ = writeln!(out, "{head}: {}", paint("1", &d.message));
    let _ = writeln!(
        out,
        "  {} {file}:{}:{}",
        paint("34", "-->"),
        place.line,
        place.column
    );
    let width = std::iter::once(d.span)
        .chain(d.labels.iter().map(|(span, _)| *span))
        .map(|span| Place::of(text, span.start).line.to_string().len())
        .max()
        .unwrap_or(1);
    excerpt(out, d.span, "", '^', text, width, &|t| paint(colour, t));
    for (span, message) in &d.labels {
        excerpt(out, *span, message, '-', text, width, &|t| paint("34", t));
    }
    if let Some(help) = &d.help {
        let _ = writeln!(out, "{:width$} {} {help}", "", paint("36", "= help:"));
    }
    out.push('\n');
}

fn excerpt(
    out: &mut String,
    span: Span,
    message: &str,
    mark: char,
    text: &str,
    width: usize,
    paint: &dyn Fn(&str) -> String,
) {
    let place = Place::of(text, span.start);
    let left = place
        .source
        .chars()
        .count()
        .saturating_sub(place.column - 1);
    let length = span
        .of(text)
        .chars()
        .take_while(|&c| c != '\n')
        .count()
        .min(left)
        .max(1);
    // A tab stays a tab below, so that the underline meets its text at any tab width.
    let indent: String = place
        .source
        .chars()
        .take(place.column - 1)
        .map(|c| if c == '\t' { c } else { ' ' })
        .collect();
    let marks = mark.to_string().repeat(length);
    let _ = writeln!(out, "{:>width$} | {}", place.line, place.source);
    let _ = writeln!(
        out,
        "{:>width$} | {indent}{}",
        "",
        paint(format!("{marks} {message}").trim_end())
    );
}
