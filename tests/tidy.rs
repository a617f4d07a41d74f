//! The rules of the house as a test: which room may use which, where SQL lives, how long files may
//! be. It reads the sources as text, needs no database, and reports every violation at once. Rooms
//! and exceptions are the tables at the top; an exception names its reason.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail by panicking, and every offset here comes from a search"
)]

#[path = "tidy/planted.rs"]
mod planted;
#[path = "tidy/reading.rs"]
mod reading;

use std::collections::BTreeMap;
use std::path::Path;

use reading::{File, collect, extension, is_word, room_of, words};

/// Which rooms a room may use. `main` is the binary and says `axle::`, all others say `crate::`.
const ARROWS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("wire", &["domain"]),
    ("store", &["domain"]),
    ("hints", &[]),
    ("engine", &["domain", "hints", "store", "telemetry"]),
    ("http", &["domain", "engine", "wire", "telemetry"]),
    ("client", &["domain", "wire"]),
    ("dev", &[]),
    ("config", &["domain"]),
    ("telemetry", &[]),
    ("bench", &["client", "dev", "domain", "wire"]),
    ("cli", &["client", "domain", "config"]),
    ("app", ANY),
    ("main", &["app", "cli"]),
];

const ANY: &[&str] = &["*"];

/// Violations that are meant: the path begins so, the report holds these words, for this reason.
/// Strings of SQL outside `src/store` would be excused by `sql: a string opens with "create"`.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("src/store/migrate/", "statement:", "steps of up() and status(), useless by themselves"),
    ("src/store/migrate/", "pure:", "when a migration was applied is for people to read"),
    ("src/store/migrate/", "shard:", "runs at an upgrade, on tables that have no shards"),
    ("src/store/clock/key.sql", "shard:", "the one row of the installation, read at start"),
    ("src/bench/", "statement:", "read from outside what no use case of the server needs"),
    ("src/dev/create_database.sql", "statement:", "makes the database before there is a store"),
    ("src/store/hints/", "shard:", "a hint to other processes; it touches no table"),
    ("src/store/history/", "shard:", "a dozen rows that describe tables, and a probe per shard"),
    ("src/store/jobs/list", "shard:", "a page for people, over all shards, bounded by LIMIT"),
    ("src/store/live/next_dues.sql", "shard:", "a probe per shard, at start and as a fallback"),
    ("src/store/queues/", "shard:", "a small reference table, keyed by team and name"),
    ("src/store/audit/", "shard:", "a chain per team, written by people's acts"),
    ("src/store/keys/", "shard:", "a small reference table, keyed by the key"),
    ("src/store/idempotency/patience.sql", "statement:", "the first step of `take_all`"),
    ("src/store/idempotency/patience.sql", "shard:", "a setting of the transaction, of no table"),
    ("src/store/invitations/", "shard:", "a small reference table"),
    ("src/store/members/", "shard:", "a small reference table, keyed by team and person"),
    ("src/store/sessions/", "shard:", "a small reference table, keyed by the session"),
    ("src/store/targets/", "shard:", "a small reference table, keyed by team and target"),
    ("src/store/teams/", "shard:", "a small reference table, keyed by team"),
    ("src/store/tries/", "shard:", "a small reference table, keyed by what is counted"),
    ("src/store/users/", "shard:", "a small reference table, keyed by person"),
    ("src/store/tokens/", "shard:", "a small reference table, read by version"),
    (
        "src/store/quotas/",
        "shard:",
        "a bounded count of one team that has a limit, and small tables",
    ),
    ("src/store/rounds/", "shard:", "a bounded probe per shard and team, while there is a backlog"),
    ("src/engine/guard.rs", "guard:", "the guard itself"),
    ("src/engine/dial/mod.rs", "guard:", "connects to the addresses that the guard returns"),
    ("src/client.rs", "guard:", "asks our own API, for whoever types the command"),
    ("src/dev/demo/callback.rs", "guard:", "plays a target, on a developer's machine"),
    ("src/store/secrets/", "shard:", "small reference tables, keyed by team"),
    ("src/store/settings/", "shard:", "asked by a person, of the server and not of a table"),
    ("src/store/calendars/", "shard:", "a small reference table, keyed by team and name"),
    ("src/store/schedules/list", "shard:", "a page for people, over all shards, bounded by LIMIT"),
    ("src/store/schedules/next_slots.sql", "shard:", "a probe per shard, as a fallback"),
    ("src/store/shards/list.sql", "shard:", "the list of shards itself, read at start"),
    ("src/store/suspended/look.sql", "shard:", "a probe per shard; what it finds is held by shard"),
    ("src/store/suspended/settled.sql", "shard:", "a small reference table, keyed by team"),
    ("src/store/suspended/unsettled.sql", "shard:", "the same"),
    ("src/store/sweep/gauges.sql", "shard:", "a bounded probe per shard and priority"),
    ("src/store/sweep/look.sql", "shard:", "a probe per shard; what it finds is swept by shard"),
];

