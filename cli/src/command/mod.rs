//! The commands, one file each: its arguments, its help, and what it does.

mod ask;
mod bench;
mod calibrate;
mod change;
mod check;
mod completions;
mod create;
mod design;
mod explain;
mod explained;
mod fmt;
mod load;
mod named;
mod put;
mod reasons;
mod refresh;
mod tour;
mod upkeep;
mod verify;
mod versus;

pub(crate) use check::print_text as print_findings;

use crate::Outcome;
use crate::terminal::{Color, Terminal};
use anyhow::Result;
use clap::{Parser, Subcommand};

/// Querent asks "what questions do I have?" first.
///
/// You write down what exists, what is asked and what changes. Querent designs the NoSQL schema
/// that answers every question with the least work, explains each choice, and runs it.
#[derive(Debug, Parser)]
#[command(
    name = "querent",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  querent tour                                   a minute's guided run
  querent check shop.querent                     is the model right?
  querent design shop.querent                    the schema, with reasons
  querent create shop.db --model shop.querent    a database of that design
  querent ask shop.db orders_of user=7           an answer

Exit codes: 0 clean, 1 findings (errors in a model, rejects, refusals), 2 failure."
)]
pub(crate) struct CommandLine {
    /// When to use colours (`NO_COLOR` and `TERM=dumb` are honoured)
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Tour(tour::Arguments),
    Check(check::Arguments),
    Fmt(fmt::Arguments),
    Design(design::Arguments),
    Explain(explain::Arguments),
    Create(create::Arguments),
    Load(load::Arguments),
    Put(put::Arguments),
    Ask(ask::Arguments),
    Change(change::Arguments),
    Verify(verify::Arguments),
    Bench(bench::Arguments),
    Calibrate(calibrate::Arguments),
    Refresh(refresh::Arguments),
    Completions(completions::Arguments),
}

/// Runs one command.
pub(crate) fn run(command: &Command, terminal: &mut Terminal) -> Result<Outcome> {
    if let Command::Load(_)
    | Command::Put(_)
    | Command::Ask(_)
    | Command::Change(_)
    | Command::Verify(_)
    | Command::Refresh(_) = command
    {
        crate::damage::tell_faults();
    }
    match command {
        Command::Tour(a) => tour::run(a, terminal),
        Command::Check(a) => check::run(a, terminal),
        Command::Fmt(a) => fmt::run(a, terminal),
        Command::Design(a) => design::run(a, terminal),
        Command::Explain(a) => explain::run(a, terminal),
        Command::Create(a) => create::run(a, terminal),
        Command::Load(a) => load::run(a, terminal),
        Command::Put(a) => put::run(a, terminal),
        Command::Ask(a) => ask::run(a, terminal),
        Command::Change(a) => change::run(a, terminal),
        Command::Verify(a) => verify::run(a, terminal),
        Command::Bench(a) => bench::run(a, terminal),
        Command::Calibrate(a) => calibrate::run(a, terminal),
        Command::Refresh(a) => refresh::run(a, terminal),
        Command::Completions(a) => completions::run(a, terminal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_description_and_an_example() {
        for command in CommandLine::command().get_subcommands() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name}");
            let after = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(after.contains(&format!("querent {name}")), "{name}");
        }
    }
}
