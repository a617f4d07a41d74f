//! A gzip bomb in a few lines. The compressed bytes are laid out by hand, so that the tests need
//! no compressor and the project no dependency for it.

use super::play::{Answer, ok};

/// The ten bytes that open a gzip member (RFC 1952): deflate, no name, no time, unknown system.
const MEMBER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// One final deflate block (RFC 1951) with its own codes: "length 258" and "distance 1" are the
/// single bit 0 each, and the literal that precedes them is one zero byte.
const BLOCK: [u8; 13] =
    [0xed, 0xc0, 0x81, 0x00, 0x00, 0x00, 0x00, 0x80, 0xa0, 0xfd, 0xa9, 0x17, 0xa9];

/// So a zero byte of the body says "258 zeros more" four times: 1,032 to 1, deflate's limit.
const COPIES: usize = 1 << 20;

/// The bits that end the block.
const END: u8 = 0x06;

/// CRC-32 and length of the 1 + 258 · 4 · 2²⁰ = 1,082,130,433 zeros, little-endian.
const TRAILER: [u8; 8] = [0x9b, 0xe3, 0xf7, 0x83, 0x01, 0x00, 0x80, 0x40];

/// 200 with `Content-Encoding: gzip` and 1 MiB that inflates to a little over 1 GiB.
pub fn gzip_bomb() -> Answer {
    let mut body = Vec::with_capacity(COPIES + 64);
    body.extend_from_slice(&MEMBER);
    body.extend_from_slice(&BLOCK);
    body.resize(body.len() + COPIES, 0);
    body.push(END);
    body.extend_from_slice(&TRAILER);
    ok().header("content-type", "application/json").header("content-encoding", "gzip").body(body)
}
