//! `kill -9` at random points in the life of a process that opens, changes and loads: every change
//! and every load that was acknowledged is there, no half one is, and verify is clean.
//! Acknowledgements are logged by the parent, outside the process that is killed.
//! (This does not see a missing sync; the test of power failures beside it does.)
//!
//! Where it is killed is drawn: a phase of its life, and a part of the time that the phase lasts.
//! `QUERENT_CRASH_SEED` draws the same again, `QUERENT_CRASH_KILLS` says how often.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

use querent::Database;
use querent::compiler::value::Value;
use querent::load::{LoadOptions, Progress};
use querent::verify::VerifyOptions;
use querent_testkit::generate::Rng;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MODEL: &str = "
entity User (100) { id bigint key  name text(20, max 60) }
entity Post (1000) {
  id bigint key
  title text(20, max 60)
  body text(1500, max 2000)
  author -> User as posts (avg 10, max 1000)
}
question by_author (10/s) select id, title, author.name from Post where author.id = $user order by id
question busy (1/s) select id, count(posts) as posts from User order by id
change submit (10/s) { insert Post  update User set name where id = $author }
";

/// The folder in which a child lives: only a child has it.
const CHILD: &str = "QUERENT_CRASH_CHILD";
/// The phases of its life, in their order; those from `change` on come again.
const PHASES: [&str; 8] = [
    "start", "open", "change", "read", "sort", "check", "write", "finish",
];
/// Loads in a life, and changes before each.
const LOADS: usize = 2;
const CHANGES: usize = 5;
/// Posts of one load.
const BATCH: usize = 200;
/// Kills of one database: it grows, and so does the time that a life takes.
const KILLS_OF_ONE: usize = 8;

/// What a database has: so many changes and so many loads, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct State {
    changes: usize,
    loads: usize,
}

/// Reads what a database has, none of it half.
fn state(database: &Database) -> State {
    let posts_of = |user: usize| {
        let answered = database.ask("by_author", json!({ "user": user }));
        answered.unwrap().rows
    };
    let posts = posts_of(1);
    let changes = posts.len();
    for (n, post) in posts.iter().enumerate() {
        assert_eq!(post[0], Value::Int(n as i64 + 1), "a change is missing");
        // Both statements of a change, or none: the name is that of the newest post.
        assert_eq!(post[2], Value::Text(format!("n{changes}")));
    }
    let busy = database.ask("busy", json!({})).unwrap().rows;
    let loads = busy.len() - 1;
    for (n, user) in busy.iter().enumerate().skip(1) {
        let whole = [Value::Int(n as i64 + 1), Value::Int(BATCH as i64)];
        assert_eq!(user[..], whole, "a load is half there");
    }
    if loads > 0 {
        assert_eq!(posts_of(loads + 1).len(), BATCH);
    }
    State { changes, loads }
}

/// The child: some changes, a load, and so on, and a line for every phase that begins and for all
/// that is done.
fn live(folder: &Path) {
    // The line of the test's name has no end yet.
    tell("\nphase open");
    let mut database = Database::open(folder.join("db")).unwrap();
    for _ in 0..LOADS {
        tell("phase change");
        make_changes(&database);
        database = load(database, folder);
    }
    tell("phase change");
    make_changes(&database);
    tell("phase end");
}

fn tell(text: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{text}").unwrap();
    out.flush().unwrap();
}

fn make_changes(database: &Database) {
    let known = state(database).changes;
    for id in known + 1..=known + CHANGES {
        let (title, name) = (format!("t{id}"), format!("n{id}"));
        let change = json!({ "id": id, "title": title, "body": "b", "author": 1, "name": name });
        database.change("submit", change).unwrap();
        tell(&format!("changed {id}"));
    }
}

fn load(database: Database, folder: &Path) -> Database {
    let number = state(&database).loads + 1;
    let user = number + 1;
    let body = "b".repeat(1500);
    let posts = (0..BATCH).map(|n| format!("{},t{n},{body},{user}\n", number * 1_000_000 + n));
    let posts: String = posts.collect();
    let files = [
        ("User", format!("id,name\n{user},n{user}\n")),
        ("Post", format!("id,title,body,author\n{posts}")),
    ];
    let sources = files.map(|(entity, text)| {
        let file = folder.join(format!("{entity}.csv"));
        std::fs::write(&file, text).unwrap();
        (database.entity(entity).unwrap(), file)
    });
    // So little memory that some of what is sorted goes to disk.
    let options = LoadOptions {
        memory: 256 << 10,
        ..LoadOptions::default()
    };
    tell("phase read");
    let mut last = "read";
    let (database, report) = database
        .load(&sources, &options, &mut |progress| {
            let phase = match progress {
                Progress::Reading { bytes, of, .. } if bytes == of => "sort",
                Progress::Checking => "check",
                Progress::Writing { .. } => "write",
                Progress::Finishing => "finish",
                _ => last,
            };
            if phase != last {
                tell(&format!("phase {phase}"));
                last = phase;
            }
        })
        .unwrap();
    assert!(report.applied);
    tell(&format!("loaded {number}"));
    database
}

/// A process that ends with the test, however that ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// When to kill: so long after a phase has begun for the nth time.
struct Aim {
    phase: &'static str,
    nth: usize,
    after: Duration,
}

