//! The oracle, random models and the harness of case folders. Used by tests only.

pub mod fuzz;
