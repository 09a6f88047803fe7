//! What verify finds, in words and as data.

use crate::layout::Layout;
use crate::schema::Schema;
use crate::text::{instance_text, value_text};
use querent_compiler::design::StructureId;
use querent_compiler::design::display::Printer;
use querent_compiler::model::{Model, Type};
use querent_compiler::value::Value;
use querent_compiler::value::ops::Accumulator;
use querent_compiler::view::Structure;
use querent_compiler::view::rows::group_aggregate;
use serde::Serialize;
use std::fmt;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A row that the facts demand is not there.
    Missing,
    /// A row says something else than the facts.
    Stale,
    /// A row that no fact demands.
    Ghost,
    /// Bytes that cannot be read, or a home row in the wrong place.
    Damaged,
    /// A value that the model requires is not there, or none that it allows.
    Invalid,
    /// A reference to an instance that does not exist.
    Dangling,
    /// Two instances share a value that is declared unique.
    Shared,
    /// A sequence would give a number that was given already.
    Sequence,
    /// A structure could not be compared, because facts that it needs are damaged.
    Unchecked,
}

impl FindingKind {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            FindingKind::Missing => "missing",
            FindingKind::Stale => "stale",
            FindingKind::Ghost => "ghost",
            FindingKind::Damaged => "damaged",
            FindingKind::Invalid => "invalid",
            FindingKind::Dangling => "dangling",
            FindingKind::Shared => "shared",
            FindingKind::Sequence => "sequence",
            FindingKind::Unchecked => "unchecked",
        }
    }
}

/// A column that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The column, as an expression from the anchor.
    pub column: String,
    /// What is stored.
    pub found: String,
    /// What the facts say.
    pub expected: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// The structure in which it was found.
    pub structure: String,
    /// The instance whose fact is violated: entity and key.
    pub instance: Option<String>,
    /// The row's key, part by part.
    pub row: String,
    /// Columns that differ.
    pub columns: Vec<Difference>,
    /// More about it, where the columns do not say it.
    pub note: Option<String>,
    /// What to do, where repair cannot mend it.
    pub advice: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.structure, self.kind.word())?;
        if !self.row.is_empty() {
            write!(f, " ({})", self.row)?;
        }
        if let Some(instance) = &self.instance {
            write!(f, " of {instance}")?;
        }
        for (i, d) in self.columns.iter().enumerate() {
            let sign = if i == 0 { ": " } else { "; " };
            write!(
                f,
                "{sign}{}: found {}, expected {}",
                d.column, d.found, d.expected
            )?;
        }
        if let Some(note) = &self.note {
            write!(f, ": {note}")?;
        }
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

/// Words for rows of one structure.
pub(super) struct Namer<'s> {
    model: &'s Model,
    structure: &'s Structure,
    layout: &'s Layout,
    /// Where the scalars of the anchor's key are in the row's key; none where they are not all in
    /// it, as in groups of many instances.
    anchor: Option<Vec<usize>>,
    parts: Vec<String>,
    columns: Vec<String>,
}

impl<'s> Namer<'s> {
    pub(super) fn new(schema: &'s Schema, id: StructureId) -> Option<Namer<'s>> {
        let (model, structure) = (
            &schema.model,
            schema.design.structures.get(usize::from(id))?,
        );
        let layout = schema.layouts.get(usize::from(id))?;
        let printer = Printer::of_structure(model, structure);
        let paths = querent_compiler::design::key_paths(model, structure.anchor);
        let positions = paths.iter().map(|p| structure.key().position(|e| e == p));
        Some(Namer {
            model,
            structure,
            layout,
            anchor: positions.collect(),
            parts: structure.key().map(|e| printer.expr(e)).collect(),
            columns: structure.columns.iter().map(|e| printer.expr(e)).collect(),
        })
    }

    /// The anchor's key in a row's key.
    pub(super) fn anchor(&self, parts: &[Value]) -> Option<Vec<Value>> {
        self.anchor
            .as_ref()?
            .iter()
            .map(|&p| parts.get(p).cloned())
            .collect()
    }

    /// The anchor's key of a stored row; none where it cannot be read.
    pub(super) fn anchor_of(&self, key: &[u8], row: &[u8]) -> Option<Vec<Value>> {
        self.anchor(&self.layout.decode_key(key, row).ok()?)
    }

    /// A finding about a row: what is stored, or what should be.
    pub(super) fn finding(&self, kind: FindingKind, key: &[u8], row: &[u8]) -> Finding {
        let parts = self.layout.decode_key(key, row);
        let instance = parts.as_ref().ok().and_then(|parts| self.anchor(parts));
        Finding {
            kind,
            structure: self.structure.name.clone(),
            instance: instance.map(|key| instance_text(self.model, self.structure.anchor, &key)),
            row: match &parts {
                Ok(parts) => self.row_text(parts),
                Err(_) => format!("key {}", hex(key)),
            },
            columns: vec![],
            note: None,
            advice: None,
        }
    }

    fn row_text(&self, parts: &[Value]) -> String {
        let named = self.parts.iter().zip(parts).zip(&self.layout.key);
        let parts: Vec<String> = named
            .map(|((name, value), part)| {
                format!("{name} {}", value_text(self.model, &part.ty, value))
            })
            .collect();
        parts.join(", ")
    }

    /// The columns in which two rows differ.
    pub(super) fn differences(&self, found: &[Value], expected: &[Value]) -> Vec<Difference> {
        let width = self.layout.columns.len();
        (0..width)
            .filter(|&i| found.get(i) != expected.get(i))
            .map(|i| Difference {
                column: self
                    .columns
                    .get(i)
                    .cloned()
                    .unwrap_or_else(|| "the count of its bindings".into()),
                found: self.column_text(i, found.get(i)),
                expected: self.column_text(i, expected.get(i)),
            })
            .collect()
    }

    fn column_text(&self, i: usize, value: Option<&Value>) -> String {
        let (Some(value), Some(column)) = (value, self.layout.columns.get(i)) else {
            return "nothing".into();
        };
        let aggregate = self.structure.columns.get(i).and_then(group_aggregate);
        if let Some((a, _)) = aggregate
            && let Some(total) = Accumulator::from_stored(a.function, value)
        {
            return value_text(self.model, &Type::Any, &total.finish());
        }
        value_text(self.model, &column.ty, value)
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(64).map(|b| format!("{b:02x}")).collect()
}