/// The one statement that may ask the database for its time.
const CLOCK: &str = "src/store/clock/now.sql";

const MOST_LINES_SRC: usize = 400;
const MOST_LINES_TESTS: usize = 600;

/// What a statement must be given as a parameter, so that a replica, a test and a retry agree.
const IMPURE: &[&str] = &[
    "now()",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "current_timestamp",
    "random()",
    "gen_random_uuid",
    "nextval",
    "interval '",
];

/// How SQL opens. In capitals the words suffice; in small letters, which prose may share, one of
/// the marks must follow as well; a word without marks is prose there.
const SQL_OPENINGS: &[(&str, &[&str])] = &[
    ("select", &[" from ", "(", "$", "*", " 1"]),
    ("insert into", &["(", " select "]),
    ("update", &[" set "]),
    ("delete from", &[" where ", ";", "$"]),
    ("with", &[" as (", " as materialized"]),
    ("create", &[" table ", " index ", " role ", " database ", " schema ", " function ", " type "]),
    ("alter", &[" table ", " index ", " role ", " database ", " system "]),
    ("drop", &[" table ", " index ", " role ", " database ", " schema "]),
    ("truncate", &[" table "]),
    ("listen", &[]),
    ("notify", &[]),
    ("set local", &[" "]),
];

/// Marks of unfinished work, in halves so that this file does not hold them.
const UNFINISHED: &[(&str, &str)] =
    &[("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("todo", "!"), ("unimplemented", "!")];

#[test]
fn the_house_is_tidy() {
    let mut files = Vec::new();
    for folder in ["src", "tests", "migrations"] {
        collect(Path::new(env!("CARGO_MANIFEST_DIR")), folder, &mut files);
    }
    assert!(files.iter().any(|file| file.path == "src/lib.rs"), "the sources were not found");
    let (excused, mut faults): (Vec<_>, Vec<_>) = faults_of(&files)
        .into_iter()
        .partition(|fault| EXCEPTIONS.iter().any(|exception| excuses(exception, fault)));
    let stale = |exception: &&_| !excused.iter().any(|fault| excuses(exception, fault));
    for (path, words, _) in EXCEPTIONS.iter().filter(stale) {
        faults.push(format!("tests/tidy.rs: exceptions: {path} {words} excuses nothing any more"));
    }
    assert!(faults.is_empty(), "{} violations:\n{}", faults.len(), faults.join("\n"));
}

fn excuses((path, words, _): &(&str, &str, &str), fault: &str) -> bool {
    fault.starts_with(path) && fault.contains(words)
}

/// Reports each violation as `path:line: rule: what`.
type Rule = fn(&[File]) -> Vec<String>;

fn faults_of(files: &[File]) -> Vec<String> {
    let rules: [Rule; 11] = [
        arrows_are_kept,
        files_are_short,
        no_sql_in_rust,
        statements_have_functions,
        statements_are_pure,
        statements_are_sharded,
        nothing_is_unfinished,
        calls_out_are_guarded,
        folders_have_one_door,
        modules_say_what_they_are_for,
        the_map_is_complete,
    ];
    rules.iter().flat_map(|rule| rule(files)).collect()
}

// ---- Rules about Rust ----

fn arrows_are_kept(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_rust_in("src/") && file.path != "src/lib.rs") {
        let room = room_of(&file.path);
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == room) else {
            faults.push(format!("{}:1: arrows: {room} is not a room of ARROWS", file.path));
            continue;
        };
        for (offset, used) in rooms_used(file, files) {
            if used != room && *allowed != ANY && !allowed.contains(&used.as_str()) {
                faults.push(format!("{}: arrows: {room} may not use {used}", file.at(offset)));
            }
        }
    }
    faults
}

