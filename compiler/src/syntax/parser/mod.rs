//! Tokens to tree: recursive descent, one function per form, with recovery at declarations, fields
//! and statements. A function that returns `None` has already said why.

mod declarations;
mod expressions;
mod fields;
mod questions;
mod schemas;
mod statements;

pub(super) use expressions::FOLLOWING;

use super::ast::{Ast, Name, Number};
use super::{Kind, Span, Token, lex};
use crate::diagnostic::{Diagnostic, codes, nearest};

/// Forms may be nested so deep: enough for people, and far from the end of any stack.
const MAX_DEPTH: usize = 48;

/// Parses a whole file. The tree holds all that could be understood.
pub fn parse(text: &str) -> (Ast, Vec<Diagnostic>) {
    let (tokens, diagnostics) = lex(text);
    let mut parser = Parser {
        text,
        tokens: without_comments(tokens),
        at: 0,
        diagnostics,
        depth: 0,
    };
    let ast = parser.file();
    (ast, parser.diagnostics)
}

fn without_comments(tokens: Vec<Token>) -> Vec<Token> {
    let mut breaks = 0;
    let mut kept = Vec::with_capacity(tokens.len());
    for mut token in tokens {
        if token.kind == Kind::Comment {
            breaks += token.breaks;
        } else {
            token.breaks += std::mem::take(&mut breaks);
            kept.push(token);
        }
    }
    kept
}

