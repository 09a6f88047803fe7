//! How large a structure gets: averages for the price, maxima for the limits.

use super::display::Printer;
use super::target::Target;
use crate::model::{Expr, Model, Type};
use crate::view::typing::Scope;
use crate::view::{Structure, key_size, stored_types};
use serde::{Deserialize, Serialize};

/// Sizes of a structure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// Rows.
    pub rows: f64,
    /// Bytes of keys and columns.
    pub bytes: f64,
    /// Rows of the largest partition.
    pub partition_rows_max: f64,
    /// Bytes of the largest partition.
    pub partition_bytes_max: f64,
    /// Bytes of the largest row.
    pub row_bytes_max: f64,
    /// Bytes of the largest key that is accepted.
    pub key_bytes_max: f64,
}

impl Sizes {
    /// The sizes that the model's volumes and the target's keys allow.
    pub fn of(model: &Model, target: &Target, s: &Structure) -> Sizes {
        let stats = target.stats(model);
        let scope = Scope::new(model, s.anchor, &s.over);
        let rows = stats.rows(s);
        let partition: Vec<&crate::model::Expr> = s.partition.iter().collect();
        let per = stats.rows_per(s, &partition);
        let key_avg: f64 = s.key().map(|e| stats.bytes(&scope, e).avg).sum();
        let key_max = largest_key(model, s).min(target.limits.key_bytes);
        let (mut row_avg, mut row_max) = (key_avg, key_max);
        // The row keeps what its key cuts off.
        for (_, e) in s.key().enumerate().filter(|(i, _)| s.is_hashed(*i)) {
            row_max += stats.bytes(&scope, e).max;
        }
        for c in &s.columns {
            let b = stats.bytes(&scope, c);
            row_avg += b.avg;
            row_max += b.max;
        }
        Sizes {
            rows,
            bytes: rows * row_avg,
            partition_rows_max: per.max,
            partition_bytes_max: per.max * row_avg,
            row_bytes_max: row_max,
            key_bytes_max: key_max,
        }
    }

    /// What the target cannot hold, in words.
    pub(crate) fn warnings(&self, model: &Model, target: &Target, s: &Structure) -> Vec<String> {
        let limits = &target.limits;
        let cause = partition_cause(model, s);
        let over = |what: &str, size: f64, limit: Option<f64>, cause: &str| {
            let limit = limit.filter(|l| size > *l)?;
            Some(format!(
                "{}: {what} may grow to {size:.0}, {} allows {limit:.0}{cause}",
                s.name, target.name
            ))
        };
        let found = [
            over(
                "a partition's rows",
                self.partition_rows_max,
                limits.partition_rows,
                &cause,
            ),
            over(
                "a partition's bytes",
                self.partition_bytes_max,
                limits.partition_bytes,
                &cause,
            ),
            over(
                "a row's bytes",
                self.row_bytes_max,
                Some(limits.row_bytes),
                "",
            ),
            (largest_key(model, s) > limits.key_bytes)
                .then(|| long_key(model, target, s))
                .flatten(),
        ];
        found.into_iter().flatten().collect()
    }
}

/// The number of the model that makes a partition so large, in words.
fn partition_cause(model: &Model, s: &Structure) -> String {
    let reference = s.partition.iter().find_map(|e| match e {
        Expr::Path { steps, .. } => steps.first(),
        _ => None,
    });
    match reference {
        Some(&r) => {
            let r = model.reference(r);
            format!(
                ", and neither buckets nor salts bring it down: {}.{} says (max {:.0})",
                model.entity(r.entity).name,
                r.name,
                r.max
            )
        }
        None => format!(
            ", and neither buckets nor salts bring it down: there are {:.0} of {}",
            model.root(s.anchor).count,
            model.entity(s.anchor).name
        ),
    }
}

/// The most bytes that a key may take; infinite where a part has no bound.
fn largest_key(model: &Model, s: &Structure) -> f64 {
    let parts = stored_types(model, s).key;
    let sizes = parts.iter().map(|p| key_size::largest(model, p));
    sizes
        .map(|size| size.map_or(f64::INFINITY, |n| n as f64))
        .sum()
}

/// What to say of a key that does not fit for certain: it will where the usual values do, and a
/// part of which the volumes expect longer ones deserves a bound.
fn long_key(model: &Model, target: &Target, s: &Structure) -> Option<String> {
    let (stats, limit) = (target.stats(model), target.limits.key_bytes);
    let scope = Scope::new(model, s.anchor, &s.over);
    let expected = |(i, e): (usize, &Expr)| {
        if s.is_hashed(i) {
            key_size::HASHED as f64
        } else {
            stats.bytes(&scope, e).max
        }
    };
    let sizes: Vec<f64> = s.key().enumerate().map(expected).collect();
    if sizes.iter().sum::<f64>() <= limit {
        return None;
    }
    let whole = s
        .key()
        .zip(&sizes)
        .enumerate()
        .filter(|(i, _)| !s.is_hashed(*i));
    let (_, (part, _)) = whole.max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b))?;
    let name = Printer::of_structure(model, s).expr(part);
    let advice = match scope.type_of(model, &[], part).0 {
        Type::Text(size) if size.max.is_none() => {
            format!("; bound it, as in text({:.0}, max 200)", size.avg)
        }
        Type::Blob(size) if size.max.is_none() => {
            format!("; bound it, as in blob({:.0}, max 200)", size.avg)
        }
        _ => String::new(),
    };
    Some(format!(
        "{}: a key of more than {limit:.0} bytes is refused, and `{name}`, which is kept in order, \
         may be that long{advice}",
        s.name
    ))
}
