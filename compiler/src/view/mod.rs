//! Structures and questions as views of the facts.
//!
//! A [`Structure`] is the one value that the enumerator makes, the pricer sizes, the planner
//! matches, the maintainer differentiates, verify recomputes, the emitter prints and explain reads.

pub mod delta;
pub mod elements;
pub mod eval;
pub mod facts;
pub mod key_size;
pub mod reads;
pub mod rows;
mod stored;
mod structure;
pub mod typing;

pub use stored::{KeyPart, StoredTypes, stored_types};
pub use structure::{Kind, Structure};
