//! Subplans once. Partial plans that differ in what they have read before ask for the same values
//! of the same rows, again and again; what was made for the first of them serves the others.
//!
//! A subplan depends on what is asked, on the row that it starts from (where it comes from, how many
//! there are, how many frames are before it), on the candidates that there are, and on what the
//! partial plan requires already: that is free. Of the latter it depends on nothing but the
//! requirements that it looked at, by adding them or by asking for them: whichever else there are is
//! in all of the partial plans that are compared on the way. So what is looked at is noted, and a
//! subplan serves whoever requires the same of that.

use super::matched::Matched;
use super::{PlanOption, Planner, Requires, Source, State};
use crate::design::shape::{Requirement, ShapeId};
use crate::model::{AttributeId, Expr, NodeId, Pred, Unfold};
use crate::view;
use crate::view::typing::{NodeType, Scope};
use std::cell::RefCell;
use std::collections::HashMap;

/// Ways to answer a subquery that differ in nothing but how partitions are spread: so many are
/// weighed, lest they leave no room for others.
const ALIKE: usize = 2;

/// The plain candidates that an option requires, each with its columns.
type Kind = Vec<(ShapeId, Vec<usize>)>;

/// What a subplan is to find out.
#[derive(Clone, Copy)]
pub(super) enum Asked<'q> {
    /// The value of a subquery.
    Value(&'q Expr),
    /// Whether there is something that meets a filter.
    Exists(&'q [Unfold], Option<&'q Pred>),
}

/// The same, kept.
#[derive(Debug)]
enum Kept {
    Value(Expr),
    Exists(Vec<Unfold>, Option<Pred>),
}

/// Where in the search a subplan is made, as far as a number tells: the depth, the frames before it,
/// the rows that it starts from.
type Place = (usize, u16, u64);

/// What a subplan depends on beside its place, what is asked and what is required.
#[derive(Debug, PartialEq)]
struct Basis {
    source: Option<Source>,
    node: NodeType,
    collection: Option<AttributeId>,
    /// How often the search has been narrowed, which does not change while it is made.
    tired: usize,
    /// The edition of the candidates, which does not change either.
    edition: usize,
    /// Whether what is required is among what plans may be made of at all.
    allowed: bool,
}

/// Subplans as they were made for one partial plan.
#[derive(Debug)]
struct Made {
    asked: Kept,
    basis: Basis,
    /// The requirements that were looked at, and whether they were there.
    noted: Vec<(Requirement, bool)>,
    /// Each with what it requires in addition.
    options: Vec<(PlanOption, Vec<Requirement>)>,
    /// The steps that were tried.
    steps: usize,
}

/// The subplans of the statement at hand.
#[derive(Debug, Default)]
pub(super) struct Subplans {
    made: HashMap<Place, Vec<Made>>,
    /// How many are being made, each within the one before.
    open: usize,
    /// The requirements that those looked at, the latest last.
    noted: RefCell<Vec<Requirement>>,
}

impl Asked<'_> {
    fn is(&self, kept: &Kept) -> bool {
        match (self, kept) {
            (Asked::Value(a), Kept::Value(b)) => *a == b,
            (Asked::Exists(over, filter), Kept::Exists(other, pred)) => {
                over == other && *filter == pred.as_ref()
            }
            _ => false,
        }
    }

    fn kept(&self) -> Kept {
        match *self {
            Asked::Value(expr) => Kept::Value(expr.clone()),
            Asked::Exists(over, filter) => Kept::Exists(over.to_vec(), filter.cloned()),
        }
    }
}

impl Made {
    /// What was made, for a partial plan that requires the same of what was looked at.
    fn serves(&self, requires: &Requires) -> bool {
        let mut noted = self.noted.iter();
        noted.all(|(r, held)| requires.contains(r) == *held)
    }

    fn options_for(&self, requires: &Requires) -> Vec<PlanOption> {
        let options = self.options.iter().map(|(option, added)| {
            let mut option = option.clone();
            option.requires = requires.clone();
            for &r in added {
                option.requires.insert(r);
            }
            option
        });
        options.collect()
    }
}

