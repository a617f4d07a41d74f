//! A target that is not there: a port that refuses every connection.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// A loopback port that is bound but never listens: connecting is refused, and nobody else can
/// take the port as long as this value lives.
pub struct ClosedPort {
    address: SocketAddr,
    reserved: TcpSocket,
}

impl ClosedPort {
    /// Reserves a free port. Needs to be called inside a runtime.
    pub fn reserve() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket opens");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a loopback port is free");
        Self { address: socket.local_addr().expect("it is bound"), reserved: socket }
    }

    /// Opens the port: from now on connections are taken.
    pub fn listen(self) -> TcpListener {
        self.reserved.listen(64).expect("it is bound")
    }

    /// The URL of a path on the closed port.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}
