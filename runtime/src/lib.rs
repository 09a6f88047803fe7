//! Querent: the runtime. Open, ask, change, verify.

pub mod key;
pub mod layout;
pub mod row;
#[cfg(test)]
mod samples;
pub mod load;
pub mod store;
pub mod value_ref;
