#!/usr/bin/env python3
"""A reader for the blobs of FORMAT.md, all kinds of version 1.

It was written from FORMAT.md alone, by somebody who had not seen the implementation, and is kept as a proof that the
page is complete. The names are the page's, and so are the numbers of the sections.

    python3 tests/reader.py     checks the golden files (section 11)

It needs Python 3.10 and the package xxhash.
"""

import struct
import sys
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


class Filter:
    """What the kinds have in common.

    A kind has `read`, which takes its parameters and tells the size of the payload, `check`, the rules for the payload,
    and `has_digest`, which asks it alone, without the layers upon it.
    """

    profile = 0
    options = 0
    seed = 0
    name = None
    created = None
    layers = ()
    payload = b""

    def has(self, key):
        d = xxh64(key, self.seed)
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

    def read(self, fields):
        keys = fields.u32()
        p = fields.f64()
        must(2**-32 <= p < 1)
        attempt = fields.u8()
        count = fields.u8()
        must(count <= 4)
        must((keys == 0) == (count == 0))
        return self.read_rows(fields, p, attempt, count)

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

    def __init__(self, fields):
        self.type = fields.u8()
        must(self.type in (self.INCLUDE, self.EXCLUDE))
        salt = fields.u32()
        p = fields.f64()
        must(2**-32 <= p < 1)
        count = fields.u8()
        must(count == 1 if self.type == self.INCLUDE else count >= 1)
        self.levels = []
        self.sizes = []
        for i in range(count):
            level = Level()
            self.sizes.append(level.read(fields, p if i == 0 else 1 / 2, (salt + i) % 2**32))
            self.levels.append(level)

    def ask(self, d):
        """Whether the key is maybe present; None if the next layer below is asked."""
        j = 0
        while j < len(self.levels) and self.levels[j].has_digest(d):
            j += 1
        if j % 2 == 0:
            return None
        return self.type == self.INCLUDE


KINDS = {1: Bloom, 2: Counting, 3: Scalable, 4: Cuckoo, 5: Ribbon}
MAGIC = bytes.fromhex("B5424C4D")


def decode(blob):
    """The filter in a blob; an Error for the first fault in the order of section 8."""
    fields = Fields(blob)
    if blob[:4] != MAGIC[: len(blob)]:
        raise Error("not_a_filter")
    fields.take(4)
    if fields.u8() != 1:
        raise Error("unsupported_version")
    kind = fields.u8()
    if kind not in KINDS:
        raise Error("unsupported_kind")
    result = KINDS[kind]()

    result.profile = fields.u8()
    must(result.profile <= 2)
    flags = fields.u8()
    must(flags <= 31)
    result.options = flags & (4 | 8)
    must(result.options == 0 or result.profile == 2)
    result.seed = fields.u64()
    size = result.read(fields)
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
        must(count >= 1)
        fields.u32()  # the keys of the stack
        result.layers = [Layer(fields) for _ in range(count)]
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


GOLDEN = Path(__file__).resolve().parent / "golden"
COUNTED = [0, *range(100, 1000)]
# of the files with layers: the members after the two updates, those removed, and those that must be absent anyhow
UPDATED = [*range(10), *range(50, 1000), *range(1010, 1050)]
REMOVED = [*range(10, 50), *range(1000, 1010)]
STRANGERS = range(1500, 3000)
MADE = 1700000000000
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
    "layers.bloom": (Ribbon, 42, 0, 0, None, None, UPDATED, range(4000), [*REMOVED, *STRANGERS]),
    "counting-layers.bloom": (Counting, 42, 0, 0, "golden", None, range(5, 3000), range(4000), range(5)),
    "url.bloom": (Ribbon, 42, 1, 0, None, None, range(1000), range(1000, 3000), ()),
    "password-lowercase.bloom": (Bloom, 42, 2, 4, None, None, range(1000), range(1000, 3000), ()),
    "password-sha1-layers.bloom": (Bloom, 42, 2, 12, "golden", MADE, UPDATED, range(4000), [*REMOVED, *STRANGERS]),
}


def key(i):
    return b"key-%d" % i


def code_of(blob):
    """The code of a blob's fault; None if it has none."""
    try:
        decode(blob)
    except Error as error:
        return error.code
    return None


