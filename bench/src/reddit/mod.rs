//! The forum of `examples/reddit.querent`: every question through the library against hand-written
//! code on the same bytes, and against SQLite.

pub mod data;
mod hand;
mod library;
pub mod one;
mod sqlite;

use crate::measure::{self, Compared};
use crate::{Result, load, option};
use data::Size;
use querent::Database;
use sqlite::Indexes;
use std::ops::Range;
use std::path::{Path, PathBuf};

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

/// Asks from this number on go through everything in order, the others are drawn.
const IN_ORDER: u64 = 1 << 63;

impl Asks {
    fn category(self, i: u64) -> u64 {
        one_of(data::CATEGORIES, i, 100)
    }
    fn post(self, i: u64) -> u64 {
        one_of(self.0.posts, i, 101)
    }
    fn user(self, i: u64) -> u64 {
        one_of(self.0.users(), i, 102)
    }
}

fn one_of(count: u64, i: u64, salt: u64) -> u64 {
    match i.checked_sub(IN_ORDER) {
        Some(place) => place % count,
        None => data::mix(i, salt) % count,
    }
}

/// One side of all questions.
trait Answers {
    fn front_page(&self, asks: Range<u64>) -> Result<Sum>;
    fn discussion(&self, asks: Range<u64>) -> Result<Sum>;
    fn posts_by_user(&self, asks: Range<u64>) -> Result<Sum>;
    fn busiest(&self, asks: Range<u64>) -> Result<Sum>;
}

pub fn run(arguments: &[String]) -> Result<()> {
    let size = Size {
        posts: option(arguments, "--posts", 20_000)?,
        comments: option(arguments, "--comments", 200_000)?,
    };
    // What is kept is made once: at the full size that takes longer than all the measurements.
    let kept = one::word(arguments, "--keep").map(PathBuf::from);
    let temporary = tempfile::tempdir()?;
    let folder = kept.as_deref().unwrap_or(temporary.path());
    let (path, copy) = make(folder, size)?;
    let asks = Asks(size);
    let library = library::Library {
        db: Database::open(&path)?,
        asks,
    };
    println!(
        "{} posts, {} comments; {} alternating blocks; a read transaction for each ask on both sides;\n\
         every ask answered once before; medians of the thread's CPU time\n",
        size.posts,
        size.comments,
        measure::BLOCKS
    );
    compare_hand(&copy, &library)?;
    for (what, name, indexes) in [
        ("SQLite, plain indexes", "sqlite-plain", Indexes::Plain),
        (
            "SQLite, covering indexes",
            "sqlite-covering",
            Indexes::Covering,
        ),
    ] {
        let file = folder.join(name);
        if !file.exists() {
            sqlite::create(&file, size, indexes)?;
        }
        let db = sqlite::open(&file)?;
        let peer = sqlite::Sqlite::new(&db, asks)?;
        let against = compare(&peer, &library)?;
        table(what, &against);
    }
    Ok(())
}

/// Loads the facts of a size, unless the folder holds them; the database's folder and that of a
/// copy for the hand-written side, equal to the byte: heed opens a file once per process.
fn make(folder: &Path, size: Size) -> Result<(PathBuf, PathBuf)> {
    let (path, copy) = (folder.join("querent"), folder.join("hand"));
    if path.exists() {
        return Ok((path, copy));
    }
    std::fs::create_dir_all(folder)?;
    let files = data::write(folder, size)?;
    println!("{}", load::HEADER);
    println!("{}\n", load::in_child(&path, &files, size)?);
    for (_, file) in files {
        std::fs::remove_file(file)?;
    }
    std::fs::create_dir(&copy)?;
    std::fs::copy(path.join("data.mdb"), copy.join("data.mdb"))?;
    Ok((path, copy))
}

fn compare_hand(copy: &Path, library: &library::Library) -> Result<()> {
    let hand = hand::Hand::open(copy, library.asks, 1 << 40)?;
    table("hand-written heed", &compare(&hand, library)?);
    Ok(())
}

/// Both sides answer everything that can be asked once, so that their pages are in memory and known
/// to the process, as those of a server are after a while; then they are measured.
fn compare(base: &impl Answers, library: &library::Library) -> Result<[Compared; 4]> {
    warm(base, library.asks.0)?;
    warm(library, library.asks.0)?;
    Ok([
        measure::compare(&|r| base.front_page(r), &|r| library.front_page(r))?,
        measure::compare(&|r| base.discussion(r), &|r| library.discussion(r))?,
        measure::compare(&|r| base.posts_by_user(r), &|r| library.posts_by_user(r))?,
        measure::compare(&|r| base.busiest(r), &|r| library.busiest(r))?,
    ])
}

fn warm(side: &impl Answers, size: Size) -> Result<()> {
    let all = |count: u64| IN_ORDER..IN_ORDER + count;
    side.discussion(all(size.posts))?;
    side.posts_by_user(all(size.users()))?;
    side.front_page(all(data::CATEGORIES))?;
    side.busiest(all(1))?;
    Ok(())
}

/// The questions one by one, and the mix at the model's rates.
fn table(what: &str, compared: &[Compared]) {
    println!("| question | {what}, µs | library, µs | ratio | 95 % of the median |");
    println!("|---|---|---|---|---|");
    let (mut base, mut side) = (0.0, 0.0);
    for ((name, rate), one) in QUESTIONS.iter().zip(compared) {
        let Compared {
            base_nanos,
            nanos,
            ratio,
            interval: (low, high),
        } = one;
        base += rate * base_nanos;
        side += rate * nanos;
        println!(
            "| {name} | {:.2} | {:.2} | {ratio:.3} | {low:.3} to {high:.3} |",
            base_nanos / 1e3,
            nanos / 1e3
        );
    }
    let asks: f64 = QUESTIONS.iter().map(|(_, rate)| rate).sum();
    println!(
        "| the mix, an ask | {:.2} | {:.2} | {:.3} | {:.1} × as fast |\n",
        base / asks / 1e3,
        side / asks / 1e3,
        side / base,
        base / side
    );
}
