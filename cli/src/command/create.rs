//! `querent create`

use crate::Outcome;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// Create an empty database of the design of a model
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent create shop.db --model shop.querent
  querent create rubis.db --model rubis.querent --mix bidding")]
pub(crate) struct Arguments {
    /// The database: a folder that does not exist yet
    #[arg(value_name = "DB")]
    pub(crate) database: PathBuf,
    /// A `.querent` file, or a folder of them
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The mix of rates to design for (default: the first of the model)
    #[arg(long, value_name = "M")]
    pub(crate) mix: Option<String>,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent create` is not connected to the runtime yet")
}
