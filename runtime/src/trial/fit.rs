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

/// Constants under which these structures' prices are nearest to what was measured, by the squares
/// of the relative errors, none below 0.
pub(super) fn fit(
    model: &Model,
    options: &Options,
    schema: &Schema,
    measured: &[Measured],
) -> Result<Cost, Error> {
    let mut best: Option<(f64, Cost)> = None;
    for near in NEAR {
        let mut options = options.clone();
        options.target.cost.near_rows = near;
        let (error, cost) = fit_near(model, &options, schema, measured)?;
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, cost));
        }
    }
    Ok(best.map_or_else(|| options.target.cost.clone(), |(_, cost)| cost))
}

/// The same for a given number of rows that are near, with the sum of the squares.
fn fit_near(
    model: &Model,
    options: &Options,
    schema: &Schema,
    measured: &[Measured],
) -> Result<(f64, Cost), Error> {
    let priced = |cost: Cost| -> Result<Vec<f64>, Error> {
        let mut options = options.clone();
        options.given = Some(schema.clone());
        options.target.cost = cost;
        let design = design(model, &options)?;
        let prices = measured.iter().map(|m| price(&design, m));
        Ok(prices.collect())
    };
    let start = deletes_follow(options.target.cost.clone());
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
    // What no constant explains stays: the parts of those that are not fitted.
    let mut known = start.clone();
    let mut constants: Vec<f64> = CONSTANTS
        .iter()
        .map(|(_, place)| *place(&mut known))
        .collect();
    let explained = |constants: &[f64], at: usize| -> f64 {
        let of = parts.iter().zip(constants);
        of.map(|(p, c)| p.get(at).copied().unwrap_or(0.0) * c).sum()
    };
    let rest: Vec<f64> = base
        .iter()
        .enumerate()
        .map(|(at, price)| price - explained(&constants, at))
        .collect();
    let timed: Vec<usize> = (0..measured.len())
        .filter(|&at| measured.get(at).is_some_and(|m| m.micros.is_finite()))
        .collect();
    let micros = |at: usize| measured.get(at).map_or(1.0, |m| m.micros);
    for _ in 0..ROUNDS {
        for k in 0..constants.len() {
            let (mut top, mut bottom) = (0.0, 0.0);
            for &at in &timed {
                let part = parts.get(k).and_then(|p| p.get(at)).copied().unwrap_or(0.0);
                let own = constants.get(k).copied().unwrap_or(0.0) * part;
                let others = explained(&constants, at) + rest.get(at).copied().unwrap_or(0.0) - own;
                let weight = micros(at).powi(-2);
                top += weight * part * (micros(at) - others);
                bottom += weight * part * part;
            }
            if let Some(constant) = constants.get_mut(k).filter(|_| bottom > 0.0) {
                *constant = (top / bottom).max(0.0);
            }
        }
    }
    let off = |at: usize| {
        let price = explained(&constants, at) + rest.get(at).copied().unwrap_or(0.0);
        (price / micros(at) - 1.0).powi(2)
    };
    let error = timed.iter().map(|&at| off(at)).sum();
    let mut found = start;
    for ((_, place), constant) in CONSTANTS.iter().zip(constants) {
        *place(&mut found) = constant;
    }
    Ok((error, deletes_follow(found)))
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

    /// Measurements that are prices give back the constants of these prices.
    #[test]
    fn constants_are_found_again() {
        let (model, _) = querent_compiler::parse("calibration.querent", CALIBRATION_MODEL);
        let model = model.unwrap();
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
            .map(|(name, question)| {
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
                m.micros = price(&priced, &m);
                m
            })
            .collect();
        options.target.cost = Options::embedded().target.cost;
        let mut found = fit(&model, &options, &schema, &measured).unwrap();
        let mut truth = truth;
        assert_eq!(found.near_rows, 1e4);
        for (name, place) in CONSTANTS {
            let (found, truth) = (*place(&mut found), *place(&mut truth));
            assert!(
                (found / truth - 1.0).abs() < 0.05,
                "{name}: {found}, {truth}"
            );
        }
    }
}
