//! The selection against exhaustive search.
#![allow(clippy::unwrap_used)]

use super::Options;
use super::prepare::Prepared;
use super::select::{Programme, Selection};
use super::shape::Requirement;
use std::collections::{BTreeMap, BTreeSet};

/// Small models on which every set of candidates and columns can be tried.
const SMALL: &[&str] = &[
    "entity A (1000) { id int key  x int  y text(10) }
     question q (10/s) select y from A where x = $x
     change c (1/s) update A set y where id = $id",
    "entity A (1000) { id int key  x int  y text(10) }
     question q (1/s) select y from A where x = $x
     change c (1000/s) update A set x where id = $id",
    "entity A (100) { id int key  name text(10) }
     entity B (5000) { id int key  a -> A as bs (avg 50, max 500) }
     question q (10/s) select id, a.name from B where id = $id
     change c (5/s) update A set name where id = $id",
    "entity A (100) { id int key  name text(10) }
     entity B (5000) { id int key  a -> A as bs (avg 50, max 500) }
     question q (100/s) select id, a.name from B where id = $id
     change c (1/h) update A set name where id = $id",
    "entity A (100) { id int key }
     entity B (5000) { id int key  a -> A as bs (avg 50, max 500) }
     question q (100/s) select id, count(bs) as n from A where id = $id
     change c (1/s) insert B",
    "entity A (100) { id int key }
     entity B (5000) { id int key  a -> A as bs (avg 50, max 500) }
     question q (1/h) select id, count(bs) as n from A where id = $id
     change c (1000/s) insert B",
];

/// The least price over all selections that keep every home and every forced candidate.
fn exhaustive(programme: &Programme) -> f64 {
    let mut parts: Vec<Requirement> = Vec::new();
    for (shape, columns) in programme.used(f64::INFINITY) {
        parts.push(Requirement {
            shape,
            column: None,
        });
        parts.extend(columns.into_iter().map(|c| Requirement {
            shape,
            column: Some(c),
        }));
    }
    assert!(
        parts.len() <= 20,
        "{} are too many to try all sets",
        parts.len()
    );
    let mut best = f64::INFINITY;
    'sets: for set in 0u32..1 << parts.len() {
        let mut shapes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (bit, part) in parts
            .iter()
            .enumerate()
            .filter(|(bit, _)| set & (1 << bit) != 0)
        {
            let _ = bit;
            match part.column {
                None => drop(shapes.entry(part.shape).or_default()),
                Some(c) => match shapes.get_mut(&part.shape) {
                    Some(columns) => drop(columns.insert(c)),
                    None => continue 'sets,
                },
            }
        }
        let selection = Selection {
            shapes,
            variables: 0,
            optimal: false,
            gap: 0.0,
            picked: None,
        };
        let homes = programme
            .homes
            .iter()
            .all(|h| h.iter().any(|home| home.iter().all(|r| selection.has(r))));
        let forced = programme
            .forced
            .iter()
            .all(|s| selection.shapes.contains_key(s));
        if homes && forced {
            best = best.min(programme.price(&selection));
        }
    }
    best
}

#[test]
fn the_selection_is_the_cheapest_of_all() {
    for text in SMALL {
        let (model, found) = crate::parse("small", text);
        let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
        let options = Options::embedded();
        let prepared = Prepared::new(&model, &options, 0).unwrap();
        let programme = prepared.programme(&options);
        let chosen = programme.solve().unwrap();
        let (price, best) = (programme.price(&chosen), exhaustive(&programme));
        assert!(chosen.optimal, "{text}");
        assert!(
            (price - best).abs() <= best * 1e-6,
            "{text}\nchose {price}, best {best}"
        );
    }
}
