//! Whether designs flip where they are said to: on the three large models, designs made again a
//! little before and a little beyond every rate that a study tells.

use crate::Result;
use crate::measure::cpu_nanos;
use querent_compiler::design::study::{Choice, Study};
use querent_compiler::design::{Design, Options, design};
use querent_compiler::model::Model;

const MODELS: [(&str, &str); 3] = [
    (
        "chinook",
        include_str!("../../testkit/models/chinook.querent"),
    ),
    ("ldbc", include_str!("../../testkit/models/ldbc.querent")),
    (
        "sakila",
        include_str!("../../testkit/models/sakila.querent"),
    ),
];
/// Of the structures of a design that are no home, every so many one is asked about.
const EVERY: usize = 6;
/// How far from the rate of a flip the designs are made.
const AWAY: f64 = 0.03;

/// Prints one line for each model; an error where a flip that is said to be proven is none.
pub fn run() -> Result<()> {
    println!(
        "| model | gap | structures asked | CPU s each | flips | proven | confirmed | not confirmed |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut wrong = Vec::new();
    for (name, text) in MODELS {
        wrong.extend(of(name, text)?);
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("proven, but not so: {}", wrong.join("; ")).into())
}

/// The flips of a model that are said to be proven and are none.
fn of(name: &str, text: &str) -> Result<Vec<String>> {
    let (model, found) = querent_compiler::parse(name, text);
    let model = model.ok_or_else(|| format!("the model has errors: {found:?}"))?;
    let options = Options::embedded();
    let made = design(&model, &options)?;
    let split = made.model_of(&model);
    let study = Study::of(&split, &options, &made)?;
    let copies = (0..made.structures.len()).filter(|&at| made.notes[at].home_of.is_empty());
    let asked: Vec<usize> = copies.step_by(EVERY).collect();
    let (mut flips, mut proven, mut confirmed) = (0, 0, 0);
    let (mut seconds, mut wrong) = (0.0, Vec::new());
    for &at in &asked {
        let start = cpu_nanos();
        let told = study.flips(Choice::Structure(at)).found;
        seconds += (cpu_nanos() - start) / 1e9;
        for flip in told {
            let away = if flip.at < flip.rate { -AWAY } else { AWAY };
            let has = |rate: f64| -> Result<bool> {
                let again: Design = design(&at_rate(&model, &flip.statement, rate), &options)?;
                let mut structures = again.structures.iter();
                Ok(structures.any(|s| s.same_rows(&made.structures[at])))
            };
            let agree = has(flip.at * (1.0 - away))? && !has(flip.at * (1.0 + away))?;
            flips += 1;
            proven += usize::from(flip.proven);
            confirmed += usize::from(agree);
            if flip.proven && !agree {
                let structure = &made.structures[at].name;
                wrong.push(format!("{name}, {structure}: {flip:?}"));
            }
        }
    }
    println!(
        "| {name} | {:.3} % | {} | {:.1} | {flips} | {proven} | {confirmed} | {} |",
        made.search.gap * 100.0,
        asked.len(),
        seconds / asked.len() as f64,
        flips - confirmed,
    );
    Ok(wrong)
}

fn at_rate(model: &Model, statement: &str, rate: f64) -> Model {
    let mut model = model.clone();
    for question in model.questions.iter_mut().filter(|q| q.name == statement) {
        question.rates = vec![rate];
    }
    for change in model.changes.iter_mut().filter(|c| c.name == statement) {
        change.rates = vec![rate];
    }
    model
}
