//! Aggregates: what a group has seen so far.

use super::{Value, decimal_sum::DecimalSum, float_sum::FloatSum, ops};
use crate::model::AggregateFn;
use std::collections::BTreeMap;

/// The state of one aggregate over one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accumulator {
    function: AggregateFn,
    /// For `distinct`: how often each value was added.
    seen: Option<BTreeMap<Value, u64>>,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Count(u64),
    Sum(Box<Sum>),
    /// The least, the greatest or the only value; null at first.
    Extreme(Value),
}

/// Sums of whole numbers, decimals and floats, and how many of each there are. A question's
/// argument has one type; the others then stay empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    ints: (u64, i128),
    decimals: (u64, DecimalSum),
    floats: (u64, FloatSum),
}

impl Accumulator {
    /// The state over no values.
    pub fn new(function: AggregateFn, distinct: bool) -> Self {
        // The least of distinct values is the least of all.
        let distinct = distinct
            && matches!(
                function,
                AggregateFn::Count | AggregateFn::Sum | AggregateFn::Avg
            );
        let state = match function {
            AggregateFn::Count => State::Count(0),
            AggregateFn::Sum | AggregateFn::Avg => State::Sum(Box::default()),
            AggregateFn::Min | AggregateFn::Max | AggregateFn::Only => State::Extreme(Value::Null),
        };
        Accumulator {
            function,
            seen: distinct.then(BTreeMap::new),
            state,
        }
    }

    /// Adds a value; null is passed over. For `count(*)` any value that is not null stands for a
    /// binding: see [`Accumulator::add_binding`].
    pub fn add(&mut self, value: &Value) {
        if value.is_null() {
            return;
        }
        if let Some(seen) = &mut self.seen {
            let times = seen.entry(value.clone()).or_insert(0);
            *times += 1;
            if *times > 1 {
                return;
            }
        }
        match &mut self.state {
            State::Count(n) => *n += 1,
            State::Sum(sum) => sum.add(value),
            State::Extreme(best) => {
                let better = match self.function {
                    AggregateFn::Min => value < best,
                    _ => value > best,
                };
                if best.is_null() || better {
                    best.clone_from(value);
                }
            }
        }
    }

    /// Counts a binding, for `count(*)`.
    pub fn add_binding(&mut self) {
        if let State::Count(n) = &mut self.state {
            *n += 1;
        }
    }

    /// Takes out a value that was added. False where that is not possible (`min` and `max`, which
    /// need the values that remain); the state is then as it was.
    #[must_use]
    pub fn remove(&mut self, value: &Value) -> bool {
        if value.is_null() {
            return true;
        }
        if matches!(self.state, State::Extreme(_)) {
            return false;
        }
        if let Some(seen) = &mut self.seen {
            match seen.get_mut(value) {
                None => return false,
                Some(times) if *times > 1 => {
                    *times -= 1;
                    return true;
                }
                Some(_) => {
                    seen.remove(value);
                }
            }
        }
        match &mut self.state {
            State::Count(n) => *n = n.saturating_sub(1),
            State::Sum(sum) => sum.remove(value),
            State::Extreme(_) => {}
        }
        true
    }

    /// Takes out a binding, for `count(*)`.
    pub fn remove_binding(&mut self) {
        if let State::Count(n) = &mut self.state {
            *n = n.saturating_sub(1);
        }
    }

    /// Adds what another accumulator of the same aggregate has seen.
    pub fn merge(&mut self, other: &Accumulator) {
        if let Some(theirs) = &other.seen {
            for (value, &times) in theirs {
                self.add(value);
                if let Some(mine) = self.seen.as_mut().and_then(|seen| seen.get_mut(value)) {
                    *mine += times - 1;
                }
            }
            return;
        }
        match (&mut self.state, &other.state) {
            (State::Count(mine), State::Count(theirs)) => *mine += theirs,
            (State::Sum(mine), State::Sum(theirs)) => mine.merge(theirs),
            (_, State::Extreme(best)) => self.add(best),
            _ => {}
        }
    }

    /// The state as a structure stores it: a count as a number, a sum as its exact bytes (sum and
    /// average are both read off them: `Function::SumOf`, `Function::AvgOf`).
    pub fn to_stored(&self) -> Value {
        match &self.state {
            State::Sum(sum) => Value::Blob(sum.to_bytes()),
            State::Count(_) | State::Extreme(_) => self.finish(),
        }
    }

