//! A write plan says what a change will read and write: what it then writes, structure by structure,
//! is that, and so are the gets that it makes.

#![allow(clippy::unwrap_used)]

use querent::Database;
use querent::compiler::design::{Purpose, WriteStep};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MODEL: &str = "
enum Status { open, paid, done }
entity Tenant (10) { id bigint key  name text(20) }
entity Order (1000) {
  id      bigint     key
  tenant  -> Tenant  as orders (avg 100, max 500)
  status  Status
  at      timestamp
  total   bigint
}
entity Tag (5000) {
  order  -> Order  as tags (avg 5, max 50)  key
  word   text(10)  key
}
question waiting   (500/s) select id, at, total from Order where tenant.id = $t and status = $s order by at limit 20
question how_many  (900/s) select count(*) as n from Order where tenant.id = $t and status = $s
question revenue   (900/s) select sum(total) as s from Order where tenant.id = $t
question tagged    (900/s) select id, total from Order where tags.word = $w order by at desc limit 5
change place   (20/s)  insert Order
change tag     (20/s)  insert Tag
change untag   (20/s)  delete Tag where order.id = $order and word = $word
change pay     (20/s)  update Order set status where id = $id
change correct (20/s)  update Order set total where id = $id
change cancel  (2/s)   delete Order where id = $id
change charge  (20/s)  { insert Tag { order = $order, word = $word }  update Order set total = $total where id = $order }
change settle  (20/s)  { update Order set status = paid where id = $id  update Order set total = 0 where id = $id and status = $before }
change label   (20/s)  for each $w in $words { insert Tag { order = $order, word = $w } }
";

/// What the plan of a change writes to each structure: puts and deletes, on average.
fn planned(db: &Database, change: &str) -> BTreeMap<String, (usize, usize)> {
    let mut out: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let plans = &db.schema().design.writes;
    let plan = plans.iter().find(|w| w.name == change).unwrap();
    for step in &plan.steps {
        assert!(step.rows_max >= step.rows, "{step:?}");
        let written = out.entry(step.structure.clone());
        match step.op.as_str() {
            "put" => written.or_default().0 += step.rows.round() as usize,
            "delete" => written.or_default().1 += step.rows.round() as usize,
            _ => {}
        }
    }
    out
}

/// A database with a tenant, and orders and tags.
fn filled(folder: &std::path::Path) -> Database {
    let db = Database::create(folder.join("db"), "m", MODEL).unwrap();
    let tenant = db.entity("Tenant").unwrap();
    let name = querent::compiler::value::Value::Text("Ann".into());
    db.put(
        tenant,
        vec![vec![querent::compiler::value::Value::Int(1), name]],
    )
    .unwrap();
    for id in 1..=6 {
        let status = if id % 2 == 0 { "open" } else { "paid" };
        db.change("place", order(id, status)).unwrap();
        for word in ["a", "b", "c"] {
            db.change("tag", json!({ "order": id, "word": word }))
                .unwrap();
        }
    }
    db
}

fn order(id: i64, status: &str) -> Value {
    json!({ "id": id, "tenant": 1, "status": status, "total": 10,
            "at": format!("2026-01-{:02}T00:00:00Z", id) })
}

#[test]
fn a_change_writes_what_its_plan_says() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(folder.path());
    let cases: [(&str, Value); 5] = [
        ("place", order(9, "open")),
        ("tag", json!({ "order": 3, "word": "d" })),
        ("untag", json!({ "order": 3, "word": "b" })),
        ("pay", json!({ "id": 2, "status": "paid" })),
        ("correct", json!({ "id": 4, "total": 7 })),
    ];
    let mut moved = false;
    for (change, parameters) in cases {
        let receipt = db.change(change, parameters).unwrap();
        assert_eq!(planned(&db, change), receipt.written, "{change}");
        moved |= receipt.written.values().any(|written| *written == (2, 0));
    }
    assert!(moved, "no group was left for another");
}

