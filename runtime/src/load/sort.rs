//! Sorts pairs of key and value in bounded memory.
//!
//! Pairs are collected in one buffer. When it is full it is sorted and written to a file, a *run*;
//! at the end the runs are merged. Pairs of equal keys stay in the order in which they came, so the
//! result is a function of the input alone and not of the memory.
//!
//! ```text
//! run file:  ( key length: u32 LE | value length: u32 LE | key | value )*
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Buffer of one run while merging; also decides how many runs are merged at once.
const RUN_BUFFER: usize = 64 << 10;
/// So many files are open at once at most.
const MOST_RUNS: usize = 128;

/// Why sorting failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    /// The disk: full, or failing.
    #[error("sorting failed while {what} {path}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// File or folder.
        path: String,
        /// Cause.
        source: io::Error,
    },
    /// A spill file is not what was written.
    #[error("sorting failed: found {found} pairs in {path}, expected {expected}")]
    Damaged {
        /// File.
        path: String,
        /// Pairs read.
        found: u64,
        /// Pairs written.
        expected: u64,
    },
    /// A key or value of 4 GB or more.
    #[error("sorting failed: found a key or value of {bytes} bytes, expected less than 4 GB")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

/// A key and its value, lent until the next one is asked for.
pub type Lent<'s> = (&'s [u8], &'s [u8]);

/// Collects pairs.
#[derive(Debug)]
pub struct Sorter {
    memory: usize,
    parent: PathBuf,
    /// Made with the first run.
    folder: Option<TempDir>,
    buffer: Buffer,
    runs: Vec<Run>,
    made: usize,
}

/// Pairs in memory: their bytes one after the other, and where each starts.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    pairs: Vec<Pair>,
}

/// The first bytes of the key decide most comparisons without a look at the buffer.
#[derive(Clone, Copy, Debug)]
struct Pair {
    prefix: u64,
    start: usize,
    key: u32,
    value: u32,
}

/// A sorted file.
#[derive(Debug)]
struct Run {
    path: PathBuf,
    pairs: u64,
}

impl Sorter {
    /// A sorter that uses about so many bytes of memory, and a folder within `parent` beyond that.
    pub fn new(parent: &Path, memory: usize) -> Self {
        Self {
            memory,
            parent: parent.to_owned(),
            folder: None,
            buffer: Buffer::default(),
            runs: Vec::new(),
            made: 0,
        }
    }

    /// Adds a pair.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), SortError> {
        let length = |bytes: usize| u32::try_from(bytes).map_err(|_| SortError::TooLong { bytes });
        let (key_length, value_length) = (length(key.len())?, length(value.len())?);
        let more = key.len() + value.len() + size_of::<Pair>();
        if !self.buffer.pairs.is_empty() && self.buffer.size() + more > self.memory {
            self.spill()?;
        }
        let pair = Pair {
            prefix: prefix(key),
            start: self.buffer.bytes.len(),
            key: key_length,
            value: value_length,
        };
        // Doubling beyond the budget would use twice of it.
        let limit = self.memory.saturating_sub(self.buffer.bytes.len());
        grow(&mut self.buffer.bytes, key.len() + value.len(), limit);
        grow(&mut self.buffer.pairs, 1, limit / size_of::<Pair>());
        self.buffer.bytes.extend_from_slice(key);
        self.buffer.bytes.extend_from_slice(value);
        self.buffer.pairs.push(pair);
        Ok(())
    }

    /// Sorts what was added.
    pub fn finish(mut self) -> Result<Sorted, SortError> {
        if self.runs.is_empty() {
            self.buffer.sort();
            return Ok(Sorted {
                from: From::Memory(self.buffer, 0),
                _folder: None,
            });
        }
        self.spill()?;
        self.buffer = Buffer::default();
        let fan_in = (self.memory / RUN_BUFFER).clamp(2, MOST_RUNS);
        while self.runs.len() > fan_in {
            // Neighbours are merged, which keeps the order of equal keys.
            let mut merged = Vec::new();
            let mut runs = std::mem::take(&mut self.runs).into_iter().peekable();
            while runs.peek().is_some() {
                let group: Vec<Run> = runs.by_ref().take(fan_in).collect();
                let mut merge = Merge::open(group)?;
                let (mut writer, path) = self.new_run()?;
                let mut pairs = 0;
                while let Some((key, value)) = merge.next()? {
                    write_pair(&mut writer, key, value)
                        .map_err(|e| io_error("writing", &path, e))?;
                    pairs += 1;
                }
                writer.flush().map_err(|e| io_error("writing", &path, e))?;
                merged.push(Run { path, pairs });
            }
            self.runs = merged;
        }
        let merge = Merge::open(std::mem::take(&mut self.runs))?;
        Ok(Sorted {
            from: From::Files(Box::new(merge)),
            _folder: self.folder.take(),
        })
    }

    fn spill(&mut self) -> Result<(), SortError> {
        self.buffer.sort();
        let (mut writer, path) = self.new_run()?;
        for pair in &self.buffer.pairs {
            let (key, value) = self.buffer.get(*pair);
            write_pair(&mut writer, key, value).map_err(|e| io_error("writing", &path, e))?;
        }
        writer.flush().map_err(|e| io_error("writing", &path, e))?;
        self.runs.push(Run {
            path,
            pairs: self.buffer.pairs.len() as u64,
        });
        self.buffer.bytes.clear();
        self.buffer.pairs.clear();
        Ok(())
    }

    fn new_run(&mut self) -> Result<(BufWriter<File>, PathBuf), SortError> {
        if self.folder.is_none() {
            let made = tempfile::Builder::new()
                .prefix("sort-")
                .tempdir_in(&self.parent);
            self.folder = Some(made.map_err(|e| io_error("making a folder in", &self.parent, e))?);
        }
        let folder = self
            .folder
            .as_ref()
            .map_or(self.parent.as_path(), TempDir::path);
        let path = folder.join(format!("run-{}", self.made));
        self.made += 1;
        let file = File::create_new(&path).map_err(|e| io_error("creating", &path, e))?;
        Ok((BufWriter::with_capacity(RUN_BUFFER, file), path))
    }
}

