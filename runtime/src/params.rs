//! Parameters of questions and changes: named, typed and checked before anything is read.

use querent_compiler::codec::{self, CodecError};
use querent_compiler::diagnostic::nearest;
use querent_compiler::model::{Model, Param, Type};
use querent_compiler::value::Value;
use serde_json::Value as Json;

/// Why parameters do not fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// One that there is not.
    #[error("there is no parameter `{found}`{hint}; expected {expected}")]
    Unknown {
        /// As given.
        found: String,
        /// The nearest that there is, as a question to whoever wrote it; empty where none is near.
        hint: String,
        /// What there is.
        expected: String,
    },
    /// One that is missing.
    #[error("parameter `{name}` is missing; expected {expected}{hint}")]
    Missing {
        /// Its name.
        name: String,
        /// All there are.
        expected: String,
        /// How to say that there is no value, where there may be none; empty elsewhere.
        hint: String,
    },
    /// One that is given more than once.
    #[error("parameter `{name}` is given twice, expected once")]
    Twice {
        /// Its name.
        name: String,
    },
    /// More values than there are parameters.
    #[error("found {found} values, expected {expected}, one for each parameter")]
    Count {
        /// How many were given.
        found: usize,
        /// How many there are.
        expected: usize,
    },
    /// One of the wrong type.
    #[error("parameter `{name}`: {source}")]
    Value {
        /// Its name.
        name: String,
        /// Reason.
        source: CodecError,
    },
    /// Not an object.
    #[error("parameters are a JSON object, found {found}")]
    NotAnObject {
        /// What was found.
        found: String,
    },
}

/// Parameters in any of the forms in which they come.
#[derive(Clone, Debug)]
pub enum Params {
    /// A JSON object.
    Json(Json),
    /// Names and texts, as on a command line.
    Text(Vec<(String, String)>),
    /// Values in the order of the declaration.
    Values(Vec<Value>),
}

impl From<Json> for Params {
    fn from(json: Json) -> Params {
        Params::Json(json)
    }
}
impl From<Vec<(String, String)>> for Params {
    fn from(pairs: Vec<(String, String)>) -> Params {
        Params::Text(pairs)
    }
}
impl From<Vec<Value>> for Params {
    fn from(values: Vec<Value>) -> Params {
        Params::Values(values)
    }
}
impl From<()> for Params {
    fn from((): ()) -> Params {
        Params::Values(vec![])
    }
}

impl Params {
    /// The values in the order of the declaration.
    pub(crate) fn bind(self, model: &Model, declared: &[Param]) -> Result<Vec<Value>, ParamError> {
        match self {
            Params::Values(mut values) => {
                if values.len() > declared.len() {
                    return Err(ParamError::Count {
                        found: values.len(),
                        expected: declared.len(),
                    });
                }
                // What is left out at the end is absent; what may not be absent was forgotten.
                let mut left_out = declared.iter().skip(values.len());
                if let Some(forgotten) = left_out.find(|p| !p.omissible) {
                    return Err(missing(forgotten, &names(declared)));
                }
                values.resize(declared.len(), Value::Null);
                Ok(values)
            }
            Params::Json(Json::Null) => {
                Params::Json(Json::Object(serde_json::Map::new())).bind(model, declared)
            }
            Params::Json(Json::Object(object)) => {
                let names = names(declared);
                if let Some(found) = object.keys().find(|k| !names.contains(&k.as_str())) {
                    return Err(unknown(found, &names));
                }
                let bound =
                    declared.iter().map(|p| match object.get(&p.name) {
                        None if p.omissible => Ok(Value::Null),
                        None => Err(missing(p, &names)),
                        Some(Json::Null) if p.optional => Ok(Value::Null),
                        Some(json) => codec::from_json(model, value_type(p), p.optional, json)
                            .map_err(|source| ParamError::Value {
                                name: p.name.clone(),
                                source,
                            }),
                    });
                bound.collect()
            }
            Params::Json(other) => Err(ParamError::NotAnObject {
                found: other.to_string(),
            }),
            Params::Text(pairs) => {
                let names = names(declared);
                if let Some((found, _)) = pairs.iter().find(|(k, _)| !names.contains(&k.as_str())) {
                    return Err(unknown(found, &names));
                }
                let mut given = pairs.iter().enumerate();
                let again = given.find(|(at, (k, _))| pairs.iter().take(*at).any(|(o, _)| o == k));
                if let Some((_, (name, _))) = again {
                    return Err(ParamError::Twice { name: name.clone() });
                }
                let bound =
                    declared
                        .iter()
                        .map(|p| match pairs.iter().find(|(k, _)| *k == p.name) {
                            None if p.omissible => Ok(Value::Null),
                            None => Err(missing(p, &names)),
                            Some((_, text)) => {
                                codec::from_text(model, value_type(p), p.optional, text).map_err(
                                    |source| ParamError::Value {
                                        name: p.name.clone(),
                                        source,
                                    },
                                )
                            }
                        });
                bound.collect()
            }
        }
    }
}

