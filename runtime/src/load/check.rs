//! Rows that may not stay are taken out of the facts of a load.

use super::Sorter;
use super::bulk::Load;
use super::facts::{KeyLayouts, LoadFacts, Origin, decode};
use crate::Error;
use crate::store::lmdb::{self, Lmdb};
use crate::store::{ChangeError, Store, StoreError, WriteSet};
use crate::text::instance_text;
use crate::verify::{concrete, references, slot_name, unique_key, unique_values};
use querent_compiler::model::{EntityId, Field, Type};
use querent_compiler::value::Value;

impl Load<'_> {
    /// Takes out rows whose references lead nowhere, until all lead somewhere; then rows that
    /// share what is unique or have too long a key, which may again leave references that lead
    /// nowhere.
    pub(super) fn check(&mut self, facts: &Lmdb) -> Result<(), Error> {
        while self.take_dangling(facts)? {}
        let shared = self.take_shared(facts)?;
        if self.take_long(facts)? || shared {
            while self.take_dangling(facts)? {}
        }
        Ok(())
    }

    fn take_dangling(&mut self, facts: &Lmdb) -> Result<bool, Error> {
        let schema = self.schema;
        let model = &schema.model;
        let mut any = false;
        for root in model.roots() {
            let mut out = Vec::new();
            let keys = KeyLayouts::new(model);
            let snapshot = facts.snapshot()?;
            let known = LoadFacts::new(schema, &keys, &snapshot, None);
            let mut rows = known.all(root)?;
            while let Some((place, bytes)) = rows.next()? {
                let (origin, row) = decode(bytes)?;
                if let Some(reason) = self.dangling(&known, root, &row)? {
                    any = true;
                    self.reject_row(origin, root, &row, &reason)?;
                    out.push((place.to_vec(), origin));
                }
            }
            self.take_out(facts, root, &out)?;
        }
        Ok(any)
    }

    fn take_shared(&mut self, facts: &Lmdb) -> Result<bool, Error> {
        let schema = self.schema;
        let model = &schema.model;
        let mut any = false;
        for root in model.roots() {
            let mut sorter = Sorter::new(&self.folder, self.options.memory / 2);
            let keys = KeyLayouts::new(model);
            let snapshot = facts.snapshot()?;
            let known = LoadFacts::new(schema, &keys, &snapshot, None);
            let mut rows = known.all(root)?;
            while let Some((place, bytes)) = rows.next()? {
                let (origin, row) = decode(bytes)?;
                let (file, line) = match origin {
                    Origin::Database => (0, 0),
                    Origin::File(file, line) => (file + 1, line),
                };
                for (field, value) in unique_values(model, root, &row) {
                    let mut entry = unique_key(field, value);
                    let width = entry.len() as u32;
                    // The earlier one stays.
                    entry.extend(file.to_be_bytes());
                    entry.extend(line.to_be_bytes());
                    let mut owner = width.to_be_bytes().to_vec();
                    owner.extend(place);
                    sorter.push(&entry, &owner)?;
                }
            }
            drop(rows);
            let mut sorted = sorter.finish()?;
            let mut first: Option<(Vec<u8>, Origin)> = None;
            let mut out = Vec::new();
            while let Some((entry, owner)) = sorted.next()? {
                let width = owner.first_chunk().map_or(0, |b| u32::from_be_bytes(*b)) as usize;
                let value = entry.get(..width).unwrap_or_default();
                let place = owner.get(4..).unwrap_or_default();
                let origin = entry.get(width..).map_or(Origin::Database, origin_of);
                match &first {
                    Some((known, other)) if known == value => {
                        any = true;
                        let reason = format!(
                            "{} is declared unique, and its value is {}",
                            unique_name(model, value),
                            self.origin_text(*other)
                        );
                        self.reject_at(origin, &reason)?;
                        out.push((place.to_vec(), origin));
                    }
                    _ => first = Some((value.to_vec(), origin)),
                }
            }
            out.sort();
            out.dedup();
            self.take_out(facts, root, &out)?;
        }
        Ok(any)
    }

    /// The first reference of a row that leads nowhere, in words.
    fn dangling(
        &self,
        facts: &LoadFacts<'_>,
        root: EntityId,
        row: &[Value],
    ) -> Result<Option<String>, Error> {
        let model = &facts.schema.model;
        for (slot, (field, value)) in model.root(root).fields.iter().zip(row).enumerate() {
            let mut targets = Vec::new();
            match field {
                Field::Reference(r) => {
                    references(&Type::Key(model.reference(*r).target), value, &mut targets);
                }
                Field::Attribute(a) => references(&model.attribute(*a).ty, value, &mut targets),
                Field::Type => {}
            }
            for (target, key) in targets {
                let of = model.entity(target).root;
                let found = facts.row(of, &key)?;
                let missing = found.is_none();
                let leads = found.is_some_and(|row| {
                    concrete(model, of, &row).is_some_and(|c| model.is_a(c, target))
                });
                if leads {
                    continue;
                }
                let mut name = instance_text(model, of, &key);
                if target != of {
                    name = format!("{name} as {}", model.entity(target).name);
                }
                let gone = if missing { facts.gone(of, &key)? } else { None };
                let why = match gone {
                    Some(origin) => format!("was rejected ({})", self.place_text(origin)),
                    None => "does not exist".to_owned(),
                };
                return Ok(Some(format!(
                    "{}: found {name}, which {why}",
                    slot_name(model, root, slot)
                )));
            }
        }
        Ok(None)
    }
}

/// Changes the facts of the load.
pub(super) fn change_facts(facts: &Lmdb, writes: WriteSet) -> Result<(), Error> {
    let job = move |_: &lmdb::LmdbReader<'_>| -> Result<_, StoreError> { Ok((writes.clone(), ())) };
    facts.change(job).map_err(|error| match error {
        ChangeError::Refused(error) | ChangeError::Store(error) => error,
    })?;
    Ok(())
}

fn origin_of(bytes: &[u8]) -> Origin {
    match bytes {
        [a, b, c, d, line @ ..] => match u32::from_be_bytes([*a, *b, *c, *d]) {
            0 => Origin::Database,
            file => Origin::File(
                file - 1,
                line.first_chunk().map_or(0, |b| u64::from_be_bytes(*b)),
            ),
        },
        _ => Origin::Database,
    }
}

fn unique_name(model: &querent_compiler::model::Model, key: &[u8]) -> String {
    use querent_compiler::model::{AttributeId, ReferenceId};
    match key {
        [0, a, b, c, d, ..] => model
            .attribute(AttributeId(u32::from_be_bytes([*a, *b, *c, *d])))
            .name
            .clone(),
        [_, a, b, c, d, ..] => model
            .reference(ReferenceId(u32::from_be_bytes([*a, *b, *c, *d])))
            .name
            .clone(),
        _ => String::new(),
    }
}
