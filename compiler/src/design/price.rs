//! What a selection costs, by definition. The solver's instance (`weigh.rs`) is made of the same
//! parts, and a design reports the same prices.

use super::change::{Effect, Hit, Need, Needs, finds_referrers};
use super::named::SharedNeed;
use super::options::Planner;
use super::select::{Programme, Selection, Writer};
use super::shape::{Requirement, ShapeId};
use super::spread::{directory, spread};
use super::stats::{Extent, NONE};
use super::support::{self, Branch, Lookup};
use super::target::Support;
use crate::model::{EntityId, ReferenceId};
use crate::view::reads::Route;
use std::collections::{BTreeMap, BTreeSet};

/// What an effect costs: reads by need, writes by structure.
pub(crate) struct EffectPrices {
    pub(crate) reads: BTreeMap<Need, NeedPrice>,
    pub(crate) writes: BTreeMap<ShapeId, Write>,
}

/// What a read of a change costs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NeedPrice {
    pub(crate) rows: f64,
    pub(crate) cost: f64,
    /// Whether everything is read, because nothing finds what is wanted.
    pub(crate) all: bool,
}

impl NeedPrice {
    /// This and another.
    pub(super) fn and(self, other: NeedPrice) -> NeedPrice {
        NeedPrice {
            rows: self.rows + other.rows,
            cost: self.cost + other.cost,
            all: self.all || other.all,
        }
    }

    /// What is left to read where the same was read for so much already.
    pub(super) fn beyond(self, made: NeedPrice) -> NeedPrice {
        NeedPrice {
            rows: (self.rows - made.rows).max(0.0),
            cost: (self.cost - made.cost).max(0.0),
            all: self.all && self.cost > made.cost,
        }
    }
}

/// Rows that an effect writes to one structure.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) puts: Extent,
    pub(crate) deletes: Extent,
    /// Rows read before they are written.
    pub(crate) reads: f64,
    pub(crate) cost: f64,
}

/// What an effect writes of a candidate along one route: rows, what each column that is kept adds,
/// and its support reads where the rules count these as queries.
pub(super) struct Writing {
    pub(super) shape: ShapeId,
    route: Route,
    pub(super) hit: Hit,
    pub(super) needs: Needs,
    pub(super) kept: Vec<KeptColumn>,
    pub(super) branches: Vec<Branch>,
}

/// A column of rows that are written.
pub(super) struct KeptColumn {
    pub(super) column: usize,
    pub(super) cost: f64,
    pub(super) needs: Needs,
}

/// A way to do a read: what must be built for it, and its price by how often it is done.
pub(super) struct Way<'a> {
    pub(super) built: Vec<ShapeId>,
    pub(super) price: Box<dyn Fn(f64) -> NeedPrice + 'a>,
}

/// How referrers are found: gets for one instance, and the directory that lists where.
pub(super) struct Finder {
    gets: f64,
    pub(super) directory: Option<ShapeId>,
}

/// What a selection costs: what is stored, whatever happens, and what each reader, then each
/// writer costs every time.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    stored: f64,
    each: Vec<f64>,
}

impl Prices {
    /// The price at these weights.
    pub(super) fn at(&self, weights: &[f64]) -> f64 {
        let each = self.each.iter().zip(weights);
        self.stored + each.map(|(&cost, &w)| weighted(w, cost)).sum::<f64>()
    }

    /// What lies between this and another at these weights, whoever pays it: two that cost the same
    /// in all may differ in much.
    pub(super) fn apart(&self, other: &Prices, weights: &[f64]) -> f64 {
        let each = self.each.iter().zip(&other.each).zip(weights);
        let each = each.map(|((a, b), &w)| weighted(w, (a - b).abs()));
        (self.stored - other.stored).abs() + each.sum::<f64>()
    }

    /// Whether it costs more than another at these weights, by this fraction of what lies between.
    pub(super) fn dearer(&self, other: &Prices, weights: &[f64], same: f64) -> bool {
        let (own, other_price) = (self.at(weights), other.at(weights));
        let apart = self.apart(other, weights) * same;
        own - other_price > apart.max(other_price * ROUNDING)
    }
}

