//! The forum of `examples/reddit.querent`: every question through the library against hand-written
//! code on the same bytes, and against SQLite.

pub mod data;
mod hand;
mod library;

use crate::measure::{self, Compared};
use crate::{Result, option};
use data::Size;
use querent::Database;
use querent::load::LoadOptions;
use querent::store::lmdb::Lmdb;
use std::path::Path;

pub const MODEL: &str = include_str!("../../../examples/reddit.querent");

/// The questions and their rates a second, as the model has them.
const QUESTIONS: [(&str, f64); 4] = [
    ("front_page", 5000.0),
    ("discussion", 2000.0),
    ("posts_by_user", 300.0),
    ("busiest", 1.0 / 60.0),
];

/// What is computed of the rows: enough to force every value to be read.
#[derive(Default, PartialEq, Debug)]
pub struct Sum {
    rows: u64,
    bytes: u64,
    numbers: i64,
}

impl Sum {
    #[inline]
    fn row(&mut self, texts: [&str; 3], number: i64) {
        self.rows += 1;
        self.bytes += texts.iter().map(|t| t.len() as u64).sum::<u64>();
        self.numbers = self.numbers.wrapping_add(number);
    }
}

/// Which parameters the i-th ask has: the same for all sides.
#[derive(Clone, Copy)]
pub struct Asks(Size);

impl Asks {
    fn category(self, i: u64) -> u64 {
        data::mix(i, 100) % data::CATEGORIES
    }
    fn post(self, i: u64) -> u64 {
        data::mix(i, 101) % self.0.posts
    }
    fn user(self, i: u64) -> u64 {
        data::mix(i, 102) % self.0.users()
    }
}

/// Creates a database and loads the files into it.
pub fn load(path: &Path, files: &[(&str, std::path::PathBuf)]) -> Result<Database<Lmdb>> {
    let db = Database::create(path, "reddit.querent", MODEL)?;
    let sources = files
        .iter()
        .map(|(entity, file)| Ok((db.entity(entity)?, file.clone())));
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let (db, report) = db.load(&sources, &LoadOptions::default(), &mut |_| {})?;
    if !report.applied {
        return Err(format!("rows were rejected: {:?}", report.rejects.first()).into());
    }
    Ok(db)
}

pub fn run(arguments: &[String]) -> Result<()> {
    let size = Size {
        posts: option(arguments, "--posts", 20_000)?,
        comments: option(arguments, "--comments", 200_000)?,
    };
    let folder = tempfile::tempdir()?;
    let files = data::write(folder.path(), size)?;
    let path = folder.path().join("querent");
    drop(load(&path, &files)?);
    // heed opens a file once per process: the hand-written side has a copy, equal to the byte.
    let copy = folder.path().join("hand");
    std::fs::create_dir(&copy)?;
    std::fs::copy(path.join("data.mdb"), copy.join("data.mdb"))?;
    let asks = Asks(size);
    let hand = hand::Hand::open(&copy, asks)?;
    let library = library::Library {
        db: Database::open(&path)?,
        asks,
    };
    println!(
        "{} posts, {} comments; {} alternating blocks",
        size.posts,
        size.comments,
        measure::BLOCKS
    );
    println!("a read transaction for each ask on both sides; CPU time\n");
    println!("| question | hand-written heed, µs | library, µs | ratio | 95 % of the median |");
    println!("|---|---|---|---|---|");
    let compared = [
        measure::compare(&|r| hand.front_page(r), &|r| library.front_page(r))?,
        measure::compare(&|r| hand.discussion(r), &|r| library.discussion(r))?,
        measure::compare(&|r| hand.posts_by_user(r), &|r| library.posts_by_user(r))?,
        measure::compare(&|r| hand.busiest(r), &|r| library.busiest(r))?,
    ];
    for ((name, _), one) in QUESTIONS.iter().zip(compared) {
        row(name, one);
    }
    Ok(())
}

fn row(name: &str, one: Compared) {
    let Compared {
        base_nanos,
        nanos,
        ratio,
        interval: (low, high),
    } = one;
    println!(
        "| {name} | {:.2} | {:.2} | {ratio:.3} | {low:.3} to {high:.3} |",
        base_nanos / 1e3,
        nanos / 1e3
    );
}
