//! Which key parts are only ever compared for equality, and which of them are hashed where long.
//!
//! A part is ordered where a plan takes a range of it, starts a page at it, or relies on rows
//! coming in its order. All other reads (by an instance's key, of referrers, of unique values) bind
//! parts from the first on and take the rows behind in any order. So the plans decide, and what
//! they decide is written into the structures: the format of a database never depends on anything
//! but its design.

use super::plan::{Get, Op, Plan, Sub, Term, Test};
use super::target::Limits;
use crate::model::Model;
use crate::view::{Structure, key_size, stored_types};
use std::collections::{BTreeMap, BTreeSet};

/// Marks the parts of every structure that must be hashed, so that keys fit into the limits.
///
/// The largest go first: a part that is kept in order can then be as long as possible.
pub(super) fn hash_long_parts<'p>(
    model: &Model,
    structures: &mut [Structure],
    plans: impl Iterator<Item = &'p Plan>,
    limits: &Limits,
) {
    let mut uses = Uses::default();
    plans.for_each(|plan| uses.plan(plan));
    for (id, structure) in structures.iter_mut().enumerate() {
        let parts = stored_types(model, structure).key;
        let ordered = uses.first_ordered.get(&(id as u16));
        let also = uses.ranges.get(&(id as u16));
        let size = |i: usize| {
            parts
                .get(i)
                .and_then(|p| key_size::largest(model, p))
                .map_or(f64::INFINITY, |n| n as f64)
        };
        let mut left: Vec<usize> = (0..parts.len())
            .filter(|i| ordered.is_none_or(|first| i < first))
            .filter(|i| also.is_none_or(|ranges| !ranges.contains(i)))
            .filter(|&i| size(i) > key_size::HASHED as f64)
            .collect();
        left.sort_by(|&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
        let mut hashed = BTreeSet::new();
        for (_, range, limit) in limits.of_keys(structure.partition.len(), parts.len()) {
            for &part in left.iter().filter(|part| range.contains(part)) {
                let total: f64 = range
                    .clone()
                    .map(|i| {
                        if hashed.contains(&(i as u16)) {
                            key_size::HASHED as f64
                        } else {
                            size(i)
                        }
                    })
                    .sum();
                if total <= limit {
                    break;
                }
                hashed.insert(part as u16);
            }
        }
        structure.hashed = hashed.into_iter().collect();
    }
}

/// What plans do with the parts of keys, by structure.
#[derive(Default)]
struct Uses {
    /// The first part in whose order rows are expected to come; so are all behind it.
    first_ordered: BTreeMap<u16, usize>,
    /// Parts of which ranges are read.
    ranges: BTreeMap<u16, BTreeSet<usize>>,
}

impl Uses {
    fn plan(&mut self, plan: &Plan) {
        self.op(&plan.root, !plan.cursor.is_empty());
        plan.output.iter().for_each(|o| self.term(&o.term));
        plan.cursor.iter().for_each(|t| self.term(t));
    }

    /// `ordered`: the order in which tuples leave the operator matters.
    fn op(&mut self, op: &Op, ordered: bool) {
        match op {
            Op::Input => {}
            Op::Get { input, get, .. } => {
                self.op(input, ordered);
                self.get(get, ordered);
            }
            Op::Merge {
                input,
                lists,
                get,
                order,
                ..
            } => {
                self.op(input, ordered);
                lists.iter().flatten().for_each(|t| self.term(t));
                order.iter().for_each(|(t, _)| self.term(t));
                self.get(get, ordered || !order.is_empty());
            }
            // Whoever wants an order of what is united either has the branches give it, or sorts.
            Op::Unite {
                branches, order, ..
            } => {
                for branch in branches {
                    self.op(&branch.root, !order.is_empty());
                    branch.output.iter().for_each(|o| self.term(&o.term));
                }
                order.iter().for_each(|(t, _)| self.term(t));
            }
            Op::Elements { input, of } => {
                self.op(input, ordered);
                self.term(of);
            }
            Op::Filter { input, tests, .. } => {
                self.op(input, ordered);
                tests.iter().for_each(|t| self.test(t));
            }
            Op::Distinct { input, by } => {
                self.op(input, ordered);
                by.iter().for_each(|t| self.term(t));
            }
            Op::Sort { input, by, .. } => {
                self.op(input, false);
                by.iter().for_each(|(t, _)| self.term(t));
            }
            Op::Page { input, by, .. } => {
                self.op(input, true);
                by.iter().for_each(|(t, _)| self.term(t));
            }
            Op::Limit { input, count, .. } => {
                self.op(input, ordered);
                self.term(count);
            }
            // Groups leave in the order of their values, whatever the order of the input.
            Op::Aggregate {
                input,
                group,
                aggregates,
                ..
            } => {
                self.op(input, false);
                group.iter().for_each(|t| self.term(t));
                let args = aggregates.iter().filter_map(|a| a.arg.as_ref());
                args.for_each(|t| self.term(t));
            }
        }
    }

    fn get(&mut self, get: &Get, ordered: bool) {
        let behind = get.eq.len();
        if ordered || get.page.is_some() {
            let first = self.first_ordered.entry(get.structure).or_insert(behind);
            *first = behind.min(*first);
        }
        if get.lower.is_some() || get.upper.is_some() {
            self.ranges.entry(get.structure).or_default().insert(behind);
        }
        get.eq.iter().for_each(|t| self.term(t));
        let bounds = [&get.lower, &get.upper].into_iter().flatten();
        bounds.for_each(|b| self.term(&b.term));
    }

    fn term(&mut self, term: &Term) {
        match term {
            Term::Const(_) | Term::Param(..) | Term::Item(..) | Term::Column { .. } => {}
            Term::Key(terms) | Term::Call(_, terms) => terms.iter().for_each(|t| self.term(t)),
            Term::Binary(_, a, b) | Term::At(a, b) => {
                self.term(a);
                self.term(b);
            }
            Term::Shape(present, terms) => {
                self.term(present);
                terms.iter().for_each(|t| self.term(t));
            }
            Term::Sub(sub) => match &**sub {
                Sub::Nested(plan) | Sub::Scalar(plan) | Sub::Values(plan) => self.plan(plan),
            },
        }
    }

    fn test(&mut self, test: &Test) {
        match test {
            Test::And(list) | Test::Or(list) => list.iter().for_each(|t| self.test(t)),
            Test::Not(t) => self.test(t),
            Test::Compare(a, _, b) | Test::InList(a, b) => {
                self.term(a);
                self.term(b);
            }
            Test::In(a, list) => {
                self.term(a);
                list.iter().for_each(|t| self.term(t));
            }
            Test::IsNull(a) => self.term(a),
            Test::Exists(op) => self.op(op, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::design::{Options, design};

    /// The hashed parts of each structure of a model's design, as `structure.part`.
    fn hashed(text: &str) -> Vec<String> {
        let (model, found) = crate::parse("m", text);
        let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
        let design = design(&model, &Options::embedded()).unwrap();
        let of = |s: &crate::view::Structure| {
            let name = s.name.clone();
            let parts = s.hashed.clone().into_iter();
            parts
                .map(move |p| format!("{name}.{p}"))
                .collect::<Vec<_>>()
        };
        design.structures.iter().flat_map(of).collect()
    }

    #[test]
    fn unique_values_and_keys_are_compared_for_equality_only() {
        let text = "entity U (100) { id int key  name text(20) unique }
             question q (1/s) select id from U where name = $n";
        assert_eq!(hashed(text), ["u_by_name.0"]);
        let text = "entity U (100) { name text(20) key  n int }
             question q (1/s) select n from U where name = $n
             question all (1/h) select name, n from U";
        assert_eq!(hashed(text), ["u.0"]);
    }

    #[test]
    fn a_bound_that_fits_needs_no_hash() {
        let text = "entity U (100) { name text(20, max 200) key  n int }
             question q (1/s) select n from U where name = $n";
        assert_eq!(hashed(text), [] as [&str; 0]);
        let text = "entity U (100) { name text(20, max 2000) key  n int }
             question q (1/s) select n from U where name = $n";
        assert_eq!(hashed(text), ["u.0"]);
    }

    #[test]
    fn order_ranges_and_pages_keep_a_part_whole() {
        for question in [
            "question q (1/s) select name, n from U order by name",
            "question q (1/s) select n from U where name > $n",
            "question q (1/s) select name, n from U order by name limit 3 page after $c",
        ] {
            let text = format!("entity U (100) {{ name text(20) key  n int }}\n{question}");
            let text = text.replace(" page after $c", " after $c");
            assert_eq!(hashed(&text), [] as [&str; 0], "{question}");
        }
    }
}
