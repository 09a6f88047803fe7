//! Selection: the cheapest set of candidates and columns.
//!
//! `price.rs` says what a set costs; `weigh.rs` states the same for the solver, from the same
//! parts. Everything else follows from what is kept: which plan option a statement takes, which
//! reads a change makes, where it finds referrers.

use super::change::{Effect, Needs, Reading};
use super::options::{PlanOption, Planner};
use super::shape::{Requirement, ShapeId};
use super::solve::{Limits, solve};
use super::support::Branch;
use super::target::Support;
use super::{Design, DesignError};
use crate::model::ReferenceId;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A statement that reads: a question, or the find of an update or delete.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) weight: f64,
    pub(crate) options: Vec<PlanOption>,
    /// Options that no structure is built for, since it would outgrow the target with what they
    /// read; but where it is built with all of that anyway, it may be read.
    pub(crate) anyway: Vec<PlanOption>,
    /// Whether the statement keeps to the target's limits.
    pub(crate) bounded: bool,
    /// Whether every way to answer it reads a large structure as a whole.
    pub(crate) whole: bool,
}

/// A change: its weight and effects, with the needs of its checks.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) weight: f64,
    pub(crate) effects: Vec<(Effect, Needs)>,
}

/// What must be kept together to be a home: all scalars of a reference are in one structure.
pub(crate) type Home = Vec<Requirement>;

/// What is to be decided.
pub(crate) struct Programme<'p, 'm> {
    pub(crate) planner: &'p Planner<'m>,
    pub(crate) readers: &'p [Reader],
    pub(crate) writers: &'p [Writer],
    /// Of each class of facts at least one home must be kept.
    pub(crate) homes: Vec<Vec<Home>>,
    /// What candidates cannot be without: of each list one must be kept where they are built.
    pub(crate) companions: BTreeMap<ShapeId, Vec<Vec<Home>>>,
    /// Candidates that must be built.
    pub(crate) forced: BTreeSet<ShapeId>,
    /// How long the solver tries before it gives the best design so far.
    pub(crate) nodes: u64,
    /// Any design instead of the cheapest, by this number.
    pub(crate) sample: Option<u64>,
    /// What candidates read, as far as it was asked for.
    pub(crate) readings: RefCell<BTreeMap<ShapeId, Rc<Reading>>>,
}

/// What was decided.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) shapes: BTreeMap<ShapeId, BTreeSet<usize>>,
    pub(crate) variables: usize,
    /// Its price.
    pub(crate) cost: f64,
    /// No selection is cheaper than this.
    pub(crate) bound: f64,
    /// Whether the two are as good as equal.
    pub(crate) optimal: bool,
    /// In a sampled design, the option of each statement.
    pub(crate) picked: Option<Vec<usize>>,
}

impl Selection {
    /// What is kept, of which nothing is proven.
    pub(super) fn of(shapes: BTreeMap<ShapeId, BTreeSet<usize>>) -> Selection {
        Selection {
            shapes,
            variables: 0,
            cost: f64::INFINITY,
            bound: 0.0,
            optimal: false,
            picked: None,
        }
    }

    pub(crate) fn has(&self, r: &Requirement) -> bool {
        r.is_kept(&self.shapes)
    }

    fn proven(mut self, cost: f64, bound: f64) -> Selection {
        self.cost = cost;
        self.bound = bound.min(cost);
        self.optimal = self.cost - self.bound <= GAP * self.cost;
        self
    }

    /// How far it may be from the cheapest, as a fraction of its cost.
    pub(crate) fn gap(&self) -> f64 {
        if self.optimal || self.cost <= 0.0 {
            0.0
        } else {
            ((self.cost - self.bound) / self.cost).clamp(0.0, 1.0)
        }
    }
}

/// Designs closer to one another than this fraction count as equally cheap.
const GAP: f64 = 1e-6;

impl<'p, 'm> Programme<'p, 'm> {
    /// What changes do, and nothing that anyone asks.
    pub(super) fn of_changes(planner: &'p Planner<'m>, writers: &'p [Writer]) -> Self {
        Programme {
            planner,
            readers: &[],
            writers,
            homes: vec![],
            companions: BTreeMap::new(),
            forced: BTreeSet::new(),
            nodes: 0,
            sample: None,
            readings: RefCell::default(),
        }
    }
}

