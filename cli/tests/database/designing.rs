//! Commands that design, explain, try out and calibrate.

use crate::place::{MODEL, Place, keys};

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
    // The last says what the steps leave.
    assert_eq!(
        keys(&design["cost"]),
        ["total", "questions", "changes", "by_itself"]
    );
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
            [
                "op",
                "structure",
                "rows",
                "rows_max",
                "reads",
                "cost",
                "needed_by"
            ]
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
