//! Sums of floats: exact, in any order, rounded once.

use super::fixed::Fixed;
use std::fmt;

/// The exponent of the lowest bit of a float: every finite float is a whole multiple of 2^-1074.
const SCALE: usize = 1074;
const LIMBS: usize = 34;
const INFINITE: u8 = 0x80;

/// An exact sum of floats.
///
/// A fixed-point number of 2176 bits: 2098 hold any finite float, the others 2⁷⁷ additions.
/// Because it is exact, the order of additions does not matter and a number can be taken out again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatSum {
    fixed: Fixed<LIMBS>,
    infinite: [i64; 2],
}

impl Default for FloatSum {
    fn default() -> Self {
        FloatSum {
            fixed: Fixed::ZERO,
            infinite: [0, 0],
        }
    }
}

impl FloatSum {
    /// Adds a float. NaN, which values never hold, is passed over.
    pub fn add(&mut self, x: f64) {
        self.change(x, x < 0.0, 1);
    }

    /// Takes out a float that was added.
    pub fn remove(&mut self, x: f64) {
        self.change(x, x > 0.0, -1);
    }

    fn change(&mut self, x: f64, subtract: bool, times: i64) {
        if x.is_nan() {
            return;
        }
        if x.is_infinite() {
            let [positive, negative] = &mut self.infinite;
            *(if x > 0.0 { positive } else { negative }) += times;
            return;
        }
        let (mantissa, bit) = decompose(x);
        if subtract {
            self.fixed.sub_at(mantissa, bit);
        } else {
            self.fixed.add_at(mantissa, bit);
        }
    }

    /// Adds a whole number.
    pub fn add_int(&mut self, n: i128) {
        let magnitude = n.unsigned_abs();
        for (part, bit) in [
            (magnitude as u64, SCALE),
            ((magnitude >> 64) as u64, SCALE + 64),
        ] {
            if n < 0 {
                self.fixed.sub_at(part, bit);
            } else {
                self.fixed.add_at(part, bit);
            }
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &FloatSum) {
        self.fixed.add(&other.fixed);
        for (mine, theirs) in self.infinite.iter_mut().zip(other.infinite) {
            *mine += theirs;
        }
    }

    /// The sum, rounded once to the nearest float (ties to even); none for ∞ − ∞ and where it is too
    /// large for a float.
    pub fn value(&self) -> Option<f64> {
        self.divided(1)
    }

    /// The sum divided by a count, rounded once; none for ∞ − ∞, where it is too large for a float,
    /// and for a count of 0.
    pub fn divided(&self, count: u64) -> Option<f64> {
        match self.infinite.map(|times| times > 0) {
            _ if count == 0 => return None,
            [true, true] => return None,
            [true, false] => return Some(f64::INFINITY),
            [false, true] => return Some(f64::NEG_INFINITY),
            [false, false] => {}
        }
        let (magnitude, negative) = self.fixed.magnitude();
        // 64 more bits, so that the quotient has enough of them below the last bit of a float.
        let mut wide = Fixed::<{ LIMBS + 1 }>::ZERO;
        for limb in 0..LIMBS {
            wide.add_at(magnitude.bits_from(limb * 64), (limb + 1) * 64);
        }
        let rest = wide.div_small(count) != 0;
        let rounded = round(&wide, 64, rest);
        let signed = if negative && rounded != 0.0 {
            -rounded
        } else {
            rounded
        };
        signed.is_finite().then_some(signed)
    }

    /// The sum as bytes: equal sums give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (zeros, fixed) = self.fixed.to_bytes();
        let mut bytes = Vec::with_capacity(fixed.len() + 17);
        if self.infinite == [0, 0] {
            bytes.push(zeros);
        } else {
            bytes.push(zeros | INFINITE);
            bytes.extend(self.infinite.iter().flat_map(|n| n.to_le_bytes()));
        }
        bytes.extend(fixed);
        bytes
    }

    /// The reverse of [`FloatSum::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<FloatSum, SumBytesError> {
        let damaged = SumBytesError::of(bytes);
        let (&head, mut rest) = bytes.split_first().ok_or(damaged)?;
        let mut infinite = [0; 2];
        if head & INFINITE != 0 {
            for count in &mut infinite {
                let (first, others) = rest.split_first_chunk().ok_or(damaged)?;
                *count = i64::from_le_bytes(*first);
                rest = others;
            }
        }
        let fixed = Fixed::from_bytes(head & !INFINITE, rest).ok_or(damaged)?;
        Ok(FloatSum { fixed, infinite })
    }
}

/// The bytes of a stored sum cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumBytesError {
    len: usize,
}

impl SumBytesError {
    pub(super) fn of(bytes: &[u8]) -> Self {
        SumBytesError { len: bytes.len() }
    }
}

impl fmt::Display for SumBytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes that are not a stored sum", self.len)
    }
}

impl std::error::Error for SumBytesError {}

/// `|x| = mantissa · 2^(bit − SCALE)`, for a finite x.
pub(super) fn decompose(x: f64) -> (u64, usize) {
    let bits = x.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52 & 0x7ff) as usize {
        0 => (fraction, 0),
        exponent => (fraction | 1 << 52, exponent - 1),
    }
}

