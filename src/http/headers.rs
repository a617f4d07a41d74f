//! The security headers of every answer of either listener (conventions 2.1). One set for all: what
//! we serve are documents for programs, and a few pages that load only what is ours.

use actix_web::http::header::{
    CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

/// Scripts and styles from our own files only, never in a frame, never anywhere else. The API's
/// reference needs `data:` for its icons.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                   connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
                   form-action 'self'";

/// Puts them on an answer, over whatever is there.
pub(super) fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, CSP),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
