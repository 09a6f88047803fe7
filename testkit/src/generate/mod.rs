//! Seeded random models (as text), facts, parameters and cursors.

mod changes;
mod conditions;
mod data;
mod draft;
mod draft_text;
mod focus;
mod gathered;
mod lifetimes;
mod params;
mod paths;
mod questions;
mod rng;
mod values;

pub use data::{facts, rows_to_put};
pub use lifetimes::{advance, deadlines};
pub use params::{change_params, cursor, question_params};
pub use rng::Rng;
pub use values::scalar;

use draft::{About, Draft};
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
    /// Also what came to the generator later. Without it a seed gives the model that it once gave.
    pub wide: bool,
}

impl Default for Size {
    fn default() -> Self {
        Size {
            entities: 5,
            questions: 6,
            changes: 6,
            wide: true,
        }
    }
}

/// The text of a random model that resolves without errors.
pub fn model(rng: &mut Rng, size: Size) -> String {
    let mut draft = Draft::random(rng, size.entities);
    text(rng, size, &mut draft)
}

/// The same, with entities and inserts that expire.
pub fn timed_model(rng: &mut Rng, size: Size) -> String {
    let mut draft = Draft::random(rng, size.entities);
    draft.lifetimes(rng);
    text(rng, size, &mut draft)
}

/// The same, where most questions list several values of what partitions are by.
pub fn listing_model(rng: &mut Rng, size: Size) -> String {
    let mut draft = Draft::random(rng, size.entities);
    draft.lifetimes(rng);
    draft.about = About::Lists;
    text(rng, size, &mut draft)
}

/// The same, where most questions are about groups of what elements of lists say.
pub fn gathering_model(rng: &mut Rng, size: Size) -> String {
    let mut draft = Draft::random(rng, size.entities);
    draft.gather(rng);
    text(rng, size, &mut draft)
}

fn text(rng: &mut Rng, size: Size, draft: &mut Draft) -> String {
    if size.wide {
        draft.widen(rng);
    }
    let mut text = draft.text();
    for i in 0..rng.between(1, size.questions) {
        let question = questions::question(rng, draft);
        let rate = rate(rng, draft, 500);
        let within = if draft.wide && rng.percent(15) {
            ", within 2%"
        } else {
            ""
        };
        let _ = writeln!(text, "question q{i} ({rate}{within})\n  {question}");
    }
    text.push('\n');
    for i in 0..rng.between(1, size.changes) {
        let change = changes::change(rng, draft);
        let rate = rate(rng, draft, 100);
        let _ = writeln!(text, "change c{i} ({rate}) {change}");
    }
    text
}

/// A rate, or weights in one or both of the model's mixes.
fn rate(rng: &mut Rng, draft: &Draft, most: usize) -> String {
    let mut some = || rng.between(1, most);
    if !draft.mixes {
        return format!("{}/s", some());
    }
    let (day, night) = (some(), some());
    match some() % 4 {
        0 => format!("day {day}"),
        1 => format!("night {night}"),
        _ => format!("day {day}, night {night}"),
    }
}
