//! The terms of an answer's cursor: most answers are read without asking for one, so that they are
//! bound when the first is asked for.

use super::build::Builder;
use super::sub::Subs;
use super::term::{Kind, Node};
use super::{Ask, AskError};
use crate::store::Reader;
use querent_compiler::design::Term;
use std::cell::OnceCell;

/// The values of the complete order, of which a cursor is made.
pub(super) struct Cursor<'a> {
    bound: OnceCell<Vec<Node<'a>>>,
    terms: &'a [Term],
    scope: Vec<Kind<'a>>,
    ask: Ask<'a>,
}

impl<'a> Cursor<'a> {
    /// Terms over the frames of `scope`. Those with subplans, which are numbered as they are bound
    /// and run before a row is handed out, come bound.
    pub(super) fn new(
        bound: Option<Vec<Node<'a>>>,
        terms: &'a [Term],
        scope: Vec<Kind<'a>>,
        ask: Ask<'a>,
    ) -> Self {
        let bound = bound.map_or_else(OnceCell::new, OnceCell::from);
        Cursor {
            bound,
            terms,
            scope,
            ask,
        }
    }

    /// Those that are bound already: all that have subplans.
    pub(super) fn bound(&self) -> &[Node<'a>] {
        self.bound.get().map_or(&[], Vec::as_slice)
    }

    /// All of them.
    pub(super) fn nodes<R: Reader + 'a>(&self) -> Result<&[Node<'a>], AskError> {
        if let Some(nodes) = self.bound.get() {
            return Ok(nodes);
        }
        let mut builder = Builder::<'a, R>::new(self.ask);
        let nodes = builder.terms(self.terms, &self.scope, &mut Subs::new())?;
        Ok(self.bound.get_or_init(|| nodes))
    }
}

/// True for a term that has no subplan, as far as a look tells.
pub(super) fn is_plain(term: &Term) -> bool {
    match term {
        Term::Const(_) | Term::Param(..) | Term::Item | Term::Column { .. } => true,
        Term::Call(_, terms) => terms.iter().all(is_plain),
        _ => false,
    }
}
