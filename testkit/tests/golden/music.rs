//! Performers, albums, tracks. The albums have 19 keys (title, year) that occur more than once,
//! in 22 rows too many: a load names each of them and loses none silently.

use super::{Case, expected, golden};
use querent::load::LoadOptions;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const MODEL: &str = "
model music
entity Performer (5500) {
  name text(15) key
  type text(6)
  country text(13)?
  founded int?
  born int?
  died int?
}
entity Album (3200) {
  title text(25) key
  year int key
  genre text(8)
  performer -> Performer as albums (avg 1, max 50)
}
entity Track (37k) {
  album -> Album key as tracks (avg 12, max 100)
  number int key
  title text(25)
  genre text(8)
}
question performer (10/s) select name, type, country, founded, born, died from Performer where name = $name
question albums_of (10/s) select performer.name as performer, year, title, genre from Album
  where performer.name = $name order by year desc, title
question album (10/s) select performer.name as performer, year, title, genre from Album
  where title = $title and year = $year
question albums_titled (10/s) select performer.name as performer, year, title, genre from Album
  where title = $title order by year desc
question albums_in (10/s) select performer.name as performer, year, title, genre from Album
  where genre = $genre order by year desc, title
question tracks_titled (10/s) select album.title as album_title, album.year as album_year, genre, number, title
  from Track where title = $title order by album.year desc, album.title, number
question tracks_of (10/s) select album.title as album_title, album.year as album_year, genre, number, title
  from Track where album.title = $title and album.year = $year order by number
";

const ALBUM: [(&str, &str); 4] = [
    ("performer", "performer"),
    ("year", "year"),
    ("title", "title"),
    ("genre", "genre"),
];
const TRACK: [(&str, &str); 5] = [
    ("album_title", "album_title"),
    ("album_year", "album_year"),
    ("genre", "genre"),
    ("number", "number"),
    ("title", "title"),
];

/// The files, with the columns of a track's album named as the model has them.
fn files(archive: &Path, folder: &Path) -> [(&'static str, PathBuf); 3] {
    let status = std::process::Command::new("tar")
        .arg("xzf")
        .arg(archive)
        .arg("-C")
        .arg(folder)
        .status()
        .unwrap();
    assert!(status.success());
    let tracks = folder.join("tracks.csv");
    let text = std::fs::read_to_string(&tracks).unwrap();
    std::fs::write(
        &tracks,
        text.replacen("album_title,album_year", "album.title,album.year", 1),
    )
    .unwrap();
    [
        ("Track", tracks),
        ("Album", folder.join("albums.csv")),
        ("Performer", folder.join("performers.csv")),
    ]
}

#[test]
fn duplicates_are_named_and_the_rest_answers_as_expected() {
    let Some(golden) = golden("music-data") else {
        return;
    };
    let mut case = Case::new(MODEL);
    let files = files(&golden.join("music_data.tar.gz"), case.folder.path());
    let report = case.load(&files, &LoadOptions::default());
    assert!(!report.applied, "nothing is loaded where a row is rejected");
    assert_eq!(
        (report.read, report.loaded, report.rejected),
        (45_502, 0, 22)
    );
    let lines = std::fs::read_to_string(&files[1].1).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let mut keys = BTreeSet::new();
    for reject in &report.rejects {
        assert!(reject.file.ends_with("albums.csv"), "{reject}");
        assert!(
            reject.reason.contains("is given already at"),
            "{}",
            reject.reason
        );
        assert_eq!(reject.text, lines[reject.line as usize - 1], "{reject}");
        keys.insert(reject.reason.split(" is given").next().map(str::to_owned));
    }
    assert_eq!(keys.len(), 19);

    let skipping = LoadOptions {
        all_or_nothing: false,
        ..LoadOptions::default()
    };
    let report = case.load(&files, &skipping);
    assert_eq!((report.loaded, report.rejected), (45_480, 22));
    let expected = expected(&golden);
    let performer = ["name", "type", "country", "founded", "born", "died"].map(|c| (c, c));
    case.check(
        "performer",
        json!({"name": "The Beatles"}),
        &performer,
        &expected[0],
    );
    case.check(
        "albums_of",
        json!({"name": "The Beatles"}),
        &ALBUM,
        &expected[1],
    );
    let tour = json!({"title": "Magical Mystery Tour", "year": 1967});
    case.check("album", tour.clone(), &ALBUM, &expected[2]);
    case.check(
        "albums_titled",
        json!({"title": "20 Greatest Hits"}),
        &ALBUM,
        &expected[3],
    );
    case.check(
        "albums_in",
        json!({"genre": "Classical"}),
        &ALBUM,
        &expected[4],
    );
    case.check(
        "tracks_titled",
        json!({"title": "Let It Be"}),
        &TRACK,
        &expected[5],
    );
    case.check("tracks_of", tour, &TRACK, &expected[6]);
}
