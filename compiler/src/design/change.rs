//! What changes do: their effects on the facts, the reads that maintenance and checks need, and
//! the rows that each structure gets written.

use super::assumed::LIST;
use super::named::{self, Loop, Named, key_of};
use super::popular_key::{met, totals};
use super::shape::reference_paths;
use super::stats::{Extent, NONE, Stats};
use crate::model::{
    Change, Direction, EntityId, Expr, Field, Item, Leaf, Model, OnDelete, ParamId, Pred, Query,
    ReferenceId, Statement, Type,
};
use crate::view::reads::{Position, Route, RouteStep, reads};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};
use std::collections::{BTreeMap, BTreeSet};

/// One instance.
pub(crate) const ONE: Extent = Extent { avg: 1.0, max: 1.0 };

/// What a statement does to instances of one entity.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) entity: EntityId,
    pub(crate) kind: EffectKind,
    /// How many instances per change.
    pub(crate) count: Extent,
    /// What names them.
    pub(crate) name: Option<Named>,
    /// Of what is inserted, the instances that it refers to.
    pub(crate) links: BTreeMap<ReferenceId, (EntityId, Named)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EffectKind {
    Insert,
    Delete,
    Update(BTreeSet<usize>),
}

/// A read that a change may need, at the end of a route from the instance that it touches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// The values of an entity's instances, by their keys.
    Values(Route, EntityId),
    /// Those that refer by a reference to the instances there.
    Referrers(Route, ReferenceId),
    /// Whether a unique attribute's value is taken.
    Unique(crate::model::AttributeId),
    /// A query of one structure, in words, where the rules count them from what the design keeps.
    Support(super::shape::ShapeId, Route, String),
}

/// How often a need is read, per change.
pub(crate) type Needs = BTreeMap<Need, f64>;

/// The query that finds the instances of an update or delete.
pub(crate) fn find_query(model: &Model, entity: EntityId, filter: &[Pred]) -> Query {
    let root = model.entity(entity).root;
    let mut filter = filter.to_vec();
    if root != entity {
        filter.extend(type_filter(model, root, entity));
    }
    let select = super::shape::key_paths(model, root)
        .into_iter()
        .enumerate()
        .map(|(i, expr)| Item {
            name: format!("k{i}"),
            expr,
        })
        .collect();
    Query {
        anchor: root,
        over: vec![],
        subject: 0,
        filter,
        select,
        group: None,
        order: vec![],
        ordered: 0,
        limit: None,
        page: None,
    }
}

/// Instances of a subtype, as a filter on its root.
pub fn type_filter(model: &Model, root: EntityId, entity: EntityId) -> Option<Pred> {
    let members = model.type_members(root);
    let wanted: Vec<Expr> = members
        .iter()
        .enumerate()
        .filter(|(_, m)| **m == entity || model.entity(entity).subtypes.contains(m))
        .map(|(i, _)| Expr::Const(crate::value::Value::Enum(i as u16)))
        .collect();
    let path = Expr::Path {
        node: 0,
        element: vec![],
        steps: vec![],
        leaf: Leaf::Type,
    };
    (wanted.len() < members.len()).then_some(Pred::In(path, wanted))
}

/// The updates and deletes of a change, each with its entity and filter, in order.
pub(crate) fn finds(change: &Change) -> Vec<(EntityId, &[Pred])> {
    fn collect<'c>(statements: &'c [Statement], out: &mut Vec<(EntityId, &'c [Pred])>) {
        for statement in statements {
            match statement {
                Statement::Update { entity, filter, .. }
                | Statement::Delete { entity, filter, .. } => {
                    out.push((*entity, filter));
                }
                Statement::ForEach { body, .. } => collect(body, out),
                Statement::Insert { .. } => {}
            }
        }
    }
    let mut out = Vec::new();
    collect(&change.statements, &mut out);
    out
}

