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

use super::facts::{KeyLayouts, Origin};
use super::late::Late;
use super::long::Longest;
use super::numbering::Waiting;
use super::{InputError, Reject, RejectWriter, Sorter};
use crate::schema::Schema;
use crate::store::StoreError;
use crate::store::lmdb::{self, Lmdb};
use crate::{Database, Error};
use querent_compiler::model::EntityId;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The folder of a load within that of its database.
const LOADING: &str = "loading";

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
        /// Bytes so far, of all files.
        bytes: u64,
        /// Bytes of all files.
        of: u64,
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
    /// What was written is synced and takes the place of the old database.
    Finishing,
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
    /// The same for each file, in the order in which they were given.
    pub files: Vec<FileReport>,
    /// Seconds.
    pub seconds: f64,
    /// Whether the database was replaced.
    pub applied: bool,
}

/// What a load did with one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileReport {
    /// The file as it was named.
    pub file: String,
    /// The entity or link that it has rows of.
    pub entity: String,
    /// Rows read.
    pub read: u64,
    /// Rows that are in the database now.
    pub loaded: u64,
    /// Rows rejected.
    pub rejected: u64,
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

pub(super) struct Rejects {
    path: Option<PathBuf>,
    writer: Option<RejectWriter>,
    kept: Vec<Reject>,
    pub(super) count: u64,
}

impl Rejects {
    /// Counts a row, and keeps and writes why.
    pub(super) fn add(&mut self, reject: Reject) -> Result<(), Error> {
        self.count += 1;
        self.tell(reject)
    }

    /// Keeps and writes one more reason of a row that was counted.
    pub(super) fn tell(&mut self, reject: Reject) -> Result<(), Error> {
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
pub(super) struct Load<'a> {
    pub(super) schema: &'a Schema,
    pub(super) keys: KeyLayouts,
    pub(super) files: Vec<FileReport>,
    pub(super) folder: PathBuf,
    pub(super) options: &'a LoadOptions,
    pub(super) rejects: Rejects,
    pub(super) late: Late,
    /// By root and key: rows rejected before the facts are stored.
    pub(super) gone: Sorter,
    pub(super) longest: Longest,
    /// Rows read of all files.
    pub(super) read: u64,
    /// Bytes of files read, of the one that is being read excluded.
    pub(super) bytes: u64,
    /// Bytes of all files.
    pub(super) of_bytes: u64,
    /// When the load began: what expires counts from then.
    pub(super) now: i64,
    pub(super) progress: &'a mut dyn FnMut(Progress),
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
                .map(|(entity, path)| FileReport {
                    file: path.display().to_string(),
                    entity: schema.model.entity(*entity).name.clone(),
                    ..FileReport::default()
                })
                .collect(),
            folder: folder.clone(),
            options,
            rejects: Rejects {
                path: options.rejects.clone(),
                writer: None,
                kept: vec![],
                count: 0,
            },
            late: Late::new(&folder),
            gone: Sorter::new(&folder, 16 << 20),
            longest: Longest::default(),
            read: 0,
            bytes: 0,
            of_bytes: sources
                .iter()
                .filter_map(|(_, path)| std::fs::metadata(path).ok())
                .map(|file| file.len())
                .sum(),
            now,
            progress,
        };
        let mut outcome = load.run(self, sources);
        if outcome.is_ok()
            && let Err(error) = load.tell_late(sources)
        {
            outcome = Err(error);
        }
        let rejects = load.rejects;
        if let Some(writer) = rejects.writer {
            let path = options.rejects.clone().unwrap_or_default();
            writer.finish().map_err(|source| LoadError::Rejects {
                path: path.display().to_string(),
                source,
            })?;
        }
        let (read, mut files) = (load.read, load.files);
        clear(&folder)?;
        let (database, applied) = outcome?;
        for file in files.iter_mut().filter(|_| applied) {
            file.loaded = file.read - file.rejected;
        }
        let report = LoadReport {
            read,
            loaded: files.iter().map(|file| file.loaded).sum(),
            rejected: rejects.count,
            rejects: rejects.kept,
            files,
            seconds: start.elapsed().as_secs_f64(),
            applied,
        };
        Ok((database, report))
    }
}

fn clear(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(io("removing", folder, source))
        }
        _ => Ok(()),
    }
}

pub(super) fn io(what: &str, path: &Path, source: std::io::Error) -> Error {
    StoreError::Io {
        what: format!("{what} {}", path.display()),
        source,
    }
    .into()
}

/// One sorter per root; each has its share of the memory.
pub(super) type Sorters = Vec<(EntityId, Sorter)>;

impl Load<'_> {
    fn run(
        &mut self,
        database: Database<Lmdb>,
        sources: &[(EntityId, PathBuf)],
    ) -> Result<(Database<Lmdb>, bool), Error> {
        let roots: Vec<EntityId> = self.schema.model.roots().collect();
        let share = (self.options.memory / (roots.len() + 3)).max(1 << 20);
        let mut sorters: Sorters = roots
            .iter()
            .map(|&root| (root, Sorter::new(&self.folder, share)))
            .collect();
        let mut waiting = Waiting::new(self.schema, &self.folder, share);
        self.read_database(&database, &mut sorters, &mut waiting)?;
        for (file, (entity, path)) in sources.iter().enumerate() {
            self.read_file(*entity, path, file as u32, &mut sorters, &mut waiting)?;
        }
        self.number(waiting, &mut sorters)?;
        let options = lmdb::Options {
            sync: false,
            ..lmdb::Options::default()
        };
        // Facts of each root, and behind them those of each that are gone.
        let names = ["f", "g"].iter();
        let names: Vec<String> = names
            .flat_map(|kind| (0..roots.len()).map(move |i| format!("{kind}{i}")))
            .collect();
        let facts = Lmdb::create(self.folder.join("facts"), &names, &[], options)?;
        for (root, sorter) in sorters {
            self.store_facts(&facts, root, sorter)?;
        }
        self.store_gone(&facts)?;
        (self.progress)(Progress::Checking);
        self.check(&facts)?;
        if self.rejected() > 0 && self.options.all_or_nothing {
            return Ok((database, false));
        }
        self.number_popular_keys(&facts)?;
        let (schema, clock) = (Arc::clone(database.schema()), Arc::clone(database.clock()));
        let store = self.write(database, &facts)?;
        let database = Database::with_store(schema, store);
        Ok((database.with_clock(clock), true))
    }

    /// A place, for a remark in brackets.
    pub(super) fn place_text(&self, origin: Origin) -> String {
        match origin {
            Origin::Database => "the database".into(),
            Origin::File(file, line) => {
                let file = self.file_name(file);
                format!("{file}:{line}")
            }
        }
    }

    /// The name of a file, by position.
    pub(super) fn file_name(&self, file: u32) -> &str {
        let file = self.files.get(file as usize);
        file.map_or("", |file| file.file.as_str())
    }

    /// Rejects a row of a file whose text is known.
    pub(super) fn reject(&mut self, file: u32, reject: Reject) -> Result<(), Error> {
        if let Some(report) = self.files.get_mut(file as usize) {
            report.rejected += 1;
        }
        self.rejects.add(reject)
    }

    pub(super) fn origin_text(&self, origin: Origin) -> String {
        match origin {
            Origin::Database => "in the database already".into(),
            Origin::File(file, line) => {
                let file = self.file_name(file);
                format!("given already at {file}:{line}")
            }
        }
    }
}
