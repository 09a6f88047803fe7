//! The naive meaning of expressions, predicates and queries: every binding is made, every
//! predicate is asked of every binding, everything is sorted at the end.

use crate::facts::{Facts, part, part_type};
use crate::numbers;
use querent_compiler::model::{
    Aggregate, AggregateFn, Compare, Direction, EntityId, Expr, Field, Item, Leaf, Many, Model,
    Page, ParamId, Pred, Query, Type, Unfold,
};
use querent_compiler::value::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// What a node of a scope is bound to.
#[derive(Clone, Debug)]
pub enum Node {
    /// An instance, by its root entity and flattened key.
    Instance(EntityId, Vec<Value>),
    /// An element of a collection.
    Element {
        /// The element (a map's value) and its type.
        value: Value,
        /// Its type.
        ty: Type,
        /// Its position in a list (or set), from 0.
        position: usize,
        /// Its key in a map, null in other collections.
        key: Value,
    },
}

/// One binding of a scope's nodes.
type Scope = Vec<Node>;

/// An answer, with the values that its rows were ordered by (of which cursors are made).
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Rows.
    pub rows: Vec<Vec<Value>>,
    /// For each row the values of `Query::order`.
    pub order: Vec<Vec<Value>>,
}

/// Facts and parameters in which things are evaluated.
#[derive(Clone, Copy)]
pub struct Eval<'a> {
    /// The model.
    pub model: &'a Model,
    /// The facts.
    pub facts: &'a Facts,
    /// Parameters by position; a cursor is a `Value::List` of the order's values, or null.
    pub params: &'a [Value],
}

