//! Text to tree, and tree-free formatting of text.

pub mod ast;
mod format;
mod lexer;
pub mod locate;
mod parser;
mod span;

pub use format::format;
pub use lexer::{Kind, Token, lex, unquote};
pub use parser::parse;
pub use span::Span;
