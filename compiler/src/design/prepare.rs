//! From a model to all that the selection is made from: candidates, plan options of every
//! statement, effects of every change, and what must be kept whatever it costs.

use super::change::Effect;
use super::fit::Learned;
use super::limits::Tried;
use super::options::{PlanOption, Planner, undominated};
use super::select::{Home, Programme, Reader, Selection, Writer};
use super::shape::{self, Requirement, Shape, ShapeId, field_paths};
use super::sizes::Subject;
use super::spread::spread;
use super::stats::Extent;
use super::target::Support;
use super::{DesignError, Options, change, expiry, named, parts, support};
use crate::model::{Change, Expr, Leaf, Model, Type};
use crate::view::{Kind, Structure};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that the selection is made from.
pub(super) struct Prepared<'m> {
    planner: Planner<'m>,
    /// Those of the questions, then the finds of each change.
    pub(super) readers: Vec<Reader>,
    /// Those of the changes, then those of expiries.
    writers: Vec<Writer>,
    homes: Vec<Vec<Home>>,
    companions: BTreeMap<ShapeId, Vec<Vec<Home>>>,
    /// For each expiry, how many instances one change of each kind inserts.
    inserted: Vec<Vec<f64>>,
    /// Among what plans were looked for last, beside all candidates.
    widened: BTreeMap<ShapeId, BTreeSet<usize>>,
}

impl<'m> Prepared<'m> {
    /// The first attempt.
    #[cfg(test)]
    pub(super) fn new(
        model: &'m Model,
        options: &'m Options,
        mix: usize,
    ) -> Result<Self, DesignError> {
        Self::after(model, options, mix, &Learned::default())
    }

    /// An attempt that knows what those before it have shown.
    pub(super) fn after(
        model: &'m Model,
        options: &'m Options,
        mix: usize,
        learned: &Learned,
    ) -> Result<Self, DesignError> {
        let planner = candidates(model, options, mix, learned)?;
        Self::of(planner, options, mix, learned)
    }

    /// The rest of an attempt whose candidates are there.
    pub(super) fn of(
        mut planner: Planner<'m>,
        options: &'m Options,
        mix: usize,
        learned: &Learned,
    ) -> Result<Self, DesignError> {
        let model = planner.model;
        let checks = options.target.cost.rules.checks;
        let mut writers = writers(&planner, checks, mix);
        planner.upkeep.writers.clone_from(&writers);
        planner.upkeep.homes = !options.lossy;
        let enumerated = enumerate(&mut planner, options, mix)?;
        let mut homes = if options.lossy {
            vec![]
        } else {
            homes(&mut planner)
        };
        homes.extend(given(options));
        let companions = planner.companions();
        if options.target.cost.rules.support != Support::Shared {
            support::offer(&mut planner);
        }
        let tried = enumerated.tried(&planner, mix);
        let readers = readers(model, options, mix, learned, tried);
        let mut inserted = Vec::new();
        for (root, _) in model.expiring() {
            let by_one = |c: &Change| expiry::inserted(model, c, root);
            inserted.push(model.changes.iter().map(by_one).collect());
            writers.push(Writer {
                weight: 0.0,
                effects: checked(model, expiry::effects(&planner.stats, root), checks),
            });
        }
        let mut prepared = Prepared {
            planner,
            readers,
            writers,
            homes,
            companions,
            inserted,
            widened: BTreeMap::new(),
        };
        let writers = prepared.writers.iter().map(|w| w.weight);
        let changes: Vec<f64> = writers.take(model.changes.len()).collect();
        let expiries = prepared.expiries(&changes);
        let writers = prepared.writers.iter_mut().skip(changes.len());
        for (writer, weight) in writers.zip(expiries) {
            writer.weight = weight;
        }
        Ok(prepared)
    }

