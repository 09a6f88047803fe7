//! Binding a node by one get (or a merge of several, or a scan), from every candidate that serves it.

use super::bind::{Partial, Wish, set_node};
use super::matching::{Match, Parts, Problem, Through};
use super::{Planner, Source, State};
use crate::design::assumed::{LIST, RANGE};
use crate::design::plan::{Estimate, Get, Op, Output, Plan, Sub, Term};
use crate::design::shape::{Requirement, ShapeId};
use crate::design::spread::directory;
use crate::model::{Direction, Expr, NodeId, Pred, Type};
use crate::view::typing::Scope;
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
        // What gathers all salts, buckets or sub-partitions reads as many rows as if there were none.
        let named = |e: &&Expr| !m.gathered.contains(e);
        let bound: Vec<&Expr> = m.bound.iter().filter(named).collect();
        let mut parts = m.eq.iter().zip(&m.bound);
        let item = parts.find(|(term, _)| matches!(term, Term::Item));
        let listed = match item {
            Some((_, part)) if !m.gathered.contains(part) => elements,
            _ => 1.0,
        };
        let mut per = self.stats.rows_per(&s, &bound).avg * listed;
        if m.lower.is_some() || m.upper.is_some() {
            per *= RANGE;
        }
        let shape_scope = Scope::new(self.model, s.anchor, &s.over);
        let compared = bound.iter().filter(|e| !m.computed.contains(e));
        let narrowed = partial.narrowed * self.stats.values(&shape_scope, bound.iter().copied())
            / self.stats.values(&shape_scope, compared.copied());
        let pass = self.stats.passes_left(scope, filters, &left) * narrowed;
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
            narrowed,
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
        let bound: Vec<&Expr> = s.partition.iter().take(through.before).collect();
        let directory = self.shapes.get(through.directory);
        let present = self.stats.rows_per(directory, &bound).avg.max(1.0);
        let held = self.stats.rows_per(s, &bound).avg / present;
        let buckets = (per / held.max(1e-9)).clamp(1.0, present);
        let rows = state.rows * buckets;
        let input = std::mem::replace(&mut state.op, Op::Input);
        let get = Get {
            structure: through.directory as u16,
            eq: through.eq.clone(),
            lower: through.lower.clone(),
            upper: through.upper.clone(),
            reverse: through.reverse,
            page: None,
        };
        state.op = self.read_directory(state, input, through.directory, get, rows);
        state.rows = rows;
        state.frames += 1;
    }

    /// A get of a directory for each row of a state, which pays for it and requires it.
    fn read_directory(
        &self,
        state: &mut State,
        input: Op,
        directory: ShapeId,
        get: Get,
        rows: f64,
    ) -> Op {
        let gets = state.rows;
        let among = self.stats.rows(self.shapes.get(directory));
        let cost = self.read_cost(among, gets, rows, 16.0);
        state.cost += cost;
        state.requires.insert(Requirement {
            shape: directory,
            column: None,
        });
        Op::Get {
            input: Box::new(input),
            get,
            outer: false,
            estimate: Estimate {
                rows,
                reads: rows,
                gets,
                cost,
            },
        }
    }

    /// The sub-partitions of a popular key that are present, as a list.
    fn list_parts(&self, state: &mut State, parts: &Parts) -> Term {
        let rows = state.rows * parts.average;
        let get = Get {
            structure: parts.directory as u16,
            eq: parts.eq.clone(),
            lower: None,
            upper: None,
            reverse: false,
            page: None,
        };
        let root = self.read_directory(state, Op::Input, parts.directory, get, rows);
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
