//! A value that borrows from the bytes it was read from.

use querent_compiler::value::{Value, timeuuid_ticks};
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A value as a row or key holds it. Its order is that of [`Value`].
///
/// The tag takes eight bytes, so that every payload begins at a multiple of eight: copied in odd
/// pieces, each value would wait for its own stores.
#[derive(Clone, Debug, Default)]
#[repr(u64)]
pub enum ValueRef<'a> {
    /// Absent.
    #[default]
    Null,
    /// `bool`.
    Bool(bool),
    /// `int` and `bigint`.
    Int(i64),
    /// `float`.
    Float(f64),
    /// `decimal`.
    Decimal(Decimal),
    /// `text`.
    Text(Cow<'a, str>),
    /// `blob`.
    Blob(Cow<'a, [u8]>),
    /// `date`.
    Date(i32),
    /// `timestamp`.
    Timestamp(i64),
    /// `uuid`.
    Uuid([u8; 16]),
    /// `timeuuid`.
    TimeUuid([u8; 16]),
    /// `point`.
    Point(f64, f64),
    /// A member of an enumeration.
    Enum(u16),
    /// A collection, a record or a reference, decoded. Boxed, so that the common values stay in
    /// registers: what is dropped through its address would hold all of them in memory.
    Owned(Box<Value>),
}

impl<'a> ValueRef<'a> {
    /// A copy that borrows nothing.
    pub fn to_value(&self) -> Value {
        self.clone().into_value()
    }

    /// The value itself; copies only what is borrowed.
    pub fn into_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Bool(v) => Value::Bool(v),
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::Text(v) => Value::Text(v.into_owned()),
            ValueRef::Blob(v) => Value::Blob(v.into_owned()),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Timestamp(v) => Value::Timestamp(v),
            ValueRef::Uuid(v) => Value::Uuid(v),
            ValueRef::TimeUuid(v) => Value::TimeUuid(v),
            ValueRef::Point(a, b) => Value::Point(a, b),
            ValueRef::Enum(v) => Value::Enum(v),
            ValueRef::Owned(v) => *v,
        }
    }

    /// The value as seen through a reference; collections are cloned.
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => ValueRef::Null,
            Value::Bool(v) => ValueRef::Bool(*v),
            Value::Int(v) => ValueRef::Int(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Decimal(v) => ValueRef::Decimal(*v),
            Value::Text(v) => ValueRef::Text(Cow::Borrowed(v)),
            Value::Blob(v) => ValueRef::Blob(Cow::Borrowed(v)),
            Value::Date(v) => ValueRef::Date(*v),
            Value::Timestamp(v) => ValueRef::Timestamp(*v),
            Value::Uuid(v) => ValueRef::Uuid(*v),
            Value::TimeUuid(v) => ValueRef::TimeUuid(*v),
            Value::Point(a, b) => ValueRef::Point(*a, *b),
            Value::Enum(v) => ValueRef::Enum(*v),
            Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Record(_) | Value::Key(_) => {
                ValueRef::Owned(Box::new(value.clone()))
            }
        }
    }

    /// True for null.
    pub fn is_null(&self) -> bool {
        match self {
            ValueRef::Null => true,
            ValueRef::Owned(value) => value.is_null(),
            _ => false,
        }
    }

    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            ValueRef::Null => "null",
            ValueRef::Bool(_) => "a bool",
            ValueRef::Int(_) => "an integer",
            ValueRef::Float(_) => "a float",
            ValueRef::Decimal(_) => "a decimal",
            ValueRef::Text(_) => "a text",
            ValueRef::Blob(_) => "a blob",
            ValueRef::Date(_) => "a date",
            ValueRef::Timestamp(_) => "a timestamp",
            ValueRef::Uuid(_) => "a uuid",
            ValueRef::TimeUuid(_) => "a timeuuid",
            ValueRef::Point(..) => "a point",
            ValueRef::Enum(_) => "a member of an enumeration",
            ValueRef::Owned(_) => "a collection, a record or a reference",
        }
    }

    /// The order of [`Value`].
    pub fn cmp_value(&self, other: &Value) -> Ordering {
        match (self, other) {
            (ValueRef::Owned(a), b) => a.as_ref().cmp(b),
            (ValueRef::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (ValueRef::Blob(a), Value::Blob(b)) => a.as_ref().cmp(b.as_slice()),
            (
                _,
                Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Record(_) | Value::Key(_),
            ) => Ordering::Less,
            (a, b) => a.cmp(&ValueRef::of(b)),
        }
    }

    /// Where values of different kinds sort; collections come last and are compared as [`Value`].
    pub(crate) fn rank(&self) -> u8 {
        match self {
            ValueRef::Null => 0,
            ValueRef::Bool(_) => 1,
            ValueRef::Int(_) => 2,
            ValueRef::Float(_) => 3,
            ValueRef::Decimal(_) => 4,
            ValueRef::Text(_) => 5,
            ValueRef::Blob(_) => 6,
            ValueRef::Date(_) => 7,
            ValueRef::Timestamp(_) => 8,
            ValueRef::Uuid(_) => 9,
            ValueRef::TimeUuid(_) => 10,
            ValueRef::Point(..) => 11,
            ValueRef::Enum(_) => 12,
            ValueRef::Owned(_) => 13,
        }
    }
}

