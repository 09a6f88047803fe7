//! Reductions that leave at least one optimum: each names its proof.

use super::instance::{Choice, Demand, Instance, Item, ItemId};
use crate::design::marks::{marks, may_be_within};
use std::collections::BTreeMap;

/// What is known of each item: kept, dropped, or open.
pub(crate) type Fixed = Vec<Option<bool>>;

/// An instance of the open items alone, and which item of the original each is.
pub(crate) struct Reduced {
    pub(crate) instance: Instance,
    pub(crate) origin: Vec<ItemId>,
}

/// Rewrites an instance with what is fixed, and simplifies it; none if it cannot be met.
/// `fixed` learns what follows.
pub(crate) fn reduce(instance: &Instance, fixed: &mut Fixed) -> Option<Reduced> {
    let demands = simplify(instance, fixed)?;
    Some(rebuild(instance, demands, fixed))
}

/// The demands of an instance with what is fixed, simplified; none if they cannot be met. Those that
/// never stand have no trigger left. `fixed` learns what follows.
///
/// Costs are compared within one demand alone, so that this holds wherever the costs of each demand
/// are multiplied by something.
pub(crate) fn simplify(instance: &Instance, fixed: &mut Fixed) -> Option<Vec<Demand>> {
    let mut demands: Vec<Demand> = instance.demands.clone();
    loop {
        let before = fixed.iter().flatten().count();
        substitute(&mut demands, fixed);
        demands.iter_mut().for_each(|d| undominated(&mut d.choices));
        conclude(instance, &demands, fixed)?;
        if fixed.iter().flatten().count() == before {
            break;
        }
    }
    Some(demands)
}

/// Takes what is fixed out of triggers and choices: a choice that requires what is dropped cannot
/// be taken, a trigger that names it never stands, what is kept goes without saying.
fn substitute(demands: &mut [Demand], fixed: &Fixed) {
    for demand in demands {
        demand
            .when
            .retain(|w| w.iter().all(|&i| fixed[i] != Some(false)));
        for when in &mut demand.when {
            when.retain(|&i| fixed[i].is_none());
        }
        demand
            .choices
            .retain(|c| c.requires.iter().all(|&i| fixed[i] != Some(false)));
        for choice in &mut demand.choices {
            choice.requires.retain(|&i| fixed[i].is_none());
        }
        if demand.when.is_empty() {
            demand.choices.clear();
        }
    }
}

/// Drops choices that another one beats: no dearer and requiring nothing more, it can stand in for
/// them in any solution.
pub(crate) fn undominated(choices: &mut Vec<Choice>) {
    choices.sort_by(|a, b| {
        a.cost
            .total_cmp(&b.cost)
            .then(a.requires.len().cmp(&b.requires.len()))
            .then_with(|| a.requires.cmp(&b.requires))
    });
    let mut kept: Vec<(u64, Choice)> = Vec::with_capacity(choices.len());
    for choice in choices.drain(..) {
        let own = marks(choice.requires.iter().copied());
        let beats = |(marks, k): &(u64, Choice)| {
            may_be_within(*marks, own) && subset(&k.requires, &choice.requires)
        };
        if !kept.iter().any(beats) {
            kept.push((own, choice));
        }
    }
    choices.extend(kept.into_iter().map(|(_, choice)| choice));
}

/// Whether one sorted set is within another.
pub(crate) fn subset(small: &[ItemId], large: &[ItemId]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|i| rest.any(|j| i == j))
}

/// What follows: the items of every choice of a standing demand are kept; a demand that cannot be
/// met forbids its triggers; an item that no choice requires is dropped, since keeping it only
/// costs. None if something cannot be met.
fn conclude(instance: &Instance, demands: &[Demand], fixed: &mut Fixed) -> Option<()> {
    let mut required = vec![false; instance.items.len()];
    for demand in demands {
        for &i in demand.choices.iter().flat_map(|c| &c.requires) {
            required[i] = true;
        }
        if demand.always() {
            let (first, rest) = demand.choices.split_first()?;
            for &i in &first.requires {
                if rest.iter().all(|c| c.requires.binary_search(&i).is_ok()) {
                    settle(fixed, i, true)?;
                }
            }
        } else if demand.choices.is_empty() {
            for when in &demand.when {
                if let [item] = when.as_slice() {
                    settle(fixed, *item, false)?;
                }
            }
        }
    }
    for (i, item) in instance.items.iter().enumerate().filter(|(_, i)| i.forced) {
        settle(fixed, i, true)?;
        item.parent.map_or(Some(()), |p| settle(fixed, p, true))?;
    }
    for (i, item) in instance.items.iter().enumerate() {
        match item.parent {
            Some(p) if fixed[i] == Some(true) => settle(fixed, p, true)?,
            Some(p) if fixed[p] == Some(false) => settle(fixed, i, false)?,
            _ => {}
        }
        if fixed[i].is_none() && !required[i] {
            fixed[i] = Some(false);
        }
    }
    Some(())
}

