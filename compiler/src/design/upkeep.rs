//! Upkeep: what changes pay to keep a candidate and each of its columns true, whoever reads them.
//!
//! Of a large question few partial plans are followed, and those that are cheapest to read require
//! copies of everything. One that is dearer to read may be the only one that does without a copy
//! that changes all the time. So beside the cheapest to read those are followed that are cheapest
//! with all that they require.
//!
//! It decides what is looked at, and no price: homes cost nothing, since they are kept anyway, and
//! whatever else is required costs all of its upkeep, as if nobody else had a use for it.

use super::change::{Need, Needs};
use super::options::{Planner, Requires};
use super::price::Writing;
use super::select::{Programme, Writer};
use super::shape::{Requirement, ShapeId};
use super::support;
use crate::model::Expr;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What candidates cost to keep, as far as it was asked for, and what a plan of the statement at hand
/// weighs beside that.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    /// What changes do; nothing where nobody knows yet.
    pub(super) writers: Vec<Writer>,
    /// Whether every fact has a home, whoever reads it.
    pub(super) homes: bool,
    /// The weight of the statement at hand.
    pub(super) weight: f64,
    candidates: RefCell<HashMap<ShapeId, Candidate>>,
    reads: RefCell<BTreeMap<Need, Price>>,
}

/// What a candidate costs to keep: its rows, and each of the columns that it had.
#[derive(Debug, Default)]
struct Candidate {
    rows: f64,
    columns: Vec<f64>,
}

/// What a read costs in its cheapest way: done once, and each time more.
#[derive(Clone, Copy, Debug)]
struct Price {
    once: f64,
    more: f64,
}

impl Planner<'_> {
    /// What a plan of the statement at hand costs with all that it requires.
    pub(super) fn with_upkeep(&self, cost: f64, requires: &Requires) -> f64 {
        let kept = requires.iter().map(|&r| self.upkeep_of(r));
        self.upkeep.weight * cost + kept.sum::<f64>()
    }

    fn upkeep_of(&self, r: Requirement) -> f64 {
        if self.upkeep.writers.is_empty() {
            return 0.0;
        }
        let mut known = self.upkeep.candidates.borrow_mut();
        let candidate = known.entry(r.shape).or_insert_with(|| self.kept(r.shape));
        if r.column.is_some_and(|c| c >= candidate.columns.len()) {
            *candidate = self.kept(r.shape);
        }
        match r.column {
            None => candidate.rows,
            Some(column) => candidate.columns.get(column).copied().unwrap_or_default(),
        }
    }

    fn kept(&self, shape: ShapeId) -> Candidate {
        let programme = Programme::of_changes(self, &self.upkeep.writers);
        let columns: BTreeSet<usize> = (0..self.shapes.get(shape).columns.len()).collect();
        let stored = columns
            .iter()
            .map(|&c| programme.stored_cost(shape, Some(c)));
        let mut out = Candidate {
            rows: programme.stored_cost(shape, None),
            columns: stored.collect(),
        };
        for writer in self.upkeep.writers.iter().filter(|w| w.weight > 0.0) {
            let effects = writer.effects.iter();
            for writing in effects.flat_map(|(e, _)| programme.writings_of(e, shape, &columns)) {
                let (rows, columns) = programme.written(&writing);
                out.rows += writer.weight * rows;
                for (column, cost) in columns {
                    let known = out.columns.get_mut(column);
                    known.into_iter().for_each(|k| *k += writer.weight * cost);
                }
            }
        }
        let identity = self.shapes.all.get(shape).is_some_and(|s| s.identity);
        if self.upkeep.homes && identity {
            out.rows = 0.0;
            let own =
                |column: &Expr| matches!(column, Expr::Path { steps, .. } if steps.is_empty());
            let columns = self.shapes.get(shape).columns.iter();
            for (cost, _) in out.columns.iter_mut().zip(columns).filter(|(_, c)| own(c)) {
                *cost = 0.0;
            }
        }
        out
    }
}

impl Programme<'_, '_> {
    /// What a writing costs for the rows of a candidate, and for each column that alone has it
    /// written or adds to it.
    fn written(&self, writing: &Writing) -> (f64, BTreeMap<usize, f64>) {
        let hit = &writing.hit;
        let whole = self.hit_cost(writing.shape, hit) + self.cheapest(&writing.needs);
        let mut columns: BTreeMap<usize, f64> = BTreeMap::new();
        let mut rows = 0.0;
        if hit.key {
            rows += whole;
        } else {
            columns.extend(hit.columns.iter().map(|&c| (c, whole)));
        }
        let kept = writing.kept.iter();
        for kept in kept.filter(|k| hit.key || hit.columns.contains(&k.column)) {
            let more = kept.cost + self.cheapest(&kept.needs);
            *columns.entry(kept.column).or_default() += more;
        }
        for branch in &writing.branches {
            let ways = branch.ways.iter().map(support::Way::cost);
            let read = ways.reduce(f64::min).unwrap_or_default();
            if branch.key {
                rows += read;
                continue;
            }
            for &column in &branch.columns {
                *columns.entry(column).or_default() += read;
            }
        }
        (rows, columns)
    }

    /// What reads cost, each in its cheapest way over all candidates.
    fn cheapest(&self, needs: &Needs) -> f64 {
        let of = |(need, &n): (&Need, &f64)| {
            let mut known = self.planner.upkeep.reads.borrow_mut();
            let price = known.entry(need.clone()).or_insert_with(|| {
                let ways = self.need_ways(need, 0..self.planner.shapes.all.len());
                let at = |n| {
                    let prices = ways.iter().map(|way| (way.price)(n).cost);
                    prices.reduce(f64::min).unwrap_or_default()
                };
                Price {
                    once: at(1.0),
                    more: at(2.0) - at(1.0),
                }
            });
            price.once + (n - 1.0) * price.more
        };
        needs.iter().map(of).sum()
    }
}
