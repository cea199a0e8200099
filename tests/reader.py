#!/usr/bin/env python3
"""A reader for the blobs of FORMAT.md, all kinds. The numbers of sections are that page's.

It was written from FORMAT.md alone, by somebody who had not seen the implementation, and is kept as a proof that the
page is complete.

    python3 tests/reader.py             checks the golden files (section 11) and the rules of the page
    python3 tests/reader.py --every     damages each byte of them; without it, a sample

It needs the package xxhash.
"""

import codecs
import functools
import hashlib
import math
import re
import struct
import sys
from pathlib import Path

import xxhash

MAGIC = b"\xb5BLM"
NAME, CREATED, LAYERS, KEYED, SLOTS, TAGS = 1, 2, 16, 32, 64, 128  # flags, section 4; 4 and 8 are options of profile 2
RAW, URL, PASSWORD = 0, 1, 2
INCLUDE, EXCLUDE = 1, 2
G, M = 0x9E3779B97F4A7C15, 0xF1357AEA2E62A9C5  # sections 6.4 and 6.1
W32, W64 = 2**32 - 1, 2**64 - 1


class Error(Exception):
    def __init__(self, code, why=""):
        super().__init__(f"{code}: {why}" if why else code)
        self.code = code


def need(true, why, code="invalid_parameter"):
    if not true:
        raise Error(code, why)


def ceil_div(a, b):
    return -(-a // b)


def rounded(x):
    return math.floor(x + 0.5)


def high(x, m):
    """floor(x · m / 2^64)"""
    return x * m >> 64


class Cursor:
    """Reads fields; one that isn't all there is `truncated`."""

    def __init__(self, blob):
        self.blob, self.at = blob, 0

    def take(self, n):
        need(len(self.blob) - self.at >= n, f"{n} bytes from {self.at}", "truncated")
        self.at += n
        return self.blob[self.at - n:self.at]

    def get(self, form):
        values = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))
        return values if len(form) > 1 else values[0]


# Section 3: from a key to its digest.

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


@functools.lru_cache
def derived(secret, seed):
    """The check value, k0 and k1."""
    key = struct.unpack("<2Q", secret)
    return tuple(siphash(*key, struct.pack("<QB", seed, i)) for i in range(3))


def digest(key, seed, secret=None):
    """The digest of a key, without its slot."""
    return xxhash.xxh64_intdigest(key, seed) if secret is None else siphash(*derived(secret, seed)[1:], key)


def is_address(host):
    """Section 12: an IP address."""
    return host.startswith(b"[") or re.fullmatch(rb"[0-9]{1,3}(\.[0-9]{1,3}){3}", host) is not None


def slot(key):
    host, slash, rest = key.partition(b"/")
    rest = slash + rest
    dots, slashes = host.count(b"."), rest.count(b"/")
    h = dots - 1 if 1 <= dots <= 4 and not is_address(host) else 4
    p = 5 if b"?" in rest else slashes - 1 if rest.endswith(b"/") and slashes <= 4 else 4
    return 6 * h + p


# Sections 2, 4, 5 and 8: the blob.

def decode(blob, secret=None, names=()):
    """`names` are those of the tags of a sharded filter, for its shards (section 13)."""
    blob = bytes(blob)
    at = Cursor(blob)
    need(blob[:4] == MAGIC[:len(blob)], "magic", "not_a_filter")  # steps 1 to 3
    at.take(4)
    need(at.get("B") == 1, "version", "unsupported_version")
    kind = at.get("B")
    need(kind in KINDS, "kind", "unsupported_kind")
    return KINDS[kind](kind, at, secret, names)


class Filter:
    """A blob. A kind has `parameters`, which also sets `size`, `fill`, which takes the payload, and `holds`."""

    count = None

    tags = None

    def __init__(self, kind, at, secret, names):
        self.kind, self.secret = kind, secret
        self.header(at)
        self.parameters(at)
        if self.flags & TAGS and self.kind != 7:
            self.tags = Tags(at, 2**32 - 256)
        self.metadata = at.at  # section 5
        self.name = self.created = None
        if self.flags & NAME:
            try:
                self.name = at.take(at.get("B")).decode()
            except UnicodeDecodeError:
                raise Error("invalid_parameter", "name") from None
        if self.flags & CREATED:
            self.created = at.get("Q")
        self.counts = [at.get("I") for _ in range(at.get("B"))] if self.flags & TAGS else []
        self.table = at.at
        self.layers = []
        if self.flags & LAYERS:
            self.read_layers(at)
        self.start = at.at
        self.tag_names = list(names)
        if self.tags:
            self.check_names(elsewhere=len(names))
        parts = [self] + (self.tags.levels if self.tags else [])
        parts += [level for layer in self.layers for level in layer.levels + (layer.tags.levels if layer.tags else [])]
        end = self.start + sum(part.size for part in parts)
        need(len(at.blob) >= end + 8, "payload", "truncated")  # step 5
        payloads = [at.take(part.size) for part in parts]
        self.checksum = at.get("Q")
        need(self.checksum == xxhash.xxh64_intdigest(at.blob[:end]), "checksum", "checksum_mismatch")
        need(len(at.blob) == at.at, "bytes after the checksum", "trailing_bytes")
        for part, payload in zip(parts, payloads):  # step 8
            part.fill(payload)

    def header(self, at):
        """Section 4, from the profile on."""
        self.profile = at.get("B")
        need(self.profile in (RAW, URL, PASSWORD), "profile")
        self.flags = at.get("H")
        self.options = self.flags & 12
        need(self.flags < 256, "flags")
        need(not self.options or self.profile == PASSWORD, "options of passwords")
        need(not self.flags & SLOTS or self.profile == URL and self.kind in (5, 7), "slots")
        need(not self.flags & TAGS or self.kind in (5, 7), "tags")
        self.seed = at.get("Q")
        if self.flags & KEYED:
            check = at.get("Q")
            need(self.secret is not None, "keyed", "secret_required")
            need(check == derived(self.secret, self.seed)[0], "check value", "wrong_secret")
        else:
            need(self.secret is None, "not keyed", "wrong_secret")

    def read_layers(self, at):
        """Section 7"""
        n, self.count = at.get("BI")
        self.layers = [Layer(at, self.flags & SLOTS, self.flags & TAGS) for _ in range(n)]

    def check_names(self, elsewhere=0):
        """Section 13: what takes the names of all parts. Those that stand elsewhere come first."""
        for tags in [self.tags] + [layer.tags for layer in self.layers if layer.tags]:
            self.tag_names += tags.names
            need(all(number < len(self.tag_names) for tags in tags.sets for number in tags), "a number without a name")
        own = self.tag_names[elsewhere:]
        need(len(own) <= 255 and len(set(own)) == len(own), "names of tags")
        need(len(self.counts) <= len(self.tag_names), "numbers of members")

    def digest(self, key):
        d = digest(key, self.seed, self.secret)
        return slot(key) << 59 | d & (1 << 59) - 1 if self.flags & SLOTS else d

    def has(self, key):
        """Whether a key is maybe present."""
        return self.part(self.digest(key)) is not None

    def part(self, d):
        """What answers *maybe present*: an include, or the filter itself; None if the key is absent."""
        for layer in reversed(self.layers):
            answer = layer.answer(d)
            if answer is not None:
                return layer if answer else None
        return self if self.holds(d) else None

    def tags_of(self, key):
        """The tags of a key, in the order of their numbers."""
        d = self.digest(key)
        part = self.part(d)
        return [self.tag_names[number] for number in part.tags.of(d)] if part else []


