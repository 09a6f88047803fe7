//! A design printed as a `schema` block is read again as the same structures, at the same price.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::design::{Design, Options, design, source, target};
use querent_compiler::model::Model;
use querent_compiler::view::Structure;

fn read(name: &str, text: &str) -> Model {
    let (model, found) = querent_compiler::parse(name, text);
    model.unwrap_or_else(|| panic!("{name}: {found:#?}\n{text}"))
}

/// Which long parts are hashed is for the design to say.
fn plain(structures: &[Structure]) -> Vec<Structure> {
    let open = |s: &Structure| Structure {
        hashed: vec![],
        ..s.clone()
    };
    structures.iter().map(open).collect()
}

fn options(name: &str) -> Options {
    Options {
        target: target::named(name).unwrap(),
        ..Options::embedded()
    }
}

/// The model with one more schema, and the design of that schema.
fn given(name: &str, text: &str, block: &str, options: &Options) -> (Model, Design) {
    let text = format!("{text}\n{block}");
    let formatted = querent_compiler::format(&text).unwrap();
    let model = read(name, &formatted);
    let schema = model.schemas.last().unwrap();
    let options = Options {
        given: Some(schema.clone()),
        ..options.clone()
    };
    let made = design(&model, &options).unwrap();
    (model, made)
}

