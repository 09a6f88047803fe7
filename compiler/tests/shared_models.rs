//! The example models are accepted as they stand.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use querent_compiler::diagnostic::{Diagnostic, Style, to_text};

fn model(name: &str) -> Option<String> {
    let path = format!(
        "{}/../../shared/models/{name}.querent",
        env!("CARGO_MANIFEST_DIR")
    );
    let alternative = format!(
        "{}/../../../shared/models/{name}.querent",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path)
        .or_else(|_| std::fs::read_to_string(alternative))
        .ok();
    if text.is_none() {
        eprintln!("SKIPPED: the shared model {name} is not here, nothing was tested");
    }
    text
}

#[test]
fn models_of_this_version_are_accepted() {
    for name in [
        "reddit",
        "instagram",
        "gmail",
        "sensors",
        "orders",
        "clicks",
    ] {
        let Some(text) = model(name) else { continue };
        let (model, found) = querent_compiler::parse(name, &text);
        let errors: Vec<_> = found.into_iter().filter(Diagnostic::is_error).collect();
        assert!(
            model.is_some(),
            "{}",
            to_text(&errors, name, &text, Style::Plain)
        );
        if std::env::var("DUMP").as_deref() == Ok(name) {
            eprintln!("{:#?}", model.unwrap());
        }
    }
}

#[test]
fn models_of_later_versions_are_understood() {
    for name in ["people", "shop", "places"] {
        let Some(text) = model(name) else { continue };
        let (model, found) = querent_compiler::parse(name, &text);
        assert!(model.is_none(), "{name} has forms of later versions");
        let others: Vec<_> = found
            .into_iter()
            .filter(|d| d.is_error() && d.code.id != "E090")
            .collect();
        assert!(
            others.is_empty(),
            "{}",
            to_text(&others, name, &text, Style::Plain)
        );
    }
}

#[test]
fn formatting_is_idempotent_and_keeps_the_meaning() {
    for name in [
        "reddit",
        "instagram",
        "gmail",
        "sensors",
        "orders",
        "clicks",
        "people",
        "shop",
        "places",
    ] {
        let Some(text) = model(name) else { continue };
        let once = querent_compiler::format(&text).unwrap();
        if std::env::var("DUMP").as_deref() == Ok("fmt") {
            eprintln!("{once}");
        }
        assert_eq!(querent_compiler::format(&once).unwrap(), once, "{name}");
        let comments = |text: &str| text.matches('#').count();
        assert_eq!(comments(&text), comments(&once));
        let meaning = |text: &str| {
            let (model, found) = querent_compiler::parse(name, text);
            let codes: Vec<_> = found.iter().map(|d| d.code.id).collect();
            (serde_json::to_string(&model).unwrap(), codes)
        };
        assert_eq!(meaning(&text), meaning(&once), "{name}");
    }
}
