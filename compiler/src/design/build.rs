//! From a selection to a design: columns settled, plans rewritten to them, names, sizes, reasons.

use super::display::Printer;
use super::options::{PlanOption, Planner};
use super::plan::{Get, Op, Plan, StructureId, Sub, Term, Test};
use super::popular_key::{is_split, split_by, totals};
use super::select::Selection;
use super::shape::ShapeId;
use super::spread::salt_of;
use crate::model::{Expr, Model};
use crate::view::{Kind, Structure};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Candidates to structures, and their columns to columns.
pub(crate) struct Mapping {
    pub(crate) structures: Vec<Structure>,
    pub(crate) shapes: Vec<ShapeId>,
    columns: BTreeMap<ShapeId, BTreeMap<usize, u16>>,
    ids: BTreeMap<ShapeId, StructureId>,
}

impl Mapping {
    pub(crate) fn new(planner: &Planner, selection: &Selection) -> Mapping {
        let mut m = Mapping {
            structures: vec![],
            shapes: vec![],
            columns: BTreeMap::new(),
            ids: BTreeMap::new(),
        };
        let given = planner.shapes.all.iter().filter(|s| s.given);
        let mut names: BTreeSet<String> = given.map(|s| s.structure.name.clone()).collect();
        for (&shape, kept) in &selection.shapes {
            let full = planner.shapes.get(shape);
            let mut s = full.clone();
            s.columns = kept
                .iter()
                .filter_map(|&c| full.columns.get(c).cloned())
                .collect();
            let key = full.key_len();
            let map = m.columns.entry(shape).or_default();
            for part in 0..key {
                map.insert(part, part as u16);
            }
            for (new, &old) in kept.iter().enumerate() {
                map.insert(key + old, (key + new) as u16);
            }
            if s.name.is_empty() {
                let candidate = planner.shapes.all.get(shape);
                let named = match candidate {
                    Some(c) if c.is_own_part() => Named::Part,
                    Some(c) if c.identity => Named::Home,
                    _ => Named::Other,
                };
                s.name = unique_name(planner.model, &s, named, &mut names);
            }
            m.ids.insert(shape, m.structures.len() as StructureId);
            m.structures.push(s);
            m.shapes.push(shape);
        }
        m
    }

    pub(crate) fn id(&self, shape: ShapeId) -> Option<StructureId> {
        self.ids.get(&shape).copied()
    }

    /// The name of a structure of the design; empty where there is none.
    pub(crate) fn name(&self, id: Option<StructureId>) -> String {
        id.and_then(|id| self.structures.get(usize::from(id)))
            .map_or(String::new(), |s| s.name.clone())
    }

    /// The plan of an option in terms of the design's structures.
    pub(crate) fn plan(&self, option: &PlanOption) -> Option<Plan> {
        self.rewrite(&option.plan, &mut vec![])
    }

    fn rewrite(&self, plan: &Plan, frames: &mut Vec<Option<ShapeId>>) -> Option<Plan> {
        let before = frames.len();
        frames.truncate(plan.outer as usize);
        let root = self.op(&plan.root, frames)?;
        let mut output = plan.output.clone();
        for o in &mut output {
            o.term = self.term(&o.term, frames)?;
        }
        let cursor: Option<Vec<Term>> = plan.cursor.iter().map(|t| self.term(t, frames)).collect();
        frames.truncate(before);
        Some(Plan {
            outer: plan.outer,
            root,
            output,
            cursor: cursor?,
        })
    }

