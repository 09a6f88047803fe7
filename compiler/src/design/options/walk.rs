//! Binding a node by a walk: first what is at the far end of a path, then back to the node.
//!
//! A walk is a query of its own within the plan, of the instances at the far end: what is said of
//! them there are its conditions, and every candidate and technique is open to it. What it finds
//! leads back by the references that the path was followed against.

use super::bind::{Partial, Wish, set_node};
use super::far_end::{FarEnd, all_of, behind_element};
use super::problem::{Eq, EqValue, ExistsBy, Problem, Way};
use super::{Fetched, Planner, Source, State};
use crate::design::plan::{Op, Term};
use crate::design::shape::{key_paths, reference_paths};
use crate::model::{Compare, EntityId, Expr, Leaf, NodeId, Pred, ReferenceId, Type, Unfold};
use crate::view::typing::{NodeType, Scope, inner};
use std::rc::Rc;

/// The node that a walk leads back to.
struct Goal<'a> {
    node: NodeId,
    entity: EntityId,
    filters: &'a [Pred],
    scope: &'a Scope,
}

impl Planner<'_> {
    /// Walks from the far ends of the paths that conditions compare.
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
        let goal = Goal {
            node,
            entity: problem.entity,
            filters,
            scope,
        };
        let mut out = Vec::new();
        for eq in &problem.eqs {
            out.extend(self.walk_reference(partial, &goal, eq, wish));
        }
        for &i in &partial.left {
            let Some(Pred::Exists { from, over, filter }) = filters.get(i) else {
                continue;
            };
            if *from != node {
                continue;
            }
            let mut here = partial.clone();
            if let Some(far) = FarEnd::of(self.model, over, filter.as_deref()) {
                here.left.retain(|&left| left != i);
                out.extend(self.walk_back(&here, &goal, &far, wish));
            } else if let ([unfold], Some(filter)) = (over.as_slice(), filter) {
                out.extend(self.walk_elements(partial, &goal, problem, i, unfold, filter));
            }
        }
        out
    }

    /// From what a reference of the node leads to, found by what it is compared with.
    fn walk_reference(
        &mut self,
        partial: &Partial,
        goal: &Goal,
        eq: &Eq,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
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
            return vec![];
        };
        let Some(&last) = steps.last() else {
            return vec![];
        };
        let far = self.model.reference(last).target;
        let key_leaf = match leaf {
            Leaf::Attribute(a, _) => {
                let target = self.model.root(far);
                let field = crate::model::Field::Attribute(*a);
                let mut key = target.key.iter();
                key.any(|&k| target.fields.get(k) == Some(&field))
            }
            _ => true,
        };
        if key_leaf || !element.is_empty() {
            return vec![];
        }
        let value = Expr::Path {
            node: 0,
            element: vec![],
            steps: vec![],
            leaf: leaf.clone(),
        };
        let unique = matches!(leaf, Leaf::Attribute(a, _) if self.model.attribute(*a).unique);
        let wish = wish.filter(|_| unique);
        let given = [(value, term.clone())];
        let mut out = Vec::new();
        for hop in self.hop(&partial.state, far, &given, &[], &[], None) {
            let mut here = partial.clone();
            here.left.retain(|&i| i != filter);
            for (state, key) in self.known_key(hop.state, far, &[]) {
                here.state = outside(state, &partial.state);
                out.extend(self.follow_back(&here, goal, steps, &key, wish));
            }
        }
        out
    }

    /// From the far end of a path to many back to the node; each node once.
    fn walk_back(
        &mut self,
        partial: &Partial,
        goal: &Goal,
        far: &FarEnd,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let Some(&first) = far.back.last() else {
            return vec![];
        };
        let target = self.model.reference(first).target;
        let once = self.names_once(far);
        let wish = wish.filter(|_| once);
        let wish = wish.and_then(|w| self.wish_at_far_end(w, goal, first, partial));
        let mut out = Vec::new();
        for hop in self.hop(
            &partial.state,
            far.entity,
            &[],
            &far.conditions,
            &far.back,
            wish.as_ref(),
        ) {
            for (mut state, key) in self.known_key(hop.state, far.entity, &far.back) {
                if !once {
                    self.distinct(&mut state, target, &key);
                }
                let mut found = Vec::new();
                if far.steps.is_empty() {
                    found.extend(self.seen_along(partial, goal, &state, &far.back));
                }
                let here = Partial {
                    state: outside(state, &partial.state),
                    ..partial.clone()
                };
                found.extend(self.follow_back(&here, goal, far.steps, &key, None));
                for p in &mut found {
                    (p.ordered, p.paged) = (hop.ordered, hop.paged);
                }
                out.extend(found);
            }
        }
        out
    }

    /// From what elements of the node refer to, found by what is said of it.
    fn walk_elements(
        &mut self,
        partial: &Partial,
        goal: &Goal,
        problem: &Problem,
        filter: usize,
        unfold: &Unfold,
        pred: &Pred,
    ) -> Vec<Partial> {
        let conditions = all_of(Some(pred));
        let behind = |p: &Pred| behind_element(self.model, p);
        let Some((element, _)) = conditions.iter().find_map(|p| behind(p)) else {
            return vec![];
        };
        let said: Vec<Pred> = conditions
            .iter()
            .filter_map(|p| behind(p))
            .filter(|(at, _)| *at == element)
            .map(|(_, p)| p)
            .collect();
        let within = Scope::inner(
            goal.scope,
            self.model,
            goal.node,
            std::slice::from_ref(unfold),
        );
        let NodeType::Element(ty, _) = within.node(1) else {
            return vec![];
        };
        let &Type::Key(far) = inner(&ty, &element).0 else {
            return vec![];
        };
        let held = self.model.key_leaf_paths(far, 1, &element, &[]);
        // What several hops lead to is in no order.
        let problem = Problem {
            order: None,
            exists: vec![],
            ..problem.clone()
        };
        let mut out = Vec::new();
        for hop in self.hop(&partial.state, far, &[], &said, &[], None) {
            for (state, key) in self.known_key(hop.state, far, &[]) {
                let way = Way {
                    eqs: (held.iter().zip(&key))
                        .map(|(e, t)| Eq::given(e, t))
                        .collect(),
                    range: None,
                    whole: said.len() == conditions.len(),
                };
                let exists = ExistsBy {
                    filter,
                    over: vec![unfold.clone()],
                    ways: vec![way],
                };
                let here = Partial {
                    state: outside(state, &partial.state),
                    ..partial.clone()
                };
                let (filters, scope) = (goal.filters, goal.scope);
                out.extend(self.gets_of(&here, goal.node, &problem, &exists, filters, scope));
            }
        }
        out
    }

    /// A query within the plan: the instances of an entity that meet conditions, and what is given
    /// of them; they lead back by these steps. They are node 0 of its states.
    fn hop(
        &mut self,
        state: &State,
        entity: EntityId,
        given: &[(Expr, Term)],
        conditions: &[Pred],
        back: &[ReferenceId],
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let start = Partial {
            state: State {
                nodes: Rc::new(vec![None]),
                known: Rc::default(),
                ..state.clone()
            },
            left: (0..conditions.len()).collect(),
            narrowed: 1.0,
            ordered: false,
            paged: false,
        };
        let scope = Scope::new(self.model, entity, &[]);
        self.depth += 1;
        let bound = self.bind(&start, 0, entity, given, conditions, &scope, wish);
        let bound = self.trim_partials(bound);
        let found = bound
            .into_iter()
            .flat_map(|p| self.filter(p, conditions, &scope));
        let mut found: Vec<Partial> = found.collect();
        if given.is_empty() {
            let end = self.key_at(entity, back);
            found.extend(self.united(&start.state, &[], conditions, &scope, wish, &end));
        }
        let found = self.trim_partials(found);
        self.depth -= 1;
        found
    }

    /// The states of a hop to an entity in which the key is known of what it leads to by these steps.
    fn known_key(
        &mut self,
        state: State,
        entity: EntityId,
        steps: &[ReferenceId],
    ) -> Vec<(State, Vec<Term>)> {
        let keys = self.key_at(entity, steps);
        let scope = Scope::new(self.model, entity, &[]);
        let states = self.supply(state, &scope, &keys).into_iter();
        let known = states.filter_map(|state| {
            let key = keys.iter().map(|k| self.locate(&state, k));
            let key: Option<Vec<Term>> = key.collect();
            key.map(|key| (state, key))
        });
        known.collect()
    }

    /// The scalars of the key of what an instance leads to by steps.
    fn key_at(&self, entity: EntityId, steps: &[ReferenceId]) -> Vec<Expr> {
        let last = steps.last().map(|&step| self.model.reference(step).target);
        let target = last.unwrap_or(entity);
        self.model.key_leaf_paths(target, 0, &[], steps)
    }

    /// From an instance, whose key is known, back over to-one steps to the node they start from; no
    /// steps: it is the node.
    fn follow_back(
        &mut self,
        partial: &Partial,
        goal: &Goal,
        steps: &[ReferenceId],
        key: &[Term],
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let (paths, rest) = match steps.split_last() {
            None => (key_paths(self.model, goal.entity), None),
            Some((&last, [])) => (reference_paths(self.model, last), None),
            Some((&last, rest)) => (reference_paths(self.model, last), Some((last, rest))),
        };
        let given: Vec<(Expr, Term)> = paths.into_iter().zip(key.iter().cloned()).collect();
        let Some((last, rest)) = rest else {
            let Goal {
                node,
                entity,
                filters,
                scope,
            } = *goal;
            let problem = self.problem(partial, node, entity, &given, filters, wish);
            return self.gets(partial, node, &problem, filters, scope, wish);
        };
        let from = self.model.reference(last).entity;
        let mut out = Vec::new();
        for hop in self.hop(&partial.state, from, &given, &[], &[], None) {
            for (state, key) in self.known_key(hop.state, from, &[]) {
                let here = Partial {
                    state: outside(state, &partial.state),
                    ..partial.clone()
                };
                out.extend(self.follow_back(&here, goal, rest, &key, None));
            }
        }
        out
    }

    /// The node bound without a get, as what the rows of a hop refer to by these steps: that they do
    /// says that it is there.
    fn seen_along(
        &self,
        partial: &Partial,
        goal: &Goal,
        hop: &State,
        steps: &[ReferenceId],
    ) -> Vec<Partial> {
        let Some(Some(source)) = hop.nodes.first() else {
            return vec![];
        };
        let key = self.model.key_leaf_paths(goal.entity, goal.node, &[], &[]);
        let bound = source.along(steps).into_iter().map(|source| {
            let mut state = outside(hop.clone(), &partial.state);
            set_node(&mut state, goal.node, source);
            Partial {
                state,
                ..partial.clone()
            }
        });
        let known = |p: &Partial| key.iter().all(|k| self.locate(&p.state, k).is_some());
        bound.filter(known).collect()
    }

    /// Whether what is found at the far end leads to each instance once at most: what leads there is
    /// all that is left of its key.
    fn names_once(&self, far: &FarEnd) -> bool {
        let [back] = far.back.as_slice() else {
            return false;
        };
        let given = |e: &Expr| matches!(e, Expr::Const(_) | Expr::Param(..));
        let fixed = |part: &Expr| {
            far.conditions.iter().any(|p| match p {
                Pred::Compare(a, Compare::Eq, b) => a == part && given(b) || b == part && given(a),
                _ => false,
            })
        };
        let leading = reference_paths(self.model, *back);
        let mut key = key_paths(self.model, far.entity).into_iter();
        far.steps.is_empty() && key.all(|part| leading.contains(&part) || fixed(&part))
    }

    /// What is wished of instances, wished of what leads to each of them once: their order, where
    /// it is that of their key, which is known there; and their limit, where all that is found there
    /// is taken.
    fn wish_at_far_end(
        &self,
        wish: &Wish,
        goal: &Goal,
        reference: ReferenceId,
        here: &Partial,
    ) -> Option<Wish> {
        let own = self.model.key_leaf_paths(goal.entity, goal.node, &[], &[]);
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
        let by = key.to_vec();
        state.then(|input| Op::Distinct { input, by });
    }
}