fn names(declared: &[Param]) -> Vec<&str> {
    declared.iter().map(|p| p.name.as_str()).collect()
}

/// A cursor is a text to whoever passes it on.
fn value_type(p: &Param) -> &Type {
    const TEXT: Type = Type::Text(querent_compiler::model::Size {
        avg: 0.0,
        max: None,
    });
    match p.ty {
        Type::Cursor => &TEXT,
        _ => &p.ty,
    }
}

fn unknown(found: &str, names: &[&str]) -> ParamError {
    let near = nearest(found, names.iter().copied());
    ParamError::Unknown {
        found: found.to_string(),
        hint: near.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)")),
        expected: list(names),
    }
}

fn missing(p: &Param, names: &[&str]) -> ParamError {
    ParamError::Missing {
        name: p.name.clone(),
        expected: list(names),
        hint: if p.optional {
            format!("; to clear what it sets, give it as null (`{}=`)", p.name)
        } else {
            String::new()
        },
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_order_are_counted() {
        let text = "
            entity User (9) { id int key }
            question q (1/s) select id from User where id < $most order by id limit $n after $c";
        let (model, _) = querent_compiler::parse("m.querent", text);
        let model = model.unwrap();
        let declared = &model.questions.first().unwrap().params;
        let bind = |values: &[i64]| {
            let values: Vec<Value> = values.iter().map(|&n| Value::Int(n)).collect();
            Params::from(values).bind(&model, declared)
        };
        // A cursor may be left out.
        assert_eq!(
            bind(&[1, 2]).unwrap(),
            [Value::Int(1), Value::Int(2), Value::Null]
        );
        for (given, said) in [
            (&[][..], "parameter `most` is missing; expected most, n, c"),
            (&[1], "parameter `n` is missing; expected most, n, c"),
            (
                &[1, 2, 3, 4],
                "found 4 values, expected 3, one for each parameter",
            ),
        ] {
            assert_eq!(bind(given).unwrap_err().to_string(), said);
        }
        let nothing = Params::from(()).bind(&model, declared);
        assert!(matches!(nothing, Err(ParamError::Missing { .. })));
    }

    /// Left out of an insert an optional value is null; left out of an update it would be cleared.
    #[test]
    fn what_an_update_sets_is_given() {
        let text = "
            entity User (9) { id int key  note text?  boss -> User? as staff (avg 1, max 9) }
            change add (1/s) insert User
            change edit (1/s) update User set note, boss where id = $id
            change both (1/s) { insert User
                update User set note where id = $other }";
        let (model, found) = querent_compiler::parse("m.querent", text);
        let model = model.unwrap_or_else(|| panic!("{found:?}"));
        let bind = |change: &str, params: Params| {
            let change = model.changes.iter().find(|c| c.name == change).unwrap();
            let bound = params.bind(&model, &change.params);
            bound.map_err(|e| e.to_string())
        };
        let json = |text: &str| Params::from(serde_json::from_str::<Json>(text).unwrap());
        let words = |pairs: &[(&str, &str)]| {
            let owned = pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            Params::from(owned.collect::<Vec<_>>())
        };
        assert!(bind("add", json(r#"{"id": 1}"#)).is_ok());
        assert!(bind("add", words(&[("id", "1")])).is_ok());
        assert!(bind("add", vec![Value::Int(1)].into()).is_ok());
        let said = "parameter `note` is missing; expected note, boss, id; to clear what it sets, \
                    give it as null (`note=`)";
        for params in [
            json(r#"{"id": 1, "boss": 2}"#),
            words(&[("id", "1"), ("boss", "2")]),
            ().into(),
        ] {
            assert_eq!(bind("edit", params).unwrap_err(), said);
        }
        let said = "parameter `boss` is missing; expected note, boss, id; to clear what it sets, \
                    give it as null (`boss=`)";
        assert_eq!(
            bind("edit", json(r#"{"id": 1, "note": "x"}"#)).unwrap_err(),
            said
        );
        let cleared = [Value::Null, Value::Null, Value::Int(1)];
        let given = json(r#"{"id": 1, "note": null, "boss": null}"#);
        assert_eq!(bind("edit", given).unwrap(), cleared);
        let given = words(&[("id", "1"), ("note", ""), ("boss", "")]);
        assert_eq!(bind("edit", given).unwrap(), cleared);
        // What one statement may leave out, another sets.
        let said = bind("both", json(r#"{"id": 1, "other": 2}"#)).unwrap_err();
        assert!(said.starts_with("parameter `note` is missing"), "{said}");
        assert!(bind("both", json(r#"{"id": 1, "other": 2, "note": null}"#)).is_ok());
    }
}
