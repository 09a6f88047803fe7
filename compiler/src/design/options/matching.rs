//! Matching an access problem to a candidate: which key parts it binds, which order it gives.

use crate::design::plan::{Bound, Term};
use crate::design::popular_key::split_by;
use crate::design::shape::{ShapeId, skeleton};
use crate::design::spread::{bucket_follows, everything, spread};
use crate::model::{Direction, EntityId, Expr, Function, Many, Model, Pred, Unfold};
use crate::value::Value;
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};

use super::Planner;
use super::atoms::{self, Mentions};
use super::implied::implied;

/// The value or values that an expression must equal.
#[derive(Clone, Debug)]
pub(super) enum EqValue {
    One(Term),
    /// Each element of these list terms (or these terms themselves).
    Each(Vec<Term>),
}

/// An equality that a get can use.
#[derive(Clone, Debug)]
pub(super) struct Eq {
    /// In the candidate's scope.
    pub(super) expr: Expr,
    pub(super) value: EqValue,
    /// The filter that it makes good; none for the way from an outer node.
    pub(super) filter: Option<usize>,
}

/// Bounds of one expression.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) expr: Expr,
    pub(super) lower: Option<(Bound, usize)>,
    pub(super) upper: Option<(Bound, usize)>,
}

/// An `exists` all of whose conditions are equalities.
#[derive(Clone, Debug)]
pub(super) struct ExistsEq {
    pub(super) filter: usize,
    pub(super) over: Vec<Unfold>,
    pub(super) eqs: Vec<Eq>,
}

/// Find the instances of one entity.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) entity: EntityId,
    pub(super) eqs: Vec<Eq>,
    pub(super) ranges: Vec<Range>,
    pub(super) exists: Vec<ExistsEq>,
    /// The order that is wished for, without what equalities fix; none: no wish.
    pub(super) order: Option<Vec<(Expr, Direction)>>,
    /// All conditions on what is found, in the candidate's scope, and which filters they are.
    pub(super) holds: Vec<(usize, Pred)>,
}

/// How a candidate serves a problem.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something of its own about the rows"
)]
#[derive(Clone, Debug, Default)]
pub(super) struct Match {
    pub(super) eq: Vec<Term>,
    pub(super) each: Option<Vec<Term>>,
    pub(super) lower: Option<Bound>,
    pub(super) upper: Option<Bound>,
    pub(super) absorbed: Vec<usize>,
    /// The wished order is given; in reverse of the structure's.
    pub(super) ordered: bool,
    pub(super) reverse: bool,
    /// The key parts behind the equalities are exactly the wished order.
    pub(super) seekable: bool,
    /// Key parts bound by equality.
    pub(super) bound: Vec<Expr>,
    /// Those of them that follow from what equalities give: of these some may still be filters.
    pub(super) computed: Vec<Expr>,
    /// Those of them that are bound to all of their values: salts, buckets, sub-partitions.
    pub(super) gathered: Vec<Expr>,
    /// The buckets to read come from a directory, which is read first.
    pub(super) through: Option<Through>,
    /// The item is each of the sub-partitions that a directory lists.
    pub(super) parts: Option<Parts>,
    /// All partitions are read.
    pub(super) scans: bool,
}

/// A get of the directory of a popular key: the sub-partitions that are present.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) directory: ShapeId,
    pub(super) eq: Vec<Term>,
    /// How many there are, on average.
    pub(super) average: f64,
}

/// A get of a directory: the buckets that are present, each of which is then read.
#[derive(Clone, Debug)]
pub(super) struct Through {
    pub(super) directory: ShapeId,
    /// Parts of the partition key before the bucket.
    pub(super) before: usize,
    pub(super) eq: Vec<Term>,
    pub(super) lower: Option<Bound>,
    pub(super) upper: Option<Bound>,
    pub(super) reverse: bool,
}

