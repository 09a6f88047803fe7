//! The solver against exhaustive search, on random instances.

use super::bound::Relaxed;
use super::lift::lift;
use super::twins::Twins;
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
            alike: parent.map(|p| items.len() - p),
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
        ..Instance::default()
    }
}

/// Adds a twin of a structure, or what looks like one but for a cost.
fn twinned(rng: &mut Rng, mut instance: Instance) -> Instance {
    let structures: Vec<ItemId> = (0..instance.items.len())
        .filter(|&i| instance.items[i].structure)
        .collect();
    let s = structures[rng.below(structures.len())];
    let own = |i: &ItemId| *i == s || instance.items[*i].parent == Some(s);
    let old: Vec<ItemId> = (0..instance.items.len()).filter(own).collect();
    let first = instance.items.len();
    for &i in &old {
        let mut item = instance.items[i].clone();
        item.parent = item.parent.map(|_| first);
        instance.items.push(item);
    }
    let image = |list: &Vec<ItemId>| -> Vec<ItemId> {
        let place = |i: &ItemId| old.iter().position(|j| j == i);
        let mut image: Vec<ItemId> = list
            .iter()
            .map(|i| place(i).map_or(*i, |at| first + at))
            .collect();
        image.sort_unstable();
        image
    };
    let more = |lists: &mut Vec<Vec<ItemId>>| {
        let images = lists.iter().map(&image).filter(|i| !lists.contains(i));
        let images: Vec<_> = images.collect();
        lists.extend(images);
    };
    let mut own = Vec::new();
    for demand in &mut instance.demands {
        let mut other = demand.clone();
        other.when = other.when.iter().map(&image).collect();
        for choice in &mut other.choices {
            choice.requires = image(&choice.requires);
        }
        if !demand.always() && rng.chance(50) {
            // A cost of each of the two.
            own.push(other);
            continue;
        }
        more(&mut demand.when);
        let new = other.choices.into_iter();
        let known: Vec<_> = demand.choices.iter().map(|c| c.requires.clone()).collect();
        demand
            .choices
            .extend(new.filter(|c| !known.contains(&c.requires)));
    }
    instance.demands.extend(own);
    if rng.chance(30) {
        // One cost makes all the difference.
        let at = rng.below(instance.demands.len());
        if let Some(choice) = instance.demands[at].choices.last_mut() {
            choice.cost += 1.0;
        }
    }
    instance
}

