//! Random values of types: small domains, so that values meet, with the extremes among them.

use super::rng::Rng;
use crate::numbers::small_decimal;
use querent_compiler::model::{EntityId, Model, Type};
use querent_compiler::value::Value;
use querent_compiler::value::ops::of_any;
use rust_decimal::Decimal;

/// A random value of a type without references; null where that is impossible.
pub fn scalar(rng: &mut Rng, model: &Model, ty: &Type) -> Value {
    value(rng, model, ty, &mut |_, _| None).unwrap_or_default()
}

/// A random value of a type. References are made by `key`; none where there is no instance.
pub(super) fn value(
    rng: &mut Rng,
    model: &Model,
    ty: &Type,
    key: &mut dyn FnMut(&mut Rng, EntityId) -> Option<Value>,
) -> Option<Value> {
    Some(match ty {
        Type::Bool => Value::Bool(rng.percent(50)),
        Type::Int => Value::Int(match rng.below(20) {
            0 => i64::from(i32::MIN),
            1 => i64::from(i32::MAX),
            2 => rng.below(100_000) as i64 - 50_000,
            _ => rng.below(9) as i64 - 2,
        }),
        Type::BigInt => Value::Int(match rng.below(20) {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => rng.bits() as i64,
            _ => rng.below(9) as i64 - 2,
        }),
        Type::Float => Value::Float(float(rng)),
        Type::Decimal => decimal(rng),
        Type::Text(_) | Type::Cursor => Value::Text(text(rng)),
        Type::Blob(_) => {
            let bytes = rng.one_of([&b""[..], &[0], &[0, 255], &[255], b"ab", &[1, 0, 0]]);
            let long = if bytes.len() > 1 { rng.longer() } else { 0 };
            Value::Blob([&vec![7; long], bytes].concat())
        }
        Type::Date => Value::Date(match rng.below(12) {
            0 => -100_000_000,
            1 => 100_000_000,
            2 => rng.below(40_000) as i32 - 20_000,
            _ => 19_780 + rng.below(4) as i32 * 30,
        }),
        Type::Timestamp => Value::Timestamp(timestamp(rng)),
        Type::Uuid => Value::Uuid(uuid(rng)),
        Type::TimeUuid => Value::TimeUuid(timeuuid(rng)),
        Type::Point => Value::Point(
            rng.one_of([0.0, 90.0, -90.0, 48.5, 48.500_000_1, -12.25]),
            rng.one_of([0.0, 180.0, -180.0, 9.0, 9.1]),
        ),
        Type::Any => {
            let scalars = [
                Type::Int,
                Type::Float,
                Type::Bool,
                Type::Decimal,
                Type::Timestamp,
            ];
            if rng.percent(40) {
                Value::Text(text(rng))
            } else {
                let ty = &scalars[rng.below(scalars.len())];
                return value(rng, model, ty, key).map(of_any);
            }
        }
        Type::Enum(id) => Value::Enum(rng.below(model.enumeration(*id).members.len()) as u16),
        Type::Tag(root) => Value::Enum(rng.below(model.type_members(*root).len()) as u16),
        Type::Key(entity) => return key(rng, *entity),
        Type::List(t, _) => Value::List(several(rng, |rng| value(rng, model, t, key))),
        Type::Set(t, _) => {
            let mut members = several(rng, |rng| value(rng, model, t, key));
            members.sort();
            members.dedup();
            Value::Set(members)
        }
        Type::Map(k, v, _) => {
            let mut pairs = several(rng, |rng| {
                Some((value(rng, model, k, key)?, value(rng, model, v, key)?))
            });
            pairs.sort();
            pairs.dedup_by(|a, b| a.0 == b.0);
            Value::Map(pairs)
        }
        Type::Record(fields) => {
            let mut values = Vec::new();
            for field in fields {
                let given = if field.optional && rng.percent(30) {
                    None
                } else {
                    value(rng, model, &field.ty, key)
                };
                match given {
                    Some(v) => values.push(v),
                    None if field.optional => values.push(Value::Null),
                    None => return None,
                }
            }
            Value::Record(values)
        }
    })
}

