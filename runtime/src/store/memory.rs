//! The store in memory: for tests, and for data that needs no disk.
//!
//! It has two manners. *Transactional*: what the embedded engine does. *Remote*: what a cluster
//! does — no snapshot, writes applied one by one, phase by phase, a crash possible behind any of
//! them, and sources that now and then say [`Fill::Wait`] until [`Memory::ready`] is called — so
//! that plans and write plans meet the remote protocol without a cluster.

use super::write_set::check_key;
use super::{
    ChangeError, Faults, Fill, Keys, Phase, Read, Reader, Sink, Source, Store, StoreError, Ticket,
    WriteSet,
};
use crate::key;
use bytes::Bytes;
use querent_compiler::design::StructureId;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows of one structure; shared with the snapshots, and copied by the next write while one is held.
type Rows = Arc<BTreeMap<Bytes, Bytes>>;

/// A store in memory.
#[derive(Debug)]
pub struct Memory {
    shared: Arc<Shared>,
}

/// How the remote manner behaves.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// Decides which fills wait.
    pub seed: u64,
    /// One fill in so many says wait (0: none).
    pub wait_one_in: u64,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    remote: Option<Remote>,
    faults: Option<Arc<Faults>>,
    /// Draws of the remote manner.
    draws: AtomicU64,
    /// How often [`Memory::ready`] was called: a source that waits goes on when it has grown.
    turns: AtomicU64,
}

#[derive(Clone, Debug, Default)]
struct State {
    structures: Vec<Rows>,
    meta: BTreeMap<String, Vec<u8>>,
    /// Remote writes until the crash.
    crash: Option<u64>,
}

impl Memory {
    /// A transactional store of so many structures.
    pub fn new(structures: usize) -> Memory {
        Memory::with(structures, None, None)
    }

    /// A store of the remote manner.
    pub fn remote(structures: usize, remote: Remote) -> Memory {
        Memory::with(structures, Some(remote), None)
    }

    /// A transactional store with failures to inject.
    pub fn with_faults(structures: usize, faults: Arc<Faults>) -> Memory {
        Memory::with(structures, None, Some(faults))
    }

    fn with(structures: usize, remote: Option<Remote>, faults: Option<Arc<Faults>>) -> Memory {
        let state = State {
            structures: vec![Rows::default(); structures],
            ..State::default()
        };
        let draws = AtomicU64::new(remote.map_or(0, |remote| remote.seed));
        Memory {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                remote,
                faults,
                draws,
                turns: AtomicU64::new(0),
            }),
        }
    }

    /// Lets every source that said wait go on: what a driver awaits.
    pub fn ready(&self) {
        self.shared.turns.fetch_add(1, Ordering::SeqCst);
    }

    /// A view of the live state (remote), or of the state as it is now (transactional).
    pub fn view(&self) -> MemoryReader {
        let frozen = match self.shared.remote {
            Some(_) => None,
            None => Some(Arc::new(self.shared.lock().structures.clone())),
        };
        MemoryReader {
            shared: Arc::clone(&self.shared),
            frozen,
            waits: true,
        }
    }

    /// Applies the writes of one phase, one after the other: what is applied stays.
    pub fn apply(&self, writes: &WriteSet, phase: Phase) -> Result<(), StoreError> {
        writes.check(self.shared.lock().structures.len())?;
        for write in writes.phase(phase) {
            let mut state = self.shared.lock();
            match &mut state.crash {
                Some(0) => return Err(StoreError::Engine("an injected crash".into())),
                Some(left) => *left -= 1,
                None => {}
            }
            state.write(write.structure, write.key, write.row)?;
        }
        Ok(())
    }

    /// A change as a cluster sees it: decided on the live state, applied phase by phase. A job is
    /// called once and cannot be resumed, so its reads wait in place instead of saying so.
    fn change_remotely<T, E>(
        &self,
        mut job: impl FnMut(&MemoryReader) -> Result<(WriteSet, T), E>,
    ) -> Result<T, ChangeError<E>> {
        let view = MemoryReader {
            waits: false,
            ..self.view()
        };
        let (writes, value) = job(&view).map_err(ChangeError::Refused)?;
        self.apply_all(&writes).map_err(ChangeError::Store)?;
        Ok(value)
    }

    /// Applies all phases in order, up to a crash.
    pub fn apply_all(&self, writes: &WriteSet) -> Result<(), StoreError> {
        Phase::ALL
            .iter()
            .try_for_each(|&phase| self.apply(writes, phase))
    }

    /// After so many more writes of [`Memory::apply`] every further one fails, until recovered.
    pub fn crash_after(&self, writes: u64) {
        self.shared.lock().crash = Some(writes);
    }

    /// Ends the crash.
    pub fn recover(&self) {
        self.shared.lock().crash = None;
    }

    /// All rows of a structure, for comparisons.
    pub fn rows(&self, structure: StructureId) -> Vec<(Vec<u8>, Vec<u8>)> {
        let rows = self
            .shared
            .lock()
            .structures
            .get(usize::from(structure))
            .cloned();
        rows.unwrap_or_default()
            .iter()
            .map(|(k, v)| (k.to_vec(), v.to_vec()))
            .collect()
    }
}

