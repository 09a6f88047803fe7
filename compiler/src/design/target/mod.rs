//! Targets: cost constants, limits and capabilities, as data. One file per target in `targets/`;
//! cost models that are no target's own are in `cost-models/`.

mod layout;
mod limits;
mod rules;

pub use layout::{Columns, Contents, Extents, Layout};
pub use limits::{Limits, Throughput};
pub use rules::{Rules, Support};

use super::stats::Stats;
use crate::model::Model;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::fmt;

/// A kind of store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Name, as in `--target`.
    pub name: String,
    /// One sentence, and the unit of the costs.
    pub about: String,
    /// Cost constants.
    pub cost: Cost,
    /// Limits.
    pub limits: Limits,
    /// How partitions are laid out.
    pub layout: Layout,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl Target {
    /// A model's volumes, as this target's cost model counts them.
    pub(crate) fn stats<'a>(&'a self, model: &'a Model) -> Stats<'a> {
        Stats {
            model,
            rules: &self.cost.rules,
        }
    }
}

/// Cost constants, in the target's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Per question asked, whatever it reads.
    #[serde(default)]
    pub ask: f64,
    /// Per change, whatever it writes; without waiting for the disk.
    #[serde(default)]
    pub change: f64,
    /// Per step that reads a structure.
    pub index: f64,
    /// Per get (one partition or one seek).
    pub partition: f64,
    /// So many rows are near at hand, whichever they are: in the caches of the processor.
    #[serde(default = "one")]
    pub near_rows: f64,
    /// Per get, for each doubling of the rows that it is one among, from where they are no longer all
    /// near.
    #[serde(default)]
    pub get_doubling: f64,
    /// Per row read.
    pub row: f64,
    /// Per byte read.
    pub byte: f64,
    /// Per row put.
    pub insert: f64,
    /// Per row deleted.
    pub delete: f64,
    /// Per row put or deleted, for each such doubling.
    #[serde(default)]
    pub write_doubling: f64,
    /// Per byte written.
    pub write_byte: f64,
    /// Per sort.
    pub sort: f64,
    /// Per row sorted.
    pub sort_row: f64,
    /// Per byte kept: only breaks ties.
    pub stored_byte: f64,
    /// What is counted.
    #[serde(default)]
    pub rules: Rules,
}

impl Cost {
    /// How often the rows that are near would have to double to be so many.
    fn doublings(&self, among: f64) -> f64 {
        (1.0 + among.max(0.0) / self.near_rows.max(1.0)).log2()
    }

    /// So many gets, each of one place among so many rows.
    pub(crate) fn gets(&self, gets: f64, among: f64) -> f64 {
        gets * (self.partition + self.get_doubling * self.doublings(among))
    }

    /// Rows put and deleted among so many, the bytes left out.
    pub(crate) fn writes(&self, puts: f64, deletes: f64, among: f64) -> f64 {
        let each = self.write_doubling * self.doublings(among);
        puts * (self.insert + each) + deletes * (self.delete + each)
    }
}

fn one() -> f64 {
    1.0
}

/// Cost constants and rules by a name of their own: prices for a target's designs that are not the
/// target's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostModel {
    /// Name, as in `--cost-model`.
    pub name: String,
    /// One sentence, and the unit of the costs.
    pub about: String,
    /// Cost constants and rules.
    pub cost: Cost,
}

/// Why a text is no cost model.
#[derive(Debug)]
#[non_exhaustive]
pub enum CostModelError {
    /// It is no JSON, or has other fields.
    Form(serde_json::Error),
    /// It is like one that there is not.
    Like(String),
}

impl From<serde_json::Error> for CostModelError {
    fn from(error: serde_json::Error) -> CostModelError {
        CostModelError::Form(error)
    }
}

impl fmt::Display for CostModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CostModelError::Form(error) => error.fmt(f),
            CostModelError::Like(name) => write!(
                f,
                "it is `like` the cost model `{name}`, which there is not; there are {}",
                COST_MODELS.join(", ")
            ),
        }
    }
}

