//! Loading files: reading, rejecting, sorting.

mod bulk;
mod check;
mod facts;
mod gone;
mod input;
mod late;
mod long;
mod numbering;
mod popular_key;
mod read;
mod rejects;
mod sort;
mod write;

pub use bulk::{FileReport, LoadError, LoadOptions, LoadReport, Progress};
pub use input::{Input, InputError, InputRow};
pub use rejects::{Reject, RejectWriter};
pub use sort::{Lent, SortError, Sorted, Sorter};
