//! The entities of a random model, before they are text.

use super::rng::Rng;
use std::collections::BTreeMap;

/// A type of the language.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty {
    Bool,
    Int,
    BigInt,
    Float,
    Decimal,
    Text,
    Blob,
    Date,
    Timestamp,
    Uuid,
    TimeUuid,
    Point,
    Any,
    Enum(usize),
    List(Box<Ty>),
    Set(Box<Ty>),
    Map(Box<Ty>, Box<Ty>),
    Record(Vec<Part>),
    /// A reference inside a record.
    Ref(usize),
}

/// A field of a nested record, or an attribute of a relationship.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) ty: Ty,
    pub(super) optional: bool,
}

/// Whether and where the database counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sequence {
    No,
    Global,
    Per(String),
}

impl Sequence {
    fn when(numbered: bool) -> Sequence {
        if numbered {
            Sequence::Global
        } else {
            Sequence::No
        }
    }
}

/// A field of an entity.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) key: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Value {
        ty: Ty,
        optional: bool,
        unique: bool,
        sequence: Sequence,
    },
    One {
        target: usize,
        optional: bool,
        back: Option<String>,
        unique: bool,
        on_delete: Option<&'static str>,
        parts: Vec<Part>,
    },
    Many {
        target: usize,
        back: Option<String>,
        parts: Vec<Part>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Entity {
    pub(super) name: String,
    pub(super) parent: Option<usize>,
    pub(super) fields: Vec<Field>,
    /// `expires after`
    pub(super) expires: Option<&'static str>,
    /// An insert may say when it expires: nothing refuses its delete.
    pub(super) mortal: bool,
}

/// What most questions are about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum About {
    #[default]
    Anything,
    /// They list several values of what partitions are by.
    Lists,
    /// Groups of what elements of lists say.
    Elements,
}

/// A random model in the making. Names of fields are unique in the whole of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) enums: Vec<Vec<String>>,
    pub(super) entities: Vec<Entity>,
    /// Whether everything may be drawn that the generator knows.
    pub(super) wide: bool,
    pub(super) about: About,
    /// Whether rates are weights in the mixes `day` and `night`.
    pub(super) mixes: bool,
    /// Instances of each entity, where not a thousand.
    pub(super) counts: Vec<usize>,
    /// The most on the other side of a relationship, where not fifty.
    pub(super) most: Option<usize>,
    /// How many different values fields have, by name, and how many share one at most.
    pub(super) distinct: BTreeMap<String, (usize, Option<usize>)>,
    names: usize,
}

impl Draft {
    pub(super) fn random(rng: &mut Rng, entities: usize) -> Draft {
        let mut draft = Draft::default();
        for e in 0..rng.between(1, 2) {
            draft
                .enums
                .push((0..rng.between(1, 4)).map(|m| format!("m{e}{m}")).collect());
        }
        let count = rng.between(1, entities);
        for index in 0..count {
            let parent = (index > 0 && rng.percent(25)).then(|| rng.below(index));
            draft.entities.push(Entity {
                name: format!("E{index}"),
                parent,
                fields: Vec::new(),
                expires: None,
                mortal: false,
            });
        }
        for index in 0..count {
            let mut fields = Vec::new();
            if draft.entities[index].parent.is_none() {
                draft.key_fields(rng, index, &mut fields);
            }
            draft.other_fields(rng, index, count, &mut fields);
            // Fields may stand in any order; the key's order is that of its fields.
            if rng.percent(30) && fields.len() > 1 {
                let at = rng.below(fields.len());
                fields.rotate_left(at);
            }
            draft.entities[index].fields = fields;
        }
        draft
    }

    /// Draws volumes, mixes and numbers of different values: they do not alter what is right, but
    /// which design is made.
    pub(super) fn widen(&mut self, rng: &mut Rng) {
        self.wide = true;
        self.mixes = rng.percent(25);
        for entity in &self.entities {
            self.counts
                .push(rng.one_of([10, 1000, 1000, 50_000, 5_000_000]));
            for field in &entity.fields {
                if let Kind::Value {
                    ty,
                    unique: false,
                    sequence: Sequence::No,
                    ..
                } = &field.kind
                    && (ty.is_ordered() || ty.element().is_some_and(Ty::is_ordered))
                    && !field.key
                    && rng.percent(20)
                {
                    let values = rng.one_of([2, 20, 500]);
                    let most = rng.percent(50).then(|| rng.one_of([3, 300, 30_000]));
                    self.distinct.insert(field.name.clone(), (values, most));
                }
            }
        }
        self.most = rng.percent(40).then(|| rng.one_of([5, 2000, 100_000]));
        self.link_attributes(rng);
    }

