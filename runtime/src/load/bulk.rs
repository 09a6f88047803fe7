//! Bulk load: files in, a fresh database in the place of the old one, or nothing.
//!
//! ```text
//! files, old homes ──sort──▶ fact rows by key ──check──▶ fact rows that may stay
//!                                                            │ contribution, sort
//!                                                            ▼
//!                                          every structure of a fresh environment ──rename──▶
//! ```
//! The facts live in a folder beside the data until the load ends. Interrupted at any point, the
//! old database is as it was, and the next load removes what was left.

use super::facts::{KeyLayouts, LoadFacts, Origin, decode, encode};
use super::{Input, InputError, Reject, RejectWriter, Sorter};
use crate::facts::StoreFacts;
use crate::recompute::{Collector, Expected, ReferrerSorter};
use crate::schema::Schema;
use crate::store::lmdb::{self, Building, Lmdb};
use crate::store::{ChangeError, META_DESIGN, META_MODEL, Phase, Store, StoreError, WriteSet};
use crate::verify::{
    Numbers, StoredRows, concrete, instance_text, is_a, last_number, references, sequence_layout,
    slot_name, unique_key, unique_values,
};
use crate::{Database, Error};
use querent_compiler::design::StructureId;
use querent_compiler::model::{EntityId, Field, Type};
use querent_compiler::value::Value;
use querent_compiler::view::facts::key_of_row;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The folder of a load within that of its database.
const LOADING: &str = "loading";
/// Rejected rows are taken out in changes of so many.
const BATCH: usize = 1000;

/// How files are loaded.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Load nothing where a row is rejected; otherwise load the others.
    pub all_or_nothing: bool,
    /// A row whose key is in the database takes the place of what is there; otherwise it is rejected.
    pub replace: bool,
    /// Bytes of memory for sorting; what is beyond goes to disk.
    pub memory: usize,
    /// A CSV file for rejected rows. It is written only where there are some.
    pub rejects: Option<PathBuf>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            all_or_nothing: true,
            replace: false,
            memory: 256 << 20,
            rejects: None,
        }
    }
}

/// How far a load is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Rows read of a file.
    Reading {
        /// File.
        file: String,
        /// Rows so far, of all files.
        rows: u64,
    },
    /// References and unique values are checked.
    Checking,
    /// A structure is written.
    Writing {
        /// Structure.
        structure: String,
        /// Its position, from 1.
        number: usize,
        /// How many there are.
        of: usize,
    },
}

/// What a load did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadReport {
    /// Rows read from files.
    pub read: u64,
    /// Rows that are in the database now.
    pub loaded: u64,
    /// Rows rejected.
    pub rejected: u64,
    /// The first of them.
    pub rejects: Vec<Reject>,
    /// Seconds.
    pub seconds: f64,
    /// Whether the database was replaced.
    pub applied: bool,
}

/// What may go wrong in a load as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The file of rejects.
    #[error("the rejects cannot be written to {path}: {source}")]
    Rejects {
        /// File.
        path: String,
        /// Cause.
        source: std::io::Error,
    },
}

/// Rejects kept in the report.
const KEPT: usize = 1000;

struct Rejects {
    path: Option<PathBuf>,
    writer: Option<RejectWriter>,
    kept: Vec<Reject>,
    count: u64,
}

impl Rejects {
    fn add(&mut self, reject: Reject) -> Result<(), Error> {
        self.count += 1;
        if let Some(path) = &self.path {
            let failed = |source| LoadError::Rejects {
                path: path.display().to_string(),
                source,
            };
            if self.writer.is_none() {
                self.writer = Some(RejectWriter::create(path).map_err(failed)?);
            }
            if let Some(writer) = &mut self.writer {
                writer.write(&reject).map_err(failed)?;
            }
        }
        if self.kept.len() < KEPT {
            self.kept.push(reject);
        }
        Ok(())
    }
}

/// A load in work.
struct Load<'a> {
    schema: &'a Schema,
    keys: KeyLayouts,
    files: Vec<String>,
    folder: PathBuf,
    options: &'a LoadOptions,
    rejects: Rejects,
    read: u64,
    now: i64,
    progress: &'a mut dyn FnMut(Progress),
}

