//! Which support reads are one.

use super::draw::Rng;
use super::near;
use crate::design::price::NeedPrice;
use crate::design::support::{Branch, Lookup, Way, cheapest};
use crate::design::target::{Support, cost_model};
use crate::design::{Options, design};
use std::collections::{BTreeMap, BTreeSet};

/// Two lists that hold a value of what their instances refer to.
const TWO_LISTS: &str = "entity A (100) { id int key  x text(10) }
    entity B (5000) { id int key  u text(10)  a -> A as bs (avg 50, max 500) }
    question one (1/s) select id, a.x as shown from B where u = $u
    question other (1/s) select id from B where a.x = $x
    change insert_b (1/s) insert B
    change delete_b (1/s) delete B where id = $id
    schema given {
      a lists A by id keep x
      b lists B by id keep u, a.id
      b_by_u lists B by u order by id keep a.x
      b_by_x lists B by a.x order by id
    }";

/// What the changes of a model cost where its first schema is given.
fn changes(text: &str, support: Support) -> Vec<f64> {
    let model = crate::parse("support", text).0.unwrap();
    let mut options = Options::embedded();
    options.target.cost = cost_model("nose").unwrap().cost;
    options.target.cost.rules.support = support;
    options.given = Some(model.schemas[0].clone());
    options.lossy = true;
    let design = design(&model, &options).unwrap();
    design.writes.iter().map(|w| w.cost).collect()
}

/// What several structures look up alike for one statement is one read.
#[test]
fn equal_lookups_of_a_statement_are_one() {
    let cost = cost_model("nose").unwrap().cost;
    let lookup = cost.index + cost.partition + cost.row;
    let each = changes(TWO_LISTS, Support::Lookup);
    let once = changes(TWO_LISTS, Support::Statement);
    let saved: Vec<f64> = each.iter().zip(&once).map(|(a, b)| a - b).collect();
    // Of an insert, both lists look `x` up. Of a delete, all three look up what `b` keeps, and both
    // lists `x`.
    assert!(near(saved[0], lookup), "{saved:?}");
    assert!(near(saved[1], 3.0 * lookup), "{saved:?}");
}

/// Random branches over few lookups, each lookup at one of three prices.
fn drawn(rng: &mut Rng) -> Vec<Branch> {
    let way = |rng: &mut Rng| {
        let lookups = (0..=rng.below(2)).map(|_| {
            let price = NeedPrice {
                cost: 1.0 + rng.below(3) as f64,
                ..NeedPrice::default()
            };
            (Lookup::Candidate(rng.below(5), vec![], None), price)
        });
        Way {
            lookups: lookups.collect(),
            requires: BTreeSet::new(),
            columns: BTreeMap::new(),
        }
    };
    let branch = |rng: &mut Rng| Branch {
        about: String::new(),
        key: true,
        columns: BTreeSet::new(),
        ways: (0..=rng.below(3)).map(|_| way(rng)).collect(),
    };
    (0..=rng.below(5)).map(|_| branch(rng)).collect()
}

/// The least that a way of each branch costs, every lookup being paid once, for the most that is
/// asked of it: by trying all.
fn tried(branches: &[Branch], made: &BTreeMap<&Lookup, f64>) -> f64 {
    let Some((first, rest)) = branches.split_first() else {
        return made.values().sum();
    };
    let costs = first.ways.iter().map(|way| {
        let mut made = made.clone();
        for (lookup, price) in &way.lookups {
            let most = made.entry(lookup).or_default();
            *most = price.cost.max(*most);
        }
        tried(rest, &made)
    });
    costs.fold(f64::INFINITY, f64::min)
}

#[test]
fn ways_are_the_cheapest_together() {
    let kept = BTreeSet::new();
    for seed in 0..3000 {
        let branches = drawn(&mut Rng(seed));
        let asked: Vec<_> = branches.iter().map(|b| (b, &kept)).collect();
        let prices = cheapest(&asked, &|_| true).unwrap();
        let cost: f64 = prices.iter().map(|p| p.cost).sum();
        let least = tried(&branches, &BTreeMap::new());
        assert!(
            near(cost, least),
            "seed {seed}: {cost} {least} {branches:?}"
        );
    }
}
