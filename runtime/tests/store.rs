//! The same scenarios on both stores, and what only one of them can show.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use proptest::prelude::*;
use querent::store::lmdb::{Building, Lmdb, LmdbReader, Options};
use querent::store::memory::{Memory, Remote};
use querent::store::{
    Batch, ChangeError, Faults, Fill, Keys, MAX_KEY, Phase, Point, Points, Read, Reader, Source,
    Store, StoreError, Ticket, WriteSet,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("structure_{i}")).collect()
}

fn options() -> Options {
    Options {
        map_size: 1 << 30,
        ..Options::default()
    }
}

fn lmdb(folder: &Path, structures: usize) -> Lmdb {
    Lmdb::create(folder, &names(structures), &[], options()).unwrap()
}

trait Scenario {
    fn run<S: Store>(&self, store: &S);
}

fn on_both(structures: usize, scenario: &impl Scenario) {
    scenario.run(&Memory::new(structures));
    let folder = TempDir::new().unwrap();
    scenario.run(&lmdb(folder.path(), structures));
}

fn everything() -> Keys {
    Keys::Range {
        lower: vec![],
        upper: None,
    }
}

fn read<R: Reader>(reader: &R, keys: Keys, reverse: bool, want: usize) -> Rows {
    let read = Read {
        structure: 0,
        keys,
        reverse,
        limit: None,
    };
    let mut source = reader.open(&read).unwrap();
    let mut batch = Batch::default();
    loop {
        let before = batch.rows.len();
        match source.fill(want, &mut batch).unwrap() {
            Fill::Rows => assert!((before + 1..=before + want).contains(&batch.rows.len())),
            Fill::End => {
                assert_eq!(source.fill(want, &mut batch).unwrap(), Fill::End);
                assert_eq!(batch.rows.len(), before);
                break;
            }
            Fill::Wait => panic!("a store in process does not wait"),
        }
    }
    batch
        .rows
        .iter()
        .map(|(k, v)| (k.to_vec(), v.to_vec()))
        .collect()
}

fn all<S: Store>(store: &S) -> Rows {
    let snapshot = store.snapshot().unwrap();
    read(&S::reader(&snapshot), everything(), false, 7)
}

fn put<S: Store>(store: &S, rows: &[(&[u8], &[u8])]) -> Result<(), ChangeError<StoreError>> {
    let mut writes = WriteSet::new();
    for (key, row) in rows {
        writes.put(Phase::Homes, 0, key.to_vec(), row.to_vec());
    }
    store.change(move |_| Ok((writes.clone(), ())))
}

/// A change that reads a counter and writes it, one higher; refuses at a limit.
fn increment<S: Store>(store: &S, limit: u8) -> Ticket<u8, String> {
    store.submit(move |view| {
        let found = read(view, Keys::Point(b"counter".to_vec()), false, 1);
        let next = found.first().map_or(0, |(_, row)| row[0]) + 1;
        if next > limit {
            return Err(format!("{next} is above {limit}"));
        }
        let mut writes = WriteSet::new();
        writes.put(Phase::Homes, 0, b"counter".to_vec(), vec![next]);
        Ok((writes, next))
    })
}

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Range(Vec<u8>, Option<Vec<u8>>, bool, usize),
    Prefix(Vec<u8>, bool, usize),
    Point(Vec<u8>),
}

struct Random(Vec<Step>);

