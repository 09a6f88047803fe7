//! Verify finds what a test breaks, and nothing else; repair mends it, and destroys nothing.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent::compiler::design::{Options, StructureId, target};
use querent::compiler::value::Value;
use querent::compiler::view::Kind;
use querent::schema::Schema;
use querent::store::memory::Memory;
use querent::store::{Phase, Store, StoreError, WriteSet};
use querent::verify::{FindingKind, Report, VerifyOptions};
use querent::{Database, ManualClock, schema_of};
use querent_testkit::generate::{self, Rng, Size};
use std::sync::Arc;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn database(
    text: &str,
    options: &Options,
    facts: impl FnOnce(&Schema) -> Vec<(querent::compiler::model::EntityId, Vec<Value>)>,
) -> Database<Memory> {
    let schema = Arc::new(schema_of("test.querent", text, options).unwrap());
    let store = Memory::new(schema.structure_names().len());
    let database = Database::with_store(Arc::clone(&schema), store)
        .with_clock(Arc::new(ManualClock::at(1_700_000_000_000)));
    database.put_all(facts(&schema)).unwrap();
    database
}

fn random(seed: u64, rows: usize) -> Database<Memory> {
    let mut rng = Rng::new(seed);
    // Small models and any design: what is tested here is verify, not the search for the cheapest.
    let mut text = generate::timed_model(
        &mut rng,
        Size {
            entities: 3,
            questions: 2,
            changes: 1,
            wide: true,
        },
    );
    if seed.is_multiple_of(3) {
        // Texts without a bound, some longer than what keys hold whole.
        text = text.replace("(8, max 60)", "(8)");
        rng.lengthen_by(150);
    }
    let mut options = Options {
        sample: Some(seed),
        ..Options::embedded()
    };
    if seed.is_multiple_of(4) {
        // Partitions so small that popular keys are split.
        options.target = target::named("cassandra").unwrap();
        options.target.limits.partition_rows = Some(2.0 + (seed % 7) as f64);
    }
    database(&text, &options, |schema| {
        let (facts, _) = generate::facts(&mut rng, &schema.model, rows);
        facts
            .rows
            .iter()
            .flat_map(|(&e, rows)| rows.values().map(move |row| (e, row.clone())))
            .collect()
    })
}

fn content(database: &Database<Memory>) -> Vec<Rows> {
    (0..database.schema().structure_names().len())
        .map(|id| database.store().rows(id as StructureId))
        .collect()
}

fn write(database: &Database<Memory>, id: StructureId, key: &[u8], row: Option<&[u8]>) {
    let (key, row) = (key.to_vec(), row.map(<[u8]>::to_vec));
    let job = move |_: &_| -> Result<_, StoreError> {
        let mut writes = WriteSet::new();
        match &row {
            Some(row) => writes.put(Phase::Copies, id, key.clone(), row.clone()),
            None => writes.delete(Phase::Copies, id, key.clone()),
        }
        Ok((writes, ()))
    };
    database.store().change(job).unwrap();
}

fn verify(database: &Database<Memory>) -> Report {
    // Little memory, so that sorting goes to disk now and then.
    database
        .verify(&VerifyOptions {
            memory: 20_000,
            ..VerifyOptions::default()
        })
        .unwrap()
}

fn is_home(schema: &Schema, id: StructureId) -> bool {
    schema
        .access
        .homes
        .values()
        .any(|homes| homes.contains(&id))
}

/// The seeds of one run; `QUERENT_SEED` and `QUERENT_SEEDS` choose others.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(default)
    };
    let from = number("QUERENT_SEED", 1);
    from..from + number("QUERENT_SEEDS", 30)
}

#[test]
fn random_databases_are_clean() {
    for seed in seeds() {
        let report = verify(&random(seed, 12));
        assert!(report.is_clean(), "seed {seed}: {}", report.findings[0]);
    }
}

/// The kinds of damage that a test does to one row.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Missing,
    Stale,
    Ghost,
    Bytes,
    Key,
    /// The value that a row keeps of its key is another one.
    Kept,
}

