//! Volumes: how many, how wide, on average. They price a design; `worst.rs` proves its limits.

use super::target::Rules;
use super::widths::collection;
use crate::model::{
    EntityId, Expr, Field, Function, Leaf, Many, Model, NodeId, ReferenceId, Statement, Type,
    Unfold,
};
use crate::value::Value;
use crate::view::typing::{NodeType, Scope};
use crate::view::{Kind, Structure};
use std::collections::BTreeMap;

/// Distinct elements of a collection of which nothing is stated.
const ELEMENTS: f64 = 1e6;
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Volumes of one model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stats<'a> {
    pub(crate) model: &'a Model,
    pub(crate) rules: &'a Rules,
}

/// An average and a maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    pub(crate) avg: f64,
    pub(crate) max: f64,
}

/// None of something.
pub(crate) const NONE: Extent = Extent { avg: 0.0, max: 0.0 };

impl Extent {
    /// This and another.
    pub(crate) fn and(self, other: Extent) -> Extent {
        Extent {
            avg: self.avg + other.avg,
            max: self.max + other.max,
        }
    }

    /// As often as another.
    pub(crate) fn times(self, other: Extent) -> Extent {
        Extent {
            avg: self.avg * other.avg,
            max: self.max * other.max,
        }
    }
}

impl Stats<'_> {
    pub(crate) fn count(&self, entity: EntityId) -> f64 {
        self.model.root(entity).count.max(1.0)
    }

    /// How many elements one unfold yields per parent.
    pub(crate) fn fan(&self, unfold: &Unfold, scope: &Scope) -> Extent {
        match &unfold.many {
            Many::Back(r) if unfold.steps.last() == Some(r) => self.there_and_back(*r),
            Many::Back(r) => self.referrers(*r),
            Many::Elements(a, path) => {
                collection(crate::view::typing::inner(&self.model.attribute(*a).ty, path).0)
            }
            Many::ElementElements(path) => match scope.node(unfold.parent) {
                NodeType::Element(ty, _) => collection(crate::view::typing::inner(&ty, path).0),
                NodeType::Instance(_) => Extent { avg: 1.0, max: 1.0 },
            },
        }
    }

    /// Referrers of what a referrer refers to: itself, and as many others as there are of any; none
    /// where it refers to nothing.
    pub(crate) fn there_and_back(&self, reference: ReferenceId) -> Extent {
        let r = self.model.reference(reference);
        let Extent { avg, max } = self.referrers(reference);
        let linked = avg * self.count(r.target) / self.count(r.entity);
        Extent {
            avg: (avg + 1.0).min(max) * linked.min(1.0),
            max,
        }
    }

    /// Referrers per target.
    pub(crate) fn referrers(&self, reference: ReferenceId) -> Extent {
        let r = self.model.reference(reference);
        Extent {
            avg: r.avg.max(1e-9),
            max: r.max.max(1.0),
        }
    }

    /// Distinct values of an expression over the rows of a scope whose node 0 is the anchor.
    pub(crate) fn cardinality(&self, scope: &Scope, expr: &Expr) -> f64 {
        match expr {
            Expr::Path {
                node,
                steps,
                leaf,
                element,
            } => {
                let owner = match steps.last() {
                    Some(&step) => Some(self.model.reference(step).target),
                    None => match scope.node(*node) {
                        NodeType::Instance(e) => Some(e),
                        NodeType::Element(ref ty, _) => {
                            match crate::view::typing::inner(ty, element).0 {
                                Type::Key(e) if !element.is_empty() => Some(*e),
                                _ => None,
                            }
                        }
                    },
                };
                let (ty, _) = scope.type_of(self.model, &[], expr);
                let Some(owner) = owner else {
                    return self.element_values(scope, expr).unwrap_or(ELEMENTS);
                };
                let count = self.count(owner);
                match leaf {
                    Leaf::Attribute(a, _) => {
                        let attribute = self.model.attribute(*a);
                        let stated = if attribute.unique {
                            Some(count)
                        } else {
                            attribute.cardinality
                        };
                        // What the database numbers itself is no attribute that rules speak of.
                        let hidden = self
                            .model
                            .is_hidden(self.model.entity(owner).root, Field::Attribute(*a));
                        let ruled = self.rules.cardinality(&ty).filter(|_| !hidden);
                        match ruled.or(stated) {
                            Some(stated) => stated.max(1.0),
                            None => type_cardinality(self.model, &ty, count),
                        }
                    }
                    Leaf::Key => count,
                    Leaf::Type => {
                        self.model.type_members(self.model.entity(owner).root).len() as f64
                    }
                    Leaf::Element(_) | Leaf::Position | Leaf::MapKey => count,
                }
            }
            // A hash of few values has no more values than these.
            Expr::Call(Function::Hash, args) => {
                let of = args.first().map_or(1.0, |a| self.cardinality(scope, a));
                match args.get(1) {
                    Some(Expr::Const(crate::value::Value::Int(n))) => of.min(*n as f64),
                    _ => of.min(16.0),
                }
            }
            Expr::Call(function, args) => {
                let inner = args.first().map_or(1.0, |a| self.cardinality(scope, a));
                let buckets = match function {
                    Function::Minute => self.span(scope, args) / 60.0,
                    Function::Hour => self.span(scope, args) / 3_600.0,
                    Function::Day => self.span(scope, args) / DAY,
                    Function::Month => self.span(scope, args) / (30.4 * DAY),
                    Function::Year => self.span(scope, args) / (365.0 * DAY),
                    _ => f64::MAX,
                };
                inner.min(buckets.max(1.0))
            }
            Expr::Const(_) => 1.0,
            _ => 1000.0,
        }
    }

    /// Distinct values of a collection's elements, or of a part of them, as far as that is stated: of
    /// a map the keys are what its attribute counts, of a list or set the elements.
    pub(crate) fn element_values(&self, scope: &Scope, expr: &Expr) -> Option<f64> {
        let Expr::Path { node, leaf, .. } = expr else {
            return None;
        };
        let map = matches!(scope.node(*node), NodeType::Element(_, Some(_)));
        let counted = match leaf {
            Leaf::Element(_) => !map,
            Leaf::MapKey => true,
            _ => false,
        };
        let attribute = scope.collection(*node).filter(|_| counted);
        let stated = attribute.and_then(|a| self.model.attribute(a).cardinality);
        let (ty, _) = scope.type_of(self.model, &[], expr);
        let of_type = self.model.values_of(&ty);
        match (stated, of_type) {
            (Some(a), Some(b)) => Some(a.min(b).max(1.0)),
            (a, b) => a.or(b).map(|n| n.max(1.0)),
        }
    }

    /// Distinct values of several expressions together. What is reached through an instance has no
    /// more values together than there are such instances: the two parts of a composite key name as
    /// many as there are, not as many as there are pairs. What follows from the others (a salt of a
    /// value that is given, the day of an hour) divides nothing that they have not divided.
    pub(crate) fn values<'e>(
        &self,
        scope: &Scope,
        exprs: impl Iterator<Item = &'e Expr> + Clone,
    ) -> f64 {
        let mut product = 1.0;
        let mut nodes: BTreeMap<NodeId, Vec<(&[ReferenceId], f64)>> = BTreeMap::new();
        for e in exprs.clone() {
            let number = super::popular_key::split_by(self.model, e).is_some();
            if (number || matches!(e, Expr::Call(..))) && self.follows(scope, e, &exprs) {
                continue;
            }
            let path = match e {
                Expr::Call(function, args) if *function != Function::Hash => args.first(),
                _ if number => None,
                other => Some(other),
            };
            let cardinality = self.cardinality(scope, e).max(1.0);
            match path {
                Some(Expr::Path {
                    node,
                    steps,
                    element,
                    ..
                }) if self.rules.joint && element.is_empty() => {
                    nodes.entry(*node).or_default().push((steps, cardinality));
                }
                _ => product *= cardinality,
            }
        }
        for (node, paths) in nodes {
            product *= match scope.node(node) {
                NodeType::Instance(entity) => self.joint(entity, &paths),
                NodeType::Element(..) => paths.iter().map(|(_, n)| n).product(),
            };
        }
        product
    }

    /// Whether a value follows from others among which it may be itself: from the arguments of a
    /// function, from a finer rounding of the same time, or from what names the instance it is of.
    pub(crate) fn follows<'e>(
        &self,
        scope: &Scope,
        expr: &Expr,
        others: &(impl Iterator<Item = &'e Expr> + Clone),
    ) -> bool {
        let given = |wanted: &Expr| others.clone().any(|o| o == wanted);
        match expr {
            Expr::Const(_) => true,
            Expr::Path {
                node,
                steps,
                element,
                ..
            } if element.is_empty() => (0..=steps.len()).any(|n| {
                let way = steps.get(..n).unwrap_or_default();
                let instance = match way.last() {
                    Some(&step) => Some(self.model.reference(step).target),
                    None => match scope.node(*node) {
                        NodeType::Instance(entity) => Some(entity),
                        NodeType::Element(..) => None,
                    },
                };
                instance.is_some_and(|entity| self.named(entity, *node, way, &given))
            }),
            Expr::Call(f, args) => {
                let finer = |o: &Expr| match o {
                    Expr::Call(g, of) => {
                        g != f && f.rounds_time() && g.rounds_time() && of == args && {
                            let [of] = args.as_slice() else { return false };
                            super::spread::bucket_follows(o, *f, of)
                        }
                    }
                    _ => false,
                };
                others.clone().any(finer)
                    || args
                        .iter()
                        .all(|a| given(a) || self.follows(scope, a, others))
            }
            _ => false,
        }
    }

    /// Whether what is given names one instance, at the end of a way: by its key or by something
    /// unique.
    pub(crate) fn named(
        &self,
        entity: EntityId,
        node: NodeId,
        way: &[ReferenceId],
        given: &impl Fn(&Expr) -> bool,
    ) -> bool {
        let path = |leaf| Expr::Path {
            node,
            element: vec![],
            steps: way.to_vec(),
            leaf,
        };
        self.key_given(entity, node, way, given)
            || given(&path(Leaf::Key))
            || self.model.root(entity).fields.iter().any(|f| match f {
                Field::Attribute(a) => {
                    self.model.attribute(*a).unique && given(&path(Leaf::Attribute(*a, vec![])))
                }
                Field::Type | Field::Reference(_) => false,
            })
    }

    /// Distinct values of paths from an instance of the entity, each with its own number of them.
    fn joint(&self, entity: EntityId, paths: &[(&[ReferenceId], f64)]) -> f64 {
        let mut product = 1.0;
        let mut onwards: BTreeMap<ReferenceId, Vec<(&[ReferenceId], f64)>> = BTreeMap::new();
        for (steps, own) in paths {
            match steps.split_first() {
                None => product *= own,
                Some((first, rest)) => onwards.entry(*first).or_default().push((rest, *own)),
            }
        }
        for (reference, paths) in onwards {
            product *= self.joint(self.model.reference(reference).target, &paths);
        }
        product.min(self.count(entity))
    }

    /// Seconds between the earliest and the latest of the times: how long an instance lives, else
    /// how long it takes to insert as many as there are.
    fn span(&self, scope: &Scope, times: &[Expr]) -> f64 {
        self.time_of(scope, times)
            .and_then(|e| self.lifetime(e))
            .unwrap_or(10.0 * 365.0 * DAY)
    }

    /// The entity whose time is rounded.
    pub(crate) fn time_of(&self, scope: &Scope, times: &[Expr]) -> Option<EntityId> {
        let time = match times {
            [Expr::Call(_, args)] => args.first(),
            times => times.first(),
        };
        match time {
            Some(Expr::Path { node, steps, .. }) => match steps.last() {
                Some(&step) => Some(self.model.reference(step).target),
                None => match scope.node(*node) {
                    NodeType::Instance(e) => Some(e),
                    NodeType::Element(..) => None,
                },
            },
            _ => None,
        }
    }

    pub(crate) fn lifetime(&self, entity: EntityId) -> Option<f64> {
        let root = self.model.entity(entity).root;
        if let Some(millis) = self.model.entity(root).expires {
            return Some(millis as f64 / 1000.0);
        }
        if !self.model.timed {
            return None;
        }
        let inserts = |s: &Statement| matches!(s, Statement::Insert { entity, .. } if self.model.entity(*entity).root == root);
        let rate: f64 = self
            .model
            .changes
            .iter()
            .filter(|c| c.statements.iter().any(inserts))
            .filter_map(|c| c.rates.get(self.model.mix))
            .sum();
        (rate > 0.0).then(|| self.count(root) / rate)
    }

    /// The share of instances that are of some types, where a path tells the type and the types are
    /// constants: as many as the model states of each.
    pub(crate) fn of_types<'e>(
        &self,
        scope: &Scope,
        path: &Expr,
        types: impl Iterator<Item = &'e Expr>,
    ) -> Option<f64> {
        let Expr::Path {
            node,
            steps,
            leaf: Leaf::Type,
            ..
        } = path
        else {
            return None;
        };
        let entity = match (steps.last(), scope.node(*node)) {
            (Some(step), _) => self.model.reference(*step).target,
            (None, NodeType::Instance(entity)) => entity,
            (None, NodeType::Element(..)) => return None,
        };
        let mut share = 0.0;
        for of in types {
            let Expr::Const(Value::Enum(tag)) = of else {
                return None;
            };
            share += self.of_type(entity, *tag)?;
        }
        Some(share.min(1.0))
    }

    /// The share of instances of a hierarchy that are of the concrete type of a tag.
    pub(crate) fn of_type(&self, entity: EntityId, tag: u16) -> Option<f64> {
        let root = self.model.entity(entity).root;
        let of = *self.model.type_members(root).get(usize::from(tag))?;
        let below = &self.model.entity(of).subtypes;
        let directly = below.iter().filter(|e| {
            let mut between = below.iter();
            !between.any(|b| self.model.entity(*b).subtypes.contains(e))
        });
        let subtypes: f64 = directly.map(|e| self.model.entity(*e).count).sum();
        let all = self.count(root).max(1.0);
        let own = self.model.entity(of).count - subtypes;
        Some((own / all).clamp(1.0 / all, 1.0))
    }

    /// Bindings of a structure, before grouping.
    pub(crate) fn bindings(&self, s: &Structure) -> f64 {
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let fan: f64 = s.over.iter().map(|u| self.fan(u, &scope).avg).product();
        let pass = self.passes(&scope, &s.filter);
        (self.count(s.anchor) * fan * pass).max(0.0)
    }

    /// Distinct values of several parts of a structure's key together, in that structure: of each, as
    /// many as what it says of the part leaves.
    pub(crate) fn values_in<'e>(
        &self,
        s: &Structure,
        parts: impl Iterator<Item = &'e Expr> + Clone,
    ) -> f64 {
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let one = |e: &Expr| {
            let mut kept = s.filter.iter();
            kept.any(|p| self.equality(&scope, p) == Some(e))
        };
        let several = parts.filter(|e| !one(e));
        let kept = several.clone().map(|e| self.kept_of(&scope, &s.filter, e));
        let kept: f64 = kept.product();
        (self.values(&scope, several) * kept).max(1.0)
    }

    /// Rows of a structure.
    pub(crate) fn rows(&self, s: &Structure) -> f64 {
        let bindings = self.bindings(s);
        match s.kind {
            Kind::Lists => bindings,
            Kind::Groups => bindings.min(self.values_in(s, s.key())),
        }
    }

    /// Rows per value of the given key parts.
    pub(crate) fn rows_per(&self, s: &Structure, bound: &[&Expr]) -> f64 {
        let rows = self.rows(s);
        let values = self.values_in(s, bound.iter().copied());
        rows_each(rows, values, s.key().all(|e| bound.contains(&e)))
    }

    /// Whether the whole key of the instance at the end of a way is given.
    fn key_given(
        &self,
        entity: EntityId,
        node: NodeId,
        way: &[ReferenceId],
        given: &impl Fn(&Expr) -> bool,
    ) -> bool {
        self.model.key_leaves(entity).into_iter().all(|leaf| {
            given(&Expr::Path {
                node,
                element: vec![],
                steps: way.iter().copied().chain(leaf.steps).collect(),
                leaf: Leaf::Attribute(leaf.attribute, vec![]),
            })
        })
    }

    /// The key of the instance that a path names by something unique or as a whole.
    pub(crate) fn identified(&self, entity: EntityId, path: &Expr) -> Vec<Expr> {
        let Expr::Path {
            node: 0,
            element,
            steps,
            leaf,
        } = path
        else {
            return vec![];
        };
        let unique = match leaf {
            Leaf::Key => true,
            Leaf::Attribute(a, inner) => inner.is_empty() && self.model.attribute(*a).unique,
            _ => false,
        };
        if !unique || !element.is_empty() {
            return vec![];
        }
        let end = steps
            .last()
            .map_or(entity, |r| self.model.reference(*r).target);
        let leaves = self.model.key_leaves(end).into_iter();
        leaves
            .map(|leaf| Expr::Path {
                node: 0,
                element: vec![],
                steps: steps.iter().copied().chain(leaf.steps).collect(),
                leaf: Leaf::Attribute(leaf.attribute, vec![]),
            })
            .collect()
    }

    /// The fields of an entity's row that are not in its key. The number of a sub-partition is not
    /// among them: it is a fact only where a design splits, and has its home then.
    pub(crate) fn value_fields(&self, entity: EntityId) -> Vec<Field> {
        let root = self.model.root(entity);
        let number = |f: &Field| matches!(f, Field::Attribute(a) if self.model.split(*a).is_some());
        let fields = root
            .fields
            .iter()
            .enumerate()
            .filter(|(i, f)| !root.key.contains(i) && !number(f));
        fields.map(|(_, f)| *f).collect()
    }
}

fn type_cardinality(model: &Model, ty: &Type, count: f64) -> f64 {
    model.values_of(ty).unwrap_or(count)
}

/// Rows for each of so many values of key parts, at most one where these are the whole key.
pub(crate) fn rows_each(rows: f64, values: f64, whole: bool) -> f64 {
    let per = (rows / values.max(1.0)).min(rows);
    if whole { per.min(1.0) } else { per }
}