impl Scenario for Random {
    fn run<S: Store>(&self, store: &S) {
        let mut model = BTreeMap::new();
        for step in &self.0 {
            match step.clone() {
                Step::Put(key, row) => {
                    model.insert(key.clone(), row.clone());
                    put(store, &[(&key, &row)]).unwrap();
                }
                Step::Delete(key) => {
                    model.remove(&key);
                    let mut writes = WriteSet::new();
                    writes.delete(Phase::Copies, 0, key);
                    store
                        .change(move |_| Ok::<_, ()>((writes.clone(), ())))
                        .unwrap();
                }
                Step::Range(lower, upper, reverse, want) => {
                    let mut expected: Rows = model.clone().into_iter().collect();
                    expected.retain(|(k, _)| *k >= lower && upper.as_ref().is_none_or(|u| k < u));
                    if reverse {
                        expected.reverse();
                    }
                    let snapshot = store.snapshot().unwrap();
                    let keys = Keys::Range { lower, upper };
                    assert_eq!(read(&S::reader(&snapshot), keys, reverse, want), expected);
                }
                Step::Prefix(prefix, reverse, want) => {
                    let mut expected: Rows = model.clone().into_iter().collect();
                    expected.retain(|(k, _)| k.starts_with(&prefix));
                    if reverse {
                        expected.reverse();
                    }
                    let snapshot = store.snapshot().unwrap();
                    let keys = Keys::Prefix(prefix);
                    assert_eq!(read(&S::reader(&snapshot), keys, reverse, want), expected);
                }
                Step::Point(key) => {
                    let expected: Rows = model
                        .get_key_value(&key)
                        .into_iter()
                        .map(|(k, v)| (k.clone(), v.clone()))
                        .collect();
                    let snapshot = store.snapshot().unwrap();
                    assert_eq!(
                        read(&S::reader(&snapshot), Keys::Point(key), false, 3),
                        expected
                    );
                }
            }
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = |least| prop::collection::vec(prop_oneof![0_u8..4, 254_u8..], least..4);
    prop::collection::vec(
        prop_oneof![
            4 => (bytes(1), bytes(0)).prop_map(|(k, v)| Step::Put(k, v)),
            1 => bytes(1).prop_map(Step::Delete),
            3 => (bytes(0), prop::option::of(bytes(0)), any::<bool>(), 1_usize..5)
                .prop_map(|(l, u, r, w)| Step::Range(l, u, r, w)),
            2 => (bytes(0), any::<bool>(), 1_usize..5).prop_map(|(p, r, w)| Step::Prefix(p, r, w)),
            1 => bytes(0).prop_map(Step::Point),
        ],
        1..60,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn both_stores_are_an_ordered_map(steps in steps()) {
        on_both(1, &Random(steps));
    }
}

/// Point reads of these keys, and what was found.
struct Asked<'k> {
    keys: &'k [Vec<u8>],
    found: Vec<Option<(Vec<u8>, Vec<u8>)>>,
}

impl Points<&[u8]> for Asked<'_> {
    type Point<'p>
        = AskedPoint<'p>
    where
        Self: 'p;

    fn count(&self) -> usize {
        self.keys.len()
    }
    fn iter(&mut self) -> impl Iterator<Item = AskedPoint<'_>> {
        let points = self.keys.iter().zip(&mut self.found);
        points.map(|(key, found)| AskedPoint { key, found })
    }
}

struct AskedPoint<'p> {
    key: &'p [u8],
    found: &'p mut Option<(Vec<u8>, Vec<u8>)>,
}

impl<'t> Point<&'t [u8]> for AskedPoint<'_> {
    fn key(&self) -> &[u8] {
        self.key
    }
    fn lent(&self) -> Option<&'t [u8]> {
        None
    }
    fn found(self, key: &'t [u8], row: &'t [u8]) {
        assert!(self.found.is_none(), "found twice");
        *self.found = Some((key.to_vec(), row.to_vec()));
    }
}

/// How the keys of point reads follow one another.
#[derive(Clone, Copy, Debug)]
enum Sequence {
    Any,
    /// Ascending, but for one pair that changes places.
    Nearly(prop::sample::Index),
    Ascending,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn point_reads_together_are_point_reads(
        rows in prop::collection::btree_set(0_u16..300, 0..120),
        mut keys in prop::collection::vec(0_u16..300, 0..60),
        sequence in prop_oneof![
            Just(Sequence::Any),
            any::<prop::sample::Index>().prop_map(Sequence::Nearly),
            Just(Sequence::Ascending),
        ],
        blank in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        if !matches!(sequence, Sequence::Any) {
            keys.sort_unstable();
            keys.dedup();
        }
        if let Sequence::Nearly(at) = sequence && keys.len() > 1 {
            let at = at.index(keys.len() - 1);
            keys.swap(at, at + 1);
        }
        let key = |n: &u16| n.to_be_bytes().to_vec();
        let mut keys: Vec<Vec<u8>> = keys.iter().map(key).collect();
        if let Some(at) = blank && !keys.is_empty() {
            let at = at.index(keys.len());
            keys[at].clear();
        }
        let folder = TempDir::new().unwrap();
        let store = lmdb(folder.path(), 1);
        let stored: Rows = rows.iter().map(|n| (key(n), vec![*n as u8, 7])).collect();
        let borrowed: Vec<(&[u8], &[u8])> = stored.iter().map(|(k, r)| (&k[..], &r[..])).collect();
        put(&store, &borrowed).unwrap();
        let snapshot = store.snapshot().unwrap();
        let mut asked = Asked { keys: &keys, found: vec![None; keys.len()] };
        Lmdb::reader(&snapshot).points(0, &mut asked).unwrap();
        for (key, found) in keys.iter().zip(&asked.found) {
            let expected = stored.iter().find(|(of, _)| of == key);
            prop_assert_eq!(found.as_ref(), expected, "{:?} of {:?}", key, keys);
        }
    }
}

