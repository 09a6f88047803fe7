//! Plans in words: one line a step, the first step first.

mod print;
mod walk;

pub(crate) use print::{print_estimates, print_profile};

use querent::operator::Actual;
use querent_compiler::codec::to_text;
use querent_compiler::design::display::{Printer, direction, key_part, literal};
use querent_compiler::design::{Design, Estimate, Get, Plan, Sub, Term, Test};
use querent_compiler::model::{Direction, Function, Model, Page, Param, Type};
use querent_compiler::value::Value;
use querent_compiler::view::stored_types;

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

/// A column of a frame: its name, and its type where that is known.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    ty: Option<Type>,
}

impl From<String> for Named {
    fn from(name: String) -> Named {
        Named { name, ty: None }
    }
}

/// The columns of each frame of a tuple.
type Frames = Vec<Vec<Named>>;

impl Teller<'_> {
    /// The steps of a plan, with what each did where that is known.
    pub(crate) fn lines(&self, plan: &Plan, profile: &[Actual]) -> Vec<Line> {
        walk::lines(self, plan, profile)
    }

    /// A plan in a few words: `get a, follow b, sort`.
    pub(crate) fn short(&self, plan: &Plan) -> String {
        let lines = self.lines(plan, &[]);
        // The branches of a union are told by what they read, and by the union behind them.
        let told = lines.iter().filter(|line| line.text != walk::BRANCH);
        let verbs = told.map(|line| {
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

    fn frame(&self, get: &Get) -> Vec<Named> {
        let Some(s) = self.design.structures.get(usize::from(get.structure)) else {
            return vec![];
        };
        let printer = Printer::of_structure(self.model, s);
        let stored = stored_types(self.model, s);
        let key = stored.key.into_iter().map(|part| part.ty);
        let types = key.chain(stored.columns.into_iter().map(|(ty, ..)| ty));
        let columns = s.values().zip(types);
        columns
            .map(|(e, ty)| Named {
                name: printer.expr(e),
                ty: Some(ty),
            })
            .collect()
    }

    /// Two sides of a comparison: a constant is shown as its column's type has it.
    fn sides(&self, a: &Term, b: &Term, frames: &Frames) -> (String, String) {
        let show = |term: &Term, other: &Term| {
            let whole = matches!(other, Term::Column { path, .. } if path.is_empty());
            let ty = column(other, frames).and_then(|c| c.ty.as_ref());
            self.typed(term, ty.filter(|_| whole), frames)
        };
        (show(a, b), show(b, a))
    }

    /// A term that is known to be of a type: a member of an enumeration is shown by its name.
    fn typed(&self, term: &Term, ty: Option<&Type>, frames: &Frames) -> String {
        match (term, ty) {
            (Term::Const(value @ Value::Enum(_)), Some(ty)) => to_text(self.model, ty, value),
            _ => self.term(term, frames),
        }
    }

    fn get(&self, verb: &str, get: &Get, frames: &Frames) -> String {
        let Some(s) = self.design.structures.get(usize::from(get.structure)) else {
            return verb.into();
        };
        let printer = Printer::of_structure(self.model, s);
        let parts: Vec<String> = s.key().map(|e| key_part(&printer, e)).collect();
        let columns = self.frame(get);
        let mut tests: Vec<String> = parts
            .iter()
            .zip(&get.eq)
            .zip(&columns)
            .map(|((part, term), c)| {
                format!("{part} = {}", self.typed(term, c.ty.as_ref(), frames))
            })
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
            text = format!("{text}, by {part} {}", direction(d));
        }
        if let Some(page) = &get.page {
            text = format!("{text}, {}", self.page(page));
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
            Term::Item(..) => "each".into(),
            Term::Column { .. } => {
                column(term, frames).map_or_else(|| "a value".into(), |c| c.name.clone())
            }
            Term::Key(terms) if terms.len() != 1 => format!("({})", self.terms(terms, frames)),
            Term::Key(terms) => self.terms(terms, frames),
            Term::Binary(op, a, b) => {
                let (a, b) = (self.term(a, frames), self.term(b, frames));
                format!("{a} {} {b}", op.sign())
            }
            // Made by plans to read what a structure keeps: no function to a reader.
            Term::Call(Function::SumOf | Function::AvgOf | Function::OrZero, terms) => {
                self.terms(terms, frames)
            }
            Term::Call(f, terms) => {
                format!("{}({})", f.name(), self.terms(terms, frames))
            }
            Term::At(map, key) => format!("{}[{}]", self.term(map, frames), self.term(key, frames)),
            Term::Shape(_, terms) => format!("{{ {} }}", self.terms(terms, frames)),
            Term::Sub(sub) => match &**sub {
                Sub::Values(_) => "them".into(),
                Sub::Nested(_) | Sub::Scalar(_) => "what is computed below".into(),
            },
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
                let (a, b) = self.sides(a, b, frames);
                format!("{a} {} {b}", op.sign())
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

fn column<'f>(term: &Term, frames: &'f Frames) -> Option<&'f Named> {
    match term {
        Term::Column { frame, column, .. } => {
            frames.get(usize::from(*frame))?.get(usize::from(*column))
        }
        _ => None,
    }
}
