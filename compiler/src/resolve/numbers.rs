//! Numbers with units.

use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::ast::Number;

const COUNTS: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("M", 1e6), ("B", 1e9), ("T", 1e12)];
const SIZES: &[(&str, f64)] = &[
    ("", 1.0),
    ("k", 1e3),
    ("M", 1e6),
    ("B", 1.0),
    ("KB", 1e3),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
];
/// In milliseconds.
const DURATIONS: &[(&str, f64)] = &[
    ("ms", 1.0),
    ("s", 1e3),
    ("min", 60e3),
    ("h", 3_600e3),
    ("d", 86_400e3),
    ("day", 86_400e3),
    ("days", 86_400e3),
    ("w", 604_800e3),
];
/// Units of time of a rate, in seconds.
pub(super) const RATES: &[(&str, f64)] = &[
    ("s", 1.0),
    ("sec", 1.0),
    ("min", 60.0),
    ("h", 3_600.0),
    ("hour", 3_600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
];

/// The digits alone.
pub(super) fn digits(number: &Number) -> f64 {
    number.digits.parse().unwrap_or(f64::INFINITY)
}

/// A count: `20`, `1.5`, `100k`, `2M`.
pub(super) fn count(number: &Number) -> Result<f64, Diagnostic> {
    with_unit(number, COUNTS, "a count", "counts take k, M, B, T")
}

/// A size in bytes: `20`, `5k`, `200KB`.
pub(super) fn size(number: &Number) -> Result<f64, Diagnostic> {
    with_unit(number, SIZES, "a size", "sizes take k, M, KB, MB, GB")
}

/// A duration in milliseconds: `5min`, `1h`, `400d`.
pub(super) fn duration(number: &Number) -> Result<u64, Diagnostic> {
    let help = "durations take ms, s, min, h, d, w";
    with_unit(number, DURATIONS, "a duration", help).map(|ms| ms.round() as u64)
}

/// A time to live in milliseconds.
pub(super) fn lifetime(number: &Number) -> Result<u64, Diagnostic> {
    match duration(number)? {
        0 => {
            let message = "what expires at once is never there";
            let found = Diagnostic::new(codes::NUMBER, number.span, message);
            Err(found.help("a time to live is at least `1ms`"))
        }
        ms => Ok(ms),
    }
}

fn with_unit(
    number: &Number,
    units: &[(&str, f64)],
    what: &str,
    help: &str,
) -> Result<f64, Diagnostic> {
    let wrong =
        |message: String| Err(Diagnostic::new(codes::NUMBER, number.span, message).help(help));
    match units.iter().find(|(unit, _)| *unit == number.unit) {
        None if number.unit.is_empty() => {
            wrong(format!("{what} needs a unit: `{}`", number.digits))
        }
        None => wrong(format!("`{}` is no unit of {what}", number.unit)),
        Some((_, factor)) => {
            let value = digits(number) * factor;
            if value.is_finite() && value < 1e30 {
                Ok(value)
            } else {
                wrong(format!("{what} is too large"))
            }
        }
    }
}
