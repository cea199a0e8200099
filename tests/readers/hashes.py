"""The hash functions, keys and schemes of FORMAT-FOREIGN.md, and SipHash; for reader.py. It needs the packages xxhash
and mmh3, and was written from that page alone too."""

import hashlib
import struct

import mmh3
import xxhash

M32, M64 = 0xFFFFFFFF, (1 << 64) - 1


def i32(n):
    n &= M32
    return n - (1 << 32) if n >> 31 else n


def i64(n):
    n &= M64
    return n - (1 << 64) if n >> 63 else n


def flip(n):
    return n if n >= 0 else -1 - n


def murmur32(x, seed):
    return mmh3.hash(x, seed & M32, signed=False)


def murmur128(x, seed):
    return mmh3.hash64(x, seed, x64arch=True, signed=False)


def xxh64(x, seed):
    return xxhash.xxh64_intdigest(x, seed)


def siphash(key16, data):
    k0, k1 = struct.unpack("<QQ", key16)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    n = len(data)
    data = data + bytes(7 - n % 8) + bytes([n & 255])
    words = struct.unpack(f"<{len(data) // 8}Q", data)

    def rounds(v0, v1, v2, v3, c):
        for _ in range(c):
            v0 = (v0 + v1) & M64
            v1 = ((v1 << 13) | (v1 >> 51)) & M64
            v1 ^= v0
            v0 = ((v0 << 32) | (v0 >> 32)) & M64
            v2 = (v2 + v3) & M64
            v3 = ((v3 << 16) | (v3 >> 48)) & M64
            v3 ^= v2
            v0 = (v0 + v3) & M64
            v3 = ((v3 << 21) | (v3 >> 43)) & M64
            v3 ^= v0
            v2 = (v2 + v1) & M64
            v1 = ((v1 << 17) | (v1 >> 47)) & M64
            v1 ^= v2
            v2 = ((v2 << 32) | (v2 >> 32)) & M64
        return v0, v1, v2, v3

    for w in words:
        v3 ^= w
        v0, v1, v2, v3 = rounds(v0, v1, v2, v3, 2)
        v0 ^= w
    v2 ^= 0xFF
    v0, v1, v2, v3 = rounds(v0, v1, v2, v3, 4)
    return v0 ^ v1 ^ v2 ^ v3


def murmur64a(x, seed):
    m = 0xC6A4A7935BD1E995
    h = seed ^ (len(x) * m & M64)
    n = len(x) // 8 * 8
    for (k,) in struct.iter_unpack("<Q", x[:n]):
        k = k * m & M64
        k ^= k >> 47
        k = k * m & M64
        h = (h ^ k) * m & M64
    if len(x) % 8:
        h = (h ^ int.from_bytes(x[n:], "little")) * m & M64
    h ^= h >> 47
    h = h * m & M64
    h ^= h >> 47
    return h


def murmur2(x, seed):
    m = 0x5BD1E995
    h = (seed ^ len(x)) & M32
    n = len(x) // 4 * 4
    for (k,) in struct.iter_unpack("<I", x[:n]):
        k = k * m & M32
        k ^= k >> 24
        k = k * m & M32
        h = (h * m & M32) ^ k
    if len(x) % 4:
        h = (h ^ int.from_bytes(x[n:], "little")) * m & M32
    h ^= h >> 13
    h = h * m & M32
    h ^= h >> 15
    return h


def spark32(x, seed):
    def block(h, k):
        k = k * 0xCC9E2D51 & M32
        k = ((k << 15) | (k >> 17)) & M32
        k = k * 0x1B873593 & M32
        h ^= k
        h = ((h << 13) | (h >> 19)) & M32
        return (h * 5 + 0xE6546B64) & M32

    h = seed & M32
    n = len(x) // 4 * 4
    for (k,) in struct.iter_unpack("<I", x[:n]):
        h = block(h, k)
    for b in x[n:]:
        h = block(h, (b - 256 if b > 127 else b) & M32)
    h ^= len(x) & M32
    h ^= h >> 16
    h = h * 0x85EBCA6B & M32
    h ^= h >> 13
    h = h * 0xC2B2AE35 & M32
    h ^= h >> 16
    return h


def fnv64(numbers, start=0xCBF29CE484222325):
    h = start & M64
    for c in numbers:
        h = (h ^ c) * 0x100000001B3 & M64
    return h


def fnv1(x):
    h = 0xCBF29CE484222325
    for c in x:
        h = (h * 0x100000001B3 & M64) ^ c
    return h


def mix_fnv(h, signed=False):
    h = (h + (h << 13)) & M32
    h ^= (i32(h) >> 7 if signed else h >> 7) & M32
    h = (h + (h << 3)) & M32
    h ^= (i32(h) >> 17 if signed else h >> 17) & M32
    return (h + (h << 5)) & M32


