//! Writes a blob. A file is replaced as a whole or not at all; a device or a pipe is written to.

use std::collections::HashSet;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};
use tempfile::NamedTempFile;

use super::signals;
use crate::streams::Streams;
use crate::text::in_words;

/// Fails early if nothing can be written to the path.
pub fn check(path: &Path) -> Result<()> {
    if is_stdout(path) {
        return Ok(());
    }
    if ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].into_iter().any(|name| path == Path::new(name)) {
        bail!("{}: standard input can't be the output", path.display());
    }
    let (file, there) = target(path)?;
    if there.is_none() {
        let name = || path.display().to_string();
        let folder = fs::metadata(folder(&file)).with_context(name)?;
        // A path that ends in a slash names a folder.
        if !folder.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::Error::from(io::ErrorKind::NotADirectory)).with_context(name);
        }
    }
    Ok(())
}

/// Fails if one of the inputs is the file that would be replaced, also if it is read from standard input. `what` says
/// what they are, such as "a list".
pub fn check_inputs<'a>(
    what: &str,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    output: &Path,
) -> Result<()> {
    let to = if is_stdout(output) { identity::of_stdout() } else { identity::of_file(output) };
    let from =
        |input: &PathBuf| if input.as_os_str() == "-" { identity::of_stdin() } else { identity::of(input) };
    if to.is_some() && inputs.into_iter().any(|input| from(input) == to) {
        bail!("{}: this is both {what} and the output", output.display());
    }
    Ok(())
}

/// Whether two paths lead to one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    identity::of(one).is_some_and(|one| identity::of(other) == Some(one))
}

/// What tells files apart. None for a file that can't be reached.
#[cfg(any(unix, target_os = "wasi"))]
mod identity {
    use std::path::Path;

    use rustix::fs::{FileType, Stat, fstat, stat};

    /// Wide enough for the types of all systems.
    type Id = (i128, i128);

    fn id(file: Stat) -> Id {
        (file.st_dev.into(), file.st_ino.into())
    }

    pub fn of(path: &Path) -> Option<Id> {
        stat(super::slashed(path)).ok().map(id)
    }

    pub fn of_stdin() -> Option<Id> {
        fstat(rustix::stdio::stdin()).ok().map(id)
    }

    /// Only of a file: several programs may write to a device or a pipe.
    pub fn of_stdout() -> Option<Id> {
        fstat(rustix::stdio::stdout()).ok().filter(is_file).map(id)
    }

    /// The same for what a path leads to.
    pub fn of_file(path: &Path) -> Option<Id> {
        stat(super::slashed(path)).ok().filter(is_file).map(id)
    }

    fn is_file(file: &Stat) -> bool {
        FileType::from_raw_mode(file.st_mode).is_file()
    }
}

/// Windows' file identities aren't stable in the standard library, so this can't tell that two names are hard links to
/// one file, nor which file standard input is.
#[cfg(not(any(unix, target_os = "wasi")))]
mod identity {
    use std::path::{Path, PathBuf};

    pub fn of(path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    pub fn of_file(path: &Path) -> Option<PathBuf> {
        of(path).filter(|path| path.is_file())
    }

    pub fn of_stdin() -> Option<PathBuf> {
        None
    }

    pub fn of_stdout() -> Option<PathBuf> {
        None
    }
}

/// Whether the path names standard output.
pub fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].into_iter().any(|name| path == Path::new(name))
}

/// The folder of a file.
fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Whether the path names an open file by its number, as a shell does.
fn is_descriptor(file: &Path) -> bool {
    folder(file)
        .canonicalize()
        .is_ok_and(|folder| folder.starts_with("/proc") || folder.starts_with("/dev/fd"))
}

/// Follows a path through all links. Returns the file it leads to, which may not exist, and the metadata of what
/// exists. The number of an open file doesn't count as a link: the file may have no name any more, or others may be
/// writing to it.
///
/// # Errors
/// If the path leads to a folder, or can't be reached. If it names an open file: the output would stand behind or over
/// what is in it, and that is no blob.
fn target(path: &Path) -> Result<(PathBuf, Option<Metadata>)> {
    let there = unless_folder(path, fs::metadata(path))?;
    let mut file = slashed(path);
    // Links that lead in a circle are refused above.
    while !is_descriptor(&file)
        && let Ok(next) = fs::read_link(&file)
    {
        file.pop();
        file.push(next);
    }
    if there.as_ref().is_some_and(Metadata::is_file) && is_descriptor(&file) {
        bail!("{}: this is an open file; give its path, or use standard output", path.display());
    }
    Ok((file, there))
}

