//! Trials: made-up facts load, questions on them find something, changes are accepted, and every
//! structure is true afterwards.

#![allow(clippy::unwrap_used)]

use querent::compiler::design::{Options, design};
use querent::compiler::model::Model;
use querent::schema::Schema;
use querent::trial::{Measured, Sample, Trial, rank_correlation};
use querent::verify::VerifyOptions;
use querent_testkit::generate::{self, Rng, Size};

fn read(text: &str) -> Model {
    let (model, found) = querent::compiler::parse("trial.querent", text);
    model.unwrap_or_else(|| panic!("{found:?}\n{text}"))
}

/// Loads and measures a model of at most so many rows; gives the share of rows that was accepted.
fn tried(text: &str, rows: f64) -> (f64, Vec<Measured>) {
    let model = read(text).scaled(rows);
    let options = Options::embedded();
    let designed = design(&model, &options).unwrap();
    let sample = Sample::new(&model);
    let members = model.roots().flat_map(|root| sample.members(root));
    let expected: u64 = members.map(|(_, own)| own).sum();
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::new(model.clone(), designed);
    let trial = Trial::create(&folder.path().join("db"), text, schema, &mut |_| {}).unwrap();
    let measured = trial.measure(3, &mut |_| {}).unwrap();
    let report = trial.database().verify(&VerifyOptions::default()).unwrap();
    assert!(report.is_clean(), "{:?}\n{text}", report.findings.first());
    (trial.rows as f64 / expected as f64, measured)
}

#[test]
fn every_example_runs_and_finds_what_it_asks_for() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|e| e != "querent") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let (share, measured) = tried(&text, 4000.0);
        assert_eq!(share, 1.0);
        for m in measured {
            let at = format!("{}: {m:?}", path.display());
            assert!(m.rows > 0.0, "{at}");
            assert!(m.refused * 10 < m.runs, "{at}");
            assert!(m.estimated > 0.0 && m.micros > 0.0, "{at}");
        }
    }
}

/// Composite keys, links with attributes, one to one, subtypes, sequences, collections, records,
/// ranges, lists of parameters, several statements, loops.
#[test]
fn every_feature_is_made_up() {
    let text = "
enum Colour { red, green, blue }
entity User (500) {
  id bigint key
  name text(20) unique
  joined date
  tags set<text(6)> (avg 3, max 9)
  address { street text(12), city text(8)? }
  follows ->> User (avg 4, max 50) as followers (avg 4, max 100) { since timestamp }
}
entity Profile (500) { id uuid key  user -> User as profile (avg 1, max 1)  bio text(100) }
entity Order (2000) { user -> User key as orders (avg 4, max 90)  number int key  at timestamp  total decimal }
entity Product (300) { code text(9) key  number decimal unique  short text(2, max 2)  price decimal  colour Colour }
entity Bike is Product (100) { gears int }
entity Tandem is Bike (20) { seats int }
entity Line (6000) {
  order -> Order key as lines (avg 3, max 40)
  position int key
  product -> Product as lines (avg 20, max 900)
  count int
}
question by_name (9/s) select id, address from User where name = $name
question recent (9/s) select number, total from Order where user.id = $user and at >= $since order by at desc limit $n
question between_times (1/s) select number from Order where at between $from and $to order by at limit 20
question order (9/s) select at, lines { position, count, product.price as price } from Order where user.id = $user and number = $number
question tagged (1/s) select id from User where any tags (value = $tag) order by id limit 10
question of (1/s) select name from User where id in $users order by id
question feed (9/s) select name, follows { name order by id limit 3 } from User where id = $user
question bikes (1/s) select code, gears from Bike where colour = $colour order by code limit 20
question sold (1/h) select code, count(lines) as n from Product where code = $code
change join (1/s) insert User
change follow (1/s) connect User.follows
change unfollow (1/s) disconnect User.follows
change add_bike (1/s) insert Bike
change reprice (1/s) update Product set price where code = $code
change place (1/s) {
  insert Order
  for each $line in $lines {
    update Product set price = $line.price where code = $line.code
  }
}
change cancel (1/s) delete Line where order.user.id = $user and order.number = $number and position = $position
";
    let (share, measured) = tried(text, 20_000.0);
    assert_eq!(share, 1.0);
    for m in measured {
        assert!(m.refused * 5 < m.runs, "{m:?}");
    }
}

/// Their keys may have fewer values than there are to be instances; nothing else is rejected.
#[test]
fn random_models_load_as_they_are_made_up() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let text = generate::model(&mut rng, Size::default());
        tried(&text, 150.0);
    }
}

#[test]
fn ranks_are_compared() {
    let same = [(1.0, 10.0), (2.0, 20.0), (3.0, 25.0)];
    assert!((rank_correlation(&same) - 1.0).abs() < 1e-12);
    let reversed = [(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)];
    assert!((rank_correlation(&reversed) + 1.0).abs() < 1e-12);
    let tied = [(1.0, 1.0), (1.0, 1.0), (2.0, 3.0)];
    assert!((rank_correlation(&tied) - 1.0).abs() < 1e-12);
}
