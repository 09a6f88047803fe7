//! Files in, a database out: what is loaded equals what is put one by one.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent::compiler::codec::to_json;
use querent::compiler::design::{Options, StructureId, target};
use querent::compiler::model::{EntityId, Field, Model, Type};
use querent::compiler::value::Value;
use querent::load::{LoadOptions, LoadReport};
use querent::store::lmdb::Lmdb;
use querent::store::{Batch, Fill, Keys, Read, Reader, Source, Store};
use querent::verify::VerifyOptions;
use querent::{Database, Error, ManualClock};
use querent_testkit::facts::concrete;
use querent_testkit::generate::{self, Rng, Size};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const BLOG: &str = "
model blog
entity User (1k) { id bigint key
  email text(20, max 40) unique
  name text(10)
  boss -> User? as staff }
entity Post (10k) { id bigint key sequence
  title text(20)
  author -> User as posts (avg 10) }
question posts_of (100/s) select title, author.name from Post where author.id = $user order by id
question with_posts (10/s) select name, posts { title order by id } from User where id = $user
question how_many (50/s) select author.name, count(*) from Post group by author.name
change write (10/s) insert Post
change join (1/s) insert User
";

struct Case {
    folder: tempfile::TempDir,
    database: Option<Database<Lmdb>>,
}

impl Case {
    fn new(model: &str) -> Case {
        // Any design will do: what is tested here is the load, not the search for the cheapest.
        let options = Options {
            sample: Some(7),
            ..Options::embedded()
        };
        Case::designed(model, &options)
    }

    /// With partitions so small that popular keys are split.
    fn small(model: &str, partition_rows: f64) -> Case {
        let mut options = Options {
            sample: Some(7),
            target: target::named("cassandra").unwrap(),
            ..Options::embedded()
        };
        options.target.limits.partition_rows = Some(partition_rows);
        Case::designed(model, &options)
    }

    fn designed(model: &str, options: &Options) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let database =
            Database::create_with(folder.path().join("db"), "test.querent", model, options)
                .unwrap()
                .with_clock(clock());
        Case {
            folder,
            database: Some(database),
        }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn db(&self) -> &Database<Lmdb> {
        self.database.as_ref().unwrap()
    }

    fn load(&mut self, sources: &[(&str, PathBuf)], options: &LoadOptions) -> LoadReport {
        let database = self.database.take().unwrap();
        let sources: Vec<(EntityId, PathBuf)> = sources
            .iter()
            .map(|(entity, path)| (database.entity(entity).unwrap(), path.clone()))
            .collect();
        let (database, report) = database.load(&sources, options, &mut |_| {}).unwrap();
        let found = database.verify(&VerifyOptions::default()).unwrap();
        assert!(found.is_clean(), "{}", found.findings[0]);
        self.database = Some(database);
        report
    }

    fn reopen(&mut self) {
        self.database = None;
        let database = Database::open(self.folder.path().join("db")).unwrap();
        self.database = Some(database.with_clock(clock()));
    }
}

fn skipping() -> LoadOptions {
    LoadOptions {
        all_or_nothing: false,
        ..LoadOptions::default()
    }
}

/// Time stands still, so that what is made twice expires at the same moment.
fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(1_700_000_000_000))
}

fn content(database: &Database<Lmdb>) -> Vec<Vec<(Vec<u8>, Vec<u8>)>> {
    let snapshot = database.store().snapshot().unwrap();
    let reader = snapshot.reader();
    let all = 0..database.schema().structure_names().len();
    all.map(|id| {
        let keys = Keys::Range {
            lower: vec![],
            upper: None,
        };
        let read = Read {
            structure: id as StructureId,
            keys,
            reverse: false,
            limit: None,
        };
        let mut source = reader.open(&read).unwrap();
        let mut batch = Batch::default();
        while source.fill(1000, &mut batch).unwrap() == Fill::Rows {}
        batch
            .rows
            .iter()
            .map(|(k, v)| (k.to_vec(), v.to_vec()))
            .collect()
    })
    .collect()
}

