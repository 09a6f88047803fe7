//! The embedded store: one LMDB environment, one named database per structure.

mod build;
mod folder;
mod length;
mod reader;

pub use build::Building;
pub use reader::{LmdbReader, LmdbSnapshot, LmdbSource};

use super::write_set::check_key;
use super::writer::Writer;
use super::{Faults, Store, StoreError, Ticket, WriteSet};
use bumpalo::Bump;
use folder::{DATA, Locks, READERS};
use heed::types::Bytes;
use heed::{
    CommitOrAbort, CommitToken, Env, EnvFlags, EnvOpenOptions, MdbError, OnCommit, PutFlags, RoTxn,
    RwTxn, WithoutTls,
};
use querent_compiler::design::StructureId;
use reader::Idle;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What this version writes, and the only thing it reads.
pub const FORMAT: &str = "querent 1";
/// No more structures than this, each open database makes every transaction a little dearer (some
/// nanoseconds, [decision 0035](../../../../docs/decisions/0035-as-many-structures-as-pay.md)): as
/// many as a design for this store may have, and the one in which sequences count.
pub const MAX_STRUCTURES: usize = 256 + 1;

/// The database of the meta record; `@` is in no structure's name.
const META: &str = "@meta";
const META_FORMAT: &str = "format";
const META_STRUCTURES: &str = "structures";
/// Loads are committed in pieces, so that their dirty pages stay small in memory.
const LOAD_BYTES: usize = 16 << 20;
/// `EIO`, which the standard library has no kind for.
const IO_ERROR: i32 = 5;
/// How long a close waits for snapshots that are still held.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

type Database = heed::Database<'static, Bytes, Bytes>;

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The most that the data file may grow to. Address space only: the file is as large as its
    /// data. It is never changed while open, because that would invalidate what was lent.
    pub map_size: usize,
    /// The most snapshots at one moment, in all processes.
    pub max_readers: u32,
    /// Refuse changes; also lets a medium be read that cannot be written.
    pub read_only: bool,
    /// Acknowledge only what is on disk. Without it a crash of the machine may lose or damage the
    /// database: for data that can be made again, and for tests.
    pub sync: bool,
    /// Failures to inject.
    pub faults: Option<Arc<Faults>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            map_size: 1 << 40,
            max_readers: 510,
            read_only: false,
            sync: true,
            faults: None,
        }
    }
}

/// An open database.
#[derive(Debug)]
pub struct Lmdb {
    /// Before `shared`: what is queued is answered while the environment is still open.
    writer: Option<Writer>,
    shared: Arc<Shared>,
}

/// What readers and the writer share.
#[derive(Debug)]
pub(crate) struct Shared {
    env: Env<WithoutTls>,
    meta: Database,
    structures: Vec<Database>,
    names: Vec<String>,
    path: PathBuf,
    options: Options,
    poison: OnceLock<String>,
    locks: Locks,
    idle: Idle,
}

impl Lmdb {
    /// Creates a database in a folder that is empty or does not exist, with its meta record, in one
    /// transaction.
    pub fn create(
        path: impl AsRef<Path>,
        structures: &[String],
        meta: &[(&str, &[u8])],
        options: Options,
    ) -> Result<Lmdb, StoreError> {
        let path = path.as_ref();
        let locks = claim(path)?;
        create_environment(path, structures, meta, &options).map(drop)?;
        folder::sync_folder(path)?;
        Lmdb::with_locks(path, options, locks)
    }

