//! A plan bound to the layouts of a design: frames, slots and layouts are looked up, and what is
//! left open are the parameters, by number, and the rows. It holds nothing of a transaction, so
//! that one serves all asks.
//!
//! Steps are numbered as [`super::profile::steps`] lists them.

use super::AskError;
use super::aggregate;
use super::merge;
use super::order::Order;
use super::range::Bounds;
use super::stored::Shown;
use super::term::{Check, Node};
use super::ties::InputOrder;
use super::unite;
use crate::layout::{Layout, TextPlace, TextRun};
use querent_compiler::design::Plan;
use querent_compiler::model::Page;
use std::sync::Arc;

/// A plan that is ready to be asked, any number of times and with any parameters.
pub struct BoundPlan {
    pub(super) plan: Bound,
    /// How many steps there are.
    pub(super) steps: usize,
    /// How many parameters must be given.
    pub(super) params: usize,
}

impl BoundPlan {
    /// Binds a plan to the layouts of all structures of its design, by
    /// [`querent_compiler::design::StructureId`].
    pub fn new(plan: &Plan, layouts: &[Arc<Layout>]) -> Result<BoundPlan, AskError> {
        let mut binder = super::bind::Binder::new(layouts);
        let plan = binder.plan(plan, &[])?;
        let (steps, params) = (binder.steps, binder.params);
        Ok(BoundPlan {
            plan,
            steps,
            params,
        })
    }
}

impl std::fmt::Debug for BoundPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoundPlan")
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

/// Operators, and the terms above them.
pub(super) struct Bound {
    pub(super) root: BoundOp,
    /// Frames of the root's tuples.
    pub(super) stride: usize,
    pub(super) top: BoundTop,
}

/// What is computed of the tuples that leave a plan's operators.
#[derive(Default)]
pub(super) struct BoundTop {
    pub(super) names: Vec<Box<str>>,
    pub(super) output: Vec<Node>,
    /// Those of them that are looked at where they are stored.
    pub(super) shown: Vec<Option<Shown>>,
    /// Whether subplans are run for columns.
    pub(super) has_subs: bool,
    /// The texts that are checked together.
    pub(super) texts: Option<BoundTexts>,
    pub(super) cursor: Vec<Node>,
    /// The subplans in the terms.
    pub(super) subs: Vec<BoundSub>,
}

/// Texts of one frame that are checked together.
pub(super) struct BoundTexts {
    pub(super) frame: usize,
    pub(super) run: TextRun,
    /// Where they stand, by column of the answer.
    pub(super) places: Vec<TextPlace>,
}

/// A subplan in a term.
pub(super) struct BoundSub {
    pub(super) shape: Shape,
    /// Frames of the outer tuple that it starts from.
    pub(super) outer: usize,
    pub(super) plan: Bound,
}

/// What a subplan's rows become.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Nested,
    Values,
    Scalar,
    Exists,
}

/// One operator.
pub(super) struct BoundOp {
    pub(super) step: usize,
    pub(super) kind: OpKind,
    /// The subplans in its terms.
    pub(super) subs: Vec<BoundSub>,
}

/// The input of an operator.
pub(super) struct BoundInput {
    pub(super) op: Box<BoundOp>,
    /// Frames of its tuples.
    pub(super) stride: usize,
}

/// What an operator does: the variants of [`querent_compiler::design::Op`].
pub(super) enum OpKind {
    Input,
    Get {
        input: BoundInput,
        bounds: Bounds,
        outer: bool,
    },
    Merge {
        input: BoundInput,
        parts: merge::Parts,
    },
    Unite {
        branches: Vec<Bound>,
        parts: unite::Parts,
    },
    Elements {
        input: BoundInput,
        of: Node,
    },
    Filter {
        input: BoundInput,
        checks: Vec<Check>,
    },
    Distinct {
        input: BoundInput,
        by: Vec<Node>,
        /// Whether tuples that are alike come one behind the other.
        ordered: bool,
    },
    Sort {
        input: BoundInput,
        order: Order,
        ties: Option<InputOrder>,
        /// How many tuples the plan was priced for.
        expected: usize,
    },
    Page {
        input: BoundInput,
        order: Order,
        page: Page,
    },
    Limit {
        input: BoundInput,
        count: Node,
        last: bool,
    },
    Aggregate {
        input: BoundInput,
        parts: aggregate::Parts,
    },
}
