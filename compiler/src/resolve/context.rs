//! What the resolution of one question or change knows.

use super::params::Params;
use super::{Later, Resolver};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Model, Param};
use crate::syntax::Span;

pub(super) struct Context<'a> {
    pub(super) text: &'a str,
    pub(super) model: &'a Model,
    pub(super) later: &'a Later,
    pub(super) params: Params,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Context<'_> {
    /// Reports and gives up on the form at hand.
    pub(super) fn fail<T>(&mut self, diagnostic: Diagnostic) -> Option<T> {
        self.diagnostics.push(diagnostic);
        None
    }
    pub(super) fn not_yet<T>(&mut self, span: Span, what: &str) -> Option<T> {
        let message = format!("{what}: not yet supported");
        self.fail(Diagnostic::new(codes::LATER, span, message).help("leave it out in this version"))
    }
}

impl Resolver<'_> {
    /// A context that knows of no parameters yet.
    pub(super) fn context(&self) -> Context<'_> {
        Context {
            text: self.text,
            model: &self.model,
            later: &self.later,
            params: Params::default(),
            diagnostics: Vec::new(),
        }
    }

    /// Runs a resolution twice, the second time with the types of parameters that the first found.
    pub(super) fn twice<T>(
        &mut self,
        run: impl Fn(&mut Context) -> Option<T>,
    ) -> Option<(T, Vec<Param>)> {
        let mut first = self.context();
        run(&mut first);
        let settled = first.params.settled();
        let mut second = self.context();
        second.params = settled;
        let result = run(&mut second);
        let Context {
            params,
            mut diagnostics,
            ..
        } = second;
        let params = params.finish();
        if !diagnostics.iter().any(Diagnostic::is_error)
            && let Err(untyped) = &params
        {
            diagnostics.extend(untyped.iter().cloned());
        }
        self.diagnostics.append(&mut diagnostics);
        Some((result?, params.ok()?))
    }
}
