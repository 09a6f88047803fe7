//! Expiry: which entities have a deadline, and that nothing refuses their delete.

use super::Resolver;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Attribute, AttributeId, EntityId, Field, Model, OnDelete, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, Ast, Declaration, Statement};

/// The name of the attribute that holds when an instance expires: one that nobody can write.
const DEADLINE: &str = "@expires";

impl Resolver<'_> {
    /// Gives every root that expires, or is inserted with a time to live, its deadline.
    pub(super) fn deadlines(&mut self, ast: &Ast, declared: &[(EntityId, &ast::Entity)]) {
        let mut expiring: Vec<(EntityId, Span)> = Vec::new();
        let mut add = |root: EntityId, span: Span| {
            if expiring.iter().all(|(known, _)| *known != root) {
                expiring.push((root, span));
            }
        };
        for (id, entity) in declared {
            if let Some(number) = &entity.expires {
                add(self.model.entity(*id).root, number.span);
            }
        }
        for declaration in &ast.declarations {
            if let Declaration::Change(change) = declaration {
                for (name, span) in inserts(&change.statements) {
                    if let Some(id) = self.model.entity_named(name) {
                        add(self.model.entity(id).root, span);
                    }
                }
            }
        }
        for &(root, _) in &expiring {
            let deadline = AttributeId(self.model.attributes.len() as u32);
            self.model.attributes.push(Attribute {
                name: DEADLINE.into(),
                entity: root,
                ty: Type::Timestamp,
                optional: true,
                unique: false,
                sequence: None,
                cardinality: None,
                sharing: None,
                of: None,
            });
            if let Some(entity) = self.model.entities.get_mut(root.index()) {
                entity.fields.push(Field::Attribute(deadline));
                entity.deadline = Some(deadline);
            }
        }
        for (root, span) in expiring {
            self.check_expiry(root, span);
        }
    }

    /// Nothing that refers to what an expiry deletes may refuse it.
    fn check_expiry(&mut self, root: EntityId, span: Span) {
        let mut deleted = vec![root];
        let mut refusing = Vec::new();
        let mut at = 0;
        while let Some(&gone) = deleted.get(at) {
            at += 1;
            let name = |entity: EntityId, field: &str| {
                format!("{}.{field}", self.model.entity(entity).name)
            };
            for r in &self.model.references {
                if self.model.entity(r.target).root != gone {
                    continue;
                }
                let from = self.model.entity(r.entity).root;
                match r.on_delete {
                    OnDelete::Refuse => {
                        let help = if r.optional {
                            "write `on delete cascade` or `on delete clear` on it"
                        } else {
                            "write `on delete cascade` on it"
                        };
                        refusing.push((gone, name(r.entity, &r.name), help));
                    }
                    OnDelete::Cascade if !deleted.contains(&from) => deleted.push(from),
                    OnDelete::Cascade | OnDelete::Clear => {}
                }
            }
            for a in &self.model.attributes {
                if holds(&self.model, &a.ty, gone) {
                    let help = "refer to it by a `->` of the entity, which says `on delete`";
                    refusing.push((gone, name(a.entity, &a.name), help));
                }
            }
        }
        for (gone, by, help) in refusing {
            let expires = &self.model.entity(root).name;
            let through = if gone == root {
                "it".to_owned()
            } else {
                format!("`{}`, which falls with it", self.model.entity(gone).name)
            };
            let message =
                format!("`{expires}` expires, and `{by}` refuses the delete of {through}");
            self.report(Diagnostic::new(codes::EXPIRY_REFUSED, span, message).help(help));
        }
    }
}

/// Whether values of a type hold references to instances of a root.
fn holds(model: &Model, ty: &Type, root: EntityId) -> bool {
    match ty {
        Type::Key(e) => model.entity(*e).root == root,
        Type::List(t, _) | Type::Set(t, _) | Type::Map(_, t, _) => holds(model, t, root),
        Type::Record(fields) => fields.iter().any(|f| holds(model, &f.ty, root)),
        _ => false,
    }
}

/// The entities that are inserted with a time to live of their own.
fn inserts(statements: &[Statement]) -> Vec<(&str, Span)> {
    let mut found = Vec::new();
    for statement in statements {
        match statement {
            Statement::Insert {
                entity,
                expires: Some(number),
                ..
            } => found.push((entity.text.as_str(), number.span)),
            Statement::ForEach { body, .. } => found.extend(inserts(body)),
            _ => {}
        }
    }
    found
}
