//! Rows of the table of settings that concern who connects to the API, and what those rows take.

use url::Url;

use super::Secret;
use super::kind::Kind;
use super::settings::Setting;
use crate::domain::proxy::Proxies;

pub(super) const MAX_CONNECTIONS: Setting = Setting {
    key: "max_connections",
    env: "AXLE_MAX_CONNECTIONS",
    flag: Some("max-connections"),
    default: Some("4096"),
    secret: false,
    meaning: "Connections to the API per process, at most; further ones wait to be accepted",
    kind: Kind::Count { least: 1, most: 1_000_000, slot: |config| &mut config.max_connections },
};

pub(super) const TLS_CERT: Setting = Setting {
    key: "tls_cert",
    env: "AXLE_TLS_CERT",
    flag: Some("tls-cert"),
    default: None,
    secret: false,
    meaning: "The API's certificate with its chain, the server's own first; with it and `tls_key` \
              the API speaks TLS",
    kind: Kind::Own {
        name: "FILE",
        form: "a PEM file, or its text",
        set: |config, text| {
            if text.contains("PRIVATE KEY-----") {
                return Err("it holds a private key".to_owned());
            }
            config.tls_cert = Some(filled(text)?.to_owned());
            Ok(())
        },
    },
};

pub(super) const TLS_KEY: Setting = Setting {
    key: "tls_key",
    env: "AXLE_TLS_KEY",
    flag: None,
    default: None,
    secret: true, // its text may be given instead of its file
    meaning: "The private key of `tls_cert`",
    kind: Kind::Own {
        name: "FILE",
        form: "a PEM file, or its text",
        set: |config, text| {
            config.tls_key = Some(Secret::from(filled(text)?));
            Ok(())
        },
    },
};

pub(super) const TRUSTED_PROXIES: Setting = Setting {
    key: "trusted_proxies",
    env: "AXLE_TRUSTED_PROXIES",
    flag: Some("trusted-proxies"),
    default: None,
    secret: false,
    meaning: "The reverse proxies whose `Forwarded` or `X-Forwarded-For` tells a caller's address",
    kind: Kind::Own {
        name: "NETWORKS",
        form: "a list of addresses and networks such as `10.0.0.0/8,2001:db8::7`",
        set: |config, text| {
            config.trusted_proxies = Proxies::parse(text)?;
            Ok(())
        },
    },
};

pub(super) const CORS_ORIGINS: Setting = Setting {
    key: "cors_origins",
    env: "AXLE_CORS_ORIGINS",
    flag: Some("cors-origins"),
    default: None,
    secret: false,
    meaning: "The sites whose pages may call the API from a browser; nobody's, if unset",
    kind: Kind::Own {
        name: "ORIGINS",
        form: "a list of origins such as `https://console.example.com`, each as browsers send it",
        set: |config, text| {
            config.cors_origins =
                text.split(',').map(|text| origin(text.trim())).collect::<Result<_, _>>()?;
            Ok(())
        },
    },
};

fn filled(text: &str) -> Result<&str, String> {
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text) }
}

/// An origin is compared byte for byte, so it must be written as a browser writes it (RFC 6454,
/// section 6.2): no path, no default port, lower case.
fn origin(text: &str) -> Result<String, String> {
    if text.contains('*') {
        return Err(format!("{text:?} is not one site: each is named by itself"));
    }
    let url = Url::parse(text).map_err(|error| format!("{text:?} is not an origin: {error}"))?;
    let written = url.origin().ascii_serialization();
    if !matches!(url.scheme(), "http" | "https") || written == "null" {
        return Err(format!("{text:?} is not an http or https origin"));
    }
    if written != text {
        return Err(format!("a browser writes {written} for {text:?}"));
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_taken_as_browsers_write_them() {
        for good in ["https://a.example", "http://localhost:5173", "https://a.example:8443"] {
            assert_eq!(origin(good), Ok(good.to_owned()));
        }
        for bad in [
            "*",
            "null",
            "",
            "a.example",
            "https://a.example/",
            "https://a.example/x",
            "https://A.example",
            "https://a.example:443",
            "http://a.example:80",
            "ftp://a.example",
            "https://*.example",
            "https://u@a.example",
            "file:///x",
            "https://a.example?x",
        ] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }
}
