//! The constants of the embedded store on this machine.

use super::{BLOCKS, Measured, Trial, fit};
use crate::load::Progress;
use crate::schema::Schema;
use crate::store::lmdb::Lmdb;
use crate::{Database, Error};
use querent_compiler::design::target::Cost;
use querent_compiler::design::{Options, design};
use querent_compiler::model;
use std::path::Path;
use std::time::Instant;

/// The model that is measured, with its schema.
pub const MODEL: &str = include_str!("calibration.querent");
/// Rows of that model: what fewer say of large data is little.
pub const ROWS: u32 = 361_000;
/// Changes that are synced, one after the other.
const SYNCED: usize = 32;

/// What was found.
#[derive(Debug)]
pub struct Calibration {
    /// The constants, in microseconds.
    pub cost: Cost,
    /// Those of them, by name, that are as they ship: so few rows, or times that differ so much, say
    /// too little of them.
    pub kept: Vec<&'static str>,
    /// What they were found from; the estimates are those of the constants.
    pub measured: Vec<Measured>,
    /// Rows loaded.
    pub rows: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Microseconds that a change by itself waits until it is on the disk: in no price, because
    /// changes that are made at the same time wait together.
    pub sync_micros: f64,
}

/// Something happens that may take long.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stage<'a> {
    /// The load.
    Load(Progress),
    /// A statement is measured: its number from 1, of how many, and its name.
    Statement(usize, usize, &'a str),
}

/// Loads made-up facts, at most so many rows, into a folder that is not there yet, and measures.
pub fn calibrate(
    folder: &Path,
    rows: f64,
    told: &mut dyn FnMut(Stage<'_>),
) -> Result<Calibration, Error> {
    let (model, found) = querent_compiler::parse("calibration.querent", MODEL);
    let model = model.ok_or(Error::Model(found))?.scaled(rows);
    let given = model.schemas.first().cloned();
    let given = given.unwrap_or_else(|| model::Schema {
        splits: vec![],
        name: String::new(),
        structures: vec![],
    });
    let options = Options {
        given: Some(given.clone()),
        ..Options::embedded()
    };
    let schema = Schema::new(model.clone(), design(&model, &options)?);
    let trial = Trial::create(folder, MODEL, schema, &mut |p| told(Stage::Load(p)))?;
    let of = model.questions.len() + model.changes.len();
    let mut step = 0;
    let mut measured = trial.measure(BLOCKS, &mut |name| {
        step += 1;
        told(Stage::Statement(step, of, name));
    })?;
    let (rows, bytes) = (trial.rows, trial.bytes);
    drop(trial);
    let sync_micros = synced(folder, &measured)?;
    let fit::Fitted { cost, kept } = fit::fit(&model, &options, &given, &measured)?;
    let mut priced = options;
    priced.target.cost = cost.clone();
    let priced = design(&model, &priced)?;
    for m in &mut measured {
        m.estimated = fit::price(&priced, m);
    }
    Ok(Calibration {
        cost,
        kept,
        measured,
        rows,
        bytes,
        sync_micros,
    })
}

/// What a synced change takes longer than one that is not.
fn synced(folder: &Path, measured: &[Measured]) -> Result<f64, Error> {
    const CHANGE: &str = "add_narrow";
    let database: Database<Lmdb> = Database::open(folder)?;
    let mut took = vec![];
    for at in 0..SYNCED {
        let params = serde_json::json!({ "id": -1 - at as i64, "body": "synced" });
        let start = Instant::now();
        database.change(CHANGE, params)?;
        took.push(start.elapsed().as_secs_f64() * 1e6);
    }
    took.sort_by(f64::total_cmp);
    let unsynced = measured.iter().find(|m| m.name == CHANGE);
    let middle = took.get(took.len() / 2).copied().unwrap_or(0.0);
    Ok((middle - unsynced.map_or(0.0, |m| m.micros)).max(0.0))
}
