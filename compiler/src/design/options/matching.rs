//! Matching an access problem to a candidate: which key parts it binds, which order it gives.

use crate::design::assumed::LIST;
use crate::design::plan::{Bound, Term};
use crate::design::popular_key::split_by;
use crate::design::shape::{ShapeId, Shapes, key_paths, skeleton};
use crate::design::spread::{bucket_follows, everything, spread};
use crate::model::{Direction, EntityId, Expr, Function, Many, Model, Pred, Unfold};
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

impl Eq {
    /// One that leads from an outer row, or from the far end of a path.
    pub(super) fn given(expr: &Expr, term: &Term) -> Eq {
        Eq {
            expr: expr.clone(),
            value: EqValue::One(term.clone()),
            filter: None,
        }
    }
}

/// Bounds of one expression, each with the filter that it makes good; none for the way from the far
/// end of a path.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) expr: Expr,
    pub(super) lower: Option<(Bound, Option<usize>)>,
    pub(super) upper: Option<(Bound, Option<usize>)>,
}

impl Range {
    pub(super) fn sides(&self) -> impl Iterator<Item = &(Bound, Option<usize>)> {
        self.lower.iter().chain(&self.upper)
    }

    /// Whether it is the way to what is looked for, and not optional.
    fn leads(&self) -> bool {
        self.sides().any(|(_, filter)| filter.is_none())
    }
}

/// An `exists` some of whose conditions a get can use.
#[derive(Clone, Debug)]
pub(super) struct ExistsEq {
    pub(super) filter: usize,
    /// The equalities are all that it says: what they find meets it.
    pub(super) whole: bool,
    pub(super) over: Vec<Unfold>,
    pub(super) eqs: Vec<Eq>,
    /// What can be used beside them, one at a time. An instance may have several elements that meet
    /// it.
    pub(super) further: Vec<Further>,
}

/// A condition that an instance may meet by several elements.
#[derive(Clone, Debug)]
pub(super) struct Further {
    pub(super) by: By,
    /// With the equalities it is all that the `exists` says.
    pub(super) whole: bool,
}

/// What such a condition compares with.
#[derive(Clone, Debug)]
pub(super) enum By {
    /// Several values.
    Each(Eq),
    /// Bounds.
    Range(Range),
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

/// A list over whose elements gets are merged.
#[derive(Clone, Debug)]
pub(super) enum List {
    /// The values of an expression that a condition lists.
    Named(Expr, Vec<Term>),
    /// So many salts.
    Salts(i64),
    /// The sub-partitions that a directory lists.
    Parts(Parts),
}

/// A get of the directory of a popular key, or of each of several: the sub-partitions that are
/// present.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) directory: ShapeId,
    /// What the gets of the directory are merged over.
    pub(super) lists: Vec<List>,
    pub(super) eq: Vec<Term>,
    /// The columns of the directory that an element is made of: the number, and behind it what
    /// differs from key to key.
    pub(super) columns: Vec<u16>,
    /// How many there are of a key, on average.
    pub(super) average: f64,
}

/// A get of a directory: the buckets that are present, each of which is then read.
#[derive(Clone, Debug)]
pub(super) struct Through {
    pub(super) directory: ShapeId,
    /// Parts of the partition key before the bucket.
    pub(super) before: usize,
    /// What the gets of the directory are merged over.
    pub(super) lists: Vec<List>,
    /// Each bucket is read once for all of them, so that its rows can be merged; otherwise, once
    /// for each that has it.
    pub(super) once: bool,
    pub(super) eq: Vec<Term>,
    pub(super) lower: Option<Bound>,
    pub(super) upper: Option<Bound>,
    pub(super) reverse: bool,
}

impl Problem {
    /// The candidates that may serve it. Where an outer row leads to it, only those whose key begins
    /// with something known do.
    pub(super) fn candidates(&self, shapes: &Shapes) -> Vec<ShapeId> {
        if self.eqs.iter().any(|q| q.filter.is_none()) || self.ranges.iter().any(Range::leads) {
            let known = self
                .eqs
                .iter()
                .chain(self.exists.iter().flat_map(|e| &e.eqs));
            let known = known.map(|q| &q.expr);
            let known = known.chain(self.ranges.iter().map(|r| &r.expr));
            return shapes.beginning_with(self.entity, known);
        }
        let all = shapes.all.iter().enumerate();
        let of = all.filter(|(_, s)| s.structure.anchor == self.entity);
        of.map(|(shape, _)| shape).collect()
    }

