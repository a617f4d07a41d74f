//! Text that must not reach a log, an error or a screen. It says so in its type, so that printing
//! it by accident prints three stars.

use std::fmt;

/// What stands in place of a secret.
pub(super) const MASK: &str = "***";

/// A password, key or token. `Debug` and `Display` print `***`; there is no comparison, because an
/// ordinary one takes a time that tells how much of a guess was right.
#[derive(Clone, Default)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// A connection URL fit for a log: its password is replaced by `***`, and text that is no URL
/// altogether.
///
/// The password is taken to reach to the *last* `@`, and no URL parser is asked: an unescaped `@`,
/// `/` or `?` in a password is a common mistake, and the wrong guess must hide too much, never too
/// little.
pub fn mask_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return MASK.to_owned();
    };
    let (user, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) => (mask_password(credentials) + "@", rest),
        None => (String::new(), rest),
    };
    match rest.split_once('?') {
        Some((place, parameters)) => {
            let parameters: Vec<_> = parameters.split('&').map(mask_parameter).collect();
            format!("{scheme}://{user}{place}?{}", parameters.join("&"))
        }
        None => format!("{scheme}://{user}{rest}"),
    }
}

fn mask_password(credentials: &str) -> String {
    match credentials.split_once(':') {
        Some((user, _)) => format!("{user}:{MASK}"),
        None => credentials.to_owned(),
    }
}

/// PostgreSQL's URLs may also carry the password among the parameters.
fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if name.contains("password") => format!("{name}={MASK}"),
        _ => parameter.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_stars_only() {
        let secret = Secret::from("hunter2");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.expose(), "hunter2");
        assert!(Secret::default().is_empty());
    }

    #[test]
    fn a_masked_url_never_holds_the_password() {
        for (url, masked) in [
            ("postgres://axle:pw@db/axle", "postgres://axle:***@db/axle"),
            ("postgres://axle@db/axle", "postgres://axle@db/axle"),
            ("postgres://db:5432/axle", "postgres://db:5432/axle"),
            ("postgres://axle:p@w/o?d@db/axle", "postgres://axle:***@db/axle"),
            ("postgres://u:pw@a:5432,b:5433/axle", "postgres://u:***@a:5432,b:5433/axle"),
            (
                "postgres://db/axle?user=u&password=pw&sslmode=require",
                "postgres://db/axle?user=u&password=***&sslmode=require",
            ),
            ("host=db password=pw", "***"),
            ("", "***"),
        ] {
            assert_eq!(mask_url(url), masked, "{url}");
        }
    }
}
