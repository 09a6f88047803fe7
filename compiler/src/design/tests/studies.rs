//! What a study says of other designs: against exhaustive search, and against designs made again at
//! the rates that it names.

use super::draw::{self, Rng};
use super::{MOST, cheapest_of, everything, near};
use crate::design::prepare::Prepared;
use crate::design::select::Programme;
use crate::design::shape::ShapeId;
use crate::design::solve::{Demand, Instance};
use crate::design::study::{Choice, Flip, Study};
use crate::design::{Design, Options, design};
use crate::model::{Expr, Leaf, Model};
use crate::view::Structure;
use std::collections::BTreeSet;

/// How many random models are studied: `QUERENT_SOAK` multiplies them.
const MODELS: u64 = 400;

fn seeds() -> std::ops::Range<u64> {
    let soak = std::env::var("QUERENT_SOAK");
    let soak: u64 = soak.ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    0..MODELS * soak
}

fn drawn(seed: u64) -> (String, Model, Options) {
    let mut rng = Rng(seed ^ 0x57d4);
    let text = draw::model(&mut rng);
    let options = draw::options(&mut rng);
    let (model, found) = crate::parse("drawn", &text);
    let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
    let about = format!(
        "seed {seed}, {} lossy {} cap {}\n{text}",
        options.target.name, options.lossy, options.target.limits.structures
    );
    (about, model, options)
}

/// What a design tells as its total, beside its price: a constant of each statement is with it, and
/// what is stored is not.
fn beside(programme: &Programme, options: &Options) -> (f64, Vec<f64>) {
    let cost = &options.target.cost;
    let questions = programme.planner.model.questions.len();
    let asked = programme.readers.iter().take(questions).map(|r| r.weight);
    let changed = programme.writers.iter().map(|w| w.weight);
    let constant = asked.sum::<f64>() * cost.ask + changed.sum::<f64>() * cost.change;
    let (_, parts) = programme.instance(&everything(programme));
    let stored = parts
        .iter()
        .map(|p| programme.stored_cost(p.shape, p.column));
    (constant, stored.collect())
}

/// The total of the cheapest design, by exhaustive search.
fn best_total(instance: &Instance, (constant, stored): &(f64, Vec<f64>)) -> f64 {
    let (best, kept) = cheapest_of(instance);
    let stored = stored.iter().zip(kept).filter(|(_, kept)| *kept);
    best + constant - stored.map(|(cost, _)| cost).sum::<f64>()
}

#[test]
fn a_design_without_a_structure_is_the_cheapest_without_it() {
    let (mut compared, mut none) = (0, 0);
    for seed in seeds() {
        let (about, model, options) = drawn(seed);
        let Ok(mut study) = Study::new(&model, &options) else {
            continue;
        };
        let chosen = study.design().clone();
        let programme = study.prepared().programme(&options);
        let (instance, parts) = programme.instance(&everything(&programme));
        if instance.items.len() > MOST {
            continue;
        }
        let item = |s: &Structure| {
            let shape = programme.planner.shapes.keeping(s, &chosen.beside(s));
            let mut parts = parts.iter();
            parts.position(|p| Some(p.shape) == shape && p.column.is_none())
        };
        let items: Vec<usize> = chosen.structures.iter().filter_map(item).collect();
        assert_eq!(items.len(), chosen.structures.len(), "{about}");
        let beside = beside(&programme, &options);
        drop(programme);
        for (at, item) in items.into_iter().enumerate() {
            let mut without = instance.clone();
            without.demands.push(Demand {
                when: vec![vec![item]],
                choices: vec![],
            });
            let best = best_total(&without, &beside);
            let told = study.without(at).map_or(f64::INFINITY, |d| d.total);
            assert!(
                near(told, best),
                "{about}without {}: {told}, best {best}",
                chosen.structures[at].name
            );
            compared += usize::from(best.is_finite());
            none += usize::from(best.is_infinite());
        }
    }
    assert!(
        compared > 100 && none > 20,
        "{compared}, {none} without any"
    );
}