impl Eval<'_> {
    /// The answer of a whole query.
    pub fn answer(&self, query: &Query) -> Answer {
        let root = self.model.entity(query.anchor).root;
        let starts = self
            .facts
            .of(self.model, root)
            .map(|(key, _)| Node::Instance(root, key.clone()));
        self.query(query, starts.collect())
    }

    /// The orders of the rows that a cursor parameter pages through: of the query itself, or of
    /// its nested shapes for each of their starts. Filters apply; pages and limits do not.
    pub fn orders(&self, query: &Query, param: ParamId) -> Vec<Vec<Value>> {
        let root = self.model.entity(query.anchor).root;
        let starts = self
            .facts
            .of(self.model, root)
            .map(|(key, _)| Node::Instance(root, key.clone()));
        let mut out = Vec::new();
        self.collect_orders(query, starts.collect(), param, &mut out);
        out
    }

    fn collect_orders(
        &self,
        query: &Query,
        starts: Vec<Node>,
        param: ParamId,
        out: &mut Vec<Vec<Value>>,
    ) {
        if matches!(&query.page, Some(Page::After(id) | Page::Before(id)) if *id == param) {
            let all = Query {
                page: None,
                limit: None,
                ..query.clone()
            };
            out.extend(self.query(&all, starts.clone()).order);
        }
        for scope in self.bindings(query, starts) {
            self.collect_item_orders(&query.select, &scope, param, out);
        }
    }

    fn collect_item_orders(
        &self,
        items: &[Item],
        scope: &[Node],
        param: ParamId,
        out: &mut Vec<Vec<Value>>,
    ) {
        for item in items {
            match &item.expr {
                Expr::Nested(node, inner) => {
                    self.collect_orders(inner, vec![scope[usize::from(*node)].clone()], param, out);
                }
                Expr::Shape { items, .. } => self.collect_item_orders(items, scope, param, out),
                _ => {}
            }
        }
    }

    fn bindings(&self, query: &Query, starts: Vec<Node>) -> Vec<Scope> {
        let starts = starts.into_iter().map(|node| vec![node]).collect();
        let mut bindings = self.unfold_all(starts, &query.over);
        bindings.retain(|scope| query.filter.iter().all(|p| self.pred(scope, p)));
        bindings
    }

    /// True if all predicates hold of one instance.
    pub fn holds(&self, entity: EntityId, key: &[Value], filter: &[Pred]) -> bool {
        let scope = vec![Node::Instance(self.model.entity(entity).root, key.to_vec())];
        filter.iter().all(|p| self.pred(&scope, p))
    }

    /// An expression in the scope of one instance, or of none.
    pub fn of_instance(&self, instance: Option<(EntityId, &[Value])>, expr: &Expr) -> Value {
        let scope: Scope = instance
            .map(|(entity, key)| Node::Instance(self.model.entity(entity).root, key.to_vec()))
            .into_iter()
            .collect();
        self.expr(&scope, expr)
    }

    /// True if arithmetic in an expression over one instance, or over none, has no result although
    /// there is something to compute with, or was rounded: no change may come to that.
    pub fn fails(&self, instance: Option<(EntityId, &[Value])>, expr: &Expr) -> bool {
        match expr {
            Expr::Binary(op, a, b) => {
                let (left, right) = (self.of_instance(instance, a), self.of_instance(instance, b));
                let known = !left.is_null() && !right.is_null();
                let result = numbers::binary(*op, &left, &right);
                self.fails(instance, a)
                    || self.fails(instance, b)
                    || (known && result.is_null())
                    || !numbers::is_exact(*op, &left, &right)
            }
            Expr::Call(_, args) => args.iter().any(|a| self.fails(instance, a)),
            _ => false,
        }
    }

    fn query(&self, query: &Query, starts: Vec<Node>) -> Answer {
        let bindings = self.bindings(query, starts);
        let mut rows: Vec<(Vec<Value>, Vec<Value>)> = match &query.group {
            None => bindings
                .iter()
                .map(|scope| {
                    let order = query
                        .order
                        .iter()
                        .map(|(e, _)| self.expr(scope, e))
                        .collect();
                    let row = query
                        .select
                        .iter()
                        .map(|i| self.expr(scope, &i.expr))
                        .collect();
                    (order, row)
                })
                .collect(),
            Some(group) => self
                .groups(bindings, group)
                .iter()
                .map(|members| {
                    let order = query
                        .order
                        .iter()
                        .map(|(e, _)| self.group_expr(members, e))
                        .collect();
                    let row = query
                        .select
                        .iter()
                        .map(|i| self.group_expr(members, &i.expr))
                        .collect();
                    (order, row)
                })
                .collect(),
        };
        rows.sort_by(|(a, _), (b, _)| compare_by(&query.order, a, b));
        if let Some((page, cursor)) = self.cursor(query.page.as_ref()) {
            let side = match page {
                Page::After(_) => Ordering::Greater,
                Page::Before(_) => Ordering::Less,
            };
            rows.retain(|(order, _)| compare_by(&query.order, order, cursor) == side);
        }
        if let Some(limit) = self.limit(query) {
            // Before no cursor is before the end.
            if matches!(query.page, Some(Page::Before(_))) {
                rows.drain(..rows.len().saturating_sub(limit));
            } else {
                rows.truncate(limit);
            }
        }
        let (order, rows) = rows.into_iter().unzip();
        Answer { rows, order }
    }

    /// The number of rows at most; a negative limit is none at all, a null one no limit.
    fn limit(&self, query: &Query) -> Option<usize> {
        match self.expr(&[], query.limit.as_ref()?) {
            Value::Int(n) => Some(usize::try_from(n).unwrap_or(0)),
            _ => None,
        }
    }

    /// The page asked for, if its cursor has a value.
    fn cursor<'q>(&self, page: Option<&'q Page>) -> Option<(&'q Page, &[Value])> {
        let page = page?;
        let (Page::After(id) | Page::Before(id)) = page;
        match self.param(*id) {
            Value::List(values) => Some((page, values)),
            _ => None,
        }
    }

    fn param(&self, id: ParamId) -> &Value {
        self.params.get(id.index()).unwrap_or(&Value::Null)
    }

    fn groups(&self, bindings: Vec<Scope>, group: &[Expr]) -> Vec<Vec<Scope>> {
        if group.is_empty() {
            return vec![bindings];
        }
        let mut groups: BTreeMap<Vec<Value>, Vec<Scope>> = BTreeMap::new();
        for scope in bindings {
            let key = group.iter().map(|e| self.expr(&scope, e)).collect();
            groups.entry(key).or_default().push(scope);
        }
        groups.into_values().collect()
    }

    /// The bindings that unfolds make of others.
    pub(crate) fn unfold_all(&self, mut bindings: Vec<Scope>, over: &[Unfold]) -> Vec<Scope> {
        for unfold in over {
            let mut next = Vec::new();
            for scope in bindings {
                for node in self.unfold(&scope, unfold) {
                    let mut longer = scope.clone();
                    longer.push(node);
                    next.push(longer);
                }
            }
            bindings = next;
        }
        bindings
    }

    fn unfold(&self, scope: &[Node], unfold: &Unfold) -> Vec<Node> {
        let parent = &scope[usize::from(unfold.parent)];
        if let (Many::ElementElements(path), Node::Element { value, ty, .. }) =
            (&unfold.many, parent)
        {
            return elements(part_type(ty, path), part(value, path));
        }
        let Some((entity, key)) = self.walk(parent, &[], &unfold.steps) else {
            return Vec::new();
        };
        match &unfold.many {
            Many::Back(reference) => {
                let referrer = self
                    .model
                    .entity(self.model.reference(*reference).entity)
                    .root;
                let slot = self.model.slot(referrer, Field::Reference(*reference));
                self.facts
                    .of(self.model, referrer)
                    .filter(|(_, row)| matches!(slot.map(|s| &row[s]), Some(Value::Key(k)) if *k == key))
                    .map(|(key, _)| Node::Instance(referrer, key.clone()))
                    .collect()
            }
            Many::Elements(attribute, path) => {
                let value = self.read(entity, &key, &Leaf::Attribute(*attribute, path.clone()));
                elements(
                    part_type(&self.model.attribute(*attribute).ty, path),
                    &value,
                )
            }
            Many::ElementElements(_) => Vec::new(),
        }
    }

    /// The instance at the end of a to-one path, if the path does not end early.
    fn walk(
        &self,
        node: &Node,
        element: &[u16],
        steps: &[querent_compiler::model::ReferenceId],
    ) -> Option<(EntityId, Vec<Value>)> {
        let (mut entity, mut key) = match node {
            Node::Instance(entity, key) => (*entity, key.clone()),
            Node::Element { value, ty, .. } => {
                match (part_type(ty, element)?, part(value, element)) {
                    (Type::Key(entity), Value::Key(key)) => {
                        (self.model.entity(*entity).root, key.clone())
                    }
                    _ => return None,
                }
            }
        };
        for &step in steps {
            let slot = self.model.slot(entity, Field::Reference(step))?;
            let Value::Key(next) = self.slot(entity, &key, slot) else {
                return None;
            };
            key = next;
            entity = self.model.entity(self.model.reference(step).target).root;
        }
        Some((entity, key))
    }

    /// A slot of an instance. The parts of its key are known from the key alone, also while a
    /// change has deleted the instance and not yet what refers to it.
    fn slot(&self, entity: EntityId, key: &[Value], slot: usize) -> Value {
        if let Some(row) = self.facts.row(self.model, entity, key) {
            return row[slot].clone();
        }
        let root = self.model.root(entity);
        let mut rest = key.iter().cloned();
        for &part in &root.key {
            let value = match root.fields[part] {
                Field::Reference(r) => {
                    let length = self.model.key_leaves(self.model.reference(r).target).len();
                    Value::Key(rest.by_ref().take(length).collect())
                }
                _ => rest.next().unwrap_or_default(),
            };
            if part == slot {
                return value;
            }
        }
        Value::Null
    }

    fn read(&self, entity: EntityId, key: &[Value], leaf: &Leaf) -> Value {
        match leaf {
            Leaf::Key => Value::Key(key.to_vec()),
            Leaf::Type => self
                .model
                .slot(entity, Field::Type)
                .map_or(Value::Enum(0), |slot| self.slot(entity, key, slot)),
            Leaf::Attribute(attribute, path) => self
                .model
                .slot(entity, Field::Attribute(*attribute))
                .map_or(Value::Null, |slot| {
                    part(&self.slot(entity, key, slot), path).clone()
                }),
            Leaf::Element(_) | Leaf::Position | Leaf::MapKey => Value::Null,
        }
    }

    /// An expression in a scope.
    pub fn expr(&self, scope: &[Node], expr: &Expr) -> Value {
        match expr {
            Expr::Const(value) => value.clone(),
            Expr::Param(id, path) => part(self.param(*id), path).clone(),
            Expr::Path {
                node,
                element,
                steps,
                leaf,
            } => {
                let node = &scope[usize::from(*node)];
                match (leaf, node) {
                    (Leaf::Element(path), Node::Element { value, .. }) => part(value, path).clone(),
                    (Leaf::Position, Node::Element { position, .. }) => {
                        Value::Int(*position as i64)
                    }
                    (Leaf::MapKey, Node::Element { key, .. }) => key.clone(),
                    _ => self
                        .walk(node, element, steps)
                        .map_or(Value::Null, |(entity, key)| self.read(entity, &key, leaf)),
                }
            }
            Expr::Binary(op, a, b) => {
                numbers::binary(*op, &self.expr(scope, a), &self.expr(scope, b))
            }
            Expr::Call(function, args) => {
                let args: Vec<Value> = args.iter().map(|a| self.expr(scope, a)).collect();
                args.first()
                    .map_or(Value::Null, |a| numbers::call(*function, a))
            }
            Expr::At(map, key) => at(&self.expr(scope, map), &self.expr(scope, key)),
            Expr::Aggregate(aggregate) => {
                let start = scope[usize::from(aggregate.from)].clone();
                let bindings = self.unfold_all(vec![vec![start]], &aggregate.over);
                self.aggregate(&bindings, aggregate)
            }
            Expr::Nested(node, query) => {
                let answer = self.query(query, vec![scope[usize::from(*node)].clone()]);
                Value::List(answer.rows.into_iter().map(Value::Record).collect())
            }
            Expr::Shape { present, items } => {
                if self.expr(scope, present).is_null() {
                    return Value::Null;
                }
                Value::Record(items.iter().map(|i| self.expr(scope, &i.expr)).collect())
            }
        }
    }

    /// An expression over a group: aggregates see all its bindings; everything else is the same
    /// for all of them, and is read from the first.
    fn group_expr(&self, members: &[Scope], expr: &Expr) -> Value {
        match expr {
            Expr::Aggregate(aggregate) if aggregate.over.is_empty() => {
                self.aggregate(members, aggregate)
            }
            Expr::Binary(op, a, b) => numbers::binary(
                *op,
                &self.group_expr(members, a),
                &self.group_expr(members, b),
            ),
            Expr::Call(function, args) => args.first().map_or(Value::Null, |a| {
                numbers::call(*function, &self.group_expr(members, a))
            }),
            Expr::At(map, key) => at(
                &self.group_expr(members, map),
                &self.group_expr(members, key),
            ),
            Expr::Const(_) | Expr::Param(..) => self.expr(&[], expr),
            _ => members
                .first()
                .map_or(Value::Null, |scope| self.expr(scope, expr)),
        }
    }

    fn aggregate(&self, bindings: &[Scope], aggregate: &Aggregate) -> Value {
        let Some(arg) = &aggregate.arg else {
            return Value::Int(bindings.len() as i64);
        };
        let mut values: Vec<Value> = bindings.iter().map(|scope| self.expr(scope, arg)).collect();
        values.retain(|v| !v.is_null());
        if aggregate.distinct {
            values = values
                .into_iter()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect();
        }
        match aggregate.function {
            AggregateFn::Count => Value::Int(values.len() as i64),
            AggregateFn::Sum => numbers::sum(&values),
            AggregateFn::Avg => numbers::avg(&values),
            AggregateFn::Min => values.into_iter().min().unwrap_or_default(),
            AggregateFn::Max => values.into_iter().max().unwrap_or_default(),
            AggregateFn::Only => values.into_iter().next().unwrap_or_default(),
        }
    }

    /// A predicate in a scope.
    pub fn pred(&self, scope: &[Node], pred: &Pred) -> bool {
        match pred {
            Pred::And(all) => all.iter().all(|p| self.pred(scope, p)),
            Pred::Or(some) => some.iter().any(|p| self.pred(scope, p)),
            Pred::Not(p) => !self.pred(scope, p),
            Pred::Compare(a, op, b) => compare(*op, &self.expr(scope, a), &self.expr(scope, b)),
            Pred::In(a, list) => {
                let a = self.expr(scope, a);
                list.iter()
                    .any(|b| compare(Compare::Eq, &a, &self.expr(scope, b)))
            }
            Pred::InList(a, list) => contains(&self.expr(scope, list), &self.expr(scope, a)),
            Pred::IsNull(a) => self.expr(scope, a).is_null(),
            Pred::Exists { from, over, filter } => {
                let start = scope[usize::from(*from)].clone();
                let bindings = self.unfold_all(vec![vec![start]], over);
                bindings
                    .iter()
                    .any(|inner| filter.as_ref().is_none_or(|p| self.pred(inner, p)))
            }
        }
    }
}

