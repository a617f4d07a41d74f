//! Which values of a JSON document are meant: a small part of `JSONPath` (RFC 9535), in which every path
//! selects what it selects there. Reading a path refuses all else, with the place and the reason.
//!
//! A path is `$` and 1 to 16 steps: `.name`, `['name']` or `["name"]` for a member, `..name` or
//! `..['name']` for a member at any depth, `[0]` for an element, `.*` or `[*]` for every child.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest path, in characters.
pub const PATH_MAX_CHARS: usize = 200;
/// The most steps of a path; a set of positions in it fits into 32 bits.
const STEPS_MAX: usize = 16;
/// The most digits of an index.
const INDEX_DIGITS: usize = 9;

/// A path. Its text is kept as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JsonPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// The member of this name.
    Name(String),
    /// The member of this name, of the value or of anything inside it.
    Deep(String),
    /// The element at this place, from 0.
    Index(usize),
    /// Every member or element.
    Every,
}

/// A text that is no path: where it fails, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {at}: {why}")]
pub struct BadPath {
    /// The character, counted from 1.
    pub at: usize,
    /// What is wrong, and what would be right.
    pub why: &'static str,
}

/// How a value hangs on the one around it.
#[derive(Clone, Copy, Debug)]
pub enum Child<'a> {
    /// A member. Without a name if that is no Unicode text: no path can name it.
    Member(Option<&'a str>),
    /// An element.
    Element(usize),
}

/// How far a path has been followed on the way to one value: a set of steps that may come next, one
/// bit each, and behind them the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed(u32);

impl Followed {
    /// At the whole document.
    pub const START: Self = Self(1);

    /// Whether nothing inside can be meant.
    pub const fn is_lost(self) -> bool {
        self.0 == 0
    }
}

impl JsonPath {
    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Follows the path into a child.
    #[must_use]
    pub fn follow(&self, at: Followed, child: Child<'_>) -> Followed {
        let mut next = 0;
        for (n, step) in self.steps.iter().enumerate() {
            let here = 1 << n;
            if at.0 & here == 0 {
                continue;
            }
            let (goes_on, stays) = match (step, child) {
                (Step::Name(name), Child::Member(given)) => (given == Some(name.as_str()), false),
                (Step::Deep(name), Child::Member(given)) => (given == Some(name.as_str()), true),
                (Step::Deep(_), Child::Element(_)) => (false, true),
                (Step::Index(index), Child::Element(place)) => (*index == place, false),
                (Step::Every, _) => (true, false),
                (Step::Name(_), Child::Element(_)) | (Step::Index(_), Child::Member(_)) => {
                    (false, false)
                }
            };
            next |= if goes_on { here << 1 } else { 0 } | if stays { here } else { 0 };
        }
        Followed(next)
    }

    /// Whether the value is meant to which the path was followed.
    pub fn ends(&self, at: Followed) -> bool {
        at.0 & (1 << self.steps.len()) != 0
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<JsonPath> for String {
    fn from(path: JsonPath) -> Self {
        path.text
    }
}

impl TryFrom<String> for JsonPath {
    type Error = BadPath;

    fn try_from(text: String) -> Result<Self, BadPath> {
        text.parse()
    }
}

impl FromStr for JsonPath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        let mut reader = Reader { rest: text, at: 1 };
        if text.chars().nth(PATH_MAX_CHARS).is_some() {
            return Err(BadPath {
                at: PATH_MAX_CHARS + 1,
                why: "a path has at most 200 characters",
            });
        }
        if !reader.takes('$') {
            return reader.bad("a path begins with $, the whole payload");
        }
        let mut steps = Vec::new();
        while !reader.rest.is_empty() {
            if steps.len() == STEPS_MAX {
                return reader.bad("a path has at most 16 steps");
            }
            steps.push(reader.step()?);
        }
        if steps.is_empty() {
            return reader
                .bad("this is the whole payload; name a part of it, such as $.card.number");
        }
        Ok(Self { text: text.to_owned(), steps })
    }
}

/// The part of a path that is not read yet, and where it begins.
struct Reader<'a> {
    rest: &'a str,
    at: usize,
}

const PLAIN: &str = "a plain name is letters, digits and _, the first no digit; write any other as \
                     ['name']";
const UNCLOSED: &str = "a ] is missing";

impl<'a> Reader<'a> {
    fn bad<T>(&self, why: &'static str) -> Result<T, BadPath> {
        Err(BadPath { at: self.at, why })
    }

