#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::model::{
    Attribute, AttributeId, Entity, EntityKind, Enum, EnumId, OnDelete, RecordField, Reference,
    ReferenceId, Sequence, Size,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;

const SIZE: Size = Size {
    avg: 5.0,
    max: None,
};

fn text() -> Type {
    Type::Text(SIZE)
}

/// Adds an entity of attributes (name, type, optional) and references (name, target, optional).
struct Builder(Model);

impl Builder {
    fn entity(&mut self, name: &str, kind: EntityKind) -> EntityId {
        let id = EntityId(self.0.entities.len() as u32);
        let root = match kind {
            EntityKind::Sub(above) => self.0.entity(above).root,
            _ => id,
        };
        if root != id {
            let top = &mut self.0.entities[root.index()];
            top.subtypes.push(id);
            if top.fields.first() != Some(&Field::Type) {
                top.fields.insert(0, Field::Type);
                top.key.iter_mut().for_each(|slot| *slot += 1);
            }
        }
        self.0.entities.push(Entity {
            name: name.into(),
            kind,
            root,
            subtypes: vec![],
            count: 10.0,
            own: vec![],
            fields: vec![],
            key: vec![],
            sides: vec![],
            expires: None,
            deadline: None,
        });
        id
    }

    fn push(&mut self, entity: EntityId, field: Field, key: bool) {
        let root = self.0.entity(entity).root;
        self.0.entities[entity.index()].own.push(field);
        let root = &mut self.0.entities[root.index()];
        if key {
            root.key.push(root.fields.len());
        }
        root.fields.push(field);
    }

    fn attribute(&mut self, entity: EntityId, name: &str, ty: Type, optional: bool, key: bool) {
        let id = AttributeId(self.0.attributes.len() as u32);
        self.0.attributes.push(Attribute {
            name: name.into(),
            entity,
            ty,
            optional,
            unique: false,
            sequence: None,
            cardinality: None,
            sharing: None,
            of: None,
        });
        self.push(entity, Field::Attribute(id), key);
    }

    fn reference(&mut self, entity: EntityId, name: &str, target: EntityId, opt: bool, key: bool) {
        let id = ReferenceId(self.0.references.len() as u32);
        self.0.references.push(Reference {
            name: name.into(),
            entity,
            target,
            optional: opt,
            unique: false,
            avg: 1.0,
            max: 1.0,
            on_delete: OnDelete::Refuse,
        });
        self.push(entity, Field::Reference(id), key);
    }
}

fn model() -> Model {
    let mut b = Builder(Model::default());
    b.0.enums.push(Enum {
        name: "Color".into(),
        members: vec!["red".into(), "green".into()],
    });
    let user = b.entity("User", EntityKind::Root);
    b.attribute(user, "id", Type::BigInt, false, true);
    b.attribute(
        user,
        "name",
        Type::Text(Size {
            avg: 5.0,
            max: Some(8.0),
        }),
        false,
        false,
    );
    b.attribute(user, "address", address(), true, false);
    b.reference(user, "boss", user, true, false);
    b.attribute(user, "boss@since", Type::Date, true, false);
    let label = b.entity("Label", EntityKind::Root);
    b.reference(label, "user", user, false, true);
    b.attribute(label, "name", text(), false, true);
    let mail = b.entity("Mail", EntityKind::Root);
    b.attribute(mail, "id", Type::BigInt, false, true);
    b.reference(mail, "label", label, true, false);
    b.attribute(
        mail,
        "tags",
        Type::Set(Box::new(text()), SIZE),
        false,
        false,
    );
    b.0.attributes.iter_mut().rev().nth(1).unwrap().sequence = Some(Sequence::Global);
    let product = b.entity("Product", EntityKind::Root);
    b.attribute(product, "id", Type::Int, false, true);
    let bike = b.entity("Bike", EntityKind::Sub(product));
    b.attribute(bike, "gears", Type::Int, false, false);
    let link = b.entity("User.follows", EntityKind::Link);
    b.reference(link, "from", user, false, true);
    b.reference(link, "to", user, false, true);
    b.attribute(link, "at", Type::Timestamp, false, false);
    b.0
}

