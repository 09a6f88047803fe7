//! The programme as the solver weighs it: candidates and columns are items, everything that costs
//! is a demand.

use super::change::{Need, Needs};
use super::named::SharedNeed;
use super::price::{Writing, built};
use super::select::{Programme, Writer};
use super::shape::{Requirement, ShapeId};
use super::solve::{Choice, Demand, Instance, Item, ItemId, undominated};
use super::support::{Branch, Lookup, shared};
use super::unit::{Span, Unit};
use crate::model::Expr;
use std::collections::{BTreeMap, BTreeSet};

/// Triggers of a read, each with how often it is then done.
type Calls = Vec<(Vec<ItemId>, f64)>;

/// Lookups that several branches make: the item that pays for each of their prices, from the lowest
/// up, beyond the one below.
type Paid = BTreeMap<Lookup, Vec<(f64, ItemId)>>;

/// What must hold where an item is kept: the item that has to be there too, if any can be.
type Implied = Vec<(ItemId, Option<ItemId>)>;

/// The instance as it is stated.
struct Weighing<'u> {
    used: &'u BTreeMap<ShapeId, BTreeSet<usize>>,
    out: Instance,
    /// Costs of single items.
    own: Vec<(ItemId, f64)>,
    /// Positions of items by what they are.
    at: BTreeMap<Requirement, ItemId>,
    /// Items that may be kept only where all of this holds.
    provided: BTreeMap<Implied, ItemId>,
}

impl Programme<'_, '_> {
    /// The instance over these candidates and columns, and what its first items are.
    pub(super) fn instance(
        &self,
        used: &BTreeMap<ShapeId, BTreeSet<usize>>,
    ) -> (Instance, Vec<Requirement>) {
        let unit = self.unit(used);
        (unit.weighed(&self.weights()), unit.items)
    }

