//! The two implementations of the meaning agree on random models, facts, questions and changes.
//!
//! `QUERENT_SEED` and `QUERENT_CASES` choose what is run; a failure prints the seed and the model.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::model::{Model, Type};
use querent_compiler::value::Value;
use querent_testkit::generate::{self, Rng, Size};
use querent_testkit::{Answer, Eval, Facts, Oracle, apply, expire, same_answer, stamp, unlimited};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

fn random_model(rng: &mut Rng, seed: u64) -> (Model, String) {
    let text = generate::model(rng, Size::default());
    let (model, diagnostics) = querent_compiler::parse("random.querent", &text);
    let errors: Vec<String> = diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| {
            format!(
                "{}: {}",
                text.get(d.span.start..d.span.end).unwrap_or("?"),
                d.message
            )
        })
        .collect();
    assert!(errors.is_empty(), "seed {seed}: {errors:#?}\n{text}");
    (model.unwrap(), text)
}

/// Asks every question, with and without cursors, of both; panics where they differ.
fn compare_all(rng: &mut Rng, model: &Model, facts: &Facts, what: &str) -> usize {
    let oracle = Oracle::load(model, facts).unwrap();
    let mut rows = 0;
    for question in &model.questions {
        let query = unlimited(&question.query);
        for round in 0..3 {
            let mut params = generate::question_params(rng, model, facts, question);
            if round > 0 {
                for (i, param) in question.params.iter().enumerate() {
                    if param.ty == Type::Cursor {
                        let eval = Eval {
                            model,
                            facts,
                            params: &params,
                        };
                        let id = querent_compiler::model::ParamId(i as u32);
                        params[i] =
                            generate::cursor(rng, &eval, &question.query, id).unwrap_or_default();
                    }
                }
            }
            let naive = Eval {
                model,
                facts,
                params: &params,
            }
            .answer(&question.query);
            let right = oracle
                .answer(&query, &params)
                .unwrap_or_else(|e| panic!("{what}\n{}: {e}", question.name));
            if let Err(difference) = same_answer(&question.query, &params, &naive.rows, &right) {
                let sql = oracle.sql(&query, &params).unwrap();
                panic!(
                    "{what}\n{} with {params:?}: {difference}\n{sql}\n{query:#?}",
                    question.name
                );
            }
            assert_total_order(&right, what, &question.name);
            rows += right.rows.len();
        }
    }
    rows
}

/// The tie-breakers make the order total: rows of equal order are equal.
fn assert_total_order(answer: &Answer, what: &str, name: &str) {
    for (order, rows) in answer.order.windows(2).zip(answer.rows.windows(2)) {
        if !order[0].is_empty() && order[0] == order[1] {
            assert_eq!(
                rows[0], rows[1],
                "{what}\n{name}: two rows of the order {:?}",
                order[0]
            );
        }
    }
}

#[test]
fn sqlite_and_the_naive_evaluator_agree() {
    let first = setting("QUERENT_SEED", 1);
    let (mut rows, mut refused, mut applied) = (0, 0, 0);
    for seed in first..first + setting("QUERENT_CASES", 300) {
        let mut rng = Rng::new(seed);
        let (model, text) = random_model(&mut rng, seed);
        let what = format!("seed {seed}\n{text}");
        let (mut facts, mut sequences) = generate::facts(&mut rng, &model, 12);
        rows += compare_all(&mut rng, &model, &facts, &what);
        for _ in 0..6 {
            let index = rng.below(model.changes.len());
            let change = &model.changes[index];
            let params = generate::change_params(&mut rng, &model, &facts, change);
            match apply(&model, change, &params, &mut facts, &mut sequences, 0) {
                Ok(()) => applied += 1,
                Err(_) => refused += 1,
            }
        }
        rows += compare_all(&mut rng, &model, &facts, &what);
    }
    eprintln!("{rows} rows, {applied} applied, {refused} refused");
    // The cases must mean something.
    assert!(
        rows > 0 && refused > 0 && applied > refused,
        "{rows} rows, {applied} applied, {refused} refused"
    );
}

#[test]
fn random_facts_keep_the_rules() {
    for seed in 1..100 {
        let mut rng = Rng::new(seed);
        let (model, text) = random_model(&mut rng, seed);
        let (facts, sequences) = generate::facts(&mut rng, &model, 20);
        // A change that does nothing checks all facts.
        let nothing = querent_compiler::model::Change {
            name: "nothing".into(),
            rates: vec![],
            atomic: false,
            params: vec![],
            statements: vec![],
        };
        let result = apply(
            &model,
            &nothing,
            &[],
            &mut facts.clone(),
            &mut sequences.clone(),
            0,
        );
        assert_eq!(result, Ok(()), "seed {seed}\n{text}");
        let null = |v: &Value| matches!(v, Value::Float(f) if f.is_nan() || (*f == 0.0 && f.is_sign_negative()));
        assert!(
            !facts
                .rows
                .values()
                .flat_map(|rows| rows.values())
                .flatten()
                .any(null),
            "seed {seed}"
        );
    }
}

/// The random cases of expiry must mean something: facts expire, fall with others, and stay.
#[test]
fn random_facts_expire_as_time_passes() {
    let (mut models, mut gone, mut left) = (0, 0, 0);
    for seed in 1..60 {
        let mut rng = Rng::new(seed);
        let text = generate::timed_model(&mut rng, Size::default());
        let (model, found) = querent_compiler::parse("random.querent", &text);
        let model = model.unwrap_or_else(|| panic!("seed {seed}: {found:?}\n{text}"));
        models += usize::from(model.expiring().next().is_some());
        let (mut facts, _) = generate::facts(&mut rng, &model, 12);
        for (&root, rows) in &mut facts.rows {
            rows.values_mut()
                .for_each(|row| stamp(&model, root, row, 0));
        }
        let before = facts.len();
        expire(&model, &mut facts, 60_000);
        gone += before - facts.len();
        left += facts.len();
        let again = facts.clone();
        expire(&model, &mut facts, 60_000);
        assert_eq!(facts, again, "seed {seed}: what is due goes at once");
    }
    assert!(
        models > 20 && gone > 100 && left > gone,
        "{models} models, {gone} gone, {left} left"
    );
}