impl std::error::Error for CostModelError {}

impl CostModel {
    /// A cost model from its file. One that is `like` another says only which constants and rules
    /// differ.
    pub fn read(text: &str) -> Result<CostModel, CostModelError> {
        let mut file: Json = serde_json::from_str(text)?;
        let like = file.as_object_mut().and_then(|file| file.remove("like"));
        if let Some(like) = like {
            let name: String = serde_json::from_value(like)?;
            let base = cost_model(&name).ok_or(CostModelError::Like(name))?;
            let mut whole = serde_json::to_value(base)?;
            overlay(&mut whole, file);
            file = whole;
        }
        Ok(serde_json::from_value(file)?)
    }
}

/// Puts what a file says over what it is like, object by object.
fn overlay(base: &mut Json, file: Json) {
    match (base, file) {
        (Json::Object(base), Json::Object(file)) => {
            for (name, value) in file {
                overlay(base.entry(name).or_insert(Json::Null), value);
            }
        }
        (base, file) => *base = file,
    }
}

/// Capabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a table of what a store can do, read from its file"
)]
pub struct Capabilities {
    /// Partitions are ordered too, so that any prefix of the whole key can be read.
    pub ordered_partitions: bool,
    /// A partition key must have at least one part.
    pub partition_required: bool,
    /// A key part may be null.
    pub null_in_key: bool,
    /// Rows with counters hold nothing else but their key.
    #[serde(default)]
    pub counters_apart: bool,
    /// What is atomic.
    pub transactions: Transactions,
}

/// The most that a target writes together or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transactions {
    /// All writes of a change.
    All,
    /// Rows of one partition of one structure.
    Partition,
    /// One document.
    Document,
    /// One row.
    Row,
}

/// The names of the targets that ship.
pub const NAMES: &[&str] = &["embedded", "cassandra", "dynamodb", "mongodb"];

/// A target by name.
pub fn named(name: &str) -> Option<Target> {
    let text = match name {
        "embedded" => include_str!("../../../targets/embedded.json"),
        "cassandra" => include_str!("../../../targets/cassandra.json"),
        "dynamodb" => include_str!("../../../targets/dynamodb.json"),
        "mongodb" => include_str!("../../../targets/mongodb.json"),
        _ => return None,
    };
    serde_json::from_str(text).ok()
}

/// The names of the cost models: those of the targets, and those that are no target's.
pub const COST_MODELS: &[&str] = &[
    "embedded",
    "cassandra",
    "dynamodb",
    "mongodb",
    "nose",
    "nose-shared",
];

/// A cost model by name.
pub fn cost_model(name: &str) -> Option<CostModel> {
    let text = match name {
        "nose" => include_str!("../../../cost-models/nose.json"),
        "nose-shared" => include_str!("../../../cost-models/nose-shared.json"),
        _ => {
            return named(name).map(|t| CostModel {
                name: t.name,
                about: t.about,
                cost: t.cost,
            });
        }
    };
    CostModel::read(text).ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_target_reads() {
        for name in super::NAMES {
            assert_eq!(super::named(name).map(|t| t.name).as_deref(), Some(*name));
        }
    }

    #[test]
    fn every_cost_model_reads() {
        for name in super::COST_MODELS {
            let found = super::cost_model(name).map(|m| m.name);
            assert_eq!(found.as_deref(), Some(*name));
        }
    }

    #[test]
    fn a_cost_model_like_another_says_what_differs() {
        let nose = super::cost_model("nose").unwrap();
        let mut shared = super::cost_model("nose-shared").unwrap();
        assert_ne!(shared.cost, nose.cost);
        shared.cost.rules.support = nose.cost.rules.support;
        assert_eq!(shared.cost, nose.cost);
    }

    #[test]
    fn a_cost_model_like_one_that_there_is_not() {
        let text = r#"{ "name": "mine", "about": "", "like": "nosy" }"#;
        let error = super::CostModel::read(text).unwrap_err().to_string();
        assert!(error.contains("`nosy`"), "{error}");
    }
}
