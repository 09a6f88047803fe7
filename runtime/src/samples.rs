//! Random types and values for the property tests of the encodings.

use proptest::prelude::*;
use querent_compiler::model::{EntityId, EnumId, Size, Type};
use querent_compiler::value::Value;
use rust_decimal::Decimal;

const SIZE: Size = Size {
    avg: 10.0,
    max: None,
};

/// Every type that may enter a key.
pub(crate) fn scalar_types() -> Vec<Type> {
    vec![
        Type::Bool,
        Type::Int,
        Type::BigInt,
        Type::Float,
        Type::Decimal,
        Type::Text(SIZE),
        Type::Blob(SIZE),
        Type::Date,
        Type::Timestamp,
        Type::Uuid,
        Type::TimeUuid,
        Type::Point,
        Type::Any,
        Type::Enum(EnumId(0)),
        Type::Tag(EntityId(0)),
        Type::Key(EntityId(0)),
        Type::Cursor,
    ]
}

/// Every kind of type.
pub(crate) fn column_types() -> Vec<Type> {
    let mut types = scalar_types();
    let text = || Box::new(Type::Text(SIZE));
    types.extend([
        Type::List(text(), SIZE),
        Type::Set(text(), SIZE),
        Type::Map(text(), Box::new(Type::Any), SIZE),
        Type::Record(vec![]),
    ]);
    types
}

/// A value of the type: often small, often at an edge, often near another one.
pub(crate) fn value_of(ty: &Type) -> BoxedStrategy<Value> {
    match ty {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Int => int32().prop_map(|v| Value::Int(i64::from(v))).boxed(),
        Type::BigInt => int64().prop_map(Value::Int).boxed(),
        Type::Float => float().prop_map(Value::Float).boxed(),
        Type::Decimal => decimal().prop_map(Value::Decimal).boxed(),
        Type::Text(_) | Type::Cursor => text().prop_map(Value::Text).boxed(),
        Type::Blob(_) => blob().prop_map(Value::Blob).boxed(),
        Type::Date => int32().prop_map(Value::Date).boxed(),
        Type::Timestamp => int64().prop_map(Value::Timestamp).boxed(),
        Type::Uuid => uuid().prop_map(Value::Uuid).boxed(),
        Type::TimeUuid => uuid().prop_map(Value::TimeUuid).boxed(),
        Type::Point => (float(), float())
            .prop_map(|(a, b)| Value::Point(a, b))
            .boxed(),
        Type::Enum(_) | Type::Tag(_) => any::<u16>().prop_map(Value::Enum).boxed(),
        Type::Any => scalar()
            .prop_map(querent_compiler::value::ops::of_any)
            .boxed(),
        Type::Key(_) => prop::collection::vec(scalar(), 0..4)
            .prop_map(Value::Key)
            .boxed(),
        Type::List(..) => prop::collection::vec(nested(), 0..4)
            .prop_map(Value::List)
            .boxed(),
        Type::Set(..) => prop::collection::btree_set(scalar(), 0..4)
            .prop_map(|set| Value::Set(set.into_iter().collect()))
            .boxed(),
        Type::Map(..) => prop::collection::btree_map(scalar(), nested(), 0..4)
            .prop_map(|map| Value::Map(map.into_iter().collect()))
            .boxed(),
        Type::Record(_) => prop::collection::vec(nested(), 0..4)
            .prop_map(Value::Record)
            .boxed(),
    }
}

/// A value of the type, or null where that is possible.
pub(crate) fn value_or_null(ty: &Type, optional: bool) -> BoxedStrategy<Value> {
    if optional {
        prop_oneof![1 => Just(Value::Null), 3 => value_of(ty)].boxed()
    } else {
        value_of(ty)
    }
}

/// Any scalar, never null.
fn scalar() -> impl Strategy<Value = Value> {
    let plain: Vec<_> = scalar_types()
        .into_iter()
        .filter(|ty| !matches!(ty, Type::Any | Type::Key(_)))
        .map(|ty| value_of(&ty))
        .collect();
    prop::strategy::Union::new(plain)
}

/// Any value, nested a few levels.
pub(crate) fn nested() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![1 => Just(Value::Null), 5 => scalar()];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Record),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Key),
            prop::collection::btree_set(inner.clone(), 0..4)
                .prop_map(|set| Value::Set(set.into_iter().collect())),
            prop::collection::btree_map(inner.clone(), inner, 0..4)
                .prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}

fn int32() -> impl Strategy<Value = i32> {
    prop_oneof![-3..3, any::<i32>(), Just(i32::MIN), Just(i32::MAX)]
}

fn int64() -> impl Strategy<Value = i64> {
    prop_oneof![-3_i64..3, any::<i64>(), Just(i64::MIN), Just(i64::MAX)]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        -2.0..2.0,
        any::<i32>().prop_map(f64::from),
        any::<f64>().prop_filter("NaN and -0.0 are no values", |v| !v.is_nan()),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(0.0),
    ]
    .prop_map(|v| if v == 0.0 { 0.0 } else { v })
}

fn decimal() -> impl Strategy<Value = Decimal> {
    const MAX: i128 = (1 << 96) - 1;
    let of = |(mantissa, scale)| Decimal::from_i128_with_scale(mantissa, scale).normalize();
    prop_oneof![
        (-20_i128..20, 0_u32..=2).prop_map(of),
        (-100_000_i128..100_000, 0_u32..=28).prop_map(of),
        (-MAX..=MAX, 0_u32..=28).prop_map(of),
        Just(Decimal::MAX),
        Just(Decimal::MIN),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[\u{0}\u{1}\u{2}a-b\u{7f}é\u{10ffff}]{0,4}",
        "[a-c]{0,3}",
        ".{0,20}"
    ]
}

fn blob() -> impl Strategy<Value = Vec<u8>> {
    let edge = prop_oneof![0_u8..4, 252_u8.., any::<u8>()];
    prop::collection::vec(edge, 0..5)
}

/// Also such that differ in one place only.
fn uuid() -> impl Strategy<Value = [u8; 16]> {
    let near = (0_usize..16, any::<u8>()).prop_map(|(at, byte)| {
        let mut id = [0x11; 16];
        id[at] = byte;
        id
    });
    prop_oneof![any::<[u8; 16]>(), near]
}
