//! `querent design`

use super::print_findings;
use crate::Outcome;
use crate::argument::Known;
use crate::designing::{Designed, Wanted, designed};
use crate::terminal::{Terminal, paint};
use crate::words::grid::{Grid, name, plain};
use crate::words::plan::Teller;
use crate::words::{self, change, number, structure};
use anyhow::Result;
use clap::Args;
use querent_compiler::design::{source, target};
use querent_compiler::diagnostic::Style;
use std::io::{self, Write};
use std::path::PathBuf;

/// Forms of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One object, for programs
    Json,
    /// Markdown
    Md,
    /// A `schema` block of the language, to be changed by hand and given back
    Schema,
}

/// Design the schema that answers every question with the least work
///
/// Prints the structures with their keys and what each is for, and the price and the plan of each
/// question and each change. `querent explain` says more about each of them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent design shop.querent
  querent design rubis.querent --mix bidding --format json")]
pub(crate) struct Arguments {
    /// A `.querent` file, or a folder of them
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The kind of store to design for
    #[arg(long, value_name = "T", default_value = "embedded", value_parser = Known(target::NAMES))]
    pub(crate) target: String,
    /// The mix of rates to design for (default: the first of the model)
    #[arg(long, value_name = "M")]
    pub(crate) mix: Option<String>,
    /// Price with other costs: a cost model that ships, or a file of `querent calibrate` (default: the
    /// target's own)
    #[arg(long, value_name = "C", value_parser = Known(target::COST_MODELS))]
    pub(crate) cost_model: Option<String>,
    /// Keep only what questions read: facts that no question asks for are lost
    #[arg(long)]
    pub(crate) lossy: bool,
    /// Price a schema of the model, given in a `schema` block, instead of designing one
    #[arg(long, value_name = "S")]
    pub(crate) schema: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let wanted = Wanted {
        model: &arguments.model,
        target: &arguments.target,
        mix: arguments.mix.as_deref(),
        cost_model: arguments.cost_model.as_deref(),
        lossy: arguments.lossy,
        schema: arguments.schema.as_deref(),
    };
    let Some(designed) = designed(wanted, terminal)? else {
        return Ok(Outcome::Findings);
    };
    let out = &mut terminal.out;
    match arguments.format {
        Format::Json => writeln!(
            out,
            "{:#}",
            designed.design.to_json(&designed.model, designed.seconds)
        )?,
        Format::Text => print_text(&designed, terminal.colour, out)?,
        Format::Md => print_md(&designed, out)?,
        Format::Schema => {
            let structures = &designed.design.structures;
            let block = source::schema(&designed.model, "designed", structures);
            write!(out, "{block}")?;
        }
    }
    Ok(Outcome::Clean)
}

/// What all questions and changes cost together.
pub(crate) fn total(designed: &Designed) -> String {
    let total = designed.unit.show(designed.design.total);
    let (what, per) = if designed.model.timed {
        ("rates", " of work a second")
    } else {
        ("weights", "")
    };
    match &designed.design.mix {
        None => format!("all questions and changes at their {what}: {total}{per}"),
        Some(mix) => format!("all questions and changes at the {what} of {mix}: {total}{per}"),
    }
}

/// A rate, or a weight where the model says no time.
pub(crate) fn rate(designed: &Designed, weight: f64) -> String {
    if designed.model.timed {
        number::rate(weight)
    } else {
        number::count(weight)
    }
}

/// Two rates, with as many digits as tell them apart.
pub(crate) fn rates_apart(designed: &Designed, a: f64, b: f64) -> (String, String) {
    let show = |weight, digits| {
        if designed.model.timed {
            number::rate_of(weight, digits)
        } else {
            number::count_of(weight, digits)
        }
    };
    let both = |digits| (show(a, digits), show(b, digits));
    let mut shown = (number::DIGITS..=number::MOST_DIGITS).map(both);
    let apart = shown.find(|(a, b)| a != b);
    apart.unwrap_or_else(|| both(number::DIGITS))
}

pub(crate) fn rate_title(designed: &Designed) -> &'static str {
    if designed.model.timed {
        "rate"
    } else {
        "weight"
    }
}

fn title(designed: &Designed) -> String {
    let mix = designed
        .design
        .mix
        .as_ref()
        .map(|m| format!(", mix {m}"))
        .unwrap_or_default();
    format!(
        "{} for {}{mix}",
        designed.design.model, designed.design.target
    )
}

fn print_text(designed: &Designed, colour: bool, out: &mut impl Write) -> io::Result<()> {
    let Designed { model, design, .. } = designed;
    writeln!(
        out,
        "{}: {}",
        words::heading(colour, &title(designed)),
        structure::found(design, Some(designed.seconds))
    )?;
    writeln!(out, "{}", total(designed))?;
    writeln!(out, "\n{}", words::heading(colour, "Structures"))?;
    for (s, note) in design.structures.iter().zip(&design.notes) {
        structure::brief(model, s, note, colour, out)?;
    }
    print_prices(designed, colour, out)?;
    print_warnings(designed, None, colour, out)
}

/// Questions and changes with their prices.
pub(crate) fn print_prices(
    designed: &Designed,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if !designed.design.plans.is_empty() {
        writeln!(out, "\n{}", words::heading(colour, "Questions"))?;
        let mut grid = Grid::new(2, &[1, 2, 3]);
        grid.head(&["", rate_title(designed), "cost", "rows", "plan"]);
        for line in questions(designed) {
            let [q, rate, cost, rows, plan] = line;
            grid.line([name(q), plain(rate), plain(cost), plain(rows), plain(plan)]);
        }
        grid.print(colour, out)?;
    }
    if !designed.design.writes.is_empty() {
        writeln!(out, "\n{}", words::heading(colour, "Changes"))?;
        let mut grid = Grid::new(2, &[1, 2, 3, 4]);
        grid.head(&[
            "",
            rate_title(designed),
            "cost",
            "writes",
            "at most",
            "into",
        ]);
        for line in changes(designed, 3) {
            let [c, rate, cost, rows, most, into] = line;
            grid.line([
                name(c),
                plain(rate),
                plain(cost),
                plain(rows),
                plain(most),
                plain(into),
            ]);
        }
        grid.print(colour, out)?;
    }
    Ok(())
}

