#!/usr/bin/env python3
"""A reader of sharded filters, written from FORMAT.md and FEED-FORMAT.md alone.

    python3 shards_reader.py [--now MILLISECONDS] [--secret FILE] FOLDER PUBLIC_KEY... < KEYS
    python3 shards_reader.py --unsigned FOLDER < KEYS

It reads shards.json in the folder, and pages and shards when a line needs them. It prints 1 for each line that is a key
maybe present, and 0 for one that is absent. If the filter has tags, those of a key follow after a tab, with commas
between them. With the profile password, a line is a password; with the profile url, a
key such as `evil.example/`, and not a URL. What is refused prints the code of the page and exits with 1; the answers
before it stand. The rest is as in feed_reader.py.
"""

import functools
import struct

from feed_reader import (answer, arguments, check, check_now, described, fits, is_hash, is_text, is_whole, payload_of,
                         run)
from reader import RIBBON, Blob, digest, is_tag_name, shard_of, site_of


def described_shards(data):
    """Step 4 for a sharded filter."""
    payload = described(data)
    shards, pages = payload.get("shards"), payload.get("pages")
    check(is_whole(shards, 1, 2**16) and shards.bit_count() == 1, "shards")
    check(is_whole(payload.get("bytes")), "bytes")
    check(isinstance(pages, list) and len(pages) == (shards + 255) // 256 and all(map(is_hash, pages)), "pages")
    if "tags" in payload:
        tags = payload["tags"]
        check(isinstance(tags, list) and 1 <= len(tags) <= 255, "tags")
        for tag in tags:
            check(isinstance(tag, dict) and is_text(tag.get("name"), r"[^\ud800-\udfff]+") and is_tag_name(tag["name"]) and is_whole(tag.get("count")), "a tag")
        check(len({tag["name"] for tag in tags}) == len(tags), "a tag twice")
    return payload


class Shards:
    def __init__(self, folder, payload, secret):
        self.folder, self.payload, self.secret = folder, payload, secret
        self.names = [tag["name"] for tag in payload.get("tags", [])]
        self.page = functools.cache(self.page)
        self.shard = functools.lru_cache(64)(self.shard)  # all of them could be too much

    def page(self, i):
        """Step 1"""
        return self.folder.file(self.payload["pages"][i], 40 * min(256, self.payload["shards"]))

    def shard(self, i):
        """Steps 2 to 4"""
        sha256, length, count = struct.unpack_from("<32sII", self.page(i // 256), i % 256 * 40)
        check(1 <= length <= 2**24, "length of a shard")  # 2
        filter = Blob(self.folder.file(sha256.hex(), length), self.secret, self.names)  # 3, 4
        check(filter.kind == RIBBON and fits(filter, self.payload) and filter.count == count, "a shard")
        check((filter.tags is not None) == ("tags" in self.payload), "tags of a shard")
        check(filter.tags is None or filter.all_names == self.names, "names of a shard")
        return filter

    def of(self, key):
        """The shard of a key."""
        hashed = site_of(key) if self.payload["profile"] == "url" else key
        d = digest(hashed, int(self.payload["seed"]), self.secret)
        return self.shard(shard_of(d, self.payload["shards"]))

    def answer(self, key):
        """Whether a key is maybe present and, if it is, its tags."""
        shard = self.of(key)
        tags = shard.tags_of(key) or [] if shard.tags else []
        return "\t".join([str(int(shard.has(key)))] + [",".join(tags)] * (tags != []))


def main():
    given = arguments(__doc__)
    payload = described_shards(payload_of(given.folder.manifest("shards.json"), "bloom-wasm-shards", given.trusted))
    check_now(payload, given.now, given.secret)
    answer(Shards(given.folder, payload, given.secret).answer, payload)


if __name__ == "__main__":
    run(main)
