//! `fmt`: the one standard layout. It works on tokens, so comments stay where they are; line breaks
//! stay too, because where a question is broken is the author's sense of what belongs together.
//! What is decided here: indentation, spaces, blank lines, and columns.

mod columns;
mod spacing;

use super::ast::{Ast, Declaration, Entity, Field, FieldKind};
use super::{Kind, Token, lex, parse};
use crate::diagnostic::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};

/// Formats a text, or says why it cannot be understood.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (ast, diagnostics) = parse(text);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let (tokens, _) = lex(text);
    let marks = Marks::of(&ast);
    let mut lines = lay_out(text, &tokens, &marks);
    columns::align_fields(&mut lines);
    columns::align_statements(&mut lines);
    Ok(print(&lines))
}

/// What a token-based formatter cannot know by itself.
struct Marks {
    /// Where names of declarations start.
    declarations: BTreeSet<usize>,
    /// Where names of fields of entities start.
    fields: BTreeSet<usize>,
    /// Where names of structures of schemas start.
    structures: BTreeSet<usize>,
}

impl Marks {
    fn of(ast: &Ast) -> Marks {
        let mut marks = Marks {
            declarations: BTreeSet::new(),
            fields: BTreeSet::new(),
            structures: BTreeSet::new(),
        };
        marks
            .declarations
            .extend(ast.name.iter().map(|n| n.span.start));
        for declaration in &ast.declarations {
            let name = match declaration {
                Declaration::Enum(e) => &e.name,
                Declaration::Entity(e) => {
                    marks.fields_of(e);
                    &e.name
                }
                Declaration::Question(q) => &q.name,
                Declaration::Change(c) => &c.name,
                Declaration::Schema(s) => {
                    let names = s.structures.iter().map(|s| s.name.span.start);
                    marks.structures.extend(names);
                    &s.name
                }
                Declaration::Job(name) => name,
            };
            marks.declarations.insert(name.span.start);
        }
        marks
    }

    fn fields_of(&mut self, entity: &Entity) {
        let mut add =
            |fields: &[Field]| self.fields.extend(fields.iter().map(|f| f.name.span.start));
        add(&entity.fields);
        for field in &entity.fields {
            if let FieldKind::Link(link) = &field.kind {
                add(&link.attributes);
            }
        }
    }
}

/// What a line is, as far as columns are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    /// One whole field of an entity.
    Field,
    /// The first line of a question or change, with more than its name and rate on it.
    Statement(&'static str),
    /// A blank line above, or another declaration: columns end here.
    Other,
}

/// A line on its way: cells are joined by two spaces, and padded where columns want it.
struct Line {
    blank_before: bool,
    indent: usize,
    kind: LineKind,
    /// Continues a declaration: does not end the columns of its neighbours.
    continues: bool,
    cells: Vec<String>,
    comment: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Entity,
    Question,
    Schema,
    /// A change before and after its brace.
    Change {
        braced: bool,
    },
}

fn lay_out(text: &str, tokens: &[Token], marks: &Marks) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut depth = 0_usize;
    let mut within = Within::Nothing;
    for (blank_before, line) in split_lines(tokens) {
        let code: Vec<Token> = line
            .iter()
            .copied()
            .filter(|t| t.kind != Kind::Comment)
            .collect();
        let comment = line.iter().find(|t| t.kind == Kind::Comment);
        let comment = comment.map(|t| t.span.of(text).trim_end().to_owned());
        let starts = declaration_word(text, &code, marks);
        if let Some(word) = starts {
            depth = 0;
            within = match word {
                "entity" | "enum" => Within::Entity,
                "change" => Within::Change { braced: false },
                "schema" => Within::Schema,
                "question" | "job" => Within::Question,
                _ => Within::Nothing,
            };
        }
        let closers = code.iter().take_while(|t| closes(t.kind)).count();
        let continued = match within {
            Within::Question | Within::Change { braced: false } => {
                starts.is_none() && !code.is_empty()
            }
            Within::Schema => {
                let named = |t: &Token| marks.structures.contains(&t.span.start);
                depth > 0 && !code.is_empty() && closers == 0 && !code.first().is_some_and(named)
            }
            Within::Change { braced: true } => {
                depth > 0
                    && !code.is_empty()
                    && closers == 0
                    && !spacing::starts_statement(text, &code)
            }
            _ => false,
        };
        let indent = 2 * (depth.saturating_sub(closers) + usize::from(continued));
        let is_type = within == Within::Entity;
        let kind = line_kind(text, &code, starts, is_type && depth == 1, marks);
        let cells = match kind {
            LineKind::Field => columns::field_cells(text, &code),
            LineKind::Statement(_) => columns::statement_cells(text, &code),
            LineKind::Other if code.is_empty() => Vec::new(),
            LineKind::Other => vec![spacing::join(text, &code, is_type)],
        };
        for token in &code {
            if opens(token.kind) {
                if depth == 0
                    && token.kind == Kind::Sign(b'{')
                    && matches!(within, Within::Change { .. })
                {
                    within = Within::Change { braced: true };
                }
                depth += 1;
            } else if closes(token.kind) {
                depth = depth.saturating_sub(1);
            }
        }
        let continues = starts.is_none();
        lines.push(Line {
            blank_before,
            indent,
            kind,
            continues,
            cells,
            comment,
        });
    }
    lines
}

