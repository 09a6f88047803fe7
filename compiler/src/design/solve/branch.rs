//! Branch and bound over items: the node with the lowest bound first, its bound warm-started from
//! its parent's multipliers. No clock decides anything: the limit is a number of nodes.

use super::Limits;
use super::bound::{Bound, Relaxed, Scope};
use super::improve::improve;
use super::instance::Instance;
use super::lift::lift;
use super::reduce::Fixed;
use super::state::{Index, State};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Solutions closer to one another than this fraction count as equally cheap.
pub(crate) const NEAR: f64 = 1e-7;
/// Every so many nodes the solution that the bound suggests is tried, and improved by all moves.
const TRIED: u64 = 4;
const THOROUGH: u64 = 128;

/// The best solution found, and a bound below which there is none.
pub(crate) struct Found {
    pub(crate) kept: Vec<bool>,
    /// Infinite where no solution was found; whether there is none, only the bound can tell.
    pub(crate) cost: f64,
    pub(crate) bound: f64,
    pub(crate) nodes: u64,
    /// What every solution below the cost has in common, where the search was stopped.
    pub(crate) fixed: Option<Fixed>,
}

struct Node {
    fixed: Fixed,
    multipliers: Rc<Vec<f64>>,
    bound: f64,
    order: u64,
}

impl Ord for Node {
    /// The lowest bound is the greatest; of equal ones the later made, which is the deeper.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = other.bound.total_cmp(&self.bound);
        by_bound.then(self.order.cmp(&other.order))
    }
}
impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Node {}

/// Items of a node that counts once.
const ITEMS: u64 = 10;

/// What is done at a node to find a better solution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    None,
    Brief,
    Thorough,
}

struct Search<'i> {
    instance: &'i Instance,
    /// The same as it is bounded.
    lifted: &'i Instance,
    limits: Limits,
    relaxed: Relaxed<'i>,
    index: Index,
    kept: Vec<bool>,
    cost: f64,
}

/// The root alone: a good solution, a bound, and what both fix.
pub(crate) fn root(instance: &Instance, limits: Limits) -> Found {
    let lifted = lift(instance);
    let mut search = Search::new(instance, &lifted, limits, None);
    let mut scope = search.relaxed.scope(vec![None; lifted.items.len()]);
    if !search.relaxed.propagate(&mut scope) {
        return search.found(f64::INFINITY, 1, None);
    }
    let start = search.relaxed.even();
    let bound = search.descend(&mut scope, start, limits.root_steps, Effort::Thorough);
    let value = bound.as_ref().map_or(search.cutoff(), |b| b.value);
    scope.fixed.truncate(instance.items.len());
    let fixed = bound.is_some().then_some(scope.fixed);
    search.found(value, 1, fixed)
}

/// The whole tree, up to a number of nodes.
pub(crate) fn branch(instance: &Instance, kept: Option<Vec<bool>>, limits: Limits) -> Found {
    let lifted = lift(instance);
    let mut search = Search::new(instance, &lifted, limits, kept);
    let mut heap = BinaryHeap::new();
    let start = Rc::new(search.relaxed.even());
    heap.push(Node {
        fixed: vec![None; lifted.items.len()],
        multipliers: start,
        bound: f64::NEG_INFINITY,
        order: 0,
    });
    let (mut made, mut done) = (0, 0);
    let weight = weight(instance);
    let mut least = f64::INFINITY;
    while let Some(node) = heap.pop() {
        if node.bound >= search.cutoff() {
            least = least.min(node.bound);
            continue;
        }
        if done * weight >= limits.nodes.max(1) {
            least = least.min(node.bound);
            break;
        }
        let mut scope = search.relaxed.scope(node.fixed);
        if !search.relaxed.propagate(&mut scope) {
            done += 1;
            continue;
        }
        let steps = if done == 0 {
            limits.root_steps
        } else {
            limits.node_steps
        };
        let effort = match done {
            n if n % THOROUGH == 0 => Effort::Thorough,
            n if n % TRIED == 0 => Effort::Brief,
            _ => Effort::None,
        };
        done += 1;
        let multipliers = node.multipliers.as_ref().clone();
        let Some(bound) = search.descend(&mut scope, multipliers, steps, effort) else {
            continue;
        };
        let Some(item) = search.relaxed.split_on(&scope, &bound) else {
            search.offer_fixed(&scope.fixed);
            continue;
        };
        let multipliers = Rc::new(bound.multipliers);
        for kept in [false, true] {
            let mut fixed = scope.fixed.clone();
            fixed[item] = Some(kept);
            made += 1;
            heap.push(Node {
                fixed,
                multipliers: Rc::clone(&multipliers),
                bound: bound.value.max(node.bound),
                order: made,
            });
        }
    }
    let bound = least.min(search.cutoff());
    search.found(bound, done * weight, None)
}

/// Below this no solution is looked for once one of this cost is known.
pub(crate) fn cutoff(cost: f64) -> f64 {
    if cost.is_finite() {
        cost - NEAR * cost.abs()
    } else {
        cost
    }
}

/// A node takes time by the number of its items, so the nodes of a large component count for more.
fn weight(instance: &Instance) -> u64 {
    (instance.items.len() as u64).div_ceil(ITEMS)
}

