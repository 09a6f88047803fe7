//! The resolved model: what exists, what is asked, what changes, with every name looked up.
//!
//! Two reductions made by `resolve` keep everything behind it small:
//! - a many-to-many relationship is a **link entity** (key: `from`, `to`; both cascade), so that
//!   the only relationship left is the to-one [`Reference`] and its way back;
//! - a subtype lives in the row of its root ([`Entity::root`]), told apart by [`Field::Type`].

mod change;
mod expr;
mod link;
mod split;
mod types;
mod volumes;

pub use change::{Change, Statement};
pub use expr::{
    Aggregate, AggregateFn, Binary, Compare, Direction, Expr, Function, Item, Leaf, Many, NodeId,
    Page, Pred, Query, Unfold,
};
pub use link::{LinkFault, OfReference};
pub(crate) use split::NUMBER;
pub use split::{Split, own};
pub use types::{RecordField, Size, Type};

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);
        impl $name {
            /// The position in the model's table.
            pub fn index(self) -> usize { self.0 as usize }
        }
    )*};
}
ids! {
    /// An entity of [`Model::entities`].
    EntityId,
    /// An attribute of [`Model::attributes`].
    AttributeId,
    /// A to-one reference of [`Model::references`].
    ReferenceId,
    /// An enumeration of [`Model::enums`].
    EnumId,
    /// A parameter of the question or change at hand.
    ParamId,
}

/// One resolved model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Model {
    /// The name after `model`.
    pub name: String,
    /// Named mixes, in order of appearance; empty when rates are plain.
    pub mixes: Vec<String>,
    /// The mix whose rates count, by its position: that of the design at hand.
    #[serde(skip)]
    pub mix: usize,
    /// Rates are per second; else they are weights.
    pub timed: bool,
    /// Enumerations.
    pub enums: Vec<Enum>,
    /// Entities, link entities included.
    pub entities: Vec<Entity>,
    /// Attributes of all entities.
    pub attributes: Vec<Attribute>,
    /// To-one references of all entities.
    pub references: Vec<Reference>,
    /// Questions, in the order of the text.
    pub questions: Vec<Question>,
    /// Changes, in the order of the text.
    pub changes: Vec<Change>,
    /// Schemas given by people, in the order of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemas: Vec<Schema>,
    /// Popular keys that are split, as a design asks for: see [`Model::with_splits`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<Split>,
}

/// Structures given by a person instead of being designed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schema {
    /// Name.
    pub name: String,
    /// Structures, in the order of the text.
    pub structures: Vec<crate::view::Structure>,
    /// Popular keys that they split: they are read with [`Model::with_splits`] of these. How many
    /// sub-partitions there are follows from volumes, and is for the designer to say.
    #[serde(default)]
    pub splits: Vec<Split>,
}

impl Schema {
    /// The schema without one of its structures, and without the numbers that only it had a use
    /// for.
    #[must_use]
    pub fn without(&self, structure: usize) -> Schema {
        let mut schema = self.clone();
        if structure < schema.structures.len() {
            schema.structures.remove(structure);
        }
        for split in &self.splits {
            let number = split.number();
            let mut structures = schema.structures.iter();
            if !structures.any(|s| s.key().any(|e| *e == number)) {
                let structures = schema.structures.iter_mut();
                structures.for_each(|s| s.columns.retain(|e| *e != number));
            }
        }
        schema
    }
}

/// An enumeration; a member is stored as its position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Enum {
    /// Name.
    pub name: String,
    /// Members in order of declaration, which is also their sort order.
    pub members: Vec<String>,
}

/// What kind of entity it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntityKind {
    /// Written by a person as `entity`.
    Root,
    /// `entity B is A`.
    Sub(EntityId),
    /// Made from an n-m relationship: key (`from`, `to`), named `Entity.side`.
    Link,
}

