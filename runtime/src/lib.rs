//! Querent: the runtime. Open, ask, change, verify.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod change;
pub mod cursor;
mod database;
pub mod facts;
pub mod key;
pub mod layout;
pub mod operator;
mod params;
mod recompute;
pub mod row;
pub mod schema;
#[cfg(test)]
mod samples;
pub mod load;
pub mod store;
pub mod value_ref;
pub mod verify;

pub use change::{ChangeFailure, Receipt, Refusal};
pub use database::{Answered, Asked, Database, Error, Snapshot, schema_of};
pub use params::{ParamError, Params};
pub use querent_compiler as compiler;
