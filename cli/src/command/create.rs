//! `querent create`

use crate::Outcome;
use crate::argument::{DatabaseFolder, Format};
use crate::designing::{given, read_model, with_notice};
use crate::terminal::Terminal;
use crate::words::counted;
use anyhow::Result;
use clap::Args;
use querent::Database;
use querent_compiler::design::Options;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Create an empty database of the design of a model
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent create shop.db --model shop.querent
  querent create rubis.db --model rubis.querent --mix bidding")]
pub(crate) struct Arguments {
    /// The database: a folder that does not exist yet
    #[arg(value_name = "DB", value_parser = DatabaseFolder)]
    pub(crate) database: PathBuf,
    /// A `.querent` file, or a folder of them
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The mix of rates to design for (default: the first of the model)
    #[arg(long, value_name = "M")]
    pub(crate) mix: Option<String>,
    /// Use a schema of the model, given in a `schema` block, instead of designing one
    #[arg(long, value_name = "S")]
    pub(crate) schema: Option<String>,
    /// Form of the output: in words, or one object
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let Some((model, text)) = read_model(&arguments.model, terminal)? else {
        return Ok(Outcome::Findings);
    };
    let options = Options {
        mix: arguments.mix.clone(),
        given: match &arguments.schema {
            Some(name) => Some(given(&model, name)?),
            None => None,
        },
        ..Options::embedded()
    };
    let name = arguments.model.display().to_string();
    let database = with_notice("designing…", || {
        Database::create_with(&arguments.database, &name, &text, &options)
            .map_err(anyhow::Error::from)
    })?;
    let design = &database.schema().design;
    let folder = arguments.database.display().to_string();
    let structures = design.structures.len();
    match arguments.format {
        Format::Text => writeln!(
            terminal.out,
            "{folder}: an empty database of {}",
            counted(structures, "structure"),
        )?,
        Format::Json => {
            let object = json!({
                "database": folder,
                "model": design.model,
                "target": design.target,
                "mix": design.mix,
                "schema": arguments.schema,
                "structures": structures,
            });
            writeln!(terminal.out, "{object:#}")?;
        }
    }
    Ok(Outcome::Clean)
}
