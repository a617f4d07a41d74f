//! What an operator sees from outside: log lines and metrics. It names and formats them; it decides
//! nothing, reads no setting, and uses no other room.

mod logs;
pub mod metrics;

pub use logs::{LogError, LogStyle, init_logs};
pub use metrics::install_metrics;
