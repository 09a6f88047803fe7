//! Every code has a section in the book with a text that gives it and a text that does not.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::design::{Options, design, target};
use querent_compiler::diagnostic::{Style, codes, to_json, to_text};
use std::collections::BTreeMap;

/// Codes of a text; with a target also those that its design gives.
fn codes_of(text: &str, on: Option<&str>, structures: Option<usize>) -> Vec<&'static str> {
    let (model, found) = querent_compiler::parse("test.querent", text);
    assert_eq!(
        model.is_none(),
        found
            .iter()
            .any(querent_compiler::diagnostic::Diagnostic::is_error)
    );
    let mut codes: Vec<_> = found.iter().map(|d| d.code.id).collect();
    if let (Some(model), Some(target)) = (model, on) {
        let mut options = Options::embedded();
        options.target = target::named(target).unwrap();
        let limits = &mut options.target.limits;
        limits.structures = structures.unwrap_or(limits.structures);
        options.given = model.schemas.last().cloned();
        let found = match design(&model, &options) {
            Ok(design) => design.warnings,
            Err(error) => vec![error.finding()],
        };
        let found = found.iter().map(|w| w.diagnostic(text).code.id);
        codes.extend(found);
    }
    codes
}

/// A block of the book.
struct Example {
    /// The target that it is designed for.
    target: Option<String>,
    /// How many structures that target is to allow.
    structures: Option<usize>,
    /// Whether it shows what is wrong.
    wrong: bool,
    text: String,
}

/// Sections of the book: code, title, blocks.
fn sections() -> BTreeMap<String, (String, Vec<Example>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/diagnostics.md");
    let book = std::fs::read_to_string(path).unwrap();
    let mut sections = BTreeMap::new();
    for section in book.split("\n## ").skip(1) {
        let (head, body) = section.split_once('\n').unwrap();
        let (code, title) = head.split_once(": ").unwrap();
        let blocks = body
            .split("```querent")
            .skip(1)
            // The rest of the fence says which finding the book's own test expects.
            .map(|b| {
                let (fence, text) = b.split_once('\n').unwrap();
                let mut words = fence.split(',');
                let target = words.clone().find_map(|w| w.strip_prefix("target="));
                let structures = words.clone().find_map(|w| w.strip_prefix("structures="));
                Example {
                    target: target.map(str::to_owned),
                    structures: structures.map(|n| n.parse().unwrap()),
                    wrong: words.any(|w| w.starts_with("error=")),
                    text: text.split("```").next().unwrap().to_owned(),
                }
            });
        sections.insert(code.to_owned(), (title.to_owned(), blocks.collect()));
    }
    sections
}

#[test]
fn every_code_has_a_section_whose_examples_are_true() {
    let sections = sections();
    assert_eq!(sections.len(), codes::ALL.len());
    for code in codes::ALL {
        let (title, blocks) = sections
            .get(code.id)
            .unwrap_or_else(|| panic!("{} has no section", code.id));
        assert_eq!(title, code.title);
        let (wrong, right): (Vec<&Example>, Vec<&Example>) = blocks.iter().partition(|b| b.wrong);
        assert!(
            !wrong.is_empty() && right.len() >= wrong.len(),
            "{} needs a block that is wrong, and one that is right instead",
            code.id
        );
        for block in wrong {
            let found = codes_of(&block.text, block.target.as_deref(), block.structures);
            let unexpected =
                |c: &&'static str| *c != code.id && c.starts_with('E') && code.id != "E001";
            assert!(
                found.contains(&code.id),
                "{} is not found, but {found:?}",
                code.id
            );
            assert!(!found.iter().any(unexpected), "{}: also {found:?}", code.id);
        }
        for block in right {
            let found = codes_of(&block.text, block.target.as_deref(), block.structures);
            assert!(
                found.iter().all(|c| c.starts_with('W') && *c != code.id),
                "{} after all: {found:?}",
                code.id
            );
        }
    }
}

#[test]
fn codes_are_unique_and_in_order() {
    let ids: Vec<_> = codes::ALL
        .iter()
        .map(|c| (c.id.starts_with('W'), c.id))
        .collect();
    assert!(ids.is_sorted());
    assert!(ids.windows(2).all(|w| w[0] != w[1]));
}

