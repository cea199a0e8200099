#!/usr/bin/env python3
"""A client of feeds, written from FEED-FORMAT.md alone. It reads a folder instead of a host.

    python3 feed_reader.py [--state FILE] [--now MILLISECONDS] [--max-bytes N] [--secret FILE]
                           FOLDER PUBLIC_KEY... < KEYS
    python3 feed_reader.py --unsigned FOLDER < KEYS

It reads feed.json in the folder, and prints 1 for each line that is a key maybe present, and 0 for one that is absent.
With the profile password, a line is a password. A feed that is refused prints the code of the page and exits with 1.
Anything else that goes wrong, such as an argument, exits with 2.

Without --state it remembers nothing, without --now it takes the clock, and without --max-bytes it takes any length.
Public keys are in base64url. `--` goes before one that begins with a hyphen.

It needs the packages xxhash, mmh3 and cryptography.
"""

import argparse
import base64
import fcntl
import hashlib
import json
import os
import re
import sys
import time
import unicodedata
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reader import Error, apply, decode, need, secret_values

PROFILES = "raw", "url", "password"  # in the order of their numbers in a blob
WHOLE = 2**53 - 1


# What to fetch, from where.

class Folder:
    """A folder in place of a host. A missing file is `http`, as a host would say; an unreadable one is `network`."""

    def __init__(self, path):
        self.path = Path(os.path.abspath(path))

    def read(self, name, most):
        """At most this many bytes."""
        try:
            with open(self.path / name, "rb") as file:
                return file.read(most)
        except FileNotFoundError:
            raise Error("http", name) from None
        except OSError as error:
            raise Error("network", str(error)) from None

    def manifest(self, name):
        """Step 2, except for the contents."""
        data = self.read(name, 2**21 + 1)
        need(len(data) <= 2**21, name, "too_large")
        return data

    def file(self, sha256, length):
        """Step 10: a file with this hash and length. Reads one byte more, to notice a longer file."""
        for _ in range(2):
            data = self.read(sha256, length + 1)
            if len(data) == length and hashlib.sha256(data).hexdigest() == sha256:
                return data
        raise Error("integrity", sha256)


# The manifest. Everything that is wrong with it is `not_a_feed`, unless noted otherwise.

def check(true, why):
    need(true, why, "not_a_feed")


def parse(data):
    """JSON in UTF-8, without a byte order mark, NaN and members that occur twice; -0 isn't a whole number."""
    def members(pairs):
        check(len(dict(pairs)) == len(pairs), "a member twice")
        return dict(pairs)

    def constant(name):
        raise Error("not_a_feed", name)

    try:
        return json.loads(data.decode(), object_pairs_hook=members, parse_constant=constant,
                          parse_int=lambda text: -0.0 if text == "-0" else int(text))
    except (ValueError, RecursionError) as error:
        raise Error("not_a_feed", str(error)) from None


