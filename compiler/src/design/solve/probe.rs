//! Probing: what follows from doing without a structure, written into the demands.
//!
//! A cost of two columns in one structure (a write of one rewrites the other) says little to the
//! relaxation, which keeps half of each column in one structure and half in another. But where
//! doing without any one of the structures T would put both into one, the demand stands unless all
//! of T are kept, and that the relaxation understands.

use super::bound::Relaxed;
use super::instance::{Choice, Demand, Instance, ItemId};
use super::reduce::undominated;

/// Splits each demand that stands wherever one of some structures T is missing: into the same
/// demand, standing always, with T as one more choice that costs nothing, and the same demand with
/// T added to its triggers.
///
/// Proof: where all of T is kept, the first part costs nothing, and the second stands if and only
/// if the old one does. Where any of T is missing, the old demand stands: the first part costs the
/// same, its new choice being impossible, and the second does not stand.
///
/// A cost that triggers share is not split: in two halves, the choices that lead to it would no
/// longer be seen to. What was found is noted beside it, and lifting (`lift.rs`) makes use of it.
///
/// A structure that nothing can do without becomes a demand of its own.
pub(crate) fn probe(instance: &mut Instance) {
    let (without, must) = stands_without(instance);
    let demands = std::mem::take(&mut instance.demands);
    for s in must {
        instance.demands.push(Demand {
            when: vec![vec![]],
            choices: vec![Choice {
                cost: 0.0,
                requires: vec![s],
            }],
        });
    }
    for (demand, all) in demands.into_iter().zip(without) {
        if all.is_empty() || demand.shared().is_some() {
            if !all.is_empty() {
                instance.unless.insert(instance.demands.len(), all);
            }
            instance.demands.push(demand);
            continue;
        }
        let mut choices = demand.choices.clone();
        choices.push(Choice {
            cost: 0.0,
            requires: all.clone(),
        });
        undominated(&mut choices);
        instance.demands.push(Demand {
            when: vec![vec![]],
            choices,
        });
        let with = |w: &Vec<ItemId>| {
            let mut set: Vec<ItemId> = w.iter().chain(&all).copied().collect();
            set.sort_unstable();
            set.dedup();
            set
        };
        instance.demands.push(Demand {
            when: demand.when.iter().map(with).collect(),
            choices: demand.choices,
        });
    }
}

/// For each demand, the structures without each of which it stands; and those that must be kept.
fn stands_without(instance: &Instance) -> (Vec<Vec<ItemId>>, Vec<ItemId>) {
    let relaxed = Relaxed::new(instance);
    let mut out = vec![Vec::new(); instance.demands.len()];
    let structures = (0..instance.items.len()).filter(|&i| instance.items[i].structure);
    let mut scope = relaxed.scope(vec![None; instance.items.len()]);
    let Some(mut wave) = relaxed.wave(&mut scope) else {
        return (out, structures.collect());
    };
    let conditional: Vec<usize> = (0..instance.demands.len())
        .filter(|&d| !instance.demands[d].always())
        .collect();
    let mut must = Vec::new();
    for s in structures {
        let met = relaxed.without(&mut scope, &mut wave, s, &mut |scope| {
            for &d in conditional.iter().filter(|&&d| scope.stands(d)) {
                out[d].push(s);
            }
        });
        if !met {
            must.push(s);
        }
    }
    (out, must)
}
