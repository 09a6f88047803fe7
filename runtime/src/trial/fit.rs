//! Cost constants from measurements.
//!
//! A price is linear in the constants, so what a statement has of each (gets, rows, bytes, …) is what
//! its price gains where that constant grows. It is asked of the designer itself: nothing about
//! prices is known here.

use super::Measured;
use crate::Error;
use querent_compiler::design::target::Cost;
use querent_compiler::design::{Design, Options, design};
use querent_compiler::model::{Model, Schema};

/// A constant that is fitted: its name in the files, and its place.
type Constant = (&'static str, fn(&mut Cost) -> &mut f64);

/// The constants that are measured. What a step or a sort costs by itself is not told apart from its
/// gets and rows, and what is kept breaks ties only.
pub const CONSTANTS: [Constant; 10] = [
    ("ask", |c| &mut c.ask),
    ("partition", |c| &mut c.partition),
    ("get_doubling", |c| &mut c.get_doubling),
    ("row", |c| &mut c.row),
    ("byte", |c| &mut c.byte),
    ("sort_row", |c| &mut c.sort_row),
    ("change", |c| &mut c.change),
    ("insert", |c| &mut c.insert),
    ("write_doubling", |c| &mut c.write_doubling),
    ("write_byte", |c| &mut c.write_byte),
];

/// A delete finds its row as an insert finds its place, and the two are not told apart well enough to
/// be fitted alone.
const DELETE: f64 = 0.9;
/// By how much a constant grows to see what it does: little enough that no plan changes.
const NUDGE: f64 = 1e-7;
/// Rounds of the fit; each betters all constants once.
const ROUNDS: usize = 5000;

/// Rows that may be near: the prices are not linear in this one, so some are tried.
const NEAR: [f64; 6] = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5];

/// What is paid for rows that are not near.
const DOUBLINGS: [&str; 2] = ["get_doubling", "write_doubling"];
/// Where no structure has so many rows, none are far.
const FAR: f64 = 2e5;
/// A constant that may be off by more than this share of itself is not measured.
const UNSURE: f64 = 0.5;
/// No figure is nearer to the truth than this, however well the constants explain it.
const GRAIN: f64 = 0.02;

/// Constants, and which of them could not be measured.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) cost: Cost,
    /// Those that are as they were, by name: what was measured says too little of them.
    pub(super) kept: Vec<&'static str>,
}

/// Constants under which these structures' prices are nearest to what was measured, by the squares
/// of the relative errors, none below 0. Those of which the measurements say too little stay as they
/// are.
pub(super) fn fit(
    model: &Model,
    options: &Options,
    schema: &Schema,
    measured: &[Measured],
) -> Result<Fitted, Error> {
    let mut best: Option<(f64, Fitted)> = None;
    let rows = model.roots().map(|root| model.entity(root).count);
    let far = rows.fold(0.0, f64::max) >= FAR;
    for near in NEAR.into_iter().filter(|_| far) {
        let (error, fitted) = fit_near(model, options, schema, measured, near, &[])?;
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, fitted));
        }
    }
    let seen = |(_, fitted): &(f64, Fitted)| DOUBLINGS.iter().any(|d| !fitted.kept.contains(d));
    if let Some((_, fitted)) = best.filter(seen) {
        return Ok(fitted);
    }
    // Where nothing is far, nothing tells how many rows are near, nor what the others cost more:
    // any number would fit, and be wrong for many rows by as much as these are more.
    let near = options.target.cost.near_rows;
    let (_, mut fitted) = fit_near(model, options, schema, measured, near, &DOUBLINGS)?;
    fitted.kept.push("near_rows");
    Ok(fitted)
}

