use super::*;
use crate::row::RowError;
use crate::samples::{column_types, nested, scalar_types, value_or_null};
use proptest::prelude::*;
use querent_compiler::model::{Direction, Size};
use querent_compiler::value::Value;

const SIZE: Size = Size {
    avg: 10.0,
    max: None,
};

fn column() -> impl Strategy<Value = (Column, Value)> {
    (prop::sample::select(column_types()), any::<bool>()).prop_flat_map(|(ty, optional)| {
        let value = value_or_null(&ty, optional);
        (Just(Column { ty, optional }), value)
    })
}

fn part() -> impl Strategy<Value = (KeyPart, Value)> {
    let direction = prop_oneof![Just(Direction::Asc), Just(Direction::Desc)];
    (
        prop::sample::select(scalar_types()),
        any::<bool>(),
        direction,
        any::<bool>(),
        0..3000_usize,
    )
        .prop_flat_map(|(ty, optional, direction, hashed, long)| {
            // Only what is hashed may be long.
            let lengthen = move |value| match value {
                Value::Text(text) if hashed => Value::Text(text.repeat(long / 10)),
                Value::Blob(bytes) if hashed => Value::Blob(bytes.repeat(long / 10)),
                value => value,
            };
            let value = value_or_null(&ty, optional).prop_map(lengthen);
            (
                Just(KeyPart {
                    ty,
                    optional,
                    direction,
                    hashed,
                }),
                value,
            )
        })
}

