//! `querent calibrate`

use crate::Outcome;
use crate::argument::{DatabaseFolder, Format};
use crate::progress::Shown;
use crate::terminal::Terminal;
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::{self, number};
use anyhow::{Context, Result, bail};
use clap::Args;
use querent::trial::{CALIBRATION_ROWS, CONSTANTS, Calibration, Measured, Stage, calibrate};
use querent_compiler::design::target::{self, CostModel};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Measure the constants of the cost model on this machine and this disk
///
/// Loads some 360,000 made-up rows of several widths into an embedded database in the folder, times
/// point gets, lists, sorts, lookups that follow, and changes that write one row or many; finds the
/// constants whose prices are nearest to what was measured; and removes the folder again. Design
/// with them by `--cost-model FILE`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent calibrate /var/tmp/calibration.db
  querent calibrate /var/tmp/calibration.db --output here.json
  querent design shop.querent --cost-model here.json")]
pub(crate) struct Arguments {
    /// A folder that does not exist yet, on the disk to measure
    #[arg(value_name = "DB", value_parser = DatabaseFolder)]
    pub(crate) database: PathBuf,
    /// Write the cost model to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Rows at most: fewer take less time, and what they say too little of is kept as shipped
    #[arg(long, value_name = "N", default_value = "400000")]
    pub(crate) rows: u32,
    /// Form of the output: tables, or the cost model
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let folder = &arguments.database;
    if folder.exists() {
        bail!(
            "{} exists; name a folder that does not, it is removed afterwards",
            folder.display()
        );
    }
    // What cannot be written is not measured first.
    if let Some(file) = &arguments.output {
        let made = std::fs::File::create(file);
        made.with_context(|| format!("writing {}", file.display()))?;
    }
    // Created here, so that what is removed is ours.
    std::fs::create_dir(folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut shown = Shown::new();
    let found = calibrate(
        folder,
        f64::from(arguments.rows),
        &mut |stage| match stage {
            Stage::Load(progress) => shown.load(&progress),
            Stage::Statement(step, of, what) => shown.step(step, of, what),
            _ => {}
        },
    );
    shown.finish();
    // Whatever was found: the folder was not there before.
    let removed = std::fs::remove_dir_all(folder);
    let found = found?;
    removed.with_context(|| format!("removing {}", folder.display()))?;
    let model = CostModel {
        name: "calibrated".into(),
        about: about(&found),
        cost: found.cost.clone(),
    };
    let text = serde_json::to_string_pretty(&model)?;
    if let Some(file) = &arguments.output {
        std::fs::write(file, format!("{text}\n"))
            .with_context(|| format!("writing {}", file.display()))?;
    }
    match arguments.format {
        Format::Json => {
            let object = json!({
                "name": model.name,
                "about": model.about,
                "cost": model.cost,
                "rows": found.rows,
                "kept": found.kept,
                "sync_micros": found.sync_micros,
            });
            writeln!(terminal.out, "{object:#}")?;
        }
        Format::Text => print(&found, terminal)?,
    }
    Ok(Outcome::Clean)
}

/// What a cost model says of itself.
fn about(found: &Calibration) -> String {
    let kept = if found.kept.is_empty() {
        String::new()
    } else {
        format!(" As shipped, not measured: {}.", found.kept.join(", "))
    };
    format!(
        "Measured by `querent calibrate` with {}. Costs are microseconds on one core with the data \
         in the page cache.{kept}",
        words::counted(found.rows as usize, "row")
    )
}

/// What could not be measured, and what would help.
fn unmeasured(found: &Calibration) -> Option<String> {
    if found.kept.is_empty() {
        return None;
    }
    let fewer = found.rows < u64::from(CALIBRATION_ROWS) * 9 / 10;
    let help = if fewer {
        format!(
            "{} are too few to tell them: `--rows {CALIBRATION_ROWS}` or more measures all.",
            words::counted(found.rows as usize, "row")
        )
    } else {
        "The times differ too much to tell them: run it again while the machine has nothing else to \
         do."
        .to_owned()
    };
    Some(format!(
        "Not measured, and kept as shipped: {}. {help}",
        found.kept.join(", ")
    ))
}

fn print(found: &Calibration, terminal: &mut Terminal) -> Result<()> {
    let (colour, out) = (terminal.colour, &mut terminal.out);
    writeln!(
        out,
        "{} in {}, asked and changed one at a time\n",
        words::counted(found.rows as usize, "row"),
        number::bytes(found.bytes as f64)
    )?;
    let mut grid = Grid::new(2, &[1, 2, 3, 4]);
    grid.head(&["", "rows", "measured", "by the constants", "of it"]);
    for m in found.measured.iter().filter(|m| m.micros.is_finite()) {
        grid.line([
            name(&*m.name),
            plain(number::count(m.rows)),
            plain(number::seconds(m.micros * 1e-6)),
            plain(number::seconds(m.estimated * 1e-6)),
            faint(format!("{:.2}", m.estimated / m.micros)),
        ]);
    }
    grid.print(colour, out)?;
    writeln!(out, "\n{}", words::heading(colour, "Constants, µs"))?;
    let mut ships = target::named("embedded")
        .context("the embedded target")?
        .cost;
    let mut cost = found.cost.clone();
    let mut grid = Grid::new(2, &[1, 2]);
    grid.head(&["", "here", "shipped"]);
    let here = |constant: &str, value: String| {
        if found.kept.contains(&constant) {
            faint("kept")
        } else {
            plain(value)
        }
    };
    for (constant, place) in CONSTANTS {
        grid.line([
            name(constant),
            here(constant, format!("{:.5}", place(&mut cost))),
            faint(format!("{:.5}", place(&mut ships))),
        ]);
    }
    grid.line([
        name("near_rows"),
        here("near_rows", number::count(cost.near_rows)),
        faint(number::count(ships.near_rows)),
    ]);
    grid.print(colour, out)?;
    let off = |m: &Measured| (m.estimated / m.micros - 1.0).abs();
    let timed = found.measured.iter().filter(|m| m.micros.is_finite());
    let mut errors: Vec<f64> = timed.map(off).collect();
    errors.sort_by(f64::total_cmp);
    let middle = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
    writeln!(
        out,
        "\nHalf of the statements are within {:.0} % of what the constants say.\n\
         A change by itself waits {} more until it is on the disk; those made at the same time wait together.",
        middle * 100.0,
        number::seconds(found.sync_micros * 1e-6)
    )?;
    if let Some(unmeasured) = unmeasured(found) {
        writeln!(out, "{unmeasured}")?;
    }
    Ok(())
}
