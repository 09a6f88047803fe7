//! Tasks of the project: `cargo xtask test`, `cargo xtask soak --minutes N`, `cargo xtask bench`.

#![expect(clippy::print_stdout, reason = "a task talks to a person")]

mod step;

use std::process::ExitCode;
use step::Step;

const USAGE: &str = "\
usage: cargo xtask TASK

  test                 format, lints, tests, doc tests, docs: what must pass before a merge
  soak --minutes N     random models, facts and changes against the oracle, for so long
  soak --seed N        the same for one number, on every store
  bench [ARGUMENTS]    measurements, in release mode, in the crate bench/";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => test(),
        ["soak", flag @ ("--minutes" | "--seed"), n] if n.parse::<u64>().is_ok() => soak(flag, n),
        ["bench", rest @ ..] => bench(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        other => {
            println!(
                "found `{}`, expected one of these:\n\n{USAGE}",
                other.join(" ")
            );
            ExitCode::from(2)
        }
    }
}

/// What must pass, cheapest first; the first failure ends the run.
fn test() -> ExitCode {
    let workspace_tests = ["test", "--workspace", "--all-targets", "--quiet"];
    step::run_all(&[
        Step::new("format", &["fmt", "--all", "--check"]),
        Step::new(
            "lints",
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ],
        ),
        Step::new(
            "tests",
            &[&workspace_tests[..], &["--", "--skip", "docs_snippets"]].concat(),
        ),
        Step::new("doc tests", &["test", "--workspace", "--doc", "--quiet"]),
        // Of the whole workspace: one package alone would be built with other features.
        Step::new(
            "docs",
            &["test", "--workspace", "--test", "docs", "--quiet"],
        ),
    ])
}

/// The same random comparison as in the tests, for as long as one likes.
fn soak(flag: &str, number: &str) -> ExitCode {
    let binary = [
        "run",
        "--release",
        "--package",
        "querent-testkit",
        "--bin",
        "soak",
        "--",
    ];
    step::run_through(&[&binary[..], &[flag, number]].concat())
}

/// SQLite maps two gibibytes of a file at most, unless it is built to map more.
const SQLITE_MAPS_ALL: &str = "env.LIBSQLITE3_FLAGS='-DSQLITE_MAX_MMAP_SIZE=1099511627776'";

/// The crate `bench` has heavy dependencies, so it is a workspace of its own.
fn bench(rest: &[&str]) -> ExitCode {
    let binary = [
        "run",
        "--release",
        "--config",
        SQLITE_MAPS_ALL,
        "--manifest-path",
        "bench/Cargo.toml",
        "--",
    ];
    step::run_through(&[&binary[..], rest].concat())
}
