//! Random parameters of questions and changes, and cursors from answers.

use super::data::existing;
use super::focus;
use super::rng::Rng;
use super::values::value;
use crate::eval::Eval;
use crate::facts::Facts;
use querent_compiler::model::{
    Change, Expr, Field, Item, Model, Param, ParamId, Query, Question, Statement, Type,
};
use querent_compiler::value::Value;
use std::collections::BTreeMap;

/// Random parameters of a question, mostly such that it finds something. Cursors are null.
pub fn question_params(
    rng: &mut Rng,
    model: &Model,
    facts: &Facts,
    question: &Question,
) -> Vec<Value> {
    let pool = Pool::of(model, facts);
    let mut limits = Vec::new();
    collect_limits(&question.query, &mut limits);
    let mut params = Vec::new();
    for (i, param) in question.params.iter().enumerate() {
        params.push(if limits.contains(&ParamId(i as u32)) {
            Value::Int(rng.below(6) as i64)
        } else {
            random(rng, model, facts, &pool, param, 80)
        });
    }
    if rng.percent(70) {
        let eval = Eval {
            model,
            facts,
            params: &params,
        };
        let found = focus::of_query(rng, &eval, &question.query);
        focus::put(&mut params, found);
    }
    params
}

/// Random parameters of a change: mostly such that it is not refused.
pub fn change_params(rng: &mut Rng, model: &Model, facts: &Facts, change: &Change) -> Vec<Value> {
    let pool = Pool::of(model, facts);
    let mut fresh = Vec::new();
    inserted(&change.statements, &mut fresh);
    let mut params = Vec::new();
    for (i, param) in change.params.iter().enumerate() {
        // What is inserted is mostly new, what is looked for mostly exists.
        let known = if fresh.contains(&ParamId(i as u32)) {
            15
        } else {
            85
        };
        params.push(random(rng, model, facts, &pool, param, known));
    }
    if rng.percent(80) {
        find(rng, model, facts, &change.statements, &mut params);
    }
    params
}

/// Lets statements find instances; those of a `for each` one for each element.
fn find(
    rng: &mut Rng,
    model: &Model,
    facts: &Facts,
    statements: &[Statement],
    params: &mut Vec<Value>,
) {
    for statement in statements {
        match statement {
            Statement::Update {
                entity,
                filter,
                condition,
                ..
            }
            | Statement::Delete {
                entity,
                filter,
                condition,
            } => {
                let eval = Eval {
                    model,
                    facts,
                    params,
                };
                let found = focus::of_filter(rng, &eval, *entity, filter, condition.as_ref());
                focus::put(params, found);
            }
            Statement::ForEach { list, item, body } => {
                let Some(Value::List(mut elements)) = params.get(list.index()).cloned() else {
                    continue;
                };
                for element in &mut elements {
                    params[item.index()] = element.clone();
                    find(rng, model, facts, body, params);
                    *element = params[item.index()].clone();
                }
                params[list.index()] = Value::List(elements);
            }
            Statement::Insert { .. } => {}
        }
    }
}

/// A cursor for a parameter that pages a query: the order of a random row of its answer, which
/// for the cursor of a nested shape is the answer for a random instance. None without rows.
pub fn cursor(rng: &mut Rng, eval: &Eval<'_>, query: &Query, param: ParamId) -> Option<Value> {
    let orders = eval.orders(query, param);
    rng.pick(&orders).map(|order| Value::List(order.clone()))
}

fn random(
    rng: &mut Rng,
    model: &Model,
    facts: &Facts,
    pool: &Pool,
    param: &Param,
    known: u64,
) -> Value {
    if param.ty == Type::Cursor || (param.optional && rng.percent(10)) {
        return Value::Null;
    }
    known_or_new(rng, model, facts, pool, &param.ty, known).unwrap_or_default()
}

