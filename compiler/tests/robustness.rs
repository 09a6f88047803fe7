//! No text makes the compiler panic, and whatever `fmt` accepts it lays out once and for all.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use querent_compiler::diagnostic::Diagnostic;
use querent_compiler::syntax::{Kind, lex};
use querent_compiler::{format, parse};

/// A small deterministic generator: the same texts on every run and machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

const MODEL: &str = include_str!("../../examples/reddit.querent");
const SECOND: &str = r"
model second   # a comment
enum Status { open, paid }
entity A (5k) { id int sequence key  s Status
  m map<text(3), any> (avg 2, max 9)   # another
  l list<{ a -> A?, n decimal }> (avg 3)
  b ->> A (avg 2, max 9) as c (avg 2, max 9) { at timestamp } }
entity B is A (1k) { x float?
  y point }
question q (x 1, y 2)
  select *, l { a.id, n, position order by n desc limit 2 }, b@at, m[$k] as v, count(c) as n
  from A where not (s = open or x >= -1.5) and any b (id in $ids) and l.n between 1 and 2
question r (x 1) select s, hour(b@at) as h, sum(x) from B group by s, hour(b@at) order by h after $c
change c (y 4) atomic {
  insert B { s, m, l, x = $x * 2, y }
  for each $i in $is { update A set s = paid where id = $i.id if s is not null }
  connect A.b from $a to $b set at = '2024-01-31T10:00Z'
  disconnect A.b where from.id = 1 }
";

fn check(text: &str) {
    let (model, found) = parse("x", text);
    assert_eq!(
        model.is_none(),
        found.iter().any(Diagnostic::is_error),
        "{text}"
    );
    for d in &found {
        assert!(
            text.get(d.span.start..d.span.end).is_some(),
            "{d:?} in {text}"
        );
    }
    querent_compiler::diagnostic::to_text(
        &found,
        "x",
        text,
        querent_compiler::diagnostic::Style::Colour,
    );
    let Ok(once) = format(text) else { return };
    let tokens = |text: &str| -> Vec<String> {
        let (tokens, _) = lex(text);
        let kept = tokens.iter().filter(|t| t.kind != Kind::End);
        kept.map(|t| t.span.of(text).trim_end().to_owned())
            .collect()
    };
    assert_eq!(tokens(text), tokens(&once), "tokens of\n{text}\n{once}");
    let twice = format(&once).unwrap_or_else(|e| panic!("{e:?}\n{once}"));
    assert_eq!(once, twice, "once more\n{text}");
    let (again, _) = parse("x", &once);
    assert_eq!(
        serde_json::to_string(&model).unwrap(),
        serde_json::to_string(&again).unwrap()
    );
}

#[test]
fn whole_texts() {
    for text in [
        "",
        "\n\n",
        "model",
        "model x",
        "# only a comment",
        MODEL,
        SECOND,
    ] {
        check(text);
    }
    assert!(
        parse("x", SECOND).0.is_some(),
        "{:#?}",
        parse("x", SECOND).1
    );
}

#[test]
fn every_prefix() {
    for text in [MODEL, SECOND] {
        for end in 0..text.len() {
            check(text.get(..end).unwrap_or_default());
        }
    }
}

#[test]
fn mutated_tokens() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let sources: Vec<(&str, Vec<_>)> = [MODEL, SECOND].map(|t| (t, lex(t).0)).into();
    for round in 0..3000 {
        let (text, tokens) = &sources[round % 2];
        let mut words: Vec<String> = tokens
            .iter()
            .map(|t| {
                format!(
                    "{}{}",
                    if t.breaks > 0 { "\n" } else { " " },
                    t.span.of(text)
                )
            })
            .collect();
        for _ in 0..=random.below(3) {
            let (a, b) = (random.below(words.len()), random.below(words.len()));
            match random.below(4) {
                0 => drop(words.remove(a)),
                1 => words.swap(a, b),
                2 => words.insert(a, words[b].clone()),
                _ => words[a] = words[b].trim().to_owned(),
            }
        }
        check(&words.concat());
    }
}

#[test]
fn random_characters() {
    let mut random = Random(42);
    let alphabet: Vec<char> = "abk1.5M$'\"#@{}()[]<>,=+-*/?%:!\n\t é→\u{0}\r"
        .chars()
        .collect();
    for _ in 0..3000 {
        let length = random.below(60);
        let noise: String = (0..length)
            .map(|_| alphabet[random.below(alphabet.len())])
            .collect();
        check(&noise);
        let mut text = MODEL.to_owned();
        let at = text.floor_char_boundary(random.below(text.len()));
        text.insert_str(at, &noise);
        check(&text);
    }
}

#[test]
fn deep_nesting_ends_in_a_finding() {
    let deep = |open: &str, middle: &str, close: &str, n: usize| {
        format!("{}{middle}{}", open.repeat(n), close.repeat(n))
    };
    let n = 20_000;
    let texts = [
        format!(
            "question q (1/s) select a from A where {}",
            deep("(", "a = 1", ")", n)
        ),
        format!(
            "question q (1/s) select a from A where {}",
            deep("not ", "a = 1", "", n)
        ),
        format!(
            "question q (1/s) select {} from A",
            deep("a { ", "b", " }", n)
        ),
        format!("question q (1/s) select {} from A", deep("- ", "b", "", n)),
        format!(
            "question q (1/s) select {} from A",
            deep("b + ", "b", "", n)
        ),
        format!(
            "question q (1/s) select {} from A",
            deep("b * ", "b", "", n)
        ),
        format!("question q (1/s) select {} from A", deep("f(", "b", ")", n)),
        format!("question q (1/s) select {} from A", deep("f[", "b", "]", n)),
        format!(
            "question q (1/s) select a from A where {}",
            deep("any x (", "a = 1", ")", n)
        ),
        format!("entity A (1) {{ a {} }}", deep("list<", "int", ">", n)),
        format!("entity A (1) {{ a {} }}", deep("{ a ", "int", " }", n)),
        format!(
            "change c (1/s) {}",
            deep("for each $a in $b { ", "insert A", " }", n)
        ),
    ];
    for text in texts {
        let (model, found) = parse("x", &text);
        assert!(model.is_none());
        assert!(found.iter().any(Diagnostic::is_error));
        assert!(format(&text).is_err());
    }
}
