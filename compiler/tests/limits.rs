//! Limits of a target: sizes by its formula, rates of the hottest partition, what the design does
//! about them, and what it says where nothing helps.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use proptest::prelude::*;
use querent_compiler::design::{Design, Finding, Heat, Options, Subject, design, target};
use querent_compiler::model::{EntityId, Model, Type};
use querent_compiler::value::Value;
use querent_compiler::view::facts::{MemoryFacts, key_of_row};
use querent_compiler::view::rows::rows;
use querent_compiler::view::typing::Scope;
use querent_compiler::view::{Kind, Structure};
use std::collections::BTreeMap;

fn designed(text: &str, on: &str) -> (Model, Design) {
    let (model, found) = querent_compiler::parse("test.querent", text);
    let model = model.unwrap_or_else(|| panic!("{found:?}"));
    let mut options = Options::embedded();
    options.target = target::named(on).unwrap();
    let design = design(&model, &options).unwrap();
    (model, design)
}

/// The design of a model's first schema, for Cassandra.
fn first_schema(text: &str) -> Design {
    let (model, found) = querent_compiler::parse("test.querent", text);
    let model = model.unwrap_or_else(|| panic!("{found:?}"));
    let mut options = Options::embedded();
    options.target = target::named("cassandra").unwrap();
    options.given = model.schemas.first().cloned();
    design(&model, &options).unwrap()
}

fn heat<'d>(design: &'d Design, structure: &str) -> &'d Heat {
    let at = design.structures.iter().position(|s| s.name == structure);
    let at = at.unwrap_or_else(|| panic!("{:?}", names(design)));
    design.notes[at].sizes.heat.as_ref().unwrap()
}

fn names(design: &Design) -> Vec<&str> {
    design.structures.iter().map(|s| s.name.as_str()).collect()
}

/// Salts of the structure that a question reads first.
fn salts(design: &Design, question: &str) -> Option<i64> {
    let plan = design.plans.iter().find(|p| p.name == question).unwrap();
    let at = usize::from(plan.plan.root.first_read().unwrap());
    // No key of these models is split, so none of its attributes needs to be known.
    let model = querent_compiler::model::Model::default();
    querent_compiler::design::spread::spread(&model, &design.structures[at])?.salts
}

/// Rooms by hotel and day: 4 columns, 3 of them key, none static; 100 rooms for two years.
const ROOMS: &str = "
model rooms
enum Room { r1, r2, r3 }
entity Hotel (10) { id text(14) key }
entity Availability (730k) {
  hotel -> Hotel as rooms (avg 73k, max 73k) key
  day   date  key
  room  Room  key
  free  bool
}
question rooms_of (10/s) select day, room, free from Availability where hotel.id = $h order by day, room
change book (10/s) update Availability set free where hotel.id = $h and day = $d and room = $r
";

#[test]
fn a_published_example_of_sizes() {
    let (_, design) = designed(ROOMS, "cassandra");
    assert_eq!(design.warnings, vec![]);
    let plan = &design.plans[0].plan;
    let at = usize::from(plan.root.first_read().unwrap());
    let sizes = &design.notes[at].sizes;
    assert_eq!(sizes.partition_rows_max, 73_000.0);
    assert_eq!(sizes.partition_values_max, 73_000.0);
    // A tenth of the bookings is of each hotel.
    let heat = sizes.heat.as_ref().unwrap();
    assert_eq!(heat.writes, 1.0);
    // The hotel's key once, and for each row day, room, a bool and 8 bytes.
    assert_eq!(
        sizes.partition_bytes_max,
        16.0 + 73_000.0 * (4.0 + 2.0 + 1.0 + 8.0)
    );
}

/// Bytes of a value, by looking at it.
fn width(value: &Value, ty: &Type) -> f64 {
    match (value, ty) {
        (Value::Text(t), _) => t.len() as f64 + 2.0,
        (_, Type::Bool) => 1.0,
        (_, Type::Int | Type::Date) => 4.0,
        (_, Type::Enum(_)) => 2.0,
        (_, Type::BigInt | Type::Float | Type::Timestamp) => 8.0,
        other => panic!("{other:?}"),
    }
}