    /// Matches a structure over the problem's entity; the next frame of the plan is `frame`.
    pub(super) fn matches(&self, planner: &Planner, s: &Structure, frame: u16) -> Vec<Match> {
        if s.kind == Kind::Groups && s.over.is_empty() {
            return vec![];
        }
        let Some(satisfied) = self.satisfied(planner, s) else {
            return vec![];
        };
        let own: Vec<&Eq> = self.eqs.iter().collect();
        let mut found = Vec::new();
        if s.over.is_empty() {
            found = self.match_key(planner, s, frame, &own, &[]);
        }
        let over = |e: &&ExistsEq| !s.over.is_empty() && e.over == s.over;
        for exists in self.exists.iter().filter(over) {
            let must: Vec<&Eq> = exists.eqs.iter().collect();
            if !must.is_empty() {
                let matched = self.match_elements(planner, s, frame, &must);
                found.extend(matched.map(|m| m.meeting(exists.filter, exists.whole, &must)));
            }
            for further in &exists.further {
                let mut must = must.clone();
                let ranges = match &further.by {
                    By::Each(eq) => {
                        must.push(eq);
                        vec![]
                    }
                    By::Range(range) => vec![range.clone()],
                };
                let problem = self.by_elements(ranges);
                let matched = problem.match_elements(planner, s, frame, &must);
                found.extend(matched.map(|m| m.meeting(exists.filter, further.whole, &must)));
            }
        }
        for m in &mut found {
            m.absorbed.extend(&satisfied);
        }
        found
    }

