//! The design step: model in, structures, plans, write plans, prices and reasons out.

pub mod access;
mod adding;
mod assemble;
pub mod assumed;
mod atomic;
mod build;
mod change;
pub mod display;
mod equality;
mod expiry;
mod family;
mod fit;
mod flip;
mod implied;
mod json;
mod limits;
mod lint;
mod marks;
mod named;
mod options;
mod parts;
mod plan;
pub mod popular_key;
mod prepare;
mod price;
mod redesign;
mod select;
mod shape;
mod shares;
mod sizes;
mod solve;
pub mod source;
pub mod spread;
mod stats;
pub mod study;
mod support;
pub mod target;
#[cfg(test)]
mod tests;
mod traverse;
mod unit;
mod upkeep;
mod weigh;
mod whole;
mod widths;
mod worst;
mod writes;

pub use change::type_filter;
pub use named::{is_same_kind, key_of, reads_beyond};
pub use options::free_order;
pub(crate) use options::{determines, maintainable};
pub use plan::{Aggregation, Bound, Estimate, Get, Op, Output, Plan, StructureId, Sub, Term, Test};
pub use shape::{key_paths, reference_paths};
pub(crate) use sizes::shown;
pub use sizes::{Finding, Heat, Sizes, Subject};
pub use writes::{Purpose, WritePlan, WriteStep};

use crate::diagnostic::codes::NO_DESIGN;
use crate::model::{Model, Schema, Split};
use crate::view::Structure;
use fit::Learned;
use prepare::Prepared;
use select::{Programme, Selection};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use target::Target;

/// How a design is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The target.
    pub target: Target,
    /// The mix, where the model has several; the first one by default.
    pub mix: Option<String>,
    /// Keep only what questions read: some facts may have no home.
    pub lossy: bool,
    /// The schema of a person: all its structures are built as they are, and others only where a fact
    /// would have no home, or a change could not be checked without them.
    pub given: Option<Schema>,
    /// How long the solver tries before it gives the best design so far, with its gap: in nodes
    /// of its tree, a node of a component of ten items counting once, larger ones for more.
    pub nodes: u64,
    /// Any design that answers everything instead of the cheapest, chosen by this number: what
    /// structures and plans mean must not depend on which are chosen, and tests see to that.
    pub sample: Option<u64>,
}

impl Options {
    /// For the embedded store.
    pub fn embedded() -> Options {
        let target = target::named("embedded").unwrap_or_else(|| unreachable!("it ships"));
        Options {
            target,
            mix: None,
            lossy: false,
            given: None,
            nodes: 20_000,
            sample: None,
        }
    }
}

/// A design: everything that the runtime executes and that people are told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Design {
    /// The model's name.
    pub model: String,
    /// The target's name.
    pub target: String,
    /// The mix that it was made for.
    pub mix: Option<String>,
    /// Structures; plans name them by position.
    pub structures: Vec<Structure>,
    /// What is told of each structure.
    pub notes: Vec<Note>,
    /// The plan of each question, in the model's order.
    pub plans: Vec<PricedPlan>,
    /// The write plan of each change, in the model's order; behind them those of expiries.
    pub writes: Vec<WritePlan>,
    /// Sum of all costs, weighted by rates.
    pub total: f64,
    /// What to look at.
    pub warnings: Vec<Finding>,
    /// Popular keys that are split: the design is read with [`Design::model_of`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<Split>,
    /// How it was found.
    pub search: Search,
}

impl Design {
    /// The model that the design's structures are read with: with the numbers of what is split.
    /// Its rates are those of the design's mix.
    pub fn model_of(&self, model: &Model) -> Model {
        let mix = |name: &String| model.mixes.iter().position(|m| m == name);
        Model {
            mix: self.mix.as_ref().and_then(mix).unwrap_or_default(),
            ..model.with_splits(&self.splits)
        }
    }

    /// The structures that a question's plan reads, by name.
    pub fn read_by(&self, question: usize) -> Vec<String> {
        let read = self.structures_read_by(question).into_iter();
        let read = read.filter_map(|at| self.structures.get(at));
        read.map(|s| s.name.clone()).collect()
    }

