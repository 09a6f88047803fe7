use super::*;
use crate::samples::{nested, scalar_types, value_or_null};
use proptest::prelude::*;
use querent_compiler::model::Model;
use querent_compiler::view::KeyPart;
use querent_compiler::view::key_size::{self, HASHED};
use rust_decimal::Decimal;

const DIRECTIONS: [Direction; 2] = [Direction::Asc, Direction::Desc];

fn encoded(value: &Value, ty: &Type, optional: bool, direction: Direction) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, ty, optional, direction, &mut out).unwrap();
    out
}

fn part() -> impl Strategy<Value = (Type, bool, Direction)> {
    (
        prop::sample::select(scalar_types()),
        any::<bool>(),
        prop::sample::select(&DIRECTIONS[..]),
    )
}

/// A part and two values of it.
fn pair() -> impl Strategy<Value = ((Type, bool, Direction), Value, Value)> {
    part().prop_flat_map(|(ty, optional, direction)| {
        let value = value_or_null(&ty, optional);
        (Just((ty, optional, direction)), value.clone(), value)
    })
}

/// A key of several parts and two rows of values.
#[expect(clippy::type_complexity, reason = "a strategy's tuple")]
fn keys() -> impl Strategy<Value = (Vec<(Type, bool, Direction)>, Vec<Value>, Vec<Value>)> {
    prop::collection::vec(pair(), 1..4).prop_map(|parts| {
        // Often equal in the first parts, so that the later ones decide.
        let same = parts.len() / 2;
        let second = |(i, (_, a, b)): (usize, &(_, Value, Value))| {
            if i < same { a.clone() } else { b.clone() }
        };
        (
            parts.iter().map(|(part, ..)| part.clone()).collect(),
            parts.iter().map(|(_, a, _)| a.clone()).collect(),
            parts.iter().enumerate().map(second).collect(),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn numbers_have_the_ordered_bytes_of_their_values(number in any::<i64>()) {
        for direction in DIRECTIONS {
            for (kind, value) in [(Number::Int, ValueRef::Int(number)), (Number::Timestamp, ValueRef::Timestamp(number))] {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                NumberOrder::new(kind, direction).encode(number, &mut a);
                encode_ordered(&value, direction, &mut b);
                prop_assert_eq!(a, b);
            }
        }
    }

    #[test]
    fn any_values_sort_as_their_ordered_bytes_do(a in prop::collection::vec(nested(), 1..3), b in prop::collection::vec(nested(), 1..3)) {
        for direction in DIRECTIONS {
            let bytes = |values: &[Value]| {
                let mut out = Vec::new();
                for value in values {
                    encode_ordered(&ValueRef::of(value), direction, &mut out);
                }
                out
            };
            // Tuples are of one length.
            let n = a.len().min(b.len());
            let expected = match direction {
                Direction::Asc => a[..n].cmp(&b[..n]),
                Direction::Desc => b[..n].cmp(&a[..n]),
            };
            prop_assert_eq!(bytes(&a[..n]).cmp(&bytes(&b[..n])), expected);
        }
    }

    #[test]
    fn the_order_of_bytes_is_the_order_of_values(((ty, optional, direction), a, b) in pair()) {
        let bytes = encoded(&a, &ty, optional, direction)
            .cmp(&encoded(&b, &ty, optional, direction));
        let values = if direction == Direction::Asc { a.cmp(&b) } else { b.cmp(&a) };
        prop_assert_eq!(bytes, values);
    }

    #[test]
    fn parts_decode_and_end_where_they_end(
        ((ty, optional, direction), value, _) in pair(),
        tail in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let mut bytes = encoded(&value, &ty, optional, direction);
        let length = bytes.len();
        bytes.extend(tail);
        prop_assert_eq!(decode(&bytes, &ty, optional, direction), Ok((value.clone(), length)));
        prop_assert_eq!(skip(&bytes, &ty, optional, direction), Ok(length));
        prop_assert!(decode_ref(&bytes, &ty, optional, direction).unwrap() == value);
        if !optional && let Some(width) = fixed_width(&ty) {
            prop_assert_eq!(length, width);
        }
        let part = KeyPart { ty: ty.clone(), optional, direction, hashed: false };
        if !matches!(ty, Type::Key(_))
            && let Some(most) = key_size::largest(&Model::default(), &part)
        {
            prop_assert!(length <= most, "{} bytes of {}", length, most);
        }
        for cut in 0..length {
            prop_assert!(decode(&bytes[..cut], &ty, optional, direction).is_err());
            prop_assert!(skip(&bytes[..cut], &ty, optional, direction).is_err());
        }
    }

    /// Long values: equal bytes exactly where the values are equal, within the bound, read back
    /// whole or known to be cut.
    #[test]
    fn hashed_parts_are_equal_where_values_are(
        ((ty, optional, direction), a, b) in pair(),
        (long, other, same) in (".{0,300}", ".{0,40}", any::<bool>()),
    ) {
        let part = KeyPart { ty: ty.clone(), optional, direction, hashed: true };
        let lengthen = |value: &Value, tail: &str| match value {
            Value::Text(text) => Value::Text(format!("{text}{long}{tail}")),
            Value::Blob(bytes) => Value::Blob([bytes, long.as_bytes(), tail.as_bytes()].concat()),
            value => value.clone(),
        };
        let b = if same { &a } else { &b };
        for (a, b) in [(a.clone(), b.clone()), (lengthen(&a, ""), lengthen(b, &other))] {
            let key = |value: &Value| {
                let mut out = Vec::new();
                encode_part(value, &part, &mut out).unwrap();
                out
            };
            let (x, y) = (key(&a), key(&b));
            prop_assert_eq!(x == y, a == b);
            prop_assert!(x.len() <= HASHED);
            prop_assert_eq!(skip_part(&x, &part), Ok(x.len()));
            let (read, length) = decode_part(&x, &part).unwrap();
            prop_assert_eq!(length, x.len());
            match read {
                InKey::Whole(value) => prop_assert!(value == a && !cuts(&a, &part)),
                InKey::Cut => prop_assert!(cuts(&a, &part)),
            }
            for cut in 0..x.len() {
                prop_assert!(decode_part(&x[..cut], &part).is_err());
            }
        }
    }

    #[test]
    fn keys_of_several_parts_compare_part_by_part((parts, a, b) in keys()) {
        let key = |values: &[Value]| {
            let mut out = Vec::new();
            for ((ty, optional, direction), value) in parts.iter().zip(values) {
                encode(value, ty, *optional, *direction, &mut out).unwrap();
            }
            out
        };
        let mut expected = std::cmp::Ordering::Equal;
        for ((.., direction), (a, b)) in parts.iter().zip(a.iter().zip(&b)) {
            let order = if *direction == Direction::Asc { a.cmp(b) } else { b.cmp(a) };
            expected = expected.then(order);
        }
        prop_assert_eq!(key(&a).cmp(&key(&b)), expected);
        for shorter in 0..a.len() {
            let prefix = key(&a[..shorter]);
            prop_assert!(key(&a).starts_with(&prefix));
            let within = a[..shorter] == b[..shorter];
            let below = successor(&prefix).is_none_or(|bound| key(&b) < bound);
            prop_assert_eq!(key(&b) >= prefix && below, within);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        (ty, optional, direction) in part(),
        bytes in prop::collection::vec(prop_oneof![0_u8..16, any::<u8>()], 0..40),
    ) {
        let decoded = decode(&bytes, &ty, optional, direction);
        let skipped = skip(&bytes, &ty, optional, direction);
        if let Ok((value, length)) = decoded {
            prop_assert_eq!(skipped, Ok(length));
            prop_assert_eq!(encoded(&value, &ty, optional, direction), &bytes[..length]);
        }
    }
}

#[test]
fn the_design_and_the_store_mean_the_same_limit() {
    let target = querent_compiler::design::target::named("embedded").unwrap();
    assert_eq!(target.limits.key_bytes, crate::store::MAX_KEY as f64);
}

#[test]
fn a_decimal_has_one_encoding() {
    let read = |bytes: &[u8]| decode(bytes, &Type::Decimal, false, Direction::Asc);
    assert_eq!(
        read(&[0x9f, 0x23, 0x60]),
        Ok((Value::Decimal(Decimal::new(125, 1)), 3))
    );
    // Without digits, a 0 first, a 0 last, something behind the end.
    for bytes in [
        &[191, 0][..],
        &[0x9f, 0x12, 0x00],
        &[0x9f, 0x21, 0x00],
        &[0x9f, 0x23, 0x60 | 1, 0x00],
        &[0x9f, 0x23, 0x05],
    ] {
        assert!(read(bytes).is_err(), "{bytes:x?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing() {
    let mut out = vec![7];
    let mut refuse = |value: Value, ty: Type| {
        let error = encode(&value, &ty, false, Direction::Desc, &mut out).unwrap_err();
        assert_eq!(out, [7]);
        error.to_string()
    };
    assert_eq!(
        refuse(Value::Int(1 << 31), Type::Int),
        "2147483648 does not fit an int key part (32 bits); declare it bigint"
    );
    assert_eq!(
        refuse(Value::Null, Type::Date),
        "a key part of type date that is not optional cannot hold null"
    );
    assert_eq!(
        refuse(Value::Bool(true), Type::Date),
        "a key part of type date cannot hold a bool"
    );
    assert_eq!(
        refuse(Value::List(vec![]), Type::Any),
        "a key part of type any cannot hold a list"
    );
}

#[test]
fn the_bytes_are_those_of_format_1() {
    let hex = |value: Value, ty: Type| {
        encoded(&value, &ty, false, Direction::Asc)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<Vec<_>>()
            .concat()
    };
    let size = querent_compiler::model::Size {
        avg: 1.0,
        max: None,
    };
    assert_eq!(hex(Value::Int(-1), Type::Int), "7fffffff");
    assert_eq!(hex(Value::Float(-1.0), Type::Float), "400fffffffffffff");
    assert_eq!(
        hex(Value::Text("a\0b".into()), Type::Text(size)),
        "6101016200"
    );
    assert_eq!(
        hex(Value::Decimal(Decimal::new(125, 1)), Type::Decimal),
        "9f2360"
    );
    assert_eq!(
        hex(Value::Decimal(Decimal::new(-125, 1)), Type::Decimal),
        "60dc9f"
    );
    assert_eq!(hex(Value::Enum(258), Type::Any), "0d0102");
    assert_eq!(successor(&[1, 0xff]), Some(vec![2]));
    assert_eq!(successor(&[0xff]), None);
    assert_eq!(successor(&[]), None);
}
