//! Dates and timestamps as text, by the proleptic Gregorian calendar in UTC.
//!
//! Years 0000 to 9999 are printed as four digits (RFC 3339); others carry a sign and as many digits
//! as they need (`+12026-01-31`, `-0044-03-15`), the expanded form of ISO 8601.

use super::CodecError;
use super::scalar::quote;

const DAY_MS: i64 = 86_400_000;

/// Days since 1970-01-01 as `2026-01-31`.
pub(super) fn date_to_text(days: i32) -> String {
    civil_text(i64::from(days))
}

/// Milliseconds since 1970 as `2026-01-31T12:00:00.000Z`.
pub(super) fn timestamp_to_text(millis: i64) -> String {
    let (day, ms) = (millis.div_euclid(DAY_MS), millis.rem_euclid(DAY_MS));
    let (h, m, s, f) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    format!("{}T{h:02}:{m:02}:{s:02}.{f:03}Z", civil_text(day))
}

/// Reads `2026-01-31`.
pub(super) fn date_from_text(text: &str) -> Result<i32, CodecError> {
    let error = || CodecError::new(quote(text), "a date such as 2026-01-31");
    let (days, rest) = read_date(text).ok_or_else(error)?;
    if !rest.is_empty() {
        return Err(error());
    }
    i32::try_from(days).map_err(|_| error().help("the year is beyond what a date can hold"))
}

/// Reads RFC 3339, the same with a blank for the `T`, a date alone, or whole milliseconds since 1970.
/// Without a zone it is UTC.
pub(super) fn timestamp_from_text(text: &str) -> Result<i64, CodecError> {
    if let Ok(millis) = text.parse::<i64>() {
        return Ok(millis);
    }
    let error = || {
        CodecError::new(
            quote(text),
            "a timestamp such as 2026-01-31T12:00:00Z, or milliseconds since 1970",
        )
    };
    let (days, rest) = read_date(text).ok_or_else(error)?;
    let clock = match rest.strip_prefix(['T', 't', ' ']) {
        Some(clock) => clock,
        None if rest.is_empty() => "00:00",
        None => return Err(error()),
    };
    let (ms, rest) = read_clock(clock).ok_or_else(error)?;
    let (fraction, rest) = match rest.strip_prefix(['.', ',']) {
        Some(rest) => read_fraction(rest).ok_or_else(error)?,
        None => (Fraction::Millis(0), rest),
    };
    let Fraction::Millis(fraction) = fraction else {
        return Err(
            error().help("a timestamp holds milliseconds: give at most three digits of a second")
        );
    };
    let offset = read_zone(rest.trim_start_matches(' ')).ok_or_else(error)?;
    // The subtraction of the offset may leave the range that the day alone is in.
    let millis = i128::from(days) * i128::from(DAY_MS) + i128::from(ms + fraction - offset);
    i64::try_from(millis).map_err(|_| error().help("the year is beyond what a timestamp can hold"))
}

/// A year, month and day as text.
fn civil_text(days: i64) -> String {
    let (year, month, day) = days_to_civil(days);
    if (0..=9999).contains(&year) {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{year:+05}-{month:02}-{day:02}")
    }
}

/// Eras of 400 years have 146,097 days; a year starts in March, so that the leap day is its last.
const ERA_DAYS: i64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

fn days_to_civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + EPOCH_DAYS;
    let (era, day_of_era) = (shifted.div_euclid(ERA_DAYS), shifted.rem_euclid(ERA_DAYS));
    // Leap days that went before within the era are taken out, so that years are of 365 days.
    let leaps = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn civil_to_days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
        - EPOCH_DAYS
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Reads a date at the start; gives the days and what follows.
fn read_date(text: &str) -> Option<(i64, &str)> {
    let (negative, signed, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), true, rest),
        None => (false, false, text),
    };
    let width = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    // Nine digits hold every year of a timestamp, and keep the arithmetic far from overflow.
    if !(4..=9).contains(&width) || (!signed && width != 4) {
        return None;
    }
    let (year, rest) = read_number(unsigned, width)?;
    let year = if negative { -year } else { year };
    let (month, rest) = read_number(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = read_number(rest.strip_prefix('-')?, 2)?;
    let real = (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day);
    real.then(|| (civil_to_days(year, month, day), rest))
}