    /// Of equally cheap structures the earlier is kept: where partitions matter, that with the
    /// smaller ones.
    fn in_order<'u>(
        &self,
        used: &'u BTreeMap<ShapeId, BTreeSet<usize>>,
    ) -> Vec<(ShapeId, &'u BTreeSet<usize>)> {
        let sized = used.iter().map(|(&shape, columns)| {
            let largest = if self.planner.target.capabilities.ordered_partitions {
                0.0
            } else {
                let structure = self.planner.shapes.get(shape);
                self.planner.stats.largest(structure).rows
            };
            (largest, shape, columns)
        });
        let mut shapes: Vec<_> = sized.collect();
        shapes.sort_by(|(a, _, _), (b, _, _)| a.total_cmp(b));
        shapes
            .into_iter()
            .map(|(_, shape, columns)| (shape, columns))
            .collect()
    }

    /// The same where every weight is 1.
    pub(super) fn unit(&self, used: &BTreeMap<ShapeId, BTreeSet<usize>>) -> Unit {
        let mut items: Vec<Requirement> = Vec::new();
        let mut out = Instance {
            cap: self.planner.target.limits.structures,
            ..Instance::default()
        };
        let mut said: BTreeMap<&Expr, usize> = BTreeMap::new();
        for (shape, columns) in self.in_order(used) {
            let stored = &self.planner.shapes.get(shape).columns;
            let structure = items.len();
            let columns = columns.iter().map(|&c| Some(c));
            for column in std::iter::once(None).chain(columns) {
                items.push(Requirement { shape, column });
                let number = said.len();
                let says = column.and_then(|c| stored.get(c));
                out.items.push(Item {
                    cost: self.stored_cost(shape, column),
                    parent: column.map(|_| structure),
                    structure: column.is_none(),
                    forced: column.is_none() && self.forced.contains(&shape),
                    alike: says.map(|e| *said.entry(e).or_insert(number)),
                });
            }
        }
        let mut weighing = Weighing {
            used,
            out,
            own: vec![],
            at: items.iter().enumerate().map(|(i, r)| (*r, i)).collect(),
            provided: BTreeMap::new(),
        };
        if self.forced.iter().any(|s| !used.contains_key(s)) {
            weighing.demand(vec![vec![]], vec![]);
        }
        for homes in &self.homes {
            let kept = homes.iter();
            let kept = kept.filter_map(|home| weighing.choice(0.0, home.iter()));
            let choices = kept.collect();
            weighing.demand(vec![vec![]], choices);
        }
        for (&shape, needed) in &self.companions {
            let Some(built) = weighing.item(shape, None) else {
                continue;
            };
            for homes in needed {
                let kept = homes.iter();
                let kept = kept.filter_map(|home| weighing.choice(0.0, home.iter()));
                let choices = kept.collect();
                weighing.demand(vec![vec![built]], choices);
            }
        }
        let mut spans = Vec::new();
        for reader in self.readers {
            let start = weighing.end();
            let options = reader.options.iter();
            let options = options.filter_map(|o| weighing.choice(o.cost, o.requires.iter()));
            let choices = options.collect();
            weighing.demand(vec![vec![]], choices);
            spans.push(weighing.since(&start));
        }
        for writer in self.writers {
            let start = weighing.end();
            let mut reads: BTreeMap<SharedNeed, Calls> = BTreeMap::new();
            for at in 0..writer.effects.len() {
                self.add_effect(&mut weighing, &mut reads, writer, at);
            }
            for ((_, need), calls) in reads {
                self.add_read(&mut weighing, &need, calls);
            }
            spans.push(weighing.since(&start));
        }
        Unit {
            instance: weighing.out,
            items,
            always: vec![],
            own: weighing.own,
            spans,
        }
    }

    /// What the effect of a change at this position writes, and what it needs to read for it.
    fn add_effect(
        &self,
        to: &mut Weighing,
        reads: &mut BTreeMap<SharedNeed, Calls>,
        writer: &Writer,
        at: usize,
    ) {
        let Some((effect, checks)) = writer.effects.get(at) else {
            return;
        };
        let mut call = |needs: &Needs, when: &[Vec<ItemId>]| {
            for (need, &n) in needs {
                let (read, n) = effect.shared(at, need, n);
                let calls = reads.entry(read).or_default();
                calls.extend(when.iter().map(|w| (w.clone(), n)));
            }
        };
        call(checks, &[vec![]]);
        for together in self.writings(effect, to.used) {
            let paid = to.paid(together.iter().flat_map(|w| &w.branches));
            for writing in together {
                self.add_writing(to, &mut call, writing, &paid);
            }
        }
    }

    fn add_writing(
        &self,
        to: &mut Weighing,
        call: &mut dyn FnMut(&Needs, &[Vec<ItemId>]),
        writing: Writing,
        paid: &Paid,
    ) {
        let (shape, hit) = (writing.shape, &writing.hit);
        let written: Vec<Vec<ItemId>> = if hit.key {
            to.item(shape, None).map(|i| vec![i]).into_iter().collect()
        } else {
            let columns = hit.columns.iter();
            columns
                .filter_map(|&c| Some(vec![to.item(shape, Some(c))?]))
                .collect()
        };
        // Triggers of what a column adds where its row is written.
        let with = |to: &Weighing, column: usize| -> Vec<Vec<ItemId>> {
            let Some(item) = to.item(shape, Some(column)) else {
                return vec![];
            };
            if hit.key || hit.columns.contains(&column) {
                return vec![vec![item]];
            }
            let both = |w: &Vec<ItemId>| w.iter().copied().chain([item]).collect();
            written.iter().map(both).collect()
        };
        call(&writing.needs, &written);
        to.cost(written.clone(), self.hit_cost(shape, hit));
        for kept in writing.kept {
            let when = with(to, kept.column);
            call(&kept.needs, &when);
            to.cost(when, kept.cost);
        }
        for branch in writing.branches {
            let when = if branch.key {
                written.clone()
            } else {
                let columns = branch.columns.iter();
                columns.flat_map(|&c| with(to, c)).collect()
            };
            to.branch(shape, &branch, when, hit.key, paid);
        }
    }

    /// A read is done as often as the most demanding of its callers asks: what each step up from
    /// one number to the next adds is a demand of those that ask for at least so much. That is
    /// exact, since all ways to do it start at the same price and grow evenly: the one that is
    /// cheapest for one number is so for every other.
    fn add_read(&self, to: &mut Weighing, need: &Need, calls: Calls) {
        let mut counts: Vec<f64> = calls.iter().map(|(_, n)| *n).collect();
        counts.sort_by(f64::total_cmp);
        counts.dedup();
        let ways = self.need_ways(need, to.used.keys().copied());
        let mut below: Option<f64> = None;
        for n in counts {
            let when = calls.iter().filter(|(_, m)| *m >= n);
            let when = when.map(|(w, _)| w.clone()).collect();
            let choices = ways.iter().filter_map(|way| {
                let price = |n| (way.price)(n).cost;
                let more = price(n) - below.map_or(0.0, price);
                let built: Vec<Requirement> = built(&way.built).collect();
                to.choice(more.max(0.0), built.iter())
            });
            let choices = choices.collect();
            to.demand(when, choices);
            below = Some(n);
        }
    }
}

