//! The binary as a user meets it: exit codes, streams, files.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const MODEL: &str = "\
model m

entity U (10) {
  id    int  key
  name  text(9)
}

question q (1/s)  select name from U where id = $id
";

fn querent(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_querent"));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.querent"), text).unwrap();
    folder
}

#[test]
fn check_exits_with_0_1_and_2() {
    let folder = folder_with(MODEL);
    let run = |name: &str| code(&querent(&["check", name], folder.path()).output().unwrap());
    assert_eq!(run("m.querent"), 0);
    assert_eq!(run("."), 0);
    std::fs::write(folder.path().join("bad.querent"), "entity X {").unwrap();
    assert_eq!(run("bad.querent"), 1);
    assert_eq!(run("missing.querent"), 2);
    assert_eq!(
        code(&querent(&["chekc"], folder.path()).output().unwrap()),
        2
    );
}

#[test]
fn findings_of_a_folder_name_the_file() {
    let folder = folder_with(MODEL);
    let wrong = "\n\nquestion p (1/s)  select nmae from U where id = $id\n";
    std::fs::write(folder.path().join("a.querent"), wrong).unwrap();
    let output = querent(&["check", "."], folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(code(&output), 1);
    assert!(text.contains("a.querent:3:26"), "{text}");
    let output = querent(&["check", ".", "--format", "json"], folder.path())
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json[0]["span"]["line"], 3, "{json}");
}

#[test]
fn fmt_in_place_from_stdin_and_check_only() {
    let folder = folder_with(&MODEL.replace("  id    int", "id int"));
    let path = folder.path().join("m.querent");
    let before = std::fs::read_to_string(&path).unwrap();
    let check = || {
        querent(&["fmt", "--check", "m.querent"], folder.path())
            .output()
            .unwrap()
    };
    assert_eq!(code(&check()), 1);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        before,
        "--check changes nothing"
    );

    let mut child = querent(&["fmt", "-"], folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(before.as_bytes())
        .unwrap();
    let from_stdin = child.wait_with_output().unwrap();

    assert_eq!(
        code(
            &querent(&["fmt", "m.querent"], folder.path())
                .output()
                .unwrap()
        ),
        0
    );
    let after = std::fs::read_to_string(&path).unwrap();
    assert_eq!(String::from_utf8(from_stdin.stdout).unwrap(), after);
    assert_eq!(code(&check()), 0);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no file is left beside it");

    std::fs::write(&path, "entity {").unwrap();
    assert_eq!(
        code(
            &querent(&["fmt", "m.querent"], folder.path())
                .output()
                .unwrap()
        ),
        1
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "entity {");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let folder = folder_with("entity X {");
    let plain = querent(&["check", "m.querent"], folder.path())
        .output()
        .unwrap();
    assert!(!plain.stdout.contains(&0x1b));
    let colour = ["check", "m.querent", "--color", "always"];
    let coloured = querent(&colour, folder.path())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(coloured.stdout.contains(&0x1b));
}

#[test]
fn a_broken_pipe_is_success() {
    let folder = folder_with(MODEL);
    let mut command = querent(&["completions", "bash"], folder.path());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.stderr.is_empty());
}

const MIXES: &str = "\
model mixes

entity Topic (100) {
  name  text(20, max 40)  key
}

entity Event (1B) {
  topic  -> Topic  as events (avg 10M, max 900M)  key
  id     timeuuid  key
}

question read (day 1/s, night 100k/s)
  select id from Event where topic.name = $t order by id desc limit 10

change emit (day 1/s, night 50k/s)  insert Event
";

fn said(arguments: &[&str], folder: &Path) -> String {
    let output = querent(arguments, folder).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

#[test]
fn check_looks_at_every_mix() {
    let folder = folder_with(MIXES);
    let check = |more: &[&str]| {
        let arguments = [&["check", "m.querent", "--target", "dynamodb"], more].concat();
        said(&arguments, folder.path())
    };
    let all = check(&[]);
    // Of the events that are read, and of the topic that every insert looks for.
    assert_eq!(all.matches("warning[W024]").count(), 2, "{all}");
    assert_eq!(all.matches("(mix night)").count(), 2, "{all}");
    // The rate of that mix is underlined.
    let (line, mark) = all.split_once('^').unwrap();
    let column = line.lines().last().unwrap().chars().count();
    let shown = all.lines().find(|l| l.contains("night 100k/s")).unwrap();
    assert_eq!(shown.find("100k"), Some(column), "{mark}");
    assert!(check(&["--mix", "day"]).contains("no findings"));
    assert!(check(&["--mix", "night"]).contains("W024"));
    assert!(check(&["--mix", "noon"]).contains("there is no mix `noon`"));
}

#[test]
fn a_schema_is_compared_as_a_whole_and_by_name() {
    let both = "schema one { us lists U by id keep name }\n\
                schema two { us lists U by id keep name  names lists U by name order by id }\n";
    let folder = folder_with(&format!("{MODEL}{both}"));
    let explain = |arguments: &[&str]| {
        let arguments = [&["explain", "m.querent"], arguments].concat();
        said(&arguments, folder.path())
    };
    assert!(explain(&["--vs", "one"]).contains("as much"));
    let named = explain(&["q", "--vs", "two"]);
    assert_eq!(named.matches("question q").count(), 2, "{named}");
    assert!(explain(&["--vs", "x.json"]).contains("reading x.json"));
    assert!(explain(&["--lossy"]).contains("Structures"));
    // What was given can be done without, and a finding names its schema.
    let without = explain(&["names", "--schema", "two"]);
    assert!(!without.contains("there is no design"), "{without}");
    let found = said(&["check", "m.querent"], folder.path());
    assert!(found.contains("W032]: schema two: "), "{found}");
}
