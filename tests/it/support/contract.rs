//! The OpenAPI document as a judge: what an answer may be. It knows the part of JSON Schema that
//! the document's answers use, and is strict where schemas are lax: a property that is not described
//! is a fault. It must not know any operation by name.

use std::sync::OnceLock;

use axle::http::problem::{KINDS, Kind};
use chrono::DateTime;
use reqwest::Method;
use serde_json::Value;

/// The words of JSON Schema that [`schema_faults`] understands or may ignore.
pub const KNOWN_WORDS: [&str; 15] = [
    "type",
    "$ref",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "propertyNames",
    "items",
    "format",
    "minimum",
    "maximum",
    "description",
    "default",
    "example",
    "enum",
];

/// The document that the server would serve.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::to_value(axle::http::document()).unwrap())
}

/// One operation of the document.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its `operationId`.
    pub id: String,
    /// How it is called.
    pub method: Method,
    /// Where, with `{name}` for parameters.
    pub path: String,
    /// All that the document says of it.
    pub spec: &'static Value,
}

/// Every operation, in the document's order.
pub fn operations() -> Vec<Operation> {
    let paths = document()["paths"].as_object().unwrap();
    let read = |(path, item): (&String, &'static Value)| -> Vec<Operation> {
        let methods = item.as_object().unwrap().iter();
        methods
            .map(|(method, spec)| Operation {
                id: spec["operationId"].as_str().unwrap_or_default().to_owned(),
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                spec,
            })
            .collect()
    };
    paths.iter().flat_map(read).collect()
}

impl Operation {
    /// Whether a caller needs a token.
    pub fn is_secured(&self) -> bool {
        // An empty requirement among the alternatives means "none needed".
        let own = self.spec.get("security").and_then(Value::as_array);
        !own.is_some_and(|list| list.iter().any(|one| one == &serde_json::json!({})))
    }

    /// The names of the parameters in its path.
    pub fn path_parameters(&self) -> Vec<&str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
    }

    /// Whether it takes a body.
    pub fn has_body(&self) -> bool {
        self.spec.get("requestBody").is_some()
    }

    fn fits(&self, method: &Method, path: &str) -> bool {
        let (want, have) = (self.path.split('/'), path.split('/'));
        *method == self.method
            && want.clone().count() == have.clone().count()
            && want.zip(have).all(|(want, have)| want == have || want.starts_with('{'))
    }
}

/// What an answer is judged by.
pub struct Answer<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// The request's path, without its query.
    pub path: &'a str,
    /// The status code.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'a str,
    /// The `X-Request-Id`.
    pub request_id: &'a str,
    /// The body; none if it is nested too deeply to be read.
    pub body: Option<&'a Value>,
}

/// What is wrong with an answer.
pub fn faults(answer: &Answer<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let known = operations();
    // A path with parameters may look like one without: the more exact one is meant.
    let fitting = known.iter().filter(|operation| operation.fits(answer.method, answer.path));
    if let Some(operation) = fitting.min_by_key(|operation| operation.path_parameters().len()) {
        operation_faults(operation, answer, &mut faults);
    }
    if answer.status >= 400 && *answer.method != Method::HEAD {
        problem_faults(answer, &mut faults);
    }
    faults
}

fn operation_faults(operation: &Operation, answer: &Answer<'_>, faults: &mut Vec<String>) {
    let response = &operation.spec["responses"][answer.status.to_string()];
    if response.is_null() {
        faults.push(format!("{} may not answer {}", operation.id, answer.status));
        return;
    }
    if answer.status == 204 {
        // RFC 9110 section 15.3.5: there is no body, and so none is described.
        if response.get("content").is_some() || answer.body.is_some() {
            faults.push(format!("{} answers 204 with a body", operation.id));
        }
        return;
    }
    let essence = answer.content_type.split(';').next().unwrap_or_default();
    let media = &response["content"][essence];
    if media.is_null() {
        faults.push(format!("{} may not answer with {essence:?}", operation.id));
    } else if let Some(body) = answer.body {
        schema_faults(&media["schema"], body, "#", faults);
    }
}