impl Problem {
    /// Matches a structure over the problem's entity; the next frame of the plan is `frame`.
    pub(super) fn matches(&self, planner: &Planner, s: &Structure, frame: u16) -> Option<Match> {
        if s.kind == Kind::Groups && s.over.is_empty() {
            return None;
        }
        let satisfied = self.satisfied(planner, s)?;
        let mut eqs: Vec<&Eq> = self.eqs.iter().collect();
        let mut must = Vec::new();
        if !s.over.is_empty() {
            let exists = self.exists.iter().find(|e| e.over == s.over)?;
            must.extend(&exists.eqs);
            eqs.extend(&exists.eqs);
        }
        let mut m = self.match_key(planner, s, frame, &eqs, &must)?;
        if !s.over.is_empty() && !m.scans {
            m.absorbed.extend(
                self.exists
                    .iter()
                    .find(|e| e.over == s.over)
                    .map(|e| e.filter),
            );
        }
        m.absorbed.extend(satisfied);
        Some(m)
    }

    /// Matches a structure of groups over what the problem is over.
    pub(super) fn matches_groups(
        &self,
        planner: &Planner,
        s: &Structure,
        frame: u16,
    ) -> Option<Match> {
        let satisfied = self.satisfied(planner, s)?;
        let eqs: Vec<&Eq> = self.eqs.iter().collect();
        let mut m = self.match_key(planner, s, frame, &eqs, &[])?;
        m.absorbed.extend(satisfied);
        Some(m)
    }

    /// The filters that hold for every row of a structure; none where it leaves out rows that may
    /// be asked for.
    fn satisfied(&self, planner: &Planner, s: &Structure) -> Option<Vec<usize>> {
        if s.filter.is_empty() {
            return Some(vec![]);
        }
        let scope = Scope::new(planner.model, s.anchor, &s.over);
        let domain = |e: &Expr| {
            planner
                .model
                .domain(&scope.type_of(planner.model, &[], e).0)
        };
        let asked = self.holds.iter().map(|(_, p)| p);
        let all = s.filter.iter();
        if !all.clone().all(|p| implied(asked.clone(), p, &domain)) {
            return None;
        }
        let held = self.holds.iter();
        let held = held.filter(|(_, p)| implied(all.clone(), p, &domain));
        Some(held.map(|(i, _)| *i).collect())
    }

    /// Which key parts of a structure the equalities bind, all of those that they must, and what
    /// range and order the parts behind give.
    fn match_key(
        &self,
        planner: &Planner,
        s: &Structure,
        frame: u16,
        eqs: &[&Eq],
        must: &[&Eq],
    ) -> Option<Match> {
        let mut m = Match::default();
        let key: Vec<&Expr> = s.key().collect();
        for part in &key {
            let known = |e: &Expr| {
                eqs.iter()
                    .find(|q| q.expr == *e && matches!(q.value, EqValue::One(_)))
                    .and_then(|q| match &q.value {
                        EqValue::One(term) => Some(term.clone()),
                        EqValue::Each(_) => None,
                    })
            };
            if let Some(eq) = eqs.iter().find(|q| q.expr == **part) {
                match &eq.value {
                    EqValue::One(term) => m.eq.push(term.clone()),
                    EqValue::Each(list) if m.each.is_none() && m.parts.is_none() => {
                        m.each = Some(list.clone());
                        m.eq.push(Term::Item);
                    }
                    EqValue::Each(_) => break,
                }
                m.absorbed.extend(eq.filter);
            } else if matches!(part, Expr::Call(..) | Expr::Const(_))
                || split_by(planner.model, part).is_some()
            {
                // A bucket or hash of something bound is bound too.
                match planner.compute(part, &known) {
                    Some(term) => {
                        m.eq.push(term);
                        m.computed.push((*part).clone());
                    }
                    None if planner.spread_over(s, frame, &mut m) => {}
                    None => break,
                }
            } else {
                break;
            }
            m.bound.push((*part).clone());
        }
        let all_bound = |must: &[&Eq]| must.iter().all(|q| m.bound.contains(&q.expr));
        if !all_bound(must) {
            return None;
        }
        // A relation to an outer row is not optional.
        let outer: Vec<&Eq> = self.eqs.iter().filter(|q| q.filter.is_none()).collect();
        if !all_bound(&outer) {
            return None;
        }
        let capabilities = &planner.target.capabilities;
        if m.bound.len() < s.partition.len() && !capabilities.ordered_partitions {
            // All partitions can be read, in no order; a part of the partition key is no use.
            let scan = m.each.is_none() && must.is_empty() && outer.is_empty();
            m.eq.clear();
            m.bound.clear();
            m.computed.clear();
            m.gathered.clear();
            m.absorbed.clear();
            m.parts = None;
            m.scans = true;
            return scan.then_some(m);
        }
        if let Some(range) = key
            .get(m.bound.len())
            .and_then(|e| self.ranges.iter().find(|r| r.expr == **e))
        {
            if let Some((bound, filter)) = &range.lower {
                m.lower = Some(bound.clone());
                m.absorbed.push(*filter);
            }
            if let Some((bound, filter)) = &range.upper {
                m.upper = Some(bound.clone());
                m.absorbed.push(*filter);
            }
        }
        self.match_order(s, &mut m);
        m.narrow_directory(planner, s);
        Some(m)
    }

