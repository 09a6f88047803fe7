//! Fact rows from records of cells under one header (CSV), or of named arguments.

use super::row::{
    Slot, TYPE, field_named, fill_key, fill_row, has_type_field, slot_of, slots, subtype_named,
    unknown_field,
};
use super::{CodecError, from_text, join, parts, scalar};
use crate::diagnostic::nearest;
use crate::model::{EntityId, Field, Model, Type};
use crate::value::Value;

/// What the names of a record are to the person who wrote them. Messages speak of those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The columns of a header.
    Column,
    /// Arguments, each `name=value`.
    Argument,
}

impl Named {
    fn noun(self) -> &'static str {
        match self {
            Named::Column => "column",
            Named::Argument => "argument",
        }
    }

    fn the(self, name: &str) -> String {
        format!("the {} `{name}`", self.noun())
    }

    fn twice(self, name: &str) -> CodecError {
        CodecError::new(format!("{} twice", self.the(name)), "each name once")
    }
}

/// Where the columns of one header go in the rows of one entity.
///
/// A column is a field's name, or leads into a reference's key or a record by dots: `label.user`,
/// `label.name`, `address.city`. Such a field may also be one column, of JSON.
#[derive(Clone, Debug)]
pub struct RecordLayout {
    entity: EntityId,
    named: Named,
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
        named: Named,
        header: &[S],
    ) -> Result<Self, CodecError> {
        let typed = has_type_field(model, entity);
        let mut layout = Self {
            entity,
            named,
            columns: header.len(),
            type_column: None,
            fields: Vec::new(),
        };
        for (column, name) in header.iter().map(AsRef::as_ref).enumerate() {
            if typed && name == TYPE {
                if layout.type_column.replace(column).is_some() {
                    return Err(named.twice(name));
                }
                continue;
            }
            let (slot, path) = layout.field_of_column(model, name)?;
            let place = layout
                .fields
                .iter_mut()
                .find(|(field, _)| *field == slot.field);
            if let Some((_, source)) = place {
                add(model, &slot.ty, source, &path, (column, named, name))?;
            } else {
                let source = start(model, &slot.ty, &path, (column, named, name))?;
                layout.fields.push((slot.field, source));
            }
        }
        layout.check_required(model, header)?;
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

    /// The key of a record whose row cannot be read otherwise, where its cells can be.
    pub fn key<S: AsRef<str>>(&self, model: &Model, cells: &[S]) -> Option<Vec<Value>> {
        let cell = |at: usize| cells.get(at).map_or("", AsRef::as_ref);
        if cells.len() != self.columns {
            return None;
        }
        fill_key(model, self.entity, |slot| {
            let (_, source) = self.fields.iter().find(|(f, _)| *f == slot.field)?;
            let optional = is_optional(model, slot.field);
            read(model, &slot.ty, optional, source, &cell).ok()
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
            found: self.named.the(name),
            ..error
        };
        match nearest(name, below) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// Whether each field that is required has a column; names all that have none, because a person
    /// would rather mend them together.
    fn check_required<S: AsRef<str>>(&self, model: &Model, header: &[S]) -> Result<(), CodecError> {
        let has_column = |slot: &Slot<'_>| self.fields.iter().any(|(f, _)| *f == slot.field);
        let missing: Vec<Slot<'_>> = slots(model, self.entity)
            .filter(|slot| !has_column(slot) && !is_optional(model, slot.field))
            .filter(|slot| !slot.name.contains('@'))
            .collect();
        if !missing.is_empty() {
            return Err(self.missing(model, &missing, header));
        }
        self.fields
            .iter()
            .try_for_each(|(field, source)| match slot_of(model, *field) {
                Some(slot) => {
                    check_complete(model, &slot.ty, self.named, source).map_err(|e| e.at(slot.name))
                }
                None => Ok(()),
            })
    }

    fn missing<S: AsRef<str>>(
        &self,
        model: &Model,
        missing: &[Slot<'_>],
        header: &[S],
    ) -> CodecError {
        let entity = &model.entity(self.entity).name;
        let names: Vec<String> = missing.iter().map(|s| format!("`{}`", s.name)).collect();
        let error = CodecError::new(
            format!("no {} {}", self.named.noun(), names.join(", ")),
            match missing {
                [_] => format!("one, as every {entity} has it"),
                _ => format!("one of each, as every {entity} has them"),
            },
        );
        match self.named {
            Named::Column => {
                let header: Vec<&str> = header.iter().map(AsRef::as_ref).collect();
                error.help(format!("the columns are: {}", header.join(", ")))
            }
            Named::Argument => {
                let write = missing.iter().map(|slot| {
                    let what = scalar::describe(model, &slot.ty);
                    format!("{}=VALUE ({what})", slot.name)
                });
                error.help(format!("add {}", write.collect::<Vec<_>>().join(" ")))
            }
        }
    }
}

/// Whether each part that is required has a column.
fn check_complete(
    model: &Model,
    ty: &Type,
    named: Named,
    source: &Source,
) -> Result<(), CodecError> {
    let Source::Parts(places) = source else {
        return Ok(());
    };
    let parts = parts(model, ty).unwrap_or_default();
    parts.iter().zip(places).try_for_each(|(part, place)| {
        match place {
            Some(inner) => check_complete(model, &part.ty, named, inner),
            None if part.optional => Ok(()),
            None => Err(CodecError::new(
                format!("no {}", named.noun()),
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

/// A column: its position, and what and how it is called.
type Heading<'n> = (usize, Named, &'n str);

/// The source of a value whose first column this is.
fn start(
    model: &Model,
    ty: &Type,
    path: &[&str],
    column: Heading<'_>,
) -> Result<Source, CodecError> {
    if path.is_empty() {
        return Ok(Source::Cell(column.0));
    }
    let count = parts(model, ty).map_or(0, |p| p.len());
    let mut source = Source::Parts(vec![None; count]);
    add(model, ty, &mut source, path, column)?;
    Ok(source)
}

/// Adds one more column to the source of a value.
fn add(
    model: &Model,
    ty: &Type,
    source: &mut Source,
    path: &[&str],
    column: Heading<'_>,
) -> Result<(), CodecError> {
    let (_, named, name) = column;
    let ([first, rest @ ..], Source::Parts(places)) = (path, source) else {
        let noun = named.noun();
        return Err(named.twice(name).help(format!(
            "a field is one {noun}, or one {noun} for each of its parts"
        )));
    };
    let Some(parts) = parts(model, ty) else {
        let expected = format!("{} without parts", scalar::describe(model, ty));
        return Err(CodecError::new(named.the(name), expected));
    };
    let names: Vec<&str> = parts.iter().map(|p| p.name).collect();
    let found = parts
        .iter()
        .zip(places)
        .find(|(part, _)| part.name == *first);
    let Some((part, place)) = found else {
        let error = CodecError::unknown_name("", first, "its parts", &names);
        return Err(CodecError {
            found: named.the(name),
            ..error
        });
    };
    if let Some(inner) = place {
        add(model, &part.ty, inner, rest, column)
    } else {
        *place = Some(start(model, &part.ty, rest, column)?);
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