#[test]
fn every_kind_of_damage_is_found_and_mended() {
    let (mut done, mut kept) = (0, 0);
    for seed in seeds() {
        let database = random(seed, 10);
        let schema = Arc::clone(database.schema());
        let before = content(&database);
        let mut rng = Rng::new(seed + 1000);
        for id in 0..schema.design.structures.len() {
            let rows = &before[id];
            if is_home(&schema, id as StructureId) || rows.is_empty() {
                continue;
            }
            let layout = &schema.layouts[id];
            let (key, row) = rng.pick(rows).unwrap().clone();
            for harm in [
                Harm::Missing,
                Harm::Stale,
                Harm::Ghost,
                Harm::Bytes,
                Harm::Key,
                Harm::Kept,
            ] {
                let kind = match harm {
                    Harm::Missing => {
                        write(&database, id as StructureId, &key, None);
                        FindingKind::Missing
                    }
                    Harm::Stale => {
                        let mut columns = layout.decode_row(&row).unwrap();
                        let Some(last) = columns.last_mut() else {
                            continue;
                        };
                        // In a group this is the count.
                        *last = match last {
                            Value::Int(n) => Value::Int(*n + 1),
                            _ => Value::Int(4711),
                        };
                        let parts = layout.decode_key(&key, &row).unwrap();
                        let stale = layout.encode_row(&parts, &columns);
                        if stale == row {
                            continue;
                        }
                        write(&database, id as StructureId, &key, Some(&stale));
                        FindingKind::Stale
                    }
                    Harm::Ghost => {
                        let mut parts = layout.decode_key(&key, &row).unwrap();
                        let Some(Value::Int(n)) =
                            parts.iter_mut().find(|p| matches!(p, Value::Int(_)))
                        else {
                            continue;
                        };
                        *n = 7_654_321;
                        let ghost = layout.encode_key(&parts).unwrap();
                        write(&database, id as StructureId, &ghost, Some(&row));
                        FindingKind::Ghost
                    }
                    Harm::Bytes => {
                        write(&database, id as StructureId, &key, Some(&[0xff, 3, 7]));
                        FindingKind::Damaged
                    }
                    Harm::Key => {
                        let mut longer = key.clone();
                        longer.extend([0, 0, 0, 1, 2, 3, 0xff, 0xff]);
                        if layout.decode_key(&longer, &row).is_ok() {
                            continue;
                        }
                        write(&database, id as StructureId, &longer, Some(&row));
                        FindingKind::Damaged
                    }
                    Harm::Kept => {
                        let mut parts = layout.decode_key(&key, &row).unwrap();
                        for part in &mut parts {
                            if let Value::Text(text) = part {
                                text.push('!');
                            }
                        }
                        let columns = layout.decode_row(&row).unwrap();
                        let other = layout.encode_row(&parts, &columns);
                        if layout.decode_key(&key, &other).is_ok() {
                            continue;
                        }
                        write(&database, id as StructureId, &key, Some(&other));
                        kept += 1;
                        FindingKind::Damaged
                    }
                };
                let name = &schema.design.structures[id].name;
                let report = verify(&database);
                assert_eq!(
                    report.total(),
                    1,
                    "seed {seed} {name} {harm:?}: {:?}",
                    report.findings
                );
                let finding = &report.findings[0];
                assert_eq!(
                    (&finding.structure, finding.kind),
                    (name, kind),
                    "seed {seed} {harm:?}: {finding}"
                );
                if matches!(harm, Harm::Stale) {
                    assert!(!finding.columns.is_empty(), "{finding}");
                }
                if schema.design.structures[id].kind == Kind::Lists && !matches!(harm, Harm::Key) {
                    assert!(finding.instance.is_some(), "{finding}");
                }
                let repaired = database
                    .repair(&VerifyOptions::default(), &mut |_| {})
                    .unwrap();
                assert_eq!(
                    repaired.put + repaired.deleted,
                    1,
                    "seed {seed} {name} {harm:?}"
                );
                assert!(repaired.after.is_clean(), "{:?}", repaired.after.findings);
                assert!(content(&database) == before, "seed {seed} {name} {harm:?}");
                done += 1;
            }
        }
    }
    assert!(done > 30 && kept > 0, "{done} {kept}");
}

#[test]
fn what_depends_on_a_damaged_home_is_left_alone() {
    let mut done = 0;
    for seed in seeds() {
        let database = random(seed, 8);
        let schema = Arc::clone(database.schema());
        let before = content(&database);
        let mut rng = Rng::new(seed + 2000);
        for (&root, homes) in &schema.access.homes {
            for &home in homes {
                let Some((key, row)) = rng.pick(&before[usize::from(home)]).cloned() else {
                    continue;
                };
                write(&database, home, &key, Some(&[0x10]));
                let report = verify(&database);
                let holds = homes.first() == Some(&home)
                    || schema
                        .access
                        .slots
                        .iter()
                        .any(|((e, _), path)| *e == root && path.structure == home);
                if report.is_clean() {
                    // A row without columns may be of one byte.
                    assert_eq!(row, [0x10]);
                } else if holds {
                    let name = &schema.design.structures[usize::from(home)].name;
                    assert!(
                        report.findings.iter().any(|f| f.structure == *name
                            && f.kind == FindingKind::Damaged
                            && f.advice.is_some()),
                        "seed {seed} {name}: {:?}",
                        report.findings
                    );
                }
                database
                    .repair(&VerifyOptions::default(), &mut |_| {})
                    .unwrap();
                write(&database, home, &key, Some(&row));
                let report = verify(&database);
                assert!(report.is_clean(), "seed {seed}: {}", report.findings[0]);
                assert!(content(&database) == before, "seed {seed}");
                done += 1;
            }
        }
    }
    assert!(done > 30, "{done}");
}

