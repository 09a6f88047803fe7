//! Values as blobs that `SQLite` compares as `Value` compares.
//!
//! The first byte is the variant's rank; then, so that the order of bytes is the order of values:
//!
//! | variant | bytes |
//! |---|---|
//! | bool, enum, date, timestamp, int | big-endian, sign bit flipped |
//! | float, point | bits, flipped so that they order totally |
//! | decimal | sign, exponent, digits; complemented when negative |
//! | text, blob | bytes with `00` written as `00 ff`, then `00 00` |
//! | uuid | bytes; of a timeuuid the ticks come first |
//! | list, set, map, record, key | `01` before each element, then `00` |

use querent_compiler::value::{Value, timeuuid_ticks};
use rust_decimal::Decimal;

/// Encodes a value that is not null, or null within a collection.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

/// Decodes what [`encode`] made; none for anything else.
pub fn decode(bytes: &[u8]) -> Option<Value> {
    let mut reader = Reader { bytes };
    let value = reader.value()?;
    reader.bytes.is_empty().then_some(value)
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Bool(b) => out.extend([1, u8::from(*b)]),
        Value::Int(i) => tagged(2, &flip(*i), out),
        Value::Float(f) => tagged(3, &float_bits(*f), out),
        Value::Decimal(d) => {
            out.push(4);
            write_decimal(d, out);
        }
        Value::Text(t) => {
            out.push(5);
            write_bytes(t.as_bytes(), out);
        }
        Value::Blob(b) => {
            out.push(6);
            write_bytes(b, out);
        }
        Value::Date(d) => tagged(7, &flip(i64::from(*d)), out),
        Value::Timestamp(t) => tagged(8, &flip(*t), out),
        Value::Uuid(id) => tagged(9, id, out),
        Value::TimeUuid(id) => {
            tagged(10, &timeuuid_ticks(id).to_be_bytes(), out);
            out.extend(id);
        }
        Value::Point(a, b) => {
            tagged(11, &float_bits(*a), out);
            out.extend(float_bits(*b));
        }
        Value::Enum(e) => tagged(12, &e.to_be_bytes(), out),
        Value::List(values) => write_all(13, values, out),
        Value::Set(values) => write_all(14, values, out),
        Value::Map(pairs) => {
            out.push(15);
            for (key, value) in pairs {
                out.push(1);
                write(key, out);
                write(value, out);
            }
            out.push(0);
        }
        Value::Record(values) => write_all(16, values, out),
        Value::Key(values) => write_all(17, values, out),
    }
}

fn tagged(rank: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(rank);
    out.extend(bytes);
}

fn write_all(rank: u8, values: &[Value], out: &mut Vec<u8>) {
    out.push(rank);
    for value in values {
        out.push(1);
        write(value, out);
    }
    out.push(0);
}

fn flip(i: i64) -> [u8; 8] {
    (i as u64 ^ (1 << 63)).to_be_bytes()
}

fn float_bits(f: f64) -> [u8; 8] {
    let bits = f.to_bits();
    let ordered = if bits >> 63 == 1 {
        !bits
    } else {
        bits | (1 << 63)
    };
    ordered.to_be_bytes()
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(0xff);
        }
    }
    out.extend([0, 0]);
}

