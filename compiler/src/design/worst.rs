//! Worst cases: the most rows that share a value, and the numbers of the model that allow them.
//! Limits are held against these, so nothing is taken for rare that the model does not say to be:
//! of an attribute whose number of values is not stated, all instances may have the same one.

use super::popular_key::totals;
use super::spread::spread;
use super::stats::{Extent, Stats};
use crate::model::{
    AttributeId, Compare, EntityId, Expr, Leaf, Many, Model, NodeId, Pred, ReferenceId, Sequence,
    Statement,
};
use crate::view::typing::{NodeType, Scope};
use crate::view::{Kind, Structure};

/// Where a maximum is not stated, it is this many times the average.
pub(crate) const MAX_OVER_AVG: f64 = 100.0;

/// The most of something, and what makes it as many.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Most {
    pub(crate) rows: f64,
    /// Each with what it contributes; a smaller one would make fewer rows.
    pub(crate) by: Vec<(Number, f64)>,
}

/// A number of the model, or the want of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// Instances of an entity.
    Count(EntityId),
    /// Those that refer to one and the same.
    Referrers(ReferenceId),
    /// Instances that share a value of an attribute.
    Sharing(AttributeId),
    /// Elements of a collection.
    Elements(AttributeId),
    /// Instances inserted in a second, of which a bucket of time takes what its width allows.
    Pace(EntityId),
}

impl Most {
    /// One row, whatever the model states.
    fn one() -> Most {
        Most {
            rows: 1.0,
            by: vec![],
        }
    }

    fn of(number: Number, rows: f64) -> Most {
        Most {
            rows,
            by: vec![(number, rows)],
        }
    }

    fn times(mut self, other: Most) -> Most {
        self.rows *= other.rows;
        self.by.extend(other.by);
        self
    }

    fn least(a: Most, b: Most) -> Most {
        if b.rows < a.rows { b } else { a }
    }
}

