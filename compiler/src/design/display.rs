//! Expressions as people write them.

use crate::codec::to_text;
use crate::model::{
    AggregateFn, Binary, Direction, Expr, Function, Leaf, Many, Model, NodeId, Pred, Query,
    RecordField, Type, Unfold,
};
use crate::value::Value;
use crate::view::Structure;
use crate::view::typing::{NodeType, Scope, inner};

/// The key of the instance itself, where it has several parts.
pub(crate) const WHOLE_KEY: &str = "@key";

/// Prints expressions of one scope.
#[derive(Clone, Debug)]
pub struct Printer<'a> {
    model: &'a Model,
    scope: Scope,
    /// What leads to each node; empty for node 0.
    prefixes: Vec<String>,
    /// Paths start at the subject of a nested shape, inside which they are written.
    inside: bool,
    /// The path of a record shape, inside which paths are written without it; else empty.
    within: String,
    params: Vec<String>,
}

impl<'a> Printer<'a> {
    /// For the scope of a structure.
    pub fn of_structure(model: &'a Model, s: &Structure) -> Printer<'a> {
        Printer::new(model, Scope::new(model, s.anchor, &s.over), &s.over, vec![])
    }
    /// For the scope of a question.
    pub fn of_query(model: &'a Model, query: &Query, params: Vec<String>) -> Printer<'a> {
        Printer::new(
            model,
            Scope::new(model, query.anchor, &query.over),
            &query.over,
            params,
        )
    }

    /// For a scope and the unfolds that it was made with.
    pub(super) fn of_scope(model: &'a Model, scope: &Scope, over: &[Unfold]) -> Printer<'a> {
        Printer::new(model, scope.clone(), over, vec![])
    }

    fn new(model: &'a Model, scope: Scope, over: &[Unfold], params: Vec<String>) -> Printer<'a> {
        let mut p = Printer {
            model,
            scope,
            prefixes: vec![String::new()],
            inside: false,
            within: String::new(),
            params,
        };
        for unfold in over {
            let name = p.unfold(unfold);
            p.prefixes.push(name);
        }
        p
    }

    pub(super) fn inner(&self, from: NodeId, over: &[Unfold]) -> Printer<'a> {
        let mut p = Printer {
            model: self.model,
            scope: self.scope.inner(self.model, from, over),
            prefixes: vec![self.prefix(from)],
            inside: self.inside,
            within: self.within.clone(),
            params: self.params.clone(),
        };
        for unfold in over {
            let name = p.unfold(unfold);
            p.prefixes.push(name);
        }
        p
    }

    /// The path to a node, as it is written.
    pub(super) fn path_to(&self, node: NodeId) -> String {
        let path = self.behind(self.prefix(node));
        path.trim_end_matches('@').to_owned()
    }

    fn prefix(&self, node: NodeId) -> String {
        self.prefixes
            .get(node as usize)
            .cloned()
            .unwrap_or_default()
    }

    /// For what stands inside the braces of a nested shape.
    #[must_use]
    pub(super) fn inside(mut self, subject: NodeId) -> Printer<'a> {
        self.inside = true;
        self.within.clear();
        // What lies behind a link is written without its sign: `follows.posts`, `follows@since`.
        let own = self.prefix(subject);
        let own = own.trim_end_matches('@');
        for prefix in &mut self.prefixes {
            let rest = prefix.strip_prefix(own);
            if let Some(rest) = rest.filter(|r| r.is_empty() || r.starts_with(['.', '@'])) {
                *prefix = rest.trim_start_matches('.').to_owned();
            }
        }
        self
    }

    /// For what stands inside the braces of a record shape, behind its path.
    #[must_use]
    pub(super) fn within(mut self, path: &str) -> Printer<'a> {
        // A shape in another one is written behind the path that is left of it.
        join(&mut self.within, path);
        self
    }

    /// The reference that a key of one scalar is of, where the path leads to that scalar: a shape is
    /// written behind the reference.
    pub(super) fn whole(&self, present: &Expr) -> Expr {
        let Expr::Path {
            node,
            element,
            steps,
            leaf: Leaf::Attribute(attribute, path),
        } = present
        else {
            return present.clone();
        };
        let of = |n: &usize| {
            let (walked, behind) = steps.split_at(*n);
            walked.last().is_some_and(|&last| {
                let leaves = self.model.key_leaves(self.model.reference(last).target);
                matches!(leaves.as_slice(), [only]
                    if only.attribute == *attribute && only.steps == behind)
            })
        };
        match (1..=steps.len()).find(of).filter(|_| path.is_empty()) {
            Some(n) => Expr::Path {
                node: *node,
                element: element.clone(),
                steps: steps.get(..n).unwrap_or_default().to_vec(),
                leaf: Leaf::Key,
            },
            None => present.clone(),
        }
    }

    /// A path as it is written behind that of the record shape around it.
    fn behind(&self, path: String) -> String {
        match path.strip_prefix(&self.within) {
            Some(rest) if !self.within.is_empty() && rest.starts_with('.') => {
                rest.trim_start_matches('.').to_owned()
            }
            _ => path,
        }
    }

    fn unfold(&self, unfold: &Unfold) -> String {
        let (mut text, link) = self.walked(self.prefix(unfold.parent), &unfold.steps);
        let many = match &unfold.many {
            Many::Back(r) => {
                let target = self.model.reference(*r).target;
                let side = self.model.entities.iter().enumerate().find_map(|(i, e)| {
                    let here = i == target.index() || e.root == self.model.entity(target).root;
                    let side = e.sides.iter().find(|s| s.many == Some(Many::Back(*r)));
                    side.filter(|_| here)
                });
                match side {
                    Some(side) if side.ones.is_empty() => side.name.clone(),
                    Some(side) => format!("{}@", side.name),
                    None => format!(
                        "{}:{}",
                        self.model.entity(self.model.reference(*r).entity).name,
                        self.model.reference(*r).name
                    ),
                }
            }
            Many::Elements(a, path) => {
                let attribute = self.model.attribute(*a);
                format!("{}{}", attribute.name, record_path(&attribute.ty, path))
            }
            Many::ElementElements(path) => match self.scope.node(unfold.parent) {
                NodeType::Element(ty, _) => {
                    record_path(&ty, path).trim_start_matches('.').to_string()
                }
                NodeType::Instance(_) => "elements".to_string(),
            },
        };
        if link {
            text.push_str(&many);
        } else {
            join(&mut text, &many);
        }
        text
    }

    /// A path extended by steps; and whether it still stands at a link, of which the next name is
    /// an attribute. From a link to its far side is no step for a reader: `follows@`, `to` is
    /// `follows`.
    fn walked(&self, mut text: String, steps: &[crate::model::ReferenceId]) -> (String, bool) {
        let link = text.ends_with('@');
        for (i, &step) in steps.iter().enumerate() {
            if i == 0 && link {
                text.pop();
            } else {
                join(&mut text, &self.model.reference(step).name);
            }
        }
        (text, link && steps.is_empty())
    }

    /// An expression.
    pub fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => literal(value),
            Expr::Param(p, _) => match self.params.get(p.index()) {
                Some(name) => format!("${name}"),
                None => format!("${}", p.0),
            },
            Expr::Path {
                node,
                element,
                steps,
                leaf,
            } => self.path(*node, element, steps, leaf),
            Expr::Binary(op, a, b) => {
                // Operators of one rank are read from the left.
                let left = self.operand(a, |inner| rank(inner) < rank(*op));
                let right = self.operand(b, |inner| rank(inner) <= rank(*op));
                format!("{left} {} {right}", op.sign())
            }
            Expr::Call(function, args) => {
                let first = args.first().map(|a| self.expr(a)).unwrap_or_default();
                match function {
                    Function::Hash => {
                        let n = args.get(1).map(|a| self.expr(a)).unwrap_or_default();
                        format!("hash({first}, {n})")
                    }
                    _ => format!("{}({first})", function.name()),
                }
            }
            Expr::At(map, key) => format!("{}[{}]", self.expr(map), self.expr(key)),
            Expr::Aggregate(a) => {
                let inner = if a.over.is_empty() {
                    self.clone()
                } else {
                    self.inner(a.from, &a.over)
                };
                let arg = match &a.arg {
                    Some(arg) => inner.expr(arg),
                    None if a.over.is_empty() => "*".to_string(),
                    None => inner.path_to(a.over.len() as NodeId),
                };
                match (a.function, a.distinct) {
                    (AggregateFn::Only, _) => arg,
                    (function, true) => format!("{}(distinct {arg})", function.name()),
                    (function, false) => format!("{}({arg})", function.name()),
                }
            }
            Expr::Nested(from, query) => {
                let inner = self.inner(*from, &query.over);
                let path = inner.path_to(query.subject);
                let items: Vec<&str> = query.select.iter().map(|i| i.name.as_str()).collect();
                format!("{path} {{ {} }}", items.join(", "))
            }
            Expr::Shape { items, .. } => {
                let items: Vec<&str> = items.iter().map(|i| i.name.as_str()).collect();
                format!("{{ {} }}", items.join(", "))
            }
        }
    }

    /// A side of an arithmetic expression, in parentheses where it would be read otherwise.
    fn operand(&self, expr: &Expr, apart: impl Fn(Binary) -> bool) -> String {
        match expr {
            Expr::Binary(op, ..) if apart(*op) => format!("({})", self.expr(expr)),
            _ => self.expr(expr),
        }
    }

    /// An expression that meets another one, which says the type where it is a constant.
    fn beside(&self, expr: &Expr, other: &Expr) -> String {
        let Expr::Const(value) = expr else {
            return self.expr(expr);
        };
        let (ty, _) = self.scope.type_of(self.model, &[], other);
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Decimal(_) => {
                literal(value)
            }
            Value::Enum(_) => to_text(self.model, &ty, value),
            _ => quoted(&to_text(self.model, &ty, value)),
        }
    }

    fn path(
        &self,
        node: NodeId,
        element: &[u16],
        steps: &[crate::model::ReferenceId],
        leaf: &Leaf,
    ) -> String {
        let text = self.path_from(node, element, steps, leaf);
        let text = match text.trim_start_matches('.') {
            // The element itself.
            "" if self.inside => "value".to_owned(),
            relative if self.inside => relative.to_owned(),
            _ => text,
        };
        self.behind(text)
    }

    fn path_from(
        &self,
        node: NodeId,
        element: &[u16],
        steps: &[crate::model::ReferenceId],
        leaf: &Leaf,
    ) -> String {
        let mut text = self.prefix(node);
        if let (false, NodeType::Element(ty, _)) = (element.is_empty(), self.scope.node(node)) {
            text.push_str(&record_path(&ty, element));
        }
        let (text, link) = self.walked(text, steps);
        match leaf {
            Leaf::Attribute(a, path) => {
                let attribute = self.model.attribute(*a);
                let name = format!("{}{}", attribute.name, record_path(&attribute.ty, path));
                if link {
                    text + &name
                } else {
                    joined(text, &name)
                }
            }
            Leaf::Key if text.is_empty() => WHOLE_KEY.to_owned(),
            Leaf::Key => text,
            Leaf::Type => joined(text, "type"),
            Leaf::Element(path) => match self.scope.node(node) {
                NodeType::Element(ty, _) => text + &record_path(&ty, path),
                NodeType::Instance(_) => text,
            },
            Leaf::Position => joined(text, "position"),
            Leaf::MapKey => joined(text, "key"),
        }
    }

    /// A predicate.
    pub fn pred(&self, pred: &Pred) -> String {
        let list = |all: &[Pred], word: &str| {
            let parts: Vec<String> = all.iter().map(|p| self.pred(p)).collect();
            format!("({})", parts.join(word))
        };
        match pred {
            Pred::And(all) => list(all, " and "),
            Pred::Or(any) => list(any, " or "),
            Pred::Not(p) => match &**p {
                Pred::IsNull(a) => format!("{} is not null", self.expr(a)),
                p => format!("not {}", self.pred(p)),
            },
            Pred::Compare(a, op, b) => {
                let (left, right) = (self.beside(a, b), self.beside(b, a));
                format!("{left} {} {right}", op.sign())
            }
            Pred::In(a, items) => {
                let items: Vec<String> = items.iter().map(|e| self.beside(e, a)).collect();
                format!("{} in ({})", self.expr(a), items.join(", "))
            }
            Pred::InList(a, b) => format!("{} in {}", self.expr(a), self.expr(b)),
            Pred::IsNull(a) => format!("{} is null", self.expr(a)),
            Pred::Exists { from, over, filter } => {
                let inner = self.inner(*from, over);
                let last = over.len() as NodeId;
                let path = inner.path_to(last);
                match filter {
                    Some(f) => format!("any {path} ({})", inner.inside(last).pred(f)),
                    None => format!("any {path}"),
                }
            }
        }
    }
}

