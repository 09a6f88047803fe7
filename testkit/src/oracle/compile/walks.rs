//! Nodes of scopes, and the joins that lead from one to another.

use super::text::{literal, part_of};
use super::{Compiler, Sql};
use crate::facts::part_type;
use crate::oracle::OracleError;
use crate::oracle::schema::{collection_table, entity_table, inner_table};
use querent_compiler::model::{EntityId, Field, Leaf, Many, NodeId, ReferenceId, Type, Unfold};
use querent_compiler::value::Value;
use std::fmt::Write;

/// A node of a scope in SQL.
#[derive(Clone)]
pub(super) enum Node {
    Instance {
        alias: String,
        root: EntityId,
    },
    Element {
        alias: String,
        table: String,
        ty: Type,
    },
}

/// Tables and the conditions that join them.
#[derive(Default)]
pub(super) struct From {
    pub(super) tables: Vec<String>,
    pub(super) conditions: Vec<String>,
}

impl From {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if !self.tables.is_empty() {
            let _ = write!(text, " FROM {}", self.tables.join(", "));
        }
        if !self.conditions.is_empty() {
            let _ = write!(text, " WHERE {}", self.conditions.join(" AND "));
        }
        text
    }
}

impl Compiler<'_> {
    pub(super) fn table(&self, entity: EntityId, from: &mut From) -> Node {
        let alias = self.alias("n");
        from.tables
            .push(format!("{} AS {alias}", entity_table(self.model, entity)));
        Node::Instance {
            alias,
            root: self.model.entity(entity).root,
        }
    }

    pub(super) fn unfold(
        &self,
        scope: &mut Vec<Node>,
        unfold: &Unfold,
        from: &mut From,
    ) -> Result<(), OracleError> {
        let parent = node(scope, unfold.parent)?.clone();
        let next = match (&unfold.many, &parent) {
            (Many::ElementElements(path), Node::Element { alias, table, ty }) => {
                let owner = format!("{alias}.id");
                self.elements(inner_table(table, path), part_type(ty, path), &owner, from)?
            }
            (Many::ElementElements(_), Node::Instance { .. }) => {
                return Err(OracleError::Unfit(
                    "elements of an element asked of an instance".to_owned(),
                ));
            }
            (Many::Back(reference), _) => {
                let (alias, _) = self.walk(&parent, &[], &unfold.steps, from)?;
                let node = self.table(self.model.reference(*reference).entity, from);
                if let Node::Instance {
                    alias: referrer,
                    root,
                } = &node
                {
                    let slot = self.slot(*root, Field::Reference(*reference))?;
                    from.conditions
                        .push(format!("{referrer}.s{slot} = {alias}.k"));
                }
                node
            }
            (Many::Elements(attribute, path), _) => {
                let (alias, _) = self.walk(&parent, &[], &unfold.steps, from)?;
                let ty = part_type(&self.model.attribute(*attribute).ty, path);
                self.elements(
                    collection_table(*attribute, path),
                    ty,
                    &format!("{alias}.k"),
                    from,
                )?
            }
        };
        scope.push(next);
        Ok(())
    }

    fn elements(
        &self,
        table: String,
        collection: Option<&Type>,
        owner: &str,
        from: &mut From,
    ) -> Result<Node, OracleError> {
        let ty = collection
            .and_then(Type::element)
            .ok_or_else(|| OracleError::Unfit(format!("{table} is not a collection")))?;
        let alias = self.alias("n");
        from.tables.push(format!("{table} AS {alias}"));
        from.conditions.push(format!("{alias}.owner = {owner}"));
        Ok(Node::Element {
            alias,
            table,
            ty: ty.clone(),
        })
    }

    /// Joins the tables of a to-one path; the alias and root of the instance at its end.
    fn walk(
        &self,
        start: &Node,
        element: &[u16],
        steps: &[ReferenceId],
        from: &mut From,
    ) -> Result<(String, EntityId), OracleError> {
        let (mut alias, mut root) = match start {
            Node::Instance { alias, root } => (alias.clone(), *root),
            Node::Element { alias, ty, .. } => {
                let Some(Type::Key(target)) = part_type(ty, element) else {
                    return Err(OracleError::Unfit(format!(
                        "no reference at {element:?} of {ty:?}"
                    )));
                };
                self.step(&part_of(&format!("{alias}.v"), element), *target, from)
            }
        };
        for &step in steps {
            let slot = self.slot(root, Field::Reference(step))?;
            (alias, root) = self.step(
                &format!("{alias}.s{slot}"),
                self.model.reference(step).target,
                from,
            );
        }
        Ok((alias, root))
    }

    fn step(&self, key: &str, target: EntityId, from: &mut From) -> (String, EntityId) {
        let alias = self.alias("t");
        from.tables
            .push(format!("{} AS {alias}", entity_table(self.model, target)));
        from.conditions.push(format!("{alias}.k = {key}"));
        (alias, self.model.entity(target).root)
    }

    fn slot(&self, root: EntityId, field: Field) -> Result<usize, OracleError> {
        self.model.slot(root, field).ok_or_else(|| {
            OracleError::Unfit(format!("{} has no {field:?}", self.model.entity(root).name))
        })
    }

    pub(super) fn path(
        &self,
        start: &Node,
        element: &[u16],
        steps: &[ReferenceId],
        leaf: &Leaf,
    ) -> Sql {
        match (leaf, start) {
            (Leaf::Element(path), Node::Element { alias, .. }) => {
                return Ok(part_of(&format!("{alias}.v"), path));
            }
            (Leaf::Position, Node::Element { alias, .. }) => return Ok(format!("{alias}.pos")),
            (Leaf::MapKey, Node::Element { alias, .. }) => return Ok(format!("{alias}.mk")),
            _ => {}
        }
        let mut from = From::default();
        let (alias, root) = self.walk(start, element, steps, &mut from)?;
        let value = match leaf {
            Leaf::Key => format!("{alias}.k"),
            Leaf::Type => match self.model.slot(root, Field::Type) {
                Some(slot) => format!("{alias}.s{slot}"),
                None => literal(&Value::Enum(0)),
            },
            Leaf::Attribute(attribute, path) => {
                let slot = self.slot(root, Field::Attribute(*attribute))?;
                part_of(&format!("{alias}.s{slot}"), path)
            }
            Leaf::Element(_) | Leaf::Position | Leaf::MapKey => {
                return Err(OracleError::Unfit(format!("{leaf:?} asked of an instance")));
            }
        };
        if from.tables.is_empty() {
            Ok(value)
        } else {
            Ok(format!("(SELECT {value}{})", from.text()))
        }
    }
}

pub(super) fn node(scope: &[Node], id: NodeId) -> Result<&Node, OracleError> {
    scope
        .get(usize::from(id))
        .ok_or_else(|| OracleError::Unfit(format!("no node {id} in the scope")))
}
