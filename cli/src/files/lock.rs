//! The lock of a folder that only one run at a time may write to: the same for the native tool and for `npx`.
//!
//! It is a file that only one run can create. It holds a random id, and its time is renewed every few seconds, so a
//! lock with an old time is that of a run that was killed. A run that takes over creates a file named after the dead
//! run's id, which again only one run can do, and then moves that file over the lock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};

use super::signals;
use crate::random;

/// How often a run renews its lock. WASI has no threads, so there bin/tool.js does it.
#[cfg(not(target_os = "wasi"))]
const BEAT: Duration = Duration::from_secs(5);
/// A run that hasn't renewed its lock for this long was killed.
const DEAD: Duration = Duration::from_secs(60);

/// A lock, until it is dropped.
pub struct Lock {
    path: PathBuf,
    id: String,
    _beat: Beat,
}

impl Lock {
    /// Takes the lock with this path, which ends in `.lock`.
    ///
    /// # Errors
    /// If another run has it.
    pub fn new(path: PathBuf) -> Result<Self> {
        let name = || path.display().to_string();
        #[cfg(unix)]
        signals::watch()?;
        // The lock of a run that was killed, and the files of runs that were killed while taking over from it.
        let mut dead = Vec::new();
        let mut own = path.clone();
        let mut file = loop {
            match create(&own) {
                Ok(file) => break file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    // If it is gone, the other run has just ended.
                    let Some(id) = dead_id(&own).with_context(|| own.display().to_string())? else {
                        continue;
                    };
                    // Runs don't leave this many. Somebody else may have put files there that form a cycle.
                    ensure!(dead.len() < 16, "{}: there are too many locks; remove them", name());
                    let successor = successor(&path, &id);
                    dead.push((std::mem::replace(&mut own, successor), id));
                }
                Err(error) => return Err(error).with_context(name),
            }
        };
        let id = random::id()?;
        let written = file.write_all(id.as_bytes()).and_then(|()| Beat::new(file));
        if written.is_err() {
            remove(&own, &mut signals::locked());
        }
        let mut lock = Lock { path: own, id, _beat: written.with_context(name)? };
        // Another run may have taken over first, so that the name of the successor was free again.
        for (path, id) in &dead {
            ensure!(read_id(path)?.as_ref() == Some(id), "{}: {IN_USE}", name());
        }
        // From the last to the first, so that a run that is killed on the way leaves no file outside the chain.
        for (path, _) in dead.iter().rev() {
            lock.replace(path).with_context(name)?;
        }
        lock.check()?;
        Ok(lock)
    }

    fn replace(&mut self, path: &Path) -> io::Result<()> {
        let mut held = signals::locked();
        fs::rename(&self.path, path)?;
        *held = Some(path.to_owned());
        self.path = path.to_owned();
        Ok(())
    }

    /// Fails if another run has taken over from this one. Called before writing anything that the other run might have
    /// changed.
    pub fn check(&self) -> Result<()> {
        let is_held =
            read_id(&self.path)?.as_ref() == Some(&self.id) && !exists(&successor(&self.path, &self.id))?;
        let (path, dead) = (self.path.display(), DEAD.as_secs());
        ensure!(is_held, "{path}: this run stood still for {dead} seconds, and another took its place");
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut held = signals::locked();
        match read_id(&self.path) {
            Ok(Some(id)) if id == self.id => remove(&self.path, &mut held),
            // It belongs to another run by now.
            _ => *held = None,
        }
    }
}

const IN_USE: &str = "another run is writing here";

/// Creates a lock, unless there is one.
fn create(path: &Path) -> io::Result<File> {
    let mut held = signals::locked();
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    *held = Some(path.to_owned());
    Ok(file)
}

fn remove(path: &Path, held: &mut Option<PathBuf>) {
    let _ = fs::remove_file(path);
    *held = None;
}

/// What a run creates to take the place of the dead one with this id.
fn successor(path: &Path, id: &str) -> PathBuf {
    path.with_file_name(format!("{id}.lock"))
}

/// The id of the run that made this file; none if there is no file. It is empty if that run was killed before it wrote
/// the id.
fn read_id(path: &Path) -> Result<Option<String>> {
    let read = || open(path)?.map(|file| id_in(&file)).transpose();
    read().with_context(|| path.display().to_string())
}

fn exists(path: &Path) -> Result<bool> {
    path.try_exists().with_context(|| path.display().to_string())
}

fn open(path: &Path) -> Result<Option<File>> {
    // Opening a pipe would wait for its writer.
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        bail!("this is not a file");
    }
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => Ok(Some(file?)),
    }
}

fn id_in(file: &File) -> Result<String> {
    let mut text = Vec::new();
    file.take(32).read_to_end(&mut text)?;
    // It becomes part of a file's name.
    Ok(text.into_iter().filter(u8::is_ascii_hexdigit).map(char::from).collect())
}

/// The id of the run that made this file, if that run was killed; none if there is no file.
///
/// # Errors
/// If the run may be alive.
fn dead_id(path: &Path) -> Result<Option<String>> {
    // The time and the id come from one open file: the path may meanwhile lead to the file of a live run.
    let Some(file) = open(path)? else { return Ok(None) };
    let renewed = file.metadata()?.modified()?;
    let now = SystemTime::now();
    if renewed > now + DEAD {
        bail!(
            "the time of this file is in the future, so a clock is wrong; remove the file if no run is using it"
        );
    }
    // A clock may be a little ahead.
    let age = if renewed > now { Duration::ZERO } else { now.duration_since(renewed)? };
    if let Some(left) = DEAD.checked_sub(age) {
        let seconds = left.as_secs() + 1;
        bail!("{IN_USE}; if it was killed, the next one can begin in {seconds} seconds");
    }
    id_in(&file).map(Some)
}

