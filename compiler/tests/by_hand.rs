//! Structures that a person writes by hand: no design costs more than a schema of the same model.

#![allow(clippy::unwrap_used)]

use querent_compiler::design::{Options, design, target};

/// The design costs no more than any schema that keeps within the target's limits; one that does
/// not may be cheaper than whatever does.
fn no_dearer_than_by_hand(text: &str, targets: &[&str]) {
    let (model, found) = querent_compiler::parse("by_hand.querent", text);
    let model = model.unwrap_or_else(|| panic!("{found:#?}\n{text}"));
    for name in targets {
        let options = Options {
            target: target::named(name).unwrap(),
            ..Options::embedded()
        };
        let made = design(&model, &options).unwrap();
        for schema in &model.schemas {
            let given = Options {
                given: Some(schema.clone()),
                ..options.clone()
            };
            let given = design(&model, &given).unwrap();
            assert!(given.warnings.is_empty(), "{name}: {:?}", given.warnings);
            assert!(
                made.total <= given.total * (1.0 + 1e-9),
                "{name}: {} designed, {} by hand",
                made.total,
                given.total
            );
        }
    }
}

const ALL: [&str; 4] = ["embedded", "cassandra", "dynamodb", "mongodb"];

/// What is live, by each of its tags.
#[test]
fn tags_of_what_is_live() {
    no_dearer_than_by_hand(
        "model partial_tag
enum Vis { draft, live, gone }
entity Doc (1M) {
  id    timeuuid  key
  title text(60)
  vis   Vis
  tags  set<text(10)> (avg 4, max 30) distinct 20k
}
question tagged (800/s) select id, title from Doc where tags has $t and vis = live order by id desc limit 30
change write   (50/s) insert Doc
change publish (50/s) update Doc set vis where id = $s
schema hand {
  doc lists Doc by id keep title, vis, tags
  live_by_tag groups Doc where vis = live by tags order by id desc keep title
}
",
        &ALL,
    );
}

/// What the author says may leave rows out, too.
#[test]
fn posts_of_verified_authors() {
    no_dearer_than_by_hand(
        "model path_partial
entity User (1M) {
  id bigint key
  name text(20)
  verified bool
  banned bool
}
entity Post (50M) {
  id timeuuid key
  author -> User as posts (avg 50, max 10k)
  topic text(8) distinct 5k (max 100k)
  body text(100)
  tags set<text(8)> (avg 3, max 20) distinct 10k (max 200k)
}
question v (500/s) select id, body from Post where topic = $t and author.verified and author.banned = false order by id desc limit 20
question w (500/s) select id, body from Post where tags has $t and author.verified order by id desc limit 20
change add (100/s) insert Post
change ver (1/s) update User set verified where id = $id
schema hand {
  user lists User by id keep *
  post lists Post by id keep *
  ba lists Post by author.id order by id
  v lists Post where author.verified and author.banned = false by topic order by id desc keep body
  w groups Post where author.verified by tags order by id desc keep body
}
",
        &["embedded", "dynamodb", "mongodb"],
    );
}

/// Those that hold a constant.
#[test]
fn what_is_featured() {
    no_dearer_than_by_hand(
        "model featured
entity Doc (5M) {
  id timeuuid key
  title text(60)
  tags set<text(10)> (avg 4, max 30) distinct 20k
}
question featured (200/s) select id, title from Doc where tags has 'featured' order by id desc limit 20
change write (500/s) insert Doc
change edit (100/s) update Doc set title where id = $id
schema hand0 {
  doc lists Doc by id keep *
  feat lists Doc where tags has 'featured' by 0 order by id desc keep title
}
",
        &["embedded", "dynamodb", "mongodb"],
    );
}

/// What three questions have in common of their constants.
#[test]
fn what_is_open_for_several_questions() {
    no_dearer_than_by_hand(
        "model shared_const
enum St { open, done, dropped }
entity Ticket (20M) {
  id bigint key
  team bigint distinct 5k (max 20k)
  prio int distinct 5
  kind text(8) distinct 10
  st St
  at timestamp
  title text(40)
}
question nospam (50/s) select id, title from Ticket where team = $t and kind != 'spam' and st = open order by at limit 20
question serious (50/s) select id, title from Ticket where team = $t and prio != 0 and st = open order by at limit 20
question both (50/s) select id, title from Ticket where team = $t and prio != 0 and kind != 'spam' and st = open order by at limit 20
change add (500/s) insert Ticket
change fin (500/s) update Ticket set st = done where id = $id
schema hand {
  ticket lists Ticket by id keep team, prio, kind, st, at, title
  open lists Ticket where st = open by team order by at keep title, prio, kind
}
",
        &ALL,
    );
}

