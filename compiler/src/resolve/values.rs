//! Values: paths, parameters, constants, arithmetic and functions.

use super::context::Context;
use super::params::Presence;
use super::scope::Scope;
use super::typing;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{AggregateFn, Binary, Expr, Function, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, Arithmetic, ExprKind};
use crate::value::Value;

/// Functions of later versions.
const LATER: [(&str, &str); 8] = [
    ("within", "places"),
    ("distance", "places"),
    ("box", "places"),
    ("nearest", "places"),
    ("path", "trees"),
    ("depth", "trees"),
    ("score", "text search"),
    ("words", "text search"),
];

impl Context<'_> {
    /// A value and its type. `expected` types parameters, constants and members of enumerations.
    pub(super) fn value(
        &mut self,
        scope: &mut Scope,
        expr: &ast::Expr,
        expected: Option<&Type>,
    ) -> Option<(Expr, Type)> {
        match &expr.kind {
            ExprKind::Param(name, parts) => {
                match self
                    .params
                    .meet(self.model, name, parts, expected, Presence::Value)
                {
                    Ok(typed) => Some(typed),
                    Err(found) => self.fail(found),
                }
            }
            ExprKind::Path(path) => {
                if let [segment] = path.segments.as_slice()
                    && let Some(result) = self.member(scope, &segment.name, expected)
                {
                    return result;
                }
                self.value_at(scope, path, expected)
            }
            ExprKind::Number(..) | ExprKind::Text(_) | ExprKind::Bool(_) => {
                let (value, ty) = self.constant(expr, expected)?;
                Some((Expr::Const(value), ty))
            }
            ExprKind::Null => {
                let found = Diagnostic::new(
                    codes::INCOMPATIBLE,
                    expr.span,
                    "a comparison with null is never true",
                );
                self.fail(found.help("write `is null` or `is not null`"))
            }
            ExprKind::At(map, key) => self.map_access(scope, map, key),
            ExprKind::Call(call) => self.call(scope, call, expr.span),
            ExprKind::Arithmetic(left, operator, right) => {
                self.arithmetic(scope, left, *operator, right, expected)
            }
            ExprKind::Shape(..) => {
                let found = Diagnostic::new(
                    codes::NOT_A_CONDITION,
                    expr.span,
                    "a nested shape stands only in `select`",
                );
                self.fail(found.help("name a single value"))
            }
            ExprKind::Later(what) => self.not_yet(expr.span, what),
            _ => {
                let found = Diagnostic::new(
                    codes::NOT_A_CONDITION,
                    expr.span,
                    "a condition where a value is needed",
                );
                self.fail(found.help("conditions stand in `where`, `if` and `any`"))
            }
        }
    }

    /// A bare name where a member of an enumeration, or a type of a hierarchy, is expected.
    #[expect(
        clippy::option_option,
        reason = "none: it is no member; some none: it was reported"
    )]
    fn member(
        &mut self,
        scope: &Scope,
        name: &ast::Name,
        expected: Option<&Type>,
    ) -> Option<Option<(Expr, Type)>> {
        let members: Vec<String> = match expected? {
            Type::Enum(id) => self.model.enumeration(*id).members.clone(),
            Type::Tag(root) => {
                let members = self.model.type_members(*root);
                members
                    .iter()
                    .map(|&e| self.model.entity(e).name.clone())
                    .collect()
            }
            _ => return None,
        };
        let ty = expected?.clone();
        if let Some(at) = members.iter().position(|m| *m == name.text) {
            return Some(Some((Expr::Const(Value::Enum(at as u16)), ty)));
        }
        if self.knows(scope, &name.text) {
            return None;
        }
        let message = format!(
            "`{}` is no member of {}",
            name.text,
            typing::name(self.model, &ty)
        );
        let help = format!("its members are {}", members.join(", "));
        let found = Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message);
        let found = found.suggest(&name.text, members.iter().map(String::as_str), &help);
        Some(self.fail(found))
    }

    /// True for what takes its type from the other side.
    pub(super) fn is_contextual(&self, scope: &Scope, expr: &ast::Expr) -> bool {
        match &expr.kind {
            ExprKind::Param(..)
            | ExprKind::Number(..)
            | ExprKind::Text(_)
            | ExprKind::Bool(_)
            | ExprKind::Null => true,
            ExprKind::Path(path) => match path.segments.as_slice() {
                [segment] => segment.repeat.is_none() && !self.knows(scope, &segment.name.text),
                _ => false,
            },
            ExprKind::Arithmetic(left, _, right) => {
                self.is_contextual(scope, left) && self.is_contextual(scope, right)
            }
            _ => false,
        }
    }

    /// Two sides that type each other.
    pub(super) fn sides(
        &mut self,
        scope: &mut Scope,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Option<((Expr, Type), (Expr, Type))> {
        if self.is_contextual(scope, left) && !self.is_contextual(scope, right) {
            let typed_right = self.value(scope, right, None)?;
            let typed_left = self.value(scope, left, Some(&typed_right.1))?;
            return Some((typed_left, typed_right));
        }
        let typed_left = self.value(scope, left, None)?;
        let typed_right = self.value(scope, right, Some(&typed_left.1))?;
        Some((typed_left, typed_right))
    }

    fn arithmetic(
        &mut self,
        scope: &mut Scope,
        left: &ast::Expr,
        operator: Arithmetic,
        right: &ast::Expr,
        expected: Option<&Type>,
    ) -> Option<(Expr, Type)> {
        let number = expected.filter(|t| typing::is_number(t));
        let (typed_left, typed_right) =
            if self.is_contextual(scope, left) && !self.is_contextual(scope, right) {
                let typed_right = self.value(scope, right, number)?;
                self.expect_number(&typed_right.1, right.span)?;
                let wanted = factor_type(left, &typed_right.1);
                (self.value(scope, left, Some(&wanted))?, typed_right)
            } else {
                let typed_left = self.value(scope, left, number)?;
                self.expect_number(&typed_left.1, left.span)?;
                let wanted = factor_type(right, &typed_left.1);
                // A path has a type of its own; only what takes its type from here is told.
                let wanted = Some(&wanted).filter(|_| self.is_contextual(scope, right));
                let typed_right = self.value(scope, right, wanted)?;
                (typed_left, typed_right)
            };
        let Some(ty) = typing::arithmetic(&typed_left.1, &typed_right.1) else {
            let (a, b) = (
                typing::name(self.model, &typed_left.1),
                typing::name(self.model, &typed_right.1),
            );
            let message = format!("arithmetic on a {a} and a {b}");
            let found = Diagnostic::new(codes::ARITHMETIC, left.span.to(right.span), message);
            return self.fail(found.help("it takes numbers; float and decimal do not mix"));
        };
        let operator = match operator {
            Arithmetic::Add => Binary::Add,
            Arithmetic::Sub => Binary::Sub,
            Arithmetic::Mul => Binary::Mul,
            Arithmetic::Div => Binary::Div,
        };
        Some((
            Expr::Binary(operator, Box::new(typed_left.0), Box::new(typed_right.0)),
            ty,
        ))
    }

    fn expect_number(&mut self, ty: &Type, span: Span) -> Option<()> {
        if typing::is_number(ty) {
            return Some(());
        }
        let message = format!("arithmetic on a {}", typing::name(self.model, ty));
        self.fail(Diagnostic::new(codes::ARITHMETIC, span, message).help("it takes numbers"))
    }

    fn map_access(
        &mut self,
        scope: &mut Scope,
        map: &ast::Expr,
        key: &ast::Expr,
    ) -> Option<(Expr, Type)> {
        let ExprKind::Path(path) = &map.kind else {
            return None;
        };
        let elements = std::mem::replace(&mut scope.elements, false);
        let read = self.value_at(scope, path, None);
        scope.elements = elements;
        let (map_expr, ty) = read?;
        let Type::Map(key_type, value_type, _) = &ty else {
            let message = format!(
                "`[…]` on a {}: only a map is read by a key",
                typing::name(self.model, &ty)
            );
            let found = Diagnostic::new(codes::INCOMPATIBLE, map.span, message);
            return self.fail(found.help("use `has` or `any` for lists and sets"));
        };
        let (key_expr, found_type) = self.value(scope, key, Some(key_type))?;
        self.expect_type(&found_type, key_type, key.span)?;
        Some((
            Expr::At(Box::new(map_expr), Box::new(key_expr)),
            (**value_type).clone(),
        ))
    }

    /// Complains where a value does not fit.
    pub(super) fn expect_type(&mut self, found: &Type, expected: &Type, span: Span) -> Option<()> {
        if typing::meet(self.model, found, expected).is_some() {
            return Some(());
        }
        let (found, expected) = (
            typing::name(self.model, found),
            typing::name(self.model, expected),
        );
        let message = format!("a {found} where a {expected} is needed");
        self.fail(
            Diagnostic::new(codes::INCOMPATIBLE, span, message).help("use a value of that type"),
        )
    }

    fn call(&mut self, scope: &mut Scope, call: &ast::Call, span: Span) -> Option<(Expr, Type)> {
        let name = call.name.text.as_str();
        if let Some(result) = self.aggregate(scope, call, span) {
            return result;
        }
        if let Some((_, what)) = LATER.iter().find(|(n, _)| *n == name) {
            return self.not_yet(span, what);
        }
        let Some(function) = Function::WRITTEN.into_iter().find(|f| f.name() == name) else {
            let message = format!("there is no function `{name}`");
            let written = Function::WRITTEN.map(Function::name);
            let help = format!("functions are {}", written.join(", "));
            let names = written
                .into_iter()
                .chain(AggregateFn::ALL.map(AggregateFn::name));
            let found = Diagnostic::new(codes::UNKNOWN_FUNCTION, call.name.span, message);
            return self.fail(found.suggest(name, names, &help));
        };
        let [argument] = call.arguments.as_slice() else {
            let found = Diagnostic::new(
                codes::UNKNOWN_FUNCTION,
                span,
                format!("`{name}` takes one argument"),
            );
            return self.fail(found.help(format!("write `{name}(at)`")));
        };
        let default = if function == Function::Time {
            Type::TimeUuid
        } else {
            Type::Timestamp
        };
        let wanted = Some(&default).filter(|_| self.is_contextual(scope, argument));
        let (inner, ty) = self.value(scope, argument, wanted)?;
        let result = match (function, &ty) {
            (Function::Time, Type::TimeUuid) => Type::Timestamp,
            (Function::Time, _) => {
                return self.wrong_argument(argument.span, name, "timeuuid", &ty);
            }
            (Function::Day | Function::Month | Function::Year, Type::Date) => Type::Date,
            (_, Type::Timestamp) => Type::Timestamp,
            _ => return self.wrong_argument(argument.span, name, "timestamp", &ty),
        };
        Some((Expr::Call(function, vec![inner]), result))
    }

    pub(super) fn wrong_argument<T>(
        &mut self,
        span: Span,
        function: &str,
        wanted: &str,
        found: &Type,
    ) -> Option<T> {
        let message = format!(
            "`{function}` takes a {wanted}, found a {}",
            typing::name(self.model, found)
        );
        let found = Diagnostic::new(codes::INCOMPATIBLE, span, message);
        self.fail(found.help("`time(id)` is the timestamp inside a timeuuid"))
    }
}

/// The type that a constant or parameter takes beside a number: a fraction beside an int is a float.
fn factor_type(contextual: &ast::Expr, other: &Type) -> Type {
    let fraction = matches!(&contextual.kind, ExprKind::Number(n, _) if n.digits.contains('.'));
    if fraction && matches!(other, Type::Int | Type::BigInt) {
        Type::Float
    } else {
        other.clone()
    }
}
