//! One pass over the text of a JSON document that is known to be one: copies it, and puts something
//! else in place of the values that paths lead to. It works on the text, so that all else stays byte
//! for byte, a member that is there twice included.

use super::super::json_path::{Child, Followed, JsonPath};

/// How deep values are looked into. One that lies deeper, and may hold something that is meant, is
/// replaced as a whole: the stack is bounded, whatever somebody sends.
const DEPTH: usize = 100;

/// The document with `mask` of each value that a path leads to in its place; none if it was no JSON.
pub(super) fn masked(
    text: &str,
    paths: &[JsonPath],
    mask: &dyn Fn(&str) -> String,
) -> Option<String> {
    let mut walk = Walk { text, at: 0, copied: 0, out: String::new(), paths, mask };
    walk.space();
    walk.value(&vec![Followed::START; paths.len()], 0)?;
    let rest = text.get(walk.copied..)?;
    walk.out.push_str(rest);
    Some(walk.out)
}

/// Every string of a document, names included, as it stands between its quotes.
pub(super) fn strings(text: &str) -> impl Iterator<Item = &str> {
    let mut scan = Scan { text, at: 0 };
    std::iter::from_fn(move || {
        while scan.peek()? != b'"' {
            scan.at += 1;
        }
        scan.string()
    })
}

struct Walk<'a> {
    text: &'a str,
    at: usize,
    /// Up to here the text has gone out.
    copied: usize,
    out: String,
    paths: &'a [JsonPath],
    mask: &'a dyn Fn(&str) -> String,
}

impl<'a> Walk<'a> {
    fn scan(&self) -> Scan<'a> {
        Scan { text: self.text, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.scan().peek()
    }

    fn space(&mut self) {
        let mut scan = self.scan();
        scan.space();
        self.at = scan.at;
    }

    /// Goes past a value; none where there is none.
    fn skip(&mut self) -> Option<()> {
        let mut scan = self.scan();
        scan.value()?;
        self.at = scan.at;
        Some(())
    }

    /// Goes past a character and the space behind it.
    fn takes(&mut self, wanted: u8) -> Option<()> {
        if self.peek()? != wanted {
            return None;
        }
        self.at += 1;
        self.space();
        Some(())
    }

    /// Goes past a value that is not meant itself, and replaces what is meant in it. `followed` says
    /// how far each path has come.
    fn value(&mut self, followed: &[Followed], depth: usize) -> Option<()> {
        if followed.iter().all(|at| at.is_lost()) {
            return self.skip();
        }
        match self.peek()? {
            b'{' => self.children(b'{', b'}', followed, depth),
            b'[' => self.children(b'[', b']', followed, depth),
            _ => self.skip(),
        }
    }

    fn children(&mut self, open: u8, close: u8, followed: &[Followed], depth: usize) -> Option<()> {
        self.takes(open)?;
        if self.takes(close).is_some() {
            return Some(());
        }
        for place in 0.. {
            if open == b'{' {
                let name: Option<String> = serde_json::from_str(self.name()?).ok();
                self.child(Child::Member(name.as_deref()), followed, depth)?;
            } else {
                self.child(Child::Element(place), followed, depth)?;
            }
            self.space();
            if self.takes(b',').is_none() {
                break;
            }
        }
        self.takes(close)
    }

    /// Goes past a member's name and the colon; returns the name as it is written.
    fn name(&mut self) -> Option<&'a str> {
        let begin = self.at;
        self.skip()?;
        let name = self.text.get(begin..self.at);
        self.space();
        self.takes(b':')?;
        name
    }

    fn child(&mut self, child: Child<'_>, followed: &[Followed], depth: usize) -> Option<()> {
        let paths = self.paths;
        let ways = paths.iter().zip(followed);
        let inner: Vec<_> = ways.map(|(path, at)| path.follow(*at, child)).collect();
        let is_meant = paths.iter().zip(&inner).any(|(path, at)| path.ends(*at));
        let may_hold = matches!(self.peek()?, b'{' | b'[') && !inner.iter().all(|at| at.is_lost());
        if is_meant || (depth == DEPTH && may_hold) {
            return self.replace();
        }
        self.value(&inner, depth + 1)
    }

    fn replace(&mut self) -> Option<()> {
        let begin = self.at;
        self.skip()?;
        let mask = (self.mask)(self.text.get(begin..self.at)?);
        self.out.push_str(self.text.get(self.copied..begin)?);
        self.out.push('"');
        self.out.push_str(&mask);
        self.out.push('"');
        self.copied = self.at;
        Some(())
    }
}

/// A place in the text of a JSON document.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Goes past a string; returns what stands between its quotes.
    fn string(&mut self) -> Option<&'a str> {
        let begin = self.at + 1;
        self.at = begin;
        loop {
            match self.peek()? {
                b'"' => break,
                // Whatever stands behind it is no end.
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let inner = self.text.get(begin..self.at);
        self.at += 1;
        inner
    }

    /// Goes past a value, however deep it is.
    fn value(&mut self) -> Option<()> {
        let mut open = 0_usize;
        loop {
            match self.peek()? {
                b'"' => _ = self.string()?,
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    open = open.checked_sub(1)?;
                    self.at += 1;
                }
                // Between the values of one that is open.
                b',' | b':' if open > 0 => self.at += 1,
                byte if byte.is_ascii_whitespace() && open > 0 => self.at += 1,
                _ => self.word()?,
            }
            if open == 0 {
                return Some(());
            }
        }
    }

    /// Goes past a number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<()> {
        let begin = self.at;
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }
}
