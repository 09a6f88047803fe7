//! A database: a model, its design, and a store that runs it.

use crate::change::{ChangeFailure, Receipt, Work};
use crate::clock::{Clock, SystemClock};
use crate::operator::{Actual, Answer, Ask, AskError, BoundPlan};
use crate::params::{ParamError, Params};
use crate::schema::Schema;
use crate::store::lmdb::{self, Lmdb};
use crate::store::{ChangeError, META_DESIGN, META_MODEL, Store, StoreError};
use querent_compiler::design::{Design, DesignError, Options, Plan, design};
use querent_compiler::diagnostic::{Diagnostic, nearest};
use querent_compiler::model::{EntityId, Model, Param};
use querent_compiler::value::Value;
use std::path::Path;
use std::sync::Arc;

/// Why something asked of a database was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model has errors.
    #[error("the model has {} errors", .0.iter().filter(|d| d.is_error()).count())]
    Model(Vec<Diagnostic>),
    /// There is no design.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that the model does not have.
    #[error("there is no {kind} `{found}`; {hint}")]
    Unknown {
        /// `question`, `change` or `entity`.
        kind: Kind,
        /// As given.
        found: String,
        /// The nearest name there is, what else has the name, or the names there are.
        hint: String,
    },
    /// Parameters.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// An answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A change.
    #[error(transparent)]
    Change(#[from] ChangeFailure),
    /// A fact.
    #[error(transparent)]
    Facts(#[from] crate::facts::FactError),
    /// Sorting on disk.
    #[error(transparent)]
    Sort(#[from] crate::load::SortError),
    /// A load.
    #[error(transparent)]
    Load(#[from] crate::load::LoadError),
    /// A row of an answer does not fit the type that it was to become.
    #[error("a row does not fit: {0}")]
    Deserialize(#[from] serde_json::Error),
}

/// What is called by name at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An entity, or the links of a relationship.
    Entity,
    /// A question.
    Question,
    /// A change.
    Change,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Entity, Kind::Question, Kind::Change];

    fn plural(self) -> &'static str {
        match self {
            Kind::Entity => "entities",
            Kind::Question => "questions",
            Kind::Change => "changes",
        }
    }

    fn names(self, model: &Model) -> Vec<&str> {
        match self {
            Kind::Entity => model.entities.iter().map(|e| e.name.as_str()).collect(),
            Kind::Question => model.questions.iter().map(|q| q.name.as_str()).collect(),
            Kind::Change => model.changes.iter().map(|c| c.name.as_str()).collect(),
        }
    }

    /// The position of what has the name.
    fn position(self, model: &Model, name: &str) -> Result<usize, Error> {
        // Looked up for every ask: the names are gathered only where none is the one.
        let found = match self {
            Kind::Entity => model.entities.iter().position(|e| e.name == name),
            Kind::Question => model.questions.iter().position(|q| q.name == name),
            Kind::Change => model.changes.iter().position(|c| c.name == name),
        };
        found.ok_or_else(|| Error::Unknown {
            kind: self,
            found: name.into(),
            hint: self.hint(model, name, &self.names(model)),
        })
    }

    /// What may have been meant by a name that nothing of this kind has.
    fn hint(self, model: &Model, name: &str, names: &[&str]) -> String {
        let mut others = Kind::ALL.into_iter().filter(|kind| *kind != self);
        if let Some(other) = others.find(|kind| kind.names(model).contains(&name)) {
            return format!("`{name}` is the name of a {other}");
        }
        match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => format!("the model has no {}", self.plural()),
            None => format!("the {} are {}", self.plural(), names.join(", ")),
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Entity => "entity",
            Kind::Question => "question",
            Kind::Change => "change",
        })
    }
}

impl From<ChangeError<ChangeFailure>> for Error {
    fn from(error: ChangeError<ChangeFailure>) -> Error {
        match error {
            ChangeError::Refused(failure) => Error::Change(failure),
            ChangeError::Store(error) => Error::Store(error),
        }
    }
}

/// An open database.
#[derive(Debug)]
pub struct Database<S = Lmdb> {
    schema: Arc<Schema>,
    store: S,
    clock: Arc<dyn Clock>,
}

impl Database<Lmdb> {
    /// Designs a model for the embedded store and creates a database for it in a folder.
    pub fn create(path: impl AsRef<Path>, file_name: &str, model: &str) -> Result<Self, Error> {
        Database::create_with(path, file_name, model, &Options::embedded())
    }

    /// The same with options of the design.
    pub fn create_with(
        path: impl AsRef<Path>,
        file_name: &str,
        text: &str,
        options: &Options,
    ) -> Result<Self, Error> {
        Database::create_designed(path, text, schema_of(file_name, text, options)?)
    }

