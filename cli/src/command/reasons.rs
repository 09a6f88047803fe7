//! Why a design is as it is, told by designs that are not: without a structure, with the next best
//! plan, at other rates.

use super::design::{rate, rate_title};
use crate::designing::Designed;
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::plan::{self, Teller};
use crate::words::{self, number, structure};
use querent_compiler::design::study::{Choice, Flip, Study};
use querent_compiler::design::{Design, Purpose};
use querent_compiler::view::Structure;
use std::io::{self, Write};

/// Of a structure: which changes keep it true, what everything would cost without it, and at which
/// rates it would not be there.
pub(crate) fn of_structure(
    designed: &Designed,
    study: &mut Study,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    print_upkeep(designed, at, colour, out)?;
    writeln!(out, "\n{}", words::heading(colour, "Without it"))?;
    match study.without(at) {
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
    print_flips(designed, &study.flips(Choice::Structure(at)), colour, out)
}

/// Of a question: the next best plan, why it lost, and at which rates it would win.
pub(crate) fn of_question(
    designed: &Designed,
    study: &mut Study,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let Designed { model, unit, .. } = designed;
    writeln!(out, "\n{}", words::heading(colour, "Next best plan"))?;
    let other = study.next_best(at);
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
            plan::print_estimates(&teller.lines(&priced.plan, &[]), *unit, colour, out)?;
            let own = designed.design.plans.get(at).map_or(0.0, |p| p.cost);
            let answering = (priced.cost - own) * priced.weight;
            let total = other.total - designed.design.total;
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
    print_flips(designed, &study.flips(Choice::Question(at)), colour, out)
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
    let mut grid = Grid::new(2, &[1, 2, 3, 4]);
    grid.head(&[
        "",
        rate_title(designed),
        "rows",
        "at most",
        "cost",
        "at its rate",
    ]);
    let mut found = false;
    for change in &designed.design.writes {
        let steps = change.steps.iter();
        let steps = steps.filter(|s| s.structure == own.name && s.purpose == Purpose::Maintain);
        let (rows, most, cost) = steps.fold((0.0, 0.0, 0.0), |(rows, most, cost), s| {
            (rows + s.rows, most + s.rows_max, cost + s.cost)
        });
        if rows > 0.0 {
            found = true;
            grid.line([
                name(change.name.clone()),
                plain(rate(designed, change.weight)),
                plain(number::count(rows)),
                plain(number::count(most)),
                plain(designed.unit.show(cost)),
                faint(designed.unit.show(cost * change.weight)),
            ]);
        }
    }
    if found {
        writeln!(out, "\n{}", words::heading(colour, "Written by"))?;
        grid.print(colour, out)?;
    }
    Ok(())
}

fn print_total(designed: &Designed, other: &Design, out: &mut impl Write) -> io::Result<()> {
    let (ours, theirs) = (designed.design.total, other.total);
    let times = theirs / ours;
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
    let (unit, design) = (designed.unit, &designed.design);
    let questions = design.plans.iter().zip(&other.plans);
    let questions = questions.map(|(a, b)| (&a.name, a.weight, a.cost, b.cost));
    let changes = design.writes.iter().zip(&other.writes);
    let changes = changes.map(|(a, b)| (&a.name, a.weight, a.cost, b.cost));
    let mut grid = Grid::new(2, &[1, 2, 3]);
    grid.head(&[
        "",
        rate_title(designed),
        "with it",
        "without",
        "at its rate",
    ]);
    let mut differ = false;
    for (statement, weight, with, without) in questions.chain(changes) {
        if (with - without).abs() > 1e-4 * with.max(without) {
            differ = true;
            grid.line([
                name(statement.clone()),
                plain(rate(designed, weight)),
                plain(unit.show(with)),
                plain(unit.show(without)),
                faint(signed(designed, weight * (without - with))),
            ]);
        }
    }
    if differ {
        grid.print(colour, out)
    } else {
        Ok(())
    }
}

/// The structures that another design has instead.
fn print_instead(
    designed: &Designed,
    other: &Design,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let known = |s: &Structure| designed.design.structures.iter().any(|t| t.same_rows(s));
    let mut grid = Grid::new(2, &[]);
    let mut found = false;
    for s in other.structures.iter().filter(|s| !known(s)) {
        found = true;
        grid.line([
            plain("with"),
            name(s.name.clone()),
            plain(structure::key(&designed.model, s)),
        ]);
    }
    if found {
        grid.print(colour, out)
    } else {
        Ok(())
    }
}

fn print_flips(
    designed: &Designed,
    flips: &[Flip],
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "\n{}",
        words::heading(colour, "What would change the choice")
    )?;
    if flips.is_empty() {
        return writeln!(
            out,
            "  no rate of a single question or change, from none to a million times"
        );
    }
    let mut grid = Grid::new(2, &[2, 3]);
    for flip in flips {
        let word = if flip.at < flip.rate { "under" } else { "over" };
        let mut then = Vec::new();
        if !flip.reads.is_empty() {
            then.push(format!("reads {}", flip.reads.join(", ")));
        }
        if !flip.built.is_empty() {
            then.push(format!("with {}", flip.built.join(", ")));
        }
        if !flip.dropped.is_empty() {
            then.push(format!("without {}", flip.dropped.join(", ")));
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
