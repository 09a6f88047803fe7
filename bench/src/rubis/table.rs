//! What is printed.

use super::SUBJECTS;
use super::mix::Statement;
use super::run::{Subject, Took};
use crate::measure;

/// What was given, and what had to be added.
pub fn schemas(subjects: &[Subject]) {
    println!(
        "| schema | structures | added, so that no fact is lost and changes can be checked | MB |"
    );
    println!("|---|---|---|---|");
    for s in subjects {
        let added = if s.added.is_empty() {
            "–".to_owned()
        } else {
            s.added.join(", ")
        };
        let megabytes = s.bytes as f64 / 1e6;
        println!("| {} | {} | {added} | {megabytes:.0} |", s.name, s.given);
    }
}

type Of = fn(&Took) -> f64;
const CPU: Of = |t| t.cpu;
const WALL: Of = |t| t.wall;

/// Schemas, one a line, with what was published of them.
pub fn overall(statements: &[Statement], subjects: &[Subject]) {
    println!(
        "| schema | questions | of ours | changes | rows a change | of them added | **weighted mean** | \
         p99 | of ours | by blocks, 95 % of the median | wall: mean | p99 | published, ms | of the peer's |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mean = |s, of, keep: fn(&Statement) -> bool| weighted(statements, s, of, keep);
    let ours = mean(&subjects[0], CPU, |_| true);
    let asked = mean(&subjects[0], CPU, |s| s.is_question);
    let peer = SUBJECTS[1].2;
    for (s, (_, _, published)) in subjects.iter().zip(SUBJECTS) {
        let questions = mean(s, CPU, |s| s.is_question);
        let all = mean(s, CPU, |_| true);
        let (written, added) = rows(statements, s);
        let blocks = s.blocks.iter().zip(&subjects[0].blocks);
        let mut ratios: Vec<f64> = blocks.map(|(s, ours)| s / ours).collect();
        let (ratio, (low, high)) = measure::middle(&mut ratios);
        println!(
            "| {} | {} | {:.2} | {} | {written:.1} | {added:.1} | **{}** | {} | **{:.2}** | \
             {ratio:.2} ({low:.2} to {high:.2}) | {} | {} | {} | {} |",
            s.name,
            micros(questions),
            questions / asked,
            micros(mean(s, CPU, |s| !s.is_question)),
            micros(all),
            micros(p99(statements, s, CPU, |_| true)),
            all / ours,
            micros(mean(s, WALL, |_| true)),
            micros(p99(statements, s, WALL, |_| true)),
            published.map_or("–".to_owned(), |p| p.to_string()),
            published
                .zip(peer)
                .map_or("–".to_owned(), |(p, peer)| format!("{:.1}", p / peer)),
        );
    }
}

/// The groups of the workload: all their statements together.
pub fn groups(statements: &[Statement], subjects: &[Subject]) {
    println!("\n| group | {} |", heads(subjects, "mean, p99"));
    println!("|---|{}", "---|".repeat(subjects.len()));
    let mut names: Vec<&str> = statements.iter().map(|s| s.group.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let cell = |s| {
            let mean = weighted(statements, s, CPU, |s| s.group == name);
            let high = p99(statements, s, CPU, |s| s.group == name);
            format!("{}, {}", micros(mean), micros(high))
        };
        let cells: Vec<String> = subjects.iter().map(cell).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

/// The statements one by one.
pub fn each(statements: &[Statement], subjects: &[Subject]) {
    println!(
        "\n| statement | weight | run | {} | {} |",
        heads(subjects, "mean"),
        heads(subjects, "rows")
    );
    println!("|---|---|---|{}", "---|".repeat(2 * subjects.len()));
    for (at, statement) in statements.iter().enumerate() {
        let count = subjects[0].took[at].len();
        let cells = subjects.iter().map(|s| micros(mean(&s.took[at], CPU)));
        let read = subjects
            .iter()
            .map(|s| format!("{:.1}", s.rows[at] as f64 / count.max(1) as f64));
        let cells: Vec<String> = cells.chain(read).collect();
        let Statement { name, weight, .. } = statement;
        println!("| {name} | {weight} | {count} | {} |", cells.join(" | "));
    }
}

/// Changes alone.
pub fn synced(statements: &[Statement], subjects: &[Subject]) {
    println!("| schema | changes run | mean, µs of the wall's | p99 | µs of CPU time |");
    println!("|---|---|---|---|---|");
    for s in subjects {
        let count: usize = s.took.iter().map(Vec::len).sum();
        let changes = |s: &Statement| !s.is_question;
        println!(
            "| {} | {count} | {} | {} | {} |",
            s.name,
            micros(weighted(statements, s, WALL, changes)),
            micros(p99(statements, s, WALL, changes)),
            micros(weighted(statements, s, CPU, changes)),
        );
    }
}

fn heads(subjects: &[Subject], what: &str) -> String {
    let heads: Vec<String> = subjects
        .iter()
        .map(|s| format!("{}: {what}", s.name))
        .collect();
    heads.join(" | ")
}

/// The mean of a statement's mean, by weight: rare statements count as the mix has them, however
/// often they were drawn.
fn weighted(
    statements: &[Statement],
    subject: &Subject,
    of: Of,
    keep: impl Fn(&Statement) -> bool,
) -> f64 {
    let kept = statements.iter().zip(&subject.took);
    let kept = kept.filter(|(s, took)| keep(s) && !took.is_empty());
    let (sum, weight) = kept.fold((0.0, 0.0), |(sum, weight), (s, took)| {
        (sum + s.weight * mean(took, of), weight + s.weight)
    });
    sum / weight
}

fn p99(
    statements: &[Statement],
    subject: &Subject,
    of: Of,
    keep: impl Fn(&Statement) -> bool,
) -> f64 {
    let kept = statements.iter().zip(&subject.took);
    let kept = kept.filter(|(s, _)| keep(s));
    let mut all: Vec<f64> = kept.flat_map(|(_, took)| took.iter().map(of)).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() * 99 / 100).copied().unwrap_or(f64::NAN)
}

fn mean(took: &[Took], of: Of) -> f64 {
    took.iter().map(of).sum::<f64>() / took.len() as f64
}

/// Rows written by a change, on average, and those of them in structures that were added.
fn rows(statements: &[Statement], subject: &Subject) -> (f64, f64) {
    let changes = statements
        .iter()
        .enumerate()
        .filter(|(_, s)| !s.is_question);
    let (rows, runs) = changes.fold((0, 0), |(rows, runs), (at, _)| {
        (rows + subject.rows[at], runs + subject.took[at].len())
    });
    let runs = runs.max(1) as f64;
    (rows as f64 / runs, subject.extra as f64 / runs)
}

fn micros(nanos: f64) -> String {
    let micros = nanos / 1e3;
    match micros {
        m if m < 10.0 => format!("{m:.2}"),
        m if m < 100.0 => format!("{m:.1}"),
        m => format!("{m:.0}"),
    }
}
