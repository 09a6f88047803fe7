//! How large a structure gets: averages for the price, maxima for the limits.

use super::stats::Stats;
use super::target::Target;
use crate::model::{Expr, Model};
use crate::view::Structure;
use crate::view::typing::Scope;
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
    /// Bytes of the largest key.
    pub key_bytes_max: f64,
}

impl Sizes {
    /// The sizes that the model's volumes allow.
    pub fn of(model: &Model, s: &Structure) -> Sizes {
        let stats = Stats { model };
        let scope = Scope::new(model, s.anchor, &s.over);
        let rows = stats.rows(s);
        let partition: Vec<&crate::model::Expr> = s.partition.iter().collect();
        let per = stats.rows_per(s, &partition);
        let key = s.key().map(|e| stats.bytes(&scope, e));
        let (mut key_avg, mut key_max) = (0.0, 0.0);
        for b in key {
            key_avg += b.avg;
            key_max += b.max + 3.0;
        }
        let (mut row_avg, mut row_max) = (key_avg, key_max);
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
            over(
                "a key's bytes",
                self.key_bytes_max,
                Some(limits.key_bytes),
                "",
            ),
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
