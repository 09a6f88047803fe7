//! The facts of a database, read through the access paths of its design.

mod overlay;

pub use overlay::{Overlay, Place};

use crate::change::Totals;
use crate::key::KeyError;
use crate::row::RowError;
use crate::schema::Schema;
use crate::store::{Batch, Fill, Keys, Read, Reader, Source, StoreError};
use querent_compiler::design::StructureId;
use querent_compiler::model::{EntityId, Field, Model, ReferenceId};
use querent_compiler::value::Value;
use querent_compiler::view::Structure;
use querent_compiler::view::eval::{Binding, Eval};
use querent_compiler::view::facts::{Facts, Key, MemoryFacts, key_slot_value};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Why a fact cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FactError {
    /// The store asked to be waited for: call again when it is ready.
    #[error("the store is not ready")]
    Wait,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A value that no key can hold.
    #[error("{structure}: {source}")]
    Key {
        /// Structure.
        structure: String,
        /// Reason.
        source: KeyError,
    },
    /// A stored row cannot be read.
    #[error("a damaged row in {structure}: {source}; run verify with repair")]
    Row {
        /// Structure.
        structure: String,
        /// Reason.
        source: RowError,
    },
}

type Stored = Option<Rc<Vec<Value>>>;

/// Facts in a store. Everything read is remembered: a fact is read once per change.
pub struct StoreFacts<'s, R> {
    schema: &'s Schema,
    reader: &'s R,
    /// Rows of structures keyed by their anchor's key: (structure, key) to key parts and columns.
    rows: RefCell<BTreeMap<(StructureId, Key), Stored>>,
    referrers: RefCell<BTreeMap<(ReferenceId, Key), Rc<Vec<Key>>>>,
    reads: Cell<u64>,
}

impl<'s, R: Reader> StoreFacts<'s, R> {
    /// Facts as a reader sees them.
    pub fn new(schema: &'s Schema, reader: &'s R) -> Self {
        StoreFacts {
            schema,
            reader,
            rows: RefCell::default(),
            referrers: RefCell::default(),
            reads: Cell::new(0),
        }
    }

    /// How many gets were made.
    pub fn reads(&self) -> u64 {
        self.reads.get()
    }