    fn match_order(&self, s: &Structure, m: &mut Match) {
        let Some(order) = &self.order else { return };
        let behind: Vec<(&Expr, Direction)> = s
            .key()
            .enumerate()
            .skip(m.bound.len())
            .map(|(i, e)| (e, s.direction(i)))
            .collect();
        let mut reverse = None;
        for ((expr, direction), (part, stored)) in order.iter().zip(&behind) {
            let turned = direction != stored;
            if expr != *part || reverse.is_some_and(|r| r != turned) {
                return;
            }
            reverse = Some(turned);
        }
        if order.len() > behind.len() && s.kind == Kind::Groups {
            return;
        }
        m.ordered = true;
        m.reverse = reverse.unwrap_or(false);
        m.seekable = order.len() == behind.len();
    }

    /// Adds the candidates that this problem calls for.
    pub(super) fn grow(&self, planner: &mut Planner) {
        let one: Vec<&Eq> = self.eqs.iter().collect();
        let must: Vec<usize> = (0..one.len())
            .filter(|&i| one.get(i).is_some_and(|q| q.filter.is_none()))
            .collect();
        let free: Vec<usize> = (0..one.len()).filter(|i| !must.contains(i)).collect();
        for picked in subsets(&free) {
            let parts: Vec<Expr> = must
                .iter()
                .chain(&picked)
                .filter_map(|&i| one.get(i).map(|q| q.expr.clone()))
                .collect();
            self.grow_for(planner, &[], &[], &parts);
            for exists in &self.exists {
                let mut with = parts.clone();
                with.extend(exists.eqs.iter().map(|q| q.expr.clone()));
                self.grow_for(planner, &exists.over, &[], &with);
            }
        }
        self.grow_partial(planner);
    }

    /// Adds candidates of just those instances for which all conditions hold that compare with
    /// constants: fewer rows, and fewer writes. One set of conditions for each problem.
    fn grow_partial(&self, planner: &mut Planner) {
        if !planner.target.cost.rules.partial {
            return;
        }
        let fixed = self.holds.iter().filter(|(_, p)| is_storable(p));
        let (at, filter): (Vec<usize>, Vec<Pred>) = fixed.cloned().unzip();
        if filter.is_empty() {
            return;
        }
        let made_good = |i: Option<usize>| i.is_some_and(|i| at.contains(&i));
        let rest = Problem {
            eqs: (self.eqs.iter().filter(|q| !made_good(q.filter)))
                .cloned()
                .collect(),
            ranges: (self.ranges.iter())
                .filter(|r| {
                    let sides = [&r.lower, &r.upper].into_iter().flatten();
                    sides.map(|(_, i)| *i).any(|i| !at.contains(&i))
                })
                .cloned()
                .collect(),
            exists: vec![],
            ..self.clone()
        };
        let parts: Vec<Expr> = rest.eqs.iter().map(|q| q.expr.clone()).collect();
        rest.grow_for(planner, &[], &filter, &parts);
    }

