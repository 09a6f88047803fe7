//! `querent check`

use crate::Outcome;
use crate::designing::{target_named, with_notice};
use crate::model_files::ModelFiles;
use crate::terminal::Terminal;
use anyhow::Result;
use clap::{Args, ValueEnum};
use querent_compiler::design::target::Target;
use querent_compiler::design::{Options, design};
use querent_compiler::diagnostic::{self, Diagnostic, Severity, Style};
use querent_compiler::model::Model;
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
    /// Form of the output
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Warnings are findings too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// An array, for programs
    Json,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let files = ModelFiles::read(&arguments.model)?;
    let name = arguments.model.display().to_string();
    let target = target_named(&arguments.target)?;
    let text = files.text();
    let (model, mut diagnostics) = querent_compiler::parse(&name, &text);
    if let Some(model) = &model {
        with_notice("designing…", || {
            diagnostics.extend(designed(model, &text, &target));
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

/// What the designs of a model and of its schemas show to be amiss.
fn designed(model: &Model, text: &str, target: &Target) -> Vec<Diagnostic> {
    let given = model.schemas.iter().map(|s| Some(s.clone()));
    let mut found: Vec<Diagnostic> = Vec::new();
    for given in std::iter::once(None).chain(given) {
        let options = Options {
            target: target.clone(),
            given,
            ..Options::embedded()
        };
        // What has no design is told by the commands that need one.
        let Ok(made) = design(model, &options) else {
            continue;
        };
        for finding in made.warnings.iter().map(|w| w.diagnostic(text)) {
            if !found.contains(&finding) {
                found.push(finding);
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
