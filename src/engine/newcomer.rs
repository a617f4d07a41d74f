//! People who are new here; and the first of all, whom nobody can invite.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::audit::{self, Deed};
use super::once::whole;
use super::{Ctx, Error, random};
use crate::domain::id::{Shard, UserId};
use crate::domain::person::{Email, User};
use crate::domain::principal::{Kind, Principal, Role, Subject, Team, Via};
use crate::domain::scope::Scope;
use crate::store::{Session, members, users};

/// Somebody who comes into a team.
pub(super) enum Newcomer {
    /// Who is a person here already.
    Known(User),
    /// Who is to become one.
    New {
        /// The e-mail address.
        email: Email,
        /// For people.
        name: String,
        /// The password's hash.
        password: String,
        /// Whether they manage the installation's teams.
        installation_admin: bool,
    },
}

/// The person, put there if they are new.
pub(super) async fn add(
    session: &Session,
    newcomer: Newcomer,
    now: DateTime<Utc>,
) -> Result<User, Error> {
    let (user, password) = match newcomer {
        Newcomer::Known(user) => return Ok(user),
        Newcomer::New { email, name, password, installation_admin } => {
            let id = UserId::new(now, Shard(0), random::bits());
            let email = email.as_str().to_owned();
            (User { id, email, name, installation_admin }, password)
        }
    };
    if users::insert(session, &user, &password, now).await? {
        return Ok(user);
    }
    Err(Error::Busy("somebody with this e-mail address came this moment".into()))
}

/// Makes an installation admin who owns a team: the first person, from the command line. Somebody
/// who has the e-mail address already is left as they are, and none is returned.
pub async fn first(
    ctx: &Ctx,
    (email, name): (&Email, &str),
    password: &str,
    team: &Team,
) -> Result<Option<User>, Error> {
    if users::by_email(&ctx.store, email).await?.is_some() {
        return Ok(None);
    }
    let now = ctx.clock.now();
    let newcomer = Newcomer::New {
        email: email.clone(),
        name: name.to_owned(),
        password: ctx.access.turns().hash(password).await?,
        installation_admin: true,
    };
    let who = Principal {
        team: team.clone(),
        subject: Subject::parse("axle admin create")
            .map_err(|error| Error::Broken(error.to_string()))?,
        role: Role::Owner,
        scope: Scope::default(),
        kind: Kind::System,
        installation_admin: true,
        via: Via::default(),
    };
    let work = async |session: &Session| {
        let user = add(session, newcomer, now).await?;
        members::insert(session, (team, user.id), Role::Owner, now).await?;
        let after = json!({"email": user.email, "role": "owner", "installation_admin": true});
        let deed = Deed::of("create", format!("members/{}", user.id)).change(Value::Null, after);
        audit::record(session, &who, deed, now).await?;
        Ok(Some(user))
    };
    whole(ctx, work).await
}
