//! `querent explain`

use super::design::{print_prices, print_warnings, rate, total};
use super::named::{Named, unknown};
use super::{explained, reasons, versus};
use crate::Outcome;
use crate::argument::{Format, Known};
use crate::designing::{Designed, Wanted, designed};
use crate::terminal::{Terminal, paint};
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::plan::{self, Teller};
use crate::words::{self, change, structure, technique};
use anyhow::Result;
use clap::Args;
use querent_compiler::design::Design;
use querent_compiler::design::study::Study;
use querent_compiler::design::target;
use querent_compiler::model::Model;
use serde_json::Value as Json;
use std::io::{self, Write};
use std::path::PathBuf;

/// Explain a design, or one question, change or structure of it
///
/// For a question: its plan, step by step, the structures that it reads, and the next best plan. For
/// a change: what it checks, reads and writes, on average and at most. For a structure: its key, its
/// techniques, whom it serves, which facts have their home in it, how large it gets, and what
/// everything would cost without it. For both: at which rates the choice would be another.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent explain shop.querent
  querent explain shop.querent orders_of
  querent explain shop.querent --vs by_hand
  querent explain shop.querent orders_of --vs by_hand")]
pub(crate) struct Arguments {
    /// A `.querent` file, or a folder of them
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// A question, a change or a structure (default: the whole design). Where several have the name,
    /// `question:NAME`, `change:NAME` or `structure:NAME` is one of them
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
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
    /// Explain a schema of the model, given in a `schema` block, instead of designing one
    #[arg(long, value_name = "S")]
    pub(crate) schema: Option<String>,
    /// Compare with another schema, statement by statement: a `schema` block of the model by its
    /// name, a file with one, or a design printed as JSON
    #[arg(long, value_name = "OTHER")]
    pub(crate) vs: Option<String>,
    /// Keep only what questions read: facts that no question asks for are lost
    #[arg(long)]
    pub(crate) lossy: bool,
    /// Form of the output: in words, or one object
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
    if let Some(other) = &arguments.vs {
        let Some(other) = versus::other(&arguments.model, other, &designed, terminal)? else {
            return Ok(Outcome::Findings);
        };
        let (colour, out) = (terminal.colour, &mut terminal.out);
        match (arguments.format, &arguments.name) {
            (Format::Json, name) => {
                let compared = explained::versus(&designed, &other, name.as_deref())?;
                writeln!(out, "{compared:#}")?;
            }
            (Format::Text, None) => versus::print(&designed, &other, colour, out)?,
            (Format::Text, Some(name)) => return both(&designed, &other, name, colour, out),
        }
        return Ok(Outcome::Clean);
    }
    let (colour, out) = (terminal.colour, &mut terminal.out);
    let Some(wanted) = &arguments.name else {
        match arguments.format {
            Format::Text => overview(&designed, colour, out)?,
            Format::Json => writeln!(
                out,
                "{:#}",
                designed.design.to_json(&designed.model, designed.seconds)
            )?,
        }
        return Ok(Outcome::Clean);
    };
    let design = &designed.design;
    let named = Named::find(design, wanted);
    if named.is_nothing() {
        return unknown(design, wanted);
    }
    if arguments.format == Format::Json {
        let object = explained::named(&designed, named)?;
        writeln!(out, "{:#}", Json::Object(object))?;
        return Ok(Outcome::Clean);
    }
    let mut found = false;
    if let Some(at) = named.question {
        question(&designed, at, colour, out)?;
        let study = Study::of(&designed.model, &designed.options, design)?;
        reasons::of_question(&designed, &study, at, colour, out)?;
        found = true;
    }
    if let Some(at) = named.change {
        if found {
            writeln!(out)?;
        }
        print_change(&designed, at, colour, out)?;
        // The delete of what has expired has no rate of its own.
        if at < designed.model.changes.len() {
            let study = Study::of(&designed.model, &designed.options, design)?;
            reasons::of_change(&designed, &study, at, colour, out)?;
        }
        found = true;
    }
    if let Some(at) = named.structure {
        if found {
            writeln!(out)?;
        }
        structure::full(&designed.model, design, at, colour, out)?;
        let name = design.structures.get(at).map(|s| s.name.as_str());
        print_warnings(&designed, name, colour, out)?;
        let study = Study::of(&designed.model, &designed.options, design)?;
        reasons::of_structure(&designed, &study, at, colour, out)?;
    }
    Ok(Outcome::Clean)
}

