//! An API server of one test's own, on a loopback port and a thread of its own, over a new database
//! and under the test's manual clock; and the client that asks it. Jobs are driven through their
//! states by the [`Engine`] beside it: no puller runs unless a test starts one.
//!
//! The client panics on an answer that the OpenAPI document does not allow.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use axle::domain::claim::ClaimNames;
use axle::domain::id::RunId;
use axle::domain::principal::{Role, Subject, Team};
use axle::domain::verdict::Outcome;
use axle::engine::auth::{AuthSettings, KeySource, MintClaims, Powers, Verifier, mint_with};
use axle::engine::settle::{self, News, Settled};
use axle::engine::{Ctx, Group, Guard, Limits, clock, jobs};
use axle::http::{self, Auth, Edge};
use axle::store::live;
use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::contract;
use super::db::Db;
use super::engine::{Engine, LEASE, principal};
use super::target::PATIENCE;

/// What the server verifies tokens with.
pub const SECRET: &[u8] = b"a secret of the tests, 32 bytes long";

/// What a test wants of its server.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// `AXLE_REQUIRE_IDEMPOTENCY_KEY`.
    pub require_key: bool,
    /// As in `axle dev`: whoever calls from this machine is an admin of `acme`.
    pub loopback: bool,
    /// How the listener meets those who connect.
    pub edge: Edge,
    /// As `axle serve` is by default: only the internet may be called.
    pub closed: bool,
    /// Where tokens say team and role.
    pub claims: ClaimNames,
}

/// A running server; dropping it stops its thread.
pub struct Api {
    /// The engine: the same database and clock, over connections of its own.
    pub engine: Engine,
    address: SocketAddr,
    handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
    client: Client,
}

impl Api {
    /// A server that knows its callers by their tokens.
    pub async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    /// A server as the test wants it.
    pub async fn with(setup: Setup) -> Self {
        Self::serving(Engine::new().await, setup).await
    }

    /// The same on the database of another.
    pub async fn on(url: String, setup: Setup) -> Self {
        Self::serving(Engine::on(Db::at(url)).await, setup).await
    }

    async fn serving(mut engine: Engine, setup: Setup) -> Self {
        if setup.closed {
            let limits = Limits { guard: Guard::default(), ..(*engine.ctx.limits).clone() };
            engine.ctx.limits = Arc::new(limits);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (ctx, url) = (engine.ctx.clone(), engine.db.url.clone());
        let (tell, told) = oneshot::channel();
        let thread = thread::Builder::new().name("api".into());
        let thread = thread.spawn(move || run(listener, ctx, url, setup, tell)).unwrap();
        let handle = told.await.expect("the API listens");
        let client = Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_mins(1))
            .build()
            .unwrap();
        Self { engine, address, handle, thread: Some(thread), client }
    }

    /// An admin of a team; see [`Caller::role`].
    pub fn as_team(&self, team: &str) -> Caller<'_> {
        let team = Some(team.to_owned());
        let headers = HeaderMap::new();
        Caller { api: self, team, role: Role::Admin, installation_admin: false, headers }
    }

    /// Somebody without a token.
    pub fn as_nobody(&self) -> Caller<'_> {
        Caller { team: None, ..self.as_team("nobody") }
    }

    /// Sends these bytes on a new connection; returns all that comes back until the server closes.
    pub async fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Where it listens: `127.0.0.1:<port>`.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Claims a due job, as a puller does, and calls nobody.
    pub async fn claim(&self, job: &str) -> RunId {
        let shard = job.parse::<axle::domain::id::JobId>().unwrap().shard();
        let now = self.engine.clock.now();
        let times = (now, clock::after(now, LEASE));
        let session = self.engine.store.session().await.unwrap();
        let claimed =
            live::claim(&session, shard, ("puller-1", 1_000), times, None).await.unwrap().0;
        let run = claimed.iter().map(|claimed| claimed.run).find(|run| run.job.to_string() == job);
        run.unwrap_or_else(|| panic!("{job} is not due: {claimed:?}"))
    }

    /// Ends a run under its job's own policy.
    pub async fn settle(&self, run: RunId, outcome: Outcome) {
        self.report(run, settle::Report::bare(outcome, None)).await;
    }

    /// Ends a run with all that is known of its end.
    pub async fn report(&self, run: RunId, report: settle::Report) {
        let team = self.team_of(run).await;
        let job = jobs::get(&self.engine, &principal(&team, Role::Admin), run.job).await.unwrap();
        let policy = job.asked.spec.retry.clone();
        let news = [News::Ended { run, policy, report: Box::new(report) }];
        let settled = settle::write(&self.engine, run.shard(), &news).await.unwrap();
        assert_eq!(settled, [Settled::Moved]);
    }

    async fn team_of(&self, run: RunId) -> String {
        let question = format!("SELECT team FROM live WHERE job_id = '{}'::uuid", run.job.uuid());
        self.engine.db.ask(&question).await.get(0)
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || !matches!(ended, Some(Err(_))), "the API's thread panicked");
    }
}

