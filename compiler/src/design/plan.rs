//! Plans: what the runtime executes to answer a question.
//!
//! A plan is a tree of few operators over **tuples of frames**. A frame is one row of one structure
//! (columns by position in [`crate::view::Structure::values`]) or one computed record. The leaf of
//! every tree is [`Op::Input`]: at the top it yields one empty tuple, in a subplan it yields the
//! outer tuple, so that a correlated subquery is nothing special. [`Op::Unite`] is a leaf too: its
//! branches are plans that start from the same outer tuple.

use crate::model::{AggregateFn, Binary, Compare, Direction, Function, Page, ParamId, Type};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A structure of the design at hand, by position.
pub type StructureId = u16;

/// The plan of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Frames of the outer tuple that it starts from: 0 for a question, in a subplan those that
    /// there were when it was planned (later steps of the outer plan may add more).
    pub outer: u16,
    /// Operators.
    pub root: Op,
    /// The answer's columns, from a tuple of the root.
    pub output: Vec<Output>,
    /// The values of the complete order, of which a cursor is made; empty without an order.
    pub cursor: Vec<Term>,
}

/// One column of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Name.
    pub name: String,
    /// Value.
    pub term: Term,
    /// Type, for printing. Nested shapes are `List` of `Record`.
    pub ty: Type,
}

/// What a step was priced at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Tuples that leave the operator.
    pub rows: f64,
    /// Rows read from the store by the operator.
    pub reads: f64,
    /// Gets (seeks) made by the operator.
    pub gets: f64,
    /// Cost in the target's unit, inputs excluded.
    pub cost: f64,
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// The outer tuple, once; the empty tuple at the top of a plan.
    Input,
    /// For each input tuple, the rows of one get; appends a frame. Over [`Op::Input`] this is
    /// the plain `get` (or `scan`, without `eq` and range); over anything else it is `follow`,
    /// the application-side join.
    Get {
        /// Input.
        input: Arc<Op>,
        /// What is read.
        get: Get,
        /// A tuple without a match is kept, with a frame of nulls.
        outer: bool,
        /// Price.
        estimate: Estimate,
    },
    /// For each input tuple and each combination of distinct elements of lists, the rows of a get
    /// in which [`Term::Item`] is such an element, merged in the order given (concatenated if it is
    /// empty); appends a frame.
    Merge {
        /// Input.
        input: Arc<Op>,
        /// The lists, at least one: each a parameter, or several terms.
        lists: Vec<Vec<Term>>,
        /// What is read for each combination.
        get: Get,
        /// The order of the result, which each get gives by itself.
        order: Vec<(Term, Direction)>,
        /// Price.
        estimate: Estimate,
    },
    /// The rows of several plans over the outer tuple, each distinct one once; appends a computed
    /// frame, whose columns are those of the plans' answers, to the outer tuple.
    Unite {
        /// The plans: each answers with the same columns, and none has a cursor.
        branches: Vec<Plan>,
        /// How many of the first columns tell rows apart: of rows that are alike in these, which
        /// are alike in all others too, the first is kept.
        keys: u16,
        /// The order of the result, in terms of the new frame, which each branch gives by itself
        /// (in which they are merged, so that a limit stops all of them early); empty: branch
        /// after branch.
        order: Vec<(Term, Direction)>,
        /// Price.
        estimate: Estimate,
    },
    /// For each input tuple, each element of a collection; appends a computed frame
    /// (0: value, 1: position, 2: map key). Inner: an empty collection drops the tuple.
    Elements {
        /// Input.
        input: Arc<Op>,
        /// The collection.
        of: Term,
    },
    /// Tuples for which all tests hold.
    Filter {
        /// Input.
        input: Arc<Op>,
        /// Tests.
        tests: Vec<Test>,
        /// Price.
        estimate: Estimate,
    },
    /// The first tuple for each distinct value of the terms; keeps the input's order.
    Distinct {
        /// Input.
        input: Arc<Op>,
        /// Terms.
        by: Vec<Term>,
    },
    /// Sorts.
    Sort {
        /// Input.
        input: Arc<Op>,
        /// Terms.
        by: Vec<(Term, Direction)>,
        /// Price.
        estimate: Estimate,
    },
    /// Tuples after (or before) a cursor in an input that is sorted by these terms. Used where the
    /// get could not start at the cursor by itself.
    Page {
        /// Input.
        input: Arc<Op>,
        /// The complete order.
        by: Vec<(Term, Direction)>,
        /// The cursor.
        page: Page,
    },
    /// The first tuples.
    Limit {
        /// Input.
        input: Arc<Op>,
        /// How many.
        count: Term,
        /// The last ones instead of the first, still in the input's order (`before` a cursor).
        last: bool,
    },
    /// Groups; the result is one computed frame (the group's terms, then the aggregates).
    Aggregate {
        /// Input.
        input: Arc<Op>,
        /// Group terms.
        group: Vec<Term>,
        /// Aggregates.
        aggregates: Vec<Aggregation>,
        /// Without group terms: one row even for no input.
        always: bool,
        /// Price.
        estimate: Estimate,
    },
}

