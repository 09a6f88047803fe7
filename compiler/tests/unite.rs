//! Where unions are offered, and what they are made of.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use querent_compiler::design::{Design, Op, Options, design};
use querent_compiler::model::Model;
use serde_json::Value;

const SITE: &str = "
    entity User (200k) { id bigint key  name text(20, max 40) }
    entity Category (1000) { name text(12, max 40) key }
    entity Post (4M) {
      id bigint key
      title text(60)
      posted timestamp
      score int distinct 5k
      author -> User as posts (avg 20, max 100k)
      category -> Category as posts (avg 4k, max 1M)
    }
    change submit (1/s) insert Post";

fn designed(question: &str) -> (Model, Design) {
    designed_with(question, "")
}

fn designed_with(question: &str, change: &str) -> (Model, Design) {
    let text = format!("{SITE}\n{change}\nquestion q (100/s) {question}");
    let (model, found) = querent_compiler::parse("m", &text);
    let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
    let design = design(&model, &Options::embedded()).unwrap();
    (model, design)
}

/// The steps of the question's plan as words; those inside others in parentheses.
fn words(question: &str) -> String {
    told_with(question, "")
}

fn told_with(question: &str, change: &str) -> String {
    fn told(steps: &[Value]) -> String {
        let word = |step: &Value| {
            let text = |field: &str| step[field].as_str().unwrap_or_default().to_owned();
            let own = format!("{} {}", text("op"), text("structure"));
            match step["steps"].as_array() {
                Some(inner) => format!("{} ({})", own.trim(), told(inner)),
                None => own.trim().to_owned(),
            }
        };
        steps.iter().map(word).collect::<Vec<_>>().join(", ")
    }
    let (model, design) = designed_with(question, change);
    told(&design.plan_steps(&model, &design.plans[0].plan))
}

#[test]
fn each_alternative_is_found_by_its_own_structure() {
    let told = words(
        "select title from Post where author.id = $u or category.name = $c
         order by posted desc limit 20",
    );
    assert_eq!(
        told,
        "unite (branch (get post_by_author_id), branch (get post_by_category_name)), limit"
    );
    // Where titles change all the time, they are not copied but fetched for the rows that are left.
    let told = told_with(
        "select title from Post where author.id = $u or category.name = $c
         order by posted desc limit 20",
        "change retitle (1000/s) update Post set title where id = $id",
    );
    assert!(told.ends_with("limit, follow post_2"), "{told}");
}

#[test]
fn the_order_and_the_cursor_are_those_of_the_whole() {
    let page = "select id from Post where author.id = $u or category.name = $c
         order by author.id, posted desc limit 20 after $p";
    let (_, design) = designed(page);
    // The author is fixed in the first branch alone.
    assert_eq!(design.plans[0].plan.cursor.len(), 3);
    let Op::Limit { input, .. } = &design.plans[0].plan.root else {
        panic!("{:?}", design.plans[0].plan.root)
    };
    let Op::Page { input, .. } = &**input else {
        panic!("{input:?}")
    };
    let Op::Unite {
        order,
        branches,
        keys,
        ..
    } = &**input
    else {
        panic!("{input:?}")
    };
    assert_eq!((order.len(), branches.len(), *keys), (3, 2, 1));
}

#[test]
fn what_cannot_be_found_by_itself_is_filtered() {
    for filter in [
        "author.id = $u or title != $t",
        "author.id = $u or not score = $s",
        "author.id = $u or score + 1 = $s",
        // The first alternative alone is the whole.
        "author.id = $u and (author.id = $u or score = $s)",
    ] {
        let told = words(&format!("select id from Post where {filter}"));
        assert!(!told.contains("unite"), "{filter}: {told}");
    }
}

#[test]
fn an_or_inside_others_is_taken_apart() {
    for (filter, branches) in [
        ("author.id = $u or score = $s or id = $i", 3),
        ("author.id = $u or (score = $s or id = $i)", 3),
        (
            "author.id = $u or (category.name = $c and (score = $s or id = $i))",
            3,
        ),
        ("(author.id = $u or id = $j) and (score = $s or id = $i)", 2),
        ("category.name = $c and (author.id = $u or score = $s)", 2),
    ] {
        let (_, design) = designed(&format!("select id from Post where {filter}"));
        let Op::Unite {
            branches: found, ..
        } = &design.plans[0].plan.root
        else {
            panic!("{filter}: {:?}", design.plans[0].plan.root)
        };
        assert_eq!(found.len(), branches, "{filter}");
    }
    let (_, design) = designed("select id from User where any posts (score = $s or id = $i)");
    assert!(matches!(design.plans[0].plan.root, Op::Unite { .. }));
}

/// The price of a union is that of its branches, and of comparing their rows.
#[test]
fn a_union_costs_what_its_branches_cost() {
    let alone = |filter: &str| {
        designed(&format!("select id from Post where {filter}"))
            .1
            .plans[0]
            .cost
    };
    let both = alone("author.id = $u or score = $s");
    let sum = alone("author.id = $u") + alone("score = $s");
    assert!((sum..=2.0 * sum).contains(&both), "{both} {sum}");
}

#[test]
fn changes_find_by_unions_too() {
    let text = format!(
        "{SITE}\nchange rate (10/s) update Post set score where author.id = $u or category.name = $c
         question q (1/s) select title from Post where id = $i"
    );
    let (model, found) = querent_compiler::parse("m", &text);
    let model = model.unwrap_or_else(|| panic!("{text}: {found:?}"));
    let design = design(&model, &Options::embedded()).unwrap();
    let rate = design.writes.iter().find(|w| w.name == "rate").unwrap();
    assert!(
        matches!(rate.finds[0].as_ref().unwrap().root, Op::Unite { .. }),
        "{:?}",
        rate.finds
    );
}