    /// Opens a database.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Lmdb, StoreError> {
        let path = path.as_ref();
        let data = path.join(DATA);
        let found = std::fs::metadata(&data);
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let length = match found {
            Ok(found) if found.is_file() => found.len(),
            Err(source) if refused(&source) => {
                return Err(StoreError::Io {
                    what: format!("opening {}", data.display()),
                    source,
                });
            }
            _ => return Err(missing(path)),
        };
        // LMDB would take an empty file for a new one, and write to it.
        if length == 0 {
            return Err(unfit(path, format!("an empty {DATA}")));
        }
        let locks = if options.read_only {
            Locks::read(path)?
        } else {
            Locks::write(path)?
        };
        Lmdb::with_locks(path, options, locks)
    }

    /// The names of the structures, by position.
    pub fn structures(&self) -> &[String] {
        &self.shared.names
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Bytes of the data file that hold something (free pages included).
    pub fn disk_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.shared.env.real_disk_size()?)
    }

    /// How many rows a structure has.
    pub fn rows(&self, structure: StructureId) -> Result<u64, StoreError> {
        let txn = self.shared.env.read_txn()?;
        Ok(self.shared.structure(structure)?.len(&txn)?)
    }

    fn with_locks(path: &Path, options: Options, locks: Locks) -> Result<Lmdb, StoreError> {
        let env = open_environment(path, &options)?;
        check_length(&env, path)?;
        let (meta, names, structures) = open_databases(&env, path)?;
        let shared = Arc::new(Shared {
            env,
            meta,
            structures,
            names,
            path: path.to_owned(),
            options,
            poison: OnceLock::new(),
            locks,
            idle: Idle::default(),
        });
        let writer = if shared.options.read_only {
            None
        } else {
            Some(Writer::start(Arc::clone(&shared))?)
        };
        Ok(Lmdb { writer, shared })
    }

    /// Ends the writer and closes the environment; the locks stay. Refused while a snapshot is held.
    fn close(self) -> Result<(PathBuf, Locks), StoreError> {
        let Lmdb { writer, shared } = self;
        drop(writer);
        let held = |path: &Path| StoreError::Locked {
            path: path.display().to_string(),
            by: "a snapshot of this process",
            reading: true,
        };
        let Shared {
            env,
            path,
            locks,
            idle,
            ..
        } = Arc::try_unwrap(shared).map_err(|shared| held(&shared.path))?;
        drop(idle);
        if env.prepare_for_closing().wait_timeout(CLOSE_PATIENCE) {
            Ok((path, locks))
        } else {
            Err(held(&path))
        }
    }
}

impl Store for Lmdb {
    type Snapshot = LmdbSnapshot;
    type Reader<'t> = LmdbReader<'t>;

    fn snapshot(&self) -> Result<LmdbSnapshot, StoreError> {
        LmdbSnapshot::new(&self.shared)
    }

    fn reader(snapshot: &LmdbSnapshot) -> LmdbReader<'_> {
        snapshot.reader()
    }

    fn submit<T, E, F>(&self, job: F) -> Ticket<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: for<'t> FnMut(&LmdbReader<'t>) -> Result<(WriteSet, T), E> + Send + 'static,
    {
        match &self.writer {
            Some(writer) => writer.submit(job),
            None => Ticket::answered(Err(self.shared.read_only().into())),
        }
    }

    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let txn = self.shared.env.read_txn()?;
        Ok(self
            .shared
            .meta
            .get(&txn, name.as_bytes())?
            .map(<[u8]>::to_vec))
    }

    fn put_meta(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        if [META_FORMAT, META_STRUCTURES].contains(&name) || name.is_empty() {
            return Err(StoreError::ReservedMeta(name.to_owned()));
        }
        let mut txn = self.shared.write_txn()?;
        self.shared.meta.put(&mut txn, name.as_bytes(), value)?;
        self.shared.commit(txn)
    }

    fn load(
        &self,
        structure: StructureId,
        rows: &mut dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>), StoreError>>,
    ) -> Result<u64, StoreError> {
        self.shared.load(structure, rows)
    }
}

impl Shared {
    /// A view of a transaction.
    pub(crate) fn reader<'t>(&'t self, txn: &'t RoTxn<'t>, keys: &'t Bump) -> LmdbReader<'t> {
        LmdbReader {
            txn,
            structures: &self.structures,
            keys,
        }
    }

