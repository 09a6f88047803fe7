//! Binding a node: from parameters and outer rows to the instances that it ranges over, by one
//! get, by a walk of several, or by a scan.

use super::atoms::{Mentions, rebase, rebase_pred};
use super::far_end::all_of;
use super::problem::{Eq, EqValue, ExistsBy, Problem, Range, Way};
use super::{Planner, Source, State};
use crate::design::plan::{Bound, Term};
use crate::model::{
    Compare, Direction, EntityId, Expr, Leaf, Many, Model, NodeId, Page, Pred, Type, Unfold,
};
use crate::view::elements;
use crate::view::typing::{Scope, inner};
use std::rc::Rc;

/// What is wished of the rows that bind the subject.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// The complete order, in the query's scope, without what equalities fix.
    pub(super) order: Vec<(Expr, Direction)>,
    /// Rows taken per outer row.
    pub(super) limit: Option<f64>,
    pub(super) page: Option<Page>,
}

/// A partly bound query.
#[derive(Clone, Debug)]
pub(super) struct Partial {
    pub(super) state: State,
    /// Filters not yet made good, by position.
    pub(super) left: Vec<usize>,
    /// How much of what these let pass a get has let pass already, by a salt or bucket of a value
    /// that they compare.
    pub(super) narrowed: f64,
    pub(super) ordered: bool,
    pub(super) paged: bool,
}

