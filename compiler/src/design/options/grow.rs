//! Candidates of groups: those that a question about groups calls for.
//!
//! What it compares with `=` comes first, then what it groups by, in its order, or the ranges that
//! it asks for. Every form begins with parts that other questions bind too, so that one structure
//! can serve several.

use super::Planner;
use super::atoms::Mentions;
use super::bind::is_key_expr;
use super::kept::{Asked, is_kept, maintainable};
use super::orders;
use super::problem::{EqValue, Problem};
use crate::design::shape::skeleton;
use crate::design::spread::everything;
use crate::model::{Direction, Expr, Model, Pred};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure, elements};

/// So many candidates of groups, the first, are united with one another.
const UNITED: usize = 24;
/// So many parts behind the partition key do two candidates have together, at most.
const UNITED_PARTS: usize = 3;
/// Of so many, the first, those that begin alike are united all together.
const CUBED: usize = 96;
/// So many parts do they have together, at most.
const CUBE_PARTS: usize = 6;

/// The conditions of a question, as a candidate takes them.
#[derive(Clone)]
struct Form {
    /// Its `where`.
    filter: Vec<Pred>,
    /// Compared with `=`.
    equal: Vec<Expr>,
    /// Compared with `in`.
    listed: Vec<Expr>,
    /// Compared otherwise.
    compared: Vec<Expr>,
}

impl Planner<'_> {
    /// Adds the candidates that a question about groups calls for.
    pub(super) fn grow_groups(
        &mut self,
        asked: &Asked,
        problem: &Problem,
        order: &[(Expr, Direction)],
    ) {
        let mut by: Vec<(Expr, Direction)> = Vec::new();
        let ordered = order.iter().filter(|(e, _)| asked.by.contains(e)).cloned();
        let others = asked.by.iter().map(|e| (e.clone(), Direction::Asc));
        for (e, direction) in ordered.chain(others) {
            if !by.iter().any(|(b, _)| *b == e) {
                by.push((e, direction));
            }
        }
        let each = asked.aggregates.iter();
        let each = each.filter(|a| !maintainable(self.model, a) && is_kept(self.model, a));
        let each: Vec<Expr> = each.filter_map(|a| a.arg.clone()).collect();
        for form in self.forms(asked, problem) {
            self.grow_form(asked, problem, &form, &by, &each);
        }
    }

    /// Adds what two candidates of groups are together, and what all are, where they begin alike:
    /// finer groups, which are written once for all of them.
    pub(in crate::design) fn unite_groups(&mut self) {
        let is_open = |s: &&crate::design::shape::Shape| {
            s.structure.kind == Kind::Groups && !s.structure.clustering.is_empty() && !s.given
        };
        let groups = self.shapes.all.iter().filter(is_open);
        let groups: Vec<Structure> = groups.map(|s| s.structure.clone()).take(CUBED).collect();
        for (i, a) in groups.iter().enumerate() {
            let mut all = a.clustering.clone();
            for (j, b) in groups.iter().enumerate().filter(|(_, b)| begin_alike(a, b)) {
                let united = with_parts(a, &a.clustering, b);
                let longest = a.clustering.len().max(b.clustering.len());
                let pair = i.max(j) < UNITED && united.len() <= UNITED_PARTS;
                if pair && united.len() > longest {
                    self.admit_united(a, united);
                }
                // Directories keep nothing.
                if !b.columns.is_empty() {
                    all = with_parts(a, &all, b);
                }
            }
            if all.len() > UNITED_PARTS && all.len() <= CUBE_PARTS {
                self.admit_united(a, all);
            }
        }
    }

    fn admit_united(&mut self, begins: &Structure, clustering: Vec<(Expr, Direction)>) {
        self.admit_groups(Structure {
            clustering,
            columns: vec![],
            ..begins.clone()
        });
    }

    fn forms(&self, asked: &Asked, problem: &Problem) -> Vec<Form> {
        let mut form = Form {
            filter: vec![],
            equal: vec![],
            listed: vec![],
            compared: vec![],
        };
        let mut constant = Vec::new();
        for eq in &problem.eqs {
            let pred = eq.filter.and_then(|i| asked.filters.get(i));
            let fixed = pred.is_some_and(|p| !Mentions::of_pred(p).params);
            match &eq.value {
                EqValue::One(_) => {
                    if let Some(pred) = pred.filter(|_| fixed && !asked.by.contains(&eq.expr)) {
                        constant.push((eq.expr.clone(), pred.clone()));
                    }
                    form.equal.push(eq.expr.clone());
                }
                EqValue::Each(_) if !fixed => form.listed.push(eq.expr.clone()),
                EqValue::Each(_) => {}
            }
        }
        let mut keyed = Vec::new();
        for (i, pred) in asked.filters.iter().enumerate() {
            if problem.eqs.iter().any(|q| {
                q.filter == Some(i)
                    && (matches!(q.value, EqValue::One(_)) || form.listed.contains(&q.expr))
            }) {
                continue;
            }
            if !Mentions::of_pred(pred).params {
                form.filter.push(pred.clone());
                keyed.extend(compared(self.model, pred));
                continue;
            }
            match compared(self.model, pred) {
                Some(expr) => form.compared.push(expr),
                // No group has what this is about.
                None => return vec![],
            }
        }
        let partial = self.target.cost.rules.partial && !constant.is_empty();
        let limited = |form: &Form| partial.then(|| form.limited(asked, &constant));
        let mut out: Vec<Form> = limited(&form).into_iter().collect();
        if keyed.len() == form.filter.len() && !keyed.is_empty() {
            let compared = form.compared.iter().chain(&keyed);
            let finer = Form {
                filter: vec![],
                compared: compared.cloned().collect(),
                ..form.clone()
            };
            // Equalities are what several questions have in common of their constants.
            out.extend(limited(&finer));
            out.push(finer);
        }
        out.insert(0, form);
        out
    }

    fn grow_form(
        &mut self,
        asked: &Asked,
        problem: &Problem,
        form: &Form,
        by: &[(Expr, Direction)],
        each: &[Expr],
    ) {
        let asc = |e: &Expr| (e.clone(), Direction::Asc);
        // What leads here, and nothing else, is one key: it stands there as a whole.
        let given = problem.eqs.iter().all(|q| q.filter.is_none());
        let mut sorted = form.equal.clone();
        sorted.sort();
        let equal = if given { &form.equal } else { &sorted };
        let narrowing = form.listed.iter().chain(&form.compared).map(asc);
        let narrowing: Vec<(Expr, Direction)> = narrowing.collect();
        let last = each.iter().map(asc);
        let ordered = by.iter().cloned();
        let in_order = ordered.clone().chain(narrowing.clone()).chain(last.clone());
        let mut suffixes = vec![in_order.collect::<Vec<_>>()];
        if !narrowing.is_empty() {
            suffixes.push(narrowing.into_iter().chain(ordered).chain(last).collect());
        }
        let mut partitions = vec![equal.clone()];
        if equal.len() > 1 && !given {
            partitions.extend(equal.iter().map(|e| vec![e.clone()]));
        }
        for suffix in suffixes {
            self.note_asked(
                orders::Asked {
                    kind: Kind::Groups,
                    entity: problem.entity,
                    over: asked.over.to_vec(),
                    filter: form.filter.clone(),
                    equal: sorted.clone(),
                    behind: suffix.clone(),
                },
                true,
            );
            for partition in &partitions {
                let mut partition = partition.clone();
                let rest = equal.iter().filter(|e| !partition.contains(e)).map(asc);
                let clustering: Vec<_> = rest.chain(suffix.iter().cloned()).collect();
                if partition.is_empty() && self.target.capabilities.partition_required {
                    partition.push(everything());
                }
                let s = skeleton(
                    self.model,
                    problem.entity,
                    asked.over,
                    &form.filter,
                    partition,
                    clustering,
                    Kind::Groups,
                );
                // What limits its rows is copied too.
                if !s.filter.iter().any(|p| elements::tests(self.model, p)) {
                    self.admit_groups(s);
                }
            }
        }
    }

    /// Takes a candidate of groups in: it, or the ways of spreading it.
    pub(super) fn admit_groups(&mut self, s: Structure) {
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let scalar = |e: &Expr| scope.type_of(self.model, &[], e).0.is_scalar();
        if s.key().all(scalar) {
            self.spread_shapes(s);
        }
    }
}

