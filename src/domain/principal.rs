//! Who asks, and what they may do: teams, subjects, roles and the one table of role × act.
//! Pure values; how a principal proves who it is stands in `engine/auth`. No other module may
//! compare roles with each other: it asks [`Principal::may`].

use std::{fmt, net::IpAddr, sync::Arc};

use super::scope::Scope;

/// The longest team slug: one DNS label (RFC 1035, section 2.3.4), so that a team can be a host name.
pub const TEAM_MAX_LEN: usize = 63;

/// The longest subject, in characters (the limit that `OpenID` Connect Core, section 2, sets for `sub`).
pub const SUBJECT_MAX_CHARS: usize = 255;

/// The slug of a team, the tenant that everything belongs to: `^[a-z0-9][a-z0-9-]{0,62}$`.
/// Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Team(Arc<str>);

impl Team {
    /// Reads a slug exactly: no trimming, no change of case.
    pub fn parse(text: &str) -> Result<Self, BadTeam> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let fits = text.len() <= TEAM_MAX_LEN
            && text.bytes().next().is_some_and(plain)
            && text.bytes().all(|b| plain(b) || b == b'-');
        if fits { Ok(Self(text.into())) } else { Err(BadTeam) }
    }

    /// The slug.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no team slug. It does not carry the text, which may be hostile or secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a team is 1 to 63 lower-case letters, digits and hyphens, and begins with a letter or digit"
)]
pub struct BadTeam;

/// The person, key or process behind a request, as its issuer names it: 1 to 255 characters, none
/// of them a control character, so that it can stand in a log line or a header. Cloning shares the
/// text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject(Arc<str>);

impl Subject {
    /// Reads a subject exactly: no trimming, no change of case.
    pub fn parse(text: &str) -> Result<Self, BadSubject> {
        let fits = !text.is_empty()
            && text.chars().nth(SUBJECT_MAX_CHARS).is_none()
            && !text.chars().any(char::is_control);
        if fits { Ok(Self(text.into())) } else { Err(BadSubject) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a subject is 1 to 255 characters without control characters")]
pub struct BadSubject;

/// What somebody is in a team. Roles have no order of their own: what one may do is read off the
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Answers for the team: makes and unmakes admins and owners.
    Owner,
    /// Runs the team's place in Axle.
    Admin,
    /// Is on call: acts on jobs by hand, steers queues.
    Operator,
    /// Registers work; usually a service.
    Writer,
    /// Looks on.
    Viewer,
}

impl Role {
    /// Every role, from the widest to the narrowest.
    pub const ALL: &'static [Self] =
        &[Self::Owner, Self::Admin, Self::Operator, Self::Writer, Self::Viewer];

    /// Reads a role's name exactly.
    pub fn parse(text: &str) -> Result<Self, BadRole> {
        Self::ALL.iter().copied().find(|role| role.as_str() == text).ok_or(BadRole)
    }

    /// Of several roles the one that may the most.
    pub fn widest(roles: impl IntoIterator<Item = Self>) -> Option<Self> {
        let place = |role: &Self| Self::ALL.iter().position(|known| known == role);
        roles.into_iter().min_by_key(place)
    }

    /// The name on the wire, in tokens and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Writer => "writer",
            Self::Viewer => "viewer",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role is one of owner, admin, operator, writer, viewer")]
pub struct BadRole;

/// A kind of thing to do, coarse enough that every operation of the API is exactly one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Look at jobs, runs, events and queues.
    Read,
    /// Create, change and cancel jobs.
    Write,
    /// Interfere by hand: run now, rerun, pause and resume a queue.
    Operate,
    /// Set a queue's limits and defaults.
    Configure,
    /// Give access or take it: members, keys, secrets, and reading the audit log.
    Manage,
    /// Decide about owners and the team itself.
    Own,
    /// Make and suspend teams. No role has it: it is the installation admin's.
    Install,
}

impl Act {
    /// Every act.
    pub const ALL: &'static [Self] = &[
        Self::Read,
        Self::Write,
        Self::Operate,
        Self::Configure,
        Self::Manage,
        Self::Own,
        Self::Install,
    ];

    /// The name, for messages ("needs `operate`").
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Operate => "operate",
            Self::Configure => "configure",
            Self::Manage => "manage",
            Self::Own => "own",
            Self::Install => "install",
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who may do what; what is not listed is refused.
///
/// `Configure` belongs to the operator as well as to the admin: whoever may stop a queue at three
/// in the morning should be able to throttle it instead, which is the gentler act, and no setting
/// of a queue gives anybody access to anything. What does is `Manage`, for admins and owners.
/// `Operate` is kept from the writer, since it repeats work that may have happened already.
const MAY: &[(Role, &[Act])] = &[
    (Role::Viewer, &[Act::Read]),
    (Role::Writer, &[Act::Read, Act::Write]),
    (Role::Operator, &[Act::Read, Act::Write, Act::Operate, Act::Configure]),
    (Role::Admin, &[Act::Read, Act::Write, Act::Operate, Act::Configure, Act::Manage]),
    (Role::Owner, &[Act::Read, Act::Write, Act::Operate, Act::Configure, Act::Manage, Act::Own]),
];

impl Role {
    /// Whether the table grants the act to the role.
    pub fn may(self, act: Act) -> bool {
        MAY.iter().any(|(role, acts)| *role == self && acts.contains(&act))
    }

    /// Whether whoever has this role may give `other` away: only what it may do itself.
    pub fn may_grant(self, other: Self) -> bool {
        Act::ALL.iter().all(|act| self.may(*act) || !other.may(*act))
    }

    /// What it takes to make somebody this, or to unmake them: owners decide about owners and admins.
    pub const fn granted_by(self) -> Act {
        match self {
            Self::Owner | Self::Admin => Act::Own,
            Self::Operator | Self::Writer | Self::Viewer => Act::Manage,
        }
    }
}

/// How a principal came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A person who signed in to this installation.
    User,
    /// The bearer of a token of an outside issuer.
    Token,
    /// The bearer of an API key.
    Key,
    /// A loopback caller of `axle dev`, who was not asked for anything.
    Dev,
    /// Axle itself.
    System,
}

impl Kind {
    /// The word in the scope of idempotency keys and in the audit log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Token => "token",
            Self::Key => "key",
            Self::Dev => "dev",
            Self::System => "system",
        }
    }
}

