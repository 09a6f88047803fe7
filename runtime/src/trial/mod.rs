//! Trials: a design on made-up facts in the model's own volumes, every question and change run and
//! timed, beside what the design estimated.

mod calibrate;
mod draw;
mod fit;
mod sample;

pub use calibrate::{
    Calibration, MODEL as CALIBRATION_MODEL, ROWS as CALIBRATION_ROWS, Stage, calibrate,
};
pub use draw::Draw;
pub use fit::CONSTANTS;
pub use sample::{Instance, Sample};

use crate::change::ChangeFailure;
use crate::load::{LoadOptions, Progress};
use crate::operator::{AskError, RowView};
use crate::schema::Schema;
use crate::store::Reader;
use crate::store::lmdb::{self, Lmdb};
use crate::{Database, Error};
use querent_compiler::model::{Change, Expr, Item, Model, Question};
use std::hint::black_box;
use std::io::BufWriter;
use std::path::Path;
use std::time::{Duration, Instant};

/// Blocks of runs that are enough for a figure: the median of their means is what a statement takes.
/// A neighbour's moment spoils some blocks, not the median.
pub const BLOCKS: usize = 31;
/// How long the blocks of a question are: above the clock's grain, below the scheduler's.
const BLOCK: Duration = Duration::from_micros(300);
/// Runs of a question in a block at most.
const RUNS: u32 = 500;
/// Runs of a change in a block.
const CHANGES: usize = 8;
/// After so long a statement has been measured enough, however few blocks there are.
const ENOUGH: Duration = Duration::from_secs(4);

/// A database of made-up facts.
#[derive(Debug)]
pub struct Trial {
    database: Database<Lmdb>,
    /// With the volumes of the facts.
    model: Model,
    /// Rows loaded.
    pub rows: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Rows that were made up and rejected, and why the first one was: where a key has fewer values
    /// than there are to be instances.
    pub rejected: Option<(u64, String)>,
}

/// A statement, as it was estimated and as it was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Name.
    pub name: String,
    /// A question, or a change.
    pub question: bool,
    /// Its rate or weight.
    pub weight: f64,
    /// Its price in the target's unit.
    pub estimated: f64,
    /// What it took: microseconds of the wall's clock, changes without sync.
    pub micros: f64,
    /// Rows answered or written, on average.
    pub rows: f64,
    /// How often it was run.
    pub runs: u64,
    /// Of these, how often it was refused; these are not counted.
    pub refused: u64,
    /// Why it was, the first time.
    pub refusal: Option<String>,
}

