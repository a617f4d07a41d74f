//! Rows of the table of settings that say where an outside issuer's tokens have team and role.

use super::kind::Kind;
use super::settings::Setting;
use crate::domain::claim::{ClaimPath, RoleMap};

pub(super) const TEAM_CLAIM: Setting = Setting {
    key: "jwt_team_claim",
    env: "AXLE_JWT_TEAM_CLAIM",
    flag: Some("jwt-team-claim"),
    default: Some("team"),
    secret: false,
    meaning: "The claim in which an outside issuer's tokens name the team, or an array of teams",
    kind: Kind::Own {
        name: "CLAIM",
        form: PATH,
        set: |config, text| {
            config.jwt_claims.team = ClaimPath::parse(text)?;
            Ok(())
        },
    },
};

pub(super) const ROLE_CLAIM: Setting = Setting {
    key: "jwt_role_claim",
    env: "AXLE_JWT_ROLE_CLAIM",
    flag: Some("jwt-role-claim"),
    default: Some("role"),
    secret: false,
    meaning: "The claim in which they name the role, or an array of roles, of which the widest counts",
    kind: Kind::Own {
        name: "CLAIM",
        form: PATH,
        set: |config, text| {
            config.jwt_claims.role = ClaimPath::parse(text)?;
            Ok(())
        },
    },
};

pub(super) const ROLE_MAP: Setting = Setting {
    key: "jwt_role_map",
    env: "AXLE_JWT_ROLE_MAP",
    flag: Some("jwt-role-map"),
    default: None,
    secret: false,
    meaning: "What their names of roles mean here; if set, no other names count",
    kind: Kind::Own {
        name: "MAP",
        form: "`name=role` with commas between, such as `ops=operator,devs=writer`",
        set: |config, text| {
            config.jwt_claims.roles = RoleMap::parse(text)?;
            Ok(())
        },
    },
};

const PATH: &str = "a claim's name, names with dots between such as `realm_access.roles`, or a JSON \
                    Pointer such as `/https:~1~1example.com~1roles`";
