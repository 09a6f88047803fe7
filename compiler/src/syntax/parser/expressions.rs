//! Conditions, values and paths, by falling precedence: or, and, not, comparison, sum, product.

use super::Parser;
use crate::syntax::ast::{Arithmetic, Call, Compare, Expr, ExprKind, Name, Number, Path, Segment};
use crate::syntax::{Kind, Span, unquote};

/// Longest chain of `+ - * /`: each link is one level of the tree.
const MAX_CHAIN: usize = 48;

/// Words that may follow a complete value, and therefore do not begin one after `any` or `x+`.
pub(in crate::syntax) const FOLLOWING: [&str; 20] = [
    "and", "or", "is", "in", "between", "has", "like", "not", "from", "where", "order", "group",
    "limit", "as", "after", "before", "asc", "desc", "if", "set",
];

impl Parser<'_> {
    pub(super) fn condition(&mut self) -> Option<Expr> {
        self.nested(Self::or)
    }

    fn or(&mut self) -> Option<Expr> {
        self.chain("or", Self::and, ExprKind::Or)
    }

    fn and(&mut self) -> Option<Expr> {
        self.chain("and", Self::negation, ExprKind::And)
    }

    fn chain(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Option<Expr>,
        make: fn(Vec<Expr>) -> ExprKind,
    ) -> Option<Expr> {
        let first = part(self)?;
        if !self.is_word(word) {
            return Some(first);
        }
        let start = first.span;
        let mut parts = vec![first];
        while self.eat_word(word) {
            parts.push(part(self)?);
        }
        Some(Expr {
            kind: make(parts),
            span: start.to(self.last_span()),
        })
    }

    fn negation(&mut self) -> Option<Expr> {
        let operand = match self.token(1).kind {
            Kind::Name => self.word(1) == "not" || self.names_value(1),
            Kind::Param | Kind::Number | Kind::Text | Kind::Sign(b'(' | b'@') => true,
            _ => false,
        };
        if self.is_word("not") && operand {
            let start = self.bump().span;
            let inner = self.nested(Self::negation)?;
            let span = start.to(inner.span);
            return Some(Expr {
                kind: ExprKind::Not(Box::new(inner)),
                span,
            });
        }
        self.comparison()
    }

    /// Whether the name `ahead` begins a value: a word that may follow one does where it is walked
    /// on from (`from.id`, an end of a link) or compared.
    fn names_value(&self, ahead: usize) -> bool {
        !FOLLOWING.contains(&self.word(ahead))
            || matches!(
                self.token(ahead + 1).kind,
                Kind::Sign(b'.' | b'@' | b'=' | b'<' | b'>')
                    | Kind::NotEqual
                    | Kind::LessEqual
                    | Kind::GreaterEqual
            )
    }

    fn comparison(&mut self) -> Option<Expr> {
        if self.is_word("any") && self.token(1).kind == Kind::Name && self.names_value(1) {
            return self.quantifier();
        }
        let left = self.value()?;
        let start = left.span;
        let left = Box::new(left);
        if let Some(operator) = self.compare_operator() {
            self.bump();
            let right = Box::new(self.value()?);
            return Some(self.wrap(start, ExprKind::Compare(left, operator, right)));
        }
        if self.eat_word("is") {
            let negated = self.eat_word("not");
            self.expect_word("null", "after `is`")?;
            let kind = if negated {
                ExprKind::IsNotNull(left)
            } else {
                ExprKind::IsNull(left)
            };
            return Some(self.wrap(start, kind));
        }
        let negated =
            self.is_word("not") && ["in", "between", "has", "like"].contains(&self.word(1));
        if negated {
            self.bump();
        }
        let kind = match self.word(0) {
            "between" => {
                self.bump();
                let low = Box::new(self.value()?);
                self.expect_word("and", "between the two bounds")?;
                ExprKind::Between(left, low, Box::new(self.value()?))
            }
            "in" => {
                self.bump();
                self.membership(left)?
            }
            "has" => {
                self.bump();
                self.has(left)?
            }
            "like" => {
                self.bump();
                self.value()?;
                ExprKind::Later("patterns with `like`")
            }
            _ => return Some(*left),
        };
        Some(self.negate(start, negated, kind))
    }

    fn wrap(&self, start: Span, kind: ExprKind) -> Expr {
        Expr {
            kind,
            span: start.to(self.last_span()),
        }
    }
    fn negate(&self, start: Span, negated: bool, kind: ExprKind) -> Expr {
        let inner = self.wrap(start, kind);
        if negated {
            self.wrap(start, ExprKind::Not(Box::new(inner)))
        } else {
            inner
        }
    }

    fn compare_operator(&self) -> Option<Compare> {
        Some(match self.kind() {
            Kind::Sign(b'=') => Compare::Eq,
            Kind::NotEqual => Compare::Ne,
            Kind::Sign(b'<') => Compare::Lt,
            Kind::LessEqual => Compare::Le,
            Kind::Sign(b'>') => Compare::Gt,
            Kind::GreaterEqual => Compare::Ge,
            _ => return None,
        })
    }

    /// `any path (…)`
    fn quantifier(&mut self) -> Option<Expr> {
        let start = self.bump().span;
        let path = self.path()?;
        let inner = if self.eat(b'(') {
            let inner = self.condition()?;
            self.expect(b')', "after the condition")?;
            Some(Box::new(inner))
        } else {
            None
        };
        Some(self.wrap(start, ExprKind::Any(path, inner)))
    }

    fn membership(&mut self, left: Box<Expr>) -> Option<ExprKind> {
        if !self.eat(b'(') {
            return Some(ExprKind::InList(left, Box::new(self.value()?)));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value()?);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')', "after the list of values")?;
        Some(ExprKind::In(left, values))
    }

    fn has(&mut self, left: Box<Expr>) -> Option<ExprKind> {
        let operand = |kind| matches!(kind, Kind::Param | Kind::Text);
        let search = ["words", "phrase", "any", "all"].contains(&self.word(0))
            && operand(self.token(1).kind);
        if search || (self.word(0) == "near" && self.token(1).kind == Kind::Sign(b'(')) {
            self.bump();
            if self.eat(b'(') {
                self.value()?;
                self.expect(b')', "after the distance")?;
            }
            self.value()?;
            return Some(ExprKind::Later("text search"));
        }
        Some(ExprKind::Has(left, Box::new(self.value()?)))
    }

    /// A value: arithmetic over operands.
    pub(super) fn value(&mut self) -> Option<Expr> {
        self.nested(Self::sum)
    }

    fn sum(&mut self) -> Option<Expr> {
        let mut left = self.product()?;
        for _ in 0..MAX_CHAIN {
            let operator = match self.kind() {
                Kind::Sign(b'+') => Arithmetic::Add,
                Kind::Sign(b'-') => Arithmetic::Sub,
                _ => return Some(left),
            };
            self.bump();
            let right = self.product()?;
            left = self.arithmetic(left, operator, right);
        }
        self.too_deep();
        None
    }

    fn product(&mut self) -> Option<Expr> {
        let mut left = self.operand()?;
        for _ in 0..MAX_CHAIN {
            let operator = match self.kind() {
                Kind::Sign(b'*') => Arithmetic::Mul,
                Kind::Sign(b'/') => Arithmetic::Div,
                _ => return Some(left),
            };
            self.bump();
            let right = self.operand()?;
            left = self.arithmetic(left, operator, right);
        }
        self.too_deep();
        None
    }

    fn arithmetic(&self, left: Expr, operator: Arithmetic, right: Expr) -> Expr {
        let start = left.span;
        self.wrap(
            start,
            ExprKind::Arithmetic(Box::new(left), operator, Box::new(right)),
        )
    }

    fn operand(&mut self) -> Option<Expr> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::Number => ExprKind::Number(self.number("a number")?, false),
            Kind::Text => ExprKind::Text(unquote(self.bump().span.of(self.text))),
            Kind::Param => self.parameter()?,
            Kind::Sign(b'-') => {
                self.bump();
                if self.kind() == Kind::Number {
                    ExprKind::Number(self.number("a number")?, true)
                } else {
                    let inner = self.nested(Self::operand)?;
                    let zero = Number {
                        digits: "0".to_owned(),
                        unit: String::new(),
                        span: start,
                    };
                    let zero = Expr {
                        kind: ExprKind::Number(zero, false),
                        span: start,
                    };
                    ExprKind::Arithmetic(Box::new(zero), Arithmetic::Sub, Box::new(inner))
                }
            }
            Kind::Sign(b'(') => {
                self.bump();
                let inner = self.condition()?;
                self.expect(b')', "after what the parenthesis holds")?;
                return Some(Expr {
                    kind: inner.kind,
                    span: start.to(self.last_span()),
                });
            }
            Kind::Name | Kind::Sign(b'@') => return self.named(),
            _ => return self.fail("a value: a path, a parameter, a number, a text"),
        };
        Some(self.wrap(start, kind))
    }

    fn parameter(&mut self) -> Option<ExprKind> {
        let name = self.param("a parameter")?;
        let mut fields = Vec::new();
        while self.eat(b'.') {
            fields.push(self.name("a field of the parameter")?);
        }
        Some(ExprKind::Param(name, fields))
    }

    /// A literal word, a call, or a path.
    fn named(&mut self) -> Option<Expr> {
        let start = self.span();
        let next = self.token(1).kind;
        if next == Kind::Sign(b'(') {
            let call = self.call()?;
            return Some(self.wrap(start, ExprKind::Call(call)));
        }
        if !matches!(next, Kind::Sign(b'.' | b'@' | b'{')) {
            let literal = match self.word(0) {
                "true" => Some(ExprKind::Bool(true)),
                "false" => Some(ExprKind::Bool(false)),
                "null" => Some(ExprKind::Null),
                _ => None,
            };
            if let Some(literal) = literal {
                self.bump();
                return Some(self.wrap(start, literal));
            }
        }
        let path = self.path()?;
        let mut expr = Expr {
            span: path.span,
            kind: ExprKind::Path(path),
        };
        if self.eat(b'[') {
            let key = self.value()?;
            self.expect(b']', "after the key")?;
            expr = self.wrap(start, ExprKind::At(Box::new(expr), Box::new(key)));
        }
        Some(expr)
    }

    fn call(&mut self) -> Option<Call> {
        let name = self.name("a function")?;
        self.bump();
        let mut call = Call {
            name,
            distinct: false,
            star: false,
            arguments: Vec::new(),
        };
        if self.is(b'*') && self.token(1).kind == Kind::Sign(b')') {
            self.bump();
            call.star = true;
        } else if !self.is(b')') {
            if self.is_word("distinct") && self.token(1).kind == Kind::Name {
                self.bump();
                call.distinct = true;
            }
            loop {
                call.arguments.push(self.value()?);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.expect(b')', "after the arguments")?;
        Some(call)
    }

    pub(super) fn path(&mut self) -> Option<Path> {
        let start = self.span();
        let mut segments = Vec::new();
        loop {
            let name = self.attribute_name("a name")?;
            let repeat = self.repeat()?;
            segments.push(Segment { name, repeat });
            if !self.eat(b'.') {
                return Some(Path {
                    segments,
                    span: start.to(self.last_span()),
                });
            }
        }
    }

    /// `name`, `name@attribute` or `@attribute` as one name.
    pub(super) fn attribute_name(&mut self, what: &str) -> Option<Name> {
        let mut name = if self.is(b'@') {
            Name {
                text: String::new(),
                span: self.span(),
            }
        } else {
            self.name(what)?
        };
        if self.eat(b'@') {
            let attribute = self.name("an attribute of the relationship")?;
            name.text = format!("{}@{}", name.text, attribute.text);
            name.span = name.span.to(attribute.span);
        }
        Some(name)
    }

    /// `+`, `*`, `{2}`, `{1,3}` directly behind a step.
    #[expect(
        clippy::option_option,
        reason = "none: it was reported; some none: no repeat"
    )]
    fn repeat(&mut self) -> Option<Option<Span>> {
        let (sign, next) = (self.token(0), self.token(1));
        let touching = sign.span.start == self.last_span().end;
        match sign.kind {
            Kind::Sign(b'+' | b'*') if touching => {
                let operand = match next.kind {
                    Kind::Name => !FOLLOWING.contains(&self.word(1)),
                    Kind::Param | Kind::Number | Kind::Text => true,
                    Kind::Sign(sign) => matches!(sign, b'(' | b'-'),
                    _ => false,
                };
                if operand {
                    return Some(None);
                }
                Some(Some(self.bump().span))
            }
            Kind::Sign(b'{') if next.kind == Kind::Number => {
                self.bump();
                self.number("a number of steps")?;
                if self.eat(b',') && self.kind() == Kind::Number {
                    self.number("a number of steps")?;
                }
                self.expect(b'}', "after the number of steps")?;
                Some(Some(sign.span.to(self.last_span())))
            }
            _ => Some(None),
        }
    }
}
