//! One structure against what follows from the homes.

use super::facts::{Audited, Damage};
use super::finding::{Namer, hex};
use super::rows::each_anchor;
use super::{ANCHORS_PER_MEMORY, Each, Finding, FindingKind, Found, Mend, StoredRows, is_damage};
use crate::Error;
use crate::facts::StoreFacts;
use crate::layout::Layout;
use crate::recompute::{Collector, ReferrerIndex};
use crate::schema::Schema;
use crate::store::Reader;
use querent_compiler::design::StructureId;
use querent_compiler::model::EntityId;
use querent_compiler::view::Kind;
use querent_compiler::view::facts::Key;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;

/// What comparing needs.
pub(super) struct Audit<'a, R> {
    pub(super) schema: &'a Schema,
    pub(super) reader: &'a R,
    pub(super) damage: &'a Damage,
    pub(super) referrers: &'a ReferrerIndex,
    pub(super) folder: &'a Path,
    pub(super) memory: usize,
}

/// One structure under comparison.
struct Compared<'a> {
    id: StructureId,
    namer: Namer<'a>,
    layout: &'a Layout,
    /// The first home of its entity, whose rows were looked at already.
    first_home: bool,
    /// Keyed by its anchor's own key.
    identity: bool,
    /// Anchors of which it is not known what they contribute.
    blocked: BTreeSet<Key>,
    /// A row may belong to an anchor whose name cannot be read.
    nameless: bool,
}

impl<R: Reader> Audit<'_, R> {
    /// Compares a structure; gives the number of its rows.
    pub(super) fn structure(&self, id: StructureId, each: Each<'_>) -> Result<u64, Error> {
        let schema = self.schema;
        let found = schema
            .design
            .structures
            .get(usize::from(id))
            .zip(schema.layouts.get(usize::from(id)));
        let (Some((structure, layout)), Some(namer)) = (found, Namer::new(schema, id)) else {
            return Ok(0);
        };
        let root = schema.model.entity(structure.anchor).root;
        let homes = schema
            .access
            .homes
            .get(&root)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let Some(&home) = homes.first() else {
            return unchecked(
                &structure.name,
                "its entity has no home in this design",
                each,
            );
        };
        if let Some(entity) = self.hidden(id) {
            let why = format!("{} has damaged home rows", schema.model.entity(entity).name);
            return unchecked(&structure.name, &why, each);
        }
        let mut collector = Collector::new(schema, id, self.folder, self.memory)?;
        let blocked = self.collect(root, home, &mut collector)?;
        let nameless = self.damage.nameless.contains(&root);
        if structure.kind == Kind::Groups && (nameless || !blocked.is_empty()) {
            return unchecked(
                &structure.name,
                "it counts instances whose home rows are damaged",
                each,
            );
        }
        let (first_home, identity) = (home == id, homes.contains(&id));
        let compared = Compared {
            id,
            namer,
            layout,
            first_home,
            identity,
            blocked,
            nameless,
        };
        let mut expected = collector.finish()?;
        let mut stored = StoredRows::new(self.reader, id)?;
        let (mut want, mut have) = (expected.next()?, stored.next()?);
        let mut rows = 0;
        loop {
            let order = match (&want, &have) {
                (None, None) => return Ok(rows),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((want, _)), Some((have, _))) => want.as_slice().cmp(have),
            };
            let wanted = if order == Ordering::Greater {
                None
            } else {
                want.take()
            };
            let had = if order == Ordering::Less {
                None
            } else {
                have.take()
            };
            rows += u64::from(had.is_some());
            match (&wanted, &had) {
                (Some((key, row)), Some((_, found))) if **row != **found => {
                    compared.differs(key, row, found, each)?;
                }
                (Some((key, row)), None) => {
                    let mend = Mend {
                        structure: id,
                        key: key.clone(),
                        found: None,
                        row: Some(row.clone()),
                    };
                    each(Found {
                        finding: compared.namer.finding(FindingKind::Missing, key, row),
                        mend: Some(mend),
                    })?;
                }
                (None, Some((key, found))) => compared.unexpected(key, found, each)?,
                _ => {}
            }
            if wanted.is_some() {
                want = expected.next()?;
            }
            if had.is_some() {
                have = stored.next()?;
            }
        }
    }

    /// An entity with damage whose instances the structure finds by walking back to them: which
    /// of them are out of sight is not known.
    fn hidden(&self, id: StructureId) -> Option<EntityId> {
        let model = &self.schema.model;
        let walked = self.schema.reads.get(usize::from(id))?.walked_back();
        walked
            .map(|r| model.entity(model.reference(r).entity).root)
            .find(|&entity| self.damage.touches(entity))
    }

    /// Adds what every anchor contributes; gives the anchors of which that is not known.
    fn collect(
        &self,
        root: EntityId,
        home: StructureId,
        collector: &mut Collector<'_>,
    ) -> Result<BTreeSet<Key>, Error> {
        let mut blocked = BTreeSet::new();
        let Some(namer) = Namer::new(self.schema, home) else {
            return Ok(blocked);
        };
        let facts = || Audited {
            stored: StoreFacts::new(self.schema, self.reader),
            damage: self.damage,
            referrers: self.referrers,
        };
        let mut known = facts();
        let mut count = 0_usize;
        each_anchor(self.reader, home, &namer, |anchor| {
            count += 1;
            if count.is_multiple_of(ANCHORS_PER_MEMORY) {
                known = facts();
            }
            match collector.add(&known, &anchor) {
                Ok(()) => Ok(()),
                Err(error) if is_damage(&error) => {
                    blocked.insert(anchor);
                    Ok(())
                }
                Err(error) => Err(error),
            }
        })?;
        debug_assert!(
            self.damage
                .instances
                .iter()
                .filter(|(e, _)| *e == root)
                .all(|(_, k)| blocked.contains(k))
        );
        Ok(blocked)
    }
}

