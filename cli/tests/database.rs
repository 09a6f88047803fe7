//! Commands that design, and that work on a database: what they print, what they refuse, exit codes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod place;

use place::{MODEL, Place, keys};
use std::process::{Command, Stdio};

#[test]
fn a_design_as_json_has_the_fields_of_the_contract() {
    let design = Place::new()
        .run("design blog.querent --format json")
        .expect(0)
        .json();
    // `findings` stands beside the fields of the contract.
    let found = keys(&design).into_iter().filter(|k| *k != "findings");
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            "version",
            "model",
            "target",
            "mix",
            "cost",
            "structures",
            "plans",
            "writes",
            "warnings",
            "search"
        ]
    );
    assert_eq!(design["version"], 1);
    assert_eq!(keys(&design["cost"]), ["total", "questions", "changes"]);
    assert_eq!(keys(&design["cost"]["questions"]), ["latest_of"]);
    assert_eq!(
        keys(&design["cost"]["changes"]),
        ["publish", "rename", "leave"]
    );
    assert_eq!(
        keys(&design["search"]),
        ["candidates", "optimal", "gap", "seconds"]
    );
    let fields = [
        "name",
        "entities",
        "partition",
        "clustering",
        "columns",
        "techniques",
        "serves",
        "home_of",
        "rows",
        "bytes",
        "partition_rows_max",
        "partition_bytes_max",
        "row_bytes_max",
        "key_bytes_max",
    ];
    for structure in design["structures"].as_array().unwrap() {
        // Others may stand beside the fields of the contract, which are all there, in their order.
        let found: Vec<&str> = keys(structure)
            .into_iter()
            .filter(|k| fields.contains(k))
            .collect();
        assert_eq!(found, fields);
    }
    let step = &design["plans"]["latest_of"][0];
    for field in [
        "op",
        "structure",
        "eq",
        "range",
        "order",
        "limit",
        "rows",
        "reads",
        "cost",
    ] {
        assert!(
            !step[field].is_null() || field == "range",
            "{field} of {step}"
        );
    }
    for step in design["writes"]["publish"].as_array().unwrap() {
        assert_eq!(
            keys(step),
            ["op", "structure", "rows", "rows_max", "reads", "cost"]
        );
    }
}

