//! How every operation of the document is called so that it succeeds: what it acts on, with which
//! body, and which act of the role table it is. The tests of contract, teams and roles walk the
//! document and look here, so a new operation without a recipe fails them.

use std::sync::atomic::{AtomicU32, Ordering};

use axle::domain::principal::{Act, Role};
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
    /// A schedule that nothing has made a job for.
    Schedule,
    /// The name of a schedule that there is not yet.
    NewSchedule,
    /// A calendar that nobody uses.
    Calendar,
    /// An API key.
    Key,
    /// The current signing secret of the team.
    Signing,
    /// The slug of a team, whether there is one or not.
    Slug,
    /// The team itself.
    Team,
    /// A member of the team who is no owner.
    Member,
    /// A person who can sign in as [`PERSON`].
    Person,
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

impl Subject {
    /// Whether its name means something else, or nothing yet, in every team.
    pub(super) fn is_by_name(self) -> bool {
        matches!(self, Self::Queue | Self::NewSchedule | Self::Calendar | Self::Slug)
    }
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
        "listJobs" | "listTargets" => reads(Subject::Nothing),
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
        _ => of_schedules(operation),
    }
}

fn of_schedules(operation: &Operation) -> Recipe {
    let reads = |subject| Recipe { act: Some(Act::Read), subject, body: None, status: 200 };
    let acts = |act, subject, body| Recipe { act: Some(act), subject, body, status: 200 };
    let on_schedule = |act, body| acts(act, Subject::Schedule, body);
    match operation.id.as_str() {
        "createSchedule" => {
            let body = Some(schedule(json!({"name": fresh_name()})));
            Recipe { status: 201, ..acts(Act::Write, Subject::Nothing, body) }
        }
        "putSchedule" => {
            let body = Some(schedule(Value::Null));
            Recipe { status: 201, ..acts(Act::Write, Subject::NewSchedule, body) }
        }
        "previewSchedule" => {
            let body = json!({"spec": {"cron": "30 2 * * *"}, "time_zone": "Europe/Berlin"});
            acts(Act::Read, Subject::Nothing, Some(body))
        }
        "listSchedules" | "listCalendars" => reads(Subject::Nothing),
        "getSchedule" | "listFires" => reads(Subject::Schedule),
        "changeSchedule" => on_schedule(Act::Write, Some(json!({"jitter_ms": 5}))),
        "deleteSchedule" => Recipe { status: 204, ..on_schedule(Act::Write, None) },
        "pauseSchedule" => on_schedule(Act::Write, Some(json!({"reason": "maintenance"}))),
        "resumeSchedule" => on_schedule(Act::Write, Some(json!({"catch_up": true}))),
        "triggerSchedule" => {
            let body = Some(json!({"overlap": "allow"}));
            Recipe { status: 201, ..on_schedule(Act::Operate, body) }
        }
        "backfillSchedule" => {
            let range = json!({"from": "2026-11-28T00:00:00Z", "to": "2026-11-30T00:00:00Z"});
            on_schedule(Act::Operate, Some(range))
        }
        "getCalendar" => reads(Subject::Calendar),
        "putCalendar" => {
            let body = json!({"dates": ["2026-12-25"], "weekend": ["sat", "sun"]});
            acts(Act::Write, Subject::Calendar, Some(body))
        }
        "deleteCalendar" => Recipe { status: 204, ..acts(Act::Write, Subject::Calendar, None) },
        _ => of_access(operation),
    }
}

fn of_access(operation: &Operation) -> Recipe {
    let manages = |subject, body, status| Recipe { act: Some(Act::Manage), subject, body, status };
    match operation.id.as_str() {
        "createKey" => {
            let body = json!({"name": "billing", "role": "writer"});
            manages(Subject::Nothing, Some(body), 201)
        }
        "listKeys" | "listAudit" | "exportAudit" => manages(Subject::Nothing, None, 200),
        "getKey" => manages(Subject::Key, None, 200),
        "revokeKey" => manages(Subject::Key, None, 204),
        "rollKey" => manages(Subject::Key, Some(json!({"overlap_ms": 60_000})), 201),
        "revokeToken" => {
            let body = json!({"jti": fresh_name(), "expires_at": "2027-01-01T00:00:00Z"});
            manages(Subject::Nothing, Some(body), 204)
        }
        _ => of_teams(operation),
    }
}

