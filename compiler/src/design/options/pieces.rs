//! The pieces of a partition that is cut: what gets are merged over, and the directories that list
//! them.

use super::Planner;
use super::matching::Match;
use crate::design::assumed::LIST;
use crate::design::plan::{Bound, Term};
use crate::design::shape::ShapeId;
use crate::design::spread::{bucket_follows, spread};
use crate::model::{Direction, Expr, Function};
use crate::view::Structure;
use crate::view::typing::Scope;

/// A list over whose elements gets are merged.
#[derive(Clone, Debug)]
pub(super) enum List {
    /// The values of an expression that a condition lists.
    Named(Expr, Vec<Term>),
    /// So many salts.
    Salts(i64),
    /// The sub-partitions that a directory lists.
    Parts(Parts),
}

/// A get of the directory of a popular key, or of each of several: the sub-partitions that are
/// present.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) directory: ShapeId,
    /// What the gets of the directory are merged over.
    pub(super) lists: Vec<List>,
    pub(super) eq: Vec<Term>,
    /// The columns of the directory that an element is made of: the number, and behind it what
    /// differs from key to key.
    pub(super) columns: Vec<u16>,
    /// How many there are of a key, on average.
    pub(super) average: f64,
}

/// A get of a directory: the buckets that are present, each of which is then read.
#[derive(Clone, Debug)]
pub(super) struct Through {
    pub(super) directory: ShapeId,
    /// Parts of the partition key before the bucket.
    pub(super) before: usize,
    /// What the gets of the directory are merged over.
    pub(super) lists: Vec<List>,
    /// Each bucket is read once for all of them, so that its rows can be merged; otherwise, once
    /// for each that has it.
    pub(super) once: bool,
    pub(super) eq: Vec<Term>,
    pub(super) lower: Option<Bound>,
    pub(super) upper: Option<Bound>,
    pub(super) reverse: bool,
}

impl Planner<'_> {
    /// Binds the next part, one of those that spread a partition, to each of its values: to every
    /// salt, or to the buckets that a directory lists. False where that cannot be.
    pub(super) fn spread_over(&self, s: &Structure, frame: u16, m: &mut Match) -> bool {
        let Some(spread) = spread(self.model, s) else {
            return false;
        };
        // An ordered target reads them all by a prefix of the key.
        if self.target.capabilities.ordered_partitions
            || !(spread.before..s.partition.len()).contains(&m.bound.len())
        {
            return false;
        }
        // No get finds a piece of no value, which a person's structure may have.
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let null = |part: &Expr| scope.type_of(self.model, &[], part).1;
        if spread.split.is_none() && s.partition.get(m.bound.len()).is_some_and(null) {
            return false;
        }
        let salted = m.bound.len() + 1 == s.partition.len();
        let term = match (spread.split, spread.salts) {
            (None, Some(n)) if salted => {
                m.lists.push(List::Salts(n));
                Term::Item(m.lists.len() as u16 - 1, vec![])
            }
            // A directory is read for values that are known, not for some that have the same
            // bucket or salt.
            _ if !m.settled() => return false,
            (Some(split), _) => {
                let Some((directory, eq)) = self.directory_of(s, &m.eq) else {
                    return false;
                };
                m.list_parts(self.shapes.get(directory), directory, eq, split.average)
            }
            (None, _) => {
                let Some((directory, eq)) = self.directory_of(s, &m.eq) else {
                    return false;
                };
                let column = eq.len() as u16;
                m.through = Some(Through {
                    directory,
                    before: m.eq.len(),
                    lists: m.lists.clone(),
                    once: true,
                    eq,
                    lower: None,
                    upper: None,
                    reverse: false,
                });
                Term::Column {
                    frame,
                    column,
                    path: vec![],
                }
            }
        };
        m.eq.push(term);
        m.gathered.extend(s.partition.get(m.bound.len()).cloned());
        true
    }
}

/// Whether the value of a key part differs between the gets of a merge.
pub(super) fn has_item(term: &Term) -> bool {
    match term {
        Term::Item(..) => true,
        Term::Call(_, args) => args.iter().any(has_item),
        _ => false,
    }
}

impl List {
    /// How many elements there are.
    pub(super) fn gets(&self) -> f64 {
        match self {
            List::Named(..) => self.named(),
            List::Salts(n) => *n as f64,
            List::Parts(parts) => parts.average * gets(&parts.lists),
        }
    }

