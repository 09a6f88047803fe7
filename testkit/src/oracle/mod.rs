//! The oracle: the normalised model in `SQLite`, and questions as SQL over it.
//!
//! Every value is stored as a blob that compares as the value does ([`codec`]), so that joins,
//! filters, groups, order and limits are `SQLite`'s own; only functions of values are ours.

pub mod codec;
mod compile;
mod functions;
mod schema;

use crate::eval::Answer;
use crate::facts::Facts;
use querent_compiler::model::{Model, Query};
use querent_compiler::value::Value;
use rusqlite::Connection;

/// Why the oracle has no answer. Always a fault of the oracle or of the model it was given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OracleError {
    /// `SQLite` failed.
    #[error("SQLite failed: {error}; the statement was: {sql}")]
    Sqlite {
        /// Its error.
        error: rusqlite::Error,
        /// The statement.
        sql: String,
    },
    /// The query does not fit the model.
    #[error("the query does not fit the model: {0}")]
    Unfit(String),
}

/// Facts in `SQLite`.
pub struct Oracle<'m> {
    model: &'m Model,
    connection: Connection,
}

impl<'m> Oracle<'m> {
    /// Loads facts into a database in memory.
    pub fn load(model: &'m Model, facts: &Facts) -> Result<Oracle<'m>, OracleError> {
        let open = || {
            let connection = Connection::open_in_memory()?;
            functions::register(&connection)?;
            connection.execute_batch("BEGIN")?;
            schema::load(&connection, model, facts)?;
            connection.execute_batch("COMMIT")?;
            Ok(connection)
        };
        let connection = open().map_err(|error| OracleError::Sqlite {
            error,
            sql: "(loading)".to_owned(),
        })?;
        Ok(Oracle { model, connection })
    }

    /// Answers a query by one SQL statement. A cursor parameter is a `Value::List` of the values
    /// of the order, or null.
    pub fn answer(&self, query: &Query, params: &[Value]) -> Result<Answer, OracleError> {
        let sql = self.sql(query, params)?;
        self.run(&sql, query)
            .map_err(|error| OracleError::Sqlite { error, sql })
    }

    /// The SQL of a query, parameters included.
    pub fn sql(&self, query: &Query, params: &[Value]) -> Result<String, OracleError> {
        compile::query(self.model, query, params)
    }

    fn run(&self, sql: &str, query: &Query) -> rusqlite::Result<Answer> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut answer = Answer::default();
        while let Some(row) = rows.next()? {
            let columns: rusqlite::Result<Vec<Value>> = (0..query.select.len() + query.order.len())
                .map(|i| functions::value(row.get_ref(i)?))
                .collect();
            let mut columns = columns?;
            answer.order.push(columns.split_off(query.select.len()));
            answer.rows.push(columns);
        }
        Ok(answer)
    }
}
