//! Quotes of a CSV file that are closed in the middle of a cell, and rows that end with quotes.
//!
//! The reader of records takes `"Bo"b` for `Bob`, and says nothing. What was meant cannot be known
//! (`Bo"b`, or a delimiter that was forgotten), so the row is to be rejected: the bytes are looked at
//! on their way to that reader, and the places of such mistakes are kept until their row is read.
//!
//! A line ends with `\n` or with `\r\n`, and one file may have both. That reader leaves the `\r` in
//! the last cell, where it cannot be told from one in quotes (`"a\r"`): so it is kept as well where
//! a row ends right behind its quotes.

use std::collections::VecDeque;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a cell.
    Start,
    /// In a cell without quotes; a quote within it is a character like any other.
    Plain,
    Quoted,
    /// Behind a quote within quotes: they end here, or a second one follows, which stands for one.
    Closed,
    /// Behind a `\r` that follows the end of the quotes.
    Return,
}

pub(super) struct Quotes {
    delimiter: u8,
    state: State,
    /// Bytes that were looked at.
    seen: u64,
    /// Where something follows the end of the quotes, in order.
    mistakes: VecDeque<u64>,
    /// Where a line ends right behind quotes, in order.
    ends: VecDeque<u64>,
}

impl Quotes {
    pub(super) fn new(delimiter: u8) -> Quotes {
        Quotes {
            delimiter,
            state: State::Start,
            seen: 0,
            mistakes: VecDeque::new(),
            ends: VecDeque::new(),
        }
    }

    pub(super) fn look(&mut self, bytes: &[u8]) {
        let outside = matches!(self.state, State::Start | State::Plain);
        if outside && !bytes.contains(&b'"') {
            // Most of most files: only where the next piece begins matters.
            if let Some(&last) = bytes.last() {
                self.state = self.outside(last);
            }
            self.seen += bytes.len() as u64;
            return;
        }
        for &byte in bytes {
            self.state = self.step(byte);
            self.seen += 1;
        }
    }

    /// Whether a mistake is before this place. It and those before it are forgotten.
    pub(super) fn mistaken_before(&mut self, place: u64) -> bool {
        forget(&mut self.mistakes, place)
    }

    /// Whether the row that ends before this place ends with quotes, not with a `\r` behind them.
    /// It and those before it are forgotten.
    pub(super) fn closed_before(&mut self, place: u64) -> bool {
        forget(&mut self.ends, place)
    }

    fn step(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (State::Start | State::Closed, b'"') => State::Quoted,
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) => State::Quoted,
            (State::Start | State::Plain, _) => self.outside(byte),
            (State::Closed, b'\r') => State::Return,
            (State::Closed, b'\n') => {
                self.ends.push_back(self.seen);
                State::Start
            }
            (State::Return, b'\n') => State::Start,
            (State::Closed, _) if byte == self.delimiter => State::Start,
            (State::Closed | State::Return, _) => {
                self.mistakes.push_back(self.seen);
                self.outside(byte)
            }
        }
    }

    /// The state behind a byte that is not in quotes and begins none.
    fn outside(&self, byte: u8) -> State {
        if byte == b'\n' || byte == self.delimiter {
            State::Start
        } else {
            State::Plain
        }
    }
}

/// Forgets the places before this one; whether there were some.
fn forget(places: &mut VecDeque<u64>, before: u64) -> bool {
    let count = places.partition_point(|&at| at < before);
    places.drain(..count);
    count > 0
}
