//! How often the hottest partition of a structure is read and written.
//!
//! A get falls on the hottest value of a partition key with that value's share of all rows: what
//! the model states of the largest (`max`), else evenly. Buckets of time do not spread what
//! happens now, so they count for nothing here. Salts spread what knows the row's key: writes, and
//! gets of one row; a read that gathers all salts visits each of them.

use crate::design::assumed::LIMIT;
use crate::design::change::{Effect, Reading};
use crate::design::plan::{Get, Op, Plan, StructureId, Term};
use crate::design::popular_key::{met, totals};
use crate::design::spread::{salt_of, spread};
use crate::design::stats::Stats;
use crate::design::target::Throughput;
use crate::design::{PricedPlan, Purpose, Target, WritePlan};
use crate::model::{Expr, Leaf};
use crate::value::Value;
use crate::view::reads::{Route, RouteStep};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Rates of the hottest partition, per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Gets.
    pub reads: f64,
    /// The same in the target's units.
    pub read_units: f64,
    /// Rows written.
    pub writes: f64,
    /// The same in the target's units.
    pub write_units: f64,
    /// The questions whose reads it are, the most units first.
    pub readers: Vec<(String, f64)>,
    /// The changes whose reads it are, the most units first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<(String, f64)>,
    /// Whose writes it are, the most units first.
    pub writers: Vec<(String, f64)>,
}

