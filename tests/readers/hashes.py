"""Hashes that blobs need beside XXH64, and what filters of other software make of a key (FORMAT.md, section 6.6)."""

import codecs
import hashlib
import re
import struct

W32, W64 = 2**32 - 1, 2**64 - 1


def rotl(x, n, bits=64):
    return (x << n | x >> bits - n) & (1 << bits) - 1


def siphash(k0, k1, data):
    """SipHash-2-4"""
    v0, v1, v2, v3 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    tail = len(data) % 8
    words = struct.unpack(f"<{len(data) // 8}Q", data[:len(data) - tail])
    last = (len(data) & 255) << 56 | int.from_bytes(data[len(data) - tail:], "little")
    for word, rounds in [(w, 2) for w in words] + [(last, 2), (None, 4)]:
        if word is None:
            v2 ^= 255
        else:
            v3 ^= word
        for _ in range(rounds):
            v0 = v0 + v1 & W64
            v2 = v2 + v3 & W64
            v1 = rotl(v1, 13) ^ v0
            v3 = rotl(v3, 16) ^ v2
            v0 = rotl(v0, 32) + v3 & W64
            v2 = v2 + v1 & W64
            v3 = rotl(v3, 21) ^ v0
            v1 = rotl(v1, 17) ^ v2
            v2 = rotl(v2, 32)
        v0 ^= word or 0
    return v0 ^ v1 ^ v2 ^ v3


# Section 6.6: hashes of foreign schemes.

def fmix64(h):
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & W64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & W64
    return h ^ h >> 33


def murmur128(x, seed):
    """MurmurHash3_x64_128"""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = seed
    for at in range(0, len(x), 16):
        k1, k2 = struct.unpack("<2Q", x[at:at + 16].ljust(16, b"\0"))
        h1 ^= rotl(k1 * c1 & W64, 31) * c2 & W64
        if at + 16 <= len(x):
            h1 = (rotl(h1, 27) + h2) * 5 + 0x52DCE729 & W64
        h2 ^= rotl(k2 * c2 & W64, 33) * c1 & W64
        if at + 16 <= len(x):
            h2 = (rotl(h2, 31) + h1) * 5 + 0x38495AB5 & W64
    h1, h2 = h1 ^ len(x), h2 ^ len(x)
    h1 = h1 + h2 & W64
    h2 = h2 + h1 & W64
    h1, h2 = fmix64(h1), fmix64(h2)
    h1 = h1 + h2 & W64
    return h1, h2 + h1 & W64


def murmur32(x, seed, spark=False):
    """MurmurHash3_x86_32, or spark32"""
    whole = len(x) // 4 * 4
    blocks = list(struct.unpack(f"<{whole // 4}I", x[:whole]))
    if spark:
        blocks += [b - (b >> 7 << 8) & W32 for b in x[whole:]]
    h = seed
    for block in blocks:
        h = rotl(h ^ rotl(block * 0xCC9E2D51 & W32, 15, 32) * 0x1B873593 & W32, 13, 32) * 5 + 0xE6546B64 & W32
    if not spark:
        h ^= rotl(int.from_bytes(x[whole:], "little") * 0xCC9E2D51 & W32, 15, 32) * 0x1B873593 & W32
    h ^= len(x)
    h = (h ^ h >> 16) * 0x85EBCA6B & W32
    h = (h ^ h >> 13) * 0xC2B2AE35 & W32
    return h ^ h >> 16


def murmur64a(x, seed):
    """MurmurHash64A"""
    m, whole = 0xC6A4A7935BD1E995, len(x) // 8 * 8
    h = seed ^ len(x) * m & W64
    for k in struct.unpack(f"<{whole // 8}Q", x[:whole]):
        k = k * m & W64
        h = (h ^ (k ^ k >> 47) * m & W64) * m & W64
    if x[whole:]:
        h = (h ^ int.from_bytes(x[whole:], "little")) * m & W64
    h = (h ^ h >> 47) * m & W64
    return h ^ h >> 47


