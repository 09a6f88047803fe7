//! Matches once: partial plans that have bound the same values pose the same problem, and the same
//! candidates serve it in the same ways.

use super::Planner;
use super::matching::Match;
use super::problem::Problem;
use crate::design::shape::ShapeId;
use crate::model::EntityId;
use std::collections::HashMap;
use std::rc::Rc;

/// The candidates that serve a problem, each with a way in which it does.
type Matches = Rc<Vec<(ShapeId, Match)>>;

/// The problems of the statement at hand. Beside the candidates, a match depends on the problem and on
/// the number of the next frame alone.
#[derive(Debug, Default)]
pub(super) struct Matched {
    /// The edition of the candidates.
    edition: usize,
    by_place: HashMap<(EntityId, u16), Vec<(Problem, Matches)>>,
}

impl Planner<'_> {
    /// The ways in which candidates serve a problem, whose rows are behind so many frames; where
    /// candidates are made, those that it calls for among them.
    pub(super) fn matches(&mut self, problem: &Problem, frames: u16) -> Matches {
        let place = (problem.entity, frames);
        if let Some(found) = self.matched_before(place, problem) {
            return found;
        }
        if self.growing {
            problem.grow(self);
        }
        let candidates = problem.candidates(&self.shapes).into_iter();
        let found = candidates.flat_map(|shape| {
            let ways = problem.matches(self, self.shapes.get(shape), frames);
            ways.into_iter().map(move |way| (shape, way))
        });
        let found: Matches = Rc::new(found.collect());
        let edition = self.shapes.edition();
        if self.matched.edition != edition {
            self.matched = Matched {
                edition,
                ..Matched::default()
            };
        }
        let same = self.matched.by_place.entry(place).or_default();
        same.push((problem.clone(), found.clone()));
        found
    }

    /// What was found before over the same candidates: what the problem calls for is among them.
    fn matched_before(&self, place: (EntityId, u16), problem: &Problem) -> Option<Matches> {
        #[cfg(test)]
        if self.forgetful {
            return None;
        }
        if self.matched.edition != self.shapes.edition() {
            return None;
        }
        let mut known = self.matched.by_place.get(&place)?.iter();
        let (_, found) = known.find(|(known, _)| known == problem)?;
        Some(found.clone())
    }
}
