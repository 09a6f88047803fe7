//! From a plan's get and a tuple to one read in encoded keys.

use super::term::{Env, Node, Stop};
use super::{AskError, Frame};
use crate::key::{self, KeyError};
use crate::layout::{KeyPart, Layout};
use crate::store::{Buf, Keys, MAX_KEY, Read};
use querent_compiler::design::StructureId;
use querent_compiler::model::{Direction, Page, Type};
use querent_compiler::value::{TIMEUUID_EPOCH, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// A get with its terms bound.
pub(super) struct Bounds {
    pub(super) structure: StructureId,
    pub(super) layout: Arc<Layout>,
    pub(super) eq: Vec<Equal>,
    /// The frame whose key is the key of this read, to the byte.
    pub(super) same_key: Option<usize>,
    pub(super) lower: Option<(Node, bool)>,
    pub(super) upper: Option<(Node, bool)>,
    /// Whether rows are read from the last key to the first, where the plan is not turned round.
    pub(super) reverse: bool,
    pub(super) page: Option<Page>,
}

/// The value of a key part.
pub(super) struct Equal {
    node: Node,
    /// Whether it is a key part of the same form in the row at hand: its bytes are copied instead of
    /// being decoded and encoded again.
    alike: bool,
}

impl Equal {
    /// Of the key part that is to have the value.
    pub(super) fn new(node: Node, part: Option<&KeyPart>) -> Self {
        let other = match &node {
            Node::Row { layout, column, .. } => layout.key.get(*column),
            _ => None,
        };
        // A null has bytes too, and is equal to nothing.
        let alike = part.is_some_and(|part| !part.optional && other == Some(part));
        Equal { node, alike }
    }

    /// The stored bytes of the value, where they are at hand.
    #[inline]
    fn stored<'t, B: Buf>(&self, env: &Env<'t, B>) -> Option<&'t [u8]> {
        match &self.node {
            Node::Row {
                frame,
                layout,
                column,
                ..
            } if self.alike => match env.tuple.get(*frame)? {
                Frame::Row(key, _) => layout.part_bytes(key, *column),
                Frame::Values(_) => None,
            },
            _ => None,
        }
    }
}

/// The frame whose whole key these values are, for a key of so many parts.
pub(super) fn same_key(eq: &[Equal], parts: usize) -> Option<usize> {
    let at = |equal: &Equal| match &equal.node {
        Node::Row {
            frame,
            layout,
            column,
            ..
        } if equal.alike && layout.key.len() == parts => Some((*frame, *column)),
        _ => None,
    };
    let (frame, _) = at(eq.first()?)?;
    let all = eq.len() == parts
        && eq
            .iter()
            .enumerate()
            .all(|(i, equal)| at(equal) == Some((frame, i)));
    all.then_some(frame)
}

/// A get with what an ask adds to it.
pub(super) struct Range<'a> {
    pub(super) bounds: &'a Bounds,
    /// Whether rows are read from the last key to the first.
    pub(super) reverse: bool,
    pub(super) page: Option<Edge>,
    pub(super) limit: Option<usize>,
}

/// Where a page begins or ends: only keys on one side of these values (of all key parts behind
/// `eq`) are read.
pub(super) struct Edge {
    pub(super) values: Vec<Value>,
    /// Keys above it, in bytes; otherwise those below.
    pub(super) above: bool,
}

/// Most keys are not longer than this.
const KEY: usize = 32;

/// One end of a range of values, encoded behind the prefix.
enum End {
    /// Below every value of the part's type.
    Below,
    At(Vec<u8>, bool),
    /// Above every value of the part's type.
    Above,
}

