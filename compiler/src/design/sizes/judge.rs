//! What a target cannot hold or serve: which limit, and the number of the model that breaks it.

use super::blame::{Blame, blame, followed, unstated, values_of};
use super::divide::{Divider, Excess};
use super::finding::{Finding, Subject, grouped, shown};
use super::{By, Heat, Sizes, alone, contents, regular};
use crate::design::Target;
use crate::design::assumed::FEW;
use crate::design::display::Printer;
use crate::design::spread::{bucketed, spread, unspread};
use crate::design::stats::Stats;
use crate::design::target::Throughput;
use crate::design::worst::Most;
use crate::diagnostic::Code;
use crate::diagnostic::codes::{
    COLLECTION_LIMIT, KEY_LIMIT, PARTITION_LIMIT, READ_LIMIT, ROW_LIMIT, UNSTATED, WRITE_LIMIT,
};
use crate::model::{Expr, Leaf, Many, Model, Type};
use crate::view::typing::Scope;
use crate::view::{Structure, key_size};

/// Everything about one structure that the target cannot hold or serve.
pub(crate) fn findings(
    model: &Model,
    target: &Target,
    s: &Structure,
    sizes: &Sizes,
    given: bool,
) -> Vec<Finding> {
    let mut judge = Judge {
        model,
        target,
        s,
        given,
        heat: sizes.heat.as_ref(),
        excess: Excess::default(),
    };
    let large = judge.beyond(sizes);
    judge.excess = judge.excess_of(!large.is_empty());
    let mut found: Vec<Finding> = Vec::new();
    found.extend(judge.one_row(sizes));
    found.extend(judge.partition(&large));
    found.extend(judge.row(sizes.row_bytes_max));
    found.extend(judge.collection(sizes.collection_elements_max));
    found.extend(judge.keys());
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
            "state a `max` that is small enough or a `limit`, or give what is nested a structure of its own, `by` \
             the key of this one: then each has a row"
        }
        _ => {
            "state a `max` that is small enough, or make its elements an entity of their own: then each has a row"
        }
    }
}

struct Judge<'a> {
    model: &'a Model,
    target: &'a Target,
    s: &'a Structure,
    /// A person chose its key: nobody has tried to spread it.
    given: bool,
    heat: Option<&'a Heat>,
    /// Of what a partition has too much that dividing it would bring down.
    excess: Excess,
}

/// An extent of a partition that is beyond its limit.
struct Beyond {
    what: &'static str,
    size: f64,
    limit: f64,
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

    /// What a partition has too much of because of how many rows share it.
    fn beyond(&self, sizes: &Sizes) -> Vec<Beyond> {
        let limits = &self.target.limits;
        let bytes = limits.partition_bytes.filter(|_| !self.of_one_row(sizes));
        let extents = [
            ("rows", sizes.partition_rows_max, limits.partition_rows),
            (
                "values",
                sizes.partition_values_max,
                limits.partition_values,
            ),
            ("bytes", sizes.partition_bytes_max, bytes),
        ];
        let beyond = extents.into_iter().filter_map(|(what, size, limit)| {
            let limit = limit.filter(|l| size > *l)?;
            Some(Beyond { what, size, limit })
        });
        beyond.collect()
    }

    /// Whether it is one row that decides how many bytes a partition takes: then no fewer rows help.
    fn of_one_row(&self, sizes: &Sizes) -> bool {
        let regular = regular(&self.target.stats(self.model), self.s);
        alone(self.target, &regular, sizes.row_bytes_max) >= sizes.partition_bytes_max
    }

    /// Of what there is too much. A question's reads are those of one answer, which gathers all
    /// pieces; so are those of a change that follows references to one and the same instance.
    fn excess_of(&self, sizes: bool) -> Excess {
        let limits = &self.target.limits;
        let Some(heat) = self.heat else {
            return Excess {
                sizes,
                ..Excess::default()
            };
        };
        let own = || match heat.most_read() {
            Some((By::Change(by), _)) => self.referred(by).is_none(),
            _ => false,
        };
        Excess {
            sizes,
            writes: broken(heat.write_units, limits.partition_writes).is_some(),
            reads: broken(heat.read_units, limits.partition_reads).is_some() && own(),
        }
    }

