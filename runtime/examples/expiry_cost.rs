//! What the look at the list of deadlines costs while nothing is due: the same questions and
//! changes on a model that expires and on one that does not. `cargo run --release --example
//! expiry_cost`
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use querent::Database;
use serde_json::json;
use std::time::Instant;

const ROUNDS: usize = 20;
const ASKS: u32 = 5_000;
const ROWS: i32 = 2_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let open = |name: &str, expires: &str| {
        let model = format!(
            "entity Visit (10k) {{ id int key  page text(20) }} {expires}
             question visit (1k/s)  select page from Visit where id = $id
             change visit   (1/s)   insert Visit"
        );
        Database::create(folder.path().join(name), name, &model)
    };
    let databases = [open("plain", "")?, open("expiring", "expires after 30d")?];
    let mut inserts = [0.0; 2];
    for (database, inserts) in databases.iter().zip(&mut inserts) {
        let entity = database.entity("Visit")?;
        let start = Instant::now();
        for id in 0..ROWS {
            let row = json!({ "id": id, "page": "home" });
            let row =
                querent::compiler::codec::entity_row_from_json(database.model(), entity, &row)?;
            database.put(entity, vec![row])?;
        }
        *inserts = start.elapsed().as_secs_f64() / f64::from(ROWS);
    }
    let mut more = Vec::new();
    let mut least = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let mut took = [0.0; 2];
        for (database, took) in databases.iter().zip(&mut took) {
            let start = Instant::now();
            for _ in 0..ASKS {
                drop(database.snapshot()?);
            }
            *took = start.elapsed().as_secs_f64() / f64::from(ASKS);
        }
        for (least, took) in least.iter_mut().zip(took) {
            *least = least.min(took);
        }
        let [plain, expiring] = took;
        more.push(expiring - plain);
    }
    more.sort_by(f64::total_cmp);
    let median = more.get(ROUNDS / 2).copied().unwrap_or_default();
    let [plain, expiring] = least.map(|s| s * 1e9);
    println!(
        "a snapshot: {plain:.0} ns plain, {expiring:.0} ns expiring (least); {:.0} ns more (median)",
        median * 1e9
    );
    let [plain, expiring] = inserts.map(|s| s * 1e6);
    println!("an insert with its sync: {plain:.1} µs plain, {expiring:.1} µs expiring");
    Ok(())
}
