//! Schemas: structures given by a person, as the same values that the designer makes.

use super::context::Context;
use super::scope::{Aggregates, Node, Scope};
use super::{Names, Resolver};
use crate::design::spread::spread;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{
    AttributeId, Direction, EntityId, Expr, Field, Function, Leaf, Pred, Schema, Split, Type,
};
use crate::syntax::Span;
use crate::syntax::ast::{self, ExprKind, StructureDeclaration};
use crate::value::Value;
use crate::view::{Kind, Structure, elements};

/// What to do about values that are not copied.
const BEHIND_ELEMENTS: &str = "nothing leads back from what an element refers to: use the values \
                               of the element, or the key that it refers by";
/// Into so many salts a person may cut a partition: whoever gathers them makes as many gets.
const MOST_SALTS: i64 = 4096;

impl Resolver<'_> {
    pub(super) fn schema(&mut self, schema: &ast::Schema) {
        let mut names = Names::default();
        let mut structures = Vec::new();
        // The numbers of sub-partitions are facts of this schema's rows, and of no other's.
        let splits = self.splits(schema);
        self.model = self.model.with_splits(&splits);
        for declared in &schema.structures {
            names.declare(&declared.name, "structure", &mut self.diagnostics);
            let Some(anchor) = self.anchor(&declared.anchor) else {
                continue;
            };
            let resolved = self.twice(|context| {
                let structure = context.structure(anchor, declared)?;
                context.without_parameters(declared.name.span)?;
                Some(structure)
            });
            structures.extend(resolved.map(|(s, _)| s));
        }
        let name = schema.name.text.clone();
        let splits = self.model.splits.clone();
        self.model = self.model.with_splits(&[]);
        self.model.schemas.push(Schema {
            name,
            structures,
            splits,
        });
    }

    /// What the keys of a schema split, each once, in an order that does not depend on that of the
    /// structures. What is wrong with one is said where its structure is read.
    fn splits(&mut self, schema: &ast::Schema) -> Vec<Split> {
        let mut out: Vec<Split> = Vec::new();
        for declared in &schema.structures {
            let Some(anchor) = self.model.entity_named(&declared.anchor.text) else {
                continue;
            };
            let ordered = declared.clustering.iter().map(|term| &term.expr);
            let parts = declared.partition.iter().chain(ordered);
            let mut context = self.context();
            let root = context.model.entity(anchor).root;
            for call in parts.filter_map(split_call) {
                let Some((partition, capacity)) = context.split(anchor, call) else {
                    continue;
                };
                let same = |s: &Split| s.entity == root && s.partition == partition;
                if !out.iter().any(same) {
                    out.push(Split {
                        entity: root,
                        attribute: AttributeId(u32::MAX),
                        partition,
                        capacity,
                        average: 1.0,
                        most: 1.0,
                    });
                }
            }
        }
        out.sort_by(Split::in_order);
        out
    }

    /// An entity, or the entity of a relationship's links.
    fn anchor(&mut self, name: &ast::Name) -> Option<EntityId> {
        match self.model.entity_named(&name.text) {
            Some(entity) => Some(entity),
            None => self.entity_by_name(name),
        }
    }
}