    /// What a person can write to divide the partitions: one proposal for all that there is too much
    /// of, so that no two findings of a structure contradict each other; for what is asked alone
    /// where nothing does for all.
    fn remedy(&self, own: Excess) -> Option<String> {
        if !self.given {
            return None;
        }
        let changes = self.heat.iter().flat_map(|heat| &heat.changes);
        let divided = changes.filter(|(by, _)| self.referred(by).is_none());
        let divided = divided.map(|(by, _)| by.clone()).collect();
        let divider = Divider::new(self.model, self.target, self.s, self.heat, divided);
        let written = |of: Excess| {
            let ways = divider.ways(of).into_iter();
            let ways: Vec<String> = ways.map(|way| format!("`by {way}`")).collect();
            (!ways.is_empty()).then(|| format!("write {}", ways.join(" or ")))
        };
        // What is hot is so for reads and writes alike: they are told the same where that does.
        let rates = Excess {
            sizes: own.sizes,
            ..self.excess
        };
        let some = |of: Excess| {
            let left = listed(&self.excess.beside(of));
            let way = written(of).filter(|_| !left.is_empty())?;
            Some(format!("{way}, which is not enough for {left}"))
        };
        let own = || some(own).filter(|_| own != rates);
        written(self.excess).or_else(|| some(rates)).or_else(own)
    }

    /// Where one row is too large for a partition.
    fn one_row(&self, sizes: &Sizes) -> Option<Finding> {
        let size = sizes.partition_bytes_max;
        let limit = self.target.limits.partition_bytes;
        let limit = limit.filter(|l| size > *l && self.of_one_row(sizes))?;
        let (widest, bytes) = self.widest()?;
        let name = Printer::of_structure(self.model, self.s).expr(widest);
        let message = format!(
            "{}: a partition's bytes may grow to {}, {} allows {}: one row may, of which `{name}` \
             takes up to {}",
            self.s.name,
            grouped(size),
            self.target.name,
            grouped(limit),
            grouped(bytes),
        );
        let help =
            "state a `max` that is small enough, or move what is large to an entity of its own";
        let subject = match self.blamed(widest) {
            Subject::Field(entity, field) => Subject::Size(entity, field),
            other => other,
        };
        Some(self.finding(
            PARTITION_LIMIT,
            subject,
            (size, limit),
            message,
            help.into(),
        ))
    }

    /// Where too many rows share a partition: one finding, whichever of its extents are too large.
    fn partition(&self, large: &[Beyond]) -> Option<Finding> {
        let times = |b: &Beyond| b.size / b.limit;
        let most = large.iter().max_by(|a, b| times(a).total_cmp(&times(b)))?;
        let stats = self.target.stats(self.model);
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
        let message = format!("{}: {}{tried}: {says}", self.s.name, self.outgrown(large));
        let smaller =
            help.unwrap_or_else(|| "state a smaller number if this one is too careful".into());
        let help = if self.given {
            let own = Excess {
                sizes: true,
                ..Excess::default()
            };
            let remedy = self.remedy(own).unwrap_or_else(|| {
                "put one more value into `by`, and let the questions give it by `=`".into()
            });
            format!("{remedy}; or {smaller}")
        } else {
            format!(
                "{smaller}, or let the questions give one more value by `=`, so that it divides the \
                 partition"
            )
        };
        let found = (most.size, most.limit);
        Some(self.finding(PARTITION_LIMIT, subject, found, message, help))
    }

