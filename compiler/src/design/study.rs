//! What if: the same model without a structure, without a plan, or at another rate, solved again.
//! Nothing here is guessed: each answer is a design, as proven as the first.

use super::adding::Adding;
use super::assemble::assemble;
use super::family::{Family, Priced};
use super::flip::{FlipSearch, Met, PROOFS, SAME};
use super::options::PlanOption;
use super::prepare::Prepared;
use super::redesign::Redesign;
use super::select::{Programme, Reader, Selection};
use super::shape::{Shape, ShapeId};
use super::{Design, DesignError, Made, Options, make, mix_of, remake};
use crate::model::Model;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;

/// Branches of the solver for each question "what if", where the design itself could not be proven
/// the cheapest: hundreds of designs are made, and none of them would be proven either.
const BRANCHES: u64 = 200;
/// So many plans that are the same to a reader are passed over in the search for another one.
const PASSED_OVER: usize = 8;

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
    /// Whether it is proven that the cheapest design flips there. Else it is where the cheapest
    /// designs that were found do.
    pub proven: bool,
}

/// The flips of a choice.
#[derive(Clone, Debug)]
pub struct Flips {
    /// The nearest ones, below and above its rate, of each statement.
    pub found: Vec<Flip>,
    /// What is known of others.
    pub end: End,
}

/// What is known of flips that were not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There are none.
    Proven,
    /// There may be some.
    Open,
    /// At the rates of the model, another choice costs the same: it has no reason to flip.
    Tied,
}

/// What was found among the candidates that there are.
struct Searched {
    found: Vec<Flip>,
    end: End,
    /// There is no design without the choice, whatever the rates.
    needed: bool,
}

impl Searched {
    fn nothing(end: End) -> Searched {
        Searched {
            found: vec![],
            end,
            needed: false,
        }
    }

    fn needed() -> Searched {
        Searched {
            needed: true,
            ..Searched::nothing(End::Proven)
        }
    }
}

