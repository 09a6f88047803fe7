//! The reference meaning of changes, deliberately naive: statements are applied in order to a copy
//! of the facts, the copy is checked as a whole, and it replaces the facts if nothing is wrong.
//! What has expired by then is gone before.

mod check;
mod refusal;
mod sequences;

pub use check::fits;
pub use refusal::Refusal;
pub use sequences::Sequences;

use crate::eval::Eval;
use crate::facts::{Facts, concrete, is_a, key_of};
use querent_compiler::model::{
    Change, EntityId, Expr, Field, Model, OnDelete, Pred, ReferenceId, Statement,
};
use querent_compiler::value::Value;
use sequences::counter;

/// Applies a change to the facts at a time: all of it, or nothing.
pub fn apply(
    model: &Model,
    change: &Change,
    params: &[Value],
    facts: &mut Facts,
    sequences: &mut Sequences,
    now: i64,
) -> Result<(), Refusal> {
    expire(model, facts, now);
    let mut work = Work {
        model,
        now,
        facts: facts.clone(),
        sequences: sequences.clone(),
    };
    let mut params = params.to_vec();
    work.statements(&change.statements, &mut params)?;
    work.check()?;
    *facts = work.facts;
    *sequences = work.sequences;
    Ok(())
}

/// Takes away every instance whose deadline has come, with what falls with it.
pub fn expire(model: &Model, facts: &mut Facts, now: i64) {
    let mut work = Work {
        model,
        now,
        facts: std::mem::take(facts),
        sequences: Sequences::default(),
    };
    for (root, _) in model.expiring() {
        let slot = model.deadline_slot(root);
        let due: Vec<Vec<Value>> = work
            .facts
            .of(model, root)
            .filter(
                |(_, row)| matches!(slot.map(|s| &row[s]), Some(Value::Timestamp(t)) if *t <= now),
            )
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            work.delete(root, &key);
        }
    }
    *facts = work.facts;
}

/// Gives a whole row that does not say when it expires the deadline of an instance made now.
pub fn stamp(model: &Model, root: EntityId, row: &mut [Value], now: i64) {
    if let Some(slot) = model.deadline_slot(root)
        && row[slot].is_null()
    {
        row[slot] = deadline(now, model.lifetime(concrete(model, root, row)));
    }
}

fn deadline(now: i64, lifetime: Option<u64>) -> Value {
    lifetime.map_or(Value::Null, |ms| Value::Timestamp(now + ms as i64))
}

/// Inserts whole rows, or replaces those with their keys: all of them, or nothing. A given number
/// raises its counter, and a sequence left null gets the next number behind all that are given. A
/// deadline left null is that of an instance made now.
pub fn put(
    model: &Model,
    rows: &[(EntityId, Vec<Value>)],
    facts: &mut Facts,
    sequences: &mut Sequences,
    now: i64,
) -> Result<(), Refusal> {
    expire(model, facts, now);
    let mut work = Work {
        model,
        now,
        facts: facts.clone(),
        sequences: sequences.clone(),
    };
    for (entity, row) in rows {
        let root = model.entity(*entity).root;
        work.sequences.note(model, root, row);
    }
    for (entity, row) in rows {
        let root = model.entity(*entity).root;
        let mut row = row.clone();
        stamp(model, root, &mut row, now);
        work.number(root, &mut row);
        let key = key_of(model, root, &row);
        let kind = |row: &[Value]| concrete(model, root, row);
        if let Some(old) = work.facts.row(model, root, &key)
            && kind(old) != kind(&row)
        {
            let entity = model.entity(*entity).name.clone();
            return Err(Refusal::OtherType { entity, key });
        }
        work.facts.of_mut(model, root).insert(key, row);
    }
    work.check()?;
    *facts = work.facts;
    *sequences = work.sequences;
    Ok(())
}

/// Whether facts are allowed as a whole.
pub fn consistent(model: &Model, facts: &Facts) -> Result<(), Refusal> {
    let work = Work {
        model,
        now: i64::MIN,
        facts: facts.clone(),
        sequences: Sequences::default(),
    };
    work.check()
}

struct Work<'m> {
    model: &'m Model,
    now: i64,
    facts: Facts,
    sequences: Sequences,
}