def base64url(text):
    """The bytes, or None unless the text is exactly the digits of some bytes."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (TypeError, ValueError):
        return None
    return data if digits(data) == text else None


def digits(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_whole(value, least=0, most=WHOLE):
    return type(value) is int and least <= value <= most  # so it isn't True, nor 1.0


def is_text(value, pattern):
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def is_hash(value):
    return is_text(value, "[0-9a-f]{64}")


def payload_of(data, typ, trusted):
    """Steps 2 and 3: the bytes of the payload, once a trusted key has signed it, or if `trusted` is None."""
    manifest = parse(data)
    check(isinstance(manifest, dict), "an object")
    payload, signatures = base64url(manifest.get("payload")), manifest.get("signatures")
    check(payload is not None and len(payload) <= 2**20, "payload")
    check(isinstance(signatures, list) and len(signatures) <= 16, "signatures")
    if trusted is not None:
        signed = any(has_signed(element, manifest["payload"], typ, trusted) for element in signatures)
        need(signed, "no trusted key", "signature")
    return payload


def has_signed(element, payload, typ, trusted):
    if not isinstance(element, dict):
        return False
    protected, signature = element.get("protected"), base64url(element.get("signature"))
    try:
        header = parse(base64url(protected) or b"")
    except Error:
        return False
    if not isinstance(header, dict) or header.get("alg") != "EdDSA" or header.get("typ") != typ:
        return False
    if "crit" in header or "b64" in header or signature is None or len(signature) != 64:
        return False
    for key in trusted:
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, f"{protected}.{payload}".encode())
            return True
        except InvalidSignature:
            pass
    return False


def described(data):
    """Step 4, but for `files`, which sharded filters don't have: the payload as an object."""
    payload = parse(data)
    check(isinstance(payload, dict), "an object")
    get = payload.get
    check(is_whole(get("version"), 1), "version")
    need(get("version") == 1, "version", "unsupported_version")
    check(is_text(get("feedId"), "[0-9a-f]{32}"), "feedId")
    for member in ("name", "homepage", "license"):
        try:
            check(isinstance(get(member, ""), str) and len(get(member, "").encode()) <= 255, member)
        except UnicodeEncodeError:  # half of a surrogate pair
            raise Error("not_a_feed", member) from None
    check("homepage" not in payload or is_text(get("homepage"), "https?://[!-~]+"), "homepage")
    check(is_whole(get("generation"), 1), "generation")
    check(all(is_whole(get(member), most=864 * 10**13) for member in ("createdAt", "expires")), "times")
    check(get("profile") in PROFILES, "profile")
    options = get("lowercase", False), get("sha1", False)
    check(all(type(option) is bool for option in options) and options != (True, True), "lowercase and sha1")
    check(True not in options or get("profile") == "password", "lowercase or sha1")
    check(type(get("fpr")) is float and 0 < get("fpr") < 1, "fpr")
    check(is_text(get("seed"), "0|[1-9][0-9]{0,19}") and int(get("seed")) < 2**64, "seed")
    check("check" not in payload or is_text(get("check"), "[0-9a-f]{16}"), "check")
    check(is_whole(get("count")), "count")
    return payload


def described_feed(data):
    """All of step 4."""
    payload = described(data)
    files = payload.get("files")
    check(isinstance(files, list) and 1 <= len(files) <= 64, "files")
    for i, file in enumerate(files):
        check(isinstance(file, dict) and file.get("kind") == ("delta" if i else "base"), "kind of a file")
        check(is_whole(file.get("bytes"), 1, 2**31 - 1) and is_hash(file.get("sha256")), "a file")
    return payload


def check_now(payload, now, secret):
    """Steps 7 and 8."""
    need(payload["expires"] > now, "expires", "expired")
    if "check" in payload:
        need(secret is not None, "keyed", "secret_required")
        found = secret_values(secret, int(payload["seed"]))[0]
        need(payload["check"] == f"{found:016x}", "check value", "wrong_secret")
    else:
        need(secret is None, "not keyed", "wrong_secret")


def fits(filter, payload):
    """Whether the filter is of the payload's profile, options and seed."""
    options = 4 * payload.get("lowercase", False) + 8 * payload.get("sha1", False)
    found = PROFILES[filter.profile], filter.options, filter.seed
    return found == (payload["profile"], options, int(payload["seed"]))


# What is remembered: an object that has, under the lines that the page has for the name of a head, the manifest with
# the highest generation. It is trusted again only if it verifies.

