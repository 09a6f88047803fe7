//! How long a design takes, from the model's text, and what the designs of the nearest peer's
//! workloads cost by its own cost model.

use crate::measure::{cpu_nanos, median};
use crate::{Result, reddit};
use querent_compiler::design::target::{self, Support};
use querent_compiler::design::{Options, design};

const RUNS: usize = 21;
const RUBIS: &str = include_str!("../../examples/rubis.querent");
const EBAY: &str = include_str!("../../examples/ebay.querent");

/// The peer's workloads: model, mix, the total that the peer reaches, and that of a design by hand.
const PEER: &[(&str, Option<&str>, f64, Option<f64>)] = &[
    (RUBIS, Some("browsing"), 1.006_001_4, None),
    (RUBIS, Some("bidding"), 2.306_451_8, Some(1.799)),
    (RUBIS, Some("write_medium"), 12.867_01, Some(5.794)),
    (RUBIS, Some("write_heavy"), 112.893_17, Some(34.94)),
    (EBAY, None, 0.109_904_4, None),
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
        "| workload | support reads | homes | structures | candidates | total | proven | peer | by hand | CPU s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for &(text, mix, peer, hand) in PEER {
        for (support, lossy) in [
            (Support::Branch, true),
            (Support::Branch, false),
            (Support::Lookup, true),
            (Support::Lookup, false),
        ] {
            against_peer(text, mix, peer, hand, support, lossy)?;
        }
    }
    println!();
    println!("most memory of this process: {} MB", peak_memory()? / 1024);
    Ok(())
}

fn against_peer(
    text: &str,
    mix: Option<&str>,
    peer: f64,
    hand: Option<f64>,
    support: Support,
    lossy: bool,
) -> Result<()> {
    let mut target = target::named("cassandra").ok_or("the target ships")?;
    target.cost = target::cost_model("nose")
        .ok_or("the cost model ships")?
        .cost;
    target.cost.rules.support = support;
    // The peer knows of no limits.
    target.limits = target.limits.without_partitions();
    let options = Options {
        target,
        mix: mix.map(str::to_owned),
        lossy,
        ..Options::embedded()
    };
    let start = cpu_nanos();
    let (model, _) = querent_compiler::parse("peer.querent", text);
    let model = model.ok_or("the model has errors")?;
    let found = design(&model, &options)?;
    let seconds = (cpu_nanos() - start) / 1e9;
    println!(
        "| {} | by {} | {} | {} | {} | {:.7} | {} | {peer} | {} | {seconds:.2} |",
        mix.unwrap_or(&model.name),
        if support == Support::Branch {
            "branch"
        } else {
            "lookup"
        },
        if lossy { "no" } else { "yes" },
        found.structures.len(),
        found.search.candidates,
        found.total,
        if found.search.optimal { "yes" } else { "no" },
        hand.map_or("–".to_owned(), |h| h.to_string()),
    );
    Ok(())
}

/// The largest resident size so far, in kB.
fn peak_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    let number = line.and_then(|l| l.split_whitespace().nth(1));
    Ok(number.ok_or("no VmHWM in /proc/self/status")?.parse()?)
}
