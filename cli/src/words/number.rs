//! Numbers as people read them.

use querent_compiler::design::target::Target;

/// So many digits are shown of a number.
pub(crate) const DIGITS: usize = 3;
/// So many, where fewer would not tell two of them apart.
pub(crate) const MOST_DIGITS: usize = 12;

/// `0.2`, `50`, `12.3k`, `4M`.
pub(crate) fn count(n: f64) -> String {
    count_of(n, DIGITS)
}

/// The same, to so many digits.
pub(crate) fn count_of(n: f64, digits: usize) -> String {
    let sizes = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")];
    sized(n, &sizes, digits).unwrap_or_else(|| shown(n, digits))
}

/// `17 B`, `4.5 MB`.
pub(crate) fn bytes(n: f64) -> String {
    let sizes = [
        (1e18, " EB"),
        (1e15, " PB"),
        (1e12, " TB"),
        (1e9, " GB"),
        (1e6, " MB"),
        (1e3, " kB"),
    ];
    sized(n, &sizes, DIGITS).unwrap_or_else(|| format!("{} B", shown(n.round(), DIGITS)))
}

/// A number in the largest of these sizes, where it is as large. What would be rounded up to the next
/// size is shown in it.
fn sized(n: f64, sizes: &[(f64, &str)], digits: usize) -> Option<String> {
    let (size, unit) = sizes.iter().find(|(size, _)| n >= size * whole(digits))?;
    Some(format!("{}{unit}", shown(n / size, digits)))
}

/// What is rounded up to one.
fn whole(digits: usize) -> f64 {
    1.0 - 0.5 * 10f64.powi(-(digits as i32))
}

/// Seconds as `3.2 µs`, `21 ms`, `1.4 s`, `26.7k s`.
pub(crate) fn seconds(n: f64) -> String {
    if n >= 999.5 {
        return format!("{} s", count(n));
    }
    let sizes = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    match sizes.iter().find(|(size, _)| n >= size * 0.9995) {
        Some((size, unit)) => format!("{} {unit}", shown(n / size, DIGITS)),
        None => format!("{} µs", shown(n / 1e-6, DIGITS)),
    }
}

/// So many digits, or all those before the point.
fn shown(n: f64, digits: usize) -> String {
    // Zero has no sign to a reader.
    let n = n + 0.0;
    let behind = match n {
        n if n >= 100.0 * whole(digits) => digits.saturating_sub(3),
        n if n >= 10.0 * whole(digits) => digits.saturating_sub(2),
        n if n >= 0.01 || n == 0.0 => digits.saturating_sub(1),
        _ if digits > DIGITS => digits,
        _ => return "<0.01".into(),
    };
    let text = format!("{n:.behind$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// `5k/s`, `1/min`, `3/day`.
pub(crate) fn rate(per_second: f64) -> String {
    rate_of(per_second, DIGITS)
}

/// The same, to so many digits.
pub(crate) fn rate_of(per_second: f64, digits: usize) -> String {
    let periods = [(1.0, "s"), (60.0, "min"), (3600.0, "h")];
    let period = periods
        .iter()
        .find(|(p, _)| per_second * p >= whole(digits));
    let (period, unit) = period.unwrap_or(&(86_400.0, "day"));
    format!("{}/{unit}", count_of(per_second * period, digits))
}

/// The unit of a target's costs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// So many seconds.
    Time(f64),
    /// What a provider charges for.
    Capacity,
}

impl Unit {
    /// As the target's own description says it.
    pub(crate) fn of(target: &Target) -> Unit {
        let says = |word| target.about.contains(word);
        match () {
            () if says("microseconds") => Unit::Time(1e-6),
            () if says("milliseconds") => Unit::Time(1e-3),
            () if says("capacity units") => Unit::Capacity,
            () => Unit::Time(1.0),
        }
    }

    /// A cost in seconds, where it is one of time.
    pub(crate) fn seconds(self, cost: f64) -> Option<f64> {
        match self {
            Unit::Time(unit) => Some(cost * unit),
            Unit::Capacity => None,
        }
    }

    /// A cost in words.
    pub(crate) fn show(self, cost: f64) -> String {
        match self {
            Unit::Time(unit) => seconds(cost * unit),
            Unit::Capacity => format!("{} units", count(cost)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_letter() {
        let counts = [
            0.0, 0.004, 0.2, 1.0, 50.0, 999.0, 999.9, 12_345.0, 4e6, 2.5e13,
        ];
        let shown: Vec<String> = counts.into_iter().map(count).collect();
        let expected = [
            "0", "<0.01", "0.2", "1", "50", "999", "1k", "12.3k", "4M", "25T",
        ];
        assert_eq!(shown, expected);
        assert_eq!(bytes(17.4), "17 B");
        assert_eq!(bytes(4.5e6), "4.5 MB");
        assert_eq!(bytes(1.68e15), "1.68 PB");
        assert_eq!(rate_of(50_021.0, 5), "50.021k/s");
        assert_eq!(count_of(0.004, 4), "0.004");
        assert_eq!(seconds(3.2e-6), "3.2 µs");
        assert_eq!(seconds(0.0214), "21.4 ms");
        assert_eq!(seconds(0.0), "0 µs");
        assert_eq!(seconds(-0.0), "0 µs");
        assert_eq!(seconds(1.4), "1.4 s");
        assert_eq!(seconds(26_659.0), "26.7k s");
        assert_eq!(rate(5000.0), "5k/s");
        assert_eq!(rate(1.0 / 60.0), "1/min");
        assert_eq!(rate(1.0 / 86_400.0), "1/day");
    }
}
