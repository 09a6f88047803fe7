//! Where a choice flips when one rate changes.
//!
//! The price of one selection is a line over the rate of a statement, so the least price of any
//! family of selections is concave: where it is not below a line at two rates, it is not below it
//! anywhere between. A choice flips where the least price of the selections without it meets that
//! of those with it. So it does not flip between two rates if the design's own line is not beaten
//! without the choice at either of them: two rates tell of all between, and mostly the bound of the
//! selections without the choice tells at once.

use super::adding::Adding;
use super::family::{Below, Family, Priced};
use super::prepare::Prepared;
use super::price::ROUNDING;
use super::select::Selection;
use super::shape::ShapeId;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// How many times its rate a statement is made dearer in the search for a flip.
const FAR: f64 = 1e6;
/// So little of a rate is none, but that plans still differ in what they cost: the programme keeps
/// its form.
const NONE: f64 = 1e-15;
/// Lines are intersected so often at most before a flip is given up; each time rules out what lies
/// on one side, and mostly two or three are enough.
const INTERSECTIONS: usize = 24;
/// Prices that differ by less than this fraction of what lies between them are the same.
pub(super) const SAME: f64 = 1e-7;

/// Exact searches for the flips of one choice, shared by all statements that may flip it.
pub(super) const PROOFS: usize = 48;

/// A rate is proven that is known within this fraction.
const NEARBY: f64 = 1e-2;

/// The search for the flips of one choice.
pub(super) struct FlipSearch<'f, 'p, 'm> {
    pub(super) prepared: &'f Prepared<'m>,
    /// All selections.
    pub(super) all: Family<'f, 'p, 'm>,
    /// Those without the choice, and the cheapest of them at the model's rates. Where they cannot
    /// be told from all, any selection may be without.
    pub(super) without: Option<(Family<'f, 'p, 'm>, Priced)>,
    /// What the choice is worth to any selection, where that can be told.
    pub(super) adding: Option<Adding>,
    /// Those with it, for what is not proven.
    pub(super) with: Option<Family<'f, 'p, 'm>>,
    /// What is chosen in a selection: equal choices are equal values.
    pub(super) chosen: Box<dyn Fn(&Selection) -> Option<BTreeSet<ShapeId>> + 'f>,
    /// Selections without the choice that were found so far.
    pub(super) known: RefCell<Vec<Priced>>,
    /// Finds a flip as it would be found if nothing could be ruled out beforehand.
    pub(super) thorough: bool,
    /// How many exact searches are left. Each takes about as long as that for the design.
    pub(super) proofs: Cell<usize>,
    /// Whether a search has ended with neither a flip nor a proof that there is none.
    pub(super) open: Cell<bool>,
}

/// A rate at which a choice flips, and the selection beyond.
pub(super) struct Met {
    pub(super) rate: f64,
    pub(super) at: f64,
    pub(super) other: Selection,
    /// Whether it is proven that nothing with the choice is cheaper there, nor anything without it.
    pub(super) proven: bool,
}

