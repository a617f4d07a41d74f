//! Rows of the table of settings that concern what may be called.

use super::kind::Kind;
use super::read::places;
use super::settings::Setting;

pub(super) const TARGET_ALLOW: Setting = Setting {
    key: "target_allow",
    env: "AXLE_TARGET_ALLOW",
    flag: Some("target-allow"),
    default: None,
    secret: false,
    meaning: "What may be called although it is private, or on a port that is refused",
    kind: Kind::Own {
        name: "PLACES",
        form: PLACES,
        set: |config, text| {
            config.target_allow = places(text)?;
            Ok(())
        },
    },
};

pub(super) const TARGET_DENY: Setting = Setting {
    key: "target_deny",
    env: "AXLE_TARGET_DENY",
    flag: Some("target-deny"),
    default: None,
    secret: false,
    meaning: "What is never called, whatever else is allowed",
    kind: Kind::Own {
        name: "PLACES",
        form: PLACES,
        set: |config, text| {
            config.target_deny = places(text)?;
            Ok(())
        },
    },
};

pub(super) const ALLOW_PRIVATE_TARGETS: Setting = Setting {
    key: "allow_private_targets",
    env: "AXLE_ALLOW_PRIVATE_TARGETS",
    flag: Some("allow-private-targets"),
    default: Some("false"),
    secret: false,
    meaning: "Whether everybody may call this machine and private networks; `axle dev` sets it",
    kind: Kind::Switch(|config| &mut config.allow_private_targets),
};

pub(super) const EGRESS_PROXY: Setting = Setting {
    key: "egress_proxy",
    env: "AXLE_EGRESS_PROXY",
    flag: Some("egress-proxy"),
    default: None,
    secret: false,
    meaning: "The HTTP proxy that all calls go through; names of targets are resolved there",
    kind: Kind::Url(|config| &mut config.egress_proxy),
};

const PLACES: &str = "a list such as `10.1.0.0/16,billing.internal,*.corp.example,10.2.0.7:5432`";
