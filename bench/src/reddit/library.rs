//! The same questions through the library: lazily, every value of every row looked at.

use super::data::{category_name, post_id};
use super::{Asks, Sum};
use crate::Result;
use querent::Database;
use querent::layout::ValueRef;
use querent::store::lmdb::Lmdb;
use querent_compiler::value::Value;
use std::ops::Range;

pub struct Library {
    pub db: Database<Lmdb>,
    pub asks: Asks,
}

impl Library {
    pub fn front_page(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let category = Value::Text(category_name(self.asks.category(i)));
            let snapshot = self.db.snapshot()?;
            let asked = snapshot.ask("front_page", vec![category])?;
            let mut rows = asked.rows()?;
            while let Some(row) = rows.next_row()? {
                let (title, url, author) = (row.get(0)?, row.get(1)?, row.get(3)?);
                sum.row(
                    [text(&title), text(&url), text(&author)],
                    number(&row.get(2)?),
                );
            }
        }
        Ok(sum)
    }

    pub fn discussion(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let post = Value::TimeUuid(post_id(self.asks.post(i)));
            let snapshot = self.db.snapshot()?;
            let asked = snapshot.ask("discussion", vec![post])?;
            let mut rows = asked.rows()?;
            while let Some(row) = rows.next_row()? {
                let (title, url) = (row.get(0)?, row.get(1)?);
                sum.row([text(&title), text(&url), ""], 0);
                let ValueRef::Owned(comments) = row.get(2)? else {
                    return Err("no list".into());
                };
                let Value::List(comments) = &*comments else {
                    return Err("no list".into());
                };
                for comment in comments {
                    let Value::Record(fields) = comment else {
                        return Err("no record".into());
                    };
                    let [Value::Text(body), Value::Timestamp(at), Value::Text(author)] =
                        fields.as_slice()
                    else {
                        return Err("other fields".into());
                    };
                    sum.row([body, author, ""], *at);
                }
            }
        }
        Ok(sum)
    }

    pub fn posts_by_user(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for i in asks {
            let user = Value::Int(self.asks.user(i) as i64);
            let snapshot = self.db.snapshot()?;
            let asked = snapshot.ask("posts_by_user", vec![user])?;
            let mut rows = asked.rows()?;
            while let Some(row) = rows.next_row()? {
                let (title, url) = (row.get(0)?, row.get(1)?);
                sum.row([text(&title), text(&url), ""], 0);
            }
        }
        Ok(sum)
    }

    pub fn busiest(&self, asks: Range<u64>) -> Result<Sum> {
        let mut sum = Sum::default();
        for _ in asks {
            let snapshot = self.db.snapshot()?;
            let asked = snapshot.ask("busiest", ())?;
            let mut rows = asked.rows()?;
            let mut place = 0;
            while let Some(row) = rows.next_row()? {
                let name = row.get(0)?;
                sum.row([text(&name), "", ""], number(&row.get(1)?) * place);
                place += 1;
            }
        }
        Ok(sum)
    }
}

fn text<'a>(value: &'a ValueRef<'_>) -> &'a str {
    match value {
        ValueRef::Text(text) => text,
        _ => "",
    }
}

fn number(value: &ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Int(number) | ValueRef::Timestamp(number) => *number,
        _ => 0,
    }
}
