//! Random questions over a draft.

use super::conditions::{constant_condition, one_element, pred};
use super::draft::{About, Draft, Ty};
use super::gathered::gathered;
use super::paths::At;
use super::rng::Rng;
use std::fmt::Write;

/// Parameters of the question or change at hand: names never clash with those of fields.
#[derive(Default)]
pub(super) struct Names {
    params: Vec<(String, Ty)>,
    count: usize,
    used: Vec<&'static str>,
}

impl Names {
    /// A parameter of a type: an earlier one at times, a new one otherwise.
    pub(super) fn param(&mut self, rng: &mut Rng, ty: &Ty) -> String {
        let same: Vec<&(String, Ty)> = self.params.iter().filter(|(_, t)| t == ty).collect();
        if rng.percent(10)
            && let Some((name, _)) = rng.pick(&same)
        {
            return format!("${name}");
        }
        let name = self.fresh("x");
        self.params.push((name.clone(), ty.clone()));
        format!("${name}")
    }
    /// True the first time that it is asked for a word.
    pub(super) fn once(&mut self, word: &'static str) -> bool {
        let first = !self.used.contains(&word);
        self.used.push(word);
        first
    }
    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}_{}", self.count)
    }
}

/// The text of a random question after its name and rate.
pub(super) fn question(rng: &mut Rng, draft: &Draft) -> String {
    let entity = rng.below(draft.entities.len());
    let at = At::Entity(entity);
    let mut names = Names::default();
    let (items, clauses) = match rng.below(10) {
        0..=7 if draft.about == About::Elements => gathered(rng, draft, &at, &mut names),
        0..=7 if draft.about == About::Lists => listed(rng, draft, &at, &mut names),
        0..=5 => plain(rng, draft, &at, &mut names),
        6 => whole(rng, draft, &at, &mut names),
        _ => grouped(rng, draft, &at, &mut names),
    };
    format!(
        "select {items}\n  from {}{clauses}",
        draft.entities[entity].name
    )
}

/// What is selected, and the clauses after it.
pub(super) type Parts = (String, String);

