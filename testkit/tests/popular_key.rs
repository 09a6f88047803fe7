//! Popular keys that are split: that random designs have them at all, that what has left makes room,
//! and that what is damaged is found and mended.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent::compiler::design::{Options, PricedPlan, StructureId, target};
use querent::compiler::value::Value;
use querent::store::memory::Memory;
use querent::store::{Phase, Store, StoreError, WriteSet};
use querent::verify::{FindingKind, VerifyOptions};
use querent::{Database, schema_of};
use querent_testkit::differential::Effort;
use querent_testkit::script::random;
use serde_json::json;
use std::sync::Arc;

/// Random designs with small partitions split popular keys, and read through them: else the
/// differential tests would say nothing about them.
#[test]
fn random_designs_split_popular_keys() {
    let (mut designs, mut split, mut read) = (0, 0, 0);
    let limited = (6..=150).step_by(6).map(|seed| (seed, Effort::default()));
    let pieces = (1..=40).map(|seed| (seed, Effort::pieces()));
    for (seed, effort) in limited.chain(pieces) {
        let script = random(seed, effort).unwrap();
        let ready = script.ready().unwrap();
        let design = &ready.schema.design;
        designs += 1;
        split += usize::from(!design.splits.is_empty());
        let listed = |p: &&PricedPlan| {
            let steps = design.plan_steps(&ready.schema.model, &p.plan);
            steps.iter().any(|s| s.to_string().contains("\"list\""))
        };
        read += design.plans.iter().filter(listed).count();
    }
    assert!(split >= 5 && read >= 5, "{designs}, {split}, {read}");
}

const POPULAR: &str = "
model popular
entity User (10M) { id int key }
entity Post (20M) { id int key  score int  author -> User as posts (avg 2, max 500) }
question best (100/s) select id, score from Post where author.id = $user order by score desc limit 5
change write (1/s) insert Post
change give (1/s) update Post set author where id = $id
change withdraw (1/s) delete Post where id = $id
";

/// A user of 40 posts, in sub-partitions of 16.
fn popular() -> Database<Memory> {
    let mut options = Options {
        target: target::named("cassandra").unwrap(),
        ..Options::embedded()
    };
    options.target.limits.partition_rows = Some(32.0);
    let schema = Arc::new(schema_of("test.querent", POPULAR, &options).unwrap());
    assert_eq!(schema.design.splits[0].capacity, 16);
    let store = Memory::new(schema.structure_names().len());
    let database = Database::with_store(schema, store);
    let user = database.entity("User").unwrap();
    let users = [1, 2].map(|id| vec![Value::Int(id)]);
    database.put(user, users.to_vec()).unwrap();
    for id in 1..=40 {
        write(&database, id);
    }
    database
}

fn write(database: &Database<Memory>, id: i64) {
    let post = json!({ "id": id, "score": id, "author": 1 });
    database.change("write", post).unwrap();
}

/// User, number and rows of each sub-partition, from the table of totals.
fn held(database: &Database<Memory>) -> Vec<[i64; 3]> {
    let schema = database.schema();
    let &id = schema.access.totals.values().next().unwrap();
    let layout = &schema.layouts[usize::from(id)];
    let int = |v: &Value| match v {
        Value::Int(n) => *n,
        other => panic!("{other:?}"),
    };
    let rows = database.store().rows(id).into_iter();
    rows.map(|(key, row)| {
        let key = layout.decode_key(&key, &row).unwrap();
        let count = layout.decode_row(&row).unwrap();
        [int(&key[0]), int(&key[1]), int(count.last().unwrap())]
    })
    .collect()
}

#[test]
fn what_has_left_makes_room() {
    let database = popular();
    assert_eq!(held(&database), [[1, 0, 16], [1, 1, 16], [1, 2, 8]]);
    for id in [3, 5, 20] {
        database.change("withdraw", json!({ "id": id })).unwrap();
    }
    assert_eq!(held(&database), [[1, 0, 14], [1, 1, 15], [1, 2, 8]]);
    // Given to another, and back: the first with room, wherever it was before.
    database
        .change("give", json!({ "id": 40, "author": 2 }))
        .unwrap();
    let moved = [[1, 0, 14], [1, 1, 15], [1, 2, 7], [2, 0, 1]];
    assert_eq!(held(&database), moved);
    database
        .change("give", json!({ "id": 40, "author": 1 }))
        .unwrap();
    assert_eq!(held(&database), [[1, 0, 15], [1, 1, 15], [1, 2, 7]]);
    (41..=43).for_each(|id| write(&database, id));
    assert_eq!(held(&database), [[1, 0, 16], [1, 1, 16], [1, 2, 8]]);
    // What takes the place of a row in the same key stays where it is.
    let post = database.entity("Post").unwrap();
    let author = Value::Key(vec![Value::Int(1)]);
    let row = vec![Value::Int(39), Value::Int(1000), author];
    database.put(post, vec![row]).unwrap();
    assert_eq!(held(&database), [[1, 0, 16], [1, 1, 16], [1, 2, 8]]);
    let best = database.ask("best", json!({ "user": 1 })).unwrap().json();
    let best: Vec<&serde_json::Value> = best.iter().map(|row| &row["id"]).collect();
    assert_eq!(best, [39, 43, 42, 41, 40]);
    assert!(
        database
            .verify(&VerifyOptions::default())
            .unwrap()
            .is_clean()
    );
}

