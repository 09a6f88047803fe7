//! A programme where every weight is 1, from which its instance at any weights follows.

use super::shape::Requirement;
use super::solve::{Choice, Demand, Instance, Item, ItemId, Touched, simplify, triggers};
use std::collections::BTreeMap;
use std::ops::Range;

/// The programme over some candidates and columns where every weight is 1. All that a reader or a
/// writer costs grows evenly with its weight, so the instance at any weights follows.
pub(crate) struct Unit {
    pub(super) instance: Instance,
    /// What its first items are; those behind them only say that something holds.
    pub(super) items: Vec<Requirement>,
    /// What is kept at all weights, and is no item any more.
    pub(super) always: Vec<Requirement>,
    /// What readers and writers cost for one item alone.
    pub(super) own: Vec<(ItemId, f64)>,
    /// What each reader costs, then each writer.
    pub(super) spans: Vec<Span>,
}

/// Demands, items and costs of single items that have one weight.
pub(super) struct Span {
    pub(super) demands: Range<usize>,
    pub(super) items: Range<usize>,
    pub(super) own: Range<usize>,
    /// What is paid whatever is kept.
    pub(super) base: f64,
}

impl Unit {
    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.instance.items.len()
    }

    /// The instance where the readers, and behind them the writers, have these weights.
    pub(super) fn weighed(&self, weights: &[f64]) -> Instance {
        let mut out = self.instance.clone();
        for (span, weight) in self.spans.iter().zip(weights) {
            let demands = out.demands.get_mut(span.demands.clone());
            let choices = demands.into_iter().flatten().flat_map(|d| &mut d.choices);
            choices.for_each(|c| c.cost *= weight);
            let items = out.items.get_mut(span.items.clone());
            items.into_iter().flatten().for_each(|i| i.cost *= weight);
            out.base += span.base * weight;
        }
        for (span, weight) in self.spans.iter().zip(weights) {
            for &(item, cost) in self.own.get(span.own.clone()).unwrap_or_default() {
                out.items
                    .get_mut(item)
                    .into_iter()
                    .for_each(|i| i.cost += cost * weight);
            }
        }
        out
    }

    /// The same without what is decided at all weights: what every solution keeps, what no choice
    /// requires, choices that another beats. It is what the solver makes of an instance first
    /// (`solve/reduce.rs`), made once for all of them.
    pub(super) fn reduced(self) -> Unit {
        let mut fixed = vec![None; self.instance.items.len()];
        let Some(demands) = simplify(&self.instance, &mut fixed) else {
            return self;
        };
        let mut out = Unit {
            instance: Instance {
                base: self.instance.base,
                cap: self.instance.cap,
                ..Instance::default()
            },
            items: vec![],
            always: self.always.clone(),
            own: vec![],
            spans: vec![],
        };
        let mut now = vec![None; fixed.len()];
        for (i, (item, fixed)) in self.instance.items.iter().zip(&fixed).enumerate() {
            match fixed {
                Some(false) => {}
                Some(true) => {
                    out.always.extend(self.items.get(i));
                    let cap = &mut out.instance.cap;
                    *cap = cap.saturating_sub(usize::from(item.structure));
                    if i < self.items.len() {
                        out.instance.base += item.cost;
                    }
                }
                None => {
                    let place = |i: ItemId| now.get(i).copied().flatten();
                    let parent = item.parent.and_then(place);
                    out.items.extend(self.items.get(i));
                    if let Some(now) = now.get_mut(i) {
                        *now = Some(out.instance.items.len());
                    }
                    out.instance.items.push(Item {
                        parent,
                        forced: false,
                        ..item.clone()
                    });
                }
            }
        }
        let mut demands = demands.into_iter();
        let first = self
            .spans
            .first()
            .map_or(demands.len(), |s| s.demands.start);
        let place = |i: ItemId| now.get(i).copied().flatten();
        out.take(demands.by_ref().take(first), &place);
        for span in &self.spans {
            let items = |n: ItemId| now.iter().take(n).flatten().count();
            let mut own = self.own.get(span.own.clone()).unwrap_or_default().to_vec();
            let paid = self.instance.items.iter().enumerate();
            let paid = paid.skip(span.items.start).take(span.items.len());
            let mut base = span.base;
            for (i, item) in paid {
                if fixed.get(i) == Some(&Some(true)) {
                    base += item.cost;
                }
            }
            own.retain_mut(|(item, cost)| match (place(*item), fixed.get(*item)) {
                (Some(now), _) => {
                    *item = now;
                    true
                }
                (None, Some(Some(true))) => {
                    base += *cost;
                    false
                }
                _ => false,
            });
            let (from, listed) = (out.instance.demands.len(), out.own.len());
            out.own.extend(own);
            base += out.take(demands.by_ref().take(span.demands.len()), &place);
            out.spans.push(Span {
                demands: from..out.instance.demands.len(),
                items: items(span.items.start)..items(span.items.end),
                own: listed..out.own.len(),
                base,
            });
        }
        out
    }

    /// Takes simplified demands of one weight over other items; gives what is paid whatever is kept.
    /// A demand with one free choice is a cost: of everything, of one item, or shared by triggers.
    fn take(
        &mut self,
        demands: impl Iterator<Item = Demand>,
        place: &dyn Fn(ItemId) -> Option<ItemId>,
    ) -> f64 {
        let mut base = 0.0;
        let mut shared: BTreeMap<Vec<Vec<ItemId>>, f64> = BTreeMap::new();
        for mut demand in demands.filter(|d| !d.when.is_empty()) {
            let requires = demand.choices.iter_mut().map(|c| &mut c.requires);
            for list in demand.when.iter_mut().chain(requires) {
                *list = list.iter().filter_map(|&i| place(i)).collect();
            }
            demand.when = triggers(&self.instance, demand.when);
            match (demand.choices.as_slice(), demand.when.as_slice()) {
                ([only], when) if only.requires.is_empty() => match when {
                    [all] if all.is_empty() => base += only.cost,
                    [one] if one.len() == 1 => {
                        self.own.extend(one.iter().map(|&i| (i, only.cost)));
                    }
                    _ if only.cost > 0.0 => *shared.entry(demand.when).or_default() += only.cost,
                    _ => {}
                },
                _ => self.instance.demands.push(demand),
            }
        }
        let shared = shared.into_iter().map(|(when, cost)| Demand {
            when,
            choices: vec![Choice {
                cost,
                requires: vec![],
            }],
        });
        self.instance.demands.extend(shared);
        base
    }

    /// What costs something else where the weights are others.
    pub(super) fn touched(&self, weights: &[f64], others: &[f64]) -> Touched {
        let mut out = Touched::default();
        for (span, (weight, other)) in self.spans.iter().zip(weights.iter().zip(others)) {
            if weight.to_bits() == other.to_bits() {
                continue;
            }
            let own = self.own.get(span.own.clone()).unwrap_or_default();
            out.demands.extend(span.demands.clone());
            out.items.extend(span.items.clone());
            out.items.extend(own.iter().map(|(item, _)| *item));
        }
        out
    }
}
