//! Several processes and one database: one writes, any number read, and a lock ends with its
//! process, however that ends.
#![allow(clippy::unwrap_used)]

use querent::store::lmdb;
use querent::{Database, Error};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

const MODEL: &str = "
entity User (100) { id int key  name text(20) }
question all (1/s) select id, name from User order by id
change join (1/s) insert User
";

/// The other process: opens for writing and says what came of it, then makes one change for each
/// line that it reads, until there is none.
fn write_for_the_parent(folder: &str) {
    let mut out = std::io::stdout();
    let database = match Database::open(folder) {
        Ok(database) => database,
        Err(e) => return writeln!(out, "\nsaid {e}").unwrap(),
    };
    writeln!(out, "\nsaid open").unwrap();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let id: i64 = line.parse().unwrap();
        let change = json!({ "id": id, "name": "other" });
        database.change("join", change).unwrap();
        writeln!(out, "said {id}").unwrap();
        out.flush().unwrap();
    }
}

/// A process that writes, and what it says.
fn other(folder: &std::path::Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["one_process_writes", "--exact", "--nocapture"])
        .env("QUERENT_OTHER_PROCESS", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

fn said(out: &mut BufReader<ChildStdout>) -> String {
    let mut lines = out.lines().map_while(Result::ok);
    lines
        .find_map(|line| line.strip_prefix("said ").map(String::from))
        .unwrap_or_default()
}

fn reading() -> lmdb::Options {
    lmdb::Options {
        read_only: true,
        ..lmdb::Options::default()
    }
}

fn users(database: &Database) -> usize {
    database.ask("all", json!({})).unwrap().rows.len()
}

#[test]
fn one_process_writes() {
    if let Ok(folder) = std::env::var("QUERENT_OTHER_PROCESS") {
        return write_for_the_parent(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let database = Database::create(&path, "processes", MODEL).unwrap();
    // While this process has it open for writing, another one is refused and told what to do.
    let (mut child, mut out) = other(&path);
    let refusal = said(&mut out);
    assert!(refusal.contains("is in use by another writer"), "{refusal}");
    assert!(
        refusal.contains("open it here for reading only"),
        "{refusal}"
    );
    child.wait().unwrap();
    drop(database);
    // The other way round; reading is allowed, and sees what is acknowledged over there.
    let (mut child, mut out) = other(&path);
    assert_eq!(said(&mut out), "open");
    let refused = Database::open(&path).unwrap_err();
    assert!(matches!(refused, Error::Store(_)), "{refused}");
    let reader = Database::open_with(&path, reading()).unwrap();
    assert_eq!(users(&reader), 0);
    let mut input = child.stdin.take().unwrap();
    for id in 1..=3 {
        writeln!(input, "{id}").unwrap();
        assert_eq!(said(&mut out), id.to_string());
        assert_eq!(users(&reader), id);
    }
    drop(reader);
    // A killed process holds nothing.
    child.kill().unwrap();
    child.wait().unwrap();
    let database = Database::open(&path).unwrap();
    let change = json!({ "id": 4, "name": "mine" });
    database.change("join", change).unwrap();
    assert_eq!(users(&database), 4);
}
