//! Ties: of solutions that cost the same, the one with earlier structures.
//!
//! Which of several cheapest solutions a search comes across first depends on everything. Where two
//! structures can be exchanged and the price stays the same, that would let a rate that has nothing
//! to do with them move a design from one to the other. So would a price that is lower by less than
//! a search looks for: of these the lower one is taken.

use super::instance::{Instance, ItemId};

/// Costs closer than this fraction are the same.
const SAME: f64 = 1e-10;
/// So far apart are the costs of two structures at most whose exchange is worth trying.
const ALIKE: f64 = 1e-6;

/// Exchanges what is kept of two structures, column by column, wherever that costs less, or costs the
/// same and keeps earlier items, until there is nothing left to exchange.
///
/// It ends, because each exchange makes the set cheaper, or else earlier in the order of all sets;
/// and the cost is compared with the last one that was cheaper, so that many exchanges drift no
/// further than one.
pub(crate) fn settle(instance: &Instance, kept: &mut Vec<bool>) {
    let mut cost = instance.evaluate(kept);
    let same = SAME * cost.abs();
    let columns = columns(instance);
    let structures: Vec<ItemId> = (0..instance.items.len())
        .filter(|&i| instance.items[i].structure)
        .collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (at, &later) in structures.iter().enumerate() {
            for &earlier in &structures[..at] {
                let either = kept[later] || kept[earlier];
                if !either || !alike(instance, earlier, later) {
                    continue;
                }
                let Some(other) = exchanged(&columns, kept, earlier, later) else {
                    continue;
                };
                let price = instance.evaluate(&other);
                let cheaper = price < cost - same;
                // The first item in which they differ is kept in the earlier set.
                if cheaper || other > *kept && price <= cost + same {
                    *kept = other;
                    changed = true;
                }
                if cheaper {
                    cost = price;
                }
            }
        }
    }
}

/// The columns of each structure with what they say, in that order.
fn columns(instance: &Instance) -> Vec<Vec<(usize, ItemId)>> {
    let mut out = vec![Vec::new(); instance.items.len()];
    for (i, item) in instance.items.iter().enumerate() {
        if let (Some(p), Some(says)) = (item.parent, item.alike) {
            out[p].push((says, i));
        }
    }
    out.iter_mut().for_each(|c| c.sort_unstable());
    out
}

/// Whether an exchange is worth trying: structures of different costs are seldom a tie.
fn alike(instance: &Instance, a: ItemId, b: ItemId) -> bool {
    let (a, b) = (instance.items[a].cost, instance.items[b].cost);
    (a - b).abs() <= ALIKE * a.abs().max(b.abs())
}

/// The set with two structures exchanged; none where one lacks a column that is kept of the other.
fn exchanged(
    columns: &[Vec<(usize, ItemId)>],
    kept: &[bool],
    a: ItemId,
    b: ItemId,
) -> Option<Vec<bool>> {
    let mut other = kept.to_vec();
    other.swap(a, b);
    for &(_, i) in columns[a].iter().chain(&columns[b]) {
        other[i] = false;
    }
    for (from, to) in [(a, b), (b, a)] {
        for (says, _) in columns[from].iter().filter(|(_, i)| kept[*i]) {
            let at = columns[to].binary_search_by_key(says, |(says, _)| *says);
            other[columns[to][at.ok()?].1] = true;
        }
    }
    Some(other)
}
