//! Plans in words: one line a step, the first step first.

use super::grid::{Cell, Grid, faint, plain};
use super::number::{self, Unit};
use querent::operator::{Actual, steps};
use querent_compiler::design::display::{Printer, direction, key_part};
use querent_compiler::design::{Design, Estimate, Get, Op, Plan, Sub, Term, Test};
use querent_compiler::model::{
    AggregateFn, Binary, Compare, Direction, Function, Model, Page, Param,
};
use querent_compiler::value::Value;
use std::io::{self, Write};

/// One step.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// How deep in subplans it is.
    pub(crate) depth: usize,
    /// What it does.
    pub(crate) text: String,
    /// What it was priced at, where it has a price of its own.
    pub(crate) estimate: Option<Estimate>,
    /// What it did.
    pub(crate) actual: Option<Actual>,
}

/// What plans are told with.
#[derive(Clone, Copy)]
pub(crate) struct Teller<'a> {
    pub(crate) model: &'a Model,
    pub(crate) design: &'a Design,
    pub(crate) params: &'a [Param],
}

/// The names of the columns of each frame of a tuple.
type Frames = Vec<Vec<String>>;

impl Teller<'_> {
    /// The steps of a plan, with what each did where that is known.
    pub(crate) fn lines(&self, plan: &Plan, profile: &[Actual]) -> Vec<Line> {
        // A step is found again by its address: the profile has the order of `steps`.
        let addresses = steps(plan)
            .into_iter()
            .map(|step| std::ptr::from_ref(step.op));
        let actuals: Vec<(*const Op, Actual)> = addresses.zip(profile.iter().copied()).collect();
        let mut walk = Walk {
            teller: self,
            actuals,
            lines: Vec::new(),
        };
        walk.plan(plan, &Frames::new(), 0);
        walk.lines
    }

    /// A plan in a few words: `get a, follow b, sort`.
    pub(crate) fn short(&self, plan: &Plan) -> String {
        let lines = self.lines(plan, &[]);
        let verbs = lines.iter().map(|line| {
            let mut words = line.text.split(' ');
            let verb = words
                .next()
                .unwrap_or_default()
                .trim_end_matches([',', ':']);
            let object = words.next().map(|w| w.trim_end_matches([',', ':']));
            match (verb, object) {
                ("get" | "follow" | "merge" | "scan", Some(structure)) => {
                    format!("{verb} {structure}")
                }
                ("limit" | "nest", Some(n)) => format!("{verb} {n}"),
                _ => verb.to_owned(),
            }
        });
        verbs.collect::<Vec<_>>().join(", ")
    }

    fn frame(&self, get: &Get) -> Vec<String> {
        let Some(s) = self.design.structures.get(usize::from(get.structure)) else {
            return vec![];
        };
        let printer = Printer::of_structure(self.model, s);
        s.values().map(|e| printer.expr(e)).collect()
    }

    fn get(&self, verb: &str, get: &Get, frames: &Frames) -> String {
        let Some(s) = self.design.structures.get(usize::from(get.structure)) else {
            return verb.into();
        };
        let printer = Printer::of_structure(self.model, s);
        let parts: Vec<String> = s.key().map(|e| key_part(&printer, e)).collect();
        let mut tests: Vec<String> = parts
            .iter()
            .zip(&get.eq)
            .map(|(part, term)| format!("{part} = {}", self.term(term, frames)))
            .collect();
        if let Some(part) = parts.get(get.eq.len()) {
            let signs = [(&get.lower, ">", ">="), (&get.upper, "<", "<=")];
            for (bound, open, closed) in signs {
                if let Some(bound) = bound {
                    let sign = if bound.inclusive { closed } else { open };
                    tests.push(format!("{part} {sign} {}", self.term(&bound.term, frames)));
                }
            }
        }
        let mut text = format!("{verb} {}", s.name);
        if !tests.is_empty() {
            text.push_str(" where ");
            text.push_str(&tests.join(" and "));
        }
        if let Some(part) = parts.get(get.eq.len()) {
            let d = match (s.direction(get.eq.len()), get.reverse) {
                (Direction::Asc, false) | (Direction::Desc, true) => Direction::Asc,
                _ => Direction::Desc,
            };
            text.push_str(&format!(", by {part} {}", direction(d)));
        }
        if let Some(page) = &get.page {
            text.push_str(&format!(", {}", self.page(page)));
        }
        text
    }

    fn page(&self, page: &Page) -> String {
        let (word, p) = match page {
            Page::After(p) => ("after", p),
            Page::Before(p) => ("before", p),
        };
        format!("{word} {}", self.param(p.index()))
    }

    fn param(&self, at: usize) -> String {
        let name = self
            .params
            .get(at)
            .map_or_else(|| at.to_string(), |p| p.name.clone());
        format!("${name}")
    }

    fn terms(&self, terms: &[Term], frames: &Frames) -> String {
        let shown: Vec<String> = terms.iter().map(|t| self.term(t, frames)).collect();
        shown.join(", ")
    }

    fn term(&self, term: &Term, frames: &Frames) -> String {
        match term {
            Term::Const(value) => literal(value),
            Term::Param(p, _) => self.param(p.index()),
            Term::Item => "each".into(),
            Term::Column { frame, column, .. } => frames
                .get(usize::from(*frame))
                .and_then(|names| names.get(usize::from(*column)))
                .cloned()
                .unwrap_or_else(|| "a value".into()),
            Term::Key(terms) if terms.len() != 1 => format!("({})", self.terms(terms, frames)),
            Term::Key(terms) => self.terms(terms, frames),
            Term::Binary(op, a, b) => {
                let sign = match op {
                    Binary::Add => "+",
                    Binary::Sub => "-",
                    Binary::Mul => "*",
                    Binary::Div => "/",
                };
                format!("{} {sign} {}", self.term(a, frames), self.term(b, frames))
            }
            // Made by plans to read what a structure keeps: no function to a reader.
            Term::Call(Function::SumOf | Function::AvgOf | Function::OrZero, terms) => {
                self.terms(terms, frames)
            }
            Term::Call(f, terms) => {
                format!(
                    "{}({})",
                    format!("{f:?}").to_lowercase(),
                    self.terms(terms, frames)
                )
            }
            Term::At(map, key) => format!("{}[{}]", self.term(map, frames), self.term(key, frames)),
            Term::Shape(_, terms) => format!("{{ {} }}", self.terms(terms, frames)),
            Term::Sub(_) => "what is computed below".into(),
        }
    }

    fn ordered(&self, by: &[(Term, Direction)], frames: &Frames) -> String {
        let shown = by
            .iter()
            .map(|(t, d)| format!("{} {}", self.term(t, frames), direction(*d)));
        shown.collect::<Vec<_>>().join(", ")
    }

    fn test(&self, test: &Test, frames: &Frames) -> String {
        let all = |tests: &[Test], word: &str| {
            let shown: Vec<String> = tests.iter().map(|t| self.test(t, frames)).collect();
            format!("({})", shown.join(word))
        };
        match test {
            Test::And(tests) => all(tests, " and "),
            Test::Or(tests) => all(tests, " or "),
            Test::Not(test) => format!("not {}", self.test(test, frames)),
            Test::Compare(a, op, b) => {
                let sign = match op {
                    Compare::Eq => "=",
                    Compare::Ne => "!=",
                    Compare::Lt => "<",
                    Compare::Le => "<=",
                    Compare::Gt => ">",
                    Compare::Ge => ">=",
                };
                format!("{} {sign} {}", self.term(a, frames), self.term(b, frames))
            }
            Test::In(a, terms) => format!(
                "{} in ({})",
                self.term(a, frames),
                self.terms(terms, frames)
            ),
            Test::InList(a, b) => format!("{} in {}", self.term(a, frames), self.term(b, frames)),
            Test::IsNull(a) => format!("{} is null", self.term(a, frames)),
            Test::Exists(_) => "one exists (below)".into(),
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Decimal(d) => d.to_string(),
        Value::Text(text) => format!("'{text}'"),
        _ => "a constant".into(),
    }
}

