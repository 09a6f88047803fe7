//! `cargo xtask soak --minutes N`: the differential test with fresh seeds, for as long as asked. A
//! failure is shrunk (fewer changes, questions, instances) and printed with its seed and model.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use querent_testkit::differential::{Effort, run};
use querent_testkit::generate::Size;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let minutes = match arguments.as_slice() {
        [flag, n] if flag == "--minutes" => n.parse::<u64>().ok(),
        _ => None,
    };
    let Some(minutes) = minutes else {
        println!("usage: soak --minutes N");
        return ExitCode::from(2);
    };
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let first = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |d| d.as_millis() as u64);
    let mut seed = first;
    while Instant::now() < end {
        if let Err(failure) = attempt(seed, Effort::default()) {
            println!("{}", shrunk(seed, failure));
            println!("{} seeds were right before it", seed - first);
            return ExitCode::FAILURE;
        }
        seed += 1;
    }
    println!("{} seeds, from {first} on, all right", seed - first);
    ExitCode::SUCCESS
}

fn attempt(seed: u64, effort: Effort) -> Result<(), String> {
    std::panic::catch_unwind(|| run(seed, effort))
        .unwrap_or_else(|_| Err(format!("seed {seed} panicked")))
}

/// The failure of the smallest run of the seed that still fails.
fn shrunk(seed: u64, mut failure: String) -> String {
    let mut effort = Effort::default();
    let smaller = |e: Effort| {
        [
            Effort {
                changes: e.changes / 2,
                ..e
            },
            Effort {
                rows: e.rows / 2,
                ..e
            },
            Effort {
                size: Size {
                    questions: e.size.questions - 1,
                    ..e.size
                },
                ..e
            },
            Effort {
                size: Size {
                    changes: e.size.changes - 1,
                    ..e.size
                },
                ..e
            },
            Effort {
                size: Size {
                    entities: e.size.entities - 1,
                    ..e.size
                },
                ..e
            },
        ]
    };
    for _ in 0..24 {
        let tries = smaller(effort).into_iter();
        let mut usable = tries.filter(|e| {
            e.rows > 0 && e.size.questions > 0 && e.size.changes > 0 && e.size.entities > 0
        });
        let found = usable.find_map(|e| attempt(seed, e).err().map(|f| (e, f)));
        match found {
            Some((e, f))
                if (e.rows, e.changes) != (effort.rows, effort.changes)
                    || f.len() < failure.len() =>
            {
                effort = e;
                failure = f;
            }
            _ => break,
        }
    }
    format!("{effort:?}\n{failure}")
}