#[test]
fn a_design_in_words_and_as_markdown() {
    let place = Place::new();
    let text = place.run("design blog.querent").expect(0).out;
    for part in [
        "proven to be the cheapest",
        "author.id | at desc",
        "latest_of",
        "100/s",
        "µs",
        "denormalization",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    assert!(
        place
            .run("design blog.querent --color always")
            .expect(0)
            .out
            .contains('\u{1b}')
    );
    let md = place.run("design blog.querent --format md").expect(0).out;
    assert!(md.starts_with("# blog for embedded\n"), "{md}");
    assert!(md.contains("author.id \\| at desc"), "{md}");
    place
        .run("design blog.querent --target cassandra --lossy")
        .expect(0);
}

#[test]
fn a_design_that_cannot_be_made_says_why() {
    let place = Place::new();
    let target = place.run("design blog.querent --target casandra").expect(2);
    assert!(
        target.err.contains("did you mean `cassandra`"),
        "{}",
        target.err
    );
    let mix = place.run("design blog.querent --mix bidding").expect(2);
    assert!(mix.err.contains("there is no mix `bidding`"), "{}", mix.err);
    place.run("design missing.querent").expect(2);
    std::fs::write(place.path().join("bad.querent"), "entity X {").unwrap();
    let bad = place.run("design bad.querent").expect(1);
    assert!(
        bad.err.contains("bad.querent:1") && bad.out.is_empty(),
        "{}",
        bad.err
    );
}

#[test]
fn everything_can_be_explained() {
    let place = Place::new();
    let all = place.run("explain blog.querent").expect(0).out;
    assert!(
        all.contains("index-table") && all.contains("lists the same instances"),
        "{all}"
    );
    let question = place.run("explain blog.querent latest_of").expect(0).out;
    assert!(
        question.contains("where author.id = $author, by at desc, after $cursor"),
        "{question}"
    );
    let change = place.run("explain blog.querent rename").expect(0).out;
    assert!(
        change.contains("that no other Author has the same name"),
        "{change}"
    );
    assert!(
        change.contains("update Author (name)") && change.contains("at most"),
        "{change}"
    );
    let design = place
        .run("design blog.querent --format json")
        .expect(0)
        .json();
    for structure in design["structures"].as_array().unwrap() {
        let name = structure["name"].as_str().unwrap();
        let told = place
            .run(&format!("explain blog.querent {name}"))
            .expect(0)
            .out;
        assert!(told.starts_with(&format!("{name}: ")), "{told}");
    }
    let explain = |name: &str| {
        let line = format!("explain blog.querent {name} --format json");
        place.run(&line).expect(0).json()
    };
    let question = &explain("latest_of")["question"];
    let next = question["next_best"]["total"].as_f64();
    assert!(next >= question["total"].as_f64(), "{question}");
    assert!(question["flips"].is_array(), "{question}");
    assert!(explain("rename")["change"]["steps"].is_array());
    let name = design["structures"][0]["name"].as_str().unwrap();
    let structure = &explain(name)["structure"];
    assert_eq!(structure["rows"], design["structures"][0]["rows"]);
    assert!(structure["written_by"].is_array(), "{structure}");
    let unknown = place
        .run("explain blog.querent renam --format json")
        .expect(2);
    assert!(unknown.err.contains("did you mean `rename`"));
    let unknown = place.run("explain blog.querent renam").expect(2);
    assert!(
        unknown.err.contains("did you mean `rename`"),
        "{}",
        unknown.err
    );
}

/// A schema of a person: priced against the design, completed, and run like one.
#[test]
fn a_schema_by_hand_is_compared_and_run() {
    let place = Place::new();
    let schema = "schema ours {\n  authors lists Author by id keep name\n  \
                  posts lists Post by author.id order by at desc, id desc keep title\n}\n";
    std::fs::write(place.path().join("ours.querent"), schema).unwrap();
    let told = place
        .run("explain blog.querent --vs ours.querent")
        .expect(0)
        .out;
    assert!(
        told.contains("times as much") && told.contains("latest_of"),
        "{told}"
    );
    // No home of a post, no way to check that a name is unique.
    assert!(
        told.contains("Added to the other schema") && told.contains("author_by_name"),
        "{told}"
    );
    let design = place.run("design blog.querent --format json").expect(0).out;
    std::fs::write(place.path().join("design.json"), design).unwrap();
    let same = place
        .run("explain blog.querent --vs design.json")
        .expect(0)
        .out;
    assert!(same.contains(", as much"), "{same}");
    let told = place.run("explain blog.querent --vs ours.querent --format json");
    let told = told.expect(0).json();
    assert!(told["other"].as_f64() > told["total"].as_f64(), "{told}");
    assert_eq!(told["statements"].as_array().unwrap().len(), 4, "{told}");
    std::fs::write(place.path().join("bad.json"), "{}").unwrap();
    let bad = place
        .run("explain blog.querent --vs bad.json")
        .expect(2)
        .err;
    assert!(bad.contains("structures"), "{bad}");
    let unknown = place.run("explain blog.querent --vs our").expect(2).err;
    assert!(unknown.contains("no schema `our`"), "{unknown}");

    std::fs::write(
        place.path().join("both.querent"),
        format!("{MODEL}\n{schema}"),
    )
    .unwrap();
    place
        .run("create ours.db --model both.querent --schema ours")
        .expect(0);
    place.run("put ours.db Author id=1 name=Ann").expect(0);
    place
        .run("put ours.db Post id=1 title=t at=2026-01-01T00:00:00Z author=1")
        .expect(0);
    let asked = place
        .run("ask ours.db latest_of author=1 --profile")
        .expect(0);
    assert!(
        (asked.out.clone() + &asked.err).contains("follow authors"),
        "{}{}",
        asked.out,
        asked.err
    );
    place.run("verify ours.db").expect(0);
}

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
fn put_tells_lines_and_leaves_no_half_batch() {
    let place = Place::with_database();
    let pairs = place.run("put blog.db Author id=3 name=Cem").expect(0);
    assert!(
        pairs.out.starts_with("1 inserted; 2 rows written"),
        "{}",
        pairs.out
    );
    let again = place.run("put blog.db Author id=3 name=Cemal").expect(0);
    assert!(again.out.starts_with("1 updated"), "{}", again.out);

    let unknown = place.run("put blog.db Author id=4 nmae=Dan").expect(1);
    assert!(
        unknown.err.contains("did you mean `name`"),
        "{}",
        unknown.err
    );
    let taken = place.run("put blog.db Author id=4 name=Ann").expect(1);
    assert!(taken.err.contains("which 1 has already"), "{}", taken.err);
    let entity = place.run("put blog.db Auhtor id=4 name=Dan").expect(2);
    assert!(
        entity.err.contains("did you mean `Author`"),
        "{}",
        entity.err
    );
    place.run("put blog.db Author").expect(2);

    let lines = "{\"id\": 5, \"name\": \"Eva\"}\n\n{\"id\": 6, \"name\": 7}\n{\"id\"\n";
    let rejected = place.feed("put blog.db Author --stdin", lines).expect(1);
    assert!(
        rejected.err.contains("line 3: name: found the number 7"),
        "{}",
        rejected.err
    );
    assert!(
        rejected
            .err
            .contains("line 4: found something that is not JSON"),
        "{}",
        rejected.err
    );
    let dangling = "{\"id\": 9, \"title\": \"x\", \"at\": 0, \"author\": 77}\n";
    let refused = place.feed("put blog.db Post --stdin", dangling).expect(1);
    assert!(
        refused
            .err
            .contains("line 1: Post 9: author refers to Author 77"),
        "{}",
        refused.err
    );
    // Nothing of the batch is there, so the name is still free and the author is not known.
    place.run("put blog.db Author id=7 name=Eva").expect(0);
}

#[test]
fn ask_prints_rows_pages_and_profiles() {
    let place = Place::with_database();
    let table = place.run("ask blog.db latest_of author=1").expect(0);
    assert!(
        table.out.contains("t3") && table.out.ends_with("(2 rows)\n"),
        "{}",
        table.out
    );
    let cursor = table
        .err
        .strip_prefix("next: ")
        .unwrap()
        .trim_end()
        .to_owned();
    assert!(cursor.starts_with("cursor="), "{cursor}");
    let next = place
        .run(&format!(
            "ask blog.db latest_of author=1 {cursor} --format json"
        ))
        .expect(0);
    assert_eq!(
        next.json(),
        serde_json::json!([{ "title": "t1", "name": "Ann" }])
    );
    assert!(
        next.err.is_empty(),
        "the last page has no next one: {}",
        next.err
    );

    let lines = "{\"author\": 1}\n{\"author\": 2}\n";
    let jsonl = place
        .feed("ask blog.db latest_of --stdin --format jsonl", lines)
        .expect(0);
    assert_eq!(jsonl.out.lines().count(), 2, "{}", jsonl.out);

    let profile = place
        .run("ask blog.db latest_of author=1 --profile")
        .expect(0)
        .out;
    assert!(
        profile.contains("expected") && profile.contains("where author.id = $author"),
        "{profile}"
    );
    let beside = place
        .run("ask blog.db latest_of author=1 --profile --format jsonl")
        .expect(0);
    assert!(
        beside.err.contains("Profile") && !beside.out.contains("Profile"),
        "{}",
        beside.err
    );
}

#[test]
fn ask_says_what_is_wrong_once() {
    let place = Place::with_database();
    let said = |line: &str, text: &str| {
        let ran = place.run(line).expect(2);
        assert_eq!(ran.err.matches(text).count(), 1, "{}", ran.err);
    };
    said("ask blog.db latest author=1", "did you mean `latest_of`");
    said("ask blog.db latest_of author=x", "expected a whole number");
    said(
        "ask blog.db latest_of autor=1",
        "there is no parameter `autor`",
    );
    said("ask blog.db latest_of", "parameter `author` is missing");
    said(
        "ask blog.db latest_of author=1 cursor=zzz",
        "the cursor has 3 characters",
    );
    let line = place
        .feed(
            "ask blog.db latest_of --stdin",
            "{\"author\": 1}\n{\"author\": []}\n",
        )
        .expect(2);
    assert!(line.err.contains("line 2: "), "{}", line.err);
}

#[test]
fn a_change_gives_a_receipt_or_a_reason() {
    let place = Place::with_database();
    let renamed = place
        .run("change blog.db rename author=1 name=Anna")
        .expect(0)
        .out;
    assert!(
        renamed.starts_with("1 updated; 6 rows written"),
        "{renamed}"
    );
    assert!(
        renamed.contains("post_by_author_id  3 put  0 deleted"),
        "{renamed}"
    );
    let rows = place
        .run("ask blog.db latest_of author=1 --format jsonl")
        .expect(0)
        .out;
    assert!(rows.lines().all(|row| row.contains("Anna")), "{rows}");

    let refused = place.run("change blog.db leave author=1").expect(1);
    assert!(
        refused
            .err
            .starts_with("refused: Author 1 is referred to by Post"),
        "{}",
        refused.err
    );
    let none = place
        .run("change blog.db rename author=99 name=X")
        .expect(0);
    assert!(none.out.starts_with("nothing to change"), "{}", none.out);
    place.run("change blog.db rename author=1").expect(2);
    place.run("change blog.db renam author=1").expect(2);

    let lines = "{\"author\": 1, \"name\": \"A\"}\n{\"author\": 2, \"name\": \"A\"}\n";
    let several = place.feed("change blog.db rename --stdin", lines).expect(1);
    assert!(
        several.out.starts_with("1 change, 1 refused: 1 updated"),
        "{}",
        several.out
    );
    assert!(
        several.err.starts_with("line 2: refused: "),
        "{}",
        several.err
    );
    let at = "2026-02-01T00:00:00Z";
    let json = place.run(&format!(
        "change blog.db publish id=8 title=q at={at} author=2 --format json"
    ));
    assert_eq!(json.expect(0).json()["inserted"], 1);
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

#[test]
fn whoever_has_seen_enough_rows_is_no_failure() {
    let place = Place::with_database();
    for line in [
        "design blog.querent",
        "ask blog.db latest_of author=1",
        "explain blog.querent",
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_querent"))
            .args(line.split(' '))
            .current_dir(place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert!(
            !String::from_utf8_lossy(&output.stderr).contains("error"),
            "{line}"
        );
    }
}

#[test]
fn load_takes_files_in_any_order_and_names_what_it_rejects() {
    let place = Place::new();
    place.run("create blog.db --model blog.querent").expect(0);
    let file = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    file("author.csv", "name,id\nAnn,1\nBen,2\nAnn,3\n");
    file(
        "post.jsonl",
        "{\"id\": 1, \"title\": \"a\", \"at\": \"2026-01-01T00:00:00Z\", \"author\": 1}\n\
         {\"id\": 2, \"title\": \"b\", \"at\": \"2026-01-02T00:00:00Z\", \"author\": 3}\n",
    );
    // Posts come before the authors that they refer to; author 3 has a name that is taken, and so
    // post 2 has no author.
    let all = "load blog.db Post=post.jsonl Author=author.csv";
    let ran = place.run(all).expect(1);
    assert!(ran.err.contains("author.csv:4"), "{}", ran.err);
    assert!(ran.out.contains("nothing was loaded"), "{}", ran.out);
    let none = place
        .run("ask blog.db latest_of author=1 --format json")
        .expect(0);
    assert_eq!(none.json().as_array().unwrap().len(), 0);
    let ran = place.run(&format!("{all} --skip-rejects")).expect(1);
    assert!(ran.err.contains("post.jsonl:2"), "{}", ran.err);
    let rejects = std::fs::read_to_string(place.path().join("blog.db.rejects.csv")).unwrap();
    assert_eq!(rejects.lines().count(), 3, "{rejects}");
    let one = place
        .run("ask blog.db latest_of author=1 --format json")
        .expect(0);
    assert_eq!(one.json()[0]["name"], "Ann");
    place.run("verify blog.db").expect(0);
    file("typo.csv", "nmae,id\nAnn,1\n");
    let ran = place.run("load blog.db Author=typo.csv").expect(2);
    assert!(
        ran.err.contains("nmae") && ran.err.contains("name"),
        "{}",
        ran.err
    );
    place.run("load blog.db Autor=author.csv").expect(2);
    place.run("verify nowhere.db").expect(2);
}

#[test]
fn what_has_expired_is_removed_by_who_may_write() {
    let place = Place::new();
    let model = "entity Visit (1k) { id int key } expires after 1ms
                 question visits (1/s) select id from Visit order by id
                 change visit (1/s) insert Visit";
    std::fs::write(place.path().join("visits.querent"), model).unwrap();
    place
        .run("create visits.db --model visits.querent")
        .expect(0);
    place.run("change visits.db visit id=1").expect(0);
    // Another process writes, and has nothing to do: who can only read shows what is there.
    let writer = querent::Database::open(place.path().join("visits.db")).unwrap();
    let asked = place.run("ask visits.db visits --format jsonl").expect(0);
    assert_eq!(asked.out, "{\"id\":1}\n");
    assert!(asked.err.contains("have expired"), "{}", asked.err);
    place.run("refresh visits.db").expect(2);
    drop(writer);
    let asked = place.run("ask visits.db visits --format jsonl").expect(0);
    assert_eq!((asked.out.as_str(), asked.err.as_str()), ("", ""));
    let refreshed = place.run("refresh visits.db").expect(0);
    assert_eq!(refreshed.out, "0 instances removed\n");
}

#[test]
fn a_design_is_tried_on_made_up_facts() {
    let place = Place::new();
    let told = place
        .run("bench blog.querent --rows 3000 --plot plot.svg")
        .expect(0)
        .out;
    assert!(
        told.contains("latest_of") && told.contains("rank correlation"),
        "{told}"
    );
    // Every author has posts, so that none may leave.
    assert!(told.contains("refused and left out"), "{told}");
    let drawn = std::fs::read_to_string(place.path().join("plot.svg")).unwrap();
    assert_eq!(drawn.matches("<title>").count(), 3, "{drawn}");
    let json = place.run("bench blog.querent --rows 3000 --format json");
    let json = json.expect(0).json();
    for s in json["models"][0]["statements"].as_array().unwrap() {
        let timed = s["measured_micros"].as_f64() > Some(0.0);
        assert_eq!(timed, s["name"] != "leave", "{json}");
    }
    let missing = place
        .run("bench blog.querent --cost-model no.json")
        .expect(2);
    assert!(missing.err.contains("no.json"), "{}", missing.err);
}

#[test]
fn constants_are_calibrated_and_used() {
    let place = Place::new();
    let told = place
        .run("calibrate here.db --rows 8000 --output here.json")
        .expect(0)
        .out;
    assert!(
        told.contains("get_many") && told.contains("write_byte"),
        "{told}"
    );
    assert!(!place.path().join("here.db").exists());
    let design = "design blog.querent --cost-model here.json --format json";
    assert!(place.run(design).expect(0).json()["cost"]["total"].as_f64() > Some(0.0));
    std::fs::create_dir(place.path().join("taken")).unwrap();
    assert!(
        place
            .run("calibrate taken")
            .expect(2)
            .err
            .contains("taken exists")
    );
    assert!(place.path().join("taken").exists());
    std::fs::write(place.path().join("bad.json"), "{\"cost\": 1}").unwrap();
    let bad = place
        .run("design blog.querent --cost-model bad.json")
        .expect(2)
        .err;
    assert!(bad.contains("is not a cost model"), "{bad}");
}

/// Arguments that are mistaken name what was found and how to write what is expected; nothing is
/// changed.
#[test]
fn mistaken_arguments_say_how_to_write_them() {
    let place = Place::with_database();
    for (line, code, parts) in [
        (
            "put blog.db Author id=3",
            1,
            &["found no argument `name`", "add name=VALUE (text)"][..],
        ),
        (
            "put blog.db Author KEY=VALUE",
            1,
            &["the argument `KEY`", "the names are: id, name"],
        ),
        (
            "put blog.db Author id=3 id=4 name=x",
            1,
            &["the argument `id` twice"],
        ),
        (
            "put blog.db Author id:3",
            2,
            &["found `id:3`, expected KEY=VALUE, such as name=Ann"],
        ),
        (
            "put blog.db Author {\"id\":3}",
            2,
            &["found JSON", "with --stdin"],
        ),
        (
            "put blog.db Writer id=3",
            2,
            &["no entity `Writer`", "the entities are Author, Post"],
        ),
        (
            "ask blog.db rename author=1",
            2,
            &["no question `rename`", "is the name of a change"],
        ),
        (
            "ask blog.db latest_of author=1 author=2",
            2,
            &["parameter `author` is given twice"],
        ),
        (
            "change blog.db publsh",
            2,
            &["no change `publsh`; did you mean `publish`?"],
        ),
    ] {
        let ran = place.run(line).expect(code);
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
        let ran = place.feed(line, b"\n{\"author\": \xff}\n").expect(2);
        assert!(
            ran.err.contains("line 2: found the byte 0xff"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_limit_below_nothing_is_refused() {
    let place = Place::new();
    let model = "entity A (9) { id int key }\n\
        question first (1/s) select id from A order by id limit $n";
    std::fs::write(place.path().join("a.querent"), model).unwrap();
    place.run("create a.db --model a.querent").expect(0);
    place.run("put a.db A id=1").expect(0);
    let ran = place.run("ask a.db first n=-1").expect(2);
    let said = "found a limit of -1, expected 0 or more";
    assert!(ran.err.contains(said), "{}", ran.err);
    let ran = place.run("ask a.db first n=0 --format json").expect(0);
    assert_eq!(ran.out.trim(), "[]");
}