impl Planner<'_> {
    /// Binds a node to instances of an entity that meet as many of the filters as a get can use.
    /// `given`: equalities that lead from outer rows.
    pub(super) fn bind(
        &mut self,
        partial: &Partial,
        node: NodeId,
        entity: EntityId,
        given: &[(Expr, Term)],
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let entity = self.model.entity(entity).root;
        let problem = self.problem(partial, node, entity, given, filters, wish);
        let mut out = self.gets(partial, node, &problem, filters, scope, wish);
        out.extend(self.walks(partial, node, &problem, filters, scope, wish));
        out
    }

    pub(super) fn problem(
        &self,
        partial: &Partial,
        node: NodeId,
        entity: EntityId,
        given: &[(Expr, Term)],
        filters: &[Pred],
        wish: Option<&Wish>,
    ) -> Problem {
        let inside = |n: NodeId| (n == node).then_some(0);
        self.problem_inside(partial, &inside, entity, given, filters, wish)
    }

    /// The same of several nodes: `inside` gives them their numbers in the candidate's scope.
    pub(super) fn problem_inside(
        &self,
        partial: &Partial,
        inside: &dyn Fn(NodeId) -> Option<NodeId>,
        entity: EntityId,
        given: &[(Expr, Term)],
        filters: &[Pred],
        wish: Option<&Wish>,
    ) -> Problem {
        let only = |e: &Expr| {
            let nodes = Mentions::of_expr(e).nodes;
            nodes.iter().all(|&n| inside(n).is_some())
        };
        let mut p = Problem {
            entity,
            eqs: given.iter().map(|(e, t)| Eq::given(e, t)).collect(),
            ranges: vec![],
            exists: vec![],
            order: None,
            holds: vec![],
        };
        for (i, pred) in filters.iter().enumerate() {
            p.holds.extend(rebase_pred(pred, inside).map(|p| (i, p)));
        }
        let zero = |e: &Expr| rebase(e, inside);
        for &i in &partial.left {
            match filters.get(i) {
                Some(Pred::Compare(a, op, b)) => {
                    if let Some((over, entry)) = self.entry(inside, a, *op, b) {
                        p.exists
                            .extend(self.exists_by(&partial.state, i, &over, &entry));
                        continue;
                    }
                    let Some((expr, op, term)) = self.sided(&partial.state, inside, a, *op, b)
                    else {
                        continue;
                    };
                    let Some(expr) = zero(&expr) else { continue };
                    match op {
                        Compare::Eq if !p.eqs.iter().any(|q| q.expr == expr) => {
                            p.eqs.push(Eq {
                                expr,
                                value: EqValue::One(term),
                                filter: Some(i),
                            });
                        }
                        Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => {
                            add_range(&mut p.ranges, expr, op, term, Some(i));
                        }
                        Compare::Eq | Compare::Ne => {}
                    }
                }
                Some(Pred::In(a, list)) => {
                    let terms: Option<Vec<Term>> =
                        list.iter().map(|e| self.term(&partial.state, e)).collect();
                    if let (true, Some(expr), Some(terms)) =
                        (is_key_expr(self.model, a), zero(a), terms)
                        && only(a)
                        && !p.eqs.iter().any(|q| q.expr == expr)
                    {
                        p.eqs.push(Eq {
                            expr,
                            value: EqValue::Each(terms),
                            filter: Some(i),
                        });
                    }
                }
                Some(Pred::InList(a, list @ Expr::Param(..))) => {
                    if let (true, Some(expr), Some(term)) = (
                        is_key_expr(self.model, a),
                        zero(a),
                        self.term(&partial.state, list),
                    ) && only(a)
                        && !p.eqs.iter().any(|q| q.expr == expr)
                    {
                        p.eqs.push(Eq {
                            expr,
                            value: EqValue::Each(vec![term]),
                            filter: Some(i),
                        });
                    }
                }
                Some(Pred::Exists {
                    from,
                    over,
                    filter: Some(filter),
                }) if inside(*from) == Some(0) => {
                    p.exists
                        .extend(self.exists_by(&partial.state, i, over, filter));
                }
                _ => {}
            }
        }
        if let Some(wish) = wish {
            let order: Option<Vec<_>> = wish
                .order
                .iter()
                .map(|(e, d)| zero(e).map(|e| (e, *d)))
                .collect();
            p.order = order.map(|o| {
                let fixed = |e: &Expr| {
                    p.eqs
                        .iter()
                        .any(|q| q.expr == *e && matches!(q.value, EqValue::One(_)))
                };
                o.into_iter()
                    .filter(|(e, _)| !is_key_expr(self.model, e) || !fixed(e))
                    .collect()
            });
            if p.order
                .as_ref()
                .is_some_and(|o| o.iter().any(|(e, _)| !is_key_expr(self.model, e)))
            {
                p.order = None;
            }
        }
        p
    }

    /// A comparison with an expression of the nodes on the left and something known on the right.
    fn sided(
        &self,
        state: &State,
        inside: &dyn Fn(NodeId) -> Option<NodeId>,
        a: &Expr,
        op: Compare,
        b: &Expr,
    ) -> Option<(Expr, Compare, Term)> {
        let is_inside = |n: &NodeId| inside(*n).is_some();
        let usable = |e: &Expr| {
            let m = Mentions::of_expr(e);
            is_key_expr(self.model, e)
                && !m.nodes.is_empty()
                && m.nodes.iter().all(is_inside)
                && !m.params
        };
        let outside = |e: &Expr| !Mentions::of_expr(e).nodes.iter().any(is_inside);
        if usable(a) && outside(b) {
            return Some((a.clone(), op, self.term(state, b)?));
        }
        if usable(b) && outside(a) {
            return Some((b.clone(), op.flipped(), self.term(state, a)?));
        }
        None
    }

    /// What `map[key] = value` says of the entries of a map: one has this key and this value. Nothing
    /// is equal to null, be it that a key is missing, that the value is null, or that nothing was
    /// given.
    fn entry(
        &self,
        inside: &dyn Fn(NodeId) -> Option<NodeId>,
        a: &Expr,
        op: Compare,
        b: &Expr,
    ) -> Option<(Vec<Unfold>, Pred)> {
        let (map, key, value) = match (a, b) {
            (Expr::At(map, key), value) | (value, Expr::At(map, key)) => (&**map, &**key, value),
            _ => return None,
        };
        let Expr::Path {
            node,
            element,
            steps,
            leaf: Leaf::Attribute(attribute, path),
        } = map
        else {
            return None;
        };
        let given = |e: &Expr| Mentions::of_expr(e).nodes.is_empty();
        let of = inner(&self.model.attribute(*attribute).ty, path).0;
        let usable = op == Compare::Eq
            && inside(*node) == Some(0)
            && element.is_empty()
            && matches!(of, Type::Map(..))
            && given(key)
            && given(value);
        let unfold = Unfold {
            parent: 0,
            steps: steps.clone(),
            many: Many::Elements(*attribute, path.clone()),
        };
        let is = |leaf, value: &Expr| {
            let path = Expr::Path {
                node: 1,
                element: vec![],
                steps: vec![],
                leaf,
            };
            Pred::Compare(path, Compare::Eq, value.clone())
        };
        let both = vec![is(Leaf::MapKey, key), is(Leaf::Element(vec![]), value)];
        usable.then(|| (vec![unfold], Pred::And(both)))
    }

    /// An `exists` some of whose conditions compare with known values: found by its equalities, and
    /// by these with one list or one range.
    fn exists_by(
        &self,
        state: &State,
        filter: usize,
        over: &[Unfold],
        pred: &Pred,
    ) -> Option<ExistsBy> {
        let conditions = all_of(Some(pred));
        let mut eqs: Vec<Eq> = Vec::new();
        let mut each: Vec<Eq> = Vec::new();
        let mut ranges: Vec<Range> = Vec::new();
        for condition in &conditions {
            let Some((expr, is)) = self.of_element(state, condition) else {
                continue;
            };
            let eq = |value| Eq {
                expr: expr.clone(),
                value,
                filter: None,
            };
            match is {
                Is::One(term) if eqs.iter().all(|eq| eq.expr != *expr) => {
                    eqs.push(eq(EqValue::One(term)));
                }
                Is::One(_) => {}
                Is::Each(terms) => each.push(eq(EqValue::Each(terms))),
                Is::Within(op, term) => add_range(&mut ranges, expr.clone(), op, term, None),
            }
        }
        let free = |expr: &Expr| eqs.iter().all(|eq| eq.expr != *expr);
        each.retain(|eq| free(&eq.expr));
        ranges.retain(|range| free(&range.expr));
        // Each side of a range, and each equality, is one of the conditions.
        let way = |each: Option<Eq>, range: Option<Range>| {
            let sides = range.as_ref().map_or(0, |range| range.sides().count());
            let eqs: Vec<Eq> = eqs.iter().cloned().chain(each).collect();
            Way {
                whole: eqs.len() + sides == conditions.len(),
                eqs,
                range,
            }
        };
        let equal = (!eqs.is_empty()).then(|| way(None, None)).into_iter();
        let each = each.into_iter().map(|eq| way(Some(eq), None));
        let within = ranges.into_iter().map(|range| way(None, Some(range)));
        let ways: Vec<Way> = equal.chain(each).chain(within).collect();
        (!ways.is_empty()).then(|| ExistsBy {
            filter,
            over: over.to_vec(),
            ways,
        })
    }

    /// A condition of an `exists` that compares a value of its own nodes, which may stand in a key,
    /// with what is known.
    fn of_element<'p>(&self, state: &State, condition: &'p Pred) -> Option<(&'p Expr, Is)> {
        // The nodes of the `exists` are its own, not those of the state.
        let given = |e: &Expr| Mentions::of_expr(e).nodes.is_empty();
        let keyed = |e: &Expr| {
            let nodes = Mentions::of_expr(e).nodes;
            is_key_expr(self.model, e) && !nodes.is_empty() && !nodes.contains(&0)
        };
        let (expr, is) = match condition {
            Pred::Compare(a, op, b) => {
                let (expr, op, value) = if given(b) {
                    (a, *op, b)
                } else {
                    (b, op.flipped(), a)
                };
                let term = self.term(state, value).filter(|_| given(value))?;
                match op {
                    Compare::Eq => (expr, Is::One(term)),
                    Compare::Ne => return None,
                    Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => {
                        (expr, Is::Within(op, term))
                    }
                }
            }
            Pred::InList(expr, list @ Expr::Param(..)) => {
                (expr, Is::Each(vec![self.term(state, list)?]))
            }
            _ => return None,
        };
        keyed(expr).then_some((expr, is))
    }
}

