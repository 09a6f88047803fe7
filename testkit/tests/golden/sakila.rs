//! Two shops that rent films: references in a circle, two references to one entity, many to many
//! with attributes. Every question is held against `SQLite` before and after changes of every kind.

use super::against::{Beside, Rows, facts, load};
use super::{Case, golden_folder};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const MODEL: &str = include_str!("../../models/sakila.querent");

/// Of the customers so many, with all that they rented and paid.
const CUSTOMERS: i64 = 42;

/// The rows of each table of a dump made by `COPY`: columns by name.
fn tables(text: &str) -> BTreeMap<String, Vec<BTreeMap<String, Json>>> {
    let mut tables = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("COPY public.") else {
            continue;
        };
        let (table, columns) = rest.split_once(" (").unwrap();
        let columns: Vec<&str> = columns.split(") ").next().unwrap().split(", ").collect();
        let rows = lines.by_ref().take_while(|l| *l != "\\.").map(|line| {
            let cells = columns.iter().zip(line.split('\t'));
            cells
                .map(|(c, cell)| ((*c).to_owned(), value(cell)))
                .collect()
        });
        tables.insert(table.to_owned(), rows.collect());
    }
    tables
}

/// Whole numbers are numbers; all else is text.
fn value(cell: &str) -> Json {
    match (cell, cell.parse::<i64>()) {
        ("\\N", _) => Json::Null,
        (_, Ok(n)) if n.to_string() == cell => n.into(),
        _ => cell.trim_end().into(),
    }
}

/// What is a text, whatever it looks like.
fn text(value: &Json) -> Json {
    match value {
        Json::Number(n) => n.to_string().into(),
        Json::String(t) if t.is_empty() => Json::Null,
        other => other.clone(),
    }
}

/// `{a,"b c"}`
fn set(value: &Json) -> Json {
    let inner = value.as_str().unwrap_or("{}").trim_matches(['{', '}']);
    let parts = inner.split(',').filter(|p| !p.is_empty());
    parts.map(|p| p.trim_matches('"')).collect()
}