fn plain(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Parts {
    let mut items = Vec::new();
    for _ in 0..rng.between(1, 4) {
        items.extend(item(rng, draft, at, names, 2));
    }
    if rng.percent(8) {
        items.insert(0, "*".to_owned());
    }
    if items.is_empty() {
        items.push("*".to_owned());
    }
    let mut text = String::new();
    filter(rng, draft, at, names, &mut text);
    order_and_page(rng, draft, at, names, &mut text);
    (items.join(", "), text)
}

/// Conditions on all of a key, most of them of several values.
fn keyed(rng: &mut Rng, draft: &Draft, entity: usize, names: &mut Names) -> Vec<String> {
    let scalars = draft.key_scalars(entity).into_iter();
    let condition = |path: String| match rng.below(3) {
        0 => format!("{path} = ${}", names.fresh("x")),
        _ => format!("{path} in ${}", names.fresh("x")),
    };
    scalars.map(condition).collect()
}

/// What is found by a list of values, or two, or by lists for all of its key, mostly in order of a
/// time.
fn listed(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Parts {
    let mut items = vec!["*".to_owned()];
    items.extend(item(rng, draft, at, names, 1));
    let mut found: Vec<String> = match at {
        At::Entity(entity) if rng.percent(20) => keyed(rng, draft, *entity, names),
        _ => vec![],
    };
    let lists = if found.is_empty() {
        rng.one_of([1, 1, 1, 2])
    } else {
        0
    };
    for _ in 0..lists {
        if let Some((path, ty)) = draft.scalar(rng, at, &Ty::is_ordered) {
            found.push(match rng.below(3) {
                0 => format!(
                    "{path} in ({0}, {1})",
                    names.param(rng, &ty),
                    names.param(rng, &ty)
                ),
                _ => format!("{path} in ${}", names.fresh("x")),
            });
        }
    }
    let of_time = |t: &Ty| matches!(t, Ty::Timestamp | Ty::TimeUuid | Ty::Date);
    let time = draft.scalar(rng, at, &of_time).map(|(path, _)| path);
    if rng.percent(20)
        && let Some(path) = &time
    {
        found.push(format!("{path} >= ${}", names.fresh("x")));
    }
    let mut text = String::new();
    if !found.is_empty() {
        let _ = write!(text, "\n  where {}", found.join(" and "));
    }
    match time.filter(|_| rng.percent(70)) {
        Some(path) => {
            let _ = write!(text, " order by {path}{}", direction(rng));
            limit(rng, names, &mut text, 60);
            page(rng, names, &mut text);
        }
        None => order_and_page(rng, draft, at, names, &mut text),
    }
    (items.join(", "), text)
}

/// One group of everything.
fn whole(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Parts {
    let items: Vec<String> = (0..rng.between(1, 3))
        .map(|_| group_aggregate(rng, draft, at, names))
        .collect();
    let mut text = String::new();
    filter(rng, draft, at, names, &mut text);
    (items.join(", "), text)
}

pub(super) fn grouped(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Parts {
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut many: Option<(String, At)> = None;
    for _ in 0..rng.between(1, 2) {
        let key = match rng.below(5) {
            0 if rng.percent(50) => draft
                .many_scalar(rng, at, &Ty::is_ordered)
                .map(|(path, _)| path),
            0 => draft.many(rng, at).and_then(|(path, end)| {
                let key = draft.end_scalar(rng, &path, &end, &Ty::is_ordered)?.0;
                many = Some((path, end));
                Some(key)
            }),
            1 => time(rng, draft, at),
            _ => draft.scalar(rng, at, &Ty::is_ordered).map(|(path, _)| path),
        };
        if let Some(key) = key
            && !keys.iter().any(|(k, _)| *k == key)
        {
            keys.push((key, names.fresh("i")));
        }
    }
    if keys.is_empty() {
        return whole(rng, draft, at, names);
    }
    let mut items: Vec<String> = keys
        .iter()
        .map(|(key, name)| format!("{key} as {name}"))
        .collect();
    if keys.len() > 1 && rng.percent(20) {
        items.remove(0);
    }
    let mut sortable: Vec<String> = keys
        .iter()
        .skip(keys.len() - items.len())
        .map(|(_, name)| name.clone())
        .collect();
    let mut aggregates: Vec<String> = (0..rng.between(0, 3))
        .map(|_| group_aggregate(rng, draft, at, names))
        .collect();
    let shared = many.and_then(|many| shared_aggregate(rng, draft, &many, names));
    aggregates.extend(shared);
    for aggregate in aggregates {
        sortable.extend(aggregate.rsplit(' ').next().map(str::to_owned));
        items.push(aggregate);
    }
    let mut text = String::new();
    if draft.wide && rng.percent(50) {
        narrowed(rng, draft, at, names, &keys, &mut text);
    } else {
        filter(rng, draft, at, names, &mut text);
    }
    let group: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
    let _ = write!(text, "\n  group by {}", group.join(", "));
    if rng.percent(75) {
        let mut terms = Vec::new();
        for _ in 0..rng.between(1, 2) {
            if let Some(name) = rng.pick(&sortable)
                && !terms.iter().any(|t: &String| t.starts_with(name))
            {
                terms.push(format!("{name}{}", direction(rng)));
            }
        }
        let _ = write!(text, "\n  order by {}", terms.join(", "));
        limit(rng, names, &mut text, 50);
        page(rng, names, &mut text);
    } else {
        limit(rng, names, &mut text, 20);
    }
    (items.join(", "), text)
}

/// An aggregate over the bindings of a group, named.
fn group_aggregate(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> String {
    let name = names.fresh("i");
    // Those that are read as the first row of an order have a way of their own.
    let extreme = draft.wide && rng.percent(30);
    let text = match rng.below(6) {
        _ if extreme => draft
            .scalar(rng, at, &Ty::is_ordered)
            .map(|(path, _)| format!("{}({path})", rng.one_of(["min", "max"]))),
        0 => None,
        1 => draft
            .scalar(rng, at, &Ty::is_ordered)
            .map(|(path, _)| format!("count({}{path})", distinct(rng))),
        2 | 3 => {
            numeric(rng, draft, at, names).map(|n| format!("{}({n})", rng.one_of(["sum", "avg"])))
        }
        4 => draft
            .scalar(rng, at, &Ty::is_number)
            .map(|(path, _)| format!("{}({}{path})", rng.one_of(["sum", "avg"]), distinct(rng))),
        _ => draft
            .scalar(rng, at, &Ty::is_ordered)
            .map(|(path, _)| format!("{}({path})", rng.one_of(["min", "max"]))),
    };
    format!(
        "{} as {name}",
        text.unwrap_or_else(|| rng
            .one_of(["count(*)", "count(*) + 1", "count(*) / 2"])
            .to_owned())
    )
}

/// An aggregate of the elements that a value of a group is of: `(path, where it leads)`.
fn shared_aggregate(
    rng: &mut Rng,
    draft: &Draft,
    (path, end): &(String, At),
    names: &mut Names,
) -> Option<String> {
    let (path, ty) = draft.end_scalar(rng, path, end, &Ty::is_ordered)?;
    let function = if ty.is_number() {
        rng.one_of(["sum(", "avg(", "min(", "max(", "count(", "count(distinct "])
    } else {
        rng.one_of(["min(", "max(", "count(", "count(distinct "])
    };
    Some(format!("{function}{path}) as {}", names.fresh("i")))
}

fn distinct(rng: &mut Rng) -> &'static str {
    if rng.percent(50) { "distinct " } else { "" }
}

/// An aggregate over a to-many path.
pub(super) fn path_aggregate(rng: &mut Rng, draft: &Draft, at: &At) -> Option<String> {
    if draft.wide && rng.percent(15) {
        return product(rng, draft, at);
    }
    let extreme = draft.wide && rng.percent(20);
    match rng.below(5) {
        _ if extreme => draft
            .many_scalar(rng, at, &Ty::is_ordered)
            .map(|(path, _)| format!("{}({path})", rng.one_of(["min", "max"]))),
        0 | 1 => draft
            .many(rng, at)
            .map(|(path, _)| format!("count({path})")),
        2 => draft
            .many_scalar(rng, at, &Ty::is_ordered)
            .map(|(path, _)| format!("count({}{path})", distinct(rng))),
        3 => draft
            .many_scalar(rng, at, &Ty::is_number)
            .map(|(path, _)| format!("{}({path})", rng.one_of(["sum", "avg"]))),
        _ => draft
            .many_scalar(rng, at, &Ty::is_ordered)
            .map(|(path, _)| format!("{}({path})", rng.one_of(["min", "max"]))),
    }
}

/// A sum of products along a to-many path: both factors are of the same element.
fn product(rng: &mut Rng, draft: &Draft, at: &At) -> Option<String> {
    let (path, end) = draft.many(rng, at)?;
    let (left, ty) = draft.scalar(rng, &end, &Ty::is_number)?;
    let (right, _) = draft.scalar(rng, &end, &|t| *t == ty)?;
    let function = rng.one_of(["sum", "max", "count"]);
    Some(format!("{function}({path}.{left} * {path}.{right})"))
}

/// An item of a select, named.
fn item(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names, depth: usize) -> Option<String> {
    let name = names.fresh("i");
    let text = match rng.below(16) {
        0..=5 => draft.scalar(rng, at, &Ty::is_scalar).map(|(path, _)| path),
        6 => draft
            .many_scalar(rng, at, &Ty::is_scalar)
            .map(|(path, _)| path)
            .filter(|_| depth > 0),
        7 => numeric(rng, draft, at, names),
        8 => time(rng, draft, at),
        9 | 10 => path_aggregate(rng, draft, at),
        11 => match at {
            At::Entity(entity) => match draft.collection(rng, *entity) {
                Some((path, Ty::Map(key, _))) if draft.wide && rng.percent(60) => {
                    Some(format!("{path}[{}]", names.param(rng, &key)))
                }
                found => found.map(|(path, _)| path),
            },
            _ => None,
        },
        12 if depth > 0 => draft.one(rng, at).and_then(|(path, end)| {
            let items: Vec<String> = (0..rng.between(1, 3))
                .filter_map(|_| item(rng, draft, &end, names, depth - 1))
                .collect();
            (!items.is_empty()).then(|| format!("{path} {{ {} }}", items.join(", ")))
        }),
        _ if depth > 0 => nested(rng, draft, at, names, depth),
        _ => None,
    };
    text.map(|text| format!("{text} as {name}"))
}

fn nested(
    rng: &mut Rng,
    draft: &Draft,
    at: &At,
    names: &mut Names,
    depth: usize,
) -> Option<String> {
    let (path, end) = draft.many(rng, at)?;
    let (items, clauses) = match rng.below(10) {
        0 => whole(rng, draft, &end, names),
        1 => grouped(rng, draft, &end, names),
        _ => {
            let items: Vec<String> = (0..rng.between(1, 3))
                .filter_map(|_| item(rng, draft, &end, names, depth - 1))
                .collect();
            if items.is_empty() {
                return None;
            }
            let mut text = String::new();
            filter(rng, draft, &end, names, &mut text);
            order_and_page(rng, draft, &end, names, &mut text);
            (items.join(", "), text)
        }
    };
    let whole = format!("{path} {{ {items}{clauses} }}");
    let plain = !whole.contains('$') && rng.aside().percent(30);
    let shorter = shorter(&clauses).filter(|_| plain);
    let Some(shorter) = shorter else {
        return Some(whole);
    };
    let first = format!("{path} {{ {items}{shorter} }}");
    Some(format!("{whole} as {}, {first}", names.fresh("i")))
}

/// Clauses that leave the first of the same rows: a collection that is kept for the one serves both.
fn shorter(clauses: &str) -> Option<String> {
    let ordered = clauses.contains("order by");
    ordered.then(|| match clauses.split_once(" limit ") {
        Some((before, _)) => format!("{before} limit 1"),
        None => format!("{clauses} limit 2"),
    })
}

pub(super) fn filter(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names, text: &mut String) {
    if rng.percent(75)
        && let Some(pred) = pred(rng, draft, at, names, 2)
    {
        let fixed = constant_condition(rng, draft, at).filter(|_| draft.wide && rng.percent(15));
        let _ = match fixed {
            Some(fixed) => write!(text, "\n  where {fixed} and ({pred})"),
            None => write!(text, "\n  where {pred}"),
        };
    }
}

/// What groups are kept for: equalities, ranges of what is grouped by, constants.
fn narrowed(
    rng: &mut Rng,
    draft: &Draft,
    at: &At,
    names: &mut Names,
    keys: &[(String, String)],
    text: &mut String,
) {
    let mut aside = rng.aside();
    let mut all: Vec<String> = Vec::new();
    for _ in 0..rng.between(1, 3) {
        all.extend(match rng.below(5) {
            0 | 1 => draft
                .scalar(rng, at, &Ty::is_ordered)
                .map(|(path, ty)| format!("{path} = {}", names.param(rng, &ty))),
            2 => rng.pick(keys).map(|(key, _)| {
                let (from, to) = (names.fresh("x"), names.fresh("x"));
                match rng.below(3) {
                    0 => format!("{key} >= ${from}"),
                    1 => format!("{key} = ${from}"),
                    _ => format!("{key} between ${from} and ${to}"),
                }
            }),
            3 => rng
                .pick(keys)
                .map(|(key, _)| format!("{key} in ${}", names.fresh("x"))),
            _ => constant_condition(rng, draft, at),
        });
    }
    // One of its elements at most, or several of a list.
    if aside.percent(30)
        && let Some(one) = one_element(&mut aside, draft, at, names)
    {
        all = vec![one];
    }
    if !all.is_empty() {
        let _ = write!(text, "\n  where {}", all.join(" and "));
    }
}

fn order_and_page(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names, text: &mut String) {
    let mut terms: Vec<String> = Vec::new();
    if rng.percent(70) {
        for _ in 0..rng.one_of([1, 1, 2, 3]) {
            let term = match rng.below(10) {
                0 => path_aggregate(rng, draft, at).filter(|t| t.starts_with("count")),
                1 => time(rng, draft, at),
                2 => numeric(rng, draft, at, names),
                _ => draft.scalar(rng, at, &Ty::is_ordered).map(|(path, _)| path),
            };
            if let Some(term) = term
                && !terms
                    .iter()
                    .any(|t| t.trim_end_matches(" desc").trim_end_matches(" asc") == term)
            {
                terms.push(format!("{term}{}", direction(rng)));
            }
        }
    }
    if terms.is_empty() {
        limit(rng, names, text, 10);
        return;
    }
    let _ = write!(text, " order by {}", terms.join(", "));
    limit(rng, names, text, 60);
    page(rng, names, text);
}

pub(super) fn direction(rng: &mut Rng) -> &'static str {
    rng.one_of(["", " asc", " desc", " desc"])
}

pub(super) fn limit(rng: &mut Rng, names: &mut Names, text: &mut String, percent: u64) {
    if rng.percent(percent) {
        if rng.percent(25) {
            let _ = write!(text, " limit ${}", names.fresh("x"));
        } else {
            let _ = write!(text, " limit {}", rng.between(1, 6));
        }
    }
}

fn page(rng: &mut Rng, names: &mut Names, text: &mut String) {
    if rng.percent(35) {
        let _ = write!(
            text,
            " {} ${}",
            rng.one_of(["after", "after", "before"]),
            names.fresh("x")
        );
    }
}

/// A function of a time.
fn time(rng: &mut Rng, draft: &Draft, at: &At) -> Option<String> {
    let wanted = |t: &Ty| matches!(t, Ty::Timestamp | Ty::TimeUuid | Ty::Date);
    let (path, ty) = draft.scalar(rng, at, &wanted)?;
    let rounding = rng.one_of(["minute", "hour", "day", "month", "year"]);
    Some(match ty {
        Ty::TimeUuid if rng.percent(50) => format!("time({path})"),
        Ty::TimeUuid => format!("{rounding}(time({path}))"),
        Ty::Date => format!("{}({path})", rng.one_of(["day", "month", "year"])),
        _ => format!("{rounding}({path})"),
    })
}

/// Arithmetic over numbers that mix.
pub(super) fn numeric(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Option<String> {
    let (left, ty) = draft.scalar(rng, at, &Ty::is_number)?;
    let mixes = |t: &Ty| {
        t.is_number()
            && !matches!(
                (&ty, t),
                (Ty::Float, Ty::Decimal) | (Ty::Decimal, Ty::Float)
            )
    };
    let right = match rng.below(4) {
        0 => draft.scalar(rng, at, &mixes)?.0,
        1 => names.param(rng, &ty),
        2 if matches!(ty, Ty::Int | Ty::BigInt) => rng.between(0, 4).to_string(),
        _ => rng.between(1, 9).to_string(),
    };
    Some(format!(
        "{left} {} {right}",
        rng.one_of(["+", "-", "*", "/"])
    ))
}