/// The first names behind `crate::` (or `axle::` in the binary), groups in braces taken apart; and
/// names behind `super::` that are rooms, unless they are modules of the file's own room.
fn rooms_used(file: &File, files: &[File]) -> Vec<(usize, String)> {
    let root = if file.path == "src/main.rs" { "axle" } else { "crate" };
    let own = format!("src/{}/", room_of(&file.path));
    let is_own = |name: &str| {
        let ends = [format!("/{name}.rs"), format!("/{name}/mod.rs")];
        let own = |other: &&File| other.path.starts_with(&own);
        files.iter().filter(own).any(|other| ends.iter().any(|end| other.path.ends_with(end)))
    };
    let is_room = |name: &str| ARROWS.iter().any(|(room, _)| *room == name);
    let mut used = Vec::new();
    for start in [root, "super"] {
        for offset in words(&file.code, start) {
            let rest = after_colons(&file.code[offset + start.len()..]);
            for name in rest.map(first_names).unwrap_or_default() {
                if start == root || is_room(&name) && !is_own(&name) {
                    used.push((offset, name));
                }
            }
        }
    }
    used
}

fn after_colons(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix("::").map(str::trim_start)
}

/// `a::b` gives `a`; `{a::{b, c}, d}` gives `a` and `d`.
fn first_names(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![path.chars().take_while(|c| is_word(*c)).collect()];
    };
    let mut names = vec![String::new()];
    let (mut depth, mut in_name) = (1, true);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match c {
            _ if depth == 0 => break,
            ',' if depth == 1 => {
                names.push(String::new());
                in_name = true;
            }
            c if is_word(c) && in_name => names.last_mut().expect("never empty").push(c),
            c if !c.is_whitespace() => in_name = false,
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty() && name != "self");
    names
}

fn files_are_short(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| extension(&file.path) == "rs") {
        let most = if file.path.starts_with("src/") { MOST_LINES_SRC } else { MOST_LINES_TESTS };
        let lines = file.text.lines().count();
        if lines > most {
            faults.push(format!("{}:{lines}: length: over {most} lines", file.path));
        }
    }
    faults
}

fn no_sql_in_rust(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_rust_in("src/")) {
        for (line, text) in &file.strings {
            let Some(opening) = sql_opening(text) else { continue };
            faults.push(format!(
                "{}:{line}: sql: a string opens with {opening:?}, which belongs in a .sql file",
                file.path
            ));
        }
    }
    faults
}

fn sql_opening(text: &str) -> Option<&'static str> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ") + " ";
    let lower = text.to_lowercase();
    let opens = |(words, marks): &&(&str, &[&str])| {
        let Some(rest) = lower.strip_prefix(words) else { return false };
        let as_written = &text[..words.len()];
        let is_capital = as_written == words.to_uppercase();
        let is_small = as_written == *words && marks.iter().any(|mark| rest.contains(mark));
        !rest.starts_with(is_word) && rest.trim() != "" && (is_capital || is_small)
    };
    SQL_OPENINGS.iter().find(opens).map(|(words, _)| *words)
}

fn nothing_is_unfinished(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            for mark in UNFINISHED.iter().map(|(a, b)| format!("{a}{b}")) {
                if !words(line, mark.trim_end_matches('!')).is_empty() && line.contains(&mark) {
                    faults.push(format!("{}:{}: unfinished: {mark}", file.path, at + 1));
                }
            }
        }
    }
    faults
}

/// A client that is not the guard's would connect to whatever its user is told.
fn calls_out_are_guarded(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    let calls = |file: &File| ["reqwest", "hyper_util"].iter().any(|by| file.code.contains(by));
    for file in files.iter().filter(|file| file.is_rust_in("src/") && calls(file)) {
        for way in ["Client::builder(", "Http::builder(", "Client::new(", "Builder::new("] {
            for (offset, _) in file.code.match_indices(way) {
                faults
                    .push(format!("{}: guard: ask engine/guard.rs for a client", file.at(offset)));
            }
        }
    }
    faults
}

fn folders_have_one_door(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut folders = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust_in("src/")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folders.entry(folder).or_insert_with(Vec::new).push(file.path.as_str());
    }
    for (folder, inside) in folders.iter().filter(|(folder, _)| **folder != "src") {
        if !inside.contains(&format!("{folder}/mod.rs").as_str()) {
            faults.push(format!("{}:1: doors: {folder} has no mod.rs", inside[0]));
        }
        let beside = format!("{folder}.rs");
        if files.iter().any(|file| file.path == beside) {
            faults.push(format!("{beside}:1: doors: it stands beside a folder of Rust"));
        }
    }
    faults
}

