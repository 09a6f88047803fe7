//! Spreading: a partition that would outgrow its target is cut by the last parts of its key: into
//! buckets of time, of which a directory is kept, or into salts, a hash of the row's own key, or
//! into buckets and these into salts, or where it is large into numbered sub-partitions
//! (`popular_key.rs`), of which a directory is kept too.
//!
//! A directory is a structure like any other (groups of the buckets that are present), maintained
//! by the same difference, so that "the latest ten" needs no lower bound: the buckets are walked
//! from the directory, newest first. Salts need none: all of them are read and merged.

use super::change::Effect;
use super::options::Planner;
use super::plan::Term;
use super::popular_key::{Wish, split_by};
use super::shape::{ShapeId, field_paths, is_identity, key_paths};
use super::sizes::{Flows, contents, regular, write_units};
use super::target::Columns;
use super::{ATTEMPTS, Design, Options};
use crate::model::{Direction, Expr, Function, Model, Split, Type};
use crate::value::Value;
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Widths of buckets, the widest first: the widest that fits is read with the fewest gets.
pub(super) const WIDTHS: [Function; 4] = [
    Function::Year,
    Function::Month,
    Function::Day,
    Function::Hour,
];
/// Salts of one partition, at most: every one of them is read for every answer.
pub(super) const SALTS: i64 = 256;
/// How much of a limit the largest partition of a spread structure may fill: time does not pass
/// evenly, and no hash is perfect.
pub(super) const FILL: f64 = 0.5;

/// How the last parts of a partition key spread the rows that share the parts before them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread<'s> {
    /// How many parts come before.
    pub before: usize,
    /// Over buckets: the time that is rounded down, and the width.
    pub buckets: Option<(Function, &'s Expr)>,
    /// Over so many salts.
    pub salts: Option<i64>,
    /// Over sub-partitions, as many as the key's rows take.
    pub split: Option<&'s Split>,
}

/// How a structure's partitions are spread, if they are.
pub fn spread<'s>(model: &'s Model, s: &'s Structure) -> Option<Spread<'s>> {
    let mut spread = Spread {
        before: s.partition.len(),
        split: s.partition.last().and_then(|part| split_by(model, part)),
        ..Spread::default()
    };
    if spread.split.is_some() {
        spread.before -= 1;
        return Some(spread);
    }
    for part in s.partition.iter().rev() {
        let Expr::Call(function, args) = part else {
            break;
        };
        match (function, args.as_slice()) {
            (Function::Hash, [_, Expr::Const(Value::Int(n))])
                if spread.salts.is_none() && spread.buckets.is_none() =>
            {
                spread.salts = Some(*n);
            }
            (width, [of]) if WIDTHS.contains(width) && spread.buckets.is_none() => {
                spread.buckets = Some((*width, of));
            }
            _ => break,
        }
        spread.before -= 1;
    }
    (spread.before < s.partition.len()).then_some(spread)
}

/// The structure that knows which buckets or sub-partitions of another one are present.
pub fn directory(model: &Model, s: &Structure) -> Option<Structure> {
    let spread = spread(model, s)?;
    if spread.buckets.is_none() && spread.split.is_none() {
        return None;
    }
    let (before, after) = s.partition.split_at_checked(spread.before)?;
    let piece = after.first()?;
    Some(Structure {
        name: String::new(),
        anchor: s.anchor,
        over: s.over.clone(),
        filter: s.filter.clone(),
        partition: before.to_vec(),
        clustering: vec![(piece.clone(), Direction::Asc)],
        kind: Kind::Groups,
        columns: vec![],
        hashed: vec![],
    })
}

