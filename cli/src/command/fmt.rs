//! `querent fmt`

use crate::Outcome;
use crate::model_files::{ModelFile, ModelFiles};
use crate::terminal::Terminal;
use anyhow::{Context, Result};
use clap::Args;
use querent_compiler::diagnostic::Style;
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
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let files = ModelFiles::read(&arguments.model)?;
    let mut outcome = Outcome::Clean;
    for file in files.files() {
        match querent_compiler::format(&file.text) {
            Ok(formatted) => {
                if finish(file, &formatted, arguments.check, terminal)? == Outcome::Findings {
                    outcome = Outcome::Findings;
                }
            }
            Err(diagnostics) => {
                let style = if terminal.colour {
                    Style::Colour
                } else {
                    Style::Plain
                };
                let name = file.path.display().to_string();
                let text =
                    querent_compiler::diagnostic::to_text(&diagnostics, &name, &file.text, style);
                terminal.out.write_all(text.as_bytes())?;
                outcome = Outcome::Findings;
            }
        }
    }
    Ok(outcome)
}

fn finish(
    file: &ModelFile,
    formatted: &str,
    check: bool,
    terminal: &mut Terminal,
) -> Result<Outcome> {
    let from_stdin = file.path == Path::new("-");
    let same = formatted == file.text;
    if check {
        if !same {
            writeln!(terminal.out, "{} would be formatted", file.path.display())?;
        }
        return Ok(if same {
            Outcome::Clean
        } else {
            Outcome::Findings
        });
    }
    if from_stdin {
        terminal.out.write_all(formatted.as_bytes())?;
    } else if !same {
        replace(&file.path, formatted)?;
        writeln!(terminal.out, "{} formatted", file.path.display())?;
    }
    Ok(Outcome::Clean)
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
