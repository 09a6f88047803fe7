//! One space or none between two tokens.

use crate::syntax::{Kind, Token};

const STATEMENTS: [&str; 7] = [
    "insert",
    "upsert",
    "update",
    "delete",
    "connect",
    "disconnect",
    "for",
];

/// True for the first line of a statement in a change.
pub(super) fn starts_statement(text: &str, code: &[Token]) -> bool {
    code.first()
        .is_some_and(|t| STATEMENTS.contains(&t.span.of(text)))
}

/// The tokens on one line. Angle brackets hold types in entities and compare elsewhere.
pub(super) fn join(text: &str, tokens: &[Token], is_type: bool) -> String {
    let mut out = String::new();
    for (i, token) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|b| tokens.get(b));
        if let Some(before) = before
            && spaced(text, tokens, i, *before, *token, is_type)
        {
            out.push(' ');
        }
        out.push_str(token.span.of(text));
    }
    out
}

fn spaced(
    text: &str,
    tokens: &[Token],
    at: usize,
    left: Token,
    right: Token,
    is_type: bool,
) -> bool {
    let touching = left.span.end == right.span.start;
    let number_next = tokens.get(at + 1).is_some_and(|t| t.kind == Kind::Number);
    let number_braces = |brace: usize| {
        tokens
            .get(brace)
            .is_some_and(|t| t.kind == Kind::Sign(b'{'))
            && tokens
                .get(brace + 1)
                .is_some_and(|t| t.kind == Kind::Number)
    };
    let none = match (left.kind, right.kind) {
        (Kind::Sign(b'>'), Kind::Sign(b'(')) => return true,
        (_, Kind::Sign(b',' | b')' | b']' | b'.' | b'?' | b'%'))
        | (Kind::Sign(b'(' | b'[' | b'.' | b'@'), _)
        | (Kind::Sign(b'{'), Kind::Sign(b'}')) => true,
        (_, Kind::Sign(b'<' | b'>')) | (Kind::Sign(b'<'), _) if is_type => true,
        (_, Kind::Sign(b'{')) => number_next,
        (Kind::Number, Kind::Sign(b'}')) => in_repeat(tokens, at),
        (Kind::Sign(b'{'), Kind::Number) => number_braces(at - 1),
        (_, Kind::Sign(b'+' | b'*')) => is_repeat(text, tokens, at),
        _ => false,
    };
    if none {
        return false;
    }
    // Whether a parenthesis belongs to the word before it is for the author to say:
    // `text(20)`, `as posts (avg 20)`, `count(x)`, `in (1, 2)`.
    let as_written = match (left.kind, right.kind) {
        (Kind::Name | Kind::Sign(b'?'), Kind::Sign(b'('))
        | (_, Kind::Sign(b'@' | b'[' | b'/'))
        | (Kind::Sign(b'/'), _) => true,
        (Kind::Sign(b'-'), _) => is_unary(text, tokens, at - 1),
        _ => false,
    };
    !(as_written && touching)
}

/// `{2}` and `{1, 3}` behind a step: the number that ends here was opened by such a brace.
fn in_repeat(tokens: &[Token], close: usize) -> bool {
    let kinds: Vec<Kind> = tokens
        .iter()
        .take(close)
        .rev()
        .take(4)
        .map(|t| t.kind)
        .collect();
    matches!(
        kinds.as_slice(),
        [Kind::Number, Kind::Sign(b'{'), ..]
            | [
                Kind::Number,
                Kind::Sign(b','),
                Kind::Number,
                Kind::Sign(b'{'),
                ..
            ]
    )
}

/// A sign that touches the step before it and has no operand behind it repeats the step.
fn is_repeat(text: &str, tokens: &[Token], at: usize) -> bool {
    let (Some(left), Some(sign)) = (
        at.checked_sub(1).and_then(|b| tokens.get(b)),
        tokens.get(at),
    ) else {
        return false;
    };
    if left.kind != Kind::Name || left.span.end != sign.span.start {
        return false;
    }
    match tokens.get(at + 1) {
        None => true,
        Some(next) => match next.kind {
            Kind::Name => super::super::parser::FOLLOWING.contains(&next.span.of(text)),
            Kind::Param | Kind::Number | Kind::Text | Kind::Sign(b'(' | b'-') => false,
            _ => true,
        },
    }
}

/// A minus is a sign, not an operator, where no operand stands before it.
fn is_unary(text: &str, tokens: &[Token], minus: usize) -> bool {
    const WORDS: [&str; 9] = [
        "select", "by", "where", "and", "or", "not", "in", "between", "limit",
    ];
    match minus.checked_sub(1).and_then(|b| tokens.get(b)) {
        None => true,
        Some(left) => match left.kind {
            Kind::Name => WORDS.contains(&left.span.of(text)),
            Kind::Number | Kind::Param | Kind::Text | Kind::Sign(b')' | b']') => false,
            _ => true,
        },
    }
}
