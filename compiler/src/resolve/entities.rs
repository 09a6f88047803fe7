//! Enumerations and entities: names first, then supertypes, fields, keys and sides.

use super::{Names, Resolver, hierarchy, numbers};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Entity, EntityId, EntityKind, Enum, Field, Type};
use crate::syntax::ast::{self, Ast, Declaration};
use std::collections::BTreeMap;

/// Assumed where an entity does not say how many instances it has.
const DEFAULT_COUNT: f64 = 1000.0;

impl Resolver<'_> {
    /// Fills the tables. False where questions cannot be resolved on top of them.
    pub(super) fn entities(&mut self, ast: &Ast) -> bool {
        let declared = self.declare(ast);
        let acyclic = self.supertypes(&declared);
        if !acyclic {
            return false;
        }
        let mut names = BTreeMap::new();
        let mut pending = Vec::new();
        for &(id, entity) in &declared {
            self.fields_of_entity(id, entity, &mut names, &mut pending);
        }
        self.ways_back(pending, &mut names);
        self.lay_out(&declared);
        self.deadlines(ast, &declared);
        self.inherit_sides();
        self.sequences(&declared);
        self.keys_end(&declared)
    }

    fn declare<'a>(&mut self, ast: &'a Ast) -> Vec<(EntityId, &'a ast::Entity)> {
        let mut names = Names::default();
        let mut declared = Vec::new();
        for declaration in &ast.declarations {
            match declaration {
                Declaration::Enum(e) if names.declare(&e.name, "type", &mut self.diagnostics) => {
                    let mut members = Names::default();
                    for member in &e.members {
                        members.declare(member, "member", &mut self.diagnostics);
                    }
                    let members = e.members.iter().map(|m| m.text.clone()).collect();
                    self.model.enums.push(Enum {
                        name: e.name.text.clone(),
                        members,
                    });
                }
                Declaration::Entity(e)
                    if names.declare(&e.name, "entity", &mut self.diagnostics) =>
                {
                    let id = EntityId(self.model.entities.len() as u32);
                    let count = self.entity_count(e);
                    let expires = e
                        .expires
                        .as_ref()
                        .and_then(|n| self.checked(numbers::lifetime(n)));
                    self.model.entities.push(Entity {
                        name: e.name.text.clone(),
                        kind: EntityKind::Root,
                        root: id,
                        subtypes: Vec::new(),
                        count,
                        own: Vec::new(),
                        fields: Vec::new(),
                        key: Vec::new(),
                        sides: Vec::new(),
                        expires,
                        deadline: None,
                    });
                    declared.push((id, e));
                }
                _ => {}
            }
        }
        declared
    }

    pub(super) fn checked<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|found| self.report(found)).ok()
    }

    fn entity_count(&mut self, entity: &ast::Entity) -> f64 {
        let Some(number) = &entity.count else {
            let message = format!("the entity `{}` has no count", entity.name.text);
            let found = Diagnostic::new(codes::COUNT_MISSING, entity.name.span, message);
            self.report(found.help(format!(
                "say how many there are: `entity {} (2M)`",
                entity.name.text
            )));
            return DEFAULT_COUNT;
        };
        let count = self
            .checked(numbers::count(number))
            .unwrap_or(DEFAULT_COUNT);
        if count < 1.0 {
            let found = Diagnostic::new(
                codes::SIZE,
                number.span,
                "an entity has at least one instance",
            );
            self.report(found.help("estimate how many there will be"));
        }
        count.max(1.0)
    }

    /// Looks up supertypes. False where they go round in a circle.
    fn supertypes(&mut self, declared: &[(EntityId, &ast::Entity)]) -> bool {
        for &(id, entity) in declared {
            let Some(parent) = &entity.parent else {
                continue;
            };
            if let Some(parent) = self.entity_by_name(parent)
                && let Some(e) = self.model.entities.get_mut(id.index())
            {
                e.kind = EntityKind::Sub(parent);
            }
        }
        let mut acyclic = true;
        for &(id, entity) in declared {
            let chain = hierarchy::ancestry(&self.model, id);
            let root = chain.first().copied().unwrap_or(id);
            if matches!(self.model.entity(root).kind, EntityKind::Sub(_)) {
                acyclic = false;
                let message = format!("`{}` is its own supertype", entity.name.text);
                let found = Diagnostic::new(codes::INHERITANCE, entity.name.span, message);
                self.report(found.help("break the circle of `is`"));
                continue;
            }
            for &above in &chain {
                if above != id
                    && let Some(e) = self.model.entities.get_mut(above.index())
                {
                    e.subtypes.push(id);
                }
            }
            if let Some(e) = self.model.entities.get_mut(id.index()) {
                e.root = root;
            }
        }
        if acyclic {
            self.subtype_counts(declared);
        }
        acyclic
    }

    fn subtype_counts(&mut self, declared: &[(EntityId, &ast::Entity)]) {
        for &(id, entity) in declared {
            let below: f64 = declared
                .iter()
                .filter(|(sub, _)| self.model.entity(*sub).kind == EntityKind::Sub(id))
                .map(|(sub, _)| self.model.entity(*sub).count)
                .sum();
            let count = self.model.entity(id).count;
            if below > count * 1.000_001 {
                let message = format!(
                    "the subtypes of `{}` are {below} together, it is {count}",
                    entity.name.text
                );
                let found = Diagnostic::new(codes::SUBTYPE_COUNT, entity.name.span, message);
                self.report(found.help("the count of an entity includes its subtypes"));
            }
        }
    }

    pub(super) fn entity_by_name(&mut self, name: &ast::Name) -> Option<EntityId> {
        let found = self
            .model
            .entity_named(&name.text)
            .filter(|&e| self.model.entity(e).kind != EntityKind::Link);
        if found.is_none() {
            let message = format!("there is no entity `{}`", name.text);
            let names = self.model.entities.iter().map(|e| e.name.as_str());
            let found = Diagnostic::new(codes::UNKNOWN_ENTITY, name.span, message);
            let found = found.suggest(&name.text, names, "declare it with `entity`");
            self.report(found);
        }
        found
    }

    /// The row of each root: its own fields and those of its subtypes; and its key.
    fn lay_out(&mut self, declared: &[(EntityId, &ast::Entity)]) {
        for &(id, entity) in declared {
            let keys: Vec<&ast::Field> = entity.fields.iter().filter(|f| f.key.is_some()).collect();
            if self.model.entity(id).root != id {
                if let Some(span) = keys.first().and_then(|f| f.key) {
                    let found = Diagnostic::new(
                        codes::KEY_PART,
                        span,
                        "a subtype has the key of its supertype",
                    );
                    self.report(found.help("remove `key`"));
                }
                continue;
            }
            let members = self.model.type_members(id);
            let mut fields = Vec::new();
            if members.len() > 1 {
                fields.push(Field::Type);
            }
            for member in members {
                fields.extend(&self.model.entity(member).own);
            }
            let slot = |f: &&ast::Field| {
                fields.iter().position(|&x| {
                    x != Field::Type
                        && hierarchy::owner(&self.model, x) == Some(id)
                        && hierarchy::field_name(&self.model, x) == f.name.text
                })
            };
            let mut key: Vec<usize> = keys.iter().filter_map(slot).collect();
            key.dedup();
            if keys.is_empty() && entity.whole {
                let message = format!("the entity `{}` has no key", entity.name.text);
                let found = Diagnostic::new(codes::KEY_MISSING, entity.name.span, message);
                self.report(found.help("mark the fields that identify it with `key`"));
            }
            for field in keys {
                self.check_key_part(id, field);
            }
            if let Some(e) = self.model.entities.get_mut(id.index()) {
                e.fields = fields;
                e.key = key;
            }
        }
    }

    fn check_key_part(&mut self, entity: EntityId, field: &ast::Field) {
        let own = self.model.entity(entity).own.clone();
        let named = |f: &Field| hierarchy::field_name(&self.model, *f) == field.name.text;
        let problem = match own.into_iter().find(named) {
            Some(Field::Attribute(a)) => {
                let attribute = self.model.attribute(a);
                if attribute.optional {
                    Some("it may be null")
                } else if !attribute.ty.is_scalar()
                    || matches!(attribute.ty, Type::Any | Type::Point)
                {
                    Some("its type is no plain scalar")
                } else {
                    None
                }
            }
            Some(Field::Reference(r)) if self.model.reference(r).optional => {
                Some("it may be absent")
            }
            None if matches!(&field.kind, ast::FieldKind::Link(l) if l.many) => {
                Some("it leads to many")
            }
            _ => None,
        };
        if let Some(problem) = problem {
            let message = format!("`{}` cannot be part of the key: {problem}", field.name.text);
            let found = Diagnostic::new(codes::KEY_PART, field.name.span, message);
            self.report(found.help("a key part is a required scalar or a required `->`"));
        }
    }

    /// A key of references must end in scalars. False where one does not.
    fn keys_end(&mut self, declared: &[(EntityId, &ast::Entity)]) -> bool {
        let mut end = true;
        for &(id, entity) in declared {
            if self.model.entity(id).root == id && self.key_leads_to(id, id) {
                end = false;
                let message = format!(
                    "the key of `{}` contains a reference that leads back to it",
                    entity.name.text
                );
                let found = Diagnostic::new(codes::KEY_CYCLE, entity.name.span, message);
                self.report(found.help("identify one of the entities by a scalar of its own"));
            }
        }
        end
    }

    fn key_leads_to(&self, from: EntityId, goal: EntityId) -> bool {
        let mut seen = vec![];
        let mut open = vec![from];
        while let Some(entity) = open.pop() {
            let root = self.model.root(entity);
            let parts = root.key.iter().filter_map(|&slot| root.fields.get(slot));
            for part in parts {
                let Field::Reference(r) = part else { continue };
                let next = self.model.entity(self.model.reference(*r).target).root;
                if next == goal {
                    return true;
                }
                if !seen.contains(&next) {
                    seen.push(next);
                    open.push(next);
                }
            }
        }
        false
    }

    /// A subtype has the sides of its supertypes too.
    fn inherit_sides(&mut self) {
        let all: Vec<EntityId> = (0..self.model.entities.len() as u32)
            .map(EntityId)
            .collect();
        let inherited: Vec<_> = all
            .iter()
            .map(|&id| {
                let chain = hierarchy::ancestry(&self.model, id);
                chain
                    .iter()
                    .flat_map(|&e| self.model.entity(e).sides.clone())
                    .collect()
            })
            .collect();
        for (entity, sides) in self.model.entities.iter_mut().zip(inherited) {
            entity.sides = sides;
        }
    }
}
