//! Instances that a change names by its parameters: what is read of one of them is read once,
//! whichever of the change's statements need it.

use super::change::{Effect, EffectKind, Need};
use super::shape::key_paths;
use super::stats::Extent;
use crate::model::{Compare, EntityId, Expr, Field, Leaf, Model, ParamId, Pred, ReferenceId, Type};
use crate::value::Value;
use crate::view::reads::{RouteStep, reads};
use crate::view::{Kind, Structure};
use std::collections::BTreeMap;

/// An instance by its key, in parameters and constants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) key: Vec<Expr>,
    /// How many different ones a change names by it.
    pub(crate) count: Extent,
}

/// Where the way to a read of a change starts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Start {
    /// At the instances of an effect, by its position.
    Effect(usize),
    /// At a named instance.
    Named(EntityId, Vec<Expr>),
}

/// A read of a change, wherever it is needed.
pub(crate) type SharedNeed = (Start, Need);

/// A loop of a change: the parameter of its element, and how often it goes round.
pub(crate) type Loop = (ParamId, Extent);

impl Named {
    /// Inside loops: what no element has a part in is the same each time.
    pub(crate) fn inside(key: Vec<Expr>, loops: &[Loop]) -> Named {
        let of = |item: ParamId| {
            let by_it = |e: &Expr| matches!(e, Expr::Param(p, _) if *p == item);
            key.iter().any(by_it)
        };
        let varying = loops.iter().filter(|(item, _)| of(*item));
        let count = varying.fold(Extent { avg: 1.0, max: 1.0 }, |all, (_, n)| all.times(*n));
        Named { key, count }
    }
}

impl Effect {
    /// What a need of the effect at this position is, whoever else has it, and how often it is read
    /// where each of the effect's instances would so often.
    pub(crate) fn shared(&self, at: usize, need: &Need, n: f64) -> (SharedNeed, f64) {
        let with = |route: &[RouteStep]| match need {
            Need::Values(_, entity) => Need::Values(route.to_vec(), *entity),
            Need::Referrers(_, reference) => Need::Referrers(route.to_vec(), *reference),
            Need::Unique(_) | Need::Support(..) => need.clone(),
        };
        let (Need::Values(route, _) | Need::Referrers(route, _)) = need else {
            return ((Start::Effect(at), need.clone()), n);
        };
        if let (EffectKind::Insert, Some((RouteStep::One(r), rest))) =
            (&self.kind, route.split_first())
            && let Some((target, named)) = self.links.get(r)
        {
            let start = Start::Named(*target, named.key.clone());
            let n = n * named.count.avg / self.count.avg.max(1e-9);
            return ((start, with(rest)), n);
        }
        let start = match &self.name {
            Some(named) => Start::Named(self.entity, named.key.clone()),
            None => Start::Effect(at),
        };
        ((start, with(route)), n)
    }
}

/// The key of the one instance that a filter names, scalar by scalar. None where it names none, or
/// where what it says beside cannot be seen in the instance's own row.
pub fn key_of(model: &Model, entity: EntityId, filter: &[Pred]) -> Option<Vec<Expr>> {
    let root = model.entity(entity).root;
    let value = |path: &Expr| {
        filter.iter().find_map(|p| match p {
            Pred::Compare(a, Compare::Eq, b) if a == path => given(model, path, b),
            Pred::Compare(a, Compare::Eq, b) if b == path => given(model, path, a),
            _ => None,
        })
    };
    let key: Option<Vec<Expr>> = key_paths(model, root).iter().map(value).collect();
    key.filter(|_| !reads_beyond(model, root, filter))
}

/// A value that is given for a scalar of a key, where values that are equal are the same.
fn given(model: &Model, path: &Expr, value: &Expr) -> Option<Expr> {
    let Expr::Path {
        leaf: Leaf::Attribute(attribute, _),
        ..
    } = path
    else {
        return None;
    };
    let ty = &model.attribute(*attribute).ty;
    let same = match value {
        Expr::Param(..) => *ty != Type::Any,
        Expr::Const(value) => is_same_kind(ty, value),
        _ => false,
    };
    same.then(|| value.clone())
}

/// Whether a value is of a type's own kind, so that what is equal to it is the same: numbers of
/// different types are not.
pub fn is_same_kind(ty: &Type, value: &Value) -> bool {
    match ty {
        Type::Int => matches!(value, Value::Int(n) if i32::try_from(*n).is_ok()),
        Type::BigInt => matches!(value, Value::Int(_)),
        Type::Float => matches!(value, Value::Float(_)),
        Type::Decimal => matches!(value, Value::Decimal(_)),
        Type::Any => false,
        _ => true,
    }
}

/// Whether a filter looks at more than the instance's own row.
pub fn reads_beyond(model: &Model, root: EntityId, filter: &[Pred]) -> bool {
    let structure = Structure {
        name: String::new(),
        anchor: root,
        over: vec![],
        filter: filter.to_vec(),
        partition: vec![],
        clustering: vec![],
        kind: Kind::Lists,
        columns: vec![],
        hashed: vec![],
    };
    let reads = reads(model, &structure);
    // The key at the end of one reference is in the row itself; who refers to the row is not.
    reads
        .iter()
        .any(|(route, position)| match route.as_slice() {
            [] => false,
            [RouteStep::One(_)] => !position.slots.is_empty(),
            _ => true,
        })
}

/// The instance that an insert makes, where its whole key is given.
pub(crate) fn inserted(
    model: &Model,
    root: EntityId,
    values: &[(usize, Expr)],
    loops: &[Loop],
) -> Option<Named> {
    let mut key = Vec::new();
    for slot in &model.root(root).key {
        let (_, value) = values.iter().find(|(s, _)| s == slot)?;
        match model.root(root).fields.get(*slot)? {
            Field::Attribute(a) => {
                let plain = match value {
                    Expr::Param(..) => true,
                    Expr::Const(value) => is_same_kind(&model.attribute(*a).ty, value),
                    _ => false,
                };
                key.push(plain.then(|| value.clone())?);
            }
            Field::Reference(r) => {
                key.extend(scalars(model, model.reference(*r).target, value)?);
            }
            Field::Type => {}
        }
    }
    Some(Named::inside(key, loops))
}

/// The instances that an insert refers to, by reference: their entity, and what names them.
pub(crate) fn links(
    model: &Model,
    root: EntityId,
    values: &[(usize, Expr)],
    loops: &[Loop],
) -> BTreeMap<ReferenceId, (EntityId, Named)> {
    let fields = &model.root(root).fields;
    let link = |(slot, value): &(usize, Expr)| {
        let Some(Field::Reference(r)) = fields.get(*slot) else {
            return None;
        };
        let target = model.entity(model.reference(*r).target).root;
        let key = scalars(model, target, value)?;
        Some((*r, (target, Named::inside(key, loops))))
    };
    values.iter().filter_map(link).collect()
}

/// The scalars of a key that is given as a whole.
fn scalars(model: &Model, entity: EntityId, key: &Expr) -> Option<Vec<Expr>> {
    let Expr::Param(param, path) = key else {
        return None;
    };
    let count = model.key_leaves(entity).len() as u16;
    let scalar = |i| Expr::Param(*param, path.iter().copied().chain([i]).collect());
    Some((0..count).map(scalar).collect())
}
