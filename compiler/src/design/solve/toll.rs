//! Solutions where the number of structures binds, by the price of a structure: with a toll on each,
//! local moves keep fewer of them, and at the right toll as many as the cap allows. What is left to
//! do within the cap is then little; brought down from the best solution without a cap, one
//! structure at a time, it would be much, and the moves would end far from the best.

use super::improve::{fit, improve_at};
use super::instance::Instance;
use super::state::{Index, State};

/// The first toll, as a part of what all costs without a cap: moves that are paid for bit by bit end
/// at better solutions than those that pay all of it at once.
const FIRST: f64 = 1e-8;
/// How far a toll is raised at once while it is too low, and how often at most.
const RAISE: f64 = 8.0;
const RAISES: usize = 24;
/// How often a toll between one that is too low and one that is not is tried.
const BETWEEN: usize = 6;

/// Sets within the cap, each improved there: from the best without a cap on, the toll is raised
/// until few enough structures are left, each set being made of the one before; then some tolls
/// before the last are tried.
pub(super) fn by_toll(instance: &Instance, index: &Index) -> Vec<Vec<bool>> {
    let nothing = vec![false; instance.items.len()];
    let free = at(instance, index, &nothing, 0.0);
    if free.over() == 0 {
        // A bound may have a toll although the cap does not bind.
        return vec![free.kept];
    }
    let mut out = Vec::new();
    let mut fitted = |mut state: State| {
        fit(&mut state, &|i| instance.items[i].forced);
        if state.worth().feasible() {
            out.push(state.kept);
        }
    };
    let first = FIRST * free.worth().cost;
    let (mut low, mut high) = (first / RAISE, first);
    let mut dear = free.kept;
    for _ in 0..RAISES {
        let state = at(instance, index, &dear, high);
        if state.over() == 0 {
            fitted(state);
            break;
        }
        dear = state.kept;
        (low, high) = (high, high * RAISE);
    }
    for _ in 0..BETWEEN {
        let toll = (low * high).sqrt();
        let state = at(instance, index, &dear, toll);
        if state.over() == 0 {
            high = toll;
            fitted(state);
        } else {
            low = toll;
            dear = state.kept;
        }
    }
    fitted(with(instance, index, &dear));
    out
}

/// A set with what is forced.
fn with<'i>(instance: &'i Instance, index: &'i Index, kept: &[bool]) -> State<'i> {
    let mut state = State::new(instance, index);
    state.add((0..kept.len()).filter(|&i| kept[i] || instance.items[i].forced));
    state
}

/// What local moves make of a set under a toll.
fn at<'i>(instance: &'i Instance, index: &'i Index, kept: &[bool], toll: f64) -> State<'i> {
    let mut state = with(instance, index, kept);
    improve_at(&mut state, &|i| instance.items[i].forced, true, toll);
    state
}
