//! Why a design is as it is, told by designs that are not: without a structure, with the next best
//! plan, at other rates.

use super::design::{rate, rate_title, rates_apart};
use super::upkeep;
use crate::designing::Designed;
use crate::progress::Shown;
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::plan::{self, Teller};
use crate::words::{self, number, structure};
use querent_compiler::design::study::{Choice, End, Flips, Study};
use querent_compiler::design::{Design, WritePlan};
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
    if let Some(own) = designed.design.structures.get(at) {
        upkeep::print(designed, own, colour, out)?;
        upkeep::print_reads(designed, own, colour, out)?;
    }
    of_choice(designed, study, at, colour, out)
}

/// Of a structure: what everything would cost without it, and at which rates it would not be there.
pub(crate) fn of_choice(
    designed: &Designed,
    study: &Study,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    print_without(designed, study, at, colour, out)?;
    if study.is_given(at) {
        // A person chose it, whatever the rates.
        return Ok(());
    }
    let flips = flips(study, Choice::Structure(at));
    print_flips(designed, &flips, "a single question or change", colour, out)
}

/// What there is without a structure.
pub(crate) enum Without {
    /// No design: nothing else could hold or check what it does.
    Nothing,
    /// Nothing but its like in another order, or divided elsewhere.
    Likes(Box<Design>),
    /// The cheapest design without it.
    Other(Box<Design>),
    /// The cheapest design without it and its likes, of which one would do as well.
    Apart(Box<Design>),
}

impl Without {
    pub(crate) fn design(&self) -> Option<&Design> {
        match self {
            Without::Nothing => None,
            Without::Likes(other) | Without::Other(other) | Without::Apart(other) => Some(other),
        }
    }
}

/// The cheapest design without a structure. Where that costs as much because its like in another
/// order takes its place, the cheapest without both.
pub(crate) fn without(designed: &Designed, study: &Study, at: usize) -> Without {
    let Some(other) = study.without(at).map(Box::new) else {
        return Without::Nothing;
    };
    if study.is_given(at) || !as_cheap(designed, &other) {
        return Without::Other(other);
    }
    match study.without_twins(at) {
        None => Without::Likes(other),
        Some(apart) if as_cheap(designed, &apart) => Without::Other(other),
        Some(apart) => Without::Apart(Box::new(apart)),
    }
}

fn print_without(
    designed: &Designed,
    study: &Study,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\n{}", words::heading(colour, "Without it"))?;
    let homes = designed.design.notes.get(at).map(structure::homes);
    let homes = homes.filter(|homes| !homes.is_empty());
    let found = without(designed, study, at);
    match (&found, &homes) {
        (Without::Nothing, None) => {
            return writeln!(
                out,
                "  there is no design: it holds or checks what nothing else could"
            );
        }
        (Without::Nothing, Some(homes)) => {
            return writeln!(out, "  there is no design: it is the only place of {homes}");
        }
        (Without::Likes(_), None) => {
            return writeln!(
                out,
                "  there is no design, but with the same in another order, or divided elsewhere, which does as well"
            );
        }
        (Without::Likes(_), Some(homes)) => {
            return writeln!(
                out,
                "  there is no design: it is the only place of {homes}, unless the same is kept in another order, or divided elsewhere"
            );
        }
        (Without::Apart(_), _) => writeln!(
            out,
            "  the same in another order, or divided elsewhere, does as well; without that, too:"
        )?,
        (Without::Other(_), _) => {}
    }
    let Some(other) = found.design() else {
        return Ok(());
    };
    print_total(designed, other, out)?;
    if let Some(homes) = homes {
        let places = new_homes(designed, other, at);
        writeln!(out, "  {homes} would then live in {}", places.join(", "))?;
    }
    print_differences(designed, other, colour, out)?;
    print_instead(designed, other, colour, out)
}

/// Where the facts that have their home in a structure have it in another design, with its key: it
/// may have the same name.
fn new_homes(designed: &Designed, other: &Design, at: usize) -> Vec<String> {
    let notes = &designed.design.notes;
    let facts = notes.get(at).map_or(&[][..], |note| &note.home_of);
    let places = other.structures.iter().zip(&other.notes);
    let places = places.filter(|(_, note)| note.home_of.iter().any(|f| facts.contains(f)));
    places
        .map(|(s, _)| format!("{} ({})", s.name, structure::key(&designed.model, s)))
        .collect()
}

