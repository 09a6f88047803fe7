//! What designs say of volumes and rates: that nothing is taken for rare which the model does not
//! say to be, that every write is counted once, and that limits are kept where something keeps them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use querent_compiler::design::{Design, Options, Sizes, design, target};
use querent_compiler::model::Model;

fn parsed(text: &str) -> Model {
    let (model, found) = querent_compiler::parse("test.querent", text);
    model.unwrap_or_else(|| panic!("{found:?}"))
}

fn options(on: &str) -> Options {
    Options {
        target: target::named(on).unwrap(),
        ..Options::embedded()
    }
}

fn designed(text: &str, on: &str) -> Design {
    design(&parsed(text), &options(on)).unwrap()
}

/// The same with the model's only schema.
fn given(text: &str, on: &str) -> Design {
    let model = parsed(text);
    let options = Options {
        given: model.schemas.first().cloned(),
        ..options(on)
    };
    design(&model, &options).unwrap()
}

/// The figures of the structure that a question reads first.
fn read_by<'d>(design: &'d Design, question: &str) -> &'d Sizes {
    let plan = design.plans.iter().find(|p| p.name == question).unwrap();
    let at = plan.plan.root.first_read().unwrap();
    &design.notes[usize::from(at)].sizes
}

/// The figures of a structure.
fn sizes<'d>(design: &'d Design, name: &str) -> &'d Sizes {
    let at = design.structures.iter().position(|s| s.name == name);
    &design.notes[at.unwrap()].sizes
}

/// The codes of what is found about limits of partitions.
fn broken(design: &Design) -> Vec<&str> {
    let limits = ["W020", "W024", "W025"];
    let codes = design.warnings.iter().map(|w| w.code.as_str());
    codes.filter(|c| limits.contains(c)).collect()
}

#[test]
fn buckets_are_sized_by_the_rates_of_the_mix() {
    const TEXT: &str = "
model sensors
entity Sensor (1k) { id bigint key }
entity Reading (1B) {
  sensor -> Sensor as readings (avg 1M, max 50M) key
  at     timestamp key
  value  float
}
question latest (night 10/s, day 10/s)
  select at, value from Reading where sensor.id = $s order by at desc limit 10
change measure (night 1/s, day 10k/s) insert Reading
";
    let by_day = |text: &str| {
        let model = parsed(text);
        let options = Options {
            mix: Some("day".into()),
            ..options("cassandra")
        };
        design(&model, &options).unwrap()
    };
    let day_first = TEXT.replace("night 1/s, day 10k/s", "day 10k/s, night 1/s");
    let (one, other) = (by_day(TEXT), by_day(&day_first));
    assert_eq!(broken(&one), Vec::<&str>::new());
    let reading = sizes(&one, "reading");
    assert_eq!(reading, sizes(&other, "reading"));
    // 500 a second of the busiest sensor for an hour, over 64 salts.
    assert_eq!(reading.partition_rows_max, 500.0 * 3600.0 / 64.0);
}

#[test]
fn what_is_left_out_of_a_structure_is_not_taken_for_rare() {
    let design = designed(
        "
model orders
enum Status { open, paid, packed, sent, lost, found, returned, refunded, closed, archived }
entity Order (100M) { id bigint key  status Status  at timestamp }
question todo (10/s) select id, at from Order where status = open order by at limit 10
change place (4k/s) insert Order { id, status = open, at }
",
        "dynamodb",
    );
    // Every insert may be of an open one, and here every one is.
    let heat = read_by(&design, "todo").heat.as_ref().unwrap();
    assert_eq!(heat.writes, 4000.0 / 8.0);
    assert_eq!(broken(&design), Vec::<&str>::new());
}

#[test]
fn a_row_that_moves_is_written_twice() {
    let design = designed(
        "
model games
entity Game (10) { id bigint key }
entity Player (1M) {
  id    bigint key
  game  -> Game as players (avg 100k, max 1M)
  score int
}
question top (10/s) select id, score from Player where game.id = $g order by score desc limit 10
change score (900/s) update Player set score where id = $id
",
        "dynamodb",
    );
    // 1,800 of one game, of which a partition serves 1,000.
    let heat = read_by(&design, "top").heat.as_ref().unwrap();
    assert_eq!(heat.writes, 1800.0 / 4.0);
    assert_eq!(broken(&design), Vec::<&str>::new());
}

#[test]
fn a_split_needs_no_head_room_for_writes() {
    let design = designed(
        "
model log
entity Device (1k) { id bigint key }
entity Event (1B) {
  device  -> Device as events (avg 1M, max 200M) key
  at      timestamp key
  payload text(300, max 800)
}
question latest (1k/s) select at, payload from Event where device.id = $d order by at desc limit 10
change log (20k/s) insert Event
",
        "cassandra",
    );
    // 4,000 of 5,000 writes a second go to one device: a split does not divide them, and need not.
    assert_eq!(broken(&design), Vec::<&str>::new());
    assert!(!design.splits.is_empty());
}

#[test]
fn salts_divide_what_groups_are_of() {
    let design = designed(
        "
model posts
entity Post (10M) {
  id   bigint key
  tags set<text(8, max 20)> (avg 3, max 20) distinct 1000 (max 9M)
}
question tagged (50/s) select id from Post where tags has $t order by id limit 10
change post (100/s) insert Post
",
        "cassandra",
    );
    assert_eq!(broken(&design), Vec::<&str>::new());
    assert!(read_by(&design, "tagged").partition_rows_max <= 50_000.0);
}

