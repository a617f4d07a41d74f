//! All the parts of a run in this process: an engine under a manual clock, a puller that acts when
//! it is told, the API that callbacks come to, and a scripted target. It judges nothing.

use std::net::TcpListener;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axle::domain::egress::Egress;
use axle::domain::id::{JobId, RunId};
use axle::domain::job::{Completion, Job, NewJob};
use axle::domain::run::{LogEvent, Run, RunState};
use axle::domain::state::State;
use axle::engine::puller::Puller;
use axle::engine::{Guard, Limits, clock, journal};
use axle::http::{Api, Auth};
use reqwest::Method;
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::callback::{Reply, client};
use super::engine::{Engine, With, job};
use super::program::eventually;
use super::target::{Call, PATIENCE, Target};

/// The path that the jobs of [`Rig::job`] call.
pub const PATH: &str = "/work";

/// The parts; derefs to the engine.
pub struct Rig {
    /// What jobs call.
    pub target: Target,
    engine: Engine,
    puller: Arc<Puller>,
    base: String,
}

impl Deref for Rig {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl Rig {
    /// On a new database.
    pub async fn new() -> Self {
        Self::with(|engine| engine.puller("rig", 200)).await
    }

    /// The same, but calls go through this guard, and anything may be registered.
    pub async fn guarded(guard: &Guard) -> Self {
        Self::with(|engine| {
            let allow = ["0.0.0.0/0", "::/0"].map(|block| block.parse().expect("a block"));
            let anything = Egress { allow: allow.into(), allow_private: true, ..Egress::default() };
            let guard_of_door = Guard::new(anything, None);
            let limits = Limits { guard: guard_of_door, ..(*engine.ctx.limits).clone() };
            engine.ctx.limits = Arc::new(limits);
            engine.guarded_puller(guard, ("rig", 200))
        })
        .await
    }

    async fn with(puller: impl FnOnce(&mut Engine) -> Arc<Puller>) -> Self {
        let mut engine = Engine::new().await;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let limits = Limits { public_url: base.clone(), ..(*engine.ctx.limits).clone() };
        engine.ctx.limits = Arc::new(limits);
        let auth = Auth::Loopback(engine.who.clone());
        let edge = Arc::default();
        let api = Api { ctx: engine.ctx.clone(), auth, require_key: false, edge };
        let server = axle::http::serve(listener, api, None, (1, 1)).expect("the API is served");
        // It ends with the runtime of the test.
        TaskTracker::new().spawn(server);
        let puller = puller(&mut engine);
        Self { target: Target::start().await, engine, puller, base }
    }

    /// A job that calls [`PATH`] of the target.
    pub fn job(&self) -> NewJob {
        job(&self.target.url(PATH))
    }

    /// The same, in callback mode.
    pub fn callback_job(&self) -> NewJob {
        self.job().with(|new| new.spec.completion = Completion::Callback)
    }

    /// Registers a job that is due and has it claimed and called; returns its first run.
    pub async fn start(&self, new: NewJob) -> RunId {
        let job = self.enqueue(new).await.id;
        self.pull().await;
        RunId { job, fence: 1 }
    }

    /// The same, until its run has ended.
    pub async fn run(&self, new: NewJob) -> Run {
        let run = self.start(new).await;
        self.ended(run).await
    }

    /// The same in callback mode, until the target has accepted it; returns the call too.
    pub async fn accepted(&self, new: NewJob) -> (RunId, Arc<Call>) {
        let run = self.start(new).await;
        self.wait_run(run, &[RunState::Running]).await;
        (run, self.call_of(run))
    }

    /// The call that a run made on [`PATH`].
    pub fn call_of(&self, run: RunId) -> Arc<Call> {
        let (calls, run) = (self.target.calls(PATH), run.to_string());
        let call = calls.into_iter().find(|call| call.run_id() == run);
        call.unwrap_or_else(|| panic!("{run} was not called"))
    }

    /// Has due jobs claimed and called, as far as the puller knows of them.
    pub async fn pull(&self) {
        self.puller.step().await.expect("a step goes well");
    }

    /// Moves the clock to the next attempt of a waiting job, and has it claimed and called.
    pub async fn next_run(&self, id: JobId) -> RunId {
        let before = self.wait_state(id, State::RetryWait).await;
        let due_at = before.standing.next_attempt_at.expect("a waiting job is due some time");
        // The puller's hint is finer than the microseconds that are stored.
        let wait = clock::until(self.clock.now(), due_at) + Duration::from_micros(1);
        self.pass(wait);
        let fence = eventually("the job is claimed again", PATIENCE, async || {
            // The hint follows the commit that the state was read from.
            self.pull().await;
            let fence = self.get(id).await.standing.fence;
            (fence > before.standing.fence).then_some(fence)
        });
        RunId { job: id, fence: fence.await }
    }

    /// A run as it is now.
    pub async fn read(&self, run: RunId) -> Run {
        journal::run(self, &self.who, run).await.expect("the run is there")
    }

    /// Waits until a run has ended.
    pub async fn ended(&self, run: RunId) -> Run {
        use RunState::{Cancelled, Failed, Lost, Success, Timeout};
        self.wait_run(run, &[Cancelled, Failed, Lost, Success, Timeout]).await
    }

    /// Waits until a run has one of these states.
    pub async fn wait_run(&self, run: RunId, states: &[RunState]) -> Run {
        eventually(&format!("{run} is one of {states:?}"), PATIENCE, async || {
            let run = self.read(run).await;
            states.contains(&run.state).then_some(run)
        })
        .await
    }

    /// The lines of this kind in a job's log.
    pub async fn log(&self, id: JobId, kind: &str) -> Vec<LogEvent> {
        let log = journal::events(self, &self.who, id).await.expect("the log is there");
        log.into_iter().filter(|line| line.kind == kind).collect()
    }

    /// Sends a request to the API, as an admin of the job's team.
    pub async fn ask(&self, method: Method, path: &str) -> Reply {
        let answer = client().request(method, format!("{}{path}", self.base)).send().await;
        let answer = answer.expect("the API answers");
        (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
    }

    /// The same with a body; a PATCH of whatever is there.
    pub async fn tell(&self, method: Method, path: &str, body: &Value) -> Reply {
        let is_patch = method == Method::PATCH;
        let mut request = client().request(method, format!("{}{path}", self.base)).json(body);
        if is_patch {
            request = request.header("if-match", "*");
        }
        let answer = request.send().await.expect("the API answers");
        (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
    }

    /// Reads what the API shows, byte for byte.
    pub async fn text(&self, path: &str) -> String {
        let answer = client().get(format!("{}{path}", self.base)).send().await;
        answer.expect("the API answers").text().await.expect("it answers in full")
    }

    /// Cancels a job.
    pub async fn cancel(&self, id: JobId) {
        let (status, body) = self.ask(Method::POST, &format!("/v1/jobs/{id}/cancel")).await;
        assert_eq!(status, 200, "{body}");
    }
}

/// Where a job stands, in words that can be compared.
pub fn standing(job: &Job) -> String {
    format!("{:?} {:?}", job.standing, job.etag())
}
