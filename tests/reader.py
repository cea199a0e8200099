#!/usr/bin/env python3
"""A reader for the blobs of FORMAT.md, all kinds.

It was written from FORMAT.md alone, by somebody who had not seen the implementation, and is kept as a proof that the
page is complete. Keyed filters were added later in the same way. Kind 6 came later as well: its part here follows the page
too, but has the same author as the implementation. The names are the page's, and so are the numbers of the sections.

    python3 tests/reader.py             checks the golden files (section 11)
    python3 tests/reader.py --every     damages every byte of them

It needs Python 3.10 and the package xxhash.
"""

import struct
import sys
from functools import cache
from hashlib import sha1
from math import ceil, floor, log, sqrt
from pathlib import Path

from xxhash import xxh64_intdigest as xxh64

MASK = 2**64 - 1
M = 0xF1357AEA2E62A9C5
G = 0x9E3779B97F4A7C15


class Error(Exception):
    """A fault of section 8."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def must(condition):
    if not condition:
        raise Error("invalid_parameter")


class Fields:
    """The fields of a blob, one after the other."""

    def __init__(self, blob):
        self.blob = blob
        self.offset = 0

    def take(self, n):
        end = self.offset + n
        if end > len(self.blob):
            raise Error("truncated")
        start, self.offset = self.offset, end
        return self.blob[start:end]

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return little(self.take(2))

    def u32(self):
        return int.from_bytes(self.take(4), "little")

    def u64(self):
        return int.from_bytes(self.take(8), "little")

    def f64(self):
        return struct.unpack("<d", self.take(8))[0]


LN2 = log(2)


def high(x, m):
    return (x * m) >> 64


def fold(x):
    return x ^ (x >> 32)


def bit(array, i):
    return array[i // 8] >> (i % 8) & 1


def bits(array, start, n):
    """The n bits from start on, the first one lowest."""
    end = start + n
    whole = int.from_bytes(array[start // 8 : (end + 7) // 8], "little")
    return (whole >> (start % 8)) & ((1 << n) - 1)


def must_end_in_zeros(array, n):
    """The bits after the first n must be 0."""
    must(n % 8 == 0 or array[n // 8] >> (n % 8) == 0)


def positions(d, m, k):
    x = d
    for _ in range(k):
        x = x * M & MASK
        yield high(x, m)


def sip_rounds(n, a, b, c, d):
    for _ in range(n):
        a, c = (a + b) & MASK, (c + d) & MASK
        b, d = rotl(b, 13, 64) ^ a, rotl(d, 16, 64) ^ c
        a = (rotl(a, 32, 64) + d) & MASK
        c = (c + b) & MASK
        b, c, d = rotl(b, 17, 64) ^ c, rotl(c, 32, 64), rotl(d, 21, 64) ^ a
    return a, b, c, d


def siphash(secret, x):
    """SipHash-2-4 with an output of 64 bits."""
    k0, k1 = numbers(secret, 8)
    a, b, c, d = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    for word in numbers(x + bytes(7 - len(x) % 8) + bytes([len(x) % 256]), 8):
        a, b, c, d = sip_rounds(2, a, b, c, d ^ word)
        a ^= word
    a, b, c, d = sip_rounds(4, a, b, c ^ 0xFF, d)
    return a ^ b ^ c ^ d


@cache
def derived(secret, seed):
    """The check value, k0 and k1; section 3."""
    return tuple(siphash(secret, struct.pack("<QB", seed, i)) for i in range(3))


def digest(key, seed, secret=None):
    """Section 3; with a secret that of a keyed filter."""
    if secret is None:
        return xxh64(key, seed)
    _, k0, k1 = derived(secret, seed)
    return siphash(struct.pack("<QQ", k0, k1), key)


def is_address(host):
    """Section 12: in brackets, or four runs of one to three digits."""
    runs = host.split(b".")
    digits = all(1 <= len(run) <= 3 and all(c in b"0123456789" for c in run) for run in runs)
    return host.startswith(b"[") or len(runs) == 4 and digits


def slot(key):
    """Section 3."""
    host, slash, rest = key.partition(b"/")
    rest = slash + rest
    dots = host.count(b".")
    h = dots - 1 if 1 <= dots <= 4 and not is_address(host) else 4
    slashes = rest.count(b"/")
    p = 5 if b"?" in rest else slashes - 1 if rest.endswith(b"/") and slashes <= 4 else 4
    return 6 * h + p


def read_map(fields, is_empty):
    """A map of slots."""
    bits = fields.u32()
    must(bits >> 30 == 0)
    must((bits == 0) == is_empty)
    return bits


class Filter:
    """What the kinds have in common.

    A kind has `read`, which takes its parameters and tells the size of the payload, `check`, the rules for the payload,
    and `has_digest`, which asks it alone, without the layers upon it.
    """

    flags = 0
    secret = None
    profile = 0
    options = 0
    seed = 0
    name = None
    created = None
    count = None  # of different keys, where the blob tells it
    layers = ()
    payload = b""

    def has(self, key):
        d = digest(key, self.seed, self.secret)
        if self.flags & 64:
            d = d % 2**59 | slot(key) << 59
        for layer in reversed(self.layers):
            answer = layer.ask(d)
            if answer is not None:
                return answer
        return self.has_digest(d)

    def check(self):
        pass


class Bloom(Filter):
    """Section 6.1."""

    def read(self, fields):
        self.m = fields.u32()
        must(self.m >= 1)
        self.k = fields.u8()
        must(1 <= self.k <= 64)
        return (self.m + 7) // 8

    def check(self):
        must_end_in_zeros(self.payload, self.m)

    def has_digest(self, d):
        return all(bit(self.payload, i) for i in positions(d, self.m, self.k))


class Counting(Filter):
    """Section 6.2."""

    def read(self, fields):
        self.m = fields.u32()
        must(self.m >= 1)
        self.k = fields.u8()
        must(1 <= self.k <= 64)
        self.width = fields.u8()
        must(self.width in (4, 8))
        return (self.m * self.width + 7) // 8

    def check(self):
        must_end_in_zeros(self.payload, self.m * self.width)

    def has_digest(self, d):
        return all(bits(self.payload, i * self.width, self.width) for i in positions(d, self.m, self.k))


class Scalable(Filter):
    """Section 6.3."""

    def read(self, fields):
        c = fields.u32()
        must(c >= 1)
        s = fields.u8()
        must(1 <= s <= 16)
        p = fields.f64()
        must(0 < p < 1 and p >= 100 * c / 2**64)
        r = fields.f64()
        must(0 < r < 1)
        keys = fields.u64()

        self.slices = []
        capacity, power, offset, room = c, 1.0, 0, 0
        while not self.slices or room < keys:
            must(len(self.slices) < 255)
            q = 0.9 * p * (1 - r) * power
            must(q >= 100 * capacity / 2**64)
            m, k = self.size(capacity, q)
            must(m < 2**32)
            end = offset + (m + 7) // 8
            self.slices.append((m, k, offset, end))
            offset = end
            room += capacity
            capacity *= s
            power *= r
        return offset

    @staticmethod
    def size(n, q):
        h = floor(-log(q) / LN2 + 0.5)
        if h <= 1:
            b = -1 / log(1 - q)
        elif h == 2:
            b = -2 / log(1 - sqrt(q))
        else:
            b = -log(q) / (LN2 * LN2)
        m = ceil(n * (ceil(1024 * b) / 1024))
        return m, max(1, floor(m / n * LN2 + 0.5))

    def check(self):
        for m, _, start, end in self.slices:
            must_end_in_zeros(self.payload[start:end], m)

    def has_digest(self, d):
        return any(
            all(bit(self.payload, 8 * start + i) for i in positions(d, m, k)) for m, k, start, _ in self.slices
        )


class Cuckoo(Filter):
    """Section 6.4."""

    def read(self, fields):
        self.n = fields.u32()
        must(self.n >= 2 and self.n % 2 == 0)
        self.f = fields.u8()
        must(1 <= self.f <= 32)
        size = self.n * self.f // 2
        must(size < 2**31)
        return size

    def has_digest(self, d):
        swapped = (d << 32 | d >> 32) & MASK
        p = 1 + high(swapped, 2**self.f - 1)
        mix = fold(p * G & MASK) * G & MASK
        b1 = high(d, self.n)
        b2 = ((high(mix, self.n) | 1) - b1) % self.n
        return any(
            bits(self.payload, (4 * b + j) * self.f, self.f) == p for b in (b1, b2) for j in range(4)
        )


class Ribbon(Filter):
    """Section 6.5."""

    # of all slots, and what else the highest bits of a digest may be
    map = 2**32 - 1

    def read(self, fields):
        keys = fields.u32()
        p = fields.f64()
        must(2**-32 <= p < 1)
        attempt = fields.u8()
        count = fields.u8()
        must(count <= 4)
        must((keys == 0) == (count == 0))
        self.count = keys
        size = self.read_rows(fields, p, attempt, count)
        if self.flags & 64:
            self.map = read_map(fields, keys == 0)
        return size

    def read_rows(self, fields, p, attempt, count):
        c = 0
        while p <= 2.0 ** -(c + 1):
            c += 1
        v = 2 - 2 * p * 2.0**c

        self.stages = []
        size = 0
        for i in range(count):
            rows = fields.u32()
            must(rows >= 8 and rows % 8 == 0)
            last = i == count - 1
            key = (i * 256 + (attempt if last else 0)) * G & MASK
            stage = Stage(rows, c, v, key, last, size)
            self.stages.append(stage)
            size = stage.end
        return size

    def check(self):
        for stage in self.stages:
            stage.check(self.payload)

    def has_digest(self, d):
        if not self.map >> (d >> 59) & 1:
            return False
        state = d
        for stage in self.stages:
            state = stage.next_state(state)
            if stage.decides(self.payload, state):
                return stage.has_state(self.payload, state)
        return False


class Stage:
    THRESHOLDS = (0, 15, 44, 128)

    def __init__(self, rows, c, v, key, last, offset):
        self.rows = rows
        self.c = c
        self.key = key
        self.starts = max(1, rows - 63)
        self.v = ceil(v * self.starts)
        blocks = (rows + 63) // 64
        self.wide = 0 if self.v == 0 else min((self.v + 63) // 64 + 1, blocks)

        self.offset = offset
        self.buckets = 0 if last else (self.starts + 127) // 128
        self.planes = offset + (2 * self.buckets + 7) // 8
        self.blocks = self.planes + c // 8 * rows
        self.end = self.blocks + c % 8 * (rows // 8) + min(64 * self.wide, rows) // 8

    def check(self, payload):
        must_end_in_zeros(payload[self.offset : self.planes], 2 * self.buckets)

    def next_state(self, state):
        return fold((state ^ self.key) * M & MASK)

    def start(self, state):
        return high(state, self.starts)

    def decides(self, payload, state):
        if self.buckets == 0:
            return True
        bucket, row = divmod(self.start(state), 128)
        return row >= self.THRESHOLDS[bits(payload, 8 * self.offset + 2 * bucket, 2)]

    def has_state(self, payload, state):
        start = self.start(state)
        coefficients = fold(state * G & MASK) | 1
        if self.rows < 64:
            coefficients &= (1 << self.rows) - 1
        fingerprint = fold(state) & 0xFFFFFFFF
        columns = self.c + 1 if start < self.v else self.c

        in_planes = self.c // 8 * 8
        for first in range(0, in_planes, 8):
            plane = self.planes + first // 8 * self.rows
            total = 0
            for j in range(coefficients.bit_length()):
                if coefficients >> j & 1:
                    total ^= payload[plane + start + j]
            if total != fingerprint >> first & 0xFF:
                return False

        block, shift = divmod(start, 64)
        for i in range(in_planes, columns):
            column = self.block_rows(payload, block, i - in_planes)
            if shift:
                column |= self.block_rows(payload, block + 1, i - in_planes) << 64
            if (column >> shift & coefficients).bit_count() % 2 != fingerprint >> i & 1:
                return False
        return True

    def block_rows(self, payload, block, column):
        """The rows of a column of a block, the first one lowest."""
        width = min(64, self.rows - 64 * block) // 8
        start = self.blocks + 8 * (self.c % 8 * block + min(block, self.wide)) + column * width
        return int.from_bytes(payload[start : start + width], "little")


class Level(Ribbon):
    """A level of a layer, section 7: a ribbon filter with digests of its own."""

    def read(self, fields, p, salt):
        self.salt = salt
        must(fields.u32() >= 1)
        attempt = fields.u8()
        count = fields.u8()
        must(1 <= count <= 4)
        return self.read_rows(fields, p, attempt, count)

    def has_digest(self, d):
        x = d ^ (self.salt * G & MASK)
        y = fold(x) * M & MASK
        z = fold(y) * G & MASK
        return super().has_digest(fold(z))


class Layer:
    """Section 7."""

    INCLUDE, EXCLUDE = 1, 2

    def __init__(self, fields, flags):
        self.type = fields.u8()
        must(self.type in (self.INCLUDE, self.EXCLUDE))
        salt = fields.u32()
        p = fields.f64()
        must(2**-32 <= p < 1)
        self.map = read_map(fields, False) if flags & 64 else 2**32 - 1
        count = fields.u8()
        must(count == 1 if self.type == self.INCLUDE else count in (1, 2))
        self.levels = []
        self.sizes = []
        for i in range(count):
            level = Level()
            self.sizes.append(level.read(fields, p if i == 0 else 1 / 2, (salt + i) % 2**32))
            self.levels.append(level)

    def ask(self, d):
        """Whether the key is maybe present; None if the next layer below is asked."""
        if not self.map >> (d >> 59) & 1:
            return None
        first, *second = self.levels
        if not first.has_digest(d) or any(level.has_digest(d) for level in second):
            return None
        return self.type == self.INCLUDE


def little(b):
    return int.from_bytes(b, "little")


def signed(n, bits):
    n &= 2**bits - 1
    return n - 2**bits if n >> (bits - 1) else n


def rotl(n, by, bits):
    n &= 2**bits - 1
    return (n << by | n >> (bits - by)) & (2**bits - 1)


def fmix64(h):
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & MASK
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return h ^ h >> 33


def murmur128(x, seed):
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    a = b = seed
    whole = len(x) // 16 * 16

    def k1(n):
        return rotl(n * c1, 31, 64) * c2 & MASK

    def k2(n):
        return rotl(n * c2, 33, 64) * c1 & MASK

    for i in range(0, whole, 16):
        a = ((rotl(a ^ k1(little(x[i : i + 8])), 27, 64) + b) * 5 + 0x52DCE729) & MASK
        b = ((rotl(b ^ k2(little(x[i + 8 : i + 16])), 31, 64) + a) * 5 + 0x38495AB5) & MASK
    a ^= k1(little(x[whole : whole + 8])) ^ len(x)
    b ^= k2(little(x[whole + 8 :])) ^ len(x)
    a = (a + b) & MASK
    b = (b + a) & MASK
    a, b = fmix64(a), fmix64(b)
    a = (a + b) & MASK
    return a, (b + a) & MASK


def murmur32(x, seed, spark=False):
    def k(n):
        return rotl(n * 0xCC9E2D51, 15, 32) * 0x1B873593 & 0xFFFFFFFF

    whole = len(x) // 4 * 4
    blocks = [little(x[i : i + 4]) for i in range(0, whole, 4)]
    rest = x[whole:]
    if spark:
        blocks += [signed(byte, 8) & 0xFFFFFFFF for byte in rest]
        rest = b""
    h = seed
    for block in blocks:
        h = (rotl(h ^ k(block), 13, 32) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= k(little(rest)) ^ len(x)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def murmur2(x, seed, bits):
    """MurmurHash64A, or MurmurHash2 of 32 bits."""
    mask = 2**bits - 1
    m, r = (0xC6A4A7935BD1E995, 47) if bits == 64 else (0x5BD1E995, 24)
    n = bits // 8
    h = (seed ^ (len(x) * m if bits == 64 else len(x))) & mask
    for i in range(0, len(x) // n * n, n):
        k = little(x[i : i + n]) * m & mask
        k = (k ^ k >> r) * m & mask
        h = (h ^ k) * m & mask if bits == 64 else (h * m & mask) ^ k
    if len(x) % n:
        h = (h ^ little(x[len(x) // n * n :])) * m & mask
    last = (47, 47) if bits == 64 else (13, 15)
    h = (h ^ h >> last[0]) * m & mask
    return h ^ h >> last[1]


def fnv64(numbers, h=0xCBF29CE484222325):
    for number in numbers:
        h = (h ^ number) * 0x100000001B3 & MASK
    return h


def mix32(h, keeps_sign=False):
    def right(h, by):
        return (signed(h, 32) if keeps_sign else h) >> by & 0xFFFFFFFF

    h = (h + (h << 13)) & 0xFFFFFFFF
    h ^= right(h, 7)
    h = (h + (h << 3)) & 0xFFFFFFFF
    h ^= right(h, 17)
    return (h + (h << 5)) & 0xFFFFFFFF


def fnv32(x, h, keeps_sign=False):
    for i in range(0, len(x), 2):
        for byte in ([x[i + 1]] if x[i + 1] else []) + [x[i]]:
            h = (h ^ byte) * 0x1000193 & 0xFFFFFFFF
    return mix32(h, keeps_sign)


def flip(n):
    return n if n >= 0 else -1 - n


def numbers(x, n):
    return [little(x[i : i + n]) for i in range(0, len(x), n)]


SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
LCG = 47026247687942121848144207491837418733
# keys: the schemes that have them
KEYS = {
    0: {2, 3, 4, 5, 16, 20},
    1: {1, 6, 7, 8, 16, 20, 22},
    2: {2, 3, 4, 5},
    3: {2, 3, 9, 10, 11, 12, 13, 14},
    4: {21},
    5: {15},
    6: {2, 3, 16},
    7: {2, 3, 4, 5, 16},
    8: {17, 18},
    9: {16},
    10: {16},
    11: {20},
    12: {17, 18, 19},
}
WIDTH = {6: 4, 7: 8, 8: 8, 9: 4, 10: 8, 11: 8}


class Foreign(Filter):
    """Section 6.6."""

    def read(self, fields):
        self.scheme, self.keys = fields.u8(), fields.u8()
        if self.scheme not in KEYS.get(self.keys, ()):
            raise Error("unsupported_kind")
        layout, count, length = fields.u8(), fields.u8(), little(fields.take(2))
        self.parts = [(fields.u64(), fields.u32(), little(fields.take(2))) for _ in range(count)]
        self.note = fields.take(length)
        must(layout < (8 if self.scheme == 1 else 1))
        must(count == 1 or count and self.scheme in (7, 8))
        must(self.seed == 0 or self.scheme in (5, 15, 17, 18, 19))
        must(self.profile == 0 or self.keys not in WIDTH)
        must(not self.flags & (16 | 32))
        for m, b, k in self.parts:
            must(1 <= m <= 2**40 and 1 <= k <= 1024)
            if self.scheme in (2, 3, 4, 5):
                must(m == 8 * b and b % 8 == 0 and (k <= 255 or self.scheme > 3))
            if self.scheme in (16, 19):
                must(m == 8 * b and k == 8 and b % (32 if self.scheme == 16 else 8) == 0)
            if self.scheme in (17, 18):
                must(k in (8, 16, 32) and 8 * b % k == 0)
                n = 8 * b // k
                if self.scheme == 17:
                    must(n == 3 * m)
                else:
                    segment = (n - m) // 2
                    must(segment > 0 and n == m + 2 * segment and segment & (segment - 1) == 0 and m % segment == 0)
        must(sum(b for _, b, _ in self.parts) < 2**32)
        if self.scheme == 1:
            bits = little(self.note) if self.note else self.parts[0][0]
            must(length in (0, 8) and (length == 0 or bits != self.parts[0][0]))
            must(self.parts[0][1] == 8 * -(-bits // 64))
        else:
            must(length == {7: 8 + 33 * count, 8: 8 + 33 * count, 20: 4 * self.parts[0][2]}.get(self.scheme, 0))
        return sum(b for _, b, _ in self.parts)

    def has(self, key):
        x = self.hashed(key)
        if x is None:
            return False
        at = 0
        for part in self.parts:
            array = self.payload[at : at + part[1]]
            at += part[1]
            if self.in_part(part, array, x):
                return True
        return False

    def hashed(self, key):
        if self.keys in WIDTH:
            if len(key) != WIDTH[self.keys]:
                return None
            if self.keys == 11:
                n = signed(little(key), 64)
                n = -(-n % (2**61 - 1)) if n < 0 else n % (2**61 - 1)
                return struct.pack("<q", -2 if n == -1 else n)
            return key
        if self.keys == 12:
            return sha1(key).digest()[7::-1]
        if self.keys < 2:
            return key
        text = key.decode("utf-8", "surrogatepass")
        if self.keys == 2:
            return "".join("?" if "\ud800" <= c <= "\udfff" else c for c in text).encode()
        if self.keys == 3:
            return text.encode("utf-16-le", "surrogatepass")
        if self.keys == 4:
            return text.encode("utf-32-le", "surrogatepass")
        units = numbers(text.encode("utf-16-le", "surrogatepass"), 2) + [0]
        points = []
        while len(units) > 1:
            u = units.pop(0)
            if 0xD800 <= u <= 0xDFFF:
                after = units.pop(0) if len(units) > 1 else 0
                u = 0x10000 + (u & 0x3FF) * 0x400 + (after & 0x3FF)
            points.append(chr(u))
        return "".join(points).encode()

    def in_part(self, part, array, x):
        m, _, k = part
        if self.scheme in (17, 18):
            n = k // 8
            h = self.key64(x)
            if self.scheme == 17:
                places = [j * m + (rotl(h, 21 * j, 64) % 2**32 * m >> 32) for j in range(3)]
            else:
                segment = (len(array) // n - m) // 2
                p = high(h, m)
                places = [p, (p + segment) ^ (h >> 18) % segment, (p + 2 * segment) ^ h % segment]
            found = 0
            for p in places:
                found ^= little(array[p * n : p * n + n])
            return found == (h ^ h >> 32) % 2**k

        def bit(p):
            return p // 8 < len(array) and array[p // 8] >> p % 8 & 1

        return all(bit(p) for p in self.positions(x, m, k))

    def key64(self, x):
        return fmix64((little(x) + self.seed) & MASK)

    def positions(self, x, m, k):
        s = self.scheme
        each = range(k)
        if s == 1:
            h = murmur128(x, 0) + murmur128(x + b"\1", 0)
            return [((h[i % 2] + i * h[2 if i % 4 in (0, 3) else 3]) & MASK) % m for i in each]
        if s == 2:
            a, b = murmur128(x, 0)
            return [((a + i * b) & (2**63 - 1)) % m for i in each]
        if s == 3:
            a = murmur128(x, 0)[0]
            return [flip(signed(a + (i + 1) * (a >> 32), 32)) % m for i in each]
        if s in (4, 5):
            a = murmur32(x, self.seed % 2**32, True)
            b = murmur32(x, a, True)
            if s == 4:
                return [flip(signed(a + (i + 1) * b, 32)) % m for i in each]
            a, b = signed(a, 32), signed(b, 32)
            return [flip(signed(a * 0x7FFFFFFF + (i + 1) * b, 64)) % m for i in each]
        if s == 6:
            return [signed(murmur32(x, i), 32) % m for i in each]
        if s in (7, 8):
            bits = 64 if s == 7 else 32
            a = murmur2(x, 0xC6A4A7935BD1E995 if s == 7 else 0x9747B28C, bits)
            b = murmur2(x, a, bits)
            return [((a + i * b) & MASK) % m for i in each]
        if s in (9, 10):
            h = fnv64(numbers(x, 2))
            a, b = signed(h >> 32, 32) % m, signed(h, 32) % m | s - 9
            return [(a + i * b + (i**3 - i) // 6) % m for i in each]
        if s == 11:
            a = fnv32(x, 0x811C9DC5)
            b = mix32(a * 0x1000193 & 0xFFFFFFFF)
            c = mix32(b * 0x1000193 & 0xFFFFFFFF)
            a, b, c = ((h & 0x7FFFFFFF) % m for h in (a, b, c))
            b |= 1
            return [(a + i * b + c * (i * (i - 1) // 2)) % m for i in each]
        if s in (12, 13, 14):
            a = fnv32(x, 0x811C9DC5, s == 14)
            b = fnv32(x, 0x811C9DC5 ^ 0x5DF43149) if s == 12 else mix32(a * 0x1000193 & 0xFFFFFFFF, s == 14)
            return [(signed(a, 32) + i * signed(b, 32)) % m for i in each]
        if s == 15:
            seeds = [int(float(signed(self.seed, 64)) + n) or 0x1234567890 for n in (1, 2)]
            a, b = (xxh64(x, n % 2**32) % 2**32 for n in seeds)
            return [(a + i * b + (i**3 - i) // 6) % m for i in each]
        if s == 16:
            h = xxh64(x, 0)
            block = (h >> 32) * (m // 256) >> 32
            return [256 * block + 32 * i + ((h * SALT[i] & 0xFFFFFFFF) >> 27) for i in each]
        if s == 19:
            h = self.key64(x)
            states = [(rotl(h, 32, 64) + i * h) & MASK for i in each]
            return [64 * high(y, m // 64) + y % 64 for y in states]
        if s == 20:
            pairs = [murmur128(x, seed) for seed in numbers(self.note, 4)]
            return [(a ^ b) % m for a, b in pairs]
        if s == 21:
            return [fnv64(numbers(x, 4), (0xCBF29CE484222325 + 31 * i) & MASK) % m for i in each]
        a, b = murmur128(x, 0)
        state, places = a + 2**64 * b, []
        for _ in each:
            state = (state * LCG + 1) % 2**128
            places.append((state >> 32) % 2**64 % m)
        return places


class Delta(Filter):
    """Section 6.7. No filter, but read like one."""

    def read(self, fields):
        must(self.flags & 16)
        self.parent = fields.u64()
        return 0


KINDS = {1: Bloom, 2: Counting, 3: Scalable, 4: Cuckoo, 5: Ribbon, 6: Foreign, 7: Delta}
MAGIC = bytes.fromhex("B5424C4D")


def decode(blob, secret=None):
    """The filter in a blob; an Error for the first fault in the order of section 8. A secret is 16 bytes."""
    fields = Fields(blob)
    if blob[:4] != MAGIC[: len(blob)]:
        raise Error("not_a_filter")
    fields.take(4)
    version = fields.u8()
    if version != 1:
        raise Error("unsupported_version")
    kind = fields.u8()
    if kind not in KINDS:
        raise Error("unsupported_kind")
    result = KINDS[kind]()
    result.secret = secret

    result.profile = fields.u8()
    must(result.profile <= 2)
    flags = fields.u16()
    must(flags <= 127)
    result.flags = flags
    result.options = flags & (4 | 8)
    must(result.options == 0 or result.profile == 2)
    must(not flags & 64 or result.profile == 1 and kind in (5, 7))
    result.seed = fields.u64()
    check = fields.u64() if flags & 32 else None
    if flags & 32 and secret is None:
        raise Error("secret_required")
    if secret is not None and check != derived(secret, result.seed)[0]:
        raise Error("wrong_secret")
    size = result.read(fields)
    result.metadata = fields.offset
    if flags & 1:
        try:
            result.name = fields.take(fields.u8()).decode("utf-8")
        except UnicodeDecodeError:
            raise Error("invalid_parameter") from None
    if flags & 2:
        result.created = fields.u64()
    result.table = fields.offset
    if flags & 16:
        count = fields.u8()
        must(count >= 1 or kind == 7)
        keys = fields.u32()  # of the stack
        must(count >= 1 or keys == 0)
        result.count = keys
        result.layers = [Layer(fields, flags) for _ in range(count)]
    result.start = fields.offset

    size_of_layers = sum(sum(layer.sizes) for layer in result.layers)
    if len(blob) < fields.offset + size + size_of_layers + 8:
        raise Error("truncated")
    result.payload = fields.take(size)
    for layer in result.layers:
        for level, n in zip(layer.levels, layer.sizes):
            level.payload = fields.take(n)
    end = fields.offset
    if fields.u64() != xxh64(blob[:end], 0):
        raise Error("checksum_mismatch")
    if fields.offset < len(blob):
        raise Error("trailing_bytes")
    result.check()
    for layer in result.layers:
        for level in layer.levels:
            level.check()
    return result


def apply(blob, delta, secret=None):
    """The child's blob that a delta makes of the parent's; section 6.7.

    `decode` has seen to it that both are keyed or neither is, and for the same seed the same check value.
    """
    parent, more = decode(blob, secret), decode(delta, secret)
    if not isinstance(more, Delta) or isinstance(parent, Delta):
        raise Error("wrong_kind")
    if more.parent != int.from_bytes(blob[-8:], "little"):
        raise Error("wrong_base")
    if any(getattr(parent, name) != getattr(more, name) for name in ("profile", "options", "seed")):
        raise Error("incompatible")
    if (parent.flags ^ more.flags) & 64:
        raise Error("incompatible")
    layers = len(parent.layers) + len(more.layers)
    must(layers <= 255)
    if more.layers and isinstance(parent, Foreign):
        raise Error("wrong_kind")
    flags = parent.flags & (4 | 8 | 32 | 64) | more.flags & 3 | (16 if layers else 0)
    body = blob[:7] + struct.pack("<H", flags) + blob[9 : parent.metadata] + delta[more.metadata : more.table]
    if layers:
        table = blob[parent.table + 5 : parent.start] + delta[more.table + 5 : more.start]
        newest, at = (delta, more.table) if more.layers else (blob, parent.table)
        body += bytes([layers]) + newest[at + 1 : at + 5] + table
    body += blob[parent.start : -8] + delta[more.start : -8]
    return sealed(body)


GOLDEN = Path(__file__).resolve().parent / "golden"
COUNTED = [0, *range(100, 1000)]
# of the files with layers: the members after the two updates, those removed, and those that must be absent anyhow
UPDATED = [*range(10), *range(50, 1000), *range(1010, 1050)]
REMOVED = [*range(10, 50), *range(1000, 1010)]
STRANGERS = range(1500, 3000)
MADE = 1700000000000
# of the files whose names begin with `keyed`
SECRET = bytes(range(16))
OTHER = bytes(range(1, 17))
# of the files with slots: those of the first, of the one in two groups, and of the child
HOSTS = [i for i in range(9000) if i % 30 == 0 or i % 60 == 6]
MIXED = [i for i in range(60000) if i % 30 == 0 or i < 300]
SHAPES = [*HOSTS[20:], *range(9010, 9300, 30)]
GROUPS = ("slots-two.bloom", "keyed-slots.bloom")
# file: its kind, seed, profile, options, name, creation time, members, those asked for the list,
# and those that must be absent
TABLE = {
    "bloom.bloom": (Bloom, 42, 0, 0, "golden", MADE, range(1000), range(1000, 3000), ()),
    "counting4.bloom": (Counting, 42, 0, 0, None, None, COUNTED, range(1000, 3000), ()),
    "counting8.bloom": (Counting, 42, 0, 0, None, None, COUNTED, range(1000, 3000), ()),
    "scalable.bloom": (Scalable, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "scalable-high.bloom": (Scalable, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "scalable-one.bloom": (Scalable, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "scalable-from-1.bloom": (Scalable, 42, 0, 0, None, None, range(100), range(1000, 3000), ()),
    "scalable-from-2.bloom": (Scalable, 42, 0, 0, None, None, range(100), range(1000, 3000), ()),
    "scalable-from-3.bloom": (Scalable, 42, 0, 0, None, None, range(100), range(1000, 3000), ()),
    "scalable-from-4.bloom": (Scalable, 42, 0, 0, None, None, range(100), range(1000, 3000), ()),
    "cuckoo.bloom": (Cuckoo, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "ribbon.bloom": (Ribbon, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "ribbon-small.bloom": (Ribbon, 42, 0, 0, None, None, range(5), range(1000, 3000), ()),
    "ribbon-wide.bloom": (Ribbon, 7, 0, 0, None, None, range(1000), range(1000, 30000), ()),
    "ribbon-stages.bloom": (Ribbon, 42, 0, 0, None, None, range(20000), range(20000, 30000), ()),
    "ribbon-empty.bloom": (Ribbon, 42, 0, 0, None, None, range(0), range(1000, 3000), ()),
    "ribbon-child.bloom": (Ribbon, 42, 0, 0, "golden", MADE, range(50, 1050), range(3000), range(50)),
    "layers.bloom": (Ribbon, 42, 0, 0, None, None, UPDATED, range(4000), [*REMOVED, *STRANGERS]),
    "counting-layers.bloom": (Counting, 42, 0, 0, "golden", None, range(5, 3000), range(4000), range(5)),
    "foreign-go-bloom.bloom": (Foreign, 0, 0, 0, "golden", MADE, range(1000), range(1000, 3000), ()),
    "foreign-guava.bloom": (Foreign, 0, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "foreign-guava-chars.bloom": (Foreign, 0, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "foreign-spark.bloom": (Foreign, 0, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "foreign-spark-v2.bloom": (Foreign, 2**64 - 7, 1, 0, None, None, range(1000), range(1000, 3000), ()),
    "foreign-redis-bitmap.bloom": (Foreign, 0, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "foreign-redisbloom.bloom": (Foreign, 0, 2, 4, None, None, range(1000), range(1000, 3000), ()),
    "foreign-npm-bloomfilter.bloom": (Foreign, 0, 0, 0, None, None, range(10000), range(10000, 30000), ()),
    "foreign-npm-bloom-filters.bloom": (Foreign, 78187493520, 0, 0, None, None, range(10000), range(10000, 30000), ()),
    "foreign-parquet-sbbf.bloom": (Foreign, 0, 0, 0, None, None, range(10000), range(10000, 30000), ()),
    "foreign-pybloomfiltermmap3.bloom": (Foreign, 0, 0, 0, None, None, range(10000), range(10000, 30000), ()),
    "foreign-pyprobables.bloom": (Foreign, 0, 0, 0, None, None, range(10000), range(10000, 30000), ()),
    "foreign-rbloom.bloom": (Foreign, 0, 0, 0, None, None, range(10000), range(10000, 30000), ()),
    "keyed-bloom.bloom": (Bloom, 42, 0, 0, "golden", MADE, range(1000), range(1000, 3000), ()),
    "keyed-counting.bloom": (Counting, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "keyed-scalable.bloom": (Scalable, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "keyed-cuckoo.bloom": (Cuckoo, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "keyed-ribbon.bloom": (Ribbon, 42, 0, 0, None, None, range(1000), range(1000, 3000), ()),
    "keyed-child.bloom": (Ribbon, 42, 0, 0, None, None, range(50, 1050), range(3000), range(50)),
    "url.bloom": (Ribbon, 42, 1, 0, None, None, range(1000), range(1000, 3000), ()),
    "slots-one.bloom": (Ribbon, 42, 1, 0, None, None, HOSTS, range(9000, 30000), ()),
    "slots-two.bloom": (Ribbon, 42, 1, 0, None, None, MIXED, range(60000, 90000), ()),
    "slots-child.bloom": (Ribbon, 42, 1, 0, "golden", None, SHAPES, range(30000), HOSTS[:20]),
    "keyed-slots.bloom": (Ribbon, 42, 1, 0, None, None, MIXED, range(60000, 90000), ()),
    "password-lowercase.bloom": (Bloom, 42, 2, 4, None, None, range(1000), range(1000, 3000), ()),
    "password-sha1-layers.bloom": (Bloom, 42, 2, 12, "golden", MADE, UPDATED, range(4000), [*REMOVED, *STRANGERS]),
}


def key(i, name=""):
    """The key of this number in a file of this name; section 11."""
    if "slots" not in name:
        return b"key-%d" % i
    labels = i // 6 % 5
    host = "10.0.%d.%d" % divmod(i, 256) if labels == 4 else "w." * labels + f"host{i}.example"
    return (host + ("/", "/a/", "/a/b/", "/a/b/c/", "/a", "/?q")[i % 6]).encode()


def secret_of(name):
    return SECRET if name.startswith("keyed") else None


def code_of(call, *arguments):
    """The code of the fault that `decode` or `apply` finds; None if it finds none."""
    try:
        call(*arguments)
    except Error as error:
        return error.code
    return None


def xored(blob, i, change):
    return blob[:i] + bytes([blob[i] ^ change]) + blob[i + 1 :]


def sealed(body):
    return body + xxh64(body, 0).to_bytes(8, "little")


def check_answers(file, blob):
    assert file.name in TABLE, "TABLE of tests/reader.py has no row for it"
    kind, seed, profile, options, name, created, members, asked, excluded = TABLE[file.name]
    filter = decode(blob, secret_of(file.name))
    assert type(filter) is kind, "another kind"
    assert bool(filter.flags & 32) == bool(secret_of(file.name)), "keyed, or not"
    assert (filter.seed, filter.profile, filter.options) == (seed, profile, options), "another header"
    assert (filter.name, filter.created) == (name, created), "other metadata"
    assert bool(filter.layers) == (bool(excluded) or file.name in GROUPS), "layers where none should be, or none"
    check_members(filter, members, excluded, file.name)
    listed = {int(line) for line in file.with_suffix(".txt").read_text().split()}
    present = {i for i in asked if filter.has(key(i, file.name))}
    assert present == listed, f"the present ones differ from the list: {sorted(present ^ listed)[:9]}"


def check_members(filter, members, excluded, name=""):
    absent = [i for i in members if not filter.has(key(i, name))]
    assert not absent, f"members are absent: {absent[:9]}"
    present = [i for i in excluded if filter.has(key(i, name))]
    assert not present, f"excluded ones are present: {present[:9]}"


EVERY = "--every" in sys.argv


def places(start, length, step):
    """Every place in the fields before `start`, each `step`th after it, and the last one."""
    head = min(max(64, start), length)
    return [*range(head), *range(head, length, step), length - 1]


def check_damage(blob, secret):
    for n in places(decode(blob, secret).start, len(blob), 1 if EVERY else 101):
        assert code_of(decode, blob[:n], secret) == "truncated", f"the first {n} bytes aren't truncated"
        for change in (0x01, 0x80):
            assert code_of(decode, xored(blob, n, change), secret), f"byte {n} xor {change} isn't refused"
    assert code_of(decode, blob + b"\0", secret) == "trailing_bytes", "a byte more isn't refused"


def check_resealed(blob, secret):
    """Whatever has a good checksum is refused or answers."""
    body = blob[:-8]
    for i in places(decode(blob, secret).start, len(body), 17 if EVERY else 101):
        for change in (0x01, 0x80, 0xFF):
            try:
                filter = decode(sealed(xored(body, i, change)), secret)
            except Error:
                continue
            for j in range(10 if EVERY else 3):
                filter.has(key(j))


def check_rules(blob, secret):
    """The rules for profile and flags, and for the table of layers, the first of which must be an exclude.

    Nothing follows the field at fault, so a rule that isn't checked in its place shows as `truncated`.
    """
    faults = [(6, b"\3"), (6, b"\0\4\0"), (6, b"\1\x08\0"), (7, bytes([blob[7] | 128, 0])), (7, bytes([blob[7], 1]))]
    filter = decode(blob, secret)
    if filter.layers and not filter.flags & 64:
        t = filter.table
        faults += [(t, b"\0"), (t + 5, b"\0"), (t + 5, b"\3"), (t + 5, b"\1" + blob[t + 6 : t + 19])]
        faults += [(t + 10, struct.pack("<d", p)) for p in (0.0, -0.5, 2**-33, 1.0, float("nan"))]
        faults += [(t + 18, b"\0"), (t + 19, bytes(4)), (t + 24, b"\0"), (t + 24, b"\5")]
        faults += [(t + 25, bytes(4)), (t + 25, b"\x0c\0\0\0")]
    for i, field in faults:
        code = code_of(decode, blob[:i] + field, secret)
        assert code == "invalid_parameter", f"{field} at {i} isn't refused as it should be"


def check_grafted(blob, file):
    """The layers of the updates, put upon a base of any other kind with the same seed, and secret."""
    _, _, _, _, _, _, members, _, excluded = TABLE[file.name]
    secret = secret_of(file.name)
    filter = decode(blob, secret)
    if not filter.layers or filter.flags & 64:
        return
    again = range(10) if members is UPDATED else ()
    removed = [i for i in excluded if i not in STRANGERS]
    table = blob[filter.table : filter.start]
    payload = blob[filter.start + len(filter.payload) : -8]
    for name, (_, seed, _, _, _, _, others, _, layered) in TABLE.items():
        if seed != filter.seed or secret != secret_of(name) or layered or "slots" in name:
            continue
        other = (GOLDEN / name).read_bytes()
        base = decode(other, secret)
        stack = decode(sealed(xored(other[: base.table], 7, 16) + table + base.payload + payload), secret)
        # not the keys added: an include need not hold those that its own base has anyway
        kept = {*others} & {*members} & {*range(50, 1000)}
        check_members(stack, kept | {*again}, removed)


def check_examples():
    """Those of keyed filters and of slots in section 3."""
    host, address = (digest(key, 0) % 2**59 | slot(key) << 59 for key in (b"evil.example/", b"10.0.1.5/"))
    assert (host, address) == (0x068F2F751206A56D, 0xC2CFA90537716654), "other digests with slots"
    assert derived(SECRET, 42) == (0xA60DE2C9C8FDCEF1, 0x8E0A6DA4DB2DFF4E, 0x6547840286CDFB49), "other derived numbers"
    assert digest(b"", 42, SECRET) == 0xE0B8D9EB53A9D29A, "another digest of the empty key"
    assert digest(b"abc", 42, SECRET) == 0xB9FBA27869276DE3, "another digest of abc"


def check_secret(blob, secret):
    """What isn't the secret of the blob, and the faults that come before that one, which come first."""
    keyed = secret is not None
    head = 25 if keyed else 17
    faults = [(OTHER, "wrong_secret"), (None, "secret_required") if keyed else (SECRET, "wrong_secret")]
    for given, code in faults:
        cases = [(blob, code), (blob[:head], code), (blob[: head - 1], "truncated")]
        cases += [(blob[:5], "truncated"), (blob[:7] + b"\x80\0", "invalid_parameter")]
        cases += [(blob[:4] + version, "unsupported_version") for version in (b"\0", b"\2")]
        for one, expected in cases:
            found = code_of(decode, one, given)
            assert found == expected, f"{found}, not {expected}, of the first {len(one)} bytes"
    if blob[5] == 6:  # is never keyed
        check = derived(SECRET, little(blob[9:17]))[0]
        relabelled = sealed(xored(blob[:17], 7, 32) + struct.pack("<Q", check) + blob[17:-8])
        assert code_of(decode, relabelled, SECRET) == "invalid_parameter", "a keyed filter of kind 6 isn't refused"