    fn takes(&mut self, wanted: char) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.at += usize::from(rest.is_some());
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes the characters up to the first that does not fit.
    fn while_fits(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.at += taken.chars().count();
        self.rest = rest;
        taken
    }

    fn step(&mut self) -> Result<Step, BadPath> {
        if self.takes('.') {
            return if self.takes('.') { self.deep() } else { self.plain() };
        }
        if self.takes('[') {
            return self.bracket();
        }
        self.bad("a step begins with . or [")
    }

    fn deep(&mut self) -> Result<Step, BadPath> {
        if self.rest.starts_with('*') {
            return self.bad("this would be everything; name what is looked for at any depth");
        }
        if !self.takes('[') {
            return Ok(Step::Deep(self.name()?));
        }
        match self.bracket()? {
            Step::Name(name) => Ok(Step::Deep(name)),
            Step::Deep(_) | Step::Index(_) | Step::Every => {
                self.bad("what is looked for at any depth has a name: ..['name']")
            }
        }
    }

    fn plain(&mut self) -> Result<Step, BadPath> {
        if self.takes('*') { Ok(Step::Every) } else { Ok(Step::Name(self.name()?)) }
    }

    /// The shorthand of RFC 9535, section 2.5.1.
    fn name(&mut self) -> Result<String, BadPath> {
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.bad(PLAIN);
        }
        let name = self.while_fits(|c| c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii());
        if name.is_empty() { self.bad(PLAIN) } else { Ok(name.to_owned()) }
    }

    /// What stands between brackets, the first of which has been read.
    fn bracket(&mut self) -> Result<Step, BadPath> {
        let step = if self.takes('*') {
            Step::Every
        } else if let Some(quote) = ['\'', '"'].into_iter().find(|quote| self.takes(*quote)) {
            let name = self.while_fits(|c| c != quote && c != '\\' && !c.is_control());
            if !self.takes(quote) {
                return self.bad("a name in quotes ends with the same quote, and holds no \\");
            }
            Step::Name(name.to_owned())
        } else {
            Step::Index(self.index()?)
        };
        if self.takes(']') { Ok(step) } else { self.bad(UNCLOSED) }
    }

    fn index(&mut self) -> Result<usize, BadPath> {
        let begin = self.at;
        let digits = self.while_fits(|c| c.is_ascii_digit());
        let is_plain = digits == "0" || !digits.starts_with('0');
        let index = Some(digits).filter(|digits| is_plain && digits.len() <= INDEX_DIGITS);
        index.and_then(|digits| digits.parse().ok()).ok_or(BadPath {
            at: begin,
            why: "between brackets stands a place counted from 0, a name in quotes, or *",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_is_read_and_keeps_its_text() {
        for text in [
            "$.card.number",
            "$.items[*].token",
            "$..password",
            "$['x-api-key'][\"it's\"]",
            "$..['pass word']",
            "$.*[0][10].größe",
            "$['']",
            "$[*]",
        ] {
            let path: JsonPath = text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"));
            assert_eq!(path.as_str(), text);
            let stored = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<JsonPath>(&stored).unwrap(), path);
        }
    }

    #[test]
    fn all_else_is_refused_where_it_fails() {
        let long = format!("$.{}", "a".repeat(PATH_MAX_CHARS));
        let many = format!("${}", "[0]".repeat(17));
        for (text, at) in [
            ("", 1),
            ("card", 1),
            ("@.card", 1),
            ("$", 2),
            ("$card", 2),
            ("$.", 3),
            ("$.card.", 8),
            ("$.0", 3),
            ("$.x-key", 4),
            ("$. card", 3),
            ("$.card ", 7),
            ("$...a", 4),
            ("$..*", 4),
            ("$..[*]", 7),
            ("$..[0]", 7),
            ("$[", 3),
            ("$[-1]", 3),
            ("$[01]", 3),
            ("$[1:2]", 4),
            ("$[0,1]", 4),
            ("$[?@.a]", 3),
            ("$[name]", 3),
            ("$['a]", 6),
            ("$['a\\'b']", 5),
            ("$['a\"]", 7),
            ("$['a'", 6),
            ("$[9999999999]", 3),
            (long.as_str(), 201),
            (many.as_str(), 50),
        ] {
            let bad = text.parse::<JsonPath>().expect_err(text);
            assert_eq!(bad.at, at, "{text}: {bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_path_or_refused(text in r#"\$?([.\[\]'"*0-9a-z\\ é-]|\.\.){0,30}"#) {
            if let Ok(path) = text.parse::<JsonPath>() { prop_assert_eq!(path.as_str(), text); }
        }
    }
}
