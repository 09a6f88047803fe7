//! The solver: the cheapest set of items that meets all demands, with a proof.
//!
//! Reductions, the order of twins and probing first, then components that share nothing are solved
//! one by one: a Lagrangian bound of the lifted instance, an incumbent by local moves, branch and
//! bound on what is still open.
//!
//! Of solutions as cheap as one another that the search comes across, the one with fewer
//! structures is taken, then with fewer columns, then with earlier ones; and of structures that can
//! be exchanged for the same price the earlier is kept. All steps are counted and none is timed: the
//! same instance always has the same solution.

#![expect(
    clippy::indexing_slicing,
    reason = "items and demands are dense positions made here"
)]

mod bound;
mod branch;
mod components;
mod improve;
mod instance;
mod lift;
mod probe;
mod reduce;
mod state;
#[cfg(test)]
mod tests;
mod ties;
mod twins;

pub(crate) use instance::{Choice, Demand, Instance, Item, ItemId};
#[cfg(test)]
pub(crate) use state::{Index, State};

use branch::{Found, branch, cutoff, root};
use components::components;
use probe::probe;
use reduce::{Fixed, reduce};
use twins::Twins;

/// What was found.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    pub(crate) kept: Vec<bool>,
    /// No solution costs less than this, but for a fraction (`branch::NEAR`) that counts as
    /// nothing.
    pub(crate) bound: f64,
}

/// Where the search stops: counts, never a clock, so that the same instance has the same solution
/// everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Nodes of the tree, those of large components counting for more.
    pub(crate) nodes: u64,
    /// Steps towards a good bound, at the root and at a node.
    pub(crate) root_steps: usize,
    pub(crate) node_steps: usize,
}

impl Limits {
    pub(crate) fn nodes(nodes: u64) -> Limits {
        Limits {
            nodes,
            root_steps: 3000,
            node_steps: 40,
        }
    }

    fn less(self, nodes: u64) -> Limits {
        Limits {
            nodes: self.nodes.saturating_sub(nodes),
            ..self
        }
    }
}

/// Solves an instance within limits; none if no solution was found.
pub(crate) fn solve(instance: &Instance, limits: Limits) -> Option<Solved> {
    let mut found = decide(instance, vec![None; instance.items.len()], limits);
    if found.cost.is_finite() {
        ties::settle(instance, &mut found.kept);
    }
    found.cost.is_finite().then_some(Solved {
        kept: found.kept,
        bound: found.bound,
    })
}

/// The best solution with these items fixed: reduced, probed, and solved component by component.
fn decide(instance: &Instance, mut fixed: Fixed, limits: Limits) -> Found {
    let mut out = Found {
        kept: vec![],
        cost: f64::INFINITY,
        bound: f64::INFINITY,
        nodes: 0,
        fixed: None,
    };
    let Some(mut reduced) = reduce(instance, &mut fixed) else {
        return out;
    };
    Twins::of(&reduced.instance).order(&mut reduced.instance);
    probe(&mut reduced.instance);
    out.bound = reduced.instance.base;
    let mut kept: Vec<bool> = fixed.iter().map(|f| *f == Some(true)).collect();
    let mut met = true;
    for part in components(&reduced.instance) {
        let found = component(&part.instance, limits.less(out.nodes));
        out.nodes += found.nodes;
        out.bound += found.bound;
        met &= found.cost.is_finite();
        for (&at, on) in part.origin.iter().zip(found.kept) {
            kept[reduced.origin[at]] = on;
        }
    }
    if met {
        out.cost = instance.evaluate(&kept);
        out.kept = kept;
    }
    out
}

/// One component: the root's bound fixes items, what is left is reduced again, and so on until
/// little changes; then the tree.
fn component(instance: &Instance, limits: Limits) -> Found {
    let mut best = root(instance, limits);
    let Some(fixed) = best.fixed.take() else {
        return best;
    };
    let known = fixed.iter().flatten().count();
    if best.cost.is_infinite() || known * 10 < fixed.len() {
        return branch(instance, Some(best.kept), limits);
    }
    // What is fixed holds in every solution below the cutoff. So the least that the rest can cost,
    // as far as it is known, bounds all of them, and the others cost at least the cutoff.
    let rest = decide(instance, fixed, limits.less(best.nodes));
    best.nodes += rest.nodes;
    best.bound = rest.bound.min(cutoff(best.cost)).max(best.bound);
    if rest.cost < best.cost {
        best.cost = rest.cost;
        best.kept = rest.kept;
    }
    best
}
