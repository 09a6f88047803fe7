//! Spreading: a partition that would outgrow its target is cut by the last parts of its key: into
//! buckets of time, of which a directory is kept, or into salts, a hash of the row's own key, or
//! into buckets and these into salts.
//!
//! A directory is a structure like any other (groups of the buckets that are present), maintained
//! by the same difference, so that "the latest ten" needs no lower bound: the buckets are walked
//! from the directory, newest first. Salts need none: all of them are read and merged.

use super::options::Planner;
use super::shape::key_paths;
use super::target::Limits;
use crate::model::{Direction, Expr, Function, Type};
use crate::value::Value;
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};

/// Widths of buckets, the widest first: the widest that fits is read with the fewest gets.
const WIDTHS: [Function; 4] = [
    Function::Year,
    Function::Month,
    Function::Day,
    Function::Hour,
];
/// Salts of one partition, at most: every one of them is read for every answer.
const SALTS: i64 = 256;
/// How much of a limit the largest partition of a spread structure may fill: time does not pass
/// evenly, and no hash is perfect.
const FILL: f64 = 0.5;

/// How the last parts of a partition key spread the rows that share the parts before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread<'s> {
    /// How many parts come before.
    pub before: usize,
    /// Over buckets: the time that is rounded down, and the width.
    pub buckets: Option<(Function, &'s Expr)>,
    /// Over so many salts.
    pub salts: Option<i64>,
}

/// How a structure's partitions are spread, if they are.
pub fn spread(s: &Structure) -> Option<Spread<'_>> {
    let mut spread = Spread {
        before: s.partition.len(),
        ..Spread::default()
    };
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

/// The structure that knows which buckets of another one are present.
pub fn directory(s: &Structure) -> Option<Structure> {
    let spread = spread(s)?;
    spread.buckets?;
    let (before, after) = s.partition.split_at_checked(spread.before)?;
    let bucket = after.first()?;
    Some(Structure {
        name: String::new(),
        anchor: s.anchor,
        over: s.over.clone(),
        filter: s.filter.clone(),
        partition: before.to_vec(),
        clustering: vec![(bucket.clone(), Direction::Asc)],
        kind: Kind::Groups,
        columns: vec![],
        hashed: vec![],
    })
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
fn time_of(ty: &Type, part: &Expr) -> Option<Expr> {
    match (ty, part) {
        (Type::Timestamp | Type::Date, Expr::Call(f, args)) if f.rounds_time() => {
            args.first().cloned()
        }
        (Type::Timestamp | Type::Date, _) => Some(part.clone()),
        (Type::TimeUuid, _) => Some(Expr::Call(Function::Time, vec![part.clone()])),
        _ => None,
    }
}

impl Planner<'_> {
    /// The structure itself where its partitions stay within the target's limits, else the ways of
    /// spreading it that do; itself again where nothing helps (the design then warns).
    pub(crate) fn fitting(&self, s: Structure) -> Vec<Structure> {
        let limits = &self.target.limits;
        if self.fits(&s, limits, 1.0) {
            return vec![s];
        }
        let mut out: Vec<Structure> = Vec::new();
        let buckets = self.bucketed(&s);
        let within = |s: &&Structure| self.fits(s, limits, FILL);
        out.extend(buckets.iter().find(within).cloned());
        out.extend(self.salted(&s, limits));
        if out.is_empty() {
            // The narrowest buckets, each spread over salts.
            out.extend(buckets.last().and_then(|s| self.salted(s, limits)));
        }
        if out.is_empty() {
            out.push(s);
        }
        out
    }

    /// Whether a candidate's largest partition is beyond the target's limits.
    pub(crate) fn oversize(&self, shape: super::shape::ShapeId) -> bool {
        !self.fits(self.shapes.get(shape), &self.target.limits, 1.0)
    }

    fn fits(&self, s: &Structure, limits: &Limits, fill: f64) -> bool {
        let bound: Vec<&Expr> = s.partition.iter().collect();
        let rows = self.stats.rows_per(s, &bound).max;
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let key: f64 = s.key().map(|e| self.stats.bytes(&scope, e).avg).sum();
        let width = match s.kind {
            Kind::Lists => key + self.home_width(s.anchor),
            Kind::Groups => key,
        };
        let within = |size: f64, limit: Option<f64>| limit.is_none_or(|l| size <= l * fill);
        within(rows, limits.partition_rows) && within(rows * width, limits.partition_bytes)
    }

    /// The structure cut into buckets of each width whose directory fits, the widest first.
    fn bucketed(&self, s: &Structure) -> Vec<Structure> {
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let time = s.clustering.iter().find_map(|(part, _)| {
            let (ty, optional) = scope.type_of(self.model, &[], part);
            // No get finds a bucket of no time.
            let of = time_of(&ty, part).filter(|_| !optional)?;
            Some((part, ty, of))
        });
        let Some((part, ty, of)) = time else {
            return vec![];
        };
        let cut = |width: Function| {
            let mut cut = s.clone();
            cut.partition.push(Expr::Call(width, vec![of.clone()]));
            let listed = directory(&cut).is_some_and(|d| self.fits(&d, &self.target.limits, 1.0));
            (bucket_follows(part, width, &of) && listed).then_some(cut)
        };
        WIDTHS
            .into_iter()
            .filter(|width| !(matches!(ty, Type::Date) && *width == Function::Hour))
            .filter_map(cut)
            .collect()
    }

    /// A structure of everything in order of its first key part, a time: in one partition, or in
    /// buckets where that would be too large. It is read from its earliest time on, which needs no
    /// directory.
    pub(crate) fn in_order_of_time(&self, mut s: Structure) -> Structure {
        let limits = &self.target.limits;
        let Some((time, _)) = s.clustering.first().cloned() else {
            return s;
        };
        if !self.fits(&s, limits, 1.0) {
            let cut = |width: Function| {
                let mut cut = s.clone();
                cut.partition.push(Expr::Call(width, vec![time.clone()]));
                self.fits(&cut, limits, FILL).then_some(cut)
            };
            s = WIDTHS.into_iter().find_map(cut).unwrap_or(s);
        }
        if s.partition.is_empty() && self.target.capabilities.partition_required {
            s.partition.push(everything());
        }
        s
    }

    fn salted(&self, s: &Structure, limits: &Limits) -> Option<Structure> {
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let own = key_paths(self.model, s.anchor);
        let hashed = s.clustering.iter().map(|(e, _)| e).find(|e| match s.kind {
            Kind::Lists => own.contains(e),
            // A hash of null is null, and no get finds that.
            Kind::Groups => !scope.type_of(self.model, &[], e).1,
        })?;
        let cut = |n: i64| {
            let mut cut = s.clone();
            let salt = vec![hashed.clone(), Expr::Const(Value::Int(n))];
            cut.partition.push(Expr::Call(Function::Hash, salt));
            self.fits(&cut, limits, FILL).then_some(cut)
        };
        std::iter::successors(Some(2), |n| Some(n * 2))
            .take_while(|n| *n <= SALTS)
            .find_map(cut)
    }
}
