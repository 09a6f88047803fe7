//! Shapes: candidate structures whose columns are still open.

use crate::model::{
    Direction, EntityId, Expr, Field, Leaf, Model, Pred, ReferenceId, Split, Unfold,
};
use crate::view::{Kind, Structure};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A candidate, by position in the table.
pub(crate) type ShapeId = usize;

/// A candidate structure: what it is over and its key are fixed; which of its columns are kept is
/// what the selection decides.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// The structure with every column that some plan can use.
    pub(crate) structure: Structure,
    /// Its key is the anchor's own key (and functions of it), with no filter and nothing unfolded:
    /// it can be the home of the anchor's facts and is read by an instance's key.
    pub(crate) identity: bool,
    /// Given by a person: it keeps the columns that it has.
    pub(crate) given: bool,
    /// What it may keep beside the columns that it has.
    may_keep: Keeps,
    /// It is one of two parts of a home: the other one, which keeps all that it does not.
    pub(crate) other_part: Option<ShapeId>,
}

/// What a candidate may keep.
#[derive(Clone, Debug)]
enum Keeps {
    /// Whatever a plan can use.
    Anything,
    Only(Vec<Expr>),
    AllBut(Vec<Expr>),
}

impl Keeps {
    fn allows(&self, expr: &Expr) -> bool {
        match self {
            Keeps::Anything => true,
            Keeps::Only(all) => all.contains(expr),
            // Neither what the others are, nor a piece of it.
            Keeps::AllBut(others) => !others.iter().any(|other| is_within(expr, other)),
        }
    }
}

/// Whether an expression is another one, or a piece of the record that this is.
fn is_within(expr: &Expr, whole: &Expr) -> bool {
    let place = |e: &Expr| match e {
        Expr::Path {
            node,
            element,
            steps,
            leaf: Leaf::Attribute(a, path),
        } => Some(((*node, element.clone(), steps.clone(), *a), path.clone())),
        _ => None,
    };
    match (place(expr), place(whole)) {
        (Some((at, path)), Some((other, start))) => at == other && path.starts_with(&start),
        _ => expr == whole,
    }
}

/// The table of candidates. Equal shapes are one entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    pub(crate) all: Vec<Shape>,
    /// Those of an anchor by the first part of their key.
    by_first: HashMap<(EntityId, Expr), Vec<ShapeId>>,
    /// Those of an anchor whose first part may follow from other values.
    by_function: HashMap<EntityId, Vec<ShapeId>>,
    /// Those of an anchor that are keyed by its own key.
    by_identity: HashMap<EntityId, Vec<ShapeId>>,
    /// What is added to a person's schema keeps facts of its own instance that have no home there, and
    /// neither copies nor aggregates: those make questions cheaper, which is for the person to decide.
    pub(crate) facts_only: bool,
    edition: usize,
}

/// A column of a candidate that a plan needs; none: the candidate itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Requirement {
    pub(crate) shape: ShapeId,
    /// Position in the structure's columns.
    pub(crate) column: Option<usize>,
}