/// The place of a file in a folder of the tool's own, and the metadata of the file that is there. Others may have put
/// something else there: a link isn't followed, and like a pipe it is replaced.
///
/// # Errors
/// If there is a folder, or the place can't be reached.
fn place(path: &Path) -> Result<(PathBuf, Option<Metadata>)> {
    let there = unless_folder(path, fs::symlink_metadata(path))?;
    Ok((slashed(path), there.filter(Metadata::is_file)))
}

/// The metadata of what is at a path, if there is something. Fails if it is a folder.
fn unless_folder(path: &Path, there: io::Result<Metadata>) -> Result<Option<Metadata>> {
    let there = match there {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        there => there.map(Some),
    };
    there.with_context(|| path.display().to_string())
}

/// WASI's paths have slashes, so it wouldn't see folders before a backslash. Windows has always set `OS`.
fn slashed(path: &Path) -> PathBuf {
    match path.to_str() {
        Some(text)
            if cfg!(target_os = "wasi") && std::env::var_os("OS").is_some_and(|os| os == "Windows_NT") =>
        {
            with_slashes(text).into()
        }
        _ => path.to_owned(),
    }
}

/// A Windows path with slashes, except for the two backslashes before a server: with those it isn't an absolute path to
/// WASI, so it reaches Windows unchanged.
fn with_slashes(path: &str) -> String {
    let start = if path.starts_with(r"\\") { 2 } else { 0 };
    path[..start].to_owned() + &path[start..].replace('\\', "/")
}

/// Who a file belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Any,
    /// A file that a run publishes or remembers. Its folder is for one run at a time.
    Own,
    /// The same, and nobody else may read it.
    Private,
}

/// How the names of temporary files begin.
fn prefix(kind: Kind) -> &'static str {
    match kind {
        Kind::Any => ".bloom-wasm-",
        Kind::Own => ".bloom-wasm-own-",
        // bin/wasi.js knows these prefixes, since WASI has no modes.
        Kind::Private => ".bloom-wasm-private-",
    }
}

/// Writes a file. `report` runs before the file is put in its place. If it fails, nothing has changed.
pub fn write(path: &Path, bytes: &[u8], report: impl FnOnce() -> Result<()>) -> Result<()> {
    put(path, bytes, Kind::Any, report)
}

/// Fails early if [`publish`] can't put a file there.
pub fn check_place(path: &Path) -> Result<()> {
    place(path).map(|_| ())
}

/// Writes a file into a folder that is for one run at a time: a [`Cleaner`] finds what is left if the run is killed.
pub fn publish(path: &Path, bytes: &[u8], report: impl FnOnce() -> Result<()>) -> Result<()> {
    put(path, bytes, Kind::Own, report)
}

/// The same for a file that nobody else may read.
pub fn remember(path: &Path, bytes: &[u8], report: impl FnOnce() -> Result<()>) -> Result<()> {
    put(path, bytes, Kind::Private, report)
}

/// Deletes files that are no longer needed. One that can't be deleted only takes up space: this is reported once per
/// run, and doesn't fail the run.
#[derive(Default)]
pub struct Cleaner {
    /// The files that can't be deleted.
    stuck: HashSet<PathBuf>,
}

impl Cleaner {
    /// Deletes a file. Returns whether it is gone.
    pub fn delete(&mut self, path: &Path, streams: &mut Streams) -> bool {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                if self.stuck.insert(path.to_owned()) {
                    let why = in_words(&Error::from(error));
                    streams.warn(&format!(
                        "{}: this file isn't needed, and can't be deleted: {why}",
                        path.display()
                    ));
                }
                false
            }
            _ => true,
        }
    }

    /// Deletes some files of a folder.
    pub fn delete_all(
        &mut self,
        folder: &Path,
        is_left: impl Fn(&str) -> bool,
        streams: &mut Streams,
    ) -> Result<()> {
        let name = || folder.display().to_string();
        for entry in fs::read_dir(folder).with_context(name)? {
            let entry = entry.with_context(name)?;
            if entry.file_name().to_str().is_some_and(&is_left) {
                self.delete(&entry.path(), streams);
            }
        }
        Ok(())
    }

    /// Deletes the temporary files that killed runs left in a folder.
    pub fn delete_temporary(&mut self, folder: &Path, streams: &mut Streams) -> Result<()> {
        let kinds = [Kind::Own, Kind::Private];
        self.delete_all(folder, |name| kinds.into_iter().any(|kind| name.starts_with(prefix(kind))), streams)
    }
}

