//! A bounded run of each fuzz target.

use querent_testkit::fuzz;
use std::path::Path;

const EXECUTIONS: usize = 20_000;

fn run(seeds: &[&str], target: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders: Vec<_> = seeds.iter().map(|folder| root.join(folder)).collect();
    let folders: Vec<&Path> = folders.iter().map(AsRef::as_ref).collect();
    fuzz::run_bounded(&folders, EXECUTIONS, target);
}

#[test]
fn parse() {
    run(&["fuzz/seeds/parse", "examples"], fuzz::parse_target);
}

#[test]
fn codec() {
    run(&["fuzz/seeds/codec"], fuzz::codec_target);
}

#[test]
fn row() {
    run(&["fuzz/seeds/row"], fuzz::row_target);
}
