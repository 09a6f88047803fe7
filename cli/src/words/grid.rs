//! Aligned columns.

use crate::terminal::paint;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// A cell: its text and its ANSI style.
pub(crate) type Cell = (String, &'static str);

/// Lines of cells. Columns named in `right` stand right; the last one is not padded.
pub(crate) struct Grid {
    indent: usize,
    right: &'static [usize],
    lines: Vec<Vec<Cell>>,
}

impl Grid {
    pub(crate) fn new(indent: usize, right: &'static [usize]) -> Self {
        Grid {
            indent,
            right,
            lines: Vec::new(),
        }
    }

    /// The names of the columns.
    pub(crate) fn head(&mut self, names: &[&str]) {
        let cells = names.iter().map(|n| ((*n).to_owned(), super::FAINT));
        self.lines.push(cells.collect());
    }

    pub(crate) fn line(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.lines.push(cells.into_iter().collect());
    }

    pub(crate) fn print(&self, colour: bool, out: &mut impl Write) -> io::Result<()> {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let width = |at: usize| {
            let cells = self.lines.iter().filter_map(|line| line.get(at));
            cells.map(|(text, _)| text.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for line in &self.lines {
            let mut shown = " ".repeat(self.indent);
            for (at, ((text, style), width)) in line.iter().zip(&widths).enumerate() {
                let blanks = " ".repeat(width.saturating_sub(text.width()));
                let painted = paint(colour && !style.is_empty() && !text.is_empty(), style, text);
                let right = self.right.contains(&at);
                if right {
                    shown.push_str(&blanks);
                }
                shown.push_str(&painted);
                if at + 1 < line.len() {
                    if !right {
                        shown.push_str(&blanks);
                    }
                    shown.push_str("  ");
                }
            }
            writeln!(out, "{}", shown.trim_end())?;
        }
        Ok(())
    }
}

/// A cell without a style.
pub(crate) fn plain(text: impl Into<String>) -> Cell {
    (text.into(), "")
}

/// A cell with the name of something.
pub(crate) fn name(text: impl Into<String>) -> Cell {
    (text.into(), super::NAME)
}

/// A cell of little importance.
pub(crate) fn faint(text: impl Into<String>) -> Cell {
    (text.into(), super::FAINT)
}
