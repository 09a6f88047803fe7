//! Popular keys: a partition of which most are small and few are large is split where it is large,
//! at run time, into sub-partitions of a proven capacity.
//!
//! The number of the sub-partition is a fact of the row ([`crate::model::Split`]), so a split
//! structure is a list like any other: `author.id, @split | …`. Its directory, groups of
//! `author.id | @split`, is the table of totals: the hidden count of a group is how full that
//! sub-partition is. An insert reads it and takes the first with room; a question reads it and then
//! merges the sub-partitions that it lists, which for most keys is one.

use super::access::Access;
use super::fit::Learned;
use super::options::Planner;
use super::shape::{Requirement, ShapeId, skeleton};
use super::spread::{FILL, directory, spread, unspread};
use super::stats::{Extent, Stats};
use super::{Design, Options, StructureId, parts, select::Home};
use crate::model::{AttributeId, EntityId, Expr, Leaf, Model, Split, own};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};
use std::collections::BTreeMap;

/// What is split by the number that a key part is, if it is one.
pub fn split_by<'m>(model: &'m Model, part: &Expr) -> Option<&'m Split> {
    match part {
        Expr::Path {
            node: 0,
            steps,
            leaf: Leaf::Attribute(attribute, path),
            ..
        } if steps.is_empty() && path.is_empty() => model.split(*attribute),
        _ => None,
    }
}

/// What is split by a number in a structure's key: the structure itself, or its table of totals.
pub fn split_of<'m>(model: &'m Model, s: &Structure) -> Option<&'m Split> {
    s.key().find_map(|part| split_by(model, part))
}

/// The table of totals of what is split: how many rows each sub-partition holds.
pub fn totals<'m>(model: &'m Model, s: &Structure) -> Option<&'m Split> {
    split_of(model, s).filter(|split| {
        let [(part, _)] = s.clustering.as_slice() else {
            return false;
        };
        s.kind == Kind::Groups
            && s.filter.is_empty()
            && s.partition == split.partition
            && *part == split.number()
    })
}

/// How much larger sub-partitions must be able to be for the design to be made once more.
const LARGER: f64 = 1.25;

/// What is learnt where a structure would fit if its popular keys were split.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    entity: EntityId,
    partition: Vec<Expr>,
    capacity: u64,
    average: f64,
    most: f64,
}

