//! The selection against exhaustive search.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod draw;
mod estimates;
mod limits;
mod memory;
mod studies;
mod support;

use super::Options;
use super::prepare::Prepared;
use super::select::{Programme, Selection};
use super::shape::Requirement;
use super::solve::{Index, Instance, State};
use draw::Rng;
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
    "entity A (1000) { id int key  x int  y int }
     question q (10/s) select id from A where x = $x or y = $y
     change c (1/s) update A set y where id = $id",
    "entity A (1000) { id int key  x int }
     question q (1/s) select id from A where x = $x or id = $id order by x limit 3
     change c (100/s) update A set x where id = $id",
];

/// Everything that can be kept, whether or not anything uses it.
fn everything(programme: &Programme) -> BTreeMap<usize, BTreeSet<usize>> {
    let shapes = programme.planner.shapes.all.iter().enumerate();
    shapes
        .map(|(i, s)| (i, (0..s.structure.columns.len()).collect()))
        .collect()
}

/// The selection of some parts; none where a column lacks its structure.
fn selected<'r>(parts: impl Iterator<Item = &'r Requirement>) -> Option<Selection> {
    let mut shapes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for part in parts {
        match part.column {
            None => drop(shapes.entry(part.shape).or_default()),
            Some(c) => drop(shapes.get_mut(&part.shape)?.insert(c)),
        }
    }
    Some(Selection::of(shapes))
}

/// What a selection costs; infinite where it misses a home or a forced candidate, or has too many
/// structures.
fn price(programme: &Programme, selection: &Selection) -> f64 {
    let kept = |home: &Vec<Requirement>| home.iter().all(|r| selection.has(r));
    let homes = programme.homes.iter().all(|h| h.iter().any(kept));
    let built = |s: &usize| selection.shapes.contains_key(s);
    let forced = programme.forced.iter().all(built);
    let few = selection.shapes.len() <= programme.planner.target.limits.structures;
    if homes && forced && few {
        programme.price(selection)
    } else {
        f64::INFINITY
    }
}

/// The least price over all selections, by definition.
fn cheapest(programme: &Programme, parts: &[Requirement]) -> f64 {
    let sets = 0u32..1 << parts.len();
    let chosen = |set: u32| {
        let parts = parts.iter().enumerate();
        selected(parts.filter_map(move |(bit, p)| (set & (1 << bit) != 0).then_some(p)))
    };
    let prices = sets.filter_map(chosen).map(|s| price(programme, &s));
    prices.fold(f64::INFINITY, f64::min)
}

/// The least price over all sets of items of an instance, and the set.
fn cheapest_of(instance: &Instance) -> (f64, Vec<bool>) {
    let mut sorted = instance.clone();
    for demand in &mut sorted.demands {
        demand.choices.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    }
    let index = Index::new(&sorted);
    let mut state = State::new(&sorted, &index);
    let mut best = (f64::INFINITY, vec![false; sorted.items.len()]);
    let mut most = 0.0;
    // A Gray code: each set differs from the one before in one item.
    for set in 0u32..1 << sorted.items.len() {
        let allowed = sorted.items.iter().zip(&state.kept).all(|(item, kept)| {
            let orphan = *kept && item.parent.is_some_and(|p| !state.kept[p]);
            !orphan && (*kept || !item.forced)
        });
        // Its cost carries the rounding of all sets before, so what may be the best is added up.
        let worth = state.worth();
        most = worth.cost.max(most);
        if allowed && worth.feasible() && worth.cost < best.0 + 1e-9 * most {
            let cost = sorted.evaluate(&state.kept);
            if cost < best.0 {
                best = (cost, state.kept.clone());
            }
        }
        let turned = (set + 1).trailing_zeros() as usize;
        if turned < sorted.items.len() {
            state.change([turned], !state.kept[turned]);
            state.settle();
        }
    }
    best
}

fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

#[test]
fn the_selection_is_the_cheapest_of_all() {
    for text in SMALL {
        let (model, found) = crate::parse("small", text);
        let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
        let options = Options::embedded();
        let prepared = Prepared::new(&model, &options, 0).unwrap();
        let programme = prepared.programme(&options);
        let chosen = programme.solve(&BTreeSet::new()).unwrap();
        let (_, parts) = programme.instance(&everything(&programme));
        let best = cheapest(&programme, &parts);
        assert!(chosen.optimal, "{text}");
        assert!(
            near(chosen.cost, best),
            "{text}\nchose {}, best {best}",
            chosen.cost
        );
    }
}

/// How many random models are tried: `QUERENT_SOAK` multiplies them.
const MODELS: u64 = 3000;
/// Sets of this many items are all tried, and of so many by the definition of the price itself.
const MOST: usize = 14;
const FEW: usize = 7;

/// The selection is as cheap as any over *all* candidates and columns: whatever is pruned on the
/// way (options that others beat or that are too dear, candidates that nothing uses, all
/// reductions of the solver) was not needed.
#[test]
fn pruning_loses_nothing() {
    let soak = std::env::var("QUERENT_SOAK");
    let soak: u64 = soak.ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    let (mut tried, mut none, mut defined) = (0, 0, 0);
    for seed in 0..MODELS * soak {
        let mut rng = Rng(seed);
        let text = draw::model(&mut rng);
        let options = draw::options(&mut rng);
        let (model, found) = crate::parse("drawn", &text);
        let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
        let Ok(prepared) = Prepared::new(&model, &options, 0) else {
            continue;
        };
        let programme = prepared.programme(&options);
        let (instance, parts) = programme.instance(&everything(&programme));
        if instance.items.len() > MOST {
            continue;
        }
        tried += 1;
        let about = || {
            format!(
                "seed {seed}, {} lossy {} cap {}\n{text}",
                options.target.name, options.lossy, options.target.limits.structures
            )
        };
        // The instance prices sets as the definition does.
        for _ in 0..8 {
            let kept: Vec<bool> = instance.items.iter().map(|_| rng.chance(60)).collect();
            let real = parts.iter().zip(&kept).filter(|(_, k)| **k).map(|(p, _)| p);
            if let (true, Some(some)) = (parts.len() == kept.len(), selected(real)) {
                let (a, b) = (instance.evaluate(&kept), price(&programme, &some));
                assert!(near(a, b), "{}{some:?}: {a} weighed, {b} priced", about());
            }
        }
        let (best, kept) = cheapest_of(&instance);
        if parts.len() <= FEW {
            defined += 1;
            let by_definition = cheapest(&programme, &parts);
            assert!(
                near(best, by_definition),
                "{}{best} {by_definition}",
                about()
            );
        }
        match programme.solve(&BTreeSet::new()) {
            None => {
                none += 1;
                assert!(best.is_infinite(), "{}none chosen, best {best}", about());
            }
            Some(chosen) => {
                let real = parts.iter().zip(&kept).filter(|(_, k)| **k).map(|(p, _)| p);
                let real = selected(real).unwrap();
                assert!(near(price(&programme, &real), best), "{}", about());
                let cost = price(&programme, &chosen);
                assert!(
                    near(cost, best) && near(chosen.cost, cost),
                    "{}chose {cost} {:?}\nbest {best} {:?}",
                    about(),
                    chosen.shapes,
                    real.shapes
                );
                assert!(chosen.optimal, "{}not proven", about());
            }
        }
    }
    assert!(
        tried >= 1000 * soak && defined >= 500 * soak && none > 0,
        "{tried} models were small enough, {defined} tried by definition, {none} without a design"
    );
}
