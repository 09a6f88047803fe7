//! A shop of music: its facts are loaded in an order in which everything refers forward, every
//! question is held against `SQLite` before and after changes of every kind.

use super::against::{Beside, Rows, facts, load};
use super::{Case, golden_folder};
use serde_json::{Value as Json, json};

const MODEL: &str = include_str!("../../models/chinook.querent");

/// An empty text stands for nothing where it may be left out.
fn some(value: &Json) -> Json {
    match value.as_str() {
        Some("") => Json::Null,
        _ => value.clone(),
    }
}

fn address(row: &Json, prefix: &str) -> Json {
    let part = |name: &str| row[format!("{prefix}{name}")].clone();
    json!({ "street": part("Address"), "city": part("City"), "state": some(&part("State")),
            "country": part("Country"), "postcode": some(&part("PostalCode")) })
}

/// The tables as entities, those that refer before those referred to.
fn rows() -> Option<Vec<Rows>> {
    let text = std::fs::read_to_string(golden_folder("chinook")?.join("ChinookData.json")).unwrap();
    let tables: Json = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    let of = |table: &str, row: fn(&Json) -> Json| -> Vec<Json> {
        tables[table].as_array().unwrap().iter().map(row).collect()
    };
    let day = |at: &Json| Json::from(at.as_str().unwrap().split('T').next().unwrap());
    let employee = |r: &Json| {
        json!({ "id": r["EmployeeId"], "last_name": r["LastName"], "first_name": r["FirstName"],
                "title": r["Title"], "born_on": day(&r["BirthDate"]), "hired_on": day(&r["HireDate"]),
                "address": address(r, ""), "phone": some(&r["Phone"]), "fax": some(&r["Fax"]),
                "email": r["Email"], "boss": r["ReportsTo"] })
    };
    let employees = tables["Employee"].as_array().unwrap();
    let named = |id: &'static str| move |r: &Json| json!({ "id": r[id], "name": r["Name"] });
    let all = |table: &str, row: &dyn Fn(&Json) -> Json| -> Vec<Json> {
        tables[table].as_array().unwrap().iter().map(row).collect()
    };
    Some(vec![
        (
            "Playlist.tracks",
            of(
                "PlaylistTrack",
                |r| json!({ "from": r["PlaylistId"], "to": r["TrackId"] }),
            ),
        ),
        (
            "Line",
            of("InvoiceLine", |r| {
                json!({ "id": r["InvoiceLineId"], "price": r["UnitPrice"],
                        "quantity": r["Quantity"], "invoice": r["InvoiceId"],
                        "track": r["TrackId"] })
            }),
        ),
        (
            "Invoice",
            of("Invoice", |r| {
                json!({ "id": r["InvoiceId"], "at": r["InvoiceDate"],
                        "billing": address(r, "Billing"), "total": r["Total"],
                        "customer": r["CustomerId"] })
            }),
        ),
        (
            "Customer",
            of("Customer", |r| {
                json!({ "id": r["CustomerId"], "first_name": r["FirstName"],
                        "last_name": r["LastName"], "company": some(&r["Company"]),
                        "address": address(r, ""), "phone": some(&r["Phone"]),
                        "fax": some(&r["Fax"]), "email": r["Email"],
                        "support": r["SupportRepId"] })
            }),
        ),
        ("Employee", employees.iter().rev().map(employee).collect()),
        ("Playlist", all("Playlist", &named("PlaylistId"))),
        (
            "Track",
            of("Track", |r| {
                json!({ "id": r["TrackId"], "name": r["Name"], "composer": some(&r["Composer"]),
                        "milliseconds": r["Milliseconds"], "bytes": r["Bytes"],
                        "price": r["UnitPrice"], "album": r["AlbumId"],
                        "media": r["MediaTypeId"], "genre": r["GenreId"] })
            }),
        ),
        (
            "Album",
            of(
                "Album",
                |r| json!({ "id": r["AlbumId"], "title": r["Title"], "artist": r["ArtistId"] }),
            ),
        ),
        ("Artist", all("Artist", &named("ArtistId"))),
        ("Genre", all("Genre", &named("GenreId"))),
        ("MediaType", all("MediaType", &named("MediaTypeId"))),
    ])
}