/// The same of groups.
#[test]
fn totals_of_what_is_open() {
    no_dearer_than_by_hand(
        "model groups_const
enum St { open, held, done }
entity T (20M) {
  id bigint key
  team int distinct 5k (max 50k)
  st St
  kind text(6) distinct 4
  prio int distinct 5
  hours int
}
question a (20/s) select prio, count(*) as n from T where team = $t and st = open and kind != 'x' group by prio
question b (20/s) select prio, count(*) as n, sum(hours) as h from T where team = $t and st = open and kind != 'y' group by prio
question c (20/s) select count(*) as n from T where team = $t and st = open
change add (500/s) insert T
change move (1k/s) update T set st where id = $id
schema hand {
  t lists T by id keep *
  g groups T where st = open by team order by prio, kind keep count(*), sum(hours)
}
",
        &ALL,
    );
}

/// What is equal to something is not null.
#[test]
fn what_few_have() {
    no_dearer_than_by_hand(
        "model sparse_insert
entity Mod (10k) {
  id bigint key
  name text(10)
}
entity Post (50M) {
  id timeuuid key
  body text(100)
  coupon text(8)? distinct 10k (max 1k)
  flagged_by -> Mod? as flags (avg 50, max 10k) on delete clear
}
question flags (100/s) select id, body from Post where flagged_by.id = $m order by id desc limit 20
question coups (100/s) select id, body from Post where coupon = $m order by id desc limit 20
change add (500/s) insert Post { id, body }
change flag (5/s) update Post set flagged_by where id = $id
change coup (5/s) update Post set coupon where id = $id
schema hand {
  mod lists Mod by id keep name
  post lists Post by id keep *
  flags lists Post where flagged_by is not null by flagged_by.id order by id desc keep body
  coups lists Post where coupon is not null by coupon order by id desc keep body
}
",
        &ALL,
    );
}

/// What changes often is no part of a key.
#[test]
fn all_but_what_changes() {
    no_dearer_than_by_hand(
        "model volatile
entity Car (5M) {
  id bigint key
  make text(8) distinct 50 (max 200k)
  fuel text(6) distinct 5
  kind text(6) distinct 12
  doors int distinct 5
  city text(10) distinct 1k (max 20k)
  sold bool
}
question full   (300/s) select id from Car where make = $m and fuel = $f and kind = $c and doors = $d and city = $z and sold = $s limit 20
change add (300/s) insert Car
change sell (3k/s) update Car set sold where id = $id
schema hand {
  car lists Car by id keep *
  by5 lists Car by make, fuel, kind, doors, city order by id keep sold
}
",
        &ALL,
    );
}

/// Groups by whatever one of four questions asks for.
#[test]
fn one_cube_for_four_questions() {
    no_dearer_than_by_hand(
        "model cube
enum St { ok, warn, fail }
entity Ev (1B) {
  id timeuuid key
  tenant int distinct 1k (max 5M)
  at timestamp
  st St
  kind text(6) distinct 8
  region text(4) distinct 6
  bytes bigint
}
question q1 (5/s) select day(at) as d, sum(bytes) as b from Ev where tenant = $t and st = $s group by day(at) order by d
question q2 (5/s) select day(at) as d, sum(bytes) as b from Ev where tenant = $t and kind = $k group by day(at) order by d
question q3 (5/s) select day(at) as d, sum(bytes) as b from Ev where tenant = $t and region = $r group by day(at) order by d
question q4 (5/s) select day(at) as d, sum(bytes) as b from Ev where tenant = $t group by day(at) order by d
change log (5k/s) insert Ev
schema hand {
  ev lists Ev by id keep *
  cube groups Ev by tenant order by day(at), st, kind, region keep sum(bytes)
}
",
        &ALL,
    );
}

/// An order alone, where what is asked for changes often.
#[test]
fn an_order_and_a_filter() {
    no_dearer_than_by_hand(
        "model order_only
enum St { queued, live, gone }
entity Doc (2M) {
  id timeuuid key
  st St
  at timestamp
  title text(40)
}
question newest (5/s) select id, title from Doc where st = live order by at desc limit 20
change write (5/s) insert Doc
change flip (3k/s) update Doc set st where id = $id
schema hand {
  doc lists Doc by id keep *
  ord lists Doc by 0, bucket(at, month), hash(id, 2) order by at desc, id desc
}
",
        &["dynamodb"],
    );
}

