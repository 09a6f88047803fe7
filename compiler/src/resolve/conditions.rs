//! Conditions. A to-many path means "exists", each mention on its own.

use super::context::Context;
use super::params::LIST_SIZE;
use super::scope::{Aggregates, Place, Scope};
use super::{renumber, typing};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Compare, EntityId, Expr, Leaf, Pred, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, ExprKind};
use crate::value::Value;

impl Context<'_> {
    /// The parts of a condition that must all hold.
    pub(super) fn conjunction(
        &mut self,
        scope: &Scope,
        condition: Option<&ast::Expr>,
    ) -> Option<Vec<Pred>> {
        let Some(condition) = condition else {
            return Some(Vec::new());
        };
        self.condition(scope, condition).map(conjuncts)
    }

    pub(super) fn condition(&mut self, scope: &Scope, expr: &ast::Expr) -> Option<Pred> {
        match &expr.kind {
            ExprKind::And(parts) => {
                let parts = self.conditions(scope, parts)?.into_iter();
                Some(Pred::And(parts.flat_map(conjuncts).collect()))
            }
            ExprKind::Or(parts) => self.conditions(scope, parts).map(either),
            ExprKind::Not(inner) => {
                let denied = self.condition(scope, inner)?;
                Some(self.negated(scope, denied))
            }
            ExprKind::Compare(left, operator, right) => self.exists(scope, |this, inner| {
                let (left_typed, right_typed) = this.sides(inner, left, right)?;
                let span = left.span.to(right.span);
                this.compare(left_typed, compare_operator(*operator), right_typed, span)
            }),
            ExprKind::Between(value, low, high) => {
                self.exists(scope, |this, inner| this.between(inner, value, low, high))
            }
            ExprKind::In(value, list) => {
                self.exists(scope, |this, inner| this.in_values(inner, value, list))
            }
            ExprKind::InList(value, list) if matches!(list.kind, ExprKind::Path(_)) => {
                self.has(scope, list, value)
            }
            ExprKind::InList(value, list) => self.exists(scope, |this, inner| {
                let (left, ty) = this.value(inner, value, None)?;
                let list_type = Type::List(Box::new(ty), LIST_SIZE);
                let (right, found) = this.value(inner, list, Some(&list_type))?;
                this.expect_type(&found, &list_type, list.span)?;
                Some(Pred::InList(left, right))
            }),
            ExprKind::IsNull(value) => self.absence(scope, value, true),
            ExprKind::IsNotNull(value) => self.absence(scope, value, false),
            ExprKind::Has(collection, element) => self.has(scope, collection, element),
            ExprKind::Any(path, inner) => self.any(scope, path, inner.as_deref()),
            ExprKind::Later(what) => self.not_yet(expr.span, what),
            ExprKind::Path(_) => self.exists(scope, |this, inner| {
                let (value, ty) = this.value(inner, expr, None)?;
                if ty != Type::Bool {
                    return this.not_a_condition(expr.span);
                }
                Some(compared(value, Compare::Eq, Expr::Const(Value::Bool(true))))
            }),
            ExprKind::Call(_) => {
                // Functions of later versions are conditions; all others are values.
                let mut inner = scope.inside(false, true, Aggregates::Subqueries);
                self.value(&mut inner, expr, None)?;
                self.not_a_condition(expr.span)
            }
            _ => self.not_a_condition(expr.span),
        }
    }

    /// All of them, so that all their findings are shown.
    fn conditions(&mut self, scope: &Scope, parts: &[ast::Expr]) -> Option<Vec<Pred>> {
        let resolved: Vec<Option<Pred>> = parts.iter().map(|p| self.condition(scope, p)).collect();
        resolved.into_iter().collect()
    }

    fn not_a_condition<T>(&mut self, span: Span) -> Option<T> {
        let found = Diagnostic::new(
            codes::NOT_A_CONDITION,
            span,
            "a value where a condition is needed",
        );
        self.fail(found.help("compare it with something"))
    }

    /// Resolves one mention; where it walks to many, some element of them must meet it.
    fn exists(
        &mut self,
        scope: &Scope,
        resolve: impl FnOnce(&mut Self, &mut Scope) -> Option<Pred>,
    ) -> Option<Pred> {
        let mut inner = scope.inside(false, true, Aggregates::Subqueries);
        let mut pred = resolve(self, &mut inner)?;
        let from = scope.here.node;
        if inner.over.is_empty() {
            renumber::pred(&mut pred, from);
            return Some(pred);
        }
        Some(Pred::Exists {
            from,
            over: inner.over,
            filter: Some(Box::new(each_alone(pred))),
        })
    }

    /// That a condition does not hold, said as one that does where that means the same: of what may be
    /// null neither a comparison holds nor its opposite.
    fn negated(&self, scope: &Scope, pred: Pred) -> Pred {
        let present = |e: &Expr| match e {
            Expr::Param(id, path) => self.params.always_given(*id, path),
            e => !scope.may_be_null(self.model, e),
        };
        match pred {
            Pred::Not(denied) => *denied,
            Pred::Or(any) => {
                let none = any.into_iter().map(|p| self.negated(scope, p));
                Pred::And(none.flat_map(conjuncts).collect())
            }
            Pred::Compare(a, op, b) if present(&a) && present(&b) => compared(a, op.opposite(), b),
            other => Pred::Not(Box::new(other)),
        }
    }

    /// `is null`, or `is not null`. What there is is never null, so of a path that ends at many
    /// instances it says that there are none; of all else, that some value is null.
    fn absence(&mut self, scope: &Scope, value: &ast::Expr, absent: bool) -> Option<Pred> {
        let said = |so: bool, pred: Pred| {
            if so { pred } else { Pred::Not(Box::new(pred)) }
        };
        if let ExprKind::Path(path) = &value.kind {
            let mut inner = scope.inside(false, false, Aggregates::Subqueries);
            let cursor = self.walk(&mut inner, path)?;
            if cursor.fresh && matches!(cursor.place, Place::Instance(_)) {
                let some = Pred::Exists {
                    from: scope.here.node,
                    over: inner.over,
                    filter: None,
                };
                return Some(said(!absent, some));
            }
        }
        let mut entry = false;
        let null = self.exists(scope, |this, inner| {
            // A collection is null as a whole: its elements were not asked for.
            inner.elements = false;
            let (null, _) = this.value(inner, value, None)?;
            if !inner.may_be_null(this.model, &null) {
                this.never_null(value.span, absent);
            }
            entry = !absent || inner.over.is_empty();
            Some(said(absent, Pred::IsNull(null)))
        })?;
        match &value.kind {
            // Values of maps are never null.
            ExprKind::At(map, key) if entry => {
                let held = self.has(scope, map, key)?;
                Some(said(!absent, held))
            }
            _ => Some(null),
        }
    }

    fn never_null(&mut self, span: Span, absent: bool) {
        let holds = if absent {
            "`is null` never holds"
        } else {
            "`is not null` always holds"
        };
        let message = format!("this is required and never null: {holds}");
        let found = Diagnostic::new(codes::NEVER_NULL, span, message);
        let help = "leave the condition out, or make the value optional with `?`";
        self.diagnostics.push(found.help(help));
    }

    /// A comparison with the path on the left.
    fn compare(
        &mut self,
        (left, left_type): (Expr, Type),
        operator: Compare,
        (right, right_type): (Expr, Type),
        span: Span,
    ) -> Option<Pred> {
        if typing::meet(self.model, &left_type, &right_type).is_none() {
            let (a, b) = (
                typing::name(self.model, &left_type),
                typing::name(self.model, &right_type),
            );
            let found = Diagnostic::new(
                codes::INCOMPATIBLE,
                span,
                format!("a {a} is compared with a {b}"),
            );
            return self.fail(found.help("compare values of one type"));
        }
        let ordering = operator.is_range();
        if ordering && !typing::is_orderable(&left_type) {
            return self.unorderable(&left_type, span);
        }
        if operator == Compare::Eq
            && let Some(equal) = self.equal_keys(&left, &right, &left_type)
        {
            return Some(equal);
        }
        if !reads_row(&left) && reads_row(&right) {
            return Some(compared(right, operator.flipped(), left));
        }
        Some(compared(left, operator, right))
    }

    /// That two keys of several scalars are equal. A key of one is compared by it in the first place.
    fn equal_keys(&self, left: &Expr, right: &Expr, ty: &Type) -> Option<Pred> {
        let Type::Key(entity) = ty else { return None };
        let scalars = self.same_scalars(left, right, *entity)?;
        (scalars.len() > 1).then_some(Pred::And(scalars))
    }

    /// That two keys are equal, scalar by scalar, which is what structures are keyed by. A key that is
    /// null has scalars that are, so it equals nothing, as a whole or not.
    pub(super) fn same_scalars(
        &self,
        left: &Expr,
        right: &Expr,
        entity: EntityId,
    ) -> Option<Vec<Pred>> {
        let left = self.key_scalars(left, entity)?;
        let right = self.key_scalars(right, entity)?;
        let same = |(a, b)| {
            let (row, given) = if reads_row(&a) { (a, b) } else { (b, a) };
            Pred::Compare(row, Compare::Eq, given)
        };
        Some(left.into_iter().zip(right).map(same).collect())
    }

    /// The scalars of a key, where they can be named one by one.
    fn key_scalars(&self, key: &Expr, entity: EntityId) -> Option<Vec<Expr>> {
        let scalars = self.model.key_leaves(entity).len();
        match key {
            Expr::Path {
                node,
                element,
                steps,
                leaf: Leaf::Key,
            } => Some(self.model.key_leaf_paths(entity, *node, element, steps)),
            Expr::Path {
                node,
                leaf: Leaf::Element(path),
                ..
            } if !path.is_empty() => Some(self.model.key_leaf_paths(entity, *node, path, &[])),
            Expr::Param(id, path) => {
                let part = |at| {
                    let path = path.iter().copied().chain([at]);
                    Expr::Param(*id, path.collect())
                };
                Some((0..scalars as u16).map(part).collect())
            }
            Expr::Const(Value::Key(parts)) if parts.len() == scalars => {
                Some(parts.iter().cloned().map(Expr::Const).collect())
            }
            _ => None,
        }
    }

    pub(super) fn unorderable<T>(&mut self, ty: &Type, span: Span) -> Option<T> {
        let message = format!("a {} has no order", typing::name(self.model, ty));
        let help = "compare with = or !=, or name a scalar inside it";
        self.fail(Diagnostic::new(codes::UNORDERABLE, span, message).help(help))
    }

    fn between(
        &mut self,
        scope: &mut Scope,
        value: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
    ) -> Option<Pred> {
        let (value_typed, low_typed) = self.sides(scope, value, low)?;
        let high_typed = self.value(scope, high, Some(&value_typed.1))?;
        let lower = self.compare(
            value_typed.clone(),
            Compare::Ge,
            low_typed,
            value.span.to(low.span),
        )?;
        let upper = self.compare(
            value_typed,
            Compare::Le,
            high_typed,
            value.span.to(high.span),
        )?;
        Some(Pred::And(vec![lower, upper]))
    }

    fn in_values(
        &mut self,
        scope: &mut Scope,
        value: &ast::Expr,
        list: &[ast::Expr],
    ) -> Option<Pred> {
        let (left, ty) = self.value(scope, value, None)?;
        let mut values = Vec::new();
        for item in list {
            let (right, found) = self.value(scope, item, Some(&ty))?;
            self.expect_type(&found, &ty, item.span)?;
            if !values.contains(&right) {
                values.push(right);
            }
        }
        if let ([one], [item, ..]) = (values.as_slice(), list) {
            let span = value.span.to(item.span);
            return self.compare((left, ty.clone()), Compare::Eq, (one.clone(), ty), span);
        }
        let equal = values.iter().map(|v| self.equal_keys(&left, v, &ty));
        if let Some(any) = equal.collect() {
            return Some(Pred::Or(any));
        }
        Some(Pred::In(left, values))
    }

    /// `tags has $t`: an element of a list or set, a key of a map, one of many instances.
    fn has(&mut self, scope: &Scope, collection: &ast::Expr, element: &ast::Expr) -> Option<Pred> {
        let ExprKind::Path(path) = &collection.kind else {
            let found = Diagnostic::new(
                codes::TO_MANY,
                collection.span,
                "`has` asks a path that leads to many",
            );
            return self.fail(found.help("write `tags has $tag`"));
        };
        self.exists(scope, |this, inner| {
            inner.elements = false;
            let cursor = this.walk(inner, path)?;
            let map_key = match &cursor.place {
                Place::Value(_, Type::Map(key, ..)) => Some((**key).clone()),
                _ => None,
            };
            let mut cursor = this.enter_collection(inner, cursor, path.span)?;
            if !cursor.fresh {
                let found = Diagnostic::new(
                    codes::TO_MANY,
                    path.span,
                    "this is no collection and leads to one only",
                );
                return this.fail(found.help("compare it with `=`"));
            }
            if let Some(key) = map_key {
                cursor.place = Place::Value(Leaf::MapKey, key);
            }
            let (left, ty) = this.read(cursor, None);
            let right = this.value(inner, element, Some(&ty))?;
            this.compare((left, ty), Compare::Eq, right, element.span)
        })
    }

    fn any(
        &mut self,
        scope: &Scope,
        path: &ast::Path,
        condition: Option<&ast::Expr>,
    ) -> Option<Pred> {
        let mut inner = scope.inside(true, true, Aggregates::Subqueries);
        let cursor = self.walk(&mut inner, path)?;
        if inner.over.is_empty() {
            let found = Diagnostic::new(
                codes::TO_MANY,
                path.span,
                "`any` needs a path that leads to many",
            );
            return self.fail(found.help("write the condition without `any`"));
        }
        inner.here = cursor;
        let filter = match condition {
            Some(condition) => Some(Box::new(each_alone(self.condition(&inner, condition)?))),
            None => None,
        };
        Some(Pred::Exists {
            from: scope.here.node,
            over: inner.over,
            filter,
        })
    }
}

