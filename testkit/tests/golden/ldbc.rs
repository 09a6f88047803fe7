//! A small social network: the short and the complex reads against the benchmark's own answers, then
//! the stream of updates, after which every question is held against `SQLite`.

use super::against::{Beside, Rows, add, facts, load};
use super::{Case, golden_folder};
use querent::Database;
use querent::store::lmdb::{self, Lmdb};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const MODEL: &str = include_str!("../../models/ldbc.querent");
/// So many updates, the earliest: the first person joins behind 450 others.
const UPDATES: usize = 500;

/// The rows of a file, without its header. No cell has the delimiter in it.
fn table(folder: &Path, name: &str) -> Vec<Vec<String>> {
    let path = |part: &str| folder.join(format!("data/{part}/{name}_0_0.csv"));
    let text = std::fs::read_to_string(path("static"));
    let text = text
        .or_else(|_| std::fs::read_to_string(path("dynamic")))
        .unwrap();
    let cells = |line: &str| line.split('|').map(str::to_owned).collect();
    text.lines().skip(1).map(cells).collect()
}

fn number(cell: &str) -> i64 {
    cell.parse().unwrap()
}

/// The number of a cell, or null where it stands for nothing.
fn some(cell: &str) -> Json {
    match cell {
        "" | "-1" => Json::Null,
        cell => number(cell).into(),
    }
}

fn text(cell: &str) -> Json {
    match cell {
        "" => Json::Null,
        cell => cell.into(),
    }
}

/// Days of a date given in milliseconds.
fn day(cell: &str) -> Json {
    let days = number(cell).div_euclid(86_400_000);
    // Civil from days, in eras of 400 years.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}").into()
}

fn list(cell: &str) -> Vec<&str> {
    cell.split(';').filter(|part| !part.is_empty()).collect()
}

/// Both directions: to know somebody is to be known.
fn knows(a: &str, b: &str, since: &str) -> [Json; 2] {
    let link = |a, b| json!({ "from": number(a), "to": number(b), "since": number(since) });
    [link(a, b), link(b, a)]
}

struct Network {
    rows: Vec<Rows>,
    /// The post that a message is about in the end.
    threads: BTreeMap<i64, i64>,
}