    /// The same with a design that was made before, of the model of this text. The volumes may be
    /// others: they are for the designer alone.
    pub fn create_designed(
        path: impl AsRef<Path>,
        text: &str,
        schema: Schema,
    ) -> Result<Self, Error> {
        let design = serde_json::to_vec(&schema.design)?;
        let meta: [(&str, &[u8]); 2] = [(META_MODEL, text.as_bytes()), (META_DESIGN, &design)];
        let store = Lmdb::create(
            path,
            &schema.structure_names(),
            &meta,
            lmdb::Options::default(),
        )?;
        Ok(Database::with_store(Arc::new(schema), store))
    }

    /// Opens the database in a folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Database::open_with(path, lmdb::Options::default())
    }

    /// Opens the database in a folder, with options of the store.
    pub fn open_with(path: impl AsRef<Path>, options: lmdb::Options) -> Result<Self, Error> {
        let shown = path.as_ref().display().to_string();
        let store = Lmdb::open(path, options)?;
        let format = |found: &str| StoreError::Format {
            path: shown.clone(),
            found: found.into(),
            expected: "a model and its design, as this version writes them".into(),
        };
        let text = store.meta(META_MODEL)?.ok_or_else(|| format("no model"))?;
        let text = String::from_utf8(text).map_err(|_| format("a model that is not text"))?;
        let (model, _) = querent_compiler::parse("model", &text);
        let model = model.ok_or_else(|| format("a model that has errors"))?;
        let bytes = store
            .meta(META_DESIGN)?
            .ok_or_else(|| format("no design"))?;
        let design: Design =
            serde_json::from_slice(&bytes).map_err(|_| format("another design"))?;
        let schema = Arc::new(Schema::new(model, design));
        Ok(Database::with_store(schema, store))
    }
}

/// Reads and designs a model.
pub fn schema_of(file_name: &str, text: &str, options: &Options) -> Result<Schema, Error> {
    let (model, diagnostics) = querent_compiler::parse(file_name, text);
    let model = model.ok_or(Error::Model(diagnostics))?;
    let design = design(&model, options)?;
    Ok(Schema::new(model, design))
}

impl<S: Store> Database<S> {
    /// A database over any store that has the schema's structures.
    pub fn with_store(schema: Arc<Schema>, store: S) -> Self {
        let clock = Arc::new(SystemClock);
        Database {
            schema,
            store,
            clock,
        }
    }

    /// The same database under another clock than the machine's.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Database { clock, ..self }
    }

    /// The clock by which facts expire.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Model, design, layouts.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.schema.model
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store itself, when the database is no longer needed.
    pub fn into_store(self) -> S {
        self.store
    }

    /// A state of the database to ask several questions of, and to read rows from lazily.
    pub fn snapshot(&self) -> Result<Snapshot<S>, Error> {
        let (inner, overdue) = self.settled()?;
        Ok(Snapshot {
            schema: Arc::clone(&self.schema),
            inner,
            overdue,
        })
    }

    /// Answers a question, all rows at once.
    pub fn ask(&self, question: &str, params: impl Into<Params>) -> Result<Answered, Error> {
        self.snapshot()?.ask(question, params)?.all()
    }

    /// Makes a change: when this returns it is durable.
    pub fn change(&self, name: &str, params: impl Into<Params>) -> Result<Receipt, Error> {
        let schema = Arc::clone(&self.schema);
        let at = Kind::Change.position(&schema.model, name)?;
        let declared = schema
            .model
            .changes
            .get(at)
            .map(|c| c.params.as_slice())
            .unwrap_or_default();
        let params = params.into().bind(&schema.model, declared)?;
        self.apply(Work::Change(at, params))
    }

    /// Inserts whole rows (fact rows of the entity), or puts them in the place of what is there.
    /// All of them, or none. A number of a sequence that is left out (null) is assigned, behind all
    /// that are given; the receipt says which.
    pub fn put(&self, entity: EntityId, rows: Vec<Vec<Value>>) -> Result<Receipt, Error> {
        self.put_all(rows.into_iter().map(|row| (entity, row)).collect())
    }

    /// The same for rows of several entities, which may refer to one another.
    pub fn put_all(&self, rows: Vec<(EntityId, Vec<Value>)>) -> Result<Receipt, Error> {
        self.apply(Work::Put(rows))
    }

    /// An entity by name, links as `Entity.side`.
    pub fn entity(&self, name: &str) -> Result<EntityId, Error> {
        Ok(EntityId(
            Kind::Entity.position(&self.schema.model, name)? as u32
        ))
    }
}