/// Who reads: a question and a change may have the same name.
#[derive(Clone, Copy)]
pub(crate) enum By<'n> {
    Question(&'n str),
    Change(&'n str),
}

impl Heat {
    fn read(&mut self, by: By, rate: f64, units: f64) {
        self.reads += rate;
        self.read_units += rate * units;
        match by {
            By::Question(name) => credit(&mut self.readers, name, rate * units),
            By::Change(name) => credit(&mut self.changes, name, rate * units),
        }
    }

    /// Who reads most, and how many units.
    pub(super) fn most_read(&self) -> Option<(By<'_>, f64)> {
        let question = self.readers.first().map(|(q, n)| (By::Question(q), *n));
        let change = self.changes.first().map(|(c, n)| (By::Change(c), *n));
        let most = question.into_iter().chain(change);
        most.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn write(&mut self, by: &str, rate: f64, units: f64) {
        self.writes += rate;
        self.write_units += rate * units;
        credit(&mut self.writers, by, rate * units);
    }
}

fn credit(to: &mut Vec<(String, f64)>, by: &str, units: f64) {
    match to.iter_mut().find(|(name, _)| name == by) {
        Some((_, known)) => *known += units,
        None if units > 0.0 => to.push((by.into(), units)),
        None => {}
    }
    to.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
}

/// Measures statements against the structures that they read and write.
pub(crate) struct Thermometer<'a, F> {
    pub(crate) stats: Stats<'a>,
    pub(crate) target: &'a Target,
    /// A structure by its id.
    pub(crate) structure: F,
    /// What was found so far.
    pub(crate) heats: BTreeMap<StructureId, Heat>,
    /// What was worked out of the structures, none of which changes meanwhile: by structure, and by
    /// how many parts of its key a get binds.
    figures: HashMap<(StructureId, usize), Figures>,
}

/// What gets of a structure have in common that bind as many parts of its key.
#[derive(Clone, Copy)]
struct Figures {
    /// The share of the hottest value of the parts of the partition key that are bound.
    share: f64,
    /// How many times more rows than on average the most popular value has.
    skew: f64,
    /// Rows of the largest partition.
    largest: f64,
    /// Bytes of a row.
    bytes: f64,
}

impl Figures {
    fn of(stats: &Stats, s: &Structure, bound: usize) -> Figures {
        let before = spread(stats.model, s).map_or(s.partition.len(), |s| s.before);
        let prefix: Vec<&Expr> = s.partition.iter().take(before.min(bound)).collect();
        let most = stats.most_bound(s, bound).rows;
        let bound: Vec<&Expr> = s.key().take(bound).collect();
        Figures {
            share: stats.share(s, &prefix),
            skew: (most / stats.rows_per(s, &bound).max(1e-9)).max(1.0),
            largest: stats.largest(s).rows,
            bytes: row_bytes(stats, s),
        }
    }

    /// Rows that a get of so many on average reads of the hottest partition: as many times more as
    /// the most popular value has, but no more than are taken or than a partition holds.
    fn of_hottest(&self, rows: f64, taken: f64) -> f64 {
        (rows * self.skew).min(taken).min(self.largest)
    }
}

impl<'a, 's, F: Fn(StructureId) -> Option<&'s Structure>> Thermometer<'a, F> {
    pub(crate) fn new(stats: Stats<'a>, target: &'a Target, structure: F) -> Self {
        Thermometer {
            stats,
            target,
            structure,
            heats: BTreeMap::new(),
            figures: HashMap::new(),
        }
    }

    /// Adds the reads of a question.
    pub(crate) fn question(&mut self, priced: &PricedPlan) {
        self.plan(
            By::Question(&priced.name),
            priced.weight,
            &priced.plan,
            &mut vec![],
        );
    }

    /// Adds the reads of a change; `named` tells the id of a structure.
    pub(crate) fn change(&mut self, plan: &WritePlan, named: &dyn Fn(&str) -> Option<StructureId>) {
        for find in plan.finds.iter().flatten() {
            self.plan(By::Change(&plan.name), plan.weight, find, &mut vec![]);
        }
        for step in &plan.steps {
            let found = named(&step.structure).and_then(|id| Some((id, (self.structure)(id)?)));
            let Some((id, s)) = found else { continue };
            let width = row_bytes(&self.stats, s);
            let share = write_share(&self.stats, s).max(step.popular);
            let reads = match step.purpose {
                // Counted with the plan above.
                Purpose::Find(_) => 0.0,
                // The totals of a key are read with one get.
                Purpose::Maintain => match totals(self.stats.model, s) {
                    Some(split) => step.reads / met(&self.stats, s, split).max(1.0),
                    None => step.reads,
                },
                Purpose::Values(_) | Purpose::Unique(..) => step.reads,
                Purpose::Referrers(..) | Purpose::Support(_) => {
                    let bound: Vec<&Expr> = s.partition.iter().collect();
                    step.reads / self.stats.rows_per(s, &bound).max(1.0)
                }
            };
            let heat = self.heats.entry(id).or_default();
            if reads > 0.0 {
                let bytes = step.reads / reads * width;
                let units = units(self.target.limits.partition_reads, bytes);
                heat.read(By::Change(&plan.name), plan.weight * reads * share, units);
            }
        }
    }

    /// Adds what a change writes to a structure.
    pub(crate) fn written(&mut self, id: StructureId, by: &str, weight: f64, effects: &[Effect]) {
        let Some(s) = (self.structure)(id) else {
            return;
        };
        let effects: Vec<(f64, Effect)> = effects.iter().map(|e| (weight, e.clone())).collect();
        let rate = Flows::new(&self.stats, s, &effects).hottest(&self.stats, s);
        if rate > 0.0 {
            let units = write_units(&self.stats, self.target, s);
            self.heats.entry(id).or_default().write(by, rate, units);
        }
    }

    /// Adds the reads of a plan; `frames` are the structures of the tuple that it starts from.
    pub(crate) fn plan(
        &mut self,
        by: By,
        weight: f64,
        plan: &Plan,
        frames: &mut Vec<Option<StructureId>>,
    ) {
        frames.truncate(usize::from(plan.outer));
        self.op(by, weight, &plan.root, frames, f64::INFINITY);
        self.terms(by, weight, plan.output.iter().map(|o| &o.term), frames);
    }

    /// Adds the reads of an operator of which at most so many tuples are taken, and of its inputs;
    /// tells the gets of the last one.
    fn op(
        &mut self,
        by: By,
        weight: f64,
        op: &Op,
        frames: &mut Vec<Option<StructureId>>,
        taken: f64,
    ) -> f64 {
        match op {
            Op::Input => 0.0,
            Op::Get {
                input,
                get,
                estimate,
                ..
            }
            | Op::Merge {
                input,
                get,
                estimate,
                ..
            } => {
                let before = self.op(by, weight, input, frames, before(input, op, taken));
                if let Op::Merge { lists, .. } = op {
                    self.terms(by, weight, lists.iter().flatten(), frames);
                }
                if let Some(s) = (self.structure)(get.structure) {
                    let stats = &self.stats;
                    let at = (get.structure, get.eq.len());
                    let figures = self.figures.entry(at);
                    let figures = *figures.or_insert_with(|| Figures::of(stats, s, at.1));
                    let touched = Touch::of(stats, s, get, figures, frames, &self.structure);
                    let lookups = if touched.through_directory {
                        before
                    } else {
                        estimate.gets / touched.pieces
                    };
                    let rows = estimate.reads / estimate.gets.max(1e-9);
                    let bytes = figures.of_hottest(rows, taken) * figures.bytes;
                    let units = units(self.target.limits.partition_reads, bytes);
                    let heat = self.heats.entry(get.structure).or_default();
                    heat.read(by, weight * lookups * touched.share, units);
                }
                frames.push(Some(get.structure));
                estimate.gets
            }
            Op::Unite { branches, .. } => {
                for branch in branches {
                    self.plan(by, weight, branch, &mut frames.clone());
                }
                frames.push(None);
                0.0
            }
            Op::Elements { input, of } => {
                self.op(by, weight, input, frames, f64::INFINITY);
                self.terms(by, weight, [of], frames);
                frames.push(None);
                0.0
            }
            Op::Filter { input, tests, .. } => {
                self.op(by, weight, input, frames, before(input, op, taken));
                for test in tests {
                    self.terms(by, weight, test.terms(), frames);
                    for op in test.looked_for() {
                        // One is enough.
                        self.op(by, weight, op, &mut frames.clone(), 1.0);
                    }
                }
                0.0
            }
            Op::Distinct { input, .. } | Op::Sort { input, .. } | Op::Page { input, .. } => {
                self.op(by, weight, input, frames, f64::INFINITY)
            }
            Op::Limit { input, count, last } => {
                let count = match count {
                    _ if *last => f64::INFINITY,
                    Term::Const(Value::Int(n)) => *n as f64,
                    _ => LIMIT,
                };
                self.op(by, weight, input, frames, taken.min(count))
            }
            Op::Aggregate { input, .. } => {
                self.op(by, weight, input, frames, f64::INFINITY);
                frames.clear();
                frames.push(None);
                0.0
            }
        }
    }

    fn terms<'p>(
        &mut self,
        by: By,
        weight: f64,
        terms: impl IntoIterator<Item = &'p Term>,
        frames: &[Option<StructureId>],
    ) {
        for sub in terms.into_iter().flat_map(Term::subs) {
            self.plan(by, weight, sub.plan(), &mut frames.to_vec());
        }
    }
}

