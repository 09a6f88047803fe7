//! Constants, typed by what they meet.

use super::context::Context;
use super::{numbers, typing};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Type;
use crate::syntax::Span;
use crate::syntax::ast::{self, Expr, ExprKind};
use crate::value::Value;
use crate::value::ops::is_within_digits;
use rust_decimal::Decimal;

impl Context<'_> {
    /// The value of a literal, and its type.
    pub(super) fn constant(
        &mut self,
        expr: &Expr,
        expected: Option<&Type>,
    ) -> Option<(Value, Type)> {
        if let Some(Type::Key(entity)) = expected {
            let (value, _) = match typing::single_key(self.model, *entity).cloned() {
                Some(scalar) => self.constant(expr, Some(&scalar))?,
                None => {
                    return self.malformed(
                        expr.span,
                        "a key of several parts is a parameter",
                        "use a parameter",
                    );
                }
            };
            return Some((Value::Key(vec![value]), Type::Key(*entity)));
        }
        match &expr.kind {
            ExprKind::Number(number, negative) => {
                self.number(number, *negative, expected, expr.span)
            }
            ExprKind::Text(text) => self.quoted(text, expected, expr.span),
            ExprKind::Bool(value) => match expected {
                None | Some(Type::Bool | Type::Any) => Some((Value::Bool(*value), Type::Bool)),
                Some(other) => self.mismatch(expr.span, "true or false", other),
            },
            _ => None,
        }
    }

    fn malformed<T>(&mut self, span: Span, message: impl Into<String>, help: &str) -> Option<T> {
        self.fail(Diagnostic::new(codes::CONSTANT, span, message).help(help))
    }

    fn mismatch<T>(&mut self, span: Span, what: &str, expected: &Type) -> Option<T> {
        let message = format!(
            "{what} where a {} is needed",
            typing::name(self.model, expected)
        );
        self.fail(
            Diagnostic::new(codes::INCOMPATIBLE, span, message).help("compare values of one type"),
        )
    }

    fn number(
        &mut self,
        number: &ast::Number,
        negative: bool,
        expected: Option<&Type>,
        span: Span,
    ) -> Option<(Value, Type)> {
        let factor = match numbers::count(&ast::Number {
            digits: "1".to_owned(),
            ..number.clone()
        }) {
            Ok(factor) => factor,
            Err(found) => return self.fail(found),
        };
        let exact = Decimal::from_str_exact(&number.digits)
            .or_else(|_| Decimal::from_scientific(&number.digits))
            .ok()
            .and_then(|d| d.checked_mul(Decimal::try_from(factor).ok()?))
            .map(|d| if negative { -d } else { d }.normalize());
        let float = numbers::digits(number) * factor * if negative { -1.0 } else { 1.0 };
        let whole = exact
            .filter(Decimal::is_integer)
            .and_then(|d| i64::try_from(d).ok());
        match expected {
            Some(Type::Int) => match whole.filter(|&n| i32::try_from(n).is_ok()) {
                Some(n) => Some((Value::Int(n), Type::Int)),
                None => self.malformed(span, "this is no int", "an int is whole and fits 32 bits"),
            },
            Some(Type::BigInt) => match whole {
                Some(n) => Some((Value::Int(n), Type::BigInt)),
                None => self.malformed(
                    span,
                    "this is no bigint",
                    "a bigint is whole and fits 64 bits",
                ),
            },
            Some(Type::Float) => self.float(float, span),
            Some(Type::Decimal) => match exact.filter(is_within_digits) {
                Some(d) => Some((Value::Decimal(d), Type::Decimal)),
                None => self.malformed(
                    span,
                    "this is no decimal",
                    "a decimal has at most 28 digits",
                ),
            },
            None | Some(Type::Any) => match whole {
                Some(n) => Some((Value::Int(n), Type::BigInt)),
                None => self.float(float, span),
            },
            Some(other) => self.mismatch(span, "a number", other),
        }
    }

    /// Digits that have no float are not taken for the infinite one.
    fn float(&mut self, float: f64, span: Span) -> Option<(Value, Type)> {
        if float.is_finite() {
            // No negative zero.
            Some((Value::Float(float + 0.0), Type::Float))
        } else {
            self.malformed(span, "this is no float", "a float is less than 1.8e308")
        }
    }

    fn quoted(&mut self, text: &str, expected: Option<&Type>, span: Span) -> Option<(Value, Type)> {
        let expected = expected.cloned().unwrap_or(Type::Text(crate::model::Size {
            avg: text.len() as f64,
            max: None,
        }));
        let value = match &expected {
            Type::Text(_) | Type::Any => Some(Value::Text(text.to_owned())),
            Type::Timestamp => timestamp(text).map(Value::Timestamp),
            Type::Date => date(text).map(Value::Date),
            Type::Uuid => uuid(text).map(Value::Uuid),
            Type::TimeUuid => uuid(text)
                .filter(|id| id.get(6).is_some_and(|b| b >> 4 == 1))
                .map(Value::TimeUuid),
            Type::Decimal => Decimal::from_str_exact(text)
                .ok()
                .map(|d| d.normalize())
                .filter(is_within_digits)
                .map(Value::Decimal),
            Type::Enum(id) => {
                let members = &self.model.enumeration(*id).members;
                members
                    .iter()
                    .position(|m| m == text)
                    .map(|at| Value::Enum(at as u16))
            }
            other => return self.mismatch(span, "a text", other),
        };
        if let Some(value) = value {
            return Some((value, expected));
        }
        let help = match expected {
            Type::Timestamp => "write '2024-01-31T12:00:00Z' or '2024-01-31'",
            Type::Date => "write '2024-01-31'",
            Type::Uuid => "write 32 hexadecimal digits with dashes",
            Type::TimeUuid => "write a version 1 uuid",
            Type::Enum(_) => "write a member of the enumeration, without quotes",
            _ => "write digits with a point, at most 28 of them",
        };
        let message = format!("`{text}` is no {}", typing::name(self.model, &expected));
        self.malformed(span, message, help)
    }
}