    pub(crate) fn write_txn(&self) -> Result<RwTxn<'_>, StoreError> {
        if self.options.read_only {
            return Err(self.read_only());
        }
        if let Some(why) = self.poison.get() {
            return Err(StoreError::Poisoned(why.clone()));
        }
        Ok(self.env.write_txn()?)
    }

    /// Whether all writes can be stored, before the first of them is.
    pub(crate) fn check(&self, writes: &WriteSet) -> Result<(), StoreError> {
        writes.check(self.structures.len())
    }

    /// Puts all writes; tells their bytes, at least 1 if there is a write.
    pub(crate) fn put_all(
        &self,
        txn: &mut RwTxn<'_>,
        writes: &WriteSet,
    ) -> Result<usize, StoreError> {
        let mut bytes = 0;
        for write in writes.iter() {
            self.faults(Faults::on_put)?;
            let database = self.structure(write.structure)?;
            bytes += write.key.len() + write.row.map_or(0, <[u8]>::len) + 1;
            match write.row {
                Some(row) => database.put(txn, write.key, row)?,
                None => database.delete(txn, write.key).map(drop)?,
            }
        }
        Ok(bytes)
    }

    /// Commits, synced. A failure that leaves doubt about the disk poisons the environment; a full
    /// disk does not: the pages that could not be written are no part of any committed state, and
    /// the next transaction writes its own again.
    pub(crate) fn commit(&self, txn: RwTxn<'_>) -> Result<(), StoreError> {
        let committed = match self.faults(Faults::on_commit) {
            Ok(()) => txn.commit().map_err(StoreError::from),
            Err(injected) => {
                txn.abort();
                Err(injected)
            }
        };
        if committed.is_ok() {
            self.idle.committed();
        }
        committed.map_err(|error| match error {
            StoreError::Full(_) => error,
            StoreError::Poisoned(why) => self.poisoned(why),
            other => self.poisoned(other.to_string()),
        })
    }

    fn load(
        &self,
        structure: StructureId,
        rows: &mut dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>), StoreError>>,
    ) -> Result<u64, StoreError> {
        let database = self.structure(structure)?;
        let mut txn = self.write_txn()?;
        if !database.is_empty(&txn)? {
            return Err(StoreError::Load {
                structure,
                why: "it has rows already",
            });
        }
        let (mut count, mut bytes) = (0, 0);
        for row in rows {
            let (key, row) = row?;
            check_key(structure, &key)?;
            self.faults(Faults::on_put)?;
            match database.put_with_flags(&mut txn, PutFlags::APPEND, &key, &row) {
                Err(heed::Error::Mdb(MdbError::KeyExist)) => {
                    return Err(StoreError::Load {
                        structure,
                        why: "rows are not sorted by key",
                    });
                }
                put => put?,
            }
            count += 1;
            bytes += key.len() + row.len();
            if bytes >= LOAD_BYTES {
                self.commit(txn)?;
                txn = self.write_txn()?;
                bytes = 0;
            }
        }
        self.commit(txn)?;
        Ok(count)
    }

    fn structure(&self, structure: StructureId) -> Result<&Database, StoreError> {
        self.structures
            .get(usize::from(structure))
            .ok_or(StoreError::NoStructure {
                structure,
                structures: self.structures.len(),
            })
    }

    fn faults(&self, on: impl Fn(&Faults) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.options.faults.as_deref().map_or(Ok(()), on)
    }

    fn poisoned(&self, why: String) -> StoreError {
        StoreError::Poisoned(self.poison.get_or_init(|| why).clone())
    }

    fn read_only(&self) -> StoreError {
        StoreError::ReadOnly {
            path: self.path.display().to_string(),
        }
    }
}

impl From<heed::Error> for StoreError {
    fn from(error: heed::Error) -> Self {
        match error {
            heed::Error::Mdb(MdbError::MapFull | MdbError::TxnFull) => {
                StoreError::Full(format!("{error}; open the database with a larger map"))
            }
            heed::Error::Io(io)
                if matches!(
                    io.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                StoreError::Full(io.to_string())
            }
            // A write that the disk had room for in part only is told like this by the engine.
            heed::Error::Io(io) if io.raw_os_error() == Some(IO_ERROR) => {
                StoreError::Engine(format!("{io}; the disk is full, or it fails"))
            }
            heed::Error::Mdb(MdbError::ReadersFull) => StoreError::Engine(
                "all reader slots are taken; close snapshots, or open with more readers".into(),
            ),
            other => StoreError::Engine(other.to_string()),
        }
    }
}

/// Makes the folder this process's to create a database in.
fn claim(path: &Path) -> Result<Locks, StoreError> {
    folder::make(path)?;
    let locks = Locks::write(path)?;
    if !folder::is_vacant(path)? {
        return Err(StoreError::Exists {
            path: path.display().to_string(),
        });
    }
    Ok(locks)
}

