//! Which candidates a target's limits leave: those whose partitions stay within them, and where they
//! do not, the ways of spreading that bring them there.

use super::change::Effect;
use super::options::Planner;
use super::popular_key::Wish;
use super::shape::{ShapeId, field_paths, is_identity, key_paths};
use super::sizes::{Flows, contents, regular, write_units};
use super::spread::{FILL, WIDTHS, bucketed, directory, everything, salt_counts, salted, unspread};
use super::target::Columns;
use super::{ATTEMPTS, Design, Options};
use crate::model::{Expr, Function, Split};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What presses on partitions, as far as it is known while candidates are made: which columns a
/// candidate will keep is decided last, so a design that breaks a limit teaches the next attempt.
#[derive(Debug, Default)]
pub(crate) struct Pressure {
    /// What changes do, each with its rate; empty where rates are weights.
    pub(crate) effects: Vec<(f64, Effect)>,
    /// What earlier attempts have shown.
    pub(crate) learned: Learned,
    /// Columns of structures that are too large with them, met in this attempt.
    refused: RefCell<Vec<(Structure, Vec<Expr>)>>,
    /// Keys that would have to be split, met in this attempt.
    wishes: RefCell<Vec<Wish>>,
    /// Which candidates are too large with which of their columns, as far as it was asked.
    oversize: RefCell<HashMap<(ShapeId, Vec<usize>), bool>>,
    /// What flows into structures, as far as it was asked for.
    flows: RefCell<BTreeMap<Structure, Flows>>,
}

impl Pressure {
    pub(super) fn wish(&self, wish: Wish) {
        self.wishes.borrow_mut().push(wish);
    }

    pub(super) fn wishes(&self) -> Vec<Wish> {
        self.wishes.borrow().clone()
    }
}

/// Which columns press on structures, named by what they are before they are spread, and which
/// keys are to be split.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    pub(super) splits: Vec<Split>,
    /// So many of them, the first, a person has given.
    pub(super) given: usize,
    /// Their capacities are what a design needs: none is made smaller for a plan that reads more.
    pub(super) settled: bool,
    /// Designs made so far, and attempts that ended before they were solved because a limit refused
    /// something.
    pub(super) attempts: usize,
    refusals: usize,
    columns: BTreeMap<Structure, Vec<Expr>>,
    /// Those that broke a limit in a design: they are not offered as they are any more.
    broken: BTreeSet<Structure>,
}

impl Learned {
    /// Adds columns with which a structure is too large; true where that is news.
    fn add(&mut self, unspread: &Structure, columns: &[Expr]) -> bool {
        let known = self.columns.entry(unspread.clone()).or_default();
        let before = known.len();
        for column in columns {
            if !known.contains(column) {
                known.push(column.clone());
            }
        }
        known.len() > before
    }

    /// Adds what an attempt shows: the columns that kept a plan out of it, and those of structures
    /// whose partitions break a limit. True where that is news.
    pub(crate) fn from(&mut self, attempt: &Planner, design: &Design) -> bool {
        let mut news = self.refused(attempt);
        let model = attempt.model;
        for s in &design.structures {
            let about = |w: &super::Finding| w.structure == s.name && w.of_a_partition();
            if design.warnings.iter().any(about) {
                let unspread = unspread(model, s);
                news |= self.add(&unspread, &s.columns);
                news |= self.broken.insert(unspread);
            }
        }
        news
    }

    /// Takes in what an attempt has shown before it is solved; true where that is news: whatever is
    /// chosen from it is to be chosen again from more.
    pub(super) fn early(&mut self, attempt: &Planner, options: &Options) -> bool {
        // A design that may lose facts has no home for the numbers of sub-partitions.
        if !options.lossy && self.wishes(attempt) {
            return true;
        }
        let refused = self.refusals < ATTEMPTS && self.refused(attempt);
        self.refusals += usize::from(refused);
        refused
    }

    /// Takes in with which columns a limit refused candidates to plans; true where that is news.
    pub(super) fn refused(&mut self, attempt: &Planner) -> bool {
        let mut news = false;
        for (unspread, columns) in attempt.pressure.refused.borrow().iter() {
            news |= self.add(unspread, columns);
        }
        news
    }
}

fn with_columns(s: &Structure, columns: Vec<Expr>) -> Structure {
    Structure {
        columns,
        ..s.clone()
    }
}

