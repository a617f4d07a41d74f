//! What a reader of a team's jobs is shown of payloads and answers: values at the team's paths are
//! replaced by a mask, equal for equal values, and some readers are shown nothing. Pure; it changes
//! what is read, never what is sent. Whatever it cannot look into is withheld as a whole.

mod walk;

use std::borrow::Cow;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use serde::de::IgnoredAny;
use sha2::Sha256;

use super::invalid::Invalid;
use super::job::{MASK_BYTES, MASKED, is_mask};
use super::signature::hex;
use super::team::Settings;

/// The most paths of a team.
pub const PATHS_MAX: usize = 50;
/// The code of the fault of a text that holds a mask.
pub const MASKED_VALUE: &str = "masked-value";

/// What a reader sees through.
#[derive(Clone, Default)]
pub struct Veil {
    settings: Arc<Settings>,
    /// What masks are made with: one key for each team.
    key: [u8; 32],
    /// Whether the reader sees nothing of it at all.
    is_blind: bool,
}

impl std::fmt::Debug for Veil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (paths, is_blind) = (&self.settings.redact, self.is_blind);
        f.debug_struct("Veil")
            .field("paths", paths)
            .field("is_blind", &is_blind)
            .finish_non_exhaustive()
    }
}

impl Veil {
    /// Of a team with these settings, for somebody who may or may not write. `key` is the team's own
    /// and secret.
    pub fn new(settings: Arc<Settings>, key: [u8; 32], may_write: bool) -> Self {
        let is_blind = !may_write && settings.viewers_see_payloads == Some(false);
        Self { settings, key, is_blind }
    }

    /// Hides nothing: for what is shown to nobody.
    pub fn lifted() -> Self {
        Self::default()
    }

