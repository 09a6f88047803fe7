//! Probing: what follows from doing without a structure, noted for the bound.
//!
//! A cost of two columns in one structure (a write of one rewrites the other) says little to the
//! relaxation, which keeps half of each column in one structure and half in another. But where
//! doing without any one of the structures T would put both into one, the demand stands unless all
//! of T are kept, and that the relaxation understands.

use super::bound::Relaxed;
use super::instance::{Choice, Demand, Instance, ItemId};

/// Notes each demand that stands wherever one of some structures T is missing: so either it stands,
/// or all of T is kept. Lifting (`lift.rs`) tells the relaxation.
///
/// A structure that nothing can do without becomes a demand of its own.
pub(crate) fn probe(instance: &mut Instance) {
    let (without, must) = stands_without(instance);
    let noted = without.into_iter().enumerate();
    instance.unless = noted.filter(|(_, all)| !all.is_empty()).collect();
    instance.demands.extend(must.into_iter().map(|s| Demand {
        when: vec![vec![]],
        choices: vec![Choice {
            cost: 0.0,
            requires: vec![s],
        }],
    }));
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