const MODEL: &str = "
enum Status { open, paid }
entity User (2M) {
  id      bigint    key
  name    text(20)  unique
  active  bool
  score   float?
  home    { city text(15), at point }
  tags    set<text(10)> (avg 3, max 40)
  extra   map<text(8), any> (max 9)
  follows ->> User (avg 200, max 7k) as followers (avg 200, max 300k) { at timestamp }
}
entity Post (40M) {
  id      timeuuid  key
  title   text(60)
  price   decimal
  status  Status
  at      timestamp
  author  -> User as posts (avg 20, max 100k) { since date }
  editor  -> User? as edited (avg 20, max 100k) on delete clear
  lines   list<{ item -> User, count int }> (avg 3, max 50)
}
entity Page is Post (1M) { number int }
";

/// What follows the model above, and the codes it gives.
const CASES: &[(&str, &[&str])] = &[
    // Accepted.
    ("question q (1/s) select * from Post", &[]),
    (
        "question q (1/s) select *, number from Page where number in (1, 2) or not title in $titles",
        &[],
    ),
    (
        "question q (1/s) select id, tags.value as tag from User order by tag",
        &[],
    ),
    (
        "question q (1/s) select tags, count(*) from User group by tags order by tags",
        &[],
    ),
    (
        "question q (1/s) select author { id, name }, editor { * } from Post where editor is not null",
        &[],
    ),
    (
        "question q (1/s) select follows { id, @at order by @at desc limit 3 } from User",
        &[],
    ),
    (
        "question q (1/s) select follows@at from User where followers has $u and extra has 'x'",
        &[],
    ),
    (
        "question q (1/s) select lines { item { name }, position } from Post where any lines (item.name = $n and count > 3)",
        &[],
    ),
    (
        "question q (1/s) select id from User where active and not (score > 1.5k) and 5 < id",
        &[],
    ),
    (
        "question q (1/s) select id from User where count(posts) > 3 and max(posts.at) < $t",
        &[],
    ),
    (
        "question q (1/s) select time(id) as t from Post where time(id) between '2024-01-01' and $to and type = Page",
        &[],
    ),
    (
        "question q (1/s) select author@since from Post where author@since = '2024-01-31' limit $n",
        &[],
    ),
    (
        "question q (1/s) select extra[$k] as v from User where extra[$k] = 5 and home.city = 'x'",
        &[],
    ),
    (
        "question q (1/s) select price * 1.5 as p, -price as m from Post where editor = $e and status != paid",
        &[],
    ),
    (
        "question q (1/s) select author.id, avg(price) as a, count(distinct editor) as e from Post group by author.id order by a desc, author.id",
        &[],
    ),
    (
        "change c (1/s) { insert Page\n connect User.follows set at = '2024-01-01' \n disconnect User.follows where to.id = $x if at < $t }",
        &[],
    ),
    (
        "change c (1/s) update Post set editor = null, author = editor, author@since = $since, price = price * 2 where id = $id if status = open",
        &[],
    ),
    (
        "change c (1/s) for each $p in $ps { update Post set title = $p.title, author = $p.author, author@since = $p.since where id = $p.id }",
        &[],
    ),
    (
        "change c (1/s) upsert User { id, name = 'x', active = true, home, tags, extra }",
        &[],
    ),
    (
        "change c (1/s) { disconnect User.follows\n disconnect User.follows from $a to $b if at < $t }",
        &[],
    ),
    (
        "change c (1/s) { disconnect User.follows from $a where at < $t\n disconnect User.follows where true }",
        &[],
    ),
    ("change c (1/s) disconnect User.follows from 'x'", &["E040"]),
    // All of them.
    ("change c (1/s) delete Page if number > 1", &["W009"]),
    ("change c (1/s) update User set active", &["W009"]),
    (
        "change c (1/s) { delete Page where true\n update User set active = true where not active }",
        &[],
    ),
    // Names.
    ("question q (1/s) select autor.name from Post", &["E013"]),
    (
        "question q (1/s) select nope, neither from Post where nor = 1",
        &["E013", "E013", "E013"],
    ),
    (
        "question q (1/s) select number from Post where author.number = 1",
        &["E013"],
    ),
    ("question q (1/s) select home.town from User", &["E013"]),
    (
        "question q (1/s) select id from Post where type = Pagee",
        &["E014"],
    ),
    (
        "question q (1/s) select id from Post\nquestion q (1/s) select id from User",
        &["E010"],
    ),
    ("change c (1/s) connect User.folows", &["E016"]),
    (
        "change c (1/s) update Post set number = 1 where id = $id",
        &["E013"],
    ),
    // Types.
    (
        "question q (1/s) select id from User where id = 'x'",
        &["E040"],
    ),
    (
        "question q (1/s) select id from User where id = 1.5",
        &["E041"],
    ),
    // Digits that have no float, and more of them than a decimal has: neither is rounded.
    (
        "question q (1/s) select id from User where score < 1e309",
        &["E041"],
    ),
    (
        "question q (1/s) select id from User where extra['a'] = -1e309",
        &["E041"],
    ),
    (
        "question q (1/s) select id from Post where price = 0.12345678901234567890123456789",
        &["E041"],
    ),
    (
        "question q (1/s) select id from Post where price = '0.12345678901234567890123456789'",
        &["E041"],
    ),
    // What is never null, by an attribute, a path, a reference, an element; and what may be.
    (
        "question q (1/s) select id from User where name is null or home.city is not null",
        &["W005", "W005"],
    ),
    (
        "question q (1/s) select id from Post where author is null or author.name is null",
        &["W005", "W005"],
    ),
    (
        "question q (1/s) select id from Post where any lines (count is null)",
        &["W005"],
    ),
    (
        "question q (1/s) select id from Post where editor is null or editor.name is null",
        &[],
    ),
    (
        "question q (1/s) select id from User where score is null or extra['a'] is null \
         or posts is null or follows is not null",
        &[],
    ),
    (
        "question q (1/s) select id from Page where number is null",
        &[],
    ),
    // A warning hides no error.
    (
        "change c (1/s) for each $x in $xs { delete User where name is null and $x.name = 5 }",
        &["W005", "E048"],
    ),
    (
        "question q (1/s) select id from User where name = null",
        &["E040"],
    ),
    (
        "question q (1/s) select id from User where score = id",
        &["E040"],
    ),
    (
        "question q (1/s) select id from Post where id = '00000000-0000-4000-8000-000000000000'",
        &["E041"],
    ),
    (
        "question q (1/s) select id from User where home.at > $p",
        &["E042"],
    ),
    (
        "question q (1/s) select id from User order by extra",
        &["E042"],
    ),
    ("question q (1/s) select price * score from Post", &["E013"]),
    (
        "question q (1/s) select price * author.score as x from Post",
        &["E043"],
    ),
    (
        "question q (1/s) select hour(title) as h from Post",
        &["E040"],
    ),
    (
        "question q (1/s) select title[$k] as h from Post",
        &["E040"],
    ),
    // Aggregates and groups.
    (
        "question q (1/s) select id from Post where count(*) > 1",
        &["E044"],
    ),
    (
        "question q (1/s) select sum(count(posts)) from User",
        &["E044"],
    ),
    (
        "question q (1/s) select count(*) from Post group by count(*)",
        &["E044"],
    ),
    (
        "question q (1/s) select name, count(*) from User",
        &["E045"],
    ),
    (
        "question q (1/s) select count(*) from User order by name",
        &["E045"],
    ),
    (
        "question q (1/s) select name, count(posts) from User group by name",
        &["E045"],
    ),
    (
        "question q (1/s) select tags, count(posts.title) from User group by tags",
        &["E045"],
    ),
    (
        "question q (1/s) select lines.item.id, sum(lines.count), avg(lines.item.score) from Post group by lines.item.id",
        &[],
    ),
    (
        "question q (1/s) select posts.title, max(posts.at), count(posts.lines.count) from User group by posts.title",
        &["E045"],
    ),
    (
        "question q (1/s) select posts.lines.count, max(posts.at), sum(posts.lines.count) from User group by posts.lines.count",
        &[],
    ),
    // Shapes.
    (
        "question q (1/s) select author { id order by id } from Post",
        &["E050"],
    ),
    ("question q (1/s) select title { id } from Post", &["E050"]),
    (
        "question q (1/s) select id from User order by posts.at",
        &["E050"],
    ),
    (
        "question q (1/s) select id from Post where title has 'x'",
        &["E050"],
    ),
    ("question q (1/s) select tags { * } from User", &["E050"]),
    (
        "question q (1/s) select posts { id after $c } from User",
        &["E049"],
    ),
    ("question q (1/s) select id from User where name", &["E051"]),
    (
        "question q (1/s) select id from User where max(posts.at)",
        &["E051"],
    ),
    ("question q (1/s) select (id = 1) as x from User", &["E051"]),
    ("question q (1/s) select id from User limit 1.5", &["E052"]),
    ("question q (1/s) select id from User limit id", &["E052"]),
    // Changes.
    (
        "change c (1/s) update User set id = 5, name = 6 where id = $id",
        &["E060", "E040"],
    ),
    (
        "change c (1/s) update User set name = null where id = $id",
        &["E062"],
    ),
    (
        "change c (1/s) update User set name = posts.title where id = $id",
        &["E050"],
    ),
    (
        "change c (1/s) insert User { id = $a, name = other }",
        &["E013"],
    ),
    (
        "change c (1/s) for each $x in $xs { delete User where id = $x.id and $x.name = 5 }",
        &["E048"],
    ),
    (
        "change c (1/s) { for each $x in $xs { delete User where id = $x }\n for each $x in $ys { delete Post where id = $x } }",
        &["E063"],
    ),
    ("change c (1/s, stale 1h) insert User", &["E001"]),
    ("change c (1/s) { }", &["E065"]),
    (
        "change c (1/s) { delete User where id = $a  for each $x in $xs { } }",
        &["E065"],
    ),
    (
        "change c (1/s) update User set name = name, score = score where id = $id",
        &["W008"],
    ),
    (
        "change c (1/s) update Post set editor = editor where id = $id",
        &["W008"],
    ),
    (
        "change c (1/s) update User set name = name where id = $id if active",
        &[],
    ),
    // What sets a reference gives what its links must have, and what clears it gives nothing.
    (
        "change c (1/s) update Post set author where id = $id",
        &["E061"],
    ),
    (
        "change c (1/s) update Post set author, author@since where id = $id",
        &[],
    ),
    (
        "change c (1/s) update Post set author@since where id = $id",
        &[],
    ),
    (
        "entity Draft (9) { id int key  by -> User? as drafts (max 9) { since date, note text? } }
         change c (1/s) insert Draft { id, by }
         change d (1/s) insert Draft { id, by@since }
         change e (1/s) update Draft set by = null, by@note where id = $id",
        &["E061", "E062", "E062"],
    ),
    (
        "entity Draft (9) { id int key  by -> User? as drafts (max 9) { since date, note text? } }
         change c (1/s) insert Draft { id, by, by@since }
         change d (1/s) upsert Draft { id, by@since }
         change e (1/s) update Draft set by = null where id = $id
         change f (1/s) insert Draft { id }",
        &[],
    ),
    // Several findings of different kinds in one go.
    (
        "question q select nam from User\nchange c (1/s) insert Usr",
        &["E030", "E013", "E011"],
    ),
    (
        "question q (1/s) select id frm User\nquestion r (1/s) select nam from User",
        &["E001", "E013"],
    ),
    (
        "question q (1/x) select id from User where id in $ids",
        &["E004"],
    ),
];