/// Pairs in order of their keys. The files behind it are removed with it.
#[derive(Debug)]
pub struct Sorted {
    from: From,
    /// Declared last, so that it is removed after the files in it are closed.
    _folder: Option<TempDir>,
}

#[derive(Debug)]
enum From {
    Memory(Buffer, usize),
    Files(Box<Merge>),
}

impl Sorted {
    /// The next pair; the slices are good until the next call.
    #[expect(
        clippy::should_implement_trait,
        reason = "it lends, which an iterator cannot"
    )]
    pub fn next(&mut self) -> Result<Option<Lent<'_>>, SortError> {
        match &mut self.from {
            From::Memory(buffer, at) => {
                let pair = buffer.pairs.get(*at).copied();
                *at += 1;
                Ok(pair.map(|pair| buffer.get(pair)))
            }
            From::Files(merge) => merge.next(),
        }
    }
}

impl Buffer {
    fn size(&self) -> usize {
        self.bytes.len() + self.pairs.len() * size_of::<Pair>()
    }

    fn get(&self, pair: Pair) -> (&[u8], &[u8]) {
        let key_end = pair.start + pair.key as usize;
        let key = self.bytes.get(pair.start..key_end).unwrap_or_default();
        let value = self
            .bytes
            .get(key_end..key_end + pair.value as usize)
            .unwrap_or_default();
        (key, value)
    }

    /// By key; equal ones by where they start, which is the order in which they came.
    fn sort(&mut self) {
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.sort_unstable_by(|a, b| {
            a.prefix
                .cmp(&b.prefix)
                .then_with(|| self.get(*a).0.cmp(self.get(*b).0))
                // Pairs without a byte start where the next one starts.
                .then_with(|| (a.start, a.key, a.value).cmp(&(b.start, b.key, b.value)))
        });
        self.pairs = pairs;
    }
}

/// Merges runs.
#[derive(Debug)]
struct Merge {
    runs: Vec<RunReader>,
    /// The next pair of each run that has one; of equal keys the earlier run first.
    heads: BinaryHeap<Reverse<Head>>,
    current: Option<Head>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: Vec<u8>,
    run: usize,
    value: Vec<u8>,
}

impl Merge {
    fn open(runs: Vec<Run>) -> Result<Self, SortError> {
        let mut merge = Self {
            runs: Vec::new(),
            heads: BinaryHeap::new(),
            current: None,
        };
        for (at, run) in runs.into_iter().enumerate() {
            let mut reader = RunReader::open(run)?;
            let mut head = Head {
                key: Vec::new(),
                run: at,
                value: Vec::new(),
            };
            if reader.read(&mut head)? {
                merge.heads.push(Reverse(head));
            }
            merge.runs.push(reader);
        }
        Ok(merge)
    }

    fn next(&mut self) -> Result<Option<Lent<'_>>, SortError> {
        if let Some(mut head) = self.current.take() {
            let more = match self.runs.get_mut(head.run) {
                Some(run) => run.read(&mut head)?,
                None => false,
            };
            if more {
                self.heads.push(Reverse(head));
            }
        }
        self.current = self.heads.pop().map(|Reverse(head)| head);
        Ok(self
            .current
            .as_ref()
            .map(|head| (head.key.as_slice(), head.value.as_slice())))
    }
}

#[derive(Debug)]
struct RunReader {
    run: Run,
    source: BufReader<File>,
    read: u64,
}

impl RunReader {
    fn open(run: Run) -> Result<Self, SortError> {
        let file = File::open(&run.path).map_err(|e| io_error("opening", &run.path, e))?;
        Ok(Self {
            run,
            source: BufReader::with_capacity(RUN_BUFFER, file),
            read: 0,
        })
    }

