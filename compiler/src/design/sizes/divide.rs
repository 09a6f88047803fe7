//! What a person can write in `by` of a structure so that none of its partitions breaks a limit. Each
//! way is enough by itself for all that is asked of it, and as little as that.

use super::heat::{Flows, Heat, write_units};
use super::{contents, regular};
use crate::design::change::{self, Effect};
use crate::design::display::{Printer, key_part};
use crate::design::shape::key_paths;
use crate::design::spread::{FILL, bucketed, directory, salt_counts, salt_of, salted, spread};
use crate::design::stats::Stats;
use crate::design::{Target, expiry};
use crate::model::{Expr, Function, Model, own};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};

/// Of what a partition has too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Excess {
    /// Rows, values or bytes.
    pub(super) sizes: bool,
    /// Writes.
    pub(super) writes: bool,
    /// Reads, where changes read what they are about to write.
    pub(super) reads: bool,
}

impl Excess {
    /// What there is too much of beside this, in words.
    pub(super) fn beside(self, this: Excess) -> Vec<String> {
        let all = [
            (self.sizes && !this.sizes, "its size"),
            (self.writes && !this.writes, "its writes"),
            (self.reads && !this.reads, "its reads"),
        ];
        let left = all.into_iter().filter(|(left, _)| *left);
        left.map(|(_, words)| words.into()).collect()
    }
}

/// A structure whose partitions are to be divided, taken apart.
pub(super) struct Divider<'a> {
    model: &'a Model,
    target: &'a Target,
    s: &'a Structure,
    stats: Stats<'a>,
    heat: Option<&'a Heat>,
    /// The changes whose reads are divided with their writes.
    divided: Vec<String>,
    /// The parts of the partition key that do not spread it.
    shared: Vec<Expr>,
    /// The buckets that it has.
    bucket: Option<(Function, Expr)>,
    /// The salts that it has, and what they are made of.
    salt: Option<(Expr, i64)>,
}

