//! A part of a structure's key: whole, or, where it is only compared for equality, cut.
//!
//! ```text
//! hashed part:  00                                        null
//!               01 | the part as it is elsewhere          up to 128 bytes with the tag
//!               02 | its first 111 bytes | 16 bytes hash  always 128 bytes with the tag
//! ```
//! The hash is BLAKE3 of the whole part, and the row keeps the value (see [`crate::layout`]).

use super::decode::Part;
use super::{KeyError, NULL, PRESENT, decode_ref, encode, encode::ascending, type_name};
use crate::value_ref::ValueRef;
use querent_compiler::model::Direction;
use querent_compiler::value::Value;
use querent_compiler::view::KeyPart;
use querent_compiler::view::key_size::HASHED;

/// The tag of a part that is cut.
const CUT: u8 = 0x02;
/// Bytes of the hash.
const HASH: usize = 16;

/// What a key says of one of its parts.
#[derive(Clone, Debug, PartialEq)]
pub enum InKey<'a> {
    /// The value.
    Whole(ValueRef<'a>),
    /// Only the beginning and a hash: the value is in the row.
    Cut,
}

/// Appends a part to `out`, which is left unchanged on an error.
pub fn encode_part(value: &Value, part: &KeyPart, out: &mut Vec<u8>) -> Result<(), KeyError> {
    if !part.hashed {
        return encode(value, &part.ty, part.optional, part.direction, out);
    }
    if value.is_null() && part.optional {
        out.push(NULL);
        return Ok(());
    }
    let start = out.len();
    out.push(PRESENT);
    if let Err(error) = ascending(value, &part.ty, false, out) {
        out.truncate(start);
        return Err(error);
    }
    if out.len() - start > HASHED {
        let whole = out.get(start + 1..).unwrap_or_default();
        let hash = blake3::hash(whole);
        out.truncate(start + HASHED - HASH);
        if let Some(tag) = out.get_mut(start) {
            *tag = CUT;
        }
        out.extend(hash.as_bytes().iter().take(HASH));
    }
    Ok(())
}

/// Whether the part is too short for the value, which the row then keeps.
pub fn cuts(value: &Value, part: &KeyPart) -> bool {
    // Most values are told by their length alone; only escapes make a part longer than its value.
    let length = match value {
        _ if !part.hashed => 0,
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::Key(_) => HASHED,
        _ => 0,
    };
    if length < HASHED / 2 - 2 {
        return false;
    }
    let mut out = Vec::with_capacity(length + 2);
    encode_part(value, part, &mut out).is_ok() && out.first() == Some(&CUT)
}

/// Whether the hashed part that begins at `at` is cut.
#[inline]
pub(crate) fn is_cut(key: &[u8], at: usize) -> bool {
    key.get(at) == Some(&CUT)
}

/// The part at the start of `bytes`; also tells how many bytes it takes.
pub fn decode_part<'a>(bytes: &'a [u8], part: &KeyPart) -> Result<(InKey<'a>, usize), KeyError> {
    let (tag, skipped) = tag(bytes, part)?;
    let rest = bytes.get(skipped..).unwrap_or_default();
    match tag {
        Some(NULL) => Ok((InKey::Whole(ValueRef::Null), 1)),
        Some(CUT) => Ok((InKey::Cut, HASHED)),
        Some(_) => {
            let value = decode_ref(rest, &part.ty, false, Direction::Asc)?;
            let length = super::skip(rest, &part.ty, false, Direction::Asc)?;
            if length >= HASHED {
                return Err(damaged(part, "longer than it is before it is cut"));
            }
            Ok((InKey::Whole(value), 1 + length))
        }
        None => {
            let mut read = Part::new(rest, part.direction, type_name(&part.ty));
            let value = read.decode(&part.ty, part.optional)?;
            Ok((InKey::Whole(value), read.at()))
        }
    }
}

/// The part at the start of `bytes`, borrowed where it is stored as it is.
#[inline]
pub(crate) fn part_ref<'a>(bytes: &'a [u8], part: &KeyPart) -> Result<InKey<'a>, KeyError> {
    if part.hashed {
        return Ok(decode_part(bytes, part)?.0);
    }
    decode_ref(bytes, &part.ty, part.optional, part.direction).map(InKey::Whole)
}

/// How many bytes the part at the start of `bytes` takes, without decoding it.
pub fn skip_part(bytes: &[u8], part: &KeyPart) -> Result<usize, KeyError> {
    let (tag, skipped) = tag(bytes, part)?;
    match tag {
        Some(NULL) => Ok(1),
        Some(CUT) => Ok(HASHED),
        Some(_) => {
            let rest = bytes.get(skipped..).unwrap_or_default();
            Ok(1 + super::skip(rest, &part.ty, false, Direction::Asc)?)
        }
        None => super::skip(bytes, &part.ty, part.optional, part.direction),
    }
}

/// The tag of a hashed part and the bytes that it takes; a cut part is known to be all there.
fn tag(bytes: &[u8], part: &KeyPart) -> Result<(Option<u8>, usize), KeyError> {
    if !part.hashed {
        return Ok((None, 0));
    }
    let short = KeyError::Short {
        expected: type_name(&part.ty),
    };
    match bytes.first() {
        Some(&NULL) if part.optional => Ok((Some(NULL), 1)),
        Some(&PRESENT) => Ok((Some(PRESENT), 1)),
        Some(&CUT) if bytes.len() >= HASHED => Ok((Some(CUT), 1)),
        Some(&CUT) | None => Err(short),
        Some(_) => Err(damaged(part, "neither null, whole nor cut")),
    }
}

fn damaged(part: &KeyPart, why: &'static str) -> KeyError {
    KeyError::Damaged {
        expected: type_name(&part.ty),
        why,
    }
}
