//! Partitions that would outgrow their target: buckets with a directory, salts, or both; popular
//! keys that are split.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use querent_compiler::design::{Design, Options, design, target};
use querent_compiler::model::Model;

fn designed(text: &str) -> (Model, Design) {
    let (model, found) = querent_compiler::parse("test.querent", text);
    let model = model.unwrap_or_else(|| panic!("{found:?}"));
    let mut options = Options::embedded();
    options.target = target::named("cassandra").unwrap();
    let design = design(&model, &options).unwrap();
    (model, design)
}

fn keys(model: &Model, design: &Design) -> Vec<String> {
    let json = design.to_json(model, 0.0);
    let structures = json["structures"].as_array().unwrap();
    let key = |s: &serde_json::Value| {
        let list = |v: &serde_json::Value| {
            let parts = v.as_array().unwrap().iter();
            let parts = parts.map(|p| match p.as_array() {
                Some(pair) => format!(
                    "{} {}",
                    pair[0].as_str().unwrap(),
                    pair[1].as_str().unwrap()
                ),
                None => p.as_str().unwrap().to_string(),
            });
            parts.collect::<Vec<_>>().join(", ")
        };
        format!("{} | {}", list(&s["partition"]), list(&s["clustering"]))
    };
    structures.iter().map(key).collect()
}

fn within_limits(design: &Design) {
    let limits = target::named("cassandra").unwrap().limits;
    for (s, note) in design.structures.iter().zip(&design.notes) {
        let rows = note.sizes.partition_rows_max;
        assert!(
            rows <= limits.partition_rows.unwrap(),
            "{}: {rows} rows",
            s.name
        );
    }
    assert_eq!(design.warnings, vec![]);
}

const READINGS: &str = "
model readings
entity Sensor (1k) { serial text(12, max 40) key }
entity Reading (MANY) {
  sensor -> Sensor as readings (avg AVG, max MAX) key
  at timestamp key
  value float
}
question latest (4k/s) select at, value from Reading where sensor.serial = $s order by at desc limit 10
question series (1/s) select at, value from Reading where sensor.serial = $s and at between $from and $to order by at
change measure (RATE/day) insert Reading
";

fn readings(avg: &str, max: &str, many: &str, rate: &str) -> (Model, Design) {
    designed(
        &READINGS
            .replace("MANY", many)
            .replace("AVG", avg)
            .replace("RATE", rate)
            .replace("MAX", max),
    )
}

#[test]
fn a_partition_within_the_limits_is_left_alone() {
    let (model, design) = readings("10k", "50k", "10M", "25k");
    within_limits(&design);
    assert!(
        keys(&model, &design).contains(&"sensor.serial | at asc".into()),
        "{:?}",
        keys(&model, &design)
    );
}

#[test]
fn a_time_series_is_cut_into_buckets_of_the_widest_width_that_fits() {
    for (max, width) in [("400k", "month"), ("10M", "day"), ("300M", "hour")] {
        let (model, design) = readings("100k", max, "100M", "250k");
        within_limits(&design);
        let keys = keys(&model, &design);
        let cut = format!("sensor.serial, bucket(at, {width}) | at asc");
        let directory = format!("sensor.serial | bucket(at, {width}) asc");
        assert!(
            keys.contains(&cut) && keys.contains(&directory),
            "{max}: {keys:?}"
        );
    }
}

#[test]
fn where_no_width_is_narrow_enough_buckets_are_salted() {
    let (model, design) = readings("175M", "2B", "175B", "437M");
    within_limits(&design);
    let keys = keys(&model, &design);
    assert!(
        keys.iter()
            .any(|k| k.starts_with("sensor.serial, bucket(at, hour), hash(at, ")),
        "{keys:?}"
    );
}

