//! Real `axle serve` processes on a database of the test's: started on ports of their own, watched,
//! signalled, and killed at the end; and a client of their API.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use axle::domain::egress::is_denied_port;
use axle::domain::principal::{Role, Subject, Team};
use axle::engine::auth::{MintClaims, mint};
use axle::engine::clock::system_now;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::callback::{Reply, client};
use super::program::{Env, Program, eventually};
use super::target::PATIENCE;

/// What the tests' tokens are signed with.
pub const SECRET: &str = "a secret of the tests, 32 bytes or more";
/// The lease of the processes: the shortest that is allowed.
pub const LEASE: Duration = Duration::from_secs(5);
/// How much longer than promised a loaded machine may take.
pub const MARGIN: Duration = Duration::from_secs(3);

/// A server process; derefs to the [`Program`] that it is.
pub struct Server {
    program: Program,
    start: Start,
}

/// What a server was started with, so that the same can be started again.
#[derive(Clone)]
struct Start {
    env: Vec<(String, String)>,
    listen: SocketAddr,
    admin: SocketAddr,
}

impl Start {
    fn new(database_url: &str, roles: &str, extra: Env<'_>) -> Self {
        let (listen, admin) = (free_address(), free_address());
        let (listen_text, admin_text) = (listen.to_string(), admin.to_string());
        let ours = [
            ("AXLE_DATABASE_URL", database_url),
            ("AXLE_ROLES", roles),
            ("AXLE_LISTEN", &listen_text),
            ("AXLE_ADMIN_LISTEN", &admin_text),
            ("AXLE_JWT_SECRET", SECRET),
            ("AXLE_LEASE", "5s"),
            ("AXLE_SWEEP_INTERVAL", "100ms"),
            ("AXLE_DATABASE_POOL", "8"),
            // Most tests have one target, and mean its calls by the permits.
            ("AXLE_TARGET_CONCURRENCY", "10000"),
            ("AXLE_LOG", "info,axle=debug"),
            ("AXLE_LOG_FORMAT", "text"),
            ("AXLE_ALLOW_PRIVATE_TARGETS", "true"),
        ];
        let mut env: Vec<(String, String)> = Vec::new();
        for (name, value) in ours.iter().chain(extra) {
            env.retain(|(known, _)| known != name);
            env.push(((*name).to_owned(), (*value).to_owned()));
        }
        Self { env, listen, admin }
    }
}

impl Deref for Server {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut Program {
        &mut self.program
    }
}

impl Server {
    /// A server with these roles that is ready. `extra` overrides the settings below.
    pub async fn start(database_url: &str, roles: &str, extra: Env<'_>) -> Self {
        let server = Self::launch(database_url, roles, extra);
        server.wait_ready(true).await;
        server
    }

    /// The same without waiting for it.
    pub fn launch(database_url: &str, roles: &str, extra: Env<'_>) -> Self {
        Self::of(Start::new(database_url, roles, extra))
    }

    /// Starts it once more, on the same addresses, after it has ended; waits until it is ready.
    pub async fn again(self) -> Self {
        let server = self.restart();
        server.wait_ready(true).await;
        server
    }

    /// The same without waiting for it.
    pub fn restart(self) -> Self {
        Self::of(self.start)
    }

    fn of(start: Start) -> Self {
        let env: Vec<_> = start.env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let program = Program::start(&["serve"], &env);
        Self { program, start }
    }

    /// Waits until `/readyz` says that it is ready, or that it is not.
    pub async fn wait_ready(&self, ready: bool) {
        let status = if ready { 200 } else { 503 };
        eventually(&format!("/readyz answers {status}"), PATIENCE, async || {
            (self.admin("/readyz").await?.0 == status).then_some(())
        })
        .await;
    }

