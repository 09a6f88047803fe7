//! Arguments that several commands share.

use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

/// Forms of what a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// JSON, for programs
    Json,
}

/// `key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The first sign divides: a value may contain others.
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            _ if text.starts_with('{') => Err(format!(
                "found JSON, `{text}`, expected KEY=VALUE, such as name=Ann; JSON objects are read \
                 from standard input, one a line, with --stdin"
            )),
            _ => Err(format!(
                "found `{text}`, expected KEY=VALUE, such as name=Ann"
            )),
        }
    }
}

/// `ENTITY=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntityFile {
    pub(crate) entity: String,
    pub(crate) file: PathBuf,
}

impl FromStr for EntityFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((entity, file)) if !entity.is_empty() && !file.is_empty() => Ok(Self {
                entity: entity.to_owned(),
                file: file.into(),
            }),
            _ => Err(format!(
                "found `{text}`, expected ENTITY=FILE, such as User=users.csv"
            )),
        }
    }
}

/// Reads the folder of a database. A text with a scheme names a server: it is refused, and only its
/// scheme repeated, because the rest may hold a password.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatabaseFolder;

impl TypedValueParser for DatabaseFolder {
    type Value = PathBuf;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<PathBuf, clap::Error> {
        match value.to_string_lossy().split_once("://") {
            Some((scheme, _)) => {
                let message = format!(
                    "found an address that begins with `{scheme}://`, expected a folder: this \
                     version keeps databases in folders of this machine only\n"
                );
                let kind = clap::error::ErrorKind::ValueValidation;
                Err(clap::Error::raw(kind, message).with_cmd(command))
            }
            None => Ok(value.into()),
        }
    }
}

/// Reads a name. Those that are known are listed in the help and completed by shells; another one is
/// for the command to refuse, which knows what may have been meant, or to read as a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known(pub(crate) &'static [&'static str]);

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        clap::builder::StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sign_divides() {
        let pair: Pair = "url=https://a/?b=c".parse().unwrap();
        assert_eq!(
            (pair.key.as_str(), pair.value.as_str()),
            ("url", "https://a/?b=c")
        );
        assert_eq!("k=".parse::<Pair>().unwrap().value, "");
        assert!("=v".parse::<Pair>().is_err());
        assert!("v".parse::<Pair>().is_err());
        let file: EntityFile = "User.follows=f.csv".parse().unwrap();
        assert_eq!(file.entity, "User.follows");
    }
}
