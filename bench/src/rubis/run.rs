//! One schema under measurement: a database of its own, and what every statement took.

use super::mix::Statement;
use crate::Result;
use crate::measure::cpu_nanos;
use querent::load::LoadOptions;
use querent::store::lmdb::{self, Lmdb};
use querent::value_ref::ValueRef;
use querent::verify::VerifyOptions;
use querent::{Asked, Database};
use querent_compiler::design::Options;
use querent_compiler::value::Value;
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Nanoseconds of wall and CPU time.
#[derive(Clone, Copy, Default)]
pub struct Took {
    pub wall: f64,
    pub cpu: f64,
}

pub struct Subject {
    pub name: &'static str,
    path: PathBuf,
    db: Option<Database<Lmdb>>,
    /// Structures of the schema, and those added to it.
    pub given: usize,
    pub added: Vec<String>,
    pub bytes: u64,
    /// By statement, every one that was run.
    pub took: Vec<Vec<Took>>,
    /// By statement: rows answered, or rows written.
    pub rows: Vec<u64>,
    /// Of the rows written, those of structures that were added.
    pub extra: u64,
    /// CPU time of each block.
    pub blocks: Vec<f64>,
}

impl Subject {
    /// Creates a database for a schema of the text (ours, where none is named) and loads the files.
    pub fn create(
        folder: &Path,
        name: &'static str,
        schema: Option<&str>,
        text: &str,
        files: &[(&str, PathBuf)],
        statements: usize,
    ) -> Result<Subject> {
        let (model, _) = querent_compiler::parse("rubis.querent", text);
        let model = model.ok_or("the model has errors")?;
        let given = match schema {
            None => None,
            Some(named) => {
                let found = model.schemas.iter().find(|s| s.name == named);
                Some(found.ok_or("no such schema")?.clone())
            }
        };
        let options = Options {
            mix: Some(super::MIX.to_owned()),
            given: given.clone(),
            ..Options::embedded()
        };
        let path = folder.join(name);
        let db = Database::create_with(&path, "rubis.querent", text, &options)?;
        let mut sources = vec![];
        for (entity, file) in files {
            sources.push((db.entity(entity)?, file.clone()));
        }
        let (db, report) = db.load(&sources, &LoadOptions::default(), &mut |_| {})?;
        if !report.applied {
            return Err(format!("{name}: rejected {:?}", report.rejects.first()).into());
        }
        let designed = &db.schema().design.structures;
        let given = given.map_or(designed.len(), |g| g.structures.len());
        let added = designed.iter().skip(given).map(|s| s.name.clone());
        let added = added.collect();
        let bytes = db.store().disk_bytes()?;
        drop(db);
        Ok(Subject {
            name,
            path,
            db: None,
            given,
            added,
            bytes,
            took: vec![vec![]; statements],
            rows: vec![0; statements],
            extra: 0,
            blocks: vec![],
        })
    }

    /// Opens the database again: acknowledging what is on disk, or what is in memory.
    pub fn open(&mut self, sync: bool) -> Result<()> {
        self.db = None;
        let options = lmdb::Options {
            sync,
            ..lmdb::Options::default()
        };
        self.db = Some(Database::open_with(&self.path, options)?);
        Ok(())
    }

    pub fn db(&self) -> Result<&Database<Lmdb>> {
        Ok(self.db.as_ref().ok_or("the database is not open")?)
    }

