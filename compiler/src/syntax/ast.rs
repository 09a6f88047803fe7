//! The syntax tree: what was written, with places, and nothing looked up. It is never changed
//! after the parser made it.

use super::Span;

/// A name as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Text.
    pub text: String,
    /// Place.
    pub span: Span,
}

/// A number as written: the digits' value and the unit behind them.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// The digits as written, without `_`.
    pub digits: String,
    /// Letters behind the digits: `k`, `KB`, `min`, …
    pub unit: String,
    /// Place.
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct Ast {
    /// The name after `model`.
    pub name: Option<Name>,
    /// Declarations, in the order of the text.
    pub declarations: Vec<Declaration>,
}

/// A declaration.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a tree is made once, and most are the large ones"
)]
pub enum Declaration {
    /// `enum E { a, b }`
    Enum(Enum),
    /// `entity E (count) { … }`
    Entity(Entity),
    /// `question q (rate) select …`
    Question(Question),
    /// `change c (rate) …`
    Change(Change),
    /// `schema s { … }`
    Schema(Schema),
    /// `job j …`: known, not kept.
    Job(Name),
}

/// Structures given by a person.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Name.
    pub name: Name,
    /// Structures.
    pub structures: Vec<StructureDeclaration>,
}

/// `name lists Entity over … where … by … order by … keep …`
#[derive(Clone, Debug)]
pub struct StructureDeclaration {
    /// Name.
    pub name: Name,
    /// `groups` rather than `lists`.
    pub groups: bool,
    /// The entity, or a relationship as `Entity.name`.
    pub anchor: Name,
    /// `over`
    pub over: Vec<Path>,
    /// `where`
    pub filter: Option<Expr>,
    /// `by`
    pub partition: Vec<Expr>,
    /// `order by`
    pub clustering: Vec<Order>,
    /// `keep`
    pub keep: Vec<Item>,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Name.
    pub name: Name,
    /// Members.
    pub members: Vec<Name>,
}

/// An entity.
#[derive(Clone, Debug)]
pub struct Entity {
    /// Name.
    pub name: Name,
    /// The name after `is`.
    pub parent: Option<Name>,
    /// How many there are.
    pub count: Option<Number>,
    /// Fields.
    pub fields: Vec<Field>,
    /// Whether all of its fields could be read: what it lacks may be among the others.
    pub whole: bool,
    /// `expires after`
    pub expires: Option<Number>,
}

/// A field of an entity, of a record, or of a relationship.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name.
    pub name: Name,
    /// What it holds.
    pub kind: FieldKind,
    /// `key`
    pub key: Option<Span>,
    /// `unique`
    pub unique: Option<Span>,
    /// `distinct n (max m)`
    pub distinct: Option<Distinct>,
    /// `sequence`, `sequence per ref`
    pub sequence: Option<Sequence>,
    /// `words(english)`: known, not kept.
    pub words: Option<Span>,
}

/// What a field holds.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a tree is made once and never moved about"
)]
pub enum FieldKind {
    /// A value.
    Value(Type),
    /// `->` or `->>`
    Link(Link),
}

/// `distinct n (max m)`
#[derive(Clone, Debug)]
pub struct Distinct {
    /// How many different values there are.
    pub values: Number,
    /// How many share one of them.
    pub sharing: Size,
}

/// `sequence`, `sequence per ref`
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Place of the word.
    pub span: Span,
    /// The reference that it counts within.
    pub per: Option<Name>,
}

/// A relationship.
#[derive(Clone, Debug)]
pub struct Link {
    /// `->>`
    pub many: bool,
    /// The entity referred to.
    pub target: Name,
    /// `?`
    pub optional: bool,
    /// The size directly after the target: links per instance of this side.
    pub forward: Size,
    /// `as name`
    pub back: Option<Name>,
    /// The size after the name of the way back.
    pub backward: Size,
    /// `{ … }`
    pub attributes: Vec<Field>,
    /// `on delete …`
    pub on_delete: Option<Name>,
    /// `tree (…)`: known, not kept.
    pub tree: Option<Span>,
}

/// `(20, max 200)`, `(avg 3, max 40)`
#[derive(Clone, Debug, Default)]
pub struct Size {
    /// Average.
    pub avg: Option<Number>,
    /// Largest.
    pub max: Option<Number>,
}

/// A type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Which.
    pub kind: TypeKind,
    /// `?`
    pub optional: bool,
    /// Place.
    pub span: Span,
}

/// The kinds of types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// A scalar, an enumeration or a collection: `text(20)`, `list<text> (avg 3)`.
    Named {
        /// Name.
        name: Name,
        /// Types in `< >`.
        arguments: Vec<Type>,
        /// Size.
        size: Size,
    },
    /// `{ name type, … }`
    Record(Vec<Field>),
}

/// `(…)` after the name of a question or change.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Rates: one without a name, or one per mix.
    pub rates: Vec<Rate>,
    /// `stale d`
    pub stale: Option<Number>,
    /// `within p%`
    pub within: Option<Number>,
}

/// A rate or a weight.
#[derive(Clone, Debug)]
pub struct Rate {
    /// The mix.
    pub mix: Option<Name>,
    /// The number.
    pub number: Number,
    /// The unit after `/`.
    pub per: Option<Name>,
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Name.
    pub name: Name,
    /// Rate and allowances.
    pub options: Options,
    /// The entity after `from`.
    pub from: Name,
    /// The rest.
    pub body: Body,
}