fn address() -> Type {
    let field = |name: &str, ty, optional| RecordField {
        name: name.into(),
        ty,
        optional,
    };
    Type::Record(vec![
        field("city", text(), false),
        field("zip", Type::Int, true),
    ])
}

fn entity(model: &Model, name: &str) -> EntityId {
    model.entity_named(name).unwrap()
}

fn int_key(n: i64) -> Value {
    Value::Key(vec![Value::Int(n)])
}

fn scalar_and_type() -> impl Strategy<Value = (Type, Value)> {
    let float = prop_oneof![any::<f64>(), Just(f64::INFINITY), Just(0.0)]
        .prop_filter_map("a number", |x| {
            scalar::float_value(x).map(|v| (Type::Float, v))
        });
    let point = (-90.0..=90.0, -180.0..=180.0)
        .prop_map(|(a, b): (f64, f64)| (Type::Point, Value::Point(a + 0.0, b + 0.0)));
    let decimal = (any::<i64>(), 0u32..=28).prop_map(|(n, scale)| {
        let mut number = Decimal::from_i128_with_scale(i128::from(n), scale).normalize();
        number = if number.is_zero() {
            Decimal::ZERO
        } else {
            number
        };
        (Type::Decimal, Value::Decimal(number))
    });
    let timeuuid = any::<[u8; 16]>().prop_map(|mut id| {
        id[6] = id[6] & 0x0f | 0x10;
        (Type::TimeUuid, Value::TimeUuid(id))
    });
    let any_scalar = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter_map("finite", |x| scalar::float_value(x)
            .filter(|_| x.is_finite())),
        "-?[1-9][0-9]{19,27}|-?[1-9][0-9]{9}\\.[0-9]{9}[1-9]"
            .prop_map(|digits| Value::Decimal(Decimal::from_str_exact(&digits).unwrap())),
        ".*".prop_map(Value::Text),
        "-?[0-9]{1,30}|true|null|\"a\"".prop_map(Value::Text),
    ]
    .prop_map(|v| (Type::Any, crate::value::ops::of_any(v)));
    prop_oneof![
        any::<bool>().prop_map(|b| (Type::Bool, Value::Bool(b))),
        any::<i32>().prop_map(|n| (Type::Int, Value::Int(n.into()))),
        any::<i64>().prop_map(|n| (Type::BigInt, Value::Int(n))),
        float,
        decimal,
        ".*".prop_map(|t| (text(), Value::Text(t))),
        vec(any::<u8>(), 0..20).prop_map(|b| (Type::Blob(SIZE), Value::Blob(b))),
        any::<i32>().prop_map(|d| (Type::Date, Value::Date(d))),
        any::<i64>().prop_map(|t| (Type::Timestamp, Value::Timestamp(t))),
        any::<[u8; 16]>().prop_map(|id| (Type::Uuid, Value::Uuid(id))),
        timeuuid,
        point,
        any_scalar,
        (0u16..2).prop_map(|m| (Type::Enum(EnumId(0)), Value::Enum(m))),
        (0u16..2).prop_map(|m| (Type::Tag(EntityId(3)), Value::Enum(m))),
        any::<i64>().prop_map(|n| (Type::Key(EntityId(0)), int_key(n))),
        (any::<i64>(), ".*").prop_map(|(n, t)| {
            (
                Type::Key(EntityId(1)),
                Value::Key(vec![Value::Int(n), Value::Text(t)]),
            )
        }),
        ".*".prop_map(|t| (Type::Cursor, Value::Text(t))),
    ]
}

fn value_and_type() -> impl Strategy<Value = (Type, Value)> {
    let nest = |(ty, v): (Type, Value), (other, w): (Type, Value), shape: u8, times: usize| {
        let items = vec![v.clone(); times];
        match shape {
            0 => (Type::List(Box::new(ty), SIZE), Value::List(items)),
            1 => {
                let set = items.into_iter().take(1).collect();
                (Type::Set(Box::new(ty), SIZE), Value::Set(set))
            }
            2 => {
                let map = items.into_iter().take(1).map(|k| (k, w.clone())).collect();
                (
                    Type::Map(Box::new(ty), Box::new(other), SIZE),
                    Value::Map(map),
                )
            }
            _ => {
                let field = |name: &str, ty, optional| RecordField {
                    name: name.into(),
                    ty,
                    optional,
                };
                let ty = Type::Record(vec![field("a", ty, false), field("b", other, true)]);
                let w = if times == 0 { Value::Null } else { w };
                (ty, Value::Record(vec![v, w]))
            }
        }
    };
    scalar_and_type()
        .boxed()
        .prop_recursive(3, 12, 2, move |inner| {
            (inner.clone(), inner, 0u8..4, 0usize..3)
                .prop_map(move |(a, b, shape, times)| nest(a, b, shape, times))
        })
}