impl<'m> Study<'m> {
    /// Designs a model. What popular keys may be split is what the model says: give it that of a
    /// design, [`Design::model_of`].
    pub fn new(model: &'m Model, options: &'m Options) -> Result<Study<'m>, DesignError> {
        Ok(Study::made(options, make(model, options)?))
    }

    /// The same where the design is there already, and is not searched for again.
    pub fn of(
        model: &'m Model,
        options: &'m Options,
        design: &Design,
    ) -> Result<Study<'m>, DesignError> {
        let made = about(remake(model, options, design)?, options, design);
        Ok(Study::made(options, made))
    }

    fn made(options: &Options, made: Made<'m>) -> Study<'m> {
        let Made {
            mix,
            prepared,
            selection,
            design,
        } = made;
        let mut options = options.clone();
        if !selection.optimal {
            options.nodes = options.nodes.min(BRANCHES);
        }
        Study {
            model: prepared.planner().model,
            options,
            mix,
            prepared,
            selection,
            design,
        }
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

    /// Whether a person gave a structure: then it was not chosen.
    pub fn is_given(&self, structure: usize) -> bool {
        let given = self.options.given.as_ref();
        given.is_some_and(|schema| structure < schema.structures.len())
    }

    /// The cheapest design without one of the structures; none where there is none. What was given
    /// is designed anew without it, with whatever that makes necessary.
    pub fn without(&self, structure: usize) -> Option<Design> {
        if let Some(schema) = &self.options.given
            && self.is_given(structure)
        {
            let options = Options {
                given: Some(schema.without(structure)),
                ..self.options.clone()
            };
            return super::design(self.model, &options).ok();
        }
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
    pub fn next_best(&self, question: usize) -> Option<Design> {
        let chosen = self.read_by(question, &self.selection)?;
        let others = self.with_options(question, |o| !chosen.is_subset(&read(o)))?;
        let programme = self.programme_of(&others);
        let selection = programme.solve(&BTreeSet::new())?;
        let mix = self.mix.clone();
        assemble(self.model, &self.options, mix, &programme, &selection).ok()
    }

    /// The cheapest design in which a question has one of these plans, and that is another to a
    /// reader: one that differs in nothing but what is required beside is passed over.
    fn another_plan(&self, question: usize, left: impl Fn(&PlanOption) -> bool) -> Option<Design> {
        let told = |d: &Design| Some(d.plan_steps(self.model, &d.plans.get(question)?.plan));
        let own = told(&self.design);
        let mut passed: Vec<BTreeSet<ShapeId>> = vec![];
        for _ in 0..PASSED_OVER {
            let others = self.with_options(question, |o| left(o) && !passed.contains(&read(o)))?;
            let programme = self.programme_of(&others);
            let selection = programme.solve(&BTreeSet::new())?;
            let mix = self.mix.clone();
            let other = assemble(self.model, &self.options, mix, &programme, &selection).ok()?;
            if told(&other) != own {
                return Some(other);
            }
            let reader = others.get(question)?;
            passed.push(read(reader.settled(question, &selection)?));
        }
        None
    }

    /// The cheapest design without a structure and without those that differ from it in no more
    /// than the direction of an order or where the partition key ends; none where there is none.
    pub fn without_twins(&self, structure: usize) -> Option<Design> {
        let twins = self.twins(self.shape(structure)?);
        let programme = self.prepared.programme(&self.options);
        let selection = programme.solve(&twins)?;
        let mix = self.mix.clone();
        assemble(self.model, &self.options, mix, &programme, &selection).ok()
    }

    /// The cheapest design in which a question reads other structures than it reads now, and than
    /// those that differ from them in no more than that; none where there is none.
    pub fn next_best_apart(&self, question: usize) -> Option<Design> {
        let chosen = self.read_by(question, &self.selection)?;
        let chosen: Vec<_> = chosen.into_iter().map(|s| self.twins(s)).collect();
        let apart = |o: &PlanOption| {
            let read = read(o);
            !chosen.iter().all(|twins| !twins.is_disjoint(&read))
        };
        self.another_plan(question, apart)
    }

    /// A candidate, and those with the same key parts one behind another.
    fn twins(&self, shape: ShapeId) -> BTreeSet<ShapeId> {
        let shapes = &self.prepared.planner().shapes;
        let Some(of) = shapes.all.get(shape) else {
            return BTreeSet::new();
        };
        let all = shapes.all.iter().enumerate();
        let twins = all.filter(|(_, s)| twin(s, of));
        twins.map(|(id, _)| id).collect()
    }

    /// Of each candidate the first of its twins, by which all of them go where it does not matter
    /// which is read.
    fn first_twins(&self) -> Vec<ShapeId> {
        let all = &self.prepared.planner().shapes.all;
        let mut firsts: Vec<ShapeId> = Vec::with_capacity(all.len());
        for (id, shape) in all.iter().enumerate() {
            let mut before = all.iter().take(id);
            let first = before.position(|s| twin(s, shape));
            firsts.push(first.unwrap_or(id));
        }
        firsts
    }

    /// All readers, of which a question has only some of its options; none where it has none left.
    fn with_options(
        &self,
        question: usize,
        left: impl Fn(&PlanOption) -> bool,
    ) -> Option<Vec<Reader>> {
        let mut readers = self.prepared.readers.clone();
        let options = &mut readers.get_mut(question)?.options;
        options.retain(left);
        (!options.is_empty()).then_some(readers)
    }

    /// All readers where a question has other plans than it has: those that read other structures
    /// than twins of those that it reads; and, for where such a plan costs the same, of these those
    /// that cost something else.
    fn other_plans(&self, question: usize, twins: &[ShapeId]) -> Vec<Vec<Reader>> {
        let reader = self.prepared.readers.get(question);
        let Some(own) = reader.and_then(|r| r.settled(question, &self.selection)) else {
            return vec![];
        };
        let apart = |o: &PlanOption| by_twins(&read(o), twins);
        let chosen = apart(own);
        let reads = |o: &PlanOption| apart(o) != chosen;
        let costs = |o: &PlanOption| (o.cost - own.cost).abs() > SAME * own.cost;
        let others = [
            self.with_options(question, reads),
            self.with_options(question, |o| reads(o) && costs(o)),
        ];
        others.into_iter().flatten().collect()
    }

    /// The programme with other options.
    fn programme_of<'p>(&'p self, readers: &'p [Reader]) -> Programme<'p, 'm> {
        Programme {
            readers,
            ..self.prepared.programme(&self.options)
        }
    }

    /// The nearest rates, below and above that of the model, at which a choice flips: of every
    /// question and change, one at a time.
    pub fn flips(&self, choice: Choice) -> Flips {
        self.flips_noting(choice, &mut |_, _| {})
    }

    /// The same, noting before each statement how many there were and how many there are.
    pub fn flips_noting(&self, choice: Choice, note: &mut dyn FnMut(usize, usize)) -> Flips {
        let statements = 0..self.model.questions.len() + self.model.changes.len();
        self.flips_by(choice, statements, false, note)
    }

    /// The nearest rates of a change, by its position, at which the structures are others.
    pub fn flips_of_change(&self, change: usize) -> Flips {
        let statement = self.model.questions.len() + change;
        let statements = statement..statement + 1;
        self.flips_by(Choice::Structures, statements, false, &mut |_, _| {})
    }

    /// The flips of a choice by some statements; thoroughly, if nothing is to be ruled out
    /// beforehand.
    pub(super) fn flips_by(
        &self,
        choice: Choice,
        statements: Range<usize>,
        thorough: bool,
        note: &mut dyn FnMut(usize, usize),
    ) -> Flips {
        if !self.follows_rates() {
            let searched = self.searched(choice, statements, thorough, note);
            return Flips {
                found: searched.found,
                end: searched.end,
            };
        }
        let searched = self.searched(choice, statements.clone(), thorough, &mut |_, _| {});
        if searched.needed || searched.end == End::Tied {
            let (found, end) = (vec![], searched.end);
            return Flips { found, end };
        }
        let Ok((_, mix)) = mix_of(self.model, &self.options) else {
            return Flips {
                found: searched.found,
                end: End::Open,
            };
        };
        let again = Redesign::new(self.model, &self.options, mix, &self.design, choice);
        let mut found = Vec::new();
        let many = statements.len();
        for (done, statement) in statements.enumerate() {
            note(done, many);
            let name = self.statement(statement);
            let hints = searched.found.iter().filter(|f| Some(&f.statement) == name);
            found.extend(again.by(statement, &hints.collect::<Vec<_>>()));
        }
        Flips {
            found,
            end: End::Open,
        }
    }

    /// Whether other rates have other candidates: how many buckets and salts keep partitions small
    /// and cool depends on them.
    fn follows_rates(&self) -> bool {
        let limits = &self.options.target.limits;
        self.model.timed && (limits.of_partitions() || limits.partition_reads.is_some())
    }

    /// The name of a question, or behind them all of a change.
    fn statement(&self, at: usize) -> Option<&String> {
        let questions = self.model.questions.iter().map(|q| &q.name);
        let mut all = questions.chain(self.model.changes.iter().map(|c| &c.name));
        all.nth(at)
    }

    /// The flips of a choice among the candidates that there are, and what is known of others.
    fn searched(
        &self,
        choice: Choice,
        statements: Range<usize>,
        thorough: bool,
        note: &mut dyn FnMut(usize, usize),
    ) -> Searched {
        let programme = self.prepared.programme(&self.options);
        let weights = programme.weights();
        let exact = self.selection.optimal;
        let all = Family::new(&programme, &BTreeSet::new(), exact);
        let design = all.priced(self.selection.clone());
        let price = design.prices.at(&weights);
        let twins = self.first_twins();
        let others = match choice {
            Choice::Question(at) => self.other_plans(at, &twins),
            Choice::Structure(_) | Choice::Structures => vec![],
        };
        let others: Vec<Programme> = others.iter().map(|o| self.programme_of(o)).collect();
        let shape = match choice {
            Choice::Structure(at) => self.shape(at),
            Choice::Question(_) | Choice::Structures => None,
        };
        // Without the structure, then without its likes.
        let itself = shape.map(|s| BTreeSet::from([s]));
        let likes = shape.map(|s| self.twins(s));
        let forbidden: Vec<BTreeSet<ShapeId>> = itself.into_iter().chain(likes).collect();
        let nothing = BTreeSet::new();
        let without = forbidden.iter().map(|f| (&programme, f));
        let other = others.iter().map(|o| (o, &nothing));
        let mut families = without
            .chain(other)
            .map(|(programme, forbidden)| Family::new(programme, forbidden, exact));
        // A design that could not be proven is not proven by a shorter search.
        let all = if exact {
            match all.started(&weights, &self.selection, price) {
                Some((all, _)) => all,
                None => return Searched::nothing(End::Open),
            }
        } else {
            all
        };
        let same_plans = match choice {
            Choice::Question(at) => {
                let chosen = self.chosen(choice, &self.selection, &twins);
                self.with_options(at, |o| Some(by_twins(&read(o), &twins)) == chosen)
            }
            _ => None,
        };
        let mut same = same_plans.as_ref().map(|o| self.programme_of(o));
        if let Choice::Structure(at) = choice {
            let mut forced = self.prepared.programme(&self.options);
            forced.forced.extend(self.shape(at));
            same = Some(forced);
        }
        let with = same.as_ref();
        let with = with.map(|p| Family::new(p, &BTreeSet::new(), false));
        let differs = |other: &Priced| other.prices.dearer(&design.prices, &weights, SAME);
        let mut next = || families.next()?.started(&weights, &self.selection, price);
        let mut without = next();
        if without.is_none() && choice != Choice::Structures {
            // Nothing does without it, whatever the rates.
            return Searched::needed();
        }
        // A structure is told from its likes where one of these does the same.
        let mut apart: Vec<ShapeId> = (0..twins.len()).collect();
        if without.as_ref().is_some_and(|(_, other)| !differs(other)) {
            // Something else does the same. What a question reads is told from all designs, or as
            // far as one is known that answers it for another price; a structure is its likes.
            let second = next();
            let none = second.is_none();
            without = second.filter(|(_, other)| differs(other));
            match choice {
                Choice::Question(_) if all.provable => without = None,
                Choice::Structure(_) if none => return Searched::needed(),
                _ if without.is_none() => return Searched::nothing(End::Tied),
                _ => apart.clone_from(&twins),
            }
        }
        if !matches!(choice, Choice::Structure(_)) {
            apart = twins;
        }
        let known = without.iter().map(|(_, cheapest)| cheapest.clone());
        let flips = FlipSearch {
            prepared: &self.prepared,
            all,
            known: RefCell::new(known.collect()),
            adding: self.adding(&programme, choice, &apart),
            without,
            with,
            chosen: Box::new(|selection| self.chosen(choice, selection, &apart)),
            thorough,
            proofs: Cell::new(0),
            open: Cell::new(false),
        };
        let mut found = Vec::new();
        let many = statements.len();
        for (done, statement) in statements.enumerate() {
            note(done, many);
            let more = if thorough {
                usize::MAX
            } else {
                PROOFS * (done + 1) / many - PROOFS * done / many
            };
            flips.proofs.set(flips.proofs.get().saturating_add(more));
            let met = flips.by(&design, statement).into_iter();
            found.extend(met.map(|met| self.told(choice, statement, &met)));
        }
        let end = if flips.open.get() {
            End::Open
        } else {
            End::Proven
        };
        Searched {
            found,
            end,
            needed: false,
        }
    }

    /// What a choice is worth to any selection: what the questions that it is made for save by it.
    fn adding(&self, programme: &Programme, choice: Choice, twins: &[ShapeId]) -> Option<Adding> {
        let chosen = self.chosen(choice, &self.selection, twins)?;
        let made_for = |at: usize, o: &PlanOption| match choice {
            Choice::Structure(_) => !by_twins(&read(o), twins).is_disjoint(&chosen),
            Choice::Question(question) => at == question && by_twins(&read(o), twins) == chosen,
            Choice::Structures => false,
        };
        let mut needed = vec![];
        let mut saves = vec![0.0; programme.readers.len()];
        for (at, (reader, saves)) in programme.readers.iter().zip(&mut saves).enumerate() {
            let own = reader.settled(at, &self.selection)?;
            let options = reader.options.iter().chain(&reader.anyway);
            let others = options.filter(|o| !made_for(at, o)).map(|o| o.cost);
            let other = others.fold(f64::INFINITY, f64::min);
            if made_for(at, own) && other > own.cost {
                needed.extend(own.requires.iter().copied());
                *saves = other - own.cost;
            }
        }
        Adding::new(programme, &self.selection, &needed, saves)
    }

    fn told(&self, choice: Choice, statement: usize, met: &Met) -> Flip {
        let programme = self.prepared.programme(&self.options);
        let mix = self.mix.clone();
        let other = assemble(self.model, &self.options, mix, &programme, &met.other);
        let reads = match (choice, &other) {
            (Choice::Question(at), Ok(other)) => other.read_by(at),
            _ => vec![],
        };
        let names = |of: &Design, other: &Design| {
            let beyond = of.beyond(other).into_iter();
            beyond.map(|s| s.name.clone()).collect::<Vec<_>>()
        };
        let other = other.ok();
        let (built, dropped) = match &other {
            Some(other) => (names(other, &self.design), names(&self.design, other)),
            None => (vec![], vec![]),
        };
        Flip {
            statement: self.statement(statement).cloned().unwrap_or_default(),
            rate: met.rate,
            at: met.at,
            built,
            dropped,
            reads,
            proven: met.proven,
        }
    }

    /// What is chosen: equal choices are equal values. Candidates go by those that they are not told
    /// from: a question that reads a twin of what it read has made no other choice.
    fn chosen(
        &self,
        choice: Choice,
        selection: &Selection,
        twins: &[ShapeId],
    ) -> Option<BTreeSet<ShapeId>> {
        match choice {
            Choice::Structure(at) => {
                let shape = *twins.get(self.shape(at)?)?;
                let built = selection.shapes.keys().filter_map(|s| twins.get(*s));
                Some(built.copied().filter(|s| *s == shape).collect())
            }
            Choice::Question(at) => Some(by_twins(&self.read_by(at, selection)?, twins)),
            Choice::Structures => Some(selection.shapes.keys().copied().collect()),
        }
    }

    fn shape(&self, structure: usize) -> Option<ShapeId> {
        self.selection.shapes.keys().nth(structure).copied()
    }

    /// The candidates that a question reads.
    fn read_by(&self, question: usize, selection: &Selection) -> Option<BTreeSet<ShapeId>> {
        let reader = self.prepared.readers.get(question)?;
        Some(read(reader.settled(question, selection)?))
    }
}

/// What was made again, about the design that is there, where another one that costs the same was
/// made: what is told is told of the one that people see.
fn about<'m>(mut made: Made<'m>, options: &Options, design: &Design) -> Made<'m> {
    if made.design.beyond(design).is_empty() && design.beyond(&made.design).is_empty() {
        return made;
    }
    let programme = made.prepared.programme(options);
    let known = programme.selection_of(design).filter(|selection| {
        let mix = made.mix.clone();
        let model = programme.planner.model;
        let again = assemble(model, options, mix, &programme, selection);
        again.is_ok_and(|again| {
            // Structures go by their position.
            let mut pairs = again.structures.iter().zip(&design.structures);
            let cost = (again.total - design.total).abs();
            pairs.all(|(a, b)| a.same_rows(b)) && cost <= 1e-9 * design.total.abs()
        })
    });
    drop(programme);
    if let Some(selection) = known {
        made.selection = selection;
        made.design = design.clone();
    }
    made
}

/// The candidates that an option reads.
fn read(option: &PlanOption) -> BTreeSet<ShapeId> {
    option.requires.iter().map(|r| r.shape).collect()
}

/// Candidates by the first of their twins.
fn by_twins(shapes: &BTreeSet<ShapeId>, twins: &[ShapeId]) -> BTreeSet<ShapeId> {
    let firsts = shapes.iter().filter_map(|&s| twins.get(s));
    firsts.copied().collect()
}

/// Whether two candidates differ in no more than the direction of an order or where the partition
/// key ends. A part of a home is like no other.
fn twin(one: &Shape, other: &Shape) -> bool {
    let (a, b) = (&one.structure, &other.structure);
    let whole = one.other_part.is_none() && other.other_part.is_none();
    (whole || std::ptr::eq(one, other))
        && a.anchor == b.anchor
        && a.over == b.over
        && a.filter == b.filter
        && a.kind == b.kind
        && a.key().eq(b.key())
}
