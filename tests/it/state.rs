//! The state table against the database: every state meets every event, through the same guarded
//! statements that the engine uses, and what moved is compared with `domain::state::MOVES`.

use std::time::Duration;

use axle::domain::id::{JobId, RunId};
use axle::domain::job::Reason;
use axle::domain::state::{Event, MOVES, State};
use axle::domain::verdict::{Outcome, Spent};
use axle::engine::jobs::Filter;
use axle::engine::{Error, clock, moves};
use axle::store::done::{self, Done};
use axle::store::idempotency::Kept;
use axle::store::live::{self, Retry};
use axle::store::{Session, jobs, turns};
use tokio_postgres::error::SqlState;

use crate::support::engine::{Engine, FAILED, REFUSED, SHARD, START, With as _, ended, job};

/// Every way to stand in a state that matters to some event: a hand-back returns to where the claim
/// came from, so there are two that run.
const SEEDS: [(&str, State); 8] = [
    ("waiting", State::Waiting),
    ("pending", State::Pending),
    ("retry_wait", State::RetryWait),
    ("running, first attempt", State::Running),
    ("running, second attempt", State::Running),
    ("success", State::Success),
    ("failed", State::Failed),
    ("cancelled", State::Cancelled),
];

/// The wait before the second attempt, after which a seed is due whatever its state.
const BACK_OFF: Duration = Duration::from_secs(30);
/// Every seed's start deadline, after its start.
const DEADLINE: Duration = Duration::from_mins(1);

/// Makes a job and brings it where `seed` says, by legal moves.
async fn seed(engine: &Engine, seed: &str) -> JobId {
    let deadline = Some(clock::after(engine.clock.now(), DEADLINE));
    let new = job("http://127.0.0.1:1/").with(|job| job.start_deadline = deadline);
    let id = engine.enqueue_together(vec![new]).await[0];
    match seed {
        "waiting" => engine.db.execute("UPDATE live SET state = 'WAITING'").await,
        "pending" => {}
        "cancelled" => cancel(engine, id).await.unwrap(),
        _ => {
            let run = engine.claim_one().await;
            match seed {
                "success" => _ = engine.settle(run, Outcome::Succeeded).await,
                "failed" => _ = engine.settle(run, REFUSED).await,
                "running, first attempt" => {}
                _ => _ = engine.settle(run, FAILED).await,
            }
        }
    }
    engine.pass(BACK_OFF);
    if seed == "running, second attempt" {
        engine.claim_one().await;
    }
    id
}

async fn clear(engine: &Engine) {
    engine
        .db
        .execute("DELETE FROM live; DELETE FROM done; DELETE FROM runs; DELETE FROM jobs")
        .await;
}

async fn cancel(engine: &Engine, id: JobId) -> Result<(), Error> {
    moves::cancel(&engine.ctx, &engine.who, None, id, |_| Kept::default()).await.map(drop)
}

/// Runs the guarded statement of `event` as the engine does: in a transaction, and if the row has
/// left `live`, with the row of `done` that belongs to the event.
async fn happen(engine: &Engine, event: Event, run: RunId) {
    let session = engine.store.session().await.unwrap();
    session.begin();
    let before = live::lock(&session, SHARD, &[run.job.uuid()]).await.unwrap();
    execute(engine, &session, event, run).await;
    let after = live::lock(&session, SHARD, &[run.job.uuid()]).await.unwrap();
    if after.len() < before.len() {
        let (state, reason) = match event {
            Event::Succeed => (State::Success, None),
            Event::Fail => (State::Failed, Some(Reason::NoRetry)),
            Event::Expire => (State::Failed, Some(Reason::Expired)),
            Event::Cancel => (State::Cancelled, Some(Reason::ByUser)),
            Event::Release | Event::Claim | Event::Retry | Event::HandBack => {
                panic!("{event:?} took a row out of live")
            }
        };
        let [live] = &before[..] else { panic!("one row left") };
        let (team, spent) = (live.team.clone(), live.spent);
        let done = Done { id: run.job, team, state, reason, spent, fence: live.fence };
        done::insert(&session, SHARD, &[done], engine.clock.now()).await.unwrap();
    }
    session.commit().await.unwrap();
}