fn reasons(report: &LoadReport) -> Vec<String> {
    report
        .rejects
        .iter()
        .map(|r| {
            format!(
                "{}:{}: {}",
                Path::new(&r.file).file_name().unwrap().display(),
                r.line,
                r.reason
            )
        })
        .collect()
}

const USERS: &str = "id,email,name,boss\n1,a@x,Ann,2\n2,b@x,Bob,\n3,c@x,Cyd,1\n";
const POSTS: &str =
    "{\"id\": 7, \"title\": \"x\", \"author\": 3}\n{\"id\": 2, \"title\": \"y\", \"author\": 1}\n";

#[test]
fn files_come_in_any_order() {
    let mut case = Case::new(BLOG);
    let (users, posts) = (
        case.file("users.csv", USERS),
        case.file("posts.jsonl", POSTS),
    );
    let report = case.load(&[("Post", posts), ("User", users)], &LoadOptions::default());
    assert_eq!(
        (report.read, report.loaded, report.rejected, report.applied),
        (5, 5, 0, true)
    );
    case.reopen();
    let rows = case.db().ask("posts_of", vec![Value::Int(3)]).unwrap().rows;
    assert_eq!(rows, [[Value::Text("x".into()), Value::Text("Cyd".into())]]);
    // The sequence goes on behind the numbers in the file.
    let id = case.db().schema().sequences();
    assert_eq!(content(case.db())[usize::from(id)].len(), 1);
    assert_eq!(
        std::fs::read_dir(case.folder.path().join("db"))
            .unwrap()
            .filter(|e| e.as_ref().unwrap().path().is_dir())
            .count(),
        0
    );
}

#[test]
fn a_second_load_adds_to_the_first() {
    let mut case = Case::new(BLOG);
    let (users, posts) = (
        case.file("users.csv", USERS),
        case.file("posts.jsonl", POSTS),
    );
    case.load(&[("User", users.clone())], &LoadOptions::default());
    case.load(&[("Post", posts)], &LoadOptions::default());
    assert_eq!(
        case.db()
            .ask("how_many", Vec::<Value>::new())
            .unwrap()
            .rows
            .len(),
        2
    );
    let before = content(case.db());
    let again = case.load(&[("User", users)], &LoadOptions::default());
    assert_eq!((again.rejected, again.applied), (3, false));
    assert_eq!(
        reasons(&again)[0],
        "users.csv:2: User 1 is in the database already"
    );
    assert!(content(case.db()) == before);
    let renamed = case.file("renamed.csv", "id,email,name,boss\n3,c@x,Cid,1\n");
    let options = LoadOptions {
        replace: true,
        ..LoadOptions::default()
    };
    assert_eq!(case.load(&[("User", renamed)], &options).loaded, 1);
    let rows = case.db().ask("posts_of", vec![Value::Int(3)]).unwrap().rows;
    assert_eq!(rows[0][1], Value::Text("Cid".into()));
}

#[test]
fn rejects_are_named_and_nothing_is_loaded() {
    let mut case = Case::new(BLOG);
    let users = case.file(
        "users.csv",
        "id,email,name,boss\n1,a@x,Ann,\n2,b@x,Bob,9\n3,c@x,Cyd,2\nx,d@x,Dan,\n1,e@x,Eve,\n4,a@x,Fay,\n5,f@x,Gil,4\n",
    );
    let rejects = case.folder.path().join("rejects.csv");
    let options = LoadOptions {
        rejects: Some(rejects.clone()),
        ..LoadOptions::default()
    };
    let report = case.load(&[("User", users.clone())], &options);
    assert!(!report.applied);
    let reasons = reasons(&report);
    assert_eq!(report.rejected, 6, "{reasons:#?}");
    let has = |text: &str| {
        assert!(
            reasons.iter().any(|r| r.contains(text)),
            "{text}: {reasons:#?}"
        );
    };
    has("users.csv:5: id: ");
    has("users.csv:6: User 1 is given already at ");
    has("users.csv:3: boss: found User 9, which does not exist");
    has("users.csv:4: boss: found User 2, which was rejected (");
    has("users.csv:7: email is declared unique, and its value is given already at ");
    has("users.csv:8: boss: found User 4, which was rejected (");
    // Each has the text of its row, also where it was found out late.
    let lines = std::fs::read_to_string(&users).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    for reject in &report.rejects {
        assert_eq!(reject.text, lines[reject.line as usize - 1], "{reject}");
    }
    assert_eq!(std::fs::read_to_string(rejects).unwrap().lines().count(), 7);
    assert!(content(case.db()).iter().all(Vec::is_empty));
    let report = case.load(&[("User", users)], &skipping());
    assert_eq!((report.loaded, report.applied), (1, true));
}