    /// Reads the next pair into the head; false at the end, where the file is removed.
    fn read(&mut self, head: &mut Head) -> Result<bool, SortError> {
        if self.read == self.run.pairs {
            // Gives back the space early. What cannot be removed now goes with the folder.
            let _ = std::fs::remove_file(&self.run.path);
            return Ok(false);
        }
        match read_pair(&mut self.source, head) {
            Ok(()) => {
                self.read += 1;
                Ok(true)
            }
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => Err(SortError::Damaged {
                path: self.run.path.display().to_string(),
                found: self.read,
                expected: self.run.pairs,
            }),
            Err(why) => Err(io_error("reading", &self.run.path, why)),
        }
    }
}

fn write_pair(writer: &mut impl Write, key: &[u8], value: &[u8]) -> io::Result<()> {
    // Both were checked to fit when they were added.
    writer.write_all(&(key.len() as u32).to_le_bytes())?;
    writer.write_all(&(value.len() as u32).to_le_bytes())?;
    writer.write_all(key)?;
    writer.write_all(value)
}

fn read_pair(reader: &mut impl Read, head: &mut Head) -> io::Result<()> {
    let mut lengths = [[0; 4]; 2];
    for length in &mut lengths {
        reader.read_exact(length)?;
    }
    let [key, value] = lengths.map(u32::from_le_bytes);
    for (bytes, length) in [(&mut head.key, key), (&mut head.value, value)] {
        bytes.clear();
        // Through `take`, so that a damaged length does not reserve memory that is never read.
        let read = reader.by_ref().take(u64::from(length)).read_to_end(bytes)?;
        if read != length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

fn io_error(what: &'static str, path: &Path, source: io::Error) -> SortError {
    SortError::Io {
        what,
        path: path.display().to_string(),
        source,
    }
}

/// The first eight bytes as a number that compares as they do.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

/// Makes room for `more`, doubling up to the limit.
fn grow<T>(items: &mut Vec<T>, more: usize, limit: usize) {
    if items.capacity() - items.len() < more {
        items.reserve_exact(items.len().min(limit).max(more));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

    fn sort(pairs: &Pairs, memory: usize) -> (Pairs, usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(folder.path(), memory);
        for (key, value) in pairs {
            sorter.push(key, value).unwrap();
        }
        let runs = sorter.runs.len();
        let mut sorted = sorter.finish().unwrap();
        let mut out = Vec::new();
        while let Some((key, value)) = sorted.next().unwrap() {
            out.push((key.to_vec(), value.to_vec()));
        }
        assert!(sorted.next().unwrap().is_none(), "the end stays the end");
        drop(sorted);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "no file is left"
        );
        (out, runs)
    }

    proptest! {
        #[test]
        fn equals_a_stable_sort(
            pairs in vec((vec(0u8..3, 0..12), vec(any::<u8>(), 0..6)), 0..200),
            memory in 0usize..4000,
        ) {
            let mut expected = pairs.clone();
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            prop_assert_eq!(sort(&pairs, memory).0, expected);
        }
    }

    #[test]
    fn pairs_without_a_byte_keep_their_place() {
        let mut pairs: Pairs = vec![(vec![], vec![]); 60];
        pairs[30].1.push(7);
        assert_eq!(sort(&pairs, 1 << 20).0, pairs);
        assert_eq!(sort(&pairs, 500).0, pairs);
    }

    #[test]
    fn many_runs_are_merged_in_several_passes() {
        let key = |n: u32| n.wrapping_mul(2_654_435_761).to_be_bytes().to_vec();
        let pairs: Pairs = (0..5000)
            .map(|n| (key(n), n.to_be_bytes().to_vec()))
            .collect();
        let (sorted, runs) = sort(&pairs, 1000);
        assert!(runs > 100, "{runs}");
        let mut expected = pairs;
        expected.sort();
        assert_eq!(sorted, expected);
    }

    #[test]
    fn a_pair_larger_than_the_memory_passes() {
        let pairs = vec![
            (vec![2], vec![0; 5000]),
            (vec![1], vec![1; 9000]),
            (vec![0], vec![]),
        ];
        let (sorted, _) = sort(&pairs, 100);
        assert_eq!(sorted.iter().map(|p| p.0[0]).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn memory_stays_within_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let memory = 1 << 20;
        let mut sorter = Sorter::new(folder.path(), memory);
        for n in 0..200_000u32 {
            sorter.push(&n.to_le_bytes(), &[7; 16]).unwrap();
            let pairs = sorter.buffer.pairs.capacity() * size_of::<Pair>();
            assert!(sorter.buffer.size() <= memory);
            assert!(sorter.buffer.bytes.capacity() + pairs <= 2 * memory);
        }
    }

    #[test]
    fn disk_errors_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(&folder.path().join("missing"), 10);
        sorter.push(b"a", b"b").unwrap();
        assert!(matches!(sorter.push(b"c", b"d"), Err(SortError::Io { .. })));

        let mut sorter = Sorter::new(folder.path(), 10);
        for n in 0..3u8 {
            sorter.push(&[n], &[n]).unwrap();
        }
        let path = sorter.runs[1].path.clone();
        std::fs::write(&path, [1, 0, 0, 0]).unwrap();
        let error = sorter.finish().unwrap_err();
        assert!(
            matches!(
                error,
                SortError::Damaged {
                    found: 0,
                    expected: 1,
                    ..
                }
            ),
            "{error}"
        );
    }
}
