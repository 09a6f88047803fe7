//! Whatever the designer makes can be written as a `schema` block and is read again as it was.

#![allow(clippy::unwrap_used)]

use querent::compiler::design::popular_key::split_by;
use querent::compiler::design::{Options, design, source, target};
use querent::compiler::diagnostic::Diagnostic;
use querent::compiler::model::{Compare, Expr, Model, Pred, Query, Schema};
use querent::compiler::view::Structure;
use querent_testkit::generate::{self, Rng, Size};

const SIZE: Size = Size {
    entities: 5,
    questions: 6,
    changes: 3,
    wide: true,
};

/// The model of a seed, as a text too.
fn drawn(seed: u64) -> (String, Model) {
    let mut rng = Rng::new(seed);
    let text = if seed.is_multiple_of(2) {
        generate::model(&mut rng, SIZE)
    } else {
        generate::timed_model(&mut rng, SIZE)
    };
    let model = querent::compiler::parse("random.querent", &text).0.unwrap();
    (text, model)
}

/// Whether popular keys are split in the design of this seed.
fn written_and_read(seed: u64) -> Result<bool, String> {
    let (text, model) = drawn(seed);
    let name = if seed.is_multiple_of(3) {
        "cassandra"
    } else {
        "embedded"
    };
    let mut options = Options {
        target: target::named(name).unwrap(),
        sample: Some(seed),
        nodes: 5,
        ..Options::embedded()
    };
    if seed.is_multiple_of(6) {
        options.target.limits.partition_rows = Some(2.0 + (seed % 31) as f64);
    }
    let made = design(&model, &options).map_err(|e| e.to_string())?;
    let model = made.model_of(&model);
    let plain = |s: &Structure| Structure {
        hashed: vec![],
        ..s.clone()
    };
    let written: Vec<Structure> = made.structures.iter().map(plain).collect();
    let block = source::schema(&model, "printed", &written);
    let (again, found) = querent::compiler::parse("random.querent", &format!("{text}\n{block}"));
    let Some(again) = again else {
        let errors = found.iter().filter(|d| d.is_error());
        let told: Vec<&str> = errors.map(|d: &Diagnostic| d.message.as_str()).collect();
        return Err(format!("{text}\n{block}\n{}", told.join("\n")));
    };
    let read = &again.schemas.last().unwrap().structures;
    match written.iter().zip(read).find(|(w, r)| w != r) {
        None => Ok(!made.splits.is_empty()),
        Some((w, r)) => Err(format!("{text}\n{block}\n{w:?}\nis read as\n{r:?}")),
    }
}

/// A design that is given back, as a `schema` block or as JSON, costs what it cost, statement by
/// statement, and nothing is added to it. It may cost less, which is told: with few structures to
/// choose from, the planner drops fewer partial plans of a large question.
fn given_back(seed: u64) -> Result<bool, String> {
    let mut cheaper = false;
    let (text, model) = drawn(seed);
    let name = target::NAMES.get(seed as usize % target::NAMES.len());
    let mut options = Options {
        target: target::named(name.unwrap()).unwrap(),
        nodes: 200,
        ..Options::embedded()
    };
    if seed.is_multiple_of(5) {
        options.target.limits.partition_rows = Some(2.0 + (seed % 31) as f64);
    }
    let made = design(&model, &options).map_err(|e| e.to_string())?;
    let split = made.model_of(&model);
    let json = made.to_json(&split, 0.0);
    for (s, note) in made.structures.iter().zip(&made.notes) {
        // What is said to have its home in a structure is kept there, by that name.
        let kept = source::schema(&split, "one", std::slice::from_ref(s));
        let numbers = note.home_of.iter().filter(|fact| fact.contains("@split_"));
        let held = s.columns.iter().filter(|e| split_by(&split, e).is_some());
        if numbers.count() != held.count() {
            return Err(format!("{text}\n{kept}is the home of {:?}", note.home_of));
        }
    }
    let blocks = [
        source::schema(&split, "printed", &made.structures),
        source::schema_of_json("printed", &json)?,
    ];
    for block in blocks {
        let (again, found) =
            querent::compiler::parse("random.querent", &format!("{text}\n{block}"));
        let again = again.ok_or_else(|| format!("{text}\n{block}\n{found:?}"))?;
        let options = Options {
            given: again.schemas.last().cloned(),
            ..options.clone()
        };
        let priced = design(&again, &options).map_err(|e| format!("{text}\n{block}\n{e}"))?;
        let names = |d: &querent::compiler::design::Design| {
            let names = d
                .structures
                .iter()
                .map(|s| (s.name.clone(), s.columns.len()));
            names.collect::<Vec<_>>()
        };
        if names(&made) != names(&priced) {
            return Err(format!(
                "{text}\n{block}\n{:?}\n{:?}",
                names(&made),
                names(&priced)
            ));
        }
        let prices = |d: &querent::compiler::design::Design| {
            let questions = d.plans.iter().map(|p| (p.name.clone(), p.cost));
            let changes = d.writes.iter().map(|w| (w.name.clone(), w.cost));
            questions.chain(changes).collect::<Vec<_>>()
        };
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        if !same(made.total, priced.total) && priced.total < made.total {
            cheaper = true;
            continue;
        }
        let both = prices(&made).into_iter().zip(prices(&priced));
        for ((name, designed), (_, given)) in both {
            if !same(designed, given) {
                return Err(format!(
                    "{text}\n{block}\n{name}: {designed} designed, {given} given"
                ));
            }
        }
        if !same(made.total, priced.total) {
            return Err(format!("{} designed, {} given", made.total, priced.total));
        }
    }
    Ok(cheaper)
}

