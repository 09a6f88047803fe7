//! Files in, a database out: what is loaded equals what is put one by one.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent::compiler::codec::to_json;
use querent::compiler::design::{Options, StructureId};
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
        let folder = tempfile::tempdir().unwrap();
        // Any design will do: what is tested here is the load, not the search for the cheapest.
        let options = Options {
            sample: Some(7),
            ..Options::embedded()
        };
        let database =
            Database::create_with(folder.path().join("db"), "test.querent", model, &options)
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
    has("users.csv:4: boss: found User 2, which does not exist");
    has("users.csv:7: email is declared unique, and its value is given already at ");
    has("users.csv:8: boss: found User 4, which does not exist");
    assert_eq!(std::fs::read_to_string(rejects).unwrap().lines().count(), 7);
    assert!(content(case.db()).iter().all(Vec::is_empty));
    let report = case.load(&[("User", users)], &skipping());
    assert_eq!((report.loaded, report.applied), (1, true));
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
    for seed in 1..22 {
        let mut rng = Rng::new(seed);
        let text = generate::timed_model(
            &mut rng,
            Size {
                entities: 3,
                questions: 2,
                changes: 1,
            },
        );
        // Of a value of any type JSON keeps what JSON has: a timestamp comes back as text.
        if text.contains(" any") {
            continue;
        }
        let mut case = Case::new(&text);
        let model = case.db().model().clone();
        let (facts, _) = generate::facts(&mut rng, &model, 12);
        let other = Case::new(&text);
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
}
