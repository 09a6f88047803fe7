//! Atoms: the values that a plan must get hold of before it can compute an expression.

use crate::model::{Expr, Leaf, Many, NodeId, Pred, ReferenceId, Unfold};

/// Collects the atoms of an expression: paths, and subqueries as a whole.
pub(super) fn of_expr(expr: &Expr, out: &mut Vec<Expr>) {
    unknown(expr, &|_| false, out);
}

/// Collects the atoms of an expression, but for those inside parts that are known as a whole.
pub(super) fn unknown(expr: &Expr, known: &dyn Fn(&Expr) -> bool, out: &mut Vec<Expr>) {
    if known(expr) {
        return;
    }
    match expr {
        Expr::Const(_) | Expr::Param(..) => {}
        Expr::Path { .. } | Expr::Nested(..) => push(expr, out),
        Expr::Binary(_, a, b) | Expr::At(a, b) => {
            unknown(a, known, out);
            unknown(b, known, out);
        }
        Expr::Call(_, args) => args.iter().for_each(|a| unknown(a, known, out)),
        Expr::Aggregate(a) if a.over.is_empty() => {
            if let Some(arg) = &a.arg {
                unknown(arg, known, out);
            }
        }
        Expr::Aggregate(_) => push(expr, out),
        Expr::Shape { present, items } => {
            unknown(present, known, out);
            items.iter().for_each(|i| unknown(&i.expr, known, out));
        }
    }
}

/// Collects the atoms of a predicate; those of `exists` belong to its own scope.
pub(super) fn of_pred(pred: &Pred, out: &mut Vec<Expr>) {
    match pred {
        Pred::And(all) | Pred::Or(all) => all.iter().for_each(|p| of_pred(p, out)),
        Pred::Not(p) => of_pred(p, out),
        Pred::Compare(a, _, b) | Pred::InList(a, b) => {
            of_expr(a, out);
            of_expr(b, out);
        }
        Pred::In(a, list) => {
            of_expr(a, out);
            list.iter().for_each(|e| of_expr(e, out));
        }
        Pred::IsNull(a) => of_expr(a, out),
        Pred::Exists { .. } => {}
    }
}

fn push(expr: &Expr, out: &mut Vec<Expr>) {
    if !out.contains(expr) {
        out.push(expr.clone());
    }
}

/// The nodes that an expression reads, and whether it reads parameters.
#[derive(Default)]
pub(super) struct Mentions {
    pub(super) nodes: Vec<NodeId>,
    pub(super) params: bool,
}

impl Mentions {
    pub(super) fn of_expr(expr: &Expr) -> Mentions {
        let mut m = Mentions::default();
        m.expr(expr);
        m
    }
    pub(super) fn of_pred(pred: &Pred) -> Mentions {
        let mut m = Mentions::default();
        m.pred(pred);
        m
    }
    fn node(&mut self, node: NodeId) {
        if !self.nodes.contains(&node) {
            self.nodes.push(node);
        }
    }
    fn params_of(&mut self, inner: &Mentions) {
        self.params |= inner.params;
    }
    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(_) => {}
            Expr::Param(..) => self.params = true,
            Expr::Path { node, .. } => self.node(*node),
            Expr::Binary(_, a, b) | Expr::At(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Expr::Call(_, args) => args.iter().for_each(|a| self.expr(a)),
            Expr::Aggregate(a) if a.over.is_empty() => {
                if let Some(arg) = &a.arg {
                    self.expr(arg);
                }
            }
            Expr::Aggregate(a) => {
                self.node(a.from);
                if let Some(arg) = &a.arg {
                    self.params_of(&Mentions::of_expr(arg));
                }
            }
            Expr::Nested(from, q) => {
                self.node(*from);
                let mut inner = Mentions::default();
                q.filter.iter().for_each(|p| inner.pred(p));
                q.select.iter().for_each(|i| inner.expr(&i.expr));
                q.order.iter().for_each(|(e, _)| inner.expr(e));
                q.limit.iter().for_each(|e| inner.expr(e));
                inner.params |= q.page.is_some();
                self.params_of(&inner);
            }
            Expr::Shape { present, items } => {
                self.expr(present);
                items.iter().for_each(|i| self.expr(&i.expr));
            }
        }
    }
    fn pred(&mut self, pred: &Pred) {
        match pred {
            Pred::And(all) | Pred::Or(all) => all.iter().for_each(|p| self.pred(p)),
            Pred::Not(p) => self.pred(p),
            Pred::Compare(a, _, b) | Pred::InList(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Pred::In(a, list) => {
                self.expr(a);
                list.iter().for_each(|e| self.expr(e));
            }
            Pred::IsNull(a) => self.expr(a),
            Pred::Exists { from, filter, .. } => {
                self.node(*from);
                if let Some(f) = filter {
                    self.params_of(&Mentions::of_pred(f));
                }
            }
        }
    }
}

/// Where a node is: so many to-one steps from a node.
pub(super) type Place<'a> = (NodeId, &'a [ReferenceId]);

/// The same expression with its nodes renumbered; none where a node has no new number.
pub(super) fn rebase(expr: &Expr, map: &dyn Fn(NodeId) -> Option<NodeId>) -> Option<Expr> {
    moved(expr, &|node| Some((map(node)?, &[])))
}

