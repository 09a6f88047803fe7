//! Fenced blocks of a page.

use std::path::Path;

/// A page, by lines.
pub(crate) struct Page {
    lines: Vec<String>,
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Line of the opening fence, from 1.
    pub(crate) line: usize,
    /// What follows the opening fence.
    pub(crate) info: String,
    /// The text, without the indentation of the fence.
    pub(crate) text: String,
    /// How many lines the text has.
    lines: usize,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        Self {
            lines: text.lines().map(str::to_owned).collect(),
        }
    }

    pub(crate) fn write(&self, path: &Path) {
        std::fs::write(path, self.lines.join("\n") + "\n").unwrap();
    }

    /// All blocks in order.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = self.lines.iter().enumerate();
        while let Some((at, line)) = lines.next() {
            let ticks = line.trim_start().chars().take_while(|&c| c == '`').count();
            if ticks < 3 {
                continue;
            }
            let indent = line.len() - line.trim_start().len();
            let fence = "`".repeat(ticks);
            let inside: Vec<&str> = lines
                .by_ref()
                .map(|(_, line)| line.as_str())
                .take_while(|line| line.trim() != fence)
                .collect();
            let text: String = inside
                .iter()
                .flat_map(|line| [line.get(indent..).unwrap_or(""), "\n"])
                .collect();
            let info = line.trim_start()[ticks..].trim().to_owned();
            blocks.push(Block {
                line: at + 1,
                info,
                text,
                lines: inside.len(),
            });
        }
        blocks
    }

    /// Puts another text into a block.
    pub(crate) fn replace(&mut self, block: &Block, text: &str) {
        let fence = &self.lines[block.line - 1];
        let indent = " ".repeat(fence.len() - fence.trim_start().len());
        let lines = text
            .lines()
            .map(|line| format!("{indent}{line}").trim_end().to_owned());
        self.lines.splice(
            block.line..block.line + block.lines,
            lines.collect::<Vec<_>>(),
        );
    }
}

impl Block {
    /// The first word of the info.
    pub(crate) fn language(&self) -> &str {
        self.words().next().unwrap_or("")
    }

    /// The value of `name=value` in the info.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.words()
            .filter_map(|word| word.split_once('='))
            .find(|(n, _)| *n == name)
            .map(|o| o.1)
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.info.split([',', ' ']).filter(|word| !word.is_empty())
    }
}

#[test]
fn blocks_are_found_and_replaced() {
    let text = "a\n```querent,error=E012\nx\n```\n  ````console\n  $ b\n  ```\n  ````\n";
    let mut page = Page {
        lines: text.lines().map(str::to_owned).collect(),
    };
    let blocks = page.blocks();
    assert_eq!(blocks.len(), 2);
    assert_eq!(
        (blocks[0].language(), blocks[0].option("error")),
        ("querent", Some("E012"))
    );
    assert_eq!((blocks[1].line, blocks[1].text.as_str()), (5, "$ b\n```\n"));
    page.replace(&blocks[1], "$ b\nc\nd\n");
    assert_eq!(
        page.lines[4..],
        ["  ````console", "  $ b", "  c", "  d", "  ````"]
    );
}
