//! Expressions, predicates and queries: one algebra for questions and for structures.
//!
//! Everything is **relative**: a scope has numbered nodes, node 0 is where the scope starts (the
//! anchor, or the node of the outer scope it was opened from), and each [`Unfold`] adds one. Two
//! things mean the same if and only if they are equal as values (after normalisation by `resolve`),
//! so matching a question to a structure is `==`.

use super::{AttributeId, EntityId, ParamId, ReferenceId};
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// A node of the scope at hand: 0 is its start, `i + 1` is the element of unfold `i`.
pub type NodeId = u16;

/// A to-many step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Many {
    /// The instances that refer to the node by this reference.
    Back(ReferenceId),
    /// The elements of a collection attribute of the node. The path leads through nested records.
    Elements(AttributeId, Vec<u16>),
    /// The elements of a collection inside the node, which is itself a collection's element.
    ElementElements(Vec<u16>),
}

/// Adds a node to a scope: from `parent`, over to-one steps, to each of many.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unfold {
    /// Where it starts.
    pub parent: NodeId,
    /// To-one steps before the to-many step.
    pub steps: Vec<ReferenceId>,
    /// The to-many step.
    pub many: Many,
}

/// What is read at the end of a to-one path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Leaf {
    /// An attribute, or a part of it where the path leads into nested records.
    Attribute(AttributeId, Vec<u16>),
    /// The whole key of the instance (`Value::Key`), or null where the path ends early.
    Key,
    /// The concrete type of the instance.
    Type,
    /// The value of a collection's element (a map's value), or a part of it.
    Element(Vec<u16>),
    /// The position of a list's element, from 0.
    Position,
    /// The key of a map's element.
    MapKey,
}

/// An expression relative to a scope.
#[expect(
    clippy::derived_hash_with_manual_eq,
    reason = "equal is what derived equality would call equal"
)]
#[derive(Clone, Debug, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A parameter, or a part of it (`$line.count`).
    Param(ParamId, Vec<u16>),
    /// A value reached from a node over to-one references. Absent steps give null.
    /// Where the node is a collection's element and the first step is a reference inside it,
    /// `element` leads to that reference.
    Path {
        /// Start.
        node: NodeId,
        /// For a node that is a collection's element: the record path to a `Type::Key` field that
        /// is followed before `steps`. Empty otherwise.
        element: Vec<u16>,
        /// To-one steps.
        steps: Vec<ReferenceId>,
        /// What is read at the end.
        leaf: Leaf,
    },
    /// Arithmetic; null if either side is.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// A function of values.
    Call(Function, Vec<Expr>),
    /// `m[k]`: the value of a map at a key, null where there is none.
    At(Box<Expr>, Box<Expr>),
    /// An aggregate.
    Aggregate(Box<Aggregate>),
    /// A nested collection of rows, as `Value::List` of `Value::Record`.
    Nested(NodeId, Box<Query>),
    /// A record made from a to-one path (`author { id, name }`); null where `present` is null.
    Shape {
        /// The key of the instance at the end of the path.
        present: Box<Expr>,
        /// Fields.
        items: Vec<Item>,
    },
}

/// Field by field, as derived, but in the order in which paths differ: matching compares them by the
/// million, and nearly all differ in what is read at the end.
impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        match (self, other) {
            (
                Expr::Path {
                    node,
                    element,
                    steps,
                    leaf,
                },
                Expr::Path {
                    node: other_node,
                    element: other_element,
                    steps: other_steps,
                    leaf: other_leaf,
                },
            ) => {
                same_leaf(leaf, other_leaf)
                    && node == other_node
                    && same(steps, other_steps)
                    && same(element, other_element)
            }
            (Expr::Const(a), Expr::Const(b)) => a == b,
            (Expr::Param(a, path), Expr::Param(b, other)) => a == b && path == other,
            (Expr::Binary(op, a, b), Expr::Binary(other, c, d)) => op == other && a == c && b == d,
            (Expr::Call(f, args), Expr::Call(g, others)) => f == g && args == others,
            (Expr::At(a, b), Expr::At(c, d)) => a == c && b == d,
            (Expr::Aggregate(a), Expr::Aggregate(b)) => a == b,
            (Expr::Nested(node, a), Expr::Nested(other, b)) => node == other && a == b,
            (
                Expr::Shape { present, items },
                Expr::Shape {
                    present: other,
                    items: others,
                },
            ) => present == other && items == others,
            _ => false,
        }
    }
}

