//! What an `or` says, taken apart: filters of which each finds a part of the rows.

use super::far_end::together;
use crate::model::Pred;
use std::ops::Range;

/// How many alternatives are weighed: each of them costs gets of its own.
const MOST: usize = 8;

/// The filters that hold for the rows of one alternative.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternative {
    /// Those of all rows, then its own.
    pub(super) filters: Vec<Pred>,
    /// The positions of its own.
    pub(super) own: Range<usize>,
}

impl Alternative {
    fn new(shared: &[Pred], own: Vec<Pred>) -> Alternative {
        let mut filters = shared.to_vec();
        for pred in own {
            if !filters.contains(&pred) {
                filters.push(pred);
            }
        }
        let own = shared.len()..filters.len();
        Alternative { filters, own }
    }

    /// Its own filters.
    pub(super) fn own(&self) -> Vec<Pred> {
        self.filters.iter().skip(self.own.start).cloned().collect()
    }
}

/// The ways to take filters apart: one `or` of them by what stands in it, and all of them down to
/// what has no `or` in it.
pub(super) fn alternatives(filters: &[Pred]) -> Vec<Vec<Alternative>> {
    let mut out: Vec<Vec<Alternative>> = Vec::new();
    let mut add = |shared: &[Pred], parts: Vec<Vec<Pred>>| {
        let mut list: Vec<Alternative> = Vec::new();
        for own in parts {
            let one = Alternative::new(shared, own);
            if !list.contains(&one) {
                list.push(one);
            }
        }
        if (2..=MOST).contains(&list.len()) && !out.contains(&list) {
            out.push(list);
        }
    };
    for (at, pred) in filters.iter().enumerate() {
        if let Some(parts) = shallow(pred) {
            let others = filters.iter().enumerate().filter(|(i, _)| *i != at);
            let others: Vec<Pred> = others.map(|(_, p)| p.clone()).collect();
            let parts = parts.into_iter().map(conjuncts);
            add(&others, parts.collect());
        }
    }
    let divided = |p: &Pred| deep(p).is_none_or(|parts| parts.len() > 1);
    let (divided, shared): (Vec<Pred>, Vec<Pred>) = filters.iter().cloned().partition(divided);
    if let (false, Some(parts)) = (divided.is_empty(), product(&divided)) {
        add(&shared, parts);
    }
    out
}

/// What stands in an `or`. One that is about an element of many may be asked of each alternative
/// apart: an element of which one of several things is true is one of which the first is true, or
/// one of which the second is.
fn shallow(pred: &Pred) -> Option<Vec<Pred>> {
    match pred {
        Pred::Or(list) => Some(
            list.iter()
                .flat_map(|p| shallow(p).unwrap_or_else(|| vec![p.clone()]))
                .collect(),
        ),
        Pred::Exists {
            from,
            over,
            filter: Some(filter),
        } => {
            let parts = shallow(filter)?.into_iter();
            let exists = parts.map(|part| Pred::Exists {
                from: *from,
                over: over.clone(),
                filter: Some(Box::new(part)),
            });
            Some(exists.collect())
        }
        _ => None,
    }
}

/// A predicate as alternatives none of which has an `or` in it; none where there are too many.
fn deep(pred: &Pred) -> Option<Vec<Vec<Pred>>> {
    match pred {
        Pred::Or(list) => {
            let mut out = Vec::new();
            for p in list {
                out.extend(deep(p)?);
            }
            (out.len() <= MOST).then_some(out)
        }
        Pred::And(list) => product(list),
        Pred::Exists {
            from,
            over,
            filter: Some(filter),
        } => {
            let parts = deep(filter)?;
            if parts.len() < 2 {
                return Some(vec![vec![pred.clone()]]);
            }
            let exists = parts.into_iter().map(|part| {
                vec![Pred::Exists {
                    from: *from,
                    over: over.clone(),
                    filter: together(part).map(Box::new),
                }]
            });
            Some(exists.collect())
        }
        _ => Some(vec![vec![pred.clone()]]),
    }
}

/// Each alternative of the first predicate with each of the others; none where there are too many.
fn product(preds: &[Pred]) -> Option<Vec<Vec<Pred>>> {
    let mut out: Vec<Vec<Pred>> = vec![vec![]];
    for pred in preds {
        let parts = deep(pred)?;
        let pairs = out.iter().flat_map(|before| {
            parts.iter().map(move |part| {
                let both = before.iter().chain(part);
                both.cloned().collect()
            })
        });
        out = pairs.collect();
        if out.len() > MOST {
            return None;
        }
    }
    Some(out)
}

fn conjuncts(pred: Pred) -> Vec<Pred> {
    match pred {
        Pred::And(all) => all.into_iter().flat_map(conjuncts).collect(),
        single => vec![single],
    }
}
