//! Steps with their figures.

use super::Line;
use crate::words::grid::{Cell, Grid, faint, plain};
use crate::words::number::{self, Unit};
use querent::operator::Actual;
use querent_compiler::design::Estimate;
use std::io::{self, Write};

/// Prints steps with what they were priced at, and what an ask costs by itself.
pub(crate) fn print_estimates(
    lines: &[Line],
    itself: f64,
    unit: Unit,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut grid = Grid::new(2, &[0, 1, 2, 3]);
    grid.head(&["rows", "reads", "gets", "cost", "step"]);
    for line in lines {
        let figure = |f: fn(&Estimate) -> f64| {
            plain(
                line.estimate
                    .as_ref()
                    .map(|e| number::count(f(e)))
                    .unwrap_or_default(),
            )
        };
        let cost = line.estimate.map(|e| unit.show(e.cost)).unwrap_or_default();
        grid.line([
            figure(|e| e.rows),
            figure(|e| e.reads),
            figure(|e| e.gets),
            plain(cost),
            step(line),
        ]);
    }
    if itself > 0.0 {
        let nothing = || plain(String::new());
        let cost = plain(unit.show(itself));
        let why = plain("what each ask costs by itself");
        grid.line([nothing(), nothing(), nothing(), cost, why]);
    }
    grid.print(colour, out)
}

/// Prints steps with what was expected of them, and what they did.
pub(crate) fn print_profile(lines: &[Line], colour: bool, out: &mut impl Write) -> io::Result<()> {
    let mut grid = Grid::new(2, &[0, 1, 2, 3, 4, 5]);
    grid.head(&[
        "rows", "expected", "reads", "expected", "gets", "expected", "step",
    ]);
    for line in lines {
        let did = |f: fn(&Actual) -> u64| {
            plain(
                line.actual
                    .as_ref()
                    .map(|a| number::count(f(a) as f64))
                    .unwrap_or_default(),
            )
        };
        let expected = |f: fn(&Estimate) -> f64| {
            faint(
                line.estimate
                    .as_ref()
                    .map(|e| number::count(f(e)))
                    .unwrap_or_default(),
            )
        };
        grid.line([
            did(|a| a.rows),
            expected(|e| e.rows),
            did(|a| a.reads),
            expected(|e| e.reads),
            did(|a| a.gets),
            expected(|e| e.gets),
            step(line),
        ]);
    }
    grid.print(colour, out)
}

fn step(line: &Line) -> Cell {
    plain(format!("{}{}", "  ".repeat(line.depth), line.text))
}