/// Whether two structures are of the same rows, by the same partition key.
fn begin_alike(a: &Structure, b: &Structure) -> bool {
    a.anchor == b.anchor && a.over == b.over && a.filter == b.filter && a.partition == b.partition
}

/// The parts behind a partition key, and those of another structure that are not among them.
fn with_parts(
    of: &Structure,
    parts: &[(Expr, Direction)],
    other: &Structure,
) -> Vec<(Expr, Direction)> {
    let known = |e: &Expr| of.partition.contains(e) || parts.iter().any(|(p, _)| p == e);
    let others = other.clustering.iter().filter(|(e, _)| !known(e));
    parts.iter().chain(others).cloned().collect()
}

impl Form {
    /// The same with what equals constants in its `where` instead of the key.
    fn limited(&self, asked: &Asked, constant: &[(Expr, Pred)]) -> Form {
        let filter = asked
            .filters
            .iter()
            .filter(|p| self.filter.contains(p) || constant.iter().any(|(_, known)| known == *p));
        Form {
            filter: filter.cloned().collect(),
            equal: without(&self.equal, constant),
            ..self.clone()
        }
    }
}

fn without(exprs: &[Expr], taken: &[(Expr, Pred)]) -> Vec<Expr> {
    let is_left = |e: &&Expr| !taken.iter().any(|(t, _)| t == *e);
    exprs.iter().filter(is_left).cloned().collect()
}

/// What a condition is about, where that is one value that can stand in a key.
fn compared(model: &Model, pred: &Pred) -> Option<Expr> {
    let mut about = Vec::new();
    values(model, pred, &mut about);
    about.dedup();
    match about.as_slice() {
        [one] => one.clone(),
        _ => None,
    }
}

/// The values that a condition is about; none for what cannot stand in a key.
fn values(model: &Model, pred: &Pred, out: &mut Vec<Option<Expr>>) {
    let mut value = |e: &Expr| {
        let m = Mentions::of_expr(e);
        if !m.nodes.is_empty() {
            out.push(Some(e.clone()).filter(|e| is_key_expr(model, e) && !m.params));
        }
    };
    match pred {
        Pred::And(list) | Pred::Or(list) => list.iter().for_each(|p| values(model, p, out)),
        Pred::Not(p) => values(model, p, out),
        Pred::Compare(a, _, b) | Pred::InList(a, b) => [a, b].into_iter().for_each(value),
        Pred::In(a, list) => std::iter::once(a).chain(list).for_each(value),
        Pred::IsNull(a) => value(a),
        Pred::Exists { .. } => out.push(None),
    }
}
