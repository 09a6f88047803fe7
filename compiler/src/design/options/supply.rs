//! Supplying values: from the row that bound a node, from an instance fetched by its key (the
//! application-side join), or from a subplan.

use super::atoms::{self, Mentions};
use super::{Fetched, PlanOption, Planner, Source, State, trim, undominated};
use crate::design::plan::{Estimate, Get, Op, Plan, Sub, Term, Test};
use crate::design::shape::{Requirement, ShapeId, key_paths};
use crate::model::{EntityId, Expr, Leaf, NodeId, Pred, ReferenceId, Type};
use crate::view::Kind;
use crate::view::typing::{NodeType, Scope, inner};

/// Structures keyed alike cost the same to fetch from: no more than this many are weighed.
const HOMES: usize = 2;

/// For which rows the value of a subquery is needed.
#[derive(Clone, Copy)]
enum When {
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
        let breadth = self.breadth();
        let mut states = vec![state];
        let mut groups: Vec<(PathStart, usize, Vec<Expr>)> = Vec::new();
        for atom in wanted {
            if let Some(start) = PathStart::of(atom) {
                let nearest = self.known_at(atom);
                match groups
                    .iter_mut()
                    .find(|(s, n, _)| *s == start && *n == nearest)
                {
                    Some((_, _, group)) => group.push(atom.clone()),
                    None => groups.push((start, nearest, vec![atom.clone()])),
                }
            }
        }
        // Shorter paths first: what they fetch may hold what longer ones ask for.
        groups.sort_by_key(|(s, nearest, _)| (*nearest, s.steps.len()));
        for (start, nearest, group) in &groups {
            let next = states
                .into_iter()
                .flat_map(|s| self.supply_group(s, scope, start, *nearest, group));
            states = trim(next.collect(), breadth);
        }
        for atom in wanted.iter().filter(|a| PathStart::of(a).is_none()) {
            let next = states
                .into_iter()
                .flat_map(|s| self.supply_subquery(when, s, scope, atom));
            states = trim(next.collect(), breadth);
        }
        states
    }

    fn supply_group(
        &mut self,
        state: State,
        scope: &Scope,
        start: &PathStart,
        nearest: usize,
        group: &[Expr],
    ) -> Vec<State> {
        let missing: Vec<&Expr> = group
            .iter()
            .filter(|a| self.locate(&state, a).is_none())
            .collect();
        if missing.is_empty() {
            return vec![state];
        }
        let Some(Some(source)) = state.nodes.get(start.node as usize).cloned() else {
            return vec![];
        };
        let fetched = match &source {
            Source::Row { fetched, .. } | Source::Element { fetched, .. } => fetched.clone(),
        };
        // Fetched already at this very instance: its home has every value of it.
        let here = start.steps.get(..nearest).unwrap_or_default();
        if let Some(f) = fetched
            .iter()
            .find(|f| f.element == start.element && f.steps == here)
        {
            return self
                .take_from(&state, f.shape, nearest, &missing)
                .into_iter()
                .collect();
        }
        let mut out = Vec::new();
        if let Source::Row { shape, .. } = &source
            && start.element.is_empty()
            && self.can_copy(*shape)
        {
            out.extend(self.take_from(&state, *shape, 0, &missing));
        }
        for f in &fetched {
            if f.element == start.element && start.steps.starts_with(&f.steps) {
                out.extend(self.take_from(&state, f.shape, f.steps.len(), &missing));
            }
        }
        let mut prefixes: Vec<Vec<ReferenceId>> = start
            .steps
            .get(..nearest)
            .map(<[_]>::to_vec)
            .into_iter()
            .collect();
        if nearest > 0 && start.element.is_empty() {
            prefixes.push(vec![]);
        }
        for prefix in prefixes {
            if fetched
                .iter()
                .any(|f| f.element == start.element && f.steps == prefix)
            {
                continue;
            }
            for (next, shape) in self.fetch(&state, scope, start, &prefix) {
                out.extend(self.take_from(&next, shape, prefix.len(), &missing));
            }
        }
        out
    }

    /// How many steps into its path an atom is kept: at its end, or for a part of a key where the
    /// reference to that key is.
    fn known_at(&self, atom: &Expr) -> usize {
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
    fn can_copy(&self, shape: ShapeId) -> bool {
        let s = self.shapes.get(shape);
        let anchored = || {
            key_paths(self.model, s.anchor)
                .iter()
                .all(|leaf| s.key().any(|e| e == leaf))
        };
        s.kind == Kind::Lists || anchored()
    }

    /// The state with the atoms as columns of a candidate that is `skip` steps into their paths.
    fn take_from(
        &mut self,
        state: &State,
        shape: ShapeId,
        skip: usize,
        missing: &[&Expr],
    ) -> Option<State> {
        self.steps += 1;
        let mut next = state.clone();
        let structure = self.shapes.get(shape);
        let scope = Scope::new(self.model, structure.anchor, &structure.over);
        let identity = self.shapes.all.get(shape)?.identity;
        for atom in missing {
            let relative = relative(atom, skip)?;
            let (_, requirement) = self.shapes.column(shape, &relative)?;
            if next.requires.insert(requirement) && !identity {
                // The row was priced without this column.
                next.cost +=
                    next.rows * self.stats.bytes(&scope, &relative).avg * self.target.cost.byte;
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
                        element: start.element.clone(),
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
        let homes: Vec<ShapeId> = (0..self.shapes.all.len())
            .filter(|&id| {
                self.shapes
                    .all
                    .get(id)
                    .is_some_and(|s| s.identity && s.structure.anchor == root)
            })
            .take(HOMES)
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
        let structure = self.shapes.get(home).clone();
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
        let (among, width) = (
            self.stats.rows(&structure),
            self.home_width(structure.anchor),
        );
        let cost = self.read_cost(among, next.rows, next.rows, width);
        next.cost += cost;
        next.requires.insert(Requirement {
            shape: home,
            column: None,
        });
        let frame = next.frames;
        next.frames += 1;
        next.op = Op::Get {
            input: Box::new(next.op),
            get: Get {
                structure: home as u16,
                eq: eq?,
                lower: None,
                upper: None,
                reverse: false,
                page: None,
            },
            outer: true,
            estimate: Estimate {
                rows: next.rows,
                reads: next.rows,
                gets: next.rows,
                cost,
            },
        };
        let fetched = Fetched {
            element: start.element.clone(),
            steps: prefix.to_vec(),
            frame,
            shape: home,
        };
        match next.nodes.get_mut(start.node as usize)? {
            Some(Source::Row { fetched: list, .. } | Source::Element { fetched: list, .. }) => {
                list.push(fetched);
            }
            None => return None,
        }
        Some(next)
    }

    /// Bytes of a home row.
    pub(in crate::design) fn home_width(&self, entity: EntityId) -> f64 {
        let root = self.model.root(entity);
        let fields = root.fields.iter().map(|f| match f {
            crate::model::Field::Attribute(a) if self.model.split(*a).is_some() => 0.0,
            crate::model::Field::Attribute(a) => {
                crate::design::stats::type_bytes(self.model, &self.model.attribute(*a).ty).avg
            }
            _ => 8.0,
        });
        fields.sum()
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
            NodeType::Element(ty, _) => match inner(&ty, &start.element).0 {
                Type::Key(e) => Some(*e),
                _ => None,
            },
        }
    }

    /// Subqueries: kept with the row, answered by further steps of the plan, or by a subplan.
    fn supply_subquery(
        &mut self,
        when: When,
        state: State,
        scope: &Scope,
        atom: &Expr,
    ) -> Vec<State> {
        if self.locate(&state, atom).is_some() {
            return vec![state];
        }
        let mut out = Vec::new();
        let from = match atom {
            Expr::Aggregate(a) => a.from,
            Expr::Nested(from, _) => *from,
            _ => return out,
        };
        out.extend(self.embed(&state, scope, from, atom));
        for option in self
            .subquery(&state, scope, from, atom)
            .into_iter()
            .take(self.subplans())
        {
            let mut next = state.clone();
            next.cost += option.cost;
            next.requires = option.requires;
            let term = if let Expr::Nested(..) = atom {
                Term::Sub(Box::new(Sub::Nested(option.plan)))
            } else {
                let joined = match when {
                    When::Always => self.join(&mut next, &option.plan),
                    When::Needed => None,
                };
                joined.unwrap_or_else(|| Term::Sub(Box::new(Sub::Scalar(option.plan))))
            };
            next.known.push((atom.clone(), term));
            out.push(next);
        }
        out
    }

    /// Appends the steps of a scalar subplan to the plan itself, and returns its value. They must
    /// give exactly one tuple for each: point gets that keep a tuple without a row. One read then
    /// serves the order, the answer and the cursor alike.
    fn join(&self, state: &mut State, plan: &Plan) -> Option<Term> {
        let value = plan.output.first()?.term.clone();
        let (op, frames) = self.appended(&state.op, &plan.root)?;
        state.op = op;
        state.frames += frames;
        Some(value)
    }

    /// The operators of a subplan over `base` instead of its input, and how many frames they add.
    fn appended(&self, base: &Op, op: &Op) -> Option<(Op, u16)> {
        match op {
            Op::Input => Some((base.clone(), 0)),
            Op::Get {
                input,
                get,
                outer: true,
                estimate,
            } if get.eq.len() == self.shapes.get(get.structure.into()).key_len() => {
                let (input, frames) = self.appended(base, input)?;
                let joined = Op::Get {
                    input: Box::new(input),
                    get: get.clone(),
                    outer: true,
                    estimate: *estimate,
                };
                Some((joined, frames + 1))
            }
            _ => None,
        }
    }

    /// The subquery as a column of the row that bound its node: an embedded collection, or an
    /// aggregate in the anchor's row.
    fn embed(&mut self, state: &State, scope: &Scope, from: NodeId, atom: &Expr) -> Option<State> {
        let mentions = Mentions::of_expr(atom);
        let possible = self.target.cost.rules.embedding && self.embeddable(scope, atom);
        if mentions.params || follows_elements(atom) || !possible {
            return None;
        }
        let Some(Some(Source::Row { shape, fetched, .. })) =
            state.nodes.get(from as usize).cloned()
        else {
            return None;
        };
        let at_zero = atoms::rebase(atom, &|_| Some(0))?;
        let owner = match fetched
            .iter()
            .find(|f| f.element.is_empty() && f.steps.is_empty())
        {
            Some(f) => f.shape,
            None if self.can_copy(shape) && self.shapes.get(shape).over.is_empty() => shape,
            None => return None,
        };
        self.take_from(state, owner, 0, &[&at_zero])
    }

    /// An aggregate that a change maintains must be one that has a difference; a collection must
    /// fit into a row.
    fn embeddable(&self, scope: &Scope, atom: &Expr) -> bool {
        if let Expr::Aggregate(a) = atom {
            return !a.distinct || a.function == crate::model::AggregateFn::Count;
        }
        let limits = &self.target.limits;
        let elements = self.stats.elements(scope, atom);
        self.stats.bytes(scope, atom).max <= limits.row_bytes / 16.0
            && limits.collection_elements.is_none_or(|l| elements <= l)
    }

    fn subquery(
        &mut self,
        state: &State,
        scope: &Scope,
        from: NodeId,
        atom: &Expr,
    ) -> Vec<PlanOption> {
        let outer = state.nodes.get(from as usize).cloned().flatten();
        let start = State::start(
            state.frames,
            vec![outer],
            state.rows,
            state.requires.clone(),
        );
        self.depth += 1;
        let options = match atom {
            Expr::Nested(_, query) => {
                let inner = scope.inner(self.model, from, &query.over);
                self.answer(start, query, &inner)
            }
            Expr::Aggregate(a) => {
                let inner = scope.inner(self.model, from, &a.over);
                self.aggregate_options(start, a, &inner)
            }
            _ => vec![],
        };
        self.depth -= 1;
        options
    }

    /// All ways to test an `exists` for the rows of a state.
    pub(super) fn exists_options(
        &mut self,
        state: &State,
        scope: &Scope,
        from: NodeId,
        over: &[crate::model::Unfold],
        filter: Option<&Pred>,
    ) -> Vec<(State, Test)> {
        let outer = state.nodes.get(from as usize).cloned().flatten();
        let start = State::start(
            state.frames,
            vec![outer],
            state.rows,
            state.requires.clone(),
        );
        let inner = scope.inner(self.model, from, over);
        let filters: Vec<Pred> = match filter {
            Some(Pred::And(all)) => all.clone(),
            Some(p) => vec![p.clone()],
            None => vec![],
        };
        self.depth += 1;
        let found = self.bound_and_filtered(start, over, 0, &filters, &inner, None);
        self.depth -= 1;
        let options = found.into_iter().map(|b| PlanOption {
            plan: crate::design::plan::Plan {
                outer: b.state.outer,
                root: b.state.op,
                output: vec![],
                cursor: vec![],
            },
            cost: b.state.cost,
            rows: b.state.rows,
            requires: b.state.requires,
        });
        undominated(options.collect())
            .into_iter()
            .take(self.subplans())
            .map(|option| {
                let mut next = state.clone();
                next.cost += option.cost;
                next.requires = option.requires;
                (next, Test::Exists(Box::new(option.plan.root)))
            })
            .collect()
    }

    /// Where the value of an atom is in the tuples of a state, if it is.
    pub(super) fn locate(&self, state: &State, atom: &Expr) -> Option<Term> {
        if let Some((_, term)) = state.known.iter().find(|(e, _)| e == atom) {
            return Some(term.clone());
        }
        let Some(start) = PathStart::of(atom) else {
            return self.locate_embedded(state, atom);
        };
        let Expr::Path { leaf, .. } = atom else {
            return None;
        };
        let source = state.nodes.get(start.node as usize)?.as_ref()?;
        match source {
            Source::Row {
                frame,
                shape,
                fetched,
            } => {
                if start.element.is_empty()
                    && let Some(term) = self.stored(state, *frame, *shape, &relative(atom, 0)?)
                {
                    return Some(term);
                }
                self.locate_fetched(state, fetched, &start, atom)
            }
            Source::Element { frame, fetched } => {
                let column = |column, path| {
                    Some(Term::Column {
                        frame: *frame,
                        column,
                        path,
                    })
                };
                match leaf {
                    Leaf::Element(path) => column(0, path.clone()),
                    Leaf::Position => column(1, vec![]),
                    Leaf::MapKey => column(2, vec![]),
                    Leaf::Key if start.steps.is_empty() => column(0, start.element.clone()),
                    Leaf::Attribute(a, path) if path.is_empty() => {
                        // A scalar of the key inside the element.
                        if let Some(leaf) = self.element_key_leaf(&start, *a) {
                            let mut path = start.element.clone();
                            path.push(leaf);
                            return column(0, path);
                        }
                        self.locate_fetched(state, fetched, &start, atom)
                    }
                    _ => self.locate_fetched(state, fetched, &start, atom),
                }
            }
        }
    }

    fn element_key_leaf(
        &self,
        start: &PathStart,
        attribute: crate::model::AttributeId,
    ) -> Option<u16> {
        let owner = match start.steps.first() {
            Some(&step) => self.model.reference(step).entity,
            None => self.model.attribute(attribute).entity,
        };
        self.model
            .key_leaves(owner)
            .iter()
            .position(|l| l.steps == start.steps && l.attribute == attribute)
            .map(|i| i as u16)
    }

    fn locate_fetched(
        &self,
        state: &State,
        fetched: &[Fetched],
        start: &PathStart,
        atom: &Expr,
    ) -> Option<Term> {
        fetched
            .iter()
            .filter(|f| f.element == start.element && start.steps.starts_with(&f.steps))
            .find_map(|f| self.stored(state, f.frame, f.shape, &relative(atom, f.steps.len())?))
    }

    fn locate_embedded(&self, state: &State, atom: &Expr) -> Option<Term> {
        let from = match atom {
            Expr::Aggregate(a) if !a.over.is_empty() => a.from,
            Expr::Nested(from, _) => *from,
            _ => return None,
        };
        let at_zero = atoms::rebase(atom, &|_| Some(0))?;
        match state.nodes.get(from as usize)?.as_ref()? {
            Source::Row {
                frame,
                shape,
                fetched,
            } => {
                let own = self.stored(state, *frame, *shape, &at_zero);
                own.or_else(|| {
                    let anchor = fetched
                        .iter()
                        .filter(|f| f.element.is_empty() && f.steps.is_empty());
                    anchor
                        .into_iter()
                        .find_map(|f| self.stored(state, f.frame, f.shape, &at_zero))
                })
            }
            Source::Element { .. } => None,
        }
    }

    /// A key part, or a column that the state requires.
    fn stored(&self, state: &State, frame: u16, shape: ShapeId, expr: &Expr) -> Option<Term> {
        let structure = self.shapes.get(shape);
        let column = structure.values().position(|e| e == expr)?;
        let kept = match column.checked_sub(structure.key_len()) {
            None => true,
            Some(c) => state.requires.contains(&Requirement {
                shape,
                column: Some(c),
            }),
        };
        kept.then(|| Term::Column {
            frame,
            column: column as u16,
            path: vec![],
        })
    }

    /// The term of an expression, all of whose atoms are known.
    pub(super) fn term(&self, state: &State, expr: &Expr) -> Option<Term> {
        self.compute(expr, &|e| self.locate(state, e))
    }

    /// The term of an expression over given atoms.
    pub(super) fn compute(
        &self,
        expr: &Expr,
        atom: &dyn Fn(&Expr) -> Option<Term>,
    ) -> Option<Term> {
        if let Some(term) = atom(expr) {
            return Some(term);
        }
        Some(match expr {
            Expr::Const(value) => Term::Const(value.clone()),
            Expr::Param(p, path) => Term::Param(*p, path.clone()),
            Expr::Binary(op, a, b) => Term::Binary(
                *op,
                Box::new(self.compute(a, atom)?),
                Box::new(self.compute(b, atom)?),
            ),
            Expr::At(a, b) => Term::At(
                Box::new(self.compute(a, atom)?),
                Box::new(self.compute(b, atom)?),
            ),
            Expr::Call(f, args) => Term::Call(
                *f,
                args.iter()
                    .map(|a| self.compute(a, atom))
                    .collect::<Option<_>>()?,
            ),
            Expr::Shape { present, items } => {
                let fields: Option<Vec<_>> =
                    items.iter().map(|i| self.compute(&i.expr, atom)).collect();
                Term::Shape(Box::new(self.compute(present, atom)?), fields?)
            }
            Expr::Path {
                node,
                element,
                steps,
                leaf: Leaf::Key,
            } => self.key_term(*node, element, steps, atom)?,
            Expr::Path { .. } | Expr::Aggregate(_) | Expr::Nested(..) => return None,
        })
    }

    /// A whole key, put together from its scalars.
    fn key_term(
        &self,
        node: NodeId,
        element: &[u16],
        steps: &[ReferenceId],
        atom: &dyn Fn(&Expr) -> Option<Term>,
    ) -> Option<Term> {
        let target = self.model.reference(*steps.last()?).target;
        let leaves: Option<Vec<_>> = key_leaf_paths(self.model, target, node, element, steps)
            .iter()
            .map(atom)
            .collect();
        Some(Term::Key(leaves?))
    }
}

/// Paths of the scalars of the key at the end of a path.
pub(super) fn key_leaf_paths(
    model: &crate::model::Model,
    target: EntityId,
    node: NodeId,
    element: &[u16],
    steps: &[ReferenceId],
) -> Vec<Expr> {
    let leaves = model.key_leaves(target).into_iter();
    leaves
        .map(|leaf| {
            let mut all = steps.to_vec();
            all.extend(leaf.steps);
            let leaf = Leaf::Attribute(leaf.attribute, vec![]);
            Expr::Path {
                node,
                element: element.to_vec(),
                steps: all,
                leaf,
            }
        })
        .collect()
}

/// Where a path starts, before its leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathStart {
    pub(super) node: NodeId,
    pub(super) element: Vec<u16>,
    pub(super) steps: Vec<ReferenceId>,
}