async fn execute(engine: &Engine, session: &Session, event: Event, run: RunId) {
    let now = engine.clock.now();
    match event {
        Event::Release => _ = turns::release(session, run.job, now).await.unwrap(),
        Event::Claim => _ = engine.claim_with(session, 10).await,
        Event::Succeed | Event::Fail => live::finish(session, SHARD, &[run]).await.unwrap(),
        Event::Retry => {
            let spent = Spent { attempt: 1, failures: 0, lost: 0 };
            let retry = Retry { run, due_at: now, spent };
            live::retry(session, SHARD, &[&retry], now).await.unwrap();
        }
        Event::Expire => {
            let late = clock::after(now, DEADLINE);
            live::expire(session, SHARD, &[run.job], late).await.unwrap();
        }
        Event::Cancel => live::cancel(session, run.job).await.unwrap(),
        Event::HandBack => {
            let returned = live::Return { run, later: None };
            live::hand_back(session, SHARD, &[returned], now).await.unwrap();
        }
    }
}

/// The state of a job, after a look that it stands in exactly one of `live` and `done`.
async fn state(engine: &Engine, id: JobId) -> State {
    let where_ = "SELECT (SELECT count(*) FROM live) + (SELECT count(*) FROM done) AS rows";
    let rows: i64 = engine.db.ask(where_).await.get("rows");
    assert_eq!(rows, 1, "{id} is in `live` or in `done`, never in both, never in neither");
    let session = engine.store.session().await.unwrap();
    jobs::state(&session, id).await.unwrap().unwrap()
}

#[tokio::test]
async fn the_statements_make_exactly_the_moves_of_the_table() {
    let engine = Engine::new().await;
    let mut moved = Vec::new();
    for (name, from) in SEEDS {
        for event in Event::ALL {
            clear(&engine).await;
            let id = seed(&engine, name).await;
            assert_eq!(state(&engine, id).await, from, "the seed {name}");
            let fence = engine.get(id).await.standing.fence;
            happen(&engine, event, RunId { job: id, fence }).await;
            let to = state(&engine, id).await;
            if to != from && !moved.contains(&(from, event, to)) {
                moved.push((from, event, to));
            }
        }
    }
    let legal: Vec<_> = MOVES.iter().map(|m| (m.from, m.event, m.to)).collect();
    let illegal: Vec<_> = moved.iter().filter(|m| !legal.contains(m)).collect();
    assert!(illegal.is_empty(), "the database makes illegal moves: {illegal:?}");
    let missing: Vec<_> = legal.iter().filter(|m| !moved.contains(m)).collect();
    assert!(missing.is_empty(), "the database does not make legal moves: {missing:?}");
}

#[tokio::test]
async fn b067_an_older_fence_moves_nothing() {
    let engine = Engine::new().await;
    for event in [Event::Succeed, Event::Fail, Event::Retry, Event::HandBack] {
        clear(&engine).await;
        let id = seed(&engine, "running, second attempt").await;
        let row = "SELECT to_jsonb(live)::text AS row FROM live";
        let before: String = engine.db.ask(row).await.get("row");
        happen(&engine, event, RunId { job: id, fence: 1 }).await;
        let after: String = engine.db.ask(row).await.get("row");
        assert_eq!(before, after, "{event:?}");
    }
}

#[tokio::test]
async fn an_owner_is_told_the_state_that_refused_the_move() {
    let engine = Engine::new().await;
    for (name, from) in SEEDS {
        clear(&engine).await;
        let id = seed(&engine, name).await;
        let run_now =
            moves::run_now(&engine.ctx, &engine.who, None, id, |_| Kept::default()).await.map(drop);
        let rerun =
            moves::rerun(&engine.ctx, &engine.who, None, id, |_| Kept::default()).await.map(drop);
        let cancelled = cancel(&engine, id).await;
        let claimable = matches!(from, State::Pending | State::RetryWait);
        assert_reply(run_now, claimable, from, name);
        assert_reply(rerun, from.is_final(), from, name);
        // Cancelling twice is the same as once.
        let stoppable = !matches!(from, State::Success | State::Failed);
        assert_reply(cancelled, stoppable, from, name);
    }
}

fn assert_reply(reply: Result<(), Error>, expected: bool, from: State, seed: &str) {
    match reply {
        Ok(()) => assert!(expected, "{seed}: accepted"),
        Err(Error::Refused { state, .. }) => {
            assert!(!expected, "{seed}: refused");
            assert_eq!(state, from);
        }
        Err(other) => panic!("{seed}: {other}"),
    }
}

