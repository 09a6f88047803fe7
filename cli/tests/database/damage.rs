//! Pages of a database that hold something else: every command ends by itself and says so.

use crate::place::Place;

const PAGE: usize = 4096;

/// What is written over a page, each a way to lead a reader astray.
fn damages(page: &[u8]) -> Vec<Vec<u8>> {
    let scattered = page.iter().enumerate().map(|(i, b)| match i % 97 {
        5 => b ^ 0x55,
        _ => *b,
    });
    vec![
        vec![0xff; page.len()],
        vec![0; page.len()],
        scattered.collect(),
        page.iter().map(|b| b.wrapping_add(1)).collect(),
    ]
}

#[test]
fn a_damaged_page_ends_no_command_by_a_signal() {
    let place = Place::with_database();
    let posts: String = (10..400)
        .map(|n| {
            format!(
                "{{\"id\": {n}, \"title\": \"{}\", \"at\": \"2026-01-01T00:00:00Z\", \"author\": 2}}\n",
                "long ".repeat(n % 60)
            )
        })
        .collect();
    place.feed("put blog.db Post --stdin", posts).expect(0);
    let file = place.path().join("blog.db/data.mdb");
    let whole = std::fs::read(&file).unwrap();
    let mut told = 0;
    // The first two pages are those that opening a database reads.
    for at in 2..whole.len() / PAGE {
        let place_of = at * PAGE..(at + 1) * PAGE;
        for damage in damages(&whole[place_of.clone()]) {
            let mut bytes = whole.clone();
            bytes[place_of.clone()].copy_from_slice(&damage);
            std::fs::write(&file, &bytes).unwrap();
            for line in [
                "verify blog.db",
                "ask blog.db latest_of author=2",
                "change blog.db rename author=1 name=Zoe",
            ] {
                // `run` demands an exit code, which a process that a signal has ended does not have.
                let ran = place.run(line);
                assert!((0..=2).contains(&ran.code), "{line}: {}", ran.err);
                assert!(
                    ran.code < 2 || ran.err.contains("error: "),
                    "{line}: {}",
                    ran.err
                );
                told += usize::from(ran.err.contains("the database is damaged"));
            }
        }
    }
    assert!(told > 0, "no damage led out of the file");
}