fn modules_say_what_they_are_for(files: &[File]) -> Vec<String> {
    let silent = |file: &&File| file.is_rust_in("src/") && !file.text.starts_with("//!");
    let silent = files.iter().filter(silent);
    silent.map(|file| format!("{}:1: purpose: it does not open with //!", file.path)).collect()
}

fn the_map_is_complete(files: &[File]) -> Vec<String> {
    let Some(lib) = files.iter().find(|file| file.path == "src/lib.rs") else {
        return Vec::new();
    };
    let is_map = |line: &&str| line.starts_with("//!");
    let map = lib.text.lines().filter(is_map).collect::<Vec<_>>().join("\n");
    let rooms = words(&lib.code, "mod").into_iter().map(|offset| {
        let name = lib.code[offset + "mod".len()..].trim_start();
        (offset, name.chars().take_while(|c| is_word(*c)).collect::<String>())
    });
    let missing = rooms.filter(|(_, room)| words(&map, room).is_empty());
    missing
        .map(|(offset, room)| format!("{}: map: //! does not name {room}", lib.at(offset)))
        .collect()
}

// ---- Rules about SQL ----

fn statements_have_functions(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_sql_in("src/")) {
        if !file.text.starts_with("--") {
            faults.push(format!("{}:1: statement: it does not open with a comment", file.path));
        }
        let place = file.path.strip_prefix("src/store/").and_then(|path| path.split_once('/'));
        let Some((noun, name)) = place.filter(|(_, name)| !name.contains('/')) else {
            faults.push(format!("{}:1: statement: not src/store/<noun>/<name>.sql", file.path));
            continue;
        };
        let name = name.trim_end_matches(".sql");
        let home = format!("src/store/{noun}.rs");
        let code = files.iter().find(|file| file.path == home).map_or("", |file| &file.code);
        let is_function = |offset: &usize| code[..*offset].trim_end().ends_with("fn");
        if !words(code, name).iter().any(is_function) {
            faults.push(format!("{}:1: statement: {home} has no fn {name}", file.path));
        }
    }
    faults
}

fn statements_are_pure(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_sql_in("src/") && file.path != CLOCK) {
        let code = file.code.to_lowercase();
        for impure in IMPURE {
            // `$now` and `claimed_now` are names of our own.
            let whole = |offset: &usize| !code[..*offset].ends_with(|c| is_word(c) || c == '$');
            for offset in code.match_indices(impure).map(|(at, _)| at).filter(whole) {
                faults.push(format!("{}: pure: {impure} must be a parameter", file.at(offset)));
            }
        }
    }
    faults
}

fn statements_are_sharded(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    let statements = files.iter().filter(|file| file.is_sql_in("src/store/"));
    for file in statements.filter(|file| file.path != CLOCK) {
        let code = file.code.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let anchors = |words: &str| {
            let ends = code.match_indices(words).map(|(at, _)| at + words.len());
            ends.into_iter().any(|end| !code[end..].starts_with(|c: char| c.is_ascii_digit()))
        };
        let one_row = code.contains("(shard, ") && anchors("values ($1");
        if !anchors("shard = $1") && !one_row {
            faults.push(format!("{}:1: shard: it names no shard by `shard = $1`", file.path));
        }
        let verbs = writing_verbs(&code);
        if verbs.len() > 1 {
            faults.push(format!("{}:1: writes: {}, not one", file.path, verbs.join(" and ")));
        }
    }
    faults
}

/// The verbs that write, leaving out `FOR [NO KEY] UPDATE` and `ON CONFLICT … DO UPDATE`.
fn writing_verbs(code: &str) -> Vec<&str> {
    let all: Vec<&str> = code.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    let mut verbs = Vec::new();
    for (at, word) in all.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |at| all[at]);
        let after = all.get(at + 1).copied().unwrap_or_default();
        let writes = match *word {
            "insert" | "merge" => after == "into",
            "delete" => after == "from",
            "update" => !["for", "key", "do"].contains(&before),
            _ => false,
        };
        if writes {
            verbs.push(*word);
        }
    }
    verbs
}