    /// Looks for plans among what was chosen: of a large question only the cheapest partial plans
    /// are followed, and with fewer candidates there are fewer to drop. Whether there are new ones,
    /// which may do without something that was chosen.
    pub(super) fn widen(&mut self, chosen: &Selection, mix: usize) -> bool {
        if self.widened == chosen.shapes {
            return false;
        }
        self.widened.clone_from(&chosen.shapes);
        self.planner.within = Some(chosen.shapes.clone());
        let found = round(&mut self.planner, mix);
        self.planner.within = None;
        let mut new = false;
        let tried = found.tried(&self.planner, mix);
        for (reader, tried) in self.readers.iter_mut().zip(tried) {
            let known = |o: &PlanOption| {
                let mut all = reader.options.iter().chain(&reader.anyway);
                let beats = |k: &PlanOption| k.cost <= o.cost && k.requires.is_subset(&o.requires);
                all.any(beats) || !o.requires.iter().all(|r| chosen.has(r))
            };
            let tried = tried.without(known);
            new |= !tried.is_empty();
            tried.join(reader);
            reader.options = undominated(std::mem::take(&mut reader.options));
        }
        new
    }

    /// How often instances expire, of each expiry, where changes have these weights: what was
    /// inserted expires.
    fn expiries(&self, changes: &[f64]) -> Vec<f64> {
        let of = self.inserted.iter().map(|inserted| {
            let each = changes.iter().zip(inserted);
            each.map(|(change, by_one)| change * by_one).sum()
        });
        of.collect()
    }

    /// How many questions there are: statements behind them are changes.
    pub(super) fn questions(&self) -> usize {
        self.planner.model.questions.len()
    }

    /// The weight of a question or, behind all questions, of a change.
    pub(super) fn weight(&self, statement: usize) -> f64 {
        match statement.checked_sub(self.questions()) {
            None => self.readers.get(statement).map_or(0.0, |r| r.weight),
            Some(change) => self.writers.get(change).map_or(0.0, |w| w.weight),
        }
    }

    /// The weights of all readers, then of all writers, where a question or change has another one
    /// than it has.
    pub(super) fn weights_at(&self, statement: usize, weight: f64) -> Vec<f64> {
        let model = self.planner.model;
        let mut out: Vec<f64> = self.readers.iter().map(|r| r.weight).collect();
        let writers = self.writers.iter().map(|w| w.weight);
        let mut changes: Vec<f64> = writers.take(model.changes.len()).collect();
        let own = match statement.checked_sub(model.questions.len()) {
            None => statement..statement + 1,
            Some(change) => {
                let finds = |c: &Change| change::finds(c).len();
                let before = model.changes.iter().take(change).map(finds).sum::<usize>();
                let start = model.questions.len() + before;
                changes
                    .iter_mut()
                    .skip(change)
                    .take(1)
                    .for_each(|w| *w = weight);
                start..start + model.changes.get(change).map_or(0, finds)
            }
        };
        out.iter_mut()
            .skip(own.start)
            .take(own.len())
            .for_each(|w| *w = weight);
        out.extend(&changes);
        out.extend(self.expiries(&changes));
        out
    }

    pub(super) fn planner(&self) -> &Planner<'m> {
        &self.planner
    }

    pub(super) fn programme(&self, options: &Options) -> Programme<'_, 'm> {
        Programme {
            planner: &self.planner,
            readers: &self.readers,
            writers: &self.writers,
            homes: self.homes.clone(),
            companions: self.companions.clone(),
            forced: forced(&self.planner),
            nodes: options.nodes,
            sample: options.sample,
            readings: std::cell::RefCell::default(),
        }
    }
}

/// What the changes of a model do.
fn writers(planner: &Planner, checks: bool, mix: usize) -> Vec<Writer> {
    let (model, stats) = (planner.model, &planner.stats);
    let writers = model.changes.iter().map(|change| {
        let finds = change::finds(change).into_iter();
        let found: Vec<Extent> = finds.map(|(e, filter)| stats.found(e, filter)).collect();
        Writer {
            weight: weight(&change.rates, mix),
            effects: checked(model, change::effects(stats, change, &found), checks),
        }
    });
    writers.collect()
}

