//! The text of the README, and the blocks in it.

use std::fmt::Write as _;
use std::path::Path;

/// A fenced block: what stands behind the fence, and the lines.
pub struct Block {
    pub info: String,
    pub lines: Vec<String>,
}

/// A command behind `$`, and what it prints.
pub struct Shown {
    pub command: String,
    pub output: String,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn text() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

pub fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in text().lines() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(info) => {
                inside = true;
                blocks.push(Block {
                    info: info.to_owned(),
                    lines: Vec::new(),
                });
            }
            None if inside => blocks.last_mut().unwrap().lines.push(line.to_owned()),
            None => {}
        }
    }
    assert!(!inside, "a block is not closed");
    blocks
}

impl Block {
    pub fn has(&self, word: &str) -> bool {
        self.info.split_whitespace().any(|other| other == word)
    }

    pub fn file(&self) -> Option<&str> {
        self.value("file=")
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.info.split_whitespace().find_map(|word| word.strip_prefix(key))
    }

    /// The program that it needs and that is not here.
    pub fn missing(&self) -> Option<&str> {
        self.value("needs=")
            .filter(|program| !Path::new("/usr/bin").join(program).exists())
    }

    pub fn commands(&self) -> Vec<Shown> {
        let mut shown: Vec<Shown> = Vec::new();
        for line in &self.lines {
            if let Some(command) = line.strip_prefix("$ ") {
                shown.push(Shown {
                    command: command.to_owned(),
                    output: String::new(),
                });
            } else if let Some(more) = line.strip_prefix("> ") {
                let last = shown.last_mut().unwrap();
                writeln!(last.command).unwrap();
                last.command.push_str(more);
            } else {
                let last = shown.last_mut().unwrap();
                writeln!(last.output, "{line}").unwrap();
            }
        }
        shown
    }
}