impl Planner<'_> {
    /// The structure with its popular keys split; none where that cannot be, or not yet: the model
    /// must have the number first, and the capacity be small enough for this structure too.
    pub(super) fn popular_keys_split(&self, s: &Structure) -> Option<Structure> {
        let plain = s.kind == Kind::Lists && s.over.is_empty() && s.filter.is_empty();
        let owned = |part: &Expr| own(self.model, s.anchor, part).is_some();
        // What others say may change behind the back of the instance that was numbered.
        if !plain || s.partition.is_empty() || !s.partition.iter().all(owned) {
            return None;
        }
        let pressed = Structure {
            columns: self.pressing(s),
            ..s.clone()
        };
        // No split divides what is written now.
        let capacity = self.capacity(s, |rows| self.holds_with(&pressed, rows, FILL))?;
        if !self.keeps_pace(&pressed, 1.0) {
            return None;
        }
        let mut splits = self.model.splits.iter();
        let known = splits.find(|x| x.entity == s.anchor && x.partition == s.partition);
        // What is settled is settled for the columns that a design has kept: plans that read more
        // are held against the limits like all others.
        let settled = |x: &&Split| !self.pressure.learned.may_split_further(x);
        let settled = known.filter(settled);
        let fitting = settled.or_else(|| known.filter(|x| x.capacity <= capacity));
        let Some(split) = fitting else {
            self.pressure.wish(self.wish(s, capacity));
            return None;
        };
        let mut cut = s.clone();
        cut.partition.push(split.number());
        let rows = self.stats.largest(&cut).rows;
        let listed = directory(self.model, &cut).is_some_and(|d| self.fits(&d, 1.0));
        let fits = match settled {
            Some(_) => self.holds_just(&cut, rows, 1.0) && self.keeps_pace(&cut, 1.0),
            None => self.fits(&cut, 1.0),
        };
        (listed && fits).then_some(cut)
    }

    /// Rows of the largest partition that leaves head room; none where no number of rows does.
    fn capacity(&self, s: &Structure, leaves_room: impl Fn(f64) -> bool) -> Option<u64> {
        let (mut fits, mut beyond) = (0, self.stats.largest(s).rows as u64 + 1);
        while fits + 1 < beyond {
            let middle = fits.midpoint(beyond);
            if leaves_room(middle as f64) {
                fits = middle;
            } else {
                beyond = middle;
            }
        }
        (fits > 0).then_some(fits)
    }

    fn wish(&self, s: &Structure, capacity: u64) -> Wish {
        let sub_partitions = sub_partitions(self.stats, s, capacity);
        Wish {
            entity: s.anchor,
            partition: s.partition.clone(),
            capacity,
            average: sub_partitions.avg,
            most: sub_partitions.max,
        }
    }

    /// What candidates cannot be without: where one of these is built, of each of its lists one
    /// must be kept. A number has a home, and is given by the totals.
    pub(super) fn companions(&mut self) -> BTreeMap<ShapeId, Vec<Vec<Home>>> {
        let mut out: BTreeMap<ShapeId, Vec<Vec<Home>>> = BTreeMap::new();
        for shape in 0..self.shapes.all.len() {
            let s = self.shapes.get(shape).clone();
            let Some(split) = split_of(self.model, &s) else {
                continue;
            };
            let identity = |shape: &ShapeId| {
                let other = self.shapes.all.get(*shape);
                other.is_some_and(|o| o.identity && o.structure.anchor == s.anchor)
            };
            let homes: Vec<ShapeId> = (0..self.shapes.all.len()).filter(identity).collect();
            let kept = homes.into_iter().filter_map(|home| {
                let (_, column) = self.shapes.column(home, &split.number())?;
                Some(vec![column])
            });
            let kept = kept.collect();
            let mut needed = vec![self.given_first(kept)];
            if directory(self.model, &s).is_some() {
                let totals = self.known_directory(&s).into_iter();
                let built = |shape| {
                    let column = None;
                    vec![Requirement { shape, column }]
                };
                needed.push(totals.map(built).collect());
            }
            out.insert(shape, needed);
        }
        for (part, needed) in parts::companions(self) {
            out.entry(part).or_default().extend(needed);
        }
        out
    }
}

/// How many sub-partitions a key has, of a structure that is not split yet.
fn sub_partitions(stats: Stats, s: &Structure, capacity: u64) -> Extent {
    let partition: Vec<&Expr> = s.partition.iter().collect();
    let rows = Extent {
        avg: stats.rows_per(s, &partition),
        max: stats.largest(s).rows,
    };
    // Only what fills those before it opens another: n rows are in ceil(n / capacity) of them.
    let max = (rows.max / capacity as f64).ceil().max(1.0);
    let avg = 1.0 + (rows.avg - 1.0).max(0.0) / capacity as f64;
    Extent {
        avg: avg.min(max),
        max,
    }
}

/// Gives a split its capacity, and what follows from it: how many sub-partitions a key has.
fn set_capacity(split: &mut Split, stats: Stats, capacity: u64) {
    let (model, partition) = (stats.model, split.partition.clone());
    let (over, filter) = (&[], &[]);
    let lists = Kind::Lists;
    let s = skeleton(model, split.entity, over, filter, partition, vec![], lists);
    let counted = sub_partitions(stats, &s, capacity);
    (split.average, split.most) = (counted.avg, counted.max);
    split.capacity = capacity;
}

/// How many sub-partitions a row's key has, on average over the rows: changes go where the rows
/// are, so a popular key counts as often as it has rows. `s` is the table of totals.
pub(super) fn met(stats: &Stats, s: &Structure, split: &Split) -> f64 {
    let partition: Vec<&Expr> = s.partition.iter().collect();
    let scope = Scope::new(stats.model, s.anchor, &s.over);
    let keys = stats.values(&scope, partition.iter().copied());
    let share = stats.share(s, &partition);
    let others = (split.average * keys - split.most) / (keys - 1.0).max(1.0);
    let others = others.clamp(1.0, split.average.max(1.0));
    share * split.most + (1.0 - share) * others
}

impl Learned {
    /// What is known at the start: what a person's schema splits, which stays as it was given.
    pub(super) fn given(model: &Model, options: &Options) -> Learned {
        let mut learned = Learned::default();
        if let Some(schema) = &options.given {
            learned.splits.clone_from(&schema.splits);
            learned.given = schema.splits.len();
        }
        for split in &mut learned.splits {
            let capacity = split.capacity;
            set_capacity(split, options.target.stats(model), capacity);
        }
        learned
    }

