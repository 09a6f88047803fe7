//! Networks of sensors and their measurements.

use super::{Case, cql, expected, golden};
use serde_json::{Value as Json, json};

const MODEL: &str = "
model sensors
entity Network (100) {
  name text(10) key
  description text(30)
  region text(6)
  num_sensors int
}
entity Sensor (10k) {
  id text(5) key
  latitude decimal
  longitude decimal
  characteristics map<text(10), text(10)> (avg 2)
  network -> Network as sensors (avg 100, max 1000)
}
entity Hour (10M) {
  sensor -> Sensor key as hours (avg 1000, max 100k)
  at timestamp key
  week date
  temperature float
}
entity Measurement (100M) {
  sensor -> Sensor key as measurements (avg 10k, max 1M)
  at timestamp key
  date date
  value float
}
question networks (1/s) select name, description, region, num_sensors from Network order by name
question hours (10/s)
  select sensor.network.name as network, week, at, temperature, sensor.id as sensor,
    sensor.latitude as latitude, sensor.longitude as longitude from Hour
  where sensor.network.name = $network and week in $weeks and at >= $from and at < $to
  order by at desc, sensor.id
question sensors (1/s)
  select network.name as network, id, latitude, longitude, characteristics from Sensor
  where network.name = $network order by id
question measurements (10/s) select sensor.id as sensor, date, at, value from Measurement
  where sensor.id = $sensor and date = $date order by at desc
";

#[test]
fn networks_sensors_and_measurements() {
    let Some(golden) = golden("sensor-data") else {
        return;
    };
    let text = std::fs::read_to_string(golden.join("sensor_data.cql")).unwrap();
    let tables = cql::inserts(&text);
    let mut case = Case::new(MODEL);
    let time = |t: &Json| json!(format!("{}Z", t.as_str().unwrap().replace(' ', "T")));
    let networks = tables["networks"].iter().map(|r| {
        json!({ "name": r["name"], "description": r["description"], "region": r["region"],
                "num_sensors": r["num_sensors"] })
    });
    let sensors = tables["sensors_by_network"].iter().map(|r| {
        json!({ "id": r["sensor"], "network": r["network"], "latitude": r["latitude"],
                "longitude": r["longitude"], "characteristics": r["characteristics"] })
    });
    let hours = tables["temperatures_by_network"].iter().map(|r| {
        json!({ "sensor": r["sensor"], "at": time(&r["date_hour"]), "week": r["week"],
                "temperature": r["avg_temperature"] })
    });
    let measurements = tables["temperatures_by_sensor"].iter().map(|r| {
        json!({ "sensor": r["sensor"], "at": time(&r["timestamp"]), "date": r["date"],
                "value": r["value"] })
    });
    case.load_all(&[
        ("Hour", case.jsonl("hours", hours)),
        ("Measurement", case.jsonl("measurements", measurements)),
        ("Sensor", case.jsonl("sensors", sensors)),
        ("Network", case.jsonl("networks", networks)),
    ]);
    let expected = expected(&golden);
    let columns = ["name", "description", "region", "num_sensors"].map(|c| (c, c));
    case.check("networks", json!({}), &columns, &expected[0]);
    let columns = [
        ("network", "network"),
        ("week", "week"),
        ("at", "date_hour"),
        ("sensor", "sensor"),
        ("temperature", "avg_temperature"),
        ("latitude", "latitude"),
        ("longitude", "longitude"),
    ];
    for (at, weeks, from) in [
        (1, &["2020-07-05"][..], "2020-07-05"),
        (2, &["2020-07-05"], "2020-07-04"),
        (3, &["2020-06-28"], "2020-07-04"),
        (4, &["2020-07-05", "2020-06-28"], "2020-07-04"),
    ] {
        let params = json!({ "network": "forest-net", "weeks": weeks,
            "from": format!("{from}T00:00:00Z"), "to": "2020-07-07T00:00:00Z" });
        case.check("hours", params, &columns, &expected[at]);
    }
    let columns = [
        ("network", "network"),
        ("id", "sensor"),
        ("latitude", "latitude"),
        ("longitude", "longitude"),
        ("characteristics", "characteristics"),
    ];
    case.check(
        "sensors",
        json!({ "network": "forest-net" }),
        &columns,
        &expected[5],
    );
    let columns = [
        ("sensor", "sensor"),
        ("date", "date"),
        ("at", "timestamp"),
        ("value", "value"),
    ];
    let params = json!({ "sensor": "s1003", "date": "2020-07-06" });
    case.check("measurements", params, &columns, &expected[6]);
}