    /// Gives more references attributes than most models have.
    fn link_attributes(&mut self, rng: &mut Rng) {
        for entity in 0..self.entities.len() {
            for field in 0..self.entities[entity].fields.len() {
                let is_bare = matches!(
                    &self.entities[entity].fields[field].kind,
                    Kind::One { parts, .. } if parts.is_empty()
                );
                if is_bare && rng.percent(20) {
                    let drawn = self.parts(rng, 2);
                    if let Kind::One { parts, .. } = &mut self.entities[entity].fields[field].kind {
                        *parts = drawn;
                    }
                }
            }
        }
    }

    pub(super) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn key_fields(&mut self, rng: &mut Rng, index: usize, fields: &mut Vec<Field>) {
        let parts = rng.one_of([1, 1, 1, 2, 2, 3]);
        let roots: Vec<usize> = (0..index)
            .filter(|&e| self.entities[e].parent.is_none())
            .collect();
        for part in 0..parts {
            let name = self.name("k");
            if rng.percent(35)
                && let Some(&target) = rng.pick(&roots)
            {
                let back = rng.percent(80).then(|| self.name("b"));
                let on_delete = rng.one_of([None, Some("cascade"), Some("refuse")]);
                let kind = Kind::One {
                    target,
                    optional: false,
                    back,
                    unique: false,
                    on_delete,
                    parts: Vec::new(),
                };
                fields.push(Field {
                    name: name.clone(),
                    kind,
                    key: true,
                });
                if part + 1 == parts && rng.percent(40) {
                    let sequence = Sequence::Per(name);
                    let kind = Kind::Value {
                        ty: Ty::BigInt,
                        optional: false,
                        unique: false,
                        sequence,
                    };
                    fields.push(Field {
                        name: self.name("k"),
                        kind,
                        key: true,
                    });
                    return;
                }
            } else {
                let sequence = Sequence::when(parts == 1 && rng.percent(12));
                let ty = if sequence == Sequence::No {
                    rng.below(14)
                } else {
                    rng.below(2)
                };
                let ty = match ty {
                    0 | 2 | 3 => Ty::BigInt,
                    1 | 4 => Ty::Int,
                    5 | 6 => Ty::Text,
                    7 => Ty::TimeUuid,
                    8 => Ty::Uuid,
                    9 => Ty::Timestamp,
                    10 => Ty::Date,
                    11 => Ty::Enum(rng.below(self.enums.len())),
                    12 => Ty::Decimal,
                    _ => rare(rng),
                };
                let kind = Kind::Value {
                    ty,
                    optional: false,
                    unique: false,
                    sequence,
                };
                fields.push(Field {
                    name,
                    kind,
                    key: true,
                });
            }
        }
    }

    fn other_fields(&mut self, rng: &mut Rng, index: usize, count: usize, fields: &mut Vec<Field>) {
        for _ in 0..rng.between(1, 5) {
            let ty = self.ty(rng, index, count);
            let scalar = ty.is_scalar();
            let optional = rng.percent(35);
            let unique =
                scalar && !matches!(ty, Ty::Bool | Ty::Enum(_) | Ty::Any) && rng.percent(12);
            let sequence =
                Sequence::when(matches!(ty, Ty::Int | Ty::BigInt) && !unique && rng.percent(8));
            let optional = optional && sequence == Sequence::No;
            let kind = Kind::Value {
                ty,
                optional,
                unique,
                sequence,
            };
            fields.push(Field {
                name: self.name("f"),
                kind,
                key: false,
            });
        }
        for _ in 0..rng.one_of([0, 1, 1, 2, 3]) {
            let target = rng.below(count);
            // A required reference leads to an earlier entity, so that facts can be made at all.
            let optional = target >= index || rng.percent(40);
            let back = rng.percent(80).then(|| self.name("b"));
            let on_delete = match rng.below(4) {
                0 => None,
                1 => Some("refuse"),
                2 if optional => Some("clear"),
                _ => Some("cascade"),
            };
            let unique = back.is_some() && rng.percent(15);
            let parts = if rng.percent(15) {
                self.parts(rng, 1)
            } else {
                Vec::new()
            };
            let kind = Kind::One {
                target,
                optional,
                back,
                unique,
                on_delete,
                parts,
            };
            fields.push(Field {
                name: self.name("r"),
                kind,
                key: false,
            });
        }
        if rng.percent(40) {
            let target = rng.below(count);
            let back = rng.percent(85).then(|| self.name("b"));
            let parts = if rng.percent(50) {
                self.parts(rng, 2)
            } else {
                Vec::new()
            };
            fields.push(Field {
                name: self.name("n"),
                kind: Kind::Many {
                    target,
                    back,
                    parts,
                },
                key: false,
            });
        }
    }