impl Compared<'_> {
    fn differs(&self, key: &[u8], row: &[u8], found: &[u8], each: Each<'_>) -> Result<(), Error> {
        let mut finding = self.namer.finding(FindingKind::Stale, key, row);
        // What the row keeps of its key is part of it.
        let stored = self.layout.decode_key(key, found);
        let stored = stored.and_then(|_| self.layout.decode_row(found));
        match (stored, self.layout.decode_row(row)) {
            (Ok(found), Ok(expected)) => {
                finding.columns = self.namer.differences(&found, &expected);
                if finding.columns.is_empty() {
                    finding.note = Some(
                        "the values are right, but not written as this version writes them".into(),
                    );
                }
            }
            (Err(why), _) => {
                finding.kind = FindingKind::Damaged;
                finding.note = Some(format!("{why}; it begins with the bytes {}", hex(found)));
            }
            (Ok(_), Err(why)) => finding.note = Some(why.to_string()),
        }
        let mend = Mend {
            structure: self.id,
            key: key.to_vec(),
            found: Some(found.to_vec()),
            row: Some(row.to_vec()),
        };
        each(Found {
            finding,
            mend: Some(mend),
        })
    }

    fn unexpected(&self, key: &[u8], found: &[u8], each: Each<'_>) -> Result<(), Error> {
        let parts = self.layout.decode_key(key, found);
        let readable = parts.is_ok() && self.layout.decode_row(found).is_ok();
        let anchor = parts.ok().and_then(|parts| self.namer.anchor(&parts));
        let blocked = anchor.is_some_and(|anchor| self.blocked.contains(&anchor));
        if self.first_home || (blocked && readable) {
            return Ok(());
        }
        let kind = if readable {
            FindingKind::Ghost
        } else {
            FindingKind::Damaged
        };
        let mut finding = self.namer.finding(kind, key, found);
        if !readable {
            finding.note = Some(format!("its bytes are no row: {}", hex(found)));
        }
        let keep = blocked || self.nameless || (self.identity && !readable);
        let mend = if keep {
            finding.advice = Some("restore the database from a backup".into());
            None
        } else {
            Some(Mend {
                structure: self.id,
                key: key.to_vec(),
                found: Some(found.to_vec()),
                row: None,
            })
        };
        each(Found { finding, mend })
    }
}

fn unchecked(structure: &str, why: &str, each: Each<'_>) -> Result<u64, Error> {
    let finding = Finding {
        kind: FindingKind::Unchecked,
        structure: structure.into(),
        instance: None,
        row: String::new(),
        columns: vec![],
        note: Some(why.into()),
        advice: Some("mend the homes first".into()),
    };
    each(Found {
        finding,
        mend: None,
    })?;
    Ok(0)
}
