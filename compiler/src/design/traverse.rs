//! Going through plans: where tuples come from, which terms and subplans an operator has, and what
//! all steps cost together.

use super::plan::{Estimate, Get, Op, Plan, StructureId, Sub, Term, Test};
use std::sync::Arc;

impl Op {
    /// The operator that its tuples come from; none at the start of a plan, and where branches are
    /// united.
    pub fn input(&self) -> Option<&Op> {
        match self {
            Op::Input | Op::Unite { .. } => None,
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

    fn input_mut(&mut self) -> Option<&mut Op> {
        match self {
            Op::Input | Op::Unite { .. } => None,
            Op::Get { input, .. }
            | Op::Merge { input, .. }
            | Op::Elements { input, .. }
            | Op::Filter { input, .. }
            | Op::Distinct { input, .. }
            | Op::Sort { input, .. }
            | Op::Page { input, .. }
            | Op::Limit { input, .. }
            | Op::Aggregate { input, .. } => Some(Arc::make_mut(input)),
        }
    }

    /// The plans that are united.
    pub fn branches(&self) -> &[Plan] {
        match self {
            Op::Unite { branches, .. } => branches,
            _ => &[],
        }
    }

    /// What it reads of a structure, if it reads one.
    pub fn get(&self) -> Option<&Get> {
        match self {
            Op::Get { get, .. } | Op::Merge { get, .. } => Some(get),
            _ => None,
        }
    }

    /// What it was priced at, if it has a price.
    pub fn estimate(&self) -> Option<&Estimate> {
        match self {
            Op::Get { estimate, .. }
            | Op::Merge { estimate, .. }
            | Op::Unite { estimate, .. }
            | Op::Filter { estimate, .. }
            | Op::Sort { estimate, .. }
            | Op::Aggregate { estimate, .. } => Some(estimate),
            Op::Input
            | Op::Elements { .. }
            | Op::Distinct { .. }
            | Op::Page { .. }
            | Op::Limit { .. } => None,
        }
    }

    /// The terms that it computes from a tuple, but for those of its tests.
    pub fn terms(&self) -> Vec<&Term> {
        match self {
            Op::Input | Op::Filter { .. } => vec![],
            Op::Get { get, .. } => get.terms().collect(),
            Op::Merge {
                lists, get, order, ..
            } => {
                let order = order.iter().map(|(term, _)| term);
                let lists = lists.iter().flatten();
                lists.chain(get.terms()).chain(order).collect()
            }
            Op::Unite { order, .. } => order.iter().map(|(term, _)| term).collect(),
            Op::Elements { of, .. } => vec![of],
            Op::Distinct { by, .. } => by.iter().collect(),
            Op::Sort { by, .. } | Op::Page { by, .. } => by.iter().map(|(term, _)| term).collect(),
            Op::Limit { count, .. } => vec![count],
            Op::Aggregate {
                group, aggregates, ..
            } => {
                let args = aggregates.iter().filter_map(|a| a.arg.as_ref());
                group.iter().chain(args).collect()
            }
        }
    }

    /// What it tests.
    pub fn tests(&self) -> &[Test] {
        match self {
            Op::Filter { tests, .. } => tests,
            _ => &[],
        }
    }

    /// The structure that is read first.
    pub fn first_read(&self) -> Option<StructureId> {
        let mut branches = self.branches().iter();
        let before = self.input().and_then(Op::first_read);
        before
            .or_else(|| branches.find_map(|b| b.root.first_read()))
            .or_else(|| self.get().map(|get| get.structure))
    }

    fn reads(&self, reads: &mut Vec<StructureId>) {
        self.input()
            .into_iter()
            .for_each(|input| input.reads(reads));
        for branch in self.branches() {
            reads.extend(branch.reads());
        }
        reads.extend(self.get().map(|get| get.structure));
        let tested = self.tests().iter().flat_map(Test::terms);
        let subs = self.terms().into_iter().chain(tested).flat_map(Term::subs);
        for sub in subs {
            reads.extend(sub.plan().reads());
        }
        let looked_for = self.tests().iter().flat_map(Test::looked_for);
        looked_for.for_each(|op| op.reads(reads));
    }

    /// Adds to the price of the last step that reads a structure, wherever the plan reads it.
    pub(super) fn charge(&mut self, structure: StructureId, cost: f64) {
        match self {
            Op::Get { get, estimate, .. } | Op::Merge { get, estimate, .. }
                if get.structure == structure =>
            {
                estimate.cost += cost;
            }
            _ => {
                let input = self.input_mut().into_iter();
                input.for_each(|input| input.charge(structure, cost));
            }
        }
    }

    /// Adds to the price of the last step that reads.
    fn charge_last(&mut self, cost: f64) {
        match self {
            Op::Get { estimate, .. } | Op::Merge { estimate, .. } | Op::Unite { estimate, .. } => {
                estimate.cost += cost;
            }
            _ => {
                let input = self.input_mut().into_iter();
                input.for_each(|input| input.charge_last(cost));
            }
        }
    }
}

impl Get {
    /// The values that it compares with.
    fn terms(&self) -> impl Iterator<Item = &Term> {
        let bounds = self.lower.iter().chain(&self.upper);
        self.eq.iter().chain(bounds.map(|bound| &bound.term))
    }
}

impl Test {
    /// The terms that it compares.
    pub fn terms(&self) -> Vec<&Term> {
        match self {
            Test::And(tests) | Test::Or(tests) => tests.iter().flat_map(Test::terms).collect(),
            Test::Not(test) => test.terms(),
            Test::Compare(a, _, b) | Test::InList(a, b) => vec![a, b],
            Test::In(a, list) => std::iter::once(a).chain(list).collect(),
            Test::IsNull(a) => vec![a],
            Test::Exists(_) => vec![],
        }
    }

    /// The operators of which it wants to know whether they yield a tuple.
    pub fn looked_for(&self) -> Vec<&Op> {
        match self {
            Test::And(tests) | Test::Or(tests) => tests.iter().flat_map(Test::looked_for).collect(),
            Test::Not(test) => test.looked_for(),
            Test::Exists(op) => vec![op],
            Test::Compare(..) | Test::InList(..) | Test::In(..) | Test::IsNull(_) => vec![],
        }
    }
}

impl Sub {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        let (Sub::Nested(plan) | Sub::Scalar(plan) | Sub::Values(plan)) = self;
        plan
    }
}

impl Term {
    /// The subplans that it is computed with, those inside these left out.
    pub fn subs(&self) -> Vec<&Sub> {
        match self {
            Term::Sub(sub) => vec![&**sub],
            Term::Shape(first, terms) => {
                let mut subs = first.subs();
                subs.extend(terms.iter().flat_map(Term::subs));
                subs
            }
            Term::Key(terms) | Term::Call(_, terms) => terms.iter().flat_map(Term::subs).collect(),
            Term::Binary(_, a, b) | Term::At(a, b) => {
                let mut subs = a.subs();
                subs.extend(b.subs());
                subs
            }
            Term::Const(_) | Term::Param(..) | Term::Item(..) | Term::Column { .. } => vec![],
        }
    }
}

impl Plan {
    /// The structures that it reads, in order and as often as it does; those of subplans too.
    pub fn reads(&self) -> Vec<StructureId> {
        let mut reads = Vec::new();
        self.root.reads(&mut reads);
        let subs = self.output.iter().flat_map(|o| o.term.subs());
        subs.for_each(|sub| reads.extend(sub.plan().reads()));
        reads
    }

