//! Steps of a task: cargo commands with their time and a summary of what they said.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

/// One cargo command.
pub(crate) struct Step {
    name: &'static str,
    arguments: Vec<String>,
}

impl Step {
    pub(crate) fn new(name: &'static str, arguments: &[&str]) -> Self {
        Self {
            name,
            arguments: arguments.iter().map(|&a| a.to_owned()).collect(),
        }
    }
}

/// Runs steps in order. A step's output is shown only where it fails, which ends the run.
pub(crate) fn run_all(steps: &[Step]) -> ExitCode {
    let start = Instant::now();
    for step in steps {
        let begun = Instant::now();
        let arguments: Vec<&str> = step.arguments.iter().map(String::as_str).collect();
        let output = match cargo(&arguments).output() {
            Ok(output) => output,
            Err(why) => {
                println!("{:<10} cargo cannot be run: {why}", step.name);
                return ExitCode::from(2);
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        let verdict = if output.status.success() {
            "ok"
        } else {
            "FAILED"
        };
        println!(
            "{:<10} {verdict:<7} {seconds:>6.1} s  {}",
            step.name,
            summary(&output)
        );
        if !output.status.success() {
            println!("\n$ cargo {}", arguments.join(" "));
            println!("{}", String::from_utf8_lossy(&output.stdout));
            println!("{}", String::from_utf8_lossy(&output.stderr));
            return ExitCode::FAILURE;
        }
    }
    println!(
        "{:<10} ok      {:>6.1} s",
        "all",
        start.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}

/// Runs one command with its output going where ours goes.
pub(crate) fn run_through(arguments: &[&str]) -> ExitCode {
    match cargo(arguments).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            println!("cargo cannot be run: {why}");
            ExitCode::from(2)
        }
    }
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// How many tests passed, and how much was said.
fn summary(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    let results: Vec<&str> = out
        .lines()
        .filter(|l| l.starts_with("test result:"))
        .collect();
    let count =
        |word: &str| -> usize { results.iter().map(|line| number_before(line, word)).sum() };
    let lines = out.lines().count() + String::from_utf8_lossy(&output.stderr).lines().count();
    if results.is_empty() {
        return format!("{lines} lines of output");
    }
    let (passed, failed, ignored) = (count("passed"), count("failed"), count("ignored"));
    format!("{passed} tests passed, {failed} failed, {ignored} ignored")
}

/// The number before a word: 12 in `ok. 12 passed; 0 failed`.
fn number_before(line: &str, word: &str) -> usize {
    let words: Vec<&str> = line.split([' ', ';']).collect();
    let pairs = words.windows(2).filter_map(|pair| match pair {
        [number, w] if *w == word => number.parse::<usize>().ok(),
        _ => None,
    });
    pairs.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted() {
        let line = "test result: ok. 12 passed; 3 failed; 0 ignored; 0 measured; 1 filtered out";
        assert_eq!(number_before(line, "passed"), 12);
        assert_eq!(number_before(line, "failed"), 3);
    }
}