/// By which way a request came, for the record. It decides nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Via {
    /// What it was signed in with: the id of an API key (`key_…`), or a token's `jti`.
    pub credential: Option<Arc<str>>,
    /// The session of a person, and its epoch.
    pub session: Option<Arc<str>>,
    /// The caller's address.
    pub address: Option<IpAddr>,
    /// The id under which the request stands in logs and answers.
    pub request_id: Option<Arc<str>>,
}

/// Who asks: the answer of authentication, and the question of every engine function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The team it acts in and cannot see beyond.
    pub team: Team,
    /// Who it is, for the record.
    pub subject: Subject,
    /// What it is in that team.
    pub role: Role,
    /// Which of the team's queues it reaches.
    pub scope: Scope,
    /// How it came in.
    pub kind: Kind,
    /// Whether it manages the installation's teams.
    pub installation_admin: bool,
    /// By which way, for the record.
    pub via: Via,
}

impl Principal {
    /// Whether it may do this in its own team. (Anything of another team does not exist for it.)
    pub fn may(&self, act: Act) -> bool {
        let by_role = self.role.may(act) || (act == Act::Install && self.installation_admin);
        by_role && self.scope.allows(act)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written out a second time on purpose: a change of the table must be meant twice.
    #[test]
    fn every_role_and_act_is_decided() {
        let granted = [
            ("owner", "read write operate configure manage own"),
            ("admin", "read write operate configure manage"),
            ("operator", "read write operate configure"),
            ("writer", "read write"),
            ("viewer", "read"),
        ];
        assert!(granted.iter().map(|(role, _)| *role).eq(Role::ALL.iter().map(|r| r.as_str())));
        for (role, acts) in granted {
            let who = Principal {
                team: Team::parse("demo").unwrap(),
                subject: Subject::parse("kim").unwrap(),
                role: Role::parse(role).unwrap(),
                scope: Scope::default(),
                kind: Kind::Token,
                installation_admin: false,
                via: Via::default(),
            };
            for act in Act::ALL {
                let expected = acts.split(' ').any(|name| name == act.as_str());
                assert_eq!(who.may(*act), expected, "{role} × {act}");
            }
        }
    }

    #[test]
    fn nobody_gives_away_more_than_it_has() {
        for (n, &giver) in Role::ALL.iter().enumerate() {
            for (m, &given) in Role::ALL.iter().enumerate() {
                assert_eq!(giver.may_grant(given), n <= m, "{giver} gives {given}");
            }
        }
    }

    #[test]
    fn the_widest_of_some_roles_may_all_that_each_may() {
        assert_eq!(Role::widest([]), None);
        assert_eq!(
            Role::widest([Role::Viewer, Role::Operator, Role::Writer]),
            Some(Role::Operator)
        );
        assert_eq!(Role::widest(Role::ALL.iter().rev().copied()), Some(Role::Owner));
    }

    #[test]
    fn the_table_has_one_row_per_role() {
        for &role in Role::ALL {
            assert_eq!(MAY.iter().filter(|(row, _)| *row == role).count(), 1, "{role}");
        }
        assert_eq!(MAY.len(), Role::ALL.len());
    }

    #[test]
    fn teams_are_slugs() {
        let longest = "a".repeat(63);
        for good in ["a", "0", "shop", "team-7", "7--", "a-", longest.as_str()] {
            assert_eq!(Team::parse(good).map(|t| t.to_string()), Ok(good.to_owned()));
        }
        let too_long = "a".repeat(64);
        for bad in
            ["", "-a", "Shop", "a_b", "a.b", "a b", " a", "a\n", "é", "a\0", "../a", &too_long]
        {
            assert_eq!(Team::parse(bad), Err(BadTeam), "{bad:?}");
        }
    }

    #[test]
    fn subjects_are_short_and_printable() {
        let longest = "é".repeat(255);
        for good in ["k", "kim@example.com", "auth0|123", "Ана", longest.as_str()] {
            assert_eq!(Subject::parse(good).map(|s| s.to_string()), Ok(good.to_owned()));
        }
        let too_long = "é".repeat(256);
        for bad in ["", "a\nb", "a\r", "\0", "a\u{85}", "\u{7f}", &too_long] {
            assert_eq!(Subject::parse(bad), Err(BadSubject), "{bad:?}");
        }
    }

    #[test]
    fn roles_read_back_as_written() {
        for &role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Ok(role));
        }
        for bad in ["", "Admin", "root", "admin "] {
            assert_eq!(Role::parse(bad), Err(BadRole), "{bad:?}");
        }
    }
}
