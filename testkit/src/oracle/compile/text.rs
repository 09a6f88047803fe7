//! Small pieces of SQL.

use super::Sql;
use crate::oracle::OracleError;
use crate::oracle::functions::sql;
use querent_compiler::model::{Aggregate, AggregateFn, Binary, Direction, Expr, Function};
use querent_compiler::value::Value;
use std::fmt::Write;

pub(super) fn literal(value: &Value) -> String {
    match sql(value) {
        None => "NULL".to_owned(),
        Some(bytes) => {
            let mut text = "X'".to_owned();
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text + "'"
        }
    }
}

pub(super) fn part_of(value: &str, path: &[u16]) -> String {
    if path.is_empty() {
        return value.to_owned();
    }
    let steps: Vec<String> = path.iter().map(u16::to_string).collect();
    format!("q_part({value}, {})", steps.join(", "))
}

pub(super) fn binary_name(op: Binary) -> &'static str {
    match op {
        Binary::Add => "q_add",
        Binary::Sub => "q_sub",
        Binary::Mul => "q_mul",
        Binary::Div => "q_div",
    }
}

pub(super) fn call(function: Function, args: &[String]) -> Sql {
    let name = match function {
        Function::Minute => "q_minute",
        Function::Hour => "q_hour",
        Function::Day => "q_day",
        Function::Month => "q_month",
        Function::Year => "q_year",
        Function::Time => "q_time",
        _ => {
            return Err(OracleError::Unfit(format!(
                "{function:?} is not a function of questions"
            )));
        }
    };
    Ok(format!("{name}({})", args.join(", ")))
}

pub(super) fn aggregate_call(aggregate: &Aggregate, arg: Option<&str>) -> String {
    let Some(arg) = arg else {
        return "q_int(COUNT(*))".to_owned();
    };
    let distinct = if aggregate.distinct { "DISTINCT " } else { "" };
    match aggregate.function {
        AggregateFn::Count => format!("q_int(COUNT({distinct}{arg}))"),
        AggregateFn::Sum => format!("q_sum({distinct}{arg})"),
        AggregateFn::Avg => format!("q_avg({distinct}{arg})"),
        AggregateFn::Min => format!("MIN({arg})"),
        // Of one row at most, the greatest is the only one.
        AggregateFn::Max | AggregateFn::Only => format!("MAX({arg})"),
    }
}

/// ` ORDER BY` over the columns `o0…`. `SQLite` sorts null first when ascending, as we do.
pub(super) fn order_by(prefix: &str, order: &[(Expr, Direction)], backwards: bool) -> String {
    if order.is_empty() {
        return String::new();
    }
    let terms: Vec<String> = order
        .iter()
        .enumerate()
        .map(|(i, (_, direction))| {
            let descending = (*direction == Direction::Desc) != backwards;
            format!("{prefix}o{i} {}", if descending { "DESC" } else { "ASC" })
        })
        .collect();
    format!(" ORDER BY {}", terms.join(", "))
}

/// True of the rows strictly after the cursor in the order, or strictly before it.
pub(super) fn beyond(
    alias: &str,
    order: &[(Expr, Direction)],
    cursor: &[Value],
    backwards: bool,
) -> String {
    let mut alternatives = Vec::new();
    let mut equal = String::new();
    for (i, ((_, direction), value)) in order.iter().zip(cursor).enumerate() {
        let column = format!("{alias}.o{i}");
        let value = literal(value);
        let descending = (*direction == Direction::Desc) != backwards;
        let (low, high) = if descending {
            (&column, &value)
        } else {
            (&value, &column)
        };
        // Null is below everything.
        alternatives.push(format!(
            "({equal}({low} IS NULL AND {high} IS NOT NULL OR COALESCE({low} < {high}, 0)))"
        ));
        let _ = write!(equal, "{column} IS {value} AND ");
    }
    if alternatives.is_empty() {
        "1".to_owned()
    } else {
        alternatives.join(" OR ")
    }
}
