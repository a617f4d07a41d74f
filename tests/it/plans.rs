//! The plans of the hot statements beside a million future jobs and a hundred thousand schedules: each reads the index that was made
//! for it, and a claim reads what it takes. The planner is held to generic plans, which a cached
//! statement may get at any time.

use std::collections::BTreeSet;

use axle::domain::state::State;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::support::db::Db;
use crate::support::engine::{Engine, SHARD, job};

/// The text of a statement of the store.
macro_rules! statement {
    ($name:literal) => {
        ($name, include_str!(concat!("../../src/store/", $name, ".sql")))
    };
}

/// A million future jobs and a hundred thousand finished ones, evenly over the shards, in id order.
/// Indexes are set aside while rows go in, and built at the end, and nothing is logged: several times
/// faster, and of no matter to the plans. Analyzed is what autovacuum analyzes: no parent of parts.
const FILL: &str = "
    SET maintenance_work_mem = '256MB';
    ALTER TABLE jobs_first SET UNLOGGED;
    ALTER TABLE live SET UNLOGGED;
    ALTER TABLE done_first SET UNLOGGED;
    ALTER TABLE runs_first SET UNLOGGED;
    UPDATE pg_index SET indisready = false, indisvalid = false
     WHERE indrelid IN ('live'::regclass, 'jobs_first'::regclass);
    CREATE TEMP VIEW made AS
    SELECT s.shard, n, n < 15625 AS unfinished, timestamptz '2027-01-01' + n * interval '1 s' AS at,
           (lpad(to_hex(1700000000000 + s.nth * 100000 + n), 12, '0') || '70008000000000000'
            || lpad(to_hex(s.shard), 3, '0'))::uuid AS job_id
      FROM (SELECT shard, row_number() OVER (ORDER BY shard) AS nth FROM shards) s,
           generate_series(0, 15625 + 1562) n;
    INSERT INTO jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
    SELECT shard, job_id, 'acme', 'default', '{}', '', at, 5, at FROM made;
    INSERT INTO live (shard, job_id, team, queue, state, priority, due_at, updated_at)
    SELECT shard, job_id, 'acme', 'default', 'PENDING', 5, at, at FROM made WHERE unfinished;
    INSERT INTO done (shard, job_id, team, state, reason, attempt, failures, fence, finished_at)
    SELECT shard, job_id, 'acme', CASE n % 100 WHEN 0 THEN 'FAILED' ELSE 'SUCCESS' END,
           CASE n % 100 WHEN 0 THEN 'no_retry' END, 1, 0, 1, at
      FROM made WHERE NOT unfinished;
    INSERT INTO runs (shard, job_id, fence, attempt, state, finished_at)
    SELECT shard, job_id, 1, 1, 'SUCCESS', at FROM made WHERE NOT unfinished;
    INSERT INTO schedules (shard, schedule_id, team, name, plan, payload, state, accounted_until,
                           next_slot_at, next_fire_at, created_at, updated_at)
    SELECT shard, job_id, 'acme', 'n' || n, '{\"pause_on_failure\":false}', '', 'ACTIVE', at, at, at, at, at
      FROM made WHERE n < 1563;
    INSERT INTO fires (shard, schedule_id, fire_at, outcome, origin, count, at_least, recorded_at)
    SELECT shard, job_id, at, 'fired', 'timer', 1, false, at FROM made WHERE n < 1563;
    REINDEX TABLE live;
    REINDEX TABLE jobs_first;
    DROP VIEW made;
    ANALYZE live, jobs_first, done_first, runs_first, schedules, fires, shards, queues, teams";

/// Every shard, and for each a time before which nothing is due, as arguments.
async fn every_shard(client: &Client) -> String {
    let rows = client.query("SELECT shard FROM shards", &[]).await.unwrap();
    let shards: Vec<String> = rows.iter().map(|row| row.get::<_, i32>(0).to_string()).collect();
    let count = shards.len();
    format!("ARRAY[{}], array_fill(timestamptz 'epoch', ARRAY[{count}])", shards.join(","))
}

