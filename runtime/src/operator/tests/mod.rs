//! Every operator against a naive evaluation of the same plan over the same rows, on stores that
//! never wait and on stores that do.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod naive;
mod random;
mod reader;
mod unite;

use super::{Answer, Ask, AskError, BoundPlan, RowView, steps};
use crate::cursor;
use crate::store::memory::{Memory, Remote};
use crate::store::{Phase, Reader, WriteSet};
use naive::Naive;
use proptest::prelude::*;
use querent_compiler::design::{Bound, Estimate, Get, Op, Output, Plan, Sub, Term, Test};
use querent_compiler::model::{Compare, Direction, Page, ParamId, Type};
use querent_compiler::value::Value;
use random::{Random, World};
use reader::TestReader;
use std::sync::Arc;

fn int(n: i64) -> Term {
    Term::Const(Value::Int(n))
}

fn column(frame: u16, column: u16) -> Term {
    Term::Column {
        frame,
        column,
        path: vec![],
    }
}

fn get(structure: u16, eq: Vec<Term>) -> Get {
    Get {
        structure,
        eq,
        lower: None,
        upper: None,
        reverse: false,
        page: None,
    }
}

fn read(input: Op, get: Get) -> Op {
    Op::Get {
        input: Arc::new(input),
        get,
        outer: false,
        estimate: Estimate::default(),
    }
}

fn limit(input: Op, n: i64, last: bool) -> Op {
    Op::Limit {
        input: Arc::new(input),
        count: int(n),
        last,
    }
}

fn plan(root: Op, terms: Vec<Term>, cursor: Vec<Term>) -> Plan {
    let output = |term| Output {
        name: "x".into(),
        term,
        ty: Type::Any,
    };
    Plan {
        outer: 0,
        root,
        output: terms.into_iter().map(output).collect(),
        cursor,
    }
}

fn ask(params: &[Value]) -> Ask<'_> {
    Ask {
        params,
        declared: &[],
    }
}

fn bound(world: &World, plan: &Plan) -> BoundPlan {
    BoundPlan::new(plan, &world.layouts).unwrap()
}

fn collect<R: Reader>(
    world: &World,
    plan: &Plan,
    params: &[Value],
    reader: &R,
    ready: impl Fn(),
) -> Vec<Vec<Value>> {
    let bound = bound(world, plan);
    let answer = Answer::new(&bound, reader, ask(params)).unwrap();
    let wait = || {
        ready();
        Ok(())
    };
    answer.on_wait(wait).rows().unwrap()
}

fn run<const AHEAD: usize>(
    world: &World,
    plan: &Plan,
    params: &[Value],
    waits: Option<u64>,
) -> Vec<Vec<Value>> {
    let reader = TestReader::<AHEAD>::new(&world.tables, waits);
    let bound = bound(world, plan);
    let mut answer = Answer::new(&bound, &reader, ask(params))
        .unwrap()
        .counted()
        .on_wait(|| Ok(()));
    let mut rows = vec![];
    while let Some(row) = answer.next_row().unwrap() {
        let values = row.to_values().unwrap();
        for (column, value) in values.iter().enumerate() {
            looks_alike(&row, column, value);
        }
        rows.push(values);
    }
    assert_eq!(answer.profile().len(), steps(plan).len());
    let counted: u64 = answer.profile().iter().map(|a| a.reads).sum();
    assert_eq!(
        counted,
        reader.delivered(),
        "every row read is counted at one step"
    );
    let gets: u64 = answer.profile().iter().map(|a| a.gets).sum();
    assert_eq!(gets, reader.opened());
    assert_eq!(answer.profile()[0].rows, rows.len() as u64);
    rows
}

