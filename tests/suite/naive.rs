//! States, places and the checksum as in FORMAT.md, sections 2 and 3, in wide arithmetic: for the naive filters of the
//! other modules.

use twox_hash::XxHash32;

const HALF: u128 = 1 << 32;

fn f(a: u128) -> u128 {
    let y = a * 0x9e37_79b1 % HALF;
    y ^ y / (1 << 15)
}

pub fn round(state: u128) -> u128 {
    let (a, b) = (state / HALF, state % HALF);
    (b ^ f(a)) * HALF + a
}

pub fn mix(x: u64, number: u32) -> u128 {
    (0..3).fold(u128::from(x) ^ u128::from(number) * HALF, |state, _| round(state))
}

/// The state that [`mix`] turns into this one, with the number 0.
pub fn unmix(state: u64) -> u64 {
    let back = |state: u128| state % HALF * HALF + (state / HALF ^ f(state % HALF));
    (0..3).fold(u128::from(state), |state, _| back(state)) as u64
}

pub fn place(state: u128, places: u128) -> u128 {
    if places <= 1 << 28 { state / HALF * places / HALF } else { state * places / (HALF * HALF) }
}

/// The positions of a key in a Bloom filter, in their order.
pub fn positions(digest: u64, bits: u128, hashes: u32) -> Vec<u128> {
    let mut state = mix(digest, 0);
    let next = || {
        let position = place(state, bits);
        state = round(state);
        position
    };
    std::iter::repeat_with(next).take(hashes as usize).collect()
}

/// Makes the checksum at the end of a blob right.
pub fn seal(blob: &mut [u8]) {
    let end = blob.len() - 4;
    let checksum = XxHash32::oneshot(0, &blob[..end]);
    blob[end..].copy_from_slice(&checksum.to_le_bytes());
}
