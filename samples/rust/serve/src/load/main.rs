//! serve-load: sends images to `serve` on this machine, first at random times, then in bursts. A request is sent at a
//! time that was decided before, whether others were answered or not. Its latency counts from that time. Some clients
//! hang up. Each answer is compared with a blur by the CPU.

mod accounts;
mod client;
mod traffic;

use accounts::{Accounts, percentiles};
use client::Connection;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use traffic::{Arrivals, HangUp, Planned, Sample};

const USAGE: &str = "usage: serve-load [--port PORT] [--requests N] [--rate PER_SECOND] [--burst N] \
                     [--hang-up PER_CENT] [--side PIXELS] [--connections N] [--seed N]";
const SAMPLES: usize = 64;
const ANSWER: Duration = Duration::from_secs(30);

#[derive(Clone, Copy)]
struct Options {
    port: u16,
    requests: usize,
    rate: usize,
    burst: usize,
    hang_up: usize,
    side: usize,
    connections: usize,
    seed: usize,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self {
            port: 8080,
            requests: 10_000,
            rate: 1000,
            burst: 100,
            hang_up: 5,
            side: 64,
            connections: 256,
            seed: 1,
        };
        while let Some(name) = words.next() {
            let number: usize = words.next()?.parse().ok()?;
            match name.as_str() {
                "--port" => options.port = number.try_into().ok()?,
                "--requests" => options.requests = number,
                "--rate" => options.rate = number.max(1),
                "--burst" => options.burst = number.max(1),
                "--hang-up" => options.hang_up = number,
                "--side" => options.side = number.clamp(1, 4096),
                "--connections" => options.connections = number.clamp(1, 10_000),
                "--seed" => options.seed = number,
                _ => return None,
            }
        }
        Some(options)
    }
}

/// A part of the traffic.
struct Phase {
    address: SocketAddr,
    samples: Arc<Vec<Sample>>,
    plan: Vec<Planned>,
    begun: Instant,
    next: AtomicUsize,
}

/// A client: takes the next request of the plan, waits for its time and sends it, over a connection that is kept.
async fn client(phase: Arc<Phase>) -> Accounts {
    let (mut accounts, mut connection) = (Accounts::default(), None);
    while let Some(planned) = phase.plan.get(phase.next.fetch_add(1, Relaxed)) {
        let intended = phase.begun + planned.at;
        sleep_until(intended).await;
        accounts.sent += 1;
        accounts.late.push(intended.elapsed());
        let asked = ask(&phase, planned, intended, &mut connection, &mut accounts);
        let ended = match timeout(ANSWER, asked).await {
            Ok(ended) => ended.map_err(|error| error.to_string()),
            Err(_) => Err("no answer came in time".to_owned()),
        };
        if let Err(failure) = ended {
            connection = None;
            accounts.failed += 1;
            accounts.failures.push(failure);
        }
    }
    accounts
}

/// Sends a request and counts its outcome. The caller counts failures.
async fn ask(
    phase: &Phase,
    planned: &Planned,
    intended: Instant,
    kept: &mut Option<Connection>,
    accounts: &mut Accounts,
) -> std::io::Result<()> {
    let mut connection = match kept.take() {
        Some(connection) => connection,
        None => Connection::open(phase.address).await?,
    };
    let Sample { sent, right } = &phase.samples[planned.sample];
    if let Some(hang_up) = planned.hang_up {
        match hang_up {
            HangUp::Half => connection.send("/blur", sent, sent.len() / 2).await?,
            HangUp::Sent(wait) => {
                connection.send("/blur", sent, sent.len()).await?;
                sleep(wait).await;
            }
        }
        accounts.hung_up += 1;
        return Ok(()); // which closes the connection
    }
    connection.send("/blur", sent, sent.len()).await?;
    let answer = connection.answer().await?;
    match answer.status {
        200 => {
            accounts.answered_in.push(intended.elapsed());
            accounts.wrong += u64::from(answer.body != right);
        }
        503 if answer.retry_after => {
            accounts.refused += 1;
            accounts.refused_in.push(intended.elapsed());
        }
        status => return Err(std::io::Error::other(format!("status {status}"))),
    }
    *kept = (!answer.last).then_some(connection);
    Ok(())
}

/// Sends one part of the traffic, and prints its figures.
async fn run(name: &str, options: Options, plan: Vec<Planned>, samples: Arc<Vec<Sample>>) -> Accounts {
    let address = (Ipv4Addr::LOCALHOST, options.port).into();
    let phase = Phase { address, samples, plan, begun: Instant::now(), next: AtomicUsize::new(0) };
    let phase = Arc::new(phase);
    let mut clients: JoinSet<Accounts> = (0..options.connections).map(|_| client(Arc::clone(&phase))).collect();
    let mut accounts = Accounts::default();
    while let Some(one) = clients.join_next().await {
        accounts.add(one.expect("a client doesn't panic"));
    }
    let seconds = phase.begun.elapsed().as_secs_f64();
    println!("{name}: {accounts}");
    println!("  goodput: {:.0} images per second, for {seconds:.1} s", accounts.answered() as f64 / seconds);
    println!("  latency: {}", percentiles(&mut accounts.answered_in));
    println!("  refusal: {}", percentiles(&mut accounts.refused_in));
    println!("  sent late by: {}", percentiles(&mut accounts.late));
    accounts.failures.sort();
    for failures in accounts.failures.chunk_by(|one, other| one == other) {
        println!("  failed {} times: {}", failures.len(), failures[0]);
    }
    accounts
}

#[tokio::main]
async fn both(options: Options) -> bool {
    let seed = options.seed as u64;
    let samples = Arc::new(traffic::samples(SAMPLES, options.side, seed));
    let mut all = Accounts::default();
    let half = options.requests / 2;
    for (name, arrivals, count) in [
        ("at random", Arrivals::Poisson, options.requests - half),
        ("in bursts", Arrivals::Bursts(options.burst), half),
    ] {
        let plan = traffic::plan(arrivals, count, options.rate as f64, options.hang_up, SAMPLES, seed);
        all.add(run(name, options, plan, Arc::clone(&samples)).await);
    }
    println!("all: {all}");
    all.good(options.requests)
}

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    ExitCode::from(u8::from(!both(options)))
}