impl Store for Memory {
    type Snapshot = MemoryReader;
    type Reader<'t> = MemoryReader;

    fn snapshot(&self) -> Result<MemoryReader, StoreError> {
        Ok(self.view())
    }

    fn reader(snapshot: &MemoryReader) -> MemoryReader {
        snapshot.clone()
    }

    fn submit<T, E, F>(&self, mut job: F) -> Ticket<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: for<'t> FnMut(&MemoryReader) -> Result<(WriteSet, T), E> + Send + 'static,
    {
        if self.shared.remote.is_some() {
            return Ticket::answered(self.change_remotely(job));
        }
        // The lock is held while the job decides, so its view must not take it again.
        let mut state = self.shared.lock();
        let frozen = Some(Arc::new(state.structures.clone()));
        let view = MemoryReader {
            shared: Arc::clone(&self.shared),
            frozen,
            waits: true,
        };
        let decided = job(&view);
        drop(view);
        Ticket::answered(match decided {
            Err(refusal) => Err(ChangeError::Refused(refusal)),
            Ok((writes, value)) => state
                .transact(&writes, self.shared.faults.as_deref())
                .map(|()| value)
                .map_err(ChangeError::Store),
        })
    }

    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.shared.lock().meta.get(name).cloned())
    }

    fn put_meta(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        self.shared
            .lock()
            .meta
            .insert(name.to_owned(), value.to_vec());
        Ok(())
    }

    fn load(
        &self,
        structure: StructureId,
        rows: &mut dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>), StoreError>>,
    ) -> Result<u64, StoreError> {
        let mut loaded = BTreeMap::new();
        for row in rows {
            let (key, row) = row?;
            check_key(structure, &key)?;
            if loaded
                .last_key_value()
                .is_some_and(|(last, _): (&Bytes, &Bytes)| last[..] >= key[..])
            {
                return Err(StoreError::Load {
                    structure,
                    why: "rows are not sorted by key",
                });
            }
            loaded.insert(Bytes::from(key), Bytes::from(row));
        }
        let mut state = self.shared.lock();
        let target = state.structure(structure)?;
        if !target.is_empty() {
            return Err(StoreError::Load {
                structure,
                why: "it has rows already",
            });
        }
        let count = loaded.len() as u64;
        *target = Arc::new(loaded);
        Ok(count)
    }
}

impl Shared {
    /// A job that panics leaves the state as it was: it is written only when the job is done.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if this fill should wait.
    fn draw(&self) -> bool {
        let Some(Remote { wait_one_in, .. }) = self.remote else {
            return false;
        };
        let drawn = self
            .draws
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
        let mut mixed = drawn ^ (drawn >> 30);
        mixed = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        mixed.checked_rem(wait_one_in) == Some(0)
    }
}

impl State {
    fn structure(&mut self, structure: StructureId) -> Result<&mut Rows, StoreError> {
        let structures = self.structures.len();
        self.structures
            .get_mut(usize::from(structure))
            .ok_or(StoreError::NoStructure {
                structure,
                structures,
            })
    }

    fn write(
        &mut self,
        structure: StructureId,
        key: &[u8],
        row: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let rows = Arc::make_mut(self.structure(structure)?);
        match row {
            Some(row) => rows.insert(Bytes::copy_from_slice(key), Bytes::copy_from_slice(row)),
            None => rows.remove(key),
        };
        Ok(())
    }