impl Context<'_> {
    fn structure(
        &mut self,
        anchor: EntityId,
        declared: &StructureDeclaration,
    ) -> Option<Structure> {
        let aggregates = if declared.groups {
            Aggregates::All
        } else {
            Aggregates::Subqueries
        };
        let mut scope = Scope::of(anchor, aggregates);
        scope.hidden = true;
        scope.bindings = declared.groups;
        // A collection in a key means its elements.
        scope.elements = true;
        for path in &declared.over {
            self.unfold_over(&mut scope, path)?;
        }
        let mut partition = Vec::new();
        for part in &declared.partition {
            self.key_part(&mut scope, part, &mut partition)?;
        }
        let mut clustering: Vec<(Expr, Direction)> = Vec::new();
        for term in &declared.clustering {
            let mut parts = Vec::new();
            self.key_part(&mut scope, &term.expr, &mut parts)?;
            let direction = if term.descending {
                Direction::Desc
            } else {
                Direction::Asc
            };
            clustering.extend(parts.into_iter().map(|part| (part, direction)));
        }
        scope.elements = false;
        // What is not in the key or behind `over` is kept as questions select it.
        scope.outer = true;
        let mut filter: Vec<Pred> = self.type_filter(anchor).into_iter().collect();
        filter.extend(self.conjunction(&scope, declared.filter.as_ref())?);
        if let Some(written) = &declared.filter
            && filter.iter().any(|p| elements::tests(self.model, p))
        {
            let message = format!("`{}` cannot tell when this changes", declared.name.text);
            let found = Diagnostic::new(codes::NOT_KEPT, written.span, message);
            return self.fail(found.help(BEHIND_ELEMENTS));
        }
        let mut s = Structure {
            name: declared.name.text.clone(),
            anchor: self.model.entity(anchor).root,
            over: scope.over.clone(),
            filter,
            partition: unique(partition),
            clustering: vec![],
            kind: Kind::Groups,
            columns: vec![],
            hashed: vec![],
        };
        // A bucket orders its rows too, where a question asks for that order.
        let bound = spread(self.model, &s).map_or(s.partition.len(), |spread| spread.before);
        for (part, direction) in clustering {
            let mut said = s.partition.iter().take(bound);
            if !said.any(|e| *e == part) && s.clustering.iter().all(|(e, _)| *e != part) {
                s.clustering.push((part, direction));
            }
        }
        if !declared.groups {
            self.complete_key(anchor, declared, &mut s);
            // Where what was walked to may give one key twice, its rows are groups.
            if crate::design::determines(self.model, &s) {
                s.kind = Kind::Lists;
            }
        }
        for item in &declared.keep {
            self.keep(&mut scope, item, &mut s)?;
        }
        Some(s)
    }

    /// Walks to many things, each of which is a row of its own.
    fn unfold_over(&mut self, scope: &mut Scope, path: &ast::Path) -> Option<()> {
        let before = scope.over.len();
        self.walk(scope, path)?;
        if scope.over.len() > before {
            return Some(());
        }
        let found = Diagnostic::new(codes::TO_MANY, path.span, "this leads to one, or was named");
        self.fail(found.help("`over` names paths that lead to many, each once"))
    }

    /// The instance's own key, behind what was written: without it, two could have the same key.
    fn complete_key(
        &mut self,
        anchor: EntityId,
        declared: &StructureDeclaration,
        s: &mut Structure,
    ) {
        let leaves = crate::design::key_paths(self.model, anchor);
        let missing: Vec<Expr> = leaves
            .into_iter()
            .filter(|leaf| !s.key().any(|e| e == leaf))
            .collect();
        // As the ties of a question's order are told apart.
        let direction = s.clustering.last().map_or(Direction::Asc, |&(_, d)| d);
        if !missing.is_empty() && !self.tells_apart(anchor, s) {
            let entity = &self.model.entity(anchor).name;
            let message = format!(
                "two instances of `{entity}` can have the same key in `{}`",
                declared.name.text
            );
            let printer = crate::design::display::Printer::of_structure(self.model, s);
            let falls = match direction {
                Direction::Asc => "",
                Direction::Desc => " desc",
            };
            let added = missing.iter().map(|e| printer.expr(e) + falls);
            let added: Vec<String> = added.collect();
            let found = Diagnostic::new(codes::OVERWRITES, declared.name.span, message);
            self.diagnostics
                .push(found.help(format!("add `{}` to `order by`", added.join(", "))));
        }
        s.clustering
            .extend(missing.into_iter().map(|leaf| (leaf, direction)));
    }

    /// Whether a key has what no two instances share: a unique attribute, or all scalars of a
    /// reference that is one to one (every change, put and load refuses a second one). Those without
    /// an optional reference would all have the same.
    fn tells_apart(&self, anchor: EntityId, s: &Structure) -> bool {
        let unique = |e: &Expr| {
            matches!(e, Expr::Path { node: 0, steps, leaf: Leaf::Attribute(a, path), .. }
                if steps.is_empty() && path.is_empty() && self.model.attribute(*a).unique)
        };
        let has = |part: &Expr| s.key().any(|e| e == part);
        let one_to_one = |field: &Field| match field {
            Field::Reference(r) => {
                let reference = self.model.reference(*r);
                let mut parts = crate::design::reference_paths(self.model, *r).into_iter();
                reference.unique && !reference.optional && parts.all(|part| has(&part))
            }
            Field::Attribute(_) | Field::Type => false,
        };
        s.key().any(unique) || self.model.root(anchor).fields.iter().any(one_to_one)
    }

    /// One written part of a key: a scalar, or all scalars of a reference.
    fn key_part(&mut self, scope: &mut Scope, part: &ast::Expr, out: &mut Vec<Expr>) -> Option<()> {
        let (expr, ty) = match self.spreading(scope, part) {
            Some(result) => result?,
            None => self.value(scope, part, None)?,
        };
        if !ty.is_scalar() || contains_subquery(&expr) {
            let found = Diagnostic::new(codes::KEY_VALUE, part.span, "this is no part of a key");
            return self.fail(found.help("use a scalar of the row, or of what it refers to"));
        }
        if elements::follows(self.model, &expr) {
            let message = "this may change without the row's knowing";
            let found = Diagnostic::new(codes::KEY_VALUE, part.span, message);
            return self.fail(found.help(BEHIND_ELEMENTS));
        }
        out.extend(self.scalars(expr, &ty));
        Some(())
    }

    /// `bucket(at, day)`, `hash(id, 16)` and `split(author, 1000)`, which stand in keys only.
    #[expect(
        clippy::option_option,
        reason = "none: it is another form; some none: it was reported"
    )]
    fn spreading(&mut self, scope: &mut Scope, part: &ast::Expr) -> Option<Option<(Expr, Type)>> {
        if let Some(call) = split_call(part) {
            let anchor = scope.nodes.first()?;
            let Node::Instance(anchor) = anchor else {
                return None;
            };
            return Some(self.sub_partition(*anchor, call, part.span));
        }
        let ExprKind::Call(call) = &part.kind else {
            return None;
        };
        let [of, second] = call.arguments.as_slice() else {
            return None;
        };
        match (call.name.text.as_str(), &second.kind) {
            ("bucket", ExprKind::Path(width)) => Some(self.bucket(scope, of, width)),
            ("hash", ExprKind::Number(..)) => Some(self.salt(scope, of, second)),
            _ => None,
        }
    }

    fn bucket(
        &mut self,
        scope: &mut Scope,
        of: &ast::Expr,
        width: &ast::Path,
    ) -> Option<(Expr, Type)> {
        let written = width.segments.first().map(|s| s.name.text.as_str());
        let named = |f: &Function| f.rounds_time() && Some(f.name()) == written;
        let Some(function) = Function::WRITTEN.into_iter().find(named) else {
            let message = "a bucket is as wide as a minute, hour, day, month or year";
            let found = Diagnostic::new(codes::UNKNOWN_FUNCTION, width.span, message);
            return self.fail(found.help("write `bucket(at, day)`"));
        };
        let (arg, ty) = self.value(scope, of, None)?;
        let (arg, rounded) = match ty {
            Type::TimeUuid => (Expr::Call(Function::Time, vec![arg]), Type::Timestamp),
            Type::Timestamp | Type::Date => (arg, ty),
            _ => return self.wrong_argument(of.span, "bucket", "timestamp", &ty),
        };
        Some((Expr::Call(function, vec![arg]), rounded))
    }

    fn salt(
        &mut self,
        scope: &mut Scope,
        of: &ast::Expr,
        salts: &ast::Expr,
    ) -> Option<(Expr, Type)> {
        let (arg, _) = self.value(scope, of, None)?;
        let (n, _) = self.constant(salts, Some(&Type::BigInt))?;
        if !matches!(n, Value::Int(1..=MOST_SALTS)) {
            let message = format!("a hash is one of 1 to {MOST_SALTS} values");
            let found = Diagnostic::new(codes::KEY_VALUE, salts.span, message);
            let help = "write `hash(id, 16)`; a question that gathers all of them makes 16 gets";
            return self.fail(found.help(help));
        }
        let args = vec![arg, Expr::Const(n)];
        Some((Expr::Call(Function::Hash, args), Type::BigInt))
    }

    /// What instances share whose sub-partitions are numbered, and how many one of these holds.
    fn split(&mut self, anchor: EntityId, call: &ast::Call) -> Option<(Vec<Expr>, u64)> {
        let Some((capacity, shared @ [_, ..])) = call.arguments.split_last() else {
            return self.no_split(call);
        };
        let root = self.model.entity(anchor).root;
        let mut scope = Scope::of(anchor, Aggregates::None);
        let mut partition = Vec::new();
        for part in shared {
            let (expr, ty) = self.value(&mut scope, part, None)?;
            let scalars = self.scalars(expr, &ty);
            let own = |e: &Expr| crate::model::own(self.model, root, e).is_some();
            if !scalars.iter().all(own) {
                let message = "what is split is for the instance itself to say";
                let found = Diagnostic::new(codes::KEY_VALUE, part.span, message);
                return self.fail(found.help("name its own attributes, or what it refers to"));
            }
            partition.extend(scalars);
        }
        match self.constant(capacity, Some(&Type::BigInt))?.0 {
            Value::Int(rows @ 1..) => Some((unique(partition), rows.unsigned_abs())),
            _ => self.no_split(call),
        }
    }

    fn no_split<T>(&mut self, call: &ast::Call) -> Option<T> {
        let message = "a sub-partition holds some rows of what is split";
        let found = Diagnostic::new(codes::KEY_VALUE, call.name.span, message);
        self.fail(found.help("write `split(author, 1000)`"))
    }

    /// The number of the instance's sub-partition.
    fn sub_partition(
        &mut self,
        anchor: EntityId,
        call: &ast::Call,
        span: Span,
    ) -> Option<(Expr, Type)> {
        let (partition, capacity) = self.split(anchor, call)?;
        let root = self.model.entity(anchor).root;
        let mut splits = self.model.splits.iter();
        let same = splits.find(|s| s.entity == root && s.partition == partition);
        if let Some(split) = same.filter(|s| s.capacity == capacity) {
            return Some((split.number(), Type::Int));
        }
        let (message, help) = match same {
            Some(split) => (
                format!(
                    "sub-partitions of {capacity} and of {} rows",
                    split.capacity
                ),
                "write the same number wherever the same is split",
            ),
            None => (
                "no structure of the schema is split so".to_owned(),
                "put it into the key of the structure that is split, and into that of its totals",
            ),
        };
        self.fail(Diagnostic::new(codes::KEY_VALUE, span, message).help(help))
    }

    /// What is kept of one item.
    fn keep(&mut self, scope: &mut Scope, item: &ast::Item, s: &mut Structure) -> Option<()> {
        let unfolded = scope.over.len();
        let (kept, span) = match item {
            ast::Item::All(span) => {
                let all = self.star(scope, *span)?;
                (
                    all.into_iter().map(|s| (s.item.expr, s.ty)).collect(),
                    *span,
                )
            }
            // A home keeps the number too.
            ast::Item::Value { expr, .. } => match split_call(expr) {
                Some(call) => (
                    vec![self.sub_partition(s.anchor, call, expr.span)?],
                    expr.span,
                ),
                None => (vec![self.item_value(scope, expr)?], expr.span),
            },
        };
        for (expr, ty) in kept {
            for column in self.scalars(expr, &ty) {
                if scope.over.len() > unfolded || !self.keeps(s, &column) {
                    let message = format!("`{}` cannot keep this", s.name);
                    let help = match &column {
                        _ if elements::follows(self.model, &column) => BEHIND_ELEMENTS,
                        Expr::Aggregate(a) if a.over.is_empty() && a.distinct => {
                            "put what is counted behind the key: each value is a group then"
                        }
                        Expr::Aggregate(a) if a.over.is_empty() => {
                            "when the least of a group goes, nothing tells the next: keep a list in \
                             that order instead (`lists … order by`), whose first row is read"
                        }
                        _ => "keep a value of the instance, a shape (`path { … }`) or an aggregate",
                    };
                    let found = Diagnostic::new(codes::NOT_KEPT, span, message);
                    return self.fail(found.help(help));
                }
                if !s.values().any(|e| *e == column) {
                    s.columns.push(column);
                }
            }
        }
        Some(())
    }

    /// Whether the key of a structure determines a value, or it is an aggregate of a group.
    fn keeps(&self, s: &Structure, column: &Expr) -> bool {
        let instance = crate::design::key_paths(self.model, s.anchor)
            .iter()
            .all(|leaf| s.key().any(|e| e == leaf));
        match column {
            _ if elements::follows(self.model, column) => false,
            _ if s.kind == Kind::Lists => true,
            // What goes must be taken out again, with nothing else at hand.
            Expr::Aggregate(a) if a.over.is_empty() => crate::design::maintainable(self.model, a),
            Expr::Path { node: 0, .. } => instance,
            Expr::Aggregate(a) => instance && a.from == 0,
            Expr::Nested(from, _) => instance && *from == 0,
            other => s.key().any(|e| e == other),
        }
    }

    /// A value as it is stored: a composite key is all its scalars.
    fn scalars(&self, expr: Expr, ty: &Type) -> Vec<Expr> {
        match (expr, ty) {
            (
                Expr::Path {
                    node,
                    element,
                    steps,
                    leaf: Leaf::Key,
                },
                Type::Key(entity),
            ) if !steps.is_empty() => {
                let leaves = self.model.key_leaves(*entity).into_iter();
                leaves
                    .map(|leaf| Expr::Path {
                        node,
                        element: element.clone(),
                        steps: steps.iter().copied().chain(leaf.steps).collect(),
                        leaf: Leaf::Attribute(leaf.attribute, vec![]),
                    })
                    .collect()
            }
            (expr, _) => vec![expr],
        }
    }

    fn without_parameters(&mut self, span: Span) -> Option<()> {
        if self.params.is_empty() {
            return Some(());
        }
        let message = "a structure is kept for all parameters: it has none of its own";
        let found = Diagnostic::new(codes::NOT_KEPT, span, message);
        self.fail(found.help("put what a question compares with a parameter into the key"))
    }
}

/// `split(…)`, if that is what is written.
fn split_call(expr: &ast::Expr) -> Option<&ast::Call> {
    match &expr.kind {
        ExprKind::Call(call) if call.name.text == "split" => Some(call),
        _ => None,
    }
}

fn contains_subquery(expr: &Expr) -> bool {
    match expr {
        Expr::Aggregate(_) | Expr::Nested(..) | Expr::Shape { .. } | Expr::Param(..) => true,
        Expr::Binary(_, a, b) | Expr::At(a, b) => contains_subquery(a) || contains_subquery(b),
        Expr::Call(_, args) => args.iter().any(contains_subquery),
        Expr::Const(value) => matches!(value, Value::Null),
        Expr::Path { .. } => false,
    }
}

fn unique(parts: Vec<Expr>) -> Vec<Expr> {
    let mut out: Vec<Expr> = Vec::new();
    for part in parts {
        if !out.contains(&part) {
            out.push(part);
        }
    }
    out
}
