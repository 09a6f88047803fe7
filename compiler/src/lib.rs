//! The pure half of Querent: text in, values and diagnostics out.
//!
//! No IO, no async, and no panic on any input. The folder tree is the pipeline:
//! `syntax` (text to tree), `resolve` (tree to [`model`]), [`design`] (model to design),
//! with [`view`] as the one meaning of structures and questions that all of them share.

pub mod design;
pub mod model;
pub mod value;
pub mod view;