proptest! {
    #[test]
    fn json_is_read_back((ty, value) in value_and_type()) {
        let model = model();
        let json = to_json(&model, &ty, &value);
        let printed = json.to_string();
        prop_assert_eq!(from_json(&model, &ty, false, &json), Ok(value.clone()), "{}", printed);
        let again = serde_json::from_str(&printed).unwrap();
        prop_assert_eq!(from_json(&model, &ty, false, &again), Ok(value), "{}", printed);
    }

    #[test]
    fn text_is_read_back((ty, value) in value_and_type()) {
        let model = model();
        let cell = to_text(&model, &ty, &value);
        prop_assert_eq!(from_text(&model, &ty, false, &cell), Ok(value), "{}", cell);
    }

    #[test]
    fn no_text_panics((ty, _) in value_and_type(), cell in ".*|[-+0-9eE.:TZ {}\\[\\]\",]*") {
        let model = model();
        let _ = from_text(&model, &ty, true, &cell);
    }
}

#[test]
fn sets_are_sorted_and_distinct_and_maps_sorted() {
    let model = model();
    let set = Type::Set(Box::new(Type::Int), SIZE);
    let value = from_json(&model, &set, false, &json!([3, 1, 3])).unwrap();
    assert_eq!(value, Value::Set(vec![Value::Int(1), Value::Int(3)]));
    let map = Type::Map(Box::new(Type::Int), Box::new(Type::Bool), SIZE);
    let value = from_json(&model, &map, false, &json!([[2, true], [1, false]])).unwrap();
    assert_eq!(
        to_json(&model, &map, &value),
        json!([[1, false], [2, true]])
    );
    let twice = from_json(&model, &map, false, &json!([[1, true], [1, false]])).unwrap_err();
    assert_eq!(
        twice.to_string(),
        "found the key 1 twice, expected each key once"
    );
}

#[test]
fn decimals_are_exact_or_refused() {
    let model = model();
    let read = |t: &str| {
        let value = from_json(
            &model,
            &Type::Decimal,
            false,
            &serde_json::from_str(t).unwrap(),
        )?;
        Ok::<_, CodecError>(to_text(&model, &Type::Decimal, &value))
    };
    assert_eq!(read("1.10").unwrap(), "1.1");
    assert_eq!(read("-0").unwrap(), "0");
    assert_eq!(
        read("12345678901234567890.12345678").unwrap(),
        "12345678901234567890.12345678"
    );
    assert_eq!(
        read("\"0.10000000000000000000000000000000000000\"").unwrap(),
        "0.1"
    );
    assert_eq!(read("1.5e3").unwrap(), "1500");
    assert_eq!(
        read("-9999999999999999999999999999").unwrap(),
        "-9999999999999999999999999999"
    );
    assert_eq!(read("1e27").unwrap(), "1000000000000000000000000000");
    assert_eq!(read("15E-3").unwrap(), "0.015");
    for beyond in [
        "1e40",
        "1.23456789012345678901234567891",
        // These have 29 digits, and fit into 96 bits.
        "10000000000000000000000000000",
        "1e28",
        "-7922816251426433759354395033.5",
        "1.2345678901234567890123456789",
        "1e-40",
        "1e99999999999",
    ] {
        assert!(read(beyond).is_err(), "{beyond}");
    }
    assert!(from_text(&model, &Type::Decimal, false, "1_000").is_err());
}

