//! The incumbent: a set of items made better by dropping, by taking another choice, and by doing
//! without a structure, for as long as that helps.

use super::instance::ItemId;
use super::state::{State, TRIES};
use std::collections::BTreeSet;

/// Rounds of all moves at most: each is an improvement, so few are needed.
const ROUNDS: usize = 12;

/// How many choices beyond the one it takes are tried for a demand.
const DEARER: usize = 4;

/// How many choices are tried for a demand where moves are made near something: there are hundreds
/// of sets to start from, and few of them end elsewhere for the others.
const NEAR: usize = 6;

/// How many structures are tried to make room for another one.
const ROOM: usize = 6;

/// Meets what is not met, then improves: as if there were no cap, and only where that takes more
/// structures than it allows with the cap as a toll on each, then within it. A bound may have a toll
/// although the cap does not bind: many structures that it keeps a little of are more than the few
/// that a solution needs.
pub(crate) fn improve(
    state: &mut State,
    locked: &dyn Fn(ItemId) -> bool,
    thorough: bool,
    toll: f64,
) {
    let start = (toll > 0.0).then(|| state.kept.clone());
    improve_at(state, locked, thorough, 0.0);
    if state.over() > 0 {
        if let Some(start) = start {
            state.hold(&start);
            improve_at(state, locked, thorough, toll);
        }
        if thorough {
            fit(state, locked);
        }
    }
    state.settle();
}

/// Improves with the cap as a toll on each structure: there may be more of them than the cap allows.
pub(super) fn improve_at(
    state: &mut State,
    locked: &dyn Fn(ItemId) -> bool,
    thorough: bool,
    toll: f64,
) {
    state.toll = toll;
    state.capped = false;
    repair(state);
    drop_idle(state, locked, &everything(state).items);
    if thorough {
        moves(state, locked, false);
    }
    state.toll = 0.0;
    state.capped = true;
}

/// Brings a set within the cap, and improves it there.
pub(super) fn fit(state: &mut State, locked: &dyn Fn(ItemId) -> bool) {
    close_down(state, locked);
    moves(state, locked, true);
}

/// What costs something else than it did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) demands: Vec<usize>,
    pub(crate) items: Vec<ItemId>,
}

/// What moves look at, in order: demands that may take another choice, items that may be dropped.
struct Near {
    demands: BTreeSet<usize>,
    items: BTreeSet<ItemId>,
}

/// The same from a set that moves could not make better before something was touched: they look at
/// what has to do with that, and then at what has to do with what they moved.
pub(crate) fn improve_near(state: &mut State, locked: &dyn Fn(ItemId) -> bool, touched: &Touched) {
    repair(state);
    if state.over() > 0 {
        improve(state, locked, true, 0.0);
        return;
    }
    let mut near = near_touched(state, touched);
    state.capped = true;
    state.tries = NEAR;
    for _ in 0..ROUNDS {
        let before = state.worth();
        switch_choices(state, locked, &near.demands);
        do_without(state, locked, &near.items);
        drop_idle(state, locked, &near.items);
        if !state.worth().beats(before) {
            break;
        }
        near = near_moved(state, &state.since(0));
        state.settle();
    }
    state.tries = TRIES;
    state.settle();
}

/// Everything there is.
fn everything(state: &State) -> Near {
    Near {
        demands: (0..state.instance.demands.len()).collect(),
        items: (0..state.kept.len()).collect(),
    }
}

/// What has to do with what costs something else: demands that do, or that may use an item that
/// does, be it by itself or as a trigger; and such items, with those that such a demand uses now.
fn near_touched(state: &State, touched: &Touched) -> Near {
    let mut near = Near {
        demands: touched.demands.iter().copied().collect(),
        items: touched.items.iter().copied().collect(),
    };
    for &d in &touched.demands {
        let demand = &state.instance.demands[d];
        near.items.extend(demand.when.iter().flatten());
    }
    for &i in &near.items {
        near.demands.extend(state.users(i));
    }
    for &d in &touched.demands {
        let demand = &state.instance.demands[d];
        let taken = state.taken(d).map(|c| &demand.choices[c].requires);
        near.items.extend(taken.into_iter().flatten());
    }
    near.items.retain(|&i| state.kept[i]);
    near
}

/// What has to do with what was moved: demands that may use it or stand by it, and what is kept
/// for them.
fn near_moved(state: &State, moved: &[ItemId]) -> Near {
    let mut near = Near {
        demands: BTreeSet::new(),
        items: moved.iter().copied().collect(),
    };
    for &i in &near.items {
        near.demands
            .extend(state.users(i).chain(state.triggered(i)));
    }
    for &d in &near.demands {
        let choices = &state.instance.demands[d].choices;
        near.items.extend(choices.iter().flat_map(|c| &c.requires));
    }
    near.items.retain(|&i| state.kept[i]);
    near
}

/// Does without the structure that costs least to lose, one after another, until the cap is met.
fn close_down(state: &mut State, locked: &dyn Fn(ItemId) -> bool) {
    while state.over() > 0 {
        let Some(&(_, least)) = losses(state, locked).first() else {
            return;
        };
        state.drop([least]);
        repair(state);
        drop_idle(state, locked, &everything(state).items);
    }
}

