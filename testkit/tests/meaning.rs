//! The meaning of changes and questions, on a model made by hand.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::model::*;
use querent_compiler::value::Value;
use querent_testkit::{Eval, Facts, Oracle, Refusal, Sequences, apply, put, same_answer};

const USER: EntityId = EntityId(0);
const POST: EntityId = EntityId(1);
const AUTHOR: ReferenceId = ReferenceId(0);
const EDITOR: ReferenceId = ReferenceId(1);
const USER_ID: AttributeId = AttributeId(0);
const USER_NAME: AttributeId = AttributeId(1);
const POST_ID: AttributeId = AttributeId(2);
const POST_TAGS: AttributeId = AttributeId(3);
const POST_LINES: AttributeId = AttributeId(4);

fn size() -> Size {
    Size {
        avg: 1.0,
        max: None,
    }
}

fn attribute(name: &str, entity: EntityId, ty: Type) -> Attribute {
    Attribute {
        name: name.into(),
        entity,
        ty,
        optional: false,
        unique: false,
        sequence: None,
        cardinality: None,
        sharing: None,
        of: None,
    }
}

fn entity(name: &str, root: EntityId, fields: Vec<Field>) -> Entity {
    Entity {
        name: name.into(),
        kind: EntityKind::Root,
        root,
        subtypes: vec![],
        count: 10.0,
        own: fields.clone(),
        fields,
        key: vec![0],
        sides: vec![],
        expires: None,
        deadline: None,
    }
}

fn reference(name: &str, optional: bool, on_delete: OnDelete) -> Reference {
    Reference {
        name: name.into(),
        entity: POST,
        target: USER,
        optional,
        unique: false,
        avg: 1.0,
        max: 10.0,
        on_delete,
    }
}

fn model(author: OnDelete, editor: OnDelete) -> Model {
    let line = vec![
        RecordField {
            name: "who".into(),
            ty: Type::Key(USER),
            optional: false,
        },
        RecordField {
            name: "count".into(),
            ty: Type::Int,
            optional: true,
        },
    ];
    let mut name = attribute("name", USER, Type::Text(size()));
    name.unique = true;
    name.optional = true;
    let mut id = attribute("id", POST, Type::BigInt);
    id.sequence = Some(Sequence::Global);
    Model {
        entities: vec![
            entity(
                "User",
                USER,
                vec![Field::Attribute(USER_ID), Field::Attribute(USER_NAME)],
            ),
            entity(
                "Post",
                POST,
                vec![
                    Field::Attribute(POST_ID),
                    Field::Reference(AUTHOR),
                    Field::Reference(EDITOR),
                    Field::Attribute(POST_TAGS),
                    Field::Attribute(POST_LINES),
                ],
            ),
        ],
        attributes: vec![
            attribute("id", USER, Type::Int),
            name,
            id,
            attribute(
                "tags",
                POST,
                Type::Set(Box::new(Type::Text(size())), size()),
            ),
            attribute(
                "lines",
                POST,
                Type::List(Box::new(Type::Record(line)), size()),
            ),
        ],
        references: vec![
            reference("author", false, author),
            reference("editor", true, editor),
        ],
        ..Model::default()
    }
}

fn text(t: &str) -> Value {
    Value::Text(t.into())
}
fn user(id: i64) -> Value {
    Value::Key(vec![Value::Int(id)])
}
fn line(who: i64, count: Option<i64>) -> Value {
    Value::Record(vec![user(who), count.map_or(Value::Null, Value::Int)])
}

fn facts(model: &Model) -> (Facts, Sequences) {
    let (mut facts, mut sequences) = (Facts::default(), Sequences::default());
    for (id, name) in [
        (1, text("ann")),
        (2, text("bob")),
        (3, Value::Null),
        (4, Value::Null),
    ] {
        let row = vec![Value::Int(id), name];
        put(model, &[(USER, row)], &mut facts, &mut sequences, 0).unwrap();
    }
    let posts = [
        (
            user(1),
            user(2),
            vec!["a", "b"],
            vec![line(1, Some(2)), line(2, None)],
        ),
        (user(1), Value::Null, vec![], vec![]),
        (
            user(2),
            user(1),
            vec!["b"],
            vec![line(3, Some(5)), line(3, Some(5))],
        ),
    ];
    for (author, editor, tags, lines) in posts {
        let tags = Value::Set(tags.into_iter().map(text).collect());
        let row = vec![Value::Null, author, editor, tags, Value::List(lines)];
        put(model, &[(POST, row)], &mut facts, &mut sequences, 0).unwrap();
    }
    (facts, sequences)
}

