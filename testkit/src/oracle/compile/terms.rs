//! Expressions and predicates.

use super::text::{aggregate_call, binary_name, call, literal, order_by};
use super::walks::{From, Node, node};
use super::{Compiler, Sql};
use crate::facts::part_type;
use crate::oracle::functions::sql;
use querent_compiler::model::{Compare, Expr, Leaf, Pred, Type};
use querent_compiler::value::Value;

impl Compiler<'_> {
    pub(super) fn expr(&self, scope: &[Node], expr: &Expr) -> Sql {
        match expr {
            Expr::Const(value) => Ok(literal(value)),
            Expr::Param(id, path) => Ok(literal(&self.param(*id, path))),
            Expr::Path {
                node: start,
                element,
                steps,
                leaf,
            } => self.path(node(scope, *start)?, element, steps, leaf),
            Expr::Binary(op, a, b) => Ok(format!(
                "{}({}, {})",
                binary_name(*op),
                self.expr(scope, a)?,
                self.expr(scope, b)?
            )),
            Expr::Call(function, args) => {
                let args: Result<Vec<String>, _> =
                    args.iter().map(|a| self.expr(scope, a)).collect();
                call(*function, &args?)
            }
            Expr::At(map, key) => Ok(format!(
                "q_at({}, {})",
                self.expr(scope, map)?,
                self.expr(scope, key)?
            )),
            Expr::Aggregate(aggregate) => {
                let mut from = From::default();
                let mut inner = vec![node(scope, aggregate.from)?.clone()];
                for unfold in &aggregate.over {
                    self.unfold(&mut inner, unfold, &mut from)?;
                }
                // The argument is a column of an inner select: an aggregate of outer columns only
                // would belong to the outer query.
                let arg = match &aggregate.arg {
                    None => "1".to_owned(),
                    Some(arg) => self.expr(&inner, arg)?,
                };
                let alias = self.alias("a");
                let column = aggregate.arg.as_ref().map(|_| format!("{alias}.x"));
                let value = aggregate_call(aggregate, column.as_deref());
                Ok(format!(
                    "(SELECT {value} FROM (SELECT {arg} AS x{}) AS {alias})",
                    from.text()
                ))
            }
            Expr::Nested(start, query) => {
                let rows = self.rows(query, Some(node(scope, *start)?.clone()))?;
                let alias = self.alias("l");
                let columns: Vec<String> = (0..query.select.len())
                    .map(|i| format!("{alias}.c{i}"))
                    .collect();
                let order = order_by(&format!("{alias}."), &query.order, false);
                Ok(format!(
                    "(SELECT q_list(q_record({}){order}) FROM ({rows}) AS {alias})",
                    columns.join(", ")
                ))
            }
            Expr::Shape { present, items } => {
                let present = self.expr(scope, present)?;
                let fields: Result<Vec<String>, _> =
                    items.iter().map(|i| self.expr(scope, &i.expr)).collect();
                Ok(format!(
                    "CASE WHEN {present} IS NULL THEN NULL ELSE q_record({}) END",
                    fields?.join(", ")
                ))
            }
        }
    }

    pub(super) fn pred(&self, scope: &[Node], pred: &Pred) -> Sql {
        match pred {
            Pred::And(all) => self.joined(scope, all, " AND ", "1"),
            Pred::Or(some) => self.joined(scope, some, " OR ", "0"),
            Pred::Not(p) => Ok(format!("(NOT {})", self.pred(scope, p)?)),
            Pred::Compare(a, op, b) => {
                let op = match op {
                    Compare::Eq => "=",
                    Compare::Ne => "<>",
                    Compare::Lt => "<",
                    Compare::Le => "<=",
                    Compare::Gt => ">",
                    Compare::Ge => ">=",
                };
                let (left, right) = (self.expr(scope, a)?, self.expr(scope, b)?);
                // SQLite compares values of one type by their bytes; numbers of two types need us.
                if self
                    .rank(scope, a)
                    .is_some_and(|rank| self.rank(scope, b) == Some(rank))
                {
                    return Ok(format!("COALESCE({left} {op} {right}, 0)"));
                }
                Ok(format!("COALESCE(q_order({left}, {right}) {op} 0, 0)"))
            }
            Pred::In(a, list) => {
                let list: Result<Vec<String>, _> =
                    list.iter().map(|e| self.expr(scope, e)).collect();
                Ok(format!(
                    "COALESCE({} IN ({}), 0)",
                    self.expr(scope, a)?,
                    list?.join(", ")
                ))
            }
            Pred::InList(a, list) => Ok(format!(
                "q_in({}, {})",
                self.expr(scope, a)?,
                self.expr(scope, list)?
            )),
            Pred::IsNull(a) => Ok(format!("({} IS NULL)", self.expr(scope, a)?)),
            Pred::Exists {
                from: start,
                over,
                filter,
            } => {
                let mut from = From::default();
                let mut inner = vec![node(scope, *start)?.clone()];
                for unfold in over {
                    self.unfold(&mut inner, unfold, &mut from)?;
                }
                if let Some(filter) = filter {
                    from.conditions.push(self.pred(&inner, filter)?);
                }
                Ok(format!("EXISTS (SELECT 1{})", from.text()))
            }
        }
    }

    /// Tells types apart as far as comparisons need it; none where it is not known.
    fn rank(&self, scope: &[Node], expr: &Expr) -> Option<u8> {
        let of_value = |value: &Value| sql(value).and_then(|bytes| bytes.first().copied());
        match expr {
            Expr::Const(value) => of_value(value),
            Expr::Param(id, path) => of_value(&self.param(*id, path)),
            Expr::Path {
                leaf: Leaf::Attribute(attribute, path),
                ..
            } => type_rank(part_type(&self.model.attribute(*attribute).ty, path)?),
            Expr::Path {
                node: start,
                leaf: Leaf::Element(path),
                ..
            } => match node(scope, *start).ok()? {
                Node::Element { ty, .. } => type_rank(part_type(ty, path)?),
                Node::Instance { .. } => None,
            },
            _ => None,
        }
    }

    fn joined(&self, scope: &[Node], preds: &[Pred], by: &str, empty: &str) -> Sql {
        if preds.is_empty() {
            return Ok(empty.to_owned());
        }
        let parts: Result<Vec<String>, _> = preds.iter().map(|p| self.pred(scope, p)).collect();
        Ok(format!("({})", parts?.join(by)))
    }
}

/// The first byte of a type's encoded values.
fn type_rank(ty: &Type) -> Option<u8> {
    Some(match ty {
        Type::Bool => 1,
        Type::Int | Type::BigInt => 2,
        Type::Float => 3,
        Type::Decimal => 4,
        Type::Text(_) => 5,
        Type::Blob(_) => 6,
        Type::Date => 7,
        Type::Timestamp => 8,
        Type::Uuid => 9,
        Type::TimeUuid => 10,
        Type::Point => 11,
        Type::Enum(_) | Type::Tag(_) => 12,
        _ => return None,
    })
}