fn several<T>(rng: &mut Rng, mut make: impl FnMut(&mut Rng) -> Option<T>) -> Vec<T> {
    (0..rng.one_of([0, 0, 1, 2, 2, 3, 4]))
        .filter_map(|_| make(rng))
        .collect()
}

fn float(rng: &mut Rng) -> f64 {
    match rng.below(16) {
        0 => f64::INFINITY,
        1 => f64::NEG_INFINITY,
        2 => rng.one_of([f64::MAX, -1e308, 1e308]),
        3 => rng.one_of([5e-324, -5e-324, f64::MIN_POSITIVE]),
        4 => rng.one_of([1e16, -1e16, 9_007_199_254_740_993.0]),
        _ => rng.one_of([0.0, 0.1, 0.2, 0.3, 1.5, -2.25, 1.0]),
    }
}

fn decimal(rng: &mut Rng) -> Value {
    if !rng.percent(7) {
        let n = rng.below(40) as i64 - 10;
        let scale = rng.below(3) as u32;
        return small_decimal(n, scale);
    }
    let digits = rng.one_of([
        "1234567890123456789012345678",
        "-9999999999999999999999999999",
        "0.1234567890123456789012345678",
        "12345678901234.56789012345678",
        "0.0000000000000000000000000001",
    ]);
    digits
        .parse::<Decimal>()
        .map_or(Value::Null, |d| Value::Decimal(d.normalize()))
}

/// Long texts differ behind a long common beginning only.
fn text(rng: &mut Rng) -> String {
    let text = rng.one_of([
        "a",
        "b",
        "c",
        "ab",
        "a b",
        "",
        "\0",
        "a\0b",
        "é",
        "\u{10ffff}",
        "Z",
        "zz",
        "日本",
        "'",
        "%",
    ]);
    let long = if text.len() > 1 { rng.longer() } else { 0 };
    format!("{}{text}", "x".repeat(long))
}

/// Around the ends of hours, days, months and years.
fn timestamp(rng: &mut Rng) -> i64 {
    const NEW_YEAR_2024: i64 = 1_704_067_200_000;
    match rng.below(14) {
        0 => rng.one_of([8_640_000_000_000_000, -8_640_000_000_000_000]),
        1 => rng.one_of([-1, 0, 951_782_400_000, -86_400_001]),
        _ => {
            let day = rng.one_of([0, -1, 30, 31, 59, 60]);
            let ms = rng.one_of([0, 1, -1, 3_599_999, 3_600_000, 60_000]);
            NEW_YEAR_2024 + day * 86_400_000 + ms
        }
    }
}

fn uuid(rng: &mut Rng) -> [u8; 16] {
    let mut id = [rng.one_of([0, 1, 0x7f, 0x80, 0xff]); 16];
    id[15] = rng.below(4) as u8;
    id
}

/// Version 1; times whose order is not that of the bytes.
fn timeuuid(rng: &mut Rng) -> [u8; 16] {
    const AT_2024: u64 = 0x01ee_a83b_0d2c_4000;
    let ticks = AT_2024
        + rng.one_of([0, 1, 10_000, 0xffff_ffff, 36_000_000_000]) * rng.between(1, 3) as u64;
    let tick = ticks.to_be_bytes();
    let mut id = [0x80, rng.below(2) as u8, 1, 2, 3, 4, 5, rng.below(2) as u8].repeat(2);
    id[..4].copy_from_slice(&tick[4..]);
    id[4..6].copy_from_slice(&tick[2..4]);
    id[6..8].copy_from_slice(&[0x10 | (tick[0] & 0x0f), tick[1]]);
    id.try_into().unwrap_or_default()
}