impl Programme<'_, '_> {
    /// The cheapest selection without some candidates; none if no design meets the constraints.
    pub(crate) fn solve(&self, forbidden: &BTreeSet<ShapeId>) -> Option<Selection> {
        self.solve_within(forbidden, Limits::nodes(self.nodes), None)
    }

    /// The cheapest selection, looked for near a good one.
    pub(super) fn solve_near(&self, good: &Selection) -> Option<Selection> {
        self.solve_within(&BTreeSet::new(), Limits::nodes(self.nodes), Some(good))
    }

    /// A selection that is good, and proven where that takes little; near another one, where that
    /// was found over fewer plans.
    pub(super) fn glance(&self, near: Option<&Selection>) -> Option<Selection> {
        self.solve_within(&BTreeSet::new(), Limits::glance(), near)
    }

    fn solve_within(
        &self,
        forbidden: &BTreeSet<ShapeId>,
        limits: Limits,
        near: Option<&Selection>,
    ) -> Option<Selection> {
        let mut first = self.option_each(forbidden)?;
        first.cost = self.price(&first);
        if self.sample.is_some() {
            return Some(first);
        }
        let within = first.shapes.len() <= self.planner.target.limits.structures;
        if !within {
            first.cost = f64::INFINITY;
        }
        let mut used = self.used(first.cost);
        used.retain(|shape, _| !forbidden.contains(shape));
        let (instance, items) = self.instance(&used);
        first.variables = items.len();
        // What else there are items for follows from these.
        let kept = |near: &Selection| {
            let mut kept: Vec<bool> = items.iter().map(|item| near.has(item)).collect();
            kept.resize(instance.items.len(), false);
            kept
        };
        let kept = near.map(kept);
        let Some(solved) = solve(&instance, limits, kept.as_deref()) else {
            return first.cost.is_finite().then_some(first);
        };
        let mut shapes: BTreeMap<ShapeId, BTreeSet<usize>> = BTreeMap::new();
        for (item, _) in items.iter().zip(&solved.kept).filter(|(_, kept)| **kept) {
            shapes.entry(item.shape).or_default().extend(item.column);
        }
        let mut selection = Selection::of(shapes);
        selection.cost = self.price(&selection);
        selection.variables = items.len();
        if first.cost < selection.cost * (1.0 - GAP) {
            selection = first;
        }
        let cost = selection.cost;
        Some(selection.proven(cost, solved.bound))
    }

    /// Why nothing was found that meets all constraints.
    pub(super) fn infeasible(&self) -> DesignError {
        let (needed, allowed) = (self.least(), self.planner.target.limits.structures);
        if needed > allowed {
            DesignError::TooManyStructures { needed, allowed }
        } else {
            DesignError::Infeasible
        }
    }

    /// What the statements read of what was chosen.
    pub(super) fn taken(&self, selection: &Selection) -> BTreeSet<Requirement> {
        let readers = self.readers.iter().enumerate();
        let taken = readers.filter_map(|(at, reader)| reader.settled(at, selection));
        taken.flat_map(|o| o.requires.iter().copied()).collect()
    }

    /// How many structures there must be at least: those that are forced, and one for each class of
    /// facts that shares no home with another one that is counted.
    fn least(&self) -> usize {
        let shapes = |homes: &Vec<Home>| homes.iter().flatten().map(|r| r.shape).collect();
        let mut classes: Vec<BTreeSet<ShapeId>> = self.homes.iter().map(shapes).collect();
        classes.sort_by_key(BTreeSet::len);
        let mut counted = self.forced.clone();
        let mut least = counted.len();
        for class in classes.iter().filter(|class| !class.is_empty()) {
            if class.is_disjoint(&counted) {
                least += 1;
                counted.extend(class);
            }
        }
        least
    }

    /// A selection at the price that it has here, where nothing is cheaper than this.
    pub(super) fn bounded(&self, selection: Selection, bound: f64) -> Selection {
        let cost = self.price(&selection);
        selection.proven(cost, bound)
    }