#[test]
fn the_next_best_plan_is_the_next_best() {
    let (mut compared, mut none) = (0, 0);
    for seed in seeds() {
        let (about, model, options) = drawn(seed);
        let Ok(mut study) = Study::new(&model, &options) else {
            continue;
        };
        let programme = study.prepared().programme(&options);
        let (instance, _) = programme.instance(&everything(&programme));
        if instance.items.len() > MOST {
            continue;
        }
        let selection = programme.solve(&BTreeSet::new()).unwrap();
        drop(programme);
        for question in 0..model.questions.len() {
            let reader = &mut study.prepared().readers[question];
            let option = reader.settled(question, &selection).unwrap();
            let read: BTreeSet<ShapeId> = option.requires.iter().map(|r| r.shape).collect();
            let all = reader.options.clone();
            // Those that do not read all that it reads now.
            reader.options.retain(|o| {
                let other: BTreeSet<ShapeId> = o.requires.iter().map(|r| r.shape).collect();
                read.iter().any(|s| !other.contains(s))
            });
            let programme = study.prepared().programme(&options);
            let (instance, _) = programme.instance(&everything(&programme));
            let beside = beside(&programme, &options);
            drop(programme);
            study.prepared().readers[question].options = all;
            let best = best_total(&instance, &beside);
            let told = study.next_best(question).map_or(f64::INFINITY, |d| d.total);
            assert!(near(told, best), "{about}q{question}: {told}, best {best}");
            compared += usize::from(best.is_finite());
            none += usize::from(best.is_infinite());
        }
    }
    assert!(
        compared > 100 && none > 10,
        "{compared}, {none} without any"
    );
}

/// Whether two structures have the same key parts one behind another, whatever their directions and
/// wherever the partition key ends.
fn twins(a: &Structure, b: &Structure) -> bool {
    let body = |s: &Structure| (s.anchor, s.over.clone(), s.filter.clone(), s.kind);
    body(a) == body(b) && a.key().eq(b.key())
}

/// Without a structure and its twins, no design of any other structures is cheaper.
#[test]
fn a_design_without_twins_is_the_cheapest_without_them() {
    let (mut compared, mut several) = (0, 0);
    for seed in seeds() {
        let (about, model, options) = drawn(seed);
        let Ok(mut study) = Study::new(&model, &options) else {
            continue;
        };
        let chosen = study.design().clone();
        let programme = study.prepared().programme(&options);
        let (instance, parts) = programme.instance(&everything(&programme));
        if instance.items.len() > MOST {
            continue;
        }
        let beside = beside(&programme, &options);
        let mut tried = Vec::new();
        for (at, s) in chosen.structures.iter().enumerate() {
            let mut without = instance.clone();
            let structures = parts.iter().enumerate();
            let structures = structures.filter(|(_, p)| p.column.is_none());
            let shapes = &programme.planner.shapes;
            let own = shapes.keeping(s, &chosen.beside(s)).unwrap();
            // A part of a home is like nothing else.
            let like = structures.filter(|(_, p)| {
                let whole = !shapes.is_part(own) && !shapes.is_part(p.shape);
                p.shape == own || whole && twins(shapes.get(p.shape), s)
            });
            let like: Vec<usize> = like.map(|(item, _)| item).collect();
            several += usize::from(like.len() > 1);
            without.demands.extend(like.into_iter().map(|item| Demand {
                when: vec![vec![item]],
                choices: vec![],
            }));
            tried.push((at, best_total(&without, &beside)));
        }
        drop(programme);
        for (at, best) in tried {
            let made = study.without_twins(at);
            let own = &chosen.structures[at];
            let parts = made.iter().any(|d| in_parts(d, own)) || in_parts(&chosen, own);
            let left = made
                .iter()
                .flat_map(|d| &d.structures)
                .find(|s| !parts && twins(s, own));
            assert!(left.is_none(), "{about}{} is left: {left:?}", own.name);
            let told = made.map_or(f64::INFINITY, |d| d.total);
            assert!(
                near(told, best),
                "{about}without {}: {told}, best {best}",
                own.name
            );
            compared += usize::from(best.is_finite());
        }
    }
    assert!(
        compared > 100 && several > 20,
        "{compared}, {several} with twins"
    );
}