impl Planner<'_> {
    /// The candidate that knows which pieces of a structure are present. One that was given may
    /// list them in either order, and may have a constant where the structure has nothing.
    pub(super) fn known_directory(&self, s: &Structure) -> Option<ShapeId> {
        let wanted = directory(self.model, s)?;
        self.shapes.known(&wanted).or_else(|| {
            let lists = |d: &Structure| {
                let parts = |s: &Structure| s.clustering.iter().map(|(e, _)| e.clone()).collect();
                let (pieces, of): (Vec<Expr>, Vec<Expr>) = (parts(d), parts(&wanted));
                d.anchor == wanted.anchor
                    && d.over == wanted.over
                    && d.filter == wanted.filter
                    && d.kind == wanted.kind
                    && pieces == of
                    && varying(&d.partition).eq(varying(&wanted.partition))
            };
            let mut all = self.shapes.all.iter();
            all.position(|shape| lists(&shape.structure))
        })
    }

    /// The same, with its partition key: from the values of the parts before the pieces.
    pub(super) fn directory_of(
        &self,
        s: &Structure,
        before: &[Term],
    ) -> Option<(ShapeId, Vec<Term>)> {
        let directory = self.known_directory(s)?;
        let mut values = s.partition.iter().zip(before);
        let mut next = || {
            let (_, value) = values.find(|(part, _)| !matches!(part, Expr::Const(_)))?;
            Some(value.clone())
        };
        let partition = self.shapes.get(directory).partition.iter();
        let eq = partition.map(|part| match part {
            Expr::Const(value) => Some(Term::Const(value.clone())),
            _ => next(),
        });
        Some((directory, eq.collect::<Option<_>>()?))
    }

    /// Whether the pieces of a structure must be listed: an ordered target reads all buckets by a
    /// prefix of the key, but an insert into what is split asks for the totals on every target.
    pub(super) fn needs_directory(&self, s: &Structure) -> bool {
        let ordered = self.target.capabilities.ordered_partitions;
        spread(self.model, s).is_some_and(|spread| spread.split.is_some() || !ordered)
    }

    /// A directory for pieces that were given without one.
    pub(super) fn directory_for(&self, s: &Structure) -> Option<Structure> {
        let capabilities = &self.target.capabilities;
        let missing = self.needs_directory(s) && self.known_directory(s).is_none();
        let mut directory = directory(self.model, s).filter(|_| missing)?;
        if directory.partition.is_empty() && capabilities.partition_required {
            directory.partition.push(everything());
        }
        Some(directory)
    }
}

/// The parts of a key that are not the same for all rows.
fn varying(parts: &[Expr]) -> impl Iterator<Item = &Expr> {
    parts.iter().filter(|e| !matches!(e, Expr::Const(_)))
}

/// The key part of a constant: where a target must have a partition key and nothing is bound, all
/// rows share one partition.
pub(crate) fn everything() -> Expr {
    Expr::Const(Value::Int(0))
}

/// Whether rows in the order of a key part are also in the order of a bucket: the bucket is a
/// coarser rounding of the same time.
pub(crate) fn bucket_follows(part: &Expr, width: Function, of: &Expr) -> bool {
    let finer = |f: &Function| {
        let at = |f: &Function| WIDTHS.iter().position(|w| w == f).unwrap_or(WIDTHS.len());
        at(f) >= at(&width)
    };
    part == of
        || matches!(of, Expr::Call(Function::Time, args) if args.as_slice() == [part.clone()])
        || matches!(part, Expr::Call(f, args)
            if f.rounds_time() && finer(f) && args.as_slice() == [of.clone()])
}

/// The time inside a key part: what its buckets are made of.
pub(super) fn time_of(ty: &Type, part: &Expr) -> Option<Expr> {
    match (ty, part) {
        (Type::Timestamp | Type::Date, Expr::Call(f, args)) if f.rounds_time() => {
            args.first().cloned()
        }
        (Type::Timestamp | Type::Date, _) => Some(part.clone()),
        (Type::TimeUuid, _) => Some(Expr::Call(Function::Time, vec![part.clone()])),
        _ => None,
    }
}

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

/// The structure before it was spread, columns left open.
pub(super) fn unspread(model: &Model, s: &Structure) -> Structure {
    let before = spread(model, s).map_or(s.partition.len(), |s| s.before);
    Structure {
        name: String::new(),
        partition: s.partition.iter().take(before).cloned().collect(),
        columns: vec![],
        hashed: vec![],
        ..s.clone()
    }
}

