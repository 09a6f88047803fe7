//! How many bytes the parts of a key take: what the design proves and the runtime writes.

use super::KeyPart;
use crate::model::{Model, Type};

/// The most bytes that a hashed part takes, its tag included: longer values are cut.
pub const HASHED: usize = 128;

/// The width of every value of the type where that is one number (the tag of an optional part is
/// not counted, and makes the part's width vary).
pub fn fixed_width(ty: &Type) -> Option<usize> {
    match ty {
        Type::Bool => Some(1),
        Type::Enum(_) | Type::Tag(_) => Some(2),
        Type::Int | Type::Date => Some(4),
        Type::BigInt | Type::Float | Type::Timestamp => Some(8),
        Type::Uuid | Type::TimeUuid | Type::Point => Some(16),
        Type::Decimal
        | Type::Text(_)
        | Type::Blob(_)
        | Type::Any
        | Type::Cursor
        | Type::Key(_)
        | Type::List(..)
        | Type::Set(..)
        | Type::Map(..)
        | Type::Record(_) => None,
    }
}

/// The most bytes that a part takes; none where its type sets no bound.
pub fn largest(model: &Model, part: &KeyPart) -> Option<usize> {
    let whole = largest_whole(model, &part.ty).map(|n| n + usize::from(part.optional));
    if part.hashed { Some(HASHED) } else { whole }
}

fn largest_whole(model: &Model, ty: &Type) -> Option<usize> {
    if let Some(width) = fixed_width(ty) {
        return Some(width);
    }
    match ty {
        // A header and 29 digits with their end, two to a byte.
        Type::Decimal => Some(16),
        // Each byte may be one that is escaped; and the end.
        Type::Text(size) | Type::Blob(size) => size.max.map(|max| 2 * max as usize + 1),
        // A tag before each scalar, and the end. The scalars know of no width: ints take 8 bytes.
        Type::Key(entity) => {
            let leaves = model.key_leaves(*entity).into_iter();
            let scalars = leaves.map(|leaf| {
                largest_whole(model, &model.attribute(leaf.attribute).ty).map(|n| n.max(8) + 1)
            });
            scalars.sum::<Option<usize>>().map(|n| n + 1)
        }
        _ => None,
    }
}
