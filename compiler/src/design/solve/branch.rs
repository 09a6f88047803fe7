//! Branch and bound over items: the node with the lowest bound first, its bound warm-started from
//! its parent's multipliers. No clock decides anything: the limit is a number of nodes.

use super::bound::{Bound, Relaxed, Scope};
use super::improve::improve;
use super::instance::{Instance, ItemId};
use super::reduce::Fixed;
use super::state::{Index, State};
use super::toll::by_toll;
use super::{Known, Limits};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Solutions closer to one another than this fraction count as equally cheap.
pub(crate) const NEAR: f64 = 1e-7;
/// Every so many nodes the solution that the bound suggests is tried, and improved by all moves.
const TRIED: u64 = 4;
const THOROUGH: u64 = 128;
/// Where the root's bound is below this part of the best cost, it is worth a longer look for a better
/// one.
const FAR: f64 = 0.99;

/// Where the root was bounded before, that again takes so much fewer steps.
const ROOT_AGAIN: usize = 8;

/// The best solution found, and a bound below which there is none.
pub(crate) struct Found {
    pub(crate) kept: Vec<bool>,
    /// Infinite where no solution was found; whether there is none, only the bound can tell.
    pub(crate) cost: f64,
    pub(crate) bound: f64,
    pub(crate) nodes: u64,
}

/// The root, bounded: what is fixed in it holds in every solution below the cutoff.
pub(crate) struct Root {
    scope: Scope,
    bound: Bound,
}

impl Root {
    pub(crate) fn fixed(&self) -> &Fixed {
        &self.scope.fixed
    }

    pub(crate) fn value(&self) -> f64 {
        self.bound.value
    }
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

/// How many items that little is known of are tried both ways before a node is split, by so many
/// steps each; and how many in doubt are compared.
const LOOKS: usize = 8;
const LOOK_STEPS: usize = 10;
const COMPARED: usize = 48;
/// How often an item is tried until what it gained is believed.
const BELIEVED: u32 = 2;

/// What fixing an item has added to bounds, either way.
#[derive(Clone, Copy, Default)]
struct Gain {
    sum: f64,
    times: u32,
}

impl Gain {
    fn add(&mut self, gain: f64) {
        self.sum += gain;
        self.times += 1;
    }

