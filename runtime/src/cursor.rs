//! Page cursors: where a page ended, as an opaque text.
//!
//! A token is the values of the complete order of one row, each describing itself, between a
//! version byte and a checksum, in URL-safe base 64. It names no row by position, so that it stays
//! good while rows come and go.

use crate::row;
use querent_compiler::value::Value;

const VERSION: u8 = 1;
const CHECKSUM: usize = 4;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Why a token is not a cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CursorError {
    /// Not a token at all.
    #[error(
        "the cursor has {found:?} at position {at}, which no cursor has: pass the text exactly as \
         an earlier answer gave it"
    )]
    Character {
        /// The character.
        found: char,
        /// Its position in characters, from 0.
        at: usize,
    },
    /// Cut off.
    #[error("the cursor has {0} characters, which no cursor has: pass all of it")]
    Length(usize),
    /// The checksum does not fit.
    #[error("the cursor is damaged: pass the text exactly as an earlier answer gave it")]
    Checksum,
    /// Made by a later version.
    #[error(
        "the cursor is of version {0}, but this version reads {VERSION}: ask again from the start"
    )]
    Version(u8),
    /// The values do not fit the order of the question.
    #[error("the cursor was made by another question: {0}")]
    Foreign(String),
}

/// The token of a row's order values.
pub fn encode(values: &[Value]) -> String {
    let mut bytes = vec![VERSION];
    row::encode_values(values, &mut bytes);
    let sum = checksum(&bytes);
    bytes.extend(sum);
    to_text(&bytes)
}

/// The values of a token.
pub fn decode(token: &str) -> Result<Vec<Value>, CursorError> {
    let bytes = from_text(token)?;
    let (body, sum) = bytes
        .split_last_chunk::<CHECKSUM>()
        .ok_or(CursorError::Length(token.len()))?;
    if *sum != checksum(body) {
        return Err(CursorError::Checksum);
    }
    match body.split_first() {
        Some((&VERSION, values)) => row::decode_values(values).map_err(|_| CursorError::Checksum),
        Some((&version, _)) => Err(CursorError::Version(version)),
        None => Err(CursorError::Length(token.len())),
    }
}

/// FNV-1a, folded: against slips of copying, not against malice (a forged cursor only moves the
/// start of a page).
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    ((hash ^ hash >> 32) as u32).to_le_bytes()
}

fn to_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk
            .iter()
            .fold(0u32, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for i in 0..=chunk.len() {
            let digit = (bits >> (18 - 6 * i) & 0x3f) as usize;
            text.extend(ALPHABET.get(digit).map(|&c| char::from(c)));
        }
    }
    text
}

fn from_text(text: &str) -> Result<Vec<u8>, CursorError> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for (at, found) in text.chars().enumerate() {
        let digit = ALPHABET.iter().position(|&c| char::from(c) == found);
        let digit = digit.ok_or(CursorError::Character { found, at })? as u32;
        bits = bits << 6 | digit;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // One character alone holds no byte, and what is left of the last one is 0.
    if count >= 6 || bits != 0 {
        Err(CursorError::Length(text.len()))
    } else {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Vec<Value>> {
        let value = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::Int),
            any::<i64>().prop_map(Value::Timestamp),
            ".{0,12}".prop_map(Value::Text),
            any::<[u8; 16]>().prop_map(Value::Uuid),
            any::<u16>().prop_map(Value::Enum),
        ];
        prop::collection::vec(value, 0..5)
    }

    proptest! {
        #[test]
        fn there_and_back(values in values()) {
            let token = encode(&values);
            prop_assert!(token.bytes().all(|b| ALPHABET.contains(&b)));
            prop_assert_eq!(decode(&token).unwrap(), values);
        }

        #[test]
        fn one_wrong_character_is_found(values in values(), at in any::<prop::sample::Index>(), with in 0usize..64) {
            let mut token = encode(&values).into_bytes();
            let at = at.index(token.len());
            prop_assume!(token[at] != ALPHABET[with]);
            token[at] = ALPHABET[with];
            prop_assert!(decode(std::str::from_utf8(&token).unwrap()).is_err());
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = decode(&text);
        }
    }

    #[test]
    fn errors_say_what_was_found() {
        assert_eq!(
            decode("ab cd"),
            Err(CursorError::Character { found: ' ', at: 2 })
        );
        assert_eq!(decode(""), Err(CursorError::Length(0)));
        let token = encode(&[Value::Int(5)]);
        assert!(decode(&token[..token.len() - 1]).is_err());
    }
}
