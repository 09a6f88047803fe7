//! Maintenance looks at the bindings that a change reaches, not at all bindings of their anchors.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::model::{
    Aggregate, AggregateFn, AttributeId, Direction, EntityId, Expr, Field, Leaf, Many, Model,
    NodeId, ReferenceId, Unfold,
};
use querent_compiler::value::Value;
use querent_compiler::view::delta::{FactChanges, InstanceChange, delta};
use querent_compiler::view::facts::{Facts, Key, MemoryFacts, key_of_row};
use querent_compiler::view::reads::node_reads;
use querent_compiler::view::rows::{Rows, rows};
use querent_compiler::view::{Kind, Structure};
use std::cell::Cell;
use std::convert::Infallible;

const FEED: &str = "model feed

entity User (1M) {
  id       bigint key
  name     text(20)
  follows  ->> User (avg 200)  as followers (avg 200)
}
entity Post (20M) {
  id      bigint key
  author  -> User as posts (avg 20)
  topic   text(10)
}

question posts (1/s)
  select topic from Post where id = $post
";

/// Facts that count what is asked of them: an instance, a value, and each of those that refer.
struct Counting<'a> {
    facts: &'a MemoryFacts,
    asked: Cell<usize>,
}

impl<'a> Counting<'a> {
    fn new(facts: &'a MemoryFacts) -> Self {
        let asked = Cell::new(0);
        Counting { facts, asked }
    }
    fn count(&self, n: usize) {
        self.asked.set(self.asked.get() + n);
    }
}

impl Facts for Counting<'_> {
    type Error = Infallible;
    fn exists(&self, entity: EntityId, key: &[Value]) -> Result<bool, Infallible> {
        self.count(1);
        self.facts.exists(entity, key)
    }
    fn value(&self, entity: EntityId, key: &[Value], slot: usize) -> Result<Value, Infallible> {
        self.count(1);
        self.facts.value(entity, key, slot)
    }
    fn referrers(&self, reference: ReferenceId, target: &[Value]) -> Result<Vec<Key>, Infallible> {
        let found = self.facts.referrers(reference, target)?;
        self.count(1 + found.len());
        Ok(found)
    }
}

fn model() -> Model {
    let (model, diagnostics) = querent_compiler::parse("feed.querent", FEED);
    model.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn named(model: &Model, name: &str) -> EntityId {
    let found = model.entities.iter().position(|e| e.name == name);
    EntityId(found.unwrap() as u32)
}

/// The references of an entity, in order.
fn references(model: &Model, entity: EntityId) -> Vec<ReferenceId> {
    let fields = model.entity(entity).fields.iter();
    let references = fields.filter_map(|field| match field {
        Field::Reference(r) => Some(*r),
        _ => None,
    });
    references.collect()
}

fn path(node: NodeId, steps: &[ReferenceId], (model, of, name): (&Model, &str, &str)) -> Expr {
    let entity = named(model, of);
    let mut attributes = model.attributes.iter();
    let found = attributes.position(|a| a.entity == entity && a.name == name);
    Expr::Path {
        node,
        element: vec![],
        steps: steps.to_vec(),
        leaf: Leaf::Attribute(AttributeId(found.unwrap() as u32), vec![]),
    }
}

/// Posts, unfolded over `author.followers`: a row for each post and follower with the names of
/// follower and topic, or how many posts of a topic there are for a follower.
fn structure(model: &Model, kind: Kind) -> Structure {
    let author = references(model, named(model, "Post"))[0];
    let [from, to] = references(model, named(model, "User.follows"))[..] else {
        panic!("a link has two ends");
    };
    let topic = path(0, &[], (model, "Post", "topic"));
    let (clustering, columns) = match kind {
        Kind::Lists => (
            (path(0, &[], (model, "Post", "id")), Direction::Desc),
            vec![topic, path(1, &[from], (model, "User", "name"))],
        ),
        Kind::Groups => {
            let count = Aggregate {
                function: AggregateFn::Count,
                distinct: false,
                from: 0,
                over: vec![],
                arg: None,
            };
            let count = Expr::Aggregate(Box::new(count));
            ((topic, Direction::Asc), vec![count])
        }
    };
    Structure {
        name: "feed".into(),
        anchor: named(model, "Post"),
        over: vec![Unfold {
            parent: 0,
            steps: vec![author],
            many: Many::Back(to),
        }],
        filter: vec![],
        partition: vec![path(1, &[from], (model, "User", "id"))],
        clustering: vec![clustering],
        kind,
        columns,
        hashed: vec![],
    }
}

fn id(n: usize) -> Value {
    Value::Int(n as i64)
}

fn user(n: usize) -> Value {
    Value::Key(vec![id(n)])
}

type Fact = (EntityId, Vec<Value>);

/// The facts of a state, and what is changed in it.
struct World<'a> {
    model: &'a Model,
    state: MemoryFacts,
}

