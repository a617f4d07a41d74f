//! Rows of the table of settings that concern what a team may use that has no limits of its own.

use super::kind::Kind;
use super::parse::parse_size;
use super::settings::Setting;

pub(super) const TEAM_WRITES_PER_SECOND: Setting = Setting {
    key: "team_writes_per_second",
    env: "AXLE_TEAM_WRITES_PER_SECOND",
    flag: Some("team-writes-per-second"),
    default: None,
    secret: false,
    meaning: "Writes per second of a team, over all processes; no limit, if unset",
    kind: Kind::Optional {
        least: 1,
        most: 1_000_000,
        slot: |config| &mut config.team_writes_per_second,
    },
};

pub(super) const TEAM_UNFINISHED_JOBS: Setting = Setting {
    key: "team_unfinished_jobs",
    env: "AXLE_TEAM_UNFINISHED_JOBS",
    flag: Some("team-unfinished-jobs"),
    default: None,
    secret: false,
    meaning: "Unfinished jobs of a team; no limit, if unset",
    kind: Kind::Optional {
        least: 1,
        most: COUNTED,
        slot: |config| &mut config.team_unfinished_jobs,
    },
};

pub(super) const TEAM_SCHEDULES: Setting = Setting {
    key: "team_schedules",
    env: "AXLE_TEAM_SCHEDULES",
    flag: Some("team-schedules"),
    default: None,
    secret: false,
    meaning: "Schedules of a team; no limit, if unset",
    kind: Kind::Optional { least: 1, most: COUNTED, slot: |config| &mut config.team_schedules },
};

pub(super) const TEAM_PAYLOAD_BYTES: Setting = Setting {
    key: "team_payload_bytes",
    env: "AXLE_TEAM_PAYLOAD_BYTES",
    flag: Some("team-payload-bytes"),
    default: None,
    secret: false,
    meaning: "Payloads of a team's unfinished jobs together; no limit, if unset",
    kind: Kind::Own {
        name: "SIZE",
        form: "a size such as `512MiB`",
        set: |config, text| match parse_size(text)? {
            0 => Err("it is too small".to_owned()),
            bytes => {
                config.team_payload_bytes = Some(bytes);
                Ok(())
            }
        },
    },
};

pub(super) const TEAM_CONCURRENT_RUNS: Setting = Setting {
    key: "team_concurrent_runs",
    env: "AXLE_TEAM_CONCURRENT_RUNS",
    flag: Some("team-concurrent-runs"),
    default: None,
    secret: false,
    meaning: "Runs of a team at the same time, over all pullers; no limit, if unset",
    kind: Kind::Optional {
        least: 1,
        most: COUNTED,
        slot: |config| &mut config.team_concurrent_runs,
    },
};

const COUNTED: usize = 1_000_000_000;
