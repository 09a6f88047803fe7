//! What the boundary costs: reads through `Reader`, `Source` and `Layout` against hand-written heed
//! code on the same environment, in alternating blocks.
//!
//! The structure is that of a front page: key (category, posted_at, id), columns title, url, score
//! and the author's name. Both sides read the same values of every row and add them up, so that
//! neither can leave one out.

mod plain;

use querent::layout::{Column, KeyPart, Layout, ValueRef};
use querent::store::lmdb::{Lmdb, LmdbReader, Options};
use querent::store::{Batch, Fill, Keys, Read, Reader, Source, Store};
use querent_compiler::model::{Direction, Size, Type};
use querent_compiler::value::Value;

use crate::Result;
use std::hint::black_box;

const CATEGORIES: u64 = 50;
const ROWS_EACH: u64 = 4_000;
const PAGE: usize = 50;
const BLOCKS: usize = 41;
const READS: u64 = 4_000;

/// Positions in the layout: key parts, then columns.
const POSTED_AT: usize = 1;
const TITLE: usize = 3;
const URL: usize = 4;
const SCORE: usize = 5;
const AUTHOR: usize = 6;

fn layout() -> Layout {
    let text = |avg| Type::Text(Size { avg, max: None });
    let part = |ty| KeyPart {
        ty,
        optional: false,
        direction: Direction::Asc,
        hashed: false,
    };
    let column = |ty, optional| Column { ty, optional };
    Layout::new(
        vec![
            part(text(12.0)),
            part(Type::Timestamp),
            part(Type::TimeUuid),
        ],
        vec![
            column(text(60.0), false),
            column(text(80.0), false),
            column(Type::Int, false),
            column(text(20.0), true),
        ],
    )
}

fn category(i: u64) -> String {
    format!("category {i:03}")
}

fn key(category_number: u64, i: u64) -> [Value; 3] {
    let mut id = [0x11; 16];
    id[..8].copy_from_slice(&(i * 77).to_be_bytes());
    [
        Value::Text(category(category_number)),
        Value::Timestamp(1_700_000_000_000 + i as i64 * 1_000),
        Value::TimeUuid(id),
    ]
}

fn row(category: u64, i: u64) -> Vec<Value> {
    let text = |n: u64, seed: u64| Value::Text(format!("{seed:06} ").repeat(n as usize / 7));
    vec![
        text(40 + i % 40, i),
        text(60 + i % 40, i + category),
        Value::Int((i % 1000) as i64),
        if i % 50 == 0 {
            Value::Null
        } else {
            text(14 + i % 14, i)
        },
    ]
}

/// What is computed of a row: enough to force every value to be read.
#[derive(Default, PartialEq, Debug)]
struct Sum {
    rows: u64,
    bytes: u64,
    numbers: i64,
}

impl Sum {
    fn add(&mut self, texts: [&str; 3], numbers: i64) {
        self.rows += 1;
        self.bytes += texts.iter().map(|t| t.len() as u64).sum::<u64>();
        self.numbers = self.numbers.wrapping_add(numbers);
    }
}

pub fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let layout = layout();
    let options = Options {
        sync: false,
        ..Options::default()
    };
    let path = folder.path().join("querent");
    let store = Lmdb::create(&path, &["front_page".to_owned()], &[], options.clone())?;
    let mut rows = (0..CATEGORIES)
        .flat_map(|c| (0..ROWS_EACH).map(move |i| (c, i)))
        .map(|(c, i)| {
            let key = layout
                .encode_key(&key(c, i))
                .expect("the key fits its layout");
            Ok((key, layout.encode_row(&[], &row(c, i))))
        });
    let count = store.load(0, &mut rows)?;
    drop(rows);
    drop(store);
    // heed opens a file once per process: the hand-written side has a copy, equal to the byte.
    let copy = folder.path().join("plain");
    std::fs::create_dir(&copy)?;
    std::fs::copy(path.join("data.mdb"), copy.join("data.mdb"))?;
    let store = Lmdb::open(&path, options)?;
    let plain = plain::Plain::open(&copy)?;
    println!("{count} rows; {BLOCKS} alternating blocks of {READS} reads; medians of CPU time");

    let layout = &layout;
    compare(
        "50-row reverse scan, a transaction each",
        PAGE as u64,
        |block| plain.scans(block),
        |block| {
            let mut sum = Sum::default();
            for i in block {
                scan(
                    &store.snapshot()?.reader(),
                    layout,
                    i,
                    &mut Batch::default(),
                    &mut sum,
                )?;
            }
            Ok(sum)
        },
    )?;
    compare(
        "50-row reverse scan, one transaction",
        PAGE as u64,
        |block| plain.scans_in_one(block),
        |block| {
            let (snapshot, mut sum) = (store.snapshot()?, Sum::default());
            let (reader, mut batch) = (snapshot.reader(), Batch::default());
            for i in block {
                scan(&reader, layout, i, &mut batch, &mut sum)?;
            }
            Ok(sum)
        },
    )?;
    compare(
        "point get, a transaction each",
        1,
        |block| plain.gets(block),
        |block| {
            let mut sum = Sum::default();
            for i in block {
                get(
                    &store.snapshot()?.reader(),
                    layout,
                    i,
                    &mut Batch::default(),
                    &mut sum,
                )?;
            }
            Ok(sum)
        },
    )?;
    compare(
        "point get, one transaction",
        1,
        |block| plain.gets_in_one(block),
        |block| {
            let (snapshot, mut sum) = (store.snapshot()?, Sum::default());
            let (reader, mut batch) = (snapshot.reader(), Batch::default());
            for i in block {
                get(&reader, layout, i, &mut batch, &mut sum)?;
            }
            Ok(sum)
        },
    )
}

