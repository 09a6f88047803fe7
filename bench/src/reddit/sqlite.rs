//! The same facts in SQLite: normalised, an index for each question, prepared statements, the file
//! mapped into memory.

use super::data::{CATEGORIES, Size, category_name, post_id};
use super::{Answers, Asks, Sum};
use crate::Result;
use rusqlite::{Connection, Statement, params};
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;

/// What an index holds beside the columns that it is searched and ordered by.
#[derive(Clone, Copy, PartialEq)]
pub enum Indexes {
    /// Nothing: the row is looked up in its table.
    Plain,
    /// Every column that its question reads.
    Covering,
}

const TABLES: &str = "
    create table user (id integer primary key, name text not null unique);
    create table category (name text primary key) without rowid;
    create table post (number integer primary key, id blob not null unique, title text not null,
      url text not null, posted_at integer not null, author integer not null references user,
      category text not null references category);
    create table comment (number integer primary key, id blob not null, body text not null,
      at integer not null, post blob not null, author integer not null references user);";

const PLAIN: &str = "
    create index by_category on post (category, posted_at desc, id desc);
    create index by_author on post (author, posted_at desc, id desc);
    create index by_post on comment (post, at, id);";

const COVERING: &str = "
    create index by_category on post (category, posted_at desc, id desc, title, url, author);
    create index by_author on post (author, posted_at desc, id desc, title, url);
    create index by_post on comment (post, at, id, body, author);";

const FRONT_PAGE: &str = "
    select p.title, p.url, p.posted_at, u.name from post p join user u on u.id = p.author
    where p.category = ? order by p.posted_at desc, p.id desc limit 50";
const POST: &str = "select title, url from post where id = ?";
const COMMENTS: &str = "
    select c.body, c.at, u.name from comment c join user u on u.id = c.author
    where c.post = ? order by c.at, c.id";
const BY_USER: &str = "
    select title, url from post where author = ? order by posted_at desc, id desc limit 20";
const BUSIEST: &str = "
    select name, (select count(*) from post p where p.category = c.name) as posts from category c
    order by posts desc, name desc";

pub fn create(path: &Path, size: Size, indexes: Indexes) -> Result<()> {
    let mut db = Connection::open(path)?;
    db.execute_batch(
        "pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -200000;",
    )?;
    db.execute_batch(TABLES)?;
    let txn = db.transaction()?;
    {
        let mut user = txn.prepare("insert into user values (?, ?)")?;
        for i in 0..size.users() {
            user.execute(params![i as i64, size.user_name(i)])?;
        }
        let mut category = txn.prepare("insert into category values (?)")?;
        for i in 0..CATEGORIES {
            category.execute(params![category_name(i)])?;
        }
        let mut post = txn.prepare("insert into post values (?, ?, ?, ?, ?, ?, ?)")?;
        for i in 0..size.posts {
            let p = size.post(i);
            let (number, author) = (i as i64, p.author as i64);
            post.execute(params![
                number,
                p.id,
                p.title,
                p.url,
                p.posted_at,
                author,
                p.category
            ])?;
        }
        let mut comment = txn.prepare("insert into comment values (?, ?, ?, ?, ?, ?)")?;
        for i in 0..size.comments {
            let c = size.comment(i);
            let (number, author) = (i as i64, c.author as i64);
            comment.execute(params![number, c.id, c.body, c.at, post_id(c.post), author])?;
        }
    }
    txn.commit()?;
    db.execute_batch(match indexes {
        Indexes::Plain => PLAIN,
        Indexes::Covering => COVERING,
    })?;
    db.execute_batch("analyze; pragma journal_mode = wal;")?;
    Ok(())
}

pub fn open(path: &Path) -> Result<Connection> {
    let db = Connection::open(path)?;
    db.execute_batch("pragma mmap_size = 1099511627776; pragma cache_size = -200000;")?;
    let mapped: i64 = db.query_row("pragma mmap_size", [], |row| row.get(0))?;
    let bytes = std::fs::metadata(path)?.len();
    if (mapped as u64) < bytes {
        return Err(format!(
            "SQLite maps {mapped} bytes of {bytes}, expected all: build it by `cargo xtask bench`"
        )
        .into());
    }
    Ok(db)
}

pub struct Sqlite<'c> {
    front_page: RefCell<Statement<'c>>,
    post: RefCell<Statement<'c>>,
    comments: RefCell<Statement<'c>>,
    by_user: RefCell<Statement<'c>>,
    busiest: RefCell<Statement<'c>>,
    asks: Asks,
}

impl<'c> Sqlite<'c> {
    pub fn new(db: &'c Connection, asks: Asks) -> Result<Sqlite<'c>> {
        let prepare = |sql| db.prepare(sql).map(RefCell::new);
        Ok(Sqlite {
            front_page: prepare(FRONT_PAGE)?,
            post: prepare(POST)?,
            comments: prepare(COMMENTS)?,
            by_user: prepare(BY_USER)?,
            busiest: prepare(BUSIEST)?,
            asks,
        })
    }
}

impl Answers for Sqlite<'_> {
    fn front_page(&self, asks: Range<u64>) -> Result<Sum> {
        let (mut statement, mut sum) = (self.front_page.borrow_mut(), Sum::default());
        for i in asks {
            let mut rows = statement.query([category_name(self.asks.category(i))])?;
            while let Some(row) = rows.next()? {
                let text = |i| row.get_ref(i)?.as_str().map_err(rusqlite::Error::from);
                sum.row([text(0)?, text(1)?, text(3)?], row.get(2)?);
            }
        }
        Ok(sum)
    }

    fn discussion(&self, asks: Range<u64>) -> Result<Sum> {
        let (mut post, mut comments) = (self.post.borrow_mut(), self.comments.borrow_mut());
        let mut sum = Sum::default();
        for i in asks {
            let id = post_id(self.asks.post(i));
            let mut rows = post.query([id])?;
            while let Some(row) = rows.next()? {
                let text = |i| row.get_ref(i)?.as_str().map_err(rusqlite::Error::from);
                sum.row([text(0)?, text(1)?, ""], 0);
            }
            let mut rows = comments.query([id])?;
            while let Some(row) = rows.next()? {
                let text = |i| row.get_ref(i)?.as_str().map_err(rusqlite::Error::from);
                sum.row([text(0)?, text(2)?, ""], row.get(1)?);
            }
        }
        Ok(sum)
    }

    fn posts_by_user(&self, asks: Range<u64>) -> Result<Sum> {
        let (mut statement, mut sum) = (self.by_user.borrow_mut(), Sum::default());
        for i in asks {
            let mut rows = statement.query([self.asks.user(i) as i64])?;
            while let Some(row) = rows.next()? {
                let text = |i| row.get_ref(i)?.as_str().map_err(rusqlite::Error::from);
                sum.row([text(0)?, text(1)?, ""], 0);
            }
        }
        Ok(sum)
    }

    fn busiest(&self, asks: Range<u64>) -> Result<Sum> {
        let (mut statement, mut sum) = (self.busiest.borrow_mut(), Sum::default());
        for _ in asks {
            let mut rows = statement.query([])?;
            let mut place = 0;
            while let Some(row) = rows.next()? {
                let (name, total) = (row.get_ref(0)?, row.get::<_, i64>(1)?);
                sum.row([name.as_str()?, "", ""], total * place);
                place += 1;
            }
        }
        Ok(sum)
    }
}
