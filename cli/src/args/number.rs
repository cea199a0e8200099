//! Rates and times.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};

/// Reads a false-positive rate. Whether it is in range is told later.
pub fn parse_fpr(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "give a number such as 0.001")
}

/// The time of `--created-at` in milliseconds since 1970.
pub fn milliseconds(time: SystemTime) -> Result<u64> {
    let Ok(since) = time.duration_since(SystemTime::UNIX_EPOCH) else {
        bail!("--created-at must be 1970 or later")
    };
    u64::try_from(since.as_millis()).context("--created-at is too late")
}

/// A duration in milliseconds, at most 2^64 - 1.
pub fn whole_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