/// What a value is compared with.
enum Is {
    One(Term),
    Each(Vec<Term>),
    Within(Compare, Term),
}

pub(super) fn set_node(state: &mut State, node: NodeId, source: Source) {
    let node = node as usize;
    let nodes = Rc::make_mut(&mut state.nodes);
    if nodes.len() <= node {
        nodes.resize(node + 1, None);
    }
    if let Some(slot) = nodes.get_mut(node) {
        *slot = Some(source);
    }
}

/// Whether an expression may stand in a key: a path or a function of paths.
pub(super) fn is_key_expr(model: &Model, expr: &Expr) -> bool {
    match expr {
        Expr::Path { leaf, .. } => !matches!(leaf, Leaf::Key) && !elements::follows(model, expr),
        Expr::Call(_, args) => args
            .iter()
            .all(|a| is_key_expr(model, a) || matches!(a, Expr::Const(_))),
        _ => false,
    }
}

fn add_range(ranges: &mut Vec<Range>, expr: Expr, op: Compare, term: Term, filter: Option<usize>) {
    let at = if let Some(at) = ranges.iter().position(|r| r.expr == expr) {
        at
    } else {
        ranges.push(Range {
            expr,
            lower: None,
            upper: None,
        });
        ranges.len() - 1
    };
    let Some(range) = ranges.get_mut(at) else {
        return;
    };
    let inclusive = matches!(op, Compare::Le | Compare::Ge);
    let side = match op {
        Compare::Gt | Compare::Ge => &mut range.lower,
        _ => &mut range.upper,
    };
    if side.is_none() {
        *side = Some((Bound { term, inclusive }, filter));
    }
}
