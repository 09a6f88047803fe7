//! Why a change is against the rules of the model.

/// Why a change is refused. Each says what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// An insert of a key that exists.
    #[error("{entity} {key} exists already; use `upsert` to replace it")]
    KeyTaken {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
    },
    /// An upsert or a put of an instance that is of another type.
    #[error("{entity} {key} exists and is of another type; delete it first")]
    OtherType {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
    },
    /// A value that must not be null.
    #[error("{entity} {key}: {field} is null, and is not optional")]
    Missing {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Field.
        field: String,
    },
    /// A value of an attribute of a reference that leads nowhere.
    #[error(
        "{entity} {key}: {field}: found a value, expected null, because {reference} leads nowhere; \
         give {reference} too, or leave {field} out"
    )]
    Loose {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Field.
        field: String,
        /// Reference.
        reference: String,
    },
    /// A link without an attribute that it must have.
    #[error(
        "{entity} {key}: {field}: found null, expected a value for the link to {target}; \
         give {field} together with {reference}"
    )]
    Bare {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Field.
        field: String,
        /// Reference.
        reference: String,
        /// Where it leads.
        target: String,
    },
    /// A value of a field that the instance's type does not have.
    #[error("{entity} {key}: {field} is not a field of its type, and must be null")]
    NotOfType {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Field.
        field: String,
    },
    /// A number outside the range of its type.
    #[error("{entity} {key}: {field} would become {found}, outside of the range of its type")]
    Range {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Field.
        field: String,
        /// Value.
        found: String,
    },
    /// Arithmetic that has no result: an overflow, a division by zero.
    #[error("{subject}: {field} would become {what}, which has no result")]
    NoResult {
        /// Entity, and the key where there is one yet.
        subject: String,
        /// Field.
        field: String,
        /// The operation.
        what: String,
    },
    /// Arithmetic on decimals whose result has more digits than a decimal holds.
    #[error(
        "{subject}: {field} would become {what}, which has more digits than the 28 of a decimal"
    )]
    Inexact {
        /// Entity, and the key where there is one yet.
        subject: String,
        /// Field.
        field: String,
        /// The operation.
        what: String,
    },
    /// A reference to nothing.
    #[error("{entity} {key}: {field} refers to {target} {found}, which does not exist")]
    Dangling {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Reference.
        field: String,
        /// Entity referred to.
        target: String,
        /// Key referred to.
        found: String,
    },
    /// A unique value that somebody else has.
    #[error("{entity} {key}: {field} is {found}, which {other} has already")]
    Unique {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Field.
        field: String,
        /// Value.
        found: String,
        /// The other's key.
        other: String,
    },
    /// A delete of something that is referred to.
    #[error(
        "{entity} {key} is referred to by {referrer} {other} ({field}), and `on delete` says refuse"
    )]
    Referred {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Referring entity.
        referrer: String,
        /// Its key.
        other: String,
        /// The reference.
        field: String,
    },
    /// An `if` that does not hold.
    #[error("the condition of the {statement} of {entity} {key} does not hold")]
    Condition {
        /// `update` or `delete`.
        statement: &'static str,
        /// Entity.
        entity: String,
        /// Key.
        key: String,
    },
    /// An `if` without anything to judge.
    #[error("the {statement} of {entity} found nothing, and has a condition")]
    NothingFound {
        /// `update` or `delete`.
        statement: &'static str,
        /// Entity.
        entity: String,
    },
    /// A value given for a numbered attribute.
    #[error("{entity}: {field} is numbered by the database and cannot be given")]
    Numbered {
        /// Entity.
        entity: String,
        /// Field.
        field: String,
    },
    /// A text or blob longer than declared.
    #[error("{entity} {key}: {field}: {why}")]
    TooLong {
        /// Entity.
        entity: String,
        /// Key.
        key: String,
        /// Field.
        field: String,
        /// Reason.
        why: String,
    },
    /// A key that a store cannot hold.
    #[error(
        "{structure}: found a key of {found} bytes, expected {max} at most; shorten its longest \
         value, or bound it in the model, as in text(20, max 200)"
    )]
    KeyTooLong {
        /// The structure of which it would be a key.
        structure: String,
        /// Bytes.
        found: usize,
        /// The most that a key may have.
        max: usize,
    },
    /// A sequence that has run out.
    #[error("{entity}.{field}: the sequence has run out of numbers")]
    Exhausted {
        /// Entity.
        entity: String,
        /// Field.
        field: String,
    },
}
