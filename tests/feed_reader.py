#!/usr/bin/env python3
"""A client of feeds, written from FEED-FORMAT.md alone. It asks a folder rather than a host.

    python3 feed_reader.py [--state FILE] [--now MILLISECONDS] [--max-bytes N] FOLDER PUBLIC_KEY... < KEYS
    python3 feed_reader.py --unsigned FOLDER < KEYS

For each line of the standard input it prints 1 if that key is maybe present, and 0 if it is absent. A feed that is
refused prints the code on standard error, and exits with 1. Before a public key that begins with a hyphen goes `--`.
With `--secret FILE` the feed is keyed: the file has the 16 bytes of the secret, or 32 hexadecimal digits.

The numbers of the steps are those of "What a client must do". It needs the packages xxhash and cryptography.
"""

import argparse
import json
import os
import re
import sys
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reader import Delta, Error, apply, decode, derived

PROFILES = {"raw": 0, "url": 1, "password": 2}
LARGEST_MANIFEST = 2**21
LARGEST_PAYLOAD = 2**20
LATEST = 8_640_000_000_000_000


def must(condition, code="not_a_feed"):
    if not condition:
        raise Error(code)


def to_base64url(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text):
    """Anything but the one way to write these bytes is refused: other digits, padding, unused bits."""
    must(type(text) is str)
    try:
        data = urlsafe_b64decode(text + "==")
    except ValueError:
        raise Error("not_a_feed") from None
    must(to_base64url(data) == text)
    return data


def no_constant(name):
    raise ValueError(f"{name} is no JSON")


