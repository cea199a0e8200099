#!/usr/bin/env python3
"""Checks the reader of FORMAT.md, and so that the page is complete.

    python3 tests/readers/check.py

It needs the packages xxhash and mmh3.
"""

import json
import struct
import sys
from pathlib import Path

from hashes import (SCHEMES_OF_KEYS, fnv1, fnv64, in_part, key64, key_input, murmur128, murmur2, murmur32, murmur64a,
                    positions as places_of)
from reader import (BLOOM, COUNTING, CUCKOO, DELTA, FOREIGN, LAYERS, M32, MAGIC, PASSWORD, RAW, RIBBON, SCALABLE, SLOTS,
                    TAGS, URL, Error, In, Ribbon, Tags, apply, buckets, decode, decode_delta, digest, is_ip, mix,
                    place, positions, round_, scalable_slices, seal, secret_values, site_of, size_of_bloom, slot_of,
                    text_key, with_slot)

SECRET = bytes(range(16))
NAMED = {"name": "golden", "created": 1700000000000}
FOLDER = Path(__file__).parent.with_name("golden")
GOLDEN = {}  # name: what the page says of it
CHILDREN = {"bloom": ("bloom", "bloom-child"), "ribbon": ("ribbon", "ribbon-child"),
            "keyed": ("keyed-ribbon", "keyed-child"), "slots": ("slots-one", "slots-child"),
            "tags": ("tags", "tags-child")}  # delta: parent, child


def golden(names, kind, members=range(1000), asked=range(1000, 3000), absent=(), key="key-{}".format, seed=42, **other):
    for name in names.split():
        fields = {"seed": seed, "profile": RAW, "options": 0, "name": None, "created": None, **other}
        GOLDEN[name] = kind, fields, members, asked, absent, key


