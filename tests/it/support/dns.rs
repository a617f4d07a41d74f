//! A name server on UDP (RFC 1035), as much of one as the system's resolver asks for. Answers have a
//! lifetime of 0, so that nobody keeps them. It lives on a thread of its own, to the end of the
//! process.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread;

/// What a name leads to.
#[derive(Clone, Debug)]
pub enum Answers {
    /// These addresses, every time.
    Always(Vec<IpAddr>),
    /// One after another, each once; the last one for ever.
    Turns(Vec<IpAddr>),
    /// SERVFAIL.
    Failure,
}

/// Serves these names at `address`; every other name does not exist.
pub fn serve(address: SocketAddr, names: impl IntoIterator<Item = (&'static str, Answers)>) {
    let socket = UdpSocket::bind(address).expect("the port for names is free");
    let names: BTreeMap<String, Answers> =
        names.into_iter().map(|(name, answers)| (name.to_owned(), answers)).collect();
    let mut server = Server { socket, names };
    let run = move || while server.answer_one().is_some() {};
    thread::Builder::new().name("dns".into()).spawn(run).expect("a thread starts");
}

struct Server {
    socket: UdpSocket,
    names: BTreeMap<String, Answers>,
}

/// The types that are asked for.
const A: u16 = 1;
const AAAA: u16 = 28;

/// Length of a message's head.
const HEAD: usize = 12;

impl Server {
    fn answer_one(&mut self) -> Option<()> {
        let mut buffer = [0; 1_500];
        let (len, from) = self.socket.recv_from(&mut buffer).ok()?;
        let question = &buffer[HEAD..len];
        let (name, end) = name_of(question);
        let kind = u16::from_be_bytes([question[end], question[end + 1]]);
        let (code, addresses) = self.look_up(&name, kind);
        let mut answer = buffer[..2].to_vec();
        let count = u16::try_from(addresses.len()).expect("few addresses");
        // An answer, recursion wanted and there.
        for word in [0x8180 | code, 1, count, 0, 0] {
            answer.extend(u16::to_be_bytes(word));
        }
        answer.extend(&question[..end + 4]);
        for address in addresses {
            // The name stands right after the head; class IN; lifetime 0.
            answer.extend([0xc0, 0x0c]);
            answer.extend(kind.to_be_bytes());
            answer.extend([0, 1, 0, 0, 0, 0]);
            let octets = match address {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            answer.extend(u16::try_from(octets.len()).expect("4 or 16").to_be_bytes());
            answer.extend(octets);
        }
        self.socket.send_to(&answer, from).ok()?;
        Some(())
    }

    /// The response code, and the addresses of the family that is asked for.
    fn look_up(&mut self, name: &str, kind: u16) -> (u16, Vec<IpAddr>) {
        let fits = |ip: &IpAddr| kind == if ip.is_ipv4() { A } else { AAAA };
        match self.names.get_mut(name) {
            None => (3, Vec::new()),
            Some(Answers::Failure) => (2, Vec::new()),
            Some(Answers::Always(all)) => (0, all.iter().copied().filter(fits).collect()),
            Some(Answers::Turns(turns)) => match turns.first().copied().filter(fits) {
                Some(now) => {
                    if turns.len() > 1 {
                        turns.remove(0);
                    }
                    (0, vec![now])
                }
                None => (0, Vec::new()),
            },
        }
    }
}

/// The name at the beginning of a question, in lower case, and where its type stands.
fn name_of(question: &[u8]) -> (String, usize) {
    let mut labels = Vec::new();
    let mut at = 0;
    while question[at] != 0 {
        let end = at + 1 + usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..end]).to_lowercase());
        at = end;
    }
    (labels.join("."), at + 1)
}
