//! The edge of the API: what strangers, slow clients, browsers and proxies meet before any use case
//! is asked; over raw sockets where no honest client would do.

mod addresses;
mod browsers;
mod framing;
mod headers;
mod limits;
mod proxies;
mod secrets;
mod slow;
mod tls;
mod uniform;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::api::Api;
use crate::support::target::PATIENCE;

/// The status of every answer in what came back over one connection.
fn statuses(answers: &str) -> Vec<u16> {
    let heads = answers.split("HTTP/1.1 ").skip(1);
    heads.map(|head| head.split(' ').next().unwrap().parse().unwrap()).collect()
}

/// Sends a request line and a head that ends the connection; returns the answers' statuses.
async fn ask(api: &Api, request_line: &str) -> (Vec<u16>, String) {
    let head = format!("{request_line} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    let answer = api.raw(head.as_bytes()).await;
    (statuses(&answer), answer)
}

/// As [`Api::raw`], for what is refused before all of it has come: the connection may be reset then,
/// with or without an answer.
async fn raw_or_reset(api: &Api, request: &[u8]) -> String {
    let (mut read, mut write) = TcpStream::connect(api.address()).await.unwrap().into_split();
    let mut answer = Vec::new();
    let exchange = async { tokio::join!(write.write_all(request), read.read_to_end(&mut answer)) };
    let _either_may_fail = timeout(PATIENCE, exchange).await.expect("it is ended");
    String::from_utf8(answer).unwrap()
}
