//! The check that stored bytes are a text.

/// Shorter texts are looked at as ASCII first: the checks of UTF-8 go byte by byte there, and most
/// names, codes and titles are nothing else.
const SHORT: usize = 64;

/// The bytes as a text; none where they are not UTF-8.
#[inline]
pub(super) fn text(bytes: &[u8]) -> Option<&str> {
    text_from(bytes, 0)
}

/// Bytes of which none is below `least` as a text; none where one is, or they are not UTF-8.
#[inline]
pub(super) fn text_from(bytes: &[u8], least: u8) -> Option<&str> {
    match ascii(bytes, least) {
        Some(text) => Some(text),
        None => any_text_from(bytes, least),
    }
}

#[inline(never)]
fn any_text_from(bytes: &[u8], least: u8) -> Option<&str> {
    let text = simdutf8::basic::from_utf8(bytes).ok()?;
    bytes.iter().all(|&byte| byte >= least).then_some(text)
}

/// Short bytes as a text, where all are ASCII and at least `least`.
#[inline]
#[expect(
    unsafe_code,
    reason = "the check and the text in one: what the standard library has for it takes four times \
              as long for a name"
)]
fn ascii(bytes: &[u8], least: u8) -> Option<&str> {
    if bytes.len() >= SHORT || !all_between(bytes, least) {
        return None;
    }
    // SAFETY: no byte is above 0x7f, so that each is a character of UTF-8 by itself.
    Some(unsafe { std::str::from_utf8_unchecked(bytes) })
}

/// Whether all bytes are at least `least`, itself at most 0x80, and at most 0x7f.
///
/// Eight at a time: where no byte of a word is above 0x7f, subtracting `least` from each leaves a
/// highest bit only where one is below it (a byte above that one may lend it a bit, and is then
/// taken for one too, but the word is told apart by the lower one already).
#[inline]
fn all_between(bytes: &[u8], least: u8) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let outside = |word: u64| (word | word.wrapping_sub(ONES * u64::from(least))) & (ONES << 7);
    let eight = |bytes: &[u8; 8]| outside(u64::from_le_bytes(*bytes));
    let four = |bytes: &[u8; 4]| {
        let word = u64::from(u32::from_le_bytes(*bytes));
        outside(word << 32 | word)
    };
    // The last word may have bytes of the one before it, which are looked at twice.
    let found = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk::<8>()) {
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
        let inside = |byte: &u8| (least..0x80).contains(byte);
        u64::from(!bytes.iter().all(inside))
    };
    found == 0
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
            prop_assert_eq!(text_from(&bytes, 2), expected(&bytes, 2));
        }

        #[test]
        fn of_texts(text_of in ".{0,40}") {
            prop_assert_eq!(text(text_of.as_bytes()), Some(text_of.as_str()));
        }
    }

    /// One byte of every value in every place of every short length.
    #[test]
    fn every_byte_is_looked_at() {
        for length in 1..=SHORT + 1 {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    assert_eq!(text(&bytes), expected(&bytes, 0));
                    assert_eq!(text_from(&bytes, 2), expected(&bytes, 2));
                }
            }
        }
    }
}