/// A column read as a text, as a number, or as nested rows, is what it is as a value.
fn looks_alike<'a, R: Reader + 'a>(row: &RowView<'_, 'a, R>, column: usize, value: &Value) {
    match value {
        Value::Text(text) => assert_eq!(row.text(column).unwrap(), Some(text.as_str())),
        Value::Null => assert_eq!(row.text(column).unwrap(), None),
        _ => assert!(matches!(row.text(column), Err(AskError::Column { .. }))),
    }
    match value {
        Value::Int(number) | Value::Timestamp(number) => {
            assert_eq!(row.number(column).unwrap(), Some(*number));
        }
        Value::Null => assert_eq!(row.number(column).unwrap(), None),
        _ => assert!(matches!(row.number(column), Err(AskError::Column { .. }))),
    }
    match value {
        Value::List(rows) | Value::Set(rows) => {
            let nested: Vec<Value> = row
                .nested(column)
                .unwrap()
                .zip(rows)
                .map(|(row, value)| match value {
                    Value::Record(_) => Value::Record(row.to_values().unwrap()),
                    _ => row.get(0).unwrap().into_value(),
                })
                .collect();
            assert_eq!(&nested, rows);
        }
        Value::Null => assert_eq!(row.nested(column).unwrap().count(), 0),
        _ => assert!(matches!(row.nested(column), Err(AskError::Column { .. }))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_plan_equals_naive_evaluation(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        let (plan, params) = random.plan(&world);
        let expected = Naive { world: &world, params: &params }.rows(&plan, &[]);
        prop_assert_eq!(&run::<0>(&world, &plan, &params, None), &expected, "at once, {:#?} {:?}", plan, params);
        prop_assert_eq!(&run::<1>(&world, &plan, &params, None), &expected, "{:#?} {:?}", plan, params);
        prop_assert_eq!(&run::<1>(&world, &plan, &params, Some(seed)), &expected, "waits, {:#?} {:?}", plan, params);
        prop_assert_eq!(&run::<4>(&world, &plan, &params, Some(!seed)), &expected, "ahead, {:#?} {:?}", plan, params);
    }

    /// Ties are broken by the key that is scanned, in either direction, whole or cut, with all rows
    /// kept or a few.
    #[test]
    fn sorts_of_a_scan_break_ties_by_its_key(
        seed in any::<u64>(), cut in any::<bool>(), reverse in any::<bool>(),
        bound in any::<bool>(), most in prop_oneof![Just(1000), 0..80i64],
    ) {
        let mut random = Random::new(seed);
        let world = World::names(&mut random, cut);
        let by = [2, 0, 1].map(|at| (at, random.direction()));
        let scan = Get { reverse, ..get(0, if bound { vec![int(1)] } else { vec![] }) };
        let terms = by.map(|(at, direction)| (column(0, at), direction));
        let sort = Op::Sort {
            input: Arc::new(read(Op::Input, scan)),
            by: terms.to_vec(),
            estimate: Estimate::default(),
        };
        let output = vec![column(0, 1), column(0, 2)];
        let plan = plan(limit(sort, most, false), output, vec![]);
        let mut expected = world.rows[0].clone();
        expected.sort_by(|a, b| {
            let orders = by.map(|(at, direction)| {
                let order = a[usize::from(at)].cmp(&b[usize::from(at)]);
                if direction == Direction::Desc { order.reverse() } else { order }
            });
            orders.into_iter().fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        expected.truncate(most as usize);
        let expected: Vec<_> = expected.into_iter().map(|row| row[1..].to_vec()).collect();
        prop_assert_eq!(&run::<0>(&world, &plan, &[], None), &expected);
        prop_assert_eq!(&run::<1>(&world, &plan, &[], Some(seed)), &expected);
    }

    #[test]
    fn any_plan_equals_naive_evaluation_on_the_memory_store(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        let (plan, params) = random.plan(&world);
        let mut writes = WriteSet::new();
        for (structure, table) in world.tables.iter().enumerate() {
            for (key, row) in table {
                writes.put(Phase::Homes, structure as u16, key.clone(), row.clone());
            }
        }
        let expected = Naive { world: &world, params: &params }.rows(&plan, &[]);
        for remote in [None, Some(Remote { seed, wait_one_in: 3 })] {
            let memory = match remote {
                None => Memory::new(world.tables.len()),
                Some(remote) => Memory::remote(world.tables.len(), remote),
            };
            memory.apply_all(&writes).unwrap();
            let rows = collect(&world, &plan, &params, &memory.view(), || memory.ready());
            prop_assert_eq!(&rows, &expected, "{:#?} {:?}", plan, params);
        }
    }

    #[test]
    fn pages_make_up_the_whole(seed in any::<u64>(), size in 1i64..5, reverse in any::<bool>()) {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        let key: Vec<Term> = (1..3).map(|c| column(0, c)).collect();
        let page = |page| {
            let mut get = get(0, vec![int(1)]);
            get.reverse = reverse;
            get.page = page;
            read(Op::Input, get)
        };
        let all = run::<1>(&world, &plan(page(None), key.clone(), vec![]), &[], None);
        let walk = |before: bool| {
            let cursor = ParamId(0);
            let kind = if before { Page::Before(cursor) } else { Page::After(cursor) };
            let plan = plan(limit(page(Some(kind)), size, before), key.clone(), key.clone());
            let bound = bound(&world, &plan);
            // Without a cursor: after nothing is from the start, before nothing is from the end.
            let mut token = Value::Null;
            let mut pages: Vec<Vec<Vec<Value>>> = vec![];
            loop {
                let params = [token.clone()];
                let reader = TestReader::<1>::new(&world.tables, None);
                let mut answer = Answer::new(&bound, &reader, ask(&params)).unwrap();
                let mut rows = vec![];
                let mut edges = vec![];
                while let Some(row) = answer.next_row().unwrap() {
                    rows.push(row.to_values().unwrap());
                    edges.push(row.cursor().unwrap());
                }
                assert!(reader.delivered() <= size as u64, "a page reads no more than itself");
                let edge = if before { edges.first() } else { edges.last() };
                let Some(edge) = edge else { break };
                token = Value::Text(edge.clone());
                pages.push(rows);
            }
            if before { pages.reverse(); }
            pages.concat()
        };
        prop_assert_eq!(&walk(false), &all);
        prop_assert_eq!(&walk(true), &all);
    }

    #[test]
    fn a_limit_reads_no_more_than_it_gives(seed in any::<u64>(), n in 0i64..12) {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        let whole = read(Op::Input, get(0, vec![]));
        let delivered = |op: Op| {
            let reader = TestReader::<1>::new(&world.tables, None);
            let bound = bound(&world, &plan(op, vec![column(0, 2)], vec![]));
            let mut answer = Answer::new(&bound, &reader, ask(&[])).unwrap();
            let rows = answer.rows().unwrap();
            (rows.len() as u64, reader.delivered(), rows)
        };
        let (given, read_rows, _) = delivered(limit(whole.clone(), n, false));
        prop_assert_eq!(read_rows, given);
        let (given, read_rows, _) = delivered(limit(whole.clone(), n, true));
        prop_assert_eq!(read_rows, given);

        // Behind a filter: up to the row that fills it, not one further.
        let tests = vec![Test::Compare(column(0, 4), Compare::Gt, Term::Const(Value::Float(0.0)))];
        let filter = |input| Op::Filter { input: Arc::new(input), tests: tests.clone(), estimate: Estimate::default() };
        let (given, read_rows, _) = delivered(limit(filter(whole.clone()), n, false));
        let naive = Naive { world: &world, params: &[] };
        let all = naive.op(&whole, &[]);
        let passing: Vec<usize> = all.iter().enumerate()
            .filter(|(_, t)| t[0][4] > Value::Float(0.0)).map(|(i, _)| i + 1).collect();
        let needed = if n == 0 { 0 } else { passing.get(n as usize - 1).copied().unwrap_or(all.len()) };
        prop_assert_eq!(given, passing.len().min(n as usize) as u64);
        prop_assert_eq!(read_rows, needed as u64);

        // A merge has one row of each branch at hand.
        let mut each = get(0, vec![Term::Item(0, vec![])]);
        each.reverse = seed % 2 == 0;
        let order = (1..3).map(|c| {
            let stored = world.layouts[0].key[c as usize].direction;
            let direction = if each.reverse { stored.opposite() } else { stored };
            (column(0, c), direction)
        }).collect();
        let merge = Op::Merge {
            input: Arc::new(Op::Input), lists: vec![vec![int(0), int(1), int(2), int(1)]], get: each, order,
            estimate: Estimate::default(),
        };
        let (given, read_rows, _) = delivered(limit(merge, n, false));
        prop_assert!(read_rows <= given + 3);
        // A join reads the tuples that it needs, and one inner row for each.
        let joined = read(whole, get(1, vec![column(0, 2)]));
        let (given, read_rows, _) = delivered(limit(joined, n, false));
        prop_assert!(read_rows <= 2 * given + (all.len() as u64 - given.min(all.len() as u64)));
    }
}

#[test]
fn the_limit_reaches_the_store() {
    let world = World::random(&mut Random::new(7));
    let reader = TestReader::<1>::new(&world.tables, None);
    let plan = plan(
        limit(read(Op::Input, get(0, vec![int(1)])), 3, false),
        vec![],
        vec![],
    );
    let bound = bound(&world, &plan);
    Answer::new(&bound, &reader, ask(&[]))
        .unwrap()
        .rows()
        .unwrap();
    assert_eq!(reader.last_read().unwrap().limit, Some(3));
}

#[test]
fn a_time_bounds_a_timeuuid() {
    let world = World::times(&[0, 1, 1, 2, 3]);
    for (lower, upper) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut get = get(0, vec![]);
        let at = |n| Term::Const(Value::Timestamp(n));
        get.lower = Some(Bound {
            term: at(1),
            inclusive: lower,
        });
        get.upper = Some(Bound {
            term: at(2),
            inclusive: upper,
        });
        let plan = plan(read(Op::Input, get), vec![column(0, 0)], vec![]);
        let expected = 2 * usize::from(lower) + usize::from(upper);
        assert_eq!(
            run::<1>(&world, &plan, &[], None).len(),
            expected,
            "{lower} {upper}"
        );
    }
}

#[test]
fn an_int_outside_its_type_is_a_value_like_any_other() {
    let world = World::random(&mut Random::new(3));
    let (low, high) = (i64::from(i32::MIN) - 1, i64::from(i32::MAX) + 1);
    let all = world.rows[0].len();
    let count = |eq: Vec<Term>, lower: Option<i64>, upper: Option<i64>| {
        let bound = |n| Bound {
            term: int(n),
            inclusive: true,
        };
        let mut get = get(0, eq);
        get.lower = lower.map(bound);
        get.upper = upper.map(bound);
        run::<1>(
            &world,
            &plan(read(Op::Input, get), vec![], vec![]),
            &[],
            None,
        )
        .len()
    };
    assert_eq!(count(vec![int(high)], None, None), 0);
    assert_eq!(count(vec![], Some(low), Some(high)), all);
    assert_eq!(count(vec![], Some(high), None), 0);
    assert_eq!(count(vec![], None, Some(low)), 0);
}

#[test]
fn what_does_not_fit_is_an_error_that_says_so() {
    let world = World::random(&mut Random::new(3));
    let error = |plan: &Plan, params: &[Value]| {
        let reader = TestReader::<1>::new(&world.tables, None);
        let rows = BoundPlan::new(plan, &world.layouts)
            .and_then(|bound| Answer::new(&bound, &reader, ask(params))?.rows());
        rows.unwrap_err().to_string()
    };
    let of = |term| plan(read(Op::Input, get(0, vec![])), vec![term], vec![]);
    assert!(error(&of(column(3, 0)), &[]).contains("frame 3 of a tuple of 1"));
    assert!(error(&of(column(0, 30)), &[]).contains("column 30 of frame 0"));
    assert!(error(&of(Term::Param(ParamId(4), vec![])), &[]).contains("parameter 4"));
    let unknown = plan(read(Op::Input, get(9, vec![])), vec![], vec![]);
    assert!(error(&unknown, &[]).contains("structure 9 of a design of 2"));
    let text = Term::Const(Value::Text("a".into()));
    let mismatch = plan(read(Op::Input, get(0, vec![text])), vec![], vec![]);
    assert!(error(&mismatch, &[]).contains("cannot hold a text"));
    let mut paged = get(0, vec![int(1)]);
    paged.page = Some(Page::After(ParamId(0)));
    let paged = plan(read(Op::Input, paged), vec![], vec![]);
    assert!(error(&paged, &[Value::Text("*".into())]).contains("parameter 1: the cursor has '*'"));
    let foreign = Value::Text(cursor::encode(&[Value::Int(1)]));
    assert!(error(&paged, &[foreign]).contains("another question"));
    let foreign = Value::Text(cursor::encode(&[Value::Bool(true), Value::Null]));
    assert!(error(&paged, &[foreign]).contains("another question"));
}

#[test]
fn a_store_that_waits_needs_someone_to_wait() {
    let world = World::random(&mut Random::new(3));
    let plan = plan(read(Op::Input, get(0, vec![])), vec![], vec![]);
    let bound = bound(&world, &plan);
    let failed = (0..20).any(|seed| {
        let reader = TestReader::<1>::new(&world.tables, Some(seed));
        Answer::new(&bound, &reader, ask(&[]))
            .unwrap()
            .rows()
            .is_err()
    });
    assert!(failed);
}

#[test]
fn steps_are_numbered_as_they_are_listed() {
    let mut inner = plan(
        read(Op::Input, get(1, vec![column(0, 2)])),
        vec![column(1, 1)],
        vec![],
    );
    inner.outer = 1;
    let term = Term::Sub(Arc::new(Sub::Nested(inner)));
    let world = World::random(&mut Random::new(5));
    let plan = plan(read(Op::Input, get(0, vec![])), vec![term], vec![]);
    let reader = TestReader::<1>::new(&world.tables, None);
    let bound = bound(&world, &plan);
    let mut answer = Answer::new(&bound, &reader, ask(&[])).unwrap().counted();
    let rows = answer.rows().unwrap().len() as u64;
    let profile = answer.profile();
    let depths: Vec<usize> = steps(&plan).iter().map(|s| s.depth).collect();
    assert_eq!(depths, [0, 1, 1, 2]);
    assert_eq!((profile[0].gets, profile[0].rows), (1, rows));
    assert_eq!((profile[1].gets, profile[1].rows), (0, 1));
    assert_eq!(profile[2].gets, rows);
    assert_eq!(profile[3].rows, rows);
}

#[test]
fn values_are_borrowed_from_the_store() {
    let world = World::random(&mut Random::new(5));
    let plan = plan(read(Op::Input, get(1, vec![])), vec![column(0, 1)], vec![]);
    let reader = TestReader::<1>::new(&world.tables, None);
    let bound = bound(&world, &plan);
    let mut answer = Answer::new(&bound, &reader, ask(&[])).unwrap();
    let row = answer.next_row().unwrap().unwrap();
    assert_eq!(row.names().collect::<Vec<_>>(), ["x"]);
    let value = row.get(0).unwrap();
    assert!(matches!(
        value,
        crate::layout::ValueRef::Text(std::borrow::Cow::Borrowed(_))
    ));
    assert!(row.get(1).is_err());
}