/// E-mail and password of [`Subject::Person`].
pub(super) const PERSON: (&str, &str) = ("kim@example.com", "correct horse battery");

fn of_teams(operation: &Operation) -> Recipe {
    let team = |act, body, status| Recipe { act: Some(act), subject: Subject::Team, body, status };
    let member = |act, body, status| Recipe { subject: Subject::Member, ..team(act, body, status) };
    let open = |subject, body, status| Recipe { act: None, subject, body: Some(body), status };
    let (email, password) = PERSON;
    // Made by nobody: what a token does that opens something is in `login` and `people`.
    let refresh = json!({"refresh_token": "axr_0"});
    match operation.id.as_str() {
        "createTeam" => {
            let body = json!({"team": fresh_name()});
            Recipe { subject: Subject::Nothing, ..team(Act::Install, Some(body), 201) }
        }
        "listTeams" => Recipe { subject: Subject::Nothing, ..team(Act::Read, None, 200) },
        "getTeam" | "listMembers" | "getQuotas" => team(Act::Read, None, 200),
        "changeQuotas" => team(Act::Install, Some(json!({"schedules": 10_000})), 200),
        "changeTeam" => team(Act::Own, Some(json!({"name": "The shop"})), 200),
        "suspendTeam" => team(Act::Install, Some(json!({"reason": "unpaid"})), 200),
        "unsuspendTeam" => team(Act::Install, None, 200),
        "getMember" => member(Act::Read, None, 200),
        "putMember" => member(Act::Manage, Some(json!({"role": "writer"})), 200),
        "removeMember" => member(Act::Manage, None, 204),
        "invite" => {
            team(Act::Manage, Some(json!({"email": "kim@example.com", "role": "viewer"})), 201)
        }
        "acceptInvitation" => {
            let body = json!({"token": "axi_0", "name": "Kim", "password": password});
            open(Subject::Nothing, body, 409)
        }
        "login" => open(Subject::Person, json!({"email": email, "password": password}), 200),
        "refreshLogin" => open(Subject::Nothing, refresh, 401),
        "logout" => open(Subject::Nothing, refresh, 204),
        "changePassword" => {
            let body = json!({"email": email, "password": password, "new_password": password});
            open(Subject::Person, body, 204)
        }
        _ => of_signing(operation),
    }
}

fn of_signing(operation: &Operation) -> Recipe {
    let manages = |subject, body, status| Recipe { act: Some(Act::Manage), subject, body, status };
    match operation.id.as_str() {
        "createSigningSecret" => {
            manages(Subject::Nothing, Some(json!({"queue": fresh_name()})), 201)
        }
        "listSigningSecrets" => manages(Subject::Nothing, None, 200),
        "rotateSigningSecret" => manages(Subject::Signing, Some(json!({"overlap_ms": 0})), 201),
        "revokeSigningSecret" => manages(Subject::Signing, None, 204),
        "verifyCall" => {
            let body = Some(json!({"headers": {"webhook-id": "job_1"}, "body": "{}"}));
            Recipe { act: Some(Act::Read), ..manages(Subject::Nothing, body, 200) }
        }
        "listPublicKeys" => Recipe { act: None, ..manages(Subject::Slug, None, 200) },
        other => panic!("the operation {other:?} has no recipe in tests/it/api/recipes.rs"),
    }
}

