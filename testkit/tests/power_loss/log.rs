//! What was written and synced, in order; and what a disk may hold after the power failed.
//!
//! The model of the disk is the weakest that POSIX allows. Of what was written to a file since its
//! last sync any sectors may be there and any may not: a piece that is kept while an older one is
//! lost is a reordering, a part of a write is a torn one. A write through a descriptor that syncs is
//! safe when the call has returned. Names (files made, renamed, folders made) are safe when their
//! folder was synced after; before that a prefix of what happened in the folder is there.

use querent_testkit::generate::Rng;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One call, or one acknowledgement; paths are below the root.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// Bytes of a file.
    Write {
        /// Its path, at that moment.
        path: PathBuf,
        inode: u64,
        at: u64,
        bytes: Vec<u8>,
        /// Safe when the call returns.
        synced: bool,
    },
    /// A file got longer or shorter.
    SetLength {
        path: PathBuf,
        inode: u64,
        length: u64,
    },
    /// A file or folder was synced.
    Sync { path: PathBuf, inode: u64 },
    /// A file got another name, in the place of what had it.
    Rename { inode: u64, to: PathBuf },
    /// A folder was made.
    MakeFolder(PathBuf),
    /// The program was told that something is safe.
    Acknowledged { who: usize, what: u64 },
}

/// All that happened below a folder.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) root: PathBuf,
    pub(crate) events: Vec<Event>,
}

/// What is kept of writes that were not synced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    /// Nothing: a disk with a large cache.
    Nothing,
    /// Everything: the crash of a process.
    All,
    /// Each write or not.
    Writes,
    /// Each piece of so many bytes or not.
    Pieces(u64),
}

/// The ways in which a disk is tried, at every crash point.
pub(crate) const KEEPS: [Keep; 5] = [
    Keep::Nothing,
    Keep::All,
    Keep::Writes,
    Keep::Pieces(512),
    Keep::Pieces(4096),
];

/// A disk after a crash: files by path.
#[derive(Debug)]
pub(crate) struct Disk {
    files: BTreeMap<PathBuf, Vec<u8>>,
    folders: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    durable: Vec<u8>,
    pending: Vec<Pending>,
}

#[derive(Clone, Debug)]
enum Pending {
    Bytes(u64, Vec<u8>),
    Length(u64),
}

/// A name that was made, which is safe when the folder that it is in was synced.
#[derive(Clone, Debug)]
struct Named {
    path: PathBuf,
    /// A file's; a folder has none.
    inode: Option<u64>,
    safe: bool,
}

impl Log {
    pub(crate) fn new(root: &Path) -> Log {
        Log {
            root: root.to_owned(),
            events: vec![],
        }
    }

    /// The most that each was acknowledged before a crash behind `length` events.
    pub(crate) fn acknowledged(&self, length: usize) -> BTreeMap<usize, u64> {
        let mut acknowledged = BTreeMap::new();
        for event in self.events.iter().take(length) {
            if let Event::Acknowledged { who, what } = event {
                let most: &mut u64 = acknowledged.entry(*who).or_default();
                *most = (*most).max(*what);
            }
        }
        acknowledged
    }

    /// What may be on disk if the power fails when `length` events have begun. The last of them has
    /// not returned.
    pub(crate) fn crash(&self, length: usize, keep: Keep, rng: &mut Rng) -> Disk {
        let mut inodes: BTreeMap<u64, Inode> = BTreeMap::new();
        let mut names: Vec<Named> = vec![];
        for (n, event) in self.events.iter().take(length).enumerate() {
            let returned = n + 1 < length;
            match event {
                Event::Write {
                    path,
                    inode,
                    at,
                    bytes,
                    synced,
                } => {
                    name_file(&mut names, path, *inode);
                    let file = inodes.entry(*inode).or_default();
                    if *synced && returned {
                        put(&mut file.durable, *at, bytes);
                        // Whatever else is kept, these bytes are: nothing older replaces them.
                        file.pending.iter_mut().for_each(|p| p.cut(*at, bytes));
                    } else {
                        file.pending.push(Pending::Bytes(*at, bytes.clone()));
                    }
                }
                Event::SetLength {
                    path,
                    inode,
                    length,
                } => {
                    name_file(&mut names, path, *inode);
                    let file = inodes.entry(*inode).or_default();
                    file.pending.push(Pending::Length(*length));
                }
                Event::Sync { path, inode } if returned => {
                    if let Some(file) = inodes.get_mut(inode) {
                        for pending in std::mem::take(&mut file.pending) {
                            pending.apply(&mut file.durable);
                        }
                    }
                    for name in &mut names {
                        name.safe |= name.path.parent() == Some(path);
                    }
                }
                Event::Rename { inode, to } => names.push(Named {
                    path: to.clone(),
                    inode: Some(*inode),
                    safe: false,
                }),
                Event::MakeFolder(path) => names.push(Named {
                    path: path.clone(),
                    inode: None,
                    safe: false,
                }),
                Event::Sync { .. } | Event::Acknowledged { .. } => {}
            }
        }
        let kept = |file: &Inode, rng: &mut Rng| {
            let mut bytes = file.durable.clone();
            for pending in &file.pending {
                pending.apply_some(&mut bytes, keep, rng);
            }
            bytes
        };
        let contents: BTreeMap<u64, Vec<u8>> = inodes
            .iter()
            .map(|(inode, file)| (*inode, kept(file, rng)))
            .collect();
        named(names, &contents, keep, rng)
    }