#[test]
fn numbers_out_of_range_and_not_a_number_are_refused() {
    let model = model();
    for (ty, cell) in [
        (Type::Int, "2147483648"),
        (Type::BigInt, "9223372036854775808"),
        (Type::Float, "NaN"),
        (Type::Float, "1e999"),
        (Type::Int, "1.0"),
        (Type::Int, ""),
        (Type::Bool, "True"),
        (Type::TimeUuid, "123e4567-e89b-42d3-a456-426614174000"),
        (Type::Point, "[91, 0]"),
        (Type::Blob(SIZE), "a?"),
    ] {
        assert!(from_text(&model, &ty, false, cell).is_err(), "{cell}");
    }
    assert_eq!(
        from_text(&model, &Type::Float, false, "-0.0"),
        Ok(Value::Float(0.0))
    );
    assert_eq!(from_text(&model, &Type::Int, true, ""), Ok(Value::Null));
    let beyond = from_json(
        &model,
        &Type::Any,
        false,
        &serde_json::from_str("99999999999999999999999999999").unwrap(),
    );
    assert_eq!(
        beyond.unwrap_err().to_string(),
        "found the number `99999999999999999999999999999`, expected a float, or a whole number of \
         28 digits at most"
    );
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let model = model();
    let say = |name: &str, json| {
        entity_row_from_json(&model, entity(&model, name), &json)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        say(
            "User",
            json!({"id": 1, "name": "a", "address": {"city": 5}})
        ),
        "address.city: found the number 5, expected text"
    );
    assert_eq!(
        say("User", json!({"id": 1, "nmae": "a"})),
        "found the field `nmae`, expected a name of User; did you mean `name`?"
    );
    assert_eq!(
        say("User", json!({"id": 1})),
        "name: found nothing, expected text; name must have a value"
    );
    assert_eq!(
        say("User", json!({"id": 1, "name": "a longer name"})),
        "name: found text of 13 bytes, expected at most 8 bytes, as the model declares"
    );
    assert_eq!(
        say("Mail", json!({"id": 1, "tags": ["a", 2]})),
        "tags[1]: found the number 2, expected text"
    );
    assert_eq!(
        say("Mail", json!({"id": 1, "tags": [], "label": 3})),
        "label: found the number 3, expected the key of Label: an object with user, name"
    );
    assert_eq!(
        say("Product", json!({"id": 1, "gears": 3})),
        "found the field `gears`, expected a name of Product; \
         `gears` belongs to Bike; this is a Product"
    );
    assert_eq!(
        from_text(&model, &Type::Enum(EnumId(0)), false, "rde")
            .unwrap_err()
            .to_string(),
        "found `rde`, expected a member of Color; did you mean `red`?"
    );
}

#[test]
fn rows_from_json() {
    let model = model();
    let row = |name: &str, json| entity_row_from_json(&model, entity(&model, name), &json);
    assert_eq!(
        row(
            "User",
            json!({"id": 7, "name": "ann", "boss": 1, "boss@since": "2020-01-01"})
        ),
        Ok(vec![
            Value::Int(7),
            Value::Text("ann".into()),
            Value::Null,
            int_key(1),
            Value::Date(18_262),
        ])
    );
    assert!(
        row("User", json!({"id": 7, "name": "ann"})).is_ok(),
        "no boss, so no boss@since"
    );
    assert!(
        row("User", json!({"id": 7, "name": "ann", "boss": 1})).is_ok(),
        "what belongs to an optional reference is optional"
    );
    let key = Value::Key(vec![Value::Int(1), Value::Text("x".into())]);
    assert_eq!(
        row(
            "Mail",
            json!({"label": {"user": 1, "name": "x"}, "tags": []})
        ),
        Ok(vec![Value::Null, key, Value::Set(vec![])])
    );
    let bike = Ok(vec![Value::Enum(1), Value::Int(1), Value::Int(21)]);
    assert_eq!(row("Bike", json!({"id": 1, "gears": 21})), bike);
    assert_eq!(
        row("Product", json!({"id": 1, "gears": 21, "type": "Bike"})),
        bike
    );
    let product = Ok(vec![Value::Enum(0), Value::Int(1), Value::Null]);
    assert_eq!(row("Product", json!({"id": 1})), product);
    assert_eq!(
        row("User.follows", json!({"from": 1, "to": 2, "at": 5})),
        Ok(vec![int_key(1), int_key(2), Value::Timestamp(5)])
    );
}