/// The next best plan apart from twins is the best of those that do not read a twin of everything
/// that is read now.
#[test]
fn the_next_best_plan_apart_is_the_next_best() {
    let (mut compared, mut dearer) = (0, 0);
    for seed in seeds() {
        let (about, model, options) = drawn(seed);
        let Ok(mut study) = Study::new(&model, &options) else {
            continue;
        };
        let programme = study.prepared().programme(&options);
        let (instance, _) = programme.instance(&everything(&programme));
        if instance.items.len() > MOST {
            continue;
        }
        let selection = programme.solve(&BTreeSet::new()).unwrap();
        let shapes = programme.planner.shapes.clone();
        drop(programme);
        for question in 0..model.questions.len() {
            let reader = &mut study.prepared().readers[question];
            let option = reader.settled(question, &selection).unwrap();
            let read: BTreeSet<ShapeId> = option.requires.iter().map(|r| r.shape).collect();
            let all = reader.options.clone();
            reader.options.retain(|o| {
                let like = |a: ShapeId| {
                    let mut others = o.requires.iter();
                    others.any(|r| {
                        let whole = !shapes.is_part(a) && !shapes.is_part(r.shape);
                        a == r.shape || whole && twins(shapes.get(a), shapes.get(r.shape))
                    })
                };
                !read.iter().all(|&a| like(a))
            });
            let programme = study.prepared().programme(&options);
            let (instance, _) = programme.instance(&everything(&programme));
            let beside = beside(&programme, &options);
            drop(programme);
            study.prepared().readers[question].options = all;
            let best = best_total(&instance, &beside);
            let total = |d: Option<Design>| d.map_or(f64::INFINITY, |d| d.total);
            let told = total(study.next_best_apart(question));
            assert!(near(told, best), "{about}q{question}: {told}, best {best}");
            compared += usize::from(best.is_finite());
            dearer += usize::from(told > total(study.next_best(question)) * (1.0 + 1e-9));
        }
    }
    assert!(
        compared > 60 && dearer > 0,
        "{compared}, of which {dearer} cost more than the twin"
    );
}

/// What is reduced once for all rates costs the same at all of them: with what is always kept, any
/// set of the items that are left costs what it costs in the whole.
#[test]
fn what_is_decided_at_all_rates_is_decided_once() {
    let (mut compared, mut smaller) = (0, 0);
    for seed in seeds() {
        let (about, model, options) = drawn(seed);
        let Ok(mut study) = Study::new(&model, &options) else {
            continue;
        };
        let programme = study.prepared().programme(&options);
        let used = everything(&programme);
        let whole = programme.unit(&used);
        let reduced = programme.unit(&used).reduced();
        if whole.len() > MOST {
            continue;
        }
        smaller += usize::from(reduced.len() < whole.len());
        let mut rng = Rng(seed);
        for _ in 0..3 {
            let rates = programme.weights().into_iter();
            let rates: Vec<f64> = rates.map(|_| rng.below(50) as f64 * 0.3).collect();
            let best = cheapest_of(&whole.weighed(&rates)).0;
            let found = cheapest_of(&reduced.weighed(&rates)).0;
            assert!(
                near(found, best) || found.is_infinite() && best.is_infinite(),
                "{about}at {rates:?}: {found} reduced, {best} whole"
            );
            compared += usize::from(best.is_finite());
        }
    }
    assert!(
        compared > 200 && smaller > 100,
        "{compared}, {smaller} smaller"
    );
}

/// A model whose rates are not worlds apart, so that what one of them changes is more than what
/// counts as nothing beside the others; on a target whose limits do not depend on rates.
fn mild(seed: u64) -> (String, Model, Options) {
    let (about, mut model, mut options) = drawn(seed);
    options.target = Options::embedded().target;
    let mut rng = Rng(seed);
    let questions = model.questions.iter_mut().map(|q| &mut q.rates);
    for rates in questions.chain(model.changes.iter_mut().map(|c| &mut c.rates)) {
        *rates = vec![1.0 + rng.below(40) as f64];
    }
    (format!("{about}{:?}\n", statements(&model)), model, options)
}

