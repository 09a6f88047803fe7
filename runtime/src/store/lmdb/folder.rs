//! The folder of a database: its files, and who may use them.
//!
//! `data.mdb` and `lock.mdb` are LMDB's. `write.lock` is held by the one process that may write;
//! `use.lock` is shared by all that have the database open, and held alone while its data file is
//! replaced.

use crate::store::StoreError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

/// LMDB's data file.
pub(super) const DATA: &str = "data.mdb";
/// LMDB's table of readers.
pub(super) const READERS: &str = "lock.mdb";
/// Where a fresh data file is built.
pub(super) const BUILDING: &str = "building";
const WRITE_LOCK: &str = "write.lock";
const USE_LOCK: &str = "use.lock";

/// The locks that an open database holds; the operating system drops them with the process.
#[derive(Debug)]
pub(super) struct Locks {
    /// Absent when open for reading only. Held, never looked at.
    _write: Option<File>,
    /// Absent on a medium that cannot be written and never held one.
    used: Option<File>,
}

impl Locks {
    /// For writing. The folder must exist.
    pub(super) fn write(folder: &Path) -> Result<Self, StoreError> {
        let write = open_lock(folder, WRITE_LOCK)?;
        refuse_if_held(write.try_lock(), folder, "another writer", false)?;
        let used = open_lock(folder, USE_LOCK)?;
        refuse_if_held(
            used.try_lock_shared(),
            folder,
            "a load that replaces it",
            false,
        )?;
        Ok(Locks {
            _write: Some(write),
            used: Some(used),
        })
    }

    /// For reading.
    pub(super) fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(USE_LOCK);
        let used = match File::open(&path) {
            Ok(used) => Some(used),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(source) => {
                return Err(StoreError::Io {
                    what: format!("opening {}", path.display()),
                    source,
                });
            }
        };
        if let Some(used) = &used {
            refuse_if_held(
                used.try_lock_shared(),
                folder,
                "a load that replaces it",
                true,
            )?;
        }
        Ok(Locks { _write: None, used })
    }

    /// Makes this process the only user, for as long as the data file is replaced.
    pub(super) fn alone(&self, folder: &Path) -> Result<(), StoreError> {
        self.used.as_ref().map_or(Ok(()), |used| {
            refuse_if_held(used.try_lock(), folder, "a reader", true)
        })
    }

    /// Lets others in again.
    pub(super) fn share(&self, folder: &Path) -> Result<(), StoreError> {
        self.used.as_ref().map_or(Ok(()), |used| {
            refuse_if_held(
                used.try_lock_shared(),
                folder,
                "a load that replaces it",
                false,
            )
        })
    }
}

/// Makes a folder and those that it is in, durably: a name is safe when the folder that it is in is
/// synced.
pub(super) fn make(folder: &Path) -> Result<(), StoreError> {
    let above = folder.ancestors().take_while(|path| !path.exists());
    let missing: Vec<&Path> = above.filter(|path| !path.as_os_str().is_empty()).collect();
    std::fs::create_dir_all(folder).map_err(|source| StoreError::Io {
        what: format!("creating {}", folder.display()),
        source,
    })?;
    for made in missing {
        match made.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent)?,
            _ => sync_folder(Path::new("."))?,
        }
    }
    Ok(())
}

/// Makes what was renamed or created in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| StoreError::Io {
            what: format!("syncing {}", folder.display()),
            source,
        })
}

/// Gives the table of readers its place on the disk, in a folder that nobody else has open.
///
/// The engine makes it a file without contents and writes to it through memory: on a full disk that
/// would end the process instead of being an error.
pub(super) fn reserve_readers(folder: &Path, readers: u32) -> Result<(), StoreError> {
    let path = folder.join(READERS);
    // A slot for each reader is a line of the cache; the head of the table takes two.
    let table = vec![0; (readers as usize + 2) * 64];
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // As the engine would have made it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(&path)
        .and_then(|mut file| file.write_all(&table));
    written.map_err(|source| StoreError::Io {
        what: format!("writing {}", path.display()),
        source,
    })
}

/// True if there is nothing but locks and the remains of a load.
pub(super) fn is_vacant(folder: &Path) -> Result<bool, StoreError> {
    let reading = |source| StoreError::Io {
        what: format!("reading {}", folder.display()),
        source,
    };
    for entry in folder.read_dir().map_err(reading)? {
        let name = entry.map_err(reading)?.file_name();
        if ![WRITE_LOCK, USE_LOCK, READERS, BUILDING]
            .iter()
            .any(|&own| name == own)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn open_lock(folder: &Path, name: &str) -> Result<File, StoreError> {
    let path = folder.join(name);
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|source| StoreError::Io {
            what: format!(
                "opening {} (open for reading only, if that is enough)",
                path.display()
            ),
            source,
        })
}

fn refuse_if_held(
    locked: Result<(), TryLockError>,
    folder: &Path,
    by: &'static str,
    reading: bool,
) -> Result<(), StoreError> {
    let path = || folder.display().to_string();
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
            path: path(),
            by,
            reading,
        }),
        Err(TryLockError::Error(source)) => Err(StoreError::Io {
            what: format!("locking {}", path()),
            source,
        }),
    }
}