impl<'a> Divider<'a> {
    /// The structure, what its hottest partition serves and takes, and the changes whose reads are
    /// of the rows that they write.
    pub(super) fn new(
        model: &'a Model,
        target: &'a Target,
        s: &'a Structure,
        heat: Option<&'a Heat>,
        divided: Vec<String>,
    ) -> Divider<'a> {
        let spread = spread(model, s);
        let before = spread.as_ref().map_or(s.partition.len(), |s| s.before);
        let bucket = spread.and_then(|s| s.buckets.map(|(width, of)| (width, of.clone())));
        // Salts that stand before a bucket are not seen as such: they are put where they are.
        let shared = s.partition.iter().take(before);
        let shared = shared.filter(|part| salt_of(part).is_none());
        let salt = s.partition.iter().find_map(salt_of);
        Divider {
            model,
            target,
            s,
            stats: target.stats(model),
            heat,
            divided,
            shared: shared.cloned().collect(),
            bucket,
            salt: salt.map(|(of, n)| (of.clone(), n)),
        }
    }

    /// The lists that can be written as `by`, each enough for all of this: buckets or salts, both
    /// only where neither does alone.
    pub(super) fn ways(&self, of: Excess) -> Vec<String> {
        let mut cut: Vec<Structure> = self.in_buckets(of).into_iter().collect();
        cut.extend(self.in_salts(of).filter(|salted| !cut.contains(salted)));
        if cut.is_empty() {
            cut.extend(self.in_both(of));
        }
        let mut ways: Vec<String> = cut.iter().map(|s| self.written(&s.partition)).collect();
        ways.extend(self.in_sub_partitions(of));
        ways
    }

    /// In the widest buckets that are enough, over the salts that there are.
    fn in_buckets(&self, of: Excess) -> Option<Structure> {
        let cut: Vec<Structure> = self.bucketed();
        let first = |fill: f64| {
            let mut cut = cut.iter().map(|cut| match &self.salt {
                Some((of, n)) => salted(cut, of, *n),
                None => cut.clone(),
            });
            cut.find(|cut| self.fits(cut, of, fill))
        };
        first(FILL).or_else(|| first(1.0))
    }

    /// Over the fewest salts that are enough, in the buckets that there are.
    fn in_salts(&self, of: Excess) -> Option<Structure> {
        let bucket = self.bucket.clone();
        let cut = self.cut(bucket.map(|(width, time)| Expr::Call(width, vec![time])));
        let fewest = |fill| self.salts(&cut, of, fill).map(|(_, cut)| cut);
        fewest(FILL).or_else(|| fewest(1.0))
    }

    /// In the buckets that need the fewest salts, of these the widest.
    fn in_both(&self, of: Excess) -> Option<Structure> {
        let cut: Vec<Structure> = self.bucketed();
        let fewest = |fill: f64| {
            let salts = cut.iter().filter_map(|cut| self.salts(cut, of, fill));
            salts.min_by_key(|(n, _)| *n).map(|(_, cut)| cut)
        };
        fewest(FILL).or_else(|| fewest(1.0))
    }

    /// In numbered sub-partitions, of rows that say themselves what they share. They divide no
    /// writes: which one is filled is the same for all.
    fn in_sub_partitions(&self, of: Excess) -> Option<String> {
        let own = |part: &Expr| own(self.model, self.s.anchor, part).is_some();
        let plain = self.s.kind == Kind::Lists && self.s.over.is_empty();
        let spread = self.salt.is_some() || of.writes || of.reads;
        if !plain || spread || self.shared.is_empty() || !self.shared.iter().all(own) {
            return None;
        }
        let whole = self.cut(None);
        let rows = (self.most_rows(&whole) * FILL).floor();
        if rows < 1.0 || !rows.is_finite() {
            return None;
        }
        let shared = self.written(&self.shared);
        Some(format!("{shared}, split({shared}, {rows})"))
    }

    /// The rows of a partition that fill the tightest of the limits.
    fn most_rows(&self, s: &Structure) -> f64 {
        let limits = &self.target.limits;
        let held = |rows| {
            let regular = regular(&self.stats, s);
            let held = contents(&self.stats, s, rows, regular);
            self.target.layout.extents(&held)
        };
        let (none, one) = (held(0.0), held(1.0));
        let per = |limit: Option<f64>, none: f64, one: f64| {
            let each = one - none;
            limit.filter(|_| each > 0.0).map(|l| (l - none) / each)
        };
        let most = [
            limits.partition_rows,
            per(limits.partition_values, none.values, one.values),
            per(limits.partition_bytes, none.bytes, one.bytes),
        ];
        most.into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// The structure with nothing that spreads it but this.
    fn cut(&self, bucket: Option<Expr>) -> Structure {
        let mut partition = self.shared.clone();
        partition.extend(bucket);
        Structure {
            partition,
            ..self.s.clone()
        }
    }

    /// The structure in buckets of each width, none wider than those that it has, the widest first.
    fn bucketed(&self) -> Vec<Structure> {
        let cut = bucketed(self.model, &self.cut(None)).into_iter();
        let bucket = |s: &Structure| s.partition.last().cloned();
        let kept = self.bucket.as_ref().map(|(width, time)| {
            let kept = Some(Expr::Call(*width, vec![time.clone()]));
            move |cut: &Structure| bucket(cut) == kept
        });
        let mut cut: Vec<Structure> = cut.collect();
        if let Some(at) = kept.and_then(|kept| cut.iter().position(kept)) {
            cut.drain(..at);
        }
        let listed =
            |cut: &Structure| directory(self.model, cut).is_some_and(|d| self.holds(&d, 1.0));
        cut.retain(listed);
        cut
    }

    /// The structure over the fewest salts that are enough, of the first part that has as many values.
    fn salts(&self, s: &Structure, of: Excess, fill: f64) -> Option<(i64, Structure)> {
        let least = self.salt.as_ref().map_or(2, |(_, n)| *n);
        let more = salt_counts().filter(|n| *n > least);
        let counts: Vec<i64> = std::iter::once(least).chain(more).collect();
        self.hashed(of).into_iter().find_map(|part| {
            let mut cut = counts.iter().map(|n| (*n, salted(s, &part, *n)));
            cut.find(|(_, cut)| self.fits(cut, of, fill))
        })
    }

    /// What salts can be made of, the best first: what they are made of now, then what a row of the
    /// structure is told apart by. A row of a group is divided only by what its key does not say,
    /// as the key of the instance.
    fn hashed(&self, of: Excess) -> Vec<Expr> {
        let scope = Scope::new(self.model, self.s.anchor, &self.s.over);
        let own = key_paths(self.model, self.s.anchor);
        // A hash of null is null, and no get finds that.
        let told = |e: &&Expr| !scope.type_of(self.model, &[], e).1;
        let ordered = self.s.clustering.iter().map(|(e, _)| e).filter(told);
        let (first, rest): (Vec<&Expr>, Vec<&Expr>) = match self.s.kind {
            Kind::Lists => ordered.partition(|e| own.contains(e)),
            Kind::Groups => {
                let apart = own.iter().filter(|e| !self.s.key().any(|part| part == *e));
                let divides = of.writes || of.reads;
                (ordered.collect(), apart.filter(|_| divides).collect())
            }
        };
        let kept = self.salt.iter().map(|(of, _)| of);
        let mut out: Vec<Expr> = Vec::new();
        for part in kept.chain(first).chain(rest) {
            if !out.contains(part) {
                out.push(part.clone());
            }
        }
        out
    }

    /// Whether the structure fills no more than that of the limits.
    fn fits(&self, s: &Structure, of: Excess, fill: f64) -> bool {
        (!of.sizes || self.holds(s, fill))
            && (!of.writes || self.takes(s, fill))
            && (!of.reads || self.serves(s, fill))
    }

    fn holds(&self, s: &Structure, fill: f64) -> bool {
        let rows = self.stats.largest(s).rows;
        let held = contents(&self.stats, s, rows, regular(&self.stats, s));
        let extents = self.target.layout.extents(&held);
        self.target.limits.hold(rows, extents, fill)
    }

    fn takes(&self, s: &Structure, fill: f64) -> bool {
        let limit = self.target.limits.partition_writes;
        let writers = self.heat.iter().flat_map(|heat| &heat.writers);
        let units: f64 = writers.map(|(by, units)| units * self.left(by, s)).sum();
        limit.is_none_or(|l| units <= l.per_second * fill)
    }

    /// A question gathers all pieces, so what divides the writes leaves its reads as they are.
    fn serves(&self, s: &Structure, fill: f64) -> bool {
        let limit = self.target.limits.partition_reads;
        let asked = self.heat.iter().flat_map(|heat| &heat.readers);
        let asked: f64 = asked.map(|(_, units)| units).sum();
        let changes = self.heat.iter().flat_map(|heat| &heat.changes);
        let units = changes.map(|(by, units)| {
            let divided = self.divided.contains(by);
            units * if divided { self.left(by, s) } else { 1.0 }
        });
        limit.is_none_or(|l| asked + units.sum::<f64>() <= l.per_second * fill)
    }

    /// How much of what a change does to the hottest partition is left of it in the structure divided
    /// like this.
    fn left(&self, by: &str, s: &Structure) -> f64 {
        let effects = effects(&self.stats, by);
        let units =
            |s: &Structure| self.hottest(s, &effects) * write_units(&self.stats, self.target, s);
        let before = units(self.s);
        if before > 0.0 { units(s) / before } else { 1.0 }
    }

    fn hottest(&self, s: &Structure, effects: &[(f64, Effect)]) -> f64 {
        Flows::new(&self.stats, s, effects).hottest(&self.stats, s)
    }

    /// Parts of a partition key as they are written.
    fn written(&self, parts: &[Expr]) -> String {
        let printer = Printer::of_structure(self.model, self.s);
        let part = |e: &Expr| match e {
            // The time in a key is not spelled out.
            Expr::Call(width, args) if width.rounds_time() => match args.as_slice() {
                [Expr::Call(Function::Time, of)] => {
                    key_part(&printer, &Expr::Call(*width, of.clone()))
                }
                _ => key_part(&printer, e),
            },
            _ => key_part(&printer, e),
        };
        parts.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}

/// What a change does, once a second: also that which nobody writes.
pub(super) fn effects(stats: &Stats, name: &str) -> Vec<(f64, Effect)> {
    let model = stats.model;
    let effects = if let Some(change) = model.changes.iter().find(|c| c.name == name) {
        let found = change::finds(change).into_iter();
        let found: Vec<_> = found.map(|(e, filter)| stats.found(e, filter)).collect();
        change::effects(stats, change, &found)
    } else {
        let mut expiring = model.expiring().map(|(root, _)| root);
        let root = expiring.find(|root| expiry::name(model, *root) == name);
        root.map_or(vec![], |root| expiry::effects(stats, root))
    };
    effects.into_iter().map(|effect| (1.0, effect)).collect()
}
