//! Random conditions over a draft.

use super::draft::{Draft, Ty};
use super::paths::At;
use super::questions::{Names, numeric, path_aggregate};
use super::rng::Rng;

/// A constant of a type as text, where the language has one.
fn constant(rng: &mut Rng, draft: &Draft, ty: &Ty) -> Option<String> {
    Some(match ty {
        Ty::Bool => rng.one_of(["true", "false"]).to_owned(),
        Ty::Int | Ty::BigInt => rng.one_of(["0", "1", "-2", "3"]).to_owned(),
        Ty::Float | Ty::Decimal => rng.one_of(["0", "1.5", "-0.25", "2"]).to_owned(),
        Ty::Text => rng.one_of(["'a'", "'b'", "''", "'é'"]).to_owned(),
        Ty::Enum(e) => rng.pick(&draft.enums[*e])?.clone(),
        _ => return None,
    })
}

/// A condition on one value that compares it with constants, few enough that others say the same or
/// something that follows from it.
pub(super) fn constant_condition(rng: &mut Rng, draft: &Draft, at: &At) -> Option<String> {
    let mut aside = rng.aside();
    let of_one = constant_value(rng, draft, at);
    let At::Entity(entity) = at else {
        return of_one;
    };
    let held = aside.percent(25).then_some(*entity);
    let held = held.and_then(|entity| constant_element(&mut aside, draft, entity));
    held.or(of_one)
}

fn constant_value(rng: &mut Rng, draft: &Draft, at: &At) -> Option<String> {
    let few = |t: &Ty| matches!(t, Ty::Bool | Ty::Int | Ty::Enum(_));
    let (path, ty) = draft.scalar(rng, at, &few)?;
    let one = constant(rng, draft, &ty)?;
    Some(match rng.below(6) {
        0 => format!("{path} in ({one}, {})", constant(rng, draft, &ty)?),
        1 => format!("{path} != {one}"),
        2 => format!("{path} is not null"),
        3 if ty == Ty::Int => format!("{path} {} {one}", rng.one_of(["<", "<=", ">", ">="])),
        _ => format!("{path} = {one}"),
    })
}

/// A condition that a collection has a constant.
fn constant_element(rng: &mut Rng, draft: &Draft, entity: usize) -> Option<String> {
    let (path, ty) = draft.collection(rng, entity)?;
    let (Ty::Map(of, _) | Ty::List(of) | Ty::Set(of)) = &ty else {
        return None;
    };
    Some(format!("{path} has {}", constant(rng, draft, of)?))
}

/// A condition that a collection has a value, or that something of many is equal to one.
pub(super) fn one_element(
    rng: &mut Rng,
    draft: &Draft,
    at: &At,
    names: &mut Names,
) -> Option<String> {
    if let At::Entity(entity) = at
        && rng.percent(60)
        && let Some((path, ty)) = draft.collection(rng, *entity)
        && let Ty::Map(of, _) | Ty::List(of) | Ty::Set(of) = &ty
        && of.is_scalar()
    {
        return Some(format!("{path} has {}", names.param(rng, of)));
    }
    let (path, ty) = draft.many_scalar(rng, at, &Ty::is_scalar)?;
    Some(format!("{path} = {}", names.param(rng, &ty)))
}