/// Sums of prices differ by this fraction though they are equal.
pub(super) const ROUNDING: f64 = 1e-12;

impl Programme<'_, '_> {
    /// The price of a selection; infinite where a statement cannot be answered or a structure not
    /// be maintained, however seldom that is asked for.
    pub(crate) fn price(&self, selection: &Selection) -> f64 {
        self.prices(selection).at(&self.weights())
    }

    /// The weights of all readers, then of all writers.
    pub(super) fn weights(&self) -> Vec<f64> {
        let readers = self.readers.iter().map(|r| r.weight);
        readers
            .chain(self.writers.iter().map(|w| w.weight))
            .collect()
    }

    /// What a selection costs, apart by what it depends on.
    pub(super) fn prices(&self, selection: &Selection) -> Prices {
        let mut stored = 0.0;
        for (&shape, columns) in &selection.shapes {
            stored += self.stored_cost(shape, None);
            stored += columns
                .iter()
                .map(|&c| self.stored_cost(shape, Some(c)))
                .sum::<f64>();
        }
        let readers = self.readers.iter();
        let read = readers.map(|r| r.best(selection).map_or(f64::INFINITY, |o| o.cost));
        let written = self.writers.iter().map(|writer| {
            let effects = self
                .writer_prices(selection, writer)
                .into_iter()
                .map(|prices| {
                    prices.reads.values().map(|r| r.cost).sum::<f64>()
                        + prices.writes.values().map(|w| w.cost).sum::<f64>()
                });
            effects.sum()
        });
        Prices {
            stored,
            each: read.chain(written).collect(),
        }
    }

    /// What the effects of a change read and write under a selection, one by one. What several of
    /// them need to read is told of the first.
    pub(crate) fn writer_prices(
        &self,
        selection: &Selection,
        writer: &Writer,
    ) -> Vec<EffectPrices> {
        let mut out = Vec::new();
        let mut shared: BTreeMap<SharedNeed, (usize, Need, f64)> = BTreeMap::new();
        for (at, (effect, checks)) in writer.effects.iter().enumerate() {
            let (needs, prices) = self.effect_prices(selection, effect, checks);
            for (need, n) in needs {
                let (read, n) = effect.shared(at, &need, n);
                let known = shared.entry(read).or_insert((at, need, n));
                known.2 = known.2.max(n);
            }
            out.push(prices);
        }
        for ((_, read), (at, need, n)) in shared {
            let price = self.need_price(selection, &read, n);
            if let Some(prices) = out.get_mut(at) {
                prices.reads.insert(need, price);
            }
        }
        out
    }

    /// The reads of a change that structures of a selection are the reason for, and what each of them
    /// alone would read of it. What the change checks is read for no structure.
    pub(super) fn wants(
        &self,
        selection: &Selection,
        writer: &Writer,
    ) -> BTreeMap<SharedNeed, BTreeMap<ShapeId, NeedPrice>> {
        let mut often: BTreeMap<SharedNeed, BTreeMap<ShapeId, f64>> = BTreeMap::new();
        for (at, (effect, _)) in writer.effects.iter().enumerate() {
            let writings = self.writings(effect, &selection.shapes).into_iter();
            for writing in writings.flatten().filter(|w| w.done(selection)) {
                for (need, &n) in writing.reads().flatten() {
                    let (read, n) = effect.shared(at, need, n);
                    let known = often.entry(read).or_default();
                    let known = known.entry(writing.shape).or_insert(0.0);
                    *known = known.max(n);
                }
            }
        }
        let priced = often.into_iter().map(|(read, by)| {
            let price = |n| self.need_price(selection, &read.1, n);
            let by = by.into_iter().map(|(shape, n)| (shape, price(n)));
            let by = by.collect();
            (read, by)
        });
        priced.collect()
    }

