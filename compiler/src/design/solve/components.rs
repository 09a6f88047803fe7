//! Components: what shares no demand is decided apart.

use super::instance::{Choice, Demand, Instance, ItemId};

/// A component, and which item of the whole each of its items is.
pub(crate) struct Component {
    pub(crate) instance: Instance,
    pub(crate) origin: Vec<ItemId>,
}

/// The components of an instance; the whole where the number of structures may bind, since that
/// ties everything together. The base is left out.
pub(crate) fn components(instance: &Instance) -> Vec<Component> {
    let structures = instance.items.iter().filter(|i| i.structure).count();
    let n = instance.items.len();
    let mut group: Vec<usize> = (0..n).collect();
    if structures > instance.cap {
        group.iter_mut().for_each(|g| *g = 0);
    } else {
        for (i, item) in instance.items.iter().enumerate() {
            if let Some(p) = item.parent {
                join(&mut group, i, p);
            }
        }
        for demand in &instance.demands {
            let mut items = mentioned(demand);
            if let Some(first) = items.next() {
                items.for_each(|i| join(&mut group, first, i));
            }
        }
    }
    let mut of: Vec<Option<usize>> = vec![None; n];
    let mut at = vec![0; n];
    let mut out: Vec<Component> = Vec::new();
    for i in 0..n {
        let leader = find(&mut group, i);
        let c = *of[leader].get_or_insert_with(|| {
            out.push(Component {
                instance: Instance {
                    cap: instance.cap,
                    ..Instance::default()
                },
                origin: vec![],
            });
            out.len() - 1
        });
        at[i] = out[c].origin.len();
        out[c].origin.push(i);
        let mut item = instance.items[i].clone();
        item.parent = item.parent.map(|p| at[p]);
        out[c].instance.items.push(item);
    }
    for (d, demand) in instance.demands.iter().enumerate() {
        let Some(first) = mentioned(demand).next() else {
            continue;
        };
        let leader = find(&mut group, first);
        let moved = |list: &Vec<ItemId>| list.iter().map(|&i| at[i]).collect::<Vec<_>>();
        let choices = demand.choices.iter();
        if let Some(c) = of[leader] {
            let all = instance.unless.get(&d);
            let all = all.filter(|all| all.iter().all(|&i| find(&mut group, i) == leader));
            if let Some(all) = all {
                let at = out[c].instance.demands.len();
                out[c].instance.unless.insert(at, moved(all));
            }
            out[c].instance.demands.push(Demand {
                when: demand.when.iter().map(moved).collect(),
                choices: choices
                    .map(|c| Choice {
                        cost: c.cost,
                        requires: moved(&c.requires),
                    })
                    .collect(),
            });
        }
    }
    out.sort_by_key(|c| c.origin.len());
    out
}

fn mentioned(demand: &Demand) -> impl Iterator<Item = ItemId> {
    let required = demand.choices.iter().flat_map(|c| &c.requires);
    demand.when.iter().flatten().chain(required).copied()
}

fn find(group: &mut [usize], mut i: usize) -> usize {
    while group[i] != i {
        group[i] = group[group[i]];
        i = group[i];
    }
    i
}

fn join(group: &mut [usize], a: usize, b: usize) {
    let (a, b) = (find(group, a), find(group, b));
    group[a.max(b)] = a.min(b);
}
