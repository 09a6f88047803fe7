//! Commands that design, and that work on a database: what they print, what they refuse, exit codes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod damage;
#[path = "../place/mod.rs"]
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

    // An argument that makes no sense is a failure, as for `ask` and `change`.
    let unknown = place.run("put blog.db Author id=4 nmae=Dan").expect(2);
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
    let value = place.run("put blog.db Author id=four name=Dan").expect(2);
    assert!(value.err.contains("id: found `four`"), "{}", value.err);
    let printed = place
        .run("put blog.db Author id=four --format json")
        .expect(2);
    assert_eq!(printed.out, "");

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
}

/// As with changes: there may be others behind it.
#[test]
fn ask_passes_over_lines_that_it_cannot_read() {
    let place = Place::with_database();
    let one = place
        .run("ask blog.db latest_of author=1 --format jsonl")
        .expect(0)
        .out;
    let asked = place
        .feed(
            "ask blog.db latest_of --stdin --format jsonl",
            "{\"author\": 1}\n{\"author\": []}\nauthor=1\n{\"author\": 1, \"cursor\": \"zzz\"}\n{\"author\": 1}\n",
        )
        .expect(1);
    assert_eq!(asked.out, one.repeat(2));
    let told: Vec<&str> = asked.err.lines().collect();
    let rejected: Vec<&&str> = told.iter().filter(|l| l.contains("rejected")).collect();
    let [list, text, cursor] = rejected.as_slice() else {
        panic!("{}", asked.err)
    };
    assert!(list.starts_with("line 2: rejected: "), "{list}");
    assert!(text.starts_with("line 3: rejected: "), "{text}");
    assert!(cursor.starts_with("line 4: rejected: "), "{cursor}");
    // A question that there is not is not asked for once a line.
    let none = place
        .feed("ask blog.db latest --stdin", "{}\n{}\n")
        .expect(2);
    assert_eq!(none.err.matches("latest_of").count(), 1, "{}", none.err);
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
    // What cannot be read is passed over like what is refused, and counted.
    let lines = "{\"author\": 1}\nno json\n{\"author\": 1, \"name\": \"C\"}\n";
    let several = place.feed("change blog.db rename --stdin", lines).expect(1);
    assert!(
        several
            .out
            .starts_with("1 change, 0 refused, 2 rejected: 1 updated"),
        "{}",
        several.out
    );
    assert!(
        several.err.contains("line 1: rejected: "),
        "{}",
        several.err
    );
    assert!(
        several.err.contains("line 2: rejected: "),
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
    // So few rows say nothing of many.
    let kept = told.lines().find(|l| l.starts_with("Not measured"));
    let kept = kept.unwrap_or_else(|| panic!("{told}"));
    assert!(
        kept.contains("get_doubling") && kept.contains("near_rows") && kept.contains("too few"),
        "{kept}"
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

/// A database of a model of its own.
fn database(model: &str) -> Place {
    let place = Place::new();
    std::fs::write(place.path().join("m.querent"), model).unwrap();
    place.run("create m.db --model m.querent").expect(0);
    place
}

/// A refusal prints values as answers and findings do, whatever their types.
#[test]
fn a_refusal_prints_values_as_answers_do() {
    let place = database(
        "
enum Kind { plain, rare }
entity Event (100) {
  day   date       key
  kind  Kind       key
  open  bool       key
  at    timestamp  unique
  code  blob(8)    unique
  id    uuid       unique
  sum   decimal?   unique
}
entity Seat (100) {
  number  int      key
  of      -> Event as seats (avg 1, max 9)
}
question all (1/s) select * from Event
change add   (1/s) insert Event
change book  (1/s) insert Seat
change drop  (1/s) delete Event where day = $day
",
    );
    let add = |rest: &str| place.run(&format!("change m.db add {rest}"));
    let first =
        "at=2024-01-01T00:00:00Z code=aGk= id=6ba7b810-9dad-11d1-80b4-00c04fd430c8 sum=1.50";
    let other = "at=2024-01-02T00:00:00Z code=aGs= id=6ba7b811-9dad-11d1-80b4-00c04fd430c8 sum=2";
    let key = "day=2024-01-01 kind=rare open=true";
    add(&format!("{key} {first}")).expect(0);
    let refused = |ran: place::Ran| ran.expect(1).err.lines().next().unwrap().to_owned();
    assert_eq!(
        refused(add(&format!("{key} {other}"))),
        "refused: Event 2024-01-01, rare, true exists already; use `upsert` to replace it"
    );
    let next = "day=2024-01-02 kind=plain open=false";
    for (field, value, shown) in [
        ("at", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000Z"),
        ("code", "aGk=", "aGk="),
        (
            "id",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        ),
        ("sum", "1.5", "1.5"),
    ] {
        let values = other.split(' ').map(|word| match word.split_once('=') {
            Some((name, _)) if name == field => format!("{name}={value}"),
            _ => word.to_owned(),
        });
        let values: Vec<String> = values.collect();
        assert_eq!(
            refused(add(&format!("{next} {}", values.join(" ")))),
            format!(
                "refused: Event 2024-01-02, plain, false: {field} is {shown}, which 2024-01-01, \
                 rare, true has already"
            )
        );
    }
    let seat = r#"{"number": 7, "of": {"day": "2024-01-01", "kind": "rare", "open": true}}"#;
    place.feed("change m.db book --stdin", seat).expect(0);
    assert_eq!(
        refused(place.run("change m.db drop day=2024-01-01")),
        "refused: Event 2024-01-01, rare, true is referred to by Seat 7 (of), and `on delete` says \
         refuse"
    );
    let seat = r#"{"number": 8, "of": {"day": "2025-12-31", "kind": "plain", "open": false}}"#;
    assert_eq!(
        refused(place.feed("change m.db book --stdin", seat)),
        "line 1: refused: Seat 8: of refers to Event 2025-12-31, plain, false, which does not exist"
    );
}

/// Whoever forgets what an update sets is told; only null clears.
#[test]
fn an_update_clears_what_it_is_told_to_clear() {
    let place = database(
        "
entity User (100) {
  id    int  key
  note  text(20)?
  sum   decimal?
}
question user (1/s) select note, sum from User where id = $id
change add    (1/s) insert User
change edit   (1/s) update User set note where id = $u
change square (1/s) update User set sum = sum * sum where id = $u
",
    );
    place.run("change m.db add id=1 note=kept").expect(0);
    let note = || {
        let asked = place.run("ask m.db user id=1 --format json").expect(0);
        asked.json()[0]["note"].clone()
    };
    let forgotten = place.run("change m.db edit u=1").expect(2);
    assert!(
        forgotten.err.contains("parameter `note` is missing"),
        "{}",
        forgotten.err
    );
    place
        .feed("change m.db edit --stdin", r#"{"u": 1}"#)
        .expect(1);
    assert_eq!(note(), "kept");
    place.run("change m.db edit u=1 note=").expect(0);
    assert!(note().is_null());
    let digits = "9.999999999999999999999999999";
    place
        .run(&format!("change m.db add id=2 sum={digits}"))
        .expect(0);
    let refused = place.run("change m.db square u=2").expect(1);
    assert_eq!(
        refused.err.trim_end(),
        format!(
            "refused: User 2: sum would become {digits} * {digits}, which has more digits than the \
             28 of a decimal"
        )
    );
}

#[test]
fn a_sequence_that_runs_out_is_a_refusal() {
    let place = database(
        "
entity S (100) {
  id  int  sequence  key
  n   int
}
question s (1/s) select n from S where id = $id
change add (1/s) insert S
",
    );
    place.run("put m.db S id=2147483646 n=1").expect(0);
    place.run("change m.db add n=2").expect(0);
    let refused = place.run("change m.db add n=3").expect(1);
    assert_eq!(
        refused.err.trim_end(),
        "refused: S.id: the sequence has run out of numbers"
    );
    std::fs::write(place.path().join("s.csv"), "n\n4\n").unwrap();
    let rejected = place.run("load m.db S=s.csv").expect(1);
    let said = "s.csv:2: S.id: the sequence has run out of numbers";
    assert!(rejected.err.contains(said), "{}", rejected.err);
}

/// A put, an upsert and a load that replaces leave an instance's type as it is.
#[test]
fn what_is_replaced_keeps_its_type() {
    let place = database(
        "
entity Product (100) {
  sku  int  key
}
entity Book is Product (50) { title text(20) }
entity Bike is Product (50) { gears int }
question all (1/s) select * from Product
change book (1/s) upsert Book
change bike (1/s) upsert Bike
",
    );
    place.run("put m.db Book sku=1 title=a").expect(0);
    place.run("put m.db Book sku=1 title=b").expect(0);
    let said = "Bike 1 exists and is of another type; delete it first";
    let refused = place.run("change m.db bike sku=1 gears=3").expect(1);
    assert!(refused.err.contains(said), "{}", refused.err);
    let refused = place.run("put m.db Bike sku=1 gears=3").expect(1);
    assert!(refused.err.contains(said), "{}", refused.err);
    std::fs::write(place.path().join("bike.csv"), "sku,gears\n1,3\n").unwrap();
    let rejected = place.run("load m.db Bike=bike.csv --replace").expect(1);
    let said = "bike.csv:2: Product 1 exists and is of another type; delete it first";
    assert!(rejected.err.contains(said), "{}", rejected.err);
    let all = place.run("ask m.db all --format jsonl").expect(0).out;
    assert!(all.contains("\"title\":\"b\""), "{all}");
}

/// A row that refers to a rejected one is told where that was.
#[test]
fn load_tells_who_referred_to_what_was_rejected() {
    let place = database(
        "
entity A (100) {
  id    int       key
  name  text(20)  unique
  n     int?
}
entity B (100) {
  id  int   key
  a   -> A  as bs (avg 1, max 9)
}
entity C (100) {
  id  int   key
  b   -> B  as cs (avg 1, max 9)
}
question q (1/s) select name from A where id = $id
",
    );
    let file = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    // One that cannot be read, one whose name is taken, one that is not there.
    file("a.csv", "id,name,n\n1,x,\n2,y,many\n3,x,\n");
    file("a2.jsonl", "{\"id\": 4, \"name\": \"z\", \"m\": 1}\n");
    file("b.csv", "id,a\n1,1\n2,2\n3,3\n4,4\n5,9\n");
    file("c.csv", "id,b\n1,1\n2,2\n3,3\n");
    let load = "load m.db A=a.csv A=a2.jsonl B=b.csv C=c.csv --skip-rejects";
    let told = place.run(load).expect(1).err;
    for said in [
        "b.csv:3: a: found A 2, which was rejected (a.csv:3)",
        "b.csv:4: a: found A 3, which was rejected (a.csv:4)",
        "b.csv:5: a: found A 4, which was rejected (a2.jsonl:1)",
        "b.csv:6: a: found A 9, which does not exist",
        "c.csv:3: b: found B 2, which was rejected (b.csv:3)",
        "c.csv:4: b: found B 3, which was rejected (b.csv:4)",
    ] {
        assert!(told.contains(said), "{said}\n{told}");
    }
    place.run("verify m.db").expect(0);
}

/// A question, a change and a structure may have one name; each can be asked for.
#[test]
fn a_name_of_several_says_which() {
    let place = Place::new();
    let model = "
entity A (100) {
  id  int  key
  n   int
}
question a (1/s)  select n from A where id = $id
change   b (1/s)  insert A
";
    std::fs::write(place.path().join("m.querent"), model).unwrap();
    let explain = |name: &str| place.run(&format!("explain m.querent {name}"));
    let all = explain("a").expect(0).out;
    assert!(
        all.starts_with("question a") && all.contains("\na: one row"),
        "{all}"
    );
    let question = explain("question:a").expect(0).out;
    assert!(
        question.starts_with("question a") && !question.contains("a: one row"),
        "{question}"
    );
    let structure = explain("structure:a").expect(0).out;
    assert!(structure.starts_with("a: one row"), "{structure}");
    let json = explain("structure:a --format json").expect(0).json();
    assert_eq!(keys(&json), ["structure"]);
    explain("change:a").expect(2);
    let unknown = explain("zzzz").expect(2).err;
    assert!(unknown.contains("there are a, b\n"), "{unknown}");
}