const BLOG: &str = "
model blog
entity User (1k) { id bigint key
  email text(20, max 40) unique
  name text(10) }
entity Post (10k) { id bigint key sequence
  title text(20)
  author -> User as posts (avg 10) }
question posts_of (100/s) select title, author.name from Post where author.id = $user order by id
question by_email (10/s) select name from User where email = $email
question how_many (50/s) select count(*) from Post group by author.name
change write (10/s) insert Post
change join (1/s) insert User
";

fn blog() -> Database<Memory> {
    database(BLOG, &Options::embedded(), |schema| {
        let (user, post) = (
            schema.model.entity_named("User").unwrap(),
            schema.model.entity_named("Post").unwrap(),
        );
        let text = |t: &str| Value::Text(t.into());
        let mut rows = vec![
            (user, vec![Value::Int(1), text("a@x"), text("Ann")]),
            (user, vec![Value::Int(2), text("b@x"), text("Bob")]),
        ];
        for n in 1..6 {
            rows.push((
                post,
                vec![
                    Value::Int(n),
                    text("t"),
                    Value::Key(vec![Value::Int(1 + n % 2)]),
                ],
            ));
        }
        rows
    })
}

fn home(database: &Database<Memory>, entity: &str) -> StructureId {
    database.schema().access.homes[&database.entity(entity).unwrap()][0]
}

#[test]
fn facts_against_the_model_are_named() {
    let database = blog();
    assert!(
        verify(&database).is_clean(),
        "{:?}",
        verify(&database).findings
    );
    let id = home(&database, "User");
    let layout = &database.schema().layouts[usize::from(id)];
    let rows = database.store().rows(id);
    // The second user takes the first one's address.
    let mut columns = layout.decode_row(&rows[1].1).unwrap();
    let other = layout.decode_row(&rows[0].1).unwrap();
    let at = columns
        .iter()
        .position(|c| *c == Value::Text("b@x".into()))
        .unwrap();
    columns[at] = other[at].clone();
    write(
        &database,
        id,
        &rows[1].0,
        Some(&layout.encode_row(&[], &columns)),
    );
    let report = verify(&database);
    let shared = report
        .findings
        .iter()
        .find(|f| f.kind == FindingKind::Shared)
        .unwrap();
    assert_eq!(
        shared.to_string(),
        "User: shared of User 2: email 'a@x' is also that of User 1, and is declared unique; change one of them"
    );
    write(&database, id, &rows[1].0, Some(&rows[1].1));
    // The first user goes, and leaves posts behind.
    write(&database, id, &rows[0].0, None);
    let report = verify(&database);
    let dangling: Vec<String> = report
        .findings
        .iter()
        .filter(|f| f.kind == FindingKind::Dangling)
        .map(ToString::to_string)
        .collect();
    assert_eq!(dangling.len(), 2, "{dangling:?}");
    assert!(
        dangling[0]
            .contains("author leads to User 1, which does not exist; insert what it refers to"),
        "{}",
        dangling[0]
    );
}

