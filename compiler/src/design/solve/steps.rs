//! Steps towards a good bound, over what is open in one part of the tree.
//!
//! Thousands of steps are made for a root and dozens for a node, and each looks at every multiplier
//! there is. So what is settled is left out once before them, and the rest is laid out flat: choices
//! that can still be taken, the cheapest first, over the multipliers of items that are still open.

use super::bound::{Bound, Relaxed, Scope};
use super::instance::ItemId;
use std::ops::Range;

/// Iterations without progress after which steps get shorter, and by how much.
const PATIENCE: usize = 20;
const SHORTER: f64 = 0.75;
/// Share of the last direction that goes into the next: it dampens the zigzag.
const MOMENTUM: f64 = 0.99;
/// Share of how strongly a multiplier was pulled before that goes into how strongly it is pulled
/// now, and how much at least: one that is pulled this way and that all the time moves less at once
/// than one that is pulled rarely.
const PULLED: f64 = 0.98;
const LEAST_PULL: f64 = 1e-3;
/// Every so many steps it is seen whether there is hope to reach the cutoff.
const LOOK: usize = 40;
/// So many times the gain of the last of these are hoped for at most: each gains less than the one
/// before.
const AHEAD: f64 = 12.0;
/// Steps this short are the end.
const SHORTEST: f64 = 2e-3;

/// A demand that is not settled. Multipliers of the uses of its items are followed by those of its
/// triggers.
struct Posed {
    demand: usize,
    always: bool,
    choices: Range<usize>,
    uses: Range<usize>,
    triggers: Range<usize>,
}

/// A choice that can still be taken, and the multipliers of what it requires.
struct Offered {
    choice: usize,
    cost: f64,
    requires: Range<usize>,
}

/// A structure that is not dropped, or an item that is none, with the columns that are open.
struct Built {
    item: ItemId,
    /// Whether it is kept anyway: then its own cost is not among the open ones.
    kept: bool,
    structure: bool,
    columns: Range<usize>,
}

/// What is open in a part of the tree.
struct Open {
    /// What is paid whatever the multipliers are.
    settled: f64,
    /// Structures that there is still room for, if their number may bind.
    room: Option<usize>,
    posed: Vec<Posed>,
    offered: Vec<Offered>,
    requires: Vec<u32>,
    /// The items of each multiplier: the one that is used, or all of a trigger.
    about: Vec<Range<usize>>,
    items: Vec<u32>,
    /// Which multiplier of the relaxation each is.
    origin: Vec<usize>,
    built: Vec<Built>,
    columns: Vec<ItemId>,
    costs: Vec<f64>,
    /// What demands take that have one choice left, or whose cheapest requires nothing.
    taken: Vec<Option<usize>>,
}

/// The relaxation's solution at some multipliers.
struct Point {
    value: f64,
    toll: f64,
    /// What keeping an item costs, its share of uses taken off.
    reduced: Vec<f64>,
    kept: Vec<f64>,
    /// The choice that each posed demand takes, if it stands.
    picked: Vec<Option<usize>>,
    /// Whether one of these choices requires an item.
    called: Vec<bool>,
}

/// Where the multipliers go, and how fast each.
struct Course {
    /// What each multiplier is in, as a measure: those of dear items move in larger steps.
    scale: Vec<f64>,
    slope: Vec<f64>,
    direction: Vec<f64>,
    /// How strongly each was pulled lately, either way.
    pulled: Vec<f64>,
    pace: Vec<f64>,
}

impl Course {
    fn new(scale: Vec<f64>) -> Course {
        let none = vec![0.0; scale.len()];
        Course {
            scale,
            slope: none.clone(),
            direction: none.clone(),
            pulled: none.clone(),
            pace: none,
        }
    }

    /// Turns towards the slope, as far as the multipliers, which are not negative, can follow it;
    /// gives what the value gains by going so, to the first order.
    fn turn(&mut self, multipliers: &[f64]) -> f64 {
        let mut square = 0.0;
        let slopes = self.slope.iter().zip(&self.scale).zip(multipliers);
        let state = self.direction.iter_mut().zip(&mut self.pulled);
        for (((slope, scale), m), ((d, pulled), pace)) in slopes.zip(state.zip(&mut self.pace)) {
            *pulled = PULLED * *pulled + (1.0 - PULLED) * slope * slope;
            *pace = scale / (*pulled + LEAST_PULL).sqrt();
            *d = MOMENTUM * *d + slope;
            let stuck = *m <= 0.0 && *d < 0.0;
            *d = if stuck { 0.0 } else { *d };
            square += *d * *d * *pace;
        }
        square
    }

