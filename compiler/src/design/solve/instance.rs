//! What is to be decided, stripped of its meaning: items that may be kept, and demands that must
//! be met by what is kept.
//!
//! All costs are at least 0, so an item that no choice requires is never worth keeping.

use std::collections::BTreeMap;

/// An item, by position.
pub(crate) type ItemId = usize;

/// Something that may be kept: a structure, or a column of one.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) cost: f64,
    /// The structure of a column, which it cannot be kept without. Structures come before their
    /// columns.
    pub(crate) parent: Option<ItemId>,
    /// Whether it counts as a structure.
    pub(crate) structure: bool,
    pub(crate) forced: bool,
    /// Of columns: those of different structures that say the same have the same number. A hint
    /// where to look for twins; nothing is believed for it.
    pub(crate) alike: Option<usize>,
}

/// A way to meet a demand.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) cost: f64,
    /// Sorted; with each column its structure.
    pub(crate) requires: Vec<ItemId>,
}

/// Something that costs the cheapest of its choices while any of its triggers is kept.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    /// Triggers: each a set of items that have to be kept together. The empty set always is.
    pub(crate) when: Vec<Vec<ItemId>>,
    pub(crate) choices: Vec<Choice>,
}

/// A whole problem.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instance {
    pub(crate) items: Vec<Item>,
    pub(crate) demands: Vec<Demand>,
    /// Costs whatever is kept.
    pub(crate) base: f64,
    /// Structures that may be kept at most.
    pub(crate) cap: usize,
    /// What probing found of demands, by position: each stands wherever one of these structures is
    /// missing. It follows from the rest and is there for the bound alone (`lift.rs`).
    pub(crate) unless: BTreeMap<usize, Vec<ItemId>>,
}

impl Demand {
    /// Whether it stands whatever is kept.
    pub(crate) fn always(&self) -> bool {
        self.when.iter().any(Vec::is_empty)
    }

    /// What it costs where it only costs: a price that its triggers share.
    pub(crate) fn shared(&self) -> Option<f64> {
        match self.choices.as_slice() {
            [only] if only.requires.is_empty() && !self.always() => Some(only.cost),
            _ => None,
        }
    }
}

impl Instance {
    /// The cost of keeping these items, by definition; infinite where a demand is not met, a
    /// forced item is missing, a column lacks its structure, or there are too many structures.
    pub(crate) fn evaluate(&self, kept: &[bool]) -> f64 {
        let mut total = self.base;
        let mut structures = 0;
        for (i, item) in self.items.iter().enumerate() {
            if kept[i] {
                total += item.cost;
                structures += usize::from(item.structure);
                if item.parent.is_some_and(|p| !kept[p]) {
                    return f64::INFINITY;
                }
            } else if item.forced {
                return f64::INFINITY;
            }
        }
        if structures > self.cap {
            return f64::INFINITY;
        }
        let all = |set: &[ItemId]| set.iter().all(|&i| kept[i]);
        for demand in self
            .demands
            .iter()
            .filter(|d| d.when.iter().any(|w| all(w)))
        {
            let met = demand.choices.iter().filter(|c| all(&c.requires));
            total += met.map(|c| c.cost).fold(f64::INFINITY, f64::min);
        }
        total
    }
}
