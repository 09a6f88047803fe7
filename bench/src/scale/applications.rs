//! Models like those of applications: a few hubs that most things refer to, chains of references,
//! many-to-many relationships; cards with nested lists, feeds, far ends, groups, ranges, and the
//! changes that go with them.

use super::Rng;
use std::fmt::Write as _;

/// What an attribute can be used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is shown.
    Text,
    /// Few values: it is compared and grouped by.
    Label,
    /// It is compared, summed up, and lies between others.
    Number,
}

struct Reference {
    name: String,
    target: usize,
    /// The name of the way back.
    back: String,
}

#[derive(Default)]
struct Entity {
    count: u64,
    attributes: Vec<(String, Use)>,
    references: Vec<Reference>,
    /// Who refers to it, by which name.
    referrers: Vec<(String, usize)>,
    /// Relationships of many with many: their names here, and whom they lead to.
    many: Vec<(String, usize)>,
    /// Those that it declares.
    declared: Vec<(String, usize)>,
}

impl Entity {
    fn having(&self, wanted: Use) -> Vec<&str> {
        let having = self.attributes.iter().filter(|(_, is)| *is == wanted);
        having.map(|(name, _)| name.as_str()).collect()
    }
}

const TYPES: &[(&str, &str, Use)] = &[
    ("name", "text(20)", Use::Text),
    ("title", "text(60)", Use::Text),
    ("note", "text(200)?", Use::Text),
    ("kind", "text(12)  distinct 30 (max 2M)", Use::Label),
    ("status", "Status", Use::Label),
    ("price", "decimal", Use::Number),
    ("size", "int", Use::Number),
    ("score", "float", Use::Number),
    ("code", "text(12)", Use::Text),
    ("link", "text(80)", Use::Text),
];

const RATES: &[&str] = &["2/h", "20/h", "1/s", "5/s", "20/s", "100/s", "1000/s"];
const CHANGES: &[&str] = &["1/h", "20/h", "1/s", "10/s", "100/s"];

/// The text of a model with so many questions over so many entities.
pub(super) fn model(questions: usize, entities: usize, seed: u64) -> String {
    let rng = &mut Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let all = draw(rng, entities);
    let mut out = String::from("model application\n\nenum Status { draft, open, paid, gone }\n\n");
    for (e, entity) in all.iter().enumerate() {
        declare(rng, &all, e, entity, &mut out);
    }
    for q in 0..questions {
        // Half of all questions are about a few entities.
        let e = if rng.below(2) == 0 {
            rng.below(all.len())
        } else {
            rng.below(all.len().div_ceil(3))
        };
        let text = loop {
            if let Some(text) = question(rng, &all, e) {
                break text;
            }
        };
        let rate = rng.one(RATES);
        let _ = writeln!(out, "question q{q} ({rate})\n  {text}");
    }
    changes(rng, &all, &mut out);
    out
}

fn draw(rng: &mut Rng, entities: usize) -> Vec<Entity> {
    let mut all: Vec<Entity> = Vec::new();
    let hubs = entities.div_ceil(8);
    for e in 0..entities {
        let mut entity = Entity {
            count: *rng.one(&[200, 5_000, 100_000, 2_000_000]),
            ..Entity::default()
        };
        for at in 0..2 + rng.below(6) {
            let (name, _, is) = *rng.one(TYPES);
            entity.attributes.push((format!("{name}{at}"), is));
        }
        let references = if e == 0 { 0 } else { [0, 1, 1, 2, 2, 3][rng.below(6)] };
        for r in 0..references {
            let among = if rng.below(2) == 0 { hubs.min(e) } else { e };
            let target = rng.below(among);
            if r == 0 {
                // Children are more than their parents.
                let each = *rng.one(&[3, 10, 40]);
                entity.count = (all[target].count * each).min(500_000_000);
            }
            let back = format!("e{e}s{r}");
            all[target].referrers.push((back.clone(), e));
            entity.references.push(Reference {
                name: format!("r{r}"),
                target,
                back,
            });
        }
        if e > 0 && rng.below(4) == 0 {
            let target = rng.below(e);
            let back = format!("in{e}");
            entity.many.push(("many".into(), target));
            entity.declared.push(("many".into(), target));
            all[target].many.push((back, e));
        }
        all.push(entity);
    }
    all
}

