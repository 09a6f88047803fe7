//! Whole queries: bind the nodes, filter, group, order, page, limit, and answer.

use super::atoms::{self, Mentions};
use super::bind::{Partial, Wish, set_node};
use super::{PlanOption, Planner, Requires, Source, State, undominated, unite};
use crate::design::assumed::LIMIT;
use crate::design::plan::{Aggregation, Estimate, Op, Output, Plan, Term};
use crate::design::shape::reference_paths;
use crate::model::{
    Aggregate, Compare, Direction, Expr, Leaf, Many, NodeId, Page, Pred, Query, Unfold,
};
use crate::value::Value;
use crate::view::typing::{NodeType, Scope};
use std::rc::Rc;
use std::sync::Arc;

impl Planner<'_> {
    /// All undominated ways to answer a query, from the start of a plan or inside one.
    pub(crate) fn options(&mut self, query: &Query) -> Vec<PlanOption> {
        self.forget_made();
        let mut out = Vec::new();
        let mut seen = Some(query.clone());
        while let Some(query) = seen {
            self.steps = 0;
            let scope = Scope::new(self.model, query.anchor, &query.over);
            let start = State::start(0, vec![None], 1.0, Requires::default());
            out.extend(self.answer(start, &query, &scope));
            seen = self.turned(&query);
        }
        for query in self.by_element(query) {
            let mut seen = Some(query);
            while let Some(query) = seen {
                self.steps = 0;
                let scope = Scope::new(self.model, query.anchor, &query.over);
                let start = State::start(0, vec![None], 1.0, Requires::default());
                out.extend(self.answer_kept(&start, &query, &scope));
                seen = self.turned(&query);
            }
        }
        undominated(out)
    }

    /// The ways to answer a query from groups that are kept.
    fn answer_kept(&mut self, start: &State, query: &Query, scope: &Scope) -> Vec<PlanOption> {
        let nested = start.nodes.first().is_some_and(Option::is_some);
        if nested {
            return (self.answer_kept_inside(start, query, scope)).unwrap_or_default();
        }
        let order = free_order(query);
        let mut out = Vec::new();
        for partial in self.group_options(start, &[], query, scope) {
            out.extend(self.finish(partial, query, scope, &order, start.rows));
        }
        out
    }

    pub(super) fn answer(&mut self, start: State, query: &Query, scope: &Scope) -> Vec<PlanOption> {
        let order = free_order(query);
        let wish = query.group.is_none().then(|| Wish {
            order: order.clone(),
            limit: query.limit.as_ref().map(limit_rows),
            page: query.page.clone(),
        });
        let mut out = Vec::new();
        let outer = start.rows;
        if query.group.is_some() {
            out.extend(self.answer_kept(&start, query, scope));
        }
        let needs = needed(query);
        for partial in self.bound_and_filtered(
            start,
            &query.over,
            &query.filter,
            scope,
            wish.as_ref(),
            &needs,
        ) {
            let grouped = match &query.group {
                None => vec![partial],
                Some(by) => self.grouped(partial, query, by, scope),
            };
            for partial in grouped {
                out.extend(self.finish(partial, query, scope, &order, outer));
            }
        }
        undominated(out)
    }

    /// Binds every node and applies every filter. `needs`: the atoms that are asked for then.
    pub(super) fn bound_and_filtered(
        &mut self,
        start: State,
        over: &[Unfold],
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
        needs: &[Expr],
    ) -> Vec<Partial> {
        let bound = self.bound(start.clone(), over, filters, scope, wish);
        let mut filtered: Vec<Partial> = bound
            .into_iter()
            .flat_map(|p| self.filter(p, filters, scope))
            .collect();
        filtered.extend(self.united(&start, over, filters, scope, wish, needs));
        self.trim_partials(filtered)
    }

    /// Binds every node; filters that no get has made good are left.
    pub(super) fn bound(
        &mut self,
        start: State,
        over: &[Unfold],
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let nested = start.nodes.first().is_some_and(Option::is_some);
        let first = Partial {
            state: start,
            left: (0..filters.len()).collect(),
            narrowed: 1.0,
            ordered: false,
            paged: false,
        };
        let mut partials = vec![first];
        if !nested {
            let NodeType::Instance(anchor) = scope.node(0) else {
                return vec![];
            };
            let wish = if over.is_empty() { wish } else { None };
            let bound = partials
                .iter()
                .flat_map(|p| self.bind(p, 0, anchor, &[], filters, scope, wish));
            let bound = bound.collect();
            partials = self.trim_partials(bound);
        }
        for (i, unfold) in over.iter().enumerate() {
            // Only the one set of rows that makes up the answer can bring its order along.
            let wish = if nested && over.len() == 1 {
                wish
            } else {
                None
            };
            let node = (i + 1) as NodeId;
            let next = partials
                .iter()
                .flat_map(|p| self.unfold(p, node, unfold, filters, scope, wish));
            let next = next.collect();
            partials = self.trim_partials(next);
        }
        partials
    }

    fn unfold(
        &mut self,
        partial: &Partial,
        node: NodeId,
        unfold: &Unfold,
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let mut out = Vec::new();
        match &unfold.many {
            Many::Back(reference) => {
                let target = self.model.reference(*reference).target;
                let keys = self
                    .model
                    .key_leaf_paths(target, unfold.parent, &[], &unfold.steps);
                for state in self.supply(partial.state.clone(), scope, &keys) {
                    let terms: Option<Vec<Term>> =
                        keys.iter().map(|k| self.locate(&state, k)).collect();
                    let Some(terms) = terms else { continue };
                    let given: Vec<(Expr, Term)> = reference_paths(self.model, *reference)
                        .into_iter()
                        .zip(terms)
                        .collect();
                    let here = Partial {
                        state,
                        ..partial.clone()
                    };
                    let entity = self.model.reference(*reference).entity;
                    out.extend(self.bind(&here, node, entity, &given, filters, scope, wish));
                }
            }
            Many::Elements(..) | Many::ElementElements(_) => {
                let (steps, leaf) = match &unfold.many {
                    Many::Elements(a, path) => {
                        (unfold.steps.clone(), Leaf::Attribute(*a, path.clone()))
                    }
                    Many::ElementElements(path) => (vec![], Leaf::Element(path.clone())),
                    Many::Back(_) => return out,
                };
                let atom = Expr::Path {
                    node: unfold.parent,
                    element: vec![],
                    steps,
                    leaf,
                };
                for mut state in
                    self.supply(partial.state.clone(), scope, std::slice::from_ref(&atom))
                {
                    let Some(of) = self.locate(&state, &atom) else {
                        continue;
                    };
                    let frame = state.frames;
                    state.frames += 1;
                    state.rows *= self.stats.fan(unfold, scope).avg;
                    state.op = Arc::new(Op::Elements {
                        input: state.op,
                        of,
                    });
                    set_node(
                        &mut state,
                        node,
                        Source::Element {
                            frame,
                            first: 0,
                            fetched: vec![],
                        },
                    );
                    out.push(Partial {
                        state,
                        left: partial.left.clone(),
                        narrowed: partial.narrowed,
                        ordered: false,
                        paged: false,
                    });
                }
            }
        }
        out
    }

    /// Groups rows by an operator.
    fn grouped(
        &mut self,
        partial: Partial,
        query: &Query,
        by: &[Expr],
        scope: &Scope,
    ) -> Vec<Partial> {
        let aggregates = group_aggregates(query);
        let mut wanted = Vec::new();
        by.iter().for_each(|e| atoms::of_expr(e, &mut wanted));
        aggregates
            .iter()
            .filter_map(|a| a.arg.as_ref())
            .for_each(|e| atoms::of_expr(e, &mut wanted));
        let wanted = self.whole_keys(&wanted);
        let mut out = Vec::new();
        for mut state in self.supply(partial.state.clone(), scope, &wanted) {
            let group: Option<Vec<Term>> = by.iter().map(|e| self.term(&state, e)).collect();
            let list: Option<Vec<Aggregation>> = aggregates
                .iter()
                .map(|a| {
                    let arg = match &a.arg {
                        Some(arg) => Some(self.term(&state, arg)?),
                        None => None,
                    };
                    Some(Aggregation {
                        function: a.function,
                        distinct: a.distinct,
                        arg,
                        stored: false,
                    })
                })
                .collect();
            let (Some(group), Some(list)) = (group, list) else {
                continue;
            };
            let groups = self.stats.values(scope, by.iter());
            let cost = state.rows * self.target.cost.sort_row;
            state.cost += cost;
            state.rows = state
                .rows
                .min(groups)
                .max(f64::from(u8::from(by.is_empty())));
            let column = |i: usize| Term::Column {
                frame: 0,
                column: i as u16,
                path: vec![],
            };
            let aggregates = aggregates.iter().cloned();
            let aggregates = aggregates.map(|a| Expr::Aggregate(Box::new(a)));
            let known = by.iter().cloned().chain(aggregates);
            let known = known.enumerate().map(|(i, e)| (e, column(i)));
            state.known = Rc::new(known.collect());
            state.op = Arc::new(Op::Aggregate {
                input: state.op,
                group,
                aggregates: list,
                always: by.is_empty(),
                estimate: Estimate {
                    rows: state.rows,
                    cost,
                    ..Estimate::default()
                },
            });
            state.frames = 1;
            state.nodes = Rc::new(vec![None]);
            out.push(Partial {
                state,
                left: vec![],
                narrowed: 1.0,
                ordered: false,
                paged: false,
            });
        }
        out
    }

    /// Order, page, limit, and the answer's columns.
    pub(super) fn finish(
        &mut self,
        partial: Partial,
        query: &Query,
        scope: &Scope,
        order: &[(Expr, Direction)],
        outer: f64,
    ) -> Vec<PlanOption> {
        let mut sorted = Vec::new();
        let unpaged = query.page.is_some() && !partial.paged;
        if (partial.ordered || order.is_empty()) && !unpaged {
            sorted.push(partial.state);
        } else {
            let wanted = self.missing(&partial.state, order.iter().map(|(e, _)| e));
            for mut state in self.supply(partial.state.clone(), scope, &wanted) {
                let by: Option<Vec<_>> = order
                    .iter()
                    .map(|(e, d)| Some((self.term(&state, e)?, *d)))
                    .collect();
                let Some(by) = by else { continue };
                if !partial.ordered {
                    state = self.sort(state, by.clone());
                }
                if let (true, Some(page)) = (unpaged, &query.page) {
                    state.op = Arc::new(Op::Page {
                        input: state.op,
                        by,
                        page: page.clone(),
                    });
                }
                sorted.push(state);
            }
        }
        let mut out = Vec::new();
        for mut state in sorted {
            if let Some(limit) = &query.limit {
                let Some(count) = self.term(&state, limit) else {
                    continue;
                };
                if self.target.cost.rules.early_limit {
                    state.rows = state.rows.min(outer * limit_rows(limit));
                }
                let last = matches!(query.page, Some(Page::Before(_)));
                state.op = Arc::new(Op::Limit {
                    input: state.op,
                    count,
                    last,
                });
            }
            let wanted = self.missing(&state, query.select.iter().map(|i| &i.expr));
            for state in self.supply(state, scope, &wanted) {
                out.extend(self.output(state, query, scope, order));
            }
        }
        undominated(out)
    }

    /// Sorts the rows of a state.
    pub(super) fn sort(&self, mut state: State, by: Vec<(Term, Direction)>) -> State {
        let cost = self.target.cost.sort + state.rows * self.target.cost.sort_row;
        state.cost += cost;
        let estimate = Estimate {
            rows: state.rows,
            cost,
            ..Estimate::default()
        };
        state.op = Arc::new(Op::Sort {
            input: state.op,
            by,
            estimate,
        });
        state
    }

    fn output(
        &self,
        state: State,
        query: &Query,
        scope: &Scope,
        order: &[(Expr, Direction)],
    ) -> Option<PlanOption> {
        let output: Option<Vec<Output>> = query
            .select
            .iter()
            .map(|item| {
                let term = self.term(&state, &item.expr)?;
                let ty = scope.type_of(self.model, &self.params, &item.expr).0;
                Some(Output {
                    name: item.name.clone(),
                    term,
                    ty,
                })
            })
            .collect();
        let cursor: Option<Vec<Term>> = order.iter().map(|(e, _)| self.term(&state, e)).collect();
        Some(PlanOption {
            plan: Plan {
                outer: state.outer,
                root: Arc::unwrap_or_clone(state.op),
                output: output?,
                cursor: cursor.unwrap_or_default(),
            },
            cost: state.cost,
            rows: state.rows,
            requires: state.requires,
        })
    }

    /// The atoms of expressions that are not known yet, whole keys as their scalars.
    fn missing<'e>(&self, state: &State, wanted: impl Iterator<Item = &'e Expr>) -> Vec<Expr> {
        let mut unknown = Vec::new();
        wanted.for_each(|e| atoms::unknown(e, &|e| self.locate(state, e).is_some(), &mut unknown));
        self.whole_keys(&unknown)
    }

    /// A whole key is supplied by its scalars.
    pub(super) fn whole_keys(&self, wanted: &[Expr]) -> Vec<Expr> {
        let mut out: Vec<Expr> = Vec::new();
        for atom in wanted {
            let parts = match atom {
                Expr::Path {
                    node,
                    element,
                    steps,
                    leaf: Leaf::Key,
                } if !steps.is_empty() => {
                    let target = steps.last().map(|&s| self.model.reference(s).target);
                    target.map_or(vec![], |t| {
                        self.model.key_leaf_paths(t, *node, element, steps)
                    })
                }
                _ => vec![atom.clone()],
            };
            for part in parts {
                if !out.contains(&part) {
                    out.push(part);
                }
            }
        }
        out
    }
}

