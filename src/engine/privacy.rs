//! What a caller is shown of its team's payloads, by the team's settings. What is sent to targets is
//! none of its business.

use super::Ctx;
use super::secrets::payload_mask_key;
use crate::domain::principal::{Act, Principal};
use crate::domain::redact::Veil;

/// Through what the caller sees payloads, callback results and answers.
pub fn veil(ctx: &Ctx, who: &Principal) -> Veil {
    let settings = ctx.roster.settings(&who.team);
    let key = if settings.redact.is_empty() {
        [0; 32]
    } else {
        // Without a secret key there is the installation's own, which whoever has the database has:
        // but they have the payloads too.
        ctx.limits.vault.as_ref().map_or_else(
            || payload_mask_key(&ctx.limits.callback_key, &who.team),
            |vault| vault.payload_mask_key(&who.team),
        )
    };
    Veil::new(settings, key, who.may(Act::Write))
}
