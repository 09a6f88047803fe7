//! A folder in which the binary is run.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) const MODEL: &str = "\
model blog

entity Author (1k) {
  id    int               key
  name  text(20, max 60)  unique
}
entity Post (100k) {
  id      int        key
  title   text(60)
  at      timestamp
  author  -> Author  as posts (avg 100, max 5k)
}

question latest_of (100/s)
  select title, author.name from Post where author.id = $author order by at desc limit 2 after $cursor

change publish (1/s)    insert Post
change rename  (1/h)    update Author set name where id = $author
change leave   (1/day)  delete Author where id = $author
";

/// What a command did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

/// A folder with the model, and a database where it was asked for.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("blog.querent"), MODEL).unwrap();
        Place(folder)
    }

    /// Two authors and three posts.
    pub(crate) fn with_database() -> Place {
        let place = Place::new();
        place.run("create blog.db --model blog.querent").expect(0);
        let authors = "{\"id\": 1, \"name\": \"Ann\"}\n\n{\"id\": 2, \"name\": \"Ben\"}\n";
        place.feed("put blog.db Author --stdin", authors).expect(0);
        let post = |n: usize| {
            format!(
                "{{\"id\": {n}, \"title\": \"t{n}\", \"at\": \"2026-01-0{n}T00:00:00Z\", \"author\": 1}}\n"
            )
        };
        let posts: String = (1..=3).map(post).collect();
        place.feed("put blog.db Post --stdin", &posts).expect(0);
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        self.feed(line, "")
    }

    pub(crate) fn feed(&self, line: &str, input: impl AsRef<[u8]>) -> Ran {
        let mut child = Command::new(env!("CARGO_BIN_EXE_querent"))
            .args(line.split(' '))
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that fails early does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The names of an object's fields, in their order.
pub(crate) fn keys(value: &serde_json::Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}