fn problem_faults(answer: &Answer<'_>, faults: &mut Vec<String>) {
    if answer.content_type != "application/problem+json" {
        faults.push(format!("{} with content type {:?}", answer.status, answer.content_type));
        return;
    }
    let Some(body) = answer.body else { return };
    schema_faults(&document()["components"]["schemas"]["ProblemView"], body, "#", faults);
    let is_meant = |kind: &&Kind| body["code"] == kind.code && body["status"] == kind.status;
    let Some(kind) = KINDS.iter().find(is_meant) else {
        faults.push(format!("{} is no kind of problem", body["code"]));
        return;
    };
    let kind_page = format!("/problems/{}", kind.code);
    for (field, expected) in [
        ("type", kind.uri.unwrap_or(&kind_page)),
        ("title", kind.title),
        ("hint", kind.hint),
        ("instance", answer.path),
        ("request_id", answer.request_id),
    ] {
        if body[field] != expected {
            faults.push(format!("{field} is {}, not {expected:?}", body[field]));
        }
    }
    if body["status"] != answer.status || kind.status != answer.status {
        faults.push(format!("{} says status {}", kind.code, body["status"]));
    }
    if body["detail"].as_str().unwrap_or_default().is_empty() {
        faults.push(format!("{} without a detail", kind.code));
    }
}

/// Where `value`, which stands at `at`, is not as `schema` says.
pub fn schema_faults(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document().pointer(reference.trim_start_matches('#'));
        let target = target.unwrap_or_else(|| panic!("{reference} leads nowhere"));
        return schema_faults(target, value, at, faults);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = |choice: &&Value| {
            let mut found = Vec::new();
            schema_faults(choice, value, at, &mut found);
            found.is_empty()
        };
        if choices.iter().filter(fits).count() != 1 {
            faults.push(format!("{at} is not exactly one of {schema}: {value}"));
        }
        return;
    }
    let types: Vec<&Value> = match (&schema["type"], schema["type"].as_array()) {
        (_, Some(types)) => types.iter().collect(),
        (one, None) => one.as_str().map(|_| one).into_iter().collect(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_type(name, value)) {
        faults.push(format!("{at} must be {types:?}, not {value}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        faults.push(format!("{at} is none of {words:?}: {value}"));
    }
    match value {
        Value::Object(_) => object_faults(schema, value, at, faults),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                schema_faults(&schema["items"], item, &format!("{at}/{n}"), faults);
            }
        }
        Value::Number(number) => {
            let (low, high) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
            let number = number.as_f64().unwrap();
            if low.is_some_and(|low| number < low) || high.is_some_and(|high| number > high) {
                faults.push(format!("{at} is out of range: {value}"));
            }
        }
        Value::String(text) if schema["format"] == "date-time" && !is_instant(text) => {
            faults.push(format!("{at} is no instant in UTC with microseconds: {value}"));
        }
        Value::String(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn object_faults(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            faults.push(format!("{at}/{name} is required"));
        }
    }
    let known = schema["properties"].as_object();
    for (name, inner) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(schema), _) | (None, Some(schema)) => schema_faults(schema, inner, &at, faults),
            // A schema without properties describes any value.
            (None, None) if known.is_some() => faults.push(format!("{at} is not described")),
            (None, None) => {}
        }
    }
}

fn is_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{other} is no type of JSON Schema"),
    }
}

/// RFC 3339, UTC with `Z`, microseconds (conventions 2.1).
fn is_instant(text: &str) -> bool {
    const FORM: usize = "2026-11-30T02:00:00.000000Z".len();
    text.len() == FORM && text.ends_with('Z') && DateTime::parse_from_rfc3339(text).is_ok()
}
