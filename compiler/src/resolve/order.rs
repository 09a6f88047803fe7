//! `order by`: the terms that were written, made complete by tie-breakers.

use super::context::Context;
use super::scope::{Node, Scope};
use super::shapes::Selected;
use super::typing;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Direction, Expr, Leaf, Many, NodeId, Type};
use crate::syntax::ast::{self, ExprKind};

impl Context<'_> {
    /// The terms as written. A name given by `as` comes before a field of the same name.
    pub(super) fn order(
        &mut self,
        scope: &mut Scope,
        selected: &[Selected],
        terms: &[ast::Order],
    ) -> Option<Vec<(Expr, Direction)>> {
        let mut order = Vec::new();
        for term in terms {
            let before = scope.over.len();
            let (expr, ty) = match alias(selected, &term.expr) {
                Some(item) => (item.item.expr.clone(), item.ty.clone()),
                None => self.value(scope, &term.expr, None)?,
            };
            if scope.over.len() > before {
                let message = "this leads to many: which of them should decide the order?";
                let found = Diagnostic::new(codes::TO_MANY, term.expr.span, message);
                return self.fail(
                    found.help("order by an aggregate of it, such as `max(…)`, or select it too"),
                );
            }
            if !typing::is_orderable(&ty) {
                let key = matches!(ty, Type::Key(_));
                if !key {
                    return self.unorderable(&ty, term.expr.span);
                }
            }
            let direction = if term.descending {
                Direction::Desc
            } else {
                Direction::Asc
            };
            if !order.iter().any(|(e, _)| *e == expr) {
                order.push((expr, direction));
            }
        }
        Some(order)
    }

    /// What tells rows apart that all written terms leave equal.
    pub(super) fn tie_breakers(
        &self,
        scope: &Scope,
        subject: NodeId,
        group: Option<&[Expr]>,
    ) -> Vec<Expr> {
        if let Some(group) = group {
            return group.to_vec();
        }
        let nested = subject > 0;
        let nodes = scope.nodes.len() as NodeId;
        let others = (0..nodes).filter(|&n| n != subject && !(nested && n == 0));
        std::iter::once(subject)
            .chain(others)
            .flat_map(|n| self.identity(scope, n, nested))
            .collect()
    }

    fn identity(&self, scope: &Scope, node: NodeId, nested: bool) -> Vec<Expr> {
        let unfold = usize::from(node)
            .checked_sub(1)
            .and_then(|i| scope.over.get(i));
        let read = |steps, leaf| Expr::Path {
            node,
            element: vec![],
            steps,
            leaf,
        };
        match scope.nodes.get(usize::from(node)) {
            Some(Node::Instance(entity)) => {
                // Within a nested shape the way up to the outer row is the same for all its rows.
                let fixed = unfold.filter(|u| nested && u.parent == 0).map(|u| &u.many);
                let varies = |steps: &[crate::model::ReferenceId]| match (fixed, steps.first()) {
                    (Some(Many::Back(up)), Some(first)) => up != first,
                    _ => true,
                };
                let leaves = self
                    .model
                    .key_leaves(*entity)
                    .into_iter()
                    .filter(|l| varies(&l.steps));
                leaves
                    .map(|l| read(l.steps, Leaf::Attribute(l.attribute, vec![])))
                    .collect()
            }
            Some(Node::Element { collection, .. }) => {
                let leaf = match collection {
                    Type::List(..) => Leaf::Position,
                    Type::Map(..) => Leaf::MapKey,
                    _ => Leaf::Element(vec![]),
                };
                vec![read(vec![], leaf)]
            }
            None => Vec::new(),
        }
    }
}

fn alias<'s>(selected: &'s [Selected], expr: &ast::Expr) -> Option<&'s Selected> {
    let ExprKind::Path(path) = &expr.kind else {
        return None;
    };
    let [segment] = path.segments.as_slice() else {
        return None;
    };
    selected
        .iter()
        .find(|s| s.aliased && s.item.name == segment.name.text)
}
