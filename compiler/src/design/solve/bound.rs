//! The lower bound: what items cost is split among the demands that may use them.
//!
//! Two kinds of constraints are priced instead of kept: that a choice requires its items (one
//! multiplier per demand and item) and that a trigger makes its demand stand (one per trigger).
//! What is left falls apart into one small problem per demand and one per structure, so any
//! multipliers at all give a lower bound; subgradient steps look for good ones. The best possible
//! value is that of the programme's linear relaxation, with each demand's choices taken together.

use super::instance::{Demand, Instance, ItemId};
use super::reduce::Fixed;

/// How much doubt there is left about an item on which the relaxation is of one mind.
const SURE: f64 = 1e-3;

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
    pub(super) columns: Vec<Vec<ItemId>>,
    /// The demands that mention an item, in choices or triggers.
    pub(super) mentions: Vec<Vec<usize>>,
    multipliers: usize,
    /// The measure of each multiplier: steps are made in it.
    pub(super) scale: Vec<f64>,
    /// Whether the number of structures may bind.
    pub(super) capped: bool,
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
    pub(super) reduced: Vec<f64>,
    /// The choice of each demand that stands in the relaxation.
    pub(crate) picked: Vec<Option<usize>>,
    /// How often demands wanted an item, lately: between 0 and 1.
    pub(crate) wanted: Vec<f64>,
    /// What demands pay for the use of an item.
    pub(super) stake: Vec<f64>,
    /// The price of the cap: what one structure more would be worth.
    pub(crate) toll: f64,
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
        let mut mentions: Vec<Vec<usize>> = vec![Vec::new(); instance.items.len()];
        for (d, (part, demand)) in parts.iter().zip(&instance.demands).enumerate() {
            for &i in part.items.iter().chain(demand.when.iter().flatten()) {
                if mentions[i].last() != Some(&d) {
                    mentions[i].push(d);
                }
            }
        }
        Relaxed {
            instance,
            scale: scale(instance, &parts, multipliers),
            parts,
            columns,
            mentions,
            multipliers,
            capped: instance.items.iter().filter(|i| i.structure).count() > instance.cap,
        }
    }

    /// Multipliers to start from: every cost split evenly.
    pub(crate) fn even(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.multipliers];
        let mut price: Vec<f64> = self.instance.items.iter().map(|i| i.cost).collect();
        for (part, demand) in self.parts.iter().zip(&self.instance.demands) {
            if demand.always() {
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
            let part = &self.parts[d];
            let uses = &bound.multipliers[part.uses..part.stands];
            let cost = |(cost, requires): &(f64, Vec<u32>)| {
                cost + requires.iter().map(|&at| uses[at as usize]).sum::<f64>()
            };
            let live = (part.choices.iter().zip(&scope.live[d])).filter(|(_, live)| **live);
            let least = live.map(|(c, _)| cost(c)).fold(f64::INFINITY, f64::min);
            for (c, choice) in part.choices.iter().enumerate() {
                if scope.live[d][c] && cost(choice) - least > slack {
                    scope.live[d][c] = false;
                    any = true;
                }
            }
        }
        any
    }

    /// The open items that are the most in doubt, so many at most.
    ///
    /// That is where the relaxation is of two minds *and* much is paid: whichever way such an item
    /// is fixed, demands have to pay for another one, and the bound may rise. One that nobody pays
    /// for may be half kept for ever, and no bound rises when it is fixed.
    pub(crate) fn doubtful(&self, scope: &Scope, bound: &Bound, most: usize) -> Vec<ItemId> {
        let open = (0..self.instance.items.len()).filter(|&i| scope.fixed[i].is_none());
        let torn = |i: ItemId| 1.0 - (2.0 * bound.wanted[i].min(1.0) - 1.0).abs();
        let doubt = |i: ItemId| (torn(i) + SURE) * bound.stake[i];
        let mut open: Vec<(f64, f64, ItemId)> = open.map(|i| (doubt(i), torn(i), i)).collect();
        let order = |a: &(f64, f64, ItemId), b: &(f64, f64, ItemId)| {
            let by_doubt = b.0.total_cmp(&a.0);
            by_doubt.then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2))
        };
        if open.len() > most {
            open.select_nth_unstable_by(most, order);
            open.truncate(most);
        }
        open.sort_by(order);
        open.into_iter().map(|(.., i)| i).collect()
    }
}

/// How dear an item is says how far its multipliers go, but not in proportion: costs differ by many
/// powers of ten.
const DEAR: f64 = 0.25;
/// An item counts as no cheaper than this part of the mean.
const CHEAP: f64 = 1e-9;

/// The measure of each multiplier: of a use by what the item costs, of a trigger by what its demand may
/// cost. An item that only says that a demand stands is as dear as that.
fn scale(instance: &Instance, parts: &[Part], multipliers: usize) -> Vec<f64> {
    let mut worth: Vec<f64> = instance.items.iter().map(|i| i.cost).collect();
    let mean = (worth.iter().sum::<f64>() / worth.len().max(1) as f64).max(f64::MIN_POSITIVE);
    let measure = |cost: f64| (cost / mean).max(CHEAP).powf(DEAR);
    let dearest = |demand: &Demand| {
        let own = |requires: &[ItemId]| {
            let own = requires.iter().map(|&i| instance.items[i].cost);
            own.fold(0.0, f64::max)
        };
        let costs = demand.choices.iter();
        let costs = costs.map(|c| c.cost + own(&c.requires));
        costs.fold(0.0, f64::max)
    };
    for demand in &instance.demands {
        if let [only] = demand.when.as_slice()
            && let [item] = only.as_slice()
        {
            worth[*item] = worth[*item].max(dearest(demand));
        }
    }
    let mut out = vec![1.0; multipliers];
    for (part, demand) in parts.iter().zip(&instance.demands) {
        for (at, &i) in part.items.iter().enumerate() {
            out[part.uses + at] = measure(worth[i]);
        }
        let most = measure(dearest(demand));
        out[part.stands..part.stands + demand.when.len()].fill(most);
    }
    out
}
