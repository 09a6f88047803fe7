//! What an open structure costs those who do not use it: the engine tells every transaction of every
//! database that is open. A get and a change of one row, in stores that differ in nothing but the
//! number of their structures, by turns.

use crate::Result;
use crate::measure::median;
use querent::store::lmdb::{Lmdb, MAX_STRUCTURES, Options};
use querent::store::{Batch, Keys, Phase, Read, Reader, Store, WriteSet};
use rustix::time::{ClockId, clock_gettime};
use std::convert::Infallible;

const SIZES: [usize; 5] = [1, 16, 64, 128, MAX_STRUCTURES];
const ROWS: u64 = 1_000;
const ROW: [u8; 60] = [7; 60];
const BLOCKS: u64 = 31;
const GETS: u64 = 20_000;
const CHANGES: u64 = 500;

/// Prints one line per number of structures.
pub fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut stores = vec![];
    for structures in SIZES {
        let names: Vec<String> = (0..structures).map(|i| format!("structure_{i}")).collect();
        let options = Options {
            sync: false,
            map_size: 1 << 30,
            ..Options::default()
        };
        let path = folder.path().join(structures.to_string());
        let store = Lmdb::create(&path, &names, &[], options)?;
        store.load(0, &mut (0..ROWS).map(|i| Ok((key(i), ROW.to_vec()))))?;
        stores.push(store);
    }
    let mut nanos = vec![[vec![], vec![], vec![]]; SIZES.len()];
    for block in 0..BLOCKS {
        for turn in 0..SIZES.len() {
            // Another size is the first of each block.
            let at = (turn + block as usize) % SIZES.len();
            let [gets, changes, both] = &mut nanos[at];
            let store = &stores[at];
            gets.push(timed(GETS, |i| get(store, i))?);
            changes.push(timed(CHANGES, |i| change(store, i))?);
            both.push(timed(CHANGES, |i| {
                change(store, i).and_then(|()| get(store, i))
            })?);
        }
    }
    println!("medians of {BLOCKS} blocks, µs of CPU time of all threads; a snapshot for each get");
    println!("| structures | a get | a change of one row | a change, and a get that sees it |");
    println!("|---|---|---|---|");
    for (structures, nanos) in SIZES.into_iter().zip(&mut nanos) {
        let [get, change, both] = nanos.each_mut().map(|n| median(n) / 1e3);
        println!("| {structures} | {get:.3} | {change:.2} | {both:.2} |");
    }
    Ok(())
}

fn key(i: u64) -> Vec<u8> {
    (i % ROWS).to_be_bytes().to_vec()
}

fn get(store: &Lmdb, i: u64) -> Result<()> {
    let read = Read {
        structure: 0,
        keys: Keys::Point(key(i.wrapping_mul(7919))),
        reverse: false,
        limit: Some(1),
    };
    let (snapshot, mut batch) = (store.snapshot()?, Batch::default());
    snapshot.reader().get(&read, &mut batch)?;
    match batch.rows.len() {
        1 => Ok(()),
        found => Err(format!("found {found} rows, expected 1").into()),
    }
}

fn change(store: &Lmdb, i: u64) -> Result<()> {
    let done = store.change(move |_| -> std::result::Result<_, Infallible> {
        let mut writes = WriteSet::new();
        writes.put(Phase::Homes, 0, key(i.wrapping_mul(7919)), ROW.to_vec());
        Ok((writes, ()))
    });
    done.map_err(|why| format!("{why:?}").into())
}

/// Nanoseconds of all threads for each call: changes are made by a thread of the store's own.
fn timed(calls: u64, call: impl Fn(u64) -> Result<()>) -> Result<f64> {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let start = now();
    for i in 0..calls {
        call(i)?;
    }
    Ok((now() - start) / calls as f64)
}
