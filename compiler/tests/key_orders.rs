//! What a design costs does not depend on the order in which anything is declared.

#![allow(clippy::unwrap_used)]

use querent_compiler::design::{Options, design, target};
use std::fmt::Write as _;

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed >> 33) as usize) % n
    }

    fn shuffled<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        let mut left = of.to_vec();
        let mut out = Vec::new();
        while !left.is_empty() {
            out.push(left.remove(self.below(left.len())));
        }
        out
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of.get(self.below(of.len())).unwrap()
    }
}

const FIELDS: [&str; 4] = [
    "tenant int distinct 2k (max 90k)",
    "owner int distinct 9k (max 30k)",
    "st int distinct 6",
    "day date distinct 300",
];

/// Fields and questions, in the order in which they were drawn.
fn drawn(rng: &mut Rng) -> (Vec<String>, Vec<String>) {
    let fields: Vec<String> = FIELDS.iter().map(|f| (*f).to_owned()).collect();
    let name = |field: &str| field.split(' ').next().unwrap().to_owned();
    let common = rng.shuffled(&fields);
    let mut questions = Vec::new();
    for at in 0..2 + rng.below(2) {
        // Mostly one that goes on from another, sometimes any.
        let order = if rng.below(4) == 0 {
            rng.shuffled(&fields)
        } else {
            common.clone()
        };
        let equal = order.iter().take(1 + rng.below(3)).map(|f| name(f));
        let equal: Vec<String> = equal.collect();
        let mut conditions: Vec<String> = equal.iter().map(|n| format!("{n} = $p_{n}")).collect();
        let next = order.get(equal.len()).map(|f| name(f));
        if let Some(next) = next.filter(|_| rng.below(3) == 0) {
            conditions.push(format!("{next} between $from and $to"));
        }
        let conditions = rng.shuffled(&conditions).join(" and ");
        let rate = rng.one(&["5/s", "200/s", "3k/s"]);
        let answer = rng.one(&["id, title", "id", "count(*) as n"]);
        questions.push(format!(
            "question q{at} ({rate}) select {answer} from T where {conditions}"
        ));
    }
    (fields, questions)
}

fn written(fields: &[String], questions: &[String]) -> String {
    let mut text = "model orders\nentity T (20M) {\n  id bigint key\n".to_owned();
    for field in fields {
        let _ = writeln!(text, "  {field}");
    }
    text.push_str("  title text(40)\n}\n");
    for question in questions {
        let _ = writeln!(text, "{question}");
    }
    text.push_str("change add (300/s) insert T\n");
    text
}

/// The order of fields and questions says nothing. (The models are small: of many partial plans only
/// the cheapest are followed, and which these are may depend on the order of equal ones.)
#[test]
fn an_order_of_declarations_costs_nothing() {
    for seed in 0..40 {
        let mut rng = Rng(seed);
        let (fields, questions) = drawn(&mut rng);
        let name = rng.one(target::NAMES);
        let options = Options {
            target: target::named(name).unwrap(),
            ..Options::embedded()
        };
        let total = |text: &str| {
            let (model, found) = querent_compiler::parse("m", text);
            let made = design(&model.unwrap_or_else(|| panic!("{found:#?}")), &options).unwrap();
            made.search.optimal.then_some(made.total)
        };
        let first = written(&fields, &questions);
        let Some(expected) = total(&first) else {
            continue;
        };
        for _ in 0..2 {
            let text = written(&rng.shuffled(&fields), &rng.shuffled(&questions));
            if let Some(found) = total(&text) {
                assert!(
                    (found - expected).abs() <= 1e-4 * expected,
                    "{name}: {expected} for\n{first}\n{found} for\n{text}"
                );
            }
        }
    }
}