    /// What one effect needs to read, and what else it reads and writes under a selection.
    fn effect_prices(
        &self,
        selection: &Selection,
        effect: &Effect,
        checks: &Needs,
    ) -> (Needs, EffectPrices) {
        let mut needs = checks.clone();
        let mut need = |more: &Needs| {
            for (need, &n) in more {
                let known = needs.entry(need.clone()).or_insert(0.0);
                *known = known.max(n);
            }
        };
        let mut prices = EffectPrices {
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
        };
        for mut together in self.writings(effect, &selection.shapes) {
            together.retain(|writing| writing.done(selection));
            for writing in &together {
                let hit = &writing.hit;
                let write = prices.writes.entry(writing.shape).or_insert(Write {
                    puts: NONE,
                    deletes: NONE,
                    reads: 0.0,
                    cost: 0.0,
                });
                write.puts = write.puts.and(hit.puts);
                write.deletes = write.deletes.and(hit.deletes);
                write.reads += hit.read_first + hit.listed;
                write.cost += self.hit_cost(writing.shape, hit);
                write.cost += writing.kept.iter().map(|kept| kept.cost).sum::<f64>();
                writing.reads().for_each(&mut need);
            }
            add_support(selection, &together, &mut prices.reads);
        }
        (needs, prices)
    }

    /// What an effect writes of candidates that keep at most these columns, those together whose
    /// equal lookups are one read.
    pub(super) fn writings(
        &self,
        effect: &Effect,
        kept: &BTreeMap<ShapeId, BTreeSet<usize>>,
    ) -> Vec<Vec<Writing>> {
        let all = kept
            .iter()
            .flat_map(|(&shape, columns)| self.writings_of(effect, shape, columns));
        match self.planner.target.cost.rules.support {
            Support::Statement => vec![all.collect()],
            Support::Shared | Support::Branch | Support::Lookup => all.map(|w| vec![w]).collect(),
        }
    }

    /// What an effect writes of one candidate, route by route.
    pub(super) fn writings_of(
        &self,
        effect: &Effect,
        shape: ShapeId,
        columns: &BTreeSet<usize>,
    ) -> Vec<Writing> {
        let stats = &self.planner.stats;
        let reading = self.reading(shape);
        let byte = self.planner.target.cost.write_byte;
        let hits = reading.hits(stats, effect).into_iter();
        hits.map(|(route, hit)| {
            if self.support_each() {
                return Writing {
                    needs: Needs::new(),
                    kept: vec![],
                    branches: self.branches(shape, effect, &route, &hit),
                    shape,
                    route,
                    hit,
                };
            }
            // A row that is written is evaluated and written as a whole.
            let kept = columns.iter().map(|&column| KeptColumn {
                column,
                cost: hit.puts.avg * self.width(shape, column) * byte,
                needs: reading.column_needs(stats, effect, &route, &hit, column),
            });
            Writing {
                kept: kept.collect(),
                needs: reading.key_needs(stats, effect, &route, &hit),
                branches: vec![],
                shape,
                route,
                hit,
            }
        })
        .collect()
    }

    /// The support reads of a structure along one route. What none of their queries reads
    /// (collections, elements, what lies further) is read as our own rules would: from the homes.
    pub(super) fn branches(
        &self,
        shape: ShapeId,
        effect: &Effect,
        route: &Route,
        hit: &Hit,
    ) -> Vec<Branch> {
        let stats = &self.planner.stats;
        let reading = self.reading(shape);
        let reads = support::branches(self.planner, shape, effect, route, hit);
        let mut out = reads.branches;
        let mut beyond: BTreeMap<Need, (f64, BTreeSet<Option<usize>>)> = BTreeMap::new();
        for part in reads.beyond {
            let needs = match part {
                None => reading.key_needs(stats, effect, route, hit),
                Some(column) => reading.column_needs(stats, effect, route, hit, column),
            };
            for (need, n) in needs {
                let (most, parts) = beyond.entry(need).or_default();
                *most = most.max(n);
                parts.insert(part);
            }
        }
        let all = self.planner.shapes.all.len();
        out.extend(beyond.into_iter().map(|(need, (n, parts))| {
            let ways = self.need_ways(&need, 0..all).into_iter();
            let ways = ways.map(|way| support::Way {
                requires: built(&way.built).collect(),
                lookups: BTreeMap::from([(Lookup::Home(need.clone(), way.built), (way.price)(n))]),
                columns: BTreeMap::new(),
            });
            let entity = match &need {
                Need::Referrers(_, r) => self.planner.model.reference(*r).entity,
                Need::Values(_, entity) => *entity,
                _ => effect.entity,
            };
            Branch {
                about: self.planner.model.entity(entity).name.clone(),
                key: parts.contains(&None),
                columns: parts.into_iter().flatten().collect(),
                ways: ways.collect(),
            }
        }));
        out
    }