/// Prints what to look at: of the whole design, or of one structure.
pub(crate) fn print_warnings(
    designed: &Designed,
    of: Option<&str>,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let warnings = designed.design.warnings.iter();
    let warnings: Vec<_> = warnings
        .filter(|w| of.is_none_or(|name| w.structure == name))
        .collect();
    if warnings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(colour, words::WARNING, "Warnings"))?;
    let Some(files) = &designed.files else {
        return warnings.iter().try_for_each(|w| writeln!(out, "  {w}"));
    };
    let style = if colour { Style::Colour } else { Style::Plain };
    let text = files.text();
    let found: Vec<_> = warnings.iter().map(|w| w.diagnostic(&text)).collect();
    let mut printed = Vec::new();
    print_findings(files, &found, style, &mut printed)?;
    // Each finding ends with an empty line; what follows has one of its own.
    let end = printed
        .strip_suffix(b"\n\n")
        .map_or(printed.len(), |p| p.len() + 1);
    out.write_all(printed.get(..end).unwrap_or(&printed))
}

fn questions(designed: &Designed) -> Vec<[String; 5]> {
    let Designed {
        model,
        design,
        unit,
        ..
    } = designed;
    let lines = design
        .plans
        .iter()
        .zip(&model.questions)
        .map(|(p, question)| {
            let teller = Teller {
                model,
                design,
                params: &question.params,
            };
            [
                p.name.clone(),
                rate(designed, p.weight),
                unit.show(p.cost),
                number::count(p.rows),
                teller.short(&p.plan),
            ]
        });
    lines.collect()
}

/// The lines of changes, each naming no more structures than that.
fn changes(designed: &Designed, shown: usize) -> Vec<[String; 6]> {
    let lines = designed.design.writes.iter().map(|w| {
        let (rows, most) = change::written(w);
        let mut into: Vec<&str> = Vec::new();
        for step in w
            .steps
            .iter()
            .filter(|s| matches!(s.op.as_str(), "put" | "delete"))
        {
            if !into.contains(&step.structure.as_str()) {
                into.push(&step.structure);
            }
        }
        [
            w.name.clone(),
            rate(designed, w.weight),
            designed.unit.show(w.cost),
            number::count(rows),
            number::count(most),
            some_of(&into, shown),
        ]
    });
    lines.collect()
}

/// All names, or the first ones and how many more there are: `explain` names all.
fn some_of(names: &[&str], shown: usize) -> String {
    match names.get(..shown.saturating_sub(1)) {
        Some(first) if names.len() > shown => {
            format!(
                "{} and {} more",
                first.join(", "),
                names.len() - first.len()
            )
        }
        _ => names.join(", "),
    }
}

fn print_md(designed: &Designed, out: &mut impl Write) -> io::Result<()> {
    let Designed { model, design, .. } = designed;
    writeln!(out, "# {}\n", title(designed))?;
    writeln!(
        out,
        "{}; {}.\n",
        structure::found(design, None),
        total(designed)
    )?;
    writeln!(out, "## Structures\n")?;
    md_row(
        out,
        [
            "structure",
            "key",
            "columns",
            "serves",
            "home of",
            "techniques",
            "rows",
            "bytes",
        ],
    )?;
    md_row(out, ["---"; 8])?;
    for (s, note) in design.structures.iter().zip(&design.notes) {
        md_row(
            out,
            [
                format!("`{}`", s.name),
                code(&structure::key(model, s)),
                code(&structure::columns(model, s).join(", ")),
                note.serves.join(", "),
                structure::homes(note),
                note.techniques.join(", "),
                number::count(note.sizes.rows),
                number::bytes(note.sizes.bytes),
            ],
        )?;
    }
    if !design.plans.is_empty() {
        writeln!(out, "\n## Questions\n")?;
        md_row(
            out,
            ["question", rate_title(designed), "cost", "rows", "plan"],
        )?;
        md_row(out, ["---", "---:", "---:", "---:", "---"])?;
        questions(designed)
            .into_iter()
            .try_for_each(|line| md_row(out, line))?;
    }
    if !design.writes.is_empty() {
        writeln!(out, "\n## Changes\n")?;
        md_row(
            out,
            [
                "change",
                rate_title(designed),
                "cost",
                "rows written",
                "at most",
                "into",
            ],
        )?;
        md_row(out, ["---", "---:", "---:", "---:", "---:", "---"])?;
        changes(designed, usize::MAX)
            .into_iter()
            .try_for_each(|line| md_row(out, line))?;
    }
    if !design.warnings.is_empty() {
        writeln!(out, "\n## Warnings\n")?;
        design
            .warnings
            .iter()
            .try_for_each(|w| writeln!(out, "- {w}"))?;
    }
    Ok(())
}

fn code(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{text}`")
    }
}

/// A line of a Markdown table; a bar inside a cell would divide it.
fn md_row(
    out: &mut impl Write,
    cells: impl IntoIterator<Item = impl AsRef<str>>,
) -> io::Result<()> {
    let cells: Vec<String> = cells
        .into_iter()
        .map(|c| c.as_ref().replace('|', "\\|"))
        .collect();
    writeln!(out, "| {} |", cells.join(" | "))
}