/// That one of several conditions holds. What all of them say is said once, where questions find
/// instances by it: `(a and b) or (a and c)` is `a and (b or c)`.
fn either(alternatives: Vec<Pred>) -> Pred {
    let parts = |p: &Pred| match p {
        Pred::And(all) => all.clone(),
        single => vec![single.clone()],
    };
    let mut own: Vec<Vec<Pred>> = alternatives.iter().map(parts).collect();
    let mut shared = own.first().cloned().unwrap_or_default();
    shared.retain(|p| own.iter().all(|parts| parts.contains(p)));
    if shared.is_empty() {
        return Pred::Or(alternatives);
    }
    for parts in &mut own {
        parts.retain(|p| !shared.contains(p));
    }
    // One that says no more is enough.
    if own.iter().all(|parts| !parts.is_empty()) {
        shared.push(Pred::Or(own.into_iter().map(all).collect()));
    }
    all(shared)
}

/// That several conditions hold; one of them is said as it is.
fn all(mut conditions: Vec<Pred>) -> Pred {
    match conditions.pop() {
        Some(single) if conditions.is_empty() => single,
        last => {
            conditions.extend(last);
            Pred::And(conditions)
        }
    }
}

/// That one of many is one of several values is that it is the first, or the second, and so on: each
/// of these is found by itself.
fn each_alone(pred: Pred) -> Pred {
    match pred {
        Pred::In(value, values) => {
            let each = values.into_iter();
            let each = each.map(|v| Pred::Compare(value.clone(), Compare::Eq, v));
            Pred::Or(each.collect())
        }
        other => other,
    }
}

