//! Numbers as people read them.

use querent_compiler::design::target::Target;

/// `0.2`, `50`, `12.3k`, `4M`.
pub(crate) fn count(n: f64) -> String {
    let sizes = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")];
    // What would be rounded up to the next size is shown in it.
    match sizes.iter().find(|(size, _)| n >= size * 0.9995) {
        Some((size, letter)) => format!("{}{letter}", digits(n / size)),
        None => digits(n),
    }
}

/// `17 B`, `4.5 MB`.
pub(crate) fn bytes(n: f64) -> String {
    let sizes = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match sizes.iter().find(|(size, _)| n >= size * 0.9995) {
        Some((size, unit)) => format!("{} {unit}", digits(n / size)),
        None => format!("{} B", digits(n.round())),
    }
}

/// Seconds as `3.2 µs`, `21 ms`, `1.4 s`, `26.7k s`.
pub(crate) fn seconds(n: f64) -> String {
    if n >= 999.5 {
        return format!("{} s", count(n));
    }
    let sizes = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    match sizes.iter().find(|(size, _)| n >= size * 0.9995) {
        Some((size, unit)) => format!("{} {unit}", digits(n / size)),
        None => format!("{} µs", digits(n / 1e-6)),
    }
}

/// Three digits, or all those before the point.
fn digits(n: f64) -> String {
    // Zero has no sign to a reader.
    let n = n + 0.0;
    let text = match n {
        n if n >= 99.95 => format!("{n:.0}"),
        n if n >= 9.995 => format!("{n:.1}"),
        n if n >= 0.01 || n == 0.0 => format!("{n:.2}"),
        _ => return "<0.01".into(),
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// `5k/s`, `1/min`, `3/day`.
pub(crate) fn rate(per_second: f64) -> String {
    let periods = [(1.0, "s"), (60.0, "min"), (3600.0, "h")];
    match periods.iter().find(|(p, _)| per_second * p >= 0.9995) {
        Some((period, unit)) => format!("{}/{unit}", count(per_second * period)),
        None => format!("{}/day", count(per_second * 86_400.0)),
    }
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