fn known_or_new(
    rng: &mut Rng,
    model: &Model,
    facts: &Facts,
    pool: &Pool,
    ty: &Type,
    known: u64,
) -> Option<Value> {
    match ty {
        Type::List(t, _) if t.is_scalar() || matches!(**t, Type::Record(_)) => {
            let count = rng.below(4);
            let elements =
                (0..count).filter_map(|_| known_or_new(rng, model, facts, pool, t, known));
            return Some(Value::List(elements.collect()));
        }
        Type::Record(fields) => {
            let mut values = Vec::new();
            for field in fields {
                match known_or_new(rng, model, facts, pool, &field.ty, known) {
                    Some(v) if !(field.optional && rng.percent(20)) => values.push(v),
                    _ if field.optional => values.push(Value::Null),
                    _ => return None,
                }
            }
            return Some(Value::Record(values));
        }
        Type::Key(entity) if rng.percent(92) => {
            if let Some(key) = existing(rng, model, facts, *entity) {
                return Some(key);
            }
        }
        _ => {}
    }
    if rng.percent(known)
        && let Some(v) = pool.pick(rng, ty)
    {
        return Some(v);
    }
    value(rng, model, ty, &mut |rng, entity| {
        if rng.percent(95)
            && let Some(key) = existing(rng, model, facts, entity)
        {
            return Some(key);
        }
        let parts = model.key_leaves(entity).into_iter();
        let parts: Option<Vec<Value>> = parts
            .map(|leaf| {
                value(
                    rng,
                    model,
                    &model.attribute(leaf.attribute).ty,
                    &mut |_, _| None,
                )
            })
            .collect();
        parts.map(Value::Key)
    })
}

/// The scalars that occur in the facts, by a name of their type.
struct Pool(BTreeMap<String, Vec<Value>>);

impl Pool {
    fn of(model: &Model, facts: &Facts) -> Pool {
        let mut pool = Pool(BTreeMap::new());
        for (root, rows) in &facts.rows {
            for row in rows.values() {
                for (field, value) in model.entity(*root).fields.iter().zip(row) {
                    if let Field::Attribute(id) = field {
                        pool.add(&model.attribute(*id).ty, value);
                    }
                }
            }
        }
        pool
    }
    fn add(&mut self, ty: &Type, value: &Value) {
        match (ty, value) {
            (_, Value::Null) => {}
            (Type::List(t, _) | Type::Set(t, _), Value::List(values) | Value::Set(values)) => {
                for value in values {
                    self.add(t, value);
                }
            }
            (Type::Map(k, v, _), Value::Map(pairs)) => {
                for (key, value) in pairs {
                    self.add(k, key);
                    self.add(v, value);
                }
            }
            (Type::Record(fields), Value::Record(values)) => {
                for (field, value) in fields.iter().zip(values) {
                    self.add(&field.ty, value);
                }
            }
            _ => self.0.entry(pool_name(ty)).or_default().push(value.clone()),
        }
    }
    fn pick(&self, rng: &mut Rng, ty: &Type) -> Option<Value> {
        rng.pick(self.0.get(&pool_name(ty))?).cloned()
    }
}

fn pool_name(ty: &Type) -> String {
    match ty {
        Type::Text(_) => "text".to_owned(),
        Type::Blob(_) => "blob".to_owned(),
        other => format!("{other:?}"),
    }
}

fn collect_limits(query: &Query, out: &mut Vec<ParamId>) {
    if let Some(Expr::Param(id, _)) = &query.limit {
        out.push(*id);
    }
    collect_item_limits(&query.select, out);
}

fn collect_item_limits(items: &[Item], out: &mut Vec<ParamId>) {
    for item in items {
        match &item.expr {
            Expr::Nested(_, query) => collect_limits(query, out),
            Expr::Shape { items, .. } => collect_item_limits(items, out),
            _ => {}
        }
    }
}

/// Parameters that are values of an insert.
fn inserted(statements: &[Statement], out: &mut Vec<ParamId>) {
    for statement in statements {
        match statement {
            Statement::Insert { values, .. } => {
                out.extend(values.iter().filter_map(|(_, expr)| match expr {
                    Expr::Param(id, _) => Some(*id),
                    _ => None,
                }));
            }
            Statement::ForEach { body, .. } => inserted(body, out),
            Statement::Update { .. } | Statement::Delete { .. } => {}
        }
    }
}
