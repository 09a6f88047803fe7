//! Unions: where a filter says `or`, each of its alternatives is bound by gets of its own, and what
//! they find is united, each row once.
//!
//! A branch is bound like a query whose filter has the alternative in place of the `or`, so that
//! every candidate and every technique is open to it. It carries what tells rows apart, what they
//! are ordered by, and either nothing more (the rest is then fetched by key, for the rows that a
//! limit leaves) or all plain values that are needed.

use super::alternatives::{Alternative, alternatives};
use super::atoms;
use super::bind::{Partial, Wish, set_node};
use super::far_end::together;
use super::{Planner, Requires, Source, State};
use crate::design::display::Printer;
use crate::design::plan::{Estimate, Op, Output, Plan, Term};
use crate::model::{Direction, Expr, Leaf, NodeId, Pred, Unfold};
use crate::view::typing::{NodeType, Scope};
use std::rc::Rc;
use std::sync::Arc;

/// A way to find the rows of one alternative.
#[derive(Clone, Debug)]
struct Branch {
    state: State,
    /// What it carries.
    output: Vec<Term>,
    ordered: bool,
    paged: bool,
}

/// One branch for each of the first alternatives, by position.
#[derive(Clone, Debug, Default)]
struct Choice {
    picked: Vec<usize>,
    cost: f64,
    rows: f64,
    requires: Requires,
    ordered: bool,
    paged: bool,
}

/// What the branches of a union carry.
struct Cargo {
    atoms: Vec<Expr>,
    /// How many of the first ones tell rows apart.
    keys: usize,
}

