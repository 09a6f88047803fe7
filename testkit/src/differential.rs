//! The runtime against the oracle: random models, facts, questions and changes. After each change
//! every question's answer and every structure's content must be what they mean.

use crate::case;
use crate::generate::Size;
use crate::script::{Failure, On, Script, Step, lists_the_same, play, random, shrunk};
use querent::compiler::design::spread::directory;
use querent::compiler::diagnostic::codes;
use querent::compiler::model::{EntityId, Expr, Field, Leaf, Pred, Query};
use querent::compiler::value::Value;
use querent::compiler::view::{Kind, Structure};
use querent::schema::Schema;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a failure is shrunk.
const PATIENCE: Duration = Duration::from_mins(1);

/// How much one run does.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
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
    /// Partitions are so small that most are cut, and most questions list several values of what
    /// they are by.
    pub pieces: bool,
    /// Most questions are about groups of what elements of lists say.
    pub gathers: bool,
    /// Of a hundred changes, so many are followed by whole rows that are put.
    pub puts: u64,
}

impl Effort {
    /// Lists of values over partitions that are cut into buckets, salts and sub-partitions.
    pub fn pieces() -> Effort {
        Effort {
            size: Size {
                entities: 3,
                questions: 5,
                changes: 3,
                wide: true,
            },
            changes: 3,
            pieces: true,
            ..Effort::default()
        }
    }
}

impl Effort {
    /// Groups of what elements of lists say, and of what they refer to.
    pub fn gathered() -> Effort {
        Effort {
            size: Size {
                entities: 3,
                questions: 4,
                changes: 4,
                wide: true,
            },
            gathers: true,
            timed: false,
            ..Effort::default()
        }
    }
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
            pieces: false,
            gathers: false,
            puts: 25,
        }
    }
}

/// How often each step occurs in plans, and what is rare in schemas by hand and in scripts.
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
    let rare = Rare::of(&schema);
    for (plan, question) in schema.design.plans.iter().zip(&schema.model.questions) {
        let told = schema.design.plan_steps(&schema.model, &plan.plan);
        count(&told, &rare, &mut steps);
        if let Some(what) = only_far_end(&schema, &question.query, &told) {
            *steps.entry(what.into()).or_default() += 1;
        }
        if by_one_element(&schema, &question.query, &told) {
            *steps.entry("groups by one element".into()).or_default() += 1;
        }
    }
    if script.choice.schema.is_some() {
        for (what, n) in rarities(&schema) {
            *steps.entry(what.to_owned()).or_default() += n;
        }
    }
    let all = &schema.design.structures;
    let divided = |s: &Structure| {
        let alike = |t: &&Structure| t.same_rows(s);
        all.iter().filter(alike).count() > 1
    };
    *steps.entry("homes in parts".into()).or_default() += all.iter().filter(|s| divided(s)).count();
    let left_out = numbers_left_out(&script, &schema);
    *steps.entry("numbers left out".into()).or_default() += left_out;
    Ok(steps)
}

/// What is asked of instances that no structure of theirs is read for, only structures of what refers
/// to them: they themselves, or groups of them.
fn only_far_end(schema: &Schema, query: &Query, steps: &[Json]) -> Option<&'static str> {
    let root = |entity: EntityId| schema.model.entity(entity).root;
    let named = |name: &str| schema.design.structures.iter().find(|s| s.name == name);
    let mut read = Vec::new();
    structures_of(steps, &mut read);
    let anchors = read.into_iter().filter_map(named).map(|s| root(s.anchor));
    let mut anchors = anchors.peekable();
    anchors.peek()?;
    let elsewhere = anchors.all(|anchor| anchor != root(query.anchor));
    elsewhere.then_some(match query.group {
        Some(_) => "groups from the far end",
        None => "instances that rows refer to",
    })
}

/// Whether a question about groups of instances reads groups of their elements, which are counted.
fn by_one_element(schema: &Schema, query: &Query, steps: &[Json]) -> bool {
    let mut read = Vec::new();
    structures_of(steps, &mut read);
    let counts = |s: &&Structure| {
        let aggregate = |e: &Expr| matches!(e, Expr::Aggregate(_));
        s.kind == Kind::Groups && !s.over.is_empty() && s.columns.iter().any(aggregate)
    };
    let counted = schema.design.structures.iter().filter(counts);
    let mut counted = counted.map(|s| s.name.as_str());
    query.group.is_some() && query.over.is_empty() && counted.any(|name| read.contains(&name))
}

/// The names of the structures that steps read, those inside them included.
fn structures_of<'s>(steps: &'s [Json], names: &mut Vec<&'s str>) {
    for step in steps {
        names.extend(step["structure"].as_str());
        structures_of(step["steps"].as_array().map_or(&[], Vec::as_slice), names);
    }
}

/// Rows that are put without a number of theirs.
fn numbers_left_out(script: &Script, schema: &Schema) -> usize {
    let model = &schema.model;
    let left_out = |(name, row): &&(String, Vec<Value>)| {
        let of = model.entities.iter().find(|e| e.name == *name);
        let fields = of.map_or(&[][..], |e| &model.entity(e.root).fields);
        fields.iter().zip(row).any(|(field, value)| {
            matches!(field, Field::Attribute(a) if model.attribute(*a).sequence.is_some())
                && value.is_null()
        })
    };
    let rows = script.steps.iter().flat_map(|step| match step {
        Step::Put(rows) => rows.as_slice(),
        _ => &[],
    });
    rows.filter(left_out).count()
}

