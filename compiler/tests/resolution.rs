//! What questions and changes mean once resolved.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::diagnostic::{Diagnostic, Style, to_text};
use querent_compiler::model::*;
use querent_compiler::value::Value;

const MODEL: &str = "
enum Status { open, paid }
entity User (2M) {
  id       bigint key
  name     text(20)
  tags     set<text(10)> (avg 3, max 40)
  extra    map<text(8), any>
  follows  ->> User (avg 200, max 7k) as followers (avg 200, max 300M) { at timestamp }
}
entity Post (40M) {
  id      timeuuid key
  title   text(60)
  status  Status
  at      timestamp
  author  -> User as posts (avg 20, max 100k) { since date? }
  editor  -> User? as edits
  lines   list<{ item -> User, count int }> (avg 3, max 50)
}
entity Page is Post (1M) { number int }
entity Note is Page (1k) { mark text(3) }
entity Label (12M) {
  user   -> User as labels (avg 6, max 500) key
  name   text(15) key
  posts  ->> Post (avg 250, max 10M) as labels
  cover  -> Post? as covers (max 1)
}
";

fn resolve(rest: &str) -> Model {
    let text = format!("{MODEL}{rest}");
    let (model, found) = querent_compiler::parse("test", &text);
    model.unwrap_or_else(|| panic!("{}", to_text(&found, "test", &text, Style::Plain)))
}

fn query(rest: &str) -> (Model, Query) {
    let model = resolve(&format!("question q (1/s) {rest}"));
    let query = model.questions[0].query.clone();
    (model, query)
}

fn entity(model: &Model, name: &str) -> EntityId {
    model.entity_named(name).unwrap()
}
fn reference(model: &Model, of: &str, name: &str) -> ReferenceId {
    let of = entity(model, of);
    let at = model
        .references
        .iter()
        .position(|r| r.entity == of && r.name == name)
        .unwrap();
    ReferenceId(at as u32)
}
fn attribute(model: &Model, of: &str, name: &str) -> AttributeId {
    let of = entity(model, of);
    let at = model
        .attributes
        .iter()
        .position(|a| a.entity == of && a.name == name)
        .unwrap();
    AttributeId(at as u32)
}
fn path(node: NodeId, steps: Vec<ReferenceId>, leaf: AttributeId) -> Expr {
    Expr::Path {
        node,
        element: vec![],
        steps,
        leaf: Leaf::Attribute(leaf, vec![]),
    }
}
fn read(node: NodeId, leaf: Leaf) -> Expr {
    Expr::Path {
        node,
        element: vec![],
        steps: vec![],
        leaf,
    }
}
fn unfold(steps: Vec<ReferenceId>, many: Many) -> Unfold {
    Unfold {
        parent: 0,
        steps,
        many,
    }
}
fn param(id: u32, part: &[u16]) -> Expr {
    Expr::Param(ParamId(id), part.to_vec())
}

#[test]
fn many_to_many_is_a_link_entity() {
    let m = resolve("");
    let link = m.entity(entity(&m, "User.follows"));
    let (from, to) = (
        reference(&m, "User.follows", "from"),
        reference(&m, "User.follows", "to"),
    );
    assert_eq!(link.kind, EntityKind::Link);
    assert_eq!(link.key, [0, 1]);
    assert_eq!(link.count, 4e8);
    let at = Field::Attribute(attribute(&m, "User.follows", "at"));
    assert_eq!(
        link.fields,
        [Field::Reference(from), Field::Reference(to), at]
    );
    assert_eq!((m.reference(from).avg, m.reference(from).max), (200.0, 7e3));
    assert_eq!((m.reference(to).avg, m.reference(to).max), (200.0, 3e8));
    assert_eq!(m.reference(to).on_delete, OnDelete::Cascade);
    let user = m.entity(entity(&m, "User"));
    let side = |name: &str| user.sides.iter().find(|s| s.name == name).unwrap();
    assert_eq!(
        (&side("follows").many, &side("follows").ones),
        (&Some(Many::Back(from)), &vec![to])
    );
    assert_eq!(
        (&side("followers").many, &side("followers").ones),
        (&Some(Many::Back(to)), &vec![from])
    );
}