/// The values and bytes of the largest partition, cell by cell.
fn counted(model: &Model, s: &Structure, facts: &MemoryFacts) -> (f64, f64) {
    let scope = Scope::new(model, s.anchor, &s.over);
    let types: Vec<Type> = s.values().map(|e| scope.type_of(model, &[], e).0).collect();
    let before = s.partition.len();
    let mut partitions: BTreeMap<Vec<Value>, (f64, f64)> = BTreeMap::new();
    for (key, columns) in rows(model, s, facts) {
        let once: f64 = key
            .iter()
            .zip(&types)
            .take(before)
            .map(|(v, t)| width(v, t))
            .sum();
        let partition = partitions
            .entry(key[..before].to_vec())
            .or_insert((0.0, once));
        let all: Vec<&Value> = key.iter().chain(&columns).collect();
        for (at, value) in all.iter().enumerate().skip(before) {
            // The hidden count of a group has no expression.
            partition.1 += types.get(at).map_or(8.0, |ty| width(value, ty));
            if at >= s.key_len() {
                partition.0 += 1.0;
                partition.1 += 8.0;
            }
        }
    }
    let most = |a: (f64, f64), b: &(f64, f64)| (a.0.max(b.0), a.1.max(b.1));
    partitions.values().fold((0.0, 0.0), most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A model whose volumes are those of its facts: the largest partition of every structure that
    /// starts with the relationship has the values and bytes that were computed.
    #[test]
    fn computed_sizes_are_those_of_the_rows(
        many in 1usize..60,
        extra in prop::collection::vec(prop::sample::select(vec!["int", "bigint", "bool", "date", "float"]), 0..5),
    ) {
        let fields: String = extra.iter().enumerate().map(|(i, ty)| format!("  c{i} {ty}\n")).collect();
        let text = format!("
model test
entity Owner (1) {{ id text(5, max 5) key }}
entity Thing ({many}) {{
  owner -> Owner as things (avg {many}, max {many}) key
  n int key
{fields}}}
question things (10/s) select * from Thing where owner.id = $o order by n
question counted (10/s) select count(*) as n from Thing where owner.id = $o
change add (1/s) insert Thing
");
        let (model, design) = designed(&text, "cassandra");
        let owner = Value::Text("owner".into());
        let mut facts = MemoryFacts::default();
        facts.set(&model, EntityId(0), std::slice::from_ref(&owner), Some(vec![owner.clone()]));
        for n in 0..many {
            let mut row = vec![Value::Key(vec![owner.clone()]), Value::Int(n as i64)];
            row.extend(extra.iter().map(|ty| match *ty {
                "bool" => Value::Bool(n % 2 == 0),
                "date" => Value::Date(n as i32),
                "float" => Value::Float(n as f64),
                _ => Value::Int(n as i64),
            }));
            let key = key_of_row(&model, EntityId(1), &row);
            facts.set(&model, EntityId(1), &key, Some(row));
        }
        let mut compared = 0;
        for (s, note) in design.structures.iter().zip(&design.notes) {
            // A bigint is what counts are.
            if s.anchor != EntityId(1) || s.partition.len() != 1 {
                continue;
            }
            let (values, bytes) = counted(&model, s, &facts);
            prop_assert_eq!(note.sizes.partition_values_max, values, "{}", &s.name);
            // A partition of few rows is as large as its largest row may be, with 8 bytes for each
            // of its values, of which a group has one more: the number of those that it counts.
            let hidden = usize::from(s.kind == Kind::Groups);
            let row = note.sizes.row_bytes_max + 8.0 * (s.columns.len() + hidden) as f64;
            prop_assert_eq!(note.sizes.partition_bytes_max, bytes.max(row), "{}", &s.name);
            compared += usize::from(s.kind == Kind::Lists);
        }
        prop_assert!(compared > 0);
    }
}

const READINGS: &str = "
model readings
entity Sensor (1k) { serial text(12, max 40) key }
entity Reading (100M) {
  sensor -> Sensor as readings (avg 100k, max 50M) key
  at timestamp key
  value float
}
question latest (ASKED/s) select at, value from Reading where sensor.serial = $s order by at desc limit 10
change measure (WRITTEN/s) insert Reading
";

fn readings(asked: &str, written: &str) -> (String, Design) {
    let text = READINGS.replace("ASKED", asked).replace("WRITTEN", written);
    let design = designed(&text, "dynamodb").1;
    (text, design)
}

#[test]
fn a_partition_that_is_cold_enough_is_left_alone() {
    let (_, design) = readings("1k", "1k");
    assert_eq!(design.warnings, vec![]);
    assert_eq!(salts(&design, "latest"), None);
    // Half of all readings are of one sensor.
    assert_eq!(heat(&design, "reading").writes, 500.0);
    assert_eq!(
        heat(&design, "reading").reads,
        500.0 + 500.0,
        "asked, and checked to be new"
    );
}

#[test]
fn hot_writes_are_salted_by_the_fewest_salts_that_bring_them_down() {
    // 5,000 and 20,000 of them fall on one sensor; half of 1,000 units is what a salt may take.
    for (written, expected) in [("10k", 16), ("40k", 64)] {
        let (_, design) = readings("1k", written);
        // That each of these finds its sensor is checked, which no salt of its readings divides.
        let found = design.warnings.iter().map(|w| (&*w.code, &*w.structure));
        assert_eq!(found.collect::<Vec<_>>(), [("W024", "sensor")]);
        let message = &design.warnings[0].message;
        assert!(message.contains("Reading.sensor says"), "{message}");
        assert_eq!(salts(&design, "latest"), Some(expected));
        let heat = heat(&design, "reading");
        assert!(heat.write_units <= 500.0, "{heat:?}");
        // Each of the 500 reads of the hot sensor visits every salt.
        let latest = heat
            .readers
            .iter()
            .find(|(name, _)| name == "latest")
            .unwrap();
        assert_eq!(latest.1, 500.0);
    }
}

#[test]
fn more_writes_than_salts_can_take_name_the_change() {
    let (text, design) = readings("1k", "10M");
    let found = design.warnings.iter().find(|w| w.code == "W025").unwrap();
    assert_eq!(found.subject, Subject::Change("measure".into()));
    assert_eq!(found.limit, 1000.0);
    assert!(
        found
            .message
            .contains("Reading.sensor says (max 50,000,000)"),
        "{found}"
    );
    assert_eq!(found.diagnostic(&text).span.of(&text), "10M");
}

#[test]
fn hot_reads_are_told_and_not_salted() {
    let (text, design) = readings("20k", "1k");
    assert_eq!(salts(&design, "latest"), None);
    let found = design.warnings.iter().find(|w| w.code == "W024").unwrap();
    assert_eq!(found.subject, Subject::Question("latest".into()));
    assert!(found.help.contains("cache"), "{}", found.help);
    assert_eq!(found.diagnostic(&text).span.of(&text), "20k");
}

#[test]
fn a_counter_is_one_row_that_no_salt_divides() {
    let (_, design) = designed(
        "
model likes
entity Post (1k) { id bigint key }
entity Like (1B) { post -> Post as likes (avg 1M, max 100M) key  by bigint key }
question likes (1k/s) select count(likes) as n from Post where id = $p
change like (20k/s) insert Like
",
        "dynamodb",
    );
    let found = design.warnings.iter().find(|w| w.code == "W025");
    // A tenth of all likes is of one post.
    let found = found.unwrap_or_else(|| panic!("{:?} {:?}", names(&design), design.warnings));
    assert!(found.found >= 2000.0 && found.found < 4001.0, "{found}");
}

#[test]
fn weights_are_no_rates() {
    let text = READINGS
        .replace("ASKED/s", "20k")
        .replace("WRITTEN/s", "10M");
    let (model, design) = designed(&text, "dynamodb");
    assert_eq!(design.warnings, vec![]);
    let json = design.to_json(&model, 0.0);
    assert!(json["structures"][0]["partition_reads_max"].is_null());
}

/// 20,000 rows are few; the five columns that the question copies make 100,000 values of them.
#[test]
fn values_of_copied_columns_count() {
    let text = "
model wide
entity Owner (1k) { id bigint key }
entity Thing (10M) {
  id bigint key
  owner -> Owner as things (avg 10k, max 30k)
  a int b int c int d int e int
}
question things (1k/s) select a, b, c, d, e from Thing where owner.id = $o order by id limit 100
change add (1/s) insert Thing
";
    let (_, design) = designed(text, "cassandra");
    assert_eq!(design.warnings, vec![]);
    for (s, note) in design.structures.iter().zip(&design.notes) {
        assert!(note.sizes.partition_values_max <= 100_000.0, "{}", s.name);
    }
    assert!(salts(&design, "things").is_some(), "{:?}", names(&design));
}

/// The rows of a partition behind two references are those of all that refer to it on the way.
#[test]
fn a_path_of_two_references_multiplies_their_maxima() {
    let (_, design) = designed(
        "
model replies
entity User (1k) { id bigint key }
entity Post (10k) { id bigint key  author -> User as posts (avg 10, max 100) }
entity Reply (100k) { id bigint key  post -> Post as replies (avg 10, max 200)  body text(50) }
question received (1k/s) select body from Reply where post.author.id = $u
change reply (1/s) insert Reply
",
        "embedded",
    );
    let by_author = design.structures.iter().zip(&design.notes);
    let most = by_author.filter(|(s, _)| s.name == "reply_by_post_author_id");
    let most: Vec<f64> = most.map(|(_, n)| n.sizes.partition_rows_max).collect();
    assert_eq!(most, [20_000.0]);
}

#[test]
fn collections_beyond_the_limit_are_told_or_not_embedded() {
    let text = "
model tags
entity Post (1k) { id bigint key  tags set<int> (avg 10, max 70k) }
question tags (1k/s) select tags from Post where id = $p
change add (1/s) insert Post
";
    let (_, design) = designed(text, "cassandra");
    let found = design.warnings.iter().find(|w| w.code == "W022").unwrap();
    assert_eq!((found.found, found.limit), (70_000.0, 65_535.0));
    assert_eq!(found.subject, Subject::Field("Post".into(), "tags".into()));
    assert_eq!(found.diagnostic(text).span.of(text), "70k");
    assert_eq!(design.notes[0].sizes.collection_elements_max, 70_000.0);
    // What can have rows of its own has them.
    let (_, design) = designed(
        "
model comments
entity Post (1k) { id bigint key }
entity Comment (10k) { id bigint key  post -> Post as comments (avg 10, max 70k) }
question discussion (1k/s) select comments { id } from Post where id = $p
change add (1/s) insert Comment
",
        "cassandra",
    );
    assert_eq!(design.warnings, vec![]);
}

/// The parts of a composite key name as many instances as there are, not as many as there are pairs
/// of values: a label of a user has its 250 mails, and a label is found by its key.
#[test]
fn parts_of_a_key_are_counted_together() {
    let text = "
entity User (1M) { id bigint key }
entity Mail (1B) { id timeuuid key  subject text(50) }
entity Label (10M) {
  user   -> User  key  as labels (avg 10, max 500)
  name   text(15)  key
  colour text(7)
  mails  ->> Mail (avg 250, max 10M)  as labels (avg 2.5, max 20)
}
question mailbox (100/s)
  select id, subject from Mail where any labels (user.id = $user and name = $label) order by id
question some (1/s)
  select colour from Label where user.id = $user and name != $label
change recolour (1/s)  update Label set colour where user.id = $user and name = $label";
    let (model, found) = querent_compiler::parse("mail.querent", text);
    let model = model.unwrap_or_else(|| panic!("{found:?}"));
    let made = design(&model, &Options::embedded()).unwrap();
    let rows = |name: &str| made.plans.iter().find(|p| p.name == name).unwrap().rows;
    assert!((rows("mailbox") - 250.0).abs() < 1.0, "{}", rows("mailbox"));
    assert!((rows("some") - 10.0).abs() < 1.0, "{}", rows("some"));
    let mut steps = made.writes[0].steps.iter();
    let found = steps.find(|s| s.op == "check").unwrap();
    assert!((found.reads - 1.0).abs() < 0.01, "{}", found.reads);
}

/// Whoever follows 5,000 that have 100,000 posts each has 500 million in one time line, and of what
/// happens to those the most popular reader has his share.
#[test]
fn an_unfolded_path_multiplies_the_maxima_on_the_way_back() {
    let text = "
model feed
entity User (100M) {
  id bigint key
  follows ->> User (avg 100, max 5k) as followers (avg 100, max 50M)
}
entity Post (5B) { id timeuuid key  author -> User as posts (avg 50, max 100k)  text text(140) }
question timeline (10k/s) select follows.posts.id as id, follows.posts.text as text from User where id = $u order by id desc limit 20
change post (500/s) insert Post
schema fan_out {
  timeline lists Post by author.followers.id order by id desc keep text
}
";
    let design = first_schema(text);
    let at = names(&design).iter().position(|n| *n == "timeline");
    let sizes = &design.notes[at.unwrap()].sizes;
    assert_eq!(sizes.partition_rows_max, 5e3 * 1e5);
    // 50,000 rows a second are written for 500 posts, of which one reader in 100 million has that
    // of his 500 million of all 500 billion.
    let writes = sizes.heat.as_ref().unwrap().writes;
    assert!((writes - 50_000.0 * 5e8 / 5e11).abs() < 1e-6, "{writes}");
}

/// Nine tenths of the hits are of one counter, so as many of the checks that it is there.
#[test]
fn the_most_popular_target_is_checked_most() {
    let text = "
model hits
entity Counter (10) { id int key }
entity Hit (100B) { id bigint key  counter -> Counter as hits (avg 10B, max 90B) }
question one (1/s) select id from Hit where id = $i
change hit (5k/s) insert Hit
";
    let (_, design) = designed(text, "dynamodb");
    assert!((heat(&design, "counter").reads - 4500.0).abs() < 1.0);
    let found = design.warnings.iter().find(|w| w.code == "W024").unwrap();
    assert_eq!(found.subject, Subject::Change("hit".into()));
    assert!(!found.help.contains("cache"), "{}", found.help);
}

/// Inserts go where the rows are: nine tenths of them read the totals of the key that has most.
#[test]
fn totals_are_read_as_often_as_their_key_has_rows() {
    let text = "
model hot
entity Topic (100) { name text(20, max 40) key }
entity Event (1B) {
  topic -> Topic as events (avg 10M, max 900M) key
  id int key
  body text(100, max 1000)
}
question read (1/s) select id, body from Event where topic.name = $t order by id desc limit 10
change emit (1/h) insert Event
schema split {
  events lists Event by topic.name, split(topic.name, 50000) order by id desc keep body
}
";
    let design = first_schema(text);
    let emit = design.writes.iter().find(|w| w.name == "emit").unwrap();
    let most = emit.steps.iter().map(|s| s.reads).fold(0.0, f64::max);
    assert!(most > 0.9 * 18_000.0 && most < 18_000.0, "{most}");
}

const ORDERS: &str = "
model orders
enum Stage { open, paid, sent }
entity Order (500M) { id bigint key  status text(10)  stage Stage  number bigint unique  at timestamp }
question by_status (10/s) select id from Order where status = $s order by at desc limit 20
question by_stage (10/s) select id from Order where stage = $s order by at desc limit 20
question by_number (10/s) select id from Order where number = $n
change order (10/s) insert Order
change close (1/h) update Order set at where status = $s
";

/// The sizes of the structure whose partition begins with an attribute.
fn sizes<'d>(model: &Model, design: &'d Design, part: &str) -> &'d querent_compiler::design::Sizes {
    let json = design.to_json(model, 0.0);
    let structures = json["structures"].as_array().unwrap();
    let at = structures.iter().position(|s| s["partition"][0] == part);
    &design.notes[at.unwrap_or_else(|| panic!("{:?}", names(design)))].sizes
}

