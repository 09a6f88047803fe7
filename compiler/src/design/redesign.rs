//! Where a choice flips on a target whose limits make the candidates depend on rates.
//!
//! How many buckets and salts keep a partition small and cool follows from how often it is read and
//! written, so the candidates of one rate are not those of another. Each rate that is asked about is
//! designed anew from the model. A choice flips between two rates close to each other if it is made
//! at one and not at the other; what lies further away than a flip is not looked at.

use super::popular_key::totals;
use super::spread::{directory, unspread};
use super::study::{Choice, Flip};
use super::{Design, Options, design};
use crate::model::Model;
use crate::view::{Kind, Structure};
use std::cell::Cell;
use std::collections::BTreeSet;

/// Two rates whose quotient is no more than this are one to a reader.
const CLOSE: f64 = 1.01;
/// How many times its rate a statement is made dearer.
const FAR: f64 = 1e6;
/// So little of a rate is looked at: of less nothing is left in the price of everything that could be
/// told from rounding.
const LITTLE: f64 = 1e-8;
/// Rates that are looked at one after another are so many times apart.
const STEP: f64 = 10.0;
/// A rate of nothing is followed from here on.
const LEAST: f64 = 1e-6;
/// Designs are made for one choice until they have had so many variables together: a model of the
/// size of the examples may be designed some thousand times, one of hundreds of questions some
/// dozens of times.
const VARIABLES: usize = 4_000_000;

/// The search for the flips of one choice.
pub(super) struct Redesign<'s> {
    model: &'s Model,
    options: &'s Options,
    mix: usize,
    own: &'s Design,
    choice: Choice,
    /// What is chosen at the model's rates.
    chosen: BTreeSet<Structure>,
    /// Variables of the designs that may still be made.
    left: Cell<usize>,
}

/// Two rates: at the first the choice is made, at the second it is not.
struct Between {
    kept: (f64, bool),
    lost: (f64, Design),
}

impl<'s> Redesign<'s> {
    pub(super) fn new(
        model: &'s Model,
        options: &'s Options,
        mix: usize,
        own: &'s Design,
        choice: Choice,
    ) -> Redesign<'s> {
        let split = own.model_of(model);
        let chosen = match choice {
            Choice::Structure(at) => core(&split, own, at).into_iter().collect(),
            Choice::Question(_) | Choice::Structures => chosen(&split, own, choice),
        };
        Redesign {
            model,
            options,
            mix,
            own,
            choice,
            chosen,
            left: Cell::new(VARIABLES),
        }
    }

    /// The nearest rates of a statement, below and above its own, between which the choice was found
    /// to flip. `hints`: where it would with the candidates of today's rates.
    pub(super) fn by(&self, statement: usize, hints: &[&Flip]) -> Vec<Flip> {
        let Some(rate) = self.rate(statement) else {
            return vec![];
        };
        let start = rate.max(LEAST);
        let ends = [
            (rate > 0.0).then(|| (start * LITTLE).min(rate)),
            Some(start * FAR),
        ];
        let towards = |far: f64| {
            let up = far > rate;
            let hint = hints.iter().find(|h| (h.at > rate) == up);
            match hint {
                // Too little to be told by designs.
                Some(hint) if (hint.at > far) == up => Some(Flip {
                    proven: false,
                    ..(*hint).clone()
                }),
                _ => {
                    let found = self.towards(statement, rate, far, hint.map(|h| h.at));
                    found.map(|between| self.told(statement, rate, between))
                }
            }
        };
        ends.into_iter().flatten().filter_map(towards).collect()
    }

    /// The nearest flip between a rate and another one.
    fn towards(&self, statement: usize, rate: f64, far: f64, hint: Option<f64>) -> Option<Between> {
        let up = far > rate;
        let mut from = rate.max(LEAST.min(far));
        if let Some(hint) = hint {
            let apart = CLOSE.sqrt();
            let (near, beyond) = if up {
                (hint / apart, hint * apart)
            } else {
                (hint * apart, hint / apart)
            };
            // As near to the rate of the model as no other rate.
            let near = if up { near.max(rate) } else { near.min(rate) };
            match self.at(statement, near)? {
                (other, false) => return self.halved(statement, (from, true), (near, other)),
                (of, true) => match self.at(statement, beyond)? {
                    (other, false) => {
                        return Some(Between {
                            kept: (near, of.search.optimal),
                            lost: (beyond, other),
                        });
                    }
                    (_, true) => from = beyond,
                },
            }
        } else {
            // Nothing was found with the candidates of today's rates: with others it may flip.
            let (_, halfway) = self.at(statement, (from * far).sqrt())?;
            let (_, kept) = self.at(statement, far)?;
            if kept && halfway {
                return None;
            }
        }
        let mut kept = true;
        while from != far {
            let next = if up {
                (from * STEP).min(far)
            } else {
                (from / STEP).max(far)
            };
            match self.at(statement, next)? {
                (other, false) => return self.halved(statement, (from, kept), (next, other)),
                (of, true) => (from, kept) = (next, of.search.optimal),
            }
        }
        None
    }

    /// Halves what is between a rate at which the choice is made and one at which it is not.
    fn halved(
        &self,
        statement: usize,
        mut kept: (f64, bool),
        mut lost: (f64, Design),
    ) -> Option<Between> {
        while (lost.0 / kept.0).max(kept.0 / lost.0) > CLOSE {
            let between = (kept.0 * lost.0).sqrt();
            match self.at(statement, between)? {
                (of, true) => kept = (between, of.search.optimal),
                (other, false) => lost = (between, other),
            }
        }
        Some(Between { kept, lost })
    }

    /// The design where a statement has some rate, and whether the choice is made there; none where
    /// there is no design, or none may be made any more.
    fn at(&self, statement: usize, rate: f64) -> Option<(Design, bool)> {
        let left = self.left.get();
        if left == 0 {
            return None;
        }
        let mut model = self.model.clone();
        let questions = model.questions.iter_mut().map(|q| &mut q.rates);
        let changes = model.changes.iter_mut().map(|c| &mut c.rates);
        let rates = questions.chain(changes).nth(statement)?;
        match rates.get_mut(self.mix) {
            Some(of_mix) => *of_mix = rate,
            None => *rates = vec![rate],
        }
        let other = design(&model, self.options).ok()?;
        self.left
            .set(left.saturating_sub(other.search.variables.max(1)));
        let made = chosen(&other.model_of(&model), &other, self.choice);
        let kept = match self.choice {
            Choice::Structure(_) => made.is_superset(&self.chosen),
            Choice::Question(_) | Choice::Structures => made == self.chosen,
        };
        Some((other, kept))
    }

    fn rate(&self, statement: usize) -> Option<f64> {
        let questions = self.model.questions.iter().map(|q| &q.rates);
        let changes = self.model.changes.iter().map(|c| &c.rates);
        let rates = questions.chain(changes).nth(statement)?;
        rates.get(self.mix).or(rates.first()).copied()
    }

    fn told(&self, statement: usize, rate: f64, between: Between) -> Flip {
        let Between { kept, lost } = between;
        let (at, other) = lost;
        let questions = self.model.questions.iter().map(|q| &q.name);
        let names = questions.chain(self.model.changes.iter().map(|c| &c.name));
        let reads = match self.choice {
            Choice::Question(at) => other.read_by(at),
            Choice::Structure(_) | Choice::Structures => vec![],
        };
        Flip {
            statement: names.skip(statement).take(1).cloned().collect(),
            rate,
            at: (kept.0 * at).sqrt(),
            built: self.missing(&other, self.own),
            dropped: self.missing(self.own, &other),
            reads,
            proven: kept.1 && other.search.optimal && (at / kept.0).max(kept.0 / at) <= CLOSE,
        }
    }

    /// Names of structures of one design of which another has none that differs in no more than how
    /// it is spread.
    fn missing(&self, of: &Design, from: &Design) -> Vec<String> {
        let known = chosen(&from.model_of(self.model), from, Choice::Structures);
        let split = of.model_of(self.model);
        let missing = of.structures.iter().enumerate().filter(|(at, s)| {
            let stands_for_others = serves_others(&split, of, s);
            !stands_for_others && core(&split, of, *at).is_some_and(|core| !known.contains(&core))
        });
        missing.map(|(_, s)| s.name.clone()).collect()
    }
}

