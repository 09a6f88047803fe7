//! Small random models: few enough candidates and columns for every set of them to be tried.

use crate::design::target::Support;
use crate::design::{Options, target};
use std::fmt::Write as _;

pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed >> 33) as usize) % n.max(1)
    }
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }
    fn rate(&mut self) -> String {
        let unit = self.one(&["s", "s", "h"]);
        let n = self.one(&["0", "1", "2", "3", "10", "70", "400", "5k", "200k"]);
        format!("{n}/{unit}")
    }
}

/// An entity, or two of which the second refers to the first.
pub(super) fn model(rng: &mut Rng) -> String {
    let count = |rng: &mut Rng| rng.one(&["5", "100", "3k", "80k", "2M"]);
    let types = ["int", "bigint", "bool", "text(3)", "text(900)", "timestamp"];
    let attributes = |rng: &mut Rng, names: &[&'static str]| -> Vec<(&'static str, &'static str)> {
        let kept = names.iter().filter(|_| rng.chance(65));
        let kept: Vec<_> = kept.copied().collect();
        kept.into_iter().map(|n| (n, rng.one(&types))).collect()
    };
    let two = rng.chance(60);
    let a = attributes(rng, if two { &["x"] } else { &["x", "y", "z"] });
    let b = attributes(rng, &["u"]);
    let mut out = format!("entity A ({}) {{ id int key", count(rng));
    for (name, ty) in &a {
        let unique = if rng.chance(3) { " unique" } else { "" };
        let _ = write!(out, "  {name} {ty}{unique}{}", distinct(rng));
    }
    out.push_str(" }\n");
    if two {
        let _ = write!(out, "entity B ({}) {{ id int key", count(rng));
        for (name, ty) in &b {
            let _ = write!(out, "  {name} {ty}{}", distinct(rng));
        }
        let avg = rng.one(&["1", "4", "60"]);
        let on_delete = rng.one(&["", " on delete cascade"]);
        let _ = writeln!(out, "  a -> A as bs (avg {avg}, max 900){on_delete} }}");
    }
    for q in 0..=rng.below(2) {
        let rate = rng.rate();
        let body = if two && rng.chance(75) {
            navigation(rng, &a, &b)
        } else if rng.chance(25) {
            counted(rng, &a)
        } else {
            plain(rng, &a)
        };
        let _ = writeln!(out, "question q{q} ({rate}) {body}");
    }
    for c in 0..rng.below(4) {
        let rate = rng.rate();
        let (entity, fields) = if two && rng.chance(50) {
            ("B", &b)
        } else {
            ("A", &a)
        };
        let field = fields.get(rng.below(fields.len())).map(|(n, _)| *n);
        let body = match (rng.below(5), field) {
            (0, _) => format!("delete {entity} where id = $id"),
            (1 | 2, Some(f)) => format!("update {entity} set {f} where id = $id"),
            (3, Some(f)) if rng.chance(60) => {
                let ty = fields
                    .iter()
                    .find(|(n, _)| *n == f)
                    .map_or("int", |(_, ty)| *ty);
                format!("update {entity} set {f} where {}", said(rng, f, ty))
            }
            (3, Some(f)) => format!("update {entity} set {f} where {f} = $old"),
            (3, None) if entity == "B" => "update B set a where id = $id".into(),
            _ => format!("insert {entity}"),
        };
        let _ = writeln!(out, "change c{c} ({rate}) {body}");
    }
    out
}

/// What is said of one value, in one of several ways.
fn said(rng: &mut Rng, by: &str, ty: &str) -> String {
    match (rng.below(4), constant(ty)) {
        (0, _) => format!("{by} in ($one)"),
        (1, _) if ty != "bool" => format!("not {by} < $from"),
        (2, Some(constant)) => format!("{by} = {constant} and {by} = $value"),
        (3, Some(constant)) => format!("{by} = {constant} or {by} = $value"),
        _ if ty == "bool" => format!("{by} != true"),
        _ => format!("{by} > $from and {by} <= $to"),
    }
}

