//! Statements drawn by the weights of a mix, with parameters: the same sequence for all schemas.

use super::data::{AFTER, Size, moment};
use crate::Result;
use crate::reddit::data::mix;
use querent_compiler::model::{self, Model, Param, Type};
use querent_compiler::value::Value;

/// One statement of the model.
pub struct Statement {
    pub name: String,
    /// As the example's headings name it.
    pub group: String,
    pub weight: f64,
    pub is_question: bool,
    /// Rows come in an order, so their order is compared too.
    pub ordered: bool,
    /// Of an answer without an order, any so many rows will do: then only their number is compared.
    pub any_of: Option<u64>,
    params: Vec<Param>,
    inserts: Option<String>,
}

/// All statements with a weight in the mix.
pub fn statements(model: &Model, text: &str, mix: &str) -> Result<Vec<Statement>> {
    let at = model.mixes.iter().position(|m| m == mix);
    let at = at.ok_or("the model has no such mix")?;
    let mut out = vec![];
    for question in &model.questions {
        let ordered = !question.query.order.is_empty();
        let limit = match &question.query.limit {
            Some(model::Expr::Const(Value::Int(limit))) => Some(*limit as u64),
            _ => None,
        };
        out.push(Statement {
            name: question.name.clone(),
            group: group(text, "question", &question.name)?,
            weight: question.rates[at],
            is_question: true,
            ordered,
            any_of: limit.filter(|_| !ordered),
            params: question.params.clone(),
            inserts: None,
        });
    }
    for change in &model.changes {
        let inserts = change.statements.iter().find_map(|s| match s {
            model::Statement::Insert { entity, .. } => Some(model.entity(*entity).name.clone()),
            _ => None,
        });
        out.push(Statement {
            name: change.name.clone(),
            group: group(text, "change", &change.name)?,
            weight: change.rates[at],
            is_question: false,
            ordered: false,
            any_of: None,
            params: change.params.clone(),
            inserts,
        });
    }
    out.retain(|s| s.weight > 0.0);
    Ok(out)
}

/// The heading above a statement: `# 4 SearchItemsByCategory`.
fn group(text: &str, kind: &str, name: &str) -> Result<String> {
    let mut heading = "";
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("#"), Some(number), Some(title)) if number.parse::<u32>().is_ok() => {
                heading = title;
            }
            (Some(found), Some(named), _) if found == kind && named == name => {
                return Ok(heading.to_owned());
            }
            _ => {}
        }
    }
    Err(format!("the model has no {kind} {name}").into())
}

/// Draws statements and makes their parameters.
pub struct Sequence<'a> {
    statements: &'a [Statement],
    size: Size,
    drawn: u64,
    /// Of each statement, for the ids of what it inserts.
    inserted: Vec<u64>,
}

impl<'a> Sequence<'a> {
    pub fn new(statements: &'a [Statement], size: Size) -> Self {
        let inserted = vec![0; statements.len()];
        Sequence {
            statements,
            size,
            drawn: 0,
            inserted,
        }
    }

    /// The next ones, by position in the list; only those for which it holds.
    pub fn draw(
        &mut self,
        count: usize,
        of: impl Fn(&Statement) -> bool,
    ) -> Result<Vec<(usize, Vec<Value>)>> {
        let weight = |s: &Statement| if of(s) { s.weight } else { 0.0 };
        let total: f64 = self.statements.iter().map(weight).sum();
        let mut out = Vec::with_capacity(count);
        for _ in 0..count {
            self.drawn += 1;
            let mut at = (mix(self.drawn, 300) >> 11) as f64 / (1u64 << 53) as f64 * total;
            let found = self.statements.iter().position(|s| {
                at -= weight(s);
                at < 0.0
            });
            let found = found.ok_or("nothing to draw from")?;
            out.push((found, self.params(found)?));
        }
        Ok(out)
    }

    fn params(&mut self, at: usize) -> Result<Vec<Value>> {
        let statement = &self.statements[at];
        let n = self.drawn;
        let row = match &statement.inserts {
            None => vec![],
            Some(entity) => {
                let next = self.size.of(entity) + self.inserted[at];
                self.inserted[at] += 1;
                self.size.row(entity, next)
            }
        };
        let value = |param: &Param| -> Result<Value> {
            let inserted = row.iter().find(|(name, _)| *name == param.name);
            let value = match (inserted, param.name.as_str()) {
                (Some((_, value)), _) => value.clone(),
                (None, "user") => self.size.any("User", n, 310),
                (None, "item") => self.size.any("Item", n, 311),
                (None, "category") => self.size.any("Category", n, 312),
                (None, "region") => self.size.any("Region", n, 313),
                (None, "comment") => self.size.any("Comment", n, 314),
                (None, "after") => Value::Timestamp(AFTER),
                (None, "end_date") => moment(n, 315),
                (None, "quantity" | "nb_of_bids" | "rating") => {
                    Value::Int((mix(n, 316) % 20) as i64)
                }
                (None, "max_bid") => Value::Float((mix(n, 317) % 100_000) as f64 / 100.0),
                (None, other) => return Err(format!("no value for ${other}").into()),
            };
            Ok(match param.ty {
                Type::Key(_) => Value::Key(vec![value]),
                _ => value,
            })
        };
        statement.params.iter().map(value).collect()
    }
}