/// The same for a given number of rows that are near, some constants being kept, with the sum of the
/// squares.
fn fit_near(
    model: &Model,
    options: &Options,
    schema: &Schema,
    measured: &[Measured],
    near: f64,
    keep: &[&str],
) -> Result<(f64, Fitted), Error> {
    let priced = |cost: Cost| -> Result<Vec<f64>, Error> {
        let mut options = options.clone();
        options.given = Some(schema.clone());
        options.target.cost = cost;
        let design = design(model, &options)?;
        let prices = measured.iter().map(|m| price(&design, m));
        Ok(prices.collect())
    };
    let mut start = deletes_follow(options.target.cost.clone());
    start.near_rows = near;
    let base = priced(start.clone())?;
    let mut parts: Vec<Vec<f64>> = vec![];
    for (_, place) in CONSTANTS {
        let mut nudged = start.clone();
        *place(&mut nudged) += NUDGE;
        let with = priced(deletes_follow(nudged))?;
        parts.push(
            with.iter()
                .zip(&base)
                .map(|(w, b)| (w - b) / NUDGE)
                .collect(),
        );
    }
    let mut known = start.clone();
    let constants = CONSTANTS.iter().map(|(_, place)| *place(&mut known));
    let constants: Vec<f64> = constants.collect();
    let mut sums = Sums {
        parts,
        prices: base,
        micros: measured.iter().map(|m| m.micros).collect(),
        shipped: constants.clone(),
        constants,
        kept: CONSTANTS.iter().map(|(c, _)| keep.contains(c)).collect(),
    };
    // One after the other, the least certain first: what is kept makes others more certain.
    loop {
        sums.settle();
        let Some(k) = sums.least_certain() else { break };
        sums.keep(k);
    }
    let mut found = start;
    let mut kept = vec![];
    for (k, (name, place)) in CONSTANTS.iter().enumerate() {
        *place(&mut found) = sums.constants.get(k).copied().unwrap_or(0.0);
        if sums.kept.get(k) == Some(&true) {
            kept.push(*name);
        }
    }
    let fitted = Fitted {
        cost: deletes_follow(found),
        kept,
    };
    Ok((sums.error(), fitted))
}

/// Prices as sums of constants, each as often as a statement has it.
struct Sums {
    /// By constant and statement: how often.
    parts: Vec<Vec<f64>>,
    /// By statement: the price with the constants as they were.
    prices: Vec<f64>,
    /// By statement: what it takes; not a number where it was not run.
    micros: Vec<f64>,
    /// The constants as they were.
    shipped: Vec<f64>,
    constants: Vec<f64>,
    /// Those that stay as they were.
    kept: Vec<bool>,
}

impl Sums {
    fn part(&self, k: usize, at: usize) -> f64 {
        let part = self.parts.get(k).and_then(|p| p.get(at));
        part.copied().unwrap_or(0.0)
    }

    /// The price of a statement with the constants as they are now: what no constant explains stays.
    fn price(&self, at: usize) -> f64 {
        let grown = self.constants.iter().zip(&self.shipped).enumerate();
        let grown = grown.map(|(k, (now, was))| self.part(k, at) * (now - was));
        self.prices.get(at).copied().unwrap_or(0.0) + grown.sum::<f64>()
    }

    /// The statements that were run, and what they take.
    fn timed(&self) -> impl Iterator<Item = (usize, f64)> {
        let timed = self.micros.iter().copied().enumerate();
        timed.filter(|(_, micros)| micros.is_finite())
    }

    fn error(&self) -> f64 {
        let off = |(at, micros): (usize, f64)| (self.price(at) / micros - 1.0).powi(2);
        self.timed().map(off).sum()
    }

    /// Betters all constants that are not kept, in turns.
    fn settle(&mut self) {
        for _ in 0..ROUNDS {
            for k in 0..self.constants.len() {
                if self.kept.get(k) == Some(&true) {
                    continue;
                }
                let now = self.constants.get(k).copied().unwrap_or(0.0);
                let (mut top, mut bottom) = (0.0, 0.0);
                for (at, micros) in self.timed() {
                    let part = self.part(k, at);
                    let others = self.price(at) - now * part;
                    let weight = micros.powi(-2);
                    top += weight * part * (micros - others);
                    bottom += weight * part * part;
                }
                if let Some(constant) = self.constants.get_mut(k).filter(|_| bottom > 0.0) {
                    *constant = (top / bottom).max(0.0);
                }
            }
        }
    }

