//! What is called with each input, and what must hold.

use querent::layout::{Column, KeyPart, Layout};
use querent::load::Input;
use querent::store::MAX_KEY;
use querent::{cursor, key};
use querent_compiler::codec::{from_json, from_text, to_json, to_text};
use querent_compiler::diagnostic::{self, Diagnostic, Severity, Style};
use querent_compiler::model::{Direction, Model, Type};
use std::sync::LazyLock;

/// Text of a model.
pub fn parse_target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (model, findings) = querent_compiler::parse("fuzz", &text);
    let failed = findings.iter().any(|d| d.severity == Severity::Error);
    assert_eq!(
        model.is_some(),
        !failed,
        "a model if and only if there is no error"
    );
    let _ = diagnostic::to_text(&findings, "fuzz", &text, Style::Plain);
    let _ = diagnostic::to_json(&findings, "fuzz", &text);
    if let Ok(formatted) = querent_compiler::format(&text) {
        let again = querent_compiler::format(&formatted);
        assert_eq!(again.as_ref(), Ok(&formatted), "fmt is idempotent");
        let (_, after) = querent_compiler::parse("fuzz", &formatted);
        assert_eq!(
            codes(&findings),
            codes(&after),
            "fmt changes no finding:\n{formatted}"
        );
    }
}

fn codes(findings: &[Diagnostic]) -> Vec<&'static str> {
    let mut codes: Vec<&str> = findings.iter().map(|d| d.code.id).collect();
    codes.sort_unstable();
    codes
}

/// A model with every type, for values that come from anywhere.
static MODEL: LazyLock<Model> = LazyLock::new(|| {
    let text = include_str!("every_type.querent");
    let (model, findings) = querent_compiler::parse("every_type.querent", text);
    model.unwrap_or_else(|| {
        panic!(
            "{}",
            diagnostic::to_text(&findings, "every_type", text, Style::Plain)
        )
    })
});

/// One input as JSON lines, as CSV and as a cell of each type.
pub fn codec_target(data: &[u8]) {
    let model = &*MODEL;
    // Readers are dear to make: each input goes to one entity, by its length.
    let roots: Vec<_> = model.roots().collect();
    if let Some(&entity) = data
        .len()
        .checked_rem(roots.len())
        .and_then(|at| roots.get(at))
    {
        let source = || std::io::Cursor::new(data.to_vec());
        Input::jsonl(model, entity, "fuzz.jsonl".into(), source()).for_each(drop);
        if let Ok(rows) = Input::csv(model, entity, "fuzz.csv".into(), source()) {
            rows.for_each(drop);
        }
    }
    let text = String::from_utf8_lossy(data);
    let json = serde_json::from_slice(data).unwrap_or_default();
    for attribute in &model.attributes {
        let ty = &attribute.ty;
        if let Ok(value) = from_text(model, ty, false, &text) {
            let printed = to_text(model, ty, &value);
            assert_eq!(
                from_text(model, ty, false, &printed),
                Ok(value),
                "{printed}"
            );
        }
        if let Ok(value) = from_json(model, ty, false, &json) {
            let printed = to_json(model, ty, &value);
            assert_eq!(
                from_json(model, ty, false, &printed),
                Ok(value),
                "{printed}"
            );
        }
    }
    for entity in model.roots() {
        let ty = Type::Key(entity);
        if let Ok(value) = from_json(model, &ty, true, &json) {
            let printed = to_json(model, &ty, &value);
            assert_eq!(
                from_json(model, &ty, true, &printed),
                Ok(value),
                "{printed}"
            );
        }
    }
}

/// Rows of every type of column, behind a key of parts that a layout finds in different ways.
static LAYOUT: LazyLock<Layout> = LazyLock::new(|| {
    let types = || MODEL.attributes.iter().map(|a| &a.ty);
    let part = |(at, ty): (usize, &Type)| KeyPart {
        ty: ty.clone(),
        optional: at % 3 == 1,
        direction: if at % 2 == 0 {
            Direction::Asc
        } else {
            Direction::Desc
        },
        hashed: at % 2 == 1,
    };
    let columns = MODEL.attributes.iter();
    Layout::new(
        types()
            .filter(|ty| matches!(ty, Type::Int | Type::Text(_) | Type::Date))
            .enumerate()
            .map(part)
            .collect(),
        columns
            .map(|a| Column {
                ty: a.ty.clone(),
                optional: a.optional,
            })
            .collect(),
    )
});

/// Stored bytes: as a row, as a key, as a part of a key of each type, as a cursor.
pub fn row_target(data: &[u8]) {
    let layout = &*LAYOUT;
    if let Ok(values) = layout.decode_row(data) {
        let again = layout.decode_row(&layout.encode_row(&[], &values));
        assert_eq!(again, Ok(values), "a row is read back");
    }
    if let Ok(values) = layout.decode_key(data, data)
        && data.len() <= MAX_KEY
    {
        assert_eq!(
            layout.encode_key(&values).as_deref(),
            Ok(data),
            "a key has one encoding"
        );
        let row = layout.encode_row(&values, &[]);
        assert_eq!(
            layout.decode_key(data, &row),
            Ok(values),
            "a key is read back"
        );
    }
    for column in 0..layout.key.len() + layout.columns.len() {
        let _ = layout.value_ref(data, data, column);
    }
    for ty in MODEL
        .attributes
        .iter()
        .map(|a| &a.ty)
        .filter(|ty| ty.is_scalar())
    {
        for (optional, direction) in [
            (false, Direction::Asc),
            (true, Direction::Asc),
            (false, Direction::Desc),
            (true, Direction::Desc),
        ] {
            part_target(data, ty, optional, direction);
        }
    }
    if let Ok(values) = cursor::decode(&String::from_utf8_lossy(data)) {
        assert_eq!(
            cursor::decode(&cursor::encode(&values)),
            Ok(values),
            "a cursor is read back"
        );
    }
}

fn part_target(data: &[u8], ty: &Type, optional: bool, direction: Direction) {
    let Ok((value, length)) = key::decode(data, ty, optional, direction) else {
        return;
    };
    assert_eq!(
        key::skip(data, ty, optional, direction),
        Ok(length),
        "skipped as decoded"
    );
    let mut encoded = Vec::new();
    let written = key::encode(&value, ty, optional, direction, &mut encoded);
    assert_eq!(written, Ok(()), "{value:?} of {ty:?}");
    assert_eq!(
        Some(encoded.as_slice()),
        data.get(..length),
        "{value:?} of {ty:?} has one encoding"
    );
    let again = key::decode(&encoded, ty, optional, direction);
    assert_eq!(
        again,
        Ok((value, encoded.len())),
        "a part of {ty:?} is read back"
    );
}
