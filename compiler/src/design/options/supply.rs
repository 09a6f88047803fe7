//! Supplying values: from the row that bound a node, from an instance fetched by its key (the
//! application-side join), or from a subplan.

use super::{Fetched, Planner, Source, State};
use crate::design::plan::{Estimate, Get, Op, StructureId, Term};
use crate::design::shape::{Requirement, ShapeId, field_paths, key_paths, names_instance};
use crate::design::widths::type_bytes;
use crate::model::{EntityId, Expr, Field, Leaf, NodeId, ReferenceId, Type};
use crate::view::Kind;
use crate::view::typing::{NodeType, Scope, inner};
use std::rc::Rc;
use std::sync::Arc;

/// Structures keyed alike cost the same to fetch from: no more than this many are weighed.
const HOMES: usize = 2;

/// For which rows the value of a subquery is needed.
#[derive(Clone, Copy)]
pub(super) enum When {
    /// For all.
    Always,
    /// For those that an earlier test lets through.
    Needed,
}

impl Planner<'_> {
    /// All ways to get hold of the atoms, for every row of the state.
    pub(super) fn supply(&mut self, state: State, scope: &Scope, wanted: &[Expr]) -> Vec<State> {
        self.supply_when(When::Always, state, scope, wanted)
    }

    /// The same; subqueries only for rows for which their value turns out to be needed.
    pub(super) fn supply_on_need(
        &mut self,
        state: State,
        scope: &Scope,
        wanted: &[Expr],
    ) -> Vec<State> {
        self.supply_when(When::Needed, state, scope, wanted)
    }

    fn supply_when(
        &mut self,
        when: When,
        state: State,
        scope: &Scope,
        wanted: &[Expr],
    ) -> Vec<State> {
        let mut states = vec![state];
        let mut groups: Vec<(PathStart, usize, Vec<&Expr>)> = Vec::new();
        for atom in wanted {
            if let Some(start) = PathStart::of(atom) {
                let nearest = self.known_at(atom);
                match groups
                    .iter_mut()
                    .find(|(s, n, _)| *s == start && *n == nearest)
                {
                    Some((_, _, group)) => group.push(atom),
                    None => groups.push((start, nearest, vec![atom])),
                }
            }
        }
        // Shorter paths first: what they fetch may hold what longer ones ask for.
        groups.sort_by_key(|(s, nearest, _)| (*nearest, s.steps.len()));
        for (start, nearest, group) in &groups {
            let next = states
                .into_iter()
                .flat_map(|s| self.supply_group(s, scope, start, *nearest, group));
            let next = next.collect();
            states = self.trim(next);
        }
        for atom in wanted.iter().filter(|a| PathStart::of(a).is_none()) {
            let next = states
                .into_iter()
                .flat_map(|s| self.supply_subquery(when, s, scope, atom));
            let next = next.collect();
            states = self.trim(next);
        }
        states
    }

    fn supply_group(
        &mut self,
        state: State,
        scope: &Scope,
        start: &PathStart,
        nearest: usize,
        group: &[&Expr],
    ) -> Vec<State> {
        let missing: Vec<&Expr> = group
            .iter()
            .copied()
            .filter(|a| self.locate(&state, a).is_none())
            .collect();
        if missing.is_empty() {
            return vec![state];
        }
        let nodes = state.nodes.clone();
        let Some(Some(source)) = nodes.get(start.node as usize) else {
            return vec![];
        };
        let (Source::Row { fetched, .. }
        | Source::Element { fetched, .. }
        | Source::Carried { fetched, .. }) = source;
        // Fetched already at this very instance: its home has every value of it, unless it is a part
        // or a person gave it and keeps the others elsewhere.
        let here = start.steps.get(..nearest).unwrap_or_default();
        let mut at_hand = fetched
            .iter()
            .filter(|f| f.element == start.element && f.steps == here);
        let taken = at_hand.find_map(|f| self.take_from(&state, f.shape, &[], nearest, &missing));
        if let Some(state) = taken.filter(|s| self.may_read(s)) {
            return vec![state];
        }
        let mut out = Vec::new();
        if let Source::Row { shape, at, .. } = source
            && start.element.is_empty()
            && self.can_copy(*shape)
        {
            let row = (*shape, at.as_slice(), 0);
            out.extend(self.take_all_or_part(&state, scope, start, nearest, row, &missing));
        }
        for f in fetched {
            if f.element == start.element && start.steps.starts_with(&f.steps) {
                out.extend(self.take_from(&state, f.shape, &[], f.steps.len(), &missing));
            }
        }
        let mut prefixes: Vec<&[ReferenceId]> = start.steps.get(..nearest).into_iter().collect();
        if nearest > 0 && start.element.is_empty() {
            prefixes.push(&[]);
        }
        for prefix in prefixes {
            let known: Vec<ShapeId> = fetched
                .iter()
                .filter(|f| f.element == start.element && f.steps == prefix)
                .map(|f| f.shape)
                .collect();
            let whole = |shape: &ShapeId| !self.is_given(*shape) && !self.shapes.is_part(*shape);
            if known.iter().any(whole) {
                continue;
            }
            for (next, shape) in self.fetch(&state, scope, start, prefix) {
                if !known.contains(&shape) {
                    let row = (shape, &[][..], prefix.len());
                    out.extend(self.take_all_or_part(&next, scope, start, nearest, row, &missing));
                }
            }
        }
        if out.is_empty() && missing.len() > 1 {
            // No one row has them all: a person keeps them in several.
            let mut states = vec![state];
            for atom in missing {
                let next = states.into_iter().flat_map(|s| {
                    self.supply_group(s, scope, start, nearest, std::slice::from_ref(&atom))
                });
                let next = next.collect();
                states = self.trim(next);
            }
            return states;
        }
        out
    }

    /// The state with the atoms as columns of a candidate (so many steps before their paths, or into
    /// them); of a part of a home with those that it keeps, and the others from elsewhere.
    fn take_all_or_part(
        &mut self,
        state: &State,
        scope: &Scope,
        start: &PathStart,
        nearest: usize,
        (shape, before, skip): (ShapeId, &[ReferenceId], usize),
        missing: &[&Expr],
    ) -> Vec<State> {
        if let Some(all) = self.take_from(state, shape, before, skip, missing) {
            return vec![all];
        }
        if self.is_given(shape) || !self.shapes.is_part(shape) {
            return vec![];
        }
        let keeps = |atom: &&&Expr| {
            let relative = relative(atom, before, skip);
            relative.is_some_and(|e| {
                self.shapes.may_keep(shape, &e) || self.shapes.whole_of(shape, &e).is_some()
            })
        };
        let (own, others): (Vec<&Expr>, Vec<&Expr>) =
            missing.iter().copied().partition(|a| keeps(&a));
        if own.is_empty() {
            return vec![];
        }
        let Some(some) = self.take_from(state, shape, before, skip, &own) else {
            return vec![];
        };
        self.supply_group(some, scope, start, nearest, &others)
    }

    /// How many steps into its path an atom is kept: at its end, or for a part of a key where the
    /// reference to that key is.
    pub(super) fn known_at(&self, atom: &Expr) -> usize {
        let Expr::Path { steps, leaf, .. } = atom else {
            return 0;
        };
        let Leaf::Attribute(a, path) = leaf else {
            return steps.len();
        };
        let within = |n: &usize| {
            let (walked, behind) = steps.split_at(*n);
            path.is_empty()
                && walked.last().is_some_and(|&last| {
                    let leaves = self.model.key_leaves(self.model.reference(last).target);
                    leaves
                        .iter()
                        .any(|l| l.attribute == *a && l.steps == behind)
                })
        };
        (1..=steps.len())
            .find(within)
            .map_or(steps.len(), |n| n - 1)
    }

    /// A row may carry copies of its anchor's values: always in lists, in groups if the key
    /// determines the anchor.
    pub(super) fn can_copy(&self, shape: ShapeId) -> bool {
        let s = self.shapes.get(shape);
        s.kind == Kind::Lists || names_instance(self.model, s)
    }

    /// The state with the atoms as columns of a candidate that is so many steps before their paths,
    /// or `skip` steps into them.
    pub(super) fn take_from(
        &mut self,
        state: &State,
        shape: ShapeId,
        before: &[ReferenceId],
        skip: usize,
        missing: &[&Expr],
    ) -> Option<State> {
        self.steps += 1;
        let mut next = state.clone();
        let identity = self.shapes.all.get(shape)?.identity;
        for atom in missing {
            let relative = relative(atom, before, skip)?;
            let kept = self.shapes.column(shape, &relative).or_else(|| {
                let (whole, _) = self.shapes.whole_of(shape, &relative)?;
                self.shapes.column(shape, &whole)
            });
            let (_, requirement) = kept?;
            if self.require(&mut next, requirement) && !identity {
                // The row was priced without this column.
                let structure = self.shapes.get(shape);
                let scope = Scope::new(self.model, structure.anchor, &structure.over);
                let bytes = next.rows * self.stats.bytes(&scope, &relative).avg;
                let cost = bytes * self.target.cost.byte;
                next.cost += cost;
                Arc::make_mut(&mut next.op).charge(shape as StructureId, cost);
            }
        }
        Some(next)
    }

    /// Fetches the instance at the end of a path by its key.
    pub(super) fn fetch(
        &mut self,
        state: &State,
        scope: &Scope,
        start: &PathStart,
        prefix: &[ReferenceId],
    ) -> Vec<(State, ShapeId)> {
        let Some(entity) = self.entity_at(scope, start, prefix) else {
            return vec![];
        };
        let keys: Vec<Expr> = key_paths(self.model, entity)
            .into_iter()
            .filter_map(|leaf| match leaf {
                Expr::Path { steps, leaf, .. } => {
                    let mut all = prefix.to_vec();
                    all.extend(steps);
                    Some(Expr::Path {
                        node: start.node,
                        element: start.element.to_vec(),
                        steps: all,
                        leaf,
                    })
                }
                _ => None,
            })
            .collect();
        let states = if keys.iter().all(|k| self.locate(state, k).is_some()) {
            vec![state.clone()]
        } else if prefix.is_empty() {
            // The instance's own key must be known before anything of it can be fetched.
            return vec![];
        } else {
            // The reference is kept where the path starts: shorter than the path itself.
            self.supply(state.clone(), scope, &keys)
        };
        let root = self.model.entity(entity).root;
        // Those that were given may keep what no other does, and parts keep less than others.
        let keyed = self.shapes.keyed_by(root).iter().copied();
        let special = |s: &ShapeId| self.is_given(*s) || self.shapes.is_part(*s);
        let (special, open): (Vec<ShapeId>, Vec<ShapeId>) = keyed.partition(special);
        let homes: Vec<ShapeId> = special
            .into_iter()
            .chain(open.into_iter().take(HOMES))
            .collect();
        let mut out = Vec::new();
        for state in states {
            for &home in &homes {
                out.extend(
                    self.fetch_from(&state, start, prefix, home, &keys)
                        .map(|s| (s, home)),
                );
            }
        }
        out
    }

    fn fetch_from(
        &mut self,
        state: &State,
        start: &PathStart,
        prefix: &[ReferenceId],
        home: ShapeId,
        keys: &[Expr],
    ) -> Option<State> {
        self.steps += 1;
        let structure = self.shapes.get(home);
        let leaves = key_paths(self.model, structure.anchor);
        let eq: Option<Vec<Term>> = structure
            .key()
            .map(|part| {
                self.compute(part, &|e| {
                    let i = leaves.iter().position(|l| l == e)?;
                    self.locate(state, keys.get(i)?)
                })
            })
            .collect();
        let mut next = state.clone();
        let (among, width) = (self.rows_of(home), self.width_of(home));
        let cost = self.read_cost(among, next.rows, next.rows, width);
        next.cost += cost;
        let itself = Requirement {
            shape: home,
            column: None,
        };
        self.require(&mut next, itself);
        let frame = next.frames;
        next.frames += 1;
        let get = Get {
            structure: home as u16,
            eq: eq?,
            lower: None,
            upper: None,
            reverse: false,
            page: None,
        };
        let estimate = Estimate {
            rows: next.rows,
            reads: next.rows,
            gets: next.rows,
            cost,
        };
        next.then(|input| Op::Get {
            input,
            get,
            outer: true,
            estimate,
        });
        let fetched = Fetched {
            element: start.element.to_vec(),
            steps: prefix.to_vec(),
            frame,
            shape: home,
        };
        match Rc::make_mut(&mut next.nodes).get_mut(start.node as usize)? {
            Some(
                Source::Row { fetched: list, .. }
                | Source::Element { fetched: list, .. }
                | Source::Carried { fetched: list, .. },
            ) => list.push(fetched),
            None => return None,
        }
        Some(next)
    }

    /// Bytes of a home row.
    pub(in crate::design) fn home_width(&self, entity: EntityId) -> f64 {
        let root = self.model.root(entity);
        root.fields.iter().map(|f| self.field_width(*f)).sum()
    }

    /// Bytes of a row of a home: of a part of one, those of the key and of what it keeps.
    pub(super) fn kept_width(&self, home: ShapeId) -> f64 {
        let anchor = self.shapes.get(home).anchor;
        if !self.shapes.is_part(home) && !self.is_given_part(home) {
            return self.home_width(anchor);
        }
        let fields = self.model.root(anchor).fields.iter();
        let kept = fields.filter(|field| self.keeps_field(home, **field));
        kept.map(|f| self.field_width(*f)).sum()
    }

    /// Whether a home that was given is a part: another one has the same rows, and keeps what this one
    /// does not and no more, or everything.
    fn is_given_part(&self, home: ShapeId) -> bool {
        let of = self.shapes.get(home);
        let fields = self.stats.value_fields(of.anchor);
        let beside = |other: ShapeId| {
            let (here, there): (Vec<bool>, Vec<bool>) = fields
                .iter()
                .map(|f| (self.keeps_field(home, *f), self.keeps_field(other, *f)))
                .unzip();
            let apart = here.iter().zip(&there).all(|(here, there)| here != there);
            let copied = there.iter().all(|kept| *kept) && !here.iter().all(|kept| *kept);
            self.shapes.get(other).same_rows(of) && (apart || copied)
        };
        let others = self.shapes.keyed_by(of.anchor).iter().copied();
        let mut others = others.filter(|other| *other != home && self.is_given(*other));
        self.is_given(home) && others.any(beside)
    }

    fn keeps_field(&self, home: ShapeId, field: Field) -> bool {
        let paths = field_paths(self.model, field);
        paths.iter().all(|path| self.shapes.may_keep(home, path))
    }

    /// Bytes of a field.
    pub(in crate::design) fn field_width(&self, field: Field) -> f64 {
        match field {
            Field::Attribute(a) if self.model.split(a).is_some() => 0.0,
            Field::Attribute(a) => type_bytes(self.model, &self.model.attribute(a).ty).avg,
            Field::Reference(_) | Field::Type => 8.0,
        }
    }

    fn entity_at(
        &self,
        scope: &Scope,
        start: &PathStart,
        prefix: &[ReferenceId],
    ) -> Option<EntityId> {
        if let Some(&last) = prefix.last() {
            return Some(self.model.reference(last).target);
        }
        match scope.node(start.node) {
            NodeType::Instance(e) => Some(e),
            NodeType::Element(ty, _) => match inner(&ty, start.element).0 {
                Type::Key(e) => Some(*e),
                _ => None,
            },
        }
    }
}

/// Where a path starts, before its leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathStart<'e> {
    pub(super) node: NodeId,
    pub(super) element: &'e [u16],
    pub(super) steps: &'e [ReferenceId],
}

impl PathStart<'_> {
    pub(super) fn of(atom: &Expr) -> Option<PathStart<'_>> {
        match atom {
            Expr::Path {
                node,
                element,
                steps,
                ..
            } => Some(PathStart {
                node: *node,
                element,
                steps,
            }),
            _ => None,
        }
    }
}

/// A path as seen from so many steps before it starts, or from the instance so many steps into it;
/// a subquery as seen from where it starts.
pub(super) fn relative(atom: &Expr, before: &[ReferenceId], skip: usize) -> Option<Expr> {
    match atom {
        Expr::Path { steps, leaf, .. } => Some(Expr::Path {
            node: 0,
            element: vec![],
            steps: [before, steps.get(skip..)?].concat(),
            leaf: leaf.clone(),
        }),
        _ if skip == 0 && before.is_empty() => Some(atom.clone()),
        _ => None,
    }
}
