//! Data and expected answers that others authored in public: loaded through files, asked, compared.
//!
//! They are read from `../shared/golden` beside the repository. Where that is absent the tests say
//! so and do nothing.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

mod against;
mod chinook;
mod cql;
mod ldbc;
mod messaging;
mod music;
mod nose;
mod sakila;
mod sensor;
mod shopping_cart;

use querent::Database;
use querent::compiler::design::Options;
use querent::load::{LoadOptions, LoadReport};
use querent::store::lmdb::Lmdb;
use querent::verify::VerifyOptions;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// A folder of the data-modelling cases.
fn golden(name: &str) -> Option<PathBuf> {
    golden_folder(&format!("datastax/{name}"))
}

/// A folder of the golden data; none where there is none, which is said loudly.
fn golden_folder(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden");
    let beside = std::env::var_os("QUERENT_GOLDEN").map_or(root, PathBuf::from);
    let folder = beside.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: there is no golden data at {}; set QUERENT_GOLDEN to where it is",
        folder.display()
    );
    None
}

/// A database of a model, and a folder for its files.
struct Case {
    folder: tempfile::TempDir,
    database: Option<Database<Lmdb>>,
}

impl Case {
    fn new(model: &str) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            nodes: 50,
            ..Options::embedded()
        };
        let database =
            Database::create_with(folder.path().join("db"), "golden.querent", model, &options)
                .unwrap_or_else(|e| panic!("{e}: {e:?}"));
        Case {
            folder,
            database: Some(database),
        }
    }

    /// Writes rows as JSONL.
    fn jsonl(&self, name: &str, rows: impl IntoIterator<Item = Json>) -> PathBuf {
        let path = self.folder.path().join(format!("{name}.jsonl"));
        let lines: Vec<String> = rows.into_iter().map(|row| row.to_string()).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        path
    }

    fn load(&mut self, sources: &[(&str, PathBuf)], options: &LoadOptions) -> LoadReport {
        let database = self.database.take().unwrap();
        let sources: Vec<_> = sources
            .iter()
            .map(|(entity, path)| (database.entity(entity).unwrap(), path.clone()))
            .collect();
        let (database, report) = database.load(&sources, options, &mut |_| {}).unwrap();
        let found = database.verify(&VerifyOptions::default()).unwrap();
        assert!(found.is_clean(), "{}", found.findings[0]);
        self.database = Some(database);
        report
    }

    /// Loads rows that must all be accepted.
    fn load_all(&mut self, sources: &[(&str, PathBuf)]) {
        let report = self.load(sources, &LoadOptions::default());
        assert_eq!(report.rejected, 0, "{:?}", report.rejects);
        assert!(report.applied);
    }

    /// Asks and compares the named columns (ours, theirs) with expected rows.
    fn check(&self, question: &str, params: Json, columns: &[(&str, &str)], expected: &Json) {
        let rows = expected.get("rows").or(expected.get("rows_full")).unwrap();
        let mut right: Vec<Vec<String>> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                columns
                    .iter()
                    .map(|(_, theirs)| plain(&row[*theirs]))
                    .collect()
            })
            .collect();
        let answer = self
            .database
            .as_ref()
            .unwrap()
            .ask(question, params)
            .unwrap();
        let mut got: Vec<Vec<String>> = answer
            .json()
            .iter()
            .map(|row| {
                columns
                    .iter()
                    .map(|(ours, _)| plain(row.get(*ours).unwrap()))
                    .collect()
            })
            .collect();
        if expected["compare"]
            .as_str()
            .is_some_and(|c| c.starts_with("set"))
        {
            right.sort();
            got.sort();
        }
        assert_eq!(got, right, "{question}: {}", expected["need"]);
    }
}

/// The expected answers, in order.
fn expected(folder: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(folder.join("EXPECTED_results_computed.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A value as text that does not depend on how its type is written: the expected answers have all
/// of it as texts, or floats for decimals.
fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::Number(n) => n.to_string().parse::<f64>().unwrap().to_string(),
        Json::String(text) => match text.parse::<f64>() {
            Ok(number) => number.to_string(),
            Err(_) => text.replace(".000Z", "Z"),
        },
        Json::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Json::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(k, v)| format!("{k}: {}", plain(v)))
                .collect();
            fields.sort();
            fields.join(", ")
        }
        Json::Bool(b) => b.to_string(),
    }
}