impl PathStart {
    pub(super) fn of(atom: &Expr) -> Option<PathStart> {
        match atom {
            Expr::Path {
                node,
                element,
                steps,
                ..
            } => Some(PathStart {
                node: *node,
                element: element.clone(),
                steps: steps.clone(),
            }),
            _ => None,
        }
    }
}

/// A path (or subquery) as seen from the instance so many steps into it.
fn relative(atom: &Expr, skip: usize) -> Option<Expr> {
    match atom {
        Expr::Path { steps, leaf, .. } => Some(Expr::Path {
            node: 0,
            element: vec![],
            steps: steps.get(skip..)?.to_vec(),
            leaf: leaf.clone(),
        }),
        _ if skip == 0 => Some(atom.clone()),
        _ => None,
    }
}

/// Whether a subquery follows references inside elements of collections: those are not copied,
/// because nothing leads back from their targets.
fn follows_elements(atom: &Expr) -> bool {
    let mut found = Vec::new();
    match atom {
        Expr::Aggregate(a) => a.arg.iter().for_each(|e| atoms::of_expr(e, &mut found)),
        Expr::Nested(_, q) => {
            q.select
                .iter()
                .for_each(|i| atoms::of_expr(&i.expr, &mut found));
            q.order
                .iter()
                .for_each(|(e, _)| atoms::of_expr(e, &mut found));
            q.filter.iter().for_each(|p| atoms::of_pred(p, &mut found));
        }
        _ => {}
    }
    found.iter().any(|a| match a {
        Expr::Path { element, .. } => !element.is_empty(),
        Expr::Aggregate(_) | Expr::Nested(..) => follows_elements(a),
        _ => false,
    })
}
