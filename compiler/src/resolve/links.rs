//! Relationships: a `->` is a reference, a `->>` is a link entity with two references.

use super::fields::FieldNames;
use super::{Resolver, numbers};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{
    Entity, EntityId, EntityKind, Field, Many, OfReference, OnDelete, Reference, ReferenceId, Side,
};
use crate::syntax::Span;
use crate::syntax::ast::{self, FieldKind};

/// Without `max`, so many times the average.
pub(super) const MAX_OVER_AVG: f64 = 100.0;

/// A way back, declared once all fields are: its name must be free on the target.
pub(super) struct WayBack {
    name: ast::Name,
    /// The entity that the way back starts from.
    on: EntityId,
    many: Many,
    ones: Vec<ReferenceId>,
    target: EntityId,
}

impl Resolver<'_> {
    pub(super) fn reference_field(
        &mut self,
        entity: EntityId,
        field: &ast::Field,
        link: &ast::Link,
        pending: &mut Vec<WayBack>,
    ) {
        let Some(target) = self.entity_by_name(&link.target) else {
            return;
        };
        self.check_modifiers(field, link);
        if let Some(number) = link.forward.avg.as_ref().or(link.forward.max.as_ref()) {
            let message = "a `->` leads to one: there is nothing to count on this side";
            let found = Diagnostic::new(codes::FIELD_FORM, number.span, message);
            self.report(
                found.help("name the way back and give its size: `as posts (avg 20, max 100k)`"),
            );
        }
        let ratio = self.model.entity(entity).count / self.model.entity(target).count;
        let (avg, max) = self.fan(&link.backward, ratio, &field.name);
        self.check_referrers(field, link, entity, target, (avg, max));
        let on_delete = self.on_delete(field, link);
        let id = self.add_reference(Reference {
            name: field.name.text.clone(),
            entity,
            target,
            optional: link.optional,
            // What is only assumed refuses nothing.
            unique: link.backward.max.is_some() && max == 1.0,
            avg,
            max,
            on_delete,
        });
        self.add_side(
            entity,
            Side {
                name: field.name.text.clone(),
                many: None,
                ones: vec![id],
                target,
            },
        );
        if let Some(e) = self.model.entities.get_mut(entity.index()) {
            e.own.push(Field::Reference(id));
        }
        self.link_attributes(
            entity,
            &link.attributes,
            Some((id, &field.name.text, link.optional)),
        );
        if let Some(name) = &link.back {
            let many = Many::Back(id);
            pending.push(WayBack {
                name: name.clone(),
                on: target,
                many,
                ones: vec![],
                target: entity,
            });
        }
        if let Some(span) = link.tree {
            let root = self.model.entity(entity).root;
            self.later.trees.insert(root);
            self.not_yet(span, "trees");
        }
    }

    pub(super) fn many_to_many(
        &mut self,
        entity: EntityId,
        field: &ast::Field,
        link: &ast::Link,
        pending: &mut Vec<WayBack>,
    ) {
        let Some(target) = self.entity_by_name(&link.target) else {
            return;
        };
        self.check_modifiers(field, link);
        if let Some(on_delete) = link.on_delete.as_ref().filter(|d| d.text != "cascade") {
            let message = "a link of a `->>` falls with either end";
            let found = Diagnostic::new(codes::FIELD_FORM, on_delete.span, message);
            self.report(found.help("remove `on delete`"));
        }
        let (from_count, to_count) = (
            self.model.entity(entity).count,
            self.model.entity(target).count,
        );
        let stated = |this: &mut Self, size: &ast::Size| {
            size.avg
                .as_ref()
                .and_then(|n| this.checked(numbers::count(n)))
        };
        let (forward, backward) = (stated(self, &link.forward), stated(self, &link.backward));
        let forward_avg = forward
            .or(backward.map(|b| b * to_count / from_count))
            .unwrap_or((to_count / from_count).max(1.0));
        let (from_avg, from_max) = self.fan(&link.forward, forward_avg, &field.name);
        let back_name = link.back.as_ref().unwrap_or(&field.name);
        let (to_avg, to_max) =
            self.fan(&link.backward, from_avg * from_count / to_count, back_name);
        let sides = [
            (entity, &link.forward, from_avg, target),
            (target, &link.backward, to_avg, entity),
        ];
        self.check_links(field, sides);

        let id = EntityId(self.model.entities.len() as u32);
        let name = format!("{}.{}", self.model.entity(entity).name, field.name.text);
        self.model.entities.push(Entity {
            name,
            kind: EntityKind::Link,
            root: id,
            subtypes: Vec::new(),
            count: (from_count * from_avg).max(1.0),
            own: Vec::new(),
            fields: Vec::new(),
            key: vec![0, 1],
            sides: Vec::new(),
            expires: None,
            deadline: None,
        });
        let mut end = |name: &str, target, avg, max| {
            let reference = self.add_reference(Reference {
                name: name.to_owned(),
                entity: id,
                target,
                optional: false,
                unique: false,
                avg,
                max,
                on_delete: OnDelete::Cascade,
            });
            self.add_side(
                id,
                Side {
                    name: name.to_owned(),
                    many: None,
                    ones: vec![reference],
                    target,
                },
            );
            reference
        };
        let from = end("from", entity, from_avg, from_max);
        let to = end("to", target, to_avg, to_max);
        if let Some(e) = self.model.entities.get_mut(id.index()) {
            e.own = vec![Field::Reference(from), Field::Reference(to)];
        }
        self.link_attributes(id, &link.attributes, None);
        if let Some(e) = self.model.entities.get_mut(id.index()) {
            e.fields = e.own.clone();
        }
        let side = Side {
            name: field.name.text.clone(),
            many: Some(Many::Back(from)),
            ones: vec![to],
            target,
        };
        self.add_side(entity, side);
        if let Some(name) = &link.back {
            let many = Many::Back(to);
            pending.push(WayBack {
                name: name.clone(),
                on: target,
                many,
                ones: vec![from],
                target: entity,
            });
        }
        if let Some(span) = link.tree {
            self.not_yet(span, "trees");
        }
    }

    /// Ways back are declared last, so that a field keeps its name where the two collide.
    pub(super) fn ways_back(&mut self, pending: Vec<WayBack>, names: &mut FieldNames) {
        for back in pending {
            let root = self.model.entity(back.on).root;
            if self.declare_field(root, &back.name, names) {
                let WayBack {
                    name,
                    on,
                    many,
                    ones,
                    target,
                } = back;
                self.add_side(
                    on,
                    Side {
                        name: name.text,
                        many: Some(many),
                        ones,
                        target,
                    },
                );
            }
        }
    }

    fn add_reference(&mut self, reference: Reference) -> ReferenceId {
        let id = ReferenceId(self.model.references.len() as u32);
        self.model.references.push(reference);
        id
    }

    fn add_side(&mut self, entity: EntityId, side: Side) {
        if let Some(e) = self.model.entities.get_mut(entity.index()) {
            e.sides.push(side);
        }
    }

    /// Attributes of a relationship: of the link entity, or of the referring one as `ref@name`.
    fn link_attributes(
        &mut self,
        entity: EntityId,
        fields: &[ast::Field],
        of: Option<(ReferenceId, &str, bool)>,
    ) {
        let mut names = super::Names::default();
        for end in ["from", "to"] {
            names.0.insert(end.to_owned(), Span::default());
        }
        for field in fields {
            if !names.declare(&field.name, "attribute", &mut self.diagnostics) {
                continue;
            }
            let modifiers = [
                field.key,
                field.sequence.as_ref().map(|s| s.span),
                field.words,
            ];
            let modifier = modifiers.into_iter().flatten().next();
            let FieldKind::Value(ty) = &field.kind else {
                let message = "a relationship carries attributes, not relationships";
                let found = Diagnostic::new(codes::FIELD_FORM, field.name.span, message);
                self.report(found.help("make the relationship an entity with a `->` to each side"));
                continue;
            };
            if let Some(span) = modifier {
                let found = Diagnostic::new(
                    codes::FIELD_FORM,
                    span,
                    "an attribute of a relationship takes no such modifier",
                );
                self.report(found.help("make the relationship an entity of its own"));
            }
            let Some(mut attribute) = self.attribute(entity, field, ty) else {
                continue;
            };
            if let Some((reference, name, optional)) = of {
                attribute.name = format!("{name}@{}", field.name.text);
                let required = !attribute.optional;
                attribute.of = Some(OfReference {
                    reference,
                    required,
                });
                attribute.optional |= optional;
            }
            self.add_attribute(entity, attribute);
        }
    }

    fn check_modifiers(&mut self, field: &ast::Field, link: &ast::Link) {
        let modifiers = [
            field.unique,
            field.sequence.as_ref().map(|s| s.span),
            field.distinct.as_ref().map(|d| d.values.span),
            field.words,
        ];
        if let Some(span) = modifiers.into_iter().flatten().next() {
            let found = Diagnostic::new(
                codes::FIELD_FORM,
                span,
                "a relationship does not take this modifier",
            );
            self.report(found.help("one to one is `(max 1)` on the way back"));
        }
        if link.many && link.optional {
            let found = Diagnostic::new(
                codes::FIELD_FORM,
                link.target.span,
                "a `->>` may always be empty",
            );
            self.report(found.help("remove `?`"));
        }
    }

    /// Average and largest number of links on one side.
    fn fan(&mut self, size: &ast::Size, ratio: f64, name: &ast::Name) -> (f64, f64) {
        let max = size
            .max
            .as_ref()
            .and_then(|n| self.checked(numbers::count(n)));
        let avg = size
            .avg
            .as_ref()
            .and_then(|n| self.checked(numbers::count(n)));
        let avg = avg.unwrap_or_else(|| max.map_or(ratio, |m| ratio.min(m)));
        let Some(max) = max else {
            let message = format!("`{}` does not say how many there are at most", name.text);
            let found = Diagnostic::new(codes::MAX_MISSING, name.span, message);
            let assumed = avg * MAX_OVER_AVG;
            self.report(found.help(format!("{assumed} is assumed; write `(avg {avg}, max …)`")));
            return (avg, assumed);
        };
        if let Some(number) = &size.max
            && (max < avg || max < 1.0)
        {
            let message = format!("at most {max} cannot be, with an average of {avg}");
            self.report(Diagnostic::new(codes::SIZE, number.span, message).help("raise `max`"));
        }
        (avg, max)
    }

    fn on_delete(&mut self, field: &ast::Field, link: &ast::Link) -> OnDelete {
        let Some(word) = &link.on_delete else {
            return OnDelete::Refuse;
        };
        match word.text.as_str() {
            "refuse" => OnDelete::Refuse,
            "cascade" => OnDelete::Cascade,
            "clear" => {
                if !link.optional || field.key.is_some() {
                    let message = format!(
                        "`{}` cannot be cleared: it is never absent",
                        field.name.text
                    );
                    let found = Diagnostic::new(codes::CLEAR, word.span, message);
                    self.report(
                        found.help("make it optional with `?`, or use `cascade` or `refuse`"),
                    );
                }
                OnDelete::Clear
            }
            other => {
                let message = format!("expected `refuse`, `cascade` or `clear`, found `{other}`");
                let found = Diagnostic::new(codes::SYNTAX, word.span, message);
                self.report(found.suggest(other, ["refuse", "cascade", "clear"], ""));
                OnDelete::Refuse
            }
        }
    }
}