impl Range<'_> {
    /// True if at most one row can be found.
    pub(super) fn is_point(&self) -> bool {
        self.bounds.eq.len() == self.bounds.layout.key.len()
    }

    /// A read whose keys are still to be filled in, in this buffer.
    pub(super) fn blank(&self, buffer: Vec<u8>) -> Read {
        Read {
            structure: self.bounds.structure,
            keys: Keys::Point(buffer),
            reverse: self.reverse,
            limit: self.limit,
        }
    }

    /// Fills in the keys of a tuple's read, in the buffer that it has; false if nothing can be
    /// found.
    #[inline]
    pub(super) fn read<B: Buf>(&self, env: &Env<'_, B>, read: &mut Read) -> Result<bool, Stop> {
        let buffer = std::mem::take(buffer(read));
        Ok(match self.keys(env, buffer)? {
            Some(keys) => {
                read.keys = keys;
                true
            }
            None => false,
        })
    }

    /// Appends the key of a tuple's point read; false if nothing can be found.
    #[inline]
    pub(super) fn point<B: Buf>(&self, env: &Env<'_, B>, out: &mut Vec<u8>) -> Result<bool, Stop> {
        if !self.prefix(env, out)? {
            return Ok(false);
        }
        if self.bounds.layout.key.is_empty() {
            let key = self.bounds.layout.encode_key(&[]);
            out.extend(key.map_err(|e| self.key_error(0, e))?);
        }
        // The one row is the cursor's own, which belongs to neither side of it.
        Ok(self.page.is_none())
    }

    /// Appends the equal parts; false if nothing is equal to them.
    #[inline]
    fn prefix<B: Buf>(&self, env: &Env<'_, B>, out: &mut Vec<u8>) -> Result<bool, Stop> {
        let start = out.len();
        if !self.bounds.eq.is_empty() {
            out.reserve(KEY);
        }
        for (i, equal) in self.bounds.eq.iter().enumerate() {
            if let Some(bytes) = equal.stored(env) {
                out.extend_from_slice(bytes);
                continue;
            }
            let value = equal.node.value_cow(env)?;
            if value.is_null() {
                return Ok(false);
            }
            match key::encode_part(&value, self.part(i)?, out) {
                Ok(()) => {}
                // Equal to no value that the part can have.
                Err(KeyError::IntRange(_)) => return Ok(false),
                Err(source) => return Err(self.key_error(i, source).into()),
            }
        }
        Ok(out.len() - start <= MAX_KEY)
    }

    fn keys<B: Buf>(&self, env: &Env<'_, B>, mut prefix: Vec<u8>) -> Result<Option<Keys>, Stop> {
        prefix.clear();
        if self.is_point() {
            return Ok(self.point(env, &mut prefix)?.then_some(Keys::Point(prefix)));
        }
        if !self.prefix(env, &mut prefix)? {
            return Ok(None);
        }
        if self.bounds.lower.is_none() && self.bounds.upper.is_none() && self.page.is_none() {
            return Ok(Some(Keys::Prefix(prefix)));
        }
        let Some((mut lower, mut upper)) = self.bounds(env, &prefix)? else {
            return Ok(None);
        };
        if let Some(edge) = &self.page {
            let mut at = prefix;
            for (i, value) in edge.values.iter().enumerate() {
                let i = i + self.bounds.eq.len();
                let part = self.part(i)?;
                key::encode_part(value, part, &mut at).map_err(|e| self.key_error(i, e))?;
            }
            if edge.above {
                let Some(above) = key::successor(&at) else {
                    return Ok(None);
                };
                lower = lower.max(above);
            } else if upper.as_ref().is_none_or(|upper| at < *upper) {
                upper = Some(at);
            }
        }
        let Some((lower, upper)) = within_reach(lower, upper) else {
            return Ok(None);
        };
        let empty = upper.as_ref().is_some_and(|upper| lower >= *upper);
        Ok((!empty).then_some(Keys::Range { lower, upper }))
    }

    /// The range of the part behind the prefix, in bytes; none if it is empty.
    #[expect(
        clippy::type_complexity,
        reason = "lower and upper bound of `Keys::Range`"
    )]
    fn bounds<B: Buf>(
        &self,
        env: &Env<'_, B>,
        prefix: &[u8],
    ) -> Result<Option<(Vec<u8>, Option<Vec<u8>>)>, Stop> {
        if self.bounds.lower.is_none() && self.bounds.upper.is_none() {
            return Ok(Some((prefix.to_vec(), key::successor(prefix))));
        }
        let part = self.part(self.bounds.eq.len())?;
        let mut ends = [None, None];
        let bounds = [(&self.bounds.lower, true), (&self.bounds.upper, false)];
        for (end, (bound, is_lower)) in ends.iter_mut().zip(bounds) {
            let Some((node, inclusive)) = bound else {
                continue;
            };
            let value = node.value_cow(env)?;
            if value.is_null() {
                return Ok(None);
            }
            *end = Some(self.end(prefix, part, &value, *inclusive, is_lower)?);
        }
        let [mut lower, upper] = ends;
        // Null is below every value and satisfies no comparison.
        if part.optional && matches!(lower, None | Some(End::Below)) {
            lower = Some(self.end(prefix, part, &Value::Null, false, true)?);
        }
        if matches!(lower, Some(End::Above)) || matches!(upper, Some(End::Below)) {
            return Ok(None);
        }
        // A descending part is stored complemented: its greatest value comes first.
        let (first, last) = match part.direction {
            Direction::Asc => (lower, upper),
            Direction::Desc => (upper, lower),
        };
        let from = match first {
            Some(End::At(bytes, true)) => bytes,
            Some(End::At(bytes, false)) => match key::successor(&bytes) {
                Some(next) => next,
                None => return Ok(None),
            },
            _ => prefix.to_vec(),
        };
        let to = match last {
            Some(End::At(bytes, true)) => key::successor(&bytes),
            Some(End::At(bytes, false)) => Some(bytes),
            _ => key::successor(prefix),
        };
        Ok(Some((from, to)))
    }

    fn end(
        &self,
        prefix: &[u8],
        part: &KeyPart,
        value: &Value,
        inclusive: bool,
        is_lower: bool,
    ) -> Result<End, AskError> {
        let (value, inclusive) = match (&part.ty, value) {
            (Type::TimeUuid, Value::Timestamp(at)) => {
                // A millisecond has many ids: its first one is in it, that of the next is not.
                let at = if inclusive == is_lower {
                    Some(*at)
                } else {
                    at.checked_add(1)
                };
                match at.map(first_timeuuid) {
                    Some(Ok(id)) => (Cow::Owned(id), is_lower),
                    Some(Err(end)) => return Ok(end),
                    None => return Ok(End::Above),
                }
            }
            _ => (Cow::Borrowed(value), inclusive),
        };
        let mut bytes = prefix.to_vec();
        match key::encode_part(&value, part, &mut bytes) {
            Ok(()) => Ok(End::At(bytes, inclusive)),
            Err(KeyError::IntRange(n)) if n < 0 => Ok(End::Below),
            Err(KeyError::IntRange(_)) => Ok(End::Above),
            Err(source) => Err(self.key_error(self.bounds.eq.len(), source)),
        }
    }

    fn part(&self, i: usize) -> Result<&KeyPart, AskError> {
        self.bounds.layout.key.get(i).ok_or_else(|| {
            let parts = self.bounds.layout.key.len();
            let structure = &self.bounds.layout.name;
            AskError::Plan(format!("key part {i} of {structure}, which has {parts}"))
        })
    }

    fn key_error(&self, part: usize, source: KeyError) -> AskError {
        AskError::Key {
            part: format!("{}, key part {}", self.bounds.layout.name, part + 1).into(),
            source: Box::new(source),
        }
    }
}

