//! Rates and times.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

/// Reads a false-positive rate. The range is checked later.
pub fn parse_fpr(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "give a number such as 0.001")
}

/// Reads a time in UTC.
pub fn parse_time(text: &str) -> Result<SystemTime, String> {
    // The crate takes it for the second before.
    if text.get(17..19) == Some("60") {
        return Err("a leap second has no number since 1970; give the second before or after it".to_owned());
    }
    humantime::parse_rfc3339_weak(text).map_err(|error| error.to_string())
}

/// The time of `--created-at` in milliseconds since 1970.
pub fn created_at(time: SystemTime) -> Result<u64> {
    milliseconds(time).context("--created-at")
}

/// The current time in milliseconds since 1970.
pub fn now() -> Result<u64> {
    by_clock(SystemTime::now())
}

fn by_clock(time: SystemTime) -> Result<u64> {
    milliseconds(time).context("the clock of this system is wrong")
}

fn milliseconds(time: SystemTime) -> Result<u64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok().context("the time is before 1970")?;
    u64::try_from(since.as_millis()).context("the time is too late")
}

/// A duration in milliseconds, at most 2^64 - 1.
pub fn whole_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_time_is_wrong_is_told() {
        let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
        let words = |time: Result<u64>| format!("{:#}", time.unwrap_err());
        assert_eq!(words(by_clock(before)), "the clock of this system is wrong: the time is before 1970");
        assert_eq!(words(created_at(before)), "--created-at: the time is before 1970");
        let at = SystemTime::UNIX_EPOCH + Duration::from_micros(1_234_567);
        assert_eq!([by_clock(at).unwrap(), created_at(at).unwrap()], [1234, 1234]);
        assert!(now().unwrap() > 1_700_000_000_000);
    }

    #[test]
    fn a_leap_second_is_no_other_second() {
        for time in ["2016-12-31T23:59:60Z", "2016-12-31 23:59:60"] {
            assert!(parse_time(time).unwrap_err().contains("leap second"), "{time}");
        }
        for time in
            ["2016-12-31T23:59:59Z", "2016-12-31 23:60:00", "2016-12-31", "x", "\u{e9}2016-12-31T23:59:5"]
        {
            assert_eq!(parse_time(time).ok(), humantime::parse_rfc3339_weak(time).ok(), "{time}");
        }
    }
}
