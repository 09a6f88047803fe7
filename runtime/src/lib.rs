//! Querent: the runtime. Open, ask, change, verify.

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