#[test]
fn sizes_left_out_follow_from_the_counts() {
    let m = resolve("");
    let edits = m.reference(reference(&m, "Post", "editor"));
    assert_eq!((edits.avg, edits.max, edits.optional), (20.0, 2000.0, true));
    let cover = m.reference(reference(&m, "Label", "cover"));
    assert!(cover.unique);
    let labels = m.reference(reference(&m, "Label.posts", "to"));
    assert_eq!((labels.avg, labels.max), (75.0, 7500.0));
    assert!(m.attribute(attribute(&m, "Post", "author@since")).optional);
}

#[test]
fn subtypes_live_in_the_row_of_the_root() {
    let (m, q) = query("select number, title from Page where mark = 'x'");
    let post = m.entity(entity(&m, "Post"));
    assert_eq!(q.anchor, entity(&m, "Post"));
    assert_eq!(post.fields[0], Field::Type);
    assert_eq!(post.key, [1]);
    assert_eq!(post.subtypes, [entity(&m, "Page"), entity(&m, "Note")]);
    let tags = vec![Expr::Const(Value::Enum(1)), Expr::Const(Value::Enum(2))];
    assert_eq!(q.filter[0], Pred::In(read(0, Leaf::Type), tags));
    let (_, q) = query("select id from Note");
    assert_eq!(
        q.filter,
        [Pred::Compare(
            read(0, Leaf::Type),
            Compare::Eq,
            Expr::Const(Value::Enum(2))
        )]
    );
    let (_, q) = query("select * from Page");
    let names: Vec<&str> = q.select.iter().map(|i| i.name.as_str()).collect();
    let expected = [
        "type",
        "id",
        "title",
        "status",
        "at",
        "author",
        "author@since",
        "editor",
        "lines",
        "number",
        "mark",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_path_to_many_exists_on_its_own_each_time() {
    let (m, q) = query(
        "select id from Post where author.followers.id = $me and labels.name = 'x' and labels.name = 'y'",
    );
    let (author, to) = (
        reference(&m, "Post", "author"),
        reference(&m, "User.follows", "to"),
    );
    let from = reference(&m, "User.follows", "from");
    let id = attribute(&m, "User", "id");
    let expected = Pred::Exists {
        from: 0,
        over: vec![unfold(vec![author], Many::Back(to))],
        filter: Some(Box::new(Pred::Compare(
            path(1, vec![from], id),
            Compare::Eq,
            param(0, &[]),
        ))),
    };
    assert_eq!(q.filter[0], expected);
    assert_eq!(q.filter.len(), 3);
}

#[test]
fn any_is_one_and_the_same_element() {
    let (m, q) = query("select id from Post where any labels (user.id = $u and name = $l)");
    let (to, from) = (
        reference(&m, "Label.posts", "to"),
        reference(&m, "Label.posts", "from"),
    );
    let user = reference(&m, "Label", "user");
    let inner = Pred::And(vec![
        Pred::Compare(
            path(1, vec![from, user], attribute(&m, "User", "id")),
            Compare::Eq,
            param(0, &[]),
        ),
        Pred::Compare(
            path(1, vec![from], attribute(&m, "Label", "name")),
            Compare::Eq,
            param(1, &[]),
        ),
    ]);
    let over = vec![unfold(vec![], Many::Back(to))];
    assert_eq!(
        q.filter,
        [Pred::Exists {
            from: 0,
            over,
            filter: Some(Box::new(inner))
        }]
    );
}

#[test]
fn has_asks_for_an_element_or_a_key() {
    let (m, q) = query("select id from User where tags has $t and extra has $k");
    let exists = |name: &str, leaf, p| Pred::Exists {
        from: 0,
        over: vec![unfold(
            vec![],
            Many::Elements(attribute(&m, "User", name), vec![]),
        )],
        filter: Some(Box::new(Pred::Compare(
            read(1, leaf),
            Compare::Eq,
            param(p, &[]),
        ))),
    };
    assert_eq!(
        q.filter,
        [
            exists("tags", Leaf::Element(vec![]), 0),
            exists("extra", Leaf::MapKey, 1)
        ]
    );
}

#[test]
fn a_nested_shape_lists_its_subject() {
    let (m, q) = query("select followers { id, @at order by name } from User where id = 1");
    let (to, from) = (
        reference(&m, "User.follows", "to"),
        reference(&m, "User.follows", "from"),
    );
    let Expr::Nested(0, inner) = &q.select[0].expr else {
        panic!("{:?}", q.select)
    };
    assert_eq!((inner.anchor, inner.subject), (entity(&m, "User"), 1));
    assert_eq!(inner.over, [unfold(vec![], Many::Back(to))]);
    let (id, name) = (attribute(&m, "User", "id"), attribute(&m, "User", "name"));
    assert_eq!(
        inner.select[1].expr,
        path(1, vec![], attribute(&m, "User.follows", "at"))
    );
    // The other end of the link is the outer row itself and breaks no ties.
    let order = [
        (path(1, vec![from], name), Direction::Asc),
        (path(1, vec![from], id), Direction::Asc),
    ];
    assert_eq!(
        (inner.order.as_slice(), inner.ordered),
        (order.as_slice(), 1)
    );
}

#[test]
fn references_inside_collections_are_followed() {
    let (m, q) = query("select lines { item, item.name, count order by count } from Post");
    let Expr::Nested(_, inner) = &q.select[0].expr else {
        panic!()
    };
    let item = |leaf| Expr::Path {
        node: 1,
        element: vec![0],
        steps: vec![],
        leaf: Leaf::Attribute(attribute(&m, "User", leaf), vec![]),
    };
    assert_eq!(inner.select[0].expr, item("id"));
    assert_eq!(inner.select[1].expr, item("name"));
    assert_eq!(inner.select[2].expr, read(1, Leaf::Element(vec![1])));
    assert_eq!(inner.order[1].0, read(1, Leaf::Position));
}

#[test]
fn select_and_group_by_unfold() {
    let (m, q) = query(
        "select tags as tag, count(*) as n, count(distinct name) from User group by tags order by n desc",
    );
    let tags = unfold(
        vec![],
        Many::Elements(attribute(&m, "User", "tags"), vec![]),
    );
    assert_eq!(q.over, [tags]);
    let tag = read(1, Leaf::Element(vec![]));
    assert_eq!(q.group, Some(vec![tag.clone()]));
    assert_eq!(q.select[0].expr, tag);
    assert_eq!(q.order[1], (tag, Direction::Desc));
    assert_eq!(q.select[2].name, "count(distinct name)");
    let (_, q) = query("select tags from User");
    assert!(q.over.is_empty() && q.group.is_none());
    let (m, q) = query("select name, posts.title from User order by name");
    let author = reference(&m, "Post", "author");
    assert_eq!(q.over, [unfold(vec![], Many::Back(author))]);
    let order: Vec<Expr> = q.order.into_iter().map(|(e, _)| e).collect();
    let of = |node, e, a| path(node, vec![], attribute(&m, e, a));
    assert_eq!(
        order,
        [
            of(0, "User", "name"),
            of(0, "User", "id"),
            of(1, "Post", "id")
        ]
    );
}

/// An aggregate over a path that the group unfolds is about the group's elements: equal prefixes
/// share them, wherever they are written.
#[test]
fn aggregates_of_a_group_share_its_elements() {
    let (m, q) = query(
        "select sum(lines.count) as n, count(lines.item.name) as named, lines.item.id as item,
           count(distinct status) as states
         from Post group by lines.item.id order by max(lines.count) desc",
    );
    let lines = Many::Elements(attribute(&m, "Post", "lines"), vec![]);
    assert_eq!(q.over, [unfold(vec![], lines)]);
    let of_item = |name| Expr::Path {
        node: 1,
        element: vec![0],
        steps: vec![],
        leaf: Leaf::Attribute(attribute(&m, "User", name), vec![]),
    };
    let of_group = |function, distinct, arg| {
        Expr::Aggregate(Box::new(Aggregate {
            function,
            distinct,
            from: 0,
            over: vec![],
            arg: Some(arg),
        }))
    };
    let count = read(1, Leaf::Element(vec![1]));
    let selected: Vec<Expr> = q.select.iter().map(|i| i.expr.clone()).collect();
    assert_eq!(
        selected,
        [
            of_group(AggregateFn::Sum, false, count.clone()),
            of_group(AggregateFn::Count, false, of_item("name")),
            of_item("id"),
            of_group(
                AggregateFn::Count,
                true,
                path(0, vec![], attribute(&m, "Post", "status"))
            ),
        ]
    );
    assert_eq!(q.group, Some(vec![of_item("id")]));
    assert_eq!(q.order[0].0, of_group(AggregateFn::Max, false, count));
    // The attributes of a link are those of the link that leads to the group's value.
    let (m, q) = query("select follows.id, max(follows@at) as last from User group by follows.id");
    assert_eq!(q.over.len(), 1);
    let Expr::Aggregate(last) = &q.select[1].expr else {
        panic!()
    };
    let follows = m.entity_named("User.follows").unwrap();
    let at = |a: &AttributeId| m.attribute(*a).entity == follows;
    assert!(
        matches!(&last.arg, Some(Expr::Path { node: 1, leaf: Leaf::Attribute(a, _), .. }) if at(a)),
        "{last:?}"
    );
}

#[test]
fn aggregates_group_only_without_a_path_to_many() {
    let (_, q) = query("select count(*) as n, max(at) as last from Post");
    assert_eq!(q.group, Some(vec![]));
    let (m, q) = query(
        "select name, count(followers) as n, sum(posts.lines.count) as s from User order by n desc",
    );
    assert_eq!(q.group, None);
    let Expr::Aggregate(n) = &q.select[1].expr else {
        panic!()
    };
    assert_eq!((n.over.len(), &n.arg), (1, &None));
    let Expr::Aggregate(s) = &q.select[2].expr else {
        panic!()
    };
    let lines = Many::Elements(attribute(&m, "Post", "lines"), vec![]);
    assert_eq!(
        s.over[1],
        Unfold {
            parent: 1,
            steps: vec![],
            many: lines
        }
    );
    assert_eq!(s.arg, Some(read(2, Leaf::Element(vec![1]))));
    assert_eq!(q.order[0].0, q.select[1].expr);
}

#[test]
fn comparisons_have_the_path_on_the_left_and_typed_constants() {
    let (m, q) = query(
        "select id from Post where '1970-01-02' <= at and status in (open, paid) and author = 5",
    );
    let at = path(0, vec![], attribute(&m, "Post", "at"));
    let day = Expr::Const(Value::Timestamp(86_400_000));
    assert_eq!(q.filter[0], Pred::Compare(at, Compare::Ge, day));
    let author = path(
        0,
        vec![reference(&m, "Post", "author")],
        attribute(&m, "User", "id"),
    );
    assert_eq!(
        q.filter[2],
        Pred::Compare(author, Compare::Eq, Expr::Const(Value::Int(5)))
    );
}

#[test]
fn a_key_of_several_parts_is_one_parameter() {
    let m = resolve(
        "question q (1/s) select id from Post where any labels (user.id = $u) and covers has $l",
    );
    assert_eq!(m.questions[0].params[1].ty, Type::Key(entity(&m, "Label")));
    let m = resolve("change c (1/s) { insert Post\n connect Label.posts from $label to $id }");
    let c = &m.changes[0];
    let named = |name: &str| c.params.iter().find(|p| p.name == name).unwrap();
    assert_eq!(named("label").ty, Type::Key(entity(&m, "Label")));
    assert_eq!(named("id").ty, Type::Key(entity(&m, "Post")));
    assert!(named("editor").optional && !named("title").optional);
    let Statement::Insert {
        values,
        upsert: false,
        ..
    } = &c.statements[0]
    else {
        panic!()
    };
    // Slot 0 is the type; the key of one scalar is the first part of the parameter.
    assert_eq!(values[0], (1, param(0, &[0])));
    let Statement::Insert {
        values,
        upsert: true,
        ..
    } = &c.statements[1]
    else {
        panic!()
    };
    assert_eq!(values[1], (1, param(0, &[])));
}

#[test]
fn for_each_types_its_list_by_use() {
    let m = resolve(
        "change c (1/s) for each $p in $ps { update Post set title = $p.title, author = $p.who where id = $p.id }",
    );
    let c = &m.changes[0];
    let Type::List(element, _) = &c.params[0].ty else {
        panic!("{:?}", c.params)
    };
    let Type::Record(fields) = &**element else {
        panic!()
    };
    let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["title", "who", "id"]);
    assert_eq!(fields[1].ty, Type::Key(entity(&m, "User")));
    assert_eq!(
        (c.params[1].ty.clone(), c.params[1].optional),
        ((**element).clone(), true)
    );
}

#[test]
fn rates_are_per_second_and_per_mix() {
    let m = resolve(
        "question a (6/min, stale 1h, within 2%) select id from User\nchange c (36/h) delete User where id = 1",
    );
    let q = &m.questions[0];
    assert_eq!(
        (q.rates[0], q.stale, q.within),
        (0.1, Some(3_600_000), Some(0.02))
    );
    assert_eq!(m.changes[0].rates, [0.01]);
    let m =
        resolve("question a (x 1, y 2) select id from User\nquestion b (z 3) select id from User");
    assert_eq!(m.mixes, ["x", "y", "z"]);
    assert_eq!(m.questions[1].rates, [0.0, 0.0, 3.0]);
}

#[test]
fn shapes_of_one_are_records() {
    let (m, q) = query("select author { id, posts { title } }, editor.name from Post");
    let author = reference(&m, "Post", "author");
    let Expr::Shape { present, items } = &q.select[0].expr else {
        panic!()
    };
    assert_eq!(
        **present,
        path(0, vec![author], attribute(&m, "User", "id"))
    );
    let Expr::Nested(0, inner) = &items[1].expr else {
        panic!()
    };
    assert_eq!(inner.over, [unfold(vec![author], Many::Back(author))]);
}

#[test]
fn what_expires_has_a_deadline_that_nobody_can_name() {
    let text = "
        entity A (10) { id int key } expires after 2d
        entity B is A (5) { x int }
        entity C is B (2) { y int } expires after 5s
        entity D (10) { id int key  z int }
        entity E (10) { id int key }
        change a (1/s) insert A
        change b (1/s) insert B
        change c (1/s) upsert C expires after 1ms
        change d (1/s) insert D expires after 3min
        change e (1/s) insert D
        change f (1/s) insert E
        question q (1/s) select * from D where id = $id";
    let (model, found) = querent_compiler::parse("expiry", text);
    let m = model.unwrap_or_else(|| panic!("{found:?}"));
    let day = 86_400_000;
    let lives: Vec<Option<u64>> = m
        .changes
        .iter()
        .map(|c| match c.statements[0] {
            Statement::Insert { expires, .. } => expires,
            _ => panic!(),
        })
        .collect();
    let expected = [
        Some(2 * day),
        Some(2 * day),
        Some(1),
        Some(180_000),
        None,
        None,
    ];
    assert_eq!(lives, expected);
    let roots: Vec<&str> = m
        .expiring()
        .map(|(root, _)| m.entity(root).name.as_str())
        .collect();
    assert_eq!(roots, ["A", "D"]);
    // One deadline for the whole hierarchy, last in its row; nothing gives or selects it.
    assert_eq!(m.deadline_slot(entity(&m, "C")), Some(4));
    assert_eq!(m.deadline_slot(entity(&m, "E")), None);
    assert_eq!(m.questions[0].query.select.len(), 2);
    assert!(
        m.changes
            .iter()
            .all(|c| c.params.iter().all(|p| !p.name.contains("expires")))
    );
}

#[test]
fn nothing_refuses_an_expiry() {
    let with = |fields: &str| {
        let text = format!(
            "entity A (10) {{ id int key }} expires after 2d
             entity B (10) {{ id int key  a -> A as bs (avg 1, max 9) on delete cascade }}
             entity C (10) {{ id int key  {fields} }}"
        );
        let (_, found) = querent_compiler::parse("expiry", &text);
        let found = found.into_iter().filter(Diagnostic::is_error);
        found.map(|d| (d.code.id, d.message)).collect::<Vec<_>>()
    };
    assert_eq!(with("b -> B as cs (avg 1, max 9) on delete cascade"), []);
    assert_eq!(with("a -> A? as cs (avg 1, max 9) on delete clear"), []);
    let refused = with("a -> A as cs (avg 1, max 9)");
    assert_eq!(
        refused,
        [(
            "E064",
            "`A` expires, and `C.a` refuses the delete of it".into()
        )]
    );
    let refused = with("b -> B as cs (avg 1, max 9) on delete refuse");
    let through = "`A` expires, and `C.b` refuses the delete of `B`, which falls with it";
    assert_eq!(refused, [("E064", through.into())]);
    let refused = with("list list<{ a -> A }> (avg 2, max 9)");
    assert_eq!(
        refused,
        [(
            "E064",
            "`A` expires, and `C.list` refuses the delete of it".into()
        )]
    );
}

/// What means the same is the same, however it is written: of one value, of elements, of what is not.
#[test]
fn the_same_said_otherwise_is_the_same() {
    let same: [&[&str]; 8] = [
        &[
            "tags = $t",
            "tags in ($t)",
            "tags has $t",
            "tags in ($t, $t)",
        ],
        &["author.followers.id = $u", "author.followers.id in ($u)"],
        &[
            "status = open",
            "status in (open)",
            "not status != open",
            "not status not in (open)",
        ],
        &["at >= $a", "not at < $a", "not not at >= $a"],
        &["at >= $a and title = $t", "not (at < $a or title != $t)"],
        &[
            "extra has $k",
            "extra[$k] is not null",
            "not extra[$k] is null",
        ],
        &[
            "not extra has $k",
            "extra[$k] is null",
            "not extra[$k] is not null",
        ],
        &["author.extra has $k", "author.extra[$k] is not null"],
    ];
    for said in same {
        let of = |condition: &&str| {
            let own = ["tags", "extra", "not extra"];
            let entity = if own.iter().any(|n| condition.starts_with(n)) {
                "User"
            } else {
                "Post"
            };
            query(&format!("select id from {entity} where {condition}"))
                .1
                .filter
        };
        let all: Vec<_> = said.iter().map(of).collect();
        assert!(all.iter().all(|f| *f == all[0]), "{said:?}: {all:?}");
    }
    // A comparison with null is false.
    let unlike = query("select id from Post where not editor.id = $u")
        .1
        .filter;
    assert!(matches!(unlike.as_slice(), [Pred::Not(_)]));
}

/// `connect` and `disconnect` take the same ends, and a `where` takes the place of those not given.
#[test]
fn a_disconnect_is_about_one_link_unless_it_says_which() {
    let filter = |statement: &str| {
        let m = resolve(&format!("change c (1/s) {statement}"));
        let Statement::Delete { entity, filter, .. } = m.changes[0].statements[0].clone() else {
            panic!("no delete");
        };
        assert_eq!(m.entity(entity).name, "Label.posts");
        let params = m.changes[0].params.iter();
        let params: Vec<String> = params.map(|p| p.name.clone()).collect();
        (filter, params)
    };
    let m = resolve("");
    // The key of a label has two parts, that of a post is one scalar.
    let end = |name: &str, param: u32| {
        let end = reference(&m, "Label.posts", name);
        let scalars = m.key_leaf_paths(m.reference(end).target, 0, &[], &[end]);
        let scalars = scalars.into_iter().zip(0..);
        let is = |(own, at)| {
            let given = Expr::Param(ParamId(param), vec![at]);
            Pred::Compare(own, Compare::Eq, given)
        };
        scalars.map(is).collect::<Vec<Pred>>()
    };
    let both = [end("from", 0), end("to", 1)].concat();
    assert_eq!(both.len(), 3);
    let of = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        filter("disconnect Label.posts"),
        (both.clone(), of(&["from", "to"]))
    );
    assert_eq!(
        filter("disconnect Label.posts from $a to $b"),
        (both.clone(), of(&["a", "b"]))
    );
    assert_eq!(
        filter("disconnect Label.posts to $b"),
        (both.clone(), of(&["from", "b"]))
    );
    assert_eq!(
        filter("disconnect Label.posts from $a where true"),
        (end("from", 0), of(&["a"]))
    );
    assert_eq!(
        filter("disconnect Label.posts where true"),
        (vec![], vec![])
    );
}

/// What all alternatives say is said once: predicates are true or false, so that changes nothing.
#[test]
fn a_factor_of_alternatives_is_said_once() {
    let filter = |condition: &str| {
        let (_, query) = query(&format!("select title from Post where {condition}"));
        query.filter
    };
    let same = [
        (
            "title = $t and status = paid or title = $t and at > $x",
            "title = $t and (status = paid or at > $x)",
        ),
        (
            "title = $t and (status = paid and at > $x or status = paid and at < $y)",
            "title = $t and status = paid and (at > $x or at < $y)",
        ),
        (
            "title = $t and status = paid or status = paid",
            "status = paid",
        ),
        (
            "not (status = paid and title = 'a' or status = paid and title = 'b')",
            "not (status = paid and (title = 'a' or title = 'b'))",
        ),
    ];
    for (one, other) in same {
        assert_eq!(filter(one), filter(other), "{one}");
    }
    let apart = filter("title = $t and status = paid or at > $x");
    assert!(matches!(apart.as_slice(), [Pred::Or(_)]), "{apart:?}");
}