    /// Its structures that another design does not have. Of a home in two parts the larger one is the
    /// home where the other design has it whole; where both have parts, they are the same if the same
    /// facts live there.
    pub fn beyond<'d>(&'d self, other: &Design) -> Vec<&'d Structure> {
        let own = self.structures.iter().enumerate();
        let missing = own.filter(|(at, s)| {
            let parts = self.alike(s);
            let there = other.alike(s);
            match (parts.as_slice(), there.as_slice()) {
                (_, []) => true,
                ([_], _) => false,
                (_, [_]) => parts.first() != Some(at),
                _ => {
                    let facts =
                        |d: &'_ Design, at: usize| d.notes.get(at).map(|n| n.home_of.clone());
                    let own = facts(self, *at);
                    !there.iter().any(|&at| facts(other, at) == own)
                }
            }
        });
        missing.map(|(_, s)| s).collect()
    }

    /// The other structures with the same rows as one of its own.
    pub(crate) fn beside(&self, s: &Structure) -> Vec<&Structure> {
        let others = self.structures.iter();
        let others = others.filter(|t| t.same_rows(s) && t.columns != s.columns);
        others.collect()
    }

    /// The structures with the same rows, by their positions, the one that keeps most first.
    pub(crate) fn alike(&self, s: &Structure) -> Vec<usize> {
        let all = self.structures.iter().enumerate();
        let mut alike: Vec<(usize, usize)> = all
            .filter(|(_, t)| t.same_rows(s))
            .map(|(at, t)| (t.columns.len(), at))
            .collect();
        alike.sort_by_key(|(columns, at)| (std::cmp::Reverse(*columns), *at));
        alike.into_iter().map(|(_, at)| at).collect()
    }

    /// The structures that a question reads, by their positions.
    pub(crate) fn structures_read_by(&self, question: usize) -> BTreeSet<usize> {
        let plan = self.plans.get(question);
        let read = plan.into_iter().flat_map(|p| p.plan.reads());
        read.map(usize::from).collect()
    }
}

/// What is told of a structure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// Questions and changes whose plans read it.
    pub serves: Vec<String>,
    /// Techniques.
    pub techniques: Vec<String>,
    /// Facts that have their home in it, as `Entity.attribute`.
    pub home_of: Vec<String>,
    /// How large it gets.
    pub sizes: Sizes,
}

/// A plan and its price.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PricedPlan {
    /// The question's name.
    pub name: String,
    /// Its weight in the mix.
    pub weight: f64,
    /// The plan.
    pub plan: Plan,
    /// Cost of one answer.
    pub cost: f64,
    /// Rows of one answer.
    pub rows: f64,
}

/// How a design was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Search {
    /// Candidate structures.
    pub candidates: usize,
    /// Binary variables of the programme.
    pub variables: usize,
    /// Whether it is proven to be the cheapest.
    pub optimal: bool,
    /// Else how far it may be from it, as a fraction.
    pub gap: f64,
}

/// Why there is no design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DesignError {
    /// The mix is not one of the model's.
    UnknownMix {
        /// As asked for.
        found: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A question, or what a change is to find, cannot be answered by any plan.
    Unanswerable(
        /// The question or the change.
        Subject,
    ),
    /// The facts alone need more structures than the target allows.
    TooManyStructures {
        /// How many they need at least.
        needed: usize,
        /// How many there may be.
        allowed: usize,
    },
    /// The solver found nothing that meets all constraints.
    Infeasible,
}

impl std::fmt::Display for DesignError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DesignError::UnknownMix { found, known } if known.is_empty() => {
                write!(f, "there is no mix `{found}`: the model has plain rates")
            }
            DesignError::UnknownMix { found, known } => {
                write!(
                    f,
                    "there is no mix `{found}`; the model has {}",
                    known.join(", ")
                )
            }
            DesignError::Unanswerable(Subject::Change(name)) => {
                write!(f, "no plan finds what `{name}` changes on this target")
            }
            DesignError::Unanswerable(subject) => {
                write!(f, "no plan answers the {subject} on this target")
            }
            DesignError::TooManyStructures { needed, allowed } => write!(
                f,
                "the facts alone need {needed} structures, and this target allows {allowed}"
            ),
            DesignError::Infeasible => {
                f.write_str("no set of structures meets all constraints of this target")
            }
        }
    }
}
impl std::error::Error for DesignError {}

