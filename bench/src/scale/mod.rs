//! How design time, memory and the proven gap grow with the number of questions, and how often a
//! small change of a rate changes a design: on models drawn from a fixed seed (entities in a web of
//! references, with the questions that applications ask) and on the examples.

mod applications;

use crate::Result;
use crate::measure::cpu_nanos;
use querent_compiler::design::{Design, Options, design, target};
use querent_compiler::model::Model;
use querent_compiler::plot::{Like, Plot, Point};
use std::fmt::Write as _;

const SIZES: [usize; 6] = [15, 30, 60, 120, 240, 480];
const SEED: u64 = 7;
/// As many structures as the hardest line allows.
const FEW: usize = 64;
/// The drawn models of the stability trial: questions of each, and how many.
const DRAWN: (usize, u64) = (15, 6);

const EXAMPLES: [(&str, &str, u64); 3] = [
    ("reddit", include_str!("../../../examples/reddit.querent"), 60),
    ("ebay", include_str!("../../../examples/ebay.querent"), 60),
    ("rubis", include_str!("../../../examples/rubis.querent"), 15),
];

/// Models like those of applications: sizes, and how many of each.
const APPLICATIONS: [usize; 4] = [30, 60, 120, 240];
const EACH: u64 = 3;

/// The text of the model of an application with so many questions.
pub fn application(questions: usize, over: Option<usize>, seed: u64) -> String {
    let entities = over.unwrap_or(entities(questions)).max(1);
    applications::model(questions, entities, seed)
}

/// Prints a line for each model of an application, up to a largest size.
pub fn applications(most: usize, target: &str) -> Result<()> {
    println!(
        "| questions | entities | seed | candidates | variables | structures | CPU s | gap | peak MB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for questions in APPLICATIONS.into_iter().filter(|&n| n <= most) {
        for seed in 1..=EACH {
            let text = application(questions, None, seed);
            let options = Options {
                target: target::named(target).ok_or("no such target")?,
                ..Options::embedded()
            };
            line(&text, (questions, &seed.to_string()), &options)?;
        }
    }
    Ok(())
}

/// Prints one line per size, up to a largest one, and draws the curve where a file is named.
pub fn run(most: usize, plot: Option<&str>) -> Result<()> {
    println!(
        "| questions | entities | cap | candidates | variables | structures | CPU s | gap | peak MB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut points = vec![];
    for questions in SIZES.into_iter().filter(|&n| n <= most) {
        let options = Options::embedded();
        let structures = options.target.limits.structures.to_string();
        let text = model(questions, SEED);
        let (seconds, megabytes) = line(&text, (questions, &structures), &options)?;
        for (series, y) in [seconds, megabytes].into_iter().enumerate() {
            points.push(Point {
                x: questions as f64,
                y,
                series,
                hollow: false,
                label: format!("{questions} questions"),
            });
        }
    }
    if most >= 240 {
        // The hardest: a store that has room for few structures, so that not all that pay fit.
        let mut few = Options::embedded();
        few.target.limits.structures = FEW;
        line(&model(240, SEED), (240, &FEW.to_string()), &few)?;
    }
    if let Some(file) = plot {
        let plot = Plot {
            title: "The time and memory of a design".into(),
            x: "questions".into(),
            y: "CPU seconds, megabytes".into(),
            series: vec!["CPU seconds".into(), "peak memory, MB".into()],
            kinds: None,
            like: Like::Curves,
            points,
        };
        std::fs::write(file, plot.svg())?;
    }
    Ok(())
}

/// Prints the line of one model; its CPU seconds, and the peak of memory.
fn line(text: &str, (questions, which): (usize, &str), options: &Options) -> Result<(f64, f64)> {
    let start = cpu_nanos();
    let made = design(&parsed(text)?, options)?;
    let seconds = (cpu_nanos() - start) / 1e9;
    println!(
        "| {questions} | {} | {which} | {} | {} | {} | {seconds:.2} | {:.3} % | {} |",
        entities(questions),
        made.search.candidates,
        made.search.variables,
        made.structures.len(),
        made.search.gap * 100.0,
        peak().map_or_else(|| "?".into(), |n| n.to_string()),
    );
    Ok((seconds, peak().unwrap_or(0) as f64))
}

fn parsed(text: &str) -> Result<Model> {
    let (model, found) = querent_compiler::parse("scale.querent", text);
    Ok(model.ok_or_else(|| format!("the model has errors: {found:?}"))?)
}

/// Prints how often the structures of a design change when one rate grows by a hundredth.
pub fn stability() -> Result<()> {
    println!("| model | trials | designs changed |");
    println!("|---|---|---|");
    let (mut trials, mut changed) = (0, 0);
    let mut told = |name: &str, n: u64, found: u64| {
        println!("| {name} | {n} | {found} |");
        trials += n;
        changed += found;
    };
    for (name, text, n) in EXAMPLES {
        let model = parsed(text)?;
        let mixes: Vec<Option<String>> = match model.mixes.as_slice() {
            [] => vec![None],
            mixes => mixes.iter().cloned().map(Some).collect(),
        };
        for (at, mix) in mixes.into_iter().enumerate() {
            let name = mix
                .as_ref()
                .map_or(name.to_owned(), |m| format!("{name}, {m}"));
            let options = Options {
                mix,
                ..Options::embedded()
            };
            told(&name, n, trial(&model, &options, at, n)?);
        }
    }
    let (questions, models) = DRAWN;
    for seed in 1..=models {
        let model = parsed(&self::model(questions, seed))?;
        let name = format!("drawn, seed {seed}");
        told(&name, 10, trial(&model, &Options::embedded(), 0, 10)?);
    }
    println!(
        "| all | {trials} | {changed} ({:.1} %) |",
        changed as f64 / trials.max(1) as f64 * 100.0
    );
    Ok(())
}

/// In how many of so many trials the structures change.
fn trial(model: &Model, options: &Options, mix: usize, trials: u64) -> Result<u64> {
    let before = structures(&design(model, options)?);
    let mut rng = Rng(SEED);
    let mut changed = 0;
    for _ in 0..trials {
        let mut model = model.clone();
        let questions = model.questions.iter_mut().map(|q| &mut q.rates);
        let mut rates: Vec<&mut Vec<f64>> = questions
            .chain(model.changes.iter_mut().map(|c| &mut c.rates))
            .filter(|r| r.get(mix).is_some_and(|&r| r > 0.0))
            .collect();
        let at = rng.below(rates.len());
        rates[at][mix] *= 1.01;
        changed += u64::from(structures(&design(&model, options)?) != before);
    }
    Ok(changed)
}

fn structures(design: &Design) -> String {
    format!("{:?}", design.structures)
}

fn entities(questions: usize) -> usize {
    (questions / 6).clamp(10, 40)
}

/// The most memory that the process has had, in MB, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize % n.max(1)
    }
    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// An entity of the drawn model: its attributes, what it refers to, and who refers to it by which