/// An entity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entity {
    /// Name as written; `Entity.side` for a link entity.
    pub name: String,
    /// Kind.
    pub kind: EntityKind,
    /// The top of the hierarchy; itself for a root or a link.
    pub root: EntityId,
    /// All subtypes below it, transitively, in order of declaration.
    pub subtypes: Vec<EntityId>,
    /// How many instances there are (subtypes included).
    pub count: f64,
    /// Fields declared by this entity itself.
    pub own: Vec<Field>,
    /// On a root or link: the layout of a fact row. [`Field::Type`] first where there are subtypes,
    /// then the fields of the root and of all its subtypes, in order of declaration. Empty on a subtype.
    pub fields: Vec<Field>,
    /// On a root or link: slots of `fields` that form the key, in order. Empty on a subtype.
    pub key: Vec<usize>,
    /// Names that lead from an instance of this entity to others (its own and inherited ones).
    pub sides: Vec<Side>,
    /// `expires after`: milliseconds to live, from the moment of the insert. See
    /// [`Model::lifetime`].
    pub expires: Option<u64>,
    /// On a root: the hidden attribute, last in `fields`, that holds when an instance expires
    /// (null: never). None where no instance ever does.
    pub deadline: Option<AttributeId>,
}

/// One slot of a fact row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Field {
    /// The concrete type of the instance: `Value::Enum` with the position in [`Model::type_members`].
    Type,
    /// An attribute.
    Attribute(AttributeId),
    /// A reference; its value is `Value::Key` or null.
    Reference(ReferenceId),
}

/// A named way from one entity to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    /// The name used in paths.
    pub name: String,
    /// To-many steps before the to-one steps: `author` is (none, `[author]`), `posts` is
    /// (`Back(author)`, `[]`), `follows` is (`Back(link.from)`, `[link.to]`).
    pub many: Option<Many>,
    /// To-one steps after it.
    pub ones: Vec<ReferenceId>,
    /// Where it leads.
    pub target: EntityId,
}

/// An attribute.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attribute {
    /// Name; `ref@name` for an attribute of a to-one reference.
    pub name: String,
    /// The entity that declares it.
    pub entity: EntityId,
    /// Type.
    pub ty: Type,
    /// May be null. (An attribute of a subtype is null on other types all the same.)
    pub optional: bool,
    /// No two instances have the same value (null excepted).
    pub unique: bool,
    /// Assigned by the database: the next number, overall or per the reference given.
    pub sequence: Option<Sequence>,
    /// Number of distinct values where stated; of a list or set those of its elements, of a map those
    /// of its keys.
    pub cardinality: Option<f64>,
    /// The most instances that share a value, where stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<f64>,
    /// The to-one reference whose attribute it is, where it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<OfReference>,
}

/// Where a sequence counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sequence {
    /// One counter for the entity.
    Global,
    /// One counter per target of the reference.
    Per(ReferenceId),
}

/// A to-one reference, and by its way back the only kind of relationship.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reference {
    /// Name of the field on the referring side.
    pub name: String,
    /// The referring entity.
    pub entity: EntityId,
    /// The entity referred to.
    pub target: EntityId,
    /// May be absent.
    pub optional: bool,
    /// At most one referrer per target (one to one).
    pub unique: bool,
    /// Referrers per target, on average.
    pub avg: f64,
    /// Referrers per target, at most.
    pub max: f64,
    /// What the delete of the target does.
    pub on_delete: OnDelete,
}

/// What the delete of an instance does to those that refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnDelete {
    /// The delete is refused while a referrer exists.
    Refuse,
    /// Referrers are deleted too.
    Cascade,
    /// The reference is set to null.
    Clear,
}

/// A question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// Name.
    pub name: String,
    /// Rate per second, or weight: one per mix, or a single one.
    pub rates: Vec<f64>,
    /// Milliseconds that the answer may lag behind.
    pub stale: Option<u64>,
    /// `within p%`: a count may be an estimate, as a fraction.
    pub within: Option<f64>,
    /// Parameters, in order of first mention.
    pub params: Vec<Param>,
    /// What is asked.
    pub query: Query,
}

/// A typed parameter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Param {
    /// Name without the `$`.
    pub name: String,
    /// Type; `Type::List` for an `in` list or a `for each`, `Type::Cursor` for a page cursor.
    pub ty: Type,
    /// May be null.
    pub optional: bool,
    /// May be left out, and is null then. What an update sets is given, if only as null: one who
    /// forgets it would clear what is there.
    pub omissible: bool,
}

/// One scalar of a flattened key: an attribute reached over key references.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyLeaf {
    /// Key references walked from the entity.
    pub steps: Vec<ReferenceId>,
    /// The key attribute at their end.
    pub attribute: AttributeId,
}

