//! Types of expressions in their scope.

use crate::model::{
    AggregateFn, AttributeId, EntityId, Expr, Function, Leaf, Many, Model, NodeId, Query,
    RecordField, Size, Type, Unfold,
};
use crate::value::Value;

/// What a node of a scope stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeType {
    /// An instance of an entity.
    Instance(EntityId),
    /// An element of a collection: its type, and a map's key type.
    Element(Type, Option<Type>),
}

impl NodeType {
    /// An element of this collection.
    pub fn element(collection: &Type) -> NodeType {
        match collection {
            Type::List(t, _) | Type::Set(t, _) => NodeType::Element((**t).clone(), None),
            Type::Map(k, v, _) => NodeType::Element((**v).clone(), Some((**k).clone())),
            _ => NodeType::Element(Type::Any, None),
        }
    }
}

/// The nodes of a scope and their types.
#[derive(Clone, Debug)]
pub struct Scope {
    nodes: Vec<NodeType>,
    /// The attribute whose element a node is, where it is one: what is stated of the attribute
    /// holds of the node.
    collections: Vec<Option<AttributeId>>,
}

impl Scope {
    /// A scope that starts at an instance.
    pub fn new(model: &Model, anchor: EntityId, over: &[Unfold]) -> Scope {
        Scope::from_node(model, NodeType::Instance(anchor), over)
    }
    /// A scope that starts at any node.
    pub fn from_node(model: &Model, start: NodeType, over: &[Unfold]) -> Scope {
        Scope::opened(model, start, None, over)
    }
    fn opened(
        model: &Model,
        start: NodeType,
        collection: Option<AttributeId>,
        over: &[Unfold],
    ) -> Scope {
        let mut scope = Scope {
            nodes: vec![start],
            collections: vec![collection],
        };
        for unfold in over {
            let node = scope.unfolded(model, unfold);
            scope.nodes.push(node);
            scope.collections.push(match &unfold.many {
                Many::Elements(a, path) if path.is_empty() => Some(*a),
                _ => None,
            });
        }
        scope
    }
    /// The scope of a subquery opened at one of this scope's nodes.
    #[must_use]
    pub fn inner(&self, model: &Model, from: NodeId, over: &[Unfold]) -> Scope {
        Scope::opened(model, self.node(from), self.collection(from), over)
    }
    /// The type of a node.
    pub fn node(&self, node: NodeId) -> NodeType {
        self.nodes
            .get(node as usize)
            .cloned()
            .unwrap_or(NodeType::Element(Type::Any, None))
    }

    /// The attribute whose elements a node goes through: of the instance itself, not of a record
    /// within it.
    pub fn collection(&self, node: NodeId) -> Option<AttributeId> {
        self.collections.get(node as usize).copied().flatten()
    }

    fn unfolded(&self, model: &Model, unfold: &Unfold) -> NodeType {
        match &unfold.many {
            Many::Back(r) => NodeType::Instance(model.reference(*r).entity),
            Many::Elements(a, path) => NodeType::element(inner(&model.attribute(*a).ty, path).0),
            Many::ElementElements(path) => match self.node(unfold.parent) {
                NodeType::Element(ty, _) => NodeType::element(inner(&ty, path).0),
                NodeType::Instance(_) => NodeType::Element(Type::Any, None),
            },
        }
    }

    /// The type of an expression, and whether it may be null.
    pub fn type_of(&self, model: &Model, params: &[Type], expr: &Expr) -> (Type, bool) {
        match expr {
            Expr::Const(value) => (const_type(value), value.is_null()),
            Expr::Param(p, path) => {
                let ty = params.get(p.index()).cloned().unwrap_or(Type::Any);
                (inner(&ty, path).0.clone(), true)
            }
            Expr::Path {
                node,
                element,
                steps,
                leaf,
            } => self.path_type(model, *node, element, steps, leaf),
            Expr::Binary(_, a, b) => {
                let (a, b) = (
                    self.type_of(model, params, a).0,
                    self.type_of(model, params, b).0,
                );
                (arithmetic(&a, &b), true)
            }
            Expr::Call(function, args) => {
                let first = args.first().map(|a| self.type_of(model, params, a));
                match (function, first) {
                    (Function::Hash, first) => (Type::Int, first.is_none_or(|(_, o)| o)),
                    (Function::SumOf | Function::AvgOf | Function::OrZero, _) => (Type::Any, true),
                    (Function::Time, first) => (Type::Timestamp, first.is_none_or(|(_, o)| o)),
                    (_, Some((Type::Date, optional))) => (Type::Date, optional),
                    (_, first) => (Type::Timestamp, first.is_none_or(|(_, o)| o)),
                }
            }
            Expr::At(map, _) => {
                let (ty, _) = self.type_of(model, params, map);
                (ty.element().cloned().unwrap_or(Type::Any), true)
            }
            Expr::Aggregate(aggregate) => {
                let scope = if aggregate.over.is_empty() {
                    self.clone()
                } else {
                    self.inner(model, aggregate.from, &aggregate.over)
                };
                let arg = aggregate
                    .arg
                    .as_ref()
                    .map(|a| scope.type_of(model, params, a).0);
                match (aggregate.function, arg) {
                    (AggregateFn::Count, _) => (Type::BigInt, false),
                    (AggregateFn::Sum, Some(Type::Int | Type::BigInt)) => (Type::BigInt, true),
                    (AggregateFn::Avg, Some(Type::Decimal)) => (Type::Decimal, true),
                    (AggregateFn::Avg, _) => (Type::Float, true),
                    (_, Some(ty)) => (ty, true),
                    (_, None) => (Type::Any, true),
                }
            }
            Expr::Nested(from, query) => {
                let ty = self.nested_type(model, params, *from, query);
                (
                    Type::List(
                        Box::new(ty),
                        Size {
                            avg: 1.0,
                            max: None,
                        },
                    ),
                    false,
                )
            }
            Expr::Shape { items, .. } => {
                let fields = items
                    .iter()
                    .map(|item| {
                        let (ty, optional) = self.type_of(model, params, &item.expr);
                        RecordField {
                            name: item.name.clone(),
                            ty,
                            optional,
                        }
                    })
                    .collect();
                (Type::Record(fields), true)
            }
        }
    }

