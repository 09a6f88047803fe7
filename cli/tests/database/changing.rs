//! `put`, `change` and `refresh`: receipts and refusals.

use crate::database;
use crate::place::{Place, Ran};

#[test]
fn put_tells_lines_and_leaves_no_half_batch() {
    let place = Place::with_database();
    let pairs = place.run("put blog.db Author id=3 name=Cem").expect(0);
    assert!(
        pairs.out.starts_with("1 inserted; 2 rows written"),
        "{}",
        pairs.out
    );
    let again = place.run("put blog.db Author id=3 name=Cemal").expect(0);
    assert!(again.out.starts_with("1 updated"), "{}", again.out);

    // An argument that makes no sense is a failure, as for `ask` and `change`.
    let unknown = place.run("put blog.db Author id=4 nmae=Dan").expect(2);
    assert!(
        unknown.err.contains("did you mean `name`"),
        "{}",
        unknown.err
    );
    let taken = place.run("put blog.db Author id=4 name=Ann").expect(1);
    assert!(taken.err.contains("which 1 has already"), "{}", taken.err);
    let entity = place.run("put blog.db Auhtor id=4 name=Dan").expect(2);
    assert!(
        entity.err.contains("did you mean `Author`"),
        "{}",
        entity.err
    );
    place.run("put blog.db Author").expect(2);
    let value = place.run("put blog.db Author id=four name=Dan").expect(2);
    assert!(value.err.contains("id: found `four`"), "{}", value.err);
    let printed = place
        .run("put blog.db Author id=four --format json")
        .expect(2);
    assert_eq!(printed.out, "");

    let lines = "{\"id\": 5, \"name\": \"Eva\"}\n\n{\"id\": 6, \"name\": 7}\n{\"id\"\n";
    let rejected = place.feed("put blog.db Author --stdin", lines).expect(1);
    assert!(
        rejected.err.contains("line 3: name: found the number 7"),
        "{}",
        rejected.err
    );
    assert!(
        rejected
            .err
            .contains("line 4: found something that is not JSON"),
        "{}",
        rejected.err
    );
    let dangling = "{\"id\": 9, \"title\": \"x\", \"at\": 0, \"author\": 77}\n";
    let refused = place.feed("put blog.db Post --stdin", dangling).expect(1);
    assert!(
        refused
            .err
            .contains("line 1: Post 9: author refers to Author 77"),
        "{}",
        refused.err
    );
    // Nothing of the batch is there, so the name is still free and the author is not known.
    place.run("put blog.db Author id=7 name=Eva").expect(0);
}

#[test]
fn a_change_gives_a_receipt_or_a_reason() {
    let place = Place::with_database();
    let renamed = place
        .run("change blog.db rename author=1 name=Anna")
        .expect(0)
        .out;
    assert!(
        renamed.starts_with("1 updated; 6 rows written"),
        "{renamed}"
    );
    assert!(
        renamed.contains("post_by_author_id  3 put  0 deleted"),
        "{renamed}"
    );
    let rows = place
        .run("ask blog.db latest_of author=1 --format jsonl")
        .expect(0)
        .out;
    assert!(rows.lines().all(|row| row.contains("Anna")), "{rows}");

    let refused = place.run("change blog.db leave author=1").expect(1);
    assert!(
        refused
            .err
            .starts_with("refused: Author 1 is referred to by Post"),
        "{}",
        refused.err
    );
    let none = place
        .run("change blog.db rename author=99 name=X")
        .expect(0);
    assert!(none.out.starts_with("nothing to change"), "{}", none.out);
    place.run("change blog.db rename author=1").expect(2);
    place.run("change blog.db renam author=1").expect(2);

    let lines = "{\"author\": 1, \"name\": \"A\"}\n{\"author\": 2, \"name\": \"A\"}\n";
    let several = place.feed("change blog.db rename --stdin", lines).expect(1);
    assert!(
        several.out.starts_with("1 change, 1 refused: 1 updated"),
        "{}",
        several.out
    );
    assert!(
        several.err.starts_with("line 2: refused: "),
        "{}",
        several.err
    );
    // What cannot be read is passed over like what is refused, and counted.
    let lines = "{\"author\": 1}\nno json\n{\"author\": 1, \"name\": \"C\"}\n";
    let several = place.feed("change blog.db rename --stdin", lines).expect(1);
    assert!(
        several
            .out
            .starts_with("1 change, 0 refused, 2 rejected: 1 updated"),
        "{}",
        several.out
    );
    assert!(
        several.err.contains("line 1: rejected: "),
        "{}",
        several.err
    );
    assert!(
        several.err.contains("line 2: rejected: "),
        "{}",
        several.err
    );
    let at = "2026-02-01T00:00:00Z";
    let json = place.run(&format!(
        "change blog.db publish id=8 title=q at={at} author=2 --format json"
    ));
    assert_eq!(json.expect(0).json()["inserted"], 1);
}

