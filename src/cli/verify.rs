//! `axle verify`: says why a captured call does not verify with a secret. It asks no server.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use clap::Args;

use super::told::{Failure, Told};
use crate::config::parse_duration;
use crate::domain::signature::SigningSecret;
use crate::domain::signature::verify::{Captured, Freshness, verify};

/// The largest capture that is read.
const SIZE_LIMIT: u64 = 32 * 1024 * 1024;

/// `axle verify`.
#[derive(Args, Debug)]
pub struct Verify {
    /// The secret, whsec_…, or the public key, whpk_…; may be given several times. Other users of this
    /// machine can see it: --secret-file is better
    #[arg(long, value_name = "SECRET", required_unless_present = "secret_file")]
    pub secret: Vec<String>,
    /// A file with secrets or public keys, one a line
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// The captured request as it came: headers, an empty line, the body; a request line may stand
    /// before them [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How old it may be
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub tolerance: String,
    /// Judge it as at this instant, in RFC 3339 [default: now]
    #[arg(long, value_name = "INSTANT")]
    pub at: Option<DateTime<Utc>>,
}

/// Does it. Exit status 1 if it does not verify.
pub fn run(words: &Verify, now: DateTime<Utc>) -> Told {
    match judge(words, now) {
        Ok(told) => told,
        Err(failure) => Err(failure).into(),
    }
}

fn judge(words: &Verify, now: DateTime<Utc>) -> Result<Told, Failure> {
    let secrets = secrets(words)?;
    let tolerance = parse_duration(&words.tolerance);
    let tolerance =
        tolerance.map_err(|error| Failure::Usage(format!("--tolerance: {error}")))?.as_secs();
    let capture = read(words.file.as_deref())?;
    let (headers, body) = parse(&capture).ok_or_else(|| {
        Failure::Usage(
            "that is no captured request: give its headers, an empty line and its body".to_owned(),
        )
    })?;
    let call = Captured { headers: &headers, body, sent: None };
    let fresh = Freshness { now: words.at.unwrap_or(now).timestamp(), tolerance };
    let (by, why) = verify(call, &secrets, fresh);
    if why.is_empty() {
        let which =
            by.filter(|_| secrets.len() > 1).map(|place| format!(" with secret {}", place + 1));
        let out = format!("verified{}", which.unwrap_or_default());
        return Ok(Told { out, ..Told::default() });
    }
    let reasons = why.iter().map(|why| format!("{}: {}", why.code(), why.detail()));
    Ok(Told { err: reasons.collect(), code: 1, ..Told::default() })
}

fn secrets(words: &Verify) -> Result<Vec<SigningSecret>, Failure> {
    let mut texts = words.secret.clone();
    if let Some(path) = &words.secret_file {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        texts.extend(text.lines().map(|line| line.trim().to_owned()));
    }
    let given = texts.iter().filter(|text| !text.is_empty());
    let secrets = given.map(|text| SigningSecret::parse(text)).collect::<Result<Vec<_>, _>>();
    match secrets {
        Ok(secrets) if !secrets.is_empty() => Ok(secrets),
        Ok(_) => Err(Failure::Usage("no secret is given".to_owned())),
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

fn read(file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let mut capture = Vec::new();
    let read = match file {
        Some(path) => std::fs::File::open(path)
            .and_then(|file| file.take(SIZE_LIMIT).read_to_end(&mut capture)),
        None => std::io::stdin().lock().take(SIZE_LIMIT).read_to_end(&mut capture),
    };
    let name = file.map_or("standard input".to_owned(), |path| path.display().to_string());
    read.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    Ok(capture)
}

type Parts<'a> = (Vec<(String, String)>, &'a [u8]);

/// Headers and body; lines may end with CR LF or LF.
fn parse(capture: &[u8]) -> Option<Parts<'_>> {
    let mut headers = Vec::new();
    let mut rest = capture;
    let mut is_first = true;
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, after) = rest.split_at_checked(end + 1)?;
        rest = after;
        let line = String::from_utf8_lossy(line.trim_ascii_end());
        if line.is_empty() && !is_first {
            return (!headers.is_empty()).then_some((headers, rest));
        }
        match line.split_once(':') {
            // The request line may hold a colon, and always holds a space before it.
            Some((name, value)) if !name.contains(' ') && !name.is_empty() => {
                headers.push((name.to_owned(), value.trim().to_owned()));
            }
            _ if is_first => {}
            _ => return None,
        }
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_headers_an_empty_line_and_the_body() {
        for (capture, body) in [
            ("POST /a?b=c:d HTTP/1.1\r\nA: 1\r\nb:2 \r\n\r\nx\r\n\r\ny", "x\r\n\r\ny"),
            ("A: 1\nb: 2\n\n", ""),
            ("\nA: 1\nb: 2\n\nz\n", "z\n"),
        ] {
            let (headers, found) = parse(capture.as_bytes()).unwrap();
            assert_eq!(found, body.as_bytes(), "{capture:?}");
            let expected = [("A", "1"), ("b", "2")].map(|(k, v)| (k.to_owned(), v.to_owned()));
            assert_eq!(headers, expected, "{capture:?}");
        }
        for wrong in ["", "A: 1", "no header\n\nx", "A: 1\nno header\n\n", "{\"json\":1}"] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
