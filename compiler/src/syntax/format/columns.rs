//! Columns: of the fields of an entity, and of questions and changes on single lines.

use super::{Line, LineKind, closes, opens, pad, spacing};
use crate::syntax::{Kind, Token};
use std::collections::BTreeMap;

/// Name, type, then one cell per modifier.
pub(super) fn field_cells(text: &str, code: &[Token]) -> Vec<String> {
    let mut starts = vec![0, 1];
    let is_link = matches!(
        code.get(1).map(|t| t.kind),
        Some(Kind::Arrow | Kind::DoubleArrow)
    );
    let mut depth = 0_i32;
    let mut at = 2;
    while let Some(token) = code.get(at) {
        let word = if token.kind == Kind::Name {
            token.span.of(text)
        } else {
            ""
        };
        let words = match word {
            "as" | "distinct" => 2,
            "on" => 3,
            "sequence" if code.get(at + 1).is_some_and(|t| t.span.of(text) == "per") => 3,
            "key" | "unique" | "sequence" | "words" | "tree" => 1,
            _ => 0,
        };
        let after_arrow = is_link && at == 2;
        if depth == 0 && words > 0 && !after_arrow {
            starts.push(at);
            at += words;
            continue;
        }
        if depth == 0 && is_link && token.kind == Kind::Sign(b'{') {
            starts.push(at);
        }
        depth += i32::from(opens(token.kind)) - i32::from(closes(token.kind));
        at += 1;
    }
    cells(text, code, &starts, true)
}

/// `question name`, `(rate)`, the rest.
pub(super) fn statement_cells(text: &str, code: &[Token]) -> Vec<String> {
    let rest = after_options(code).and_then(|r| code.iter().position(|t| t.span == r.span));
    cells(text, code, &[0, 2, rest.unwrap_or(2)], false)
}

fn cells(text: &str, code: &[Token], starts: &[usize], is_type: bool) -> Vec<String> {
    let ends = starts
        .iter()
        .skip(1)
        .copied()
        .chain(std::iter::once(code.len()));
    let ranges = starts.iter().copied().zip(ends);
    ranges
        .filter_map(|(start, end)| code.get(start..end))
        .filter(|tokens| !tokens.is_empty())
        .map(|tokens| spacing::join(text, tokens, is_type))
        .collect()
}

/// The first token behind `question name (…)`.
pub(super) fn after_options(code: &[Token]) -> Option<Token> {
    if code.get(2)?.kind != Kind::Sign(b'(') {
        return None;
    }
    let close = code.iter().position(|t| t.kind == Kind::Sign(b')'))?;
    code.get(close + 1).copied()
}

/// Names and types of one entity's fields stand in columns.
pub(super) fn align_fields(lines: &mut [Line]) {
    for block in blocks(lines, |line, other| {
        line.indent == other.indent && line.kind == LineKind::Field
    }) {
        let mut group: BTreeMap<usize, &mut Line> = lines
            .iter_mut()
            .enumerate()
            .filter(|(i, l)| block.contains(i) && l.kind == LineKind::Field)
            .collect();
        pad(&mut group, 0);
        pad(&mut group, 1);
    }
}

/// Names and rates of neighbouring questions, or changes, stand in columns.
pub(super) fn align_statements(lines: &mut [Line]) {
    for block in blocks(lines, |line, other| {
        matches!(line.kind, LineKind::Statement(_)) && line.kind == other.kind
    }) {
        let mut group: BTreeMap<usize, &mut Line> = lines
            .iter_mut()
            .enumerate()
            .filter(|(i, l)| block.contains(i) && matches!(l.kind, LineKind::Statement(_)))
            .collect();
        pad(&mut group, 0);
        pad(&mut group, 1);
    }
}

/// Runs of lines that share columns: from one such line to the last that belongs to it, over lines
/// that only continue, and ended by a blank line or any other declaration.
fn blocks(lines: &[Line], belongs: impl Fn(&Line, &Line) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut blocks: Vec<std::ops::Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    for (i, line) in lines.iter().enumerate() {
        let first = open.and_then(|o| lines.get(o));
        let same = first.is_some_and(|first| belongs(line, first));
        let field = line.kind == LineKind::Field;
        // A blank line within an entity does not end its columns.
        if line.blank_before && !(same && field) || !(same || line.continues) {
            open = None;
        }
        if open.is_none() && belongs(line, line) {
            open = Some(i);
            blocks.push(i..i + 1);
        } else if open.is_some()
            && same
            && let Some(block) = blocks.last_mut()
        {
            block.end = i + 1;
        }
    }
    blocks
}
