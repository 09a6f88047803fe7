//! `load`: files in any order, and who referred to what was rejected.

use crate::database;
use crate::place::Place;

#[test]
fn load_takes_files_in_any_order_and_names_what_it_rejects() {
    let place = Place::new();
    place.run("create blog.db --model blog.querent").expect(0);
    let file = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    file("author.csv", "name,id\nAnn,1\nBen,2\nAnn,3\n");
    file(
        "post.jsonl",
        "{\"id\": 1, \"title\": \"a\", \"at\": \"2026-01-01T00:00:00Z\", \"author\": 1}\n\
         {\"id\": 2, \"title\": \"b\", \"at\": \"2026-01-02T00:00:00Z\", \"author\": 3}\n",
    );
    // Posts come before the authors that they refer to; author 3 has a name that is taken, and so
    // post 2 has no author.
    let all = "load blog.db Post=post.jsonl Author=author.csv";
    let ran = place.run(all).expect(1);
    assert!(ran.err.contains("author.csv:4"), "{}", ran.err);
    assert!(ran.out.contains("nothing was loaded"), "{}", ran.out);
    let none = place
        .run("ask blog.db latest_of author=1 --format json")
        .expect(0);
    assert_eq!(none.json().as_array().unwrap().len(), 0);
    let ran = place.run(&format!("{all} --skip-rejects")).expect(1);
    assert!(ran.err.contains("post.jsonl:2"), "{}", ran.err);
    let rejects = std::fs::read_to_string(place.path().join("blog.db.rejects.csv")).unwrap();
    assert_eq!(rejects.lines().count(), 3, "{rejects}");
    let one = place
        .run("ask blog.db latest_of author=1 --format json")
        .expect(0);
    assert_eq!(one.json()[0]["name"], "Ann");
    place.run("verify blog.db").expect(0);
    file("typo.csv", "nmae,id\nAnn,1\n");
    let ran = place.run("load blog.db Author=typo.csv").expect(2);
    assert!(
        ran.err.contains("nmae") && ran.err.contains("name"),
        "{}",
        ran.err
    );
    place.run("load blog.db Autor=author.csv").expect(2);
    place.run("verify nowhere.db").expect(2);
}

/// A row that refers to a rejected one is told where that was.
#[test]
fn load_tells_who_referred_to_what_was_rejected() {
    let place = database(
        "
entity A (100) {
  id    int       key
  name  text(20)  unique
  n     int?
}
entity B (100) {
  id  int   key
  a   -> A  as bs (avg 1, max 9)
}
entity C (100) {
  id  int   key
  b   -> B  as cs (avg 1, max 9)
}
question q (1/s) select name from A where id = $id
",
    );
    let file = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    // One that cannot be read, one whose name is taken, one that is not there.
    file("a.csv", "id,name,n\n1,x,\n2,y,many\n3,x,\n");
    file("a2.jsonl", "{\"id\": 4, \"name\": \"z\", \"m\": 1}\n");
    file("b.csv", "id,a\n1,1\n2,2\n3,3\n4,4\n5,9\n");
    file("c.csv", "id,b\n1,1\n2,2\n3,3\n");
    let load = "load m.db A=a.csv A=a2.jsonl B=b.csv C=c.csv --skip-rejects";
    let told = place.run(load).expect(1).err;
    for said in [
        "b.csv:3: a: found A 2, which was rejected (a.csv:3)",
        "b.csv:4: a: found A 3, which was rejected (a.csv:4)",
        "b.csv:5: a: found A 4, which was rejected (a2.jsonl:1)",
        "b.csv:6: a: found A 9, which does not exist",
        "c.csv:3: b: found B 2, which was rejected (b.csv:3)",
        "c.csv:4: b: found B 3, which was rejected (b.csv:4)",
    ] {
        assert!(told.contains(said), "{said}\n{told}");
    }
    place.run("verify m.db").expect(0);
}
