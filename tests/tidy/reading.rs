//! How the rules read a source file: its code apart from its comments and strings, by hand, since a
//! parser would be a dependency and line numbers are wanted.

use std::fs;
use std::path::Path;

/// A source file; `path` is relative to the crate, with `/`.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    /// Rust without its comments and with its strings empty; SQL without its comments.
    pub(crate) code: String,
    /// The string literals of Rust, each with its line.
    pub(crate) strings: Vec<(usize, String)>,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let (code, strings) = match extension(path) {
            "rs" => split_rust(text),
            "sql" => (without_sql_comments(text), Vec::new()),
            _ => (String::new(), Vec::new()),
        };
        Self { path: path.to_owned(), text: text.to_owned(), code, strings }
    }

    pub(crate) fn is_rust_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder) && extension(&self.path) == "rs"
    }

    pub(crate) fn is_sql_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder) && extension(&self.path) == "sql"
    }

    /// Where it is, for a report, given an offset into its code.
    pub(crate) fn at(&self, offset: usize) -> String {
        format!("{}:{}", self.path, self.code[..offset].matches('\n').count() + 1)
    }
}

pub(crate) fn collect(root: &Path, folder: &str, files: &mut Vec<File>) {
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

pub(crate) fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// `src/engine/claim.rs` and `src/engine.rs` belong to `engine`.
pub(crate) fn room_of(path: &str) -> &str {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs");
    inside.split('/').next().unwrap_or(inside)
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where `word` stands in `text` as a whole word.
pub(crate) fn words(text: &str, word: &str) -> Vec<usize> {
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