/// The design with the next best plan of a question; where that is the same plan on the like of a
/// structure in another order, the next that is another.
pub(crate) fn next_best(designed: &Designed, study: &Study, at: usize) -> Option<Design> {
    let steps = |of: &Design| Some(of.plan_steps(&designed.model, &of.plans.get(at)?.plan));
    let other = study.next_best(at)?;
    let alike = steps(&other) == steps(&designed.design);
    if !alike && !as_cheap(designed, &other) {
        return Some(other);
    }
    let apart = study.next_best_apart(at);
    apart.or_else(|| (!alike).then_some(other))
}

/// Whether another design costs as much, as far as a reader is concerned: what some statements cost
/// more, others cost less. However much all the rest costs says nothing about that.
fn as_cheap(designed: &Designed, other: &Design) -> bool {
    let differing = differences(&designed.design, other);
    let each = differing.iter().map(|d| d.weight * (d.without - d.with));
    let apart: f64 = each.clone().map(f64::abs).sum();
    each.sum::<f64>().abs() <= 5e-5 * apart
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
            let (each, instead) = (unit.show(priced.cost), unit.show(own));
            if !as_cheap(designed, other) {
                writeln!(
                    out,
                    "  it lost: {each} each instead of {instead}; at its rate {}, all else {}, together {}",
                    signed(designed, answering),
                    signed(designed, total - answering),
                    signed(designed, total),
                )?;
            } else if differ(priced.cost, own) {
                writeln!(
                    out,
                    "  everything would cost as much: {each} each instead of {instead}, which the rest makes up for"
                )?;
            } else {
                writeln!(
                    out,
                    "  it would do as well: {each} each, and everything costs as much"
                )?;
            }
            print_instead(designed, other, colour, out)?;
        }
    }
    let flips = flips(study, Choice::Question(at));
    print_flips(designed, &flips, "a single question or change", colour, out)
}

/// The flips of a choice, with progress where that takes long.
pub(crate) fn flips(study: &Study, choice: Choice) -> Flips {
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

fn print_total(designed: &Designed, other: &Design, out: &mut impl Write) -> io::Result<()> {
    let (ours, theirs) = (designed.design.total, other.total);
    if as_cheap(designed, other) {
        let instead = other.beyond(&designed.design);
        let why = match instead.as_slice() {
            [] => "what is there does the same",
            [_] => "another structure does the same",
            _ => "other structures do the same",
        };
        return writeln!(out, "  everything costs as much: {why}");
    }
    let percent = (theirs / ours - 1.0) * 100.0;
    let (word, apart) = match percent {
        p if p < 0.0 => ("less", -p),
        p => ("more", p),
    };
    let factor = if percent >= 10.0 {
        format!("{} times as much", number::count(theirs / ours))
    } else if apart >= 0.01 {
        format!("{apart:.2} % {word}")
    } else {
        // Beside what costs much more: no two of the figures would differ.
        let difference = designed.unit.show((theirs - ours).abs());
        let ours = designed.unit.show(ours);
        return writeln!(
            out,
            "  everything costs {difference} {word}: little beside {ours}"
        );
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
            Some((with, without)) if differ(with, without) => {
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
    all.filter(|d| differ(d.with, d.without)).collect()
}

/// Whether two figures are not the same to a reader.
fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > 1e-4 * a.max(b)
}

/// The structures that another design has instead.
fn print_instead(
    designed: &Designed,
    other: &Design,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let built = other.beyond(&designed.design);
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

fn print_flips(
    designed: &Designed,
    flips: &Flips,
    whose: &str,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "\n{}",
        words::heading(colour, "What would change the choice")
    )?;
    match (flips.found.is_empty(), flips.end) {
        (true, End::Proven) => {
            return writeln!(out, "  no rate of {whose}, from none to a million times");
        }
        (true, End::Open) => {
            return writeln!(
                out,
                "  none was found among the rates of {whose}, from none to a million times, which proves nothing"
            );
        }
        (true, End::Tied) => {
            return writeln!(
                out,
                "  nothing has to: another design that costs as much has another choice at these rates"
            );
        }
        (false, _) => {}
    }
    let mut grid = Grid::new(2, &[2, 3]);
    for flip in &flips.found {
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
        let (at, now) = rates_apart(designed, flip.at, flip.rate);
        grid.line([
            name(flip.statement.clone()),
            plain(word),
            plain(at),
            faint(format!("now {now}")),
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
