//! Candidates of lists: those that a question about instances calls for.
//!
//! What it compares with `=` comes first, then the order that it asks for or a range; and one that
//! leaves out what no question of these constants asks for.

use super::Planner;
use super::atoms::{self, Mentions};
use super::orders::Asked;
use super::problem::{Eq, EqValue, ExistsBy, Problem, Way};
use crate::design::shape::{ShapeId, skeleton};
use crate::design::spread::everything;
use crate::model::{Compare, Direction, EntityId, Expr, Many, Model, Pred, Unfold};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure, elements};

impl Problem {
    /// Adds the candidates that this problem calls for.
    pub(super) fn grow(&self, planner: &mut Planner) {
        let one: Vec<&Eq> = self.eqs.iter().collect();
        let must: Vec<usize> = (0..one.len())
            .filter(|&i| one.get(i).is_some_and(|q| q.filter.is_none()))
            .collect();
        let free: Vec<usize> = (0..one.len()).filter(|i| !must.contains(i)).collect();
        for picked in subsets(&free) {
            let parts: Vec<Expr> = must
                .iter()
                .chain(&picked)
                .filter_map(|&i| one.get(i).map(|q| q.expr.clone()))
                .collect();
            self.grow_for(planner, &[], &[], &parts);
            for exists in &self.exists {
                self.grow_by(planner, &[], &parts, exists);
            }
        }
        if planner.target.cost.rules.partial {
            self.grow_partials(planner);
        }
    }

    /// Adds the candidates over the elements of an `exists` that begin with these parts and with
    /// what is known of them, of those instances that meet a filter.
    pub(super) fn grow_by(
        &self,
        planner: &mut Planner,
        filter: &[Pred],
        parts: &[Expr],
        exists: &ExistsBy,
    ) {
        // To instances a walk leads; elements have no structure of their own.
        let back = exists.over.iter().any(|u| matches!(u.many, Many::Back(_)));
        for way in exists.ways.iter().filter(|way| !(back && way.is_loose())) {
            let known = way.eqs.iter().map(|q| q.expr.clone());
            let parts: Vec<Expr> = parts.iter().cloned().chain(known).collect();
            let by = self.by(way);
            by.grow_for(planner, &exists.over, filter, &parts);
        }
    }

    /// Adds the candidates that leave rows out: by all conditions that compare with constants, which
    /// leave the fewest; by equalities alone, together and each, which are what several questions
    /// have in common; and where there are none, because what is equal to something is not null.
    /// Elements are found with all conditions only: there are many ways over paths.
    fn grow_partials(&self, planner: &mut Planner) {
        let fixed = self.holds.iter();
        let fixed = fixed.filter(|(_, p)| is_storable(planner.model, p));
        let all: Vec<Condition> = fixed.map(|(i, p)| (Some(*i), p.clone())).collect();
        if all.is_empty() {
            let present = self.not_null(planner);
            return self.grow_partial(planner, &present, &[]);
        }
        self.grow_partial(planner, &all, &self.exists);
        let equal = all.iter().filter(|(_, p)| is_equality(p)).cloned();
        let equal: Vec<Condition> = equal.collect();
        if equal.len() < all.len() {
            self.grow_partial(planner, &equal, &[]);
        }
        if equal.len() > 1 {
            for one in equal.iter().take(SHARED) {
                self.grow_partial(planner, std::slice::from_ref(one), &[]);
            }
        }
    }

    /// That what is compared with `=` or in a range is not null, where it may be. It makes no filter
    /// good.
    fn not_null(&self, planner: &Planner) -> Vec<Condition> {
        let scope = Scope::new(planner.model, self.entity, &[]);
        let may_be_null = |e: &Expr| scope.type_of(planner.model, &[], e).1;
        let asked = |q: &&Eq| matches!(q.value, EqValue::One(_)) && q.filter.is_some();
        let equal = self.eqs.iter().filter(asked).map(|q| &q.expr);
        let ranges = self.ranges.iter().filter(|r| !r.leads()).map(|r| &r.expr);
        let asked = equal.chain(ranges).filter(|e| may_be_null(e));
        let present = |e: &Expr| Pred::Not(Box::new(Pred::IsNull(e.clone())));
        asked.map(|e| (None, present(e))).collect()
    }

