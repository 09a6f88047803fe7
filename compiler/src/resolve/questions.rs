//! Questions and the queries in them.

use super::context::Context;
use super::params::Presence;
use super::scope::{Aggregates, Scope};
use super::{Resolver, hierarchy, numbers, typing};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{
    Compare, Direction, EntityId, Expr, Leaf, Page, ParamId, Pred, Query, Question, Type,
};
use crate::syntax::Span;
use crate::syntax::ast::{self, Body, ExprKind};
use crate::value::Value;

impl Resolver<'_> {
    pub(super) fn question(&mut self, question: &ast::Question) {
        let options = &question.options;
        let rates = self.rates_of(options);
        let stale = options
            .stale
            .as_ref()
            .and_then(|n| self.checked(numbers::duration(n)));
        let within = options.within.as_ref().map(|n| numbers::digits(n) / 100.0);
        let Some(entity) = self.entity_by_name(&question.from) else {
            return;
        };
        let anchor = self.model.entity(entity).root;
        let resolved = self.twice(|context| {
            let scope = Scope::of(entity, Aggregates::All);
            let filter = context.type_filter(entity).into_iter().collect();
            context.query(scope, &question.body, anchor, 0, filter)
        });
        if let Some((query, params)) = resolved {
            let name = question.name.text.clone();
            self.model.questions.push(Question {
                name,
                rates,
                stale,
                within,
                params,
                query,
            });
        }
    }
}