/// The databases of the structures, while their transaction is not committed.
struct Opening<'e>(Vec<heed::Database<'e, Bytes, Bytes>>);

impl OnCommit for Opening<'_> {
    type Committed = Vec<Database>;
    fn on_commit(self, token: &CommitToken) -> Vec<Database> {
        self.0
            .into_iter()
            .map(|database| database.on_commit(token))
            .collect()
    }
}

/// Creates all databases and the meta record in one transaction.
fn create_environment(
    path: &Path,
    structures: &[String],
    meta: &[(&str, &[u8])],
    options: &Options,
) -> Result<(), StoreError> {
    if structures.len() > MAX_STRUCTURES {
        return Err(StoreError::TooManyStructures {
            found: structures.len(),
            max: MAX_STRUCTURES,
        });
    }
    let names = serde_json::to_vec(structures).map_err(|e| StoreError::Engine(e.to_string()))?;
    folder::reserve_readers(path, options.max_readers)?;
    let env = open_environment(path, options)?;
    let txn = env.write_txn()?;
    env.create_databases_and_commit(txn, |opener, txn| -> Result<_, StoreError> {
        let record = opener.create_database::<Bytes, Bytes>(txn, Some(META))?;
        record.put(txn, META_FORMAT.as_bytes(), FORMAT.as_bytes())?;
        record.put(txn, META_STRUCTURES.as_bytes(), &names)?;
        for (name, value) in meta {
            record.put(txn, name.as_bytes(), value)?;
        }
        let mut databases = vec![record];
        for name in structures {
            databases.push(opener.create_database::<Bytes, Bytes>(txn, Some(name))?);
        }
        Ok(CommitOrAbort::<_, ()>::Commit(Opening(databases)))
    })?;
    env.prepare_for_closing().wait();
    Ok(())
}

type Opened = (Database, Vec<String>, Vec<Database>);

/// Opens the meta record, checks the format, then opens every structure that it names.
fn open_databases(env: &Env<WithoutTls>, path: &Path) -> Result<Opened, StoreError> {
    let format = |found: String| unfit(path, found);
    let [meta] = open_named(env, &[META.to_owned()])?
        .try_into()
        .map_err(|_| format("an LMDB environment without a meta record".into()))?;
    let txn = env.read_txn()?;
    let entry = |name: &str| {
        meta.get(&txn, name.as_bytes())?
            .ok_or_else(|| format(format!("a meta record without the entry \"{name}\"")))
    };
    let found = entry(META_FORMAT)?;
    if found != FORMAT.as_bytes() {
        return Err(format(format!("format \"{}\"", found.escape_ascii())));
    }
    let names: Vec<String> = serde_json::from_slice(entry(META_STRUCTURES)?)
        .map_err(|e| format(format!("a list of structures that is not JSON ({e})")))?;
    drop(txn);
    let structures = open_named(env, &names)?;
    if structures.len() < names.len() {
        let missing = names.get(structures.len()).map_or("", String::as_str);
        return Err(format(format!(
            "no database of the structure \"{missing}\""
        )));
    }
    Ok((meta, names, structures))
}

/// Something that is not what this version writes.
fn unfit(path: &Path, found: String) -> StoreError {
    StoreError::Format {
        path: path.display().to_string(),
        found,
        expected: format!("a database of format \"{FORMAT}\""),
    }
}

/// Refuses a file that was cut off, before anything behind its end is read.
fn check_length(env: &Env<WithoutTls>, path: &Path) -> Result<(), StoreError> {
    // What the latest state needs is not written over while this is held.
    let txn = env.read_txn()?;
    let pages = env.info().last_page_number as u64 + 1;
    let page = env.unnamed_database_stat().page_size as usize;
    let data = path.join(DATA);
    let found = File::open(&data).and_then(|mut file| {
        let bytes = length::too_short(&mut file, page, pages)?;
        Ok(bytes.map(|bytes| (file.metadata().map_or(0, |m| m.len()), bytes)))
    });
    drop(txn);
    let found = found.map_err(|source| StoreError::Io {
        what: format!("reading {}", data.display()),
        source,
    })?;
    match found {
        None => Ok(()),
        Some((found, expected)) => Err(StoreError::Format {
            path: path.display().to_string(),
            found: format!("a {DATA} of {found} bytes"),
            expected: format!(
                "{expected}, as its last change left it: the file was cut off, restore it from a backup"
            ),
        }),
    }
}