    fn go(&self, length: f64, multipliers: &mut [f64]) {
        let ways = self.direction.iter().zip(&self.pace);
        for (m, (d, pace)) in multipliers.iter_mut().zip(ways) {
            *m = (*m + length * d * pace).max(0.0);
        }
    }
}

impl Relaxed<'_> {
    /// Looks for multipliers with a high bound, from some that were good nearby; stops at the
    /// cutoff, which is the cost of a known solution, or, if it is to go on only while there is
    /// hope, where it would not come that far at the pace of the last steps: they get slower.
    pub(crate) fn bound(
        &self,
        scope: &Scope,
        mut multipliers: Vec<f64>,
        cutoff: f64,
        iterations: usize,
        hopeful: bool,
    ) -> Bound {
        let open = Open::of(self, scope);
        let mut now: Vec<f64> = open.origin.iter().map(|&m| multipliers[m]).collect();
        let mut best = now.clone();
        let mut known = f64::NEG_INFINITY;
        let mut point = open.start();
        let mut course = Course::new(open.origin.iter().map(|&m| self.scale[m]).collect());
        let mut wanted = vec![0.0; self.instance.items.len()];
        let (mut step, mut waited) = (1.0, 0);
        let mut before = f64::NEG_INFINITY;
        for done in 0..iterations.max(1) {
            if hopeful && done > 0 && done % LOOK == 0 {
                let left = (iterations - done) as f64 / LOOK as f64;
                let left = left.min(AHEAD);
                if (known - before) * left < cutoff - known {
                    break;
                }
                before = known;
            }
            open.solve(&now, &mut point);
            open.mark_wanted(&mut point, &mut wanted);
            let gain = point.value - known;
            let far = (cutoff - point.value).max(1e-9 * cutoff.abs());
            if gain > 0.0 {
                known = point.value;
                best.copy_from_slice(&now);
            }
            if point.value >= cutoff {
                break;
            }
            if gain > 1e-4 * far {
                waited = 0;
            } else {
                waited += 1;
            }
            if waited >= PATIENCE {
                waited = 0;
                step *= SHORTER;
                if step < SHORTEST {
                    break;
                }
            }
            open.slope(&point, &mut course.slope);
            let norm = course.turn(&now);
            if norm <= 0.0 {
                break;
            }
            course.go(step * far / norm, &mut now);
        }
        open.solve(&best, &mut point);
        let stake = open.stakes(&best);
        // What is settled needs no multiplier.
        multipliers.fill(0.0);
        for (&at, m) in open.origin.iter().zip(best) {
            multipliers[at] = m;
        }
        let mut picked = open.taken;
        for (posed, choice) in open.posed.iter().zip(point.picked) {
            picked[posed.demand] = choice.map(|c| open.offered[c].choice);
        }
        Bound {
            value: point.value,
            toll: point.toll,
            reduced: point.reduced,
            picked,
            multipliers,
            wanted,
            stake,
        }
    }
}

impl Open {
    fn of(relaxed: &Relaxed, scope: &Scope) -> Open {
        let instance = relaxed.instance;
        // A column counts as open until its structure is known to be kept: that is only weaker.
        let kept = |i: ItemId| {
            let parent = instance.items[i].parent;
            scope.fixed[i] == Some(true) && parent.is_none_or(|p| scope.fixed[p] == Some(true))
        };
        let mut out = Open {
            settled: instance.base,
            room: relaxed.capped.then_some(instance.cap),
            posed: Vec::new(),
            offered: Vec::new(),
            requires: Vec::new(),
            about: Vec::new(),
            items: Vec::new(),
            origin: Vec::new(),
            built: Vec::new(),
            columns: Vec::new(),
            costs: instance.items.iter().map(|i| i.cost).collect(),
            taken: vec![None; instance.demands.len()],
        };
        for (i, item) in instance.items.iter().enumerate() {
            let own = kept(i);
            if own {
                out.settled += item.cost;
                out.room = out
                    .room
                    .map(|room| room.saturating_sub(usize::from(item.structure)));
            }
            if item.parent.is_some() || scope.fixed[i] == Some(false) {
                continue;
            }
            let start = out.columns.len();
            let columns = relaxed.columns[i].iter().copied();
            let open = columns.filter(|&c| scope.fixed[c] != Some(false) && !kept(c));
            out.columns.extend(open);
            out.built.push(Built {
                item: i,
                kept: own,
                structure: item.structure,
                columns: start..out.columns.len(),
            });
        }
        for d in 0..instance.demands.len() {
            out.pose(relaxed, scope, d, &kept);
        }
        out
    }