impl DesignError {
    /// The same as a finding of a model that has no design.
    pub fn finding(&self) -> Finding {
        let (found, limit) = match self {
            DesignError::TooManyStructures { needed, allowed } => (*needed, *allowed),
            _ => (0, 0),
        };
        let subject = match self {
            DesignError::Unanswerable(subject) => subject.clone(),
            _ => Subject::Model,
        };
        let help = match self {
            DesignError::TooManyStructures { .. } => {
                "make entities that are alike one, divide the model into several, or choose another \
                 target; where a schema was given, let it have fewer structures"
            }
            _ => "choose another target",
        };
        Finding {
            code: NO_DESIGN.id.into(),
            structure: String::new(),
            subject,
            found: found as f64,
            limit: limit as f64,
            message: self.to_string(),
            help: help.into(),
            mixes: vec![],
        }
    }
}

/// How often a design that breaks a limit of partitions is made again with what it has shown: each
/// time at least one structure is known to keep more than was assumed. As often an attempt may end
/// before it is solved.
const ATTEMPTS: usize = 6;
/// How often plans are looked for among what was chosen, as long as each time makes the design
/// cheaper by this fraction.
const ROUNDS: usize = 4;
const WORTH: f64 = 1e-3;

/// Designs a model.
pub fn design(model: &Model, options: &Options) -> Result<Design, DesignError> {
    let (_, mix) = mix_of(model, options)?;
    let model = &Model {
        mix,
        ..model.clone()
    };
    let mut learned = Learned::given(model, options);
    loop {
        let split = model.with_splits(&learned.splits);
        let Some(made) = attempt(&split, options, &mut learned)? else {
            continue;
        };
        let roomier = learned.roomier(made.prepared.planner(), &made.design);
        let mut design = made.design;
        design.forget_unsplit(&split);
        let other = roomier.and_then(|mut roomier| {
            let split = model.with_splits(&roomier.splits);
            let mut other = attempt(&split, options, &mut roomier).ok()??.design;
            other.forget_unsplit(&split);
            Some(other)
        });
        let better = |other: &Design| {
            let broken = |d: &Design| d.warnings.iter().filter(|w| w.of_a_partition()).count();
            broken(other) <= broken(&design) && other.total < design.total
        };
        return Ok(match other {
            Some(other) if better(&other) => other,
            _ => design,
        });
    }
}

/// A design with what it was chosen from.
struct Made<'m> {
    mix: Option<String>,
    prepared: Prepared<'m>,
    selection: Selection,
    design: Design,
}

/// Makes a design of a model whose splits are settled.
fn make<'m>(model: &'m Model, options: &'m Options) -> Result<Made<'m>, DesignError> {
    let mut learned = Learned::default();
    loop {
        if let Some(made) = attempt(model, options, &mut learned)? {
            return Ok(made);
        }
    }
}

/// What a design was chosen from, where it is there already; made again where that does not tell.
fn remake<'m>(
    model: &'m Model,
    options: &'m Options,
    design: &Design,
) -> Result<Made<'m>, DesignError> {
    let (mix, at) = mix_of(model, options)?;
    let mut learned = Learned::default();
    let mut prepared = Prepared::after(model, options, at, &learned)?;
    let selection = prepared.programme(options).selection_of(design);
    if let Some(selection) = &selection {
        prepared.widen(selection, at);
    }
    let programme = prepared.programme(options);
    let selection = programme.selection_of(design);
    let again = selection.and_then(|selection| {
        let again = assemble::assemble(model, options, mix.clone(), &programme, &selection);
        Some((selection, again.ok()?))
    });
    drop(programme);
    if let Some((selection, again)) = again {
        let same = (again.total - design.total).abs() <= 1e-9 * design.total.abs();
        // What attempts have learned is not told by a design, and it may have been made with it.
        let wished = !options.lossy && learned.wishes(prepared.planner());
        if same && !wished && !learned.from(prepared.planner(), &again) {
            return Ok(Made {
                mix,
                prepared,
                selection,
                design: design.clone(),
            });
        }
    }
    make(model, options)
}

