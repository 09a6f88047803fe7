//! The smallest script that still fails: fewer steps, facts and declarations.

use super::{Failure, On, Script, Step, play};
use std::time::{Duration, Instant};

/// Leaves out what the failure on a store does not need, for no longer than the time given. Returns
/// the script with its failure; none if it does not fail.
pub fn shrunk(script: &Script, on: On, patience: Duration) -> Option<(Script, String)> {
    shrunk_by(script, patience, |candidate| wrong(candidate, on))
}

fn shrunk_by(
    script: &Script,
    patience: Duration,
    fails: impl Fn(&Script) -> Option<String>,
) -> Option<(Script, String)> {
    let end = Instant::now() + patience;
    let mut failure = fails(script)?;
    let mut smallest = script.clone();
    let mut try_one = |smallest: &mut Script, candidate: Script| {
        if Instant::now() > end {
            return false;
        }
        let found = fails(&candidate);
        if let Some(found) = found {
            (*smallest, failure) = (candidate, found);
            return true;
        }
        false
    };
    loop {
        let before = size(&smallest);
        thin(&mut smallest, |s| &mut s.steps, &mut try_one);
        thin(&mut smallest, |s| &mut s.facts, &mut try_one);
        let declarations = blocks(&smallest.model).len();
        for n in (0..declarations).rev() {
            let candidate = without_block(&smallest, n);
            try_one(&mut smallest, candidate);
        }
        if size(&smallest) == before || Instant::now() > end {
            return Some((smallest, failure));
        }
    }
}

/// How the runtime fails; a script that makes no sense does not count.
fn wrong(script: &Script, on: On) -> Option<String> {
    match play(script, on) {
        Err(Failure::Wrong(why)) => Some(why),
        Err(Failure::Senseless(_)) | Ok(_) => None,
    }
}

fn size(script: &Script) -> usize {
    script.steps.len() + script.facts.len() + script.model.len()
}

/// Leaves out runs of elements, long ones first.
fn thin<T: Clone>(
    script: &mut Script,
    part: impl Fn(&mut Script) -> &mut Vec<T>,
    try_one: &mut impl FnMut(&mut Script, Script) -> bool,
) {
    let mut run = part(script).len();
    while run > 0 {
        let mut from = 0;
        while from < part(script).len() {
            let mut candidate = script.clone();
            let elements = part(&mut candidate);
            let until = (from + run).min(elements.len());
            elements.drain(from..until);
            if !try_one(script, candidate) {
                from = until;
            }
        }
        run /= 2;
    }
}

/// The declarations of a model: each begins a line, and goes on to the next that does.
fn blocks(model: &str) -> Vec<String> {
    let mut blocks: Vec<String> = vec![];
    for line in model.lines() {
        let begins = line.starts_with(|c: char| c.is_ascii_alphabetic());
        match blocks.last_mut() {
            Some(block) if !begins => {
                block.push('\n');
                block.push_str(line);
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    blocks
}

fn without_block(script: &Script, n: usize) -> Script {
    let mut script = script.clone();
    let mut blocks = blocks(&script.model);
    let gone = blocks.remove(n);
    script.model = blocks.join("\n") + "\n";
    let name = gone.split_whitespace().nth(1).unwrap_or_default();
    // A step of what is gone would make no sense.
    script.steps.retain(|step| match step {
        Step::Change(of, _) | Step::Ask(of, _) | Step::Behind(of, ..) => of != name,
        Step::Put(rows) => rows.iter().all(|(of, _)| of != name),
        Step::Wait(_) => true,
    });
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Choice;

    #[test]
    fn what_a_failure_needs_is_left() {
        let script = crate::script::random(3, crate::differential::Effort::default()).unwrap();
        let wanted = script.steps[script.steps.len() / 2].clone();
        let fact = script.facts[script.facts.len() / 2].clone();
        let fails = |s: &Script| {
            let there = s.steps.contains(&wanted) && s.facts.contains(&fact);
            there.then(|| "it fails".to_owned())
        };
        let (small, why) = shrunk_by(&script, Duration::from_secs(20), fails).unwrap();
        assert_eq!(
            (small.steps.as_slice(), why.as_str()),
            (&[wanted][..], "it fails")
        );
        assert_eq!(small.facts, [fact]);
        assert!(small.model.len() < script.model.len());
    }

    #[test]
    fn declarations_are_told_apart() {
        let model = "entity A (1) {\n  id int key\n}\nquestion q (1/s)\n  select id from A\n";
        assert_eq!(blocks(model).len(), 2);
        let script = Script {
            model: model.into(),
            choice: Choice::default(),
            facts: vec![],
            steps: vec![Step::Ask("q".into(), vec![])],
        };
        let less = without_block(&script, 1);
        assert!(less.steps.is_empty() && !less.model.contains("question"));
    }
}