    /// To what a partition may grow, beside what is allowed.
    fn outgrown(&self, large: &[Beyond]) -> String {
        let target = &self.target.name;
        if let [Beyond { what, size, limit }] = large {
            let (size, limit) = (grouped(*size), grouped(*limit));
            return format!("a partition's {what} may grow to {size}, {target} allows {limit}");
        }
        let sizes = large
            .iter()
            .map(|b| format!("{} {}", grouped(b.size), b.what));
        let limits = large.iter().map(|b| grouped(b.limit));
        format!(
            "a partition may grow to {}, {target} allows {}",
            listed(&sizes.collect::<Vec<_>>()),
            listed(&limits.collect::<Vec<_>>())
        )
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
        let cut = bucketed(self.model, &whole).pop().filter(|_| !self.given);
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
                "state a `max` that is small enough, or move what is large to an entity of its own"
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

    /// What to say of a key, or of its partition or clustering parts where the target bounds them
    /// apart, that may be too long: of what is kept in order the longest part is to blame. One that
    /// fits with the usual values will do, though a longer one is refused.
    fn keys(&self) -> Vec<Finding> {
        let (model, s) = (self.model, self.s);
        let stats = self.target.stats(model);
        let scope = Scope::new(model, s.anchor, &s.over);
        let expected = |(i, e): (usize, &Expr)| {
            if s.is_hashed(i) {
                key_size::HASHED as f64
            } else {
                stats.bytes(&scope, e).max
            }
        };
        let limits = self.target.limits.of_keys(s.partition.len(), s.key_len());
        let long = limits.filter_map(|(what, range, limit)| {
            let parts = || s.key().enumerate().filter(|(i, _)| range.contains(i));
            let size: f64 = parts().map(expected).sum();
            let whole = parts().filter(|(i, _)| !s.is_hashed(*i));
            let (_, part) = whole.max_by(|a, b| expected(*a).total_cmp(&expected(*b)))?;
            (size > limit).then(|| self.long_key(what, part, size, limit))
        });
        long.collect()
    }

    fn long_key(&self, what: &str, part: &Expr, size: f64, limit: f64) -> Finding {
        let scope = Scope::new(self.model, self.s.anchor, &self.s.over);
        let name = Printer::of_structure(self.model, self.s).expr(part);
        let help = match scope.type_of(self.model, &[], part).0 {
            Type::Text(size) if size.max.is_none() => {
                format!("bound it, as in text({:.0}, max 200)", size.avg)
            }
            Type::Blob(size) if size.max.is_none() => {
                format!("bound it, as in blob({:.0}, max 200)", size.avg)
            }
            Type::Text(_) | Type::Blob(_) => {
                "state a `max` that is small enough, or order by something shorter".into()
            }
            _ => "order by something shorter".into(),
        };
        let message = format!(
            "{}: a {what} of more than {} bytes is refused, and with `{name}`, which is kept in \
             order, it may be that long",
            self.s.name,
            grouped(limit),
        );
        self.finding(KEY_LIMIT, self.blamed(part), (size, limit), message, help)
    }

    fn reads(&self, heat: &Heat) -> Option<Finding> {
        let limit = broken(heat.read_units, self.target.limits.partition_reads)?;
        let (by, units) = heat.most_read()?;
        let (by, subject, referred) = match by {
            By::Question(by) => (by, Subject::Question(by.into()), None),
            By::Change(by) => (by, Subject::Change(by.into()), self.referred(by)),
        };
        let help = match (&subject, &referred) {
            (Subject::Change(_), Some(_)) => {
                "make the rate smaller by gathering several in one change: each of them reads the \
                 same instance, to check that it is there or to learn what it says"
                    .into()
            }
            (Subject::Change(_), None) => self.fewer(Excess {
                reads: true,
                ..Excess::default()
            }),
            _ if self.given => {
                "keep its answers in a cache, or let the question give one more value by `=` and put \
                 that into `by`; where it asks for a range of a time, write `bucket(…)` there, so \
                 that it reads few of the buckets; `hash(…)` does not help, as each read gathers all \
                 of them"
                    .into()
            }
            _ => "keep its answers in a cache, or let the question give one more value by `=`; \
                  salts do not help, as each read gathers all of them"
                .into(),
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
             {}, and {}",
            self.s.name,
            self.target.name,
            shown(units),
            referred.unwrap_or_else(|| self.crowd()).says,
        );
        let found = (heat.read_units, limit);
        Some(self.finding(READ_LIMIT, subject, found, message, help))
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
            shown(*units),
            self.crowd().says
        );
        let help = self.fewer(Excess {
            writes: true,
            ..Excess::default()
        });
        let subject = Subject::Change(by.clone());
        let found = (heat.write_units, limit);
        Some(self.finding(WRITE_LIMIT, subject, found, message, help))
    }

    /// What to do about a partition that changes write, or read before they do, too often.
    fn fewer(&self, own: Excess) -> String {
        self.remedy(own).unwrap_or_else(|| {
            "make the rate smaller by gathering several in one change, or ask for something that is \
             not kept in one row for all of them"
                .into()
        })
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
        self.target.limits.hold(rows, extents, 1.0)
    }

    /// What says that so many refer to one of the structure's instances, where that is why a change
    /// reads it: its partition holds less of what the change touches.
    fn referred(&self, change: &str) -> Option<Blame> {
        let stats = self.target.stats(self.model);
        let (blame, share) = followed(&stats, change, self.s.anchor)?;
        let spread = spread(self.model, self.s);
        let before = spread.as_ref().map_or(self.s.partition.len(), |s| s.before);
        let shared: Vec<&Expr> = self.s.partition.iter().take(before).collect();
        let salts = spread.and_then(|s| s.salts).unwrap_or(1) as f64;
        (share >= stats.share(self.s, &shared) / salts).then_some(blame)
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
    let counted = format!("{} {what} a second", shown(rate));
    let allowed = limit.map_or(String::new(), |l| grouped(l.per_second));
    match limit.and_then(|l| l.unit_bytes) {
        Some(_) => (
            format!("{counted} ({} units)", shown(units)),
            format!("{allowed} units"),
        ),
        None => (counted, allowed),
    }
}

/// Words as they are listed in a sentence.
fn listed(words: &[String]) -> String {
    match words {
        [first @ .., before, last] => {
            let first: String = first.iter().map(|word| format!("{word}, ")).collect();
            format!("{first}{before} and {last}")
        }
        _ => words.concat(),
    }
}