/// A state of a database that stays as it is while it is held. Hold it briefly: the store keeps
/// what later changes replace for as long.
pub struct Snapshot<S: Store> {
    schema: Arc<Schema>,
    inner: S::Snapshot,
    overdue: Option<i64>,
}

impl<S: Store> Snapshot<S> {
    /// Prepares a question: its parameters are checked, nothing is read yet.
    pub fn ask(&self, question: &str, params: impl Into<Params>) -> Result<Asked<'_, S>, Error> {
        let at = Kind::Question.position(&self.schema.model, question)?;
        let unknown = || Error::Unknown {
            kind: Kind::Question,
            found: question.into(),
            hint: "the design has no plan for it".into(),
        };
        let declared = &self
            .schema
            .model
            .questions
            .get(at)
            .ok_or_else(unknown)?
            .params;
        let params = params.into().bind(&self.schema.model, declared)?;
        let plan = &self.schema.design.plans.get(at).ok_or_else(unknown)?.plan;
        let bound = self.schema.question(at)?.ok_or_else(unknown)?;
        Ok(Asked {
            schema: &self.schema,
            plan,
            bound,
            params,
            declared,
            reader: S::reader(&self.inner),
        })
    }

    /// Where the database is open for reading only, and facts are here that have expired since the
    /// process that writes last asked or changed something: the earliest of their deadlines.
    pub fn overdue(&self) -> Option<i64> {
        self.overdue
    }

    /// A reader of the stored rows.
    pub fn reader(&self) -> S::Reader<'_> {
        S::reader(&self.inner)
    }
}

/// A prepared question.
pub struct Asked<'s, S: Store> {
    schema: &'s Arc<Schema>,
    plan: &'s Plan,
    bound: &'s BoundPlan,
    params: Vec<Value>,
    declared: &'s [Param],
    reader: S::Reader<'s>,
}

impl<'s, S: Store> Asked<'s, S> {
    /// The answer's rows, read and decoded as they are looked at.
    pub fn rows<'a>(&'a self) -> Result<Answer<'a, S::Reader<'s>>, Error>
    where
        's: 'a,
    {
        let ask = Ask {
            params: &self.params,
            declared: self.declared,
        };
        Ok(Answer::new(self.bound, &self.reader, ask)?)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.plan
    }

    /// All rows at once.
    pub fn all(&self) -> Result<Answered, Error> {
        let mut answer = self.rows()?.counted();
        let mut answered = Answered {
            plan: self.plan.clone(),
            rows: vec![],
            cursors: vec![],
            profile: vec![],
            schema: Arc::clone(self.schema),
        };
        while let Some(row) = answer.next_row()? {
            answered.rows.push(row.to_values()?);
            if !self.plan.cursor.is_empty() {
                answered.cursors.push(row.cursor_values()?);
            }
        }
        answered.profile = answer.profile();
        Ok(answered)
    }
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The plan that gave it.
    pub plan: Plan,
    /// Rows, in the order asked.
    pub rows: Vec<Vec<Value>>,
    /// For each row, the values that its cursor is made of; empty without an order.
    pub cursors: Vec<Vec<Value>>,
    /// What each step did.
    pub profile: Vec<Actual>,
    schema: Arc<Schema>,
}

impl Answered {
    /// The columns' names.
    pub fn names(&self) -> Vec<&str> {
        self.plan.output.iter().map(|o| o.name.as_str()).collect()
    }

    /// Rows as JSON objects.
    pub fn json(&self) -> Vec<serde_json::Value> {
        let rows = self.rows.iter().map(|row| {
            let fields = self.plan.output.iter().zip(row).map(|(o, value)| {
                (
                    o.name.clone(),
                    querent_compiler::codec::to_json(&self.schema.model, &o.ty, value),
                )
            });
            serde_json::Value::Object(fields.collect())
        });
        rows.collect()
    }

    /// Rows as values of a type of the caller's own.
    pub fn deserialize<T: serde::de::DeserializeOwned>(&self) -> Result<Vec<T>, Error> {
        let rows = self.json().into_iter().map(serde_json::from_value);
        Ok(rows.collect::<Result<Vec<T>, _>>()?)
    }

    /// The token with which the next page begins: behind the last row.
    pub fn next_cursor(&self) -> Option<String> {
        self.cursors
            .last()
            .map(|values| crate::cursor::encode(values))
    }

    /// The token before which the page before this one ends: the first row's.
    pub fn previous_cursor(&self) -> Option<String> {
        self.cursors
            .first()
            .map(|values| crate::cursor::encode(values))
    }
}
