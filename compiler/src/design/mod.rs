//! The design step: model in, structures, plans, write plans, prices and reasons out.

pub mod access;
mod build;
mod change;
pub mod display;
mod equality;
mod expiry;
mod json;
mod options;
mod plan;
mod select;
mod shape;
mod sizes;
pub mod spread;
mod stats;
mod support;
pub mod target;

pub use change::type_filter;
pub use options::free_order;
pub use plan::{Aggregation, Bound, Estimate, Get, Op, Output, Plan, StructureId, Sub, Term, Test};
pub use shape::{key_paths, reference_paths};
pub use sizes::Sizes;

use crate::model::{Change, Field, Leaf, Model, Type};
use crate::view::Structure;
use options::{PlanOption, Planner};
use select::{Home, Programme, Reader, Selection, Writer};
use serde::{Deserialize, Serialize};
use shape::Requirement;
use std::collections::{BTreeMap, BTreeSet};
use target::{Support, Target};

/// How a design is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The target.
    pub target: Target,
    /// The mix, where the model has several; the first one by default.
    pub mix: Option<String>,
    /// Keep only what questions read: some facts may have no home.
    pub lossy: bool,
    /// Branches that the solver tries before it gives the best design so far, with its gap.
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
            nodes: 2000,
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
    pub warnings: Vec<String>,
    /// How it was found.
    pub search: Search,
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

/// What a change reads and writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WritePlan {
    /// The change's name.
    pub name: String,
    /// Its weight in the mix.
    pub weight: f64,
    /// The plans that find the instances of its updates and deletes, in order of the statements.
    pub finds: Vec<Plan>,
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
    /// The structure, or what is read.
    pub structure: String,
    /// Rows, on average.
    pub rows: f64,
    /// Rows, at most.
    pub rows_max: f64,
    /// Rows read.
    pub reads: f64,
    /// Cost.
    pub cost: f64,
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
    /// A question or an update cannot be answered by any plan.
    Unanswerable {
        /// Its name.
        name: String,
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
                write!(f, "there is no mix `{found}`; the model has {}", known.join(", "))
            }
            DesignError::Unanswerable { name } => {
                write!(f, "no plan answers `{name}` on this target")
            }
            DesignError::Infeasible => f.write_str(
                "no set of structures meets all constraints of this target (most often: more structures than it allows)",
            ),
        }
    }
}
impl std::error::Error for DesignError {}

/// Designs a model.
pub fn design(model: &Model, options: &Options) -> Result<Design, DesignError> {
    let (mix, at) = mix_of(model, options)?;
    let prepared = Prepared::new(model, options, at)?;
    let programme = prepared.programme(options);
    let selection = programme.solve().ok_or(DesignError::Infeasible)?;
    assemble(model, options, mix, &programme, &selection)
}

/// Everything that the selection is made from.
struct Prepared<'m> {
    planner: Planner<'m>,
    readers: Vec<Reader>,
    writers: Vec<Writer>,
    homes: Vec<Vec<Home>>,
}

