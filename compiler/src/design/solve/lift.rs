//! Lifting: the form in which an instance is bounded.
//!
//! A cost that several triggers share becomes an item of its own, which each trigger requires, and
//! which every choice that contains a trigger requires too. Nothing changes for whole solutions.
//! But a demand takes one of its choices: where each of them leads to the cost, through whichever
//! structure, the relaxation now sees it paid in full, not in the halves of the structures.
//!
//! And where probing found that the cost is paid unless all of some structures are kept, one of the
//! two is demanded: the item, or those structures.

use super::instance::{Choice, Demand, Instance, Item, ItemId};
use super::reduce::subset;

/// The lifted instance: the items of the plain one first, then those of shared costs.
///
/// A set of plain items costs the same in both, if those new items are kept that it triggers:
/// fewer are not allowed, more only cost, and a choice that contains a trigger requires none that
/// would not be kept anyway.
pub(crate) fn lift(instance: &Instance) -> Instance {
    let mut out = instance.clone();
    let mut by_item: Vec<Vec<(usize, usize)>> = vec![Vec::new(); instance.items.len()];
    for (d, demand) in instance.demands.iter().enumerate() {
        for (c, choice) in demand.choices.iter().enumerate() {
            choice
                .requires
                .iter()
                .for_each(|&i| by_item[i].push((d, c)));
        }
    }
    for (d, demand) in instance.demands.iter().enumerate() {
        let Some(cost) = demand.shared() else {
            continue;
        };
        let item: ItemId = out.items.len();
        out.items.push(Item {
            cost,
            parent: None,
            structure: false,
            forced: false,
            alike: None,
        });
        out.demands[d].choices = vec![Choice {
            cost: 0.0,
            requires: vec![item],
        }];
        for when in &demand.when {
            let rarest = when.iter().min_by_key(|&&i| by_item[i].len());
            for &(q, c) in rarest.map_or(&[][..], |&i| &by_item[i]) {
                let requires = &mut out.demands[q].choices[c].requires;
                if requires.last() != Some(&item) && subset(when, requires) {
                    requires.push(item);
                }
            }
        }
        if let Some(all) = instance.unless.get(&d) {
            let choice = |requires| Choice {
                cost: 0.0,
                requires,
            };
            out.demands.push(Demand {
                when: vec![vec![]],
                choices: vec![choice(vec![item]), choice(all.clone())],
            });
        }
    }
    out
}