def check_unknown(blob):
    """Of kind 6, what may come in a later release: schemes, keys, and keys of a scheme. Nothing follows these fields."""
    if blob[5] != 6:
        return
    for pair in ((0, 1), (23, 1), (1, 13), (1, 0), (2, 1), (22, 12)):
        code = code_of(decode, blob[:17] + bytes(pair))
        assert code == "unsupported_kind", f"scheme and keys {pair} aren't refused as they should be, but as {code}"


def check_delta(prefix, parent, child):
    """The delta between two of the files; each of its bytes damaged; and a filter in its place."""
    delta, secret = f"{prefix}.delta", secret_of(prefix)
    parent, delta, child = ((GOLDEN / name).read_bytes() for name in (parent, delta, child))
    assert apply(parent, delta, secret) == child, "another child"
    check_damage(delta, secret)
    check_secret(delta, secret)
    for one, other, code in ((child, delta, "wrong_base"), (parent, child, "wrong_kind"), (delta, delta, "wrong_kind")):
        found = code_of(apply, one, other, secret)
        assert found == code, f"{found}, not {code}"


def main():
    passed = failed = 0
    check_examples()
    check_delta("ribbon", "ribbon.bloom", "ribbon-child.bloom")
    check_delta("keyed", "keyed-ribbon.bloom", "keyed-child.bloom")
    check_delta("slots", "slots-one.bloom", "slots-child.bloom")
    for name in sorted(TABLE.keys() | {file.name for file in GOLDEN.glob("*.bloom")}):
        try:
            file = GOLDEN / name
            blob, secret = file.read_bytes(), secret_of(name)
            check_answers(file, blob)
            check_damage(blob, secret)
            check_resealed(blob, secret)
            check_rules(blob, secret)
            check_grafted(blob, file)
            check_secret(blob, secret)
            check_unknown(blob)
        except Exception as error:
            failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {error}")
        else:
            passed += 1
            print(f"ok {name}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