#[expect(
    clippy::indexing_slicing,
    reason = "ids are made together with the tables they index"
)]
impl Model {
    /// The entity of an id.
    pub fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.index()]
    }
    /// The root row layout that holds instances of the entity.
    pub fn root(&self, id: EntityId) -> &Entity {
        self.entity(self.entity(id).root)
    }
    /// The attribute of an id.
    pub fn attribute(&self, id: AttributeId) -> &Attribute {
        &self.attributes[id.index()]
    }
    /// The reference of an id.
    pub fn reference(&self, id: ReferenceId) -> &Reference {
        &self.references[id.index()]
    }
    /// The enumeration of an id.
    pub fn enumeration(&self, id: EnumId) -> &Enum {
        &self.enums[id.index()]
    }
    /// An entity by name.
    pub fn entity_named(&self, name: &str) -> Option<EntityId> {
        self.entities
            .iter()
            .position(|e| e.name == name)
            .map(|i| EntityId(i as u32))
    }
    /// All ids of entities that have rows of their own: roots and links.
    pub fn roots(&self) -> impl Iterator<Item = EntityId> + '_ {
        (0..self.entities.len() as u32)
            .map(EntityId)
            .filter(|&e| self.entity(e).root == e)
    }
    /// The concrete types that a row of the root may have, the root itself first.
    /// [`Field::Type`] holds a position in this list.
    pub fn type_members(&self, root: EntityId) -> Vec<EntityId> {
        let mut members = vec![root];
        members.extend(&self.entity(root).subtypes);
        members
    }
    /// Whether an entity is another one, or below it.
    pub fn is_a(&self, entity: EntityId, other: EntityId) -> bool {
        entity == other || self.entity(other).subtypes.contains(&entity)
    }
    /// The slot of a field in the row of its root.
    pub fn slot(&self, entity: EntityId, field: Field) -> Option<usize> {
        self.root(entity).fields.iter().position(|&f| f == field)
    }
    /// How long an instance of a concrete entity lives unless its insert says otherwise, in
    /// milliseconds: as the entity says, or else the nearest of its supertypes.
    pub fn lifetime(&self, entity: EntityId) -> Option<u64> {
        let mut at = entity;
        loop {
            let here = self.entity(at);
            match here.kind {
                EntityKind::Sub(above) if here.expires.is_none() => at = above,
                _ => return here.expires,
            }
        }
    }
    /// The slot that holds when an instance expires.
    pub fn deadline_slot(&self, entity: EntityId) -> Option<usize> {
        let deadline = self.root(entity).deadline?;
        self.slot(entity, Field::Attribute(deadline))
    }
    /// Roots whose instances may expire.
    pub fn expiring(&self) -> impl Iterator<Item = (EntityId, AttributeId)> + '_ {
        self.roots()
            .filter_map(|root| Some((root, self.entity(root).deadline?)))
    }
    /// The key of the entity, flattened to scalars.
    pub fn key_leaves(&self, entity: EntityId) -> Vec<KeyLeaf> {
        let root = self.root(entity);
        let mut leaves = Vec::new();
        for &slot in &root.key {
            match root.fields[slot] {
                Field::Attribute(attribute) => leaves.push(KeyLeaf {
                    steps: vec![],
                    attribute,
                }),
                Field::Reference(r) => {
                    for leaf in self.key_leaves(self.reference(r).target) {
                        let mut steps = vec![r];
                        steps.extend(leaf.steps);
                        leaves.push(KeyLeaf {
                            steps,
                            attribute: leaf.attribute,
                        });
                    }
                }
                Field::Type => {}
            }
        }
        leaves
    }

    /// Paths of the scalars of the key that a path leads to: from a node, through a reference inside
    /// its element if there is one, over to-one steps.
    pub fn key_leaf_paths(
        &self,
        target: EntityId,
        node: NodeId,
        element: &[u16],
        steps: &[ReferenceId],
    ) -> Vec<Expr> {
        let path = |leaf: KeyLeaf| Expr::Path {
            node,
            element: element.to_vec(),
            steps: steps.iter().copied().chain(leaf.steps).collect(),
            leaf: Leaf::Attribute(leaf.attribute, vec![]),
        };
        self.key_leaves(target).into_iter().map(path).collect()
    }
}