/// Rounds a number whose bit `one` stands for 2^-1074; `rest` says that something below its lowest
/// bit was cut off.
fn round<const N: usize>(magnitude: &Fixed<N>, one: usize, rest: bool) -> f64 {
    let highest = magnitude.highest_bit().unwrap_or(0);
    let lowest = highest.saturating_sub(52).max(one);
    let mantissa = magnitude.bits_from(lowest);
    let exponent = lowest - one;
    if exponent > 2045 {
        return f64::INFINITY;
    }
    // A mantissa of 53 bits adds its top bit to the exponent field; one of fewer bits only occurs
    // with exponent 0, a subnormal. Rounding up carries into the exponent by itself.
    let bits = ((exponent as u64) << 52) + mantissa;
    let half = lowest > 0 && magnitude.bit(lowest - 1);
    let above_half = rest || (lowest > 0 && magnitude.any_below(lowest - 1));
    let up = half && (above_half || mantissa & 1 == 1);
    f64::from_bits(bits + u64::from(up))
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    /// The exact sum in units of 2^-1074.
    fn exact(xs: &[f64]) -> BigInt {
        xs.iter().fold(BigInt::ZERO, |sum, &x| {
            let (mantissa, bit) = decompose(x);
            let term = BigInt::from(mantissa) << bit;
            if x < 0.0 { sum - term } else { sum + term }
        })
    }

    /// True if no other float is nearer to `exact / count`, and a tie went to the even one.
    fn is_nearest(got: f64, exact_sum: &BigInt, count: u64) -> bool {
        if got.is_infinite() {
            let half_above = (exact(&[f64::MAX]) * 2 + (BigInt::from(1u8) << (2045))) * count;
            return BigInt::from(exact_sum.magnitude().clone()) * 2 >= half_above;
        }
        let distance = |x: f64| {
            let difference = exact(&[x]) * count - exact_sum;
            BigInt::from(difference.magnitude().clone())
        };
        let mine = distance(got);
        [got.next_up(), got.next_down()]
            .into_iter()
            .filter(|x| x.is_finite())
            .all(|other| {
                let theirs = distance(other);
                mine < theirs || (mine == theirs && got.to_bits() & 1 == 0)
            })
    }

    fn floats() -> impl Strategy<Value = Vec<f64>> {
        let any = proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL;
        let near = (-1000i32..1000, -60i32..60).prop_map(|(m, e)| f64::from(m) * 2f64.powi(e));
        let huge = prop_oneof![Just(f64::MAX), Just(f64::MIN), Just(f64::MIN_POSITIVE)];
        prop::collection::vec(prop_oneof![3 => any, 5 => near, 1 => huge], 0..20)
    }

    fn sum(xs: &[f64]) -> FloatSum {
        let mut sum = FloatSum::default();
        for &x in xs {
            sum.add(x);
        }
        sum
    }

    proptest! {
        #[test]
        fn a_sum_is_the_exact_sum_rounded_once(xs in floats()) {
            // None where the nearest is infinite.
            let got = sum(&xs).value().unwrap_or(f64::INFINITY);
            prop_assert!(is_nearest(got, &exact(&xs), 1), "{got:e} for {xs:?}");
            prop_assert!(got.to_bits() != (-0.0f64).to_bits());
        }

        #[test]
        fn an_average_is_rounded_once(xs in floats(), count in 1u64..50) {
            let got = sum(&xs).divided(count).unwrap_or(f64::INFINITY);
            prop_assert!(is_nearest(got, &exact(&xs), count), "{got:e} for {xs:?} / {count}");
        }

        #[test]
        fn order_does_not_matter(xs in floats(), split in 0usize..20) {
            let mut reversed = xs.clone();
            reversed.reverse();
            prop_assert_eq!(sum(&xs), sum(&reversed));
            let (left, right) = xs.split_at(split.min(xs.len()));
            let mut merged = sum(left);
            merged.merge(&sum(right));
            prop_assert_eq!(merged, sum(&xs));
        }

        #[test]
        fn what_is_removed_leaves_no_trace(xs in floats(), ys in floats()) {
            let mut both = sum(&xs);
            for &y in &ys { both.add(y); }
            for &y in &ys { both.remove(y); }
            prop_assert_eq!(both, sum(&xs));
        }

        #[test]
        fn bytes_and_back(xs in floats(), infinite in any::<bool>()) {
            let mut sum = sum(&xs);
            if infinite {
                sum.add(f64::INFINITY);
            }
            prop_assert_eq!(FloatSum::from_bytes(&sum.to_bytes()).unwrap(), sum);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = FloatSum::from_bytes(&bytes);
        }

        #[test]
        fn whole_numbers(n in any::<i64>()) {
            let mut sum = FloatSum::default();
            sum.add_int(n.into());
            prop_assert_eq!(sum.value(), Some(n as f64));
        }
    }

    #[test]
    fn infinities() {
        let inf = f64::INFINITY;
        assert_eq!(sum(&[1.0, inf]).value(), Some(inf));
        assert_eq!(sum(&[-inf, 1.0]).value(), Some(-inf));
        assert_eq!(sum(&[inf, -inf]).value(), None);
        let mut back = sum(&[inf, 2.5]);
        back.remove(inf);
        assert_eq!(back.value(), Some(2.5));
        assert_eq!(sum(&[f64::MAX, f64::MAX]).value(), None);
        assert_eq!(sum(&[f64::MAX, f64::MAX]).divided(2), Some(f64::MAX));
    }

    #[test]
    fn bytes_are_short() {
        assert_eq!(sum(&[]).to_bytes(), [0]);
        assert!(sum(&[19.99, 5.0]).to_bytes().len() <= 17);
    }
}