    /// The reverse of [`Accumulator::to_stored`], for aggregates without `distinct`; none where
    /// the value is not such a state.
    pub fn from_stored(function: AggregateFn, stored: &Value) -> Option<Accumulator> {
        let state = match (function, stored) {
            (AggregateFn::Count, Value::Int(n)) => State::Count(u64::try_from(*n).ok()?),
            (AggregateFn::Sum | AggregateFn::Avg, Value::Blob(bytes)) => {
                State::Sum(Box::new(Sum::from_bytes(bytes)?))
            }
            (AggregateFn::Min | AggregateFn::Max | AggregateFn::Only, value) => {
                State::Extreme(value.clone())
            }
            _ => return None,
        };
        Some(Accumulator {
            function,
            seen: None,
            state,
        })
    }

    /// The aggregate of what was seen.
    pub fn finish(&self) -> Value {
        match (&self.state, self.function) {
            (State::Count(n), _) => i64::try_from(*n).map_or(Value::Null, Value::Int),
            (State::Sum(sum), AggregateFn::Avg) => sum.average(),
            (State::Sum(sum), _) => sum.total(),
            (State::Extreme(best), _) => best.clone(),
        }
    }
}

impl Sum {
    /// Per kind of number that is present: a tag, how many there are, and their exact sum.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut part = |tag: u8, count: u64, sum: &[u8]| {
            if count > 0 {
                bytes.push(tag);
                bytes.extend(count.to_le_bytes());
                bytes.extend((sum.len() as u32).to_le_bytes());
                bytes.extend(sum);
            }
        };
        part(0, self.ints.0, &self.ints.1.to_le_bytes());
        part(1, self.decimals.0, &self.decimals.1.to_bytes());
        part(2, self.floats.0, &self.floats.1.to_bytes());
        bytes
    }

    fn from_bytes(mut bytes: &[u8]) -> Option<Sum> {
        let mut sum = Sum::default();
        while let Some((&tag, rest)) = bytes.split_first() {
            let (count, rest) = rest.split_first_chunk::<8>()?;
            let (len, rest) = rest.split_first_chunk::<4>()?;
            let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            let count = u64::from_le_bytes(*count);
            match tag {
                0 => sum.ints = (count, i128::from_le_bytes(part.try_into().ok()?)),
                1 => sum.decimals = (count, DecimalSum::from_bytes(part).ok()?),
                2 => sum.floats = (count, FloatSum::from_bytes(part).ok()?),
                _ => return None,
            }
            bytes = rest;
        }
        Some(sum)
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Int(n) => {
                self.ints.0 += 1;
                self.ints.1 = self.ints.1.wrapping_add(i128::from(*n));
            }
            Value::Decimal(x) => {
                self.decimals.0 += 1;
                self.decimals.1.add(*x);
            }
            Value::Float(x) => {
                self.floats.0 += 1;
                self.floats.1.add(*x);
            }
            _ => {}
        }
    }

    fn remove(&mut self, value: &Value) {
        match value {
            Value::Int(n) => {
                self.ints.0 = self.ints.0.saturating_sub(1);
                self.ints.1 = self.ints.1.wrapping_sub(i128::from(*n));
            }
            Value::Decimal(x) => {
                self.decimals.0 = self.decimals.0.saturating_sub(1);
                self.decimals.1.remove(*x);
            }
            Value::Float(x) => {
                self.floats.0 = self.floats.0.saturating_sub(1);
                self.floats.1.remove(*x);
            }
            _ => {}
        }
    }

    fn merge(&mut self, other: &Sum) {
        self.ints.0 += other.ints.0;
        self.ints.1 = self.ints.1.wrapping_add(other.ints.1);
        self.decimals.0 += other.decimals.0;
        self.decimals.1.merge(&other.decimals.1);
        self.floats.0 += other.floats.0;
        self.floats.1.merge(&other.floats.1);
    }

    fn total(&self) -> Value {
        let total = match (self.ints.0, self.decimals.0, self.floats.0) {
            (0, 0, 0) => None,
            (_, 0, 0) => i64::try_from(self.ints.1).ok().map(Value::Int),
            (_, _, 0) => self.exact_decimals().value().map(Value::Decimal),
            _ => self.exact_floats().value().and_then(ops::float),
        };
        total.unwrap_or(Value::Null)
    }

    fn average(&self) -> Value {
        let count = self.ints.0 + self.decimals.0 + self.floats.0;
        let average = if self.floats.0 == 0 && self.decimals.0 > 0 {
            self.exact_decimals().divided(count).map(Value::Decimal)
        } else {
            self.exact_floats().divided(count).and_then(ops::float)
        };
        average.unwrap_or(Value::Null)
    }

    fn exact_decimals(&self) -> DecimalSum {
        let mut sum = self.decimals.1.clone();
        sum.add_int(self.ints.1);
        sum
    }

    /// Of mixed types the decimals are rounded first; `resolve` lets no such mixture through.
    fn exact_floats(&self) -> FloatSum {
        let mut sum = self.floats.1.clone();
        sum.add_int(self.ints.1);
        if let Some(decimals) = self.decimals.1.value().filter(|_| self.decimals.0 > 0) {
            sum.add(decimals.to_string().parse().unwrap_or(0.0));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FUNCTIONS: [AggregateFn; 5] = [
        AggregateFn::Count,
        AggregateFn::Sum,
        AggregateFn::Min,
        AggregateFn::Max,
        AggregateFn::Avg,
    ];

    fn over(function: AggregateFn, distinct: bool, values: &[Value]) -> Accumulator {
        let mut accumulator = Accumulator::new(function, distinct);
        for v in values {
            accumulator.add(v);
        }
        accumulator
    }

    fn finish(function: AggregateFn, distinct: bool, values: &[Value]) -> Value {
        over(function, distinct, values).finish()
    }

    #[test]
    fn empty_input() {
        for function in FUNCTIONS {
            let expected = if function == AggregateFn::Count {
                Value::Int(0)
            } else {
                Value::Null
            };
            assert_eq!(finish(function, false, &[Value::Null]), expected);
        }
    }

    #[test]
    fn whole_numbers() {
        let values = [Value::Int(1), Value::Null, Value::Int(2), Value::Int(2)];
        assert_eq!(finish(AggregateFn::Count, false, &values), Value::Int(3));
        assert_eq!(finish(AggregateFn::Count, true, &values), Value::Int(2));
        assert_eq!(finish(AggregateFn::Sum, false, &values), Value::Int(5));
        assert_eq!(finish(AggregateFn::Sum, true, &values), Value::Int(3));
        assert_eq!(finish(AggregateFn::Avg, true, &values), Value::Float(1.5));
        assert_eq!(finish(AggregateFn::Min, false, &values), Value::Int(1));
        assert_eq!(finish(AggregateFn::Max, false, &values), Value::Int(2));
    }

    #[test]
    fn an_overflow_passes_when_the_cause_is_removed() {
        let mut sum = over(
            AggregateFn::Sum,
            false,
            &[Value::Int(i64::MAX), Value::Int(1)],
        );
        assert_eq!(sum.finish(), Value::Null);
        assert!(sum.remove(&Value::Int(1)));
        assert_eq!(sum.finish(), Value::Int(i64::MAX));
    }

    #[test]
    fn extremes_cannot_be_taken_back() {
        let mut min = over(AggregateFn::Min, false, &[Value::Int(1)]);
        assert!(!min.remove(&Value::Int(1)));
    }

    fn some(one: impl Strategy<Value = Value>) -> impl Strategy<Value = Vec<Value>> {
        prop::collection::vec(prop_oneof![1 => Just(Value::Null), 9 => one], 0..15)
    }

    fn values() -> impl Strategy<Value = Vec<Value>> {
        let float = (-1000i32..1000).prop_map(|n| Value::Float(f64::from(n) / 7.0));
        let decimal = (-1000i64..1000, 0u32..5)
            .prop_map(|(m, s)| Value::Decimal(rust_decimal::Decimal::new(m, s).normalize()));
        let int = (-5i64..5).prop_map(Value::Int);
        prop_oneof![some(float), some(decimal), some(int)]
    }

    proptest! {
        #[test]
        fn merge_equals_adding_all(xs in values(), ys in values(), distinct in any::<bool>()) {
            for function in FUNCTIONS {
                let mut merged = over(function, distinct, &xs);
                merged.merge(&over(function, distinct, &ys));
                let all: Vec<_> = ys.iter().chain(&xs).cloned().collect();
                prop_assert_eq!(merged, over(function, distinct, &all));
            }
        }

        #[test]
        fn add_then_remove_gives_the_original(xs in values(), ys in values(), distinct in any::<bool>()) {
            for function in [AggregateFn::Count, AggregateFn::Sum, AggregateFn::Avg] {
                let before = over(function, distinct, &xs);
                let mut after = before.clone();
                for y in &ys { after.add(y); }
                for y in &ys {
                    prop_assert!(after.remove(y));
                }
                prop_assert_eq!(after, before);
            }
        }
    }
}
