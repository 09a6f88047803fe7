//! `sort`: all tuples of the input, in order. Equal ones keep the input's order.
//!
//! Two flat buffers hold the tuples and the bytes that they are ordered by; what is moved about are
//! their places.

use super::order::Order;
use super::sub::Subs;
use super::{AskError, BATCH, Boxed, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use std::cmp::Ordering;

pub(super) struct Sort<'a, R: Reader> {
    step: usize,
    input: Boxed<'a, R>,
    order: &'a Order,
    subs: Subs<'a, R>,
    /// No more tuples than this will be taken.
    limit: usize,
    tuples: Tuples<R::B>,
    keys: Vec<u8>,
    places: Vec<Place>,
    /// How many of the tuples have a place.
    placed: usize,
    /// How many have been handed out; none while the input is still being taken in.
    next: Option<usize>,
}

/// Where a tuple is, and what it is ordered by.
#[derive(Clone, Copy)]
struct Place {
    /// The first bytes of its key: most comparisons need no more.
    head: u128,
    key: (usize, usize),
    tuple: usize,
}

impl Place {
    /// Of a key that ends where the buffer does.
    fn new(keys: &[u8], from: usize, tuple: usize) -> Self {
        let key = keys.get(from..).unwrap_or_default();
        let head = key.first_chunk().copied().unwrap_or_else(|| {
            let mut head = [0; 16];
            head.iter_mut().zip(key).for_each(|(to, byte)| *to = *byte);
            head
        });
        Place {
            head: u128::from_be_bytes(head),
            key: (from, keys.len()),
            tuple,
        }
    }

    #[inline]
    fn cmp(&self, other: &Place, keys: &[u8]) -> Ordering {
        self.head
            .cmp(&other.head)
            .then_with(|| self.key(keys).cmp(other.key(keys)))
            .then(self.tuple.cmp(&other.tuple))
    }

    fn key<'k>(&self, keys: &'k [u8]) -> &'k [u8] {
        keys.get(self.key.0..self.key.1).unwrap_or_default()
    }
}

impl<'a, R: Reader> Sort<'a, R> {
    pub(super) fn new(
        step: usize,
        (input, stride): (Boxed<'a, R>, usize),
        order: &'a Order,
        subs: Subs<'a, R>,
        limit: Option<usize>,
    ) -> Self {
        Sort {
            step,
            input,
            order,
            subs,
            limit: limit.unwrap_or(usize::MAX),
            tuples: Tuples::new(stride),
            keys: Vec::new(),
            places: Vec::new(),
            placed: 0,
            next: None,
        }
    }

    /// Takes in the whole input; false if it waits.
    fn collect(&mut self, cx: &Context<'a, R>) -> Result<bool, AskError> {
        loop {
            if !self.place(cx)? {
                return Ok(false);
            }
            // Of many tuples under a small limit only the first few are kept.
            if self.places.len() / 2 > self.limit.max(BATCH) {
                self.keep_first();
            }
            match self.input.fill(cx, BATCH, &mut self.tuples)? {
                Fill::Rows => {}
                Fill::Wait => return Ok(false),
                Fill::End => break,
            }
        }
        self.sort();
        self.next = Some(0);
        Ok(true)
    }

    /// Gives the tuples that have none their places; false if a subplan waits.
    fn place(&mut self, cx: &Context<'a, R>) -> Result<bool, AskError> {
        let (order, keys) = (self.order, &mut self.keys);
        self.places.reserve(self.tuples.len() - self.placed);
        while self.placed < self.tuples.len() {
            let from = self.places.last().map_or(0, |place| place.key.1);
            let tuple = self.tuples.get(self.placed);
            let done = self.subs.resolve(cx, tuple, None, |env| {
                keys.truncate(from);
                order.encode(env, false, keys)
            })?;
            if done.is_pending() {
                return Ok(false);
            }
            self.subs.reset();
            self.places.push(Place::new(keys, from, self.placed));
            self.placed += 1;
        }
        Ok(true)
    }

    fn sort(&mut self) {
        let keys = &self.keys;
        self.places.sort_unstable_by(|a, b| a.cmp(b, keys));
        self.places.truncate(self.limit);
    }

    /// Sorts, and forgets what is beyond the limit.
    fn keep_first(&mut self) {
        self.sort();
        let mut tuples = Tuples::new(self.tuples.stride);
        let mut keys = Vec::new();
        for place in &mut self.places {
            let from = keys.len();
            keys.extend_from_slice(place.key(&self.keys));
            tuples.push(self.tuples.take(place.tuple));
            *place = Place::new(&keys, from, tuples.len() - 1);
        }
        self.placed = tuples.len();
        (self.tuples, self.keys) = (tuples, keys);
    }
}

impl<'a, R: Reader> Operator<'a, R> for Sort<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.input.start(outer);
        self.subs.reset();
        self.placed = 0;
        self.tuples.clear();
        self.keys.clear();
        self.places.clear();
        self.next = None;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        if self.next.is_none() && !self.collect(cx)? {
            return Ok(Fill::Wait);
        }
        let next = self.next.unwrap_or_default();
        let mut added = 0;
        for place in self.places.iter().skip(next).take(want) {
            out.push(self.tuples.take(place.tuple));
            added += 1;
        }
        self.next = Some(next + added);
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