#[test]
fn a_prefix_read_backwards_begins_at_its_last_key() {
    // The successor of equal length would be above a shorter key that is no part of it.
    let (within, above) = (vec![254, 255], vec![255]);
    on_both(
        1,
        &Random(vec![
            Step::Put(within.clone(), vec![]),
            Step::Put(above, vec![]),
            Step::Prefix(within, true, 2),
        ]),
    );
}

#[test]
fn a_snapshot_stays_as_it_was() {
    struct Stays;
    impl Scenario for Stays {
        fn run<S: Store>(&self, store: &S) {
            put(store, &[(b"a", b"1")]).unwrap();
            let snapshot = store.snapshot().unwrap();
            put(store, &[(b"a", b"2"), (b"b", b"2")]).unwrap();
            let before = read(&S::reader(&snapshot), everything(), false, 10);
            assert_eq!(before, [(b"a".to_vec(), b"1".to_vec())]);
            assert_eq!(all(store).len(), 2);
        }
    }
    on_both(1, &Stays);
}

#[test]
fn a_snapshot_sees_every_change_before_it_whatever_was_held_before() {
    struct Sees;
    impl Scenario for Sees {
        fn run<S: Store>(&self, store: &S) {
            let mut held = store.snapshot().unwrap();
            for i in 0..20_u8 {
                // One that is given back before the change, one held over it, two at once behind it.
                drop(store.snapshot().unwrap());
                put(store, &[(b"a", &[i])]).unwrap();
                let seen = || all(store)[0].1[0];
                assert_eq!((seen(), seen()), (i, i));
                let before = read(&S::reader(&held), everything(), false, 10);
                assert_eq!(before.first().map(|(_, row)| row[0]), i.checked_sub(1));
                held = store.snapshot().unwrap();
                assert_eq!(seen(), i);
            }
        }
    }
    on_both(1, &Sees);
}

