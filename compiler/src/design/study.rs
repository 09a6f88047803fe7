//! What if: the same model without a structure, without a plan, or at another rate, solved again.
//! Nothing here is guessed: each answer is a design, as proven as the first.

use super::assemble::assemble;
use super::prepare::Prepared;
use super::select::Selection;
use super::shape::ShapeId;
use super::{Design, DesignError, Made, Options, make};
use crate::model::Model;
use crate::view::Structure;
use std::collections::BTreeSet;

/// How many times its rate a statement is made dearer in the search for a flip.
const FAR: f64 = 1e6;
/// So close to its rate a flip is looked for first: further on the choice may have flipped back.
const CLOSE: f64 = 0.01;
/// Lines are intersected so often at most before a flip is given up; each time halves what is open
/// at the very least, and mostly two or three are enough.
const INTERSECTIONS: usize = 24;
/// Branches of the solver for each question "what if", where the design itself could not be proven
/// the cheapest: hundreds of designs are made, and none of them would be proven either.
const BRANCHES: u64 = 200;
/// Prices closer than this fraction are the same.
const SAME: f64 = 1e-7;

/// A design that can be asked about others.
pub struct Study<'m> {
    model: &'m Model,
    /// Those of the design, with as many branches as what is asked of it may take.
    options: Options,
    mix: Option<String>,
    prepared: Prepared<'m>,
    selection: Selection,
    design: Design,
}

/// What a flip is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// That a structure is built, by its position.
    Structure(usize),
    /// Which structures a question reads, by its position.
    Question(usize),
    /// Which structures there are.
    Structures,
}

/// A rate at which another choice becomes as cheap.
#[derive(Clone, Debug)]
pub struct Flip {
    /// The question or change whose rate it is.
    pub statement: String,
    /// Its rate in the model.
    pub rate: f64,
    /// Its rate where the choice flips.
    pub at: f64,
    /// Structures of the design beyond that rate that are not in this one.
    pub built: Vec<String>,
    /// Structures of this design that are not in that one.
    pub dropped: Vec<String>,
    /// What the question reads beyond that rate, where the choice is a question's.
    pub reads: Vec<String>,
}