/// A row is counted once, however many reasons there are, and for the file that it is in, also where
/// two sources read the same one.
#[test]
fn rows_of_each_file_are_counted() {
    let mut case = Case::new(
        "model seats
         entity Seat (10) { id int key  row text(5, max 9) unique  name text(5, max 9) unique }
         entity Guest (10) { id int key  name text(5, max 9) }
         question seats (1/s) select id, row from Seat order by id",
    );
    let seats = case.file(
        "seats.csv",
        "id,row,name\n1,a,x\n2,a,x\n3,a,y\n4,b,z\nx,c,v\n",
    );
    let both = case.file("both.jsonl", "{\"id\": 9, \"name\": \"w\"}\n{\"id\": 9}\n");
    let sources = [("Guest", both.clone()), ("Seat", seats), ("Seat", both)];
    let report = case.load(&sources, &skipping());
    let counts = report.files.iter();
    let counts: Vec<_> = counts
        .map(|f| (f.entity.as_str(), f.read, f.loaded, f.rejected))
        .collect();
    assert_eq!(
        counts,
        [("Guest", 2, 1, 1), ("Seat", 5, 2, 3), ("Seat", 2, 0, 2)]
    );
    assert_eq!((report.loaded, report.rejected), (3, 6));
    // Seat 2 has two reasons.
    assert_eq!(report.rejects.len(), 7, "{:#?}", reasons(&report));
}

const PETS: &str = "model pets
    entity User (10) { id int key }
    entity Pet (10) { id int key  owner -> User? as pets (avg 1) { since date } }
    question pets (1/s) select id, owner.id as owner, owner@since as since from Pet order by id
    change adopt (1/s) insert Pet
    change give (1/s) update Pet set owner, owner@since where id = $id";

/// An attribute of a reference is there where the reference is, and nowhere else: the codec, changes,
/// `put` and loads say the same.
#[test]
fn attributes_of_a_reference_come_with_it() {
    let mut case = Case::new(PETS);
    let users = case.file("users.csv", "id\n1\n");
    case.load(&[("User", users)], &LoadOptions::default());
    let pets = "id,owner,owner@since\n1,,\n2,1,2024-01-31\n3,,2024-01-31\n4,1,\n";
    let pets = case.file("pets.csv", pets);
    let report = case.load(&[("Pet", pets)], &skipping());
    assert_eq!(
        reasons(&report),
        [
            "pets.csv:4: owner@since: found a value, expected nothing, as there is no owner; give owner too, \
             or leave owner@since out",
            "pets.csv:5: owner@since: found nothing, expected a date such as \"2026-01-31\"; whoever gives \
             owner gives owner@since too",
        ]
    );
    let given = |id: i64, owner: Option<i64>, since: Option<&str>| {
        let params = serde_json::json!({ "id": id, "owner": owner, "owner@since": since });
        let refused = case.db().change("give", params).unwrap_err();
        refused.to_string()
    };
    assert_eq!(
        given(1, None, Some("2024-02-01")),
        "Pet 1: owner@since: found a value, expected null, because owner leads nowhere; give owner \
         too, or leave owner@since out"
    );
    assert_eq!(
        given(1, Some(1), None),
        "Pet 1: owner@since: found null, expected a value for the link to 1; give owner@since \
         together with owner"
    );
    // What comes from a program as a whole row is held to the same rule.
    let pet = case.db().entity("Pet").unwrap();
    let owner = || Value::Key(vec![Value::Int(1)]);
    for (owner, since) in [(owner(), Value::Null), (Value::Null, Value::Date(1))] {
        let row = vec![Value::Int(9), owner, since];
        assert!(case.db().put_all(vec![(pet, row)]).is_err());
    }
    let row = vec![Value::Int(9), owner(), Value::Date(1)];
    case.db().put_all(vec![(pet, row)]).unwrap();
}

