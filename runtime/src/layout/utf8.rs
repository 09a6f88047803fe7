//! The check that stored bytes are a text.

use ascii::AsciiStr;

/// Shorter texts are looked at as ASCII first: the checks of UTF-8 go byte by byte there, and most
/// names, codes and titles are nothing else.
const SHORT: usize = 64;

/// The bytes as a text; none where they are not UTF-8.
#[inline]
pub(super) fn text(bytes: &[u8]) -> Option<&str> {
    if bytes.len() < SHORT
        && let Ok(text) = AsciiStr::from_ascii(bytes)
    {
        return Some(text.as_str());
    }
    simdutf8::basic::from_utf8(bytes).ok()
}
