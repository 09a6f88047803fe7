//! Fact rows from records of cells under one header (CSV).

use super::row::{
    Slot, TYPE, field_named, fill_row, has_type_field, slot_of, slots, subtype_named, unknown_field,
};
use super::{CodecError, from_text, join, parts, scalar};
use crate::diagnostic::nearest;
use crate::model::{EntityId, Field, Model, Type};
use crate::value::Value;

/// Where the columns of one header go in the rows of one entity.
///
/// A column is a field's name, or leads into a reference's key or a record by dots: `label.user`,
/// `label.name`, `address.city`. Such a field may also be one column, of JSON.
#[derive(Clone, Debug)]
pub struct RecordLayout {
    entity: EntityId,
    columns: usize,
    type_column: Option<usize>,
    fields: Vec<(Field, Source)>,
}

/// Where the value of a field, or of a part of one, comes from.
#[derive(Clone, Debug)]
enum Source {
    Cell(usize),
    /// By position in [`parts`]; parts that are optional may have no column.
    Parts(Vec<Option<Source>>),
}

impl RecordLayout {
    /// Matches the names of a header to the fields of an entity, those of its subtypes included.
    ///
    /// Unknown and repeated names are errors, and so are required fields without a column (those of
    /// a subtype are checked row by row).
    pub fn new<S: AsRef<str>>(
        model: &Model,
        entity: EntityId,
        header: &[S],
    ) -> Result<Self, CodecError> {
        let typed = has_type_field(model, entity);
        let mut layout = Self {
            entity,
            columns: header.len(),
            type_column: None,
            fields: Vec::new(),
        };
        for (column, name) in header.iter().map(AsRef::as_ref).enumerate() {
            if typed && name == TYPE {
                if layout.type_column.replace(column).is_some() {
                    return Err(twice(name));
                }
                continue;
            }
            let (slot, path) = layout.field_of_column(model, name)?;
            let place = layout
                .fields
                .iter_mut()
                .find(|(field, _)| *field == slot.field);
            if let Some((_, source)) = place {
                add(model, &slot.ty, source, &path, column, name)?;
            } else {
                let source = start(model, &slot.ty, &path, column, name)?;
                layout.fields.push((slot.field, source));
            }
        }
        layout.check_required(model)?;
        Ok(layout)
    }

    /// The fact row of one record: the slots of the root's row.
    pub fn row<S: AsRef<str>>(&self, model: &Model, cells: &[S]) -> Result<Vec<Value>, CodecError> {
        if cells.len() != self.columns {
            return Err(CodecError::new(
                format!("{} cells", cells.len()),
                format!("{}, as in the header", self.columns),
            ));
        }
        let cell = |at: usize| cells.get(at).map_or("", AsRef::as_ref);
        let concrete = match self.type_column.map(cell) {
            None | Some("") => self.entity,
            Some(name) => subtype_named(model, self.entity, name)?,
        };
        for (field, source) in &self.fields {
            let foreign = slot_of(model, *field)
                .filter(|slot| !is_empty(source, &cell) && !belongs(model, concrete, slot));
            if let Some(slot) = foreign {
                return Err(unknown_field(model, concrete, slot.name));
            }
        }
        fill_row(model, concrete, |slot| {
            let Some((_, source)) = self.fields.iter().find(|(f, _)| *f == slot.field) else {
                return Ok(None);
            };
            // Emptiness is judged by `fill_row`, except that an empty text is a text.
            let optional = is_optional(model, slot.field);
            let value = read(model, &slot.ty, optional, source, &cell);
            value.map(Some).map_err(|e| e.at(slot.name))
        })
    }

    /// The field that a column's name starts with, and the names that lead further.
    fn field_of_column<'m, 'n>(
        &self,
        model: &'m Model,
        name: &'n str,
    ) -> Result<(Slot<'m>, Vec<&'n str>), CodecError> {
        let mut names = name.split('.');
        let first = names.next().unwrap_or_default();
        let mut concretes = vec![self.entity];
        concretes.extend(&model.entity(self.entity).subtypes);
        match concretes.iter().find_map(|&e| field_named(model, e, first)) {
            Some(slot) => Ok((slot, names.collect())),
            None => Err(self.unknown_column(model, &concretes, first)),
        }
    }