    fn parts(&mut self, rng: &mut Rng, most: usize) -> Vec<Part> {
        (0..rng.between(1, most))
            .map(|_| Part {
                name: self.name("p"),
                ty: self.scalar_type(rng),
                optional: rng.percent(30),
            })
            .collect()
    }

    fn scalar_type(&self, rng: &mut Rng) -> Ty {
        match rng.below(18) {
            0 => Ty::Bool,
            1..=3 => Ty::Int,
            4 | 5 => Ty::BigInt,
            6 | 7 => Ty::Float,
            8 | 9 => Ty::Decimal,
            10 => Ty::Date,
            11 => Ty::Timestamp,
            12 => rare(rng),
            13 => Ty::Enum(rng.below(self.enums.len())),
            14 => Ty::TimeUuid,
            15 => {
                if rng.percent(50) {
                    Ty::Uuid
                } else {
                    Ty::Point
                }
            }
            _ => Ty::Text,
        }
    }

    /// A scalar that may be the element of a set or the key of a map.
    fn member(&self, rng: &mut Rng) -> Ty {
        match rng.below(6) {
            0 => Ty::Int,
            1 => Ty::Enum(rng.below(self.enums.len())),
            2 => Ty::Date,
            3 => Ty::Decimal,
            _ => Ty::Text,
        }
    }

    fn ty(&mut self, rng: &mut Rng, index: usize, count: usize) -> Ty {
        match rng.below(25) {
            24 => Ty::Any,
            0 | 1 => Ty::Set(Box::new(self.member(rng))),
            2 => Ty::List(Box::new(self.scalar_type(rng))),
            3 | 4 => Ty::List(Box::new(self.record(rng, Some((index, count)), 2))),
            5 => Ty::Map(Box::new(self.member(rng)), Box::new(self.scalar_type(rng))),
            6 => Ty::Map(Box::new(Ty::Text), Box::new(Ty::Any)),
            7 => Ty::Map(Box::new(Ty::Text), Box::new(self.record(rng, None, 1))),
            8 | 9 => self.record(rng, None, 2),
            _ => self.scalar_type(rng),
        }
    }

    /// A record; references only where it is the element of a list, collections up to a depth.
    fn record(&mut self, rng: &mut Rng, references: Option<(usize, usize)>, depth: usize) -> Ty {
        let mut parts = self.parts(rng, 3);
        if let Some((index, _)) = references
            && index > 0
            && rng.percent(40)
        {
            parts.push(Part {
                name: self.name("p"),
                ty: Ty::Ref(rng.below(index)),
                optional: rng.percent(30),
            });
        }
        if depth > 1 && rng.percent(30) {
            let ty = match rng.below(4) {
                0 => Ty::Set(Box::new(self.member(rng))),
                1 => Ty::List(Box::new(self.record(rng, references, depth - 1))),
                2 => Ty::List(Box::new(self.scalar_type(rng))),
                _ => self.record(rng, None, depth - 1),
            };
            parts.push(Part {
                name: self.name("p"),
                ty,
                optional: false,
            });
        }
        Ty::Record(parts)
    }

    /// The entity and its ancestors.
    pub(super) fn ancestry(&self, entity: usize) -> Vec<usize> {
        let mut chain = vec![entity];
        let mut at = entity;
        while let Some(parent) = self.entities[at].parent {
            chain.push(parent);
            at = parent;
        }
        chain
    }

    /// Fields of the entity and its ancestors.
    pub(super) fn fields(&self, entity: usize) -> Vec<&Field> {
        let mut all = Vec::new();
        for e in self.ancestry(entity).into_iter().rev() {
            all.extend(&self.entities[e].fields);
        }
        all
    }
}

impl Ty {
    pub(super) fn is_scalar(&self) -> bool {
        !matches!(
            self,
            Ty::List(_) | Ty::Set(_) | Ty::Map(..) | Ty::Record(_) | Ty::Ref(_)
        )
    }
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Ty::Int | Ty::BigInt | Ty::Float | Ty::Decimal)
    }
    /// Has an order that questions may use.
    pub(super) fn is_ordered(&self) -> bool {
        self.is_scalar() && !matches!(self, Ty::Point | Ty::Any)
    }
    /// What the elements of a collection are (a map's values).
    pub(super) fn element(&self) -> Option<&Ty> {
        match self {
            Ty::List(t) | Ty::Set(t) | Ty::Map(_, t) => Some(t),
            _ => None,
        }
    }
}

/// The rarer types of keys and attributes.
fn rare(rng: &mut Rng) -> Ty {
    match rng.below(3) {
        0 => Ty::Blob,
        1 => Ty::Float,
        _ => Ty::Bool,
    }
}
