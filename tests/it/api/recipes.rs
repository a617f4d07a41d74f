//! How every operation of the document is called so that it succeeds: what it acts on, with which
//! body, and which act of the role table it is. The tests of contract, teams and roles walk the
//! document and look here, so a new operation without a recipe fails them.

use axle::domain::principal::Act;
use axle::engine::run_token;
use serde_json::{Value, json};

use crate::support::api::{Api, Caller, Reply, job};
use crate::support::contract::Operation;
use crate::support::engine::FAILED;

/// What an operation acts on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    /// The whole collection, or the server.
    Nothing,
    /// A job that is not due for an hour.
    Waiting,
    /// A job that was cancelled.
    Finished,
    /// A job that had one run, which failed.
    Retrying,
    /// A queue.
    Queue,
    /// The run of a job that is running.
    Run,
    /// The same, with the token of its callback URL in the query.
    RunWithToken,
}

/// How one operation is called.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    /// What a role needs for it; none if no token is asked for.
    pub act: Option<Act>,
    /// What it acts on.
    pub subject: Subject,
    /// Its body.
    pub body: Option<Value>,
    /// What it answers.
    pub status: u16,
}

/// The recipe of an operation.
pub(super) fn recipe(operation: &Operation) -> Recipe {
    let reads = |subject| Recipe { act: Some(Act::Read), subject, body: None, status: 200 };
    let acts = |act, subject, body| Recipe { act: Some(act), subject, body, status: 200 };
    let posts_back =
        |body| Recipe { act: None, subject: Subject::RunWithToken, body: Some(body), status: 200 };
    match operation.id.as_str() {
        "createJob" => {
            let body = Some(job(Value::Null));
            Recipe { status: 201, ..acts(Act::Write, Subject::Nothing, body) }
        }
        "createJobs" => {
            let body = json!({"jobs": [job(Value::Null), job(Value::Null)]});
            acts(Act::Write, Subject::Nothing, Some(body))
        }
        "listJobs" => reads(Subject::Nothing),
        "getJob" => reads(Subject::Waiting),
        "changeJob" => acts(Act::Write, Subject::Waiting, Some(json!({"priority": 7}))),
        "cancelJob" => acts(Act::Write, Subject::Waiting, None),
        "runJobNow" => acts(Act::Operate, Subject::Waiting, None),
        "rerunJob" => Recipe { status: 201, ..acts(Act::Operate, Subject::Finished, None) },
        "listRuns" | "listEvents" => reads(Subject::Retrying),
        "getRun" => reads(Subject::Run),
        "postCallback" => posts_back(json!({"status": "succeeded", "result": {"total": 3}})),
        "postHeartbeat" => posts_back(json!({"progress": {"pct": 40.5, "message": "packing"}})),
        "getQueue" => reads(Subject::Queue),
        "putQueue" => {
            acts(Act::Configure, Subject::Queue, Some(json!({"description": "for mail"})))
        }
        "pauseQueue" => acts(Act::Operate, Subject::Queue, Some(json!({"reason": "maintenance"}))),
        "resumeQueue" => acts(Act::Operate, Subject::Queue, None),
        "getVersion" => Recipe { act: None, ..reads(Subject::Nothing) },
        other => panic!("the operation {other:?} has no recipe in tests/it/api/recipes.rs"),
    }
}

/// Makes what the operation acts on, for the team `acme`, and returns where it is called.
pub(super) async fn prepare(api: &Api, operation: &Operation) -> String {
    let acme = api.as_team("acme");
    let (id, query) = match recipe(operation).subject {
        Subject::Nothing => (String::new(), String::new()),
        Subject::Waiting => (acme.enqueue(json!({"delay_ms": 3_600_000})).await, String::new()),
        Subject::Finished => {
            let id = acme.enqueue(json!({"delay_ms": 3_600_000})).await;
            assert_eq!(acme.act(&format!("/v1/jobs/{id}/cancel")).await.status, 200);
            (id, String::new())
        }
        Subject::Retrying => {
            let id = acme.enqueue(Value::Null).await;
            api.settle(api.claim(&id).await, FAILED).await;
            (id, String::new())
        }
        Subject::Queue => ("mail".to_owned(), String::new()),
        Subject::Run => {
            let id = acme.enqueue(Value::Null).await;
            (api.claim(&id).await.to_string(), String::new())
        }
        Subject::RunWithToken => {
            let id = acme.enqueue(json!({"completion": "callback"})).await;
            let run = api.claim(&id).await;
            let token = run_token::token(&api.engine.limits.callback_key, run);
            (run.to_string(), format!("?token={token}"))
        }
    };
    let fill = |part: &str| if part.starts_with('{') { id.clone() } else { part.to_owned() };
    let path: Vec<_> = operation.path.split('/').map(fill).collect();
    format!("{}{query}", path.join("/"))
}

/// Calls the operation at `path` with its recipe's body.
pub(super) async fn call(caller: &Caller<'_>, operation: &Operation, path: &str) -> Reply {
    let body = recipe(operation).body.map(|body| body.to_string()).unwrap_or_default();
    let wants_condition = operation.spec["parameters"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["name"] == "If-Match"));
    let caller = caller.clone();
    let caller = if wants_condition { caller.header("if-match", "*") } else { caller };
    caller.send(operation.method.clone(), path, body).await
}
