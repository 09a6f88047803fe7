//! Seeded random models (as text), facts, parameters and cursors.

mod changes;
mod conditions;
mod data;
mod draft;
mod draft_text;
mod focus;
mod lifetimes;
mod params;
mod paths;
mod questions;
mod rng;
mod values;

pub use data::facts;
pub use lifetimes::{advance, deadlines};
pub use params::{change_params, cursor, question_params};
pub use rng::Rng;
pub use values::scalar;

use draft::Draft;
use std::fmt::Write;

/// What a generated model holds.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Entities at most.
    pub entities: usize,
    /// Questions at most.
    pub questions: usize,
    /// Changes at most.
    pub changes: usize,
}

impl Default for Size {
    fn default() -> Self {
        Size {
            entities: 5,
            questions: 6,
            changes: 6,
        }
    }
}

/// The text of a random model that resolves without errors.
pub fn model(rng: &mut Rng, size: Size) -> String {
    let draft = Draft::random(rng, size.entities);
    text(rng, size, &draft)
}

/// The same, with entities and inserts that expire.
pub fn timed_model(rng: &mut Rng, size: Size) -> String {
    let mut draft = Draft::random(rng, size.entities);
    draft.lifetimes(rng);
    text(rng, size, &draft)
}

fn text(rng: &mut Rng, size: Size, draft: &Draft) -> String {
    let mut text = draft.text();
    for i in 0..rng.between(1, size.questions) {
        let question = questions::question(rng, draft);
        let _ = writeln!(
            text,
            "question q{i} ({}/s)\n  {question}",
            rng.between(1, 500)
        );
    }
    text.push('\n');
    for i in 0..rng.between(1, size.changes) {
        let change = changes::change(rng, draft);
        let _ = writeln!(text, "change c{i} ({}/s) {change}", rng.between(1, 100));
    }
    text
}
