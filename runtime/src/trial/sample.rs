//! Made-up facts in the volumes that a model states.
//!
//! Everything follows from numbers: an instance is the number of its root or link, and its values
//! are functions of that number. So any instance can be named without being kept, and what leads
//! from one to another is computed, not looked up.

use querent_compiler::codec::entity_row_to_json;
use querent_compiler::model::{AttributeId, EntityId, Field, Model, ReferenceId, Size, Type};
use querent_compiler::value::{TIMEUUID_EPOCH, Value, timeuuid};
use rust_decimal::Decimal;
use std::io::{self, Write};

/// 2024-01-01T00:00Z.
const START_MILLIS: i64 = 1_704_067_200_000;
/// Between one time and the next.
const STEP_MILLIS: i64 = 60_000;
/// Days from 1970 to 2024.
const START_DAYS: i32 = 19_723;
/// Numbers repeat from here on: more than any machine holds, and no time overflows.
const MOST: u64 = 10_000_000_000;
/// Values of a collection's elements are drawn from so many.
const ELEMENTS: u64 = 1000;

/// Letters that tell 32 bits apart.
const DIGITS: usize = 7;

/// The facts of a model in its volumes.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'m> {
    /// The model.
    pub model: &'m Model,
}

/// An instance: its concrete entity and its number among those of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The concrete entity.
    pub entity: EntityId,
    /// Its number: below the root's count for what is loaded.
    pub number: u64,
}