/// Whether two are read alike at the end of a path.
fn same_leaf(one: &Leaf, other: &Leaf) -> bool {
    match (one, other) {
        (Leaf::Attribute(a, path), Leaf::Attribute(b, other)) => a == b && same(path, other),
        _ => one == other,
    }
}

/// Whether two lists are the same, of which most have no member and few more than one: a call of the
/// function that compares memory takes longer than that.
fn same<T: PartialEq>(one: &[T], other: &[T]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a == b)
}

/// Arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`: by zero gives null; of integers truncates.
    Div,
}

impl Binary {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
        }
    }
}

/// Functions. Those of time round down, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Function {
    /// `minute(t)`
    Minute,
    /// `hour(t)`
    Hour,
    /// `day(t)`: of a timestamp, a timestamp at midnight.
    Day,
    /// `month(t)`
    Month,
    /// `year(t)`
    Year,
    /// `time(id)`: the timestamp inside a timeuuid.
    Time,
    /// `hash(x, n)`: a number from 0 to n − 1, the same on every machine (a key part of structures).
    Hash,
    /// The sum in a stored aggregate (made by plans, not written by people).
    SumOf,
    /// The average in a stored aggregate (made by plans, not written by people).
    AvgOf,
    /// Null as 0 (made by plans: the count of a group that is not there).
    OrZero,
}

impl Function {
    /// Those that people write.
    pub const WRITTEN: [Function; 6] = [
        Function::Minute,
        Function::Hour,
        Function::Day,
        Function::Month,
        Function::Year,
        Function::Time,
    ];

    /// As it is written or printed.
    pub fn name(self) -> &'static str {
        match self {
            Function::Minute => "minute",
            Function::Hour => "hour",
            Function::Day => "day",
            Function::Month => "month",
            Function::Year => "year",
            Function::Time => "time",
            Function::Hash => "hash",
            Function::SumOf => "sum",
            Function::AvgOf => "avg",
            Function::OrZero => "or_zero",
        }
    }

    /// Whether it rounds a time down.
    pub fn rounds_time(self) -> bool {
        matches!(
            self,
            Function::Minute | Function::Hour | Function::Day | Function::Month | Function::Year
        )
    }
}

/// Aggregate functions. Empty input: `count` gives 0, all others null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AggregateFn {
    /// `count(*)`, `count(x)` (not null), `count(distinct x)`
    Count,
    /// `sum(x)`: exact, rounded once.
    Sum,
    /// `min(x)`
    Min,
    /// `max(x)`
    Max,
    /// `avg(x)`: exact sum over count, as float (decimal for decimals).
    Avg,
    /// The value where there is one at most: what a way back to one leads to. It has no name; the
    /// path alone is written.
    Only,
}

impl AggregateFn {
    /// All that are written.
    pub const ALL: [AggregateFn; 5] = [
        AggregateFn::Count,
        AggregateFn::Sum,
        AggregateFn::Min,
        AggregateFn::Max,
        AggregateFn::Avg,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            AggregateFn::Count => "count",
            AggregateFn::Sum => "sum",
            AggregateFn::Min => "min",
            AggregateFn::Max => "max",
            AggregateFn::Avg => "avg",
            AggregateFn::Only => "only",
        }
    }
}

/// An aggregate, over the bindings of the group, or over a subquery of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Aggregate {
    /// Function.
    pub function: AggregateFn,
    /// Over distinct values.
    pub distinct: bool,
    /// The node of the outer scope that is node 0 of the subquery.
    pub from: NodeId,
    /// The subquery's unfolds; empty: the aggregate is over the bindings of the group, and `arg`
    /// is in the outer scope.
    pub over: Vec<Unfold>,
    /// What is aggregated; none for `count(*)`, and for a count of elements.
    pub arg: Option<Expr>,
}

