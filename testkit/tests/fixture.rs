//! A database of the present format, kept as text: its model, its design as stored, and the bytes of
//! every row. It must open, answer and verify; and the same facts must give the same bytes.
//!
//! Where this fails, a stored database of a user would too. Raise `FORMAT` (a fixture of the new
//! format is then written by `QUERENT_CASES=update`), or, while no release has written this format,
//! remove its folder and write it anew.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent::compiler::codec::entity_row_from_json;
use querent::compiler::design::{Design, Options, StructureId};
use querent::schema::Schema;
use querent::store::lmdb::{self, FORMAT, Lmdb};
use querent::store::memory::Memory;
use querent::store::{META_DESIGN, META_MODEL, Store};
use querent::verify::VerifyOptions;
use querent::{Database, schema_of};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// One structure of each kind, and each type in a key or a column.
const MODEL: &str = "
model fixture
enum Status { open, paid }
entity User (1k) {
  id bigint key
  name text(20, max 60) unique
  born date?
  home point?
  tags set<text(6, max 20)> (avg 3, max 20)
  follows ->> User (avg 5, max 50) as followers (avg 5, max 500) { since timestamp }
}
entity Order (10k) {
  id uuid key
  number int sequence
  by -> User as orders (avg 10, max 500)
  status Status
  at timestamp
  total decimal
  weight float?
  lines list<{ item text(10), count int }> (avg 3, max 30)
  extra map<text(5, max 20), any> (avg 1, max 5)
  photo blob(10)?
}
entity Gift is Order (1k) { greeting text(20)? }
question latest (100/s) select id, number, total, by.name as who from Order where by.id = $user order by at desc limit 10
question paid (50/s) select day(at) as day, count(*) as n, sum(total) as total, sum(weight) as weight from Order where status = $status group by day(at) order by day
question card (100/s) select name, born, home, tags, orders { id, type, status, lines, extra, photo order by at }, count(followers) as fans from User where id = $user
question tagged (10/s) select id, name from User where tags has $tag order by name desc
question fans (10/s) select followers { id, @since order by @since desc } from User where id = $user
change pay (1/s) update Order set status = paid where id = $id
";

fn folder() -> PathBuf {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    fixtures.join(FORMAT.replace(' ', "-"))
}

fn facts() -> Vec<(&'static str, Json)> {
    let order = |n: u32| format!("00000000-0000-4000-8000-00000000000{n}");
    vec![
        (
            "User",
            json!({ "id": 1, "name": "Ann", "born": "1990-02-28", "home": { "lat": 59.9, "lon": 10.7 }, "tags": ["a", "b"] }),
        ),
        ("User", json!({ "id": -2, "name": "Zoë\u{0}x", "tags": [] })),
        (
            "User",
            json!({ "id": 9_000_000_000_i64, "name": "", "born": "1600-01-01", "tags": ["b"] }),
        ),
        (
            "User.follows",
            json!({ "from": 1, "to": -2, "since": "2024-01-01T00:00:00Z" }),
        ),
        (
            "User.follows",
            json!({ "from": 9_000_000_000_i64, "to": -2, "since": "1969-12-31T23:59:59.999Z" }),
        ),
        (
            "Order",
            json!({ "id": order(1), "number": 1, "by": 1, "status": "open", "at": "2024-05-01T10:00:00Z", "total": 12.50, "weight": 0.1, "lines": [{ "item": "x", "count": 2 }], "extra": { "k": true } }),
        ),
        (
            "Order",
            json!({ "id": order(2), "number": 2, "by": 1, "status": "paid", "at": "2024-05-01T11:00:00Z", "total": -0.000_001, "weight": -2.5, "lines": [], "extra": {}, "photo": "AP8=" }),
        ),
        (
            "Gift",
            json!({ "id": order(3), "number": 3, "by": -2, "status": "paid", "at": "2024-05-02T00:00:00Z", "total": 7, "lines": [{ "item": "", "count": -1 }, { "item": "y", "count": 3 }], "extra": { "n": 1, "t": "x" }, "greeting": "hi" }),
        ),
    ]
}