fn row() -> impl Strategy<Value = (Layout, Vec<Value>, Vec<Value>)> {
    // Some with more nulls than the first bytes of a row tell of.
    let columns = prop_oneof![
        4 => prop::collection::vec(column(), 0..12),
        1 => prop::collection::vec(column(), 40..80),
    ];
    (prop::collection::vec(part(), 0..5), columns).prop_map(|(parts, columns)| {
        let (parts, key): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let (columns, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        (Layout::new(parts, columns), key, values)
    })
}

fn read_all(layout: &Layout, key: &[u8], row: &[u8]) -> Vec<Result<Value, RowError>> {
    (0..=layout.key.len() + layout.columns.len())
        .map(|column| layout.value_ref(key, row, column).map(ValueRef::into_value))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn texts_checked_together_are_those_checked_alone(
        values in prop::collection::vec((any::<bool>(), prop::option::of(".{0,40}")), 1..7),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        // Blobs between texts end a run.
        let columns = values.iter().map(|(text, _)| Column {
            ty: if *text { Type::Text(SIZE) } else { Type::Blob(SIZE) },
            optional: true,
        });
        let layout = Layout::new(vec![], columns.collect());
        let stored: Vec<Value> = values.iter().map(|(text, value)| match value {
            None => Value::Null,
            Some(value) if *text => Value::Text(value.clone()),
            Some(value) => Value::Blob(value.clone().into_bytes()),
        }).collect();
        let mut row = layout.encode_row(&[], &stored);
        if let Some((at, byte)) = damage {
            let at = at.index(row.len());
            row[at] = byte;
        }
        let run = TextRun::longest(&layout, 0..values.len());
        let checked = run.and_then(|run| run.check(&row));
        let text_of = |slot| checked?.text(&run?.place(slot)?);
        for column in 0..values.len() {
            let slot = layout.common_slot(column);
            if let Some(text) = text_of(slot) {
                prop_assert_eq!(slot.text(&row), Some(text));
            }
        }
        let longest = values.split(|(text, _)| !text).map(<[_]>::len).max();
        prop_assert_eq!(run.map_or(0, |run| run.len()), longest.unwrap_or(0));
        // In a row as it was written, all of a run is checked at once. Of a row that is a text of
        // one byte or none there is too little to look at its end with a word: it is looked at by
        // itself.
        let texts = values.iter().filter(|(text, _)| *text).count();
        if damage.is_none() && run.is_some_and(|run| run.len() == texts) {
            for (column, value) in stored.iter().enumerate() {
                if let Value::Text(value) = value
                    && (stored.len() > 1 || value.len() > 1)
                {
                    prop_assert_eq!(text_of(layout.common_slot(column)), Some(value.as_str()));
                }
            }
        }
    }

    #[test]
    fn rows_come_back((layout, key, values) in row()) {
        let (k, r) = (layout.encode_key(&key).unwrap(), layout.encode_row(&key, &values));
        prop_assert_eq!(r[0], NARROW);
        prop_assert_eq!(layout.decode_key(&k, &r), Ok(key.clone()));
        prop_assert_eq!(layout.decode_row(&r), Ok(values.clone()));
        let mut read = read_all(&layout, &k, &r);
        let beyond = matches!(read.pop(), Some(Err(RowError::NoColumn { .. })));
        prop_assert!(beyond);
        let expected: Vec<_> = key.into_iter().chain(values).map(Ok).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn values_that_do_not_fit_are_kept((layout, key, _) in row(), values in prop::collection::vec(nested(), 0..14)) {
        let row = layout.encode_row(&key, &values);
        let mut expected = values;
        if expected.len() < layout.columns.len() || layout.key.iter().any(|p| p.hashed) {
            expected.resize(layout.columns.len(), Value::Null);
        }
        prop_assert_eq!(layout.decode_row(&row), Ok(expected.clone()));
        for (i, value) in expected.iter().enumerate().take(layout.columns.len()) {
            let read = layout.value_ref(&[], &row, layout.key.len() + i).unwrap();
            prop_assert!(read == *value);
        }
    }

    #[test]
    fn damaged_rows_are_errors_or_values_never_a_panic(
        (layout, key, values) in row(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let damage = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            if !bytes.is_empty() {
                for (at, byte) in &flips {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            bytes
        };
        let (k, r) = (layout.encode_key(&key).unwrap(), layout.encode_row(&key, &values));
        let (k, r) = (damage(&k), damage(&r));
        read_all(&layout, &k, &r);
        let _ = (layout.decode_key(&k, &r), layout.decode_row(&r));
    }

    #[test]
    fn random_bytes_are_errors_or_values_never_a_panic(
        (layout, _, _) in row(),
        first in prop_oneof![Just(NARROW), Just(WIDE), Just(LOOSE), any::<u8>()],
        bytes in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut row = vec![first];
        row.extend(&bytes);
        read_all(&layout, &bytes, &row);
        let _ = (layout.decode_key(&bytes, &row), layout.decode_row(&row));
    }
}

#[test]
fn the_bytes_are_those_of_format_1() {
    let column = |ty, optional| Column { ty, optional };
    let layout = Layout::new(
        vec![],
        vec![
            column(Type::Text(SIZE), false),
            column(Type::Int, true),
            column(Type::Text(SIZE), true),
            column(Type::Bool, false),
        ],
    );
    let row = layout.encode_row(
        &[],
        &[
            Value::Text("hi".into()),
            Value::Int(258),
            Value::Null,
            Value::Bool(true),
        ],
    );
    assert_eq!(row, [0x10, 0b10, 2, 1, 0, 0, 1, 2, 0, 2, 0, b'h', b'i']);
    assert_eq!(layout.encode_key(&[]), Ok(vec![0]));
    assert_eq!(layout.decode_key(&[0], &row), Ok(vec![]));
}

#[test]
fn a_cut_value_is_in_the_row_and_belongs_to_its_key() {
    let part = KeyPart {
        ty: Type::Text(SIZE),
        optional: false,
        direction: Direction::Asc,
        hashed: true,
    };
    let layout = Layout::new(vec![part], vec![]);
    let long = |c: &str| [Value::Text(c.repeat(5000))];
    let short = [Value::Text("short".into())];
    let (key, row) = (
        layout.encode_key(&long("a")).unwrap(),
        layout.encode_row(&long("a"), &[]),
    );
    assert_eq!((key.len(), key[0]), (128, 2));
    assert_eq!(layout.decode_key(&key, &row), Ok(long("a").to_vec()));
    assert_eq!(layout.decode_row(&row), Ok(vec![]));
    let other = layout.encode_row(&long("b"), &[]);
    assert_eq!(
        layout.decode_key(&key, &other),
        Err(RowError::Value("a value of another key"))
    );
    let none = layout.encode_row(&short, &[]);
    assert!(layout.decode_key(&key, &none).is_err());
    assert!(layout.value_ref(&key, &none, 0).is_err());
    assert_eq!(layout.encode_key(&short).unwrap(), b"\x01short\0");
    // An ordered part is never cut.
    let part = KeyPart {
        hashed: false,
        ..layout.key[0].clone()
    };
    let refused = Layout::new(vec![part], vec![]).encode_key(&long("a"));
    assert!(matches!(
        refused,
        Err(crate::key::KeyError::TooLong {
            found: 5001,
            max: 1982
        })
    ));
}

#[test]
fn long_rows_have_wide_ends() {
    let layout = Layout::new(
        vec![],
        vec![
            Column {
                ty: Type::Text(SIZE),
                optional: false
            };
            2
        ],
    );
    for length in [65_535, 65_536, 100_000] {
        let values = [Value::Text("x".repeat(length)), Value::Text(String::new())];
        let row = layout.encode_row(&[], &values);
        assert_eq!(row[0], if length > 65_535 { WIDE } else { NARROW });
        assert_eq!(layout.decode_row(&row), Ok(values.to_vec()));
    }
}
