//! The command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

pub const USAGE: &str = "usage: serve [--listen ADDRESS] [--side PIXELS] [--waiting IMAGES] [--within MS] \
                         [--memory MIB] [--drain SECONDS]";

pub struct Options {
    /// Where connections are accepted; port 0: any free one.
    pub listen: SocketAddr,
    /// The longest side of an image.
    pub side: usize,
    /// How many images may wait for a batch.
    pub waiting: u32,
    /// An image is done within that time, or refused.
    pub within: Duration,
    /// Memory for the images of all requests, in KiB.
    pub memory_kib: usize,
    /// How long requests may go on after the signal to end.
    pub drain: Duration,
}

impl Options {
    /// `None` if the words are no options.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self {
            listen: (Ipv4Addr::LOCALHOST, 8080).into(),
            side: 512,
            waiting: 256,
            within: Duration::from_millis(500),
            memory_kib: 256 << 10,
            drain: Duration::from_secs(20),
        };
        while let Some(name) = words.next() {
            let value = words.next()?;
            let number = || value.parse::<u32>().ok();
            match name.as_str() {
                "--listen" => options.listen = value.parse().ok()?,
                "--side" => options.side = number().filter(|side| (1..=4096).contains(side))? as usize,
                "--waiting" => options.waiting = number().filter(|&waiting| waiting > 0)?,
                "--within" => options.within = Duration::from_millis(number()?.into()),
                "--memory" => options.memory_kib = (number()? as usize).checked_mul(1024)?,
                "--drain" => options.drain = Duration::from_secs(number()?.into()),
                _ => return None,
            }
        }
        Some(options)
    }
}