    fn grow_for(&self, planner: &mut Planner, over: &[Unfold], filter: &[Pred], parts: &[Expr]) {
        let unbound = self.eqs.is_empty() && self.exists.is_empty();
        let mut suffixes: Vec<Vec<(Expr, Direction)>> = vec![vec![]];
        if let Some(order) = self.order.as_ref().filter(|o| !o.is_empty()) {
            suffixes.push(order.clone());
        }
        for range in &self.ranges {
            let alone = vec![(range.expr.clone(), Direction::Asc)];
            if !suffixes
                .iter()
                .any(|s| s.first().map(|(e, _)| e) == Some(&range.expr))
            {
                suffixes.push(alone);
            }
        }
        let mut sorted = parts.to_vec();
        sorted.sort();
        sorted.dedup();
        let capabilities = planner.target.capabilities.clone();
        for suffix in suffixes {
            for mut partition in partitions(&sorted, capabilities.ordered_partitions) {
                if partition.is_empty() && capabilities.partition_required {
                    if !unbound {
                        continue;
                    }
                    partition.push(everything());
                }
                let mut clustering: Vec<(Expr, Direction)> = sorted
                    .iter()
                    .filter(|e| !partition.contains(e))
                    .map(|e| (e.clone(), Direction::Asc))
                    .collect();
                clustering.extend(suffix.iter().cloned());
                add(planner, self.entity, over, filter, partition, clustering);
            }
        }
    }
}

/// Adds one candidate: a list where its key determines the binding, else a group.
pub(super) fn add(
    planner: &mut Planner,
    entity: EntityId,
    over: &[Unfold],
    filter: &[Pred],
    partition: Vec<Expr>,
    clustering: Vec<(Expr, Direction)>,
) {
    let model = planner.model;
    let lists = Kind::Lists;
    let mut s = skeleton(model, entity, over, filter, partition, clustering, lists);
    if !determines(model, &s) {
        s.kind = Kind::Groups;
    }
    planner.admit(s);
}

impl Planner<'_> {
    /// Binds the next part, one of those that spread a partition, to each of its values: to every
    /// salt, or to the buckets that a directory lists. False where that cannot be.
    fn spread_over(&self, s: &Structure, frame: u16, m: &mut Match) -> bool {
        let Some(spread) = spread(self.model, s) else {
            return false;
        };
        // An ordered target reads them all by a prefix of the key.
        if self.target.capabilities.ordered_partitions
            || m.each.is_some()
            || m.parts.is_some()
            || !(spread.before..s.partition.len()).contains(&m.bound.len())
        {
            return false;
        }
        let gathered = s.partition.get(m.bound.len()).cloned();
        if let Some(split) = spread.split {
            let Some((directory, eq)) = self.directory_of(s, &m.eq) else {
                return false;
            };
            m.parts = Some(Parts {
                directory,
                eq,
                average: split.average,
            });
            m.eq.push(Term::Item);
            m.gathered.extend(gathered);
            return true;
        }
        match (spread.buckets, spread.salts) {
            (_, Some(n)) if m.bound.len() + 1 == s.partition.len() => {
                m.each = Some((0..n).map(|i| Term::Const(Value::Int(i))).collect());
                m.eq.push(Term::Item);
                m.gathered.extend(gathered);
                true
            }
            (Some(_), _) => {
                let Some((directory, eq)) = self.directory_of(s, &m.eq) else {
                    return false;
                };
                let column = eq.len() as u16;
                m.through = Some(Through {
                    directory,
                    before: m.eq.len(),
                    eq,
                    lower: None,
                    upper: None,
                    reverse: false,
                });
                m.eq.push(Term::Column {
                    frame,
                    column,
                    path: vec![],
                });
                m.gathered.extend(gathered);
                true
            }
            (None, _) => false,
        }
    }
}

