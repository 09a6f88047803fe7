//! Two sides measured against each other in alternating blocks.

use crate::Result;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::ops::Range;

/// No fewer blocks than this, each side first in every other one.
pub const BLOCKS: u64 = 31;
/// A block lasts about so long, so that the clock and a neighbour's moment weigh little.
const BLOCK_NANOS: f64 = 2e7;

/// One side: answers the asks of these numbers and adds up what it read.
pub type Side<'a, T> = &'a dyn Fn(Range<u64>) -> Result<T>;

/// Medians of CPU time for an ask, and of the ratios block by block.
#[derive(Clone, Copy)]
pub struct Compared {
    pub base_nanos: f64,
    pub nanos: f64,
    pub ratio: f64,
    /// Of the median of the ratios, 95 %.
    pub interval: (f64, f64),
}

/// Time that this thread has been on a processor: on a shared machine the wall's clock measures the
/// neighbours.
pub fn cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Times both sides on the same asks, block by block, and checks that they read the same.
pub fn compare<T: PartialEq + std::fmt::Debug>(base: Side<T>, side: Side<T>) -> Result<Compared> {
    let time = |side: Side<T>, asks: Range<u64>| -> Result<(f64, T)> {
        let count = (asks.end - asks.start) as f64;
        let start = cpu_nanos();
        let read = black_box(side(asks)?);
        Ok(((cpu_nanos() - start) / count, read))
    };
    // The asks of a block are as many as the slower side does in its time; they warm caches too.
    let trial = 32;
    time(base, 0..trial)?;
    let slower = time(base, 0..trial)?.0.max(time(side, 0..trial)?.0);
    let asks = ((BLOCK_NANOS / slower) as u64).clamp(8, 200_000);
    let (mut bases, mut sides, mut ratios) = (vec![], vec![], vec![]);
    for block in 0..BLOCKS {
        let range = trial + block * asks..trial + (block + 1) * asks;
        let (b, s) = if block % 2 == 0 {
            let b = time(base, range.clone())?;
            (b, time(side, range)?)
        } else {
            let s = time(side, range.clone())?;
            (time(base, range)?, s)
        };
        if b.1 != s.1 {
            return Err(format!("the sides differ: {:?} and {:?}", b.1, s.1).into());
        }
        bases.push(b.0);
        sides.push(s.0);
        ratios.push(s.0 / b.0);
    }
    let (ratio, interval) = middle(&mut ratios);
    Ok(Compared {
        base_nanos: median(&mut bases),
        nanos: median(&mut sides),
        ratio,
        interval,
    })
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median of ratios, and the order statistics that hold it in 95 of 100 cases.
pub fn middle(ratios: &mut [f64]) -> (f64, (f64, f64)) {
    let middle = median(ratios);
    let n = ratios.len() as f64;
    let spread = (1.96 * n.sqrt() / 2.0).ceil();
    let at = |rank: f64| ratios[(rank.max(0.0) as usize).min(ratios.len() - 1)];
    (middle, (at(n / 2.0 - spread), at(n / 2.0 + spread)))
}
