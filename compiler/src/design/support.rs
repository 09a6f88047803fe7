//! Support reads, where a cost model counts them as queries: what a structure needs and the change
//! does not give is read from what the design keeps, one query per branch of the structure's paths,
//! seen from the instance that changes. The rules say which lookups of these queries are one read.

use super::change::{Effect, EffectKind, Hit, Need};
use super::options::Planner;
use super::price::NeedPrice;
use super::shape::{Requirement, ShapeId, key_paths, reference_paths};
use super::target::Support;
use crate::model::{EntityId, Expr, Field, Leaf, ReferenceId};
use crate::view::Kind;
use crate::view::reads::{Route, RouteStep};
use std::collections::{BTreeMap, BTreeSet};

/// A query that maintaining one structure takes.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    /// What is read, in words.
    pub(crate) about: String,
    /// Whether a key part needs it; else only the columns do.
    pub(crate) key: bool,
    /// The structure's columns that need it.
    pub(crate) columns: BTreeSet<usize>,
    /// How it can be answered; none: not at all.
    pub(crate) ways: Vec<Way>,
}

/// A plan of such a query.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) lookups: BTreeMap<Lookup, NeedPrice>,
    pub(crate) requires: BTreeSet<Requirement>,
    /// What each of the structure's columns requires besides.
    pub(crate) columns: BTreeMap<usize, Requirement>,
}

/// A lookup, of an effect of a change. Equal ones are one where one structure is maintained, or all
/// structures that the effect reaches, as the rules say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lookup {
    /// Of a candidate, for what lies at the end of a route from the instance that changes; with a
    /// branch, where the rules count it for each apart.
    Candidate(ShapeId, Route, Option<Start>),
    /// Of whatever is the home of what a need asks for, found with these candidates.
    Home(Need, Vec<ShapeId>),
}

/// What the maintenance of one structure reads.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub(crate) branches: Vec<Branch>,
    /// Columns (none: the key) of which a part is read by no query of this kind.
    pub(crate) beyond: BTreeSet<Option<usize>>,
}

impl Branch {
    /// Whether it is read, given the columns that the structure keeps.
    pub(crate) fn read(&self, kept: &BTreeSet<usize>) -> bool {
        self.key || !self.columns.is_disjoint(kept)
    }
}

/// The lookups that ways of more than one of these branches make.
pub(crate) fn shared<'b>(branches: impl Iterator<Item = &'b Branch>) -> BTreeSet<Lookup> {
    let mut seen: BTreeSet<&Lookup> = BTreeSet::new();
    let mut out = BTreeSet::new();
    for branch in branches {
        let lookups = branch.ways.iter().flat_map(|w| w.lookups.keys());
        let lookups: BTreeSet<&Lookup> = lookups.collect();
        out.extend(lookups.intersection(&seen).map(|&l| l.clone()));
        seen.extend(lookups);
    }
    out
}

/// The lookups of each branch, such that together they cost least, each counted for the first
/// branch that makes it; none where what is built and kept does not answer one of the branches.
/// With each branch come the columns that its structure keeps.
pub(crate) fn cheapest(
    branches: &[(&Branch, &BTreeSet<usize>)],
    has: &dyn Fn(&Requirement) -> bool,
) -> Option<Vec<NeedPrice>> {
    let shared = shared(branches.iter().map(|(branch, _)| *branch));
    let mut options: Vec<Vec<&Way>> = Vec::new();
    for (branch, kept) in branches {
        let allowed = |w: &&Way| w.required(kept).all(|r| has(&r));
        let allowed = branch.ways.iter().filter(allowed);
        let (mut joint, alone): (Vec<&Way>, Vec<&Way>) =
            allowed.partition(|w| w.lookups.keys().any(|l| shared.contains(l)));
        // Of those that share nothing, only the cheapest can be part of the cheapest.
        joint.extend(
            alone
                .into_iter()
                .min_by(|a, b| a.cost().total_cmp(&b.cost())),
        );
        joint.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        if joint.is_empty() {
            return None;
        }
        options.push(joint);
    }
    let mut prices = vec![NeedPrice::default(); options.len()];
    for together in connected(&options) {
        let own: Vec<&[&Way]> = together
            .iter()
            .filter_map(|&at| options.get(at).map(Vec::as_slice))
            .collect();
        let mut search = Search {
            options: &own,
            best: f64::INFINITY,
            prices: vec![],
        };
        search.from(&mut vec![], &BTreeMap::new(), 0.0);
        if search.best.is_infinite() {
            return None;
        }
        for (at, price) in together.into_iter().zip(search.prices) {
            prices.get_mut(at).into_iter().for_each(|p| *p = price);
        }
    }
    Some(prices)
}

