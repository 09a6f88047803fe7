//! What a step really did, beside what it was priced at.

use querent_compiler::design::{Get, Op, Plan, Sub, Term, Test};

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

/// The operators of a plan in the order of [`super::Answer::profile`]: each before its input or its
/// branches, and these before the subplans in its terms; the subplans of the answer's columns last.
pub fn steps(plan: &Plan) -> Vec<Step<'_>> {
    let mut walk = Walk(Vec::new());
    walk.plan(plan, 0);
    walk.0
}

/// Visits operators and terms in the order in which they are built.
struct Walk<'p>(Vec<Step<'p>>);

impl<'p> Walk<'p> {
    fn plan(&mut self, plan: &'p Plan, depth: usize) {
        self.op(&plan.root, depth);
        self.terms(plan.output.iter().map(|output| &output.term), depth + 1);
        self.terms(&plan.cursor, depth + 1);
    }

    fn op(&mut self, op: &'p Op, depth: usize) {
        self.0.push(Step { depth, op });
        let depth = depth + 1;
        if let Some(input) = op.input() {
            self.op(input, depth);
        }
        match op {
            Op::Input | Op::Limit { .. } => {}
            Op::Get { get, .. } => self.get(get, depth),
            Op::Unite {
                branches, order, ..
            } => {
                for branch in branches {
                    self.plan(branch, depth);
                }
                self.terms(order.iter().map(|(term, _)| term), depth);
            }
            Op::Merge {
                lists, get, order, ..
            } => {
                self.terms(lists.iter().flatten(), depth);
                self.get(get, depth);
                self.terms(order.iter().map(|(term, _)| term), depth);
            }
            Op::Elements { of, .. } => self.term(of, depth),
            Op::Filter { tests, .. } => self.tests(tests, depth),
            Op::Distinct { by, .. } => self.terms(by, depth),
            Op::Sort { by, .. } | Op::Page { by, .. } => {
                self.terms(by.iter().map(|(term, _)| term), depth);
            }
            Op::Aggregate {
                group, aggregates, ..
            } => {
                self.terms(group, depth);
                self.terms(aggregates.iter().filter_map(|one| one.arg.as_ref()), depth);
            }
        }
    }

    fn get(&mut self, get: &'p Get, depth: usize) {
        self.terms(&get.eq, depth);
        let bounds = get.lower.iter().chain(&get.upper);
        self.terms(bounds.map(|bound| &bound.term), depth);
    }

    fn terms(&mut self, terms: impl IntoIterator<Item = &'p Term>, depth: usize) {
        for term in terms {
            self.term(term, depth);
        }
    }

    fn term(&mut self, term: &'p Term, depth: usize) {
        match term {
            Term::Const(_) | Term::Param(..) | Term::Item(..) | Term::Column { .. } => {}
            Term::Key(terms) | Term::Call(_, terms) => self.terms(terms, depth),
            Term::Binary(_, a, b) | Term::At(a, b) => self.terms([&**a, &**b], depth),
            Term::Shape(present, terms) => {
                self.term(present, depth);
                self.terms(terms, depth);
            }
            Term::Sub(sub) => {
                let (Sub::Nested(plan) | Sub::Scalar(plan) | Sub::Values(plan)) = sub.as_ref();
                self.plan(plan, depth);
            }
        }
    }

    fn tests(&mut self, tests: &'p [Test], depth: usize) {
        for test in tests {
            self.test(test, depth);
        }
    }

    fn test(&mut self, test: &'p Test, depth: usize) {
        match test {
            Test::And(tests) | Test::Or(tests) => self.tests(tests, depth),
            Test::Not(test) => self.test(test, depth),
            Test::Compare(a, _, b) | Test::InList(a, b) => self.terms([a, b], depth),
            Test::In(a, terms) => {
                self.term(a, depth);
                self.terms(terms, depth);
            }
            Test::IsNull(a) => self.term(a, depth),
            Test::Exists(op) => self.op(op, depth),
        }
    }
}
