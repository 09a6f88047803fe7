//! What is worked out once of a candidate: how many rows it has, and how many values its key parts.
//! The same few are asked for by thousands of partial plans.

use super::Planner;
use crate::design::shape::ShapeId;
use crate::design::spread::unspread;
use crate::design::stats::rows_each;
use crate::model::Expr;
use crate::view::Structure;
use crate::view::typing::Scope;
use std::cell::RefCell;
use std::collections::HashMap;

/// Figures of candidates, whose keys never change.
#[derive(Debug, Default)]
pub(super) struct Measured {
    rows: RefCell<HashMap<ShapeId, f64>>,
    largest: RefCell<HashMap<ShapeId, f64>>,
    widths: RefCell<HashMap<ShapeId, f64>>,
    values: RefCell<HashMap<(ShapeId, u64), f64>>,
    plain: RefCell<HashMap<ShapeId, ShapeId>>,
    plains: RefCell<HashMap<Structure, ShapeId>>,
}

impl Planner<'_> {
    /// How many rows a candidate has.
    pub(in crate::design) fn rows_of(&self, shape: ShapeId) -> f64 {
        let measured = || self.stats.rows(self.shapes.get(shape));
        *(self.measured.rows.borrow_mut().entry(shape)).or_insert_with(measured)
    }

    /// Rows of a candidate's largest partition.
    pub(in crate::design) fn largest_of(&self, shape: ShapeId) -> f64 {
        let measured = || self.stats.largest(self.shapes.get(shape)).rows;
        *(self.measured.largest.borrow_mut().entry(shape)).or_insert_with(measured)
    }

    /// The first candidate that is the same but for how its partitions are spread.
    pub(super) fn plain_of(&self, shape: ShapeId) -> ShapeId {
        if self.shapes.is_part(shape) {
            return shape;
        }
        let measured = || {
            let plain = unspread(self.model, self.shapes.get(shape));
            *(self.measured.plains.borrow_mut().entry(plain)).or_insert(shape)
        };
        *(self.measured.plain.borrow_mut().entry(shape)).or_insert_with(measured)
    }

    /// Bytes of a row as it is priced before its columns are known: of a home all that it may keep,
    /// of others the key.
    pub(super) fn width_of(&self, shape: ShapeId) -> f64 {
        let measured = || {
            let s = self.shapes.get(shape);
            if self.shapes.all.get(shape).is_some_and(|s| s.identity) {
                return self.kept_width(shape);
            }
            let scope = Scope::new(self.model, s.anchor, &s.over);
            s.key().map(|e| self.stats.bytes(&scope, e).avg).sum()
        };
        *(self.measured.widths.borrow_mut().entry(shape)).or_insert_with(measured)
    }

    /// How many values the key parts of a candidate have together that are marked by their bits.
    pub(super) fn values_of(&self, shape: ShapeId, parts: u64) -> f64 {
        let measured = || {
            let s = self.shapes.get(shape);
            let marked = |i: &usize| *i < 64 && parts & (1 << i) != 0;
            let exprs = s.key().enumerate().filter(|(i, _)| marked(i));
            self.stats.values_in(s, exprs.map(|(_, e)| e))
        };
        *(self.measured.values.borrow_mut().entry((shape, parts))).or_insert_with(measured)
    }

    /// Rows per value of the key parts that are marked by their bits.
    pub(super) fn rows_per_of(&self, shape: ShapeId, parts: u64) -> f64 {
        let whole = parts.count_ones() as usize == self.shapes.get(shape).key_len();
        rows_each(self.rows_of(shape), self.values_of(shape, parts), whole)
    }
}

/// The bits of the first key parts that are of a kind.
pub(super) fn marked(parts: &[Expr], of: impl Fn(&Expr) -> bool) -> u64 {
    let bits = parts.iter().enumerate().take(64);
    let bits = bits.filter(|(_, e)| of(e)).map(|(i, _)| 1 << i);
    bits.fold(0, |all, bit: u64| all | bit)
}