impl Source {
    /// Where the values are of what the node refers to by these steps.
    fn along(&self, steps: &[ReferenceId]) -> Vec<Source> {
        let beyond = |f: &&Fetched| f.element.is_empty() && f.steps.starts_with(steps);
        let rest = |f: &Fetched| Fetched {
            steps: f.steps.get(steps.len()..).unwrap_or_default().to_vec(),
            ..f.clone()
        };
        let beyond = |fetched: &[Fetched]| fetched.iter().filter(beyond).map(rest).collect();
        let from = |frame, shape, at: Vec<ReferenceId>, fetched: &[Fetched]| Source::Row {
            frame,
            shape,
            at,
            fetched: beyond(fetched),
        };
        let (own, fetched) = match self {
            Source::Row {
                frame,
                shape,
                at,
                fetched,
            } => {
                let at = [at, steps].concat();
                (Some(from(*frame, *shape, at, fetched)), fetched)
            }
            Source::Element { .. } => return vec![],
            Source::Carried {
                frame,
                carried,
                fetched,
            } => {
                let rest = carried.iter().filter_map(|(e, column)| {
                    let rest = behind(e, steps)?;
                    Some((rest, *column))
                });
                let own = Source::Carried {
                    frame: *frame,
                    carried: rest.collect(),
                    fetched: beyond(fetched),
                };
                (Some(own), fetched)
            }
        };
        let on_the_way = fetched.iter().filter(|f| f.element.is_empty());
        let on_the_way = on_the_way.filter_map(|f| {
            let at = steps.strip_prefix(f.steps.as_slice())?;
            Some(from(f.frame, f.shape, at.to_vec(), fetched))
        });
        own.into_iter().chain(on_the_way).collect()
    }
}

/// A path as seen from behind its first steps, where it has them.
fn behind(path: &Expr, steps: &[ReferenceId]) -> Option<Expr> {
    match path {
        Expr::Path {
            node,
            element,
            steps: all,
            leaf,
        } if element.is_empty() => Some(Expr::Path {
            node: *node,
            element: vec![],
            steps: all.strip_prefix(steps)?.to_vec(),
            leaf: leaf.clone(),
        }),
        _ => None,
    }
}

/// A state within a hop as one outside it: with the nodes that were bound before.
fn outside(hop: State, before: &State) -> State {
    State {
        nodes: before.nodes.clone(),
        known: before.known.clone(),
        ..hop
    }
}
