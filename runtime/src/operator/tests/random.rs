//! Random rows and random plans over them, from a seed.

use crate::cursor;
use crate::layout::{Column, KeyPart, Layout};
use querent_compiler::design::{
    Aggregation, Bound, Estimate, Get, Op, Output, Plan, Sub, Term, Test,
};
use querent_compiler::model::{
    AggregateFn, Binary, Compare, Direction, Function, Page, ParamId, Size, Type,
};
use querent_compiler::value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Encoded keys and rows.
pub(super) type Table = BTreeMap<Vec<u8>, Vec<u8>>;

/// Structures and their rows, decoded and encoded.
pub(super) struct World {
    pub(super) layouts: Vec<Arc<Layout>>,
    /// Key parts, then columns.
    pub(super) rows: Vec<Vec<Vec<Value>>>,
    pub(super) tables: Vec<Table>,
}

const SIZE: Size = Size {
    avg: 4.0,
    max: None,
};

impl World {
    /// Structure 0: key a int, b int?, id bigint; columns text?, float, list<int>, map.
    /// Structure 1: key id bigint; columns name text, note int?.
    pub(super) fn random(random: &mut Random) -> World {
        let part = |ty, optional, direction| KeyPart {
            ty,
            optional,
            direction,
            hashed: false,
        };
        let col = |ty, optional| Column { ty, optional };
        let list = Type::List(Box::new(Type::BigInt), SIZE);
        let map = Type::Map(Box::new(Type::BigInt), Box::new(Type::BigInt), SIZE);
        let first = Layout::new(
            vec![
                part(Type::Int, false, random.direction()),
                part(Type::Int, true, random.direction()),
                part(Type::BigInt, false, random.direction()),
            ],
            vec![
                col(Type::Text(SIZE), true),
                col(Type::Float, false),
                col(list, false),
                col(map, true),
            ],
        );
        let second = Layout::new(
            vec![part(Type::BigInt, false, random.direction())],
            vec![col(Type::Text(SIZE), false), col(Type::BigInt, true)],
        );
        let mut rows = vec![vec![], vec![]];
        for _ in 0..10 + random.below(40) {
            let ints = |random: &mut Random| {
                (0..random.below(4))
                    .map(|_| Value::Int(random.below(5) as i64))
                    .collect()
            };
            let b = random.small_or_null();
            let text = if random.chance(20) {
                Value::Null
            } else {
                random.text()
            };
            let map = vec![
                (Value::Int(1), random.small()),
                (Value::Int(2), random.small()),
            ];
            let map = if random.chance(30) {
                Value::Null
            } else {
                Value::Map(map)
            };
            let float = Value::Float((random.below(9) as f64 - 4.0) / 3.0 + 0.0);
            let list = Value::List(ints(random));
            rows[0].push(vec![
                random.small(),
                b,
                random.small(),
                text,
                float,
                list,
                map,
            ]);
        }
        for id in 0..8 {
            if random.chance(75) {
                rows[1].push(vec![Value::Int(id), random.text(), random.small_or_null()]);
            }
        }
        // A first row of structure 1 that is there always, for tests of single rows.
        rows[1].push(vec![Value::Int(100), random.text(), Value::Null]);
        World::of(vec![first, second], rows)
    }

