//! The `INSERT` statements of a CQL file, as JSON objects by table.

use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// All inserted rows, in order.
pub(crate) fn inserts(text: &str) -> BTreeMap<String, Vec<Map<String, Json>>> {
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("--"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut out: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("INSERT INTO") {
        let mut at = Reader(&rest[at + "INSERT INTO".len()..]);
        let table = at.word();
        let columns = at.list('(', ')', Reader::word);
        assert_eq!(at.word(), "VALUES");
        let values = at.list('(', ')', Reader::value);
        assert_eq!(columns.len(), values.len(), "{table}");
        out.entry(table)
            .or_default()
            .push(columns.into_iter().zip(values).collect());
        rest = at.0;
    }
    out
}

struct Reader<'t>(&'t str);

impl Reader<'_> {
    fn peek(&mut self) -> char {
        self.0 = self.0.trim_start();
        self.0.chars().next().unwrap()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == wanted;
        if found {
            self.0 = &self.0[wanted.len_utf8()..];
        }
        found
    }

    /// A name, quoted or not, a number or an id.
    fn word(&mut self) -> String {
        if self.take('"') {
            let (word, rest) = self.0.split_once('"').unwrap();
            self.0 = rest;
            return word.to_owned();
        }
        let inside = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        self.peek();
        let end = self.0.find(|c| !inside(c)).unwrap();
        assert!(end > 0, "{}", &self.0[..20.min(self.0.len())]);
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word.to_owned()
    }

    fn list<T>(&mut self, open: char, close: char, each: impl Fn(&mut Self) -> T) -> Vec<T> {
        assert!(self.take(open));
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(each(self));
            self.take(',');
        }
        items
    }

    fn value(&mut self) -> Json {
        match self.peek() {
            '\'' => {
                let (text, rest) = self.0[1..].split_once('\'').unwrap();
                self.0 = rest;
                Json::String(text.to_owned())
            }
            '[' => Json::Array(self.list('[', ']', Reader::value)),
            '{' => {
                let pairs = self.list('{', '}', |at| {
                    let key = at.value().as_str().unwrap().to_owned();
                    assert!(at.take(':'));
                    (key, at.value())
                });
                Json::Object(pairs.into_iter().collect())
            }
            _ => {
                let word = self.word();
                if self.0.starts_with('(') {
                    // The value of a function is its argument; that of `now()` is nothing.
                    let args = self.list('(', ')', Reader::value);
                    return args.into_iter().next().unwrap_or(Json::Null);
                }
                match word.as_str() {
                    "true" | "false" => Json::Bool(word == "true"),
                    _ if word.parse::<f64>().is_ok() => serde_json::from_str(&word).unwrap(),
                    _ => Json::String(word),
                }
            }
        }
    }
}