/// The buffer of a read's keys.
pub(super) fn buffer(read: &mut Read) -> &mut Vec<u8> {
    let (Keys::Point(buffer) | Keys::Prefix(buffer) | Keys::Range { lower: buffer, .. }) =
        &mut read.keys;
    buffer
}

/// The same range with bounds that a key can have; none where nothing is above the lower one.
///
/// No stored key is longer than the limit, so none begins with the first `MAX_KEY` bytes of a longer
/// bound but those bytes themselves, which are below it.
fn within_reach(lower: Vec<u8>, upper: Option<Vec<u8>>) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let above = |bytes: &[u8]| key::successor(bytes.get(..MAX_KEY).unwrap_or(bytes));
    let lower = if lower.len() > MAX_KEY {
        above(&lower)?
    } else {
        lower
    };
    let upper = match upper {
        Some(upper) if upper.len() > MAX_KEY => above(&upper),
        upper => upper,
    };
    Some((lower, upper))
}

/// The least timeuuid of a millisecond.
fn first_timeuuid(at: i64) -> Result<Value, End> {
    let ticks = i128::from(at) * 10_000 + i128::from(TIMEUUID_EPOCH);
    if ticks < 0 {
        return Err(End::Below);
    }
    if ticks >> 60 != 0 {
        return Err(End::Above);
    }
    let ticks = ticks as u64;
    let mut id = [0; 16];
    let (low, mid, high) = (ticks as u32, (ticks >> 32) as u16, (ticks >> 48) as u16);
    let fields = low
        .to_be_bytes()
        .into_iter()
        .chain(mid.to_be_bytes())
        .chain(high.to_be_bytes());
    for (to, from) in id.iter_mut().zip(fields) {
        *to = from;
    }
    Ok(Value::TimeUuid(id))
}
