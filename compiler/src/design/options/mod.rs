//! Plan options: every way to answer a query that the candidates allow, with its cost and the
//! candidates and columns that it requires. The selection picks among them; given a fixed set of
//! structures, the cheapest option whose requirements are met is the plan.

mod alternatives;
mod atoms;
mod bind;
mod extreme;
mod far_end;
mod filter;
mod get;
mod group;
mod grow;
mod grow_lists;
mod kept;
mod locate;
mod matched;
mod matching;
mod measured;
mod one_element;
mod orders;
mod pieces;
mod problem;
mod query;
mod requires;
mod subplans;
mod subquery;
mod supply;
mod turn;
mod unite;
mod walk;

pub(crate) use grow_lists::determines;
pub(crate) use kept::{is_counter, maintainable};
pub use query::free_order;
pub(crate) use requires::Requires;

use super::fit::Pressure;
use super::plan::{Op, Plan, Term};
use super::shape::{ShapeId, Shapes};
use super::stats::Stats;
use super::target::Target;
use super::upkeep::Upkeep;
use crate::model::{Expr, Model, NodeId, ReferenceId, Type};
use crate::view::Structure;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// How many partial plans are followed at one point, by how deep inside subqueries it is: so many that
/// are cheapest with all that they require, and half as many that are cheapest to read. What is tried
/// multiplies with every level.
const BREADTH: [usize; 4] = [40, 10, 4, 2];
/// So many times fewer are followed while candidates are made: what a partial plan calls for hardly
/// depends on the candidates that it reads.
const GROWING: usize = 4;
/// After so many steps tried for one statement, and again after as many more, half as many partial
/// plans are followed: a question of many nested parts is still planned in a moment.
const STEPS: usize = 12000;
/// Ways to answer a subquery that are weighed inside a larger plan, by depth: the cheapest.
const SUBPLANS: [usize; 4] = [8, 4, 2, 1];

/// One way to answer.
#[derive(Clone, Debug)]
pub(crate) struct PlanOption {
    /// The plan, in terms of candidates (structure ids are shape ids, columns are positions in the
    /// candidate's key parts and columns).
    pub(crate) plan: Plan,
    pub(crate) cost: f64,
    /// Rows that it answers with.
    pub(crate) rows: f64,
    pub(crate) requires: Requires,
}

/// Makes options; the candidates grow while it does.
pub(crate) struct Planner<'a> {
    pub(crate) model: &'a Model,
    pub(crate) stats: Stats<'a>,
    pub(crate) target: &'a Target,
    pub(crate) shapes: Shapes,
    /// Types of the parameters of the statement at hand.
    pub(crate) params: Vec<Type>,
    /// What presses on their partitions.
    pub(crate) pressure: Pressure,
    /// What candidates cost to keep; of those that are still being made, nothing.
    pub(crate) upkeep: Upkeep,
    /// Whether new candidates may be made: not where the structures are given.
    pub(crate) growing: bool,
    /// The candidates and columns that plans are made of; else all.
    pub(crate) within: Option<BTreeMap<ShapeId, BTreeSet<usize>>>,
    /// The candidates that were made of structures, as they fit the target.
    admitted: HashMap<Structure, Vec<ShapeId>>,
    /// What questions ask for by equalities, and whether one has no others.
    asked: BTreeMap<orders::Asked, bool>,
    measured: measured::Measured,
    matched: matched::Matched,
    subplans: subplans::Subplans,
    /// Whether nothing of these is used.
    #[cfg(test)]
    pub(crate) forgetful: bool,
    /// How deep inside subqueries the planner is.
    depth: usize,
    /// Steps tried for the statement at hand.
    steps: usize,
}

/// Where the values of a node come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// A row of a candidate: the node is its node 0, or what that one refers to by these steps.
    Row {
        frame: u16,
        shape: ShapeId,
        at: Vec<ReferenceId>,
        fetched: Vec<Fetched>,
    },
    /// An element of a collection in a computed frame: its value, position and map key are the
    /// columns from the first on.
    Element {
        frame: u16,
        first: u16,
        fetched: Vec<Fetched>,
    },
    /// An instance of united branches, which carry what is needed of it: that, as seen from there,
    /// and the columns.
    Carried {
        frame: u16,
        carried: Vec<(Expr, u16)>,
        fetched: Vec<Fetched>,
    },
}

/// An instance fetched by key on the way from a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    element: Vec<u16>,
    steps: Vec<ReferenceId>,
    frame: u16,
    shape: ShapeId,
}

/// A partly built plan.
#[derive(Clone, Debug)]
pub(crate) struct State {
    op: Arc<Op>,
    /// Frames of the outer tuple.
    outer: u16,
    frames: u16,
    /// Sources of the nodes of the scope at hand, as far as they are bound. These and the steps are
    /// shared by the partial plans that go on from here.
    nodes: Rc<Vec<Option<Source>>>,
    /// Values that are known as a whole: subqueries, groups and aggregates. Shared likewise.
    known: Rc<Vec<(Expr, Term)>>,
    rows: f64,
    cost: f64,
    requires: Requires,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(model: &'a Model, target: &'a Target) -> Self {
        Planner {
            model,
            stats: target.stats(model),
            target,
            shapes: Shapes::default(),
            params: vec![],
            pressure: Pressure::default(),
            upkeep: Upkeep::default(),
            growing: true,
            within: None,
            admitted: HashMap::new(),
            asked: BTreeMap::new(),
            measured: measured::Measured::default(),
            matched: matched::Matched::default(),
            subplans: subplans::Subplans::default(),
            #[cfg(test)]
            forgetful: false,
            depth: 0,
            steps: 0,
        }
    }

