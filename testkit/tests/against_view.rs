//! The compiler's evaluator of views against the oracle's, on random models, facts and questions.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::model::{Model, Query};
use querent_compiler::value::Value;
use querent_compiler::view::eval::{Binding, Eval as View, Fixed};
use querent_compiler::view::facts::MemoryFacts;
use querent_testkit::generate::{self, Rng, Size};
use querent_testkit::{Eval, Facts, same_answer, unlimited};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The query's rows without its own order, page and limit.
fn rows(model: &Model, facts: &Facts, query: &Query, params: &[Value]) -> Vec<Vec<Value>> {
    let mut memory = MemoryFacts::default();
    for (&entity, rows) in &facts.rows {
        for (key, row) in rows {
            memory.set(model, entity, key, Some(row.clone()));
        }
    }
    let view = View::new(model, &memory, params);
    let root = model.entity(query.anchor).root;
    let mut groups: BTreeMap<Vec<Value>, Vec<Vec<Binding>>> = BTreeMap::new();
    let mut singles = Vec::new();
    for (key, _) in memory.all(root) {
        let start = Binding::Instance(root, Rc::new(key.clone()));
        let matching = view.matching(start, &query.over, &query.filter, &Fixed::new());
        for scope in matching.unwrap() {
            match &query.group {
                None => singles.push(vec![scope]),
                Some(by) => {
                    let key = by.iter().map(|e| view.expr(&scope, e).unwrap()).collect();
                    groups.entry(key).or_default().push(scope);
                }
            }
        }
    }
    if query.group.as_ref().is_some_and(Vec::is_empty) {
        groups.entry(vec![]).or_default();
    }
    let bindings = singles.into_iter().chain(groups.into_values());
    bindings
        .map(|b| {
            query
                .select
                .iter()
                .map(|i| view.grouped(&b, &i.expr).unwrap())
                .collect()
        })
        .collect()
}

#[test]
fn views_mean_what_the_oracle_means() {
    for seed in 1..300 {
        let mut rng = Rng::new(seed);
        let text = generate::model(&mut rng, Size::default());
        let model = querent_compiler::parse("random.querent", &text).0.unwrap();
        let (facts, _) = generate::facts(&mut rng, &model, 10);
        for question in &model.questions {
            let params = generate::question_params(&mut rng, &model, &facts, question);
            let mut query = unlimited(&question.query);
            (query.order, query.limit, query.page) = (Vec::new(), None, None);
            let right = Eval {
                model: &model,
                facts: &facts,
                params: &params,
            }
            .answer(&query);
            let got = rows(&model, &facts, &query, &params);
            if let Err(difference) = same_answer(&query, &params, &got, &right) {
                panic!(
                    "seed {seed}\n{text}\n{} with {params:?}: {difference}\nright: {:?}",
                    question.name, right.rows
                );
            }
        }
    }
}