    fn need_price(&self, selection: &Selection, need: &Need, n: f64) -> NeedPrice {
        let built = |shapes: &[ShapeId]| shapes.iter().all(|s| selection.shapes.contains_key(s));
        let ways = self.need_ways(need, selection.shapes.keys().copied());
        let prices = ways
            .iter()
            .filter(|w| built(&w.built))
            .map(|w| (w.price)(n));
        let cheaper = |a: NeedPrice, b: NeedPrice| if b.cost < a.cost { b } else { a };
        prices.reduce(cheaper).unwrap_or_default()
    }

    /// The ways to do a read, over these candidates; the first one needs none of them.
    pub(super) fn need_ways(
        &self,
        need: &Need,
        candidates: impl Iterator<Item = ShapeId>,
    ) -> Vec<Way<'_>> {
        let planner = self.planner;
        let plain = |price| Way {
            built: vec![],
            price,
        };
        match need {
            Need::Values(_, entity) => {
                let entity = *entity;
                vec![plain(Box::new(move |n| NeedPrice {
                    rows: n,
                    cost: planner.values_cost(entity, n),
                    all: false,
                }))]
            }
            Need::Unique(attribute) => {
                let among = planner
                    .stats
                    .count(planner.model.attribute(*attribute).entity);
                vec![plain(Box::new(move |n| NeedPrice {
                    rows: n,
                    cost: planner.read_cost(among, n, n, 16.0),
                    all: false,
                }))]
            }
            // Priced where its structure is at hand.
            Need::Support(..) => vec![],
            Need::Referrers(_, reference) => {
                let reference = *reference;
                let referring = planner.model.reference(reference).entity;
                let mut ways = vec![plain(Box::new(move |n| NeedPrice {
                    rows: n * planner.stats.count(referring),
                    cost: planner.referrers_scan_cost(reference, n),
                    all: true,
                }))];
                ways.extend(candidates.filter_map(|shape| {
                    let finder = planner.referrer_finder(shape, reference)?;
                    let built = [Some(shape), finder.directory].into_iter().flatten();
                    Some(Way {
                        built: built.collect(),
                        price: Box::new(move |n| NeedPrice {
                            rows: n * planner.stats.referrers(reference).avg,
                            cost: planner.referrers_cost(reference, n, &finder),
                            all: false,
                        }),
                    })
                }));
                ways
            }
        }
    }

    /// What storing a candidate costs: its key, or one of its columns.
    pub(super) fn stored_cost(&self, shape: ShapeId, column: Option<usize>) -> f64 {
        let s = self.planner.shapes.get(shape);
        let stats = &self.planner.stats;
        let scope = crate::view::typing::Scope::new(self.planner.model, s.anchor, &s.over);
        let bytes: f64 = match column {
            None => s.key().map(|e| stats.bytes(&scope, e).avg).sum(),
            Some(c) => self.width(shape, c),
        };
        stats.rows(s) * bytes * self.planner.target.cost.stored_byte
    }

    /// Rows written along one route, columns' bytes left out.
    pub(super) fn hit_cost(&self, shape: ShapeId, hit: &Hit) -> f64 {
        let cost = &self.planner.target.cost;
        let among = self.planner.stats.rows(self.planner.shapes.get(shape));
        cost.writes(hit.puts.avg, hit.deletes.avg, among)
            + cost.gets(hit.read_first + hit.numbered, among)
            + (hit.read_first + hit.listed) * cost.row
    }

    fn width(&self, shape: ShapeId, column: usize) -> f64 {
        let s = self.planner.shapes.get(shape);
        let scope = crate::view::typing::Scope::new(self.planner.model, s.anchor, &s.over);
        s.columns
            .get(column)
            .map_or(0.0, |e| self.planner.stats.bytes(&scope, e).avg)
    }
}

impl Writing {
    /// What is read for it: for its key, then for each of its columns.
    fn reads(&self) -> impl Iterator<Item = &Needs> {
        let columns = self.kept.iter().map(|kept| &kept.needs);
        std::iter::once(&self.needs).chain(columns)
    }