/// The conditions of which one says that all hold.
fn conjuncts(pred: Pred) -> Vec<Pred> {
    match pred {
        Pred::And(all) => all,
        single => vec![single],
    }
}

/// A comparison. What is not one of two values is the other, unless it is null.
fn compared(left: Expr, operator: Compare, right: Expr) -> Pred {
    match (operator, right) {
        (Compare::Ne, Expr::Const(Value::Bool(b))) => {
            Pred::Compare(left, Compare::Eq, Expr::Const(Value::Bool(!b)))
        }
        (operator, right) => Pred::Compare(left, operator, right),
    }
}

/// True where the value depends on the row.
fn reads_row(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param(..) => false,
        Expr::Binary(_, a, b) | Expr::At(a, b) => reads_row(a) || reads_row(b),
        Expr::Call(_, arguments) => arguments.iter().any(reads_row),
        Expr::Path { .. } | Expr::Aggregate(_) | Expr::Nested(..) | Expr::Shape { .. } => true,
    }
}

fn compare_operator(operator: ast::Compare) -> Compare {
    match operator {
        ast::Compare::Eq => Compare::Eq,
        ast::Compare::Ne => Compare::Ne,
        ast::Compare::Lt => Compare::Lt,
        ast::Compare::Le => Compare::Le,
        ast::Compare::Gt => Compare::Gt,
        ast::Compare::Ge => Compare::Ge,
    }
}
