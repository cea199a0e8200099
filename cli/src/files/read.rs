//! Reads files as a whole. Lists are read elsewhere, as streams.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::streams::Streams;

/// Reads a regular file, but no more than `most` + 1 bytes. A pipe could block the tool forever, and a device has no
/// end.
pub fn regular(path: &Path, most: u64) -> Result<Vec<u8>> {
    let read = || -> Result<Vec<u8>> {
        let file = fs::metadata(path)?;
        ensure!(file.is_file(), "this is not a file");
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().with_context(|| path.display().to_string())
}

/// Reads a file; `-` is standard input. If it doesn't begin with `magic`, only as many bytes: it may be huge, or have no
/// end.
pub fn any(path: &Path, magic: &[u8], streams: &mut Streams) -> Result<Vec<u8>> {
    let bytes = if path == Path::new("-") {
        whole(&mut streams.input, magic)
    } else {
        fs::File::open(path).and_then(|file| whole(file, magic))
    };
    bytes.with_context(|| name(path))
}

fn whole(mut file: impl Read, magic: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.by_ref().take(magic.len() as u64).read_to_end(&mut bytes)?;
    if bytes == magic {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Refuses to read standard input twice: the second time it would be empty.
pub fn check_stdin<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    if paths.into_iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        bail!("standard input can be read only once");
    }
    Ok(())
}

/// The name of a file in messages.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Whether a file has these bytes. A link to the same ones may lead elsewhere tomorrow.
pub fn is_there(path: &Path, bytes: &[u8]) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file())
        && regular(path, bytes.len() as u64).is_ok_and(|there| there == bytes)
}

/// Where a path leads. What isn't there yet will be made, so no link is among it.
pub fn place(path: &Path) -> Result<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let absolute = std::path::absolute(path).with_context(|| path.display().to_string())?;
    let mut place = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => {
                place.push(name);
                place = place.canonicalize().unwrap_or(place);
            }
            root => place.push(root),
        }
    }
    Ok(place)
}