def fnv32(units, start, signed=False):
    h = start
    for u in units:
        if u >> 8:
            h = (h ^ (u >> 8)) * 0x01000193 & M32
        h = (h ^ (u & 255)) * 0x01000193 & M32
    return mix_fnv(h, signed)


def fmix64(h):
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & M64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return h ^ h >> 33


def key64(x, seed):
    return fmix64((int.from_bytes(x, "little") + seed) & M64)


SALT = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]

SCHEMES_OF_KEYS = {
    0: {2, 3, 4, 5, 16, 20, 25},
    1: {1, 6, 7, 8, 16, 20, 22, 23},
    2: {2, 3, 4, 5},
    3: {2, 3, 9, 10, 11, 12, 13, 14},
    4: {21, 25},
    5: {15, 24},
    6: {2, 3, 16},
    7: {2, 3, 4, 5, 16},
    8: {17, 18},
    9: {16},
    10: {16},
    11: {20},
    12: {17, 18, 19},
}

# Keys.


def wtf8_text(b):
    """WTF-8 to a Python str (lone surrogates stay); each invalid byte becomes U+FFFD."""
    try:
        return b.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        pass
    out, i = [], 0
    while i < len(b):
        for n in (1, 2, 3, 4):
            try:
                out.append(b[i : i + n].decode("utf-8", "surrogatepass"))
                i += n
                break
            except UnicodeDecodeError:
                pass
        else:
            out.append("\ufffd")
            i += 1
    return "".join(out)


def units(text):
    data = text.encode("utf-16-le", "surrogatepass")
    return struct.unpack(f"<{len(data) // 2}H", data)


def is_surrogate(c):
    return "\ud800" <= c <= "\udfff"


def key_input(keys, key):
    """The bytes of a key that are hashed, or None if it has the wrong length."""
    if keys in (0, 1):
        return key
    if keys == 2:
        t = wtf8_text(key)
        return "".join("?" if is_surrogate(c) else c for c in t).encode() if any(map(is_surrogate, t)) else key
    if keys == 3:
        return wtf8_text(key).encode("utf-16-le", "surrogatepass")
    if keys == 4:
        return wtf8_text(key).encode("utf-32-le", "surrogatepass")
    if keys == 5:
        t = wtf8_text(key)
        if not any(map(is_surrogate, t)):
            return key
        us, out, i = units(t), [], 0
        while i < len(us):
            u = us[i]
            if 0xD800 <= u <= 0xDFFF:
                nxt = us[i + 1] if i + 1 < len(us) else 0
                out.append(chr(0x10000 + (u & 0x3FF) * 0x400 + (nxt & 0x3FF)))
                i += 2
            else:
                out.append(chr(u))
                i += 1
        return "".join(out).encode()
    if keys in (6, 9):
        return key if len(key) == 4 else None
    if keys in (7, 8, 10):
        return key if len(key) == 8 else None
    if keys == 11:
        if len(key) != 8:
            return None
        n = int.from_bytes(key, "little", signed=True)
        r = abs(n) % ((1 << 61) - 1)
        if n < 0:
            r = -r
        if r == -1:
            r = -2
        return r.to_bytes(8, "little", signed=True)
    if keys == 12:
        return hashlib.sha1(key).digest()[:8][::-1]
    raise AssertionError(keys)


# Schemes.


def double_seed(seed, n):
    """s(n)"""
    v = float(i64(seed)) + float(n)
    if v == 0:
        v = 1234567890.0
    return int(v) & M32


def sums(cs, s, t, u):
    r = 0
    for c in cs:
        r += (r + c + s) * t % u
    return r


