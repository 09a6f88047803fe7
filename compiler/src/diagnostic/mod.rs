//! What is wrong with a text, where, and what to do about it.

pub mod codes;
mod nearest;
mod render;

pub use codes::Code;
pub use nearest::nearest;
pub use render::{Style, to_json, to_text};

use crate::syntax::Span;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// There is no model.
    Error,
    /// There is a model, but it may not be what was meant.
    Warning,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code.
    pub code: &'static Code,
    /// Severity.
    pub severity: Severity,
    /// What was found, and what was expected.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Other places that matter, with what they have to do with it.
    pub labels: Vec<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding with the severity of its code.
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: code.severity(),
            message: message.into(),
            span,
            labels: Vec::new(),
            help: None,
        }
    }
    /// Adds another place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push((span, text.into()));
        self
    }
    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
    /// Suggests the nearest of some names, or else says what to do.
    #[must_use]
    pub fn suggest<'a>(
        self,
        written: &str,
        names: impl IntoIterator<Item = &'a str>,
        otherwise: &str,
    ) -> Self {
        match nearest(written, names) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None if otherwise.is_empty() => self,
            None => self.help(otherwise),
        }
    }
    /// True for an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
