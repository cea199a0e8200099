"""A reader for the blobs of FORMAT.md, all kinds. The numbers of sections are that page's.

It was written from FORMAT.md alone, by somebody who had not seen the implementation, and is kept as a proof that the
page is complete. `check.py` asks it about the golden files and the rules of the page. It needs the package xxhash.
"""

import functools
import math
import re
import struct

import xxhash

from hashes import (KEYS, SALT, W32, W64, flip, fmix64, fnv1, fnv32, fnv64, i32, i64, mix, murmur128, murmur2,
                    murmur32, murmur64a, rotl, siphash)

MAGIC = b"\xb5BLM"
NAME, CREATED, LAYERS, KEYED, SLOTS, TAGS = 1, 2, 16, 32, 64, 128  # flags, section 4; 4 and 8 are options of profile 2
RAW, URL, PASSWORD = 0, 1, 2
INCLUDE, EXCLUDE = 1, 2
G, M = 0x9E3779B97F4A7C15, 0xF1357AEA2E62A9C5  # sections 6.4 and 6.1


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
