//! What the planner remembers against what it would find again.

use crate::design::fit::Learned;
use crate::design::options::{PlanOption, Planner};
use crate::design::{Options, prepare, target};
use crate::model::Model;

/// Nested questions, `exists` at several depths, groups, lists and walks; several of them ask for the
/// same of rows that were found in many ways.
const MODEL: &str = "
    entity Person (10k) { id int key  name text(20)  city text(12) distinct 40  born date }
    entity Forum (2k) { id int key  title text(30)  owner -> Person as forums (avg 0.2, max 50) }
    entity Post (200k) { id int key  at timestamp  text text(200)  tag text(8) distinct 100
        author -> Person as posts (avg 20, max 900)  forum -> Forum as posts (avg 100, max 5000) }
    entity Likes (1M) { person -> Person key as likes (avg 100, max 3000)
        post -> Post key as likers (avg 5, max 9000)  at timestamp }
    question page (50/s) select name, posts { text, at, forum.title, count(likers) as n order by at desc limit 5 }
        from Person where id = $id
    question tagged (20/s) select id, text, author.name, count(likers) as n from Post
        where tag = $tag and any likers (person.city = $city) order by at desc limit 20
    question busy (1/s) select title, owner.name from Forum
        where any posts (tag = $tag and any likers (at >= $since)) or owner.city = $city
    question cities (1/h) select author.city, count(*) as n from Post where at >= $since group by author.city
    question mixed (5/s) select id, author.name, forum.title from Post
        where (tag = $a or author.city = $b) and at >= $since order by at desc limit 10
    change like (100/s) insert Likes
    change write (10/s) insert Post
    change rename (1/h) update Person set name where id = $id";

/// Every way to answer every question, as text.
fn planned(planner: &mut Planner, model: &Model) -> Vec<Vec<String>> {
    let said = |option: &PlanOption| format!("{option:?}");
    let questions = model.questions.iter().map(|question| {
        planner.params = question.params.iter().map(|p| p.ty.clone()).collect();
        planner.options(&question.query).iter().map(said).collect()
    });
    questions.collect()
}

/// A planner that remembers subplans and matches makes the plans of one that does not.
#[test]
fn what_is_remembered_is_what_would_be_found() {
    let (model, diagnostics) = crate::parse("memory.querent", MODEL);
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    for name in ["embedded", "cassandra", "dynamodb"] {
        let options = Options {
            target: target::named(name).unwrap(),
            ..Options::embedded()
        };
        let learned = Learned::default();
        let mut planner = prepare::candidates(&model, &options, 0, &learned).unwrap();
        for growing in [false, true] {
            planner.growing = growing;
            let remembered = planned(&mut planner, &model);
            planner.forgetful = true;
            let found = planned(&mut planner, &model);
            planner.forgetful = false;
            for (question, (a, b)) in model.questions.iter().zip(remembered.iter().zip(&found)) {
                assert!(a == b, "{name}: {} is planned otherwise", question.name);
                assert!(!a.is_empty(), "{name}: {} has no plan", question.name);
            }
        }
    }
}
