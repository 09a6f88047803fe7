//! Selection: the cheapest set of candidates and columns, as an integer programme.
//!
//! Binary: `y` (a candidate is built) and `v` (a column is kept). Everything else follows from
//! them and is continuous: which plan option a statement takes, which reads a change makes (each
//! paid once, however many structures need it), where it finds referrers.

use super::change::{Effect, Hit, Need, Needs, Reading, finds_referrers};
use super::options::{PlanOption, Planner};
use super::shape::{Requirement, ShapeId};
use super::spread::{directory, spread};
use super::support::{Branch, branches};
use super::target::Support;
use crate::view::Kind;
use microlp::{
    ComparisonOp, LinearExpr, OptimizationDirection, Problem, SolutionStatus, SolveOptions,
    Variable,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A statement that reads: a question, or the find of an update or delete.
pub(crate) struct Reader {
    pub(crate) weight: f64,
    pub(crate) options: Vec<PlanOption>,
}

/// A change: its weight and effects, with the needs of its checks.
pub(crate) struct Writer {
    pub(crate) weight: f64,
    pub(crate) effects: Vec<(Effect, Needs)>,
}

/// What must be kept together to be a home: all scalars of a reference are in one structure.
pub(crate) type Home = Vec<Requirement>;

/// What is to be decided.
pub(crate) struct Programme<'p, 'm> {
    pub(crate) planner: &'p Planner<'m>,
    pub(crate) readers: &'p [Reader],
    pub(crate) writers: &'p [Writer],
    /// Of each class of facts at least one home must be kept.
    pub(crate) homes: Vec<Vec<Home>>,
    /// Candidates that must be built.
    pub(crate) forced: BTreeSet<ShapeId>,
    /// Branches that the solver tries before it gives the best design so far.
    pub(crate) nodes: u64,
    /// Any design instead of the cheapest, by this number.
    pub(crate) sample: Option<u64>,
    /// What candidates read, as far as it was asked for.
    pub(crate) readings: RefCell<BTreeMap<ShapeId, Rc<Reading>>>,
}

/// What was decided.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) shapes: BTreeMap<ShapeId, BTreeSet<usize>>,
    pub(crate) variables: usize,
    pub(crate) optimal: bool,
    pub(crate) gap: f64,
    /// In a sampled design, the option of each statement.
    pub(crate) picked: Option<Vec<usize>>,
}