def positions(scheme, keys, seed, x, m, k, note):
    """Those of `x` in a part of `m` bits, in schemes without fingerprints."""
    R = range(k)
    if scheme == 1:
        h = murmur128(x, 0) + murmur128(x + b"\1", 0)
        return [((h[i & 1] + i * h[2 if i % 4 in (0, 3) else 3]) & M64) % m for i in R]
    if scheme == 2:
        a, b = murmur128(x, 0)
        return [((a + i * b) & (M64 >> 1)) % m for i in R]
    if scheme == 3:
        w = murmur128(x, 0)[0]
        a, b = w & M32, w >> 32
        return [flip(i32(a + (i + 1) * b)) % m for i in R]
    if scheme == 4:
        a = spark32(x, 0)
        b = spark32(x, a)
        return [flip(i32(a + (i + 1) * b)) % m for i in R]
    if scheme == 5:
        a = spark32(x, seed & M32)
        b = spark32(x, a)
        return [flip(i64(i32(a) * 0x7FFFFFFF + (i + 1) * i32(b))) % m for i in R]
    if scheme == 6:
        return [i32(murmur32(x, i)) % m for i in R]
    if scheme == 7:
        a = murmur64a(x, 0xC6A4A7935BD1E995)
        b = murmur64a(x, a)
        return [((a + i * b) & M64) % m for i in R]
    if scheme == 8:
        a = murmur2(x, 0x9747B28C)
        b = murmur2(x, a)
        return [((a + i * b) & M64) % m for i in R]
    if 9 <= scheme <= 14:
        us = struct.unpack(f"<{len(x) // 2}H", x)
        if scheme in (9, 10):
            h = fnv64(us)
            a, b = i32(h >> 32) % m, i32(h) % m
            if scheme == 10:
                b |= 1
            return [((a + i * b + (i**3 - i) // 6) & M64) % m for i in R]
        a = fnv32(us, 0x811C9DC5, scheme == 14)
        if scheme == 11:
            b = mix_fnv(a * 0x01000193 & M32)
            c = mix_fnv(b * 0x01000193 & M32)
            a, b, c = ((v & 0x7FFFFFFF) % m for v in (a, b, c))
            b |= 1
            return [((a + i * b + c * (i * (i - 1) // 2)) & M64) % m for i in R]
        if scheme == 12:
            b = fnv32(us, 0x811C9DC5 ^ 0x5DF43149)
        else:
            b = mix_fnv(a * 0x01000193 & M32, scheme == 14)
        return [(i32(a) + i * i32(b)) % m for i in R]
    if scheme in (15, 24):
        a = xxh64(x, double_seed(seed, 1)) & M32
        b = xxh64(x, double_seed(seed, 2)) & M32
        if scheme == 15:
            return [(a + i * b + (i**3 - i) // 6) % m for i in R]
        s = m // k
        return [8 * -(-s // 8) * i + (a + i * b + (i**3 - i) // 6) % s for i in R]
    if scheme == 16:
        h = xxh64(x, 0)
        base = 256 * (((h >> 32) * (m // 256)) >> 32)
        return [base + 32 * i + (((h & M32) * SALT[i] & M32) >> 27) for i in R]
    if scheme == 19:
        h = key64(x, seed)
        sw = (h >> 32) | (h & M32) << 32
        ys = [(sw + i * h) & M64 for i in R]
        return [64 * (y * (m // 64) >> 64) + y % 64 for y in ys]
    if scheme == 20:
        out = []
        for i in R:
            a, b = murmur128(x, struct.unpack_from("<I", note, 4 * i)[0])
            out.append((a ^ b) % m)
        return out
    if scheme == 21:
        cps = struct.unpack(f"<{len(x) // 4}I", x)
        return [fnv64(cps, 0xCBF29CE484222325 + 31 * i) % m for i in R]
    if scheme == 22:
        a, b = murmur128(x, 0)
        s = a + (b << 64)
        out = []
        for i in R:
            s = (s * 47026247687942121848144207491837418733 + 1) % (1 << 128)
            out.append(((s >> 32) & M64) % m)
        return out
    if scheme == 23:
        q = (1 << 64) - 59
        h = fnv1(x) % q
        out = []
        for i in R:
            h = (h * ((1 << 64) - 1469) & M64) % q
            out.append(h % m)
        return out
    if scheme == 25:
        cs = struct.unpack(f"<{len(x) // 4}I", x) if keys == 4 else x
        P = (1 << 127) - 1
        a = sums(cs, 2**17 - 1, 2**31 - 1, P)
        b = sums(cs, 2**19 - 1, 2**67 - 1, 2**257 - 1)
        y, out = a, []
        for i in R:
            y = (y * a + b) % P
            out.append(y % m)
        return out
    raise AssertionError(scheme)


def in_part(scheme, keys, seed, x, m, k, note, data):
    if scheme in (17, 18):
        h = key64(x, seed)
        w = k // 8
        if scheme == 17:
            turned = [(h << 21 * j | h >> 64 - 21 * j) & M64 if j else h for j in range(3)]
            ps = [j * m + ((turned[j] & M32) * m >> 32) for j in range(3)]
        else:
            L = (len(data) // w - m) // 2
            p0 = h * m >> 64
            ps = [p0, (p0 + L) ^ ((h >> 18) % L), (p0 + 2 * L) ^ (h % L)]
        f = 0
        for p in ps:
            f ^= int.from_bytes(data[p * w : p * w + w], "little")
        return f == (h ^ h >> 32) & ((1 << k) - 1)
    for p in positions(scheme, keys, seed, x, m, k, note):
        if p >> 3 >= len(data) or not data[p >> 3] >> (p & 7) & 1:
            return False
    return True