#[test]
fn findings_are_those_of_the_table() {
    for (text, expected) in CASES {
        let full = format!("{MODEL}{text}\n");
        let (_, found) = querent_compiler::parse("test.querent", &full);
        let codes: Vec<_> = found.iter().map(|d| d.code.id).collect();
        assert_eq!(
            &codes,
            expected,
            "{text}\n{}",
            to_text(&found, "test", &full, Style::Plain)
        );
    }
}

#[test]
fn findings_of_entities() {
    let cases: &[(&str, &[&str])] = &[
        ("entity A (0) { id int key }", &["E026"]),
        ("entity A (10) { id int key  x int distinct 0 }", &["E026"]),
        (
            "entity A (10) { id int key  x int distinct 5 (max 0) }",
            &["E026"],
        ),
        (
            "entity A (10) { id int key  x int distinct 5 (avg 2, max 3) }",
            &["E029"],
        ),
        (
            "entity A (10) { id int key  a -> A? as b (max 3) distinct 5 }",
            &["E029"],
        ),
        (
            "entity A (10) { id int key  x { y int distinct 5 } }",
            &["E029"],
        ),
        (
            "entity A (10) { id int key  x int distinct 5 (max 3)  y set<int> (avg 3, max 9) distinct 25 (max 2) }",
            &[],
        ),
        ("entity A (10) { id int key  x int distinct 11 }", &["W007"]),
        (
            "entity A (10) { id int key  x int distinct 5 (max 11) }",
            &["W007"],
        ),
        (
            "entity A (100) { id int key  x int distinct 5 (max 9) }",
            &["W007"],
        ),
        (
            "entity A (100) { id int key  x int? distinct 5 (max 9) }",
            &[],
        ),
        (
            "entity A (100) { id int key  x int unique distinct 5 }",
            &["W007"],
        ),
        (
            "entity A (10) { id int key  y set<int> (avg 3, max 9) distinct 61 }",
            &["W007"],
        ),
        (
            "entity A (10) { id int key }\nentity B (100) { id int key  a -> A as bs (avg 500, max 501) }",
            &["W007", "W007"],
        ),
        (
            "entity A (10) { id int key }\nentity B (100) { id int key  a -> A as bs (avg 2, max 30) }",
            &["W007"],
        ),
        (
            "entity A (10) { id int key }\nentity B (100) { id int key  a -> A? as bs (avg 2, max 30) }",
            &[],
        ),
        (
            "entity A (10) { id int key }\nentity B (100) { id int key  a -> A as bs (max 4) }",
            &["W007"],
        ),
        (
            "entity A (10) { id int key }\nentity B (100) { id int key  a -> A as bs (avg 8, max 30) }",
            &[],
        ),
        (
            "entity A (10) { id int key }\nentity B (100) { id int key  as_ ->> A (avg 2, max 5) as bs (avg 90, max 100) }",
            &["W007"],
        ),
        (
            "entity A (10) { id int key }\nentity B (100) { id int key  as_ ->> A (avg 2, max 11) as bs (avg 20, max 100) }",
            &["W007"],
        ),
        (
            "entity A (5) { id int key\n b -> B as as_ (max 1) }",
            &["E011"],
        ),
        ("entity A (5) { id list<int> (max 9) key }", &["E021"]),
        ("entity A (5) { id any key }", &["E021"]),
        (
            "entity A (5) { id int key }\nentity B is A (2) { x int key }",
            &["E021"],
        ),
        (
            "entity A (5) { id int key\n type int }\nentity B is A (2) { x int }",
            &["E010"],
        ),
        (
            "entity A (5) { id int key }\nentity B is A (2) { x int }\nentity C is A (2) { x int }",
            &["E010"],
        ),
        (
            "entity A (5) { id int key\n a -> A? as id (max 5) }",
            &["E010"],
        ),
        ("entity A (5) { a -> A as b (max 5) key }", &["E022"]),
        (
            "entity A (5) { id int key\n n int sequence per a }",
            &["E024"],
        ),
        (
            "entity A (5) { id int key\n a -> A (max 3) }",
            &["W001", "E029"],
        ),
        (
            "entity A (5) { id int key\n a ->> A? (max 3) as b (max 3) }",
            &["E029"],
        ),
        (
            "entity A (5) { id int key\n a ->> A (max 3) as b (max 3) on delete refuse }",
            &["E029"],
        ),
        (
            "entity A (5) { id int key\n a -> A? as b (max 3) unique }",
            &["E029"],
        ),
        (
            "entity A (5) { id int key\n a -> A? as b (max 3) on delete claer }",
            &["E001"],
        ),
        ("entity A (5) { id int key\n a { b ->> A } }", &["E029"]),
        ("entity A (5) { id int key\n a {} }", &["E028"]),
        ("entity A (5) { id int(5) key }", &["E028"]),
        ("entity A (5) { id int key\n a set<{ x int }> }", &["E028"]),
        (
            "entity A (5) { id int key\n a list<int?> (max 9) }",
            &["E028"],
        ),
        (
            "entity A (5) { id int key\n a text(20, max 10) }",
            &["E026"],
        ),
        ("entity A (5) { id int key\n a A }", &["E012"]),
        (
            "entity A (5) { id int key\n a text }\nquestion q (1/s, stale 5) select a from A",
            &["E004"],
        ),
        ("entity A (5) { id int key } expires after 5", &["E004"]),
        (
            "enum S { a, a }\nenum S { b }\nentity S (1) { id int key }",
            &["E010", "E010", "E010"],
        ),
        (
            "entity A (5) { id int key\n a int b\n c text }\nentity B (5) { id int key }",
            &["E001"],
        ),
        (
            "entity A (5) { id int key\nentity B (5) { id int key }",
            &["E001"],
        ),
        (
            "entity A (5) { id int key\n t text words(english) }\nquestion q (1/s) select id from A where t has words 'x' order by score",
            &["E090", "E090", "E090"],
        ),
    ];
    for (text, expected) in cases {
        let (_, found) = querent_compiler::parse("test.querent", text);
        let codes: Vec<_> = found.iter().map(|d| d.code.id).collect();
        assert_eq!(
            &codes,
            expected,
            "{text}\n{}",
            to_text(&found, "test", text, Style::Plain)
        );
    }
}

