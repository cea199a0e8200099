#!/usr/bin/env python3
"""A reader of sharded filters, written from FORMAT.md and FEED-FORMAT.md alone.

    python3 shards_reader.py [--now MILLISECONDS] [--secret FILE] FOLDER PUBLIC_KEY... < KEYS
    python3 shards_reader.py --unsigned FOLDER < KEYS

It reads shards.json in the folder, and pages and shards when a line needs them. It prints 1 for each line that is a key
maybe present, and 0 for one that is absent. With the profile password, a line is a password; with the profile url, a
key such as `evil.example/`, and not a URL. What is refused prints the code of the page and exits with 1; the answers
before it stand. The rest is as in feed_reader.py.
"""

import functools
import struct

from feed_reader import answer, arguments, check, check_now, described, fits, is_hash, is_whole, payload_of, run
from reader import Ribbon, ceil_div, decode, digest, high, is_address


def described_shards(data):
    """Step 3 for a sharded filter."""
    payload = described(data)
    shards, pages = payload.get("shards"), payload.get("pages")
    check(is_whole(shards, 1, 2**16) and shards.bit_count() == 1, "shards")
    check(is_whole(payload.get("bytes")), "bytes")
    check(isinstance(pages, list) and len(pages) == ceil_div(shards, 256) and all(map(is_hash, pages)), "pages")
    return payload


def site(key):
    """FORMAT.md, section 12: the part of a host that says in which shard its keys are."""
    host = key.partition(b"/")[0]
    return host if is_address(host) else b".".join(host.split(b".")[-2:])


class Shards:
    def __init__(self, folder, payload, secret):
        self.folder, self.payload, self.secret = folder, payload, secret
        self.page = functools.cache(self.page)
        self.shard = functools.lru_cache(64)(self.shard)  # all of them could be too much

    def page(self, i):
        """Step 1"""
        return self.folder.file(self.payload["pages"][i], 40 * min(256, self.payload["shards"]))

    def shard(self, i):
        """Steps 2 to 4"""
        sha256, length, count = struct.unpack_from("<32sII", self.page(i // 256), i % 256 * 40)
        check(1 <= length <= 2**24, "length of a shard")  # 2
        filter = decode(self.folder.file(sha256.hex(), length), self.secret)  # 3, 4
        check(isinstance(filter, Ribbon) and fits(filter, self.payload) and filter.count == count, "a shard")
        return filter

    def has(self, key):
        hashed = site(key) if self.payload["profile"] == "url" else key
        d = digest(hashed, int(self.payload["seed"]), self.secret)
        return self.shard(high(d, self.payload["shards"])).has(key)


def main():
    given = arguments(__doc__)
    payload = described_shards(payload_of(given.folder.manifest("shards.json"), "bloom-wasm-shards", given.trusted))
    check_now(payload, given.now, given.secret)
    answer(Shards(given.folder, payload, given.secret).has, payload)


if __name__ == "__main__":
    run(main)
