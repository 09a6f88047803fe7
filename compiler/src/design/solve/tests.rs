//! The solver against exhaustive search, on random instances.

use super::bound::Relaxed;
use super::lift::lift;
use super::*;

/// How many random instances are solved: `QUERENT_SOAK` multiplies them.
const CASES: u64 = 2000;

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed >> 33) as usize) % n.max(1)
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    /// Costs of very different sizes, some 0, some equal.
    fn cost(&mut self) -> f64 {
        match self.below(6) {
            0 => 0.0,
            1 => 1.0,
            2 => self.below(10) as f64,
            3 => self.below(1000) as f64 / 7.0,
            4 => self.below(100) as f64 * 1e-3,
            _ => self.below(50) as f64,
        }
    }
}

/// Structures with columns, readers and homes, shared costs, pairs of triggers, ways to find.
fn random(rng: &mut Rng, most: usize) -> Instance {
    let mut items: Vec<Item> = Vec::new();
    let mut structure = 0;
    for _ in 0..2 + rng.below(most - 1) {
        let parent = (!items.is_empty() && rng.chance(55)).then_some(structure);
        if parent.is_none() {
            structure = items.len();
        }
        let forced = rng.chance(4);
        items.push(Item {
            cost: rng.cost(),
            parent,
            structure: parent.is_none(),
            forced,
        });
    }
    let n = items.len();
    let some = |rng: &mut Rng, most: usize| {
        let mut set: Vec<ItemId> = (0..=rng.below(most)).map(|_| rng.below(n)).collect();
        let parents: Vec<ItemId> = set.iter().filter_map(|&i| items[i].parent).collect();
        set.extend(parents);
        set.sort_unstable();
        set.dedup();
        set
    };
    let mut demands = Vec::new();
    for _ in 0..=rng.below(6) {
        // A question or a home.
        let free = rng.chance(20);
        let choices = (0..=rng.below(5)).map(|_| Choice {
            cost: if free { 0.0 } else { rng.cost() },
            requires: some(rng, 3),
        });
        demands.push(Demand {
            when: vec![vec![]],
            choices: choices.collect(),
        });
    }
    for _ in 0..rng.below(8) {
        // A write, a read that structures share, or a search for referrers.
        let when: Vec<Vec<ItemId>> = (0..=rng.below(4))
            .map(|_| {
                if rng.chance(30) {
                    some(rng, 2)
                } else {
                    vec![rng.below(n)]
                }
            })
            .collect();
        let mut choices = vec![Choice {
            cost: rng.cost(),
            requires: vec![],
        }];
        if rng.chance(30) {
            choices.extend((0..=rng.below(3)).map(|_| Choice {
                cost: rng.cost(),
                requires: some(rng, 1),
            }));
        }
        if rng.chance(5) {
            choices.remove(0);
        }
        demands.push(Demand { when, choices });
    }
    let cap = if rng.chance(20) { 1 + rng.below(3) } else { n };
    Instance {
        items,
        demands,
        base: rng.cost(),
        cap,
    }
}

/// The least cost over all sets that agree with what is fixed.
fn exhaustive(instance: &Instance, fixed: &[Option<bool>]) -> f64 {
    let n = instance.items.len();
    let sets = (0u32..1 << n).map(|set| (0..n).map(|i| set & (1 << i) != 0).collect::<Vec<_>>());
    let agree = sets.filter(|kept| {
        let mut both = kept.iter().zip(fixed);
        both.all(|(k, f)| f.is_none_or(|f| f == *k))
    });
    let costs = agree.map(|kept| instance.evaluate(&kept));
    costs.fold(f64::INFINITY, f64::min)
}

fn seeds() -> std::ops::Range<u64> {
    let soak = std::env::var("QUERENT_SOAK");
    let soak: u64 = soak.ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    0..CASES * soak
}

/// A bound may be above by rounding alone.
fn at_most(bound: f64, best: f64) -> bool {
    bound <= best + 1e-9 * best.abs().max(1.0)
}