    /// Rewrites an operator; `frames` holds the candidate of each frame at its output.
    fn op(&self, op: &Op, frames: &mut Vec<Option<ShapeId>>) -> Option<Op> {
        Some(match op {
            Op::Input => Op::Input,
            Op::Get {
                input,
                get,
                outer,
                estimate,
            } => {
                let input = Arc::new(self.op(input, frames)?);
                let get = self.get(get, frames)?;
                Op::Get {
                    input,
                    get,
                    outer: *outer,
                    estimate: *estimate,
                }
            }
            Op::Merge {
                input,
                lists,
                get,
                order,
                estimate,
            } => {
                let input = Arc::new(self.op(input, frames)?);
                let rewritten = lists
                    .iter()
                    .map(|list| list.iter().map(|t| self.term(t, frames)).collect());
                let lists: Option<Vec<Vec<_>>> = rewritten.collect();
                let get = self.get(get, frames)?;
                let order: Option<Vec<_>> = order
                    .iter()
                    .map(|(t, d)| Some((self.term(t, frames)?, *d)))
                    .collect();
                Op::Merge {
                    input,
                    lists: lists?,
                    get,
                    order: order?,
                    estimate: *estimate,
                }
            }
            Op::Unite {
                branches,
                keys,
                order,
                estimate,
            } => {
                let rewritten = branches
                    .iter()
                    .map(|branch| self.rewrite(branch, &mut frames.clone()));
                let branches = rewritten.collect::<Option<Vec<_>>>()?;
                frames.push(None);
                let order: Option<Vec<_>> = order
                    .iter()
                    .map(|(t, d)| Some((self.term(t, frames)?, *d)))
                    .collect();
                Op::Unite {
                    branches,
                    keys: *keys,
                    order: order?,
                    estimate: *estimate,
                }
            }
            Op::Elements { input, of } => {
                let input = Arc::new(self.op(input, frames)?);
                let of = self.term(of, frames)?;
                frames.push(None);
                Op::Elements { input, of }
            }
            Op::Filter {
                input,
                tests,
                estimate,
            } => {
                let input = Arc::new(self.op(input, frames)?);
                let tests: Option<Vec<_>> = tests.iter().map(|t| self.test(t, frames)).collect();
                Op::Filter {
                    input,
                    tests: tests?,
                    estimate: *estimate,
                }
            }
            Op::Distinct { input, by } => {
                let input = Arc::new(self.op(input, frames)?);
                let by: Option<Vec<_>> = by.iter().map(|t| self.term(t, frames)).collect();
                Op::Distinct { input, by: by? }
            }
            Op::Sort {
                input,
                by,
                estimate,
            } => {
                let input = Arc::new(self.op(input, frames)?);
                let by: Option<Vec<_>> = by
                    .iter()
                    .map(|(t, d)| Some((self.term(t, frames)?, *d)))
                    .collect();
                Op::Sort {
                    input,
                    by: by?,
                    estimate: *estimate,
                }
            }
            Op::Page { input, by, page } => {
                let input = Arc::new(self.op(input, frames)?);
                let by: Option<Vec<_>> = by
                    .iter()
                    .map(|(t, d)| Some((self.term(t, frames)?, *d)))
                    .collect();
                Op::Page {
                    input,
                    by: by?,
                    page: page.clone(),
                }
            }
            Op::Limit { input, count, last } => {
                let input = Arc::new(self.op(input, frames)?);
                Op::Limit {
                    input,
                    count: self.term(count, frames)?,
                    last: *last,
                }
            }
            Op::Aggregate {
                input,
                group,
                aggregates,
                always,
                estimate,
            } => {
                let input = Arc::new(self.op(input, frames)?);
                let group: Option<Vec<_>> = group.iter().map(|t| self.term(t, frames)).collect();
                let mut aggregates = aggregates.clone();
                for a in &mut aggregates {
                    a.arg = match &a.arg {
                        Some(t) => Some(self.term(t, frames)?),
                        None => None,
                    };
                }
                frames.clear();
                frames.push(None);
                Op::Aggregate {
                    input,
                    group: group?,
                    aggregates,
                    always: *always,
                    estimate: *estimate,
                }
            }
        })
    }

    fn get(&self, get: &Get, frames: &mut Vec<Option<ShapeId>>) -> Option<Get> {
        let shape = get.structure as ShapeId;
        let eq: Option<Vec<_>> = get.eq.iter().map(|t| self.term(t, frames)).collect();
        let bound = |b: &Option<super::plan::Bound>| match b {
            Some(b) => Some(Some(super::plan::Bound {
                term: self.term(&b.term, frames)?,
                inclusive: b.inclusive,
            })),
            None => Some(None),
        };
        let (lower, upper) = (bound(&get.lower)?, bound(&get.upper)?);
        frames.push(Some(shape));
        Some(Get {
            structure: self.id(shape)?,
            eq: eq?,
            lower,
            upper,
            reverse: get.reverse,
            page: get.page.clone(),
        })
    }

