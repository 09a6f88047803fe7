//! A database that is kept: all questions against hand-written code again and again, or one side of
//! one question in a loop, for a profiler.

use super::hand::Hand;
use super::library::Library;
use super::{Answers, Asks, Size, Sum, compare_hand, make};
use crate::measure::cpu_nanos;
use crate::{Result, option};
use querent::Database;
use querent::store::lmdb;
use std::path::Path;

/// The map of one side alone: a profiler that simulates the machine has no tebibyte of addresses.
const MAP_OF_ONE: usize = 1 << 34;

/// `one FOLDER [--posts N] [--comments N] [--question Q --side library|hand --asks N]`; the numbers
/// are those with which the database in the folder was made.
pub fn run(arguments: &[String]) -> Result<()> {
    let size = Size {
        posts: option(arguments, "--posts", 20_000)?,
        comments: option(arguments, "--comments", 200_000)?,
    };
    let folder = Path::new(arguments.first().ok_or("expected a folder")?);
    let (path, copy) = make(folder, size)?;
    let asks = Asks(size);
    let Some(question) = word(arguments, "--question") else {
        let db = Database::open(&path)?;
        return compare_hand(&copy, &Library { db, asks });
    };
    let count = option(arguments, "--asks", 100_000)?;
    let (start, sum) = match word(arguments, "--side") {
        Some("hand") => {
            let hand = Hand::open(&copy, asks, MAP_OF_ONE)?;
            (cpu_nanos(), answer(&hand, question, count)?)
        }
        _ => {
            let options = lmdb::Options {
                map_size: MAP_OF_ONE,
                ..lmdb::Options::default()
            };
            let db = Database::open_with(&path, options)?;
            let library = Library { db, asks };
            (cpu_nanos(), answer(&library, question, count)?)
        }
    };
    let nanos = (cpu_nanos() - start) / count as f64;
    println!("{question}: {nanos:.0} ns an ask, {sum:?}");
    Ok(())
}

fn answer(side: &impl Answers, question: &str, asks: u64) -> Result<Sum> {
    match question {
        "front_page" => side.front_page(0..asks),
        "discussion" => side.discussion(0..asks),
        "posts_by_user" => side.posts_by_user(0..asks),
        "busiest" => side.busiest(0..asks),
        _ => Err(format!("found `{question}`, expected a question of the model").into()),
    }
}

/// The word behind a name.
pub(super) fn word<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|a| a == name)?;
    arguments.get(at + 1).map(String::as_str)
}
