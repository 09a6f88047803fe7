//! Twins: structures that may change places, column by column, and no set of items costs anything
//! else for it. Two keys that a target stores alike make twins: what it can only compare and what
//! it can also order, where it orders everything.
//!
//! Twins may both be worth keeping (seldom written columns in one, often written ones in the
//! other), so none of them can be dropped. But every solution has images that cost the same, and a
//! search that does not know proves each of them apart.

use super::instance::{Choice, Demand, Instance, ItemId};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Costs closer than this fraction are the same: they were added up in another order.
const ROUNDING: f64 = 1e-12;

/// A structure and its columns, in an order that is the same for all its twins.
type Parts = Vec<ItemId>;

/// Classes of twins, the earliest structure of each first.
pub(crate) struct Twins {
    classes: Vec<Vec<Parts>>,
}

/// A demand without its costs, what it mentions in order; and the costs of its choices.
type Form = (Vec<Vec<ItemId>>, Vec<Vec<ItemId>>);
type Costs = Vec<f64>;

impl Twins {
    /// The twins of an instance.
    ///
    /// Which structures are looked at is a matter of hints (`Item::alike`); that they are twins is
    /// checked: with the two exchanged in it, the instance is the same.
    pub(crate) fn of(instance: &Instance) -> Twins {
        let mentions = mentions(instance);
        let mut classes: Vec<Vec<Parts>> = Vec::new();
        for alike in lookalikes(instance) {
            let first = classes.len();
            for parts in alike {
                let known = classes[first..]
                    .iter_mut()
                    .find(|class| exchangeable(instance, &mentions, &class[0], &parts));
                match known {
                    Some(class) => class.push(parts),
                    None => classes.push(vec![parts]),
                }
            }
        }
        classes.retain(|class| class.len() > 1);
        Twins { classes }
    }

    /// Structures that may change places, each with its columns.
    #[cfg(test)]
    pub(crate) fn classes(&self) -> &[Vec<Parts>] {
        &self.classes
    }

    /// Adds what may be asked of a solution: of twins the earlier is kept rather than the later,
    /// and so is the first of their columns.
    ///
    /// Proof: exchanging two of a class leaves all costs as they are, so any order of a class does.
    /// In a solution whose twins are ordered by what is kept of them (the structure first, then
    /// column by column, those that keep it before those that do not), the structure and the first
    /// column of a later one are kept only where they are kept of the one before. Classes share no
    /// item, so each can be ordered whatever the others are.
    ///
    /// Nothing is asked, nor looked for, where the number of structures may bind: there the search
    /// does not end by proof, and its local moves, which would have to keep the order too, take
    /// longer for it.
    pub(crate) fn order(instance: &mut Instance) {
        let structures = instance.items.iter().filter(|i| i.structure).count();
        if structures > instance.cap {
            return;
        }
        for class in Twins::of(instance).classes {
            for (earlier, later) in class.iter().zip(class.iter().skip(1)) {
                for (&a, &b) in earlier.iter().zip(later).take(2) {
                    let parent = instance.items[a].parent;
                    let mut requires: Vec<ItemId> = parent.into_iter().chain([a]).collect();
                    requires.sort_unstable();
                    instance.demands.push(Demand {
                        when: vec![vec![b]],
                        choices: vec![Choice {
                            cost: 0.0,
                            requires,
                        }],
                    });
                }
            }
        }
    }
}

/// The demands that mention each item.
fn mentions(instance: &Instance) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); instance.items.len()];
    for (d, demand) in instance.demands.iter().enumerate() {
        let required = demand.choices.iter().flat_map(|c| &c.requires);
        for &i in demand.when.iter().flatten().chain(required) {
            if out[i].last() != Some(&d) {
                out[i].push(d);
            }
        }
    }
    out
}

