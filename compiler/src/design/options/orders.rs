//! In which order equalities stand in a key.
//!
//! To one question it makes no difference. But a key serves each question whose equalities are its
//! first parts: by tenant, by tenant and state, by tenant, state and owner. So of what a question
//! compares with `=`, that comes first which others compare as well, then what these have a range
//! of or are ordered by. What other questions bind is known when all of them have been planned.

use super::Planner;
use super::grow_lists::listed;
use crate::design::shape::skeleton;
use crate::model::{Direction, EntityId, Expr, Pred, Unfold};
use crate::view::{Kind, Structure};

/// So many orders of the same equalities are candidates.
const ORDERS: usize = 12;

/// Of so many equalities at most: each of their subsets may be what another question binds.
const EQUALITIES: usize = 8;

/// Rows that a question asks for by equalities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    pub(super) kind: Kind,
    pub(super) entity: EntityId,
    pub(super) over: Vec<Unfold>,
    pub(super) filter: Vec<Pred>,
    /// In their own order, each once.
    pub(super) equal: Vec<Expr>,
    /// The order or range that is asked for behind them.
    pub(super) behind: Vec<(Expr, Direction)>,
}

/// Some of the equalities of a question, a bit for each.
type Set = u32;

impl Asked {
    fn is_alike(&self, other: &Asked) -> bool {
        self.kind == other.kind
            && self.entity == other.entity
            && self.over == other.over
            && self.filter == other.filter
    }

    /// The equality that is this value.
    fn bit(&self, expr: &Expr) -> Set {
        let at = self.equal.iter().position(|e| e == expr);
        at.map_or(0, |at| 1 << at)
    }

    /// What another question would have first in a key of these: its equalities, then, one after the
    /// other, what stands behind them.
    fn firsts(&self, other: &Asked) -> Vec<Set> {
        let mut set = other.equal.iter().map(|e| self.bit(e)).sum();
        let mut out = vec![set];
        for (expr, _) in &other.behind {
            let bit = self.bit(expr);
            if bit == 0 {
                break;
            }
            set |= bit;
            out.push(set);
        }
        out
    }

    /// The orders that serve these questions: each as the sets that its first parts make up, the
    /// smallest first, all equalities last.
    fn orders(&self, others: &[&Asked]) -> Vec<Vec<Set>> {
        let all: Set = (1 << self.equal.len()) - 1;
        let mut sets: Vec<Set> = Vec::new();
        for set in others.iter().flat_map(|other| self.firsts(other)) {
            // Two that overlap begin with what they have in common.
            let with = sets.iter().map(|s| s & set);
            let new: Vec<Set> = with.chain([set]).collect();
            sets.extend(new);
            sets.sort_unstable();
            sets.dedup();
        }
        sets.retain(|&set| set != 0 && set != all);
        let mut out = Vec::new();
        if !sets.is_empty() {
            chains(&sets, all, &mut vec![], &mut out);
        }
        out
    }

    /// The equalities of a set, each with the direction in which a question has it in order.
    fn parts(&self, set: Set, others: &[&Asked]) -> Vec<(Expr, Direction)> {
        let behind = || others.iter().flat_map(|other| &other.behind);
        let within = self.equal.iter().filter(|e| self.bit(e) & set != 0);
        let directed = within.map(|e| {
            let ordered = behind().find(|(b, _)| b == e);
            ordered.map_or((e.clone(), Direction::Asc), Clone::clone)
        });
        directed.collect()
    }
}

/// The chains of sets that lead on from the last of `chain` to all, none of which leaves one out.
fn chains(sets: &[Set], all: Set, chain: &mut Vec<Set>, out: &mut Vec<Vec<Set>>) {
    let last = chain.last().copied().unwrap_or(0);
    let beyond = |set: &&Set| **set != last && **set & last == last;
    let next = sets.iter().filter(beyond);
    let between = |set: Set| {
        let mut lower = sets.iter().filter(beyond);
        lower.any(|&s| s != set && s & set == s)
    };
    let next: Vec<Set> = next.copied().filter(|&set| !between(set)).collect();
    if next.is_empty() {
        out.push(chain.iter().copied().chain([all]).collect());
    }
    for set in next {
        if out.len() == ORDERS {
            return;
        }
        chain.push(set);
        chains(sets, all, chain, out);
        chain.pop();
    }
}

impl Planner<'_> {
    /// Notes what a question asks for by equalities; `all` of those that it has, or some.
    pub(super) fn note_asked(&mut self, asked: Asked, all: bool) {
        if asked.equal.len() <= EQUALITIES {
            *self.asked.entry(asked).or_default() |= all;
        }
    }

    /// Adds the candidates whose equalities stand in an order that serves several questions.
    pub(in crate::design) fn order_keys(&mut self) {
        let noted = std::mem::take(&mut self.asked);
        // In a key of two parts each stands first in some candidate.
        for asked in noted.keys().filter(|asked| asked.equal.len() > 2) {
            let others = noted.iter().filter(|(_, all)| **all).map(|(o, _)| o);
            let others: Vec<&Asked> = others.filter(|o| o.is_alike(asked)).collect();
            for order in asked.orders(&others) {
                self.admit_ordered(asked, &order, &others);
            }
        }
    }

    /// Adds the candidates of one order: partitioned by each set that their keys begin with, or,
    /// where partitions are ordered themselves, by any.
    fn admit_ordered(&mut self, asked: &Asked, order: &[Set], others: &[&Asked]) {
        let ordered = self.target.capabilities.ordered_partitions;
        let cuts = if ordered { 1 } else { order.len() - 1 };
        for &cut in order.iter().take(cuts) {
            let partition = asked.parts(cut, others).into_iter().map(|(e, _)| e);
            let mut clustering = Vec::new();
            for (before, set) in order.iter().zip(order.iter().skip(1)) {
                if before & cut == cut {
                    clustering.extend(asked.parts(set & !before, others));
                }
            }
            clustering.extend(asked.behind.iter().cloned());
            let s = skeleton(
                self.model,
                asked.entity,
                &asked.over,
                &asked.filter,
                partition.collect(),
                clustering,
                asked.kind,
            );
            if ordered && self.has_sequence(&s) {
                continue;
            }
            match asked.kind {
                Kind::Groups => self.admit_groups(s),
                Kind::Lists => {
                    let s = listed(self.model, s);
                    self.admit(s);
                }
            }
        }
    }

    /// Whether there is a candidate of the same rows in the same order, wherever its partitions end.
    fn has_sequence(&self, s: &Structure) -> bool {
        let parts = |s: &Structure| -> Vec<(Expr, Direction)> {
            let parts = s.key().enumerate();
            parts.map(|(i, e)| (e.clone(), s.direction(i))).collect()
        };
        let own = parts(s);
        let mut all = self.shapes.all.iter().map(|shape| &shape.structure);
        all.any(|known| {
            known.kind == s.kind
                && known.anchor == s.anchor
                && known.over == s.over
                && known.filter == s.filter
                && parts(known) == own
        })
    }
}
