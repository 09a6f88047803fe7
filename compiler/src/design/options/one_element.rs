//! Grouped questions about instances that one of their elements is found by.
//!
//! `select count(*) from Doc where tags has $t` asks about instances. Where the condition names by
//! equality what tells the elements of an instance apart, one of them at most meets it: there are as
//! many instances as such elements, and groups by the element answer the question. Of a list, or
//! where elements may be alike in what is named, one instance would count several times, and the
//! question is not said so.

use super::Planner;
use super::atoms::Mentions;
use super::far_end::all_of;
use crate::model::{Compare, EntityId, Expr, Leaf, Many, Pred, Query, Type, Unfold};
use crate::view::typing::Scope;

impl Planner<'_> {
    /// A grouped question as one about the elements by which instances are found, for each of its
    /// conditions that one element at most meets.
    pub(super) fn by_element(&self, query: &Query) -> Vec<Query> {
        if query.group.is_none() || !query.over.is_empty() {
            return vec![];
        }
        let at = 0..query.filter.len();
        at.filter_map(|at| self.by_element_of(query, at)).collect()
    }

    fn by_element_of(&self, query: &Query, at: usize) -> Option<Query> {
        let Some(Pred::Exists {
            from: 0,
            over,
            filter: Some(inside),
        }) = query.filter.get(at)
        else {
            return None;
        };
        let [unfold] = over.as_slice() else {
            return None;
        };
        let inside = all_of(Some(inside));
        if !self.names_one(query.anchor, unfold, &inside) {
            return None;
        }
        // Within an `exists`, nodes have the numbers that they have here.
        let others = query.filter.iter().enumerate().filter(|(i, _)| *i != at);
        let others = others.map(|(_, p)| p);
        Some(Query {
            over: over.clone(),
            filter: others.chain(inside).cloned().collect(),
            ..query.clone()
        })
    }

    /// Whether conditions name what tells apart that which an instance is unfolded to.
    fn names_one(&self, anchor: EntityId, unfold: &Unfold, conditions: &[&Pred]) -> bool {
        let scope = Scope::new(self.model, anchor, std::slice::from_ref(unfold));
        let named = |leaf: &Expr| {
            let ty = scope.type_of(self.model, &[], leaf).0;
            let exact = |value: &Expr| is_exact(&scope.type_of(self.model, &self.params, value).0);
            is_exact(&ty) && conditions.iter().any(|p| equates(p, leaf, &exact))
        };
        if unfold.parent != 0 || !unfold.steps.is_empty() {
            return false;
        }
        let element = |steps, leaf| Expr::Path {
            node: 1,
            element: vec![],
            steps,
            leaf,
        };
        match &unfold.many {
            Many::Elements(attribute, path) => {
                let whole = Expr::Path {
                    node: 0,
                    element: vec![],
                    steps: vec![],
                    leaf: Leaf::Attribute(*attribute, path.clone()),
                };
                match scope.type_of(self.model, &[], &whole).0 {
                    Type::Set(..) => named(&element(vec![], Leaf::Element(vec![]))),
                    Type::Map(..) => named(&element(vec![], Leaf::MapKey)),
                    _ => false,
                }
            }
            Many::Back(reference) => {
                let leaves = self
                    .model
                    .key_leaves(self.model.reference(*reference).entity);
                let mut open = leaves
                    .into_iter()
                    .filter(|l| l.steps.first() != Some(reference));
                open.all(|l| named(&element(l.steps, Leaf::Attribute(l.attribute, vec![]))))
            }
            Many::ElementElements(_) => false,
        }
    }
}

/// Whether values that are equal to one and the same value are the same: no number is rounded when
/// they are compared.
fn is_exact(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Bool
            | Type::Int
            | Type::BigInt
            | Type::Text(_)
            | Type::Date
            | Type::Timestamp
            | Type::Uuid
            | Type::TimeUuid
            | Type::Enum(_)
    )
}

/// Whether a condition is that a value equals something that is the same for all elements.
fn equates(condition: &Pred, leaf: &Expr, exact: &dyn Fn(&Expr) -> bool) -> bool {
    let Pred::Compare(a, Compare::Eq, b) = condition else {
        return false;
    };
    let value = if a == leaf {
        b
    } else if b == leaf {
        a
    } else {
        return false;
    };
    Mentions::of_expr(value).nodes.is_empty() && exact(value)
}
