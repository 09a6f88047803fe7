//! Scopes and the walk of a path through them.

use super::context::Context;
use super::{hierarchy, typing};
use crate::design::display::WHOLE_KEY;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{
    Aggregate, AggregateFn, EntityId, EntityKind, Expr, Field, KeyLeaf, Leaf, Many, Model, NodeId,
    ReferenceId, Side, Type, Unfold,
};
use crate::syntax::Span;
use crate::syntax::ast::{Name, Path};
use crate::view::typing::{self as view, NodeType};

/// What a node of a scope is.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// An instance.
    Instance(EntityId),
    /// An element of a collection that this entity owns.
    Element { collection: Type, owner: EntityId },
}

/// Where a walk stands.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// At an instance.
    Instance(EntityId),
    /// At a value.
    Value(Leaf, Type),
    /// There is no row: an insert, the ends of a link.
    Nothing,
}

/// A walk: from a node, over to-one steps, to a place.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    pub(super) node: NodeId,
    pub(super) element: Vec<u16>,
    pub(super) steps: Vec<ReferenceId>,
    pub(super) place: Place,
    /// The last step of the walk was the to-many one.
    pub(super) fresh: bool,
}

/// Which aggregates may stand in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregates {
    /// Those over the group, and subqueries.
    All,
    /// Subqueries only: `where`, `set`.
    Subqueries,
    /// None: inside an aggregate.
    None,
}

/// A scope in the making.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what may be written in a scope, one by one"
)]
pub(super) struct Scope {
    pub(super) nodes: Vec<Node>,
    pub(super) over: Vec<Unfold>,
    /// Where names are looked up.
    pub(super) here: Cursor,
    /// Equal prefixes share a node.
    pub(super) share: bool,
    /// A collection at the end of a path means its elements.
    pub(super) elements: bool,
    pub(super) aggregates: Aggregates,
    /// An aggregate over the group was met.
    pub(super) groups: bool,
    /// What aggregates are over is known by the paths that unfold: in structures that group, and in
    /// questions with `group by`.
    pub(super) bindings: bool,
    /// Hidden facts have names too: in schemas.
    pub(super) hidden: bool,
    /// A way back that leads to one at most is read as a reference is: null where there is none.
    /// Else it unfolds like any other, and what has none falls away.
    pub(super) outer: bool,
}

impl Scope {
    /// The scope of an entity's instances.
    pub(super) fn of(entity: EntityId, aggregates: Aggregates) -> Scope {
        Scope {
            nodes: vec![Node::Instance(entity)],
            over: Vec::new(),
            here: Cursor {
                node: 0,
                element: Vec::new(),
                steps: Vec::new(),
                place: Place::Instance(entity),
                fresh: false,
            },
            share: true,
            elements: false,
            aggregates,
            groups: false,
            bindings: false,
            hidden: false,
            outer: false,
        }
    }

    /// A scope in which no path leads anywhere.
    pub(super) fn nothing(entity: EntityId) -> Scope {
        let mut scope = Scope::of(entity, Aggregates::Subqueries);
        scope.here.place = Place::Nothing;
        scope
    }

    /// A scope that starts at the node where names of this one are looked up.
    pub(super) fn inside(&self, share: bool, elements: bool, aggregates: Aggregates) -> Scope {
        let start = self.nodes.get(usize::from(self.here.node)).cloned();
        Scope {
            nodes: start.into_iter().collect(),
            over: Vec::new(),
            here: Cursor {
                node: 0,
                ..self.here.clone()
            },
            share,
            elements,
            aggregates,
            groups: false,
            bindings: false,
            hidden: self.hidden,
            outer: false,
        }
    }

    /// Whether a value of this scope may be null.
    pub(super) fn may_be_null(&self, model: &Model, value: &Expr) -> bool {
        let start = match self.nodes.first() {
            Some(Node::Instance(entity)) => NodeType::Instance(*entity),
            Some(Node::Element { collection, .. }) => NodeType::element(collection),
            None => return true,
        };
        let scope = view::Scope::from_node(model, start, &self.over);
        scope.type_of(model, &[], value).1
    }