/// Fixes an item; none if it is known to be the other way.
fn settle(fixed: &mut Fixed, item: ItemId, kept: bool) -> Option<()> {
    match fixed[item] {
        Some(known) if known != kept => None,
        _ => {
            fixed[item] = Some(kept);
            Some(())
        }
    }
}

/// Renumbers the open items. Demands with one free choice are costs: of everything, of one item,
/// or shared by their triggers, where equal triggers make one.
fn rebuild(instance: &Instance, demands: Vec<Demand>, fixed: &Fixed) -> Reduced {
    let mut origin = Vec::new();
    let mut now = vec![usize::MAX; instance.items.len()];
    let mut out = Instance {
        base: instance.base,
        cap: instance.cap,
        ..Instance::default()
    };
    for (i, item) in instance.items.iter().enumerate() {
        match fixed[i] {
            Some(true) => {
                out.base += item.cost;
                out.cap = out.cap.saturating_sub(usize::from(item.structure));
            }
            Some(false) => {}
            None => {
                now[i] = origin.len();
                origin.push(i);
                out.items.push(Item {
                    cost: item.cost,
                    // A column of a structure that is kept anyway stands alone.
                    parent: item.parent.filter(|&p| fixed[p].is_none()).map(|p| now[p]),
                    structure: item.structure,
                    forced: false,
                    alike: item.alike,
                });
            }
        }
    }
    let mut shared: BTreeMap<Vec<Vec<ItemId>>, f64> = BTreeMap::new();
    for mut demand in demands.into_iter().filter(|d| !d.when.is_empty()) {
        for list in demand
            .when
            .iter_mut()
            .chain(demand.choices.iter_mut().map(|c| &mut c.requires))
        {
            list.iter_mut().for_each(|i| *i = now[*i]);
        }
        let when = triggers(&out, demand.when);
        match demand.choices.as_slice() {
            [choice] if choice.requires.is_empty() => match when.as_slice() {
                [all] if all.is_empty() => out.base += choice.cost,
                [one] if one.len() == 1 => out.items[one[0]].cost += choice.cost,
                _ if choice.cost > 0.0 => *shared.entry(when).or_default() += choice.cost,
                _ => {}
            },
            _ => out.demands.push(Demand {
                when,
                choices: demand.choices,
            }),
        }
    }
    out.demands
        .extend(shared.into_iter().map(|(when, cost)| Demand {
            when,
            choices: vec![Choice {
                cost,
                requires: vec![],
            }],
        }));
    Reduced {
        instance: out,
        origin,
    }
}

/// Triggers without what goes without saying: a structure beside its column, and a trigger that
/// stands only where another one does.
pub(crate) fn triggers(instance: &Instance, mut when: Vec<Vec<ItemId>>) -> Vec<Vec<ItemId>> {
    for set in &mut when {
        let implied: Vec<ItemId> = set
            .iter()
            .filter_map(|&i| instance.items[i].parent)
            .collect();
        set.retain(|i| !implied.contains(i));
        set.sort_unstable();
        set.dedup();
    }
    when.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    when.dedup();
    let mut kept: Vec<Vec<ItemId>> = Vec::with_capacity(when.len());
    for set in &when {
        let mut closed = set.clone();
        closed.extend(set.iter().filter_map(|&i| instance.items[i].parent));
        closed.sort_unstable();
        if !kept.iter().any(|k| k != set && subset(k, &closed)) {
            kept.push(set.clone());
        }
    }
    // A column's own trigger may have come before its structure's.
    let all = kept.clone();
    kept.retain(|set| {
        let mut closed = set.clone();
        closed.extend(set.iter().filter_map(|&i| instance.items[i].parent));
        closed.sort_unstable();
        !all.iter().any(|k| k != set && subset(k, &closed))
    });
    kept.sort();
    kept
}
