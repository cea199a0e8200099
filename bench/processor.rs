//! Criterion with the clock that the benchmarks use.

use std::time::Duration;

use criterion::Criterion;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};

/// Short runs: `npm run bench` has several rounds of each.
pub fn criterion() -> Criterion<Processor> {
    Criterion::default()
        .with_measurement(Processor)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(500))
        .without_plots()
        .configure_from_args()
}

/// The CPU time of this process, which other processes on the machine affect less than wall-clock time.
pub struct Processor;

impl Measurement for Processor {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        #[cfg(unix)]
        {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            Duration::try_from(time).expect("never negative")
        }
        #[cfg(not(unix))]
        std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970")
    }

    fn end(&self, start: Duration) -> Duration {
        self.start() - start
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