/// A value of a type.
fn constant(ty: &str) -> Option<&'static str> {
    match ty {
        "bool" => Some("true"),
        "int" | "bigint" => Some("7"),
        _ => None,
    }
}

/// Nothing, the number of values, or also how many share one.
fn distinct(rng: &mut Rng) -> &'static str {
    let of = [
        "",
        "",
        "",
        " distinct 3",
        " distinct 400",
        " distinct 400 (max 700)",
    ];
    rng.one(&of)
}

/// By key, by value, in a range, in an order, or all of them.
fn plain(rng: &mut Rng, attributes: &[(&str, &str)]) -> String {
    let any = |rng: &mut Rng| {
        let found = attributes.get(rng.below(attributes.len() + 1));
        found.map_or("id", |(n, _)| *n)
    };
    let (shown, by, order) = (any(rng), any(rng), any(rng));
    let filter = match rng.below(6) {
        0 => String::new(),
        5 => format!(" where {by} = $value or id = $id"),
        1 => " where id = $id".into(),
        2 => format!(" where {by} >= $from"),
        4 => format!(" where {by} >= $from and {by} < $to"),
        3 if by != "id" => format!(" where {by} = $value and id > $last"),
        _ => format!(" where {by} = $value"),
    };
    let tail = match rng.below(4) {
        0 => format!(" order by {order}"),
        1 => format!(" order by {order} desc limit 7"),
        _ => String::new(),
    };
    let shown = if shown == "id" {
        "id".into()
    } else {
        format!("id, {shown}")
    };
    format!("select {shown} from A{filter}{tail}")
}

/// Groups, by themselves, of one value or of a constant; and a list of what a constant leaves.
fn counted(rng: &mut Rng, attributes: &[(&str, &str)]) -> String {
    let by = attributes.first().map_or("id", |(n, _)| *n);
    let (other, ty) = attributes.last().copied().unwrap_or(("id", "int"));
    let Some(constant) = constant(ty) else {
        return format!("select {by}, count(*) as n from A where {other} = $value group by {by}");
    };
    match rng.below(5) {
        4 if ty != "bool" => {
            format!("select id from A where {other} > {constant} order by {by} limit 9")
        }
        0 => format!("select count(*) as n from A where {other} = $value"),
        1 => format!("select {by}, count(*) as n from A group by {by} order by {by} desc limit 3"),
        2 => format!("select count(*) as n from A where {other} = {constant}"),
        _ => format!("select id from A where {other} = {constant} order by {by} limit 9"),
    }
}

/// Along the reference, either way.
fn navigation(rng: &mut Rng, a: &[(&str, &str)], b: &[(&str, &str)]) -> String {
    let x = a.first().map_or("id", |(n, _)| *n);
    let u = b.first().map_or("id", |(n, _)| *n);
    match rng.below(7) {
        0 => format!("select id, a.{x} as shown from B where id = $id"),
        1 => format!("select {u} from B where a.id = $a order by {u} desc limit 5"),
        2 => format!("select id from B where a.{x} = $value"),
        3 => format!("select id, bs {{ id, {u} as shown order by id }} from A where id = $id"),
        4 => "select id, count(bs) as n from A where id = $id".into(),
        5 => format!("select id, {u} as shown from B where {u} >= $from and a.id = $a"),
        _ => format!("select id, a.{x} as shown from B where a.id = $a"),
    }
}

/// A target, with or without homes, under its own cost model or the peer's by one of the readings
/// of its support reads, sometimes with room for few structures.
pub(super) fn options(rng: &mut Rng) -> Options {
    let mut options = Options::embedded();
    options.target = target::named(rng.one(target::NAMES)).unwrap();
    if rng.chance(40) {
        options.target.cost = target::cost_model("nose").unwrap().cost;
        let readings = [Support::Branch, Support::Lookup, Support::Statement];
        options.target.cost.rules.support = readings[rng.below(readings.len())];
    }
    options.lossy = rng.chance(40);
    if rng.chance(15) {
        options.target.limits.structures = 1 + rng.below(4);
    }
    options
}