/// What is not stated proves nothing: all orders may have one status. Of an enumeration the values
/// are known and the skew is not; what is unique nobody shares.
#[test]
fn nothing_is_proved_by_what_is_not_stated() {
    let (model, design) = designed(ORDERS, "embedded");
    assert_eq!(sizes(&model, &design, "status").partition_rows_max, 500e6);
    assert_eq!(sizes(&model, &design, "stage").partition_rows_max, 500e6);
    assert_eq!(sizes(&model, &design, "number").partition_rows_max, 1.0);
    let close = design.writes.iter().find(|w| w.name == "close").unwrap();
    assert_eq!(close.steps[0].rows_max, 500e6);
    let found: Vec<_> = design
        .warnings
        .iter()
        .map(|w| (&*w.code, w.subject.to_string()))
        .collect();
    assert_eq!(found, [("W006", "Order.status".into())]);
    let told = design.warnings[0].diagnostic(ORDERS);
    assert_eq!(told.span.of(ORDERS), "status");
}

/// Where a limit would be broken the design spreads, and says for which number.
#[test]
fn what_is_not_stated_is_spread() {
    let (model, design) = designed(ORDERS, "cassandra");
    for part in ["status", "stage"] {
        let rows = sizes(&model, &design, part).partition_rows_max;
        assert!(rows <= 100_000.0, "{part}: {rows}");
    }
    // Were there as many orders of each stage, they would have to be spread as well.
    let found: Vec<_> = design
        .warnings
        .iter()
        .map(|w| (&*w.code, w.subject.to_string()))
        .collect();
    assert_eq!(found, [("W006", "Order.status".into())]);
}