    /// Adds what is open of a demand; nothing where it never stands, or costs the same always.
    fn pose(&mut self, relaxed: &Relaxed, scope: &Scope, d: usize, kept: &dyn Fn(ItemId) -> bool) {
        let (part, demand) = (&relaxed.parts[d], &relaxed.instance.demands[d]);
        let always = scope.always[d];
        let triggers = (0..demand.when.len()).filter(|&w| !always && scope.open[d][w]);
        if !always && triggers.clone().next().is_none() {
            return;
        }
        let free = |requires: &[u32]| requires.iter().all(|&at| kept(part.items[at as usize]));
        let mut live: Vec<usize> = (0..part.choices.len())
            .filter(|&c| scope.live[d][c])
            .collect();
        live.sort_by(|&a, &b| part.choices[a].0.total_cmp(&part.choices[b].0));
        // What is dearer than a choice that requires nothing is never taken.
        if let Some(last) = live.iter().position(|&c| free(&part.choices[c].1)) {
            live.truncate(last + 1);
            let (cost, _) = part.choices[live[last]];
            if last == 0 && always {
                self.settled += cost;
                self.taken[d] = Some(live[last]);
                return;
            }
            if last == 0 && cost <= 0.0 {
                return;
            }
        }
        let uses = self.origin.len();
        let choices = self.offered.len();
        let mut local: Vec<Option<u32>> = vec![None; part.items.len()];
        for c in live {
            let (cost, requires) = &part.choices[c];
            let start = self.requires.len();
            for &at in requires {
                let item = part.items[at as usize];
                if kept(item) {
                    continue;
                }
                let m = *local[at as usize].get_or_insert_with(|| {
                    self.origin.push(part.uses + at as usize);
                    self.about.push(self.items.len()..self.items.len() + 1);
                    self.items.push(item as u32);
                    self.origin.len() as u32 - 1
                });
                self.requires.push(m);
            }
            self.offered.push(Offered {
                choice: c,
                cost: *cost,
                requires: start..self.requires.len(),
            });
        }
        let stands = self.origin.len();
        for w in triggers {
            let start = self.items.len();
            let open = demand.when[w].iter().filter(|&&i| !kept(i));
            self.items.extend(open.map(|&i| i as u32));
            self.about.push(start..self.items.len());
            self.origin.push(part.stands + w);
        }
        self.posed.push(Posed {
            demand: d,
            always,
            choices: choices..self.offered.len(),
            uses: uses..stands,
            triggers: stands..self.origin.len(),
        });
    }

    fn start(&self) -> Point {
        Point {
            value: f64::NEG_INFINITY,
            toll: 0.0,
            reduced: self.costs.clone(),
            kept: vec![0.0; self.costs.len()],
            picked: vec![None; self.posed.len()],
            called: vec![false; self.costs.len()],
        }
    }

    /// The relaxation's solution at some multipliers.
    fn solve(&self, multipliers: &[f64], point: &mut Point) {
        let mut value = self.settled;
        let reduced = &mut point.reduced;
        reduced.copy_from_slice(&self.costs);
        for (posed, picked) in self.posed.iter().zip(&mut point.picked) {
            let (best, cost) = self.cheapest(posed, multipliers);
            let mut stands = 0.0;
            for w in posed.triggers.clone() {
                let m = multipliers[w];
                if m > 0.0 {
                    let items = &self.items[self.about[w].clone()];
                    stands += m;
                    value -= m * (items.len() as f64 - 1.0);
                    items.iter().for_each(|&i| reduced[i as usize] += m);
                }
            }
            if let Some(first) = self.about.get(posed.uses.start) {
                // Each use is about one item, so those of a demand lie side by side.
                let used = &self.items[first.start..first.start + posed.uses.len()];
                for (&i, m) in used.iter().zip(&multipliers[posed.uses.clone()]) {
                    reduced[i as usize] -= m;
                }
            }
            *picked = None;
            if posed.always || cost < stands {
                value += cost - stands;
                *picked = best;
            }
        }
        point.toll = self.toll(reduced);
        if point.toll > 0.0 {
            value -= point.toll * self.room.unwrap_or_default() as f64;
            let open = self.built.iter().filter(|b| b.structure && !b.kept);
            open.for_each(|b| reduced[b.item] += point.toll);
        }
        for built in &self.built {
            value += self.keep(built, reduced, &mut point.kept);
        }
        point.value = value;
    }