/// A counter for each tag.
#[test]
fn how_many_have_a_tag() {
    no_dearer_than_by_hand(
        "model tagcount
entity Doc (5M) {
  id bigint key
  title text(40)
  tags set<text(10)> (avg 4, max 30) distinct 20k (max 500k)
}
question ntag (500/s) select count(*) as n from Doc where tags has $t
change add (20/s) insert Doc
schema hand {
  doc lists Doc by id keep *
  n groups Doc by tags keep count(*)
}
",
        &ALL,
    );
}

/// What an entry of a map says is the same whichever way it is asked for.
#[test]
fn entries_of_maps_are_found() {
    let text = |condition: &str| {
        format!(
            "model entries
entity Prod (2M) {{
  sku text(10) key
  price decimal
  extra map<text(8), text(8)> (avg 5, max 60)
}}
question by_extra (20/s) select sku, price from Prod where {condition} order by sku limit 50
change add (5/s) insert Prod
"
        )
    };
    for name in ALL {
        let any = total(&text("any extra (key = $name and value = $value)"), name);
        let at = total(&text("extra[$name] = $value"), name);
        assert!(at <= any * (1.0 + 1e-9), "{name}: {at}, {any} with any");
    }
}

/// A counter that changes often, beside a text that is long.
#[test]
fn a_counter_beside_a_long_text() {
    no_dearer_than_by_hand(
        "model blog
entity Post (1M) {
  id     uuid key
  title  text(60, max 200)
  body   text(8000, max 60k)
  views  bigint
}
question read (100/s)  select title, body, views from Post where id = $id
question seen (50/s)   select views from Post where id = $id
change view (2k/s)     update Post set views = views + 1 where id = $id
change write (1/s)     insert Post
schema hand {
  post  lists Post by id keep title, body
  views lists Post by id keep views
}
",
        &ALL,
    );
}

/// A home is divided where that pays, and nowhere else: both parts are named, found by the same key,
/// and keep each fact once.
#[test]
fn a_home_is_divided_where_that_pays() {
    let text = |rate: &str| {
        format!(
            "model blog
entity Post (1M) {{ id uuid key  title text(60)  body text(8000, max 60k)  views bigint }}
question read (100/s)  select title, body, views from Post where id = $id
change view ({rate})   update Post set views = views + 1 where id = $id
change write (1/s)     insert Post
"
        )
    };
    let made = |rate: &str| {
        let (model, _) = querent_compiler::parse("m", &text(rate));
        design(&model.unwrap(), &Options::embedded()).unwrap()
    };
    let names = |rate: &str| {
        let structures = made(rate).structures.into_iter();
        structures.map(|s| s.name).collect::<Vec<_>>()
    };
    assert_eq!(names("2k/s"), ["post_views", "post"]);
    assert_eq!(names("1/h"), ["post"]);
    let divided = made("2k/s");
    let facts: Vec<String> = divided
        .notes
        .iter()
        .flat_map(|n| n.home_of.clone())
        .collect();
    let mut sorted = facts.clone();
    sorted.sort();
    assert_eq!(sorted, ["Post.body", "Post.id", "Post.title", "Post.views"]);
    for note in &divided.notes {
        assert!(
            note.techniques.contains(&"blob-apart".to_owned()),
            "{note:?}"
        );
    }
}

/// One key for questions that ask for more and more of it, in whatever order the fields are declared.
#[test]
fn one_key_for_questions_that_drill_down() {
    no_dearer_than_by_hand(
        "model chain
enum St { open, held, done }
entity T (20M) {
  id bigint key
  tenant int distinct 5k (max 50k)
  owner int distinct 20k (max 9k)
  st St
  title text(40)
}
question a (200/s) select id, title from T where tenant = $t
question b (200/s) select id, title from T where tenant = $t and st = $s
question c (200/s) select id, title from T where tenant = $t and st = $s and owner = $o
change add (500/s) insert T
schema hand {
  t lists T by id keep *
  x lists T by tenant order by st, owner keep title
}
",
        &ALL,
    );
}

