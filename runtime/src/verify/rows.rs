//! The stored rows of a structure, one by one.

use super::finding::Namer;
use crate::Error;
use crate::facts::FactError;
use crate::store::{Batch, Fill, Keys, Read, Reader, Source};
use querent_compiler::design::StructureId;
use querent_compiler::value::Value;
use querent_compiler::view::facts::Key;

/// All rows of a structure, by key.
pub(crate) struct StoredRows<R: Reader> {
    source: R::S,
    batch: Batch<R::B>,
}

impl<R: Reader> StoredRows<R> {
    pub(crate) fn new(reader: &R, structure: StructureId) -> Result<Self, Error> {
        let keys = Keys::Range {
            lower: vec![],
            upper: None,
        };
        let source = reader.open(&Read {
            structure,
            keys,
            reverse: false,
            limit: None,
        })?;
        Ok(StoredRows {
            source,
            batch: Batch::default(),
        })
    }

    /// The next row.
    pub(crate) fn next(&mut self) -> Result<Option<(R::B, R::B)>, Error> {
        if self.batch.rows.is_empty() {
            match self.source.fill(256, &mut self.batch)? {
                Fill::Rows => self.batch.rows.reverse(),
                Fill::End => return Ok(None),
                Fill::Wait => return Err(FactError::Wait.into()),
            }
        }
        Ok(self.batch.rows.pop())
    }
}

/// Hands out the key of every instance that a home names.
pub(super) fn each_anchor<R: Reader>(
    reader: &R,
    home: StructureId,
    namer: &Namer<'_>,
    mut each: impl FnMut(Key) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rows = StoredRows::new(reader, home)?;
    while let Some((key, row)) = rows.next()? {
        let anchor = namer.anchor_of(&key, &row);
        if let Some(anchor) = anchor.filter(|key| !key.iter().any(Value::is_null)) {
            each(anchor)?;
        }
    }
    Ok(())
}
