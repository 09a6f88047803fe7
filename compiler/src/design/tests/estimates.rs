//! What an estimate may depend on.

use super::draw::{self, Rng};
use super::near;
use crate::design::change::find_query;
use crate::design::prepare::Prepared;
use crate::design::{Options, shape, target};
use crate::model::{AttributeId, EntityId, ReferenceId, Split};
use crate::view::typing::Scope;
use std::fmt::Write as _;

/// How many random models are tried.
const MODELS: u64 = 600;

/// The rows that an update or delete finds follow from its filter: every plan that finds them, by
/// whichever structure, bucketed, salted or split or none of it, expects as many.
#[test]
fn what_is_found_does_not_depend_on_what_finds_it() {
    let (mut compared, mut differ) = (0, Vec::new());
    for seed in 0..MODELS {
        let mut rng = Rng(seed);
        let text = draw::model(&mut rng);
        let mut options = Options::embedded();
        options.target = target::named(target::NAMES[rng.below(target::NAMES.len())]).unwrap();
        // Small partitions are spread, and what is spread is not found less often.
        options.target.limits.partition_rows = [None, Some(20.0), Some(1e3)][rng.below(3)];
        let plans = found_otherwise(&text, &options, &mut differ);
        compared += plans;
    }
    let few = differ.iter().take(5).cloned().collect::<Vec<_>>();
    assert!(differ.is_empty(), "{}: {}", differ.len(), few.join("\n"));
    assert!(compared > 500, "{compared} plans compared");
}

/// Tells of each plan that finds what a change is about and expects other rows than follow from the
/// filter; gives the number of plans.
fn found_otherwise(text: &str, options: &Options, differ: &mut Vec<String>) -> usize {
    let (model, found) = crate::parse("drawn", text);
    let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
    let Ok(prepared) = Prepared::new(&model, options, 0) else {
        return 0;
    };
    let stats = prepared.planner().stats;
    let finds = model.changes.iter().flat_map(crate::design::change::finds);
    let readers = prepared.readers.iter().skip(model.questions.len());
    let mut compared = 0;
    for ((entity, filter), reader) in finds.zip(readers) {
        let query = find_query(&model, entity, filter);
        let scope = Scope::new(&model, query.anchor, &[]);
        let expected = stats.count(entity) * stats.passes(&scope, &query.filter);
        for option in &reader.options {
            compared += 1;
            if !near(option.rows, expected) {
                let (rows, name) = (option.rows, &options.target.name);
                let plan = &option.plan.root;
                differ.push(format!(
                    "{rows} instead of {expected} on {name}\n{text}{plan:?}"
                ));
            }
        }
    }
    compared
}

/// An entity of which changes find instances by these conditions, and questions too: those that
/// compare with constants have structures of their own.
fn asked(conditions: &[&str]) -> String {
    let mut text = "enum St { open, held, done, dropped }
        entity T (20M) {
          id bigint key  team int distinct 5k  st St  gone bool  rating int distinct 5
          seats int  at timestamp  due timestamp?  tags set<text(8)> (avg 3, max 9) distinct 10k
          attrs map<text(8), text(8)> (avg 3, max 9) distinct 500k
        }\n"
    .to_owned();
    for (i, condition) in conditions.iter().enumerate() {
        let _ = writeln!(
            text,
            "question q{i} (9/s) select id, at from T where {condition}"
        );
        let _ = writeln!(text, "change c{i} (1/s) delete T where {condition}");
    }
    text
}

/// The share of instances that meet a condition.
fn share(condition: &str) -> f64 {
    let (model, found) = crate::parse("share", &asked(&[condition]));
    let model = model.unwrap_or_else(|| panic!("{condition}: {found:?}"));
    let target = target::named("embedded").unwrap();
    let (entity, filter) = model
        .changes
        .iter()
        .flat_map(crate::design::change::finds)
        .next()
        .unwrap();
    let query = find_query(&model, entity, filter);
    let scope = Scope::new(&model, query.anchor, &[]);
    target.stats(&model).passes(&scope, &query.filter)
}

