//! What a target cannot hold or serve: which limit, and the number of the model that breaks it.

use super::{Heat, Sizes, largest_key};
use crate::design::Target;
use crate::design::display::Printer;
use crate::design::target::Throughput;
use crate::diagnostic::codes::{
    self, COLLECTION_LIMIT, KEY_LIMIT, PARTITION_LIMIT, READ_LIMIT, ROW_LIMIT, WRITE_LIMIT,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Expr, Leaf, Many, Model, Reference, Type};
use crate::syntax::locate;
use crate::view::typing::Scope;
use crate::view::{Kind, Structure, key_size};
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
    /// An entity.
    Entity(String),
    /// A field of an entity.
    Field(String, String),
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
            Subject::Entity(name) => write!(f, "entity {name}"),
            Subject::Field(entity, field) => write!(f, "{entity}.{field}"),
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
        let place = match &self.subject {
            Subject::Entity(name) => locate::entity(&tree, name),
            Subject::Field(entity, field) => locate::field(&tree, entity, field),
            Subject::Question(name) | Subject::Change(name) => {
                locate::statement(&tree, name, self.mixes.first().map(String::as_str))
            }
            Subject::Structure(schema, name) => locate::structure(&tree, schema, name),
        };
        let code = codes::ALL.iter().find(|c| c.id == self.code);
        let code = code.copied().unwrap_or(PARTITION_LIMIT);
        Diagnostic::new(code, place.unwrap_or_default(), &self.message).help(self.help.clone())
    }

    /// Whether more salts or narrower buckets could help.
    pub(crate) fn of_a_partition(&self) -> bool {
        self.code == PARTITION_LIMIT.id || self.code == WRITE_LIMIT.id
    }
}

/// Everything about one structure that the target cannot hold or serve.
pub(crate) fn findings(
    model: &Model,
    target: &Target,
    s: &Structure,
    sizes: &Sizes,
    given: bool,
) -> Vec<Finding> {
    let judge = Judge {
        model,
        target,
        s,
        given,
    };
    let limits = &target.limits;
    let partition = [
        ("rows", sizes.partition_rows_max, limits.partition_rows),
        (
            "values",
            sizes.partition_values_max,
            limits.partition_values,
        ),
        ("bytes", sizes.partition_bytes_max, limits.partition_bytes),
    ];
    let mut found: Vec<Finding> = Vec::new();
    for (what, size, limit) in partition {
        found.extend(judge.partition(what, size, limit));
    }
    found.extend(judge.row(sizes.row_bytes_max));
    found.extend(judge.collection(sizes.collection_elements_max));
    if largest_key(model, s) > limits.key_bytes {
        found.extend(judge.key());
    }
    if let Some(heat) = &sizes.heat {
        found.extend(judge.reads(heat));
        found.extend(judge.writes(heat));
    }
    found
}

struct Judge<'a> {
    model: &'a Model,
    target: &'a Target,
    s: &'a Structure,
    /// A person chose its key: nobody has tried to spread it.
    given: bool,
}

