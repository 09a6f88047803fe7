//! What `explain` says of other designs is true of them: designed again at those rates, they flip.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::design::study::{Choice, Flip, Study};
use querent_compiler::design::{Design, Options, design, target};
use querent_compiler::model::Model;

fn reddit() -> Model {
    let text = include_str!("../../examples/reddit.querent");
    querent_compiler::parse("reddit", text).0.unwrap()
}

fn at_rate(statement: &str, rate: f64) -> Design {
    on(&Options::embedded(), statement, rate)
}

/// The design of the example where a statement has another rate.
fn on(options: &Options, statement: &str, rate: f64) -> Design {
    let mut model = reddit();
    for question in model.questions.iter_mut().filter(|q| q.name == statement) {
        question.rates = vec![rate];
    }
    for change in model.changes.iter_mut().filter(|c| c.name == statement) {
        change.rates = vec![rate];
    }
    design(&model, options).unwrap()
}

/// What is left of the names of structures that a question reads, but for how they are cut.
fn read_by(design: &Design, question: usize) -> Vec<String> {
    let uncut = |name: String| {
        let cut = ["_hash_id", "_split"];
        let at = cut.iter().filter_map(|c| name.find(c)).min();
        name[..at.unwrap_or(name.len())].to_owned()
    };
    let names = design.read_by(question).into_iter();
    names
        .filter(|n| !n.contains("_buckets_") && !n.contains("_splits_"))
        .map(uncut)
        .collect()
}

/// On a target whose limits make buckets and salts follow from rates, a choice flips where designs
/// made anew flip: also where the candidates of the model's own rates know nothing of it.
#[test]
fn on_a_target_with_limits_a_flip_is_where_a_design_flips() {
    let mut options = Options::embedded();
    options.target = target::named("cassandra").unwrap();
    let model = reddit();
    let chosen = design(&model, &options).unwrap();
    let split = chosen.model_of(&model);
    let study = Study::of(&split, &options, &chosen).unwrap();
    let question = |name: &str| model.questions.iter().position(|q| q.name == name).unwrap();
    let front_page = question("front_page");
    let flips = study.flips(Choice::Question(front_page)).found;
    assert!(flips.len() >= 4, "{flips:?}");
    for flip in &flips {
        let (near, beyond) = if flip.at < flip.rate {
            (1.01, 0.99)
        } else {
            (0.99, 1.01)
        };
        let at = |times: f64| {
            let made = on(&options, &flip.statement, flip.at * times);
            read_by(&made, front_page)
        };
        assert!(flip.proven, "{flip:?}");
        assert_eq!(at(near), read_by(&chosen, front_page), "{flip:?}");
        assert_ne!(at(beyond), read_by(&chosen, front_page), "{flip:?}");
    }
    // At few new posts a day is as long as an hour at many: no candidate of the model's rates.
    let wider = |f: &&Flip| f.statement == "submit" && f.at < f.rate;
    let wider = flips.iter().find(wider).unwrap();
    assert!(
        wider.reads.iter().any(|name| name.contains("_day_")),
        "{wider:?}"
    );
}

#[test]
fn a_flip_is_where_a_design_flips() {
    let (model, options) = (reddit(), Options::embedded());
    let study = Study::new(&model, &options).unwrap();
    let structures = study.design().structures.clone();
    let mut found = 0;
    for (at, s) in structures.iter().enumerate() {
        for flip in study.flips(Choice::Structure(at)).found {
            found += 1;
            let (near, beyond) = if flip.at < flip.rate {
                (1.01, 0.99)
            } else {
                (0.99, 1.01)
            };
            let built = |d: &Design| d.structures.iter().any(|t| t.same_rows(s));
            let told = format!("{}: {} at {}", s.name, flip.statement, flip.at);
            assert!(built(&at_rate(&flip.statement, flip.at * near)), "{told}");
            assert!(
                !built(&at_rate(&flip.statement, flip.at * beyond)),
                "{told}"
            );
        }
    }
    assert!(found >= 4, "{found} flips");
}

#[test]
fn no_other_design_is_cheaper() {
    let (model, options) = (reddit(), Options::embedded());
    let study = Study::new(&model, &options).unwrap();
    let chosen = study.design().clone();
    let mut compared = 0;
    for at in 0..chosen.structures.len() {
        if let Some(other) = study.without(at) {
            compared += 1;
            let dropped = &chosen.structures[at];
            assert!(!other.structures.iter().any(|s| s.same_rows(dropped)));
            assert!(other.total >= chosen.total * (1.0 - 1e-9));
        }
    }
    for (at, plan) in chosen.plans.iter().enumerate() {
        if let Some(other) = study.next_best(at) {
            compared += 1;
            assert_ne!(other.plans[at].plan, plan.plan, "{}", plan.name);
            assert!(other.total >= chosen.total * (1.0 - 1e-9));
        }
    }
    assert!(compared >= 8, "{compared}");
    // The study is as it was.
    let again = Study::new(&model, &options).unwrap();
    assert!((again.design().total - chosen.total).abs() <= 1e-12 * chosen.total);
}

/// What is asked about a design is asked about that one, on every target.
#[test]
fn a_study_is_of_the_design_that_is_shown() {
    let examples = [
        include_str!("../../examples/reddit.querent"),
        include_str!("../../examples/ebay.querent"),
        include_str!("../../examples/rubis.querent"),
    ];
    for text in examples {
        let model = querent_compiler::parse("example", text).0.unwrap();
        for name in target::NAMES {
            let mut options = Options::embedded();
            options.target = target::named(name).unwrap();
            let chosen = design(&model, &options).unwrap();
            let split = chosen.model_of(&model);
            let study = Study::of(&split, &options, &chosen).unwrap();
            let studied = study.design();
            assert_eq!(
                studied.structures, chosen.structures,
                "{} {name}",
                model.name
            );
        }
    }
}