/// Without the reference its attributes are null: the codec, changes, loads and verify say the same.
#[test]
fn attributes_of_an_absent_reference_are_null_everywhere() {
    let pets = [
        "{\"id\": 1}",
        "{\"id\": 2, \"owner\": 1, \"owner@since\": \"2024-01-31\"}",
    ];
    let mut loaded = Case::new(PETS);
    let users = loaded.file("users.csv", "id\n1\n");
    let file = loaded.file("pets.jsonl", &pets.join("\n"));
    let sources = [("User", users.clone()), ("Pet", file)];
    assert!(loaded.load(&sources, &LoadOptions::default()).applied);
    let mut changed = Case::new(PETS);
    changed.load(&[("User", users)], &LoadOptions::default());
    for pet in pets {
        let params: serde_json::Value = serde_json::from_str(pet).unwrap();
        let mut all = serde_json::json!({ "owner": null, "owner@since": null });
        for (name, value) in params.as_object().unwrap() {
            all[name] = value.clone();
        }
        changed.db().change("adopt", all).unwrap();
    }
    assert!(content(loaded.db()) == content(changed.db()));
}

#[test]
fn an_empty_file_and_a_header_typo() {
    let mut case = Case::new(BLOG);
    let none = case.file("none.jsonl", "");
    assert_eq!(
        case.load(&[("User", none)], &LoadOptions::default()).read,
        0
    );
    let typo = case.file("typo.csv", "id,emial,name\n1,a,b\n");
    let database = case.database.take().unwrap();
    let user = database.entity("User").unwrap();
    let error = database
        .load(&[(user, typo)], &LoadOptions::default(), &mut |_| {})
        .unwrap_err();
    assert!(matches!(error, Error::Load(_)));
    assert!(
        error.to_string().contains("emial") && error.to_string().contains("email"),
        "{error}"
    );
    case.reopen();
}

/// Numbers that are missing go on behind those that are given, in files, in the database and by
/// its counters.
#[test]
fn missing_numbers_are_assigned() {
    let mut case = Case::new(
        "model shop
         entity Shop (10) { name text(5) key }
         entity Order (100) { shop -> Shop key as orders (avg 10)  number bigint key sequence per shop
           serial int sequence  note text(5) }
         question all (1/s) select shop.name, number, serial, note from Order order by note
         change add (1/s) insert Order",
    );
    let shops = case.file("shops.csv", "name\na\nb\n");
    let orders = case.file(
        "orders.csv",
        "shop,number,serial,note\na,7,,n1\na,,,n2\nb,,40,n3\nb,,,n4\na,3,2,n5\n",
    );
    case.load(
        &[("Shop", shops), ("Order", orders)],
        &LoadOptions::default(),
    );
    let numbers = |case: &Case| -> Vec<String> {
        let rows = case.db().ask("all", Vec::<Value>::new()).unwrap().json();
        let rows = rows.iter();
        rows.map(|r| {
            format!(
                "{} {} {} {}",
                r["note"], r["name"], r["number"], r["serial"]
            )
            .replace('"', "")
        })
        .collect()
    };
    assert_eq!(
        numbers(&case),
        [
            "n1 a 7 41",
            "n2 a 8 42",
            "n3 b 1 40",
            "n4 b 2 43",
            "n5 a 3 2"
        ]
    );
    let add = serde_json::json!({ "shop": "a", "note": "n6" });
    case.db().change("add", add).unwrap();
    let more = case.file("more.jsonl", "{\"shop\": \"a\", \"note\": \"n7\"}\n");
    case.load(&[("Order", more)], &LoadOptions::default());
    assert_eq!(numbers(&case)[5..], ["n6 a 9 44", "n7 a 10 45"]);
    // The last number of an int is not passed.
    let last = case.file(
        "last.csv",
        "shop,number,serial,note\nb,90,2147483647,n8\nb,91,,n9\n",
    );
    let report = case.load(&[("Order", last)], &LoadOptions::default());
    assert_eq!(
        reasons(&report),
        ["last.csv:3: Order.serial: the sequence has run out of numbers"]
    );
}

