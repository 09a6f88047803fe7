//! Statements, applied to the draft one by one; later ones see the earlier.

use super::{ChangeFailure, Draft, Refusal, exists};
use crate::facts::{FactError, Place};
use crate::operator::{Answer, Ask};
use crate::store::Reader;
use crate::text::value_text;
use querent_compiler::design::{is_same_kind, key_of, reads_beyond};
use querent_compiler::model::{
    Change, Compare, EntityId, Expr, Field, Leaf, Model, OnDelete, Pred, ReferenceId, Sequence,
    Statement, Type, own,
};
use querent_compiler::value::Value;
use querent_compiler::value::ops::{self, of_any};
use querent_compiler::view::eval::{Binding, Eval};
use querent_compiler::view::facts::{Facts, Key, key_of_row};
use std::collections::BTreeSet;
use std::rc::Rc;

impl<R: Reader> Draft<'_, R> {
    /// Applies all statements of a change.
    pub(super) fn change(
        &mut self,
        change: &Change,
        at: usize,
        params: &[Value],
    ) -> Result<(), ChangeFailure> {
        let mut params = params.to_vec();
        params.resize(change.params.len().max(params.len()), Value::Null);
        let mut finds = 0;
        self.statements(&change.statements, at, &mut params, &mut finds)
    }

    fn statements(
        &mut self,
        statements: &[Statement],
        change: usize,
        params: &mut Vec<Value>,
        finds: &mut usize,
    ) -> Result<(), ChangeFailure> {
        for statement in statements {
            match statement {
                Statement::Insert {
                    entity,
                    values,
                    upsert,
                    expires,
                } => self.insert(*entity, values, *upsert, *expires, params)?,
                Statement::Update {
                    entity,
                    set,
                    filter,
                    condition,
                } => {
                    let keys = self.find(*entity, filter, change, *finds, params)?;
                    *finds += 1;
                    self.judge("update", *entity, &keys, condition.as_ref(), params)?;
                    self.update(*entity, set, &keys, params)?;
                }
                Statement::Delete {
                    entity,
                    filter,
                    condition,
                } => {
                    let keys = self.find(*entity, filter, change, *finds, params)?;
                    *finds += 1;
                    self.judge("delete", *entity, &keys, condition.as_ref(), params)?;
                    let root = self.schema.model.entity(*entity).root;
                    for key in keys {
                        self.delete(root, &key)?;
                    }
                }
                Statement::ForEach { list, item, body } => {
                    let items = match params.get(list.index()) {
                        Some(Value::List(items) | Value::Set(items)) => items.clone(),
                        _ => vec![],
                    };
                    let first = *finds;
                    let inside = count_finds(body);
                    for value in items {
                        if let Some(slot) = params.get_mut(item.index()) {
                            *slot = value;
                        }
                        *finds = first;
                        self.statements(body, change, params, finds)?;
                    }
                    *finds = first + inside;
                }
            }
        }
        Ok(())
    }

    fn insert(
        &mut self,
        entity: EntityId,
        values: &[(usize, Expr)],
        upsert: bool,
        expires: Option<u64>,
        params: &[Value],
    ) -> Result<(), ChangeFailure> {
        let model = &self.schema.model;
        let root = model.entity(entity).root;
        let mut given = Vec::new();
        {
            let eval = Eval::new(model, &self.after, params);
            for (slot, expr) in values {
                let value = eval.expr(&[], expr)?;
                if let Some(fault) = fault(model, &eval, &[], expr)? {
                    let (subject, field) = (self.entity_name(entity), self.field_name(root, *slot));
                    return Err(fault.refusal(subject, field).into());
                }
                given.push((*slot, self.as_declared(root, *slot, value)));
            }
        }
        if let Some(slot) = model.deadline_slot(root) {
            given.push((slot, crate::expiry::deadline(self.now, expires)));
        }
        let mut row = vec![Value::Null; model.root(root).fields.len()];
        for (slot, value) in &given {
            if let Some(place) = row.get_mut(*slot) {
                *place = value.clone();
            }
        }
        if let Some(slot) = model.slot(root, Field::Type) {
            let tag = model
                .type_members(root)
                .iter()
                .position(|&m| m == entity)
                .unwrap_or_default();
            if let Some(place) = row.get_mut(slot) {
                *place = Value::Enum(tag as u16);
            }
            given.push((slot, Value::Enum(tag as u16)));
        }
        let slots: Vec<usize> = given.iter().map(|(slot, _)| *slot).collect();
        let root_key = &model.root(root).key;
        let numbered = self.schema.sequence_slots(root);
        let key_is_numbered = numbered.iter().any(|(slot, _)| root_key.contains(slot));
        // An upsert that finds its row takes no number.
        let found = if key_is_numbered {
            None
        } else {
            self.current(root, &key_of_row(model, root, &row))?
        };
        if found.is_none() {
            self.number(entity, &mut row)?;
        }
        let key = key_of_row(model, root, &row);
        let found = if key_is_numbered {
            self.current(root, &key)?
        } else {
            found
        };
        if let Some(old) = found {
            if !upsert {
                return Err(Refusal::KeyTaken {
                    entity: self.entity_name(entity),
                    key: self.key_text(root, &key),
                }
                .into());
            }
            self.check_same_type(entity, &key, &old, &row)?;
            row.clone_from(&old);
            for (slot, value) in given {
                if let Some(place) = row.get_mut(slot) {
                    *place = value;
                }
            }
            model.drop_links(root, &old, &mut row, &slots);
        }
        self.check_loose(root, &key, &row, &slots)?;
        for slot in slots {
            self.check_value(root, &key, &row, slot)?;
        }
        self.after.set(root, key, Some(row));
        Ok(())
    }

    /// Assigns the next numbers of all sequences that the concrete entity has: an insert gives none.
    fn number(&mut self, entity: EntityId, row: &mut [Value]) -> Result<(), ChangeFailure> {
        let root = self.schema.model.entity(entity).root;
        for (slot, sequence) in self.schema.sequence_slots(root) {
            if !has_field(&self.schema.model, entity, slot) {
                continue;
            }
            if row.get(slot).is_some_and(|v| !v.is_null()) {
                let field = self.field_name(root, slot);
                return Err(Refusal::Numbered {
                    entity: self.entity_name(root),
                    field,
                }
                .into());
            }
            self.assign(root, slot, &sequence, row)?;
        }
        Ok(())
    }

    /// Assigns the next numbers of the sequences that a whole row leaves out.
    pub(super) fn number_missing(
        &mut self,
        root: EntityId,
        row: &mut [Value],
    ) -> Result<(), ChangeFailure> {
        for (slot, sequence) in self.schema.missing_numbers(root, row) {
            self.assign(root, slot, &sequence, row)?;
        }
        Ok(())
    }

    /// Gives a slot of a row the next number of its sequence.
    fn assign(
        &mut self,
        root: EntityId,
        slot: usize,
        sequence: &Sequence,
        row: &mut [Value],
    ) -> Result<(), ChangeFailure> {
        let counter = self.counter(root, slot, sequence, row);
        let last = match self.sequences.get(&counter) {
            Some(last) => *last,
            None => self.before.sequence(&counter)?,
        };
        let field = self.field_name(root, slot);
        let next = last.checked_add(1);
        let Some(next) = next.filter(|&n| self.schema.has_number(root, slot, n)) else {
            return Err(Refusal::Exhausted {
                entity: self.entity_name(root),
                field,
            }
            .into());
        };
        self.sequences.insert(counter, next);
        if let Some(place) = row.get_mut(slot) {
            *place = Value::Int(next);
        }
        self.receipt.assigned.push((field, Value::Int(next)));
        Ok(())
    }

    /// A row that came with numbers of its own: sequences go on behind them.
    pub(super) fn note_sequences(
        &mut self,
        root: EntityId,
        row: &[Value],
    ) -> Result<(), ChangeFailure> {
        for (slot, sequence) in self.schema.sequence_slots(root) {
            let Some(Value::Int(given)) = row.get(slot) else {
                continue;
            };
            let counter = self.counter(root, slot, &sequence, row);
            let last = match self.sequences.get(&counter) {
                Some(last) => *last,
                None => self.before.sequence(&counter)?,
            };
            if *given > last {
                self.sequences.insert(counter, *given);
            }
        }
        Ok(())
    }

    fn counter(
        &self,
        root: EntityId,
        slot: usize,
        sequence: &Sequence,
        row: &[Value],
    ) -> [Value; 2] {
        sequence_counter(self.schema, root, slot, sequence, row)
    }

    fn update(
        &mut self,
        entity: EntityId,
        set: &[(usize, Expr)],
        keys: &BTreeSet<Key>,
        params: &[Value],
    ) -> Result<(), ChangeFailure> {
        let root = self.schema.model.entity(entity).root;
        let mut rows = Vec::new();
        for key in keys {
            let Some(old) = self.current(root, key)? else {
                continue;
            };
            let mut row = old.clone();
            let scope = [Binding::Instance(root, Rc::new(key.clone()))];
            let eval = Eval::new(&self.schema.model, &self.after, params);
            for (slot, expr) in set {
                let value = eval.expr(&scope, expr)?;
                if let Some(fault) = fault(&self.schema.model, &eval, &scope, expr)? {
                    let key = self.key_text(root, key);
                    let subject = format!("{} {key}", self.entity_name(root));
                    let field = self.field_name(root, *slot);
                    return Err(fault.refusal(subject, field).into());
                }
                if let Some(place) = row.get_mut(*slot) {
                    *place = self.as_declared(root, *slot, value);
                }
            }
            let slots: Vec<usize> = set.iter().map(|(slot, _)| *slot).collect();
            self.schema.model.drop_links(root, &old, &mut row, &slots);
            self.check_loose(root, key, &row, &slots)?;
            for slot in slots {
                self.check_value(root, key, &row, slot)?;
            }
            rows.push((key.clone(), row));
        }
        // All are computed from the state before the statement.
        for (key, row) in rows {
            self.after.set(root, key, Some(row));
        }
        Ok(())
    }

    /// A value in the form that its field keeps it in.
    fn as_declared(&self, root: EntityId, slot: usize, value: Value) -> Value {
        let model = &self.schema.model;
        match model.root(root).fields.get(slot) {
            Some(Field::Attribute(a)) if model.attribute(*a).ty == Type::Any => of_any(value),
            _ => value,
        }
    }

    /// Deletes an instance and does to those that refer to it what the model says.
    pub(super) fn delete(&mut self, root: EntityId, key: &[Value]) -> Result<(), ChangeFailure> {
        let mut open = vec![(root, key.to_vec())];
        while let Some((root, key)) = open.pop() {
            if !exists(&self.after, root, &key)? {
                continue;
            }
            self.after.set(root, key.clone(), None);
            self.deleted.insert((root, key.clone()));
            for reference in (0..self.schema.model.references.len() as u32).map(ReferenceId) {
                let r = self.schema.model.reference(reference);
                if self.schema.model.entity(r.target).root != root
                    || r.on_delete == OnDelete::Refuse
                {
                    continue;
                }
                let from = self.schema.model.entity(r.entity).root;
                for referrer in self.after.referrers(reference, &key)? {
                    if r.on_delete == OnDelete::Cascade {
                        open.push((from, referrer));
                    } else if let Some(old) = self.current(from, &referrer)? {
                        let model = &self.schema.model;
                        let mut row = old.clone();
                        let slot = model.slot(from, Field::Reference(reference));
                        if let Some(place) = slot.and_then(|s| row.get_mut(s)) {
                            *place = Value::Null;
                        }
                        model.drop_links(from, &old, &mut row, &[]);
                        self.after.set(from, referrer, Some(row));
                    }
                }
            }
        }
        Ok(())
    }

    /// The instances that an update or delete is about, as the change has left things so far.
    fn find(
        &mut self,
        entity: EntityId,
        filter: &[Pred],
        change: usize,
        find: usize,
        params: &[Value],
    ) -> Result<BTreeSet<Key>, ChangeFailure> {
        let model = &self.schema.model;
        let root = model.entity(entity).root;
        let mut candidates: BTreeSet<Key> = BTreeSet::new();
        let changed = !self.after.all_changed().is_empty();
        let named = key_of(model, entity, filter);
        let plan = match &named {
            Some(_) => None,
            None => self.schema.find(change, find)?,
        };
        // What a plan finds in facts that are as they were is what the filter says.
        let as_planned = plan.is_some() && !changed;
        match (plan, named) {
            // What is read of it is read by its key, like everything else.
            (_, Some(key)) => {
                let eval = Eval::new(model, &self.after, params);
                let key = key.iter().map(|e| eval.expr(&[], e));
                candidates.insert(key.collect::<Result<_, _>>()?);
            }
            (Some(plan), _) if !(changed && reads_beyond(model, root, filter)) => {
                let ask = Ask {
                    params,
                    declared: model
                        .changes
                        .get(change)
                        .map(|c| c.params.as_slice())
                        .unwrap_or_default(),
                };
                let mut answer = Answer::new(plan, self.reader, ask)?.counted();
                while let Some(row) = answer.next_row()? {
                    candidates.insert(row.to_values()?);
                }
                let gets = answer.profile().iter().map(|step| step.gets).sum::<u64>();
                self.receipt.reads += gets;
            }
            // What the filter reads elsewhere was changed by an earlier statement: look at all.
            _ => candidates.extend(self.before.all(root)?),
        }
        match self.narrowed(root, filter, params)? {
            Some((place, value)) => {
                candidates.extend(self.after.changed_with(root, place, &value));
            }
            None => candidates.extend(self.after.changed_of(root).map(|(key, _)| key.clone())),
        }
        let of_type =
            querent_compiler::design::type_filter(model, root, entity).filter(|_| entity != root);
        let eval = Eval::new(model, &self.after, params);
        let mut found = BTreeSet::new();
        'candidates: for key in candidates {
            match exists(&self.after, root, &key) {
                Ok(true) => {}
                // What no key can hold is no instance's.
                Ok(false) | Err(FactError::Key { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let scope = [Binding::Instance(root, Rc::new(key.clone()))];
            for pred in filter.iter().chain(&of_type).filter(|_| !as_planned) {
                if !eval.holds(&scope, pred)? {
                    continue 'candidates;
                }
            }
            found.insert(key);
        }
        Ok(found)
    }

    /// What the filter says of the instance's own row by an equality, where values that are equal
    /// are the same: numbers of different types are not.
    fn narrowed(
        &self,
        root: EntityId,
        filter: &[Pred],
        params: &[Value],
    ) -> Result<Option<(Place, Value)>, ChangeFailure> {
        let model = &self.schema.model;
        let eval = Eval::new(model, &self.after, params);
        for pred in filter {
            let Pred::Compare(part, Compare::Eq, given @ (Expr::Param(..) | Expr::Const(_))) = pred
            else {
                continue;
            };
            let (Some(place), Expr::Path { leaf, .. }) = (own(model, root, part), part) else {
                continue;
            };
            let Leaf::Attribute(attribute, _) = leaf else {
                continue;
            };
            let value = eval.expr(&[], given)?;
            if is_same_kind(&model.attribute(*attribute).ty, &value) {
                return Ok(Some((place, value)));
            }
        }
        Ok(None)
    }

    fn judge(
        &self,
        statement: &'static str,
        entity: EntityId,
        keys: &BTreeSet<Key>,
        condition: Option<&Pred>,
        params: &[Value],
    ) -> Result<(), ChangeFailure> {
        let Some(condition) = condition else {
            return Ok(());
        };
        let name = self.entity_name(entity);
        if keys.is_empty() {
            return Err(Refusal::NothingFound {
                statement,
                entity: name,
            }
            .into());
        }
        let root = self.schema.model.entity(entity).root;
        let eval = Eval::new(&self.schema.model, &self.after, params);
        for key in keys {
            let scope = [Binding::Instance(root, Rc::new(key.clone()))];
            if !eval.holds(&scope, condition)? {
                return Err(Refusal::Condition {
                    statement,
                    entity: name,
                    key: self.key_text(root, key),
                }
                .into());
            }
        }
        Ok(())
    }
}

/// Arithmetic whose outcome must not take the place of a fact: the operation in words.
enum Fault {
    /// It has no result although both operands have a value. A question shows null.
    NoResult(String),
    /// It was rounded. A question shows what is nearest.
    Inexact(String),
}

impl Fault {
    fn refusal(self, subject: String, field: String) -> Refusal {
        match self {
            Fault::NoResult(what) => Refusal::NoResult {
                subject,
                field,
                what,
            },
            Fault::Inexact(what) => Refusal::Inexact {
                subject,
                field,
                what,
            },
        }
    }
}

/// The first operation within an expression that a change must not come to.
fn fault<F: Facts>(
    model: &Model,
    eval: &Eval<'_, F>,
    scope: &[Binding],
    expr: &Expr,
) -> Result<Option<Fault>, F::Error> {
    match expr {
        Expr::Binary(op, a, b) => {
            for side in [a, b] {
                if let Some(inner) = fault(model, eval, scope, side)? {
                    return Ok(Some(inner));
                }
            }
            let (left, right) = (eval.expr(scope, a)?, eval.expr(scope, b)?);
            if left.is_null() || right.is_null() {
                return Ok(None);
            }
            let number = |value: &Value| value_text(model, &Type::Any, value);
            let what = || format!("{} {} {}", number(&left), op.sign(), number(&right));
            Ok(if ops::binary(*op, &left, &right).is_null() {
                Some(Fault::NoResult(what()))
            } else if ops::is_exact(*op, &left, &right) {
                None
            } else {
                Some(Fault::Inexact(what()))
            })
        }
        Expr::Call(_, args) => {
            for arg in args {
                if let Some(inner) = fault(model, eval, scope, arg)? {
                    return Ok(Some(inner));
                }
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// The counter of a numbered attribute: what is counted, and per which target.
pub(crate) fn sequence_counter(
    schema: &crate::schema::Schema,
    root: EntityId,
    slot: usize,
    sequence: &Sequence,
    row: &[Value],
) -> [Value; 2] {
    let model = &schema.model;
    let field = match model.root(root).fields.get(slot) {
        Some(Field::Attribute(a)) => model.attribute(*a).name.clone(),
        _ => String::new(),
    };
    let what = format!("{}.{field}", model.entity(root).name);
    let per = match sequence {
        Sequence::Global => String::new(),
        Sequence::Per(reference) => {
            let slot = model.slot(root, Field::Reference(*reference));
            match slot.and_then(|s| row.get(s)) {
                Some(Value::Key(key)) => {
                    let parts: Vec<String> = key.iter().map(|v| format!("{v:?}")).collect();
                    parts.join(",")
                }
                _ => String::new(),
            }
        }
    };
    [Value::Text(what), Value::Text(per)]
}

/// Whether instances of a concrete entity have the field at a slot of their root's row.
fn has_field(model: &Model, entity: EntityId, slot: usize) -> bool {
    let declared = match model.root(entity).fields.get(slot) {
        Some(Field::Attribute(a)) => model.attribute(*a).entity,
        Some(Field::Reference(r)) => model.reference(*r).entity,
        Some(Field::Type) | None => return true,
    };
    declared == entity || model.entity(declared).subtypes.contains(&entity)
}

fn count_finds(statements: &[Statement]) -> usize {
    let counts = statements.iter().map(|s| match s {
        Statement::Insert { .. } => 0,
        Statement::Update { .. } | Statement::Delete { .. } => 1,
        Statement::ForEach { body, .. } => count_finds(body),
    });
    counts.sum()
}

impl From<FactError> for crate::store::ChangeError<ChangeFailure> {
    fn from(error: FactError) -> Self {
        crate::store::ChangeError::Refused(error.into())
    }
}