impl<'m> Prepared<'m> {
    fn new(model: &'m Model, options: &'m Options, mix: usize) -> Result<Self, DesignError> {
        let weight = |rates: &[f64]| rates.get(mix).or(rates.first()).copied().unwrap_or(0.0);
        let mut planner = Planner::new(model, &options.target);
        let enumerated = enumerate(&mut planner, model)?;
        let homes = if options.lossy {
            vec![]
        } else {
            homes(&mut planner)
        };
        let rules = &options.target.cost.rules;
        if rules.support != Support::Shared {
            support::offer(&mut planner);
        }
        let mut readers: Vec<Reader> = Vec::new();
        for (question, options) in model.questions.iter().zip(enumerated.questions) {
            readers.push(Reader {
                weight: weight(&question.rates),
                options: within_limits(&planner, options),
            });
        }
        let mut writers = Vec::new();
        let checked = |e| {
            let checks = if rules.checks {
                change::checks(model, &e)
            } else {
                change::Needs::new()
            };
            (e, checks)
        };
        for (change, mut finds) in model.changes.iter().zip(enumerated.finds) {
            let weight = weight(&change.rates);
            let fewest =
                |o: &Vec<PlanOption>| o.iter().map(|o| o.rows).fold(f64::INFINITY, f64::min);
            let found: Vec<f64> = finds.iter().map(fewest).collect();
            // To find the instance of a given key is to check that it is there.
            for (options, (entity, filter)) in finds.iter_mut().zip(change::finds(change)) {
                if !rules.checks && change::by_key(model, entity, filter) {
                    options.iter_mut().for_each(|o| o.cost = 0.0);
                }
            }
            readers.extend(finds.into_iter().map(|options| Reader {
                weight,
                options: within_limits(&planner, options),
            }));
            let effects = change::effects(&planner.stats, change, &found);
            writers.push(Writer {
                weight,
                effects: effects.into_iter().map(checked).collect(),
            });
        }
        for (root, _) in model.expiring() {
            let rate = |c: &Change| weight(&c.rates) * expiry::inserted(model, c, root);
            let effects = expiry::effects(&planner.stats, root).into_iter();
            writers.push(Writer {
                weight: model.changes.iter().map(rate).sum(),
                effects: effects.map(checked).collect(),
            });
        }
        Ok(Prepared {
            planner,
            readers,
            writers,
            homes,
        })
    }

    fn programme(&self, options: &Options) -> Programme<'_, 'm> {
        Programme {
            planner: &self.planner,
            readers: &self.readers,
            writers: &self.writers,
            homes: self.homes.clone(),
            forced: forced(&self.planner),
            nodes: options.nodes,
            sample: options.sample,
            readings: std::cell::RefCell::default(),
        }
    }
}

/// How many times its cheapest plan a statement may cost for the sake of the target's limits: to
/// read everything instead is no way to keep a partition small.
const FOR_LIMITS: f64 = 100.0;

/// The options without a structure whose partitions outgrow the target; all of them where those
/// are out of proportion or there are none: the design then warns.
fn within_limits(planner: &Planner, options: Vec<PlanOption>) -> Vec<PlanOption> {
    let within = |o: &PlanOption| o.requires.iter().all(|r| !planner.oversize(r.shape));
    let cheapest = |o: &mut dyn Iterator<Item = &PlanOption>| {
        o.map(|o| o.cost).min_by(f64::total_cmp).unwrap_or(f64::MAX)
    };
    let best = cheapest(&mut options.iter());
    let kept = cheapest(&mut options.iter().filter(|o| within(o)));
    if kept <= best * FOR_LIMITS {
        options.into_iter().filter(within).collect()
    } else {
        options
    }
}

struct Enumerated {
    questions: Vec<Vec<PlanOption>>,
    finds: Vec<Vec<Vec<PlanOption>>>,
}

/// All options, over all candidates that any question or change calls for.
fn enumerate(planner: &mut Planner, model: &Model) -> Result<Enumerated, DesignError> {
    change::standing_shapes(model, &mut |entity, partition, clustering| {
        let s = shape::skeleton(
            model,
            entity,
            &[],
            &[],
            partition,
            clustering,
            crate::view::Kind::Lists,
        );
        planner.admit(s);
    });
    for list in model.roots().filter_map(|root| expiry::list(model, root)) {
        let list = planner.in_order_of_time(list);
        planner.shapes.intern(model, list);
    }
    // The first round makes candidates, the second matches everything against all of them.
    for growing in [true, false] {
        planner.growing = growing;
        let mut out = Enumerated {
            questions: vec![],
            finds: vec![],
        };
        for question in &model.questions {
            planner.params = types(&question.params);
            let options = planner.options(&question.query);
            if options.is_empty() {
                return Err(DesignError::Unanswerable {
                    name: question.name.clone(),
                });
            }
            out.questions.push(options);
        }
        for change in &model.changes {
            out.finds.push(find_options(planner, model, change)?);
        }
        if !growing {
            return Ok(out);
        }
    }
    Err(DesignError::Infeasible)
}

