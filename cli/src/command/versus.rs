//! `querent explain --vs`: two schemas of one model under the same questions and changes.

use super::design::{rate, rate_title, total};
use crate::designing::{Designed, given, model_of};
use crate::model_files::ModelFiles;
use crate::terminal::{Terminal, paint};
use crate::words::grid::{Grid, faint, name, plain};
use crate::words::{self, number, structure};
use anyhow::{Context, Result, anyhow};
use querent_compiler::design::display::Printer;
use querent_compiler::design::{Design, Options, source};
use querent_compiler::model::Expr;
use std::io::{self, Write};
use std::path::Path;

/// The name of a schema that was read from a design.
const READ: &str = "other";

/// The other schema, priced as the first design was. None where it has errors, which are printed.
pub(crate) fn other(
    model: &Path,
    other: &str,
    designed: &Designed,
    terminal: &mut Terminal,
) -> Result<Option<Designed>> {
    let mut files = ModelFiles::read(model)?;
    let named = designed.model.schemas.iter().any(|s| s.name == other);
    let path = Path::new(other);
    let mut schema = other.to_owned();
    let is_json = path.extension().is_some_and(|e| e == "json");
    if !named && (path.is_file() || is_json || path.components().count() > 1) {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {other}"))?;
        let text = if is_json {
            let json = serde_json::from_str(&text).with_context(|| format!("reading {other}"))?;
            source::schema_of_json(READ, &json).map_err(|why| anyhow!("{other}: {why}"))?
        } else {
            text
        };
        files = files.and(path.to_owned(), text);
        schema.clear();
    }
    let Some((model, _)) = model_of(model, &files, terminal)? else {
        return Ok(None);
    };
    if schema.is_empty() {
        let added = model.schemas.get(designed.model.schemas.len());
        let added = added.ok_or_else(|| {
            anyhow!(
                "{other}: found no `schema` block, expected one such as `schema by_hand {{ … }}`"
            )
        })?;
        schema.clone_from(&added.name);
    }
    let options = Options {
        given: Some(given(&model, &schema)?),
        ..designed.options.clone()
    };
    Designed::new(model, options).map(Some)
}

/// Prints both prices of each statement, the largest loss of the other schema first.
pub(crate) fn print(
    ours: &Designed,
    other: &Designed,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let unit = ours.unit;
    writeln!(out, "Cost of {}", total(ours))?;
    let times = other.design.total / ours.design.total;
    let verdict = if (times - 1.0).abs() < 1e-9 {
        String::from("as much")
    } else if times > 1.0 {
        match number::count(times).as_str() {
            "1" => format!("{:.2} % more", (times - 1.0) * 100.0),
            shown => format!("{shown} times as much"),
        }
    } else {
        format!("{:.1} % of it", times * 100.0)
    };
    writeln!(
        out,
        "of the other schema: {}, {verdict}",
        unit.show(other.design.total)
    )?;
    writeln!(out, "\n{}", words::heading(colour, "Questions and changes"))?;
    // Both are designs of one model, so that their statements stand in one order.
    let mut lines: Vec<(&str, f64, f64, f64)> = statements(&ours.design)
        .zip(statements(&other.design))
        .map(|((name, weight, cost), (_, _, theirs))| (name, weight, cost, theirs))
        .collect();
    lines.sort_by(|a, b| (b.1 * (b.3 - b.2)).total_cmp(&(a.1 * (a.3 - a.2))));
    let mut grid = Grid::new(2, &[1, 2, 3, 4]);
    grid.head(&[
        "",
        rate_title(ours),
        "designed",
        "other",
        "difference",
        "at its rate",
    ]);
    for (statement, weight, cost, theirs) in lines {
        let difference = theirs - cost;
        let sign = if difference < 0.0 { "−" } else { "+" };
        let same = difference.abs() <= 1e-9 * cost.max(theirs);
        let shown = |amount: f64| {
            if same {
                String::from("–")
            } else {
                format!("{sign}{}", unit.show(amount.abs()))
            }
        };
        grid.line([
            name(statement),
            plain(rate(ours, weight)),
            plain(unit.show(cost)),
            plain(unit.show(theirs)),
            plain(shown(difference)),
            faint(shown(weight * difference)),
        ]);
    }
    grid.print(colour, out)?;
    for (title, of, without) in [
        ("Only in the design", ours, other),
        ("Only in the other", other, ours),
    ] {
        let found = of.design.beyond(&without.design);
        if found.is_empty() {
            continue;
        }
        writeln!(out, "\n{}", words::heading(colour, title))?;
        let mut grid = Grid::new(2, &[]);
        for s in found {
            grid.line([name(s.name.clone()), plain(structure::key(&of.model, s))]);
        }
        grid.print(colour, out)?;
    }
    let added = added(other);
    if !added.is_empty() {
        writeln!(
            out,
            "\n{} to the other schema, so that no fact is lost, every bucket found and every change checked: {}",
            paint(colour, words::WARNING, "Added"),
            added.join(", ")
        )?;
    }
    Ok(())
}

/// What the other schema lacked: structures, and what its homes keep that nobody writes.
pub(crate) fn added(other: &Designed) -> Vec<String> {
    let given = other.options.given.iter().flat_map(|s| &s.structures);
    let given: Vec<_> = given.collect();
    let mut out = Vec::new();
    for (s, as_given) in other.design.structures.iter().zip(&given) {
        let more = |e: &&Expr| !as_given.columns.contains(e);
        let printer = Printer::of_structure(&other.model, s);
        let more = s.columns.iter().filter(more);
        out.extend(more.map(|e| format!("{} in {}", printer.expr(e), s.name)));
    }
    let added = other.design.structures.iter().skip(given.len());
    out.extend(added.map(|s| s.name.clone()));
    out
}

/// Every question and change: its name, its weight, what it costs.
pub(crate) fn statements(design: &Design) -> impl Iterator<Item = (&str, f64, f64)> {
    let questions = design
        .plans
        .iter()
        .map(|p| (p.name.as_str(), p.weight, p.cost));
    let changes = design
        .writes
        .iter()
        .map(|w| (w.name.as_str(), w.weight, w.cost));
    questions.chain(changes)
}
