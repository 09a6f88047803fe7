//! Limits are proved: of models whose volumes are those of random facts, no partition of any
//! structure holds more rows than was told.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::design::{Options, design};
use querent_compiler::model::{EntityId, Expr, Field, Model, Size, Type};
use querent_compiler::value::Value;
use querent_compiler::view::facts::MemoryFacts;
use querent_compiler::view::rows::rows;
use querent_testkit::Facts;
use querent_testkit::facts::{concrete, is_a};
use querent_testkit::generate::{self, Rng};
use std::collections::{BTreeMap, BTreeSet};

/// Values of a field over all instances that have it.
fn values<'f>(model: &Model, facts: &'f Facts, owner: EntityId, field: Field) -> Vec<&'f Value> {
    let root = model.entity(owner).root;
    let slot = model.slot(owner, field).unwrap();
    let rows = facts.of(model, root).map(|(_, row)| row);
    let own = rows.filter(|row| is_a(model, concrete(model, root, row), owner));
    own.map(|row| &row[slot]).collect()
}

/// What an attribute's value has that counts: itself, or the elements of a list or set, each once, or
/// the keys of a map.
fn parts(value: &Value) -> BTreeSet<&Value> {
    match value {
        Value::Null => BTreeSet::new(),
        Value::List(all) | Value::Set(all) => all.iter().collect(),
        Value::Map(pairs) => pairs.iter().map(|(key, _)| key).collect(),
        other => BTreeSet::from([other]),
    }
}

/// How often the most frequent is there, and how many different ones.
fn counted<T: Ord>(all: impl Iterator<Item = T>) -> (f64, f64) {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    let most = counts.values().max().copied().unwrap_or(1);
    (most as f64, counts.len().max(1) as f64)
}

/// The model with the volumes of the facts; of attributes it states all, some or nothing.
fn measured(rng: &mut Rng, model: &Model, facts: &Facts) -> Model {
    let mut measured = model.clone();
    for (at, entity) in model.entities.iter().enumerate() {
        let id = EntityId(at as u32);
        let rows = facts.of(model, entity.root).map(|(_, row)| row);
        let own = rows.filter(|row| is_a(model, concrete(model, entity.root, row), id));
        measured.entities[at].count = own.count().max(1) as f64;
    }
    for (at, r) in model.references.iter().enumerate() {
        let field = Field::Reference(querent_compiler::model::ReferenceId(at as u32));
        let all = values(model, facts, r.entity, field).into_iter();
        let all: Vec<&Value> = all.filter(|v| !v.is_null()).collect();
        let targets = measured.entity(r.target).count;
        let (most, _) = counted(all.iter());
        measured.references[at].avg = all.len() as f64 / targets;
        measured.references[at].max = most;
    }
    for (at, a) in model.attributes.iter().enumerate() {
        let field = Field::Attribute(querent_compiler::model::AttributeId(at as u32));
        if a.name.starts_with('@') {
            continue;
        }
        let all = values(model, facts, a.entity, field);
        let attribute = &mut measured.attributes[at];
        if let Type::List(_, size) | Type::Set(_, size) | Type::Map(_, _, size) = &mut attribute.ty
        {
            let sizes = all.iter().map(|v| parts(v).len() as f64);
            let total: f64 = sizes.clone().sum();
            *size = Size {
                avg: total / all.len().max(1) as f64,
                max: Some(sizes.fold(1.0, f64::max)),
            };
        }
        (attribute.cardinality, attribute.sharing) = (None, None);
        let (most, different) = counted(all.iter().flat_map(|v| parts(v)));
        if !matches!(a.ty, Type::Record(_)) {
            attribute.cardinality = rng.percent(60).then_some(different);
            attribute.sharing = attribute
                .cardinality
                .and_then(|_| rng.percent(60).then_some(most));
        }
    }
    measured
}

/// A key that is no function of time, whose evenness is not proved.
fn plain(part: &Expr) -> bool {
    matches!(part, Expr::Path { .. } | Expr::Const(_))
}

#[test]
fn no_partition_holds_more_than_was_told() {
    let (mut compared, mut tight, mut above) = (0, 0, Vec::new());
    for seed in 1..40 {
        let mut rng = Rng::new(seed);
        // Few questions, so that many models are designed.
        let size = generate::Size {
            entities: 3,
            questions: 2,
            changes: 1,
            wide: true,
        };
        let text = generate::model(&mut rng, size);
        let model = querent_compiler::parse("random.querent", &text).0.unwrap();
        let (facts, _) = generate::facts(&mut rng, &model, 12);
        let model = measured(&mut rng, &model, &facts);
        let mut memory = MemoryFacts::default();
        for (&entity, rows) in &facts.rows {
            for (key, row) in rows {
                memory.set(&model, entity, key, Some(row.clone()));
            }
        }
        let mut options = Options::embedded();
        options.nodes = 20;
        options.sample = rng.percent(50).then_some(seed);
        let Ok(design) = design(&model, &options) else {
            continue;
        };
        for (s, note) in design.structures.iter().zip(&design.notes) {
            if !s.key().all(plain) {
                continue;
            }
            let (before, told) = (s.partition.len(), note.sizes.partition_rows_max);
            let keys = rows(&model, s, &memory).into_keys();
            let partitions = keys.map(|key| key[..before].to_vec());
            // What has no value is told of nowhere.
            let partitions = partitions.filter(|key| !key.iter().any(Value::is_null));
            let (most, _) = counted(partitions);
            compared += 1;
            tight += usize::from(most == told);
            if most > told {
                above.push(format!("seed {seed}: {most} of {told} {s:?}\n{text}"));
            }
        }
    }
    assert!(
        above.is_empty(),
        "{} of {compared}: {}",
        above.len(),
        above.join("\n")
    );
    assert!(compared > 60 && tight * 2 > compared, "{compared} {tight}");
}