impl<'m> Study<'m> {
    /// Designs a model. What popular keys may be split is what the model says: give it that of a
    /// design, [`Design::model_of`].
    pub fn new(model: &'m Model, options: &'m Options) -> Result<Study<'m>, DesignError> {
        let Made {
            mix,
            prepared,
            selection,
            design,
        } = make(model, options)?;
        let mut options = options.clone();
        if !selection.optimal {
            options.nodes = options.nodes.min(BRANCHES);
        }
        Ok(Study {
            model,
            options,
            mix,
            prepared,
            selection,
            design,
        })
    }

    /// What it is designed from.
    #[cfg(test)]
    pub(super) fn prepared(&mut self) -> &mut Prepared<'m> {
        &mut self.prepared
    }

    /// The design itself.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The cheapest design without one of the structures; none where there is none.
    pub fn without(&self, structure: usize) -> Option<Design> {
        let shape = self.shape(structure)?;
        let programme = self.prepared.programme(&self.options);
        let selection = programme.solve(&BTreeSet::from([shape]))?;
        assemble(
            self.model,
            &self.options,
            self.mix.clone(),
            &programme,
            &selection,
        )
        .ok()
    }

    /// The cheapest design in which a question does not read all the structures that it reads now;
    /// none where there is none.
    pub fn next_best(&mut self, question: usize) -> Option<Design> {
        let chosen = self.read_by(question, &self.selection)?;
        let reader = self.prepared.readers.get_mut(question)?;
        let others = reader
            .options
            .iter()
            .filter(|o| !chosen.is_subset(&o.requires.iter().map(|r| r.shape).collect()));
        let others: Vec<_> = others.cloned().collect();
        if others.is_empty() {
            return None;
        }
        let all = std::mem::replace(&mut reader.options, others);
        let programme = self.prepared.programme(&self.options);
        let found = programme.solve(&BTreeSet::new()).and_then(|selection| {
            let mix = self.mix.clone();
            assemble(self.model, &self.options, mix, &programme, &selection).ok()
        });
        drop(programme);
        if let Some(reader) = self.prepared.readers.get_mut(question) {
            reader.options = all;
        }
        found
    }

    /// The nearest rates, below and above that of the model, at which a choice flips: of every
    /// question and change, one at a time.
    pub fn flips(&mut self, choice: Choice) -> Vec<Flip> {
        let statements = self.model.questions.len() + self.model.changes.len();
        let mut out = Vec::new();
        // Where something else does the same, which of them is there says nothing.
        if let Choice::Structure(at) = choice
            && let Some(other) = self.without(at)
            && other.total <= self.design.total * (1.0 + SAME)
        {
            return out;
        }
        for statement in 0..statements {
            out.extend(self.flips_by(choice, statement));
        }
        out
    }

    /// The nearest rates of a change, by its position, at which the structures are others.
    pub fn flips_of_change(&mut self, change: usize) -> Vec<Flip> {
        self.flips_by(Choice::Structures, self.model.questions.len() + change)
    }

    fn flips_by(&mut self, choice: Choice, statement: usize) -> Vec<Flip> {
        let rate = self.prepared.weight(statement);
        let far = if rate > 0.0 { rate * FAR } else { FAR };
        let mut out = Vec::new();
        for (close, far) in [(1.0 - CLOSE, 0.0), (1.0 + CLOSE, far)] {
            let flip = self.flip(choice, statement, rate, rate * close);
            let flip = flip.or_else(|| self.flip(choice, statement, rate, far));
            out.extend(flip);
        }
        out
    }

    /// Where between two rates of a statement the choice flips.
    ///
    /// The price of one design is a line over the rate. Between a design with the choice and one
    /// without, the only rate that can be the flip is where their lines cross; if some design is
    /// cheaper there, it takes the place of the one that it agrees with, and so on.
    fn flip(&mut self, choice: Choice, statement: usize, rate: f64, far: f64) -> Option<Flip> {
        let wanted = self.chosen(choice, &self.selection)?;
        let mut with = self.selection.clone();
        let mut without = self.solve_at(statement, far, rate)?;
        if self.chosen(choice, &without) == Some(wanted.clone()) {
            return None;
        }
        for _ in 0..INTERSECTIONS {
            let at = self.crossing(statement, rate, &with, &without)?;
            if at <= rate.min(far) || at >= rate.max(far) {
                return None;
            }
            let (met, between) = (
                self.price_at(statement, at, rate, &with),
                self.solve_at(statement, at, rate)?,
            );
            if self.price_at(statement, at, rate, &between) >= met * (1.0 - SAME) {
                return Some(self.told(choice, statement, (rate, at), &without));
            }
            if self.chosen(choice, &between) == Some(wanted.clone()) {
                with = between;
            } else {
                without = between;
            }
        }
        None
    }

    fn told(
        &self,
        choice: Choice,
        statement: usize,
        (rate, at): (f64, f64),
        other: &Selection,
    ) -> Flip {
        let programme = self.prepared.programme(&self.options);
        let mix = self.mix.clone();
        let other = assemble(self.model, &self.options, mix, &programme, other);
        let reads = match (choice, &other) {
            (Choice::Question(at), Ok(other)) => other.read_by(at),
            _ => vec![],
        };
        let other: Vec<_> = other.map_or(vec![], |d| d.structures);
        let missing = |of: &[Structure], from: &[Structure]| {
            let known = |s: &Structure| from.iter().any(|t| t.same_rows(s));
            let missing = of.iter().filter(|s| !known(s));
            missing.map(|s| s.name.clone()).collect()
        };
        let questions = self.model.questions.iter().map(|q| &q.name);
        let names = questions.chain(self.model.changes.iter().map(|c| &c.name));
        Flip {
            statement: names.skip(statement).take(1).cloned().collect(),
            rate,
            at,
            built: missing(&other, &self.design.structures),
            dropped: missing(&self.design.structures, &other),
            reads,
        }
    }

    /// What is chosen: equal choices are equal values.
    fn chosen(&self, choice: Choice, selection: &Selection) -> Option<BTreeSet<ShapeId>> {
        match choice {
            Choice::Structure(at) => {
                let shape = self.shape(at)?;
                let built = selection.shapes.contains_key(&shape);
                Some(built.then_some(shape).into_iter().collect())
            }
            Choice::Question(at) => self.read_by(at, selection),
            Choice::Structures => Some(selection.shapes.keys().copied().collect()),
        }
    }

    fn shape(&self, structure: usize) -> Option<ShapeId> {
        self.selection.shapes.keys().nth(structure).copied()
    }

    /// The candidates that a question reads.
    fn read_by(&self, question: usize, selection: &Selection) -> Option<BTreeSet<ShapeId>> {
        let reader = self.prepared.readers.get(question)?;
        let option = reader.settled(question, selection)?;
        Some(option.requires.iter().map(|r| r.shape).collect())
    }

    /// The cheapest selection where a statement has another rate than it has.
    fn solve_at(&mut self, statement: usize, at: f64, rate: f64) -> Option<Selection> {
        self.prepared.set_weight(statement, at);
        let found = self
            .prepared
            .programme(&self.options)
            .solve(&BTreeSet::new());
        self.prepared.set_weight(statement, rate);
        found
    }

    fn price_at(&mut self, statement: usize, at: f64, rate: f64, selection: &Selection) -> f64 {
        self.prepared.set_weight(statement, at);
        let price = self.prepared.programme(&self.options).price(selection);
        self.prepared.set_weight(statement, rate);
        price
    }

    /// The rate of a statement at which two selections have the same price.
    fn crossing(
        &mut self,
        statement: usize,
        rate: f64,
        a: &Selection,
        b: &Selection,
    ) -> Option<f64> {
        let mut line = |s: &Selection| {
            let fixed = self.price_at(statement, 0.0, rate, s);
            (fixed, self.price_at(statement, 1.0, rate, s) - fixed)
        };
        let ((a, a_each), (b, b_each)) = (line(a), line(b));
        let at = (b - a) / (a_each - b_each);
        at.is_finite().then_some(at)
    }
}
