//! Lists with a tag.

use std::path::PathBuf;

use anyhow::{Result, ensure};

/// A list, and the name of its tag.
#[derive(Debug, Clone)]
pub struct TagList {
    pub name: String,
    pub list: PathBuf,
}

/// Lists with a tag.
#[derive(clap::Args)]
pub struct TagArgs {
    /// A list whose keys get a tag, such as phishing=phishing.txt; can be repeated, also with one name. `check` then says which tags a key
    /// has. A key can be on several lists, and has no tag if it is only on a list without one
    #[arg(long = "tag", value_name = "NAME=LIST", value_parser = parse)]
    pub tags: Vec<TagList>,
}

fn parse(text: &str) -> Result<TagList> {
    let (name, list) = text.split_once('=').unwrap_or((text, ""));
    ensure!(!list.is_empty(), "give a name and a list, such as phishing=phishing.txt");
    bloom_wasm::internal::require_tag_name(name)?;
    Ok(TagList { name: name.to_owned(), list: list.into() })
}

impl TagArgs {
    pub fn any(&self) -> bool {
        !self.tags.is_empty()
    }

    /// The name of the tag of each list.
    pub fn of_lists(&self) -> Vec<&str> {
        self.tags.iter().map(|tag| &tag.name[..]).collect()
    }

    /// The names of all tags, each once.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for TagList { name, .. } in &self.tags {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The lists of all tags.
    pub fn lists(&self) -> impl Iterator<Item = &PathBuf> {
        self.tags.iter().map(|tag| &tag.list)
    }
}
