//! The same model with less in it.

use super::{EntityId, Field, Model, Type};
use crate::value::Value;

/// Of an entity that has as many, no fewer than these are left: categories, regions and the like do
/// not shrink with what refers to them.
const FEW: f64 = 50.0;

impl Model {
    /// Rows of all facts together.
    pub fn rows(&self) -> f64 {
        self.roots().map(|root| self.entity(root).count).sum()
    }

    /// How many values a type has, where it says so.
    pub fn values_of(&self, ty: &Type) -> Option<f64> {
        match ty {
            Type::Bool => Some(2.0),
            Type::Enum(e) => Some(self.enumeration(*e).members.len().max(1) as f64),
            _ => None,
        }
    }

    /// All values of a type, where they can be told one by one.
    pub(crate) fn domain(&self, ty: &Type) -> Option<Vec<Value>> {
        match ty {
            Type::Bool => Some(vec![Value::Bool(false), Value::Bool(true)]),
            Type::Enum(e) => {
                let members = self.enumeration(*e).members.len();
                Some((0..members).map(|i| Value::Enum(i as u16)).collect())
            }
            Type::Tag(root) => {
                let members = self.type_members(*root).len();
                Some((0..members).map(|i| Value::Enum(i as u16)).collect())
            }
            _ => None,
        }
    }

    /// The instances of an entity, of which there are no more than its key has values: links are
    /// pairs.
    fn most(&self, entity: EntityId) -> f64 {
        let root = self.root(entity);
        let parts = root.key.iter().map(|&slot| match root.fields.get(slot) {
            Some(Field::Reference(r)) => self.most(self.reference(*r).target),
            Some(Field::Attribute(a)) => {
                let values = self.values_of(&self.attribute(*a).ty);
                values.unwrap_or(f64::INFINITY)
            }
            _ => 1.0,
        });
        self.entity(entity).count.min(parts.product())
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
        let counts = (0..self.entities.len() as u32).map(|e| scaled.most(EntityId(e)));
        let counts: Vec<f64> = counts.collect();
        for (entity, count) in scaled.entities.iter_mut().zip(counts) {
            entity.count = count;
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
                sharing: was
                    .sharing
                    .map(|most| (most * share(was.entity)).clamp(1.0, count)),
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
    fn there_are_no_more_links_than_pairs() {
        let text = "enum Kind { a, b }
                    entity User (1M) { id bigint key  follows ->> User (avg 200, max 1k) as followers }
                    entity Mark (3M) { user -> User key as marks (avg 3, max 9)  kind Kind key }
                    question q (1/s) select id from User where id = $a";
        let (model, found) = crate::parse("m", text);
        let small = model
            .unwrap_or_else(|| panic!("{found:?}"))
            .scaled(10_000.0);
        let counts: Vec<f64> = small.entities.iter().map(|e| e.count).collect();
        assert_eq!(counts, [50.0, 100.0, 2500.0]);
    }

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
