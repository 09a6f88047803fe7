//! Matching an access problem to a candidate: which key parts it binds, which order it gives.

use super::Planner;
use super::atoms::Mentions;
use super::pieces::{List, Through, count, has_item};
use super::problem::{Eq, EqValue, ExistsBy, Problem, Range, Way};
use crate::design::implied::implied;
use crate::design::plan::{Bound, Term};
use crate::design::popular_key::split_by;
use crate::design::shape::{may_follow, names_instance};
use crate::design::spread::rises_with;
use crate::model::{Direction, Expr};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};

/// How a candidate serves a problem.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something of its own about the rows"
)]
#[derive(Clone, Debug, Default)]
pub(super) struct Match {
    pub(super) eq: Vec<Term>,
    /// What the gets are merged over: one for each combination of their elements.
    pub(super) lists: Vec<List>,
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
    /// Those of them that differ from get to get, because a condition lists several values.
    pub(super) listed: Vec<Expr>,
    /// The buckets to read come from a directory, which is read first.
    pub(super) through: Option<Through>,
    /// All partitions are read.
    pub(super) scans: bool,
    /// Several rows may be of one instance.
    pub(super) repeats: bool,
}

impl Problem {
    /// Matches a structure over the problem's entity; the next frame of the plan is `frame`.
    pub(super) fn matches(&self, planner: &Planner, s: &Structure, frame: u16) -> Vec<Match> {
        if s.kind == Kind::Groups && s.over.is_empty() {
            return vec![];
        }
        if s.over.is_empty() {
            return self.matches_own(planner, s, frame);
        }
        let of = |exists| self.matches_of(planner, s, frame, exists);
        self.exists.iter().flat_map(of).collect()
    }

    /// Matches a structure over the elements of an `exists`.
    pub(super) fn matches_of(
        &self,
        planner: &Planner,
        s: &Structure,
        frame: u16,
        exists: &ExistsBy,
    ) -> Vec<Match> {
        if exists.over != s.over {
            return vec![];
        }
        let Some(satisfied) = self.satisfied(planner, s) else {
            return vec![];
        };
        let by = |way| {
            let matched = self.by(way).match_elements(planner, s, frame, way);
            matched.map(|m| m.meeting(exists.filter, way))
        };
        let found = exists.ways.iter().flat_map(by);
        found.map(|m| m.and_absorbs(&satisfied)).collect()
    }