/// The structure in the narrowest buckets that its key has a time for: what they do not bring down
/// none do.
pub(super) fn narrowest(model: &Model, s: &Structure) -> Option<Structure> {
    let (part, ty, of) = time_in(model, s)?;
    let widths = WIDTHS.into_iter().rev();
    let mut widths = widths.filter(|width| fits_time(&ty, *width));
    let width = widths.find(|width| bucket_follows(part, *width, &of))?;
    let mut cut = s.clone();
    cut.partition.push(Expr::Call(width, vec![of]));
    Some(cut)
}

/// The first time in a structure's clustering key, its type, and what buckets of it are made of.
fn time_in<'s>(model: &Model, s: &'s Structure) -> Option<(&'s Expr, Type, Expr)> {
    let scope = Scope::new(model, s.anchor, &s.over);
    s.clustering.iter().find_map(|(part, _)| {
        let (ty, optional) = scope.type_of(model, &[], part);
        // No get finds a bucket of no time.
        let of = time_of(&ty, part).filter(|_| !optional)?;
        Some((part, ty, of))
    })
}

fn fits_time(ty: &Type, width: Function) -> bool {
    !(matches!(ty, Type::Date) && width == Function::Hour)
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
            let cut = self.bucketed(s).into_iter();
            let cut = cut.filter_map(|s| self.salted(&s, 1, columns, fill));
            let cut = cut.min_by_key(|(salts, _)| *salts);
            for (_, cut) in cut.into_iter().chain(self.salted(s, 2, columns, fill)) {
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
        let within = |size: f64, limit: Option<f64>| limit.is_none_or(|l| size <= l * fill);
        let held = contents(&self.stats, s, rows, columns);
        let extents = self.target.layout.extents(&held);
        within(rows, limits.partition_rows)
            && within(extents.values, limits.partition_values)
            && within(extents.bytes, limits.partition_bytes)
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
    fn bucketed(&self, s: &Structure) -> Vec<Structure> {
        let Some((part, ty, of)) = time_in(self.model, s) else {
            return vec![];
        };
        let cut = |width: Function| {
            let mut cut = s.clone();
            cut.partition.push(Expr::Call(width, vec![of.clone()]));
            let listed = directory(self.model, &cut).is_some_and(|d| self.fits(&d, 1.0));
            (bucket_follows(part, width, &of) && listed).then_some(cut)
        };
        WIDTHS
            .into_iter()
            .filter(|width| fits_time(&ty, *width))
            .filter_map(cut)
            .collect()
    }

    /// A structure of everything in order of its first key part, a time: in one partition, or in
    /// buckets where that would be too large. It is read from its earliest time on, which needs no
    /// directory.
    pub(crate) fn in_order_of_time(&self, mut s: Structure) -> Structure {
        let Some((time, _)) = s.clustering.first().cloned() else {
            return s;
        };
        if !self.fits(&s, 1.0) {
            let cut = |width: Function| {
                let mut cut = s.clone();
                cut.partition.push(Expr::Call(width, vec![time.clone()]));
                self.fits(&cut, FILL).then_some(cut)
            };
            s = WIDTHS.into_iter().find_map(cut).unwrap_or(s);
        }
        if s.partition.is_empty() && self.target.capabilities.partition_required {
            s.partition.push(everything());
        }
        s
    }

    /// The structure over the fewest salts that fit with these columns, at least so many (1: as it
    /// is).
    fn salted(
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
            let mut cut = s.clone();
            let salt = vec![of.clone(), Expr::Const(Value::Int(n))];
            cut.partition.push(Expr::Call(Function::Hash, salt));
            fits(&cut).then_some((n, cut))
        };
        // The first part may have too few values to be spread by.
        hashed.find_map(|of| {
            let salts = std::iter::successors(Some(2), |n| Some(n * 2));
            salts.take_while(|n| *n <= SALTS).find_map(|n| cut(of, n))
        })
    }
}