/// A database that is changed and loaded by one child after the other.
struct Place {
    folder: tempfile::TempDir,
    /// What was acknowledged, or seen, which may not go away either.
    known: State,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::create(folder.path().join("db"), "crash", MODEL).unwrap();
        let user = database.entity("User").unwrap();
        let row = json!({ "id": 1, "name": "n0" });
        let row =
            querent::compiler::codec::entity_row_from_json(database.model(), user, &row).unwrap();
        database.put(user, vec![row]).unwrap();
        Place {
            folder,
            known: State::default(),
        }
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("db")
    }

    /// The life of a child, to its end or to where it is killed. Gives when each phase began.
    fn life(&mut self, aim: Option<&Aim>) -> Vec<(String, Duration)> {
        let begin = Instant::now();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["nothing_acknowledged_is_lost_to_a_kill", "--exact"])
            .arg("--nocapture")
            .env(CHILD, self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut child = Process(child);
        let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let (told, heard) = channel();
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = told.send((line, begin.elapsed()));
            }
        });
        let mut log = vec![("phase start".to_owned(), Duration::ZERO)];
        if let Some(aim) = aim {
            listen(&heard, &mut log, aim);
            std::thread::sleep(aim.after);
            child.0.kill().unwrap();
        }
        reader.join().unwrap();
        log.extend(heard);
        let status = child.0.wait().unwrap();
        assert!(aim.is_some() || status.success(), "{log:?}");
        self.note(&log);
        let phases = log.into_iter();
        phases
            .filter_map(|(line, at)| Some((line.strip_prefix("phase ")?.to_owned(), at)))
            .collect()
    }

    fn note(&mut self, log: &[(String, Duration)]) {
        for (line, _) in log {
            let number = |word: &str| line.strip_prefix(word)?.parse().ok();
            if let Some(number) = number("changed ") {
                self.known.changes = number;
            }
            if let Some(number) = number("loaded ") {
                self.known.loads = number;
            }
        }
    }

    /// Everything that was acknowledged is there, and at most what was being done when it ended.
    fn check(&mut self, what: &str) {
        let database = Database::open(self.database()).unwrap();
        let (found, known) = (state(&database), self.known);
        let more = (found.changes as i64 - known.changes as i64)
            + (found.loads as i64 - known.loads as i64);
        assert!(
            found.changes >= known.changes && found.loads >= known.loads && more <= 1,
            "{what}: found {found:?}, acknowledged {known:?}"
        );
        self.known = found;
        let report = database.verify(&VerifyOptions::default()).unwrap();
        assert!(report.is_clean(), "{what}: {:?}", report.findings);
    }
}

/// Listens until the phase has begun, or the child has ended.
fn listen(heard: &Receiver<(String, Duration)>, log: &mut Vec<(String, Duration)>, aim: &Aim) {
    let phase = format!("phase {}", aim.phase);
    let begun = |log: &[(String, Duration)]| {
        log.iter().filter(|(line, _)| *line == phase).count() > aim.nth
    };
    while !begun(log) {
        match heard.recv_timeout(Duration::from_mins(1)) {
            Ok(line) => log.push(line),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => panic!("the child hangs: {log:?}"),
        }
    }
}

/// How long each phase lasts, by name and turn.
fn lengths(phases: &[(String, Duration)]) -> BTreeMap<(String, usize), Duration> {
    let mut lengths = BTreeMap::new();
    for (n, pair) in phases.windows(2).enumerate() {
        let [(phase, from), (_, to)] = pair else {
            continue;
        };
        let before = phases[..n].iter().filter(|(p, _)| p == phase).count();
        lengths.insert((phase.clone(), before), to.saturating_sub(*from));
    }
    lengths
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_acknowledged_is_lost_to_a_kill() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return live(Path::new(&folder));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("QUERENT_CRASH_SEED").unwrap_or(now.as_nanos() as u64 >> 10);
    let wanted = number("QUERENT_CRASH_KILLS").unwrap_or(120) as usize;
    // Shown where the test fails.
    println!("QUERENT_CRASH_SEED={seed}");
    let mut rng = Rng::new(seed);
    let mut hit: BTreeMap<&str, usize> = PHASES.iter().map(|phase| (*phase, 0)).collect();
    let mut place = Place::new();
    let mut lasts = lengths(&place.life(None));
    place.check("a life to its end");
    let mut kills = 0;
    for round in 1..=4 * wanted {
        if kills >= wanted && hit.values().all(|n| *n > 0) {
            break;
        }
        // The short phases are the ones to fear, and as likely as the long ones.
        let phase = rng.one_of(PHASES);
        let turns = lasts.keys().filter(|(of, _)| of == phase).count();
        let nth = rng.below(turns);
        let lasted = lasts[&(phase.to_owned(), nth)];
        let part = rng.below(1000) as u32;
        let aim = Aim {
            phase,
            nth,
            after: lasted * part / 1000,
        };
        let lived = place.life(Some(&aim));
        let last = lived.last().map_or("start", |(phase, _)| phase.as_str());
        let what = format!("seed {seed}, round {round}, killed in phase {last}");
        println!("{what}");
        if let Some(count) = hit.get_mut(last) {
            *count += 1;
            kills += 1;
        }
        place.check(&what);
        if round % KILLS_OF_ONE == 0 {
            // Who comes after so many crashes has no trouble.
            lasts = lengths(&place.life(None));
            place.check("a life to its end");
            place = Place::new();
        }
    }
    println!("{kills} kills: {hit:?}");
    assert!(kills >= wanted, "{kills} kills: {hit:?}");
    assert!(hit.values().all(|n| *n > 0), "{kills} kills: {hit:?}");
}
