//! Sums of decimals: exact, in any order, rounded once.

use super::fixed::Fixed;
use super::float_sum::SumBytesError;
use rust_decimal::Decimal;

const SCALE: u32 = 28;

/// An exact sum of decimals: a whole number of 10^-28, in 320 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecimalSum(Fixed<5>);

impl Default for DecimalSum {
    fn default() -> Self {
        DecimalSum(Fixed::ZERO)
    }
}

impl DecimalSum {
    /// Adds a decimal.
    pub fn add(&mut self, x: Decimal) {
        let mut term = Fixed::from_u128(x.mantissa().unsigned_abs());
        term.mul_power_of_ten(SCALE.saturating_sub(x.scale()));
        self.0.add(&if x.is_sign_negative() {
            term.negated()
        } else {
            term
        });
    }

    /// Takes out a decimal that was added.
    pub fn remove(&mut self, x: Decimal) {
        self.add(-x);
    }

    /// Adds a whole number.
    pub fn add_int(&mut self, n: i128) {
        let mut term = Fixed::from_u128(n.unsigned_abs());
        term.mul_power_of_ten(SCALE);
        self.0.add(&if n < 0 { term.negated() } else { term });
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &DecimalSum) {
        self.0.add(&other.0);
    }

    /// The sum, rounded once to what a decimal can hold; none where it is too large for one.
    pub fn value(&self) -> Option<Decimal> {
        self.divided(1)
    }

    /// The sum divided by a count, rounded once (ties to even); none where it is too large for a
    /// decimal and for a count of 0.
    pub fn divided(&self, count: u64) -> Option<Decimal> {
        if count == 0 {
            return None;
        }
        let (mut digits, negative) = self.0.magnitude();
        // One digit more than can be kept decides the rounding.
        digits.mul_small(10);
        let mut scale = SCALE + 1;
        let mut below = digits.div_small(count) != 0;
        let mut last = 0;
        while scale > SCALE || digits.highest_bit().is_some_and(|bit| bit >= 96) {
            scale = scale.checked_sub(1)?;
            below |= last != 0;
            last = digits.div_small(10);
        }
        let mut mantissa = digits.to_u128()?;
        if last > 5 || (last == 5 && (below || mantissa & 1 == 1)) {
            mantissa += 1;
        }
        if mantissa >> 96 != 0 {
            // Rounded up to exactly 2^96, which ends in 6 (…950336).
            scale = scale.checked_sub(1)?;
            mantissa = mantissa / 10 + 1;
        }
        let signed = mantissa as i128 * if negative { -1 } else { 1 };
        Decimal::try_from_i128_with_scale(signed, scale)
            .ok()
            .map(|sum| sum.normalize())
    }

    /// The sum as bytes: equal sums give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (zeros, mut bytes) = self.0.to_bytes();
        bytes.insert(0, zeros);
        bytes
    }

    /// The reverse of [`DecimalSum::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<DecimalSum, SumBytesError> {
        bytes
            .split_first()
            .and_then(|(&zeros, rest)| Fixed::from_bytes(zeros, rest))
            .map(DecimalSum)
            .ok_or_else(|| SumBytesError::of(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    fn decimals() -> impl Strategy<Value = Vec<Decimal>> {
        let limit = (1i128 << 96) - 1;
        let wide = (-limit..=limit, 0u32..=28);
        let usual = (-1_000_000i128..1_000_000, 0u32..4);
        prop::collection::vec(
            prop_oneof![1 => wide, 3 => usual]
                .prop_map(|(m, s)| Decimal::from_i128_with_scale(m, s).normalize()),
            0..12,
        )
    }

    fn sum(xs: &[Decimal]) -> DecimalSum {
        let mut sum = DecimalSum::default();
        for &x in xs {
            sum.add(x);
        }
        sum
    }

    /// The exact sum in units of 10^-28.
    fn exact(xs: &[Decimal]) -> BigInt {
        xs.iter()
            .map(|x| BigInt::from(x.mantissa()) * BigInt::from(10u8).pow(28 - x.scale()))
            .sum()
    }

    proptest! {
        #[test]
        fn a_quotient_is_within_half_a_unit(xs in decimals(), count in 1u64..20) {
            let exact = exact(&xs);
            let ten = |n: u32| BigInt::from(10u8).pow(n);
            let size = BigInt::from(exact.magnitude().clone());
            match sum(&xs).divided(count) {
                // Half a unit below 2^96 is where whole numbers no longer fit.
                None => prop_assert!(size * 2 >= ((BigInt::from(2u8) << 96) - 1) * ten(28) * count),
                Some(got) => {
                    let units: BigInt = BigInt::from(got.mantissa()) * ten(28 - got.scale());
                    let error = exact - units * count;
                    // The unit of the last place that a decimal of this size can have.
                    let mut unit = BigInt::from(count);
                    while &size / &unit >= BigInt::from(1u8) << 96 {
                        unit *= 10;
                    }
                    prop_assert!(error.magnitude() * 2u8 <= *unit.magnitude(), "{got} for {xs:?}");
                }
            }
        }

        #[test]
        fn order_and_removal(xs in decimals(), ys in decimals()) {
            let mut both = sum(&xs);
            both.merge(&sum(&ys));
            let all: Vec<_> = ys.iter().chain(&xs).copied().collect();
            prop_assert_eq!(&both, &sum(&all));
            prop_assert_eq!(&DecimalSum::from_bytes(&both.to_bytes()).unwrap(), &both);
            for &y in &ys { both.remove(y); }
            prop_assert_eq!(both, sum(&xs));
        }
    }

    #[test]
    fn what_a_decimal_cannot_hold() {
        assert_eq!(sum(&[Decimal::MAX, Decimal::ONE]).value(), None);
        let mut back = sum(&[Decimal::MAX, Decimal::ONE]);
        back.remove(Decimal::ONE);
        assert_eq!(back.value(), Some(Decimal::MAX));
        assert_eq!(
            sum(&[Decimal::ONE]).divided(3).unwrap().to_string(),
            "0.3333333333333333333333333333"
        );
    }
}