/// Structures with columns that say the same, in groups of two and more.
fn lookalikes(instance: &Instance) -> Vec<Vec<Parts>> {
    let mut columns: Vec<Vec<(usize, ItemId)>> = vec![Vec::new(); instance.items.len()];
    let mut hinted = vec![true; instance.items.len()];
    for (i, item) in instance.items.iter().enumerate() {
        if let Some(p) = item.parent {
            match item.alike {
                Some(alike) => columns[p].push((alike, i)),
                None => hinted[p] = false,
            }
        }
    }
    let mut groups: BTreeMap<Vec<usize>, Vec<Parts>> = BTreeMap::new();
    for (s, item) in instance.items.iter().enumerate() {
        if !item.structure || !hinted[s] {
            continue;
        }
        columns[s].sort_unstable();
        let name = columns[s].iter().map(|(alike, _)| *alike).collect();
        let parts = std::iter::once(s).chain(columns[s].iter().map(|(_, i)| *i));
        groups.entry(name).or_default().push(parts.collect());
    }
    let mut out: Vec<Vec<Parts>> = groups.into_values().filter(|g| g.len() > 1).collect();
    out.sort();
    out
}

/// Whether the instance stays the same where two structures change places.
fn exchangeable(instance: &Instance, mentions: &[Vec<usize>], a: &Parts, b: &Parts) -> bool {
    let same = |(&i, &j): (&ItemId, &ItemId)| {
        let (i_item, j_item) = (&instance.items[i], &instance.items[j]);
        near(i_item.cost, j_item.cost)
            && i_item.forced == j_item.forced
            && i_item.structure == j_item.structure
            && mentions[i].len() == mentions[j].len()
    };
    if a.len() != b.len() || !a.iter().zip(b).all(same) {
        return false;
    }
    let exchanged = |i: ItemId| {
        let place = |of: &Parts| of.iter().position(|&j| j == i);
        match (place(a), place(b)) {
            (Some(at), _) => b[at],
            (_, Some(at)) => a[at],
            _ => i,
        }
    };
    let both = a.iter().chain(b);
    let mut demands: Vec<usize> = both.flat_map(|&i| mentions[i].iter().copied()).collect();
    demands.sort_unstable();
    demands.dedup();
    // Demands of one form are met by those of one form: the same numbers of them, at the same
    // costs.
    let mut now: BTreeMap<Form, Vec<Costs>> = BTreeMap::new();
    let mut then: BTreeMap<Form, Vec<Costs>> = BTreeMap::new();
    for d in demands {
        let (form, costs) = formed(&instance.demands[d], &|i| i);
        now.entry(form).or_default().push(costs);
        let (form, costs) = formed(&instance.demands[d], &exchanged);
        then.entry(form).or_default().push(costs);
    }
    now.len() == then.len()
        && now.iter_mut().zip(&mut then).all(|((f, x), (g, y))| {
            x.sort_by(by_cost);
            y.sort_by(by_cost);
            let mut costs = x.iter().flatten().zip(y.iter().flatten());
            f == g && x.len() == y.len() && costs.all(|(x, y)| near(*x, *y))
        })
}

/// A demand over other items, in a form that does not depend on the order of anything.
fn formed(demand: &Demand, other: &dyn Fn(ItemId) -> ItemId) -> (Form, Costs) {
    let set = |of: &Vec<ItemId>| {
        let mut set: Vec<ItemId> = of.iter().map(|&i| other(i)).collect();
        set.sort_unstable();
        set
    };
    let mut when: Vec<Vec<ItemId>> = demand.when.iter().map(set).collect();
    when.sort();
    let choices = demand.choices.iter();
    let mut choices: Vec<(Vec<ItemId>, f64)> =
        choices.map(|c| (set(&c.requires), c.cost)).collect();
    choices.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (requires, costs) = choices.into_iter().unzip();
    ((when, requires), costs)
}

fn by_cost(a: &Costs, b: &Costs) -> Ordering {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.total_cmp(b))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}
