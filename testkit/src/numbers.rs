//! Arithmetic, rounding of time, and exact sums: the functions of values that both
//! implementations of the meaning use.

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use querent_compiler::model::{Binary, Function};
use querent_compiler::value::Value;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::cmp::Ordering;

/// A float as a value: never NaN (null), never `-0.0`.
pub fn float(x: f64) -> Value {
    if x.is_nan() {
        Value::Null
    } else {
        Value::Float(x + 0.0)
    }
}

/// Arithmetic on two values: null if either side is, on overflow, and on division by zero.
/// Integers stay integers; with a decimal the result is a decimal; with a float, a float.
pub fn binary(op: Binary, a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => integers(op, *a, *b),
        (Value::Decimal(a), Value::Decimal(b)) => decimals(op, *a, *b),
        (Value::Int(a), Value::Decimal(b)) => decimals(op, Decimal::from(*a), *b),
        (Value::Decimal(a), Value::Int(b)) => decimals(op, *a, Decimal::from(*b)),
        _ => match (to_float(a), to_float(b)) {
            (Some(a), Some(b)) => floats(op, a, b),
            _ => Value::Null,
        },
    }
}

fn integers(op: Binary, a: i64, b: i64) -> Value {
    let result = match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => a.checked_div(b),
    };
    result.map_or(Value::Null, Value::Int)
}

fn decimals(op: Binary, a: Decimal, b: Decimal) -> Value {
    let result = match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => a.checked_div(b).and_then(|d| d.round_sf(28)),
    };
    result.map_or(Value::Null, |d| Value::Decimal(d.normalize()))
}

fn floats(op: Binary, a: f64, b: f64) -> Value {
    let result = match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div if b == 0.0 => return Value::Null,
        Binary::Div => a / b,
    };
    if a.is_finite() && b.is_finite() {
        finite(result)
    } else {
        float(result)
    }
}

/// What was computed of finite numbers and is infinite is an overflow.
fn finite(x: f64) -> Value {
    if x.is_finite() { float(x) } else { Value::Null }
}

/// False if a sum, a difference or a product of decimals was rounded, or has more than 28 digits.
pub fn is_exact(op: Binary, a: &Value, b: &Value) -> bool {
    let result = binary(op, a, b);
    let (Value::Decimal(_), Some(a), Some(b)) = (&result, exact_value(a), exact_value(b)) else {
        return true;
    };
    let exact = match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => return true,
    };
    let digits = match &result {
        Value::Decimal(d) => d.mantissa().unsigned_abs().to_string().len(),
        _ => 0,
    };
    exact_value(&result) == Some(exact) && digits <= 28
}

fn to_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        // By way of its digits, which rounds once.
        Value::Decimal(d) => d.to_string().parse().ok(),
        _ => None,
    }
}

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A function of one value. Null for null, and where the result has no representation.
pub fn call(function: Function, value: &Value) -> Value {
    let timestamp = |t: Option<i64>| t.map_or(Value::Null, Value::Timestamp);
    match (function, value) {
        (Function::Time, Value::TimeUuid(id)) => Value::Timestamp(Value::timeuuid_millis(id)),
        (Function::Minute, Value::Timestamp(t)) => timestamp(floor(*t, MINUTE)),
        (Function::Hour, Value::Timestamp(t)) => timestamp(floor(*t, HOUR)),
        (Function::Day, Value::Timestamp(t)) => timestamp(floor(*t, DAY)),
        (Function::Month | Function::Year, Value::Timestamp(t)) => {
            timestamp(first_day(function, t.div_euclid(DAY)).checked_mul(DAY))
        }
        (Function::Day, Value::Date(_)) => value.clone(),
        (Function::Month | Function::Year, Value::Date(d)) => {
            i32::try_from(first_day(function, i64::from(*d))).map_or(Value::Null, Value::Date)
        }
        (
            Function::Minute | Function::Hour | Function::Day | Function::Month | Function::Year,
            Value::TimeUuid(id),
        ) => call(function, &Value::Timestamp(Value::timeuuid_millis(id))),
        // The functions of structures and plans are not of the language.
        _ => Value::Null,
    }
}

/// The order of two values in a comparison: numbers of different types by their exact values,
/// everything else as values order.
pub fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(_), Value::Int(_)) | (Value::Float(_), Value::Float(_)) => a.cmp(b),
        (Value::Float(f), Value::Int(_) | Value::Decimal(_)) if f.is_infinite() => {
            f.total_cmp(&0.0)
        }
        (Value::Int(_) | Value::Decimal(_), Value::Float(f)) if f.is_infinite() => {
            0.0_f64.total_cmp(f)
        }
        _ => match (exact_value(a), exact_value(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.cmp(b),
        },
    }
}

