//! From bytes to values.

use super::{END, ESCAPE, EXPONENT_BIAS, KeyError, MAX_DIGITS, NULL, PRESENT, ZERO, fixed_width};
use crate::value_ref::ValueRef;
use querent_compiler::model::{Direction, Type};
use querent_compiler::value::Value;
use rust_decimal::Decimal;
use std::borrow::Cow;

/// One part that is being read: the mask undoes the complement of a descending part.
pub(super) struct Part<'a> {
    bytes: &'a [u8],
    at: usize,
    mask: u8,
    expected: &'static str,
}

impl<'a> Part<'a> {
    pub(super) fn new(bytes: &'a [u8], direction: Direction, expected: &'static str) -> Self {
        let mask = if direction == Direction::Desc {
            0xff
        } else {
            0
        };
        Part {
            bytes,
            at: 0,
            mask,
            expected,
        }
    }

    /// How many bytes were read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn short(&self) -> KeyError {
        KeyError::Short {
            expected: self.expected,
        }
    }

    fn damaged(&self, why: &'static str) -> KeyError {
        KeyError::Damaged {
            expected: self.expected,
            why,
        }
    }

    fn byte(&mut self) -> Result<u8, KeyError> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.short())?;
        self.at += 1;
        Ok(byte ^ self.mask)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], KeyError> {
        let end = self.at + N;
        let slice = self.bytes.get(self.at..end).ok_or_else(|| self.short())?;
        let mut array = <[u8; N]>::try_from(slice).map_err(|_| self.short())?;
        for byte in &mut array {
            *byte ^= self.mask;
        }
        self.at = end;
        Ok(array)
    }

    pub(super) fn decode(&mut self, ty: &Type, optional: bool) -> Result<ValueRef<'a>, KeyError> {
        if optional && !self.present()? {
            return Ok(ValueRef::Null);
        }
        Ok(match ty {
            Type::Bool => self.bool()?,
            Type::Int => ValueRef::Int(i64::from(self.i32()?)),
            Type::BigInt => ValueRef::Int(self.i64()?),
            Type::Float => ValueRef::Float(self.float()?),
            Type::Decimal => ValueRef::Decimal(self.decimal()?),
            Type::Text(_) | Type::Cursor => self.text()?,
            Type::Blob(_) => ValueRef::Blob(self.unescaped()?),
            Type::Date => ValueRef::Date(self.i32()?),
            Type::Timestamp => ValueRef::Timestamp(self.i64()?),
            Type::Uuid => ValueRef::Uuid(self.array()?),
            Type::TimeUuid => ValueRef::TimeUuid(self.timeuuid()?),
            Type::Point => ValueRef::Point(self.float()?, self.float()?),
            Type::Enum(_) | Type::Tag(_) => ValueRef::Enum(u16::from_be_bytes(self.array()?)),
            Type::Any => {
                let tag = self.byte()?;
                match self.tagged(tag)? {
                    ValueRef::Null => return Err(self.damaged("null where a value is present")),
                    value => value,
                }
            }
            Type::Key(_) => {
                let mut parts = Vec::new();
                loop {
                    match self.byte()? {
                        END => break ValueRef::Owned(Box::new(Value::Key(parts))),
                        tag => parts.push(self.tagged(tag)?.into_value()),
                    }
                }
            }
            Type::List(..) | Type::Set(..) | Type::Map(..) | Type::Record(_) => {
                return Err(self.damaged("only scalars are stored in keys"));
            }
        })
    }

    pub(super) fn skip(&mut self, ty: &Type, optional: bool) -> Result<(), KeyError> {
        if optional && !self.present()? {
            return Ok(());
        }
        if let Some(width) = fixed_width(ty) {
            return self.advance(width);
        }
        match ty {
            Type::Text(_) | Type::Blob(_) | Type::Cursor => self.until_end().map(drop),
            _ => self.decode(ty, false).map(drop),
        }
    }

    fn advance(&mut self, width: usize) -> Result<(), KeyError> {
        let end = self.at + width;
        if end > self.bytes.len() {
            return Err(self.short());
        }
        self.at = end;
        Ok(())
    }

    fn present(&mut self) -> Result<bool, KeyError> {
        match self.byte()? {
            NULL => Ok(false),
            PRESENT => Ok(true),
            _ => Err(self.damaged("neither null nor present")),
        }
    }

    fn tagged(&mut self, tag: u8) -> Result<ValueRef<'a>, KeyError> {
        Ok(match tag {
            1 => ValueRef::Null,
            2 => self.bool()?,
            3 => ValueRef::Int(self.i64()?),
            4 => ValueRef::Float(self.float()?),
            5 => ValueRef::Decimal(self.decimal()?),
            6 => self.text()?,
            7 => ValueRef::Blob(self.unescaped()?),
            8 => ValueRef::Date(self.i32()?),
            9 => ValueRef::Timestamp(self.i64()?),
            10 => ValueRef::Uuid(self.array()?),
            11 => ValueRef::TimeUuid(self.timeuuid()?),
            12 => ValueRef::Point(self.float()?, self.float()?),
            13 => ValueRef::Enum(u16::from_be_bytes(self.array()?)),
            _ => return Err(self.damaged("an unknown tag")),
        })
    }

    fn bool(&mut self) -> Result<ValueRef<'a>, KeyError> {
        match self.byte()? {
            0 => Ok(ValueRef::Bool(false)),
            1 => Ok(ValueRef::Bool(true)),
            _ => Err(self.damaged("neither false nor true")),
        }
    }

    fn i32(&mut self) -> Result<i32, KeyError> {
        Ok((u32::from_be_bytes(self.array()?) ^ (1 << 31)) as i32)
    }

    fn i64(&mut self) -> Result<i64, KeyError> {
        Ok((u64::from_be_bytes(self.array()?) ^ (1 << 63)) as i64)
    }

    fn float(&mut self) -> Result<f64, KeyError> {
        let bits = u64::from_be_bytes(self.array()?);
        Ok(f64::from_bits(if bits >> 63 == 1 {
            bits & !(1 << 63)
        } else {
            !bits
        }))
    }

    fn timeuuid(&mut self) -> Result<[u8; 16], KeyError> {
        let mut id: [u8; 16] = self.array()?;
        if let Some(head) = id.first_chunk_mut() {
            let first = u64::from_be_bytes(*head);
            let (ticks, version) = (first >> 4, first & 0x0f);
            let (low, mid, high) = (ticks & 0xffff_ffff, ticks >> 32 & 0xffff, ticks >> 48);
            *head = (low << 32 | mid << 16 | version << 12 | high).to_be_bytes();
        }
        Ok(id)
    }

    /// The bytes before the terminator, still escaped and masked; moves behind the terminator.
    fn until_end(&mut self) -> Result<&'a [u8], KeyError> {
        let end = END ^ self.mask;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|&b| b == end)
            .ok_or_else(|| self.short())?;
        self.at += length + 1;
        Ok(rest.get(..length).unwrap_or_default())
    }

    fn text(&mut self) -> Result<ValueRef<'a>, KeyError> {
        let text = match self.unescaped()? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).ok(),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).ok(),
        };
        text.map(ValueRef::Text)
            .ok_or_else(|| self.damaged("not UTF-8"))
    }

    fn unescaped(&mut self) -> Result<Cow<'a, [u8]>, KeyError> {
        let raw = self.until_end()?;
        if self.mask == 0 && !raw.contains(&ESCAPE) {
            return Ok(Cow::Borrowed(raw));
        }
        let mut out = Vec::with_capacity(raw.len());
        let mut bytes = raw.iter().map(|b| b ^ self.mask);
        while let Some(byte) = bytes.next() {
            out.push(match byte {
                ESCAPE => match bytes.next() {
                    Some(raised @ 1..=2) => raised - 1,
                    _ => return Err(self.damaged("an escape that escapes nothing")),
                },
                plain => plain,
            });
        }
        Ok(Cow::Owned(out))
    }

    fn decimal(&mut self) -> Result<Decimal, KeyError> {
        let header = self.byte()?;
        if header == ZERO {
            return Ok(Decimal::ZERO);
        }
        let negative = header < ZERO;
        let sign = if negative { 0xff } else { 0 };
        let exponent = i32::from((header ^ sign) - ZERO) - 1 - EXPONENT_BIAS;
        let mut mantissa: i128 = 0;
        let mut count = 0;
        let mut last = 0;
        'digits: loop {
            let byte = self.byte()? ^ sign;
            for nibble in [byte >> 4, byte & 0x0f] {
                match nibble {
                    // The half byte behind an end in the first half is empty.
                    0 if byte.is_multiple_of(16) => break 'digits,
                    // A digit is never 0 at the beginning: then the exponent were another.
                    1..=10 if (nibble > 1 || count > 0) && (count as usize) < MAX_DIGITS => {
                        mantissa = mantissa * 10 + i128::from(nibble - 1);
                        last = nibble - 1;
                        count += 1;
                    }
                    _ => return Err(self.damaged("not the digits of a decimal")),
                }
            }
        }
        if last == 0 {
            return Err(self.damaged("a decimal without digits, or with a 0 behind the last"));
        }
        let scale = count - exponent;
        if scale < 0 {
            mantissa = 10_i128
                .checked_pow(scale.unsigned_abs())
                .and_then(|power| mantissa.checked_mul(power))
                .ok_or_else(|| self.damaged("a decimal out of range"))?;
        }
        let signed = if negative { -mantissa } else { mantissa };
        Decimal::try_from_i128_with_scale(signed, scale.max(0) as u32)
            .map_err(|_| self.damaged("a decimal out of range"))
    }
}