    fn nested_type(&self, model: &Model, params: &[Type], from: NodeId, query: &Query) -> Type {
        let scope = self.inner(model, from, &query.over);
        let fields = query.select.iter().map(|item| {
            let (ty, optional) = scope.type_of(model, params, &item.expr);
            RecordField {
                name: item.name.clone(),
                ty,
                optional,
            }
        });
        Type::Record(fields.collect())
    }

    fn path_type(
        &self,
        model: &Model,
        node: NodeId,
        element_path: &[u16],
        steps: &[crate::model::ReferenceId],
        leaf: &Leaf,
    ) -> (Type, bool) {
        let mut optional = false;
        let mut entity = match self.node(node) {
            NodeType::Instance(e) => Some(e),
            NodeType::Element(ty, map_key) => {
                if element_path.is_empty() && steps.is_empty() {
                    return match leaf {
                        Leaf::Position => (Type::Int, false),
                        Leaf::MapKey => (map_key.unwrap_or(Type::Any), false),
                        Leaf::Element(path) => {
                            let (ty, optional) = inner(&ty, path);
                            (ty.clone(), optional)
                        }
                        _ => (Type::Any, true),
                    };
                }
                let (ty, o) = inner(&ty, element_path);
                optional |= o;
                match ty {
                    Type::Key(e) => Some(*e),
                    _ => None,
                }
            }
        };
        for &step in steps {
            optional |=
                model.reference(step).optional || is_sub(model, model.reference(step).entity);
            entity = Some(model.reference(step).target);
        }
        let Some(entity) = entity else {
            return (Type::Any, true);
        };
        match leaf {
            Leaf::Attribute(a, path) => {
                let attribute = model.attribute(*a);
                let (ty, o) = inner(&attribute.ty, path);
                let inherited = is_sub(model, attribute.entity);
                (ty.clone(), optional || o || attribute.optional || inherited)
            }
            Leaf::Key => (Type::Key(entity), optional),
            Leaf::Type => (Type::Tag(model.entity(entity).root), optional),
            Leaf::Element(_) | Leaf::Position | Leaf::MapKey => (Type::Any, true),
        }
    }
}

/// A field of a subtype is null on instances of other types.
fn is_sub(model: &Model, entity: EntityId) -> bool {
    model.entity(entity).root != entity
}

/// The type at the end of a path through nested records, and whether a step may be null.
pub fn inner<'t>(ty: &'t Type, path: &[u16]) -> (&'t Type, bool) {
    let mut at = (ty, false);
    for &field in path {
        match at.0 {
            Type::Record(fields) => match fields.get(field as usize) {
                Some(f) => at = (&f.ty, at.1 || f.optional),
                None => return (&Type::Any, true),
            },
            _ => return (&Type::Any, true),
        }
    }
    at
}

fn arithmetic(a: &Type, b: &Type) -> Type {
    match (a, b) {
        (Type::Float, _) | (_, Type::Float) => Type::Float,
        (Type::Decimal, _) | (_, Type::Decimal) => Type::Decimal,
        (Type::Int | Type::BigInt, Type::Int | Type::BigInt) => Type::BigInt,
        (other, _) => other.clone(),
    }
}

fn const_type(value: &Value) -> Type {
    let size = Size {
        avg: 1.0,
        max: None,
    };
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::BigInt,
        Value::Float(_) => Type::Float,
        Value::Decimal(_) => Type::Decimal,
        Value::Text(_) => Type::Text(size),
        Value::Blob(_) => Type::Blob(size),
        Value::Date(_) => Type::Date,
        Value::Timestamp(_) => Type::Timestamp,
        Value::Uuid(_) => Type::Uuid,
        Value::TimeUuid(_) => Type::TimeUuid,
        Value::Point(..) => Type::Point,
        _ => Type::Any,
    }
}

/// The attribute's slot is looked up in the row of the attribute's root.
pub fn attribute_slot(model: &Model, attribute: AttributeId) -> Option<usize> {
    let entity = model.attribute(attribute).entity;
    model.slot(entity, crate::model::Field::Attribute(attribute))
}
