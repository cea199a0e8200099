//! Removes the temporary file and the lock of this process when a signal ends it.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The temporary file, if there is one. A signal removes it, or waits until it has its final name.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The file of the lock that this process has.
static LOCK: Mutex<Option<PathBuf>> = Mutex::new(None);

pub fn temporary() -> MutexGuard<'static, Option<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn locked() -> MutexGuard<'static, Option<PathBuf>> {
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
pub use unix::watch;

#[cfg(unix)]
mod unix {
    use std::sync::Once;
    use std::{fs, io, thread};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// From the first call on, a signal that ends the program first removes the temporary file, and then the lock.
    pub fn watch() -> io::Result<()> {
        static WATCHES: Once = Once::new();
        let mut done = Ok(());
        WATCHES.call_once(|| {
            done = Signals::new(deadly()).map(|mut signals| {
                thread::spawn(move || {
                    for signal in signals.forever() {
                        // The lock is never released, so no file gets its final name after this.
                        let path = super::temporary();
                        if let Some(path) = &*path {
                            let _ = fs::remove_file(path);
                        }
                        if let Some(path) = &*super::locked() {
                            let _ = fs::remove_file(path);
                        }
                        let _ = emulate_default_handler(signal);
                    }
                });
            });
        });
        done
    }

    /// The signals that end a program, except for those that it was started to ignore, as by `nohup`.
    fn deadly() -> impl Iterator<Item = i32> {
        // Linux lists the ignored signals in a file. Elsewhere, none counts as ignored.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ].into_iter();
        all.filter(move |signal| ignored >> (signal - 1) & 1 == 0)
    }
}
