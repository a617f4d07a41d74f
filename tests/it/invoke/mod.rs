//! Calls of targets: what they get, what their answers mean, and what becomes of those that do not
//! answer as HTTP would have it.

mod answers;
mod hostile;
mod requests;
mod tls;
mod unreached;
