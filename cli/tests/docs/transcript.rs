//! Transcripts: commands with their output.

use std::path::Path;
use std::process::Command;

/// A command and the lines shown below it.
struct Exchange<'t> {
    /// The lines of the command as they stand, continuations included.
    shown: Vec<&'t str>,
    output: Vec<&'t str>,
}

/// Runs the commands of a transcript and gives the transcript as it is.
pub(crate) fn run(text: &str, folder: &Path, exit: Option<&str>) -> Result<String, String> {
    let exchanges = exchanges(text);
    let count = exchanges.len();
    let mut actual: Vec<String> = Vec::new();
    for (at, exchange) in exchanges.iter().enumerate() {
        actual.extend(exchange.shown.iter().map(ToString::to_string));
        let command = exchange.shown.join("\n");
        let command = command.strip_prefix("$ ").unwrap_or(&command);
        if !command.starts_with("querent ") {
            actual.extend(exchange.output.iter().map(ToString::to_string));
            continue;
        }
        let output = shell(command, folder);
        let expected = if at + 1 == count {
            exit.unwrap_or("0")
        } else {
            "0"
        };
        let code = output
            .status
            .code()
            .map_or("a signal".to_owned(), |code| code.to_string());
        let out = String::from_utf8_lossy(&output.stdout);
        if code != expected {
            return Err(format!(
                "$ {command}\nexited with {code}, expected {expected}:\n{out}"
            ));
        }
        actual.extend(out.lines().map(|line| line.trim_end().to_owned()));
    }
    Ok(actual.join("\n") + "\n")
}

fn shell(command: &str, folder: &Path) -> std::process::Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_querent"));
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("sh")
        // One stream, so that remarks and output stand in the order in which they were made.
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(folder)
        .env(
            "PATH",
            format!("{}:{path}", binary.parent().unwrap().display()),
        )
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

/// The transcript with `...` in the place of times, which differ from run to run.
pub(crate) fn without_times(actual: &str) -> String {
    let masked = actual.lines().map(|line| {
        let time = ["found in ", "answered in ", "\"seconds\": "]
            .iter()
            .find_map(|words| line.find(words).map(|at| at + words.len()));
        match time {
            Some(at) => format!("{}...\n", &line[..at]),
            None => format!("{line}\n"),
        }
    });
    masked.collect()
}

/// Compares a transcript with what happened.
pub(crate) fn compare(shown: &str, actual: &str) -> Result<(), String> {
    let shown_lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let actual_lines: Vec<&str> = actual.lines().collect();
    if lines_match(&shown_lines, &actual_lines) {
        return Ok(());
    }
    let first = shown_lines
        .iter()
        .zip(&actual_lines)
        .position(|(s, a)| !line_matches(s, a));
    let at = first.unwrap_or(shown_lines.len().min(actual_lines.len()));
    Err(format!(
        "the output differs near line {} of the block\n--- shown\n{shown}--- actual\n{actual}",
        at + 1
    ))
}

fn exchanges(text: &str) -> Vec<Exchange<'_>> {
    let mut exchanges: Vec<Exchange<'_>> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        if line.starts_with("$ ") {
            exchanges.push(Exchange {
                shown: vec![line],
                output: vec![],
            });
        } else if let Some(exchange) = exchanges.last_mut() {
            if continued {
                &mut exchange.shown
            } else {
                &mut exchange.output
            }
            .push(line);
        }
        continued = line.ends_with('\\') && (line.starts_with("$ ") || continued);
    }
    exchanges
}

/// `...` alone on a line stands for any number of lines.
fn lines_match(shown: &[&str], actual: &[&str]) -> bool {
    match (shown, actual) {
        ([], []) => true,
        (["...", rest @ ..], _) => {
            (0..=actual.len()).any(|skipped| lines_match(rest, &actual[skipped..]))
        }
        ([s, rest @ ..], [a, others @ ..]) => line_matches(s, a) && lines_match(rest, others),
        _ => false,
    }
}

/// `...` inside a line stands for any text.
fn line_matches(shown: &str, actual: &str) -> bool {
    match shown.split_once("...") {
        None => shown == actual,
        Some((before, after)) => actual.strip_prefix(before).is_some_and(|rest| {
            let mut starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts.any(|at| line_matches(after, &rest[at..]))
        }),
    }
}

#[test]
fn wildcards() {
    assert!(
        compare(
            "$ querent a\nx ... ms\n...\nend\n",
            "$ querent a\nx 12 ms\n1\n2\nend\n"
        )
        .is_ok()
    );
    assert!(compare("a\n...\n", "a\n").is_ok());
    assert!(compare("a\n", "a\nb\n").is_err());
    assert!(compare("a ... b\n", "a b\n").is_err());
}

#[test]
fn commands_and_continuations() {
    let found = exchanges("$ querent a \\\n  b\nout\n$ ls\n");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].shown, ["$ querent a \\", "  b"]);
    assert_eq!(found[0].output, ["out"]);
}