def murmur2(x, seed):
    """MurmurHash2 of 32 bits"""
    m, whole = 0x5BD1E995, len(x) // 4 * 4
    h = (seed ^ len(x)) & W32
    for k in struct.unpack(f"<{whole // 4}I", x[:whole]):
        k = k * m & W32
        h = h * m & W32 ^ (k ^ k >> 24) * m & W32
    if x[whole:]:
        h = (h ^ int.from_bytes(x[whole:], "little")) * m & W32
    h = (h ^ h >> 13) * m & W32
    return h ^ h >> 15


def fnv64(numbers, h=0xCBF29CE484222325):
    for n in numbers:
        h = (h ^ n) * 0x100000001B3 & W64
    return h


def fnv1(numbers):
    h = 0xCBF29CE484222325
    for n in numbers:
        h = h * 0x100000001B3 & W64 ^ n
    return h


def mix(h, signed=False):
    """`signed`, for scheme 14: each >> keeps the sign."""
    def right(h, n):
        return (signed_of(h, 32) if signed else h) >> n & W32
    h = h + (h << 13) & W32
    h ^= right(h, 7)
    h = h + (h << 3) & W32
    h ^= right(h, 17)
    return h + (h << 5) & W32


def fnv32(units, start, signed=False):
    h = start
    for u in units:
        for byte in ([u >> 8] if u >> 8 else []) + [u & 255]:
            h = (h ^ byte) * 0x1000193 & W32
    return mix(h, signed)


def signed_of(n, bits):
    n &= (1 << bits) - 1
    return n - (n >> bits - 1 << bits)


def i32(n):
    return signed_of(n, 32)


def i64(n):
    return signed_of(n, 64)


def flip(n):
    return -1 - n if n < 0 else n


def text_of(key):
    """WTF-8, with U+FFFD for each byte that isn't part of it."""
    return key.decode("utf-8", "wtf8")


def wtf8(error):
    found = re.match(rb"\xed([\xa0-\xbf])([\x80-\xbf])", error.object[error.start:error.start + 3])
    if found:
        return chr(0xD000 | (found[1][0] & 63) << 6 | found[2][0] & 63), error.start + 3
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("wtf8", wtf8)


def utf16(text):
    data = text.encode("utf-16-le", "surrogatepass")
    return struct.unpack(f"<{len(data) // 2}H", data)


LONE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


def surrogates(key):
    """Keys 5"""
    if not LONE.search(key):
        return key
    units, points = iter(utf16(text_of(key))), []
    for u in units:
        points.append(0x10000 + (u & 0x3FF) * 0x400 + (next(units, 0) & 0x3FF) if u >> 11 == 27 else u)
    return "".join(map(chr, points)).encode()


def residue(key):
    """Keys 11"""
    n, = struct.unpack("<q", key)
    n = abs(n) % (2**61 - 1) * (-1 if n < 0 else 1)
    return struct.pack("<q", -2 if n == -1 else n)


def same(key):
    return key


KEYS = [  # keys: schemes, length, x
    ((2, 3, 4, 5, 16, 20, 25), None, same),
    ((1, 6, 7, 8, 16, 20, 22, 23), None, same),
    ((2, 3, 4, 5), None, lambda key: LONE.sub(b"?", key)),
    ((2, 3, 9, 10, 11, 12, 13, 14), None, lambda key: text_of(key).encode("utf-16-le", "surrogatepass")),
    ((21, 25), None, lambda key: text_of(key).encode("utf-32-le", "surrogatepass")),
    ((15, 24), None, surrogates),
    ((2, 3, 16), 4, same),
    ((2, 3, 4, 5, 16), 8, same),
    ((17, 18), 8, same),
    ((16,), 4, same),
    ((16,), 8, same),
    ((20,), 8, residue),
    ((17, 18, 19), None, lambda key: hashlib.sha1(key).digest()[7::-1]),
]
SALT = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]
