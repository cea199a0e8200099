"""A reader for the blobs of FORMAT.md, all kinds. The numbers of sections are that page's.

It was written from FORMAT.md alone, by somebody who had not seen the implementation, and is kept as a proof that the
page is complete. `check.py` asks it about the golden files and the rules of the page. It needs the packages xxhash and
mmh3.
"""

import functools
import hashlib
import math
import re
import struct
import unicodedata
from fractions import Fraction

import mmh3
import xxhash

import hashes

M32 = 0xFFFFFFFF
MAGIC = b"\xb5BLM"
NAME, CREATED, OPTIONS, LAYERS, KEYED, SLOTS, TAGS = 1, 2, 12, 16, 32, 64, 128  # flags, section 4
RAW, URL, PASSWORD = 0, 1, 2
BLOOM, COUNTING, SCALABLE, CUCKOO, RIBBON, FOREIGN, DELTA = range(1, 8)
INCLUDE, EXCLUDE = 1, 2


class Error(Exception):
    def __init__(self, code, why=""):
        super().__init__(f"{code}: {why}" if why else code)
        self.code = code


def need(true, why, code="invalid_parameter"):
    if not true:
        raise Error(code, why)


# Section 3: from a key to its digest, and the states.


def text_key(s):
    """The key of a text: each lone surrogate is U+FFFD."""
    return s.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


@functools.lru_cache
def secret_values(secret, seed):
    """The check value, k0 and k1."""
    s = struct.pack("<Q", seed)
    return tuple(hashes.siphash(secret, s + bytes([i])) for i in range(3))


def digest_plain(key, seed):
    return mmh3.hash(key, seed >> 32, signed=False) << 32 | xxhash.xxh32_intdigest(key, seed & M32)


def digest_keyed(key, k0, k1):
    return hashes.siphash(struct.pack("<QQ", k0, k1), key)


def digest(key, seed, secret=None):
    """The digest of a key, without its slot."""
    return digest_plain(key, seed) if secret is None else digest_keyed(key, *secret_values(secret, seed)[1:])


def is_ip(host):
    """Section 12: an IP address."""
    return host.startswith(b"[") or re.fullmatch(rb"[0-9]{1,3}(\.[0-9]{1,3}){3}", host) is not None


def slot_of(key):
    host, slash, rest = key.partition(b"/")
    rest = slash + rest
    dots = host.count(b".")
    h = dots - 1 if 1 <= dots <= 4 and not is_ip(host) else 4
    if b"?" in rest:
        p = 5
    else:
        n = rest.count(b"/")
        p = n - 1 if rest.endswith(b"/") and 1 <= n <= 4 else 4
    return 6 * h + p


def with_slot(d, slot):
    return d & ((1 << 59) - 1) | slot << 59


def site_of(key):
    """Section 12: the part of a host that says in which shard its keys are."""
    host = key.partition(b"/")[0]
    if b"." not in host or is_ip(host):
        return host
    return b".".join(host.split(b".")[-2:])


def f(a):
    """The function of a round."""
    y = a * 0x9E3779B1 & M32
    return y ^ y >> 15


def round_(state):
    a, b = state >> 32, state & M32
    return (b ^ f(a)) << 32 | a


def mix(x, n):
    x ^= n << 32
    return round_(round_(round_(x)))


def place(state, m):
    return (state >> 32) * m >> 32 if m <= 1 << 28 else state * m >> 64


def shard_of(d, n):
    """Section 12"""
    return d * n >> 64


def positions(d, m, k):
    s, out = mix(d, 0), []
    for _ in range(k):
        out.append(place(s, m))
        s = round_(s)
    return out


def buckets(d, n, f):
    """Section 6.4: the fingerprint and both buckets."""
    t = mix(d, 0)
    p = 1 + ((t & M32) * ((1 << f) - 1) >> 32)
    b1 = place(t, n)
    s = place(mix(p, 0), n) | 1
    return p, b1, (s - b1) % n


# Reading a blob.


