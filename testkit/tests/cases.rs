//! Every case folder on every store. `QUERENT_CASES=update` writes what is expected anew.
#![allow(clippy::unwrap_used)]

use querent_testkit::case;
use querent_testkit::differential::Effort;
use querent_testkit::script::random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[test]
fn every_case_gives_what_is_expected() {
    let update = std::env::var("QUERENT_CASES").is_ok_and(|word| word == "update");
    let entries = std::fs::read_dir(case::folder()).into_iter().flatten();
    let mut folders: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    assert!(
        !folders.is_empty(),
        "no case in {}",
        case::folder().display()
    );
    let failures: Vec<String> = folders
        .iter()
        .filter_map(|folder| {
            let name = folder.file_name().unwrap_or_default().display().to_string();
            case::run(folder, update)
                .err()
                .map(|e| format!("case {name}: {e}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// A failure of a random run is kept as a folder, which must then run, and be the same script. (Texts
/// are compared, because JSON does not tell a decimal in an `any` from a float or a whole number.)
#[test]
fn a_script_becomes_a_folder_and_back() {
    for seed in 1..=4 {
        let effort = Effort {
            changes: 3,
            asks: 1,
            ..Effort::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let script = random(seed, effort).unwrap();
        case::keep_failure(&script, &first).unwrap();
        case::run(&first, false).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        case::keep_failure(&case::read(&first).unwrap(), &second).unwrap();
        assert_eq!(texts(&first), texts(&second), "seed {seed}");
    }
}

/// All files below a folder.
fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            let inner = texts(&path).into_iter();
            found.extend(inner.map(|(inner, text)| (name.join(inner), text)));
        } else {
            found.insert(name, std::fs::read_to_string(path).unwrap());
        }
    }
    found
}