#[test]
fn findings_are_printed_with_their_place() {
    let text = "entity User (2M) {\n  id  bigint  key\n}\nquestion q (1/s) select ix from User\n";
    let (_, found) = querent_compiler::parse("a.querent", text);
    let printed = to_text(&found, "a.querent", text, Style::Plain);
    let expected = "\
error[E013]: `User` has no field `ix`
  --> a.querent:4:25
4 | question q (1/s) select ix from User
  |                         ^^
  = help: did you mean `id`?

";
    assert_eq!(printed, expected);
    assert!(to_text(&found, "a.querent", text, Style::Colour).contains("\u{1b}[1;31m"));
    let json = to_json(&found, "a.querent", text);
    assert_eq!(json[0]["code"], "E013");
    assert_eq!(json[0]["severity"], "error");
    assert_eq!(
        (&json[0]["span"]["line"], &json[0]["span"]["column"]),
        (&4.into(), &25.into())
    );
}

/// A value that differs within a group and an aggregate that leads on from its rows are mended in
/// different ways.
#[test]
fn values_that_are_no_group_s_say_why() {
    let cases = [
        ("title", "this value differs within a group", "aggregate it"),
        (
            "count(author.posts)",
            "this aggregate leads to many from each row of a group",
            "group by a value of the same path",
        ),
        (
            "sum(lines.count) + 1",
            "this aggregate leads to many from each row of a group",
            "ask from where the path leads",
        ),
    ];
    for (item, message, help) in cases {
        let question = format!("question q (1/s) select {item} as x from Post group by status\n");
        let text = format!("{MODEL}{question}");
        let (_, found) = querent_compiler::parse("test", &text);
        let told = to_text(&found, "test", &text, Style::Plain);
        assert!(told.contains("error[E045]"), "{item}\n{told}");
        assert!(told.contains(message) && told.contains(help), "{told}");
    }
}

