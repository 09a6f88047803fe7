//! A set of kept items with its cost, kept up to date as items come and go.

use super::instance::{Instance, ItemId};

/// Where an item is mentioned: choices and triggers by their positions among those of all demands.
#[derive(Clone, Debug, Default)]
struct Mentions {
    choices: Vec<u32>,
    triggers: Vec<u32>,
    columns: Vec<ItemId>,
}

/// Mentions of all items: made once, read by every state. Choices and triggers of all demands are
/// laid out one after another, since they are looked at all the time.
pub(crate) struct Index {
    items: Vec<Mentions>,
    /// The demand of each choice, and its cost.
    choices: Vec<(u32, f64)>,
    /// Where the choices of each demand start; one more at the end.
    starts: Vec<u32>,
    /// The demand of each trigger.
    triggers: Vec<u32>,
}

impl Index {
    pub(crate) fn new(instance: &Instance) -> Index {
        let mut out = Index {
            items: vec![Mentions::default(); instance.items.len()],
            choices: Vec::new(),
            starts: vec![0],
            triggers: Vec::new(),
        };
        for (i, item) in instance.items.iter().enumerate() {
            if let Some(p) = item.parent {
                out.items[p].columns.push(i);
            }
        }
        for (d, demand) in instance.demands.iter().enumerate() {
            for choice in &demand.choices {
                let at = out.choices.len() as u32;
                out.choices.push((d as u32, choice.cost));
                let required = choice.requires.iter();
                required.for_each(|&i| out.items[i].choices.push(at));
            }
            out.starts.push(out.choices.len() as u32);
            for when in &demand.when {
                let at = out.triggers.len() as u32;
                out.triggers.push(d as u32);
                when.iter().for_each(|&i| out.items[i].triggers.push(at));
            }
        }
        out
    }
}

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
    /// Items that each choice lacks, and each trigger.
    lacking: Vec<u32>,
    absent: Vec<u32>,
    /// Of each demand: triggers that lack nothing, and the cheapest choice that lacks nothing.
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
    /// Items that changed since the last mark, in order.
    journal: Vec<ItemId>,
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
        let choices = instance.demands.iter().flat_map(|d| &d.choices);
        let triggers = instance.demands.iter().flat_map(|d| &d.when);
        let mut state = State {
            instance,
            index,
            kept: vec![false; instance.items.len()],
            lacking: choices.map(|c| c.requires.len() as u32).collect(),
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
        };
        for (w, _) in state.absent.iter().enumerate().filter(|(_, n)| **n == 0) {
            state.active[index.triggers[w] as usize] += 1;
        }
        for d in 0..instance.demands.len() {
            state.taken[d] = state.cheapest(d, index.starts[d]);
            state.cost += state.paid(d);
            state.note(d);
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

    /// The first choice of a demand from a position on that lacks nothing.
    fn cheapest(&self, demand: usize, from: u32) -> u32 {
        let mut choices = from..self.index.starts[demand + 1];
        choices
            .find(|&c| self.lacking[c as usize] == 0)
            .unwrap_or(NONE)
    }

    /// What a demand costs now.
    fn paid(&self, demand: usize) -> f64 {
        if self.active[demand] == 0 || self.taken[demand] == NONE {
            return 0.0;
        }
        self.index.choices[self.taken[demand] as usize].1
    }

    /// The choice that a demand takes, if it stands and can be met.
    pub(crate) fn taken(&self, demand: usize) -> Option<usize> {
        let met = self.active[demand] > 0 && self.taken[demand] != NONE;
        met.then(|| (self.taken[demand] - self.index.starts[demand]) as usize)
    }

    /// The choices of a demand that are tried, in order; where not all of them are, those that cost
    /// least with the items that they lack, as far as these cost something by themselves.
    pub(crate) fn tried(&self, demand: usize) -> Vec<usize> {
        let choices = &self.instance.demands[demand].choices;
        if choices.len() <= self.tries {
            return (0..choices.len()).collect();
        }
        let with = |c: usize| {
            let lacking = choices[c].requires.iter().filter(|&&i| !self.kept[i]);
            let lacking = lacking.map(|&i| self.instance.items[i].cost);
            choices[c].cost + lacking.sum::<f64>()
        };
        let mut costs: Vec<(f64, usize)> = (0..choices.len()).map(|c| (with(c), c)).collect();
        costs.select_nth_unstable_by(self.tries, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut tried: Vec<usize> = costs[..self.tries].iter().map(|(_, c)| *c).collect();
        tried.sort_unstable();
        tried
    }

    /// The demands that an item may be used for, some of them more than once.
    pub(crate) fn users(&self, item: ItemId) -> impl Iterator<Item = usize> {
        let choices = self.index.items[item].choices.iter();
        choices.map(|&c| self.index.choices[c as usize].0 as usize)
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

    /// Keeps an item that was not kept, or the other way round.
    pub(crate) fn flip(&mut self, item: ItemId) {
        let on = !self.kept[item];
        self.kept[item] = on;
        self.journal.push(item);
        let sign = if on { 1.0 } else { -1.0 };
        self.cost += sign * self.instance.items[item].cost;
        let structure = usize::from(self.instance.items[item].structure);
        if on {
            self.structures += structure;
            self.items += 1;
        } else {
            self.structures -= structure;
            self.items -= 1;
        }
        let index = self.index;
        // Of most choices an item is one of several that are lacking: those are only counted.
        for &c in &index.items[item].choices {
            let lacking = &mut self.lacking[c as usize];
            if on {
                *lacking -= 1;
                if *lacking == 0 {
                    let d = index.choices[c as usize].0 as usize;
                    if c < self.taken[d] {
                        self.retake(d, c);
                    }
                }
            } else {
                *lacking += 1;
                if *lacking == 1 {
                    let d = index.choices[c as usize].0 as usize;
                    if self.taken[d] == c {
                        self.retake(d, self.cheapest(d, c + 1));
                    }
                }
            }
        }
        for &w in &index.items[item].triggers {
            let absent = &mut self.absent[w as usize];
            let before = *absent;
            *absent = if on { before - 1 } else { before + 1 };
            if before.min(*absent) > 0 {
                continue;
            }
            let d = index.triggers[w as usize] as usize;
            if on {
                self.active[d] += 1;
                if self.active[d] == 1 {
                    self.cost += self.paid(d);
                    self.note(d);
                }
            } else {
                if self.active[d] == 1 {
                    self.cost -= self.paid(d);
                }
                self.active[d] -= 1;
                if self.active[d] == 0 {
                    self.note(d);
                }
            }
        }
    }

    fn retake(&mut self, demand: usize, choice: u32) {
        let before = self.paid(demand);
        let known = std::mem::replace(&mut self.taken[demand], choice);
        self.cost += self.paid(demand) - before;
        if known == NONE || choice == NONE {
            self.note(demand);
        }
    }

    /// Notes whether a demand stands and is not met.
    fn note(&mut self, demand: usize) {
        let unmet = self.active[demand] > 0 && self.taken[demand] == NONE;
        self.unmet.set(demand, unmet);
    }

    /// Keeps an item, and the structure it is a column of.
    pub(crate) fn add(&mut self, item: ItemId) {
        if let Some(p) = self.instance.items[item].parent
            && !self.kept[p]
        {
            self.flip(p);
        }
        if !self.kept[item] {
            self.flip(item);
        }
    }

    /// Drops an item, and its columns if it is a structure.
    pub(crate) fn drop(&mut self, item: ItemId) {
        let index = self.index;
        for &column in &index.items[item].columns {
            if self.kept[column] {
                self.flip(column);
            }
        }
        if self.kept[item] {
            self.flip(item);
        }
    }

    /// Keeps exactly these items.
    pub(crate) fn hold(&mut self, kept: &[bool]) {
        for (item, &on) in kept.iter().enumerate() {
            if self.kept[item] != on {
                self.flip(item);
            }
        }
        self.settle();
    }

    /// A point to go back to.
    pub(crate) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Goes back to a mark.
    pub(crate) fn undo(&mut self, mark: usize) {
        while self.journal.len() > mark {
            if let Some(item) = self.journal.pop() {
                self.flip(item);
                self.journal.pop();
            }
        }
    }

    /// Forgets what could be undone.
    pub(crate) fn settle(&mut self) {
        self.journal.clear();
    }

    /// Items changed since a mark.
    pub(crate) fn since(&self, mark: usize) -> Vec<ItemId> {
        self.journal.get(mark..).unwrap_or_default().to_vec()
    }
}
