//! How long a design takes, from the model's text.

use crate::measure::{cpu_nanos, median};
use crate::{Result, reddit};
use querent_compiler::design::{Options, design};

const RUNS: usize = 21;

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
    Ok(())
}
