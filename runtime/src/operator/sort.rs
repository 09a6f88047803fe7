//! `sort`: all tuples of the input, in order. Equal ones keep the input's order.
//!
//! Tuples stay where they were put; what is moved about are their places, each with the first bytes
//! of what its tuple is ordered by. All those bytes are made, in one flat buffer, only where two
//! tuples begin alike.

use super::order::{Head, Order};
use super::ranks::Ranks;
use super::sub::Subs;
use super::term::{Env, Stop};
use super::ties::InputOrder;
use super::{AskError, BATCH, Boxed, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};

pub(super) struct Sort<'a, R: Reader> {
    step: usize,
    input: Boxed<'a, R>,
    order: &'a Order,
    /// How tuples that are alike in the first term stand in the input, where that is their order.
    ties: Option<InputOrder>,
    subs: Subs<'a, R>,
    /// No more tuples than this will be taken.
    limit: usize,
    /// How many tuples are asked of the input at once.
    batch: usize,
    tuples: Tuples<R::B>,
    /// Of all tuples, while these say all there is to say about their order; then there are no places.
    ranks: Option<Ranks>,
    /// Of all tuples where the order has subplans, else of those whose heads are alike.
    keys: Keys,
    places: Vec<Place>,
    /// Whether every head holds all of the first term.
    whole: bool,
    /// Whether all tuples stand in the input as `ties` says.
    in_order: bool,
    /// The numbers of the tuples in their order, when all of the input is taken in.
    sorted: Vec<u64>,
    /// How many have been handed out; none while the input is still being taken in.
    next: Option<usize>,
}

/// More tuples than this are not made room for before they come.
const MOST_EXPECTED: usize = 256;

/// Most keys are not longer than this.
const KEY: usize = 32;

/// What tuples are ordered by, one behind the other.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    /// Where the key of each tuple is; empty where it has not been made.
    spans: Vec<(usize, usize)>,
}

impl Keys {
    fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Appends the key of the next tuple.
    fn push(&mut self, key: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.spans.push((start, self.bytes.len()));
    }

    fn get(&self, tuple: usize) -> &[u8] {
        let (start, end) = self.spans.get(tuple).copied().unwrap_or_default();
        self.bytes.get(start..end).unwrap_or_default()
    }
}

/// The head of a tuple's key, which is all that most comparisons need, and behind it the tuple's
/// number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u128);

impl Place {
    /// Bytes of the head.
    const HEAD: usize = 11;
    /// Bits of the number: more tuples do not fit into memory.
    const NUMBER: u32 = 128 - 8 * Self::HEAD as u32;

    #[inline]
    fn new(head: u128, tuple: usize) -> Self {
        Place(head >> Self::NUMBER << Self::NUMBER | tuple as u128)
    }

    #[inline]
    fn head(self) -> u128 {
        self.0 >> Self::NUMBER
    }

    /// Turns the order of the numbers round, or back.
    #[inline]
    fn turn(&mut self) {
        self.0 ^= (1 << Self::NUMBER) - 1;
    }

    #[inline]
    fn tuple(self) -> usize {
        (self.0 & ((1 << Self::NUMBER) - 1)) as usize
    }
}