/// Effects with what is read to check them, where the rules count that.
fn checked(model: &Model, effects: Vec<Effect>, checks: bool) -> Vec<(Effect, change::Needs)> {
    let needs = |e: &Effect| {
        if checks {
            change::checks(model, e)
        } else {
            change::Needs::new()
        }
    };
    let checked = effects.into_iter().map(|e| {
        let needs = needs(&e);
        (e, needs)
    });
    checked.collect()
}

/// The statements with the options that the target's limits leave.
///
/// Whether keeping to them is out of proportion is not for the few structures of a schema to say: the
/// same structures are then read in the same way, whether they were designed or given.
fn readers(
    model: &Model,
    options: &Options,
    mix: usize,
    learned: &Learned,
    tried: Vec<Tried>,
) -> Vec<Reader> {
    let mut bounded: Vec<bool> = tried.iter().map(Tried::bounded).collect();
    if options.given.is_some() && tried.iter().any(Tried::torn) {
        let open = Options {
            given: None,
            ..options.clone()
        };
        if let Ok(open) = Prepared::after(model, &open, mix, learned) {
            bounded = open.readers.iter().map(|r| r.bounded).collect();
        }
    }
    let readers = tried.into_iter().zip(bounded);
    readers.map(|(t, bounded)| t.reader(bounded)).collect()
}

/// Every structure that was given, with all its columns: there is no other home of what it keeps.
/// They are the first candidates.
fn given(options: &Options) -> Vec<Vec<Home>> {
    let given = options.given.iter().flat_map(|s| &s.structures);
    given
        .enumerate()
        .map(|(shape, s)| {
            let columns = (0..s.columns.len()).map(Some);
            let all = std::iter::once(None).chain(columns);
            vec![all.map(|column| Requirement { shape, column }).collect()]
        })
        .collect()
}

impl Planner<'_> {
    /// Whether a person gave this candidate.
    pub(super) fn is_given(&self, shape: ShapeId) -> bool {
        self.shapes.all.get(shape).is_some_and(|s| s.given)
    }

    /// Those homes that are in structures that were given; all of them where none is.
    pub(super) fn given_first(&self, homes: Vec<Home>) -> Vec<Home> {
        let given = |home: &Home| home.iter().all(|r| self.is_given(r.shape));
        if homes.iter().any(given) {
            homes.into_iter().filter(given).collect()
        } else {
            homes
        }
    }
}

#[derive(Default)]
struct Enumerated {
    questions: Vec<Vec<PlanOption>>,
    finds: Vec<Vec<Vec<PlanOption>>>,
}

/// A planner with all candidates that any question or change calls for; without any where structures
/// are given.
pub(super) fn candidates<'m>(
    model: &'m Model,
    options: &'m Options,
    mix: usize,
    learned: &Learned,
) -> Result<Planner<'m>, DesignError> {
    let mut planner = Planner::new(model, &options.target);
    planner.pressure.learned.clone_from(learned);
    if model.timed {
        for change in &model.changes {
            // How many a find gives is not known yet; what it takes for one is a start.
            let found = vec![change::ONE; change::finds(change).len()];
            let effects = change::effects(&planner.stats, change, &found).into_iter();
            let rate = weight(&change.rates, mix);
            planner.pressure.effects.extend(effects.map(|e| (rate, e)));
        }
    }
    if options.given.is_none() {
        planner.growing = true;
        standing(&mut planner);
        if !options.lossy {
            // What keeps only what questions read has no homes that could be divided.
            parts::divide_homes(&mut planner, mix);
        }
        let found = round(&mut planner, mix).complete(model)?;
        // What limits refuse to these plans is known before all of them are there.
        found.tried(&planner, mix);
        planner.order_keys();
        planner.unite_groups();
    }
    planner.growing = false;
    Ok(planner)
}