/// There is no database, and why.
fn missing(path: &Path) -> StoreError {
    let why = if path.is_dir() {
        format!("the folder has no {DATA}")
    } else if path.exists() {
        "it is not a folder".into()
    } else {
        "the folder does not exist; `querent create` makes one".into()
    };
    StoreError::Missing {
        path: path.display().to_string(),
        why,
    }
}

/// Opens databases by name, up to the first that does not exist.
fn open_named(env: &Env<WithoutTls>, names: &[String]) -> Result<Vec<Database>, StoreError> {
    let txn = env.read_txn()?;
    let opened = env.open_databases_and_commit(txn, |opener, txn| -> Result<_, StoreError> {
        let mut databases = Vec::with_capacity(names.len());
        for name in names {
            match opener.open_database::<Bytes, Bytes>(txn, Some(name))? {
                Some(database) => databases.push(database),
                None => break,
            }
        }
        Ok(CommitOrAbort::<_, ()>::Commit(Opening(databases)))
    })?;
    Ok(opened.commit().unwrap_or_default())
}

#[expect(
    unsafe_code,
    reason = "heed leaves it to the caller that nobody else alters the file"
)]
fn open_environment(path: &Path, options: &Options) -> Result<Env<WithoutTls>, StoreError> {
    let mut flags = EnvFlags::empty();
    if options.read_only {
        flags |= EnvFlags::READ_ONLY;
    }
    if !options.sync {
        flags |= EnvFlags::NO_SYNC;
    }
    let mut builder = EnvOpenOptions::new().read_txn_without_tls();
    builder
        .map_size(options.map_size.next_multiple_of(1 << 16))
        .max_readers(options.max_readers)
        .max_dbs(MAX_STRUCTURES as u32 + 1);
    // SAFETY: the map is sound while the file changes only through LMDB and is never shortened.
    // The data file lives in a folder of its own that says so in `docs/src/format.md`; this crate
    // replaces it only by a rename (the old file stays whole for those who have it mapped) and only
    // while it holds `use.lock` alone. The map is never resized. NO_SYNC and READ_ONLY do not bear
    // on memory: the first risks what a crash of the machine leaves behind, which is read as
    // untrusted bytes like everything else.
    let opened = unsafe {
        builder.flags(flags);
        builder.open(path)
    };
    opened.map_err(|error| open_error(error, path, options))
}

fn open_error(error: heed::Error, path: &Path, options: &Options) -> StoreError {
    let shown = path.display().to_string();
    match error {
        heed::Error::Mdb(MdbError::Invalid | MdbError::Corrupted) => {
            unfit(path, format!("a {DATA} that is not LMDB's"))
        }
        heed::Error::Mdb(MdbError::VersionMismatch) => {
            unfit(path, "an environment of another LMDB version".into())
        }
        heed::Error::EnvAlreadyOpened => StoreError::Locked {
            path: shown,
            by: "another handle of this process",
            reading: true,
        },
        heed::Error::Io(source) if source.kind() == io::ErrorKind::OutOfMemory => StoreError::Io {
            what: format!(
                "mapping {} bytes of address space for {shown}; open it with a smaller map",
                options.map_size
            ),
            source,
        },
        heed::Error::Io(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            StoreError::Io {
                what: refused_file(path, options),
                source,
            }
        }
        heed::Error::Io(source) => StoreError::Io {
            what: format!("opening {shown}"),
            source,
        },
        other => StoreError::from(other),
    }
}

/// Which file it is that this process may not open: the engine says only that there is one.
fn refused_file(path: &Path, options: &Options) -> String {
    let (data, table) = (path.join(DATA), path.join(READERS));
    let mut as_opened = std::fs::OpenOptions::new();
    as_opened.read(true).write(!options.read_only);
    if as_opened.open(&data).is_err() {
        format!("opening {}", data.display())
    } else {
        format!(
            "opening {} to write, as those do who only read",
            table.display()
        )
    }
}