impl Work<'_> {
    fn statements(
        &mut self,
        statements: &[Statement],
        params: &mut Vec<Value>,
    ) -> Result<(), Refusal> {
        for statement in statements {
            match statement {
                Statement::Insert {
                    entity,
                    values,
                    upsert,
                    expires,
                } => {
                    self.insert(*entity, values, *upsert, *expires, params)?;
                }
                Statement::Update {
                    entity,
                    set,
                    filter,
                    condition,
                } => {
                    self.update(*entity, set, filter, condition.as_ref(), params)?;
                }
                Statement::Delete {
                    entity,
                    filter,
                    condition,
                } => {
                    for key in self.matching(*entity, filter, condition.as_ref(), params)? {
                        self.delete(self.model.entity(*entity).root, &key);
                    }
                }
                Statement::ForEach { list, item, body } => {
                    let elements = match params.get(list.index()) {
                        Some(Value::List(elements)) => elements.clone(),
                        _ => Vec::new(),
                    };
                    if params.len() <= item.index() {
                        params.resize(item.index() + 1, Value::Null);
                    }
                    for element in elements {
                        params[item.index()] = element;
                        self.statements(body, params)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn name(&self, entity: EntityId) -> String {
        self.model.entity(entity).name.clone()
    }

    fn field_name(&self, field: Field) -> String {
        match field {
            Field::Type => "type".to_owned(),
            Field::Attribute(id) => self.model.attribute(id).name.clone(),
            Field::Reference(id) => self.model.reference(id).name.clone(),
        }
    }

    fn insert(
        &mut self,
        entity: EntityId,
        values: &[(usize, Expr)],
        upsert: bool,
        expires: Option<u64>,
        params: &[Value],
    ) -> Result<(), Refusal> {
        let root = self.model.root(entity);
        let mut row = vec![Value::Null; root.fields.len()];
        let eval = Eval {
            model: self.model,
            facts: &self.facts,
            params,
        };
        for (slot, expr) in values {
            if let Field::Attribute(id) = root.fields[*slot]
                && self.model.attribute(id).sequence.is_some()
            {
                let (entity, field) = (self.name(entity), self.field_name(root.fields[*slot]));
                return Err(Refusal::SequenceGiven { entity, field });
            }
            if eval.fails(None, expr) {
                let (entity, field) = (self.name(entity), self.field_name(root.fields[*slot]));
                return Err(Refusal::NoResult { entity, field });
            }
            row[*slot] = eval.of_instance(None, expr);
        }
        // A new deadline, or none, whatever was there before.
        let deadline_slot = self.model.deadline_slot(entity);
        if let Some(slot) = deadline_slot {
            row[slot] = deadline(self.now, expires);
        }
        let root_id = self.model.entity(entity).root;
        let position = self
            .model
            .type_members(root_id)
            .iter()
            .position(|&m| m == entity);
        if let Some(slot) = self.model.slot(entity, Field::Type) {
            row[slot] = Value::Enum(position.unwrap_or(0) as u16);
        }
        let key = key_of(self.model, entity, &row);
        if let Some(old) = self.facts.row(self.model, entity, &key) {
            if !upsert {
                return Err(Refusal::Exists {
                    entity: self.name(entity),
                    key,
                });
            }
            if concrete(self.model, root_id, old) != entity {
                return Err(Refusal::OtherType {
                    entity: self.name(entity),
                    key,
                });
            }
            let mut merged = old.clone();
            for slot in values.iter().map(|(slot, _)| *slot).chain(deadline_slot) {
                merged[slot] = row[slot].clone();
            }
            self.unlink(root_id, old, &mut merged, values);
            return self.store(entity, merged);
        }
        self.number(entity, &mut row);
        let key = key_of(self.model, entity, &row);
        if self.facts.row(self.model, entity, &key).is_some() {
            return Err(Refusal::Exists {
                entity: self.name(entity),
                key,
            });
        }
        self.store(entity, row)
    }

    /// Assigns the sequences that the row leaves null, in the order of the slots.
    fn number(&mut self, entity: EntityId, row: &mut [Value]) {
        let root = self.model.entity(entity).root;
        let kind = concrete(self.model, root, row);
        for (slot, field) in self.model.entity(root).fields.iter().enumerate() {
            if let Field::Attribute(id) = field {
                let attribute = self.model.attribute(*id);
                if let Some(sequence) = &attribute.sequence
                    && row[slot].is_null()
                    && is_a(self.model, kind, attribute.entity)
                {
                    let name = (id.0, counter(self.model, root, sequence, row));
                    let last = self.sequences.last.get(&name).copied().unwrap_or(0);
                    row[slot] = Value::Int(last + 1);
                }
            }
        }
        self.sequences.note(self.model, root, row);
    }

    /// Stores a row under its key once its own values are right.
    fn store(&mut self, entity: EntityId, row: Vec<Value>) -> Result<(), Refusal> {
        let root = self.model.entity(entity).root;
        self.check_row(root, &row, true)?;
        let key = key_of(self.model, root, &row);
        self.facts.of_mut(self.model, root).insert(key, row);
        Ok(())
    }

    /// Keys of the instances that a filter finds, all of which meet the condition.
    fn matching(
        &self,
        entity: EntityId,
        filter: &[Pred],
        condition: Option<&Pred>,
        params: &[Value],
    ) -> Result<Vec<Vec<Value>>, Refusal> {
        let root = self.model.entity(entity).root;
        let eval = Eval {
            model: self.model,
            facts: &self.facts,
            params,
        };
        let keys: Vec<Vec<Value>> = self
            .facts
            .of(self.model, root)
            .filter(|(key, row)| {
                is_a(self.model, concrete(self.model, root, row), entity)
                    && eval.holds(entity, key, filter)
            })
            .map(|(key, _)| key.clone())
            .collect();
        if let Some(condition) = condition {
            if keys.is_empty() {
                return Err(Refusal::NoneFound {
                    entity: self.name(entity),
                });
            }
            for key in &keys {
                if !eval.holds(entity, key, std::slice::from_ref(condition)) {
                    return Err(Refusal::Condition {
                        entity: self.name(entity),
                        key: key.clone(),
                    });
                }
            }
        }
        Ok(keys)
    }

    /// All instances are judged by the facts before the statement, then all rows change.
    fn update(
        &mut self,
        entity: EntityId,
        set: &[(usize, Expr)],
        filter: &[Pred],
        condition: Option<&Pred>,
        params: &[Value],
    ) -> Result<(), Refusal> {
        let mut changed = Vec::new();
        for key in self.matching(entity, filter, condition, params)? {
            let Some(row) = self.facts.row(self.model, entity, &key) else {
                continue;
            };
            let eval = Eval {
                model: self.model,
                facts: &self.facts,
                params,
            };
            let mut row = row.clone();
            for (slot, expr) in set {
                if eval.fails(Some((entity, &key)), expr) {
                    let field = self.model.root(entity).fields[*slot];
                    let (entity, field) = (self.name(entity), self.field_name(field));
                    return Err(Refusal::NoResult { entity, field });
                }
                row[*slot] = eval.of_instance(Some((entity, &key)), expr);
            }
            if let Some(old) = self.facts.row(self.model, entity, &key) {
                self.unlink(self.model.entity(entity).root, old, &mut row, set);
            }
            changed.push(row);
        }
        changed
            .into_iter()
            .try_for_each(|row| self.store(entity, row))
    }

    /// Deletes an instance and does to its referrers what their references say. Those that refuse
    /// stay as they are: the check at the end finds what dangles then.
    fn delete(&mut self, root: EntityId, key: &[Value]) {
        if self.facts.of_mut(self.model, root).remove(key).is_none() {
            return;
        }
        for (id, reference) in self.model.references.iter().enumerate() {
            if self.model.entity(reference.target).root != root {
                continue;
            }
            let referring = self.model.entity(reference.entity).root;
            let Some(slot) = self
                .model
                .slot(referring, Field::Reference(ReferenceId(id as u32)))
            else {
                continue;
            };
            let target = Value::Key(key.to_vec());
            let referrers: Vec<Vec<Value>> = self
                .facts
                .of(self.model, referring)
                .filter(|(_, row)| row[slot] == target)
                .map(|(key, _)| key.clone())
                .collect();
            for referrer in referrers {
                match reference.on_delete {
                    OnDelete::Refuse => {}
                    OnDelete::Cascade => self.delete(referring, &referrer),
                    OnDelete::Clear => {
                        let old = self.facts.row(self.model, referring, &referrer);
                        if let Some(old) = old.cloned() {
                            let mut cleared = old.clone();
                            cleared[slot] = Value::Null;
                            self.unlink(referring, &old, &mut cleared, &[]);
                            self.facts
                                .of_mut(self.model, referring)
                                .insert(referrer, cleared);
                        }
                    }
                }
            }
        }
    }

    /// A link is a reference and where it leads. Where that is no longer the same, the old link is
    /// gone, and its attributes with it: a new one has those that the statement sets.
    fn unlink(&self, root: EntityId, old: &[Value], row: &mut [Value], set: &[(usize, Expr)]) {
        for (slot, field) in self.model.entity(root).fields.iter().enumerate() {
            if let Field::Attribute(id) = field
                && let Some(of) = self.model.attribute(*id).of
                && let Some(at) = self.model.slot(root, Field::Reference(of.reference))
                && old[at] != row[at]
                && set.iter().all(|(s, _)| *s != slot)
            {
                row[slot] = Value::Null;
            }
        }
    }
}