/// Reads `12:00` or `12:00:00`; gives milliseconds and what follows.
fn read_clock(text: &str) -> Option<(i64, &str)> {
    let (hour, rest) = read_number(text, 2)?;
    let (minute, rest) = read_number(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = match rest.strip_prefix(':') {
        Some(rest) => read_number(rest, 2)?,
        None => (0, rest),
    };
    let real = hour < 24 && minute < 60 && second < 60;
    real.then_some((((hour * 60 + minute) * 60 + second) * 1000, rest))
}

enum Fraction {
    Millis(i64),
    /// Digits beyond milliseconds that are not all zero: they would be lost.
    TooFine,
}

fn read_fraction(text: &str) -> Option<(Fraction, &str)> {
    let width = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(width).filter(|_| width > 0)?;
    if digits.bytes().skip(3).any(|b| b != b'0') {
        return Some((Fraction::TooFine, rest));
    }
    let millis = digits
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(3)
        .fold(0, |sum, b| sum * 10 + i64::from(b - b'0'));
    Some((Fraction::Millis(millis), rest))
}

/// Reads nothing, `Z`, `+02:00` or `+0200` to the end; gives the offset in milliseconds.
fn read_zone(text: &str) -> Option<i64> {
    if text.is_empty() || text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (hour, rest) = read_number(text.strip_prefix(['+', '-'])?, 2)?;
    let (minute, rest) = read_number(rest.strip_prefix(':').unwrap_or(rest), 2)?;
    let sign = if text.starts_with('-') { -1 } else { 1 };
    (rest.is_empty() && hour < 24 && minute < 60).then_some(sign * (hour * 60 + minute) * 60_000)
}

/// Reads exactly `width` digits.
fn read_number(text: &str, width: usize) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at_checked(width)?;
    let all = digits.bytes().all(|b| b.is_ascii_digit());
    all.then(|| digits.parse().ok())
        .flatten()
        .map(|n| (n, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_usual_forms() {
        let noon = 1_769_860_800_000;
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31T12:00:00.000Z",
            "2026-01-31T12:00Z",
            "2026-01-31 12:00:00",
            "2026-01-31t14:00:00.000000+02:00",
            "2026-01-31T07:30:00.0-0430",
            "1769860800000",
        ] {
            assert_eq!(timestamp_from_text(text), Ok(noon), "{text}");
        }
        assert_eq!(timestamp_to_text(noon), "2026-01-31T12:00:00.000Z");
        assert_eq!(timestamp_from_text("2026-01-31"), Ok(noon - 43_200_000));
        assert_eq!(timestamp_to_text(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(date_from_text("2024-02-29"), Ok(19_782));
    }

    #[test]
    fn refuses_what_does_not_exist() {
        for text in [
            "2026-02-29",
            "2026-13-01",
            "2026-1-1",
            "20260101",
            "2026-01-01x",
            "",
            "1900-02-29",
        ] {
            assert!(date_from_text(text).is_err(), "{text}");
        }
        for text in [
            "2026-01-31T24:00:00Z",
            "2026-01-31T12:00:60Z",
            "2026-01-31T12:00:00+2",
            "2026-01-31T",
            "2026-01-31T12:00:00.",
            "2026-01-31T12:00:00.0001Z",
            "+999999999-01-01T00:00:00Z",
            "now",
        ] {
            assert!(timestamp_from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_ranges_are_read_back() {
        for days in [
            i32::MIN,
            i32::MAX,
            0,
            -719_528,
            -719_529,
            2_932_896,
            2_932_897,
        ] {
            assert_eq!(date_from_text(&date_to_text(days)), Ok(days));
        }
        for millis in [
            i64::MIN,
            i64::MAX,
            0,
            -1,
            253_402_300_800_000,
            253_402_300_799_999,
        ] {
            assert_eq!(timestamp_from_text(&timestamp_to_text(millis)), Ok(millis));
        }
        assert_eq!(date_to_text(-719_529), "-0001-12-31");
        assert_eq!(date_to_text(2_932_897), "+10000-01-01");
    }
}