    /// All writes or none.
    fn transact(&mut self, writes: &WriteSet, faults: Option<&Faults>) -> Result<(), StoreError> {
        writes.check(self.structures.len())?;
        // With the writes checked, only an injected failure can come in between.
        let before = faults.map(|_| self.structures.clone());
        let applied = writes
            .iter()
            .try_for_each(|write| {
                faults.map_or(Ok(()), Faults::on_put)?;
                self.write(write.structure, write.key, write.row)
            })
            .and_then(|()| faults.map_or(Ok(()), Faults::on_commit));
        if let (Err(_), Some(before)) = (&applied, before) {
            self.structures = before;
        }
        applied
    }
}

/// A view: of a state that stays, or of the live one.
#[derive(Clone, Debug)]
pub struct MemoryReader {
    shared: Arc<Shared>,
    frozen: Option<Arc<Vec<Rows>>>,
    /// Whether its sources may say wait (the remote manner only).
    waits: bool,
}

impl MemoryReader {
    fn rows(&self, structure: StructureId) -> Result<Rows, StoreError> {
        let find = |structures: &[Rows]| {
            structures
                .get(usize::from(structure))
                .cloned()
                .ok_or(StoreError::NoStructure {
                    structure,
                    structures: structures.len(),
                })
        };
        match &self.frozen {
            Some(frozen) => find(frozen),
            None => find(&self.shared.lock().structures),
        }
    }
}

impl Reader for MemoryReader {
    type B = Bytes;
    type S = MemorySource;
    const AHEAD: usize = 4;

    fn open(&self, read: &Read) -> Result<MemorySource, StoreError> {
        self.rows(read.structure)?;
        let (lower, upper) = match &read.keys {
            Keys::Point(key) => (key.clone(), Bound::Included(key.clone())),
            Keys::Prefix(prefix) => (
                prefix.clone(),
                key::successor(prefix).map_or(Bound::Unbounded, Bound::Excluded),
            ),
            Keys::Range { lower, upper } => (
                lower.clone(),
                upper.clone().map_or(Bound::Unbounded, Bound::Excluded),
            ),
        };
        Ok(MemorySource {
            reader: self.clone(),
            structure: read.structure,
            lower: Bound::Included(lower),
            upper,
            reverse: read.reverse,
            waits: None,
            done: false,
        })
    }
}

/// An open read: the bounds of what is left. Each fill seeks anew, which is what paging does.
#[derive(Debug)]
pub struct MemorySource {
    reader: MemoryReader,
    structure: StructureId,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    reverse: bool,
    /// The turn at which it said wait.
    waits: Option<u64>,
    done: bool,
}

impl Source<Bytes> for MemorySource {
    fn fill(&mut self, want: usize, out: &mut impl Sink<Bytes>) -> Result<Fill, StoreError> {
        if self.done {
            return Ok(Fill::End);
        }
        let turns = self.reader.shared.turns.load(Ordering::SeqCst);
        match self.waits {
            Some(turn) if turn == turns => return Ok(Fill::Wait),
            Some(_) => self.waits = None,
            None if self.reader.waits && self.reader.shared.draw() => {
                self.waits = Some(turns);
                return Ok(Fill::Wait);
            }
            None => {}
        }
        let rows = self.reader.rows(self.structure)?;
        let (mut found, mut last) = (0, None);
        if !is_empty(&self.lower, &self.upper) {
            let mut range = rows.range::<[u8], _>((slice(&self.lower), slice(&self.upper)));
            while found < want
                && let Some((key, row)) = if self.reverse {
                    range.next_back()
                } else {
                    range.next()
                }
            {
                out.push(key.clone(), row.clone());
                (found, last) = (found + 1, Some(key));
            }
        }
        if let Some(last) = last {
            let bound = Bound::Excluded(last.to_vec());
            if self.reverse {
                self.upper = bound;
            } else {
                self.lower = bound;
            }
        }
        self.done = found < want;
        Ok(if found > 0 { Fill::Rows } else { Fill::End })
    }
}

fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// True if no key is between the bounds; a map's range would panic on these.
fn is_empty(lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> bool {
    match (lower, upper) {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Excluded(b) | Bound::Included(b)) => {
            a >= b
        }
        _ => false,
    }
}