    fn term(&self, term: &Term, frames: &[Option<ShapeId>]) -> Option<Term> {
        Some(match term {
            Term::Const(_) | Term::Param(..) | Term::Item(..) => term.clone(),
            Term::Column {
                frame,
                column,
                path,
            } => {
                let column = match frames.get(*frame as usize)? {
                    Some(shape) => *self.columns.get(shape)?.get(&(*column as usize))?,
                    None => *column,
                };
                Term::Column {
                    frame: *frame,
                    column,
                    path: path.clone(),
                }
            }
            Term::Key(terms) => Term::Key(self.terms(terms, frames)?),
            Term::Binary(op, a, b) => Term::Binary(
                *op,
                Box::new(self.term(a, frames)?),
                Box::new(self.term(b, frames)?),
            ),
            Term::Call(f, args) => Term::Call(*f, self.terms(args, frames)?),
            Term::At(a, b) => Term::At(
                Box::new(self.term(a, frames)?),
                Box::new(self.term(b, frames)?),
            ),
            Term::Shape(present, fields) => Term::Shape(
                Box::new(self.term(present, frames)?),
                self.terms(fields, frames)?,
            ),
            Term::Sub(sub) => {
                let mut inner = frames.to_vec();
                Term::Sub(Arc::new(match &**sub {
                    Sub::Nested(plan) => Sub::Nested(self.rewrite(plan, &mut inner)?),
                    Sub::Scalar(plan) => Sub::Scalar(self.rewrite(plan, &mut inner)?),
                    Sub::Values(plan) => Sub::Values(self.rewrite(plan, &mut inner)?),
                }))
            }
        })
    }

    fn terms(&self, terms: &[Term], frames: &[Option<ShapeId>]) -> Option<Vec<Term>> {
        terms.iter().map(|t| self.term(t, frames)).collect()
    }

    fn test(&self, test: &Test, frames: &[Option<ShapeId>]) -> Option<Test> {
        let all = |list: &[Test]| {
            list.iter()
                .map(|t| self.test(t, frames))
                .collect::<Option<Vec<_>>>()
        };
        Some(match test {
            Test::And(list) => Test::And(all(list)?),
            Test::Or(list) => Test::Or(all(list)?),
            Test::Not(t) => Test::Not(Box::new(self.test(t, frames)?)),
            Test::Compare(a, op, b) => {
                Test::Compare(self.term(a, frames)?, *op, self.term(b, frames)?)
            }
            Test::In(a, list) => Test::In(self.term(a, frames)?, self.terms(list, frames)?),
            Test::InList(a, b) => Test::InList(self.term(a, frames)?, self.term(b, frames)?),
            Test::IsNull(a) => Test::IsNull(self.term(a, frames)?),
            Test::Exists(op) => {
                let mut inner = frames.to_vec();
                Test::Exists(Arc::new(self.op(op, &mut inner)?))
            }
        })
    }
}

/// What a structure is named as.
#[derive(Clone, Copy)]
enum Named {
    Home,
    /// A part of a home, after what it keeps.
    Part,
    Other,
}

/// `post` for a home, `post_views` for a part of it, `post_by_category_name` for another way in,
/// `post_count_by_…` for groups.
fn unique_name(model: &Model, s: &Structure, named: Named, taken: &mut BTreeSet<String>) -> String {
    let printer = Printer::of_structure(model, s);
    let entity = snake(&model.entity(s.anchor).name);
    let parts: Vec<String> = s
        .partition
        .iter()
        .filter(|e| !matches!(e, Expr::Const(_)))
        .map(|e| match split_by(model, e) {
            Some(_) => "split".into(),
            None => snake(&printer.expr(e)),
        })
        .collect();
    let ordered = s.clustering.first().map(|(e, _)| snake(&printer.expr(e)));
    let base = match (s.kind, named) {
        (Kind::Lists, Named::Home) => entity,
        (Kind::Lists, Named::Part) => {
            let kept = s.columns.iter().map(|e| snake(&printer.expr(e)));
            let names: Vec<String> = std::iter::once(entity).chain(kept).collect();
            names.join("_")
        }
        (Kind::Groups, _) if totals(model, s).is_some() => {
            format!("{entity}_splits_by_{}", parts.join("_"))
        }
        (Kind::Groups, _) if s.over.is_empty() && s.columns.is_empty() => {
            let by = parts.iter().cloned().chain(ordered);
            format!("{entity}_buckets_by_{}", by.collect::<Vec<_>>().join("_"))
        }
        (Kind::Groups, _) if s.over.is_empty() => {
            let by = parts
                .iter()
                .cloned()
                .chain(s.clustering.iter().map(|(e, _)| snake(&printer.expr(e))));
            let by: Vec<String> = by.collect();
            if by.is_empty() {
                format!("{entity}_totals")
            } else {
                format!("{entity}_totals_by_{}", by.join("_"))
            }
        }
        _ if parts.is_empty() => format!("{entity}_in_order_of_{}", ordered.unwrap_or_default()),
        _ => format!("{entity}_by_{}", parts.join("_")),
    };
    let mut base: String = base.chars().take(48).collect();
    base = base.trim_end_matches('_').to_string();
    let mut name = base.clone();
    let mut n = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{n}");
        n += 1;
    }
    name
}

