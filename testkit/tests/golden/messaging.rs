//! Folders, e-mails in folders, attachments in chunks. What is unread is counted.

use super::{Case, cql, expected, golden, plain};
use serde_json::{Map, Value as Json, json};

const MODEL: &str = "
model messaging
entity Folder (10M) {
  user text(16) key
  label text(6) key
  color text(6)
}
entity Email (100M) {
  id timeuuid key
  to list<text(16)> (avg 2)
  from text(16)
  subject text(10)
  body text(200)
  attachments map<text(15), int> (avg 1)
}
entity Filed (300M) {
  folder -> Folder key as filed (avg 30, max 100k)
  email -> Email key as filed (avg 3)
  is_read bool
}
entity Chunk (1B) {
  email -> Email key as chunks (avg 10)
  filename text(15) key
  number int key
  type text(15)
  value text(60)
}
question folders (10/s) select user, label, color from Folder where user = $user order by label
question unread (10/s)
  select user, label, filed { count(*) as unread where not is_read } from Folder
  where user = $user order by label
question in_folder (10/s)
  select folder.user as user, folder.label as label, email.id as id, email.from as sender,
    email.subject as subject, is_read from Filed
  where folder.user = $user and folder.label = $label order by email.id desc
question email (10/s) select id, to, from, subject, body, attachments from Email where id = $id
question chunks (10/s)
  select email.id as email, filename, number, type, value from Chunk
  where email.id = $email and filename = $filename and number in $numbers order by number
";

#[test]
fn folders_emails_and_attachments() {
    let Some(golden) = golden("messaging-data") else {
        return;
    };
    let text = std::fs::read_to_string(golden.join("messaging_data.cql")).unwrap();
    let tables = cql::inserts(&text);
    let mut case = Case::new(MODEL);
    let folders = tables["folders_by_user"]
        .iter()
        .map(|r| json!({ "user": r["username"], "label": r["label"], "color": r["color"] }));
    let emails = tables["emails"].iter().map(|r| {
        let mut row: Map<String, Json> = r.clone();
        row.entry("attachments").or_insert_with(|| json!({}));
        Json::Object(row)
    });
    let filed = tables["emails_by_user_folder"].iter().map(|r| {
        json!({ "folder": { "user": r["username"], "label": r["label"] }, "email": r["id"],
                "is_read": r["is_read"] })
    });
    let chunks = tables["attachments"].iter().map(|r| {
        json!({ "email": r["email_id"], "filename": r["filename"], "number": r["chunk_number"],
                "type": r["type"], "value": r["value"] })
    });
    case.load_all(&[
        ("Chunk", case.jsonl("chunks", chunks)),
        ("Filed", case.jsonl("filed", filed)),
        ("Email", case.jsonl("emails", emails)),
        ("Folder", case.jsonl("folders", folders)),
    ]);
    let expected = expected(&golden);
    let joe = json!({ "user": "joe@datastax.com" });
    let columns = [("user", "username"), ("label", "label"), ("color", "color")];
    case.check("folders", joe.clone(), &columns, &expected[0]);
    let unread = case.database.as_ref().unwrap().ask("unread", joe).unwrap();
    let unread: Vec<(String, String)> = unread
        .json()
        .iter()
        .map(|row| (plain(&row["label"]), plain(&row["filed"][0]["unread"])))
        .collect();
    let right = expected[1]["rows_full"].as_array().unwrap().iter();
    let right: Vec<(String, String)> = right
        .map(|row| (plain(&row["label"]), plain(&row["num_unread"])))
        .collect();
    assert_eq!(unread, right);
    let columns = [
        ("user", "username"),
        ("label", "label"),
        ("id", "id"),
        ("sender", "from"),
        ("subject", "subject"),
        ("is_read", "is_read"),
    ];
    let params = json!({ "user": "joe@datastax.com", "label": "inbox" });
    case.check("in_folder", params, &columns, &expected[2]);
    let columns = ["id", "to", "from", "subject", "body", "attachments"].map(|c| (c, c));
    let id = "8ae31dd0-d361-11ea-a40e-5dd6331dfc45";
    case.check("email", json!({ "id": id }), &columns, &expected[3]);
    let columns = [
        ("email", "email_id"),
        ("filename", "filename"),
        ("number", "chunk_number"),
        ("type", "type"),
        ("value", "value"),
    ];
    for (at, filename, numbers) in [
        (4, "Budget.xlsx", &[1][..]),
        (5, "Presentation.pptx", &[1, 2, 3]),
    ] {
        let params = json!({ "email": id, "filename": filename, "numbers": numbers });
        case.check("chunks", params, &columns, &expected[at]);
    }
}
