//! `kill -9` at random points: every acknowledged change is there, no half change is, and verify
//! is clean. Acknowledgements are logged by the parent, outside the process that is killed.
//! (This does not see a missing sync; the test of power failures beside it does.)
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use querent::Database;
use querent::verify::VerifyOptions;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

const MODEL: &str = "
entity User (100) { id bigint key  name text(20, max 60) }
entity Post (1000) {
  id bigint key
  title text(20, max 60)
  author -> User as posts (avg 10, max 1000)
}
question by_author (10/s) select id, title, author.name from Post where author.id = $user order by id
question busy (1/s) select id, count(posts) as posts from User order by id
change submit (10/s) { insert Post  update User set name where id = $author }
";

/// The child: changes without end, one line of output for each that was acknowledged.
fn change_for_ever(folder: &str) {
    let database = Database::open(folder).unwrap();
    let known = database
        .ask("by_author", json!({ "user": 1 }))
        .unwrap()
        .rows
        .len();
    let mut out = std::io::stdout();
    for id in (known as i64 + 1)..2_000_000 {
        let change =
            json!({ "id": id, "title": format!("t{id}"), "author": 1, "name": format!("n{id}") });
        database.change("submit", change).unwrap();
        writeln!(out, "ack {id}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn nothing_acknowledged_is_lost_to_a_kill() {
    if let Ok(folder) = std::env::var("QUERENT_CRASH_CHILD") {
        return change_for_ever(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    {
        let database = Database::create(&path, "crash", MODEL).unwrap();
        let user = database.entity("User").unwrap();
        let row = json!({ "id": 1, "name": "n0" });
        let row =
            querent::compiler::codec::entity_row_from_json(database.model(), user, &row).unwrap();
        database.put(user, vec![row]).unwrap();
    }
    let mut acknowledged = 0;
    for round in 0..12u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "nothing_acknowledged_is_lost_to_a_kill",
                "--exact",
                "--nocapture",
            ])
            .env("QUERENT_CRASH_CHILD", &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            let acks = lines
                .map_while(Result::ok)
                .filter_map(|l| l.strip_prefix("ack ")?.parse::<i64>().ok());
            acks.max()
        });
        std::thread::sleep(Duration::from_millis(150 + round * 37 % 240));
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged = reader.join().unwrap().unwrap_or(0).max(acknowledged);
        let database = Database::open(&path).unwrap();
        let posts = database
            .ask("by_author", json!({ "user": 1 }))
            .unwrap()
            .rows;
        assert!(
            posts.len() as i64 >= acknowledged,
            "{} of {acknowledged} acknowledged",
            posts.len()
        );
        // Both statements of a change, or none: the name is that of the newest post.
        let name = posts.last().and_then(|p| p.get(2)).cloned();
        if let Some(name) = name {
            assert_eq!(
                name,
                querent::compiler::value::Value::Text(format!("n{}", posts.len()))
            );
        }
        let report = database.verify(&VerifyOptions::default()).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
    }
    assert!(acknowledged > 0, "the child never came to change anything");
}

/// The child: one load.
fn load_once(folder: &str) {
    let database = Database::open(folder).unwrap();
    let sources: Vec<_> = ["User", "Post"]
        .iter()
        .map(|name| {
            let file = std::path::Path::new(folder).with_file_name(format!("{name}.csv"));
            (database.entity(name).unwrap(), file)
        })
        .collect();
    database
        .load(
            &sources,
            &querent::load::LoadOptions::default(),
            &mut |_| {},
        )
        .unwrap();
    println!("loaded");
}

/// Posts of the load.
const POSTS: usize = 4000;

/// A load that is killed at any point has loaded nothing or all, and can be run again.
#[test]
fn a_killed_load_can_be_run_again() {
    if let Ok(folder) = std::env::var("QUERENT_LOAD_CHILD") {
        return load_once(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let users: Vec<String> = (0..100).map(|i| format!("{i},n{i}")).collect();
    let users = format!("id,name\n{}\n", users.join("\n"));
    let posts: Vec<String> = (0..POSTS)
        .map(|i| format!("{i},t{i},{}", i % 100))
        .collect();
    let posts = format!("id,title,author\n{}\n", posts.join("\n"));
    std::fs::write(folder.path().join("User.csv"), users).unwrap();
    std::fs::write(folder.path().join("Post.csv"), posts).unwrap();
    drop(Database::create(&path, "crash", MODEL).unwrap());
    let spawn = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["a_killed_load_can_be_run_again", "--exact", "--nocapture"])
            .env("QUERENT_LOAD_CHILD", &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut killed = 0;
    for round in 0..40u64 {
        let mut child = spawn();
        std::thread::sleep(Duration::from_millis(5 + round * 13));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let done = String::from_utf8_lossy(&output.stdout).contains("loaded");
        killed += usize::from(!done);
        let database = Database::open(&path).unwrap();
        let busy = database.ask("busy", json!({})).unwrap().rows.len();
        let first = database
            .ask("by_author", json!({ "user": 1 }))
            .unwrap()
            .rows
            .len();
        // It may be in place although the child did not come to say so.
        let all = (100, POSTS / 100);
        assert!(
            (busy, first) == all || (!done && (busy, first) == (0, 0)),
            "round {round}: {busy} users, {first} posts"
        );
        let report = database.verify(&VerifyOptions::default()).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        if (busy, first) == all {
            break;
        }
    }
    assert!(killed > 0, "no load was killed");
    if Database::open(&path)
        .unwrap()
        .ask("busy", json!({}))
        .unwrap()
        .rows
        .is_empty()
    {
        let output = spawn().wait_with_output().unwrap();
        assert!(output.status.success());
        let database = Database::open(&path).unwrap();
        assert_eq!(database.ask("busy", json!({})).unwrap().rows.len(), 100);
    }
}
