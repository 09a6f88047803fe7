//! `querent fmt`

use crate::Outcome;
use crate::argument::Format;
use crate::model_files::{ModelFile, ModelFiles};
use crate::terminal::Terminal;
use anyhow::{Context, Result};
use clap::Args;
use querent_compiler::diagnostic::{self, Diagnostic, Style};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a model in the one form that all models have
///
/// Works in place; standard input (-) goes to standard output. A file that cannot be parsed is left
/// as it is.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent fmt shop.querent
  querent fmt --check shop/
  querent fmt - < shop.querent")]
pub(crate) struct Arguments {
    /// A `.querent` file, a folder of them, or - for standard input
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Change nothing; exit with 1 and name the files that would change
    #[arg(long)]
    pub(crate) check: bool,
    /// Form of the output: in words, or one object
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// What became of a file.
enum Formatted {
    /// It is in the one form already.
    Same,
    /// Its text would be this.
    Changed(String),
    /// It cannot be parsed.
    Unreadable(Vec<Diagnostic>),
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let files = ModelFiles::read(&arguments.model)?;
    let mut outcome = Outcome::Clean;
    let mut objects = Vec::new();
    for file in files.files() {
        let formatted = match querent_compiler::format(&file.text) {
            Ok(text) if text == file.text => Formatted::Same,
            Ok(text) => Formatted::Changed(text),
            Err(diagnostics) => Formatted::Unreadable(diagnostics),
        };
        if let Formatted::Changed(text) = &formatted
            && !arguments.check
            && !is_stdin(file)
        {
            replace(&file.path, text)?;
        }
        let found = match formatted {
            Formatted::Same => false,
            Formatted::Changed(_) => arguments.check,
            Formatted::Unreadable(_) => true,
        };
        if found {
            outcome = Outcome::Findings;
        }
        match arguments.format {
            Format::Text => print(file, &formatted, arguments.check, terminal)?,
            Format::Json => objects.push(object(file, &formatted, arguments.check)),
        }
    }
    if arguments.format == Format::Json {
        writeln!(terminal.out, "{:#}", json!({ "files": objects }))?;
    }
    Ok(outcome)
}

fn is_stdin(file: &ModelFile) -> bool {
    file.path == Path::new("-")
}

fn print(
    file: &ModelFile,
    formatted: &Formatted,
    check: bool,
    terminal: &mut Terminal,
) -> Result<()> {
    let name = file.path.display();
    match formatted {
        Formatted::Unreadable(diagnostics) => {
            let style = if terminal.colour {
                Style::Colour
            } else {
                Style::Plain
            };
            let text = diagnostic::to_text(diagnostics, &name.to_string(), &file.text, style);
            terminal.out.write_all(text.as_bytes())?;
        }
        Formatted::Changed(_) if check => writeln!(terminal.out, "{name} would be formatted")?,
        Formatted::Changed(text) if is_stdin(file) => terminal.out.write_all(text.as_bytes())?,
        Formatted::Changed(_) => writeln!(terminal.out, "{name} formatted")?,
        Formatted::Same if is_stdin(file) && !check => {
            terminal.out.write_all(file.text.as_bytes())?;
        }
        Formatted::Same => {}
    }
    Ok(())
}

/// A file for programs; the text is there where it is written nowhere else.
fn object(file: &ModelFile, formatted: &Formatted, check: bool) -> serde_json::Value {
    let name = file.path.display().to_string();
    let findings = match formatted {
        Formatted::Unreadable(found) => diagnostic::to_json(found, &name, &file.text),
        Formatted::Same | Formatted::Changed(_) => json!([]),
    };
    let text = match formatted {
        _ if check || !is_stdin(file) => None,
        Formatted::Changed(text) => Some(text),
        Formatted::Same => Some(&file.text),
        Formatted::Unreadable(_) => None,
    };
    json!({
        "file": name,
        "changed": matches!(formatted, Formatted::Changed(_)),
        "findings": findings,
        "text": text,
    })
}

/// Writes beside the file, then renames: an interruption leaves the old text or the new.
fn replace(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("querent.new");
    let write = || {
        std::fs::write(&beside, text)?;
        std::fs::set_permissions(&beside, std::fs::metadata(path)?.permissions())?;
        std::fs::rename(&beside, path)
    };
    write().with_context(|| format!("writing {}", path.display()))
}