fn aggregate_name(f: AggregateFn) -> &'static str {
    match f {
        AggregateFn::Count => "count",
        AggregateFn::Sum => "sum",
        AggregateFn::Min => "min",
        AggregateFn::Max => "max",
        AggregateFn::Avg => "avg",
    }
}

struct Walk<'a> {
    teller: &'a Teller<'a>,
    actuals: Vec<(*const Op, Actual)>,
    lines: Vec<Line>,
}

impl Walk<'_> {
    fn plan(&mut self, plan: &Plan, outer: &Frames, depth: usize) {
        let frames = self.op(&plan.root, outer, depth);
        for output in &plan.output {
            self.subs(&output.term, &frames, depth, Some(&output.name));
        }
    }

    fn say(&mut self, op: &Op, depth: usize, text: String, estimate: Option<&Estimate>) {
        let address = std::ptr::from_ref(op);
        let actual = self
            .actuals
            .iter()
            .find(|(a, _)| *a == address)
            .map(|(_, actual)| *actual);
        self.lines.push(Line {
            depth,
            text,
            estimate: estimate.copied(),
            actual,
        });
    }

    /// Tells an operator behind its input, and gives the frames of what leaves it.
    fn op(&mut self, op: &Op, outer: &Frames, depth: usize) -> Frames {
        let teller = self.teller;
        match op {
            Op::Input => outer.clone(),
            Op::Get {
                input,
                get,
                estimate,
                ..
            } => {
                let mut frames = self.op(input, outer, depth);
                let everything = get.eq.is_empty() && get.lower.is_none() && get.upper.is_none();
                let verb = match (&**input, everything) {
                    (Op::Input, true) => "scan",
                    (Op::Input, false) => "get",
                    _ => "follow",
                };
                self.say(op, depth, teller.get(verb, get, &frames), Some(estimate));
                frames.push(teller.frame(get));
                frames
            }
            Op::Merge {
                input,
                list,
                get,
                estimate,
                ..
            } => {
                let mut frames = self.op(input, outer, depth);
                let text = teller.get("merge", get, &frames);
                let list = teller.terms(list, &frames);
                self.say(
                    op,
                    depth,
                    format!("{text}, for each of {list}"),
                    Some(estimate),
                );
                frames.push(teller.frame(get));
                frames
            }
            Op::Elements { input, of } => {
                let mut frames = self.op(input, outer, depth);
                let of = teller.term(of, &frames);
                self.say(op, depth, format!("elements of {of}"), None);
                frames.push(vec![
                    format!("element of {of}"),
                    "position".into(),
                    "key".into(),
                ]);
                frames
            }
            Op::Filter {
                input,
                tests,
                estimate,
            } => {
                let frames = self.op(input, outer, depth);
                let shown: Vec<String> = tests.iter().map(|t| teller.test(t, &frames)).collect();
                self.say(
                    op,
                    depth,
                    format!("filter {}", shown.join(" and ")),
                    Some(estimate),
                );
                for test in tests {
                    self.test_subs(test, &frames, depth);
                }
                frames
            }
            Op::Distinct { input, by } => {
                let frames = self.op(input, outer, depth);
                self.say(
                    op,
                    depth,
                    format!("distinct {}", teller.terms(by, &frames)),
                    None,
                );
                frames
            }
            Op::Sort {
                input,
                by,
                estimate,
            } => {
                let frames = self.op(input, outer, depth);
                self.say(
                    op,
                    depth,
                    format!("sort by {}", teller.ordered(by, &frames)),
                    Some(estimate),
                );
                for (term, _) in by {
                    self.subs(term, &frames, depth, None);
                }
                frames
            }
            Op::Page { input, page, .. } => {
                let frames = self.op(input, outer, depth);
                self.say(op, depth, format!("page {}", teller.page(page)), None);
                frames
            }
            Op::Limit { input, count, .. } => {
                let frames = self.op(input, outer, depth);
                self.say(
                    op,
                    depth,
                    format!("limit {}", teller.term(count, &frames)),
                    None,
                );
                frames
            }
            Op::Aggregate {
                input,
                group,
                aggregates,
                estimate,
                ..
            } => {
                let frames = self.op(input, outer, depth);
                let mut names: Vec<String> =
                    group.iter().map(|t| teller.term(t, &frames)).collect();
                let by = names.join(", ");
                let computed = aggregates.iter().map(|a| {
                    let arg = a
                        .arg
                        .as_ref()
                        .map_or_else(|| "*".into(), |t| teller.term(t, &frames));
                    let distinct = if a.distinct { "distinct " } else { "" };
                    format!("{}({distinct}{arg})", aggregate_name(a.function))
                });
                let computed: Vec<String> = computed.collect();
                let mut text = format!("aggregate {}", computed.join(", "));
                if !by.is_empty() {
                    text.push_str(&format!(" by {by}"));
                }
                self.say(op, depth, text, Some(estimate));
                names.extend(computed);
                vec![names]
            }
        }
    }

    /// Tells the subplans in a term.
    fn subs(&mut self, term: &Term, frames: &Frames, depth: usize, name: Option<&str>) {
        match term {
            Term::Sub(sub) => {
                let (verb, plan) = match &**sub {
                    Sub::Nested(plan) => ("nest", plan),
                    Sub::Scalar(plan) => ("compute", plan),
                };
                let what = name.map(|n| format!(" {n}")).unwrap_or_default();
                let text = format!("{verb}{what}, for each row:");
                self.lines.push(Line {
                    depth,
                    text,
                    estimate: None,
                    actual: None,
                });
                self.plan(plan, frames, depth + 1);
            }
            Term::Shape(first, terms) => {
                self.subs(first, frames, depth, name);
                terms.iter().for_each(|t| self.subs(t, frames, depth, name));
            }
            Term::Key(terms) | Term::Call(_, terms) => {
                terms.iter().for_each(|t| self.subs(t, frames, depth, name));
            }
            Term::Binary(_, a, b) | Term::At(a, b) => {
                self.subs(a, frames, depth, name);
                self.subs(b, frames, depth, name);
            }
            Term::Const(_) | Term::Param(..) | Term::Item | Term::Column { .. } => {}
        }
    }

    fn test_subs(&mut self, test: &Test, frames: &Frames, depth: usize) {
        match test {
            Test::And(tests) | Test::Or(tests) => {
                tests.iter().for_each(|t| self.test_subs(t, frames, depth));
            }
            Test::Not(test) => self.test_subs(test, frames, depth),
            Test::Compare(a, _, b) | Test::InList(a, b) => {
                self.subs(a, frames, depth, None);
                self.subs(b, frames, depth, None);
            }
            Test::In(a, terms) => {
                self.subs(a, frames, depth, None);
                terms.iter().for_each(|t| self.subs(t, frames, depth, None));
            }
            Test::IsNull(a) => self.subs(a, frames, depth, None),
            Test::Exists(op) => {
                let text = "exists:".into();
                self.lines.push(Line {
                    depth,
                    text,
                    estimate: None,
                    actual: None,
                });
                self.op(op, frames, depth + 1);
            }
        }
    }
}

