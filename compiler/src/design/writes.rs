//! Write plans: what a change checks, reads and writes, step by step.

use super::Design;
use super::access::Access;
use super::build::Mapping;
use super::change::Need;
use super::named::SharedNeed;
use super::plan::{Plan, StructureId};
use super::price::NeedPrice;
use super::select::{Programme, Selection, Writer};
use super::shape::ShapeId;
use super::stats::Stats;
use crate::model::Model;
use crate::view::reads::{Route, RouteStep};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a change reads and writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WritePlan {
    /// The change's name.
    pub name: String,
    /// Its weight in the mix.
    pub weight: f64,
    /// The plans that find the instances of its updates and deletes, in order of the statements;
    /// none where the filter names the key of one ([`super::key_of`]), which is then read once, as
    /// all that the change reads by key.
    pub finds: Vec<Option<Plan>>,
    /// Steps, for people.
    pub steps: Vec<WriteStep>,
    /// Cost of one change.
    pub cost: f64,
}

/// One step of a write plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteStep {
    /// `check`, `read`, `find`, `put` or `delete`.
    pub op: String,
    /// The structure that is read or written.
    pub structure: String,
    /// What for.
    pub purpose: Purpose,
    /// Rows written (of a find: found), on average.
    pub rows: f64,
    /// Rows written, at most.
    pub rows_max: f64,
    /// Rows read, on average.
    pub reads: f64,
    /// The share of its reads that falls on the most popular instance, where it follows references.
    #[serde(default)]
    pub popular: f64,
    /// The structures that it is read for, where it is not for the change itself alone. One that
    /// several need is read once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needed_by: Vec<NeededBy>,
    /// Whether it reads all rows of the structure, because none finds what is wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Cost.
    pub cost: f64,
}

impl WriteStep {
    /// The structure that is read or written; none where several are, or a design that loses facts
    /// has none.
    pub fn at(&self) -> Option<&str> {
        (!self.structure.is_empty()).then_some(&self.structure)
    }
}

/// A structure that could not be kept true without a read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeededBy {
    /// Its name.
    pub structure: String,
    /// The rows that are read for it, whoever else needs them.
    pub reads: f64,
    /// What that would cost if nobody else did.
    pub cost: f64,
}

impl Design {
    /// The questions and changes that read a structure, for whatever reason: answers, finds, checks
    /// and the upkeep of other structures.
    pub fn readers_of(&self, structure: usize) -> Vec<&str> {
        let (Some(s), Some(note)) = (self.structures.get(structure), self.notes.get(structure))
        else {
            return vec![];
        };
        let mut readers: Vec<&str> = note.serves.iter().map(String::as_str).collect();
        let reads =
            |step: &WriteStep| step.structure == s.name && step.purpose != Purpose::Maintain;
        for change in self.writes.iter().filter(|w| w.steps.iter().any(reads)) {
            if !readers.contains(&change.name.as_str()) {
                readers.push(&change.name);
            }
        }
        readers
    }
}

/// What a step of a write plan is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// To find the instances of an entity that are changed.
    Find(String),
    /// The values of instances of an entity, by their keys: whether they are there, or what they
    /// say.
    Values(String),
    /// Who refers to an instance: the entity, and the reference.
    Referrers(String, String),
    /// That no other has the same value of an attribute: the entity, and the attribute.
    Unique(String, String),
    /// A query of its own for one structure, in words.
    Support(String),
    /// To keep the structure true.
    Maintain,
}

