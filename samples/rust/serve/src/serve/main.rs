//! serve: an HTTP service that blurs images on a GPU, or on the software GPU where there is none. Waiting images
//! share a batch: one copy in, one launch and one copy out. README.md lists the answers.

mod blur;
mod options;
mod ppm;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequest, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Router, serve};
use blur::Blur;
use gpuorch::batcher::Failure;
use gpuorch::{ErrorKind, Runtime};
use options::{Options, USAGE};
use ppm::Bad;
use std::error::Error;
use std::future::IntoFuture;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{sleep, timeout};

/// Connections of a burst that may wait to be accepted. The clients of others try again a second later.
const BACKLOG: u32 = 4096;
/// A client that sends its image more slowly gets 408.
const BODY: Duration = Duration::from_secs(10);
/// A request has its image as received, as input and as output of the batcher, and as the answer.
const COPIES: usize = 4;

struct Service {
    blur: Blur,
    runtime: Runtime,
    side: usize,
    /// Memory for images, in KiB. The batcher doesn't count those that are still being received.
    memory: Semaphore,
    device_lost: AtomicBool,
}

fn said(status: StatusCode, text: impl std::fmt::Display) -> Response {
    (status, format!("{text}\n")).into_response()
}

/// The answer to a request that comes at a bad time: it may come again after `wait`.
fn busy(wait: Duration, text: impl std::fmt::Display) -> Response {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let mut response = said(StatusCode::SERVICE_UNAVAILABLE, text);
    response.headers_mut().insert(RETRY_AFTER, seconds.max(1).into());
    response
}

/// The flow of a client, which shares batches fairly with those of others: an address, or a network of IPv6.
fn flow(client: IpAddr) -> u64 {
    match client {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

/// POST /blur. When the client hangs up, hyper drops this future. Dropping it cancels the request to the batcher.
async fn blur(
    State(service): State<Arc<Service>>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let most = ppm::most_bytes(service.side);
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let bytes: usize = announced.unwrap_or(most);
    if bytes > most {
        return said(StatusCode::PAYLOAD_TOO_LARGE, "the image is too large");
    }
    let Ok(_room) = service.memory.try_acquire_many((COPIES * bytes).div_ceil(1024) as u32) else {
        return busy(Duration::ZERO, "too many images are being sent");
    };
    let body = match timeout(BODY, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.into_response(), // larger than it was said to be, or cut off
        Err(_) => return said(StatusCode::REQUEST_TIMEOUT, "the image did not come"),
    };
    let image = match ppm::parse(&body, service.side) {
        Ok(image) => image,
        Err(Bad::NoImage(why)) => return said(StatusCode::BAD_REQUEST, why),
        Err(Bad::TooLarge) => return said(StatusCode::PAYLOAD_TOO_LARGE, "the image is too large"),
    };
    match service.blur.blurred(&image, flow(client.ip())).await {
        Ok(pixels) => {
            let kind = [(CONTENT_TYPE, "image/x-portable-pixmap")];
            (kind, ppm::written(image.width, image.height, &pixels)).into_response()
        }
        Err(failure) => service.not_blurred(&failure),
    }
}

impl Service {
    fn not_blurred(&self, failure: &Failure) -> Response {
        match failure.kind() {
            ErrorKind::Timeout => busy(failure.wait(), failure), // refused with the predicted time, or it has waited
            ErrorKind::WouldBlock => {
                let predicted = self.blur.batcher().info().map_or(0, |info| info.wait_ns);
                busy(Duration::from_nanos(predicted), failure)
            }
            kind => {
                self.device_lost.fetch_or(kind == ErrorKind::DeviceLost, Relaxed);
                eprintln!("serve: {failure}");
                said(StatusCode::INTERNAL_SERVER_ERROR, "the image could not be blurred")
            }
        }
    }

    /// The outcomes of all requests to the batcher. Waits for batches whose clients hung up.
    async fn accounts(&self) -> Result<String, Box<dyn Error>> {
        loop {
            let info = self.blur.batcher().info()?;
            if info.waiting == 0 && info.running == 0 {
                let ended = info.succeeded + info.failed + info.expired + info.cancelled;
                if ended != info.submitted {
                    return Err(format!("{} requests were accepted, and {ended} have ended", info.submitted).into());
                }
                return Ok(format!(
                    "{} accepted = {} succeeded + {} failed + {} expired + {} cancelled; {} batches; refused: {} + {}",
                    info.submitted,
                    info.succeeded,
                    info.failed,
                    info.expired,
                    info.cancelled,
                    info.batches,
                    info.refused_full,
                    info.refused_deadline
                ));
            }
            sleep(Duration::from_millis(1)).await;
        }
    }
}

/// GET /metrics. The library may wait for the driver, so another thread asks.
async fn metrics(State(service): State<Arc<Service>>) -> Response {
    match tokio::task::spawn_blocking(move || service.runtime.metrics_text()).await {
        Ok(Ok(text)) => ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Ok(Err(error)) => said(StatusCode::INTERNAL_SERVER_ERROR, error),
        Err(error) => said(StatusCode::INTERNAL_SERVER_ERROR, error),
    }
}

/// GET /healthz. Only a new process can use a device again that was lost.
async fn healthz(State(service): State<Arc<Service>>) -> Response {
    match service.device_lost.load(Relaxed) {
        false => said(StatusCode::OK, "ok"),
        true => said(StatusCode::SERVICE_UNAVAILABLE, "the device was lost"),
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn signalled(mut terminate: Signal, mut interrupt: Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Serves until a signal comes and the requests that run then were answered.
#[tokio::main]
async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let service = Arc::new(Service {
        blur: Blur::new(&runtime, options.side, options.waiting, options.within)?,
        runtime,
        side: options.side,
        memory: Semaphore::new(options.memory_kib),
        device_lost: AtomicBool::new(false),
    });
    let routes = Router::new()
        .route("/blur", post(blur).layer(DefaultBodyLimit::max(ppm::most_bytes(options.side))))
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .with_state(Arc::clone(&service))
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = listen(options.listen)?;
    let ends = signalled(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    println!("serve: listening on {}", listener.local_addr()?);

    let draining = Arc::new(Notify::new());
    let drain = Arc::clone(&draining);
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let serving = serve(listener, routes).with_graceful_shutdown(async move {
        ends.await;
        drain.notify_one();
    });
    let late = async {
        draining.notified().await;
        sleep(options.drain).await;
    };
    tokio::select! {
        ended = serving.into_future() => ended?,
        () = late => return Err("there are still requests, so they are cut off".into()),
    }
    println!("serve: {}", service.accounts().await?);
    Ok(())
}

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("serve: {error}");
            ExitCode::FAILURE
        }
    }
}