impl Requirement {
    /// Whether it is among the candidates and columns that are kept.
    pub(crate) fn is_kept(&self, kept: &BTreeMap<ShapeId, BTreeSet<usize>>) -> bool {
        match (kept.get(&self.shape), self.column) {
            (Some(columns), Some(column)) => columns.contains(&column),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

impl Shape {
    /// Whether it is the part of a home that keeps something of its own, and not all the rest.
    pub(crate) fn is_own_part(&self) -> bool {
        self.other_part.is_some() && matches!(self.may_keep, Keeps::Only(_))
    }
}

impl Shapes {
    /// The shape with this skeleton, if there is one; one that was given comes first.
    pub(crate) fn known(&self, skeleton: &Structure) -> Option<ShapeId> {
        self.alike(skeleton).next()
    }

    /// The shape with this skeleton that a structure was made of: one that was given with its columns;
    /// where there are others of the same rows beside it, the part of a home that keeps them.
    pub(crate) fn keeping(&self, structure: &Structure, beside: &[&Structure]) -> Option<ShapeId> {
        let same = |columns: &[Expr], own: &[Expr]| {
            columns.len() == own.len() && columns.iter().all(|e| own.contains(e))
        };
        let keeps = |shape: &ShapeId| {
            self.all.get(*shape).is_some_and(|s| match &s.may_keep {
                _ if s.given => structure.columns == s.structure.columns,
                _ if s.other_part.is_none() => false,
                Keeps::Only(own) => !beside.is_empty() && same(&structure.columns, own),
                Keeps::AllBut(own) => beside.iter().any(|other| same(&other.columns, own)),
                Keeps::Anything => false,
            })
        };
        // A whole home beside a copy of a part keeps what both parts do.
        let whole = |shape: &ShapeId| {
            let may_keep = self.all.get(*shape).map(|s| &s.may_keep);
            may_keep.is_some_and(|m| structure.columns.iter().all(|e| m.allows(e)))
        };
        let found = self.alike(structure).filter(keeps).find(whole);
        found.or_else(|| self.known(structure))
    }

    /// The shapes with this skeleton.
    fn alike(&self, skeleton: &Structure) -> impl Iterator<Item = ShapeId> {
        let first = skeleton.key().next();
        let list = match first {
            Some(first) if !may_follow(first) => {
                self.by_first.get(&(skeleton.anchor, first.clone()))
            }
            _ => self.by_function.get(&skeleton.anchor),
        };
        let list = list.into_iter().flatten().copied();
        list.filter(|&shape| self.get(shape).same_rows(skeleton))
    }

    /// The shapes of an anchor whose first key part is one of these values, or may follow from some.
    pub(crate) fn beginning_with<'e>(
        &self,
        anchor: EntityId,
        values: impl Iterator<Item = &'e Expr>,
    ) -> Vec<ShapeId> {
        let equal = values.filter_map(|e| self.by_first.get(&(anchor, e.clone())));
        let follow = self.by_function.get(&anchor);
        let mut found: Vec<ShapeId> = equal.chain(follow).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The shapes of an anchor that are keyed by its own key.
    pub(crate) fn keyed_by(&self, anchor: EntityId) -> &[ShapeId] {
        self.by_identity.get(&anchor).map_or(&[], Vec::as_slice)
    }

    fn push(&mut self, shape: Shape) -> ShapeId {
        let id = self.all.len();
        let anchor = shape.structure.anchor;
        self.edition += 1;
        if shape.identity {
            self.by_identity.entry(anchor).or_default().push(id);
        }
        match shape.structure.key().next() {
            Some(first) if !may_follow(first) => {
                let same = self.by_first.entry((anchor, first.clone()));
                same.or_default().push(id);
            }
            _ => self.by_function.entry(anchor).or_default().push(id),
        }
        self.all.push(shape);
        id
    }

    /// The shape with this skeleton whose columns are open, new or known.
    pub(crate) fn intern(&mut self, model: &Model, skeleton: Structure) -> ShapeId {
        let open = |shape: &ShapeId| {
            let shape = self.all.get(*shape);
            shape.is_some_and(|s| !s.given && s.other_part.is_none())
        };
        if let Some(known) = self.alike(&skeleton).find(open) {
            return known;
        }
        let identity = is_identity(model, &skeleton);
        let may_keep = if self.facts_only {
            let homeless = identity.then(|| self.homeless(model, skeleton.anchor));
            Keeps::Only(homeless.unwrap_or_default())
        } else {
            Keeps::Anything
        };
        self.push(Shape {
            structure: skeleton,
            identity,
            given: false,
            may_keep,
            other_part: None,
        })
    }

    /// What instances say that no structure that was given is a home of.
    fn homeless(&self, model: &Model, entity: EntityId) -> Vec<Expr> {
        let homes = self.keyed_by(entity).iter();
        let homes = homes.filter_map(|&shape| self.all.get(shape));
        let given: Vec<&Shape> = homes.filter(|s| s.given).collect();
        let kept = |paths: &[Expr]| {
            let keeps = |s: &&Shape| paths.iter().all(|p| s.structure.values().any(|e| e == p));
            given.iter().any(keeps)
        };
        let fields = model.root(entity).fields.iter();
        let fields = fields.map(|&field| field_paths(model, field));
        fields.filter(|paths| !kept(paths)).flatten().collect()
    }

    /// Two parts of a home, of which the first keeps this and the second all else: one is never there
    /// without the other.
    pub(crate) fn divide(&mut self, home: &Structure, own: Vec<Expr>) {
        let first = self.all.len();
        let parts = [Keeps::Only(own.clone()), Keeps::AllBut(own)];
        for (may_keep, other) in parts.into_iter().zip([first + 1, first]) {
            self.push(Shape {
                structure: home.clone(),
                identity: true,
                given: false,
                may_keep,
                other_part: Some(other),
            });
        }
    }

    /// Whether a candidate is one of two parts of a home.
    pub(crate) fn is_part(&self, shape: ShapeId) -> bool {
        self.all.get(shape).is_some_and(|s| s.other_part.is_some())
    }

    /// Whether a candidate keeps an expression, or may.
    pub(crate) fn may_keep(&self, shape: ShapeId, expr: &Expr) -> bool {
        self.all
            .get(shape)
            .is_some_and(|s| s.may_keep.allows(expr) || s.structure.values().any(|e| e == expr))
    }

    /// From now on what was added may keep anything, too.
    pub(crate) fn open(&mut self) {
        self.facts_only = false;
        let added = self.all.iter_mut();
        let added = added.filter(|s| !s.given && s.other_part.is_none());
        added.for_each(|s| s.may_keep = Keeps::Anything);
    }

    /// A structure as it was given, with its name and columns. A home has room for what nobody
    /// writes: a deadline, the number of a sub-partition.
    pub(crate) fn give(&mut self, model: &Model, structure: Structure) -> ShapeId {
        let identity = is_identity(model, &structure);
        let mut may_keep = Vec::new();
        if identity {
            let deadline = model.entity(structure.anchor).deadline;
            let deadline = deadline.map(Field::Attribute).into_iter();
            may_keep.extend(deadline.flat_map(|field| field_paths(model, field)));
            let splits = model.splits.iter();
            let splits = splits.filter(|split| split.entity == structure.anchor);
            may_keep.extend(splits.map(Split::number));
        }
        self.push(Shape {
            structure,
            identity,
            given: true,
            may_keep: Keeps::Only(may_keep),
            other_part: None,
        })
    }

    /// Where the shape keeps an expression: the position in key parts and columns. A column is
    /// added where there is none yet; none where the shape cannot keep it.
    pub(crate) fn column(&mut self, shape: ShapeId, expr: &Expr) -> Option<(usize, Requirement)> {
        let Shape {
            structure,
            may_keep,
            ..
        } = self.all.get_mut(shape)?;
        if let Some(part) = structure.key().position(|e| e == expr) {
            return Some((
                part,
                Requirement {
                    shape,
                    column: None,
                },
            ));
        }
        let known = structure.columns.iter().position(|e| e == expr);
        let allowed = may_keep.allows(expr);
        if known.is_none() && !allowed {
            return None;
        }
        let column = known.unwrap_or_else(|| {
            self.edition += 1;
            structure.columns.push(expr.clone());
            structure.columns.len() - 1
        });
        Some((
            structure.key_len() + column,
            Requirement {
                shape,
                column: Some(column),
            },
        ))
    }

    /// Changes with each candidate and each column: what was found, or not found, among them may be
    /// otherwise then.
    pub(crate) fn edition(&self) -> usize {
        self.edition
    }

    /// The record that a given shape keeps as a whole, of which an expression is a part, and the way
    /// from it to the part. A shape whose columns are open keeps the part by itself.
    pub(crate) fn whole_of(&self, shape: ShapeId, expr: &Expr) -> Option<(Expr, Vec<u16>)> {
        let Shape {
            structure,
            may_keep: Keeps::Only(allowed),
            ..
        } = self.all.get(shape)?
        else {
            return None;
        };
        let Expr::Path {
            node,
            element,
            steps,
            leaf: Leaf::Attribute(attribute, path),
        } = expr
        else {
            return None;
        };
        let lengths = (0..path.len()).rev();
        lengths
            .map(|length| path.split_at(length))
            .find_map(|(whole, part)| {
                let whole = Expr::Path {
                    node: *node,
                    element: element.clone(),
                    steps: steps.clone(),
                    leaf: Leaf::Attribute(*attribute, whole.to_vec()),
                };
                let kept = structure.columns.contains(&whole) || allowed.contains(&whole);
                kept.then(|| (whole, part.to_vec()))
            })
    }

    pub(crate) fn get(&self, shape: ShapeId) -> &Structure {
        #[expect(clippy::indexing_slicing, reason = "ids come from `intern`")]
        &self.all[shape].structure
    }
}

/// Whether the value of a key part may follow from other values, without an equality of its own: it
/// is a constant, a bucket or a salt. The number of a sub-partition follows too, but no key begins
/// with it.
pub(crate) fn may_follow(part: &Expr) -> bool {
    matches!(part, Expr::Call(..) | Expr::Const(_))
}

/// The leaves of an entity's key as paths from a node.
pub fn key_paths(model: &Model, entity: EntityId) -> Vec<Expr> {
    model.key_leaf_paths(entity, 0, &[], &[])
}

/// The leaves of the key of a reference's target, as paths from the referring instance.
pub fn reference_paths(model: &Model, reference: ReferenceId) -> Vec<Expr> {
    let target = model.reference(reference).target;
    model.key_leaf_paths(target, 0, &[], &[reference])
}

/// The stored paths of a field: an attribute, the type, or the scalars of a reference.
pub(crate) fn field_paths(model: &Model, field: Field) -> Vec<Expr> {
    let path = |leaf| Expr::Path {
        node: 0,
        element: vec![],
        steps: vec![],
        leaf,
    };
    match field {
        Field::Attribute(a) => vec![path(Leaf::Attribute(a, vec![]))],
        Field::Type => vec![path(Leaf::Type)],
        Field::Reference(r) => reference_paths(model, r),
    }
}

/// Whether an expression is a function of constants and of one key leaf.
fn of_key(expr: &Expr, leaves: &[Expr]) -> bool {
    match expr {
        Expr::Const(_) => true,
        Expr::Call(_, args) => args.iter().all(|a| of_key(a, leaves)),
        path => leaves.contains(path),
    }
}

/// Whether the structure is keyed by its anchor's own key.
pub(crate) fn is_identity(model: &Model, s: &Structure) -> bool {
    let leaves = key_paths(model, s.anchor);
    s.kind == Kind::Lists
        && s.over.is_empty()
        && s.filter.is_empty()
        && s.key().all(|e| of_key(e, &leaves))
        && names_instance(model, s)
}

/// Whether each row of a structure is of one instance of its anchor: its key is in the structure's.
pub(crate) fn names_instance(model: &Model, s: &Structure) -> bool {
    let mut leaves = key_paths(model, s.anchor).into_iter();
    leaves.all(|leaf| s.key().any(|e| *e == leaf))
}

/// A skeleton: key parts without columns. The key is completed so that it determines the binding,
/// or, where it is to be a group, left as it is.
pub(crate) fn skeleton(
    model: &Model,
    anchor: EntityId,
    over: &[Unfold],
    filter: &[Pred],
    partition: Vec<Expr>,
    clustering: Vec<(Expr, Direction)>,
    kind: Kind,
) -> Structure {
    let mut s = Structure {
        name: String::new(),
        anchor: model.entity(anchor).root,
        over: over.to_vec(),
        filter: filter.to_vec(),
        partition: dedup(partition),
        clustering: vec![],
        kind,
        columns: vec![],
        hashed: vec![],
    };
    for (expr, direction) in clustering {
        if !s.key().any(|e| *e == expr) {
            s.clustering.push((expr, direction));
        }
    }
    if kind == Kind::Lists {
        for leaf in key_paths(model, anchor) {
            if !s.key().any(|e| *e == leaf) {
                s.clustering.push((leaf, Direction::Asc));
            }
        }
    }
    s
}

fn dedup(parts: Vec<Expr>) -> Vec<Expr> {
    let mut out: Vec<Expr> = Vec::new();
    for part in parts {
        if !out.contains(&part) {
            out.push(part);
        }
    }
    out
}
