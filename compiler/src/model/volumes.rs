//! The same model with less in it.

use super::{EntityId, Field, Model};

/// Of an entity that has as many, no fewer than these are left: categories, regions and the like do
/// not shrink with what refers to them.
const FEW: f64 = 50.0;

impl Model {
    /// Rows of all facts together.
    pub fn rows(&self) -> f64 {
        self.roots().map(|root| self.entity(root).count).sum()
    }

    /// The model with volumes that add up to about so many rows, in the same proportions: for trials
    /// on a machine that does not hold the real ones. A model that has no more is left as it is.
    #[must_use]
    pub fn scaled(&self, rows: f64) -> Model {
        let factor = rows / self.rows();
        let mut scaled = self.clone();
        if factor >= 1.0 {
            return scaled;
        }
        for entity in &mut scaled.entities {
            entity.count = (entity.count * factor)
                .max(entity.count.min(FEW))
                .round()
                .max(1.0);
        }
        // Links are pairs: there are no more of them than there are pairs.
        for at in (0..self.entities.len() as u32).map(EntityId) {
            let ends = self.entity(at).key.iter();
            let ends = ends.filter_map(|&slot| match self.entity(at).fields.get(slot)? {
                Field::Reference(r) => Some(scaled.entity(self.reference(*r).target).count),
                _ => None,
            });
            let only_ends = ends.clone().count() == self.entity(at).key.len();
            let pairs = if only_ends {
                ends.product()
            } else {
                f64::INFINITY
            };
            if let Some(entity) = scaled
                .entities
                .get_mut(at.index())
                .filter(|e| !e.key.is_empty())
            {
                entity.count = entity.count.min(pairs);
            }
        }
        let share = |e: EntityId| scaled.entity(e).count / self.entity(e).count.max(1.0);
        let references = self.references.iter().map(|was| {
            let ratio = share(was.entity) / share(was.target);
            let avg = was.avg * ratio;
            let max = (was.max * ratio).min(scaled.entity(was.entity).count);
            super::Reference {
                avg,
                max: max.max(avg),
                ..was.clone()
            }
        });
        let attributes = self.attributes.iter().map(|was| {
            let count = scaled.entity(was.entity).count;
            let stated = was
                .cardinality
                .map(|c| if c > count { c * share(was.entity) } else { c });
            super::Attribute {
                cardinality: stated,
                ..was.clone()
            }
        });
        let (references, attributes) = (references.collect(), attributes.collect());
        Model {
            attributes,
            references,
            ..scaled
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn volumes_shrink_together() {
        let text = "entity User (2M) { id bigint key }
                    entity Category (50) { name text(12) key }
                    entity Post (40M) {
                      id bigint key
                      author -> User as posts (avg 20, max 100k)
                      category -> Category as posts (avg 800k, max 8M)
                    }
                    question q (1/s) select id from Post where author.id = $a";
        let (model, found) = crate::parse("m", text);
        let model = model.unwrap_or_else(|| panic!("{found:?}"));
        let small = model.scaled(42_000.0);
        let counts: Vec<f64> = small.entities.iter().map(|e| e.count).collect();
        assert_eq!(counts, [2000.0, 50.0, 40_000.0]);
        let sizes: Vec<(f64, f64)> = small.references.iter().map(|r| (r.avg, r.max)).collect();
        assert_eq!(sizes, [(20.0, 40_000.0), (800.0, 8000.0)]);
        let same = model.scaled(1e9);
        assert_eq!(same.rows(), model.rows());
    }
}
