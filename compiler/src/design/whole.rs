//! What a plan reads as a whole: one definition, for the schemas that people give and for designs.
//!
//! A structure is read as a whole where nothing that differs from row to row is bound: by nothing,
//! by constants, by all salts, or by all the pieces that its directory lists. What it is cut into on
//! a target makes no difference to how much of it is read. A range alone is no search where most of
//! what it reads is made use of; where filters throw nearly all of it away, it is. A limit that every
//! row counts for ends the reading early; behind a filter it does not, because what is thrown away
//! does not count.

use super::Estimate;
use super::assumed::LIMIT;
use super::plan::{Get, Op, Plan, StructureId, Sub, Term};
use super::spread::{WIDTHS, directory, salt_of};
use crate::model::{Expr, Function, Model};
use crate::value::Value;
use crate::view::Structure;

/// How many times as many rows as are made use of are far too many.
pub(super) const FAR_MORE: f64 = 20.0;

/// A structure that a plan reads as a whole, or a range of that for a few of its rows, until it has
/// what it wants.
pub(super) struct Whole {
    /// The structure.
    pub(super) structure: StructureId,
    /// Rows of it that are read.
    pub(super) reads: f64,
    /// Rows that are left of these behind all filters.
    pub(super) used: f64,
    /// What the reads cost.
    pub(super) cost: f64,
}

impl Whole {
    /// Whether nearly all that is read is thrown away.
    pub(super) fn is_wasted(&self) -> bool {
        self.reads > FAR_MORE * self.used
    }
}

/// The structures that a plan reads as a whole; those of subplans too. Which structure a plan means
/// by a number is for `structures` to say.
pub(super) fn wholes<'d, F>(model: &'d Model, structures: F, plan: &Plan) -> Vec<Whole>
where
    F: Fn(StructureId) -> Option<&'d Structure>,
{
    let mut walk = Walk {
        model,
        structures,
        found: vec![],
    };
    walk.plan(plan, Fate::ANSWERED);
    walk.found
}

/// What becomes of the rows of an operator.
#[derive(Clone, Copy)]
struct Fate {
    /// So many of them are made use of, at most.
    used: f64,
    /// Every row counts for a limit, which ends the reading.
    ended: bool,
}

impl Fate {
    const ANSWERED: Fate = Fate {
        used: f64::INFINITY,
        ended: false,
    };
    /// The first row tells that there is one.
    const PRESENT: Fate = Fate {
        used: 1.0,
        ended: true,
    };

    fn limited(self, count: &Term) -> Fate {
        let most = match count {
            Term::Const(Value::Int(n)) => *n as f64,
            _ => LIMIT,
        };
        Fate {
            used: self.used.min(most),
            ended: true,
        }
    }

    fn filtered(self, rows: f64) -> Fate {
        Fate {
            used: self.used.min(rows),
            ended: false,
        }
    }

    /// All rows are read before the first one leaves.
    fn gathered(self) -> Fate {
        Fate {
            ended: false,
            ..self
        }
    }
}

/// A read of a plan: its input, what is read, and the lists that it goes over.
type Read<'p> = (&'p Op, &'p Get, &'p [Vec<Term>]);

struct Walk<'d, F> {
    model: &'d Model,
    structures: F,
    found: Vec<Whole>,
}

