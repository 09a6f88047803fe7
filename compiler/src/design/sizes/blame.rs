//! Which number of the model lets so many rows share a partition: one whose change makes them fewer.

use super::divide::effects;
use super::finding::{Subject, grouped};
use crate::design::change::{Need, checks};
use crate::design::stats::Stats;
use crate::design::worst::{Most, Number, inserted_by};
use crate::model::{AttributeId, EntityId, Model, ReferenceId};
use crate::view::reads::RouteStep;

/// How many references one after another a change is taken to follow.
const STEPS: usize = 3;

/// A declaration that is to blame.
#[derive(Clone, Debug)]
pub(super) struct Blame {
    /// The declaration.
    pub(super) subject: Subject,
    /// What it says, or does not say.
    pub(super) says: String,
    /// What to write there, where that is not just a smaller number.
    pub(super) help: Option<String>,
}

/// The attribute whose number of values, or of those that share one, is not stated and decides.
pub(super) fn unstated(model: &Model, most: &Most) -> Option<AttributeId> {
    let attributes = most.by.iter().filter_map(|(number, rows)| match number {
        Number::Sharing(a) if *rows > 1.0 => Some((*a, *rows)),
        _ => None,
    });
    let open = attributes.filter(|(a, _)| model.attribute(*a).sharing.is_none());
    // Of one that says nothing everything can be stated, of others only how they are skewed.
    let open = open.max_by(|(a, more), (b, than)| {
        let silent = |a| values_of(model, a).is_none();
        silent(*a).cmp(&silent(*b)).then(more.total_cmp(than))
    });
    open.map(|(a, _)| a)
}

/// The number to blame: what is not stated, else the largest that is.
pub(super) fn blame(model: &Model, most: &Most) -> Blame {
    if let Some(attribute) = unstated(model, most) {
        return silent(model, attribute);
    }
    let rank = |number: &Number| match number {
        Number::Referrers(_) | Number::Sharing(_) | Number::Elements(_) => 2,
        Number::Pace(_) => 1,
        Number::Count(_) => 0,
    };
    let more = |(a, n): &&(Number, f64), (b, m): &&(Number, f64)| {
        let decides = |rows: &f64| *rows > 1.0;
        let key = |number, rows| (decides(rows), rank(number));
        key(a, n).cmp(&key(b, m)).then(n.total_cmp(m))
    };
    let name = |e| model.entity(e).name.clone();
    let (subject, says) = match most.by.iter().max_by(more) {
        Some((Number::Referrers(r), rows)) => return referring(model, *r, *rows),
        Some((Number::Sharing(a) | Number::Elements(a), rows)) => {
            let a = model.attribute(*a);
            let entity = name(a.entity);
            let says = format!("{entity}.{} says (max {})", a.name, grouped(*rows));
            (Subject::Field(entity, a.name.clone()), says)
        }
        Some((Number::Pace(e), _)) if inserted_by(model, *e).is_some() => {
            let (change, rate) = inserted_by(model, *e).unwrap_or_default();
            let says = format!("`{change}` inserts {} of {} a second", rate, name(*e));
            (Subject::Change(change.into()), says)
        }
        Some((Number::Count(e) | Number::Pace(e), _)) => {
            let says = format!(
                "there are {} of {}",
                grouped(model.entity(*e).count),
                name(*e)
            );
            (Subject::Entity(name(*e)), says)
        }
        None => {
            let says = "no number of the model makes it smaller".into();
            (Subject::Entity(String::new()), says)
        }
    };
    Blame {
        subject,
        says,
        help: None,
    }
}

/// What says that so many refer to one and the same instance of an entity that a change follows
/// references to, and the share of what it touches that does.
pub(super) fn followed(stats: &Stats, change: &str, to: EntityId) -> Option<(Blame, f64)> {
    let model = stats.model;
    let to = model.entity(to).root;
    let effects = effects(stats, change);
    let mut checked: Vec<Vec<ReferenceId>> = Vec::new();
    for (need, _) in effects.iter().flat_map(|(_, e)| checks(model, e)) {
        if let Need::Values(route, entity) = need
            && let [RouteStep::One(r)] = route.as_slice()
            && model.entity(entity).root == to
        {
            checked.push(vec![*r]);
        }
    }
    // What is not checked is read where it is copied from, at the end of a longer way.
    let touched = effects.iter().map(|(_, effect)| effect.entity);
    let longer = || {
        touched
            .flat_map(|from| ways(model, from, to, STEPS))
            .collect()
    };
    let ways: Vec<Vec<ReferenceId>> = if checked.is_empty() {
        longer()
    } else {
        checked
    };
    let share = |way: &[ReferenceId]| {
        let most: f64 = way.iter().map(|r| stats.referrers(*r).max).product();
        let all = way.first().map(|r| stats.count(model.reference(*r).entity));
        all.map_or(0.0, |all| (most / all.max(1.0)).min(1.0))
    };
    let ways = ways.iter().map(|way| (way, share(way)));
    let (way, share) = ways.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let max = |r: &ReferenceId| stats.referrers(*r).max;
    let most = way.iter().max_by(|a, b| max(a).total_cmp(&max(b)))?;
    Some((referring(model, *most, max(most)), share))
}

/// The ways along references from an entity to another.
fn ways(model: &Model, from: EntityId, to: EntityId, steps: usize) -> Vec<Vec<ReferenceId>> {
    let mut out = Vec::new();
    let all = (0..model.references.len() as u32).map(ReferenceId);
    for r in all.filter(|r| model.entity(model.reference(*r).entity).root == from) {
        let end = model.entity(model.reference(r).target).root;
        if end == to {
            out.push(vec![r]);
        } else if steps > 1 {
            let rest = ways(model, end, to, steps - 1).into_iter();
            out.extend(rest.map(|rest| std::iter::once(r).chain(rest).collect()));
        }
    }
    out
}

/// What a reference says of how many refer to one.
fn referring(model: &Model, reference: ReferenceId, most: f64) -> Blame {
    let r = model.reference(reference);
    let entity = model.entity(r.entity).name.clone();
    Blame {
        says: format!("{entity}.{} says (max {})", r.name, grouped(most)),
        subject: Subject::Field(entity, r.name.clone()),
        help: None,
    }
}

/// What an attribute does not say.
fn silent(model: &Model, attribute: AttributeId) -> Blame {
    let a = model.attribute(attribute);
    let entity = model.entity(a.entity).name.clone();
    let (says, help) = match values_of(model, attribute) {
        Some(n) => (
            format!(
                "{entity}.{} has {} values and does not say how many share one",
                a.name,
                grouped(n)
            ),
            format!("state how many share a value at most: `distinct {n} (max …)`"),
        ),
        None => (
            format!("{entity}.{} does not say how many values it has", a.name),
            if a.ty.is_scalar() {
                "write `unique` if no two share a value, else how many values there are and how \
                 many share one at most, as in `distinct 1000 (max 50k)`"
            } else {
                "write how many values there are in it and how many share one at most, as in \
                 `distinct 1000 (max 50k)`"
            }
            .into(),
        ),
    };
    Blame {
        subject: Subject::Field(entity, a.name.clone()),
        says,
        help: Some(help),
    }
}

/// How many values an attribute has, where it or its type says so.
pub(super) fn values_of(model: &Model, attribute: AttributeId) -> Option<f64> {
    let a = model.attribute(attribute);
    let ty = a.ty.element().unwrap_or(&a.ty);
    a.cardinality.or(model.values_of(ty))
}
