//! Querent: the runtime.
