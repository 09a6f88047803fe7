//! The lower bound: what items cost is split among the demands that may use them.
//!
//! Two kinds of constraints are priced instead of kept: that a choice requires its items (one
//! multiplier per demand and item) and that a trigger makes its demand stand (one per trigger).
//! What is left falls apart into one small problem per demand and one per structure, so any
//! multipliers at all give a lower bound; subgradient steps look for good ones. The best possible
//! value is that of the programme's linear relaxation, with each demand's choices taken together.

use super::instance::{Instance, ItemId};
use super::reduce::Fixed;

/// Iterations without progress after which steps get shorter.
const PATIENCE: usize = 25;
/// Share of the last direction that goes into the next: it dampens the zigzag.
const MOMENTUM: f64 = 0.9;
/// Steps this short are the end.
const SHORTEST: f64 = 2e-3;

/// The choices of a demand over the positions of its own items.
pub(super) struct Part {
    pub(super) items: Vec<ItemId>,
    pub(super) choices: Vec<(f64, Vec<u32>)>,
    /// Where its multipliers of items and of triggers start.
    pub(super) uses: usize,
    pub(super) stands: usize,
}

/// A relaxation of an instance, made once and bounded for many nodes.
pub(crate) struct Relaxed<'i> {
    pub(super) instance: &'i Instance,
    pub(super) parts: Vec<Part>,
    columns: Vec<Vec<ItemId>>,
    multipliers: usize,
    /// Whether the number of structures may bind.
    capped: bool,
}

/// The part of the tree that is bounded.
pub(crate) struct Scope {
    pub(crate) fixed: Fixed,
    /// Demands that stand whatever else is kept.
    pub(super) always: Vec<bool>,
    /// Triggers that still can stand on their own.
    pub(super) open: Vec<Vec<bool>>,
    /// Choices that still can be taken.
    pub(super) live: Vec<Vec<bool>>,
}

impl Scope {
    /// Whether a demand stands whatever else is kept.
    pub(crate) fn stands(&self, demand: usize) -> bool {
        self.always[demand]
    }
}

/// A lower bound and what it was found with.
#[derive(Clone)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) multipliers: Vec<f64>,
    /// What keeping an item costs in the relaxation, its share of uses taken off.
    reduced: Vec<f64>,
    /// The choice of each demand that stands in the relaxation.
    pub(crate) picked: Vec<Option<usize>>,
    /// What each choice costs above its demand's cheapest one.
    excess: Vec<Vec<f64>>,
    /// How often demands wanted an item, lately: between 0 and 1.
    pub(crate) wanted: Vec<f64>,
    /// The price of the cap: what one structure more would be worth.
    pub(crate) toll: f64,
}

struct Point {
    value: f64,
    toll: f64,
    reduced: Vec<f64>,
    kept: Vec<f64>,
    picked: Vec<Option<usize>>,
    gradient: Vec<f64>,
}

impl<'i> Relaxed<'i> {
    pub(crate) fn new(instance: &'i Instance) -> Relaxed<'i> {
        let mut multipliers = 0;
        let mut parts = Vec::with_capacity(instance.demands.len());
        for demand in &instance.demands {
            let mut items: Vec<ItemId> = demand
                .choices
                .iter()
                .flat_map(|c| c.requires.iter().copied())
                .collect();
            items.sort_unstable();
            items.dedup();
            let local = |i: &ItemId| items.binary_search(i).unwrap_or_default() as u32;
            let choices = demand.choices.iter();
            let choices = choices
                .map(|c| (c.cost, c.requires.iter().map(local).collect()))
                .collect();
            let uses = multipliers;
            let stands = uses + items.len();
            multipliers = stands + demand.when.len();
            parts.push(Part {
                items,
                choices,
                uses,
                stands,
            });
        }
        let mut columns = vec![Vec::new(); instance.items.len()];
        for (i, item) in instance.items.iter().enumerate() {
            if let Some(p) = item.parent {
                columns[p].push(i);
            }
        }
        Relaxed {
            instance,
            parts,
            columns,
            multipliers,
            capped: instance.items.iter().filter(|i| i.structure).count() > instance.cap,
        }
    }

    /// Multipliers to start from: every cost split evenly.
    pub(crate) fn even(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.multipliers];
        let mut price: Vec<f64> = self.instance.items.iter().map(|i| i.cost).collect();
        for (part, demand) in self.parts.iter().zip(&self.instance.demands) {
            if demand.always() || !part.items.is_empty() {
                continue;
            }
            let cost = demand
                .choices
                .iter()
                .map(|c| c.cost)
                .fold(f64::INFINITY, f64::min);
            let singles = demand.when.iter().filter(|w| w.len() == 1).count();
            for (w, when) in demand.when.iter().enumerate() {
                if let [item] = when.as_slice() {
                    out[part.stands + w] = cost / singles as f64;
                    price[*item] += cost / singles as f64;
                }
            }
        }
        let mut users = vec![0.0; self.instance.items.len()];
        for (part, demand) in self.parts.iter().zip(&self.instance.demands) {
            for &i in part.items.iter().filter(|_| demand.always()) {
                users[i] += 1.0;
            }
        }
        for (part, demand) in self.parts.iter().zip(&self.instance.demands) {
            for (at, &i) in part.items.iter().enumerate().filter(|_| demand.always()) {
                out[part.uses + at] = price[i] / users[i];
            }
        }
        out
    }

