//! The walk through a plan: each operator behind its input, subplans behind what needs them.

use super::{Frames, Line, Named, Teller};
use querent::operator::{Actual, steps};
use querent_compiler::design::{Estimate, Op, Plan, Sub, Term, Test};
use querent_compiler::model::AggregateFn;

/// What stands above the steps of each branch of a union.
pub(super) const BRANCH: &str = "branch:";

/// The steps of a plan, with what each did where that is known.
pub(super) fn lines(teller: &Teller<'_>, plan: &Plan, profile: &[Actual]) -> Vec<Line> {
    // A step is found again by its address: the profile has the order of `steps`.
    let addresses = steps(plan)
        .into_iter()
        .map(|step| std::ptr::from_ref(step.op));
    let actuals = addresses.zip(profile.iter().copied()).collect();
    let mut walk = Walk {
        teller,
        actuals,
        lines: Vec::new(),
        told: Vec::new(),
    };
    walk.plan(plan, &Frames::new(), 0);
    walk.lines
}

struct Walk<'a, 'p> {
    teller: &'a Teller<'a>,
    actuals: Vec<(*const Op, Actual)>,
    lines: Vec<Line>,
    /// Subplans over the rows of the present plan that were told. What several terms need is priced
    /// once; but a profile tells what each did.
    told: Vec<&'p Sub>,
}

impl<'p> Walk<'_, 'p> {
    fn plan(&mut self, plan: &'p Plan, outer: &Frames, depth: usize) {
        let outside = std::mem::take(&mut self.told);
        let frames = self.op(&plan.root, outer, depth);
        for output in &plan.output {
            self.subs(&output.term, &frames, depth, Some(&output.name));
        }
        self.told = outside;
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
    fn op(&mut self, op: &'p Op, outer: &Frames, depth: usize) -> Frames {
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
                let told = teller.get(get.verb(input), get, &frames);
                self.say(op, depth, told, Some(estimate));
                frames.push(teller.frame(get));
                frames
            }
            Op::Merge {
                input,
                lists,
                get,
                estimate,
                ..
            } => {
                let mut frames = self.op(input, outer, depth);
                let text = teller.get("merge", get, &frames);
                for term in lists.iter().flatten() {
                    self.subs(term, &frames, depth, None);
                }
                let lists = lists.iter().map(|list| teller.terms(list, &frames));
                let lists: Vec<String> = lists.collect();
                self.say(
                    op,
                    depth,
                    format!("{text}, for each of {}", lists.join(" and each of ")),
                    Some(estimate),
                );
                frames.push(teller.frame(get));
                frames
            }
            Op::Unite {
                branches,
                order,
                estimate,
                ..
            } => {
                let columns = branches.first().map_or(&[][..], |b| &b.output);
                let named = columns.iter().map(|o| Named {
                    name: o.name.clone(),
                    ty: Some(o.ty.clone()),
                });
                let mut frames = outer.clone();
                frames.push(named.collect());
                for branch in branches {
                    let text = BRANCH.into();
                    self.lines.push(Line {
                        depth,
                        text,
                        estimate: None,
                        actual: None,
                    });
                    self.plan(branch, outer, depth + 1);
                }
                let mut text = "unite, each row once".to_owned();
                if !order.is_empty() {
                    text = format!("{text}, by {}", teller.ordered(order, &frames));
                }
                self.say(op, depth, text, Some(estimate));
                frames
            }
            Op::Elements { input, of } => {
                let mut frames = self.op(input, outer, depth);
                let of = teller.term(of, &frames);
                self.say(op, depth, format!("elements of {of}"), None);
                frames.push(vec![
                    format!("element of {of}").into(),
                    "position".to_owned().into(),
                    "key".to_owned().into(),
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
                    match (a.stored, a.distinct, a.function) {
                        (true, _, AggregateFn::Avg) => format!("avg of {arg}"),
                        (true, ..) => arg,
                        (_, true, function) => format!("{}(distinct {arg})", function.name()),
                        (_, _, function) => format!("{}({arg})", function.name()),
                    }
                });
                let computed: Vec<String> = computed.collect();
                let mut text = format!("aggregate {}", computed.join(", "));
                if !by.is_empty() {
                    text = format!("{text} by {by}");
                }
                self.say(op, depth, text, Some(estimate));
                names.extend(computed);
                vec![names.into_iter().map(Into::into).collect()]
            }
        }
    }

    /// Tells the subplans in a term.
    fn subs(&mut self, term: &'p Term, frames: &Frames, depth: usize, name: Option<&str>) {
        for sub in term.subs() {
            if self.actuals.is_empty() && self.told.contains(&sub) {
                continue;
            }
            self.told.push(sub);
            let what = name.map(|n| format!(" {n}")).unwrap_or_default();
            let text = match sub {
                Sub::Nested(_) => format!("nest{what}, for each row:"),
                Sub::Scalar(_) => format!("compute{what}, for each row:"),
                Sub::Values(_) => "list the sub-partitions that are present:".to_owned(),
            };
            self.lines.push(Line {
                depth,
                text,
                estimate: None,
                actual: None,
            });
            self.plan(sub.plan(), frames, depth + 1);
        }
    }

    fn test_subs(&mut self, test: &'p Test, frames: &Frames, depth: usize) {
        match test {
            Test::And(tests) | Test::Or(tests) => {
                for test in tests {
                    self.test_subs(test, frames, depth);
                }
            }
            Test::Not(test) => self.test_subs(test, frames, depth),
            Test::Compare(a, _, b) | Test::InList(a, b) => {
                self.subs(a, frames, depth, None);
                self.subs(b, frames, depth, None);
            }
            Test::In(a, terms) => {
                self.subs(a, frames, depth, None);
                for term in terms {
                    self.subs(term, frames, depth, None);
                }
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
                let outside = std::mem::take(&mut self.told);
                self.op(op, frames, depth + 1);
                self.told = outside;
            }
        }
    }
}