/// A database with that backlog, made once for the tests of this file.
async fn crowded() -> Db {
    static URL: OnceCell<String> = OnceCell::const_new();
    let fill = async || {
        let db = Db::new().await;
        db.execute(FILL).await;
        db.url
    };
    Db::at(URL.get_or_init(fill).await.clone())
}

/// One node of a plan. Of a part of the history its table and index are named by the parent's.
struct Node {
    kind: String,
    relation: String,
    index: String,
    part: Option<String>,
}

/// A plan: its nodes, and how many pages its execution read.
struct Plan {
    nodes: Vec<Node>,
    pages: i64,
}

impl Plan {
    /// Executes a statement under EXPLAIN and undoes what it did. `arguments` are SQL literals.
    async fn of(client: &Client, mode: &str, statement: (&str, &str), arguments: &str) -> Self {
        let (name, text) = statement;
        let begin = format!("BEGIN; SET LOCAL plan_cache_mode = {mode}; PREPARE asked AS {text}");
        client.batch_execute(&begin).await.unwrap();
        let arguments = if arguments.is_empty() { String::new() } else { format!("({arguments})") };
        let plan = Self::explain(client, name, &format!("asked{arguments}")).await;
        client.batch_execute("ROLLBACK; DEALLOCATE asked").await.unwrap();
        plan
    }

    /// Executes what was prepared under EXPLAIN.
    async fn explain(client: &Client, name: &str, execute: &str) -> Self {
        let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {execute}");
        let row = match client.query_one(&explain, &[]).await {
            Ok(row) => row,
            Err(error) => panic!("{name}: {error:?}"),
        };
        let document: Value = row.get(0);
        let root = &document[0]["Plan"];
        let pages =
            ["Shared Hit Blocks", "Shared Read Blocks"].map(|key| root[key].as_i64().unwrap());
        let mut nodes = Vec::new();
        collect(root, &mut nodes);
        Self { nodes, pages: pages.iter().sum() }
    }

    /// Tables of the hot set that are read from end to end.
    fn scanned(&self) -> Vec<&str> {
        let hot = |node: &&Node| {
            node.kind.ends_with("Seq Scan")
                && matches!(
                    &*node.relation,
                    "live" | "jobs" | "done" | "runs" | "schedules" | "fires"
                )
        };
        self.nodes.iter().filter(hot).map(|node| &*node.relation).collect()
    }

    fn indexes(&self) -> Vec<&str> {
        self.nodes.iter().map(|node| &*node.index).filter(|index| !index.is_empty()).collect()
    }

    /// The parts of the history that were looked into.
    fn parts(&self) -> BTreeSet<&str> {
        self.nodes.iter().filter_map(|node| node.part.as_deref()).collect()
    }
}

fn collect(node: &Value, nodes: &mut Vec<Node>) {
    let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
    let (relation, index) = (text("Relation Name"), text("Index Name"));
    let (parent, part) = relation.split_once('_').unwrap_or((&relation, ""));
    let is_part = ["jobs", "done", "runs", "events"].contains(&parent) && !part.is_empty();
    // What was never looked into was pruned while the statement ran: it is in the plan all the same.
    let is_pruned = is_part && node["Actual Loops"] == 0;
    nodes.push(Node {
        kind: if is_pruned { String::new() } else { text("Node Type") },
        index: if is_part { index.replace(&format!("_{part}"), "") } else { index },
        part: (is_part && !is_pruned).then(|| part.to_owned()),
        relation: if is_part { parent.to_owned() } else { relation.clone() },
    });
    for inner in node["Plans"].as_array().into_iter().flatten() {
        collect(inner, nodes);
    }
}

/// One plan for all arguments: what a statement that the pool keeps may come to.
const GENERIC: &str = "force_generic_plan";
/// As the pool's statements are planned, after their first uses.
const AS_CACHED: &str = "auto";

