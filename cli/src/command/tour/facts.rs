//! Made-up facts of a forum: the same for the same seed, on every machine.

use querent_compiler::value::TIMEUUID_EPOCH;
use serde_json::{Value as Json, json};

const USERS: usize = 200;
const POSTS: usize = 2000;
const COMMENTS: usize = 8000;
const CATEGORIES: [&str; 10] = [
    "rust",
    "databases",
    "science",
    "music",
    "cooking",
    "history",
    "games",
    "cinema",
    "garden",
    "news",
];
/// 2026-01-01T00:00:00Z, in milliseconds.
const START: u64 = 1_767_225_600_000;
/// A post about every six minutes.
const BETWEEN_POSTS: u64 = 370_000;

/// JSON objects by entity, as `load` takes them.
pub(super) struct Facts {
    names: Vec<String>,
    users: Vec<Json>,
    categories: Vec<Json>,
    posts: Vec<Json>,
    comments: Vec<Json>,
}

impl Facts {
    pub(super) fn new(seed: u64) -> Facts {
        let mut random = Random(seed);
        let names: Vec<String> = (0..USERS).map(|id| name(id, &mut random)).collect();
        let posts: Vec<(String, u64)> = (0..POSTS)
            .map(|at| {
                let time = START + at as u64 * BETWEEN_POSTS + random.below(60_000);
                (timeuuid(time, at as u64), time)
            })
            .collect();
        let posted = posts.iter().enumerate().map(|(at, (id, time))| {
            json!({
                "id": id,
                "title": title(&mut random),
                "url": format!("https://example.org/{at}"),
                "posted_at": time,
                "author": random.skewed(USERS),
                "category": pick(&CATEGORIES, random.skewed(CATEGORIES.len())),
            })
        });
        let posted: Vec<Json> = posted.collect();
        let said = (0..COMMENTS).filter_map(|at| {
            let (post, time) = posts.get(random.skewed(POSTS))?;
            let time = time + random.below(48 * 3_600_000);
            Some(json!({
                "id": timeuuid(time, (POSTS + at) as u64),
                "body": sentence(&mut random),
                "at": time,
                "post": post,
                "author": random.skewed(USERS),
            }))
        });
        let comments = said.collect();
        Facts {
            users: names
                .iter()
                .enumerate()
                .map(|(id, name)| json!({ "id": id, "name": name }))
                .collect(),
            names,
            categories: CATEGORIES
                .iter()
                .map(|name| json!({ "name": name }))
                .collect(),
            posts: posted,
            comments,
        }
    }

    /// What there is, each entity behind those that it refers to.
    pub(super) fn all(&self) -> [(&'static str, &[Json]); 4] {
        [
            ("User", &self.users),
            ("Category", &self.categories),
            ("Post", &self.posts),
            ("Comment", &self.comments),
        ]
    }

    /// The id of a user.
    pub(super) fn user_named(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }
}

/// `SplitMix64`: a few lines are all that made-up facts need.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Small numbers more often than large ones, as with everything that is popular.
    fn skewed(&mut self, n: usize) -> usize {
        let one = self.below(n as u64);
        let other = self.below(n as u64);
        one.min(other) as usize
    }
}

fn pick<'a>(list: &[&'a str], at: usize) -> &'a str {
    list.get(at % list.len().max(1))
        .copied()
        .unwrap_or_default()
}

fn word<'a>(list: &[&'a str], random: &mut Random) -> &'a str {
    pick(list, random.below(list.len() as u64) as usize)
}

fn name(id: usize, random: &mut Random) -> String {
    let first = [
        "anna", "bela", "chloe", "dario", "emil", "fatima", "greta", "hugo", "ines", "jonas",
    ];
    let second = [
        "fox", "moss", "river", "stone", "finch", "ash", "pine", "lark", "fern", "wolf",
    ];
    // The number makes it unique.
    format!("{}_{}{id}", word(&first, random), word(&second, random))
}

fn title(random: &mut Random) -> String {
    let how = ["Why", "How", "When", "Where"];
    let who = [
        "old indexes",
        "small caches",
        "two engineers",
        "my neighbours",
        "the elders",
        "fast readers",
    ];
    let what = [
        "learned to love",
        "gave up on",
        "measure",
        "rebuilt",
        "never trusted",
        "rediscovered",
    ];
    let whom = [
        "ordered keys",
        "the garden",
        "compilers",
        "paper maps",
        "joins",
        "the slow lane",
    ];
    format!(
        "{} {} {} {}",
        word(&how, random),
        word(&who, random),
        word(&what, random),
        word(&whom, random)
    )
}

fn sentence(random: &mut Random) -> String {
    let start = [
        "I think",
        "My experience is that",
        "It turns out that",
        "Nobody says it, but",
    ];
    let middle = [
        "this depends on",
        "everything follows from",
        "one should measure",
        "we forget about",
    ];
    let end = [
        "the questions.",
        "the rates.",
        "the weather.",
        "the largest partition.",
    ];
    format!(
        "{} {} {}",
        word(&start, random),
        word(&middle, random),
        word(&end, random)
    )
}

/// A version 1 identifier of a moment; the number keeps those of one moment apart.
fn timeuuid(milliseconds: u64, number: u64) -> String {
    let ticks = milliseconds * 10_000 + TIMEUUID_EPOCH;
    format!(
        "{:08x}-{:04x}-1{:03x}-8000-{number:012x}",
        ticks & 0xffff_ffff,
        (ticks >> 32) & 0xffff,
        (ticks >> 48) & 0x0fff,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_facts() {
        let (one, other) = (Facts::new(1), Facts::new(1));
        assert_eq!(one.all(), other.all());
        assert_ne!(one.posts, Facts::new(2).posts);
        assert_eq!(one.posts.len(), POSTS);
        assert_eq!(one.user_named(&one.names[7]), Some(7));
    }
}