/// One aggregate over the tuples of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aggregation {
    /// Function.
    pub function: AggregateFn,
    /// Over distinct values.
    pub distinct: bool,
    /// What is aggregated (null is passed over); none: tuples are counted.
    pub arg: Option<Term>,
    /// What is aggregated is what a structure of groups stores of this aggregate, over some of the
    /// group's bindings each.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
}

/// One read of one structure: a key prefix, and a range of the part behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Get {
    /// Structure.
    pub structure: StructureId,
    /// Values of the first key parts. A null value here finds nothing (a comparison with null is
    /// false).
    pub eq: Vec<Term>,
    /// Lower bound of the next key part's value (in value order, whatever its direction).
    pub lower: Option<Bound>,
    /// Upper bound of the next key part's value.
    pub upper: Option<Bound>,
    /// Read in reverse order of the structure.
    pub reverse: bool,
    /// Start behind (or end before) the cursor: its values are those of the key parts behind `eq`,
    /// all of them, in order.
    pub page: Option<Page>,
}

impl Get {
    /// What the get is called over this input: `scan` reads all rows, `get` some, `follow` some for
    /// each row that another step found.
    pub fn verb(&self, input: &Op) -> &'static str {
        let all = self.eq.is_empty() && self.lower.is_none() && self.upper.is_none();
        match (input, all) {
            (Op::Input, true) => "scan",
            (Op::Input, false) => "get",
            _ => "follow",
        }
    }
}

/// One bound of a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The bound.
    pub term: Term,
    /// The bound itself belongs to the range.
    pub inclusive: bool,
}

/// A value computed from a tuple.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Term {
    /// A constant.
    Const(Value),
    /// A parameter, or a part of it.
    Param(ParamId, Vec<u16>),
    /// The current element of a list of the enclosing [`Op::Merge`], or a part of it.
    Item(u16, Vec<u16>),
    /// A column of a frame, or a part of it (record fields; scalars of a `Value::Key`).
    Column {
        /// Frame of the tuple.
        frame: u16,
        /// Position in the structure's values, or in a computed record.
        column: u16,
        /// Path through nested records.
        path: Vec<u16>,
    },
    /// Several terms as one `Value::Key` (null if the first is null).
    Key(Vec<Term>),
    /// Arithmetic.
    Binary(Binary, Box<Term>, Box<Term>),
    /// A function.
    Call(Function, Vec<Term>),
    /// A map's value at a key.
    At(Box<Term>, Box<Term>),
    /// A record, null where the first term is null.
    Shape(Box<Term>, Vec<Term>),
    /// A subplan.
    Sub(Arc<Sub>),
}

/// A subplan as a value: the rows it yields for the outer tuple.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Sub {
    /// All rows, as a `Value::List` of `Value::Record`.
    Nested(Plan),
    /// The one value of the plan's one row and one column (null without a row): an aggregate.
    Scalar(Plan),
    /// The values of the plan's one column, as a `Value::List`: what a merge goes over.
    Values(Plan),
}

/// A predicate on a tuple: true or false, never unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Test {
    /// All hold.
    And(Vec<Test>),
    /// One holds.
    Or(Vec<Test>),
    /// It does not hold.
    Not(Box<Test>),
    /// A comparison; false with null.
    Compare(Term, Compare, Term),
    /// Equal to one of the terms.
    In(Term, Vec<Term>),
    /// Equal to one element of a list.
    InList(Term, Term),
    /// Null.
    IsNull(Term),
    /// The subplan yields a tuple.
    Exists(Arc<Op>),
}