fn declare(rng: &mut Rng, all: &[Entity], e: usize, entity: &Entity, out: &mut String) {
    let _ = writeln!(out, "entity E{e} ({}) {{\n  id bigint key\n  at timestamp", entity.count);
    for (name, _) in &entity.attributes {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let found = TYPES.iter().find(|(n, _, _)| *n == plain);
        let ty = found.map_or("int", |(_, ty, _)| ty);
        let _ = writeln!(out, "  {name} {ty}");
    }
    let size = |many: u64, few: u64| {
        let average = (many as f64 / few as f64).max(0.01);
        let most = ((average * 30.0).ceil() as u64).clamp(1, many);
        format!("avg {average:.2}, max {most}")
    };
    for r in &entity.references {
        let cascade = *rng.one(&["", "  on delete cascade"]);
        let sizes = size(entity.count, all[r.target].count);
        let (name, target, back) = (&r.name, r.target, &r.back);
        let _ = writeln!(out, "  {name} -> E{target} as {back} ({sizes}){cascade}");
    }
    for (name, target) in &entity.declared {
        let own = *rng.one(&[2, 5, 20]);
        let links = entity.count * own;
        let (here, there) = (size(links, entity.count), size(links, all[*target].count));
        let _ = writeln!(out, "  {name} ->> E{target} ({here}) as in{e} ({there})");
    }
    out.push_str("}\n");
}

/// Distinct ones of what there is, at most so many.
fn some(rng: &mut Rng, of: &[String], most: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for _ in 0..1 + rng.below(most) {
        let one = rng.one(of);
        if !out.contains(one) {
            out.push(one.clone());
        }
    }
    out
}

/// What is shown of an instance: attributes of its own, and of what it refers to.
fn shown(rng: &mut Rng, all: &[Entity], e: usize) -> Vec<String> {
    let entity = &all[e];
    let own: Vec<String> = entity.attributes.iter().map(|(name, _)| name.clone()).collect();
    let mut out = some(rng, &own, 4);
    if !entity.references.is_empty() && rng.below(2) == 0 {
        let mut path = String::new();
        let mut at = e;
        for _ in 0..1 + rng.below(2) {
            if all[at].references.is_empty() {
                break;
            }
            let next = rng.one(&all[at].references);
            let _ = write!(path, "{}.", next.name);
            at = next.target;
        }
        let (name, _) = rng.one(&all[at].attributes);
        out.push(format!("{path}{name} as far"));
    }
    out
}

/// A nested list of the instances that lead here.
fn nested(rng: &mut Rng, all: &[Entity], e: usize, depth: usize) -> Option<String> {
    let entity = &all[e];
    let ways: Vec<&(String, usize)> = entity.referrers.iter().chain(&entity.many).collect();
    if ways.is_empty() {
        return None;
    }
    let (name, from) = *rng.one(&ways);
    let mut items = shown(rng, all, *from);
    items.insert(0, "id".into());
    if depth > 0 && rng.below(4) == 0 {
        items.extend(nested(rng, all, *from, depth - 1));
    }
    let tail = *rng.one(&[" order by at", " order by at desc limit 10", " order by at desc limit 50"]);
    Some(format!("{name} {{ {}{tail} }}", items.join(", ")))
}

/// Conditions beside the one by which instances are found.
fn beside(rng: &mut Rng, entity: &Entity) -> String {
    match rng.below(6) {
        0 | 1 => match entity.having(Use::Label).as_slice() {
            [] => String::new(),
            labels => format!(" and {} = $label", rng.one(labels)),
        },
        2 => " and at >= $since".into(),
        3 => match entity.having(Use::Number).as_slice() {
            [] => String::new(),
            numbers => format!(" and {} > $least", rng.one(numbers)),
        },
        _ => String::new(),
    }
}