/// Renews a lock while it lives.
#[cfg(not(target_os = "wasi"))]
struct Beat {
    _stop: std::sync::mpsc::Sender<()>,
}

#[cfg(not(target_os = "wasi"))]
impl Beat {
    fn new(file: File) -> io::Result<Self> {
        use std::sync::mpsc::{RecvTimeoutError, channel};
        let (stop, stopped) = channel::<()>();
        // If a file can't be renewed, another run will take it over, and `check` will tell.
        let beat = move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                let _ = file.set_modified(SystemTime::now());
            }
        };
        std::thread::Builder::new().spawn(beat)?;
        Ok(Beat { _stop: stop })
    }
}

#[cfg(target_os = "wasi")]
struct Beat;

#[cfg(target_os = "wasi")]
impl Beat {
    fn new(_: File) -> io::Result<Self> {
        Ok(Beat)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Makes a file as a run leaves it that was killed `ago`.
    fn leave(path: &Path, id: &str, ago: Duration) {
        fs::write(path, id).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - ago).unwrap();
    }

    fn refusal(path: &Path) -> String {
        match Lock::new(path.to_owned()) {
            Ok(_) => panic!("it was taken"),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn one_has_it_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let lock = Lock::new(path.clone()).unwrap();
        lock.check().unwrap();
        let said = refusal(&path);
        assert!(said.contains(IN_USE) && said.contains("seconds"), "{said}");
        lock.check().unwrap();
        drop(lock);
        assert!(names(&folder).is_empty());
        drop(Lock::new(path).unwrap());
    }

    #[test]
    fn a_dead_one_is_taken_over_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        leave(&path, "00ff", DEAD - BEAT);
        assert!(refusal(&path).contains(IN_USE));
        leave(&path, "00ff", DEAD + BEAT);
        let lock = Lock::new(path.clone()).unwrap();
        assert_eq!(names(&folder), ["a.lock"]);
        assert!(refusal(&path).contains(IN_USE));
        drop(lock);
        // A time in the future says nothing.
        fs::write(&path, "").unwrap();
        let later = SystemTime::now() + 10 * DEAD;
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert!(refusal(&path).contains("future"));
    }

    /// One run was killed before it wrote its id, and two more while they took over.
    #[test]
    fn those_who_died_while_they_took_over_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for (name, id) in [("a.lock", ""), (".lock", "aa"), ("aa.lock", "bb")] {
            leave(&file(name), id, 2 * DEAD);
        }
        leave(&file("bb.lock"), "cc", Duration::ZERO);
        assert!(refusal(&file("a.lock")).contains(IN_USE));
        assert_eq!(names(&folder), [".lock", "a.lock", "aa.lock", "bb.lock"]);
        fs::remove_file(file("bb.lock")).unwrap();
        let lock = Lock::new(file("a.lock")).unwrap();
        assert_eq!(names(&folder), ["a.lock"]);
        assert!(refusal(&file("a.lock")).contains(IN_USE));
        drop(lock);
        assert!(names(&folder).is_empty());
    }

    #[test]
    fn locks_that_lead_in_a_circle_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for name in ["a.lock", "aa.lock"] {
            leave(&file(name), "aa", 2 * DEAD);
        }
        assert!(refusal(&file("a.lock")).contains("too many locks"));
        fs::create_dir(file("b.lock")).unwrap();
        assert!(refusal(&file("b.lock")).contains("not a file"));
    }

    #[test]
    fn whoever_lost_it_is_told_and_leaves_the_other_ones_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let slow = Lock::new(path.clone()).unwrap();
        let old = SystemTime::now() - 2 * DEAD;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        let other = Lock::new(path.clone()).unwrap();
        assert!(format!("{:#}", slow.check().unwrap_err()).contains("another took its place"));
        other.check().unwrap();
        drop(slow);
        other.check().unwrap();
        // `check` already fails during a takeover, and when the file is gone.
        leave(&successor(&path, &other.id), "aa", Duration::ZERO);
        assert!(other.check().is_err());
        fs::remove_file(successor(&path, &other.id)).unwrap();
        other.check().unwrap();
        fs::remove_file(&path).unwrap();
        assert!(other.check().is_err());
    }

    /// Of many runs at once, one gets the lock: whether it is free, dead, or was being taken over by a run that died.
    #[test]
    fn of_many_at_once_one_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("a.lock");
        for round in 0..600 {
            if round % 3 > 0 {
                leave(path, "aa", 2 * DEAD);
            }
            if round % 3 > 1 {
                leave(&successor(path, "aa"), "bb", 2 * DEAD);
            }
            let start = &Barrier::new(8);
            let run = || {
                start.wait();
                Lock::new(path.clone())
            };
            let locks: Vec<_> = thread::scope(|scope| {
                let runs: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
                runs.into_iter().map(|run| run.join().unwrap()).collect()
            });
            let got: Vec<_> = locks.iter().flatten().collect();
            assert_eq!(got.len(), 1, "round {round}");
            got[0].check().unwrap();
            drop(locks);
            assert!(names(&folder).is_empty(), "round {round}: {:?}", names(&folder));
        }
    }
}
