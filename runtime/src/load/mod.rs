//! Loading files: reading, rejecting, sorting.

mod bulk;
mod facts;
mod input;
mod rejects;
mod sort;

pub use bulk::{LoadError, LoadOptions, LoadReport, Progress};
pub use input::{Input, InputError, InputRow};
pub use rejects::{Reject, RejectWriter};
pub use sort::{Lent, SortError, Sorted, Sorter};
