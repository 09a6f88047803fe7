//! `querent explain`

use crate::Outcome;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// Explain a design, or one question, change or structure of it
///
/// Says why each choice was made, what it costs, and at which rate it would flip.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent explain shop.querent
  querent explain shop.querent orders_of")]
pub(crate) struct Arguments {
    /// A `.querent` file, or a folder of them
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// A question, a change or a structure (default: the whole design)
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The kind of store to design for
    #[arg(long, value_name = "T", default_value = "embedded")]
    pub(crate) target: String,
    /// The mix of rates to design for (default: the first of the model)
    #[arg(long, value_name = "M")]
    pub(crate) mix: Option<String>,
    /// The cost model (default: the target's own)
    #[arg(long, value_name = "C")]
    pub(crate) cost_model: Option<String>,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent explain` is not connected to the runtime yet")
}