def parse(data):
    """The members of a JSON object in UTF-8. Numbers become floats, so that true isn't 1, and 1.0 is."""
    try:
        members = json.loads(data.decode("utf-8"), parse_int=float, parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise Error("not_a_feed") from None
    must(type(members) is dict)
    return members


def whole(value, least=0, most=2**53 - 1):
    must(type(value) is float and value.is_integer() and least <= value <= most)
    return int(value)


def string(value, pattern):
    must(type(value) is str and re.fullmatch(pattern, value))
    return value


def boolean(value):
    must(type(value) is bool)
    return value


class Manifest:
    """The outer object, of step 1. Nothing looks into the payload before `verify`."""

    def __init__(self, text, typ):
        self.text = text
        self.typ = typ
        members = parse(text)
        self.encoded = members.get("payload")
        self.payload = from_base64url(self.encoded)
        must(len(self.payload) <= LARGEST_PAYLOAD)
        signatures = members.get("signatures")
        must(type(signatures) is list and len(signatures) <= 16)
        self.signatures = [pair for pair in map(self.read_signature, signatures) if pair]

    def read_signature(self, entry):
        """What was signed, and the signature; None if it is one to ignore."""
        try:
            must(type(entry) is dict)
            protected, signature = entry.get("protected"), from_base64url(entry.get("signature"))
            must(len(signature) == 64)
            header = parse(from_base64url(protected))
        except Error:
            return None
        if (header.get("alg"), header.get("typ")) != ("EdDSA", self.typ):
            return None
        if "crit" in header or "b64" in header:
            return None
        return f"{protected}.{self.encoded}".encode("ascii"), signature

    def verify(self, keys):
        """Step 2."""
        must(any(verifies(key, *pair) for key in keys for pair in self.signatures), "signature")


def verifies(key, message, signature):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


class Payload:
    """Step 3. `typ` is that of the signatures of such a manifest."""

    typ = "bloom-wasm-feed"

    def __init__(self, data):
        members = parse(data)
        version = members.get("version")
        must(type(version) is float and version >= 1)
        must(version == 1, "unsupported_version")
        self.feed_id = string(members.get("feedId"), "[0-9a-f]{32}")
        self.check_name(members.get("name", ""))
        self.generation = whole(members.get("generation"), 1)
        self.created_at = whole(members.get("createdAt"), most=LATEST)
        self.expires = whole(members.get("expires"), most=LATEST)
        self.profile = PROFILES[string(members.get("profile"), "|".join(PROFILES))]
        self.lowercase = boolean(members.get("lowercase", False))
        self.sha1 = boolean(members.get("sha1", False))
        must(self.profile == PROFILES["password"] or not (self.lowercase or self.sha1))
        must(not (self.lowercase and self.sha1))
        fpr = members.get("fpr")
        must(type(fpr) is float and 0 < fpr < 1)
        self.seed = int(string(members.get("seed"), "0|[1-9][0-9]{0,19}"))
        must(self.seed < 2**64)
        self.check = int(string(members["check"], "[0-9a-f]{16}"), 16) if "check" in members else None
        self.count = whole(members.get("count"))
        self.read_rest(members)

    def read_rest(self, members):
        """What only a feed has."""
        files = members.get("files")
        must(type(files) is list and 1 <= len(files) <= 64)
        self.files = [self.read_file(file, "delta" if i else "base") for i, file in enumerate(files)]

    def check_time(self, now):
        """Step 6."""
        must(self.expires > now, "expired")

    def check_secret(self, secret):
        """Step 7."""
        must(secret is not None or self.check is None, "secret_required")
        check = None if secret is None else derived(secret, self.seed)[0]
        must(self.check == check, "wrong_secret")

    @staticmethod
    def check_name(name):
        must(type(name) is str)
        try:
            must(len(name.encode("utf-8")) <= 255)
        except UnicodeEncodeError:  # a lone surrogate
            raise Error("not_a_feed") from None

    @staticmethod
    def read_file(file, kind):
        must(type(file) is dict and file.get("kind") == kind)
        return whole(file.get("bytes"), 1, 2**31 - 1), string(file.get("sha256"), "[0-9a-f]{64}")


class Memory:
    """What a client remembers, named as the JavaScript client names it. What is damaged binds nobody.

    It keeps whole manifests rather than payloads, so that their signatures can be verified anew.
    """

    def __init__(self, file, url, keys):
        self.file = file
        self.url = url
        self.keys = keys
        self.entries = {}
        try:
            entries = json.loads(file.read_text("utf-8")) if file else {}
        except (OSError, ValueError, RecursionError):
            return
        if type(entries) is dict:
            self.entries = entries

    def name(self, word, subject):
        keys = sorted({to_base64url(key) for key in self.keys})
        return f"{word}-" + sha256("\n".join([word, subject, *keys]).encode()).hexdigest()

    def feed_id(self):
        """The one that the URL is bound to, if any."""
        feed_id = self.entries.get(self.name("feed", self.url))
        return feed_id if type(feed_id) is str and self.newest(feed_id) else None

    def newest(self, feed_id):
        """The manifest of the highest generation that was accepted, and its payload; None if there is none."""
        text = self.entries.get(self.name("manifest", feed_id))
        try:
            must(type(text) is str)
            manifest, payload = open_manifest(text.encode("utf-8"), self.keys)
            must(payload.feed_id == feed_id)
        except (Error, UnicodeEncodeError):
            return None
        return manifest, payload

    def put(self, manifest, payload):
        if not self.file:
            return
        self.entries[self.name("manifest", payload.feed_id)] = manifest.text.decode("utf-8")
        self.entries[self.name("feed", self.url)] = payload.feed_id
        half = self.file.with_name(f"{self.file.name}.{os.getpid()}.tmp")
        try:
            half.write_text(json.dumps(self.entries), "utf-8")
            os.replace(half, self.file)
        except OSError as error:
            print(f"feed_reader.py: nothing is remembered: {error}", file=sys.stderr)


def open_manifest(text, keys, kind=Payload):
    """Steps 1 (but for fetching) to 3. Without keys the feed is said to be unsigned."""
    manifest = Manifest(text, kind.typ)
    if keys:
        manifest.verify(keys)
    return manifest, kind(manifest.payload)


def fetch(path, limit):
    """A file's first `limit` bytes, and one more if there is one, which tells that it is longer."""
    try:
        with open(path, "rb") as file:
            return file.read(limit + 1)
    except FileNotFoundError:
        raise Error("http") from None
    except OSError:
        raise Error("network") from None


def fetch_file(folder, size, digest):
    """Step 9, for one file."""
    for _ in range(2):
        data = fetch(folder / digest, size)
        if len(data) == size and sha256(data).hexdigest() == digest:
            return data
    raise Error("integrity")


def assemble(payload, files, secret):
    """Step 10: the filter."""
    blob = files[0]
    must(not isinstance(decode(blob, secret), Delta), "wrong_kind")
    for delta in files[1:]:
        blob = apply(blob, delta, secret)
    filter = decode(blob, secret)
    must((filter.profile, filter.seed) == (payload.profile, payload.seed))
    must(filter.options == 4 * payload.lowercase + 8 * payload.sha1)
    return filter


def follow(folder, keys, memory, now, most_bytes, secret=None):
    """All steps."""
    text = fetch(folder / "feed.json", LARGEST_MANIFEST)
    must(len(text) <= LARGEST_MANIFEST, "too_large")
    manifest, payload = open_manifest(text, keys)
    must(memory.feed_id() in (None, payload.feed_id), "wrong_feed")  # 4
    newest = memory.newest(payload.feed_id)
    if newest:  # 5
        accepted, known = newest
        must(payload.generation >= known.generation, "rollback")
        must(payload.generation > known.generation or manifest.payload == accepted.payload, "rollback")
    payload.check_time(now)
    payload.check_secret(secret)
    must(sum(size for size, _ in payload.files) <= most_bytes, "too_large")  # 8
    filter = assemble(payload, [fetch_file(folder, *file) for file in payload.files], secret)
    memory.put(manifest, payload)
    return filter


def public_key(text):
    try:
        key = from_base64url(text)
        must(len(key) == 32)
    except Error:
        raise argparse.ArgumentTypeError("a public key is 32 bytes in base64url") from None
    return key


def secret_file(path):
    try:
        data = Path(path).read_bytes()
        secret = data if len(data) == 16 else bytes.fromhex(data.decode("ascii"))
    except (OSError, ValueError):
        secret = b""
    if len(secret) != 16:
        raise argparse.ArgumentTypeError("the file of a secret has 16 bytes, or 32 hexadecimal digits")
    return secret


def arguments():
    parser = argparse.ArgumentParser(description="Asks a feed for the keys on standard input.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("keys", metavar="PUBLIC_KEY", type=public_key, nargs="*")
    parser.add_argument("--unsigned", action="store_true", help="trust a feed that nobody signed")
    parser.add_argument("--secret", type=secret_file, metavar="FILE", help="that of a keyed feed")
    parser.add_argument("--state", type=Path, metavar="FILE", help="what to remember from call to call")
    parser.add_argument("--now", type=int, metavar="MILLISECONDS", help="the time, if not that of the clock")
    parser.add_argument("--max-bytes", type=int, metavar="N", default=2**31 - 1, help="refuse more in all files")
    options = parser.parse_args()
    if options.unsigned == bool(options.keys):
        parser.error("either public keys or --unsigned")
    return options


def main():
    options = arguments()
    now = time.time_ns() // 1_000_000 if options.now is None else options.now
    url = (options.folder / "feed.json").resolve().as_uri()
    memory = Memory(options.state, url, options.keys)
    try:
        filter = follow(options.folder, options.keys, memory, now, options.max_bytes, options.secret)
    except Error as error:
        print(error.code, file=sys.stderr)
        return 1
    for line in sys.stdin.buffer:
        print(int(filter.has(line[:-1] if line.endswith(b"\n") else line)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
