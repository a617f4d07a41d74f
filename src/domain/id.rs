//! Ids that know where they live: a `UUIDv7` whose lowest twelve bits are the shard.
//!
//! A job's id is its creation time (48 bits of milliseconds), 62 random bits less the shard's
//! twelve, and the shard, so a look-up by id is a statement for one shard and ids sort by time. A
//! run's identity is (job, fence); its text is only a spelling of that pair, so the shard, the job
//! and the staleness test are read off it and no index is needed.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// Crockford's base 32: digits and capitals without I, L, O, U (crockford.com/base32.html).
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 26 characters of five bits hold 128 bits with two to spare.
const TEXT_LEN: usize = 26;
/// The id's low bits that carry the shard: shard numbers go up to 4,095.
const SHARD_BITS: u32 = 12;

/// The number of one shard: a row of the table `shards`, made at installation, never computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(pub i32);

/// The identity of a run: its job, and the fence that the claim gave it (1 for the first claim).
/// Text form: `run_`, the job's 26 characters, `_` and the fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// The job that this is a run of.
    pub job: JobId,
    /// Grows with every claim of the job; a target refuses a smaller one than it has seen.
    pub fence: i32,
}

/// A text that is not an id of the wanted kind. To a caller it is the same as an id of nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this kind")]
pub struct NotAnId;

/// An identity of 128 bits with a prefix of its own.
macro_rules! id {
    ($name:ident, $prefix:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id for `shard`, made of an instant and 64 random bits.
            pub fn new(now: DateTime<Utc>, shard: Shard, random: u64) -> Self {
                Self(compose(now, shard, random))
            }

            /// Reads the column's value.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The column's value.
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// The shard in which it lives.
            pub fn shard(self) -> Shard {
                let low = self.0.as_u128() & ((1 << SHARD_BITS) - 1);
                Shard(i32::try_from(low).unwrap_or(0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), encode(self.0))
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                decode(text.strip_prefix($prefix).ok_or(NotAnId)?).map(Self)
            }
        }
    };
}

id!(JobId, "job_", "The identity of a job. Text form: `job_` and 26 characters.");
id!(ScheduleId, "sch_", "The identity of a schedule. Text form: `sch_` and 26 characters.");
id!(UserId, "usr_", "The identity of a person. Text form: `usr_` and 26 characters.");
id!(SessionId, "ses_", "The identity of a session. Text form: `ses_` and 26 characters.");
id!(SigningId, "sgn_", "The identity of a signing secret. Text form: `sgn_` and 26 characters.");

impl SessionId {
    /// The 26 characters.
    pub fn characters(self) -> String {
        encode(self.0)
    }

    /// The inverse.
    pub fn from_characters(text: &str) -> Result<Self, NotAnId> {
        decode(text).map(Self)
    }
}

impl JobId {
    /// The smallest id that a job created at `at` or later can have: for `since` and `until`.
    pub fn floor(at: DateTime<Utc>) -> Uuid {
        Uuid::from_u128(u128::from(at.timestamp_millis().max(0).unsigned_abs()) << 80)
    }

    /// When the job was registered, to the millisecond; of an id that nobody made, any instant.
    pub fn made_at(self) -> DateTime<Utc> {
        let millis = i64::try_from(self.0.as_u128() >> 80).unwrap_or(i64::MAX);
        DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

impl RunId {
    /// The shard in which the run, like its job, lives.
    pub fn shard(self) -> Shard {
        self.job.shard()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run_{}_{}", encode(self.job.0), self.fence)
    }
}

impl FromStr for RunId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (digits, fence) =
            text.strip_prefix("run_").and_then(|rest| rest.split_once('_')).ok_or(NotAnId)?;
        let job = JobId(decode(digits)?);
        // One spelling per run: no sign, no leading zero, fences start at 1.
        if !fence.starts_with(|c: char| ('1'..='9').contains(&c)) {
            return Err(NotAnId);
        }
        let fence = fence.parse().or(Err(NotAnId))?;
        Ok(Self { job, fence })
    }
}