/// The effects of a change, those of cascades included. `found`: rows per find, in order.
pub(crate) fn effects(stats: &Stats, change: &Change, found: &[Extent]) -> Vec<Effect> {
    let mut out = Vec::new();
    let mut found = found.iter().copied();
    collect_effects(stats, change, &change.statements, &[], &mut found, &mut out);
    merged(out)
}

fn collect_effects(
    stats: &Stats,
    change: &Change,
    statements: &[Statement],
    loops: &[Loop],
    found: &mut dyn Iterator<Item = Extent>,
    out: &mut Vec<Effect>,
) {
    let model = stats.model;
    let times = loops
        .iter()
        .fold(ONE, |times, (_, size)| times.times(*size));
    // Who is named by nothing that a loop goes over is the same one each time.
    let named = |entity: EntityId, filter: &[Pred], rows: Extent| {
        let key = key_of(model, entity, filter);
        let name = key.map(|key| Named::inside(key, loops));
        let times = name.as_ref().map_or(times, |name| name.count);
        (name, times.times(rows))
    };
    for statement in statements {
        match statement {
            Statement::Insert { entity, values, .. } => {
                let entity = model.entity(*entity).root;
                out.push(Effect {
                    entity,
                    kind: EffectKind::Insert,
                    count: times,
                    name: named::inserted(model, entity, values, loops),
                    links: named::links(model, entity, values, loops),
                });
            }
            Statement::Update {
                entity,
                set,
                filter,
                ..
            } => {
                let rows = found.next().unwrap_or(ONE);
                let (name, count) = named(*entity, filter, rows);
                let entity = model.entity(*entity).root;
                let slots = set.iter().map(|(slot, _)| *slot).collect();
                let slots = written(model, entity, slots);
                out.push(Effect {
                    entity,
                    kind: EffectKind::Update(slots),
                    count,
                    name,
                    links: BTreeMap::new(),
                });
            }
            Statement::Delete { entity, filter, .. } => {
                let rows = found.next().unwrap_or(ONE);
                let (name, count) = named(*entity, filter, rows);
                let start = out.len();
                delete_effects(stats, model.entity(*entity).root, count, out, &mut vec![]);
                if let Some(deleted) = out.get_mut(start) {
                    deleted.name = name;
                }
            }
            Statement::ForEach { list, item, body } => {
                let mut inside = loops.to_vec();
                inside.push((*item, list_size(change, *list)));
                collect_effects(stats, change, body, &inside, found, out);
            }
        }
    }
}

/// What is set, with what else is written for it: the attributes of references, and the numbers of
/// sub-partitions that are given anew.
fn written(model: &Model, root: EntityId, set: BTreeSet<usize>) -> BTreeSet<usize> {
    let mut slots = model.with_link_slots(root, set);
    for (slot, split) in model.splits_of(root) {
        if !slots.is_disjoint(&split.slots(model)) {
            slots.insert(slot);
        }
    }
    slots
}

/// How long a list parameter is.
pub(crate) fn list_size(change: &Change, list: ParamId) -> Extent {
    match change.params.get(list.index()).map(|p| &p.ty) {
        Some(Type::List(_, size) | Type::Set(_, size)) if size.avg > 0.0 => Extent {
            avg: size.avg,
            max: size.max.unwrap_or(size.avg * 100.0),
        },
        _ => Extent {
            avg: LIST,
            max: LIST * 100.0,
        },
    }
}

/// A delete and what it does to those that refer to it. `above`: entities whose delete led here;
/// a cycle of cascades is followed once.
pub(crate) fn delete_effects(
    stats: &Stats,
    entity: EntityId,
    count: Extent,
    out: &mut Vec<Effect>,
    above: &mut Vec<EntityId>,
) {
    out.push(Effect {
        entity,
        kind: EffectKind::Delete,
        count,
        name: None,
        links: BTreeMap::new(),
    });
    if above.contains(&entity) {
        return;
    }
    above.push(entity);
    for reference in incoming(stats.model, entity) {
        let r = stats.model.reference(reference);
        let fan = stats.referrers(reference);
        let count = Extent {
            avg: count.avg * fan.avg,
            max: count.max * fan.max,
        };
        let from = stats.model.entity(r.entity).root;
        match r.on_delete {
            OnDelete::Cascade => delete_effects(stats, from, count, out, above),
            OnDelete::Clear => {
                let slot = stats.model.slot(from, Field::Reference(reference));
                let slots = written(stats.model, from, slot.into_iter().collect());
                out.push(Effect {
                    entity: from,
                    kind: EffectKind::Update(slots),
                    count,
                    name: None,
                    links: BTreeMap::new(),
                });
            }
            OnDelete::Refuse => {}
        }
    }
    above.pop();
}

