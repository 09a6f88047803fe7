//! `querent bench`

use super::design::{rate, rate_title};
use crate::Outcome;
use crate::argument::{Format, Known};
use crate::designing::{Designed, Wanted, designed_of, read_model};
use crate::model_files::ModelFiles;
use crate::progress::Shown;
use crate::terminal::Terminal;
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::{self, counted, number};
use anyhow::{Context, Result};
use clap::Args;
use querent::schema::Schema;
use querent::trial::{BLOCKS, Measured, Trial, rank_correlation};
use querent_compiler::design::target;
use querent_compiler::plot::{Like, Plot, Point};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Run the design of a model on made-up facts, and compare every estimate with what it takes
///
/// The facts are made up in the volumes that the model states, smaller by one factor where that is
/// more than --rows. Every question is asked and every change made, one at a time, on an embedded
/// database in a temporary folder; changes are not synced. What is printed is the median of 31
/// blocks of runs, of fewer where they take long.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent bench shop.querent
  querent bench shop.querent --rows 1000000 --schema by_hand
  querent bench examples/*.querent --plot estimates.svg")]
pub(crate) struct Arguments {
    /// The models: files or folders
    #[arg(value_name = "MODEL", required = true)]
    pub(crate) models: Vec<PathBuf>,
    /// Rows of facts, about: entities of up to 50 keep them all
    #[arg(long, value_name = "N", default_value = "200000")]
    pub(crate) rows: u32,
    /// The mix, where a model has several; the first one by default
    #[arg(long, value_name = "M")]
    pub(crate) mix: Option<String>,
    /// Run a schema of the model, given in a `schema` block, instead of designing one
    #[arg(long, value_name = "S")]
    pub(crate) schema: Option<String>,
    /// Estimate with another cost model: one that ships, or a file of `querent calibrate`
    #[arg(long, value_name = "C", value_parser = Known(target::COST_MODELS))]
    pub(crate) cost_model: Option<String>,
    /// Draw estimates against measurements, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Form of the output: tables, or one object
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// What was measured of a model.
struct Tried {
    designed: Designed,
    rows: u64,
    bytes: u64,
    rejected: Option<(u64, String)>,
    measured: Vec<Measured>,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let mut all = vec![];
    for model in &arguments.models {
        let Some(tried) = tried(model, arguments, terminal)? else {
            return Ok(Outcome::Findings);
        };
        if arguments.format == Format::Text {
            print(&tried, terminal)?;
        }
        all.push(tried);
    }
    let pairs: Vec<(f64, f64)> = all.iter().flat_map(pairs).collect();
    let correlation = (pairs.len() > 1).then(|| rank_correlation(&pairs));
    let correlation = correlation.filter(|rho| rho.is_finite());
    if let Some(file) = &arguments.plot {
        let drawn = plot(&all, correlation).svg();
        std::fs::write(file, drawn).with_context(|| format!("writing {}", file.display()))?;
    }
    match arguments.format {
        Format::Json => {
            let models: Vec<Json> = all.iter().map(to_json).collect();
            let object = json!({ "models": models, "rank_correlation": correlation });
            writeln!(terminal.out, "{object:#}")?;
        }
        Format::Text => {
            if let Some(rho) = correlation {
                let of = counted(pairs.len(), "statement");
                writeln!(
                    terminal.out,
                    "rank correlation of estimates and measurements, {of}: {rho:.3}"
                )?;
            }
        }
    }
    Ok(Outcome::Clean)
}

fn tried(model: &Path, arguments: &Arguments, terminal: &mut Terminal) -> Result<Option<Tried>> {
    let Some((read, _)) = read_model(model, terminal)? else {
        return Ok(None);
    };
    // Of several models, some may have no mixes.
    let mix = arguments.mix.as_deref();
    let mix = mix.filter(|_| !read.mixes.is_empty() || arguments.models.len() == 1);
    let wanted = Wanted {
        model,
        target: "embedded",
        mix,
        cost_model: arguments.cost_model.as_deref(),
        lossy: false,
        schema: arguments.schema.as_deref(),
    };
    let rows = f64::from(arguments.rows);
    let Some(designed) = designed_of(wanted, |m| m.scaled(rows), terminal)? else {
        return Ok(None);
    };
    let text = designed
        .files
        .as_ref()
        .map(ModelFiles::text)
        .unwrap_or_default();
    let folder = tempfile::tempdir().context("making a temporary folder")?;
    let schema = Schema::new(designed.model.clone(), designed.design.clone());
    let mut shown = Shown::new();
    let path = folder.path().join("trial.db");
    let trial = Trial::create(&path, &text, schema, &mut |p| shown.load(&p))?;
    let of = designed.model.questions.len() + designed.model.changes.len();
    let (mut step, mut at) = (0, String::new());
    let measured = trial.measure(BLOCKS, &mut |name| {
        step += 1;
        name.clone_into(&mut at);
        shown.step(step, of, name);
    });
    let measured = measured.with_context(|| format!("running {at}"))?;
    shown.finish();
    Ok(Some(Tried {
        rows: trial.rows,
        bytes: trial.bytes,
        rejected: trial.rejected.clone(),
        measured,
        designed,
    }))
}

/// Statements that took a time: not those that were always refused.
fn timed(tried: &Tried) -> impl Iterator<Item = &Measured> {
    tried.measured.iter().filter(|m| m.micros.is_finite())
}

fn pairs(tried: &Tried) -> Vec<(f64, f64)> {
    timed(tried).map(|m| (m.estimated, m.micros)).collect()
}

fn print(tried: &Tried, terminal: &mut Terminal) -> Result<()> {
    let designed = &tried.designed;
    let (colour, out) = (terminal.colour, &mut terminal.out);
    writeln!(
        out,
        "{}: {} rows of made-up facts in {}",
        words::heading(colour, &designed.design.model),
        number::count(tried.rows as f64),
        number::bytes(tried.bytes as f64)
    )?;
    let mut grid = Grid::new(2, &[1, 2, 3, 4, 5]);
    grid.head(&[
        "",
        rate_title(designed),
        "rows",
        "estimated",
        "measured",
        "of the estimate",
    ]);
    for m in &tried.measured {
        let measured = if m.micros.is_finite() {
            number::seconds(m.micros * 1e-6)
        } else {
            String::from("refused")
        };
        let ratio = m.micros * 1e-6 / designed.unit.seconds(m.estimated).unwrap_or(f64::NAN);
        let ratio = if ratio.is_finite() {
            format!("{ratio:.2}")
        } else {
            String::from("–")
        };
        grid.line([
            name(&*m.name),
            plain(rate(designed, m.weight)),
            plain(number::count(m.rows)),
            plain(designed.unit.show(m.estimated)),
            plain(measured),
            faint(ratio),
        ]);
    }
    grid.print(colour, out)?;
    if let Some((rejected, why)) = &tried.rejected {
        writeln!(
            out,
            "  {rejected} made-up rows were rejected, the first because: {why}"
        )?;
    }
    for m in &tried.measured {
        if let Some(why) = &m.refusal {
            let (name, refused, runs) = (&m.name, m.refused, m.runs);
            writeln!(
                out,
                "  {name}: {refused} of {runs} refused and left out, the first because: {why}"
            )?;
        }
    }
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

fn to_json(tried: &Tried) -> Json {
    let statements: Vec<Json> = tried
        .measured
        .iter()
        .map(|m| {
            json!({
                "name": m.name,
                "kind": if m.question { "question" } else { "change" },
                "weight": m.weight,
                "rows": m.rows,
                "estimated": m.estimated,
                "measured_micros": m.micros.is_finite().then_some(m.micros),
                "runs": m.runs,
                "refused": m.refused,
                "refusal": m.refusal,
            })
        })
        .collect();
    json!({
        "model": tried.designed.design.model,
        "mix": tried.designed.design.mix,
        "rows": tried.rows,
        "bytes": tried.bytes,
        "rejected": tried.rejected.as_ref().map_or(0, |(n, _)| *n),
        "statements": statements,
        "rank_correlation": rank_correlation(&pairs(tried)),
    })
}

fn plot(all: &[Tried], correlation: Option<f64>) -> Plot {
    let mut points = vec![];
    for (series, tried) in all.iter().enumerate() {
        points.extend(timed(tried).map(|m| {
            Point {
                x: tried
                    .designed
                    .unit
                    .seconds(m.estimated)
                    .unwrap_or(m.estimated)
                    * 1e6,
                y: m.micros,
                series,
                hollow: !m.question,
                label: m.name.clone(),
            }
        }));
    }
    Plot {
        title: match correlation {
            Some(rho) => format!("Estimated and measured: rank correlation {rho:.3}"),
            None => String::from("Estimated and measured"),
        },
        x: String::from("estimated, µs"),
        y: String::from("measured, µs"),
        series: all
            .iter()
            .map(|t| t.designed.design.model.clone())
            .collect(),
        kinds: Some([String::from("question"), String::from("change")]),
        like: Like::Equals,
        points,
    }
}
