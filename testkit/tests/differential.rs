//! The fixed seeds of the differential test; `cargo xtask soak` goes on with fresh ones.

use querent_testkit::differential::{Effort, run};

#[test]
fn the_runtime_means_what_the_oracle_means() {
    let from: u64 = std::env::var("QUERENT_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(1);
    let count: u64 = std::env::var("QUERENT_SEEDS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(150);
    let mut failures = Vec::new();
    for seed in from..from + count {
        let outcome = std::panic::catch_unwind(|| run(seed, Effort::default()));
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