impl Weighing<'_> {
    /// What is stated from here on.
    fn end(&self) -> Span {
        let (demands, items) = (self.out.demands.len(), self.out.items.len());
        Span {
            demands: demands..demands,
            items: items..items,
            own: self.own.len()..self.own.len(),
            base: 0.0,
        }
    }

    fn since(&self, start: &Span) -> Span {
        Span {
            demands: start.demands.start..self.out.demands.len(),
            items: start.items.start..self.out.items.len(),
            own: start.own.start..self.own.len(),
            base: 0.0,
        }
    }

    fn item(&self, shape: ShapeId, column: Option<usize>) -> Option<ItemId> {
        self.at.get(&Requirement { shape, column }).copied()
    }

    /// A demand, without the choices that another one beats: all of them grow with one weight, so
    /// that what is beaten at one is at every other.
    fn demand(&mut self, mut when: Vec<Vec<ItemId>>, mut choices: Vec<Choice>) {
        undominated(&mut choices);
        for set in &mut when {
            set.sort_unstable();
            set.dedup();
        }
        self.out.demands.push(Demand { when, choices });
    }

    /// A cost of triggers; that of a single item is its own.
    fn cost(&mut self, when: Vec<Vec<ItemId>>, cost: f64) {
        if let [one] = when.as_slice()
            && let [item] = one.as_slice()
        {
            self.own.push((*item, cost));
            return;
        }
        let requires = vec![];
        self.demand(when, vec![Choice { cost, requires }]);
    }

    /// A choice that requires these; none where one of them is not weighed.
    fn choice<'r>(
        &self,
        cost: f64,
        requires: impl Iterator<Item = &'r Requirement>,
    ) -> Option<Choice> {
        let mut items = Vec::new();
        for r in requires {
            items.push(self.item(r.shape, r.column)?);
            items.push(self.item(r.shape, None)?);
        }
        items.sort_unstable();
        items.dedup();
        Some(Choice {
            cost,
            requires: items,
        })
    }

    /// A support read of a structure: one of its ways is taken, and that way's structures hold
    /// what the columns need that the structure keeps.
    fn branch(
        &mut self,
        shape: ShapeId,
        branch: &Branch,
        when: Vec<Vec<ItemId>>,
        whole: bool,
        paid: &Paid,
    ) {
        // Columns that every way reads alike: where they are written, whichever way is taken.
        let alike = |column: &usize, r: &Requirement| {
            whole && branch.ways.iter().all(|w| w.columns.get(column) == Some(r))
        };
        if let Some(way) = branch.ways.first() {
            for (column, r) in way.columns.iter().filter(|(c, r)| alike(c, r)) {
                let Some(kept) = self.item(shape, Some(*column)) else {
                    continue;
                };
                let choice = self.choice(0.0, std::iter::once(r));
                self.demand(vec![vec![kept]], choice.into_iter().collect());
            }
        }
        let mut choices = Vec::new();
        for way in &branch.ways {
            let own = way.lookups.iter().filter(|(l, _)| !paid.contains_key(l));
            let cost: f64 = own.map(|(_, p)| p.cost).sum();
            let Some(mut choice) = self.choice(cost, way.requires.iter()) else {
                continue;
            };
            for (lookup, price) in &way.lookups {
                let steps = paid.get(lookup).into_iter().flatten();
                let steps = steps.filter(|(cost, _)| *cost <= price.cost);
                choice.requires.extend(steps.map(|(_, item)| item));
            }
            let columns = way.columns.iter().filter(|(c, r)| !alike(c, r));
            let implied = columns.filter_map(|(column, r)| {
                let kept = self.item(shape, Some(*column))?;
                let held = self.item(r.shape, r.column);
                let given = held == Some(kept) || way.requires.contains(r);
                (!given).then_some((kept, held))
            });
            let implied: Implied = implied.collect();
            if !implied.is_empty() {
                choice.requires.push(self.provided(implied));
            }
            choice.requires.sort_unstable();
            choices.push(choice);
        }
        self.demand(when, choices);
    }

    /// Lookups that answer several branches, as items: made once, paid once. Where they are made
    /// for different numbers, what each step up from one price to the next adds is an item of those
    /// that ask for at least so much.
    fn paid<'b>(&mut self, branches: impl Iterator<Item = &'b Branch> + Clone) -> Paid {
        let lookups = shared(branches.clone());
        let mut costs: BTreeMap<Lookup, Vec<f64>> = BTreeMap::new();
        let made = branches.flat_map(|b| &b.ways).flat_map(|w| &w.lookups);
        for (lookup, price) in made.filter(|(lookup, _)| lookups.contains(lookup)) {
            costs.entry(lookup.clone()).or_default().push(price.cost);
        }
        let mut out = Paid::new();
        for (lookup, mut costs) in costs {
            costs.sort_by(f64::total_cmp);
            costs.dedup();
            let below = std::iter::once(0.0).chain(costs.iter().copied());
            let steps = costs.iter().zip(below);
            let steps = steps.map(|(&cost, below)| (cost, self.extra(cost - below)));
            out.insert(lookup, steps.collect());
        }
        out
    }

    /// An item that is no part of a design.
    fn extra(&mut self, cost: f64) -> ItemId {
        self.out.items.push(Item {
            cost,
            parent: None,
            structure: false,
            forced: false,
            alike: None,
        });
        self.out.items.len() - 1
    }

    /// The item that may be kept only where all of this holds.
    fn provided(&mut self, implied: Implied) -> ItemId {
        if let Some(&known) = self.provided.get(&implied) {
            return known;
        }
        let item = self.extra(0.0);
        for &(kept, held) in &implied {
            let choice = held.map(|held| {
                let parent = self.out.items.get(held).and_then(|i| i.parent);
                let mut requires: Vec<ItemId> = parent.into_iter().chain([held]).collect();
                requires.sort_unstable();
                Choice {
                    cost: 0.0,
                    requires,
                }
            });
            self.demand(vec![vec![kept, item]], choice.into_iter().collect());
        }
        self.provided.insert(implied, item);
        item
    }
}
