#!/usr/bin/env python3
"""A reader of sharded filters, written from FORMAT.md and FEED-FORMAT.md alone. It asks a folder rather than a host.

    python3 shards_reader.py [--now MILLISECONDS] [--secret FILE] FOLDER PUBLIC_KEY... < KEYS
    python3 shards_reader.py --unsigned [--now MILLISECONDS] [--secret FILE] FOLDER < KEYS

For each line of the standard input it prints 1 if that key is maybe present, and 0 if it is absent. With the profile
password a line is a password; with the profile url it is a key such as `evil.example/`, not a URL. What is refused
prints the code on standard error, and exits with 1; the answers before it stand. Before a public key that begins with
a hyphen goes `--`. The file of a secret has its 16 bytes, or 32 hexadecimal digits.

It remembers nothing, so of the steps in "What a client must do" there are no 4 and 5. It needs the packages xxhash and
cryptography.
"""

import argparse
import re
import sys
import time
import unicodedata
from functools import cache
from hashlib import sha1
from pathlib import Path

from feed_reader import LARGEST_MANIFEST, PROFILES, Payload, fetch, fetch_file, must, open_manifest, public_key
from feed_reader import secret_file, string, whole
from reader import Delta, Error, Ribbon, decode, digest, high

SHARDS_OF_A_PAGE = 256
LARGEST_SHARD = 2**24
ENTRY = 40


class ShardsPayload(Payload):
    """Step 3, with what a sharded filter has in place of files."""

    typ = "bloom-wasm-shards"

    def read_rest(self, members):
        self.shards = whole(members.get("shards"), 1, 2**16)
        must(self.shards & (self.shards - 1) == 0)
        self.bytes = whole(members.get("bytes"))
        pages = members.get("pages")
        must(type(pages) is list and len(pages) == -(-self.shards // SHARDS_OF_A_PAGE))
        self.pages = [string(page, "[0-9a-f]{64}") for page in pages]


def site(key):
    """The part of a url key whose digest tells the shard."""
    host = key.split(b"/", 1)[0]
    if host.startswith(b"[") or b"." not in host or re.fullmatch(rb"[0-9]{1,3}(\.[0-9]{1,3}){3}", host):
        return host
    return b".".join(host.split(b".")[-2:])


def password_key(password, lowercase, hashed):
    """The key of a password; FORMAT.md, section 4. One that isn't Unicode text is taken as its own bytes."""
    try:
        text = unicodedata.normalize("NFC", password.decode("utf-8"))
    except UnicodeDecodeError:
        key = password
    else:
        if lowercase:
            text = unicodedata.normalize("NFC", text.lower())
        key = text.encode("utf-8")
    return sha1(key).digest() if hashed else key


class Sharded:
    """A filter in a folder. Pages and shards are read when a key needs them, and verified before they answer."""

    def __init__(self, folder, keys, now, secret=None):
        self.folder = folder
        self.secret = secret
        text = fetch(folder / "shards.json", LARGEST_MANIFEST)
        must(len(text) <= LARGEST_MANIFEST, "too_large")
        _, self.payload = open_manifest(text, keys, ShardsPayload)
        self.payload.check_time(now)
        self.payload.check_secret(secret)
        self.page = cache(self.read_page)
        self.shard = cache(self.read_shard)

    def key(self, line):
        """The key of a line of input."""
        if self.payload.profile == PROFILES["password"]:
            return password_key(line, self.payload.lowercase, self.payload.sha1)
        return line

    def index(self, key):
        """The number of a key's shard."""
        routed = site(key) if self.payload.profile == PROFILES["url"] else key
        return high(digest(routed, self.payload.seed, self.secret), self.payload.shards)

    def has(self, key):
        return self.shard(self.index(key)).has(key)

    def read_page(self, i):
        """For each shard of a page its name, its length and its number of keys."""
        entries = min(SHARDS_OF_A_PAGE, self.payload.shards)
        page = fetch_file(self.folder, ENTRY * entries, self.payload.pages[i])
        listed = []
        for at in range(0, len(page), ENTRY):
            size = int.from_bytes(page[at + 32 : at + 36], "little")
            must(1 <= size <= LARGEST_SHARD)
            listed.append((page[at : at + 32].hex(), size, int.from_bytes(page[at + 36 : at + 40], "little")))
        return listed

    def read_shard(self, i):
        name, size, count = self.page(i // SHARDS_OF_A_PAGE)[i % SHARDS_OF_A_PAGE]
        # It is keyed just if there is a secret, which is just if there is `check`.
        filter = decode(fetch_file(self.folder, size, name), self.secret)
        must(not isinstance(filter, Delta), "wrong_kind")
        must(isinstance(filter, Ribbon))
        must((filter.profile, filter.seed) == (self.payload.profile, self.payload.seed))
        # A key of the wrong options would be "absent", for no good reason.
        must(filter.options == 4 * self.payload.lowercase + 8 * self.payload.sha1)
        must(filter.count == count)
        return filter


def arguments():
    parser = argparse.ArgumentParser(description="Asks a sharded filter for the keys on standard input.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("keys", metavar="PUBLIC_KEY", type=public_key, nargs="*")
    parser.add_argument("--unsigned", action="store_true", help="trust a filter that nobody signed")
    parser.add_argument("--secret", type=secret_file, metavar="FILE", help="that of a keyed filter")
    parser.add_argument("--now", type=int, metavar="MILLISECONDS", help="the time, if not that of the clock")
    options = parser.parse_args()
    if options.unsigned == bool(options.keys):
        parser.error("either public keys or --unsigned")
    return options


def main():
    options = arguments()
    now = time.time_ns() // 1_000_000 if options.now is None else options.now
    try:
        filter = Sharded(options.folder, options.keys, now, options.secret)
        for line in sys.stdin.buffer:
            print(int(filter.has(filter.key(line[:-1] if line.endswith(b"\n") else line))))
    except Error as error:
        print(error.code, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
