//! Grouped questions as seen from the far end of their path.
//!
//! A group by something of many (`select orders.status, count(*) from Customer group by
//! orders.status`) has a row for each of these many, and each of them refers to the instance that
//! the question starts at. So it is a question about them as well, without the path: their own
//! structures answer it, and no instance is read first.

use super::Planner;
use super::atoms::{Place, moved, moved_pred, moved_unfolds};
use super::far_end::leads_on;
use crate::model::{Direction, Expr, Item, Many, NodeId, Pred, Query, ReferenceId};

impl Planner<'_> {
    /// A grouped question as one about what the first part of its path leads to.
    pub(super) fn turned(&self, query: &Query) -> Option<Query> {
        let by = query.group.as_ref()?;
        let (first, rest) = query.over.split_first()?;
        let Many::Back(reference) = first.many else {
            return None;
        };
        if !first.steps.is_empty() {
            return None;
        }
        let back: &[ReferenceId] = &[reference];
        let place = |node: NodeId| -> Option<Place> {
            Some(node.checked_sub(1).map_or((0, back), |node| (node, &[])))
        };
        let value = |e: &Expr| moved(e, &place);
        let item = |i: &Item| {
            let name = i.name.clone();
            let expr = value(&i.expr)?;
            Some(Item { name, expr })
        };
        let ordered = |(e, d): &(Expr, Direction)| Some((value(e)?, *d));
        let filter = query.filter.iter().map(|p| moved_pred(p, &place));
        let mut filter: Vec<Pred> = filter.collect::<Option<_>>()?;
        filter.extend(leads_on(self.model, back));
        Some(Query {
            anchor: self.model.reference(reference).entity,
            over: moved_unfolds(rest, &place)?,
            filter,
            select: query.select.iter().map(item).collect::<Option<_>>()?,
            group: Some(by.iter().map(value).collect::<Option<_>>()?),
            order: query.order.iter().map(ordered).collect::<Option<_>>()?,
            ..query.clone()
        })
    }
}
