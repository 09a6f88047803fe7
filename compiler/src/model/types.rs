//! Types of attributes and parameters.

use super::{EntityId, EnumId};
use serde::{Deserialize, Serialize};

/// Average and largest size: bytes of a text or blob, elements of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// On average.
    pub avg: f64,
    /// At most, where stated.
    pub max: Option<f64>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Type {
    /// `bool`
    Bool,
    /// `int`: 32 bits.
    Int,
    /// `bigint`: 64 bits.
    BigInt,
    /// `float`: 64 bits.
    Float,
    /// `decimal`
    Decimal,
    /// `text(avg, max m)`
    Text(Size),
    /// `blob(avg, max m)`
    Blob(Size),
    /// `date`
    Date,
    /// `timestamp`
    Timestamp,
    /// `uuid`
    Uuid,
    /// `timeuuid`
    TimeUuid,
    /// `point`
    Point,
    /// `any`: a scalar of any type (soft schema).
    Any,
    /// An enumeration.
    Enum(EnumId),
    /// `list<T>`
    List(Box<Type>, Size),
    /// `set<T>`
    Set(Box<Type>, Size),
    /// `map<K, V>`
    Map(Box<Type>, Box<Type>, Size),
    /// `{ name type, … }`
    Record(Vec<RecordField>),
    /// The key of an instance: a reference inside a record, or a parameter that names an instance.
    Key(EntityId),
    /// The concrete type of an instance below this root.
    Tag(EntityId),
    /// A page cursor: an opaque text made by an earlier answer.
    Cursor,
}

impl Type {
    /// True for types whose values are not collections or records, which alone may enter keys.
    pub fn is_scalar(&self) -> bool {
        !matches!(
            self,
            Type::List(..) | Type::Set(..) | Type::Map(..) | Type::Record(_)
        )
    }
    /// The element type of a collection (the value type of a map).
    pub fn element(&self) -> Option<&Type> {
        match self {
            Type::List(t, _) | Type::Set(t, _) | Type::Map(_, t, _) => Some(t),
            _ => None,
        }
    }
}

/// A field of a nested record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordField {
    /// Name.
    pub name: String,
    /// Type; `Type::Key` for a reference.
    pub ty: Type,
    /// May be null.
    pub optional: bool,
}
