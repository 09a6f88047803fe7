//! Questions about groups of what elements of lists say, and of what they refer to.

use super::draft::{About, Draft, Field, Kind, Part, Sequence, Ty};
use super::paths::At;
use super::questions::{self, Names, Parts};
use super::rng::Rng;
use std::fmt::Write;

impl Draft {
    /// Gives entities a list whose elements refer to others and a set, and most questions groups of
    /// these.
    pub(super) fn gather(&mut self, rng: &mut Rng) {
        self.about = About::Elements;
        for index in 1..self.entities.len() {
            let mut part = |ty, optional| Part {
                name: self.name("p"),
                ty,
                optional,
            };
            let parts = vec![
                part(Ty::Ref(rng.below(index)), rng.percent(30)),
                part(rng.one_of([|| Ty::Int, || Ty::Decimal])(), rng.percent(30)),
            ];
            let list = Ty::List(Box::new(Ty::Record(parts)));
            let set = Ty::Set(Box::new(rng.one_of([|| Ty::Text, || Ty::Int])()));
            for ty in [list, set] {
                let field = Field {
                    name: self.name("f"),
                    kind: Kind::Value {
                        ty,
                        optional: false,
                        unique: false,
                        sequence: Sequence::No,
                    },
                    key: false,
                };
                self.entities[index].fields.push(field);
            }
        }
    }
}

/// Groups of what elements of a list say, mostly with aggregates that can be kept.
pub(super) fn gathered(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Parts {
    if rng.percent(20)
        && let Some(parts) = having(rng, draft, at, names)
    {
        return parts;
    }
    let referred = draft.referred_keys(at);
    let Some((path, end, key)) = rng.pick(&referred) else {
        return questions::grouped(rng, draft, at, names);
    };
    if rng.percent(40) {
        return found(rng, draft, at, (path, end, key), names);
    }
    let mut keys = Vec::new();
    if rng.percent(75) {
        keys.push(key.clone());
    }
    if keys.is_empty() || rng.percent(20) {
        let said = draft.end_scalar(rng, path, end, &Ty::is_ordered);
        keys.extend(said.map(|(said, _)| said));
    }
    if keys.is_empty() || rng.percent(25) {
        let own = draft.scalar(rng, at, &Ty::is_ordered);
        keys.extend(own.map(|(own, _)| own));
    }
    keys.dedup();
    if keys.is_empty() {
        return questions::grouped(rng, draft, at, names);
    }
    let mut items = keys.clone();
    for _ in 0..rng.between(1, 3) {
        let kept = match rng.below(6) {
            0 => Some("count(*)".to_owned()),
            1 => Some(format!("count(distinct {key})")),
            2 => draft
                .end_scalar(rng, path, end, &Ty::is_ordered)
                .map(|(said, _)| format!("{}({said})", rng.one_of(["count", "min", "max"]))),
            _ => draft
                .end_scalar(rng, path, end, &Ty::is_number)
                .map(|(said, _)| format!("{}({said})", rng.one_of(["sum", "avg", "count"]))),
        };
        items.extend(kept);
    }
    let mut named = Vec::new();
    for item in &items {
        named.push((item, names.fresh("i")));
    }
    let mut text = String::new();
    if rng.percent(25) {
        questions::filter(rng, draft, at, names, &mut text);
    }
    let _ = write!(text, "\n  group by {}", keys.join(", "));
    if rng.percent(60)
        && let Some((_, name)) = rng.pick(&named)
    {
        let _ = write!(text, "\n  order by {name}{}", questions::direction(rng));
        questions::limit(rng, names, &mut text, 40);
    }
    let items = named.iter().map(|(item, name)| format!("{item} as {name}"));
    (items.collect::<Vec<_>>().join(", "), text)
}

/// How many instances have an element in a set of theirs: groups by the element answer that.
fn having(rng: &mut Rng, draft: &Draft, at: &At, names: &mut Names) -> Option<Parts> {
    let At::Entity(entity) = at else { return None };
    let is_set = |f: &&Field| matches!(f.kind, Kind::Value { ty: Ty::Set(_), .. });
    let sets = draft.entities[*entity].fields.iter().filter(is_set);
    let sets: Vec<&Field> = sets.collect();
    let set = rng.pick(&sets)?;
    let mut text = format!("\n  where {} has ${}", set.name, names.fresh("x"));
    let own = draft.scalar(rng, at, &Ty::is_ordered).map(|(own, _)| own);
    Some(match own.filter(|_| rng.percent(60)) {
        None => ("count(*) as i".into(), text),
        Some(own) => {
            let _ = write!(text, "\n  group by {own}");
            (format!("{own} as i, count(*) as j"), text)
        }
    })
}

/// Instances, or how many there are, by what one of their elements says: structures of groups are by
/// the same values, and those of several elements of one instance are read, too.
fn found(
    rng: &mut Rng,
    draft: &Draft,
    at: &At,
    (path, end, key): (&str, &At, &str),
    names: &mut Names,
) -> Parts {
    let said = draft.end_scalar(rng, path, end, &Ty::is_ordered);
    let said = said.map_or_else(|| key.to_owned(), |(said, _)| said);
    let inside = |of: &str| of.strip_prefix(path).unwrap_or(of)[1..].to_owned();
    let mut x = || format!("${}", names.fresh("x"));
    let condition = match rng.below(6) {
        0 | 1 => format!("{key} = {}", x()),
        2 => format!("{key} in {}", x()),
        3 => format!("{said} {} {}", rng.one_of([">=", "<", "="]), x()),
        _ => {
            let op = rng.one_of([">=", "<"]);
            let (key, said) = (inside(key), inside(&said));
            format!("any {path} ({key} = {} and {said} {op} {})", x(), x())
        }
    };
    let own = draft.scalar(rng, at, &Ty::is_ordered).map(|(own, _)| own);
    let mut text = format!("\n  where {condition}");
    match own.filter(|_| rng.percent(70)) {
        None => ("count(*) as i".into(), text),
        Some(own) => {
            if rng.percent(30) {
                let _ = write!(text, " and {own} {} {}", rng.one_of(["=", ">="]), x());
            }
            if rng.percent(25) {
                let _ = write!(text, "\n  group by {own}");
                return (format!("{own} as i, count(*) as j"), text);
            }
            if rng.percent(40) {
                let _ = write!(text, "\n  order by i{}", questions::direction(rng));
                questions::limit(rng, names, &mut text, 40);
            }
            (format!("{own} as i"), text)
        }
    }
}
