//! Selected items, `*`, and nested shapes.

use super::context::Context;
use super::hierarchy;
use super::scope::{Aggregates, Cursor, Node, Place, Scope};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{EntityId, Expr, Field, Item, Leaf, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, Body, ExprKind};

/// A selected item on its way.
pub(super) struct Selected {
    pub(super) item: Item,
    pub(super) ty: Type,
    pub(super) span: Span,
    /// Named by `as`: may be used in `order by`.
    pub(super) aliased: bool,
    /// From `*`: gives way to a later item of the same name.
    starred: bool,
}

impl Context<'_> {
    /// The items of a `select`, their names told apart.
    pub(super) fn items(
        &mut self,
        scope: &mut Scope,
        items: &[ast::Item],
    ) -> Option<Vec<Selected>> {
        let mut selected: Vec<Selected> = Vec::new();
        let mut complete = true;
        for item in items {
            let (expr, alias) = match item {
                ast::Item::All(span) => {
                    match self.star(scope, *span) {
                        Some(all) => selected.extend(all),
                        None => complete = false,
                    }
                    continue;
                }
                ast::Item::Value { expr, alias } => (expr, alias),
            };
            let Some((value, ty)) = self.item_value(scope, expr) else {
                complete = false;
                continue;
            };
            let name = alias
                .as_ref()
                .map_or_else(|| default_name(expr, self.text), |a| a.text.clone());
            let new = Selected {
                item: Item { name, expr: value },
                ty,
                span: alias.as_ref().map_or(expr.span, |a| a.span),
                aliased: alias.is_some(),
                starred: false,
            };
            match selected.iter_mut().find(|s| s.item.name == new.item.name) {
                None => selected.push(new),
                Some(other) if other.starred => *other = new,
                Some(other) => {
                    let message = format!("two items are named `{}`", new.item.name);
                    let found = Diagnostic::new(codes::ITEM_CLASH, new.span, message);
                    let found = found.label(other.span, "the other one");
                    let found = found.help(format!("name one of them: `as {}`", suggested(expr)));
                    self.diagnostics.push(found);
                    complete = false;
                }
            }
        }
        complete.then_some(selected)
    }

    pub(super) fn item_value(
        &mut self,
        scope: &mut Scope,
        expr: &ast::Expr,
    ) -> Option<(Expr, Type)> {
        match &expr.kind {
            ExprKind::Shape(path, body) => self.shape(scope, path, body),
            _ => self.value(scope, expr, None),
        }
    }

    /// Everything an instance, or a record, has.
    pub(super) fn star(&mut self, scope: &mut Scope, span: Span) -> Option<Vec<Selected>> {
        let mut cursors: Vec<(String, Cursor)> = Vec::new();
        let mut here = scope.here.clone();
        here.fresh = false;
        if let Place::Value(Leaf::Element(path), Type::Key(entity)) = &here.place {
            here = Cursor {
                element: path.clone(),
                steps: vec![],
                place: Place::Instance(*entity),
                ..here.clone()
            };
        }
        match &here.place {
            Place::Instance(entity) => self.star_of_entity(*entity, &here, &mut cursors),
            Place::Value(leaf, Type::Record(fields)) => {
                for (at, field) in fields.iter().enumerate() {
                    let mut leaf = leaf.clone();
                    if let Leaf::Attribute(_, path) | Leaf::Element(path) = &mut leaf {
                        path.push(at as u16);
                    }
                    let place = Place::Value(leaf, field.ty.clone());
                    cursors.push((
                        field.name.clone(),
                        Cursor {
                            place,
                            ..here.clone()
                        },
                    ));
                }
            }
            _ => {
                let found =
                    Diagnostic::new(codes::TO_MANY, span, "`*` needs an entity or a record");
                return self.fail(found.help("an element itself is `value`"));
            }
        }
        let all = cursors.into_iter().map(|(name, cursor)| {
            let (expr, ty) = self.read(cursor, None);
            Selected {
                item: Item { name, expr },
                ty,
                span,
                aliased: false,
                starred: true,
            }
        });
        Some(all.collect())
    }

    fn star_of_entity(&self, entity: EntityId, here: &Cursor, cursors: &mut Vec<(String, Cursor)>) {
        let root = self.model.entity(entity).root;
        if !self.model.entity(entity).subtypes.is_empty() {
            let place = Place::Value(Leaf::Type, Type::Tag(root));
            cursors.push((
                "type".to_owned(),
                Cursor {
                    place,
                    ..here.clone()
                },
            ));
        }
        let family = hierarchy::family(self.model, entity);
        for (_, field) in hierarchy::fields_of(self.model, entity, &family) {
            let mut cursor = here.clone();
            match field {
                Field::Type => continue,
                Field::Attribute(a) => {
                    let ty = self.model.attribute(a).ty.clone();
                    cursor.place = Place::Value(Leaf::Attribute(a, vec![]), ty);
                }
                Field::Reference(r) => {
                    cursor.steps.push(r);
                    cursor.place = Place::Instance(self.model.reference(r).target);
                }
            }
            cursors.push((hierarchy::field_name(self.model, field).to_owned(), cursor));
        }
    }

    /// `path { … }`: rows of their own where the path leads to many, else one record.
    fn shape(&mut self, scope: &mut Scope, path: &ast::Path, body: &Body) -> Option<(Expr, Type)> {
        let mut inner = scope.inside(true, true, Aggregates::All);
        let cursor = self.walk(&mut inner, path)?;
        inner.elements = false;
        let nothing = Type::Record(Vec::new());
        if inner.over.is_empty() {
            let cursor = Cursor {
                node: scope.here.node,
                ..cursor
            };
            return self
                .record_shape(scope, cursor, path, body)
                .map(|e| (e, nothing));
        }
        let anchor = match inner.nodes.first()? {
            Node::Instance(entity) | Node::Element { owner: entity, .. } => {
                self.model.entity(*entity).root
            }
        };
        let subject = cursor.node;
        inner.here = cursor;
        let query = self.query(inner, body, anchor, subject, Vec::new())?;
        Some((Expr::Nested(scope.here.node, Box::new(query)), nothing))
    }

    fn record_shape(
        &mut self,
        scope: &mut Scope,
        cursor: Cursor,
        path: &ast::Path,
        body: &Body,
    ) -> Option<Expr> {
        if matches!(&cursor.place, Place::Value(_, ty) if !matches!(ty, Type::Record(_) | Type::Key(_)))
        {
            let found = Diagnostic::new(
                codes::TO_MANY,
                path.span,
                "a shape needs an entity, a record or a collection",
            );
            return self.fail(found.help("select the value itself"));
        }
        let clauses = body.filter.is_some()
            || body.group.is_some()
            || !body.order.is_empty()
            || body.limit.is_some()
            || body.page.is_some();
        if clauses {
            let message = "this path leads to one: there is nothing to choose, order or limit";
            let found = Diagnostic::new(codes::TO_MANY, body.span, message);
            return self.fail(found.help("keep only the items between the braces"));
        }
        let (present, _) = self.read(cursor.clone(), None);
        let outer = std::mem::replace(&mut scope.here, cursor);
        let items = self.items(scope, &body.items);
        scope.here = outer;
        let items = items?.into_iter().map(|s| s.item).collect();
        Some(Expr::Shape {
            present: Box::new(present),
            items,
        })
    }
}

/// The last step of a path, or the text of anything else.
fn default_name(expr: &ast::Expr, text: &str) -> String {
    match &expr.kind {
        ExprKind::Path(path) | ExprKind::Shape(path, _) => {
            let last = path
                .segments
                .last()
                .map(|s| s.name.text.as_str())
                .unwrap_or_default();
            last.trim_start_matches('@').to_owned()
        }
        ExprKind::At(map, _) => default_name(map, text),
        _ => {
            let words: Vec<&str> = expr.span.of(text).split_whitespace().collect();
            words
                .join(" ")
                .replace("( ", "(")
                .replace(" )", ")")
                .replace(" (", "(")
        }
    }
}

/// A free name made of the whole path.
fn suggested(expr: &ast::Expr) -> String {
    match &expr.kind {
        ExprKind::Path(path) | ExprKind::Shape(path, _) if path.segments.len() > 1 => {
            let names: Vec<&str> = path.segments.iter().map(|s| s.name.text.as_str()).collect();
            names.join("_").replace('@', "_")
        }
        _ => "another_name".to_owned(),
    }
}