    fn keep(&mut self, k: usize) {
        if let (Some(constant), Some(was)) = (self.constants.get_mut(k), self.shipped.get(k)) {
            *constant = *was;
        }
        if let Some(kept) = self.kept.get_mut(k) {
            *kept = true;
        }
    }

    /// The constant that may be off by the largest share of itself (or of what it was, where it is
    /// less), if that is too much: by the standard errors of the least squares, for the errors that
    /// are left.
    fn least_certain(&self) -> Option<usize> {
        let free: Vec<usize> = (0..self.constants.len())
            .filter(|&k| self.kept.get(k) == Some(&false))
            .collect();
        let normal: Vec<Vec<f64>> = free
            .iter()
            .map(|&j| {
                let sum = |k: usize| {
                    let both = |(at, micros): (usize, f64)| {
                        self.part(j, at) * self.part(k, at) / micros.powi(2)
                    };
                    self.timed().map(both).sum()
                };
                free.iter().map(|&k| sum(k)).collect()
            })
            .collect();
        let left = self.timed().count().saturating_sub(free.len()).max(1);
        let spread = (self.error() / left as f64).sqrt().max(GRAIN);
        let errors = variances(normal).into_iter().map(|v| spread * v.sqrt());
        let unsure = free.into_iter().zip(errors).map(|(k, error)| {
            let of = |values: &[f64]| values.get(k).copied().unwrap_or(0.0);
            let size = of(&self.constants).max(of(&self.shipped));
            (k, error / size.max(1e-12))
        });
        let (k, share) = unsure.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        (share > UNSURE).then_some(k)
    }
}

/// The diagonal of the inverse of a symmetric matrix; infinite where it has none.
fn variances(mut of: Vec<Vec<f64>>) -> Vec<f64> {
    let n = of.len();
    for (i, row) in of.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    let mut lost = vec![false; n];
    for i in 0..n {
        let pivot = of.get(i).and_then(|row| row.get(i)).copied();
        let scale = pivot.unwrap_or(0.0);
        if scale <= 1e-12 {
            if let Some(lost) = lost.get_mut(i) {
                *lost = true;
            }
            continue;
        }
        let row: Vec<f64> = of.get(i).into_iter().flatten().map(|v| v / scale).collect();
        for (j, other) in of.iter_mut().enumerate() {
            if j == i {
                other.clone_from(&row);
                continue;
            }
            let times = other.get(i).copied().unwrap_or(0.0);
            for (value, own) in other.iter_mut().zip(&row) {
                *value -= times * own;
            }
        }
    }
    let inverse = of.iter().enumerate().zip(lost);
    let inverse = inverse.map(|((i, row), lost)| {
        let value = row.get(n + i).copied().filter(|_| !lost);
        value.map_or(f64::INFINITY, |v| v.max(0.0))
    });
    inverse.collect()
}

/// What a statement costs in a design.
pub(super) fn price(design: &Design, of: &Measured) -> f64 {
    let question = design
        .plans
        .iter()
        .find(|p| of.question && p.name == of.name);
    let change = design
        .writes
        .iter()
        .find(|w| !of.question && w.name == of.name);
    question.map_or_else(|| change.map_or(0.0, |w| w.cost), |p| p.cost)
}

fn deletes_follow(mut cost: Cost) -> Cost {
    cost.delete = cost.insert * DELETE;
    cost
}

#[cfg(test)]
mod tests {
    use super::super::CALIBRATION_MODEL;
    use super::*;

