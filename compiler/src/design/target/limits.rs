//! What a target can hold and serve, as data.

use super::layout::Extents;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Limits; none where the target states none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Rows of a partition.
    pub partition_rows: Option<f64>,
    /// Stored values of a partition.
    pub partition_values: Option<f64>,
    /// Bytes of a partition.
    pub partition_bytes: Option<f64>,
    /// Reads of one partition.
    pub partition_reads: Option<Throughput>,
    /// Rows written to one partition.
    pub partition_writes: Option<Throughput>,
    /// Bytes of a row (of a document, of an item).
    pub row_bytes: f64,
    /// Elements of a collection that is kept in a row.
    pub collection_elements: Option<f64>,
    /// Bytes of a key.
    pub key_bytes: f64,
    /// Bytes of the partition parts of a key together.
    #[serde(default)]
    pub partition_key_bytes: Option<f64>,
    /// Bytes of the clustering parts of a key together.
    #[serde(default)]
    pub clustering_bytes: Option<f64>,
    /// Structures of a design.
    pub structures: usize,
}

/// How much of something is done in a second, at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throughput {
    /// Units a second.
    pub per_second: f64,
    /// Bytes that one unit reads or writes; none: one unit for each, however large.
    pub unit_bytes: Option<f64>,
}

impl Throughput {
    /// The units that one read or write of so many bytes takes.
    pub fn units(&self, bytes: f64) -> f64 {
        self.unit_bytes
            .map_or(1.0, |unit| (bytes / unit).ceil().max(1.0))
    }
}

impl Limits {
    /// Whether anything is stated of partitions that a design could break while it is made.
    pub(crate) fn of_partitions(&self) -> bool {
        let sizes = [
            self.partition_rows,
            self.partition_values,
            self.partition_bytes,
        ];
        sizes.iter().any(Option::is_some) || self.partition_writes.is_some()
    }

    /// Whether a partition fills no more than that of the limits of sizes.
    pub(crate) fn hold(&self, rows: f64, extents: Extents, fill: f64) -> bool {
        let within = |size: f64, limit: Option<f64>| limit.is_none_or(|l| size <= l * fill);
        within(rows, self.partition_rows)
            && within(extents.values, self.partition_values)
            && within(extents.bytes, self.partition_bytes)
    }

    /// What may be no longer than so many bytes of a key: its name, the parts, and how long they may
    /// be together. The key has `parts` parts, of which so many tell the partition.
    pub(crate) fn of_keys(
        &self,
        partition: usize,
        parts: usize,
    ) -> impl Iterator<Item = (&'static str, Range<usize>, f64)> {
        let stated = [
            ("key", 0..parts, Some(self.key_bytes)),
            ("partition key", 0..partition, self.partition_key_bytes),
            ("clustering key", partition..parts, self.clustering_bytes),
        ];
        let limit = |(name, range, limit): (_, _, Option<f64>)| Some((name, range, limit?));
        stated.into_iter().filter_map(limit)
    }

    /// The same target without limits on its partitions: to compare with designs that know of
    /// none.
    #[must_use]
    pub fn without_partitions(self) -> Limits {
        Limits {
            partition_rows: None,
            partition_values: None,
            partition_bytes: None,
            partition_reads: None,
            partition_writes: None,
            ..self
        }
    }
}
