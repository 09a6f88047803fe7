#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use querent_compiler::model::{Attribute, AttributeId, Entity, EntityKind, Field, Size, Type};

const USER: EntityId = EntityId(0);

/// `entity User { id int key, name text? }`
fn model() -> Model {
    let text = Type::Text(Size {
        avg: 5.0,
        max: None,
    });
    let attribute = |name: &str, ty, optional| Attribute {
        name: name.into(),
        entity: USER,
        ty,
        optional,
        unique: false,
        sequence: None,
        cardinality: None,
        sharing: None,
        of: None,
    };
    let fields: Vec<Field> = (0..2).map(|i| Field::Attribute(AttributeId(i))).collect();
    Model {
        name: "m".into(),
        attributes: vec![
            attribute("id", Type::Int, false),
            attribute("name", text, true),
        ],
        entities: vec![Entity {
            name: "User".into(),
            kind: EntityKind::Root,
            root: USER,
            subtypes: vec![],
            count: 1.0,
            own: fields.clone(),
            fields,
            key: vec![0],
            sides: vec![],
            expires: None,
            deadline: None,
        }],
        ..Model::default()
    }
}

/// Each row as `line id name`, or `line !reason`.
fn show(input: Input<'_>) -> Vec<String> {
    input
        .map(|row| row.unwrap())
        .map(|InputRow { line, row, .. }| match row {
            Ok(values) => match &values[..] {
                [Value::Int(id), Value::Text(name)] => format!("{line} {id} {name}"),
                [Value::Int(id), Value::Null] => format!("{line} {id}"),
                other => panic!("{other:?}"),
            },
            Err(reject) => format!("{line} !{}", reject.reason),
        })
        .collect()
}

fn csv(text: &str) -> Vec<String> {
    let (model, text) = (model(), io::Cursor::new(text.to_owned()));
    show(Input::csv(&model, USER, "u.csv".into(), text).unwrap())
}

#[test]
fn csv_with_all_delimiters_marks_and_line_ends() {
    for text in [
        "id,name\n1,a\n2,\n",
        "id|name\n1|a\n2|\n",
        "name;id\na;1\n;2",
        "id\tname\n1\ta\n2\t\n",
    ] {
        assert_eq!(csv(text), ["2 1 a", "3 2"], "{text}");
    }
    assert_eq!(csv("\u{feff}id,name\r\n1,a\r\n2,\r\n"), ["2 1 a", "3 2"]);
    assert_eq!(
        csv("id,name\r\n\r\n1,\"a\"\r\n\r\n2,\"b\r\nc\""),
        ["3 1 a", "5 2 b\r\nc"]
    );
    // Line ends of both kinds in one file; what is in quotes stays.
    assert_eq!(
        csv("id,name\n1,a\r\n2,\"b\"\r\n\r\n3,\"c\r\"\n4,d\n5,\"e\r\"\r\n"),
        ["2 1 a", "3 2 b", "5 3 c\r", "6 4 d", "7 5 e\r"]
    );
    assert_eq!(csv("id\n1\n"), ["2 1"]);
    assert_eq!(csv("\"id\",\"name\"\n1,a\n"), ["2 1 a"]);
}

#[test]
fn lines_are_counted_through_quoted_line_ends() {
    let text = "id,name\n1,\"a\nb\"\n\nx,c\n2,d,e\n3,\"e \"\"f\"\"\"\n";
    assert_eq!(
        csv(text),
        [
            "2 1 a\nb",
            "5 !id: found `x`, expected a whole number",
            "6 !found 3 cells, expected 2, as in the header",
            "7 3 e \"f\"",
        ]
    );
}

#[test]
fn rejects_keep_their_text_and_bytes_that_are_no_text_are_rejected() {
    let model = model();
    let source: &[u8] = b"id|name\n1|\xff\nx|\"a|b\"\n";
    let rejects: Vec<Reject> = Input::csv(&model, USER, "u.csv".into(), source)
        .unwrap()
        .map(|row| row.unwrap().row.unwrap_err())
        .collect();
    assert!(rejects[0].reason.contains("UTF-8"));
    assert_eq!(rejects[1].text, "x|\"a|b\"");
    assert_eq!((rejects[1].file.as_str(), rejects[1].line), ("u.csv", 3));
}

#[test]
fn a_wrong_header_is_told_at_once() {
    let model = model();
    let open = |text: &'static str| {
        Input::csv(&model, USER, "u.csv".into(), text.as_bytes())
            .err()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        open("id,nmae\n1,a\n"),
        "u.csv:1: in the header found the column `nmae`, expected a name of User; \
         did you mean `name`?"
    );
    assert!(open("name\n").contains("no column `id`"));
    assert!(open("").contains("no header"));
}

#[test]
fn jsonl() {
    let model = model();
    let text = "\u{feff}{\"id\": 1, \"name\": \"a\"}\r\n\n{\"id\": 2}\n{\"id\": }\n{\"ids\": 3}";
    let rows = show(Input::jsonl(
        &model,
        USER,
        "u.jsonl".into(),
        text.as_bytes(),
    ));
    assert_eq!(rows[..2], ["1 1 a", "3 2"]);
    assert!(
        rows[2].starts_with("4 !found something that is not JSON"),
        "{}",
        rows[2]
    );
    assert!(
        rows[3].starts_with("5 !found the field `ids`"),
        "{}",
        rows[3]
    );
    assert!(rows[3].ends_with("did you mean `id`?"), "{}", rows[3]);
}

