//! Random changes over a draft.

use super::conditions::pred;
use super::draft::{Draft, Field, Kind, Part, Sequence, Ty};
use super::lifetimes::LIFETIMES;
use super::paths::At;
use super::questions::Names;
use super::rng::Rng;

/// The text of a random change after its name and rate.
pub(super) fn change(rng: &mut Rng, draft: &Draft) -> String {
    let mut names = Names::default();
    let mut inserted = Vec::new();
    if rng.percent(70) {
        return statement(rng, draft, &mut names, &mut inserted);
    }
    let statements: Vec<String> = (0..rng.between(2, 3))
        .map(|_| {
            if rng.percent(30) {
                for_each(rng, draft, &mut names)
            } else {
                statement(rng, draft, &mut names, &mut inserted)
            }
        })
        .collect();
    let atomic = if rng.percent(20) { "atomic " } else { "" };
    format!("{atomic}{{\n  {}\n}}", statements.join("\n  "))
}

fn statement(rng: &mut Rng, draft: &Draft, names: &mut Names, inserted: &mut Vec<usize>) -> String {
    let entity = rng.below(draft.entities.len());
    match rng.below(12) {
        0..=3 => insert(rng, draft, entity, inserted)
            .unwrap_or_else(|| delete(rng, draft, entity, names)),
        4..=6 => update(rng, draft, entity, names, None)
            .unwrap_or_else(|| delete(rng, draft, entity, names)),
        7 | 8 => delete(rng, draft, entity, names),
        _ => connection(rng, draft, names).unwrap_or_else(|| delete(rng, draft, entity, names)),
    }
}

/// An insert takes its parameters from the fields' names, so a hierarchy is inserted into once.
fn insert(
    rng: &mut Rng,
    draft: &Draft,
    entity: usize,
    inserted: &mut Vec<usize>,
) -> Option<String> {
    let root = draft.ancestry(entity).last().copied()?;
    if inserted.contains(&root) {
        return None;
    }
    inserted.push(root);
    let numbered = draft.fields(entity).iter().any(|f| {
        f.key
            && matches!(
                f.kind,
                Kind::Value {
                    sequence: Sequence::Global | Sequence::Per(_),
                    ..
                }
            )
    });
    let word = if rng.percent(30) && !numbered {
        "upsert"
    } else {
        "insert"
    };
    let name = &draft.entities[entity].name;
    let expires = if draft.entities[entity].mortal && rng.percent(40) {
        format!(" expires after {}", rng.one_of(LIFETIMES))
    } else {
        String::new()
    };
    if rng.percent(75) {
        return Some(format!("{word} {name}{expires}"));
    }
    let mut values = Vec::new();
    for field in draft.fields(entity) {
        match &field.kind {
            Kind::Value {
                sequence: Sequence::Global | Sequence::Per(_),
                ..
            }
            | Kind::Many { .. } => {}
            Kind::Value { optional, .. } if *optional && rng.percent(50) => {}
            Kind::Value {
                ty: Ty::Int | Ty::BigInt,
                ..
            } if !field.key && rng.percent(30) => {
                values.push(format!("{} = {}", field.name, rng.between(0, 3)));
            }
            Kind::Value { .. } => values.push(field.name.clone()),
            Kind::One {
                optional, parts, ..
            } => {
                if !*optional || rng.percent(50) {
                    values.push(field.name.clone());
                    let given = parts
                        .iter()
                        .filter(|p| !p.optional || !draft.wide || rng.percent(70));
                    values.extend(given.map(|p| format!("{}@{}", field.name, p.name)));
                }
            }
        }
    }
    Some(format!(
        "{word} {name} {{ {} }}{expires}",
        values.join(", ")
    ))
}

/// A condition that finds an instance by its key, or any condition.
fn by_key(rng: &mut Rng, draft: &Draft, entity: usize, names: &mut Names) -> String {
    if rng.percent(20)
        && let Some(pred) = pred(rng, draft, &At::Entity(entity), names, 1)
    {
        return pred;
    }
    key_terms(draft, entity)
        .into_iter()
        .map(|(path, ty)| format!("{path} = {}", names.param(rng, &ty)))
        .collect::<Vec<_>>()
        .join(" and ")
}

/// The scalars of a key, as paths.
fn key_terms(draft: &Draft, entity: usize) -> Vec<(String, Ty)> {
    let mut terms = Vec::new();
    for field in draft.fields(entity).into_iter().filter(|f| f.key) {
        match &field.kind {
            Kind::Value { ty, .. } => terms.push((field.name.clone(), ty.clone())),
            Kind::One { target, .. } => {
                terms.extend(
                    key_terms(draft, *target)
                        .into_iter()
                        .map(|(p, ty)| (format!("{}.{p}", field.name), ty)),
                );
            }
            Kind::Many { .. } => {}
        }
    }
    terms
}