/// What an entity lacks may be in what could not be read of it.
#[test]
fn an_entity_that_cannot_be_read_to_its_end_lacks_nothing() {
    for (text, expected) in [
        ("entity A (1) {", &["E001"][..]),
        ("entity A (1) {\n  x int\n  y int )\n}\n", &["E001"]),
        ("entity A (1) {\n  x int\n}\n", &["E020"]),
    ] {
        let (_, found) = querent_compiler::parse("test", text);
        let codes: Vec<&str> = found.iter().map(|d| d.code.id).collect();
        assert_eq!(codes, expected, "{text}");
    }
}

#[test]
fn the_models_of_the_language_reference_are_accepted() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/language.md");
    let book = std::fs::read_to_string(path).unwrap();
    let mut seen = 0;
    for block in book.split("```querent\n").skip(1) {
        let text = block.split("```").next().unwrap();
        let (_, found) = querent_compiler::parse("language.md", text);
        assert!(
            found.is_empty(),
            "{}",
            to_text(&found, "language.md", text, Style::Plain)
        );
        assert!(querent_compiler::format(text).is_ok());
        seen += 1;
    }
    assert!(seen > 4);
}

/// A misspelt word is reported where it stands, with the one that was meant, and hides no later one.
#[test]
fn misspelt_keywords_are_recognised() {
    let text = "entty A (1) { id uuid key }\nquestin q select id from A\nentity B (1) { id uuid key }\n\
                chnge c insert A\nquestion r select id from B ordr by id\nquestion s select id frm B\n";
    let (_, found) = querent_compiler::parse("x", text);
    let helps: Vec<&str> = found.iter().filter_map(|d| d.help.as_deref()).collect();
    for meant in ["entity", "question", "change", "order", "from"] {
        let help = format!("did you mean `{meant}`?");
        assert!(helps.contains(&help.as_str()), "{meant}: {helps:?}");
    }
}