    /// The selection that a design was made of; none where it was made of other candidates.
    pub(super) fn selection_of(&self, design: &Design) -> Option<Selection> {
        if self.sample.is_some() {
            return None;
        }
        let mut shapes: BTreeMap<ShapeId, BTreeSet<usize>> = BTreeMap::new();
        for structure in &design.structures {
            let beside = design.beside(structure);
            let shape = self.planner.shapes.keeping(structure, &beside)?;
            let stored = &self.planner.shapes.get(shape).columns;
            let columns = structure.columns.iter();
            let columns = columns.map(|c| stored.iter().position(|e| e == c));
            shapes.insert(shape, columns.collect::<Option<_>>()?);
        }
        let mut selection = Selection::of(shapes);
        selection.cost = self.price(&selection);
        selection.bound = selection.cost * (1.0 - design.search.gap);
        selection.optimal = design.search.optimal;
        selection.variables = design.search.variables;
        Some(selection)
    }

    /// Every statement's cheapest option (or any, where a design is sampled), whatever it takes,
    /// and all homes; none where that cannot be without what is forbidden.
    fn option_each(&self, forbidden: &BTreeSet<ShapeId>) -> Option<Selection> {
        let allowed = |r: &Requirement| !forbidden.contains(&r.shape);
        let pick = |(i, r): (usize, &Reader)| match self.sample {
            None => r
                .options
                .iter()
                .position(|o| o.requires.iter().all(allowed)),
            Some(seed) => {
                let random = seed
                    .wrapping_add(i as u64)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
                Some((random >> 33) as usize % r.options.len().max(1))
            }
        };
        let picked: Option<Vec<usize>> = self.readers.iter().enumerate().map(pick).collect();
        let picked = picked?;
        let mut shapes: BTreeMap<ShapeId, BTreeSet<usize>> = BTreeMap::new();
        let mut keep = |r: &Requirement| shapes.entry(r.shape).or_default().extend(r.column);
        for (reader, &i) in self.readers.iter().zip(&picked) {
            reader.options.get(i)?.requires.iter().for_each(&mut keep);
        }
        for homes in &self.homes {
            let home = homes.iter().find(|home| home.iter().all(allowed))?;
            home.iter().for_each(&mut keep);
        }
        for &shape in &self.forced {
            shapes.entry(shape).or_default();
        }
        if self.support_each() {
            self.first_support(&mut shapes);
        }
        self.add_companions(&mut shapes, 1);
        if self.sample.is_none() && shapes.keys().any(|s| forbidden.contains(s)) {
            // Other ways of the support reads may do without; the solver will tell.
            shapes.clear();
        }
        let mut selection = Selection::of(shapes);
        selection.picked = self.sample.map(|_| picked);
        Some(selection)
    }

    /// Adds what the first way of every support read requires.
    fn first_support(&self, shapes: &mut BTreeMap<ShapeId, BTreeSet<usize>>) {
        loop {
            let mut more: BTreeSet<Requirement> = BTreeSet::new();
            for (&shape, columns) in &*shapes {
                self.each_branch(shape, &mut |branch| {
                    if let (true, Some(way)) = (branch.read(columns), branch.ways.first()) {
                        more.extend(way.required(columns));
                    }
                });
            }
            if !extend(shapes, more) {
                return;
            }
        }
    }

    /// The support reads of a candidate, for all that changes.
    fn each_branch(&self, shape: ShapeId, each: &mut dyn FnMut(&Branch)) {
        let reading = self.reading(shape);
        for (effect, _) in self.writers.iter().flat_map(|w| &w.effects) {
            for (route, hit) in reading.hits(&self.planner.stats, effect) {
                for branch in &self.branches(shape, effect, &route, &hit) {
                    each(branch);
                }
            }
        }
    }

