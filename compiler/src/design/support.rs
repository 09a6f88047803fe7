//! Support reads, where a cost model counts them for each structure apart: what a structure needs
//! and the change does not give is read from what the design keeps, one query per branch of the
//! structure's paths, seen from the instance that changes.

use super::change::{Effect, EffectKind, Hit};
use super::options::Planner;
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
    pub(crate) cost: f64,
    /// Rows read.
    pub(crate) rows: f64,
    pub(crate) requires: BTreeSet<Requirement>,
    /// What each of the structure's columns requires besides.
    pub(crate) columns: BTreeMap<usize, Requirement>,
}

impl Branch {
    /// Whether it is read, given the columns that the structure keeps.
    pub(crate) fn read(&self, kept: &BTreeSet<usize>) -> bool {
        self.key || !self.columns.is_disjoint(kept)
    }

    /// The cheapest way that what is built and kept allows.
    pub(crate) fn way(
        &self,
        kept: &BTreeSet<usize>,
        has: &dyn Fn(&Requirement) -> bool,
    ) -> Option<&Way> {
        let allowed = self.ways.iter().filter(|w| {
            w.requires.iter().all(has) && w.columns.iter().all(|(c, r)| !kept.contains(c) || has(r))
        });
        allowed.min_by(|a, b| a.cost.total_cmp(&b.cost))
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
enum Start {
    /// The instance itself.
    Own,
    /// Along a reference of it; its target is known, or not yet.
    Along(ReferenceId, bool),
    /// Those that lead to it.
    Back,
    /// What no single query of this kind reads: collections, elements.
    Beyond,
}

/// The support reads of one structure for an effect that reaches it along a route.
pub(crate) fn branches(
    planner: &Planner,
    shape: ShapeId,
    effect: &Effect,
    route: &Route,
    hit: &Hit,
) -> Vec<Branch> {
    let s = planner.shapes.get(shape);
    let rules = &planner.target.cost.rules;
    let columns = hit.key || rules.whole_rows;
    let together = rules.support == Support::Structure;
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
    let mut found: BTreeMap<Start, Vec<Wanted>> = BTreeMap::new();
    for (column, expr) in read {
        let mut paths = Vec::new();
        let plain = walked.is_some() && leaves(expr, &mut paths);
        for (mut steps, leaf) in paths {
            let start = match &walked {
                Some(walked) if plain => place(planner, effect, walked, &mut steps, &leaf),
                _ => Some(Start::Beyond),
            };
            let start = start.map(|start| match start {
                Start::Along(_, false) if together => Start::Own,
                start => start,
            });
            let wanted = Wanted {
                column,
                steps,
                leaf,
            };
            if let Some(start) = start {
                found.entry(start).or_default().push(wanted);
            }
        }
        if !plain {
            let (steps, leaf) = (vec![], Leaf::Key);
            let wanted = Wanted {
                column,
                steps,
                leaf,
            };
            found.entry(Start::Beyond).or_default().push(wanted);
        }
    }
    let walked = walked.unwrap_or_default();
    let ways = |start, wanted: &[Wanted]| match start {
        Start::Own | Start::Along(_, false) => forward(planner, effect.entity, effect, wanted),
        Start::Along(r, true) => {
            forward(planner, planner.model.reference(r).target, effect, wanted)
        }
        Start::Back => backward(planner, s.anchor, effect, &walked, hit.anchors, wanted),
        Start::Beyond => vec![],
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
        Start::Back | Start::Beyond => format!("{} of {}", name(s.anchor), name(effect.entity)),
    };
    found
        .iter()
        .map(|(&start, wanted)| Branch {
            about: about(start),
            key: wanted.iter().any(|w| w.column.is_none()),
            columns: wanted.iter().filter_map(|w| w.column).collect(),
            ways: ways(start, wanted),
        })
        .collect()
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

/// Lookups by the key of an entity: one, or one and then another at the end of each first step.
fn forward(planner: &Planner, entity: EntityId, effect: &Effect, wanted: &[Wanted]) -> Vec<Way> {
    let n = effect.count.avg;
    let looked_up = (n, n);
    let at = |w: &Wanted, from: usize| {
        let steps = w.steps.get(from..).unwrap_or_default();
        (w.column, path(steps, &w.leaf))
    };
    // What the entity's own row does not have, by the reference that leads to it.
    let mut near = Vec::new();
    let mut far: BTreeMap<ReferenceId, Vec<(Option<usize>, Expr)>> = BTreeMap::new();
    for w in wanted {
        match w.steps.first() {
            Some(&r) if !is_key(planner, r, &w.steps, &w.leaf) => {
                far.entry(r).or_default().push(at(w, 1));
            }
            _ => near.push(at(w, 0)),
        }
    }
    for &r in far.keys() {
        near.extend(
            reference_paths(planner.model, r)
                .into_iter()
                .map(|e| (None, e)),
        );
    }
    let mut out = Vec::new();
    for shape in identities(planner, entity) {
        out.extend(one(
            planner,
            shape,
            looked_up,
            wanted.iter().map(|w| at(w, 0)),
        ));
        if far.is_empty() {
            continue;
        }
        let mut ways: Vec<Way> = one(planner, shape, looked_up, near.iter().cloned())
            .into_iter()
            .collect();
        for (&r, behind) in &far {
            let ends = identities(planner, planner.model.reference(r).target);
            let next = |way: &Way| -> Vec<Way> {
                let second = |&end: &ShapeId| one(planner, end, looked_up, behind.iter().cloned());
                ends.iter()
                    .filter_map(second)
                    .map(|w| way.clone().and(w))
                    .collect()
            };
            ways = ways.iter().flat_map(next).collect();
        }
        out.extend(ways);
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
    let mut out = Vec::new();
    for (shape, s) in planner.shapes.all.iter().enumerate() {
        let s = &s.structure;
        let lists = s.kind == Kind::Lists && s.over.is_empty() && s.filter.is_empty();
        let by = s.partition.len() == partition.len()
            && s.partition.iter().all(|p| partition.contains(p));
        if s.anchor != anchor || !lists || !by {
            continue;
        }
        out.extend(one(planner, shape, found, all()));
        let Some(first) = one(planner, shape, found, std::iter::empty()) else {
            continue;
        };
        for home in identities(planner, anchor) {
            out.extend(one(planner, home, each, all()).map(|second| first.clone().and(second)));
        }
    }
    out
}

fn identities(planner: &Planner, entity: EntityId) -> Vec<ShapeId> {
    let root = planner.model.entity(entity).root;
    let all = planner.shapes.all.iter().enumerate();
    all.filter(|(_, s)| s.identity && s.structure.anchor == root)
        .map(|(shape, _)| shape)
        .collect()
}

/// One lookup, of so many gets and rows, of values that the candidate holds; none where it cannot
/// hold one of them.
fn one(
    planner: &Planner,
    shape: ShapeId,
    (gets, rows): (f64, f64),
    wanted: impl Iterator<Item = (Option<usize>, Expr)>,
) -> Option<Way> {
    let s = planner.shapes.get(shape);
    let built = Requirement {
        shape,
        column: None,
    };
    let mut way = Way {
        cost: planner.read_cost(planner.stats.rows(s), gets, rows, 0.0),
        rows,
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

    /// This lookup, then another one.
    fn and(mut self, next: Way) -> Way {
        self.cost += next.cost;
        self.rows += next.rows;
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
