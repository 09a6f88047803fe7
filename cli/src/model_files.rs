//! A model's text: one file, or the `.querent` files of a folder as if they were one.

use anyhow::{Context, Result, bail};
use querent_compiler::codec::check_text;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The files of a model, in the order in which they are read.
pub(crate) struct ModelFiles {
    files: Vec<ModelFile>,
}

/// One file and where it starts in the whole text.
pub(crate) struct ModelFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) start: usize,
}

impl ModelFiles {
    /// Reads a file, a folder, or standard input (`-`).
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let paths = if path.is_dir() {
            folder(path)?
        } else {
            vec![path.to_owned()]
        };
        let mut texts = paths
            .into_iter()
            .map(|path| read_one(&path).map(|text| (path, text)))
            .collect::<Result<Vec<_>>>()?;
        // The file that names the model comes first; the others follow by name.
        texts.sort_by_key(|(_, text)| !names_model(text));
        let mut start = 0;
        let files = texts.into_iter().map(|(path, text)| {
            let file = ModelFile { path, text, start };
            start = file.end() + 1;
            file
        });
        Ok(Self {
            files: files.collect(),
        })
    }

    /// With one more file behind the others.
    pub(crate) fn and(mut self, path: PathBuf, text: String) -> Self {
        let start = self.files.last().map_or(0, |file| file.end() + 1);
        self.files.push(ModelFile { path, text, start });
        self
    }

    /// All files, at least one.
    pub(crate) fn files(&self) -> &[ModelFile] {
        &self.files
    }

    /// The whole text: the files one after the other, divided by line ends.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self.files.iter().map(|f| f.text.as_str()).collect();
        texts.join("\n")
    }

    /// The file that contains a byte of the whole text.
    pub(crate) fn at(&self, offset: usize) -> Option<&ModelFile> {
        self.files.iter().rev().find(|f| f.start <= offset)
    }
}

impl ModelFile {
    /// One past the last byte, in the whole text.
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry
            .with_context(|| format!("reading {}", path.display()))?
            .path();
        if entry.extension().is_some_and(|e| e == "querent") && entry.is_file() {
            paths.push(entry);
        }
    }
    if paths.is_empty() {
        bail!("no .querent file in the folder {}", path.display());
    }
    paths.sort();
    Ok(paths)
}

fn read_one(path: &Path) -> Result<String> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        read.context("reading standard input")?;
        bytes
    } else {
        std::fs::read(path).with_context(|| format!("reading {}", path.display()))?
    };
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        check_text(line).with_context(|| format!("{}:{}", path.display(), at + 1))?;
    }
    Ok(String::from_utf8(bytes)?)
}

fn names_model(text: &str) -> bool {
    text.lines()
        .any(|line| line.trim_start().starts_with("model "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_text_and_places_lead_back() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.querent"), "entity A {}\n").unwrap();
        std::fs::write(folder.path().join("b.querent"), "model m\n").unwrap();
        std::fs::write(folder.path().join("c.txt"), "no").unwrap();
        let files = ModelFiles::read(folder.path()).unwrap();
        assert_eq!(files.text(), "model m\n\nentity A {}\n");
        assert!(files.at(0).unwrap().path.ends_with("b.querent"));
        let place = files.text().find("entity").unwrap();
        let file = files.at(place).unwrap();
        assert!(file.path.ends_with("a.querent"));
        assert_eq!(place - file.start, 0);
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = ModelFiles::read(folder.path()).err().unwrap();
        assert!(error.to_string().starts_with("no .querent file"));
        let error = ModelFiles::read(&folder.path().join("x.querent"))
            .err()
            .unwrap();
        assert!(error.to_string().contains("x.querent"));
        let broken = folder.path().join("y.querent");
        std::fs::write(&broken, b"model m\nentity \xe9 {}\n").unwrap();
        let error = format!("{:#}", ModelFiles::read(&broken).err().unwrap());
        let said = "y.querent:2: found the byte 0xe9 (column 8), expected text in UTF-8";
        assert!(error.ends_with(said), "{error}");
    }
}
