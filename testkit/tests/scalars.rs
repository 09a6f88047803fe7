//! The compiler's scalar meaning against the oracle's, on random values.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::model::{AggregateFn, Binary, Compare, Function, Model, Type};
use querent_compiler::value::Value;
use querent_compiler::value::ops::{self, Accumulator};
use querent_testkit::generate::{Rng, scalar};
use querent_testkit::numbers;

const NUMBERS: [Type; 4] = [Type::Int, Type::BigInt, Type::Float, Type::Decimal];

fn number(rng: &mut Rng) -> Value {
    let ty = NUMBERS[rng.below(4)].clone();
    scalar(rng, &Model::default(), &ty)
}

#[test]
fn arithmetic_and_comparisons() {
    let mut rng = Rng::new(1);
    for _ in 0..30_000 {
        let (a, b) = (number(&mut rng), number(&mut rng));
        for op in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div] {
            assert_eq!(
                ops::binary(op, &a, &b),
                numbers::binary(op, &a, &b),
                "{a:?} {op:?} {b:?}"
            );
        }
        let order = numbers::order(&a, &b);
        assert_eq!(
            ops::compare(&a, Compare::Lt, &b),
            order.is_lt(),
            "{a:?} < {b:?}"
        );
        assert_eq!(
            ops::compare(&a, Compare::Eq, &b),
            order.is_eq(),
            "{a:?} = {b:?}"
        );
    }
}

#[test]
fn functions_of_time() {
    let mut rng = Rng::new(2);
    let functions = [
        Function::Minute,
        Function::Hour,
        Function::Day,
        Function::Month,
        Function::Year,
        Function::Time,
    ];
    for i in 0..30_000 {
        let value = match i % 5 {
            0 => scalar(&mut rng, &Model::default(), &Type::Timestamp),
            1 => scalar(&mut rng, &Model::default(), &Type::TimeUuid),
            2 => scalar(&mut rng, &Model::default(), &Type::Date),
            3 => Value::Timestamp(rng.bits() as i64),
            _ => Value::Date(rng.bits() as i32),
        };
        for f in functions {
            assert_eq!(
                ops::call(f, std::slice::from_ref(&value)),
                numbers::call(f, &value),
                "{f:?} of {value:?}"
            );
        }
    }
}

#[test]
fn sums_and_averages() {
    let mut rng = Rng::new(3);
    for _ in 0..10_000 {
        let ty = NUMBERS[rng.below(4)].clone();
        let values: Vec<Value> = (0..rng.below(7))
            .map(|_| scalar(&mut rng, &Model::default(), &ty))
            .collect();
        let of = |function| {
            let mut accumulator = Accumulator::new(function, false);
            for v in &values {
                accumulator.add(v);
            }
            accumulator.finish()
        };
        assert_eq!(
            of(AggregateFn::Sum),
            numbers::sum(&values),
            "sum of {values:?}"
        );
        assert_eq!(
            of(AggregateFn::Avg),
            numbers::avg(&values),
            "average of {values:?}"
        );
    }
}
