//! `cargo xtask soak --minutes N`: the differential test with fresh seeds on all stores in turn, for
//! as long as asked. A failure is shrunk and written as a case folder, to be moved to
//! `testkit/cases` and kept when it is mended.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use querent_testkit::differential::{Effort, run};
use querent_testkit::script::On;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    match words.as_slice() {
        ["--minutes", n] if number(n).is_some() => soak(number(n).unwrap_or(1)),
        ["--seed", n] if number(n).is_some() => one(number(n).unwrap_or(1)),
        _ => {
            println!("usage: soak --minutes N | --seed N");
            ExitCode::from(2)
        }
    }
}

/// Fresh seeds until the time is over or one fails.
fn soak(minutes: u64) -> ExitCode {
    let end = Instant::now() + Duration::from_mins(minutes);
    let first = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |d| d.as_millis() as u64);
    let mut seed = first;
    while Instant::now() < end {
        if let Err(told) = run(seed, effort(seed)) {
            println!("{told}\n{} seeds were right before it", seed - first);
            return ExitCode::FAILURE;
        }
        seed += 1;
    }
    println!("{} seeds, from {first} on, all right", seed - first);
    ExitCode::SUCCESS
}

/// One seed as the tests run it: any design and the cheapest, on every store.
fn one(seed: u64) -> ExitCode {
    for on in On::ALL {
        for sampled in [true, false] {
            let effort = Effort {
                sampled,
                on,
                ..Effort::default()
            };
            if let Err(told) = run(seed, effort) {
                println!("{told}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("seed {seed}: all right");
    ExitCode::SUCCESS
}

/// Any design and the cheapest, on every store in turn; mostly where it is fastest.
fn effort(seed: u64) -> Effort {
    Effort {
        sampled: !seed.is_multiple_of(4),
        on: match seed % 10 {
            0 => On::Lmdb,
            1 | 2 => On::Remote,
            _ => On::Memory,
        },
        pieces: seed % 7 == 3,
        ..Effort::default()
    }
}