#[test]
fn what_has_expired_is_removed_by_who_may_write() {
    let place = Place::new();
    let model = "entity Visit (1k) { id int key } expires after 1ms
                 question visits (1/s) select id from Visit order by id
                 change visit (1/s) insert Visit";
    std::fs::write(place.path().join("visits.querent"), model).unwrap();
    place
        .run("create visits.db --model visits.querent")
        .expect(0);
    place.run("change visits.db visit id=1").expect(0);
    // Another process writes, and has nothing to do: who can only read shows what is there.
    let writer = querent::Database::open(place.path().join("visits.db")).unwrap();
    let asked = place.run("ask visits.db visits --format jsonl").expect(0);
    assert_eq!(asked.out, "{\"id\":1}\n");
    assert!(asked.err.contains("have expired"), "{}", asked.err);
    place.run("refresh visits.db").expect(2);
    drop(writer);
    let asked = place.run("ask visits.db visits --format jsonl").expect(0);
    assert_eq!((asked.out.as_str(), asked.err.as_str()), ("", ""));
    let refreshed = place.run("refresh visits.db").expect(0);
    assert_eq!(refreshed.out, "0 instances removed\n");
}

/// A refusal prints values as answers and findings do, whatever their types.
#[test]
fn a_refusal_prints_values_as_answers_do() {
    let place = database(
        "
enum Kind { plain, rare }
entity Event (100) {
  day   date       key
  kind  Kind       key
  open  bool       key
  at    timestamp  unique
  code  blob(8)    unique
  id    uuid       unique
  sum   decimal?   unique
}
entity Seat (100) {
  number  int      key
  of      -> Event as seats (avg 1, max 9)
}
question all (1/s) select * from Event
change add   (1/s) insert Event
change book  (1/s) insert Seat
change drop  (1/s) delete Event where day = $day
",
    );
    let add = |rest: &str| place.run(&format!("change m.db add {rest}"));
    let first =
        "at=2024-01-01T00:00:00Z code=aGk= id=6ba7b810-9dad-11d1-80b4-00c04fd430c8 sum=1.50";
    let other = "at=2024-01-02T00:00:00Z code=aGs= id=6ba7b811-9dad-11d1-80b4-00c04fd430c8 sum=2";
    let key = "day=2024-01-01 kind=rare open=true";
    add(&format!("{key} {first}")).expect(0);
    let refused = |ran: Ran| ran.expect(1).err.lines().next().unwrap().to_owned();
    assert_eq!(
        refused(add(&format!("{key} {other}"))),
        "refused: Event 2024-01-01, rare, true exists already; use `upsert` to replace it"
    );
    let next = "day=2024-01-02 kind=plain open=false";
    for (field, value, shown) in [
        ("at", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000Z"),
        ("code", "aGk=", "aGk="),
        (
            "id",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        ),
        ("sum", "1.5", "1.5"),
    ] {
        let values = other.split(' ').map(|word| match word.split_once('=') {
            Some((name, _)) if name == field => format!("{name}={value}"),
            _ => word.to_owned(),
        });
        let values: Vec<String> = values.collect();
        assert_eq!(
            refused(add(&format!("{next} {}", values.join(" ")))),
            format!(
                "refused: Event 2024-01-02, plain, false: {field} is {shown}, which 2024-01-01, \
                 rare, true has already"
            )
        );
    }
    let seat = r#"{"number": 7, "of": {"day": "2024-01-01", "kind": "rare", "open": true}}"#;
    place.feed("change m.db book --stdin", seat).expect(0);
    assert_eq!(
        refused(place.run("change m.db drop day=2024-01-01")),
        "refused: Event 2024-01-01, rare, true is referred to by Seat 7 (of), and `on delete` says \
         refuse"
    );
    let seat = r#"{"number": 8, "of": {"day": "2025-12-31", "kind": "plain", "open": false}}"#;
    assert_eq!(
        refused(place.feed("change m.db book --stdin", seat)),
        "line 1: refused: Seat 8: of refers to Event 2025-12-31, plain, false, which does not exist"
    );
}

/// Whoever forgets what an update sets is told; only null clears.
#[test]
fn an_update_clears_what_it_is_told_to_clear() {
    let place = database(
        "
entity User (100) {
  id    int  key
  note  text(20)?
  sum   decimal?
}
question user (1/s) select note, sum from User where id = $id
change add    (1/s) insert User
change edit   (1/s) update User set note where id = $u
change square (1/s) update User set sum = sum * sum where id = $u
",
    );
    place.run("change m.db add id=1 note=kept").expect(0);
    let note = || {
        let asked = place.run("ask m.db user id=1 --format json").expect(0);
        asked.json()[0]["note"].clone()
    };
    let forgotten = place.run("change m.db edit u=1").expect(2);
    assert!(
        forgotten.err.contains("parameter `note` is missing"),
        "{}",
        forgotten.err
    );
    place
        .feed("change m.db edit --stdin", r#"{"u": 1}"#)
        .expect(1);
    assert_eq!(note(), "kept");
    place.run("change m.db edit u=1 note=").expect(0);
    assert!(note().is_null());
    let digits = "9.999999999999999999999999999";
    place
        .run(&format!("change m.db add id=2 sum={digits}"))
        .expect(0);
    let refused = place.run("change m.db square u=2").expect(1);
    assert_eq!(
        refused.err.trim_end(),
        format!(
            "refused: User 2: sum would become {digits} * {digits}, which has more digits than the \
             28 of a decimal"
        )
    );
}

#[test]
fn a_sequence_that_runs_out_is_a_refusal() {
    let place = database(
        "
entity S (100) {
  id  int  sequence  key
  n   int
}
question s (1/s) select n from S where id = $id
change add (1/s) insert S
",
    );
    place.run("put m.db S id=2147483646 n=1").expect(0);
    place.run("change m.db add n=2").expect(0);
    let refused = place.run("change m.db add n=3").expect(1);
    assert_eq!(
        refused.err.trim_end(),
        "refused: S.id: the sequence has run out of numbers"
    );
    std::fs::write(place.path().join("s.csv"), "n\n4\n").unwrap();
    let rejected = place.run("load m.db S=s.csv").expect(1);
    let said = "s.csv:2: S.id: the sequence has run out of numbers";
    assert!(rejected.err.contains(said), "{}", rejected.err);
}

/// A put, an upsert and a load that replaces leave an instance's type as it is.
#[test]
fn what_is_replaced_keeps_its_type() {
    let place = database(
        "
entity Product (100) {
  sku  int  key
}
entity Book is Product (50) { title text(20) }
entity Bike is Product (50) { gears int }
question all (1/s) select * from Product
change book (1/s) upsert Book
change bike (1/s) upsert Bike
",
    );
    place.run("put m.db Book sku=1 title=a").expect(0);
    place.run("put m.db Book sku=1 title=b").expect(0);
    let said = "Bike 1 exists and is of another type; delete it first";
    let refused = place.run("change m.db bike sku=1 gears=3").expect(1);
    assert!(refused.err.contains(said), "{}", refused.err);
    let refused = place.run("put m.db Bike sku=1 gears=3").expect(1);
    assert!(refused.err.contains(said), "{}", refused.err);
    std::fs::write(place.path().join("bike.csv"), "sku,gears\n1,3\n").unwrap();
    let rejected = place.run("load m.db Bike=bike.csv --replace").expect(1);
    let said = "bike.csv:2: Product 1 exists and is of another type; delete it first";
    assert!(rejected.err.contains(said), "{}", rejected.err);
    let all = place.run("ask m.db all --format jsonl").expect(0).out;
    assert!(all.contains("\"title\":\"b\""), "{all}");
}
