//! Binding a node: from parameters and outer rows to the instances that it ranges over, by one
//! get, by a walk of several, or by a scan.

use super::matching::{Eq, EqValue, ExistsEq, Match, Parts, Problem, Range, Through};
use super::supply::key_leaf_paths;
use super::{Planner, Source, State};
use crate::design::assumed::{LIST, RANGE};
use crate::design::plan::{Bound, Estimate, Get, Op, Output, Plan, Sub, Term};
use crate::design::shape::{Requirement, ShapeId, key_paths, reference_paths};
use crate::design::spread::directory;
use crate::model::{
    Compare, Direction, EntityId, Expr, Leaf, Many, NodeId, Page, Pred, ReferenceId, Type, Unfold,
};
use crate::view::Kind;
use crate::view::typing::Scope;

use super::atoms::{Mentions, rebase};

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

    fn problem(
        &self,
        partial: &Partial,
        node: NodeId,
        entity: EntityId,
        given: &[(Expr, Term)],
        filters: &[Pred],
        wish: Option<&Wish>,
    ) -> Problem {
        let mut p = Problem {
            entity,
            eqs: given
                .iter()
                .map(|(expr, term)| Eq {
                    expr: expr.clone(),
                    value: EqValue::One(term.clone()),
                    filter: None,
                })
                .collect(),
            ranges: vec![],
            exists: vec![],
            order: None,
        };
        let zero = |e: &Expr| rebase(e, &|n| (n == node).then_some(0));
        for &i in &partial.left {
            match filters.get(i) {
                Some(Pred::Compare(a, op, b)) => {
                    let Some((expr, op, term)) = self.sided(&partial.state, node, a, *op, b) else {
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
                            add_range(&mut p.ranges, expr, op, term, i);
                        }
                        Compare::Eq | Compare::Ne => {}
                    }
                }
                Some(Pred::In(a, list)) => {
                    let terms: Option<Vec<Term>> =
                        list.iter().map(|e| self.term(&partial.state, e)).collect();
                    if let (true, Some(expr), Some(terms)) = (is_key_expr(a), zero(a), terms)
                        && Mentions::of_expr(a).only(node)
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
                    if let (true, Some(expr), Some(term)) =
                        (is_key_expr(a), zero(a), self.term(&partial.state, list))
                        && Mentions::of_expr(a).only(node)
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
                }) if *from == node => {
                    p.exists
                        .extend(self.exists_eq(&partial.state, i, over, filter));
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
                    .filter(|(e, _)| is_key_expr(e) && !fixed(e) || !is_key_expr(e))
                    .collect()
            });
            if p.order
                .as_ref()
                .is_some_and(|o| o.iter().any(|(e, _)| !is_key_expr(e)))
            {
                p.order = None;
            }
        }
        p
    }

    /// A comparison with the node's expression on the left and something known on the right.
    fn sided(
        &self,
        state: &State,
        node: NodeId,
        a: &Expr,
        op: Compare,
        b: &Expr,
    ) -> Option<(Expr, Compare, Term)> {
        let usable = |e: &Expr| {
            let m = Mentions::of_expr(e);
            is_key_expr(e) && !m.nodes.is_empty() && m.only(node) && !m.params
        };
        if usable(a) && !Mentions::of_expr(b).nodes.contains(&node) {
            return Some((a.clone(), op, self.term(state, b)?));
        }
        if usable(b) && !Mentions::of_expr(a).nodes.contains(&node) {
            return Some((b.clone(), op.flipped(), self.term(state, a)?));
        }
        None
    }

    /// An `exists` whose conditions are equalities with known values.
    fn exists_eq(
        &self,
        state: &State,
        filter: usize,
        over: &[Unfold],
        pred: &Pred,
    ) -> Option<ExistsEq> {
        let conditions = match pred {
            Pred::And(all) => all.iter().collect(),
            p => vec![p],
        };
        let mut eqs = Vec::new();
        for condition in conditions {
            let Pred::Compare(a, Compare::Eq, b) = condition else {
                return None;
            };
            let (expr, value) = if Mentions::of_expr(b).nodes.is_empty() {
                (a, b)
            } else {
                (b, a)
            };
            let m = Mentions::of_expr(expr);
            if !is_key_expr(expr) || m.nodes.is_empty() || m.nodes.contains(&0) {
                return None;
            }
            let eq = Eq {
                expr: expr.clone(),
                value: EqValue::One(self.term(state, value)?),
                filter: None,
            };
            eqs.push(eq);
        }
        Some(ExistsEq {
            filter,
            over: over.to_vec(),
            eqs,
        })
    }

    /// Single gets (and merges, and scans) from every candidate that serves the problem.
    fn gets(
        &mut self,
        partial: &Partial,
        node: NodeId,
        problem: &Problem,
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        if self.growing {
            problem.grow(self);
        }
        let mut out = Vec::new();
        for shape in 0..self.shapes.all.len() {
            let s = self.shapes.get(shape);
            if s.anchor != problem.entity {
                continue;
            }
            if let Some(m) = problem.matches(self, s, partial.state.frames) {
                out.extend(self.get(partial, node, shape, problem, &m, filters, scope, wish));
            }
        }
        out
    }

    fn get(
        &mut self,
        partial: &Partial,
        node: NodeId,
        shape: ShapeId,
        problem: &Problem,
        m: &Match,
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Option<Partial> {
        self.steps += 1;
        let s = self.shapes.get(shape).clone();
        let left: Vec<usize> = partial
            .left
            .iter()
            .copied()
            .filter(|i| !m.absorbed.contains(i))
            .collect();
        let elements = match &m.each {
            None => m.parts.as_ref().map_or(1.0, |parts| parts.average),
            Some(list) if list.len() == 1 => LIST,
            Some(list) => list.len() as f64,
        };
        // Through a directory all buckets are read, not one.
        let bucket = m.through.as_ref().and_then(|t| s.partition.get(t.eq.len()));
        let bound: Vec<&Expr> = m.bound.iter().filter(|e| Some(*e) != bucket).collect();
        let mut per = self.stats.rows_per(&s, &bound).avg * elements;
        if m.lower.is_some() || m.upper.is_some() {
            per *= RANGE;
        }
        let pass = self.stats.passes_left(scope, filters, &left);
        let page = wish.and_then(|w| w.page.clone());
        // The cursor's values are those of the wished order, all of them.
        let whole = problem.order.as_ref().map(Vec::len) == wish.map(|w| w.order.len());
        let paged = page.is_some() && m.ordered && m.seekable && whole;
        if let (true, Some(limit)) = (m.ordered, wish.and_then(|w| w.limit))
            && (page.is_none() || paged)
            && (left.is_empty() || self.target.cost.rules.early_limit)
        {
            per = per.min(limit / pass.max(1e-9));
        }
        let mut next = partial.state.clone();
        if let Some(through) = &m.through {
            self.get_directory(&mut next, through, &s, per);
        }
        let parts = m
            .parts
            .as_ref()
            .map(|p| vec![self.list_parts(&mut next, p)]);
        let gets = next.rows * elements;
        let rows = (partial.state.rows * per).max(0.0);
        let identity = self.shapes.all.get(shape).is_some_and(|s| s.identity);
        let shape_scope = Scope::new(self.model, s.anchor, &s.over);
        let width = if identity {
            self.home_width(s.anchor)
        } else {
            s.key().map(|e| self.stats.bytes(&shape_scope, e).avg).sum()
        };
        let cost = self.read_cost(self.stats.rows(&s), gets, rows, width);
        next.cost += cost;
        next.rows = rows;
        next.requires.insert(Requirement {
            shape,
            column: None,
        });
        let frame = next.frames;
        next.frames += 1;
        let get = Get {
            structure: shape as u16,
            eq: m.eq.clone(),
            lower: m.lower.clone(),
            upper: m.upper.clone(),
            reverse: m.reverse,
            page: if paged { page } else { None },
        };
        let estimate = Estimate {
            rows,
            reads: rows,
            gets,
            cost,
        };
        let input = Box::new(next.op);
        next.op = match m.each.as_ref().or(parts.as_ref()) {
            None => Op::Get {
                input,
                get,
                outer: false,
                estimate,
            },
            Some(list) => {
                let order = if m.ordered {
                    self.merge_order(problem, &s, frame)?
                } else {
                    vec![]
                };
                Op::Merge {
                    input,
                    list: list.clone(),
                    get,
                    order,
                    estimate,
                }
            }
        };
        set_node(
            &mut next,
            node,
            Source::Row {
                frame,
                shape,
                fetched: vec![],
            },
        );
        Some(Partial {
            state: next,
            left,
            ordered: m.ordered,
            paged,
        })
    }

    /// Reads the buckets that are present, as many as it takes to get at so many rows.
    pub(super) fn get_directory(
        &self,
        state: &mut State,
        through: &Through,
        s: &crate::view::Structure,
        per: f64,
    ) {
        let bound: Vec<&Expr> = s.partition.iter().take(through.eq.len()).collect();
        let directory = self.shapes.get(through.directory);
        let present = self.stats.rows_per(directory, &bound).avg.max(1.0);
        let held = self.stats.rows_per(s, &bound).avg / present;
        let buckets = (per / held.max(1e-9)).clamp(1.0, present);
        let gets = state.rows;
        let rows = gets * buckets;
        let cost = self.read_cost(self.stats.rows(directory), gets, rows, 16.0);
        state.cost += cost;
        state.rows = rows;
        state.requires.insert(Requirement {
            shape: through.directory,
            column: None,
        });
        state.frames += 1;
        let input = std::mem::replace(&mut state.op, Op::Input);
        state.op = Op::Get {
            input: Box::new(input),
            get: Get {
                structure: through.directory as u16,
                eq: through.eq.clone(),
                lower: through.lower.clone(),
                upper: through.upper.clone(),
                reverse: through.reverse,
                page: None,
            },
            outer: false,
            estimate: Estimate {
                rows,
                reads: rows,
                gets,
                cost,
            },
        };
    }

    /// The sub-partitions of a popular key that are present, as a list.
    fn list_parts(&self, state: &mut State, parts: &Parts) -> Term {
        let gets = state.rows;
        let rows = gets * parts.average;
        let among = self.stats.rows(self.shapes.get(parts.directory));
        let cost = self.read_cost(among, gets, rows, 16.0);
        state.cost += cost;
        state.requires.insert(Requirement {
            shape: parts.directory,
            column: None,
        });
        let root = Op::Get {
            input: Box::new(Op::Input),
            get: Get {
                structure: parts.directory as u16,
                eq: parts.eq.clone(),
                lower: None,
                upper: None,
                reverse: false,
                page: None,
            },
            outer: false,
            estimate: Estimate {
                rows,
                reads: rows,
                gets,
                cost,
            },
        };
        let part = Output {
            name: "part".into(),
            term: Term::Column {
                frame: state.frames,
                column: parts.eq.len() as u16,
                path: vec![],
            },
            ty: Type::Int,
        };
        Term::Sub(Box::new(Sub::Values(Plan {
            outer: state.frames,
            root,
            output: vec![part],
            cursor: vec![],
        })))
    }

    fn merge_order(
        &self,
        problem: &Problem,
        s: &crate::view::Structure,
        frame: u16,
    ) -> Option<Vec<(Term, Direction)>> {
        let order = problem.order.as_ref()?;
        order
            .iter()
            .map(|(e, d)| {
                let column = s.key().position(|k| k == e)? as u16;
                Some((
                    Term::Column {
                        frame,
                        column,
                        path: vec![],
                    },
                    *d,
                ))
            })
            .collect()
    }

    /// Walks: first the far end of a path, then back to the node, get by get.
    fn walks(
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
        };
        let partial = Partial {
            state: state.clone(),
            left: vec![],
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

    /// The candidate as it fits the target, known or (where candidates may be made) new.
    pub(super) fn spread_shapes(&mut self, s: crate::view::Structure) -> Vec<ShapeId> {
        if !self.growing {
            let fitting = self.fitting(s);
            return fitting
                .iter()
                .filter_map(|s| self.shapes.known(s))
                .collect();
        }
        let mut out = Vec::new();
        for s in self.fitting(s) {
            if let Some(d) =
                directory(self.model, &s).filter(|_| !self.target.capabilities.ordered_partitions)
            {
                self.shapes.intern(self.model, d);
            }
            out.push(self.shapes.intern(self.model, s));
        }
        out
    }
}

pub(super) fn set_node(state: &mut State, node: NodeId, source: Source) {
    let node = node as usize;
    if state.nodes.len() <= node {
        state.nodes.resize(node + 1, None);
    }
    if let Some(slot) = state.nodes.get_mut(node) {
        *slot = Some(source);
    }
}

/// Whether an expression may stand in a key: a path or a function of paths.
pub(super) fn is_key_expr(expr: &Expr) -> bool {
    match expr {
        Expr::Path { leaf, element, .. } => element.is_empty() && !matches!(leaf, Leaf::Key),
        Expr::Call(_, args) => args
            .iter()
            .all(|a| is_key_expr(a) || matches!(a, Expr::Const(_))),
        _ => false,
    }
}

fn add_range(ranges: &mut Vec<Range>, expr: Expr, op: Compare, term: Term, filter: usize) {
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