    /// Matches a structure over elements of which these values are known. Each row must be of one
    /// instance: a group of several says nothing of how many there are. And where what tells its
    /// rows apart is not of the instance alone, several are of the same one.
    fn match_elements<'m>(
        &self,
        planner: &'m Planner,
        s: &'m Structure,
        frame: u16,
        way: &Way,
    ) -> impl Iterator<Item = Match> + use<'m> {
        let must: Vec<&Eq> = way.eqs.iter().collect();
        let eqs: Vec<&Eq> = self.eqs.iter().chain(&way.eqs).collect();
        let found = if names_instance(planner.model, s) {
            self.match_key(planner, s, frame, &eqs, &must)
        } else {
            vec![]
        };
        found.into_iter().filter(|m| !m.scans).map(|m| {
            let fixed =
                |e: &&Expr| m.bound.contains(e) && !m.gathered.contains(e) && !m.listed.contains(e);
            let of_instance = |e: &Expr| Mentions::of_expr(e).nodes.iter().all(|&n| n == 0);
            let repeats = s.key().any(|e| !fixed(&e) && !of_instance(e));
            Match {
                repeats,
                ordered: m.ordered && !repeats,
                ..m
            }
        })
    }

    /// Matches a structure over what the problem is over.
    pub(super) fn matches_own(&self, planner: &Planner, s: &Structure, frame: u16) -> Vec<Match> {
        let Some(satisfied) = self.satisfied(planner, s) else {
            return vec![];
        };
        let eqs: Vec<&Eq> = self.eqs.iter().collect();
        let found = self.match_key(planner, s, frame, &eqs, &[]).into_iter();
        found.map(|m| m.and_absorbs(&satisfied)).collect()
    }

    /// The filters that hold for every row of a structure; none where it leaves out rows that may
    /// be asked for.
    fn satisfied(&self, planner: &Planner, s: &Structure) -> Option<Vec<usize>> {
        if s.filter.is_empty() {
            return Some(vec![]);
        }
        let scope = Scope::new(planner.model, s.anchor, &s.over);
        let domain = |e: &Expr| planner.stats.domain(&scope, e);
        let asked = self.holds.iter().map(|(_, p)| p);
        let all = s.filter.iter();
        if !all.clone().all(|p| implied(asked.clone(), p, &domain)) {
            return None;
        }
        let held = self.holds.iter();
        let held = held.filter(|(_, p)| implied(all.clone(), p, &domain));
        Some(held.map(|(i, _)| *i).collect())
    }

    /// The ways to bind key parts of a structure: with all of the `in` lists that it has parts for,
    /// and with the first alone, where rows of the others are passed over.
    fn match_key(
        &self,
        planner: &Planner,
        s: &Structure,
        frame: u16,
        eqs: &[&Eq],
        must: &[&Eq],
    ) -> Vec<Match> {
        let all = self.match_lists(planner, s, frame, eqs, must, usize::MAX);
        let several = all.as_ref().is_some_and(|m| count(&m.lists) > 1);
        let first = several.then(|| self.match_lists(planner, s, frame, eqs, must, 1));
        let first = first.flatten().filter(|m| !m.scans);
        all.into_iter().chain(first).collect()
    }

    /// Which key parts of a structure the equalities bind, all of those that they must, and what
    /// range and order the parts behind give; with so many `in` lists at most.
    fn match_lists(
        &self,
        planner: &Planner,
        s: &Structure,
        frame: u16,
        eqs: &[&Eq],
        must: &[&Eq],
        most: usize,
    ) -> Option<Match> {
        let mut m = bind_key(planner, s, frame, eqs, most, true);
        if !m.settled() {
            m = bind_key(planner, s, frame, eqs, most, false);
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
        let led = self.ranges.iter().any(Range::leads);
        let capabilities = &planner.target.capabilities;
        if m.bound.len() < s.partition.len() && !capabilities.ordered_partitions {
            // All partitions can be read, in no order; a part of the partition key is no use.
            let scan = must.is_empty() && outer.is_empty() && !led;
            let scans = Match {
                scans: true,
                ..Match::default()
            };
            return scan.then_some(scans);
        }
        if let Some(range) = s
            .key()
            .nth(m.bound.len())
            .and_then(|e| self.ranges.iter().find(|r| r.expr == *e))
        {
            if let Some((bound, filter)) = &range.lower {
                m.lower = Some(bound.clone());
                m.absorbed.extend(filter);
            }
            if let Some((bound, filter)) = &range.upper {
                m.upper = Some(bound.clone());
                m.absorbed.extend(filter);
            }
        } else if led {
            return None;
        }
        self.match_order(s, &mut m);
        m.narrow_directory(planner, s);
        if let Some(directory) = m.through.as_ref().filter(|_| !m.ordered) {
            m.follow_directory(planner.shapes.get(directory.directory), frame);
        }
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
        let mut exact = true;
        let mut parts = behind.iter();
        for (expr, direction) in order {
            // What is rounded does not fall while what it is rounded from rises.
            for (part, stored) in parts.by_ref() {
                let turned = direction != stored;
                if *reverse.get_or_insert(turned) != turned {
                    return;
                }
                if expr == *part {
                    break;
                }
                if !rises_with(part, expr) {
                    return;
                }
                exact = false;
            }
        }
        if order.len() > behind.len() && s.kind == Kind::Groups {
            return;
        }
        // What several gets find is merged by what stands in the key.
        if !m.lists.is_empty() && key_columns(s, order).is_none() {
            return;
        }
        m.ordered = true;
        m.reverse = reverse.unwrap_or(false);
        m.seekable = exact && order.len() == behind.len();
    }
}

/// The columns of a structure's key that an order is by. None where a part of it is not in the key.
pub(super) fn key_columns(
    s: &Structure,
    order: &[(Expr, Direction)],
) -> Option<Vec<(u16, Direction)>> {
    let column = |(e, d): &(Expr, Direction)| Some((s.key().position(|k| k == e)? as u16, *d));
    order.iter().map(column).collect()
}

