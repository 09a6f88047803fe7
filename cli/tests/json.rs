//! What commands print for programs: one object on standard output, whatever is told beside it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod place;

use place::{MODEL, Place, keys};
use serde_json::json;

#[test]
fn create_names_what_it_created() {
    let place = Place::new();
    let line = "create blog.db --model blog.querent --format json";
    let created = place.run(line).expect(0).json();
    let structures = created["structures"].as_u64().unwrap();
    assert!(structures > 0, "{created}");
    assert_eq!(
        created,
        json!({
            "database": "blog.db",
            "model": "blog",
            "target": "embedded",
            "mix": null,
            "schema": null,
            "structures": structures,
        })
    );
    // Failures and findings of a model are no output.
    let again = place.run(line).expect(2);
    assert!(again.out.is_empty(), "{}", again.out);
    std::fs::write(place.path().join("bad.querent"), "entity X {").unwrap();
    let bad = "create bad.db --model bad.querent --format json";
    let bad = place.run(bad).expect(1);
    assert!(bad.out.is_empty() && bad.err.contains("bad.querent:1"));
}

#[test]
fn load_counts_rows_of_each_file() {
    let place = Place::new();
    place.run("create blog.db --model blog.querent").expect(0);
    let file = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    file("author.csv", "name,id\nAnn,1\nBen,2\nAnn,3\nEva,x\n");
    file(
        "post.jsonl",
        "{\"id\": 1, \"title\": \"a\", \"at\": \"2026-01-01T00:00:00Z\", \"author\": 1}\n",
    );
    let all = "load blog.db Post=post.jsonl Author=author.csv --format json";
    let ran = place.run(all).expect(1);
    // What is wrong is told to people as ever.
    assert!(ran.err.contains("author.csv:5"), "{}", ran.err);
    let mut none = ran.json();
    assert!(none["seconds"].take().as_f64().unwrap() > 0.0);
    let counts = |file: &str, entity: &str, [read, loaded, rejected]: [u64; 3]| {
        json!({
            "file": file,
            "entity": entity,
            "read": read,
            "loaded": loaded,
            "rejected": rejected,
        })
    };
    assert_eq!(
        none,
        json!({
            "database": "blog.db",
            "applied": false,
            "read": 5,
            "loaded": 0,
            "rejected": 2,
            "rejects_file": "blog.db.rejects.csv",
            "files": [
                counts("post.jsonl", "Post", [1, 0, 0]),
                counts("author.csv", "Author", [4, 0, 2]),
            ],
            "seconds": null,
        })
    );
    let some = place.run(&format!("{all} --skip-rejects --rejects r.csv"));
    let some = some.expect(1).json();
    assert_eq!(
        (&some["applied"], &some["loaded"]),
        (&json!(true), &json!(3))
    );
    assert_eq!(some["rejects_file"], "r.csv");
    assert_eq!(some["files"][1], counts("author.csv", "Author", [4, 2, 2]));
    file("more.csv", "name,id\nCem,4\n");
    let clean = place.run("load blog.db Author=more.csv --format json");
    let clean = clean.expect(0).json();
    assert_eq!(
        (&clean["loaded"], &clean["rejects_file"]),
        (&json!(1), &json!(null))
    );
    let failed = place.run("load blog.db Author=none.csv --format json");
    assert!(failed.expect(2).out.is_empty());
}

/// Progress of a load that takes long enough to show some goes elsewhere.
#[test]
fn progress_is_no_part_of_it() {
    let place = Place::new();
    place.run("create blog.db --model blog.querent").expect(0);
    let rows: String = (0..25_000).map(|n| format!("{n},n{n}\n")).collect();
    std::fs::write(place.path().join("a.csv"), format!("id,name\n{rows}")).unwrap();
    let ran = place
        .run("load blog.db Author=a.csv --format json")
        .expect(0);
    assert!(ran.err.contains("reading a.csv"), "{}", ran.err);
    assert_eq!(ran.json()["loaded"], 25_000);
}