/// How many seeds a test runs where nobody says.
fn seeds(default: u64) -> u64 {
    let seeds = std::env::var("QUERENT_SEEDS").ok();
    seeds.and_then(|s| s.parse().ok()).unwrap_or(default)
}

/// Whether a question names instances by all of their key, each part by a value or a list of values.
fn names_keys(model: &Model, query: &Query) -> bool {
    let given = |e: &Expr| matches!(e, Expr::Param(..));
    let named = |part: &Expr| {
        query.filter.iter().any(|p| match p {
            Pred::Compare(a, Compare::Eq, b) | Pred::InList(a, b) => a == part && given(b),
            _ => false,
        })
    };
    let key = model.key_leaf_paths(model.entity(query.anchor).root, 0, &[], &[]);
    key.iter().all(named)
}

/// Where every fact is kept and nothing else, every statement has a plan: at worst it reads all. What
/// is named by its key is looked up, in whatever order it is asked for.
#[test]
fn homes_alone_answer_everything() {
    let mut looked_up = 0;
    let size = Size {
        questions: 20,
        ..SIZE
    };
    for seed in 0..seeds(12) {
        let text = generate::listing_model(&mut Rng::new(seed), size);
        let model = querent::compiler::parse("random.querent", &text).0.unwrap();
        for name in target::NAMES {
            let options = Options {
                target: target::named(name).unwrap(),
                given: Some(Schema {
                    name: "homes".into(),
                    structures: vec![],
                    splits: vec![],
                }),
                ..Options::embedded()
            };
            let made = match design(&model, &options) {
                Ok(made) => made,
                Err(e) => panic!("seed {seed} on {name}: {e}\n{text}"),
            };
            for (question, plan) in model.questions.iter().zip(&made.plans) {
                let query = &question.query;
                // Of a few instances all may be read for less.
                let many = model.entity(query.anchor).count >= 1000.0;
                if !many || query.order.is_empty() || !names_keys(&model, query) {
                    continue;
                }
                looked_up += 1;
                let steps = made.plan_steps(&made.model_of(&model), &plan.plan);
                let first = steps.first().and_then(|step| step["op"].as_str());
                assert_ne!(
                    first,
                    Some("scan"),
                    "seed {seed} on {name}, {}:\n{text}",
                    question.name
                );
            }
        }
    }
    assert!(looked_up > 0, "no question names keys");
}

#[test]
fn a_design_given_back_is_the_same() {
    let seeds = seeds(40);
    let (mut failed, mut cheaper) = (Vec::new(), Vec::new());
    for seed in 0..seeds {
        match given_back(seed) {
            Ok(less) => cheaper.extend(less.then_some(seed)),
            Err(why) => failed.push(format!("seed {seed}: {why}")),
        }
    }
    assert!(
        failed.is_empty(),
        "{} fail; the first:\n{}",
        failed.len(),
        failed.first().unwrap()
    );
    let most = usize::try_from(seeds / 50).unwrap();
    assert!(cheaper.len() <= most, "cheaper as a schema: {cheaper:?}");
}

#[test]
fn every_structure_is_read_as_it_was_written() {
    let (mut failed, mut split) = (Vec::new(), 0);
    let seeds = seeds(100);
    for seed in 0..seeds {
        match written_and_read(seed) {
            Ok(with) => split += usize::from(with),
            Err(why) => failed.push(format!("seed {seed}: {why}")),
        }
    }
    assert!(
        failed.is_empty(),
        "{} fail; the first:\n{}",
        failed.len(),
        failed.first().unwrap()
    );
    assert!(split > 0 || seeds < 100, "no design splits popular keys");
}
