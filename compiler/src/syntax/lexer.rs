//! Text to tokens. Comments are tokens too, because `fmt` keeps them; line breaks are a flag.

use super::Span;
use crate::diagnostic::{Diagnostic, codes};

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword: which of the two is decided by the parser.
    Name,
    /// A number, its unit included: `20`, `1.5`, `100k`, `200KB`, `5min`.
    Number,
    /// A quoted text, quotes included.
    Text,
    /// `$name`
    Param,
    /// `# …` to the end of the line.
    Comment,
    /// `->`
    Arrow,
    /// `->>`
    DoubleArrow,
    /// `!=`
    NotEqual,
    /// `<=`
    LessEqual,
    /// `>=`
    GreaterEqual,
    /// A single character of `{ } ( ) [ ] < > , . = + - * / ? @ % :`
    Sign(u8),
    /// The end of the text.
    End,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Kind.
    pub kind: Kind,
    /// Place.
    pub span: Span,
    /// How many line breaks there are between the token before and this one.
    pub breaks: usize,
}

/// Cuts the text into tokens, comments included; the last one is always [`Kind::End`].
pub fn lex(text: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer {
        text,
        at: 0,
        breaks: 0,
        tokens: Vec::new(),
        diagnostics: Vec::new(),
    };
    while lexer.token() {}
    let end = Span::new(text.len(), text.len());
    lexer.tokens.push(Token {
        kind: Kind::End,
        span: end,
        breaks: lexer.breaks,
    });
    (lexer.tokens, lexer.diagnostics)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    breaks: usize,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }
    fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }
    fn eat_while(&mut self, wanted: impl Fn(char) -> bool) {
        while let Some(c) = self.peek().filter(|&c| wanted(c)) {
            self.at += c.len_utf8();
        }
    }

    /// Reads one token; false at the end of the text.
    fn token(&mut self) -> bool {
        let Some(c) = self.peek() else { return false };
        let start = self.at;
        let kind = match c {
            '\n' => {
                self.at += 1;
                self.breaks += 1;
                return true;
            }
            c if c.is_whitespace() || c == '\u{feff}' => {
                self.at += c.len_utf8();
                return true;
            }
            '#' => {
                self.eat_while(|c| c != '\n');
                Kind::Comment
            }
            '$' => {
                self.at += 1;
                self.eat_while(is_name);
                if self.at == start + 1 {
                    self.complain(start, "`$` without a name", "write a parameter as `$name`");
                    return true;
                }
                Kind::Param
            }
            '\'' | '"' => {
                self.quoted(c);
                Kind::Text
            }
            c if c.is_ascii_digit() => {
                self.number();
                Kind::Number
            }
            c if is_name(c) => {
                self.eat_while(is_name);
                Kind::Name
            }
            c => {
                let Some(kind) = self.sign() else {
                    self.at += c.len_utf8();
                    let message =
                        format!("the character `{}` has no meaning here", c.escape_default());
                    self.complain(start, &message, "remove it; texts are written in quotes");
                    return true;
                };
                kind
            }
        };
        self.tokens.push(Token {
            kind,
            span: Span::new(start, self.at),
            breaks: self.breaks,
        });
        self.breaks = 0;
        true
    }

    fn sign(&mut self) -> Option<Kind> {
        const LONG: [(&str, Kind); 6] = [
            ("->>", Kind::DoubleArrow),
            ("->", Kind::Arrow),
            ("!=", Kind::NotEqual),
            ("<>", Kind::NotEqual),
            ("<=", Kind::LessEqual),
            (">=", Kind::GreaterEqual),
        ];
        if let Some((sign, kind)) = LONG.iter().find(|(sign, _)| self.rest().starts_with(sign)) {
            self.at += sign.len();
            return Some(*kind);
        }
        let byte = *self.rest().as_bytes().first()?;
        if !b"{}()[]<>,.=+-*/?@%:".contains(&byte) {
            return None;
        }
        self.at += 1;
        Some(Kind::Sign(byte))
    }

    fn number(&mut self) {
        self.eat_while(|c| c.is_ascii_digit() || c == '_');
        if self.peek() == Some('.') && self.peek_second().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            self.eat_while(|c| c.is_ascii_digit());
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            let mut after = self.rest().chars().skip(1);
            let next = after.next();
            let digit = match next {
                Some('+' | '-') => after.next(),
                other => other,
            };
            if digit.is_some_and(|c| c.is_ascii_digit()) {
                self.at += if matches!(next, Some('+' | '-')) {
                    2
                } else {
                    1
                };
                self.eat_while(|c| c.is_ascii_digit());
            }
        }
        self.eat_while(is_name);
    }

    /// A quote inside a text is written twice.
    fn quoted(&mut self, quote: char) {
        let start = self.at;
        self.at += 1;
        loop {
            self.eat_while(|c| c != quote && c != '\n');
            if self.peek() != Some(quote) {
                return self.complain(
                    start,
                    "the text has no closing quote",
                    "close it on the same line",
                );
            }
            self.at += 1;
            if self.peek() != Some(quote) {
                return;
            }
            self.at += 1;
        }
    }

    fn complain(&mut self, start: usize, message: &str, help: &str) {
        let span = Span::new(start, self.at);
        self.diagnostics
            .push(Diagnostic::new(codes::CHARACTER, span, message).help(help));
    }
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The text inside quotes, with doubled quotes undone.
pub fn unquote(text: &str) -> String {
    let mut chars = text.chars();
    let Some(quote) = chars.next() else {
        return String::new();
    };
    let inner = chars.as_str();
    let inner = inner.strip_suffix(quote).unwrap_or(inner);
    inner.replace(&format!("{quote}{quote}"), &quote.to_string())
}