/// Random instances, half of them with twins.
fn drawn(seed: u64) -> Instance {
    let mut rng = Rng(seed);
    if seed.is_multiple_of(2) {
        return random(&mut rng, 12);
    }
    let small = random(&mut rng, 7);
    twinned(&mut rng, small)
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
        let instance = drawn(seed);
        let best = exhaustive(&instance, &vec![None; instance.items.len()]);
        // From nothing, or near some set of items, whatever it is.
        let near: Vec<bool> = (0..instance.items.len() as u64)
            .map(|i| (seed / 2) >> (i % 32) & 1 == 1)
            .collect();
        let near = (seed % 2 == 1).then_some(near.as_slice());
        match solve(&instance, Limits::nodes(100_000), near) {
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
        let instance = drawn(seed);
        let best = exhaustive(&instance, &vec![None; instance.items.len()]);
        for (nodes, root_steps) in [(1, 1), (1, 10), (2, 5), (5, 3)] {
            let limits = Limits {
                nodes,
                root_steps,
                node_steps: 2,
                hopeful: seed % 2 == 0,
            };
            let Some(solved) = solve(&instance, limits, None) else {
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
        let mut probed = plain.clone();
        probe(&mut probed);
        for instance in [plain.clone(), lift(&plain), lift(&probed)] {
            let relaxed = Relaxed::new(&instance);
            let mut all = fixed.clone();
            all.resize(instance.items.len(), None);
            let mut scope = relaxed.scope(all);
            let multipliers = relaxed.even().iter().map(|_| rng.cost()).collect();
            let cutoff = if best.is_finite() { best } else { 1e4 };
            let cutoff = cutoff + 1e-6 * cutoff.max(1.0);
            let bound = relaxed.bound(&scope, multipliers, cutoff, 1 + rng.below(20), false);
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

/// From anything that is known, and from the trace of an instance with other costs, the same is
/// found; and only what is below is found.
#[test]
fn what_is_known_changes_nothing() {
    for seed in seeds() {
        let mut rng = Rng(seed ^ 0xa11);
        let mut instance = drawn(seed);
        let mut trace = Trace::new();
        let limits = Limits::nodes(100_000);
        solve_from(&instance, limits, Known::NOTHING, &mut trace);
        for demand in &mut instance.demands {
            let times = [1.0, 1.0, 3.0, 1e-3][rng.below(4)];
            demand.choices.iter_mut().for_each(|c| c.cost *= times);
        }
        let best = exhaustive(&instance, &vec![None; instance.items.len()]);
        let kept: Vec<bool> = instance.items.iter().map(|_| rng.chance(50)).collect();
        let below = [f64::INFINITY, best * 1.01, best * 0.99][rng.below(3)];
        let known = Known {
            kept: Some(&kept),
            below,
        };
        let bound = bound_from(&instance, 1 + rng.below(20), below, &trace);
        assert!(
            at_most(bound, best),
            "seed {seed}: bound {bound} above {best}"
        );
        let solved = solve_from(&instance, limits, known, &mut trace);
        let cost = solved.map_or(f64::INFINITY, |s| instance.evaluate(&s.kept));
        let expected = if best < below { best } else { f64::INFINITY };
        assert!(
            cost == expected || (cost - expected).abs() <= 1e-6 * best.abs().max(1e-9),
            "seed {seed}: {cost} below {below}, best {best}\n{instance:#?}"
        );
    }
}

/// That the earlier of twins is kept rather than the later costs nothing.
#[test]
fn twins_may_be_ordered() {
    let mut ordered = 0;
    for seed in seeds() {
        let plain = drawn(seed);
        let mut instance = plain.clone();
        Twins::order(&mut instance);
        if instance.demands.len() == plain.demands.len() {
            continue;
        }
        ordered += 1;
        let all = vec![None; plain.items.len()];
        let (before, after) = (exhaustive(&plain, &all), exhaustive(&instance, &all));
        assert!(
            before == after || at_most(after, before) && at_most(before, after),
            "seed {seed}: {before} became {after}\n{plain:#?}"
        );
    }
    assert!(ordered > 300, "only {ordered} instances had twins");
}

/// A solution in which the later of twins is kept alone becomes that with the earlier; what is
/// found is settled already.
#[test]
fn ties_are_settled_by_what_comes_first() {
    let mut settled = 0;
    for seed in seeds() {
        let instance = drawn(seed);
        let Some(solved) = solve(&instance, Limits::nodes(100_000), None) else {
            continue;
        };
        let mut again = solved.kept.clone();
        ties::settle(&instance, &mut again);
        assert_eq!(again, solved.kept, "seed {seed}: there was more to settle");
        let cost = instance.evaluate(&solved.kept);
        for class in Twins::of(&instance).classes() {
            let mut other = solved.kept.clone();
            for (&a, &b) in class[0].iter().zip(&class[1]) {
                other.swap(a, b);
            }
            if other == solved.kept {
                continue;
            }
            settled += 1;
            assert!(other < solved.kept, "seed {seed}: the later twin is kept");
            let same = instance.evaluate(&other);
            assert!(at_most(same, cost) && at_most(cost, same), "seed {seed}");
            ties::settle(&instance, &mut other);
            assert_eq!(other, solved.kept, "seed {seed}: the later twin is kept");
        }
    }
    assert!(settled > 200, "only {settled} ties");
}

/// Demands that stand and that nothing kept meets, by definition.
fn unmet(instance: &Instance, kept: &[bool]) -> Vec<usize> {
    let all = |set: &Vec<ItemId>| set.iter().all(|&i| kept[i]);
    let demands = instance.demands.iter().enumerate();
    let unmet = demands
        .filter(|(_, d)| d.when.iter().any(all) && !d.choices.iter().any(|c| all(&c.requires)));
    unmet.map(|(d, _)| d).collect()
}

#[test]
fn a_state_knows_what_it_costs_whatever_was_tried_and_undone() {
    for seed in seeds() {
        let mut rng = Rng(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) + 3);
        let mut instance = random(&mut rng, 12);
        let demands = instance.demands.iter_mut();
        demands.for_each(|d| undominated(&mut d.choices));
        instance.cap = usize::MAX;
        let index = Index::new(&instance);
        let mut state = State::new(&instance, &index);
        let mut marks = vec![state.mark()];
        for _ in 0..60 {
            let item = rng.below(instance.items.len());
            match rng.below(4) {
                0 if marks.len() > 1 => state.undo(marks.pop().unwrap_or_default()),
                1 => state.drop([item]),
                _ => state.add([item]),
            }
            if rng.chance(30) {
                marks.push(state.mark());
            }
            let mut lacking = Vec::new();
            while let Some(d) = state.lacking(lacking.last().map_or(0, |d| d + 1)) {
                lacking.push(d);
            }
            assert_eq!(lacking, unmet(&instance, &state.kept), "seed {seed}");
            let mut free = instance.clone();
            free.items.iter_mut().for_each(|i| i.forced = false);
            for d in lacking {
                free.demands[d].when.clear();
            }
            let (told, cost) = (state.worth().cost, free.evaluate(&state.kept));
            assert!((told - cost).abs() < 1e-6, "seed {seed}: {told} for {cost}");
        }
    }
}
