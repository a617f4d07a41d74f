//! A target that knows its calls and does each run once. docs/targets.md shows it from here on.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program of its own")]

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::web::{Bytes, Data, to};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What a target keeps; yours keeps the two maps in its database.
#[derive(Default)]
struct Target {
    secrets: Vec<Vec<u8>>,
    newest: Mutex<HashMap<String, u64>>, // job id → the greatest fence seen
    answers: Mutex<HashMap<String, (u16, Value)>>, // run id → what it was answered
}

/// A call that was verified.
struct Call {
    job: String,
    run: String,
    fence: u64,
}

impl Target {
    /// Whether one of the signatures in a header is that of one of the secrets.
    fn fits(&self, header: &str, text: &[u8]) -> bool {
        let sent =
            header.split(' ').filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
        let is_of = |secret: &Vec<u8>, tag: &[u8]| {
            Hmac::<Sha256>::new_from_slice(secret)
                .is_ok_and(|mac| mac.chain_update(text).verify_slice(tag).is_ok())
        };
        sent.into_iter().any(|tag| self.secrets.iter().any(|secret| is_of(secret, &tag)))
    }

    /// The call, if it is ours: its bytes, its time, and the run and fence that it claims.
    fn verify(&self, request: &HttpRequest, body: &[u8]) -> Option<Call> {
        let header = |name: &str| request.headers().get(name)?.to_str().ok();
        let (id, time) = (header("webhook-id")?, header("webhook-timestamp")?);
        let (job, run) = (header("axle-job-id")?, header("axle-run-id")?);
        let fence = header("axle-fence")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
        let sent: u64 = time.parse().ok()?;
        if now.saturating_sub(sent) > 300 || sent.saturating_sub(now) > 60 {
            return None;
        }
        let message = [format!("{id}.{time}.").as_bytes(), body].concat();
        let hash: String = Sha256::digest(body)
            .iter()
            .fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
        let claims = format!("{job}.{run}.{fence}.{time}.{hash}");
        let is_ours = self.fits(header("webhook-signature")?, &message)
            && self.fits(header("axle-signature")?, claims.as_bytes());
        let (job, run) = (job.to_owned(), run.to_owned());
        is_ours.then_some(Call { job, run, fence: fence.parse().ok()? })
    }

    /// What a verified call is answered; a run that comes again gets its first answer.
    fn answer(&self, call: Call, body: &[u8]) -> (u16, Value) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = newest.entry(call.job).or_default();
        if call.fence < *seen {
            return (409, json!({"error": "a newer run has been here"}));
        }
        *seen = call.fence;
        drop(newest);
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.entry(call.run).or_insert_with(|| close_order(body)).clone()
    }
}

fn close_order(body: &[u8]) -> (u16, Value) {
    let order: Value = serde_json::from_slice(body).unwrap_or_default();
    match order.get("order") {
        Some(number) => (200, json!({"closed": number})), // the work goes here
        None => (422, json!({"error": "no order number"})),
    }
}

async fn take(request: HttpRequest, body: Bytes, target: Data<Target>) -> HttpResponse {
    let (status, answer) = match target.verify(&request, &body) {
        Some(call) => target.answer(call, &body),
        None => (401, json!({"error": "this is no call of ours"})),
    };
    let status = status.try_into().unwrap_or_default();
    let mut response = HttpResponse::build(status);
    if status == 422 {
        response.insert_header(("Axle-No-Retry", "true"));
    }
    response.json(answer)
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let wrong =
        || std::io::Error::other("SIGNING_SECRETS must hold whsec_…, or two with a space between");
    let texts = std::env::var("SIGNING_SECRETS").unwrap_or_default();
    let secrets =
        texts.split_whitespace().map(|text| STANDARD.decode(text.strip_prefix("whsec_")?).ok());
    let secrets =
        secrets.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()).ok_or_else(wrong)?;
    let target = Data::new(Target { secrets, ..Target::default() });
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(8000_u16);
    let app = move || App::new().app_data(target.clone()).default_service(to(take));
    let server = HttpServer::new(app).bind(("127.0.0.1", port))?;
    for address in server.addrs() {
        println!("listening on http://{address}");
    }
    server.run().await
}