impl Match {
    /// The buckets of a range, in the order of the rows; buckets that do not follow the first free
    /// key part give no order.
    fn narrow_directory(&mut self, planner: &Planner, s: &Structure) {
        let buckets = spread(planner.model, s).and_then(|s| s.buckets);
        let (Some(through), Some((width, of))) = (&mut self.through, buckets) else {
            return;
        };
        let first = s.key().enumerate().nth(self.bound.len());
        let Some((at, part)) = first.filter(|(_, part)| bucket_follows(part, width, of)) else {
            self.ordered = false;
            return;
        };
        let bucket = |bound: &Bound| {
            let inner = bound.term.clone();
            let time = match of {
                Expr::Call(f @ Function::Time, _) if of != part => Term::Call(*f, vec![inner]),
                _ => inner,
            };
            Bound {
                term: Term::Call(width, vec![time]),
                inclusive: true,
            }
        };
        through.lower = self.lower.as_ref().map(bucket);
        through.upper = self.upper.as_ref().map(bucket);
        let listed = planner.shapes.get(through.directory);
        let descends = listed.direction(listed.partition.len()) == Direction::Desc;
        through.reverse = ((s.direction(at) == Direction::Desc) != self.reverse) != descends;
    }
}

/// Whether a condition can limit which instances have a row: it compares what a row can have with
/// constants.
fn is_storable(pred: &Pred) -> bool {
    let mut found = Vec::new();
    atoms::of_pred(pred, &mut found);
    let plain = |e: &Expr| matches!(e, Expr::Path { element, .. } if element.is_empty());
    !found.is_empty()
        && found.iter().all(plain)
        && !Mentions::of_pred(pred).params
        && !has_exists(pred)
}

fn has_exists(pred: &Pred) -> bool {
    match pred {
        Pred::And(list) | Pred::Or(list) => list.iter().any(has_exists),
        Pred::Not(p) => has_exists(p),
        Pred::Exists { .. } => true,
        _ => false,
    }
}

/// Whether the key of a list determines every unfolded node: what of a node's key does not follow
/// from its parent stands in the structure's key.
pub(crate) fn determines(model: &Model, s: &Structure) -> bool {
    s.over.iter().enumerate().all(|(i, unfold)| {
        let Many::Back(reference) = unfold.many else {
            return false;
        };
        let node = (i + 1) as u16;
        let leaves = model.key_leaves(model.reference(reference).entity);
        leaves
            .iter()
            .filter(|l| l.steps.first() != Some(&reference))
            .all(|l| {
                let path = Expr::Path {
                    node,
                    element: vec![],
                    steps: l.steps.clone(),
                    leaf: crate::model::Leaf::Attribute(l.attribute, vec![]),
                };
                s.key().any(|e| *e == path)
            })
    })
}

/// Which equalities may form the partition key. Where partitions are ordered themselves, only the
/// sequence of key parts matters: each part may come first.
fn partitions(sorted: &[Expr], ordered: bool) -> Vec<Vec<Expr>> {
    if sorted.len() <= 1 || sorted.len() > 4 {
        return vec![sorted.to_vec()];
    }
    if ordered {
        let mut out = vec![sorted.to_vec()];
        for first in sorted.iter().skip(1) {
            out.push(vec![first.clone()]);
        }
        return out;
    }
    let indices: Vec<usize> = (0..sorted.len()).collect();
    subsets(&indices)
        .into_iter()
        .filter(|s| !s.is_empty())
        .map(|s| {
            s.into_iter()
                .filter_map(|i| sorted.get(i).cloned())
                .collect()
        })
        .collect()
}

/// All subsets of up to four indices; of more, the whole, the empty and the single ones.
fn subsets(indices: &[usize]) -> Vec<Vec<usize>> {
    if indices.len() > 4 {
        let mut out = vec![vec![], indices.to_vec()];
        out.extend(indices.iter().map(|&i| vec![i]));
        return out;
    }
    (0..1u32 << indices.len())
        .map(|mask| {
            let picked = indices
                .iter()
                .enumerate()
                .filter(|(bit, _)| mask & (1 << bit) != 0);
            picked.map(|(_, &i)| i).collect()
        })
        .collect()
}
