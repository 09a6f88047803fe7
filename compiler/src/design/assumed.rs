//! What is assumed of a parameter that nothing is known of. Prices are made with it, and trials
//! draw parameters by it.

/// The share of rows that a range or an inequality lets pass.
pub const RANGE: f64 = 0.1;
/// Elements of a list.
pub const LIST: f64 = 5.0;
/// Rows of a limit.
pub const LIMIT: f64 = 20.0;
/// So many rows are read in a moment, by whatever path: what concerns no more is not worth a word.
pub const FEW: f64 = 1000.0;