/// The branches whose ways make lookups that others of them make too, by position, in order: what is
/// cheapest for one such set has nothing to do with the others.
fn connected(options: &[Vec<&Way>]) -> Vec<BTreeSet<usize>> {
    let mut out: Vec<(BTreeSet<usize>, BTreeSet<&Lookup>)> = Vec::new();
    for (at, ways) in options.iter().enumerate() {
        let mut own = BTreeSet::from([at]);
        let mut lookups: BTreeSet<&Lookup> = ways.iter().flat_map(|w| w.lookups.keys()).collect();
        let (near, far) = out
            .into_iter()
            .partition(|(_, made)| !made.is_disjoint(&lookups));
        out = far;
        let near: Vec<(BTreeSet<usize>, BTreeSet<&Lookup>)> = near;
        for (others, made) in near {
            own.extend(others);
            lookups.extend(made);
        }
        out.push((own, lookups));
    }
    out.into_iter().map(|(branches, _)| branches).collect()
}

/// Lookups that are made, at the price of the most demanding that asked for them.
type Made<'w> = BTreeMap<&'w Lookup, NeedPrice>;

/// The search for the cheapest ways of several branches together.
struct Search<'o> {
    options: &'o [&'o [&'o Way]],
    best: f64,
    /// Of the best: what each branch adds.
    prices: Vec<NeedPrice>,
}

impl<'o> Search<'o> {
    fn from(&mut self, chosen: &mut Vec<NeedPrice>, made: &Made<'o>, cost: f64) {
        if cost >= self.best {
            return;
        }
        let Some(ways) = self.options.get(chosen.len()) else {
            self.best = cost;
            self.prices.clone_from(chosen);
            return;
        };
        // Where what is made already answers the branch, no other way is worth a try: whoever could
        // use what that makes can pay for it as well.
        let free = ways.iter().find(|way| way.beyond(made).cost <= 0.0);
        for way in free.map_or(*ways, std::slice::from_ref) {
            let price = way.beyond(made);
            let mut made = made.clone();
            for (lookup, price) in &way.lookups {
                let most = made.entry(lookup).or_default();
                *most = most.and(price.beyond(*most));
            }
            chosen.push(price);
            self.from(chosen, &made, cost + price.cost);
            chosen.pop();
        }
    }
}

/// A value that a structure reads: for a column, which one, and its path.
struct Wanted {
    column: Option<usize>,
    steps: Vec<ReferenceId>,
    leaf: Leaf,
}

/// Where a branch starts, as seen from the instance that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Start {
    /// The instance itself.
    Own,
    /// Along a reference of it; its target is known, or not yet.
    Along(ReferenceId, bool),
    /// Those that lead to it.
    Back,
}