    fn mean(self) -> f64 {
        self.sum / f64::from(self.times.max(1))
    }
}

/// The search in one component.
pub(crate) struct Search<'i> {
    instance: &'i Instance,
    /// The same as it is bounded.
    lifted: &'i Instance,
    limits: Limits,
    relaxed: Relaxed<'i>,
    index: Index,
    /// The best solution so far; empty where there is none.
    kept: Vec<bool>,
    /// What it costs, or what a solution may cost at most to be of use.
    cost: f64,
    /// What solutions are looked for near of.
    start: Option<&'i [bool]>,
    /// Nodes made so far.
    made: u64,
    /// What fixing each item, dropped or kept, has gained so far, and how many were tried.
    gains: Vec<[Gain; 2]>,
    looks: u64,
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
    pub(crate) fn new(
        instance: &'i Instance,
        lifted: &'i Instance,
        limits: Limits,
        known: Known<'i>,
    ) -> Search<'i> {
        Search {
            instance,
            lifted,
            limits,
            relaxed: Relaxed::new(lifted),
            index: Index::new(instance),
            kept: Vec::new(),
            cost: known.below,
            start: known.kept,
            made: 0,
            gains: vec![[Gain::default(); 2]; lifted.items.len()],
            looks: 0,
        }
    }

    /// Looks for solutions near what is known, or else near nothing and near everything.
    pub(crate) fn begin(&mut self) {
        if let Some(kept) = self.start {
            self.offer(kept, true, 0.0);
        } else {
            self.offer(&vec![false; self.instance.items.len()], true, 0.0);
            self.offer(&vec![true; self.instance.items.len()], true, 0.0);
        }
    }

    /// Looks for solutions within the cap by a toll on structures; true if one is better than all
    /// before.
    fn offer_by_toll(&mut self) -> bool {
        let before = self.cost;
        for kept in by_toll(self.instance, &self.index) {
            let cost = self.instance.evaluate(&kept);
            self.take(kept, cost);
        }
        self.cost < before
    }

    /// Bounds the root, from multipliers that were good for an instance like this one if there are
    /// any, and leaves those that were found; none if nothing below the cutoff exists.
    pub(crate) fn root(&mut self, multipliers: &mut Vec<f64>) -> Option<Root> {
        // Where there is something to be below of, the bound alone may tell that nothing is.
        let mut steps = self.limits.root_steps;
        if self.cost.is_finite() {
            if self.lower(multipliers, steps) >= self.cutoff() {
                return None;
            }
            steps /= ROOT_AGAIN;
        }
        let mut scope = self.relaxed.scope(vec![None; self.lifted.items.len()]);
        if !self.relaxed.propagate(&mut scope) {
            return None;
        }
        self.begin();
        let start = self.fitting(multipliers);
        let mut bound = self.descend(&mut scope, start, steps, Effort::Thorough)?;
        // Where the search goes on from a solution, that one was found so.
        let far = self.cost * FAR > bound.value;
        if far && bound.toll > 0.0 && self.start.is_none() && self.offer_by_toll() {
            let steps = self.limits.node_steps;
            bound = self.descend(&mut scope, bound.multipliers, steps, Effort::None)?;
        }
        multipliers.clone_from(&bound.multipliers);
        Some(Root { scope, bound })
    }

    /// What every solution costs at least, as far as so many steps at the root tell, or up to the
    /// cutoff.
    pub(crate) fn lower(&self, multipliers: &mut Vec<f64>, steps: usize) -> f64 {
        let mut scope = self.relaxed.scope(vec![None; self.lifted.items.len()]);
        if !self.relaxed.propagate(&mut scope) {
            return f64::INFINITY;
        }
        let start = self.fitting(multipliers);
        let hopeful = self.limits.hopeful;
        let bound = self
            .relaxed
            .bound(&scope, start, self.aim(), steps, hopeful);
        *multipliers = bound.multipliers;
        bound.value
    }

    /// Multipliers to start from: those of an instance like this one, or else every cost split
    /// evenly.
    fn fitting(&self, multipliers: &[f64]) -> Vec<f64> {
        let even = self.relaxed.even();
        if multipliers.len() == even.len() {
            multipliers.to_vec()
        } else {
            even
        }
    }

    /// The tree below the root, up to a number of nodes.
    pub(crate) fn tree(mut self, root: Root) -> Found {
        let mut heap = BinaryHeap::new();
        let weight = weight(self.instance);
        let mut done = 1;
        let mut least = f64::INFINITY;
        self.split(&mut heap, &root.scope, root.bound, f64::NEG_INFINITY);
        while let Some(node) = heap.pop() {
            if node.bound >= self.cutoff() {
                least = least.min(node.bound);
                continue;
            }
            let looks = self.looks * LOOK_STEPS as u64 / self.limits.node_steps.max(1) as u64;
            if (done + looks) * weight >= self.limits.nodes.max(1) {
                least = least.min(node.bound);
                break;
            }
            let mut scope = self.relaxed.scope(node.fixed);
            let effort = match done {
                n if n % THOROUGH == 0 => Effort::Thorough,
                n if n % TRIED == 0 => Effort::Brief,
                _ => Effort::None,
            };
            done += 1;
            if !self.relaxed.propagate(&mut scope) {
                continue;
            }
            let multipliers = node.multipliers.as_ref().clone();
            let steps = self.limits.node_steps;
            if let Some(bound) = self.descend(&mut scope, multipliers, steps, effort) {
                self.split(&mut heap, &scope, bound, node.bound);
            }
        }
        let bound = least.min(self.cutoff());
        self.found(bound, done * weight)
    }

    /// Adds the two halves of a node, or takes what it is where nothing in it is open.
    fn split(&mut self, heap: &mut BinaryHeap<Node>, scope: &Scope, bound: Bound, above: f64) {
        let Some((item, halves)) = self.split_on(scope, &bound) else {
            self.offer_fixed(&scope.fixed);
            return;
        };
        let multipliers = Rc::new(bound.multipliers);
        for (kept, half) in [false, true].into_iter().zip(halves) {
            let mut fixed = scope.fixed.clone();
            fixed[item] = Some(kept);
            self.made += 1;
            heap.push(Node {
                fixed,
                multipliers: Rc::clone(&multipliers),
                bound: bound.value.max(above).max(half),
                order: self.made,
            });
        }
    }

    /// The open item that raises the bound most whichever way it is fixed, with the bounds of both
    /// halves as far as they were looked at; none if all are fixed.
    ///
    /// Those in most doubt are compared. What they gain is known from where they were fixed before,
    /// or else looked at: by a few steps in both halves.
    fn split_on(&mut self, scope: &Scope, bound: &Bound) -> Option<(ItemId, [f64; 2])> {
        let doubtful = self.relaxed.doubtful(scope, bound, COMPARED);
        let first = *doubtful.first()?;
        let mut best = (f64::NEG_INFINITY, first, [bound.value; 2]);
        let mut looks = 0;
        for item in doubtful {
            let known = self.gains[item].iter().all(|g| g.times >= BELIEVED);
            let halves = if known {
                self.gains[item].map(|g| bound.value + g.mean())
            } else if looks < LOOKS {
                looks += 1;
                [false, true].map(|kept| {
                    let half = self.look(scope, bound, item, kept);
                    let most = self.cutoff().max(bound.value);
                    self.gains[item][usize::from(kept)].add(half.min(most) - bound.value);
                    half
                })
            } else {
                continue;
            };
            // Both halves have to rise; and of what rises little in one, it is the other that counts.
            let least = 1e-6 * (self.cutoff() - bound.value).max(0.0);
            let worth = halves.map(|h| (h.min(self.cutoff()) - bound.value).max(least));
            let worth = worth[0] * worth[1];
            if worth > best.0 {
                best = (worth, item, if known { [bound.value; 2] } else { halves });
            }
        }
        Some((best.1, best.2))
    }

    /// What a few steps show of one half of a node.
    fn look(&mut self, scope: &Scope, bound: &Bound, item: ItemId, kept: bool) -> f64 {
        self.looks += 1;
        let mut fixed = scope.fixed.clone();
        fixed[item] = Some(kept);
        let mut half = self.relaxed.scope(fixed);
        if !self.relaxed.propagate(&mut half) {
            return f64::INFINITY;
        }
        let multipliers = bound.multipliers.clone();
        let aim = self.aim();
        let found = self
            .relaxed
            .bound(&half, multipliers, aim, LOOK_STEPS, false);
        found.value
    }

    /// What a solution has to beat to be worth finding.
    pub(crate) fn cutoff(&self) -> f64 {
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
        let mut thorough = effort == Effort::Thorough;
        loop {
            let aim = self.aim();
            let bound = self.relaxed.bound(scope, multipliers, aim, steps, false);
            if bound.value >= self.cutoff() {
                return None;
            }
            if effort != Effort::None {
                self.offer_picked(scope, &bound, thorough);
                // What is picked later hardly differs, and ends where the first did, but for where
                // the cap binds.
                thorough &= bound.toll > 0.0;
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
        state.add((0..kept.len()).filter(|&i| kept[i] || self.instance.items[i].forced));
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
        let tied = !self.kept.is_empty() && cost <= self.cost + near;
        let better = cost < self.cost - near || tied && rank(&kept) < rank(&self.kept);
        if cost.is_finite() && better {
            self.cost = cost;
            self.kept = kept;
        }
    }

    /// What there is, with a bound that holds for all solutions below the cutoff.
    pub(crate) fn found(self, bound: f64, nodes: u64) -> Found {
        Found {
            bound: bound.min(self.cutoff()),
            cost: if self.kept.is_empty() {
                f64::INFINITY
            } else {
                self.cost
            },
            kept: self.kept,
            nodes,
        }
    }
}
