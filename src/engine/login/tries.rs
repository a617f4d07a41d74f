//! How often somebody may try to sign in. Counts are in the database, so that they hold over all
//! processes and restarts; each try is counted before it is looked at.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use crate::domain::person::Email;
use crate::engine::{Ctx, Error, Refusal};
use crate::store::tries;

/// The length of a window, in seconds.
const WINDOW_S: i64 = 15 * 60;
/// Tries per e-mail address in a window. Whoever uses them up locks the person out for its rest;
/// whoever is signed in stays so.
const PER_EMAIL: i32 = 10;
/// Tries per network address in a window: an office behind one address gets in, a list of passwords
/// does not.
const PER_ADDRESS: i32 = 60;

/// Counts a try, and goes on only if it is one of the first.
pub(super) async fn count(ctx: &Ctx, email: &Email, address: Option<IpAddr>) -> Result<(), Error> {
    let now = ctx.clock.now();
    let window = window(now);
    // The address first: whoever has used it up fills no table with invented e-mail addresses.
    let mut used_up = false;
    if let Some(address) = address {
        used_up = tries::count(&ctx.store, of_address(address), window).await? > PER_ADDRESS;
    }
    if !used_up {
        used_up = tries::count(&ctx.store, of_email(email), window).await? > PER_EMAIL;
    }
    if used_up {
        let left = window.timestamp() + WINDOW_S - now.timestamp();
        let retry_after_s = u64::try_from(left).unwrap_or(1).max(1);
        return Err(Refusal::TooManyTries { retry_after_s }.into());
    }
    Ok(())
}

/// Whoever is in has not guessed.
pub(super) async fn forgive(ctx: &Ctx, email: &Email) -> Result<(), Error> {
    Ok(tries::forget(&ctx.store, of_email(email)).await?)
}

fn window(now: DateTime<Utc>) -> DateTime<Utc> {
    let seconds = now.timestamp();
    DateTime::from_timestamp(seconds - seconds.rem_euclid(WINDOW_S), 0).unwrap_or(now)
}

fn of_email(email: &Email) -> [u8; 32] {
    Sha256::digest(format!("email\0{}", email.folded())).into()
}

/// An IPv6 caller has a whole /64 for itself.
fn of_address(address: IpAddr) -> [u8; 32] {
    let text = match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("{:x}", u128::from(address) >> 64),
    };
    Sha256::digest(format!("address\0{text}")).into()
}
