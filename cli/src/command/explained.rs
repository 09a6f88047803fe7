//! `querent explain --format json`: the same facts as the text, for programs.

use super::named::Named;
use super::reasons::{self, differences, only, upkeep};
use super::versus::{added, statements};
use crate::designing::Designed;
use anyhow::{Result, bail};
use querent_compiler::design::study::{Choice, Flip, Study};
use querent_compiler::view::Structure;
use serde_json::{Map, Value as Json, json};

/// What a name means: a question, a change and a structure, as far as there are.
pub(crate) fn named(designed: &Designed, named: Named) -> Result<Map<String, Json>> {
    let design = &designed.design;
    let mut object = Map::new();
    let studied = || Study::of(&designed.model, &designed.options, design);
    if let Some(at) = named.question {
        object.insert("question".into(), question(designed, &studied()?, at));
    }
    if let Some(at) = named.change {
        object.insert("change".into(), change(designed, &studied()?, at));
    }
    if let Some(at) = named.structure {
        object.insert("structure".into(), structure(designed, &studied()?, at));
    }
    Ok(object)
}

fn question(designed: &Designed, study: &Study, at: usize) -> Json {
    let (model, design) = (&designed.model, &designed.design);
    let Some(own) = design.plans.get(at) else {
        return Json::Null;
    };
    let next = reasons::next_best(designed, study, at).and_then(|other| {
        let plan = other.plans.get(at)?;
        Some(json!({
            "cost": plan.cost,
            "total": other.total,
            "plan": other.plan_steps(model, &plan.plan),
            "built": names(&only(&other, design)),
            "dropped": names(&only(design, &other)),
        }))
    });
    json!({
        "name": own.name,
        "weight": own.weight,
        "cost": own.cost,
        "total": design.total,
        "rows": own.rows,
        "plan": design.plan_steps(model, &own.plan),
        "reads": design.read_by(at),
        "next_best": next,
        "flips": flips(&reasons::flips(study, Choice::Question(at))),
    })
}

fn change(designed: &Designed, study: &Study, at: usize) -> Json {
    let Some(plan) = designed.design.writes.get(at) else {
        return Json::Null;
    };
    let steps: Vec<Json> = plan
        .steps
        .iter()
        .map(|s| {
            json!({
                "op": s.op,
                "structure": s.at(),
                "rows": s.rows,
                "rows_max": s.rows_max,
                "reads": s.reads,
                "cost": s.cost,
            })
        })
        .collect();
    // The delete of what has expired has no rate of its own.
    let flips = (at < designed.model.changes.len()).then(|| flips(&study.flips_of_change(at)));
    json!({
        "name": plan.name,
        "weight": plan.weight,
        "cost": plan.cost,
        "steps": steps,
        "flips": flips,
    })
}

fn structure(designed: &Designed, study: &Study, at: usize) -> Json {
    let design = &designed.design;
    let Some(own) = design.structures.get(at) else {
        return Json::Null;
    };
    let mut all = design.to_json(&designed.model, designed.seconds);
    let object = all.pointer_mut(&format!("/structures/{at}"));
    let Some(Json::Object(object)) = object else {
        return Json::Null;
    };
    let written: Vec<Json> = upkeep(design, &own.name)
        .into_iter()
        .map(|w| {
            json!({
                "change": w.change,
                "weight": w.weight,
                "rows": w.rows,
                "rows_max": w.rows_max,
                "cost": w.cost,
            })
        })
        .collect();
    object.insert("written_by".into(), Json::Array(written));
    object.insert("total".into(), json!(design.total));
    let without = match reasons::without(designed, study, at).0 {
        None => Json::Null,
        Some(other) => {
            let differing: Vec<Json> = differences(design, &other)
                .into_iter()
                .map(|d| {
                    json!({
                        "name": d.statement,
                        "weight": d.weight,
                        "cost": d.with,
                        "without": d.without,
                        "reads": d.reads.map(|r| r.0),
                        "reads_without": d.reads.map(|r| r.1),
                    })
                })
                .collect();
            json!({
                "total": other.total,
                "statements": differing,
                "built": names(&only(&other, design)),
            })
        }
    };
    object.insert("without".into(), without);
    // A structure that was given is there whatever the rates.
    let flips = if study.is_given(at) {
        flips(&[])
    } else {
        flips(&reasons::flips(study, Choice::Structure(at)))
    };
    object.insert("flips".into(), flips);
    Json::Object(std::mem::take(object))
}

fn flips(found: &[Flip]) -> Json {
    let flips = found.iter().map(|f| {
        json!({
            "statement": f.statement,
            "rate": f.rate,
            "at": f.at,
            "built": f.built,
            "dropped": f.dropped,
            "reads": f.reads,
            "proven": f.proven,
        })
    });
    flips.collect()
}

fn names(structures: &[&Structure]) -> Vec<String> {
    structures.iter().map(|s| s.name.clone()).collect()
}

/// Both prices of each statement, or of the one that is asked for.
pub(crate) fn versus(ours: &Designed, other: &Designed, wanted: Option<&str>) -> Result<Json> {
    let named = wanted.map(|name| (name, Named::find(&ours.design, name)));
    if let Some((name, found)) = named
        && found.question.or(found.change).is_none()
    {
        bail!("there is no question or change `{name}`");
    }
    // Changes come behind the questions.
    let questions = ours.design.plans.len();
    let is_wanted = |at: usize| {
        named.is_none_or(|(_, found)| {
            found.question == Some(at) || found.change.is_some_and(|c| questions + c == at)
        })
    };
    let compared: Vec<Json> = statements(&ours.design)
        .zip(statements(&other.design))
        .enumerate()
        .filter(|(at, _)| is_wanted(*at))
        .map(|(_, ((name, weight, cost), (_, _, other)))| {
            json!({ "name": name, "weight": weight, "cost": cost, "other": other })
        })
        .collect();
    Ok(json!({
        "total": ours.design.total,
        "other": other.design.total,
        "statements": compared,
        "only_in_design": names(&only(&ours.design, &other.design)),
        "only_in_other": names(&only(&other.design, &ours.design)),
        "added_to_other": added(other),
    }))
}