    /// The part of the tree with these items fixed.
    pub(crate) fn scope(&self, fixed: Fixed) -> Scope {
        let demands = &self.instance.demands;
        let is = |i: ItemId, kept| fixed[i] == Some(kept);
        let live = demands.iter().map(|d| {
            let live = d
                .choices
                .iter()
                .map(|c| !c.requires.iter().any(|&i| is(i, false)));
            live.collect()
        });
        let always = demands
            .iter()
            .map(|d| d.when.iter().any(|w| w.iter().all(|&i| is(i, true))));
        let open = demands.iter().map(|d| {
            let open = d.when.iter().map(|w| !w.iter().any(|&i| is(i, false)));
            open.collect()
        });
        let (live, always, open) = (live.collect(), always.collect(), open.collect());
        Scope {
            fixed,
            always,
            open,
            live,
        }
    }

    /// Multipliers of constraints that say nothing here are 0: uses of what is kept or dropped
    /// anyway, and triggers that are settled.
    fn conform(&self, scope: &Scope, multipliers: &mut [f64]) {
        for (d, part) in self.parts.iter().enumerate() {
            for (at, &i) in part.items.iter().enumerate() {
                if scope.fixed[i].is_some() {
                    multipliers[part.uses + at] = 0.0;
                }
            }
            for (w, open) in scope.open[d].iter().enumerate() {
                if scope.always[d] || !open {
                    multipliers[part.stands + w] = 0.0;
                }
            }
        }
    }

    /// The relaxation's value at some multipliers, and the direction in which it grows.
    fn at(&self, scope: &Scope, multipliers: &[f64]) -> Point {
        let instance = self.instance;
        let mut value = instance.base;
        let mut reduced: Vec<f64> = instance.items.iter().map(|i| i.cost).collect();
        let mut picked = Vec::with_capacity(self.parts.len());
        for (d, part) in self.parts.iter().enumerate() {
            let uses = &multipliers[part.uses..part.stands];
            let (best, cost) = self.cheapest(scope, d, uses);
            let mut stands = 0.0;
            for (w, when) in instance.demands[d].when.iter().enumerate() {
                let m = multipliers[part.stands + w];
                if m > 0.0 {
                    stands += m;
                    value -= m * (when.len() as f64 - 1.0);
                    when.iter().for_each(|&i| reduced[i] += m);
                }
            }
            for (at, &i) in part.items.iter().enumerate() {
                reduced[i] -= uses[at];
            }
            if scope.always[d] {
                // Its triggers, settled as they are, may still have multipliers.
                value += cost - stands;
                picked.push(best);
            } else if cost < stands {
                value += cost - stands;
                picked.push(best);
            } else {
                picked.push(None);
            }
        }
        let toll = self.toll(scope, &reduced);
        if toll > 0.0 {
            value -= toll * instance.cap as f64;
            let structures = reduced.iter_mut().zip(&instance.items);
            structures
                .filter(|(_, i)| i.structure)
                .for_each(|(r, _)| *r += toll);
        }
        let mut kept = vec![0.0; instance.items.len()];
        for i in (0..instance.items.len()).filter(|&i| instance.items[i].parent.is_none()) {
            value += self.keep(scope, i, &reduced, &mut kept);
        }
        let gradient = self.gradient(scope, &picked, &kept);
        Point {
            value,
            toll,
            reduced,
            kept,
            picked,
            gradient,
        }
    }

