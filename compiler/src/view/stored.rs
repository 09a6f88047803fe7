//! The stored types of a structure: what its layout is made from.

use super::rows::group_aggregate;
use super::typing::Scope;
use super::{Kind, Structure};
use crate::model::{AggregateFn, Direction, Model, Size, Type};

/// One part of a structure's key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// Type: a scalar.
    pub ty: Type,
    /// May be null.
    pub optional: bool,
    /// Order.
    pub direction: Direction,
    /// A long value is stored as its beginning and a hash.
    pub hashed: bool,
}

/// The types of a structure's stored values.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTypes {
    /// Key parts.
    pub key: Vec<KeyPart>,
    /// Columns: type, may be null. Groups have their hidden count last.
    pub columns: Vec<(Type, bool)>,
}

/// The types of a structure's stored values.
pub fn stored_types(model: &Model, s: &Structure) -> StoredTypes {
    let scope = Scope::new(model, s.anchor, &s.over);
    let key = s
        .key()
        .enumerate()
        .map(|(i, e)| {
            let (ty, optional) = scope.type_of(model, &[], e);
            KeyPart {
                ty,
                optional,
                direction: s.direction(i),
                hashed: s.is_hashed(i),
            }
        })
        .collect();
    let mut columns: Vec<(Type, bool)> = s
        .columns
        .iter()
        .map(|column| match group_aggregate(column) {
            Some((a, _)) if a.function == AggregateFn::Count => (Type::BigInt, false),
            // A sum is kept exactly, as bytes.
            Some((a, _)) if matches!(a.function, AggregateFn::Sum | AggregateFn::Avg) => (
                Type::Blob(Size {
                    avg: 32.0,
                    max: None,
                }),
                false,
            ),
            _ => scope.type_of(model, &[], column),
        })
        .collect();
    if s.kind == Kind::Groups {
        columns.push((Type::BigInt, false));
    }
    StoredTypes { key, columns }
}