/// All options, over all candidates, or over what is given.
fn enumerate(
    planner: &mut Planner,
    options: &Options,
    mix: usize,
) -> Result<Enumerated, DesignError> {
    let Some(given) = &options.given else {
        return round(planner, mix).complete(planner.model);
    };
    for structure in &given.structures {
        planner.shapes.give(planner.model, structure.clone());
    }
    planner.shapes.facts_only = true;
    for structure in &given.structures {
        // Nothing can be inserted without the totals of what is split, whoever reads them, and no
        // question finds the buckets of a time without their directory.
        if let Some(directory) = planner.directory_for(structure) {
            planner.shapes.intern(planner.model, directory);
        }
    }
    let mut found = round(planner, mix);
    if !options.lossy {
        planner.growing = true;
        standing(planner);
        planner.growing = false;
        // Whoever gave the structures meant them to answer: others do only where these cannot.
        found.fill(round(planner, mix));
        if found.unanswered(planner.model).is_some() {
            planner.shapes.open();
            found.fill(round(planner, mix));
        }
    }
    found.complete(planner.model)
}

/// Whether what was given does the work of a standing candidate: it has a home for each fact of the
/// instance, or finds instances by the same values.
fn is_done(planner: &mut Planner, standing: &Structure) -> bool {
    let model = planner.model;
    let given: Vec<ShapeId> = (0..planner.shapes.all.len())
        .filter(|&shape| {
            let shape = planner.shapes.all.get(shape);
            shape.is_some_and(|s| s.given && s.structure.anchor == standing.anchor)
        })
        .collect();
    if shape::is_identity(model, standing) {
        let homes = given.iter().copied().filter(|&shape| {
            let shape = planner.shapes.all.get(shape);
            shape.is_some_and(|s| s.identity)
        });
        let homes: Vec<ShapeId> = homes.collect();
        let mut fields = planner.stats.value_fields(standing.anchor).into_iter();
        let held = !homes.is_empty()
            && fields.all(|field| {
                let paths = field_paths(model, field);
                let mut homes = homes.iter();
                homes.any(|&home| keeps_all(planner, home, &paths).is_some())
            });
        // One whose partition is a part of the key finds instances by that part, too.
        if !held || standing.clustering.is_empty() {
            return held;
        }
    }
    let ordered = planner.target.capabilities.ordered_partitions;
    let finds = |s: &Structure| {
        let by = standing.partition.len();
        let spread = spread(model, s).map_or(s.partition.len(), |spread| spread.before);
        s.kind == Kind::Lists
            && s.over.is_empty()
            && s.filter.is_empty()
            && s.key_len() >= by
            && s.key().take(by).all(|e| standing.partition.contains(e))
            && (ordered || spread <= by)
    };
    let mut given = given.into_iter();
    given.any(|shape| finds(planner.shapes.get(shape)))
}

/// The home of a field in a candidate; none where it cannot keep all of it.
fn keeps_all(planner: &mut Planner, shape: ShapeId, paths: &[Expr]) -> Option<Home> {
    let columns = paths.iter().map(|path| planner.shapes.column(shape, path));
    columns.map(|found| Some(found?.1)).collect()
}

/// The homes of a field in candidates; without paths, those of an instance itself.
fn kept_by(planner: &mut Planner, shapes: &[ShapeId], paths: &[Expr]) -> Vec<Home> {
    let itself = |shape| Requirement {
        shape,
        column: None,
    };
    let homes = shapes.iter().filter_map(|&shape| match paths {
        [] => Some(vec![itself(shape)]),
        paths => keeps_all(planner, shape, paths),
    });
    homes.collect()
}

/// What no statement calls for but every design may need: homes, ways to referrers, unique values,
/// what expires.
fn standing(planner: &mut Planner) {
    let model = planner.model;
    change::standing_shapes(model, &mut |entity, partition, clustering| {
        let s = shape::skeleton(model, entity, &[], &[], partition, clustering, Kind::Lists);
        if !is_done(planner, &s) {
            planner.admit(s);
        }
    });
    for list in model.roots().filter_map(|root| expiry::list(model, root)) {
        // One that was given is enough, however it is cut.
        let known =
            |s: &Shape| s.structure.anchor == list.anchor && expiry::is_list(model, &s.structure);
        if !planner.shapes.all.iter().any(known) {
            let list = planner.in_order_of_time(list);
            planner.shapes.intern(model, list);
        }
    }
}