    /// Asks its admin listener; nothing if it does not answer.
    pub async fn admin(&self, path: &str) -> Option<(u16, String)> {
        let answer =
            client().get(format!("http://{}{path}", self.start.admin)).send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.text().await.ok()?))
    }

    /// The value of one of its metrics; 0 for one that it has not counted yet.
    pub async fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.admin("/metrics").await.expect("metrics are served");
        let value = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
        text.lines().find_map(value).unwrap_or(0.0)
    }

    /// The API listener's address.
    pub fn address(&self) -> SocketAddr {
        self.start.listen
    }

    /// The admin listener's address.
    pub fn admin_address(&self) -> SocketAddr {
        self.start.admin
    }

    /// A client of its API, as an admin of the team `acme`.
    pub fn api(&self) -> Api {
        Api { base: format!("http://{}", self.start.listen), token: token("acme") }
    }
}

/// A token of a team's admin.
pub fn token(team: &str) -> String {
    let claims = MintClaims {
        team: Team::parse(team).expect("a team"),
        role: Role::Admin,
        subject: Subject::parse("tester").expect("a subject"),
        ttl: Duration::from_hours(1),
        issuer: None,
        audience: None,
    };
    mint(SECRET.as_bytes(), &claims, system_now()).expect("a token is made")
}

/// A client of one server's API.
#[derive(Clone)]
pub struct Api {
    base: String,
    token: String,
}

impl Api {
    /// The same client with another token.
    pub fn with_token(self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self }
    }

    /// Sends a request, and returns the status and the JSON that came back, if anything did.
    pub async fn try_ask(&self, method: Method, path: &str, body: Option<&Value>) -> Option<Reply> {
        let request = self.request(method, path);
        let request = if let Some(body) = body { request.json(body) } else { request };
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.json().await.unwrap_or(Value::Null)))
    }

    /// Gets what is there.
    pub async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(Method::GET, path, None).await;
        assert_eq!(status, 200, "GET {path}: {body}");
        body
    }

    /// Posts, and returns what came back.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// Registers a job, and returns its id.
    pub async fn create(&self, job: &Value) -> String {
        let (status, body) = self.post("/v1/jobs", job).await;
        assert_eq!(status, 201, "{body}");
        body["id"].as_str().expect("a job has an id").to_owned()
    }

    /// Registers `count` equal jobs, a thousand at a time.
    pub async fn create_many(&self, job: &Value, count: usize) {
        for from in (0..count).step_by(1_000) {
            let items = vec![job.clone(); (count - from).min(1_000)];
            let batch = serde_json::json!({"atomic": true, "jobs": items});
            let (status, body) = self.post("/v1/jobs/batch", &batch).await;
            assert!((200..300).contains(&status), "{status} {body}");
        }
    }

    /// Waits until a job has this state, and returns it.
    pub async fn wait_state(&self, id: &str, state: &str) -> Value {
        eventually(&format!("{id} is {state}"), PATIENCE, async || {
            let (status, job) = self.try_ask(Method::GET, &format!("/v1/jobs/{id}"), None).await?;
            (status == 200 && job["state"] == state).then_some(job)
        })
        .await
    }

    /// The states of a job's runs, oldest first.
    pub async fn run_states(&self, id: &str) -> Vec<String> {
        let runs = self.get(&format!("/v1/jobs/{id}/runs")).await;
        let runs = runs["data"].as_array().expect("a list of runs");
        runs.iter().rev().map(|run| run["state"].as_str().unwrap_or_default().to_owned()).collect()
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Reply {
        let reply = self.try_ask(method, path, body).await;
        reply.unwrap_or_else(|| panic!("{path} is answered"))
    }

    /// A request with the token, to be changed and sent.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        client().request(method, format!("{}{path}", self.base)).bearer_auth(&self.token)
    }
}

/// A loopback address that is free now and that no other test gets. Below the range that Linux
/// (32768) takes for outgoing connections, and below that of the private PostgreSQL.
pub fn free_address() -> SocketAddr {
    const PORTS: std::ops::Range<u16> = 10_000..15_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let width = PORTS.end - PORTS.start;
    // Test binaries that run at the same time begin at different ports.
    let begin = u16::try_from(std::process::id() % u32::from(width)).unwrap_or(0);
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + (begin + step % width) % width;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if !is_denied_port(port) && TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}
