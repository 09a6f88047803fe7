//! Carts, items, and what is in the carts. The subtotal of a cart is computed.

use super::{Case, cql, expected, golden, plain};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const MODEL: &str = "
model carts
entity User (1M) {
  id text(3) key
  email text(16) unique
}
entity Cart (3M) {
  id uuid key
  name text(12)
  is_active bool
  owner -> User as carts (avg 3, max 100)
}
entity Item (10k) {
  id text(6) key
  name text(12)
  description text(30)
  price decimal
}
entity Line (10M) {
  cart -> Cart key as lines (avg 3, max 100)
  at timestamp key
  item -> Item key as lines
  quantity int
}
question carts (10/s)
  select owner.id as user, name, id, is_active, owner.email as email from Cart
  where owner.id = $user order by name, id
question active_carts (10/s)
  select owner.id as user, name, id, is_active, owner.email as email from Cart
  where owner.id = $user and is_active = true order by name, id
question item (10/s) select id, name, description, price from Item where id = $id
question items_named (10/s) select id, name, description, price from Item where name = $name order by id
question lines (10/s)
  select cart.id as cart, at, item.id as item, item.name as name, item.description as description,
    item.price as price, quantity from Line where cart.id = $cart order by at desc, item.id
question subtotal (10/s) select sum(item.price * quantity) as subtotal from Line where cart.id = $cart
";

#[test]
fn carts_items_and_subtotals() {
    let Some(golden) = golden("shopping-cart-data") else {
        return;
    };
    let text = std::fs::read_to_string(golden.join("shopping_cart_dataset.cql")).unwrap();
    let tables = cql::inserts(&text);
    let mut case = Case::new(MODEL);
    let users: BTreeMap<String, Json> = tables["carts_by_user"]
        .iter()
        .map(|r| {
            let row = json!({ "id": r["user_id"], "email": r["user_email"] });
            (r["user_id"].to_string(), row)
        })
        .collect();
    let carts = tables["carts_by_user"].iter().map(|r| {
        json!({ "id": r["cart_id"], "name": r["cart_name"], "is_active": r["cart_is_active"],
                "owner": r["user_id"] })
    });
    let items = tables["items_by_id"].iter().cloned().map(Json::Object);
    // Some were put into their cart "now".
    let lines = tables["items_by_cart"].iter().enumerate().map(|(i, r)| {
        let at = match r["timestamp"].as_str() {
            Some(at) => format!("{}Z", at.replace(' ', "T")),
            None => format!("2020-11-01T00:00:{i:02}Z"),
        };
        json!({ "cart": r["cart_id"], "at": at, "item": r["item_id"], "quantity": r["quantity"] })
    });
    case.load_all(&[
        ("Line", case.jsonl("lines", lines)),
        ("Cart", case.jsonl("carts", carts)),
        ("Item", case.jsonl("items", items)),
        ("User", case.jsonl("users", users.into_values())),
    ]);
    let expected = expected(&golden);
    let carts = [
        ("user", "user_id"),
        ("name", "cart_name"),
        ("id", "cart_id"),
        ("is_active", "cart_is_active"),
        ("email", "user_email"),
    ];
    let items = ["id", "name", "description", "price"].map(|c| (c, c));
    let jen = json!({ "user": "jen" });
    case.check("carts", jen.clone(), &carts, &expected[0]);
    case.check("active_carts", jen.clone(), &carts, &expected[1]);
    case.check("carts", jen, &carts, &expected[2]);
    case.check("item", json!({ "id": "Box2" }), &items, &expected[3]);
    case.check(
        "items_named",
        json!({ "name": "Chocolate Cake" }),
        &items,
        &expected[4],
    );
    let lines = [
        ("cart", "cart_id"),
        ("at", "timestamp"),
        ("item", "item_id"),
        ("name", "item_name"),
        ("description", "item_description"),
        ("price", "item_price"),
        ("quantity", "quantity"),
    ];
    let cart = json!({ "cart": "19925cc1-4f8b-4a44-b893-2a49a8434fc8" });
    case.check("lines", cart.clone(), &lines, &expected[5]);
    let database = case.database.as_ref().unwrap();
    let subtotal = &database.ask("subtotal", cart).unwrap().json()[0]["subtotal"];
    let right = &expected[5]["rows_full"][0]["cart_subtotal"];
    assert_eq!(plain(subtotal), plain(right));
}
