//! Binding a node by a walk: first the far end of a path, then back to the node, get by get.

use super::atoms::rebase;
use super::bind::{Partial, Wish};
use super::locate::key_leaf_paths;
use super::matching::{Eq, EqValue, ExistsEq, Problem};
use super::{Planner, State};
use crate::design::plan::{Op, Term};
use crate::design::shape::{ShapeId, key_paths, reference_paths};
use crate::model::{EntityId, Expr, Leaf, Many, NodeId, Pred, ReferenceId};
use crate::view::Kind;
use crate::view::typing::Scope;
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
            let starts = self.hop(&partial.state, far, vec![(value, term.clone())]);
            for (state, tmp) in starts {
                let mut next = partial.clone();
                next.state = state;
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
            out.extend(self.walk_exists(partial, node, problem.entity, exists, filters, scope));
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
                    let hops = self.hop(&state, from, given);
                    next.extend(hops.into_iter().map(|(state, tmp)| {
                        (
                            Partial {
                                state,
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
        exists: &ExistsEq,
        filters: &[Pred],
        scope: &Scope,
    ) -> Vec<Partial> {
        let [unfold] = exists.over.as_slice() else {
            return vec![];
        };
        let Many::Back(reference) = unfold.many else {
            return vec![];
        };
        let far = self.model.reference(reference).entity;
        let Some(given) = exists
            .eqs
            .iter()
            .map(|q| match &q.value {
                EqValue::One(term) => {
                    Some((rebase(&q.expr, &|n| (n == 1).then_some(0))?, term.clone()))
                }
                EqValue::Each(_) => None,
            })
            .collect::<Option<Vec<_>>>()
        else {
            return vec![];
        };
        let mut out = Vec::new();
        for (state, tmp) in self.hop(&partial.state, far, given) {
            let target = self.model.reference(reference).target;
            let keys = key_leaf_paths(self.model, target, tmp, &[], &[reference]);
            for state in self.supply(state, scope, &keys) {
                let terms: Option<Vec<Term>> =
                    keys.iter().map(|k| self.locate(&state, k)).collect();
                let Some(terms) = terms else { continue };
                let mut here = partial.clone();
                here.state = state;
                here.left.retain(|&i| i != exists.filter);
                let found = match unfold.steps.as_slice() {
                    [] => {
                        let given: Vec<_> = key_paths(self.model, entity)
                            .into_iter()
                            .zip(terms)
                            .collect();
                        self.bind_from(&here, node, entity, &given, filters, scope, None)
                    }
                    [step] => {
                        let given: Vec<_> = reference_paths(self.model, *step)
                            .into_iter()
                            .zip(terms)
                            .collect();
                        self.bind_from(&here, node, entity, &given, filters, scope, None)
                    }
                    _ => vec![],
                };
                out.extend(
                    found
                        .into_iter()
                        .filter_map(|p| self.distinct(p, node, entity)),
                );
            }
        }
        out
    }

    fn distinct(&self, mut partial: Partial, node: NodeId, entity: EntityId) -> Option<Partial> {
        let by: Option<Vec<Term>> = key_leaf_paths(self.model, entity, node, &[], &[])
            .iter()
            .map(|k| self.locate(&partial.state, k))
            .collect();
        partial.state.op = Op::Distinct {
            input: Box::new(partial.state.op),
            by: by?,
        };
        partial.ordered = false;
        Some(partial)
    }

    /// Binds an instance in passing, as a node of its own behind those of the query.
    fn hop(
        &mut self,
        state: &State,
        entity: EntityId,
        given: Vec<(Expr, Term)>,
    ) -> Vec<(State, NodeId)> {
        let entity = self.model.entity(entity).root;
        let tmp = state.nodes.len().max(64) as NodeId;
        let problem = Problem {
            entity,
            eqs: given
                .into_iter()
                .map(|(expr, term)| Eq {
                    expr,
                    value: EqValue::One(term),
                    filter: None,
                })
                .collect(),
            ranges: vec![],
            exists: vec![],
            order: None,
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
        let found = self.gets(&partial, tmp, &problem, &[], &scope, None);
        found.into_iter().map(|p| (p.state, tmp)).collect()
    }

    /// Pairs the scalars of a reference with the key of a bound instance.
    fn pairs(
        &self,
        state: &State,
        paths: &[Expr],
        tmp: NodeId,
        entity: EntityId,
    ) -> Option<Vec<(Expr, Term)>> {
        let keys = key_leaf_paths(self.model, entity, tmp, &[], &[]);
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
