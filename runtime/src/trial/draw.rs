//! Parameters for made-up facts: such that questions find something and changes are accepted.

use super::sample::{Instance, Sample, mixed};
use querent_compiler::design::assumed::{LIMIT, LIST, RANGE};
use querent_compiler::model::{
    Change, Compare, EntityId, Expr, Field, Leaf, Many, ParamId, Pred, Query, Question, Statement,
    Type, Unfold,
};
use querent_compiler::value::{Value, ops};
use std::collections::BTreeMap;

/// Draws parameters, always the same from the same start.
#[derive(Debug)]
pub struct Draw<'m> {
    sample: Sample<'m>,
    drawn: u64,
    /// How many of each root were inserted, and how many are gone.
    inserted: BTreeMap<EntityId, u64>,
    deleted: BTreeMap<EntityId, u64>,
}

/// The values of parameters, and of their parts, as far as they are known.
type Known = BTreeMap<(ParamId, Vec<u16>), Value>;

/// What a node of a scope is.
#[derive(Clone, Debug)]
enum Node {
    Instance(Instance),
    Element(Value),
}

impl<'m> Draw<'m> {
    /// For the facts of a sample.
    pub fn new(sample: Sample<'m>) -> Draw<'m> {
        Draw {
            sample,
            drawn: 0,
            inserted: BTreeMap::new(),
            deleted: BTreeMap::new(),
        }
    }

    fn next(&mut self) -> u64 {
        self.drawn += 1;
        mixed(0x5eed, self.drawn)
    }

    fn any(&mut self, entity: EntityId) -> Instance {
        let number = self.next();
        self.sample.instance(entity, number)
    }

    /// The parameters of a question.
    pub fn question(&mut self, question: &Question) -> Vec<Value> {
        let mut known = Known::new();
        let anchor = self.anchor(&question.query);
        self.query(&question.query, &Node::Instance(anchor), &mut known);
        let params = question.params.iter().enumerate();
        let params = params.map(|(at, p)| self.param(&known, ParamId(at as u32), vec![], &p.ty));
        params.collect()
    }

    /// The parameters of a change.
    pub fn change(&mut self, change: &Change) -> Vec<Value> {
        let types: Vec<&Type> = change.params.iter().map(|p| &p.ty).collect();
        let mut known = Known::new();
        self.statements(&change.statements, &types, &mut known);
        let params = types.iter().enumerate();
        let params = params.map(|(at, ty)| self.param(&known, ParamId(at as u32), vec![], ty));
        params.collect()
    }

    /// A parameter, or a part of it: as it is known, else anything of its type.
    fn param(&mut self, known: &Known, id: ParamId, path: Vec<u16>, ty: &Type) -> Value {
        if let Some(value) = known.get(&(id, path.clone())) {
            return value.clone();
        }
        match ty {
            Type::Record(fields) => {
                let parts = fields.iter().enumerate().map(|(at, field)| {
                    let mut path = path.clone();
                    path.push(at as u16);
                    self.param(known, id, path, &field.ty)
                });
                Value::Record(parts.collect())
            }
            Type::List(inner, _) => {
                // No part of an element is known by itself.
                let mut path = path;
                path.push(u16::MAX);
                let elements =
                    (0..LIST as usize).map(|_| self.param(known, id, path.clone(), inner));
                Value::List(elements.collect())
            }
            Type::Key(entity) => {
                let any = self.any(*entity);
                let mut parts = self.sample.key(any);
                for (at, part) in parts.iter_mut().enumerate() {
                    let mut path = path.clone();
                    path.push(at as u16);
                    if let Some(value) = known.get(&(id, path)) {
                        part.clone_from(value);
                    }
                }
                Value::Key(parts)
            }
            _ => {
                let n = self.next();
                self.sample.nth(ty, n % 100)
            }
        }
    }

    /// An instance that is found: where the question looks for one of many, that one comes first.
    fn anchor(&mut self, query: &Query) -> Instance {
        fn first(filter: &[Pred]) -> Option<&Unfold> {
            filter.iter().find_map(|p| match p {
                Pred::Exists { over, .. } => over.first(),
                Pred::And(all) | Pred::Or(all) => first(all),
                _ => None,
            })
        }
        match first(&query.filter) {
            Some(Unfold {
                parent: 0,
                steps,
                many: Many::Back(r),
            }) if steps.is_empty() => {
                let child = self.any(self.sample.model.reference(*r).entity);
                self.sample.target(child, *r)
            }
            _ => self.any(query.anchor),
        }
    }

    fn query(&mut self, query: &Query, start: &Node, known: &mut Known) {
        let nodes = self.nodes(&query.over, start);
        for pred in &query.filter {
            self.pred(pred, &query.filter, &nodes, known);
        }
        if let Some(Expr::Param(id, path)) = &query.limit {
            learn(known, *id, path, Value::Int(LIMIT as i64));
        }
        for item in &query.select {
            if let Expr::Nested(node, inner) = &item.expr
                && let Some(start) = nodes.get(usize::from(*node))
            {
                self.query(inner, start, known);
            }
        }
    }

    fn nodes(&mut self, over: &[Unfold], start: &Node) -> Vec<Node> {
        let mut nodes = vec![start.clone()];
        for unfold in over {
            let parent = nodes.get(usize::from(unfold.parent)).cloned();
            let node = match (&unfold.many, parent) {
                (Many::Back(r), _) => {
                    Node::Instance(self.any(self.sample.model.reference(*r).entity))
                }
                (Many::Elements(a, path), Some(Node::Instance(at))) => {
                    let at = unfold
                        .steps
                        .iter()
                        .fold(at, |at, r| self.sample.target(at, *r));
                    let whole = self.field(at, Field::Attribute(*a));
                    self.element(&inner(whole, path))
                }
                (Many::ElementElements(path), Some(Node::Element(value))) => {
                    self.element(&inner(value, path))
                }
                _ => Node::Element(Value::Null),
            };
            nodes.push(node);
        }
        nodes
    }

    fn element(&mut self, of: &Value) -> Node {
        let at = self.next();
        let pick = |n: usize| (at % n.max(1) as u64) as usize;
        let found = match of {
            Value::List(all) | Value::Set(all) => all.get(pick(all.len())).cloned(),
            Value::Map(all) => all.get(pick(all.len())).map(|(_, v)| v.clone()),
            _ => None,
        };
        Node::Element(found.unwrap_or_default())
    }

    fn field(&self, of: Instance, field: Field) -> Value {
        let slot = self.sample.model.slot(of.entity, field);
        let row = self.sample.row(of);
        slot.and_then(|s| row.get(s).cloned()).unwrap_or_default()
    }

    fn pred(&mut self, pred: &Pred, beside: &[Pred], nodes: &[Node], known: &mut Known) {
        match pred {
            Pred::And(all) => all.iter().for_each(|p| self.pred(p, all, nodes, known)),
            Pred::Or(all) => all.iter().for_each(|p| self.pred(p, beside, nodes, known)),
            Pred::Not(one) => self.pred(one, &[], nodes, known),
            Pred::Compare(a, op, Expr::Param(id, path)) => {
                self.compared(a, *op, (*id, path), beside, nodes, known);
            }
            Pred::Compare(Expr::Param(id, path), op, b) => {
                self.compared(b, op.flipped(), (*id, path), beside, nodes, known);
            }
            Pred::In(a, list) => {
                for e in list {
                    if let Expr::Param(id, path) = e
                        && let Some(value) = self.value(a, nodes)
                    {
                        learn(known, *id, path, value);
                    }
                }
            }
            Pred::InList(a, Expr::Param(id, path)) => {
                let Some(Node::Instance(at)) = nodes.first().cloned() else {
                    return;
                };
                let mut values = vec![];
                for _ in 0..LIST as usize {
                    let other = Node::Instance(self.any(at.entity));
                    let others: Vec<Node> = std::iter::once(other)
                        .chain(nodes.iter().skip(1).cloned())
                        .collect();
                    values.extend(self.value(a, &others));
                }
                learn(known, *id, path, Value::List(values));
            }
            Pred::Exists { from, over, filter } => {
                if let Some(start) = nodes.get(usize::from(*from)).cloned() {
                    let inner = self.nodes(over, &start);
                    if let Some(filter) = filter {
                        self.pred(filter, &[], &inner, known);
                    }
                }
            }
            _ => {}
        }
    }

    fn compared(
        &mut self,
        a: &Expr,
        op: Compare,
        (id, path): (ParamId, &[u16]),
        beside: &[Pred],
        nodes: &[Node],
        known: &mut Known,
    ) {
        let share = (self.next() % 1000) as f64 / 1000.0;
        let value = match (op, a) {
            (Compare::Eq | Compare::Ne, _) => self.value(a, nodes),
            (
                _,
                Expr::Path {
                    leaf: Leaf::Attribute(attribute, at),
                    ..
                },
            ) if at.is_empty() => {
                // On average a range lets pass what prices assume. Of two bounds, the middle lies
                // between them.
                let most = 2.0 * RANGE;
                let lower = matches!(op, Compare::Gt | Compare::Ge);
                let both = beside.iter().filter(|p| ranges(p, a)).count() > 1;
                let quantile = match (lower, both) {
                    (true, true) => 0.5 - share * most / 2.0,
                    (false, true) => 0.5 + share * most / 2.0,
                    (true, false) => 1.0 - share * most,
                    (false, false) => share * most,
                };
                let domain = self.sample.domain(*attribute) as f64;
                let ty = &self.sample.model.attribute(*attribute).ty;
                Some(self.sample.nth(ty, (quantile * domain) as u64))
            }
            _ => self.value(a, nodes),
        };
        if let Some(value) = value {
            learn(known, id, path, value);
        }
    }

    /// The value of an expression at these nodes; none where it is not one of paths and functions.
    fn value(&self, e: &Expr, nodes: &[Node]) -> Option<Value> {
        match e {
            Expr::Const(value) => Some(value.clone()),
            Expr::Path {
                node, steps, leaf, ..
            } => match (nodes.get(usize::from(*node))?, leaf) {
                (Node::Element(value), Leaf::Element(path)) => Some(inner(value.clone(), path)),
                (Node::Instance(at), leaf) => {
                    let at = steps.iter().fold(*at, |at, r| self.sample.target(at, *r));
                    match leaf {
                        Leaf::Attribute(a, path) => {
                            Some(inner(self.field(at, Field::Attribute(*a)), path))
                        }
                        Leaf::Key => Some(Value::Key(self.sample.key(at))),
                        Leaf::Type => Some(self.field(at, Field::Type)),
                        _ => None,
                    }
                }
                _ => None,
            },
            Expr::Call(function, arguments) => {
                let values = arguments.iter().map(|a| self.value(a, nodes));
                let values: Option<Vec<Value>> = values.collect();
                Some(ops::call(*function, &values?))
            }
            _ => None,
        }
    }

    fn statements(&mut self, statements: &[Statement], types: &[&Type], known: &mut Known) {
        for statement in statements {
            match statement {
                Statement::Insert { entity, values, .. } => {
                    let row = self.new_row(*entity);
                    learn_row(known, values, &row);
                }
                Statement::Update {
                    entity,
                    set,
                    filter,
                    condition,
                } => {
                    let found = self.any(*entity);
                    self.found(found, filter, condition.as_ref(), known);
                    let row = self.new_row(found.entity);
                    learn_row(known, set, &row);
                }
                Statement::Delete {
                    entity,
                    filter,
                    condition,
                } => {
                    // From the last one on, so that none is deleted twice.
                    let root = self.sample.model.entity(*entity).root;
                    let gone = self.deleted.entry(root).or_default();
                    *gone += 1;
                    let last = self.sample.count(*entity).wrapping_sub(*gone);
                    let found = self.sample.instance(*entity, last);
                    self.found(found, filter, condition.as_ref(), known);
                }
                Statement::ForEach { list, item, body } => {
                    let inner = match types.get(list.index()) {
                        Some(Type::List(inner, _)) => (**inner).clone(),
                        _ => continue,
                    };
                    let mut elements = vec![];
                    for _ in 0..LIST as usize {
                        let mut here = known.clone();
                        here.retain(|(id, _), _| id != item);
                        self.statements(body, types, &mut here);
                        elements.push(self.param(&here, *item, vec![], &inner));
                        here.retain(|(id, _), _| id != item);
                        *known = here;
                    }
                    learn(known, *list, &[], Value::List(elements));
                }
            }
        }
    }

    /// What the row of an instance that is not there yet holds.
    fn new_row(&mut self, entity: EntityId) -> Vec<Value> {
        let root = self.sample.model.entity(entity).root;
        let new = self.inserted.entry(root).or_default();
        *new += 1;
        let members = self.sample.members(root);
        let number = members.iter().map(|m| m.1).sum::<u64>() + *new;
        self.sample.row(Instance { entity, number })
    }

    fn found(
        &mut self,
        instance: Instance,
        filter: &[Pred],
        condition: Option<&Pred>,
        known: &mut Known,
    ) {
        let nodes = [Node::Instance(instance)];
        for pred in filter.iter().chain(condition) {
            self.pred(pred, filter, &nodes, known);
        }
    }
}

/// What is learned first holds: of a whole, or of its parts.
fn learn(known: &mut Known, id: ParamId, path: &[u16], value: Value) {
    let whole = path.is_empty() && known.keys().any(|(other, _)| *other == id);
    if !whole {
        known.entry((id, path.to_vec())).or_insert(value);
    }
}

/// Parameters that are values of a row, by slot.
fn learn_row(known: &mut Known, values: &[(usize, Expr)], row: &[Value]) {
    for (slot, e) in values {
        if let Expr::Param(id, path) = e
            && let Some(value) = row.get(*slot)
        {
            learn(known, *id, path, value.clone());
        }
    }
}

/// The part of a value that a path through records leads to.
fn inner(value: Value, path: &[u16]) -> Value {
    path.iter().fold(value, |value, &at| match value {
        Value::Record(parts) => parts.into_iter().nth(usize::from(at)).unwrap_or_default(),
        _ => Value::Null,
    })
}

fn ranges(pred: &Pred, of: &Expr) -> bool {
    match pred {
        Pred::Compare(a, op, b) => op.is_range() && (a == of || b == of),
        _ => false,
    }
}
