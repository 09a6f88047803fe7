//! Binding a node by one get (or a merge of several, or a scan), from every candidate that serves it.

use super::bind::{Partial, Wish, set_node};
use super::matching::{Match, key_columns};
use super::measured::marked;
use super::pieces::{List, Parts, Through, gets, named};
use super::problem::{ExistsBy, Problem};
use super::{Planner, Source, State};
use crate::design::plan::{Bound, Estimate, Get, Op, Output, Plan, Sub, Term};
use crate::design::shape::{Requirement, ShapeId};
use crate::design::shares::subject;
use crate::design::spread::directory;
use crate::model::{Compare, Direction, Expr, Leaf, NodeId, Page, ParamId, Pred, Type};
use crate::value::Value;
use crate::view::Structure;
use crate::view::typing::Scope;
use std::sync::Arc;

/// How much a match reads.
pub(super) struct Reach {
    /// Rows for each row of the state.
    per: f64,
    /// Gets for each.
    elements: f64,
    /// The share of them that the filters that are left let pass.
    pub(super) pass: f64,
    /// See [`Partial::narrowed`].
    narrowed: f64,
    /// The page that the get itself begins at.
    pub(super) page: Option<Page>,
}

impl Match {
    /// How many values lists name, of which rows are read.
    fn named(&self) -> f64 {
        let directory = self.through.as_ref().filter(|t| !t.once);
        directory.map_or(1.0, |t| named(&t.lists)) * named(&self.lists)
    }

    /// The key part that it has bounds of.
    fn ranged<'s>(&self, s: &'s Structure) -> Option<&'s Expr> {
        let bounded = self.lower.is_some() || self.upper.is_some();
        s.key().nth(self.bound.len()).filter(|_| bounded)
    }

    /// The filters that are not made good yet.
    pub(super) fn left(&self, partial: &Partial) -> Vec<usize> {
        let left = partial.left.iter().copied();
        left.filter(|i| !self.absorbed.contains(i)).collect()
    }
}

/// A get for each tuple, or a merge of one for each element of lists.
fn merged(
    input: Arc<Op>,
    lists: Vec<Vec<Term>>,
    get: Get,
    order: Vec<(Term, Direction)>,
    outer: bool,
    estimate: Estimate,
) -> Op {
    if lists.is_empty() {
        Op::Get {
            input,
            get,
            outer,
            estimate,
        }
    } else {
        Op::Merge {
            input,
            lists,
            get,
            order,
            estimate,
        }
    }
}