/// Binds the first parts of a structure's key, as many as equalities, what follows from them and
/// all pieces of a partition give values for; by so many `in` lists at most. `computed`: also what
/// follows from the elements of such a list.
fn bind_key(
    planner: &Planner,
    s: &Structure,
    frame: u16,
    eqs: &[&Eq],
    most: usize,
    computed: bool,
) -> Match {
    let mut m = Match::default();
    for part in s.key() {
        if let Some(eq) = eqs.iter().find(|q| q.expr == *part) {
            let Some(term) = m.value(eq, most) else { break };
            m.eq.push(term);
            m.absorbed.extend(eq.filter);
        } else if may_follow(part) || split_by(planner.model, part).is_some() {
            // A bucket or hash of something bound is bound too.
            let before = m.lists.len();
            for eq in eqs.iter().filter(|q| computed && is_of(part, &q.expr)) {
                m.value(eq, most);
            }
            if let Some(term) = planner.compute(part, &|e| m.known(eqs, e)) {
                m.eq.push(term);
                m.computed.push(part.clone());
            } else {
                m.lists.truncate(before);
                if !planner.spread_over(s, frame, &mut m) {
                    break;
                }
            }
        } else {
            break;
        }
        if m.eq.last().is_some_and(has_item) && !m.gathered.contains(part) {
            m.listed.push(part.clone());
        }
        m.bound.push(part.clone());
    }
    m
}

/// Whether an expression is a function of another one.
fn is_of(expr: &Expr, inner: &Expr) -> bool {
    expr == inner || matches!(expr, Expr::Call(_, args) if args.iter().any(|a| is_of(a, inner)))
}

impl Match {
    /// As one that makes these filters good, too.
    fn and_absorbs(mut self, filters: &[usize]) -> Match {
        self.absorbed.extend(filters);
        self
    }

    /// As one that finds what meets a filter by one of its ways: it is all that it says, or what else
    /// it says is still to be tested, and what it compares with it.
    fn meeting(mut self, filter: usize, way: &Way) -> Match {
        if way.whole {
            self.absorbed.push(filter);
        } else {
            let bound = way.eqs.iter().map(|eq| eq.expr.clone());
            let bound: Vec<Expr> = bound.filter(|e| self.bound.contains(e)).collect();
            self.computed.extend(bound);
        }
        self
    }

    /// The value of an equality; of several, each of them, by a list of its own. None where there
    /// are as many lists as there may be.
    fn value(&mut self, eq: &Eq, most: usize) -> Option<Term> {
        let terms = match &eq.value {
            EqValue::One(term) => return Some(term.clone()),
            EqValue::Each(terms) => terms,
        };
        let at = self.list_of(&eq.expr).or_else(|| {
            (count(&self.lists) < most).then(|| {
                self.lists.push(List::Named(eq.expr.clone(), terms.clone()));
                self.lists.len() - 1
            })
        })?;
        Some(Term::Item(at as u16, vec![]))
    }

    fn list_of(&self, expr: &Expr) -> Option<usize> {
        let mut lists = self.lists.iter();
        lists.position(|l| matches!(l, List::Named(e, _) if e == expr))
    }

    /// The value of an expression, as far as there is one.
    fn known(&self, eqs: &[&Eq], expr: &Expr) -> Option<Term> {
        let bound = self.bound.iter().position(|e| e == expr);
        if let Some(term) = bound.and_then(|at| self.eq.get(at)) {
            return Some(term.clone());
        }
        match &eqs.iter().find(|q| q.expr == *expr)?.value {
            EqValue::One(term) => Some(term.clone()),
            EqValue::Each(_) => Some(Term::Item(self.list_of(expr)? as u16, vec![])),
        }
    }

    /// Whether each list is that of a key part that is bound: of what is only computed from its
    /// elements, two may have the same, whose rows would come twice.
    pub(super) fn settled(&self) -> bool {
        let open = |l: &List| matches!(l, List::Named(e, _) if !self.bound.contains(e));
        !self.lists.iter().any(open)
    }
}