impl World<'_> {
    fn set(&mut self, (entity, row): &Fact, there: bool) -> Key {
        let key = key_of_row(self.model, *entity, row);
        let row = there.then(|| row.clone());
        self.state.set(self.model, *entity, &key, row);
        key
    }
}

/// User 0 with some posts and followers 1, 2, …: followers do not post.
fn world(model: &Model, posts: usize, followers: usize) -> World<'_> {
    let link = named(model, "User.follows");
    let state = MemoryFacts::default();
    let mut world = World { model, state };
    let (users, post) = (named(model, "User"), named(model, "Post"));
    for n in 0..=followers {
        world.set(&(users, vec![id(n), Value::Text(format!("u{n}"))]), true);
    }
    for n in 1..=followers {
        world.set(&(link, vec![user(n), user(0)]), true);
    }
    for n in 0..posts {
        let topic = Value::Text(format!("t{}", n % 3));
        world.set(&(post, vec![id(n), user(0), topic]), true);
    }
    world
}

/// Makes facts come and go, and tells how many facts the maintenance of a structure asks for it.
/// What it finds must be the difference of the rows by definition.
fn change(world: &mut World, s: &Structure, comes: &[Fact], goes: &[Fact]) -> usize {
    let model = world.model;
    let old = world.state.clone();
    let mut changes = FactChanges::new();
    for (facts, there) in [(goes, false), (comes, true)] {
        for fact in facts {
            let key = world.set(fact, there);
            let change = InstanceChange {
                stays: false,
                slots: (0..fact.1.len()).collect(),
            };
            changes.insert((fact.0, key), change);
        }
    }
    let (before, after) = (Counting::new(&old), Counting::new(&world.state));
    let Ok(found) = delta(model, s, &node_reads(model, s), &changes, &before, &after);

    let (was, is) = (rows(model, s, &old), rows(model, s, &world.state));
    let differs = |a: &Rows, b: &Rows| -> Vec<Vec<Value>> {
        let rows = a.iter().filter(|(key, row)| b.get(*key) != Some(row));
        rows.map(|(key, _)| key.clone()).collect()
    };
    let mut keys = [differs(&was, &is), differs(&is, &was)].concat();
    keys.sort();
    keys.dedup();
    assert_eq!(found.rows.keys().cloned().collect::<Vec<_>>(), keys);
    for (key, (gone, came)) in &found.rows {
        // The last column of groups is the number of their bindings.
        let bindings = |rows: &Rows| match (s.kind, rows.get(key).and_then(|r| r.last())) {
            (_, None) => 0,
            (Kind::Lists, _) => 1,
            (Kind::Groups, Some(Value::Int(n))) => *n,
            (Kind::Groups, Some(other)) => panic!("a count: {other:?}"),
        };
        let difference = came.len() as i64 - gone.len() as i64;
        assert_eq!(difference, bindings(&is) - bindings(&was));
    }
    before.asked.get() + after.asked.get()
}

#[test]
fn a_link_that_goes_costs_the_posts_behind_it_and_not_the_other_followers() {
    let model = model();
    let link = named(&model, "User.follows");
    for kind in [Kind::Lists, Kind::Groups] {
        let s = structure(&model, kind);
        let unfollow = |posts, followers| {
            let mut world = world(&model, posts, followers);
            change(&mut world, &s, &[], &[(link, vec![user(1), user(0)])])
        };
        let [few, many] = [unfollow(10, 10), unfollow(10, 400)];
        assert_eq!(
            few, many,
            "{kind:?}: of 10 followers one goes, of 400 one goes"
        );
        let more = unfollow(20, 10);
        assert!(
            more <= 2 * few,
            "{kind:?}: {few} for 10 posts, {more} for 20"
        );
    }
}

#[test]
fn a_binding_that_several_facts_reach_counts_once() {
    let model = model();
    let link = named(&model, "User.follows");
    let (users, post) = (named(&model, "User"), named(&model, "Post"));
    for kind in [Kind::Lists, Kind::Groups] {
        let s = structure(&model, kind);
        let mut world = world(&model, 5, 6);
        let came = [
            (users, vec![id(7), Value::Text("u7".into())]),
            (link, vec![user(7), user(0)]),
            (post, vec![id(5), user(0), Value::Text("t0".into())]),
        ];
        // A post and its follower at once, and then both go again, while others go or come.
        let left = [
            (link, vec![user(2), user(0)]),
            (link, vec![user(3), user(0)]),
        ];
        change(&mut world, &s, &came, &left);
        change(&mut world, &s, &left, &came);
        // A new author, with posts and followers.
        let author = [
            (users, vec![id(8), Value::Text("u8".into())]),
            (link, vec![user(1), user(8)]),
            (link, vec![user(8), user(0)]),
            (post, vec![id(6), user(8), Value::Text("t1".into())]),
        ];
        change(&mut world, &s, &author, &[]);
        change(&mut world, &s, &[], &author);
    }
}