    /// How many values it names: pieces of one partition are of the same ones.
    fn named(&self) -> f64 {
        match self {
            List::Named(_, terms) if terms.len() == 1 => LIST,
            List::Named(_, terms) => terms.len() as f64,
            List::Salts(_) => 1.0,
            List::Parts(parts) => named(&parts.lists),
        }
    }
}

/// How many conditions lists are of.
pub(super) fn count(lists: &[List]) -> usize {
    let of = |list: &List| match list {
        List::Named(..) => 1,
        List::Salts(_) => 0,
        List::Parts(parts) => count(&parts.lists),
    };
    lists.iter().map(of).sum()
}

/// How many gets are merged over lists.
pub(super) fn gets(lists: &[List]) -> f64 {
    lists.iter().map(List::gets).product()
}

/// How many values lists name.
pub(super) fn named(lists: &[List]) -> f64 {
    lists.iter().map(List::named).product()
}

impl Match {
    /// Goes over the sub-partitions that a directory lists, of all keys that lists name so far;
    /// gives the number's value.
    fn list_parts(
        &mut self,
        listing: &Structure,
        directory: ShapeId,
        eq: Vec<Term>,
        average: f64,
    ) -> Term {
        let mut columns = vec![eq.len() as u16];
        let item = |columns: &[u16]| Term::Item(0, vec![columns.len() as u16 - 1]);
        for (part, term) in self.bound.iter().zip(&mut self.eq) {
            let column = listing.key().position(|e| e == part);
            if let (true, Some(column)) = (self.listed.contains(part), column) {
                columns.push(column as u16);
                *term = item(&columns);
            }
        }
        let number = match columns.as_slice() {
            [_] => Term::Item(0, vec![]),
            _ => item(&[0]),
        };
        self.lists = vec![List::Parts(Parts {
            directory,
            lists: std::mem::take(&mut self.lists),
            eq,
            columns,
            average,
        })];
        number
    }

    /// Where no order is to be kept, the rows of a directory lead to those buckets that each value
    /// of a list has, and no further list is needed.
    pub(super) fn follow_directory(&mut self, listing: &Structure, frame: u16) {
        let Some(through) = &mut self.through else {
            return;
        };
        let dropped = through.lists.len();
        let behind = self.eq.iter().skip(through.before);
        if dropped == 0
            || behind
                .clone()
                .any(|t| matches!(t, Term::Call(..)) && has_item(t))
        {
            return;
        }
        for (part, term) in self.bound.iter().zip(&mut self.eq).take(through.before) {
            let column = listing.key().position(|e| e == part);
            if let (true, Some(column)) = (self.listed.contains(part), column) {
                *term = Term::Column {
                    frame,
                    column: column as u16,
                    path: vec![],
                };
            }
        }
        for term in self.eq.iter_mut().skip(through.before) {
            if let Term::Item(list, _) = term {
                *list -= dropped as u16;
            }
        }
        self.lists.drain(..dropped);
        through.once = false;
    }

    /// The buckets of a range, in the order of the rows; buckets that do not follow the first free
    /// key part give no order.
    pub(super) fn narrow_directory(&mut self, planner: &Planner, s: &Structure) {
        let buckets = spread(planner.model, s).and_then(|s| s.buckets);
        let (Some(through), Some((width, of))) = (&mut self.through, buckets) else {
            return;
        };
        let first = s.key().enumerate().nth(self.bound.len());
        let Some((at, part)) = first.filter(|(_, part)| bucket_follows(part, width, of)) else {
            self.ordered = false;
            return;
        };
        let bucket = |bound: &Bound| {
            let inner = bound.term.clone();
            let time = match of {
                Expr::Call(f @ Function::Time, _) if of != part => Term::Call(*f, vec![inner]),
                _ => inner,
            };
            Bound {
                term: Term::Call(width, vec![time]),
                inclusive: true,
            }
        };
        through.lower = self.lower.as_ref().map(bucket);
        through.upper = self.upper.as_ref().map(bucket);
        let listed = planner.shapes.get(through.directory);
        let descends = listed.direction(listed.partition.len()) == Direction::Desc;
        through.reverse = ((s.direction(at) == Direction::Desc) != self.reverse) != descends;
    }
}