#[test]
fn rows_from_records() {
    let model = model();
    let layout = |name: &str, header: &str| {
        RecordLayout::new(
            &model,
            entity(&model, name),
            Named::Column,
            &header.split(',').collect::<Vec<_>>(),
        )
    };
    let row = |name: &str, header: &str, cells: &str| {
        layout(name, header)?.row(&model, &cells.split('|').collect::<Vec<_>>())
    };
    let key = Value::Key(vec![Value::Int(1), Value::Text("x".into())]);
    let mail = Ok(vec![Value::Int(9), key, Value::Set(vec![])]);
    assert_eq!(row("Mail", "tags,id,label.name,label.user", "|9|x|1"), mail);
    assert_eq!(
        row("Mail", "tags,id,label.name,label.user.id", "|9|x|1"),
        mail
    );
    assert_eq!(
        row("Mail", "id,tags,label", r#"9|[]|{"user":1,"name":"x"}"#),
        mail
    );
    let no_label = Ok(vec![Value::Null, Value::Null, Value::Set(vec![])]);
    assert_eq!(
        row("Mail", "id,tags,label.user,label.name", "|||"),
        no_label
    );
    assert_eq!(
        row("User", "id,name,address.city", "1||Berlin").map(|row| row[2].clone()),
        Ok(Value::Record(vec![
            Value::Text("Berlin".into()),
            Value::Null
        ]))
    );
    assert_eq!(
        row("Product", "type,id,gears", "Bike|1|21"),
        Ok(vec![Value::Enum(1), Value::Int(1), Value::Int(21)])
    );
    assert_eq!(
        row("Product", "type,id,gears", "|1|"),
        Ok(vec![Value::Enum(0), Value::Int(1), Value::Null])
    );
    let say = |e: Result<Vec<Value>, CodecError>| e.unwrap_err().to_string();
    assert_eq!(
        say(row("Product", "type,id,gears", "|1|3")),
        "found the field `gears`, expected a name of Product; \
         `gears` belongs to Bike; this is a Product"
    );
    assert_eq!(
        say(row("Mail", "id,tags,label.usr,label.name", "")),
        "found the column `label.usr`, expected a name of its parts; did you mean `user`?"
    );
    assert_eq!(
        say(row("Mail", "id,tgas", "")),
        "found the column `tgas`, expected a name of Mail; did you mean `tags`?"
    );
    assert_eq!(
        say(row("Mail", "id,tags,label.name", "")),
        "label.user: found no column, expected the key of User: its id"
    );
    assert_eq!(
        say(row("Mail", "id", "")),
        "found no column `tags`, expected one, as every Mail has it; the columns are: id"
    );
    assert_eq!(
        say(row("Mail", "id,tags,id", "")),
        "found the column `id` twice, expected each name once; a field is one column, or one column for each of its parts"
    );
    assert_eq!(
        say(row("Mail", "id,tags", "1")),
        "found 1 cells, expected 2, as in the header"
    );
    assert_eq!(
        say(row("User", "id,name", "x|a")),
        "id: found `x`, expected a whole number"
    );
    // The same as arguments: nobody who wrote those has seen a column.
    let arguments = |name: &str, names: &[&str]| {
        let layout = RecordLayout::new(&model, entity(&model, name), Named::Argument, names);
        layout.unwrap_err().to_string()
    };
    assert_eq!(
        arguments("User", &["address.city"]),
        "found no argument `id`, `name`, expected one of each, as every User has them; \
         add id=VALUE (a whole number) name=VALUE (text)"
    );
    assert_eq!(
        arguments("Mail", &["id", "tags", "label.name"]),
        "label.user: found no argument, expected the key of User: its id"
    );
    assert_eq!(
        arguments("Mail", &["id", "tgas"]),
        "found the argument `tgas`, expected a name of Mail; did you mean `tags`?"
    );
    assert_eq!(
        arguments("Mail", &["id", "tags", "id"]),
        "found the argument `id` twice, expected each name once; a field is one argument, or one \
         argument for each of its parts"
    );
}
