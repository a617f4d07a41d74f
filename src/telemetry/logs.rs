//! Log lines on standard error: text for people, or one JSON object a line whose names are those of
//! our conventions (`ts level msg request_id job_id …`).

use std::error::Error;
use std::fmt;
use std::io::{self, IsTerminal};

use serde::Serialize;
use serde_json::{Map, Value};
use thiserror::Error;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, Scope};

/// How log lines look.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogStyle {
    /// For people; in colour on a terminal, unless `NO_COLOR` is set.
    Text,
    /// For machines.
    Json,
}

impl LogStyle {
    /// Text when standard error is a terminal, else JSON.
    pub fn for_stderr() -> Self {
        if io::stderr().is_terminal() { Self::Text } else { Self::Json }
    }
}

/// Why logging could not begin.
#[derive(Debug, Error)]
pub enum LogError {
    /// The filter does not parse.
    #[error("the log filter is not usable: {0}")]
    Filter(#[from] ParseError),
    /// Something in this process logs already.
    #[error("logging has already begun: {0}")]
    Installed(#[from] Box<dyn Error + Send + Sync>),
}

/// What the web framework calls an error is a stranger's broken request: anybody could fill the log
/// with it. Whoever wants to see it names this target in the filter.
const STRANGERS: &str = "actix_http::h1::dispatcher";

/// Begins logging for the whole process. `filter` has the syntax of `EnvFilter`, such as
/// `warn,axle::engine=debug`. May be called once.
pub fn init_logs(filter: &str, style: LogStyle) -> Result<(), LogError> {
    let mut kept = EnvFilter::try_new(filter)?;
    if !filter.contains(STRANGERS) {
        kept = kept.add_directive(format!("{STRANGERS}=off").parse()?);
    }
    let lines = tracing_subscriber::fmt().with_env_filter(kept).with_writer(io::stderr);
    match style {
        LogStyle::Text if io::stderr().is_terminal() => lines.try_init()?,
        LogStyle::Text => lines.with_ansi(false).try_init()?,
        LogStyle::Json => {
            lines.fmt_fields(JsonFields::new()).event_format(JsonLine).try_init()?;
        }
    }
    Ok(())
}

/// Formats an event as one flat object. The fields of the spans around it come along, inner ones
/// over outer ones and the event's own over all, so that each line can be found by `request_id`.
struct JsonLine;

#[derive(Serialize)]
struct Line<'a> {
    ts: String,
    level: &'a str,
    msg: String,
    target: &'a str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// The names `Line` itself gives out; a field of such a name moves aside.
const TAKEN: [&str; 4] = ["ts", "level", "msg", "target"];

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut ts = String::new();
        SystemTime.format_time(&mut Writer::new(&mut ts))?;
        let mut fields = Fields::default();
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            if let Some(text) = span.extensions().get::<FormattedFields<N>>() {
                // A span without fields has no text, which is no object either.
                let object: Map<_, _> = serde_json::from_str(text).unwrap_or_default();
                fields.0.extend(object);
            }
        }
        event.record(&mut fields);
        let level = event.metadata().level().as_str();
        let target = event.metadata().target();
        let line = Line { ts, level, msg: fields.take_message(), target, fields: fields.0 };
        // Strings and numbers always serialise; `fmt::Error` could not carry a reason anyway.
        let line = serde_json::to_string(&line).map_err(|_unlikely| fmt::Error)?;
        writeln!(writer, "{line}")
    }
}

/// Collects fields with their JSON types.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn take_message(&mut self) -> String {
        for name in TAKEN {
            if let Some(value) = self.0.remove(name) {
                self.0.insert(format!("field_{name}"), value);
            }
        }
        match self.0.remove("message") {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let chain = std::iter::successors(Some(value), |&error| error.source());
        let texts: Vec<_> = chain.map(ToString::to_string).collect();
        self.insert(field, texts.join(": "));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(log: impl FnOnce()) -> Vec<Value> {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .fmt_fields(JsonFields::new())
            .event_format(JsonLine)
            .finish();
        tracing::subscriber::with_default(subscriber, log);
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_line_holds_its_own_fields_and_those_of_its_spans() {
        let lines = logged(|| {
            let outer = tracing::info_span!("request", request_id = "req_1", attempt = 1);
            let _outer = outer.enter();
            let inner = tracing::info_span!("run", attempt = 2, run_id = tracing::field::Empty);
            inner.record("run_id", "run_9");
            let _inner = inner.enter();
            tracing::warn!(duration_ms = 12, ok = false, "the target answered {}", 503);
        });
        let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
        assert_eq!(line["msg"], "the target answered 503");
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["request_id"], "req_1");
        assert_eq!(line["run_id"], "run_9");
        assert_eq!(line["attempt"], 2);
        assert_eq!(line["duration_ms"], 12);
        assert_eq!(line["ok"], false);
        let ts = line["ts"].as_str().unwrap();
        assert!(ts.ends_with('Z') && ts.len() == "2026-11-30T02:14:07.123456Z".len(), "{ts}");
    }

    #[test]
    fn hostile_text_stays_inside_its_line_and_its_field() {
        let lines = logged(|| {
            tracing::info!(
                level = "forged",
                error = "a\n{\"level\":\"ERROR\"}",
                "b\u{0}\u{1b}[31m"
            );
        });
        let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["field_level"], "forged");
        assert_eq!(line["msg"], "b\u{0}\u{1b}[31m");
        assert_eq!(line["error"], "a\n{\"level\":\"ERROR\"}");
    }

    #[test]
    fn an_error_is_logged_with_its_causes() {
        #[derive(Debug, Error)]
        #[error("cannot start")]
        struct Outer(#[source] io::Error);
        let lines = logged(|| {
            let error: &dyn Error = &Outer(io::Error::other("no socket"));
            tracing::error!(error, "stopped");
        });
        assert_eq!(lines[0]["error"], "cannot start: no socket");
    }

    #[test]
    fn a_bad_filter_is_refused() {
        assert!(matches!(init_logs("axle=loud", LogStyle::Json), Err(LogError::Filter(_))));
    }
}