impl Trial {
    /// Creates a database in a folder that is not there yet, and loads made-up facts in the volumes
    /// of the schema's model. The text is that of the model, whatever its volumes.
    pub fn create(
        folder: &Path,
        text: &str,
        schema: Schema,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Trial, Error> {
        let model = schema.model.clone();
        let database = Database::create_designed(folder, text, schema)?;
        let sample = Sample::new(&model);
        let files = tempfile::tempdir().map_err(|e| lost("a folder for made-up facts", e))?;
        let mut sources = vec![];
        for root in model.roots() {
            for (entity, _) in sample.members(root) {
                let path = files.path().join(format!("{}.jsonl", entity.0));
                let file = std::fs::File::create(&path);
                let written = file.and_then(|file| {
                    let mut out = BufWriter::new(file);
                    sample.write(entity, &mut out)?;
                    out.into_inner()?.sync_data()
                });
                written.map_err(|e| lost("made-up facts", e))?;
                sources.push((entity, path));
            }
        }
        let options = LoadOptions {
            all_or_nothing: false,
            ..LoadOptions::default()
        };
        let (database, report) = database.load(&sources, &options, progress)?;
        let bytes = database.store().disk_bytes()?;
        drop(database);
        let unsynced = lmdb::Options {
            sync: false,
            ..lmdb::Options::default()
        };
        Ok(Trial {
            database: Database::open_with(folder, unsynced)?,
            model,
            rows: report.loaded,
            bytes,
            rejected: report
                .rejects
                .first()
                .map(|first| (report.rejected, first.reason.clone())),
        })
    }

    /// The database.
    pub fn database(&self) -> &Database<Lmdb> {
        &self.database
    }

    /// Runs and times every statement in so many blocks, questions first and changes that delete
    /// last; `told` hears the name of each before it is run.
    pub fn measure(
        &self,
        blocks: usize,
        told: &mut dyn FnMut(&str),
    ) -> Result<Vec<Measured>, Error> {
        let mut draw = Draw::new(Sample::new(&self.model));
        let design = &self.database.schema().design;
        let mut out = vec![];
        for (question, plan) in self.model.questions.iter().zip(&design.plans) {
            told(&question.name);
            let took = self.question(question, blocks, &mut draw)?;
            out.push(took.of(&question.name, true, plan.weight, plan.cost));
        }
        let changes = self.model.changes.iter().zip(&design.writes);
        let (last, first): (Vec<_>, Vec<_>) = changes.partition(|(c, _)| deletes(&c.statements));
        for (change, plan) in first.into_iter().chain(last) {
            told(&change.name);
            let took = self.change(change, blocks, &mut draw)?;
            out.push(took.of(&change.name, false, plan.weight, plan.cost));
        }
        Ok(out)
    }

    fn question(&self, question: &Question, blocks: usize, draw: &mut Draw) -> Result<Took, Error> {
        let mut took = Took::default();
        // The first one binds the plan, the second tells how many are a block.
        self.ask(question, 1, draw)?;
        let once = self.ask(question, 1, draw)?.0;
        let runs = BLOCK.as_secs_f64() / once.as_secs_f64().max(1e-9);
        let runs = (runs as u32).clamp(1, RUNS);
        let start = Instant::now();
        while took.means.len() < blocks && (took.means.is_empty() || start.elapsed() < ENOUGH) {
            let (time, rows) = self.ask(question, runs, draw)?;
            took.block(time, u64::from(runs), rows);
        }
        Ok(took)
    }

    /// Asks so many times and looks at every value: the time, and the rows.
    fn ask(
        &self,
        question: &Question,
        runs: u32,
        draw: &mut Draw,
    ) -> Result<(Duration, u64), Error> {
        let params: Vec<_> = (0..runs).map(|_| draw.question(question)).collect();
        let mut rows = 0;
        let start = Instant::now();
        for params in params {
            let snapshot = self.database.snapshot()?;
            let asked = snapshot.ask(&question.name, params)?;
            let mut answer = asked.rows()?;
            while let Some(row) = answer.next_row()? {
                look(&row, &question.query.select)?;
                rows += 1;
            }
        }
        Ok((start.elapsed(), rows))
    }

    fn change(&self, change: &Change, blocks: usize, draw: &mut Draw) -> Result<Took, Error> {
        let mut took = Took::default();
        let start = Instant::now();
        while took.means.len() < blocks && (took.means.is_empty() || start.elapsed() < ENOUGH) {
            let (mut time, mut rows, mut done) = (Duration::ZERO, 0, 0);
            for _ in 0..CHANGES {
                let params = draw.change(change);
                let begun = Instant::now();
                match self.database.change(&change.name, params) {
                    Ok(receipt) => {
                        time += begun.elapsed();
                        done += 1;
                        let written = receipt.written.values();
                        rows += written.map(|(put, deleted)| put + deleted).sum::<usize>() as u64;
                    }
                    Err(Error::Change(ChangeFailure::Refused(why))) => {
                        took.refused += 1;
                        took.refusal.get_or_insert_with(|| why.to_string());
                    }
                    Err(other) => return Err(other),
                }
            }
            took.block(time, done, rows);
            if took.refused >= (blocks * CHANGES) as u64 {
                break;
            }
        }
        Ok(took)
    }
}

/// What the blocks of a statement took.
#[derive(Default)]
struct Took {
    means: Vec<f64>,
    rows: u64,
    runs: u64,
    refused: u64,
    refusal: Option<String>,
}

impl Took {
    fn block(&mut self, time: Duration, runs: u64, rows: u64) {
        if runs > 0 {
            self.means.push(time.as_secs_f64() * 1e6 / runs as f64);
        }
        self.runs += runs;
        self.rows += rows;
    }

    fn of(mut self, name: &str, question: bool, weight: f64, estimated: f64) -> Measured {
        self.means.sort_by(f64::total_cmp);
        let middle = self.means.get(self.means.len() / 2);
        Measured {
            name: name.into(),
            question,
            weight,
            estimated,
            micros: middle.copied().unwrap_or(f64::NAN),
            rows: self.rows as f64 / self.runs.max(1) as f64,
            runs: self.runs + self.refused,
            refused: self.refused,
            refusal: self.refusal,
        }
    }
}

/// Looks at every value of a row, as whoever asked would.
fn look<'a, R: Reader + 'a>(row: &RowView<'_, 'a, R>, select: &[Item]) -> Result<(), AskError> {
    for (column, item) in select.iter().enumerate() {
        if let Expr::Nested(..) = &item.expr {
            for inner in row.nested(column)? {
                for column in 0..inner.len() {
                    black_box(inner.get(column)?);
                }
            }
        } else {
            black_box(row.get(column)?);
        }
    }
    Ok(())
}

fn deletes(statements: &[querent_compiler::model::Statement]) -> bool {
    use querent_compiler::model::Statement;
    statements.iter().any(|s| match s {
        Statement::Delete { .. } => true,
        Statement::ForEach { body, .. } => deletes(body),
        Statement::Insert { .. } | Statement::Update { .. } => false,
    })
}

fn lost(what: &str, source: std::io::Error) -> Error {
    Error::Store(crate::store::StoreError::Io {
        what: format!("writing {what}"),
        source,
    })
}

/// How alike two orders are, from -1 to 1: Spearman's rank correlation, equals sharing their ranks.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |of: &dyn Fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let values: Vec<f64> = pairs.iter().map(of).collect();
        let rank = |v: &f64| {
            let below = values.iter().filter(|o| *o < v).count() as f64;
            let equal = values.iter().filter(|o| *o == v).count() as f64;
            below + (equal - 1.0) / 2.0
        };
        values.iter().map(rank).collect()
    };
    let (a, b) = (ranks(&|p| p.0), ranks(&|p| p.1));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let dot = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}