    /// The best multiplier of the cap, given the others: that of the first structure which the
    /// relaxation wants and for which there is no room.
    fn toll(&self, scope: &Scope, reduced: &[f64]) -> f64 {
        if !self.capped {
            return 0.0;
        }
        let mut room = self.instance.cap;
        let mut gains: Vec<f64> = Vec::new();
        for (s, item) in self.instance.items.iter().enumerate() {
            match scope.fixed[s] {
                Some(true) if item.structure => room = room.saturating_sub(1),
                None if item.structure => {
                    let columns = self.columns[s].iter().map(|&c| match scope.fixed[c] {
                        None => reduced[c].min(0.0),
                        Some(true) => reduced[c],
                        Some(false) => 0.0,
                    });
                    let value = reduced[s] + columns.sum::<f64>();
                    if value < 0.0 {
                        gains.push(value);
                    }
                }
                _ => {}
            }
        }
        if gains.len() <= room {
            return 0.0;
        }
        let (_, next, _) = gains.select_nth_unstable_by(room, f64::total_cmp);
        -*next
    }

    /// The cheapest choice of a demand with the uses of its items priced in.
    pub(super) fn cheapest(&self, scope: &Scope, d: usize, uses: &[f64]) -> (Option<usize>, f64) {
        let mut best = (None, f64::INFINITY);
        for (c, (cost, requires)) in self.parts[d].choices.iter().enumerate() {
            if !scope.live[d][c] || *cost >= best.1 {
                continue;
            }
            let cost = cost + requires.iter().map(|&at| uses[at as usize]).sum::<f64>();
            if cost < best.1 {
                best = (Some(c), cost);
            }
        }
        best
    }

    /// The least that a structure and its columns add, and which of them are kept for it.
    fn keep(&self, scope: &Scope, s: ItemId, reduced: &[f64], kept: &mut [f64]) -> f64 {
        if scope.fixed[s] == Some(false) {
            return 0.0;
        }
        let mut value = reduced[s];
        for &c in &self.columns[s] {
            let with = scope.fixed[c].unwrap_or(reduced[c] < 0.0);
            if with {
                value += reduced[c];
                kept[c] = 1.0;
            }
        }
        if scope.fixed[s].unwrap_or(value < 0.0) {
            kept[s] = 1.0;
            return value;
        }
        self.columns[s].iter().for_each(|&c| kept[c] = 0.0);
        0.0
    }

