//! `Axle-Team`: the team in which a request says that it is made.

use axle::domain::principal::Role;
use serde_json::json;

use super::recipes::{PERSON, able, call, join, prepare, recipe};
use crate::support::api::{Api, Setup};
use crate::support::contract::operations;

#[tokio::test]
async fn whoever_says_their_own_team_is_heard_and_another_is_refused() {
    let api = Api::start().await;
    join(&api, PERSON.0, Role::Operator).await;
    let login = json!({"email": PERSON.0, "password": PERSON.1});
    let signed_in = api.as_nobody().post("/v1/login", &login).await.json;
    let key = json!({"name": "billing", "role": "viewer"});
    let key = api.as_team("acme").post("/v1/keys", &key).await.json;
    let bearer = |token: &serde_json::Value| format!("Bearer {}", token.as_str().unwrap());
    let person = api.as_nobody().header("authorization", &bearer(&signed_in["access_token"]));
    let machine = api.as_nobody().header("authorization", &bearer(&key["key"]));
    let token = api.as_team("acme");
    let admin = api.as_team("acme").installation_admin();
    for caller in [person, machine, token, admin] {
        for (team, status) in [("acme", 200), (" acme ", 200), ("rival", 403), ("never-was", 403)] {
            let reply = caller.clone().header("axle-team", team).get("/v1/jobs").await;
            assert_eq!(reply.status, status, "{team}: {}", reply.text);
            if status == 403 {
                assert_eq!(reply.code(), "other-team");
                let hint = reply.json["hint"].as_str().unwrap();
                assert!(hint.contains("POST /v1/login"), "{hint}");
                assert!(!reply.text.contains(team), "{}", reply.text);
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_team_is_malformed_whoever_asks() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for wrong in ["", " ", "Acme", "acme,rival", "acme rival", "-acme", "a/b", "ä", &"x".repeat(64)]
    {
        for caller in [acme.clone(), api.as_nobody()] {
            let reply = caller.header("axle-team", wrong).get("/v1/jobs").await;
            assert_eq!((reply.status, reply.code()), (400, "malformed-request"), "{wrong:?}");
        }
    }
    let twice = format!(
        "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nAxle-Team: acme\r\nAxle-Team: \
         acme\r\nConnection: close\r\n\r\n",
        acme.authorization()
    );
    let answer = api.raw(twice.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test]
async fn every_operation_that_asks_who_it_is_obeys() {
    let api = Api::start().await;
    for operation in operations().iter().filter(|operation| operation.is_secured()) {
        let path = prepare(&api, operation).await;
        let caller = able(&api, "acme", &recipe(operation)).header("axle-team", "rival");
        let reply = call(&caller, operation, &path).await;
        assert_eq!((reply.status, reply.code()), (403, "other-team"), "{}", operation.id);
    }
}

#[tokio::test]
async fn the_developer_has_a_team_too() {
    let api = Api::with(Setup { loopback: true, ..Setup::default() }).await;
    for (team, status) in [("acme", 200), ("rival", 403), ("?", 400)] {
        let reply = api.as_nobody().header("axle-team", team).get("/v1/jobs").await;
        assert_eq!(reply.status, status, "{team}: {}", reply.text);
    }
}
