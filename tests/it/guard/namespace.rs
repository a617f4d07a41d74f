//! Group E of the known bugs from end to end, with the real program and the system's resolver, in a
//! network namespace that has loopback alone: a guard that fails has no route to anything real. The
//! addresses that must not be called, and two that may, all belong to this one interface, so that a
//! failed guard does meet somebody, who takes it down.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::support::db::Db;
use crate::support::dns::{self, Answers};
use crate::support::process::{Api, Server};

/// Addresses that the namespace's loopback gets; the first two are the internet.
const ADDRESSES: &[&str] = &[
    "93.184.216.34",
    "2606:2800:220:1::1",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "192.0.0.192",
    "168.63.129.16",
    "192.168.0.1",
    "198.18.0.1",
    "fd00::1",
    "fd00:ec2::254",
    "2001:db8::1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::1",
];

/// What of them may be called by default.
const PUBLIC: &[&str] = &["93.184.216.34", "2606:2800:220:1::1"];

/// As the superuser, or in a user namespace where that is allowed.
const SETTINGS: [&[&str]; 2] = [&["-n", "-m"], &["--map-current-user", "--keep-caps", "-n", "-m"]];

/// Prepares the namespace: arguments are a folder, the addresses.
const PREPARE: &str = r#"
    set -e
    dir=$1; shift
    ip link set lo up
    for address in "$@"; do
        case $address in
            *:*) ip -6 addr add "$address/128" dev lo ;;
            *) ip addr add "$address/32" dev lo ;;
        esac
    done
    mount --bind "$dir/resolv.conf" /etc/resolv.conf
    mount --bind "$dir/nsswitch.conf" /etc/nsswitch.conf
"#;

#[test]
fn b113_b125_end_to_end_where_a_failed_guard_can_reach_nothing() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("resolv.conf"),
        "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
    )
    .unwrap();
    let databases = "passwd: files\ngroup: files\nhosts: files dns\n";
    std::fs::write(dir.path().join("nsswitch.conf"), databases).unwrap();
    let run = |how: &[&str], then: &str| {
        let script = format!("{PREPARE}\n{then}");
        let mut command = Command::new("unshare");
        command.args(how).args(["sh", "-c", &script, "sh"]).arg(dir.path()).args(ADDRESSES);
        command.env("AXLE_IT", std::env::current_exe().unwrap());
        command.output()
    };
    let possible = |how: &&&[&str]| run(how, "").is_ok_and(|output| output.status.success());
    let Some(how) = SETTINGS.iter().find(possible) else {
        let why =
            run(SETTINGS[0], "").map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
        println!(
            "SKIPPED: no network namespace can be made here ({why:?}); the guard was not tried"
        );
        return;
    };
    let inner = "exec \"$AXLE_IT\" --exact guard::namespace::inside --ignored --nocapture";
    let output = run(how, inner).unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

/// Whoever comes to port 80 of any address, and to which.
#[derive(Clone, Default)]
struct Met(Arc<Mutex<Vec<String>>>);

impl Met {
    /// Answers every request: `/redirect` with a way inside, all else with 200.
    fn listen() -> Self {
        let met = Self::default();
        let listener = TcpListener::bind("[::]:80").expect("port 80 of the namespace is free");
        let kept = met.clone();
        let serve = move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("it is accepted");
                let address = stream.local_addr().expect("it is connected").ip().to_canonical();
                kept.0.lock().unwrap().push(address.to_string());
                let mut head = [0; 8_192];
                let len = stream.read(&mut head).unwrap_or(0);
                let asked = String::from_utf8_lossy(&head[..len]).into_owned();
                let head = if asked.contains(" /redirect ") {
                    "302 Found\r\nlocation: http://169.254.169.254/"
                } else {
                    "200 OK"
                };
                let close = "content-length: 0\r\nconnection: close";
                // Whoever has gone is not interested.
                _ = stream.write_all(format!("HTTP/1.1 {head}\r\n{close}\r\n\r\n").as_bytes());
            }
        };
        thread::Builder::new().name("canary".into()).spawn(serve).expect("a thread starts");
        met
    }

    fn take(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().drain(..).collect()
    }
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Names that lead to one forbidden place each.
const BAD_NAMES: &[(&str, &[&str])] = &[
    ("loopback.test", &["127.0.0.1"]),
    ("loopback6.test", &["::1"]),
    ("mapped.test", &["::ffff:127.0.0.1"]),
    ("compatible.test", &["::127.0.0.1"]),
    ("zero.test", &["0.0.0.0"]),
    ("zero6.test", &["::"]),
    ("metadata.test", &["169.254.169.254"]),
    ("oracle.test", &["192.0.0.192"]),
    ("azure.test", &["168.63.129.16"]),
    ("alibaba.test", &["100.100.100.200"]),
    ("aws6.test", &["fd00:ec2::254"]),
    ("private.test", &["10.0.0.1", "192.168.0.1", "198.18.0.1", "100.64.0.1", "fd00::1"]),
    ("nat64.test", &["64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"]),
    ("sixtofour.test", &["2002:7f00:1::1"]),
    ("documentation.test", &["2001:db8::1"]),
];

/// Every other spelling of a forbidden address; port 80 is open there.
const BAD_LITERALS: &[&str] = &[
    "127.0.0.1",
    "2130706433",
    "0x7f000001",
    "017700000001",
    "0177.0.0.1",
    "127.1",
    "127.0.0.1.",
    "127.9.9.9",
    "0",
    "0.0.0.0",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:7f00:1::1]",
    "[2001:db8::1]",
    "2852039166",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.254.169.254",
    "192.0.0.192",
    "168.63.129.16",
    "100.100.100.200",
    "100.64.0.1",
    "10.0.0.1",
    "192.168.0.1",
    "198.18.0.1",
    "[fd00::1]",
    "[fd00:ec2::254]",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "１２７.０.０.１",
    "127.0.0.1\\@93.184.216.34",
    "%31%32%37.0.0.1",
];

