//! Structures and questions as views of the facts.
//!
//! A [`Structure`] is the one value that the enumerator makes, the pricer sizes, the planner
//! matches, the maintainer differentiates, verify recomputes, the emitter prints and explain reads.

mod structure;

pub use structure::{Kind, Structure};
