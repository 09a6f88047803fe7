//! Why a design is as it is, told by designs that are not: without a structure, with the next best
//! plan, at other rates.

use super::design::{rate, rate_title};
use crate::designing::Designed;
use crate::progress::Shown;
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::plan::{self, Teller};
use crate::words::{self, number, structure};
use querent_compiler::design::study::{Choice, Flip, Study};
use querent_compiler::design::{Design, Purpose, WritePlan};
use querent_compiler::view::Structure;
use std::io::{self, Write};

/// Of a structure: which changes keep it true, what everything would cost without it, and at which
/// rates it would not be there.
pub(crate) fn of_structure(
    designed: &Designed,
    study: &Study,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    print_upkeep(designed, at, colour, out)?;
    writeln!(out, "\n{}", words::heading(colour, "Without it"))?;
    let (other, twins) = without(designed, study, at);
    if twins {
        writeln!(
            out,
            "  the same in another order, or divided elsewhere, does as well; without that, too:"
        )?;
    }
    match other {
        None => writeln!(
            out,
            "  there is no design: it holds or checks what nothing else could"
        )?,
        Some(other) => {
            print_total(designed, &other, out)?;
            print_differences(designed, &other, colour, out)?;
            print_instead(designed, &other, colour, out)?;
        }
    }
    if study.is_given(at) {
        // A person chose it, whatever the rates.
        return Ok(());
    }
    let flips = flips(study, Choice::Structure(at));
    print_flips(designed, &flips, "a single question or change", colour, out)
}

/// The cheapest design without a structure. Where that costs as much because its like in another
/// order takes its place, the cheapest without both, and true.
pub(crate) fn without(designed: &Designed, study: &Study, at: usize) -> (Option<Design>, bool) {
    let other = study.without(at);
    if !study.is_given(at) && other.as_ref().is_some_and(|o| as_cheap(designed, o)) {
        let apart = study.without_twins(at);
        if apart.as_ref().is_some_and(|o| !as_cheap(designed, o)) {
            return (apart, true);
        }
    }
    (other, false)
}

/// The design with the next best plan of a question; where that is the same plan on the like of a
/// structure in another order, the next that is another.
pub(crate) fn next_best(designed: &Designed, study: &Study, at: usize) -> Option<Design> {
    let other = study.next_best(at)?;
    if !as_cheap(designed, &other) {
        return Some(other);
    }
    study.next_best_apart(at).or(Some(other))
}

/// Whether another design costs as much, as far as a reader is concerned.
fn as_cheap(designed: &Designed, other: &Design) -> bool {
    (other.total / designed.design.total - 1.0).abs() < 5e-5
}

/// Of a question: the next best plan, why it lost, and at which rates it would win.
pub(crate) fn of_question(
    designed: &Designed,
    study: &Study,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let Designed { model, unit, .. } = designed;
    writeln!(out, "\n{}", words::heading(colour, "Next best plan"))?;
    let other = next_best(designed, study, at);
    let found = other
        .as_ref()
        .and_then(|o| Some((o, o.plans.get(at)?, model.questions.get(at)?)));
    match found {
        None => writeln!(out, "  there is none with other structures")?,
        Some((other, priced, question)) => {
            let teller = Teller {
                model,
                design: other,
                params: &question.params,
            };
            let itself = designed.options.target.cost.ask;
            let lines = teller.lines(&priced.plan, &[]);
            plan::print_estimates(&lines, itself, *unit, colour, out)?;
            let own = designed.design.plans.get(at).map_or(0.0, |p| p.cost);
            let answering = (priced.cost - own) * priced.weight;
            let total = other.total - designed.design.total;
            if as_cheap(designed, other) {
                let each = unit.show(priced.cost);
                writeln!(
                    out,
                    "  it would do as well: {each} each, and everything costs as much"
                )?;
                return print_instead(designed, other, colour, out);
            }
            writeln!(
                out,
                "  it lost: {} each instead of {}; at its rate {}, all else {}, together {}",
                unit.show(priced.cost),
                unit.show(own),
                signed(designed, answering),
                signed(designed, total - answering),
                signed(designed, total),
            )?;
            print_instead(designed, other, colour, out)?;
        }
    }
    let flips = flips(study, Choice::Question(at));
    print_flips(designed, &flips, "a single question or change", colour, out)
}