/// Effects of one kind on instances of one entity that nothing names are one effect, and so are
/// the updates of one and the same instance, which is written once.
pub(crate) fn merged(effects: Vec<Effect>) -> Vec<Effect> {
    let mut out: Vec<Effect> = Vec::new();
    for effect in effects {
        let alike = |e: &&mut Effect| {
            e.entity == effect.entity && e.name == effect.name && e.links == effect.links
        };
        let mut known = out.iter_mut().filter(alike);
        let unnamed = effect.name.is_none();
        let same = match &effect.kind {
            EffectKind::Update(_) if !unnamed => {
                known.find(|e| matches!(e.kind, EffectKind::Update(_)))
            }
            kind => known.find(|e| unnamed && e.kind == *kind),
        };
        match (same, effect.kind.clone()) {
            (Some(known), EffectKind::Update(slots)) if !unnamed => {
                if let EffectKind::Update(before) = &mut known.kind {
                    before.extend(slots);
                }
            }
            (Some(known), _) => known.count = known.count.and(effect.count),
            (None, _) => out.push(effect),
        }
    }
    out
}

/// References whose targets are instances of the root.
pub(crate) fn incoming(model: &Model, root: EntityId) -> Vec<ReferenceId> {
    (0..model.references.len() as u32)
        .map(ReferenceId)
        .filter(|&r| model.entity(model.reference(r).target).root == root)
        .collect()
}

/// What must be read to check an effect, whatever the design.
pub(crate) fn checks(model: &Model, effect: &Effect) -> Needs {
    let mut needs = Needs::new();
    let n = effect.count.avg;
    needs.insert(Need::Values(vec![], effect.entity), n);
    let root = model.root(effect.entity);
    for (slot, field) in root.fields.iter().enumerate() {
        let written = match &effect.kind {
            EffectKind::Insert => true,
            EffectKind::Update(slots) => slots.contains(&slot),
            EffectKind::Delete => false,
        };
        if !written {
            continue;
        }
        match field {
            Field::Reference(r) => {
                let target = model.entity(model.reference(*r).target).root;
                needs.insert(Need::Values(vec![RouteStep::One(*r)], target), n);
                if model.reference(*r).unique {
                    needs.insert(Need::Referrers(vec![RouteStep::One(*r)], *r), n);
                }
            }
            Field::Attribute(a) if model.attribute(*a).unique => {
                needs.insert(Need::Unique(*a), n);
            }
            _ => {}
        }
    }
    if effect.kind == EffectKind::Delete {
        for r in incoming(model, effect.entity) {
            needs.insert(Need::Referrers(vec![], r), n);
        }
    }
    needs
}

/// What an effect does to a structure along one route from its anchors.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    /// The key, or what is unfolded or filtered, reads what changed: the structure is written
    /// whatever its columns are.
    pub(crate) key: bool,
    /// Columns that read what changed.
    pub(crate) columns: BTreeSet<usize>,
    /// Rows written per change, on average and at most.
    pub(crate) puts: Extent,
    pub(crate) deletes: Extent,
    /// Rows that are read before they are written: groups.
    pub(crate) read_first: f64,
    /// Instances that are given a number of a sub-partition, each by one get of the totals.
    pub(crate) numbered: f64,
    /// Rows of totals read for that.
    pub(crate) listed: f64,
    /// The way back to the anchors.
    walk: Needs,
    back: Route,
    pub(crate) anchors: f64,
}