/// What is too long for a key that must be kept in order is refused, wherever that key is; what is
/// only compared may be of any length.
#[test]
fn long_keys_are_hashed_or_rejected() {
    let mut case = Case::new(
        "model long
         entity User (100) { id int key  email text(20) unique  name text(20) }
         entity Post (100) { slug text(30) key  author -> User as posts (avg 3)  title text(10) }
         question by_email (9/s) select id, name from User where email = $email
         question by_name (9/s) select id, email, name from User order by name
         question by_slug (9/s) select title, author.email from Post where slug = $slug
         question of (9/s) select slug from Post where author.id = $id
         change join (1/s) insert User
         change rename (1/s) update User set name where id = $id
         change post (1/s) insert Post",
    );
    let mail = |c: &str| format!("{}{c}@x", "m".repeat(3000));
    let users = case.file(
        "users.csv",
        &format!(
            "id,email,name\n1,{},Ann\n2,{},{}\n3,{},Cyd\n4,{},Dan\n",
            mail("a"),
            mail("b"),
            "n".repeat(2000),
            mail("c"),
            mail("a"),
        ),
    );
    let slug = |c: &str| format!("{}{c}", "s".repeat(4000));
    let posts = case.file(
        "posts.csv",
        &format!(
            "slug,author,title\n{},1,t1\n{},3,t2\n{},2,t3\n",
            slug("x"),
            slug("y"),
            slug("z")
        ),
    );
    let sources = [("User", users), ("Post", posts)];
    let report = case.load(&sources, &skipping());
    let mut found = reasons(&report);
    found.sort();
    assert_eq!(found.len(), 3, "{found:#?}");
    let told = "posts.csv:4: author: found User 2, which was rejected (";
    assert!(
        found[0].starts_with(told) && found[0].ends_with("users.csv:3)"),
        "{found:#?}"
    );
    assert!(
        found[1].starts_with("users.csv:3: user_")
            && found[1].contains("found a key of 20")
            && found[1].contains("expected 1982 at most"),
        "{}",
        found[1]
    );
    assert!(found[2].starts_with("users.csv:5: email is declared unique"));
    assert_eq!((report.loaded, report.applied), (4, true));
    case.reopen();
    let db = case.db();
    let ask = |question: &str, params: serde_json::Value| db.ask(question, params).unwrap().json();
    let found = ask("by_email", serde_json::json!({ "email": mail("c") }));
    assert_eq!(found[0]["id"], 3);
    assert!(ask("by_email", serde_json::json!({ "email": mail("d") })).is_empty());
    let found = ask("by_slug", serde_json::json!({ "slug": slug("y") }));
    assert_eq!(found[0]["email"], mail("c"));
    let found = ask("of", serde_json::json!({ "id": 1 }));
    assert_eq!(found[0]["slug"], slug("x"));
    assert_eq!(ask("by_name", serde_json::json!({})).len(), 2);
    // The same in changes.
    let join = |id: i32, email: String, name: &str| {
        db.change(
            "join",
            serde_json::json!({ "id": id, "email": email, "name": name }),
        )
    };
    join(5, mail("e"), "Eve").unwrap();
    let taken = join(6, mail("e"), "Fay").unwrap_err().to_string();
    assert!(taken.contains("which 5 has already"), "{taken}");
    let before = content(db);
    let name = "n".repeat(1990);
    for error in [
        join(6, mail("f"), &name).unwrap_err(),
        db.change("rename", serde_json::json!({ "id": 1, "name": name }))
            .unwrap_err(),
    ] {
        let refused = matches!(
            &error,
            Error::Change(querent::ChangeFailure::Refused(
                querent::Refusal::KeyTooLong { max: 1982, .. }
            ))
        );
        assert!(refused, "{error}");
    }
    assert!(content(db) == before);
    let post = serde_json::json!({ "slug": slug("w"), "author": 5, "title": "t" });
    db.change("post", post).unwrap();
    assert_eq!(
        ask("by_slug", serde_json::json!({ "slug": slug("w") })).len(),
        1
    );
    let report = db.verify(&VerifyOptions::default()).unwrap();
    assert!(report.is_clean(), "{}", report.findings[0]);
}