impl Planner<'_> {
    /// Single gets (and merges, and scans) from every candidate that serves the problem.
    pub(super) fn gets(
        &mut self,
        partial: &Partial,
        node: NodeId,
        problem: &Problem,
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let found = self.matches(problem, partial.state.frames);
        self.steps += found.len();
        let got = found.iter().filter_map(|(shape, m)| {
            self.get(partial, node, *shape, problem, m, filters, scope, wish)
        });
        got.collect()
    }

    /// Gets from every candidate over the elements of an `exists` of which values are given by each
    /// of several rows; each instance that they find once.
    pub(super) fn gets_of(
        &mut self,
        partial: &Partial,
        node: NodeId,
        problem: &Problem,
        exists: &ExistsBy,
        filters: &[Pred],
        scope: &Scope,
    ) -> Vec<Partial> {
        if self.growing {
            problem.grow_by(self, &[], &[], exists);
        }
        let mut out = Vec::new();
        for shape in problem.candidates(&self.shapes) {
            let s = self.shapes.get(shape);
            let found = problem.matches_of(self, s, partial.state.frames, exists);
            self.steps += found.len();
            for m in found {
                let m = Match { repeats: true, ..m };
                out.extend(self.get(partial, node, shape, problem, &m, filters, scope, None));
            }
        }
        out
    }

    fn get(
        &self,
        partial: &Partial,
        node: NodeId,
        shape: ShapeId,
        problem: &Problem,
        m: &Match,
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Option<Partial> {
        let s = self.shapes.get(shape);
        let left = m.left(partial);
        let order = self.wished_order(problem, m, s, partial.state.frames)?;
        let reach = self.reach(shape, m, problem, partial, &left, filters, scope, wish);
        let width = self.width_of(shape);
        let mut next = self.read(&partial.state, shape, m, &reach, width, order, false);
        let frame = next.frames - 1;
        set_node(
            &mut next,
            node,
            Source::Row {
                frame,
                shape,
                at: vec![],
                fetched: vec![],
            },
        );
        if m.repeats {
            let key = self.model.key_leaf_paths(problem.entity, node, &[], &[]);
            let key: Option<Vec<Term>> = key.iter().map(|k| self.locate(&next, k)).collect();
            self.distinct(&mut next, problem.entity, &key?);
        }
        Some(Partial {
            state: next,
            left,
            narrowed: reach.narrowed,
            ordered: m.ordered,
            paged: reach.page.is_some(),
        })
    }

    /// How much of a structure a match reads for each row of a state, as far as a limit lets it.
    pub(super) fn reach(
        &self,
        shape: ShapeId,
        m: &Match,
        problem: &Problem,
        partial: &Partial,
        left: &[usize],
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Reach {
        // What gathers all salts, buckets or sub-partitions reads as many rows as if there were none.
        let bound = marked(&m.bound, |e| !m.gathered.contains(e));
        let s = self.shapes.get(shape);
        let of_values = self.rows_per_of(shape, bound) * m.named() * self.typed(shape, m);
        let mut per = of_values.min(self.rows_of(shape)) * self.within(s, m);
        let compared = bound & !marked(&m.bound, |e| m.computed.contains(e));
        let by_parts = self.values_of(shape, bound) / self.values_of(shape, compared);
        let mut narrowed = partial.narrowed * by_parts / self.left_out(s, m, problem, left);
        let mut pass = self.stats.passes_left(scope, filters, left) * narrowed;
        // A structure that is expected to have fewer rows than are asked for of it has as many.
        if pass > 1.0 {
            per *= pass;
            narrowed /= pass;
            pass = 1.0;
        }
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
        Reach {
            per,
            elements: gets(&m.lists) * self.partitions_of(shape, m).min(per.max(1.0)),
            pass,
            narrowed,
            page: page.filter(|_| paged),
        }
    }

    /// How many partitions a get pays for: all of them where it reads all and the cost model says so.
    fn partitions_of(&self, shape: ShapeId, m: &Match) -> f64 {
        if !m.scans || !self.target.cost.rules.whole_partitions {
            return 1.0;
        }
        let s = self.shapes.get(shape);
        self.values_of(shape, marked(&s.partition, |_| true))
            .max(1.0)
    }

    /// The share of a structure's rows that the bounds of its next key part let pass.
    fn within(&self, s: &Structure, m: &Match) -> f64 {
        let Some(of) = m.ranged(s) else { return 1.0 };
        let bound = |bound: &Bound, op: Compare, or_equal: Compare| {
            let op = if bound.inclusive { or_equal } else { op };
            let value = match &bound.term {
                Term::Const(value) => Expr::Const(value.clone()),
                // Of what is given later, nothing else is known.
                _ => Expr::Param(ParamId(0), vec![]),
            };
            Pred::Compare(of.clone(), op, value)
        };
        let lower = m.lower.iter().map(|b| bound(b, Compare::Gt, Compare::Ge));
        let upper = m.upper.iter().map(|b| bound(b, Compare::Lt, Compare::Le));
        let kept = s.filter.iter().cloned();
        let preds: Vec<Pred> = kept.chain(lower).chain(upper).collect();
        let left: Vec<usize> = (s.filter.len()..preds.len()).collect();
        let scope = Scope::new(self.model, s.anchor, &s.over);
        self.stats.passes_left(&scope, &preds, &left)
    }

    /// The share that a structure keeps of the rows that meet what a get makes good, by conditions
    /// that only follow from those that are left.
    fn left_out(&self, s: &Structure, m: &Match, problem: &Problem, left: &[usize]) -> f64 {
        let done = problem.holds.iter().filter(|(i, _)| !left.contains(i));
        let mut preds: Vec<Pred> = done.map(|(_, p)| p.clone()).collect();
        let ranged = m.ranged(s);
        let bound = |of: &Expr| m.bound.contains(of) || ranged == Some(of);
        let known = |p: &Pred| preds.contains(p) || subject(p).is_some_and(bound);
        let new: Vec<Pred> = s.filter.iter().filter(|p| !known(p)).cloned().collect();
        if new.is_empty() {
            return 1.0;
        }
        let left: Vec<usize> = (preds.len()..preds.len() + new.len()).collect();
        preds.extend(new);
        let scope = Scope::new(self.model, s.anchor, &s.over);
        self.stats.passes_left(&scope, &preds, &left).max(1e-9)
    }

    /// How many times as many instances as on average are of the types that a match names.
    fn typed(&self, shape: ShapeId, m: &Match) -> f64 {
        let s = self.shapes.get(shape);
        let parts = s.key().zip(&m.eq);
        let mut named = parts
            .filter_map(|(part, term)| match (part, term) {
                (
                    Expr::Path {
                        leaf: Leaf::Type, ..
                    },
                    Term::Const(of),
                ) => Some((part, Expr::Const(of.clone()))),
                _ => None,
            })
            .peekable();
        if named.peek().is_none() {
            return 1.0;
        }
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let times = |(part, of): (&Expr, Expr)| {
            let share = self.stats.of_types(&scope, part, std::iter::once(&of))?;
            Some(share * self.stats.cardinality(&scope, part))
        };
        named.filter_map(times).product()
    }

    /// Reads the rows of a match for each row of a state, into a frame of their own: by a get, or by
    /// a merge in this order. `outer`: a get without a row gives a frame of nulls.
    pub(super) fn read(
        &self,
        state: &State,
        shape: ShapeId,
        m: &Match,
        reach: &Reach,
        width: f64,
        order: Vec<(Term, Direction)>,
        outer: bool,
    ) -> State {
        let mut next = state.clone();
        if let Some(through) = &m.through {
            self.get_directory(&mut next, through, shape, reach.per);
        }
        let lists = self.lists(&mut next, &m.lists);
        let gets = next.rows * reach.elements;
        let rows = (state.rows * reach.per).max(0.0);
        let cost = self.read_cost(self.rows_of(shape), gets, rows, width);
        next.cost += cost;
        next.rows = if outer { rows.max(state.rows) } else { rows };
        let itself = Requirement {
            shape,
            column: None,
        };
        self.require(&mut next, itself);
        next.frames += 1;
        let get = Get {
            structure: shape as u16,
            eq: m.eq.clone(),
            lower: m.lower.clone(),
            upper: m.upper.clone(),
            reverse: m.reverse,
            page: reach.page.clone(),
        };
        let estimate = Estimate {
            rows,
            reads: rows,
            gets,
            cost,
        };
        next.then(|input| merged(input, lists, get, order, outer, estimate));
        next
    }

    /// The lists that a merge goes over; what lists sub-partitions is read for each row of a state.
    fn lists(&self, state: &mut State, lists: &[List]) -> Vec<Vec<Term>> {
        let terms = lists.iter().map(|list| match list {
            List::Named(_, terms) => terms.clone(),
            List::Salts(n) => (0..*n).map(|i| Term::Const(Value::Int(i))).collect(),
            List::Parts(parts) => vec![self.list_parts(state, parts)],
        });
        terms.collect()
    }

    /// Reads the buckets that are present, as many as it takes to get at so many rows.
    pub(super) fn get_directory(
        &self,
        state: &mut State,
        through: &Through,
        shape: ShapeId,
        per: f64,
    ) {
        let s = self.shapes.get(shape);
        let bound: Vec<&Expr> = s.partition.iter().take(through.before).collect();
        let directory = self.shapes.get(through.directory);
        let keys = named(&through.lists);
        let of_key = self.stats.rows_per(directory, &bound).max(1.0);
        let listed = keys * of_key;
        // Several keys have some buckets in common.
        let present = if through.once {
            let scope = Scope::new(self.model, directory.anchor, &directory.over);
            let bucket = directory.clustering.first();
            let all = bucket.map_or(1.0, |(e, _)| self.stats.cardinality(&scope, e));
            let all = all.max(of_key);
            all * (1.0 - (1.0 - of_key / all).powf(keys))
        } else {
            listed
        };
        let before = marked(&s.partition, |e| bound.contains(&e));
        let held = keys * self.rows_per_of(shape, before) / present;
        let buckets = (per / held.max(1e-9)).clamp(1.0, present.max(1.0));
        let rows = state.rows * buckets * listed / present;
        let get = Get {
            structure: through.directory as u16,
            eq: through.eq.clone(),
            lower: through.lower.clone(),
            upper: through.upper.clone(),
            reverse: through.reverse,
            page: None,
        };
        let column = directory.partition.len();
        let bucket = Term::Column {
            frame: state.frames,
            column: column as u16,
            path: vec![],
        };
        let together = through.once && !through.lists.is_empty();
        let order = together.then(|| {
            let stored = directory.direction(column);
            let turned = if through.reverse {
                stored.opposite()
            } else {
                stored
            };
            (bucket.clone(), turned)
        });
        let input = state.op.clone();
        let order = order.into_iter().collect();
        let op = self.read_directory(state, input, get, &through.lists, order, rows);
        state.op = Arc::new(op);
        if together {
            let by = vec![bucket];
            state.then(|input| Op::Distinct { input, by });
        }
        state.rows *= buckets;
        state.frames += 1;
    }

    /// A get of a directory for each row of a state and each element of lists, which pays for it
    /// and requires it.
    fn read_directory(
        &self,
        state: &mut State,
        input: Arc<Op>,
        get: Get,
        lists: &[List],
        order: Vec<(Term, Direction)>,
        rows: f64,
    ) -> Op {
        let directory = ShapeId::from(get.structure);
        let gets = state.rows * gets(lists);
        let among = self.rows_of(directory);
        let cost = self.read_cost(among, gets, rows, 16.0);
        state.cost += cost;
        let itself = Requirement {
            shape: directory,
            column: None,
        };
        self.require(state, itself);
        let estimate = Estimate {
            rows,
            reads: rows,
            gets,
            cost,
        };
        let lists = self.lists(state, lists);
        merged(input, lists, get, order, false, estimate)
    }

    /// The sub-partitions of popular keys that are present, as a list.
    fn list_parts(&self, state: &mut State, parts: &Parts) -> Term {
        let rows = state.rows * parts.average * named(&parts.lists);
        let get = Get {
            structure: parts.directory as u16,
            eq: parts.eq.clone(),
            lower: None,
            upper: None,
            reverse: false,
            page: None,
        };
        let frame = state.frames;
        let root = self.read_directory(state, Arc::new(Op::Input), get, &parts.lists, vec![], rows);
        let column = |&column: &u16| Term::Column {
            frame,
            column,
            path: vec![],
        };
        let columns: Vec<Term> = parts.columns.iter().map(column).collect();
        let (term, ty) = match columns.as_slice() {
            [number] => (number.clone(), Type::Int),
            // Nobody prints an element: a merge takes it apart.
            [number, ..] => (Term::Shape(Box::new(number.clone()), columns), Type::Any),
            [] => (Term::Const(Value::Null), Type::Any),
        };
        let part = Output {
            name: "part".into(),
            term,
            ty,
        };
        Term::Sub(Arc::new(Sub::Values(Plan {
            outer: frame,
            root,
            output: vec![part],
            cursor: vec![],
        })))
    }

    /// The order in which the gets of a match are merged, whose rows are behind so many frames;
    /// empty where it gives none. None where a part of it is not in the key.
    pub(super) fn wished_order(
        &self,
        problem: &Problem,
        m: &Match,
        s: &Structure,
        frames: u16,
    ) -> Option<Vec<(Term, Direction)>> {
        if !m.ordered || m.lists.is_empty() {
            return Some(vec![]);
        }
        let frame = frames + u16::from(m.through.is_some());
        let columns = key_columns(s, problem.order.as_ref()?)?.into_iter();
        let term = |column| Term::Column {
            frame,
            column,
            path: vec![],
        };
        Some(columns.map(|(c, d)| (term(c), d)).collect())
    }

    /// The candidate as it fits the target, known or (where candidates may be made) new.
    pub(super) fn spread_shapes(&mut self, s: Structure) -> Vec<ShapeId> {
        if !self.growing {
            let fitting = self.fitting(s);
            return fitting
                .iter()
                .filter_map(|s| self.shapes.known(s))
                .collect();
        }
        // The same candidates are called for by many partial plans.
        if let Some(known) = self.admitted.get(&s) {
            return known.clone();
        }
        let mut out = Vec::new();
        for s in self.fitting(s.clone()) {
            if self.needs_directory(&s)
                && let Some(d) = directory(self.model, &s)
            {
                self.shapes.intern(self.model, d);
            }
            out.push(self.shapes.intern(self.model, s));
        }
        self.admitted.insert(s, out.clone());
        out
    }
}
