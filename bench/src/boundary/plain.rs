//! The hand-written side: heed and the bytes of the rows, with every offset written down.

use super::{PAGE, Sum, asked, category};
use crate::Result;
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, RoTxn};
use std::ops::{Bound, Range};
use std::path::Path;

pub struct Plain {
    env: Env,
    rows: Database<'static, Bytes, Bytes>,
}

impl Plain {
    pub fn open(path: &Path) -> Result<Plain> {
        // SAFETY: the folder is this process's own.
        let env = unsafe {
            EnvOpenOptions::new()
                .map_size(1 << 40)
                .max_dbs(2)
                .open(path)?
        };
        let txn = env.read_txn()?;
        let rows = env
            .open_databases_and_commit(txn, |opener, txn| -> heed::Result<_> {
                opener
                    .open_database(txn, Some("front_page"))
                    .map(CommitOrAbort::<_, ()>::Commit)
            })?
            .commit()
            .flatten()
            .ok_or("no such database")?;
        Ok(Plain { env, rows })
    }

    pub fn scans(&self, block: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in block {
            let txn = self.env.read_txn()?;
            self.scan(&txn, i, &mut sum)?;
        }
        Ok(sum)
    }

    pub fn scans_in_one(&self, block: Range<u64>) -> Result<Sum> {
        let (txn, mut sum) = (self.env.read_txn()?, Sum::default());
        for i in block {
            self.scan(&txn, i, &mut sum)?;
        }
        Ok(sum)
    }

    pub fn gets(&self, block: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in block {
            let txn = self.env.read_txn()?;
            self.get(&txn, i, &mut sum)?;
        }
        Ok(sum)
    }

    pub fn gets_in_one(&self, block: Range<u64>) -> Result<Sum> {
        let (txn, mut sum) = (self.env.read_txn()?, Sum::default());
        for i in block {
            self.get(&txn, i, &mut sum)?;
        }
        Ok(sum)
    }

    fn scan(&self, txn: &RoTxn, i: u64, sum: &mut Sum) -> Result<()> {
        let mut lower = category(asked(i).0).into_bytes();
        let mut upper = lower.clone();
        lower.push(0);
        upper.push(1);
        let range = (
            Bound::Included(lower.as_slice()),
            Bound::Excluded(upper.as_slice()),
        );
        for row in self.rows.rev_range(txn, &range)?.take(PAGE) {
            let (key, row) = row?;
            add(key, row, sum)?;
        }
        Ok(())
    }

    fn get(&self, txn: &RoTxn, i: u64, sum: &mut Sum) -> Result<()> {
        let (number, post) = asked(i);
        let mut key = category(number).into_bytes();
        key.push(0);
        let at = 1_700_000_000_000 + post as i64 * 1_000;
        key.extend((at as u64 ^ 1 << 63).to_be_bytes());
        // Time first: the bytes of a version 1 uuid are in another order.
        let [a, b, c, d, e, f, g, h] = (post * 77).to_be_bytes();
        let ticks = u64::from_be_bytes([g & 0x0f, h, e, f, a, b, c, d]) << 4 | u64::from(g >> 4);
        key.extend(ticks.to_be_bytes());
        key.extend([0x11; 8]);
        if let Some(row) = self.rows.get(txn, &key)? {
            add(&key, row, sum)?;
        }
        Ok(())
    }
}

/// `[form][nulls][score: 4][three ends: 2 each][title][url][author]`
fn add(key: &[u8], row: &[u8], sum: &mut Sum) -> Result<()> {
    let at = key.len() - 24;
    let posted_at = (u64::from_be_bytes(key[at..at + 8].try_into()?) ^ 1 << 63) as i64;
    let score = i32::from_le_bytes(row[2..6].try_into()?);
    let end = |i: usize| usize::from(u16::from_le_bytes([row[6 + 2 * i], row[7 + 2 * i]]));
    let title = std::str::from_utf8(&row[12..12 + end(0)])?;
    let url = std::str::from_utf8(&row[12 + end(0)..12 + end(1)])?;
    let author = if row[1] & 1 == 0 {
        std::str::from_utf8(&row[12 + end(1)..12 + end(2)])?
    } else {
        ""
    };
    sum.add([title, url, author], posted_at + i64::from(score));
    Ok(())
}
