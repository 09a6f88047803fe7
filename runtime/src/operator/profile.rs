//! What a step really did, beside what it was priced at.

use querent_compiler::design::{Op, Output, Plan, Sub, Term, Test};

/// The actual counts of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actual {
    /// Tuples that left the operator.
    pub rows: u64,
    /// Rows read from the store by the operator.
    pub reads: u64,
    /// Gets (seeks) made by the operator.
    pub gets: u64,
}

/// One operator of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Step<'p> {
    /// Operators above it, in its own plan and in those around it.
    pub depth: usize,
    /// The operator.
    pub op: &'p Op,
}

/// The operators of a plan in the order of [`super::Answer::profile`]: each before its input, and
/// its input before the subplans in its terms; the subplans of the answer's columns last.
pub fn steps(plan: &Plan) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    walk_plan(plan, 0, &mut steps);
    steps
}

fn walk_plan<'p>(plan: &'p Plan, depth: usize, steps: &mut Vec<Step<'p>>) {
    walk_op(&plan.root, depth, steps);
    for Output { term, .. } in &plan.output {
        walk_term(term, depth + 1, steps);
    }
    for term in &plan.cursor {
        walk_term(term, depth + 1, steps);
    }
}

fn walk_op<'p>(op: &'p Op, depth: usize, steps: &mut Vec<Step<'p>>) {
    steps.push(Step { depth, op });
    if let Some(input) = input_of(op) {
        walk_op(input, depth + 1, steps);
    }
    visit_terms(op, &mut |piece| match piece {
        Piece::Term(term) => walk_term(term, depth + 1, steps),
        Piece::Test(test) => walk_test(test, depth + 1, steps),
    });
}

/// The input of an operator.
pub(super) fn input_of(op: &Op) -> Option<&Op> {
    match op {
        Op::Input => None,
        Op::Get { input, .. }
        | Op::Merge { input, .. }
        | Op::Elements { input, .. }
        | Op::Filter { input, .. }
        | Op::Distinct { input, .. }
        | Op::Sort { input, .. }
        | Op::Page { input, .. }
        | Op::Limit { input, .. }
        | Op::Aggregate { input, .. } => Some(input),
    }
}

enum Piece<'p> {
    Term(&'p Term),
    Test(&'p Test),
}

/// The terms of an operator, in the order in which it is built.
fn visit_terms<'p>(op: &'p Op, visit: &mut impl FnMut(Piece<'p>)) {
    match op {
        Op::Input | Op::Limit { .. } => {}
        Op::Get { get, .. } => {
            get.eq.iter().for_each(|t| visit(Piece::Term(t)));
            get.lower.iter().chain(&get.upper).for_each(|b| visit(Piece::Term(&b.term)));
        }
        Op::Merge { list, get, order, .. } => {
            list.iter().chain(&get.eq).for_each(|t| visit(Piece::Term(t)));
            get.lower.iter().chain(&get.upper).for_each(|b| visit(Piece::Term(&b.term)));
            order.iter().for_each(|(t, _)| visit(Piece::Term(t)));
        }
        Op::Elements { of, .. } => visit(Piece::Term(of)),
        Op::Filter { tests, .. } => tests.iter().for_each(|t| visit(Piece::Test(t))),
        Op::Distinct { by, .. } => by.iter().for_each(|t| visit(Piece::Term(t))),
        Op::Sort { by, .. } | Op::Page { by, .. } => {
            by.iter().for_each(|(t, _)| visit(Piece::Term(t)));
        }
        Op::Aggregate { group, aggregates, .. } => {
            group.iter().for_each(|t| visit(Piece::Term(t)));
            aggregates.iter().filter_map(|a| a.arg.as_ref()).for_each(|t| visit(Piece::Term(t)));
        }
    }
}

fn walk_term<'p>(term: &'p Term, depth: usize, steps: &mut Vec<Step<'p>>) {
    match term {
        Term::Const(_) | Term::Param(..) | Term::Item | Term::Column { .. } => {}
        Term::Key(terms) | Term::Call(_, terms) => {
            terms.iter().for_each(|t| walk_term(t, depth, steps));
        }
        Term::Binary(_, a, b) | Term::At(a, b) => {
            walk_term(a, depth, steps);
            walk_term(b, depth, steps);
        }
        Term::Shape(present, terms) => {
            walk_term(present, depth, steps);
            terms.iter().for_each(|t| walk_term(t, depth, steps));
        }
        Term::Sub(sub) => {
            let (Sub::Nested(plan) | Sub::Scalar(plan)) = sub.as_ref();
            walk_plan(plan, depth, steps);
        }
    }
}

fn walk_test<'p>(test: &'p Test, depth: usize, steps: &mut Vec<Step<'p>>) {
    match test {
        Test::And(tests) | Test::Or(tests) => {
            tests.iter().for_each(|t| walk_test(t, depth, steps));
        }
        Test::Not(test) => walk_test(test, depth, steps),
        Test::Compare(a, _, b) | Test::InList(a, b) => {
            walk_term(a, depth, steps);
            walk_term(b, depth, steps);
        }
        Test::In(a, terms) => {
            walk_term(a, depth, steps);
            terms.iter().for_each(|t| walk_term(t, depth, steps));
        }
        Test::IsNull(a) => walk_term(a, depth, steps),
        Test::Exists(op) => walk_op(op, depth, steps),
    }
}