#[test]
fn a_damaged_split_is_found_and_mended() {
    let database = popular();
    let schema = Arc::clone(database.schema());
    let number = schema.design.splits[0].number();
    let keyed = |id: &usize| schema.design.structures[*id].key().any(|e| *e == number);
    let split: Vec<usize> = (0..schema.design.structures.len()).filter(keyed).collect();
    assert_eq!(split.len(), 2);
    for id in split {
        let before = database.store().rows(id as StructureId);
        let (gone, moved) = (before[0].clone(), before[1].clone());
        let layout = &schema.layouts[id];
        let mut parts = layout.decode_key(&moved.0, &moved.1).unwrap();
        // As if it were in a sub-partition that its home does not say.
        parts[1] = Value::Int(7);
        let columns = layout.decode_row(&moved.1).unwrap();
        let ghost = (
            layout.encode_key(&parts).unwrap(),
            layout.encode_row(&parts, &columns),
        );
        let job = move |_: &_| -> Result<_, StoreError> {
            let mut writes = WriteSet::new();
            writes.delete(Phase::Copies, id as StructureId, gone.0.clone());
            writes.put(
                Phase::Copies,
                id as StructureId,
                ghost.0.clone(),
                ghost.1.clone(),
            );
            Ok((writes, ()))
        };
        database.store().change(job).unwrap();
        let report = database.verify(&VerifyOptions::default()).unwrap();
        let mut kinds: Vec<FindingKind> = report.findings.iter().map(|f| f.kind).collect();
        kinds.sort_by_key(|kind| format!("{kind:?}"));
        assert_eq!(kinds, [FindingKind::Ghost, FindingKind::Missing]);
        database
            .repair(&VerifyOptions::default(), &mut |_| {})
            .unwrap();
        assert_eq!(database.store().rows(id as StructureId), before);
    }
}

/// The number is a fact: where the home has lost it, the copies do not follow the loss.
#[test]
fn a_lost_number_is_named_and_given_again() {
    let database = popular();
    let schema = Arc::clone(database.schema());
    let content = || -> Vec<_> {
        (0..schema.structure_names().len())
            .map(|id| database.store().rows(id as StructureId))
            .collect()
    };
    let before = content();
    let post = database.entity("Post").unwrap();
    let home = schema.access.homes[&post][0];
    let layout = &schema.layouts[usize::from(home)];
    let number = schema.design.splits[0].number();
    let structure = &schema.design.structures[usize::from(home)];
    let column = structure.columns.iter().position(|e| *e == number).unwrap();
    // Of the first sub-partition two, of the second one, whose number is none; a full one stays full.
    for (at, lost) in [(4, Value::Null), (9, Value::Null), (20, Value::Int(-1))] {
        let (key, row) = before[usize::from(home)][at].clone();
        let parts = layout.decode_key(&key, &row).unwrap();
        let mut columns = layout.decode_row(&row).unwrap();
        columns[column] = lost;
        let row = layout.encode_row(&parts, &columns);
        let job = move |_: &_| -> Result<_, StoreError> {
            let mut writes = WriteSet::new();
            writes.put(Phase::Homes, home, key.clone(), row.clone());
            Ok((writes, ()))
        };
        database.store().change(job).unwrap();
    }
    let report = database.verify(&VerifyOptions::default()).unwrap();
    let said: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    let name = &structure.name;
    assert_eq!(
        said,
        [
            format!("{name}: stale (id 5) of Post 5: @split_1: found null, expected 0"),
            format!("{name}: stale (id 10) of Post 10: @split_1: found null, expected 0"),
            format!("{name}: stale (id 21) of Post 21: @split_1: found -1, expected 1"),
        ]
    );
    let repaired = database.repair(&VerifyOptions::default(), &mut |_| {});
    let repaired = repaired.unwrap();
    assert!(repaired.after.is_clean(), "{}", repaired.after.findings[0]);
    assert_eq!(content(), before);
}
