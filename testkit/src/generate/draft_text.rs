//! A draft as text.

use super::draft::{Draft, Entity, Field, Kind, Part, Sequence, Ty};
use std::fmt::Write;

impl Draft {
    pub(super) fn text(&self) -> String {
        let mut out = "model random\n\n".to_owned();
        for (i, members) in self.enums.iter().enumerate() {
            let _ = writeln!(out, "enum N{i} {{ {} }}", members.join(", "));
        }
        out.push('\n');
        for (index, entity) in self.entities.iter().enumerate() {
            let parent = entity
                .parent
                .map_or(String::new(), |p| format!(" is {}", self.entities[p].name));
            let root = self.ancestry(index).last().copied().unwrap_or(index);
            let of_root = self.counts.get(root).copied().unwrap_or(1000);
            let count = (of_root >> self.ancestry_len(entity)).max(1);
            let _ = writeln!(out, "entity {}{parent} ({count}) {{", entity.name);
            for field in &entity.fields {
                let distinct = self.distinct.get(&field.name);
                let distinct = distinct.map_or(String::new(), |(values, most)| {
                    let most = most.map_or(String::new(), |most| format!(" (max {most})"));
                    format!(" distinct {values}{most}")
                });
                let text = self.field_text(field);
                let _ = writeln!(out, "  {} {text}{distinct}", field.name);
            }
            match entity.expires {
                Some(after) => {
                    let _ = writeln!(out, "}} expires after {after}");
                }
                None => out.push_str("}\n"),
            }
        }
        out.push('\n');
        out
    }

    /// Subtypes have fewer instances than their supertype.
    fn ancestry_len(&self, entity: &Entity) -> usize {
        entity.parent.map_or(0, |p| 3 * self.ancestry(p).len())
    }

    fn field_text(&self, field: &Field) -> String {
        let mut text = match &field.kind {
            Kind::Value {
                ty,
                optional,
                unique,
                sequence,
            } => {
                let mut text = self.type_text(ty);
                if *optional {
                    text.push('?');
                }
                if *unique {
                    text.push_str(" unique");
                }
                match sequence {
                    Sequence::No => {}
                    Sequence::Global => text.push_str(" sequence"),
                    Sequence::Per(reference) => {
                        let _ = write!(text, " sequence per {reference}");
                    }
                }
                text
            }
            Kind::One {
                target,
                optional,
                back,
                unique,
                on_delete,
                parts,
            } => {
                let mut text = format!(
                    "-> {}{}",
                    self.entities[*target].name,
                    if *optional { "?" } else { "" }
                );
                if let Some(back) = back {
                    let size = if *unique {
                        "(avg 0.5, max 1)".to_owned()
                    } else {
                        format!("(avg 2, max {})", self.most.unwrap_or(50))
                    };
                    let _ = write!(text, " as {back} {size}");
                }
                self.parts_text(parts, &mut text);
                if let Some(on_delete) = on_delete {
                    let _ = write!(text, " on delete {on_delete}");
                }
                text
            }
            Kind::Many {
                target,
                back,
                parts,
            } => {
                let mut text = format!("->> {} (avg 2, max 40)", self.entities[*target].name);
                if let Some(back) = back {
                    let _ = write!(text, " as {back} (avg 2, max 40)");
                }
                self.parts_text(parts, &mut text);
                text
            }
        };
        if field.key {
            text.push_str(" key");
        }
        text
    }

    fn parts_text(&self, parts: &[Part], text: &mut String) {
        if !parts.is_empty() {
            let parts: Vec<String> = parts.iter().map(|p| self.part_text(p)).collect();
            let _ = write!(text, " {{ {} }}", parts.join(", "));
        }
    }

    fn part_text(&self, part: &Part) -> String {
        format!(
            "{} {}{}",
            part.name,
            self.type_text(&part.ty),
            if part.optional { "?" } else { "" }
        )
    }

    fn type_text(&self, ty: &Ty) -> String {
        match ty {
            Ty::Bool => "bool".to_owned(),
            Ty::Int => "int".to_owned(),
            Ty::BigInt => "bigint".to_owned(),
            Ty::Float => "float".to_owned(),
            Ty::Decimal => "decimal".to_owned(),
            Ty::Text => "text(8, max 60)".to_owned(),
            Ty::Blob => "blob(600, max 2000)".to_owned(),
            Ty::Date => "date".to_owned(),
            Ty::Timestamp => "timestamp".to_owned(),
            Ty::Uuid => "uuid".to_owned(),
            Ty::TimeUuid => "timeuuid".to_owned(),
            Ty::Point => "point".to_owned(),
            Ty::Any => "any".to_owned(),
            Ty::Enum(e) => format!("N{e}"),
            Ty::List(t) => format!("list<{}> (avg 2, max 20)", self.type_text(t)),
            Ty::Set(t) => format!("set<{}> (avg 2, max 20)", self.type_text(t)),
            Ty::Map(k, v) => format!(
                "map<{}, {}> (avg 2, max 20)",
                self.type_text(k),
                self.type_text(v)
            ),
            Ty::Record(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.part_text(p)).collect();
                format!("{{ {} }}", parts.join(", "))
            }
            Ty::Ref(target) => format!("-> {}", self.entities[*target].name),
        }
    }
}
