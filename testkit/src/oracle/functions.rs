//! The functions of values that SQL has not, registered with `SQLite`.

use super::codec::{decode, encode};
use crate::eval::{at, contains};
use crate::facts::part;
use crate::numbers;
use querent_compiler::model::{Binary, Function};
use querent_compiler::value::Value;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};

/// Registers all of them.
pub(super) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let binaries = [
        ("q_add", Binary::Add),
        ("q_sub", Binary::Sub),
        ("q_mul", Binary::Mul),
        ("q_div", Binary::Div),
    ];
    for (name, op) in binaries {
        connection.create_scalar_function(name, 2, flags, move |c| {
            Ok(sql(&numbers::binary(op, &arg(c, 0)?, &arg(c, 1)?)))
        })?;
    }
    let calls = [
        ("q_minute", Function::Minute),
        ("q_hour", Function::Hour),
        ("q_day", Function::Day),
        ("q_month", Function::Month),
        ("q_year", Function::Year),
        ("q_time", Function::Time),
    ];
    for (name, function) in calls {
        connection.create_scalar_function(name, 1, flags, move |c| {
            Ok(sql(&numbers::call(function, &arg(c, 0)?)))
        })?;
    }
    connection
        .create_scalar_function("q_at", 2, flags, |c| Ok(sql(&at(&arg(c, 0)?, &arg(c, 1)?))))?;
    connection
        .create_scalar_function("q_in", 2, flags, |c| Ok(contains(&arg(c, 1)?, &arg(c, 0)?)))?;
    connection.create_scalar_function("q_order", 2, flags, |c| {
        let (a, b) = (arg(c, 0)?, arg(c, 1)?);
        Ok((!a.is_null() && !b.is_null()).then(|| numbers::order(&a, &b) as i64))
    })?;
    connection.create_scalar_function("q_part", -1, flags, |c| {
        let mut path = Vec::new();
        for i in 1..c.len() {
            path.push(c.get::<u16>(i)?);
        }
        Ok(sql(part(&arg(c, 0)?, &path)))
    })?;
    connection.create_scalar_function("q_record", -1, flags, |c| {
        let fields: Result<Vec<Value>> = (0..c.len()).map(|i| arg(c, i)).collect();
        Ok(sql(&Value::Record(fields?)))
    })?;
    connection.create_scalar_function("q_int", 1, flags, |c| Ok(sql(&Value::Int(c.get(0)?))))?;
    connection.create_aggregate_function("q_sum", 1, flags, Gather(numbers::sum))?;
    connection.create_aggregate_function("q_avg", 1, flags, Gather(numbers::avg))?;
    connection.create_aggregate_function(
        "q_list",
        1,
        flags,
        Gather(|values| Value::List(values.to_vec())),
    )
}

/// A value as `SQLite` stores it.
pub(super) fn sql(value: &Value) -> Option<Vec<u8>> {
    if value.is_null() {
        None
    } else {
        Some(encode(value))
    }
}

/// A value as `SQLite` hands it out.
pub(super) fn value(sql: ValueRef<'_>) -> Result<Value> {
    match sql {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Blob(bytes) => {
            decode(bytes).ok_or_else(|| bad(format!("undecodable blob {bytes:02x?}")))
        }
        other => Err(bad(format!(
            "{other:?} where an encoded value was expected"
        ))),
    }
}

fn bad(what: String) -> Error {
    Error::UserFunctionError(what.into())
}

fn arg(context: &Context<'_>, i: usize) -> Result<Value> {
    value(context.get_raw(i))
}

/// An aggregate that gathers the values that are not null and computes from all of them.
struct Gather(fn(&[Value]) -> Value);

impl Aggregate<Vec<Value>, Option<Vec<u8>>> for Gather {
    fn init(&self, _: &mut Context<'_>) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }
    fn step(&self, context: &mut Context<'_>, gathered: &mut Vec<Value>) -> Result<()> {
        let value = arg(context, 0)?;
        if !value.is_null() {
            gathered.push(value);
        }
        Ok(())
    }
    fn finalize(
        &self,
        _: &mut Context<'_>,
        gathered: Option<Vec<Value>>,
    ) -> Result<Option<Vec<u8>>> {
        Ok(sql(&(self.0)(&gathered.unwrap_or_default())))
    }
}