/// A statement, its arguments, and the indexes that it must read and no others.
type Case = ((&'static str, &'static str), String, &'static [&'static str]);

/// What pullers, targets and owners do all day, to the job `id` of `shard`.
fn hot(shard: i32, id: Uuid) -> Vec<Case> {
    let id = format!("'{id}'");
    let ids = format!("ARRAY[{id}]::uuid[]");
    let now = "'2026-12-01'";
    let nows = format!("ARRAY[{now}]::timestamptz[]");
    let run = format!("{shard}, {ids}, '{{1}}'");
    vec![
        (
            statement!("live/claim"),
            format!("{shard}, {now}, 100, {now}, 'p', NULL, '{{}}', '{{}}', 'epoch'"),
            &["live_due", "live_rounds", "jobs_pkey"],
        ),
        (statement!("live/next_due"), format!("{shard}, 'epoch'"), &["live_due"]),
        (statement!("live/lock"), format!("{shard}, {ids}"), &["live_pkey"]),
        (statement!("live/renew"), format!("{run}, {now}"), &["live_pkey"]),
        (
            statement!("live/accept"),
            format!("{run}, {now}, {nows}, '{{202}}', {nows}, {nows}"),
            &["live_pkey"],
        ),
        (statement!("live/beat"), format!("{shard}, {id}, 1, {now}, {now}, NULL"), &["live_pkey"]),
        (statement!("live/finish"), run.clone(), &["live_pkey"]),
        (
            statement!("live/retry"),
            format!("{run}, {now}, {nows}, '{{1}}', '{{0}}', '{{0}}'"),
            &["live_pkey"],
        ),
        (statement!("live/hand_back"), format!("{run}, {now}, {nows}, '{{x}}'"), &["live_pkey"]),
        (statement!("live/cancel"), format!("{shard}, {id}"), &["live_pkey"]),
        (statement!("live/change"), format!("{shard}, {id}, {now}, 1, {now}"), &["live_pkey"]),
        (statement!("live/overdue"), format!("{shard}, {now}, 200"), &["live_lease"]),
        (statement!("live/unstarted"), format!("{shard}, {now}, 200"), &["live_start_deadline"]),
        (statement!("live/expire"), format!("{shard}, {ids}, {now}"), &["live_pkey"]),
        (statement!("live/find_unique"), format!("{shard}, 'acme', '{{k}}'"), &["live_unique_key"]),
        (
            statement!("jobs/get"),
            format!("{shard}, {id}, 'acme'"),
            &["jobs_pkey", "live_pkey", "done_pkey", "runs_pkey"],
        ),
        (statement!("jobs/state"), format!("{shard}, {id}"), &["live_pkey", "done_pkey"]),
        (statement!("jobs/specs"), format!("{shard}, {ids}"), &["jobs_pkey"]),
        (
            statement!("runs/list"),
            format!("{shard}, {id}, 'acme', 9, 51"),
            &["runs_pkey", "jobs_pkey"],
        ),
        (statement!("runs/ended"), format!("{shard}, {id}, 1"), &["runs_pkey"]),
        (statement!("runs/previous"), format!("{shard}, {id}"), &["runs_pkey"]),
        (statement!("schedules/due"), format!("{shard}, {now}, 100, NULL"), &["schedules_due"]),
        (statement!("schedules/due_ids"), format!("{shard}, {now}, 100"), &["schedules_due"]),
        (statement!("schedules/next_slot"), format!("{shard}"), &["schedules_due"]),
        (statement!("schedules/hold"), format!("{shard}, {id}"), &["schedules_pkey"]),
        (
            statement!("schedules/pause_on_failure"),
            format!("{shard}, {ids}, '{{x}}', {now}"),
            &["schedules_pkey"],
        ),
        (statement!("turns/unfinished"), format!("{shard}, {ids}"), &["live_schedule"]),
        (statement!("turns/release"), format!("{shard}, {id}, {now}"), &["live_pkey"]),
        (
            statement!("fires/list"),
            format!("{shard}, {id}, {now}, '2028-01-01', 51"),
            &["fires_pkey"],
        ),
        (
            statement!("fires/take_ranges"),
            format!("{shard}, {id}, {now}, {now}"),
            &["fires_ranges"],
        ),
        (statement!("live/hold"), format!("{shard}, {now}, 200"), &["live_rounds", "live_pkey"]),
    ]
}

