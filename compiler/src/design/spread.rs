//! Spreading: a partition that would outgrow its target is cut by the last parts of its key: into
//! buckets of time, of which a directory is kept, or into salts, a hash of the row's own key, or
//! into buckets and these into salts, or where it is large into numbered sub-partitions
//! (`popular_key.rs`), of which a directory is kept too.
//!
//! A directory is a structure like any other (groups of the buckets that are present), maintained
//! by the same difference, so that "the latest ten" needs no lower bound: the buckets are walked
//! from the directory, newest first. Salts need none: all of them are read and merged.

use super::options::Planner;
use super::plan::Term;
use super::popular_key::split_by;
use super::shape::ShapeId;
use crate::model::{Direction, Expr, Function, Model, Split, Type};
use crate::value::Value;
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};

/// Widths of buckets, the widest first: the widest that fits is read with the fewest gets.
pub(super) const WIDTHS: [Function; 4] = [
    Function::Year,
    Function::Month,
    Function::Day,
    Function::Hour,
];
/// Salts of one partition, at most: every one of them is read for every answer.
const SALTS: i64 = 256;
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
            (Function::Hash, _) if spread.salts.is_none() && spread.buckets.is_none() => {
                let Some((_, salts)) = salt_of(part) else {
                    break;
                };
                spread.salts = Some(salts);
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

/// The salts of a key part, and what they are made of.
pub(super) fn salt_of(part: &Expr) -> Option<(&Expr, i64)> {
    match part {
        Expr::Call(Function::Hash, args) => match args.as_slice() {
            [of, Expr::Const(Value::Int(n))] => Some((of, *n)),
            _ => None,
        },
        _ => None,
    }
}

/// The parts of a partition key before its salts, where these stand last, and the salts.
pub fn salted_last(s: &Structure) -> (&[Expr], Option<(&Expr, i64)>) {
    let whole = s.partition.as_slice();
    match whole.split_last() {
        Some((last, before)) => match salt_of(last) {
            Some(salt) => (before, Some(salt)),
            None => (whole, None),
        },
        None => (whole, None),
    }
}

/// The structure over so many salts, which stand last.
pub(super) fn salted(s: &Structure, of: &Expr, salts: i64) -> Structure {
    let mut cut = s.clone();
    let salt = vec![of.clone(), Expr::Const(Value::Int(salts))];
    cut.partition.push(Expr::Call(Function::Hash, salt));
    cut
}

/// Numbers of salts, the fewest first.
pub(super) fn salt_counts() -> impl Iterator<Item = i64> {
    std::iter::successors(Some(2), |n| Some(n * 2)).take_while(|n| *n <= SALTS)
}

/// The structure in buckets of each width of the first time in its clustering key, the widest
/// first: those in which its rows stay in order, and which its partitions are not made of already.
pub(super) fn bucketed(model: &Model, s: &Structure) -> Vec<Structure> {
    let scope = Scope::new(model, s.anchor, &s.over);
    let timed = s.clustering.iter().find_map(|(part, _)| {
        let (ty, optional) = scope.type_of(model, &[], part);
        // No get finds a bucket of no time.
        let of = time_of(&ty, part).filter(|_| !optional)?;
        Some((part, ty, of))
    });
    let Some((part, ty, of)) = timed else {
        return vec![];
    };
    let cuts = |width: &Function| {
        let told = !(ty == Type::Date && *width == Function::Hour);
        let has = s.partition.iter().any(|p| bucket_follows(p, *width, &of));
        told && !has && bucket_follows(part, *width, &of)
    };
    let cut = |width: Function| {
        let mut cut = s.clone();
        cut.partition.push(Expr::Call(width, vec![of.clone()]));
        cut
    };
    WIDTHS.into_iter().filter(cuts).map(cut).collect()
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

/// Whether a key part is a rounding of a value: it does not fall while that rises.
pub(super) fn rises_with(part: &Expr, value: &Expr) -> bool {
    match part {
        Expr::Call(width, args) if width.rounds_time() => match args.as_slice() {
            [of] => bucket_follows(value, *width, of),
            _ => false,
        },
        _ => false,
    }
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