/// The support reads of one structure for an effect that reaches it along a route.
pub(crate) fn branches(
    planner: &Planner,
    shape: ShapeId,
    effect: &Effect,
    route: &Route,
    hit: &Hit,
) -> Reads {
    let s = planner.shapes.get(shape);
    let rules = &planner.target.cost.rules;
    let columns = hit.key || rules.whole_rows;
    let mut out = Reads::default();
    let read = s.key().map(|e| (None, e)).chain(
        s.columns
            .iter()
            .enumerate()
            .filter(|_| columns)
            .map(|(i, e)| (Some(i), e)),
    );
    let walked: Option<Vec<ReferenceId>> = route
        .iter()
        .map(|step| match step {
            RouteStep::One(r) => Some(*r),
            RouteStep::Back(_) => None,
        })
        .collect();
    let mut found: BTreeMap<(Start, Option<ReferenceId>), Vec<Wanted>> = BTreeMap::new();
    for (column, expr) in read {
        let mut paths = Vec::new();
        let plain = leaves(expr, &mut paths);
        let Some(walked) = walked.as_ref().filter(|_| plain) else {
            out.beyond.insert(column);
            continue;
        };
        for (mut steps, leaf) in paths {
            let start = place(planner, effect, walked, &mut steps, &leaf);
            let wanted = Wanted {
                column,
                steps,
                leaf,
            };
            if let Some(start) = start {
                let next = wanted.next(planner).filter(|_| start != Start::Back);
                found.entry((start, next)).or_default().push(wanted);
            }
        }
    }
    let walked = walked.unwrap_or_default();
    let apart = rules.support == Support::Branch;
    let ways = |start, next, wanted: &[Wanted]| {
        let from = |entity, route| {
            let from = From {
                entity,
                route,
                branch: apart.then_some(start),
            };
            forward(planner, &from, effect, next, wanted)
        };
        match start {
            Start::Own | Start::Along(_, false) => from(effect.entity, vec![]),
            Start::Along(r, true) => {
                from(planner.model.reference(r).target, vec![RouteStep::One(r)])
            }
            Start::Back => backward(planner, s.anchor, effect, &walked, hit.anchors, wanted),
        }
    };
    let name = |entity: EntityId| planner.model.entity(entity).name.clone();
    let about = |start| match start {
        Start::Own => name(effect.entity),
        Start::Along(r, _) => {
            format!(
                "{} of {}",
                planner.model.reference(r).name,
                name(effect.entity)
            )
        }
        Start::Back => format!("{} of {}", name(s.anchor), name(effect.entity)),
    };
    for (&(start, next), wanted) in &found {
        let ways = ways(start, next, wanted);
        if ways.is_empty() {
            out.beyond.extend(wanted.iter().map(|w| w.column));
            continue;
        }
        out.branches.push(Branch {
            about: about(start),
            key: wanted.iter().any(|w| w.column.is_none()),
            columns: wanted.iter().filter_map(|w| w.column).collect(),
            ways,
        });
    }
    out
}

/// Where lookups start: an entity, the route to it from the instance that changes, and the branch
/// that they are counted for where the rules count each apart.
struct From {
    entity: EntityId,
    route: Route,
    branch: Option<Start>,
}

/// The paths of an expression from its anchor; false where it reads anything else.
fn leaves(expr: &Expr, out: &mut Vec<(Vec<ReferenceId>, Leaf)>) -> bool {
    match expr {
        Expr::Path {
            node: 0,
            element,
            steps,
            leaf,
        } if element.is_empty() => {
            out.push((steps.clone(), leaf.clone()));
            true
        }
        Expr::Const(_) => true,
        Expr::Call(_, args) => args.iter().all(|a| leaves(a, out)),
        _ => false,
    }
}

/// The branch that a path belongs to, its steps then being those from the branch's start; none
/// where the change gives the value.
fn place(
    planner: &Planner,
    effect: &Effect,
    walked: &[ReferenceId],
    steps: &mut Vec<ReferenceId>,
    leaf: &Leaf,
) -> Option<Start> {
    let model = planner.model;
    if !steps.starts_with(walked) {
        return Some(Start::Back);
    }
    steps.drain(..walked.len());
    let given = |field: Field| {
        let slot = model.slot(effect.entity, field);
        slot.is_some_and(|slot| {
            model.root(effect.entity).key.contains(&slot)
                || match &effect.kind {
                    EffectKind::Insert => true,
                    EffectKind::Update(set) => set.contains(&slot),
                    EffectKind::Delete => false,
                }
        })
    };
    match (steps.first().copied(), leaf) {
        (None, Leaf::Attribute(a, _)) => (!given(Field::Attribute(*a))).then_some(Start::Own),
        (None, _) => (effect.kind != EffectKind::Insert).then_some(Start::Own),
        (Some(r), _) => {
            let known = given(Field::Reference(r));
            if known && is_key(planner, r, steps, leaf) {
                return None;
            }
            if known {
                steps.remove(0);
            }
            Some(Start::Along(r, known))
        }
    }
}

fn is_key(planner: &Planner, r: ReferenceId, steps: &[ReferenceId], leaf: &Leaf) -> bool {
    reference_paths(planner.model, r).contains(&path(steps, leaf))
}