impl<'d, F: Fn(StructureId) -> Option<&'d Structure>> Walk<'d, F> {
    fn plan(&mut self, plan: &Plan, fate: Fate) {
        self.op(&plan.root, fate);
        self.terms(plan.output.iter().map(|o| &o.term));
    }

    fn op(&mut self, op: &Op, fate: Fate) {
        match op {
            Op::Input => {}
            Op::Get {
                input,
                get,
                estimate,
                ..
            } => self.read((input, get, &[]), estimate, fate),
            Op::Merge {
                input,
                lists,
                get,
                estimate,
                ..
            } => self.read((input, get, lists), estimate, fate),
            Op::Unite { branches, .. } => {
                for branch in branches {
                    self.plan(branch, fate);
                }
            }
            Op::Filter {
                input,
                tests,
                estimate,
            } => {
                self.op(input, fate.filtered(estimate.rows));
                for test in tests {
                    self.terms(test.terms());
                    for op in test.looked_for() {
                        self.op(op, Fate::PRESENT);
                    }
                }
            }
            Op::Limit { input, count, .. } => self.op(input, fate.limited(count)),
            // What is aggregated is made use of, whatever is left of the groups.
            Op::Aggregate { input, .. } => self.op(input, Fate::ANSWERED),
            Op::Sort { input, .. } | Op::Distinct { input, .. } => {
                self.op(input, fate.gathered());
            }
            Op::Elements { input, .. } | Op::Page { input, .. } => self.op(input, fate),
        }
    }

    fn read(&mut self, read: Read, estimate: &Estimate, fate: Fate) {
        let (input, get, lists) = read;
        let mut ranged = false;
        if !self.is_whole(read, &mut ranged) {
            self.op(input, fate);
            self.terms(lists.iter().flatten());
            return;
        }
        let whole = Whole {
            structure: get.structure,
            reads: estimate.reads,
            used: fate.used.min(estimate.reads),
            cost: estimate.cost,
        };
        if !fate.ended && (!ranged || whole.is_wasted()) {
            self.found.push(whole);
        }
        // A directory that lists the pieces is read for their sake.
        let structure = (self.structures)(get.structure);
        let leads = structure.and_then(|s| self.listing(s, input));
        self.op(leads.map_or(input, |(before, ..)| before), fate);
    }

    /// Whether a read takes in all rows of its structure, but for a range of them (`ranged`).
    fn is_whole(&self, (input, get, lists): Read, ranged: &mut bool) -> bool {
        let Some(s) = (self.structures)(get.structure) else {
            return false;
        };
        *ranged |= get.lower.is_some() || get.upper.is_some();
        let whole = |(part, term): (&Expr, &Term)| match (part, term) {
            (Expr::Const(_), _) => true,
            (Expr::Call(Function::Hash, _), Term::Item(list, _)) => {
                let list = lists.get(usize::from(*list));
                list.is_some_and(|list| is_every_salt(part, list))
            }
            (Expr::Call(width, _), Term::Column { .. }) if WIDTHS.contains(width) => {
                let listing = self.listing(s, input);
                listing.is_some_and(|directory| self.is_whole(directory, ranged))
            }
            (_, Term::Item(list, _)) => {
                let parts = lists.get(usize::from(*list)).and_then(|l| listed_by(l));
                let listing = parts.and_then(|root| self.listing(s, root));
                listing.is_some_and(|directory| self.is_whole(directory, ranged))
            }
            _ => false,
        };
        s.key().zip(&get.eq).all(whole)
    }

    /// The read of the directory of a structure that an operator is, if it is one.
    fn listing<'p>(&self, s: &Structure, op: &'p Op) -> Option<Read<'p>> {
        let read: Read = match op {
            Op::Distinct { input, .. } => return self.listing(s, input),
            Op::Get { input, get, .. } => (input, get, &[]),
            Op::Merge {
                input, lists, get, ..
            } => (input, get, lists),
            _ => return None,
        };
        let wanted = directory(self.model, s)?;
        let found = (self.structures)(read.1.structure)?;
        let pieces = |s: &Structure| s.clustering.iter().map(|(e, _)| e.clone()).next();
        let lists = found.kind == wanted.kind
            && found.anchor == wanted.anchor
            && found.over == wanted.over
            && found.filter == wanted.filter
            && pieces(found) == pieces(&wanted);
        lists.then_some(read)
    }

    fn terms<'p>(&mut self, terms: impl IntoIterator<Item = &'p Term>) {
        for sub in terms.into_iter().flat_map(Term::subs) {
            self.plan(sub.plan(), Fate::ANSWERED);
        }
    }
}

/// Whether a list has every salt of a key part.
fn is_every_salt(part: &Expr, list: &[Term]) -> bool {
    let constant = |term: &Term| matches!(term, Term::Const(_));
    let salts = salt_of(part).map(|(_, n)| usize::try_from(n));
    salts == Some(Ok(list.len())) && list.iter().all(constant)
}

/// The plan that makes a list of pieces.
fn listed_by(list: &[Term]) -> Option<&Op> {
    match list {
        [Term::Sub(sub)] => match &**sub {
            Sub::Values(plan) => Some(&plan.root),
            Sub::Nested(_) | Sub::Scalar(_) => None,
        },
        _ => None,
    }
}