class Memory:
    def __init__(self, path, url, trusted):
        self.path, self.trusted = path, trusted
        self.name = "\n".join(["head", url] + sorted(map(digits, trusted or [])))

    def load(self):
        """Damage counts as nothing."""
        try:
            state = parse(Path(self.path).read_bytes())
        except (FileNotFoundError, Error):
            return {}
        return state if isinstance(state, dict) else {}

    def accepted(self, state):
        """Steps 3 and 4 again: payload and object of the manifest kept, or None."""
        manifest = state.get(self.name)
        if not isinstance(manifest, str):
            return None
        try:
            data = payload_of(manifest.encode(errors="surrogatepass"), "bloom-wasm-feed", self.trusted)
            return data, described_feed(data)
        except Error:
            return None

    def check(self, state, data, payload):
        """Steps 5 and 6. The page lets a client overlook a lower generation if one is in place; here none is."""
        highest = self.accepted(state)  # 1
        if highest and data != highest[0]:
            need(payload["feedId"] == highest[1]["feedId"], "feedId", "wrong_feed")
            need(payload["generation"] > highest[1]["generation"], "generation", "rollback")

    def remember(self, manifest, data, payload):
        """Only now. If another run has accepted a newer one meanwhile, that stays."""
        folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            state = self.load()
            try:
                self.check(state, data, payload)
            except Error:
                return
            state[self.name] = manifest.decode()
            with open(f"{self.path}.new", "w") as file:
                json.dump(state, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(f"{self.path}.new", self.path)
        finally:
            os.close(folder)  # and unlocks it


# What a client must do.

def follow(folder, trusted, memory, now, max_bytes, secret):
    """The payload, and the filter to query."""
    manifest = folder.manifest("feed.json")  # 2
    data = payload_of(manifest, "bloom-wasm-feed", trusted)  # 2, 3
    payload = described_feed(data)  # 4
    if memory:
        memory.check(memory.load(), data, payload)  # 1, 5, 6
    check_now(payload, now, secret)  # 7, 8
    total = sum(file["bytes"] for file in payload["files"])
    need(max_bytes is None or total <= max_bytes, "all files", "too_large")  # 9
    base, *deltas = [folder.file(file["sha256"], file["bytes"]) for file in payload["files"]]  # 10
    filter = decode(base, secret)  # 11
    for delta in deltas:
        base = apply(base, delta, secret)
    filter = decode(base, secret)
    check(fits(filter, payload), "profile, options or seed")
    if memory:
        memory.remember(manifest, data, payload)  # 13
    return payload, filter


# Lines and arguments.

def key_of(line, payload):
    """The key of a line. FORMAT.md, section 4, has the steps of passwords."""
    if payload["profile"] != "password":
        return line
    try:
        text = unicodedata.normalize("NFC", line.decode())
        if payload.get("lowercase", False):
            text = unicodedata.normalize("NFC", text.lower())
        line = text.encode()
    except UnicodeDecodeError:
        pass  # not text: its own bytes
    return hashlib.sha1(line).digest() if payload.get("sha1", False) else line


def answer(ask, payload):
    for line in sys.stdin.buffer:
        print(ask(key_of(line.removesuffix(b"\n"), payload)))


def public_key(text):
    key = base64url(text)
    if key is None or len(key) != 32:
        raise argparse.ArgumentTypeError("a public key is 32 bytes in base64url without padding, so 43 digits")
    return key


def secret_file(path):
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise argparse.ArgumentTypeError(error) from None
    if len(data) == 16:
        return data
    if re.fullmatch(rb"[0-9A-Fa-f]{32}\r?\n?", data):
        return bytes.fromhex(data.decode())
    raise argparse.ArgumentTypeError("a secret is 16 bytes, or 32 hexadecimal digits")


def number(text):
    if not re.fullmatch("[0-9]{1,16}", text):
        raise argparse.ArgumentTypeError("a whole number, in digits")
    return int(text)


def arguments(doc, more=()):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    for name, options in more:
        parser.add_argument(name, **options)
    parser.add_argument("--now", type=number, metavar="MILLISECONDS", default=time.time_ns() // 10**6)
    parser.add_argument("--secret", type=secret_file, metavar="FILE")
    parser.add_argument("--unsigned", action="store_true")
    parser.add_argument("folder", type=Folder, metavar="FOLDER")
    parser.add_argument("trusted", type=public_key, nargs="*", metavar="PUBLIC_KEY")
    given = parser.parse_args()
    if given.unsigned == bool(given.trusted):
        parser.error("give either public keys or --unsigned")
    given.trusted = None if given.unsigned else set(given.trusted)
    return given


def run(main):
    try:
        main()
        sys.stdout.flush()
    except Error as error:
        sys.stdout.flush()
        print(error.code, file=sys.stderr)
        sys.exit(1)
    except OSError as error:  # of the state, stdin or stdout
        print(error, file=sys.stderr)
        sys.exit(2)


def main():
    given = arguments(__doc__, [("--state", {"metavar": "FILE"}), ("--max-bytes", {"type": number, "metavar": "N"})])
    url = f"{given.folder.path.as_uri()}/feed.json"
    memory = Memory(given.state, url, given.trusted) if given.state is not None else None
    payload, filter = follow(given.folder, given.trusted, memory, given.now, given.max_bytes, given.secret)
    answer(lambda key: int(filter.has(key)), payload)


if __name__ == "__main__":
    run(main)