/// Rounds of all moves: the first looks at everything, later ones at what has to do with what was
/// moved.
fn moves(state: &mut State, locked: &dyn Fn(ItemId) -> bool, swaps: bool) {
    let mut near = everything(state);
    for _ in 0..ROUNDS {
        let (mark, before) = (state.mark(), state.worth());
        switch_choices(state, locked, &near.demands);
        do_without(state, locked, &near.items);
        if swaps {
            swap(state, locked);
        }
        drop_idle(state, locked, &near.items);
        if !state.worth().beats(before) {
            break;
        }
        near = near_moved(state, &state.since(mark));
        state.settle();
    }
    state.settle();
}

/// Gives every demand that is not met the choice that costs least on top of what is kept.
fn repair(state: &mut State) {
    let mut next = state.lacking(0);
    while let Some(demand) = next {
        let start = state.mark();
        let choices = &state.instance.demands[demand].choices;
        let mut best: Option<(usize, super::state::Worth)> = None;
        for c in state.tried(demand) {
            let mark = state.mark();
            state.add(choices[c].requires.iter().copied());
            let worth = state.worth();
            state.undo(mark);
            if best.is_none_or(|(_, b)| worth.beats(b)) {
                best = Some((c, worth));
            }
        }
        if let Some((c, _)) = best {
            state.add(choices[c].requires.iter().copied());
        }
        // What was added may make an earlier demand stand; the loop ends, as items are only added.
        next = if state.mark() > start {
            state.lacking(0)
        } else {
            state.lacking(demand + 1)
        };
    }
}

/// Drops what is not worth its cost, later items first.
fn drop_idle(state: &mut State, locked: &dyn Fn(ItemId) -> bool, items: &BTreeSet<ItemId>) {
    for &item in items.iter().rev() {
        if state.kept[item] && !locked(item) {
            drop_if_better(state, item);
        }
    }
}

fn drop_if_better(state: &mut State, item: ItemId) {
    let (mark, before) = (state.mark(), state.worth());
    state.drop([item]);
    if !state.worth().beats(before) {
        state.undo(mark);
    }
}

/// Takes another choice for a demand, and drops what its old one kept, where that is better.
fn switch_choices(state: &mut State, locked: &dyn Fn(ItemId) -> bool, demands: &BTreeSet<usize>) {
    for &demand in demands {
        let choices = &state.instance.demands[demand].choices;
        if choices.len() < 2 {
            continue;
        }
        for c in state.tried(demand) {
            let choice = &choices[c];
            let Some(old) = state.taken(demand).filter(|&old| c <= old + DEARER) else {
                break;
            };
            if c == old {
                continue;
            }
            let (mark, before) = (state.mark(), state.worth());
            state.add(choice.requires.iter().copied());
            let added = state.since(mark);
            if c > old {
                // Only the loss of the old choice can make up for a dearer one.
                let lost = choices[old].requires.iter().rev().copied();
                let own = |i: &ItemId| choice.requires.binary_search(i).is_ok() || locked(*i);
                state.drop(lost.filter(|i| !own(i)));
            }
            repair(state);
            for &i in choices[old].requires.iter().rev() {
                if state.kept[i] && !locked(i) && !added.contains(&i) {
                    drop_if_better(state, i);
                }
            }
            if !state.worth().beats(before) {
                state.undo(mark);
            }
        }
    }
}

/// Drops a structure and gives the demands that it met their next best, where that is better.
fn do_without(state: &mut State, locked: &dyn Fn(ItemId) -> bool, items: &BTreeSet<ItemId>) {
    for &item in items {
        if !state.kept[item] || locked(item) {
            continue;
        }
        let (mark, before) = (state.mark(), state.worth());
        state.drop([item]);
        repair(state);
        let added = state.since(mark);
        for &i in added.iter().rev() {
            if i != item && state.kept[i] && !locked(i) {
                drop_if_better(state, i);
            }
        }
        if !state.worth().beats(before) {
            state.undo(mark);
        }
    }
}

/// What doing without each structure costs, the least first; those that nothing can replace are
/// left out.
fn losses(state: &mut State, locked: &dyn Fn(ItemId) -> bool) -> Vec<(f64, ItemId)> {
    let mut out = Vec::new();
    for item in 0..state.kept.len() {
        if !state.kept[item] || locked(item) || !state.instance.items[item].structure {
            continue;
        }
        let (mark, over) = (state.mark(), state.over());
        state.drop([item]);
        repair(state);
        if state.lacking(0).is_none() && (state.over() < over || over == 0) {
            out.push((state.worth().cost, item));
        }
        state.undo(mark);
    }
    out.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    out
}

/// Takes a cheaper choice for a demand although it needs more structures than there is room for,
/// and does without others instead, where that is better.
fn swap(state: &mut State, locked: &dyn Fn(ItemId) -> bool) {
    let closing = losses(state, locked);
    for demand in 0..state.instance.demands.len() {
        let choices = &state.instance.demands[demand].choices;
        for (c, choice) in choices.iter().enumerate() {
            if state.taken(demand).is_none_or(|old| c >= old) {
                break;
            }
            let (mark, before) = (state.mark(), state.worth());
            state.add(choice.requires.iter().copied());
            repair(state);
            let opened = state.mark();
            let others = closing.iter().map(|&(_, i)| i);
            let others = others.filter(|i| choice.requires.binary_search(i).is_err());
            for item in others.take(ROOM) {
                if !state.kept[item] {
                    continue;
                }
                state.drop([item]);
                repair(state);
                if state.worth().beats(before) {
                    break;
                }
                // Room for more than one structure takes more than one.
                if state.over() == 0 {
                    state.undo(opened);
                }
            }
            if !state.worth().beats(before) {
                state.undo(mark);
            }
        }
    }
}