def text(raw, what):
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Error("invalid_parameter", what) from None


class In:
    """Reads fields; one that isn't all there is `truncated`."""

    def __init__(self, data):
        self.d, self.o = data, 0

    def take(self, n):
        if self.o + n > len(self.d):
            raise Error("truncated", f"{n} bytes from {self.o}")
        v = self.d[self.o : self.o + n]
        self.o += n
        return v

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return struct.unpack("<H", self.take(2))[0]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def f64(self):
        return struct.unpack("<d", self.take(8))[0]


# Section 6.5.


class Ribbon:
    """A ribbon filter: that of kind 5, or a level of a layer."""

    def __init__(self, p, attempt, rows):
        self.p, self.attempt, self.rows = p, attempt, rows
        # 2^-(c+1) < p <= 2^-c
        m, e = math.frexp(p)  # p = m 2^e, 1/2 <= m < 1
        self.c = c = -e + (1 if m == 0.5 else 0)
        assert 2.0 ** -(c + 1) < p <= 2.0**-c
        self.v = v = 2 - 2 * p * 2.0**c
        self.geo = []
        for i, R in enumerate(rows):
            S = max(1, R - 63)
            V = math.ceil(v * S)
            W = 0 if V == 0 else min(-(-V // 64) + 1, -(-R // 64))
            last = i == len(rows) - 1
            nb = 0 if last else -(-S // 128)
            size = -(-2 * nb // 8) + (c // 8) * R + (c % 8) * R // 8 + min(64 * W, R) // 8
            self.geo.append((R, S, V, W, nb, size))
        self.size = sum(g[5] for g in self.geo)

    def load(self, data):
        c, o = self.c, 0
        self.stages = []
        for R, S, V, W, nb, size in self.geo:
            st = data[o : o + size]
            o += size
            q = -(-2 * nb // 8)
            bk = st[:q]
            buckets = [bk[i // 4] >> (i % 4 * 2) & 3 for i in range(nb)]
            if nb % 4:
                need(bk[-1] >> (nb % 4 * 2) == 0, "unused bits of buckets")
            cols = {}
            for pl in range(c // 8):
                part = st[q : q + R]
                q += R
                for j in range(8):
                    bits = "".join("1" if b >> j & 1 else "0" for b in reversed(part))
                    cols[8 * pl + j] = int(bits, 2)
            nblocks = -(-R // 64)
            names = list(range(8 * (c // 8), c))
            for n in names + [c]:
                cols.setdefault(n, 0)
            chunks = {n: [] for n in names + [c]}
            for b in range(nblocks):
                w = min(64, R - 64 * b) // 8
                for n in names + ([c] if b < W else []):
                    chunks[n].append(st[q : q + w])
                    q += w
            for n, ch in chunks.items():
                cols[n] = int.from_bytes(b"".join(ch), "little")
            assert q == size
            blocks = []
            for n in range(c + 1):
                raw = cols[n].to_bytes(8 * nblocks, "little")
                blocks.append(list(struct.unpack(f"<{nblocks}Q", raw)) + [0])
            self.stages.append((R, S, V, buckets, blocks))

    def has(self, d):
        state = d
        for i, (R, S, V, buckets, blocks) in enumerate(self.stages):
            t = self.attempt if i == len(self.stages) - 1 else 0
            state = mix(state, i * 256 + t)
            start = place(state, S)
            if buckets and start % 128 < (0, 15, 44, 128)[buckets[start // 128]]:
                continue
            co = round_(round_(state)) | 1
            if R < 64:
                co &= (1 << R) - 1
            fp = state & M32
            qb, r = divmod(start, 64)
            for n in range(self.c + 1 if start < V else self.c):
                w = blocks[n][qb] >> r | (blocks[n][qb + 1] << (64 - r) if r else 0)
                if bin(w & co).count("1") & 1 != fp >> n & 1:
                    return False
            return True
        return False


def read_rate(i, what):
    p = i.f64()
    need(p >= 2.0**-32 and p < 1, what)
    return p


def read_rows(i, lo):
    L = i.u8()
    need(lo <= L <= 4, "stages")
    rows = []
    for _ in range(L):
        r = i.u32()
        need(r % 8 == 0 and r >= 8, "rows")
        rows.append(r)
    return rows


class Level:
    def __init__(self, i, p):
        self.n = i.u32()
        need(self.n >= 1, "keys of a level")
        self.attempt = i.u8()
        self.ribbon = Ribbon(p, self.attempt, read_rows(i, 1))


def read_map(i):
    m = i.u32()
    need(m >> 30 == 0, "bits 30 and 31 of a map")
    return m


# Section 13.

FORBIDDEN = re.compile("[\u0000-\u001f,\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def is_tag_name(name):
    return 1 <= len(name.encode()) <= 255 and not FORBIDDEN.search(name)


class Tags:
    """The tags of a base or an include. `own` are the names of the parts below it in this blob. `elsewhere` is how many
    names come before these: those of a shard's manifest; None in a delta, where they aren't known."""

    def __init__(self, i, elsewhere, own, salt):
        n = i.u8()
        need(len(own) + n <= 255, "too many names")
        self.names = []
        for _ in range(n):
            raw = i.take(i.u8())
            t = text(raw, "a name must be UTF-8")
            need(is_tag_name(t), "name")
            need(t not in own and t not in self.names, "name twice")
            self.names.append(t)
        total_names = None if elsewhere is None else elsewhere + len(own) + n
        K = i.u8()
        need(K <= 32, "longest code")
        self.K = K
        counts = [i.u16() for _ in range(K + 1)]
        need(sum(Fraction(c, 1 << l) for l, c in enumerate(counts)) == 1, "code lengths")
        need(counts[K] != 0 and sum(counts) <= 65535, "code lengths")
        self.sets, self.codes, code = [], {}, 0
        self.max_number = -1
        for l, c in enumerate(counts):
            if l:
                code <<= 1
            prev = None
            for _ in range(c):
                s = tuple(i.take(i.u8()))
                need(all(x < y for x, y in zip(s, s[1:])), "numbers ascend")
                if s:
                    self.max_number = max(self.max_number, s[-1])
                if total_names is not None and s:
                    need(s[-1] < total_names, "number of a name")
                need(prev is None or prev < s, "sets ascend")
                prev = s
                self.codes[l, code] = s
                self.sets.append(s)
                code += 1
        dflt = i.u16()
        need(dflt < len(self.sets), "default set")
        self.default = self.sets[dflt]
        has = i.u8()
        need(has in (0, 1) and not (has and K == 0), "default filter")
        self.filter = self.code = None
        if has:
            self.filter = Level(i, read_rate(i, "fpr of the default filter"))
        if K:
            self.code = Level(i, 0.5)
        self.salt = salt

    def levels(self):
        return [x for x in (self.filter, self.code) if x]

    def of(self, d):
        if self.filter and not self.filter.ribbon.has(mix(d, (self.salt + 2) & M32)):
            return self.default
        code = 0
        for l in range(self.K + 1):
            if (l, code) in self.codes:
                return self.codes[l, code]
            code = code << 1 | self.code.ribbon.has(mix(d, (self.salt + 3 + l) & M32))
        raise AssertionError("the codes are complete")


class Layer:
    def __init__(self, i, blob):
        self.type = i.u8()
        need(self.type in (INCLUDE, EXCLUDE), "type of a layer")
        self.salt = i.u32()
        self.p = read_rate(i, "fpr of a layer")
        self.map = None
        if blob.flags & SLOTS:
            self.map = read_map(i)
            need(self.map != 0, "map of a layer")
        n = i.u8()
        need(1 <= n <= self.type, "levels")
        self.levels = [Level(i, self.p if j == 0 else 0.5) for j in range(n)]
        self.tags = None
        if self.type == INCLUDE and blob.flags & TAGS:
            self.tags = Tags(i, blob.elsewhere, blob.own, self.salt)
            blob.own = blob.own + self.tags.names

    def has(self, j, d):
        return self.levels[j].ribbon.has(mix(d, (self.salt + j) & M32))


# Sections 6.1 and 6.3: sizes.


def bits_per_key(p):
    b = -math.log(p) / (math.log(2) * math.log(2))
    h = math.floor(b * math.log(2) + 0.5)
    if h <= 1:
        return -1 / math.log(1 - p)
    if h == 2:
        return -2 / math.log(1 - math.sqrt(p))
    return b


def scalable_slices(c, s, p, r, n):
    """The bits and hashes of each slice for `n` keys, and how many keys they can hold."""
    q0, rate, cap, total, out = 0.9 * p * (1 - r), 1.0, c, 0, []
    while True:
        need(len(out) < 255, "keys: more than 255 slices")
        q = q0 * rate
        need(q > 0 and Fraction(q) >= Fraction(100 * cap, 1 << 64), "rate of a slice")
        t = max(cap, 100)
        B = math.ceil(1024 * bits_per_key(q)) / 1024
        m = math.ceil(t * B)
        need(m < 1 << 32, "too many bits")
        k = max(1, math.floor(m / t * math.log(2) + 0.5))
        out.append((m, k))
        total += cap
        if total >= n:
            return out, total
        cap *= s
        rate *= r


def size_of_bloom(n, p):
    """The bits and hashes that a writer takes for 1,000 keys or more."""
    n = max(n, 1)
    m = math.ceil(n * bits_per_key(p))
    return m, max(1, math.floor(m / n * math.log(2) + 0.5))


# Sections 2 and 4 to 8: the blob.


class Blob:
    """A filter or a delta. `names` are those of the tags of a sharded filter, for its shards (section 13)."""

    def __init__(self, data, secret=None, names=()):
        i = In(data)
        need(data[:4] == MAGIC[: len(data)], "magic", "not_a_filter")
        i.take(4)
        need(i.u8() == 1, "version", "unsupported_version")
        self.kind = i.u8()
        need(BLOOM <= self.kind <= DELTA, "kind", "unsupported_kind")
        self.profile = i.u8()
        need(self.profile in (RAW, URL, PASSWORD), "profile")
        self.flags = fl = i.u16()
        need(fl >> 8 == 0, "flags")
        need(self.profile == PASSWORD or not fl & OPTIONS, "flags 4 and 8")
        need(not fl & SLOTS or self.profile == URL and self.kind in (RIBBON, DELTA), "flag 64")
        need(not fl & TAGS or self.kind in (RIBBON, DELTA), "flag 128")
        self.seed = i.u64()
        self.check = None
        if fl & KEYED:
            self.check = i.u64()
            need(secret is not None, "keyed", "secret_required")
            c, self.k0, self.k1 = secret_values(secret, self.seed)
            need(c == self.check, "check value", "wrong_secret")
        else:
            need(secret is None, "not keyed", "wrong_secret")
        # The names of tags that are stored elsewhere, and those of this blob.
        self.known = list(names)
        self.elsewhere = None if self.kind == DELTA else len(self.known)
        self.own, self.tags, self.map, self.n = [], None, None, None
        self.in_params = i.o
        self.parts = []  # (bytes, loader) of the payload
        of_kinds = [
            self.params_bloom,
            self.params_counting,
            self.params_scalable,
            self.params_cuckoo,
            self.params_ribbon,
            self.params_foreign,
            self.params_delta,
        ]
        of_kinds[self.kind - 1](i)
        # Section 5.
        self.meta_at = i.o
        self.name = self.created = None
        self.tag_counts = None
        if fl & NAME:
            self.name = text(i.take(i.u8()), "name")
        if fl & CREATED:
            self.created = i.u64()
        if fl & TAGS:
            self.tag_counts = [i.u32() for _ in range(i.u8())]
        self.meta_end = i.o
        # Section 7.
        self.layers, self.members = [], None
        if fl & LAYERS:
            n = i.u8()
            self.members = i.u32()
            self.layers_at = i.o
            for _ in range(n):
                self.layers.append(Layer(i, self))
        self.table_end = i.o
        if fl & TAGS and self.kind != DELTA:
            need(len(self.tag_counts) <= len(self.all_names), "numbers of members of tags")
        ribbons = []
        if self.tags:
            ribbons += [l.ribbon for l in self.tags.levels()]
        for L in self.layers:
            ribbons += [l.ribbon for l in L.levels]
            if L.tags:
                ribbons += [l.ribbon for l in L.tags.levels()]
        size = sum(s for s, _ in self.parts) + sum(r.size for r in ribbons)
        end = i.o + size
        need(end + 4 <= len(data), "payload", "truncated")
        checksum = struct.unpack_from("<I", data, end)[0]
        need(xxhash.xxh32_intdigest(data[:end], 0) == checksum, "checksum", "checksum_mismatch")
        need(end + 4 == len(data), "bytes after the checksum", "trailing_bytes")
        self.payload_end = end
        o = i.o
        for s, load in self.parts:
            load(data[o : o + s])
            o += s
        for r in ribbons:
            r.load(data[o : o + r.size])
            o += r.size
        assert o == end
        self.id = (len(data) & M32) << 32 | checksum

    @property
    def all_names(self):
        return self.known + self.own

    # Section 6: the parameters of each kind.

    def params_bloom(self, i):
        m = i.u32()
        need(m >= 1, "bits")
        k = i.u8()
        need(1 <= k <= 64, "hashes")
        self.slices = []
        self.add_bits(m, k)

    def add_bits(self, m, k):
        def load(d):
            if m % 8:
                need(d[-1] >> m % 8 == 0, "unused bits")
            self.slices.append((m, k, d))

        self.parts.append((-(-m // 8), load))

    def params_counting(self, i):
        m = i.u32()
        need(m >= 1, "counters")
        k = i.u8()
        need(1 <= k <= 64, "hashes")
        w = i.u8()
        need(w in (4, 8), "bits of a counter")
        self.m, self.k, self.width = m, k, w

        def load(d):
            if w == 4 and m % 2:
                need(d[-1] >> 4 == 0, "unused half")
            self.counters = [d[j // 2] >> 4 * (j & 1) & 15 for j in range(m)] if w == 4 else list(d)

        self.parts.append((m if w == 8 else -(-m // 2), load))

    def params_scalable(self, i):
        c = i.u32()
        need(c >= 1, "initial capacity")
        s = i.u8()
        need(1 <= s <= 16, "growth")
        p = i.f64()
        need(0 < p < 1 and p >= 100 * c / 2.0**64, "fpr")
        r = i.f64()
        need(0 < r < 1, "tightening")
        self.n = n = i.u64()
        sl, _ = scalable_slices(c, s, p, r, n)
        self.slices = []
        for m, k in sl:
            self.add_bits(m, k)

    def params_cuckoo(self, i):
        n = i.u32()
        need(n % 2 == 0 and n >= 2, "buckets")
        fb = i.u8()
        need(1 <= fb <= 32 and n * fb // 2 < 1 << 31, "bits of a fingerprint")
        self.buckets, self.f = n, fb

        def load(d):
            self.table = d

        self.parts.append((n * fb // 2, load))

    def params_ribbon(self, i):
        n = i.u32()
        p = read_rate(i, "fpr")
        attempt = i.u8()
        rows = read_rows(i, 0)
        need((n == 0) == (not rows), "keys and stages")
        if self.flags & SLOTS:
            self.map = read_map(i)
            need((self.map == 0) == (n == 0), "map")
        self.n = n
        self.ribbon = Ribbon(p, attempt, rows)
        self.parts.append((self.ribbon.size, self.ribbon.load))
        if self.flags & TAGS:
            self.tags = Tags(i, self.elsewhere, [], (1 << 32) - 256)
            self.own = list(self.tags.names)

    def params_foreign(self, i):
        sc, ky = i.u8(), i.u8()
        known = 1 <= sc <= 25 and ky <= 12 and sc in hashes.SCHEMES_OF_KEYS[ky]
        need(known, "scheme or keys", "unsupported_kind")
        self.scheme, self.keys = sc, ky
        self.layout, P, e = i.u8(), i.u8(), i.u16()
        parts = [(i.u64(), i.u32(), i.u16()) for _ in range(P)]
        self.note = note = i.take(e)
        need(self.seed == 0 or sc in (5, 15, 17, 18, 19, 24), "seed")
        need(not self.flags & (LAYERS | KEYED), "flags")
        need(ky not in (6, 7, 8, 9, 10, 11) or self.profile == RAW, "profile")
        need(self.layout <= (7 if sc == 1 else 0), "layout")
        need(P >= 1 if sc in (7, 8, 24) else P == 1, "parts")
        for m, b, k in parts:
            need(1 <= m <= 1 << 40 and 1 <= k <= 1024, "bits, hashes")
        need(sum(b for _, b, _ in parts) < 1 << 32, "bytes")
        if sc == 1:
            m, b, k = parts[0]
            need(e in (0, 8), "note")
            length = struct.unpack("<Q", note)[0] if e else m
            need(not e or length != m, "note")
            need(b == -(-length // 64) * 8, "bytes")
        else:
            need(e == {7: 8 + 33 * P, 8: 8 + 33 * P, 20: 4 * parts[0][2]}.get(sc, 0), "note")
        for m, b, k in parts:
            if 2 <= sc <= 5:
                need(m == 8 * b and b % 8 == 0, "bits")
            if sc in (2, 3):
                need(k <= 255, "hashes")
            if sc in (16, 19):
                need(m == 8 * b and k == 8 and b % (32 if sc == 16 else 8) == 0, "bits")
            if sc == 24:
                need(m % k == 0 and b == k * -(-m // (8 * k)), "bytes")
            if sc in (17, 18):
                need(k in (8, 16, 32), "fingerprint")
                w = k // 8
                if sc == 17:
                    need(b == 3 * m * w, "fingerprints")
                else:
                    L2 = b // w - m
                    need(b % w == 0 and L2 >= 2 and L2 % 2 == 0, "fingerprints")
                    L = L2 // 2
                    need(L & (L - 1) == 0 and m % L == 0, "fingerprints")
        self.fparts = []

        def loader(m, k):
            return lambda d: self.fparts.append((m, k, d))

        for m, b, k in parts:
            self.parts.append((b, loader(m, k)))

    def params_delta(self, i):
        self.parent = i.u64()

    # Queries.

    @property
    def options(self):
        return self.flags & OPTIONS

    @property
    def count(self):
        """How many different members there are, if the blob says so."""
        return self.n if self.members is None else self.members

    def digest(self, key):
        d = digest_keyed(key, self.k0, self.k1) if self.check is not None else digest_plain(key, self.seed)
        return with_slot(d, slot_of(key)) if self.flags & SLOTS else d

    def base_has(self, key, d, slot):
        if self.kind in (BLOOM, SCALABLE):
            for m, k, bits in self.slices:
                if all(bits[p >> 3] >> (p & 7) & 1 for p in positions(d, m, k)):
                    return True
            return False
        if self.kind == COUNTING:
            return all(self.counters[p] for p in positions(d, self.m, self.k))
        if self.kind == CUCKOO:
            fb = self.f
            p, b1, b2 = buckets(d, self.buckets, fb)
            for b in (b1, b2):
                w = int.from_bytes(self.table[b * fb // 2 : (4 * (b + 1) * fb + 7) // 8], "little") >> (4 * b * fb % 8)
                if any(w >> j * fb & ((1 << fb) - 1) == p for j in range(4)):
                    return True
            return False
        if self.map is not None and not self.map >> slot & 1:
            return False
        return self.ribbon.has(d)

    def part(self, key):
        """What answers *maybe present*: an include, or the blob itself, or None; and the digest."""
        if isinstance(key, str):
            key = text_key(key)
        slot = slot_of(key) if self.flags & SLOTS else None
        if slot is not None and not any((L.map >> slot & 1) for L in self.layers) and not self.map >> slot & 1:
            return None, 0
        d = self.digest(key)
        for L in reversed(self.layers):
            if slot is not None and not L.map >> slot & 1:
                continue
            if L.type == INCLUDE:
                if L.has(0, d):
                    return L, d
            elif L.has(0, d) and (len(L.levels) == 1 or not L.has(1, d)):
                return None, d
        return (self, d) if self.base_has(key, d, slot) else (None, d)

    def has(self, key):
        if self.kind == FOREIGN:
            x = hashes.key_input(self.keys, key if isinstance(key, bytes) else self.foreign_text(key))
            return x is not None and any(
                hashes.in_part(self.scheme, self.keys, self.seed, x, m, k, self.note, d) for m, k, d in self.fparts
            )
        return self.part(key)[0] is not None

    def foreign_text(self, s):
        return s.encode("utf-8", "surrogatepass") if 2 <= self.keys <= 5 else text_key(s)

    def tags_of(self, key):
        part, d = self.part(key)
        return None if part is None else [self.all_names[n] for n in part.tags.of(d)]

    def password_key(self, pw):
        """Section 4: the key of a password, which is a str, or bytes that aren't Unicode text."""
        if isinstance(pw, str):
            t = unicodedata.normalize("NFC", pw)
            if self.flags & 4:
                t = unicodedata.normalize("NFC", t.lower())
            pw = text_key(t)
        return hashlib.sha1(pw).digest() if self.flags & 8 else pw


def decode(data, secret=None, names=()):
    b = Blob(data, secret, names)
    need(b.kind != DELTA, "a delta", "wrong_kind")
    return b


def decode_delta(data, secret=None):
    b = Blob(data, secret)
    need(b.kind == DELTA, "no delta", "wrong_kind")
    return b


def seal(body):
    """A blob of all that is before its checksum."""
    return body + struct.pack("<I", xxhash.xxh32_intdigest(body, 0))


def apply(parent_data, delta_data, secret=None):
    """Section 6.7: the child's blob."""
    p = Blob(parent_data, secret)
    d = Blob(delta_data, secret)
    need(p.kind != DELTA and d.kind == DELTA, "a filter and a delta", "wrong_kind")
    need(d.parent == p.id, "parent", "wrong_base")
    need(p.profile == d.profile, "profile", "incompatible")
    need(not (p.flags ^ d.flags) & (OPTIONS | KEYED | SLOTS | TAGS), "flags", "incompatible")
    need(p.seed == d.seed and p.check == d.check, "seed or check value", "incompatible")
    need(not d.flags & LAYERS or p.kind != FOREIGN, "layers over kind 6", "wrong_kind")
    need(len(p.layers) + len(d.layers) <= 255, "layers")
    if p.flags & TAGS:
        names = p.all_names
        for L in d.layers:
            if L.tags:
                need(len(names) + len(L.tags.names) <= 255, "too many names")
                need(not set(names) & set(L.tags.names), "name twice")
                names = names + L.tags.names
                need(L.tags.max_number < len(names), "number of a name")
        need(len(d.tag_counts) <= len(names), "numbers of members of tags")
    flags = p.flags & ~(NAME | CREATED) | d.flags & (NAME | CREATED | LAYERS)
    pd, dd = parent_data, delta_data
    out = pd[:7] + struct.pack("<H", flags) + pd[9 : p.meta_at] + dd[d.meta_at : d.meta_end]
    if flags & LAYERS:
        n = len(p.layers) + len(d.layers)
        out += struct.pack("<BI", n, d.members if d.flags & LAYERS else p.members)
        if p.flags & LAYERS:
            out += pd[p.layers_at : p.table_end]
        if d.flags & LAYERS:
            out += dd[d.layers_at : d.table_end]
    out += pd[p.table_end : p.payload_end] + dd[d.table_end : d.payload_end]
    return seal(out)
