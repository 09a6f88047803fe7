//! Querent: the runtime. Open, ask, change, verify.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod cursor;
pub mod key;
pub mod layout;
pub mod operator;
pub mod row;
#[cfg(test)]
mod samples;
pub mod load;
pub mod store;
pub mod value_ref;