fn path(steps: &[ReferenceId], leaf: &Leaf) -> Expr {
    Expr::Path {
        node: 0,
        element: vec![],
        steps: steps.to_vec(),
        leaf: leaf.clone(),
    }
}

impl Wanted {
    /// The reference whose end has it, where that is not the reference's own row.
    fn next(&self, planner: &Planner) -> Option<ReferenceId> {
        let r = *self.steps.first()?;
        (!is_key(planner, r, &self.steps, &self.leaf)).then_some(r)
    }
}

/// Lookups by the key of an entity: one, or one and then another at the end of the next step.
fn forward(
    planner: &Planner,
    from: &From,
    effect: &Effect,
    next: Option<ReferenceId>,
    wanted: &[Wanted],
) -> Vec<Way> {
    let n = effect.count.avg;
    let looked_up = (n, n);
    let lookup = |shape, step: Option<ReferenceId>| {
        let step = step.map(RouteStep::One);
        let route = from.route.iter().copied().chain(step).collect();
        Lookup::Candidate(shape, route, from.branch)
    };
    let at = |w: &Wanted, from: usize| {
        let steps = w.steps.get(from..).unwrap_or_default();
        (w.column, path(steps, &w.leaf))
    };
    let ends: Vec<Way> = match next {
        None => vec![],
        Some(r) => identities(planner, planner.model.reference(r).target)
            .into_iter()
            .filter_map(|end| {
                let behind = wanted.iter().map(|w| at(w, 1));
                one(planner, lookup(end, next), end, looked_up, behind)
            })
            .collect(),
    };
    let mut out = Vec::new();
    for shape in identities(planner, from.entity) {
        let all = wanted.iter().map(|w| at(w, 0));
        out.extend(one(planner, lookup(shape, None), shape, looked_up, all));
        let key = next.map_or(vec![], |r| reference_paths(planner.model, r));
        let key = key.into_iter().map(|e| (None, e));
        let Some(first) = one(planner, lookup(shape, None), shape, looked_up, key) else {
            continue;
        };
        out.extend(ends.iter().map(|end| first.clone().and(end.clone())));
    }
    out
}

/// Lookups of those that lead to the instance: from a structure partitioned by the way to it, with
/// or without a lookup of each by its own key.
fn backward(
    planner: &Planner,
    anchor: EntityId,
    effect: &Effect,
    walked: &[ReferenceId],
    anchors: f64,
    wanted: &[Wanted],
) -> Vec<Way> {
    let n = effect.count.avg;
    let partition: Vec<Expr> = key_paths(planner.model, effect.entity)
        .into_iter()
        .filter_map(|leaf| match leaf {
            Expr::Path { steps, leaf, .. } => {
                let steps: Vec<_> = walked.iter().copied().chain(steps).collect();
                Some(path(&steps, &leaf))
            }
            _ => None,
        })
        .collect();
    let all = || wanted.iter().map(|w| (w.column, path(&w.steps, &w.leaf)));
    let found = (n, anchors);
    let each = (anchors, anchors);
    let back: Route = walked.iter().rev().map(|&r| RouteStep::Back(r)).collect();
    let lookup = |shape| Lookup::Candidate(shape, back.clone(), Some(Start::Back));
    let mut out = Vec::new();
    for (shape, s) in planner.shapes.all.iter().enumerate() {
        let s = &s.structure;
        let lists = s.kind == Kind::Lists && s.over.is_empty() && s.filter.is_empty();
        let by = s.partition.len() == partition.len()
            && s.partition.iter().all(|p| partition.contains(p));
        if s.anchor != anchor || !lists || !by {
            continue;
        }
        out.extend(one(planner, lookup(shape), shape, found, all()));
        let Some(first) = one(planner, lookup(shape), shape, found, std::iter::empty()) else {
            continue;
        };
        for home in identities(planner, anchor) {
            let second = one(planner, lookup(home), home, each, all());
            out.extend(second.map(|second| first.clone().and(second)));
        }
    }
    out
}

/// Candidates to look up instances by their keys in: those that a person gave, which may hold
/// different things, and the first of the others, which could hold the same.
fn identities(planner: &Planner, entity: EntityId) -> Vec<ShapeId> {
    let root = planner.model.entity(entity).root;
    let all = planner.shapes.all.iter().enumerate();
    let mut all = all.filter(|(_, s)| s.identity && s.structure.anchor == root);
    let mut out: Vec<ShapeId> = Vec::new();
    let given = all.clone().filter(|(_, s)| s.given);
    out.extend(given.map(|(shape, _)| shape));
    out.extend(all.find(|(_, s)| !s.given).map(|(shape, _)| shape));
    out
}

