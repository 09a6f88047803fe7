//! Fields, relationships and types.

use super::Parser;
use crate::syntax::Kind;
use crate::syntax::ast::{Distinct, Field, FieldKind, Link, Sequence, Size, Type, TypeKind};

const MODIFIERS: [&str; 8] = [
    "key", "unique", "sequence", "distinct", "words", "as", "on", "tree",
];

impl Parser<'_> {
    /// Fields up to and with `}`, separated by commas, line breaks or nothing.
    pub(super) fn fields(&mut self) -> Vec<Field> {
        let mut fields = Vec::new();
        while !self.eat(b'}') {
            if self.kind() == Kind::End || self.at_declaration() {
                let _: Option<()> = self.fail("a field or `}`");
                self.help("close the block with `}`");
                break;
            }
            let start = self.at;
            if let Some(field) = self.field() {
                fields.push(field);
            } else {
                if self.at == start && !self.is(b'}') {
                    self.bump();
                }
                if self.token(0).breaks == 0 {
                    self.skip_line();
                }
            }
            self.eat(b',');
        }
        fields
    }

    fn field(&mut self) -> Option<Field> {
        self.nested(Self::field_inner)
    }

    fn field_inner(&mut self) -> Option<Field> {
        let name = self.name("the name of a field or `}`")?;
        let kind = match self.kind() {
            Kind::Arrow | Kind::DoubleArrow => FieldKind::Link(self.link()?),
            // Else a name without a type would take the next field's name for one.
            Kind::Name if self.token(0).breaks > 0 => {
                return self.fail(&format!("the type of `{}` on the same line", name.text));
            }
            _ => FieldKind::Value(self.value_type()?),
        };
        let mut field = Field {
            name,
            kind,
            key: None,
            unique: None,
            distinct: None,
            sequence: None,
            words: None,
        };
        while self.modifier(&mut field)? {}
        Some(field)
    }

    fn link(&mut self) -> Option<Link> {
        let many = self.bump().kind == Kind::DoubleArrow;
        let target = self.name("the entity referred to")?;
        let optional = self.eat(b'?');
        let forward = self.size()?;
        Some(Link {
            many,
            target,
            optional: self.eat(b'?') || optional,
            forward,
            back: None,
            backward: Size::default(),
            attributes: Vec::new(),
            on_delete: None,
            tree: None,
        })
    }

    /// Eats one modifier, if one follows.
    fn modifier(&mut self, field: &mut Field) -> Option<bool> {
        if let FieldKind::Link(link) = &mut field.kind {
            if self.is(b'{') {
                self.bump();
                link.attributes = self.fields();
                return Some(true);
            }
            if self.at_modifier() && ["as", "on", "tree"].contains(&self.word(0)) {
                return self.link_modifier(link);
            }
        }
        if !self.at_modifier() {
            return Some(false);
        }
        let span = self.span();
        match self.word(0) {
            "key" => {
                self.bump();
                field.key = Some(span);
            }
            "unique" => {
                self.bump();
                field.unique = Some(span);
            }
            "distinct" => {
                self.bump();
                field.distinct = Some(Distinct {
                    values: self.number("how many different values there are")?,
                    sharing: self.size()?,
                });
            }
            "sequence" => {
                self.bump();
                let per = if self.eat_word("per") {
                    Some(self.name("a reference")?)
                } else {
                    None
                };
                field.sequence = Some(Sequence { span, per });
            }
            "words" => {
                self.bump();
                self.skip_parentheses();
                field.words = Some(span);
            }
            word => {
                let found =
                    format!("a field, a modifier or `}}`: only a relationship takes `{word}`");
                return self.fail(&found);
            }
        }
        Some(true)
    }

    fn link_modifier(&mut self, link: &mut Link) -> Option<bool> {
        let span = self.span();
        match self.bump().span.of(self.text) {
            "as" => {
                link.back = Some(self.name("the name of the way back")?);
                link.backward = self.size()?;
            }
            "on" => {
                self.expect_word("delete", "after `on`")?;
                link.on_delete = Some(self.name("`refuse`, `cascade` or `clear`")?);
            }
            _ => {
                self.skip_parentheses();
                link.tree = Some(span);
            }
        }
        Some(true)
    }

    /// A word of a modifier, and not the name of the next field: a name is followed by a type.
    fn at_modifier(&self) -> bool {
        if !MODIFIERS.contains(&self.word(0)) {
            return false;
        }
        let next = self.token(1);
        let starts_type = match next.kind {
            Kind::Arrow | Kind::DoubleArrow => true,
            Kind::Name => !MODIFIERS.contains(&self.word(1)),
            Kind::Sign(b'{') => self.word(0) != "key",
            _ => false,
        };
        let first_on_line = self.token(0).breaks > 0;
        match next.kind {
            Kind::Arrow | Kind::DoubleArrow => false,
            _ => !(first_on_line && starts_type && next.breaks == 0),
        }
    }

    fn skip_parentheses(&mut self) {
        if !self.is(b'(') {
            return;
        }
        let mut open = 0_usize;
        while self.kind() != Kind::End {
            match self.bump().kind {
                Kind::Sign(b'(') => open += 1,
                Kind::Sign(b')') => open -= 1,
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    /// `(20)`, `(20, max 200)`, `(avg 3, max 40)`, `(max 1)`, or nothing.
    fn size(&mut self) -> Option<Size> {
        let mut size = Size::default();
        if !self.is(b'(') {
            return Some(size);
        }
        self.bump();
        loop {
            if self.eat_word("max") {
                size.max = Some(self.number("the largest size, such as `100k`")?);
            } else {
                self.eat_word("avg");
                size.avg = Some(self.number("an average size, such as `20`, or `max`")?);
            }
            if !self.eat(b',') {
                self.expect(b')', "after the size")?;
                return Some(size);
            }
        }
    }

    fn value_type(&mut self) -> Option<Type> {
        self.nested(Self::value_type_inner)
    }

    fn value_type_inner(&mut self) -> Option<Type> {
        let start = self.span();
        if self.eat(b'{') {
            let kind = TypeKind::Record(self.fields());
            let optional = self.eat(b'?');
            return Some(Type {
                kind,
                optional,
                span: start.to(self.last_span()),
            });
        }
        let name = self.name("a type")?;
        let mut arguments = Vec::new();
        if self.eat(b'<') {
            loop {
                arguments.push(self.value_type()?);
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b'>', "after the element type")?;
        }
        let before = self.eat(b'?');
        let size = self.size()?;
        let optional = self.eat(b'?') || before;
        let kind = TypeKind::Named {
            name,
            arguments,
            size,
        };
        Some(Type {
            kind,
            optional,
            span: start.to(self.last_span()),
        })
    }
}