fn network(folder: &Path) -> Network {
    let of = |name: &str, row: &dyn Fn(&[String]) -> Json| -> Vec<Json> {
        table(folder, name).iter().map(|r| row(r)).collect()
    };
    let to = |name: &str| -> BTreeMap<i64, i64> {
        let pairs = table(folder, name).into_iter();
        pairs.map(|r| (number(&r[0]), number(&r[1]))).collect()
    };
    let links = |names: &[&str], attribute: Option<&str>| -> Vec<Json> {
        let rows = names.iter().flat_map(|name| table(folder, name));
        let link = rows.map(|r| {
            let mut link = json!({ "from": number(&r[0]), "to": number(&r[1]) });
            if let Some(name) = attribute {
                link[name] = number(&r[2]).into();
            }
            link
        });
        link.collect()
    };
    let known = |map: &BTreeMap<i64, i64>, id: &str| map.get(&number(id)).copied();
    let within = to("place_isPartOf_place");
    let located = to("organisation_isLocatedIn_place");
    let parents = to("tagclass_isSubclassOf_tagclass");
    let classes = to("tag_hasType_tagclass");
    let cities = to("person_isLocatedIn_place");
    let moderators = to("forum_hasModerator_person");
    let (creators, countries) = (to("post_hasCreator_person"), to("post_isLocatedIn_place"));
    let contained = table(folder, "forum_containerOf_post").into_iter();
    let forums: BTreeMap<i64, i64> = contained.map(|r| (number(&r[1]), number(&r[0]))).collect();
    let mut threads: BTreeMap<i64, i64> = forums.keys().map(|&post| (post, post)).collect();
    let mut replies = to("comment_replyOf_post");
    replies.extend(to("comment_replyOf_comment"));
    for &comment in replies.keys() {
        let mut at = comment;
        while let Some(&up) = replies.get(&at) {
            at = up;
        }
        threads.insert(comment, at);
    }
    let (speakers, places) = (
        to("comment_hasCreator_person"),
        to("comment_isLocatedIn_place"),
    );
    let friends = table(folder, "person_knows_person").into_iter();
    let rows = vec![
        (
            "Message.tags",
            links(&["post_hasTag_tag", "comment_hasTag_tag"], None),
        ),
        (
            "Comment",
            of("comment", &|r| {
                json!({ "id": number(&r[0]), "created_at": number(&r[1]), "ip": r[2],
                        "browser": r[3], "content": text(&r[4]), "length": number(&r[5]),
                        "creator": known(&speakers, &r[0]), "country": known(&places, &r[0]),
                        "reply_to": known(&replies, &r[0]), "thread": known(&threads, &r[0]) })
            }),
        ),
        (
            "Person.likes",
            links(&["person_likes_post", "person_likes_comment"], Some("at")),
        ),
        (
            "Forum.members",
            links(&["forum_hasMember_person"], Some("joined")),
        ),
        (
            "Person.knows",
            friends.flat_map(|r| knows(&r[0], &r[1], &r[2])).collect(),
        ),
        (
            "Post",
            of("post", &|r| {
                json!({ "id": number(&r[0]), "image": text(&r[1]), "created_at": number(&r[2]),
                        "ip": r[3], "browser": r[4], "language": text(&r[5]),
                        "content": text(&r[6]), "length": number(&r[7]),
                        "creator": known(&creators, &r[0]), "country": known(&countries, &r[0]),
                        "forum": known(&forums, &r[0]), "thread": number(&r[0]) })
            }),
        ),
        ("Forum.tags", links(&["forum_hasTag_tag"], None)),
        (
            "Forum",
            of("forum", &|r| {
                json!({ "id": number(&r[0]), "title": r[1], "created_at": number(&r[2]),
                        "moderator": known(&moderators, &r[0]) })
            }),
        ),
        (
            "Person.works_at",
            links(&["person_workAt_organisation"], Some("since")),
        ),
        (
            "Person.studies_at",
            links(&["person_studyAt_organisation"], Some("year")),
        ),
        ("Person.interests", links(&["person_hasInterest_tag"], None)),
        (
            "Person",
            of("person", &|r| {
                person(r, &known(&cities, &r[0]).unwrap().to_string())
            }),
        ),
        (
            "Organisation",
            of("organisation", &|r| {
                json!({ "id": number(&r[0]), "kind": r[1], "name": r[2], "url": r[3],
                        "place": known(&located, &r[0]) })
            }),
        ),
        (
            "Tag",
            of("tag", &|r| {
                json!({ "id": number(&r[0]), "name": r[1], "url": r[2],
                        "class": known(&classes, &r[0]) })
            }),
        ),
        (
            "TagClass",
            of("tagclass", &|r| {
                json!({ "id": number(&r[0]), "name": r[1], "url": r[2],
                        "parent": known(&parents, &r[0]) })
            }),
        ),
        (
            "Place",
            of("place", &|r| {
                json!({ "id": number(&r[0]), "name": r[1], "url": r[2], "kind": r[3],
                        "within": known(&within, &r[0]) })
            }),
        ),
    ];
    Network { rows, threads }
}

fn person(r: &[String], city: &str) -> Json {
    json!({ "id": number(&r[0]), "first_name": r[1], "last_name": r[2], "gender": r[3],
            "birthday": day(&r[4]), "created_at": number(&r[5]), "ip": r[6], "browser": r[7],
            "languages": list(&r[8]), "emails": list(&r[9]), "city": number(city) })
}