/// A condition.
pub(super) fn pred(
    rng: &mut Rng,
    draft: &Draft,
    at: &At,
    names: &mut Names,
    depth: usize,
) -> Option<String> {
    // What gets of several kinds find is united, which takes an `or` of what they can find.
    if depth > 0 && draft.wide && rng.percent(18) {
        return either(rng, draft, at, names);
    }
    if depth > 0 && rng.percent(40) {
        let parts: Vec<String> = (0..rng.between(2, 3))
            .filter_map(|_| pred(rng, draft, at, names, depth - 1))
            .collect();
        return match rng.below(5) {
            0 => parts.first().map(|p| format!("not ({p})")),
            1 | 2 if !parts.is_empty() => Some(format!("({})", parts.join(" or "))),
            _ if !parts.is_empty() => {
                Some(parts.join(" and ")).map(|p| if depth < 2 { format!("({p})") } else { p })
            }
            _ => None,
        };
    }
    // Lists of what partitions are by are merged over, with all pieces of those that are cut.
    if draft.wide && rng.percent(8) {
        let (path, _) = draft.scalar(rng, at, &Ty::is_scalar)?;
        return Some(format!("{path} in ${}", names.fresh("x")));
    }
    // What is found from the far end of a path is a way of its own, and seldom taken.
    if draft.wide && rng.percent(10) {
        let (path, ty) = draft.many_scalar(rng, at, &Ty::is_scalar)?;
        return Some(format!("{path} = {}", names.param(rng, &ty)));
    }
    match rng.below(18) {
        14 => match at {
            At::Entity(entity) => draft.tag(rng, *entity),
            _ => None,
        },
        15 => draft
            .scalar(rng, at, &|t| *t == Ty::Bool)
            .map(|(path, _)| path),
        16 => {
            // An instance as a whole, by its key.
            let (path, _) = draft.one(rng, at)?;
            Some(format!(
                "{path} {} ${}",
                rng.one_of(["=", "!="]),
                names.fresh("x")
            ))
        }
        17 => {
            let (path, end) = draft.many(rng, at)?;
            matches!(end, At::Entity(_)).then(|| match rng.below(4) {
                0 => format!("{path} is null"),
                1 => format!("{path} is not null"),
                _ => format!("{path} has ${}", names.fresh("x")),
            })
        }
        0 if depth > 0 => {
            let (path, end) = draft.many(rng, at)?;
            match pred(rng, draft, &end, names, depth - 1) {
                Some(inner) if rng.percent(85) => Some(format!("any {path} ({inner})")),
                _ => Some(format!("any {path}")),
            }
        }
        1 | 2 => {
            let (path, ty) = draft.many_scalar(rng, at, &Ty::is_scalar)?;
            Some(comparison(rng, draft, names, &path, &ty))
        }
        3 => match at {
            At::Entity(entity) => {
                let (path, ty) = draft.collection(rng, *entity)?;
                let wanted = match &ty {
                    Ty::Map(key, _) => key,
                    Ty::List(t) | Ty::Set(t) => t,
                    _ => return None,
                };
                wanted
                    .is_scalar()
                    .then(|| format!("{path} has {}", names.param(rng, wanted)))
            }
            _ => None,
        },
        4 => match at {
            At::Entity(entity) => match draft.collection(rng, *entity)? {
                (path, Ty::Map(key, value)) if value.is_scalar() => {
                    let key = names.param(rng, &key);
                    let op = if value.is_ordered() {
                        rng.one_of(["=", "<", "!="])
                    } else {
                        "="
                    };
                    Some(format!("{path}[{key}] {op} {}", names.param(rng, &value)))
                }
                _ => None,
            },
            _ => None,
        },
        5 => {
            let count = path_aggregate(rng, draft, at).filter(|t| t.starts_with("count"))?;
            Some(format!(
                "{count} {} {}",
                rng.one_of([">", "=", "<="]),
                rng.between(0, 3)
            ))
        }
        6 => {
            let sum = numeric(rng, draft, at, names)?;
            Some(format!("{sum} > {}", rng.between(0, 5)))
        }
        7 => {
            let (left, ty) = draft.scalar(rng, at, &Ty::is_ordered)?;
            let (right, _) = draft.scalar(rng, at, &|t| *t == ty)?;
            Some(format!("{left} {} {right}", operator(rng, &ty)))
        }
        _ => {
            let (path, ty) = draft.scalar(rng, at, &Ty::is_scalar)?;
            Some(comparison(rng, draft, names, &path, &ty))
        }
    }
}

/// Two or three alternatives that gets can find, each of one condition or of two, and perhaps one
/// that holds for all.
fn either(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Option<String> {
    let mut parts = Vec::new();
    for _ in 0..rng.one_of([2, 2, 3]) {
        let first = found(rng, draft, at, names)?;
        parts.push(if rng.percent(20) {
            format!("({first} and {})", found(rng, draft, at, names)?)
        } else {
            first
        });
    }
    let mut aside = rng.aside();
    // What all of them say is said once.
    if aside.percent(30)
        && let Some(shared) = found(&mut aside, draft, at, names)
    {
        parts = parts
            .iter()
            .map(|p| format!("({shared} and {p})"))
            .collect();
    }
    let either = format!("({})", parts.join(" or "));
    Some(match rng.below(4) {
        0 => format!("({either} and {})", found(rng, draft, at, names)?),
        _ => either,
    })
}

/// A condition that a get can find instances or elements by.
fn found(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Option<String> {
    let (path, ty) = match rng.below(6) {
        0 => draft.many_scalar(rng, at, &Ty::is_scalar)?,
        _ => draft.scalar(rng, at, &Ty::is_scalar)?,
    };
    Some(if rng.percent(75) {
        format!("{path} = {}", names.param(rng, &ty))
    } else {
        comparison(rng, draft, names, &path, &ty)
    })
}

fn operator(rng: &mut Rng, ty: &Ty) -> &'static str {
    if ty.is_ordered() && *ty != Ty::Bool {
        rng.one_of(["=", "=", "=", "!=", "<", "<=", ">", ">="])
    } else {
        rng.one_of(["=", "!="])
    }
}

fn comparison(rng: &mut Rng, draft: &Draft, names: &mut Names, path: &str, ty: &Ty) -> String {
    match rng.below(10) {
        0 => format!("{path} is null"),
        1 => format!("{path} is not null"),
        2 => {
            let list = names.fresh("x");
            format!("{path} in ${list}")
        }
        3 => {
            let one = constant(rng, draft, ty).unwrap_or_else(|| names.param(rng, ty));
            format!("{path} in ({one}, {})", names.param(rng, ty))
        }
        4 | 5 if ty.is_ordered() && *ty != Ty::Bool => {
            format!(
                "{path} between {} and {}",
                names.param(rng, ty),
                names.param(rng, ty)
            )
        }
        6 => {
            let value = constant(rng, draft, ty).unwrap_or_else(|| names.param(rng, ty));
            format!("{path} {} {value}", operator(rng, ty))
        }
        _ => format!("{path} {} {}", operator(rng, ty), names.param(rng, ty)),
    }
}
