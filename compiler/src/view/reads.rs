//! Which facts a structure reads, and from where: the static half of maintenance.

use super::Structure;
use super::typing::{NodeType, Scope, attribute_slot};
use crate::model::{EntityId, Expr, Field, Leaf, Many, Model, NodeId, Pred, ReferenceId, Unfold};
use std::collections::{BTreeMap, BTreeSet};

/// One step of a route from the anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteStep {
    /// To the target of a reference.
    One(ReferenceId),
    /// To those that refer by a reference.
    Back(ReferenceId),
}

/// A route from one instance to others; empty for the instance itself.
pub type Route = Vec<RouteStep>;

/// What is read at the end of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The root or link that is read there.
    pub entity: EntityId,
    /// Slots read there, key slots left out (they never change).
    pub slots: BTreeSet<usize>,
}

/// All positions at which a structure reads facts, node by node. What a binding contributes can
/// change only if an instance at a position of one of *its* nodes appears, disappears or changes
/// one of the position's slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// By node id.
    pub nodes: Vec<NodeReads>,
}

/// What is read through one node of a structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReads {
    /// The node that it is unfolded from, and the route from there. None for the anchor, and for
    /// elements of collections: their facts are those of the instance that holds them.
    pub parent: Option<(NodeId, Route)>,
    /// Positions, by their route from the node.
    pub positions: BTreeMap<Route, Position>,
}

impl Reads {
    /// The references that are followed from the target to those that refer to it.
    pub fn walked_back(&self) -> impl Iterator<Item = ReferenceId> {
        let routes = self.nodes.iter().flat_map(|node| {
            let parent = node.parent.iter().map(|(_, route)| route);
            parent.chain(node.positions.keys())
        });
        routes.flatten().filter_map(|step| match step {
            RouteStep::Back(reference) => Some(*reference),
            RouteStep::One(_) => None,
        })
    }

    /// The route from the anchor to a node.
    fn route(&self, node: NodeId) -> Route {
        let node = self.nodes.get(node as usize);
        match node.and_then(|n| n.parent.as_ref()) {
            Some((parent, last)) => [self.route(*parent).as_slice(), last].concat(),
            None => vec![],
        }
    }
}

/// All positions at which a structure reads facts, by their route from the anchor.
pub fn reads(model: &Model, structure: &Structure) -> BTreeMap<Route, Position> {
    let reads = node_reads(model, structure);
    let mut found: BTreeMap<Route, Position> = BTreeMap::new();
    for (id, node) in reads.nodes.iter().enumerate() {
        let start = reads.route(id as NodeId);
        for (route, position) in &node.positions {
            // Two nodes may read at the same place.
            found
                .entry([start.as_slice(), route].concat())
                .or_insert_with(|| Position {
                    entity: position.entity,
                    slots: BTreeSet::new(),
                })
                .slots
                .extend(&position.slots);
        }
    }
    found
}

/// All positions at which a structure reads facts, node by node.
///
/// References inside elements of collections are not followed here: no structure copies over them
/// ([`super::elements`]).
pub fn node_reads(model: &Model, structure: &Structure) -> Reads {
    let mut reader = Reader {
        model,
        found: Reads::default(),
    };
    let root = model.entity(structure.anchor).root;
    let anchor = reader.node(None);
    reader.touch(&anchor, root);
    let mut places = vec![Some(anchor)];
    for unfold in &structure.over {
        let way = reader.unfold(&places, unfold);
        let found = way.is_some();
        let node = reader.node(way.map(|way| (way.node, way.route)));
        places.push(found.then_some(node));
        reader.refers(&places, unfold);
    }
    let scope = Scope::new(model, root, &structure.over);
    for pred in &structure.filter {
        reader.pred(&places, &scope, pred);
    }
    for expr in structure.values() {
        reader.expr(&places, &scope, expr);
    }
    reader.found
}

/// Where an instance is found: through which node of the structure, and on which route from it.
#[derive(Clone, Debug)]
struct Place {
    node: NodeId,
    route: Route,
}

/// The places of the nodes of a scope; none for elements of collections.
type Places = Vec<Option<Place>>;

struct Reader<'a> {
    model: &'a Model,
    found: Reads,
}

