//! The facts of a load, on disk: fact rows by key, and who refers to whom.

use crate::Error;
use crate::facts::FactError;
use crate::key::KeyError;
use crate::layout::Layout;
use crate::recompute::ReferrerIndex;
use crate::row::{RowError, decode_values, encode_values};
use crate::schema::Schema;
use crate::store::lmdb::{LmdbReader, LmdbSnapshot};
use crate::verify::StoredRows;
use querent_compiler::design::StructureId;
use querent_compiler::model::{EntityId, Model, ReferenceId};
use querent_compiler::value::Value;
use querent_compiler::view::facts::{Facts, Key};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// So many rows are remembered.
const REMEMBERED: usize = 20_000;

/// Where a fact row came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The database.
    Database,
    /// A line of one of the files.
    File(u32, u64),
}

/// A fact row with its origin, as bytes.
pub(super) fn encode(origin: Origin, row: &[Value]) -> Vec<u8> {
    let (file, line) = match origin {
        Origin::Database => (-1, 0),
        Origin::File(file, line) => (i64::from(file), line as i64),
    };
    let mut out = Vec::new();
    encode_values(
        &[
            Value::Int(file),
            Value::Int(line),
            Value::Record(row.to_vec()),
        ],
        &mut out,
    );
    out
}

/// The reverse of [`encode`].
pub(super) fn decode(bytes: &[u8]) -> Result<(Origin, Vec<Value>), FactError> {
    let damaged = |source| FactError::Row {
        structure: "the loaded facts".into(),
        source,
    };
    let mut values = decode_values(bytes).map_err(damaged)?.into_iter();
    match (values.next(), values.next(), values.next()) {
        (Some(Value::Int(-1)), _, Some(Value::Record(row))) => Ok((Origin::Database, row)),
        (Some(Value::Int(file)), Some(Value::Int(line)), Some(Value::Record(row))) => {
            Ok((Origin::File(file as u32, line as u64), row))
        }
        _ => Err(damaged(RowError::Value("no fact row"))),
    }
}

/// The keys of fact rows: by root, in the order of the model.
pub(super) struct KeyLayouts {
    layouts: BTreeMap<EntityId, (StructureId, Layout)>,
}

impl KeyLayouts {
    pub(super) fn new(model: &Model) -> KeyLayouts {
        use querent_compiler::model::Direction;
        let roots = model.roots().enumerate();
        let layouts = roots.map(|(id, root)| {
            let parts = model
                .key_leaves(root)
                .into_iter()
                .map(|leaf| crate::layout::KeyPart {
                    ty: model.attribute(leaf.attribute).ty.clone(),
                    optional: false,
                    direction: Direction::Asc,
                    // Fact rows are found by their whole key, which they contain.
                    hashed: true,
                });
            (
                root,
                (id as StructureId, Layout::new(parts.collect(), vec![])),
            )
        });
        KeyLayouts {
            layouts: layouts.collect(),
        }
    }

    /// Where fact rows of a root are kept.
    pub(super) fn structure(&self, root: EntityId) -> StructureId {
        self.layouts.get(&root).map_or(0, |(id, _)| *id)
    }

    /// Where those of a root are kept that are gone.
    pub(super) fn gone(&self, root: EntityId) -> StructureId {
        self.structure(root) + self.layouts.len() as StructureId
    }

    pub(super) fn encode(&self, root: EntityId, key: &[Value]) -> Result<Vec<u8>, String> {
        let Some((_, layout)) = self.layouts.get(&root) else {
            return Ok(vec![]);
        };
        layout.encode_key(key).map_err(|e: KeyError| e.to_string())
    }
}

/// The facts of a load.
pub(super) struct LoadFacts<'a> {
    pub(super) schema: &'a Schema,
    pub(super) keys: &'a KeyLayouts,
    pub(super) snapshot: &'a LmdbSnapshot,
    pub(super) referrers: Option<&'a ReferrerIndex>,
    known: RefCell<BTreeMap<(EntityId, Key), Option<Rc<Vec<Value>>>>>,
}

impl<'a> LoadFacts<'a> {
    pub(super) fn new(
        schema: &'a Schema,
        keys: &'a KeyLayouts,
        snapshot: &'a LmdbSnapshot,
        referrers: Option<&'a ReferrerIndex>,
    ) -> Self {
        LoadFacts {
            schema,
            keys,
            snapshot,
            referrers,
            known: RefCell::default(),
        }
    }

    /// All fact rows of a root, by key.
    pub(super) fn all(&self, root: EntityId) -> Result<StoredRows<LmdbReader<'a>>, Error> {
        StoredRows::new(&self.snapshot.reader(), self.keys.structure(root))
    }

    /// Remembers a row that was read already.
    pub(super) fn remember(&self, root: EntityId, key: &[Value], row: Vec<Value>) {
        let mut known = self.known.borrow_mut();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert((root, key.to_vec()), Some(Rc::new(row)));
    }

    /// The fact row of an instance.
    pub(super) fn row(
        &self,
        root: EntityId,
        key: &[Value],
    ) -> Result<Option<Rc<Vec<Value>>>, FactError> {
        let at = (root, key.to_vec());
        if let Some(row) = self.known.borrow().get(&at) {
            return Ok(row.clone());
        }
        // A key that cannot be encoded is that of no instance.
        let Ok(place) = self.keys.encode(root, key) else {
            return Ok(None);
        };
        let found = self
            .snapshot
            .reader()
            .row(self.keys.structure(root), &place)?;
        let row = match found {
            Some(bytes) => Some(Rc::new(decode(bytes)?.1)),
            None => None,
        };
        let mut known = self.known.borrow_mut();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(at, row.clone());
        Ok(row)
    }
}

impl LoadFacts<'_> {
    /// Where the row of an instance that is not there was rejected.
    pub(super) fn gone(&self, root: EntityId, key: &[Value]) -> Result<Option<Origin>, FactError> {
        let Ok(place) = self.keys.encode(root, key) else {
            return Ok(None);
        };
        let found = self.snapshot.reader().row(self.keys.gone(root), &place)?;
        Ok(match found {
            Some(bytes) => Some(decode(bytes)?.0),
            None => None,
        })
    }
}

impl Facts for LoadFacts<'_> {
    type Error = FactError;

    fn exists(&self, entity: EntityId, key: &[Value]) -> Result<bool, FactError> {
        Ok(self.row(entity, key)?.is_some())
    }

    fn value(&self, entity: EntityId, key: &[Value], slot: usize) -> Result<Value, FactError> {
        Ok(self
            .row(entity, key)?
            .and_then(|row| row.get(slot).cloned())
            .unwrap_or_default())
    }

    fn referrers(&self, reference: ReferenceId, target: &[Value]) -> Result<Vec<Key>, FactError> {
        self.referrers
            .map_or(Ok(vec![]), |index| index.of(reference, target))
    }
}