impl Planner<'_> {
    /// Keeps partly bound queries in bounds. One beats another if it costs no more, requires no
    /// more, has no more filters left, gives the order if the other does, and can come to know as
    /// much.
    pub(super) fn trim_partials(&self, mut partials: Vec<Partial>) -> Vec<Partial> {
        partials.retain(|p| self.may_read(&p.state));
        partials.sort_by(|a, b| a.state.cost.total_cmp(&b.state.cost));
        let beats = |a: &Partial, b: &Partial| {
            a.state.requires.is_subset(&b.state.requires)
                && a.state.cost <= b.state.cost
                && a.state.rows <= b.state.rows * 1.000_001
                && (a.ordered || !b.ordered)
                && (a.paged || !b.paged)
                && a.left.iter().all(|f| b.left.contains(f))
                && unite::knows_no_less(&a.state, &b.state)
        };
        let breadth = self.breadth();
        let most = (breadth, breadth);
        self.both_ways(partials, most, |p| (p.state.cost, &p.state.requires), beats)
    }
}

/// The atoms of what a query answers with, is grouped and ordered by.
fn needed(query: &Query) -> Vec<Expr> {
    let mut out = Vec::new();
    let select = query.select.iter().map(|i| &i.expr);
    let order = query.order.iter().map(|(e, _)| e);
    let all = select.chain(query.group.iter().flatten()).chain(order);
    all.for_each(|e| atoms::of_expr(e, &mut out));
    out
}

