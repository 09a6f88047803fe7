//! Choices that an expert would make, and prices that add up.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::design::{Design, Options, design, source, target};
use querent_compiler::model::Model;

fn read(text: &str) -> Model {
    let (model, found) = querent_compiler::parse("choices.querent", text);
    model.unwrap_or_else(|| panic!("{found:#?}\n{text}"))
}

fn designed(text: &str, name: &str) -> (Model, Design) {
    let model = read(text);
    let options = Options {
        target: target::named(name).unwrap(),
        ..Options::embedded()
    };
    let made = design(&model, &options).unwrap();
    (model, made)
}

/// A question with so many ways to be answered that not all of them are followed at once.
const TASKS: &str = "model tasks
entity User (100k) { id bigint key
  name text(20, max 60) }
entity Project (20k) { id bigint key
  name text(30, max 100) }
entity Task (4M) {
  id bigint key
  project -> Project as tasks (avg 200, max 50k)
  assignee -> User? as assigned (avg 40, max 5k)
  title text(60, max 300)
  body text(500, max 20KB)
  updated timestamp
}
entity Comment (20M) {
  id timeuuid key
  task -> Task as comments (avg 5, max 2k) on delete cascade
  body text(200, max 4KB)
}
question task (300/s) select title, body, updated, assignee.name, project.name as project_name, count(comments) as n from Task where id = $t
change add_task (10/s) insert Task
change move (30/s) update Task set updated where id = $t
change assign (5/s) update Task set assignee, updated where id = $t
change comment (20/s) insert Comment
change rename (1/min) update User set name where id = $u
change drop (1/min) delete Task where id = $t
";

/// Whatever structure is left out, and others added in its place where facts would be lost: nothing
/// is cheaper than the design.
#[test]
fn no_structure_costs_more_than_it_saves() {
    let (model, made) = designed(TASKS, "embedded");
    for left_out in 0..made.structures.len() {
        let mut kept = made.structures.clone();
        let without = kept.remove(left_out);
        let block = source::schema(&made.model_of(&model), "less", &kept);
        let given = read(&format!("{TASKS}\n{block}"));
        let options = Options {
            given: given.schemas.last().cloned(),
            ..Options::embedded()
        };
        let less = design(&given, &options).unwrap();
        assert!(
            less.total >= made.total * (1.0 - 1e-6),
            "{} without {}, {} with it",
            less.total,
            without.name,
            made.total
        );
    }
}

/// What is told of the steps of a plan is what the plan costs.
#[test]
fn steps_cost_what_the_plan_costs() {
    let text = "model wide
entity Topic (1k) { name text(10, max 40) key }
entity Doc (1M) {
  id bigint key
  topic -> Topic as docs (avg 1k, max 50k)
  body text(4KB, max 100KB)
}
question page (1k/s) select id, body from Doc where topic.name = $t order by id desc limit 20
change put (1/s) insert Doc
";
    for name in target::NAMES {
        let (model, made) = designed(text, name);
        let plan = &made.plans[0];
        let steps = made.plan_steps(&model, &plan.plan);
        let told: f64 = steps.iter().filter_map(|s| s["cost"].as_f64()).sum();
        let ask = target::named(name).unwrap().cost.ask;
        assert!(
            (told + ask - plan.cost).abs() <= 1e-6 * plan.cost,
            "{name}: steps cost {told}, the plan {}",
            plan.cost
        );
    }
}

/// Orders that hold a product: the reference stands in an element of a collection.
#[test]
fn what_elements_refer_to_is_an_index() {
    let text = "model lines
entity Product (100k) { sku text(10, max 20) key }
entity Order (40M) {
  id bigint key
  at timestamp
  lines list<{ product -> Product, qty int }> (avg 3, max 200)
}
question bought (5/s) select id, at from Order where lines.product.sku = $sku order by at desc limit 20
question same   (5/s) select id, at from Order where any lines (product = $sku and qty = $n) limit 20
change place (50/s) insert Order
";
    let (_, made) = designed(text, "embedded");
    for plan in &made.plans {
        assert!(plan.cost < 1000.0, "{} costs {}", plan.name, plan.cost);
    }
}