/// The options of every statement over the candidates.
fn round(planner: &mut Planner, mix: usize) -> Enumerated {
    let model = planner.model;
    let mut out = Enumerated::default();
    for question in &model.questions {
        planner.params = types(&question.params);
        planner.upkeep.weight = weight(&question.rates, mix);
        out.questions.push(planner.options(&question.query));
    }
    for change in &model.changes {
        planner.params = types(&change.params);
        planner.upkeep.weight = weight(&change.rates, mix);
        let finds = change::finds(change).into_iter();
        let finds = finds
            .map(|(entity, filter)| planner.options(&change::find_query(model, entity, filter)));
        out.finds.push(finds.collect());
    }
    out
}

/// What a statement weighs in a mix.
pub(super) fn weight(rates: &[f64], mix: usize) -> f64 {
    rates.get(mix).or(rates.first()).copied().unwrap_or(0.0)
}

impl Enumerated {
    /// All statements, with what the limits have against their options.
    fn tried(self, planner: &Planner, mix: usize) -> Vec<Tried> {
        let model = planner.model;
        let mut tried = Vec::new();
        for (question, options) in model.questions.iter().zip(self.questions) {
            tried.push(Tried::new(planner, weight(&question.rates, mix), options));
        }
        let checks = planner.target.cost.rules.checks;
        for (change, finds) in model.changes.iter().zip(self.finds) {
            let weight = weight(&change.rates, mix);
            for (mut options, (entity, filter)) in finds.into_iter().zip(change::finds(change)) {
                // To find the instance of a given key is to check that it is there.
                let key = named::key_of(model, entity, filter);
                if key.is_some_and(|key| checks || key.len() == filter.len()) {
                    options.iter_mut().for_each(|o| o.cost = 0.0);
                }
                tried.push(Tried::new(planner, weight, options));
            }
        }
        tried
    }

    /// Takes the options of another round for statements that have none.
    fn fill(&mut self, other: Enumerated) {
        let finds = self.finds.iter_mut().flatten();
        let others = other.finds.into_iter().flatten();
        let questions = self.questions.iter_mut().zip(other.questions);
        for (options, others) in questions.chain(finds.zip(others)) {
            if options.is_empty() {
                *options = others;
            }
        }
    }

    /// Every statement has options, or there is no design.
    fn complete(self, model: &Model) -> Result<Self, DesignError> {
        match self.unanswered(model) {
            None => Ok(self),
            Some(subject) => Err(DesignError::Unanswerable(subject)),
        }
    }

    /// The first statement without an option.
    fn unanswered(&self, model: &Model) -> Option<Subject> {
        let mut questions = model.questions.iter().zip(&self.questions);
        let question = questions.find(|(_, options)| options.is_empty());
        let mut changes = model.changes.iter().zip(&self.finds);
        let change = changes.find(|(_, finds)| finds.iter().any(Vec::is_empty));
        let question = question.map(|(q, _)| Subject::Question(q.name.clone()));
        question.or_else(|| change.map(|(c, _)| Subject::Change(c.name.clone())))
    }
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
        // One that was given stays the home, whatever limit it breaks: a finding tells.
        let within = candidates
            .iter()
            .copied()
            .filter(|&s| planner.is_given(s) || !planner.oversize(s, vec![]));
        let within: Vec<usize> = within.collect();
        // That an instance exists is a fact too.
        let mut classes = vec![vec![]];
        let fields = planner.stats.value_fields(root).into_iter();
        classes.extend(fields.map(|field| field_paths(model, field)));
        for paths in classes {
            // Those within the limits may all be given, and keep something else.
            let mut kept = kept_by(planner, &within, &paths);
            if kept.is_empty() {
                kept = kept_by(planner, &candidates, &paths);
            }
            out.push(planner.given_first(kept));
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
                    Expr::Path { steps, leaf: Leaf::Attribute(a, path), .. }
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
