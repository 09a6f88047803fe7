//! Questions and nested shapes.

use super::Parser;
use crate::syntax::ast::{Body, Expr, ExprKind, Item, Name, Order, Page, Question};
use crate::syntax::{Kind, Span};

impl Parser<'_> {
    pub(super) fn question(&mut self) -> Option<Question> {
        self.bump();
        let name = self.name("the name of the question")?;
        let options = self.options()?;
        let start = self.span();
        self.expect_word("select", "after the name and rate of the question")?;
        let items = self.items(b'\0')?;
        self.expect_word("from", "and an entity after what is selected")?;
        let from = self.name("the entity that is asked")?;
        let body = self.clauses(items, start)?;
        Some(Question {
            name,
            options,
            from,
            body,
        })
    }

    /// `{ … }` after a path; the brace is next.
    pub(super) fn shape(&mut self) -> Option<Body> {
        let start = self.bump().span;
        let items = self.items(b'}')?;
        let body = self.clauses(items, start)?;
        self.expect(b'}', "after the nested shape")?;
        Some(body)
    }

    pub(super) fn items(&mut self, close: u8) -> Option<Vec<Item>> {
        let mut items = Vec::new();
        loop {
            items.push(self.item()?);
            self.eat(b',');
            let ended = self.is(close) || self.kind() == Kind::End;
            let comma =
                self.tokens.get(self.at.wrapping_sub(1)).map(|t| t.kind) == Some(Kind::Sign(b','));
            if ended || !comma {
                return Some(items);
            }
        }
    }

    fn item(&mut self) -> Option<Item> {
        if self.is(b'*') {
            return Some(Item::All(self.bump().span));
        }
        let mut expr = self.value()?;
        if self.is(b'{')
            && let ExprKind::Path(path) = &expr.kind
        {
            let path = path.clone();
            let body = self.nested(Self::shape)?;
            let span = expr.span.to(self.last_span());
            expr = Expr {
                kind: ExprKind::Shape(path, Box::new(body)),
                span,
            };
        }
        let alias = self.alias()?;
        Some(Item::Value { expr, alias })
    }

    #[expect(
        clippy::option_option,
        reason = "none: it was reported; some none: there is no alias"
    )]
    fn alias(&mut self) -> Option<Option<Name>> {
        if self.eat_word("as") {
            self.name("a name for the item").map(Some)
        } else {
            Some(None)
        }
    }

    /// Clauses in any order, each at most once.
    fn clauses(&mut self, items: Vec<Item>, start: Span) -> Option<Body> {
        let mut body = Body {
            items,
            filter: None,
            group: None,
            order: Vec::new(),
            limit: None,
            page: None,
            span: start,
        };
        loop {
            let word = self.word(0);
            let twice = match word {
                "where" => body.filter.is_some(),
                "group" => body.group.is_some(),
                "order" => !body.order.is_empty(),
                "limit" => body.limit.is_some(),
                "after" | "before" => body.page.is_some(),
                _ => {
                    body.span = start.to(self.last_span());
                    return Some(body);
                }
            };
            if twice {
                return self.fail(&format!("one `{word}` only"));
            }
            self.bump();
            match word {
                "where" => body.filter = Some(self.condition()?),
                "group" => {
                    self.expect_word("by", "after `group`")?;
                    body.group = Some(self.values()?);
                }
                "order" => {
                    self.expect_word("by", "after `order`")?;
                    body.order = self.order()?;
                }
                "limit" => body.limit = Some(self.value()?),
                _ => {
                    let cursor = self.param("a cursor parameter, such as `$cursor`")?;
                    body.page = Some(Page {
                        before: word == "before",
                        cursor,
                    });
                }
            }
        }
    }

    pub(super) fn values(&mut self) -> Option<Vec<Expr>> {
        let mut values = vec![self.value()?];
        while self.eat(b',') {
            values.push(self.value()?);
        }
        Some(values)
    }

    pub(super) fn order(&mut self) -> Option<Vec<Order>> {
        let mut terms = Vec::new();
        loop {
            let expr = self.value()?;
            let descending = self.eat_word("desc");
            if !descending {
                self.eat_word("asc");
            }
            terms.push(Order { expr, descending });
            if !self.eat(b',') {
                return Some(terms);
            }
        }
    }
}