    /// Matches a structure over elements of which these values are known. Each row must be of one
    /// instance: a group of several says nothing of how many there are. And where what tells its
    /// rows apart is not of the instance alone, several are of the same one.
    fn match_elements<'m>(
        &self,
        planner: &'m Planner,
        s: &'m Structure,
        frame: u16,
        must: &[&Eq],
    ) -> impl Iterator<Item = Match> + use<'m> {
        let mut key = key_paths(planner.model, s.anchor).into_iter();
        let of_one = key.all(|leaf| s.key().any(|e| *e == leaf));
        let own: Vec<&Eq> = self.eqs.iter().collect();
        let eqs = [own.as_slice(), must].concat();
        let found = if of_one {
            self.match_key(planner, s, frame, &eqs, must)
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

    /// The same problem, to be found by ranges of elements instead of its own, in no order.
    fn by_elements(&self, ranges: Vec<Range>) -> Problem {
        Problem {
            ranges,
            order: None,
            ..self.clone()
        }
    }

    /// Matches a structure of groups over what the problem is over.
    pub(super) fn matches_groups(
        &self,
        planner: &Planner,
        s: &Structure,
        frame: u16,
    ) -> Vec<Match> {
        let Some(satisfied) = self.satisfied(planner, s) else {
            return vec![];
        };
        let eqs: Vec<&Eq> = self.eqs.iter().collect();
        let mut found = self.match_key(planner, s, frame, &eqs, &[]);
        for m in &mut found {
            m.absorbed.extend(&satisfied);
        }
        found
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
                if !exists.eqs.is_empty() {
                    self.grow_for(planner, &exists.over, &[], &with);
                }
                // To instances a walk leads; elements have no structure of their own.
                let back = |u: &Unfold| matches!(u.many, Many::Back(_));
                if exists.over.iter().any(back) {
                    continue;
                }
                for further in &exists.further {
                    let mut with = with.clone();
                    let ranges = match &further.by {
                        By::Each(eq) => {
                            with.push(eq.expr.clone());
                            vec![]
                        }
                        By::Range(range) => vec![range.clone()],
                    };
                    let problem = self.by_elements(ranges);
                    problem.grow_for(planner, &exists.over, &[], &with);
                }
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
                .filter(|r| r.sides().any(|(_, i)| !made_good(*i)))
                .cloned()
                .collect(),
            exists: vec![],
            ..self.clone()
        };
        let parts: Vec<Expr> = rest.eqs.iter().map(|q| q.expr.clone()).collect();
        rest.grow_for(planner, &[], &filter, &parts);
    }

    fn grow_for(&self, planner: &mut Planner, over: &[Unfold], filter: &[Pred], parts: &[Expr]) {
        let unbound = self.eqs.is_empty() && self.exists.iter().all(|e| e.eqs.is_empty());
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
            || !(spread.before..s.partition.len()).contains(&m.bound.len())
        {
            return false;
        }
        // No get finds a piece of no value, which a person's structure may have.
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let null = |part: &Expr| scope.type_of(self.model, &[], part).1;
        if spread.split.is_none() && s.partition.get(m.bound.len()).is_some_and(null) {
            return false;
        }
        let salted = m.bound.len() + 1 == s.partition.len();
        let term = match (spread.split, spread.salts) {
            (None, Some(n)) if salted => {
                m.lists.push(List::Salts(n));
                Term::Item(m.lists.len() as u16 - 1, vec![])
            }
            // A directory is read for values that are known, not for some that have the same
            // bucket or salt.
            _ if !m.settled() => return false,
            (Some(split), _) => {
                let Some((directory, eq)) = self.directory_of(s, &m.eq) else {
                    return false;
                };
                m.list_parts(self.shapes.get(directory), directory, eq, split.average)
            }
            (None, _) => {
                let Some((directory, eq)) = self.directory_of(s, &m.eq) else {
                    return false;
                };
                let column = eq.len() as u16;
                m.through = Some(Through {
                    directory,
                    before: m.eq.len(),
                    lists: m.lists.clone(),
                    once: true,
                    eq,
                    lower: None,
                    upper: None,
                    reverse: false,
                });
                Term::Column {
                    frame,
                    column,
                    path: vec![],
                }
            }
        };
        m.eq.push(term);
        m.gathered.extend(s.partition.get(m.bound.len()).cloned());
        true
    }
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
        } else if matches!(part, Expr::Call(..) | Expr::Const(_))
            || split_by(planner.model, part).is_some()
        {
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

/// Whether the value of a key part differs between the gets of a merge.
fn has_item(term: &Term) -> bool {
    match term {
        Term::Item(..) => true,
        Term::Call(_, args) => args.iter().any(has_item),
        _ => false,
    }
}

impl List {
    /// How many elements there are.
    pub(super) fn gets(&self) -> f64 {
        match self {
            List::Named(..) => self.named(),
            List::Salts(n) => *n as f64,
            List::Parts(parts) => parts.average * gets(&parts.lists),
        }
    }

    /// How many values it names: pieces of one partition are of the same ones.
    fn named(&self) -> f64 {
        match self {
            List::Named(_, terms) if terms.len() == 1 => LIST,
            List::Named(_, terms) => terms.len() as f64,
            List::Salts(_) => 1.0,
            List::Parts(parts) => named(&parts.lists),
        }
    }
}

/// How many conditions lists are of.
fn count(lists: &[List]) -> usize {
    let of = |list: &List| match list {
        List::Named(..) => 1,
        List::Salts(_) => 0,
        List::Parts(parts) => count(&parts.lists),
    };
    lists.iter().map(of).sum()
}

/// How many gets are merged over lists.
pub(super) fn gets(lists: &[List]) -> f64 {
    lists.iter().map(List::gets).product()
}

/// How many values lists name.
pub(super) fn named(lists: &[List]) -> f64 {
    lists.iter().map(List::named).product()
}

impl Match {
    /// As one that finds what meets a filter by these equalities: they are all that it says, or what
    /// else it says is still to be tested, and these with it.
    fn meeting(mut self, filter: usize, whole: bool, by: &[&Eq]) -> Match {
        if whole {
            self.absorbed.push(filter);
        } else {
            let bound = by.iter().map(|eq| eq.expr.clone());
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
    fn settled(&self) -> bool {
        let open = |l: &List| matches!(l, List::Named(e, _) if !self.bound.contains(e));
        !self.lists.iter().any(open)
    }

    /// Goes over the sub-partitions that a directory lists, of all keys that lists name so far;
    /// gives the number's value.
    fn list_parts(
        &mut self,
        listing: &Structure,
        directory: ShapeId,
        eq: Vec<Term>,
        average: f64,
    ) -> Term {
        let mut columns = vec![eq.len() as u16];
        let item = |columns: &[u16]| Term::Item(0, vec![columns.len() as u16 - 1]);
        for (part, term) in self.bound.iter().zip(&mut self.eq) {
            let column = listing.key().position(|e| e == part);
            if let (true, Some(column)) = (self.listed.contains(part), column) {
                columns.push(column as u16);
                *term = item(&columns);
            }
        }
        let number = match columns.as_slice() {
            [_] => Term::Item(0, vec![]),
            _ => item(&[0]),
        };
        self.lists = vec![List::Parts(Parts {
            directory,
            lists: std::mem::take(&mut self.lists),
            eq,
            columns,
            average,
        })];
        number
    }

    /// Where no order is to be kept, the rows of a directory lead to those buckets that each value
    /// of a list has, and no further list is needed.
    fn follow_directory(&mut self, listing: &Structure, frame: u16) {
        let Some(through) = &mut self.through else {
            return;
        };
        let dropped = through.lists.len();
        let behind = self.eq.iter().skip(through.before);
        if dropped == 0
            || behind
                .clone()
                .any(|t| matches!(t, Term::Call(..)) && has_item(t))
        {
            return;
        }
        for (part, term) in self.bound.iter().zip(&mut self.eq).take(through.before) {
            let column = listing.key().position(|e| e == part);
            if let (true, Some(column)) = (self.listed.contains(part), column) {
                *term = Term::Column {
                    frame,
                    column: column as u16,
                    path: vec![],
                };
            }
        }
        for term in self.eq.iter_mut().skip(through.before) {
            if let Term::Item(list, _) = term {
                *list -= dropped as u16;
            }
        }
        self.lists.drain(..dropped);
        through.once = false;
    }

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