    fn breadth(&self) -> usize {
        let full = BREADTH
            .get(self.depth)
            .or(BREADTH.last())
            .copied()
            .unwrap_or(1);
        let full = if self.growing { full / GROWING } else { full };
        (full >> self.tired()).max(1)
    }

    /// How many partial plans are followed that are cheapest to read, and how many of the others that
    /// are cheapest with all that they require.
    fn followed(&self) -> (usize, usize) {
        let breadth = self.breadth();
        (breadth.div_ceil(2), breadth)
    }

    fn subplans(&self) -> usize {
        let full = SUBPLANS
            .get(self.depth)
            .or(SUBPLANS.last())
            .copied()
            .unwrap_or(1);
        (full >> self.tired()).max(1)
    }

    /// Whether a partial plan reads only what plans are made of.
    fn may_read(&self, state: &State) -> bool {
        let within = self.within.as_ref();
        within.is_none_or(|within| state.requires.iter().all(|r| r.is_kept(within)))
    }

    /// Keeps partial plans in bounds: drops those that another one beats, then all but some that are
    /// cheapest to read and some that are cheapest with all that they require.
    ///
    /// A beaten one may know more than the one that beats it, but what it knows can be fetched later
    /// for no more than it has paid.
    fn trim(&self, mut states: Vec<State>) -> Vec<State> {
        states.retain(|s| self.may_read(s));
        states.sort_by(|a, b| {
            let fewer = || a.requires.len().cmp(&b.requires.len());
            a.cost.total_cmp(&b.cost).then_with(fewer)
        });
        let beats = |a: &State, b: &State| a.cost <= b.cost && a.requires.is_subset(&b.requires);
        self.both_ways(states, self.followed(), |s| (s.cost, &s.requires), beats)
    }

    /// Of plans, so many of the first, and so many of the others that are cheapest with all that they
    /// require; none that another one of them beats.
    fn both_ways<T>(
        &self,
        plans: Vec<T>,
        (first, others): (usize, usize),
        of: impl Fn(&T) -> (f64, &Requires),
        beats: impl Fn(&T, &T) -> bool,
    ) -> Vec<T> {
        let mut kept: Vec<T> = Vec::new();
        let mut fill = |plans: Vec<T>, until: usize| {
            let mut left = Vec::new();
            for plan in plans {
                if kept.len() >= until {
                    left.push(plan);
                } else if !kept.iter().any(|k| beats(k, &plan)) {
                    kept.push(plan);
                }
            }
            left
        };
        let left = fill(plans, first);
        let left = self.by_upkeep(left, of);
        fill(left, first + others);
        kept
    }

    /// Plans in the order of what they cost with all that they require.
    fn by_upkeep<T>(&self, plans: Vec<T>, of: impl Fn(&T) -> (f64, &Requires)) -> Vec<T> {
        let priced = plans.into_iter().map(|plan| {
            let (cost, requires) = of(&plan);
            (self.with_upkeep(cost, requires), plan)
        });
        let mut priced: Vec<(f64, T)> = priced.collect();
        priced.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        priced.into_iter().map(|(_, plan)| plan).collect()
    }

    /// How often the search has been narrowed for the statement at hand.
    fn tired(&self) -> usize {
        tired(self.steps)
    }

    /// What reading costs: gets among so many rows, rows read, and bytes per row.
    pub(crate) fn read_cost(&self, among: f64, gets: f64, rows: f64, width: f64) -> f64 {
        let c = &self.target.cost;
        c.index + c.gets(gets, among) + rows * (c.row + width * c.byte)
    }
}

/// How often the search is narrowed after so many steps.
fn tired(steps: usize) -> usize {
    (steps / STEPS).min(8)
}

impl State {
    /// Puts a step behind those that there are.
    fn then(&mut self, step: impl FnOnce(Arc<Op>) -> Op) {
        self.op = Arc::new(step(self.op.clone()));
    }

    /// Knows one more value as a whole.
    fn knows(&mut self, expr: Expr, term: Term) {
        Rc::make_mut(&mut self.known).push((expr, term));
    }

    /// The start of a plan, or of a subplan of a plan that has so many frames.
    fn start(frames: u16, nodes: Vec<Option<Source>>, rows: f64, requires: Requires) -> State {
        State {
            op: Arc::new(Op::Input),
            outer: frames,
            frames,
            nodes: Rc::new(nodes),
            known: Rc::default(),
            rows,
            cost: 0.0,
            requires,
        }
    }

    /// The start of a subplan for the rows of this state, which begins at one of its nodes.
    fn subplan(&self, from: NodeId) -> State {
        let outer = self.nodes.get(from as usize).cloned().flatten();
        State::start(self.frames, vec![outer], self.rows, self.requires.clone())
    }
}

/// Drops options that another one beats with no more requirements and no more cost.
pub(crate) fn undominated(mut options: Vec<PlanOption>) -> Vec<PlanOption> {
    options.sort_by(|a, b| {
        a.cost
            .total_cmp(&b.cost)
            .then(a.requires.len().cmp(&b.requires.len()))
    });
    let mut kept: Vec<PlanOption> = Vec::new();
    for option in options {
        if !kept.iter().any(|k| k.requires.is_subset(&option.requires)) {
            kept.push(option);
        }
    }
    kept
}
