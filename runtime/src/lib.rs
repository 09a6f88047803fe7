//! Querent: the runtime. Open, ask, change, verify.

pub mod store;
