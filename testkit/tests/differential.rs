//! The fixed seeds of the differential test; `cargo xtask soak` goes on with fresh ones.

use querent_testkit::differential::{Effort, Steps, run};
use querent_testkit::generate::Size;
use querent_testkit::script::On;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(otherwise)
}

fn run_all(count: u64, effort: Effort) -> Steps {
    let from = number("QUERENT_SEED", 1);
    let mut steps = Steps::new();
    let mut failures = Vec::new();
    for seed in from..from + number("QUERENT_SEEDS", count) {
        match run(seed, effort) {
            Ok(of) => of
                .into_iter()
                .for_each(|(step, n)| *steps.entry(step).or_default() += n),
            Err(told) => failures.push(told),
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
    steps
}

/// Every step that a plan can have, what only schemas by hand have, and rows that are put without a
/// number.
const STEPS: [&str; 31] = [
    "get",
    "follow",
    "scan",
    "merge",
    "unite",
    "elements",
    "filter",
    "distinct",
    "sort",
    "page",
    "limit",
    "aggregate",
    "nest",
    "compute",
    "exists",
    "first value",
    "merged, then sorted",
    "walked over several paths",
    "pieces without a directory",
    "rows that may outgrow",
    "put together",
    "partial",
    "partial by elements",
    "partial over several",
    "instances of a range",
    "instances of a list",
    "instances that rows refer to",
    "groups from the far end",
    "numbers left out",
    "conditions in stages",
    "homes in parts",
];

/// What lists of values make of partitions that are cut.
const PIECES: [&str; 4] = [
    "several lists",
    "buckets of several keys",
    "buckets that keys lead to",
    "sub-partitions of several keys",
];

/// Groups that are kept of what elements of lists say.
const GATHERED: [&str; 3] = [
    "groups of elements",
    "groups of what elements refer to",
    "groups by one element",
];

#[test]
fn any_design_means_what_the_oracle_means() {
    let steps = run_all(260, Effort::default());
    all_occur(&STEPS, &steps, 260);
}

/// What no random plan or schema has would be compared with nothing.
fn all_occur(wanted: &[&str], steps: &Steps, seeds: u64) {
    let missing: Vec<&&str> = wanted
        .iter()
        .filter(|s| steps.get(**s).is_none_or(|n| *n == 0))
        .collect();
    let whole = number("QUERENT_SEEDS", seeds) >= seeds;
    assert!(
        missing.is_empty() || !whole,
        "{missing:?} are in none: {steps:?}"
    );
}

/// Lists of values over partitions that are cut into buckets, salts and sub-partitions.
#[test]
fn lists_of_pieces_mean_what_the_oracle_means() {
    let effort = Effort::pieces();
    let mut steps = run_all(40, effort);
    // The cheapest plans read less for nothing.
    let sampled = false;
    for (step, n) in run_all(40, Effort { sampled, ..effort }) {
        *steps.entry(step).or_default() += n;
    }
    all_occur(&PIECES, &steps, 40);
}

/// Groups of what elements of lists say, and of what they refer to.
#[test]
fn groups_of_elements_mean_what_the_oracle_means() {
    let steps = run_all(100, Effort::gathered());
    all_occur(&GATHERED, &steps, 100);
}

#[test]
fn a_store_without_transactions_means_the_same() {
    run_all(
        30,
        Effort {
            on: On::Remote,
            ..Effort::default()
        },
    );
}

#[test]
fn the_store_on_disk_means_the_same() {
    run_all(
        25,
        Effort {
            on: On::Lmdb,
            ..Effort::default()
        },
    );
}

/// Long values in keys mean what short ones mean: cut, hashed or kept whole.
#[test]
fn long_values_mean_what_the_oracle_means() {
    let effort = Effort {
        long: true,
        ..Effort::default()
    };
    run_all(100, effort);
}

/// Seeds that once showed a fault: numbers of subtypes, numbers of upserts, finds behind updates.
#[test]
fn seeds_that_failed_once() {
    let effort = Effort {
        size: Size {
            wide: false,
            ..Size::default()
        },
        timed: false,
        // They were found before scripts had any.
        puts: 0,
        ..Effort::default()
    };
    for seed in [64, 1052, 1247, 1342, 1931, 1964, 2202, 2283] {
        run(seed, effort).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// The scalars of a reference were in two structures, so it had no home.
#[test]
fn a_reference_has_one_home() {
    let size = Size {
        entities: 3,
        questions: 2,
        changes: 3,
        wide: false,
    };
    let effort = Effort {
        size,
        sampled: false,
        puts: 0,
        ..Effort::default()
    };
    run(26, effort).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn the_cheapest_design_means_what_the_oracle_means() {
    let size = Size {
        entities: 3,
        questions: 2,
        changes: 3,
        wide: true,
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