def ceil_div(a, b):
    return -(-a // b)


def url(i):
    h, p = i // 6 % 5, i % 6
    host = f"10.0.{i // 256}.{i % 256}" if h == 4 else "w." * h + f"host{i}.example"
    return host + ["/", "/a/", "/a/b/", "/a/b/c/", "/a", "/?q"][p]


def ints(*ranges):
    return [i for first, last in ranges for i in range(first, last + 1)]


MADE = {"members": range(10000), "asked": range(10000, 30000), "seed": 0}
REMOVED, UPDATED = ints((0, 0), (100, 999)), ints((50, 1049))
UPDATES = {"members": ints((0, 9), (50, 999), (1010, 1049)), "asked": range(4000), "absent": range(1500, 3000)}
BY_CHANCE = [int(line) for line in (FOLDER / "bloom.txt").read_text().split()]
ONE = [i for i in range(9000) if i % 30 == 0 or i % 60 == 6]
TWO = {"members": [i for i in range(60000) if i < 300 or i % 30 == 0], "asked": range(60000, 90000),
       "key": url, "profile": URL}
golden("bloom", BLOOM, **NAMED)
golden("bloom-child", BLOOM, [*range(1000), *BY_CHANCE], name="by chance")
golden("counting4 counting8", COUNTING, REMOVED)
golden("scalable scalable-high scalable-one", SCALABLE)
golden("cuckoo", CUCKOO)
golden("scalable-from-1 scalable-from-2 scalable-from-3 scalable-from-4", SCALABLE, range(100))
golden("ribbon", RIBBON)
golden("ribbon-small", RIBBON, range(5))
golden("ribbon-wide", RIBBON, asked=range(1000, 30000), seed=7)
golden("ribbon-stages", RIBBON, range(20000), range(20000, 30000))
golden("ribbon-empty", RIBBON, range(0))
golden("ribbon-child", RIBBON, UPDATED, range(3000), **NAMED)
golden("layers", RIBBON, **UPDATES)
golden("counting-layers", COUNTING, range(5, 3000), range(4000), name="golden")
golden("foreign-go-bloom", FOREIGN, scheme=1, keys=1, layout=1, seed=0, **NAMED)
golden("foreign-guava", FOREIGN, scheme=2, keys=2, seed=0)
golden("foreign-guava-chars", FOREIGN, scheme=3, keys=3, seed=0)
golden("foreign-spark", FOREIGN, scheme=4, keys=2, seed=0)
golden("foreign-spark-v2", FOREIGN, scheme=5, keys=2, seed=2**64 - 7, profile=URL)
golden("foreign-redis-bitmap", FOREIGN, scheme=6, keys=1, seed=0)
golden("foreign-redisbloom", FOREIGN, scheme=7, keys=1, seed=0, profile=PASSWORD, options=4)
golden("foreign-npm-bloomfilter", FOREIGN, scheme=9, keys=3, **MADE)
golden("foreign-npm-bloom-filters", FOREIGN, scheme=15, keys=5, **{**MADE, "seed": None})
golden("foreign-npm-bloom-filters-scalable", FOREIGN, scheme=24, keys=5, **{**MADE, "seed": 78187493520})
golden("foreign-parquet-sbbf", FOREIGN, scheme=16, keys=1, **MADE)
golden("foreign-pybloomfiltermmap3", FOREIGN, scheme=20, keys=1, **MADE)
golden("foreign-pyprobables", FOREIGN, scheme=21, keys=4, **MADE)
golden("foreign-rbloom", FOREIGN, scheme=22, keys=1, **MADE)
golden("foreign-bloom-filter2", FOREIGN, scheme=25, keys=4, **MADE)
golden("foreign-flor", FOREIGN, scheme=23, keys=1, **MADE)
golden("keyed-bloom", BLOOM, **NAMED)
golden("keyed-counting", COUNTING)
golden("keyed-scalable", SCALABLE)
golden("keyed-cuckoo", CUCKOO)
golden("keyed-ribbon", RIBBON)
golden("keyed-child", RIBBON, UPDATED, range(3000))
golden("url", RIBBON, profile=URL)
golden("tags", RIBBON)
golden("keyed-tags", RIBBON)
golden("tags-empty", RIBBON, range(0), range(1000, 1010))
golden("tags-default", RIBBON)
golden("tags-child", RIBBON, UPDATED, range(3000), **NAMED)
golden("tags-slots", RIBBON, **TWO)
golden("slots-one", RIBBON, ONE, range(9000, 30000), key=url, profile=URL)
golden("slots-two", RIBBON, **TWO)
golden("slots-child", RIBBON, ONE[20:] + [i for i in range(9000, 9300) if i % 30 == 10], range(30000), key=url,
       profile=URL, name="golden")
golden("keyed-slots", RIBBON, **TWO)
golden("password-lowercase", BLOOM, profile=PASSWORD, options=4)
golden("password-sha1-layers", BLOOM, profile=PASSWORD, options=12, **UPDATES, **NAMED)


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
        raise AssertionError(f"the README of tests/golden says nothing of {path.name}")
    kind, fields, members, asked, absent, key = GOLDEN[path.stem]
    blob = path.read_bytes()
    filter = decode(blob, secret_of(path.stem))
    equal(filter.kind, kind, "kind")
    for field, value in fields.items():
        if (field, value) != ("seed", None):  # the page doesn't say the seed of one file
            equal(getattr(filter, field), value, field)
    if filter.flags & LAYERS or kind == RIBBON:
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
        nonmembers = path.with_suffix(".tags").read_text().splitlines()
        equal([f"{i} {' '.join(tags(i))}" for i in listed if i not in members], nonmembers, "tags of non-members")
        counts = [sum(name in wanted(i) for i in members) for name in filter.all_names]
        equal(filter.tag_counts, counts, "members with each tag")


def check_delta(path):
    if path.stem not in CHILDREN:
        raise AssertionError(f"the README of tests/golden says nothing of {path.name}")
    parent, child = (load(name + ".bloom") for name in CHILDREN[path.stem])
    delta, secret = path.read_bytes(), secret_of(path.stem)
    made, old = decode_delta(delta, secret), decode(parent, secret)
    equal(made.parent, old.id, "parent")
    equal(apply(parent, delta, secret), child, "the child")
    equal(code(decode, delta, secret), "wrong_kind", "a delta as a filter")
    equal(code(decode_delta, parent, secret), "wrong_kind", "a filter as a delta")
    equal(code(apply, child, delta, secret), "wrong_base", "the child as parent")
    equal(code(apply, delta, delta, secret), "wrong_kind", "a delta as parent")
    equal(code(apply, parent, parent, secret), "wrong_kind", "a filter as delta")
    equal(code(apply, parent, delta, None if secret else SECRET), "secret_required" if secret else "wrong_secret")
    if not secret and old.profile == RAW:  # another seed has another check value
        for at, change in [(6, b"\2"), (9, b"\0")]:
            wrong = seal(delta[:at] + change + delta[at + 1:-4])
            equal(code(apply, parent, wrong, secret), "incompatible", f"byte {at}")
    if made.flags & TAGS:  # its names can't come twice, and its metadata counts more than the parent has
        return
    # Without a table only the metadata changes, and without layers the number of keys, too.
    empty = delta[:made.meta_end]
    bare = empty[:7] + struct.pack("<H", made.flags & ~LAYERS) + empty[9:]
    renamed = decode(apply(parent, seal(bare), secret), secret)
    equal((renamed.layers, renamed.name, renamed.count), ([], made.name, old.count), "a delta without a table")
    counted = decode(apply(parent, seal(empty + b"\0\1\2\0\0"), secret), secret)
    equal((counted.layers, counted.name, counted.count), ([], made.name, 513), "a delta without layers")
    if not made.layers:
        return
    # The two layers of the delta, 127 times in the parent, once in the delta, and once more alone.
    layers, levels = delta[made.meta_end + 5:made.table_end], delta[made.table_end:-4]
    equal(len(made.layers), 2, "layers")
    full = parent[:7] + struct.pack("<H", old.flags | LAYERS) + parent[9:old.meta_end] + b"\xfe" + bytes(4)
    full = seal(full + 127 * layers + parent[old.table_end:-4] + 127 * levels)
    head = delta[:made.meta_at - 8] + struct.pack("<Q", decode(full, secret).id)
    last = head + delta[made.meta_at:-4]
    equal(code(apply, full, seal(last), secret), "invalid_parameter", "256 layers")
    head += delta[made.meta_at:made.meta_end]
    first = made.layers[0].levels
    one = 14 + 4 * bool(old.flags & SLOTS) + sum(6 + 4 * len(level.ribbon.rows) for level in first)
    one = seal(head + b"\1" + bytes(4) + layers[:one] + levels[:sum(level.ribbon.size for level in first)])
    equal(len(decode(apply(full, one, secret), secret).layers), 255, "255 layers")


def check_examples():
    """The examples of the page."""
    abc, a = digest(b"abc", 0), digest(b"a", 0)
    equal((digest(b"", 0), a, abc), (0x0000000002CC5D05, 0x3C2569B2550D7456, 0xB3DD93FA32D153FF), "digests")
    equal(digest(b"abc", 0x0123456789ABCDEF), 0x94EADC7722159D81, "seed")
    equal(secret_values(SECRET, 42), (0xA60DE2C9C8FDCEF1, 0x8E0A6DA4DB2DFF4E, 0x6547840286CDFB49), "secret")
    for key, d in [(b"", 0xE0B8D9EB53A9D29A), (b"abc", 0xB9FBA27869276DE3), (300 * b"a", 0x543A1D7FCEF2A2FE)]:
        equal(digest(key, 42, SECRET), d, key[:3])
    equal(text_key("a\ud83d\ud83d\ude00\ude00"), "a\ufffd\U0001f600\ufffd".encode(), "the key of a text")
    slots = {"evil.example/": 0, "www.evil.example/": 6, "a.b.c.evil.example/": 18, "a.b.c.d.evil.example/": 24,
             "evil.example/a/": 1, "evil.example/a/b/c/": 3, "evil.example/a/b/c/d/": 4, "evil.example/a": 4,
             "10.0.1.5/": 24, "999.999.999.999/": 24, "[2001:db8::1]/x": 28, "localhost/": 24, "evil.example/a/?b/": 5,
             "evil.example": 4, "evil.example?a/": 0, "": 28}
    for key, slot in slots.items():
        equal(slot_of(key.encode()), slot, key)
    equal([slot_of(url(i).encode()) for i in range(60000)], [i % 30 for i in range(60000)], "slots of url-i")
    equal([url(0), url(10), url(29)], ["host0.example/", "w.host10.example/a", "10.0.0.29/?q"], "url-i")
    for key, without, d in [(b"evil.example/", 0xBBCF33804D47C25D, 0x03CF33804D47C25D),
                            (b"10.0.1.5/", 0x4A5882BA0E804E96, 0xC25882BA0E804E96)]:
        equal((digest(key, 0), with_slot(digest(key, 0), slot_of(key))), (without, d), key)
    first = mix(abc, 0)
    second, third = round_(first), round_(round_(first))
    equal((first, second, third), (0xBA37A97D70621AC7, 0xEF10604CBA37A97D, 0x1A1C69A4EF10604C), "states")
    equal(positions(abc, 1000, 3), [727, 933, 101], "bloom")
    equal((buckets(abc, 10, 8), mix(112, 0)), ((112, 7, 0), 0xB67D7F5238454DFA), "cuckoo")
    equal((place(first, 1000 - 63), third | 1, first & M32), (681, 0x1A1C69A4EF10604D, 0x70621AC7), "ribbon")
    ribbon, data = Ribbon(0.25, 0, [80]), bytearray(20)
    data[8] = data[18] = 1
    ribbon.load(bytes(data))
    columns = ribbon.stages[0][-1]
    equal((ribbon.c, ribbon.size, columns[0][:2], columns[1][:2]), (2, 20, [0, 0], [1, 1]), "blocks")
    equal(mix(abc, 1), 0x75D68AF2F0370708, "level")
    sites = {"a.b.evil.example/x?y": "evil.example", "10.0.1.5/": "10.0.1.5", "[2001:db8::1]/a": "[2001:db8::1]",
             "localhost/": "localhost"}
    for key, site in sites.items():
        equal(site_of(key.encode()), site.encode(), key)
    hosts = b"[::1]", b"1.2.3.4", b"1.2.3", b"1.2.3.4.5", b"1.2.3.1234", b"1.2.3.", b"a.b", b""
    equal([is_ip(host) for host in hosts], [True, True] + 6 * [False], "addresses")
    example = bytes.fromhex("02 01 61 01 62 01 00 00 02 00 02 00 01 01 01 00 00 00")
    at = In(example + bytes.fromhex("02000000 00 01 40000000"))
    tags = Tags(at, 0, [], 2**32 - 256)
    equal((tags.names, tags.codes, tags.default), (["a", "b"], {(1, 0): (0, 1), (1, 1): (1,)}, (0, 1)), "tags")
    equal((tags.filter, at.o), (None, len(at.d)), "tags")
    equal((mix(abc, 0xFFFFFF03), mix(a, 0xFFFFFF03)), (0x6A96E92F8E99F1A7, 0x806AFB309436413B), "bits of a code")


def check_writing():
    """The formulas of the page, applied to the keys, give the bytes that the page gives."""
    keys = [f"key-{i}".encode() for i in range(1000)]

    def asked(name):
        filter = decode(load(name + ".bloom"), secret_of(name))
        return filter, lambda key: digest(key, filter.seed, secret_of(name))

    for name in "bloom", "keyed-bloom", "password-lowercase":
        filter, digest_of = asked(name)
        m, k, found = filter.slices[0]
        equal((m, k), size_of_bloom(1000, 0.01), name)
        made = bytearray(ceil_div(m, 8))
        for key in keys:
            set_bits(made, digest_of(key), m, k)
        equal(found, bytes(made), name)
    for name, changes in [("counting4", [*keys, *20 * keys[:1]]), ("counting8", [*keys, *20 * keys[:1]]),
                          ("keyed-counting", keys)]:
        filter, digest_of = asked(name)
        equal((filter.m, filter.k), size_of_bloom(1000, 0.01), name)
        most, made = 2**filter.width - 1, [0] * filter.m
        for key in changes:
            for i in set(positions(digest_of(key), filter.m, filter.k)):
                made[i] = min(most, made[i] + 1)
        for key in [] if changes is keys else keys[1:100]:
            places = set(positions(digest_of(key), filter.m, filter.k))
            if all(made[i] for i in places):
                for i in places:
                    made[i] -= made[i] < most
        equal(filter.counters, made, name)
    for name, c, s, p, r in [("scalable", 100, 2, 0.05, 0.5), ("scalable-high", 50, 3, 0.8, 0.7),
                             ("scalable-one", 50, 3, 0.8, 0.3), ("keyed-scalable", 100, 2, 0.05, 0.5),
                             *[(f"scalable-from-{c}", c, 2, 0.01, 0.5) for c in (1, 2, 3, 4)]]:
        filter, digest_of = asked(name)
        made, count, (slices, room) = [], 0, scalable_slices(c, s, p, r, 0)
        for d in sorted(map(digest_of, keys[:100] if "from" in name else keys)):
            if any(has_bits(bits, d, m, k) for (m, k), bits in zip(slices, made)):
                continue
            if count == room:
                slices, room = scalable_slices(c, s, p, r, count + 1)
            made += [bytearray(ceil_div(m, 8)) for m, k in slices[len(made):]]
            set_bits(made[-1], d, *slices[-1])
            count += 1
        blob = load(name + ".bloom")
        found = blob[filter.in_params:filter.meta_at] + blob[filter.table_end:-4]
        equal(found, struct.pack("<IBddQ", c, s, p, r, count) + b"".join(made), name)


def set_bits(bits, d, m, k):
    for i in positions(d, m, k):
        bits[i >> 3] |= 1 << (i & 7)


def has_bits(bits, d, m, k):
    return all(bits[i >> 3] >> (i & 7) & 1 for i in positions(d, m, k))


def check_hashes():
    """What FORMAT-FOREIGN.md says of schemes and keys without a golden file, as far as an answer is known."""
    for hash_of, form, wanted in [  # SMHasher's verification values
            (lambda x, seed: (murmur2(x, seed),), "<I", 0x27864C1E),
            (lambda x, seed: (murmur64a(x, seed),), "<Q", 0x1F0D3804),
            (lambda x, seed: (murmur32(x, seed),), "<I", 0xB0F57EE3), (murmur128, "<2Q", 0x6384BA69)]:
        packed = b"".join(struct.pack(form, *hash_of(bytes(range(i)), 256 - i)) for i in range(256))
        equal(hash_of(packed, 0)[0] & M32, wanted, "a murmur hash")
    equal(fnv64(b"a"), 0xAF63DC4C8601EC8C, "fnv64")
    equal(fnv1(b"a"), 0xAF63BD4C8601B7BE, "fnv1")
    lone = "a\ud83d".encode("utf-8", "surrogatepass")
    equal(key_input(2, lone), b"a?", "keys 2")
    equal(key_input(3, lone + b"\xff"), b"a\0\x3d\xd8\xfd\xff", "keys 3")
    equal(key_input(4, "\U0001f600".encode()), b"\0\xf6\1\0", "keys 4")
    equal(key_input(5, lone), b"a" + chr(0x10000 + 0x3D * 0x400).encode(), "keys 5")
    for n in (-2**61, -2**61 + 1, -1, 0, 1, 2**61, 2**63 - 1, -2**63):
        equal(struct.unpack("<q", key_input(11, struct.pack("<q", n)))[0], hash(n), "keys 11")  # of CPython
    equal(key_input(12, b"abc"), bytes.fromhex("6a810647363e99a9"), "keys 12")
    for keys, schemes in SCHEMES_OF_KEYS.items():  # no member is missing
        length = {6: 4, 7: 8, 8: 8, 9: 4, 10: 8, 11: 8}.get(keys)
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
                data, x = bytearray(b), key_input(keys, key)
                if scheme in (17, 18):
                    h = key64(x, 0)
                    places = [i for i in range(b) if not in_part(scheme, keys, 0, x, m, k, note, bytes(
                        (h ^ h >> 32) & 255 ^ (i == j) for j in range(b)))]
                    equal(len(places), 3, "places")
                    data[places[0]] = (h ^ h >> 32) & 255
                else:
                    for i in places_of(scheme, keys, 0, x, m, k, note):
                        data[i >> 3] |= 1 << (i & 7)
                filter = decode(seal(head + data))
                equal((filter.has(key), filter.has(key + b"a") and length is not None), (True, False), (scheme, keys))


def check_rules():
    """Rules with a checksum that is right, and the order of section 8: those of tests/vectors/damage.json, and others."""
    for rules in json.loads((FOLDER.with_name("vectors") / "damage.json").read_text()).values():
        for rule in rules:
            blob = bytearray(load(rule["file"] + ".bloom"))
            for at, change in rule.get("change", {}).items():
                change = bytes.fromhex(change)
                blob[int(at):int(at) + len(change)] = change
            blob = bytes(blob[:rule["cut"]]) if "cut" in rule else seal(bytes(blob[:-4]))
            secret = {"right": SECRET, "wrong": SECRET[::-1]}.get(rule.get("secret"))
            equal(code(decode, blob, secret), rule.get("code", "no error"), rule)
    bad, u16 = "invalid_parameter", struct.Struct("<H").pack
    blob = load("bloom.bloom")
    for wrong, wanted in [(b"", "truncated"), (b"\xb5B", "truncated"), (b"a", "not_a_filter"),
                          (b"\xb5a", "not_a_filter"),
                          (blob + b"\0", "trailing_bytes"), (blob[:-1] + b"\0\0", "checksum_mismatch")]:
        equal(code(decode, wrong), wanted, wrong[-4:])
    cuckoo = load("cuckoo.bloom")[:-4]  # the crate says too_large
    equal(code(decode, seal(cuckoo[:17] + b"\xfe\xff\xff\xff\x20" + cuckoo[22:])), bad, "a huge cuckoo filter")
    # Names that are stored elsewhere come first, and aren't compared.
    for names in (["phishing"], [f"tag {i}" for i in range(255)]):
        equal(decode(load("tags.bloom"), names=names).all_names, names + ["phishing", "malware"], "more names")
    keyed = load("foreign-go-bloom.bloom")[:-4]
    keyed = keyed[:7] + u16(35) + keyed[9:17] + struct.pack("<Q", secret_values(SECRET, 0)[0]) + keyed[17:]
    equal(code(decode, seal(keyed), SECRET), bad, "keyed kind 6")
    # A delta over kind 6 may only change the metadata.
    parent = load("foreign-guava.bloom")
    head = MAGIC + struct.pack("<BBBHQQ", 1, 7, 0, 17, 0, decode(parent).id) + b"\6golden"
    bare = head[:7] + u16(1) + head[9:]
    equal(decode(apply(parent, seal(bare))).name, "golden", "metadata of kind 6")
    equal(code(apply, parent, seal(head + bytes(5))), "wrong_kind", "a number of keys over kind 6")
    delta = load("ribbon.delta")
    made = decode_delta(delta)
    equal(code(apply, parent, seal(head + delta[made.meta_end:-4])), "wrong_kind", "layers over kind 6")
    equal(code(decode, seal(delta[:7] + u16(made.flags & ~16) + delta[9:-4])), "checksum_mismatch", "no flag 16")
    tags, old = load("tags.delta"), load("tags.bloom")
    of_tags = decode_delta(tags)
    equal(of_tags.layers[-1].tags.names, ["spam"], "the name that is new")
    for name in (b"\7malware", b"\0"):  # known already, or none: so the numbers of the sets are unknown
        spam = tags.index(b"\4spam", of_tags.meta_end)
        wrong = seal(tags[:spam] + name + tags[spam + 5:-4])
        equal(code(apply, old, wrong), bad, "a name that can't be")


def main():
    paths = sorted(path for path in FOLDER.iterdir() if path.suffix in (".bloom", ".delta"))
    by_suffix = {".bloom": check_golden, ".delta": check_delta}
    checks = [(path.name, lambda path=path: by_suffix[path.suffix](path)) for path in paths]
    checks += [(check.__doc__.strip(), check) for check in (check_examples, check_hashes, check_writing, check_rules)]
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
    sys.exit(main())
