//! Lists with a tag.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};

/// A list, and the name of its tag.
#[derive(Debug, Clone)]
pub struct TagList {
    pub name: String,
    pub list: PathBuf,
}

/// Lists with a tag.
#[derive(clap::Args)]
pub struct TagArgs {
    /// A list whose keys get a tag, such as phishing=phishing.txt; can be repeated. `check` then says which tags a key
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

    /// The known names, in their order, and then the others.
    ///
    /// # Errors
    /// If a name is given twice.
    pub fn names<'a>(&self, known: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
        let mut names: Vec<_> = known.map(str::to_owned).collect();
        for (i, TagList { name, .. }) in self.tags.iter().enumerate() {
            let is_new = self.tags[..i].iter().all(|other| other.name != *name);
            ensure!(is_new, "--tag {name} is given twice; join its lists");
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    /// Whether there is a list for a tag.
    pub fn has(&self, name: &str) -> bool {
        self.tags.iter().any(|tag| tag.name == name)
    }

    /// The lists of all tags.
    pub fn lists(&self) -> impl Iterator<Item = &PathBuf> {
        self.tags.iter().map(|tag| &tag.list)
    }
}

/// Tags that are dropped.
#[derive(clap::Args)]
pub struct WithoutArgs {
    /// A tag that the feed had before and no longer has; can be repeated
    #[arg(long, value_name = "NAME")]
    without_tag: Vec<String>,
}

impl WithoutArgs {
    /// Whether this tag is dropped.
    pub fn gives_up(&self, name: &str) -> bool {
        self.without_tag.iter().any(|tag| tag == name)
    }

    /// Fails if a tag of the last generation is neither given now nor dropped, or if one is dropped that neither this
    /// generation nor its lists had.
    pub fn check(&self, before: &[&str], of_lists: &[&str], now: &TagArgs) -> Result<()> {
        if let Some(name) = self.without_tag.iter().find(|name| now.has(name)) {
            bail!("--tag and --without-tag name the same tag, {name}");
        }
        let had = |name: &str| before.contains(&name) || of_lists.contains(&name);
        if let Some(name) = self.without_tag.iter().find(|name| !had(name)) {
            bail!("--without-tag {name}: the feed has no such tag");
        }
        if let Some(name) = before.iter().find(|name| !now.has(name) && !self.gives_up(name)) {
            bail!(
                "the feed had a tag {name}, which clients may ask for: give its list with --tag {name}=LIST, or drop it \
                 with --without-tag {name}"
            );
        }
        Ok(())
    }
}
