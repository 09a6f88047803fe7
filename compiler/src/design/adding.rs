//! What a choice is worth to any selection at all: what it adds to what changes cost, against what it
//! saves those who read.
//!
//! To a selection without the choice all can be added that the choice needs. That makes no read
//! dearer, it saves the questions of the choice the difference to their next cheapest plan, and it
//! costs no more than it would beside nothing: so where it pays, nothing without the choice is the
//! cheapest. Both sides are sums over the rates of statements, so that they tell of all rates between
//! two at once, without a search.

use super::select::{Programme, Selection};
use super::shape::Requirement;
use super::solve::{Demand, ItemId};
use super::unit::Unit;
use std::collections::BTreeMap;

/// So much more than it costs has to be saved before it counts.
const MARGIN: f64 = 1.0 + 1e-6;

/// What adding a choice to a selection that lacks it costs at most, and saves at least.
pub(super) struct Adding {
    /// Whatever the rates are.
    stored: f64,
    /// For each reader, then each writer, at a rate of one.
    costs: Vec<f64>,
    saves: Vec<f64>,
}

impl Adding {
    /// Of what some readers need of a design, who save so much each by it. None where a change could
    /// not be made with nothing but what the design has, or where there may be no room.
    pub(super) fn new(
        programme: &Programme,
        design: &Selection,
        needed: &[Requirement],
        saves: Vec<f64>,
    ) -> Option<Adding> {
        let unit = programme.unit(&programme.used(f64::INFINITY));
        let instance = &unit.instance;
        if instance.items.iter().filter(|i| i.structure).count() > instance.cap {
            return None;
        }
        let mut added = Added::new(&unit, design);
        let places = unit.items.iter().enumerate();
        let places: BTreeMap<Requirement, ItemId> = places.map(|(i, r)| (*r, i)).collect();
        for requirement in needed {
            added.add(*places.get(requirement)?);
        }
        added.close()?;
        Some(Adding {
            stored: added.stored(),
            costs: added.by_span(),
            saves,
        })
    }

    /// Whether it pays at these weights of all readers and writers.
    pub(super) fn pays(&self, weights: &[f64]) -> bool {
        let sum = |each: &[f64]| -> f64 { each.iter().zip(weights).map(|(e, w)| e * w).sum() };
        sum(&self.saves) > (self.stored + sum(&self.costs)) * MARGIN
    }
}

/// Items that are added to whatever there is, with all that they entail.
struct Added<'u> {
    unit: &'u Unit,
    kept: Vec<bool>,
    /// What may be added: that of the design, and items that only say that something holds.
    may: Vec<bool>,
    /// What each demand costs that any of them could have posed.
    posed: Vec<Option<f64>>,
}

impl<'u> Added<'u> {
    fn new(unit: &'u Unit, design: &Selection) -> Added<'u> {
        let items = unit.items.iter().map(|r| design.has(r));
        let mut may: Vec<bool> = items.collect();
        may.resize(unit.len(), true);
        Added {
            unit,
            kept: vec![false; unit.len()],
            may,
            posed: vec![None; unit.instance.demands.len()],
        }
    }

    fn has(&self, item: ItemId) -> bool {
        self.kept.get(item) == Some(&true)
    }

    fn add(&mut self, item: ItemId) {
        self.kept.get_mut(item).into_iter().for_each(|k| *k = true);
        let parent = self.unit.instance.items.get(item).and_then(|i| i.parent);
        if let Some(parent) = parent.filter(|p| !self.has(*p)) {
            self.add(parent);
        }
    }

    /// Adds what meets every demand that one of the items could pose: none of them relies on what
    /// else there is.
    fn close(&mut self) -> Option<()> {
        loop {
            let demands = self.unit.instance.demands.iter().enumerate();
            let mut open = demands.filter(|(at, d)| self.is_open(*at, d));
            let Some((at, demand)) = open.next() else {
                return Some(());
            };
            let met = |items: &[ItemId]| items.iter().all(|&i| self.has(i));
            let choices = demand.choices.iter();
            let least = choices.clone().filter(|c| met(&c.requires));
            let least = least.min_by(|a, b| a.cost.total_cmp(&b.cost));
            let within = |i: &ItemId| self.has(*i) || self.may.get(*i) == Some(&true);
            let choice = least.or_else(|| {
                let possible = choices.filter(|c| c.requires.iter().all(within));
                possible.min_by(|a, b| a.cost.total_cmp(&b.cost))
            })?;
            choice.requires.iter().for_each(|&i| self.add(i));
            let posed = self.posed.get_mut(at).into_iter();
            posed.for_each(|p| *p = Some(choice.cost));
        }
    }

    /// Whether a demand could come to stand by what was added, and is not met yet.
    fn is_open(&self, at: usize, demand: &Demand) -> bool {
        let met = self.posed.get(at).is_none_or(Option::is_some);
        let mut when = demand.when.iter().flatten();
        !met && !demand.always() && when.any(|&i| self.has(i))
    }

    /// What is paid whatever the rates are.
    fn stored(&self) -> f64 {
        let items = self.unit.instance.items.iter().zip(&self.kept);
        let items = items.take(self.unit.items.len());
        let items = items.filter(|(_, kept)| **kept).map(|(i, _)| i.cost);
        let first = self.unit.spans.first().map_or(0, |s| s.demands.start);
        let posed = self.posed.iter().take(first).flatten();
        items.sum::<f64>() + posed.sum::<f64>()
    }

    /// What each reader and writer costs for it, at a rate of one.
    fn by_span(&self) -> Vec<f64> {
        let spans = self.unit.spans.iter();
        let cost = spans.map(|span| {
            let posed = self.posed.get(span.demands.clone()).unwrap_or_default();
            let items = self.unit.instance.items.iter().enumerate();
            let items = items.skip(span.items.start).take(span.items.len());
            let items = items.filter(|(i, _)| self.has(*i)).map(|(_, i)| i.cost);
            let own = self.unit.own.get(span.own.clone()).unwrap_or_default();
            let own = own.iter().filter(|(i, _)| self.has(*i)).map(|(_, c)| c);
            posed.iter().flatten().sum::<f64>() + items.sum::<f64>() + own.sum::<f64>()
        });
        cost.collect()
    }
}
