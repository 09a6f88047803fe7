//! Why changes are refused.

use querent_compiler::value::Value;

/// Why a change was refused. A refused change leaves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// An insert found the key taken.
    #[error("{entity} {key:?} exists already")]
    Exists {
        /// Entity.
        entity: String,
        /// Flattened key.
        key: Vec<Value>,
    },
    /// An upsert or a put found an instance of another type.
    #[error("{entity} {key:?} exists with another type")]
    OtherType {
        /// Entity.
        entity: String,
        /// Flattened key.
        key: Vec<Value>,
    },
    /// The condition does not hold for an instance.
    #[error("the condition does not hold for {entity} {key:?}")]
    Condition {
        /// Entity.
        entity: String,
        /// Flattened key.
        key: Vec<Value>,
    },
    /// A statement with a condition found no instance.
    #[error("no {entity} was found, and the statement has a condition")]
    NoneFound {
        /// Entity.
        entity: String,
    },
    /// A reference leads nowhere at the end of the change.
    #[error("{entity}.{field} refers to {target} {key:?}, which does not exist")]
    Dangling {
        /// Referring entity.
        entity: String,
        /// Field.
        field: String,
        /// Target entity.
        target: String,
        /// Flattened key referred to.
        key: Vec<Value>,
    },
    /// Two instances have the same value of a unique field.
    #[error("{entity}.{field} is unique, and {value:?} occurs twice")]
    Duplicate {
        /// Entity.
        entity: String,
        /// Field.
        field: String,
        /// Value.
        value: Value,
    },
    /// A field that is not optional has no value, or one that is out of range.
    #[error("{entity}.{field} cannot be {value:?}")]
    BadValue {
        /// Entity.
        entity: String,
        /// Field.
        field: String,
        /// Value.
        value: Value,
    },
    /// An attribute of a reference has a value, and the reference leads nowhere.
    #[error("{entity}.{field} has a value, and {reference} leads nowhere")]
    NotLinked {
        /// Entity.
        entity: String,
        /// Field.
        field: String,
        /// Reference.
        reference: String,
    },
    /// Arithmetic has no result (an overflow, a division by zero), or none that is exact.
    #[error("what {entity}.{field} is set to has no result")]
    NoResult {
        /// Entity.
        entity: String,
        /// Field.
        field: String,
    },
    /// A value was given for a sequence.
    #[error("{entity}.{field} is assigned by the database")]
    SequenceGiven {
        /// Entity.
        entity: String,
        /// Field.
        field: String,
    },
}
