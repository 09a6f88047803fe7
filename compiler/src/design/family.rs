//! A programme at other rates: weighed once, and solved again and again from what the solutions
//! before have shown.

use super::price::Prices;
use super::select::{Programme, Selection};
use super::shape::ShapeId;
use super::solve::{
    Known, Limits, Touched, Trace, bound_from, improve_from, search_from, solve_from,
};
use super::unit::Unit;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Steps towards a bound from multipliers that were good at other rates.
const NEARBY: usize = 300;
/// Prices closer than this fraction are the same to a proof.
const PROVABLE: f64 = 2e-6;

/// The instances of a programme at all rates.
pub(super) struct Family<'f, 'p, 'm> {
    pub(super) programme: &'f Programme<'p, 'm>,
    unit: Unit,
    /// The rates at which it was started.
    weights: Vec<f64>,
    trace: Trace,
    /// Whether the design is proven to be the cheapest of all.
    exact: bool,
    /// Whether at the rates of the model nothing in it is cheaper than the design, and that is
    /// proven.
    pub(super) provable: bool,
    /// What everything in it costs at the rates of the model at least.
    pub(super) least: f64,
}

/// What is known of selections below a price.
pub(super) enum Below {
    /// There is one.
    Found(Priced),
    /// It is proven that there is none, and that everything costs so much at least.
    Nothing(f64),
    /// None was found.
    Unknown,
}

/// A selection and its prices at all rates.
#[derive(Clone)]
pub(super) struct Priced {
    pub(super) selection: Selection,
    pub(super) prices: Prices,
}

impl<'f, 'p, 'm> Family<'f, 'p, 'm> {
    /// Over all candidates but some, beside a design that is proven or not. No candidate is left
    /// out for its price, which depends on the rates.
    pub(super) fn new(
        programme: &'f Programme<'p, 'm>,
        forbidden: &BTreeSet<ShapeId>,
        exact: bool,
    ) -> Family<'f, 'p, 'm> {
        let mut used = programme.used(f64::INFINITY);
        used.retain(|shape, _| !forbidden.contains(shape));
        Family {
            programme,
            unit: programme.unit(&used).reduced(),
            weights: programme.weights(),
            trace: Trace::new(),
            exact,
            provable: false,
            least: 0.0,
        }
    }

    pub(super) fn priced(&self, selection: Selection) -> Priced {
        Priced {
            prices: self.programme.prices(&selection),
            selection,
        }
    }

    /// With the cheapest selection at these weights, from whose search later ones start; and what
    /// the design costs at them.
    pub(super) fn started(
        mut self,
        weights: &[f64],
        start: &Selection,
        price: f64,
    ) -> Option<(Self, Priced)> {
        let instance = self.unit.weighed(weights);
        let kept = self.kept(start);
        let known = Known {
            kept: Some(&kept),
            ..Known::NOTHING
        };
        let limits = Limits::nodes(self.programme.nodes);
        let solved = solve_from(&instance, limits, known, &mut self.trace)?;
        self.provable = solved.bound >= price * (1.0 - PROVABLE);
        self.least = solved.bound;
        let found = self.selected(&solved.kept);
        Some((self, found))
    }

    /// A selection that costs less than this at these weights.
    ///
    /// What local moves find is as good as anything, for whoever asks goes on from there. That there
    /// is none they cannot tell, a proof can, of which so many are left; but where not even the
    /// design is proven, a longer search would end with no proof either.
    pub(super) fn below(
        &self,
        weights: &[f64],
        start: &Selection,
        price: f64,
        proofs: &Cell<usize>,
    ) -> Below {
        let instance = self.unit.weighed(weights);
        let kept = self.kept(start);
        let cheaper = |kept: &[bool]| {
            let found = self.selected(kept);
            (found.prices.at(weights) < price).then_some(found)
        };
        let moved = improve_from(&instance, &self.touched(weights), &kept, price);
        if let Some(found) = moved.and_then(|moved| cheaper(&moved)) {
            return Below::Found(found);
        }
        let left = proofs.get().checked_sub(1);
        let (true, Some(left)) = (self.provable && self.exact, left) else {
            return Below::Unknown;
        };
        proofs.set(left);
        let known = Known {
            kept: Some(&kept),
            below: price,
        };
        let limits = Limits::nodes(self.programme.nodes);
        let (solved, bound) = search_from(&instance, limits, known, &mut self.trace.clone());
        match solved.and_then(|kept| cheaper(&kept)) {
            Some(found) => Below::Found(found),
            None if bound >= price * (1.0 - PROVABLE) => Below::Nothing(bound),
            None => Below::Unknown,
        }
    }

    /// What local moves make of two selections together, of which the second is not of this family:
    /// of what it has, and of all that the two have. None where neither costs less than this.
    pub(super) fn between(
        &self,
        weights: &[f64],
        own: &Selection,
        other: &Selection,
        price: f64,
    ) -> Option<Priced> {
        let instance = self.unit.weighed(weights);
        let (own, other) = (self.kept(own), self.kept(other));
        let items = own.iter().zip(&other).enumerate();
        let differing = items.filter(|(_, (a, b))| a != b);
        let touched = Touched {
            items: differing.map(|(i, _)| i).collect(),
            demands: vec![],
        };
        let both: Vec<bool> = own.iter().zip(&other).map(|(a, b)| *a || *b).collect();
        let moved = [other, both].into_iter().filter_map(|start| {
            let moved = improve_from(&instance, &touched, &start, price)?;
            Some(self.selected(&moved))
        });
        let at = |p: &Priced| p.prices.at(weights);
        let best = moved.min_by(|a, b| at(a).total_cmp(&at(b)))?;
        (at(&best) < price).then_some(best)
    }

    /// What local moves make of a selection at these weights.
    pub(super) fn improved(&self, weights: &[f64], start: &Selection) -> Option<Priced> {
        let instance = self.unit.weighed(weights);
        let touched = self.touched(weights);
        let found = improve_from(&instance, &touched, &self.kept(start), f64::INFINITY)?;
        Some(self.selected(&found))
    }

    /// What every selection costs at these weights at least, as far as a few steps tell; they end
    /// where nothing is below some price.
    pub(super) fn bound(&self, weights: &[f64], price: f64) -> f64 {
        if !self.provable {
            return f64::NEG_INFINITY;
        }
        bound_from(&self.unit.weighed(weights), NEARBY, price, &self.trace)
    }

    /// What costs something else at these weights than at those of the model.
    fn touched(&self, weights: &[f64]) -> Touched {
        self.unit.touched(weights, &self.weights)
    }

    /// The items of a selection.
    fn kept(&self, selection: &Selection) -> Vec<bool> {
        let items = self.unit.items.iter().map(|r| selection.has(r));
        let mut kept: Vec<bool> = items.collect();
        kept.resize(self.unit.len(), false);
        kept
    }

    fn selected(&self, kept: &[bool]) -> Priced {
        let mut shapes: BTreeMap<ShapeId, BTreeSet<usize>> = BTreeMap::new();
        let items = self.unit.items.iter().zip(kept);
        let items = items.filter(|(_, kept)| **kept).map(|(item, _)| item);
        for item in items.chain(&self.unit.always) {
            shapes.entry(item.shape).or_default().extend(item.column);
        }
        self.priced(Selection::of(shapes))
    }
}