/// name.
#[derive(Default)]
struct Entity {
    attributes: Vec<String>,
    references: Vec<(String, usize)>,
    referrers: Vec<(String, usize)>,
}

/// The text of a model with so many questions.
fn model(questions: usize, seed: u64) -> String {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut out = String::from("model scale\n\n");
    let mut all: Vec<Entity> = Vec::new();
    for e in 0..entities(questions) {
        let mut entity = Entity::default();
        let _ = writeln!(
            out,
            "entity E{e} ({}) {{\n  id bigint key",
            *rng.one(&["1k", "20k", "500k", "5M"])
        );
        for a in 0..3 + rng.below(5) {
            let ty = *rng.one(&["int", "text(12)", "text(40)", "bool", "float"]);
            let _ = writeln!(out, "  a{a} {ty}");
            entity.attributes.push(format!("a{a}"));
        }
        out.push_str("  at timestamp\n");
        for r in 0..rng.below(3).min(e) {
            let target = rng.below(e);
            let _ = writeln!(
                out,
                "  r{r} -> E{target} as e{e}r{r} (avg {}, max {})",
                5 + rng.below(40),
                500 + rng.below(5000)
            );
            entity.references.push((format!("r{r}"), target));
            all[target].referrers.push((format!("e{e}r{r}"), e));
        }
        out.push_str("}\n");
        all.push(entity);
    }
    for q in 0..questions {
        let e = rng.below(all.len());
        let rate = *rng.one(&["1/s", "5/s", "20/s", "100/s", "1000/s", "10/h"]);
        let _ = writeln!(out, "question q{q} ({rate})");
        question(&mut rng, &all, e, &mut out);
    }
    for (e, entity) in all.iter().enumerate() {
        let rate = *rng.one(&["1/s", "10/s", "200/s", "5/h"]);
        let _ = writeln!(out, "change insert{e} ({rate}) insert E{e}");
        for a in &entity.attributes {
            if rng.below(3) == 0 {
                let rate = *rng.one(&["1/s", "50/s", "3/h"]);
                let _ = writeln!(
                    out,
                    "change set{e}{a} ({rate}) update E{e} set {a} where id = $id"
                );
            }
        }
        if rng.below(4) == 0 {
            let _ = writeln!(out, "change delete{e} (1/s) delete E{e} where id = $id");
        }
    }
    out
}

/// One question about an entity: by key, by reference, by value, with its referrers, or a count.
fn question(rng: &mut Rng, all: &[Entity], e: usize, out: &mut String) {
    let entity = &all[e];
    let mut select: Vec<String> = vec!["id".into()];
    for _ in 0..1 + rng.below(3) {
        select.push(rng.one(&entity.attributes).clone());
    }
    let mut filter = "id = $id".to_string();
    let mut tail = "";
    if let Some((r, target)) = entity.references.get(rng.below(3)) {
        if rng.below(2) == 0 {
            select.push(format!(
                "{r}.{} as other",
                rng.one(&all[*target].attributes)
            ));
        }
        if rng.below(3) > 0 {
            filter = format!("{r}.id = $r");
            tail = *rng.one(&["", " order by at desc limit 20", " order by at limit 50"]);
        }
    } else if rng.below(4) == 0 {
        filter = format!("{} = $a", rng.one(&entity.attributes));
        tail = *rng.one(&["", " order by at desc limit 10"]);
    }
    if filter == "id = $id" && !entity.referrers.is_empty() {
        let (name, from) = rng.one(&entity.referrers);
        match rng.below(4) {
            0 => select.push(format!("count({name}) as n")),
            1 => select.push(format!(
                "{name} {{ id, {} order by at }}",
                rng.one(&all[*from].attributes)
            )),
            _ => {}
        }
    }
    select.dedup();
    let mut seen: Vec<String> = Vec::new();
    for s in select {
        if !seen.contains(&s) {
            seen.push(s);
        }
    }
    let _ = writeln!(
        out,
        "  select {} from E{e} where {filter}{tail}",
        seen.join(", ")
    );
}
