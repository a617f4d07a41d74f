//! `axle healthcheck`: asks the admin listener of a server on this machine.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Less than the timeout that containers give their health checks by default.
const LIMIT: Duration = Duration::from_secs(5);

/// Goes well only if `/readyz` answers 200. Plain HTTP/1.0 over one connection: a check should start
/// nothing that it does not need.
pub async fn ask(address: SocketAddr) -> anyhow::Result<()> {
    let answer = timeout(LIMIT, get(address)).await;
    let answer = answer.context("no answer within 5 s")?.with_context(|| {
        format!("the admin listener at {address} does not answer; is the server running?")
    })?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer.as_str(), ""));
    if head.split(' ').nth(1) != Some("200") {
        bail!("not ready: {}", body.trim().replace('\n', "; "));
    }
    Ok(())
}

async fn get(address: SocketAddr) -> std::io::Result<String> {
    const MOST: u64 = 64 * 1024;
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz?verbose HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(MOST).read_to_string(&mut answer).await?;
    Ok(answer)
}
