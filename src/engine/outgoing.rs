//! The headers of a call: what Axle says of it, and what its owner has kept secret.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use reqwest::header::{HeaderName, HeaderValue};

use super::{Ctx, clock, run_token};
use crate::domain::job::SecretHeader;
use crate::domain::run::RunError;
use crate::store::live::Claimed;
use crate::store::runs;

/// The headers whose values are secret, opened here and nowhere else.
pub(super) fn secret_headers(
    ctx: &Ctx,
    job: &Claimed,
) -> Result<Vec<(HeaderName, HeaderValue)>, RunError> {
    let target = &job.spec.target;
    let origin = target.origin().unwrap_or_default();
    let open = |header: &SecretHeader| {
        let SecretHeader::Sealed { name, sealed, .. } = header else {
            return Err("it is not sealed".to_owned());
        };
        let vault = ctx.limits.vault.as_ref().ok_or("AXLE_SECRET_KEY is not set")?;
        let opened = vault.header(&job.team, &origin, (name, sealed));
        let value = opened.map_err(|why| why.to_string())?;
        let unfit = "it is no header";
        let mut value = HeaderValue::from_str(value.expose()).or(Err(unfit))?;
        value.set_sensitive(true);
        Ok((HeaderName::from_bytes(name.as_bytes()).or(Err(unfit))?, value))
    };
    let named = |header: &SecretHeader| {
        let told = |why| format!("the secret header {} cannot be sent: {why}", header.name());
        open(header).map_err(|why| RunError::new("secret", told(why)))
    };
    target.secret_headers.iter().map(named).collect()
}

/// The headers of conventions 2.6 that every call has.
pub(super) async fn ours(
    ctx: &Ctx,
    job: &Claimed,
    now: DateTime<Utc>,
) -> Vec<(HeaderName, String)> {
    let instant = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Micros, true);
    let name = HeaderName::from_static;
    let bodiless = matches!(job.spec.target.method.as_str(), "GET" | "HEAD");
    let framing = match job.payload.is_empty() {
        true if bodiless => None,
        // Said, because servers that read by it are common; the client leaves it out.
        true => Some((name("content-length"), "0".to_owned())),
        false => Some((name("content-type"), job.spec.content_type.clone())),
    };
    let mut headers = vec![
        (name("webhook-id"), job.run.job.to_string()),
        (name("webhook-timestamp"), now.timestamp().to_string()),
        (name("axle-job-id"), job.run.job.to_string()),
        (name("axle-run-id"), job.run.to_string()),
        (name("axle-attempt"), job.spent.attempt.to_string()),
        (name("axle-max-attempts"), job.spec.retry.max_attempts().to_string()),
        (name("axle-fence"), job.run.fence.to_string()),
        (name("axle-due-at"), instant(job.first_due_at)),
        (
            name("axle-deadline"),
            instant(clock::after(now, Duration::from_millis(job.spec.timeout_ms))),
        ),
        (name("axle-callback-url"), run_token::callback_url(ctx, job.run)),
    ];
    headers.extend(framing);
    if let Some((schedule, fire_at)) = job.fire {
        headers.push((name("axle-schedule-id"), schedule.to_string()));
        headers.push((name("axle-fire-at"), instant(fire_at)));
    }
    if job.run.fence > 1 {
        match runs::previous(&ctx.store, job.run.job).await {
            Ok(Some((status, error))) => {
                headers.extend(status.map(|s| (name("axle-previous-status"), s.to_string())));
                headers.extend(error.map(|e| (name("axle-previous-error"), ascii(&e.message))));
            }
            Ok(None) => {}
            // They are a courtesy; the call is not.
            Err(error) => tracing::debug!(%error, run = %job.run, "no previous outcome"),
        }
    }
    headers
}

/// Text as a header can carry it.
fn ascii(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() { c } else { ' ' };
    text.chars().take(300).map(plain).collect::<String>().trim().to_owned()
}
