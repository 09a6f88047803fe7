//! How long a design takes, from the model's text, and what the designs of the nearest peer's
//! workloads cost by its own cost model.

use crate::measure::{cpu_nanos, median};
use crate::{Result, reddit};
use querent_compiler::design::target::{self, Support, Target};
use querent_compiler::design::{Options, design};

const RUNS: usize = 21;
const RUBIS: &str = include_str!("../../examples/rubis.querent");
const EBAY: &str = include_str!("../../examples/ebay.querent");

/// A workload of the peer.
struct Workload {
    model: &'static str,
    mix: Option<&'static str>,
    /// The total that the peer reaches.
    total: f64,
    /// That of a design by hand.
    by_hand: Option<f64>,
}

const PEER: &[Workload] = &[
    Workload {
        model: RUBIS,
        mix: Some("browsing"),
        total: 1.006_001_4,
        by_hand: None,
    },
    Workload {
        model: RUBIS,
        mix: Some("bidding"),
        total: 2.306_451_8,
        by_hand: Some(1.799),
    },
    Workload {
        model: RUBIS,
        mix: Some("write_medium"),
        total: 12.867_01,
        by_hand: Some(5.794),
    },
    Workload {
        model: RUBIS,
        mix: Some("write_heavy"),
        total: 112.893_17,
        by_hand: Some(34.94),
    },
    Workload {
        model: EBAY,
        mix: None,
        total: 0.109_904_4,
        by_hand: None,
    },
];

pub fn run() -> Result<()> {
    let mut times = vec![];
    for _ in 0..RUNS {
        let start = cpu_nanos();
        let (model, _) = querent_compiler::parse("reddit.querent", reddit::MODEL);
        design(&model.ok_or("the model has errors")?, &Options::embedded())?;
        times.push((cpu_nanos() - start) / 1e6);
    }
    let middle = median(&mut times);
    println!(
        "design of the reddit model, {RUNS} runs, CPU time: median {middle:.1} ms, {:.1} to {:.1}",
        times[0],
        times[RUNS - 1]
    );
    println!();
    println!(
        "| workload | target | support reads | homes | structures | candidates | total | proven | peer | by hand | CPU s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for peer in PEER {
        for (support, name) in READINGS {
            for lossy in [true, false] {
                peer.design(&unlimited(*support)?, name, lossy)?;
            }
        }
        peer.design(&typed()?, "lookup", true)?;
    }
    println!();
    println!("most memory of this process: {} MB", peak_memory()? / 1024);
    Ok(())
}

/// The readings of the peer's rule for support reads, by their names in a cost model's file.
const READINGS: &[(Support, &str)] = &[
    (Support::Branch, "branch"),
    (Support::Lookup, "lookup"),
    (Support::Statement, "statement"),
];

/// What the peer designs for: its store, without the limits that it does not know of.
fn unlimited(support: Support) -> Result<Target> {
    let mut target = by_peers_prices("cassandra")?;
    target.cost.rules.support = support;
    target.limits = target.limits.without_partitions();
    Ok(target)
}

/// What `querent design --cost-model nose` designs for.
fn typed() -> Result<Target> {
    by_peers_prices("embedded")
}

fn by_peers_prices(target: &str) -> Result<Target> {
    let mut target = target::named(target).ok_or("the target ships")?;
    let model = target::cost_model("nose").ok_or("the cost model ships")?;
    target.cost = model.cost;
    Ok(target)
}

impl Workload {
    fn design(&self, target: &Target, reading: &str, lossy: bool) -> Result<()> {
        let options = Options {
            target: target.clone(),
            mix: self.mix.map(str::to_owned),
            lossy,
            ..Options::embedded()
        };
        let start = cpu_nanos();
        let (model, _) = querent_compiler::parse("peer.querent", self.model);
        let model = model.ok_or("the model has errors")?;
        let found = design(&model, &options)?;
        let seconds = (cpu_nanos() - start) / 1e9;
        println!(
            "| {} | {} | by {reading} | {} | {} | {} | {:.7} | {} | {} | {} | {seconds:.2} |",
            self.mix.unwrap_or(&model.name),
            target.name,
            if lossy { "no" } else { "yes" },
            found.structures.len(),
            found.search.candidates,
            found.total,
            if found.search.optimal { "yes" } else { "no" },
            self.total,
            self.by_hand.map_or("–".to_owned(), |h| h.to_string()),
        );
        Ok(())
    }
}

/// The largest resident size so far, in kB.
fn peak_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    let number = line.and_then(|l| l.split_whitespace().nth(1));
    Ok(number.ok_or("no VmHWM in /proc/self/status")?.parse()?)
}