impl Aggregate {
    /// Whether it is the value of one other thing as it is: a copy, nothing is put together.
    pub fn copies(&self) -> bool {
        self.function == AggregateFn::Only
    }
}

/// Comparison operators. A comparison with null is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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

impl Compare {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Compare::Eq => "=",
            Compare::Ne => "!=",
            Compare::Lt => "<",
            Compare::Le => "<=",
            Compare::Gt => ">",
            Compare::Ge => ">=",
        }
    }

    /// The comparison that holds of two values where this one does not.
    #[must_use]
    pub fn opposite(self) -> Compare {
        match self {
            Compare::Eq => Compare::Ne,
            Compare::Ne => Compare::Eq,
            Compare::Lt => Compare::Ge,
            Compare::Le => Compare::Gt,
            Compare::Gt => Compare::Le,
            Compare::Ge => Compare::Lt,
        }
    }

    /// Whether it gives a bound, not a value.
    pub fn is_range(self) -> bool {
        !matches!(self, Compare::Eq | Compare::Ne)
    }

    /// The comparison with its sides exchanged.
    #[must_use]
    pub fn flipped(self) -> Compare {
        match self {
            Compare::Lt => Compare::Gt,
            Compare::Le => Compare::Ge,
            Compare::Gt => Compare::Lt,
            Compare::Ge => Compare::Le,
            Compare::Eq | Compare::Ne => self,
        }
    }
}

/// A predicate relative to a scope: true or false, never unknown (`not` of a comparison with null
/// is therefore true).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pred {
    /// All hold.
    And(Vec<Pred>),
    /// One holds.
    Or(Vec<Pred>),
    /// It does not hold.
    Not(Box<Pred>),
    /// A comparison. `between` is two of them.
    Compare(Expr, Compare, Expr),
    /// Equal to one of a list parameter's values, or to one of several expressions.
    In(Expr, Vec<Expr>),
    /// Equal to one element of a list-valued expression (a list parameter).
    InList(Expr, Expr),
    /// `is null`
    IsNull(Expr),
    /// One and the same element meets the whole filter.
    Exists {
        /// Node of the outer scope that is node 0 inside.
        from: NodeId,
        /// Nodes inside; not empty.
        over: Vec<Unfold>,
        /// Filter in the inner scope; none: an element exists.
        filter: Option<Box<Pred>>,
    },
}

/// Ascending or descending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
    /// `asc`
    Asc,
    /// `desc`
    Desc,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Asc => Direction::Desc,
            Direction::Desc => Direction::Asc,
        }
    }
}

/// One named value of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item {
    /// Name in the answer.
    pub name: String,
    /// Value.
    pub expr: Expr,
}

/// Cursor paging.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Page {
    /// `after $cursor`
    After(ParamId),
    /// `before $cursor`: the rows just before it, in the order asked.
    Before(ParamId),
}

/// A query: a question's, or a nested shape's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Query {
    /// The entity of node 0.
    pub anchor: EntityId,
    /// Unfolded nodes: of `select` and `group by`, or the path of a nested shape.
    pub over: Vec<Unfold>,
    /// The node whose instances are listed: 0, or the last node of a nested shape's path.
    pub subject: NodeId,
    /// All must hold. (A subtype as anchor is a comparison of its type here.)
    pub filter: Vec<Pred>,
    /// What is answered.
    pub select: Vec<Item>,
    /// Present where rows are groups; empty for one group of all.
    pub group: Option<Vec<Expr>>,
    /// The complete order, tie-breakers included; empty: the answer is a multiset.
    pub order: Vec<(Expr, Direction)>,
    /// How many terms of `order` a person wrote.
    pub ordered: usize,
    /// At most so many rows.
    pub limit: Option<Expr>,
    /// Page from a cursor.
    pub page: Option<Page>,
}
