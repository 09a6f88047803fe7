//! What a design shows to be amiss, and where in the model's text it stands.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{self, PARTITION_LIMIT, READ_LIMIT, UNSTATED, WRITE_LIMIT};
use crate::syntax::locate;
use serde::{Deserialize, Serialize};

/// What a design shows to be amiss: a limit of the target that the model's numbers break, or a
/// structure that does not do its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The code of its diagnostic.
    pub code: String,
    /// The structure.
    pub structure: String,
    /// The declaration whose number is to blame.
    pub subject: Subject,
    /// What it would be.
    pub found: f64,
    /// What the target allows.
    pub limit: f64,
    /// The same in words.
    pub message: String,
    /// What to change.
    pub help: String,
    /// The mixes of rates in whose designs it was found, where the model has mixes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixes: Vec<String>,
}

/// A declaration of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// The model as a whole.
    Model,
    /// An entity.
    Entity(String),
    /// A field of an entity.
    Field(String, String),
    /// How large a field's value is, where the code is about how many share one.
    Size(String, String),
    /// A question.
    Question(String),
    /// A change.
    Change(String),
    /// A schema's structure: the names of both.
    Structure(String, String),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::Model => f.write_str("the model"),
            Subject::Entity(name) => write!(f, "entity {name}"),
            Subject::Field(entity, field) | Subject::Size(entity, field) => {
                write!(f, "{entity}.{field}")
            }
            Subject::Question(name) => write!(f, "question {name}"),
            Subject::Change(name) => write!(f, "change {name}"),
            Subject::Structure(_, name) => write!(f, "structure {name}"),
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Finding {
    /// The finding at its place in the model's text; at its start where the text has changed.
    pub fn diagnostic(&self, text: &str) -> Diagnostic {
        let (tree, _) = crate::syntax::parse(text);
        let mix = self.mixes.first().map(String::as_str);
        let place = match &self.subject {
            Subject::Model => tree.name.as_ref().map(|name| name.span),
            Subject::Entity(name) => locate::entity(&tree, name),
            Subject::Field(entity, field) if self.of_sharing() => {
                locate::values(&tree, entity, field)
            }
            Subject::Field(entity, field) | Subject::Size(entity, field) => {
                locate::field(&tree, entity, field)
            }
            // A find of a change that nothing answers is told by its name alone.
            Subject::Question(name) => {
                locate::question(&tree, name, mix).or_else(|| locate::change(&tree, name, mix))
            }
            // Nobody writes the change by which instances expire: it stands at their entity.
            Subject::Change(name) => locate::change(&tree, name, mix).or_else(|| {
                let expiring = name.strip_prefix("expire ")?;
                locate::entity(&tree, expiring)
            }),
            Subject::Structure(schema, name) => locate::structure(&tree, schema, name),
        };
        let code = codes::ALL.iter().find(|c| c.id == self.code);
        let code = code.copied().unwrap_or(PARTITION_LIMIT);
        Diagnostic::new(code, place.unwrap_or_default(), &self.message).help(self.help.clone())
    }

    /// Whether it is about how many share a value, not about how large one is.
    fn of_sharing(&self) -> bool {
        self.of_partitions() || self.code == UNSTATED.id
    }

    /// Whether it is about how large or how hot a partition is.
    pub(super) fn of_partitions(&self) -> bool {
        self.of_a_partition() || self.code == READ_LIMIT.id
    }

    /// Whether more salts or narrower buckets could help.
    pub(crate) fn of_a_partition(&self) -> bool {
        self.code == PARTITION_LIMIT.id || self.code == WRITE_LIMIT.id
    }
}

/// A number as people write it: a small one with few digits, but never as nothing where it is not.
pub(crate) fn shown(n: f64) -> String {
    if n >= 10.0 || n <= 0.0 || !n.is_finite() {
        return grouped(n);
    }
    // Two digits after the point, or as many as tell two digits of the number.
    let digits = (1.0 - n.log10().floor()).clamp(2.0, 20.0) as usize;
    let rounded = format!("{n:.digits$}");
    rounded
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// A number with its digits in groups of three: `602,203,012`.
pub(crate) fn grouped(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