#[test]
fn later_changes_see_earlier_ones_and_refusals_change_nothing() {
    struct Counts;
    impl Scenario for Counts {
        fn run<S: Store>(&self, store: &S) {
            let tickets: Vec<_> = (0..250).map(|_| increment(store, 200)).collect();
            for (i, ticket) in tickets.into_iter().enumerate() {
                match ticket.wait() {
                    Ok(value) => assert_eq!(usize::from(value), i + 1),
                    Err(ChangeError::Refused(why)) => {
                        assert!(i >= 200);
                        assert_eq!(why, "201 is above 200");
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            assert_eq!(all(store), [(b"counter".to_vec(), vec![200])]);
        }
    }
    on_both(1, &Counts);
}

#[test]
fn what_cannot_be_stored_is_refused_before_the_first_put() {
    struct Refuses;
    impl Scenario for Refuses {
        fn run<S: Store>(&self, store: &S) {
            let long = vec![1; MAX_KEY + 1];
            let error = put(store, &[(b"a", b"1"), (&long, b"2")])
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("a key of 1983 bytes in structure 0, where 1 to 1982"));
            let error = put(store, &[(b"", b"1")]).unwrap_err().to_string();
            assert!(error.starts_with("a key of 0 bytes in structure 0"));
            let mut writes = WriteSet::new();
            writes.put(Phase::Homes, 0, b"a".to_vec(), b"1".to_vec());
            writes.put(Phase::Homes, 9, b"a".to_vec(), b"1".to_vec());
            let job = move |_: &S::Reader<'_>| Ok::<_, String>((writes.clone(), ()));
            let error = store.change(job).unwrap_err().to_string();
            assert_eq!(error, "structure 9 was asked of a store of 1 structures");
            assert!(all(store).is_empty());
            put(store, &[(&long[..MAX_KEY], b"2")]).unwrap();
            assert_eq!(all(store).len(), 1);
        }
    }
    on_both(1, &Refuses);
}

#[test]
fn loads_take_sorted_rows_into_empty_structures() {
    struct Loads;
    impl Scenario for Loads {
        fn run<S: Store>(&self, store: &S) {
            let row = |i: u32| Ok((i.to_be_bytes().to_vec(), vec![7; 100]));
            assert_eq!(store.load(0, &mut (0..10_000).map(row)).unwrap(), 10_000);
            assert_eq!(all(store).len(), 10_000);
            let again = store.load(0, &mut (0..1).map(row)).unwrap_err();
            assert!(matches!(
                again,
                StoreError::Load {
                    structure: 0,
                    why: "it has rows already"
                }
            ));
            for unsorted in [[3, 2], [3, 3]] {
                let error = store
                    .load(1, &mut unsorted.into_iter().map(row))
                    .unwrap_err();
                assert!(matches!(
                    error,
                    StoreError::Load {
                        why: "rows are not sorted by key",
                        ..
                    }
                ));
            }
        }
    }
    on_both(2, &Loads);
}

#[test]
fn meta_entries_are_kept() {
    struct Keeps;
    impl Scenario for Keeps {
        fn run<S: Store>(&self, store: &S) {
            assert_eq!(store.meta("user.a").unwrap(), None);
            store.put_meta("user.a", b"1").unwrap();
            assert_eq!(store.meta("user.a").unwrap(), Some(b"1".to_vec()));
        }
    }
    on_both(1, &Keeps);
}

#[test]
fn a_failed_put_leaves_nothing_of_its_change() {
    fn check<S: Store>(store: &S, faults: &Faults) {
        put(store, &[(b"a", b"1")]).unwrap();
        for n in 1..=3 {
            faults.fail_put(n);
            let error = put(store, &[(b"a", b"2"), (b"b", b"2"), (b"c", b"2")]).unwrap_err();
            assert!(
                matches!(error, ChangeError::Store(StoreError::Full(_))),
                "{error}"
            );
            assert_eq!(all(store), [(b"a".to_vec(), b"1".to_vec())]);
        }
        faults.fail_commit(1);
        assert!(put(store, &[(b"b", b"2")]).is_err());
        assert_eq!(all(store).len(), 1);
        put(store, &[(b"b", b"2")]).unwrap();
        assert_eq!(all(store).len(), 2);
    }
    let faults = Arc::new(Faults::default());
    check(&Memory::with_faults(1, Arc::clone(&faults)), &faults);
    let folder = TempDir::new().unwrap();
    let options = Options {
        faults: Some(Arc::clone(&faults)),
        ..options()
    };
    check(
        &Lmdb::create(folder.path(), &names(1), &[], options).unwrap(),
        &faults,
    );
}

#[test]
fn the_changes_of_a_failed_batch_are_decided_again_one_by_one() {
    for fail in 1..40 {
        let folder = TempDir::new().unwrap();
        let faults = Arc::new(Faults::default());
        let options = Options {
            faults: Some(Arc::clone(&faults)),
            sync: false,
            ..options()
        };
        let store = Lmdb::create(folder.path(), &names(1), &[], options).unwrap();
        // The first holds the writer until the others are queued, so that all form one batch.
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let first = store.submit(move |_| {
            let _ = gate.recv();
            Ok::<_, ()>((WriteSet::new(), ()))
        });
        let tickets: Vec<_> = (0..40).map(|_| increment(&store, 30)).collect();
        if fail < 31 {
            faults.fail_put(fail);
        } else {
            faults.fail_commit(1);
        }
        drop(open);
        first.wait().unwrap();
        // The failure happens once and each change is tried again: the numbers and the refusals
        // are those of a run without it.
        let answers: Vec<_> = tickets.into_iter().map(|t| t.wait().ok()).collect();
        let expected: Vec<_> = (1..=40).map(|n| Some(n).filter(|n| *n <= 30)).collect();
        assert_eq!(answers, expected, "failure {fail}");
        assert_eq!(all(&store), [(b"counter".to_vec(), vec![30])]);
    }
}

#[test]
fn a_failed_sync_poisons_until_the_database_is_opened_again() {
    let folder = TempDir::new().unwrap();
    let faults = Arc::new(Faults::default());
    let options = Options {
        faults: Some(Arc::clone(&faults)),
        ..options()
    };
    let store = Lmdb::create(folder.path(), &names(1), &[], options.clone()).unwrap();
    put(&store, &[(b"a", b"1")]).unwrap();
    faults.fail_sync(1);
    for _ in 0..2 {
        let error = put(&store, &[(b"b", b"1")]).unwrap_err();
        assert!(matches!(error, ChangeError::Store(StoreError::Poisoned(_))));
        assert!(
            error.to_string().ends_with("close and open it again"),
            "{error}"
        );
    }
    assert!(matches!(
        store.put_meta("user.x", b""),
        Err(StoreError::Poisoned(_))
    ));
    assert_eq!(all(&store).len(), 1);
    drop(store);
    let store = Lmdb::open(folder.path(), options).unwrap();
    put(&store, &[(b"b", b"1")]).unwrap();
    assert_eq!(all(&store).len(), 2);
}

#[test]
fn a_change_that_panics_is_answered_and_the_writer_goes_on() {
    let folder = TempDir::new().unwrap();
    let store = lmdb(folder.path(), 1);
    let job = |_: &LmdbReader<'_>| -> Result<(WriteSet, ()), String> {
        panic!("as intended by this test")
    };
    let error = store.change(job).unwrap_err().to_string();
    assert!(error.contains("a change panicked"), "{error}");
    put(&store, &[(b"a", b"1")]).unwrap();
}

#[test]
fn a_full_map_refuses_and_keeps_what_was_there() {
    let folder = TempDir::new().unwrap();
    let small = Options {
        map_size: 1 << 20,
        ..options()
    };
    let store = Lmdb::create(folder.path(), &names(1), &[], small).unwrap();
    put(&store, &[(b"a", b"1")]).unwrap();
    let large = vec![1; 2 << 20];
    let error = put(&store, &[(b"b", &large)]).unwrap_err();
    assert!(
        matches!(error, ChangeError::Store(StoreError::Full(_))),
        "{error}"
    );
    put(&store, &[(b"c", b"1")]).unwrap();
    assert_eq!(all(&store).len(), 2);
}

#[test]
fn readers_do_not_block_the_writer_nor_it_them() {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(lmdb(folder.path(), 1));
    let held = store.snapshot().unwrap();
    let reading = {
        let store = Arc::clone(&store);
        std::thread::spawn(move || {
            for _ in 0..200 {
                // Both rows are written by one change, so they are equal in every snapshot.
                let rows = all(&*store);
                assert!(rows.is_empty() || rows[0].1 == rows[1].1);
            }
        })
    };
    for i in 0..50_u8 {
        put(&*store, &[(b"a", &[i]), (b"b", &[i])]).unwrap();
    }
    reading.join().unwrap();
    assert!(read(&held.reader(), Keys::Point(b"a".to_vec()), false, 1).is_empty());
}

#[test]
fn a_database_is_found_again_with_its_meta_record() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("db");
    let store = Lmdb::create(&path, &names(2), &[("model", b"model m")], options()).unwrap();
    put(&store, &[(b"a", b"1")]).unwrap();
    assert!(matches!(
        store.put_meta("format", b"2"),
        Err(StoreError::ReservedMeta(_))
    ));
    drop(store);
    let store = Lmdb::open(&path, options()).unwrap();
    assert_eq!(store.structures(), names(2));
    assert_eq!(store.meta("model").unwrap(), Some(b"model m".to_vec()));
    assert_eq!(store.rows(0).unwrap(), 1);
    assert_eq!(all(&store), [(b"a".to_vec(), b"1".to_vec())]);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("db");
    let open = || Lmdb::open(&path, options()).unwrap_err().to_string();

    let missing = format!(
        "there is no database at {}: the folder does not exist; `querent create` makes one",
        path.display()
    );
    assert_eq!(open(), missing);
    std::fs::create_dir(&path).unwrap();
    assert!(open().ends_with("the folder has no data.mdb"));
    std::fs::write(path.join("data.mdb"), vec![7; 20_000]).unwrap();
    assert!(open().contains("found a data.mdb that is not LMDB's"));
    let taken = Lmdb::create(&path, &names(1), &[], options())
        .unwrap_err()
        .to_string();
    assert!(taken.contains("exists and is not empty"), "{taken}");
    std::fs::remove_dir_all(&path).unwrap();

    let many = Lmdb::create(&path, &names(258), &[], options()).unwrap_err();
    assert_eq!(
        many.to_string(),
        "258 structures, where a database has 257 at most"
    );
    let store = Lmdb::create(&path, &names(257), &[], options()).unwrap();
    assert!(open().contains("is in use by another writer; close it there, or open it here for"));
    drop(store);

    let read_only = Options {
        read_only: true,
        ..options()
    };
    let store = Lmdb::open(&path, read_only).unwrap();
    let refused = put(&store, &[(b"a", b"1")]).unwrap_err().to_string();
    assert!(refused.contains("is open for reading only"), "{refused}");
}

