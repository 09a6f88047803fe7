//! Where output goes, and what may be done there.

use clap::ValueEnum;
use std::ffi::OsString;
use std::io::{BufWriter, IsTerminal, Stdout, Write};

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Standard output, buffered, with what is known of it.
pub(crate) struct Terminal {
    /// Standard output; flushed by `main`.
    pub(crate) out: BufWriter<Stdout>,
    /// Whether standard output takes colours.
    pub(crate) colour: bool,
    /// Columns of the terminal; none where standard output is not one.
    pub(crate) width: Option<usize>,
    /// Whether standard error takes colours.
    pub(crate) colour_err: bool,
}

impl Terminal {
    pub(crate) fn new(color: Color) -> Self {
        let allowed = |is_terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && takes_colours(|name| std::env::var_os(name)),
        };
        let stdout = std::io::stdout();
        let is_terminal = stdout.is_terminal();
        let width = terminal_size::terminal_size().map(|(w, _)| usize::from(w.0));
        Self {
            colour: allowed(is_terminal),
            colour_err: allowed(std::io::stderr().is_terminal()),
            width: width.filter(|_| is_terminal),
            out: BufWriter::new(stdout),
        }
    }

    /// Text in an ANSI style (`1;31` is bold red) for standard error.
    pub(crate) fn paint_err(&self, style: &str, text: &str) -> String {
        paint(self.colour_err, style, text)
    }

    /// A remark beside the output: progress, counts, warnings.
    pub(crate) fn remark(&mut self, text: &str) -> std::io::Result<()> {
        // In the order in which it was said, where both go to one terminal.
        self.out.flush()?;
        writeln!(std::io::stderr(), "{text}")
    }
}

/// Whether a terminal is told nothing against colours: `NO_COLOR`, as no-color.org has it, set and not
/// empty, or a `TERM` that knows no styles.
fn takes_colours(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let refused = variable("NO_COLOR").is_some_and(|v| !v.is_empty());
    !refused && variable("TERM").is_none_or(|term| term != "dumb")
}

/// Text in an ANSI style, where colours are on.
pub(crate) fn paint(on: bool, style: &str, text: &str) -> String {
    if on {
        format!("\u{1b}[{style}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_has_no_colours() {
        let with = |set: &'static [(&str, &str)]| {
            takes_colours(|name| {
                let mut set = set.iter().filter(|(n, _)| *n == name);
                set.next().map(|(_, value)| value.into())
            })
        };
        assert!(with(&[("TERM", "xterm")]));
        assert!(with(&[("NO_COLOR", "")]));
        assert!(!with(&[("TERM", "dumb")]));
        assert!(!with(&[("TERM", "xterm"), ("NO_COLOR", "1")]));
    }
}