impl Stats<'_> {
    /// The rows of a structure's largest partition.
    pub(crate) fn largest(&self, s: &Structure) -> Most {
        let bound: Vec<&Expr> = s.partition.iter().collect();
        if s.clustering.iter().all(|(e, _)| bound.contains(&e)) {
            return Most::one();
        }
        let mut most = self.most_bound(s, bound.len());
        if s.kind == Kind::Groups {
            let scope = Scope::new(self.model, s.anchor, &s.over);
            let free = s.key().filter(|e| !bound.contains(e));
            // What a salt or a bucket is of is divided by it.
            let pieces = bound
                .iter()
                .skip(spread(self.model, s).map_or(bound.len(), |s| s.before));
            let divided = pieces.filter(|part| self.follows(&scope, part, &free));
            let pieces: f64 = divided.map(|part| self.cardinality(&scope, part)).product();
            most.rows = most.rows.min(match totals(self.model, s) {
                Some(split) => split.most,
                None if free.clone().all(|e| self.is_bounded(&scope, e)) => {
                    // No value is one too.
                    let optional = |e: &&Expr| scope.type_of(self.model, &[], e).1;
                    let absent = free.clone().filter(optional);
                    let absent = absent.map(|e| 1.0 + 1.0 / self.cardinality(&scope, e).max(1.0));
                    (self.values(&scope, free) * absent.product::<f64>() / pieces).ceil()
                }
                None => f64::INFINITY,
            });
        }
        most.rows = most.rows.max(1.0);
        most
    }

    /// The most bindings that share one value of the first parts of a structure's key: what spreads
    /// a partition divides the largest one too.
    pub(crate) fn most_bound(&self, s: &Structure, bound: usize) -> Most {
        let spread = spread(self.model, s);
        let before = spread.as_ref().map_or(s.partition.len(), |s| s.before);
        let pieces = before..s.partition.len();
        let key: Vec<&Expr> = s.key().take(bound).collect();
        let shared = key
            .iter()
            .enumerate()
            .filter(|(at, _)| !pieces.contains(at));
        let shared: Vec<&Expr> = shared.map(|(_, part)| *part).collect();
        let mut most = self.most(s, &shared);
        // Counts that allow no fewer than they make on average outdo what contradicts them.
        let usual = self.rows_per(s, &shared);
        if usual > most.rows {
            most = Most::of(Number::Count(s.anchor), usual);
        }
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let split = spread.as_ref().and_then(|s| s.split);
        for part in s.partition.iter().take(bound).skip(before) {
            if let Some(split) = split {
                most.rows = most.rows.min(split.capacity as f64);
            } else if !self.follows(&scope, part, &key.iter().copied()) {
                most.rows /= self.cardinality(&scope, part);
                self.pace(&scope, part, &mut most);
            }
        }
        most
    }

    /// Whether the number of values that prices count with is also the most that there can be.
    fn is_bounded(&self, scope: &Scope, expr: &Expr) -> bool {
        match expr {
            Expr::Path { node, leaf, .. } => match (scope.node(*node), leaf) {
                (NodeType::Element(..), Leaf::Element(_) | Leaf::Position | Leaf::MapKey) => {
                    self.element_values(scope, expr).is_some()
                }
                _ => true,
            },
            Expr::Call(_, args) => args.iter().all(|e| self.is_bounded(scope, e)),
            _ => true,
        }
    }

    /// Where how often instances are inserted says how long they take, there are as many buckets as
    /// that takes: fewer instances are in fewer buckets, which are no smaller.
    fn pace(&self, scope: &Scope, part: &Expr, most: &mut Most) {
        // The hash of a key is no bucket of time: how often instances come does not make it smaller.
        let times = match part {
            Expr::Call(width, times) if width.rounds_time() => times,
            _ => return,
        };
        let Some(owner) = self.time_of(scope, times) else {
            return;
        };
        // Where there are few times, there are no more buckets, however long it takes.
        let times = times.first().map_or(1.0, |t| self.cardinality(scope, t));
        if self.cardinality(scope, part) >= times {
            return;
        }
        let root = self.model.entity(owner).root;
        if self.model.entity(root).expires.is_some() || self.lifetime(root).is_none() {
            return;
        }
        let counts =
            |n: &Number| matches!(n, Number::Count(e) if self.model.entity(*e).root == root);
        let own = most.by.len();
        most.by.retain(|(number, _)| !counts(number));
        if most.by.len() < own {
            most.by.push((Number::Pace(root), most.rows));
        }
    }

    /// The most bindings of a structure that share one value of the given key parts: of each part
    /// those that the model allows, of all of them the fewest.
    pub(crate) fn most(&self, s: &Structure, bound: &[&Expr]) -> Most {
        let scope = Scope::new(self.model, s.anchor, &s.over);
        // What a structure keeps only one value of is as good as given.
        let kept = s.filter.iter().filter_map(|p| match p {
            Pred::Compare(path, Compare::Eq, _) => Some(path),
            _ => None,
        });
        let given: Vec<&Expr> = bound.iter().copied().chain(kept).collect();
        let nodes = 0..=s.over.len() as NodeId;
        let known = nodes
            .flat_map(|node| {
                self.at_node(&scope, node, &given)
                    .into_iter()
                    .map(move |m| (node, m))
            })
            .filter_map(|(node, most)| self.at_anchor(s, &scope, node, most));
        let fan: f64 = s.over.iter().map(|u| self.fan(u, &scope).avg).product();
        let all = Most::of(Number::Count(s.anchor), self.count(s.anchor) * fan);
        match known.reduce(Most::least) {
            // A number that is not stated is to blame, though it allows no more than there are.
            Some(most) => Most {
                rows: most.rows.min(all.rows),
                ..most
            },
            None => all,
        }
    }

    /// What the given parts say, each by itself, of the most that share their values at a node.
    fn at_node(&self, scope: &Scope, node: NodeId, given: &[&Expr]) -> Vec<Most> {
        match scope.node(node) {
            NodeType::Instance(entity) => self.sharing(entity, node, given),
            NodeType::Element(..) => {
                let at_node = given.iter().filter(|e| {
                    matches!(e, Expr::Path { node: at, steps, element, .. }
                        if *at == node && steps.is_empty() && element.is_empty())
                });
                let known = at_node.filter_map(|e| self.element_sharing(scope, node, e));
                known.collect()
            }
        }
    }

    /// From those at an unfolded node to the bindings of the structure: each leads to one of those
    /// above, which as many share as refer to it. What is unfolded beside the way multiplies.
    fn at_anchor(&self, s: &Structure, scope: &Scope, node: NodeId, most: Most) -> Option<Most> {
        let mut most = most;
        let mut beside: Vec<bool> = vec![true; s.over.len()];
        let mut at = node;
        while let Some(above) = usize::from(at).checked_sub(1) {
            let unfold = s.over.get(above)?;
            if matches!(unfold.many, Many::ElementElements(_)) {
                return None;
            }
            for step in &unfold.steps {
                most = most.times(self.referring(*step));
            }
            *beside.get_mut(above)? = false;
            at = unfold.parent;
        }
        let others = s.over.iter().zip(beside).filter(|(_, beside)| *beside);
        for (unfold, _) in others {
            let fan = self.fan(unfold, scope).max;
            most = most.times(match &unfold.many {
                Many::Back(r) => self.referring(*r),
                Many::Elements(a, _) => Most::of(Number::Elements(*a), fan),
                Many::ElementElements(_) => Most {
                    rows: fan,
                    by: vec![],
                },
            });
        }
        Some(most)
    }

    fn referring(&self, reference: ReferenceId) -> Most {
        let most = self.referrers(reference).max;
        Most::of(Number::Referrers(reference), most)
    }

    /// The most instances at a node that share the values of the given paths from there, by each
    /// that says so: by a key, their own or that of an instance on the way, or by an attribute.
    fn sharing(&self, entity: EntityId, node: NodeId, given: &[&Expr]) -> Vec<Most> {
        let is_given = |e: &Expr| given.contains(&e);
        let mut out = Vec::new();
        if self.named(entity, node, &[], &is_given) {
            out.push(Most::one());
        }
        for expr in given {
            let Expr::Path {
                node: at,
                steps,
                leaf,
                element,
            } = expr
            else {
                out.extend(self.rounded(entity, node, expr));
                continue;
            };
            if *at != node || !element.is_empty() {
                continue;
            }
            let mut most = Most::one();
            for (n, step) in steps.iter().enumerate() {
                most = most.times(self.referring(*step));
                let way = steps.get(..=n).unwrap_or_default();
                let end = self.model.reference(*step).target;
                if self.named(end, node, way, &is_given) {
                    out.push(most.clone());
                }
            }
            out.extend(match leaf {
                Leaf::Attribute(a, within) => Some(most.times(self.per_value(*a, within))),
                Leaf::Type => {
                    let end = steps.last().map(|r| self.model.reference(*r).target);
                    Some(most.times(self.per_type(end.unwrap_or(entity))))
                }
                _ => None,
            });
        }
        out
    }

    /// A function of an attribute, such as the day of a time: as many values as prices count, none
    /// of which is taken to be more than so many times as frequent as the average.
    fn rounded(&self, entity: EntityId, node: NodeId, expr: &Expr) -> Option<Most> {
        let Expr::Call(_, args) = expr else {
            return None;
        };
        let at = args.iter().find_map(|a| match a {
            Expr::Path { node, steps, .. } if steps.is_empty() => Some(*node),
            _ => None,
        });
        if at != Some(node) || node != 0 {
            return None;
        }
        let scope = Scope::new(self.model, entity, &[]);
        let values = self.cardinality(&scope, expr);
        let count = self.count(entity);
        let rows = (count / values.max(1.0) * MAX_OVER_AVG).min(count);
        Some(Most::of(Number::Count(entity), rows))
    }

    /// The most instances that share a value of an attribute, or of a part of its record: what is
    /// stated of a record is stated of each part.
    fn per_value(&self, attribute: AttributeId, within: &[u16]) -> Most {
        let a = self.model.attribute(attribute);
        let count = self.model.entity(a.entity).count.max(1.0);
        let number = Number::Sharing(attribute);
        match &a.sequence {
            _ if a.unique => return Most::one(),
            Some(Sequence::Global) => return Most::one(),
            Some(Sequence::Per(r)) => {
                let per = self.model.reference(*r).target;
                return Most::of(Number::Count(per), self.count(per));
            }
            None => {}
        }
        if let Some(stated) = a.sharing {
            return Most::of(number, stated.clamp(1.0, count));
        }
        let (ty, _) = crate::view::typing::inner(&a.ty, within);
        // The others have one instance each at least.
        let stated = a.cardinality.map(|values| (values, count - values + 1.0));
        let known = stated.or(self.model.values_of(ty).map(|values| (values, count)));
        let rows = known.map_or(count, |(values, rest)| {
            (MAX_OVER_AVG * count / values.max(1.0)).min(rest)
        });
        Most::of(number, rows.clamp(1.0, count))
    }

    /// The most instances of one concrete type.
    fn per_type(&self, entity: EntityId) -> Most {
        let root = self.model.entity(entity).root;
        let members = self.model.type_members(root);
        let largest = members.into_iter().max_by(|a, b| {
            let count = |e: EntityId| self.model.entity(e).count;
            count(*a).total_cmp(&count(*b))
        });
        let largest = largest.unwrap_or(root);
        Most::of(Number::Count(largest), self.model.entity(largest).count)
    }

    /// The most instances with an element of the given value in a collection of theirs.
    fn element_sharing(&self, scope: &Scope, node: NodeId, expr: &Expr) -> Option<Most> {
        let a = scope.collection(node)?;
        let attribute = self.model.attribute(a);
        let count = self.model.entity(attribute.entity).count.max(1.0);
        let Expr::Path { leaf, .. } = expr else {
            return None;
        };
        let fan = super::widths::collection(&attribute.ty);
        // Elements are told apart as wholes, so of one instance several may agree in a part.
        let of_one = match leaf {
            Leaf::Element(path) if !path.is_empty() => fan.max,
            Leaf::Element(_) if matches!(scope.node(node), NodeType::Element(_, Some(_))) => {
                fan.max
            }
            _ => 1.0,
        };
        let all = count * of_one;
        let rows = match (attribute.sharing, self.element_values(scope, expr)) {
            (Some(stated), _) => stated * of_one,
            (None, Some(values)) => MAX_OVER_AVG * count * fan.avg / values.max(1.0),
            (None, None) => all,
        };
        Some(Most::of(Number::Sharing(a), rows.clamp(1.0, all)))
    }

    /// How many instances the filter of an update or delete finds, whatever finds them: on average,
    /// and at most those that share the values that it compares with `=`. What else it says may hold
    /// for all.
    pub(crate) fn found(&self, entity: EntityId, filter: &[Pred]) -> Extent {
        let query = super::change::find_query(self.model, entity, filter);
        let scope = Scope::new(self.model, query.anchor, &[]);
        let count = self.count(entity);
        let mut avg = count * self.passes(&scope, &query.filter);
        let mut bound = Vec::new();
        for pred in filter {
            if let Pred::Compare(path, Compare::Eq, _) = pred {
                bound.extend(self.identified(entity, path));
                bound.push(path.clone());
            }
        }
        let bound: Vec<&Expr> = bound.iter().collect();
        let mut max = count;
        for most in self.sharing(query.anchor, 0, &bound) {
            max = max.min(most.rows);
            // What follows from keys alone is no guess, which prices may be.
            if !most.by.iter().any(|(n, _)| matches!(n, Number::Sharing(_))) {
                avg = avg.min(most.rows);
            }
        }
        Extent {
            avg,
            max: max.max(avg).max(1.0),
        }
    }

    /// The share of all that happens to a structure's rows that falls on the hottest value of the
    /// given key parts: that of the most rows that may share one.
    pub(crate) fn share(&self, s: &Structure, bound: &[&Expr]) -> f64 {
        let total = self.bindings(s).max(1.0);
        let values = self.values_in(s, bound.iter().copied());
        let even = 1.0 / values.clamp(1.0, total);
        even.max(self.most(s, bound).rows / total).min(1.0)
    }
}

/// The change that inserts most of an entity's instances, and how many a second.
pub(crate) fn inserted_by(model: &Model, entity: EntityId) -> Option<(&str, f64)> {
    let root = model.entity(entity).root;
    let inserts = |s: &&Statement| matches!(s, Statement::Insert { entity, .. } if model.entity(*entity).root == root);
    let rates = model.changes.iter().map(|c| {
        let rate = c.rates.get(model.mix).copied().unwrap_or_default();
        let some = c.statements.iter().any(|s| inserts(&s));
        (c.name.as_str(), if some { rate } else { 0.0 })
    });
    let most = rates.max_by(|a, b| a.1.total_cmp(&b.1));
    most.filter(|(_, rate)| *rate > 0.0)
}