    /// Takes in what candidates ask to be split; true where that is news.
    pub(super) fn wishes(&mut self, planner: &Planner) -> bool {
        let mut news = false;
        for wish in planner.pressure.wishes() {
            let same = |s: &Split| s.entity == wish.entity && s.partition == wish.partition;
            let at = self.splits.iter().position(same);
            let known = at.and_then(|at| self.splits.get_mut(at));
            let enough = |s: &&mut Split| s.capacity <= wish.capacity;
            if at.is_some_and(|at| at < self.given) || known.as_ref().is_some_and(enough) {
                continue;
            }
            news = true;
            let split = Split {
                entity: wish.entity,
                attribute: AttributeId(u32::MAX),
                partition: wish.partition,
                capacity: wish.capacity,
                average: wish.average,
                most: wish.most,
            };
            match known {
                Some(known) => *known = split,
                None => self.splits.push(split),
            }
        }
        // A schema that is printed and read again numbers them alike.
        if let Some(learned) = self.splits.get_mut(self.given..) {
            learned.sort_by(Split::in_order);
        }
        news
    }
}

impl Learned {
    /// Whether the capacity of a split may still be lowered: not where it was settled before.
    fn may_split_further(&self, split: &Split) -> bool {
        let known = |s: &Split| s.entity == split.entity && s.partition == split.partition;
        !self.settled && self.splits.iter().any(known)
    }

    /// The same with the largest capacities that leave head room with the columns that a design
    /// keeps, which are settled; none where they are about what they were. Sub-partitions were made
    /// as small as any plan might need.
    pub(super) fn roomier(&self, planner: &Planner, design: &Design) -> Option<Learned> {
        let mut roomier = self.clone();
        roomier.settled = true;
        let mut news = false;
        let learned = roomier.splits.iter_mut().skip(self.given);
        for split in learned {
            let same = |s: &&Split| s.entity == split.entity && s.partition == split.partition;
            let number = planner.model.splits.iter().find(same)?.number();
            let of_it = |s: &&Structure| s.partition.last() == Some(&number);
            let capacity = |s: &Structure| {
                let whole = Structure {
                    columns: s.columns.clone(),
                    ..unspread(planner.model, s)
                };
                planner.capacity(&whole, |rows| planner.holds_just(&whole, rows, FILL))
            };
            let users = design.structures.iter().filter(of_it);
            let Some(capacity) = users.filter_map(capacity).min() else {
                continue;
            };
            if capacity as f64 > split.capacity as f64 * LARGER {
                set_capacity(split, planner.stats, capacity);
                news = true;
            }
        }
        news.then_some(roomier)
    }
}

impl Design {
    /// Leaves out what was offered to be split and is not.
    pub(super) fn forget_unsplit(&mut self, model: &Model) {
        let used = |split: &Split| {
            let number = split.number();
            self.structures
                .iter()
                .any(|s| s.key().any(|e| *e == number))
        };
        let used: Vec<bool> = self.splits.iter().map(used).collect();
        let Some(first) = self.splits.first().map(|s| s.attribute.0) else {
            return;
        };
        let mut renamed = Vec::new();
        for (split, used) in self.splits.iter_mut().zip(used) {
            if used {
                let old = split.number();
                split.attribute = AttributeId(first + renamed.len() as u32);
                renamed.push((old, split.number()));
            } else {
                split.capacity = 0;
            }
        }
        self.splits.retain(|s| s.capacity > 0);
        for s in &mut self.structures {
            let clustering = s.clustering.iter_mut().map(|(e, _)| e);
            let values = s.partition.iter_mut().chain(clustering);
            for value in values.chain(&mut s.columns) {
                if let Some((_, new)) = renamed.iter().find(|(old, _)| old == value) {
                    *value = new.clone();
                }
            }
        }
        // The numbers have other names now.
        let model = self.model_of(model);
        let access = Access::new(&model, &self.structures);
        for (at, note) in self.notes.iter_mut().enumerate() {
            note.home_of = access.home_of(&model, at as StructureId);
        }
    }
}

/// Whether a structure's partitions are split.
pub(crate) fn is_split(model: &Model, s: &Structure) -> bool {
    spread(model, s).is_some_and(|spread| spread.split.is_some())
}
