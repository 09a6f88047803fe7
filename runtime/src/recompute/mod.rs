//! What structures should hold, computed from the facts in bounded memory: for verify and load.

mod referrers;

pub(crate) use referrers::{ReferrerIndex, ReferrerSorter};

use crate::Error;
use crate::facts::FactError;
use crate::key::KeyError;
use crate::layout::Layout;
use crate::load::{Sorted, Sorter};
use crate::row::{decode_values, encode_values};
use crate::schema::Schema;
use crate::store::StoreError;
use querent_compiler::design::StructureId;
use querent_compiler::model::Model;
use querent_compiler::value::Value;
use querent_compiler::value::ops::Accumulator;
use querent_compiler::view::facts::Facts;
use querent_compiler::view::rows::{contribution, group_aggregate};
use querent_compiler::view::{Kind, Structure};
use std::path::Path;

/// Collects what anchors contribute to a structure.
pub(crate) struct Collector<'s> {
    model: &'s Model,
    structure: &'s Structure,
    layout: &'s Layout,
    sorter: Sorter,
    bytes: Vec<u8>,
}

impl<'s> Collector<'s> {
    /// For one structure; what does not fit into the memory goes to files in the folder.
    pub(crate) fn new(
        schema: &'s Schema,
        id: StructureId,
        folder: &Path,
        memory: usize,
    ) -> Result<Self, Error> {
        let structures = schema.design.structures.len();
        let found = schema
            .design
            .structures
            .get(usize::from(id))
            .zip(schema.layouts.get(usize::from(id)));
        let (structure, layout) = found.ok_or(StoreError::NoStructure {
            structure: id,
            structures,
        })?;
        let sorter = Sorter::new(folder, memory);
        Ok(Collector {
            model: &schema.model,
            structure,
            layout,
            sorter,
            bytes: Vec::new(),
        })
    }

    /// Adds what one anchor contributes: all of it, or nothing and the reason.
    pub(crate) fn add<F: Facts<Error = FactError>>(
        &mut self,
        facts: &F,
        anchor: &[Value],
    ) -> Result<(), Error> {
        let found = contribution(self.model, self.structure, facts, anchor)?;
        for (key, columns) in found.bindings {
            let encoded = self
                .layout
                .encode_key(&key)
                .map_err(|source| FactError::Key {
                    structure: self.structure.name.clone(),
                    source,
                })?;
            match self.structure.kind {
                Kind::Lists => {
                    let row = self.layout.encode_row(&key, &columns);
                    self.sorter.push(&encoded, &row)?;
                }
                Kind::Groups => {
                    let mut binding = columns;
                    binding.extend(self.layout.kept(&key));
                    self.bytes.clear();
                    encode_values(&binding, &mut self.bytes);
                    self.sorter.push(&encoded, &self.bytes)?;
                }
            }
        }
        Ok(())
    }

    /// The rows, by key.
    pub(crate) fn finish(self) -> Result<Expected<'s>, Error> {
        let sorted = self.sorter.finish()?;
        Ok(Expected {
            structure: self.structure,
            layout: self.layout,
            sorted,
            ahead: None,
        })
    }
}

/// Why a key that an anchor contributes to a structure is too long, if one is.
pub(crate) fn too_long<F: Facts<Error = FactError>>(
    schema: &Schema,
    id: StructureId,
    facts: &F,
    anchor: &[Value],
) -> Result<Option<String>, Error> {
    let mut structures = schema.design.structures.iter().zip(&schema.layouts);
    let Some((structure, layout)) = structures.nth(usize::from(id)) else {
        return Ok(None);
    };
    for (key, _) in contribution(&schema.model, structure, facts, anchor)?.bindings {
        if let Err(error @ KeyError::TooLong { .. }) = layout.encode_key(&key) {
            return Ok(Some(format!("{}: {error}", structure.name)));
        }
    }
    Ok(None)
}

/// A key and its row.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// The rows that a structure should hold, by key.
pub(crate) struct Expected<'s> {
    structure: &'s Structure,
    layout: &'s Layout,
    sorted: Sorted,
    /// The first binding behind the row that was given last.
    ahead: Option<Pair>,
}

impl Expected<'_> {
    /// The next row.
    pub(crate) fn next(&mut self) -> Result<Option<Pair>, Error> {
        let Some((key, first)) = self.pull()? else {
            return Ok(None);
        };
        let row = match self.structure.kind {
            Kind::Lists => {
                let mut row = first;
                while let Some(next) = self.pull_same(&key)? {
                    row = next;
                }
                row
            }
            Kind::Groups => {
                let mut group = Group::new(self.structure);
                let first = self.binding(&first)?;
                group.add(&first);
                // What the row keeps of its key stands behind the columns.
                let kept = first.get(self.structure.columns.len()..);
                while let Some(next) = self.pull_same(&key)? {
                    group.add(&self.binding(&next)?);
                }
                self.layout
                    .encode_kept(&group.row(), kept.unwrap_or_default())
            }
        };
        Ok(Some((key, row)))
    }

    fn binding(&self, bytes: &[u8]) -> Result<Vec<Value>, Error> {
        Ok(decode_values(bytes).map_err(|source| FactError::Row {
            structure: self.structure.name.clone(),
            source,
        })?)
    }

    fn pull(&mut self) -> Result<Option<Pair>, Error> {
        if let Some(pair) = self.ahead.take() {
            return Ok(Some(pair));
        }
        Ok(self
            .sorted
            .next()?
            .map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    fn pull_same(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.pull()? {
            Some((next, value)) if next == key => Ok(Some(value)),
            other => {
                self.ahead = other;
                Ok(None)
            }
        }
    }
}

/// One group, binding by binding: it need not fit into memory.
struct Group {
    columns: Vec<Column>,
    count: i64,
}

enum Column {
    Total(Accumulator),
    Copied(Value),
}

impl Group {
    fn new(structure: &Structure) -> Group {
        let columns = structure
            .columns
            .iter()
            .map(|column| match group_aggregate(column) {
                Some((a, _)) => Column::Total(Accumulator::new(a.function, a.distinct)),
                None => Column::Copied(Value::Null),
            });
        Group {
            columns: columns.collect(),
            count: 0,
        }
    }

    fn add(&mut self, binding: &[Value]) {
        self.count += 1;
        for (column, value) in self.columns.iter_mut().zip(binding) {
            match column {
                Column::Total(total) => total.add(value),
                Column::Copied(copy) => *copy = value.clone(),
            }
        }
    }

    fn row(self) -> Vec<Value> {
        let mut row: Vec<Value> = self
            .columns
            .into_iter()
            .map(|column| match column {
                Column::Total(total) => total.to_stored(),
                Column::Copied(copy) => copy,
            })
            .collect();
        row.push(Value::Int(self.count));
        row
    }
}