fn statements(model: &Model) -> Vec<(String, f64)> {
    let questions = model.questions.iter().map(|q| (&q.name, &q.rates));
    let all = questions.chain(model.changes.iter().map(|c| (&c.name, &c.rates)));
    all.map(|(name, rates)| (name.clone(), rates.first().copied().unwrap_or(0.0)))
        .collect()
}

fn at_rate(model: &Model, statement: &str, rate: f64) -> Model {
    let mut model = model.clone();
    for question in model.questions.iter_mut().filter(|q| q.name == statement) {
        question.rates = vec![rate];
    }
    for change in model.changes.iter_mut().filter(|c| c.name == statement) {
        change.rates = vec![rate];
    }
    model
}

/// Everything that a study tells of flips.
fn flips(study: &Study, changes: usize) -> Vec<Flip> {
    let structures = (0..study.design().structures.len()).map(Choice::Structure);
    let questions = (0..study.design().plans.len()).map(Choice::Question);
    let choices: Vec<Choice> = structures.chain(questions).collect();
    let mut out = Vec::new();
    for choice in choices {
        out.extend(study.flips(choice).found);
    }
    for change in 0..changes {
        out.extend(study.flips_of_change(change).found);
    }
    out
}

/// Names of structures of one design that another does not have.
fn missing(of: &Design, from: &Design) -> Vec<String> {
    let beyond = of.beyond(from).into_iter();
    beyond.map(|s| s.name.clone()).collect()
}

/// Whether a structure of a design is one of two parts of a home.
fn in_parts(of: &Design, s: &Structure) -> bool {
    of.structures.iter().filter(|t| t.same_rows(s)).count() > 1
}

/// How much dearer it is to have a structure than not to have it, as a fraction; none where only
/// one of the two can be.
fn dearer(model: &Model, options: &Options, s: &Structure, of: &Design) -> Option<f64> {
    let prepared = Prepared::new(model, options, 0).ok()?;
    let mut programme = prepared.programme(options);
    let shape = programme.planner.shapes.keeping(s, &of.beside(s))?;
    let without = programme.solve(&BTreeSet::from([shape]))?.cost;
    programme.forced.insert(shape);
    let with = programme.solve(&BTreeSet::new())?.cost;
    Some((with - without) / without)
}

/// Designs further apart than this are told apart.
const APART: f64 = 2e-6;

#[test]
fn a_design_flips_where_the_study_says() {
    let (mut found, mut redesigned) = (0, 0);
    for seed in seeds() {
        let (about, model, options) = mild(seed);
        let Ok(study) = Study::new(&model, &options) else {
            continue;
        };
        let chosen = study.design().clone();
        for (at, s) in chosen.structures.iter().enumerate() {
            for flip in study.flips(Choice::Structure(at)).found {
                let told = format!("{about}{}: {flip:?}", s.name);
                let at = |rate: f64| at_rate(&model, &flip.statement, rate);
                let away = flip.at * if flip.at < flip.rate { -1e-2 } else { 1e-2 };
                let part = in_parts(&chosen, s);
                let Some(there) = dearer(&at(flip.at), &options, s, &chosen) else {
                    panic!("{told}: no choice");
                };
                assert!(there.abs() < APART, "{told}: {there} dearer at the flip");
                found += 1;
                for (rate, kept) in [(flip.at - away, true), (flip.at + away, false)] {
                    let here = at(rate);
                    let more = dearer(&here, &options, s, &chosen).unwrap();
                    if more.abs() < APART {
                        continue;
                    }
                    redesigned += 1;
                    assert_eq!(more < 0.0, kept, "{told}: {more} dearer at {rate}");
                    let made = design(&here, &options).unwrap();
                    let built = made.structures.iter().any(|t| t.same_rows(s));
                    let built = built && in_parts(&made, s) == part;
                    let built = built && !missing(&chosen, &made).contains(&s.name);
                    assert_eq!(built, kept, "{told}: designed again at {rate}");
                }
            }
        }
    }
    assert!(
        found > 100 && redesigned > 100,
        "{found} flips, {redesigned} designs"
    );
}