/// What is read of one instance by its key is one get, whoever needs it: the find, the check, old
/// values, and other statements of the change. It is paid and listed once.
#[test]
fn a_change_reads_what_its_plan_says() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(folder.path());
    // As many as are assumed of a list.
    let words = ["q", "r", "s", "t", "u", "v", "w", "x", "y", "z"];
    let cases: [(&str, Value); 8] = [
        ("place", order(9, "open")),
        ("tag", json!({ "order": 3, "word": "d" })),
        ("untag", json!({ "order": 3, "word": "b" })),
        ("pay", json!({ "id": 2, "status": "paid" })),
        ("correct", json!({ "id": 4, "total": 7 })),
        ("charge", json!({ "order": 4, "word": "e", "total": 8 })),
        ("settle", json!({ "id": 6, "before": "paid" })),
        ("label", json!({ "order": 5, "words": words })),
    ];
    for (change, parameters) in cases {
        let plans = &db.schema().design.writes;
        let plan = plans.iter().find(|w| w.name == change).unwrap();
        let reads: f64 = plan.steps.iter().map(|step| step.reads).sum();
        let receipt = db.change(change, parameters).unwrap();
        assert_eq!(
            reads.round() as u64,
            receipt.reads,
            "{change}: {:#?}",
            plan.steps
        );
        let of_order = |step: &&WriteStep| step.purpose == Purpose::Values("Order".into());
        let listed = plan.steps.iter().filter(of_order).count();
        assert!(listed <= 1, "{change}: {:#?}", plan.steps);
        assert!(plan.steps.iter().all(|step| step.op != "find"), "{change}");
    }
}

/// Numbers that are left out go on behind all that are given with them, and the receipt says which.
#[test]
fn a_put_says_which_numbers_it_gave() {
    use querent::compiler::value::Value;
    let model = "
        entity Ticket (100) { id bigint sequence key  serial int sequence  title text(9) }
        question tickets (1/s) select id, serial, title from Ticket order by id
        change open (1/s) insert Ticket";
    let folder = tempfile::tempdir().unwrap();
    let db = Database::create(folder.path().join("db"), "m", model).unwrap();
    let ticket = db.entity("Ticket").unwrap();
    let row = |id: Option<i64>, serial: Option<i64>| {
        let number = |n: Option<i64>| n.map_or(Value::Null, Value::Int);
        vec![number(id), number(serial), Value::Text("t".into())]
    };
    let put = |rows: Vec<Vec<Value>>| {
        let receipt = db.put(ticket, rows).unwrap();
        let numbers = receipt.assigned.iter();
        let numbers: Vec<String> = numbers
            .map(|(name, value)| match value {
                Value::Int(n) => format!("{name} {n}"),
                other => panic!("{other:?}"),
            })
            .collect();
        ((receipt.inserted, receipt.updated), numbers.join(", "))
    };
    let first = put(vec![
        row(None, None),
        row(Some(4), None),
        row(None, Some(9)),
    ]);
    assert_eq!(first, ((3, 0), "id 5, serial 10, serial 11, id 6".into()));
    // With its key given, it replaces as ever.
    assert_eq!(put(vec![row(Some(4), Some(2))]), ((0, 1), String::new()));
    assert_eq!(
        put(vec![row(None, None)]),
        ((1, 0), "id 7, serial 12".into())
    );
    let opened = db.change("open", json!({ "title": "t" })).unwrap();
    assert_eq!(opened.assigned[0], ("id".into(), Value::Int(8)));
    // What is refused takes no number.
    let last = db.put(ticket, vec![row(None, Some(i64::from(i32::MAX)))]);
    assert_eq!(last.unwrap().assigned, [("id".into(), Value::Int(9))]);
    let out = db.put(ticket, vec![row(None, None)]);
    assert!(matches!(out, Err(querent::Error::Change(_))), "{out:?}");
    assert_eq!(put(vec![row(None, Some(1))]), ((1, 0), "id 10".into()));
}