#[test]
fn a_quote_that_is_never_closed_does_not_fill_the_memory() {
    let model = model();
    let source = io::Cursor::new(b"id,name\n1,\"a").chain(io::repeat(b'x'));
    let mut input = Input::csv(&model, USER, "u.csv".into(), source).unwrap();
    let error = input.next().unwrap().unwrap_err();
    assert!(
        matches!(error, InputError::TooLong { line: 2, .. }),
        "{error}"
    );
    assert!(input.next().is_none());
}

#[test]
fn a_quote_that_is_never_closed_swallows_no_rows_silently() {
    let never = "found a quote that is never closed, expected its end";
    for (text, more) in [
        (
            "id,name\n1,a\n2,\"b\n3,c\n4,d\n",
            "; it takes in the 2 lines behind it",
        ),
        (
            "id,name\n1,a\n2,\"b\n3,c\n4,d",
            "; it takes in the 2 lines behind it",
        ),
        (
            "id,name\r\n1,a\r\n2,\"b\r\n3,c\r\n",
            "; it takes in the line behind it",
        ),
        ("id,name\n1,a\n2,\"", ""),
    ] {
        assert_eq!(
            csv(text),
            ["2 1 a".to_owned(), format!("3 !{never}{more}")],
            "{text}"
        );
    }
    // What it takes in is kept with the reject, so that nothing is lost.
    let taken = "id,name\n1,\"a\n2,b\n3,c\n";
    let model = model();
    let mut input = Input::csv(&model, USER, "u.csv".into(), taken.as_bytes()).unwrap();
    let reject = input.next().unwrap().unwrap().row.unwrap_err();
    assert_eq!(reject.text, "1,\"a\n2,b\n3,c");
    // What stands behind the last row is seen by nobody.
    assert_eq!(csv("id,name\n1,\0\n2,\"\0\""), ["2 1 \0", "3 2 \0"]);
    let text = "id\n\0\n1\n";
    assert_eq!(csv(text).len(), 2);
    let mut input = Input::csv(&model, USER, "u.csv".into(), text.as_bytes()).unwrap();
    assert_eq!(input.by_ref().count(), 2);
    assert_eq!(input.bytes(), text.len() as u64);
}

#[test]
fn a_quote_that_ends_before_its_cell_is_rejected() {
    let early =
        "found a quote that ends before its cell does, expected two quotes for one within quotes";
    for cell in [
        "\"Bo\"b",
        "\"Bob\" ",
        "\"Bo\"b\"",
        "\"\"Bob\"\"",
        "\"Bo\nb\"\r\r",
    ] {
        let text = format!("id,name\n1,a\n2,{cell}\n3,{cell},{cell}\n4,\"d\"\n5,\"e\"");
        let lines = 1 + cell.matches('\n').count();
        let expected = [
            "2 1 a".to_owned(),
            format!("3 !{early}"),
            format!("{} !{early}", 3 + lines),
            format!("{} 4 d", 4 + 3 * (lines - 1) + 1),
            format!("{} 5 e", 5 + 3 * (lines - 1) + 1),
        ];
        assert_eq!(csv(&text), expected, "{text}");
    }
    // Quotes that are closed where they should be, in files of both kinds of line ends, and pieces
    // of a file that end anywhere.
    let long = "x".repeat(70_000);
    for end in ["\n", "\r\n"] {
        let text = [
            "id,\"name\"",
            "1,\"a\"",
            "\"2\",5\"",
            &format!("3,\"{long}\"\"\""),
        ]
        .join(end);
        let rows = csv(&text);
        assert_eq!(rows[..2], ["2 1 a", "3 2 5\""], "{end:?}");
        assert_eq!(rows[2], format!("4 3 {long}\""));
        assert_eq!(csv(&format!("{text}{end}")), rows);
    }
    let model = model();
    let header = Input::csv(&model, USER, "u.csv".into(), "id,\"na\"me\n".as_bytes());
    assert!(matches!(header.err(), Some(InputError::Quote { .. })));
}

#[test]
fn a_name_that_is_given_twice_is_rejected() {
    let model = model();
    let text = "{\"id\": 1, \"name\": \"a:\\\"b\", \"id\": 2}\n{\"id\": 3, \"name\": \"{\\\\\"}\n";
    let rows = show(Input::jsonl(
        &model,
        USER,
        "u.jsonl".into(),
        text.as_bytes(),
    ));
    assert_eq!(
        rows,
        [
            "1 !found the name `id` twice in one object, expected it once",
            "2 3 {\\",
        ]
    );
}

#[test]
fn the_name_tells_the_kind() {
    let model = model();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.JSONL");
    std::fs::write(&path, "{\"id\": 1}\n").unwrap();
    assert_eq!(show(Input::open(&model, USER, &path).unwrap()), ["1 1"]);
    let other = Input::open(&model, USER, Path::new("u.xml")).err().unwrap();
    assert!(matches!(other, InputError::Kind { .. }));
    let missing = Input::open(&model, USER, Path::new("missing.csv"))
        .err()
        .unwrap();
    assert!(matches!(missing, InputError::Open { .. }));
}