/// Of keys that cost the same, the one whose largest partition is smaller.
#[test]
fn ties_go_to_the_smaller_partition() {
    let text = "model ties
enum Status { todo, doing, review, done }
entity Project (20k) { id bigint key }
entity Task (4M) {
  id bigint key
  project -> Project as tasks (avg 200, max 50k)
  status Status
  updated timestamp
}
question board (200/s) select id, updated from Task where project.id = $p and status = $s order by updated desc limit 50
change add_task (10/s) insert Task
";
    let (_, made) = designed(text, "dynamodb");
    let read = made.read_by(0);
    let at = made.structures.iter().position(|s| s.name == read[0]);
    let most = made.notes[at.unwrap()].sizes.partition_rows_max;
    assert!(
        most <= 50_000.0,
        "{most} rows in a partition of {}",
        read[0]
    );
}

/// The operators of a question's plan with the structures that they read, in order.
fn steps(model: &Model, made: &Design, question: &str) -> Vec<String> {
    let plan = made.plans.iter().find(|p| p.name == question).unwrap();
    let told = made.plan_steps(model, &plan.plan);
    let step = |s: &serde_json::Value| {
        let structure = s["structure"].as_str().unwrap_or_default();
        let told = format!("{} {structure}", s["op"].as_str().unwrap());
        told.trim_end().to_owned()
    };
    told.iter().map(step).collect()
}

const FOLLOWS: &str = "model social
entity User (1M) {
  id bigint key
  name text(20)
  follows ->> User (avg 50, max 100k) as followers (avg 50, max 1M)
}
question followers_of (100/s)
  select id, name from User where follows.id = $b order by id limit 20
question next_ids (100/s)
  select id from User where follows.id = $b order by id limit 20 after $cursor
question follows_of (100/s)
  select id, name from User where followers.id = $b order by id limit 20
change follow (50/s) connect User.follows
change rename (20/s) update User set name where id = $id
";

/// The links, by either end, are the index: nothing else lists who follows whom, and no more of them
/// are read than are answered with.
#[test]
fn links_give_the_order_of_what_they_lead_to() {
    let (model, made) = designed(FOLLOWS, "embedded");
    let names: Vec<&str> = made.structures.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["user", "user_follows", "user_follows_2"]);
    assert_eq!(
        steps(&model, &made, "followers_of"),
        ["get user_follows_2", "limit", "follow user"]
    );
    assert_eq!(
        steps(&model, &made, "next_ids"),
        ["get user_follows_2", "limit"]
    );
}

/// A reference to a key of several parts is found as one to a single scalar is.
#[test]
fn keys_of_several_parts_are_looked_up() {
    let (model, made) = designed(
        "model parts
entity Part (100k) {
  site text(8, max 60) key
  no   int             key
  name text(20)
  parent -> Part? as children (avg 2, max 50)
  fits ->> Part (avg 3, max 50) as fitted (avg 3, max 50)
}
question children_of (10/s) select name from Part where parent = $p
question parent_of   (10/s) select name from Part where children has $c
question either      (10/s) select name from Part where parent in ($a, $b)
question fitting     (10/s) select name from Part where any fits (no in ($a, $b))
change join  (1/s) connect Part.fits
change leave (1/s) disconnect Part.fits
",
        "embedded",
    );
    for question in ["children_of", "parent_of", "either", "fitting"] {
        let steps = steps(&model, &made, question);
        assert!(
            steps.iter().all(|s| !s.starts_with("scan")),
            "{question}: {steps:?}"
        );
    }
    let no_scan = made.warnings.iter().all(|w| w.code != "W034");
    assert!(no_scan, "{:?}", made.warnings);
}

/// A plan that is dear to read, but does without a copy that changes all the time, is followed though
/// many are cheaper to read.
#[test]
fn what_changes_all_the_time_is_not_copied_far() {
    let text = "model topics
enum Status { draft, open, gone }
entity Topic (5000) {
  id bigint key
  at timestamp
  status Status
  note text(200)?
}
entity Article (8000) {
  id bigint key
  at timestamp
  code text(12)
  topics ->> Topic (avg 5, max 150) as articles (avg 8, max 240)
}
question card (100/s)
  select id, note, articles { id, code, topics { id, status order by at } order by at desc limit 10 }
  from Topic where id = $id
change settle (10/s) update Topic set status where id = $id
change join (1/s) connect Article.topics
change write (1/h) insert Article
";
    for name in ["embedded", "cassandra", "mongodb", "dynamodb"] {
        let (_, made) = designed(text, name);
        let settle = &made.writes[0];
        let put = settle.steps.iter().filter(|s| s.op == "put");
        let written: f64 = put.map(|s| s.rows).sum();
        // The topic itself, and its links from both sides, eight of them.
        assert!((1.0..20.0).contains(&written), "{name}: {written} rows");
    }
}
