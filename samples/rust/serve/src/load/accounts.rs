//! Outcomes of requests, counted and timed.

use std::fmt;
use std::time::Duration;

#[derive(Default)]
pub struct Accounts {
    pub sent: u64,
    pub refused: u64,
    pub hung_up: u64,
    pub failed: u64,
    /// Answered with wrong bytes.
    pub wrong: u64,
    /// Times from the intended time to the answer: 200 and 503.
    pub answered_in: Vec<Duration>,
    pub refused_in: Vec<Duration>,
    /// How late requests were sent, since the clock is coarse and all connections may be in use.
    pub late: Vec<Duration>,
    pub failures: Vec<String>,
}

impl Accounts {
    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.refused += other.refused;
        self.hung_up += other.hung_up;
        self.failed += other.failed;
        self.wrong += other.wrong;
        self.answered_in.extend(other.answered_in);
        self.refused_in.extend(other.refused_in);
        self.late.extend(other.late);
        self.failures.extend(other.failures);
    }

    pub fn answered(&self) -> u64 {
        self.answered_in.len() as u64
    }

    /// Whether each of the `planned` requests was sent and has ended in one way, and no byte was wrong.
    pub fn good(&self, planned: usize) -> bool {
        let ended = self.answered() + self.refused + self.hung_up + self.failed;
        self.sent == planned as u64 && self.sent == ended && self.wrong == 0
    }
}

impl fmt::Display for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (answered, Self { sent, refused, hung_up, failed, wrong, .. }) = (self.answered(), self);
        write!(f, "{sent} sent = {answered} answered + {refused} refused + {hung_up} hung up + {failed} failed")?;
        write!(f, "; {wrong} wrong")
    }
}

/// The percentiles of times, as text.
pub fn percentiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let Some(longest) = times.last() else { return "none".to_owned() };
    let milliseconds = |time: &Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let at = |part: f64| milliseconds(&times[((times.len() as f64 * part).ceil() as usize).clamp(1, times.len()) - 1]);
    let parts = [("50 %", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("99.9 %", 0.999)];
    let texts: Vec<String> = parts.iter().map(|&(name, part)| format!("{name} {}", at(part))).collect();
    format!("{}, longest {}", texts.join(", "), milliseconds(longest))
}
