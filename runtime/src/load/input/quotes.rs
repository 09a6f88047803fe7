//! Quotes of a CSV file that are closed in the middle of a cell.
//!
//! The reader of records takes `"Bo"b` for `Bob`, and says nothing. What was meant cannot be known
//! (`Bo"b`, or a delimiter that was forgotten), so the row is to be rejected: the bytes are looked at
//! on their way to that reader, and the places of such mistakes are kept until their row is read.

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
    /// Lines end with `\r\n`.
    windows: bool,
    state: State,
    /// Bytes that were looked at.
    seen: u64,
    /// Where something follows the end of the quotes, in order.
    mistakes: VecDeque<u64>,
}

impl Quotes {
    pub(super) fn new(delimiter: u8, windows: bool) -> Quotes {
        Quotes {
            delimiter,
            windows,
            state: State::Start,
            seen: 0,
            mistakes: VecDeque::new(),
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
        let count = self.mistakes.partition_point(|&at| at < place);
        self.mistakes.drain(..count);
        count > 0
    }

    fn step(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (State::Start | State::Closed, b'"') => State::Quoted,
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) => State::Quoted,
            (State::Start | State::Plain, _) => self.outside(byte),
            (State::Closed, b'\r') if self.windows => State::Return,
            (State::Return, b'\n') => State::Start,
            (State::Closed, _) if byte == b'\n' || byte == self.delimiter => State::Start,
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
