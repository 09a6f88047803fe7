//! A hash of values that is the same on every machine and in every version: stored keys hold it.

use super::Value;

/// FNV-1a over a canonical byte form, with a last mixing step, because its low bits alone (which a
/// modulus takes) are weak for short input.
pub(super) fn stable(value: &Value) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    hasher.value(value);
    let mut hash = hasher.0;
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

struct Fnv(u64);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn sized(&mut self, bytes: &[u8]) {
        self.bytes(&(bytes.len() as u64).to_le_bytes());
        self.bytes(bytes);
    }

    fn value(&mut self, value: &Value) {
        self.bytes(&[value.rank()]);
        match value {
            Value::Null => {}
            Value::Bool(b) => self.bytes(&[u8::from(*b)]),
            Value::Int(n) | Value::Timestamp(n) => self.bytes(&n.to_le_bytes()),
            Value::Float(x) => self.bytes(&x.to_bits().to_le_bytes()),
            Value::Decimal(x) => {
                let x = x.normalize();
                self.bytes(&x.mantissa().to_le_bytes());
                self.bytes(&x.scale().to_le_bytes());
            }
            Value::Text(s) => self.sized(s.as_bytes()),
            Value::Blob(b) => self.sized(b),
            Value::Date(n) => self.bytes(&n.to_le_bytes()),
            Value::Uuid(id) | Value::TimeUuid(id) => self.bytes(id),
            Value::Point(lat, lon) => {
                self.bytes(&lat.to_bits().to_le_bytes());
                self.bytes(&lon.to_bits().to_le_bytes());
            }
            Value::Enum(n) => self.bytes(&n.to_le_bytes()),
            Value::List(vs) | Value::Set(vs) | Value::Record(vs) | Value::Key(vs) => {
                self.bytes(&(vs.len() as u64).to_le_bytes());
                for v in vs {
                    self.value(v);
                }
            }
            Value::Map(entries) => {
                self.bytes(&(entries.len() as u64).to_le_bytes());
                for (key, value) in entries {
                    self.value(key);
                    self.value(value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_pinned() {
        // Stored keys depend on these: a change here is a change of the format.
        assert_eq!(stable(&Value::Int(1)), 10_346_721_998_898_943_408);
        assert_eq!(
            stable(&Value::Text("abc".into())),
            11_443_218_346_580_018_436
        );
    }

    #[test]
    fn the_hash_spreads() {
        let mut counts = [0; 16];
        for n in 0..16_000 {
            counts[(stable(&Value::Int(n)) % 16) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&n| (900..1100).contains(&n)),
            "{counts:?}"
        );
    }
}
