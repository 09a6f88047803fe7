//! The facts of an auction site, made from numbers alone: any row can be computed without the others.

use crate::Result;
use crate::reddit::data::{mix, text};
use querent_compiler::value::Value;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const START: i64 = 1_600_000_000_000;
const DAY: i64 = 86_400_000;
/// Auctions end, and things are bought, within so many days.
const DAYS: u64 = 100;
/// What is asked for is what happens from here on: a tenth, as the designer assumes of a range.
pub const AFTER: i64 = START + 90 * DAY;

pub const ENTITIES: [&str; 7] = [
    "Category", "Region", "User", "Item", "Bid", "Comment", "BuyNow",
];

/// How many users there are; all else is in the model's proportion to them.
#[derive(Clone, Copy)]
pub struct Size {
    pub users: u64,
}

impl Size {
    pub fn of(self, entity: &str) -> u64 {
        match entity {
            "Category" => 50,
            "Region" => 5,
            "User" => self.users,
            "Item" => self.users * 10,
            "Bid" => self.users * 100,
            "Comment" => self.users * 50,
            _ => self.users * 20,
        }
    }

    pub fn rows(self) -> u64 {
        ENTITIES.iter().map(|e| self.of(e)).sum()
    }

    /// Some instance of an entity.
    pub fn any(self, entity: &str, n: u64, seed: u64) -> Value {
        int(mix(n, seed) % self.of(entity))
    }

    /// The n-th row of an entity, by the names of its fields; beyond the size, what is inserted.
    pub fn row(self, entity: &str, n: u64) -> Vec<(&'static str, Value)> {
        let id = ("id", int(n));
        let words = |average, seed| Value::Text(text(average, n, seed));
        let price = |seed| Value::Float((mix(n, seed) % 100_000) as f64 / 100.0);
        match entity {
            "Category" => vec![id, ("name", words(20, 200)), ("dummy", int(1))],
            "Region" => vec![id, ("name", words(25, 210)), ("dummy", int(1))],
            "User" => vec![
                id,
                ("firstname", words(6, 220)),
                ("lastname", words(7, 222)),
                ("nickname", words(12, 224)),
                ("password", words(15, 226)),
                ("email", words(23, 228)),
                ("rating", int(mix(n, 230) % 10)),
                ("balance", price(231)),
                ("creation_date", moment(n, 232)),
                ("region", self.any("Region", n, 233)),
            ],
            "Item" => vec![
                id,
                ("name", words(19, 240)),
                ("description", words(197, 242)),
                ("initial_price", price(244)),
                ("quantity", int(1 + mix(n, 245) % 10)),
                ("reserve_price", price(246)),
                ("buy_now", price(247)),
                ("nb_of_bids", int(mix(n, 248) % 20)),
                ("max_bid", price(249)),
                ("start_date", moment(n, 250)),
                ("end_date", moment(n, 251)),
                ("seller", self.any("User", n, 252)),
                ("category", self.any("Category", n, 253)),
            ],
            "Bid" => vec![
                id,
                ("qty", int(1 + mix(n, 260) % 5)),
                ("bid", price(261)),
                ("date", moment(n, 262)),
                ("user", self.any("User", n, 263)),
                ("item", self.any("Item", n, 264)),
            ],
            "Comment" => vec![
                id,
                ("rating", int(mix(n, 270) % 5)),
                ("date", moment(n, 271)),
                ("comment", words(130, 272)),
                ("from_user", self.any("User", n, 274)),
                ("to_user", self.any("User", n, 275)),
                ("item", self.any("Item", n, 276)),
            ],
            _ => vec![
                id,
                ("qty", int(1 + mix(n, 280) % 5)),
                ("date", moment(n, 281)),
                ("buyer", self.any("User", n, 282)),
                ("item", self.any("Item", n, 283)),
            ],
        }
    }

    /// The files of the entities.
    pub fn write(self, folder: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
        let mut files = vec![];
        for entity in ENTITIES {
            let path = folder.join(format!("{entity}.csv"));
            let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(&path)?);
            let names: Vec<&str> = self.row(entity, 0).iter().map(|(name, _)| *name).collect();
            writeln!(out, "{}", names.join(","))?;
            for n in 0..self.of(entity) {
                for (i, (_, value)) in self.row(entity, n).iter().enumerate() {
                    out.write_all(if i == 0 { b"" } else { b"," })?;
                    match value {
                        Value::Int(number) | Value::Timestamp(number) => write!(out, "{number}")?,
                        Value::Float(number) => write!(out, "{number}")?,
                        Value::Text(text) => write!(out, "\"{text}\"")?,
                        other => return Err(format!("no field is {other:?}").into()),
                    }
                }
                writeln!(out)?;
            }
            out.flush()?;
            files.push((entity, path));
        }
        Ok(files)
    }
}

fn int(number: u64) -> Value {
    Value::Int(number as i64)
}

/// Within the days, to the second.
pub fn moment(n: u64, seed: u64) -> Value {
    Value::Timestamp(START + (mix(n, seed) % (DAYS * 86_400)) as i64 * 1000)
}
