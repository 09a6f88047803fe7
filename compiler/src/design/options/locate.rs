//! Where the value of an expression is in the tuples of a state, and how it is computed from there.

use super::atoms;
use super::supply::{PathStart, relative};
use super::{Fetched, Planner, Source, State};
use crate::design::plan::Term;
use crate::design::shape::{Requirement, ShapeId};
use crate::model::{Expr, Leaf, NodeId, ReferenceId};
impl Planner<'_> {
    /// Where the value of an atom is in the tuples of a state, if it is.
    pub(super) fn locate(&self, state: &State, atom: &Expr) -> Option<Term> {
        if let Some((_, term)) = state.known.iter().find(|(e, _)| e == atom) {
            return Some(term.clone());
        }
        let Some(start) = PathStart::of(atom) else {
            return self.locate_embedded(state, atom);
        };
        let Expr::Path { leaf, .. } = atom else {
            return None;
        };
        let source = state.nodes.get(start.node as usize)?.as_ref()?;
        match source {
            Source::Row {
                frame,
                shape,
                at,
                fetched,
            } => {
                if start.element.is_empty()
                    && let Some(term) = self.stored(state, *frame, *shape, &relative(atom, at, 0)?)
                {
                    return Some(term);
                }
                self.locate_fetched(state, fetched, &start, atom)
            }
            Source::Carried {
                frame,
                carried,
                fetched,
            } => {
                let seen = atoms::rebase(atom, &|_| Some(0))?;
                match carried.iter().find(|(e, _)| *e == seen) {
                    Some((_, column)) => Some(Term::Column {
                        frame: *frame,
                        column: *column,
                        path: vec![],
                    }),
                    None => self.locate_fetched(state, fetched, &start, atom),
                }
            }
            Source::Element {
                frame,
                first,
                fetched,
            } => {
                let column = |column, path| {
                    Some(Term::Column {
                        frame: *frame,
                        column: first + column,
                        path,
                    })
                };
                match leaf {
                    Leaf::Element(path) => column(0, path.clone()),
                    Leaf::Position => column(1, vec![]),
                    Leaf::MapKey => column(2, vec![]),
                    Leaf::Key if start.steps.is_empty() => column(0, start.element.to_vec()),
                    Leaf::Attribute(a, path) if path.is_empty() => {
                        // A scalar of the key inside the element.
                        if let Some(leaf) = self.element_key_leaf(&start, *a) {
                            let mut path = start.element.to_vec();
                            path.push(leaf);
                            return column(0, path);
                        }
                        self.locate_fetched(state, fetched, &start, atom)
                    }
                    _ => self.locate_fetched(state, fetched, &start, atom),
                }
            }
        }
    }

    fn element_key_leaf(
        &self,
        start: &PathStart,
        attribute: crate::model::AttributeId,
    ) -> Option<u16> {
        let owner = match start.steps.first() {
            Some(&step) => self.model.reference(step).entity,
            None => self.model.attribute(attribute).entity,
        };
        self.model
            .key_leaves(owner)
            .iter()
            .position(|l| l.steps == start.steps && l.attribute == attribute)
            .map(|i| i as u16)
    }

    fn locate_fetched(
        &self,
        state: &State,
        fetched: &[Fetched],
        start: &PathStart,
        atom: &Expr,
    ) -> Option<Term> {
        fetched
            .iter()
            .filter(|f| f.element == start.element && start.steps.starts_with(&f.steps))
            .find_map(|f| {
                self.stored(
                    state,
                    f.frame,
                    f.shape,
                    &relative(atom, &[], f.steps.len())?,
                )
            })
    }

    fn locate_embedded(&self, state: &State, atom: &Expr) -> Option<Term> {
        let from = match atom {
            Expr::Aggregate(a) if !a.over.is_empty() => a.from,
            Expr::Nested(from, _) => *from,
            _ => return None,
        };
        let at_zero = atoms::rebase(atom, &|_| Some(0))?;
        let in_home = |fetched: &[Fetched]| {
            let anchor = fetched
                .iter()
                .filter(|f| f.element.is_empty() && f.steps.is_empty());
            anchor
                .into_iter()
                .find_map(|f| self.stored(state, f.frame, f.shape, &at_zero))
        };
        match state.nodes.get(from as usize)?.as_ref()? {
            Source::Row {
                frame,
                shape,
                at,
                fetched,
            } if at.is_empty() => {
                let own = self.stored(state, *frame, *shape, &at_zero);
                own.or_else(|| in_home(fetched))
            }
            Source::Row { fetched, .. } | Source::Carried { fetched, .. } => in_home(fetched),
            Source::Element { .. } => None,
        }
    }

    /// A key part, or a column that the state requires; a whole key is put together from its scalars.
    fn stored(&self, state: &State, frame: u16, shape: ShapeId, expr: &Expr) -> Option<Term> {
        let structure = self.shapes.get(shape);
        if let Expr::Path {
            node: 0,
            element,
            steps,
            leaf: Leaf::Key,
        } = expr
            && element.is_empty()
        {
            let last = steps.last().map(|&step| self.model.reference(step).target);
            let of = last.unwrap_or(structure.anchor);
            let scalars = self.model.key_leaf_paths(of, 0, &[], steps).into_iter();
            let scalars = scalars.map(|scalar| self.stored(state, frame, shape, &scalar));
            let key = scalars.collect::<Option<_>>().map(Term::Key);
            if key.is_some() {
                return key;
            }
        }
        let at = |expr: &Expr| structure.values().position(|e| e == expr);
        let (column, path) = if let Some(column) = at(expr) {
            (column, vec![])
        } else {
            let (whole, path) = self.shapes.whole_of(shape, expr)?;
            (at(&whole)?, path)
        };
        let kept = match column.checked_sub(structure.key_len()) {
            None => true,
            Some(c) => self.requires(
                state,
                Requirement {
                    shape,
                    column: Some(c),
                },
            ),
        };
        kept.then_some(Term::Column {
            frame,
            column: column as u16,
            path,
        })
    }

    /// The term of an expression, all of whose atoms are known.
    pub(super) fn term(&self, state: &State, expr: &Expr) -> Option<Term> {
        self.compute(expr, &|e| self.locate(state, e))
    }

    /// The term of an expression over given atoms.
    pub(super) fn compute(
        &self,
        expr: &Expr,
        atom: &dyn Fn(&Expr) -> Option<Term>,
    ) -> Option<Term> {
        if let Some(term) = atom(expr) {
            return Some(term);
        }
        Some(match expr {
            Expr::Const(value) => Term::Const(value.clone()),
            Expr::Param(p, path) => Term::Param(*p, path.clone()),
            Expr::Binary(op, a, b) => Term::Binary(
                *op,
                Box::new(self.compute(a, atom)?),
                Box::new(self.compute(b, atom)?),
            ),
            Expr::At(a, b) => Term::At(
                Box::new(self.compute(a, atom)?),
                Box::new(self.compute(b, atom)?),
            ),
            Expr::Call(f, args) => Term::Call(
                *f,
                args.iter()
                    .map(|a| self.compute(a, atom))
                    .collect::<Option<_>>()?,
            ),
            Expr::Shape { present, items } => {
                let fields: Option<Vec<_>> =
                    items.iter().map(|i| self.compute(&i.expr, atom)).collect();
                Term::Shape(Box::new(self.compute(present, atom)?), fields?)
            }
            Expr::Path {
                node,
                element,
                steps,
                leaf: Leaf::Key,
            } => self.key_term(*node, element, steps, atom)?,
            Expr::Path { .. } | Expr::Aggregate(_) | Expr::Nested(..) => return None,
        })
    }

    /// A whole key, put together from its scalars.
    fn key_term(
        &self,
        node: NodeId,
        element: &[u16],
        steps: &[ReferenceId],
        atom: &dyn Fn(&Expr) -> Option<Term>,
    ) -> Option<Term> {
        let target = self.model.reference(*steps.last()?).target;
        let leaves: Option<Vec<_>> = self
            .model
            .key_leaf_paths(target, node, element, steps)
            .iter()
            .map(atom)
            .collect();
        Some(Term::Key(leaves?))
    }
}
