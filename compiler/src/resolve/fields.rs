//! Attributes and their types.

use super::links::MAX_OVER_AVG;
use super::{Resolver, hierarchy, numbers};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{
    Attribute, AttributeId, EntityId, EnumId, Field, RecordField, Sequence, Size, Type,
};
use crate::syntax::Span;
use crate::syntax::ast::{self, FieldKind, TypeKind};
use std::collections::BTreeMap;

/// Names of fields and sides, per root: a hierarchy shares one row, so it shares one set of names.
pub(super) type FieldNames = BTreeMap<(EntityId, String), Span>;

/// Bytes of a text, bytes of a blob and elements of a collection, where nothing is said.
const DEFAULT_TEXT: f64 = 20.0;
const DEFAULT_BLOB: f64 = 1000.0;
const DEFAULT_ELEMENTS: f64 = 10.0;

const SCALARS: [&str; 16] = [
    "text",
    "int",
    "bigint",
    "float",
    "decimal",
    "bool",
    "date",
    "timestamp",
    "uuid",
    "timeuuid",
    "point",
    "blob",
    "any",
    "list",
    "set",
    "map",
];

impl Resolver<'_> {
    pub(super) fn fields_of_entity(
        &mut self,
        id: EntityId,
        entity: &ast::Entity,
        names: &mut FieldNames,
        pending: &mut Vec<super::links::WayBack>,
    ) {
        let root = self.model.entity(id).root;
        if !self.model.entity(root).subtypes.is_empty() {
            names
                .entry((root, "type".to_owned()))
                .or_insert(entity.name.span);
        }
        for field in &entity.fields {
            if !self.declare_field(root, &field.name, names) {
                continue;
            }
            match &field.kind {
                FieldKind::Value(ty) => {
                    if let Some(attribute) = self.attribute(id, field, ty) {
                        self.add_attribute(id, attribute);
                    }
                    if let Some(span) = field.words {
                        self.later.words.insert(root);
                        self.not_yet(span, "searched text (`words`)");
                    }
                }
                FieldKind::Link(link) if link.many => self.many_to_many(id, field, link, pending),
                FieldKind::Link(link) => self.reference_field(id, field, link, pending),
            }
        }
    }

    pub(super) fn declare_field(
        &mut self,
        root: EntityId,
        name: &ast::Name,
        names: &mut FieldNames,
    ) -> bool {
        let taken = names.get(&(root, name.text.clone())).copied();
        let Some(first) = taken else {
            names.insert((root, name.text.clone()), name.span);
            return true;
        };
        let entity = &self.model.entity(root).name;
        let message = format!(
            "`{entity}` (with its supertypes and subtypes) has two fields named `{}`",
            name.text
        );
        let found = Diagnostic::new(codes::DUPLICATE, name.span, message);
        self.report(
            found
                .label(first, "the other one")
                .help("give one of them another name"),
        );
        false
    }

    pub(super) fn not_yet(&mut self, span: Span, what: &str) {
        let message = format!("{what}: not yet supported");
        self.report(
            Diagnostic::new(codes::LATER, span, message).help("leave it out in this version"),
        );
    }

    pub(super) fn add_attribute(&mut self, entity: EntityId, attribute: Attribute) {
        let id = AttributeId(self.model.attributes.len() as u32);
        self.model.attributes.push(attribute);
        if let Some(e) = self.model.entities.get_mut(entity.index()) {
            e.own.push(Field::Attribute(id));
        }
    }

    pub(super) fn attribute(
        &mut self,
        entity: EntityId,
        field: &ast::Field,
        ty: &ast::Type,
    ) -> Option<Attribute> {
        let resolved = self.value_type(ty)?;
        self.check_max(&field.name, ty);
        if let Some(span) = field.unique
            && (!resolved.is_scalar() || resolved == Type::Any)
        {
            let found = Diagnostic::new(
                codes::UNIQUE,
                span,
                format!("`{}` cannot be unique", field.name.text),
            );
            self.report(found.help("only scalars can be unique"));
        }
        if let Some(sequence) = &field.sequence
            && (!matches!(resolved, Type::Int | Type::BigInt) || ty.optional)
        {
            let message = format!("`{}` cannot be a sequence", field.name.text);
            let found = Diagnostic::new(codes::SEQUENCE, sequence.span, message);
            self.report(found.help("a sequence is a required int or bigint"));
        }
        let (cardinality, sharing) = self.distinct(field);
        let attribute = Attribute {
            name: field.name.text.clone(),
            entity,
            ty: resolved,
            optional: ty.optional,
            unique: field.unique.is_some(),
            sequence: field.sequence.as_ref().map(|_| Sequence::Global),
            cardinality,
            sharing,
            of: None,
        };
        self.check_distinct(field, &attribute);
        Some(attribute)
    }

    /// `sequence per ref`, once all references are known.
    pub(super) fn sequences(&mut self, declared: &[(EntityId, &ast::Entity)]) {
        for &(id, entity) in declared {
            for field in &entity.fields {
                let Some(per) = field.sequence.as_ref().and_then(|s| s.per.as_ref()) else {
                    continue;
                };
                let reachable = hierarchy::ancestry(&self.model, id);
                let reference = self.model.references.iter().position(|r| {
                    r.name == per.text && reachable.contains(&r.entity) && !r.optional
                });
                let attribute = self
                    .model
                    .attributes
                    .iter()
                    .position(|a| a.name == field.name.text && a.entity == id);
                match (
                    reference,
                    attribute.and_then(|a| self.model.attributes.get_mut(a)),
                ) {
                    (Some(r), Some(a)) => {
                        a.sequence = Some(Sequence::Per(crate::model::ReferenceId(r as u32)));
                    }
                    (None, _) => {
                        let message = format!(
                            "`{}` is no required reference of `{}`",
                            per.text, entity.name.text
                        );
                        let found = Diagnostic::new(codes::SEQUENCE, per.span, message);
                        let names = self
                            .model
                            .references
                            .iter()
                            .filter(|r| r.entity == id)
                            .map(|r| r.name.as_str());
                        let found =
                            found.suggest(&per.text, names, "count per a `->` of the same entity");
                        self.report(found);
                    }
                    (Some(_), None) => {}
                }
            }
        }
    }

    pub(super) fn value_type(&mut self, ty: &ast::Type) -> Option<Type> {
        match &ty.kind {
            TypeKind::Record(fields) => self.record(fields, ty.span),
            TypeKind::Named {
                name,
                arguments,
                size,
            } => {
                let wanted = match name.text.as_str() {
                    "list" | "set" => 1,
                    "map" => 2,
                    _ => 0,
                };
                if arguments.len() != wanted {
                    let message = format!(
                        "`{}` takes {wanted} type arguments, found {}",
                        name.text,
                        arguments.len()
                    );
                    let found = Diagnostic::new(codes::TYPE_FORM, ty.span, message);
                    self.report(found.help("write `list<text(20)>`, `set<int>`, `map<text, int>`"));
                    return None;
                }
                let inner: Vec<Type> = arguments
                    .iter()
                    .filter_map(|t| self.element_type(t))
                    .collect();
                if inner.len() < wanted {
                    return None;
                }
                self.named_type(name, inner, size)
            }
        }
    }

    /// A collection that does not say how many elements it has at most, like a relationship that
    /// does not: so many are in one row. The fields of records are looked at where these are made.
    fn check_max(&mut self, field: &ast::Name, ty: &ast::Type) {
        let TypeKind::Named {
            name,
            arguments,
            size,
        } = &ty.kind
        else {
            return;
        };
        if matches!(name.text.as_str(), "list" | "set" | "map") && size.max.is_none() {
            let avg = size.avg.as_ref().and_then(|n| numbers::count(n).ok());
            let avg = avg.unwrap_or(DEFAULT_ELEMENTS);
            let message = format!("`{}` does not say how many there are at most", field.text);
            let found = Diagnostic::new(codes::MAX_MISSING, field.span, message);
            let assumed = avg * MAX_OVER_AVG;
            self.report(found.help(format!("{assumed} is assumed; write `(avg {avg}, max …)`")));
        }
        for inner in arguments {
            self.check_max(field, inner);
        }
    }

    fn element_type(&mut self, ty: &ast::Type) -> Option<Type> {
        if ty.optional {
            let found = Diagnostic::new(
                codes::TYPE_FORM,
                ty.span,
                "an element of a collection is never null",
            );
            self.report(found.help("remove `?`; make a field of a record optional instead"));
        }
        self.value_type(ty)
    }

    fn named_type(
        &mut self,
        name: &ast::Name,
        mut inner: Vec<Type>,
        size: &ast::Size,
    ) -> Option<Type> {
        let sized = |this: &mut Self, default: f64| this.size(size, default, numbers::size);
        let counted = |this: &mut Self| this.size(size, DEFAULT_ELEMENTS, numbers::count);
        let ty = match name.text.as_str() {
            "text" => Type::Text(sized(self, DEFAULT_TEXT)?),
            "blob" => Type::Blob(sized(self, DEFAULT_BLOB)?),
            "list" => Type::List(Box::new(inner.pop()?), counted(self)?),
            "set" => Type::Set(Box::new(self.scalar(name, inner.pop()?)?), counted(self)?),
            "map" => {
                let value = inner.pop()?;
                let key = self.scalar(name, inner.pop()?)?;
                Type::Map(Box::new(key), Box::new(value), counted(self)?)
            }
            _ => {
                if let Some(number) = size.avg.as_ref().or(size.max.as_ref()) {
                    let message = format!("`{}` has no size", name.text);
                    let found = Diagnostic::new(codes::TYPE_FORM, number.span, message);
                    self.report(found.help("only texts, blobs and collections have a size"));
                }
                return self.plain_type(name);
            }
        };
        Some(ty)
    }

    fn scalar(&mut self, of: &ast::Name, ty: Type) -> Option<Type> {
        if ty.is_scalar() && !matches!(ty, Type::Any) {
            return Some(ty);
        }
        let message = format!("a {} is found by scalars only", of.text);
        let found = Diagnostic::new(codes::TYPE_FORM, of.span, message);
        self.report(found.help("use a list of records"));
        None
    }

    fn plain_type(&mut self, name: &ast::Name) -> Option<Type> {
        Some(match name.text.as_str() {
            "int" => Type::Int,
            "bigint" => Type::BigInt,
            "float" => Type::Float,
            "decimal" => Type::Decimal,
            "bool" => Type::Bool,
            "date" => Type::Date,
            "timestamp" => Type::Timestamp,
            "uuid" => Type::Uuid,
            "timeuuid" => Type::TimeUuid,
            "point" => Type::Point,
            "any" => Type::Any,
            other => {
                let found = self.model.enums.iter().position(|e| e.name == other);
                let Some(index) = found else {
                    let message = format!("there is no type `{other}`");
                    let found = Diagnostic::new(codes::UNKNOWN_TYPE, name.span, message);
                    let found = if self.model.entity_named(other).is_some() {
                        found.help(format!("a reference to an entity is written `-> {other}`"))
                    } else {
                        let enums = self.model.enums.iter().map(|e| e.name.as_str());
                        found.suggest(
                            other,
                            SCALARS.into_iter().chain(enums),
                            "declare it with `enum`",
                        )
                    };
                    self.report(found);
                    return None;
                };
                Type::Enum(EnumId(index as u32))
            }
        })
    }

    fn record(&mut self, fields: &[ast::Field], span: Span) -> Option<Type> {
        if fields.is_empty() {
            let found = Diagnostic::new(codes::TYPE_FORM, span, "a record needs a field");
            self.report(found.help("write `{ name type, … }`"));
            return None;
        }
        let mut names = super::Names::default();
        let mut resolved = Vec::new();
        for field in fields {
            names.declare(&field.name, "field", &mut self.diagnostics);
            let modifiers = [
                field.key,
                field.unique,
                field.sequence.as_ref().map(|s| s.span),
                field.distinct.as_ref().map(|d| d.values.span),
            ];
            if let Some(span) = modifiers.into_iter().flatten().next() {
                let found = Diagnostic::new(
                    codes::FIELD_FORM,
                    span,
                    "a field of a record takes no modifiers",
                );
                self.report(found.help("make it an entity of its own if it needs them"));
            }
            let (ty, optional) = match &field.kind {
                FieldKind::Value(ty) => (self.value_type(ty), ty.optional),
                FieldKind::Link(link) => (self.record_reference(link), link.optional),
            };
            if let (Some(_), FieldKind::Value(ty)) = (&ty, &field.kind) {
                self.check_max(&field.name, ty);
            }
            if let Some(ty) = ty {
                resolved.push(RecordField {
                    name: field.name.text.clone(),
                    ty,
                    optional,
                });
            }
        }
        (resolved.len() == fields.len()).then_some(Type::Record(resolved))
    }

    fn record_reference(&mut self, link: &ast::Link) -> Option<Type> {
        let plain = !link.many
            && link.back.is_none()
            && link.attributes.is_empty()
            && link.on_delete.is_none()
            && link.tree.is_none();
        if !plain {
            let message = "a reference inside a record is a plain `->`";
            let found = Diagnostic::new(codes::FIELD_FORM, link.target.span, message);
            self.report(found.help("make the record an entity of its own to give it a way back"));
            return None;
        }
        self.entity_by_name(&link.target).map(Type::Key)
    }

    pub(super) fn size(
        &mut self,
        size: &ast::Size,
        default: f64,
        unit: fn(&ast::Number) -> Result<f64, Diagnostic>,
    ) -> Option<Size> {
        let max = match &size.max {
            Some(number) => Some(self.checked(unit(number))?),
            None => None,
        };
        let avg = match &size.avg {
            Some(number) => self.checked(unit(number))?,
            None => max.map_or(default, |m| default.min(m)),
        };
        if let (Some(max), Some(number)) = (max, &size.max)
            && (max < avg || max <= 0.0)
        {
            let message = format!("the largest size {max} is below the average {avg}");
            self.report(Diagnostic::new(codes::SIZE, number.span, message).help("raise `max`"));
        }
        Some(Size { avg, max })
    }
}