    fn unknown_column(&self, model: &Model, concretes: &[EntityId], name: &str) -> CodecError {
        let error = unknown_field(model, self.entity, name);
        let below = concretes
            .iter()
            .flat_map(|&e| slots(model, e))
            .map(|slot| slot.name);
        let error = CodecError {
            found: format!("the column `{name}`"),
            ..error
        };
        match nearest(name, below) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    fn check_required(&self, model: &Model) -> Result<(), CodecError> {
        let missing = slots(model, self.entity).find(|slot| {
            let has_column = self.fields.iter().any(|(field, _)| *field == slot.field);
            !has_column && !is_optional(model, slot.field) && !slot.name.contains('@')
        });
        if let Some(slot) = missing {
            return Err(CodecError::new(
                format!("no column `{}`", slot.name),
                format!("one, as every {} has it", model.entity(self.entity).name),
            ));
        }
        self.fields
            .iter()
            .try_for_each(|(field, source)| match slot_of(model, *field) {
                Some(slot) => check_complete(model, &slot.ty, source).map_err(|e| e.at(slot.name)),
                None => Ok(()),
            })
    }
}

/// Whether each part that is required has a column.
fn check_complete(model: &Model, ty: &Type, source: &Source) -> Result<(), CodecError> {
    let Source::Parts(places) = source else {
        return Ok(());
    };
    let parts = parts(model, ty).unwrap_or_default();
    parts.iter().zip(places).try_for_each(|(part, place)| {
        match place {
            Some(inner) => check_complete(model, &part.ty, inner),
            None if part.optional => Ok(()),
            None => Err(CodecError::new(
                "no column",
                scalar::describe(model, &part.ty),
            )),
        }
        .map_err(|e| e.at(part.name))
    })
}

/// Whether a row may do without the field, as far as the field alone can tell.
fn is_optional(model: &Model, field: Field) -> bool {
    match field {
        Field::Type => true,
        Field::Attribute(id) => {
            let attribute = model.attribute(id);
            attribute.optional || attribute.sequence.is_some()
        }
        Field::Reference(id) => model.reference(id).optional,
    }
}

fn belongs(model: &Model, concrete: EntityId, slot: &Slot<'_>) -> bool {
    slots(model, concrete).any(|own| own.field == slot.field)
}

fn twice(name: &str) -> CodecError {
    CodecError::new(format!("the column `{name}` twice"), "each name once")
}

/// The source of a value whose first column this is.
fn start(
    model: &Model,
    ty: &Type,
    path: &[&str],
    column: usize,
    name: &str,
) -> Result<Source, CodecError> {
    if path.is_empty() {
        return Ok(Source::Cell(column));
    }
    let count = parts(model, ty).map_or(0, |p| p.len());
    let mut source = Source::Parts(vec![None; count]);
    add(model, ty, &mut source, path, column, name)?;
    Ok(source)
}

/// Adds one more column to the source of a value.
fn add(
    model: &Model,
    ty: &Type,
    source: &mut Source,
    path: &[&str],
    column: usize,
    name: &str,
) -> Result<(), CodecError> {
    let ([first, rest @ ..], Source::Parts(places)) = (path, source) else {
        return Err(twice(name).help("a field is one column, or one column for each of its parts"));
    };
    let Some(parts) = parts(model, ty) else {
        let expected = format!("{} without parts", scalar::describe(model, ty));
        return Err(CodecError::new(format!("the column `{name}`"), expected));
    };
    let names: Vec<&str> = parts.iter().map(|p| p.name).collect();
    let found = parts
        .iter()
        .zip(places)
        .find(|(part, _)| part.name == *first);
    let Some((part, place)) = found else {
        let error = CodecError::unknown_name("", first, "its parts", &names);
        return Err(CodecError {
            found: format!("the column `{name}`"),
            ..error
        });
    };
    if let Some(inner) = place {
        add(model, &part.ty, inner, rest, column, name)
    } else {
        *place = Some(start(model, &part.ty, rest, column, name)?);
        Ok(())
    }
}

fn is_empty<'c>(source: &Source, cell: &impl Fn(usize) -> &'c str) -> bool {
    match source {
        Source::Cell(at) => cell(*at).is_empty(),
        Source::Parts(places) => places.iter().flatten().all(|inner| is_empty(inner, cell)),
    }
}

fn read<'c>(
    model: &Model,
    ty: &Type,
    optional: bool,
    source: &Source,
    cell: &impl Fn(usize) -> &'c str,
) -> Result<Value, CodecError> {
    let places = match source {
        Source::Cell(at) => return from_text(model, ty, optional, cell(*at)),
        Source::Parts(_) if optional && is_empty(source, cell) => return Ok(Value::Null),
        Source::Parts(places) => places,
    };
    let parts = parts(model, ty).unwrap_or_default();
    let mut values = Vec::with_capacity(parts.len());
    for (part, place) in parts.iter().zip(places) {
        values.push(match place {
            Some(inner) => {
                read(model, &part.ty, part.optional, inner, cell).map_err(|e| e.at(part.name))?
            }
            // Only optional parts have no column: `check_complete`.
            None => Value::Null,
        });
    }
    Ok(join(ty, values))
}