impl Selection {
    pub(crate) fn has(&self, r: &Requirement) -> bool {
        match (self.shapes.get(&r.shape), r.column) {
            (Some(columns), Some(c)) => columns.contains(&c),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

/// Adds to the cost of each structure and column, so that of equal designs the one with fewer and
/// earlier ones is chosen.
const TIE: f64 = 1e-7;
/// Of more options than these for one statement, the cheapest and the last (those that require
/// least) are weighed.
const CHEAP: usize = 40;
const FRUGAL: usize = 10;
/// Designs closer to one another than this fraction count as equally cheap.
const GAP: f64 = 1e-6;

impl Programme<'_, '_> {
    /// Solves; none if no design meets the constraints.
    ///
    /// A design that takes every statement's cheapest option bounds the optimum from above, so an
    /// option that alone costs more than that design is in no cheapest one.
    pub(crate) fn solve(&self) -> Option<Selection> {
        let first = self.option_each();
        if self.sample.is_some() {
            return Some(first);
        }
        let bound = self.price(&first);
        let used = self.used(bound);
        let mut lp = Problem::new(OptimizationDirection::Minimize);
        let scale = self.scale();
        let mut y: BTreeMap<ShapeId, Variable> = BTreeMap::new();
        let mut v: BTreeMap<(ShapeId, usize), Variable> = BTreeMap::new();
        for (&shape, columns) in &used {
            let stored = self.stored_cost(shape, None);
            let tie = TIE * (1.0 + shape as f64 * 1e-3);
            let var = lp.add_binary_var(stored * scale + tie);
            if self.forced.contains(&shape) {
                lp.add_constraint([(var, 1.0)], ComparisonOp::Ge, 1.0);
            }
            y.insert(shape, var);
            for &column in columns {
                let stored = self.stored_cost(shape, Some(column));
                let tie = TIE * 0.1 * (1.0 + column as f64 * 1e-3);
                let var_column = lp.add_binary_var(stored * scale + tie);
                lp.add_constraint([(var_column, 1.0), (var, -1.0)], ComparisonOp::Le, 0.0);
                v.insert((shape, column), var_column);
            }
        }
        let at = |r: &Requirement| match r.column {
            None => y.get(&r.shape).copied(),
            Some(c) => v.get(&(r.shape, c)).copied(),
        };
        for homes in &self.homes {
            let mut any = LinearExpr::empty();
            for home in homes {
                let parts: Option<Vec<Variable>> = home.iter().map(at).collect();
                match parts.as_deref() {
                    None => {}
                    Some([part]) => any.add(*part, 1.0),
                    Some(parts) => {
                        let all = lp.add_var(0.0, (0.0, 1.0));
                        any.add(all, 1.0);
                        for &part in parts {
                            lp.add_constraint([(all, 1.0), (part, -1.0)], ComparisonOp::Le, 0.0);
                        }
                    }
                }
            }
            lp.add_constraint(any, ComparisonOp::Ge, 1.0);
        }
        for reader in self.readers {
            let mut any = LinearExpr::empty();
            for option in reader.within(bound) {
                let x = lp.add_var(reader.weight * option.cost * scale + TIE * 1e-2, (0.0, 1.0));
                any.add(x, 1.0);
                for r in &option.requires {
                    lp.add_constraint([(x, 1.0), (at(r)?, -1.0)], ComparisonOp::Le, 0.0);
                }
            }
            lp.add_constraint(any, ComparisonOp::Ge, 1.0);
        }
        for writer in self.writers {
            for (effect, checks) in &writer.effects {
                self.add_effect(&mut lp, writer.weight, scale, effect, checks, &used, &y, &v);
            }
        }
        let structures = self.planner.target.limits.structures as f64;
        lp.add_constraint(
            y.values().map(|&x| (x, 1.0)).collect::<Vec<_>>(),
            ComparisonOp::Le,
            structures,
        );
        let mut limits = SolveOptions::default();
        limits.node_limit = Some(self.nodes);
        limits.mip_gap = GAP;
        let Some(solution) = lp
            .solve_with(limits)
            .ok()
            .and_then(|o| o.into_solution().ok())
        else {
            return bound.is_finite().then_some(first);
        };
        let gap = solution.gap().unwrap_or(0.0);
        let optimal = solution.status() == SolutionStatus::Optimal || gap <= GAP;
        let mut shapes: BTreeMap<ShapeId, BTreeSet<usize>> = BTreeMap::new();
        for (&shape, &var) in &y {
            if solution.var_value(var) > 0.5 {
                shapes.insert(shape, BTreeSet::new());
            }
        }
        for (&(shape, column), &var) in &v {
            if solution.var_value(var) > 0.5 {
                shapes.entry(shape).or_default().insert(column);
            }
        }
        Some(Selection {
            shapes,
            variables: y.len() + v.len(),
            optimal,
            gap,
            picked: None,
        })
    }

    /// Every statement's cheapest option (or any, where a design is sampled), whatever it takes,
    /// and all homes.
    fn option_each(&self) -> Selection {
        let pick = |(i, r): (usize, &Reader)| match self.sample {
            None => 0,
            Some(seed) => {
                (seed
                    .wrapping_add(i as u64)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    >> 33) as usize
                    % r.options.len().max(1)
            }
        };
        let picked: Vec<usize> = self.readers.iter().enumerate().map(pick).collect();
        let mut shapes: BTreeMap<ShapeId, BTreeSet<usize>> = BTreeMap::new();
        let options = self
            .readers
            .iter()
            .zip(&picked)
            .filter_map(|(r, &i)| r.options.get(i));
        let homes = self.homes.iter().filter_map(|h| h.first()).flatten();
        for r in options.flat_map(|o| &o.requires).chain(homes) {
            shapes.entry(r.shape).or_default().extend(r.column);
        }
        for &shape in &self.forced {
            shapes.entry(shape).or_default();
        }
        if self.support_each() {
            self.first_support(&mut shapes);
        }
        Selection {
            shapes,
            variables: 0,
            optimal: false,
            gap: 1.0,
            picked: self.sample.map(|_| picked),
        }
    }

    /// Adds what the first way of every support read requires.
    fn first_support(&self, shapes: &mut BTreeMap<ShapeId, BTreeSet<usize>>) {
        loop {
            let mut more: BTreeSet<Requirement> = BTreeSet::new();
            for (&shape, columns) in &*shapes {
                self.each_branch(shape, &mut |branch| {
                    if let (true, Some(way)) = (branch.read(columns), branch.ways.first()) {
                        more.extend(way.required(columns));
                    }
                });
            }
            if !extend(shapes, more) {
                return;
            }
        }
    }

    /// The support reads of a candidate, for all that changes.
    fn each_branch(&self, shape: ShapeId, each: &mut dyn FnMut(&Branch)) {
        let reading = self.reading(shape);
        for (effect, _) in self.writers.iter().flat_map(|w| &w.effects) {
            for (route, hit) in reading.hits(&self.planner.stats, effect) {
                for branch in &branches(self.planner, shape, effect, &route, &hit) {
                    each(branch);
                }
            }
        }
    }

    /// Candidates and columns that anything can use; the others are never worth building.
    pub(super) fn used(&self, bound: f64) -> BTreeMap<ShapeId, BTreeSet<usize>> {
        let mut used: BTreeMap<ShapeId, BTreeSet<usize>> = BTreeMap::new();
        let required = self
            .readers
            .iter()
            .flat_map(|r| r.within(bound))
            .flat_map(|o| &o.requires);
        for r in required.chain(self.homes.iter().flatten().flatten()) {
            let columns = used.entry(r.shape).or_default();
            columns.extend(r.column);
        }
        for &shape in &self.forced {
            used.entry(shape).or_default();
        }
        if self.support_each() {
            self.add_support(&mut used);
            return used;
        }
        for shape in 0..self.planner.shapes.all.len() {
            if self.finds_any_need(shape) {
                used.entry(shape).or_default();
            }
        }
        used
    }

    fn support_each(&self) -> bool {
        self.planner.target.cost.rules.support != Support::Shared
    }

    /// What the support reads of those candidates can use, and those of these, and so on.
    fn add_support(&self, used: &mut BTreeMap<ShapeId, BTreeSet<usize>>) {
        loop {
            let mut more: BTreeSet<Requirement> = BTreeSet::new();
            for (&shape, columns) in &*used {
                self.each_branch(shape, &mut |branch| {
                    more.extend(branch.ways.iter().flat_map(|w| w.required(columns)));
                });
            }
            if !extend(used, more) {
                return;
            }
        }
    }

    /// Whether a change may look for referrers in this candidate.
    fn finds_any_need(&self, shape: ShapeId) -> bool {
        let s = self.planner.shapes.get(shape);
        s.kind == Kind::Lists
            && s.over.is_empty()
            && s.clustering
                .iter()
                .all(|(e, _)| super::shape::key_paths(self.planner.model, s.anchor).contains(e))
            && (0..self.planner.model.references.len() as u32)
                .map(crate::model::ReferenceId)
                .any(|r| self.planner.referrer_finder(shape, r).is_some())
            && !self.writers.is_empty()
    }

    /// Brings costs to a range that the solver likes.
    fn scale(&self) -> f64 {
        let best = self.readers.iter().map(|r| {
            r.weight
                * r.options
                    .iter()
                    .map(|o| o.cost)
                    .fold(f64::INFINITY, f64::min)
        });
        let total: f64 = best.filter(|c| c.is_finite()).sum();
        if total > 0.0 { 100.0 / total } else { 1.0 }
    }

    fn stored_cost(&self, shape: ShapeId, column: Option<usize>) -> f64 {
        let s = self.planner.shapes.get(shape);
        let stats = &self.planner.stats;
        let scope = crate::view::typing::Scope::new(self.planner.model, s.anchor, &s.over);
        let bytes: f64 = match column {
            None => s.key().map(|e| stats.bytes(&scope, e).avg).sum(),
            Some(c) => s.columns.get(c).map_or(0.0, |e| stats.bytes(&scope, e).avg),
        };
        stats.rows(s) * bytes * self.planner.target.cost.stored_byte
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the programme's tables, passed along once"
    )]
    fn add_effect(
        &self,
        lp: &mut Problem,
        weight: f64,
        scale: f64,
        effect: &Effect,
        checks: &Needs,
        used: &BTreeMap<ShapeId, BTreeSet<usize>>,
        y: &BTreeMap<ShapeId, Variable>,
        v: &BTreeMap<(ShapeId, usize), Variable>,
    ) {
        let cost = &self.planner.target.cost;
        let stats = &self.planner.stats;
        let weight = weight * scale;
        let mut reads: BTreeMap<Need, NeedVar> = BTreeMap::new();
        for (need, &n) in checks {
            let var = self.need_var(lp, &mut reads, weight, need, n, y);
            lp.add_constraint([(var, 1.0)], ComparisonOp::Ge, 1.0);
        }
        for (&shape, columns) in used {
            let Some(&built) = y.get(&shape) else {
                continue;
            };
            let reading = self.reading(shape);
            for (route, hit) in reading.hits(stats, effect) {
                let hitting = hit
                    .columns
                    .iter()
                    .filter_map(|&c| v.get(&(shape, c)).copied());
                let hitting: Vec<Variable> = hitting.collect();
                if !hit.key && hitting.is_empty() {
                    continue;
                }
                // u: the structure is written along this route.
                let u = if hit.key {
                    built
                } else {
                    let u = lp.add_var(0.0, (0.0, 1.0));
                    for kept in hitting {
                        lp.add_constraint([(u, 1.0), (kept, -1.0)], ComparisonOp::Ge, 0.0);
                    }
                    u
                };
                let price = weight * self.hit_cost(&hit);
                let w = lp.add_var(price, (0.0, 1.0));
                lp.add_constraint([(w, 1.0), (u, -1.0)], ComparisonOp::Ge, 0.0);
                if self.support_each() {
                    for branch in branches(self.planner, shape, effect, &route, &hit) {
                        add_branch(lp, weight, shape, &branch, u, y, v);
                    }
                    continue;
                }
                for (need, n) in reading.key_needs(stats, effect, &route, &hit) {
                    let var = self.need_var(lp, &mut reads, weight, &need, n, y);
                    lp.add_constraint([(var, 1.0), (u, -1.0)], ComparisonOp::Ge, 0.0);
                }
                // A row that is written is evaluated and written as a whole.
                for &column in columns {
                    let Some(&kept) = v.get(&(shape, column)) else {
                        continue;
                    };
                    let both = |var| {
                        if hit.key || hit.columns.contains(&column) {
                            (vec![(var, 1.0), (kept, -1.0)], 0.0)
                        } else {
                            (vec![(var, 1.0), (u, -1.0), (kept, -1.0)], -1.0)
                        }
                    };
                    for (need, n) in reading.column_needs(stats, effect, &route, &hit, column) {
                        let var = self.need_var(lp, &mut reads, weight, &need, n, y);
                        let (terms, least) = both(var);
                        lp.add_constraint(terms, ComparisonOp::Ge, least);
                    }
                    let bytes = weight * hit.puts * self.width(shape, column) * cost.write_byte;
                    if bytes > 0.0 {
                        let (terms, least) = both(lp.add_var(bytes, (0.0, 1.0)));
                        lp.add_constraint(terms, ComparisonOp::Ge, least);
                    }
                }
            }
        }
    }

    /// What a candidate reads, worked out once.
    fn reading(&self, shape: ShapeId) -> Rc<Reading> {
        let mut known = self.readings.borrow_mut();
        let reading = known.entry(shape).or_insert_with(|| {
            Rc::new(Reading::new(
                &self.planner.stats,
                self.planner.shapes.get(shape),
            ))
        });
        Rc::clone(reading)
    }

    /// Rows written along one route, columns' bytes left out.
    fn hit_cost(&self, hit: &Hit) -> f64 {
        let cost = &self.planner.target.cost;
        hit.puts * cost.insert
            + hit.deletes * cost.delete
            + hit.read_first * (cost.partition + cost.row)
    }

    fn width(&self, shape: ShapeId, column: usize) -> f64 {
        let s = self.planner.shapes.get(shape);
        let scope = crate::view::typing::Scope::new(self.planner.model, s.anchor, &s.over);
        s.columns
            .get(column)
            .map_or(0.0, |e| self.planner.stats.bytes(&scope, e).avg)
    }

    /// The price of a selection, by definition: what the programme minimises, ties apart.
    pub(crate) fn price(&self, selection: &Selection) -> f64 {
        let mut total = 0.0;
        for (&shape, columns) in &selection.shapes {
            total += self.stored_cost(shape, None);
            total += columns
                .iter()
                .map(|&c| self.stored_cost(shape, Some(c)))
                .sum::<f64>();
        }
        for reader in self.readers {
            total += reader.weight * reader.best(selection).map_or(f64::INFINITY, |o| o.cost);
        }
        for writer in self.writers {
            for (effect, checks) in &writer.effects {
                let prices = self.effect_prices(selection, effect, checks);
                total += writer.weight
                    * (prices.reads.values().map(|r| r.cost).sum::<f64>()
                        + prices.writes.values().map(|w| w.cost).sum::<f64>());
            }
        }
        total
    }

    /// What one effect reads and writes under a selection.
    pub(crate) fn effect_prices(
        &self,
        selection: &Selection,
        effect: &Effect,
        checks: &Needs,
    ) -> EffectPrices {
        let cost = &self.planner.target.cost;
        let stats = &self.planner.stats;
        let mut needs = checks.clone();
        let mut need = |need: Need, n: f64| {
            let known = needs.entry(need).or_insert(0.0);
            *known = known.max(n);
        };
        let mut supports: Vec<(Need, NeedPrice)> = Vec::new();
        let mut writes: BTreeMap<ShapeId, Write> = BTreeMap::new();
        for (&shape, columns) in &selection.shapes {
            let reading = self.reading(shape);
            for (route, hit) in reading.hits(stats, effect) {
                if !hit.key && hit.columns.is_disjoint(columns) {
                    continue;
                }
                let write = writes.entry(shape).or_default();
                write.puts += hit.puts;
                write.deletes += hit.deletes;
                write.rows_max += hit.rows_max;
                write.reads += hit.read_first;
                write.cost += self.hit_cost(&hit);
                if self.support_each() {
                    for branch in branches(self.planner, shape, effect, &route, &hit) {
                        if branch.read(columns) {
                            let way = branch.way(columns, &|r| selection.has(r));
                            let price = NeedPrice {
                                rows: way.map_or(0.0, |w| w.rows),
                                cost: way.map_or(f64::INFINITY, |w| w.cost),
                            };
                            let need = Need::Support(shape, route.clone(), branch.about);
                            supports.push((need, price));
                        }
                    }
                    continue;
                }
                for (n, count) in reading.key_needs(stats, effect, &route, &hit) {
                    need(n, count);
                }
                for &column in columns {
                    for (n, count) in reading.column_needs(stats, effect, &route, &hit, column) {
                        need(n, count);
                    }
                    write.cost += hit.puts * self.width(shape, column) * cost.write_byte;
                }
            }
        }
        let reads = needs.into_iter().map(|(need, n)| {
            let price = self.need_price(selection, &need, n);
            (need, price)
        });
        EffectPrices {
            reads: reads.chain(supports).collect(),
            writes,
        }
    }

    fn need_price(&self, selection: &Selection, need: &Need, n: f64) -> NeedPrice {
        let planner = self.planner;
        match need {
            Need::Values(_, entity) => NeedPrice {
                rows: n,
                cost: planner.values_cost(*entity, n),
            },
            Need::Unique(_) => NeedPrice {
                rows: n,
                cost: planner.read_cost(n, n, 16.0),
            },
            // Priced where its structure is at hand.
            Need::Support(..) => NeedPrice::default(),
            Need::Referrers(_, reference) => {
                let scan = NeedPrice {
                    rows: n * planner
                        .stats
                        .count(planner.model.reference(*reference).entity),
                    cost: planner.referrers_scan_cost(*reference, n),
                };
                let ways = selection.shapes.keys().filter_map(|&shape| {
                    let finder = planner.referrer_finder(shape, *reference)?;
                    let listed = |d| selection.shapes.contains_key(&d);
                    let found = finder.directory.is_none_or(listed);
                    found.then(|| NeedPrice {
                        rows: n * planner.stats.referrers(*reference).avg,
                        cost: planner.referrers_cost(*reference, n, &finder),
                    })
                });
                ways.fold(scan, |a, b| if b.cost < a.cost { b } else { a })
            }
        }
    }

    /// The variable of a read, made at its first mention with its largest count.
    fn need_var(
        &self,
        lp: &mut Problem,
        reads: &mut BTreeMap<Need, NeedVar>,
        weight: f64,
        need: &Need,
        n: f64,
        y: &BTreeMap<ShapeId, Variable>,
    ) -> Variable {
        if let Some(known) = reads.get(need)
            && known.count >= n
        {
            return known.variable;
        }
        let variable = match need {
            Need::Values(_, entity) => {
                lp.add_var(weight * self.planner.values_cost(*entity, n), (0.0, 1.0))
            }
            Need::Unique(_) => lp.add_var(weight * self.planner.read_cost(n, n, 16.0), (0.0, 1.0)),
            Need::Support(..) => lp.add_var(0.0, (0.0, 1.0)),
            Need::Referrers(_, reference) => {
                let variable = lp.add_var(0.0, (0.0, 1.0));
                let mut ways = LinearExpr::empty();
                ways.add(variable, -1.0);
                let scan = lp.add_var(
                    weight * self.planner.referrers_scan_cost(*reference, n),
                    (0.0, 1.0),
                );
                ways.add(scan, 1.0);
                for (&shape, &built) in y {
                    let Some(finder) = self.planner.referrer_finder(shape, *reference) else {
                        continue;
                    };
                    let directory = finder.directory.map(|d| y.get(&d).copied());
                    if directory == Some(None) {
                        continue;
                    }
                    let price = self.planner.referrers_cost(*reference, n, &finder);
                    let way = lp.add_var(weight * price, (0.0, 1.0));
                    for needed in [Some(built), directory.flatten()].into_iter().flatten() {
                        lp.add_constraint([(way, 1.0), (needed, -1.0)], ComparisonOp::Le, 0.0);
                    }
                    ways.add(way, 1.0);
                }
                lp.add_constraint(ways, ComparisonOp::Ge, 0.0);
                variable
            }
        };
        reads.insert(need.clone(), NeedVar { variable, count: n });
        variable
    }
}

/// Adds what is required; false where it was there already.
fn extend(shapes: &mut BTreeMap<ShapeId, BTreeSet<usize>>, more: BTreeSet<Requirement>) -> bool {
    let mut grown = false;
    for r in more {
        grown |= !shapes.contains_key(&r.shape);
        let columns = shapes.entry(r.shape).or_default();
        grown |= r.column.is_some_and(|c| columns.insert(c));
    }
    grown
}

/// A support read of a structure that is written where `u` is: one of its ways is taken, and that
/// way's structures hold what the structure's columns need.
fn add_branch(
    lp: &mut Problem,
    weight: f64,
    shape: ShapeId,
    branch: &Branch,
    u: Variable,
    y: &BTreeMap<ShapeId, Variable>,
    v: &BTreeMap<(ShapeId, usize), Variable>,
) {
    let at = |r: &Requirement| match r.column {
        None => y.get(&r.shape).copied(),
        Some(c) => v.get(&(r.shape, c)).copied(),
    };
    let kept = |c: &usize| v.get(&(shape, *c)).copied();
    let Some(&built) = y.get(&shape) else { return };
    let mut any = LinearExpr::empty();
    for way in &branch.ways {
        let parts: Option<Vec<Variable>> = way.requires.iter().map(at).collect();
        let Some(parts) = parts else { continue };
        let x = lp.add_var(weight * way.cost, (0.0, 1.0));
        any.add(x, 1.0);
        for part in parts {
            lp.add_constraint([(x, 1.0), (part, -1.0)], ComparisonOp::Le, 0.0);
        }
        for (column, r) in &way.columns {
            let Some(kept) = kept(column) else { continue };
            let held = at(r).map(|held| (held, -1.0));
            if branch.ways.iter().all(|w| w.columns.get(column) == Some(r)) && u == built {
                // Whichever way is taken.
                lp.add_constraint([(kept, 1.0)].into_iter().chain(held), ComparisonOp::Le, 0.0);
            } else {
                let both = [(x, 1.0), (kept, 1.0)];
                lp.add_constraint(both.into_iter().chain(held), ComparisonOp::Le, 1.0);
            }
        }
    }
    // Any x at all, as far as it is needed.
    let mut needed = |terms: &[(Variable, f64)], least: f64| {
        let mut all = any.clone();
        terms.iter().for_each(|&(var, factor)| all.add(var, factor));
        lp.add_constraint(all, ComparisonOp::Ge, least);
    };
    if branch.key {
        needed(&[(u, -1.0)], 0.0);
    } else {
        for kept in branch.columns.iter().filter_map(kept) {
            // What is kept is built: where `u` says no more than that, `kept` implies it.
            if u == built {
                needed(&[(kept, -1.0)], 0.0);
            } else {
                needed(&[(u, -1.0), (kept, -1.0)], -1.0);
            }
        }
    }
}

impl Reader {
    /// The options that a design of at most this cost can take: of very many, the cheapest and
    /// those that require least.
    fn within(&self, bound: f64) -> impl Iterator<Item = &PlanOption> {
        let dear = self.options.len().saturating_sub(FRUGAL);
        self.options
            .iter()
            .enumerate()
            .filter(move |(i, o)| {
                *i == 0 || (self.weight * o.cost <= bound && (*i < CHEAP || *i >= dear))
            })
            .map(|(_, o)| o)
    }

    /// The option that a selection gives the statement at a position.
    pub(crate) fn settled(&self, at: usize, selection: &Selection) -> Option<&PlanOption> {
        match &selection.picked {
            Some(picked) => self.options.get(*picked.get(at)?),
            None => self.best(selection),
        }
    }

    /// The cheapest option that a selection allows.
    pub(crate) fn best(&self, selection: &Selection) -> Option<&PlanOption> {
        let allowed = self
            .options
            .iter()
            .filter(|o| o.requires.iter().all(|r| selection.has(r)));
        allowed.min_by(|a, b| a.cost.total_cmp(&b.cost))
    }
}

/// What an effect costs: reads by need, writes by structure.
pub(crate) struct EffectPrices {
    pub(crate) reads: BTreeMap<Need, NeedPrice>,
    pub(crate) writes: BTreeMap<ShapeId, Write>,
}

/// What a read of a change costs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NeedPrice {
    pub(crate) rows: f64,
    pub(crate) cost: f64,
}

/// Rows that an effect writes to one structure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Write {
    pub(crate) puts: f64,
    pub(crate) deletes: f64,
    pub(crate) rows_max: f64,
    /// Rows read before they are written.
    pub(crate) reads: f64,
    pub(crate) cost: f64,
}

