//! The fixed seeds of the differential test; `cargo xtask soak` goes on with fresh ones.

use querent_testkit::differential::{Effort, run};
use querent_testkit::generate::Size;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(otherwise)
}

fn run_all(count: u64, effort: Effort) {
    let from = number("QUERENT_SEED", 1);
    let mut failures = Vec::new();
    for seed in from..from + number("QUERENT_SEEDS", count) {
        let outcome = std::panic::catch_unwind(|| run(seed, effort));
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(e)) => failures.push(e),
            Err(_) => failures.push(format!("seed {seed}: panicked")),
        }
        if failures.len() >= 10 {
            break;
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n----\n")
    );
}

#[test]
fn any_design_means_what_the_oracle_means() {
    run_all(150, Effort::default());
}

/// Seeds that once showed a fault: numbers of subtypes, numbers of upserts, finds behind updates.
#[test]
fn seeds_that_failed_once() {
    for seed in [64, 1052, 1247, 1342, 1931, 1964, 2202, 2283] {
        let effort = Effort {
            timed: false,
            ..Effort::default()
        };
        run(seed, effort).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn the_cheapest_design_means_what_the_oracle_means() {
    let size = Size {
        entities: 3,
        questions: 2,
        changes: 3,
    };
    run_all(
        60,
        Effort {
            size,
            sampled: false,
            ..Effort::default()
        },
    );
}