    /// All slots of an instance; none where it does not exist.
    pub fn row(&self, entity: EntityId, key: &[Value]) -> Result<Option<Vec<Value>>, FactError> {
        if !self.exists(entity, key)? {
            return Ok(None);
        }
        let fields = self.schema.model.root(entity).fields.len();
        let slots =
            (0..fields).map(
                |slot| match key_slot_value(&self.schema.model, entity, key, slot) {
                    Some(value) => Ok(value),
                    None => self.value(entity, key, slot),
                },
            );
        slots.collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// The keys of all instances, in the order of a home.
    pub fn all(&self, entity: EntityId) -> Result<Vec<Key>, FactError> {
        let Some(home) = self.home(entity) else {
            return Ok(vec![]);
        };
        let paths = querent_compiler::design::key_paths(&self.schema.model, entity);
        let structure = self.structure(home)?;
        let positions: Vec<usize> = paths
            .iter()
            .filter_map(|p| structure.key().position(|e| e == p))
            .collect();
        let mut keys = Vec::new();
        self.scan(
            home,
            Keys::Range {
                lower: vec![],
                upper: None,
            },
            |parts, _| {
                keys.push(pick(parts, &positions));
            },
        )?;
        Ok(keys)
    }

    /// The owners of a unique attribute's value.
    pub(crate) fn owners(
        &self,
        entity: EntityId,
        attribute: querent_compiler::model::AttributeId,
        value: &Value,
    ) -> Result<Vec<Key>, FactError> {
        let Some((structure, positions)) = self.schema.access.unique.get(&attribute) else {
            // No index: look at everybody.
            let slot = self
                .schema
                .model
                .slot(entity, Field::Attribute(attribute))
                .unwrap_or_default();
            let mut owners = Vec::new();
            for key in self.all(entity)? {
                if self.value(entity, &key, slot)? == *value {
                    owners.push(key);
                }
            }
            return Ok(owners);
        };
        let lower = self.encode(*structure, std::slice::from_ref(value))?;
        let upper = crate::key::successor(&lower);
        let mut owners = Vec::new();
        self.scan(*structure, Keys::Range { lower, upper }, |parts, _| {
            owners.push(pick(parts, positions));
        })?;
        Ok(owners)
    }

    /// The last number that a sequence gave.
    pub(crate) fn sequence(&self, key: &[Value; 2]) -> Result<i64, FactError> {
        let structure = self.schema.sequences();
        let encoded = self.encode(structure, key)?;
        let mut last = 0;
        self.scan(structure, Keys::Point(encoded), |_, columns| {
            if let Some(Value::Int(n)) = columns.first() {
                last = *n;
            }
        })?;
        Ok(last)
    }

    /// How many instances each sub-partition of a popular key holds.
    pub(crate) fn totals(
        &self,
        number: querent_compiler::model::AttributeId,
        shared: &[Value],
    ) -> Result<Totals, FactError> {
        let mut totals = Totals::default();
        let Some(&structure) = self.schema.access.totals.get(&number) else {
            return Ok(totals);
        };
        let lower = self.encode(structure, shared)?;
        let upper = crate::key::successor(&lower);
        self.scan(structure, Keys::Range { lower, upper }, |parts, columns| {
            if let (Some(Value::Int(number)), Some(Value::Int(held))) =
                (parts.last(), columns.last())
            {
                totals.count(*number, u64::try_from(*held).unwrap_or(0));
            }
        })?;
        Ok(totals)
    }

    /// The stored columns of a row, by its key parts.
    pub(crate) fn stored(
        &self,
        structure: StructureId,
        key: &[Value],
    ) -> Result<Option<Vec<Value>>, FactError> {
        let encoded = self.encode(structure, key)?;
        let mut found = None;
        self.scan(structure, Keys::Point(encoded), |_, columns| {
            found = Some(columns);
        })?;
        Ok(found)
    }

    fn home(&self, entity: EntityId) -> Option<StructureId> {
        self.schema
            .access
            .homes
            .get(&entity)
            .and_then(|h| h.first())
            .copied()
    }

    fn structure(&self, id: StructureId) -> Result<&'s Structure, FactError> {
        self.schema
            .design
            .structures
            .get(id as usize)
            .ok_or_else(|| {
                let structures = self.schema.design.structures.len();
                FactError::Store(StoreError::NoStructure {
                    structure: id,
                    structures,
                })
            })
    }

    fn name(&self, id: StructureId) -> String {
        self.structure(id)
            .map_or_else(|_| "_sequences".into(), |s| s.name.clone())
    }

    fn encode(&self, structure: StructureId, values: &[Value]) -> Result<Vec<u8>, FactError> {
        let Some(layout) = self.schema.layouts.get(structure as usize) else {
            return Ok(vec![]);
        };
        layout.encode_key(values).map_err(|source| FactError::Key {
            structure: self.name(structure),
            source,
        })
    }

    /// Reads rows decoded: key parts, columns.
    fn scan(
        &self,
        structure: StructureId,
        keys: Keys,
        mut each: impl FnMut(&[Value], Vec<Value>),
    ) -> Result<(), FactError> {
        let Some(layout) = self.schema.layouts.get(structure as usize) else {
            return Ok(());
        };
        self.reads.set(self.reads.get() + 1);
        let mut source = self.reader.open(&Read {
            structure,
            keys,
            reverse: false,
            limit: None,
        })?;
        let mut batch = Batch::default();
        loop {
            match source.fill(256, &mut batch)? {
                Fill::End => return Ok(()),
                Fill::Wait => return Err(FactError::Wait),
                Fill::Rows => {}
            }
            for (key, row) in batch.rows.drain(..) {
                let damaged = |source| FactError::Row {
                    structure: self.name(structure),
                    source,
                };
                let parts = layout.decode_key(&key, &row).map_err(damaged)?;
                let columns = layout.decode_row(&row).map_err(damaged)?;
                each(&parts, columns);
            }
        }
    }