fn find_options(
    planner: &mut Planner,
    model: &Model,
    change: &Change,
) -> Result<Vec<Vec<PlanOption>>, DesignError> {
    planner.params = types(&change.params);
    let mut out = Vec::new();
    for (entity, filter) in change::finds(change) {
        let query = change::find_query(model, entity, filter);
        let options = planner.options(&query);
        if options.is_empty() {
            return Err(DesignError::Unanswerable {
                name: change.name.clone(),
            });
        }
        out.push(options);
    }
    Ok(out)
}

fn types(params: &[crate::model::Param]) -> Vec<Type> {
    params.iter().map(|p| p.ty.clone()).collect()
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

/// For each class of facts, what can be its home.
fn homes(planner: &mut Planner) -> Vec<Vec<Home>> {
    let model = planner.model;
    let mut out = Vec::new();
    for root in model.roots() {
        let candidates: Vec<usize> = (0..planner.shapes.all.len())
            .filter(|&s| {
                planner
                    .shapes
                    .all
                    .get(s)
                    .is_some_and(|s| s.identity && s.structure.anchor == root)
            })
            .collect();
        let within = candidates.iter().copied().filter(|&s| !planner.oversize(s));
        let within: Vec<usize> = within.collect();
        let candidates = if within.is_empty() {
            candidates
        } else {
            within
        };
        // That an instance exists is a fact too.
        out.push(
            candidates
                .iter()
                .map(|&shape| {
                    vec![Requirement {
                        shape,
                        column: None,
                    }]
                })
                .collect(),
        );
        for field in planner.stats.value_fields(root) {
            let paths = field_paths(model, field);
            let kept = candidates.iter().filter_map(|&s| {
                let columns = paths.iter().map(|path| planner.shapes.column(s, path));
                columns
                    .map(|found| Some(found?.1))
                    .collect::<Option<Home>>()
            });
            out.push(kept.collect());
        }
    }
    out
}

/// The stored paths of a field: an attribute, the type, or the scalars of a reference.
pub(crate) fn field_paths(model: &Model, field: Field) -> Vec<crate::model::Expr> {
    let path = |leaf| crate::model::Expr::Path {
        node: 0,
        element: vec![],
        steps: vec![],
        leaf,
    };
    match field {
        Field::Attribute(a) => vec![path(Leaf::Attribute(a, vec![]))],
        Field::Type => vec![path(Leaf::Type)],
        Field::Reference(r) => shape::reference_paths(model, r),
    }
}

/// Candidates without which a check would have to scan: unique attributes, what has expired.
fn forced(planner: &Planner) -> BTreeSet<usize> {
    let model = planner.model;
    let unique = |s: &Structure| {
        s.over.is_empty()
            && s.partition.len() == 1
            && s.partition.iter().any(|e| {
                matches!(
                    e,
                    crate::model::Expr::Path { steps, leaf: Leaf::Attribute(a, path), .. }
                        if steps.is_empty() && path.is_empty() && model.attribute(*a).unique
                )
            })
            && s.clustering
                .iter()
                .all(|(e, _)| shape::key_paths(model, s.anchor).contains(e))
    };
    let mut seen = BTreeSet::new();
    let all = planner.shapes.all.iter().enumerate();
    all.filter(|(_, s)| {
        unique(&s.structure) && seen.insert(s.structure.partition.clone())
            || expiry::is_list(model, &s.structure)
    })
    .map(|(i, _)| i)
    .collect()
}

fn assemble(
    model: &Model,
    options: &Options,
    mix: Option<String>,
    programme: &Programme,
    selection: &Selection,
) -> Result<Design, DesignError> {
    let planner = programme.planner;
    let mut mapping = build::Mapping::new(planner, selection);
    let mut readers = programme.readers.iter().enumerate();
    let mut plans = Vec::new();
    let mut serves: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let settle = |name: &str, reader: Option<(usize, &Reader)>| {
        let unanswerable = || DesignError::Unanswerable {
            name: name.to_string(),
        };
        let option = reader
            .and_then(|(at, r)| r.settled(at, selection))
            .ok_or_else(unanswerable)?;
        let plan = mapping.plan(option).ok_or_else(unanswerable)?;
        Ok((option.clone(), plan))
    };
    for question in &model.questions {
        let reader = readers.next();
        let (option, plan) = settle(&question.name, reader)?;
        for r in &option.requires {
            serves
                .entry(r.shape)
                .or_default()
                .insert(question.name.clone());
        }
        let weight = reader.map_or(0.0, |(_, r)| r.weight);
        plans.push(PricedPlan {
            name: question.name.clone(),
            weight,
            plan,
            cost: option.cost,
            rows: option.rows,
        });
    }
    let mut writes = Vec::new();
    for (change, writer) in model.changes.iter().zip(programme.writers) {
        let mut finds = Vec::new();
        let mut steps = Vec::new();
        let mut cost = 0.0;
        for (entity, _) in change::finds(change) {
            let (option, plan) = settle(&change.name, readers.next())?;
            for r in &option.requires {
                serves
                    .entry(r.shape)
                    .or_default()
                    .insert(change.name.clone());
            }
            cost += option.cost;
            steps.push(WriteStep {
                op: "find".into(),
                structure: model.entity(entity).name.clone(),
                rows: option.rows,
                rows_max: option.rows,
                reads: option.rows,
                cost: option.cost,
            });
            finds.push(plan);
        }
        cost += effect_steps(programme, selection, &mapping, writer, &mut steps);
        writes.push(WritePlan {
            name: change.name.clone(),
            weight: writer.weight,
            finds,
            steps,
            cost,
        });
    }
    let expiries = programme.writers.iter().skip(model.changes.len());
    for ((root, _), writer) in model.expiring().zip(expiries) {
        let name = expiry::name(model, root);
        let mut cost = planner.read_cost(1.0, 1.0, 16.0);
        let mut steps = vec![WriteStep {
            op: "find".into(),
            structure: model.entity(root).name.clone(),
            rows: 1.0,
            rows_max: 1.0,
            reads: 1.0,
            cost,
        }];
        cost += effect_steps(programme, selection, &mapping, writer, &mut steps);
        let lists = mapping.shapes.iter().filter(|&&shape| {
            let s = planner.shapes.get(shape);
            s.anchor == root && expiry::is_list(model, s)
        });
        for &shape in lists {
            serves.entry(shape).or_default().insert(name.clone());
        }
        writes.push(WritePlan {
            name,
            weight: writer.weight,
            finds: vec![],
            steps,
            cost,
        });
    }
    let all_plans = plans.iter().map(|p: &PricedPlan| &p.plan);
    equality::hash_long_parts(
        model,
        &mut mapping.structures,
        all_plans.chain(writes.iter().flat_map(|w: &WritePlan| &w.finds)),
        options.target.limits.key_bytes,
    );
    let access = access::Access::new(model, &mapping.structures);
    let mut notes = Vec::new();
    let mut warnings = Vec::new();
    for (at, s) in mapping.structures.iter().enumerate() {
        let sizes = Sizes::of(model, &options.target, s);
        warnings.extend(sizes.warnings(model, &options.target, s));
        let shape = mapping.shapes.get(at).copied().unwrap_or_default();
        let served = serves.get(&shape).map(|s| s.iter().cloned().collect());
        notes.push(Note {
            serves: served.unwrap_or_default(),
            techniques: build::techniques(model, s)
                .into_iter()
                .map(String::from)
                .collect(),
            home_of: access.home_of(model, at as StructureId),
            sizes,
        });
    }
    let total = plans.iter().map(|p| p.weight * p.cost).sum::<f64>()
        + writes.iter().map(|w| w.weight * w.cost).sum::<f64>();
    Ok(Design {
        model: model.name.clone(),
        target: options.target.name.clone(),
        mix,
        structures: mapping.structures,
        notes,
        plans,
        writes,
        total,
        warnings,
        search: Search {
            candidates: planner.shapes.all.len(),
            variables: selection.variables,
            optimal: selection.optimal,
            gap: selection.gap,
        },
    })
}

/// The reads and writes of a change's effects, as steps; tells their cost.
fn effect_steps(
    programme: &Programme,
    selection: &Selection,
    mapping: &build::Mapping,
    writer: &Writer,
    steps: &mut Vec<WriteStep>,
) -> f64 {
    let mut cost = 0.0;
    for (effect, checks) in &writer.effects {
        let prices = programme.effect_prices(selection, effect, checks);
        for (need, price) in &prices.reads {
            cost += price;
            steps.push(json::read_step(
                programme.planner.model,
                need,
                *price,
                checks.contains_key(need),
            ));
        }
        for (shape, write) in &prices.writes {
            cost += write.cost;
            let name = mapping
                .id(*shape)
                .and_then(|id| mapping.structures.get(id as usize))
                .map_or(String::new(), |s| s.name.clone());
            let op = if write.puts >= write.deletes {
                "put"
            } else {
                "delete"
            };
            steps.push(WriteStep {
                op: op.into(),
                structure: name,
                rows: write.puts.max(write.deletes),
                rows_max: write.rows_max,
                reads: 0.0,
                cost: write.cost,
            });
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small models on which every set of candidates and columns can be tried.
    const SMALL: &[&str] = &[
        "entity A (1000) { id int key  x int  y text(10) }
         question q (10/s) select y from A where x = $x
         change c (1/s) update A set y where id = $id",
        "entity A (1000) { id int key  x int  y text(10) }
         question q (1/s) select y from A where x = $x
         change c (1000/s) update A set x where id = $id",
        "entity A (100) { id int key  name text(10) }
         entity B (5000) { id int key  a -> A as bs (avg 50, max 500) }
         question q (10/s) select id, a.name from B where id = $id
         change c (5/s) update A set name where id = $id",
        "entity A (100) { id int key  name text(10) }
         entity B (5000) { id int key  a -> A as bs (avg 50, max 500) }
         question q (100/s) select id, a.name from B where id = $id
         change c (1/h) update A set name where id = $id",
        "entity A (100) { id int key }
         entity B (5000) { id int key  a -> A as bs (avg 50, max 500) }
         question q (100/s) select id, count(bs) as n from A where id = $id
         change c (1/s) insert B",
        "entity A (100) { id int key }
         entity B (5000) { id int key  a -> A as bs (avg 50, max 500) }
         question q (1/h) select id, count(bs) as n from A where id = $id
         change c (1000/s) insert B",
    ];

    /// The least price over all selections that keep every home and every forced candidate.
    fn exhaustive(programme: &Programme) -> f64 {
        let mut parts: Vec<Requirement> = Vec::new();
        for (shape, columns) in programme.used(f64::INFINITY) {
            parts.push(Requirement {
                shape,
                column: None,
            });
            parts.extend(columns.into_iter().map(|c| Requirement {
                shape,
                column: Some(c),
            }));
        }
        assert!(
            parts.len() <= 20,
            "{} are too many to try all sets",
            parts.len()
        );
        let mut best = f64::INFINITY;
        'sets: for set in 0u32..1 << parts.len() {
            let mut shapes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
            for (bit, part) in parts
                .iter()
                .enumerate()
                .filter(|(bit, _)| set & (1 << bit) != 0)
            {
                let _ = bit;
                match part.column {
                    None => drop(shapes.entry(part.shape).or_default()),
                    Some(c) => match shapes.get_mut(&part.shape) {
                        Some(columns) => drop(columns.insert(c)),
                        None => continue 'sets,
                    },
                }
            }
            let selection = Selection {
                shapes,
                variables: 0,
                optimal: false,
                gap: 0.0,
                picked: None,
            };
            let homes = programme
                .homes
                .iter()
                .all(|h| h.iter().any(|home| home.iter().all(|r| selection.has(r))));
            let forced = programme
                .forced
                .iter()
                .all(|s| selection.shapes.contains_key(s));
            if homes && forced {
                best = best.min(programme.price(&selection));
            }
        }
        best
    }

    #[test]
    fn the_selection_is_the_cheapest_of_all() {
        for text in SMALL {
            let (model, found) = crate::parse("small", text);
            let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
            let options = Options::embedded();
            let prepared = Prepared::new(&model, &options, 0).unwrap();
            let programme = prepared.programme(&options);
            let chosen = programme.solve().unwrap();
            let (price, best) = (programme.price(&chosen), exhaustive(&programme));
            assert!(chosen.optimal, "{text}");
            assert!(
                (price - best).abs() <= best * 1e-6,
                "{text}\nchose {price}, best {best}"
            );
        }
    }
}
