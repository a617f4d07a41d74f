//! Whose request a log line names: a header is believed from a trusted proxy only.

use crate::support::callback::client;
use crate::support::db::Db;
use crate::support::process::Server;

async fn client_in_log(trusted: &[(&str, &str)], marker: &str) -> String {
    let db = Db::new().await;
    let server = Server::start(&db.url, "api", trusted).await;
    let url = format!("http://{}/v1/version", server.address());
    let request = client().get(url).header("x-forwarded-for", "192.0.2.1, 198.51.100.9");
    request.header("x-request-id", marker).send().await.unwrap();
    server.err.with(marker).await
}

#[tokio::test]
async fn a_log_line_names_the_client_as_a_trusted_proxy_tells_it() {
    let line = client_in_log(&[], "asked-directly").await;
    assert!(line.contains("client=127.0.0.1 "), "{line}");
    let line =
        client_in_log(&[("AXLE_TRUSTED_PROXIES", "127.0.0.0/8,::1")], "asked-by-proxy").await;
    assert!(line.contains("client=198.51.100.9 "), "{line}");
}