/// Prints steps with what they were priced at.
pub(crate) fn print_estimates(
    lines: &[Line],
    unit: Unit,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut grid = Grid::new(2, &[0, 1, 2, 3]);
    grid.head(&["rows", "reads", "gets", "cost", "step"]);
    for line in lines {
        let figure = |f: fn(&Estimate) -> f64| {
            plain(
                line.estimate
                    .as_ref()
                    .map(|e| number::count(f(e)))
                    .unwrap_or_default(),
            )
        };
        let cost = line.estimate.map(|e| unit.show(e.cost)).unwrap_or_default();
        grid.line([
            figure(|e| e.rows),
            figure(|e| e.reads),
            figure(|e| e.gets),
            plain(cost),
            step(line),
        ]);
    }
    grid.print(colour, out)
}

/// Prints steps with what was expected of them, and what they did.
pub(crate) fn print_profile(lines: &[Line], colour: bool, out: &mut impl Write) -> io::Result<()> {
    let mut grid = Grid::new(2, &[0, 1, 2, 3, 4, 5]);
    grid.head(&[
        "rows", "expected", "reads", "expected", "gets", "expected", "step",
    ]);
    for line in lines {
        let did = |f: fn(&Actual) -> u64| {
            plain(
                line.actual
                    .as_ref()
                    .map(|a| number::count(f(a) as f64))
                    .unwrap_or_default(),
            )
        };
        let expected = |f: fn(&Estimate) -> f64| {
            faint(
                line.estimate
                    .as_ref()
                    .map(|e| number::count(f(e)))
                    .unwrap_or_default(),
            )
        };
        grid.line([
            did(|a| a.rows),
            expected(|e| e.rows),
            did(|a| a.reads),
            expected(|e| e.reads),
            did(|a| a.gets),
            expected(|e| e.gets),
            step(line),
        ]);
    }
    grid.print(colour, out)
}

fn step(line: &Line) -> Cell {
    plain(format!("{}{}", "  ".repeat(line.depth), line.text))
}
