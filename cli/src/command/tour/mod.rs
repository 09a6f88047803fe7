//! `querent tour`

mod facts;

use crate::Outcome;
use crate::command::{reasons, upkeep};
use crate::designing::Designed;
use crate::output::{Column, print_first};
use crate::terminal::{Terminal, paint};
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::number;
use crate::words::plan::{Teller, print_profile};
use crate::words::{self, change, counted, structure};
use anyhow::{Context, Result, bail};
use clap::Args;
use facts::Facts;
use querent::load::LoadOptions;
use querent::{Answered, Database};
use querent_compiler::design::Options;
use querent_compiler::design::study::Study;
use querent_compiler::model::{Field, Model};
use querent_compiler::value::Value;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The model that the tour is about.
const MODEL: &str = include_str!("../../../../examples/reddit.querent");
/// The same facts in every tour.
const SEED: u64 = 7;

/// A minute's guided run: design, create, load, ask, verify, explain
///
/// Works in a folder of its own, which it removes at the end unless --keep names one.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent tour
  querent tour --keep reddit.db")]
pub(crate) struct Arguments {
    /// Keep the database in this folder
    #[arg(long, value_name = "DB")]
    pub(crate) keep: Option<PathBuf>,
}

/// The category whose front page is looked at.
const CATEGORY: &str = "rust";
/// Rows of an answer that are shown.
const SHOWN: usize = 4;

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let vanishing = tempfile::tempdir().context("making a temporary folder")?;
    let folder = arguments
        .keep
        .clone()
        .unwrap_or_else(|| vanishing.path().join("reddit.db"));
    let mut tour = Tour { terminal, stop: 0 };

    tour.heading("The model: what exists, what is asked, what changes")?;
    let (model, _) = querent_compiler::parse("reddit", MODEL);
    let model = model.context("the built-in model has errors")?;
    tour.model(&model)?;

    tour.heading("The design: the structures that answer this with the least work")?;
    tour.command("design reddit.querent")?;
    let designed = Designed::new(model, Options::embedded())?;
    tour.design(&designed)?;

    tour.heading("A database of that design, with some facts")?;
    tour.command("create reddit.db --model reddit.querent")?;
    let database = Database::create(&folder, "reddit", MODEL)?;
    let facts = Facts::new(SEED);
    let database = tour.load(database, &facts, vanishing.path())?;

    tour.heading("A question, and what answering it really took")?;
    tour.command(&format!(
        "ask reddit.db front_page category={CATEGORY} --profile"
    ))?;
    let answered = tour.ask(&database)?;
    tour.profile(&database, &answered)?;

    tour.heading("A change, and every copy that it kept true")?;
    let name = answered.rows.first().and_then(|row| row.last());
    let Some(Value::Text(name)) = name else {
        bail!("the front page is empty")
    };
    let user = facts.user_named(name).context("an author without a name")?;
    let new_name = format!("{name}_renamed");
    tour.command(&format!(
        "change reddit.db rename user={user} name={new_name}"
    ))?;
    let receipt = database.change("rename", json!({ "user": user, "name": new_name }))?;
    let (colour, out) = (tour.terminal.colour, &mut tour.terminal.out);
    change::print_receipt(&receipt, database.model(), colour, out)?;

    tour.heading("The same question again")?;
    tour.command(&format!("ask reddit.db front_page category={CATEGORY}"))?;
    tour.ask(&database)?;

    tour.heading("Is every copy true?")?;
    tour.command("verify reddit.db")?;
    let report = database.verify(&querent::verify::VerifyOptions::default())?;
    if !report.is_clean() {
        bail!("verify found {} differences", report.findings.len());
    }
    writeln!(
        tour.terminal.out,
        "  {} rows of {} structures recomputed from the homes: all as they should be.",
        report.rows, report.structures
    )?;

    tour.heading("Why is there such a structure?")?;
    let at = designed
        .design
        .notes
        .iter()
        .position(|n| n.serves.iter().any(|s| s == "front_page"));
    let at = at.context("no structure serves front_page")?;
    let structure_name = designed
        .design
        .structures
        .get(at)
        .map(|s| s.name.as_str())
        .unwrap_or_default();
    tour.command(&format!("explain reddit.querent {structure_name}"))?;
    if let (Some(s), Some(note)) = (
        designed.design.structures.get(at),
        designed.design.notes.get(at),
    ) {
        let (colour, out) = (tour.terminal.colour, &mut tour.terminal.out);
        structure::brief(&designed.model, s, note, colour, out)?;
        let study = Study::of(&designed.model, &designed.options, &designed.design)?;
        upkeep::print(&designed, s, colour, out)?;
        reasons::of_choice(&designed, &study, at, colour, out)?;
        let more = "(in short: the command also shows sizes, limits, techniques and reads)";
        writeln!(out, "{}", paint(colour, words::FAINT, more))?;
    }

    tour.end(arguments)?;
    Ok(Outcome::Clean)
}

/// Where the tour is, and where it is told.
struct Tour<'t> {
    terminal: &'t mut Terminal,
    stop: usize,
}

