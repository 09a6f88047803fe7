//! Partitions that would outgrow their target: buckets with a directory, salts, or both.
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
question latest (5k/s) select at, value from Reading where sensor.serial = $s order by at desc limit 10
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
    let (model, design) = designed("
model followers
entity User (1M) { id bigint key  follows ->> User (avg 100, max 5k) as followers (avg 100, max 1M) }
question followers (100/s) select followers { id order by id } from User where id = $u
change follow (10/s) connect User.follows
");
    within_limits(&design);
    let keys = keys(&model, &design);
    assert!(keys.iter().any(|k| k.contains("hash(")), "{keys:?}");
}

#[test]
fn where_nothing_helps_the_number_that_is_to_blame_is_named() {
    let (_, design) = readings("1B", "1T", "1T", "2.5B");
    let warning = design
        .warnings
        .iter()
        .find(|w| w.message.contains("a partition's rows"))
        .unwrap();
    assert!(
        warning
            .message
            .contains("Reading.sensor says (max 1000000000000)"),
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