    /// Candidates and columns that a design below a price can use; the others only cost.
    ///
    /// An option that alone costs more than a known design is in no cheaper one. What no option,
    /// home or read of a change can use is in no cheapest design: without it, everything is
    /// answered as before, and what it costs to store and to write is saved.
    pub(super) fn used(&self, price: f64) -> BTreeMap<ShapeId, BTreeSet<usize>> {
        let mut used: BTreeMap<ShapeId, BTreeSet<usize>> = BTreeMap::new();
        let required = self
            .readers
            .iter()
            .flat_map(|r| r.within(price))
            .flat_map(|o| &o.requires);
        for r in required.chain(self.homes.iter().flatten().flatten()) {
            let columns = used.entry(r.shape).or_default();
            columns.extend(r.column);
        }
        for &shape in &self.forced {
            used.entry(shape).or_default();
        }
        if self.support_each() {
            self.add_support(&mut used);
            self.add_companions(&mut used, usize::MAX);
            return used;
        }
        if self.writers.is_empty() {
            return used;
        }
        for reference in (0..self.planner.model.references.len() as u32).map(ReferenceId) {
            for shape in 0..self.planner.shapes.all.len() {
                if let Some(finder) = self.planner.referrer_finder(shape, reference) {
                    used.entry(shape).or_default();
                    finder.directory.map(|d| used.entry(d).or_default());
                }
            }
        }
        self.add_companions(&mut used, usize::MAX);
        used
    }

    /// Adds what candidates cannot be without: so many of the ways to have it.
    fn add_companions(&self, shapes: &mut BTreeMap<ShapeId, BTreeSet<usize>>, ways: usize) {
        loop {
            let built = shapes.keys().filter_map(|shape| self.companions.get(shape));
            let needed = built.flatten().flat_map(|homes| homes.iter().take(ways));
            let needed: BTreeSet<Requirement> = needed.flatten().copied().collect();
            if !extend(shapes, needed) {
                return;
            }
        }
    }

    /// Whether the cost model counts support reads as queries of what the design keeps.
    pub(super) fn support_each(&self) -> bool {
        self.planner.target.cost.rules.support != Support::Shared
    }

    /// What the support reads of those candidates can use, and those of these, and so on.
    fn add_support(&self, used: &mut BTreeMap<ShapeId, BTreeSet<usize>>) {
        loop {
            let mut more: BTreeSet<Requirement> = BTreeSet::new();
            for (&shape, columns) in &*used {
                self.each_branch(shape, &mut |branch| {
                    more.extend(branch.ways.iter().flat_map(|w| w.required(columns)));
                });
            }
            if !extend(used, more) {
                return;
            }
        }
    }

    /// What a candidate reads, worked out once.
    pub(super) fn reading(&self, shape: ShapeId) -> Rc<Reading> {
        let mut known = self.readings.borrow_mut();
        let reading = known.entry(shape).or_insert_with(|| {
            Rc::new(Reading::new(
                &self.planner.stats,
                self.planner.shapes.get(shape),
            ))
        });
        Rc::clone(reading)
    }
}

/// Adds what is required; false where it was there already.
fn extend(shapes: &mut BTreeMap<ShapeId, BTreeSet<usize>>, more: BTreeSet<Requirement>) -> bool {
    let mut grown = false;
    for r in more {
        grown |= !shapes.contains_key(&r.shape);
        let columns = shapes.entry(r.shape).or_default();
        grown |= r.column.is_some_and(|c| columns.insert(c));
    }
    grown
}

impl Reader {
    /// The options that a design of at most this cost can take.
    fn within(&self, cost: f64) -> impl Iterator<Item = &PlanOption> {
        let options = self.options.iter();
        options.filter(move |o| self.weight * o.cost <= cost)
    }

    /// The option that a selection gives the statement at a position.
    pub(crate) fn settled(&self, at: usize, selection: &Selection) -> Option<&PlanOption> {
        match &selection.picked {
            Some(picked) => self.options.get(*picked.get(at)?),
            None => cheapest(self.options.iter().chain(&self.anyway), selection),
        }
    }

    /// The cheapest option that a selection allows, of those that it is made for.
    pub(crate) fn best(&self, selection: &Selection) -> Option<&PlanOption> {
        cheapest(self.options.iter(), selection)
    }
}

fn cheapest<'o>(
    options: impl Iterator<Item = &'o PlanOption>,
    selection: &Selection,
) -> Option<&'o PlanOption> {
    let allowed = options.filter(|o| o.requires.iter().all(|r| selection.has(r)));
    allowed.min_by(|a, b| a.cost.total_cmp(&b.cost))
}
