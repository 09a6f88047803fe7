//! Plans by their definition: whole lists of decoded tuples, no restarts, no encodings.

use super::random::World;
use querent_compiler::design::{Get, Op, Plan, Sub, Term, Test};
use querent_compiler::model::{Compare, Direction, Page};
use querent_compiler::value::Value;
use querent_compiler::value::ops::{self, Accumulator};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Frames of values.
pub(super) type Tuple = Vec<Vec<Value>>;

pub(super) struct Naive<'w> {
    pub(super) world: &'w World,
    pub(super) params: &'w [Value],
}

impl Naive<'_> {
    pub(super) fn rows(&self, plan: &Plan, outer: &[Vec<Value>]) -> Vec<Vec<Value>> {
        self.op(&plan.root, outer)
            .iter()
            .map(|t| {
                plan.output
                    .iter()
                    .map(|o| self.term(&o.term, t, &[]))
                    .collect()
            })
            .collect()
    }

    pub(super) fn op(&self, op: &Op, outer: &[Vec<Value>]) -> Vec<Tuple> {
        let of = |input: &Op| self.op(input, outer);
        match op {
            Op::Input => vec![outer.to_vec()],
            Op::Get {
                input,
                get,
                outer: keep,
                ..
            } => {
                let mut out = vec![];
                for tuple in of(input) {
                    let rows = self.get(get, &tuple, &[]);
                    if rows.is_empty() && *keep {
                        let width = self.world.width(get.structure);
                        out.push(joined(&tuple, vec![Value::Null; width]));
                    }
                    out.extend(rows.into_iter().map(|row| joined(&tuple, row)));
                }
                out
            }
            Op::Merge {
                input,
                lists,
                get,
                order,
                ..
            } => {
                let mut out = vec![];
                for tuple in of(input) {
                    let mut combinations = vec![vec![]];
                    for list in lists {
                        let mut items = BTreeSet::new();
                        for term in list {
                            match self.term(term, &tuple, &[]) {
                                Value::List(values) => items.extend(values),
                                value => items.extend([value]),
                            }
                        }
                        items.remove(&Value::Null);
                        let with = |before: &Vec<Value>| {
                            let longer = items
                                .iter()
                                .map(|item| [&before[..], std::slice::from_ref(item)].concat());
                            longer.collect::<Vec<_>>()
                        };
                        combinations = combinations.iter().flat_map(with).collect();
                    }
                    let mut rows: Vec<Tuple> = combinations
                        .iter()
                        .flat_map(|items| self.get(get, &tuple, items))
                        .map(|row| joined(&tuple, row))
                        .collect();
                    rows.sort_by(|a, b| self.by(order, a, b));
                    out.extend(rows);
                }
                out
            }
            Op::Unite {
                branches,
                keys,
                order,
                ..
            } => {
                let rows = branches.iter().flat_map(|b| self.rows(b, outer));
                let mut tuples: Vec<Tuple> = rows.map(|r| joined(&outer.to_vec(), r)).collect();
                tuples.sort_by(|a, b| self.by(order, a, b));
                let mut seen = BTreeSet::new();
                tuples.retain(|t| seen.insert(t[outer.len()][..usize::from(*keys)].to_vec()));
                tuples
            }
            Op::Elements { input, of: term } => {
                let mut out = vec![];
                for tuple in of(input) {
                    match self.term(term, &tuple, &[]) {
                        Value::List(values) => {
                            for (i, v) in values.into_iter().enumerate() {
                                let frame = vec![v, Value::Int(i as i64), Value::Null];
                                out.push(joined(&tuple, frame));
                            }
                        }
                        Value::Map(entries) => {
                            for (k, v) in entries {
                                out.push(joined(&tuple, vec![v, Value::Null, k]));
                            }
                        }
                        _ => {}
                    }
                }
                out
            }
            Op::Filter { input, tests, .. } => {
                let mut tuples = of(input);
                tuples.retain(|t| tests.iter().all(|test| self.test(test, t)));
                tuples
            }
            Op::Distinct { input, by } => {
                let mut seen = BTreeSet::new();
                let mut tuples = of(input);
                tuples.retain(|t| {
                    let key: Vec<_> = by.iter().map(|b| self.term(b, t, &[])).collect();
                    seen.insert(key)
                });
                tuples
            }
            Op::Sort { input, by, .. } => {
                let mut tuples = of(input);
                tuples.sort_by(|a, b| self.by(by, a, b));
                tuples
            }
            Op::Page { input, by, page } => {
                let mut tuples = of(input);
                if let Some(cursor) = self.cursor(page) {
                    tuples.retain(|t| {
                        let key = by.iter().map(|(b, _)| self.term(b, t, &[]));
                        let directions = by.iter().map(|(_, d)| *d);
                        side(page) == lexical(key, cursor.iter().cloned(), directions)
                    });
                }
                tuples
            }
            Op::Limit { input, count, last } => {
                let mut tuples = of(input);
                let Value::Int(n) = self.term(count, &vec![], &[]) else {
                    return tuples;
                };
                let n = n.max(0) as usize;
                if *last {
                    tuples.drain(..tuples.len().saturating_sub(n));
                } else {
                    tuples.truncate(n);
                }
                tuples
            }
            Op::Aggregate {
                input,
                group,
                aggregates,
                always,
                ..
            } => {
                let mut groups: BTreeMap<Vec<Value>, Vec<Tuple>> = BTreeMap::new();
                if *always && group.is_empty() {
                    groups.insert(vec![], vec![]);
                }
                for tuple in of(input) {
                    let key = group.iter().map(|g| self.term(g, &tuple, &[])).collect();
                    groups.entry(key).or_default().push(tuple);
                }
                let row = |(mut key, members): (Vec<Value>, Vec<Tuple>)| {
                    for one in aggregates {
                        let mut accumulator = Accumulator::new(one.function, one.distinct);
                        for tuple in &members {
                            let arg = one.arg.as_ref();
                            match arg.map(|arg| self.term(arg, tuple, &[])) {
                                Some(state) if one.stored => accumulator.merge(
                                    &Accumulator::from_stored(one.function, &state).unwrap(),
                                ),
                                Some(value) => accumulator.add(&value),
                                None => accumulator.add_binding(),
                            }
                        }
                        key.push(accumulator.finish());
                    }
                    vec![key]
                };
                groups.into_iter().map(row).collect()
            }
        }
    }

    fn get(&self, get: &Get, tuple: &Tuple, items: &[Value]) -> Vec<Vec<Value>> {
        let layout = &self.world.layouts[usize::from(get.structure)];
        let directions: Vec<_> = layout.key.iter().map(|p| p.direction).collect();
        let mut rows = self.world.rows[usize::from(get.structure)].clone();
        rows.sort_by(|a, b| {
            let (a, b) = (a.iter().cloned(), b.iter().cloned());
            lexical(a, b, directions.iter().copied())
        });
        let bound = get.eq.len();
        rows.retain(|row| {
            let holds = |i: usize, op, term: &Term| {
                ops::compare(&row[i], op, &self.term(term, tuple, items))
            };
            let eq = get
                .eq
                .iter()
                .enumerate()
                .all(|(i, t)| holds(i, Compare::Eq, t));
            let lower = get.lower.as_ref().is_none_or(|b| {
                holds(
                    bound,
                    if b.inclusive {
                        Compare::Ge
                    } else {
                        Compare::Gt
                    },
                    &b.term,
                )
            });
            let upper = get.upper.as_ref().is_none_or(|b| {
                holds(
                    bound,
                    if b.inclusive {
                        Compare::Le
                    } else {
                        Compare::Lt
                    },
                    &b.term,
                )
            });
            eq && lower && upper
        });
        if get.reverse {
            rows.reverse();
        }
        if let Some(page) = &get.page
            && let Some(cursor) = self.cursor(page)
        {
            rows.retain(|row| {
                let key = row.iter().skip(bound).cloned();
                let directions = directions.iter().skip(bound).copied();
                let order = lexical(key, cursor.iter().cloned(), directions);
                side(page) == if get.reverse { order.reverse() } else { order }
            });
        }
        rows
    }

    fn cursor(&self, page: &Page) -> Option<Vec<Value>> {
        let (Page::After(id) | Page::Before(id)) = page;
        match &self.params[id.index()] {
            Value::Text(token) => Some(crate::cursor::decode(token).unwrap()),
            _ => None,
        }
    }

    fn by(&self, by: &[(Term, Direction)], a: &Tuple, b: &Tuple) -> Ordering {
        let key = |t| by.iter().map(move |(term, _)| self.term(term, t, &[]));
        lexical(key(a), key(b), by.iter().map(|(_, d)| *d))
    }

    fn term(&self, term: &Term, tuple: &Tuple, items: &[Value]) -> Value {
        let all = |terms: &[Term]| -> Vec<Value> {
            terms.iter().map(|t| self.term(t, tuple, items)).collect()
        };
        match term {
            Term::Const(value) => value.clone(),
            Term::Param(id, _) => self.params[id.index()].clone(),
            Term::Item(list, path) => {
                crate::operator::term::part(&items[usize::from(*list)], path).clone()
            }
            Term::Column {
                frame,
                column,
                path,
            } => {
                let value = &tuple[usize::from(*frame)][usize::from(*column)];
                path.iter().fold(value.clone(), |value, &i| match value {
                    Value::Record(vs) | Value::Key(vs) => vs[usize::from(i)].clone(),
                    _ => Value::Null,
                })
            }
            Term::Key(terms) => match all(terms) {
                parts if parts[0].is_null() => Value::Null,
                parts => Value::Key(parts),
            },
            Term::Binary(op, a, b) => ops::binary(
                *op,
                &self.term(a, tuple, items),
                &self.term(b, tuple, items),
            ),
            Term::Call(function, terms) => ops::call(*function, &all(terms)),
            Term::At(a, b) => ops::at(&self.term(a, tuple, items), &self.term(b, tuple, items)),
            Term::Shape(present, terms) => match self.term(present, tuple, items) {
                Value::Null => Value::Null,
                _ => Value::Record(all(terms)),
            },
            Term::Sub(sub) => match sub.as_ref() {
                Sub::Nested(plan) => Value::List(
                    self.rows(plan, tuple)
                        .into_iter()
                        .map(Value::Record)
                        .collect(),
                ),
                Sub::Values(plan) => {
                    let rows = self.rows(plan, tuple).into_iter();
                    Value::List(rows.filter_map(|row| row.into_iter().next()).collect())
                }
                Sub::Scalar(plan) => self
                    .rows(plan, tuple)
                    .into_iter()
                    .flatten()
                    .next()
                    .unwrap_or_default(),
            },
        }
    }

    fn test(&self, test: &Test, tuple: &Tuple) -> bool {
        let term = |t: &Term| self.term(t, tuple, &[]);
        match test {
            Test::And(tests) => tests.iter().all(|t| self.test(t, tuple)),
            Test::Or(tests) => tests.iter().any(|t| self.test(t, tuple)),
            Test::Not(test) => !self.test(test, tuple),
            Test::Compare(a, op, b) => ops::compare(&term(a), *op, &term(b)),
            Test::In(a, terms) => terms
                .iter()
                .any(|b| ops::compare(&term(a), Compare::Eq, &term(b))),
            Test::InList(a, list) => match term(list) {
                Value::List(vs) => vs.iter().any(|v| ops::compare(&term(a), Compare::Eq, v)),
                _ => false,
            },
            Test::IsNull(a) => term(a).is_null(),
            Test::Exists(op) => !self.op(op, tuple).is_empty(),
        }
    }
}

fn joined(tuple: &Tuple, frame: Vec<Value>) -> Tuple {
    let mut tuple = tuple.clone();
    tuple.push(frame);
    tuple
}

fn side(page: &Page) -> Ordering {
    match page {
        Page::After(_) => Ordering::Greater,
        Page::Before(_) => Ordering::Less,
    }
}

fn lexical(
    a: impl Iterator<Item = Value>,
    b: impl Iterator<Item = Value>,
    directions: impl Iterator<Item = Direction>,
) -> Ordering {
    for ((a, b), direction) in a.zip(b).zip(directions) {
        let order = if direction == Direction::Asc {
            a.cmp(&b)
        } else {
            b.cmp(&a)
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