/// The reads of one structure, split so that columns can be weighed one by one.
pub(crate) struct Reading {
    key: BTreeMap<Route, Position>,
    columns: Vec<BTreeMap<Route, Position>>,
    fan: Extent,
    over: BTreeMap<RouteStep, Extent>,
    /// Of groups, the bindings of one, on average.
    group: Option<f64>,
    /// The share of bindings that have a row.
    pass: f64,
    /// Where these are the totals of what is split: sub-partitions of a row's key, on average.
    totals: Option<f64>,
}

impl Reading {
    pub(crate) fn new(stats: &Stats, s: &Structure) -> Reading {
        let bare = Structure {
            columns: vec![],
            ..s.clone()
        };
        let column = |c: &Expr| Structure {
            partition: vec![],
            clustering: vec![],
            filter: vec![],
            columns: vec![c.clone()],
            ..s.clone()
        };
        let scope = Scope::new(stats.model, s.anchor, &s.over);
        let mut fan = Extent { avg: 1.0, max: 1.0 };
        let mut over = BTreeMap::new();
        for u in &s.over {
            let f = stats.fan(u, &scope);
            fan = Extent {
                avg: fan.avg * f.avg,
                max: fan.max * f.max,
            };
            if let crate::model::Many::Back(r) = u.many {
                over.insert(RouteStep::Back(r), f);
            }
        }
        Reading {
            key: reads(stats.model, &bare),
            columns: s
                .columns
                .iter()
                .map(|c| reads(stats.model, &column(c)))
                .collect(),
            fan,
            over,
            group: (s.kind == Kind::Groups).then(|| stats.bindings(s) / stats.rows(s).max(1e-9)),
            pass: stats.passes(&scope, &stated(stats.model, s)),
            totals: totals(stats.model, s).map(|split| met(stats, s, split)),
        }
    }

    /// The same where nothing is taken for rare that the model does not say to be: all bindings
    /// may have a row, but for what the model states of the values that have one.
    pub(crate) fn at_most(stats: &Stats, s: &Structure) -> Reading {
        let all = Structure {
            filter: vec![],
            ..s.clone()
        };
        let most = stats.most(s, &[]).rows / stats.bindings(&all).max(1.0);
        Reading {
            pass: most.min(1.0),
            ..Reading::new(stats, s)
        }
    }

    /// The routes along which an effect reaches the structure.
    pub(crate) fn hits(&self, stats: &Stats, effect: &Effect) -> BTreeMap<Route, Hit> {
        let mut hits: BTreeMap<Route, Hit> = BTreeMap::new();
        let touched = |positions: &BTreeMap<Route, Position>| -> Vec<Route> {
            let reached = positions.iter().filter(|(route, position)| {
                position.entity == effect.entity && touches(effect, route, position)
            });
            reached.map(|(route, _)| route.clone()).collect()
        };
        for route in touched(&self.key) {
            let mut hit = self.hit(stats, effect, &route, true);
            hit.key = true;
            hits.insert(route, hit);
        }
        for (column, positions) in self.columns.iter().enumerate() {
            for route in touched(positions) {
                let hit = hits.entry(route.clone());
                hit.or_insert_with(|| self.hit(stats, effect, &route, false))
                    .columns
                    .insert(column);
            }
        }
        hits
    }

