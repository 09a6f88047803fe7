//! What the documentation shows is what happens.
//!
//! In `README.md` and `docs/src/*.md`:
//! - a block `querent` is a model without errors; `querent,error=E012` one with that error;
//! - a block with `file=NAME` is written to that file for the blocks that follow on its page;
//! - in a block `console` each `$ querent …` is run by a shell, in a folder of the page's own that
//!   contains the repository's `examples/`. The output must be what is shown, where `...` stands for
//!   any text: on a line of its own for any lines. All commands must succeed; with `console,exit=1`
//!   the last one exits with 1.
//!
//! The tables of `examples/*.md` are compared with the models beside them and with their designs
//! (`tables.rs`).
//!
//! `QUERENT_DOCS=update cargo test -p querent-cli --test docs` writes the actual output into the
//! pages; then read the difference.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod page;
mod tables;
mod transcript;

use page::{Block, Page};
use std::path::{Path, PathBuf};

#[test]
fn docs_snippets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let update = std::env::var("QUERENT_DOCS").is_ok_and(|v| v == "update");
    let mut failures = Vec::new();
    for path in pages(root) {
        let mut page = Page::read(&path);
        let folder = tempfile::tempdir().unwrap();
        copy(&root.join("examples"), &folder.path().join("examples"));
        // Later blocks first, so that an update does not move the lines of those still to come.
        let mut updates = Vec::new();
        for block in page.blocks() {
            if let Err(why) = check(&block, folder.path(), &mut updates) {
                let place = path.strip_prefix(root).unwrap().display().to_string();
                failures.push(format!("{place}:{}: {why}", block.line));
            }
        }
        if update {
            updates
                .into_iter()
                .rev()
                .for_each(|(block, text)| page.replace(&block, &text));
            page.write(&path);
        }
    }
    assert!(
        update || failures.is_empty(),
        "\n\n{}\n",
        failures.join("\n\n")
    );
}

fn check(block: &Block, folder: &Path, updates: &mut Vec<(Block, String)>) -> Result<(), String> {
    if let Some(name) = block.option("file") {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &block.text).unwrap();
    }
    match block.language() {
        "querent" => check_model(block),
        "console" => {
            let actual = transcript::run(&block.text, folder, block.option("exit"))?;
            transcript::compare(&block.text, &actual).inspect_err(|_| {
                updates.push((block.clone(), transcript::without_times(&actual)));
            })
        }
        _ => Ok(()),
    }
}

fn check_model(block: &Block) -> Result<(), String> {
    use querent_compiler::diagnostic::{Severity, Style, to_text};
    let (_, found) = querent_compiler::parse("the block", &block.text);
    let shown = || to_text(&found, "the block", &block.text, Style::Plain);
    match block.option("error") {
        None if found.iter().any(|d| d.severity == Severity::Error) => {
            Err(format!("found errors, expected none\n{}", shown()))
        }
        Some(code) if !found.iter().any(|d| d.code.id == code) => {
            Err(format!("expected the error {code}, found:\n{}", shown()))
        }
        _ => Ok(()),
    }
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root.join("docs/src"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        // Its blocks come in pairs, wrong and right, which `compiler/tests/diagnostics.rs` reads.
        .filter(|path| !path.ends_with("diagnostics.md"))
        .collect();
    pages.sort();
    pages.insert(0, root.join("README.md"));
    pages
}

fn copy(from: &Path, to: &Path) {
    let Ok(entries) = std::fs::read_dir(from) else {
        return;
    };
    std::fs::create_dir_all(to).unwrap();
    for entry in entries {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
