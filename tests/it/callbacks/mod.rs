//! What targets post back: callbacks and heartbeats, in every order, true and false.

mod beats;
mod life;
mod order;
mod refusals;

use serde_json::{Value, json};

/// A callback that says that it worked.
fn succeeded() -> Value {
    json!({"status": "succeeded"})
}

/// One that says that it did not.
fn failed() -> Value {
    json!({"status": "failed", "error": {"code": "card_declined", "message": "no funds"}})
}