    /// The node before the ways back to one at most that end at `node` and are behind the first
    /// `known` nodes, and these ways as a subquery from there.
    fn ways_back(&self, model: &Model, node: NodeId, known: usize) -> (NodeId, Vec<Unfold>) {
        let (mut from, mut ways) = (node, Vec::new());
        while usize::from(from) >= known
            && let Some(unfold) = usize::from(from)
                .checked_sub(1)
                .and_then(|i| self.over.get(i))
            && matches!(unfold.many, Many::Back(r) if model.reference(r).unique)
        {
            ways.push(unfold.clone());
            from = unfold.parent;
        }
        ways.reverse();
        for (parent, way) in ways.iter_mut().enumerate() {
            way.parent = parent as NodeId;
        }
        (from, ways)
    }

    fn unfold(&mut self, cursor: &Cursor, many: Many, node: Node) -> NodeId {
        let unfold = Unfold {
            parent: cursor.node,
            steps: cursor.steps.clone(),
            many,
        };
        if self.share
            && let Some(at) = self.over.iter().position(|u| *u == unfold)
        {
            return at as NodeId + 1;
        }
        self.over.push(unfold);
        self.nodes.push(node);
        self.over.len() as NodeId
    }
}

impl Context<'_> {
    /// Walks a path from where names are looked up.
    pub(super) fn walk(&mut self, scope: &mut Scope, path: &Path) -> Option<Cursor> {
        let mut cursor = scope.here.clone();
        cursor.fresh = false;
        for segment in &path.segments {
            if let Some(span) = segment.repeat {
                let span = segment.name.span.to(span);
                return self.not_yet(span, "repeated steps (`x+`, `x*`, `x{2}`)");
            }
            cursor = self.step(scope, cursor, &segment.name)?;
        }
        if scope.elements {
            cursor = self.enter_collection(scope, cursor, path.span)?;
        }
        Some(cursor)
    }

    /// The value at the end of a path. What lies behind a way back to one at most is a subquery
    /// with one row at most where the scope says so.
    pub(super) fn value_at(
        &mut self,
        scope: &mut Scope,
        path: &Path,
        expected: Option<&Type>,
    ) -> Option<(Expr, Type)> {
        if !scope.outer {
            let cursor = self.walk(scope, path)?;
            return Some(self.read(cursor, expected));
        }
        let known = scope.nodes.len();
        let mut walked = scope.clone();
        let mut cursor = self.walk(&mut walked, path)?;
        let (from, over) = walked.ways_back(self.model, cursor.node, known);
        if over.is_empty() {
            *scope = walked;
            return Some(self.read(cursor, expected));
        }
        let kept = known.max(usize::from(from) + 1);
        walked.nodes.truncate(kept);
        walked.over.truncate(kept - 1);
        *scope = walked;
        cursor.node = over.len() as NodeId;
        let (arg, ty) = self.read(cursor, expected);
        let only = Aggregate {
            function: AggregateFn::Only,
            distinct: false,
            from,
            over,
            arg: Some(arg),
        };
        Some((Expr::Aggregate(Box::new(only)), ty))
    }

    /// The elements of the collection at which the walk stands, if it stands at one.
    pub(super) fn enter_collection(
        &mut self,
        scope: &mut Scope,
        cursor: Cursor,
        span: Span,
    ) -> Option<Cursor> {
        let (many, collection) = match &cursor.place {
            Place::Value(Leaf::Attribute(a, path), ty) if ty.element().is_some() => {
                (Many::Elements(*a, path.clone()), ty.clone())
            }
            Place::Value(Leaf::Element(path), ty) if ty.element().is_some() => {
                (Many::ElementElements(path.clone()), ty.clone())
            }
            _ => return Some(cursor),
        };
        let element = collection.element().cloned()?;
        let owner = match (&many, scope.nodes.get(usize::from(cursor.node))) {
            (Many::Elements(a, _), _) => self.model.attribute(*a).entity,
            (_, Some(Node::Element { owner, .. })) => *owner,
            (_, Some(Node::Instance(entity))) => *entity,
            (_, None) => return None,
        };
        let node = Node::Element { collection, owner };
        self.unfold_from(
            scope,
            &cursor,
            many,
            node,
            Vec::new(),
            Place::Value(Leaf::Element(vec![]), element),
            span,
        )
    }

    #[expect(clippy::too_many_arguments, reason = "one step has this many parts")]
    fn unfold_from(
        &mut self,
        scope: &mut Scope,
        cursor: &Cursor,
        many: Many,
        node: Node,
        steps: Vec<ReferenceId>,
        place: Place,
        span: Span,
    ) -> Option<Cursor> {
        if !cursor.element.is_empty() {
            return self.not_yet(span, "many things behind a reference inside a collection");
        }
        let node = scope.unfold(cursor, many, node);
        Some(Cursor {
            node,
            element: Vec::new(),
            steps,
            place,
            fresh: true,
        })
    }

    fn step(&mut self, scope: &mut Scope, cursor: Cursor, name: &Name) -> Option<Cursor> {
        match &cursor.place {
            Place::Nothing => {
                let message = format!(
                    "there is no row here of which `{}` could be read",
                    name.text
                );
                let found = Diagnostic::new(codes::UNKNOWN_NAME, name.span, message);
                self.fail(found.help("use a parameter or a constant"))
            }
            Place::Instance(entity) => {
                let entity = *entity;
                self.step_from_instance(scope, cursor, entity, name)
            }
            Place::Value(_, ty) if ty.element().is_some() => {
                let inside = self.enter_collection(scope, cursor, name.span)?;
                self.step(scope, inside, name)
            }
            Place::Value(leaf, ty) => {
                let (leaf, ty) = (leaf.clone(), ty.clone());
                self.step_from_value(scope, cursor, leaf, &ty, name)
            }
        }
    }

    fn step_from_instance(
        &mut self,
        scope: &mut Scope,
        mut cursor: Cursor,
        entity: EntityId,
        name: &Name,
    ) -> Option<Cursor> {
        if let Some(side) = find_side(self.model, entity, &name.text).cloned() {
            return match side.many {
                None => {
                    cursor.steps.extend(side.ones);
                    cursor.place = Place::Instance(side.target);
                    cursor.fresh = false;
                    Some(cursor)
                }
                Some(many) => {
                    let Many::Back(r) = many else { return None };
                    let node = Node::Instance(self.model.reference(r).entity);
                    let place = Place::Instance(side.target);
                    self.unfold_from(scope, &cursor, many, node, side.ones, place, name.span)
                }
            };
        }
        if let Some(attribute) = name.text.strip_prefix('@')
            && let Some(Node::Instance(link)) = scope.nodes.get(usize::from(cursor.node))
            && self.model.entity(*link).kind == EntityKind::Link
            && let Some(place) = find_attribute(self.model, *link, attribute)
        {
            return Some(Cursor {
                steps: Vec::new(),
                element: Vec::new(),
                place,
                fresh: false,
                ..cursor
            });
        }
        if let Some((side, attribute)) = name.text.split_once('@')
            && let Some(Side {
                many: Some(many @ Many::Back(r)),
                ..
            }) = find_side(self.model, entity, side)
            && let Some(place) =
                find_attribute(self.model, self.model.reference(*r).entity, attribute)
        {
            let (many, node) = (
                many.clone(),
                Node::Instance(self.model.reference(*r).entity),
            );
            let mut cursor =
                self.unfold_from(scope, &cursor, many, node, Vec::new(), place, name.span)?;
            cursor.fresh = false;
            return Some(cursor);
        }
        if let Some(place) = find_attribute(self.model, entity, &name.text) {
            return Some(Cursor {
                place,
                fresh: false,
                ..cursor
            });
        }
        let root = self.model.entity(entity).root;
        if let Some(deadline) = self.model.entity(root).deadline
            && scope.hidden
            && self.model.attribute(deadline).name == name.text
        {
            let ty = self.model.attribute(deadline).ty.clone();
            return Some(Cursor {
                place: Place::Value(Leaf::Attribute(deadline, vec![]), ty),
                fresh: false,
                ..cursor
            });
        }
        if scope.hidden && name.text == WHOLE_KEY {
            cursor.fresh = false;
            cursor.place = Place::Value(Leaf::Key, Type::Key(entity));
            return Some(cursor);
        }
        if name.text == "type" && !self.model.entity(root).subtypes.is_empty() {
            return Some(Cursor {
                place: Place::Value(Leaf::Type, Type::Tag(root)),
                fresh: false,
                ..cursor
            });
        }
        if self.later.trees.contains(&root) && ["depth", "path"].contains(&name.text.as_str()) {
            return self.not_yet(name.span, "trees");
        }
        if self.later.words.contains(&root) && name.text == "score" {
            return self.not_yet(name.span, "text search");
        }
        let message = format!(
            "`{}` has no field `{}`",
            self.model.entity(entity).name,
            name.text
        );
        let names = names_of(self.model, entity);
        let help = format!("it has {}", list(&names));
        let found = Diagnostic::new(codes::UNKNOWN_NAME, name.span, message);
        let found = found.suggest(&name.text, names.iter().map(String::as_str), &help);
        self.fail(found)
    }

    fn step_from_value(
        &mut self,
        scope: &mut Scope,
        mut cursor: Cursor,
        leaf: Leaf,
        ty: &Type,
        name: &Name,
    ) -> Option<Cursor> {
        cursor.fresh = false;
        match (&leaf, ty) {
            (Leaf::Attribute(..) | Leaf::Element(_), Type::Record(fields)) => {
                if let Some(at) = fields.iter().position(|f| f.name == name.text) {
                    let field = fields.get(at)?.ty.clone();
                    let leaf = match leaf {
                        Leaf::Attribute(a, path) => Leaf::Attribute(a, extended(path, at)),
                        Leaf::Element(path) => Leaf::Element(extended(path, at)),
                        other => other,
                    };
                    cursor.place = Place::Value(leaf, field);
                    return Some(cursor);
                }
            }
            (Leaf::Element(path), Type::Key(entity)) => {
                cursor.element.clone_from(path);
                cursor.steps = Vec::new();
                return self.step_from_instance(scope, cursor, *entity, name);
            }
            (Leaf::Attribute(..), Type::Key(_)) => {
                return self.not_yet(
                    name.span,
                    "following a reference inside a record that is not in a collection",
                );
            }
            _ => {}
        }
        if let (Leaf::Element(path), Some(Node::Element { collection, .. })) =
            (&leaf, scope.nodes.get(usize::from(cursor.node)))
            && path.is_empty()
        {
            let place = match (collection, name.text.as_str()) {
                (Type::Map(key, ..), "key") => Some(Place::Value(Leaf::MapKey, (**key).clone())),
                (collection, "value") => collection
                    .element()
                    .map(|value| Place::Value(leaf.clone(), value.clone())),
                (Type::List(..), "position") => Some(Place::Value(Leaf::Position, Type::BigInt)),
                _ => None,
            };
            if let Some(place) = place {
                return Some(Cursor { place, ..cursor });
            }
        }
        let message = format!(
            "a {} has no field `{}`",
            typing::name(self.model, ty),
            name.text
        );
        let found = Diagnostic::new(codes::UNKNOWN_NAME, name.span, message);
        let found = match ty {
            Type::Record(fields) => {
                let names: Vec<String> = fields.iter().map(|f| f.name.clone()).collect();
                let help = format!("it has {}", list(&names));
                found.suggest(&name.text, fields.iter().map(|f| f.name.as_str()), &help)
            }
            _ => found.help("end the path before it"),
        };
        self.fail(found)
    }

    /// The value at the end of a walk. A reference is its key: the scalar where that is one, unless
    /// a key is expected.
    pub(super) fn read(&self, cursor: Cursor, expected: Option<&Type>) -> (Expr, Type) {
        let Cursor {
            node,
            element,
            steps,
            place,
            ..
        } = cursor;
        let whole = matches!(expected, Some(Type::Key(_)));
        let (leaf, ty, element, steps) = match place {
            Place::Instance(entity) => match self.single(entity).filter(|_| !whole) {
                Some(key) => {
                    let steps = steps.into_iter().chain(key.steps).collect();
                    let ty = self.model.attribute(key.attribute).ty.clone();
                    (Leaf::Attribute(key.attribute, vec![]), ty, element, steps)
                }
                None => (Leaf::Key, Type::Key(entity), element, steps),
            },
            Place::Value(Leaf::Element(path), Type::Key(entity)) if !whole => {
                match self.single(entity) {
                    Some(key) => {
                        let ty = self.model.attribute(key.attribute).ty.clone();
                        (Leaf::Attribute(key.attribute, vec![]), ty, path, key.steps)
                    }
                    None => (Leaf::Element(path), Type::Key(entity), element, steps),
                }
            }
            Place::Value(leaf, ty) => (leaf, ty, element, steps),
            Place::Nothing => (Leaf::Key, Type::Any, element, steps),
        };
        (
            Expr::Path {
                node,
                element,
                steps,
                leaf,
            },
            ty,
        )
    }

    fn single(&self, entity: EntityId) -> Option<KeyLeaf> {
        let mut leaves = self.model.key_leaves(entity);
        if leaves.len() == 1 {
            leaves.pop()
        } else {
            None
        }
    }

    /// True if a path of this one name leads somewhere.
    pub(super) fn knows(&self, scope: &Scope, name: &str) -> bool {
        match &scope.here.place {
            Place::Nothing => false,
            Place::Instance(entity) => {
                find_side(self.model, *entity, name).is_some()
                    || find_attribute(self.model, *entity, name).is_some()
                    || name.contains('@')
                    || (name == "type" && !self.model.root(*entity).subtypes.is_empty())
            }
            Place::Value(_, ty) => match ty {
                Type::Record(fields) => fields.iter().any(|f| f.name == name),
                Type::Key(entity) => {
                    find_side(self.model, *entity, name).is_some()
                        || find_attribute(self.model, *entity, name).is_some()
                }
                _ => matches!(name, "key" | "value" | "position"),
            },
        }
    }
}