/// How many tuples of its input an operator takes for so many of its own.
fn before(input: &Op, op: &Op, taken: f64) -> f64 {
    match (rows_of(input), rows_of(op)) {
        (Some(read), Some(given)) if given > 0.0 => taken * (read / given).max(1.0),
        _ => f64::INFINITY,
    }
}

/// Tuples that leave an operator, where that is estimated.
fn rows_of(op: &Op) -> Option<f64> {
    match op {
        Op::Input => Some(1.0),
        _ => op.estimate().map(|e| e.rows),
    }
}

/// Where the gets of an operator fall.
struct Touch {
    /// The share of look-ups that visit the hottest partition.
    share: f64,
    /// Gets of one look-up.
    pieces: f64,
    /// Each get is one of the buckets that a directory listed for one look-up.
    through_directory: bool,
}

impl Touch {
    fn of<'s>(
        stats: &Stats,
        s: &Structure,
        get: &Get,
        figures: Figures,
        frames: &[Option<StructureId>],
        structure: &impl Fn(StructureId) -> Option<&'s Structure>,
    ) -> Touch {
        let spread = spread(stats.model, s);
        let before = spread.as_ref().map_or(s.partition.len(), |s| s.before);
        // What is followed to is met as often as it is referred to.
        let referred = get
            .eq
            .iter()
            .filter_map(|t| followed(stats, s, t, frames, structure));
        let share = referred.fold(figures.share, f64::max);
        let mut touch = Touch {
            share,
            pieces: 1.0,
            through_directory: false,
        };
        let last = frames.len().checked_sub(1);
        if let Some(spread) = &spread {
            touch.through_directory = spread.buckets.is_some()
                && matches!(get.eq.get(before),
                    Some(Term::Column { frame, .. }) if Some(usize::from(*frame)) == last)
                && frames
                    .last()
                    .copied()
                    .flatten()
                    .and_then(structure)
                    .is_some_and(|d| {
                        d.kind == Kind::Groups && s.partition.get(..before) == Some(&d.partition)
                    });
            // Who names a time may mean any.
            if let (false, Some(_), Some(bucket)) = (
                touch.through_directory,
                get.eq.get(before).filter(|_| spread.buckets.is_some()),
                s.partition.get(before),
            ) {
                let scope = Scope::new(stats.model, s.anchor, &s.over);
                touch.share /= stats.cardinality(&scope, bucket).max(1.0);
            }
            let salt = spread.salts.zip(get.eq.get(s.partition.len() - 1));
            match salt {
                Some((salts, Term::Item(..))) => touch.pieces = salts as f64,
                Some((salts, _)) => touch.share /= salts as f64,
                None => {}
            }
            // Each of them is one of the hottest key's: how its reads divide is not known.
            if let Some(split) = spread.split {
                touch.pieces = split.average;
            }
        }
        touch
    }
}

