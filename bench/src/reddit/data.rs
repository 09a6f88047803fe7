//! The facts of a forum, made from numbers alone: any row, and any question's parameters, can be
//! computed without the others.

use crate::Result;
use querent_compiler::value::{TIMEUUID_EPOCH, timeuuid};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

pub const CATEGORIES: u64 = 50;
const START: i64 = 1_600_000_000_000;

/// How much there is. A user has 20 posts on average, as in the model.
#[derive(Clone, Copy)]
pub struct Size {
    pub posts: u64,
    pub comments: u64,
}

impl Size {
    pub fn users(self) -> u64 {
        (self.posts / 20).max(1)
    }

    pub fn rows(self) -> u64 {
        self.users() + CATEGORIES + self.posts + self.comments
    }
}

/// A well mixed number of two: the same for the same, always.
pub fn mix(of: u64, seed: u64) -> u64 {
    let mut x = of.wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

fn id_at(millis: i64, number: u64) -> [u8; 16] {
    let ticks = millis as u64 * 10_000 + TIMEUUID_EPOCH + number % 10_000;
    timeuuid(ticks, mix(number, 9) | 1 << 63)
}

fn uuid_text(id: [u8; 16]) -> String {
    let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    );
    format!("{a}-{b}-{c}-{d}-{e}")
}

pub fn category_name(category: u64) -> String {
    format!("category {category:02}")
}

pub fn posted_at(post: u64) -> i64 {
    START + post as i64 * 1_000
}

pub fn post_id(post: u64) -> [u8; 16] {
    id_at(posted_at(post), post)
}

/// Text of about `average` letters, half of it to one and a half.
pub fn text(average: u64, of: u64, seed: u64) -> String {
    let length = average / 2 + mix(of, seed) % (average + 1);
    let mut text = String::with_capacity(length as usize + 16);
    let mut at = mix(of, seed + 1);
    while text.len() < length as usize {
        at = mix(at, 3);
        for letter in at.to_le_bytes() {
            text.push(char::from(
                b"abcdefghijklmnop qrstuvwxyz etaoi"[usize::from(letter) % 33],
            ));
        }
    }
    text.truncate(length as usize);
    text
}

pub struct Post {
    pub id: [u8; 16],
    pub title: String,
    pub url: String,
    pub posted_at: i64,
    pub author: u64,
    pub category: String,
}

pub struct Comment {
    pub id: [u8; 16],
    pub body: String,
    pub at: i64,
    pub post: u64,
    pub author: u64,
}

impl Size {
    pub fn user_name(self, user: u64) -> String {
        format!("{user:x} {}", text(14, user, 1))
    }

    pub fn post(self, post: u64) -> Post {
        Post {
            id: post_id(post),
            title: text(60, post, 10),
            url: format!("https://a.org/{}", text(66, post, 20).replace(' ', "/")),
            posted_at: posted_at(post),
            author: mix(post, 30) % self.users(),
            category: category_name(mix(post, 40) % CATEGORIES),
        }
    }

    pub fn comment(self, comment: u64) -> Comment {
        let at = START + comment as i64 * 150;
        Comment {
            id: id_at(at, comment),
            body: text(200, comment, 50),
            at,
            post: mix(comment, 60) % self.posts,
            author: mix(comment, 70) % self.users(),
        }
    }
}

/// The files of the entities, with the names that they have in the model.
pub fn write(folder: &Path, size: Size) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut files = vec![];
    let mut file = |entity: &'static str, header: &str| -> Result<BufWriter<std::fs::File>> {
        let path = folder.join(format!("{entity}.csv"));
        let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(&path)?);
        writeln!(out, "{header}")?;
        files.push((entity, path));
        Ok(out)
    };
    let mut out = file("Category", "name")?;
    for category in 0..CATEGORIES {
        writeln!(out, "{}", category_name(category))?;
    }
    out.flush()?;
    let mut out = file("User", "id,name")?;
    for user in 0..size.users() {
        writeln!(out, "{user},{}", size.user_name(user))?;
    }
    out.flush()?;
    let mut out = file("Post", "id,title,url,posted_at,author,category")?;
    for post in (0..size.posts).map(|post| size.post(post)) {
        let Post {
            title,
            url,
            posted_at,
            author,
            category,
            ..
        } = &post;
        let id = uuid_text(post.id);
        writeln!(out, "{id},{title},{url},{posted_at},{author},{category}")?;
    }
    out.flush()?;
    let mut out = file("Comment", "id,body,at,post,author")?;
    for comment in (0..size.comments).map(|comment| size.comment(comment)) {
        let Comment {
            body, at, author, ..
        } = &comment;
        let (id, post) = (uuid_text(comment.id), uuid_text(post_id(comment.post)));
        writeln!(out, "{id},{body},{at},{post},{author}")?;
    }
    out.flush()?;
    drop(out);
    Ok(files)
}