/// A question, a change or a structure of two schemas, one below the other.
fn both(
    ours: &Designed,
    other: &Designed,
    wanted: &str,
    colour: bool,
    out: &mut impl Write,
) -> Result<Outcome> {
    let mut found = false;
    for (title, of) in [("Designed", ours), ("Other", other)] {
        let design = &of.design;
        let named = Named::find(design, wanted);
        if named.is_nothing() {
            continue;
        }
        if found {
            writeln!(out)?;
        }
        found = true;
        writeln!(out, "{}\n", words::heading(colour, title))?;
        if let Some(at) = named.question {
            question(of, at, colour, out)?;
        }
        if let Some(at) = named.change {
            print_change(of, at, colour, out)?;
        }
        if let Some(at) = named.structure {
            structure::full(&of.model, design, at, colour, out)?;
        }
    }
    if found {
        return Ok(Outcome::Clean);
    }
    unknown(&ours.design, wanted)
}

fn overview(designed: &Designed, colour: bool, out: &mut impl Write) -> io::Result<()> {
    let Designed { model, design, .. } = designed;
    writeln!(
        out,
        "{} on {} has {}.",
        words::heading(colour, &design.model),
        design.target,
        structure::found(design, None),
    )?;
    writeln!(out, "Cost of {}.", total(designed))?;
    writeln!(out, "\n{}", words::heading(colour, "Structures"))?;
    print_structures(model, design, colour, out)?;
    print_prices(designed, colour, out)?;
    let mut techniques: Vec<&str> = Vec::new();
    for t in design.notes.iter().flat_map(|n| &n.techniques) {
        if !techniques.contains(&t.as_str()) {
            techniques.push(t);
        }
    }
    if !techniques.is_empty() {
        writeln!(out, "\n{}", words::heading(colour, "Techniques"))?;
        let mut grid = Grid::new(2, &[]);
        for t in techniques {
            grid.line([name(t), plain(technique::meaning(t))]);
        }
        grid.print(colour, out)?;
    }
    print_warnings(designed, None, colour, out)
}

/// One line for each structure: its key and what it is for.
pub(crate) fn print_structures(
    model: &Model,
    design: &Design,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut grid = Grid::new(2, &[]);
    for (s, note) in design.structures.iter().zip(&design.notes) {
        let why = match (note.serves.is_empty(), note.home_of.is_empty()) {
            (false, false) => format!("for {}, and as a home", note.serves.join(", ")),
            (false, true) => format!("for {}", note.serves.join(", ")),
            (true, false) => "as a home of facts".to_owned(),
            (true, true) => "for the checks and the maintenance of changes".to_owned(),
        };
        grid.line([
            name(s.name.clone()),
            plain(structure::key(model, s)),
            faint(why),
        ]);
    }
    grid.print(colour, out)
}

/// A question: what it costs, its plan and the structures that it reads.
pub(crate) fn question(
    designed: &Designed,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let Designed {
        model,
        design,
        unit,
        ..
    } = designed;
    let (Some(priced), Some(question)) = (design.plans.get(at), model.questions.get(at)) else {
        return Ok(());
    };
    let columns: Vec<&str> = priced.plan.output.iter().map(|o| o.name.as_str()).collect();
    writeln!(
        out,
        "question {}: {} each, at {}",
        paint(colour, words::NAME, &priced.name),
        unit.show(priced.cost),
        rate(designed, priced.weight),
    )?;
    writeln!(out, "  answers {}", columns.join(", "))?;
    writeln!(out, "\n{}", words::heading(colour, "Plan"))?;
    let teller = Teller {
        model,
        design,
        params: &question.params,
    };
    let itself = designed.options.target.cost.ask;
    plan::print_estimates(&teller.lines(&priced.plan, &[]), itself, *unit, colour, out)?;
    let read = design
        .notes
        .iter()
        .zip(&design.structures)
        .filter(|(n, _)| n.serves.contains(&priced.name));
    let read: Vec<_> = read.collect();
    if !read.is_empty() {
        writeln!(out, "\n{}", words::heading(colour, "Structures"))?;
        for (note, s) in read {
            structure::brief(model, s, note, colour, out)?;
        }
    }
    Ok(())
}

fn print_change(
    designed: &Designed,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let Designed {
        model,
        design,
        unit,
        ..
    } = designed;
    let Some(plan) = design.writes.get(at) else {
        return Ok(());
    };
    let does = match model.changes.get(at) {
        Some(change) => change::statements(model, change),
        None => "the delete of an instance whose time has come".into(),
    };
    writeln!(
        out,
        "change {}: {} each, at {}",
        paint(colour, words::NAME, &plan.name),
        unit.show(plan.cost),
        rate(designed, plan.weight),
    )?;
    writeln!(out, "  does {does}")?;
    writeln!(out, "\n{}", words::heading(colour, "Write plan"))?;
    let itself = designed.options.target.cost.change;
    change::print_plan(plan, itself, *unit, colour, out)
}