#[test]
fn put_prints_one_receipt_for_all_lines() {
    let place = Place::with_database();
    let put = place.run("put blog.db Author id=3 name=Cem --format json");
    let put = put.expect(0).json();
    assert_eq!(
        keys(&put),
        [
            "inserted", "updated", "deleted", "gets", "written", "assigned", "rejected", "refused"
        ]
    );
    assert_eq!((&put["inserted"], &put["updated"]), (&json!(1), &json!(0)));
    assert_eq!(put["written"]["author"], json!({ "put": 1, "deleted": 0 }));
    assert_eq!(
        (&put["rejected"], &put["refused"]),
        (&json!(0), &json!(null))
    );
    let line = "put blog.db Author --stdin --format json";
    let lines = "{\"id\": 3, \"name\": \"Cemal\"}\n{\"id\": 4, \"name\": \"Dan\"}\n";
    let both = place.feed(line, lines).expect(0).json();
    assert_eq!(
        (&both["inserted"], &both["updated"]),
        (&json!(1), &json!(1))
    );
    // What is not put is counted, and told as ever.
    let rejected = place.feed(line, "{\"id\": 5}\n{\"id\": 6, \"name\": 7}\n");
    let rejected = rejected.expect(1);
    assert!(rejected.err.contains("line 2: name"), "{}", rejected.err);
    let rejected = rejected.json();
    assert_eq!(
        (&rejected["inserted"], &rejected["rejected"]),
        (&json!(0), &json!(2))
    );
    let refused = place.run("put blog.db Author id=5 name=Ann --format json");
    let refused = refused.expect(1);
    assert!(refused.err.starts_with("refused: Author 5"));
    let why = refused.json()["refused"].as_str().unwrap().to_owned();
    assert!(why.contains("which 1 has already"), "{why}");
    // What was put before a batch that is refused is in the receipt.
    let mut lines: String = (10..1010)
        .map(|n| format!("{{\"id\": {n}, \"name\": \"n{n}\"}}\n"))
        .collect();
    lines.push_str("{\"id\": 5, \"name\": \"Ann\"}\n");
    let half = place.feed(line, lines).expect(1).json();
    assert_eq!(half["inserted"], 1000);
    assert!(half["refused"].is_string());
    let failed = place.run("put blog.db Auhtor id=5 name=Ann --format json");
    assert!(failed.expect(2).out.is_empty());
}

#[test]
fn fmt_says_of_each_file_whether_it_changed() {
    let place = Place::new();
    let untidy = MODEL.replace("  title   text(60)", "title text(60)");
    std::fs::write(place.path().join("blog.querent"), &untidy).unwrap();
    let object = |file: &str, changed: bool| json!({ "file": file, "changed": changed, "findings": [], "text": null });
    let check = place.run("fmt --check blog.querent --format json");
    assert_eq!(
        check.expect(1).json(),
        json!({ "files": [object("blog.querent", true)] })
    );
    let fmt = "fmt blog.querent --format json";
    let first = place.run(fmt).expect(0).json();
    assert_eq!(first, json!({ "files": [object("blog.querent", true)] }));
    let again = place.run(fmt).expect(0).json();
    assert_eq!(again, json!({ "files": [object("blog.querent", false)] }));
    // From standard input there is no other place for the text.
    let piped = place.feed("fmt - --format json", &untidy).expect(0).json();
    let formed = std::fs::read_to_string(place.path().join("blog.querent")).unwrap();
    assert_eq!(piped["files"][0]["text"], formed);
    std::fs::write(place.path().join("bad.querent"), "entity X {").unwrap();
    let bad = place.run("fmt bad.querent --format json").expect(1).json();
    let bad = &bad["files"][0];
    assert_eq!(bad["changed"], false);
    assert!(bad["findings"][0]["code"].is_string(), "{bad}");
}

#[test]
fn refresh_counts() {
    let place = Place::with_database();
    let refreshed = place.run("refresh blog.db --format json").expect(0).json();
    assert_eq!(refreshed, json!({ "removed": 0 }));
}

/// Numbers that were left out are in the receipt, of arguments and of lines.
#[test]
fn put_tells_the_numbers_it_assigned() {
    let place = Place::new();
    let model = "entity Ticket (100) { id int sequence key  title text(9) }\n\
                 question tickets (1/s) select id, title from Ticket order by id\n";
    std::fs::write(place.path().join("t.querent"), model).unwrap();
    place.run("create t.db --model t.querent").expect(0);
    let one = place.run("put t.db Ticket title=a").expect(0);
    assert!(one.out.starts_with("1 inserted"), "{}", one.out);
    assert!(one.out.ends_with("  assigned id = 1\n"), "{}", one.out);
    let line = "put t.db Ticket --stdin --format json";
    let lines = "{\"title\": \"b\"}\n{\"id\": 1, \"title\": \"A\"}\n{\"title\": \"c\"}\n";
    let put = place.feed(line, lines).expect(0).json();
    assert_eq!(put["assigned"], json!([["id", 2], ["id", 3]]));
    assert_eq!((&put["inserted"], &put["updated"]), (&json!(2), &json!(1)));
    let many = "{\"title\": \"d\"}\n".repeat(30);
    let many = place.feed("put t.db Ticket --stdin", many).expect(0);
    assert!(
        many.out
            .ends_with("  assigned id = 23\n  and 10 more numbers\n"),
        "{}",
        many.out
    );
    let rows = place.run("ask t.db tickets --format json").expect(0).json();
    assert_eq!(rows[0], json!({ "id": 1, "title": "A" }));
    assert_eq!(rows.as_array().unwrap().len(), 33);
    place.run("verify t.db").expect(0);
}