# Section 6.1

def positions(d, m, k):
    for _ in range(k):
        d = d * M & W64
        yield high(d, m)


def bit(data, i):
    return data[i >> 3] >> (i & 7) & 1


def unused(data, bits):
    need(not bits % 8 or data[-1] >> bits % 8 == 0, "unused bits")


class Bloom(Filter):
    def parameters(self, at):
        self.m, self.k = at.get("IB")
        need(self.m >= 1, "bits")
        need(1 <= self.k <= 64, "hashes")
        self.size = ceil_div(self.m, 8)

    def fill(self, payload):
        self.payload = payload
        unused(payload, self.m)

    def holds(self, d):
        return all(bit(self.payload, i) for i in positions(d, self.m, self.k))


class Counting(Filter):
    """Section 6.2"""

    def parameters(self, at):
        self.m, self.k, self.width = at.get("IBB")
        need(self.m >= 1, "counters")
        need(1 <= self.k <= 64, "hashes")
        need(self.width in (4, 8), "bits of a counter")
        self.size = ceil_div(self.m * self.width, 8)

    def fill(self, payload):
        self.payload = payload
        unused(payload, self.m * self.width)

    def counter(self, i):
        return self.payload[i] if self.width == 8 else self.payload[i >> 1] >> 4 * (i & 1) & 15

    def holds(self, d):
        return all(self.counter(i) for i in positions(d, self.m, self.k))


class Scalable(Filter):
    """Section 6.3"""

    def parameters(self, at):
        c, s, p, r, n = at.get("IBddQ")
        need(c >= 1, "initial capacity")
        need(1 <= s <= 16, "growth")
        need(0 < p < 1 and p >= 100 * c / 2**64, "fpr")
        need(0 < r < 1, "tightening")
        need(n <= sum(c * s**i for i in range(255)), "keys")
        self.count, self.slices, capacity, power = n, [], 0, 1.0
        while not self.slices or capacity < n:
            self.slices.append(self.slice(c * s ** len(self.slices), 0.9 * p * (1 - r) * power))
            capacity += c * s ** (len(self.slices) - 1)
            power *= r
        self.size = sum(ceil_div(m, 8) for m, k in self.slices)

    @staticmethod
    def slice(c, q):
        """The bits and hashes of a slice with a capacity of `c` at a rate of `q`."""
        need(q >= 100 * c / 2**64, "rate of a slice")
        b = -math.log(q) / (math.log(2) * math.log(2))
        h = rounded(b * math.log(2))
        b = -1 / math.log(1 - q) if h <= 1 else -2 / math.log(1 - math.sqrt(q)) if h == 2 else b
        t = max(c, 100)
        m = math.ceil(t * (math.ceil(1024 * b) / 1024))
        need(m < 2**32, "bits of a slice")
        return m, max(1, rounded(m / t * math.log(2)))

    def fill(self, payload):
        self.payloads, at = [], Cursor(payload)
        for m, _ in self.slices:
            self.payloads.append(at.take(ceil_div(m, 8)))
            unused(self.payloads[-1], m)

    def holds(self, d):
        return any(all(bit(payload, i) for i in positions(d, m, k))
                   for (m, k), payload in zip(self.slices, self.payloads))


