//! Queries to SQL.
//!
//! To-many nodes are inner joins; to-one paths are scalar subqueries (an absent step gives null);
//! `exists` is `EXISTS`; an aggregate over a path and a nested shape are correlated subqueries.
//! Every table has an alias of its own, so no name is ever shadowed.

mod terms;
mod text;
mod walks;

use super::OracleError;
use crate::facts::part;
use querent_compiler::model::{Expr, Model, Page, ParamId, Query};
use querent_compiler::value::Value;
use std::cell::Cell;
use std::fmt::Write;
use text::{aggregate_call, beyond, binary_name, call, order_by};
use walks::{From, Node};

type Sql = Result<String, OracleError>;

/// The SQL of a whole query: columns of `select`, then of `order`.
pub(super) fn query(model: &Model, query: &Query, params: &[Value]) -> Sql {
    let compiler = Compiler {
        model,
        params,
        aliases: Cell::new(0),
    };
    let rows = compiler.rows(query, None)?;
    let order = order_by("", &query.order, false);
    Ok(format!("SELECT * FROM ({rows}){order}"))
}

struct Compiler<'a> {
    model: &'a Model,
    params: &'a [Value],
    aliases: Cell<u32>,
}

/// What a grouped query reads from its bindings: expressions of the inner select, by position.
struct Group<'q> {
    keys: &'q [Expr],
    alias: String,
    columns: Vec<String>,
}

impl Compiler<'_> {
    fn alias(&self, prefix: &str) -> String {
        self.aliases.set(self.aliases.get() + 1);
        format!("{prefix}{}", self.aliases.get())
    }

    /// The rows of a query as columns `c0…`, `o0…`, limited and paged but in no order.
    fn rows(&self, query: &Query, start: Option<Node>) -> Sql {
        let mut from = From::default();
        let mut scope = Vec::new();
        scope.push(match start {
            Some(node) => node,
            None => self.table(query.anchor, &mut from),
        });
        for unfold in &query.over {
            self.unfold(&mut scope, unfold, &mut from)?;
        }
        for pred in &query.filter {
            from.conditions.push(self.pred(&scope, pred)?);
        }
        let all = match &query.group {
            None => {
                let mut columns = Vec::new();
                for (i, item) in query.select.iter().enumerate() {
                    columns.push(format!("{} AS c{i}", self.expr(&scope, &item.expr)?));
                }
                for (i, (expr, _)) in query.order.iter().enumerate() {
                    columns.push(format!("{} AS o{i}", self.expr(&scope, expr)?));
                }
                format!("SELECT {}{}", columns.join(", "), from.text())
            }
            Some(keys) => self.grouped(query, keys, &scope, &from)?,
        };
        self.page(query, &all)
    }

    fn grouped(&self, query: &Query, keys: &[Expr], scope: &[Node], from: &From) -> Sql {
        let mut group = Group {
            keys,
            alias: self.alias("g"),
            columns: Vec::new(),
        };
        for key in keys {
            group.columns.push(self.expr(scope, key)?);
        }
        let mut columns = Vec::new();
        for (i, item) in query.select.iter().enumerate() {
            columns.push(format!(
                "{} AS c{i}",
                self.group_expr(scope, &item.expr, &mut group)?
            ));
        }
        for (i, (expr, _)) in query.order.iter().enumerate() {
            columns.push(format!(
                "{} AS o{i}",
                self.group_expr(scope, expr, &mut group)?
            ));
        }
        let inner: Vec<String> = group
            .columns
            .iter()
            .enumerate()
            .map(|(i, column)| format!("{column} AS b{i}"))
            .collect();
        // A query that counts all of a group reads no column of it.
        let inner = if inner.is_empty() {
            "1".to_owned()
        } else {
            inner.join(", ")
        };
        let by: Vec<String> = (0..keys.len())
            .map(|i| format!("{}.b{i}", group.alias))
            .collect();
        let by = if by.is_empty() {
            String::new()
        } else {
            format!(" GROUP BY {}", by.join(", "))
        };
        Ok(format!(
            "SELECT {} FROM (SELECT {inner}{}) AS {}{by}",
            columns.join(", "),
            from.text(),
            group.alias
        ))
    }

    fn group_expr(&self, scope: &[Node], expr: &Expr, group: &mut Group<'_>) -> Sql {
        if let Some(i) = group.keys.iter().position(|key| key == expr) {
            return Ok(format!("{}.b{i}", group.alias));
        }
        match expr {
            Expr::Aggregate(aggregate) if aggregate.over.is_empty() => {
                let arg = match &aggregate.arg {
                    None => None,
                    Some(arg) => Some(group.column(self.expr(scope, arg)?)),
                };
                Ok(aggregate_call(aggregate, arg.as_deref()))
            }
            Expr::Const(_) | Expr::Param(..) => self.expr(scope, expr),
            Expr::Binary(op, a, b) => {
                let (a, b) = (
                    self.group_expr(scope, a, group)?,
                    self.group_expr(scope, b, group)?,
                );
                Ok(format!("{}({a}, {b})", binary_name(*op)))
            }
            Expr::Call(function, args) => {
                let args: Result<Vec<String>, _> = args
                    .iter()
                    .map(|a| self.group_expr(scope, a, group))
                    .collect();
                call(*function, &args?)
            }
            // The same for all bindings of a group, so that it does not matter which SQLite reads.
            _ => Ok(group.column(self.expr(scope, expr)?)),
        }
    }

    /// Keeps the rows of a page.
    fn page(&self, query: &Query, all: &str) -> Sql {
        let alias = self.alias("p");
        let mut text = format!("SELECT * FROM ({all}) AS {alias}");
        // Before no cursor is before the end.
        let backwards = matches!(query.page, Some(Page::Before(_)));
        if let Some(cursor) = self.cursor(query.page.as_ref()) {
            let _ = write!(
                text,
                " WHERE {}",
                beyond(&alias, &query.order, cursor, backwards)
            );
        }
        if let Some(limit) = &query.limit
            && let Value::Int(n) = self.constant(limit)?
        {
            let _ = write!(
                text,
                "{} LIMIT {}",
                order_by(&format!("{alias}."), &query.order, backwards),
                n.max(0)
            );
        }
        Ok(text)
    }

    fn cursor(&self, page: Option<&Page>) -> Option<&[Value]> {
        let (Page::After(id) | Page::Before(id)) = page?;
        match self.params.get(id.index()) {
            Some(Value::List(values)) => Some(values),
            _ => None,
        }
    }

    fn constant(&self, expr: &Expr) -> Result<Value, OracleError> {
        match expr {
            Expr::Const(value) => Ok(value.clone()),
            Expr::Param(id, path) => Ok(self.param(*id, path)),
            _ => Err(OracleError::Unfit(format!(
                "{expr:?} where a constant was expected"
            ))),
        }
    }

    fn param(&self, id: ParamId, path: &[u16]) -> Value {
        self.params
            .get(id.index())
            .map_or(Value::Null, |value| part(value, path).clone())
    }
}

impl Group<'_> {
    fn column(&mut self, column: String) -> String {
        self.columns.push(column);
        format!("{}.b{}", self.alias, self.columns.len() - 1)
    }
}
