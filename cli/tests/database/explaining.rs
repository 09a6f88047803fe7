//! What `explain` says of reads, of ties, of homes and of rates.

use crate::place::{Place, keys};
use serde_json::Value as Json;

fn place_with(model: &str) -> Place {
    let place = Place::new();
    std::fs::write(place.path().join("m.querent"), model).unwrap();
    place
}

/// One that costs much, and others that cost little beside it.
const HEAVY: &str = "
entity Log (1B) {
  id    bigint    key
  text  text(200)
}
entity User (10k) {
  id    int       key
  name  text(20)
  city  text(10)  distinct 1k (max 500)
}
question all_logs (1/s)  select id, text from Log order by id
question by_city (1/s)   select id, name from User where city = $city order by id
change log   (10/s)  insert Log
change join  (1/s)   insert User
";

/// The lists of products by label may be kept in two orders, which cost the same.
const TIED: &str = "
entity Shop (200) {
  id  int  key
}
entity Product (20k) {
  shop    -> Shop  as products (avg 100, max 3k)  key
  code    text(8, max 20)  key
  title   text(40)
  labels  ->> Label (avg 2, max 30)  as products (avg 200, max 5k)
}
entity Label (200) {
  name  text(12, max 40)  key
}
question labelled (10/s)  select shop.id, code, title from Product where labels.name = $label
change add  (1/min)  insert Product
change tag  (1/s)    connect Product.labels
";

/// The days may be kept in either direction, which costs the same.
const DAYS: &str = "
enum Status { open, paid }
entity Order (500k) {
  id      bigint     key
  status  Status
  at      timestamp
}
question revenue (5/min)
  select day(at) as day, status, count(*) as n from Order where at between $from and $to group by day(at), status order by day
change order (5/s)  insert Order
change pay   (5/s)  update Order set status = paid where id = $id
";

#[test]
fn a_structure_tells_what_changes_read_for_it() {
    let place = Place::new();
    let told = place.run("explain blog.querent post_by_author_id --format json");
    let told = &told.expect(0).json()["structure"];
    let by = |change: &str| {
        let all = told["written_by"].as_array().unwrap().iter();
        let mut all = all.filter(|w| w["change"] == change);
        all.next().unwrap_or_else(|| panic!("{change} in {told}"))
    };
    // Who is renamed is looked for by its posts, and their titles are read again.
    let rename = by("rename");
    let reads = rename["support"].as_array().unwrap();
    let values = reads.iter().find(|r| r["structure"] == "post").unwrap();
    assert_eq!(values["rows"], 100.0, "{rename}");
    assert_eq!(values["checked"], false, "{rename}");
    assert!(rename["reads"].as_f64() >= Some(200.0), "{rename}");
    // The name of who publishes is read, which a check reads anyway.
    let publish = by("publish")["support"].as_array().unwrap();
    let author = publish.iter().find(|r| r["structure"] == "author").unwrap();
    assert_eq!(author["checked"], true, "{author}");
    let text = place
        .run("explain blog.querent post_by_author_id")
        .expect(0);
    for part in ["Read to write it", "values of Post", "checked anyway"] {
        assert!(text.out.contains(part), "{part} in\n{}", text.out);
    }
    // What the write plan of the design says is the same.
    let design = place.run("design blog.querent --format json").expect(0);
    let design = design.json();
    let steps = design["writes"]["rename"].as_array().unwrap();
    let step = steps.iter().find(|s| s["structure"] == "post").unwrap();
    assert_eq!(step["needed_by"][0]["structure"], "post_by_author_id");
    assert_eq!(step["needed_by"][0]["reads"], values["rows"]);
}

#[test]
fn a_structure_is_read_by_checks_too() {
    let place = Place::new();
    let told = place.run("explain blog.querent author --format json");
    let told = told.expect(0).json();
    let readers = told["structure"]["read_by"].as_array().unwrap();
    for change in ["publish", "rename", "leave"] {
        assert!(
            readers.contains(&Json::from(change)),
            "{change} {readers:?}"
        );
    }
}

#[test]
fn what_is_dear_beside_does_not_make_plans_alike() {
    let place = place_with(HEAVY);
    let question = place.run("explain m.querent by_city").expect(0).out;
    assert!(question.contains("it lost: "), "{question}");
    let structure = place.run("explain m.querent user_by_city").expect(0).out;
    assert!(!structure.contains("costs as much"), "{structure}");
    assert!(structure.contains("more: little beside"), "{structure}");
}