    fn hit(&self, stats: &Stats, effect: &Effect, route: &Route, in_key: bool) -> Hit {
        let mut anchors = effect.count;
        let mut fan = self.fan;
        let mut back: Route = Vec::new();
        let mut walk = Needs::new();
        let whole = matches!(effect.kind, EffectKind::Insert | EffectKind::Delete);
        let mut behind: Option<&RouteStep> = None;
        for step in route.iter().rev() {
            match step {
                RouteStep::One(r) => {
                    walk.insert(Need::Referrers(back.clone(), *r), anchors.avg);
                    // Whoever was come to from what refers there is one of those who do; where it
                    // comes or goes itself, its own rows are counted as the anchor's.
                    let f = if behind == Some(&RouteStep::Back(*r)) && !whole {
                        stats.there_and_back(*r)
                    } else {
                        stats.referrers(*r)
                    };
                    anchors = Extent {
                        avg: anchors.avg * f.avg,
                        max: anchors.max * f.max,
                    };
                    extend(&mut back, RouteStep::Back(*r));
                }
                RouteStep::Back(r) => {
                    extend(&mut back, RouteStep::One(*r));
                }
            }
            behind = Some(step);
            if let Some(f) = self.over.get(step) {
                fan = Extent {
                    avg: fan.avg / f.avg.max(1e-9),
                    max: fan.max / f.max.max(1.0),
                };
            }
        }
        // What has no row, before or after, writes none.
        let rows = Extent {
            avg: anchors.avg * fan.avg * self.pass,
            max: anchors.max * fan.max,
        };
        // Where the instance itself (or an unfolded element) comes or goes, rows do; anything else
        // rewrites rows, and moves them where the key reads what changed.
        // References on the way to what is unfolded change nothing about that.
        let unfolded = |s: &RouteStep| self.over.contains_key(s);
        let to_one = |s: &RouteStep| matches!(s, RouteStep::One(_));
        let comes_or_goes =
            route.last().is_none_or(unfolded) && route.iter().all(|s| to_one(s) || unfolded(s));
        let (comes, goes) = match (&effect.kind, comes_or_goes && in_key) {
            (EffectKind::Insert, true) => (rows, NONE),
            (EffectKind::Delete, true) => (NONE, rows),
            _ if in_key => (rows, rows),
            _ => (rows, NONE),
        };
        // A group that a binding leaves is written again while it has others.
        let (puts, deletes) = match self.group {
            Some(bindings) if bindings >= 2.0 => (comes.and(goes), NONE),
            _ => (comes, goes),
        };
        let placed = in_key && effect.kind != EffectKind::Delete;
        let totals = self.totals.filter(|_| placed);
        Hit {
            numbered: totals.map_or(0.0, |_| rows.avg),
            listed: totals.map_or(0.0, |average| rows.avg * average),
            key: false,
            columns: BTreeSet::new(),
            puts,
            deletes,
            read_first: self.group.map_or(0.0, |_| comes.avg + goes.avg),
            walk,
            back,
            anchors: anchors.avg,
        }
    }

    /// What is read to find and evaluate the anchors of a hit, columns left out.
    pub(crate) fn key_needs(
        &self,
        stats: &Stats,
        effect: &Effect,
        route: &Route,
        hit: &Hit,
    ) -> Needs {
        let mut needs = hit.walk.clone();
        self.evaluation(stats, effect, route, hit, &self.key, &mut needs);
        needs
    }

    /// What evaluating one column for the anchors of a hit reads.
    pub(crate) fn column_needs(
        &self,
        stats: &Stats,
        effect: &Effect,
        route: &Route,
        hit: &Hit,
        column: usize,
    ) -> Needs {
        let mut needs = Needs::new();
        if let Some(positions) = self.columns.get(column) {
            self.evaluation(stats, effect, route, hit, positions, &mut needs);
        }
        needs
    }

    fn evaluation(
        &self,
        stats: &Stats,
        effect: &Effect,
        subject: &Route,
        hit: &Hit,
        positions: &BTreeMap<Route, Position>,
        needs: &mut Needs,
    ) {
        let mut add = |need: Need, n: f64| {
            let known = needs.entry(need).or_insert(0.0);
            *known = known.max(n);
        };
        for (route, position) in positions {
            let mut at = hit.back.clone();
            let mut n = hit.anchors;
            // What is unfolded on the way from what changed is fixed by it: its siblings are not
            // looked at.
            let along = route.iter().zip(subject);
            let fixed = along
                .take_while(|(a, b)| a == b && self.over.contains_key(a))
                .count();
            at.truncate(at.len().saturating_sub(fixed));
            for step in route.iter().skip(fixed) {
                if let RouteStep::Back(r) = step {
                    add(Need::Referrers(at.clone(), *r), n);
                    n *= stats.referrers(*r).avg;
                }
                if let (true, RouteStep::One(r)) = (extend(&mut at, *step), step) {
                    // Back at the one that those instances refer to.
                    n /= stats.referrers(*r).avg;
                }
            }
            let given = effect.kind == EffectKind::Insert && (at.is_empty() || route == subject);
            let anchor = route.is_empty() && !hit.back.is_empty();
            if !given && (anchor || !position.slots.is_empty()) {
                add(Need::Values(at, position.entity), n);
            }
        }
    }
}