#[tokio::test]
async fn the_tables_refuse_rows_that_cannot_be() {
    let engine = Engine::new().await;
    let id = seed(&engine, "success").await.uuid();
    engine.enqueue_together(vec![job("http://127.0.0.1:1/")]).await;
    let now = START.to_rfc3339();
    let done = |state: &str, reason: &str| {
        format!(
            "INSERT INTO done SELECT shard, job_id, team, '{state}', {reason}, 1, 0, 1, '{now}' \
             FROM live"
        )
    };
    let check = SqlState::CHECK_VIOLATION;
    let twice = SqlState::UNIQUE_VIOLATION;
    let refused = [
        ("UPDATE live SET state = 'SUCCESS'".to_owned(), &check),
        ("UPDATE live SET state = 'RUNNING'".to_owned(), &check),
        (format!("UPDATE live SET lease_until = '{now}'"), &check),
        (format!("UPDATE live SET accepted_at = '{now}'"), &check),
        ("UPDATE live SET attempt = -1".to_owned(), &check),
        ("UPDATE live SET failures = -1".to_owned(), &check),
        ("UPDATE live SET lost = -1".to_owned(), &check),
        (done("RUNNING", "'by_user'"), &check),
        (done("SUCCESS", "'by_user'"), &check),
        (done("FAILED", "NULL"), &check),
        ("UPDATE runs SET state = 'RUNNING'".to_owned(), &check),
        ("UPDATE installation SET one = false".to_owned(), &check),
        ("INSERT INTO installation (callback_key) VALUES ('')".to_owned(), &twice),
        (format!("INSERT INTO done SELECT * FROM done WHERE job_id = '{id}'"), &twice),
        (format!("INSERT INTO runs SELECT * FROM runs WHERE job_id = '{id}'"), &twice),
        ("INSERT INTO live SELECT * FROM live".to_owned(), &twice),
    ];
    let client = engine.db.connect().await;
    for (statement, code) in refused {
        match client.execute(&statement, &[]).await {
            Ok(rows) => panic!("{statement}: taken, {rows} rows"),
            Err(error) => assert_eq!(error.code(), Some(code), "{statement}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_report_of_a_run_that_is_not_going_on_is_stale_in_every_state() {
    let engine = Engine::new().await;
    for (name, from) in SEEDS.into_iter().filter(|(_, state)| *state != State::Running) {
        clear(&engine).await;
        let id = seed(&engine, name).await;
        let fence = engine.get(id).await.standing.fence;
        for outcome in [Outcome::Succeeded, FAILED, REFUSED, Outcome::Lost, Outcome::Unreached] {
            let news = [ended(RunId { job: id, fence }, outcome)];
            let settled = axle::engine::settle::write(&engine.ctx, SHARD, &news).await.unwrap();
            assert_eq!(settled, [axle::engine::settle::Settled::Stale], "{name}, {outcome:?}");
            assert_eq!(state(&engine, id).await, from, "{name}, {outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_page_shows_each_job_of_the_asked_states_once_and_newest_first() {
    let engine = Engine::new().await;
    let mut ids = Vec::new();
    for name in ["success", "failed", "cancelled", "running, first attempt", "pending"] {
        ids.insert(0, seed(&engine, name).await);
    }
    let page = async |states: &[State], before: Option<JobId>, limit: usize| {
        let filter = Filter { states: states.to_vec(), ..Filter::default() };
        let (page, more) =
            axle::engine::jobs::list(&engine.ctx, &engine.who, &filter, (before, limit))
                .await
                .unwrap();
        (page.iter().map(|job| job.id).collect::<Vec<_>>(), more)
    };
    assert_eq!(page(&[], None, 9).await, (ids.clone(), false));
    assert_eq!(page(&[], None, 2).await, (ids[..2].to_vec(), true));
    assert_eq!(page(&[], Some(ids[1]), 9).await, (ids[2..].to_vec(), false));
    let twice = [State::Running, State::Failed, State::Running];
    assert_eq!(page(&twice, None, 9).await, (vec![ids[1], ids[3]], false));
    assert_eq!(page(&[State::RetryWait], None, 9).await, (vec![], false));
}
