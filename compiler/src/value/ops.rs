//! What is done to values: the one place of scalar meaning, for questions, plans and structures.
//!
//! All functions are total. What has no result (a null operand, an overflow, a division by zero,
//! operands that `resolve` would not have let through) gives null.

pub use super::accumulator::Accumulator;
pub use super::decimal_sum::DecimalSum;
pub use super::float_sum::{FloatSum, SumBytesError};

use super::{Value, fixed::Fixed, float_sum, hash, time};
use crate::model::{AggregateFn, Binary, Compare, Function};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use std::cmp::Ordering;

/// A comparison: false with null. Numbers of different types compare by their exact values.
pub fn compare(a: &Value, op: Compare, b: &Value) -> bool {
    if a.is_null() || b.is_null() {
        return false;
    }
    holds(op, order(a, b))
}

/// True if two values that are not null and stand in this order meet the comparison.
pub fn holds(op: Compare, order: Ordering) -> bool {
    match op {
        Compare::Eq => order.is_eq(),
        Compare::Ne => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::Le => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::Ge => order.is_ge(),
    }
}

/// [`Value`]'s order, but numbers of different types by their exact values.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Float(b)) => float_to_decimal(*b, Decimal::from(*a)).reverse(),
        (Value::Float(a), Value::Int(b)) => float_to_decimal(*a, Decimal::from(*b)),
        (Value::Decimal(a), Value::Float(b)) => float_to_decimal(*b, *a).reverse(),
        (Value::Float(a), Value::Decimal(b)) => float_to_decimal(*a, *b),
        (Value::Int(a), Value::Decimal(b)) => Decimal::from(*a).cmp(b),
        (Value::Decimal(a), Value::Int(b)) => a.cmp(&Decimal::from(*b)),
        _ => a.cmp(b),
    }
}

/// The one form of a value whose type the model leaves open (`any`): a whole number is an integer,
/// any other a float where one has its value. So numbers are equal where they are the same, for
/// keys, groups and sets as for comparisons.
#[must_use]
pub fn of_any(value: Value) -> Value {
    let whole = match &value {
        Value::Float(x) if x.fract() == 0.0 => Decimal::from_f64_retain(*x),
        Value::Decimal(d) if d.fract().is_zero() => Some(*d),
        Value::Decimal(d) => {
            let near = d.to_f64().map(Value::Float);
            return near
                .filter(|near| order(near, &value).is_eq())
                .unwrap_or(value);
        }
        _ => None,
    };
    match whole.and_then(|d| d.to_i64()).map(Value::Int) {
        Some(whole) if order(&whole, &value).is_eq() => whole,
        _ => value,
    }
}

/// Compares exactly: both sides as whole numbers of 2^-1074 · 10^-scale.
fn float_to_decimal(a: f64, b: Decimal) -> Ordering {
    const BEYOND_ANY_DECIMAL: f64 = 1e30;
    if a.abs() > BEYOND_ANY_DECIMAL || a.is_nan() {
        return if a < 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        };
    }
    let (mantissa, bit) = float_sum::decompose(a);
    let mut left = Fixed::<34>::ZERO;
    left.add_at(mantissa, bit);
    left.mul_power_of_ten(b.scale());
    if a < 0.0 {
        left = left.negated();
    }
    let right = b.mantissa().unsigned_abs();
    for (part, bit) in [(right as u64, 1074), ((right >> 64) as u64, 1074 + 64)] {
        if b.is_sign_negative() {
            left.add_at(part, bit);
        } else {
            left.sub_at(part, bit);
        }
    }
    match (left.is_zero(), left.is_negative()) {
        (true, _) => Ordering::Equal,
        (_, true) => Ordering::Less,
        (_, false) => Ordering::Greater,
    }
}

/// Whether a decimal has no more than 28 digits, as all that are kept have. The type that holds them
/// has room for some of 29 digits too: which, nobody could remember.
pub fn is_within_digits(x: &Decimal) -> bool {
    const BEYOND: u128 = 10u128.pow(DIGITS);
    x.mantissa().unsigned_abs() < BEYOND
}

/// Digits of a decimal, at most.
const DIGITS: u32 = 28;

/// Arithmetic. An integer with a float is a float, with a decimal a decimal; a decimal with a
/// float is a float.
pub fn binary(op: Binary, a: &Value, b: &Value) -> Value {
    let result = match (a, b) {
        (Value::Int(a), Value::Int(b)) => ints(op, *a, *b).map(Value::Int),
        (Value::Decimal(a), Value::Decimal(b)) => decimals(op, *a, *b),
        (Value::Decimal(a), Value::Int(b)) => decimals(op, *a, Decimal::from(*b)),
        (Value::Int(a), Value::Decimal(b)) => decimals(op, Decimal::from(*a), *b),
        _ => to_float(a)
            .zip(to_float(b))
            .and_then(|(a, b)| floats(op, a, b)),
    };
    result.unwrap_or(Value::Null)
}