impl<'i> Search<'i> {
    fn new(
        instance: &'i Instance,
        lifted: &'i Instance,
        limits: Limits,
        kept: Option<Vec<bool>>,
    ) -> Search<'i> {
        let mut search = Search {
            instance,
            lifted,
            limits,
            relaxed: Relaxed::new(lifted),
            index: Index::new(instance),
            kept: Vec::new(),
            cost: f64::INFINITY,
        };
        if let Some(kept) = kept {
            search.offer(&kept, true, 0.0);
        }
        search.offer(&vec![false; instance.items.len()], true, 0.0);
        search.offer(&vec![true; instance.items.len()], true, 0.0);
        search
    }

    /// What a solution has to beat to be worth finding.
    fn cutoff(&self) -> f64 {
        cutoff(self.cost)
    }

    /// Bounds a node, tries the solution that the bound suggests, fixes what follows, and bounds
    /// again while that helps; none if nothing below the cutoff is in the node.
    fn descend(
        &mut self,
        scope: &mut Scope,
        multipliers: Vec<f64>,
        steps: usize,
        effort: Effort,
    ) -> Option<Bound> {
        let mut multipliers = multipliers;
        let mut steps = steps;
        loop {
            let aim = self.aim();
            let bound = self.relaxed.bound(scope, multipliers, aim, steps);
            if bound.value >= self.cutoff() {
                return None;
            }
            if effort != Effort::None {
                self.offer_picked(scope, &bound, effort == Effort::Thorough);
            }
            if bound.value >= self.cutoff() {
                return None;
            }
            let before = scope.fixed.iter().flatten().count();
            if self.cost.is_finite() {
                self.relaxed.fix(scope, &bound, self.cutoff());
                if !self.relaxed.propagate(scope) {
                    return None;
                }
            }
            let learnt = scope.fixed.iter().flatten().count() - before;
            let open = scope.fixed.len() - before;
            if learnt * 10 < open.max(1) {
                return Some(bound);
            }
            multipliers = bound.multipliers;
            steps = (steps / 2).max(self.limits.node_steps);
        }
    }

    /// What steps aim at: the best known cost, or something above any bound.
    fn aim(&self) -> f64 {
        if self.cost.is_finite() {
            return self.cutoff();
        }
        let most =
            |d: &super::instance::Demand| d.choices.iter().map(|c| c.cost).fold(0.0, f64::max);
        let items: f64 = self.instance.items.iter().map(|i| i.cost).sum();
        self.instance.base + items + self.instance.demands.iter().map(most).sum::<f64>()
    }

    fn offer_picked(&mut self, scope: &Scope, bound: &Bound, thorough: bool) {
        let mut kept: Vec<bool> = scope.fixed.iter().map(|f| *f == Some(true)).collect();
        for (demand, picked) in self.lifted.demands.iter().zip(&bound.picked) {
            if let (true, Some(c)) = (demand.always(), picked) {
                demand.choices[*c]
                    .requires
                    .iter()
                    .for_each(|&i| kept[i] = true);
            }
        }
        kept.truncate(self.instance.items.len());
        self.offer(&kept, thorough, bound.toll);
    }

    fn offer_fixed(&mut self, fixed: &Fixed) {
        let plain = fixed.iter().take(self.instance.items.len());
        let kept: Vec<bool> = plain.map(|f| *f == Some(true)).collect();
        let cost = self.instance.evaluate(&kept);
        self.take(kept, cost);
    }

    /// Improves a set of items and keeps it if it is the best.
    fn offer(&mut self, kept: &[bool], thorough: bool, toll: f64) {
        let mut state = State::new(self.instance, &self.index);
        for i in (0..kept.len()).filter(|&i| kept[i] || self.instance.items[i].forced) {
            state.add(i);
        }
        let instance = self.instance;
        improve(&mut state, &|i| instance.items[i].forced, thorough, toll);
        if state.worth().feasible() {
            let cost = self.instance.evaluate(&state.kept);
            let kept = state.kept;
            self.take(kept, cost);
        }
    }

    /// Of solutions that cost the same, fewer structures win, then fewer columns, then earlier
    /// ones.
    fn take(&mut self, kept: Vec<bool>, cost: f64) {
        let rank = |kept: &[bool]| {
            let items = kept.iter().zip(&self.instance.items);
            let structures = items.filter(|(k, i)| **k && i.structure).count();
            let all = kept.iter().filter(|k| **k).count();
            let order: Vec<bool> = kept.iter().map(|k| !k).collect();
            (structures, all, order)
        };
        let near = NEAR * 1e-3 * cost.abs();
        let better = cost < self.cost - near
            || cost <= self.cost + near && (self.kept.is_empty() || rank(&kept) < rank(&self.kept));
        if cost.is_finite() && better {
            self.cost = cost;
            self.kept = kept;
        }
    }

    fn found(self, bound: f64, nodes: u64, fixed: Option<Fixed>) -> Found {
        Found {
            bound: bound.min(self.cutoff()),
            kept: self.kept,
            cost: self.cost,
            nodes,
            fixed,
        }
    }
}
