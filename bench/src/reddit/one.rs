//! One side of one question in a loop, for a profiler; or all questions against hand-written code
//! again and again, on a database that is kept.

use super::hand::Hand;
use super::library::Library;
use super::{Asks, Size, compare_hand, make};
use crate::{Result, option};
use querent::Database;
use std::path::Path;

/// `one FOLDER [--posts N] [--comments N] [QUESTION SIDE COUNT]`
pub fn run(arguments: &[String]) -> Result<()> {
    let size = Size {
        posts: option(arguments, "--posts", 20_000)?,
        comments: option(arguments, "--comments", 200_000)?,
    };
    let folder = Path::new(arguments.first().ok_or("expected a folder")?);
    let (path, copy) = (folder.join("querent"), folder.join("hand"));
    if !path.exists() {
        std::fs::create_dir_all(folder)?;
        make(folder, size)?;
    }
    let asks = Asks(size);
    let library = || -> Result<Library> {
        let db = Database::open(&path)?;
        Ok(Library { db, asks })
    };
    let [question, side, count] = &arguments[arguments.len().saturating_sub(3)..] else {
        return compare_hand(&copy, &library()?);
    };
    let Ok(count) = count.parse::<u64>() else {
        return compare_hand(&copy, &library()?);
    };
    let start = crate::measure::cpu_nanos();
    let sum = match side.as_str() {
        "library" => {
            let library = library()?;
            match question.as_str() {
                "front_page" => library.front_page(0..count)?,
                "discussion" => library.discussion(0..count)?,
                "posts_by_user" => library.posts_by_user(0..count)?,
                _ => library.busiest(0..count)?,
            }
        }
        _ => {
            let hand = Hand::open(&copy, asks)?;
            match question.as_str() {
                "front_page" => hand.front_page(0..count)?,
                "discussion" => hand.discussion(0..count)?,
                "posts_by_user" => hand.posts_by_user(0..count)?,
                _ => hand.busiest(0..count)?,
            }
        }
    };
    println!("{sum:?} {:.0} ns", (crate::measure::cpu_nanos() - start) / count as f64);
    Ok(())
}
