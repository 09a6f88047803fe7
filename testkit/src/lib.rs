//! What the tests hold the compiler and the runtime against: the meaning of changes and questions
//! written twice (naively in Rust, and as SQL over a normalised schema in `SQLite`), and random
//! models, facts, questions and changes to compare with.
//!
//! Nothing here is shared with the code under test except the model's types and the values.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![expect(
    clippy::indexing_slicing,
    reason = "used by tests only: a wrong slot should stop the test where it happens"
)]

pub mod apply;
pub mod case;
pub mod compare;
pub mod differential;
pub mod eval;
pub mod facts;
pub mod fuzz;
pub mod generate;
pub mod numbers;
pub mod oracle;
pub mod script;

pub use apply::{Refusal, Sequences, apply, expire, put, stamp};
pub use compare::{Difference, same_answer, unlimited};
pub use eval::{Answer, Eval};
pub use facts::Facts;
pub use oracle::{Oracle, OracleError};
