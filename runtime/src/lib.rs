//! Querent: the runtime. Open, ask, change, verify.

pub mod key;
pub mod layout;
pub mod row;
pub mod store;
pub mod value_ref;