    /// Adds candidates of just those instances for which some conditions hold, if there are any,
    /// also over the elements of these `exists`: fewer rows, and fewer writes.
    fn grow_partial(&self, planner: &mut Planner, conditions: &[Condition], over: &[ExistsBy]) {
        if conditions.is_empty() {
            return;
        }
        let made_good = |i: Option<usize>| i.is_some() && conditions.iter().any(|(at, _)| *at == i);
        let rest = Problem {
            eqs: (self.eqs.iter().filter(|q| !made_good(q.filter)))
                .cloned()
                .collect(),
            ranges: (self.ranges.iter())
                .filter(|r| r.sides().any(|(_, i)| !made_good(*i)))
                .cloned()
                .collect(),
            exists: vec![],
            ..self.clone()
        };
        let filter: Vec<Pred> = conditions.iter().map(|(_, p)| p.clone()).collect();
        let parts: Vec<Expr> = rest.eqs.iter().map(|q| q.expr.clone()).collect();
        rest.grow_for(planner, &[], &filter, &parts);
        // On the way of a walk, instances are found in no order: what each of them refers to is copied
        // there for little, and the plans that do so crowd out others.
        let ordered = self.order.is_some();
        let back = |e: &ExistsBy| e.over.iter().any(|u| matches!(u.many, Many::Back(_)));
        let found = over.iter().filter(|e| !made_good(Some(e.filter)));
        for exists in found.filter(|e| ordered || !back(e)) {
            let with = Problem {
                exists: vec![exists.clone()],
                ..rest.clone()
            };
            with.grow_by(planner, &filter, &parts, exists);
        }
    }

    /// Whether rows in an order alone are worth passing over: conditions leave enough of them.
    fn is_broad(&self, planner: &Planner) -> bool {
        let scope = Scope::new(planner.model, self.entity, &[]);
        let values = planner
            .stats
            .values(&scope, self.eqs.iter().map(|q| &q.expr));
        self.exists.is_empty() && values <= BROAD
    }

    fn grow_for(&self, planner: &mut Planner, over: &[Unfold], filter: &[Pred], parts: &[Expr]) {
        let mut ways = self.exists.iter().flat_map(|e| &e.ways);
        let unbound = self.eqs.is_empty() && ways.all(Way::is_loose);
        let mut suffixes: Vec<Vec<(Expr, Direction)>> = vec![vec![]];
        if let Some(order) = self.order.as_ref().filter(|o| !o.is_empty()) {
            suffixes.push(order.clone());
        }
        for range in &self.ranges {
            let alone = vec![(range.expr.clone(), Direction::Asc)];
            if !suffixes
                .iter()
                .any(|s| s.first().map(|(e, _)| e) == Some(&range.expr))
            {
                suffixes.push(alone);
            }
        }
        let mut sorted = parts.to_vec();
        sorted.sort();
        sorted.dedup();
        let all = self.eqs.iter().all(|q| sorted.contains(&q.expr));
        let capabilities = planner.target.capabilities.clone();
        for suffix in suffixes {
            let asked = Asked {
                kind: Kind::Lists,
                entity: self.entity,
                over: over.to_vec(),
                filter: filter.to_vec(),
                equal: sorted.clone(),
                behind: suffix.clone(),
            };
            planner.note_asked(asked, all);
            for mut partition in partitions(&sorted, capabilities.ordered_partitions) {
                if partition.is_empty() && capabilities.partition_required {
                    let in_order = self.order.as_ref() == Some(&suffix) && !suffix.is_empty();
                    if !(unbound || in_order && self.is_broad(planner)) {
                        continue;
                    }
                    partition.push(everything());
                }
                let mut clustering: Vec<(Expr, Direction)> = sorted
                    .iter()
                    .filter(|e| !partition.contains(e))
                    .map(|e| (e.clone(), Direction::Asc))
                    .collect();
                clustering.extend(suffix.iter().cloned());
                add(planner, self.entity, over, filter, partition, clustering);
            }
        }
    }
}

impl Planner<'_> {
    /// Takes a candidate in, spread where a partition would outgrow the target, unless the target
    /// cannot hold it.
    pub(in crate::design) fn admit(&mut self, s: Structure) -> Vec<ShapeId> {
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let scalar = s
            .key()
            .all(|e| scope.type_of(self.model, &[], e).0.is_scalar());
        if !scalar
            || (s.kind == Kind::Groups
                && s.over.is_empty()
                && s.columns.is_empty()
                && !s.filter.is_empty())
        {
            return vec![];
        }
        self.spread_shapes(s)
    }
}

/// Adds one candidate.
pub(super) fn add(
    planner: &mut Planner,
    entity: EntityId,
    over: &[Unfold],
    filter: &[Pred],
    partition: Vec<Expr>,
    clustering: Vec<(Expr, Direction)>,
) {
    let model = planner.model;
    let lists = Kind::Lists;
    let s = skeleton(model, entity, over, filter, partition, clustering, lists);
    planner.admit(listed(model, s));
}

