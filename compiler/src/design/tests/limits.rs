//! What is told of limits: sizes that fit each other, and numbers whose change mends what they are
//! blamed for.

use super::draw::{self, Rng};
use crate::design::{Design, Finding, Options, Subject, design, popular_key, target};
use crate::model::{Model, Size, Type};
use std::collections::BTreeMap;

/// How many random models are tried.
const MODELS: u64 = 700;

/// A random model on a random target whose limits are small enough to be broken.
fn drawn(seed: u64) -> (String, Model, Options) {
    let mut rng = Rng(seed);
    let text = draw::model(&mut rng);
    let (model, found) = crate::parse("drawn", &text);
    let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
    let mut options = Options::embedded();
    options.target = target::named(target::NAMES[rng.below(target::NAMES.len())]).unwrap();
    let limits = &mut options.target.limits;
    limits.partition_rows = [None, Some(1.0), Some(20.0), Some(1e4), Some(1e5)][rng.below(5)];
    limits.partition_bytes = [None, Some(500.0), Some(1e5)][rng.below(3)];
    let few = |per_second| {
        let unit_bytes = None;
        Some(target::Throughput {
            per_second,
            unit_bytes,
        })
    };
    limits.partition_reads = [None, few(1.0), few(100.0), few(3e3)][rng.below(4)];
    limits.partition_writes = [None, few(1.0), few(100.0), few(3e3)][rng.below(4)];
    limits.row_bytes = [limits.row_bytes, 60.0][rng.below(2)];
    (text, model, options)
}

#[test]
fn a_partition_is_no_smaller_than_what_it_holds() {
    let mut seen = 0;
    for seed in 0..MODELS {
        let (text, model, options) = drawn(seed);
        let Ok(made) = design(&model, &options) else {
            continue;
        };
        let stats_of = made.model_of(&model);
        let stats = options.target.stats(&stats_of);
        for (s, note) in made.structures.iter().zip(&made.notes) {
            seen += 1;
            let sizes = &note.sizes;
            let partition: Vec<_> = s.partition.iter().collect();
            let about = format!("seed {seed}, {}\n{text}\n{s:?}\n{sizes:?}", made.target);
            assert!(sizes.partition_rows_max >= 1.0, "{about}");
            let usual = if popular_key::is_split(&stats_of, s) {
                1.0
            } else {
                stats.rows_per(s, &partition)
            };
            assert!(sizes.partition_rows_max >= usual * 0.999, "{about}");
            assert!(sizes.partition_bytes_max >= sizes.row_bytes_max, "{about}");
            assert!(sizes.row_bytes_max >= sizes.key_bytes_max, "{about}");
            assert!(sizes.row_bytes_max >= sizes.collection_bytes_max, "{about}");
            assert!(
                sizes.partition_values_max >= s.columns.len() as f64,
                "{about}"
            );
            assert!(sizes.partition_bytes_max.is_finite(), "{about}");
        }
    }
    assert!(seen > 1000, "{seen}");
}

/// The model in which the number that a finding blames is as small as it can be.
fn mended(model: &Model, finding: &Finding) -> Model {
    let mut model = model.clone();
    let named = |model: &Model, name: &str| {
        let found = model.entities.iter().position(|e| e.name == name);
        found.unwrap_or_else(|| panic!("{finding} blames nobody: {:?}", finding.subject))
    };
    match &finding.subject {
        Subject::Entity(name) => {
            let at = named(&model, name);
            model.entities[at].count = 1.0;
        }
        Subject::Field(entity, field) | Subject::Size(entity, field) => {
            let entity = named(&model, entity);
            let count = model.entities[entity].count;
            let of = |e: crate::model::EntityId| e.index() == entity;
            let references = model.references.iter_mut();
            for r in references.filter(|r| of(r.entity) && r.name == *field) {
                (r.avg, r.max) = (r.avg.min(1.0), 1.0);
            }
            let attributes = model.attributes.iter_mut();
            for a in attributes.filter(|a| of(a.entity) && a.name == *field) {
                if let Type::Text(size) = &mut a.ty
                    && is_wide(finding)
                {
                    *size = Size {
                        avg: 1.0,
                        max: Some(1.0),
                    };
                }
                (a.cardinality, a.sharing) = (Some(count), Some(1.0));
            }
        }
        Subject::Question(name) => {
            let questions = model.questions.iter_mut();
            let asked = questions.filter(|q| q.name == *name);
            asked.for_each(|q| q.rates.fill(1e-9));
        }
        Subject::Change(name) => {
            let changes = model.changes.iter_mut();
            let done = changes.filter(|c| c.name == *name);
            done.for_each(|c| c.rates.fill(1e-9));
        }
        Subject::Structure(..) => panic!("{finding} is about a structure that nobody gave"),
        Subject::Model => panic!("{finding} is about no number"),
    }
    model
}

/// Whether it is about how large a value is, not about how many share one.
fn is_wide(finding: &Finding) -> bool {
    finding.message.contains("takes up to") || finding.code == "W023"
}

/// What is blamed is a number whose change mends it: with it as small as it can be, nothing is amiss
/// of that kind, or something else is to blame.
#[test]
fn what_is_blamed_mends_it() {
    let mut mends: BTreeMap<String, usize> = BTreeMap::new();
    let mut stay = Vec::new();
    for seed in 0..MODELS {
        let (text, model, options) = drawn(seed);
        let Ok(Design { warnings, .. }) = design(&model, &options) else {
            continue;
        };
        // That a question goes through everything is no number's fault.
        for finding in warnings.iter().filter(|f| f.code != "W034") {
            let again = design(&mended(&model, finding), &options).unwrap();
            let same = |f: &Finding| {
                f.code == finding.code
                    && f.subject == finding.subject
                    && is_wide(f) == is_wide(finding)
            };
            if again.warnings.iter().any(same) {
                stay.push(format!(
                    "seed {seed}, {}: {finding}\n{text}",
                    options.target.name
                ));
                continue;
            }
            let kind = match finding.subject {
                Subject::Entity(_) => "count",
                Subject::Field(..) | Subject::Size(..) => "field",
                _ => "rate",
            };
            *mends.entry(format!("{} {kind}", finding.code)).or_default() += 1;
        }
    }
    assert!(stay.is_empty(), "{} stay: {}", stay.len(), stay.join("\n"));
    for kind in [
        "W006 field",
        "W020 count",
        "W020 field",
        "W024 rate",
        "W025 rate",
    ] {
        assert!(mends.get(kind).is_some_and(|n| *n >= 5), "{mends:?}");
    }
}