fn opens(kind: Kind) -> bool {
    matches!(kind, Kind::Sign(b'{' | b'(' | b'['))
}
fn closes(kind: Kind) -> bool {
    matches!(kind, Kind::Sign(b'}' | b')' | b']'))
}

/// Tokens by line, with whether a blank line stood before.
fn split_lines(tokens: &[Token]) -> Vec<(bool, Vec<Token>)> {
    let mut lines: Vec<(bool, Vec<Token>)> = Vec::new();
    for &token in tokens.iter().filter(|t| t.kind != Kind::End) {
        match lines.last_mut() {
            Some((_, line)) if token.breaks == 0 => line.push(token),
            _ => lines.push((token.breaks > 1 && !lines.is_empty(), vec![token])),
        }
    }
    lines
}

fn declaration_word<'t>(text: &'t str, code: &[Token], marks: &Marks) -> Option<&'t str> {
    let [word, name, ..] = code else { return None };
    marks
        .declarations
        .contains(&name.span.start)
        .then(|| word.span.of(text))
}

fn line_kind(
    text: &str,
    code: &[Token],
    starts: Option<&str>,
    field_depth: bool,
    marks: &Marks,
) -> LineKind {
    let statement = match starts {
        Some("question") => Some("question"),
        Some("change") => Some("change"),
        _ => None,
    };
    if let Some(word) = statement {
        return match columns::after_options(code) {
            Some(rest) if !["", "{", "atomic"].contains(&rest.span.of(text)) => {
                LineKind::Statement(word)
            }
            _ => LineKind::Other,
        };
    }
    let first_is_field = code
        .first()
        .is_some_and(|t| marks.fields.contains(&t.span.start));
    if !field_depth || !first_is_field {
        return LineKind::Other;
    }
    let mut depth = 0_i32;
    for token in code.iter().skip(1) {
        let other_field = depth == 0 && marks.fields.contains(&token.span.start);
        depth += i32::from(opens(token.kind)) - i32::from(closes(token.kind));
        if other_field || depth < 0 {
            return LineKind::Other;
        }
    }
    if depth == 0 {
        LineKind::Field
    } else {
        LineKind::Other
    }
}

fn print(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        if line.blank_before {
            out.push('\n');
        }
        let mut content = line.cells.join("  ").trim_end().to_owned();
        if let Some(comment) = &line.comment {
            if !content.is_empty() {
                content.push_str("  ");
            }
            content.push_str(comment);
        }
        out.push_str(&" ".repeat(line.indent));
        out.push_str(&content);
        out.push('\n');
    }
    out
}

/// Pads a column of some lines to its widest cell.
fn pad(lines: &mut BTreeMap<usize, &mut Line>, column: usize) {
    // The last cell of a line has nothing behind it to line up.
    let width = lines
        .values()
        .filter(|l| l.cells.len() > column + 1)
        .filter_map(|l| l.cells.get(column))
        .map(|c| c.chars().count())
        .max()
        .unwrap_or(0);
    for line in lines.values_mut() {
        if line.cells.len() > column + 1
            && let Some(cell) = line.cells.get_mut(column)
        {
            let missing = width.saturating_sub(cell.chars().count());
            cell.push_str(&" ".repeat(missing));
        }
    }
}
