//! `schema`: structures given by a person.

use super::Parser;
use crate::syntax::ast::{Name, Schema, StructureDeclaration};

impl Parser<'_> {
    pub(super) fn schema(&mut self) -> Option<Schema> {
        self.bump();
        let name = self.name("the name of the schema")?;
        self.expect(b'{', "before the structures")?;
        let mut structures = Vec::new();
        while !self.eat(b'}') {
            structures.push(self.structure()?);
        }
        Some(Schema { name, structures })
    }

    /// `name lists Entity over … where … by … order by … keep …`
    fn structure(&mut self) -> Option<StructureDeclaration> {
        let name = self.name("the name of a structure, or `}`")?;
        let groups = self.eat_word("groups");
        if !groups {
            self.expect_word("lists", "or `groups` after the name of a structure")?;
        }
        let anchor = self.anchor()?;
        let mut structure = StructureDeclaration {
            name,
            groups,
            anchor,
            over: Vec::new(),
            filter: None,
            partition: Vec::new(),
            clustering: Vec::new(),
            keep: Vec::new(),
        };
        while !self.begins_structure() {
            match self.word(0) {
                "over" if structure.over.is_empty() => {
                    self.bump();
                    structure.over = vec![self.path()?];
                    while self.eat(b',') {
                        structure.over.push(self.path()?);
                    }
                }
                "where" if structure.filter.is_none() => {
                    self.bump();
                    structure.filter = Some(self.condition()?);
                }
                "by" if structure.partition.is_empty() => {
                    self.bump();
                    structure.partition = self.values()?;
                }
                "order" if structure.clustering.is_empty() => {
                    self.bump();
                    self.expect_word("by", "after `order`")?;
                    structure.clustering = self.order()?;
                }
                "keep" if structure.keep.is_empty() => {
                    self.bump();
                    structure.keep = self.items(b'}')?;
                }
                _ if self.is(b'}') => break,
                _ => {
                    return self
                        .fail("`over`, `where`, `by`, `order`, `keep`, another structure or `}`");
                }
            }
        }
        Some(structure)
    }

    /// Whether another structure begins here. It may be called `by` or `keep`, and what is kept may
    /// be called `groups` or `lists`: what follows tells, as an entity comes behind these.
    fn begins_structure(&self) -> bool {
        let holds = |at| matches!(self.word(at), "lists" | "groups");
        let entity = !matches!(
            self.word(2),
            "" | "over" | "where" | "by" | "order" | "keep"
        );
        holds(1) && entity && !holds(3)
    }

    /// An entity, or a relationship as `Entity.name`.
    fn anchor(&mut self) -> Option<Name> {
        let mut anchor = self.name("the entity that the structure holds")?;
        if self.eat(b'.') {
            let link = self.name("the name of a relationship")?;
            anchor.text = format!("{}.{}", anchor.text, link.text);
            anchor.span = anchor.span.to(link.span);
        }
        Some(anchor)
    }
}