/// The flips of a choice, with progress where that takes long.
pub(crate) fn flips(study: &Study, choice: Choice) -> Vec<Flip> {
    let mut shown = Shown::new();
    let found = study.flips_noting(choice, &mut |done, of| {
        shown.step_of_long(done + 1, of, "trying other rates");
    });
    shown.finish();
    found
}

/// Of a change: at which of its own rates there would be other structures.
pub(crate) fn of_change(
    designed: &Designed,
    study: &Study,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let flips = study.flips_of_change(at);
    print_flips(designed, &flips, "this change", colour, out)
}

/// The changes that write a structure.
fn print_upkeep(
    designed: &Designed,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(own) = designed.design.structures.get(at) else {
        return Ok(());
    };
    let writers = upkeep(&designed.design, &own.name);
    if writers.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::new(2, &[1, 2, 3, 4]);
    grid.head(&[
        "",
        rate_title(designed),
        "rows",
        "at most",
        "cost",
        "at its rate",
    ]);
    for writer in writers {
        grid.line([
            name(writer.change),
            plain(rate(designed, writer.weight)),
            plain(number::count(writer.rows)),
            plain(number::count(writer.rows_max)),
            plain(designed.unit.show(writer.cost)),
            faint(designed.unit.show(writer.cost * writer.weight)),
        ]);
    }
    writeln!(out, "\n{}", words::heading(colour, "Written by"))?;
    grid.print(colour, out)
}

/// What a change does to keep one structure true.
pub(crate) struct Upkeep<'d> {
    pub(crate) change: &'d str,
    pub(crate) weight: f64,
    pub(crate) rows: f64,
    pub(crate) rows_max: f64,
    pub(crate) cost: f64,
}

/// The changes that write a structure.
pub(crate) fn upkeep<'d>(design: &'d Design, structure: &str) -> Vec<Upkeep<'d>> {
    let of = design.writes.iter().map(|change| {
        let mut writer = Upkeep {
            change: &change.name,
            weight: change.weight,
            rows: 0.0,
            rows_max: 0.0,
            cost: 0.0,
        };
        let steps = change.steps.iter();
        for s in steps.filter(|s| s.structure == structure && s.purpose == Purpose::Maintain) {
            writer.rows += s.rows;
            writer.rows_max += s.rows_max;
            writer.cost += s.cost;
        }
        writer
    });
    of.filter(|writer| writer.rows > 0.0).collect()
}

fn print_total(designed: &Designed, other: &Design, out: &mut impl Write) -> io::Result<()> {
    let (ours, theirs) = (designed.design.total, other.total);
    let times = theirs / ours;
    if times < 1.0 - 5e-5 {
        return writeln!(
            out,
            "  everything costs {} instead of {}: {:.2} % less",
            designed.unit.show(theirs),
            designed.unit.show(ours),
            (1.0 - times) * 100.0
        );
    }
    if times < 1.0 + 5e-5 {
        return writeln!(
            out,
            "  everything costs as much: another structure does the same"
        );
    }
    let factor = if times >= 1.1 {
        format!("{} times as much", number::count(times))
    } else {
        format!("{:.2} % more", (times - 1.0) * 100.0)
    };
    writeln!(
        out,
        "  everything costs {} instead of {}: {factor}",
        designed.unit.show(theirs),
        designed.unit.show(ours)
    )
}

/// The statements whose prices differ.
fn print_differences(
    designed: &Designed,
    other: &Design,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let unit = designed.unit;
    let differing = differences(&designed.design, other);
    if differing.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::new(2, &[1, 2, 3]);
    grid.head(&[
        "",
        rate_title(designed),
        "with it",
        "without",
        "at its rate",
    ]);
    for d in &differing {
        let reads = match d.reads {
            Some((with, without)) if (with - without).abs() > 1e-4 * with.max(without) => {
                let (with, without) = (number::count(with), number::count(without));
                format!("it reads {without} instead of {with}")
            }
            _ => String::new(),
        };
        grid.line([
            name(d.statement),
            plain(rate(designed, d.weight)),
            plain(unit.show(d.with)),
            plain(unit.show(d.without)),
            faint(signed(designed, d.weight * (d.without - d.with))),
            faint(reads),
        ]);
    }
    grid.print(colour, out)
}

