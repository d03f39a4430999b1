//! A client of HTTP/1.1, with only as much of the protocol as the load program needs.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const MOST_HEADER: usize = 16 << 10;

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

pub struct Answer<'a> {
    pub status: u16,
    pub retry_after: bool,
    pub body: &'a [u8],
    /// The server closes the connection.
    pub last: bool,
}

/// The header of an answer.
struct Header {
    status: u16,
    retry_after: bool,
    length: usize,
    last: bool,
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

impl Header {
    fn parse(text: &str) -> Result<Self> {
        let mut lines = text.split("\r\n");
        let first = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
        let status = first.ok_or_else(|| wrong("no status line"))?;
        let (mut length, mut last, mut retry_after) = (None, false, false);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok(),
                "connection" => last = value.eq_ignore_ascii_case("close"),
                "retry-after" => retry_after = value.parse::<u32>().is_ok_and(|seconds| seconds > 0),
                _ => {}
            }
        }
        Ok(Self { status, retry_after, length: length.ok_or_else(|| wrong("no length"))?, last })
    }
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends a request whose body is `body`, but only the first `bytes` of the body.
    pub async fn send(&mut self, path: &str, body: &[u8], bytes: usize) -> Result<()> {
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        self.stream.write_all(&[head.as_bytes(), &body[..bytes]].concat()).await
    }

    /// Waits for the answer to the request that was sent.
    pub async fn answer(&mut self) -> Result<Answer<'_>> {
        self.buffer.clear();
        let header_end = loop {
            let end = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            match end {
                Some(end) => break end,
                None if self.buffer.len() > MOST_HEADER => return Err(wrong("the header is too long")),
                None => self.read().await?,
            }
        };
        let text = std::str::from_utf8(&self.buffer[..header_end]).map_err(|_| wrong("the header is no text"))?;
        let header = Header::parse(text)?;
        let start = header_end + 4;
        while self.buffer.len() < start + header.length {
            self.read().await?;
        }
        if self.buffer.len() > start + header.length {
            return Err(wrong("there are bytes behind the answer"));
        }
        let Header { status, retry_after, last, .. } = header;
        Ok(Answer { status, retry_after, body: &self.buffer[start..], last })
    }

    async fn read(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