/// One lookup, of so many gets and rows, of values that the candidate holds; none where it cannot
/// hold one of them.
fn one(
    planner: &Planner,
    lookup: Lookup,
    shape: ShapeId,
    (gets, rows): (f64, f64),
    wanted: impl Iterator<Item = (Option<usize>, Expr)>,
) -> Option<Way> {
    let s = planner.shapes.get(shape);
    let built = Requirement {
        shape,
        column: None,
    };
    let cost = planner.read_cost(planner.stats.rows(s), gets, rows, 0.0);
    let mut way = Way {
        lookups: BTreeMap::from([(
            lookup,
            NeedPrice {
                rows,
                cost,
                all: false,
            },
        )]),
        requires: BTreeSet::from([built]),
        columns: BTreeMap::new(),
    };
    for (column, expr) in wanted {
        if s.key().any(|e| *e == expr) {
            continue;
        }
        let kept = Requirement {
            shape,
            column: Some(s.columns.iter().position(|e| *e == expr)?),
        };
        match column {
            None => {
                way.requires.insert(kept);
            }
            Some(column) => {
                way.columns.insert(column, kept);
            }
        }
    }
    Some(way)
}

impl Way {
    /// All that it requires, given the columns that the structure keeps.
    pub(crate) fn required(&self, kept: &BTreeSet<usize>) -> impl Iterator<Item = Requirement> {
        let columns = self.columns.iter().filter(|(c, _)| kept.contains(c));
        self.requires
            .iter()
            .copied()
            .chain(columns.map(|(_, r)| *r))
    }

    /// What all its lookups cost.
    pub(crate) fn cost(&self) -> f64 {
        self.lookups.values().map(|p| p.cost).sum()
    }

    /// What its lookups add to those that are made.
    fn beyond(&self, made: &Made) -> NeedPrice {
        let added = self.lookups.iter().map(|(lookup, price)| {
            let made = made.get(lookup).copied().unwrap_or_default();
            price.beyond(made)
        });
        added.fold(NeedPrice::default(), NeedPrice::and)
    }

    /// This lookup, then another one.
    fn and(mut self, next: Way) -> Way {
        self.lookups.extend(next.lookups);
        self.requires.extend(next.requires);
        self.columns.extend(next.columns);
        self
    }
}

/// Makes columns of what support reads may look up: an entity's values by its key, with the keys
/// one reference further, and by each of its references.
pub(crate) fn offer(planner: &mut Planner) {
    let model = planner.model;
    for root in model.roots() {
        let fields = planner.stats.value_fields(root);
        let own: Vec<Expr> = fields
            .iter()
            .flat_map(|&f| super::shape::field_paths(model, f))
            .collect();
        let mut further = Vec::new();
        for field in &fields {
            let Field::Reference(r) = field else { continue };
            for next in planner.stats.value_fields(model.reference(*r).target) {
                let Field::Reference(next) = next else {
                    continue;
                };
                for leaf in reference_paths(model, next) {
                    if let Expr::Path { steps, leaf, .. } = leaf {
                        let steps: Vec<_> = std::iter::once(*r).chain(steps).collect();
                        further.push(path(&steps, &leaf));
                    }
                }
            }
        }
        let references: Vec<Vec<Expr>> = fields
            .iter()
            .filter_map(|f| match f {
                Field::Reference(r) => Some(reference_paths(model, *r)),
                _ => None,
            })
            .collect();
        for shape in 0..planner.shapes.all.len() {
            let Some(s) = planner.shapes.all.get(shape) else {
                continue;
            };
            let of_root = s.structure.anchor == root && s.structure.kind == Kind::Lists;
            let found = references.contains(&s.structure.partition);
            let identity = s.identity;
            if !of_root || !(found || identity) {
                continue;
            }
            let far = further.iter().filter(|_| identity);
            for expr in own.iter().chain(far) {
                planner.shapes.column(shape, expr);
            }
        }
    }
}
