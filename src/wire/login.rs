//! Signing in on the wire. What is read here is secret, so none of it prints, and no fault repeats it.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use super::key::read_name;
use super::team::read_email;
use crate::domain::invalid::Invalid;
use crate::domain::person::{Email, is_password};
use crate::domain::principal::Team;

/// Who signs in.
#[derive(Default, Serialize, ToSchema)]
pub struct LoginRequest {
    /// The e-mail address, in any case.
    #[schema(example = "kim@example.com")]
    pub email: String,
    /// The password.
    pub password: String,
    /// Into which team; may be absent for who has one only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "shop")]
    pub team: Option<String>,
}

/// A refresh token.
#[derive(Default, Serialize, ToSchema)]
pub struct RefreshRequest {
    /// The newest that was given.
    #[schema(example = "axr_…")]
    pub refresh_token: String,
}

/// A new password.
#[derive(Default, Serialize, ToSchema)]
pub struct PasswordRequest {
    /// The e-mail address.
    #[schema(example = "kim@example.com")]
    pub email: String,
    /// The present password.
    pub password: String,
    /// The new one: 12 to 256 characters, any.
    #[schema(min_length = 12, max_length = 256)]
    pub new_password: String,
    /// The refresh token of the session that goes on; all others end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
}

/// Who accepts an invitation.
#[derive(Default, Serialize, ToSchema)]
pub struct AcceptRequest {
    /// The invitation's token.
    #[schema(example = "axi_…")]
    pub token: String,
    /// Your name; that of somebody who is a person here already stays.
    pub name: String,
    /// A password of 12 to 256 characters; of somebody who is a person here already, theirs.
    pub password: String,
}

/// What somebody gets who has signed in.
#[derive(Serialize, ToSchema)]
pub struct LoginView {
    /// The person.
    #[schema(example = "usr_01KB9YQ6Z4F0R8M3T1C5W7X2V0")]
    pub user: String,
    /// The team.
    #[schema(example = "shop")]
    pub team: String,
    /// What they are there.
    #[schema(example = "operator")]
    pub role: String,
    /// For `Authorization: Bearer`.
    pub access_token: String,
    /// When it ends: a quarter of an hour after it was given.
    #[schema(format = DateTime)]
    pub access_expires_at: String,
    /// For `POST /v1/login/refresh`, once.
    #[schema(example = "axr_…")]
    pub refresh_token: String,
    /// When it ends, if it is not used.
    #[schema(format = DateTime)]
    pub refresh_expires_at: String,
}

/// Who has become a member.
#[derive(Debug, Serialize, ToSchema)]
pub struct AcceptView {
    /// The person.
    #[schema(example = "usr_01KB9YQ6Z4F0R8M3T1C5W7X2V0")]
    pub user: String,
    /// Their e-mail address, for signing in.
    pub email: String,
    /// The team.
    pub team: String,
}

/// E-mail, password, team.
pub type Login = (Email, String, Option<Team>);

/// Reads who signs in.
pub fn read_login(raw: &RawValue) -> Result<Login, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let email = read_email(&mut fields);
    let password = read_secret(&mut fields, "password");
    let team = fields.text("team").map(|slug| Team::parse(&slug));
    if let Some(Err(bad)) = &team {
        fields.fault("team", "out-of-range", bad.to_string());
    }
    match (email, password) {
        (Some(email), Some(password)) => {
            fields.finish().into_result((email, password, team.and_then(Result::ok)))
        }
        _ => Err(fields.finish()),
    }
}

/// Reads a refresh token.
pub fn read_refresh(raw: &RawValue) -> Result<String, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    match read_secret(&mut fields, "refresh_token") {
        Some(token) => fields.finish().into_result(token),
        None => Err(fields.finish()),
    }
}

/// E-mail, password, new password, refresh token.
pub type NewPassword = (Email, String, String, Option<String>);

/// Reads a change of a password.
pub fn read_password(raw: &RawValue) -> Result<NewPassword, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let email = read_email(&mut fields);
    let password = read_secret(&mut fields, "password");
    let new = read_new_password(&mut fields, "new_password");
    let kept = fields.text("refresh_token");
    match (email, password, new) {
        (Some(email), Some(password), Some(new)) => {
            fields.finish().into_result((email, password, new, kept))
        }
        _ => Err(fields.finish()),
    }
}

/// Token, name, password.
pub type Accept = (String, String, String);

/// Reads who accepts an invitation.
pub fn read_accept(raw: &RawValue) -> Result<Accept, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let token = read_secret(&mut fields, "token");
    let name = read_name(&mut fields, "name");
    let password = read_new_password(&mut fields, "password");
    match (token, name, password) {
        (Some(token), Some(name), Some(password)) => {
            fields.finish().into_result((token, name, password))
        }
        _ => Err(fields.finish()),
    }
}

/// A text that must be there. One of another type is told by its type alone.
fn read_secret(fields: &mut Fields<'_>, key: &'static str) -> Option<String> {
    let raw = fields.raw(key).filter(|raw| raw.get() != "null");
    let text = raw.map(|raw| serde_json::from_str::<String>(raw.get()));
    match text {
        Some(Ok(text)) => Some(text),
        Some(Err(_)) => {
            fields.fault(key, "wrong-type", "must be a string");
            None
        }
        None => {
            fields.missing(key, "must be there");
            None
        }
    }
}

fn read_new_password(fields: &mut Fields<'_>, key: &'static str) -> Option<String> {
    let password = read_secret(fields, key)?;
    if is_password(&password) {
        return Some(password);
    }
    fields.fault(key, "out-of-range", "must have 12 to 256 characters");
    None
}
