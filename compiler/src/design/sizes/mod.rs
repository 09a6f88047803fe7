//! How large a structure gets and how hot: averages for the price, maxima for the limits.

mod blame;
mod divide;
mod finding;
mod heat;
mod judge;

pub use finding::{Finding, Subject};
pub(crate) use finding::{grouped, shown};
pub use heat::Heat;
pub(crate) use heat::{By, Flows, Thermometer, write_units};
pub(crate) use judge::findings;

use super::stats::Stats;
use super::target::{Columns, Contents, Target};
use crate::model::{Expr, Model};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure, key_size, stored_types};
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
    /// Stored values of the largest partition: those of columns outside the key.
    pub partition_values_max: f64,
    /// Bytes of the largest partition.
    pub partition_bytes_max: f64,
    /// Bytes of the largest row.
    pub row_bytes_max: f64,
    /// Bytes of the largest key that is accepted.
    pub key_bytes_max: f64,
    /// Elements of the largest collection in a row.
    pub collection_elements_max: f64,
    /// Bytes of the largest collection in a row.
    pub collection_bytes_max: f64,
    /// Rates of the hottest partition; none where the model has weights instead of rates.
    pub heat: Option<Heat>,
}

impl Sizes {
    /// The sizes that the model's volumes and the target's keys allow.
    pub fn of(model: &Model, target: &Target, s: &Structure, heat: Option<Heat>) -> Sizes {
        let stats = target.stats(model);
        let scope = Scope::new(model, s.anchor, &s.over);
        let rows = stats.rows(s);
        let partition: Vec<&Expr> = s.partition.iter().collect();
        let per = stats.rows_per(s, &partition);
        let rows_max = stats.largest(s).rows;
        let key_max = largest_key(model, s).min(target.limits.key_bytes);
        let mut row_max = key_max;
        // The row keeps what its key cuts off.
        for (_, e) in s.key().enumerate().filter(|(i, _)| s.is_hashed(*i)) {
            row_max += stats.bytes(&scope, e).max;
        }
        let columns = s.columns.iter();
        row_max += columns.map(|c| stats.bytes(&scope, c).max).sum::<f64>();
        let regular = regular(&stats, s);
        let usual = target.layout.extents(&contents(&stats, s, per, regular));
        let largest = target
            .layout
            .extents(&contents(&stats, s, rows_max, regular));
        let collections = s.columns.iter().map(|c| collection(&stats, &scope, c));
        let most = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
        let (elements, bytes) = collections.fold((0.0, 0.0), most);
        Sizes {
            rows,
            bytes: usual.bytes * rows / per.max(1e-9),
            partition_rows_max: rows_max,
            partition_values_max: largest.values,
            // Of many rows the usual ones, of few the largest one decides.
            partition_bytes_max: largest.bytes.max(alone(target, &regular, row_max)),
            row_bytes_max: row_max,
            key_bytes_max: key_max,
            collection_elements_max: elements,
            collection_bytes_max: bytes,
            heat,
        }
    }
}

/// Bytes of a partition that holds one row of so many, with what the target keeps beside its values.
fn alone(target: &Target, regular: &Columns, row: f64) -> f64 {
    row + target.layout.value_bytes * regular.count
}

/// The columns that a structure keeps beside its key, as far as they are settled.
pub(crate) fn regular(stats: &Stats, s: &Structure) -> Columns {
    let scope = Scope::new(stats.model, s.anchor, &s.over);
    // A group keeps the hidden count of its bindings.
    let hidden = match s.kind {
        Kind::Lists => 0.0,
        Kind::Groups => 1.0,
    };
    let columns = s.columns.iter().map(|c| stats.bytes(&scope, c).avg);
    Columns {
        count: s.columns.len() as f64 + hidden,
        bytes: columns.sum::<f64>() + 8.0 * hidden,
    }
}

/// A partition of so many rows. No structure has static columns.
pub(crate) fn contents(stats: &Stats, s: &Structure, rows: f64, regular: Columns) -> Contents {
    let scope = Scope::new(stats.model, s.anchor, &s.over);
    let bytes = |e: &Expr| stats.bytes(&scope, e).avg;
    Contents {
        rows,
        partition_key: s.partition.iter().map(bytes).sum(),
        statics: Columns::default(),
        clustering: s.clustering.iter().map(|(e, _)| bytes(e)).sum(),
        regular,
    }
}

/// Elements and bytes of a column's largest collection, both 0 where it has none.
fn collection(stats: &Stats, scope: &Scope, column: &Expr) -> (f64, f64) {
    let bytes = stats.bytes(scope, column).max;
    match stats.elements(scope, column) {
        0.0 => (0.0, 0.0),
        elements => (elements, bytes),
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