impl Planner<'_> {
    /// All ways to unite what the alternatives of the filters find.
    pub(super) fn united(
        &mut self,
        start: &State,
        over: &[Unfold],
        filters: &[Pred],
        scope: &Scope,
        wish: Option<&Wish>,
        needs: &[Expr],
    ) -> Vec<Partial> {
        let mut out = Vec::new();
        for list in alternatives(filters) {
            out.extend(self.unite(start, over, &list, scope, wish, needs));
        }
        out
    }

    fn unite(
        &mut self,
        start: &State,
        over: &[Unfold],
        list: &[Alternative],
        scope: &Scope,
        wish: Option<&Wish>,
        needs: &[Expr],
    ) -> Vec<Partial> {
        // As for a single get, only the one set of rows that makes up the answer can bring its
        // order along.
        let nested = start.nodes.first().is_some_and(Option::is_some);
        let wish = wish.filter(|_| over.len() == usize::from(nested));
        let own = |a: &Alternative| self.stats.passes(scope, &a.own());
        let shares: Vec<f64> = list.iter().map(own).collect();
        let total: f64 = shares.iter().sum::<f64>().max(1e-12);
        self.depth += 1;
        let mut found = Vec::new();
        for (alternative, share) in list.iter().zip(&shares) {
            // A limit is filled from all branches, as much from each as it has of the rows; the next
            // row of each is looked at to tell which one comes first.
            let wish = wish.map(|w| Wish {
                limit: w.limit.map(|l| (l * share / total + 1.0).min(l.max(1.0))),
                ..w.clone()
            });
            let partials = self.found_by(start, over, alternative, scope, wish.as_ref());
            if partials.is_empty() {
                break;
            }
            found.push(partials);
        }
        self.depth -= 1;
        if found.len() < list.len() {
            return vec![];
        }
        // Rows that several alternatives let pass are found by each of them.
        let own = |a: &Alternative| together(a.own()).unwrap_or(Pred::And(vec![]));
        let any = Pred::Or(list.iter().map(own).collect());
        let any = self.stats.selectivity(scope, &any);
        let overlap = (any / total).min(1.0);
        let order = wish.map_or(&[][..], |w| &w.order);
        let mut out = Vec::new();
        for cargo in self.cargoes(nested, over, scope, order, needs) {
            let mut branches = Vec::new();
            for partials in &found {
                branches.push(self.branches(partials, &cargo.atoms, scope, order));
            }
            let printer = Printer::of_scope(self.model, scope, over);
            let names: Vec<String> = cargo.atoms.iter().map(|e| printer.expr(e)).collect();
            let mut choices = self.choices(&branches, false);
            choices.extend(self.choices(&branches, true));
            for choice in choices {
                let picked: Option<Vec<&Branch>> = branches
                    .iter()
                    .zip(&choice.picked)
                    .map(|(options, &at)| options.get(at))
                    .collect();
                let Some(picked) = picked else { continue };
                let order = if choice.ordered { order } else { &[] };
                let paged = choice.paged;
                let rows = choice.rows * overlap;
                let plans = picked
                    .iter()
                    .map(|b| self.branch_plan(b, &cargo, &names, scope));
                let plans: Vec<Plan> = plans.collect();
                let state = self.united_state(start, scope, &cargo, choice, rows, plans, order);
                let Some(state) = state else { continue };
                out.push(Partial {
                    paged,
                    ordered: !order.is_empty(),
                    state,
                    left: vec![],
                    narrowed: 1.0,
                });
            }
        }
        out
    }

    /// The ways to find the rows of an alternative by what it says itself. One that makes nothing of
    /// that good reads all rows that the other filters leave, which answers the whole query.
    fn found_by(
        &mut self,
        start: &State,
        over: &[Unfold],
        alternative: &Alternative,
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Partial> {
        let filters = &alternative.filters;
        let helps = |p: &Partial| alternative.own.clone().any(|i| !p.left.contains(&i));
        let bound = self.bound(start.clone(), over, filters, scope, wish);
        let helping: Vec<Partial> = bound.into_iter().filter(helps).collect();
        let filtered = helping
            .into_iter()
            .flat_map(|p| self.filter(p, filters, scope));
        let filtered = filtered.collect();
        self.trim_partials(filtered)
    }

    /// What branches can carry: what tells rows apart and orders them alone, and all plain values
    /// that are needed.
    fn cargoes(
        &self,
        nested: bool,
        over: &[Unfold],
        scope: &Scope,
        order: &[(Expr, Direction)],
        needs: &[Expr],
    ) -> Vec<Cargo> {
        let mut least = Vec::new();
        for node in usize::from(nested)..=over.len() {
            least.extend(self.identity(node as NodeId, scope));
        }
        let keys = least.len();
        let with = |more: &[Expr]| {
            let mut atoms = least.clone();
            for atom in self.whole_keys(more) {
                if !atoms.contains(&atom) {
                    atoms.push(atom);
                }
            }
            Cargo { atoms, keys }
        };
        let mut wanted = Vec::new();
        order
            .iter()
            .for_each(|(e, _)| atoms::of_expr(e, &mut wanted));
        let mut out = vec![with(&wanted)];
        // What is nested is asked for once the rows are known.
        let plain = |e: &&Expr| !matches!(e, Expr::Nested(..));
        wanted.extend(needs.iter().filter(plain).cloned());
        let most = with(&wanted);
        if most.atoms.len() > out.iter().map(|c| c.atoms.len()).sum() {
            out.push(most);
        }
        out
    }

    /// What tells the instances or elements of a node apart.
    fn identity(&self, node: NodeId, scope: &Scope) -> Vec<Expr> {
        let leaf = |leaf| Expr::Path {
            node,
            element: vec![],
            steps: vec![],
            leaf,
        };
        match scope.node(node) {
            NodeType::Instance(entity) => self.model.key_leaf_paths(entity, node, &[], &[]),
            // As the columns of an element stand in a computed frame.
            NodeType::Element(..) => [Leaf::Element(vec![]), Leaf::Position, Leaf::MapKey]
                .map(leaf)
                .to_vec(),
        }
    }

    /// The ways to find the rows of one alternative and carry something of them; those that are out
    /// of order also sorted, so that an order of the others is not in vain.
    fn branches(
        &mut self,
        found: &[Partial],
        cargo: &[Expr],
        scope: &Scope,
        order: &[(Expr, Direction)],
    ) -> Vec<Branch> {
        let mut out = Vec::new();
        for partial in found {
            self.depth += 1;
            let supplied = self.supply(partial.state.clone(), scope, cargo);
            self.depth -= 1;
            for state in supplied {
                let output: Option<Vec<Term>> =
                    cargo.iter().map(|e| self.locate(&state, e)).collect();
                let Some(output) = output else { continue };
                let ordered = partial.ordered && !order.is_empty();
                if !ordered && !order.is_empty() {
                    let by: Option<Vec<_>> = order
                        .iter()
                        .map(|(e, d)| Some((self.term(&state, e)?, *d)))
                        .collect();
                    out.extend(by.map(|by| Branch {
                        state: self.sort(state.clone(), by),
                        output: output.clone(),
                        ordered: true,
                        paged: false,
                    }));
                }
                out.push(Branch {
                    state,
                    output,
                    ordered,
                    paged: partial.paged,
                });
            }
        }
        let (ordered, others): (Vec<Branch>, Vec<Branch>) =
            out.into_iter().partition(|b| b.ordered);
        let mut kept = trim_branches(ordered, self.subplans());
        kept.extend(trim_branches(others, self.subplans()));
        kept
    }

    /// The cheapest ways to pick one branch for each alternative, all in order or none: one that is
    /// in order was priced for a limit that stops it, which it does where all of them are merged.
    fn choices(&mut self, branches: &[Vec<Branch>], ordered: bool) -> Vec<Choice> {
        let mut all = vec![Choice {
            ordered,
            paged: true,
            ..Choice::default()
        }];
        for options in branches {
            let mut next: Vec<Choice> = Vec::new();
            for choice in &all {
                for (at, branch) in options.iter().enumerate() {
                    if branch.ordered != ordered {
                        continue;
                    }
                    self.steps += 1;
                    let mut with = choice.clone();
                    with.picked.push(at);
                    with.cost += branch.state.cost;
                    with.rows += branch.state.rows;
                    with.requires.extend(&branch.state.requires);
                    with.paged &= branch.paged;
                    next.push(with);
                }
            }
            next.sort_by(|a, b| {
                a.cost
                    .total_cmp(&b.cost)
                    .then(a.requires.len().cmp(&b.requires.len()))
            });
            let beats = |a: &Choice, b: &Choice| {
                a.cost <= b.cost && a.requires.is_subset(&b.requires) && (a.paged || !b.paged)
            };
            all = self.both_ways(next, self.followed(), |c| (c.cost, &c.requires), beats);
        }
        all
    }

    fn branch_plan(&self, branch: &Branch, cargo: &Cargo, names: &[String], scope: &Scope) -> Plan {
        let columns = cargo.atoms.iter().zip(names).zip(&branch.output);
        let output = columns.map(|((atom, name), term)| Output {
            name: name.clone(),
            term: term.clone(),
            ty: scope.type_of(self.model, &self.params, atom).0,
        });
        Plan {
            outer: branch.state.outer,
            root: Op::clone(&branch.state.op),
            output: output.collect(),
            cursor: vec![],
        }
    }

    /// The state whose rows are those of the branches.
    fn united_state(
        &self,
        start: &State,
        scope: &Scope,
        cargo: &Cargo,
        choice: Choice,
        rows: f64,
        branches: Vec<Plan>,
        order: &[(Expr, Direction)],
    ) -> Option<State> {
        let frame = start.frames;
        let mut state = start.clone();
        state.frames += 1;
        state.rows = rows;
        // Each row is compared with others: for its place, and whether it came before.
        let cost = choice.rows * self.target.cost.sort_row;
        state.cost = choice.cost + cost;
        state.requires = choice.requires;
        for (at, atom) in cargo.atoms.iter().enumerate() {
            let column = at as u16;
            let Expr::Path { node, leaf, .. } = atom else {
                let path = vec![];
                let term = Term::Column {
                    frame,
                    column,
                    path,
                };
                state.knows(atom.clone(), term);
                continue;
            };
            // The first column of an element is its value; the others follow.
            let whole = at < cargo.keys && matches!(leaf, Leaf::Element(_));
            if let (true, NodeType::Element(..)) = (whole, scope.node(*node)) {
                let element = Source::Element {
                    frame,
                    first: column,
                    fetched: vec![],
                };
                set_node(&mut state, *node, element);
            }
            let seen = (atoms::rebase(atom, &|_| Some(0))?, column);
            match Rc::make_mut(&mut state.nodes).get_mut(usize::from(*node)) {
                Some(Some(Source::Carried {
                    frame: own,
                    carried,
                    ..
                })) if *own == frame => carried.push(seen),
                Some(Some(_)) => {}
                _ => {
                    let united = Source::Carried {
                        frame,
                        carried: vec![seen],
                        fetched: vec![],
                    };
                    set_node(&mut state, *node, united);
                }
            }
        }
        let order: Option<Vec<(Term, Direction)>> = order
            .iter()
            .map(|(e, d)| Some((self.term(&state, e)?, *d)))
            .collect();
        state.op = Arc::new(Op::Unite {
            branches,
            keys: cargo.keys as u16,
            order: order?,
            estimate: Estimate {
                rows,
                cost,
                ..Estimate::default()
            },
        });
        Some(state)
    }
}