/// What an earlier version let pass: an attribute of a reference that leads nowhere, and a link
/// without what it must have.
#[test]
fn attributes_without_their_reference_are_named() {
    const PETS: &str = "model pets
        entity User (10) { id int key }
        entity Pet (10) { id int key  owner -> User? as pets (avg 1) { since int } }
        question pet (1/s) select owner.id as owner, owner@since as since from Pet where id = $id
        change adopt (1/s) insert Pet";
    let owner = Value::Key(vec![Value::Int(1)]);
    let database = database(PETS, &Options::embedded(), |schema| {
        let (user, pet) = (
            schema.model.entity_named("User").unwrap(),
            schema.model.entity_named("Pet").unwrap(),
        );
        let owned = vec![Value::Int(1), owner, Value::Int(77)];
        let stray = vec![Value::Int(2), Value::Null, Value::Null];
        vec![(user, vec![Value::Int(1)]), (pet, owned), (pet, stray)]
    });
    let id = home(&database, "Pet");
    let layout = &database.schema().layouts[usize::from(id)];
    let rows = database.store().rows(id);
    let mut columns = layout.decode_row(&rows[0].1).unwrap();
    let at = columns.iter().position(|c| *c == Value::Int(77)).unwrap();
    columns[at] = Value::Null;
    let bare = layout.encode_row(&[], &columns);
    write(&database, id, &rows[0].0, Some(&bare));
    let mut columns = layout.decode_row(&rows[1].1).unwrap();
    columns[at] = Value::Int(5);
    let loose = layout.encode_row(&[], &columns);
    write(&database, id, &rows[1].0, Some(&loose));
    let report = verify(&database);
    let invalid = report.findings.iter();
    let invalid = invalid.filter(|f| f.kind == FindingKind::Invalid);
    let told: Vec<String> = invalid.map(|f| f.note.clone().unwrap()).collect();
    assert_eq!(
        told,
        [
            "owner@since: found null, expected a value, because owner leads somewhere",
            "owner@since: found a value, expected null, because owner leads nowhere",
        ]
    );
}

#[test]
fn a_sequence_that_is_behind_is_named_and_mended() {
    let database = blog();
    let id = database.schema().sequences();
    let rows = database.store().rows(id);
    assert_eq!(rows.len(), 1);
    write(&database, id, &rows[0].0, None);
    let report = verify(&database);
    assert_eq!(
        report.findings[0].to_string(),
        "_sequences: sequence (Post.id): found 0, expected at least 5, which was given"
    );
    let repaired = database
        .repair(&VerifyOptions::default(), &mut |_| {})
        .unwrap();
    assert!(repaired.after.is_clean());
    assert!(database.store().rows(id) == rows);
    write(&database, id, &rows[0].0, Some(&[9, 9]));
    assert_eq!(verify(&database).total(), 1);
    assert!(
        database
            .repair(&VerifyOptions::default(), &mut |_| {})
            .unwrap()
            .after
            .is_clean()
    );
    assert!(database.store().rows(id) == rows);
}

#[test]
fn damage_that_is_everywhere_is_mended_in_batches() {
    let database = random(3, 40);
    let before = content(&database);
    let schema = Arc::clone(database.schema());
    for (id, rows) in before
        .iter()
        .enumerate()
        .take(schema.design.structures.len())
    {
        if !is_home(&schema, id as StructureId) {
            for (key, _) in rows {
                write(&database, id as StructureId, key, None);
            }
        }
    }
    let options = VerifyOptions {
        keep: 2,
        ..VerifyOptions::default()
    };
    let repaired = database.repair(&options, &mut |_| {}).unwrap();
    assert_eq!(repaired.put, repaired.before.total());
    assert!(repaired.before.findings.len() <= 2);
    assert!(repaired.after.is_clean());
    assert!(content(&database) == before);
}

/// Rows for each element of a collection are groups, and their key names the instance all the same.
#[test]
fn the_instance_of_an_unfolded_row_is_named() {
    let text = "
entity Post (1k) {
  id    int  key
  tags  set<text(8, max 60)> (avg 3, max 20)
}
question tagged (100/s) select id from Post where tags has $tag order by id
change add (1/s) insert Post
";
    let database = database(text, &Options::embedded(), |schema| {
        let post = schema.model.entity_named("Post").unwrap();
        let tags = Value::Set(vec![Value::Text("a".into()), Value::Text("b".into())]);
        vec![(post, vec![Value::Int(1), tags])]
    });
    let schema = database.schema();
    let unfolded = |s: &querent::compiler::view::Structure| !s.over.is_empty();
    let id = schema.design.structures.iter().position(unfolded).unwrap();
    let (key, row) = content(&database)[id][0].clone();
    let layout = &schema.layouts[id];
    let mut parts = layout.decode_key(&key, &row).unwrap();
    for part in &mut parts {
        if let Value::Text(tag) = part {
            *tag = "tagAAA".into();
        }
    }
    let ghost = layout.encode_key(&parts).unwrap();
    write(&database, id as StructureId, &ghost, Some(&row));
    let report = verify(&database);
    assert_eq!(report.total(), 1, "{:?}", report.findings);
    let told = report.findings[0].to_string();
    assert!(
        told.ends_with("ghost (tags 'tagAAA', id 1) of Post 1"),
        "{told}"
    );
}
