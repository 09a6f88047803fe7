//! Loading files: reading, rejecting, sorting.

mod input;
mod rejects;
mod sort;

pub use input::{Input, InputError, InputRow};
pub use rejects::{Reject, RejectWriter};
pub use sort::{Lent, SortError, Sorted, Sorter};