/// What one question has a range of stands before what another one compares as well.
#[test]
fn one_key_for_equalities_and_a_range() {
    no_dearer_than_by_hand(
        "model rangeshare
entity Ev (50M) {
  id bigint key
  device int distinct 5k (max 50k)
  kind int distinct 50 (max 9M)
  day date distinct 100
  v float
}
question one (500/s) select v from Ev where device = $d and day = $y and kind = $k
question span (100/s) select day, kind, v from Ev where device = $d and day between $f and $t
change add (500/s) insert Ev
schema hand {
  t lists Ev by id keep *
  x lists Ev by device order by day, kind keep v
}
",
        &ALL,
    );
}

/// The same of groups.
#[test]
fn one_key_of_groups_for_questions_that_drill_down() {
    no_dearer_than_by_hand(
        "model chain_groups
enum St { open, held, done }
entity T (20M) {
  id bigint key
  tenant int distinct 5k (max 50k)
  owner int distinct 200 (max 900k)
  st St
  hours int
}
question a (200/s) select sum(hours) as n from T where tenant = $t
question b (200/s) select sum(hours) as n from T where tenant = $t and st = $s
question c (200/s) select sum(hours) as n from T where tenant = $t and st = $s and owner = $o
change add (500/s) insert T
schema hand {
  t lists T by id keep *
  x groups T by tenant order by st, owner keep sum(hours)
}
",
        &ALL,
    );
}

/// A collection that is kept has the first of its rows, and each value of them.
#[test]
fn one_collection_for_a_shorter_one() {
    no_dearer_than_by_hand(
        "model sharedcoll
entity Post (1M) { id bigint key  title text(60) }
entity Comment (10M) {
  id timeuuid key
  post -> Post as comments (avg 10, max 200)
  body text(100)
}
question top (2000/s) select title, comments { body order by id desc limit 3 } from Post where id = $id
question more (2000/s) select title, comments { id, body order by id desc limit 20 } from Post where id = $id
change add (200/s) insert Comment
schema hand {
  c lists Comment by id keep *
  p lists Post by id keep title, comments { id, body order by id desc limit 20 }
  cp lists Comment by post.id order by id desc keep body
}
",
        &ALL,
    );
}

/// What the design of a model costs.
fn total(text: &str, name: &str) -> f64 {
    let (model, found) = querent_compiler::parse("said.querent", text);
    let model = model.unwrap_or_else(|| panic!("{found:#?}\n{text}"));
    let options = Options {
        target: target::named(name).unwrap(),
        ..Options::embedded()
    };
    design(&model, &options).unwrap().total
}

/// Groups of what refers to an instance are kept, whichever of the two is asked.
#[test]
fn nested_groups_are_kept_like_flat_ones() {
    let text = |question: &str| {
        format!(
            "model nestedgroup
enum St {{ open, held, done, dropped }}
entity Team (5k) {{ id int key  name text(20) }}
entity T (20M) {{ id bigint key  team -> Team as ts (avg 4k, max 50k)  st St }}
question q (100/s) {question}
change add (50/s) insert T
change mv (50/s) update T set st where id = $id
"
        )
    };
    for name in ALL {
        let of = |question: &str| total(&text(question), name);
        let flat = of("select st, count(*) as n from T where team.id = $t group by st");
        let nested = of("select ts { st, count(*) as n group by st } from Team where id = $t");
        // The team is read, too.
        assert!(nested <= 1.5 * flat, "{name}: {nested} nested, {flat} flat");
    }
}

/// What all alternatives say is said once.
#[test]
fn a_factor_of_alternatives_is_taken_out() {
    let text = |condition: &str| {
        format!(
            "model orfactor
entity T (20M) {{
  id bigint key
  team int distinct 5k (max 50k)
  st int distinct 4
  prio int distinct 5
  title text(40)
}}
question q (100/s) select id, title from T where {condition}
change add (50/s) insert T
"
        )
    };
    let same = [
        (
            "(team = $t and st = 1) or (team = $t and prio = 1)",
            "team = $t and (st = 1 or prio = 1)",
        ),
        ("team = $t or (team = $t and prio = 1)", "team = $t"),
    ];
    for name in ALL {
        for (one, other) in same {
            let (a, b) = (total(&text(one), name), total(&text(other), name));
            assert!(
                (a - b).abs() <= 1e-6 * b,
                "{name}: {a} for `{one}`, {b} for `{other}`"
            );
        }
    }
}
