//! Expiry on the embedded store, under a clock that the tests set.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent::compiler::design::spread::spread;
use querent::compiler::design::{Options, target};
use querent::compiler::value::Value;
use querent::store::{Store, WriteSet, lmdb};
use querent::verify::VerifyOptions;
use querent::{Clock, Database, Error, ManualClock};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

const MODEL: &str = "
    entity User (1k)     { id int key  name text(20) }
    entity Session (10k) {
      id    int   key
      note  text(20)
      user  -> User  as sessions (avg 10, max 100) on delete cascade
    } expires after 10s
    entity Step (100k) {
      id       int  key
      session  -> Session  as steps (avg 10, max 100) on delete cascade
    }
    entity Report (1k) {
      id       int  key
      session  -> Session?  as reports (avg 1, max 10) on delete clear
    }
    question sessions (10/s)  select id, note from Session where user.id = $user order by id
    question active   (10/s)  select count(sessions) as n from User where id = $user
    question steps    (1/s)   select id from Step order by id
    question reports  (1/s)   select id, session.id as session from Report order by id
    change join    (1/s)  insert User
    change log_in  (1/s)  insert Session
    change glance  (1/s)  insert Session expires after 1s
    change renew   (1/s)  upsert Session
    change remark  (1/s)  update Session set note where id = $id
    change step    (1/s)  insert Step
    change report  (1/s)  insert Report";