#[test]
fn what_is_stated_of_values_is_believed() {
    for (stated, most, found) in [
        ("distinct 1M", 50_000.0, 0),
        ("distinct 1M (max 900)", 900.0, 0),
        ("distinct 499_999_990".replace('_', "").as_str(), 11.0, 0),
        ("distinct 5", 500e6 - 4.0, 0),
        ("unique", 1.0, 0),
        ("", 500e6, 1),
    ] {
        let text = ORDERS.replace("status text(10)", &format!("status text(10) {stated}"));
        let (model, design) = designed(&text, "embedded");
        let rows = sizes(&model, &design, "status").partition_rows_max;
        assert_eq!((rows, design.warnings.len()), (most, found), "{stated}");
    }
    // 100 times the average is beyond what Cassandra allows, the average is not.
    let text = ORDERS.replace("status text(10)", "status text(10) distinct 10k");
    let (_, design) = designed(&text, "cassandra");
    let found = design.warnings.iter().find(|w| w.code == "W006").unwrap();
    assert!(
        found.help.contains("`distinct 10000 (max …)`"),
        "{}",
        found.help
    );
    assert_eq!(found.diagnostic(&text).span.of(&text), "10k");
}

/// A structure that keeps one status only may keep all orders.
#[test]
fn a_filter_is_no_proof_either() {
    let text = ORDERS.replace(
        "change order",
        "schema given { open lists Order by stage order by id where status = \"open\" }\nchange order",
    );
    let design = first_schema(&text);
    let at = names(&design).iter().position(|n| *n == "open").unwrap();
    assert_eq!(design.notes[at].sizes.partition_rows_max, 500e6);
}

