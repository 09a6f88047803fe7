//! The naive evaluator: the meaning of expressions, predicates and queries over a state of facts.
//!
//! It is used wherever meaning matters more than speed: to maintain structures (restricted to the
//! bindings that a change touches), to verify them, and in tests.

use super::facts::{Facts, Key, slot_value};
use super::typing::attribute_slot;
use crate::model::{
    Aggregate, Direction, EntityId, Expr, Field, Leaf, Many, Model, NodeId, Page, Pred, Query,
    ReferenceId, Unfold,
};
use crate::value::Value;
use crate::value::ops::{self, Accumulator};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a node of a scope is bound to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// An instance of a root or link, by key.
    Instance(EntityId, Rc<Key>),
    /// An element of a collection.
    Element {
        /// The element; a map's value.
        value: Rc<Value>,
        /// Its position.
        position: usize,
        /// A map's key; null otherwise.
        map_key: Rc<Value>,
    },
}

/// Nodes of a scope that are looked at in one instance only, by node id; the others in all that
/// there are. The instances exist.
pub type Fixed = BTreeMap<NodeId, Rc<Key>>;

/// An evaluator over one state of the facts.
#[derive(Clone, Copy, Debug)]
pub struct Eval<'a, F> {
    model: &'a Model,
    facts: &'a F,
    params: &'a [Value],
}

impl<'a, F: Facts> Eval<'a, F> {
    /// An evaluator with the values of parameters, by id.
    pub fn new(model: &'a Model, facts: &'a F, params: &'a [Value]) -> Self {
        Eval {
            model,
            facts,
            params,
        }
    }

    /// All bindings of the unfolds from a start in which the fixed nodes are what they are fixed
    /// to, in a deterministic order.
    pub fn bindings(
        &self,
        start: Binding,
        over: &[Unfold],
        fixed: &Fixed,
    ) -> Result<Vec<Vec<Binding>>, F::Error> {
        let mut all = vec![vec![start]];
        for (node, unfold) in (1..).zip(over) {
            let mut next = Vec::new();
            for scope in all {
                for element in self.unfold(&scope, unfold, fixed.get(&node))? {
                    let mut longer = scope.clone();
                    longer.push(element);
                    next.push(longer);
                }
            }
            all = next;
        }
        Ok(all)
    }

    fn unfold(
        &self,
        scope: &[Binding],
        unfold: &Unfold,
        fixed: Option<&Rc<Key>>,
    ) -> Result<Vec<Binding>, F::Error> {
        let Some(parent) = scope.get(unfold.parent as usize) else {
            return Ok(vec![]);
        };
        let collection = match (&unfold.many, parent) {
            (Many::ElementElements(path), Binding::Element { value, .. }) => field(value, path),
            (Many::ElementElements(_), Binding::Instance(..)) => Value::Null,
            (many, parent) => {
                let Some((entity, key)) = self.walk(parent, &[], &unfold.steps)? else {
                    return Ok(vec![]);
                };
                match many {
                    Many::Back(reference) => {
                        let from = self
                            .model
                            .entity(self.model.reference(*reference).entity)
                            .root;
                        let found = match fixed {
                            Some(one) if self.refers(from, one, *reference, &key)? => {
                                vec![Rc::clone(one)]
                            }
                            Some(_) => vec![],
                            None => {
                                let all = self.facts.referrers(*reference, &key)?;
                                all.into_iter().map(Rc::new).collect()
                            }
                        };
                        let found = found.into_iter();
                        return Ok(found.map(|key| Binding::Instance(from, key)).collect());
                    }
                    Many::Elements(attribute, path) => {
                        let Some(slot) = attribute_slot(self.model, *attribute) else {
                            return Ok(vec![]);
                        };
                        field(
                            &slot_value(self.model, self.facts, entity, &key, slot)?,
                            path,
                        )
                    }
                    Many::ElementElements(_) => Value::Null,
                }
            }
        };
        Ok(elements(collection))
    }

    /// Whether an instance that exists refers to a target.
    fn refers(
        &self,
        entity: EntityId,
        key: &[Value],
        reference: ReferenceId,
        target: &[Value],
    ) -> Result<bool, F::Error> {
        let Some(slot) = self.model.slot(entity, Field::Reference(reference)) else {
            return Ok(false);
        };
        let value = slot_value(self.model, self.facts, entity, key, slot)?;
        Ok(matches!(value, Value::Key(found) if found == target))
    }