#[test]
fn an_interrupted_load_leaves_the_database_as_it_was() {
    let mut case = Case::new(BLOG);
    let users = case.file("users.csv", USERS);
    case.load(&[("User", users)], &LoadOptions::default());
    let before = content(case.db());
    // What a killed process leaves behind.
    let db = case.folder.path().join("db");
    for folder in ["loading", "building"] {
        std::fs::create_dir(db.join(folder)).unwrap();
        std::fs::write(db.join(folder).join("data.mdb"), "half").unwrap();
    }
    case.reopen();
    assert!(content(case.db()) == before);
    // Interrupted by a panic while structures are written.
    let posts = case.file("posts.jsonl", POSTS);
    let database = case.database.take().unwrap();
    let post = database.entity("Post").unwrap();
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        database.load(
            &[(post, posts.clone())],
            &LoadOptions::default(),
            &mut |progress| {
                assert!(
                    !matches!(progress, querent::load::Progress::Writing { number: 2, .. }),
                    "stop"
                );
            },
        )
    }));
    assert!(stopped.is_err());
    case.reopen();
    assert!(content(case.db()) == before);
    assert_eq!(
        case.load(&[("Post", posts)], &LoadOptions::default())
            .loaded,
        2
    );
}

/// The fields of a row that its concrete type has, with their types.
fn cells<'r>(model: &Model, entity: EntityId, row: &'r [Value]) -> Vec<(String, Type, &'r Value)> {
    let root = model.entity(entity).root;
    let fields = model.root(root).fields.iter().zip(row);
    let named = fields.filter_map(|(field, value)| match field {
        Field::Type => None,
        Field::Attribute(a) => Some((
            model.attribute(*a).name.clone(),
            model.attribute(*a).ty.clone(),
            value,
        )),
        Field::Reference(r) => Some((
            model.reference(*r).name.clone(),
            Type::Key(model.reference(*r).target),
            value,
        )),
    });
    named.filter(|(.., value)| !value.is_null()).collect()
}

#[test]
fn what_is_loaded_equals_what_is_put() {
    let mut split = 0;
    for (seed, long) in (1..54).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut rng = Rng::new(seed);
        let mut text = generate::timed_model(
            &mut rng,
            Size {
                entities: 3,
                questions: 2,
                changes: 1,
                wide: true,
            },
        );
        // Of a value of any type JSON keeps what JSON has: a timestamp comes back as text.
        if text.contains(" any") {
            continue;
        }
        if long {
            // Longer than what is kept whole, in keys and elsewhere.
            text = text.replace("(8, max 60)", "(8)");
            rng.lengthen_by(150);
        }
        // Where keys are cut, their order is not that of their values, and numbers are given in order.
        let small = seed.is_multiple_of(2) && !long;
        let made = || {
            if small {
                Case::small(&text, 2.0 + seed as f64 / 4.0)
            } else {
                Case::new(&text)
            }
        };
        let mut case = made();
        split += case.db().schema().design.splits.len();
        let model = case.db().model().clone();
        let (facts, _) = generate::facts(&mut rng, &model, 12);
        let other = made();
        let all = facts
            .rows
            .iter()
            .flat_map(|(&e, rows)| rows.values().map(move |row| (e, row.clone())));
        other.db().put_all(all.collect()).unwrap();
        let mut sources = Vec::new();
        for (&root, rows) in &facts.rows {
            for entity in model.type_members(root) {
                let of: Vec<&Vec<Value>> = rows
                    .values()
                    .filter(|row| concrete(&model, root, row) == entity)
                    .collect();
                if of.is_empty() {
                    continue;
                }
                let name = &model.entity(entity).name;
                let mut out = String::new();
                for row in &of {
                    let fields = cells(&model, entity, row).into_iter();
                    let json: serde_json::Map<String, serde_json::Value> = fields
                        .map(|(name, ty, value)| {
                            let json = to_json(&model, &ty, value);
                            (name, json)
                        })
                        .collect();
                    out.push_str(&serde_json::Value::Object(json).to_string());
                    out.push('\n');
                }
                let path = case.file(&format!("{name}.jsonl"), &out);
                sources.push((name.clone(), path));
            }
        }
        sources.reverse();
        let named: Vec<(&str, PathBuf)> = sources
            .iter()
            .map(|(n, p)| (n.as_str(), p.clone()))
            .collect();
        let options = LoadOptions {
            memory: 100_000,
            ..LoadOptions::default()
        };
        let report = case.load(&named, &options);
        assert!(report.applied, "seed {seed}: {:?}\n{text}", report.rejects);
        let names = case.db().schema().structure_names();
        let stored = content(case.db()).into_iter().zip(content(other.db()));
        for (name, (loaded, put)) in names.iter().zip(stored) {
            let differs = loaded.iter().zip(&put).find(|(l, p)| l != p);
            assert!(
                differs.is_none() && loaded.len() == put.len(),
                "seed {seed}, {name}: {differs:?}\n{text}"
            );
        }
    }
    assert!(split > 0, "no design splits popular keys");
}