/// The values of a set are those of its elements, for prices and for limits.
#[test]
fn elements_have_the_values_that_their_set_states() {
    let text = "
model tags
entity Post (10M) { id bigint key  tags set<text(8)> (avg 3, max 20) STATED }
question tagged (10/s) select id from Post where tags has $t
change post (1/s) insert Post
";
    let rows = |stated: &str| {
        let (_, design) = designed(&text.replace("STATED", stated), "embedded");
        let at = names(&design).iter().position(|n| n.contains("tags"));
        let at = at.unwrap_or_else(|| panic!("{:?}", names(&design)));
        (
            design.plans[0].rows,
            design.notes[at].sizes.partition_rows_max,
        )
    };
    assert_eq!(rows("distinct 1k"), (30_000.0, 3e6));
    assert_eq!(rows("distinct 1k (max 200k)"), (30_000.0, 2e5));
    assert_eq!(rows(""), (30.0, 10e6));
}

/// An hour of a bucket holds what is inserted in an hour, however many there are in all.
#[test]
fn a_rate_that_fills_a_bucket_is_to_blame() {
    let text = "
model log
entity Line (50T) { id timeuuid key  text text(80, max 200) }
question newest (1/s) select id, text from Line order by id desc limit 10
change write (20M/s) insert Line
";
    let (_, design) = designed(text, "cassandra");
    let found = design.warnings.iter().find(|w| w.code == "W020").unwrap();
    assert_eq!(found.subject, Subject::Change("write".into()), "{found}");
}