    /// Walks to-one steps; none where one of them is absent.
    fn walk(
        &self,
        from: &Binding,
        element: &[u16],
        steps: &[ReferenceId],
    ) -> Result<Option<(EntityId, Rc<Key>)>, F::Error> {
        let (mut entity, mut key) = match from {
            Binding::Instance(entity, key) => (*entity, Rc::clone(key)),
            Binding::Element { value, .. } => match field(value, element) {
                // The entity of a key inside an element is only needed by its first step or leaf,
                // both of which name their own entity.
                Value::Key(key) => (EntityId(u32::MAX), Rc::new(key)),
                _ => return Ok(None),
            },
        };
        for &step in steps {
            let reference = self.model.reference(step);
            entity = self.model.entity(reference.entity).root;
            let Some(slot) = self.model.slot(entity, Field::Reference(step)) else {
                return Ok(None);
            };
            match slot_value(self.model, self.facts, entity, &key, slot)? {
                Value::Key(target) => {
                    entity = self.model.entity(reference.target).root;
                    key = Rc::new(target);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some((entity, key)))
    }

    /// The value of an expression. Aggregates of the group are not values of one binding: see
    /// [`Eval::grouped`].
    pub fn expr(&self, scope: &[Binding], expr: &Expr) -> Result<Value, F::Error> {
        self.grouped(&[scope.to_vec()], expr)
    }

    /// The value of an expression over a group of bindings: aggregates of the group see all of
    /// them, everything else sees the first.
    pub fn grouped(&self, group: &[Vec<Binding>], expr: &Expr) -> Result<Value, F::Error> {
        let empty = Vec::new();
        let scope = group.first().unwrap_or(&empty);
        Ok(match expr {
            Expr::Const(value) => value.clone(),
            Expr::Param(p, path) => self
                .params
                .get(p.index())
                .map(|v| field(v, path))
                .unwrap_or_default(),
            Expr::Path {
                node,
                element,
                steps,
                leaf,
            } => self.path(scope, *node, element, steps, leaf)?,
            Expr::Binary(op, a, b) => {
                ops::binary(*op, &self.grouped(group, a)?, &self.grouped(group, b)?)
            }
            Expr::Call(function, args) => {
                let args: Result<Vec<_>, _> = args.iter().map(|a| self.grouped(group, a)).collect();
                ops::call(*function, &args?)
            }
            Expr::At(map, key) => ops::at(&self.grouped(group, map)?, &self.grouped(group, key)?),
            Expr::Aggregate(aggregate) if aggregate.over.is_empty() => {
                self.aggregate(group, aggregate)?
            }
            Expr::Aggregate(aggregate) => match scope.get(aggregate.from as usize) {
                Some(start) => {
                    let inner = self.bindings(start.clone(), &aggregate.over, &Fixed::new())?;
                    self.aggregate(&inner, aggregate)?
                }
                None => Value::Null,
            },
            Expr::Nested(from, query) => match scope.get(*from as usize) {
                Some(start) => {
                    let rows = self.query(start.clone(), query)?;
                    Value::List(rows.into_iter().map(Value::Record).collect())
                }
                None => Value::Null,
            },
            Expr::Shape { present, items } => {
                if self.grouped(group, present)?.is_null() {
                    return Ok(Value::Null);
                }
                let fields: Result<Vec<_>, _> = items
                    .iter()
                    .map(|item| self.grouped(group, &item.expr))
                    .collect();
                Value::Record(fields?)
            }
        })
    }

    fn aggregate(&self, group: &[Vec<Binding>], aggregate: &Aggregate) -> Result<Value, F::Error> {
        let mut accumulator = Accumulator::new(aggregate.function, aggregate.distinct);
        for scope in group {
            match &aggregate.arg {
                Some(arg) => accumulator.add(&self.expr(scope, arg)?),
                None => accumulator.add(&Value::Bool(true)),
            }
        }
        Ok(accumulator.finish())
    }

    fn path(
        &self,
        scope: &[Binding],
        node: NodeId,
        element: &[u16],
        steps: &[ReferenceId],
        leaf: &Leaf,
    ) -> Result<Value, F::Error> {
        let Some(start) = scope.get(node as usize) else {
            return Ok(Value::Null);
        };
        if let Binding::Element {
            value,
            position,
            map_key,
        } = start
        {
            match leaf {
                Leaf::Position => return Ok(Value::Int(*position as i64)),
                Leaf::MapKey => return Ok((**map_key).clone()),
                Leaf::Element(path) => return Ok(field(value, path)),
                Leaf::Attribute(..) | Leaf::Key | Leaf::Type => {}
            }
        }
        let Some((entity, key)) = self.walk(start, element, steps)? else {
            return Ok(Value::Null);
        };
        match leaf {
            Leaf::Attribute(attribute, path) => {
                let entity = self
                    .model
                    .entity(self.model.attribute(*attribute).entity)
                    .root;
                let Some(slot) = attribute_slot(self.model, *attribute) else {
                    return Ok(Value::Null);
                };
                Ok(field(
                    &slot_value(self.model, self.facts, entity, &key, slot)?,
                    path,
                ))
            }
            Leaf::Key => Ok(Value::Key((*key).clone())),
            Leaf::Type => match self.model.slot(entity, Field::Type) {
                Some(slot) => slot_value(self.model, self.facts, entity, &key, slot),
                None => Ok(Value::Enum(0)),
            },
            Leaf::Element(_) | Leaf::Position | Leaf::MapKey => Ok(Value::Null),
        }
    }

    /// Whether a predicate holds.
    pub fn holds(&self, scope: &[Binding], pred: &Pred) -> Result<bool, F::Error> {
        Ok(match pred {
            Pred::And(all) => {
                for p in all {
                    if !self.holds(scope, p)? {
                        return Ok(false);
                    }
                }
                true
            }
            Pred::Or(any) => {
                for p in any {
                    if self.holds(scope, p)? {
                        return Ok(true);
                    }
                }
                false
            }
            Pred::Not(p) => !self.holds(scope, p)?,
            Pred::Compare(a, op, b) => {
                ops::compare(&self.expr(scope, a)?, *op, &self.expr(scope, b)?)
            }
            Pred::In(a, list) => {
                let a = self.expr(scope, a)?;
                for b in list {
                    if !a.is_null() && a == self.expr(scope, b)? {
                        return Ok(true);
                    }
                }
                false
            }
            Pred::InList(a, list) => {
                let a = self.expr(scope, a)?;
                match self.expr(scope, list)? {
                    Value::List(items) | Value::Set(items) => !a.is_null() && items.contains(&a),
                    _ => false,
                }
            }
            Pred::IsNull(a) => self.expr(scope, a)?.is_null(),
            Pred::Exists { from, over, filter } => {
                let Some(start) = scope.get(*from as usize) else {
                    return Ok(false);
                };
                for inner in self.bindings(start.clone(), over, &Fixed::new())? {
                    let found = match filter {
                        Some(filter) => self.holds(&inner, filter)?,
                        None => true,
                    };
                    if found {
                        return Ok(true);
                    }
                }
                false
            }
        })
    }

    /// The bindings of a query from its start, some nodes being fixed, that pass its filter.
    pub fn matching(
        &self,
        start: Binding,
        over: &[Unfold],
        filter: &[Pred],
        fixed: &Fixed,
    ) -> Result<Vec<Vec<Binding>>, F::Error> {
        let mut found = Vec::new();
        'scopes: for scope in self.bindings(start, over, fixed)? {
            for pred in filter {
                if !self.holds(&scope, pred)? {
                    continue 'scopes;
                }
            }
            found.push(scope);
        }
        Ok(found)
    }

    /// The rows of a nested query from the node it hangs on (no cursor).
    fn query(&self, start: Binding, query: &Query) -> Result<Vec<Vec<Value>>, F::Error> {
        let scopes = self.matching(start, &query.over, &query.filter, &Fixed::new())?;
        let groups = match &query.group {
            None => scopes.into_iter().map(|s| vec![s]).collect(),
            Some(by) => {
                let mut groups: BTreeMap<Vec<Value>, Vec<Vec<Binding>>> = BTreeMap::new();
                for scope in scopes {
                    let key: Result<Vec<_>, _> = by.iter().map(|e| self.expr(&scope, e)).collect();
                    groups.entry(key?).or_default().push(scope);
                }
                if by.is_empty() && groups.is_empty() {
                    groups.insert(vec![], vec![]);
                }
                groups.into_values().collect::<Vec<_>>()
            }
        };
        let mut rows = Vec::new();
        for group in groups {
            let order: Result<Vec<_>, _> = query
                .order
                .iter()
                .map(|(e, _)| self.grouped(&group, e))
                .collect();
            let row: Result<Vec<_>, _> = query
                .select
                .iter()
                .map(|item| self.grouped(&group, &item.expr))
                .collect();
            rows.push((order?, row?));
        }
        rows.sort_by(|(a, _), (b, _)| compare_by(a, b, &query.order));
        let limit = match &query.limit {
            Some(limit) => match self.grouped(&[], limit)? {
                Value::Int(n) => usize::try_from(n).unwrap_or(0),
                _ => usize::MAX,
            },
            None => usize::MAX,
        };
        // Nothing that is kept has a cursor, and before none is before the end.
        let skipped = match query.page {
            Some(Page::Before(_)) => rows.len().saturating_sub(limit),
            _ => 0,
        };
        let shown = rows.into_iter().skip(skipped).take(limit);
        Ok(shown.map(|(_, row)| row).collect())
    }
}

/// Compares two lists of order values by the directions of an order.
fn compare_by(a: &[Value], b: &[Value], order: &[(Expr, Direction)]) -> Ordering {
    for ((a, b), (_, direction)) in a.iter().zip(b).zip(order) {
        let ordering = match direction {
            Direction::Asc => a.cmp(b),
            Direction::Desc => b.cmp(a),
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    Ordering::Equal
}

/// A part of a value, through nested records (and scalars of a key); null where there is none.
pub fn field(value: &Value, path: &[u16]) -> Value {
    let mut at = value;
    for &step in path {
        at = match at {
            Value::Record(fields) | Value::Key(fields) => match fields.get(step as usize) {
                Some(next) => next,
                None => return Value::Null,
            },
            _ => return Value::Null,
        };
    }
    at.clone()
}

fn elements(collection: Value) -> Vec<Binding> {
    let of = |value, position, map_key| Binding::Element {
        value: Rc::new(value),
        position,
        map_key: Rc::new(map_key),
    };
    match collection {
        Value::List(items) | Value::Set(items) => items
            .into_iter()
            .enumerate()
            .map(|(i, v)| of(v, i, Value::Null))
            .collect(),
        Value::Map(pairs) => pairs
            .into_iter()
            .enumerate()
            .map(|(i, (k, v))| of(v, i, k))
            .collect(),
        _ => vec![],
    }
}
