//! The `querent` command: arguments in, calls of the library, output out.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod argument;
mod command;
mod damage;
mod designing;
mod lines;
mod model_files;
mod output;
mod progress;
mod terminal;
mod words;

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// What a command found, which is its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All is well.
    Clean,
    /// The command did its work and has something to complain about: errors in a model, rejected
    /// rows, a refused change, damage in a database.
    Findings,
}

fn main() -> ExitCode {
    let line = command::CommandLine::parse();
    let mut terminal = terminal::Terminal::new(line.color);
    let result = command::run(&line.command, &mut terminal);
    let result = result.and_then(|outcome| {
        terminal.out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // What was printed so far belongs before the reason why there is no more.
            let _ = terminal.out.flush();
            let head = terminal.paint_err("1;31", "error");
            let _ = writeln!(std::io::stderr(), "{head}: {}", told(&error));
            ExitCode::from(2)
        }
    }
}

/// Whoever reads the output has seen enough: that is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// The error and its causes, each told once: many errors tell their cause themselves.
fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