impl Reader<'_> {
    fn node(&mut self, parent: Option<(NodeId, Route)>) -> Place {
        let node = self.found.nodes.len() as NodeId;
        self.found.nodes.push(NodeReads {
            parent,
            positions: BTreeMap::new(),
        });
        Place {
            node,
            route: vec![],
        }
    }

    fn touch(&mut self, place: &Place, entity: EntityId) -> Option<&mut Position> {
        let entity = self.model.entity(entity).root;
        let node = self.found.nodes.get_mut(place.node as usize)?;
        let position = node.positions.entry(place.route.clone());
        Some(position.or_insert_with(|| Position {
            entity,
            slots: BTreeSet::new(),
        }))
    }

    fn slot(&mut self, place: &Place, entity: EntityId, field: Field) {
        let root = self.model.root(entity);
        if let Some(slot) = self.model.slot(entity, field) {
            let is_key = root.key.contains(&slot);
            let position = self.touch(place, entity);
            if let (Some(position), false) = (position, is_key) {
                position.slots.insert(slot);
            }
        }
    }

    fn walk(&mut self, place: &Place, steps: &[ReferenceId]) -> Place {
        let mut place = place.clone();
        for &step in steps {
            self.slot(
                &place,
                self.model.reference(step).entity,
                Field::Reference(step),
            );
            place.route.push(RouteStep::One(step));
        }
        place
    }

    /// Where the elements of an unfold are found from its parent's place.
    fn unfold(&mut self, places: &Places, unfold: &Unfold) -> Option<Place> {
        let parent = places.get(unfold.parent as usize)?.as_ref()?;
        match &unfold.many {
            Many::Back(reference) => {
                let mut place = self.walk(parent, &unfold.steps);
                place.route.push(RouteStep::Back(*reference));
                Some(place)
            }
            Many::Elements(attribute, _) => {
                let place = self.walk(parent, &unfold.steps);
                self.attribute(&place, *attribute);
                None
            }
            Many::ElementElements(_) => None,
        }
    }

    /// What makes the last node of a scope one of its unfold: that it refers to the parent.
    fn refers(&mut self, places: &Places, unfold: &Unfold) {
        if let (Some(Some(place)), Many::Back(reference)) = (places.last(), &unfold.many) {
            let entity = self.model.reference(*reference).entity;
            self.slot(place, entity, Field::Reference(*reference));
        }
    }

    fn attribute(&mut self, place: &Place, attribute: crate::model::AttributeId) {
        if attribute_slot(self.model, attribute).is_some() {
            let entity = self.model.attribute(attribute).entity;
            self.slot(place, entity, Field::Attribute(attribute));
        }
    }

    fn inner(
        &mut self,
        places: &Places,
        scope: &Scope,
        from: NodeId,
        over: &[Unfold],
    ) -> (Places, Scope) {
        let mut inner = vec![places.get(from as usize).cloned().flatten()];
        for unfold in over {
            let place = self.unfold(&inner, unfold);
            inner.push(place);
            self.refers(&inner, unfold);
        }
        (inner, scope.inner(self.model, from, over))
    }

    fn expr(&mut self, places: &Places, scope: &Scope, expr: &Expr) {
        match expr {
            Expr::Const(_) | Expr::Param(..) => {}
            Expr::Path {
                node, steps, leaf, ..
            } => {
                let Some(Some(start)) = places.get(*node as usize).cloned() else {
                    return;
                };
                // A key leaf of the last step's target is read off the reference itself.
                let place = self.walk(&start, steps);
                match leaf {
                    Leaf::Attribute(a, _) => {
                        let slot = attribute_slot(self.model, *a);
                        let root = self.model.root(self.model.attribute(*a).entity);
                        if slot.is_some_and(|s| !root.key.contains(&s)) {
                            self.attribute(&place, *a);
                        }
                    }
                    Leaf::Type => {
                        let entity = match steps.last() {
                            Some(&step) => self.model.reference(step).target,
                            None => match scope.node(*node) {
                                NodeType::Instance(e) => e,
                                NodeType::Element(..) => return,
                            },
                        };
                        self.slot(&place, entity, Field::Type);
                    }
                    Leaf::Key | Leaf::Element(_) | Leaf::Position | Leaf::MapKey => {}
                }
            }
            Expr::Binary(_, a, b) | Expr::At(a, b) => {
                self.expr(places, scope, a);
                self.expr(places, scope, b);
            }
            Expr::Call(_, args) => args.iter().for_each(|a| self.expr(places, scope, a)),
            Expr::Aggregate(a) => {
                let (places, scope) = if a.over.is_empty() {
                    (places.clone(), scope.clone())
                } else {
                    self.inner(places, scope, a.from, &a.over)
                };
                if let Some(arg) = &a.arg {
                    self.expr(&places, &scope, arg);
                }
            }
            Expr::Nested(from, query) => {
                let (places, scope) = self.inner(places, scope, *from, &query.over);
                query
                    .filter
                    .iter()
                    .for_each(|p| self.pred(&places, &scope, p));
                query
                    .select
                    .iter()
                    .for_each(|i| self.expr(&places, &scope, &i.expr));
                query
                    .order
                    .iter()
                    .for_each(|(e, _)| self.expr(&places, &scope, e));
                query
                    .group
                    .iter()
                    .flatten()
                    .for_each(|e| self.expr(&places, &scope, e));
            }
            Expr::Shape { present, items } => {
                self.expr(places, scope, present);
                items.iter().for_each(|i| self.expr(places, scope, &i.expr));
            }
        }
    }

    fn pred(&mut self, places: &Places, scope: &Scope, pred: &Pred) {
        match pred {
            Pred::And(all) | Pred::Or(all) => {
                all.iter().for_each(|p| self.pred(places, scope, p));
            }
            Pred::Not(p) => self.pred(places, scope, p),
            Pred::Compare(a, _, b) | Pred::InList(a, b) => {
                self.expr(places, scope, a);
                self.expr(places, scope, b);
            }
            Pred::In(a, list) => {
                self.expr(places, scope, a);
                list.iter().for_each(|e| self.expr(places, scope, e));
            }
            Pred::IsNull(a) => self.expr(places, scope, a),
            Pred::Exists { from, over, filter } => {
                let (places, scope) = self.inner(places, scope, *from, over);
                if let Some(filter) = filter {
                    self.pred(&places, &scope, filter);
                }
            }
        }
    }
}