/// False where the result of [`binary`] is not one to keep: a sum, a difference or a product of
/// decimals that has more digits than a decimal may have, rounded or not. A quotient has no last
/// digit in general, and floats are rounded by nature.
pub fn is_exact(op: Binary, a: &Value, b: &Value) -> bool {
    let decimal = |value: &Value| match value {
        Value::Int(n) => Some(Decimal::from(*n)),
        Value::Decimal(x) => Some(*x),
        _ => None,
    };
    let (Value::Decimal(result), Some(a), Some(b)) = (binary(op, a, b), decimal(a), decimal(b))
    else {
        return true;
    };
    match op {
        Binary::Add | Binary::Sub | Binary::Mul if !is_within_digits(&result) => false,
        Binary::Add | Binary::Sub => {
            let mut rest = DecimalSum::default();
            rest.add(a);
            rest.add(if op == Binary::Sub { -b } else { b });
            rest.remove(result);
            rest == DecimalSum::default()
        }
        Binary::Mul => {
            // Both as whole numbers of the smallest digit that the product has.
            let product =
                Fixed::<5>::product(a.mantissa().unsigned_abs(), b.mantissa().unsigned_abs());
            let mut kept = Fixed::<5>::from_u128(result.mantissa().unsigned_abs());
            let scale = a.scale() + b.scale();
            kept.mul_power_of_ten(scale.saturating_sub(result.scale()));
            kept == product
        }
        Binary::Div => true,
    }
}

fn ints(op: Binary, a: i64, b: i64) -> Option<i64> {
    match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => a.checked_div(b),
    }
}

fn decimals(op: Binary, a: Decimal, b: Decimal) -> Option<Value> {
    let result = match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => a.checked_div(b).and_then(|x| x.round_sf(DIGITS)),
    };
    result.map(|x| Value::Decimal(x.normalize()))
}

fn floats(op: Binary, a: f64, b: f64) -> Option<Value> {
    let result = match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div if b == 0.0 => return None,
        Binary::Div => a / b,
    };
    // What is infinite was so before, or is an overflow.
    let overflows = result.is_infinite() && a.is_finite() && b.is_finite();
    float(result).filter(|_| !overflows)
}

/// A float as a value keeps the invariants of [`Value`]: no NaN, no `-0.0`.
pub(super) fn float(x: f64) -> Option<Value> {
    (!x.is_nan()).then_some(Value::Float(if x == 0.0 { 0.0 } else { x }))
}

fn to_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(n) => Some(*n as f64),
        Value::Float(x) => Some(*x),
        // By its digits, because that is rounded once.
        Value::Decimal(x) => x.to_string().parse().ok(),
        _ => None,
    }
}

/// A function of values.
pub fn call(function: Function, args: &[Value]) -> Value {
    match (function, args) {
        (Function::Hash, [value, Value::Int(buckets)]) if !value.is_null() && *buckets > 0 => {
            Value::Int((hash::stable(value) % buckets.unsigned_abs()) as i64)
        }
        (Function::Time, [Value::TimeUuid(id)]) => Value::Timestamp(Value::timeuuid_millis(id)),
        (Function::SumOf | Function::AvgOf, [stored]) => {
            let read_as = match function {
                Function::SumOf => AggregateFn::Sum,
                _ => AggregateFn::Avg,
            };
            Accumulator::from_stored(read_as, stored).map_or(Value::Null, |sum| sum.finish())
        }
        (Function::OrZero, [Value::Null]) => Value::Int(0),
        (Function::OrZero, [value]) => value.clone(),
        (
            Function::Time | Function::Hash | Function::SumOf | Function::AvgOf | Function::OrZero,
            _,
        ) => Value::Null,
        (_, [value]) => time::round_down(function, value),
        _ => Value::Null,
    }
}

