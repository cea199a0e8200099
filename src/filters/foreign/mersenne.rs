//! The hash of Python's `bloom_filter2`, <https://github.com/remram44/python-bloom-filter>, whose numbers are
//! remainders modulo 2^127 - 1 and 2^257 - 1, and their sums.

use super::hashes::number;

/// A whole number, the low word first.
type Wide = [u64; 5];

/// 2^n - 1, where n is 64 times the first number plus the second.
type Modulus = (usize, u32);
const P: Modulus = (1, 63);
const Q: Modulus = (4, 1);

/// Two hashes of `x`, numbers of `width` bytes, modulo 2^127 - 1: r = 0; then for each number n, with whole numbers of
/// any length, r += (r + n + a) b mod c. For the first hash, a is 2^17 - 1, b is 2^31 - 1 and c is 2^127 - 1. For the
/// second, they are 2^19 - 1, 2^67 - 1 and 2^257 - 1, so r is kept both mod c, to go on with, and mod 2^127 - 1.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn hashes(x: &[u8], width: usize) -> [u64; 4] {
    let (mut first, mut second, mut r) = ([0; 5], [0; 5], [0; 5]);
    for item in x.chunks(width) {
        let n = number(item);
        let mut change = first;
        multiply_add(&mut change, 1, &[n + 0x1_ffff], P);
        multiply_add(&mut change, 0x7fff_ffff, &[], P);
        multiply_add(&mut first, 1, &change, P);

        change = r;
        multiply_add(&mut change, 1, &[n + 0x7_ffff], Q);
        // 2^67 - 1
        multiply_add(&mut change, 193_707_721, &[], Q);
        multiply_add(&mut change, 761_838_257_287, &[], Q);
        multiply_add(&mut r, 1, &change, Q);
        // Modulo 2^127 - 1, 2^128 is 2.
        let [a, b, c, d, e] = change;
        change = [e, 0, 0, 0, 0];
        multiply_add(&mut change, 2, &[c, d], P);
        multiply_add(&mut change, 2, &[a, b], P);
        multiply_add(&mut second, 1, &change, P);
    }
    [first[0], first[1], second[0], second[1]]
}

/// The number after one of two words: the number times the first hash plus the second, modulo 2^127 - 1.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn next(low: u64, high: u64, [a, b, c, d]: [u64; 4]) -> [u64; 2] {
    let mut product = [low, high, 0, 0, 0];
    let mut next = product;
    multiply_add(&mut product, a, &[c, d], P);
    multiply_add(&mut next, b, &[], P);
    multiply_add(&mut next, 1 << 63, &[], P);
    multiply_add(&mut next, 2, &product, P);
    [next[0], next[1]]
}

/// The remainder of a number of two words by `m`, of at most 2^40.
pub(super) fn remainder([low, high]: [u64; 2], m: u64) -> u64 {
    let bytes = [high, low].map(u64::to_be_bytes);
    bytes.as_flattened().iter().fold(0, |rest, &byte| (rest << 8 | u64::from(byte)) % m)
}

/// to · by + more, modulo 2^n - 1. Reducing by that is adding the bits above n to those below. The result's words above
/// n bits are 0, and those of `more` don't count.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn multiply_add(to: &mut Wide, mut by: u64, more: &[u64], (last, bits): Modulus) {
    let (most, mut more, mut over) = ((1 << bits) - 1, more, 0);
    loop {
        let mut carry = u128::from(over);
        // Above its words, a number has zeros.
        for (word, &more) in to[..=last].iter_mut().zip(more.iter().chain(&[0; 5])) {
            carry += u128::from(*word) * u128::from(by) + u128::from(more);
            *word = carry as u64;
            carry >>= 64;
        }
        over = to[last] >> bits | (carry as u64) << (64 - bits);
        to[last] &= most;
        if over == 0 {
            break;
        }
        (by, more) = (1, &[]);
    }
    if to[last] == most && to[..last].iter().all(|&word| word == u64::MAX) {
        *to = [0; 5];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the original gives, by Python's numbers.
    #[test]
    fn hashes_of_the_original() {
        let last = 0x10_ffff_u32.to_le_bytes().repeat(300);
        for (x, width, of_key, second, rest) in [
            (&b""[..], 1, [0x0, 0x0, 0x0, 0x0], [0x0, 0x0], 0),
            (
                b"abc",
                1,
                [0x400000007ffdff9e, 0x400c00000000, 0xfffffffffff8001e, 0x20018007],
                [0x3ffe3fae0180a5b8, 0xf9ef6d0800c80f7],
                93779,
            ),
            (
                &last,
                4,
                [0x25fffbfed0002, 0x0, 0xff7fffffffe70224, 0x63f],
                [0xcf930167ff9b0228, 0x5a3fed5e5],
                138722,
            ),
        ] {
            let found = hashes(x, width);
            assert_eq!(found, of_key);
            assert_eq!(next(found[0], found[1], found), second);
            assert_eq!(remainder(second, 1_000_003), rest);
        }
        // 2^n - 1 is 0.
        for (modulus, mut all) in
            [(P, [u64::MAX, u64::MAX >> 1, 0, 0, 0]), (Q, [u64::MAX, u64::MAX, u64::MAX, u64::MAX, 1])]
        {
            let mut most = all;
            most[0] -= 1;
            multiply_add(&mut most, 1, &[1], modulus);
            multiply_add(&mut all, 1, &[], modulus);
            assert_eq!([all, most], [[0; 5]; 2]);
        }
    }
}
