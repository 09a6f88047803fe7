//! What a target's limits leave of the plans of a statement.
//!
//! Which plans there are to choose from depends on the candidates, and so would anything that is
//! decided by comparing them with one another. A schema that was given has few candidates; so that it
//! costs what the same structures cost as a design, what the limits decide is decided from what a
//! design would choose from, and a structure that is built anyway may be read by everyone.

use super::assumed::FEW;
use super::options::{PlanOption, Planner};
use super::plan::{Plan, StructureId};
use super::select::Reader;
use super::shape::ShapeId;
use super::sizes::{By, Thermometer};
use super::whole::wholes;
use crate::view::Structure;

/// How many times its cheapest plan a statement may cost for the sake of the target's limits.
const FOR_LIMITS: f64 = 100.0;

/// What speaks against an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    Nothing,
    /// A structure whose partitions outgrow the target with the columns that the option reads.
    Size,
    /// A partition that is read too often by this statement alone.
    Heat,
    /// It reads a large structure as a whole, which the cheapest does not: to read everything
    /// instead is no way to keep a partition small or cool.
    Whole,
}

/// A statement with every way to answer it, and what speaks against each.
pub(super) struct Tried {
    weight: f64,
    /// Even the cheapest reads a large structure as a whole.
    whole: bool,
    options: Vec<(PlanOption, Against)>,
}

impl Tried {
    /// What was given is kept as it is, however large.
    pub(super) fn new(planner: &Planner, weight: f64, options: Vec<PlanOption>) -> Tried {
        let mut is_hot = too_hot(planner, weight);
        let cheapest = options.iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
        let whole = cheapest.is_some_and(|o| reads_whole(planner, &o.plan));
        let mut against = |o: &PlanOption| {
            let mut kept = o.requires.by_shape();
            let large = kept.any(|(shape, columns)| {
                !planner.is_given(shape) && planner.oversize(shape, columns)
            });
            match is_hot(o) {
                true => Against::Heat,
                false if large => Against::Size,
                false if !whole && reads_whole(planner, &o.plan) => Against::Whole,
                false => Against::Nothing,
            }
        };
        let options = options.into_iter().map(|o| {
            let against = against(&o);
            (o, against)
        });
        Tried {
            weight,
            whole,
            options: options.collect(),
        }
    }

    /// Without some of the options.
    pub(super) fn without(mut self, dropped: impl Fn(&PlanOption) -> bool) -> Tried {
        self.options.retain(|(o, _)| !dropped(o));
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.options.is_empty()
    }

    /// Whether the statement keeps to the limits: not where that is out of proportion.
    pub(super) fn bounded(&self) -> bool {
        let cheapest = |o: &mut dyn Iterator<Item = &(PlanOption, Against)>| {
            let costs = o.map(|(o, _)| o.cost);
            costs.min_by(f64::total_cmp).unwrap_or(f64::MAX)
        };
        let best = cheapest(&mut self.options.iter());
        let kept = self.options.iter().filter(|(_, a)| *a == Against::Nothing);
        cheapest(&mut kept.into_iter()) <= best * FOR_LIMITS
    }

    /// Whether the limits would leave some of the options and not others.
    pub(super) fn torn(&self) -> bool {
        let mut kept = self.options.iter().map(|(_, a)| *a == Against::Nothing);
        let first = kept.next();
        kept.any(|k| Some(k) != first)
    }

    /// The statement with the options that are left, all of them where the limits do not bind or
    /// leave none: the design then warns.
    pub(super) fn reader(self, bounded: bool) -> Reader {
        let mut left = self.options.iter().map(|(_, a)| *a);
        let bounded = bounded && left.any(|a| a == Against::Nothing);
        let mut reader = Reader {
            weight: self.weight,
            options: vec![],
            anyway: vec![],
            bounded,
            whole: self.whole,
        };
        self.join(&mut reader);
        reader
    }

    /// Adds what the limits leave to what a statement has already. To a statement that could only
    /// read everything, limits left that: they are no reason to go on with it where they leave
    /// nothing of what else has been found.
    pub(super) fn join(self, reader: &mut Reader) {
        if reader.whole && !self.whole {
            reader.whole = false;
            reader.bounded &= self.options.iter().any(|(_, a)| *a == Against::Nothing);
        }
        for (option, against) in self.options {
            match against {
                Against::Size if reader.bounded => reader.anyway.push(option),
                Against::Heat if reader.bounded => {}
                _ => reader.options.push(option),
            }
        }
    }
}

/// Tells of ways to answer a statement of this rate whether they read some partition more often than
/// the target serves it.
fn too_hot(planner: &Planner, rate: f64) -> impl FnMut(&PlanOption) -> bool {
    let limit = planner.target.limits.partition_reads;
    let limit = limit.filter(|_| planner.model.timed);
    let structure = move |id| structure_of(planner, id);
    let mut thermometer = Thermometer::new(planner.stats, planner.target, structure);
    move |option| {
        let Some(limit) = limit else { return false };
        thermometer.heats.clear();
        thermometer.plan(By::Question(""), rate, &option.plan, &mut vec![]);
        let mut heats = thermometer.heats.values();
        heats.any(|h| h.read_units > limit.per_second)
    }
}

/// Whether a plan reads a large structure as a whole.
fn reads_whole(planner: &Planner, plan: &Plan) -> bool {
    let found = wholes(planner.model, |id| structure_of(planner, id), plan);
    found.iter().any(|whole| whole.reads > FEW)
}

/// The structure of a candidate, which plans name by its shape as long as nothing is chosen.
fn structure_of<'p>(planner: &'p Planner, id: StructureId) -> Option<&'p Structure> {
    let shape = planner.shapes.all.get(ShapeId::from(id));
    shape.map(|s| &s.structure)
}