/// Time, version, random bits, variant, random bits, shard.
fn compose(now: DateTime<Utc>, shard: Shard, random: u64) -> Uuid {
    let millis = u128::from(now.timestamp_millis().max(0).unsigned_abs());
    let [random_high, random_low] = [u128::from(random >> 48), u128::from(random)];
    let shard = u128::from(shard.0.unsigned_abs()) & ((1 << SHARD_BITS) - 1);
    let value = (millis << 80)                                // 48 bits: the time
        | (0x7 << 76)                                         //  4 bits: version 7
        | ((random_high & 0xfff) << 64)                       // 12 bits: random
        | (0b10 << 62)                                        //  2 bits: variant
        | ((random_low << SHARD_BITS) & ((1 << 62) - 1))      // 50 bits: random
        | shard; //                                              12 bits: the shard
    Uuid::from_u128(value)
}

/// 128 bits as 26 characters, most significant first, so that texts sort as the ids do.
fn encode(uuid: Uuid) -> String {
    let value = uuid.as_u128();
    (0..TEXT_LEN)
        .rev()
        .map(|place| {
            let digit = usize::try_from((value >> (place * 5)) & 31).unwrap_or(0);
            ALPHABET.get(digit).copied().map_or('0', char::from)
        })
        .collect()
}

/// The inverse of [`encode`]; takes only what `encode` writes, so an id has one spelling.
fn decode(text: &str) -> Result<Uuid, NotAnId> {
    if text.len() != TEXT_LEN || !text.starts_with(|c: char| ('0'..='7').contains(&c)) {
        return Err(NotAnId);
    }
    let mut value = 0_u128;
    for byte in text.bytes() {
        let digit = ALPHABET.iter().position(|&known| known == byte).ok_or(NotAnId)?;
        value = (value << 5) | u128::try_from(digit).or(Err(NotAnId))?;
    }
    Ok(Uuid::from_u128(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(millis).unwrap()
    }

    proptest! {
        #[test]
        fn an_id_carries_its_shard_and_survives_its_text(
            millis in 0_i64..253_402_300_799_000, shard in 0_i32..4096, random: u64, fence in 1_i32..,
        ) {
            let job = JobId::new(at(millis), Shard(shard), random);
            prop_assert_eq!(job.shard(), Shard(shard));
            prop_assert_eq!(job.to_string().parse::<JobId>(), Ok(job));
            prop_assert_eq!(job.uuid().get_version_num(), 7);
            let run = RunId { job, fence };
            prop_assert_eq!(run.to_string().parse::<RunId>(), Ok(run));
            prop_assert_eq!(job.made_at(), at(millis));
            prop_assert!(JobId::floor(at(millis)) <= job.uuid());
            prop_assert!(job.uuid() < JobId::floor(at(millis + 1)));
        }

        #[test]
        fn any_text_is_an_id_or_refused(text in ".{0,64}") {
            if let Ok(id) = text.parse::<JobId>() { prop_assert_eq!(id.to_string(), text); }
        }
    }

    #[test]
    fn an_id_has_one_spelling() {
        let job = JobId::new(at(1_764_460_800_000), Shard(60), 7);
        let digits = job.to_string().split_off(4);
        for wrong in [
            digits.clone(),
            format!("job_{}", digits.to_lowercase()),
            format!("job_8{}", digits.split_at(1).1),
            format!("run_{digits}"),
        ] {
            assert_eq!(wrong.parse::<JobId>(), Err(NotAnId), "{wrong}");
        }
        for fence in ["", "0", "01", "+1", "-1", "2147483648", "1 "] {
            assert_eq!(format!("run_{digits}_{fence}").parse::<RunId>(), Err(NotAnId), "{fence}");
        }
    }
}