/// The reads and writes of a change's effects, as steps; tells their cost.
pub(super) fn effect_steps(
    programme: &Programme,
    selection: &Selection,
    mapping: &Mapping,
    access: &Access,
    writer: &Writer,
    steps: &mut Vec<WriteStep>,
) -> f64 {
    let model = programme.planner.model;
    let mut cost = 0.0;
    let prices = programme.writer_prices(selection, writer);
    let wants = programme.wants(selection, writer);
    let effects = writer.effects.iter().enumerate();
    for ((at, (effect, checks)), prices) in effects.zip(prices) {
        for (need, read) in &prices.reads {
            cost += read.cost;
            let op = if checks.contains_key(need) {
                "check"
            } else {
                "read"
            };
            steps.push(WriteStep {
                op: op.into(),
                structure: mapping.name(structure_of(model, access, need)),
                purpose: purpose_of(model, need),
                rows: 0.0,
                rows_max: 0.0,
                reads: read.rows,
                popular: match need {
                    Need::Values(route, _) => popularity(&programme.planner.stats, route),
                    _ => 0.0,
                },
                needed_by: reasons(mapping, need, read, &wants, &effect.shared(at, need, 0.0).0),
                all: read.all,
                cost: read.cost,
            });
        }
        for (shape, write) in &prices.writes {
            cost += write.cost;
            let planner = programme.planner;
            let among = planner.stats.rows(planner.shapes.get(*shape));
            let deleting = planner.target.cost.writes(0.0, write.deletes.avg, among);
            let mut reads = write.reads;
            let ops = [
                ("put", write.puts, write.cost - deleting),
                ("delete", write.deletes, deleting),
            ];
            for (op, rows, cost) in ops.into_iter().filter(|(_, rows, _)| rows.max > 0.0) {
                steps.push(WriteStep {
                    op: op.into(),
                    structure: mapping.name(mapping.id(*shape)),
                    purpose: Purpose::Maintain,
                    rows: rows.avg,
                    rows_max: rows.max,
                    // What is read before it is written, whichever way, is read once.
                    reads: std::mem::take(&mut reads),
                    popular: 0.0,
                    needed_by: vec![],
                    all: false,
                    cost,
                });
            }
        }
    }
    cost
}

/// The structures that a read is there for. A query of one structure's own is for that.
fn reasons(
    mapping: &Mapping,
    need: &Need,
    price: &NeedPrice,
    wants: &BTreeMap<SharedNeed, BTreeMap<ShapeId, NeedPrice>>,
    shared: &SharedNeed,
) -> Vec<NeededBy> {
    if let Need::Support(shape, ..) = need {
        return vec![needed_by(mapping, *shape, price)];
    }
    let by = wants.get(shared).into_iter().flatten();
    by.map(|(shape, price)| needed_by(mapping, *shape, price))
        .collect()
}

fn needed_by(mapping: &Mapping, shape: ShapeId, read: &NeedPrice) -> NeededBy {
    NeededBy {
        structure: mapping.name(mapping.id(shape)),
        reads: read.rows,
        cost: read.cost,
    }
}

/// The structure through which a need is read; none where a design that loses facts has none.
fn structure_of(model: &Model, access: &Access, need: &Need) -> Option<StructureId> {
    let home = |entity| access.homes.get(&entity)?.first().copied();
    match need {
        Need::Values(_, entity) => home(model.entity(*entity).root),
        Need::Referrers(_, r) => match access.referrers.get(r) {
            Some(path) => Some(path.structure),
            None => home(model.entity(model.reference(*r).entity).root),
        },
        Need::Unique(a) => access.unique.get(a).map(|(id, _)| *id),
        Need::Support(..) => None,
    }
}

/// How much of what happens to the instances at the start of a way along references meets one and
/// the same instance at its end: as many as refer to the most popular one.
fn popularity(stats: &Stats, route: &Route) -> f64 {
    let along = route.iter().map(|step| match step {
        RouteStep::One(r) => Some(*r),
        RouteStep::Back(_) => None,
    });
    let Some(along) = along.collect::<Option<Vec<_>>>() else {
        return 0.0;
    };
    let most: f64 = along.iter().map(|r| stats.referrers(*r).max).product();
    let all = along.first().map(|r| stats.model.reference(*r).entity);
    all.map_or(0.0, |e| (most / stats.count(e)).min(1.0))
}

fn purpose_of(model: &Model, need: &Need) -> Purpose {
    let entity = |e| model.entity(e).name.clone();
    match need {
        Need::Values(_, e) => Purpose::Values(entity(*e)),
        Need::Referrers(_, r) => {
            let r = model.reference(*r);
            Purpose::Referrers(entity(r.entity), r.name.clone())
        }
        Need::Unique(a) => {
            let a = model.attribute(*a);
            Purpose::Unique(entity(a.entity), a.name.clone())
        }
        Need::Support(_, _, about) => Purpose::Support(about.clone()),
    }
}
