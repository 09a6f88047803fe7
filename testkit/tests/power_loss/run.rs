//! The runs: what is done while it is logged, how the crashed disks are judged, and the tests.

use crate::log::{Disk, Event, KEEPS, Log};
use crate::shim;
use querent::Database;
use querent::compiler::codec::entity_row_from_json;
use querent::compiler::value::Value;
use querent::load::LoadOptions;
use querent::store::lmdb;
use querent::verify::VerifyOptions;
use querent_testkit::generate::Rng;
use serde_json::json;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MODEL: &str = "
entity User (100) { id bigint key  name text(20, max 60) }
entity Post (1000) {
  id bigint key
  title text(20, max 60)
  author -> User as posts (avg 10, max 1000)
}
question by_author (10/s) select id, title, author.name from Post where author.id = $user order by id
question busy (1/s) select id, name, count(posts) as posts from User order by id
change submit (10/s) { insert Post  update User set name where id = $author }
";

/// Users that change things, each in a thread of its own, so that commits hold several changes.
const USERS: usize = 3;
const CHANGES: u64 = 12;
/// The user whose posts come with a load, and how many.
const LOADED: usize = 9;
const LOAD: u64 = 300;
/// No more crashed disks than this for one log.
const MOST_CRASHES: usize = 300;
/// Disks that are judged by one process.
const TOGETHER: usize = 40;

/// Post `n` of a user, which also names the user.
fn submit(user: usize, n: u64) -> serde_json::Value {
    let id = user as u64 * 10_000 + n;
    json!({ "id": id, "title": format!("t{n} {}", "x".repeat(40)), "author": user, "name": format!("n{n}") })
}

/// A database in a logged folder, with its users.
fn create(root: &Path, options: &lmdb::Options) -> Database {
    shim::record(root);
    let path = root.join("db");
    let database = Database::create(&path, "power", MODEL).unwrap();
    let user = database.entity("User").unwrap();
    let rows = (1..=USERS).chain([LOADED]).map(|id| {
        let row = json!({ "id": id, "name": "n0" });
        entity_row_from_json(database.model(), user, &row).unwrap()
    });
    database.put(user, rows.collect()).unwrap();
    // From here on the database is there: who 0 stands for that.
    shim::acknowledge(root, 0, 1);
    drop(database);
    Database::open_with(&path, options.clone()).unwrap()
}

fn change(root: &Path, database: &Database, from: u64, until: u64) {
    std::thread::scope(|scope| {
        for user in 1..=USERS {
            scope.spawn(move || {
                for n in from..until {
                    database.change("submit", submit(user, n)).unwrap();
                    shim::acknowledge(root, user, n);
                }
            });
        }
    });
}

fn changes_logged(root: &Path, options: &lmdb::Options) -> Log {
    let database = create(root, options);
    change(root, &database, 1, CHANGES + 1);
    drop(database);
    shim::finish(root)
}

/// Changes, then a load that replaces the data file, then changes of what it left.
fn load_logged(root: &Path) -> Log {
    let database = create(root, &lmdb::Options::default());
    change(root, &database, 1, 3);
    let mut lines = String::new();
    for n in 1..=LOAD {
        let id = LOADED as u64 * 10_000 + n;
        writeln!(
            lines,
            "{}",
            json!({ "id": id, "title": format!("t{n}"), "author": LOADED })
        )
        .unwrap();
    }
    let file = root.join("posts.jsonl");
    std::fs::write(&file, lines).unwrap();
    let post = database.entity("Post").unwrap();
    let (database, report) = database
        .load(&[(post, file)], &LoadOptions::default(), &mut |_| {})
        .unwrap();
    assert!(report.applied, "{:?}", report.rejects);
    shim::acknowledge(root, LOADED, LOAD);
    change(root, &database, 3, 5);
    drop(database);
    shim::finish(root)
}

/// What a crashed disk must hold: as a line for the judging process.
struct Crash {
    disk: Disk,
    expected: String,
    what: String,
}

