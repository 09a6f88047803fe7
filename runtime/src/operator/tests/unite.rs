//! Unions: each row once, pages in both directions, and no more read than is wanted.

use super::random::{Random, World};
use super::reader::TestReader;
use super::{Naive, ask, bound, column, get, int, limit, plan, read, run};
use crate::operator::{Answer, AskError, BoundPlan};
use proptest::prelude::*;
use querent_compiler::design::{Estimate, Op, Plan, Term};
use querent_compiler::model::{Direction, Page, ParamId};
use querent_compiler::value::Value;

/// Partitions 1, 2 and 1 again of structure 0, by what is behind the first part of their key; rows
/// that are alike in that are one.
fn united(world: &World, page: Option<&Page>, reverse: bool) -> Op {
    let behind = [column(0, 1), column(0, 2)];
    let branch = |first: i64| {
        let mut get = get(0, vec![int(first)]);
        get.reverse = reverse;
        get.page = page.cloned();
        plan(read(Op::Input, get), behind.to_vec(), vec![])
    };
    let directed = |part: usize| match (world.layouts[0].key[part].direction, reverse) {
        (stored, false) => stored,
        (stored, true) => stored.opposite(),
    };
    let order: Vec<(Term, Direction)> =
        vec![(column(0, 0), directed(1)), (column(0, 1), directed(2))];
    Op::Unite {
        branches: vec![branch(1), branch(2), branch(1)],
        keys: 2,
        order,
        estimate: Estimate::default(),
    }
}

fn columns() -> Vec<Term> {
    vec![column(0, 0), column(0, 1)]
}

proptest! {
    #[test]
    fn pages_of_a_union_make_up_the_whole(
        seed in any::<u64>(), size in 1i64..5, reverse in any::<bool>()
    ) {
        let world = World::random(&mut Random::new(seed));
        let whole = plan(united(&world, None, reverse), columns(), vec![]);
        let all = run::<1>(&world, &whole, &[], None);
        let naive = Naive { world: &world, params: &[] }.rows(&whole, &[]);
        prop_assert_eq!(&all, &naive);
        for before in [false, true] {
            let page = if before { Page::Before(ParamId(0)) } else { Page::After(ParamId(0)) };
            let op = limit(united(&world, Some(&page), reverse), size, before);
            let plan = plan(op, columns(), columns());
            let bound = bound(&world, &plan);
            let mut token = Value::Null;
            let mut pages: Vec<Vec<Vec<Value>>> = vec![];
            loop {
                let params = [token.clone()];
                let reader = TestReader::<1>::new(&world.tables, None);
                let mut answer = Answer::new(&bound, &reader, ask(&params)).unwrap();
                let (mut rows, mut edges) = (vec![], vec![]);
                while let Some(row) = answer.next_row().unwrap() {
                    rows.push(row.to_values().unwrap());
                    edges.push(row.cursor().unwrap());
                }
                // A row is read in each branch that has it, and the next one of each is looked at.
                prop_assert!(reader.delivered() <= 3 * (size as u64 + 1));
                let edge = if before { edges.first() } else { edges.last() };
                let Some(edge) = edge else { break };
                token = Value::Text(edge.clone());
                pages.push(rows);
            }
            if before { pages.reverse(); }
            prop_assert_eq!(&pages.concat(), &all);
        }
    }

    #[test]
    fn a_limit_stops_every_branch(seed in any::<u64>(), n in 0i64..6) {
        let world = World::random(&mut Random::new(seed));
        for last in [false, true] {
            let plan = plan(limit(united(&world, None, false), n, last), columns(), vec![]);
            let reader = TestReader::<1>::new(&world.tables, None);
            let bound = bound(&world, &plan);
            let mut answer = Answer::new(&bound, &reader, ask(&[])).unwrap();
            let given = answer.rows().unwrap().len() as u64;
            prop_assert!(given <= n as u64);
            let most = if n == 0 { 0 } else { 3 * (given + 1) };
            prop_assert!(reader.delivered() <= most, "{} of {given}", reader.delivered());
        }
    }
}

#[test]
fn branches_answer_with_the_same_columns() {
    let world = World::random(&mut Random::new(3));
    let branch = |terms: Vec<Term>| plan(read(Op::Input, get(0, vec![])), terms, vec![]);
    let error = |branches: Vec<Plan>| {
        let root = Op::Unite {
            branches,
            keys: 1,
            order: vec![],
            estimate: Estimate::default(),
        };
        match BoundPlan::new(&plan(root, vec![], vec![]), &world.layouts) {
            Err(AskError::Plan(why)) => why,
            other => format!("{other:?}"),
        }
    };
    let (one, two) = (vec![column(0, 0)], vec![column(0, 0), column(0, 1)]);
    let why = error(vec![branch(one), branch(two)]);
    assert!(why.contains("different columns"), "{why}");
    let mut inner = branch(vec![column(0, 0)]);
    inner.outer = 4;
    assert!(error(vec![inner]).contains("a subplan of 4 frames where there are 0"));
}