impl Planner<'_> {
    /// Forgets what was made for other statements: parameters, and what plans may be made of, change
    /// between them.
    pub(super) fn forget_made(&mut self) {
        self.subplans = Subplans::default();
        self.matched = Matched::default();
    }

    /// Requires something of a state; true where that is new.
    pub(super) fn require(&self, state: &mut State, r: Requirement) -> bool {
        self.note(r);
        state.requires.insert(r)
    }

    /// Whether a state requires something.
    pub(super) fn requires(&self, state: &State, r: Requirement) -> bool {
        self.note(r);
        state.requires.contains(&r)
    }

    fn note(&self, r: Requirement) {
        if self.subplans.open > 0 {
            self.subplans.noted.borrow_mut().push(r);
        }
    }

    /// The cheapest subplans for the rows of a state, from one of its nodes: as they were made
    /// before, or made now.
    pub(super) fn subplans_for(
        &mut self,
        state: &State,
        scope: &Scope,
        from: NodeId,
        asked: Asked,
        make: impl FnOnce(&mut Self, State) -> Vec<PlanOption>,
    ) -> Vec<PlanOption> {
        let start = state.subplan(from);
        let place = (self.depth, start.frames, start.rows.to_bits());
        let basis = Basis {
            source: start.nodes.first().cloned().flatten(),
            node: scope.node(from),
            collection: scope.collection(from),
            tired: self.tired(),
            edition: self.shapes.edition(),
            allowed: self.may_read(&start),
        };
        if let Some(known) = self.made_before(&place, &basis, asked, &start.requires) {
            return known;
        }
        let before = (self.steps, self.subplans.noted.borrow().len());
        let requires = start.requires.clone();
        self.depth += 1;
        self.subplans.open += 1;
        let mut options = make(self, start);
        self.subplans.open -= 1;
        self.depth -= 1;
        options = self.few(options);
        self.keep_made(place, basis, asked, &requires, &options, before);
        options
    }

    /// As many of the options as are weighed inside a larger plan: half as many as that by what they
    /// cost to read, no more than `ALIKE` of those that differ only in how partitions are spread, and
    /// of the others those that are cheapest with all that they require.
    fn few(&self, options: Vec<PlanOption>) -> Vec<PlanOption> {
        let most = self.subplans();
        let (mut kept, mut left) = (Vec::new(), Vec::new());
        let mut kinds: HashMap<Kind, usize> = HashMap::new();
        for option in options {
            let alike = kinds.entry(self.kind(&option)).or_default();
            if kept.len() < most.div_ceil(2) && *alike < ALIKE {
                *alike += 1;
                kept.push(option);
            } else {
                left.push(option);
            }
        }
        let left = self.by_upkeep(left, |o| (o.cost, &o.requires));
        kept.extend(left.into_iter().take(most));
        kept
    }

    /// What an option requires, whatever partitions are spread by. Directories go with that.
    fn kind(&self, option: &PlanOption) -> Kind {
        let all = option.requires.by_shape();
        let kept = all.filter(|(shape, columns)| {
            let groups = self.shapes.get(*shape).kind == view::Kind::Groups;
            !groups || !columns.is_empty()
        });
        kept.map(|(shape, columns)| (self.plain_of(shape), columns))
            .collect()
    }

    /// What was made before, where it is what would be made again; the steps are counted again.
    fn made_before(
        &mut self,
        place: &Place,
        basis: &Basis,
        asked: Asked,
        requires: &Requires,
    ) -> Option<Vec<PlanOption>> {
        #[cfg(test)]
        if self.forgetful {
            return None;
        }
        let made = self.subplans.made.get(place)?;
        let same = |m: &&Made| {
            m.basis == *basis
                && asked.is(&m.asked)
                && m.serves(requires)
                && super::tired(self.steps + m.steps) == basis.tired
        };
        let known = made.iter().find(same)?;
        self.steps += known.steps;
        if self.subplans.open > 0 {
            let noted = known.noted.iter().map(|(r, _)| *r);
            self.subplans.noted.borrow_mut().extend(noted);
        }
        Some(known.options_for(requires))
    }

    /// Keeps what was made, unless the search was narrowed or candidates were added on the way.
    fn keep_made(
        &mut self,
        place: Place,
        basis: Basis,
        asked: Asked,
        requires: &Requires,
        options: &[PlanOption],
        (steps, noted): (usize, usize),
    ) {
        let noted = self.noted_since(noted);
        if self.tired() != basis.tired || self.shapes.edition() != basis.edition {
            return;
        }
        let added = |option: &PlanOption| {
            let all = option.requires.iter().copied();
            all.filter(|r| !requires.contains(r)).collect()
        };
        let made = Made {
            asked: asked.kept(),
            basis,
            noted: (noted.into_iter())
                .map(|r| (r, requires.contains(&r)))
                .collect(),
            options: options.iter().map(|o| (o.clone(), added(o))).collect(),
            steps: self.steps - steps,
        };
        self.subplans.made.entry(place).or_default().push(made);
    }

    /// What was looked at since so many were noted, each once. It stays noted for the subplan that
    /// this one is a part of.
    fn noted_since(&self, before: usize) -> Vec<Requirement> {
        let mut all = self.subplans.noted.borrow_mut();
        let mut noted = all.split_off(before);
        noted.sort_unstable();
        noted.dedup();
        if self.subplans.open > 0 {
            all.extend(&noted);
        }
        noted
    }
}
