//! Binding a node by a walk: first the far end of a path, then back to the node, get by get.

use super::atoms::rebase;
use super::bind::{Partial, Wish, set_node};
use super::problem::{Eq, EqValue, ExistsBy, Problem, Range, Way};
use super::{Planner, Source, State};
use crate::design::plan::{Op, Term};
use crate::design::shape::{ShapeId, key_paths, reference_paths};
use crate::model::{EntityId, Expr, Leaf, Many, NodeId, Pred, ReferenceId};
use crate::view::Kind;
use crate::view::typing::Scope;
use std::sync::Arc;

/// The far end of a path to many, and what is known of it.
struct FarEnd<'s> {
    far: EntityId,
    /// The reference back, and the steps before it.
    reference: ReferenceId,
    steps: &'s [ReferenceId],
    way: Way,
}

impl Planner<'_> {
    /// Walks: first the far end of a path, then back to the node, get by get.
    pub(super) fn walks(
        &mut self,
        partial: &Partial,
        node: NodeId,
        problem: &Problem,
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        if problem.eqs.iter().any(|q| q.filter.is_none()) {
            return vec![];
        }
        let mut out = Vec::new();
        for eq in &problem.eqs {
            let (
                Expr::Path {
                    steps,
                    leaf,
                    element,
                    ..
                },
                EqValue::One(term),
                Some(filter),
            ) = (&eq.expr, &eq.value, eq.filter)
            else {
                continue;
            };
            let Some(&last) = steps.last() else { continue };
            let key_leaf = match leaf {
                Leaf::Attribute(a, _) => {
                    let target = self.model.root(self.model.reference(last).target);
                    target
                        .key
                        .iter()
                        .any(|&k| target.fields.get(k) == Some(&crate::model::Field::Attribute(*a)))
                }
                _ => true,
            };
            if key_leaf || !element.is_empty() {
                continue;
            }
            let far = self.model.reference(last).target;
            let value = Expr::Path {
                node: 0,
                element: vec![],
                steps: vec![],
                leaf: leaf.clone(),
            };
            let unique = matches!(leaf, Leaf::Attribute(a, _) if self.model.attribute(*a).unique);
            let eqs = vec![Eq::given(&value, term)];
            let starts = self.hop(&partial.state, far, eqs, None, None);
            for (start, tmp) in starts {
                let mut next = partial.clone();
                next.state = start.state;
                next.left.retain(|&i| i != filter);
                let wish = if unique { wish } else { None };
                out.extend(self.walk_back(
                    &next,
                    node,
                    problem.entity,
                    tmp,
                    far,
                    steps,
                    filters,
                    scope,
                    wish,
                ));
            }
        }
        for exists in &problem.exists {
            out.extend(self.walk_exists(
                partial,
                node,
                problem.entity,
                exists,
                filters,
                scope,
                wish,
            ));
        }
        out
    }

    /// From a bound instance back over to-one steps to the node they start from.
    fn walk_back(
        &mut self,
        partial: &Partial,
        node: NodeId,
        entity: EntityId,
        tmp: NodeId,
        tmp_entity: EntityId,
        steps: &[ReferenceId],
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let mut at = vec![(partial.state.clone(), tmp, tmp_entity)];
        for (i, &step) in steps.iter().enumerate().rev() {
            let mut next = Vec::new();
            for (state, tmp, tmp_entity) in at {
                let Some(given) =
                    self.pairs(&state, &reference_paths(self.model, step), tmp, tmp_entity)
                else {
                    continue;
                };
                if i == 0 {
                    let here = Partial {
                        state,
                        ..partial.clone()
                    };
                    let found = self.bind_from(&here, node, entity, &given, filters, scope, wish);
                    next.extend(found.into_iter().map(|p| (p, node)));
                } else {
                    let from = self.model.reference(step).entity;
                    let eqs = given.iter().map(|(e, t)| Eq::given(e, t)).collect();
                    let hops = self.hop(&state, from, eqs, None, None);
                    next.extend(hops.into_iter().map(|(hop, tmp)| {
                        (
                            Partial {
                                state: hop.state,
                                ..partial.clone()
                            },
                            tmp,
                        )
                    }));
                }
            }
            if i == 0 {
                return next.into_iter().map(|(p, _)| p).collect();
            }
            let from = self.model.reference(step).entity;
            at = next
                .into_iter()
                .map(|(p, tmp)| (p.state, tmp, from))
                .collect();
        }
        vec![]
    }

    fn bind_from(
        &mut self,
        partial: &Partial,
        node: NodeId,
        entity: EntityId,
        given: &[(Expr, Term)],
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let problem = self.problem(partial, node, entity, given, filters, wish);
        self.gets(partial, node, &problem, filters, scope, wish)
    }

    /// From the far end of an `exists` back to the node; each node once.
    fn walk_exists(
        &mut self,
        partial: &Partial,
        node: NodeId,
        entity: EntityId,
        exists: &ExistsBy,
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let [unfold] = exists.over.as_slice() else {
            return vec![];
        };
        let Many::Back(reference) = unfold.many else {
            return vec![];
        };
        let far = self.model.reference(reference).entity;
        let mut out = Vec::new();
        for way in &exists.ways {
            let Some(way) = at_far_end(way) else {
                continue;
            };
            let mut here = partial.clone();
            here.left.retain(|&i| i != exists.filter || !way.whole);
            let from = FarEnd {
                far,
                reference,
                steps: &unfold.steps,
                way,
            };
            out.extend(self.walk_from(&here, node, entity, from, filters, scope, wish));
        }
        out
    }

    /// From the far end of a path to many, found by what is known of it, back to the node.
    fn walk_from(
        &mut self,
        partial: &Partial,
        node: NodeId,
        entity: EntityId,
        from: FarEnd,
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let FarEnd {
            far,
            reference,
            steps,
            way,
        } = from;
        let mut here = partial.clone();
        let once = steps.is_empty() && self.names_once(far, reference, &way);
        let wish = wish.filter(|_| once);
        let wish = wish.and_then(|w| self.wish_at_far_end(w, node, entity, reference, &here));
        let mut out = Vec::new();
        for (hop, tmp) in self.hop(&partial.state, far, way.eqs, way.range, wish.as_ref()) {
            let target = self.model.reference(reference).target;
            let keys = self.model.key_leaf_paths(target, tmp, &[], &[reference]);
            for state in self.supply(hop.state, scope, &keys) {
                let terms: Option<Vec<Term>> =
                    keys.iter().map(|k| self.locate(&state, k)).collect();
                let Some(terms) = terms else { continue };
                here.state = state;
                if !once {
                    self.distinct(&mut here.state, target, &terms);
                }
                let to = match steps {
                    [] => key_paths(self.model, entity),
                    [step] => reference_paths(self.model, *step),
                    _ => continue,
                };
                let given: Vec<_> = to.into_iter().zip(terms).collect();
                let mut found = self.bind_from(&here, node, entity, &given, filters, scope, None);
                if steps.is_empty() && !self.model.reference(reference).optional {
                    found.extend(known_by_key(&here, node, &given));
                }
                for p in &mut found {
                    (p.ordered, p.paged) = (hop.ordered, hop.paged);
                }
                out.extend(found);
            }
        }
        out
    }

    /// Whether those that are found by these values lead to each instance once at most: what leads
    /// there is all that is left of their key.
    fn names_once(&self, far: EntityId, reference: ReferenceId, way: &Way) -> bool {
        let leading = reference_paths(self.model, reference);
        let fixed = |part: &Expr| way.eqs.iter().any(|q| q.expr == *part);
        let mut key = key_paths(self.model, far).into_iter();
        !way.is_loose() && key.all(|part| leading.contains(&part) || fixed(&part))
    }

    /// What is wished of instances, wished of what leads to each of them once: their order, where
    /// it is that of their key, which is known there; and their limit, where all that is found there
    /// is taken.
    fn wish_at_far_end(
        &self,
        wish: &Wish,
        node: NodeId,
        entity: EntityId,
        reference: ReferenceId,
        here: &Partial,
    ) -> Option<Wish> {
        let own = self.model.key_leaf_paths(entity, node, &[], &[]);
        let leading = reference_paths(self.model, reference);
        let order = wish.order.iter().map(|(e, direction)| {
            let at = own.iter().position(|k| k == e)?;
            Some((leading.get(at)?.clone(), *direction))
        });
        let all = here.left.is_empty();
        Some(Wish {
            order: order.collect::<Option<_>>()?,
            limit: wish.limit.filter(|_| all),
            page: wish.page.clone(),
        })
    }

    /// Each instance that rows lead to once, before anything of it is read.
    pub(super) fn distinct(&self, state: &mut State, target: EntityId, key: &[Term]) {
        let all = self.stats.count(target).max(1.0);
        let met = all * (1.0 - (1.0 - 1.0 / all).powf(state.rows));
        state.rows = met.min(state.rows);
        let input = std::mem::replace(&mut state.op, Op::Input);
        state.op = Op::Distinct {
            input: Arc::new(input),
            by: key.to_vec(),
        };
    }

    /// Binds an instance in passing, as a node of its own behind those of the query.
    fn hop(
        &mut self,
        state: &State,
        entity: EntityId,
        eqs: Vec<Eq>,
        range: Option<Range>,
        wish: Option<&Wish>,
    ) -> Vec<(Partial, NodeId)> {
        let entity = self.model.entity(entity).root;
        let tmp = state.nodes.len().max(64) as NodeId;
        let problem = Problem {
            entity,
            eqs,
            ranges: range.into_iter().collect(),
            exists: vec![],
            order: wish.map(|w| w.order.clone()),
            holds: vec![],
        };
        let partial = Partial {
            state: state.clone(),
            left: vec![],
            narrowed: 1.0,
            ordered: false,
            paged: false,
        };
        let scope = Scope::new(self.model, entity, &[]);
        let found = self.gets(&partial, tmp, &problem, &[], &scope, wish);
        found.into_iter().map(|p| (p, tmp)).collect()
    }

    /// Pairs the scalars of a reference with the key of a bound instance.
    fn pairs(
        &self,
        state: &State,
        paths: &[Expr],
        tmp: NodeId,
        entity: EntityId,
    ) -> Option<Vec<(Expr, Term)>> {
        let keys = self.model.key_leaf_paths(entity, tmp, &[], &[]);
        paths
            .iter()
            .zip(&keys)
            .map(|(p, k)| Some((p.clone(), self.locate(state, k)?)))
            .collect()
    }

    /// Takes a candidate in, spread where a partition would outgrow the target, unless the target
    /// cannot hold it.
    pub(in crate::design) fn admit(&mut self, s: crate::view::Structure) -> Vec<ShapeId> {
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

/// A way of an `exists` over one path as conditions on the instance at its end.
fn at_far_end(way: &Way) -> Option<Way> {
    let zero = |e: &Expr| rebase(e, &|n| (n == 1).then_some(0));
    let eqs = way.eqs.iter().map(|q| {
        let expr = zero(&q.expr)?;
        Some(Eq { expr, ..q.clone() })
    });
    let range = match &way.range {
        None => None,
        Some(range) => Some(Range {
            expr: zero(&range.expr)?,
            ..range.clone()
        }),
    };
    Some(Way {
        eqs: eqs.collect::<Option<_>>()?,
        range,
        whole: way.whole,
    })
}

/// A node whose key is known, bound without a get: that what refers to it is there says that it is.
fn known_by_key(partial: &Partial, node: NodeId, given: &[(Expr, Term)]) -> Option<Partial> {
    let column = |(expr, term): &(Expr, Term)| match term {
        Term::Column {
            frame,
            column,
            path,
        } if path.is_empty() => Some((*frame, (expr.clone(), *column))),
        _ => None,
    };
    let columns: Vec<_> = given.iter().map(column).collect::<Option<_>>()?;
    let frame = columns.first()?.0;
    if columns.iter().any(|(of, _)| *of != frame) {
        return None;
    }
    let mut known = partial.clone();
    let source = Source::Carried {
        frame,
        carried: columns.into_iter().map(|(_, c)| c).collect(),
        fetched: vec![],
    };
    set_node(&mut known.state, node, source);
    Some(known)
}