/// A list where its key determines the binding, else a group.
pub(super) fn listed(model: &Model, mut s: Structure) -> Structure {
    if !determines(model, &s) {
        s.kind = Kind::Groups;
    }
    s
}

/// A condition of a structure, and the filter that it makes good.
type Condition = (Option<usize>, Pred);

/// Where equalities leave one of so many rows or more, an order alone may find enough of them.
const BROAD: f64 = 32.0;

/// So many equalities with constants limit structures each alone.
const SHARED: usize = 3;

/// Whether a condition can limit which instances have a row: it compares what a row can have, or
/// elements of a collection of its own, with constants.
fn is_storable(model: &Model, pred: &Pred) -> bool {
    let mut found = Vec::new();
    atoms::of_pred(pred, &mut found);
    let plain = |e: &Expr| matches!(e, Expr::Path { element, .. } if element.is_empty());
    let m = Mentions::of_pred(pred);
    found.iter().all(plain)
        && !m.nodes.is_empty()
        && !m.params
        && of_own_elements(pred)
        && !elements::tests(model, pred)
}

/// Whether every `exists` of a condition is of elements that the instance itself holds.
fn of_own_elements(pred: &Pred) -> bool {
    match pred {
        Pred::And(list) | Pred::Or(list) => list.iter().all(of_own_elements),
        Pred::Not(p) => of_own_elements(p),
        Pred::Exists { from, over, filter } => {
            let own = |u: &Unfold| u.steps.is_empty() && !matches!(u.many, Many::Back(_));
            let mut inside = Vec::new();
            filter.iter().for_each(|p| atoms::of_pred(p, &mut inside));
            let plain = |e: &Expr| matches!(e, Expr::Path { .. });
            *from == 0
                && over.iter().all(own)
                && inside.iter().all(plain)
                && filter.iter().all(|p| of_own_elements(p))
        }
        _ => true,
    }
}

/// Whether a condition is that a value equals a constant, or that an element does.
fn is_equality(pred: &Pred) -> bool {
    match pred {
        Pred::Compare(_, op, _) => *op == Compare::Eq,
        Pred::Exists {
            filter: Some(filter),
            ..
        } => is_equality(filter),
        _ => false,
    }
}

/// Whether the key of a list determines every unfolded node: what of a node's key does not follow
/// from its parent stands in the structure's key.
pub(crate) fn determines(model: &Model, s: &Structure) -> bool {
    s.over.iter().enumerate().all(|(i, unfold)| {
        let Many::Back(reference) = unfold.many else {
            return false;
        };
        let node = (i + 1) as u16;
        let leaves = model.key_leaves(model.reference(reference).entity);
        leaves
            .iter()
            .filter(|l| l.steps.first() != Some(&reference))
            .all(|l| {
                let path = Expr::Path {
                    node,
                    element: vec![],
                    steps: l.steps.clone(),
                    leaf: crate::model::Leaf::Attribute(l.attribute, vec![]),
                };
                s.key().any(|e| *e == path)
            })
    })
}

/// Which equalities may form the partition key. Where partitions are ordered themselves, only the
/// sequence of key parts matters: each part may come first.
fn partitions(sorted: &[Expr], ordered: bool) -> Vec<Vec<Expr>> {
    if sorted.len() <= 1 || sorted.len() > 4 {
        return vec![sorted.to_vec()];
    }
    if ordered {
        let mut out = vec![sorted.to_vec()];
        for first in sorted.iter().skip(1) {
            out.push(vec![first.clone()]);
        }
        return out;
    }
    let indices: Vec<usize> = (0..sorted.len()).collect();
    subsets(&indices)
        .into_iter()
        .filter(|s| !s.is_empty())
        .map(|s| {
            s.into_iter()
                .filter_map(|i| sorted.get(i).cloned())
                .collect()
        })
        .collect()
}

/// All subsets of up to four indices; of more, the whole, the empty, the single ones and those that
/// lack one: what changes often is better no part of a key.
fn subsets(indices: &[usize]) -> Vec<Vec<usize>> {
    if indices.len() > 4 {
        let mut out = vec![vec![], indices.to_vec()];
        out.extend(indices.iter().map(|&i| vec![i]));
        let without = |left_out: &usize| {
            let others = indices.iter().filter(|i| *i != left_out);
            others.copied().collect()
        };
        out.extend(indices.iter().map(without));
        return out;
    }
    (0..1u32 << indices.len())
        .map(|mask| {
            let picked = indices
                .iter()
                .enumerate()
                .filter(|(bit, _)| mask & (1 << bit) != 0);
            picked.map(|(_, &i)| i).collect()
        })
        .collect()
}
