//! The same questions through the library: lazily, every value of every row looked at.

use super::data::{category_name, post_id};
use super::{Answers, Asks, Sum};
use crate::Result;
use querent::Database;
use querent::store::lmdb::Lmdb;
use querent_compiler::value::Value;
use std::ops::Range;

pub struct Library {
    pub db: Database<Lmdb>,
    pub asks: Asks,
}

impl Answers for Library {
    fn front_page(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let category = Value::Text(category_name(self.asks.category(i)));
            let snapshot = self.db.snapshot()?;
            let asked = snapshot.ask("front_page", vec![category])?;
            let mut rows = asked.rows()?;
            while let Some(row) = rows.next_row()? {
                let (title, url, author) = (
                    row.text(0)?.unwrap_or_default(),
                    row.text(1)?.unwrap_or_default(),
                    row.text(3)?.unwrap_or_default(),
                );
                let at = row.number(2)?.unwrap_or_default();
                sum.row([title, url, author], at);
            }
        }
        Ok(sum)
    }

    fn discussion(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let post = Value::TimeUuid(post_id(self.asks.post(i)));
            let snapshot = self.db.snapshot()?;
            let asked = snapshot.ask("discussion", vec![post])?;
            let mut rows = asked.rows()?;
            while let Some(row) = rows.next_row()? {
                let (title, url) = (
                    row.text(0)?.unwrap_or_default(),
                    row.text(1)?.unwrap_or_default(),
                );
                sum.row([title, url, ""], 0);
                for comment in row.nested(2)? {
                    let (body, author) = (
                        comment.text(0)?.unwrap_or_default(),
                        comment.text(2)?.unwrap_or_default(),
                    );
                    let at = comment.number(1)?.unwrap_or_default();
                    sum.row([body, author, ""], at);
                }
            }
        }
        Ok(sum)
    }

    fn posts_by_user(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let user = Value::Int(self.asks.user(i) as i64);
            let snapshot = self.db.snapshot()?;
            let asked = snapshot.ask("posts_by_user", vec![user])?;
            let mut rows = asked.rows()?;
            while let Some(row) = rows.next_row()? {
                let (title, url) = (
                    row.text(0)?.unwrap_or_default(),
                    row.text(1)?.unwrap_or_default(),
                );
                sum.row([title, url, ""], 0);
            }
        }
        Ok(sum)
    }

    fn busiest(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for _ in asks {
            let snapshot = self.db.snapshot()?;
            let asked = snapshot.ask("busiest", ())?;
            let mut rows = asked.rows()?;
            let mut place = 0;
            while let Some(row) = rows.next_row()? {
                let name = row.text(0)?.unwrap_or_default();
                let posts = row.number(1)?.unwrap_or_default();
                sum.row([name, "", ""], posts * place);
                place += 1;
            }
        }
        Ok(sum)
    }
}
