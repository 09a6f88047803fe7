//! `querent bench`

use crate::Outcome;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// Measure the design of a model: made-up facts, its questions and changes at their rates
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent bench reddit.querent
  querent bench reddit.querent --scale 0.001 --seconds 10")]
pub(crate) struct Arguments {
    /// A `.querent` file, or a folder of them
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The share of the model's volumes to make up (default: what makes about a million facts)
    #[arg(long, value_name = "X")]
    pub(crate) scale: Option<f64>,
    /// How long to measure
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) seconds: u64,
    /// The mix of rates (default: the first of the model)
    #[arg(long, value_name = "M")]
    pub(crate) mix: Option<String>,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent bench` is not connected to the runtime yet")
}
