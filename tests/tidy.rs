//! The rules of the house as a test: which room may use which, where SQL lives, how long files may
//! be. It reads the sources as text, needs no database, and reports every violation at once. Rooms
//! and exceptions are the tables at the top; an exception names its reason.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail by panicking, and every offset here comes from a search"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Which rooms a room may use. `main` is the binary and says `axle::`, all others say `crate::`.
const ARROWS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("wire", &["domain"]),
    ("store", &["domain"]),
    ("hints", &["domain"]),
    ("engine", &["domain", "store", "hints", "telemetry"]),
    ("http", &["domain", "engine", "wire", "telemetry"]),
    ("client", &["domain", "wire"]),
    ("dev", &[]),
    ("config", &[]),
    ("telemetry", &[]),
    ("cli", &["domain", "config", "client", "wire", "dev"]),
    ("app", ANY),
    ("main", &["app", "cli", "config", "telemetry"]),
];

const ANY: &[&str] = &["*"];

/// Strings in Rust that may open like SQL: where, the words they open with, and why.
const SQL_IN_RUST: &[(&str, &str, &str)] = &[];

/// Hot-path rule: statements that may do without `shard = $1`, by path under `src/store`, and why.
const UNSHARDED: &[(&str, &str)] = &[];

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
    let faults = faults_of(&files);
    assert!(faults.is_empty(), "{} violations:\n{}", faults.len(), faults.join("\n"));
}

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
        (vec![with_fn, (sql, "--\nSELECT 1 WHERE shard = $12")], "has no `shard = $1`"),
        (vec![with_fn, (sql, &format!("{good}; DELETE FROM live"))], "it writes 2 times"),
        (vec![("src/app.rs", &format!("//! A.\n// {}{}: b", "TO", "DO"))], "src/app.rs:2: unfinis"),
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

/// A source file; `path` is relative to the crate, with `/`.
struct File {
    path: String,
    text: String,
    /// Rust without its comments and with its strings empty; SQL without its comments.
    code: String,
    /// The string literals of Rust, each with its line.
    strings: Vec<(usize, String)>,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let (code, strings) = match extension(path) {
            "rs" => split_rust(text),
            "sql" => (without_sql_comments(text), Vec::new()),
            _ => (String::new(), Vec::new()),
        };
        Self { path: path.to_owned(), text: text.to_owned(), code, strings }
    }

    fn is_rust_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder) && extension(&self.path) == "rs"
    }

    fn is_sql_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder) && extension(&self.path) == "sql"
    }

    /// Where it is, for a report, given an offset into its code.
    fn at(&self, offset: usize) -> String {
        format!("{}:{}", self.path, self.code[..offset].matches('\n').count() + 1)
    }
}

/// Reports each violation as `path:line: rule: what`.
type Rule = fn(&[File]) -> Vec<String>;

fn faults_of(files: &[File]) -> Vec<String> {
    let rules: [Rule; 10] = [
        arrows_are_kept,
        files_are_short,
        no_sql_in_rust,
        statements_have_functions,
        statements_are_pure,
        statements_are_sharded,
        nothing_is_unfinished,
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
            let excepted = SQL_IN_RUST.iter().any(|(path, words, _)| {
                file.path.starts_with(path) && text.trim_start().to_lowercase().starts_with(words)
            });
            if !excepted {
                faults.push(format!(
                    "{}:{line}: sql: a string opens with {opening:?}; statements live in \
                     src/store/<noun>/<name>.sql",
                    file.path
                ));
            }
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
    for (name, _) in UNSHARDED {
        let path = format!("src/store/{name}");
        if files.iter().all(|file| file.path != path) {
            faults.push(format!("tests/tidy.rs:1: shard: UNSHARDED names {path}, which is not"));
        }
    }
    for file in files.iter().filter(|file| file.is_sql_in("src/store/")) {
        let code = file.code.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let anchor = "shard = $1";
        let follows = |at: usize| code[at + anchor.len()..].chars().next();
        let anchored = code
            .match_indices(anchor)
            .any(|(at, _)| !follows(at).is_some_and(|c| c.is_ascii_digit()));
        let excepted = UNSHARDED.iter().any(|(name, _)| file.path == format!("src/store/{name}"));
        if !anchored && !excepted && file.path != CLOCK {
            faults.push(format!(
                "{}:1: shard: it has no `{anchor}`, and UNSHARDED does not name it",
                file.path
            ));
        }
        let verbs = writing_verbs(&code);
        if verbs.len() > 1 {
            faults.push(format!("{}:1: shard: it writes {} times", file.path, verbs.len()));
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

// ---- Reading ----

fn collect(root: &Path, folder: &str, files: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("a readable folder")).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(root, &path, files);
        } else if ["rs", "sql"].contains(&extension(&path)) {
            let text = fs::read_to_string(entry.path()).expect("a source file is UTF-8");
            files.push(File::new(&path, &text));
        }
    }
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// `src/engine/claim.rs` and `src/engine.rs` belong to `engine`.
fn room_of(path: &str) -> &str {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs");
    inside.split('/').next().unwrap_or(inside)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where `word` stands in `text` as a whole word.
fn words(text: &str, word: &str) -> Vec<usize> {
    let whole = |at: &usize| {
        !text[..*at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word)
    };
    text.match_indices(word).map(|(at, _)| at).filter(whole).collect()
}

fn without_sql_comments(text: &str) -> String {
    let code = |line: &str| line.split_once("--").map_or(line, |(code, _)| code).to_owned();
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// Splits Rust into code (comments gone, strings empty, lines kept) and string literals.
fn split_rust(text: &str) -> (String, Vec<(usize, String)>) {
    let (mut code, mut strings) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some((open, close)) = string_quotes(rest, &code) {
            let inside = &rest[open..];
            let end = if close == "\"" { plain_end(inside) } else { inside.find(&close) };
            let end = end.unwrap_or(inside.len());
            strings.push((code.matches('\n').count() + 1, inside[..end].to_owned()));
            code.push_str("\"\"");
            (open + end + close.len()).min(rest.len())
        } else if let Some(length) = char_literal(rest) {
            length
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        code.extend(rest[..taken].chars().filter(|c| *c == '\n'));
        rest = &rest[taken..];
    }
    (code, strings)
}

/// The length of a string's opening and the text of its close, if `rest` is a string. Prefixes `b`
/// and `c` have gone into the code by then; `r` counts only where no word ends.
fn string_quotes(rest: &str, before: &str) -> Option<(usize, String)> {
    if rest.starts_with('"') {
        return Some((1, "\"".to_owned()));
    }
    let raw = rest.strip_prefix('r')?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let word = before.trim_end_matches(['b', 'c']).ends_with(is_word);
    let opens = raw[hashes..].starts_with('"') && !word;
    opens.then(|| (hashes + 2, format!("\"{}", "#".repeat(hashes))))
}

fn plain_end(inside: &str) -> Option<usize> {
    let mut escaped = false;
    inside.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(next) = rest[at..].find(['/', '*']).map(|found| at + found) {
        let (step, change) = match rest.get(next..next + 2) {
            Some("/*") => (2, 1),
            Some("*/") => (2, -1),
            _ => (1, 0),
        };
        depth += change;
        at = next + step;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a character literal, which a lifetime is not.
fn char_literal(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    if first == '\\' {
        let escape = inside.chars().nth(1)?.len_utf8() + 1;
        return inside[escape..].find('\'').map(|end| 1 + escape + end + 1);
    }
    inside[first.len_utf8()..].starts_with('\'').then(|| first.len_utf8() + 2)
}