/// A decimal is 0.d₁d₂… × 10^exponent: the exponent orders first, then the digits.
fn write_decimal(d: &Decimal, out: &mut Vec<u8>) {
    let d = d.normalize();
    if d.is_zero() {
        out.push(1);
        return;
    }
    let digits = d.mantissa().unsigned_abs().to_string();
    let digits = digits.as_bytes();
    let exponent = digits.len() as i64 - i64::from(d.scale());
    let mut body = vec![(exponent + 128) as u8];
    // Trailing zeros of an integer are not significant for the order, but its exponent has them.
    let significant = digits.iter().rposition(|&b| b != b'0').map_or(0, |i| i + 1);
    body.extend(&digits[..significant]);
    body.push(0);
    if d.is_sign_negative() {
        out.push(0);
        out.extend(body.iter().map(|b| !b));
    } else {
        out.push(2);
        out.extend(body);
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*first)
    }
    fn int(&mut self) -> Option<i64> {
        Some((u64::from_be_bytes(self.take()?) ^ (1 << 63)) as i64)
    }
    fn float(&mut self) -> Option<f64> {
        let ordered = u64::from_be_bytes(self.take()?);
        let bits = if ordered >> 63 == 1 {
            ordered ^ (1 << 63)
        } else {
            !ordered
        };
        Some(f64::from_bits(bits))
    }
    fn text(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            match self.byte()? {
                0 => match self.byte()? {
                    0 => return Some(out),
                    _ => out.push(0),
                },
                byte => out.push(byte),
            }
        }
    }
    fn values(&mut self) -> Option<Vec<Value>> {
        let mut out = Vec::new();
        while self.byte()? == 1 {
            out.push(self.value()?);
        }
        Some(out)
    }
    fn decimal(&mut self) -> Option<Decimal> {
        let sign = self.byte()?;
        if sign == 1 {
            return Some(Decimal::ZERO);
        }
        let mask = if sign == 0 { 0xff } else { 0 };
        let exponent = i64::from(self.byte()? ^ mask) - 128;
        let mut digits = String::new();
        loop {
            match self.byte()? ^ mask {
                0 => break,
                digit => digits.push(char::from(digit)),
            }
        }
        let mut scale = digits.len() as i64 - exponent;
        while scale < 0 {
            digits.push('0');
            scale += 1;
        }
        let mantissa: i128 = digits.parse().ok()?;
        let mantissa = if sign == 0 { -mantissa } else { mantissa };
        Decimal::try_from_i128_with_scale(mantissa, scale as u32).ok()
    }
    fn value(&mut self) -> Option<Value> {
        Some(match self.byte()? {
            0 => Value::Null,
            1 => Value::Bool(self.byte()? == 1),
            2 => Value::Int(self.int()?),
            3 => Value::Float(self.float()?),
            4 => Value::Decimal(self.decimal()?),
            5 => Value::Text(String::from_utf8(self.text()?).ok()?),
            6 => Value::Blob(self.text()?),
            7 => Value::Date(self.int()? as i32),
            8 => Value::Timestamp(self.int()?),
            9 => Value::Uuid(self.take()?),
            10 => {
                self.take::<8>()?;
                Value::TimeUuid(self.take()?)
            }
            11 => Value::Point(self.float()?, self.float()?),
            12 => Value::Enum(u16::from_be_bytes(self.take()?)),
            13 => Value::List(self.values()?),
            14 => Value::Set(self.values()?),
            15 => {
                let mut pairs = Vec::new();
                while self.byte()? == 1 {
                    pairs.push((self.value()?, self.value()?));
                }
                Value::Map(pairs)
            }
            16 => Value::Record(self.values()?),
            17 => Value::Key(self.values()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Value> {
        let d = |s: &str| Value::Decimal(s.parse::<Decimal>().unwrap().normalize());
        let mut scalars = vec![Value::Bool(false), Value::Bool(true)];
        scalars.extend([i64::MIN, -5, 0, 7, i64::MAX].map(Value::Int));
        scalars.extend([i64::MIN, 0, i64::MAX].map(Value::Timestamp));
        scalars.extend([i32::MIN, 0, i32::MAX].map(Value::Date));
        let floats = [
            f64::NEG_INFINITY,
            -1.5,
            -5e-324,
            0.0,
            5e-324,
            2.0,
            f64::MAX,
            f64::INFINITY,
        ];
        scalars.extend(floats.map(Value::Float));
        scalars.extend(floats.map(|f| Value::Point(f, -f + 0.0)));
        scalars.extend(
            [
                "0", "1", "-1", "10", "100", "99", "0.1", "0.01", "-0.1", "-10", "1.5", "1.05",
                "-1.05",
            ]
            .map(d),
        );
        scalars.extend([
            d("79228162514264337593543950335"),
            d("-79228162514264337593543950335"),
        ]);
        scalars.extend([
            d("0.0000000000000000000000000001"),
            d("-1234567890.123456789012345678"),
        ]);
        scalars.extend(
            ["", "\0", "\0\0", "\0a", "a", "a\0", "ab", "é", "\u{10ffff}"]
                .map(|t| Value::Text(t.into())),
        );
        scalars.extend([vec![], vec![0], vec![0, 255], vec![255]].map(Value::Blob));
        scalars.extend(
            [
                [0; 16],
                [255; 16],
                *b"0123456789abcdef",
                *b"9876543210abcdef",
            ]
            .map(Value::Uuid),
        );
        scalars.extend(
            [
                [0; 16],
                [255; 16],
                *b"0123456789abcdef",
                *b"9876543210abcdef",
            ]
            .map(Value::TimeUuid),
        );
        scalars.extend([0, 1, 300].map(Value::Enum));
        let mut all = scalars.clone();
        for v in scalars.iter().step_by(3) {
            all.push(Value::List(vec![v.clone()]));
            all.push(Value::List(vec![v.clone(), Value::Null]));
            all.push(Value::Set(vec![v.clone(), Value::Int(3)]));
            all.push(Value::Key(vec![v.clone()]));
            all.push(Value::Record(vec![v.clone(), Value::List(vec![])]));
            all.push(Value::Map(vec![(v.clone(), Value::Null)]));
            all.push(Value::Map(vec![
                (v.clone(), Value::Int(1)),
                (Value::Text("z".into()), v.clone()),
            ]));
        }
        all
    }

    #[test]
    fn bytes_order_as_values_do_and_come_back() {
        let samples = samples();
        for a in &samples {
            assert_eq!(decode(&encode(a)).as_ref(), Some(a));
            for b in &samples {
                assert_eq!(encode(a).cmp(&encode(b)), a.cmp(b), "{a:?} against {b:?}");
            }
        }
    }
}