/// What pullers do beside it where teams have ceilings.
fn ceilings(shard: i32) -> Vec<Case> {
    vec![
        (statement!("rounds/next_due_beside"), format!("{shard}, '{{x}}'"), &["live_rounds"]),
        (statement!("quotas/running"), "'{rival}'".to_owned(), &["live_team"]),
    ]
}

#[tokio::test]
async fn b095_hot_statements_read_their_index_beside_a_million_future_jobs() {
    let db = crowded().await;
    // Not the shard in which another test puts due jobs meanwhile.
    let row = db.ask("SELECT shard, job_id FROM live WHERE shard > 0 ORDER BY shard LIMIT 1").await;
    let client = db.connect().await;
    let mut faults = Vec::new();
    let shard = row.get("shard");
    let all = hot(shard, row.get("job_id")).into_iter().chain(ceilings(shard));
    for (statement, arguments, indexes) in all {
        let plan = Plan::of(&client, GENERIC, statement, &arguments).await;
        let stray: Vec<_> = plan.indexes().into_iter().filter(|i| !indexes.contains(i)).collect();
        let unread: Vec<_> = indexes.iter().filter(|i| !plan.indexes().contains(i)).collect();
        let scanned = plan.scanned();
        let parts = plan.parts();
        // Ten priorities, three levels of an index each, and a few rows.
        let dear = plan.pages > 60 || parts.len() > 1;
        if !stray.is_empty() || !unread.is_empty() || !scanned.is_empty() || dear {
            let (name, pages) = (statement.0, plan.pages);
            faults.push(format!(
                "{name}: scans {scanned:?}, reads {stray:?}, not {unread:?}, {pages} pages of {parts:?}"
            ));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn looks_over_all_shards_cost_a_probe_per_shard() {
    let client = crowded().await.connect().await;
    let now = "'2026-12-01'";
    let rivals = format!("{now}, NULL, {}", every_shard(&client).await);
    let looks = [
        (statement!("live/next_dues"), ""),
        (statement!("schedules/next_slots"), ""),
        (statement!("sweep/look"), now),
        (statement!("sweep/gauges"), now),
        (statement!("rounds/rivals"), &rivals),
        (statement!("quotas/due_shards"), "'acme', '2026-12-01'"),
    ];
    for (statement, arguments) in looks {
        let plan = Plan::of(&client, GENERIC, statement, arguments).await;
        assert!(plan.scanned().is_empty(), "{} scans {:?}", statement.0, plan.scanned());
        // 64 shards, ten priorities, three levels of an index.
        assert!(plan.pages < 64 * 10 * 4, "{} reads {} pages", statement.0, plan.pages);
    }
}

#[tokio::test]
async fn a_claim_reads_what_it_takes() {
    let engine = Engine::on(crowded().await).await;
    engine.enqueue_together(vec![job("http://127.0.0.1:1/"); 100]).await;
    let client = engine.db.connect().await;
    let now = engine.clock.now().to_rfc3339();
    let mut pages = Vec::new();
    for limit in [1, 100] {
        let arguments =
            format!("{}, '{now}', {limit}, '{now}', 'p', 'acme', '{{}}', '{{}}', 'epoch'", SHARD.0);
        let plan = Plan::of(&client, GENERIC, statement!("live/claim"), &arguments).await;
        assert_eq!(plan.scanned(), [""; 0]);
        // Of all the weeks that there are, each definition is looked up in its own.
        assert_eq!(plan.parts(), BTreeSet::from(["first"]));
        pages.push(plan.pages);
    }
    let [one, hundred] = pages[..] else { panic!("two plans") };
    // Per job: its entries in two indexes, its rows, and the new version's four index entries.
    assert!(one < 100 && hundred < 100 * 40, "{pages:?}");
    engine.claim(1_000).await;
}

/// A snapshot that is held keeps the entries of 4,000 jobs that are gone.
#[tokio::test]
async fn a_claim_with_a_floor_looks_at_no_row_of_jobs_that_are_gone() {
    let engine = Engine::new().await;
    let (client, holder) = (engine.db.connect().await, engine.db.connect().await);
    let hold = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM live";
    holder.batch_execute(hold).await.unwrap();
    let gone = format!(
        "INSERT INTO live (shard, job_id, team, queue, state, priority, due_at, updated_at)
         SELECT {}, gen_random_uuid(), 'acme', 'default', 'PENDING', 5, at, at
           FROM generate_series(1, 4000) n, LATERAL (SELECT timestamptz 'epoch' + n * 7919 % 4000 * interval '1 s' AS at) t;
         DELETE FROM live",
        SHARD.0
    );
    client.batch_execute(&gone).await.unwrap();
    engine.enqueue_together(vec![job("http://127.0.0.1:1/"); 50]).await;
    let now = engine.clock.now().to_rfc3339();
    let mut pages = Vec::new();
    for floor in ["epoch", &now] {
        let shard = SHARD.0;
        let arguments =
            format!("{shard}, '{now}', 50, '{now}', 'p', NULL, '{{}}', '{{}}', '{floor}'");
        let claim = Plan::of(&client, GENERIC, statement!("live/claim"), &arguments).await;
        let next = format!("{shard}, '{floor}'");
        let next = Plan::of(&client, GENERIC, statement!("live/next_due"), &next).await;
        pages.push(claim.pages + next.pages);
    }
    let [all, bounded] = pages[..] else { panic!("two plans") };
    assert!(all > 4_000 && bounded < 50 * 40, "{pages:?}");
    let rivals = format!("'{now}', NULL, ARRAY[{}], ARRAY[timestamptz '{now}']", SHARD.0);
    let rivals = Plan::of(&client, GENERIC, statement!("rounds/rivals"), &rivals).await;
    assert!(rivals.pages < 200, "{} pages", rivals.pages);
    holder.batch_execute("ROLLBACK").await.unwrap();
}

#[tokio::test]
async fn a_step_of_the_scheduler_reads_what_is_due_and_not_what_exists() {
    let client = crowded().await.connect().await;
    let step = async |due: usize, others: &str| {
        client.batch_execute("BEGIN").await.unwrap();
        let make_due = format!(
            "UPDATE schedules SET next_slot_at = '2026-11-30' WHERE shard = 8 AND schedule_id IN
             (SELECT schedule_id FROM schedules WHERE shard = 8 ORDER BY 1 LIMIT {due}); {others}"
        );
        client.batch_execute(&make_due).await.unwrap();
        client
            .batch_execute(&format!("PREPARE due AS {}", statement!("schedules/due").1))
            .await
            .unwrap();
        let plan = Plan::explain(&client, "due", "due(8, '2026-12-01', 100, NULL)").await;
        client.batch_execute("ROLLBACK; DEALLOCATE due").await.unwrap();
        plan.pages
    };
    let few = step(5, "").await;
    let alone = step(5, "DELETE FROM schedules WHERE next_slot_at > '2026-12-01'").await;
    let many = step(100, "").await;
    // Five rows, and an index of three levels that may have grown by a page.
    assert!(few < 60 && few <= alone + 30, "{few} beside 1,562 others, {alone} alone");
    assert!(many < 100 * 8, "{many} pages for a hundred");
}

#[tokio::test]
async fn pages_of_a_list_are_read_off_an_index_whatever_their_states() {
    let client = crowded().await.connect().await;
    let top = "'ffffffff-ffff-ffff-ffff-ffffffffffff'";
    let bottom = "'00000000-0000-0000-0000-000000000000'";
    let page = |states: &str| {
        format!("'acme', {top}, {bottom}, '{{{states}}}', NULL, NULL, NULL, NULL, NULL, 51")
    };
    let all: Vec<_> = State::ALL.iter().map(|state| state.as_str()).collect();
    for states in
        [&all.join(","), "PENDING,RETRY_WAIT", "RUNNING", "RETRY_WAIT", "SUCCESS", "FAILED"]
    {
        let plan = Plan::of(&client, AS_CACHED, statement!("jobs/list"), &page(states)).await;
        assert!(plan.scanned().is_empty(), "{states}: scans {:?}", plan.scanned());
        // Per row: the index and the rows of `live` or `done`, of `jobs` and of `runs`.
        assert!(plan.pages < 51 * 30, "{states}: reads {} pages", plan.pages);
    }
}

/// What was there was finished and vacuumed away: by its statistics nothing will ever be there.
const DRAINED: &str = "
    INSERT INTO live (shard, job_id, team, queue, state, priority, due_at, updated_at)
    SELECT 60, gen_random_uuid(), 'acme', 'default', 'PENDING', 5, now(), now()
      FROM generate_series(1, 500);
    DELETE FROM live;";
/// Twenty thousand due jobs, evenly over the shards.
const FILL_DUE: &str = "
    INSERT INTO jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
    SELECT shard, gen_random_uuid(), 'acme', 'default', '{}', '', '2026-11-30', 5, '2026-11-30'
      FROM shards, generate_series(1, 312);
    INSERT INTO live (shard, job_id, team, queue, state, priority, due_at, updated_at)
    SELECT shard, job_id, team, queue, 'PENDING', 5, due_at, due_at FROM jobs;";

#[tokio::test]
async fn plans_made_on_drained_tables_serve_full_ones() {
    let client = Db::new().await.connect().await;
    // As every connection of ours is opened, and with the plan that it comes to after a few uses.
    let session =
        "SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan";
    client.batch_execute(session).await.unwrap();
    client.batch_execute(DRAINED).await.unwrap();
    for table in ["live", "jobs_first"] {
        client.batch_execute(&format!("VACUUM ANALYZE {table}")).await.unwrap();
    }
    let now = "'2026-12-01'";
    let shards = every_shard(&client).await;
    let cases = [
        // Per job: its entries in two indexes, its rows, and the new version's four index entries.
        (
            statement!("live/claim"),
            format!("(60, {now}, 100, {now}, 'p', NULL, '{{}}', '{{}}', 'epoch')"),
            100 * 40,
        ),
        // 64 shards, ten priorities, three levels of an index.
        (statement!("live/next_dues"), String::new(), 64 * 10 * 4),
        (statement!("sweep/look"), format!("({now})"), 64 * 10 * 4),
        (statement!("rounds/rivals"), format!("({now}, NULL, {shards})"), 64 * 10),
        // And up to a hundred rows counted for each.
        (statement!("sweep/gauges"), format!("({now})"), 64 * 100 + 64 * 10 * 4),
    ];
    for (place, ((_, text), arguments, _)) in cases.iter().enumerate() {
        let planned = format!("PREPARE s{place} AS {text}; EXECUTE s{place}{arguments}");
        client.batch_execute(&planned).await.unwrap();
    }
    client.batch_execute(FILL_DUE).await.unwrap();
    let mut faults = Vec::new();
    for (place, ((name, _), arguments, most)) in cases.iter().enumerate() {
        client.batch_execute("BEGIN").await.unwrap();
        let plan = Plan::explain(&client, name, &format!("s{place}{arguments}")).await;
        client.batch_execute("ROLLBACK").await.unwrap();
        if !plan.scanned().is_empty() || plan.pages > *most {
            faults.push(format!("{name}: scans {:?}, {} pages", plan.scanned(), plan.pages));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