/// `posted_at` for `postedAt`, `user_id` for `UserID`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        let last = std::mem::replace(&mut before, c);
        if c.is_ascii_uppercase() {
            // Capitals behind one another are one word, up to the one that begins the next.
            let begins = rest.peek().is_some_and(char::is_ascii_lowercase);
            let word = !last.is_ascii_uppercase() || begins;
            if word && !out.is_empty() && !out.ends_with('_') {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        } else if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.ends_with('_') && !out.is_empty() {
            out.push('_');
        }
    }
    out.trim_matches('_').to_string()
}

/// The techniques that a structure is made of beside all others, by name.
pub(crate) fn techniques(model: &Model, s: &Structure, all: &[Structure]) -> Vec<&'static str> {
    let identity = super::shape::is_identity(model, s);
    let copied = |e: &Expr| match e {
        Expr::Path { steps, leaf, .. } => !steps.is_empty() && !is_key_leaf(model, steps, leaf),
        Expr::Aggregate(a) => a.copies(),
        _ => false,
    };
    let rounded = |e: &Expr| matches!(e, Expr::Call(f, _) if f.rounds_time());
    let time_desc = s.clustering.iter().any(|(e, d)| {
        let scope = crate::view::typing::Scope::new(model, s.anchor, &s.over);
        *d == crate::model::Direction::Desc
            && matches!(
                scope.type_of(model, &[], e).0,
                crate::model::Type::Timestamp
                    | crate::model::Type::TimeUuid
                    | crate::model::Type::Date
            )
    });
    let list: Vec<(&'static str, bool)> = vec![
        ("index-table", !identity && s.kind == Kind::Lists),
        (
            "blob-apart",
            identity && all.iter().filter(|t| t.same_rows(s)).count() > 1,
        ),
        (
            "inverted-search",
            !s.over.is_empty() && s.kind == Kind::Groups,
        ),
        ("denormalization", s.values().any(copied)),
        (
            "aggregate",
            s.columns.iter().any(|c| matches!(c, Expr::Nested(..))),
        ),
        (
            "counter",
            s.columns
                .iter()
                .any(|c| matches!(c, Expr::Aggregate(a) if !a.copies())),
        ),
        ("composite-key-index", s.key_len() > 1 && !identity),
        (
            "rounded-time",
            s.kind == Kind::Groups && s.key().any(rounded),
        ),
        ("bucket", s.partition.iter().any(rounded)),
        (
            "enumerable-keys",
            s.kind == Kind::Groups
                && s.columns.is_empty()
                && s.clustering.iter().all(|(e, _)| rounded(e)),
        ),
        ("hash-prefix", s.key().any(|e| salt_of(e).is_some())),
        (
            "popular-key-split",
            is_split(model, s) || totals(model, s).is_some(),
        ),
        ("reverse-timestamp", time_desc),
        ("time-to-live", super::expiry::keeps_deadline(model, s)),
    ];
    list.into_iter()
        .filter(|(_, used)| *used)
        .map(|(name, _)| name)
        .collect()
}

/// A path to a key attribute of the target of its last reference is that reference itself.
pub(crate) fn is_key_leaf(
    model: &Model,
    steps: &[crate::model::ReferenceId],
    leaf: &crate::model::Leaf,
) -> bool {
    let crate::model::Leaf::Attribute(a, _) = leaf else {
        return false;
    };
    let first = steps.first().map(|&f| model.reference(f).target);
    first.is_some_and(|target| {
        model
            .key_leaves(target)
            .iter()
            .any(|l| l.attribute == *a && steps.get(1..) == Some(l.steps.as_slice()))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_words() {
        let names = ["UserID", "postedAt", "HTTPServer", "author.userID", "Like"];
        let words: Vec<String> = names.into_iter().map(super::snake).collect();
        let expected = [
            "user_id",
            "posted_at",
            "http_server",
            "author_user_id",
            "like",
        ];
        assert_eq!(words, expected);
    }
}