impl Judge<'_> {
    fn finding(
        &self,
        code: &Code,
        subject: Subject,
        (found, limit): (f64, f64),
        message: String,
        help: String,
    ) -> Finding {
        Finding {
            code: code.id.into(),
            structure: self.s.name.clone(),
            subject,
            found,
            limit,
            message,
            help,
            mixes: vec![],
        }
    }

    /// What a person can write to divide a partition, in terms of the structure.
    fn spreading(&self) -> String {
        let printer = Printer::of_structure(self.model, self.s);
        let scope = Scope::new(self.model, self.s.anchor, &self.s.over);
        let mut parts = self.s.clustering.iter().map(|(part, _)| part);
        let is_time = |part: &&Expr| {
            let (ty, _) = scope.type_of(self.model, &[], part);
            matches!(ty, Type::Timestamp | Type::Date | Type::TimeUuid)
        };
        let mut ways = Vec::new();
        if let Some(time) = parts.clone().find(is_time) {
            ways.push(format!("`bucket({}, day)`", printer.expr(time)));
        }
        if let Some(last) = parts.next_back() {
            ways.push(format!("`hash({}, 16)`", printer.expr(last)));
        }
        let shared: Vec<String> = self.s.partition.iter().map(|e| printer.expr(e)).collect();
        let plain = self.s.kind == Kind::Lists && self.s.over.is_empty();
        if plain && !shared.is_empty() && !ways.is_empty() {
            ways.push(format!("`split({}, 10000)`", shared.join(", ")));
        }
        if ways.is_empty() {
            return "put one more value into `by`, and let the questions give it by `=`".into();
        }
        format!("write {} behind what stands in `by`", ways.join(" or "))
    }

    fn partition(&self, what: &str, size: f64, limit: Option<f64>) -> Option<Finding> {
        let limit = limit.filter(|l| size > *l)?;
        let (subject, says) = self.crowd();
        let tried = if self.given {
            ""
        } else {
            ", and neither buckets nor salts bring it down"
        };
        let message = format!(
            "{}: a partition's {what} may grow to {}, {} allows {}{tried}: {says}",
            self.s.name,
            grouped(size),
            self.target.name,
            grouped(limit),
        );
        let help = if self.given {
            let spreading = self.spreading();
            format!("{spreading}; or state a smaller number if this one is too careful")
        } else {
            "state a smaller number if this one is too careful, or let the questions give one more \
             value by `=`, so that it divides the partition"
                .into()
        };
        Some(self.finding(PARTITION_LIMIT, subject, (size, limit), message, help))
    }

    fn row(&self, size: f64) -> Option<Finding> {
        let limit = self.target.limits.row_bytes;
        let stats = self.target.stats(self.model);
        let scope = Scope::new(self.model, self.s.anchor, &self.s.over);
        let sizes = self.s.values().map(|e| (e, stats.bytes(&scope, e).max));
        let (widest, bytes) = sizes.max_by(|a, b| a.1.total_cmp(&b.1))?;
        if size <= limit {
            return None;
        }
        let name = Printer::of_structure(self.model, self.s).expr(widest);
        let message = format!(
            "{}: a row's bytes may grow to {}, {} allows {}: `{name}` takes up to {} of them",
            self.s.name,
            grouped(size),
            self.target.name,
            grouped(limit),
            grouped(bytes),
        );
        let help = match scope.type_of(self.model, &[], widest).0 {
            Type::Text(size) | Type::Blob(size) if size.max.is_none() => {
                "state its `max`, as in text(200, max 2k), or move what is large to an entity of \
                 its own"
            }
            Type::Text(_) | Type::Blob(_) => {
                "state a smaller `max`, or move what is large to an entity of its own"
            }
            _ => {
                "state a smaller `max`, or make its elements an entity of their own: then each \
                  has a row"
            }
        }
        .into();
        Some(self.finding(ROW_LIMIT, self.blamed(widest), (size, limit), message, help))
    }

    fn collection(&self, elements: f64) -> Option<Finding> {
        let limit = self.target.limits.collection_elements;
        let limit = limit.filter(|l| elements > *l)?;
        let stats = self.target.stats(self.model);
        let scope = Scope::new(self.model, self.s.anchor, &self.s.over);
        let of = self.s.columns.iter();
        let largest = of.max_by(|a, b| {
            let elements = |e| stats.elements(&scope, e);
            elements(*a).total_cmp(&elements(*b))
        })?;
        let name = Printer::of_structure(self.model, self.s).expr(largest);
        let message = format!(
            "{}: the collection `{name}` may grow to {} elements, {} allows {}",
            self.s.name,
            grouped(elements),
            self.target.name,
            grouped(limit),
        );
        let help = "state a smaller `max`, or make its elements an entity of their own: then each \
                    has a row"
            .into();
        let subject = self.blamed(largest);
        Some(self.finding(COLLECTION_LIMIT, subject, (elements, limit), message, help))
    }

    /// What to say of a key that does not fit for certain: it will where the usual values do, and
    /// a part of which the volumes expect longer ones deserves a bound.
    fn key(&self) -> Option<Finding> {
        let (model, s) = (self.model, self.s);
        let (stats, limit) = (self.target.stats(model), self.target.limits.key_bytes);
        let scope = Scope::new(model, s.anchor, &s.over);
        let expected = |(i, e)| {
            if s.is_hashed(i) {
                key_size::HASHED as f64
            } else {
                stats.bytes(&scope, e).max
            }
        };
        let sizes: Vec<f64> = s.key().enumerate().map(expected).collect();
        let size = sizes.iter().sum::<f64>();
        if size <= limit {
            return None;
        }
        let parts = s.key().zip(&sizes).enumerate();
        let whole = parts.filter(|(i, _)| !s.is_hashed(*i));
        let (_, (part, _)) = whole.max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b))?;
        let name = Printer::of_structure(model, s).expr(part);
        let help = match scope.type_of(model, &[], part).0 {
            Type::Text(size) if size.max.is_none() => {
                format!("bound it, as in text({:.0}, max 200)", size.avg)
            }
            Type::Blob(size) if size.max.is_none() => {
                format!("bound it, as in blob({:.0}, max 200)", size.avg)
            }
            _ => "order by something shorter".into(),
        };
        let message = format!(
            "{}: a key of more than {} bytes is refused, and `{name}`, which is kept in order, \
             may be that long",
            s.name,
            grouped(limit),
        );
        Some(self.finding(KEY_LIMIT, self.blamed(part), (size, limit), message, help))
    }

    fn reads(&self, heat: &Heat) -> Option<Finding> {
        let limit = broken(heat.read_units, self.target.limits.partition_reads)?;
        let (by, units) = heat.readers.first()?;
        let subject = self.statement(by);
        let (says, help) = match subject {
            Subject::Change(_) => (
                self.referred().unwrap_or_else(|| self.crowd().1),
                "make the rate smaller by gathering several in one change: each of them reads the \
                 same instance, to check that it is there or to learn what it says",
            ),
            _ if self.given => (
                self.crowd().1,
                "keep its answers in a cache, or let the question give one more value by `=` and put \
                 that into `by`; where it asks for a range of a time, write `bucket(…)` there, so \
                 that it reads few of the buckets; `hash(…)` does not help, as each read gathers all \
                 of them",
            ),
            _ => (
                self.crowd().1,
                "keep its answers in a cache, or let the question give one more value by `=`; \
                 salts do not help, as each read gathers all of them",
            ),
        };
        let tried = if self.given {
            ""
        } else {
            ", and no way to spread it serves fewer"
        };
        let message = format!(
            "{}: its hottest partition serves {} reads a second ({} units), {} allows {} \
             units{tried}: `{by}` takes {}, and {says}",
            self.s.name,
            grouped(heat.reads),
            grouped(heat.read_units),
            self.target.name,
            grouped(limit),
            grouped(*units),
        );
        let found = (heat.read_units, limit);
        Some(self.finding(READ_LIMIT, subject, found, message, help.into()))
    }

    fn writes(&self, heat: &Heat) -> Option<Finding> {
        let limit = broken(heat.write_units, self.target.limits.partition_writes)?;
        let (by, units) = heat.writers.first()?;
        let tried = if self.given {
            ""
        } else {
            ", and salts do not bring it down"
        };
        let message = format!(
            "{}: its hottest partition takes {} writes a second ({} units), {} allows {} \
             units{tried}: `{by}` takes {}, and {}",
            self.s.name,
            grouped(heat.writes),
            grouped(heat.write_units),
            self.target.name,
            grouped(limit),
            grouped(*units),
            self.crowd().1
        );
        let own = self.s.clustering.last();
        let help = match own.filter(|_| self.given) {
            Some((last, _)) => {
                let last = Printer::of_structure(self.model, self.s).expr(last);
                format!("write `hash({last}, 16)` behind what stands in `by`, with enough salts")
            }
            None => "make the rate smaller by gathering several in one change, or ask for \
                     something that is not kept in one row for all of them"
                .into(),
        };
        let subject = self.statement(by);
        Some(self.finding(
            WRITE_LIMIT,
            subject,
            (heat.write_units, limit),
            message,
            help,
        ))
    }

    /// Why so many rows share a partition: the declaration, and what it says.
    fn crowd(&self) -> (Subject, String) {
        let reference = self.s.partition.iter().find_map(|e| match e {
            Expr::Path { steps, .. } => steps.first(),
            _ => None,
        });
        if let Some(&r) = reference {
            let r = self.model.reference(r);
            let entity = &self.model.entity(r.entity).name;
            let says = format!("{entity}.{} says (max {})", r.name, grouped(r.max));
            return (Subject::Field(entity.clone(), r.name.clone()), says);
        }
        let name = &self.model.entity(self.s.anchor).name;
        let count = self.model.root(self.s.anchor).count;
        let says = format!("there are {} of {name}", grouped(count));
        (Subject::Entity(name.clone()), says)
    }

    /// What says that so many refer to one of the structure's instances, of all that do.
    fn referred(&self) -> Option<String> {
        let model = self.model;
        let root = |e| model.entity(e).root;
        let to = model.references.iter();
        let to = to.filter(|r| root(r.target) == root(self.s.anchor));
        let share = |r: &&Reference| r.max / model.root(r.entity).count.max(1.0);
        let most = to.max_by(|a, b| share(a).total_cmp(&share(b)))?;
        let entity = &model.entity(most.entity).name;
        Some(format!(
            "{entity}.{} says (max {})",
            most.name,
            grouped(most.max)
        ))
    }

    fn statement(&self, name: &str) -> Subject {
        if self.model.questions.iter().any(|q| q.name == name) {
            Subject::Question(name.into())
        } else {
            Subject::Change(name.into())
        }
    }

    /// The declaration that says how large a value is.
    fn blamed(&self, value: &Expr) -> Subject {
        let name = |e| self.model.entity(e).name.clone();
        match value {
            Expr::Path {
                leaf: Leaf::Attribute(a, _),
                ..
            } => {
                let a = self.model.attribute(*a);
                Subject::Field(name(a.entity), a.name.clone())
            }
            Expr::Nested(_, query) => match query.over.first().map(|u| &u.many) {
                Some(Many::Back(r)) => {
                    let r = self.model.reference(*r);
                    Subject::Field(name(r.entity), r.name.clone())
                }
                Some(Many::Elements(a, _)) => {
                    let a = self.model.attribute(*a);
                    Subject::Field(name(a.entity), a.name.clone())
                }
                _ => Subject::Entity(name(self.s.anchor)),
            },
            Expr::Call(_, args) => match args.first() {
                Some(of) => self.blamed(of),
                None => Subject::Entity(name(self.s.anchor)),
            },
            _ => Subject::Entity(name(self.s.anchor)),
        }
    }
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

/// The limit, where it is broken.
fn broken(units: f64, limit: Option<Throughput>) -> Option<f64> {
    limit.map(|l| l.per_second).filter(|l| units > *l)
}
