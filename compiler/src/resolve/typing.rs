//! Which types fit together.

use crate::model::{EntityId, Model, Type};

/// The type of the only scalar of an entity's key, where it is a single one.
pub(super) fn single_key(model: &Model, entity: EntityId) -> Option<&Type> {
    match model.key_leaves(entity).as_slice() {
        [leaf] => Some(&model.attribute(leaf.attribute).ty),
        _ => None,
    }
}

/// The type of values that are of both types, where there is one. Sizes do not matter.
#[expect(
    clippy::many_single_char_names,
    reason = "pairs of parts of `a` and `b`"
)]
pub(super) fn meet(model: &Model, a: &Type, b: &Type) -> Option<Type> {
    let both = |a: &Type, b: &Type| meet(model, a, b).map(Box::new);
    Some(match (a, b) {
        (Type::Text(size), Type::Text(_)) => Type::Text(*size),
        (Type::Blob(size), Type::Blob(_)) => Type::Blob(*size),
        (Type::Int | Type::BigInt, Type::Int) | (Type::Int, Type::BigInt) => Type::Int,
        (Type::List(x, size), Type::List(y, _)) => Type::List(both(x, y)?, *size),
        (Type::Set(x, size), Type::Set(y, _)) => Type::Set(both(x, y)?, *size),
        (Type::Map(k, x, size), Type::Map(l, y, _)) => Type::Map(both(k, l)?, both(x, y)?, *size),
        (Type::Record(x), Type::Record(y)) => {
            let same = x.len() == y.len()
                && x.iter()
                    .zip(y)
                    .all(|(a, b)| a.name == b.name && meet(model, &a.ty, &b.ty).is_some());
            return same.then(|| a.clone());
        }
        (Type::Key(x), Type::Key(y)) => {
            return (model.entity(*x).root == model.entity(*y).root).then(|| a.clone());
        }
        (Type::Key(entity), scalar) | (scalar, Type::Key(entity)) => {
            meet(model, single_key(model, *entity)?, scalar)?;
            Type::Key(*entity)
        }
        (Type::Any, other) | (other, Type::Any) => return other.is_scalar().then(|| other.clone()),
        _ => return (a == b).then(|| a.clone()),
    })
}

/// Values that have an order of their own.
pub(super) fn is_orderable(ty: &Type) -> bool {
    ty.is_scalar() && !matches!(ty, Type::Point | Type::Any | Type::Key(_) | Type::Cursor)
}

/// `int`, `bigint`, `float`, `decimal`.
pub(super) fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::BigInt | Type::Float | Type::Decimal)
}

/// The type of arithmetic over two numbers.
pub(super) fn arithmetic(a: &Type, b: &Type) -> Option<Type> {
    Some(match (a, b) {
        (Type::Int, Type::Int) => Type::Int,
        (Type::Int | Type::BigInt, Type::Int | Type::BigInt) => Type::BigInt,
        (Type::Decimal, Type::Decimal | Type::Int | Type::BigInt)
        | (Type::Int | Type::BigInt, Type::Decimal) => Type::Decimal,
        (Type::Float, Type::Float | Type::Int | Type::BigInt)
        | (Type::Int | Type::BigInt, Type::Float) => Type::Float,
        _ => return None,
    })
}

/// A type as a person would write it, without sizes.
pub(super) fn name(model: &Model, ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::Int => "int".into(),
        Type::BigInt => "bigint".into(),
        Type::Float => "float".into(),
        Type::Decimal => "decimal".into(),
        Type::Text(_) => "text".into(),
        Type::Blob(_) => "blob".into(),
        Type::Date => "date".into(),
        Type::Timestamp => "timestamp".into(),
        Type::Uuid => "uuid".into(),
        Type::TimeUuid => "timeuuid".into(),
        Type::Point => "point".into(),
        Type::Any => "any".into(),
        Type::Enum(id) => model.enumeration(*id).name.clone(),
        Type::List(t, _) => format!("list<{}>", name(model, t)),
        Type::Set(t, _) => format!("set<{}>", name(model, t)),
        Type::Map(k, v, _) => format!("map<{}, {}>", name(model, k), name(model, v)),
        Type::Record(_) => "record".into(),
        Type::Key(entity) => format!("key of {}", model.entity(*entity).name),
        Type::Tag(entity) => format!("type of {}", model.entity(*entity).name),
        Type::Cursor => "cursor".into(),
    }
}
