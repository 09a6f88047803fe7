//! Designs in words and figures, for people.

pub(crate) mod change;
pub(crate) mod grid;
pub(crate) mod limits;
pub(crate) mod number;
pub(crate) mod plan;
pub(crate) mod structure;
pub(crate) mod technique;

use crate::terminal::paint;

/// Styles, as ANSI codes, so that the same thing looks the same everywhere.
pub(crate) const HEADING: &str = "1";
pub(crate) const NAME: &str = "36";
pub(crate) const FAINT: &str = "2";
pub(crate) const WARNING: &str = "33";

/// A heading.
pub(crate) fn heading(colour: bool, text: &str) -> String {
    paint(colour, HEADING, text)
}

/// `1 row`, `2 rows`.
pub(crate) fn amount(n: f64, word: &str) -> String {
    match number::count(n).as_str() {
        "1" => format!("1 {word}"),
        shown => format!("{shown} {word}s"),
    }
}

/// So many of something.
pub(crate) fn counted(n: usize, word: &str) -> String {
    match n {
        1 => format!("1 {word}"),
        n => format!("{} {word}s", number::count(n as f64)),
    }
}
