//! Wide integers in two's complement: just what exact sums need.

/// `N` × 64 bits, the least significant limb first. Overflow wraps; users choose `N` so that it
/// cannot happen within 2⁶³ additions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fixed<const N: usize>([u64; N]);

impl<const N: usize> Fixed<N> {
    pub(super) const ZERO: Self = Fixed([0; N]);

    pub(super) fn from_u128(n: u128) -> Self {
        let mut fixed = Self::ZERO;
        fixed.add_at(n as u64, 0);
        fixed.add_at((n >> 64) as u64, 64);
        fixed
    }

    /// The product of two numbers.
    pub(super) fn product(a: u128, b: u128) -> Self {
        let (mut low, mut high) = (Self::from_u128(a), Self::from_u128(a));
        low.mul_small(b as u64);
        high.mul_small((b >> 64) as u64);
        for limb in 0..N {
            low.add_at(high.bits_from(limb * 64), (limb + 1) * 64);
        }
        low
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.iter().all(|&limb| limb == 0)
    }

    pub(super) fn is_negative(&self) -> bool {
        self.0.last().is_some_and(|&top| top >> 63 == 1)
    }

    /// Adds `n · 2^bit`.
    pub(super) fn add_at(&mut self, n: u64, bit: usize) {
        let wide = u128::from(n) << (bit % 64);
        let mut parts = [wide as u64, (wide >> 64) as u64].into_iter();
        let mut carry = false;
        for limb in self.0.iter_mut().skip(bit / 64) {
            let part = parts.next();
            if part.is_none() && !carry {
                break;
            }
            let (sum, over) = limb.overflowing_add(part.unwrap_or(0));
            let (sum, over_carry) = sum.overflowing_add(u64::from(carry));
            *limb = sum;
            carry = over | over_carry;
        }
    }

    /// Subtracts `n · 2^bit`.
    pub(super) fn sub_at(&mut self, n: u64, bit: usize) {
        let wide = u128::from(n) << (bit % 64);
        let mut parts = [wide as u64, (wide >> 64) as u64].into_iter();
        let mut borrow = false;
        for limb in self.0.iter_mut().skip(bit / 64) {
            let part = parts.next();
            if part.is_none() && !borrow {
                break;
            }
            let (rest, under) = limb.overflowing_sub(part.unwrap_or(0));
            let (rest, under_borrow) = rest.overflowing_sub(u64::from(borrow));
            *limb = rest;
            borrow = under | under_borrow;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        let mut carry = false;
        for (limb, &part) in self.0.iter_mut().zip(&other.0) {
            let (sum, over) = limb.overflowing_add(part);
            let (sum, over_carry) = sum.overflowing_add(u64::from(carry));
            *limb = sum;
            carry = over | over_carry;
        }
    }

    pub(super) fn negated(&self) -> Self {
        let mut negated = self.clone();
        for limb in &mut negated.0 {
            *limb = !*limb;
        }
        negated.add_at(1, 0);
        negated
    }

    /// The absolute value, and whether the number was negative.
    pub(super) fn magnitude(&self) -> (Self, bool) {
        if self.is_negative() {
            (self.negated(), true)
        } else {
            (self.clone(), false)
        }
    }

    /// Multiplies a number that is not negative.
    pub(super) fn mul_small(&mut self, factor: u64) {
        let mut carry = 0u128;
        for limb in &mut self.0 {
            let product = u128::from(*limb) * u128::from(factor) + carry;
            *limb = product as u64;
            carry = product >> 64;
        }
    }

    /// Multiplies a number that is not negative by 10^`exponent`.
    pub(super) fn mul_power_of_ten(&mut self, exponent: u32) {
        for _ in 0..exponent / 19 {
            self.mul_small(10u64.pow(19));
        }
        self.mul_small(10u64.pow(exponent % 19));
    }

    /// Divides a number that is not negative, and returns the remainder. The divisor is not 0.
    pub(super) fn div_small(&mut self, divisor: u64) -> u64 {
        let mut remainder = 0u128;
        for limb in self.0.iter_mut().rev() {
            let part = remainder << 64 | u128::from(*limb);
            *limb = (part / u128::from(divisor)) as u64;
            remainder = part % u128::from(divisor);
        }
        remainder as u64
    }

    /// The position of the highest set bit.
    pub(super) fn highest_bit(&self) -> Option<usize> {
        let (i, limb) = self.0.iter().enumerate().rfind(|(_, limb)| **limb != 0)?;
        Some(i * 64 + 63 - limb.leading_zeros() as usize)
    }

    pub(super) fn bit(&self, position: usize) -> bool {
        self.0
            .get(position / 64)
            .is_some_and(|limb| limb >> (position % 64) & 1 == 1)
    }

    /// True if a bit below the position is set.
    pub(super) fn any_below(&self, position: usize) -> bool {
        let whole = position / 64;
        self.0.iter().take(whole).any(|&limb| limb != 0)
            || self
                .0
                .get(whole)
                .is_some_and(|limb| limb & ((1u64 << (position % 64)) - 1) != 0)
    }

    /// 64 bits from the position upwards.
    pub(super) fn bits_from(&self, position: usize) -> u64 {
        let limb = |i: usize| u128::from(self.0.get(i).copied().unwrap_or(0));
        let wide = limb(position / 64 + 1) << 64 | limb(position / 64);
        (wide >> (position % 64)) as u64
    }

    /// The number if it is not negative and below 2¹²⁸.
    pub(super) fn to_u128(&self) -> Option<u128> {
        if self.highest_bit().is_some_and(|bit| bit >= 128) {
            return None;
        }
        Some(u128::from(self.bits_from(64)) << 64 | u128::from(self.bits_from(0)))
    }

    /// The shortest two's complement form: whole zero limbs at the low end are counted instead of
    /// written, bytes that only repeat the sign at the high end are left out. One number has
    /// exactly one form.
    pub(super) fn to_bytes(&self) -> (u8, Vec<u8>) {
        let zeros = self.0.iter().take_while(|&&limb| limb == 0).count();
        if zeros == N {
            return (0, Vec::new());
        }
        let mut bytes: Vec<u8> = self
            .0
            .iter()
            .skip(zeros)
            .flat_map(|limb| limb.to_le_bytes())
            .collect();
        while let [.., below, top] = bytes.as_slice() {
            if (*top == 0 && below >> 7 == 0) || (*top == 0xff && below >> 7 == 1) {
                bytes.pop();
            } else {
                break;
            }
        }
        (zeros as u8, bytes)
    }

    /// The reverse of [`Fixed::to_bytes`].
    pub(super) fn from_bytes(zeros: u8, bytes: &[u8]) -> Option<Self> {
        let zeros = usize::from(zeros);
        if zeros * 8 + bytes.len() > N * 8 {
            return None;
        }
        let sign = if bytes.last().is_some_and(|top| top >> 7 == 1) {
            0xff
        } else {
            0
        };
        let mut all = bytes.iter().copied().chain(std::iter::repeat(sign));
        let mut fixed = Self::ZERO;
        for limb in fixed.0.iter_mut().skip(zeros) {
            *limb = u64::from_le_bytes(std::array::from_fn(|_| all.next().unwrap_or(sign)));
        }
        Some(fixed)
    }
}