#[test]
fn solutions_are_the_cheapest_of_all() {
    for seed in seeds() {
        let instance = random(&mut Rng(seed), 12);
        let best = exhaustive(&instance, &vec![None; instance.items.len()]);
        match solve(&instance, Limits::nodes(100_000)) {
            None => assert!(
                best.is_infinite(),
                "seed {seed}: found none, best {best}\n{instance:#?}"
            ),
            Some(solved) => {
                let cost = instance.evaluate(&solved.kept);
                assert!(
                    (cost - best).abs() <= 1e-6 * best.abs().max(1e-9),
                    "seed {seed}: {cost}, best {best}\n{instance:#?}"
                );
                assert!(
                    at_most(solved.bound, best),
                    "seed {seed}: bound {} above {best}",
                    solved.bound
                );
                assert!(
                    cost - solved.bound <= 1e-6 * cost.abs().max(1e-9),
                    "seed {seed}: not proven: {} of {cost}",
                    solved.bound
                );
            }
        }
    }
}

#[test]
fn a_search_that_is_stopped_tells_how_far_it_may_be_off() {
    let mut open = 0;
    for seed in seeds() {
        let instance = random(&mut Rng(seed), 12);
        let best = exhaustive(&instance, &vec![None; instance.items.len()]);
        for (nodes, root_steps) in [(1, 1), (1, 10), (2, 5), (5, 3)] {
            let limits = Limits {
                nodes,
                root_steps,
                node_steps: 2,
            };
            let Some(solved) = solve(&instance, limits) else {
                continue;
            };
            let cost = instance.evaluate(&solved.kept);
            assert!(
                at_most(solved.bound, best) && at_most(best, cost),
                "seed {seed}: {} <= {best} <= {cost} is not true\n{instance:#?}",
                solved.bound
            );
            open += usize::from(cost - solved.bound > 1e-6 * cost);
        }
    }
    assert!(
        open > 100,
        "only {open} searches were stopped: no test of their bounds"
    );
}

/// Any multipliers give a bound, in any part of the tree, of the plain instance as of the lifted
/// one; and what the bound fixes leaves the cheapest set of that part, if it is below the cutoff.
#[test]
fn any_multipliers_give_a_bound() {
    for seed in seeds() {
        let mut rng = Rng(seed ^ 0x5eed);
        let mut plain = random(&mut rng, 10);
        plain.items.iter_mut().for_each(|i| i.forced = false);
        let mut fixed: Fixed = vec![None; plain.items.len()];
        for (i, item) in plain.items.iter().enumerate() {
            let kept = rng.chance(50);
            let possible = item.parent.is_none_or(|p| fixed[p] == Some(true) || !kept);
            if rng.chance(20) && possible {
                fixed[i] = Some(kept);
            }
        }
        let best = exhaustive(&plain, &fixed);
        for instance in [plain.clone(), lift(&plain)] {
            let relaxed = Relaxed::new(&instance);
            let mut all = fixed.clone();
            all.resize(instance.items.len(), None);
            let mut scope = relaxed.scope(all);
            let multipliers = relaxed.even().iter().map(|_| rng.cost()).collect();
            let cutoff = if best.is_finite() { best } else { 1e4 };
            let cutoff = cutoff + 1e-6 * cutoff.max(1.0);
            let bound = relaxed.bound(&scope, multipliers, cutoff, 1 + rng.below(20));
            assert!(
                at_most(bound.value, best),
                "seed {seed}: bound {} above {best}\n{instance:#?}",
                bound.value
            );
            relaxed.fix(&mut scope, &bound, cutoff);
            if best.is_finite() {
                assert!(
                    relaxed.propagate(&mut scope),
                    "seed {seed}: the best is lost"
                );
                let left = exhaustive(&plain, &scope.fixed[..plain.items.len()]);
                assert!(
                    at_most(left, best),
                    "seed {seed}: {best} became {left}\n{instance:#?}"
                );
            }
        }
    }
}
