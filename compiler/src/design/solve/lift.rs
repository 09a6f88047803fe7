//! Lifting: the form in which an instance is bounded.
//!
//! That a demand stands becomes an item of its own, which each of its triggers requires, and which
//! every choice that contains a trigger requires too; the choices of the demand are then up to that
//! item. Nothing changes for whole solutions. But a demand takes one of its choices: where each of
//! them leads to another demand, through whichever structure, the relaxation now sees that one
//! stand, not by a fifteenth in each of fifteen structures. A demand that only costs is the item's
//! price.
//!
//! And where probing found that a demand stands unless all of some structures are kept, one of the
//! two is demanded: the item, or those structures.

use super::instance::{Choice, Demand, Instance, Item, ItemId};
use super::reduce::subset;

/// The lifted instance: the items of the plain one first, then those that say that a demand stands.
///
/// A set of plain items costs the same in both, if those new items are kept that it triggers:
/// fewer are not allowed, more only cost, and a choice that contains a trigger requires none that
/// would not be kept anyway.
pub(crate) fn lift(instance: &Instance) -> Instance {
    let mut out = instance.clone();
    // Where the choices of each demand are, and the demands that have an item.
    let mut place: Vec<usize> = (0..instance.demands.len()).collect();
    let mut lifted: Vec<(usize, ItemId)> = Vec::new();
    let free = |requires| Choice {
        cost: 0.0,
        requires,
    };
    for (d, demand) in instance.demands.iter().enumerate() {
        let shared = demand.shared();
        let unless = instance.unless.get(&d);
        let several = !demand.always() && (demand.when.len() > 1 || unless.is_some());
        if shared.is_none() && !several {
            continue;
        }
        let item: ItemId = out.items.len();
        out.items.push(Item {
            cost: shared.unwrap_or_default(),
            parent: None,
            structure: false,
            forced: false,
            alike: None,
        });
        let choices = std::mem::replace(&mut out.demands[d].choices, vec![free(vec![item])]);
        if shared.is_none() {
            place[d] = out.demands.len();
            out.demands.push(Demand {
                when: vec![vec![item]],
                choices,
            });
        }
        if let Some(all) = unless {
            out.demands.push(Demand {
                when: vec![vec![]],
                choices: vec![free(vec![item]), free(all.clone())],
            });
        }
        lifted.push((d, item));
    }
    let containing = by_item(instance);
    for (d, item) in lifted {
        for when in &instance.demands[d].when {
            let rarest = when.iter().min_by_key(|&&i| containing[i].len());
            for &(q, c) in rarest.map_or(&[][..], |&i| &containing[i]) {
                let requires = &mut out.demands[place[q]].choices[c].requires;
                if requires.last() != Some(&item) && subset(when, requires) {
                    requires.push(item);
                }
            }
        }
    }
    out
}

/// The choices that require each item: their demands and positions.
fn by_item(instance: &Instance) -> Vec<Vec<(usize, usize)>> {
    let mut out = vec![Vec::new(); instance.items.len()];
    for (d, demand) in instance.demands.iter().enumerate() {
        for (c, choice) in demand.choices.iter().enumerate() {
            choice.requires.iter().for_each(|&i| out[i].push((d, c)));
        }
    }
    out
}