    /// The row of a structure keyed by its anchor's own key.
    fn by_key(
        &self,
        structure: StructureId,
        entity: EntityId,
        key: &[Value],
    ) -> Result<Stored, FactError> {
        let at = (structure, key.to_vec());
        if let Some(known) = self.rows.borrow().get(&at) {
            return Ok(known.clone());
        }
        let parts = home_key(&self.schema.model, self.structure(structure)?, entity, key);
        let encoded = self.encode(structure, &parts)?;
        let mut found = None;
        self.scan(structure, Keys::Point(encoded), |parts, columns| {
            let mut values = parts.to_vec();
            values.extend(columns);
            found = Some(Rc::new(values));
        })?;
        self.rows.borrow_mut().insert(at, found.clone());
        Ok(found)
    }
}

/// The key parts of an instance in a structure keyed by its anchor's own key: scalars of the key,
/// and functions of them.
pub(crate) fn home_key(
    model: &Model,
    s: &Structure,
    entity: EntityId,
    key: &[Value],
) -> Vec<Value> {
    // Only the key itself is read, which needs no facts.
    let nothing = MemoryFacts::default();
    let eval = Eval::new(model, &nothing, &[]);
    let scope = [Binding::Instance(entity, Rc::new(key.to_vec()))];
    s.key()
        .map(|e| {
            let Ok(value) = eval.expr(&scope, e);
            value
        })
        .collect()
}

fn pick(values: &[Value], positions: &[usize]) -> Key {
    positions
        .iter()
        .map(|&p| values.get(p).cloned().unwrap_or_default())
        .collect()
}

impl<R: Reader> Facts for StoreFacts<'_, R> {
    type Error = FactError;

    fn exists(&self, entity: EntityId, key: &[Value]) -> Result<bool, FactError> {
        match self.home(entity) {
            Some(home) if !key.iter().any(Value::is_null) => {
                Ok(self.by_key(home, entity, key)?.is_some())
            }
            _ => Ok(false),
        }
    }

    fn value(&self, entity: EntityId, key: &[Value], slot: usize) -> Result<Value, FactError> {
        let Some(path) = self.schema.access.slots.get(&(entity, slot)) else {
            return Ok(Value::Null);
        };
        let Some(row) = self.by_key(path.structure, entity, key)? else {
            return Ok(Value::Null);
        };
        let values = pick(&row, &path.columns);
        let field = self.schema.model.root(entity).fields.get(slot);
        Ok(match field {
            Some(Field::Reference(_)) if values.iter().any(Value::is_null) => Value::Null,
            Some(Field::Reference(_)) => Value::Key(values),
            _ => values.into_iter().next().unwrap_or_default(),
        })
    }

    fn referrers(&self, reference: ReferenceId, target: &[Value]) -> Result<Vec<Key>, FactError> {
        let at = (reference, target.to_vec());
        if let Some(known) = self.referrers.borrow().get(&at) {
            return Ok((**known).clone());
        }
        let mut found = Vec::new();
        if let Some(path) = self.schema.access.referrers.get(&reference) {
            let prefix = pick(target, &path.prefix);
            let lower = self.encode(path.structure, &prefix)?;
            let upper = crate::key::successor(&lower);
            self.scan(path.structure, Keys::Range { lower, upper }, |parts, _| {
                found.push(pick(parts, &path.key));
            })?;
        } else {
            let model = &self.schema.model;
            let entity = model.entity(model.reference(reference).entity).root;
            if let Some(slot) = model.slot(entity, Field::Reference(reference)) {
                for key in self.all(entity)? {
                    let value =
                        querent_compiler::view::facts::slot_value(model, self, entity, &key, slot)?;
                    if matches!(&value, Value::Key(k) if k == target) {
                        found.push(key);
                    }
                }
            }
        }
        found.sort();
        self.referrers
            .borrow_mut()
            .insert(at, Rc::new(found.clone()));
        Ok(found)
    }
}