impl<'m> Sample<'m> {
    /// Of a model.
    pub fn new(model: &'m Model) -> Sample<'m> {
        Sample { model }
    }

    /// How many instances there are of an entity, those of its subtypes included.
    pub fn count(&self, entity: EntityId) -> u64 {
        (self.model.entity(entity).count.round().max(1.0) as u64).min(MOST)
    }

    /// The concrete entities below a root, and how many instances each has by itself.
    pub fn members(&self, root: EntityId) -> Vec<(EntityId, u64)> {
        let members = self.model.type_members(root).into_iter();
        members.map(|e| (e, self.own(e))).collect()
    }

    /// Instances of an entity that belong to no subtype.
    fn own(&self, entity: EntityId) -> u64 {
        let below: u64 = self
            .model
            .entity(entity)
            .subtypes
            .iter()
            .copied()
            .map(|e| self.own(e))
            .sum();
        let whole = self.model.entity(entity).count.round() as u64;
        if self.model.entity(entity).subtypes.is_empty() {
            whole.max(1)
        } else {
            whole.saturating_sub(below)
        }
    }

    /// Instance number `number % count` of an entity, its subtypes included.
    pub fn instance(&self, entity: EntityId, number: u64) -> Instance {
        let root = self.model.entity(entity).root;
        let members = self.members(root);
        let is_one = |e: EntityId| self.model.is_a(e, entity);
        let all: u64 = members.iter().filter(|m| is_one(m.0)).map(|m| m.1).sum();
        let (mut left, mut start) = (number % all.max(1), 0);
        for (member, own) in members {
            if is_one(member) {
                if left < own {
                    return Instance {
                        entity: member,
                        number: start + left,
                    };
                }
                left -= own;
            }
            start += own;
        }
        Instance { entity, number: 0 }
    }

    /// The key of an instance, flattened.
    pub fn key(&self, of: Instance) -> Vec<Value> {
        let root = self.model.entity(of.entity).root;
        let entity = self.model.entity(root);
        let parts = self.key_numbers(root, of.number).into_iter();
        let values = parts.flat_map(|(slot, number)| match entity.fields.get(slot) {
            Some(Field::Reference(r)) => {
                self.key(self.instance(self.model.reference(*r).target, number))
            }
            Some(Field::Attribute(a)) => vec![self.nth(&self.model.attribute(*a).ty, number)],
            _ => vec![],
        });
        values.collect()
    }

    /// The slots of a root's key with a number for each: which target, or which value. Different
    /// instances differ in one of them at least.
    fn key_numbers(&self, root: EntityId, number: u64) -> Vec<(usize, u64)> {
        let entity = self.model.entity(root);
        let (mut left, mut before) = (number, 0);
        let mut parts = vec![];
        for (at, &slot) in entity.key.iter().enumerate() {
            let domain = match entity.fields.get(slot) {
                Some(Field::Reference(r)) => self.count(self.model.reference(*r).target),
                Some(Field::Attribute(a)) => self.domain(*a),
                _ => continue,
            };
            let last = at + 1 == entity.key.len();
            let bounded = !last || matches!(entity.fields.get(slot), Some(Field::Reference(_)));
            let part = if bounded {
                // Shifted by what comes before it, so that not all pairs have the same second.
                let part = (left % domain + scrambled(before) % domain) % domain;
                left /= domain;
                part
            } else {
                left
            };
            before = before.wrapping_mul(31).wrapping_add(part + 1);
            parts.push((slot, part));
        }
        parts
    }

    /// How many values an attribute has.
    pub fn domain(&self, attribute: AttributeId) -> u64 {
        let a = self.model.attribute(attribute);
        let stated = a.cardinality.filter(|_| a.ty.element().is_none());
        let known = self.model.values_of(&a.ty).or(stated);
        known.map_or_else(|| self.count(a.entity), |n| (n.max(1.0) as u64).min(MOST))
    }

    /// Where a reference of an instance leads.
    pub fn target(&self, of: Instance, reference: ReferenceId) -> Instance {
        let root = self.model.entity(of.entity).root;
        let slot = self.model.slot(root, Field::Reference(reference));
        let parts = self.key_numbers(root, of.number);
        let in_key = parts.into_iter().find(|(s, _)| Some(*s) == slot);
        let r = self.model.reference(reference);
        let number = match in_key {
            Some((_, number)) => number,
            None if r.unique => of.number,
            None => mixed(u64::from(reference.0) << 32 | 1, of.number),
        };
        self.instance(r.target, number)
    }

    /// The row of an instance, by the slots of its root.
    pub fn row(&self, of: Instance) -> Vec<Value> {
        let root = self.model.entity(of.entity).root;
        let entity = self.model.entity(root);
        let parts = self.key_numbers(root, of.number);
        let has = |declared: EntityId| self.model.is_a(of.entity, declared);
        let values = entity
            .fields
            .iter()
            .enumerate()
            .map(|(slot, field)| match field {
                Field::Type => {
                    let members = self.model.type_members(root);
                    let at = members.iter().position(|&e| e == of.entity);
                    Value::Enum(at.unwrap_or(0) as u16)
                }
                Field::Reference(r) if has(self.model.reference(*r).entity) => {
                    Value::Key(self.key(self.target(of, *r)))
                }
                Field::Attribute(a)
                    if !self.model.is_hidden(root, *field)
                        && has(self.model.attribute(*a).entity) =>
                {
                    match parts.iter().find(|(s, _)| *s == slot) {
                        Some((_, number)) => self.nth(&self.model.attribute(*a).ty, *number),
                        None => self.value(*a, of.number),
                    }
                }
                _ => Value::Null,
            });
        values.collect()
    }

    /// The value of an attribute that is no part of a key.
    fn value(&self, attribute: AttributeId, number: u64) -> Value {
        let a = self.model.attribute(attribute);
        let nth = if a.unique || a.sequence.is_some() {
            number
        } else {
            mixed(u64::from(attribute.0) << 32, number) % self.domain(attribute)
        };
        // What a collection states are the values of its elements.
        let elements = a.cardinality.filter(|_| a.ty.element().is_some());
        self.nth_with(&a.ty, nth, elements.map(|n| n.max(1.0) as u64))
    }

    /// Value number n of a type: others for other numbers (as far as the type has so many: dates of a
    /// century, texts as long as they may be), in order where the type is one of numbers or times,
    /// and about as long as the type says.
    pub fn nth(&self, ty: &Type, n: u64) -> Value {
        self.nth_with(ty, n, None)
    }

    /// The same; a collection has elements of so many values, where that is known.
    fn nth_with(&self, ty: &Type, n: u64, elements: Option<u64>) -> Value {
        match ty {
            Type::Bool => Value::Bool(n % 2 == 1),
            Type::Int => Value::Int((n % i32::MAX as u64) as i64 + 1),
            Type::BigInt => Value::Int((n % i64::MAX as u64) as i64 + 1),
            Type::Float => Value::Float(n as f64 / 4.0),
            Type::Decimal => Value::Decimal(Decimal::new((n % MOST) as i64, 2).normalize()),
            Type::Text(size) => Value::Text(text(size, n)),
            Type::Any => Value::Text(text(
                &Size {
                    avg: 12.0,
                    max: None,
                },
                n,
            )),
            Type::Cursor => Value::Null,
            Type::Blob(size) => Value::Blob(text(size, n).into_bytes()),
            Type::Date => Value::Date(START_DAYS + (n % 36_500) as i32),
            Type::Timestamp => Value::Timestamp(START_MILLIS + (n % MOST) as i64 * STEP_MILLIS),
            Type::Uuid => {
                let (high, low) = (scrambled(n), scrambled(n ^ u64::MAX));
                Value::Uuid((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
            }
            Type::TimeUuid => {
                let millis = START_MILLIS as u64 + (n % MOST) * STEP_MILLIS as u64;
                let ticks = millis * 10_000 + TIMEUUID_EPOCH;
                Value::TimeUuid(timeuuid(ticks, n | 1 << 63))
            }
            Type::Point => {
                let (a, b) = (scrambled(n) % 180_000, scrambled(!n) % 360_000);
                Value::Point(a as f64 / 1000.0 - 90.0, b as f64 / 1000.0 - 180.0)
            }
            Type::Enum(e) => {
                Value::Enum((n % self.model.enumeration(*e).members.len().max(1) as u64) as u16)
            }
            Type::Tag(root) => {
                Value::Enum((n % self.model.type_members(*root).len() as u64) as u16)
            }
            Type::Key(entity) => Value::Key(self.key(self.instance(*entity, n))),
            Type::List(t, size) => Value::List(self.elements(t, size, n, elements)),
            Type::Set(t, size) => {
                let mut members = self.elements(t, size, n, elements);
                members.sort();
                members.dedup();
                Value::Set(members)
            }
            Type::Map(k, v, size) => {
                let keys = self.elements(k, size, n, elements).into_iter();
                let values = self.elements(v, size, !n, None);
                let mut pairs: Vec<_> = keys.zip(values).collect();
                pairs.sort();
                pairs.dedup_by(|a, b| a.0 == b.0);
                Value::Map(pairs)
            }
            Type::Record(fields) => {
                let values = fields.iter().enumerate();
                let values = values.map(|(at, f)| self.inner(&f.ty, mixed(at as u64, n)));
                Value::Record(values.collect())
            }
        }
    }

    fn elements(&self, ty: &Type, size: &Size, n: u64, values: Option<u64>) -> Vec<Value> {
        let count = size.avg.round().max(1.0) as u64;
        let numbers = (0..count).map(|i| mixed(n, i));
        let element = |i: u64| match values {
            Some(values) => self.nth(ty, i % values),
            None => self.inner(ty, i),
        };
        numbers.map(element).collect()
    }

    /// A value inside another one. Numbers are small: counts, prices, positions.
    fn inner(&self, ty: &Type, n: u64) -> Value {
        let number = matches!(ty, Type::Int | Type::BigInt | Type::Float | Type::Decimal);
        self.nth(ty, n % if number { 10 } else { ELEMENTS })
    }

    /// Writes all instances of a concrete entity, one JSON object a line.
    pub fn write(&self, entity: EntityId, out: &mut impl Write) -> io::Result<()> {
        let root = self.model.entity(entity).root;
        let mut start = 0;
        for (member, own) in self.members(root) {
            if member == entity {
                for number in start..start + own {
                    let row = self.row(Instance { entity, number });
                    let object = entity_row_to_json(self.model, entity, &row);
                    serde_json::to_writer(&mut *out, &object)?;
                    out.write_all(b"\n")?;
                }
            }
            start += own;
        }
        Ok(())
    }
}

/// A number made of two, all bits of which depend on both.
pub(super) fn mixed(a: u64, b: u64) -> u64 {
    scrambled(scrambled(a).wrapping_add(b))
}

/// Another number for each number.
fn scrambled(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Letters: first those that tell numbers apart, then some that fill.
fn text(size: &Size, n: u64) -> String {
    let wanted = (size.avg * (0.75 + (scrambled(n) % 512) as f64 / 1024.0)).round();
    let wanted = wanted.min(size.max.unwrap_or(wanted)).max(1.0) as usize;
    let most = size.max.map_or(DIGITS * 2, |max| max.max(1.0) as usize);
    let n = n % 26u64.saturating_pow(most.min(DIGITS * 2) as u32).max(1);
    // Of 32 bits, so that neighbours are far apart and seven letters are enough.
    let long = wanted >= DIGITS && n < 1 << 32;
    let mut left = if long {
        u64::from((n as u32).wrapping_mul(0x9e37_79b1))
    } else {
        n
    };
    let mut out = String::with_capacity(wanted);
    while left > 0 || out.is_empty() || (long && out.len() < DIGITS) {
        out.push(char::from(b'a' + (left % 26) as u8));
        left /= 26;
    }
    let mut filling = scrambled(n);
    while long && out.len() < wanted {
        filling = filling.rotate_left(5).wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
        let letter = (filling >> 40) % 32;
        out.push(if letter < 26 {
            char::from(b'a' + letter as u8)
        } else {
            ' '
        });
    }
    out
}
