//! The commands about schedules that ask no server: a cron line explained, a crontab taken over.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::program::{Ended, axle};

async fn explain(args: &[&str]) -> Ended {
    // The zone of the host decides nothing, and a server that is not there is not missed.
    let env = [("TZ", "Asia/Tokyo"), ("AXLE_URL", "http://127.0.0.1:9")];
    axle(&[&["schedules", "explain"][..], args].concat(), &env).await
}

#[tokio::test]
async fn a_line_is_explained_with_its_next_fires_and_the_next_clock_change() {
    let from = ["--from", "2026-10-20T00:00:00Z"];
    let args = [&["0 2 31 * *", "--tz", "America/New_York", "-n", "2"][..], &from[..]].concat();
    let ended = explain(&args).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    for line in [
        "  Sat 2026-10-31 02:00:00 -04:00  2026-10-31T06:00:00Z",
        "  Thu 2026-12-31 02:00:00 -05:00  2026-12-31T07:00:00Z",
        "  clocks go back on Sun 1 Nov 2026 from 02:00 to 01:00 (UTC-4 to UTC-5): no fire is moved, \
         lost or doubled",
        "  seen in UTC, the same local time comes 1 hour later from then on",
    ] {
        assert!(ended.out.lines().any(|said| said == line), "{line:?} in\n{}", ended.out);
    }
    assert!(ended.out.starts_with("at 02:00 on "), "{}", ended.out);
}

#[tokio::test]
async fn from_now_on_and_for_programs() {
    let ended = explain(&["@hourly", "-n", "3", "--json"]).await;
    let said: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(said["fires"].as_array().map(Vec::len), Some(3), "{said}");
    assert_eq!(said["time_zone"], "UTC");
    assert_eq!(said["next_clock_change"], Value::Null);
    let singular = axle(&["schedule", "explain", "*/5 * * * * *", "--seconds"], &[]).await;
    assert!(singular.out.contains("fires up to 12 times a minute"), "{singular:?}");
}

#[tokio::test]
async fn a_line_that_cannot_be_used_is_a_usage_error_that_says_what_would_be_right() {
    for (args, why) in [
        (&["75 2 * * *"][..], "minute must be 0 to 59, got 75"),
        (&["0 0 2 * * 1"], "add --seconds"),
        (&["0 22-6 * * *"], "write 22-23,0-6"),
        (&["0 2 31 2 *"], "it never fires"),
        (&["@reboot"], "knows times only"),
        (&["@daily", "--tz", "EST5"], "no time zone is called"),
        (&["@daily", "--from", "yesterday"], "2026-03-29T02:30:00Z"),
        (&["@daily", "-n", "0"], "1..=100"),
    ] {
        let ended = explain(args).await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}: {ended:?}");
        assert!(ended.err.contains(why), "{args:?}: {}", ended.err);
    }
}

/// Imports a crontab from a file.
async fn import(crontab: &str, args: &[&str]) -> Ended {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("crontab");
    std::fs::write(&file, crontab).unwrap();
    let file = file.to_str().unwrap();
    axle(&[&["cron", "import", file][..], args].concat(), &[("TZ", "Asia/Tokyo")]).await
}

fn documents(ended: &Ended) -> Vec<Value> {
    ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_crontab_becomes_schedules_a_document_a_line() {
    let crontab = "# backups\n30 2 * * 1-5 /opt/backup.sh --all\n\n\
                   CRON_TZ=Europe/Berlin\n@daily mail -s \"50\\% off\" x%Hello%\n";
    let template = ["--url-template", "https://host/{name}", "--tz", "America/New_York"];
    let ended = import(crontab, &template).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(
        documents(&ended),
        [
            json!({
                "name": "crontab-2-backup-sh",
                "spec": {"cron": "30 2 * * 1-5"},
                "time_zone": "America/New_York",
                "overlap": "allow",
                "job": {
                    "target": {"url": "https://host/crontab-2-backup-sh"},
                    "payload": {"command": "/opt/backup.sh --all"},
                },
            }),
            json!({
                "name": "crontab-5-mail",
                "spec": {"cron": "@daily"},
                "time_zone": "Europe/Berlin",
                "overlap": "allow",
                "job": {
                    "target": {"url": "https://host/crontab-5-mail"},
                    "payload": {"command": "mail -s \"50% off\" x", "stdin": "Hello\n"},
                },
            }),
        ]
    );
}

#[tokio::test]
async fn each_line_that_is_not_taken_is_named_and_keeps_no_other_back() {
    let crontab = "SHELL=/bin/sh\n@reboot root /opt/start\n17 * * * * root run-parts hourly\n\
                   0 22-6 * * * root night\n0 5 * * *\n";
    let args = ["--system", "--url-template", "http://127.0.0.1:1/{line}", "--prefix", "etc"];
    let ended = import(crontab, &args).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let documents = documents(&ended);
    assert_eq!(documents.len(), 1, "{documents:?}");
    assert_eq!(documents[0]["name"], "etc-3-run-parts");
    assert_eq!(documents[0]["job"]["target"]["url"], "http://127.0.0.1:1/3");
    assert_eq!(documents[0]["job"]["payload"]["user"], "root");
    assert!(documents[0].get("time_zone").is_none(), "the server's default holds");
    let named: Vec<_> = ended.err.lines().collect();
    for (at, words) in [
        (0, "line 1: SHELL is not taken"),
        (1, "line 2: @reboot: a schedule knows times only"),
        (2, "line 4: 22-6 runs backwards; write 22-23,0-6"),
        (3, "line 5: no command stands behind the times"),
        (4, "name it with --tz"),
    ] {
        assert!(named[at].contains(words), "{words:?} in {named:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_meant_is_a_usage_error() {
    for (args, why) in [
        (&["--url-template", "https://host/{user}"][..], "{user} is unknown"),
        (&["--url-template", "https://host/", "--tz", "Berlin"], "write Europe/Berlin"),
        (&["--url-template", "https://host/", "--prefix", "a b"], "letters, digits"),
        (&[], "--url-template"),
    ] {
        let ended = import("@daily x\n", args).await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}: {ended:?}");
        assert!(ended.err.contains(why), "{args:?}: {}", ended.err);
    }
    let nowhere = ["cron", "import", "/nowhere/crontab", "--url-template", "https://host/"];
    assert!(!Path::new(nowhere[2]).exists());
    let ended = axle(&nowhere, &[]).await;
    assert!(ended.code == Some(2) && ended.err.contains("/nowhere/crontab"), "{ended:?}");
}