/// Every question, with several sets of parameters.
fn ask_all(beside: &mut Beside<'_>) {
    for id in [1, 2, 94, 141, 275, 1000] {
        beside.ask("album_page", &json!({ "album": id }));
        beside.ask("artist_page", &json!({ "artist": id }));
        beside.ask("track_page", &json!({ "track": id }));
    }
    for (genre, from, to) in [("Jazz", 0, 300_000), ("Opera", 0, 900_000), ("World", 1, 2)] {
        let range = json!({ "genre": genre, "from": from, "to": to });
        beside.pages("tracks_in", &range, "cursor");
        beside.ask("tracks_in_back", &json!({ "genre": genre }));
        beside.ask("bought_genre", &json!({ "genre": genre, "price": "0.98" }));
        beside.ask("bought_both", &json!({ "a": genre, "b": "Rock" }));
    }
    for id in [1, 6, 9, 25] {
        beside.ask("without_composer", &json!({ "genre": id }));
    }
    for composer in ["AC/DC", "Kurt Cobain", ""] {
        beside.ask("by_composer", &json!({ "composer": composer }));
    }
    for id in [1, 2, 8, 17] {
        beside.ask("playlist", &json!({ "playlist": id }));
        beside.ask("artists_on", &json!({ "playlist": id }));
        beside.ask("team", &json!({ "boss": id }));
        beside.ask("unfolded", &json!({ "customer": id }));
    }
    for artist in ["AC/DC", "Queen", "Nobody"] {
        beside.ask("lists_of_artist", &json!({ "artist": artist }));
    }
    for email in ["luisg@embraer.com.br", "leonekohler@surfeu.de", ""] {
        beside.ask("customer_page", &json!({ "email": email }));
    }
    for countries in [json!(["USA", "Brazil", "USA"]), json!([])] {
        beside.ask("customers_in", &json!({ "countries": countries }));
    }
    let (from, to) = ("2021-06-05T00:00:00Z", "2024-02-29T00:00:00Z");
    beside.ask("sales_by_month", &json!({ "from": from, "to": to }));
    beside.ask("invoices_of_day", &json!({ "day": "2021-01-03T00:00:00Z" }));
    for (total, before) in [
        ("10", "2021-03-01T00:00:00Z"),
        ("100", "2022-01-01T00:00:00Z"),
    ] {
        beside.ask("big_or_old", &json!({ "total": total, "before": before }));
    }
    beside.ask("hired", &json!({ "since": "2003-05-03" }));
    for (price, n) in [("0.99", 5), ("1", 20), ("9", 3), ("0", 0)] {
        beside.ask("top_lines", &json!({ "price": price, "n": n }));
    }
    for question in [
        "best_customers",
        "sales_by_country",
        "sales_by_year_and_agent",
        "never_bought",
        "stateless",
        "genres",
        "lengths",
        "playlist_sizes",
    ] {
        assert!(beside.ask(question, &json!({})) > 0, "{question}");
    }
}

#[test]
fn a_shop_of_music_answers_as_sql_does() {
    let Some(rows) = rows() else {
        return;
    };
    let mut case = Case::new(MODEL);
    load(&mut case, &rows);
    let facts = facts(case.database.as_ref().unwrap().model(), &rows);
    let mut beside = Beside::new(&case, facts);
    ask_all(&mut beside);

    beside.change("rename_artist", &json!({ "artist": 1, "name": "Neu!" }));
    beside.change(
        "rename_genre",
        &json!({ "genre": 2, "name": "Jazz & Blues" }),
    );
    beside.refused("rename_genre", &json!({ "genre": 3, "name": "Opera" }));
    beside.change("reprice", &json!({ "genre": "Latin", "by": "0.505" }));
    beside.change("list", &json!({ "from": 2, "to": 5 }));
    beside.change("list", &json!({ "from": 2, "to": 5 }));
    beside.refused("list", &json!({ "from": 2, "to": 99_999 }));
    beside.change("unlist", &json!({ "playlist": 1, "genre": "Metal" }));
    beside.change("move_customers", &json!({ "from": 3, "to": 4 }));
    beside.refused("drop_employee", &json!({ "employee": 2 }));
    beside.change("drop_employee", &json!({ "employee": 4 }));
    beside.change("drop_genre", &json!({ "genre": 6 }));
    beside.refused("drop_track", &json!({ "track": 4 }));
    beside.change("drop_invoice", &json!({ "invoice": 1 }));
    beside.change("drop_track", &json!({ "track": 4 }));
    let fix = |expected: &str| json!({ "invoice": 5, "total": "100.01", "expected": expected });
    beside.refused("fix_total", &fix("2"));
    beside.change("fix_total", &fix("13.86"));
    beside.change("put_artist", &json!({ "id": 1, "name": "AC/DC" }));
    beside.change("put_artist", &json!({ "id": 1000, "name": "Can" }));
    let off = |off: &str| json!({ "invoice": 6, "off": off, "sum": "0.5" });
    beside.change("discount", &off("0.5"));
    beside.refused("discount", &off("5"));
    let billing = json!({ "street": "s", "city": "c", "state": null, "country": "USA",
                          "postcode": null });
    beside.change(
        "buy",
        &json!({ "at": "2026-01-01T10:00:00Z", "billing": billing, "total": "5.5", "customer": 1 }),
    );
    let line = |id, invoice| json!({ "id": id, "price": "5.5", "quantity": 1, "invoice": invoice, "track": 3 });
    beside.change("add_line", &line(2241, 413));
    beside.refused("add_line", &line(2241, 413));
    beside.refused("add_line", &line(2242, 4130));
    beside.change(
        "sell",
        &json!({ "id": 4000, "name": "Immer weiter", "composer": null, "milliseconds": 678_000,
                 "bytes": 1, "price": "1.99", "album": 1, "media": 1, "genre": 2 }),
    );
    ask_all(&mut beside);
    beside.verify();
}