impl FlipSearch<'_, '_, '_> {
    /// The nearest rates of a statement, below and above its own, at which a design's choice flips.
    pub(super) fn by(&self, design: &Priced, statement: usize) -> Vec<Met> {
        let rate = self.prepared.weight(statement);
        let ends = if rate > 0.0 {
            vec![rate * NONE, rate * FAR]
        } else {
            vec![FAR]
        };
        let towards = ends.into_iter();
        towards
            .filter_map(|far| self.towards(design, statement, rate, far))
            .collect()
    }

    /// The nearest flip between a rate and another one.
    ///
    /// A selection without the choice that is cheaper at the far end crosses the design's line;
    /// while something without the choice is cheaper at the crossing, it takes its place. What is
    /// left is the first crossing of the design's line. If something with the choice is cheaper
    /// there, the choice has not flipped so far, and the search goes on along that line.
    fn towards(&self, design: &Priced, statement: usize, rate: f64, far: f64) -> Option<Met> {
        let wanted = (self.chosen)(&design.selection)?;
        let line = |priced: &Priced| Line::new(self.prepared, statement, priced);
        if !self.thorough
            && (self.pays(statement, rate, far)
                || far > rate && line(design).each <= self.least(statement)
                || self.ruled_out(design, statement, rate, far))
        {
            return None;
        }
        let mut with = design.clone();
        let mut from = rate;
        let mut other = self.beyond(&with, statement, from, far)?;
        for _ in 0..INTERSECTIONS {
            let (own, beyond) = (line(&with), line(&other));
            let Some(at) = own
                .crossing(&beyond)
                .filter(|&at| at >= from.min(far) && at <= from.max(far) && at != rate)
            else {
                self.open.set(true);
                return None;
            };
            let mut proven = match self.beaten(&with, statement, at, &other) {
                Below::Found(between) => {
                    self.known.borrow_mut().push(between.clone());
                    other = between;
                    continue;
                }
                Below::Nothing(least) => own.meets_near(&beyond, at, least),
                Below::Unknown => false,
            };
            let between = if (self.chosen)(&other.selection).as_ref() == Some(&wanted) {
                Some(self.all.priced(other.selection.clone()))
            } else if self.without.is_some() {
                let (weights, most) = self.at(&with, &other, statement, at);
                match self
                    .all
                    .below(&weights, &with.selection, most, &self.proofs)
                {
                    Below::Found(between) => Some(between),
                    Below::Nothing(least) => {
                        proven &= own.meets_near(&beyond, at, least);
                        None
                    }
                    Below::Unknown => {
                        proven = false;
                        let (own, other) = (&with.selection, &other.selection);
                        let family = self.with.as_ref();
                        family.and_then(|f| f.between(&weights, own, other, most))
                    }
                }
            } else {
                None
            };
            let Some(between) = between else {
                return Some(Met {
                    rate,
                    at,
                    other: other.selection,
                    proven,
                });
            };
            if (self.chosen)(&between.selection).as_ref() == Some(&wanted) {
                (with, from) = (between, at);
                other = self.beyond(&with, statement, from, far)?;
            } else {
                other = between;
            }
        }
        self.open.set(true);
        None
    }

    /// Whether the choice pays for itself at any rate between two, whatever else there is.
    fn pays(&self, statement: usize, rate: f64, far: f64) -> bool {
        let at = |rate| self.prepared.weights_at(statement, rate);
        let adding = self.adding.as_ref();
        adding.is_some_and(|a| a.pays(&at(rate)) && a.pays(&at(far)))
    }

    /// Whether no selection without the choice can be the cheapest at any rate between two.
    ///
    /// The least price without the choice is concave, so it is nowhere below the straight line
    /// between what it is at least at both ends. With the choice nothing costs more than the
    /// cheapest of some selections that have it: the design, and what becomes of it at the far end.
    /// A straight line is above the lower envelope of others if it is so at both ends and wherever
    /// two of these cross.
    fn ruled_out(&self, design: &Priced, statement: usize, rate: f64, far: f64) -> bool {
        let Some((family, cheapest)) = self.without.as_ref().filter(|(f, _)| f.provable) else {
            return false;
        };
        let own = Line::new(self.prepared, statement, design);
        let other = Line::new(self.prepared, statement, cheapest);
        let there = self.prepared.weights_at(statement, far);
        let (here, beyond) = (
            family.least,
            family.bound(&there, own.at(far) * (1.0 + SAME)),
        );
        if beyond >= own.at(far) {
            return true;
        }
        let wanted = (self.chosen)(&design.selection);
        let improved = self.all.improved(&there, &design.selection);
        let improved = improved.filter(|i| (self.chosen)(&i.selection) == wanted);
        let moved = improved.map_or(own, |i| Line::new(self.prepared, statement, &i));
        if beyond < moved.at(far) || other.at(far) < moved.at(far) {
            return false;
        }
        let crossing = own.crossing(&moved).unwrap_or(rate);
        let crossing = crossing.clamp(rate.min(far), rate.max(far));
        let between = here + (beyond - here) * (crossing - rate) / (far - rate);
        between >= own.at(crossing).min(moved.at(crossing))
    }

    /// A selection without the choice that is cheaper than a line at the far end: the one that
    /// crosses the line first of those that are known, or else one that is searched for.
    fn beyond(&self, with: &Priced, statement: usize, from: f64, far: f64) -> Option<Priced> {
        let line = |priced: &Priced| Line::new(self.prepared, statement, priced);
        let own = line(with);
        let known = self.known.borrow();
        let crossing = |other: &Priced| {
            let other = line(other);
            let at = own.crossing(&other)?;
            let within = at > from.min(far) && at < from.max(far);
            (within && other.at(far) < own.at(far)).then_some((at - from).abs())
        };
        let first = known
            .iter()
            .filter_map(|other| Some((crossing(other)?, other)));
        if let Some((_, first)) = first.min_by(|a, b| a.0.total_cmp(&b.0)) {
            return Some(first.clone());
        }
        drop(known);
        let start = match &self.without {
            // Nothing would be proven, and those that are known are what is told.
            Some((family, _)) if !family.provable => {
                self.open.set(true);
                return None;
            }
            Some((_, cheapest)) => cheapest,
            None => with,
        };
        let found = match self.beaten(with, statement, far, start) {
            Below::Found(found) => found,
            below => {
                let unknown = matches!(below, Below::Unknown);
                self.open.set(self.open.get() || unknown);
                return None;
            }
        };
        self.known.borrow_mut().push(found.clone());
        Some(found)
    }

    /// A selection without the choice that is cheaper than a line at some rate.
    fn beaten(&self, line: &Priced, statement: usize, at: f64, start: &Priced) -> Below {
        let (weights, most) = self.at(line, start, statement, at);
        let family = self
            .without
            .as_ref()
            .map_or(&self.all, |(family, _)| family);
        family.below(&weights, &start.selection, most, &self.proofs)
    }

    /// The weights where a statement has some rate, and what a selection has to be below to be
    /// cheaper than another there: by more than a little of what lies between this and the one that
    /// it is held against, however much else everything costs.
    fn at(&self, line: &Priced, other: &Priced, statement: usize, at: f64) -> (Vec<f64>, f64) {
        let weights = self.prepared.weights_at(statement, at);
        let price = line.prices.at(&weights);
        let apart = SAME * line.prices.apart(&other.prices, &weights);
        let little = apart.clamp(price * ROUNDING, price * SAME);
        (weights, price - little)
    }

    /// What a statement costs at the very least, in any selection without the choice. One that
    /// costs no more in the design leaves it the cheapest wherever its rate is higher: of two lines
    /// the one that was not above and does not rise faster stays below.
    fn least(&self, statement: usize) -> f64 {
        if statement >= self.prepared.questions() {
            return 0.0;
        }
        let family = self
            .without
            .as_ref()
            .map_or(&self.all, |(family, _)| family);
        let reader = family.programme.readers.get(statement);
        let options = reader.into_iter().flat_map(|r| &r.options);
        options.map(|o| o.cost).fold(f64::INFINITY, f64::min)
    }
}

/// The price of a selection over the rate of a statement.
#[derive(Clone, Copy)]
struct Line {
    fixed: f64,
    each: f64,
}

impl Line {
    fn new(prepared: &Prepared, statement: usize, priced: &Priced) -> Line {
        let at = |rate| priced.prices.at(&prepared.weights_at(statement, rate));
        let fixed = at(0.0);
        Line {
            fixed,
            each: at(1.0) - fixed,
        }
    }

    fn at(&self, rate: f64) -> f64 {
        self.fixed + self.each * rate
    }

    /// Whether the rate at which it meets another is known within a little, where everything is known
    /// to cost so much there at least: what is between the two would meet it elsewhere.
    fn meets_near(&self, other: &Line, at: f64, least: f64) -> bool {
        self.at(at) - least <= NEARBY * (self.each - other.each).abs() * at
    }

    fn crossing(&self, other: &Line) -> Option<f64> {
        let at = (other.fixed - self.fixed) / (self.each - other.each);
        at.is_finite().then_some(at)
    }
}