    /// Whether the notes are complete: all of them together give the files that there are.
    pub(crate) fn complete(&self) -> Result<(), String> {
        let disk = self.crash(self.events.len(), Keep::All, &mut Rng::new(0));
        for (path, bytes) in &disk.files {
            let Ok(real) = std::fs::read(self.root.join(path)) else {
                continue;
            };
            if real != *bytes {
                return Err(format!(
                    "{}: {} bytes noted, {} bytes there, and they differ",
                    path.display(),
                    bytes.len(),
                    real.len()
                ));
            }
        }
        if disk.files.is_empty() {
            return Err("no write was noted".into());
        }
        Ok(())
    }
}

impl Pending {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Pending::Bytes(at, bytes) => put(to, *at, bytes),
            Pending::Length(length) => to.resize(*length as usize, 0),
        }
    }

    fn apply_some(&self, to: &mut Vec<u8>, keep: Keep, rng: &mut Rng) {
        match (keep, self) {
            (Keep::Nothing, _) => {}
            (Keep::All, _) => self.apply(to),
            (Keep::Pieces(size), Pending::Bytes(at, bytes)) => {
                let end = at + bytes.len() as u64;
                let mut from = *at;
                while from < end {
                    let until = ((from / size + 1) * size).min(end);
                    if rng.percent(50) {
                        let piece = &bytes[(from - at) as usize..(until - at) as usize];
                        put(to, from, piece);
                    }
                    from = until;
                }
            }
            (Keep::Writes | Keep::Pieces(_), _) => {
                if rng.percent(50) {
                    self.apply(to);
                }
            }
        }
    }

    /// Takes over bytes that were made safe later.
    fn cut(&mut self, at: u64, bytes: &[u8]) {
        if let Pending::Bytes(from, own) = self {
            for (n, byte) in bytes.iter().enumerate() {
                let position = at + n as u64;
                if let Some(place) = position
                    .checked_sub(*from)
                    .and_then(|offset| own.get_mut(offset as usize))
                {
                    *place = *byte;
                }
            }
        }
    }
}

impl Disk {
    /// Makes the files below a folder that exists.
    pub(crate) fn write(&self, root: &Path) -> std::io::Result<()> {
        for folder in &self.folders {
            std::fs::create_dir_all(root.join(folder))?;
        }
        for (path, bytes) in &self.files {
            std::fs::write(root.join(path), bytes)?;
        }
        Ok(())
    }
}

/// The first write to a file is when its name is noted: later than it was made, never sooner.
fn name_file(names: &mut Vec<Named>, path: &Path, inode: u64) {
    if !names.iter().any(|name| name.inode == Some(inode)) {
        names.push(Named {
            path: path.to_owned(),
            inode: Some(inode),
            safe: false,
        });
    }
}

fn put(to: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let (from, until) = (at as usize, at as usize + bytes.len());
    if to.len() < until {
        to.resize(until, 0);
    }
    to[from..until].copy_from_slice(bytes);
}

/// The names that are there: all that are safe, and of each folder's others a prefix.
fn named(
    mut names: Vec<Named>,
    contents: &BTreeMap<u64, Vec<u8>>,
    keep: Keep,
    rng: &mut Rng,
) -> Disk {
    let mut unsafe_in: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for name in names.iter().filter(|name| !name.safe) {
        *unsafe_in.entry(folder_of(&name.path)).or_default() += 1;
    }
    for count in unsafe_in.values_mut() {
        *count = match keep {
            Keep::Nothing => 0,
            Keep::All => *count,
            Keep::Writes | Keep::Pieces(_) => rng.below(*count + 1),
        };
    }
    names.retain(|name| {
        let left = unsafe_in.get_mut(&folder_of(&name.path));
        name.safe
            || left.is_some_and(|left| {
                let there = *left > 0;
                *left = left.saturating_sub(1);
                there
            })
    });
    let mut disk = Disk {
        files: BTreeMap::new(),
        folders: vec![],
    };
    let mut path_of: BTreeMap<u64, PathBuf> = BTreeMap::new();
    for Named { path, inode, .. } in names {
        let parent = folder_of(&path);
        if !parent.as_os_str().is_empty() && !disk.folders.contains(&parent) {
            continue;
        }
        match inode {
            None => disk.folders.push(path),
            Some(inode) => {
                if let Some(old) = path_of.insert(inode, path.clone()) {
                    disk.files.remove(&old);
                }
                disk.files
                    .insert(path, contents.get(&inode).cloned().unwrap_or_default());
            }
        }
    }
    disk
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}