fn change(statements: Vec<Statement>) -> Change {
    Change {
        name: "c".into(),
        rates: vec![1.0],
        atomic: false,
        params: vec![],
        statements,
    }
}
fn path(node: NodeId, steps: &[ReferenceId], leaf: Leaf) -> Expr {
    Expr::Path {
        node,
        element: vec![],
        steps: steps.to_vec(),
        leaf,
    }
}
fn own(attribute: AttributeId) -> Expr {
    path(0, &[], Leaf::Attribute(attribute, vec![]))
}
fn equals(expr: Expr, value: Value) -> Pred {
    Pred::Compare(expr, Compare::Eq, Expr::Const(value))
}
fn delete_user(id: i64) -> Statement {
    Statement::Delete {
        entity: USER,
        filter: vec![equals(own(USER_ID), Value::Int(id))],
        condition: None,
    }
}
fn try_change(model: &Model, statements: Vec<Statement>) -> (Facts, Result<(), Refusal>) {
    let (mut facts, mut sequences) = facts(model);
    let before = facts.clone();
    let result = apply(
        model,
        &change(statements),
        &[],
        &mut facts,
        &mut sequences,
        0,
    );
    if result.is_err() {
        assert_eq!(facts, before, "a refused change leaves nothing");
    }
    (facts, result)
}

#[test]
fn deletes_refuse_cascade_and_clear() {
    let refusing = model(OnDelete::Refuse, OnDelete::Clear);
    assert!(matches!(
        try_change(&refusing, vec![delete_user(1)]).1,
        Err(Refusal::Dangling { .. })
    ));
    let cascading = model(OnDelete::Cascade, OnDelete::Clear);
    // User 2 is in a line of post 1, which stays; post 3 would fall.
    assert!(matches!(
        try_change(&cascading, vec![delete_user(2)]).1,
        Err(Refusal::Dangling { .. })
    ));
    let (facts, result) = try_change(&cascading, vec![delete_user(1)]);
    assert_eq!(result, Ok(()));
    let left: Vec<_> = facts
        .of(&cascading, POST)
        .map(|(_, row)| (row[0].clone(), row[2].clone()))
        .collect();
    assert_eq!(left, vec![(Value::Int(3), Value::Null)]);
    // Judged on the final state: once its posts are gone, nothing refers to user 1.
    let posts = Statement::Delete {
        entity: POST,
        filter: vec![Pred::Or(vec![
            equals(path(0, &[AUTHOR], Leaf::Key), user(1)),
            equals(path(0, &[EDITOR], Leaf::Key), user(1)),
        ])],
        condition: None,
    };
    assert_eq!(try_change(&refusing, vec![delete_user(1), posts]).1, Ok(()));
}

#[test]
fn inserts_updates_and_conditions() {
    let model = model(OnDelete::Refuse, OnDelete::Clear);
    let insert = |id: i64, name: Value, upsert| Statement::Insert {
        entity: USER,
        values: vec![(0, Expr::Const(Value::Int(id))), (1, Expr::Const(name))],
        upsert,
        expires: None,
    };
    assert!(matches!(
        try_change(&model, vec![insert(1, text("x"), false)]).1,
        Err(Refusal::Exists { .. })
    ));
    assert!(matches!(
        try_change(&model, vec![insert(9, text("ann"), false)]).1,
        Err(Refusal::Duplicate { .. })
    ));
    assert!(matches!(
        try_change(&model, vec![insert(1 << 40, Value::Null, false)]).1,
        Err(Refusal::BadValue { .. })
    ));
    assert_eq!(
        try_change(&model, vec![insert(9, Value::Null, false)]).1,
        Ok(())
    );
    assert_eq!(
        try_change(&model, vec![insert(1, text("x"), true)]).1,
        Ok(())
    );
    let rename = |id: i64, to: &str, condition| Statement::Update {
        entity: USER,
        set: vec![(1, Expr::Const(text(to)))],
        filter: vec![equals(own(USER_ID), Value::Int(id))],
        condition,
    };
    // Unique is judged on the final state, so two may swap.
    assert_eq!(
        try_change(&model, vec![rename(1, "bob", None), rename(2, "ann", None)]).1,
        Ok(())
    );
    assert_eq!(try_change(&model, vec![rename(77, "x", None)]).1, Ok(()));
    let named = |n: &str| Some(equals(own(USER_NAME), text(n)));
    assert!(matches!(
        try_change(&model, vec![rename(77, "x", named("x"))]).1,
        Err(Refusal::NoneFound { .. })
    ));
    assert!(matches!(
        try_change(&model, vec![rename(1, "x", named("x"))]).1,
        Err(Refusal::Condition { .. })
    ));
    assert_eq!(
        try_change(&model, vec![rename(1, "x", named("ann"))]).1,
        Ok(())
    );
}

#[test]
fn sequences_count_on() {
    let model = model(OnDelete::Refuse, OnDelete::Clear);
    let (mut facts, mut sequences) = facts(&model);
    let empty = |v: fn(Vec<Value>) -> Value| Expr::Const(v(vec![]));
    let post = |who: i64| Statement::Insert {
        entity: POST,
        values: vec![
            (1, Expr::Const(user(who))),
            (3, empty(Value::Set)),
            (4, empty(Value::List)),
        ],
        upsert: false,
        expires: None,
    };
    let refused = apply(
        &model,
        &change(vec![post(1), post(50)]),
        &[],
        &mut facts,
        &mut sequences,
        0,
    );
    assert!(matches!(refused, Err(Refusal::Dangling { .. })));
    apply(
        &model,
        &change(vec![post(1), post(2)]),
        &[],
        &mut facts,
        &mut sequences,
        0,
    )
    .unwrap();
    let ids: Vec<_> = facts
        .of(&model, POST)
        .map(|(key, _)| key[0].clone())
        .collect();
    assert_eq!(ids, (1..=5).map(Value::Int).collect::<Vec<_>>());
}

