//! Querent: the runtime. Open, ask, change, verify.

pub mod load;
pub mod store;