/// The tables as entities, those that refer before those referred to.
fn rows() -> Option<Vec<Rows>> {
    let file = golden_folder("sakila")?.join("postgres-sakila-insert-data-using-copy.sql");
    let tables = tables(&std::fs::read_to_string(file).unwrap());
    let of = |table: &str, row: &dyn Fn(&BTreeMap<String, Json>) -> Json| -> Vec<Json> {
        tables[table].iter().map(row).collect()
    };
    let few = |table: &str, row: &dyn Fn(&BTreeMap<String, Json>) -> Json| -> Vec<Json> {
        let kept = tables[table].iter();
        let kept = kept.filter(|r| r["customer_id"].as_i64().unwrap() <= CUSTOMERS);
        kept.map(row).collect()
    };
    // One pays for what another rented.
    let rentals = few("rental", &|r| r["rental_id"].clone());
    let rented = |id: &Json| rentals.contains(id).then(|| id.clone());
    let yes = |value: &Json| Json::Bool(value == "t");
    Some(vec![
        (
            "Payment",
            few("payment", &|r| {
                json!({ "id": r["payment_id"], "amount": text(&r["amount"]),
                        "at": r["payment_date"], "customer": r["customer_id"],
                        "staff": r["staff_id"], "rental": rented(&r["rental_id"]) })
            }),
        ),
        (
            "Rental",
            few("rental", &|r| {
                json!({ "id": r["rental_id"], "at": r["rental_date"],
                        "returned_at": r["return_date"], "item": r["inventory_id"],
                        "customer": r["customer_id"], "staff": r["staff_id"] })
            }),
        ),
        (
            "Customer",
            few("customer", &|r| {
                json!({ "id": r["customer_id"], "first_name": r["first_name"],
                        "last_name": r["last_name"], "email": r["email"],
                        "active": yes(&r["activebool"]), "since": r["create_date"],
                        "address": r["address_id"], "store": r["store_id"] })
            }),
        ),
        (
            "Film.cast",
            of(
                "film_actor",
                &|r| json!({ "from": r["film_id"], "to": r["actor_id"], "noted_at": r["last_update"] }),
            ),
        ),
        (
            "Film.categories",
            of(
                "film_category",
                &|r| json!({ "from": r["film_id"], "to": r["category_id"] }),
            ),
        ),
        (
            "Item",
            of(
                "inventory",
                &|r| json!({ "id": r["inventory_id"], "film": r["film_id"], "store": r["store_id"] }),
            ),
        ),
        (
            "Film",
            of("film", &|r| {
                let rating = r["rating"]
                    .as_str()
                    .map(|t| t.to_lowercase().replace('-', ""));
                json!({ "id": r["film_id"], "title": r["title"], "description": r["description"],
                        "year": r["release_year"], "days": r["rental_duration"],
                        "rate": text(&r["rental_rate"]), "length": r["length"],
                        "cost": text(&r["replacement_cost"]), "rating": rating,
                        "features": set(&r["special_features"]), "language": r["language_id"],
                        "original": r["original_language_id"] })
            }),
        ),
        (
            "Store",
            of("store", &|r| {
                json!({ "id": r["store_id"], "address": r["address_id"],
                        "manager": r["manager_staff_id"] })
            }),
        ),
        (
            "Staff",
            of("staff", &|r| {
                json!({ "id": r["staff_id"], "first_name": r["first_name"],
                        "last_name": r["last_name"], "email": r["email"],
                        "active": yes(&r["active"]), "address": r["address_id"],
                        "store": r["store_id"] })
            }),
        ),
        (
            "Actor",
            of("actor", &|r| {
                json!({ "id": r["actor_id"], "first_name": r["first_name"],
                        "last_name": r["last_name"] })
            }),
        ),
        (
            "Address",
            of("address", &|r| {
                let phone = r["phone"].to_string().replace('"', "");
                let district = r["district"].to_string().replace('"', "");
                json!({ "id": r["address_id"], "street": r["address"],
                        "second": text(&r["address2"]), "district": district,
                        "postcode": text(&r["postal_code"]), "phone": phone,
                        "city": r["city_id"] })
            }),
        ),
        (
            "City",
            of(
                "city",
                &|r| json!({ "id": r["city_id"], "name": r["city"], "country": r["country_id"] }),
            ),
        ),
        (
            "Country",
            of(
                "country",
                &|r| json!({ "id": r["country_id"], "name": r["country"] }),
            ),
        ),
        (
            "Category",
            of(
                "category",
                &|r| json!({ "id": r["category_id"], "name": r["name"] }),
            ),
        ),
        (
            "Language",
            of(
                "language",
                &|r| json!({ "id": r["language_id"], "name": r["name"] }),
            ),
        ),
    ])
}

/// Every question, with several sets of parameters.
fn ask_all(beside: &mut Beside<'_>) {
    for id in [1, 14, 80, 1000, 2000] {
        beside.ask("film_page", &json!({ "film": id }));
        beside.ask("partners", &json!({ "actor": id }));
        beside.ask("seen_both", &json!({ "a": id, "b": 80 }));
    }
    for (last, first) in [("DAVIS", "SUSAN"), ("GUINESS", "PENELOPE"), ("X", "Y")] {
        beside.ask("films_of_actor", &json!({ "last": last, "first": first }));
    }
    for (category, shortest, longest) in [("Horror", 100, 130), ("Music", 0, 60), ("None", 0, 1)] {
        let range = json!({ "category": category, "shortest": shortest, "longest": longest });
        beside.pages("films_of_category", &range, "cursor");
        beside.ask("films_of_category_back", &json!({ "category": category }));
    }
    for (ratings, feature) in [
        (json!(["pg13", "g"]), "Trailers"),
        (json!(["nc17", "r", "r"]), "Commentaries"),
        (json!([]), "Trailers"),
    ] {
        beside.ask(
            "rated",
            &json!({ "ratings": ratings, "rate": "3", "feature": feature }),
        );
    }
    for id in [1, 2, 3] {
        beside.ask("out", &json!({ "store": id }));
    }
    for id in [1, 5, 42, 999] {
        beside.pages("rentals_of", &json!({ "customer": id }), "cursor");
        beside.ask("balance", &json!({ "customer": id }));
    }
    let (from, to) = ("2005-06-14T22:30:00Z", "2005-06-18T00:00:00Z");
    beside.ask("busy_hours", &json!({ "from": from, "to": to }));
    for country in ["India", "Mexico", "Nowhere"] {
        beside.ask("in_country", &json!({ "country": country }));
        beside.ask("cities", &json!({ "country": country }));
    }
    beside.ask("late", &json!({ "day": "2005-08-24T00:00:00Z" }));
    for question in [
        "best",
        "by_store",
        "by_category",
        "by_country",
        "stores",
        "never_rented",
        "untouched",
        "rates",
        "features",
    ] {
        assert!(beside.ask(question, &json!({})) > 0, "{question}");
    }
    for question in ["unrated", "unpaid"] {
        beside.ask(question, &json!({}));
    }
}