/// Which category and which post the i-th read asks for.
fn asked(i: u64) -> (u64, u64) {
    let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    (mixed % CATEGORIES, mixed / CATEGORIES % ROWS_EACH)
}

fn scan<'t>(
    reader: &LmdbReader<'t>,
    layout: &Layout,
    i: u64,
    batch: &mut Batch<&'t [u8]>,
    sum: &mut Sum,
) -> Result<()> {
    let lower = layout.encode_key(&[Value::Text(category(asked(i).0))])?;
    let upper = querent::key::successor(&lower);
    let keys = Keys::Range { lower, upper };
    read(
        reader,
        &Read {
            structure: 0,
            keys,
            reverse: true,
            limit: Some(PAGE),
        },
        layout,
        batch,
        sum,
    )
}

fn get<'t>(
    reader: &LmdbReader<'t>,
    layout: &Layout,
    i: u64,
    batch: &mut Batch<&'t [u8]>,
    sum: &mut Sum,
) -> Result<()> {
    let (category, post) = asked(i);
    let keys = Keys::Point(layout.encode_key(&key(category, post))?);
    read(
        reader,
        &Read {
            structure: 0,
            keys,
            reverse: false,
            limit: Some(1),
        },
        layout,
        batch,
        sum,
    )
}

fn read<'t>(
    reader: &LmdbReader<'t>,
    read: &Read,
    layout: &Layout,
    batch: &mut Batch<&'t [u8]>,
    sum: &mut Sum,
) -> Result<()> {
    let limit = read.limit.unwrap_or(PAGE);
    let mut source = reader.open(read)?;
    batch.rows.clear();
    while batch.rows.len() < limit {
        if source.fill(limit - batch.rows.len(), batch)? == Fill::End {
            break;
        }
    }
    for &(key, row) in &batch.rows {
        let value = |column| layout.value_ref(key, row, column);
        let (title, url, author) = (value(TITLE)?, value(URL)?, value(AUTHOR)?);
        let (ValueRef::Timestamp(at), ValueRef::Int(score)) = (value(POSTED_AT)?, value(SCORE)?)
        else {
            return Err("another type".into());
        };
        sum.add([text(&title), text(&url), text(&author)], at + score);
    }
    Ok(())
}

fn text<'a>(value: &'a ValueRef<'_>) -> &'a str {
    match value {
        ValueRef::Text(text) => text,
        _ => "",
    }
}

/// Time that this thread has been on a processor: on a shared machine the wall's clock measures the
/// neighbours.
fn cpu_nanos() -> Result<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(stat
        .split(' ')
        .next()
        .ok_or("no time of this thread")?
        .parse()?)
}

/// Times both sides block by block, each first in turn, and prints the medians.
fn compare(
    what: &str,
    rows: u64,
    plain: impl Fn(std::ops::Range<u64>) -> Result<Sum>,
    boundary: impl Fn(std::ops::Range<u64>) -> Result<Sum>,
) -> Result<()> {
    let reads = if rows == 1 { READS * 10 } else { READS };
    let time = |side: &dyn Fn(std::ops::Range<u64>) -> Result<Sum>, block: u64| {
        let start = cpu_nanos()?;
        let sum = black_box(side(block * reads..(block + 1) * reads)?);
        Ok::<_, Box<dyn std::error::Error>>((
            (cpu_nanos()? - start) as f64 / (reads * rows) as f64,
            sum,
        ))
    };
    let (mut plains, mut boundaries, mut ratios) = (vec![], vec![], vec![]);
    for block in 0..BLOCKS as u64 {
        let (p, b) = if block % 2 == 0 {
            let p = time(&plain, block)?;
            (p, time(&boundary, block)?)
        } else {
            let b = time(&boundary, block)?;
            (time(&plain, block)?, b)
        };
        assert_eq!(p.1, b.1, "both sides read the same values");
        plains.push(p.0);
        boundaries.push(b.0);
        ratios.push(b.0 / p.0);
    }
    let quantile = |values: &mut Vec<f64>, q: usize| {
        values.sort_by(f64::total_cmp);
        values[values.len() * q / 4]
    };
    println!(
        "{what}: hand-written {:.1} ns a row, boundary {:.1} ns a row, ratio {:.3} (quartiles {:.3} to {:.3})",
        quantile(&mut plains, 2),
        quantile(&mut boundaries, 2),
        quantile(&mut ratios, 2),
        quantile(&mut ratios, 1),
        quantile(&mut ratios, 3),
    );
    Ok(())
}
