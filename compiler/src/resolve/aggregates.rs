//! Aggregates: over the group, or over a subquery of their own where the argument leads to many.

use super::context::Context;
use super::scope::{Aggregates, Scope};
use super::{renumber, typing};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Aggregate, AggregateFn, Expr, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, ExprKind};

impl Context<'_> {
    /// None where the call is no aggregate.
    #[expect(
        clippy::option_option,
        reason = "none: no aggregate; some none: it was reported"
    )]
    pub(super) fn aggregate(
        &mut self,
        scope: &mut Scope,
        call: &ast::Call,
        span: Span,
    ) -> Option<Option<(Expr, Type)>> {
        let named = |f: &AggregateFn| f.name() == call.name.text;
        let function = AggregateFn::ALL.into_iter().find(named)?;
        Some(self.known_aggregate(scope, function, call, span))
    }

    fn known_aggregate(
        &mut self,
        scope: &mut Scope,
        function: AggregateFn,
        call: &ast::Call,
        span: Span,
    ) -> Option<(Expr, Type)> {
        let name = &call.name.text;
        if scope.aggregates == Aggregates::None {
            return self.misused(span, "an aggregate inside an aggregate", "aggregate once");
        }
        let over_bindings = self.over_bindings(scope, function, call);
        if over_bindings.is_some() {
            return over_bindings;
        }
        let mut inner = scope.inside(true, true, Aggregates::None);
        let (arg, ty) = match (call.star, call.arguments.as_slice()) {
            (true, []) if function == AggregateFn::Count => (None, Type::BigInt),
            (false, [argument]) => self.argument(&mut inner, function, call.distinct, argument)?,
            _ => {
                let message = format!("`{name}` takes one value");
                return self.misused(
                    span,
                    &message,
                    "write `count(*)`, `count(distinct x)`, `sum(x)`",
                );
            }
        };
        let mut aggregate = Aggregate {
            function,
            distinct: call.distinct,
            from: 0,
            over: inner.over,
            arg,
        };
        if aggregate.over.is_empty() {
            if scope.aggregates != Aggregates::All {
                let message = "an aggregate over the group where single rows are chosen";
                return self.misused(span, message, "aggregate a path that leads to many");
            }
            scope.groups = true;
            if let Some(arg) = &mut aggregate.arg {
                renumber::expr(arg, scope.here.node);
            }
        } else {
            aggregate.from = scope.here.node;
        }
        let ty = result(function, ty);
        Some((Expr::Aggregate(Box::new(aggregate)), ty))
    }

    /// An aggregate of what the bindings of a group have: its path leads to nothing that the paths
    /// of the group do not lead to, and equal prefixes share the element. None where it leads on to
    /// others: that is a subquery of each binding.
    fn over_bindings(
        &mut self,
        scope: &mut Scope,
        function: AggregateFn,
        call: &ast::Call,
    ) -> Option<(Expr, Type)> {
        let [argument] = call.arguments.as_slice() else {
            return None;
        };
        if !scope.bindings || scope.aggregates != Aggregates::All {
            return None;
        }
        let mut bindings = scope.clone();
        bindings.aggregates = Aggregates::None;
        bindings.elements = true;
        bindings.outer = false;
        let known = self.diagnostics.len();
        let found = self.argument(&mut bindings, function, call.distinct, argument);
        let found = found.filter(|_| bindings.over.len() == scope.over.len());
        let Some((arg, ty)) = found else {
            self.diagnostics.truncate(known);
            return None;
        };
        scope.groups = true;
        let aggregate = Aggregate {
            function,
            distinct: call.distinct,
            from: 0,
            over: vec![],
            arg,
        };
        Some((Expr::Aggregate(Box::new(aggregate)), result(function, ty)))
    }

    fn argument(
        &mut self,
        inner: &mut Scope,
        function: AggregateFn,
        distinct: bool,
        argument: &ast::Expr,
    ) -> Option<(Option<Expr>, Type)> {
        let (expr, ty) = if let ExprKind::Path(path) = &argument.kind {
            let cursor = self.walk(inner, path)?;
            if function == AggregateFn::Count && !distinct && cursor.fresh {
                return Some((None, Type::BigInt));
            }
            self.read(cursor, None)
        } else {
            self.value(inner, argument, None)?
        };
        let fits = match function {
            AggregateFn::Count | AggregateFn::Only => true,
            AggregateFn::Sum | AggregateFn::Avg => typing::is_number(&ty),
            AggregateFn::Min | AggregateFn::Max => typing::is_orderable(&ty),
        };
        if !fits {
            let message = format!(
                "this aggregate does not take a {}",
                typing::name(self.model, &ty)
            );
            let help = "sum and avg take numbers, min and max what has an order";
            return self.misused(argument.span, &message, help);
        }
        Some((Some(expr), ty))
    }

    fn misused<T>(&mut self, span: Span, message: &str, help: &str) -> Option<T> {
        self.fail(Diagnostic::new(codes::AGGREGATE, span, message).help(help))
    }
}

/// The type of an aggregate of values of a type.
fn result(function: AggregateFn, ty: Type) -> Type {
    match function {
        AggregateFn::Count => Type::BigInt,
        AggregateFn::Sum if ty == Type::Int => Type::BigInt,
        AggregateFn::Avg if ty != Type::Decimal => Type::Float,
        _ => ty,
    }
}
