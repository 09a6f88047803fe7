//! Structures in words.

use super::grid::{Grid, faint, name, plain};
use super::{counted, limits, number, technique};
use crate::terminal::paint;
use querent_compiler::design::display::{Printer, direction, key_part};
use querent_compiler::design::popular_key::{split_of, totals};
use querent_compiler::design::{Design, Note};
use querent_compiler::model::{Direction, Model};
use querent_compiler::view::{Kind, Structure};
use std::io::{self, Write};

/// `category.name | posted_at desc, id`: the partition key, then the clustering key.
pub(crate) fn key(model: &Model, s: &Structure) -> String {
    let (partition, clustering) = (partition(model, s), clustering(model, s));
    match (partition.is_empty(), clustering.is_empty()) {
        (_, true) => partition,
        (true, false) => format!("| {clustering}"),
        (false, false) => format!("{partition} | {clustering}"),
    }
}

fn partition(model: &Model, s: &Structure) -> String {
    let printer = Printer::of_structure(model, s);
    let parts = s.partition.iter().map(|e| key_part(&printer, e));
    parts.collect::<Vec<_>>().join(", ")
}

fn clustering(model: &Model, s: &Structure) -> String {
    let printer = Printer::of_structure(model, s);
    let parts = s.clustering.iter().map(|(e, d)| match d {
        Direction::Asc => key_part(&printer, e),
        Direction::Desc => format!("{} {}", key_part(&printer, e), direction(*d)),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Key parts of which a long value is cut.
fn hashed(model: &Model, s: &Structure) -> Vec<String> {
    let printer = Printer::of_structure(model, s);
    let parts = s.key().enumerate().filter(|(i, _)| s.is_hashed(*i));
    parts.map(|(_, e)| key_part(&printer, e)).collect()
}

/// The columns beside the key.
pub(crate) fn columns(model: &Model, s: &Structure) -> Vec<String> {
    let printer = Printer::of_structure(model, s);
    s.columns.iter().map(|e| printer.expr(e)).collect()
}

/// Conditions under which there is a row.
pub(crate) fn conditions(model: &Model, s: &Structure) -> Vec<String> {
    let printer = Printer::of_structure(model, s);
    s.filter.iter().map(|p| printer.pred(p)).collect()
}

/// How popular keys are split: into how many parts of what size, or how full these are.
fn split(model: &Model, s: &Structure) -> String {
    let Some(split) = split_of(model, s) else {
        return String::new();
    };
    if totals(model, s).is_some() {
        return "how many rows each part of a popular key holds".into();
    }
    let average = match split.average {
        // Most keys have one part; how much more than one is it on average says nothing.
        n if n < 1.05 => "1".to_owned(),
        n if n < 99.95 => format!("{n:.1}"),
        n => number::count(n),
    };
    format!(
        "popular keys, as they grow, into parts of at most {} rows: {average} of a key on average, {} at most",
        number::count(split.capacity as f64),
        number::count(split.most),
    )
}

/// Homes by entity: `Post (title, url), User (name)`.
pub(crate) fn homes(note: &Note) -> String {
    let mut entities: Vec<(&str, Vec<&str>)> = Vec::new();
    for fact in &note.home_of {
        let (entity, field) = fact.rsplit_once('.').unwrap_or((fact, ""));
        match entities.iter_mut().find(|(e, _)| *e == entity) {
            Some((_, fields)) => fields.push(field),
            None => entities.push((entity, vec![field])),
        }
    }
    let shown = entities
        .iter()
        .map(|(e, fields)| format!("{e} ({})", fields.join(", ")));
    shown.collect::<Vec<_>>().join(", ")
}

/// A few lines: what a design says of a structure.
pub(crate) fn brief(
    model: &Model,
    s: &Structure,
    note: &Note,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let size = format!(
        "{} rows, {}",
        number::count(note.sizes.rows),
        number::bytes(note.sizes.bytes)
    );
    writeln!(
        out,
        "  {}  {}",
        paint(colour, super::NAME, &s.name),
        paint(colour, super::FAINT, &size)
    )?;
    let mut grid = Grid::new(4, &[]);
    let mut say = |what: &str, text: String| {
        if !text.is_empty() {
            grid.line([faint(what), plain(text)]);
        }
    };
    say("key", key(model, s));
    say("splits", split(model, s));
    say("keeps", columns(model, s).join(", "));
    say("where", conditions(model, s).join(" and "));
    say("serves", note.serves.join(", "));
    say("home of", homes(note));
    say("uses", note.techniques.join(", "));
    grid.print(colour, out)
}

/// Everything that is known of a structure.
pub(crate) fn full(
    model: &Model,
    design: &Design,
    at: usize,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let (Some(s), Some(note)) = (design.structures.get(at), design.notes.get(at)) else {
        return Ok(());
    };
    let anchor = &model.entity(s.anchor).name;
    let what = match s.kind {
        Kind::Lists if s.over.is_empty() => format!("one row for each {anchor}"),
        Kind::Lists => format!("one row for each {anchor} and each element of its path"),
        Kind::Groups => format!("one row for each group of {anchor}s"),
    };
    writeln!(out, "{}: {what}\n", paint(colour, super::NAME, &s.name))?;
    let mut grid = Grid::new(2, &[]);
    let mut say = |what: &str, text: String| {
        if !text.is_empty() {
            grid.line([faint(what), plain(text)]);
        }
    };
    say("partition", partition(model, s));
    say("clustering", clustering(model, s));
    say("splits", split(model, s));
    say("hashed where long", hashed(model, s).join(", "));
    say("columns", columns(model, s).join(", "));
    say("where", conditions(model, s).join(" and "));
    let homes = homes(note);
    say(
        "home of",
        if homes.is_empty() {
            "nothing: every fact in it is a copy".into()
        } else {
            homes
        },
    );
    say(
        "read by",
        match design.readers_of(at).as_slice() {
            [] => "nothing".into(),
            readers => readers.join(", "),
        },
    );
    let writers = design.writes.iter().filter(|w| {
        w.steps
            .iter()
            .any(|step| step.structure == s.name && matches!(step.op.as_str(), "put" | "delete"))
    });
    let writers: Vec<&str> = writers.map(|w| w.name.as_str()).collect();
    say(
        "written by",
        if writers.is_empty() {
            "no change of the model".into()
        } else {
            writers.join(", ")
        },
    );
    let sizes = &note.sizes;
    say(
        "size",
        format!(
            "{} rows, {}",
            number::count(sizes.rows),
            number::bytes(sizes.bytes)
        ),
    );
    grid.print(colour, out)?;
    writeln!(out, "\n{}", super::heading(colour, "At most"))?;
    limits::print(sizes, design, colour, out)?;
    if !note.techniques.is_empty() {
        writeln!(out, "\n{}", super::heading(colour, "Techniques"))?;
        let mut grid = Grid::new(2, &[]);
        for t in &note.techniques {
            grid.line([name(t.clone()), plain(technique::meaning(t))]);
        }
        grid.print(colour, out)?;
    }
    Ok(())
}

/// A line that says how a design was found.
pub(crate) fn found(design: &Design, seconds: Option<f64>) -> String {
    let proof = match design.search.gap {
        _ if design.search.optimal => "proven to be the cheapest".to_owned(),
        // Percents below a tenth say nothing to a reader.
        gap if gap < 0.001 => "proven to be within 0.1 % of the cheapest".to_owned(),
        gap if gap < 1.0 => format!("at most {:.1} % from the cheapest", gap * 100.0),
        _ => "not proven to be the cheapest".to_owned(),
    };
    let time = seconds
        .map(|s| format!(", found in {}", number::seconds(s)))
        .unwrap_or_default();
    format!(
        "{} out of {}, {proof}{time}",
        counted(design.structures.len(), "structure"),
        counted(design.search.candidates, "candidate"),
    )
}
