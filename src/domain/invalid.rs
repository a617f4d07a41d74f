//! What a rejected value says: where it stands, which rule it breaks, and what would be right.

use std::fmt;

/// One fault in what a caller sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A JSON Pointer in fragment form (RFC 6901 section 6), such as `#/target/url`.
    pub pointer: String,
    /// The rule broken, stable for machines: `required`, `unknown-field`, `out-of-range` …
    pub code: &'static str,
    /// What is wrong and what would be right, for people.
    pub detail: String,
}

/// Every fault found in one request; never empty when it is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invalid(pub Vec<Fault>);

impl Invalid {
    /// A single fault.
    pub fn one(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self(vec![Fault { pointer: pointer.into(), code, detail: detail.into() }])
    }

    /// Adds a fault.
    pub fn add(
        &mut self,
        pointer: impl Into<String>,
        code: &'static str,
        detail: impl Into<String>,
    ) {
        self.0.push(Fault { pointer: pointer.into(), code, detail: detail.into() });
    }

    /// `Ok(value)` when nothing was found.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, fault) in self.0.iter().enumerate() {
            let gap = if n == 0 { "" } else { "; " };
            write!(f, "{gap}{}: {}", fault.pointer, fault.detail)?;
        }
        Ok(())
    }
}
