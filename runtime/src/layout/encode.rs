//! From values to keys and rows.

use super::column::{put_fixed, put_variable};
use super::{LOOSE, Layout, NARROW, Place, WIDE};
use crate::key::{self, KeyError};
use crate::row;
use crate::store::MAX_KEY;
use querent_compiler::value::Value;
use std::borrow::Cow;

impl Layout {
    /// The key of these values, or the prefix that they determine if they are fewer than the parts.
    pub fn encode_key(&self, values: &[Value]) -> Result<Vec<u8>, KeyError> {
        let mut out = Vec::with_capacity(values.len() * 24);
        self.encode_key_into(values.iter(), &mut out)?;
        Ok(out)
    }

    /// Appends the key (or prefix) of these values. The key of a layout without parts, which has
    /// one row at most, is one byte, because stores refuse empty keys.
    pub fn encode_key_into<'v>(
        &self,
        values: impl Iterator<Item = &'v Value>,
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        let start = out.len();
        if self.key.is_empty() {
            out.push(0);
        }
        for (i, value) in values.enumerate() {
            let part = self.key.get(i).ok_or(KeyError::TooMany {
                found: i + 1,
                expected: self.key.len(),
            })?;
            key::encode_part(value, part, out)?;
        }
        let found = out.len() - start;
        if found > MAX_KEY {
            return Err(KeyError::TooLong {
                found,
                max: MAX_KEY,
            });
        }
        Ok(())
    }

    /// The row of a key and these columns. A missing value is null; one that does not fit its
    /// column's type is kept all the same, in a row that is larger and slower to read.
    pub fn encode_row(&self, key: &[Value], columns: &[Value]) -> Vec<u8> {
        self.encode_kept(columns, &self.kept(key))
    }

    /// What the row keeps of its key: the value of each hashed part, null where the key has it.
    pub(crate) fn kept(&self, key: &[Value]) -> Vec<Value> {
        let hashed = self.key.iter().zip(key).filter(|(part, _)| part.hashed);
        hashed
            .map(|(part, value)| {
                if key::cuts(value, part) {
                    value.clone()
                } else {
                    Value::Null
                }
            })
            .collect()
    }

    /// The row of these columns and of what it keeps of its key.
    pub(crate) fn encode_kept(&self, columns: &[Value], kept: &[Value]) -> Vec<u8> {
        let mut values = Cow::Borrowed(columns);
        if self.stored.len() > self.columns.len() {
            let values = values.to_mut();
            values.resize(self.columns.len(), Value::Null);
            values.extend_from_slice(kept);
        }
        self.encode_typed(&values, NARROW)
            .or_else(|| self.encode_typed(&values, WIDE))
            .unwrap_or_else(|| {
                let mut out = vec![LOOSE];
                row::encode_values(&values, &mut out);
                out
            })
    }

    /// The row in the form given, or none if a value or the length does not fit it.
    fn encode_typed(&self, columns: &[Value], form: u8) -> Option<Vec<u8>> {
        if columns.len() > self.stored.len() {
            return None;
        }
        let width = if form == WIDE { 4 } else { 2 };
        let base = self.ends_at + width * self.variable;
        let mut out = vec![0; base];
        *out.first_mut()? = form;
        for (i, (slot, column)) in self.slots.iter().zip(&self.stored).enumerate() {
            let value = columns.get(i).unwrap_or(&Value::Null);
            if value.is_null() {
                if slot.null_mask == 0 {
                    return None;
                }
                *out.get_mut(slot.null_byte)? |= slot.null_mask;
            }
            match slot.place {
                Place::Fixed(at) => put_fixed(&column.ty, value, out.get_mut(at..)?)?,
                Place::Variable(index) => {
                    put_variable(&column.ty, value, &mut out)?;
                    let end = out.len() - base;
                    let at = self.ends_at + width * index;
                    let target = out.get_mut(at..at + width)?;
                    if form == WIDE {
                        target.copy_from_slice(&u32::try_from(end).ok()?.to_le_bytes());
                    } else {
                        target.copy_from_slice(&u16::try_from(end).ok()?.to_le_bytes());
                    }
                }
            }
        }
        Some(out)
    }
}