/// What a schema by hand may have and a design never has: pieces without a directory, which is then
/// made up, and rows that may outgrow the target.
fn rarities(schema: &Schema) -> [(&'static str, usize); 2] {
    let model = &schema.model;
    let given = model.schemas.last().map_or(&[][..], |s| &s.structures);
    let alone = given.iter().filter(|s| {
        let directory = directory(model, s);
        directory.is_some_and(|d| !given.iter().any(|s| lists_the_same(s, &d)))
    });
    let outgrown =
        schema.design.warnings.iter().filter(|w| {
            w.code == codes::ROW_LIMIT.id && given.iter().any(|s| s.name == w.structure)
        });
    [
        ("pieces without a directory", alone.count()),
        ("rows that may outgrow", outgrown.count()),
    ]
}

/// Structures that are rarely read, by name.
struct Rare<'s> {
    /// Those that leave out rows.
    partial: Vec<&'s str>,
    /// Those of them that leave out rows by the elements of an instance, and those that have a row
    /// for each of several.
    partial_by: Vec<&'s str>,
    partial_over: Vec<&'s str>,
    /// Those that list the pieces of others.
    directories: Vec<&'s str>,
    /// Groups by what elements of collections say, and by what they refer to.
    elements: Vec<&'s str>,
    referred: Vec<&'s str>,
}

impl Rare<'_> {
    fn of(schema: &Schema) -> Rare<'_> {
        let structures = &schema.design.structures;
        let names = |wanted: &dyn Fn(&Structure) -> bool| {
            let wanted = structures.iter().filter(|s| wanted(s));
            wanted.map(|s| s.name.as_str()).collect()
        };
        let listings = structures
            .iter()
            .filter_map(|s| directory(&schema.model, s));
        let listings: Vec<Structure> = listings.collect();
        Rare {
            partial: names(&|s| !s.filter.is_empty()),
            partial_by: names(&|s| s.filter.iter().any(|p| matches!(p, Pred::Exists { .. }))),
            partial_over: names(&|s| !s.filter.is_empty() && !s.over.is_empty()),
            directories: names(&|s| listings.iter().any(|d| lists_the_same(s, d))),
            elements: names(&|s| {
                groups_by(s, &|e| {
                    matches!(
                        e,
                        Expr::Path {
                            leaf: Leaf::Element(_),
                            ..
                        }
                    )
                })
            }),
            referred: names(&|s| {
                groups_by(
                    s,
                    &|e| matches!(e, Expr::Path { element, .. } if !element.is_empty()),
                )
            }),
        }
    }
}

fn groups_by(s: &Structure, part: &dyn Fn(&Expr) -> bool) -> bool {
    s.kind == Kind::Groups && s.key().any(part)
}

/// Counts the steps of a plan and of those inside it; a `min` or `max` that is read as the first row
/// of an order is one too, and so are what a merge gives in another order than is asked for, walks
/// from behind several paths to many, groups that are put together, a read of a structure that
/// leaves out rows, instances that a range or a list finds several times, and merges over more than
/// one list: of several conditions, or of the pieces of several partitions.
fn count(steps: &[Json], rare: &Rare<'_>, counted: &mut Steps) {
    let name = |step: &Json| step["op"].as_str().unwrap_or_default().to_owned();
    let (mut before, mut earlier) = (String::new(), String::new());
    // The structure that was read last, and whether by a range.
    let mut last: Option<&str> = None;
    let mut ranged = false;
    for step in steps {
        let this = name(step);
        if step["lists"].as_u64().is_some_and(|lists| lists > 1) {
            *counted.entry("several lists".into()).or_default() += 1;
        }
        let listed = last.is_some_and(|name: &str| rare.directories.contains(&name));
        let buckets = match (earlier.as_str(), before.as_str(), this.as_str()) {
            ("merge", "distinct", "merge") if listed => Some("buckets of several keys"),
            (_, "merge", "follow" | "merge") if listed => Some("buckets that keys lead to"),
            _ => None,
        };
        if let Some(buckets) = buckets {
            *counted.entry(buckets.into()).or_default() += 1;
        }
        // Instances are told apart that rows lead to several times.
        let several = match (before.as_str(), this.as_str()) {
            ("get" | "follow", "distinct") if ranged => Some("instances of a range"),
            ("merge", "distinct") if !listed => Some("instances of a list"),
            _ => None,
        };
        if let Some(several) = several {
            *counted.entry(several.into()).or_default() += 1;
        }
        ranged = !step["range"].is_null();
        let odd = match (earlier.as_str(), before.as_str(), this.as_str()) {
            (_, "limit", "aggregate") => Some("first value"),
            (_, "merge", "sort") => Some("merged, then sorted"),
            ("distinct", "follow", "distinct") => Some("walked over several paths"),
            ("filter", "follow", "filter") => Some("conditions in stages"),
            _ => None,
        };
        if let Some(odd) = odd {
            *counted.entry(odd.into()).or_default() += 1;
        }
        if let Some(inner) = step["steps"].as_array() {
            count(inner, rare, counted);
            if this == "list" && inner.iter().any(|step| name(step) == "merge") {
                let several = "sub-partitions of several keys";
                *counted.entry(several.into()).or_default() += 1;
            }
        }
        if step["groups"].as_bool() == Some(true) {
            *counted.entry("put together".into()).or_default() += 1;
        }
        let structure = step["structure"].as_str();
        for (what, of) in [
            ("partial", &rare.partial),
            ("partial by elements", &rare.partial_by),
            ("partial over several", &rare.partial_over),
            ("groups of elements", &rare.elements),
            ("groups of what elements refer to", &rare.referred),
        ] {
            if structure.is_some_and(|name| of.contains(&name)) {
                *counted.entry(what.into()).or_default() += 1;
            }
        }
        last = structure.or(last);
        *counted.entry(this.clone()).or_default() += 1;
        earlier = std::mem::replace(&mut before, this);
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
