//! Expiry in the design: the structure that lists what expires, by deadline, and the change that
//! nobody writes, `expire Entity`.

use super::change::{Effect, delete_effects, list_size, merged};
use super::shape::{key_paths, skeleton};
use super::spread::salted_last;
use super::stats::{Extent, Stats};
use crate::model::{AttributeId, Change, Direction, EntityId, Expr, Leaf, Model, Pred, Statement};
use crate::view::{Kind, Structure};

/// The deadline of the anchor.
fn path(deadline: AttributeId) -> Expr {
    Expr::Path {
        node: 0,
        element: vec![],
        steps: vec![],
        leaf: Leaf::Attribute(deadline, vec![]),
    }
}

/// The instances of a root that expire, in order of their deadlines.
pub(crate) fn list(model: &Model, root: EntityId) -> Option<Structure> {
    let deadline = path(model.entity(root).deadline?);
    let expires = Pred::Not(Box::new(Pred::IsNull(deadline.clone())));
    let by = vec![(deadline, Direction::Asc)];
    Some(skeleton(
        model,
        root,
        &[],
        &[expires],
        vec![],
        by,
        Kind::Lists,
    ))
}

/// Whether a structure is the list of what expires of its anchor, whole, in buckets, over salts or
/// in buckets over salts.
pub(crate) fn is_list(model: &Model, s: &Structure) -> bool {
    list(model, s.anchor).is_some_and(|list| {
        let deadline = list.clustering.first().map(|(e, _)| e);
        let bucket = |e: &Expr| match e {
            Expr::Const(_) => true,
            Expr::Call(function, args) => function.rounds_time() && args.first() == deadline,
            _ => false,
        };
        let own = key_paths(model, s.anchor);
        let (before, salt) = salted_last(s);
        s.over == list.over
            && s.filter == list.filter
            && before.iter().all(bucket)
            // Of what may be null nobody knows all salts.
            && salt.is_none_or(|(of, _)| own.contains(of))
            && s.clustering == list.clustering
            && s.kind == list.kind
    })
}

/// Whether a structure keeps the deadline of its anchor.
pub(crate) fn keeps_deadline(model: &Model, s: &Structure) -> bool {
    let deadline = model.root(s.anchor).deadline.map(path);
    deadline.is_some_and(|deadline| s.values().any(|e| *e == deadline))
}

/// The name of the change.
pub(crate) fn name(model: &Model, root: EntityId) -> String {
    format!("expire {}", model.entity(root).name)
}

/// What the expiry of one instance does.
pub(crate) fn effects(stats: &Stats, root: EntityId) -> Vec<Effect> {
    let mut out = Vec::new();
    let once = Extent { avg: 1.0, max: 1.0 };
    delete_effects(stats, root, once, &mut out, &mut vec![]);
    merged(out)
}

/// How many instances of a root one change inserts that will expire. In the long run as many
/// expire as are inserted.
pub(crate) fn inserted(model: &Model, change: &Change, root: EntityId) -> f64 {
    fn count(model: &Model, change: &Change, body: &[Statement], root: EntityId) -> f64 {
        let counts = body.iter().map(|statement| match statement {
            Statement::Insert {
                entity,
                expires: Some(_),
                ..
            } if model.entity(*entity).root == root => 1.0,
            Statement::ForEach { list, body, .. } => {
                list_size(change, *list).avg * count(model, change, body, root)
            }
            _ => 0.0,
        });
        counts.sum()
    }
    count(model, change, &change.statements, root)
}