def xored(blob, i, change):
    return blob[:i] + bytes([blob[i] ^ change]) + blob[i + 1 :]


def sealed(body):
    return body + xxh64(body, 0).to_bytes(8, "little")


def check_answers(file, blob):
    kind, seed, profile, options, name, created, members, asked, excluded = TABLE[file.name]
    filter = decode(blob)
    assert type(filter) is kind, "another kind"
    assert (filter.seed, filter.profile, filter.options) == (seed, profile, options), "another header"
    assert (filter.name, filter.created) == (name, created), "other metadata"
    assert bool(filter.layers) == bool(excluded), "layers where none should be, or none"
    check_members(filter, members, excluded)
    listed = {int(line) for line in file.with_suffix(".txt").read_text().split()}
    present = {i for i in asked if filter.has(key(i))}
    assert present == listed, f"the present ones differ from the list: {sorted(present ^ listed)[:9]}"


def check_members(filter, members, excluded):
    absent = [i for i in members if not filter.has(key(i))]
    assert not absent, f"members are absent: {absent[:9]}"
    present = [i for i in excluded if filter.has(key(i))]
    assert not present, f"excluded ones are present: {present[:9]}"


def check_damage(blob):
    for n in range(len(blob)):
        assert code_of(blob[:n]) == "truncated", f"the first {n} bytes aren't truncated"
    assert code_of(blob + b"\0") == "trailing_bytes", "a byte more isn't refused"
    for i in range(len(blob)):
        for change in (0x01, 0x80):
            assert code_of(xored(blob, i, change)), f"byte {i} xor {change} isn't refused"


def check_resealed(blob):
    """Whatever has a good checksum is refused or answers."""
    body = blob[:-8]
    head = min(max(64, decode(blob).start), len(body))
    for i in [*range(head), *range(head, len(body), 17), len(body) - 1]:
        for change in (0x01, 0x80, 0xFF):
            try:
                filter = decode(sealed(xored(body, i, change)))
            except Error:
                continue
            for j in range(10):
                filter.has(key(j))


def check_rules(blob):
    """The rules for profile and flags, and for the table of layers, the first of which must be an exclude.

    Nothing follows the field at fault, so a rule that isn't checked in its place shows as `truncated`.
    """
    faults = [(6, b"\3"), (6, b"\0\4"), (6, b"\1\x08"), (7, bytes([blob[7] | 32]))]
    filter = decode(blob)
    if filter.layers:
        t = filter.table
        faults += [(t, b"\0"), (t + 5, b"\0"), (t + 5, b"\3"), (t + 5, b"\1" + blob[t + 6 : t + 19])]
        faults += [(t + 10, struct.pack("<d", p)) for p in (0.0, -0.5, 2**-33, 1.0, float("nan"))]
        faults += [(t + 18, b"\0"), (t + 19, bytes(4)), (t + 24, b"\0"), (t + 24, b"\5")]
        faults += [(t + 25, bytes(4)), (t + 25, b"\x0c\0\0\0")]
    for i, field in faults:
        assert code_of(blob[:i] + field) == "invalid_parameter", f"{field} at {i} isn't refused as it should be"


def check_grafted(blob):
    """The layers of the two updates, put upon a base of any other kind with the same seed."""
    filter = decode(blob)
    if len(filter.layers) < 6:
        return
    table = blob[filter.table : filter.start]
    payload = blob[filter.start + len(filter.payload) : -8]
    for name, (_, seed, _, _, _, _, members, _, excluded) in TABLE.items():
        if seed != filter.seed or excluded:
            continue
        other = (GOLDEN / name).read_bytes()
        base = decode(other)
        stack = decode(sealed(xored(other[: base.table], 7, 16) + table + base.payload + payload))
        # not the keys added: an include need not hold those that its own base has anyway
        kept = {*members} & {*range(50, 1000)}
        check_members(stack, kept | {*range(10)}, REMOVED)


def main():
    passed = failed = 0
    for name in sorted(TABLE.keys() | {file.name for file in GOLDEN.glob("*.bloom")}):
        try:
            file = GOLDEN / name
            blob = file.read_bytes()
            check_answers(file, blob)
            check_damage(blob)
            check_resealed(blob)
            check_rules(blob)
            check_grafted(blob)
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