/// Keeps branches that are alike in order in bounds: the cheapest, and the one that requires least,
/// which may be there for others however dear it is.
fn trim_branches(mut branches: Vec<Branch>, most: usize) -> Vec<Branch> {
    branches.sort_by(|a, b| a.state.cost.total_cmp(&b.state.cost));
    let mut kept: Vec<Branch> = Vec::new();
    for branch in branches {
        let beaten = kept.iter().any(|k| {
            k.state.requires.is_subset(&branch.state.requires) && (k.paged || !branch.paged)
        });
        if !beaten {
            kept.push(branch);
        }
    }
    let required = |b: &Branch| b.state.requires.len();
    let least = kept.iter().map(required).min();
    let mut position = 0;
    let mut has_least = false;
    kept.retain(|b| {
        let first = Some(required(b)) == least && !has_least;
        has_least |= first;
        position += 1;
        position <= most || first
    });
    kept
}

/// Whether one state can come to know whatever another can, for no more than that pays. A row can be
/// read with more columns, though not with what its own instance has nested or counted where the node
/// is what it refers to; what united branches did not carry can only be fetched.
pub(super) fn knows_no_less(one: &State, other: &State) -> bool {
    let mut united = false;
    let mut sources = one.nodes.iter().enumerate();
    let carries = sources.all(|(node, source)| {
        let other = other.nodes.get(node).and_then(Option::as_ref);
        match (source, other) {
            (Some(Source::Carried { carried, .. }), other) => {
                united = true;
                let has = |(e, _): &(Expr, u16)| carried.iter().any(|(c, _)| c == e);
                matches!(other, Some(Source::Carried { carried: more, .. }) if more.iter().all(has))
            }
            (Some(Source::Row { at, .. }), Some(Source::Row { at: more, .. })) => {
                at.is_empty() || !more.is_empty()
            }
            _ => true,
        }
    });
    let known = |e: &Expr| one.known.iter().any(|(k, _)| k == e);
    carries && (!united || other.known.iter().all(|(e, _)| known(e)))
}