/// What an answer has at a path, as the expected answers write it.
fn plain(row: &Json, path: &str) -> String {
    let value = path.split('.').fold(row, |at, step| &at[step]);
    match value {
        Json::String(text) if text.ends_with('Z') && text.len() == 24 => {
            let time = text.trim_end_matches('Z').replace('T', " ");
            match time.strip_suffix(".000") {
                Some(whole) => whole.to_owned(),
                None => format!("{time}000"),
            }
        }
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// Rows of the columns at these paths; `image|content` is the first that there is.
fn columns(rows: &[Json], paths: &[&str]) -> Vec<Vec<String>> {
    let cell = |row: &Json, path: &str| {
        let mut some = path.split('|').map(|p| plain(row, p));
        some.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let row = |row| paths.iter().map(|path| cell(row, path)).collect();
    rows.iter().map(row).collect()
}

fn set(of: &str) -> BTreeSet<String> {
    of.split(';')
        .filter(|s| !s.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The rows that a read gives; none where the language cannot ask it.
fn read(database: &Database<Lmdb>, name: &str, given: &Json) -> Option<Vec<Vec<String>>> {
    let ask = |question: &str, params: Json| database.ask(question, params).unwrap().json();
    let id = |name: &str| number(&plain(given, name));
    let person = || json!({ "person": id("personId") });
    let message = || json!({ "message": id("messageId") });
    let until = |params: Json| {
        let mut params = params;
        params["until"] = id("maxDate").into();
        params
    };
    let days = |mut params: Json| {
        params["from"] = id("startDate").into();
        params["to"] = (id("startDate") + id("durationDays") * 86_400_000).into();
        params
    };
    let one = ["first_name", "last_name"];
    Some(match name {
        "IS1" => columns(
            &ask("is1", person()),
            &[
                "first_name",
                "last_name",
                "birthday",
                "ip",
                "browser",
                "city",
                "gender",
                "created_at",
            ],
        ),
        "IS2" => columns(
            &ask("is2", person()),
            &[
                "id",
                "image|content",
                "created_at",
                "post",
                "author",
                "first_name",
                "last_name",
            ],
        ),
        "IS3" => {
            let rows = ask("is3", person())[0]["knows"].as_array().unwrap().clone();
            columns(&rows, &["id", one[0], one[1], "since"])
        }
        "IS4" => columns(&ask("is4", message()), &["image|content", "created_at"]),
        "IS5" => columns(&ask("is5", message()), &["id", one[0], one[1]]),
        "IS6" => columns(
            &ask("is6", message()),
            &[
                "forum.id",
                "forum.title",
                "forum.moderator.id",
                "forum.moderator.first_name",
                "forum.moderator.last_name",
            ],
        ),
        "IS7" => {
            let mut params = message();
            params["author"] = ask("is5", message())[0]["id"].clone();
            let rows = ask("is7", params);
            let paths = ["id", "content", "created_at", "author", one[0], one[1]];
            let mut out = columns(&rows, &paths);
            for (out, row) in out.iter_mut().zip(&rows) {
                let known = !row["knows"].as_array().unwrap().is_empty();
                out.push(if known { "True" } else { "False" }.to_owned());
            }
            out
        }
        "IC2" | "IC9" => columns(
            &ask(&name.to_lowercase(), until(person())),
            &[
                "person",
                one[0],
                one[1],
                "id",
                "image|content",
                "created_at",
            ],
        ),
        "IC3" => {
            let mut params = days(person());
            params["x"] = given["countryXName"].clone();
            params["y"] = given["countryYName"].clone();
            columns(&ask("ic3", params), &["id"])
        }
        "IC4" => {
            let mut rows = ask("ic4", days(person()));
            rows.sort_by_key(|r| (-r["posts"][0]["n"].as_i64().unwrap(), plain(r, "name")));
            let row = |r: &Json| vec![plain(r, "name"), plain(&r["posts"][0], "n")];
            rows.iter().take(10).map(row).collect()
        }
        "IC5" => {
            let mut params = person();
            params["since"] = id("minDate").into();
            let mut forums: Vec<(i64, i64, String)> = Vec::new();
            for forum in ask("ic5", params) {
                let members = forum["members"].as_array().unwrap();
                let joined = |p: &&Json| members.iter().any(|m| m["id"] == p["person"]);
                let posts = forum["posts"].as_array().unwrap().iter().filter(joined);
                let posts: i64 = posts.map(|p| p["n"].as_i64().unwrap()).sum();
                forums.push((
                    -posts,
                    forum["id"].as_i64().unwrap(),
                    plain(&forum, "title"),
                ));
            }
            forums.sort();
            let row = |(n, _, title): (i64, i64, String)| vec![title, (-n).to_string()];
            forums.into_iter().take(20).map(row).collect()
        }
        "IC6" => {
            let mut params = person();
            params["tag"] = given["tagName"].clone();
            let mut rows = columns(&ask("ic6", params), &["tag", "n"]);
            rows.retain(|r| r[0] != plain(given, "tagName"));
            rows.truncate(10);
            rows
        }
        "IC8" => columns(
            &ask("ic8", person()),
            &["person", one[0], one[1], "created_at", "id", "content"],
        ),
        "IC11" => {
            let mut params = person();
            params["country"] = given["countryName"].clone();
            params["year"] = id("workFromYear").into();
            let mut out = Vec::new();
            for row in ask("ic11", params) {
                for job in row["works_at"].as_array().unwrap() {
                    let since = job["since"].as_i64().unwrap();
                    let mut cells = columns(std::slice::from_ref(&row), &["id", one[0], one[1]]);
                    let mut cells = cells.remove(0);
                    cells.extend([plain(job, "name"), since.to_string()]);
                    out.push((since, row["id"].as_i64(), cells));
                }
            }
            out.sort();
            out.into_iter()
                .take(10)
                .map(|(_, _, cells)| cells)
                .collect()
        }
        _ => return None,
    })
}

/// Those whose answers have lists in one cell.
fn read_sets(database: &Database<Lmdb>, expected: &Json) {
    let given = &expected["params"];
    let rows = expected["rows"].as_array().unwrap();
    let person = plain(given, "personId").parse::<i64>().ok();
    match expected["query"].as_str().unwrap() {
        "IC1" => {
            let params = json!({ "person": person, "first_name": given["firstName"] });
            let got = database.ask("ic1", params).unwrap().json();
            let right = rows.iter().map(|r| vec![r[0].as_str().unwrap().to_owned()]);
            assert_eq!(columns(&got, &["id"]), right.collect::<Vec<_>>());
            for (got, right) in got.iter().zip(rows) {
                let far = if got["near"].as_array().unwrap().is_empty() {
                    "2"
                } else {
                    "1"
                };
                assert_eq!(right[2], far);
                assert_eq!(got["birthday"], right[3]);
                assert_eq!(got["city"], right[10]);
                for (name, year, place, at) in [
                    ("studies_at", "year", "city", 11),
                    ("works_at", "since", "country", 12),
                ] {
                    let rows = got[name].as_array().unwrap();
                    let rows = columns(rows, &["name", year, place]).into_iter();
                    let rows: BTreeSet<String> = rows.map(|r| r.join("|")).collect();
                    assert_eq!(rows, set(right[at].as_str().unwrap()), "{name}");
                }
            }
        }
        "IC7" => {
            let got = database
                .ask("ic7", json!({ "person": person }))
                .unwrap()
                .json();
            assert_eq!(got.len(), 1, "only what somebody likes: {got:?}");
            let liker = &got[0]["likers"][0];
            assert_eq!(plain(liker, "id"), rows[0][0].as_str().unwrap());
            assert_eq!(plain(liker, "at"), rows[0][3].as_str().unwrap());
            assert_eq!(plain(&got[0], "id"), rows[0][4].as_str().unwrap());
            let new = liker["friend"].as_array().unwrap().is_empty();
            assert_eq!(rows[0][7], if new { "1" } else { "0" });
        }
        "IC12" => {
            let params = json!({ "person": person, "class": given["tagClassName"] });
            let got = database.ask("ic12", params).unwrap().json();
            let replies = |row: &Json| row["replies"].as_array().unwrap().clone();
            let mut got: Vec<Json> = got.into_iter().filter(|r| !replies(r).is_empty()).collect();
            got.sort_by_key(|r| (std::cmp::Reverse(replies(r).len()), r["id"].as_i64()));
            assert_eq!(got.len(), rows.len());
            for (got, right) in got.iter().zip(rows) {
                assert_eq!(plain(got, "id"), right[0].as_str().unwrap());
                assert_eq!(replies(got).len().to_string(), right[4].as_str().unwrap());
                let tags = replies(got);
                let tags = tags.iter().flat_map(|m| m["tags"].as_array().unwrap());
                let tags: BTreeSet<String> = tags.map(|t| plain(t, "name")).collect();
                assert_eq!(tags, set(right[3].as_str().unwrap()));
            }
        }
        // The month of a birthday, and paths of any length.
        other => assert!(["IC10", "IC13", "IC14"].contains(&other), "{other}"),
    }
}

/// The earliest updates, and what each of them puts.
fn updates(
    folder: &Path,
    threads: &mut BTreeMap<i64, i64>,
) -> Vec<(String, Json, Vec<(&'static str, Json)>)> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for stream in ["person", "forum"] {
        let path = folder.join(format!("updates/updateStream_0_0_{stream}.csv"));
        let text = std::fs::read_to_string(path).unwrap();
        lines.extend(
            text.lines()
                .map(|l| l.split('|').map(str::to_owned).collect()),
        );
    }
    lines.sort_by_key(|l| number(&l[0]));
    let mut out = Vec::new();
    for line in lines.iter().take(UPDATES) {
        let r: Vec<&str> = line.iter().skip(3).map(String::as_str).collect();
        let link = |name: &str, at: &str| json!({ "from": number(r[0]), "to": number(r[1]), name: number(at) });
        let tags = |of: &'static str, cell: &str| -> Vec<(&'static str, Json)> {
            let tag = |t: &&str| (of, json!({ "from": number(r[0]), "to": number(t) }));
            list(cell).iter().map(tag).collect()
        };
        let kind = line[2].as_str();
        let (change, params, entity) = match kind {
            "1" => {
                let mut cells: Vec<String> = line[3..11].to_vec();
                cells.extend([line[12].clone(), line[13].clone()]);
                ("join", person(&cells, r[8]), "Person")
            }
            "2" | "3" => ("like", link("at", r[2]), "Person.likes"),
            "4" => (
                "open_forum",
                json!({ "id": number(r[0]), "title": r[1], "created_at": number(r[2]),
                        "moderator": number(r[3]) }),
                "Forum",
            ),
            "5" => ("enter", link("joined", r[2]), "Forum.members"),
            "6" => {
                threads.insert(number(r[0]), number(r[0]));
                let post = json!({ "id": number(r[0]), "image": text(r[1]),
                    "created_at": number(r[2]), "ip": r[3], "browser": r[4],
                    "language": text(r[5]), "content": text(r[6]), "length": number(r[7]),
                    "creator": number(r[8]), "forum": number(r[9]), "country": number(r[10]) });
                ("post", post, "Post")
            }
            "7" => {
                let up = some(r[8]).as_i64().or(some(r[9]).as_i64()).unwrap();
                let thread = threads[&up];
                threads.insert(number(r[0]), thread);
                let comment = json!({ "id": number(r[0]), "created_at": number(r[1]), "ip": r[2],
                    "browser": r[3], "content": text(r[4]), "length": number(r[5]),
                    "creator": number(r[6]), "country": number(r[7]), "reply_to": up,
                    "thread": thread });
                ("comment", comment, "Comment")
            }
            _ => {
                let both = json!({ "a": number(r[0]), "b": number(r[1]), "since": number(r[2]) });
                let links = knows(r[0], r[1], r[2]).map(|link| ("Person.knows", link));
                out.push(("befriend".into(), both, links.to_vec()));
                continue;
            }
        };
        let mut row = params.clone();
        if entity == "Post" {
            row["thread"] = row["id"].clone();
        }
        let mut put = vec![(entity, row)];
        match kind {
            "4" => put.extend(tags("Forum.tags", r.get(4).unwrap_or(&""))),
            "6" => put.extend(tags("Message.tags", r.get(11).unwrap_or(&""))),
            "7" => put.extend(tags("Message.tags", r.get(10).unwrap_or(&""))),
            _ => {}
        }
        out.push((change.to_owned(), params, put));
    }
    out
}

#[test]
fn a_social_network_answers_as_its_benchmark_does() {
    let Some(folder) = golden_folder("ldbc-snb") else {
        return;
    };
    let Network { rows, mut threads } = network(&folder);
    let mut case = Case::new(MODEL);
    load(&mut case, &rows);
    let expected = std::fs::read_to_string(folder.join("reference_results.json")).unwrap();
    let expected: Vec<Json> = serde_json::from_str(&expected).unwrap();
    let database = case.database.as_ref().unwrap();
    for expected in &expected {
        let name = expected["query"].as_str().unwrap();
        let Some(got) = read(database, name, &expected["params"]) else {
            read_sets(database, expected);
            continue;
        };
        let right = expected["rows"].as_array().unwrap().iter();
        let right = right.map(|row| row.as_array().unwrap().iter());
        let right: Vec<Vec<String>> = right
            .map(|row| row.map(|cell| cell.as_str().unwrap().to_owned()).collect())
            .collect();
        assert_eq!(got, right, "{name} {}", expected["params"]);
    }

    // What a crash leaves is the subject of other tests.
    drop(case.database.take());
    let options = lmdb::Options {
        sync: false,
        ..lmdb::Options::default()
    };
    case.database = Some(Database::open_with(case.folder.path().join("db"), options).unwrap());
    let database = case.database.as_ref().unwrap();
    let mut facts = facts(database.model(), &rows);
    let mut changed = BTreeSet::new();
    for (change, params, put) in updates(&folder, &mut threads) {
        database
            .change(&change, params)
            .unwrap_or_else(|e| panic!("{change}: {e}"));
        changed.insert(change);
        for (at, (entity, row)) in put.iter().enumerate() {
            add(database.model(), &mut facts, entity, row);
            // The change puts the first of them, and both ends of a friendship.
            if at > 0 && *entity != "Person.knows" {
                let change = if *entity == "Forum.tags" {
                    "tag_forum"
                } else {
                    "tag"
                };
                database
                    .change(change, row.clone())
                    .unwrap_or_else(|e| panic!("{change}: {e}"));
            }
        }
    }
    assert_eq!(changed.len(), 7, "{changed:?}");
    let mut beside = Beside::new(&case, facts);
    beside.verify();
    for expected in &expected {
        let given = &expected["params"];
        let id = |name: &str| {
            plain(given, name)
                .parse::<i64>()
                .map_or(Json::Null, Json::from)
        };
        let (person, message) = (id("personId"), id("messageId"));
        match expected["query"].as_str().unwrap() {
            "IS1" | "IS2" | "IS3" => {
                for question in ["is1", "is2", "is3", "ic7", "ic8"] {
                    beside.ask(question, &json!({ "person": person }));
                }
            }
            "IS4" | "IS5" | "IS6" => {
                for question in ["is4", "is5", "is6"] {
                    beside.ask(question, &json!({ "message": message }));
                }
            }
            "IS7" => {
                beside.ask("is7", &json!({ "message": message, "author": 143 }));
            }
            "IC2" => {
                let params = json!({ "person": person, "until": 1_300_000_000_000_i64 });
                assert!(beside.ask("ic2", &params) > 0);
            }
            "IC6" => {
                beside.ask("ic6", &json!({ "person": person, "tag": given["tagName"] }));
            }
            "IC12" => {
                beside.ask(
                    "ic12",
                    &json!({ "person": person, "class": given["tagClassName"] }),
                );
            }
            _ => {}
        }
    }
}