/// `m[k]`: the value of a map at a key, null where there is none.
pub fn at(map: &Value, key: &Value) -> Value {
    let Value::Map(entries) = map else {
        return Value::Null;
    };
    entries
        .binary_search_by(|(k, _)| k.cmp(key))
        .ok()
        .and_then(|i| entries.get(i))
        .map_or(Value::Null, |(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dec(text: &str) -> Value {
        Value::Decimal(text.parse::<Decimal>().unwrap().normalize())
    }

    #[test]
    fn comparisons_with_null_are_false() {
        for op in [
            Compare::Eq,
            Compare::Ne,
            Compare::Lt,
            Compare::Le,
            Compare::Gt,
            Compare::Ge,
        ] {
            assert!(!compare(&Value::Null, op, &Value::Int(1)));
            assert!(!compare(&Value::Int(1), op, &Value::Null));
            assert!(!compare(&Value::Null, op, &Value::Null));
        }
    }

    fn number() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::Int),
            (-3i64..4).prop_map(Value::Int),
            any::<f64>()
                .prop_filter("no number", |x| !x.is_nan())
                .prop_map(|x| Value::Float(x + 0.0)),
            (-8i32..9).prop_map(|n| Value::Float(f64::from(n) / 2.0)),
            any::<i64>().prop_map(|n| Value::Float(n as f64)),
            (any::<i64>(), 0u32..20)
                .prop_map(|(n, scale)| Value::Decimal(Decimal::new(n, scale).normalize())),
            (-30i64..31).prop_map(|n| Value::Decimal(Decimal::new(n, 1).normalize())),
        ]
    }

    proptest! {
        #[test]
        fn numbers_of_any_are_equal_where_they_are_the_same(a in number(), b in number()) {
            prop_assert!(order(&a, &of_any(a.clone())).is_eq());
            prop_assert_eq!(order(&a, &b).is_eq(), of_any(a) == of_any(b));
        }
    }

    #[test]
    fn a_number_of_any_has_one_form() {
        assert_eq!(of_any(Value::Float(1.0)), Value::Int(1));
        assert_eq!(of_any(dec("1")), Value::Int(1));
        assert_eq!(of_any(dec("1.5")), Value::Float(1.5));
        assert_eq!(of_any(dec("0.1")), dec("0.1"));
        assert_eq!(of_any(Value::Float(1e19)), Value::Float(1e19));
        assert_eq!(of_any(Value::Text("1".into())), Value::Text("1".into()));
    }

    #[test]
    fn numbers_of_different_types_compare_exactly() {
        let big = (1i64 << 53) + 1;
        assert!(compare(
            &Value::Int(big),
            Compare::Gt,
            &Value::Float((1i64 << 53) as f64)
        ));
        assert!(compare(&Value::Int(2), Compare::Eq, &Value::Float(2.0)));
        assert!(
            compare(&dec("0.1"), Compare::Lt, &Value::Float(0.1)),
            "0.1 is a little above"
        );
        assert!(compare(&dec("0.5"), Compare::Eq, &Value::Float(0.5)));
        assert!(compare(&dec("-0.5"), Compare::Gt, &Value::Float(-0.75)));
        assert!(compare(
            &Value::Float(f64::NEG_INFINITY),
            Compare::Lt,
            &Value::Int(i64::MIN)
        ));
        assert!(compare(
            &Value::Float(1e300),
            Compare::Gt,
            &dec("79228162514264337593543950335")
        ));
        assert!(compare(&Value::Int(3), Compare::Eq, &dec("3.0")));
    }

    #[test]
    fn what_has_no_result_is_null() {
        let (min, max) = (Value::Int(i64::MIN), Value::Int(i64::MAX));
        let (zero, one) = (Value::Int(0), Value::Int(1));
        assert!(binary(Binary::Add, &max, &one).is_null());
        assert!(binary(Binary::Div, &min, &Value::Int(-1)).is_null());
        assert!(binary(Binary::Div, &one, &zero).is_null());
        assert!(binary(Binary::Div, &Value::Float(1.0), &Value::Float(0.0)).is_null());
        assert!(binary(Binary::Div, &dec("1"), &dec("0")).is_null());
        assert!(
            binary(
                Binary::Mul,
                &dec("79228162514264337593543950335"),
                &dec("2")
            )
            .is_null()
        );
        let largest = Value::Float(f64::MAX);
        let infinite = Value::Float(f64::INFINITY);
        assert!(binary(Binary::Mul, &largest, &Value::Float(2.0)).is_null());
        assert!(binary(Binary::Sub, &Value::Float(f64::MIN), &largest).is_null());
        assert!(binary(Binary::Div, &largest, &Value::Float(0.5)).is_null());
        assert_eq!(binary(Binary::Add, &infinite, &one), infinite);
        assert!(binary(Binary::Sub, &infinite, &infinite).is_null());
        assert!(binary(Binary::Add, &one, &Value::Null).is_null());
        assert!(binary(Binary::Add, &one, &Value::Text("a".into())).is_null());
        assert_eq!(
            binary(Binary::Mul, &Value::Float(-1.0), &zero),
            Value::Float(0.0)
        );
        assert_eq!(
            binary(Binary::Div, &Value::Int(-7), &Value::Int(2)),
            Value::Int(-3)
        );
        assert_eq!(binary(Binary::Add, &one, &dec("0.50")), dec("1.5"));
        assert_eq!(
            binary(Binary::Add, &one, &Value::Float(0.5)),
            Value::Float(1.5)
        );
    }

    #[test]
    fn decimals_beyond_28_digits_are_rounded() {
        let huge = dec("1000000000000000000000000000");
        let most = dec("9999999999999999999999999999");
        let smallest = dec("0.0000000000000000000000000001");
        for (op, a, b, exact) in [
            (Binary::Add, &huge, &dec("1"), true),
            // What a decimal has room for, but may not have.
            (Binary::Add, &huge, &dec("0.5"), false),
            (Binary::Add, &most, &dec("1"), false),
            (Binary::Mul, &huge, &dec("10"), false),
            (Binary::Sub, &most, &huge, true),
            (Binary::Add, &huge, &smallest, false),
            (Binary::Sub, &dec("1"), &smallest, true),
            (Binary::Sub, &dec("10"), &smallest, false),
            (Binary::Mul, &smallest, &dec("0.5"), false),
            (Binary::Mul, &smallest, &huge, true),
            (Binary::Mul, &dec("-1.1"), &dec("3"), true),
            (
                Binary::Mul,
                &dec("12345678901234.5"),
                &dec("1.0000000000001"),
                true,
            ),
            (
                Binary::Mul,
                &dec("12345678901234.5"),
                &dec("1.00000000000001"),
                false,
            ),
            (Binary::Div, &dec("1"), &dec("3"), true),
            // There is no result at all.
            (Binary::Mul, &huge, &huge, true),
        ] {
            assert_eq!(is_exact(op, a, b), exact, "{a:?} {op:?} {b:?}");
        }
        assert_eq!(
            binary(Binary::Div, &dec("20"), &dec("3")),
            dec("6.666666666666666666666666667")
        );
        assert!(is_exact(Binary::Add, &Value::Float(1e300), &Value::Int(1)));
    }

    #[test]
    fn functions() {
        assert!(call(Function::Hash, &[Value::Null, Value::Int(4)]).is_null());
        assert!(call(Function::Hash, &[Value::Int(4), Value::Int(0)]).is_null());
        assert!(call(Function::Time, &[Value::Int(4)]).is_null());
        assert!(call(Function::Day, &[]).is_null());
        // 2023-11-14T22:13:20Z as a version 1 uuid.
        let ticks = (1_700_000_000_000u64 * 10_000 + 0x01b2_1dd2_1381_4000).to_be_bytes();
        let mut id = [0; 16];
        for (to, from) in [4, 5, 6, 7, 2, 3, 0, 1].into_iter().enumerate() {
            id[to] = ticks[from];
        }
        id[6] |= 0x10;
        let id = Value::TimeUuid(id);
        let at = Value::Timestamp(1_700_000_000_000);
        assert_eq!(call(Function::Time, std::slice::from_ref(&id)), at);
        assert_eq!(call(Function::Day, &[id]), call(Function::Day, &[at]));
    }

    #[test]
    fn map_access() {
        let map = Value::Map(vec![(Value::Int(1), Value::Bool(true))]);
        assert_eq!(at(&map, &Value::Int(1)), Value::Bool(true));
        assert!(at(&map, &Value::Int(2)).is_null());
        assert!(at(&Value::Null, &Value::Int(2)).is_null());
    }

    proptest! {
        #[test]
        fn int_and_float_compare_as_wide_numbers(a in -1i64 << 60..1 << 60, b in -1i64 << 60..1 << 60) {
            let float = b as f64;
            let order = i128::from(a).cmp(&(float as i128));
            prop_assert_eq!(compare(&Value::Int(a), Compare::Lt, &Value::Float(float)), order.is_lt());
            prop_assert_eq!(compare(&Value::Float(float), Compare::Lt, &Value::Int(a)), order.is_gt());
        }

        #[test]
        fn rounding_of_time_is_idempotent_and_down(at in -1i64 << 50..1 << 50) {
            for f in [Function::Minute, Function::Hour, Function::Day, Function::Month, Function::Year] {
                let once = call(f, &[Value::Timestamp(at)]);
                prop_assert!(once <= Value::Timestamp(at));
                prop_assert_eq!(call(f, std::slice::from_ref(&once)), once);
            }
        }
    }
}