/// What a target writes together is one partition, document or row; `atomic` asks for the same of a
/// change, and is warned of where its writes go further.
#[test]
fn atomic_changes_are_held_against_what_the_target_writes_together() {
    let text = "
model m
entity Post (1M) { id bigint key }
entity Comment (10M) {
  post -> Post as comments (avg 10, max 1k) key
  n    int key
  body text(50)
}
question of (9/s) select n, body from Comment where post.id = $post order by n
change one    (1/s) atomic insert Comment
change two    (1/s) atomic { insert Comment
  insert Comment { post, n = $m, body = $other } }
change apart  (1/s) atomic { insert Comment
  insert Comment { post = $where, n, body } }
change half   (1/s) { insert Comment
  insert Comment { post = $where, n, body } }
change each   (1/s) atomic for each $c in $cs {
  insert Comment { post = $post, n = $c.n, body = $c.body } }
change all    (1/s) atomic for each $c in $cs {
  insert Comment { post = $c.post, n = $c.n, body = $c.body } }
change wipe   (1/s) atomic delete Comment where post.id = $post
change clear  (1/s) atomic delete Comment where post = $post
change same   (1/s) atomic { insert Comment
  update Comment set body = $late where post = $post and n = $n }
change find   (1/h) atomic delete Comment where n = $n
change whole  (1/h) atomic { insert Post
  insert Comment { post = $id, n, body } }
";
    let told = |on: &str| -> Vec<(String, String)> {
        let (_, design) = designed(text, on);
        let found = design.warnings.iter().filter(|w| w.code == "W026");
        found
            .map(|w| match &w.subject {
                Subject::Change(name) => (name.clone(), w.message.clone()),
                other => panic!("{other}"),
            })
            .collect()
    };
    let names = |told: &[(String, String)]| -> Vec<String> {
        told.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(told("embedded"), []);
    let found = told("cassandra");
    assert_eq!(names(&found), ["apart", "all", "find", "whole"]);
    assert_eq!(
        found[0].1,
        "`apart` is to be atomic, and cassandra makes only what is in one partition so: it writes \
         up to 2 rows of `comment`, which may be in several partitions"
    );
    assert_eq!(
        found[3].1,
        "`whole` is to be atomic, and cassandra makes only what is in one partition so: it writes \
         a row of `comment` and a row of `post`"
    );
    let found = told("mongodb");
    assert_eq!(
        names(&found),
        [
            "two", "apart", "each", "all", "wipe", "clear", "find", "whole"
        ]
    );
    assert!(found[0].1.contains("one document"), "{}", found[0].1);
    assert_eq!(names(&told("dynamodb")), names(&found));
}

/// What is found of a structure's limits in the design of a model's first schema.
fn found_of(text: &str, on: &str, structure: &str) -> Vec<Finding> {
    let (model, found) = querent_compiler::parse("test.querent", text);
    let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
    let mut options = Options::embedded();
    options.target = target::named(on).unwrap();
    options.given = model.schemas.first().cloned();
    let made = design(&model, &options).unwrap();
    let about = |f: &Finding| f.structure == structure && f.code.starts_with("W02");
    made.warnings.into_iter().filter(about).collect()
}

/// The lists that a finding proposes to write as `by`.
fn proposals(finding: &Finding) -> Vec<String> {
    let quoted = finding.help.split('`').skip(1).step_by(2);
    let by = quoted.filter(|words| words.starts_with("by "));
    by.map(String::from).collect()
}

/// The text in which a structure is written with another `by`.
fn rewritten(text: &str, structure: &str, by: &str) -> String {
    let line = |line: &str| {
        if !line.trim_start().starts_with(&format!("{structure} ")) {
            return line.to_owned();
        }
        let from = line.find(" by ").unwrap();
        let ends = [" order by ", " keep "].map(|word| line.find(word));
        let end = ends.into_iter().flatten().min().unwrap_or(line.len());
        format!("{} {by}{}", &line[..from], &line[end..])
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

const POSTS: &str = "
model posts
enum Status { open, done }
entity User (2M) { id bigint key }
entity Post (40M) {
  id bigint key
  at timestamp
  title text(40, max 100)
  status Status
  author -> User as posts (avg 20, max 10k)
}
question post (100/s) select title, at from Post where id = $id
question newest (10/s) select id, title from Post order by at desc, id desc limit 10
question with (1/s) select id, title from Post where status = $s order by at desc, id desc limit 10
change post (10/s) insert Post
schema s {
  users lists User by id
  posts lists Post by id keep *
  x lists Post by BY order by at desc, id desc keep title, author
}
";

const SALES: &str = "
model sales
enum Slot { a, b, c }
entity Shop (100) { id bigint key }
entity Sale (100M) {
  shop -> Shop as sales (avg 1M, max 50M) key
  no   bigint key
  slot Slot key
  amount int
}
question sales (10/s) select no, slot, amount from Sale where shop.id = $s order by no desc limit 10
change sell (20k/s) insert Sale
schema s {
  shops lists Shop by id
  x lists Sale by shop.id order by no, slot keep amount
}
";

const EVENTS: &str = "
model events
entity Device (100) { id bigint key }
entity Event (5B) {
  device -> Device as events (avg 50M, max 500M) key
  at timestamp key
  no int key
  body text(100, max 200)
}
question latest (10/s) select at, no, body from Event where device.id = $d order by at desc, no desc limit 10
change log (20k/s) insert Event
schema s {
  devices lists Device by id
  x lists Event by device.id order by at desc, no desc keep body
}
";

const COUNTED: &str = "
model counted
entity Shop (100) { id bigint key }
entity Sale (100M) {
  id   bigint key
  at   timestamp
  shop -> Shop as sales (avg 1M, max 50M)
}
question per_day (10/s) select day(at) as d, count(*) as n from Sale where shop.id = $s group by day(at) order by d
change sell (10k/s) insert Sale
schema s {
  shops lists Shop by id
  sales lists Sale by id keep at, shop
  x groups Sale by shop.id order by day(at) keep count(*)
}
";

/// What is proposed is written, and the findings that proposed it are gone: whichever of several
/// ways is taken, and all findings of the structure for which it is said to do.
#[test]
fn what_is_proposed_mends_it() {
    let posts = |by: &str| POSTS.replace("BY", by);
    let cases = [
        (posts("0"), "cassandra", vec!["by 0, bucket(at, hour)"]),
        (
            posts("status"),
            "cassandra",
            vec![
                "by status, bucket(at, hour)",
                "by status, split(status, 25000)",
            ],
        ),
        // Salts stand last, else they are not seen as such.
        (
            posts("hash(id, 16)"),
            "cassandra",
            vec!["by bucket(at, hour), hash(id, 16)"],
        ),
        (
            posts("hash(id, 16), bucket(at, month)"),
            "cassandra",
            vec!["by bucket(at, hour), hash(id, 16)"],
        ),
        (
            posts("bucket(at, month)"),
            "cassandra",
            vec!["by bucket(at, hour)"],
        ),
        // Three slots are not enough to be salted by.
        (
            SALES.to_owned(),
            "dynamodb",
            vec!["by shop.id, hash(no, 32)"],
        ),
        // A row of a group is divided by what its key does not say.
        (
            COUNTED.to_owned(),
            "dynamodb",
            vec!["by shop.id, hash(id, 16)"],
        ),
        // Neither buckets nor salts are enough alone.
        (
            EVENTS.to_owned(),
            "cassandra",
            vec![
                "by device.id, bucket(at, hour), hash(at, 256)",
                "by device.id, split(device.id, 50000)",
            ],
        ),
    ];
    for (text, on, ways) in cases {
        let found = found_of(&text, on, "x");
        assert!(!found.is_empty(), "{text}");
        for finding in &found {
            assert_eq!(proposals(finding), ways, "{finding:?}");
        }
        for way in ways {
            let mended = rewritten(&text, "x", way);
            let left = found_of(&mended, on, "x");
            assert!(left.is_empty(), "{mended}: {left:?}");
        }
    }
}

/// Where nothing does for all, each finding is told what does for it, and that it is not enough.
#[test]
fn what_is_not_enough_for_all_says_so() {
    for finding in found_of(SALES, "cassandra", "x") {
        let (way, left) = match finding.code.as_str() {
            "W020" => (
                "by shop.id, split(shop.id, 50000)",
                "its writes and its reads",
            ),
            _ => ("by shop.id, hash(no, 8)", "its size"),
        };
        assert_eq!(proposals(&finding), [way], "{finding:?}");
        let not_enough = format!("which is not enough for {left}");
        assert!(finding.help.contains(&not_enough), "{finding:?}");
        let left = found_of(&rewritten(SALES, "x", way), "cassandra", "x");
        let still = left.iter().find(|f| f.code == finding.code);
        assert!(still.is_none(), "{still:?}");
    }
}

/// A group is one row, which only a hash of what its key does not say divides.
#[test]
fn a_row_of_a_group_is_divided_by_what_its_key_does_not_say() {
    let found = found_of(COUNTED, "dynamodb", "x");
    assert!(found.iter().any(|f| f.code == "W025"), "{found:?}");
    for finding in found {
        assert_eq!(
            proposals(&finding),
            ["by shop.id, hash(id, 16)"],
            "{finding:?}"
        );
    }
}

/// All extents of a partition that are too large are told together: they are mended together.
#[test]
fn a_partition_that_is_too_large_has_one_finding() {
    let found = found_of(&POSTS.replace("BY", "0"), "cassandra", "x");
    let [Finding { code, message, .. }] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(code, "W020");
    assert_eq!(
        message,
        "x: a partition may grow to 40,000,000 rows, 80,000,000 values and 3,280,000,008 bytes, \
         cassandra allows 100,000, 100,000 and 104,857,600: there are 40,000,000 of Post"
    );
}

/// Instances come into salts no faster for a rate.
#[test]
fn a_rate_is_not_to_blame_for_salts() {
    for rate in ["10/s", "1/s"] {
        let text = POSTS.replace("BY", "hash(id, 16)");
        let text = text.replace("change post (10/s)", &format!("change post ({rate})"));
        let found = found_of(&text, "cassandra", "x");
        assert_eq!(
            found[0].subject,
            Subject::Entity("Post".into()),
            "{found:?}"
        );
    }
}

/// What a change reads of the rows that it writes is not what it follows references to.
#[test]
fn what_a_change_checks_is_told_apart_from_what_it_refers_to() {
    let help = |structure| {
        let found = found_of(SALES, "dynamodb", structure);
        let found = found.into_iter().find(|f| f.code == "W024").unwrap();
        found.help
    };
    assert!(help("shops").contains("the same instance"));
    assert!(!help("x").contains("the same instance"));
}

/// Of those that refer to an entity, the one that the change follows is to blame.
#[test]
fn the_reference_that_a_change_follows_is_to_blame() {
    let text = "
model notes
entity User (1M) { id bigint key  name text(20, max 40) }
entity Audit (1k) { id bigint key  by -> User as audits (avg 0.001, max 1k) }
entity Note (10M) { id bigint key  by -> User as notes (avg 10, max 5M) }
question n (10/s) select name from User where id = $id
question m (10/s) select by.id from Note where id = $id
question a (10/s) select by.id from Audit where id = $id
change note (20k/s) insert Note
change audit (1/day) insert Audit
";
    let (_, made) = designed(text, "cassandra");
    let found = made.warnings.iter().find(|w| w.code == "W024").unwrap();
    assert!(
        found.message.ends_with("Note.by says (max 5,000,000)"),
        "{found}"
    );
}

/// A question and a change of one name are told apart, and so are their places.
#[test]
fn a_question_and_a_change_may_have_one_name() {
    let text = "
model same
entity User (1M) { id bigint key }
entity Post (1M) { id bigint key  user -> User as posts (avg 1, max 900k) }
question post (1/s) select user.id from Post where id = $id
question of (1/s) select id from Post where user.id = $u order by id limit 10
change post (10k/s) insert Post
";
    let (_, made) = designed(text, "dynamodb");
    let found = made.warnings.iter().find(|w| w.code == "W024").unwrap();
    assert_eq!(found.subject, Subject::Change("post".into()), "{found}");
    assert!(
        found.message.ends_with("Post.user says (max 900,000)"),
        "{found}"
    );
    assert_eq!(
        found.diagnostic(text).span.start,
        text.find("10k/s").unwrap()
    );
}

/// One value that is too large for a partition is shown where its size is stated, as for a row.
#[test]
fn the_size_of_a_value_is_where_it_is_stated() {
    let text = "
model big
entity A (10) { id int key  x blob(1MB, max 900MB) }
question q (1/s) select x from A where id = $id
change c (1/s) insert A
";
    let (_, made) = designed(text, "cassandra");
    for code in ["W020", "W021"] {
        let found = made.warnings.iter().find(|w| w.code == code).unwrap();
        let at = found.diagnostic(text).span.start;
        assert_eq!(at, text.find("900MB").unwrap(), "{found}");
    }
}

/// A rate that is small is not nothing.
#[test]
fn small_rates_are_not_told_as_none() {
    let text = "
model rare
entity A (10) { id int key  x blob(100MB, max 400MB) }
question q (1/s) select x from A where id = $id
change c (1/s) insert A
";
    let (_, made) = designed(text, "dynamodb");
    let found = made.warnings.iter().find(|w| w.code == "W024").unwrap();
    assert!(
        found.message.contains("serves 0.2 reads a second"),
        "{found}"
    );
}

/// Where the facts alone need more structures than there may be, both numbers are told.
#[test]
fn too_many_structures_are_counted() {
    let entities = (0..210).map(|i| format!("entity E{i} (1k) {{\n  id int key\n  x int\n}}\n"));
    let text = format!("model many\n{}", entities.collect::<String>());
    let (model, _) = querent_compiler::parse("test.querent", &text);
    let model = model.unwrap();
    let mut options = Options::embedded();
    assert!(design(&model, &options).is_ok());
    options.target = target::named("cassandra").unwrap();
    let error = design(&model, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the facts alone need 210 structures, and this target allows 200"
    );
    let finding = error.finding().diagnostic(&text);
    assert_eq!((finding.code.id, finding.span.start), ("E080", 6));
}

/// The sort key of an item has a limit of its own, below that of the whole.
#[test]
fn clustering_parts_have_a_limit_of_their_own() {
    let found = |max: usize, on: &str| {
        let text = format!(
            "model m\nentity Post (2M) {{\n  id bigint key\n  title text(60, max {max})\n}}\n\
             question by_title (10/s)  select id, title from Post order by title limit 10\n"
        );
        let (_, design) = designed(&text, on);
        let mut long = design.warnings.into_iter().filter(|w| w.code == "W023");
        long.find(|w| w.message.contains("clustering"))
    };
    let long = found(1500, "dynamodb").unwrap();
    assert_eq!(long.subject, Subject::Field("Post".into(), "title".into()));
    assert!(
        (long.limit - 1024.0).abs() < 1.0 && long.found > 1500.0,
        "{long:?}"
    );
    assert_eq!(found(900, "dynamodb"), None);
    assert_eq!(found(1500, "cassandra"), None);
}

/// A collection without `max` is told of like a relationship without; a text is not.
#[test]
fn collections_without_a_max_are_told() {
    let text = "model m\nentity User (1k) {\n  id bigint key\n  name text\n  face blob\n  \
                log list<{ at timestamp, words set<text(9)> (max 9) }>\n  tags set<text(10)> (avg 5)\n  \
                known map<text(9), list<int> (max 3)> (max 9)\n  deep map<text(9), list<int>> (max 9)\n  \
                inner { all list<int> }\n}\n";
    let (_, found) = querent_compiler::parse("test.querent", text);
    let told = found.iter().filter(|d| d.code.id == "W001");
    let told: Vec<&str> = told.map(|d| &text[d.span.start..d.span.end]).collect();
    assert_eq!(told, ["log", "tags", "deep", "all"]);
    let help = found.iter().find(|d| d.message.contains("tags"));
    let help = help.and_then(|d| d.help.clone());
    assert_eq!(
        help.as_deref(),
        Some("500 is assumed; write `(avg 5, max …)`")
    );
}