    /// A JSON document as the reader sees it; none if it is withheld, since it is not for this reader
    /// or no JSON after all.
    pub fn json<'a>(&self, document: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if self.is_blind {
            return None;
        }
        if self.settings.redact.is_empty() {
            return Some(Cow::Borrowed(document));
        }
        let text = std::str::from_utf8(document).ok()?;
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        let masked = walk::masked(text, &self.settings.redact, &|value| self.mask(value))?;
        Some(Cow::Owned(masked.into_bytes()))
    }

    /// Bytes that are no JSON, which no path leads into; none if they are withheld.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        (!self.is_blind && self.settings.redact.is_empty()).then_some(bytes)
    }

    /// Refuses a payload, at the pointer `at`, that holds what is shown in a value's place: whoever
    /// copies back what they read would store the mask and lose the value. Only a team with paths is
    /// shown masks; for all others this is a text like any other.
    pub fn refuse_masks(&self, at: &str, payload: &[u8]) -> Invalid {
        let mut faults = Invalid::default();
        let text = std::str::from_utf8(payload).ok().filter(|_| !self.settings.redact.is_empty());
        if let Some(mask) = text.and_then(|text| walk::strings(text).find(|text| is_mask(text))) {
            let detail = format!(
                "{mask:?} is what is shown in place of a value that the team's settings redact; give \
                 the value itself, or leave the payload out of a change"
            );
            faults.add(at, MASKED_VALUE, detail);
        }
        faults
    }

    /// What is shown in a value's place: equal for the same bytes of JSON in a team.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
    fn mask(&self, value: &str) -> String {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.key)
            .expect("HMAC takes keys of any length");
        mac.update(value.as_bytes());
        let tag = mac.finalize().into_bytes();
        format!("{MASKED}{}", hex(tag.get(..MASK_BYTES).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn veil(paths: &[&str]) -> Veil {
        let redact = paths.iter().map(|path| path.parse().unwrap()).collect();
        Veil::new(Arc::new(Settings { redact, ..Settings::default() }), [7; 32], true)
    }

    fn seen(veil: &Veil, document: &str) -> Option<String> {
        veil.json(document.as_bytes()).map(|seen| String::from_utf8(seen.into_owned()).unwrap())
    }

    /// What is seen, with `#` for every mask.
    fn outline(paths: &[&str], document: &str) -> String {
        let seen = seen(&veil(paths), document).unwrap();
        let mut parts = seen.split("\"secret:");
        let mut outline = parts.next().unwrap().to_owned();
        for part in parts {
            let (mask, rest) = part.split_once('"').unwrap();
            assert!(is_mask(&format!("{MASKED}{mask}")), "{seen}");
            outline.push('#');
            outline.push_str(rest);
        }
        outline
    }

    #[test]
    fn each_form_of_path_finds_its_values_and_the_rest_stays_byte_for_byte() {
        for (path, document, expected) in [
            (
                "$.card.number",
                r#"{ "card" : {"number":4111, "x":1e400}}"#,
                r#"{ "card" : {"number":#, "x":1e400}}"#,
            ),
            ("$.card", r#"{"card":{"a":[1,{}]},"z":1}"#, r#"{"card":#,"z":1}"#),
            (
                "$.items[*].token",
                r#"{"items":[{"token":"a"},7,{"token":null}]}"#,
                r#"{"items":[{"token":#},7,{"token":#}]}"#,
            ),
            (
                "$.items[*].token",
                r#"{"items":{"k":{"token":"a"}}}"#,
                r#"{"items":{"k":{"token":#}}}"#,
            ),
            (
                "$..password",
                r#"{"a":[{"password":"x","b":{"password":[]}}],"password":""}"#,
                r#"{"a":[{"password":#,"b":{"password":#}}],"password":#}"#,
            ),
            ("$..a.b", r#"{"a":{"a":{"b":1},"b":2}}"#, r#"{"a":{"a":{"b":#},"b":#}}"#),
            ("$[1]", "[ 1 , 2 ,3]", "[ 1 , # ,3]"),
            ("$.*", r#"{"a":1,"b":[2]}"#, r#"{"a":#,"b":#}"#),
            // A name in escapes is the same name; a repeated one is hidden every time.
            (
                "$.pin",
                r#"{"p\u0069n":1,"pin":2,"\ud800":3}"#,
                r#"{"p\u0069n":#,"pin":#,"\ud800":3}"#,
            ),
            ("$['a\"b']", r#"{"a\"b":1}"#, r#"{"a\"b":#}"#),
            // What a path does not fit is left alone.
            ("$.pin", r#"[{"pin":1}]"#, r#"[{"pin":1}]"#),
            ("$[0]", r#"{"0":1}"#, r#"{"0":1}"#),
            ("$.pin", "\"pin\"", "\"pin\""),
            ("$.pin", "{}", "{}"),
            ("$[*]", " [ ] ", " [ ] "),
        ] {
            assert_eq!(outline(&[path], document), expected, "{path}");
        }
    }

    #[test]
    fn equal_values_have_equal_masks_within_a_team() {
        let (mine, mut theirs) = (veil(&["$.*"]), veil(&["$.*"]));
        theirs.key = [8; 32];
        let document = r#"{"a":"4111","b":"4111","c":"4112"}"#;
        let of = |veil| {
            let seen: serde_json::Value =
                serde_json::from_str(&seen(veil, document).unwrap()).unwrap();
            ["a", "b", "c"].map(|name| seen[name].as_str().unwrap().to_owned())
        };
        let [a, b, c] = of(&mine);
        assert!(is_mask(&a) && a == b && a != c, "{a} {b} {c}");
        assert_ne!(of(&theirs)[0], a);
        assert!(!format!("{mine:?}").contains('7'), "{mine:?}");
    }

    #[test]
    fn what_no_path_can_look_into_is_withheld() {
        let veil = veil(&["$.pin"]);
        for broken in ["", "{", r#"{"pin":}"#, r#"{"pin":1} 2"#, "pin=1"] {
            assert_eq!(seen(&veil, broken), None, "{broken}");
        }
        assert_eq!(veil.json(b"\"\xff\""), None);
        assert_eq!(veil.bytes(b"pin=1"), None);
        assert_eq!(Veil::lifted().bytes(b"pin=1"), Some(b"pin=1".as_slice()));
        assert_eq!(seen(&Veil::lifted(), "{"), Some("{".to_owned()));
    }

    #[test]
    fn a_nest_deeper_than_the_walk_goes_is_hidden_and_crashes_nothing() {
        let deep = format!(r#"{}{{"pin":"4711"}}{}"#, "[".repeat(100_000), "]".repeat(100_000));
        let seen = seen(&veil(&["$..pin"]), &deep).unwrap();
        assert!(!seen.contains("4711") && seen.contains("secret:"), "{} bytes", seen.len());
        // Where no path can lead, nothing is looked at.
        assert_eq!(outline(&["$.pin"], &deep), deep);
    }

    #[test]
    fn a_mask_is_not_taken_for_a_value_and_only_a_team_with_paths_has_masks() {
        let mask = r#"{"a":[{"b":"secret:0123456789ab"}]}"#;
        assert_eq!(veil(&["$.pin"]).refuse_masks("#/payload", mask.as_bytes()).0.len(), 1);
        assert_eq!(Veil::lifted().refuse_masks("#/payload", mask.as_bytes()).0.len(), 0);
        for other in
            [r#"["secret:0123456789a"]"#, r#""secret:0123456789abc""#, r#"["\"", "secret:"]"#]
        {
            assert_eq!(veil(&["$.pin"]).refuse_masks("#", other.as_bytes()).0, [], "{other}");
        }
    }

    #[test]
    fn who_may_only_look_is_shown_nothing_if_the_team_wants_it_so() {
        let settings = Settings { viewers_see_payloads: Some(false), ..Settings::default() };
        let settings = Arc::new(settings);
        let blind = Veil::new(Arc::clone(&settings), [0; 32], false);
        assert_eq!((blind.json(b"{}"), blind.bytes(b"x")), (None, None));
        let sees = Veil::new(settings, [0; 32], true);
        assert_eq!((seen(&sees, "{}"), sees.bytes(b"x")), (Some("{}".into()), Some(&b"x"[..])));
    }
}