    /// What its steps cost together, with those of subplans. One that several terms need is told
    /// once, and so it was priced.
    pub fn told_cost(&self) -> f64 {
        let mut bill = Bill::default();
        bill.plan(self);
        bill.cost
    }

    /// Settles the steps to what the plan was priced at. What a subplan takes of the rows that it
    /// is computed for was not part of their read when that was priced: it is added there.
    pub(super) fn settled(mut self, cost: f64) -> Plan {
        let more = cost - self.told_cost();
        if more > 0.0 {
            self.root.charge_last(more);
        }
        self
    }
}

/// The sum of what steps cost.
#[derive(Default)]
struct Bill<'p> {
    cost: f64,
    /// Subplans over the rows of the present plan that were counted.
    counted: Vec<&'p Sub>,
}

impl<'p> Bill<'p> {
    fn plan(&mut self, plan: &'p Plan) {
        let outside = std::mem::take(&mut self.counted);
        self.op(&plan.root);
        self.terms(plan.output.iter().map(|o| &o.term));
        self.counted = outside;
    }

    fn op(&mut self, op: &'p Op) {
        op.input().into_iter().for_each(|input| self.op(input));
        op.branches().iter().for_each(|branch| self.plan(branch));
        self.cost += op.estimate().map_or(0.0, |e| e.cost);
        self.terms(op.terms());
        for test in op.tests() {
            self.terms(test.terms());
            for op in test.looked_for() {
                let outside = std::mem::take(&mut self.counted);
                self.op(op);
                self.counted = outside;
            }
        }
    }

    fn terms(&mut self, terms: impl IntoIterator<Item = &'p Term>) {
        for sub in terms.into_iter().flat_map(Term::subs) {
            if !self.counted.contains(&sub) {
                self.counted.push(sub);
                self.plan(sub.plan());
            }
        }
    }
}
