//! The design step: model in, structures, plans, write plans, prices and reasons out.

mod plan;

pub use plan::{Aggregation, Bound, Estimate, Get, Op, Output, Plan, StructureId, Sub, Term, Test};
