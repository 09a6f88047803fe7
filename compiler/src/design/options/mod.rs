//! Plan options: every way to answer a query that the candidates allow, with its cost and the
//! candidates and columns that it requires. The selection picks among them; given a fixed set of
//! structures, the cheapest option whose requirements are met is the plan.

mod atoms;
mod bind;
mod group;
mod matching;
mod query;
mod supply;

pub use query::free_order;

use super::plan::{Op, Plan, Term};
use super::shape::{Requirement, ShapeId, Shapes};
use super::stats::Stats;
use super::target::Target;
use crate::model::{Expr, Model, ReferenceId, Type};
use std::collections::BTreeSet;

/// More partial plans than this are not followed at one point: the cheapest are.
const BREADTH: usize = 600;

/// One way to answer.
#[derive(Clone, Debug)]
pub(crate) struct PlanOption {
    /// The plan, in terms of candidates (structure ids are shape ids, columns are positions in the
    /// candidate's key parts and columns).
    pub(crate) plan: Plan,
    pub(crate) cost: f64,
    /// Rows that it answers with.
    pub(crate) rows: f64,
    pub(crate) requires: BTreeSet<Requirement>,
}

/// Makes options; the candidates grow while it does.
pub(crate) struct Planner<'a> {
    pub(crate) model: &'a Model,
    pub(crate) stats: Stats<'a>,
    pub(crate) target: &'a Target,
    pub(crate) shapes: Shapes,
    /// Types of the parameters of the statement at hand.
    pub(crate) params: Vec<Type>,
    /// Whether new candidates may be made: not where the structures are given.
    pub(crate) growing: bool,
}

/// Where the values of a node come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A row of a candidate, in which the node is node 0.
    Row { frame: u16, shape: ShapeId, fetched: Vec<Fetched> },
    /// A computed frame: an element of a collection.
    Element { frame: u16, fetched: Vec<Fetched> },
}

/// An instance fetched by key on the way from a node.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    element: Vec<u16>,
    steps: Vec<ReferenceId>,
    frame: u16,
    shape: ShapeId,
}

/// A partly built plan.
#[derive(Clone, Debug)]
pub(crate) struct State {
    op: Op,
    frames: u16,
    /// Sources of the nodes of the scope at hand, as far as they are bound.
    nodes: Vec<Option<Source>>,
    /// Values that are known as a whole: subqueries, groups and aggregates.
    known: Vec<(Expr, Term)>,
    rows: f64,
    cost: f64,
    requires: BTreeSet<Requirement>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(model: &'a Model, target: &'a Target) -> Self {
        Planner {
            model,
            stats: Stats { model },
            target,
            shapes: Shapes::default(),
            params: vec![],
            growing: true,
        }
    }

    /// What reading costs: gets, rows, and bytes per row.
    pub(crate) fn read_cost(&self, gets: f64, rows: f64, width: f64) -> f64 {
        let c = &self.target.cost;
        c.index + gets * c.partition + rows * (c.row + width * c.byte)
    }
}

impl State {
    /// The start of a plan, or of a subplan of a plan that has so many frames.
    fn start(frames: u16, nodes: Vec<Option<Source>>, rows: f64, requires: BTreeSet<Requirement>) -> State {
        State { op: Op::Input, frames, nodes, known: vec![], rows, cost: 0.0, requires }
    }
}

/// Keeps partial plans in bounds.
fn trim(mut states: Vec<State>) -> Vec<State> {
    if states.len() > BREADTH {
        states.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.requires.len().cmp(&b.requires.len())));
        states.truncate(BREADTH);
    }
    states
}

/// Drops options that another one beats with no more requirements and no more cost.
pub(crate) fn undominated(mut options: Vec<PlanOption>) -> Vec<PlanOption> {
    options.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.requires.len().cmp(&b.requires.len())));
    let mut kept: Vec<PlanOption> = Vec::new();
    for option in options {
        if !kept.iter().any(|k| k.requires.is_subset(&option.requires)) {
            kept.push(option);
        }
    }
    kept
}
