//! Commands that design, and that work on a database: what they print, what they refuse, exit codes.
//! Here is what they have in common; each has a module of its own.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod asking;
mod changing;
mod damage;
mod designing;
mod explaining;
mod loading;
#[path = "../place/mod.rs"]
mod place;

use place::Place;
use std::process::Command;

#[test]
fn an_address_is_no_folder_and_is_not_repeated() {
    let place = Place::new();
    let address = "cassandra://me:secret@127.0.0.1/blog";
    for line in [
        "create ADDRESS --model blog.querent",
        "ask ADDRESS latest_of author=1",
        "verify ADDRESS",
    ] {
        let refused = place.run(&line.replace("ADDRESS", address)).expect(2);
        let err = &refused.err;
        assert!(
            err.contains("cassandra://") && !err.contains("secret"),
            "{err}"
        );
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_database_is_created_once() {
    let place = Place::new();
    let created = place.run("create blog.db --model blog.querent").expect(0);
    assert!(
        created.out.starts_with("blog.db: an empty database of"),
        "{}",
        created.out
    );
    let again = place.run("create blog.db --model blog.querent").expect(2);
    assert!(
        again.err.contains("exists and is not empty"),
        "{}",
        again.err
    );
    std::fs::write(place.path().join("bad.querent"), "entity X {").unwrap();
    place.run("create bad.db --model bad.querent").expect(1);
    assert!(!place.path().join("bad.db").exists());
    let none = place.run("ask none.db latest_of author=1").expect(2);
    assert!(none.err.contains("querent create"), "{}", none.err);
}

#[test]
fn the_tour_ends_well_and_leaves_nothing_behind() {
    let place = Place::new();
    let temporary = place.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let tour = Command::new(env!("CARGO_BIN_EXE_querent"))
        .arg("tour")
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    let text = String::from_utf8(tour.stdout).unwrap();
    assert!(
        tour.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&tour.stderr)
    );
    assert!(
        text.contains("_renamed") && text.lines().count() < 120,
        "{text}"
    );
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    place.run("tour --keep kept.db").expect(0);
    place
        .run("ask kept.db front_page category=rust --format jsonl")
        .expect(0);
}

/// Arguments that are mistaken name what was found and how to write what is expected; nothing is
/// changed.
#[test]
fn mistaken_arguments_say_how_to_write_them() {
    let place = Place::with_database();
    for (line, parts) in [
        (
            "put blog.db Author id=3",
            &["found no argument `name`", "add name=VALUE (text)"][..],
        ),
        (
            "put blog.db Author KEY=VALUE",
            &["the argument `KEY`", "the names are: id, name"],
        ),
        (
            "put blog.db Author id=3 id=4 name=x",
            &["the argument `id` twice"],
        ),
        (
            "put blog.db Author id:3",
            &["found `id:3`, expected KEY=VALUE, such as name=Ann"],
        ),
        (
            "put blog.db Author {\"id\":3}",
            &["found JSON", "with --stdin"],
        ),
        (
            "put blog.db Writer id=3",
            &["no entity `Writer`", "the entities are Author, Post"],
        ),
        (
            "ask blog.db rename author=1",
            &["no question `rename`", "is the name of a change"],
        ),
        (
            "ask blog.db latest_of author=1 author=2",
            &["parameter `author` is given twice"],
        ),
        (
            "change blog.db publsh",
            &["no change `publsh`; did you mean `publish`?"],
        ),
    ] {
        let ran = place.run(line).expect(2);
        for part in parts {
            assert!(ran.err.contains(part), "{line}: {}", ran.err);
        }
        assert_eq!(ran.out, "", "{line}");
    }
}

/// What is not text is refused with its line, as everything else that cannot be read.
#[test]
fn broken_text_on_standard_input_has_a_line() {
    let place = Place::with_database();
    let input = b"{\"id\": 3, \"name\": \"Eva\"}\n{\"id\": 4, \"name\": \"Jos\xe9\"}\n";
    let put = place.feed("put blog.db Author --stdin", input).expect(1);
    let said = "line 2: found the byte 0xe9 (column 23), expected text in UTF-8";
    assert!(put.err.contains(said), "{}", put.err);
    assert!(put.err.contains("nothing of lines 1 to 2"), "{}", put.err);
    for line in [
        "change blog.db rename --stdin",
        "ask blog.db latest_of --stdin",
    ] {
        let ran = place.feed(line, b"\n{\"author\": \xff}\n").expect(1);
        assert!(
            ran.err.contains("line 2: ") && ran.err.contains("found the byte 0xff"),
            "{}",
            ran.err
        );
    }
}

/// A database of a model of its own.
fn database(model: &str) -> Place {
    let place = Place::new();
    std::fs::write(place.path().join("m.querent"), model).unwrap();
    place.run("create m.db --model m.querent").expect(0);
    place
}