/// What a design has that a choice is about: of a structure, whether it is among all.
fn chosen(model: &Model, of: &Design, choice: Choice) -> BTreeSet<Structure> {
    let read = match choice {
        Choice::Question(at) => Some(of.structures_read_by(at)),
        Choice::Structure(_) | Choice::Structures => None,
    };
    let all = of.structures.iter().enumerate();
    let counts = |(at, s): &(usize, &Structure)| match &read {
        Some(read) => read.contains(at) && !serves_others(model, of, s),
        None => matches!(choice, Choice::Structure(_)) || !serves_others(model, of, s),
    };
    let counted = all.filter(counts);
    counted.filter_map(|(at, _)| core(model, of, at)).collect()
}

/// A structure as it is without what spreads it, whatever it keeps, in whichever directions, and
/// wherever its partition key ends: what is left is what people mean by it. Of a home in parts the
/// larger one is the home, and the other one what it keeps.
fn core(model: &Model, of: &Design, at: usize) -> Option<Structure> {
    let s = of.structures.get(at)?;
    let mut core = unspread(model, s);
    let clustering = std::mem::take(&mut core.clustering);
    core.partition
        .extend(clustering.into_iter().map(|(e, _)| e));
    if of.alike(s).first() != Some(&at) {
        core.columns.clone_from(&s.columns);
        core.columns.sort();
    }
    Some(core)
}

/// Whether a structure is there for how others are spread: it lists their pieces or counts what is
/// in them.
fn serves_others(model: &Model, of: &Design, s: &Structure) -> bool {
    let lists = |t: &Structure| {
        directory(model, t).is_some_and(|d| {
            let pieces = |s: &Structure| s.clustering.iter().map(|(e, _)| e.clone()).next();
            (d.anchor, &d.over, &d.filter) == (s.anchor, &s.over, &s.filter)
                && pieces(&d) == pieces(s)
        })
    };
    let directory = s.kind == Kind::Groups && s.columns.is_empty();
    totals(model, s).is_some() || directory && of.structures.iter().any(lists)
}
