//! Querent: the runtime. Open, ask, change, verify.
//!
//! A database is a folder; its model says what exists, what is asked and what changes, and its
//! design follows from that. Every change keeps every copy true, in one durable transaction.
//!
//! ```
//! use querent::Database;
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let model = "
//!     entity User (1k)  { id int key  name text(20) }
//!     entity Post (50k) { id int key  title text(60)  author -> User as posts (avg 50, max 1k) }
//!     question posts_of (100/s)
//!       select id, title, author.name as by from Post where author.id = $user order by id
//!     question with_posts (10/s) select name, posts { title order by id } from User where id = $user
//!     change join   (1/s)   insert User
//!     change post   (10/s)  insert Post
//!     change rename (1/h)   update User set name where id = $user";
//! let db = Database::create(folder.path().join("forum.db"), "forum", model)?;
//! db.change("join", json!({ "id": 1, "name": "Ann" }))?;
//! db.change("post", json!({ "id": 7, "title": "Hello", "author": 1 }))?;
//! db.change("rename", json!({ "user": 1, "name": "Anna" }))?;
//!
//! // Rows are read and decoded as they are looked at.
//! let snapshot = db.snapshot()?;
//! let asked = snapshot.ask("posts_of", json!({ "user": 1 }))?;
//! let mut rows = asked.rows()?;
//! while let Some(row) = rows.next_row()? {
//!     println!("{:?} {:?}", row.get(0)?, row.text(1)?);
//! }
//!
//! // So are the rows of a nested column.
//! let asked = snapshot.ask("with_posts", json!({ "user": 1 }))?;
//! let mut users = asked.rows()?;
//! while let Some(user) = users.next_row()? {
//!     for post in user.nested(1)? {
//!         assert_eq!(post.text(0)?, Some("Hello"));
//!     }
//! }
//!
//! // Or all at once, as values of a type of your own.
//! #[derive(serde::Deserialize)]
//! struct Row { id: i32, title: String, by: String }
//! let rows: Vec<Row> = db.ask("posts_of", json!({ "user": 1 }))?.deserialize()?;
//! assert_eq!((rows[0].id, rows[0].title.as_str(), rows[0].by.as_str()), (7, "Hello", "Anna"));
//! # Ok(())
//! # }
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod change;
mod clock;
pub mod cursor;
mod database;
mod expiry;
pub mod facts;
pub mod key;
pub mod layout;
pub mod load;
pub mod operator;
mod params;
mod recompute;
pub mod row;
#[cfg(test)]
mod samples;
pub mod schema;
pub mod store;
mod text;
pub mod trial;
pub mod value_ref;
pub mod verify;

pub use change::{ChangeFailure, Receipt, Refusal};
pub use clock::{Clock, ManualClock, SystemClock};
pub use database::{Answered, Asked, Database, Error, Kind, Snapshot, schema_of};
pub use params::{ParamError, Params};
pub use querent_compiler as compiler;