fn condition(rng: &mut Rng, draft: &Draft, entity: usize, names: &mut Names) -> String {
    if rng.percent(25)
        && let Some(pred) = pred(rng, draft, &At::Entity(entity), names, 1)
    {
        return format!(" if {pred}");
    }
    String::new()
}

fn delete(rng: &mut Rng, draft: &Draft, entity: usize, names: &mut Names) -> String {
    let name = &draft.entities[entity].name;
    let by = by_key(rng, draft, entity, names);
    format!(
        "delete {name} where {by}{}",
        condition(rng, draft, entity, names)
    )
}

/// An update; inside a `for each` its key and values come from the item.
fn update(
    rng: &mut Rng,
    draft: &Draft,
    entity: usize,
    names: &mut Names,
    item: Option<&str>,
) -> Option<String> {
    let fields: Vec<&Field> = draft
        .fields(entity)
        .into_iter()
        .filter(|f| {
            !f.key
                && !matches!(
                    f.kind,
                    Kind::Value {
                        sequence: Sequence::Global | Sequence::Per(_),
                        ..
                    } | Kind::Many { .. }
                )
        })
        .collect();
    let mut set: Vec<(String, String)> = Vec::new();
    for _ in 0..rng.between(1, 3) {
        let field = rng.pick(&fields)?;
        let own = |name: &str| name.split('@').next() == Some(&field.name);
        if !set.iter().any(|(name, _)| own(name)) {
            let mut value = Some(assignment(rng, draft, entity, field, item));
            set.extend(link(rng, draft, field, &mut value, item));
            set.extend(value.map(|value| (field.name.clone(), value)));
        }
    }
    let set: Vec<String> = set
        .into_iter()
        .map(|(name, value)| format!("{name}{value}"))
        .collect();
    let name = &draft.entities[entity].name;
    let by = match item {
        None => by_key(rng, draft, entity, names),
        Some(item) => key_terms(draft, entity)
            .into_iter()
            .enumerate()
            .map(|(i, (path, _))| format!("{path} = ${item}.w{i}"))
            .collect::<Vec<_>>()
            .join(" and "),
    };
    Some(format!(
        "update {name} set {} where {by}{}",
        set.join(", "),
        condition(rng, draft, entity, names)
    ))
}

/// What is set of the attributes of a reference: what a new link must have, and by chance more, or
/// one of them without the reference.
fn link(
    rng: &mut Rng,
    draft: &Draft,
    field: &Field,
    value: &mut Option<String>,
    item: Option<&str>,
) -> Vec<(String, String)> {
    let Kind::One {
        parts, optional, ..
    } = &field.kind
    else {
        return vec![];
    };
    let given = |part: &Part| {
        let name = format!("{}@{}", field.name, part.name);
        let value = item.map_or(String::new(), |item| format!(" = ${item}.{}", part.name));
        (name, value)
    };
    if value.as_deref() == Some(" = null") {
        return vec![];
    }
    if draft.wide && rng.percent(30) {
        let Some(part) = rng.pick(parts) else {
            return vec![];
        };
        *value = None;
        let (name, given) = given(part);
        let number = matches!(part.ty, Ty::Int | Ty::BigInt) && rng.percent(50);
        return vec![match number {
            true => (name.clone(), format!(" = {name} + 1")),
            false if (part.optional || *optional) && rng.percent(10) => {
                (name, " = null".to_owned())
            }
            false => (name, given),
        }];
    }
    let set = parts
        .iter()
        .filter(|p| !p.optional || (draft.wide && rng.percent(50)));
    set.map(given).collect()
}

