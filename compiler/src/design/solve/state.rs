//! A set of kept items with its cost, kept up to date as items come and go.

use std::ops::Range;

use super::instance::{Demand, Instance, ItemId};

/// Where an item is mentioned: the demands that may use it, and triggers by their positions among
/// those of all demands.
#[derive(Clone, Debug, Default)]
struct Mentions {
    uses: Vec<Use>,
    triggers: Vec<u32>,
    columns: Vec<ItemId>,
}

/// An item in the choices of a demand.
#[derive(Clone, Copy, Debug)]
struct Use {
    demand: u32,
    /// The first choice that requires it.
    first: u32,
    /// Its place among the items of the demand.
    place: u32,
}

impl Use {
    /// The word and the bit of its place.
    fn bit(&self) -> (usize, u64) {
        let place = self.place as usize;
        (place / WORD, 1 << (place % WORD))
    }
}

/// The choices of a demand over the places of its own items: a choice is a few words of bits, so
/// that whether it lacks anything takes no more than to compare them with what there is.
#[derive(Clone, Debug)]
struct Asked {
    choices: u32,
    /// Where their costs start.
    costs: usize,
    /// How many words a choice has.
    words: usize,
    /// Where the words of its choices start.
    required: usize,
    /// Where the words of what is kept start, and the places of its items.
    kept: usize,
    places: usize,
}

/// Mentions of all items: made once, read by every state. Choices of all demands are laid out one
/// after another, since they are looked at all the time.
pub(crate) struct Index {
    items: Vec<Mentions>,
    demands: Vec<Asked>,
    /// What choices cost, and what they require.
    costs: Vec<f64>,
    required: Vec<u64>,
    /// The item at each place.
    places: Vec<ItemId>,
    /// The words of what is kept, of all demands.
    words: usize,
    /// The demand of each trigger.
    triggers: Vec<u32>,
}

impl Index {
    pub(crate) fn new(instance: &Instance) -> Index {
        let mut out = Index {
            items: vec![Mentions::default(); instance.items.len()],
            demands: Vec::with_capacity(instance.demands.len()),
            costs: Vec::new(),
            required: Vec::new(),
            places: Vec::new(),
            words: 0,
            triggers: Vec::new(),
        };
        for (i, item) in instance.items.iter().enumerate() {
            if let Some(p) = item.parent {
                out.items[p].columns.push(i);
            }
        }
        for (d, demand) in instance.demands.iter().enumerate() {
            out.ask(d, demand);
            for when in &demand.when {
                let at = out.triggers.len() as u32;
                out.triggers.push(d as u32);
                when.iter().for_each(|&i| out.items[i].triggers.push(at));
            }
        }
        out
    }

    fn ask(&mut self, d: usize, demand: &Demand) {
        let required = demand.choices.iter().flat_map(|c| &c.requires);
        let mut items: Vec<ItemId> = required.copied().collect();
        items.sort_unstable();
        items.dedup();
        let asked = Asked {
            choices: demand.choices.len() as u32,
            costs: self.costs.len(),
            words: items.len().div_ceil(WORD),
            required: self.required.len(),
            kept: self.words,
            places: self.places.len(),
        };
        self.costs.extend(demand.choices.iter().map(|c| c.cost));
        let mut first = vec![None; items.len()];
        for (c, choice) in demand.choices.iter().enumerate() {
            let start = self.required.len();
            self.required.resize(start + asked.words, 0);
            for i in &choice.requires {
                if let Ok(place) = items.binary_search(i) {
                    self.required[start + place / WORD] |= 1 << (place % WORD);
                    first[place].get_or_insert(c as u32);
                }
            }
        }
        for (place, (&i, first)) in items.iter().zip(first).enumerate() {
            self.items[i].uses.push(Use {
                demand: d as u32,
                first: first.unwrap_or_default(),
                place: place as u32,
            });
        }
        self.words += asked.words;
        self.places.extend(items);
        self.demands.push(asked);
    }
}