#[tokio::test]
#[ignore = "started by the test above, in a network namespace"]
async fn inside() {
    let names = BAD_NAMES.iter().map(|(name, to)| (*name, Answers::Always(ips(to))));
    let more = [
        ("public.test", Answers::Always(ips(PUBLIC))),
        ("mixed.test", Answers::Always(ips(&["127.0.0.1", "::1", "10.0.0.1", PUBLIC[0]]))),
        ("rebind.test", Answers::Turns(ips(&[PUBLIC[0], "127.0.0.1"]))),
        ("broken.test", Answers::Failure),
    ];
    dns::serve("127.0.0.1:53".parse().unwrap(), names.chain(more));
    let met = Met::listen();
    let db = Db::new().await;

    // First that the trap works: an open server is let in everywhere.
    let open = Server::start(&db.url, "all", &[]).await;
    for url in ["http://127.0.0.1/", "http://loopback.test/", "http://10.0.0.1/"] {
        open.api().wait_state(&create(&open.api(), url).await, "SUCCESS").await;
    }
    assert_eq!(met.take(), ["10.0.0.1", "127.0.0.1"].map(str::to_owned).into());
    drop(open);

    // What an open API registers a closed puller refuses.
    let door = Server::start(&db.url, "api", &[("AXLE_TARGET_ALLOW", "0.0.0.0/0,::/0")]).await;
    let closed = Server::start(&db.url, "all", &[("AXLE_ALLOW_PRIVATE_TARGETS", "false")]).await;
    let api = closed.api();
    let good = create(&api, "http://public.test/").await;
    api.wait_state(&good, "SUCCESS").await;
    let public: BTreeSet<_> = PUBLIC.iter().map(|ip| (*ip).to_owned()).collect();
    assert!(met.take().is_subset(&public));

    let mut refused = Vec::new();
    for host in BAD_LITERALS {
        let url = format!("http://{host}/");
        let (status, body) = api.post("/v1/jobs", &job(&url)).await;
        assert_eq!((status, &body["code"]), (422, &json!("target-forbidden")), "{url}: {body}");
        refused.push(create(&door.api(), &url).await);
    }
    for (name, _) in BAD_NAMES {
        refused.push(create(&api, &format!("http://{name}/")).await);
    }
    for id in &refused {
        let job = api.wait_state(id, "FAILED").await;
        assert_eq!(job["reason"], "target_forbidden", "{job}");
        assert_eq!(api.run_states(id).await, ["FAILED"], "no retry: {job}");
    }
    assert_eq!(met.take(), BTreeSet::new(), "nobody came");

    let mixed = create(&api, "http://mixed.test/").await;
    api.wait_state(&mixed, "SUCCESS").await;
    assert_eq!(met.take(), [PUBLIC[0].to_owned()].into());
    changing(&api, &met).await;
    drop((door, closed));
    own_listeners(&db.url, &met).await;
}

/// Of this machine everything is allowed, by address and by name; but not where Axle itself listens.
async fn own_listeners(database: &str, met: &Met) {
    let env = [
        ("AXLE_ALLOW_PRIVATE_TARGETS", "false"),
        ("AXLE_TARGET_ALLOW", "127.0.0.0/8,loopback.test"),
    ];
    let server = Server::start(database, "all", &env).await;
    let api = server.api();
    for name in ["127.0.0.1", "loopback.test"] {
        let id = create(&api, &format!("http://{name}/")).await;
        api.wait_state(&id, "SUCCESS").await;
    }
    assert_eq!(met.take(), ["127.0.0.1".to_owned()].into());
    for listener in [server.address(), server.admin_address()] {
        let (status, body) =
            api.post("/v1/jobs", &job(&format!("http://{listener}/metrics"))).await;
        assert_eq!((status, &body["code"]), (422, &json!("target-forbidden")), "{body}");
        let by_name = format!("http://loopback.test:{}/metrics", listener.port());
        let job = api.wait_state(&create(&api, &by_name).await, "FAILED").await;
        assert_eq!(job["reason"], "target_forbidden", "{job}");
    }
}

/// Answers that change, that fail, and a way inside by a redirect.
async fn changing(api: &Api, met: &Met) {
    let first = create(api, "http://rebind.test/").await;
    api.wait_state(&first, "SUCCESS").await;
    let second = create(api, "http://rebind.test/").await;
    assert_eq!(api.wait_state(&second, "FAILED").await["reason"], "target_forbidden");
    let broken = create(api, "http://broken.test/").await;
    let job = api.wait_state(&broken, "RETRY_WAIT").await;
    assert_eq!(job["last_error"]["class"], "dns", "{job}");
    let led_on = create(api, "http://public.test/redirect").await;
    let job = api.wait_state(&led_on, "RETRY_WAIT").await;
    assert_eq!(job["last_error"]["class"], "http_status", "{job}");
    let public = PUBLIC.iter().map(|ip| (*ip).to_owned()).collect();
    let came = met.take();
    assert!(came.is_subset(&public), "{came:?}");
}

fn job(url: &str) -> Value {
    json!({"target": {"url": url}})
}

async fn create(api: &Api, url: &str) -> String {
    api.create(&job(url)).await
}
