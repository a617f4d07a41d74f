//! Text that must not reach a log, an error, an answer or the database as it is. Its type says so,
//! so that printing it by accident prints three stars; it has no serialized form.

use std::fmt;

use subtle::ConstantTimeEq as _;

/// A secret's text. `Debug` prints `***`.
#[derive(Clone, Default)]
pub struct Hidden(String);

impl Hidden {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the few places that need it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// In a time that tells nothing of where the two differ.
impl PartialEq for Hidden {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Hidden {}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_text_prints_stars_only() {
        let hidden = Hidden::new("hunter2");
        assert_eq!(format!("{hidden:?} {:?}", Some(&hidden)), "*** Some(***)");
        assert_eq!((hidden.expose(), &hidden), ("hunter2", &Hidden::new("hunter2")));
        assert_ne!(hidden, Hidden::new("hunter3"));
    }
}
