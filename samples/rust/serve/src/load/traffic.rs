//! The traffic: a seed decides the images and the times before the first request.

use std::time::Duration;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// A number above 0, up to 1.
    fn part(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// An image as it is sent, and as it has to come back.
pub struct Sample {
    pub sent: Vec<u8>,
    pub right: Vec<u8>,
}

/// How a client ends a request before its answer.
#[derive(Clone, Copy)]
pub enum HangUp {
    /// When half of the image was sent.
    Half,
    /// After a pause behind the whole image.
    Sent(Duration),
}

pub struct Planned {
    /// Counted from the first request.
    pub at: Duration,
    pub sample: usize,
    pub hang_up: Option<HangUp>,
}

/// When requests come.
#[derive(Clone, Copy)]
pub enum Arrivals {
    Poisson,
    /// A number of requests at once.
    Bursts(usize),
}

/// `count` requests, `rate` of them each second on average; `hang_up` of a hundred clients hang up.
pub fn plan(arrivals: Arrivals, count: usize, rate: f64, hang_up: usize, samples: usize, seed: u64) -> Vec<Planned> {
    let mut random = Random(seed);
    let mut clock = 0.0;
    let mut plan = Vec::with_capacity(count);
    for index in 0..count {
        clock += match arrivals {
            Arrivals::Poisson => -random.part().ln() / rate,
            Arrivals::Bursts(size) if index > 0 && index % size == 0 => size as f64 / rate,
            Arrivals::Bursts(_) => 0.0,
        };
        let hangs_up = random.below(100) < hang_up;
        let when = match random.below(4) {
            0 => HangUp::Half,
            _ => HangUp::Sent(Duration::from_micros(random.below(4000) as u64)),
        };
        let sample = random.below(samples);
        plan.push(Planned { at: Duration::from_secs_f64(clock), sample, hang_up: hangs_up.then_some(when) });
    }
    plan
}

/// Images of random sizes up to `side` x `side` pixels.
pub fn samples(count: usize, side: usize, seed: u64) -> Vec<Sample> {
    let mut random = Random(seed);
    let sample = |_| {
        let (width, height) = (1 + random.below(side), 1 + random.below(side));
        let pixels: Vec<u8> = (0..width * height * 3).map(|_| random.next() as u8).collect();
        let written = |pixels: &[u8]| [format!("P6\n{width} {height}\n255\n").as_bytes(), pixels].concat();
        Sample { sent: written(&pixels), right: written(&blurred(width, height, &pixels)) }
    };
    (0..count).map(sample).collect()
}

/// The blur of the service, computed in another way: along the rows first, then along the columns.
fn blurred(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    const WEIGHTS: [u32; 7] = [1, 2, 3, 4, 3, 2, 1];
    let near = |at: usize, k: usize, count: usize| (at + k).saturating_sub(3).min(count - 1);
    let mut rows = vec![0; pixels.len()];
    for (i, sum) in rows.iter_mut().enumerate() {
        let (y, x, c) = (i / 3 / width, i / 3 % width, i % 3);
        let weighted = |(k, &weight)| weight * u32::from(pixels[(y * width + near(x, k, width)) * 3 + c]);
        *sum = WEIGHTS.iter().enumerate().map(weighted).sum::<u32>();
    }
    let pixel = |i: usize| {
        let (y, x, c) = (i / 3 / width, i / 3 % width, i % 3);
        let weighted = |(k, &weight)| weight * rows[(near(y, k, height) * width + x) * 3 + c];
        ((WEIGHTS.iter().enumerate().map(weighted).sum::<u32>() + 128) >> 8) as u8
    };
    (0..pixels.len()).map(pixel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything() {
        let times = |seed| plan(Arrivals::Poisson, 10, 100.0, 10, 4, seed).iter().map(|one| one.at).collect::<Vec<_>>();
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
    }

    #[test]
    fn arrivals_have_the_rate_that_was_asked_for() {
        for arrivals in [Arrivals::Poisson, Arrivals::Bursts(50)] {
            let plan = plan(arrivals, 100_000, 2000.0, 10, 4, 7);
            let (seconds, hang_up) = (plan[99_999].at.as_secs_f64(), plan.iter().filter(|one| one.hang_up.is_some()));
            assert!((49.0..51.0).contains(&seconds), "{seconds}");
            assert!((9_500..10_500).contains(&hang_up.count()));
        }
    }

    #[test]
    fn a_blur_of_one_colour_is_that_colour() {
        assert_eq!(blurred(5, 3, &[200; 45]), [200; 45]);
        // A bright pixel: 16 of 256 parts of it stay in its place.
        let mut pixels = [0; 9 * 9 * 3];
        pixels[(4 * 9 + 4) * 3] = 255;
        let out = blurred(9, 9, &pixels);
        assert_eq!((out[(4 * 9 + 4) * 3], out[(9 + 1) * 3], out[(4 * 9 + 4) * 3 + 1], out[4 * 3]), (16, 1, 0, 0));
    }
}