#[test]
fn a_counter_over_salts_of_something_else_is_written_in_shares() {
    let design = given(
        "
model sales
entity Shop (100) { id bigint key }
entity Sale (100M) {
  id   bigint key
  at   timestamp
  shop -> Shop as sales (avg 1M, max 50M)
}
question per_day (10/s)
  select day(at) as d, count(*) as n from Sale where shop.id = $s group by day(at) order by d
change sell (10k/s) insert Sale
schema sharded {
  shops lists Shop by id
  sales lists Sale by id keep at, shop
  days groups Sale by shop.id, hash(id, 16) order by day(at) keep count(*)
}
",
        "dynamodb",
    );
    let heat = sizes(&design, "days").heat.as_ref().unwrap();
    assert_eq!(heat.writes, 5000.0 / 16.0);
}

#[test]
fn a_hot_partition_is_no_reason_to_read_everything() {
    const TEXT: &str = "
model items
entity Item (100k) {
  id   bigint key
  cat  int distinct 100 (max 5k)
  text text(1000)
}
question list (1k/s) select id, text from Item where cat = $c
change add (20/s) insert Item
";
    let design = designed(TEXT, "dynamodb");
    assert_eq!(design.plans[0].rows, 1000.0);
    assert!(design.plans[0].cost < 1000.0, "{}", design.plans[0].cost);
    // What nothing helps against is told.
    assert_eq!(broken(&design), vec!["W024"]);
}

#[test]
fn subtypes_are_as_many_as_the_model_says() {
    let design = designed(
        "
model events
entity Event (50M) { id timeuuid key  who bigint distinct 1M }
entity Login is Event (40M) { ip text(15) }
entity Fraud is Event (100k) { score float }
question frauds (200/s) select id, score from Fraud where who = $w order by id desc limit 10
change log (1k/s) insert Login
",
        "embedded",
    );
    let sizes = read_by(&design, "frauds");
    assert_eq!(sizes.rows, 100_000.0);
    assert!((design.plans[0].rows - 0.1).abs() < 1e-9);
}

#[test]
fn what_a_structure_keeps_one_value_of_divides_nothing_again() {
    const MODEL: &str = "
model tickets
enum State { a, b, c }
entity Ticket (1M) { id bigint key  owner bigint distinct 1k  state State  title text(20) }
question q (100/s) select id, title from Ticket where owner = $o and state = a
";
    let with = |by: &str| {
        let schema = "t lists Ticket by id keep *\n  x lists Ticket where state = a by ";
        let schema = format!("schema s {{\n  {schema}{by} order by id keep title\n}}\n");
        given(&format!("{MODEL}{schema}"), "embedded")
    };
    let (once, twice) = (with("owner"), with("owner, state"));
    assert_eq!(once.plans[0].rows, twice.plans[0].rows);
    assert!(twice.plans[0].cost >= once.plans[0].cost);
}

#[test]
fn a_link_that_comes_brings_rows_and_takes_none() {
    let design = designed(
        "
model feeds
entity User (1k) {
  id      bigint key
  follows ->> User (avg 20, max 100) as followers (avg 20, max 500)
}
entity Post (20k) {
  id     timeuuid key
  body   text(100)
  author -> User as posts (avg 20, max 500)
}
question feed (10k/s)
  select id, body from Post where author.followers.id = $me order by id desc limit 30
change follow   (1/s) connect User.follows
change unfollow (1/s) disconnect User.follows
change publish  (1/s) insert Post
",
        "embedded",
    );
    let written = |change: &str| {
        let write = design.writes.iter().find(|w| w.name == change).unwrap();
        let steps = write.steps.iter().map(|s| s.rows);
        steps.sum::<f64>()
    };
    // The link itself, and the posts of one author.
    assert_eq!((written("follow"), written("unfollow")), (21.0, 21.0));
}

/// Many forms of one structure, spread in one way or another, leave room for other plans.
#[test]
fn what_is_spread_leaves_room_for_other_plans() {
    const MODEL: &str = include_str!("../../examples/reddit.querent");
    let slow = MODEL.replace(
        "question discussion (2000/s)",
        "question discussion (300/s)",
    );
    assert_ne!(slow, MODEL);
    let ours = designed(&slow, "cassandra");
    let by_id = |s: &querent_compiler::view::Structure| {
        s.name.starts_with("comment_by_post") && s.columns.len() == 2
    };
    assert!(ours.structures.iter().any(by_id));
    // To find the comments of who is renamed would cost more than to look up the names.
    let found = |s: &querent_compiler::view::Structure| s.name.starts_with("comment_by_author");
    assert!(!ours.structures.iter().any(found));
}

/// What a far condition is about is fetched for the rows that the near ones let pass.
#[test]
fn near_conditions_come_before_far_ones() {
    const TEXT: &str = "
model bids
entity User (2k) { id bigint key }
entity Item (20k) { id bigint key  ends timestamp }
entity Bid (200k) {
  id   bigint key
  user -> User as bids (avg 100, max 10k)
  item -> Item as bids (avg 10, max 1k)
}
question mine (1/s) select id, item.id as item from Bid where user.id = $u and item.ends >= $after
schema s {
  users lists User by id
  items lists Item by id keep ends
  bids  lists Bid by id keep user, item
}
";
    let design = given(TEXT, "embedded");
    let steps = design.plan_steps(&parsed(TEXT), &design.plans[0].plan);
    let ops: Vec<&str> = steps.iter().map(|s| s["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["scan", "filter", "follow", "filter"]);
    assert_eq!(steps[2]["rows"].as_f64(), Some(100.0));
}
