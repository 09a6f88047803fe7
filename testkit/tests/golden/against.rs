//! A database beside the same facts in `SQLite`: every step is taken by both.

use super::Case;
use querent::compiler::codec::entity_row_from_json;
use querent::compiler::model::Model;
use querent::verify::VerifyOptions;
use querent_testkit::Facts;
use querent_testkit::case::read_step;
use querent_testkit::facts::key_of;
use querent_testkit::script::{Course, Right, Step, entity, take};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Rows of one entity or link, as a JSONL file has them.
pub(super) type Rows = (&'static str, Vec<Json>);

/// Loads the rows in the order given, which need not be one in which nothing refers forward.
pub(super) fn load(case: &mut Case, rows: &[Rows]) {
    let files = rows.iter();
    let files: Vec<(&str, PathBuf)> = files
        .map(|(name, rows)| (*name, case.jsonl(name, rows.iter().cloned())))
        .collect();
    case.load_all(&files);
}

/// The facts that the rows say.
pub(super) fn facts(model: &Model, rows: &[Rows]) -> Facts {
    let mut facts = Facts::default();
    for (name, rows) in rows {
        rows.iter()
            .for_each(|row| add(model, &mut facts, name, row));
    }
    facts
}

/// Adds a row to the facts.
pub(super) fn add(model: &Model, facts: &mut Facts, name: &str, row: &Json) {
    let id = entity(model, name).unwrap();
    let row = entity_row_from_json(model, id, row).unwrap();
    let key = key_of(model, id, &row);
    facts.of_mut(model, id).insert(key, row);
}

/// Takes steps on the database and on the facts. All that they may differ in is told.
pub(super) struct Beside<'m> {
    case: &'m Case,
    course: Course<'m>,
    steps: usize,
}

impl<'m> Beside<'m> {
    pub(super) fn new(case: &'m Case, facts: Facts) -> Self {
        let model = case.database.as_ref().unwrap().model();
        Beside {
            case,
            course: Course::new(model, facts),
            steps: 0,
        }
    }

    /// Asks and compares; how many rows there were.
    pub(super) fn ask(&mut self, question: &str, params: &Json) -> usize {
        match self.step(&json!({ "ask": question, "params": params })) {
            Right::Answer(answer, _) => answer.rows.len(),
            other => panic!("{question}: {other:?}"),
        }
    }

    /// Asks for all pages, one behind the other, and compares each; how many rows there were.
    pub(super) fn pages(&mut self, question: &str, params: &Json, cursor: &str) -> usize {
        let mut rows = self.ask(question, params);
        let mut all = rows;
        while rows > 0 {
            let mut params = params.clone();
            params[cursor] = json!({ "behind": self.steps - 1 });
            rows = self.ask(question, &params);
            all += rows;
        }
        all
    }

    /// Makes a change that must be accepted.
    pub(super) fn change(&mut self, change: &str, params: &Json) {
        let right = self.step(&json!({ "change": change, "params": params }));
        assert!(matches!(right, Right::Applied), "{change}: {right:?}");
    }

    /// Makes a change that must be refused.
    pub(super) fn refused(&mut self, change: &str, params: &Json) {
        let right = self.step(&json!({ "change": change, "params": params }));
        assert!(matches!(right, Right::Refused(_)), "{change}: {right:?}");
    }

    fn step(&mut self, line: &Json) -> Right {
        let database = self.case.database.as_ref().unwrap();
        let step: Step = read_step(database.model(), line).unwrap();
        let right = self.course.step(&step).unwrap();
        self.steps += 1;
        take(database, &step, &right, &|| {}).unwrap_or_else(|e| panic!("{line}: {e}"));
        right
    }

    /// Every structure is what the facts make it.
    pub(super) fn verify(&self) {
        let database = self.case.database.as_ref().unwrap();
        let found = database.verify(&VerifyOptions::default()).unwrap();
        assert!(found.is_clean(), "{}", found.findings[0]);
    }
}