impl From<Value> for ValueRef<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => ValueRef::Null,
            Value::Bool(v) => ValueRef::Bool(v),
            Value::Int(v) => ValueRef::Int(v),
            Value::Float(v) => ValueRef::Float(v),
            Value::Decimal(v) => ValueRef::Decimal(v),
            Value::Text(v) => ValueRef::Text(Cow::Owned(v)),
            Value::Blob(v) => ValueRef::Blob(Cow::Owned(v)),
            Value::Date(v) => ValueRef::Date(v),
            Value::Timestamp(v) => ValueRef::Timestamp(v),
            Value::Uuid(v) => ValueRef::Uuid(v),
            Value::TimeUuid(v) => ValueRef::TimeUuid(v),
            Value::Point(a, b) => ValueRef::Point(a, b),
            Value::Enum(v) => ValueRef::Enum(v),
            collection => ValueRef::Owned(Box::new(collection)),
        }
    }
}

impl Ord for ValueRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        use ValueRef::{
            Blob, Bool, Date, Decimal, Enum, Float, Int, Owned, Point, Text, TimeUuid, Timestamp,
            Uuid,
        };
        match (self, other) {
            (Owned(a), b) => b.cmp_value(a).reverse(),
            (a, Owned(b)) => a.cmp_value(b),
            (Bool(a), Bool(b)) => a.cmp(b),
            (Int(a), Int(b)) | (Timestamp(a), Timestamp(b)) => a.cmp(b),
            (Float(a), Float(b)) => a.total_cmp(b),
            (Decimal(a), Decimal(b)) => a.cmp(b),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Blob(a), Blob(b)) => a.cmp(b),
            (Date(a), Date(b)) => a.cmp(b),
            (Uuid(a), Uuid(b)) => a.cmp(b),
            (TimeUuid(a), TimeUuid(b)) => timeuuid_ticks(a).cmp(&timeuuid_ticks(b)).then(a.cmp(b)),
            (Point(a, b), Point(c, d)) => a.total_cmp(c).then(b.total_cmp(d)),
            (Enum(a), Enum(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for ValueRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ValueRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ValueRef<'_> {}

impl PartialEq<Value> for ValueRef<'_> {
    fn eq(&self, other: &Value) -> bool {
        self.cmp_value(other) == Ordering::Equal
    }
}

impl PartialOrd<Value> for ValueRef<'_> {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp_value(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::nested;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn compares_as_values_do(a in nested(), b in nested()) {
            let expected = a.cmp(&b);
            let (x, y) = (ValueRef::of(&a), ValueRef::of(&b));
            prop_assert_eq!(x.cmp(&y), expected);
            prop_assert_eq!(x.cmp_value(&b), expected);
            prop_assert_eq!(ValueRef::Owned(Box::new(a.clone())).cmp(&y), expected);
            prop_assert_eq!(x.cmp(&ValueRef::Owned(Box::new(b.clone()))), expected);
            prop_assert_eq!(ValueRef::Owned(Box::new(a.clone())).cmp(&ValueRef::Owned(Box::new(b))), expected);
            prop_assert_eq!(x.to_value(), a.clone());
            prop_assert_eq!(ValueRef::from(a.clone()).into_value(), a);
        }
    }
}