/// The elements of a collection as nodes.
fn elements(ty: Option<&Type>, value: &Value) -> Vec<Node> {
    let Some(ty) = ty.and_then(Type::element) else {
        return Vec::new();
    };
    let element = |position: usize, key: &Value, value: &Value| Node::Element {
        value: value.clone(),
        ty: ty.clone(),
        position,
        key: key.clone(),
    };
    match value {
        Value::List(values) | Value::Set(values) => values
            .iter()
            .enumerate()
            .map(|(i, v)| element(i, &Value::Null, v))
            .collect(),
        Value::Map(pairs) => pairs
            .iter()
            .enumerate()
            .map(|(i, (k, v))| element(i, k, v))
            .collect(),
        _ => Vec::new(),
    }
}

/// The value of a map at a key.
pub(crate) fn at(map: &Value, key: &Value) -> Value {
    match map {
        Value::Map(pairs) => pairs
            .iter()
            .find(|(k, _)| k == key)
            .map_or(Value::Null, |(_, v)| v.clone()),
        _ => Value::Null,
    }
}

/// True if a list has an element that equals the value, which is not null.
pub(crate) fn contains(list: &Value, value: &Value) -> bool {
    match list {
        Value::List(values) | Value::Set(values) => !value.is_null() && values.contains(value),
        _ => false,
    }
}

fn compare(op: Compare, a: &Value, b: &Value) -> bool {
    if a.is_null() || b.is_null() {
        return false;
    }
    let order = numbers::order(a, b);
    match op {
        Compare::Eq => order.is_eq(),
        Compare::Ne => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::Le => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::Ge => order.is_ge(),
    }
}

fn compare_by(order: &[(Expr, Direction)], a: &[Value], b: &[Value]) -> Ordering {
    for ((_, direction), (a, b)) in order.iter().zip(a.iter().zip(b)) {
        let ordering = match direction {
            Direction::Asc => a.cmp(b),
            Direction::Desc => b.cmp(a),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}
