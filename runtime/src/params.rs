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
    #[error("parameter `{name}` is missing; expected {expected}")]
    Missing {
        /// Its name.
        name: String,
        /// All there are.
        expected: String,
    },
    /// One that is given more than once.
    #[error("parameter `{name}` is given twice, expected once")]
    Twice {
        /// Its name.
        name: String,
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
            // The item of a `for each` is bound by the statement itself.
            Params::Values(mut values) => {
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
                        None | Some(Json::Null) if optional(p) => Ok(Value::Null),
                        None => Err(missing(p, &names)),
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
                            None if optional(p) => Ok(Value::Null),
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

fn optional(p: &Param) -> bool {
    p.optional || matches!(p.ty, Type::Cursor)
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
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}
