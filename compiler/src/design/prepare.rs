//! From a model to all that the selection is made from: candidates, plan options of every
//! statement, effects of every change, and what must be kept whatever it costs.

use super::options::{PlanOption, Planner};
use super::select::{Home, Programme, Reader, Writer};
use super::shape::{self, Requirement, field_paths};
use super::target::Support;
use super::{DesignError, Options, change, expiry, support};
use crate::model::{Change, Leaf, Model, Type};
use crate::view::Structure;
use std::collections::BTreeSet;

/// Everything that the selection is made from.
pub(super) struct Prepared<'m> {
    planner: Planner<'m>,
    readers: Vec<Reader>,
    writers: Vec<Writer>,
    homes: Vec<Vec<Home>>,
}

impl<'m> Prepared<'m> {
    pub(super) fn new(
        model: &'m Model,
        options: &'m Options,
        mix: usize,
    ) -> Result<Self, DesignError> {
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

    pub(super) fn programme(&self, options: &Options) -> Programme<'_, 'm> {
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