#[test]
fn flips_are_told_where_something_does_as_well() {
    let place = place_with(TIED);
    let question = place.run("explain m.querent labelled").expect(0).out;
    assert!(
        question.contains("What would change the choice"),
        "{question}"
    );
    let place = place_with(DAYS);
    let design = place.run("design m.querent --format json").expect(0).json();
    let serves = |s: &&Json| s["serves"].as_array().unwrap().contains(&"revenue".into());
    let structures = design["structures"].as_array().unwrap().iter();
    let name = structures.clone().find(serves).unwrap()["name"].clone();
    let line = format!("explain m.querent {} --format json", name.as_str().unwrap());
    let told = place.run(&line).expect(0).json();
    let flips = told["structure"]["flips"].as_array().unwrap();
    assert!(
        flips
            .iter()
            .any(|f| f["statement"] == "revenue" && f["dropped"][0] == name),
        "{flips:?}"
    );
}

#[test]
fn the_only_place_of_facts_says_so() {
    let told = Place::new()
        .run("explain blog.querent author")
        .expect(0)
        .out;
    assert!(
        told.contains("it is the only place of Author (id, name)"),
        "{told}"
    );
}

/// Every step's cost, those of subplans included.
fn sum(steps: &Json) -> f64 {
    let steps = steps.as_array().into_iter().flatten();
    let cost = steps.map(|s| s["cost"].as_f64().unwrap_or(0.0) + sum(&s["steps"]));
    cost.sum()
}

#[test]
fn steps_add_up() {
    let place = place_with(DAYS);
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    for model in [
        "m.querent",
        "blog.querent",
        &format!("{examples}/reddit.querent"),
    ] {
        for target in ["embedded", "cassandra"] {
            let line = format!("design {model} --target {target} --format json");
            let design = place.run(&line).expect(0).json();
            for (kind, steps) in [("questions", "plans"), ("changes", "writes")] {
                for (name, cost) in design["cost"][kind].as_object().unwrap() {
                    let itself = design["cost"]["by_itself"][kind][name].as_f64().unwrap();
                    let told = sum(&design[steps][name]) + itself;
                    let cost = cost.as_f64().unwrap();
                    assert!(
                        (told - cost).abs() < 1e-6 * cost,
                        "{name}: {told} of {cost}"
                    );
                    assert!((0.0..=20.0).contains(&itself), "{name}: {itself}");
                }
            }
        }
    }
}

#[test]
fn names_are_listed_and_kinds_told_apart() {
    let place = Place::new();
    for command in ["design", "explain"] {
        let help = place.run(&format!("{command} --help")).expect(0).out;
        assert!(
            help.contains("dynamodb") && help.contains("nose-shared"),
            "{help}"
        );
    }
    let script = place.run("completions bash").expect(0).out;
    assert!(script.contains("dynamodb"));
    let told = place
        .run("explain blog.querent question:rename")
        .expect(2)
        .err;
    assert!(told.contains("it is a change"), "{told}");
}

#[test]
fn a_comparison_says_what_it_is_of() {
    let place = Place::new();
    let schema = "schema ours {\n  authors lists Author by id keep name\n}\n";
    std::fs::write(place.path().join("ours.querent"), schema).unwrap();
    let told = place.run("explain blog.querent --vs ours.querent --format json");
    let told = told.expect(0).json();
    assert_eq!(keys(&told)[..3], ["model", "target", "mix"]);
    assert_eq!(told["target"], "embedded");
}

/// How many buckets and salts there are depends on the rates, so each rate is designed anew: a flip
/// that is found is proven, but not that there is no other.
#[test]
fn flips_beside_buckets_and_salts_are_designed_anew() {
    let place = Place::new();
    let told = place.run("explain blog.querent publish --target cassandra --format json");
    let told = told.expect(0).json();
    assert_eq!(told["change"]["flips_complete"], false, "{told}");
    let flip = &told["change"]["flips"][0];
    assert_eq!(flip["statement"], "publish", "{told}");
    assert_eq!(flip["proven"], true, "{told}");
    let told = place.run("explain blog.querent publish --target cassandra");
    let told = told.expect(0).out;
    assert!(told.contains("without post_by_author_id"), "{told}");
    assert!(!told.contains("not proven"), "{told}");
}
