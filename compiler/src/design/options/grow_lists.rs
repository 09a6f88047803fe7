//! Candidates of lists: those that a question about instances calls for.
//!
//! What it compares with `=` comes first, then the order that it asks for or a range; and one that
//! leaves out what no question of these constants asks for.

use super::Planner;
use super::atoms::{self, Mentions};
use super::problem::{Eq, ExistsBy, Problem, Way};
use crate::design::shape::{ShapeId, skeleton};
use crate::design::spread::everything;
use crate::model::{Direction, EntityId, Expr, Many, Model, Pred, Unfold};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};

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
                self.grow_by(planner, &parts, exists);
            }
        }
        self.grow_partial(planner);
    }

    /// Adds the candidates over the elements of an `exists` that begin with these parts and with
    /// what is known of them.
    pub(super) fn grow_by(&self, planner: &mut Planner, parts: &[Expr], exists: &ExistsBy) {
        // To instances a walk leads; elements have no structure of their own.
        let back = exists.over.iter().any(|u| matches!(u.many, Many::Back(_)));
        for way in exists.ways.iter().filter(|way| !(back && way.is_loose())) {
            let known = way.eqs.iter().map(|q| q.expr.clone());
            let parts: Vec<Expr> = parts.iter().cloned().chain(known).collect();
            self.by(way).grow_for(planner, &exists.over, &[], &parts);
        }
    }

    /// Adds candidates of just those instances for which all conditions hold that compare with
    /// constants: fewer rows, and fewer writes. One set of conditions for each problem.
    fn grow_partial(&self, planner: &mut Planner) {
        if !planner.target.cost.rules.partial {
            return;
        }
        let fixed = self.holds.iter().filter(|(_, p)| is_storable(p));
        let (at, filter): (Vec<usize>, Vec<Pred>) = fixed.cloned().unzip();
        if filter.is_empty() {
            return;
        }
        let made_good = |i: Option<usize>| i.is_some_and(|i| at.contains(&i));
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
        let parts: Vec<Expr> = rest.eqs.iter().map(|q| q.expr.clone()).collect();
        rest.grow_for(planner, &[], &filter, &parts);
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
        let capabilities = planner.target.capabilities.clone();
        for suffix in suffixes {
            for mut partition in partitions(&sorted, capabilities.ordered_partitions) {
                if partition.is_empty() && capabilities.partition_required {
                    if !unbound {
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

/// Adds one candidate: a list where its key determines the binding, else a group.
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
    let mut s = skeleton(model, entity, over, filter, partition, clustering, lists);
    if !determines(model, &s) {
        s.kind = Kind::Groups;
    }
    planner.admit(s);
}

/// Whether a condition can limit which instances have a row: it compares what a row can have with
/// constants.
fn is_storable(pred: &Pred) -> bool {
    let mut found = Vec::new();
    atoms::of_pred(pred, &mut found);
    let plain = |e: &Expr| matches!(e, Expr::Path { element, .. } if element.is_empty());
    !found.is_empty()
        && found.iter().all(plain)
        && !Mentions::of_pred(pred).params
        && !has_exists(pred)
}

fn has_exists(pred: &Pred) -> bool {
    match pred {
        Pred::And(list) | Pred::Or(list) => list.iter().any(has_exists),
        Pred::Not(p) => has_exists(p),
        Pred::Exists { .. } => true,
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

/// All subsets of up to four indices; of more, the whole, the empty and the single ones.
fn subsets(indices: &[usize]) -> Vec<Vec<usize>> {
    if indices.len() > 4 {
        let mut out = vec![vec![], indices.to_vec()];
        out.extend(indices.iter().map(|&i| vec![i]));
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
