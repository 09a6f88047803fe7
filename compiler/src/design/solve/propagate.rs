//! Propagation: what follows from what is fixed.
//!
//! A choice that requires a dropped item cannot be taken; what all choices of a demand that stands
//! require is kept; what nothing can require any more is dropped; a column is kept with its
//! structure only. Each of these only ever fixes more, so that the order does not matter, and only
//! the demands that mention an item are looked at again when it is fixed.

use super::bound::{Relaxed, Scope};
use super::instance::ItemId;

/// What is still to be followed, and what was done, so that it can be undone.
pub(super) struct Wave {
    /// How many choices that can be taken require an item.
    uses: Vec<u32>,
    /// Items that were fixed and not looked at yet.
    changed: Vec<ItemId>,
    /// Demands to look at.
    waiting: Vec<usize>,
    is_waiting: Vec<bool>,
    /// Structures that are kept.
    structures: usize,
    trail: Vec<Undo>,
}

enum Undo {
    Fixed(ItemId),
    Dead(usize, usize),
    Closed(usize, usize),
    Stands(usize),
}

impl Relaxed<'_> {
    /// Follows what is fixed to its consequences; false if nothing can be met any more.
    pub(crate) fn propagate(&self, scope: &mut Scope) -> bool {
        self.wave(scope).is_some()
    }

    /// The same; with it, consequences of more can be followed and taken back.
    pub(super) fn wave(&self, scope: &mut Scope) -> Option<Wave> {
        let items = self.instance.items.len();
        let demands = self.instance.demands.len();
        let mut uses = vec![0; items];
        for (demand, live) in self.instance.demands.iter().zip(&scope.live) {
            let live = demand.choices.iter().zip(live).filter(|(_, live)| **live);
            let required = live.flat_map(|(choice, _)| &choice.requires);
            required.for_each(|&i| uses[i] += 1);
        }
        let mut wave = Wave {
            changed: (0..items).filter(|&i| scope.fixed[i].is_some()).collect(),
            waiting: (0..demands).rev().collect(),
            is_waiting: vec![true; demands],
            structures: 0,
            trail: vec![],
            uses,
        };
        for i in 0..items {
            if wave.uses[i] == 0 && scope.fixed[i].is_none() {
                wave.fix(scope, i, false);
            }
        }
        let met = self.follow(scope, &mut wave);
        wave.trail.clear();
        met.then_some(wave)
    }

    /// Drops an item, as if nothing else were known, tells `seen` of what follows from it, and takes
    /// it all back; false if nothing can be met without it.
    pub(super) fn without(
        &self,
        scope: &mut Scope,
        wave: &mut Wave,
        item: ItemId,
        seen: &mut dyn FnMut(&Scope),
    ) -> bool {
        let structures = wave.structures;
        let met = if let Some(kept) = scope.fixed[item] {
            !kept
        } else {
            wave.fix(scope, item, false);
            self.follow(scope, wave)
        };
        if met {
            seen(scope);
        }
        self.take_back(scope, wave);
        wave.structures = structures;
        met
    }

    fn take_back(&self, scope: &mut Scope, wave: &mut Wave) {
        wave.changed.clear();
        for d in wave.waiting.drain(..) {
            wave.is_waiting[d] = false;
        }
        for undo in wave.trail.drain(..) {
            match undo {
                Undo::Fixed(i) => scope.fixed[i] = None,
                Undo::Closed(d, w) => scope.open[d][w] = true,
                Undo::Stands(d) => scope.always[d] = false,
                Undo::Dead(d, c) => {
                    scope.live[d][c] = true;
                    let requires = &self.instance.demands[d].choices[c].requires;
                    requires.iter().for_each(|&i| wave.uses[i] += 1);
                }
            }
        }
    }

    fn follow(&self, scope: &mut Scope, wave: &mut Wave) -> bool {
        loop {
            while let Some(i) = wave.changed.pop() {
                if !self.item(scope, wave, i) {
                    return false;
                }
            }
            let Some(d) = wave.waiting.pop() else {
                return true;
            };
            wave.is_waiting[d] = false;
            if !self.demand(scope, wave, d) {
                return false;
            }
        }
    }

    /// What follows from an item that is fixed.
    fn item(&self, scope: &mut Scope, wave: &mut Wave, i: ItemId) -> bool {
        let item = &self.instance.items[i];
        if scope.fixed[i] == Some(true) {
            wave.structures += usize::from(item.structure);
            if wave.structures > self.instance.cap {
                return false;
            }
            if let Some(parent) = item.parent {
                match scope.fixed[parent] {
                    Some(false) => return false,
                    Some(true) => {}
                    None => wave.fix(scope, parent, true),
                }
            }
        } else {
            for &column in &self.columns[i] {
                match scope.fixed[column] {
                    Some(true) => return false,
                    Some(false) => {}
                    None => wave.fix(scope, column, false),
                }
            }
        }
        for &d in &self.mentions[i] {
            if !wave.is_waiting[d] {
                wave.is_waiting[d] = true;
                wave.waiting.push(d);
            }
        }
        true
    }

    /// What follows for a demand from the items that are fixed.
    fn demand(&self, scope: &mut Scope, wave: &mut Wave, d: usize) -> bool {
        let demand = &self.instance.demands[d];
        for (c, choice) in demand.choices.iter().enumerate() {
            let dropped = |&i: &ItemId| scope.fixed[i] == Some(false);
            if scope.live[d][c] && choice.requires.iter().any(dropped) {
                scope.live[d][c] = false;
                wave.trail.push(Undo::Dead(d, c));
                for &i in &choice.requires {
                    wave.uses[i] -= 1;
                    if wave.uses[i] == 0 && scope.fixed[i].is_none() {
                        wave.fix(scope, i, false);
                    }
                }
            }
        }
        for (w, when) in demand.when.iter().enumerate() {
            if scope.open[d][w] && when.iter().any(|&i| scope.fixed[i] == Some(false)) {
                scope.open[d][w] = false;
                wave.trail.push(Undo::Closed(d, w));
            }
            if !scope.always[d] && when.iter().all(|&i| scope.fixed[i] == Some(true)) {
                scope.always[d] = true;
                wave.trail.push(Undo::Stands(d));
            }
        }
        let mut live = (0..demand.choices.len()).filter(|&c| scope.live[d][c]);
        let first = live.next();
        if !scope.always[d] {
            if first.is_none() {
                wave.forbid(scope, &demand.when);
            }
            return true;
        }
        let Some(first) = first else {
            return false;
        };
        let rest: Vec<usize> = live.collect();
        for &i in &demand.choices[first].requires {
            let requires = |&c: &usize| demand.choices[c].requires.binary_search(&i).is_ok();
            if scope.fixed[i].is_none() && rest.iter().all(requires) {
                wave.fix(scope, i, true);
            }
        }
        true
    }
}

impl Wave {
    fn fix(&mut self, scope: &mut Scope, item: ItemId, kept: bool) {
        scope.fixed[item] = Some(kept);
        self.trail.push(Undo::Fixed(item));
        self.changed.push(item);
    }

    /// Triggers of a demand that cannot be met do not stand: where one item alone is open, it is
    /// dropped.
    fn forbid(&mut self, scope: &mut Scope, when: &[Vec<ItemId>]) {
        for set in when {
            let mut open = set.iter().filter(|&&i| scope.fixed[i] != Some(true));
            if let (Some(&last), None) = (open.next(), open.next())
                && scope.fixed[last].is_none()
            {
                self.fix(scope, last, false);
            }
        }
    }
}