#[test]
fn what_has_no_time_is_salted() {
    // Who lives where may change without the post: its place cannot depend on it.
    let (model, design) = designed("
model places
entity Place (10k) { name text(10) key }
entity User (1M) { id bigint key  home -> Place as people (avg 100, max 10k) }
entity Post (10M) { id bigint key  score int  author -> User as posts (avg 10, max 100) }
question best (100/s) select id from Post where author.home.name = $place order by score desc limit 10
change write (10/s) insert Post
");
    within_limits(&design);
    let keys = keys(&model, &design);
    assert!(keys.iter().any(|k| k.contains("hash(")), "{keys:?}");
}

const FOLLOWERS: &str = "
model followers
entity User (1M) { id bigint key  follows ->> User (avg 100, max 5k) as followers (avg 100, max 1M) }
question followers (100/s) select followers { id order by id } from User where id = $u
change follow (10/s) connect User.follows
";

#[test]
fn popular_keys_are_split_into_parts_of_a_proven_size() {
    let (model, design) = designed(FOLLOWERS);
    within_limits(&design);
    let keys = keys(&model, &design);
    let [split] = design.splits.as_slice() else {
        panic!("{:?}", design.splits);
    };
    assert_eq!((split.capacity, split.most), (50_000, 20.0));
    assert!(split.average < 1.01, "{split:?}");
    assert!(
        keys.contains(&"to.id, @split_1 | from.id asc".into()),
        "{keys:?}"
    );
    assert!(keys.contains(&"to.id | @split_1 asc".into()), "{keys:?}");
    let json = design.to_json(&model, 0.0);
    let structures = json["structures"].as_array().unwrap();
    let technique = |s: &&serde_json::Value| {
        let uses = s["techniques"].as_array().unwrap();
        uses.contains(&"popular-key-split".into())
    };
    let split: Vec<_> = structures.iter().filter(technique).collect();
    assert_eq!(split.len(), 2, "{split:?}");
    assert_eq!(split[0]["split"]["partition_rows"], 50_000);
    // The number has one home.
    let homes = structures.iter().filter(|s| {
        let facts = s["home_of"].as_array().unwrap();
        facts
            .iter()
            .any(|f| f.as_str().unwrap().ends_with(".@split_1"))
    });
    assert_eq!(homes.count(), 1);
    let steps = &json["plans"]["followers"].to_string();
    assert!(
        steps.contains("\"list\"") && steps.contains("\"merge\""),
        "{steps}"
    );
}

#[test]
fn a_design_with_splits_is_read_again() {
    let (model, design) = designed(FOLLOWERS);
    let text = serde_json::to_string(&design).unwrap();
    let again: Design = serde_json::from_str(&text).unwrap();
    assert_eq!(again.splits, design.splits);
    // A design of before, without the field.
    let (plain, _) = text.split_once(",\"splits\"").unwrap();
    assert!(!plain.contains("\"splits\""));
    // The numbers are those of the design, however often the model is asked for.
    let once = design.model_of(&model);
    let twice = design.model_of(&once);
    assert_eq!(once.attributes.len(), model.attributes.len() + 1);
    assert_eq!(once.attributes.len(), twice.attributes.len());
    assert_eq!(design.to_json(&model, 0.0), design.to_json(&once, 0.0));
}

#[test]
fn writes_to_a_popular_key_are_spread_by_salts_only() {
    let (parsed, _) = querent_compiler::parse("test.querent", FOLLOWERS);
    let mut options = Options::embedded();
    options.target = target::named("cassandra").unwrap();
    // A tenth of all follows are of the most popular: 1 a second.
    options.target.limits.partition_writes = Some(target::Throughput {
        per_second: 0.05,
        unit_bytes: None,
    });
    let design = design(&parsed.unwrap(), &options).unwrap();
    assert_eq!(design.splits, vec![]);
}

#[test]
fn an_embedded_store_splits_nothing() {
    let (parsed, _) = querent_compiler::parse("test.querent", FOLLOWERS);
    let design = design(&parsed.unwrap(), &Options::embedded()).unwrap();
    assert_eq!(design.splits, vec![]);
}

#[test]
fn where_nothing_helps_the_number_that_is_to_blame_is_named() {
    let (_, design) = readings("1B", "1T", "1T", "2.5B");
    let warning = design
        .warnings
        .iter()
        .find(|w| w.code == "W020" && w.message.contains(" rows"))
        .unwrap();
    assert!(
        warning
            .message
            .contains("Reading.sensor says (max 1,000,000,000,000)"),
        "{warning}"
    );
}

/// The list of what expires is one for all sensors: it is cut too, and read from its start.
#[test]
fn the_list_of_what_expires_is_cut_into_buckets() {
    let text = READINGS.replace("  value float\n}", "  value float\n} expires after 400d");
    let given = [
        ("MANY", "10M"),
        ("AVG", "10k"),
        ("MAX", "50k"),
        ("RATE", "25k"),
    ];
    let text = given.iter().fold(text, |text, (a, b)| text.replace(a, b));
    let (model, design) = designed(&text);
    within_limits(&design);
    let keys = keys(&model, &design);
    let cut = |k: &String| k.starts_with("bucket(@expires, day) | @expires asc");
    assert!(keys.iter().any(cut), "{keys:?}");
}

/// Where no bucket is narrow enough, salts divide what expires within one.
#[test]
fn the_list_of_what_expires_is_cut_into_salts() {
    let text = READINGS.replace("  value float\n}", "  value float\n} expires after 30d");
    let given = [
        ("MANY", "100M"),
        ("AVG", "10k"),
        ("MAX", "60k"),
        ("RATE", "40"),
    ];
    let text = given.iter().fold(text, |text, (a, b)| text.replace(a, b));
    let (model, design) = designed(&text);
    within_limits(&design);
    let keys = keys(&model, &design);
    let cut = |k: &String| k.starts_with("bucket(@expires, hour), hash(");
    assert!(keys.iter().any(cut), "{keys:?}");
    assert_eq!(
        keys.iter().filter(|k| k.contains("@expires asc")).count(),
        1
    );
}

/// The steps of a question's plan, as `op structure` in order, those inside others before them.
fn steps(model: &Model, design: &Design, question: &str) -> Vec<String> {
    fn told(steps: &serde_json::Value, out: &mut Vec<String>) {
        for step in steps.as_array().into_iter().flatten() {
            told(&step["steps"], out);
            let word = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
            out.push(
                format!("{} {}", word("op"), word("structure"))
                    .trim()
                    .to_owned(),
            );
        }
    }
    let json = design.to_json(model, 0.0);
    let mut out = vec![];
    told(&json["plans"][question], &mut out);
    out
}

fn cost(model: &Model, design: &Design, question: &str) -> f64 {
    design.to_json(model, 0.0)["cost"]["questions"][question]
        .as_f64()
        .unwrap()
}

/// Several values, each of whose partitions is cut into buckets: the directory is merged, each bucket
/// is read once for all of them, and a limit stops at the first buckets.
#[test]
fn a_list_of_keys_is_merged_over_buckets() {
    let text = READINGS
        .replace("MANY", "100M")
        .replace("AVG", "100k")
        .replace("RATE", "250k")
        .replace("MAX", "10M")
        + "question several (4k/s) select at, value from Reading where sensor.serial in ($a, $b) order by at desc limit 10
";
    let (model, design) = designed(&text);
    within_limits(&design);
    assert_eq!(
        steps(&model, &design, "several"),
        [
            "merge reading_buckets_by_sensor_serial_day_at",
            "distinct",
            "merge reading",
            "limit"
        ]
    );
    // Two keys cost about twice what one does: no more than a few buckets are looked at.
    let (one, two) = (
        cost(&model, &design, "latest"),
        cost(&model, &design, "several"),
    );
    assert!(one < two && two < 3.0 * one, "{one} {two}");
}

#[test]
fn a_list_of_keys_is_merged_over_salts() {
    let (model, design) = designed("
model places
entity Place (10k) { name text(10) key }
entity User (1M) { id bigint key  home -> Place as people (avg 100, max 10k) }
entity Post (10M) { id bigint key  score int  author -> User as posts (avg 10, max 100) }
question best (100/s) select id from Post where author.home.name = $place order by score desc limit 10
question of_two (100/s) select id from Post where author.home.name in ($a, $b) order by score desc limit 10
change write (10/s) insert Post
");
    within_limits(&design);
    let found = steps(&model, &design, "of_two");
    assert!(
        matches!(found.as_slice(), [merge, limit] if merge.starts_with("merge ") && limit == "limit"),
        "{found:?}"
    );
    let (one, two) = (
        cost(&model, &design, "best"),
        cost(&model, &design, "of_two"),
    );
    assert!(1.5 * one < two && two < 2.5 * one, "{one} {two}");
}

#[test]
fn a_list_of_keys_is_merged_over_their_sub_partitions() {
    let text = "
model followers
entity User (1M) { id bigint key }
entity Post (100M) { id bigint key  score int  author -> User as posts (avg 100, max 1M) }
question best (100/s) select id from Post where author.id = $u order by score desc limit 10
question of_some (100/s) select id from Post where author.id in $users order by score desc limit 10
change write (10/s) insert Post
";
    let (model, design) = designed(text);
    within_limits(&design);
    assert_eq!(design.splits.len(), 1);
    let found = steps(&model, &design, "of_some");
    // The totals of all of them are one list.
    assert!(
        matches!(found.as_slice(), [totals, list, merge, limit]
            if totals.starts_with("merge ") && list == "list" && merge.starts_with("merge ") && limit == "limit"),
        "{found:?}"
    );
    let (one, five) = (
        cost(&model, &design, "best"),
        cost(&model, &design, "of_some"),
    );
    assert!(1.2 * one < five && five < 5.0 * one, "{one} {five}");
}
