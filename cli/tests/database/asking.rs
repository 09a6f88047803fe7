//! `ask`: what it prints, and what it refuses.

use crate::place::Place;
use std::process::{Command, Stdio};

#[test]
fn ask_prints_rows_pages_and_profiles() {
    let place = Place::with_database();
    let table = place.run("ask blog.db latest_of author=1").expect(0);
    assert!(
        table.out.contains("t3") && table.out.ends_with("(2 rows)\n"),
        "{}",
        table.out
    );
    let cursor = table
        .err
        .strip_prefix("next: ")
        .unwrap()
        .trim_end()
        .to_owned();
    assert!(cursor.starts_with("cursor="), "{cursor}");
    let next = place
        .run(&format!(
            "ask blog.db latest_of author=1 {cursor} --format json"
        ))
        .expect(0);
    assert_eq!(
        next.json(),
        serde_json::json!([{ "title": "t1", "name": "Ann" }])
    );
    assert!(
        next.err.is_empty(),
        "the last page has no next one: {}",
        next.err
    );

    let lines = "{\"author\": 1}\n{\"author\": 2}\n";
    let jsonl = place
        .feed("ask blog.db latest_of --stdin --format jsonl", lines)
        .expect(0);
    assert_eq!(jsonl.out.lines().count(), 2, "{}", jsonl.out);

    let profile = place
        .run("ask blog.db latest_of author=1 --profile")
        .expect(0)
        .out;
    assert!(
        profile.contains("expected") && profile.contains("where author.id = $author"),
        "{profile}"
    );
    let beside = place
        .run("ask blog.db latest_of author=1 --profile --format jsonl")
        .expect(0);
    assert!(
        beside.err.contains("Profile") && !beside.out.contains("Profile"),
        "{}",
        beside.err
    );
}

#[test]
fn ask_says_what_is_wrong_once() {
    let place = Place::with_database();
    let said = |line: &str, text: &str| {
        let ran = place.run(line).expect(2);
        assert_eq!(ran.err.matches(text).count(), 1, "{}", ran.err);
    };
    said("ask blog.db latest author=1", "did you mean `latest_of`");
    said("ask blog.db latest_of author=x", "expected a whole number");
    said(
        "ask blog.db latest_of autor=1",
        "there is no parameter `autor`",
    );
    said("ask blog.db latest_of", "parameter `author` is missing");
    said(
        "ask blog.db latest_of author=1 cursor=zzz",
        "the cursor has 3 characters",
    );
}

/// As with changes: there may be others behind it.
#[test]
fn ask_passes_over_lines_that_it_cannot_read() {
    let place = Place::with_database();
    let one = place
        .run("ask blog.db latest_of author=1 --format jsonl")
        .expect(0)
        .out;
    let asked = place
        .feed(
            "ask blog.db latest_of --stdin --format jsonl",
            "{\"author\": 1}\n{\"author\": []}\nauthor=1\n{\"author\": 1, \"cursor\": \"zzz\"}\n{\"author\": 1}\n",
        )
        .expect(1);
    assert_eq!(asked.out, one.repeat(2));
    let told: Vec<&str> = asked.err.lines().collect();
    let rejected: Vec<&&str> = told.iter().filter(|l| l.contains("rejected")).collect();
    let [list, text, cursor] = rejected.as_slice() else {
        panic!("{}", asked.err)
    };
    assert!(list.starts_with("line 2: rejected: "), "{list}");
    assert!(text.starts_with("line 3: rejected: "), "{text}");
    assert!(cursor.starts_with("line 4: rejected: "), "{cursor}");
    // A question that there is not is not asked for once a line.
    let none = place
        .feed("ask blog.db latest --stdin", "{}\n{}\n")
        .expect(2);
    assert_eq!(none.err.matches("latest_of").count(), 1, "{}", none.err);
}

#[test]
fn whoever_has_seen_enough_rows_is_no_failure() {
    let place = Place::with_database();
    for line in [
        "design blog.querent",
        "ask blog.db latest_of author=1",
        "explain blog.querent",
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_querent"))
            .args(line.split(' '))
            .current_dir(place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert!(
            !String::from_utf8_lossy(&output.stderr).contains("error"),
            "{line}"
        );
    }
}

#[test]
fn a_limit_below_nothing_is_refused() {
    let place = Place::new();
    let model = "entity A (9) { id int key }\n\
        question first (1/s) select id from A order by id limit $n";
    std::fs::write(place.path().join("a.querent"), model).unwrap();
    place.run("create a.db --model a.querent").expect(0);
    place.run("put a.db A id=1").expect(0);
    let ran = place.run("ask a.db first n=-1").expect(2);
    let said = "found a limit of -1, expected 0 or more";
    assert!(ran.err.contains(said), "{}", ran.err);
    let ran = place.run("ask a.db first n=0 --format json").expect(0);
    assert_eq!(ran.out.trim(), "[]");
}
