//! Load or nothing: a fresh environment is built beside the old one and takes its place by a rename.

use super::folder::{self, BUILDING, DATA, Locks};
use super::{Lmdb, Options, claim, create_environment};
use crate::store::{Store, StoreError};
use querent_compiler::design::StructureId;
use std::path::PathBuf;

/// A database that is being built. Dropped before [`Building::finish`], it leaves everything as it
/// was, but for a folder that the next build removes.
#[derive(Debug)]
pub struct Building {
    /// What it will replace.
    old: Old,
    fresh: Lmdb,
    options: Options,
}

#[derive(Debug)]
enum Old {
    Open(Box<Lmdb>),
    Nothing(PathBuf, Locks),
}

impl Building {
    /// Builds a database in a folder that is empty or does not exist.
    pub fn create(
        path: impl Into<PathBuf>,
        structures: &[String],
        meta: &[(&str, &[u8])],
        options: Options,
    ) -> Result<Building, StoreError> {
        let path = path.into();
        let locks = claim(&path)?;
        Building::start(Old::Nothing(path, locks), structures, meta, options)
    }

    /// Builds what will replace an open database, which can be read meanwhile.
    pub fn replace(
        old: Lmdb,
        structures: &[String],
        meta: &[(&str, &[u8])],
    ) -> Result<Building, StoreError> {
        let options = old.shared.options.clone();
        if options.read_only {
            return Err(old.shared.read_only());
        }
        Building::start(Old::Open(Box::new(old)), structures, meta, options)
    }

    /// The database that will be replaced.
    pub fn old(&self) -> Option<&Lmdb> {
        match &self.old {
            Old::Open(old) => Some(old),
            Old::Nothing(..) => None,
        }
    }

    /// Fills a structure with rows sorted by key.
    pub fn load(
        &self,
        structure: StructureId,
        rows: &mut dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>), StoreError>>,
    ) -> Result<u64, StoreError> {
        self.fresh.load(structure, rows)
    }

    /// Sets an entry of the meta record.
    pub fn put_meta(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        self.fresh.put_meta(name, value)
    }

    /// Syncs what was built, puts it in place and opens it. Snapshots of the old database must be
    /// gone, in this process and in others.
    pub fn finish(self) -> Result<Lmdb, StoreError> {
        let Building {
            old,
            fresh,
            options,
        } = self;
        fresh.shared.env.force_sync()?;
        let (built, _) = fresh.close()?;
        folder::sync_folder(&built)?;
        let (path, locks) = match old {
            Old::Open(old) => old.close()?,
            Old::Nothing(path, locks) => (path, locks),
        };
        locks.alone(&path)?;
        std::fs::rename(built.join(DATA), path.join(DATA)).map_err(|source| StoreError::Io {
            what: format!("putting the new data of {} in place", path.display()),
            source,
        })?;
        folder::sync_folder(&path)?;
        remove(&built)?;
        locks.share(&path)?;
        Lmdb::with_locks(&path, options, locks)
    }

    fn start(
        old: Old,
        structures: &[String],
        meta: &[(&str, &[u8])],
        options: Options,
    ) -> Result<Building, StoreError> {
        let path = match &old {
            Old::Open(old) => old.path().join(BUILDING),
            Old::Nothing(path, _) => path.join(BUILDING),
        };
        remove(&path)?;
        // Nobody but this process looks at it, and it is synced as a whole at the end.
        let unsynced = Options {
            sync: false,
            ..options.clone()
        };
        let locks = claim(&path)?;
        create_environment(&path, structures, meta, &unsynced)?;
        let fresh = Lmdb::with_locks(&path, unsynced, locks)?;
        Ok(Building {
            old,
            fresh,
            options,
        })
    }
}

/// Removes the remains of a build, if there are any.
fn remove(path: &std::path::Path) -> Result<(), StoreError> {
    match std::fs::remove_dir_all(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(StoreError::Io {
            what: format!("removing {}", path.display()),
            source,
        }),
        _ => Ok(()),
    }
}