struct Parser<'t> {
    text: &'t str,
    /// Without comments; ends with [`Kind::End`].
    tokens: Vec<Token>,
    at: usize,
    diagnostics: Vec<Diagnostic>,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn token(&self, ahead: usize) -> Token {
        let end = Token {
            kind: Kind::End,
            span: self.end(),
            breaks: 1,
        };
        self.tokens.get(self.at + ahead).copied().unwrap_or(end)
    }
    fn end(&self) -> Span {
        Span::new(self.text.len(), self.text.len())
    }
    fn kind(&self) -> Kind {
        self.token(0).kind
    }
    fn span(&self) -> Span {
        self.token(0).span
    }
    /// The place of the token just eaten.
    fn last_span(&self) -> Span {
        self.at
            .checked_sub(1)
            .and_then(|i| self.tokens.get(i))
            .map_or(Span::default(), |t| t.span)
    }
    fn word(&self, ahead: usize) -> &'t str {
        let token = self.token(ahead);
        if token.kind == Kind::Name {
            token.span.of(self.text)
        } else {
            ""
        }
    }
    fn bump(&mut self) -> Token {
        let token = self.token(0);
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    fn is(&self, sign: u8) -> bool {
        self.kind() == Kind::Sign(sign)
    }
    fn eat(&mut self, sign: u8) -> bool {
        let found = self.is(sign);
        if found {
            self.bump();
        }
        found
    }
    fn is_word(&self, word: &str) -> bool {
        self.word(0) == word
    }
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }
    fn eat_words(&mut self, first: &str, second: &str) -> bool {
        let found = self.word(0) == first && self.word(1) == second;
        if found {
            self.at += 2;
        }
        found
    }

    fn expect(&mut self, sign: u8, purpose: &str) -> Option<()> {
        if self.eat(sign) {
            Some(())
        } else {
            self.fail(&format!("`{}` {purpose}", sign as char))
        }
    }
    fn expect_word(&mut self, word: &str, purpose: &str) -> Option<()> {
        if self.eat_word(word) {
            Some(())
        } else {
            self.fail(&format!("`{word}` {purpose}"))
        }
    }
    fn name(&mut self, what: &str) -> Option<Name> {
        if self.kind() != Kind::Name {
            return self.fail(what);
        }
        let span = self.bump().span;
        Some(Name {
            text: span.of(self.text).to_owned(),
            span,
        })
    }
    fn param(&mut self, what: &str) -> Option<Name> {
        if self.kind() != Kind::Param {
            return self.fail(what);
        }
        let span = self.bump().span;
        Some(Name {
            text: span.of(self.text).trim_start_matches('$').to_owned(),
            span,
        })
    }
    fn number(&mut self, what: &str) -> Option<Number> {
        if self.kind() != Kind::Number {
            return self.fail(what);
        }
        let span = self.bump().span;
        let written: String = span.of(self.text).chars().filter(|&c| c != '_').collect();
        let digits = number_length(&written);
        let (digits, unit) = written.split_at_checked(digits).unwrap_or((&written, ""));
        Some(Number {
            digits: digits.to_owned(),
            unit: unit.to_owned(),
            span,
        })
    }

    /// Says what was expected and what is there instead.
    fn fail<T>(&mut self, expected: &str) -> Option<T> {
        let token = self.token(0);
        let found = match token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", token.span.of(self.text)),
        };
        let message = format!("expected {expected}, found {found}");
        let mut found = Diagnostic::new(codes::SYNTAX, token.span, message);
        // What stands between the backquotes are the words and signs that would have done.
        let words = expected.split('`').skip(1).step_by(2);
        if let Some(meant) = nearest(self.word(0), words) {
            found = found.help(format!("did you mean `{meant}`?"));
        }
        self.diagnostics.push(found);
        None
    }
    fn help(&mut self, text: &str) {
        if let Some(last) = self.diagnostics.last_mut() {
            last.help = Some(text.to_owned());
        }
    }

    /// Runs a form one level deeper, or refuses it.
    fn nested<T>(&mut self, form: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.too_deep();
            return None;
        }
        self.depth += 1;
        let result = form(self);
        self.depth -= 1;
        result
    }
    fn too_deep(&mut self) {
        let already = self.diagnostics.iter().any(|d| d.code == codes::DEPTH);
        if !already {
            let message = format!("nested more than {MAX_DEPTH} deep");
            let found = Diagnostic::new(codes::DEPTH, self.span(), message);
            self.diagnostics.push(found.help("write it flatter"));
        }
    }

    /// At the start of a line stand a word and a name.
    fn at_line_of_two_names(&self) -> bool {
        let token = self.token(0);
        let line_start = token.span.start == 0
            || self
                .text
                .as_bytes()
                .get(token.span.start - 1)
                .is_some_and(|&b| b == b'\n');
        let names = token.kind == Kind::Name && self.token(1).kind == Kind::Name;
        line_start && names
    }
    /// At the start of a line stands a word that begins a declaration.
    fn at_declaration(&self) -> bool {
        self.at_line_of_two_names() && declarations::WORDS.contains(&self.word(0))
    }
    /// A word that begins a declaration, misspelt: it is reported too, instead of being skipped.
    fn at_misspelt_declaration(&self) -> bool {
        self.at_line_of_two_names() && nearest(self.word(0), declarations::WORDS).is_some()
    }
    fn skip_to_declaration(&mut self) {
        let found = |p: &Self| p.at_declaration() || p.at_misspelt_declaration();
        while self.kind() != Kind::End && !found(self) {
            self.bump();
        }
    }
    /// To the next line within a block, its end, or the next declaration. `{ … }` is skipped whole.
    fn skip_line(&mut self) {
        let mut open = 0_usize;
        while self.kind() != Kind::End && !self.at_declaration() {
            match self.kind() {
                Kind::Sign(b'}') if open == 0 => return,
                Kind::Sign(b'}') => open -= 1,
                Kind::Sign(b'{') => open += 1,
                _ => {}
            }
            self.bump();
            if open == 0 && self.token(0).breaks > 0 {
                return;
            }
        }
    }
}

/// How much of a number is digits, the rest being its unit.
fn number_length(written: &str) -> usize {
    let bytes = written.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let mut i = 0;
    while digit(i) || (bytes.get(i) == Some(&b'.')) {
        i += 1;
    }
    if matches!(bytes.get(i), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(i + 1), Some(b'+' | b'-')));
        if digit(i + 1 + sign) {
            i += 1 + sign;
            while digit(i) {
                i += 1;
            }
        }
    }
    i
}