    /// Runs statements; the sum of the answers of each question.
    pub fn block(
        &mut self,
        statements: &[Statement],
        drawn: &[(usize, Vec<Value>)],
        idle: Took,
    ) -> Result<Vec<u64>> {
        let mut sums = vec![0u64; statements.len()];
        let mut whole = 0.0;
        for (at, params) in drawn {
            let statement = &statements[*at];
            let params = params.clone();
            let db = self.db()?;
            let (sum, rows, extra, took) = if statement.is_question {
                let cpu = cpu_nanos();
                let wall = Instant::now();
                let snapshot = db.snapshot()?;
                let (sum, rows) = answer(&snapshot.ask(&statement.name, params)?, statement)?;
                drop(snapshot);
                (sum, rows, 0, taken(wall, cpu, cpu_nanos))
            } else {
                let cpu = process_nanos();
                let wall = Instant::now();
                let receipt = db.change(&statement.name, params)?;
                let took = taken(wall, cpu, process_nanos);
                let (mut written, mut extra) = (0, 0);
                for (structure, (put, deleted)) in &receipt.written {
                    written += put + deleted;
                    if self.added.contains(structure) {
                        extra += put + deleted;
                    }
                }
                // What was changed must agree; what was written for it is the schema's own affair.
                let changed = receipt.inserted + receipt.updated;
                (changed as u64, written as u64, extra as u64, took)
            };
            sums[*at] = sums[*at].wrapping_mul(31).wrapping_add(sum);
            self.rows[*at] += rows;
            self.extra += extra;
            let took = Took {
                wall: (took.wall - idle.wall).max(0.0),
                cpu: (took.cpu - idle.cpu).max(0.0),
            };
            whole += took.cpu;
            self.took[*at].push(took);
        }
        self.blocks.push(whole);
        Ok(sums)
    }

    /// Forgets what was measured.
    pub fn clear(&mut self) {
        self.took.iter_mut().for_each(Vec::clear);
        self.rows.fill(0);
        self.extra = 0;
        self.blocks.clear();
    }

    /// Compares every structure with one made anew from the facts.
    pub fn verify(&self) -> Result<()> {
        let report = self.db()?.verify(&VerifyOptions::default())?;
        if !report.is_clean() {
            let found = report.findings.first();
            return Err(format!("{}: verify found {found:?}", self.name).into());
        }
        Ok(())
    }
}

/// What a measurement of nothing takes.
pub fn idle() -> Took {
    let mut took: Vec<Took> = (0..2001)
        .map(|_| {
            let cpu = cpu_nanos();
            taken(Instant::now(), cpu, cpu_nanos)
        })
        .collect();
    let mut middle = |of: fn(&Took) -> f64| {
        took.sort_by(|a, b| of(a).total_cmp(&of(b)));
        of(&took[took.len() / 2])
    };
    Took {
        wall: middle(|t| t.wall),
        cpu: middle(|t| t.cpu),
    }
}

fn taken(wall: Instant, cpu: f64, clock: fn() -> f64) -> Took {
    Took {
        wall: wall.elapsed().as_nanos() as f64,
        cpu: clock() - cpu,
    }
}

/// Of all threads: a change is made by the store's own writer.
fn process_nanos() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Looks at every value of every row: a sum of all of them, and the number of rows.
fn answer(asked: &Asked<'_, Lmdb>, statement: &Statement) -> Result<(u64, u64)> {
    let (mut sum, mut count) = (0u64, 0);
    let mut rows = asked.rows()?;
    while let Some(row) = rows.next_row()? {
        let mut one = 7u64;
        for column in 0..row.len() {
            one = one.wrapping_mul(0x0100_0000_01b3) ^ digest(&row.get(column)?)?;
        }
        count += 1;
        let place = if statement.ordered { count } else { 1 };
        sum = sum.wrapping_add(one.wrapping_mul(2 * place + 1));
    }
    if statement.any_of == Some(count) {
        sum = 0;
    }
    Ok((sum.wrapping_add(count), count))
}

fn digest(value: &ValueRef) -> Result<u64> {
    Ok(match value {
        ValueRef::Null => 1,
        ValueRef::Int(n) | ValueRef::Timestamp(n) => *n as u64,
        ValueRef::Float(n) => n.to_bits(),
        ValueRef::Text(text) => {
            let mut sum = text.len() as u64;
            for chunk in text.as_bytes().chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                sum = (sum.rotate_left(5) ^ u64::from_le_bytes(word))
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
            sum
        }
        other => return Err(format!("no question answers {other:?}").into()),
    })
}