/// The parts of a question or of a nested shape.
#[derive(Clone, Debug)]
pub struct Body {
    /// What is selected.
    pub items: Vec<Item>,
    /// `where`
    pub filter: Option<Expr>,
    /// `group by`
    pub group: Option<Vec<Expr>>,
    /// `order by`
    pub order: Vec<Order>,
    /// `limit`
    pub limit: Option<Expr>,
    /// `after $c`, `before $c`
    pub page: Option<Page>,
    /// Place.
    pub span: Span,
}

/// One item of a `select`.
#[derive(Clone, Debug)]
pub enum Item {
    /// `*`
    All(Span),
    /// `expr as name`
    Value {
        /// Expression.
        expr: Expr,
        /// `as`
        alias: Option<Name>,
    },
}

/// One term of an `order by`.
#[derive(Clone, Debug)]
pub struct Order {
    /// Expression.
    pub expr: Expr,
    /// `desc`
    pub descending: bool,
}

/// Paging.
#[derive(Clone, Debug)]
pub struct Page {
    /// `before` rather than `after`.
    pub before: bool,
    /// The cursor.
    pub cursor: Name,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Name; `ref@attribute` as one text.
    pub name: Name,
    /// `+`, `*`, `{2}`, `{1,3}`: known, not kept.
    pub repeat: Option<Span>,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Steps; not empty.
    pub segments: Vec<Segment>,
    /// Place.
    pub span: Span,
}

/// An expression or a condition.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Which.
    pub kind: ExprKind,
    /// Place.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number, with its sign.
    Number(Number, bool),
    /// A quoted text.
    Text(String),
    /// `true`, `false`
    Bool(bool),
    /// `null`
    Null,
    /// `$name`, `$name.field`
    Param(Name, Vec<Name>),
    /// A path.
    Path(Path),
    /// `m[k]`
    At(Box<Expr>, Box<Expr>),
    /// `f(…)`
    Call(Call),
    /// `a + b`
    Arithmetic(Box<Expr>, Arithmetic, Box<Expr>),
    /// `path { … }`
    Shape(Path, Box<Body>),
    /// `a = b`
    Compare(Box<Expr>, Compare, Box<Expr>),
    /// `a between b and c`
    Between(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `a in $list`
    InList(Box<Expr>, Box<Expr>),
    /// `a in (b, c)`
    In(Box<Expr>, Vec<Expr>),
    /// `a is null`
    IsNull(Box<Expr>),
    /// `a is not null`: a comparison of its own, as `!=` is
    IsNotNull(Box<Expr>),
    /// `a has b`
    Has(Box<Expr>, Box<Expr>),
    /// `any path (…)`
    Any(Path, Option<Box<Expr>>),
    /// `a and b`
    And(Vec<Expr>),
    /// `a or b`
    Or(Vec<Expr>),
    /// `not a`
    Not(Box<Expr>),
    /// A form that a later version brings: what it is.
    Later(&'static str),
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Function.
    pub name: Name,
    /// `distinct`
    pub distinct: bool,
    /// `*` as the argument.
    pub star: bool,
    /// Arguments.
    pub arguments: Vec<Expr>,
}

/// Arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A change.
#[derive(Clone, Debug)]
pub struct Change {
    /// Name.
    pub name: Name,
    /// Rate.
    pub options: Options,
    /// `atomic`
    pub atomic: bool,
    /// Statements.
    pub statements: Vec<Statement>,
}

/// `name`, `name = expr`
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The attribute or reference; `ref@attribute` as one text.
    pub name: Name,
    /// The value; none: the parameter of the same name.
    pub value: Option<Expr>,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// `insert E`, `upsert E`, with an explicit list where one was written.
    Insert {
        /// Entity.
        entity: Name,
        /// `{ a, b = … }`
        values: Option<Vec<Assignment>>,
        /// `upsert`
        upsert: bool,
        /// `expires after d`: overrides the entity's.
        expires: Option<Number>,
    },
    /// `update E set … where … if …`
    Update {
        /// Entity.
        entity: Name,
        /// What is set.
        set: Vec<Assignment>,
        /// `where`
        filter: Option<Expr>,
        /// `if`
        condition: Option<Expr>,
    },
    /// `delete E where … if …`
    Delete {
        /// Entity.
        entity: Name,
        /// `where`
        filter: Option<Expr>,
        /// `if`
        condition: Option<Expr>,
    },
    /// `connect E.side from … to … set …`
    Connect {
        /// Entity and side.
        link: (Name, Name),
        /// `from`
        from: Option<Expr>,
        /// `to`
        to: Option<Expr>,
        /// `set`
        set: Option<Vec<Assignment>>,
    },
    /// `disconnect E.side from … to … where … if …`
    Disconnect {
        /// Entity and side.
        link: (Name, Name),
        /// `from`
        from: Option<Expr>,
        /// `to`
        to: Option<Expr>,
        /// `where`
        filter: Option<Expr>,
        /// `if`
        condition: Option<Expr>,
    },
    /// `for each $item in $list { … }`
    ForEach {
        /// The parameter bound to each element.
        item: Name,
        /// The list parameter.
        list: Name,
        /// Statements.
        body: Vec<Statement>,
    },
}
