//! What a target cannot hold or serve: which limit, and the number of the model that breaks it.

use super::blame::{Blame, blame, unstated, values_of};
use super::finding::{Finding, Subject, grouped};
use super::{Heat, Sizes, contents, largest_key, regular};
use crate::design::Target;
use crate::design::assumed::FEW;
use crate::design::display::Printer;
use crate::design::spread::{FILL, WIDTHS, narrowest, spread, time_of, unspread};
use crate::design::stats::Stats;
use crate::design::target::Throughput;
use crate::design::worst::Most;
use crate::diagnostic::Code;
use crate::diagnostic::codes::{
    COLLECTION_LIMIT, KEY_LIMIT, PARTITION_LIMIT, READ_LIMIT, ROW_LIMIT, UNSTATED, WRITE_LIMIT,
};
use crate::model::{Expr, Function, Leaf, Many, Model, Reference, Type, own};
use crate::value::Value;
use crate::view::typing::Scope;
use crate::view::{Kind, Structure, key_size};

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
        found.extend(judge.partition(what, size, limit, sizes));
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
    found.extend(judge.unstated(&found));
    found
}

/// What to do about a column that may hold too many.
fn outgrown(column: &Expr) -> &'static str {
    match column {
        Expr::Nested(..) => {
            "state a smaller `max` or a `limit`, or give what is nested a structure of its own, `by` \
             the key of this one: then each has a row"
        }
        _ => {
            "state a smaller `max`, or make its elements an entity of their own: then each has a row"
        }
    }
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

    /// What a person can write to divide a partition that is so much too large, in terms of the
    /// structure: only what is enough, and as little of it as that.
    fn spreading(&self, times: f64) -> String {
        let printer = Printer::of_structure(self.model, self.s);
        let scope = Scope::new(self.model, self.s.anchor, &self.s.over);
        let stats = self.target.stats(self.model);
        let parts = self.s.clustering.iter().map(|(part, _)| part);
        let enough = |part: Expr| {
            let mut cut = self.s.clone();
            cut.partition.push(part);
            let rows = stats.largest(&cut).rows;
            rows * times <= stats.largest(self.s).rows
        };
        let mut ways = Vec::new();
        let timed = |part| {
            let time = time_of(&scope.type_of(self.model, &[], part).0, part)?;
            let fits = |w: &&Function| enough(Expr::Call(**w, vec![time.clone()]));
            let width = WIDTHS.iter().find(fits)?;
            Some(format!(
                "`bucket({}, {})`",
                printer.expr(part),
                width.name()
            ))
        };
        ways.extend(parts.clone().find_map(timed));
        let salts = std::iter::successors(Some(2), |n| Some(n * 2)).take_while(|n| *n <= 256);
        let of = |part: &Expr, n: i64| {
            Expr::Call(
                Function::Hash,
                vec![part.clone(), Expr::Const(Value::Int(n))],
            )
        };
        if let Some(last) = parts.clone().next_back()
            && let Some(n) = salts.into_iter().find(|n| enough(of(last, *n)))
        {
            ways.push(format!("`hash({}, {n})`", printer.expr(last)));
        }
        let own = |part: &Expr| own(self.model, self.s.anchor, part).is_some();
        let plain = self.s.kind == Kind::Lists && self.s.over.is_empty();
        if plain && !self.s.partition.is_empty() && self.s.partition.iter().all(own) {
            let rows = (stats.largest(self.s).rows / times).max(1.0).floor();
            let shared: Vec<String> = self.s.partition.iter().map(|e| printer.expr(e)).collect();
            ways.push(format!("`split({}, {rows})`", shared.join(", ")));
        }
        if ways.is_empty() {
            return "put one more value into `by`, and let the questions give it by `=`".into();
        }
        format!("write {} behind what stands in `by`", ways.join(" or "))
    }

    fn partition(
        &self,
        what: &str,
        size: f64,
        limit: Option<f64>,
        sizes: &Sizes,
    ) -> Option<Finding> {
        let limit = limit.filter(|l| size > *l)?;
        let stats = self.target.stats(self.model);
        // Where one row is too large for a partition, no fewer rows help.
        if what == "bytes" && sizes.row_bytes_max >= size {
            let (widest, bytes) = self.widest()?;
            let name = Printer::of_structure(self.model, self.s).expr(widest);
            let message = format!(
                "{}: a partition's bytes may grow to {}, {} allows {}: one row may, of which \
                 `{name}` takes up to {}",
                self.s.name,
                grouped(size),
                self.target.name,
                grouped(limit),
                grouped(bytes),
            );
            let help = "state a smaller `max`, or move what is large to an entity of its own";
            let (subject, found) = (self.blamed(widest), (size, limit));
            return Some(self.finding(PARTITION_LIMIT, subject, found, message, help.into()));
        }
        let Blame {
            subject,
            says,
            help,
        } = blame(self.model, &self.least(&stats));
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
        let smaller =
            help.unwrap_or_else(|| "state a smaller number if this one is too careful".into());
        let help = if self.given {
            format!("{}; or {smaller}", self.spreading(size / (limit * FILL)))
        } else {
            format!(
                "{smaller}, or let the questions give one more value by `=`, so that it divides the \
                 partition"
            )
        };
        Some(self.finding(PARTITION_LIMIT, subject, (size, limit), message, help))
    }

    /// The value that takes most bytes of a row, and how many.
    fn widest(&self) -> Option<(&Expr, f64)> {
        let stats = self.target.stats(self.model);
        let scope = Scope::new(self.model, self.s.anchor, &self.s.over);
        let sizes = self.s.values().map(|e| (e, stats.bytes(&scope, e).max));
        sizes.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// What no way of spreading brings down: the largest partition as it is, but where even the
    /// narrowest buckets would be too large one of these. The rate that fills them is then to blame,
    /// not how many rows there are.
    fn least(&self, stats: &Stats) -> Most {
        let whole = unspread(self.model, self.s);
        let cut = narrowest(self.model, &whole).filter(|_| !self.given);
        let cut = cut.map(|cut| stats.largest(&cut));
        let full = cut.filter(|cut| !self.holds(cut.rows));
        full.unwrap_or_else(|| stats.largest(self.s))
    }

    fn row(&self, size: f64) -> Option<Finding> {
        let limit = self.target.limits.row_bytes;
        let scope = Scope::new(self.model, self.s.anchor, &self.s.over);
        let (widest, bytes) = self.widest()?;
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
            _ => outgrown(widest),
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
        let help = outgrown(largest).into();
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
                self.referred().unwrap_or_else(|| self.crowd().says),
                "make the rate smaller by gathering several in one change: each of them reads the \
                 same instance, to check that it is there or to learn what it says",
            ),
            _ if self.given => (
                self.crowd().says,
                "keep its answers in a cache, or let the question give one more value by `=` and put \
                 that into `by`; where it asks for a range of a time, write `bucket(…)` there, so \
                 that it reads few of the buckets; `hash(…)` does not help, as each read gathers all \
                 of them",
            ),
            _ => (
                self.crowd().says,
                "keep its answers in a cache, or let the question give one more value by `=`; \
                 salts do not help, as each read gathers all of them",
            ),
        };
        let tried = if self.given {
            ""
        } else {
            ", and no way to spread it serves fewer"
        };
        let throughput = self.target.limits.partition_reads;
        let (counted, allowed) = rates("reads", heat.reads, heat.read_units, throughput);
        let message = format!(
            "{}: its hottest partition serves {counted}, {} allows {allowed}{tried}: `{by}` takes \
             {}, and {says}",
            self.s.name,
            self.target.name,
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
        let throughput = self.target.limits.partition_writes;
        let (counted, allowed) = rates("writes", heat.writes, heat.write_units, throughput);
        let message = format!(
            "{}: its hottest partition takes {counted}, {} allows {allowed}{tried}: `{by}` takes {}, \
             and {}",
            self.s.name,
            self.target.name,
            grouped(*units),
            self.crowd().says
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

    /// Why so many rows share what is not spread of a partition.
    fn crowd(&self) -> Blame {
        let before = spread(self.model, self.s).map_or(self.s.partition.len(), |s| s.before);
        let shared: Vec<&Expr> = self.s.partition.iter().take(before).collect();
        let stats = self.target.stats(self.model);
        blame(self.model, &stats.most(self.s, &shared))
    }

    /// A partition that rests on a number which the model does not state. How many values there
    /// are decides prices and limits alike; how many share one only what would fit if none were
    /// more frequent than others.
    fn unstated(&self, found: &[Finding]) -> Option<Finding> {
        let (model, s) = (self.model, self.s);
        let spread = spread(model, s);
        let before = spread.map_or(s.partition.len(), |s| s.before);
        let shared: Vec<&Expr> = s.partition.iter().take(before).collect();
        let stats = self.target.stats(model);
        let most = stats.largest(&unspread(model, s));
        let attribute = unstated(model, &most).filter(|_| most.rows > FEW)?;
        let crowd = blame(model, &most);
        let usual = stats.rows_per(s, &shared);
        let decides = values_of(model, attribute).is_none() || {
            let pressed = before < s.partition.len() || found.iter().any(Finding::of_partitions);
            pressed && self.holds(usual)
        };
        if !decides || found.iter().any(|f| f.subject == crowd.subject) {
            return None;
        }
        let message = format!(
            "{}: {}: prices count {} to a partition, limits up to {}",
            s.name,
            crowd.says,
            grouped(usual.max(1.0)),
            grouped(most.rows),
        );
        let help = crowd.help.unwrap_or_default();
        let rows = (most.rows, usual.max(1.0));
        Some(self.finding(UNSTATED, crowd.subject, rows, message, help))
    }

    /// Whether a partition of so many rows is within the limits.
    fn holds(&self, rows: f64) -> bool {
        let stats = self.target.stats(self.model);
        let held = contents(&stats, self.s, rows, regular(&stats, self.s));
        let extents = self.target.layout.extents(&held);
        let limits = &self.target.limits;
        let within = |size: f64, limit: Option<f64>| limit.is_none_or(|l| size <= l);
        within(rows, limits.partition_rows)
            && within(extents.values, limits.partition_values)
            && within(extents.bytes, limits.partition_bytes)
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

/// The limit, where it is broken.
fn broken(units: f64, limit: Option<Throughput>) -> Option<f64> {
    limit.map(|l| l.per_second).filter(|l| units > *l)
}

/// A rate and what is allowed of it, in units where the target counts bytes.
fn rates(what: &str, rate: f64, units: f64, limit: Option<Throughput>) -> (String, String) {
    let counted = format!("{} {what} a second", grouped(rate));
    let allowed = limit.map_or(String::new(), |l| grouped(l.per_second));
    match limit.and_then(|l| l.unit_bytes) {
        Some(_) => (
            format!("{counted} ({} units)", grouped(units)),
            format!("{allowed} units"),
        ),
        None => (counted, allowed),
    }
}
