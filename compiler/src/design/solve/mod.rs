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
mod propagate;
mod reduce;
mod state;
mod steps;
#[cfg(test)]
mod tests;
mod ties;
mod toll;
mod twins;

pub(crate) use improve::Touched;
pub(crate) use instance::{Choice, Demand, Instance, Item, ItemId};
pub(crate) use reduce::{simplify, triggers, undominated};
pub(crate) use state::{Index, State};

use branch::{Found, Search, cutoff};
use components::components;
use improve::improve_near;
use lift::lift;
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
    /// Whether the steps that are to show that nothing is below some price end where there is little
    /// hope that they do.
    pub(crate) hopeful: bool,
}

impl Limits {
    pub(crate) fn nodes(nodes: u64) -> Limits {
        Limits {
            nodes,
            root_steps: 3000,
            node_steps: 40,
            hopeful: false,
        }
    }

    /// For a first look: what the root shows, and little more.
    pub(crate) fn glance() -> Limits {
        Limits {
            root_steps: 300,
            ..Limits::nodes(100)
        }
    }

    fn less(self, nodes: u64) -> Limits {
        Limits {
            nodes: self.nodes.saturating_sub(nodes),
            ..self
        }
    }
}

/// What is known before a search: nothing of it is needed, and nothing of it is believed but that
/// dearer solutions are of no use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'k> {
    /// A set of items to start from.
    pub(crate) kept: Option<&'k [bool]>,
    /// Only solutions that cost less are looked for.
    pub(crate) below: f64,
}

impl Known<'_> {
    pub(crate) const NOTHING: Known<'static> = Known {
        kept: None,
        below: f64::INFINITY,
    };
}

/// Good multipliers of each component, from one search for the next over an instance that differs
/// in costs alone. Any multipliers give a bound, so that nothing depends on where they are from.
pub(crate) type Trace = Vec<Vec<f64>>;

/// Solves an instance within limits, from a set of items that is thought to be good if there is one;
/// none if no solution was found.
pub(crate) fn solve(instance: &Instance, limits: Limits, kept: Option<&[bool]>) -> Option<Solved> {
    let known = Known {
        kept,
        ..Known::NOTHING
    };
    solve_from(instance, limits, known, &mut Trace::new())
}

/// The same with what is known before; the trace of an earlier search becomes that of this one.
pub(crate) fn solve_from(
    instance: &Instance,
    limits: Limits,
    known: Known,
    trace: &mut Trace,
) -> Option<Solved> {
    let (kept, bound) = search_from(instance, limits, known, trace);
    Some(Solved { kept: kept?, bound })
}

/// The same, with the bound where no solution was found, too.
pub(crate) fn search_from(
    instance: &Instance,
    limits: Limits,
    known: Known,
    trace: &mut Trace,
) -> (Option<Vec<bool>>, f64) {
    let fixed = vec![None; instance.items.len()];
    let mut found = decide(instance, fixed, limits, known, trace);
    if found.cost.is_finite() {
        ties::settle(instance, &mut found.kept);
        return (Some(found.kept), found.bound);
    }
    (None, found.bound)
}

/// A bound that so many steps give, or fewer if it is not below some price before.
pub(crate) fn bound_from(instance: &Instance, steps: usize, below: f64, trace: &Trace) -> f64 {
    let mut fixed = vec![None; instance.items.len()];
    let Some(mut reduced) = reduce(instance, &mut fixed) else {
        return f64::INFINITY;
    };
    Twins::order(&mut reduced.instance);
    probe(&mut reduced.instance);
    let mut bound = reduced.instance.base;
    for (c, part) in components(&reduced.instance).iter().enumerate() {
        let lifted = lift(&part.instance);
        let known = Known {
            kept: None,
            below: below - bound,
        };
        let limits = Limits {
            hopeful: true,
            ..Limits::nodes(0)
        };
        let search = Search::new(&part.instance, &lifted, limits, known);
        let mut multipliers = trace.get(c).cloned().unwrap_or_default();
        bound += search.lower(&mut multipliers, steps);
    }
    bound
}