/// The same predicate with its nodes renumbered; none where a node has no new number.
pub(super) fn rebase_pred(pred: &Pred, map: &dyn Fn(NodeId) -> Option<NodeId>) -> Option<Pred> {
    moved_pred(pred, &|node| Some((map(node)?, &[])))
}

/// The unfolds with their parents renumbered.
pub(super) fn rebase_unfolds(
    over: &[Unfold],
    map: &dyn Fn(NodeId) -> Option<NodeId>,
) -> Option<Vec<Unfold>> {
    moved_unfolds(over, &|node| Some((map(node)?, &[])))
}

/// The same expression as seen from where its nodes are; none where one of them is nowhere, or an
/// element, or lists what is nested in it, and not a node itself.
pub(super) fn moved<'a>(expr: &Expr, map: &dyn Fn(NodeId) -> Option<Place<'a>>) -> Option<Expr> {
    Some(match expr {
        Expr::Const(_) | Expr::Param(..) => expr.clone(),
        Expr::Path {
            node,
            element,
            steps,
            leaf,
        } => {
            let (node, before) = map(*node)?;
            let of_element = matches!(leaf, Leaf::Element(_) | Leaf::Position | Leaf::MapKey);
            if !before.is_empty() && (of_element || !element.is_empty()) {
                return None;
            }
            Expr::Path {
                node,
                element: element.clone(),
                steps: [before, steps].concat(),
                leaf: leaf.clone(),
            }
        }
        Expr::Binary(op, a, b) => {
            Expr::Binary(*op, Box::new(moved(a, map)?), Box::new(moved(b, map)?))
        }
        Expr::At(a, b) => Expr::At(Box::new(moved(a, map)?), Box::new(moved(b, map)?)),
        Expr::Call(f, args) => Expr::Call(
            *f,
            args.iter().map(|a| moved(a, map)).collect::<Option<_>>()?,
        ),
        Expr::Aggregate(a) => {
            let mut a = a.clone();
            if a.over.is_empty() {
                a.arg = match &a.arg {
                    Some(arg) => Some(moved(arg, map)?),
                    None => None,
                };
            } else {
                let (from, before) = map(a.from)?;
                a.from = from;
                if !before.is_empty() {
                    let inside = |n: NodeId| Some((n, if n == 0 { before } else { &[] }));
                    a.over = moved_unfolds(&a.over, &inside)?;
                    a.arg = match &a.arg {
                        Some(arg) => Some(moved(arg, &inside)?),
                        None => None,
                    };
                }
            }
            Expr::Aggregate(a)
        }
        Expr::Nested(from, q) => match map(*from)? {
            (from, []) => Expr::Nested(from, q.clone()),
            _ => return None,
        },
        Expr::Shape { present, items } => {
            let mut items = items.clone();
            for item in &mut items {
                item.expr = moved(&item.expr, map)?;
            }
            Expr::Shape {
                present: Box::new(moved(present, map)?),
                items,
            }
        }
    })
}

/// The same predicate as seen from where its nodes are.
pub(super) fn moved_pred<'a>(
    pred: &Pred,
    map: &dyn Fn(NodeId) -> Option<Place<'a>>,
) -> Option<Pred> {
    let all = |list: &[Pred]| {
        let list = list.iter().map(|p| moved_pred(p, map));
        list.collect::<Option<Vec<_>>>()
    };
    Some(match pred {
        Pred::And(list) => Pred::And(all(list)?),
        Pred::Or(list) => Pred::Or(all(list)?),
        Pred::Not(p) => Pred::Not(Box::new(moved_pred(p, map)?)),
        Pred::Compare(a, op, b) => Pred::Compare(moved(a, map)?, *op, moved(b, map)?),
        Pred::In(a, list) => {
            let list = list.iter().map(|e| moved(e, map));
            Pred::In(moved(a, map)?, list.collect::<Option<_>>()?)
        }
        Pred::InList(a, b) => Pred::InList(moved(a, map)?, moved(b, map)?),
        Pred::IsNull(a) => Pred::IsNull(moved(a, map)?),
        Pred::Exists { from, over, filter } => {
            let (from, before) = map(*from)?;
            let inside = |n: NodeId| Some((n, if n == 0 { before } else { &[] }));
            let (over, filter) = match (before, filter) {
                ([], _) => (over.clone(), filter.clone()),
                (_, None) => (moved_unfolds(over, &inside)?, None),
                (_, Some(filter)) => {
                    let filter = moved_pred(filter, &inside)?;
                    (moved_unfolds(over, &inside)?, Some(Box::new(filter)))
                }
            };
            Pred::Exists { from, over, filter }
        }
    })
}

/// The unfolds as seen from where their parents are.
pub(super) fn moved_unfolds<'a>(
    over: &[Unfold],
    map: &dyn Fn(NodeId) -> Option<Place<'a>>,
) -> Option<Vec<Unfold>> {
    over.iter()
        .map(|u| {
            let (parent, before) = map(u.parent)?;
            if !before.is_empty() && matches!(u.many, Many::ElementElements(_)) {
                return None;
            }
            Some(Unfold {
                parent,
                steps: [before, &u.steps].concat(),
                many: u.many.clone(),
            })
        })
        .collect()
}