fn examples() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|f| f.extension().is_some_and(|e| e == "querent"))
        .collect();
    files.sort();
    let read = |f: std::path::PathBuf| {
        let text = std::fs::read_to_string(&f).unwrap();
        (f.display().to_string(), text)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn a_design_given_as_a_schema_is_the_same_design() {
    for (name, text) in examples() {
        for target in target::NAMES {
            let model = read(&name, &text);
            let options = options(target);
            let made = design(&model, &options).unwrap();
            let block = source::schema(&model, "printed", &made.structures);
            let (again, priced) = given(&name, &text, &block, &options);
            let schema = again.schemas.last().unwrap();
            assert_eq!(
                plain(&made.structures),
                schema.structures,
                "{name} on {target}\n{block}"
            );
            let close = (priced.total - made.total).abs() <= 1e-9 * made.total;
            assert!(
                close,
                "{name} on {target}: {} designed, {} given\n{block}",
                made.total, priced.total
            );
            let json = made.to_json(&model, 0.0);
            assert_eq!(
                source::schema_of_json("printed", &json).unwrap(),
                block,
                "{name} on {target}"
            );
        }
    }
}

/// Two schemas may name structures alike: a finding stands in the one that it is about.
#[test]
fn a_finding_stands_in_its_own_schema() {
    let model = "model m\n\
                 entity User (100) {\n  id bigint key\n  name text(20)\n}\n\
                 question who (1/s)\n  select name from User where id = $id\n\
                 change join (1/s)  insert User\n\
                 schema first {\n  user lists User by id keep name\n}\n";
    let block =
        "schema second {\n  home lists User by id keep name\n  user lists User by name\n}\n";
    let text = querent_compiler::format(&format!("{model}\n{block}")).unwrap();
    let (_, made) = given("m", model, block, &options("embedded"));
    let unused = made.warnings.iter().find(|w| w.code == "W032").unwrap();
    let second = text.find("schema second").unwrap();
    assert!(unused.diagnostic(&text).span.start > second);
}

/// What a structure that groups unfolds by `over` is what its aggregates are about.
#[test]
fn an_aggregate_of_a_group_is_about_what_is_unfolded() {
    let model = "model m\n\
                 entity Sale (1k) {\n  id bigint key\n  shop text(9)\n  \
                 lines list<{ price int }> (avg 3, max 9)\n}\n\
                 question paid (1/s)\n  select lines { price } from Sale where id = $id\n\
                 change sell (1/s)  insert Sale\n";
    let block = "schema s {\n  totals groups Sale over lines by shop keep sum(lines.price)\n}\n";
    let text = model;
    let (model, _) = given("m", text, block, &options("embedded"));
    let structure = &model.schemas[0].structures[0];
    assert_eq!(structure.over.len(), 1);
    let printed =
        querent_compiler::design::source::schema(&model, "s", std::slice::from_ref(structure));
    assert!(printed.contains("keep sum(lines.price)"), "{printed}");
    let again = given("m", text, &printed, &options("embedded")).0;
    assert_eq!(again.schemas[0].structures[0], *structure);
}

/// There must be a structure that finds who has a unique value, whether or not a change looks.
#[test]
fn a_structure_that_tells_unique_values_apart_has_a_use() {
    let model = "model m\n\
                 entity User (1k) {\n  id bigint key\n  name text(9) unique\n}\n\
                 question user (1/s)\n  select name from User where id = $id\n";
    let block = "schema s {\n  users lists User by id keep name\n  names lists User by name\n}\n";
    let (_, made) = given("m", model, block, &options("embedded"));
    assert!(made.warnings.iter().all(|w| w.code != "W032"));
}

/// The most rows that a change writes follow from the most instances that it finds.
#[test]
fn a_change_that_finds_many_writes_as_many_at_most() {
    let model = "model m\n\
                 entity Genre (20) {\n  id int key\n  name text(9) unique\n}\n\
                 entity Track (1k) {\n  id int key\n  price int\n  title text(9)\n  \
                 genre -> Genre as tracks (avg 50, max 400)\n}\n\
                 question track (1/s)\n  select price, title from Track where id = $id\n\
                 change by_id (1/s)    update Track set price where id = $id\n\
                 change by_ref (1/s)   update Track set price where genre = $genre\n\
                 change by_name (1/s)  update Track set price where genre.name = $name\n\
                 change by_range (1/s) update Track set price = 1 where price > $price\n";
    let block = "schema s {\n  tracks lists Track by id keep price, title, genre\n}\n";
    let (_, made) = given("m", model, block, &options("embedded"));
    let most = |name: &str| {
        let plan = made.writes.iter().find(|w| w.name == name).unwrap();
        let puts = plan
            .steps
            .iter()
            .filter(|s| s.op == "put" && s.structure == "tracks");
        puts.map(|s| s.rows_max).sum::<f64>()
    };
    assert_eq!(
        ["by_id", "by_ref", "by_name", "by_range"].map(most),
        [1.0, 400.0, 400.0, 1000.0]
    );
}

const POPULAR: &str = "model m
entity User (10M) { id int key }
entity Forum (10M) { name text(9, max 9) key }
entity Post (20M) {
  id int key
  score int
  author -> User as posts (avg 2, max 500)
  forum -> Forum as posts (avg 2, max 500)
}
question best (100/s) select id, score from Post where author.id = $user order by score desc limit 5
question worst (100/s) select id, score from Post where forum.name = $forum order by score limit 5
change write (1/s) insert Post
change give (1/s) update Post set author where id = $id
change withdraw (1/s) delete Post where id = $id
";

/// The number of a sub-partition is written by what is split.
#[test]
fn popular_keys_that_are_split_are_read_again() {
    let mut options = options("cassandra");
    options.target.limits.partition_rows = Some(32.0);
    let made = design(&read("m", POPULAR), &options).unwrap();
    assert_eq!(made.splits.len(), 2);
    let model = made.model_of(&read("m", POPULAR));
    let block = source::schema(&model, "printed", &made.structures);
    assert!(block.contains("split(author.id, 16)"), "{block}");
    let json = made.to_json(&model, 0.0);
    assert_eq!(source::schema_of_json("printed", &json).unwrap(), block);
    let (again, priced) = given("m", POPULAR, &block, &options);
    let schema = again.schemas.last().unwrap();
    assert_eq!(plain(&made.structures), schema.structures, "{block}");
    assert_eq!(made.splits, priced.splits, "{block}");
    assert_eq!(
        plain(&made.structures),
        plain(&priced.structures),
        "{block}"
    );
    let close = (priced.total - made.total).abs() <= 1e-9 * made.total;
    assert!(
        close,
        "{} designed, {} given\n{block}",
        made.total, priced.total
    );
    // Whoever gives only the list gets the home of the number and the totals with it.
    let alone = "schema alone {\n  posts lists Post by author.id, split(author.id, 16) \
                 order by score desc, id desc\n}\n";
    let (_, completed) = given("m", POPULAR, alone, &options);
    let number = completed.splits[0].number();
    let mut held = completed
        .structures
        .iter()
        .filter(|s| s.columns.contains(&number));
    assert!(held.next().is_some(), "{alone}");
}

/// What cannot be split so is refused where it is written.
#[test]
fn a_split_that_cannot_be_says_why() {
    let said = |part: &str, keep: &str| {
        let block =
            format!("schema s {{\n  a lists Post by author, {part} order by id keep {keep}\n}}\n");
        let (model, found) = querent_compiler::parse("m", &format!("{POPULAR}\n{block}"));
        assert!(model.is_none(), "{block}");
        let told = found.iter().filter(|d| d.is_error());
        let told: Vec<String> = told
            .map(|d| format!("{} {}", d.code.id, d.message))
            .collect();
        told.join("\n")
    };
    assert_eq!(
        said("split(author, 0)", "score"),
        "E071 a sub-partition holds some rows of what is split"
    );
    for malformed in ["split()", "split(10)"] {
        assert_eq!(
            said(malformed, "score"),
            "E071 a sub-partition holds some rows of what is split"
        );
    }
    assert_eq!(
        said("split(author, 10)", "split(forum, 10)"),
        "E071 no structure of the schema is split so"
    );
    assert_eq!(
        said("split(author, 10)", "split(author, 20)"),
        "E071 sub-partitions of 20 and of 10 rows"
    );
    assert_eq!(
        said("split(author.posts.score, 10)", "score"),
        "E071 what is split is for the instance itself to say"
    );
    for malformed in ["hash(id, 0)", "hash(id, -3)", "hash(id, 100000000000)"] {
        assert_eq!(
            said(malformed, "score"),
            "E071 a hash is one of 1 to 4096 values"
        );
    }
}

/// What expires is listed once, however the list is given.
#[test]
fn a_given_list_of_what_expires_is_enough() {
    let model = "model m\n\
                 entity Visit (1k) {\n  id bigint key\n  page text(20)\n} expires after 30d\n\
                 question visits (10/s)  select id, page from Visit order by id\n\
                 change visit (1/s)  insert Visit\n";
    for name in target::NAMES {
        let options = options(name);
        let made = design(&read("m", model), &options).unwrap();
        let block = source::schema(&read("m", model), "printed", &made.structures);
        let (_, priced) = given("m", model, &block, &options);
        assert_eq!(plain(&made.structures), plain(&priced.structures), "{name}");
        assert!((priced.total - made.total).abs() <= 1e-9 * made.total);
        // A home that says nothing of deadlines keeps them all the same.
        let alone = "schema alone {\n  visits lists Visit by id keep page\n}\n";
        let (_, completed) = given("m", model, alone, &options);
        let names: Vec<&str> = completed
            .structures
            .iter()
            .map(|s| s.name.as_str())
            .collect();
        assert_eq!(names, ["visits", "visit_in_order_of_expires"], "{name}");
        assert_eq!(completed.structures[0].columns.len(), 2, "{name}");
    }
}

const TALKS: &str = "model m
entity Room (20k) {
  id bigint key
}
entity Talk (200M) {
  room -> Room as talks (avg 10k, max 5M) key
  id timeuuid key
  body text(50)
}
question latest (100/s) select id, body from Talk where room.id = $room order by id desc limit 20
change say (10/s) insert Talk
";

fn names(design: &Design) -> Vec<&str> {
    let names = design.structures.iter().map(|s| s.name.as_str());
    names.collect()
}

/// Buckets without a directory get one, and one that was given is used however it is spelt.
#[test]
fn buckets_have_a_directory() {
    let options = options("cassandra");
    let rooms = "  rooms lists Room by id\n";
    let talks = "  talks lists Talk by room.id, bucket(id, day) order by id desc keep body\n";
    let block = |directory: &str| format!("schema s {{\n{rooms}{talks}{directory}}}\n");
    let (_, added) = given("m", TALKS, &block(""), &options);
    let kept = names(&added);
    assert!(
        kept.contains(&"talk_buckets_by_room_id_day_time_id"),
        "{kept:?}"
    );
    let cost = added.plans[0].cost;
    for order in ["", " asc", " desc"] {
        let directory = format!("  days groups Talk by room.id order by bucket(id, day){order}\n");
        let (_, used) = given("m", TALKS, &block(&directory), &options);
        assert_eq!(names(&used), ["rooms", "talks", "days"], "{order}");
        assert!((used.plans[0].cost - cost).abs() <= 1e-9 * cost, "{order}");
        assert!(used.warnings.iter().all(|w| w.code != "W032"), "{order}");
    }
}

/// A partition key of a bucket alone has a directory with a constant, or with nothing.
#[test]
fn buckets_of_everything_have_a_directory() {
    let model = "model m\n\
                 entity Video (10M) {\n  id bigint key\n  added timestamp\n}\n\
                 question latest (100/s)  select id from Video order by added desc limit 20\n\
                 change add (2/s)  insert Video\n";
    let options = options("cassandra");
    let block = |directory: &str| {
        format!(
            "schema s {{\n  videos lists Video by id keep added\n  \
             latest lists Video by bucket(added, day) order by added desc, id desc\n{directory}}}\n"
        )
    };
    let (_, added) = given("m", model, &block(""), &options);
    assert_eq!(added.structures.len(), 3, "{:?}", names(&added));
    let cost = added.plans[0].cost;
    assert!(cost < 1.0, "{cost}");
    for by in ["by 0 ", ""] {
        let directory = format!("  days groups Video {by}order by bucket(added, day)\n");
        let (_, used) = given("m", model, &block(&directory), &options);
        assert_eq!(names(&used), ["videos", "latest", "days"], "{by}");
        assert!((used.plans[0].cost - cost).abs() <= 1e-9 * cost, "{by}");
    }
}

/// A home that breaks a limit is the home all the same: the finding says what to write.
#[test]
fn a_given_home_stays_the_home() {
    let block = "schema s {\n  rooms lists Room by id\n  \
                 talks lists Talk by room.id order by id desc keep body\n}\n";
    let (_, made) = given("m", TALKS, block, &options("cassandra"));
    assert_eq!(names(&made), ["rooms", "talks"]);
    let told = made.warnings.iter().find(|w| w.code == "W020").unwrap();
    assert!(!told.message.contains("bring it down"), "{told:?}");
    // Each way is enough.
    for way in ["bucket(id, day)", "hash(id, 128)"] {
        assert!(
            told.help.contains(&format!("`by room.id, {way}`")),
            "{told:?}"
        );
        let block = block.replace("room.id", &format!("room.id, {way}"));
        let (_, made) = given("m", TALKS, &block, &options("cassandra"));
        let still = made.warnings.iter().find(|w| w.code == "W020");
        assert!(still.is_none(), "{still:?}");
    }
}

/// A home that was given keeps what it was given with, whatever limit it breaks; the rest has its
/// home elsewhere, and breaks it there.
#[test]
fn what_the_given_home_does_not_keep_has_another_home() {
    let model = "model m\n\
                 entity Switch (1k) {\n  on bool key\n  note text(9)\n}\n\
                 question notes (1/s)  select on, note from Switch order by on\n\
                 change note (50k/s)  insert Switch\n";
    let block = "schema s {\n  switches lists Switch by 0 order by on\n}\n";
    let (_, made) = given("m", model, block, &options("cassandra"));
    let keeps = made.structures.iter().filter(|s| !s.columns.is_empty());
    assert_eq!(keeps.count(), 1, "{:?}", names(&made));
    assert!(
        made.warnings.iter().any(|w| w.code == "W024"),
        "{:?}",
        made.warnings
    );
}

/// What is added makes up for what is missing, and makes nothing cheaper.
#[test]
fn what_is_added_keeps_no_aggregates() {
    let model = "model m\n\
                 entity Cart (20k) {\n  id bigint key\n  state int\n}\n\
                 entity Line (60k) {\n  cart -> Cart as lines (avg 3, max 500) key\n  \
                 sku bigint key\n  qty int\n}\n\
                 question total (500/s)  select sum(lines.qty) as n from Cart where id = $cart\n\
                 change add (1/s)  insert Line\n";
    let block = "schema s {\n  carts lists Cart by id keep state\n}\n";
    let (_, made) = given("m", model, block, &options("mongodb"));
    let aggregates = made.structures.iter().flat_map(|s| &s.columns);
    let mut aggregates =
        aggregates.filter(|c| matches!(c, querent_compiler::model::Expr::Aggregate(_)));
    assert_eq!(aggregates.next(), None, "{:?}", names(&made));
}

/// A number has its home in a structure that was given, where there is one.
#[test]
fn a_number_is_kept_in_the_given_home() {
    let mut options = options("cassandra");
    options.target.limits.partition_rows = Some(32.0);
    let block = "schema s {\n  users lists User by id keep *\n  posts lists Post by id keep *\n  \
                 by_author lists Post by author.id, split(author.id, 16) order by score desc, id desc\n}\n";
    let (_, made) = given("m", POPULAR, block, &options);
    let number = made.splits[0].number();
    let posts = made.structures.iter().find(|s| s.name == "posts").unwrap();
    assert!(posts.columns.contains(&number), "{:?}", names(&made));
    assert!(!names(&made).contains(&"post"), "{:?}", names(&made));
}

/// Counts stand beside other values where the target lets them, and else apart, as W033 asks of
/// schemas by hand.
#[test]
fn counts_stand_apart_where_the_target_asks_for_it() {
    let model = "model m\n\
                 entity Video (10k) {\n  id bigint key\n  title text(20)\n}\n\
                 entity Rating (1M) {\n  video -> Video as ratings (avg 100, max 20k) key\n  \
                 who bigint key\n  stars int\n}\n\
                 question video (1k/s)\n  \
                 select title, count(ratings) as n, sum(ratings.stars) as stars from Video where id = $id\n\
                 change rate (1/s)  insert Rating\n";
    for name in target::NAMES {
        let options = options(name);
        let made = design(&read("m", model), &options).unwrap();
        let counts = |c: &querent_compiler::model::Expr| {
            matches!(c, querent_compiler::model::Expr::Aggregate(_))
        };
        let mixed = |s: &Structure| s.columns.iter().any(counts) && !s.columns.iter().all(counts);
        let apart = options.target.capabilities.counters_apart;
        let found = made.structures.iter().any(mixed);
        assert_eq!(found, !apart, "{name}: {:?}", names(&made));
        let block = source::schema(&read("m", model), "printed", &made.structures);
        let (_, priced) = given("m", model, &block, &options);
        let codes = |d: &Design| {
            d.warnings
                .iter()
                .map(|w| w.code.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(codes(&made), codes(&priced), "{name}");
    }
}

/// Only what a store increments is a counter: counts and sums of whole numbers.
#[test]
fn counters_are_what_whole_numbers_are_added_to() {
    let model = "model m\n\
                 entity Shop (1k) {\n  id bigint key\n  city text(20)\n}\n\
                 entity Sale (1M) {\n  id bigint key\n  price decimal\n  pieces int\n  \
                 shop -> Shop as sales (avg 1k, max 50k)\n}\n\
                 question shop (9/s)  select city from Shop where id = $id\n\
                 change sell (1/s)  insert Sale\n";
    for (kept, counter) in [
        ("count(sales)", true),
        ("sum(sales.pieces)", true),
        ("sum(sales.price)", false),
        ("min(sales.pieces)", false),
        ("avg(sales.pieces)", false),
        ("count(distinct sales.pieces)", false),
    ] {
        let block = format!(
            "schema s {{\n  shops lists Shop by id keep city, {kept}\n  \
             sales lists Sale by id keep *\n}}\n"
        );
        let (_, made) = given("m", model, &block, &options("cassandra"));
        let told = made.warnings.iter().find(|w| w.code == "W033");
        assert_eq!(told.is_some(), counter, "{kept}: {told:?}");
        assert!(told.is_none_or(|w| w.message.contains(kept)), "{told:?}");
        let (_, made) = given("m", model, &block, &options("embedded"));
        assert!(made.warnings.iter().all(|w| w.code != "W033"), "{kept}");
    }
}

/// A change goes through everything where nothing finds what it changes, or who refers to it.
#[test]
fn changes_that_read_everything_are_found() {
    let model = "model m\n\
                 entity User (2M) {\n  id bigint key\n  name text(20) distinct 1M (max 9)\n}\n\
                 entity Post (40M) {\n  id bigint key\n  title text(20)\n  \
                 author -> User as posts (avg 20, max 100k)\n}\n\
                 question post (9/s)  select title from Post where id = $id\n\
                 change write (10k/s)  insert Post\n\
                 change rename (1/s)  update User set name where name = $old\n\
                 change leave (1/day)  delete User where id = $id\n";
    let told = |d: &Design, code: &str| -> Vec<String> {
        let of = d.warnings.iter().filter(|w| w.code == code);
        of.map(|w| w.message.clone()).collect()
    };
    let block =
        "schema s {\n  users lists User by id keep name\n  posts lists Post by id keep *\n}\n";
    let (_, made) = given("m", model, block, &options("embedded"));
    assert_eq!(
        told(&made, "W030"),
        [
            "`rename` reads all 2,000,000 rows of `users` to find what it changes",
            "`leave` reads all 40,000,000 rows of `posts` to find every Post that refers to what it \
             changes by `author`",
        ]
    );
    let better = block.replace(
        "\n}",
        "\n  by_name lists User by name order by id\n  by_author lists Post by author.id order by id\n}",
    );
    let (_, made) = given("m", model, &better, &options("embedded"));
    assert_eq!(told(&made, "W030"), Vec::<String>::new());
    // A design has a structure by name; by author one would cost more than a delete a day.
    let made = design(&read("m", model), &options("embedded")).unwrap();
    let found = told(&made, "W034");
    assert!(
        matches!(found.as_slice(), [one] if one.starts_with("`leave` reads all 40,000,000 rows")),
        "{found:?}"
    );
}

#[test]
fn a_record_that_is_kept_as_a_whole_answers_for_its_parts() {
    let text = "
entity User (1000) { id int key  home { city text(5), zip int }  n int }
question zipped (1/s) select id, home.city as city from User where home.zip < $x
change join (1/s) insert User
schema given { users lists User by id keep home, n }";
    let (model, found) = querent_compiler::parse("m", text);
    let model = model.unwrap_or_else(|| panic!("{found:?}"));
    let mut options = Options::embedded();
    options.given = model.schemas.first().cloned();
    let design = design(&model, &options).unwrap();
    assert_eq!(design.structures.len(), 1);
}

const EVENTS: &str = "entity Tenant (1k) { id bigint key }
enum Kind { start, stop, fail }
entity Event (100M) {
  id bigint key
  tenant -> Tenant as events (avg 100k, max 5M)
  kind Kind
  cost float
  at timestamp
}
change log (1000/s) insert Event
";

/// The steps of a question's plan over a schema by hand, as words and structures.
fn plan(question: &str, structures: &str) -> Vec<String> {
    let block = format!(
        "schema s {{ tenants lists Tenant by id\n events lists Event by id keep *\n {structures} }}"
    );
    let text = format!("{EVENTS}question q (10/s) {question}");
    let (model, made) = given("events", &text, &block, &options("embedded"));
    let unused: Vec<_> = made.warnings.iter().filter(|w| w.code == "W032").collect();
    assert!(unused.is_empty(), "{question}: {unused:?}");
    let steps = made.plan_steps(&model, &made.plans[0].plan);
    let told = steps.iter().map(|step| {
        let words = [&step["op"], &step["structure"]].into_iter();
        let words: Vec<&str> = words.filter_map(|w| w.as_str()).collect();
        words.join(" ")
    });
    told.collect()
}

#[test]
fn groups_are_read_by_a_prefix_of_their_key() {
    let kinds = "kinds groups Event by tenant.id order by kind keep count(*), avg(cost)";
    let days = "days groups Event by tenant.id order by day(at), kind keep count(*)";
    let of = "from Event where tenant.id = $t";
    for (question, structures, expected) in [
        (
            format!("select count(*) as n {of} and kind = $k"),
            kinds,
            &["get kinds"][..],
        ),
        (
            format!(
                "select kind, avg(cost) as c, sum(cost) as s {of} group by kind order by kind desc limit 2"
            ),
            kinds,
            &["get kinds", "limit"],
        ),
        (
            format!("select count(*) as n, avg(cost) as c {of}"),
            kinds,
            &["get kinds", "aggregate"],
        ),
        (
            format!("select count(*) as n {of} and kind in (start, fail)"),
            kinds,
            &["merge kinds", "aggregate"],
        ),
        (
            format!(
                "select month(at) as m, count(*) as n {of} and day(at) >= $d group by month(at)"
            ),
            days,
            &["get days", "aggregate"],
        ),
        (
            format!("select kind, count(distinct day(at)) as n {of} group by kind"),
            days,
            &["get days", "aggregate"],
        ),
    ] {
        assert_eq!(plan(&question, structures), expected, "{question}");
    }
}

/// What several gets find is merged by what stands in the key, and sorted by anything else.
#[test]
fn lists_of_keys_are_read_in_any_order() {
    let of = "of lists Event by tenant.id order by at, id keep kind, cost";
    for (question, structures, expected) in [
        (
            "select id, cost from Event where id in $ids order by cost desc limit 5",
            "",
            &["merge events", "sort", "limit"][..],
        ),
        (
            "select id, cost from Event where id in ($a, $b) order by cost limit 5 after $c",
            "",
            &["merge events", "sort", "page", "limit"],
        ),
        (
            "select id from Event where id in $ids order by id desc",
            "",
            &["merge events"],
        ),
        (
            "select id, at from Event where tenant.id in $tenants order by at limit 5",
            of,
            &["merge of", "limit"],
        ),
        (
            "select id, at from Event where tenant.id in $tenants order by at, cost limit 5",
            of,
            &["merge of", "sort", "limit"],
        ),
        (
            "select id, cost from Event where tenant.id in $tenants and at = $at order by cost",
            of,
            &["merge of", "sort"],
        ),
    ] {
        assert_eq!(plan(question, structures), expected, "{question}");
    }
}

#[test]
fn structures_that_leave_out_rows_are_read_where_a_question_implies_it() {
    let todo = "todo lists Event order by at, id where kind != stop keep cost";
    for filter in [
        "kind = fail",
        "kind in (fail, start)",
        "kind != stop and cost > 1",
    ] {
        let question = format!("select id from Event where {filter} order by at limit 10");
        let steps = plan(&question, todo);
        assert_eq!(
            steps.first().map(String::as_str),
            Some("scan todo"),
            "{filter}"
        );
        // What the structure says is not tested again.
        let tested = steps.iter().any(|s| s == "filter");
        assert_eq!(
            tested,
            filter != "kind in (fail, start)",
            "{filter}: {steps:?}"
        );
    }
    let counts = "counts groups Event by tenant.id where kind = fail keep count(*)";
    let question = "select count(*) as n from Event where kind = fail and tenant.id = $t";
    assert_eq!(plan(question, counts), ["get counts"]);
}

#[test]
fn groups_keep_no_extremes() {
    for kept in [
        "max(cost)",
        "min(at)",
        "count(distinct kind)",
        "sum(distinct cost)",
    ] {
        let block = format!("schema s {{ g groups Event by tenant.id keep {kept} }}");
        let (_, found) = querent_compiler::parse("g", &format!("{EVENTS}{block}"));
        assert!(
            found.iter().any(|d| d.code.id == "E070"),
            "{kept}: {found:?}"
        );
    }
}

const LINES: &str = "model m
entity Item (100) {
  sku    text(8)  key
  price  int
}
entity Ord (10k) {
  id     int  key
  kind   int
  lines  list<{ item -> Item, count int }> (avg 3, max 20)
}
change place (1/s) insert Ord
change price (1/s) update Item set price where sku = $sku
";

/// Nothing leads back from what an element refers to, so that a copy of it would go stale.
#[test]
fn nothing_is_copied_from_behind_an_element() {
    for (structure, code) in [
        ("groups Ord by lines.item.price", "E071"),
        (
            "lists Ord by id order by lines.position, lines.item.price",
            "E071",
        ),
        (
            "groups Ord by lines.item.sku keep sum(lines.item.price)",
            "E070",
        ),
        ("lists Ord by id keep lines { item.price }", "E070"),
        ("lists Ord by id keep sum(lines.item.price)", "E070"),
        (
            "groups Ord where any lines (item.price > 5) by kind",
            "E070",
        ),
    ] {
        let text = format!("{LINES}schema s {{ x {structure} }}");
        let (_, found) = querent_compiler::parse("x", &text);
        let codes: Vec<_> = found
            .iter()
            .map(|d| (d.code.id, d.help.as_deref()))
            .collect();
        assert_eq!(codes.len(), 1, "{structure}: {codes:?}");
        assert_eq!(codes[0].0, code, "{structure}");
        assert!(
            codes[0].1.unwrap().contains("nothing leads back"),
            "{codes:?}"
        );
    }
}

/// The key by which an element refers stands in the element.
#[test]
fn groups_by_what_elements_refer_to_are_kept() {
    let question = "question sold (1000/s)\n  select lines.item.sku, sum(lines.count) as n, \
                    count(lines.item.sku) as named from Ord group by lines.item.sku\n";
    let model = read("m", &format!("{LINES}{question}"));
    let made = design(&model, &options("embedded")).unwrap();
    let kept = made.structures.iter().find(|s| !s.over.is_empty()).unwrap();
    let block = source::schema(&model, "printed", std::slice::from_ref(kept));
    assert!(
        block.contains("lines.item.sku") && block.contains("keep sum(lines.count)"),
        "{block}"
    );
    let steps = made.plan_steps(&model, &made.plans[0].plan);
    assert_eq!(steps[0]["structure"], kept.name, "{steps:?}");
    let (again, _) = given(
        "m",
        &format!("{LINES}{question}"),
        &block,
        &options("embedded"),
    );
    assert_eq!(
        again.schemas[0].structures,
        plain(std::slice::from_ref(kept))
    );
    // What limits the rows of a structure is copied too.
    let question = "question dear (1000/s)\n  select kind, count(*) as n from Ord \
                    where any lines (item.price > 5) group by kind\n";
    let model = read("m", &format!("{LINES}{question}"));
    let made = design(&model, &options("embedded")).unwrap();
    let entity = |s: &Structure| &model.entity(s.anchor).name;
    let copied = |s: &&Structure| entity(s) == "Ord" && !s.filter.is_empty();
    assert!(
        !made.structures.iter().any(|s| copied(&s)),
        "{:?}",
        names(&made)
    );
}

/// The ends of a link are called `from` and `to`, and `from` is a word of questions too; and what
/// is nested behind a link may lead on over links of the same name.
#[test]
fn conditions_on_the_end_of_a_link_and_paths_behind_it_are_read_again() {
    let text = "model m
entity User (1k) {
  id int key
  age int
  follows ->> User (avg 5, max 50) as followers (avg 5, max 50) { since int }
}
question q (1/s) select id, follows { id, follows.age as ages, followers@since } from User where id = $id
";
    let block = "schema printed {
  user lists User by id
    keep age, follows { id, follows.age as ages, @since, followers@since as back }
  old lists User.follows where not from.age <= 3 by from.id order by to.id asc
    keep since
}
";
    let model = read("links.querent", &format!("{text}\n{block}"));
    let structures = plain(&model.schemas[0].structures);
    let again = source::schema(&model, "printed", &structures);
    let read_again = read("again.querent", &format!("{text}\n{again}"));
    assert_eq!(
        structures, read_again.schemas[0].structures,
        "{again}\nis not what was written"
    );
}

/// What is kept may be called as structures begin, and structures as their clauses do.
#[test]
fn words_of_schemas_may_be_names() {
    let text = "
model words
entity Team (10) { id bigint key  lists text(5)  by text(5) }
entity User (100) { id bigint key  groups ->> Team (avg 2, max 5) as members (avg 20, max 50) }
question of_team (1/s) select id from User where groups.id = $g order by id
schema given {
  keep lists Team by id keep lists
  by lists User by id
  over groups User over groups by groups.id order by id
  teams lists Team by id keep by
  links lists User.groups by from.id, to.id
}
";
    let model = read("words", text);
    let structures = &model.schemas[0].structures;
    let names: Vec<&str> = structures.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["keep", "by", "over", "teams", "links"]);
}

/// Messages of one code.
fn messages(design: &Design, code: &str) -> Vec<String> {
    let of = design.warnings.iter().filter(|w| w.code == code);
    of.map(|w| w.message.clone()).collect()
}

const POSTS: &str = "model m\n\
                     entity User (2M) {\n  id bigint key\n}\n\
                     entity Post (40M) {\n  id bigint key\n  at timestamp\n  title text(40, max 100)\n  \
                     author -> User as posts (avg 20, max 10k)\n}\n\
                     question latest (9/s)  select id, title, at from Post where author.id = $u \
                     order by at desc limit 10\n\
                     change post (1/s)  insert Post\n";

/// What a structure is cut into makes no difference to how much of it is read: constants, salts and
/// buckets that a directory lists bind nothing.
#[test]
fn pieces_that_are_all_read_are_a_scan() {
    for by in [
        "0",
        "hash(id, 16)",
        "bucket(at, month)",
        "0, bucket(at, hour)",
        "0, bucket(at, day), hash(id, 4)",
    ] {
        let block = format!(
            "schema s {{\n  users lists User by id\n  posts lists Post by id keep *\n  \
             x lists Post by {by} order by at desc, id desc keep title, author\n}}\n"
        );
        for on in ["cassandra", "dynamodb", "embedded", "mongodb"] {
            let (_, made) = given("m", POSTS, &block, &options(on));
            let found = messages(&made, "W030");
            assert!(
                matches!(found.as_slice(), [one] if one.starts_with("`latest` reads ")
                    && one.contains(" rows of `")),
                "{by} on {on}: {found:?}"
            );
        }
    }
    let found = |by: &str| {
        let block = format!(
            "schema s {{\n  users lists User by id\n  posts lists Post by id keep *\n  \
             x lists Post by {by} order by at desc, id desc keep title, author\n}}\n"
        );
        let (_, made) = given("m", POSTS, &block, &options("cassandra"));
        messages(&made, "W030")
    };
    // The number of rows is that of the plan: ten posts of one author are found before the end.
    let told = "`latest` reads 20,000,000 of the 40,000,000 rows of `x`";
    assert_eq!(found("hash(id, 16)"), [told]);
    let none: [&str; 0] = [];
    assert_eq!(found("author.id"), none);
    assert_eq!(found("author.id, bucket(at, month)"), none);
}

/// A limit for which every row counts ends the reading; a range does not begin at the start.
#[test]
fn a_limit_or_a_range_is_no_scan() {
    for question in [
        "select id, at from Post order by at desc limit 5000",
        "select id, at from Post where at > $from order by at desc limit 5000",
    ] {
        let model = format!(
            "model m\nentity Post (40M) {{\n  id bigint key\n  at timestamp\n}}\n\
             question q (9/s)  {question}\nchange post (1/s)  insert Post\n"
        );
        for by in ["0", "0, bucket(at, hour)", "hash(id, 16)"] {
            let block = format!(
                "schema s {{\n  posts lists Post by id keep *\n  \
                 x lists Post by {by} order by at desc, id desc\n}}\n"
            );
            let (_, made) = given("m", &model, &block, &options("cassandra"));
            let found = messages(&made, "W030");
            assert!(found.is_empty(), "{question} by {by}: {found:?}");
        }
    }
}

/// A design that spreads what it reads as a whole is told of like one that does not.
#[test]
fn searches_of_spread_structures_are_found() {
    for rate in ["1/s", "2k/s"] {
        let model = format!(
            "model m\nentity Post (40M) {{\n  id bigint key\n  at timestamp\n  likes int\n  \
             shares int\n}}\n\
             question moved (9/s)  select id, at from Post where likes + shares = $n order by at desc \
             limit 50\n\
             question newest (900/s)  select id, at from Post order by at desc limit 50\n\
             change post ({rate})  insert Post\n"
        );
        for on in ["embedded", "mongodb", "cassandra", "dynamodb"] {
            let made = design(&read("m", &model), &options(on)).unwrap();
            let found = messages(&made, "W034");
            let told = |m: &String| {
                m.starts_with("`moved` reads 50,000 of the 40,000,000 rows of `")
                    && m.ends_with(" and makes use of 50")
            };
            assert!(
                matches!(found.as_slice(), [one] if told(one)),
                "{rate} on {on}: {found:?}"
            );
        }
    }
}

/// The rows of a nested shape are sorted for each answer like those of a question.
#[test]
fn orders_of_nested_shapes_are_checked() {
    let model = "model m\n\
                 entity Post (1M) {\n  id bigint key\n  title text(40, max 100)\n}\n\
                 entity Comment (50M) {\n  id bigint key\n  at timestamp\n  score int\n  \
                 post -> Post as comments (avg 50, max 40k)\n}\n\
                 question page (100/s)  select title, comments { id, at order by at desc limit 10 } \
                 from Post where id = $id\n\
                 question top (100/s)  select id from Comment where post.id = $p order by score desc \
                 limit 5\n\
                 change comment (1/s)  insert Comment\n";
    let block = |order: &str| {
        format!(
            "schema s {{\n  posts lists Post by id keep title\n  \
             comments lists Comment by id keep *\n  \
             of_post lists Comment by post.id order by {order} keep at, score\n}}\n"
        )
    };
    let (_, made) = given("m", model, &block("id"), &options("embedded"));
    assert_eq!(
        messages(&made, "W031"),
        [
            "`of_post` does not give the order of `comments` in `page`: 50 rows are sorted for each \
             answer",
            "`of_post` does not give the order of `top`: 50 rows are sorted for each answer",
        ]
    );
    let (_, made) = given("m", model, &block("at desc, id desc"), &options("embedded"));
    assert_eq!(
        messages(&made, "W031"),
        ["`of_post` does not give the order of `top`: 50 rows are sorted for each answer"]
    );
}

/// The structure that is told of is the one that gives the rows, not one that each is looked up in.
#[test]
fn an_order_is_missed_where_the_rows_come_from() {
    let block = "schema s {\n  users lists User by id\n  posts lists Post by id keep *\n  \
                 by_author lists Post by author.id order by day(at) desc keep title\n}\n";
    let (_, made) = given("m", POSTS, block, &options("embedded"));
    let found = messages(&made, "W031");
    assert!(
        matches!(found.as_slice(), [one] if one.starts_with("`by_author` does not give the order")),
        "{found:?}"
    );
}

/// A reference that is one to one tells instances apart, because a second one is refused; one that
/// may be absent does not, and neither does a part of its key.
#[test]
fn a_key_of_a_one_to_one_reference_is_complete() {
    let overwrites = |reference: &str, by: &str| {
        let text = format!(
            "model m\nentity User (2M) {{\n  org int key\n  id bigint key\n}}\n\
             entity Profile (2M) {{\n  no bigint key\n  owner {reference}\n  bio text(99)\n}}\n\
             question q (9/s)  select bio from Profile where owner.org = $o and owner.id = $u\n\
             schema s {{\n  users lists User by org, id\n  profiles lists Profile by no keep *\n  \
             x lists Profile by {by} keep bio\n}}\n"
        );
        let (model, found) = querent_compiler::parse("m", &text);
        assert!(model.is_some(), "{found:?}");
        found.iter().any(|d| d.code.id == "W010")
    };
    assert!(!overwrites(
        "-> User as profile (max 1)",
        "owner.org, owner.id"
    ));
    assert!(!overwrites("-> User as profile (max 1)", "owner"));
    assert!(overwrites("-> User as profile (max 1)", "owner.id"));
    assert!(overwrites("-> User ? as profile (max 1)", "owner"));
    assert!(overwrites("-> User as profiles (avg 1, max 2)", "owner"));
}

/// What stands behind the path of a shape is written without it once, also where the path goes on as
/// it began.
#[test]
fn a_path_that_repeats_is_printed_as_it_was_read() {
    let text = "model m\nentity Staff (1k) {\n  id bigint key\n  pay bigint\n  \
                boss -> Staff? as reports (avg 3, max 50)\n}\n\
                schema s {\n  staff lists Staff by id keep pay, boss\n  \
                above lists Staff by id order by pay keep boss { count(boss.boss.reports.pay) as n, \
                boss.reports { pay, count(boss.reports) as m } as r } as b\n}\n";
    let (model, found) = querent_compiler::parse("m", text);
    let model = model.unwrap_or_else(|| panic!("{found:?}"));
    let schema = &model.schemas[0];
    let printed = querent_compiler::design::source::schema(&model, "s", &schema.structures);
    let again = text[..text.find("schema").unwrap()].to_owned() + &printed;
    let (read, found) = querent_compiler::parse("m", &again);
    let read = read.unwrap_or_else(|| panic!("{again}: {found:?}"));
    assert_eq!(read.schemas[0].structures, schema.structures, "{printed}");
}

const READINGS: &str = "model m
entity Sensor (10k) {
  id text(12, max 40) key
}
entity Reading (9M) {
  sensor -> Sensor as readings (avg 900, max 6k) key
  at timestamp key
  value float
}
change measure (1/s) insert Reading
";

/// A range of everything that is thrown away by a condition is a search, in buckets or not.
#[test]
fn a_range_that_is_thrown_away_is_a_search() {
    let model = format!(
        "{READINGS}question span (10/s) select at, value from Reading where sensor.id = $s \
         and at between $a and $b order by at\n"
    );
    for by in ["0", "bucket(at, hour), hash(at, 128)"] {
        for on in ["cassandra", "dynamodb"] {
            let block = format!(
                "schema s {{\n  sensors lists Sensor by id\n  \
                 readings lists Reading by {by} order by at desc, sensor.id keep value\n}}\n"
            );
            let (_, made) = given("m", &model, &block, &options(on));
            assert_eq!(
                messages(&made, "W030"),
                ["`span` reads 900,000 of the 9,000,000 rows of `readings`"],
                "{by} on {on}"
            );
        }
    }
    // What a range reads for its own sake is none.
    let all = "question span (10/s) select at, value, sensor.id as s from Reading \
               where at between $a and $b order by at\n";
    let block = "schema s {\n  sensors lists Sensor by id\n  \
                 readings lists Reading by 0 order by at desc, sensor.id keep value\n}\n";
    let model = format!("{READINGS}{all}");
    let (_, made) = given("m", &model, block, &options("cassandra"));
    assert!(messages(&made, "W030").is_empty());
}

/// A read limit is no reason to read everything where the limit leaves nothing else.
#[test]
fn a_limit_does_not_choose_a_scan() {
    let model = "model m\n\
                 entity User (1M) {\n  id bigint key\n}\n\
                 entity Order (20M) {\n  id bigint key\n  user -> User as orders \
                 (avg 20, max 500k)\n  at timestamp\n  total int\n}\n\
                 question orders_of (100/s) select id, at, total from Order where user.id = $u \
                 order by at desc limit 20\n\
                 change buy (1/s) insert Order\n";
    let block = "schema s {\n  users lists User by id keep orders { id, at, total \
                 order by at desc, id desc limit 20 }\n  \
                 orders lists Order by id keep user, at, total\n}\n";
    let (_, made) = given("m", model, block, &options("dynamodb"));
    let asked = made.plans.iter().find(|p| p.name == "orders_of").unwrap();
    assert!(asked.cost < 1000.0, "{}", asked.cost);
    let found = messages(&made, "W030");
    let added = "`orders_of` finds each Order by `user.id`";
    assert!(
        matches!(found.as_slice(), [one] if one.starts_with(added)),
        "{found:?}"
    );
    assert!(messages(&made, "W031").is_empty());
}

/// Buckets ascend with the time that they are of: rows behind them are in its order, if that ascends
/// too, on targets that read all of them as one range.
#[test]
fn buckets_are_in_the_order_of_their_time() {
    let found = |by: &str, order: &str, question: &str| {
        let model = format!(
            "{READINGS}question latest (100/s) select at, value from Reading where sensor.id = $s \
             order by at {question} limit 10\n"
        );
        let block = format!(
            "schema s {{\n  sensors lists Sensor by id\n  \
             readings lists Reading by sensor.id, {by} order by at {order} keep value\n}}\n"
        );
        let (_, made) = given("m", &model, &block, &options("mongodb"));
        let sorts = made.warnings.iter().filter(|w| w.code == "W031");
        sorts.map(|w| w.help.clone()).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(found("bucket(at, month)", "asc", "desc"), none);
    assert_eq!(found("bucket(at, month)", "asc", "asc"), none);
    let help = "its buckets ascend: let its `order by` ascend, too, which gives both directions";
    assert_eq!(found("bucket(at, month)", "desc", "desc"), [help]);
}

const SALES: &str = "model m
entity Shop (1k) {
  id bigint key
  city text(20)
}
entity Sale (1M) {
  id bigint key
  price int
  shop -> Shop as sales (avg 1k, max 50k)
}
change sell (1/s) insert Sale
";

/// What is added finds, and keeps nothing that is kept already; that it was missing is told, however
/// a question asks for it.
#[test]
fn a_way_back_that_was_not_given_is_told() {
    let model = format!(
        "{SALES}question last (9/s) select city, sales {{ id, price order by id desc limit 5 }} \
         from Shop where id = $shop\n\
         question sold (9/s) select count(sales) as n from Shop where id = $shop\n"
    );
    let block = |more: &str| {
        format!(
            "schema s {{\n  shops lists Shop by id keep city\n  \
             sales lists Sale by id keep price, shop\n{more}}}\n"
        )
    };
    for on in target::NAMES {
        let (_, made) = given("m", &model, &block(""), &options(on));
        let added = &made.structures[2];
        assert_eq!(added.columns.len(), 0, "{on}: {}", added.name);
        let told = |question: &str| {
            format!(
                "`{question}` finds each Sale by `shop.id`, by which no structure of the schema has \
                 them: `sale_by_shop_id` was added, without which all 1,000,000 rows would be read"
            )
        };
        assert_eq!(
            messages(&made, "W030"),
            [told("last"), told("sold")],
            "{on}"
        );
        let index = "  x lists Sale by shop.id order by id keep price\n";
        let (_, made) = given("m", &model, &block(index), &options(on));
        assert!(messages(&made, "W030").is_empty(), "{on}");
        assert_eq!(made.structures.len(), 3, "{on}");
    }
}

/// What is proposed for a question that reads everything is something that it asks for, and its
/// order is not told of beside that.
#[test]
fn a_question_without_an_equality_is_told_of_its_order() {
    let model = "model m\nentity Order (20M) {\n  id bigint key\n  at timestamp\n}\n\
                 question newest (5/s) select id, at from Order order by at desc limit 10\n";
    let block = "schema s {\n  orders lists Order by id keep at\n}\n";
    for on in target::NAMES {
        let (_, made) = given("m", model, block, &options(on));
        let scan = made.warnings.iter().find(|w| w.code == "W030").unwrap();
        assert!(
            scan.help
                .contains("`order by` begins as that of the question")
        );
        assert!(messages(&made, "W031").is_empty(), "{on}");
    }
}

/// What a home keeps beside its facts, and no question reads, is told one by one.
#[test]
fn values_that_no_question_reads_are_told() {
    let model = format!(
        "{SALES}question city (9/s) select city, count(sales) as n from Shop where id = $shop\n\
         question price (9/s) select price from Sale where id = $s\n"
    );
    let block = "schema s {\n  shops lists Shop by id keep city, sales { id, price order by id }, \
                 count(sales), sum(sales.price)\n  sales lists Sale by id keep price, shop\n}\n";
    let (_, made) = given("m", &model, block, &options("mongodb"));
    let found = messages(&made, "W035");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("no question reads `sales {"),
        "{found:?}"
    );
    assert_eq!(found[1], "no question reads `sum(sales.price)` of `shops`");
    assert!(messages(&made, "W032").is_empty());
}