struct Case {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

impl Case {
    fn new() -> (Case, Database) {
        let case = Case {
            folder: tempfile::tempdir().unwrap(),
            clock: Arc::new(ManualClock::at(1_000_000)),
        };
        let database = Database::create(case.path(), "expiry", MODEL).unwrap();
        let database = database.with_clock(Arc::clone(&case.clock) as Arc<dyn Clock>);
        database
            .change("join", json!({ "id": 1, "name": "Ann" }))
            .unwrap();
        (case, database)
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("db")
    }
}

fn session(database: &Database, change: &str, id: i32) -> Result<(), Error> {
    let params = json!({ "id": id, "note": change, "user": 1 });
    database.change(change, params).map(drop)
}

/// The rows of an answer, as JSON without the names.
fn ask(database: &Database, question: &str) -> String {
    let params = if ["sessions", "active"].contains(&question) {
        json!({ "user": 1 })
    } else {
        json!({})
    };
    let rows = database.ask(question, params).unwrap().json();
    let rows: Vec<serde_json::Value> = rows
        .into_iter()
        .map(|row| {
            let values = row.as_object().unwrap().values().cloned();
            serde_json::Value::Array(values.collect())
        })
        .collect();
    serde_json::Value::Array(rows).to_string()
}

fn verified(database: &Database) {
    let report = database.verify(&VerifyOptions::default()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[test]
fn an_instance_is_there_until_its_deadline_and_gone_from_then_on() {
    let (case, database) = Case::new();
    session(&database, "log_in", 1).unwrap();
    session(&database, "glance", 2).unwrap();
    assert_eq!(ask(&database, "sessions"), r#"[[1,"log_in"],[2,"glance"]]"#);
    case.clock.advance(999);
    assert_eq!(ask(&database, "active"), "[[2]]");
    case.clock.advance(1);
    assert_eq!(ask(&database, "active"), "[[1]]");
    assert_eq!(ask(&database, "sessions"), r#"[[1,"log_in"]]"#);
    case.clock.advance(9_000);
    // Its key is free: the change is decided after the expiry.
    session(&database, "log_in", 1).unwrap();
    assert_eq!(ask(&database, "active"), "[[1]]");
    verified(&database);
    case.clock.advance(10_000);
    assert_eq!(database.refresh().unwrap(), 1);
    assert_eq!(database.refresh().unwrap(), 0);
    verified(&database);
}

#[test]
fn an_update_keeps_the_deadline_and_an_upsert_sets_it() {
    let (case, database) = Case::new();
    for id in [1, 2, 3] {
        session(&database, "log_in", id).unwrap();
    }
    case.clock.advance(5_000);
    database
        .change("remark", json!({ "id": 1, "note": "x" }))
        .unwrap();
    session(&database, "renew", 2).unwrap();
    case.clock.advance(5_000);
    assert_eq!(ask(&database, "sessions"), r#"[[2,"renew"]]"#);
    case.clock.advance(5_000);
    assert_eq!(ask(&database, "sessions"), "[]");
    verified(&database);
}

#[test]
fn what_refers_to_it_falls_or_is_cleared() {
    let (case, database) = Case::new();
    session(&database, "glance", 1).unwrap();
    session(&database, "log_in", 2).unwrap();
    for id in [1, 2] {
        let params = json!({ "id": id, "session": id });
        database.change("step", params.clone()).unwrap();
        database.change("report", params).unwrap();
    }
    case.clock.advance(1_000);
    assert_eq!(ask(&database, "steps"), "[[2]]");
    assert_eq!(ask(&database, "reports"), "[[1,null],[2,2]]");
    verified(&database);
    // What refers to an instance that has just expired is refused.
    case.clock.advance(9_000);
    let refused = database.change("step", json!({ "id": 9, "session": 2 }));
    assert!(matches!(refused, Err(Error::Change(_))), "{refused:?}");
}

#[test]
fn many_expire_in_bounded_changes() {
    let (case, database) = Case::new();
    let entity = database.entity("Session").unwrap();
    let row = |id: i64| {
        // The deadline, last, is left for the database.
        let user = Value::Key(vec![Value::Int(1)]);
        let note = Value::Text("put".into());
        vec![Value::Int(id), note, user, Value::Null]
    };
    database.put(entity, (0..2_000).map(row).collect()).unwrap();
    assert_eq!(ask(&database, "active"), "[[2000]]");
    case.clock.advance(10_000);
    assert_eq!(ask(&database, "active"), "[[0]]");
    verified(&database);
}

#[test]
fn deadlines_outlive_the_process_and_a_load() {
    let (case, database) = Case::new();
    session(&database, "glance", 1).unwrap();
    session(&database, "log_in", 2).unwrap();
    drop(database);
    let file = case.folder.path().join("sessions.jsonl");
    std::fs::write(
        &file,
        "{\"id\":1,\"note\":\"loaded\",\"user\":1}\n{\"id\":3,\"note\":\"loaded\",\"user\":1}\n",
    )
    .unwrap();
    let database = Database::open(case.path()).unwrap();
    let database = database.with_clock(Arc::clone(&case.clock) as Arc<dyn Clock>);
    // The place of what has expired is free.
    case.clock.advance(1_000);
    let sources = [(database.entity("Session").unwrap(), file)];
    let (database, report) = database
        .load(
            &sources,
            &querent::load::LoadOptions::default(),
            &mut |_| {},
        )
        .unwrap();
    assert!(report.applied, "{report:?}");
    assert_eq!(ask(&database, "active"), "[[3]]");
    verified(&database);
    case.clock.advance(9_000);
    assert_eq!(ask(&database, "sessions"), r#"[[1,"loaded"],[3,"loaded"]]"#);
    case.clock.advance(1_000);
    assert_eq!(ask(&database, "sessions"), "[]");
    verified(&database);
}

fn read_only(path: &Path, clock: &Arc<ManualClock>) -> Database {
    let options = lmdb::Options {
        read_only: true,
        ..lmdb::Options::default()
    };
    let database = Database::open_with(path, options).unwrap();
    database.with_clock(Arc::clone(clock) as Arc<dyn Clock>)
}

#[test]
fn who_cannot_write_is_told_what_is_overdue() {
    let (case, database) = Case::new();
    session(&database, "log_in", 1).unwrap();
    drop(database);
    let database = read_only(&case.path(), &case.clock);
    assert_eq!(database.snapshot().unwrap().overdue(), None);
    case.clock.advance(10_001);
    assert_eq!(database.snapshot().unwrap().overdue(), Some(1_010_000));
    assert_eq!(ask(&database, "active"), "[[1]]");
    assert!(database.refresh().is_err());
}

#[test]
fn a_damaged_list_deletes_nothing() {
    let (case, database) = Case::new();
    session(&database, "log_in", 1).unwrap();
    let schema = Arc::clone(database.schema());
    let root = database.entity("Session").unwrap();
    let (list, _) = &schema.access.expiries[&root];
    let (list, layout) = (*list, &schema.layouts[usize::from(*list)]);
    let parts = [Value::Timestamp(0), Value::Int(1)];
    let key = layout.encode_key(&parts).unwrap();
    let row = layout.encode_row(&parts, &[]);
    database
        .store()
        .change(move |_: &lmdb::LmdbReader<'_>| {
            let mut writes = WriteSet::new();
            writes.put(
                querent::store::Phase::Copies,
                list,
                key.clone(),
                row.clone(),
            );
            Ok::<_, std::convert::Infallible>((writes, ()))
        })
        .unwrap();
    let error = database.ask("active", json!({ "user": 1 })).unwrap_err();
    assert!(error.to_string().contains("verify"), "{error}");
    let repaired = database
        .repair(&VerifyOptions::default(), &mut |_| {})
        .unwrap();
    assert!(repaired.after.is_clean());
    assert_eq!(ask(&database, "active"), "[[1]]");
    case.clock.advance(10_000);
    assert_eq!(ask(&database, "active"), "[[0]]");
}

/// A list of deadlines that takes more writes than a partition does is in buckets, each of them over
/// salts: everything that is due is found in all of these, and nothing else.
#[test]
fn a_list_in_buckets_and_salts_is_read_in_order_of_the_deadlines() {
    let model = "
        entity Session (2M) { id int key  note text(20) } expires after 10h
        question session (10/s)  select note from Session where id = $id
        change log_in (5/s)  insert Session
        change glance (5/s)  insert Session expires after 30min";
    let mut options = Options {
        target: target::named("cassandra").unwrap(),
        ..Options::embedded()
    };
    options.target.limits.partition_writes = Some(target::Throughput {
        per_second: 4.0,
        unit_bytes: None,
    });
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(1_000_000));
    let database = Database::create_with(folder.path().join("db"), "expiry", model, &options);
    let database = database.unwrap();
    let database = database.with_clock(Arc::clone(&clock) as Arc<dyn Clock>);
    let schema = database.schema();
    let (list, _) = schema.access.expiries.values().next().unwrap();
    let list = &schema.design.structures[usize::from(*list)];
    let pieces = spread(&schema.model, list).unwrap();
    assert!(pieces.buckets.is_some() && pieces.salts.unwrap() > 1);
    let log_in = |change: &str, id: i32| {
        let params = json!({ "id": id, "note": change });
        database.change(change, params).unwrap();
    };
    // In fifty minutes a session each ten seconds, and beside one in ten another that is shorter. The
    // first and the last of them expire in the buckets of two hours.
    for id in 0..300 {
        log_in("log_in", id);
        if id % 10 == 0 {
            log_in("glance", 1000 + id);
        }
        clock.advance(10_000);
    }
    let there = |id: i32| {
        let rows = database.ask("session", json!({ "id": id })).unwrap();
        !rows.json().is_empty()
    };
    assert!(there(0) && there(299) && !there(1000) && !there(1120) && there(1130));
    clock.advance(33_000_000);
    assert!(!there(0) && there(1));
    clock.advance(20_000);
    assert!(!there(2) && there(3));
    verified(&database);
    clock.advance(3_600_000);
    assert_eq!(database.refresh().unwrap(), 297);
    assert_eq!(database.refresh().unwrap(), 0);
    verified(&database);
}
