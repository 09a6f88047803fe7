//! What must hold of facts: of a row by itself, and of all of them at the end of a change.

use super::{Refusal, Work};
use crate::facts::{concrete, inner_keys, is_a};
use querent_compiler::model::{EntityId, Field, Type};
use querent_compiler::value::Value;
use std::collections::BTreeSet;

impl Work<'_> {
    /// What must hold of the facts as a whole at the end of a change.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        for (&root, rows) in &self.facts.rows {
            for row in rows.values() {
                self.check_row(root, row, false)?;
                self.check_references(root, row)?;
            }
            self.check_unique(root)?;
        }
        Ok(())
    }

    /// Values fit their types and are present. While a change runs, the absence of a reference or of
    /// an attribute of one is not yet judged (a later statement may fill it in).
    pub(super) fn check_row(
        &self,
        root: EntityId,
        row: &[Value],
        running: bool,
    ) -> Result<(), Refusal> {
        let kind = concrete(self.model, root, row);
        for (slot, field) in self.model.entity(root).fields.iter().enumerate() {
            let in_key = self.model.entity(root).key.contains(&slot);
            let fine = match field {
                Field::Type => true,
                Field::Attribute(id) => {
                    let attribute = self.model.attribute(*id);
                    let applies = is_a(self.model, kind, attribute.entity);
                    let linked = attribute.of.map(|of| {
                        let at = self.model.slot(root, Field::Reference(of.reference));
                        (of, at.is_some_and(|at| !row[at].is_null()))
                    });
                    match (&row[slot], linked) {
                        (Value::Null, Some((of, linked))) => {
                            running || !linked || !of.required || !applies
                        }
                        (Value::Null, None) => (attribute.optional && !in_key) || !applies,
                        (_, Some((of, false))) => {
                            let reference = self.field_name(Field::Reference(of.reference));
                            let (entity, field) = (self.name(root), attribute.name.clone());
                            return Err(Refusal::NotLinked {
                                entity,
                                field,
                                reference,
                            });
                        }
                        (value, _) => applies && fits(&attribute.ty, value),
                    }
                }
                Field::Reference(id) => {
                    let reference = self.model.reference(*id);
                    let applies = is_a(self.model, kind, reference.entity);
                    match &row[slot] {
                        Value::Null => {
                            (reference.optional && !in_key) || !applies || (running && !in_key)
                        }
                        value => applies && matches!(value, Value::Key(_)),
                    }
                }
            };
            if !fine {
                let (entity, field) = (self.name(root), self.field_name(*field));
                return Err(Refusal::BadValue {
                    entity,
                    field,
                    value: row[slot].clone(),
                });
            }
        }
        Ok(())
    }

    fn check_references(&self, root: EntityId, row: &[Value]) -> Result<(), Refusal> {
        for (slot, field) in self.model.entity(root).fields.iter().enumerate() {
            let mut targets = Vec::new();
            match field {
                Field::Type => {}
                Field::Attribute(id) => {
                    inner_keys(&self.model.attribute(*id).ty, &row[slot], &mut targets);
                }
                Field::Reference(id) => {
                    if let Value::Key(key) = &row[slot] {
                        targets.push((self.model.reference(*id).target, key.clone()));
                    }
                }
            }
            for (target, key) in targets {
                let found = self.facts.row(self.model, target, &key).is_some_and(|row| {
                    is_a(
                        self.model,
                        concrete(self.model, self.model.entity(target).root, row),
                        target,
                    )
                });
                if !found {
                    let (entity, field) = (self.name(root), self.field_name(*field));
                    return Err(Refusal::Dangling {
                        entity,
                        field,
                        target: self.name(target),
                        key,
                    });
                }
            }
        }
        Ok(())
    }

    fn check_unique(&self, root: EntityId) -> Result<(), Refusal> {
        for (slot, &field) in self.model.entity(root).fields.iter().enumerate() {
            let unique = match field {
                Field::Type => false,
                Field::Attribute(id) => self.model.attribute(id).unique,
                Field::Reference(id) => self.model.reference(id).unique,
            };
            let mut seen = BTreeSet::new();
            for (_, row) in self.facts.of(self.model, root) {
                if unique && !row[slot].is_null() && !seen.insert(&row[slot]) {
                    let (entity, field) = (self.name(root), self.field_name(field));
                    return Err(Refusal::Duplicate {
                        entity,
                        field,
                        value: row[slot].clone(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// True if a value that is not null is one of a type's, all the way down.
pub fn fits(ty: &Type, value: &Value) -> bool {
    match (ty, value) {
        (Type::Int, Value::Int(i)) => i32::try_from(*i).is_ok(),
        (Type::List(t, _), Value::List(values)) | (Type::Set(t, _), Value::Set(values)) => {
            values.iter().all(|v| fits(t, v))
        }
        (Type::Map(k, v, _), Value::Map(pairs)) => {
            pairs.iter().all(|(a, b)| fits(k, a) && fits(v, b))
        }
        (Type::Record(fields), Value::Record(values)) => {
            fields.len() == values.len()
                && fields.iter().zip(values).all(|(f, v)| {
                    if v.is_null() {
                        f.optional
                    } else {
                        fits(&f.ty, v)
                    }
                })
        }
        (
            Type::Any,
            Value::Null | Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Record(_),
        ) => false,
        (Type::Bool, Value::Bool(_))
        | (Type::BigInt, Value::Int(_))
        | (Type::Float, Value::Float(_))
        | (Type::Decimal, Value::Decimal(_))
        | (Type::Text(_) | Type::Cursor, Value::Text(_))
        | (Type::Blob(_), Value::Blob(_))
        | (Type::Date, Value::Date(_))
        | (Type::Timestamp, Value::Timestamp(_))
        | (Type::Uuid, Value::Uuid(_))
        | (Type::TimeUuid, Value::TimeUuid(_))
        | (Type::Point, Value::Point(..))
        | (Type::Enum(_) | Type::Tag(_), Value::Enum(_))
        | (Type::Key(_), Value::Key(_))
        | (Type::Any, _) => true,
        _ => false,
    }
}
