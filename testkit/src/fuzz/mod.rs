//! Fuzz targets as plain functions, and a bounded, deterministic run of them.

mod mutate;
mod targets;

pub use targets::{codec_target, parse_target, row_target};

use mutate::Mutator;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Runs a target over the files of the folders and over mutations of them. Panics with the input
/// where the target panics.
pub fn run_bounded(folders: &[&Path], executions: usize, target: fn(&[u8])) {
    let seeds = read_seeds(folders);
    assert!(!seeds.is_empty(), "no seeds in {folders:?}");
    for seed in &seeds {
        execute(target, seed);
    }
    let mut mutator = Mutator::new(&seeds);
    for _ in seeds.len()..executions {
        execute(target, &mutator.next());
    }
}

fn execute(target: fn(&[u8]), input: &[u8]) {
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    assert!(
        outcome.is_ok(),
        "the target panicked (see above) on this input:\n{}",
        String::from_utf8_lossy(input)
    );
}

/// The files of the folders, by folder and name; a folder that does not exist has none.
fn read_seeds(folders: &[&Path]) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect();
        found.sort();
        paths.extend(found);
    }
    paths
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}