/// Rows of a load take the first sub-partition with room, behind those that are there.
#[test]
fn popular_keys_are_split_by_a_load() {
    let model = "
model popular
entity User (10M) { id int key }
entity Post (20M) { id int key  score int  author -> User as posts (avg 2, max 500) }
question best (100/s) select id, score from Post where author.id = $user order by score desc limit 50
change write (1/s) insert Post
";
    let mut options = Options {
        target: target::named("cassandra").unwrap(),
        ..Options::embedded()
    };
    options.target.limits.partition_rows = Some(32.0);
    let mut case = Case::designed(model, &options);
    assert_eq!(case.db().schema().design.splits[0].capacity, 16);
    let users = case.file("u.csv", "id\n1\n2\n");
    case.load(&[("User", users)], &LoadOptions::default());
    // One row of each is there already.
    for (id, user) in [(100, 1), (101, 2)] {
        let params = serde_json::json!({ "id": id, "score": 0, "author": user });
        case.db().change("write", params).unwrap();
    }
    let rows = (1..=40).map(|id| format!("{id},{id},1\n"));
    let rows: String = rows.chain(["200,5,2\n".to_owned()]).collect();
    let posts = case.file("p.csv", &format!("id,score,author\n{rows}"));
    case.load(&[("Post", posts)], &LoadOptions::default());
    let full = [(1, 0, 16), (1, 1, 16), (1, 2, 9), (2, 0, 2)];
    assert_eq!(held(case.db()), full);
    // A row leaves the first sub-partition, and another takes its place there.
    let options = LoadOptions {
        replace: true,
        ..LoadOptions::default()
    };
    let moved = case.file("m.csv", "id,score,author\n1,50,2\n41,41,1\n");
    case.load(&[("Post", moved)], &options);
    let full = [(1, 0, 16), (1, 1, 16), (1, 2, 9), (2, 0, 3)];
    assert_eq!(held(case.db()), full);
    case.reopen();
    let best = case.db().ask("best", serde_json::json!({ "user": 1 }));
    let best: Vec<i64> = best
        .unwrap()
        .json()
        .iter()
        .map(|r| r["score"].as_i64().unwrap())
        .collect();
    let scores: Vec<i64> = (2..=41).rev().chain([0]).collect();
    assert_eq!(best, scores);
}

/// User, number and rows of each sub-partition, from the table of totals.
fn held(database: &Database<Lmdb>) -> Vec<(i64, i64, i64)> {
    let schema = database.schema();
    let &id = schema.access.totals.values().next().unwrap();
    let layout = &schema.layouts[usize::from(id)];
    let int = |v: &Value| match v {
        Value::Int(n) => *n,
        other => panic!("{other:?}"),
    };
    let rows = content(database).swap_remove(usize::from(id)).into_iter();
    rows.map(|(key, row)| {
        let key = layout.decode_key(&key, &row).unwrap();
        let count = layout.decode_row(&row).unwrap();
        (int(&key[0]), int(&key[1]), int(count.last().unwrap()))
    })
    .collect()
}