    fn gradient(&self, scope: &Scope, picked: &[Option<usize>], kept: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.multipliers];
        for (d, part) in self.parts.iter().enumerate() {
            for (at, &i) in part.items.iter().enumerate() {
                if scope.fixed[i].is_none() {
                    gradient[part.uses + at] = -kept[i];
                }
            }
            if let Some(c) = picked[d] {
                for &at in &part.choices[c].1 {
                    if scope.fixed[part.items[at as usize]].is_none() {
                        gradient[part.uses + at as usize] += 1.0;
                    }
                }
            }
            if scope.always[d] {
                continue;
            }
            let stands = f64::from(u8::from(picked[d].is_some()));
            for (w, when) in self.instance.demands[d].when.iter().enumerate() {
                if scope.open[d][w] {
                    let together: f64 = when.iter().map(|&i| kept[i]).sum();
                    gradient[part.stands + w] = together - (when.len() as f64 - 1.0) - stands;
                }
            }
        }
        gradient
    }

    /// Looks for multipliers with a high bound, from some that were good nearby; stops at the
    /// cutoff, which is the cost of a known solution.
    pub(crate) fn bound(
        &self,
        scope: &Scope,
        mut multipliers: Vec<f64>,
        cutoff: f64,
        iterations: usize,
    ) -> Bound {
        self.conform(scope, &mut multipliers);
        let mut best: Option<(Point, Vec<f64>)> = None;
        let mut direction = vec![0.0; self.multipliers];
        let mut wanted = vec![0.0; self.instance.items.len()];
        let (mut step, mut waited) = (1.0, 0);
        for _ in 0..iterations.max(1) {
            let mut point = self.at(scope, &multipliers);
            wanted.iter_mut().for_each(|w| *w *= 0.9);
            mark_wanted(&self.parts, &point, &mut wanted);
            let gradient = std::mem::take(&mut point.gradient);
            let known = best.as_ref().map_or(f64::NEG_INFINITY, |(p, _)| p.value);
            let gain = point.value - known;
            let far = (cutoff - point.value).max(1e-9 * cutoff.abs());
            let value = point.value;
            if gain > 0.0 {
                best = Some((point, multipliers.clone()));
            }
            if value >= cutoff {
                break;
            }
            if gain > 1e-4 * far {
                waited = 0;
            } else {
                waited += 1;
            }
            if waited >= PATIENCE {
                waited = 0;
                step *= 0.85;
                if step < SHORTEST {
                    break;
                }
            }
            let mut norm = 0.0;
            for ((d, g), m) in direction.iter_mut().zip(&gradient).zip(&multipliers) {
                *d = MOMENTUM * *d + g;
                if *m <= 0.0 && *d < 0.0 {
                    *d = 0.0;
                }
                norm += *d * *d;
            }
            if norm <= 0.0 {
                break;
            }
            let length = step * far / norm;
            for (m, d) in multipliers.iter_mut().zip(&direction) {
                *m = (*m + length * d).max(0.0);
            }
        }
        let (point, multipliers) =
            best.unwrap_or_else(|| (self.at(scope, &multipliers), multipliers.clone()));
        let excess = self.parts.iter().enumerate().map(|(d, part)| {
            let uses = &multipliers[part.uses..part.stands];
            let (_, least) = self.cheapest(scope, d, uses);
            let cost =
                |(c, r): &(f64, Vec<u32>)| c + r.iter().map(|&at| uses[at as usize]).sum::<f64>();
            part.choices.iter().map(|c| cost(c) - least).collect()
        });
        Bound {
            value: point.value,
            toll: point.toll,
            excess: excess.collect(),
            reduced: point.reduced,
            picked: point.picked,
            multipliers,
            wanted,
        }
    }

    /// Fixes what no solution below the cutoff can have otherwise; tells whether anything was.
    ///
    /// Each test forces one item (or choice) the other way in the relaxation, which adds a known
    /// amount to the bound.
    pub(crate) fn fix(&self, scope: &mut Scope, bound: &Bound, cutoff: f64) -> bool {
        let mut any = false;
        let slack = cutoff - bound.value;
        let r = &bound.reduced;
        let mut set = |fixed: &mut Fixed, i: ItemId, kept: bool| {
            fixed[i] = Some(kept);
            any = true;
        };
        for s in 0..self.instance.items.len() {
            if self.instance.items[s].parent.is_some() || scope.fixed[s] == Some(false) {
                continue;
            }
            let open = |c: &&ItemId| scope.fixed[**c].is_none();
            let with: f64 = self.columns[s]
                .iter()
                .map(|&c| match scope.fixed[c] {
                    None => r[c].min(0.0),
                    Some(true) => r[c],
                    Some(false) => 0.0,
                })
                .sum::<f64>()
                + r[s];
            let now = if scope.fixed[s] == Some(true) {
                with
            } else {
                with.min(0.0)
            };
            let columns: Vec<ItemId> = self.columns[s].iter().filter(open).copied().collect();
            for c in columns {
                let without = with - r[c].min(0.0);
                let least = if scope.fixed[s] == Some(true) {
                    without
                } else {
                    without.min(0.0)
                };
                if without + r[c] - now > slack {
                    set(&mut scope.fixed, c, false);
                } else if least - now > slack {
                    set(&mut scope.fixed, c, true);
                }
            }
            if scope.fixed[s].is_none() {
                if with - now > slack {
                    set(&mut scope.fixed, s, false);
                } else if -now > slack {
                    set(&mut scope.fixed, s, true);
                }
            }
        }
        for d in 0..self.parts.len() {
            if !scope.always[d] {
                continue;
            }
            for (c, &excess) in bound.excess[d].iter().enumerate() {
                if scope.live[d][c] && excess > slack {
                    scope.live[d][c] = false;
                    any = true;
                }
            }
        }
        any
    }

    /// Follows what is fixed to its consequences; false if nothing can be met any more.
    pub(crate) fn propagate(&self, scope: &mut Scope) -> bool {
        let instance = self.instance;
        loop {
            let before = scope.fixed.iter().flatten().count();
            let mut required = vec![false; instance.items.len()];
            for (d, demand) in instance.demands.iter().enumerate() {
                for (c, choice) in demand.choices.iter().enumerate() {
                    scope.live[d][c] &= !choice
                        .requires
                        .iter()
                        .any(|&i| scope.fixed[i] == Some(false));
                    if scope.live[d][c] {
                        choice.requires.iter().for_each(|&i| required[i] = true);
                    }
                }
                for (w, when) in demand.when.iter().enumerate() {
                    scope.open[d][w] = !when.iter().any(|&i| scope.fixed[i] == Some(false));
                    scope.always[d] |= when.iter().all(|&i| scope.fixed[i] == Some(true));
                }
                if !scope.always[d] {
                    if !scope.live[d].contains(&true) {
                        forbid(&demand.when, &mut scope.fixed);
                    }
                    continue;
                }
                let mut live = (0..demand.choices.len()).filter(|&c| scope.live[d][c]);
                let Some(first) = live.next() else {
                    return false;
                };
                let rest: Vec<usize> = live.collect();
                for &i in &demand.choices[first].requires {
                    let all = |&c: &usize| demand.choices[c].requires.binary_search(&i).is_ok();
                    if scope.fixed[i].is_none() && rest.iter().all(all) {
                        scope.fixed[i] = Some(true);
                    }
                }
            }
            let mut structures = 0;
            for (i, item) in instance.items.iter().enumerate() {
                match item.parent {
                    Some(p) if scope.fixed[i] == Some(true) => match scope.fixed[p] {
                        Some(false) => return false,
                        _ => scope.fixed[p] = Some(true),
                    },
                    Some(p) if scope.fixed[p] == Some(false) => scope.fixed[i] = Some(false),
                    _ => {}
                }
                if scope.fixed[i].is_none() && !required[i] {
                    scope.fixed[i] = Some(false);
                }
                structures += usize::from(item.structure && scope.fixed[i] == Some(true));
            }
            if structures > instance.cap {
                return false;
            }
            if scope.fixed.iter().flatten().count() == before {
                return true;
            }
        }
    }

    /// The open item on which the relaxation is least of one mind, structures first; none if all
    /// are fixed.
    pub(crate) fn split_on(&self, scope: &Scope, bound: &Bound) -> Option<ItemId> {
        let open = (0..self.instance.items.len()).filter(|&i| scope.fixed[i].is_none());
        let doubt = |i: ItemId| {
            let torn = 1.0 - (2.0 * bound.wanted[i].min(1.0) - 1.0).abs();
            let weight = if self.instance.items[i].structure {
                1.0
            } else {
                0.5
            };
            (torn + 1e-3) * weight
        };
        open.max_by(|&a, &b| doubt(a).total_cmp(&doubt(b)).then(b.cmp(&a)))
    }
}

/// Triggers of a demand that cannot be met do not stand: where one item alone is open, it is
/// dropped.
fn forbid(when: &[Vec<ItemId>], fixed: &mut Fixed) {
    for set in when {
        let mut open = set.iter().filter(|&&i| fixed[i] != Some(true));
        if let (Some(&last), None) = (open.next(), open.next()) {
            fixed[last] = Some(false);
        }
    }
}

fn mark_wanted(parts: &[Part], point: &Point, wanted: &mut [f64]) {
    let mut now = vec![false; wanted.len()];
    for (part, picked) in parts.iter().zip(&point.picked) {
        if let Some(c) = picked {
            part.choices[*c]
                .1
                .iter()
                .for_each(|&at| now[part.items[at as usize]] = true);
        }
    }
    for ((w, now), kept) in wanted.iter_mut().zip(now).zip(&point.kept) {
        *w += 0.1 * f64::midpoint(f64::from(u8::from(now)), *kept);
    }
}