/// Makes what the operation acts on, for the team `acme`, and returns where it is called.
pub(super) async fn prepare(api: &Api, operation: &Operation) -> String {
    let acme = api.as_team("acme");
    let mut user = String::new();
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
        Subject::Queue | Subject::Slug => ("mail".to_owned(), String::new()),
        Subject::Schedule => {
            let body = schedule(json!({"name": fresh_name()}));
            let made = acme.post("/v1/schedules", &body).await;
            assert_eq!(made.status, 201, "{}", made.text);
            (made.json["id"].as_str().unwrap().to_owned(), String::new())
        }
        Subject::NewSchedule => (fresh_name(), String::new()),
        Subject::Calendar => {
            let name = fresh_name();
            assert_eq!(acme.put(&format!("/v1/calendars/{name}"), &json!({})).await.status, 200);
            (name, String::new())
        }
        Subject::Key => {
            let body = json!({"name": "billing", "role": "viewer"});
            let made = acme.post("/v1/keys", &body).await;
            (made.json["id"].as_str().unwrap().to_owned(), String::new())
        }
        Subject::Signing => (signing_secret(&acme).await, String::new()),
        Subject::Team => {
            // Whatever an operation before has done to it.
            let admin = api.as_team("acme").installation_admin();
            assert_eq!(admin.act("/v1/teams/acme/unsuspend").await.status, 200);
            ("acme".to_owned(), String::new())
        }
        Subject::Member => {
            user = join(api, &format!("{}@example.com", fresh_name()), Role::Viewer).await;
            ("acme".to_owned(), String::new())
        }
        Subject::Person => {
            let known = api.engine.db.ask("SELECT count(*) FROM users WHERE name = 'Kim'").await;
            if known.get::<_, i64>(0) == 0 {
                join(api, PERSON.0, Role::Operator).await;
            }
            (String::new(), String::new())
        }
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
    let fill = |part: &str| match part {
        "{user}" => user.clone(),
        part if part.starts_with('{') => id.clone(),
        part => part.to_owned(),
    };
    let path: Vec<_> = operation.path.split('/').map(fill).collect();
    format!("{}{query}", path.join("/"))
}

/// Makes somebody a member of `acme`, and returns their id.
pub(super) async fn join(api: &Api, email: &str, role: Role) -> String {
    let owner = api.as_team("acme").role(Role::Owner);
    let body = json!({"email": email, "role": role.as_str()});
    let invited = owner.post("/v1/teams/acme/invitations", &body).await;
    assert_eq!(invited.status, 201, "{}", invited.text);
    let body = json!({"token": invited.json["token"], "name": "Kim", "password": PERSON.1});
    let joined = api.as_nobody().post("/v1/invitations/accept", &body).await;
    assert_eq!(joined.status, 201, "{}", joined.text);
    joined.json["user"].as_str().unwrap().to_owned()
}

/// Somebody of a team who may do what the recipe takes.
pub(super) fn able<'a>(api: &'a Api, team: &str, recipe: &Recipe) -> Caller<'a> {
    match recipe.act {
        None => api.as_nobody(),
        Some(Act::Install) => api.as_team(team).installation_admin(),
        Some(Act::Own) => api.as_team(team).role(Role::Owner),
        Some(_) => api.as_team(team),
    }
}

/// The id of the team's current signing secret, made if there is none.
async fn signing_secret(acme: &Caller<'_>) -> String {
    acme.post("/v1/signing/secrets", &json!({})).await;
    let list = acme.get("/v1/signing/secrets").await.json;
    let all = list["data"].as_array().unwrap();
    let current = all.iter().find(|one| one["state"] == "current" && one["queue"].is_null());
    current.unwrap()["id"].as_str().unwrap().to_owned()
}

/// A name that no other schedule or calendar of these tests has.
fn fresh_name() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    format!("n{}", MADE.fetch_add(1, Ordering::Relaxed))
}

/// The smallest schedule, with these further fields (an object, or null for none).
pub(super) fn schedule(more: Value) -> Value {
    let mut schedule = json!({"spec": {"cron": "30 2 * * *"}, "job": job(Value::Null)});
    if let (Value::Object(schedule), Value::Object(more)) = (&mut schedule, more) {
        schedule.extend(more);
    }
    schedule
}

/// Calls the operation at `path` with its recipe's body.
pub(super) async fn call(caller: &Caller<'_>, operation: &Operation, path: &str) -> Reply {
    let body = recipe(operation).body.map(|body| body.to_string()).unwrap_or_default();
    let wants_condition = operation.spec["parameters"].as_array().is_some_and(|all| {
        all.iter().any(|one| one["name"] == "If-Match" && one["required"] == true)
    });
    let caller = caller.clone();
    let caller = if wants_condition { caller.header("if-match", "*") } else { caller };
    caller.send(operation.method.clone(), path, body).await
}