impl Tour<'_> {
    fn heading(&mut self, text: &str) -> Result<()> {
        self.stop += 1;
        let between = if self.stop > 1 { "\n" } else { "" };
        let title = paint(
            self.terminal.colour,
            "1;34",
            &format!("{}. {text}", self.stop),
        );
        writeln!(self.terminal.out, "{between}{title}")?;
        // Whoever looks on sees each stop as it is reached.
        Ok(self.terminal.out.flush()?)
    }

    /// The command with which one does the same.
    fn command(&mut self, text: &str) -> Result<()> {
        let shown = paint(
            self.terminal.colour,
            words::FAINT,
            &format!("$ querent {text}"),
        );
        Ok(writeln!(self.terminal.out, "{shown}")?)
    }

    /// The model, shortened: entities by a line each, a question, the changes.
    fn model(&mut self, model: &Model) -> Result<()> {
        let mut grid = Grid::new(2, &[2]);
        for entity in &model.entities {
            let fields = entity.own.iter().filter_map(|field| match field {
                Field::Attribute(a) => Some(model.attribute(*a).name.clone()),
                Field::Reference(r) => {
                    let r = model.reference(*r);
                    Some(format!("{} -> {}", r.name, model.entity(r.target).name))
                }
                Field::Type => None,
            });
            grid.line([
                faint("entity"),
                name(entity.name.clone()),
                plain(number::count(entity.count)),
                plain(fields.collect::<Vec<_>>().join(", ")),
            ]);
        }
        let (colour, out) = (self.terminal.colour, &mut self.terminal.out);
        grid.print(colour, out)?;
        let lines = MODEL
            .lines()
            .skip_while(|l| !l.starts_with("question front_page"));
        for line in lines.take_while(|l| !l.is_empty()) {
            writeln!(out, "  {line}")?;
        }
        let others = model.questions.iter().filter(|q| q.name != "front_page");
        let others: Vec<&str> = others.map(|q| q.name.as_str()).collect();
        writeln!(
            out,
            "  {}",
            paint(
                colour,
                words::FAINT,
                &format!("… and the questions {}", others.join(", "))
            )
        )?;
        for line in MODEL.lines().filter(|l| l.starts_with("change ")) {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }

    fn design(&mut self, designed: &Designed) -> Result<()> {
        let Designed {
            model,
            design,
            seconds,
            ..
        } = designed;
        let (colour, out) = (self.terminal.colour, &mut self.terminal.out);
        writeln!(out, "{}", structure::found(design, Some(*seconds)))?;
        writeln!(out, "{}", super::design::total(designed))?;
        writeln!(out, "\n{}", words::heading(colour, "Structures"))?;
        super::explain::print_structures(model, design, colour, out)?;
        Ok(super::design::print_prices(designed, colour, out)?)
    }

    /// Writes the facts to files and loads these.
    fn load(&mut self, database: Database, facts: &Facts, folder: &Path) -> Result<Database> {
        let mut sources = Vec::new();
        let mut named = Vec::new();
        for (entity, objects) in facts.all() {
            let name = format!("{}.jsonl", entity.to_lowercase());
            let lines: String = objects.iter().map(|object| format!("{object}\n")).collect();
            let file = folder.join(&name);
            std::fs::write(&file, lines).with_context(|| format!("writing {}", file.display()))?;
            sources.push((database.entity(entity)?, file));
            named.push(format!("{entity}={name}"));
        }
        self.command(&format!("load reddit.db {}", named.join(" ")))?;
        let options = LoadOptions::default();
        let (database, report) = database.load(&sources, &options, &mut |_| {})?;
        if report.rejected > 0 {
            bail!("{} of the built-in facts were rejected", report.rejected);
        }
        writeln!(
            self.terminal.out,
            "{} read, all loaded, in {}",
            counted(report.read as usize, "row"),
            number::seconds(report.seconds)
        )?;
        Ok(database)
    }

    /// Asks for the front page and shows its first rows.
    fn ask(&mut self, database: &Database) -> Result<Answered> {
        let answered = database.ask("front_page", json!({ "category": CATEGORY }))?;
        let columns: Vec<Column<'_>> = answered
            .plan
            .output
            .iter()
            .map(|o| Column {
                name: &o.name,
                ty: &o.ty,
            })
            .collect();
        let shown = answered.rows.get(..SHOWN).unwrap_or(&answered.rows);
        let terminal = &mut *self.terminal;
        print_first(
            database.model(),
            &columns,
            shown,
            answered.rows.len(),
            terminal,
        )?;
        Ok(answered)
    }

    fn profile(&mut self, database: &Database, answered: &Answered) -> Result<()> {
        let question = database
            .model()
            .questions
            .iter()
            .find(|q| q.name == "front_page");
        let params = question.map(|q| q.params.as_slice()).unwrap_or_default();
        let teller = Teller {
            model: database.model(),
            design: &database.schema().design,
            params,
        };
        let (colour, out) = (self.terminal.colour, &mut self.terminal.out);
        Ok(print_profile(
            &teller.lines(&answered.plan, &answered.profile),
            colour,
            out,
        )?)
    }

    fn end(&mut self, arguments: &Arguments) -> Result<()> {
        let out = &mut self.terminal.out;
        match &arguments.keep {
            Some(folder) => writeln!(
                out,
                "\nThe database is in {}; ask it something.",
                folder.display()
            )?,
            None => writeln!(
                out,
                "\nThat was it. `querent tour --keep reddit.db` leaves the database to play with."
            )?,
        }
        Ok(())
    }
}
