//! A small generator of random numbers (splitmix64): the same seed gives the same on every machine.

/// Random numbers from a seed.
#[derive(Clone, Debug)]
pub struct Rng(u64, usize);

impl Rng {
    /// From a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed, 0)
    }
    /// From here on, some texts and blobs are so many bytes longer: which ones depends on them
    /// alone, so that values still meet.
    pub fn lengthen_by(&mut self, bytes: usize) {
        self.1 = bytes;
    }
    /// By how many bytes some texts and blobs are longer.
    pub fn longer(&self) -> usize {
        self.1
    }
    /// Others, which leave what comes from here as it is: what is drawn from them is new in models
    /// that are the same otherwise.
    #[must_use]
    pub fn aside(&self) -> Rng {
        Rng(self.clone().bits(), self.1)
    }
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// From 0 to `n − 1`; 0 for 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            0
        } else {
            (self.bits() % n as u64) as usize
        }
    }
    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }
    /// True in so many of a hundred cases.
    pub fn percent(&mut self, p: u64) -> bool {
        self.bits() % 100 < p
    }
    /// One of several; none of none.
    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        if from.is_empty() {
            None
        } else {
            from.get(self.below(from.len()))
        }
    }
    /// One of a fixed, non-empty choice.
    pub fn one_of<T: Copy, const N: usize>(&mut self, from: [T; N]) -> T {
        from[self.below(N)]
    }
}
