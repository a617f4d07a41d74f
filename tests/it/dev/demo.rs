//! The demo target, called as Axle calls it.

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::test::{self, TestRequest};
use actix_web::{App, HttpResponse, HttpServer, web};
use axle::dev::demo;
use serde_json::{Value, json};
use tokio::sync::mpsc;

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

async fn call(request: TestRequest) -> Answer {
    let app = test::init_service(App::new().configure(demo::routes)).await;
    let response = test::call_service(&app, request.to_request()).await;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = String::from_utf8(test::read_body(response).await.to_vec()).unwrap();
    Answer { status, headers, body }
}

#[actix_web::test]
async fn echo_answers_the_body_byte_for_byte_and_the_headers_of_the_protocol() {
    let body = r#"{"b":12345678901234567890123, "a":1,"a":2}"#;
    let request = TestRequest::post().uri("/demo/echo").set_payload(body);
    let request = request.insert_header(("Axle-Attempt", "2")).insert_header(("webhook-id", "j"));
    let answer = call(request.insert_header(("Cookie", "secret"))).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.body.contains(body), "{}", answer.body);
    assert_eq!(answer.json()["headers"], json!({ "axle-attempt": "2", "webhook-id": "j" }));

    let text = call(TestRequest::put().uri("/demo/echo").set_payload("not json")).await.json();
    assert_eq!((&text["body"], &text["method"]), (&json!("not json"), &json!("PUT")));
    let bytes = call(TestRequest::post().uri("/demo/echo").set_payload(vec![0xff, 0])).await;
    assert_eq!(bytes.json()["body_base64"], "/wA=");
}

#[actix_web::test]
async fn fail_answers_the_status_it_was_asked_for() {
    assert_eq!(call(TestRequest::get().uri("/demo/fail")).await.status.as_u16(), 500);
    assert_eq!(call(TestRequest::post().uri("/demo/fail?status=429")).await.status.as_u16(), 429);
}

#[actix_web::test]
async fn flaky_fails_each_job_as_often_as_asked() {
    for (job, expected) in [("a", 500), ("a", 500), ("b", 500), ("a", 200), ("a", 200)] {
        let request = TestRequest::post().uri("/demo/flaky?fails=2");
        let answer = call(request.insert_header(("Axle-Job-Id", format!("flaky-{job}")))).await;
        assert_eq!(answer.status.as_u16(), expected, "{}", answer.body);
    }
}

#[actix_web::test]
async fn a_bad_value_is_answered_with_one_sentence() {
    let cases = [
        (
            "/demo/fail?status=200",
            "`status` is `200`, but it must be a whole number from 400 to 599",
        ),
        ("/demo/slow?ms=-1", "`ms` is `-1`, but it must be a whole number from 0 to 600000"),
        ("/demo/slow?sm=1", "there is no query value `sm` here, only `ms`"),
        ("/demo/flaky", "this address needs the header `Axle-Job-Id`"),
        ("/demo/callback?status=maybe", "it must be one of `succeeded`, `failed`"),
        ("/demo/callback", "this address needs the header `Axle-Callback-Url`"),
    ];
    for (uri, sentence) in cases {
        let answer = call(TestRequest::get().uri(uri)).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{uri}");
        assert!(answer.body.contains(sentence), "{uri}: {}", answer.body);
        assert_eq!(answer.body.lines().count(), 1, "{}", answer.body);
    }
}

#[actix_web::test]
async fn slow_waits_as_long_as_asked() {
    let begun = tokio::time::Instant::now();
    assert_eq!(call(TestRequest::get().uri("/demo/slow?ms=30")).await.status, StatusCode::OK);
    assert!(begun.elapsed().as_millis() >= 30);
}

#[actix_web::test]
async fn callback_accepts_and_reports_later() {
    let (heard, mut reports) = mpsc::unbounded_channel::<Value>();
    let sink = move |body: web::Json<Value>| {
        let heard = heard.clone();
        async move {
            heard.send(body.into_inner()).unwrap();
            HttpResponse::Ok().finish()
        }
    };
    let server = HttpServer::new(move || App::new().route("/cb", web::post().to(sink.clone())));
    let server = server.workers(1).disable_signals().bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/cb?token=t", server.addrs()[0]);
    let server = server.run();
    let handle = server.handle();
    actix_web::rt::spawn(server);

    for (status, error) in [("succeeded", Value::Null), ("failed", json!("demo"))] {
        let uri = format!("/demo/callback?after_ms=1&status={status}");
        let request =
            TestRequest::post().uri(&uri).insert_header(("Axle-Callback-Url", url.as_str()));
        let request = request.insert_header(("Axle-Run-Id", "run_1"));
        let answer = call(request.insert_header(("Axle-Fence", "7"))).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED);
        assert_eq!(answer.headers.get("axle-completion").unwrap(), "callback");

        let wait = std::time::Duration::from_secs(10);
        let report = tokio::time::timeout(wait, reports.recv()).await.unwrap().unwrap();
        let told =
            (&report["run_id"], &report["fence"], &report["status"], &report["error"]["code"]);
        assert_eq!(told, (&json!("run_1"), &json!(7), &json!(status), &error));
    }
    handle.stop(false).await;
}
