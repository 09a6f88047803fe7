//! Statements of changes.

use super::Parser;
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::Kind;
use crate::syntax::ast::{Assignment, Expr, Name, Statement};

impl Parser<'_> {
    /// Statements up to and with `}`.
    pub(super) fn statements(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        if self.is(b'}') {
            let place = self.last_span().to(self.span());
            let found = Diagnostic::new(codes::NO_STATEMENT, place, "nothing is done here");
            let help = "write what changes, such as `insert User`, or remove it";
            self.diagnostics.push(found.help(help));
        }
        while !self.eat(b'}') {
            if self.kind() == Kind::End || self.at_declaration() {
                let _: Option<()> = self.fail("a statement or `}`");
                self.help("close the block with `}`");
                break;
            }
            let start = self.at;
            if let Some(statement) = self.statement() {
                statements.push(statement);
            } else {
                if self.at == start && !self.is(b'}') {
                    self.bump();
                }
                if self.token(0).breaks == 0 {
                    self.skip_line();
                }
            }
        }
        statements
    }

    pub(super) fn statement(&mut self) -> Option<Statement> {
        self.nested(Self::statement_inner)
    }

    fn statement_inner(&mut self) -> Option<Statement> {
        match self.word(0) {
            "insert" | "upsert" => self.insert(),
            "update" => self.update(),
            "delete" => {
                self.bump();
                let entity = self.name("the entity that is deleted from")?;
                let (filter, condition) = self.where_if()?;
                Some(Statement::Delete {
                    entity,
                    filter,
                    condition,
                })
            }
            "connect" => self.connect(),
            "disconnect" => {
                self.bump();
                let link = self.link_name()?;
                let (from, to) = self.ends()?;
                let (filter, condition) = self.where_if()?;
                Some(Statement::Disconnect {
                    link,
                    from,
                    to,
                    filter,
                    condition,
                })
            }
            "for" => self.for_each(),
            _ => self.fail(
                "`insert`, `upsert`, `update`, `delete`, `connect`, `disconnect` or `for each`",
            ),
        }
    }

    fn insert(&mut self) -> Option<Statement> {
        let upsert = self.bump().span.of(self.text) == "upsert";
        let entity = self.name("the entity that is inserted")?;
        let values = if self.eat(b'{') {
            let values = if self.is(b'}') {
                Vec::new()
            } else {
                self.assignments()?
            };
            self.expect(b'}', "after the values")?;
            Some(values)
        } else {
            None
        };
        let expires = if self.eat_words("expires", "after") {
            Some(self.number("a duration, such as `7d`")?)
        } else {
            None
        };
        Some(Statement::Insert {
            entity,
            values,
            upsert,
            expires,
        })
    }

    fn update(&mut self) -> Option<Statement> {
        self.bump();
        let entity = self.name("the entity that is updated")?;
        self.expect_word("set", "after the entity")?;
        let set = self.assignments()?;
        let (filter, condition) = self.where_if()?;
        Some(Statement::Update {
            entity,
            set,
            filter,
            condition,
        })
    }

    fn connect(&mut self) -> Option<Statement> {
        self.bump();
        let link = self.link_name()?;
        let (from, to) = self.ends()?;
        let set = if self.eat_word("set") {
            Some(self.assignments()?)
        } else {
            None
        };
        Some(Statement::Connect {
            link,
            from,
            to,
            set,
        })
    }

    /// `from … to …`, each where it is written.
    fn ends(&mut self) -> Option<(Option<Expr>, Option<Expr>)> {
        let mut end = |word: &str| {
            if self.eat_word(word) {
                self.value().map(Some)
            } else {
                Some(None)
            }
        };
        Some((end("from")?, end("to")?))
    }

    fn for_each(&mut self) -> Option<Statement> {
        self.bump();
        self.expect_word("each", "after `for`")?;
        let item = self.param("a name for each element, such as `$line`")?;
        self.expect_word("in", "after the name of the element")?;
        let list = self.param("a list parameter, such as `$lines`")?;
        self.expect(b'{', "before the statements")?;
        let body = self.statements();
        // Why there is none has been said; that its parameter has no type follows from that.
        (!body.is_empty()).then_some(Statement::ForEach { item, list, body })
    }

    fn link_name(&mut self) -> Option<(Name, Name)> {
        let entity = self.name("a relationship, such as `User.follows`")?;
        self.expect(b'.', "between the entity and its relationship")?;
        let side = self.name("a relationship of the entity")?;
        Some((entity, side))
    }

    fn assignments(&mut self) -> Option<Vec<Assignment>> {
        let mut assignments = Vec::new();
        loop {
            let name = self.attribute_name("the name of what is set")?;
            if self.is(b'.') {
                self.fail::<()>("`=`, `,` or the end of what is set");
                self.help("a nested record is set as a whole");
                return None;
            }
            let value = if self.eat(b'=') {
                Some(self.value()?)
            } else {
                None
            };
            assignments.push(Assignment { name, value });
            if !self.eat(b',') {
                return Some(assignments);
            }
        }
    }

    fn where_if(&mut self) -> Option<(Option<Expr>, Option<Expr>)> {
        let filter = if self.eat_word("where") {
            Some(self.condition()?)
        } else {
            None
        };
        let condition = if self.eat_word("if") {
            Some(self.condition()?)
        } else {
            None
        };
        Some((filter, condition))
    }
}