    /// Structure 0: key timeuuid, one for each of these milliseconds.
    pub(super) fn times(at: &[i64]) -> World {
        let key = KeyPart {
            ty: Type::TimeUuid,
            optional: false,
            direction: Direction::Desc,
            hashed: false,
        };
        let id = |(i, at): (usize, &i64)| {
            let ticks = at * 10_000 + 9_999 + 0x01b2_1dd2_1381_4000;
            let mut id = [i as u8; 16];
            id[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
            id[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
            id[6..8].copy_from_slice(&((ticks >> 48) as u16 | 0x1000).to_be_bytes());
            vec![Value::TimeUuid(id)]
        };
        let rows = at.iter().enumerate().map(id).collect();
        World::of(vec![Layout::new(vec![key], vec![])], vec![rows])
    }

    /// Structure 0: key group int, name text, cut where it is long if `cut`; column count bigint?, of
    /// few values. The group is always 1.
    pub(super) fn names(random: &mut Random, cut: bool) -> World {
        let part = |ty, hashed, direction| KeyPart {
            ty,
            optional: false,
            direction,
            hashed,
        };
        let key = vec![
            part(Type::Int, false, random.direction()),
            part(Type::Text(SIZE), cut, random.direction()),
        ];
        let count = Column {
            ty: Type::BigInt,
            optional: true,
        };
        let long = random.chance(50);
        let rows = (0..random.below(300)).map(|_| {
            let mut name = random.below(1000).to_string();
            if long && random.chance(10) {
                name = name.repeat(60);
            }
            vec![Value::Int(1), Value::Text(name), random.small_or_null()]
        });
        let rows = rows.collect();
        World::of(vec![Layout::new(key, vec![count])], vec![rows])
    }

    fn of(layouts: Vec<Layout>, mut rows: Vec<Vec<Vec<Value>>>) -> World {
        let mut tables = vec![];
        for (layout, rows) in layouts.iter().zip(&mut rows) {
            let mut table = Table::new();
            rows.retain(|row| {
                let (values, columns) = row.split_at(layout.key.len());
                let key = layout.encode_key(values).unwrap();
                !table.contains_key(&key) && {
                    table.insert(key, layout.encode_row(values, columns));
                    true
                }
            });
            tables.push(table);
        }
        World {
            layouts: layouts.into_iter().map(Arc::new).collect(),
            rows,
            tables,
        }
    }

    pub(super) fn width(&self, structure: u16) -> usize {
        let layout = &self.layouts[usize::from(structure)];
        layout.key.len() + layout.columns.len()
    }
}

/// What a frame of a random plan holds.
#[derive(Clone, Copy, PartialEq)]
enum Frame {
    First,
    Second,
    Element,
    Group(u16),
}

/// A source of choices.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % n as u64) as usize
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn direction(&mut self) -> Direction {
        if self.chance(50) {
            Direction::Asc
        } else {
            Direction::Desc
        }
    }

    fn small(&mut self) -> Value {
        Value::Int(self.below(6) as i64)
    }

    fn small_or_null(&mut self) -> Value {
        if self.chance(20) {
            Value::Null
        } else {
            self.small()
        }
    }

    fn text(&mut self) -> Value {
        Value::Text(["", "a", "b", "ab", "\0"][self.below(5)].to_owned())
    }

    /// A plan over the world, and its parameters: 0 an int or null, 1 a list, 2 a cursor of
    /// structure 0 behind one part, 3 a limit or null.
    pub(super) fn plan(&mut self, world: &World) -> (Plan, Vec<Value>) {
        let list = (0..self.below(5)).map(|_| self.small_or_null()).collect();
        let cursor = if self.chance(30) {
            Value::Null
        } else {
            let some = self.below(world.rows[0].len() + 1);
            let values = match world.rows[0].get(some) {
                Some(row) => row[1..3].to_vec(),
                None => vec![self.small_or_null(), self.small()],
            };
            Value::Text(cursor::encode(&values))
        };
        let limit = if self.chance(20) {
            Value::Null
        } else {
            Value::Int(self.below(5) as i64)
        };
        let params = vec![self.small_or_null(), Value::List(list), cursor, limit];
        let mut frames = vec![];
        let root = self.op(world, &mut frames, 3, 2);
        (self.output(world, root, 0, &frames, 1), params)
    }

    fn output(
        &mut self,
        world: &World,
        root: Op,
        outer: usize,
        frames: &[Frame],
        depth: usize,
    ) -> Plan {
        let mut terms: Vec<Term> = vec![];
        for (f, frame) in frames.iter().enumerate() {
            for c in 0..width(*frame) {
                terms.push(Term::Column {
                    frame: f as u16,
                    column: c,
                    path: vec![],
                });
            }
        }
        for _ in 0..self.below(3) {
            terms.push(self.term(world, frames, depth));
        }
        plan_of(root, outer, terms)
    }

    /// `size` operators at most; `depth` levels of subplans at most.
    fn op(&mut self, world: &World, frames: &mut Vec<Frame>, size: usize, depth: usize) -> Op {
        if size == 0 {
            return Op::Input;
        }
        let estimate = Estimate::default();
        // A page is of a whole partition, in the order of its key, above nothing else.
        if self.chance(12) {
            return self.paged(world, frames);
        }
        // What is united starts from the outer tuple, above nothing else.
        if self.chance(12) {
            let most = size.min(2);
            return if self.chance(50) {
                self.united(world, frames, most, depth)
            } else {
                self.united_in_order(world, frames)
            };
        }
        let input = Arc::new(self.op(world, frames, size - 1, depth));
        // What has nothing to work on is not worth testing often.
        let choices = if size == 1 && self.chance(80) { 5 } else { 12 };
        match self.below(choices) {
            0..=2 => {
                let get = self.get(world, frames, depth, 0);
                frames.push(if get.structure == 0 {
                    Frame::First
                } else {
                    Frame::Second
                });
                Op::Get {
                    input,
                    get,
                    outer: self.chance(40),
                    estimate,
                }
            }
            3 | 4 => {
                let lists: Vec<Vec<Term>> = (0..=self.below(2))
                    .map(|_| self.list(world, frames, depth))
                    .collect();
                let get = self.get(world, frames, depth, lists.len());
                frames.push(Frame::First);
                let order = self.merge_order(world, &get, frames.len() as u16 - 1);
                Op::Merge {
                    input,
                    lists,
                    get,
                    order,
                    estimate,
                }
            }
            5 => {
                let of = match frames.iter().position(|f| *f == Frame::First) {
                    Some(f) => {
                        let column = 5 + self.below(2) as u16;
                        Term::Column {
                            frame: f as u16,
                            column,
                            path: vec![],
                        }
                    }
                    None => Term::Param(ParamId(1), vec![]),
                };
                frames.push(Frame::Element);
                Op::Elements { input, of }
            }
            6 | 7 => {
                let tests = (0..=self.below(2))
                    .map(|_| self.test(world, frames, depth))
                    .collect();
                Op::Filter {
                    input,
                    tests,
                    estimate,
                }
            }
            8 => {
                let by = (0..=self.below(2))
                    .map(|_| self.term(world, frames, depth))
                    .collect();
                Op::Distinct { input, by }
            }
            9 => {
                let by = (0..=self.below(2))
                    .map(|_| (self.term(world, frames, depth), self.direction()))
                    .collect();
                Op::Sort {
                    input,
                    by,
                    estimate,
                }
            }
            10 => {
                let count = match self.below(2) {
                    0 => Term::Param(ParamId(3), vec![]),
                    _ => Term::Const(Value::Int(self.below(8) as i64)),
                };
                Op::Limit {
                    input,
                    count,
                    last: self.chance(40),
                }
            }
            _ => {
                let group: Vec<Term> = (0..self.below(3))
                    .map(|_| self.term(world, frames, depth))
                    .collect();
                let aggregates: Vec<Aggregation> = (0..=self.below(3))
                    .map(|_| self.aggregation(world, frames, depth))
                    .collect();
                *frames = vec![Frame::Group((group.len() + aggregates.len()) as u16)];
                Op::Aggregate {
                    input,
                    group,
                    aggregates,
                    always: self.chance(50),
                    estimate,
                }
            }
        }
    }

    fn aggregation(&mut self, world: &World, frames: &[Frame], depth: usize) -> Aggregation {
        let function = [
            AggregateFn::Count,
            AggregateFn::Sum,
            AggregateFn::Min,
            AggregateFn::Max,
            AggregateFn::Avg,
        ][self.below(5)];
        if function == AggregateFn::Count && self.chance(50) {
            return Aggregation {
                function,
                distinct: false,
                arg: None,
                stored: false,
            };
        }
        // A state that is stored is of the aggregate itself; any value is one of an extreme.
        let extreme = matches!(function, AggregateFn::Min | AggregateFn::Max);
        Aggregation {
            function,
            distinct: self.chance(30),
            arg: Some(self.term(world, frames, depth)),
            stored: extreme && self.chance(30),
        }
    }

    /// A read from a cursor, in the get or above it, with a limit perhaps.
    fn paged(&mut self, world: &World, frames: &mut Vec<Frame>) -> Op {
        let before = self.chance(50);
        let page = if before {
            Page::Before(ParamId(2))
        } else {
            Page::After(ParamId(2))
        };
        let first = frames.len() as u16;
        frames.push(Frame::First);
        let eq = vec![Term::Const(self.small())];
        let inside = self.chance(60);
        let mut get = Get {
            structure: 0,
            eq,
            lower: None,
            upper: None,
            reverse: inside && self.chance(50),
            page: inside.then(|| page.clone()),
        };
        if self.chance(40) {
            get.lower = Some(self.bound());
        }
        let estimate = Estimate::default();
        let mut op = Op::Get {
            input: Arc::new(Op::Input),
            get,
            outer: false,
            estimate,
        };
        if self.chance(30) {
            let tests = vec![self.test(world, frames, 0)];
            op = Op::Filter {
                input: Arc::new(op),
                tests,
                estimate,
            };
        }
        if !inside {
            let by: Vec<_> = (1..3)
                .map(|column| {
                    (
                        Term::Column {
                            frame: first,
                            column,
                            path: vec![],
                        },
                        self.direction(),
                    )
                })
                .collect();
            op = Op::Sort {
                input: Arc::new(op),
                by: by.clone(),
                estimate,
            };
            op = Op::Page {
                input: Arc::new(op),
                by,
                page,
            };
        }
        if self.chance(70) {
            let count = Term::Const(Value::Int(self.below(5) as i64));
            op = Op::Limit {
                input: Arc::new(op),
                count,
                last: before,
            };
        }
        op
    }

    /// Any plans of the same columns, one after the other.
    fn united(&mut self, world: &World, frames: &mut Vec<Frame>, size: usize, depth: usize) -> Op {
        let columns = 1 + self.below(3);
        let branches = (0..=self.below(3)).map(|_| {
            let mut inner = frames.clone();
            let root = self.op(world, &mut inner, size, depth);
            let terms = (0..columns).map(|_| self.term(world, &inner, depth.min(1)));
            let terms: Vec<Term> = terms.collect();
            plan_of(root, frames.len(), terms)
        });
        let branches = branches.collect();
        frames.push(Frame::Group(columns as u16));
        Op::Unite {
            branches,
            keys: columns as u16,
            order: vec![],
            estimate: Estimate::default(),
        }
    }

    /// Partitions of structure 0, in the order of its key or sorted, or of a page of them; with a
    /// limit perhaps.
    fn united_in_order(&mut self, world: &World, frames: &mut Vec<Frame>) -> Op {
        let at = frames.len() as u16;
        let estimate = Estimate::default();
        let reverse = self.chance(50);
        let before = self.chance(50);
        let page = if before {
            Page::Before(ParamId(2))
        } else {
            Page::After(ParamId(2))
        };
        let page = self.chance(50).then_some(page);
        let column = |frame, column| Term::Column {
            frame,
            column,
            path: vec![],
        };
        let directed = |column: usize| match (world.layouts[0].key[column].direction, reverse) {
            (Direction::Asc, false) | (Direction::Desc, true) => Direction::Asc,
            _ => Direction::Desc,
        };
        let branches = (0..=self.below(3)).map(|_| {
            let mut inner = frames.clone();
            inner.push(Frame::First);
            let get = Get {
                structure: 0,
                eq: vec![self.int_term(world, frames, 0)],
                lower: self.chance(30).then(|| self.bound()),
                upper: None,
                reverse,
                page: page.clone(),
            };
            let mut root = Op::Get {
                input: Arc::new(Op::Input),
                get,
                outer: false,
                estimate,
            };
            if self.chance(30) {
                let tests = vec![self.test(world, &inner, 1)];
                root = Op::Filter {
                    input: Arc::new(root),
                    tests,
                    estimate,
                };
            }
            if self.chance(20) {
                let by = [1, 2].map(|c| (column(at, c as u16), directed(c)));
                root = Op::Sort {
                    input: Arc::new(root),
                    by: by.to_vec(),
                    estimate,
                };
            }
            plan_of(root, frames.len(), (0..7).map(|c| column(at, c)).collect())
        });
        let branches = branches.collect();
        frames.push(Frame::Group(7));
        // The first part is the same in all rows of a branch.
        let mut order: Vec<_> = [1, 2].map(|c| (column(at, c as u16), directed(c))).to_vec();
        order.push((column(at, 0), self.direction()));
        let unite = Op::Unite {
            branches,
            keys: 3,
            order,
            estimate,
        };
        if self.chance(40) {
            return unite;
        }
        let count = Term::Const(Value::Int(self.below(6) as i64));
        Op::Limit {
            input: Arc::new(unite),
            count,
            last: before,
        }
    }

    fn bound(&mut self) -> Bound {
        let term = match self.below(4) {
            0 => Term::Param(ParamId(0), vec![]),
            _ => Term::Const(self.small()),
        };
        Bound {
            term,
            inclusive: self.chance(50),
        }
    }

    /// What a merge goes over.
    fn list(&mut self, world: &World, frames: &[Frame], depth: usize) -> Vec<Term> {
        if self.chance(50) {
            return vec![Term::Param(ParamId(1), vec![])];
        }
        (0..self.below(4))
            .map(|_| self.int_term(world, frames, depth))
            .collect()
    }

    /// A get, in which each of so many lists has an element.
    fn get(&mut self, world: &World, frames: &[Frame], depth: usize, lists: usize) -> Get {
        let structure = if lists > 0 { 0 } else { self.below(2) as u16 };
        let parts = if structure == 0 { 3 } else { 1 };
        let mut eq: Vec<Term> = vec![];
        for _ in 0..self.below(parts + 1) {
            eq.push(self.int_term(world, frames, depth));
        }
        if lists > 0 {
            let at = self.below(2);
            eq.truncate(at);
            eq.extend((0..lists).map(|list| Term::Item(list as u16, vec![])));
        }
        let ranged = eq.len() < parts;
        Get {
            structure,
            lower: (ranged && self.chance(30)).then(|| self.bound()),
            upper: (ranged && self.chance(30)).then(|| self.bound()),
            eq,
            reverse: self.chance(40),
            page: None,
        }
    }

    /// The order that every branch of a merge gives by itself (its key parts behind those that
    /// are bound), or none.
    fn merge_order(&mut self, world: &World, get: &Get, frame: u16) -> Vec<(Term, Direction)> {
        if self.chance(30) {
            return Vec::new();
        }
        let parts = world.layouts[0].key.iter().enumerate().skip(get.eq.len());
        parts
            .map(|(column, part)| {
                let term = Term::Column {
                    frame,
                    column: column as u16,
                    path: vec![],
                };
                let reversed = (part.direction == Direction::Asc) == get.reverse;
                (
                    term,
                    if reversed {
                        Direction::Desc
                    } else {
                        Direction::Asc
                    },
                )
            })
            .collect()
    }

    fn int_term(&mut self, world: &World, frames: &[Frame], depth: usize) -> Term {
        let frame = self.below(frames.len().max(1));
        let column = |frame: usize, column| Term::Column {
            frame: frame as u16,
            column,
            path: vec![],
        };
        match frames.get(frame) {
            Some(Frame::First) if self.chance(60) => column(frame, self.below(3) as u16),
            Some(Frame::Second) if self.chance(60) => column(frame, 2 * self.below(2) as u16),
            Some(Frame::Element) if self.chance(60) => column(frame, 0),
            _ => match self.below(6) {
                0 => Term::Param(ParamId(0), vec![]),
                1 if depth > 0 && !frames.is_empty() => self.scalar(world, frames, depth),
                2 => Term::Call(
                    Function::Hash,
                    vec![Term::Param(ParamId(0), vec![]), Term::Const(Value::Int(6))],
                ),
                _ => Term::Const(self.small()),
            },
        }
    }

    /// A count of the rows of a subplan.
    fn scalar(&mut self, world: &World, frames: &[Frame], depth: usize) -> Term {
        let mut inner = frames.to_vec();
        let input = Arc::new(self.op(world, &mut inner, 1, depth - 1));
        let aggregates = vec![Aggregation {
            function: AggregateFn::Count,
            distinct: false,
            arg: None,
            stored: false,
        }];
        let root = Op::Aggregate {
            input,
            group: vec![],
            aggregates,
            always: true,
            estimate: Estimate::default(),
        };
        let term = Term::Column {
            frame: 0,
            column: 0,
            path: vec![],
        };
        let output = vec![Output {
            name: "n".into(),
            term,
            ty: Type::BigInt,
        }];
        Term::Sub(Arc::new(Sub::Scalar(Plan {
            outer: frames.len() as u16,
            root,
            output,
            cursor: vec![],
        })))
    }

    fn term(&mut self, world: &World, frames: &[Frame], depth: usize) -> Term {
        if frames.is_empty() {
            return self.int_term(world, frames, depth);
        }
        let frame = self.below(frames.len());
        let column = self.below(usize::from(width(frames[frame]))) as u16;
        let plain = Term::Column {
            frame: frame as u16,
            column,
            path: vec![],
        };
        match self.below(14) {
            0 => Term::Binary(
                [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div][self.below(4)],
                Box::new(plain),
                Box::new(self.int_term(world, frames, depth)),
            ),
            1 => Term::Key(vec![
                self.int_term(world, frames, 0),
                Term::Const(Value::Int(1)),
            ]),
            2 => Term::Shape(Box::new(plain), vec![self.term(world, frames, depth)]),
            3 => match frames.iter().position(|f| *f == Frame::First) {
                Some(f) => Term::At(
                    Box::new(Term::Column {
                        frame: f as u16,
                        column: 6,
                        path: vec![],
                    }),
                    Box::new(self.int_term(world, frames, 0)),
                ),
                None => plain,
            },
            4 | 5 if depth > 0 => {
                let mut inner = frames.to_vec();
                let root = self.op(world, &mut inner, 2, depth - 1);
                let plan = self.output(world, root, frames.len(), &inner, depth - 1);
                Term::Sub(Arc::new(if self.chance(70) {
                    Sub::Nested(plan)
                } else {
                    Sub::Scalar(plan)
                }))
            }
            6 if depth > 0 => self.scalar(world, frames, depth),
            _ => plain,
        }
    }

    fn test(&mut self, world: &World, frames: &[Frame], depth: usize) -> Test {
        let op = [
            Compare::Eq,
            Compare::Ne,
            Compare::Lt,
            Compare::Le,
            Compare::Gt,
            Compare::Ge,
        ][self.below(6)];
        match self.below(9) {
            0 => Test::Not(Box::new(self.test(world, frames, depth))),
            1 => Test::Or(vec![
                self.test(world, frames, depth),
                self.test(world, frames, depth),
            ]),
            2 => Test::And(vec![
                self.test(world, frames, depth),
                self.test(world, frames, depth),
            ]),
            3 => Test::InList(
                self.int_term(world, frames, depth),
                Term::Param(ParamId(1), vec![]),
            ),
            4 => Test::In(
                self.term(world, frames, depth),
                vec![
                    self.int_term(world, frames, depth),
                    self.term(world, frames, depth),
                ],
            ),
            5 => Test::IsNull(self.term(world, frames, depth)),
            6 if depth > 0 => {
                let mut inner = frames.to_vec();
                Test::Exists(Arc::new(self.op(world, &mut inner, 2, depth - 1)))
            }
            _ => Test::Compare(
                self.term(world, frames, depth),
                op,
                self.int_term(world, frames, depth),
            ),
        }
    }
}

fn plan_of(root: Op, outer: usize, terms: Vec<Term>) -> Plan {
    let output = |term| Output {
        name: "x".into(),
        term,
        ty: Type::Any,
    };
    Plan {
        outer: outer as u16,
        root,
        output: terms.into_iter().map(output).collect(),
        cursor: vec![],
    }
}

fn width(frame: Frame) -> u16 {
    match frame {
        Frame::First => 7,
        Frame::Second | Frame::Element => 3,
        Frame::Group(n) => n,
    }
}
