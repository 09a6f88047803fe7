//! The far end of a path: what is said of it, as seen from there, and the way back.

use super::atoms::{Mentions, Place, moved_pred, moved_unfolds};
use crate::model::{EntityId, Expr, Leaf, Many, Model, NodeId, Pred, ReferenceId, Unfold};
use crate::view::elements;

/// What is at the far end of a path to many, and the way back.
pub(super) struct FarEnd<'a> {
    /// What the path's last node is.
    pub(super) entity: EntityId,
    /// The references from there back, to where the path leaves what the node refers to.
    pub(super) back: Vec<ReferenceId>,
    /// What leads from the node to there.
    pub(super) steps: &'a [ReferenceId],
    /// What is said of the last node.
    pub(super) conditions: Vec<Pred>,
}

impl<'a> FarEnd<'a> {
    /// That of a path to instances, each of which refers to the one before it. Where a path goes on
    /// in another way, that is a condition on the instance there: something further on meets the
    /// filter.
    pub(super) fn of(
        model: &Model,
        over: &'a [Unfold],
        filter: Option<&Pred>,
    ) -> Option<FarEnd<'a>> {
        let parents = over.iter().map(|u| usize::from(u.parent));
        if !parents.eq(0..over.len()) {
            return None;
        }
        let referring = over.iter().enumerate().map_while(|(at, unfold)| {
            let direct = at == 0 || unfold.steps.is_empty();
            back_by(&unfold.many).filter(|_| direct)
        });
        let mut back: Vec<ReferenceId> = referring.collect();
        back.reverse();
        let (path, further) = over.split_at(back.len());
        let steps = &path.first()?.steps;
        let entity = model.reference(*back.first()?).entity;
        // The last node is where the path ends; those before it are so many references from there.
        let place = |node: NodeId| -> Option<Place> {
            let steps = back.get(..path.len().checked_sub(usize::from(node))?)?;
            (node > 0 || path.first()?.steps.is_empty()).then_some((0, steps))
        };
        let conditions = at_node(path.len(), further, filter)?;
        let conditions = conditions.iter().map(|p| moved_pred(p, &place));
        let mut conditions: Vec<Pred> = conditions.collect::<Option<_>>()?;
        conditions.extend(leads_on(model, &back));
        Some(FarEnd {
            entity,
            back,
            steps,
            conditions,
        })
    }
}

/// What a filter says of the nodes of a path up to one of them, and that the path leads further on
/// from there to something of which it says the rest. None where it compares what is before with what
/// is behind.
fn at_node(node: usize, further: &[Unfold], filter: Option<&Pred>) -> Option<Vec<Pred>> {
    let is_before = |p: &&Pred| {
        let nodes = Mentions::of_pred(p).nodes;
        nodes.iter().all(|&n| usize::from(n) <= node)
    };
    let (mut here, behind): (Vec<&Pred>, Vec<&Pred>) =
        all_of(filter).into_iter().partition(is_before);
    let node = node as NodeId;
    let place = |n: NodeId| -> Option<Place> { Some((n.checked_sub(node)?, &[])) };
    let over = moved_unfolds(further, &place)?;
    let behind = behind.into_iter().map(|p| moved_pred(p, &place));
    let behind: Vec<Pred> = behind.collect::<Option<_>>()?;
    let exists = Pred::Exists {
        from: node,
        over,
        filter: together(behind).map(Box::new),
    };
    here.extend((!further.is_empty()).then_some(&exists));
    Some(here.into_iter().cloned().collect())
}

/// The conditions of which a filter says that all hold.
pub(super) fn all_of(filter: Option<&Pred>) -> Vec<&Pred> {
    match filter {
        Some(Pred::And(all)) => all.iter().collect(),
        other => other.into_iter().collect(),
    }
}

/// The filter that says that conditions hold, all of them; none without any.
pub(super) fn together(mut all: Vec<Pred>) -> Option<Pred> {
    match all.len() {
        0 | 1 => all.pop(),
        _ => Some(Pred::And(all)),
    }
}

fn back_by(many: &Many) -> Option<ReferenceId> {
    match many {
        Many::Back(reference) => Some(*reference),
        _ => None,
    }
}

/// That references lead on, one after the other, where one of them may be absent: optional, or of a
/// subtype. Said as the language says it: of the one scalar of a key, or of the whole.
pub(super) fn leads_on(model: &Model, steps: &[ReferenceId]) -> Option<Pred> {
    let absent = |&r: &ReferenceId| {
        let reference = model.reference(r);
        reference.optional || model.entity(reference.entity).root != reference.entity
    };
    let target = model.reference(*steps.last()?).target;
    let key = model.key_leaf_paths(target, 0, &[], steps);
    let end = match <[Expr; 1]>::try_from(key) {
        Ok([scalar]) => scalar,
        Err(_) => Expr::Path {
            node: 0,
            element: vec![],
            steps: steps.to_vec(),
            leaf: Leaf::Key,
        },
    };
    let present = Pred::Not(Box::new(Pred::IsNull(end)));
    steps.iter().any(absent).then_some(present)
}

/// A condition on what the reference inside an element leads to, more than its key, as seen from
/// there; and where in the element the reference is.
pub(super) fn behind_element(model: &Model, pred: &Pred) -> Option<(Vec<u16>, Pred)> {
    let there = |e: &Expr| match e {
        Expr::Path {
            node: 1,
            element,
            steps,
            leaf,
        } if elements::follows(model, e) => {
            let seen = Expr::Path {
                node: 0,
                element: vec![],
                steps: steps.clone(),
                leaf: leaf.clone(),
            };
            Some((element.clone(), seen))
        }
        _ => None,
    };
    let given = |e: &Expr| matches!(e, Expr::Const(_) | Expr::Param(..));
    match pred {
        Pred::Compare(a, op, b) if given(b) => {
            let (at, a) = there(a)?;
            Some((at, Pred::Compare(a, *op, b.clone())))
        }
        Pred::Compare(a, op, b) if given(a) => {
            let (at, b) = there(b)?;
            Some((at, Pred::Compare(a.clone(), *op, b)))
        }
        Pred::In(a, list) if list.iter().all(given) => {
            let (at, a) = there(a)?;
            Some((at, Pred::In(a, list.clone())))
        }
        Pred::InList(a, list) if given(list) => {
            let (at, a) = there(a)?;
            Some((at, Pred::InList(a, list.clone())))
        }
        _ => None,
    }
}