    /// Times that are prices under other constants, each by so much off, in turns up and down; of
    /// so many rows.
    fn fitted(rows: f64, off: f64) -> (Fitted, Cost) {
        let (model, _) = querent_compiler::parse("calibration.querent", CALIBRATION_MODEL);
        let model = model.unwrap().scaled(rows);
        let schema = model.schemas[0].clone();
        let mut options = Options::embedded();
        options.given = Some(schema.clone());
        let mut truth = options.target.cost.clone();
        let known = [0.7, 0.3, 0.05, 0.09, 0.0004, 0.2, 30.0, 4.0, 0.8, 0.006];
        for ((_, place), value) in CONSTANTS.iter().zip(known) {
            *place(&mut truth) = value;
        }
        truth.near_rows = 1e4;
        let truth = deletes_follow(truth);
        options.target.cost = truth.clone();
        let priced = design(&model, &options).unwrap();
        let named = priced.plans.iter().map(|p| (&p.name, true));
        let named = named.chain(priced.writes.iter().map(|w| (&w.name, false)));
        let measured: Vec<Measured> = named
            .enumerate()
            .map(|(at, (name, question))| {
                let mut m = Measured {
                    name: name.clone(),
                    question,
                    weight: 1.0,
                    estimated: 0.0,
                    micros: 0.0,
                    rows: 1.0,
                    runs: 1,
                    refused: 0,
                    refusal: None,
                };
                let turned = if at % 2 == 0 { 1.0 + off } else { 1.0 - off };
                m.micros = price(&priced, &m) * turned;
                m
            })
            .collect();
        options.target.cost = Options::embedded().target.cost;
        let fitted = fit(&model, &options, &schema, &measured).unwrap();
        (fitted, truth)
    }

    /// Measurements that are prices give back the constants of these prices.
    #[test]
    fn constants_are_found_again() {
        let (fitted, mut truth) = fitted(f64::INFINITY, 0.0);
        assert!(fitted.kept.is_empty(), "{:?}", fitted.kept);
        let mut found = fitted.cost;
        assert_eq!(found.near_rows, 1e4);
        for (name, place) in CONSTANTS {
            let (found, truth) = (*place(&mut found), *place(&mut truth));
            assert!(
                (found / truth - 1.0).abs() < 0.05,
                "{name}: {found}, {truth}"
            );
        }
    }

    /// Few rows are all near: what a get costs more among many is not seen, and stays as it ships.
    #[test]
    fn what_few_rows_do_not_show_is_kept() {
        let (few, mut truth) = fitted(8000.0, 0.05);
        for name in ["get_doubling", "write_doubling", "near_rows"] {
            assert!(few.kept.contains(&name), "{name}: {:?}", few.kept);
        }
        let mut shipped = deletes_follow(Options::embedded().target.cost);
        let mut found = few.cost;
        assert_eq!(found.near_rows, shipped.near_rows);
        for (name, place) in CONSTANTS {
            let found = *place(&mut found);
            if few.kept.contains(&name) {
                assert_eq!(found, *place(&mut shipped), "{name}");
            } else {
                let truth = *place(&mut truth);
                assert!(
                    (found / truth - 1.0).abs() < 1.0,
                    "{name}: {found}, {truth}"
                );
            }
        }
        let (many, _) = fitted(f64::INFINITY, 0.05);
        assert!(many.kept.len() < few.kept.len(), "{:?}", many.kept);
    }

    #[test]
    fn variances_are_those_of_the_inverse() {
        let found = variances(vec![vec![4.0, 2.0], vec![2.0, 3.0]]);
        let wanted = [3.0 / 8.0, 4.0 / 8.0];
        let off = found.iter().zip(wanted).map(|(a, b)| (a - b).abs());
        assert!(off.sum::<f64>() < 1e-12, "{found:?}");
        let alike = variances(vec![vec![1.0, 1.0], vec![1.0, 1.0]]);
        assert!(alike.iter().any(|v| v.is_infinite()), "{alike:?}");
    }
}