/// The share of the most referred to instance, where a get follows a reference to the anchor.
fn followed<'s>(
    stats: &Stats,
    s: &Structure,
    term: &Term,
    frames: &[Option<StructureId>],
    structure: &impl Fn(StructureId) -> Option<&'s Structure>,
) -> Option<f64> {
    let Term::Column {
        frame,
        column,
        path,
    } = term
    else {
        return None;
    };
    let from = structure(frames.get(usize::from(*frame)).copied().flatten()?)?;
    let Expr::Path {
        node: 0,
        steps,
        leaf: Leaf::Attribute(..),
        ..
    } = from.values().nth(usize::from(*column))?
    else {
        return None;
    };
    let reference = stats.model.reference(*steps.last()?);
    let leads = stats.model.entity(reference.target).root == s.anchor && path.is_empty();
    leads.then(|| (reference.max / stats.count(reference.entity)).min(1.0))
}

/// The rows that changes write to a structure.
#[derive(Debug)]
pub(crate) struct Flows(Vec<Flow>);

#[derive(Debug)]
struct Flow {
    /// Rows a second.
    rows: f64,
    /// The share of them that falls on the rows of one and the same anchor.
    anchor: f64,
}

impl Flows {
    pub(crate) fn new(stats: &Stats, s: &Structure, effects: &[(f64, Effect)]) -> Flows {
        let reading = Reading::at_most(stats, s);
        let mut flows = Vec::new();
        for (rate, effect) in effects {
            // A change that names an instance finds it: less than one is an average over keys
            // that nobody asks for.
            let mut effect = effect.clone();
            effect.count.avg = effect.count.avg.max(1.0);
            for (route, hit) in reading.hits(stats, &effect) {
                flows.push(Flow {
                    // A row that moves is deleted where it was, which is a write too.
                    rows: rate * (hit.puts.avg + hit.deletes.avg),
                    anchor: anchor_share(stats, &route),
                });
            }
        }
        Flows(flows)
    }

    /// Rows a second that fall on the hottest partition of the structure, or of the same spread.
    pub(crate) fn hottest(&self, stats: &Stats, s: &Structure) -> f64 {
        let share = write_share(stats, s);
        let hot = self.0.iter().map(|f| f.rows * share.max(f.anchor));
        hot.sum()
    }
}

/// The units that one row written takes.
pub(crate) fn write_units(stats: &Stats, target: &Target, s: &Structure) -> f64 {
    units(target.limits.partition_writes, row_bytes(stats, s))
}

/// How much of what happens at the end of a way meets one and the same instance at its start: as
/// many as refer to the most popular one.
fn anchor_share(stats: &Stats, route: &Route) -> f64 {
    let back = route.iter().map(|step| match step {
        RouteStep::Back(r) => Some(*r),
        RouteStep::One(_) => None,
    });
    let Some(back) = back.collect::<Option<Vec<_>>>() else {
        return 0.0;
    };
    let most: f64 = back.iter().map(|r| stats.referrers(*r).max).product();
    let all = back.last().map(|r| stats.model.reference(*r).entity);
    all.map_or(0.0, |e| (most / stats.count(e)).min(1.0))
}

/// The share of a structure's writes that falls on its hottest partition.
fn write_share(stats: &Stats, s: &Structure) -> f64 {
    let spread = spread(stats.model, s);
    let before = spread.as_ref().map_or(s.partition.len(), |s| s.before);
    let past = |e: &&Expr| !matches!(e, Expr::Call(f, _) if f.rounds_time());
    let prefix: Vec<&Expr> = s.partition.iter().take(before).filter(past).collect();
    let share = stats.share(s, &prefix);
    let salt = s.partition.last().filter(|part| salt_of(part).is_some());
    let Some(salt) = salt.filter(|_| spread.is_some_and(|s| s.salts.is_some())) else {
        return share;
    };
    let scope = Scope::new(stats.model, s.anchor, &s.over);
    let salts = stats.cardinality(&scope, salt).max(1.0);
    // A group is one row, which a salt of its own key does not divide.
    let own: Vec<&Expr> = s.key().filter(|e| salt_of(e).is_none()).collect();
    let row = match s.kind {
        Kind::Groups if stats.follows(&scope, salt, &own.iter().copied()) => {
            let lasting: Vec<&Expr> = own.into_iter().filter(past).collect();
            stats.share(s, &lasting)
        }
        _ => 0.0,
    };
    (share / salts).max(row)
}

/// Bytes of a structure's row, on average.
fn row_bytes(stats: &Stats, s: &Structure) -> f64 {
    let scope = Scope::new(stats.model, s.anchor, &s.over);
    s.values().map(|e| stats.bytes(&scope, e).avg).sum()
}

fn units(limit: Option<Throughput>, bytes: f64) -> f64 {
    limit.map_or(1.0, |limit| limit.units(bytes))
}
