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

/// A route from the anchor; empty for the anchor itself.
pub type Route = Vec<RouteStep>;

/// What is read at the end of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The root or link that is read there.
    pub entity: EntityId,
    /// Slots read there, key slots left out (they never change).
    pub slots: BTreeSet<usize>,
}

/// All positions at which a structure reads facts, by route. A structure's rows can change only if
/// an instance at one of these positions appears, disappears or changes one of these slots.
///
/// References inside elements of collections are not followed here: no structure copies over them.
pub fn reads(model: &Model, structure: &Structure) -> BTreeMap<Route, Position> {
    let mut reads = Reads {
        model,
        found: BTreeMap::new(),
    };
    let root = model.entity(structure.anchor).root;
    reads.touch(&[], root);
    let scope = Scope::new(model, root, &structure.over);
    let routes = reads.unfolds(vec![Some(vec![])], &scope, &structure.over);
    for pred in &structure.filter {
        reads.pred(&routes, &scope, pred);
    }
    for expr in structure.values() {
        reads.expr(&routes, &scope, expr);
    }
    reads.found
}

/// Routes to the nodes of a scope; none for elements of collections.
type Routes = Vec<Option<Route>>;

struct Reads<'a> {
    model: &'a Model,
    found: BTreeMap<Route, Position>,
}

impl Reads<'_> {
    fn touch(&mut self, route: &[RouteStep], entity: EntityId) -> &mut Position {
        let entity = self.model.entity(entity).root;
        self.found
            .entry(route.to_vec())
            .or_insert_with(|| Position {
                entity,
                slots: BTreeSet::new(),
            })
    }

    fn slot(&mut self, route: &[RouteStep], entity: EntityId, field: Field) {
        let root = self.model.root(entity);
        if let Some(slot) = self.model.slot(entity, field) {
            let is_key = root.key.contains(&slot);
            let position = self.touch(route, entity);
            if !is_key {
                position.slots.insert(slot);
            }
        }
    }

    fn walk(&mut self, route: &Route, steps: &[ReferenceId]) -> Route {
        let mut route = route.clone();
        for &step in steps {
            self.slot(
                &route,
                self.model.reference(step).entity,
                Field::Reference(step),
            );
            route.push(RouteStep::One(step));
        }
        route
    }

    fn unfolds(&mut self, mut routes: Routes, scope: &Scope, over: &[Unfold]) -> Routes {
        for unfold in over {
            let parent = routes.get(unfold.parent as usize).cloned().flatten();
            let next = match (&unfold.many, parent) {
                (Many::Back(r), Some(parent)) => {
                    let mut route = self.walk(&parent, &unfold.steps);
                    route.push(RouteStep::Back(*r));
                    self.slot(
                        &route,
                        self.model.reference(*r).entity,
                        Field::Reference(*r),
                    );
                    Some(route)
                }
                (Many::Elements(a, _), Some(parent)) => {
                    let route = self.walk(&parent, &unfold.steps);
                    self.attribute(&route, *a);
                    None
                }
                _ => None,
            };
            routes.push(next);
        }
        debug_assert!(matches!(
            scope.node(0),
            NodeType::Instance(_) | NodeType::Element(..)
        ));
        routes
    }

    fn attribute(&mut self, route: &[RouteStep], attribute: crate::model::AttributeId) {
        if attribute_slot(self.model, attribute).is_some() {
            let entity = self.model.attribute(attribute).entity;
            self.slot(route, entity, Field::Attribute(attribute));
        }
    }

    fn inner(
        &mut self,
        routes: &Routes,
        scope: &Scope,
        from: NodeId,
        over: &[Unfold],
    ) -> (Routes, Scope) {
        let start = routes.get(from as usize).cloned().flatten();
        let inner = scope.inner(self.model, from, over);
        (self.unfolds(vec![start], &inner, over), inner)
    }

    fn expr(&mut self, routes: &Routes, scope: &Scope, expr: &Expr) {
        match expr {
            Expr::Const(_) | Expr::Param(..) => {}
            Expr::Path {
                node, steps, leaf, ..
            } => {
                let Some(Some(start)) = routes.get(*node as usize).cloned() else {
                    return;
                };
                // A key leaf of the last step's target is read off the reference itself.
                let route = self.walk(&start, steps);
                match leaf {
                    Leaf::Attribute(a, _) => {
                        let slot = attribute_slot(self.model, *a);
                        let root = self.model.root(self.model.attribute(*a).entity);
                        if slot.is_some_and(|s| !root.key.contains(&s)) {
                            self.attribute(&route, *a);
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
                        self.slot(&route, entity, Field::Type);
                    }
                    Leaf::Key | Leaf::Element(_) | Leaf::Position | Leaf::MapKey => {}
                }
            }
            Expr::Binary(_, a, b) | Expr::At(a, b) => {
                self.expr(routes, scope, a);
                self.expr(routes, scope, b);
            }
            Expr::Call(_, args) => args.iter().for_each(|a| self.expr(routes, scope, a)),
            Expr::Aggregate(a) => {
                let (routes, scope) = if a.over.is_empty() {
                    (routes.clone(), scope.clone())
                } else {
                    self.inner(routes, scope, a.from, &a.over)
                };
                if let Some(arg) = &a.arg {
                    self.expr(&routes, &scope, arg);
                }
            }
            Expr::Nested(from, query) => {
                let (routes, scope) = self.inner(routes, scope, *from, &query.over);
                query
                    .filter
                    .iter()
                    .for_each(|p| self.pred(&routes, &scope, p));
                query
                    .select
                    .iter()
                    .for_each(|i| self.expr(&routes, &scope, &i.expr));
                query
                    .order
                    .iter()
                    .for_each(|(e, _)| self.expr(&routes, &scope, e));
                query
                    .group
                    .iter()
                    .flatten()
                    .for_each(|e| self.expr(&routes, &scope, e));
            }
            Expr::Shape { present, items } => {
                self.expr(routes, scope, present);
                items.iter().for_each(|i| self.expr(routes, scope, &i.expr));
            }
        }
    }

    fn pred(&mut self, routes: &Routes, scope: &Scope, pred: &Pred) {
        match pred {
            Pred::And(all) | Pred::Or(all) => {
                all.iter().for_each(|p| self.pred(routes, scope, p));
            }
            Pred::Not(p) => self.pred(routes, scope, p),
            Pred::Compare(a, _, b) | Pred::InList(a, b) => {
                self.expr(routes, scope, a);
                self.expr(routes, scope, b);
            }
            Pred::In(a, list) => {
                self.expr(routes, scope, a);
                list.iter().for_each(|e| self.expr(routes, scope, e));
            }
            Pred::IsNull(a) => self.expr(routes, scope, a),
            Pred::Exists { from, over, filter } => {
                let (routes, scope) = self.inner(routes, scope, *from, over);
                if let Some(filter) = filter {
                    self.pred(&routes, &scope, filter);
                }
            }
        }
    }
}