/// Wherever a file was cut off, it is refused, or all of it can be read: the map has nothing behind
/// the end of the file.
/// What is written through memory must have its place on the disk: where that is full, the process
/// would be ended by a signal.
#[test]
#[cfg(unix)]
fn the_table_of_readers_has_its_place_on_the_disk() {
    use std::os::unix::fs::MetadataExt;
    let folder = TempDir::new().unwrap();
    let table = folder.path().join("lock.mdb");
    // What a create that was interrupted leaves behind is no database.
    std::fs::write(&table, "").unwrap();
    let store = lmdb(folder.path(), 1);
    let found = table.metadata().unwrap();
    assert!(found.blocks() * 512 >= found.len(), "{found:?}");
    assert_eq!(found.len(), (u64::from(options().max_readers) + 2) * 64);
    put(&store, &[(b"a", b"1")]).unwrap();
    let held: Vec<_> = (0..options().max_readers)
        .map_while(|_| store.snapshot().ok())
        .collect();
    assert_eq!(held.len(), options().max_readers as usize);
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_opened_is_named() {
    use std::fs::{File, Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    drop(lmdb(folder.path(), 1));
    let (data, table) = (
        folder.path().join("data.mdb"),
        folder.path().join("lock.mdb"),
    );
    let read_only = Options {
        read_only: true,
        ..options()
    };
    let open = || {
        Lmdb::open(folder.path(), read_only.clone())
            .unwrap_err()
            .to_string()
    };
    set_permissions(&data, Permissions::from_mode(0o0)).unwrap();
    // A user who may open every file cannot see the refusal.
    if File::open(&data).is_ok() {
        return;
    }
    assert!(open().starts_with(&format!("opening {}: ", data.display())));
    set_permissions(&data, Permissions::from_mode(0o400)).unwrap();
    set_permissions(&table, Permissions::from_mode(0o400)).unwrap();
    assert!(open().starts_with(&format!("opening {} to write", table.display())));
    set_permissions(folder.path(), Permissions::from_mode(0o0)).unwrap();
    let found = open();
    set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    assert!(found.starts_with(&format!("opening {}: ", data.display())));
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("db");
    let data = path.join("data.mdb");
    let store = lmdb(&path, 2);
    // Several levels, values on pages of their own, and free pages among the others.
    for round in 0..3_u8 {
        let mut writes = WriteSet::new();
        for i in 0..800_u32 {
            let size = if i % 100 == 0 { 9000 } else { 60 };
            let (key, row) = (i.to_be_bytes().to_vec(), vec![round; size]);
            writes.put(Phase::Homes, (i % 2) as u16, key, row);
        }
        let job = move |_: &LmdbReader<'_>| Ok::<_, StoreError>((writes.clone(), ()));
        store.change(job).unwrap();
    }
    let rows = all(&store);
    drop(store);
    let bytes = std::fs::read(&data).unwrap();
    let (mut refused, mut whole) = (0, 0);
    for length in (0..bytes.len()).step_by(2048).chain([bytes.len()]) {
        std::fs::write(&data, &bytes[..length]).unwrap();
        let read_only = Options {
            read_only: true,
            ..options()
        };
        match Lmdb::open(&path, read_only) {
            Ok(store) => {
                assert_eq!(all(&store), rows);
                whole += 1;
            }
            Err(error) => {
                assert!(
                    matches!(error, StoreError::Format { .. }),
                    "{length}: {error}"
                );
                refused += 1;
            }
        }
        assert_eq!(std::fs::metadata(&data).unwrap().len(), length as u64);
    }
    assert!(
        refused > 20 && whole >= 1,
        "{refused} refused, {whole} whole"
    );
}

/// Writes to the environment behind the store's back.
#[expect(unsafe_code, reason = "heed opens environments so")]
fn set_meta(path: &Path, name: &str, value: Option<&[u8]>) {
    use heed::types::Bytes;
    // SAFETY: the store is closed, so nobody else has the file.
    let env = unsafe { heed::EnvOpenOptions::new().max_dbs(2).open(path) }.unwrap();
    let txn = env.write_txn().unwrap();
    env.create_databases_and_commit(txn, |opener, txn| -> heed::Result<_> {
        let meta = opener.create_database::<Bytes, Bytes>(txn, Some("@meta"))?;
        match value {
            Some(value) => meta.put(txn, name.as_bytes(), value)?,
            None => meta.delete(txn, name.as_bytes()).map(drop)?,
        }
        Ok(heed::CommitOrAbort::<_, ()>::Commit(meta))
    })
    .unwrap();
    env.prepare_for_closing().wait();
}

#[test]
fn another_format_is_not_opened() {
    let folder = TempDir::new().unwrap();
    let error = || {
        Lmdb::open(folder.path(), options())
            .unwrap_err()
            .to_string()
    };
    drop(lmdb(folder.path(), 1));
    set_meta(folder.path(), "format", Some(b"querent 2"));
    assert!(
        error()
            .ends_with("found format \"querent 2\", expected a database of format \"querent 1\"")
    );
    set_meta(folder.path(), "format", None);
    assert!(error().contains("found a meta record without the entry \"format\""));
    set_meta(folder.path(), "format", Some(b"querent 1"));
    set_meta(folder.path(), "structures", Some(b"[\"other\"]"));
    assert!(error().contains("found no database of the structure \"other\""));
    set_meta(folder.path(), "structures", Some(b"nonsense"));
    assert!(error().contains("found a list of structures that is not JSON"));
}

#[test]
fn a_build_takes_the_place_of_a_database_or_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("db");
    let row = |i: u32| Ok((i.to_be_bytes().to_vec(), vec![7; 200]));
    let building = Building::create(&path, &names(1), &[], options()).unwrap();
    building.load(0, &mut (0..1000).map(row)).unwrap();
    assert!(matches!(
        Lmdb::open(&path, options()),
        Err(StoreError::Missing { .. })
    ));
    drop(building);
    assert!(matches!(
        Lmdb::open(&path, options()),
        Err(StoreError::Missing { .. })
    ));

    let building = Building::create(&path, &names(1), &[], options()).unwrap();
    building.load(0, &mut (0..1000).map(row)).unwrap();
    building.put_meta("model", b"m").unwrap();
    let store = building.finish().unwrap();
    assert_eq!(store.rows(0).unwrap(), 1000);

    // A failure half-way: the old database is whole.
    let building = Building::replace(store, &names(2), &[]).unwrap();
    let mut failing = (0..5)
        .map(row)
        .chain([Err(StoreError::Engine("the input ends".into()))]);
    building.load(0, &mut failing).unwrap_err();
    drop(building);
    let store = Lmdb::open(&path, options()).unwrap();
    assert_eq!(store.rows(0).unwrap(), 1000);

    let building = Building::replace(store, &names(2), &[]).unwrap();
    let old = building.old().unwrap().rows(0).unwrap() as u32;
    building.load(0, &mut (0..old * 2).map(row)).unwrap();
    let store = building.finish().unwrap();
    assert_eq!(
        (store.rows(0).unwrap(), store.structures().len()),
        (2000, 2)
    );
    assert_eq!(store.meta("model").unwrap(), None);
    put(&store, &[(b"a", b"1")]).unwrap();
    assert!(!path.join("building").exists());

    // While a snapshot is held the data file is not replaced under it.
    let snapshot = store.snapshot().unwrap();
    let building = Building::replace(store, &names(1), &[]).unwrap();
    let error = building.finish().unwrap_err().to_string();
    assert!(
        error.contains("in use by a snapshot of this process"),
        "{error}"
    );
    drop(snapshot);
    assert_eq!(Lmdb::open(&path, options()).unwrap().rows(0).unwrap(), 2001);
}

#[test]
fn the_default_map_is_a_tebibyte_of_address_space_only() {
    let folder = TempDir::new().unwrap();
    let store = Lmdb::create(folder.path(), &names(1), &[], Options::default()).unwrap();
    put(&store, &[(b"a", b"1")]).unwrap();
    assert!(store.disk_bytes().unwrap() < 1 << 20);
}

#[test]
fn remote_sources_wait_until_the_store_is_ready() {
    let store = Memory::remote(
        1,
        Remote {
            seed: 7,
            wait_one_in: 2,
        },
    );
    let row = |i: u8| Ok((vec![i], vec![i]));
    store.load(0, &mut (0..100).map(row)).unwrap();
    let read = Read {
        structure: 0,
        keys: everything(),
        reverse: true,
        limit: None,
    };
    let mut source = store.view().open(&read).unwrap();
    let mut batch = Batch::default();
    let mut waits = 0;
    loop {
        match source.fill(3, &mut batch).unwrap() {
            Fill::Rows => {}
            Fill::End => break,
            Fill::Wait => {
                assert_eq!(source.fill(3, &mut batch).unwrap(), Fill::Wait);
                waits += 1;
                store.ready();
            }
        }
    }
    assert!(waits > 5);
    let keys: Vec<_> = batch.rows.iter().map(|(key, _)| key[0]).collect();
    assert_eq!(keys, (0..100).rev().collect::<Vec<u8>>());
}

#[test]
fn remote_writes_are_applied_phase_by_phase_up_to_a_crash() {
    let mut writes = WriteSet::new();
    for (i, phase) in (0_u8..).zip(Phase::ALL) {
        // The keys are in the opposite order of the phases.
        writes.put(phase, 0, vec![9 - i], vec![i]);
    }
    for crash in 0..=5 {
        let store = Memory::remote(
            1,
            Remote {
                seed: 0,
                wait_one_in: 0,
            },
        );
        let live = store.view();
        store.crash_after(crash);
        assert_eq!(store.apply_all(&writes).is_ok(), crash == 5);
        let rows = read(&live, everything(), true, 9);
        let applied: Vec<_> = rows.iter().map(|(_, row)| u64::from(row[0])).collect();
        assert_eq!(applied, (0..crash).collect::<Vec<_>>());
        store.recover();
        store.apply_all(&writes).unwrap();
        assert_eq!(store.rows(0).len(), 5);
    }
}

#[test]
fn every_design_for_this_store_has_room() {
    let target = querent_compiler::design::Options::embedded().target;
    // One more is for the sequences of a model.
    let most = target.limits.structures + 1;
    assert_eq!(most, querent::store::lmdb::MAX_STRUCTURES);
    let folder = TempDir::new().unwrap();
    let store = lmdb(folder.path(), most);
    store
        .change(move |_| -> Result<_, String> {
            let mut writes = WriteSet::new();
            for structure in 0..most {
                writes.put(Phase::Homes, structure as u16, vec![1], vec![2]);
            }
            Ok((writes, ()))
        })
        .unwrap();
    drop(store);
    let store = Lmdb::open(folder.path(), options()).unwrap();
    let snapshot = store.snapshot().unwrap();
    for structure in 0..most {
        let read = Read {
            structure: structure as u16,
            keys: Keys::Point(vec![1]),
            reverse: false,
            limit: None,
        };
        let mut batch = Batch::default();
        snapshot.reader().get(&read, &mut batch).unwrap();
        assert_eq!(batch.rows.len(), 1, "structure {structure}");
    }
}
