//! Who may do what, for every operation of the document: nobody without a token, nobody of another
//! team, and each role what the table of roles says.

use axle::domain::principal::{Act, Role};
use serde_json::{Value, json};

use super::recipes::{able, call, prepare, recipe};
use crate::support::api::{Api, Caller, Reply, job};
use crate::support::contract::operations;

#[tokio::test]
async fn without_a_token_every_secured_operation_is_a_401() {
    let api = Api::start().await;
    for operation in operations() {
        let path = prepare(&api, &operation).await;
        assert_eq!(operation.is_secured(), recipe(&operation).act.is_some(), "{}", operation.id);
        if operation.is_secured() {
            let reply = call(&api.as_nobody(), &operation, &path).await;
            assert_eq!((reply.status, reply.code()), (401, "unauthenticated"), "{}", operation.id);
            let challenge = reply.header("www-authenticate");
            assert_eq!(challenge, Some("Bearer error=\"invalid_token\""), "{}", operation.id);
        }
    }
}

#[tokio::test]
async fn another_team_sees_a_404_wherever_an_id_is_taken() {
    let api = Api::start().await;
    let mut walked = 0;
    for operation in operations() {
        let is_by_name = recipe(&operation).subject.is_by_name();
        if operation.path_parameters().is_empty() || is_by_name || !operation.is_secured() {
            continue;
        }
        walked += 1;
        let path = prepare(&api, &operation).await;
        let reply = call(&api.as_team("rival").role(Role::Owner), &operation, &path).await;
        assert_eq!(reply.status, 404, "{}: {}", operation.id, reply.text);
        // The address is the caller's own words.
        let told = [&reply.json["title"], &reply.json["detail"]].map(Value::to_string).concat();
        assert!(!told.contains("acme"), "{}: {}", operation.id, reply.text);
        // It was there all the time, and nothing has happened to it.
        let reply = call(&able(&api, "acme", &recipe(&operation)), &operation, &path).await;
        assert_eq!(reply.status, recipe(&operation).status, "{}: {}", operation.id, reply.text);
    }
    assert!(walked >= 8, "the document has lost its operations on jobs and runs");
}

#[tokio::test]
async fn what_is_no_id_is_a_404_too() {
    let api = Api::start().await;
    for operation in operations() {
        let parameters = operation.path_parameters();
        if parameters.is_empty() || recipe(&operation).subject.is_by_name() {
            continue;
        }
        let owner = api.as_team("acme").role(Role::Owner);
        for wrong in ["x", "job_1", "run_01KB9YQ6Z4F0R8M3T1C5W7X2V0_0", "%00", "%ff", "..%2f"] {
            let path: Vec<_> = operation
                .path
                .split('/')
                .map(|part| if part.starts_with('{') { wrong } else { part })
                .collect();
            let reply = call(&owner, &operation, &path.join("/")).await;
            assert_eq!(reply.status, 404, "{} with {wrong}: {}", operation.id, reply.text);
        }
    }
}

/// The document is what clients read; the recipes are written down a second time on purpose.
#[test]
fn the_document_states_the_act_of_every_operation() {
    for operation in operations() {
        let stated = operation.spec.get("x-axle-act").and_then(Value::as_str);
        let expected = recipe(&operation).act.map(Act::as_str);
        assert_eq!(stated, expected, "{}", operation.id);
    }
}

#[tokio::test]
async fn each_role_may_do_what_the_table_says() {
    let api = Api::start().await;
    for operation in operations() {
        let recipe = recipe(&operation);
        for &role in Role::ALL {
            let path = prepare(&api, &operation).await;
            let reply = call(&api.as_team("acme").role(role), &operation, &path).await;
            // No role may what is the installation admin's; whoever is one may it with any.
            if recipe.act == Some(Act::Install) {
                let admin = api.as_team("acme").role(role).installation_admin();
                let reply = call(&admin, &operation, &prepare(&api, &operation).await).await;
                assert!(reply.status < 300, "{} as {role}: {}", operation.id, reply.text);
            }
            let may = recipe.act.is_none_or(|act| role.may(act));
            let expected = if may { recipe.status } else { 403 };
            assert_eq!(reply.status, expected, "{} as {role}: {}", operation.id, reply.text);
        }
    }
}

#[tokio::test]
async fn a_refused_role_changes_nothing() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(json!({"delay_ms": 1_000})).await;
    let before = acme.job(&id).await;
    let viewer = acme.clone().role(Role::Viewer);
    assert_eq!(
        viewer.patch(&format!("/v1/jobs/{id}"), "*", &json!({"priority": 9})).await.status,
        403
    );
    for act in ["cancel", "run-now", "rerun"] {
        let reply = viewer.act(&format!("/v1/jobs/{id}/{act}")).await;
        assert_eq!((reply.status, reply.code()), (403, "forbidden"));
    }
    assert_eq!(acme.job(&id).await, before);
}

#[tokio::test]
async fn lists_cursors_and_keys_show_nothing_of_another_team() {
    let api = Api::start().await;
    let (acme, rival) = (api.as_team("acme"), api.as_team("rival"));
    for n in 0..3 {
        acme.enqueue(json!({"unique_key": format!("order-{n}"), "name": "secret"})).await;
    }
    let cursor = acme.get("/v1/jobs?limit=1").await.json["next_cursor"].clone();
    let cursor = cursor.as_str().unwrap();
    for query in ["", "?name=secret", "?state=PENDING", &format!("?limit=1&cursor={cursor}")] {
        let reply = rival.get(&format!("/v1/jobs{query}")).await;
        assert!(!reply.text.contains("job_"), "{query}: {}", reply.text);
    }
    // The same unique key and the same idempotency key are other keys in another team.
    let ours = register(&acme, "order-0", "key-1").await;
    let theirs = register(&rival, "order-0", "key-1").await;
    assert_eq!((ours.status, theirs.status), (200, 201));
    assert_eq!(theirs.header("idempotent-replayed"), None);
    assert_eq!(theirs.json["team"], "rival");
    assert_ne!(ours.json["id"], theirs.json["id"]);
}

#[tokio::test]
async fn a_queue_of_the_same_name_is_another_one_in_another_team() {
    let api = Api::start().await;
    let (acme, rival) = (api.as_team("acme"), api.as_team("rival"));
    acme.put("/v1/queues/mail", &json!({"description": "ours"})).await;
    acme.post("/v1/queues/mail/pause", &json!({"reason": "ours"})).await;
    let theirs = rival.get("/v1/queues/mail").await.json;
    assert_eq!((&theirs["paused"], &theirs["description"]), (&json!(false), &Value::Null));
    rival.act("/v1/queues/mail/resume").await;
    assert_eq!(acme.get("/v1/queues/mail").await.json["paused"], true);
}

async fn register(caller: &Caller<'_>, unique: &str, key: &str) -> Reply {
    let caller = caller.clone().header("idempotency-key", key);
    caller.post("/v1/jobs", &job(json!({"unique_key": unique}))).await
}