/// One question about an entity; none where it has nothing of that kind.
fn question(rng: &mut Rng, all: &[Entity], e: usize) -> Option<String> {
    let entity = &all[e];
    let select = |items: Vec<String>| {
        let mut items = items;
        items.insert(0, "id".into());
        items.join(", ")
    };
    let feed = |rng: &mut Rng| {
        *rng.one(&[" order by at desc limit 20", " order by at desc limit 50", " order by at", ""])
    };
    let reference = |rng: &mut Rng| {
        let one = (!entity.references.is_empty()).then(|| rng.below(entity.references.len()));
        one.map(|at| &entity.references[at])
    };
    Some(match rng.below(100) {
        0..18 => format!("select {} from E{e} where id = $id", select(shown(rng, all, e))),
        18..32 => {
            let mut items = shown(rng, all, e);
            items.push(nested(rng, all, e, 1)?);
            if let (0, Some((back, _))) = (rng.below(3), entity.referrers.first()) {
                items.push(format!("count({back}) as n"));
            }
            format!("select {} from E{e} where id = $id", select(items))
        }
        32..56 => {
            let by = reference(rng)?;
            let items = select(shown(rng, all, e));
            let more = beside(rng, entity);
            format!("select {items} from E{e} where {}.id = $by{more}{}", by.name, feed(rng))
        }
        56..64 => {
            let labels = entity.having(Use::Label);
            if labels.is_empty() {
                return None;
            }
            let label = *rng.one(&labels);
            let more = beside(rng, entity).replace("$label", "$other");
            let items = select(shown(rng, all, e));
            format!(
                "select {items} from E{e} where {label} = $label{more} order by at desc limit 20"
            )
        }
        64..72 => {
            let by = reference(rng)?;
            let on = &all[by.target].references;
            let next = on.get(rng.below(on.len()))?;
            let items = select(shown(rng, all, e));
            let more = beside(rng, entity);
            let (first, second) = (&by.name, &next.name);
            format!("select {items} from E{e} where {first}.{second}.id = $by{more}{}", feed(rng))
        }
        72..80 => {
            let (name, _) = entity.many.get(rng.below(entity.many.len()))?;
            let items = select(shown(rng, all, e));
            let more = beside(rng, entity);
            format!("select {items} from E{e} where {name}.id = $by{more}{}", feed(rng))
        }
        80..88 => {
            let by = reference(rng)?;
            let labels = entity.having(Use::Label);
            let group = if labels.is_empty() {
                "day(at)"
            } else {
                *rng.one(&labels)
            };
            let numbers = entity.having(Use::Number);
            let sum = numbers.first().map(|n| format!(", sum({n}) as total"));
            let sum = sum.unwrap_or_default();
            format!(
                "select {group} as part, count(*) as n{sum} from E{e} where {}.id = $by group by {group}",
                by.name
            )
        }
        88..92 => {
            let by = reference(rng)?;
            let more = beside(rng, entity);
            format!("select count(*) as n from E{e} where {}.id = $by{more}", by.name)
        }
        92..97 => {
            let numbers = entity.having(Use::Number);
            let labels = entity.having(Use::Label);
            if numbers.is_empty() || labels.is_empty() {
                return None;
            }
            let (number, label) = (*rng.one(&numbers), *rng.one(&labels));
            let items = select(shown(rng, all, e));
            format!(
                "select {items} from E{e} where {label} = $label and {number} between $low and $high order by {number} limit 50"
            )
        }
        _ => format!("select {} from E{e} where id in $ids", select(shown(rng, all, e))),
    })
}

fn changes(rng: &mut Rng, all: &[Entity], out: &mut String) {
    for (e, entity) in all.iter().enumerate() {
        let rate = rng.one(CHANGES);
        let _ = writeln!(out, "change insert{e} ({rate}) insert E{e}");
        for (name, _) in &entity.attributes {
            if rng.below(3) == 0 {
                let rate = rng.one(CHANGES);
                let _ = writeln!(out, "change set{e}{name} ({rate}) update E{e} set {name} where id = $id");
            }
        }
        if rng.below(5) == 0 {
            let _ = writeln!(out, "change delete{e} (20/h) delete E{e} where id = $id");
        }
        for (name, _) in &entity.declared {
            let rate = rng.one(CHANGES);
            let _ = writeln!(out, "change join{e}{name} ({rate}) connect E{e}.{name}");
            let _ = writeln!(out, "change leave{e}{name} (1/h) disconnect E{e}.{name}");
        }
    }
}
