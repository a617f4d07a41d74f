//! Where the claims of an outside issuer's tokens say team and role, and what its role names mean here.
//! Pure: whether a token is good at all is decided elsewhere.

use std::fmt;

use serde_json::{Map, Value};

use super::principal::Role;

/// The longest path, in bytes.
const PATH_MAX_LEN: usize = 255;
/// The most names of a path.
const PARTS_MAX: usize = 8;
/// The most entries of a role map.
const ROLES_MAX: usize = 100;

/// The place of a claim: names with dots between, such as `realm_access.roles`; or, where a name holds
/// a dot itself, a JSON Pointer (RFC 6901), such as `/https:~1~1example.com~1roles`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPath {
    text: String,
    parts: Vec<String>,
}

impl ClaimPath {
    /// A claim at the top of a token.
    pub fn top(name: &str) -> Self {
        Self { text: name.to_owned(), parts: vec![name.to_owned()] }
    }

    /// Reads a path. An error says what is wrong without repeating the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > PATH_MAX_LEN {
            return Err(format!("it is longer than {PATH_MAX_LEN} bytes"));
        }
        let parts: Vec<String> = match text.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(unescape).collect::<Result<_, _>>()?,
            None => text.split('.').map(str::to_owned).collect(),
        };
        if parts.iter().any(String::is_empty) {
            return Err("a name in it is empty".to_owned());
        }
        if parts.len() > PARTS_MAX {
            return Err(format!("it has more than {PARTS_MAX} names"));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// The claim, if it is there, be it `null`.
    pub fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.parts.split_first()?;
        let top = claims.get(first)?;
        rest.iter().try_fold(top, |value, part| value.as_object()?.get(part))
    }
}

impl fmt::Display for ClaimPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A name of a JSON Pointer, in which `~` stands before 0 or 1 only.
fn unescape(part: &str) -> Result<String, String> {
    let plain = part.replace("~1", "").replace("~0", "");
    if plain.contains('~') {
        return Err("in a JSON Pointer, ~ is written ~0 and / inside a name ~1".to_owned());
    }
    Ok(part.replace("~1", "/").replace("~0", "~"))
}

/// What an issuer's names of roles mean here. Empty: they are our own names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleMap(Vec<(String, Role)>);

impl RoleMap {
    /// Reads `name=role,…`. The last `=` of an entry parts it; a name may stand for one role only.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut map: Vec<(String, Role)> = Vec::new();
        for entry in text.split(',') {
            let Some((name, role)) = entry.trim().rsplit_once('=') else {
                return Err("an entry is not name=role".to_owned());
            };
            let role = Role::parse(role.trim()).map_err(|bad| bad.to_string())?;
            let name = name.trim();
            if name.is_empty() {
                return Err("a name before = is missing".to_owned());
            }
            if map.iter().any(|(known, _)| known == name) {
                return Err("a name is there twice".to_owned());
            }
            map.push((name.to_owned(), role));
        }
        if map.len() > ROLES_MAX {
            return Err(format!("it has more than {ROLES_MAX} entries"));
        }
        Ok(Self(map))
    }

    /// The role of an issuer's name. Where names are mapped, those that are not mean nothing, be they
    /// spelt like one of ours: an issuer's `admin` may be somebody else altogether.
    pub fn role(&self, name: &str) -> Option<Role> {
        if self.0.is_empty() {
            return Role::parse(name).ok();
        }
        self.0.iter().find(|(known, _)| known == name).map(|(_, role)| *role)
    }
}

/// Where tokens say team and role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimNames {
    /// A slug, or an array of slugs.
    pub team: ClaimPath,
    /// A name, or an array of names, of which the widest role counts.
    pub role: ClaimPath,
    /// What the names of roles mean.
    pub roles: RoleMap,
}

/// As this installation's own tokens have it.
impl Default for ClaimNames {
    fn default() -> Self {
        Self {
            team: ClaimPath::top("team"),
            role: ClaimPath::top("role"),
            roles: RoleMap::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_dotted_or_a_pointer() {
        let claims = json!({
            "team": "shop", "realm_access": {"roles": ["a"], "x.y": 1}, "https://e.com/roles": 2,
            "a~b": {"": 3}, "none": null,
        });
        let claims = claims.as_object().unwrap();
        for (text, expected) in [
            ("team", Some(json!("shop"))),
            ("realm_access.roles", Some(json!(["a"]))),
            ("/realm_access/x.y", Some(json!(1))),
            ("/https:~1~1e.com~1roles", Some(json!(2))),
            ("/a~0b", Some(json!({"": 3}))),
            ("none", Some(json!(null))),
            ("none.more", None),
            ("team.more", None),
            ("realm_access.roles.0", None),
            ("x", None),
        ] {
            let path = ClaimPath::parse(text).unwrap();
            assert_eq!(path.find(claims), expected.as_ref(), "{text}");
            assert_eq!(path.to_string(), text);
        }
        let (long, deep) = ("a".repeat(256), "a.".repeat(8) + "a");
        for bad in ["", ".", "a.", ".a", "a..b", "/", "//a", "/a~", "/a~2b", &long, &deep] {
            assert!(ClaimPath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_map_says_all_that_counts() {
        let map = RoleMap::parse("cn=ops,dc=x=operator").map(|_| ());
        assert!(map.is_err(), "a comma parts entries");
        let map = RoleMap::parse(" axle-ops=operator , a=b=owner,viewer=viewer").unwrap();
        assert_eq!(map.role("axle-ops"), Some(Role::Operator));
        assert_eq!(map.role("a=b"), Some(Role::Owner));
        assert_eq!(map.role("viewer"), Some(Role::Viewer));
        assert_eq!((map.role("admin"), map.role("owner"), map.role("")), (None, None, None));
        assert_eq!(RoleMap::default().role("admin"), Some(Role::Admin));
        for bad in ["", "a", "a=", "=owner", "a=root", "a=owner,", "a=owner,a=viewer", ","] {
            assert!(RoleMap::parse(bad).is_err(), "{bad}");
        }
    }
}