fn item(expr: Expr) -> Item {
    Item {
        name: "x".into(),
        expr,
    }
}

fn ask(query: &Query) -> Vec<Vec<Value>> {
    let model = model(OnDelete::Refuse, OnDelete::Clear);
    let (facts, _) = facts(&model);
    let naive = Eval {
        model: &model,
        facts: &facts,
        params: &[],
    }
    .answer(query);
    let oracle = Oracle::load(&model, &facts).unwrap();
    let sql = oracle.answer(query, &[]).unwrap_or_else(|e| panic!("{e}"));
    same_answer(query, &[], &naive.rows, &sql).unwrap_or_else(|e| panic!("{e}"));
    naive.rows
}

fn query(anchor: EntityId, select: Vec<Expr>) -> Query {
    Query {
        anchor,
        over: vec![],
        subject: 0,
        filter: vec![],
        select: select.into_iter().map(item).collect(),
        group: None,
        order: vec![],
        ordered: 0,
        limit: None,
        page: None,
    }
}

#[test]
fn paths_nests_aggregates_and_groups() {
    let posts = |parent| Unfold {
        parent,
        steps: vec![],
        many: Many::Back(AUTHOR),
    };
    let lines = |parent| Unfold {
        parent,
        steps: vec![],
        many: Many::Elements(POST_LINES, vec![]),
    };
    let element = |i: u16| path(2, &[], Leaf::Element(vec![i]));
    let aggregate = |function, distinct, arg| {
        let over = vec![posts(0), lines(1)];
        Expr::Aggregate(Box::new(Aggregate {
            function,
            distinct,
            from: 0,
            over,
            arg,
        }))
    };
    let mut inner = query(
        USER,
        vec![
            path(1, &[], Leaf::Attribute(POST_ID, vec![])),
            path(1, &[EDITOR], Leaf::Key),
        ],
    );
    inner.over = vec![posts(0)];
    inner.subject = 1;
    inner.order = vec![(path(1, &[], Leaf::Key), Direction::Desc)];
    let mut top = query(
        USER,
        vec![
            own(USER_ID),
            aggregate(AggregateFn::Count, false, None),
            aggregate(AggregateFn::Count, true, Some(element(1))),
            aggregate(AggregateFn::Sum, false, Some(element(1))),
            Expr::Nested(0, Box::new(inner)),
        ],
    );
    top.order = vec![
        (own(USER_NAME), Direction::Asc),
        (path(0, &[], Leaf::Key), Direction::Asc),
    ];
    let nested = |rows: &[(i64, Value)]| {
        Value::List(
            rows.iter()
                .map(|(id, e)| Value::Record(vec![Value::Int(*id), e.clone()]))
                .collect(),
        )
    };
    let n = Value::Int;
    assert_eq!(
        ask(&top),
        vec![
            vec![n(3), n(0), n(0), Value::Null, nested(&[])],
            vec![n(4), n(0), n(0), Value::Null, nested(&[])],
            vec![
                n(1),
                n(2),
                n(1),
                n(2),
                nested(&[(2, Value::Null), (1, user(2))])
            ],
            vec![n(2), n(2), n(1), n(10), nested(&[(3, user(1))])],
        ]
    );

    let mut grouped = query(POST, vec![path(1, &[], Leaf::Element(vec![]))]);
    grouped.over = vec![Unfold {
        parent: 0,
        steps: vec![],
        many: Many::Elements(POST_TAGS, vec![]),
    }];
    grouped.group = Some(vec![path(1, &[], Leaf::Element(vec![]))]);
    let count = Aggregate {
        function: AggregateFn::Count,
        distinct: false,
        from: 0,
        over: vec![],
        arg: None,
    };
    grouped.select.push(item(Expr::Aggregate(Box::new(count))));
    grouped.order = vec![(path(1, &[], Leaf::Element(vec![])), Direction::Desc)];
    assert_eq!(
        ask(&grouped),
        vec![vec![text("b"), n(2)], vec![text("a"), n(1)]]
    );

    // Through a reference inside an element, under `any`, negated.
    let who = Expr::Path {
        node: 1,
        element: vec![0],
        steps: vec![],
        leaf: Leaf::Attribute(USER_NAME, vec![]),
    };
    let exists = Pred::Exists {
        from: 0,
        over: vec![Unfold {
            parent: 0,
            steps: vec![],
            many: Many::Elements(POST_LINES, vec![]),
        }],
        filter: Some(Box::new(equals(who, text("bob")))),
    };
    let mut without = query(POST, vec![own(POST_ID)]);
    without.filter = vec![Pred::Not(Box::new(exists))];
    let mut rows = ask(&without);
    rows.sort();
    assert_eq!(rows, vec![vec![n(2)], vec![n(3)]]);
}