/// The best that local moves make of a set of items, where it costs less than this. Nothing is
/// proven by it.
///
/// The set is one that local moves could not make better before something came to cost something
/// else, so they start near what did.
pub(crate) fn improve_from(
    instance: &Instance,
    touched: &Touched,
    kept: &[bool],
    below: f64,
) -> Option<Vec<bool>> {
    let index = Index::new(instance);
    let mut state = State::new(instance, &index);
    let forced = |i: ItemId| instance.items[i].forced;
    state.add((0..kept.len()).filter(|&i| kept[i] || forced(i)));
    improve_near(&mut state, &forced, touched);
    if !state.worth().feasible() || instance.evaluate(&state.kept) >= below {
        return None;
    }
    // As a search settles them: or else moves would tell another structure that is but a name.
    let mut kept = state.kept;
    ties::settle(instance, &mut kept);
    Some(kept)
}

/// The best solution with these items fixed: reduced, probed, and solved component by component.
fn decide(
    instance: &Instance,
    mut fixed: Fixed,
    limits: Limits,
    known: Known,
    trace: &mut Trace,
) -> Found {
    let mut out = Found {
        kept: vec![],
        cost: f64::INFINITY,
        bound: f64::INFINITY,
        nodes: 0,
    };
    let Some(mut reduced) = reduce(instance, &mut fixed) else {
        return out;
    };
    Twins::order(&mut reduced.instance);
    probe(&mut reduced.instance);
    out.bound = reduced.instance.base;
    let mut kept: Vec<bool> = fixed.iter().map(|f| *f == Some(true)).collect();
    let mut met = true;
    let parts = components(&reduced.instance);
    trace.resize(parts.len(), vec![]);
    let last = parts.len().saturating_sub(1);
    for (c, part) in parts.iter().enumerate() {
        let origin = part.origin.iter().map(|&at| reduced.origin[at]);
        let start: Option<Vec<bool>> = known
            .kept
            .map(|kept| origin.clone().map(|i| kept[i]).collect());
        let known = Known {
            kept: start.as_deref(),
            // All others cost at least their bounds, so this is what is left for the largest.
            below: if c == last {
                known.below - out.bound
            } else {
                f64::INFINITY
            },
        };
        let found = component(&part.instance, limits.less(out.nodes), known, &mut trace[c]);
        out.nodes += found.nodes;
        out.bound += found.bound;
        met &= found.cost.is_finite();
        for (i, on) in origin.zip(found.kept) {
            kept[i] = on;
        }
    }
    if met {
        let cost = instance.evaluate(&kept);
        if cost < known.below {
            out.cost = cost;
            out.kept = kept;
        }
    }
    out
}

/// One component: the root's bound fixes items, what is left is reduced again, and so on until
/// little changes; then the tree.
fn component(instance: &Instance, limits: Limits, known: Known, trace: &mut Vec<f64>) -> Found {
    let lifted = lift(instance);
    let mut search = Search::new(instance, &lifted, limits, known);
    let Some(root) = search.root(trace) else {
        return search.found(f64::INFINITY, 1);
    };
    let mut fixed = root.fixed().clone();
    fixed.truncate(instance.items.len());
    let settled = fixed.iter().flatten().count();
    if search.cutoff().is_infinite() || settled * 10 < fixed.len() {
        return search.tree(root);
    }
    // What is fixed holds in every solution below the cutoff. So the least that the rest can cost,
    // as far as it is known, bounds all of them, and the others cost at least the cutoff.
    let mut best = search.found(root.value(), 1);
    let below = best.cost.min(known.below);
    let known = Known {
        kept: best.cost.is_finite().then_some(best.kept.as_slice()),
        below,
    };
    let rest = decide(
        instance,
        fixed,
        limits.less(best.nodes),
        known,
        &mut Trace::new(),
    );
    best.nodes += rest.nodes;
    best.bound = rest.bound.min(cutoff(below)).max(best.bound);
    if rest.cost < best.cost {
        best.cost = rest.cost;
        best.kept = rest.kept;
    }
    best
}