impl Asked {
    /// What a choice requires.
    fn requires<'w>(&self, index: &'w Index, choice: u32) -> &'w [u64] {
        let start = self.required + choice as usize * self.words;
        &index.required[start..start + self.words]
    }
}

const WORD: usize = u64::BITS as usize;

/// No choice.
const NONE: u32 = u32::MAX;

/// How many choices are tried for a demand: a question of many nested parts has thousands of plans,
/// and those that look dear by themselves rarely are the best on top of what is kept.
pub(super) const TRIES: usize = 64;

/// A set of items and what it costs.
pub(crate) struct State<'i> {
    pub(crate) instance: &'i Instance,
    index: &'i Index,
    pub(crate) kept: Vec<bool>,
    /// The same at the places of each demand's items.
    places: Vec<u64>,
    /// Items that each trigger lacks.
    absent: Vec<u32>,
    /// Of each demand: triggers that lack nothing, and, while there are any, the cheapest choice that
    /// lacks nothing.
    active: Vec<u32>,
    taken: Vec<u32>,
    cost: f64,
    /// Demands that stand and are not met.
    unmet: Unmet,
    structures: usize,
    items: usize,
    /// What each structure costs on top: the price of the cap.
    pub(crate) toll: f64,
    /// Whether more structures than the cap are as bad as a demand that is not met.
    pub(crate) capped: bool,
    /// How many choices are tried for a demand at most: those that look cheapest.
    pub(crate) tries: usize,
    /// Items that changed, in order; what that changed, and where each change started in both.
    journal: Vec<ItemId>,
    trail: Vec<Before>,
    steps: Vec<Step>,
    /// What the change that is being made has to do with, and which of it each demand is.
    touched: Vec<Affected>,
    place: Vec<u32>,
}

/// What a demand had taken before a change.
#[derive(Clone, Copy, Debug)]
struct Before {
    demand: u32,
    taken: u32,
}

/// Where a change of some items at once started, and what all cost before.
#[derive(Clone, Copy, Debug)]
struct Step {
    journal: usize,
    trail: usize,
    cost: f64,
}

/// A demand that may take another choice by a change.
#[derive(Clone, Copy, Debug)]
struct Affected {
    demand: u32,
    /// The first choice that requires something of what has come.
    from: u32,
    /// Whether it stood before.
    stood: bool,
}

/// A set of demands, as bits: it changes with most flips and is nearly always empty.
struct Unmet {
    words: Vec<u64>,
    len: usize,
}

impl Unmet {
    fn set(&mut self, demand: usize, is: bool) {
        let (word, bit) = (&mut self.words[demand / 64], 1 << (demand % 64));
        match (is, *word & bit != 0) {
            (true, false) => self.len += 1,
            (false, true) => self.len -= 1,
            _ => return,
        }
        *word ^= bit;
    }

    /// The first one from a position on.
    fn first(&self, from: usize) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mut wanted = u64::MAX << (from % 64);
        for (at, word) in self.words.iter().enumerate().skip(from / 64) {
            let left = word & wanted;
            if left != 0 {
                return Some(at * 64 + left.trailing_zeros() as usize);
            }
            wanted = u64::MAX;
        }
        None
    }
}

/// How good a state is: what is broken first, then the cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Worth {
    broken: usize,
    pub(crate) cost: f64,
    structures: usize,
    items: usize,
}

impl Worth {
    pub(crate) fn feasible(self) -> bool {
        self.broken == 0
    }

    /// Whether this is better: by more than rounding, or as cheap with fewer structures, then
    /// fewer columns.
    pub(crate) fn beats(self, other: Worth) -> bool {
        let near = 1e-10 * self.cost.abs().max(other.cost.abs());
        if self.broken != other.broken {
            return self.broken < other.broken;
        }
        if (self.cost - other.cost).abs() > near {
            return self.cost < other.cost;
        }
        (self.structures, self.items) < (other.structures, other.items)
    }
}

