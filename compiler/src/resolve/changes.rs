//! Changes and their statements.

use super::context::Context;
use super::params::Presence;
use super::scope::{Aggregates, Scope};
use super::{Resolver, hierarchy, numbers};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Change, EntityId, EntityKind, Expr, Field, Leaf, Pred, Statement, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, Assignment, ExprKind, Name};
use crate::value::Value;

impl Resolver<'_> {
    pub(super) fn change(&mut self, change: &ast::Change) {
        let rates = self.rates_of(&change.options);
        for number in change.options.stale.iter().chain(&change.options.within) {
            let found = Diagnostic::new(
                codes::SYNTAX,
                number.span,
                "a change is neither stale nor an estimate",
            );
            self.report(found.help("`stale` and `within` belong to questions"));
        }
        let resolved = self.twice(|context| context.statements(&change.statements));
        if let Some((statements, params)) = resolved {
            let (name, atomic) = (change.name.text.clone(), change.atomic);
            self.model.changes.push(Change {
                name,
                rates,
                atomic,
                params,
                statements,
            });
        }
    }
}

impl Context<'_> {
    /// All of them, so that all their findings are shown.
    fn statements(&mut self, statements: &[ast::Statement]) -> Option<Vec<Statement>> {
        let resolved: Vec<Option<Statement>> =
            statements.iter().map(|s| self.statement(s)).collect();
        resolved.into_iter().collect()
    }

    fn statement(&mut self, statement: &ast::Statement) -> Option<Statement> {
        match statement {
            ast::Statement::Insert {
                entity,
                values,
                upsert,
                expires,
            } => {
                let id = self.entity(entity)?;
                let given = match expires.as_ref().map(numbers::lifetime).transpose() {
                    Ok(given) => given,
                    Err(found) => return self.fail(found),
                };
                let expires = given.or(self.model.lifetime(id));
                self.insert(id, values.as_deref(), *upsert, expires, entity.span)
            }
            ast::Statement::Update {
                entity,
                set,
                filter,
                condition,
            } => {
                let id = self.entity(entity)?;
                let resolved = self.set(id, set);
                self.warn_of_all("updates", entity, filter.as_ref());
                let (filter, condition) = self.chosen(id, filter.as_ref(), condition.as_ref())?;
                let resolved = resolved?;
                if condition.is_none() {
                    self.warn_of_nothing(id, &resolved, entity.span);
                }
                Some(Statement::Update {
                    entity: self.model.entity(id).root,
                    set: resolved,
                    filter,
                    condition,
                })
            }
            ast::Statement::Delete {
                entity,
                filter,
                condition,
            } => {
                let id = self.entity(entity)?;
                self.warn_of_all("deletes", entity, filter.as_ref());
                let (filter, condition) = self.chosen(id, filter.as_ref(), condition.as_ref())?;
                Some(Statement::Delete {
                    entity: self.model.entity(id).root,
                    filter,
                    condition,
                })
            }
            ast::Statement::Connect {
                link,
                from,
                to,
                set,
            } => {
                let id = self.link(link)?;
                self.connect(id, from.as_ref(), to.as_ref(), set.as_deref(), link.1.span)
            }
            ast::Statement::Disconnect {
                link,
                from,
                to,
                filter,
                condition,
            } => {
                let id = self.link(link)?;
                // Without a `where` it is about one link, as `connect` is.
                let default = filter.is_none();
                let ends = self.ends(id, [from.as_ref(), to.as_ref()], default, link.1.span);
                let (chosen, condition) = self.chosen(id, filter.as_ref(), condition.as_ref())?;
                let mut filter = self.are_ends(id, ends?);
                filter.extend(chosen);
                Some(Statement::Delete {
                    entity: id,
                    filter,
                    condition,
                })
            }
            ast::Statement::ForEach { item, list, body } => {
                let (list, item) = match self.params.for_each(item, list) {
                    Ok(ids) => ids,
                    Err(found) => return self.fail(found),
                };
                Some(Statement::ForEach {
                    list,
                    item,
                    body: self.statements(body)?,
                })
            }
        }
    }

    fn entity(&mut self, name: &Name) -> Option<EntityId> {
        let found = self.model.entity_named(&name.text);
        if found.is_none() {
            let message = format!("there is no entity `{}`", name.text);
            let names = self
                .model
                .entities
                .iter()
                .filter(|e| e.kind != EntityKind::Link);
            let found = Diagnostic::new(codes::UNKNOWN_ENTITY, name.span, message);
            let found = found.suggest(
                &name.text,
                names.map(|e| e.name.as_str()),
                "declare it with `entity`",
            );
            return self.fail(found);
        }
        found
    }

    fn link(&mut self, (entity, side): &(Name, Name)) -> Option<EntityId> {
        self.entity(entity)?;
        let written = format!("{}.{}", entity.text, side.text);
        let found = self.model.entity_named(&written);
        if found.is_none() {
            let links = self
                .model
                .entities
                .iter()
                .filter(|e| e.kind == EntityKind::Link);
            let names = links.map(|e| e.name.as_str());
            let message = format!("`{written}` is no many-to-many relationship");
            let found = Diagnostic::new(codes::UNKNOWN_LINK, entity.span.to(side.span), message);
            let help = "name it as it is declared, `Entity.name`; a `->` is set by `update`";
            return self.fail(found.suggest(&written, names, help));
        }
        found
    }

    /// Which instances, and on what condition.
    fn chosen(
        &mut self,
        entity: EntityId,
        filter: Option<&ast::Expr>,
        condition: Option<&ast::Expr>,
    ) -> Option<(Vec<Pred>, Option<Pred>)> {
        let scope = Scope::of(entity, Aggregates::Subqueries);
        let filter = filter.filter(|f| !is_all(f));
        let written = self.conjunction(&scope, filter);
        let condition = match condition {
            Some(condition) => self.condition(&scope, condition).map(Some),
            None => Some(None),
        };
        let mut all: Vec<Pred> = self.type_filter(entity).into_iter().collect();
        all.extend(written?);
        Some((all, condition?))
    }

    fn insert(
        &mut self,
        entity: EntityId,
        listed: Option<&[Assignment]>,
        upsert: bool,
        expires: Option<u64>,
        span: Span,
    ) -> Option<Statement> {
        if upsert {
            self.upsert_key(entity, span)?;
        }
        let mut scope = Scope::nothing(entity);
        let values = match listed {
            None => self.all_values(entity, &[], span)?,
            Some(listed) => {
                let values = self.assignments(entity, listed, &mut scope, Presence::Open)?;
                self.complete(entity, &values, span)?;
                self.links(entity, listed, &values, !upsert)?;
                values
            }
        };
        Some(Statement::Insert {
            entity,
            values,
            upsert,
            expires,
        })
    }

    /// Every field as the parameter of its name, but sequences and those given already.
    fn all_values(
        &mut self,
        entity: EntityId,
        given: &[usize],
        span: Span,
    ) -> Option<Vec<(usize, Expr)>> {
        let mut values = Vec::new();
        for (slot, field) in self.given_fields(entity) {
            if given.contains(&slot) || self.is_sequence(field) {
                continue;
            }
            let name = hierarchy::field_name(self.model, field).to_owned();
            // The parameter is not written anywhere: there is no place to point at but the entity's.
            let name = Name { text: name, span };
            values.push((slot, self.parameter(&name, field, Presence::Open)?));
        }
        Some(values)
    }

    /// A parameter that gives a field its value; `absent` is what may be said instead of a value
    /// where the field is optional.
    fn parameter(&mut self, name: &Name, field: Field, absent: Presence) -> Option<Expr> {
        let (ty, optional) = self.field_type(field);
        let presence = if optional { absent } else { Presence::Value };
        match self.params.meet(self.model, name, &[], Some(&ty), presence) {
            Ok((expr, _)) => Some(expr),
            Err(found) => self.fail(found),
        }
    }

    fn is_sequence(&self, field: Field) -> bool {
        matches!(field, Field::Attribute(a) if self.model.attribute(a).sequence.is_some())
    }

    fn field_type(&self, field: Field) -> (Type, bool) {
        match field {
            Field::Attribute(a) => (
                self.model.attribute(a).ty.clone(),
                self.model.attribute(a).optional,
            ),
            Field::Reference(r) => {
                let reference = self.model.reference(r);
                (Type::Key(reference.target), reference.optional)
            }
            Field::Type => (Type::Any, true),
        }
    }

    /// An upsert finds what to replace by its key, so the key must be given.
    fn upsert_key(&mut self, entity: EntityId, span: Span) -> Option<()> {
        let root = self.model.root(entity);
        let key = root.key.iter().filter_map(|&slot| root.fields.get(slot));
        let numbered = key.copied().find(|&f| self.is_sequence(f));
        let Some(field) = numbered else {
            return Some(());
        };
        let name = hierarchy::field_name(self.model, field);
        let message = format!("an upsert needs the key, and `{name}` is numbered by the database");
        self.fail(
            Diagnostic::new(codes::VALUES, span, message).help("insert, or update by the key"),
        )
    }

    /// Nothing that must have a value is left out.
    fn complete(&mut self, entity: EntityId, values: &[(usize, Expr)], span: Span) -> Option<()> {
        let given = |slot: usize| values.iter().any(|(s, _)| *s == slot);
        let fields = self.given_fields(entity).into_iter();
        let missing: Vec<String> = fields
            .filter(|&(slot, f)| !given(slot) && !self.is_sequence(f) && !self.field_type(f).1)
            .map(|(_, f)| format!("`{}`", hierarchy::field_name(self.model, f)))
            .collect();
        if missing.is_empty() {
            return Some(());
        }
        let message = format!("no value for {}", missing.join(", "));
        self.fail(
            Diagnostic::new(codes::VALUES, span, message).help("list them, or make them optional"),
        )
    }

    fn set(&mut self, entity: EntityId, set: &[Assignment]) -> Option<Vec<(usize, Expr)>> {
        let key = self.model.root(entity).key.clone();
        let mut sound = true;
        for assignment in set {
            let field = self.field_named(entity, &assignment.name.text);
            if field.is_some_and(|(slot, _)| key.contains(&slot)) {
                sound = false;
                let message = format!("`{}` is part of the key", assignment.name.text);
                let found = Diagnostic::new(codes::KEY_UPDATE, assignment.name.span, message);
                self.diagnostics
                    .push(found.help("a changed key is a delete and an insert, in one change"));
            }
        }
        let mut scope = Scope::of(entity, Aggregates::Subqueries);
        // What is there is cleared only by who says so.
        let values = self.assignments(entity, set, &mut scope, Presence::Given)?;
        self.links(entity, set, &values, false)?;
        sound.then_some(values)
    }

    /// What sets a reference gives what its links must have, and what clears it gives nothing; of a
    /// new instance neither is there before.
    fn links(
        &mut self,
        entity: EntityId,
        written: &[Assignment],
        values: &[(usize, Expr)],
        new: bool,
    ) -> Option<()> {
        let given = |slot: usize| values.iter().find(|(s, _)| *s == slot).map(|(_, e)| e);
        let cleared = |e: &Expr| *e == Expr::Const(Value::Null);
        let name = |slot: usize| {
            let field = self.model.root(entity).fields.get(slot);
            field.map_or("", |&field| hierarchy::field_name(self.model, field))
        };
        let (mut missing, mut loose) = (vec![], vec![]);
        for (slot, reference, of) in self.model.link_slots(entity) {
            match (given(reference), given(slot)) {
                (Some(to), None) if of.required && !cleared(to) => {
                    missing.push((name(slot), name(reference)));
                }
                (Some(to), Some(value)) if cleared(to) && !cleared(value) => {
                    loose.push((name(slot), name(reference)));
                }
                (None, Some(value)) if new && !cleared(value) => {
                    loose.push((name(slot), name(reference)));
                }
                _ => {}
            }
        }
        let place = |name: &str| {
            let assignment = written.iter().find(|a| a.name.text == name);
            assignment.map_or(Span::default(), |a| a.name.span)
        };
        let mut found: Vec<Diagnostic> = vec![];
        for (attribute, reference) in missing {
            let message =
                format!("no value for `{attribute}`, which every link of `{reference}` has");
            let help = format!("write `{reference}, {attribute}`, or make it optional with `?`");
            found.push(Diagnostic::new(codes::VALUES, place(reference), message).help(help));
        }
        for (attribute, reference) in loose {
            let message = format!("`{attribute}` is given, and `{reference}` leads nowhere");
            let help = format!("give `{reference}` too, or leave `{attribute}` out");
            found.push(Diagnostic::new(codes::ASSIGNMENT, place(attribute), message).help(help));
        }
        let sound = found.is_empty();
        self.diagnostics.extend(found);
        sound.then_some(())
    }

    /// An update that sets every field to itself does nothing, unless its condition may refuse.
    fn warn_of_nothing(&mut self, entity: EntityId, set: &[(usize, Expr)], span: Span) {
        let fields = &self.model.root(entity).fields;
        let itself = |slot: usize, value: &Expr| {
            let (steps, leaf) = match fields.get(slot) {
                Some(Field::Attribute(a)) => (vec![], Leaf::Attribute(*a, vec![])),
                Some(Field::Reference(r)) => (vec![*r], Leaf::Key),
                Some(Field::Type) | None => return false,
            };
            let own = Expr::Path {
                node: 0,
                element: vec![],
                steps,
                leaf,
            };
            *value == own
        };
        if set.iter().all(|(slot, value)| itself(*slot, value)) {
            let message = "everything is set to what it is already";
            let found = Diagnostic::new(codes::CHANGES_NOTHING, span, message);
            self.diagnostics
                .push(found.help("set another value, or remove the statement"));
        }
    }

    /// Whoever forgets a `where` changes everything there is.
    fn warn_of_all(&mut self, does: &str, entity: &Name, filter: Option<&ast::Expr>) {
        if filter.is_none() {
            let message = format!("this {does} every {} there is", entity.text);
            let found = Diagnostic::new(codes::EVERY_INSTANCE, entity.span, message);
            let help = "say which with `where`; if all are meant, write `where true`";
            self.diagnostics.push(found.help(help));
        }
    }

    fn field_named(&self, entity: EntityId, name: &str) -> Option<(usize, Field)> {
        let fields = self.given_fields(entity).into_iter();
        fields
            .into_iter()
            .find(|&(_, f)| hierarchy::field_name(self.model, f) == name)
    }

    /// `a, b = expr`, all of them, so that all findings are shown.
    fn assignments(
        &mut self,
        entity: EntityId,
        assignments: &[Assignment],
        scope: &mut Scope,
        absent: Presence,
    ) -> Option<Vec<(usize, Expr)>> {
        let mut values: Vec<(usize, Expr)> = Vec::new();
        let mut complete = true;
        for assignment in assignments {
            match self.assignment(entity, assignment, scope, absent, &values) {
                Some(value) => values.push(value),
                None => complete = false,
            }
        }
        complete.then_some(values)
    }

    fn assignment(
        &mut self,
        entity: EntityId,
        assignment: &Assignment,
        scope: &mut Scope,
        absent: Presence,
        before: &[(usize, Expr)],
    ) -> Option<(usize, Expr)> {
        let name = &assignment.name;
        let Some((slot, field)) = self.field_named(entity, &name.text) else {
            let message = format!(
                "`{}` has no field `{}` that can be set",
                self.model.entity(entity).name,
                name.text
            );
            let fields = self.given_fields(entity);
            let names = fields
                .iter()
                .map(|&(_, f)| hierarchy::field_name(self.model, f));
            let found = Diagnostic::new(codes::UNKNOWN_NAME, name.span, message);
            return self.fail(found.suggest(
                &name.text,
                names,
                "the many sides of relationships change by `connect`",
            ));
        };
        let wrong = |message: String, help: &str| {
            Diagnostic::new(codes::ASSIGNMENT, name.span, message).help(help)
        };
        if before.iter().any(|(s, _)| *s == slot) {
            return self.fail(wrong(
                format!("`{}` is set twice", name.text),
                "keep one of them",
            ));
        }
        if self.is_sequence(field) {
            let message = format!("`{}` is numbered by the database", name.text);
            return self.fail(wrong(message, "leave it out"));
        }
        let (ty, optional) = self.field_type(field);
        let Some(value) = &assignment.value else {
            return self.parameter(name, field, absent).map(|e| (slot, e));
        };
        let expr = match &value.kind {
            ExprKind::Null if optional => Expr::Const(Value::Null),
            ExprKind::Null => {
                return self.fail(wrong(
                    format!("`{}` is never null", name.text),
                    "make it optional with `?`",
                ));
            }
            ExprKind::Param(param, parts) => {
                let presence = if optional { absent } else { Presence::Value };
                match self
                    .params
                    .meet(self.model, param, parts, Some(&ty), presence)
                {
                    Ok((expr, _)) => expr,
                    Err(found) => return self.fail(found),
                }
            }
            _ => {
                let unfolds = scope.over.len();
                let (expr, found) = self.value(scope, value, Some(&ty))?;
                if scope.over.len() > unfolds {
                    let found = Diagnostic::new(
                        codes::TO_MANY,
                        value.span,
                        "this leads to many, one value is needed",
                    );
                    return self.fail(found.help("aggregate it"));
                }
                self.expect_type(&found, &ty, value.span)?;
                expr
            }
        };
        Some((slot, expr))
    }

    fn connect(
        &mut self,
        link: EntityId,
        from: Option<&ast::Expr>,
        to: Option<&ast::Expr>,
        set: Option<&[Assignment]>,
        span: Span,
    ) -> Option<Statement> {
        let mut values = self.ends(link, [from, to], true, span)?;
        let mut scope = Scope::nothing(link);
        match set {
            Some(set) => {
                let set = self.assignments(link, set, &mut scope, Presence::Open)?;
                if let Some((slot, _)) = set.iter().find(|(slot, _)| *slot < 2) {
                    let message = format!(
                        "the end `{}` is not set",
                        if *slot == 0 { "from" } else { "to" }
                    );
                    let found = Diagnostic::new(codes::ASSIGNMENT, span, message);
                    return self.fail(found.help("write `connect R.x from $a to $b`"));
                }
                values.extend(set);
                self.complete(link, &values, span)?;
            }
            None => values.extend(self.all_values(link, &[0, 1], span)?),
        }
        Some(Statement::Insert {
            entity: link,
            values,
            upsert: true,
            expires: None,
        })
    }
    /// The ends of a link by slot: those written, and by default also the others, as the
    /// parameters `$from` and `$to`.
    fn ends(
        &mut self,
        link: EntityId,
        written: [Option<&ast::Expr>; 2],
        default: bool,
        span: Span,
    ) -> Option<Vec<(usize, Expr)>> {
        let mut scope = Scope::nothing(link);
        let mut values = Vec::new();
        for (slot, written) in written.into_iter().enumerate() {
            let field = *self.model.entity(link).fields.get(slot)?;
            let name = hierarchy::field_name(self.model, field).to_owned();
            let parameter = ast::Expr {
                kind: ExprKind::Param(Name { text: name, span }, vec![]),
                span,
            };
            let Some(written) = written.or(default.then_some(&parameter)) else {
                continue;
            };
            let (ty, _) = self.field_type(field);
            let (expr, found) = self.value(&mut scope, written, Some(&ty))?;
            self.expect_type(&found, &ty, written.span)?;
            values.push((slot, expr));
        }
        Some(values)
    }

    /// That a link has these ends.
    fn are_ends(&self, link: EntityId, ends: Vec<(usize, Expr)>) -> Vec<Pred> {
        let fields = &self.model.entity(link).fields;
        let is_end = |(slot, value): (usize, Expr)| {
            let Some(&Field::Reference(end)) = fields.get(slot) else {
                return None;
            };
            let own = Expr::Path {
                node: 0,
                element: vec![],
                steps: vec![end],
                leaf: Leaf::Key,
            };
            self.same_scalars(&own, &value, self.model.reference(end).target)
        };
        ends.into_iter().filter_map(is_end).flatten().collect()
    }
}

/// `where true`: all of them, and meant so.
fn is_all(filter: &ast::Expr) -> bool {
    matches!(filter.kind, ExprKind::Bool(true))
}