#[test]
fn shops_that_rent_films_answer_as_sql_does() {
    let Some(rows) = rows() else {
        return;
    };
    let mut case = Case::new(MODEL);
    load(&mut case, &rows);
    let facts = facts(case.database.as_ref().unwrap().model(), &rows);
    let rental = rows[1].1[0].clone();
    let mut beside = Beside::new(&case, facts);
    ask_all(&mut beside);

    let rent = |id, item| json!({ "id": id, "at": "2006-03-01T10:00:00Z", "item": item, "customer": 5, "staff": 1 });
    beside.change("rent", &rent(20_000, 9));
    beside.change("rent", &rent(20_001, 10));
    beside.refused("rent", &rent(20_001, 11));
    beside.refused("rent", &rent(20_002, 99_999));
    let back = |id| json!({ "rental": id, "returned_at": "2006-03-04T10:00:00Z" });
    beside.change("return", &back(20_000));
    beside.refused("return", &back(20_000));
    beside.change(
        "pay",
        &json!({ "id": 20_000, "amount": "4.99", "at": "2006-03-04T10:00:00Z", "customer": 5,
                 "staff": 2, "rental": null }),
    );
    let settle = |rental| {
        json!({ "at": "2006-03-05T00:00:00Z", "customer": 5, "staff": 1, "payments": [
            { "id": 20_001, "amount": "1.00", "rental": 20_001 },
            { "id": 20_002, "amount": "2.50", "rental": rental } ] })
    };
    beside.refused("settle", &settle(20_001));
    beside.change("rent", &rent(20_002, 12));
    beside.change("settle", &settle(20_002));
    beside.change("raise", &json!({ "rating": "pg", "by": "0.25" }));
    beside.change("cut", &json!({ "category": "Horror", "over": 120 }));
    beside.change(
        "retitle",
        &json!({ "film": 14, "title": "ALICE IN FANTASIA" }),
    );
    beside.change(
        "appear",
        &json!({ "from": 14, "to": 1, "noted_at": "2007-01-01T00:00:00Z" }),
    );
    beside.change(
        "appear",
        &json!({ "from": 1, "to": 1, "noted_at": "2007-01-02T00:00:00Z" }),
    );
    beside.change("vanish", &json!({ "actor": 101 }));
    beside.change(
        "recast",
        &json!({ "rating": "g", "before": "2006-03-01T00:00:00Z" }),
    );
    beside.change("withdraw", &json!({ "film": 80 }));
    beside.change("forget", &json!({ "customer": 42 }));
    beside.change("refund", &json!({ "rental": rental["id"] }));
    beside.refused("silence", &json!({ "language": 1 }));
    beside.change("silence", &json!({ "language": 2 }));
    beside.change("move", &json!({ "customer": 1, "address": 7, "to": 2 }));
    beside.refused("move", &json!({ "customer": 1, "address": 7, "to": 9 }));
    beside.change("close", &json!({ "store": 2, "active": false }));
    let swap = |one, other| json!({ "a": 1, "b": 2, "one": one, "other": other });
    beside.refused("swap", &swap(1, 1));
    beside.change("swap", &swap(1, 2));
    ask_all(&mut beside);
    beside.verify();
}