/// The conditions of a structure that the model's volumes speak of. What expires has a deadline: that
/// a list of deadlines leaves out those without one leaves out none that a change is about.
fn stated(model: &Model, s: &Structure) -> Vec<Pred> {
    let deadline = model.entity(s.anchor).deadline;
    let about = |p: &Pred| match p {
        Pred::Not(inner) => {
            matches!(&**inner, Pred::IsNull(Expr::Path { steps, leaf: Leaf::Attribute(a, _), .. })
            if steps.is_empty() && Some(*a) == deadline)
        }
        _ => false,
    };
    s.filter.iter().filter(|p| !about(p)).cloned().collect()
}

/// Appends a step; from those that refer to the instance back to the instance is no step at all
/// (then true).
fn extend(route: &mut Route, step: RouteStep) -> bool {
    match (route.last(), step) {
        (Some(RouteStep::Back(r)), RouteStep::One(s)) if *r == s => {
            route.pop();
            true
        }
        _ => {
            route.push(step);
            false
        }
    }
}

/// Whether an effect on an instance at a position can alter the rows. One that has just appeared
/// (or is gone) is referred to by nothing but what changed itself, so it is no concern of the
/// position behind a reference.
fn touches(effect: &Effect, route: &Route, position: &Position) -> bool {
    match &effect.kind {
        EffectKind::Update(slots) => !slots.is_disjoint(&position.slots),
        EffectKind::Insert | EffectKind::Delete => !matches!(route.last(), Some(RouteStep::One(_))),
    }
}

/// Whether a structure finds the referrers of an instance by one get: its key starts with the
/// reference's key.
pub(crate) fn finds_referrers(
    model: &Model,
    s: &Structure,
    reference: ReferenceId,
    ordered: bool,
) -> bool {
    let paths = reference_paths(model, reference);
    let root = model.entity(model.reference(reference).entity).root;
    let starts = s.key().take(paths.len()).all(|e| paths.contains(e)) && s.key_len() >= paths.len();
    s.anchor == root
        && s.kind == Kind::Lists
        && s.over.is_empty()
        && s.filter.is_empty()
        && starts
        && (ordered || s.partition.len() <= paths.len())
}

/// A candidate for the home of every entity, and for every unique attribute and reference.
pub(crate) fn standing_shapes(
    model: &Model,
    add: &mut dyn FnMut(EntityId, Vec<Expr>, Vec<(Expr, Direction)>),
) {
    for root in model.roots() {
        let leaves = super::shape::key_paths(model, root);
        add(root, leaves.clone(), vec![]);
        for (i, leaf) in leaves.iter().enumerate().filter(|_| leaves.len() > 1) {
            let rest = leaves.iter().enumerate().filter(|(j, _)| *j != i);
            add(
                root,
                vec![leaf.clone()],
                rest.map(|(_, l)| (l.clone(), Direction::Asc)).collect(),
            );
        }
    }
    for reference in (0..model.references.len() as u32).map(ReferenceId) {
        let entity = model.reference(reference).entity;
        add(entity, reference_paths(model, reference), vec![]);
    }
    for (i, attribute) in model
        .attributes
        .iter()
        .enumerate()
        .filter(|(_, a)| a.unique)
    {
        let leaf = Leaf::Attribute(crate::model::AttributeId(i as u32), vec![]);
        let path = Expr::Path {
            node: 0,
            element: vec![],
            steps: vec![],
            leaf,
        };
        add(attribute.entity, vec![path], vec![]);
    }
}
