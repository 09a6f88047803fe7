//! Atoms: the values that a plan must get hold of before it can compute an expression.

use crate::model::{Expr, NodeId, Pred, Unfold};

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

/// The same expression with its nodes renumbered; none where a node has no new number.
pub(super) fn rebase(expr: &Expr, map: &dyn Fn(NodeId) -> Option<NodeId>) -> Option<Expr> {
    Some(match expr {
        Expr::Const(_) | Expr::Param(..) => expr.clone(),
        Expr::Path {
            node,
            element,
            steps,
            leaf,
        } => Expr::Path {
            node: map(*node)?,
            element: element.clone(),
            steps: steps.clone(),
            leaf: leaf.clone(),
        },
        Expr::Binary(op, a, b) => {
            Expr::Binary(*op, Box::new(rebase(a, map)?), Box::new(rebase(b, map)?))
        }
        Expr::At(a, b) => Expr::At(Box::new(rebase(a, map)?), Box::new(rebase(b, map)?)),
        Expr::Call(f, args) => Expr::Call(
            *f,
            args.iter().map(|a| rebase(a, map)).collect::<Option<_>>()?,
        ),
        Expr::Aggregate(a) => {
            let mut a = a.clone();
            if a.over.is_empty() {
                a.arg = match &a.arg {
                    Some(arg) => Some(rebase(arg, map)?),
                    None => None,
                };
            } else {
                a.from = map(a.from)?;
            }
            Expr::Aggregate(a)
        }
        Expr::Nested(from, q) => Expr::Nested(map(*from)?, q.clone()),
        Expr::Shape { present, items } => {
            let mut items = items.clone();
            for item in &mut items {
                item.expr = rebase(&item.expr, map)?;
            }
            Expr::Shape {
                present: Box::new(rebase(present, map)?),
                items,
            }
        }
    })
}

/// The same predicate with its nodes renumbered; none where a node has no new number.
pub(super) fn rebase_pred(pred: &Pred, map: &dyn Fn(NodeId) -> Option<NodeId>) -> Option<Pred> {
    let all = |list: &[Pred]| {
        let list = list.iter().map(|p| rebase_pred(p, map));
        list.collect::<Option<Vec<_>>>()
    };
    Some(match pred {
        Pred::And(list) => Pred::And(all(list)?),
        Pred::Or(list) => Pred::Or(all(list)?),
        Pred::Not(p) => Pred::Not(Box::new(rebase_pred(p, map)?)),
        Pred::Compare(a, op, b) => Pred::Compare(rebase(a, map)?, *op, rebase(b, map)?),
        Pred::In(a, list) => {
            let list = list.iter().map(|e| rebase(e, map));
            Pred::In(rebase(a, map)?, list.collect::<Option<_>>()?)
        }
        Pred::InList(a, b) => Pred::InList(rebase(a, map)?, rebase(b, map)?),
        Pred::IsNull(a) => Pred::IsNull(rebase(a, map)?),
        Pred::Exists { from, over, filter } => Pred::Exists {
            from: map(*from)?,
            over: over.clone(),
            filter: filter.clone(),
        },
    })
}

/// The unfolds with their parents renumbered.
pub(super) fn rebase_unfolds(
    over: &[Unfold],
    map: &dyn Fn(NodeId) -> Option<NodeId>,
) -> Option<Vec<Unfold>> {
    over.iter()
        .map(|u| {
            Some(Unfold {
                parent: map(u.parent)?,
                steps: u.steps.clone(),
                many: u.many.clone(),
            })
        })
        .collect()
}
