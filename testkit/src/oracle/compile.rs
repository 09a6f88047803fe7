//! Queries to SQL.
//!
//! To-many nodes are inner joins; to-one paths are scalar subqueries (an absent step gives null);
//! `exists` is `EXISTS`; an aggregate over a path and a nested shape are correlated subqueries.
//! Every table has an alias of its own, so no name is ever shadowed.

use super::OracleError;
use super::functions::sql;
use super::schema::{collection_table, entity_table, inner_table};
use crate::facts::{part, part_type};
use querent_compiler::model::{
    Aggregate, AggregateFn, Binary, Compare, Direction, EntityId, Expr, Field, Function, Leaf,
    Many, Model, NodeId, Page, ParamId, Pred, Query, ReferenceId, Type, Unfold,
};
use querent_compiler::value::Value;
use std::cell::Cell;
use std::fmt::Write;

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

/// A node of a scope in SQL.
#[derive(Clone)]
enum Node {
    Instance {
        alias: String,
        root: EntityId,
    },
    Element {
        alias: String,
        table: String,
        ty: Type,
    },
}

/// Tables and the conditions that join them.
#[derive(Default)]
struct From {
    tables: Vec<String>,
    conditions: Vec<String>,
}

impl From {
    fn text(&self) -> String {
        let mut text = String::new();
        if !self.tables.is_empty() {
            let _ = write!(text, " FROM {}", self.tables.join(", "));
        }
        if !self.conditions.is_empty() {
            let _ = write!(text, " WHERE {}", self.conditions.join(" AND "));
        }
        text
    }
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
        let mut backwards = false;
        if let Some((page, cursor)) = self.cursor(query.page.as_ref()) {
            backwards = matches!(page, Page::Before(_));
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

    fn cursor<'q>(&self, page: Option<&'q Page>) -> Option<(&'q Page, &[Value])> {
        let page = page?;
        let (Page::After(id) | Page::Before(id)) = page;
        match self.params.get(id.index()) {
            Some(Value::List(values)) => Some((page, values)),
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

    fn table(&self, entity: EntityId, from: &mut From) -> Node {
        let alias = self.alias("n");
        from.tables
            .push(format!("{} AS {alias}", entity_table(self.model, entity)));
        Node::Instance {
            alias,
            root: self.model.entity(entity).root,
        }
    }

    fn unfold(
        &self,
        scope: &mut Vec<Node>,
        unfold: &Unfold,
        from: &mut From,
    ) -> Result<(), OracleError> {
        let parent = node(scope, unfold.parent)?.clone();
        let next = match (&unfold.many, &parent) {
            (Many::ElementElements(path), Node::Element { alias, table, ty }) => {
                let owner = format!("{alias}.id");
                self.elements(inner_table(table, path), part_type(ty, path), &owner, from)?
            }
            (Many::ElementElements(_), Node::Instance { .. }) => {
                return Err(OracleError::Unfit(
                    "elements of an element asked of an instance".to_owned(),
                ));
            }
            (Many::Back(reference), _) => {
                let (alias, _) = self.walk(&parent, &[], &unfold.steps, from)?;
                let node = self.table(self.model.reference(*reference).entity, from);
                if let Node::Instance {
                    alias: referrer,
                    root,
                } = &node
                {
                    let slot = self.slot(*root, Field::Reference(*reference))?;
                    from.conditions
                        .push(format!("{referrer}.s{slot} = {alias}.k"));
                }
                node
            }
            (Many::Elements(attribute, path), _) => {
                let (alias, _) = self.walk(&parent, &[], &unfold.steps, from)?;
                let ty = part_type(&self.model.attribute(*attribute).ty, path);
                self.elements(
                    collection_table(*attribute, path),
                    ty,
                    &format!("{alias}.k"),
                    from,
                )?
            }
        };
        scope.push(next);
        Ok(())
    }

    fn elements(
        &self,
        table: String,
        collection: Option<&Type>,
        owner: &str,
        from: &mut From,
    ) -> Result<Node, OracleError> {
        let ty = collection
            .and_then(Type::element)
            .ok_or_else(|| OracleError::Unfit(format!("{table} is not a collection")))?;
        let alias = self.alias("n");
        from.tables.push(format!("{table} AS {alias}"));
        from.conditions.push(format!("{alias}.owner = {owner}"));
        Ok(Node::Element {
            alias,
            table,
            ty: ty.clone(),
        })
    }

    /// Joins the tables of a to-one path; the alias and root of the instance at its end.
    fn walk(
        &self,
        start: &Node,
        element: &[u16],
        steps: &[ReferenceId],
        from: &mut From,
    ) -> Result<(String, EntityId), OracleError> {
        let (mut alias, mut root) = match start {
            Node::Instance { alias, root } => (alias.clone(), *root),
            Node::Element { alias, ty, .. } => {
                let Some(Type::Key(target)) = part_type(ty, element) else {
                    return Err(OracleError::Unfit(format!(
                        "no reference at {element:?} of {ty:?}"
                    )));
                };
                self.step(&part_of(&format!("{alias}.v"), element), *target, from)
            }
        };
        for &step in steps {
            let slot = self.slot(root, Field::Reference(step))?;
            (alias, root) = self.step(
                &format!("{alias}.s{slot}"),
                self.model.reference(step).target,
                from,
            );
        }
        Ok((alias, root))
    }

    fn step(&self, key: &str, target: EntityId, from: &mut From) -> (String, EntityId) {
        let alias = self.alias("t");
        from.tables
            .push(format!("{} AS {alias}", entity_table(self.model, target)));
        from.conditions.push(format!("{alias}.k = {key}"));
        (alias, self.model.entity(target).root)
    }

    fn slot(&self, root: EntityId, field: Field) -> Result<usize, OracleError> {
        self.model.slot(root, field).ok_or_else(|| {
            OracleError::Unfit(format!("{} has no {field:?}", self.model.entity(root).name))
        })
    }

    fn path(&self, start: &Node, element: &[u16], steps: &[ReferenceId], leaf: &Leaf) -> Sql {
        match (leaf, start) {
            (Leaf::Element(path), Node::Element { alias, .. }) => {
                return Ok(part_of(&format!("{alias}.v"), path));
            }
            (Leaf::Position, Node::Element { alias, .. }) => return Ok(format!("{alias}.pos")),
            (Leaf::MapKey, Node::Element { alias, .. }) => return Ok(format!("{alias}.mk")),
            _ => {}
        }
        let mut from = From::default();
        let (alias, root) = self.walk(start, element, steps, &mut from)?;
        let value = match leaf {
            Leaf::Key => format!("{alias}.k"),
            Leaf::Type => match self.model.slot(root, Field::Type) {
                Some(slot) => format!("{alias}.s{slot}"),
                None => literal(&Value::Enum(0)),
            },
            Leaf::Attribute(attribute, path) => {
                let slot = self.slot(root, Field::Attribute(*attribute))?;
                part_of(&format!("{alias}.s{slot}"), path)
            }
            Leaf::Element(_) | Leaf::Position | Leaf::MapKey => {
                return Err(OracleError::Unfit(format!("{leaf:?} asked of an instance")));
            }
        };
        if from.tables.is_empty() {
            Ok(value)
        } else {
            Ok(format!("(SELECT {value}{})", from.text()))
        }
    }

    fn expr(&self, scope: &[Node], expr: &Expr) -> Sql {
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

    fn pred(&self, scope: &[Node], pred: &Pred) -> Sql {
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

impl Group<'_> {
    fn column(&mut self, column: String) -> String {
        self.columns.push(column);
        format!("{}.b{}", self.alias, self.columns.len() - 1)
    }
}

fn node(scope: &[Node], id: NodeId) -> Result<&Node, OracleError> {
    scope
        .get(usize::from(id))
        .ok_or_else(|| OracleError::Unfit(format!("no node {id} in the scope")))
}

fn literal(value: &Value) -> String {
    match sql(value) {
        None => "NULL".to_owned(),
        Some(bytes) => {
            let mut text = "X'".to_owned();
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text + "'"
        }
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

fn part_of(value: &str, path: &[u16]) -> String {
    if path.is_empty() {
        return value.to_owned();
    }
    let steps: Vec<String> = path.iter().map(u16::to_string).collect();
    format!("q_part({value}, {})", steps.join(", "))
}

fn binary_name(op: Binary) -> &'static str {
    match op {
        Binary::Add => "q_add",
        Binary::Sub => "q_sub",
        Binary::Mul => "q_mul",
        Binary::Div => "q_div",
    }
}

fn call(function: Function, args: &[String]) -> Sql {
    let name = match function {
        Function::Minute => "q_minute",
        Function::Hour => "q_hour",
        Function::Day => "q_day",
        Function::Month => "q_month",
        Function::Year => "q_year",
        Function::Time => "q_time",
        _ => {
            return Err(OracleError::Unfit(format!(
                "{function:?} is not a function of questions"
            )));
        }
    };
    Ok(format!("{name}({})", args.join(", ")))
}

fn aggregate_call(aggregate: &Aggregate, arg: Option<&str>) -> String {
    let Some(arg) = arg else {
        return "q_int(COUNT(*))".to_owned();
    };
    let distinct = if aggregate.distinct { "DISTINCT " } else { "" };
    match aggregate.function {
        AggregateFn::Count => format!("q_int(COUNT({distinct}{arg}))"),
        AggregateFn::Sum => format!("q_sum({distinct}{arg})"),
        AggregateFn::Avg => format!("q_avg({distinct}{arg})"),
        AggregateFn::Min => format!("MIN({arg})"),
        AggregateFn::Max => format!("MAX({arg})"),
    }
}

/// ` ORDER BY` over the columns `o0…`. `SQLite` sorts null first when ascending, as we do.
fn order_by(prefix: &str, order: &[(Expr, Direction)], backwards: bool) -> String {
    if order.is_empty() {
        return String::new();
    }
    let terms: Vec<String> = order
        .iter()
        .enumerate()
        .map(|(i, (_, direction))| {
            let descending = (*direction == Direction::Desc) != backwards;
            format!("{prefix}o{i} {}", if descending { "DESC" } else { "ASC" })
        })
        .collect();
    format!(" ORDER BY {}", terms.join(", "))
}

/// True of the rows strictly after the cursor in the order, or strictly before it.
fn beyond(alias: &str, order: &[(Expr, Direction)], cursor: &[Value], backwards: bool) -> String {
    let mut alternatives = Vec::new();
    let mut equal = String::new();
    for (i, ((_, direction), value)) in order.iter().zip(cursor).enumerate() {
        let column = format!("{alias}.o{i}");
        let value = literal(value);
        let descending = (*direction == Direction::Desc) != backwards;
        let (low, high) = if descending {
            (&column, &value)
        } else {
            (&value, &column)
        };
        // Null is below everything.
        alternatives.push(format!(
            "({equal}({low} IS NULL AND {high} IS NOT NULL OR COALESCE({low} < {high}, 0)))"
        ));
        let _ = write!(equal, "{column} IS {value} AND ");
    }
    if alternatives.is_empty() {
        "1".to_owned()
    } else {
        alternatives.join(" OR ")
    }
}