impl Database<Lmdb> {
    /// Loads files of entities and links, in any order: rows may refer to rows of other files and
    /// of the database. The database is replaced as a whole; it comes back as it was where
    /// `LoadReport::applied` is false.
    pub fn load(
        self,
        sources: &[(EntityId, PathBuf)],
        options: &LoadOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Self, LoadReport), Error> {
        let start = Instant::now();
        // The place of what has expired is free.
        self.refresh()?;
        let now = self.clock().now();
        let schema = Arc::clone(self.schema());
        let folder = self.store().path().join(LOADING);
        clear(&folder)?;
        std::fs::create_dir(&folder).map_err(|source| io("creating", &folder, source))?;
        let mut load = Load {
            schema: &schema,
            keys: KeyLayouts::new(&schema.model),
            files: sources
                .iter()
                .map(|(_, path)| path.display().to_string())
                .collect(),
            folder: folder.clone(),
            options,
            rejects: Rejects {
                path: options.rejects.clone(),
                writer: None,
                kept: vec![],
                count: 0,
            },
            read: 0,
            now,
            progress,
        };
        let outcome = load.run(self, sources);
        let rejects = load.rejects;
        if let Some(writer) = rejects.writer {
            let path = options.rejects.clone().unwrap_or_default();
            writer.finish().map_err(|source| LoadError::Rejects {
                path: path.display().to_string(),
                source,
            })?;
        }
        let read = load.read;
        clear(&folder)?;
        let (database, applied) = outcome?;
        let report = LoadReport {
            read,
            loaded: if applied { read - rejects.count } else { 0 },
            rejected: rejects.count,
            rejects: rejects.kept,
            seconds: start.elapsed().as_secs_f64(),
            applied,
        };
        Ok((database, report))
    }
}

/// A numbered attribute of the row's type without a number.
fn unnumbered(schema: &Schema, root: EntityId, row: &[Value]) -> Option<usize> {
    let model = &schema.model;
    let of = concrete(model, root, row)?;
    let slots = schema
        .sequence_slots(root)
        .into_iter()
        .map(|(slot, _)| slot);
    slots
        .filter(|&slot| row.get(slot).is_some_and(Value::is_null))
        .find(|&slot| match model.root(root).fields.get(slot) {
            Some(Field::Attribute(a)) => is_a(model, of, model.attribute(*a).entity),
            _ => false,
        })
}

fn clear(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(io("removing", folder, source))
        }
        _ => Ok(()),
    }
}

fn io(what: &str, path: &Path, source: std::io::Error) -> Error {
    StoreError::Io {
        what: format!("{what} {}", path.display()),
        source,
    }
    .into()
}

/// One sorter per root; each has its share of the memory.
type Sorters = Vec<(EntityId, Sorter)>;

