//! Every case folder on every store. `QUERENT_CASES=update` writes what is expected anew.

use querent_testkit::case;

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
