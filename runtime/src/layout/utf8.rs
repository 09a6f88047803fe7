//! The check that stored bytes are a text.

/// Shorter texts are looked at as ASCII first: most names, codes, titles and addresses are nothing
/// else, and what a check of UTF-8 costs by itself is spread over few bytes.
const SHORT: usize = 512;

/// The bytes as a text; none where they are not UTF-8.
#[inline]
pub(super) fn text(bytes: &[u8]) -> Option<&str> {
    text_from::<0>(bytes)
}

/// Bytes of which none is below `LEAST` as a text; none where one is, or they are not UTF-8.
#[inline]
pub(super) fn text_from<const LEAST: u8>(bytes: &[u8]) -> Option<&str> {
    match ascii::<LEAST>(bytes) {
        Some(text) => Some(text),
        None => any_text_from::<LEAST>(bytes),
    }
}

#[inline(never)]
fn any_text_from<const LEAST: u8>(bytes: &[u8]) -> Option<&str> {
    let text = simdutf8::basic::from_utf8(bytes).ok()?;
    bytes.iter().all(|&byte| byte >= LEAST).then_some(text)
}

/// Short bytes as a text, where all are ASCII and at least `LEAST`.
#[inline]
#[expect(
    unsafe_code,
    reason = "the check and the text in one: what the standard library has for it takes four times \
              as long for a name"
)]
fn ascii<const LEAST: u8>(bytes: &[u8]) -> Option<&str> {
    if bytes.len() >= SHORT || !all_between::<LEAST>(bytes) {
        return None;
    }
    // SAFETY: no byte is above 0x7f, so that each is a character of UTF-8 by itself.
    Some(unsafe { std::str::from_utf8_unchecked(bytes) })
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
/// What is looked at as one.
const BLOCK: usize = 32;

/// Whether all bytes are at least `LEAST`, itself at most 0x80, and at most 0x7f.
///
/// Eight at a time: where no byte of a word is above 0x7f, subtracting `LEAST` from each leaves a
/// highest bit only where one is below it (a byte above that one may lend it a bit, and is then
/// taken for one too, but the word is told apart by the lower one already).
#[inline]
fn all_between<const LEAST: u8>(bytes: &[u8]) -> bool {
    let word = |word: u64| word | word.wrapping_sub(ONES * u64::from(LEAST));
    let eight = |bytes: &[u8; 8]| word(u64::from_le_bytes(*bytes));
    let four = |bytes: &[u8; 4]| {
        let half = u64::from(u32::from_le_bytes(*bytes));
        word(half << 32 | half)
    };
    let block = |found: u64, bytes: &[u8; BLOCK]| {
        let (words, _) = bytes.as_chunks();
        words.iter().fold(found, |found, word| found | eight(word))
    };
    // The last word, or block, may have bytes of the one before it, which are looked at twice.
    let found = if let Some(last) = bytes.last_chunk() {
        let blocks = bytes.as_chunks().0.iter();
        blocks.fold(block(0, last), block)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk::<8>()) {
        let rest = bytes.len().saturating_sub(16);
        let mut found = eight(first) | eight(last);
        if rest > 0 {
            let between = bytes.as_chunks().0.iter().skip(1);
            found |= between.fold(0, |found, bytes| found | eight(bytes));
        }
        found
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk::<4>()) {
        four(first) | four(last)
    } else {
        let inside = |byte: &u8| (LEAST..0x80).contains(byte);
        return bytes.iter().all(inside);
    };
    found & (ONES << 7) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the standard library says.
    fn expected(bytes: &[u8], least: u8) -> Option<&str> {
        let text = std::str::from_utf8(bytes).ok()?;
        bytes.iter().all(|&byte| byte >= least).then_some(text)
    }

    proptest! {
        #[test]
        fn as_the_standard_library(
            mut bytes in prop::collection::vec(prop_oneof![0x20_u8..0x80, 0x20_u8..0x80, 0_u8..4, any::<u8>()], 0..80),
            plain in 0..80_usize,
        ) {
            // Mostly plain, so that texts come through and one byte decides.
            for byte in bytes.iter_mut().skip(plain) {
                *byte = b'a';
            }
            prop_assert_eq!(text(&bytes), expected(&bytes, 0));
            prop_assert_eq!(text_from::<2>(&bytes), expected(&bytes, 2));
        }

        #[test]
        fn of_texts(text_of in ".{0,40}") {
            prop_assert_eq!(text(text_of.as_bytes()), Some(text_of.as_str()));
        }
    }

    /// One byte of every value in every place of every length at which something changes.
    #[test]
    fn every_byte_is_looked_at() {
        for length in (1..=100).chain(SHORT - 1..=SHORT) {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    assert_eq!(text(&bytes), expected(&bytes, 0));
                    assert_eq!(text_from::<2>(&bytes), expected(&bytes, 2));
                }
            }
        }
    }
}