fn extended(mut path: Vec<u16>, at: usize) -> Vec<u16> {
    path.push(at as u16);
    path
}

fn find_side<'m>(model: &'m Model, entity: EntityId, name: &str) -> Option<&'m Side> {
    let own = model.entity(entity).sides.iter();
    let below = model
        .entity(entity)
        .subtypes
        .iter()
        .flat_map(|&s| &model.entity(s).sides);
    own.chain(below).find(|s| s.name == name)
}

fn find_attribute(model: &Model, entity: EntityId, name: &str) -> Option<Place> {
    let family = hierarchy::family(model, entity);
    hierarchy::fields_of(model, entity, &family)
        .into_iter()
        .find_map(|(_, field)| match field {
            Field::Attribute(a) if model.attribute(a).name == name => Some(Place::Value(
                Leaf::Attribute(a, vec![]),
                model.attribute(a).ty.clone(),
            )),
            _ => None,
        })
}

fn names_of(model: &Model, entity: EntityId) -> Vec<String> {
    let family = hierarchy::family(model, entity);
    let mut names: Vec<String> = hierarchy::fields_of(model, entity, &family)
        .into_iter()
        .map(|(_, f)| hierarchy::field_name(model, f).to_owned())
        .collect();
    let sides = family.iter().flat_map(|&e| &model.entity(e).sides);
    for side in sides {
        if !names.contains(&side.name) {
            names.push(side.name.clone());
        }
    }
    names
}

/// Names for a help line, not too many.
fn list(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|n| format!("`{n}`")).collect();
    let more = if names.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}
