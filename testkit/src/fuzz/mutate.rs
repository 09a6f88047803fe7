//! Inputs made from seeds, the same ones in every run.

/// An endless sequence of mutated seeds.
pub(super) struct Mutator<'s> {
    seeds: &'s [Vec<u8>],
    words: Vec<&'s [u8]>,
    state: u64,
}

/// What often breaks parsers and codecs.
const BAD: [&[u8]; 20] = [
    b"",
    b"\0",
    b"\xff",
    b"\xc3",
    "\u{feff}".as_bytes(),
    "é".as_bytes(),
    "🦀".as_bytes(),
    b"\r\n",
    b"\"",
    b"'",
    b"-",
    b"-1",
    b"0",
    b"99999999999999999999999999",
    b"1e999",
    b"2147483648",
    b"NaN",
    b"null",
    b"((((((((",
    b"{{{{{{{{",
];

/// No input grows beyond this.
const LONGEST: usize = 16 << 10;

impl<'s> Mutator<'s> {
    pub(super) fn new(seeds: &'s [Vec<u8>]) -> Self {
        let words = seeds
            .iter()
            .flat_map(|seed| seed.split(u8::is_ascii_whitespace))
            .filter(|word| !word.is_empty())
            .collect();
        Self {
            seeds,
            words,
            state: 0x5eed,
        }
    }

    pub(super) fn next(&mut self) -> Vec<u8> {
        let mut input = self.pick_seed().to_vec();
        for _ in 0..=self.below(4) {
            self.mutate(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let (from, to) = self.span(input.len());
        let span: Vec<u8> = input.get(from..to).unwrap_or_default().to_vec();
        match self.below(9) {
            0 => drop(input.drain(from..to)),
            1 => drop(input.splice(to..to, span)),
            2 => drop(input.splice(from..to, self.pick_word())),
            3 => drop(input.splice(from..from, self.pick_word())),
            4 => drop(
                input.splice(
                    from..to,
                    BAD.get(self.below(BAD.len()))
                        .copied()
                        .unwrap_or(b"")
                        .iter()
                        .copied(),
                ),
            ),
            5 => input.truncate(from),
            6 => {
                // Deep nesting and long runs.
                let word = self.pick_word();
                let times = 1 << self.below(10);
                drop(input.splice(from..from, word.repeat(times)));
            }
            7 => {
                let other = self.pick_seed();
                let (a, b) = self.span(other.len());
                drop(input.splice(
                    from..to,
                    other.get(a..b).unwrap_or_default().iter().copied(),
                ));
            }
            _ => {
                let bit = 1 << self.below(8);
                if let Some(byte) = input.get_mut(from) {
                    *byte ^= bit;
                }
            }
        }
    }

    /// A range within a length, mostly short.
    fn span(&mut self, length: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        let longest = 1 << self.below(9);
        let to = from + self.below(longest.min(length - from) + 1);
        (from, to)
    }

    fn pick_seed(&mut self) -> &'s [u8] {
        let at = self.below(self.seeds.len());
        self.seeds.get(at).map_or(&[], Vec::as_slice)
    }

    fn pick_word(&mut self) -> Vec<u8> {
        let at = self.below(self.words.len());
        self.words
            .get(at)
            .map(|word| word.to_vec())
            .unwrap_or_default()
    }

    /// A number from 0 to below the bound (0 where the bound is 0), by splitmix64.
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let random = z ^ (z >> 31);
        ((u128::from(random) * bound as u128) >> 64) as usize
    }
}