fn exact_value(value: &Value) -> Option<BigRational> {
    match value {
        Value::Int(i) => Some(BigRational::from_integer(BigInt::from(*i))),
        Value::Decimal(d) => Some(BigRational::new(
            BigInt::from(d.mantissa()),
            BigInt::from(10).pow(d.scale()),
        )),
        Value::Float(f) => BigRational::from_float(*f),
        _ => None,
    }
}

fn floor(t: i64, width: i64) -> Option<i64> {
    t.div_euclid(width).checked_mul(width)
}

/// The first day of the month or year of a day, in days since 1970-01-01.
fn first_day(function: Function, day: i64) -> i64 {
    // A block of 400 years always has 146,097 days; within it years and months are walked.
    const DAYS_TO_2000: i64 = 10_957;
    let block = (day - DAYS_TO_2000).div_euclid(146_097);
    let start = DAYS_TO_2000 + block * 146_097;
    let mut left = day - start;
    let mut year = 0;
    while left >= year_days(year) {
        left -= year_days(year);
        year += 1;
    }
    if function == Function::Year {
        return day - left;
    }
    let february = year_days(year) - 337;
    for month in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < month {
            break;
        }
        left -= month;
    }
    day - left
}

fn year_days(year: i64) -> i64 {
    if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) {
        366
    } else {
        365
    }
}

/// The sum of values that are not null: exact, rounded once. Null if there is none, where it has
/// no representation, and for infinities of both signs.
pub fn sum(values: &[Value]) -> Value {
    match total(values) {
        Total::None => Value::Null,
        Total::Int(n) => n.to_i64().map_or(Value::Null, Value::Int),
        Total::Decimal(r) => decimal(&r),
        Total::Float(r) => finite(nearest_float(&r)),
        Total::Infinite(x) => float(x),
    }
}

/// The exact sum over the count, rounded once: a decimal for decimals, otherwise a float.
pub fn avg(values: &[Value]) -> Value {
    let over = |r: BigRational| r / BigRational::from_integer(BigInt::from(values.len()));
    match total(values) {
        Total::None => Value::Null,
        Total::Int(n) => float(nearest_float(&over(BigRational::from_integer(n)))),
        Total::Decimal(r) => decimal(&over(r)),
        Total::Float(r) => float(nearest_float(&over(r))),
        Total::Infinite(x) => float(x),
    }
}

enum Total {
    None,
    Int(BigInt),
    Decimal(BigRational),
    Float(BigRational),
    /// An infinity, or NaN where both were met.
    Infinite(f64),
}

fn total(values: &[Value]) -> Total {
    let mut sum = BigRational::zero();
    let mut infinite = 0.0;
    let (mut any, mut float, mut decimal) = (false, false, false);
    for value in values {
        match (value, exact_value(value)) {
            (_, Some(term)) => sum += term,
            (Value::Float(f), None) => infinite += f,
            _ => continue,
        }
        float |= matches!(value, Value::Float(_));
        decimal |= matches!(value, Value::Decimal(_));
        any = true;
    }
    if !any {
        Total::None
    } else if infinite != 0.0 {
        Total::Infinite(infinite)
    } else if float {
        Total::Float(sum)
    } else if decimal {
        Total::Decimal(sum)
    } else {
        Total::Int(sum.to_integer())
    }
}

/// The nearest decimal with the most digits that fit; null where it is too large.
fn decimal(exact: &BigRational) -> Value {
    for scale in (0..=28).rev() {
        let mantissa = half_even(&(exact * BigRational::from_integer(BigInt::from(10).pow(scale))));
        if mantissa.bits() <= 96
            && let Some(d) = mantissa
                .to_i128()
                .and_then(|m| Decimal::try_from_i128_with_scale(m, scale).ok())
        {
            return Value::Decimal(d.normalize());
        }
    }
    Value::Null
}

fn half_even(exact: &BigRational) -> BigInt {
    let floor = exact.floor().to_integer();
    let rest = (exact - BigRational::from_integer(floor.clone()))
        * BigRational::from_integer(BigInt::from(2));
    let odd = (&floor % BigInt::from(2)) != BigInt::zero();
    if rest > BigRational::one() || (rest == BigRational::one() && odd) {
        floor + 1
    } else {
        floor
    }
}

