//! What keeping a structure true takes: what each change writes, and what it reads for it.

use super::design::{rate, rate_title};
use crate::designing::Designed;
use crate::words::change::purpose;
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::{self, number};
use querent_compiler::design::{Design, Purpose, WritePlan, WriteStep};
use querent_compiler::view::Structure;
use serde_json::{Value as Json, json};
use std::io::{self, Write};

/// What a change does to keep one structure true.
pub(crate) struct Upkeep<'d> {
    change: &'d str,
    weight: f64,
    rows: f64,
    rows_max: f64,
    /// Rows of its own that are read before they are written, which is part of what that costs.
    own_reads: f64,
    /// What writing costs.
    cost: f64,
    reads: Vec<Support<'d>>,
}

/// A read of a change without which the structure could not be kept true.
struct Support<'d> {
    step: &'d WriteStep,
    rows: f64,
    cost: f64,
    /// Whether the change reads it for a check, too.
    checked: bool,
    /// The other structures that need it.
    shared: Vec<&'d str>,
}

/// The changes that write a structure.
pub(crate) fn of<'d>(design: &'d Design, structure: &str) -> Vec<Upkeep<'d>> {
    let all = design.writes.iter().map(|change| by(change, structure));
    all.filter(|u| u.rows_max > 0.0 || !u.reads.is_empty())
        .collect()
}

fn by<'d>(change: &'d WritePlan, structure: &str) -> Upkeep<'d> {
    let mut upkeep = Upkeep {
        change: &change.name,
        weight: change.weight,
        rows: 0.0,
        rows_max: 0.0,
        own_reads: 0.0,
        cost: 0.0,
        reads: vec![],
    };
    for step in &change.steps {
        if step.structure == structure && step.purpose == Purpose::Maintain {
            upkeep.rows += step.rows;
            upkeep.rows_max += step.rows_max;
            upkeep.own_reads += step.reads;
            upkeep.cost += step.cost;
        }
        upkeep.reads.extend(support(step, structure));
    }
    upkeep
}

/// What a step reads for a structure, if it does.
fn support<'d>(step: &'d WriteStep, structure: &str) -> Option<Support<'d>> {
    let needed = step.needed_by.iter().find(|n| n.structure == structure)?;
    let others = step.needed_by.iter().map(|n| n.structure.as_str());
    Some(Support {
        step,
        rows: needed.reads,
        cost: needed.cost,
        checked: step.op == "check",
        shared: others.filter(|other| *other != structure).collect(),
    })
}

impl Upkeep<'_> {
    /// Rows read in all.
    fn reads(&self) -> f64 {
        self.own_reads + self.reads.iter().map(|r| r.rows).sum::<f64>()
    }

    /// The same facts for programs.
    pub(crate) fn to_json(&self) -> Json {
        let support = self.reads.iter().map(|read| {
            json!({
                "structure": read.step.at(),
                "purpose": purpose(read.step),
                "rows": read.rows,
                "cost": read.cost,
                "checked": read.checked,
                "shared_with": read.shared,
            })
        });
        json!({
            "change": self.change,
            "weight": self.weight,
            "rows": self.rows,
            "rows_max": self.rows_max,
            "cost": self.cost,
            "reads": self.reads(),
            "own_reads": self.own_reads,
            "support": support.collect::<Vec<_>>(),
        })
    }
}

impl Support<'_> {
    /// Who else is the reason for the read.
    fn shared(&self) -> String {
        let shared = match self.shared.as_slice() {
            [] => None,
            shared => Some(format!("read for {} too", shared.join(", "))),
        };
        let checked = self.checked.then(|| "checked anyway".to_owned());
        let words: Vec<String> = checked.into_iter().chain(shared).collect();
        words.join(", ")
    }
}

/// Prints the changes that write a structure, and what they read for it.
pub(crate) fn print(
    designed: &Designed,
    own: &Structure,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let writers = of(&designed.design, &own.name);
    if writers.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::new(2, &[1, 2, 3, 4, 5]);
    grid.head(&[
        "",
        rate_title(designed),
        "rows",
        "at most",
        "reads",
        "cost",
        "at its rate",
    ]);
    for writer in &writers {
        grid.line([
            name(writer.change),
            plain(rate(designed, writer.weight)),
            plain(number::count(writer.rows)),
            plain(number::count(writer.rows_max)),
            plain(number::count(writer.reads())),
            plain(designed.unit.show(writer.cost)),
            faint(designed.unit.show(writer.cost * writer.weight)),
        ]);
    }
    writeln!(out, "\n{}", words::heading(colour, "Written by"))?;
    grid.print(colour, out)
}

/// Prints the reads behind these writes, one by one.
pub(crate) fn print_reads(
    designed: &Designed,
    own: &Structure,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let writers = of(&designed.design, &own.name);
    let mut grid = Grid::new(2, &[2, 3]);
    grid.head(&["", "structure", "reads", "cost", "what for", ""]);
    let mut any = false;
    for writer in &writers {
        for read in &writer.reads {
            any = true;
            grid.line([
                name(writer.change),
                name(read.step.structure.clone()),
                plain(number::count(read.rows)),
                plain(designed.unit.show(read.cost)),
                plain(purpose(read.step)),
                faint(read.shared()),
            ]);
        }
        if writer.own_reads > 0.0 {
            any = true;
            grid.line([
                name(writer.change),
                name(&own.name),
                plain(number::count(writer.own_reads)),
                plain(""),
                plain("what the row says so far"),
                faint("part of what writing costs"),
            ]);
        }
    }
    if !any {
        return Ok(());
    }
    writeln!(out, "\n{}", words::heading(colour, "Read to write it"))?;
    grid.print(colour, out)
}
