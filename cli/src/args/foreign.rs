//! `--option`: the options of other software's formats. Their names are those of the package's options.

use anyhow::{Context, Result, anyhow, bail, ensure};
use bloom_wasm::Profile;
use bloom_wasm::interop::{Format, KeyType, Options};

/// An option of a format, and its value.
#[derive(Debug, Clone)]
pub struct Choice {
    name: String,
    value: String,
}

/// Reads NAME=VALUE.
pub fn parse_choice(text: &str) -> Result<Choice> {
    let (name, value) = text.split_once('=').context("give a name and a value, such as funnel=utf8")?;
    Ok(Choice { name: name.to_owned(), value: value.to_owned() })
}

/// The options of a format that knows these names.
pub fn options(choices: &[Choice], format: Format, names: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    for (i, Choice { name, value }) in choices.iter().enumerate() {
        let mut set = || -> Result<()> {
            ensure!(names.contains(&name.as_str()), "there is no such option");
            ensure!(choices[..i].iter().all(|other| other.name != *name), "this option is given twice");
            // No text that an option takes is a number.
            match value.parse() {
                Ok(number) => options.set_number(name, number)?,
                Err(_) => options.set_text(name, value.clone())?,
            }
            Ok(())
        };
        set().map_err(|error| {
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            anyhow!("--option {name}={value}: {error}; {} has {known}", format.name())
        })?;
    }
    Ok(options)
}

/// Fails for numbers as keys in a profile that makes text of its input, and for hashes that would be hashed again.
pub fn require_text(keys: KeyType, profile: Profile) -> Result<()> {
    if profile != Profile::Raw && keys.width().is_some() {
        bail!("--profile {} can't be used with keys that are numbers", profile.name());
    }
    if keys == KeyType::Sha1 && matches!(profile, Profile::Password { sha1: true, .. }) {
        bail!("--sha1 can't be used with filterpassword, which hashes the passwords itself");
    }
    Ok(())
}