/// The complete order without the terms that an equality fixes: what a cursor is made of.
pub fn free_order(query: &Query) -> Vec<(Expr, Direction)> {
    let fixed = |e: &Expr| {
        query.filter.iter().any(|p| match p {
            Pred::Compare(a, Compare::Eq, b) => a == e && Mentions::of_expr(b).nodes.is_empty(),
            _ => false,
        })
    };
    query
        .order
        .iter()
        .filter(|(e, _)| !fixed(e))
        .cloned()
        .collect()
}

/// The distinct aggregates of the group in a query's answer and order.
pub(super) fn group_aggregates(query: &Query) -> Vec<Aggregate> {
    fn collect(expr: &Expr, out: &mut Vec<Aggregate>) {
        match expr {
            Expr::Aggregate(a) if a.over.is_empty() && !out.contains(a) => {
                out.push((**a).clone());
            }
            Expr::Binary(_, a, b) | Expr::At(a, b) => {
                collect(a, out);
                collect(b, out);
            }
            Expr::Call(_, args) => args.iter().for_each(|a| collect(a, out)),
            Expr::Shape { items, .. } => items.iter().for_each(|i| collect(&i.expr, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    query.select.iter().for_each(|i| collect(&i.expr, &mut out));
    query.order.iter().for_each(|(e, _)| collect(e, &mut out));
    out
}

pub(super) fn limit_rows(limit: &Expr) -> f64 {
    match limit {
        Expr::Const(Value::Int(n)) => (*n as f64).max(0.0),
        _ => LIMIT,
    }
}
