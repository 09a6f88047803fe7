//! `querent design`

use crate::Outcome;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
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
}

/// Design the schema that answers every question with the least work
///
/// Prints the structures with their keys, what each is for and what dropping it would cost, the plan
/// of each question and the write plan of each change.
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
    #[arg(long, value_name = "T", default_value = "embedded")]
    pub(crate) target: String,
    /// The mix of rates to design for (default: the first of the model)
    #[arg(long, value_name = "M")]
    pub(crate) mix: Option<String>,
    /// The cost model (default: the target's own)
    #[arg(long, value_name = "C")]
    pub(crate) cost_model: Option<String>,
    /// Keep only what questions read: facts that no question asks for are lost
    #[arg(long)]
    pub(crate) lossy: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent design` is not connected to the runtime yet")
}