impl<'a, R: Reader> Sort<'a, R> {
    /// `expected` is an estimate of how many tuples will come.
    pub(super) fn new(
        step: usize,
        (input, stride): (Boxed<'a, R>, usize),
        (order, ties, subs): (&'a Order, Option<InputOrder>, Subs<'a, R>),
        limit: Option<usize>,
        expected: usize,
    ) -> Self {
        Sort {
            step,
            input,
            order,
            ties,
            subs,
            limit: limit.unwrap_or(usize::MAX),
            batch: expected.clamp(BATCH, MOST_EXPECTED),
            tuples: Tuples::new(stride),
            ranks: None,
            keys: Keys::default(),
            places: Vec::new(),
            whole: true,
            in_order: true,
            sorted: Vec::new(),
            next: None,
        }
    }

    /// How many tuples have their places.
    fn placed(&self) -> usize {
        self.ranks.as_ref().map_or(self.places.len(), Ranks::len)
    }

    /// Takes in the whole input; false if it waits.
    fn collect(&mut self, cx: &Context<'a, R>) -> Result<bool, AskError> {
        loop {
            if !self.place(cx)? {
                return Ok(false);
            }
            // Of many tuples under a small limit only the first few are kept.
            if self.placed() / 2 > self.limit.max(BATCH) {
                self.keep_first(cx)?;
            }
            if self.placed() == 0 {
                self.tuples.reserve(self.batch);
            }
            match self.input.fill(cx, self.batch, &mut self.tuples)? {
                Fill::Rows => {}
                Fill::Wait => return Ok(false),
                Fill::End => break,
            }
        }
        self.sort_all(cx)?;
        self.next = Some(0);
        Ok(true)
    }

    /// Gives the tuples that have none their places; false if a subplan waits.
    fn place(&mut self, cx: &Context<'a, R>) -> Result<bool, AskError> {
        if !self.subs.is_empty() {
            return self.place_by_keys(cx);
        }
        self.in_order = self.in_order
            && (self.ties).is_some_and(|ties| ties.holds(&self.tuples, self.placed()));
        if let Some(ranks) = &mut self.ranks {
            if self.in_order && ranks.add(&self.tuples) {
                return Ok(true);
            }
            self.leave_ranks();
        }
        self.places.reserve(self.tuples.len() - self.places.len());
        let first = self.order.number();
        for at in self.places.len()..self.tuples.len() {
            let tuple = self.tuples.get(at);
            // The head of a stored number holds all of it.
            if let Some((number, order)) = first
                && let Some(number) = number.read(tuple)
            {
                let head = order.head(order.rank(number));
                self.places.push(Place::new(head, at));
                continue;
            }
            let head = self.order.head(&plain(cx, tuple), &mut self.keys.bytes);
            let head = head.map_err(Stop::unrun)?;
            self.whole &= head.length <= Place::HEAD;
            self.places.push(Place::new(head.bytes, at));
        }
        Ok(true)
    }

    /// Gives the tuples places instead of ranks.
    fn leave_ranks(&mut self) {
        if let Some(ranks) = self.ranks.take() {
            let heads = ranks.heads().enumerate();
            let places = heads.map(|(at, head)| Place::new(head, at));
            self.places.extend(places);
        }
    }

    /// The same where the order has subplans: they are run once, so that all of a key is made.
    fn place_by_keys(&mut self, cx: &Context<'a, R>) -> Result<bool, AskError> {
        let (order, keys) = (self.order, &mut self.keys);
        for at in self.places.len()..self.tuples.len() {
            let (tuple, start) = (self.tuples.get(at), keys.bytes.len());
            let done = self.subs.resolve(cx, tuple, &[], |env| {
                keys.bytes.truncate(start);
                order.encode(env, false, &mut keys.bytes)
            })?;
            if done.is_pending() {
                keys.bytes.truncate(start);
                return Ok(false);
            }
            self.subs.reset();
            keys.spans.push((start, keys.bytes.len()));
            let head = Head::of(keys.get(at));
            self.places.push(Place::new(head.bytes, at));
        }
        Ok(true)
    }

    /// Tells the order of all tuples, but those beyond the limit.
    fn sort_all(&mut self, cx: &Context<'a, R>) -> Result<(), AskError> {
        self.sorted = match self.ranks.take().map(Ranks::sorted) {
            Some(Ok(sorted)) => sorted,
            too_far => {
                self.ranks = too_far.and_then(Result::err);
                self.leave_ranks();
                self.sort(cx)?;
                self.places
                    .iter()
                    .map(|place| place.tuple() as u64)
                    .collect()
            }
        };
        self.sorted.truncate(self.limit);
        Ok(())
    }

    /// Puts the places in order, and forgets those beyond the limit.
    fn sort(&mut self, cx: &Context<'a, R>) -> Result<(), AskError> {
        let ties = self.ties.filter(|_| self.whole && self.in_order);
        if ties.is_some_and(|ties| ties.reversed) {
            self.places.iter_mut().for_each(Place::turn);
            self.places.sort_unstable();
            self.places.iter_mut().for_each(Place::turn);
        } else {
            self.places.sort_unstable();
        }
        let alike = |a: &Place, b: &Place| a.head() == b.head();
        if ties.is_none() && !self.places.is_sorted_by(|a, b| !alike(a, b)) {
            self.make_keys(cx)?;
            let keys = &self.keys;
            for run in self.places.chunk_by_mut(alike) {
                run.sort_unstable_by(|a, b| {
                    let (key, other) = (keys.get(a.tuple()), keys.get(b.tuple()));
                    key.cmp(other).then(a.cmp(b))
                });
            }
        }
        self.places.truncate(self.limit);
        Ok(())
    }

    /// Makes the keys of tuples whose heads are alike, where they have none.
    fn make_keys(&mut self, cx: &Context<'a, R>) -> Result<(), AskError> {
        if !self.subs.is_empty() {
            return Ok(());
        }
        // Where heads hold all of the first term, it is equal in those that are alike.
        let equal = usize::from(self.whole);
        let keys = &mut self.keys;
        keys.clear();
        keys.spans.resize(self.tuples.len(), (0, 0));
        keys.bytes.reserve(KEY * self.places.len());
        for run in self.places.chunk_by(|a, b| a.head() == b.head()) {
            for place in run.iter().filter(|_| run.len() > 1) {
                let (tuple, start) = (place.tuple(), keys.bytes.len());
                let env = plain(cx, self.tuples.get(tuple));
                let made = self.order.encode_behind(equal, &env, &mut keys.bytes);
                made.map_err(Stop::unrun)?;
                if let Some(span) = keys.spans.get_mut(tuple) {
                    *span = (start, keys.bytes.len());
                }
            }
        }
        Ok(())
    }

    /// Sorts, and forgets the tuples beyond the limit.
    fn keep_first(&mut self, cx: &Context<'a, R>) -> Result<(), AskError> {
        self.leave_ranks();
        self.sort(cx)?;
        let (mut tuples, mut keys) = (Tuples::new(self.tuples.stride), Keys::default());
        let mut keep = |place: &mut Place| {
            let tuple = place.tuple();
            if !self.subs.is_empty() {
                keys.push(self.keys.get(tuple));
            }
            *place = Place::new(place.0, tuples.len());
            tuples.push(self.tuples.take(tuple));
        };
        // Numbers go on telling how the tuples stood in the input.
        if self.ties.is_some_and(|ties| ties.reversed) {
            self.places.iter_mut().rev().for_each(&mut keep);
        } else {
            self.places.iter_mut().for_each(&mut keep);
        }
        (self.tuples, self.keys) = (tuples, keys);
        Ok(())
    }
}

/// What terms without subplans are evaluated over.
#[inline]
fn plain<'t, R: Reader>(cx: &Context<'t, R>, tuple: &'t [Frame<R::B>]) -> Env<'t, R::B> {
    Env {
        tuple,
        items: &[],
        params: cx.params,
        results: &[],
    }
}

impl<'a, R: Reader> Operator<'a, R> for Sort<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.input.start(outer);
        self.subs.reset();
        self.tuples.clear();
        self.keys.clear();
        self.places.clear();
        self.ranks = match (self.order.number(), self.ties) {
            (Some(number), Some(ties)) if self.subs.is_empty() => {
                Some(Ranks::new(number, ties.reversed))
            }
            _ => None,
        };
        self.whole = true;
        self.in_order = true;
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
        let rest = self.sorted.get(next..).unwrap_or_default();
        let given = rest.get(..want).unwrap_or(rest);
        out.reserve(given.len());
        for tuple in given {
            out.push(self.tuples.take(*tuple as usize));
        }
        self.next = Some(next + given.len());
        Ok(cx.settle(self.step, given.len(), Fill::End))
    }

    fn hand_over(
        &mut self,
        cx: &Context<'a, R>,
        out: &mut Tuples<R::B>,
        order: &mut Vec<u64>,
    ) -> Result<Fill, AskError> {
        if self.next.is_none() && !self.collect(cx)? {
            return Ok(Fill::Wait);
        }
        order.clear();
        std::mem::swap(order, &mut self.sorted);
        std::mem::swap(out, &mut self.tuples);
        Ok(cx.settle(self.step, order.len(), Fill::End))
    }
}
