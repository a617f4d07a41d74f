//! People. A password comes here as its hash only.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::{Error, Session, Store, sql};
use crate::domain::id::UserId;
use crate::domain::person::{Email, User};

/// Puts a new person there; false if somebody has the e-mail address.
pub async fn insert(
    session: &Session,
    user: &User,
    password: &str,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let params: super::Params<'_> =
        &[&user.id.uuid(), &user.email, &user.name, &password, &user.installation_admin, &now];
    Ok(session.query_opt(sql!("users/insert"), params).await?.is_some())
}

/// The person of an e-mail address, and the password's hash.
pub async fn by_email(store: &Store, email: &Email) -> Result<Option<(User, String)>, Error> {
    let rows = store.query(sql!("users/by_email"), &[&email.as_str()]).await?;
    rows.first().map(|row| Ok((read(row)?, row.try_get("password")?))).transpose()
}

/// A person.
pub async fn get(session: &Session, id: UserId) -> Result<Option<User>, Error> {
    let row = session.query_opt(sql!("users/get"), &[&id.uuid()]).await?;
    row.as_ref().map(read).transpose()
}

/// A person's new password.
pub async fn set_password(
    session: &Session,
    id: UserId,
    password: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[&id.uuid(), &password, &now];
    session.query(sql!("users/set_password"), params).await.map(drop)
}

fn read(row: &Row) -> Result<User, Error> {
    Ok(User {
        id: UserId::from_uuid(row.try_get("user_id")?),
        email: row.try_get("email")?,
        name: row.try_get("name")?,
        installation_admin: row.try_get("installation_admin")?,
    })
}
