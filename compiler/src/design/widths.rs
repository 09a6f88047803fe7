//! Widths: how many bytes values take and how many elements collections have, on average and at
//! most.

use super::stats::{Extent, Stats};
use super::worst::MAX_OVER_AVG;
use crate::model::{Expr, Model, Query, Size, Type};
use crate::value::Value;
use crate::view::typing::Scope;

impl Stats<'_> {
    /// Bytes of an expression's value.
    pub(crate) fn bytes(&self, scope: &Scope, expr: &Expr) -> Extent {
        match expr {
            Expr::Nested(from, query) => {
                let inner = scope.inner(self.model, *from, &query.over);
                let fan = self.nested(&inner, query);
                let mut row = Extent { avg: 4.0, max: 4.0 };
                for item in &query.select {
                    let b = self.bytes(&inner, &item.expr);
                    row = Extent {
                        avg: row.avg + b.avg,
                        max: row.max + b.max,
                    };
                }
                Extent {
                    avg: fan.avg * row.avg,
                    max: fan.max * row.max,
                }
            }
            _ => type_bytes(self.model, &scope.type_of(self.model, &[], expr).0),
        }
    }

    /// Elements of the largest collection of a column; 0 where it has none.
    pub(crate) fn elements(&self, scope: &Scope, column: &Expr) -> f64 {
        match column {
            Expr::Nested(from, query) => {
                let inner = scope.inner(self.model, *from, &query.over);
                let own = self.nested(&inner, query).max;
                let below = query.select.iter().map(|i| self.elements(&inner, &i.expr));
                below.fold(own, f64::max)
            }
            _ => type_elements(&scope.type_of(self.model, &[], column).0),
        }
    }

    /// Rows of a nested shape, up to its limit; `inner` is its scope.
    fn nested(&self, inner: &Scope, query: &Query) -> Extent {
        let limit = match query.limit {
            Some(Expr::Const(Value::Int(n))) => n as f64,
            _ => f64::INFINITY,
        };
        let fans = query.over.iter().map(|u| self.fan(u, inner));
        let all = fans.fold(Extent { avg: 1.0, max: 1.0 }, |all, f| Extent {
            avg: all.avg * f.avg,
            max: all.max * f.max,
        });
        Extent {
            avg: all.avg.min(limit),
            max: all.max.min(limit),
        }
    }
}

pub(crate) fn collection(ty: &Type) -> Extent {
    match ty {
        Type::List(_, s) | Type::Set(_, s) | Type::Map(_, _, s) => extent(s),
        _ => Extent { avg: 1.0, max: 1.0 },
    }
}

/// Elements of the largest collection that a value of a type holds.
fn type_elements(ty: &Type) -> f64 {
    match ty {
        Type::List(t, _) | Type::Set(t, _) | Type::Map(_, t, _) => {
            collection(ty).max.max(type_elements(t))
        }
        Type::Record(fields) => {
            let inner = fields.iter().map(|f| type_elements(&f.ty));
            inner.fold(0.0, f64::max)
        }
        _ => 0.0,
    }
}

fn extent(size: &Size) -> Extent {
    Extent {
        avg: size.avg,
        max: size.max.unwrap_or(size.avg * MAX_OVER_AVG),
    }
}

/// Bytes of a value of a type, on average and at most.
pub(crate) fn type_bytes(model: &Model, ty: &Type) -> Extent {
    let exact = |n: f64| Extent { avg: n, max: n };
    match ty {
        Type::Bool => exact(1.0),
        Type::Int | Type::Date => exact(4.0),
        Type::BigInt | Type::Float | Type::Timestamp => exact(8.0),
        Type::Decimal | Type::Uuid | Type::TimeUuid | Type::Point => exact(16.0),
        Type::Enum(_) | Type::Tag(_) => exact(2.0),
        Type::Any => Extent {
            avg: 16.0,
            max: 1600.0,
        },
        Type::Cursor => exact(0.0),
        Type::Text(s) | Type::Blob(s) => {
            let e = extent(s);
            Extent {
                avg: e.avg + 2.0,
                max: e.max + 2.0,
            }
        }
        Type::List(t, s) | Type::Set(t, s) => {
            let (e, b) = (extent(s), type_bytes(model, t));
            Extent {
                avg: e.avg * b.avg,
                max: e.max * b.max,
            }
        }
        Type::Map(k, v, s) => {
            let (e, k, v) = (extent(s), type_bytes(model, k), type_bytes(model, v));
            Extent {
                avg: e.avg * (k.avg + v.avg),
                max: e.max * (k.max + v.max),
            }
        }
        Type::Record(fields) => fields.iter().fold(exact(1.0), |sum, f| {
            let b = type_bytes(model, &f.ty);
            Extent {
                avg: sum.avg + b.avg,
                max: sum.max + b.max,
            }
        }),
        Type::Key(e) => model.key_leaves(*e).iter().fold(exact(0.0), |sum, leaf| {
            let b = type_bytes(model, &model.attribute(leaf.attribute).ty);
            Extent {
                avg: sum.avg + b.avg,
                max: sum.max + b.max,
            }
        }),
    }
}