impl<'i> State<'i> {
    /// Nothing kept.
    pub(crate) fn new(instance: &'i Instance, index: &'i Index) -> State<'i> {
        let triggers = instance.demands.iter().flat_map(|d| &d.when);
        let mut state = State {
            instance,
            index,
            kept: vec![false; instance.items.len()],
            places: vec![0; index.words],
            absent: triggers.map(|w| w.len() as u32).collect(),
            active: vec![0; instance.demands.len()],
            taken: vec![NONE; instance.demands.len()],
            cost: instance.base,
            unmet: Unmet {
                words: vec![0; instance.demands.len().div_ceil(64)],
                len: 0,
            },
            structures: 0,
            items: 0,
            toll: 0.0,
            capped: true,
            tries: TRIES,
            journal: Vec::new(),
            trail: Vec::new(),
            steps: Vec::new(),
            touched: Vec::new(),
            place: vec![NONE; instance.demands.len()],
        };
        for (w, _) in state.absent.iter().enumerate().filter(|(_, n)| **n == 0) {
            state.active[index.triggers[w] as usize] += 1;
        }
        for d in 0..instance.demands.len() {
            if state.active[d] > 0 {
                state.taken[d] = state.cheapest(d, 0..index.demands[d].choices);
                state.cost += state.paid(d, state.taken[d]);
                state.note(d);
            }
        }
        state
    }

    pub(crate) fn worth(&self) -> Worth {
        let over = if self.capped { self.over() } else { 0 };
        Worth {
            broken: self.unmet.len + over,
            cost: self.cost + self.toll * self.structures as f64,
            structures: self.structures,
            items: self.items,
        }
    }

    /// Structures beyond the cap.
    pub(crate) fn over(&self) -> usize {
        self.structures.saturating_sub(self.instance.cap)
    }

    /// The first of some choices of a demand that lacks nothing.
    fn cheapest(&self, demand: usize, choices: Range<u32>) -> u32 {
        let asked = &self.index.demands[demand];
        let kept = &self.places[asked.kept..asked.kept + asked.words];
        let start = |c: u32| asked.required + c as usize * asked.words;
        let required = &self.index.required[start(choices.start)..start(choices.end)];
        let lacks = |(required, kept): (&u64, &u64)| required & !kept != 0;
        let found = match kept {
            [] => (!choices.is_empty()).then_some(0),
            [kept] => required.iter().position(|r| !lacks((r, kept))),
            _ => {
                let mut required = required.chunks_exact(asked.words);
                required.position(|r| !r.iter().zip(kept).any(lacks))
            }
        };
        found.map_or(NONE, |at| choices.start + at as u32)
    }

    /// What a demand that stands costs by a choice.
    fn paid(&self, demand: usize, taken: u32) -> f64 {
        if taken == NONE {
            return 0.0;
        }
        self.index.costs[self.index.demands[demand].costs + taken as usize]
    }

    /// The choice that a demand takes, if it stands and can be met.
    pub(crate) fn taken(&self, demand: usize) -> Option<usize> {
        let met = self.active[demand] > 0 && self.taken[demand] != NONE;
        met.then(|| self.taken[demand] as usize)
    }

    /// The choices of a demand that are tried, in order; where not all of them are, those that cost
    /// least with the items that they lack, as far as these cost something by themselves.
    pub(crate) fn tried(&self, demand: usize) -> Vec<usize> {
        let choices = &self.instance.demands[demand].choices;
        if choices.len() <= self.tries {
            return (0..choices.len()).collect();
        }
        let asked = &self.index.demands[demand];
        let kept = &self.places[asked.kept..asked.kept + asked.words];
        let with = |c: usize| {
            let mut cost = choices[c].cost;
            for (word, (required, kept)) in asked
                .requires(self.index, c as u32)
                .iter()
                .zip(kept)
                .enumerate()
            {
                let mut lacking = required & !kept;
                while lacking != 0 {
                    let place = word * WORD + lacking.trailing_zeros() as usize;
                    let item = self.index.places[asked.places + place];
                    cost += self.instance.items[item].cost;
                    lacking &= lacking - 1;
                }
            }
            cost
        };
        let mut costs: Vec<(f64, usize)> = (0..choices.len()).map(|c| (with(c), c)).collect();
        costs.select_nth_unstable_by(self.tries, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut tried: Vec<usize> = costs[..self.tries].iter().map(|(_, c)| *c).collect();
        tried.sort_unstable();
        tried
    }

    /// The demands that an item may be used for.
    pub(crate) fn users(&self, item: ItemId) -> impl Iterator<Item = usize> {
        let uses = self.index.items[item].uses.iter();
        uses.map(|u| u.demand as usize)
    }

    /// The demands that an item makes stand, alone or with others.
    pub(crate) fn triggered(&self, item: ItemId) -> impl Iterator<Item = usize> {
        let triggers = self.index.items[item].triggers.iter();
        triggers.map(|&w| self.index.triggers[w as usize] as usize)
    }

    /// The first demand from a position on that stands and is not met.
    pub(crate) fn lacking(&self, from: usize) -> Option<usize> {
        self.unmet.first(from)
    }

    /// Changes some items at once, all of them coming or all of them going: what a demand takes is
    /// looked for once, however many of its items change.
    pub(crate) fn change(&mut self, items: impl IntoIterator<Item = ItemId>, on: bool) {
        let step = Step {
            journal: self.journal.len(),
            trail: self.trail.len(),
            cost: self.cost,
        };
        for item in items {
            if self.kept[item] != on {
                self.turn(item);
            }
        }
        if self.journal.len() == step.journal {
            return;
        }
        self.steps.push(step);
        let mut touched = std::mem::take(&mut self.touched);
        for affected in touched.drain(..) {
            self.place[affected.demand as usize] = NONE;
            self.retake(affected);
        }
        self.touched = touched;
    }

    /// Keeps an item that was not kept, or the other way round, and notes which demands that affects.
    fn turn(&mut self, item: ItemId) {
        self.journal.push(item);
        self.count(item);
        let (on, index) = (self.kept[item], self.index);
        let cost = self.instance.items[item].cost;
        self.cost += if on { cost } else { -cost };
        for used in &index.items[item].uses {
            let d = used.demand as usize;
            let asked = &index.demands[d];
            let (word, bit) = used.bit();
            self.places[asked.kept + word] ^= bit;
            let taken = self.taken[d];
            // A demand that does not stand looks for a choice when it does.
            let affected = self.active[d] > 0
                && if on {
                    used.first < taken
                } else {
                    taken != NONE && asked.requires(index, taken)[word] & bit != 0
                };
            if affected {
                let from = if on { used.first } else { NONE };
                self.touch(d, from, true);
            }
        }
        for &w in &index.items[item].triggers {
            let d = index.triggers[w as usize] as usize;
            let stood = self.active[d] > 0;
            self.trigger(w, on);
            if stood != (self.active[d] > 0) {
                self.touch(d, NONE, stood);
            }
        }
    }

    /// Counts an item among those that are kept, or no more.
    fn count(&mut self, item: ItemId) {
        let on = !self.kept[item];
        self.kept[item] = on;
        let structure = usize::from(self.instance.items[item].structure);
        if on {
            self.structures += structure;
            self.items += 1;
        } else {
            self.structures -= structure;
            self.items -= 1;
        }
    }

    /// Counts an item of a trigger.
    fn trigger(&mut self, trigger: u32, on: bool) {
        let active = &mut self.active[self.index.triggers[trigger as usize] as usize];
        let absent = &mut self.absent[trigger as usize];
        if on {
            *absent -= 1;
            *active += u32::from(*absent == 0);
        } else {
            *active -= u32::from(*absent == 0);
            *absent += 1;
        }
    }

    fn touch(&mut self, demand: usize, from: u32, stood: bool) {
        let place = self.place[demand];
        if let Some(known) = self.touched.get_mut(place as usize) {
            known.from = known.from.min(from);
            return;
        }
        self.place[demand] = self.touched.len() as u32;
        self.touched.push(Affected {
            demand: demand as u32,
            from,
            stood,
        });
    }

    /// Takes the cheapest choice of a demand, as far as a change may have made it another one.
    fn retake(&mut self, affected: Affected) {
        let Affected {
            demand,
            from,
            stood,
        } = affected;
        let d = demand as usize;
        let choices = self.index.demands[d].choices;
        let before = self.taken[d];
        let stands = self.active[d] > 0;
        let taken = if !stands {
            before
        } else if !stood {
            self.cheapest(d, 0..choices)
        } else if from < before {
            match self.cheapest(d, from..before.min(choices)) {
                NONE => before,
                found => found,
            }
        } else {
            self.cheapest(d, before + 1..choices)
        };
        if taken == before && stands == stood {
            return;
        }
        self.trail.push(Before {
            demand,
            taken: before,
        });
        self.taken[d] = taken;
        if stood {
            self.cost -= self.paid(d, before);
        }
        if stands {
            self.cost += self.paid(d, taken);
        }
        self.note(d);
    }

    /// Notes whether a demand stands and is not met.
    fn note(&mut self, demand: usize) {
        let unmet = self.active[demand] > 0 && self.taken[demand] == NONE;
        self.unmet.set(demand, unmet);
    }

    /// Keeps items, and the structures they are columns of.
    pub(crate) fn add(&mut self, items: impl IntoIterator<Item = ItemId>) {
        let instance = self.instance;
        let own = |i: ItemId| instance.items[i].parent.into_iter().chain([i]);
        self.change(items.into_iter().flat_map(own), true);
    }

    /// Drops items, and with a structure its columns.
    pub(crate) fn drop(&mut self, items: impl IntoIterator<Item = ItemId>) {
        let index = self.index;
        let own = |i: ItemId| index.items[i].columns.iter().copied().chain([i]);
        self.change(items.into_iter().flat_map(own), false);
    }

    /// Keeps exactly these items.
    pub(crate) fn hold(&mut self, kept: &[bool]) {
        self.change((0..kept.len()).filter(|&i| !kept[i]), false);
        self.change((0..kept.len()).filter(|&i| kept[i]), true);
        self.settle();
    }

    /// A point to go back to.
    pub(crate) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Goes back to a mark: to what was taken then, without looking for it again.
    pub(crate) fn undo(&mut self, mark: usize) {
        while let Some(step) = self.steps.pop_if(|step| step.journal >= mark) {
            let index = self.index;
            while self.journal.len() > step.journal {
                let Some(item) = self.journal.pop() else {
                    break;
                };
                self.count(item);
                for used in &index.items[item].uses {
                    let (word, bit) = used.bit();
                    self.places[index.demands[used.demand as usize].kept + word] ^= bit;
                }
                for &w in &index.items[item].triggers {
                    self.trigger(w, self.kept[item]);
                }
            }
            while self.trail.len() > step.trail {
                let Some(before) = self.trail.pop() else {
                    break;
                };
                self.taken[before.demand as usize] = before.taken;
                self.note(before.demand as usize);
            }
            self.cost = step.cost;
        }
    }

    /// Forgets what could be undone.
    pub(crate) fn settle(&mut self) {
        self.journal.clear();
        self.trail.clear();
        self.steps.clear();
    }

    /// Items changed since a mark.
    pub(crate) fn since(&self, mark: usize) -> Vec<ItemId> {
        self.journal.get(mark..).unwrap_or_default().to_vec()
    }
}
