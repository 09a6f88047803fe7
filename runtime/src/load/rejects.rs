//! Rows that were not accepted.

use super::input::WRITTEN_AT_ONCE;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

/// A row of a file that was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The file as it was named.
    pub file: String,
    /// The line on which the row starts, from 1.
    pub line: u64,
    /// What was found, what was expected, where.
    pub reason: String,
    /// The row as it was read.
    pub text: String,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

/// Writes rejects to a CSV file: file, line, reason, text.
#[derive(Debug)]
pub struct RejectWriter {
    csv: csv::Writer<File>,
    count: u64,
}

impl RejectWriter {
    /// Creates the file, or empties it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut csv = csv::WriterBuilder::new()
            .buffer_capacity(WRITTEN_AT_ONCE)
            .from_writer(File::create(path)?);
        csv.write_record(["file", "line", "reason", "text"])
            .map_err(io::Error::from)?;
        Ok(Self { csv, count: 0 })
    }

    /// Adds one.
    pub fn write(&mut self, reject: &Reject) -> io::Result<()> {
        let line = reject.line.to_string();
        self.count += 1;
        self.csv
            .write_record([reject.file.as_str(), &line, &reject.reason, &reject.text])
            .map_err(io::Error::from)
    }

    /// Writes what is buffered; gives the number of rejects.
    pub fn finish(mut self) -> io::Result<u64> {
        self.csv.flush()?;
        Ok(self.count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rejects_are_readable_csv() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rejects.csv");
        let mut writer = RejectWriter::create(&path).unwrap();
        let reject = Reject {
            file: "u.csv".into(),
            line: 3,
            reason: "id: found `x`, expected a whole number".into(),
            text: "x,\"a\nb\"".into(),
        };
        assert_eq!(
            reject.to_string(),
            "u.csv:3: id: found `x`, expected a whole number"
        );
        writer.write(&reject).unwrap();
        assert_eq!(writer.finish().unwrap(), 1);
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let record = reader.records().next().unwrap().unwrap();
        assert_eq!(record.get(1), Some("3"));
        assert_eq!(record.get(3), Some("x,\"a\nb\""));
    }
}