/// The life of the server's thread. Its database connections live on this runtime.
fn run(
    listener: TcpListener,
    ctx: Ctx,
    url: String,
    setup: Setup,
    tell: oneshot::Sender<ServerHandle>,
) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let auth = if setup.loopback {
            Auth::Loopback(principal("acme", Role::Admin))
        } else {
            let keys = KeySource::Secret(SECRET.to_vec());
            let claims = setup.claims;
            let settings = AuthSettings { keys, issuer: None, audience: None, claims };
            Auth::Tokens(Arc::new(Verifier::new(settings).unwrap()))
        };
        let limits = Arc::new(Limits::clone(&ctx.limits));
        let store = Db::at(url).store;
        let ctx = Ctx { group: Group::new(store.clone(), ctx.wake.clone()), store, limits, ..ctx };
        let edge = Arc::new(setup.edge);
        let api = http::Api { ctx, auth, require_key: setup.require_key, edge };
        let server = http::serve(listener, api, None, (2, 1)).unwrap();
        tell.send(server.handle()).expect("the starter waits");
        server.await.unwrap();
    });
}

/// Somebody who asks.
#[derive(Clone)]
pub struct Caller<'a> {
    api: &'a Api,
    team: Option<String>,
    role: Role,
    installation_admin: bool,
    headers: HeaderMap,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
    /// The body as JSON; null if it is none.
    pub json: Value,
}

impl Caller<'_> {
    /// The same with another role.
    pub fn role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// The same, managing the installation's teams too.
    pub fn installation_admin(self) -> Self {
        Self { installation_admin: true, ..self }
    }

    /// The same with a header on every request.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, "").await
    }

    /// POST of a JSON value; [`Caller::act`] posts none.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(Method::POST, path, body.to_string()).await
    }

    /// POST without a body.
    pub async fn act(&self, path: &str) -> Reply {
        self.send(Method::POST, path, "").await
    }

    /// PUT of a JSON value.
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.send(Method::PUT, path, body.to_string()).await
    }

    /// PATCH of a JSON merge patch, on the condition of `etag`.
    pub async fn patch(&self, path: &str, etag: &str, body: &Value) -> Reply {
        let caller = self.clone().header("if-match", etag);
        caller.send(Method::PATCH, path, body.to_string()).await
    }

    /// Registers a job with the defaults and these further fields, and returns it.
    pub async fn create(&self, more: Value) -> Value {
        let reply = self.post("/v1/jobs", &job(more)).await;
        assert!(matches!(reply.status, 200 | 201), "{reply:?}");
        reply.json
    }

    /// Registers a job and returns its id.
    pub async fn enqueue(&self, more: Value) -> String {
        self.create(more).await["id"].as_str().unwrap().to_owned()
    }

    /// A job as it is now.
    pub async fn job(&self, id: &str) -> Value {
        let reply = self.get(&format!("/v1/jobs/{id}")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json
    }

    /// Any request. A body goes out as JSON unless a header says otherwise.
    pub async fn send(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Reply {
        let body = body.into();
        let url = format!("http://{}{path}", self.api.address);
        let mut request = self.api.client.request(method.clone(), url);
        if let Some(team) = &self.team {
            request = request.header(AUTHORIZATION, self.bearer(team));
        }
        if !body.is_empty() {
            if !self.headers.contains_key("content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body);
        }
        let answer = request.headers(self.headers.clone()).send().await.unwrap();
        let path = answer.url().path().to_owned();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let text = answer.text().await.unwrap();
        let reply = Reply { status, headers, json: Value::Null, text };
        reply.judged(&method, &path)
    }

    /// The value of its `Authorization`, for requests that no client would send.
    pub fn authorization(&self) -> String {
        self.bearer(self.team.as_deref().expect("a caller of a team"))
    }

    fn bearer(&self, team: &str) -> String {
        let claims = MintClaims {
            team: Team::parse(team).unwrap(),
            role: self.role,
            subject: Subject::parse("tester").unwrap(),
            ttl: Duration::from_hours(1),
            issuer: None,
            audience: None,
        };
        let powers = Powers { session: None, installation_admin: self.installation_admin };
        let now = self.api.engine.clock.now();
        format!("Bearer {}", mint_with(SECRET, &claims, powers, now).unwrap())
    }
}

impl Reply {
    /// A header, as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The `code` of a problem.
    pub fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }

    /// The faults of a refused request: pointer and code of each, sorted.
    pub fn faults(&self) -> Vec<(String, String)> {
        let text = |fault: &Value, field: &str| fault[field].as_str().unwrap().to_owned();
        let errors = self.json["errors"].as_array().into_iter().flatten();
        let mut faults: Vec<_> =
            errors.map(|fault| (text(fault, "pointer"), text(fault, "code"))).collect();
        faults.sort();
        faults
    }

    fn judged(mut self, method: &Method, path: &str) -> Self {
        // A body may be JSON and yet nested too deeply for `Value`.
        let body: Option<Value> = serde_json::from_str(&self.text).ok();
        let answer = contract::Answer {
            method,
            path,
            status: self.status,
            content_type: self.header("content-type").unwrap_or_default(),
            request_id: self.header("x-request-id").unwrap_or_default(),
            body: body.as_ref(),
        };
        let faults = contract::faults(&answer);
        assert!(faults.is_empty(), "{method} {path} → {} {}: {faults:#?}", self.status, self.text);
        self.json = body.unwrap_or_default();
        self
    }
}

/// The smallest job, with these further fields (an object, or null for none).
pub fn job(more: Value) -> Value {
    let mut job = serde_json::json!({"target": {"url": "http://127.0.0.1:9/hook"}});
    if let (Value::Object(job), Value::Object(more)) = (&mut job, more) {
        job.extend(more);
    }
    job
}
