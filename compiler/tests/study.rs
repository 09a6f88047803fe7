//! What `explain` says of other designs is true of them: designed again at those rates, they flip.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::design::study::{Choice, Study};
use querent_compiler::design::{Design, Options, design};
use querent_compiler::model::Model;

fn reddit() -> Model {
    let text = include_str!("../../examples/reddit.querent");
    querent_compiler::parse("reddit", text).0.unwrap()
}

fn at_rate(statement: &str, rate: f64) -> Design {
    let mut model = reddit();
    for question in model.questions.iter_mut().filter(|q| q.name == statement) {
        question.rates = vec![rate];
    }
    for change in model.changes.iter_mut().filter(|c| c.name == statement) {
        change.rates = vec![rate];
    }
    design(&model, &Options::embedded()).unwrap()
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