/// A statement whose price is another without something.
pub(crate) struct Difference<'d> {
    pub(crate) statement: &'d str,
    pub(crate) weight: f64,
    pub(crate) with: f64,
    pub(crate) without: f64,
    /// Of a change: the rows that it reads, with and without.
    pub(crate) reads: Option<(f64, f64)>,
}

/// The statements whose prices differ between two designs of a model.
pub(crate) fn differences<'d>(design: &'d Design, other: &Design) -> Vec<Difference<'d>> {
    let questions = design.plans.iter().zip(&other.plans);
    let questions = questions.map(|(a, b)| Difference {
        statement: &a.name,
        weight: a.weight,
        with: a.cost,
        without: b.cost,
        reads: None,
    });
    let reads = |w: &WritePlan| w.steps.iter().map(|s| s.reads).sum::<f64>();
    let changes = design.writes.iter().zip(&other.writes);
    let changes = changes.map(|(a, b)| Difference {
        statement: &a.name,
        weight: a.weight,
        with: a.cost,
        without: b.cost,
        reads: Some((reads(a), reads(b))),
    });
    let all = questions.chain(changes);
    all.filter(|d| (d.with - d.without).abs() > 1e-4 * d.with.max(d.without))
        .collect()
}

/// The structures that another design has instead.
fn print_instead(
    designed: &Designed,
    other: &Design,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let built = only(other, &designed.design);
    if built.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::new(2, &[]);
    for s in built {
        grid.line([
            plain("with"),
            name(s.name.clone()),
            plain(structure::key(&designed.model, s)),
        ]);
    }
    grid.print(colour, out)
}

/// The structures of a design that another one does not have.
pub(crate) fn only<'d>(of: &'d Design, without: &Design) -> Vec<&'d Structure> {
    let known = |s: &Structure| without.structures.iter().any(|t| t.same_rows(s));
    of.structures.iter().filter(|s| !known(s)).collect()
}

fn print_flips(
    designed: &Designed,
    flips: &[Flip],
    whose: &str,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "\n{}",
        words::heading(colour, "What would change the choice")
    )?;
    if flips.is_empty() {
        return writeln!(out, "  no rate of {whose}, from none to a million times");
    }
    let mut grid = Grid::new(2, &[2, 3]);
    for flip in flips {
        let word = if flip.at < flip.rate { "under" } else { "over" };
        let mut then = Vec::new();
        if !flip.reads.is_empty() {
            then.push(format!("reads {}", flip.reads.join(", ")));
        }
        // One that has the name of another has its key, and other columns or another order.
        let built = flip.built.iter().map(|name| match name {
            name if flip.dropped.contains(name) => format!("another {name}"),
            name => name.clone(),
        });
        let dropped = flip.dropped.iter().filter(|d| !flip.built.contains(d));
        for (word, names) in [
            ("with", built.collect::<Vec<_>>()),
            ("without", dropped.cloned().collect()),
        ] {
            if !names.is_empty() {
                then.push(format!("{word} {}", names.join(", ")));
            }
        }
        if !flip.proven {
            then.push("found, not proven".into());
        }
        grid.line([
            name(flip.statement.clone()),
            plain(word),
            plain(rate(designed, flip.at)),
            faint(format!("now {}", rate(designed, flip.rate))),
            plain(then.join(", ")),
        ]);
    }
    grid.print(colour, out)
}

/// A difference of costs with its sign.
fn signed(designed: &Designed, cost: f64) -> String {
    let sign = if cost < 0.0 { "−" } else { "+" };
    format!("{sign}{}", designed.unit.show(cost.abs()))
}