/// Crashes of a log, at most [`MOST_CRASHES`], spread over it.
fn crashes(log: &Log, seed: u64) -> Vec<Crash> {
    let mut rng = Rng::new(seed);
    let mut all = vec![];
    let points = log.events.len();
    for length in 1..=points {
        for keep in KEEPS {
            all.push((length, keep));
        }
    }
    let step = all.len().div_ceil(MOST_CRASHES).max(1);
    // A step that shares no factor with the ways, so that each of them meets all kinds of points.
    let step = if step.is_multiple_of(KEEPS.len()) {
        step + 1
    } else {
        step
    };
    let picked = all.into_iter().rev().step_by(step);
    picked
        .map(|(length, keep)| {
            let acknowledged = log.acknowledged(length);
            let count = |who: usize| acknowledged.get(&who).copied().unwrap_or(0);
            let mut expected = format!("{}", count(0));
            for who in (1..=USERS).chain([LOADED]) {
                write!(expected, " {}", count(who)).unwrap();
            }
            Crash {
                disk: log.crash(length, keep, &mut rng),
                expected,
                what: format!(
                    "a crash in event {length} of {points} ({}), keeping {keep:?}",
                    describe(&log.events[length - 1])
                ),
            }
        })
        .collect()
}

fn describe(event: &Event) -> String {
    match event {
        Event::Write {
            path, at, bytes, ..
        } => format!("{} bytes at {at} of {}", bytes.len(), path.display()),
        other => format!("{other:?}"),
    }
}

/// The first crash behind which the database is not as it must be; each is judged in a process
/// that may die, because a damaged file can end a process that has it mapped.
fn first_failure(log: &Log, seed: u64) -> Option<String> {
    let crashes = crashes(log, seed);
    assert!(crashes.len() > 50, "only {} crashes", crashes.len());
    for some in crashes.chunks(TOGETHER) {
        let folder = tempfile::tempdir().unwrap();
        let mut input = String::new();
        for (n, crash) in some.iter().enumerate() {
            let root = folder.path().join(n.to_string());
            std::fs::create_dir(&root).unwrap();
            crash.disk.write(&root).unwrap();
            writeln!(input, "{} {}", crash.expected, root.display()).unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["run::judge", "--exact", "--nocapture"])
            .env("QUERENT_POWER_JUDGE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let verdicts: Vec<String> = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("verdict ").map(String::from))
            .collect();
        let status = child.wait().unwrap();
        for (n, crash) in some.iter().enumerate() {
            match verdicts.get(n).map(String::as_str) {
                Some("right") => {}
                Some(wrong) => return Some(format!("{}: {wrong}", crash.what)),
                None => return Some(format!("{}: the process ended: {status}", crash.what)),
            }
        }
    }
    None
}

/// Not a test of its own: the judging process. One line in, one verdict out.
#[test]
fn judge() {
    if std::env::var_os("QUERENT_POWER_JUDGE").is_none() {
        return;
    }
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.splitn(USERS + 3, ' ').collect();
        let counts: Vec<u64> = words[..USERS + 2]
            .iter()
            .map(|w| w.parse().unwrap())
            .collect();
        let verdict = match judged(&PathBuf::from(words[USERS + 2]), &counts) {
            Ok(()) => "right".to_owned(),
            Err(why) => why.replace('\n', " "),
        };
        let mut out = std::io::stdout();
        writeln!(out, "\nverdict {verdict}").unwrap();
        out.flush().unwrap();
    }
}

