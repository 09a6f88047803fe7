//! How many values and bytes a partition takes. One formula, whose coefficients are the target's.

use serde::{Deserialize, Serialize};

/// The coefficients of a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Every row has the partition key; else it is stored once.
    pub partition_key_in_rows: bool,
    /// Bytes beside each stored value: a time stamp, a field's name.
    pub value_bytes: f64,
}

/// What a partition holds: bytes are those of the values alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contents {
    /// Rows.
    pub rows: f64,
    /// Bytes of the partition key.
    pub partition_key: f64,
    /// Columns that the rows share.
    pub statics: Columns,
    /// Bytes of a row's clustering key.
    pub clustering: f64,
    /// The other columns of a row.
    pub regular: Columns,
}

/// Some columns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Columns {
    /// How many.
    pub count: f64,
    /// Bytes of all of them.
    pub bytes: f64,
}

/// What that takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extents {
    /// Stored values: those of columns outside the key.
    pub values: f64,
    /// Bytes.
    pub bytes: f64,
}

impl Layout {
    /// The values and bytes of a partition.
    ///
    /// For wide rows this is the practitioners' formula: `values = rows × regular + static` and
    /// `bytes = partition key + static + rows × (clustering + regular) + 8 × values`.
    pub fn extents(&self, of: &Contents) -> Extents {
        let values = of.rows * of.regular.count + of.statics.count;
        let keys = if self.partition_key_in_rows {
            of.rows
        } else {
            1.0
        };
        let rows = of.rows * (of.clustering + of.regular.bytes);
        Extents {
            values,
            bytes: keys * of.partition_key + of.statics.bytes + rows + self.value_bytes * values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WIDE: Layout = Layout {
        partition_key_in_rows: false,
        value_bytes: 8.0,
    };

    /// Writes a partition out, value by value.
    fn counted(layout: &Layout, key: &[u8], statics: &[Vec<u8>], rows: &[Row]) -> (usize, usize) {
        let (mut values, mut bytes) = (0, 0);
        if !layout.partition_key_in_rows {
            bytes += key.len();
        }
        let mut store = |cell: &Vec<u8>| {
            values += 1;
            cell.len() + layout.value_bytes as usize
        };
        bytes += statics.iter().map(&mut store).sum::<usize>();
        for (clustering, regular) in rows {
            if layout.partition_key_in_rows {
                bytes += key.len();
            }
            bytes += clustering.len() + regular.iter().map(&mut store).sum::<usize>();
        }
        (values, bytes)
    }

    type Row = (Vec<u8>, Vec<Vec<u8>>);

    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..most)
    }

    proptest! {
        #[test]
        fn the_formula_is_the_count_of_a_partition_written_out(
            key in bytes(20),
            statics in prop::collection::vec(bytes(9), 0..4),
            rows in (0usize..5).prop_flat_map(|columns| {
                prop::collection::vec((bytes(12), prop::collection::vec(bytes(30), columns)), 1..40)
            }),
            partition_key_in_rows: bool,
            value_bytes in 0u8..12,
        ) {
            let layout = Layout { partition_key_in_rows, value_bytes: f64::from(value_bytes) };
            let size = |cells: &[Vec<u8>]| cells.iter().map(Vec::len).sum::<usize>() as f64;
            let all = rows.len() as f64;
            let contents = Contents {
                rows: all,
                partition_key: key.len() as f64,
                statics: Columns { count: statics.len() as f64, bytes: size(&statics) },
                clustering: rows.iter().map(|r| r.0.len() as f64).sum::<f64>() / all,
                regular: Columns {
                    count: rows.iter().map(|r| r.1.len() as f64).sum::<f64>() / all,
                    bytes: rows.iter().map(|r| size(&r.1)).sum::<f64>() / all,
                },
            };
            let found = layout.extents(&contents);
            let (values, bytes) = counted(&layout, &key, &statics, &rows);
            prop_assert!((found.values - values as f64).abs() < 1e-6);
            prop_assert!((found.bytes - bytes as f64).abs() < 1e-6);
        }
    }

    /// Rooms by hotel and day: 4 columns, 3 of them key, none static, 100 rooms for two years.
    #[test]
    fn a_published_example() {
        let rooms = Contents {
            rows: 73_000.0,
            partition_key: 16.0,
            statics: Columns::default(),
            clustering: 4.0 + 2.0,
            regular: Columns {
                count: 1.0,
                bytes: 1.0,
            },
        };
        let found = WIDE.extents(&rooms);
        assert_eq!((found.values, found.bytes), (73_000.0, 1_095_016.0));
    }
}