/// What follows the name of a field that is set.
fn assignment(
    rng: &mut Rng,
    draft: &Draft,
    entity: usize,
    field: &Field,
    item: Option<&str>,
) -> String {
    let given = || item.map_or(String::new(), |item| format!(" = ${item}.{}", field.name));
    match &field.kind {
        Kind::Value {
            ty: Ty::Int | Ty::BigInt,
            unique: false,
            ..
        } if rng.percent(70) => {
            format!(
                " = {} {} {}",
                field.name,
                rng.one_of(["+", "-", "*"]),
                rng.between(1, 3)
            )
        }
        Kind::Value {
            ty: Ty::Float | Ty::Decimal,
            unique: false,
            ..
        } if rng.percent(40) => {
            format!(
                " = {} {} {}",
                field.name,
                rng.one_of(["+", "-", "*"]),
                rng.one_of(["1", "0.5", "2"])
            )
        }
        Kind::Value { optional: true, .. } | Kind::One { optional: true, .. }
            if rng.percent(20) =>
        {
            " = null".to_owned()
        }
        Kind::Value {
            ty, unique: false, ..
        } if ty.is_scalar() && *ty != Ty::Any && rng.percent(15) => {
            let others: Vec<&str> = draft
                .fields(entity)
                .into_iter()
                .filter(|f| matches!(&f.kind, Kind::Value { ty: t, .. } if t == ty))
                .map(|f| f.name.as_str())
                .collect();
            rng.pick(&others)
                .map_or_else(given, |other| format!(" = {other}"))
        }
        _ => given(),
    }
}

fn for_each(rng: &mut Rng, draft: &Draft, names: &mut Names) -> String {
    let (item, list) = (names.fresh("each"), names.fresh("all"));
    let entity = rng.below(draft.entities.len());
    let by: Vec<String> = key_terms(draft, entity)
        .into_iter()
        .enumerate()
        .map(|(i, (path, _))| format!("{path} = ${item}.w{i}"))
        .collect();
    let delete = format!(
        "delete {} where {}",
        draft.entities[entity].name,
        by.join(" and ")
    );
    let body = if draft.wide && rng.percent(30) {
        insert_item(draft, entity, &item)
    } else if rng.percent(70) {
        update(rng, draft, entity, names, Some(&item)).unwrap_or(delete)
    } else {
        delete
    };
    format!("for each ${item} in ${list} {{ {body} }}")
}

/// An insert whose values all come from the item of a `for each`.
fn insert_item(draft: &Draft, entity: usize, item: &str) -> String {
    let mut values = Vec::new();
    for field in draft.fields(entity) {
        let name = &field.name;
        match &field.kind {
            Kind::Many { .. }
            | Kind::Value {
                sequence: Sequence::Global | Sequence::Per(_),
                ..
            } => {}
            Kind::Value { .. } => values.push(format!("{name} = ${item}.{name}")),
            Kind::One { parts, .. } => {
                values.push(format!("{name} = ${item}.{name}"));
                values.extend(parts.iter().map(|p| {
                    let part = &p.name;
                    format!("{name}@{part} = ${item}.{part}")
                }));
            }
        }
    }
    let name = &draft.entities[entity].name;
    format!("insert {name} {{ {} }}", values.join(", "))
}

fn connection(rng: &mut Rng, draft: &Draft, names: &mut Names) -> Option<String> {
    let links: Vec<(usize, &Field)> = draft
        .entities
        .iter()
        .enumerate()
        .flat_map(|(i, e)| e.fields.iter().map(move |f| (i, f)))
        .filter(|(_, f)| matches!(f.kind, Kind::Many { .. }))
        .collect();
    let (owner, field) = rng.pick(&links)?;
    let Kind::Many { target, .. } = &field.kind else {
        return None;
    };
    let name = format!("{}.{}", draft.entities[*owner].name, field.name);
    if rng.percent(60) {
        let Kind::Many { parts, .. } = &field.kind else {
            return None;
        };
        if !parts.is_empty() && rng.percent(30) {
            let set: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
            let (from, to) = (names.fresh("x"), names.fresh("x"));
            return Some(format!(
                "connect {name} from ${from} to ${to} set {}",
                set.join(", ")
            ));
        }
        // `$from` and `$to` have one type in a change.
        if rng.percent(50) || !names.once("connect") {
            return Some(format!(
                "connect {name} from ${} to ${}",
                names.fresh("x"),
                names.fresh("x")
            ));
        }
        return Some(format!("connect {name}"));
    }
    if rng.percent(30) {
        let (from, to) = (names.fresh("x"), names.fresh("x"));
        return Some(format!("disconnect {name} from ${from} to ${to}"));
    }
    let mut terms: Vec<String> = key_terms(draft, *owner)
        .into_iter()
        .map(|(path, ty)| format!("from.{path} = {}", names.param(rng, &ty)))
        .collect();
    if rng.percent(60) {
        terms.extend(
            key_terms(draft, *target)
                .into_iter()
                .map(|(path, ty)| format!("to.{path} = {}", names.param(rng, &ty)))
                .collect::<Vec<_>>(),
        );
    }
    Some(format!("disconnect {name} where {}", terms.join(" and ")))
}
