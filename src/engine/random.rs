//! Randomness, from the operating system.

use super::Error;

/// 64 random bits. Should the system have none, which Linux does not allow after boot, ids are
/// still distinct by time and the statements that insert them refuse a repeat.
pub fn bits() -> u64 {
    getrandom::u64().unwrap_or(0x9e37_79b9_7f4a_7c15)
}

/// Random bytes that nobody else may know. Here there is no way around a system without any.
pub fn bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| Error::Broken(format!("the system has no random bytes: {error}")))?;
    Ok(bytes)
}

/// Uniform in 0..1, in steps of 2⁻³².
pub fn unit() -> f64 {
    let high = u32::try_from(bits() >> 32).unwrap_or_default();
    f64::from(high) / (f64::from(u32::MAX) + 1.0)
}
