//! The runtime against the oracle: random models, facts, questions and changes. After each change
//! every question's answer and every structure's content must be what they mean.

use crate::case;
use crate::generate::Size;
use crate::script::{Failure, On, Script, play, random, shrunk};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a failure is shrunk.
const PATIENCE: Duration = Duration::from_mins(1);

/// How much one run does.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Size of the model.
    pub size: Size,
    /// Instances per entity, at most.
    pub rows: usize,
    /// Changes made.
    pub changes: usize,
    /// Sets of parameters per question and state.
    pub asks: usize,
    /// Any design instead of the cheapest: plans that no optimum would take are run too.
    pub sampled: bool,
    /// The store.
    pub on: On,
    /// Facts expire, and time passes.
    pub timed: bool,
    /// Texts and blobs have no bound and some are long: longer than any key, unless a structure
    /// must keep them in order.
    pub long: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            size: Size::default(),
            rows: 8,
            changes: 6,
            asks: 2,
            sampled: true,
            on: On::Memory,
            timed: true,
            long: false,
        }
    }
}

/// How often each step occurs in plans.
pub type Steps = BTreeMap<String, usize>;

/// Runs one seed; gives the steps of its plans. A failure is shrunk and written as a case folder;
/// the error tells both.
pub fn run(seed: u64, effort: Effort) -> Result<Steps, String> {
    let on = effort.on;
    let script = random(seed, effort).map_err(|e| format!("seed {seed}: {e}"))?;
    let schema = play(&script, on).map_err(|failure| {
        let told = told(&script, on, &failure, seed);
        format!("seed {seed} on {on:?}: {told}")
    })?;
    let mut steps = Steps::new();
    for plan in &schema.design.plans {
        count(
            &schema.design.plan_steps(&schema.model, &plan.plan),
            &mut steps,
        );
    }
    Ok(steps)
}

/// Counts the steps of a plan and of those inside it; a `min` or `max` that is read as the first row
/// of an order is one too.
fn count(steps: &[Json], counted: &mut Steps) {
    let name = |step: &Json| step["op"].as_str().unwrap_or_default().to_owned();
    let mut before = String::new();
    for step in steps {
        let this = name(step);
        if this == "aggregate" && before == "limit" {
            *counted.entry("first value".into()).or_default() += 1;
        }
        if let Some(inner) = step["steps"].as_array() {
            count(inner, counted);
        }
        *counted.entry(this.clone()).or_default() += 1;
        before = this;
    }
}

/// The failure of the smallest script that still fails, and where it was written.
fn told(script: &Script, on: On, failure: &Failure, seed: u64) -> String {
    let Some((small, why)) = shrunk(script, on, PATIENCE) else {
        return format!("{failure}\n{}", script.model);
    };
    let folder = std::env::temp_dir().join(format!("querent-failure-{seed}"));
    // What an earlier failure left there would be read as a part of this one.
    let written = match std::fs::remove_dir_all(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.to_string()),
        _ => case::keep_failure(&small, &folder),
    };
    let place = match written {
        Ok(()) => format!("written as a case to {}", folder.display()),
        Err(e) => format!("not written as a case: {e}"),
    };
    format!("{why}\n{}\n{place}", small.model)
}
