#!/usr/bin/env python3
"""Checks the reader of FORMAT.md, and so that the page is complete.

    python3 tests/readers/check.py             the golden files (section 11) and the rules of the page
    python3 tests/readers/check.py --every     damages each byte of the files; without it, a sample

It needs the package xxhash.
"""

import math
import struct
import sys
from pathlib import Path

from hashes import KEYS, W32, fnv1, fnv64, murmur128, murmur2, murmur32, murmur64a
from reader import (Bloom, Counting, Cuckoo, Delta, Error, Foreign, LAYERS, MAGIC, PASSWORD, RAW, Ribbon, SLOTS,
                    Scalable, Stage, TAGS, URL, apply, ceil_div, decode, derived, digest, equation, is_address,
                    positions, salted, seal, slot, step)

SECRET = bytes(range(16))
NAMED = {"name": "golden", "created": 1700000000000}
FOLDER = Path(__file__).parent.with_name("golden")
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