    /// Whether it comes to be written, given what is kept.
    fn done(&self, selection: &Selection) -> bool {
        let columns = selection.shapes.get(&self.shape);
        columns.is_some_and(|columns| self.hit.key || !self.hit.columns.is_disjoint(columns))
    }
}

/// Adds the support reads of what is written together, such that all of them cost least.
fn add_support(selection: &Selection, together: &[Writing], reads: &mut BTreeMap<Need, NeedPrice>) {
    let mut asked: Vec<Need> = Vec::new();
    let mut branches: Vec<(&Branch, &BTreeSet<usize>)> = Vec::new();
    for writing in together {
        let Some(columns) = selection.shapes.get(&writing.shape) else {
            continue;
        };
        for branch in writing.branches.iter().filter(|b| b.read(columns)) {
            let (route, about) = (writing.route.clone(), branch.about.clone());
            asked.push(Need::Support(writing.shape, route, about));
            branches.push((branch, columns));
        }
    }
    let impossible = NeedPrice {
        cost: f64::INFINITY,
        ..NeedPrice::default()
    };
    let prices = support::cheapest(&branches, &|r| selection.has(r));
    let prices = prices.unwrap_or_else(|| vec![impossible; asked.len()]);
    for (need, price) in asked.into_iter().zip(prices) {
        let known = reads.entry(need).or_default();
        *known = known.and(price);
    }
}

/// That these are built.
pub(super) fn built(shapes: &[ShapeId]) -> impl Iterator<Item = Requirement> {
    shapes.iter().map(|&shape| Requirement {
        shape,
        column: None,
    })
}

/// A cost as often as it is paid; what cannot be done is not made possible by never being asked.
fn weighted(weight: f64, cost: f64) -> f64 {
    if cost.is_finite() {
        weight * cost
    } else {
        cost
    }
}

impl Planner<'_> {
    /// Reading instances by their keys.
    pub(crate) fn values_cost(&self, entity: EntityId, n: f64) -> f64 {
        let c = &self.target.cost;
        let fields = self.model.root(entity).key.len() + self.stats.value_fields(entity).len();
        let width = fields as f64 * 8.0;
        c.index + c.gets(n, self.stats.count(entity)) + n * (c.row + width * c.byte)
    }
    /// How a candidate finds the referrers of an instance, if it does.
    pub(super) fn referrer_finder(&self, shape: ShapeId, reference: ReferenceId) -> Option<Finder> {
        let s = self.shapes.get(shape);
        let ordered = self.target.capabilities.ordered_partitions;
        if finds_referrers(self.model, s, reference, ordered) {
            return Some(Finder {
                gets: 1.0,
                directory: None,
            });
        }
        let spread = spread(self.model, s)?;
        let paths = super::shape::reference_paths(self.model, reference);
        if spread.before > paths.len() || !finds_referrers(self.model, s, reference, true) {
            return None;
        }
        let mut finder = Finder {
            gets: spread.salts.unwrap_or(1) as f64,
            directory: None,
        };
        if directory(self.model, s).is_some() {
            let directory = self.known_directory(s)?;
            let bound: Vec<_> = s.partition.iter().take(spread.before).collect();
            let present = self.stats.rows_per(self.shapes.get(directory), &bound);
            finder.gets = 1.0 + present * finder.gets;
            finder.directory = Some(directory);
        }
        Some(finder)
    }
    /// Reading referrers through a structure that starts with the reference.
    fn referrers_cost(&self, reference: ReferenceId, n: f64, finder: &Finder) -> f64 {
        let found = n * self.stats.referrers(reference).avg;
        let among = self.stats.count(self.model.reference(reference).entity);
        self.read_cost(among, n * finder.gets, found, 16.0)
    }
    /// Reading referrers by reading everything.
    pub(crate) fn referrers_scan_cost(&self, reference: ReferenceId, n: f64) -> f64 {
        let all = self.stats.count(self.model.reference(reference).entity);
        let partitions = if self.target.cost.rules.whole_partitions {
            all
        } else {
            1.0
        };
        self.read_cost(all, n * partitions, n * all, 16.0)
    }
}
