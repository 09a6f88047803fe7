//! `querent check`

use crate::Outcome;
use crate::argument::Format;
use crate::designing::{target_named, with_notice};
use crate::model_files::ModelFiles;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use querent_compiler::design::target::Target;
use querent_compiler::design::{DesignError, Finding, Options, design};
use querent_compiler::diagnostic::{self, Diagnostic, Severity, Style};
use querent_compiler::model::{Model, Schema};
use querent_compiler::syntax::Span;
use std::io::Write;
use std::path::PathBuf;

/// Check a model and show everything that is wrong with it
///
/// A model without errors is designed too: limits of the target that its numbers would break are
/// findings, and so is what its `schema` blocks get wrong.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent check shop.querent
  querent check shop/ --format json
  querent check --deny-warnings shop.querent

Exit codes: 0 no errors, 1 errors (or, with --deny-warnings, warnings), 2 failure.")]
pub(crate) struct Arguments {
    /// A `.querent` file, a folder of them, or - for standard input
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The kind of store to check for
    #[arg(long, value_name = "T", default_value = "embedded")]
    pub(crate) target: String,
    /// The mix of rates to check (default: every one)
    #[arg(long, value_name = "M")]
    pub(crate) mix: Option<String>,
    /// Form of the output: in words, or an array of findings
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Warnings are findings too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let files = ModelFiles::read(&arguments.model)?;
    let name = arguments.model.display().to_string();
    let target = target_named(&arguments.target)?;
    let text = files.text();
    let (model, mut diagnostics) = querent_compiler::parse(&name, &text);
    if let Some(model) = &model {
        let mixes = mixes(model, arguments.mix.as_deref())?;
        with_notice("designing…", || {
            diagnostics.extend(designed(model, &text, &target, &mixes));
        });
    }
    match arguments.format {
        Format::Json => {
            let all: Vec<serde_json::Value> = by_file(&files, &diagnostics)
                .into_iter()
                .flat_map(
                    |(file, text, own)| match diagnostic::to_json(&own, &file, text) {
                        serde_json::Value::Array(items) => items,
                        other => vec![other],
                    },
                )
                .collect();
            writeln!(terminal.out, "{:#}", serde_json::Value::Array(all))?;
        }
        Format::Text => {
            let style = if terminal.colour {
                Style::Colour
            } else {
                Style::Plain
            };
            print_text(&files, &diagnostics, style, &mut terminal.out)?;
            writeln!(terminal.out, "{}", summary(&name, &diagnostics))?;
        }
    }
    let findings = diagnostics
        .iter()
        .any(|d| arguments.deny_warnings || d.severity == Severity::Error);
    Ok(if findings {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// The mixes to look at: one, or all of the model's; none where it has plain rates.
fn mixes(model: &Model, wanted: Option<&str>) -> Result<Vec<Option<String>>> {
    match wanted {
        None if model.mixes.is_empty() => Ok(vec![None]),
        None => Ok(model.mixes.iter().cloned().map(Some).collect()),
        Some(mix) if model.mixes.iter().any(|m| m == mix) => Ok(vec![Some(mix.to_owned())]),
        Some(mix) => bail!(DesignError::UnknownMix {
            found: mix.to_owned(),
            known: model.mixes.clone(),
        }),
    }
}

/// What the designs of a model and of its schemas show to be amiss, each finding once.
fn designed(
    model: &Model,
    text: &str,
    target: &Target,
    mixes: &[Option<String>],
) -> Vec<Diagnostic> {
    let given = model.schemas.iter().map(|s| Some(s.clone()));
    let mut found: Vec<Diagnostic> = Vec::new();
    for given in std::iter::once(None).chain(given) {
        for finding in designed_for_each(model, target, given.as_ref(), mixes) {
            let mut diagnostic = finding.diagnostic(text);
            if let Some(schema) = &given {
                diagnostic.message = format!("schema {}: {}", schema.name, diagnostic.message);
            }
            if !finding.mixes.is_empty() && mixes.len() > 1 {
                let word = if finding.mixes.len() > 1 {
                    "mixes"
                } else {
                    "mix"
                };
                let named = finding.mixes.join(", ");
                diagnostic.message = format!("{} ({word} {named})", diagnostic.message);
            }
            if !found.contains(&diagnostic) {
                found.push(diagnostic);
            }
        }
    }
    found
}

/// The findings of the designs for each mix: where several have the same, the worst of them, with
/// all their names.
fn designed_for_each(
    model: &Model,
    target: &Target,
    given: Option<&Schema>,
    mixes: &[Option<String>],
) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for mix in mixes {
        let options = Options {
            target: target.clone(),
            mix: mix.clone(),
            given: given.cloned(),
            ..Options::embedded()
        };
        let findings = match design(model, &options) {
            Ok(made) => made.warnings,
            Err(error) => vec![Finding {
                mixes: mix.iter().cloned().collect(),
                ..error.finding()
            }],
        };
        for mut finding in findings {
            let same = |f: &&mut Finding| {
                f.code == finding.code
                    && f.structure == finding.structure
                    && f.subject == finding.subject
            };
            // One design may have several alike: rows, values and bytes of one partition.
            let other = |f: &&mut Finding| {
                let mut mixes = f.mixes.iter();
                !f.mixes.is_empty() && mixes.all(|m| !finding.mixes.contains(m))
            };
            match found.iter_mut().filter(other).find(same) {
                None => found.push(finding),
                Some(known) if finding.found > known.found => {
                    // Its rate is the one to look at, so that its mix comes first.
                    finding.mixes.append(&mut known.mixes);
                    *known = finding;
                }
                Some(known) => known.mixes.append(&mut finding.mixes),
            }
        }
    }
    found
}

/// Prints findings below one another, each with its place in its own file.
pub(crate) fn print_text(
    files: &ModelFiles,
    diagnostics: &[Diagnostic],
    style: Style,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for (file, text, own) in by_file(files, diagnostics) {
        out.write_all(diagnostic::to_text(&own, &file, text, style).as_bytes())?;
    }
    Ok(())
}

/// The findings of each file, with spans relative to it.
fn by_file<'f>(
    files: &'f ModelFiles,
    diagnostics: &[Diagnostic],
) -> Vec<(String, &'f str, Vec<Diagnostic>)> {
    files
        .files()
        .iter()
        .map(|file| {
            let shift = |span: Span| {
                let end = file.text.len();
                let within = |offset: usize| offset.saturating_sub(file.start).min(end);
                Span::new(within(span.start), within(span.end))
            };
            let inside = |span: Span| {
                files
                    .at(span.start)
                    .is_some_and(|at| at.start == file.start)
            };
            let own = diagnostics
                .iter()
                .filter(|d| inside(d.span))
                .cloned()
                .map(|mut d| {
                    // A label in another file cannot be underlined here.
                    d.labels.retain(|(span, _)| inside(*span));
                    d.labels
                        .iter_mut()
                        .for_each(|(span, _)| *span = shift(*span));
                    d.span = shift(d.span);
                    d
                });
            (
                file.path.display().to_string(),
                file.text.as_str(),
                own.collect(),
            )
        })
        .collect()
}

fn summary(name: &str, diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    let warnings = diagnostics.len() - errors;
    let count = |n: usize, word: &str| match n {
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    };
    match (errors, warnings) {
        (0, 0) => format!("{name}: no findings"),
        (0, w) => format!("{name}: {}", count(w, "warning")),
        (e, 0) => format!("{name}: {}", count(e, "error")),
        (e, w) => format!("{name}: {}, {}", count(e, "error"), count(w, "warning")),
    }
}