fn questions() -> Vec<(&'static str, Json)> {
    vec![
        ("latest", json!({ "user": 1 })),
        ("paid", json!({ "status": "paid" })),
        ("card", json!({ "user": 1 })),
        ("card", json!({ "user": -2 })),
        ("tagged", json!({ "tag": "b" })),
        ("fans", json!({ "user": -2 })),
    ]
}

/// The facts put into structures of a design, as text: structure, key, row, both in hexadecimal.
fn rows_of(schema: &Arc<Schema>) -> String {
    let store = Memory::new(schema.structure_names().len());
    let database = Database::with_store(Arc::clone(schema), store);
    let rows = facts().into_iter().map(|(name, json)| {
        let entity = database.entity(name).unwrap();
        (
            entity,
            entity_row_from_json(database.model(), entity, &json).unwrap(),
        )
    });
    database.put_all(rows.collect()).unwrap();
    let mut out = String::new();
    for (id, name) in schema.structure_names().iter().enumerate() {
        for (key, row) in database.store().rows(id as StructureId) {
            writeln!(out, "{name} {} {}", hex(&key), hex(&row)).unwrap();
        }
    }
    out
}

fn answers_of<S: Store>(database: &Database<S>) -> String {
    let mut out = String::new();
    for (name, params) in questions() {
        let answer = database.ask(name, params).unwrap();
        writeln!(out, "{name} {}", Json::Array(answer.json())).unwrap();
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    // A row may be empty; a word may not.
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("x{digits}")
}

fn unhex(word: &str) -> Vec<u8> {
    let digits = word.strip_prefix('x').unwrap();
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

fn write() {
    let schema = Arc::new(schema_of("fixture", MODEL, &Options::embedded()).unwrap());
    let rows = rows_of(&schema);
    let store = Memory::new(schema.structure_names().len());
    let database = Database::with_store(Arc::clone(&schema), store);
    let put = facts().into_iter().map(|(name, json)| {
        let entity = database.entity(name).unwrap();
        (
            entity,
            entity_row_from_json(database.model(), entity, &json).unwrap(),
        )
    });
    database.put_all(put.collect()).unwrap();
    std::fs::create_dir_all(folder()).unwrap();
    let design = serde_json::to_string(&schema.design).unwrap();
    for (name, text) in [
        ("model.querent", MODEL.trim_start()),
        ("design.json", &design),
        ("rows.txt", &rows),
        ("answers.txt", &answers_of(&database)),
    ] {
        std::fs::write(folder().join(name), text).unwrap();
    }
}

#[test]
fn a_database_that_was_written_before_opens_and_answers() {
    if !folder().exists() {
        let update = std::env::var("QUERENT_CASES").is_ok_and(|word| word == "update");
        assert!(
            update,
            "there is no fixture of \"{FORMAT}\": run with QUERENT_CASES=update"
        );
        write();
    }
    let kept = |name: &str| std::fs::read_to_string(folder().join(name)).unwrap();
    let (model, design, rows) = (kept("model.querent"), kept("design.json"), kept("rows.txt"));
    let read: Design = serde_json::from_str(&design).expect("a stored design cannot be read");
    let (parsed, _) = querent::compiler::parse("fixture", &model);
    let schema = Arc::new(Schema::new(
        parsed.expect("a stored model does not resolve"),
        read,
    ));
    assert!(
        rows_of(&schema) == rows,
        "the same facts give other bytes than \"{FORMAT}\" has"
    );
    // The database as it was written, row by row.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let names = schema.structure_names();
    let meta: [(&str, &[u8]); 2] = [
        (META_MODEL, model.as_bytes()),
        (META_DESIGN, design.as_bytes()),
    ];
    let store = Lmdb::create(&path, &names, &meta, lmdb::Options::default()).unwrap();
    for (id, name) in names.iter().enumerate() {
        let lines = rows.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let own = lines.filter(|words| words[0] == name);
        let mut own = own.map(|words| Ok((unhex(words[1]), unhex(words[2]))));
        store.load(id as StructureId, &mut own).unwrap();
    }
    drop(store);
    let database = Database::open(&path).unwrap();
    assert_eq!(answers_of(&database), kept("answers.txt"));
    let report = database.verify(&VerifyOptions::default()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}
