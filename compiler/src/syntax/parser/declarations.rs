//! `model`, `enum`, `entity`, `question`, `change`, `schema`, `job`.

use super::Parser;
use crate::diagnostic::nearest;
use crate::syntax::Kind;
use crate::syntax::ast::{Ast, Change, Declaration, Entity, Enum, Name, Options, Rate};

/// The words that begin a declaration.
pub(super) const WORDS: [&str; 7] = [
    "model", "enum", "entity", "question", "change", "schema", "job",
];

/// The words that begin a clause of a question.
const CLAUSES: [&str; 6] = ["where", "group", "order", "limit", "page", "from"];

impl Parser<'_> {
    pub(super) fn file(&mut self) -> Ast {
        let mut ast = Ast::default();
        while self.kind() != Kind::End {
            if self.is_word("model") && ast.name.is_none() && ast.declarations.is_empty() {
                self.bump();
                ast.name = self.name("the name of the model");
                continue;
            }
            let start = self.at;
            if let Some(declaration) = self.declaration() {
                ast.declarations.push(declaration);
            } else {
                if self.at == start {
                    self.bump();
                }
                self.skip_to_declaration();
            }
        }
        ast
    }

    fn declaration(&mut self) -> Option<Declaration> {
        match self.word(0) {
            "enum" => self.enumeration().map(Declaration::Enum),
            "entity" => self.entity().map(Declaration::Entity),
            "question" => self.question().map(Declaration::Question),
            "change" => self.change().map(Declaration::Change),
            "schema" => self.schema().map(Declaration::Schema),
            "job" => self.job().map(Declaration::Job),
            found => {
                self.fail::<()>("`entity`, `enum`, `question`, `change` or `schema`");
                // A question has no end of its own: what follows may be a clause of it.
                if nearest(found, WORDS).is_none()
                    && let Some(clause) = nearest(found, CLAUSES)
                {
                    self.help(&format!("did you mean `{clause}`?"));
                }
                None
            }
        }
    }

    fn enumeration(&mut self) -> Option<Enum> {
        self.bump();
        let name = self.name("the name of the enumeration")?;
        self.expect(b'{', "before the members")?;
        let mut members = Vec::new();
        while !self.eat(b'}') {
            members.push(self.name("a member or `}`")?);
            self.eat(b',');
        }
        Some(Enum { name, members })
    }

    fn entity(&mut self) -> Option<Entity> {
        self.bump();
        let name = self.name("the name of the entity")?;
        let parent = if self.eat_word("is") {
            Some(self.name("the name of the supertype")?)
        } else {
            None
        };
        let count = if self.eat(b'(') {
            let count = self.number("how many there are, such as `2M`")?;
            self.expect(b')', "after the count")?;
            Some(count)
        } else {
            None
        };
        self.expect(b'{', "before the fields")?;
        let known = self.diagnostics.len();
        let fields = self.fields();
        let whole = self.diagnostics.len() == known;
        let expires = if self.eat_words("expires", "after") {
            Some(self.number("a duration, such as `30d`")?)
        } else {
            None
        };
        Some(Entity {
            name,
            parent,
            count,
            fields,
            whole,
            expires,
        })
    }

    fn change(&mut self) -> Option<Change> {
        self.bump();
        let name = self.name("the name of the change")?;
        let options = self.options()?;
        let atomic = self.eat_word("atomic");
        let statements = if self.eat(b'{') {
            self.statements()
        } else {
            vec![self.statement()?]
        };
        Some(Change {
            name,
            options,
            atomic,
            statements,
        })
    }

    fn job(&mut self) -> Option<Name> {
        self.bump();
        let name = self.name("the name of the job")?;
        self.skip_to_declaration();
        Some(name)
    }

    /// `(10/s, stale 1h, within 2%)`
    pub(super) fn options(&mut self) -> Option<Options> {
        let mut options = Options::default();
        if !self.eat(b'(') {
            return Some(options);
        }
        while !self.eat(b')') {
            if self.eat_word("stale") {
                options.stale = Some(self.number("a duration, such as `1h`")?);
            } else if self.eat_word("within") {
                options.within = Some(self.number("a share, such as `2%`")?);
                self.expect(b'%', "after the share")?;
            } else {
                options.rates.push(self.rate()?);
            }
            if !self.eat(b',') && !self.is(b')') {
                return self.fail("`,` or `)`");
            }
        }
        Some(options)
    }

    fn rate(&mut self) -> Option<Rate> {
        let mix = if self.kind() == Kind::Name {
            self.name("the name of a mix")
        } else {
            None
        };
        let number = self.number("a rate, such as `10/s`, `stale` or `within`")?;
        let per = if self.eat(b'/') {
            Some(self.name("a unit of time: s, min, h, day")?)
        } else {
            None
        };
        Some(Rate { mix, number, per })
    }
}