class Cuckoo(Filter):
    """Section 6.4"""

    def parameters(self, at):
        self.n, self.f = at.get("IB")
        need(self.n >= 2 and self.n % 2 == 0, "buckets")
        need(1 <= self.f <= 32, "bits of a fingerprint")
        self.size = self.n * self.f // 2
        need(self.size < 2**31, "payload")

    def fill(self, payload):
        self.payload = payload

    def places(self, d):
        """The fingerprint and both buckets."""
        p = 1 + high(d >> 32 | (d & W32) << 32, (1 << self.f) - 1)
        y = p * G & W64
        b1 = high(d, self.n)
        return p, b1, ((high((y ^ y >> 32) * G & W64, self.n) | 1) - b1) % self.n

    def holds(self, d):
        p, *buckets = self.places(d)
        for bucket in buckets:
            first, bits = 4 * self.f * bucket, 4 * self.f
            four = int.from_bytes(self.payload[first // 8:ceil_div(first + bits, 8)], "little") >> first % 8
            if any(four >> j * self.f & (1 << self.f) - 1 == p for j in range(4)):
                return True
        return False


# Section 6.5

def rows(at, n):
    found = [at.get("I") for _ in range(n)]
    need(all(r >= 8 and r % 8 == 0 for r in found), "rows")
    return found


def rate(fpr):
    need(2**-32 <= fpr < 1, "fpr")
    return fpr


def step(state, i, t, starts):
    """The state after entering stage i, and the start row there."""
    y = (state ^ (i * 256 + t) * G & W64) * M & W64
    state = y ^ y >> 32
    return state, high(state, starts)


def equation(state, r):
    """The coefficients and the fingerprint."""
    z = state * G & W64
    coefficients = (z ^ z >> 32) | 1
    return coefficients & (1 << r) - 1 if r < 64 else coefficients, (state ^ state >> 32) & W32


class Stage:
    BELOW = 0, 15, 44, 128

    def __init__(self, fpr, r, last):
        fraction, exponent = math.frexp(fpr)  # fpr = fraction · 2^exponent, fraction from 1/2 to below 1
        self.c = 1 - exponent if fraction == 0.5 else -exponent
        v = 2 - 2 * fpr * 2.0**self.c
        self.r, self.last = r, last
        self.s = max(1, r - 63)
        self.v = math.ceil(v * self.s)
        self.wide = min(ceil_div(self.v, 64) + 1, ceil_div(r, 64)) if self.v else 0
        self.buckets = 0 if last else ceil_div(self.s, 128)
        self.planes = ceil_div(self.buckets, 4)  # where they start
        self.blocks = self.planes + self.c // 8 * r
        q = ceil_div(r, 64)
        self.size = self.place(q - 1, self.c % 8 + (q <= self.wide))

    def place(self, block, column):
        """Where a column of a block starts. Columns count from 8 (c div 8)."""
        height = min(8, self.r // 8 - 8 * block)
        return self.blocks + 8 * (self.c % 8 * block + min(block, self.wide)) + column * height

    def fill(self, payload):
        self.payload = payload
        unused(payload[:self.planes], 2 * self.buckets)

    def decides(self, start):
        bucket = start // 128
        return self.last or start % 128 >= self.BELOW[self.payload[bucket // 4] >> bucket % 4 * 2 & 3]

    def holds(self, state, start):
        coefficients, fingerprint = equation(state, self.r)
        for i in range(self.c // 8):
            first, total = self.planes + i * self.r + start, 0
            for j, byte in enumerate(self.payload[first:first + coefficients.bit_length()]):
                total ^= byte * (coefficients >> j & 1)
            if total != fingerprint >> 8 * i & 255:
                return False
        block, shift = divmod(start, 64)
        for i in range(self.c // 8 * 8, self.c + (start < self.v)):
            words = 0
            for b in range(block, min(block + 2, ceil_div(self.r, 64))):
                first = self.place(b, i % 8 if i < self.c else self.c % 8)
                word = self.payload[first:first + min(8, self.r // 8 - 8 * b)]
                # A block that isn't wide lacks column c; no coefficient of a key with that column reaches it.
                if i < self.c or b < self.wide:
                    words |= int.from_bytes(word, "little") << 64 * (b - block)
            if (words >> shift & coefficients).bit_count() & 1 != fingerprint >> i & 1:
                return False
        return True


class Stages:
    """A ribbon filter: that of kind 5, or a level of a layer."""

    def __init__(self, fpr, attempt, rows):
        self.attempt = attempt
        self.stages = [Stage(fpr, r, i == len(rows) - 1) for i, r in enumerate(rows)]
        self.size = sum(stage.size for stage in self.stages)

    def fill(self, payload):
        at = Cursor(payload)
        for stage in self.stages:
            stage.fill(at.take(stage.size))

    def holds(self, state):
        for i, stage in enumerate(self.stages):
            state, start = step(state, i, self.attempt if stage.last else 0, stage.s)
            if stage.decides(start):
                return stage.holds(state, start)
        return False


def read_map(at):
    bits = at.get("I")
    need(bits < 1 << 30, "map")
    return bits


class Ribbon(Filter):
    def parameters(self, at):
        self.count, fpr, attempt, stages = at.get("IdBB")
        rate(fpr)
        need(stages <= 4, "stages")
        need((self.count == 0) == (stages == 0), "keys and stages")
        self.filter = Stages(fpr, attempt, rows(at, stages))
        self.map = read_map(at) if self.flags & SLOTS else None
        need(self.map is None or (self.map == 0) == (self.count == 0), "map")
        self.size, self.fill = self.filter.size, self.filter.fill

    def holds(self, d):
        return (self.map is None or self.map >> (d >> 59) & 1 == 1) and self.filter.holds(d)


# Section 7

def salted(d, salt, i):
    """The digest d_i that level i uses."""
    x = d ^ (salt + i & W32) * G & W64
    y = (x ^ x >> 32) * M & W64
    z = (y ^ y >> 32) * G & W64
    return z ^ z >> 32


# Section 13

def is_tag_name(name):
    return 1 <= len(name.encode()) <= 255 and not re.search(
        "[\0-\x1f,\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", name)


class Tags:
    """The tags of a base or an include."""

    def __init__(self, at, salt):
        self.salt = salt
        try:
            self.names = [at.take(at.get("B")).decode() for _ in range(at.get("B"))]
        except UnicodeDecodeError:
            raise Error("invalid_parameter", "name of a tag") from None
        need(all(map(is_tag_name, self.names)), "the name of a tag")
        longest = at.get("B")
        need(longest <= 32, "longest code")
        counts = [at.get("H") for _ in range(longest + 1)]
        need(sum(c << 32 - n for n, c in enumerate(counts)) == 2**32 and counts[-1], "codes")
        need(sum(counts) <= 65535, "sets")
        self.sets = [tuple(at.take(at.get("B"))) for _ in range(sum(counts))]
        need(all(list(numbers) == sorted(set(numbers)) for numbers in self.sets), "a set")
        self.codes, code, done = {}, 0, 0
        for length, count in enumerate(counts):
            code *= 2
            for i in range(count):
                self.codes[length, code + i] = self.sets[done + i]
                need(i == 0 or self.sets[done + i - 1] < self.sets[done + i], "the order of sets")
            code, done = code + count, done + count
        default = at.get("H")
        need(default < len(self.sets), "default set")
        self.default = self.sets[default]
        has_filter = at.get("B")
        need(has_filter <= (longest > 0), "default filter")
        self.filter = level(at, rate(at.get("d"))) if has_filter else None
        self.code = level(at, 0.5) if longest else None
        self.levels = [level for level in (self.filter, self.code) if level]

    def of(self, d):
        if self.filter and not self.filter.holds(salted(d, self.salt, 2)):
            return self.default
        code = 0
        for j in range(33):
            if (j, code) in self.codes:
                return self.codes[j, code]
            code = 2 * code + self.code.holds(salted(d, self.salt, 3 + j))
        raise AssertionError("codes that aren't complete")


def level(at, fpr):
    keys, attempt, stages = at.get("IBB")
    need(keys >= 1, "keys of a level")
    need(1 <= stages <= 4, "stages of a level")
    return Stages(fpr, attempt, rows(at, stages))


class Layer:
    def __init__(self, at, slots, tagged):
        self.type, self.salt, self.fpr = at.get("BId")
        need(self.type in (INCLUDE, EXCLUDE), "type of a layer")
        rate(self.fpr)
        self.map = read_map(at) if slots else None
        need(self.map != 0, "map of a layer")
        levels = at.get("B")
        need(levels == 1 or levels == 2 and self.type == EXCLUDE, "levels")
        self.levels = [level(at, self.fpr if i == 0 else 0.5) for i in range(levels)]
        self.tags = Tags(at, self.salt) if tagged and self.type == INCLUDE else None

    def answer(self, d):
        """Present, absent, or None: the next layer below is asked."""
        if self.map is not None and not self.map >> (d >> 59) & 1:
            return None
        if not self.levels[0].holds(salted(d, self.salt, 0)):
            return None
        if self.type == INCLUDE:
            return True
        return None if len(self.levels) == 2 and self.levels[1].holds(salted(d, self.salt, 1)) else False


# Section 6.7

class Delta(Filter):
    size = 0

    def parameters(self, at):
        self.parent = at.get("Q")

    def fill(self, payload):
        pass

    def has(self, key):
        raise Error("wrong_kind", "a delta is no filter")


def seal(body):
    return body + struct.pack("<Q", xxhash.xxh64_intdigest(body))


def apply(blob, delta, secret=None):
    """The child's blob."""
    parent, child = decode(blob, secret), decode(delta, secret)
    need(not isinstance(parent, Delta) and isinstance(child, Delta), "a filter and a delta", "wrong_kind")
    need(parent.checksum == child.parent, "parent", "wrong_base")
    shared = 4 | 8 | KEYED | SLOTS | TAGS
    need(parent.profile == child.profile, "profile", "incompatible")
    need((parent.flags ^ child.flags) & shared == 0, "flags", "incompatible")
    need(parent.seed == child.seed, "seed", "incompatible")  # the check value is the secret's, so the same
    need(not child.flags & LAYERS or not isinstance(parent, Foreign), "a table over kind 6", "wrong_kind")
    layers = len(parent.layers) + len(child.layers)
    need(layers <= 255, "layers")
    flags = parent.flags & ~(NAME | CREATED) | child.flags & (NAME | CREATED | LAYERS)
    table = b""
    if flags & LAYERS:
        count = child.count if child.flags & LAYERS else parent.count
        table = struct.pack("<BI", layers, count) + blob[parent.table + 5:parent.start]
        table += delta[child.table + 5:child.start]
    head = blob[:7] + struct.pack("<H", flags) + blob[9:parent.metadata] + delta[child.metadata:child.table]
    if parent.flags & TAGS:
        parent.layers, parent.counts, parent.tag_names = parent.layers + child.layers, child.counts, []
        parent.check_names()
    return seal(head + table + blob[parent.start:-8] + delta[child.start:-8])


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


class Foreign(Filter):
    def parameters(self, at):
        self.scheme, self.keys = at.get("BB")
        known = 1 <= self.scheme <= 25 and self.keys <= 12 and self.scheme in KEYS[self.keys][0]
        need(known, "scheme or keys", "unsupported_kind")
        self.layout, parts, note = at.get("BBH")
        self.parts = [at.get("QIH") for _ in range(parts)]
        self.note = at.take(note)
        self.size = sum(b for m, b, k in self.parts)
        self.rules(parts, note)

    def rules(self, parts, note):
        scheme = self.scheme
        need(not self.flags & (LAYERS | KEYED), "layers or a secret")
        need(self.seed == 0 or scheme in (5, 15, 17, 18, 19, 24), "seed")
        need(self.profile == RAW or not 6 <= self.keys <= 11, "profile of numbers")
        need(self.layout <= (7 if scheme == 1 else 0), "layout")
        need(parts >= 1 if scheme in (7, 8, 24) else parts == 1, "parts")
        need(all(1 <= m <= 2**40 and 1 <= k <= 1024 for m, b, k in self.parts) and self.size < 2**32, "a part")
        m, b, k = self.parts[0]
        need(note in {1: (0, 8), 7: (8 + 33 * parts,), 8: (8 + 33 * parts,), 20: (4 * k,)}.get(scheme, (0,)), "note")
        if scheme == 1:
            length = struct.unpack("<Q", self.note)[0] if note else m
            need(not note or length != m, "a length that is m")
            need(b == 8 * ceil_div(length, 64), "bytes of a bit set")
        if 2 <= scheme <= 5:
            need(m == 8 * b and b % 8 == 0 and (k <= 255 or scheme > 3), "words")
        if scheme in (16, 19):
            need(m == 8 * b and k == 8 and b % (32 if scheme == 16 else 8) == 0, "blocks")
        if scheme in (17, 18):
            need(k in (8, 16, 32) and 8 * b % k == 0, "fingerprints")
            n = 8 * b // k
            self.l = (n - m) // 2
            need(n == 3 * m if scheme == 17 else
                 n > m and (n - m) % 2 == 0 and self.l.bit_count() == 1 and m % self.l == 0, "fingerprints")

        if scheme == 24:
            need(all(m % k == 0 and b == k * ceil_div(m, 8 * k) for m, b, k in self.parts), "slices")

    def fill(self, payload):
        at = Cursor(payload)
        self.payloads = [at.take(b) for m, b, k in self.parts]

    def has(self, key):
        _, length, x = KEYS[self.keys]
        if length not in (None, len(key)):
            return False
        x = x(key)
        return any(self.part_has(x, m, k, data) for (m, b, k), data in zip(self.parts, self.payloads))

    def part_has(self, x, m, k, data):
        if self.scheme in (17, 18):
            return self.fingerprints(x, m, k, data)
        return all(i >> 3 < len(data) and bit(data, i) for i in getattr(self, f"scheme{self.scheme}")(x, m, k))

    def key64(self, x):
        return fmix64(int.from_bytes(x, "little") + self.seed & W64)

    def fingerprints(self, x, m, k, data):
        h, l = self.key64(x), self.l
        if self.scheme == 17:
            places = [j * m + ((rotl(h, 21 * j) if j else h) & W32) * m // 2**32 for j in range(3)]
        else:
            p0 = high(h, m)
            places = [p0, p0 + l ^ (h >> 18) % l, p0 + 2 * l ^ h % l]
        f = 0
        for p in places:
            f ^= int.from_bytes(data[p * k // 8:(p + 1) * k // 8], "little")
        return f == (h ^ h >> 32) & (1 << k) - 1

    # The positions of x.

    def scheme1(self, x, m, k):
        h = *murmur128(x, 0), *murmur128(x + b"\1", 0)
        return ((h[i % 2] + i * h[2 if i % 4 in (0, 3) else 3] & W64) % m for i in range(k))

    def scheme2(self, x, m, k):
        a, b = murmur128(x, 0)
        return ((a + i * b & W64 >> 1) % m for i in range(k))

    def scheme3(self, x, m, k):
        h = murmur128(x, 0)[0]
        return (flip(i32(h + (i + 1) * (h >> 32))) % m for i in range(k))

    def scheme4(self, x, m, k):
        a = murmur32(x, 0, True)
        b = murmur32(x, a, True)
        return (flip(i32(a + (i + 1) * b)) % m for i in range(k))

    def scheme5(self, x, m, k):
        a = murmur32(x, self.seed & W32, True)
        b = murmur32(x, a, True)
        return (flip(i64(i32(a) * 0x7FFFFFFF + (i + 1) * i32(b))) % m for i in range(k))

    def scheme6(self, x, m, k):
        return (i32(murmur32(x, i)) % m for i in range(k))

    def scheme7(self, x, m, k):
        a = murmur64a(x, 0xC6A4A7935BD1E995)
        b = murmur64a(x, a)
        return ((a + i * b & W64) % m for i in range(k))

    def scheme8(self, x, m, k):
        a = murmur2(x, 0x9747B28C)
        b = murmur2(x, a)
        return ((a + i * b) % m for i in range(k))

    def scheme9(self, x, m, k):
        h = fnv64(units(x))
        a, b = i32(h >> 32) % m, i32(h) % m | (self.scheme == 10)
        return ((a + i * b + (i**3 - i) // 6) % m for i in range(k))

    scheme10 = scheme9

    def scheme11(self, x, m, k):
        a = fnv32(units(x), 0x811C9DC5)
        b = mix(a * 0x1000193 & W32)
        c = mix(b * 0x1000193 & W32)
        a, b, c = ((h & W32 >> 1) % m for h in (a, b, c))
        return ((a + i * (b | 1) + c * i * (i - 1) // 2) % m for i in range(k))

    def scheme12(self, x, m, k):
        a, b = fnv32(units(x), 0x811C9DC5), fnv32(units(x), 0x811C9DC5 ^ 0x5DF43149)
        return ((i32(a) + i * i32(b)) % m for i in range(k))

    def scheme13(self, x, m, k):
        a = fnv32(units(x), 0x811C9DC5, self.scheme == 14)
        b = mix(a * 0x1000193 & W32, self.scheme == 14)
        return ((i32(a) + i * i32(b)) % m for i in range(k))

    scheme14 = scheme13

    def scheme15(self, x, m, k):
        a, b = self.halves(x)
        return ((a + i * b + (i**3 - i) // 6) % m for i in range(k))

    def scheme24(self, x, m, k):
        a, b = self.halves(x)
        s = m // k
        return (8 * ceil_div(s, 8) * i + (a + i * b + (i**3 - i) // 6) % s for i in range(k))

    def halves(self, x):
        return (xxhash.xxh64_intdigest(x, int(float(i64(self.seed)) + n or 1234567890) & W32) & W32 for n in (1, 2))

    def scheme16(self, x, m, k):
        h = xxhash.xxh64_intdigest(x, 0)
        block = 256 * ((h >> 32) * (m // 256) >> 32)
        return (block + 32 * i + ((h & W32) * SALT[i] >> 27 & 31) for i in range(k))

    def scheme19(self, x, m, k):
        h = self.key64(x)
        ys = (rotl(h, 32) + i * h & W64 for i in range(k))
        return (64 * high(y, m // 64) + y % 64 for y in ys)

    def scheme20(self, x, m, k):
        for seed in struct.unpack(f"<{k}I", self.note):
            a, b = murmur128(x, seed)
            yield (a ^ b) % m

    def scheme21(self, x, m, k):
        points = struct.unpack(f"<{len(x) // 4}I", x)
        return (fnv64(points, 0xCBF29CE484222325 + 31 * i) % m for i in range(k))

    def scheme22(self, x, m, k):
        a, b = murmur128(x, 0)
        s = a + (b << 64)
        for _ in range(k):
            s = s * 47026247687942121848144207491837418733 + 1 & 2**128 - 1
            yield (s >> 32 & W64) % m

    def scheme23(self, x, m, k):
        p, h = 2**64 - 59, fnv1(x) % (2**64 - 59)
        for _ in range(k):
            h = (h * (2**64 - 1469) & W64) % p
            yield h % m

    def scheme25(self, x, m, k):
        def sums(s, t, u):
            r = 0
            for c in struct.unpack(f"<{len(x) // 4}I", x) if self.keys == 4 else x:
                r += (r + c + s) * t % u
            return r

        p = 2**127 - 1
        a, b = sums(2**17 - 1, 2**31 - 1, p), sums(2**19 - 1, 2**67 - 1, 2**257 - 1)
        y = a
        for _ in range(k):
            y = (y * a + b) % p
            yield y % m


def units(x):
    return struct.unpack(f"<{len(x) // 2}H", x)


KINDS = {1: Bloom, 2: Counting, 3: Scalable, 4: Cuckoo, 5: Ribbon, 6: Foreign, 7: Delta}


# Section 11: the golden files, and the rest of the page.

SECRET = bytes(range(16))
NAMED = {"name": "golden", "created": 1700000000000}
FOLDER = Path(__file__).parent / "golden"
GOLDEN = {}  # name: what the page says of it
CHILDREN = {"bloom": ("bloom", "bloom-child"), "ribbon": ("ribbon", "ribbon-child"),
            "keyed": ("keyed-ribbon", "keyed-child"), "slots": ("slots-one", "slots-child"),
            "tags": ("tags", "tags-child")}  # delta: parent, child


def golden(names, kind, members=range(1000), asked=range(1000, 3000), absent=(), key="key-{}".format, seed=42, **other):
    for name in names.split():
        fields = {"seed": seed, "profile": RAW, "options": 0, "name": None, "created": None, "secret": None, **other}
        GOLDEN[name] = kind, fields, members, asked, absent, key


def url(i):
    h, p = i // 6 % 5, i % 6
    host = f"10.0.{i // 256}.{i % 256}" if h == 4 else "w." * h + f"host{i}.example"
    return host + ["/", "/a/", "/a/b/", "/a/b/c/", "/a", "/?q"][p]


def ints(*ranges):
    return [i for first, last in ranges for i in range(first, last + 1)]


KEYED_42, MADE = {"secret": SECRET}, {"members": range(10000), "asked": range(10000, 30000), "seed": 0}
REMOVED, UPDATED = ints((0, 0), (100, 999)), ints((50, 1049))
UPDATES = {"members": ints((0, 9), (50, 999), (1010, 1049)), "asked": range(4000), "absent": range(1500, 3000)}
BY_CHANCE = [int(line) for line in (FOLDER / "bloom.txt").read_text().split()]
ONE = [i for i in range(9000) if i % 30 == 0 or i % 60 == 6]
TWO = {"members": [i for i in range(60000) if i < 300 or i % 30 == 0], "asked": range(60000, 90000),
       "key": url, "profile": URL}
golden("bloom", Bloom, **NAMED)
golden("bloom-child", Bloom, [*range(1000), *BY_CHANCE], name="by chance")
golden("counting4 counting8", Counting, REMOVED)
golden("scalable scalable-high scalable-one", Scalable)
golden("cuckoo", Cuckoo)
golden("scalable-from-1 scalable-from-2 scalable-from-3 scalable-from-4", Scalable, range(100))
golden("ribbon", Ribbon)
golden("ribbon-small", Ribbon, range(5))
golden("ribbon-wide", Ribbon, asked=range(1000, 30000), seed=7)
golden("ribbon-stages", Ribbon, range(20000), range(20000, 30000))
golden("ribbon-empty", Ribbon, range(0))
golden("ribbon-child", Ribbon, UPDATED, range(3000), **NAMED)
golden("layers", Ribbon, **UPDATES)
golden("counting-layers", Counting, range(5, 3000), range(4000), name="golden")
golden("foreign-go-bloom", Foreign, scheme=1, keys=1, layout=1, seed=0, **NAMED)
golden("foreign-guava", Foreign, scheme=2, keys=2, seed=0)
golden("foreign-guava-chars", Foreign, scheme=3, keys=3, seed=0)
golden("foreign-spark", Foreign, scheme=4, keys=2, seed=0)
golden("foreign-spark-v2", Foreign, scheme=5, keys=2, seed=2**64 - 7, profile=URL)
golden("foreign-redis-bitmap", Foreign, scheme=6, keys=1, seed=0)
golden("foreign-redisbloom", Foreign, scheme=7, keys=1, seed=0, profile=PASSWORD, options=4)
golden("foreign-npm-bloomfilter", Foreign, scheme=9, keys=3, **MADE)
golden("foreign-npm-bloom-filters", Foreign, scheme=15, keys=5, **{**MADE, "seed": None})
golden("foreign-npm-bloom-filters-scalable", Foreign, scheme=24, keys=5, **{**MADE, "seed": 78187493520})
golden("foreign-parquet-sbbf", Foreign, scheme=16, keys=1, **MADE)
golden("foreign-pybloomfiltermmap3", Foreign, scheme=20, keys=1, **MADE)
golden("foreign-pyprobables", Foreign, scheme=21, keys=4, **MADE)
golden("foreign-rbloom", Foreign, scheme=22, keys=1, **MADE)
golden("foreign-bloom-filter2", Foreign, scheme=25, keys=4, **MADE)
golden("foreign-flor", Foreign, scheme=23, keys=1, **MADE)
golden("keyed-bloom", Bloom, **KEYED_42, **NAMED)
golden("keyed-counting", Counting, **KEYED_42)
golden("keyed-scalable", Scalable, **KEYED_42)
golden("keyed-cuckoo", Cuckoo, **KEYED_42)
golden("keyed-ribbon", Ribbon, **KEYED_42)
golden("keyed-child", Ribbon, UPDATED, range(3000), **KEYED_42)
golden("url", Ribbon, profile=URL)
golden("tags", Ribbon)
golden("keyed-tags", Ribbon, **KEYED_42)
golden("tags-empty", Ribbon, range(0), range(1000, 1010))
golden("tags-default", Ribbon)
golden("tags-child", Ribbon, UPDATED, range(3000), **NAMED)
golden("tags-slots", Ribbon, **TWO)
golden("slots-one", Ribbon, ONE, range(9000, 30000), key=url, profile=URL)
golden("slots-two", Ribbon, **TWO)
golden("slots-child", Ribbon, ONE[20:] + [i for i in range(9000, 9300) if i % 30 == 10], range(30000), key=url,
       profile=URL, name="golden")
golden("keyed-slots", Ribbon, **TWO, **KEYED_42)
golden("password-lowercase", Bloom, profile=PASSWORD, options=4)
golden("password-sha1-layers", Bloom, profile=PASSWORD, options=12, **UPDATES, **NAMED)



def kinds(i):
    return [tag for tag, has in [("phishing", i % 100 and i % 10 not in (7, 8)), ("malware", i % 10 > 6)] if has]


GOLDEN_TAGS = {
    "tags": kinds, "keyed-tags": kinds, "tags-empty": kinds,
    "tags-default": lambda i: ["common"] if i % 33 else ["common", "rare"],
    "tags-child": lambda i: kinds(i) + (["spam"] if 100 <= i < 120 or i >= 1000 else []),
    "tags-slots": lambda i: ["others"] if i % 30 else ["hosts"],
}


def load(name):
    return (FOLDER / name).read_bytes()


def secret_of(name):
    return SECRET if name.startswith("keyed") else None


def equal(found, wanted, what=""):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r} instead of {wanted!r}")


def code(action, *arguments):
    try:
        action(*arguments)
    except Error as error:
        return error.code
    return "no error"


def check_golden(path):
    if path.stem not in GOLDEN:
        raise AssertionError(f"section 11 of the page says nothing of {path.name}")
    kind, fields, members, asked, absent, key = GOLDEN[path.stem]
    blob = path.read_bytes()
    filter = decode(blob, fields["secret"])
    equal(type(filter), kind, "kind")
    for field, value in fields.items():
        if (field, value) != ("seed", None):  # the page doesn't say the seed of one file
            equal(getattr(filter, field), value, field)
    if filter.flags & LAYERS or kind is Ribbon:
        equal(filter.count, len(members), "keys")

    def has(i):
        return filter.has(key(i).encode())

    equal([i for i in members if not has(i)], [], "members that are absent")
    equal([i for i in absent if has(i)], [], "keys that must be absent")
    listed = [int(line) for line in path.with_suffix(".txt").read_text().split()]
    equal([i for i in asked if has(i)], listed, "the list")
    equal(filter.tags is not None, path.stem in GOLDEN_TAGS, "tags")
    if filter.tags:
        def tags(i):
            return filter.tags_of(key(i).encode())

        wanted = GOLDEN_TAGS[path.stem]
        equal([(i, tags(i)) for i in members if tags(i) != wanted(i)], [], "tags of members")
        strangers = path.with_suffix(".tags").read_text().splitlines()
        equal([f"{i} {' '.join(tags(i))}" for i in listed if i not in members], strangers, "tags of strangers")
        counts = [sum(name in wanted(i) for i in members) for name in filter.tag_names]
        equal(filter.counts, counts, "members with each tag")


def check_delta(path):
    if path.stem not in CHILDREN:
        raise AssertionError(f"section 11 of the page says nothing of {path.name}")
    parent, child = (load(name + ".bloom") for name in CHILDREN[path.stem])
    delta, secret = path.read_bytes(), secret_of(path.stem)
    made, old = decode(delta, secret), decode(parent, secret)
    equal(type(made), Delta, "kind")
    equal(made.parent, old.checksum, "parent")
    equal(apply(parent, delta, secret), child, "the child")
    equal(code(made.has, b""), "wrong_kind", "a delta that is asked")
    equal(code(apply, child, delta, secret), "wrong_base", "the child as parent")
    equal(code(apply, delta, delta, secret), "wrong_kind", "a delta as parent")
    equal(code(apply, parent, parent, secret), "wrong_kind", "a filter as delta")
    equal(code(apply, parent, delta, None if secret else SECRET), "secret_required" if secret else "wrong_secret")
    if not secret and old.profile == RAW:  # another seed has another check value
        for at, change in [(6, b"\2"), (9, b"\0")]:
            wrong = seal(delta[:at] + change + delta[at + 1:-8])
            equal(code(apply, parent, wrong, secret), "incompatible", f"byte {at}")
    if made.flags & TAGS:  # its names can't come twice, and its metadata counts more than the parent has
        return
    # Without a table only the metadata changes, and without layers the number of keys, too.
    empty = delta[:made.table]
    bare = empty[:7] + struct.pack("<H", made.flags & ~LAYERS) + empty[9:]
    renamed = decode(apply(parent, seal(bare), secret), secret)
    equal((renamed.layers, renamed.name, renamed.count), ([], made.name, old.count), "a delta without a table")
    counted = decode(apply(parent, seal(empty + b"\0\1\2\0\0"), secret), secret)
    equal((counted.layers, counted.name, counted.count), ([], made.name, 513), "a delta without layers")
    if not made.layers:
        return
    # The two layers of the delta, 127 times in the parent, once in the delta, and once more alone.
    layers, levels = delta[made.table + 5:made.start], delta[made.start:-8]
    equal(len(made.layers), 2, "layers")
    full = parent[:7] + struct.pack("<H", old.flags | LAYERS) + parent[9:old.table] + b"\xfe" + bytes(4) + 127 * layers
    full = seal(full + parent[old.start:-8] + 127 * levels)
    last = delta[:made.metadata - 8] + full[-8:] + delta[made.metadata:-8]
    equal(code(apply, full, seal(last), secret), "invalid_parameter", "256 layers")
    head = delta[:made.metadata - 8] + full[-8:] + delta[made.metadata:made.table]
    first = made.layers[0].levels
    one = 14 + 4 * bool(old.flags & SLOTS) + sum(6 + 4 * len(level.stages) for level in first)
    one = seal(head + b"\1" + bytes(4) + layers[:one] + levels[:sum(level.size for level in first)])
    equal(len(decode(apply(full, one, secret), secret).layers), 255, "255 layers")


def check_examples():
    """The examples of the page."""
    for key, d in [(b"", 0xEF46DB3751D8E999), (b"a", 0xD24EC4F1A98C6E5B), (b"abc", 0x44BC2CF5AD770999)]:
        equal(digest(key, 0), d, key)
    equal(derived(SECRET, 42), (0xA60DE2C9C8FDCEF1, 0x8E0A6DA4DB2DFF4E, 0x6547840286CDFB49), "derived")
    for key, d in [(b"", 0xE0B8D9EB53A9D29A), (b"abc", 0xB9FBA27869276DE3), (300 * b"a", 0x543A1D7FCEF2A2FE)]:
        equal(digest(key, 42, SECRET), d, key[:3])
    slots = {"evil.example/": 0, "www.evil.example/": 6, "a.b.c.evil.example/": 18, "a.b.c.d.evil.example/": 24,
             "evil.example/a/": 1, "evil.example/a/b/c/": 3, "evil.example/a/b/c/d/": 4, "evil.example/a": 4,
             "10.0.1.5/": 24, "999.999.999.999/": 24, "[2001:db8::1]/x": 28, "localhost/": 24, "evil.example/a/?b/": 5,
             "evil.example": 4, "evil.example?a/": 0, "": 28}
    for key, s in slots.items():
        equal(slot(key.encode()), s, key)
    equal([slot(url(i).encode()) for i in range(60000)], [i % 30 for i in range(60000)], "slots of url-i")
    equal([url(0), url(10), url(29)], ["host0.example/", "w.host10.example/a", "10.0.0.29/?q"], "url-i")
    slotted = decode(load("slots-one.bloom"))
    slotted.seed = 0
    for key, without, d in [(b"evil.example/", 0x368F2F751206A56D, 0x068F2F751206A56D),
                            (b"10.0.1.5/", 0x4ACFA90537716654, 0xC2CFA90537716654)]:
        equal((digest(key, 0), slotted.digest(key)), (without, d), key)
    abc = digest(b"abc", 0)
    equal(list(positions(abc, 1000, 3)), [784, 268, 977], "bloom")
    cuckoo = decode(load("cuckoo.bloom"))
    cuckoo.n, cuckoo.f = 10, 8
    equal(cuckoo.places(abc), (173, 2, 1), "cuckoo")
    equal(step(abc, 0, 0, 1000 - 63), (0xC8C343B7F441200A, 734), "ribbon")
    equal(equation(0xC8C343B7F441200A, 1000), (0x3B857358F6450B8B, 0x3C8263BD), "ribbon")
    stage = Stage(0.25, 80, True)
    equal((stage.c, stage.wide, [stage.place(b, i) for b in (0, 1) for i in (0, 1)], stage.size),
          (2, 0, [0, 8, 16, 18], 20), "blocks")
    equal(salted(abc, 0, 1), 0x6CD94AA753028146, "level")
    hosts = b"[::1]", b"1.2.3.4", b"1.2.3", b"1.2.3.4.5", b"1.2.3.1234", b"1.2.3.", b"a.b", b""
    equal([is_address(host) for host in hosts], [True, True] + 6 * [False], "addresses")


def check_hashes():
    """What section 6.6 says of schemes and keys without a golden file, as far as an answer is known."""
    for hash_of, form, wanted in [  # SMHasher's verification values
            (lambda x, seed: (murmur2(x, seed),), "<I", 0x27864C1E),
            (lambda x, seed: (murmur64a(x, seed),), "<Q", 0x1F0D3804),
            (lambda x, seed: (murmur32(x, seed),), "<I", 0xB0F57EE3), (murmur128, "<2Q", 0x6384BA69)]:
        packed = b"".join(struct.pack(form, *hash_of(bytes(range(i)), 256 - i)) for i in range(256))
        equal(hash_of(packed, 0)[0] & W32, wanted, "a murmur hash")
    equal(fnv64(b"a"), 0xAF63DC4C8601EC8C, "fnv64")
    equal(fnv1(b"a"), 0xAF63BD4C8601B7BE, "fnv1")
    lone = "a\ud83d".encode("utf-8", "surrogatepass")
    equal(KEYS[2][2](lone), b"a?", "keys 2")
    equal(KEYS[3][2](lone + b"\xff"), b"a\0\x3d\xd8\xfd\xff", "keys 3")
    equal(KEYS[4][2]("\U0001f600".encode()), b"\0\xf6\1\0", "keys 4")
    equal(KEYS[5][2](lone), b"a" + chr(0x10000 + 0x3D * 0x400).encode(), "keys 5")
    for n in (-2**61, -2**61 + 1, -1, 0, 1, 2**61, 2**63 - 1, -2**63):
        equal(struct.unpack("<q", KEYS[11][2](struct.pack("<q", n)))[0], hash(n), "keys 11")  # of CPython
    equal(KEYS[12][2](b"abc"), bytes.fromhex("6a810647363e99a9"), "keys 12")
    for keys, (schemes, length, _) in enumerate(KEYS):  # no member is missing
        for scheme in schemes:
            m, b, k, note = 768, 96, 8, b""
            if scheme in (17, 18):
                m, b = (32, 96) if scheme == 17 else (64, 96)
            if scheme in (7, 8):
                note = bytes(41)
            if scheme == 20:
                note = bytes(range(4 * k))
            head = MAGIC + struct.pack("<BBBHQBBBBHQIH", 1, 6, 0, 0, 0, scheme, keys, 0, 1, len(note), m, b, k) + note
            for key in (bytes(range(65, 65 + length)) if length else b"key-1", bytes(length or 0)):
                data = bytearray(b)
                filter = decode(seal(head + data))
                x = KEYS[keys][2](key)
                if scheme in (17, 18):
                    h = filter.key64(x)
                    places = [i for i in range(b) if not filter.fingerprints(
                        x, m, k, bytes((h ^ h >> 32) & 255 ^ (i == j) for j in range(b)))]
                    equal(len(places), 3, "places")
                    data[places[0]] = (h ^ h >> 32) & 255
                else:
                    for i in getattr(filter, f"scheme{scheme}")(x, m, k):
                        data[i >> 3] |= 1 << (i & 7)
                filter = decode(seal(head + data))
                equal((filter.has(key), filter.has(key + b"a") and length is not None), (True, False), (scheme, keys))


def check_rules():
    """Rules with a checksum that is right, and the order of section 8."""
    def rule(name, wanted, *changes, secret=None, cut=None):
        body = bytearray(load(name + ".bloom"))[:-8]
        for at, change in changes:
            at += len(body) if at < 0 else 0
            body[at:at + len(change)] = change
        blob = seal(bytes(body)) if cut is None else bytes(body[:cut])
        equal(code(decode, blob, secret), wanted, (name, changes, cut))

    u16, u32, u64, f64 = (lambda n, form=form: struct.pack("<" + form, n) for form in "HIQd")
    bad, secret = "invalid_parameter", SECRET
    rule("bloom", "no error")
    for at, change, wanted in [(0, b"\0", "not_a_filter"), (4, b"\0", "unsupported_version"),
                               (4, b"\2", "unsupported_version"),
                               (5, b"\0", "unsupported_kind"), (5, b"\x08", "unsupported_kind"), (6, b"\3", bad),
                               (17, u32(0), bad), (21, b"\0", bad), (21, b"\x41", bad),
                               (17, u32(2**32 - 1), "truncated"),
                               (23, b"\xff", bad), (-1, b"\xff", bad)]:
        rule("bloom", wanted, (at, change))
    for flags in (4, 8, 64, 128, 256, 2**15):
        rule("bloom", bad, (7, u16(3 | flags)))
        if flags != 128:
            rule("ribbon", bad, (7, u16(flags)))
    # Names, longest code, codes of each length, sets, default set, default filter: section 13.
    at = 35
    equal(load("tags.bloom")[at:at + 18], b"\2\x08phishing\7malware", "names of tags")
    for place, change in [(1, b"\0"), (2, b"\xff"), (18, b"\x21"), (18, b"\x20"), (19, u16(1)),
                          (21, u16(2)), (25, u16(3))]:
        rule("tags", bad, (at + place, change))
    sets = at + 19 + 2 * (load("tags.bloom")[at + 18] + 1)
    rule("tags", bad, (sets + 1, b"\2"))
    rule("tags", bad, (decode(load("tags.bloom")).metadata, b"\3"))
    # Names that stand elsewhere come first, and aren't compared.
    for names in (["phishing"], [f"tag {i}" for i in range(255)]):
        equal(decode(load("tags.bloom"), names=names).tag_names, names + ["phishing", "malware"], "more names")
    rule("bloom", bad, (6, b"\3\xff"), cut=7)  # in the order of the bytes
    rule("bloom", "truncated", (7, b"\xff"), cut=8)
    rule("bloom", "unsupported_version", (4, b"\2\xff\xff"))
    rule("bloom", "unsupported_kind", (5, b"\xff\xff\xff"))
    rule("bloom", bad, (6, b"\3"), secret=secret)
    rule("bloom", "wrong_secret", (17, u32(0)), secret=secret)
    rule("keyed-bloom", "secret_required", (25, u32(0)))
    rule("keyed-bloom", "wrong_secret", (17, b"\0\0"), secret=secret)
    rule("keyed-bloom", "wrong_secret", secret=SECRET[::-1])
    rule("keyed-bloom", "truncated", cut=24)
    rule("keyed-bloom", "secret_required", cut=25)
    rule("bloom", "truncated", cut=16, secret=secret)
    rule("bloom", "wrong_secret", cut=17, secret=secret)
    blob = load("bloom.bloom")
    for wrong, wanted in [(b"", "truncated"), (b"\xb5B", "truncated"), (b"a", "not_a_filter"),
                          (b"\xb5a", "not_a_filter"),
                          (blob + b"\0", "trailing_bytes"), (blob[:-1] + b"\0\0", "checksum_mismatch")]:
        equal(code(decode, wrong), wanted, wrong[-4:])
    for change in [(17, u32(0)), (21, b"\0"), (21, b"\x41"), (22, b"\0"), (22, b"\5")]:
        rule("counting4", bad, change)
    rule("scalable-from-1", "no error")
    for change in [(17, u32(0)), (21, b"\0"), (21, b"\x11"), (22, f64(0)), (22, f64(1)), (22, f64(math.nan)),
                   (22, f64(1e-19)),
                   (30, f64(0)), (30, f64(1)), (30, f64(math.nan)), (38, u64(2**64 - 1))]:
        rule("scalable-from-1", bad, change)
    for change in [(17, u32(0)), (17, u32(7)), (21, b"\0"), (21, b"\x21"), (17, u32(2**32 - 2) + b"\x20")]:
        rule("cuckoo", bad, change)
    for change in [(17, u32(0)), (21, f64(1)), (21, f64(2**-33)), (21, f64(math.nan)), (21, f64(-1)), (30, b"\0"),
                   (30, b"\5"),
                   (31, u32(0)), (31, u32(12))]:
        rule("ribbon", bad, change)
    rule("ribbon-empty", bad, (17, u32(1)))
    rule("ribbon", "truncated", (31, u32(2**32 - 8)))
    first = decode(load("slots-one.bloom"))
    for change in (u32(0), u32(1 << 30), u32(1 << 31)):
        rule("slots-one", bad, (first.metadata - 4, change))
    table = decode(load("layers.bloom")).table
    for at, change in [(5, b"\0"), (5, b"\3"), (10, f64(1)), (10, f64(0)), (10, f64(math.nan)),
                       (18, b"\0"), (18, b"\3"),
                       (19, u32(0)), (24, b"\0"), (24, b"\5"), (25, u32(0)), (25, u32(9))]:
        rule("layers", bad, (table + at, change))
    two = decode(load("slots-two.bloom")).table
    for change in (u32(0), u32(1 << 30)):
        rule("slots-two", bad, (two + 18, change))
    stages = decode(load("ribbon-stages.bloom"))
    at, found = stages.start, 0
    for stage in stages.filter.stages:
        if stage.buckets % 4:
            rule("ribbon-stages", bad, (at + stage.planes - 1, b"\xff"))
            found += 1
        at += stage.size
    equal(found > 0, True, "a stage with unused bits")
    scalable, found = decode(load("scalable.bloom")), 0
    at = scalable.start
    for m, _ in scalable.slices:
        at, found = at + ceil_div(m, 8), found + (m % 8 > 0)
        if m % 8:
            rule("scalable", bad, (at - 1, b"\xff"))
    equal(found > 0, True, "a slice with unused bits")
    name = "foreign-go-bloom"
    for at, change, wanted in [(17, b"\0", "unsupported_kind"), (17, b"\x1a", "unsupported_kind"),
                               (18, b"\x0d", "unsupported_kind"), (18, b"\0", "unsupported_kind"),
                               (19, b"\x08", bad), (20, b"\0", bad), (23, u64(0), bad),
                               (35, u16(0), bad),
                               (23, u64(2**40 + 1), bad), (35, u16(1025), bad), (9, b"\1", bad), (31, u32(1208), bad),
                               (7, u16(3 | 16), bad), (7, u16(3 | 32), "secret_required")]:
        rule(name, wanted, (at, change))
    rule(name, "unsupported_kind", (17, b"\x1a"), cut=19)
    rule(name, "truncated", (17, b"\x1a"), cut=18)
    rule(name, "unsupported_kind", (18, b"\0"), cut=19)
    keyed = load(name + ".bloom")[:-8]
    keyed = keyed[:7] + u16(35) + keyed[9:17] + u64(derived(SECRET, 0)[0]) + keyed[17:]
    equal(code(decode, seal(keyed), SECRET), bad, "keyed kind 6")
    rule("foreign-guava", bad, (19, b"\1"))
    rule("foreign-guava", bad, (35, u16(256)))
    rule("foreign-guava", bad, (23, u64(9599)))
    rule("foreign-guava", bad, (6, b"\1"), (18, b"\7"))
    rule("foreign-parquet-sbbf", bad, (35, u16(7)))
    rule("foreign-parquet-sbbf", bad, (17, b"\x11\x08"))
    rule("foreign-redisbloom", bad, (9, b"\1"))
    # A delta over kind 6 may only change the metadata.
    parent = load("foreign-guava.bloom")
    head = MAGIC + struct.pack("<BBBHQ", 1, 7, 0, 17, 0) + parent[-8:] + b"\6golden"
    bare = head[:7] + u16(1) + head[9:]
    equal(decode(apply(parent, seal(bare))).name, "golden", "metadata of kind 6")
    equal(code(apply, parent, seal(head + bytes(5))), "wrong_kind", "a number of keys over kind 6")
    delta = load("ribbon.delta")
    made = decode(delta)
    equal(code(apply, parent, seal(head + delta[made.table:-8])), "wrong_kind", "layers over kind 6")
    equal(code(decode, seal(delta[:7] + u16(made.flags & ~16) + delta[9:-8])), "checksum_mismatch", "no flag 16")
    tags, old = load("tags.delta"), load("tags.bloom")
    its = decode(tags)
    equal(its.layers[-1].tags.names, ["spam"], "the name that is new")
    for name in (b"\7malware", b"\0"):  # known already, or none: so the numbers of the sets are unknown
        spam = tags.index(b"\4spam", its.table)
        wrong = seal(tags[:spam] + name + tags[spam + 5:-8])
        equal(code(apply, old, wrong), bad, "a name that can't be")


def check_damage(path, every):
    """Every truncation, and changes of single bytes."""
    blob, secret = path.read_bytes(), secret_of(path.stem)
    start = decode(blob, secret).start
    for n in range(len(blob)):
        equal(code(decode, blob[:n], secret), "truncated", f"{n} bytes")
    for at in range(len(blob)):
        if every or at % 23 == 7 or at < 48:
            for value in {blob[at] ^ 1, blob[at] ^ 128, 255 - blob[at]} if every else {blob[at] ^ 1 << at % 8}:
                found = code(decode, blob[:at] + bytes([value]) + blob[at + 1:], secret)
                wanted = "not_a_filter" if at < 4 else "unsupported_version" if at == 4 else "checksum_mismatch"
                if at < 5 or at >= start:
                    equal(found, wanted, f"byte {at}")
                equal(found == "no error", False, f"byte {at}")


def main(every):
    paths = sorted(path for path in FOLDER.iterdir() if path.suffix in (".bloom", ".delta"))
    by_suffix = {".bloom": check_golden, ".delta": check_delta}
    checks = [(path.name, lambda path=path: by_suffix[path.suffix](path)) for path in paths]
    checks += [(f"damage of {path.name}", lambda path=path: check_damage(path, every)) for path in paths]
    checks += [(check.__doc__.strip(), check) for check in (check_examples, check_hashes, check_rules)]
    there = {path.name for path in paths}
    for name in [name + ".bloom" for name in GOLDEN] + [name + ".delta" for name in CHILDREN]:
        if name not in there:
            checks.append((name, lambda name=name: equal("missing", "there", name)))
    failed = 0
    for name, check in checks:
        try:
            check()
            print("ok", name)
        except (Error, AssertionError, OSError) as error:
            failed += 1
            print("FAILED", name, "-", error)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main("--every" in sys.argv[1:]))
