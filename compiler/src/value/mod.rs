//! Values of facts, their one total order, and (in [`ops`]) the one meaning of what is done to them.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod accumulator;
mod decimal_sum;
mod fixed;
mod float_sum;
mod hash;
pub mod ops;
mod time;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// One value. Which variants are possible where is decided by [`crate::model::Type`].
///
/// Invariants kept by every constructor of input: a float is never NaN and never `-0.0`, a decimal
/// is normalised (no trailing zeros), a set is sorted and without duplicates, a map is sorted by
/// key and without duplicate keys.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Value {
    /// Absent. Sorts before everything else.
    #[default]
    Null,
    /// `bool`.
    Bool(bool),
    /// `int` (within 32 bits, checked on input) and `bigint`.
    Int(i64),
    /// `float`: 64 bits, finite or infinite, never NaN.
    Float(f64),
    /// `decimal`: up to 28 digits, exact.
    Decimal(Decimal),
    /// `text`: compared by UTF-8 bytes.
    Text(String),
    /// `blob`.
    Blob(Vec<u8>),
    /// `date`: days since 1970-01-01.
    Date(i32),
    /// `timestamp`: milliseconds since 1970-01-01T00:00Z.
    Timestamp(i64),
    /// `uuid`: compared by bytes.
    Uuid([u8; 16]),
    /// `timeuuid`: version 1, compared by its 60-bit time, then by its remaining bytes.
    TimeUuid([u8; 16]),
    /// `point`: latitude and longitude in degrees.
    Point(f64, f64),
    /// A member of an enumeration, by its position in the declaration.
    Enum(u16),
    /// `list<…>`.
    List(Vec<Value>),
    /// `set<…>`: sorted, distinct.
    Set(Vec<Value>),
    /// `map<…>`: sorted by key, keys distinct.
    Map(Vec<(Value, Value)>),
    /// A nested record, in the order of the declaration.
    Record(Vec<Value>),
    /// The key of an instance, flattened to scalars: the value of a reference.
    Key(Vec<Value>),
}

impl Value {
    /// True for [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The time of a version 1 uuid in milliseconds since 1970.
    pub fn timeuuid_millis(id: &[u8; 16]) -> i64 {
        (timeuuid_ticks(id) as i64 - TIMEUUID_EPOCH as i64).div_euclid(10_000)
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Int(_) => 2,
            Value::Float(_) => 3,
            Value::Decimal(_) => 4,
            Value::Text(_) => 5,
            Value::Blob(_) => 6,
            Value::Date(_) => 7,
            Value::Timestamp(_) => 8,
            Value::Uuid(_) => 9,
            Value::TimeUuid(_) => 10,
            Value::Point(..) => 11,
            Value::Enum(_) => 12,
            Value::List(_) => 13,
            Value::Set(_) => 14,
            Value::Map(_) => 15,
            Value::Record(_) => 16,
            Value::Key(_) => 17,
        }
    }
}

/// Ticks of 100 ns from where version 1 uuids begin to count, in 1582, to 1970.
pub const TIMEUUID_EPOCH: u64 = 0x01b2_1dd2_1381_4000;

/// A version 1 uuid of a time in its own ticks, of which it holds 60 bits; the rest tells those of
/// one moment apart.
pub fn timeuuid(ticks: u64, rest: u64) -> [u8; 16] {
    let high = ((ticks >> 48) & 0x0fff) | 0x1000;
    let time = (ticks << 32) | ((ticks >> 16) & 0xffff_0000) | high;
    ((u128::from(time) << 64) | u128::from(rest)).to_be_bytes()
}

/// The 60-bit count of 100 ns ticks in a version 1 uuid.
pub fn timeuuid_ticks(id: &[u8; 16]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *id;
    u64::from_be_bytes([g & 0x0f, h, e, f, a, b, c, d])
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Value {}
impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        use Value::{
            Blob, Bool, Date, Decimal, Enum, Float, Int, Key, List, Map, Point, Record, Set, Text,
            TimeUuid, Timestamp, Uuid,
        };
        match (self, other) {
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
            (List(a), List(b)) | (Set(a), Set(b)) | (Record(a), Record(b)) | (Key(a), Key(b)) => {
                a.cmp(b)
            }
            (Map(a), Map(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Value::Null => {}
            Value::Bool(a) => a.hash(state),
            Value::Int(a) | Value::Timestamp(a) => a.hash(state),
            Value::Float(a) => a.to_bits().hash(state),
            Value::Decimal(a) => a.hash(state),
            Value::Text(a) => a.hash(state),
            Value::Blob(a) => a.hash(state),
            Value::Date(a) => a.hash(state),
            Value::Uuid(a) | Value::TimeUuid(a) => a.hash(state),
            Value::Point(a, b) => (a.to_bits(), b.to_bits()).hash(state),
            Value::Enum(a) => a.hash(state),
            Value::List(a) | Value::Set(a) | Value::Record(a) | Value::Key(a) => a.hash(state),
            Value::Map(a) => a.hash(state),
        }
    }
}