impl Planner<'_> {
    /// The structure itself where its partitions stay within the target's limits, else the ways of
    /// spreading it that do; itself again where nothing helps (the design then warns).
    pub(crate) fn fitting(&self, s: Structure) -> Vec<Structure> {
        if self.fits(&s, 1.0) {
            return vec![s];
        }
        // The columns that are known to press on it are those of any plan. A plan that reads fewer
        // needs fewer pieces, which it pays for with every answer: which is cheapest, price decides.
        let whole = unspread(self.model, &s);
        let broken = self.pressure.learned.broken.contains(&whole);
        let fewer = (!broken).then(Vec::new);
        let columns: Vec<Vec<Expr>> = std::iter::once(self.pressing(&s)).chain(fewer).collect();
        let mut out = self.cut(&s, &columns, FILL);
        out.extend(self.popular_keys_split(&s));
        if out.is_empty() {
            // Without head room, but within the limit.
            out = self.cut(&s, &columns, 1.0);
        }
        // With fewer columns than are known to press on it, it may still do as it is.
        if out.is_empty() || !broken && self.holds(&with_columns(&s, vec![]), 1.0) {
            out.push(s);
        }
        out
    }

    /// The structure cut into buckets and salts whose partitions fill no more than that of the limits
    /// with each of these lists of columns.
    fn cut(&self, s: &Structure, columns: &[Vec<Expr>], fill: f64) -> Vec<Structure> {
        let mut out = Vec::new();
        for columns in columns {
            // Of the buckets those that need the fewest salts, of these the widest.
            let cut = self.listed(s).into_iter();
            let cut = cut.filter_map(|s| self.over_salts(&s, 1, columns, fill));
            let cut = cut.min_by_key(|(salts, _)| *salts);
            for (_, cut) in cut.into_iter().chain(self.over_salts(s, 2, columns, fill)) {
                if !out.contains(&cut) {
                    out.push(cut);
                }
            }
        }
        out
    }

    /// Whether a candidate's largest partition is beyond the target's limits where it keeps these
    /// columns. Where that is for the columns, the next attempt will offer it spread.
    ///
    /// It is asked of every plan. The answer stays the same as long as the planner does: neither keys
    /// nor columns of a candidate change their places, and nothing is learned meanwhile.
    pub(crate) fn oversize(&self, shape: ShapeId, columns: Vec<usize>) -> bool {
        if !self.target.limits.of_partitions() {
            return false;
        }
        let asked = (shape, columns);
        if let Some(&known) = self.pressure.oversize.borrow().get(&asked) {
            return known;
        }
        let oversize = self.outgrows(shape, &asked.1);
        self.pressure.oversize.borrow_mut().insert(asked, oversize);
        oversize
    }

    fn outgrows(&self, shape: ShapeId, columns: &[usize]) -> bool {
        let s = self.shapes.get(shape);
        let kept: Vec<Expr> = columns
            .iter()
            .filter_map(|&c| s.columns.get(c).cloned())
            .collect();
        let rows = self.largest_of(shape);
        let kept_so = with_columns(s, kept.clone());
        let oversize = !self.holds_just(&kept_so, rows, 1.0) || !self.keeps_pace(&kept_so, 1.0);
        if oversize && !s.clustering.is_empty() && self.holds(&with_columns(s, vec![]), 1.0) {
            let mut refused = self.pressure.refused.borrow_mut();
            refused.push((unspread(self.model, s), kept));
        }
        oversize
    }

    /// Whether a structure's partitions fill no more than that of the limits, with the columns
    /// that are known to press on them.
    pub(super) fn fits(&self, s: &Structure, fill: f64) -> bool {
        self.fits_keeping(s, &self.pressing(s), fill)
    }

    /// The same with these columns.
    pub(super) fn fits_keeping(&self, s: &Structure, columns: &[Expr], fill: f64) -> bool {
        self.holds(&with_columns(s, columns.to_vec()), fill)
    }

    /// The columns that are known to press on a structure.
    pub(super) fn pressing(&self, s: &Structure) -> Vec<Expr> {
        let known = &self.pressure.learned.columns;
        let learned = known.get(&unspread(self.model, s));
        learned.cloned().unwrap_or_default()
    }

    fn holds(&self, s: &Structure, fill: f64) -> bool {
        self.holds_with(s, self.stats.largest(s).rows, fill) && self.keeps_pace(s, fill)
    }

    /// Whether partitions of so many rows do, of a structure that keeps its columns or, until more is
    /// known of it, what it is assumed to keep.
    pub(super) fn holds_with(&self, s: &Structure, rows: f64, fill: f64) -> bool {
        let (known, assumed) = (regular(&self.stats, s), self.assumed(s));
        let columns = Columns {
            count: assumed.count.max(known.count),
            bytes: assumed.bytes.max(known.bytes),
        };
        self.has_room(s, rows, columns, fill)
    }

    /// The same of a structure that keeps its columns and no others.
    pub(super) fn holds_just(&self, s: &Structure, rows: f64, fill: f64) -> bool {
        self.has_room(s, rows, regular(&self.stats, s), fill)
    }

    /// Whether partitions of so many rows stay within the limits of sizes.
    fn has_room(&self, s: &Structure, rows: f64, columns: Columns, fill: f64) -> bool {
        let limits = &self.target.limits;
        if !limits.of_partitions() {
            return true;
        }
        let held = contents(&self.stats, s, rows, columns);
        limits.hold(rows, self.target.layout.extents(&held), fill)
    }

    /// Whether the hottest partition is written no more often than that of the limit.
    pub(super) fn keeps_pace(&self, s: &Structure, fill: f64) -> bool {
        let limit = self.target.limits.partition_writes;
        limit.is_none_or(|l| self.hot_units(s) <= l.per_second * fill)
    }

    /// The columns that a candidate is taken to keep until a design shows more: a home all that
    /// is not in its key.
    fn assumed(&self, s: &Structure) -> Columns {
        let count = if is_identity(self.model, s) {
            let fields = self.stats.value_fields(s.anchor).into_iter();
            let paths = fields.flat_map(|f| field_paths(self.model, f));
            paths.filter(|p| !s.key().any(|e| e == p)).count()
        } else {
            0
        };
        Columns {
            count: count as f64,
            bytes: match s.kind {
                Kind::Lists => self.home_width(s.anchor),
                Kind::Groups => 0.0,
            },
        }
    }

    /// Write units a second of a structure's hottest partition.
    fn hot_units(&self, s: &Structure) -> f64 {
        let whole = Structure {
            columns: s.columns.clone(),
            ..unspread(self.model, s)
        };
        let mut known = self.pressure.flows.borrow_mut();
        let flows = known
            .entry(whole)
            .or_insert_with_key(|s| Flows::new(&self.stats, s, &self.pressure.effects));
        flows.hottest(&self.stats, s) * write_units(&self.stats, self.target, s)
    }

    /// The structure cut into buckets of each width whose directory fits, the widest first.
    fn listed(&self, s: &Structure) -> Vec<Structure> {
        let fits = |cut: &Structure| {
            let directory = directory(self.model, cut);
            directory.is_some_and(|d| self.fits(&d, 1.0))
        };
        bucketed(self.model, s).into_iter().filter(fits).collect()
    }

    /// A structure of everything in order of its first key part, a time: in one partition, or in
    /// buckets, salts or both where that would be too large or too hot. It is read from its earliest
    /// time on, which needs no directory.
    pub(crate) fn in_order_of_time(&self, mut s: Structure) -> Structure {
        if !self.fits(&s, 1.0) {
            s = self.in_pieces_of_time(&s).unwrap_or(s);
        }
        if s.partition.is_empty() && self.target.capabilities.partition_required {
            s.partition.push(everything());
        }
        s
    }

    /// The same cut so that it fits: into those buckets that need the fewest salts, of these the
    /// widest, or into salts alone where none need fewer.
    fn in_pieces_of_time(&self, s: &Structure) -> Option<Structure> {
        let (time, _) = s.clustering.first()?;
        let bucket = |width: Function| {
            let mut cut = s.clone();
            cut.partition.push(Expr::Call(width, vec![time.clone()]));
            cut
        };
        let cut: Vec<Structure> = std::iter::once(s.clone())
            .chain(WIDTHS.map(bucket))
            .collect();
        let pressing = self.pressing(s);
        let fewest = |fill: f64| {
            let salted = cut.iter();
            let salted = salted.filter_map(|s| self.over_salts(s, 1, &pressing, fill));
            salted.min_by_key(|(salts, _)| *salts)
        };
        let found = fewest(FILL).or_else(|| fewest(1.0));
        found.map(|(_, cut)| cut)
    }

    /// The structure over the fewest salts that fit with these columns, at least so many (1: as it
    /// is).
    fn over_salts(
        &self,
        s: &Structure,
        least: i64,
        columns: &[Expr],
        fill: f64,
    ) -> Option<(i64, Structure)> {
        let fits = |s: &Structure| self.fits_keeping(s, columns, fill);
        if least <= 1 && fits(s) {
            return Some((1, s.clone()));
        }
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let own = key_paths(self.model, s.anchor);
        let mut hashed = s
            .clustering
            .iter()
            .map(|(e, _)| e)
            .filter(|e| match s.kind {
                Kind::Lists => own.contains(e),
                // A hash of null is null, and no get finds that.
                Kind::Groups => !scope.type_of(self.model, &[], e).1,
            });
        let cut = |of: &Expr, n: i64| {
            let cut = salted(s, of, n);
            fits(&cut).then_some((n, cut))
        };
        // The first part may have too few values to be spread by.
        hashed.find_map(|of| salt_counts().find_map(|n| cut(of, n)))
    }
}