/// How referrers are found: gets for one instance, and the directory that lists where.
struct Finder {
    gets: f64,
    directory: Option<ShapeId>,
}

struct NeedVar {
    variable: Variable,
    count: f64,
}

impl Planner<'_> {
    /// Reading instances by their keys.
    pub(crate) fn values_cost(&self, entity: crate::model::EntityId, n: f64) -> f64 {
        let c = &self.target.cost;
        let width: f64 = {
            let root = self.model.root(entity);
            root.fields.len() as f64 * 8.0
        };
        c.index + n * (c.partition + c.row + width * c.byte)
    }
    /// How a candidate finds the referrers of an instance, if it does.
    fn referrer_finder(
        &self,
        shape: ShapeId,
        reference: crate::model::ReferenceId,
    ) -> Option<Finder> {
        let s = self.shapes.get(shape);
        let ordered = self.target.capabilities.ordered_partitions;
        if finds_referrers(self.model, s, reference, ordered) {
            return Some(Finder {
                gets: 1.0,
                directory: None,
            });
        }
        let spread = spread(s)?;
        let paths = super::shape::reference_paths(self.model, reference);
        if spread.before > paths.len() || !finds_referrers(self.model, s, reference, true) {
            return None;
        }
        let mut finder = Finder {
            gets: spread.salts.unwrap_or(1) as f64,
            directory: None,
        };
        if spread.buckets.is_some() {
            let directory = self.shapes.known(&directory(s)?)?;
            let bound: Vec<_> = s.partition.iter().take(spread.before).collect();
            let present = self.stats.rows_per(self.shapes.get(directory), &bound);
            finder.gets = 1.0 + present.avg * finder.gets;
            finder.directory = Some(directory);
        }
        Some(finder)
    }
    /// Reading referrers through a structure that starts with the reference.
    fn referrers_cost(&self, reference: crate::model::ReferenceId, n: f64, finder: &Finder) -> f64 {
        let found = n * self.stats.referrers(reference).avg;
        self.read_cost(n * finder.gets, found, 16.0)
    }
    /// Reading referrers by reading everything.
    pub(crate) fn referrers_scan_cost(&self, reference: crate::model::ReferenceId, n: f64) -> f64 {
        let all = self.stats.count(self.model.reference(reference).entity);
        self.read_cost(n, n * all, 16.0)
    }
}