/// `2024-01-31` in days since 1970-01-01.
fn date(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=longest).contains(&day) {
        return None;
    }
    // Years start in March, so that the leap day is the last of its year.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days =
        y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day
            - 1;
    i32::try_from(days - 719_468).ok()
}

/// `2024-01-31`, `2024-01-31T12:00`, `2024-01-31 12:00:00.5+01:00` in milliseconds since 1970.
fn timestamp(text: &str) -> Option<i64> {
    let day_text = text.get(..10)?;
    let midnight = i64::from(date(day_text)?) * 86_400_000;
    let rest = text.get(10..)?;
    if rest.is_empty() {
        return Some(midnight);
    }
    let rest = rest.strip_prefix(['T', ' '])?;
    let (clock, offset) = match rest.find(['Z', '+', '-']) {
        Some(at) => (rest.get(..at)?, rest.get(at..)?),
        None => (rest, "Z"),
    };
    let offset = match offset.strip_prefix('Z') {
        Some("") => 0,
        Some(_) => return None,
        None => {
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = offset.get(1..)?.split_once(':')?;
            sign * (digits(hours, 2)? * 60 + digits(minutes, 2)?) * 60_000
        }
    };
    let mut parts = clock.split(':');
    let (hours, minutes) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let millis = match parts.next() {
        None => 0,
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
            if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let fraction = format!("{fraction:0<3}");
            digits(whole, 2)? * 1000 + digits(fraction.get(..3)?, 3)?
        }
    };
    let valid = parts.next().is_none() && hours < 24 && minutes < 60 && millis < 60_000;
    valid.then_some(midnight + hours * 3_600_000 + minutes * 60_000 + millis - offset)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    if !matches!(lengths.as_slice(), [8, 4, 4, 4, 12] | [32]) {
        return None;
    }
    let hex: String = text.chars().filter(|&c| c != '-').collect();
    if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some(u128::from_str_radix(&hex, 16).ok()?.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_those_of_the_calendar() {
        assert_eq!(date("1970-01-01"), Some(0));
        assert_eq!(date("2000-02-29"), Some(11_016));
        assert_eq!(date("1969-12-31"), Some(-1));
        assert_eq!(date("2023-02-29"), None);
        assert_eq!(date("2023-13-01"), None);
        assert_eq!(timestamp("1970-01-01T00:00:01.5Z"), Some(1_500));
        assert_eq!(timestamp("1970-01-01 01:00+01:00"), Some(0));
        assert_eq!(timestamp("1970-01-02"), Some(86_400_000));
        assert_eq!(timestamp("1970-01-02T25:00"), None);
        assert_eq!(timestamp("yesterday"), None);
    }

    #[test]
    fn uuids_have_the_usual_dashes() {
        assert_eq!(
            uuid("00000000-0000-1000-8000-00000000000f").map(|u| u[15]),
            Some(15)
        );
        assert_eq!(uuid("0000000-00000-1000-8000-00000000000f"), None);
    }
}