/// Where a rate that grows by a hundredth changes which structures there are, the study of the
/// design before names a rate in between. The place is found without it, by halving.
#[test]
fn a_change_that_flips_a_design_is_named() {
    let mut found = 0;
    for seed in seeds() {
        let (about, model, options) = mild(seed);
        for (statement, rate) in statements(&model) {
            let at = |rate: f64| design(&at_rate(&model, &statement, rate), &options);
            let (mut low, mut high) = (rate, rate * 1000.0);
            let (Ok(first), Ok(last)) = (at(low), at(high)) else {
                continue;
            };
            let differ =
                |a: &Design, b: &Design| !missing(a, b).is_empty() || !missing(b, a).is_empty();
            if !differ(&first, &last) {
                continue;
            }
            while high > low * 1.01 {
                let middle = (low * high).sqrt();
                if differ(&first, &at(middle).unwrap()) {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            let changed = at(high).unwrap();
            let here = at_rate(&model, &statement, low);
            let study = Study::new(&here, &options).unwrap();
            let before = study.design().clone();
            let (gone, new) = (missing(&before, &changed), missing(&changed, &before));
            // Designs that count as equally cheap at both ends say nothing.
            let moved = before.structures.iter().chain(&changed.structures);
            let moved = moved.filter(|s| gone.contains(&s.name) || new.contains(&s.name));
            let told_apart = |model: &Model, s: &Structure| {
                let of = if gone.contains(&s.name) {
                    &before
                } else {
                    &changed
                };
                dearer(model, &options, s, of).is_none_or(|d| d.abs() > APART)
            };
            let there = at_rate(&model, &statement, high);
            if !moved
                .clone()
                .all(|s| told_apart(&here, s) && told_apart(&there, s))
            {
                continue;
            }
            let flips = flips(&study, model.changes.len());
            let named = flips.iter().any(|f| {
                f.statement == statement
                    && (low..=high).contains(&f.at)
                    && (f.dropped.iter().any(|s| gone.contains(s))
                        || f.built.iter().any(|s| new.contains(s)))
            });
            assert!(
                named,
                "{about}{statement} from {low} to {high}: {gone:?} becomes {new:?}\n{flips:#?}"
            );
            found += 1;
        }
    }
    assert!(found > 50, "{found} designs flipped");
}

/// What is ruled out beforehand had no flip: searched for all the same, none is found, and those
/// that are told are the same.
#[test]
fn ruling_out_loses_no_flip() {
    let (mut found, mut choices) = (0, 0);
    for seed in seeds() {
        let (about, model, options) = mild(seed);
        let Ok(study) = Study::new(&model, &options) else {
            continue;
        };
        let structures = (0..study.design().structures.len()).map(Choice::Structure);
        let questions = (0..study.design().plans.len()).map(Choice::Question);
        let all = 0..model.questions.len() + model.changes.len();
        for choice in structures.chain(questions) {
            let told = study.flips(choice).found;
            let thorough = study
                .flips_by(choice, all.clone(), true, &mut |_, _| {})
                .found;
            // A flip between designs that count as equally cheap may be told or not.
            let apart = |flip: &&Flip| {
                let beyond = flip.at * if flip.at < flip.rate { 0.99 } else { 1.01 };
                let model = at_rate(&model, &flip.statement, beyond);
                let dearer = match choice {
                    Choice::Structure(at) => {
                        let s = &study.design().structures[at];
                        dearer(&model, &options, s, study.design())
                    }
                    Choice::Question(at) => Study::new(&model, &options).ok().and_then(|there| {
                        let total = there.design().total;
                        Some((there.next_best_apart(at)?.total - total) / total)
                    }),
                    Choice::Structures => None,
                };
                dearer.is_none_or(|d| d.abs() > APART)
            };
            let same = |a: &Flip, b: &Flip| a.statement == b.statement && near(a.at, b.at);
            for (some, others) in [(&told, &thorough), (&thorough, &told)] {
                let only = some.iter().filter(|a| !others.iter().any(|b| same(a, b)));
                let only: Vec<&Flip> = only.filter(apart).collect();
                assert!(
                    only.is_empty(),
                    "{about}{choice:?}: only one of the two tells {only:#?}\n{told:#?}\n{thorough:#?}"
                );
            }
            found += told.len();
            choices += 1;
        }
    }
    assert!(found > 100 && choices > 300, "{found} flips of {choices}");
}

/// A study of a design that is there already is that of the design made again.
#[test]
fn a_known_design_is_studied_as_it_is() {
    for seed in seeds() {
        let (about, model, options) = drawn(seed);
        let Ok(study) = Study::new(&model, &options) else {
            continue;
        };
        let again = Study::of(&model, &options, study.design()).unwrap();
        assert!(near(again.design().total, study.design().total), "{about}");
        for at in 0..study.design().structures.len() {
            let total = |s: &Study| s.without(at).map_or(f64::INFINITY, |d| d.total);
            assert!(near(total(&again), total(&study)), "{about}without {at}");
        }
    }
}

/// The steps of a plan cost what it was priced at, and what is read for structures is no more than
/// the step reads, which is there for one of them.
#[test]
fn steps_add_up_and_reads_have_reasons() {
    for seed in seeds() {
        let (about, model, options) = drawn(seed);
        let Ok(design) = design(&model, &options) else {
            continue;
        };
        for plan in &design.plans {
            let told = plan.plan.told_cost() + options.target.cost.ask;
            assert!(near(told, plan.cost), "{about}{told}: {plan:#?}");
        }
        for step in design.writes.iter().flat_map(|w| &w.steps) {
            let reason = step.op != "read" || !step.needed_by.is_empty();
            assert!(reason, "{about}{step:?}");
            let most = step.reads * (1.0 + 1e-9) + 1e-9;
            let fits = step.needed_by.iter().all(|n| n.reads <= most);
            assert!(fits, "{about}{step:?}");
        }
    }
}

const CITIES: &str = "
entity User (10k) {
  id    int       key
  name  text(20)
  city  text(10)  distinct 1k (max 500)
}
question by_city (1/s)   select id, name from User where city = $city order by id
change join  (1/s)   insert User
";

const LOGS: &str = "
entity Log (1B) {
  id    bigint    key
  text  text(200)
}
question all_logs (1/s)  select id, text from Log order by id
change log   (10/s)  insert Log
";

/// What costs much, and has nothing to do with it, moves no flip.
#[test]
fn flips_are_where_they_are_whatever_else_costs() {
    let found = [CITIES.to_owned(), format!("{CITIES}{LOGS}")].map(|text| {
        let model = crate::parse("m", &text).0.unwrap();
        let options = Options::embedded();
        let study = Study::new(&model, &options).unwrap();
        let structures = study.design().structures.iter();
        let at = structures.clone().position(|s| s.name == "user_by_city");
        study.flips(Choice::Structure(at.unwrap())).found
    });
    let [light, heavy] = &found;
    assert_eq!(light.len(), 2, "{light:?}");
    for (a, b) in light.iter().zip(heavy) {
        assert_eq!(a.statement, b.statement);
        assert!((a.at / b.at - 1.0).abs() < 1e-3, "{a:?} {b:?}");
        assert!(a.proven, "{a:?}");
    }
}

/// A list in one direction does as well as in the other: both are told from designs without either.
#[test]
fn a_structure_flips_with_its_likes() {
    let text = "
enum Status { open, paid }
entity Order (500k) {
  id      bigint     key
  status  Status
  at      timestamp
}
question revenue (5/min)
  select day(at) as day, status, count(*) as n from Order where at between $from and $to
  group by day(at), status order by day
change order (5/s)  insert Order
change pay   (5/s)  update Order set status = paid where id = $id
";
    let model = crate::parse("m", text).0.unwrap();
    let options = Options::embedded();
    let study = Study::new(&model, &options).unwrap();
    let notes = study.design().notes.iter();
    let at = notes
        .clone()
        .position(|n| n.serves.contains(&"revenue".to_owned()));
    let at = at.unwrap();
    let name = study.design().structures[at].name.clone();
    let flips = study.flips(Choice::Structure(at)).found;
    let flip = flips
        .iter()
        .find(|f| f.statement == "revenue" && f.at < f.rate);
    let flip = flip.unwrap_or_else(|| panic!("{name}: {flips:?}"));
    let beyond = design(&at_rate(&model, "revenue", flip.at * 0.99), &options).unwrap();
    let has = |d: &Design| d.structures.iter().any(|s| s.name == name);
    assert!(!has(&beyond), "{flip:?}");
    let before = design(&at_rate(&model, "revenue", flip.at * 1.01), &options).unwrap();
    assert!(has(&before), "{flip:?}");
}

/// A model on a target that a few rows or writes a second are too many for: what it can be cut into
/// depends on rates.
fn limited(seed: u64) -> (String, Model, Options) {
    let (about, mut model, mut options) = mild(seed);
    options.target = crate::design::target::named("cassandra").unwrap();
    let limits = &mut options.target.limits;
    limits.partition_rows = Some(2_000.0);
    let few = |t: &mut crate::design::target::Throughput| t.per_second = 12.0;
    limits.partition_writes.iter_mut().for_each(few);
    model.timed = true;
    (format!("{about}with limits\n"), model, options)
}

/// What is asked about a design is asked about that one, structure by structure.
#[test]
fn a_design_with_limits_is_studied_as_it_is() {
    let mut cut = 0;
    for seed in seeds() {
        let (about, model, options) = limited(seed);
        let Ok(chosen) = design(&model, &options) else {
            continue;
        };
        let split = chosen.model_of(&model);
        let study = Study::of(&split, &options, &chosen).unwrap();
        let names = |d: &Design| {
            d.structures
                .iter()
                .map(|s| s.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(study.design()), names(&chosen), "{about}");
        assert!(near(study.design().total, chosen.total), "{about}");
        let is_cut = |s: &Structure| crate::design::spread::spread(&split, s).is_some();
        cut += usize::from(chosen.structures.iter().any(is_cut));
    }
    assert!(cut > 30, "{cut} designs with structures that are cut");
}

/// On a target with limits, a structure is there on one side of a flip and not on the other, but for
/// how it is cut: told by designs made at these rates, and by keys alone.
#[test]
fn a_design_with_limits_flips_where_the_study_says() {
    let key = |model: &Model, s: &Structure| {
        let cut = |e: &&Expr| match e {
            Expr::Call(..) => false,
            // The numbers of sub-partitions are attributes of no model that a person wrote.
            Expr::Path { leaf, .. } => {
                !matches!(leaf, Leaf::Attribute(a, _) if a.index() >= model.attributes.len())
            }
            _ => true,
        };
        let own: Vec<Expr> = s.key().filter(cut).cloned().collect();
        (s.anchor, s.over.clone(), s.filter.clone(), s.kind, own)
    };
    let mut found = 0;
    for seed in seeds().take(250) {
        let (about, model, options) = limited(seed);
        let Ok(chosen) = design(&model, &options) else {
            continue;
        };
        let split = chosen.model_of(&model);
        let study = Study::of(&split, &options, &chosen).unwrap();
        for (at, s) in chosen.structures.iter().enumerate() {
            let rounded = |e: &Expr| matches!(e, Expr::Call(..));
            // A group by a rounded time is not told from one that is cut by it, nor are parts of homes
            // by their keys.
            if s.key().any(rounded) || in_parts(&chosen, s) {
                continue;
            }
            let flips = study.flips(Choice::Structure(at)).found.into_iter();
            for flip in flips.filter(|f| f.proven) {
                found += 1;
                let told = format!("{about}{}: {flip:?}", s.name);
                let up = flip.at > flip.rate;
                for (away, kept) in [(0.985, up), (1.015, !up)] {
                    let here = at_rate(&model, &flip.statement, flip.at * away);
                    let made = design(&here, &options).unwrap();
                    let built = made
                        .structures
                        .iter()
                        .any(|t| key(&model, t) == key(&model, s));
                    assert_eq!(built, kept, "{told} at {away}");
                }
            }
        }
    }
    assert!(found > 20, "{found} flips");
}