impl Context<'_> {
    /// Limits rows of the root to those of a subtype.
    pub(super) fn type_filter(&self, entity: EntityId) -> Option<Pred> {
        let root = self.model.entity(entity).root;
        if root == entity {
            return None;
        }
        let members = self.model.type_members(root);
        let wanted =
            std::iter::once(entity).chain(self.model.entity(entity).subtypes.iter().copied());
        let tags = wanted.filter_map(|e| members.iter().position(|&m| m == e));
        let mut tags: Vec<Expr> = tags.map(|t| Expr::Const(Value::Enum(t as u16))).collect();
        let tag = Expr::Path {
            node: 0,
            element: vec![],
            steps: vec![],
            leaf: Leaf::Type,
        };
        if tags.len() == 1 {
            return tags.pop().map(|only| Pred::Compare(tag, Compare::Eq, only));
        }
        Some(Pred::In(tag, tags))
    }

    /// A question's query, or that of a nested shape whose path is already in the scope.
    pub(super) fn query(
        &mut self,
        mut scope: Scope,
        body: &Body,
        anchor: EntityId,
        subject: u16,
        mut filter: Vec<Pred>,
    ) -> Option<Query> {
        // Each part is resolved even if one before it failed, so that all findings are shown.
        // Groups are made of what there is: there, ways back unfold.
        scope.elements = body.group.is_some();
        scope.outer = body.group.is_none();
        scope.bindings = body.group.is_some();
        // What groups are made of is what aggregates are over.
        let written_group = match &body.group {
            Some(group) => self.group(&mut scope, group).map(Some),
            None => Some(None),
        };
        let selected = self.items(&mut scope, &body.items);
        let conditions = self.conjunction(&scope, body.filter.as_ref());
        let terms = if let Some(selected) = &selected {
            self.order(&mut scope, selected, &body.order)
        } else {
            // A name given by `as` to an item that failed is not unknown.
            let known = |t: &&ast::Order| !names_item(body, &t.expr);
            let others: Vec<_> = body.order.iter().filter(known).cloned().collect();
            self.order(&mut scope, &[], &others).and(None)
        };
        let limit = self.limit(&mut scope, body.limit.as_ref());
        let page = self.page(body);

        let (selected, terms, written_group) = (selected?, terms?, written_group?);
        filter.extend(conditions?);
        let group = if scope.groups {
            Some(written_group.unwrap_or_default())
        } else {
            written_group
        };
        if let Some(group) = &group {
            let items = selected.iter().map(|s| (&s.item.expr, s.span));
            let ordered = terms
                .iter()
                .zip(&body.order)
                .map(|((e, _), written)| (e, written.expr.span));
            self.check_grouped(group, items.chain(ordered))?;
        }
        let ordered = terms.len();
        let mut order = terms;
        if let Some(&(_, direction)) = order.last() {
            for tie in self.tie_breakers(&scope, subject, group.as_deref()) {
                if !order.iter().any(|(e, _): &(Expr, Direction)| *e == tie) {
                    order.push((tie, direction));
                }
            }
        }
        Some(Query {
            anchor,
            over: scope.over,
            subject,
            filter,
            select: selected.into_iter().map(|s| s.item).collect(),
            group,
            order,
            ordered,
            limit: limit?,
            page: page?,
        })
    }

    fn group(&mut self, scope: &mut Scope, group: &[ast::Expr]) -> Option<Vec<Expr>> {
        let mut exprs = Vec::new();
        for term in group {
            let (expr, ty) = self.value(scope, term, None)?;
            if contains_aggregate(&expr) {
                let found = Diagnostic::new(
                    codes::AGGREGATE,
                    term.span,
                    "an aggregate cannot form groups",
                );
                return self.fail(found.help("group by a value of the row"));
            }
            if !typing::is_orderable(&ty) && !matches!(ty, Type::Key(_) | Type::Point | Type::Any) {
                return self.unorderable(&ty, term.span);
            }
            if !exprs.contains(&expr) {
                exprs.push(expr);
            }
        }
        Some(exprs)
    }

    fn check_grouped<'e>(
        &mut self,
        group: &[Expr],
        values: impl Iterator<Item = (&'e Expr, Span)>,
    ) -> Option<()> {
        let mut sound = true;
        for (expr, span) in values {
            if !is_grouped(expr, group) {
                sound = false;
                let (message, help) = if contains_aggregate(expr) {
                    (
                        "this aggregate leads to many from each row of a group",
                        "group by a value of the same path, or ask from where the path leads",
                    )
                } else {
                    (
                        "this value differs within a group",
                        "add it to `group by`, or aggregate it",
                    )
                };
                let found = Diagnostic::new(codes::NOT_GROUPED, span, message);
                self.diagnostics.push(found.help(help));
            }
        }
        sound.then_some(())
    }

    #[expect(
        clippy::option_option,
        reason = "none: it was reported; some none: there is no limit"
    )]
    fn limit(&mut self, scope: &mut Scope, limit: Option<&ast::Expr>) -> Option<Option<Expr>> {
        let Some(limit) = limit else {
            return Some(None);
        };
        let wrong = |this: &mut Self| {
            let found = Diagnostic::new(
                codes::LIMIT,
                limit.span,
                "a limit is a whole number or a parameter",
            );
            this.fail(found.help("write `limit 50` or `limit $n`"))
        };
        match &limit.kind {
            ExprKind::Param(..) => self
                .value(scope, limit, Some(&Type::BigInt))
                .map(|(e, _)| Some(e)),
            ExprKind::Number(number, negative) => match numbers::count(number) {
                Ok(n) if n.fract() == 0.0 && (!negative || n == 0.0) && n < 1e15 => {
                    Some(Some(Expr::Const(Value::Int(n as i64))))
                }
                Ok(_) => wrong(self),
                Err(found) => self.fail(found),
            },
            _ => wrong(self),
        }
    }

    #[expect(
        clippy::option_option,
        reason = "none: it was reported; some none: there is no page"
    )]
    fn page(&mut self, body: &Body) -> Option<Option<Page>> {
        let Some(page) = &body.page else {
            return Some(None);
        };
        if body.order.is_empty() {
            let found = Diagnostic::new(
                codes::CURSOR,
                page.cursor.span,
                "a cursor pages through an order, and there is none",
            );
            return self.fail(found.help("add `order by`"));
        }
        let met = self.params.meet(
            self.model,
            &page.cursor,
            &[],
            Some(&Type::Cursor),
            Presence::Open,
        );
        let id: ParamId = match met {
            Ok((Expr::Param(id, _), _)) => id,
            Ok(_) => return None,
            Err(found) => return self.fail(found),
        };
        Some(Some(if page.before {
            Page::Before(id)
        } else {
            Page::After(id)
        }))
    }

    /// The entity's fields that a change may give: its own and inherited ones, with their slots.
    pub(super) fn given_fields(&self, entity: EntityId) -> Vec<(usize, crate::model::Field)> {
        let chain = hierarchy::ancestry(self.model, entity);
        hierarchy::fields_of(self.model, entity, &chain)
    }
}

fn names_item(body: &Body, term: &ast::Expr) -> bool {
    let ExprKind::Path(path) = &term.kind else {
        return false;
    };
    let [segment] = path.segments.as_slice() else {
        return false;
    };
    body.items.iter().any(|item| {
        matches!(item, ast::Item::Value { alias: Some(alias), .. } if alias.text == segment.name.text)
    })
}

/// True where the value is the same for all rows of a group.
fn is_grouped(expr: &Expr, group: &[Expr]) -> bool {
    if group.contains(expr) {
        return true;
    }
    match expr {
        Expr::Const(_) | Expr::Param(..) => true,
        Expr::Binary(_, a, b) | Expr::At(a, b) => is_grouped(a, group) && is_grouped(b, group),
        Expr::Call(_, arguments) => arguments.iter().all(|a| is_grouped(a, group)),
        Expr::Aggregate(aggregate) => aggregate.over.is_empty(),
        Expr::Path { .. } | Expr::Nested(..) | Expr::Shape { .. } => false,
    }
}

fn contains_aggregate(expr: &Expr) -> bool {
    match expr {
        Expr::Aggregate(_) => true,
        Expr::Binary(_, a, b) | Expr::At(a, b) => contains_aggregate(a) || contains_aggregate(b),
        Expr::Call(_, arguments) => arguments.iter().any(contains_aggregate),
        _ => false,
    }
}
