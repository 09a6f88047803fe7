//! How large and how hot a structure gets, beside what its target allows.

use super::grid::{Grid, faint, plain};
use super::number;
use querent_compiler::design::target::{self, Limits, Throughput};
use querent_compiler::design::{Design, Sizes};
use std::io::{self, Write};

/// One line for each size, with the limit that it is held against.
pub(crate) fn print(
    sizes: &Sizes,
    design: &Design,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let limits = target::named(&design.target).map(|t| t.limits);
    let mut grid = Grid::new(2, &[1]);
    for (what, size, allowed) in lines(sizes, limits.as_ref()) {
        let allowed = match allowed {
            Some(limit) => format!("{} allows {limit}", design.target),
            None => String::new(),
        };
        grid.line([faint(what), plain(size), faint(allowed)]);
    }
    grid.print(colour, out)
}

type Line = (&'static str, String, Option<String>);

fn lines(sizes: &Sizes, limits: Option<&Limits>) -> Vec<Line> {
    let at_most = |n: Option<f64>, show: fn(f64) -> String| n.map(show);
    let stated = |of: fn(&Limits) -> Option<f64>| limits.and_then(of);
    let mut lines = vec![
        (
            "rows in a partition",
            number::count(sizes.partition_rows_max),
            at_most(stated(|l| l.partition_rows), number::count),
        ),
        (
            "values in a partition",
            number::count(sizes.partition_values_max),
            at_most(stated(|l| l.partition_values), number::count),
        ),
        (
            "bytes in a partition",
            number::bytes(sizes.partition_bytes_max),
            at_most(stated(|l| l.partition_bytes), number::bytes),
        ),
        (
            "bytes in a row",
            number::bytes(sizes.row_bytes_max),
            at_most(stated(|l| Some(l.row_bytes)), number::bytes),
        ),
        (
            "bytes in a key",
            number::bytes(sizes.key_bytes_max),
            at_most(stated(|l| Some(l.key_bytes)), number::bytes),
        ),
    ];
    if sizes.collection_elements_max > 0.0 {
        lines.push((
            "elements in a row",
            format!(
                "{}, {}",
                number::count(sizes.collection_elements_max),
                number::bytes(sizes.collection_bytes_max)
            ),
            at_most(stated(|l| l.collection_elements), number::count),
        ));
    }
    if let Some(heat) = &sizes.heat {
        let throughput = |of: fn(&Limits) -> Option<Throughput>| limits.and_then(of);
        let reads = throughput(|l| l.partition_reads);
        let writes = throughput(|l| l.partition_writes);
        lines.push((
            "reads of a partition",
            rate(heat.reads, heat.read_units, reads),
            reads.map(allowed),
        ));
        lines.push((
            "writes to a partition",
            rate(heat.writes, heat.write_units, writes),
            writes.map(allowed),
        ));
    }
    lines
}

/// A rate, in units too where the target counts bytes.
fn rate(rate: f64, units: f64, limit: Option<Throughput>) -> String {
    if rate <= 0.0 {
        return "none".into();
    }
    match limit.and_then(|l| l.unit_bytes) {
        Some(_) => format!("{}, {} units", number::rate(rate), number::count(units)),
        None => number::rate(rate),
    }
}

fn allowed(limit: Throughput) -> String {
    match limit.unit_bytes {
        Some(bytes) => {
            let units = number::count(limit.per_second);
            format!("{units} units of {} a second", number::bytes(bytes))
        }
        None => number::rate(limit.per_second),
    }
}
