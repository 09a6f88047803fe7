//! Why a value was not accepted.

use std::fmt;

/// A value that is not what its type asks for: what was found, what was expected, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecError {
    /// Where inside the value, such as `address.lines[2]`; empty for the value as a whole.
    pub path: String,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// What to do about it, where there is something to say.
    pub help: Option<String>,
}

impl CodecError {
    pub(crate) fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            found: found.into(),
            expected: expected.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A name that is none of those possible, with the nearest of them.
    pub(crate) fn unknown_name(what: &str, name: &str, of: &str, names: &[&str]) -> Self {
        let error = Self::new(format!("{what} `{name}`"), format!("a name of {of}"));
        match crate::diagnostic::nearest(name, names.iter().copied()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("the names are: {}", names.join(", "))),
        }
    }

    /// Says that it happened inside the part of this name. Called from the inside out.
    #[must_use]
    pub(crate) fn at(mut self, name: &str) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{name}{joint}{}", self.path);
        self
    }

    /// Says that it happened inside the element at this position, from 0.
    #[must_use]
    pub(crate) fn at_index(self, index: usize) -> Self {
        self.at(&format!("[{index}]"))
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CodecError {}