/// Whether a database holds all that was acknowledged, and every change whole.
fn judged(root: &Path, acknowledged: &[u64]) -> Result<(), String> {
    let created = acknowledged[0] > 0;
    let database = match Database::open(root.join("db")) {
        Ok(database) => database,
        Err(_) if !created => return Ok(()),
        Err(e) => return Err(format!("it does not open: {e}")),
    };
    let ask = |database: &Database, user: usize| {
        let answer = database.ask("by_author", json!({ "user": user }));
        answer.map(|a| a.rows).map_err(|e| e.to_string())
    };
    let users = database.ask("busy", json!({})).map_err(|e| e.to_string())?;
    if users.rows.is_empty() && !created {
        return Ok(());
    }
    for (n, user) in (1..=USERS).chain([LOADED]).enumerate() {
        let posts = ask(&database, user)?;
        let (there, safe) = (posts.len() as u64, acknowledged[n + 1]);
        if there < safe {
            return Err(format!("user {user}: {there} of {safe} acknowledged"));
        }
        if user == LOADED && ![0, LOAD].contains(&there) {
            return Err(format!("{there} of the {LOAD} posts of a load"));
        }
        // Both statements of a change, or none: the name is that of the newest post.
        let newest = if user == LOADED { 0 } else { there };
        let row = &users.rows[n];
        let expected = [
            Value::Int(user as i64),
            Value::Text(format!("n{newest}")),
            Value::Int(there as i64),
        ];
        if row[..] != expected {
            return Err(format!("user {user} is {row:?}, expected {expected:?}"));
        }
        for (i, post) in posts.iter().enumerate() {
            if post[0] != Value::Int((user * 10_000 + i + 1) as i64) {
                return Err(format!("post {} of user {user} is {post:?}", i + 1));
            }
        }
    }
    verified(&database)?;
    // And it goes on from there.
    let next = ask(&database, 1)?.len() as u64 + 1;
    database
        .change("submit", submit(1, next))
        .map_err(|e| format!("the next change: {e}"))?;
    if ask(&database, 1)?.len() as u64 != next {
        return Err("the next change is not seen".into());
    }
    verified(&database)
}

fn verified(database: &Database) -> Result<(), String> {
    let report = database.verify(&VerifyOptions::default());
    let report = report.map_err(|e| e.to_string())?;
    match report.findings.first() {
        Some(finding) => Err(format!("verify: {finding}")),
        None => Ok(()),
    }
}

/// The events without the syncs for which `lost` holds, as if the call did nothing.
fn without(events: &[Event], lost: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut events = events.to_vec();
    for event in &mut events {
        if lost(event)
            && let Event::Write { synced, .. } = event
        {
            *synced = false;
        }
    }
    events.retain(|event| !(matches!(event, Event::Sync { .. }) && lost(event)));
    events
}

fn is_data_sync(event: &Event) -> bool {
    matches!(event, Event::Sync { path, .. } if path.ends_with("data.mdb"))
}

fn is_folder_sync(event: &Event) -> bool {
    matches!(event, Event::Sync { path, .. } if !path.ends_with("data.mdb"))
}

#[test]
fn no_acknowledged_change_is_lost_to_a_power_failure() {
    let folder = tempfile::tempdir().unwrap();
    let log = changes_logged(folder.path(), &lmdb::Options::default());
    log.complete().unwrap();
    assert_eq!(first_failure(&log, 1), None);
    // The check has teeth: each kind of sync is needed.
    let lost: [(&str, fn(&Event) -> bool); 3] = [
        ("syncs of the data", is_data_sync),
        ("syncs of the folder", is_folder_sync),
        ("synced writes", |e| matches!(e, Event::Write { .. })),
    ];
    for (what, lost) in lost {
        let lossy = Log {
            events: without(&log.events, lost),
            ..log.clone()
        };
        let failure = first_failure(&lossy, 2);
        assert!(failure.is_some(), "without {what} nothing was found");
    }
}

#[test]
fn without_syncing_the_check_fails() {
    let folder = tempfile::tempdir().unwrap();
    let options = lmdb::Options {
        sync: false,
        ..lmdb::Options::default()
    };
    let log = changes_logged(folder.path(), &options);
    log.complete().unwrap();
    let failure = first_failure(&log, 3).expect("unsynced changes survived every crash");
    eprintln!("found, as it must be: {failure}");
}

#[test]
fn no_acknowledged_load_is_lost_to_a_power_failure() {
    let folder = tempfile::tempdir().unwrap();
    let log = load_logged(folder.path());
    log.complete().unwrap();
    assert_eq!(first_failure(&log, 4), None);
    // The check has teeth: what was built is synced, and so is its new name.
    let renamed = log
        .events
        .iter()
        .position(|e| matches!(e, Event::Rename { .. }));
    let (before, behind) = log.events.split_at(renamed.unwrap());
    for (what, first, second) in [
        (
            "the sync of what was built",
            without(before, is_data_sync),
            behind.to_vec(),
        ),
        (
            "the sync of the name",
            before.to_vec(),
            without(behind, is_folder_sync),
        ),
    ] {
        let lossy = Log {
            events: [first, second].concat(),
            ..log.clone()
        };
        let failure = first_failure(&lossy, 5);
        assert!(failure.is_some(), "without {what} nothing was found");
    }
}
