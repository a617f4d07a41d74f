//! The rules tried on invented sources, so that a rule which finds nothing is known to look.

use super::reading::File;
use super::{MOST_LINES_TESTS, faults_of};

/// Each rule finds its fault when one is planted, and finds nothing in what only looks like it.
#[test]
fn each_rule_finds_its_fault() {
    let sql = "src/store/jobs/claim.sql";
    let rust = "src/store/jobs.rs";
    let with_fn = (rust, "//! Jobs.\nfn claim() {}");
    let good = "-- Takes due jobs.\nUPDATE live SET a = $2 WHERE shard = $1";
    for (files, fault) in [
        (vec![("src/http/mod.rs", "//! A.\nuse crate::store::X;")], "src/http/mod.rs:2: arrows"),
        (vec![("src/http/mod.rs", "//! A.\nuse crate::{wire, hints::{a, b}};")], "not use hints"),
        (vec![("src/http/mod.rs", "//! A.\nuse super::super::store;")], "may not use store"),
        (vec![("src/main.rs", "//! A.\nuse axle::store;")], "main may not use store"),
        (vec![("src/cellar.rs", "//! A.")], "cellar is not a room"),
        (vec![("tests/it/a.rs", &"\n".repeat(MOST_LINES_TESTS + 1))], "601: length"),
        (vec![("src/app.rs", "//! A.\nf(\"SELECT 1\");")], "src/app.rs:2: sql"),
        (vec![("src/app.rs", "//! A.\nf(r#\"\n  select a\n from b\"#);")], "src/app.rs:2: sql"),
        (vec![(sql, good)], "src/store/jobs.rs has no fn claim"),
        (vec![with_fn, (sql, &good[20..])], "does not open with a comment"),
        (vec![("src/http/a.sql", good)], "not src/store/<noun>/<name>.sql"),
        (vec![with_fn, (sql, "--\nSELECT NOW(), shard = $1")], "claim.sql:2: pure: now()"),
        (vec![with_fn, (sql, "--\nSELECT 1 WHERE shard = $12")], "it names no shard"),
        (
            vec![with_fn, (sql, &format!("{good}; DELETE FROM live"))],
            "writes: update and delete, not one",
        ),
        (vec![("src/app.rs", &format!("//! A.\n// {}{}: b", "TO", "DO"))], "src/app.rs:2: unfinis"),
        (
            vec![("src/app.rs", "//! A.\nuse reqwest::Client;\nfn f() { Client::new() }")],
            "src/app.rs:3: guard",
        ),
        (vec![("src/app/b.rs", "//! B.")], "src/app has no mod.rs"),
        (
            vec![("src/app/mod.rs", "//! A."), ("src/app.rs", "//! A.")],
            "src/app.rs:1: doors: it stands beside",
        ),
        (vec![("src/app.rs", "// A.")], "src/app.rs:1: purpose"),
        (vec![("src/lib.rs", "//! Only the app.\npub mod app;\npub mod cli;")], "lib.rs:3: map"),
    ] {
        let mut files: Vec<_> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        files.push(File::new("src/store/mod.rs", "//! Store."));
        let faults = faults_of(&files);
        assert_eq!(faults.len(), 1, "{fault}: {faults:#?}");
        assert!(faults[0].contains(fault), "{fault}: {faults:#?}");
    }
    let lookalikes = [
        with_fn,
        (sql, "-- now() is told.\nUPDATE live SET a = $now WHERE s.shard = $1 FOR UPDATE"),
        (
            "src/store/mod.rs",
            "//! All.\nmod domain;\n// crate::http\nconst A: &str = \"crate::http\";",
        ),
        ("src/store/domain.rs", "//! Own.\nuse super::jobs; /* /* crate::http */ */"),
        (
            "src/store/a.rs",
            "//! A.\nuse super::domain::B; fn f<'a>(c: char) { c == '\"'; \"with care\"; }",
        ),
        (
            "src/app.rs",
            "//! A.\nuse crate::{cli, http}; const T: &str = \"update the lease of mine\";",
        ),
    ];
    let files: Vec<_> = lookalikes.iter().map(|(path, text)| File::new(path, text)).collect();
    assert_eq!(faults_of(&files), Vec::<String>::new());
}
