//! What an estimate may depend on.

use super::draw::{self, Rng};
use super::near;
use crate::design::change::find_query;
use crate::design::prepare::Prepared;
use crate::design::{Options, shape, target};
use crate::model::{AttributeId, EntityId, ReferenceId, Split};
use crate::view::typing::Scope;

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
        let (model, found) = crate::parse("drawn", &text);
        let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
        let mut options = Options::embedded();
        options.target = target::named(target::NAMES[rng.below(target::NAMES.len())]).unwrap();
        // Small partitions are spread, and what is spread is not found less often.
        options.target.limits.partition_rows = [None, Some(20.0), Some(1e3)][rng.below(3)];
        let Ok(prepared) = Prepared::new(&model, &options, 0) else {
            continue;
        };
        let stats = prepared.planner().stats;
        let finds = model.changes.iter().flat_map(crate::design::change::finds);
        let readers = prepared.readers.iter().skip(model.questions.len());
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
                        "seed {seed} on {name}: {rows} instead of {expected}\n{text}{plan:?}"
                    ));
                }
            }
        }
    }
    let few = differ.iter().take(5).cloned().collect::<Vec<_>>();
    assert!(differ.is_empty(), "{}: {}", differ.len(), few.join("\n"));
    assert!(compared > 500, "{compared} plans compared");
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