fn put(path: &Path, bytes: &[u8], kind: Kind, report: impl FnOnce() -> Result<()>) -> Result<()> {
    let name = || path.display().to_string();
    let (file, there) = if kind == Kind::Any { target(path)? } else { place(path)? };
    let is_device = there.as_ref().is_some_and(|there| !there.is_file());
    if kind == Kind::Any && is_device {
        // A device or a pipe: replacing it would be a surprise.
        let mut device = OpenOptions::new().append(true).open(path).with_context(name)?;
        report()?;
        return device.write_all(bytes).with_context(name);
    }
    let temporary = temporary(&file, bytes, there, kind).with_context(name)?;
    report()?;
    let mut path = signals::temporary();
    temporary.persist(&file).map_err(|error| error.error).with_context(name)?;
    *path = None;
    Ok(())
}

/// Writes a new file that nobody else may read: all of it or nothing.
///
/// # Errors
/// If there is a file already.
pub fn write_secret(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = || path.display().to_string();
    let file = slashed(path);
    let temporary = temporary(&file, bytes, None, Kind::Private).with_context(name)?;
    let mut path = signals::temporary();
    temporary.persist_noclobber(&file).map_err(|error| error.error).with_context(name)?;
    *path = None;
    Ok(())
}

/// Makes a folder that nobody else may read, unless there is one.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    #[cfg(unix)]
    return std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(path);
    // bin/wasi.js gives a folder with this prefix a mode of its own.
    #[cfg(not(unix))]
    return fs::rename(
        tempfile::Builder::new().prefix(prefix(Kind::Private)).tempdir_in(folder(path))?.keep(),
        path,
    );
}

/// Writes the bytes to a temporary file beside the final one, with the owner and the mode of the file it will replace.
fn temporary(file: &Path, bytes: &[u8], there: Option<Metadata>, kind: Kind) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix(kind));
    #[cfg(unix)]
    if there.is_none() && kind != Kind::Private {
        // The mode of an ordinary file, less the umask. The crate's default mode is for secrets.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let mut path = signals::temporary();
    #[cfg(unix)]
    signals::watch()?;
    let mut temporary = builder.tempfile_in(folder(file)).map_err(plain)?;
    *path = Some(temporary.path().to_owned());
    drop(path);
    temporary.as_file_mut().write_all(bytes)?;
    // Clients must be able to read all that is published, whatever the umask of this run. So whoever may read the folder
    // may read its files.
    #[cfg(unix)]
    if there.is_none() && kind == Kind::Own {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder(file))?.permissions().mode() & 0o664 | 0o600;
        temporary.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    }
    // WASI knows no modes: what runs the tool there gives the file its mode when it is renamed.
    if let Some(there) = there
        && !cfg!(target_os = "wasi")
    {
        // A user who may not change the owner becomes the owner.
        #[cfg(unix)]
        let _ = {
            use std::os::unix::fs::{MetadataExt, fchown};
            fchown(temporary.as_file(), Some(there.uid()), Some(there.gid()))
        };
        if kind != Kind::Private {
            temporary.as_file().set_permissions(there.permissions())?;
        }
    }
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// The error without the name of the temporary file, which means nothing to users.
fn plain(error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() {
        return error;
    }
    // The error with the name hides the number, but its text begins with the system's. Many kinds of error have no text
    // of their own.
    match error.to_string().split_once(" (os error ") {
        Some((words, _)) => io::Error::new(error.kind(), words),
        None => error.kind().into(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn windows_paths_get_slashes() {
        for (path, expected) in [
            (r"C:\lists\out.bloom", "C:/lists/out.bloom"),
            (r"..\out", "../out"),
            (r"\\server\share\out", r"\\server/share/out"),
            ("größer/ö", "größer/ö"),
            (r"\", "/"),
        ] {
            assert_eq!(super::with_slashes(path), expected);
        }
    }
}