impl Load<'_> {
    fn run(
        &mut self,
        database: Database<Lmdb>,
        sources: &[(EntityId, PathBuf)],
    ) -> Result<(Database<Lmdb>, bool), Error> {
        let roots: Vec<EntityId> = self.schema.model.roots().collect();
        let share = (self.options.memory / (roots.len() + 2)).max(1 << 20);
        let mut sorters: Sorters = roots
            .iter()
            .map(|&root| (root, Sorter::new(&self.folder, share)))
            .collect();
        self.read_database(&database, &mut sorters)?;
        for (file, (entity, path)) in sources.iter().enumerate() {
            self.read_file(*entity, path, file as u32, &mut sorters)?;
        }
        let options = lmdb::Options {
            sync: false,
            ..lmdb::Options::default()
        };
        let names: Vec<String> = (0..roots.len()).map(|i| format!("f{i}")).collect();
        let facts = Lmdb::create(self.folder.join("facts"), &names, &[], options)?;
        for (root, sorter) in sorters {
            self.store_facts(&facts, root, sorter)?;
        }
        (self.progress)(Progress::Checking);
        self.check(&facts)?;
        if self.rejects.count > 0 && self.options.all_or_nothing {
            return Ok((database, false));
        }
        let (schema, clock) = (Arc::clone(database.schema()), Arc::clone(database.clock()));
        let store = self.write(database, &facts)?;
        let database = Database::with_store(schema, store);
        Ok((database.with_clock(clock), true))
    }

    fn place(&self, root: EntityId, row: &[Value]) -> Result<Vec<u8>, String> {
        self.keys
            .encode(root, &key_of_row(&self.schema.model, root, row))
    }

    /// What the database has already.
    fn read_database(
        &mut self,
        database: &Database<Lmdb>,
        sorters: &mut Sorters,
    ) -> Result<(), Error> {
        let snapshot = database.store().snapshot()?;
        let reader = snapshot.reader();
        for (root, sorter) in sorters {
            let Some(&home) = self.schema.access.homes.get(root).and_then(|h| h.first()) else {
                continue;
            };
            let mut rows = StoredRows::new(&reader, home)?;
            let (Some(layout), Some(structure)) = (
                self.schema.layouts.get(usize::from(home)),
                self.schema.design.structures.get(usize::from(home)),
            ) else {
                continue;
            };
            let paths = querent_compiler::design::key_paths(&self.schema.model, *root);
            let positions: Vec<usize> = paths
                .iter()
                .filter_map(|p| structure.key().position(|e| e == p))
                .collect();
            while let Some((key, _)) = rows.next()? {
                let damaged = |source| crate::facts::FactError::Row {
                    structure: structure.name.clone(),
                    source,
                };
                let parts = layout.decode_key(key).map_err(damaged)?;
                let key: Vec<Value> = positions
                    .iter()
                    .map(|&p| parts.get(p).cloned().unwrap_or_default())
                    .collect();
                // Nothing is remembered from one instance to the next.
                let Some(row) = StoreFacts::new(self.schema, &reader).row(*root, &key)? else {
                    continue;
                };
                if let Ok(place) = self.place(*root, &row) {
                    sorter.push(&place, &encode(Origin::Database, &row))?;
                }
            }
        }
        Ok(())
    }

    fn read_file(
        &mut self,
        entity: EntityId,
        path: &Path,
        file: u32,
        sorters: &mut Sorters,
    ) -> Result<(), Error> {
        let model = &self.schema.model;
        let root = model.entity(entity).root;
        let Some((_, sorter)) = sorters.iter_mut().find(|(r, _)| *r == root) else {
            return Ok(());
        };
        let name = path.display().to_string();
        for row in Input::open(model, entity, path).map_err(LoadError::from)? {
            let row = row.map_err(LoadError::from)?;
            self.read += 1;
            if self.read.is_multiple_of(10_000) {
                (self.progress)(Progress::Reading {
                    file: name.clone(),
                    rows: self.read,
                });
            }
            let reject = |reason: String| Reject {
                file: name.clone(),
                line: row.line,
                reason,
                text: String::new(),
            };
            let values = match row.row {
                Ok(mut values) => {
                    self.schema.set_deadline(root, &mut values, self.now);
                    values
                }
                Err(reject) => {
                    self.rejects.add(reject)?;
                    continue;
                }
            };
            if let Some(slot) = unnumbered(self.schema, root, &values) {
                let reason = format!(
                    "{}: found nothing, expected a number: give those of a sequence in the file",
                    slot_name(model, root, slot)
                );
                self.rejects.add(reject(reason))?;
                continue;
            }
            match self.keys.encode(root, &key_of_row(model, root, &values)) {
                Ok(place) => sorter.push(&place, &encode(Origin::File(file, row.line), &values))?,
                Err(reason) => self.rejects.add(reject(reason))?,
            }
        }
        (self.progress)(Progress::Reading {
            file: name,
            rows: self.read,
        });
        Ok(())
    }

    fn reject_at(&mut self, origin: Origin, reason: String) -> Result<(), Error> {
        let Origin::File(file, line) = origin else {
            return Ok(());
        };
        let file = self.files.get(file as usize).cloned().unwrap_or_default();
        self.rejects.add(Reject {
            file,
            line,
            reason,
            text: String::new(),
        })
    }

    fn origin_text(&self, origin: Origin) -> String {
        match origin {
            Origin::Database => "in the database already".into(),
            Origin::File(file, line) => {
                let file = self.files.get(file as usize).map_or("", String::as_str);
                format!("given already at {file}:{line}")
            }
        }
    }

    /// Writes the fact rows of a root, each key once.
    fn store_facts(&mut self, facts: &Lmdb, root: EntityId, sorter: Sorter) -> Result<(), Error> {
        let mut sorted = sorter.finish()?;
        let mut ahead: Option<(Vec<u8>, Vec<u8>)> = None;
        let mut failed: Option<Error> = None;
        let structure = self.keys.structure(root);
        let mut next = || -> Result<Option<(Vec<u8>, Vec<u8>)>, Error> {
            loop {
                let pair = sorted
                    .next()?
                    .map(|(key, value)| (key.to_vec(), value.to_vec()));
                let Some((key, value)) = pair else {
                    return Ok(ahead.take());
                };
                match &mut ahead {
                    Some((known, first)) if *known == key => {
                        let (origin, row) = decode(&value)?;
                        let other = decode(first)?.0;
                        if other == Origin::Database && self.options.replace {
                            *first = value;
                            continue;
                        }
                        let instance = instance_text(
                            &self.schema.model,
                            root,
                            &key_of_row(&self.schema.model, root, &row),
                        );
                        let reason = format!("{instance} is {}", self.origin_text(other));
                        self.reject_at(origin, reason)?;
                    }
                    _ => {
                        if let Some(done) = ahead.replace((key, value)) {
                            return Ok(Some(done));
                        }
                    }
                }
            }
        };
        let mut rows = std::iter::from_fn(|| match next() {
            Ok(pair) => pair.map(Ok),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        facts.load(structure, &mut rows)?;
        failed.map_or(Ok(()), Err)
    }

    /// Takes out rows whose references lead nowhere, until all lead somewhere; then rows that
    /// share what is unique, which may again leave references that lead nowhere.
    fn check(&mut self, facts: &Lmdb) -> Result<(), Error> {
        while self.take_dangling(facts)? {}
        if self.take_shared(facts)? {
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
                if let Some(reason) = dangling(&known, root, &row)? {
                    any = true;
                    if origin == Origin::Database {
                        // Only where the database was damaged before, or a row was replaced by one
                        // of another type.
                        let instance = instance_text(model, root, &key_of_row(model, root, &row));
                        let reject = Reject {
                            file: "the database".into(),
                            line: 0,
                            reason: format!("{instance}: {reason}"),
                            text: String::new(),
                        };
                        self.rejects.add(reject)?;
                    } else {
                        self.reject_at(origin, reason)?;
                    }
                    out.push(place.to_vec());
                }
            }
            take_out(facts, keys.structure(root), &out)?;
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
                        self.reject_at(origin, reason)?;
                        out.push(place.to_vec());
                    }
                    _ => first = Some((value.to_vec(), origin)),
                }
            }
            out.sort();
            out.dedup();
            take_out(facts, keys.structure(root), &out)?;
        }
        Ok(any)
    }

    /// Writes every structure of the fresh database and puts it in place.
    fn write(&mut self, database: Database<Lmdb>, facts: &Lmdb) -> Result<Lmdb, Error> {
        let schema = self.schema;
        let old = database.into_store();
        let mut meta = Vec::new();
        for name in [META_MODEL, META_DESIGN] {
            meta.push((name, old.meta(name)?.unwrap_or_default()));
        }
        let meta: Vec<(&str, &[u8])> = meta
            .iter()
            .map(|(name, value)| (*name, value.as_slice()))
            .collect();
        let snapshot = facts.snapshot()?;
        let share = self.options.memory / 2;
        let mut referrers = ReferrerSorter::new(schema, &self.folder, share);
        let mut numbers = Numbers::new(&self.folder, share / 4);
        let known = LoadFacts::new(schema, &self.keys, &snapshot, None);
        for root in schema.model.roots() {
            let mut rows = known.all(root)?;
            while let Some((_, bytes)) = rows.next()? {
                let row = decode(bytes)?.1;
                referrers.add(schema, root, &key_of_row(&schema.model, root, &row), &row)?;
                numbers.add(schema, root, &row)?;
            }
        }
        add_counters(schema, &old, &mut numbers)?;
        let referrers = referrers.finish(&self.folder)?;
        let building = Building::replace(old, &schema.structure_names(), &meta)?;
        let of = schema.design.structures.len();
        for (id, structure) in schema.design.structures.iter().enumerate() {
            (self.progress)(Progress::Writing {
                structure: structure.name.clone(),
                number: id + 1,
                of,
            });
            let root = schema.model.entity(structure.anchor).root;
            let known = LoadFacts::new(schema, &self.keys, &snapshot, Some(&referrers));
            let mut collector =
                Collector::new(schema, id as StructureId, &self.folder, self.options.memory)?;
            let mut rows = known.all(root)?;
            while let Some((_, bytes)) = rows.next()? {
                let row = decode(bytes)?.1;
                let key = key_of_row(&schema.model, root, &row);
                known.remember(root, &key, row);
                collector.add(&known, &key)?;
            }
            fill(&building, id as StructureId, collector.finish()?)?;
        }
        let mut largest = numbers.finish()?;
        let mut failed = None;
        let mut rows = std::iter::from_fn(|| match largest.next() {
            Ok(pair) => pair.and_then(|(key, last)| {
                sequence_layout(schema)
                    .map(|layout| Ok((key, layout.encode_row(&[Value::Int(last)]))))
            }),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        building.load(schema.sequences(), &mut rows)?;
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(building.finish()?)
    }
}

fn fill(building: &Building, id: StructureId, mut expected: Expected<'_>) -> Result<(), Error> {
    let mut failed = None;
    let mut rows = std::iter::from_fn(|| match expected.next() {
        Ok(pair) => pair.map(Ok),
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    building.load(id, &mut rows)?;
    failed.map_or(Ok(()), Err)
}

/// Counters of the old database go on where they were.
fn add_counters(schema: &Schema, old: &Lmdb, numbers: &mut Numbers) -> Result<(), Error> {
    let Some(layout) = sequence_layout(schema) else {
        return Ok(());
    };
    let snapshot = old.snapshot()?;
    let mut rows = StoredRows::new(&snapshot.reader(), schema.sequences())?;
    while let Some((key, row)) = rows.next()? {
        if let Some(last) = last_number(layout, row) {
            numbers.add_counter(key, last)?;
        }
    }
    Ok(())
}

fn take_out(facts: &Lmdb, structure: StructureId, places: &[Vec<u8>]) -> Result<(), Error> {
    for batch in places.chunks(BATCH) {
        let batch = batch.to_vec();
        let job = move |_: &lmdb::LmdbReader<'_>| -> Result<_, StoreError> {
            let mut writes = WriteSet::new();
            batch
                .iter()
                .for_each(|place| writes.delete(Phase::Homes, structure, place.clone()));
            Ok((writes, ()))
        };
        facts.change(job).map_err(|error| match error {
            ChangeError::Refused(error) | ChangeError::Store(error) => error,
        })?;
    }
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

/// The first reference of a row that leads nowhere, in words.
fn dangling(facts: &LoadFacts<'_>, root: EntityId, row: &[Value]) -> Result<Option<String>, Error> {
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
            let leads = found.is_some_and(|row| {
                concrete(model, of, &row).is_some_and(|c| is_a(model, c, target))
            });
            if !leads {
                let mut name = instance_text(model, of, &key);
                if target != of {
                    name = format!("{name} as {}", model.entity(target).name);
                }
                return Ok(Some(format!(
                    "{}: found {name}, which does not exist",
                    slot_name(model, root, slot)
                )));
            }
        }
    }
    Ok(None)
}
