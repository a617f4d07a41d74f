//! The document itself: committed, complete, and served with a reference that works offline.

use serde_json::Value;

use crate::support::api::Api;
use crate::support::contract::{KNOWN_WORDS, document, operations};

#[test]
fn the_committed_document_is_that_of_the_handlers() {
    const COMMITTED: &str = include_str!("../../../openapi/openapi.json");
    let present = axle::http::document().to_pretty_json().unwrap();
    assert!(
        COMMITTED.trim_end() == present.trim_end(),
        "openapi/openapi.json is not that of the handlers any more: run `make openapi` and commit it"
    );
}

#[test]
fn the_document_is_of_version_3_1() {
    assert_eq!(document()["openapi"], "3.1.0");
    assert_eq!(document()["info"]["title"], "Axle");
}

#[test]
fn every_operation_is_named_grouped_and_summed_up() {
    let tags = document()["tags"].as_array().unwrap();
    let mut ids: Vec<_> = operations().iter().map(|operation| operation.id.clone()).collect();
    for operation in operations() {
        let at = format!("{} {}", operation.method, operation.path);
        assert!(!operation.id.is_empty(), "{at} has no operationId");
        assert!(!text(&operation.spec["summary"]).is_empty(), "{at} has no summary");
        let [tag] = operation.spec["tags"].as_array().unwrap().as_slice() else {
            panic!("{at} has not exactly one tag");
        };
        assert!(tags.iter().any(|known| known["name"] == *tag), "{at}: {tag} is not described");
        for parameter in operation.spec["parameters"].as_array().into_iter().flatten() {
            let name = text(&parameter["name"]);
            assert!(!text(&parameter["description"]).is_empty(), "{at}: {name} is not described");
        }
        for name in operation.path_parameters() {
            let all = operation.spec["parameters"].as_array().unwrap();
            assert!(
                all.iter().any(|p| p["in"] == "path" && p["name"] == name),
                "{at}: {name} is missing"
            );
        }
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "an operationId is given twice");
}

#[test]
fn every_response_is_described_and_every_refusal_is_a_problem() {
    for operation in operations() {
        let responses = operation.spec["responses"].as_object().unwrap();
        let statuses: Vec<u16> = responses.keys().map(|status| status.parse().unwrap()).collect();
        assert!(statuses.iter().any(|status| (200..300).contains(status)), "{}", operation.id);
        let expected = if operation.is_secured() { &[400, 401, 403, 500, 503][..] } else { &[] };
        for status in expected {
            assert!(statuses.contains(status), "{} has no {status}", operation.id);
        }
        if operation.has_body() {
            for status in [400, 413, 415, 422] {
                assert!(statuses.contains(&status), "{} has no {status}", operation.id);
            }
        }
        for (status, response) in responses {
            let at = format!("{} {status}", operation.id);
            assert!(!text(&response["description"]).is_empty(), "{at} is not described");
            if status == "204" {
                assert!(response.get("content").is_none(), "{at} has content");
                continue;
            }
            let content = response["content"].as_object().unwrap();
            let types: Vec<_> = content.keys().map(String::as_str).collect();
            let is_refusal = status.as_str() >= "400";
            let expected = match (is_refusal, operation.id.as_str()) {
                (true, _) => "application/problem+json",
                // An entry a line.
                (false, "exportAudit") => "application/x-ndjson",
                (false, _) => "application/json",
            };
            assert_eq!(types, [expected], "{at}");
            let reference = &content[expected]["schema"]["$ref"];
            let is_problem = reference == "#/components/schemas/ProblemView";
            assert_eq!(is_problem, is_refusal, "{at} refers to {reference}");
        }
    }
}

#[test]
fn every_kind_of_problem_is_among_the_documented_statuses() {
    let documented = |status: u16| {
        operations().iter().any(|op| op.spec["responses"].get(status.to_string()).is_some())
    };
    for kind in axle::http::problem::KINDS {
        // 405 belongs to no operation: there is none of that method.
        assert!(documented(kind.status) || kind.status == 405, "{}", kind.code);
    }
}

#[test]
fn every_field_is_described() {
    let schemas = document()["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        assert!(!text(&schema["description"]).is_empty(), "{name} is not described");
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            let described = [property, &property["oneOf"][0], &property["oneOf"][1]];
            let is_described = described.iter().any(|at| !text(&at["description"]).is_empty());
            assert!(is_described, "{name}.{field} is not described");
        }
    }
}

/// Else the contract tests would pass over what they do not understand.
#[test]
fn the_contract_tests_understand_every_word_of_the_answers_schemas() {
    let mut unread: Vec<&Value> = Vec::new();
    for operation in operations() {
        for response in operation.spec["responses"].as_object().unwrap().values() {
            let content = response["content"].as_object().into_iter().flatten();
            unread.extend(content.map(|(_, media)| &media["schema"]));
        }
    }
    let mut seen = Vec::new();
    while let Some(schema) = unread.pop() {
        for (word, value) in schema.as_object().unwrap() {
            assert!(KNOWN_WORDS.contains(&word.as_str()), "{word} in {schema}");
            match (word.as_str(), value) {
                ("properties", Value::Object(inner)) => unread.extend(inner.values()),
                ("oneOf", Value::Array(inner)) => unread.extend(inner),
                ("items" | "additionalProperties" | "propertyNames", inner) => unread.push(inner),
                ("$ref", Value::String(reference)) if !seen.contains(reference) => {
                    seen.push(reference.clone());
                    unread.push(document().pointer(reference.trim_start_matches('#')).unwrap());
                }
                _ => {}
            }
        }
    }
    assert!(seen.iter().any(|name| name.ends_with("/JobView")), "{seen:?}");
}

#[tokio::test]
async fn the_document_is_served() {
    let api = Api::start().await;
    let reply = api.as_nobody().get("/openapi.json").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    assert_eq!(reply.json, *document());
}

#[tokio::test]
async fn the_reference_is_served_whole_and_asks_nobody_else() {
    let api = Api::start().await;
    let nobody = api.as_nobody();
    let moved = nobody.get("/docs").await;
    assert_eq!((moved.status, moved.header("location")), (308, Some("/docs/")));
    let page = nobody.get("/docs/").await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    assert!(!page.text.contains("//"), "the page refers to another site: {}", page.text);
    let assets: Vec<_> = ["src=\"", "href=\""]
        .iter()
        .flat_map(|mark| page.text.split(mark).skip(1))
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(assets.len() >= 4, "{assets:?}");
    for asset in assets {
        let path = format!("/docs/{}", asset.trim_start_matches("./"));
        let reply = nobody.get(&path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert!(!reply.text.is_empty(), "{path}");
    }
    let start = nobody.get("/docs/swagger-initializer.js").await.text;
    assert!(start.contains("/openapi.json"), "{start}");
    assert!(start.contains(r#""validatorUrl": "none""#), "{start}");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