/// What is expected follows from what is said, however it is written.
#[test]
fn the_same_is_expected_of_the_same_said_otherwise() {
    let said: [(f64, &[&str]); 10] = [
        (
            0.5,
            &[
                "st in (open, held)",
                "st = open or st = held",
                "st <= held",
                "st < done",
                "st != done and st != dropped",
                "st not in (done, dropped)",
                "not (st = done or st = dropped)",
                "st != done and st in (open, held)",
                "st in (open, held, done) and st <= held",
                "not (st != open and st != held)",
            ],
        ),
        (
            0.25,
            &[
                "st = open",
                "st in (open)",
                "st <= open",
                "st = open and st != done",
            ],
        ),
        (
            0.75,
            &[
                "st != open",
                "st not in (open)",
                "not st = open",
                "st > open",
            ],
        ),
        (
            0.5,
            &[
                "gone",
                "gone = true",
                "gone != false",
                "not not gone",
                "gone in (true)",
            ],
        ),
        (
            0.1,
            &[
                "at >= $a",
                "not at < $a",
                "at >= $a and at < $b",
                "at between $a and $b",
            ],
        ),
        (0.1, &["due < $a", "due is not null and due < $a"]),
        // Null is not less than anything.
        (0.9, &["not due < $a", "due is not null"]),
        (
            0.2,
            &[
                "rating >= 4",
                "rating = 5",
                "rating = 5 and rating >= 4",
                "rating = $r",
            ],
        ),
        (
            0.4,
            &[
                "rating in (4, 5)",
                "rating >= 4 and rating in (3, 4, 5)",
                "rating = $a or rating = $b",
            ],
        ),
        (
            0.6,
            &[
                "rating not in (4, 5)",
                "rating != 4 and rating != 5",
                "rating != $a and rating != $b",
            ],
        ),
    ];
    for (expected, conditions) in said {
        for condition in conditions {
            let share = share(condition);
            assert!(
                near(share, expected),
                "{condition}: {share} instead of {expected}"
            );
        }
    }
}

/// What a structure leaves out by conditions is not left out again by what is read of it.
#[test]
fn partial_structures_change_no_estimate() {
    let said: [&[&str]; 6] = [
        &[
            "team = $t and seats > 0",
            "team = $t and seats > 0 and st = open",
        ],
        &[
            "team = $t and st <= held",
            "team = $t and st = open",
            "team = $t and st in (open, held)",
        ],
        &[
            "team = $t and rating >= 4",
            "team = $t and rating = 5",
            "team = $t and rating in (4, 5)",
        ],
        &["due < $d", "due >= $d and due < $e and gone", "due = $d"],
        &["st = open or gone", "team = $t and (st = open or gone)"],
        &[
            "seats > 0 and seats <= $n",
            "seats > 5",
            "seats = 7",
            "seats > 0 and seats = $n",
        ],
    ];
    let (mut compared, mut differ) = (0, Vec::new());
    for conditions in said {
        for name in target::NAMES {
            let mut options = Options::embedded();
            options.target = target::named(name).unwrap();
            compared += found_otherwise(&asked(conditions), &options, &mut differ);
        }
    }
    let few = differ.iter().take(9).cloned().collect::<Vec<_>>();
    assert!(differ.is_empty(), "{}: {}", differ.len(), few.join("\n"));
    assert!(compared > 50, "{compared} plans compared");
}

/// A salt of what is given divides nothing: a get by key finds its row, however it is salted.
#[test]
fn salts_of_what_is_given_divide_nothing() {
    let text = "entity A (10M) { id int key  x text(10) }
        question one (1/s) select id, x from A where id = $i
        question other (1/s) select id, x from A where x != $i
        change c (1/s) update A set x where id = $id";
    let (model, _) = crate::parse("salts", text);
    let model = model.unwrap();
    let mut options = Options::embedded();
    options.target = target::named("cassandra").unwrap();
    let prepared = Prepared::new(&model, &options, 0).unwrap();
    for reader in [&prepared.readers[0], &prepared.readers[2]] {
        for option in &reader.options {
            assert!(near(option.rows, 1.0), "{} {:?}", option.rows, option.plan);
        }
    }
}

/// A cost model that gives all integers ten values does not mean the numbers of sub-partitions,
/// which nobody stored: a key would have too few of them, and its rows be found too cheaply.
#[test]
fn rules_say_nothing_of_numbers_that_a_design_adds() {
    let text = "entity A (10) { id int key }
        entity B (1k) { id int key  a -> A as bs (avg 100, max 500) }";
    let model = crate::parse("numbers", text).0.unwrap();
    let split = Split {
        entity: EntityId(1),
        attribute: AttributeId(u32::MAX),
        partition: shape::reference_paths(&model, ReferenceId(0)),
        capacity: 10,
        average: 37.0,
        most: 50.0,
    };
    let model = model.with_splits(&[split]);
    let mut target = target::named("cassandra").unwrap();
    target.cost = target::cost_model("nose").unwrap().cost;
    let scope = Scope::new(&model, EntityId(1), &[]);
    let number = model.splits[0].number();
    assert_eq!(target.stats(&model).cardinality(&scope, &number), 37.0);
}