    /// The best multiplier of the cap, given the others: that of the first structure which the
    /// relaxation wants and for which there is no room.
    fn toll(&self, reduced: &[f64]) -> f64 {
        let Some(room) = self.room else {
            return 0.0;
        };
        let open = self.built.iter().filter(|b| b.structure && !b.kept);
        let values = open.map(|built| {
            let columns = self.columns[built.columns.clone()].iter();
            reduced[built.item] + columns.map(|&c| reduced[c].min(0.0)).sum::<f64>()
        });
        let mut gains: Vec<f64> = values.filter(|v| *v < 0.0).collect();
        if gains.len() <= room {
            return 0.0;
        }
        let (_, next, _) = gains.select_nth_unstable_by(room, f64::total_cmp);
        -*next
    }

    /// The cheapest choice of a demand with the uses of its items priced in.
    fn cheapest(&self, posed: &Posed, multipliers: &[f64]) -> (Option<usize>, f64) {
        let mut best = (None, f64::INFINITY);
        for (c, offered) in self.offered[posed.choices.clone()].iter().enumerate() {
            if offered.cost >= best.1 {
                break;
            }
            let uses = self.requires[offered.requires.clone()].iter();
            let cost = offered.cost + uses.map(|&m| multipliers[m as usize]).sum::<f64>();
            if cost < best.1 {
                best = (Some(posed.choices.start + c), cost);
            }
        }
        best
    }

    /// The least that a structure and its columns add, and which of them are kept for it.
    fn keep(&self, built: &Built, reduced: &[f64], kept: &mut [f64]) -> f64 {
        let columns = &self.columns[built.columns.clone()];
        let mut value = if built.kept { 0.0 } else { reduced[built.item] };
        for &c in columns {
            let with = reduced[c] < 0.0;
            kept[c] = f64::from(u8::from(with));
            if with {
                value += reduced[c];
            }
        }
        if built.kept || value < 0.0 {
            kept[built.item] = 1.0;
            return value;
        }
        kept[built.item] = 0.0;
        columns.iter().for_each(|&c| kept[c] = 0.0);
        0.0
    }

    /// The direction in which the relaxation's value grows.
    ///
    /// One demand after another, so that its part of everything is looked at while it is near.
    fn slope(&self, point: &Point, slope: &mut [f64]) {
        for (posed, picked) in self.posed.iter().zip(&point.picked) {
            if let Some(first) = self.about.get(posed.uses.start) {
                let used = &self.items[first.start..first.start + posed.uses.len()];
                for (&i, s) in used.iter().zip(&mut slope[posed.uses.clone()]) {
                    *s = -point.kept[i as usize];
                }
            }
            if let Some(c) = picked {
                let requires = &self.requires[self.offered[*c].requires.clone()];
                requires.iter().for_each(|&m| slope[m as usize] += 1.0);
            }
            let stands = f64::from(u8::from(picked.is_some()));
            for w in posed.triggers.clone() {
                let items = &self.items[self.about[w].clone()];
                let together: f64 = items.iter().map(|&i| point.kept[i as usize]).sum();
                slope[w] = together - (items.len() as f64 - 1.0) - stands;
            }
        }
    }

    /// What demands pay for the use of each item.
    fn stakes(&self, multipliers: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.costs.len()];
        for m in self.posed.iter().flat_map(|p| p.uses.clone()) {
            out[self.items[self.about[m].start] as usize] += multipliers[m];
        }
        out
    }

    /// Notes which items demands want, and which are kept: lately, so that what was wanted before
    /// counts for less.
    fn mark_wanted(&self, point: &mut Point, wanted: &mut [f64]) {
        point.called.fill(false);
        for c in point.picked.iter().flatten() {
            for &m in &self.requires[self.offered[*c].requires.clone()] {
                point.called[self.items[self.about[m as usize].start] as usize] = true;
            }
        }
        let items = self.built.iter().map(|b| b.item);
        for i in items.chain(self.columns.iter().copied()) {
            let called = f64::from(u8::from(point.called[i]));
            wanted[i] = 0.95 * wanted[i] + 0.05 * f64::midpoint(called, point.kept[i]);
        }
    }
}
