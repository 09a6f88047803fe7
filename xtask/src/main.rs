//! Tasks of the project: `cargo xtask test`, `bench`, `soak`.
fn main() {}
