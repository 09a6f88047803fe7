//! The hand-written side: heed and the bytes that Querent wrote (docs/src/format.md), with every
//! offset written down, a read transaction for each ask from heed's thread-local slots.

use super::data::{category_name, post_id};
use super::{Answers, Asks, Sum};
use crate::Result;
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, OnCommit};
use std::ops::Range;
use std::path::Path;

type Rows = Database<'static, Bytes, Bytes>;

pub struct Hand {
    env: Env,
    category: Rows,
    post: Rows,
    by_category: Rows,
    by_author: Rows,
    by_post: Rows,
    totals: Rows,
    asks: Asks,
}

struct Opening<'e>([Database<'e, Bytes, Bytes>; 6]);

impl OnCommit for Opening<'_> {
    type Committed = [Rows; 6];
    fn on_commit(self, token: &heed::CommitToken) -> [Rows; 6] {
        self.0.map(|database| database.on_commit(token))
    }
}

const NAMES: [&str; 6] = [
    "category",
    "post",
    "post_by_category_name",
    "post_by_author_id",
    "comment_by_post_id",
    "post_totals_by_category_name",
];

impl Hand {
    pub fn open(path: &Path, asks: Asks, map_size: usize) -> Result<Hand> {
        // SAFETY: the folder is this process's own, and nothing writes to it.
        let env = unsafe {
            EnvOpenOptions::new()
                .map_size(map_size)
                .max_dbs(6)
                .open(path)?
        };
        let txn = env.read_txn()?;
        let opened = env.open_databases_and_commit(txn, |opener, txn| -> heed::Result<_> {
            let mut all = vec![];
            for name in NAMES {
                all.extend(opener.open_database::<Bytes, Bytes>(txn, Some(name))?);
            }
            Ok(CommitOrAbort::<_, ()>::Commit(
                all.try_into().ok().map(Opening),
            ))
        })?;
        let databases = opened.commit().flatten().ok_or("a structure is missing")?;
        let [category, post, by_category, by_author, by_post, totals] = databases;
        Ok(Hand {
            env,
            category,
            post,
            by_category,
            by_author,
            by_post,
            totals,
            asks,
        })
    }
}

impl Answers for Hand {
    /// Key: 1 (the category is whole), category, 0, complement of posted_at (8), complement of the
    /// id (16). Row: header, nulls, four ends, title, url, author's name, nothing of the key.
    fn front_page(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let txn = self.env.read_txn()?;
            let mut prefix = vec![1];
            prefix.extend_from_slice(category_name(self.asks.category(i)).as_bytes());
            prefix.push(0);
            let length = prefix.len();
            for row in self.by_category.prefix_iter(&txn, &prefix)?.take(50) {
                let (key, row) = row?;
                let at = !u64::from_be_bytes(key[length..length + 8].try_into()?) ^ 1 << 63;
                let [title, url, author] = texts::<3>(row, 2, 4)?;
                sum.row([title, url, author], at as i64);
            }
        }
        Ok(sum)
    }

    /// Post: header, posted_at and author (8 each) among the fixed columns, three ends, category,
    /// title, url. Comments: key post (16), at (8), id (16); row header, two ends, body, name.
    fn discussion(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let txn = self.env.read_txn()?;
            let id = ordered(post_id(self.asks.post(i)));
            let Some(row) = self.post.get(&txn, &id)? else {
                continue;
            };
            let [_, title, url] = texts::<3>(row, 17, 3)?;
            sum.row([title, url, ""], 0);
            for row in self.by_post.prefix_iter(&txn, &id)? {
                let (key, row) = row?;
                let at = u64::from_be_bytes(key[16..24].try_into()?) ^ 1 << 63;
                let [body, author] = texts::<2>(row, 1, 2)?;
                sum.row([body, author, ""], at as i64);
            }
        }
        Ok(sum)
    }

    /// Key: author (8), complement of posted_at (8), complement of the id (16).
    /// Row: header, two ends, title, url.
    fn posts_by_user(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let txn = self.env.read_txn()?;
            let prefix = (self.asks.user(i) ^ 1 << 63).to_be_bytes();
            for row in self.by_author.prefix_iter(&txn, &prefix)?.take(20) {
                let [title, url] = texts::<2>(row?.1, 1, 2)?;
                sum.row([title, url, ""], 0);
            }
        }
        Ok(sum)
    }

    /// Category: key 1 (it is whole), the name, 0. Totals: the same key; row header, nulls, count
    /// (8). Both are in the order of the name, so that their cursors go side by side.
    fn busiest(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for _ in asks {
            let txn = self.env.read_txn()?;
            let mut found = Vec::with_capacity(64);
            let mut totals = self.totals.iter(&txn)?;
            let mut next = totals.next().transpose()?;
            for row in self.category.iter(&txn)? {
                let key = row?.0;
                let name = std::str::from_utf8(&key[1..key.len() - 1])?;
                while next.is_some_and(|(of, _)| of < key) {
                    next = totals.next().transpose()?;
                }
                let total = match next {
                    Some((of, row)) if of == key => i64::from_le_bytes(row[2..10].try_into()?),
                    _ => 0,
                };
                found.push((total, name));
            }
            found.sort_by(|a, b| b.cmp(a));
            for (place, (total, name)) in found.iter().enumerate() {
                sum.row([name, "", ""], *total * place as i64);
            }
        }
        Ok(sum)
    }
}

/// The order of time: the bytes of a version 1 uuid are in another one.
fn ordered(id: [u8; 16]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = id;
    let ticks = u64::from_be_bytes([g & 0x0f, h, e, f, a, b, c, d]) << 4 | u64::from(g >> 4);
    let mut ordered = [0; 16];
    ordered[..8].copy_from_slice(&ticks.to_be_bytes());
    ordered[8..].copy_from_slice(&rest);
    ordered
}

/// The first texts of a narrow row with so many variable columns, whose ends begin at `ends`.
#[inline]
fn texts<const N: usize>(row: &[u8], ends: usize, variable: usize) -> Result<[&str; N]> {
    if row[0] != 0x10 {
        return Err("a row of another form".into());
    }
    let base = ends + 2 * variable;
    let mut texts = [""; N];
    let mut start = base;
    for (i, text) in texts.iter_mut().enumerate() {
        let at = ends + 2 * i;
        let end = base + usize::from(u16::from_le_bytes([row[at], row[at + 1]]));
        *text = std::str::from_utf8(&row[start..end])?;
        start = end;
    }
    Ok(texts)
}