/// The key part as the contract prints it: a rounding of time in a key is a bucket.
pub fn key_part(printer: &Printer, expr: &Expr) -> String {
    match expr {
        Expr::Call(f, args) if f.rounds_time() => match args.first() {
            Some(arg) => format!("bucket({}, {})", printer.expr(arg), f.name()),
            None => printer.expr(expr),
        },
        _ => printer.expr(expr),
    }
}

/// `asc` or `desc`.
pub fn direction(d: Direction) -> &'static str {
    match d {
        Direction::Asc => "asc",
        Direction::Desc => "desc",
    }
}

/// A constant, as it would be written.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Decimal(d) => d.to_string(),
        Value::Text(t) => quoted(t),
        Value::Enum(n) => format!("#{n}"),
        other => format!("{other:?}"),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn record_path(ty: &Type, path: &[u16]) -> String {
    let mut out = String::new();
    for (i, &field) in path.iter().enumerate() {
        let name = match inner(ty, path.get(..i).unwrap_or_default()).0 {
            Type::Record(fields) => fields
                .get(field as usize)
                .map(|f: &RecordField| f.name.clone()),
            _ => None,
        };
        out.push('.');
        out.push_str(&name.unwrap_or_else(|| field.to_string()));
    }
    out
}

/// How tightly an operator binds.
fn rank(op: Binary) -> u8 {
    match op {
        Binary::Add | Binary::Sub => 0,
        Binary::Mul | Binary::Div => 1,
    }
}

fn join(text: &mut String, name: &str) {
    if !text.is_empty() {
        text.push('.');
    }
    text.push_str(name);
}

fn joined(mut text: String, name: &str) -> String {
    join(&mut text, name);
    text
}
