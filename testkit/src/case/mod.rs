//! Case folders: adding a test is adding a folder.
//!
//! ```text
//! NAME/
//!   model.querent     the model
//!   case.json         optional: how the design is chosen ({"sample": 7, "target": "cassandra"})
//!   data/ENTITY.jsonl optional: facts at the start, one object a line (links as ENTITY.side)
//!   steps.jsonl       optional: {"change": NAME, "params": {…}}, {"ask": NAME, "params": {…}},
//!                     {"put": [[ENTITY, {…}], …]} or {"wait": MILLISECONDS}
//!   expected/         written by QUERENT_CASES=update, then read by a person
//!     diagnostics.txt what `check` says
//!     design.txt      structures and plans
//!     steps.jsonl     what each step gives
//!     rows.txt        what each structure holds behind the last step
//! ```
//!
//! A cursor is given as `{"behind": N}`, the last row of step N counted from 0, or as
//! `{"cursor": TOKEN}`. What is expected comes from the oracle and from the definition of
//! structures, never from the runtime, which is held against both on every store.

mod expected;
mod format;

pub use expected::expected;
pub use format::{read, read_step, write};

use crate::script::{On, Script, play};
use std::path::{Path, PathBuf};

/// What is compared: files of `expected/`, by name.
pub type Files = std::collections::BTreeMap<String, String>;

/// The folder of the cases that are kept.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// Runs a case: what is expected against what is kept (or keeps it, with `update`), then the
/// runtime on every store.
pub fn run(folder: &Path, update: bool) -> Result<(), String> {
    let script = read(folder)?;
    let wanted = expected(&script)?;
    if update {
        keep(folder, &wanted)?;
    } else {
        compare(folder, &wanted)?;
    }
    if !wanted.contains_key(expected::ROWS) {
        return Ok(());
    }
    On::ALL.iter().try_for_each(|&on| match play(&script, on) {
        Ok(_) => Ok(()),
        Err(e) => Err(format!("on {on:?}: {e}")),
    })
}

/// Writes a script as a folder that [`run`] runs as it is.
pub fn keep_failure(script: &Script, folder: &Path) -> Result<(), String> {
    write(script, folder)?;
    keep(folder, &expected(script)?)
}

fn keep(folder: &Path, wanted: &Files) -> Result<(), String> {
    let folder = folder.join("expected");
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for (name, text) in wanted {
        std::fs::write(folder.join(name), text).map_err(failed)?;
    }
    Ok(())
}

fn compare(folder: &Path, wanted: &Files) -> Result<(), String> {
    let folder = folder.join("expected");
    let kept = std::fs::read_dir(&folder)
        .map_err(|e| format!("{}: {e}{HELP}", folder.display()))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for name in kept {
        if !wanted.contains_key(&name) {
            return Err(format!("expected/{name} is expected no longer{HELP}"));
        }
    }
    for (name, now) in wanted {
        let kept = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        if kept == *now {
            continue;
        }
        let (old, new): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), now.lines().collect());
        let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let line = |lines: &[&str]| lines.get(same).map_or("(end)", |l| *l).to_owned();
        return Err(format!(
            "expected/{name} differs in line {}:\n  kept: {}\n  now:  {}{HELP}",
            same + 1,
            line(&old),
            line(&new)
        ));
    }
    Ok(())
}

const HELP: &str = "\nIf the new one is right: QUERENT_CASES=update cargo test -p querent-testkit \
                    --test cases, then read the difference";