/// Makes a design with what earlier attempts have shown; none where this one has shown more.
fn attempt<'m>(
    model: &'m Model,
    options: &'m Options,
    learned: &mut Learned,
) -> Result<Option<Made<'m>>, DesignError> {
    let (mix, at) = mix_of(model, options)?;
    let planner = prepare::candidates(model, options, at, learned)?;
    if learned.early(&planner, options) {
        return Ok(None);
    }
    let mut prepared = Prepared::of(planner, options, at, learned)?;
    if learned.early(prepared.planner(), options) {
        return Ok(None);
    }
    let glanced = glanced(&mut prepared, options, at);
    if let Some(selection) = glanced.as_ref().filter(|s| !s.optimal) {
        // A proof is of use where nothing more is to be learned.
        let programme = prepared.programme(options);
        let design = assemble::assemble(model, options, mix.clone(), &programme, selection)?;
        drop(programme);
        if learned.more(prepared.planner(), &design) {
            return Ok(None);
        }
    }
    let selection = proven(&mut prepared, options, at, glanced);
    let programme = prepared.programme(options);
    let selection = selection.ok_or_else(|| programme.infeasible())?;
    let mut design = assemble::assemble(model, options, mix.clone(), &programme, &selection)?;
    let found = match &options.given {
        Some(schema) => {
            let used = programme.taken(&selection);
            lint::lint(model, &options.target, &design, schema, &used)
        }
        None => lint::searches(model, &design, programme.readers),
    };
    drop(programme);
    design.warnings.extend(found);
    let halves = atomic::findings(model, &options.target, &design);
    design.warnings.extend(halves);
    for finding in &mut design.warnings {
        finding.mixes.extend(mix.clone());
    }
    if learned.more(prepared.planner(), &design) {
        return Ok(None);
    }
    Ok(Some(Made {
        mix,
        prepared,
        selection,
        design,
    }))
}

impl Learned {
    /// Takes in what an attempt has shown; true where another one is to be made with it.
    fn more(&mut self, attempt: &options::Planner, design: &Design) -> bool {
        let more = self.from(attempt, design) && self.attempts + 1 < ATTEMPTS;
        self.attempts += usize::from(more);
        more
    }
}

/// A cheap selection over all plans, those among its own structures included. None for what a person
/// gave, and for what is drawn at random: it is read as it was first planned.
fn glanced(prepared: &mut Prepared, options: &Options, mix: usize) -> Option<Selection> {
    if options.given.is_some() || options.sample.is_some() {
        return None;
    }
    let mut selection = prepared.programme(options).glance(None)?;
    for _ in 0..ROUNDS {
        if !prepared.widen(&selection, mix) {
            break;
        }
        let programme = prepared.programme(options);
        let before = selection.cost;
        let found = programme.glance(Some(&selection))?;
        selection = cheaper(&programme, selection, found);
        if selection.cost > before * (1.0 - WORTH) {
            break;
        }
    }
    Some(selection)
}

/// The cheapest selection, as far as a search can tell, with the cheapest plans among its own
/// structures: another one was chosen when these were looked for last, and of a statement without a
/// weight no search has looked for any.
fn proven(
    prepared: &mut Prepared,
    options: &Options,
    mix: usize,
    glanced: Option<Selection>,
) -> Option<Selection> {
    let programme = prepared.programme(options);
    let selection = match glanced {
        // What was added to a person's structures is there for whoever can make use of it, too.
        None => programme.solve(&BTreeSet::new())?,
        Some(glanced) if glanced.optimal => glanced,
        Some(glanced) => {
            let found = programme.solve_near(&glanced)?;
            cheaper(&programme, glanced, found)
        }
    };
    drop(programme);
    if options.sample.is_some() {
        return Some(selection);
    }
    prepared.widen(&selection, mix);
    let bound = selection.bound;
    Some(prepared.programme(options).bounded(selection, bound))
}

/// The cheaper of what was found before and what a search has found: one that ends before its proof
/// may miss the other. The bound is that of the search.
fn cheaper(programme: &Programme, before: Selection, found: Selection) -> Selection {
    if found.cost <= before.cost {
        return found;
    }
    let bound = found.bound;
    programme.bounded(before, bound)
}

fn mix_of(model: &Model, options: &Options) -> Result<(Option<String>, usize), DesignError> {
    match &options.mix {
        None => Ok((model.mixes.first().cloned(), 0)),
        Some(name) => match model.mixes.iter().position(|m| m == name) {
            Some(at) => Ok((Some(name.clone()), at)),
            None => Err(DesignError::UnknownMix {
                found: name.clone(),
                known: model.mixes.clone(),
            }),
        },
    }
}
