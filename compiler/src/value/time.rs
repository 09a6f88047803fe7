//! Rounding of times and dates, in UTC.

use super::Value;
use crate::model::Function;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Rounds a timestamp, a date or the time of a timeuuid down. Null for anything else, for the
/// minute or hour of a date, and where the result is out of range.
pub(super) fn round_down(function: Function, value: &Value) -> Value {
    let rounded = match *value {
        Value::Timestamp(at) => timestamp(function, at).map(Value::Timestamp),
        Value::TimeUuid(id) => {
            timestamp(function, Value::timeuuid_millis(&id)).map(Value::Timestamp)
        }
        Value::Date(days) => days_down(function, days.into())
            .map(|days| Value::Date(i32::try_from(days).unwrap_or(i32::MIN))),
        _ => None,
    };
    rounded.unwrap_or(Value::Null)
}

/// What would lie before the earliest time is the earliest time: every time has a bucket.
fn timestamp(function: Function, at: i64) -> Option<i64> {
    let down = |unit: i64| at.div_euclid(unit).checked_mul(unit).unwrap_or(i64::MIN);
    match function {
        Function::Minute => Some(down(MINUTE)),
        Function::Hour => Some(down(HOUR)),
        _ => {
            let days = days_down(function, at.div_euclid(DAY))?;
            Some(days.checked_mul(DAY).unwrap_or(i64::MIN))
        }
    }
}

fn days_down(function: Function, days: i64) -> Option<i64> {
    let (year_start, month_start) = starts(days);
    match function {
        Function::Day => Some(days),
        Function::Month => Some(month_start),
        Function::Year => Some(year_start),
        _ => None,
    }
}

/// The first day of the year and of the month that a day lies in, in the proleptic Gregorian
/// calendar, as days since 1970-01-01.
///
/// Years are counted from 1 March of year 0, so that the leap day is a year's last one.
fn starts(days: i64) -> (i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    const MARCH_0000_TO_1970: i64 = 719_468;
    let shifted = days + MARCH_0000_TO_1970;
    let era = shifted.div_euclid(DAYS_OF_400_YEARS);
    let day_of_era = shifted.rem_euclid(DAYS_OF_400_YEARS);
    // The last day of each 4, 100 and 400 years is (or is not) a leap day.
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let march = |year: i64| 365 * year + year / 4 - year / 100;
    let day_of_year = day_of_era - march(year_of_era);
    // Months from March on have 31, 30, 31, 30, 31 days, and again: 153 days in five months.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month_start = day_of_era - day_of_year + (153 * month_from_march + 2) / 5;
    let january_is_behind = month_from_march >= 10;
    let year_start = if january_is_behind {
        day_of_era - day_of_year + 306
    } else {
        // 1 January lies in the March year before, 60 or 59 days before this one's start.
        let leap = year_of_era % 4 == 0 && (year_of_era % 100 != 0 || year_of_era == 0);
        day_of_era - day_of_year - if leap { 60 } else { 59 }
    };
    let origin = era * DAYS_OF_400_YEARS - MARCH_0000_TO_1970;
    (year_start + origin, month_start + origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_nine_centuries() {
        let is_leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
        let mut day = -141_427; // 1582-10-15
        let (mut year, mut month, mut day_of_month) = (1582, 10, 15);
        let mut year_start = None;
        let mut month_start = None;
        while year < 2500 {
            if day_of_month == 1 {
                month_start = Some(day);
                if month == 1 {
                    year_start = Some(day);
                }
            }
            let (y, m) = starts(day);
            assert!(
                month_start.is_none_or(|s| s == m),
                "{year}-{month}-{day_of_month}"
            );
            assert!(
                year_start.is_none_or(|s| s == y),
                "{year}-{month}-{day_of_month}"
            );
            if year == 1970 && month == 1 && day_of_month == 1 {
                assert_eq!(day, 0);
            }
            let last = match month {
                2 if is_leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            day_of_month += 1;
            if day_of_month > last {
                (day_of_month, month) = (1, month + 1);
                if month > 12 {
                    (month, year) = (1, year + 1);
                }
            }
        }
    }

    #[test]
    fn times_before_1970_round_down_too() {
        let at = Value::Timestamp(-1);
        assert_eq!(round_down(Function::Minute, &at), Value::Timestamp(-MINUTE));
        assert_eq!(round_down(Function::Hour, &at), Value::Timestamp(-HOUR));
        assert_eq!(round_down(Function::Day, &at), Value::Timestamp(-DAY));
        assert_eq!(
            round_down(Function::Month, &at),
            Value::Timestamp(-31 * DAY)
        );
        assert_eq!(
            round_down(Function::Year, &at),
            Value::Timestamp(-365 * DAY)
        );
        assert_eq!(
            round_down(Function::Year, &Value::Timestamp(i64::MIN)),
            Value::Timestamp(i64::MIN)
        );
        assert_eq!(
            round_down(Function::Year, &Value::Date(i32::MIN)),
            Value::Date(i32::MIN)
        );
        assert_eq!(round_down(Function::Hour, &Value::Date(3)), Value::Null);
    }
}