/// The nearest float, ties to even.
fn nearest_float(exact: &BigRational) -> f64 {
    if exact.is_zero() {
        return 0.0;
    }
    let magnitude = exact.abs();
    // 2^(log − 1) < magnitude < 2^(log + 1): the unit in the last place is that of the larger
    // power or half of it, and never below that of the subnormals.
    let log = magnitude.numer().bits() as i64 - magnitude.denom().bits() as i64;
    let mut unit = (log - 53).max(-1074);
    let mut mantissa = half_even(&(&magnitude * power_of_two(-unit)));
    if mantissa.bits() > 53 && unit < 1023 {
        // One bit too many: the unit is twice as large, and rounding starts again from the exact value.
        unit += 1;
        mantissa = half_even(&(&magnitude * power_of_two(-unit)));
    }
    let result = if unit > 1023 {
        f64::INFINITY
    } else {
        let scale = if unit >= -1022 {
            f64::from_bits(((unit + 1023) as u64) << 52)
        } else {
            f64::from_bits(1 << (unit + 1074))
        };
        mantissa.to_f64().unwrap_or(f64::INFINITY) * scale
    };
    if exact.numer().sign() == Sign::Minus {
        -result
    } else {
        result
    }
}

fn power_of_two(exponent: i64) -> BigRational {
    let power = BigRational::from_integer(BigInt::one() << exponent.unsigned_abs());
    if exponent < 0 { power.recip() } else { power }
}

/// A decimal of a small number, for tests and generators.
pub fn small_decimal(n: i64, scale: u32) -> Value {
    Value::Decimal(Decimal::from_i64(n).map_or(Decimal::ZERO, |d| {
        let mut d = d;
        let _ = d.set_scale(scale);
        d.normalize()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f64]) -> Vec<Value> {
        values.iter().map(|&f| Value::Float(f)).collect()
    }

    #[test]
    fn float_sums_are_rounded_once() {
        assert_eq!(sum(&floats(&[1e308, 1e308, -1e308])), Value::Float(1e308));
        assert_eq!(sum(&floats(&[1e16, 1.0, -1e16])), Value::Float(1.0));
        assert_eq!(sum(&floats(&[f64::MAX, f64::MAX])), Value::Null);
        assert_eq!(sum(&floats(&[5e-324, 5e-324])), Value::Float(1e-323));
        assert_eq!(avg(&floats(&[5e-324, 0.0])), Value::Float(0.0));
        assert_eq!(avg(&floats(&[1e-323, 5e-324])), Value::Float(1e-323));
        assert_eq!(
            sum(&floats(&[f64::INFINITY, f64::NEG_INFINITY])),
            Value::Null
        );
        for x in [
            0.1,
            -0.3,
            1.5e300,
            f64::MIN_POSITIVE,
            4.9e-320,
            f64::MAX,
            1.0 / 3.0,
            -7.25,
        ] {
            assert_eq!(sum(&floats(&[x])), Value::Float(x), "{x}");
        }
        for (a, b) in [
            (0.1, 0.2),
            (1.0 / 3.0, 1e-17),
            (9e15, 0.7),
            (f64::MIN_POSITIVE, -5e-324),
        ] {
            assert_eq!(sum(&floats(&[a, b])), Value::Float(a + b), "{a} + {b}");
        }
    }

    #[test]
    fn decimal_sums_and_averages() {
        let d = |s: &str| Value::Decimal(s.parse().unwrap());
        assert_eq!(sum(&[d("0.1"), d("0.2")]), d("0.3"));
        assert_eq!(
            avg(&[d("1"), d("1"), d("0")]),
            d("0.6666666666666666666666666667")
        );
        assert_eq!(
            sum(&[Value::Decimal(Decimal::MAX), Value::Decimal(Decimal::MAX)]),
            Value::Null
        );
        assert_eq!(avg(&[Value::Int(1), Value::Int(2)]), Value::Float(1.5));
    }

    #[test]
    fn months_and_years_start_where_the_calendar_says() {
        let day = |f, d| call(f, &Value::Date(d));
        assert_eq!(day(Function::Month, 59), Value::Date(59)); // 1970-03-01
        assert_eq!(day(Function::Month, 58), Value::Date(31)); // 1970-02-28
        assert_eq!(day(Function::Year, 11_016), Value::Date(10_957)); // 2000-02-29
        assert_eq!(day(Function::Month, 11_016), Value::Date(10_988)); // 2000-02-29
        assert_eq!(day(Function::Year, -1), Value::Date(-365));
        assert_eq!(
            call(Function::Day, &Value::Timestamp(i64::MIN)),
            Value::Null
        );
    }
}
