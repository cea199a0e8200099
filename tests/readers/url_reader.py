#!/usr/bin/env python3
"""The keys of URLs, by FORMAT-URLS.md, and what a blob says about them. The numbers of steps are that page's.

    python3 url_reader.py BLOB < URLS

For each line of the standard input it prints 1 if the URL is maybe on the list, and 0 if not, then a tab, and the keys
with spaces between them, sorted. It takes the parser of the URL Standard from the package ada-url, and needs xxhash and mmh3.

What Unicode 18 brought is read from scripts/unicode.txt, which the page names. A host isn't taken for a long one.
"""

import re
import sys
import unicodedata
from ipaddress import IPv6Address
from pathlib import Path

import ada_url

from reader import decode

SPECIAL = (b"http", b"https", b"ftp", b"ws", b"wss")
# What step 4 makes of a character; "" for one that is dropped, and the character itself for one that is valid.
TABLE = {}
for row in Path(__file__).parents[2].joinpath("scripts/unicode.txt").read_text(encoding="utf-8").splitlines():
    if row and not row.startswith("#"):
        table, points, *to = row.split(" ")
        first, last = (int(point, 16) for point in (points.split("..") * 2)[:2])
        for i in range(last - first + 1):
            becomes = {"map": to and (chr(int(to[0][2:], 16) + i) if to[0].startswith("U+") else to[0]), "invisible": ""}
            TABLE[chr(first + i)] = becomes.get(table, chr(first + i))
JOINERS = {char: char for char in "\u200c\u200d"}
# The URL Standard's forbidden domain code points, the replacement character, and surrogates for bytes that aren't UTF-8.
FORBIDDEN = re.compile("[\0-\x20#%/:<>?@\\[-^|\x7f\ufffd\udc80-\udcff]")


def scheme_of(text):
    """The scheme that a text has, or None."""
    found = re.match(rb"([A-Za-z][A-Za-z0-9+.-]*):", text)
    if not found or re.match(rb"[0-9]+([/?#]|\Z)", text[found.end():]):
        return None
    return found[1].lower()


def parsed(text):
    """The serialisation, or None. Bytes that aren't UTF-8 are given as escapes."""
    whole = text.decode("utf-8", "surrogateescape")
    try:
        return ada_url.URL(re.sub("[\udc80-\udcff]", lambda c: f"%{ord(c[0]) - 0xDC00:02X}", whole)).href.encode()
    except ValueError:
        return None


def is_special(href):
    return href.split(b":")[0].lower() in SPECIAL


def unescaped(text):
    """Step 3. One pass from the left is enough if the escape that a byte completes is looked at again."""
    out = bytearray()
    for byte in text:
        out.append(byte)
        while re.search(rb"%[0-9A-Fa-f]{2}\Z", out[-3:]):
            out[-3:] = bytes([int(out[-2:], 16)])
    return bytes(out)


def authority_at(text):
    """Where the authority is: its beginning and its end. None without one."""
    if (scheme := re.match(rb"[A-Za-z][A-Za-z0-9+.-]*:", text)) and scheme_of(text) is not None:
        if text[scheme.end():scheme.end() + 2] != b"//":
            return None
        start = scheme.end() + 2
    else:
        start = 2 if text.startswith(b"//") else 0
    return start, start + re.search(rb"[/?]|\Z", text[start:]).start()


def without_user(text):
    if not (at := authority_at(text)):
        return text
    start, end = at
    return text[:start] + text[start:end].rpartition(b"@")[2] + text[end:]


def without_port(host):
    literal = host.find(b"]") if host.startswith(b"[") else -1
    port = host.find(b":", literal + 1)
    return host if port < 0 else host[:port]


def ipv4(host):
    numbers = []
    labels = host.split(b".")
    for label in labels:
        form = re.fullmatch(rb"0x([0-9a-f]+)|0([0-7]+)|(0|[1-9][0-9]*)", label)
        if not form:
            return None
        base = 16 if form[1] else 8 if form[2] else 10
        numbers.append(int(form[1] or form[2] or form[3], base))
    *firsts, last = numbers
    if len(numbers) > 4 or any(n > 255 for n in firsts) or last >= 256 ** (5 - len(numbers)):
        return None
    whole = last + sum(n << 24 - 8 * i for i, n in enumerate(firsts))
    return b".".join(b"%d" % (whole >> shift & 255) for shift in (24, 16, 8, 0))


def ipv6(host):
    if not re.fullmatch(rb"\[[0-9a-f:.]+\]", host):
        return None
    try:
        address = IPv6Address(host[1:-1].decode())
    except ValueError:
        return None
    high, low = int(address) >> 32, int(address) & 0xFFFFFFFF
    if high in (0xFFFF, 0x64FF9B << 64):
        return b".".join(b"%d" % (low >> shift & 255) for shift in (24, 16, 8, 0))
    return b"[%s]" % address.compressed.encode()


def without_dots(path):
    parts, last = [], b""
    for part in path[1:].split(b"/"):
        last = re.sub(rb"%2[eE]", b".", part)
        if last == b"..":
            parts = parts[:-1]
        elif last != b".":
            parts.append(part)
    if last in (b".", b".."):
        parts.append(b"")
    return b"/" + b"/".join(parts)


def single_slashes(path):
    path = re.sub(rb"/+", b"/", path)
    return path if path.startswith(b"/") else b"/" + path


def escaped(part):
    return re.sub(rb"[\0-\x20\x7f-\xff#%]", lambda byte: b"%%%02X" % byte[0][0], part)


def canonical(text):
    """The canonical form of the bytes that were taken: host, path and query; None if there is none."""
    text, mark, query = text.partition(b"#")[0].partition(b"?")  # step 1
    text, query = unescaped(without_user(text)), unescaped(query)  # steps 2 and 3
    scheme = scheme_of(text) or b"http"  # step 4
    if scheme not in SPECIAL or not authority_at(text):
        return None
    start, end = authority_at(text)
    host = without_port(text[start:end].rpartition(b"@")[2])
    host = b".".join(filter(None, host.split(b"."))).lower()  # step 5
    host = ipv4(host) or ipv6(host) or host
    if not host:
        return None
    path = without_dots(single_slashes(text[end:].replace(b"\\", b"/")))  # step 6
    host, path, query = (escaped(part) for part in (host, path, mark + query))  # step 7
    host = host.replace(b"\\", b"%5C")
    return host, path.replace(b"?", b"%3F"), query


def is_address(host):
    return host in (ipv4(host), ipv6(host))


def keys(form):
    """The keys of a canonical form."""
    host, path, query = form
    hosts = [host]
    if not is_address(host):
        labels = host.split(b".")
        hosts += [b".".join(labels[-n:]) for n in (5, 4, 3, 2) if n < len(labels)]
    paths = [path + query] if len(query) > 1 else []
    slashes = [i + 1 for i, byte in enumerate(path) if byte == 47]
    paths += [path] + [path[:end] for end in slashes[:4]]
    return {host + path for host in hosts for path in paths}


def nfc(text):
    return unicodedata.normalize("NFC", text)


def taken_apart(text):
    """Steps 1 to 3 of the second reading of a cleaned text: scheme, authority, host, and what follows; None without one."""
    scheme = re.match(rb"([A-Za-z][A-Za-z0-9+.-]*):", text)
    if scheme and scheme[1].lower() in SPECIAL:  # step 1
        scheme, text = scheme[1].lower(), text[scheme.end():]
    elif scheme_of(text) is not None or re.match(rb"[?#]|/(?![/\\])", text):
        return None
    else:
        scheme = b"http"
    text = text.lstrip(b"/\\")  # step 2
    authority = re.match(rb"[^/\\?#]*", text)[0]
    rest = text[len(authority):]
    path = re.match(rb"[^?#]*", rest)[0]
    rest = without_dots(path.replace(b"\\", b"/")) + rest[len(path):]
    return scheme, authority, authority.rpartition(b"@")[2], rest  # step 3


def decoded(host):
    """A host without escapes, as text; a byte that isn't UTF-8 is a lone surrogate."""
    return unescaped(host).decode("utf-8", "surrogateescape")


def modern(host, refused, sharp):
    """Step 4"""
    for _ in range(2):
        table = {**TABLE, "\u1e9e": sharp, **(JOINERS if refused else {})}
        host = "".join(table.get(char, char) for char in decoded(host)).encode("utf-8", "surrogateescape")
    return without_port(host)


def reading(scheme, host, rest):
    """Steps 5 and 6: the canonical form, or None; whether it is certain; whether the parser brought the host to NFC."""
    is_literal = host.startswith(b"[") and len(host) < 1000
    if is_literal:
        parts = list(host.decode("utf-8", "replace"))
    else:
        parts = host.decode("utf-8", "surrogateescape").split(".")
        if len(parts) > 128:
            return None, False, True
    new, odd = [], []
    parts = [part_of(part, new, odd) for part in parts]
    host = ("" if is_literal else ".").join(parts).encode("utf-8", "surrogateescape")
    certain = all(part.isascii() for part in parts) and all(TABLE.get(char) == char for char in new)
    return canonical(scheme + b"://" + host + rest), certain, not odd


def part_of(part, new, odd):
    """What a part becomes. `new` gets the characters that the parser doesn't know, `odd` what it didn't bring to NFC."""
    if part.isascii() or FORBIDDEN.search(part):
        return part
    if its := parsed_part(part):
        if (text := from_punycode(its)) == nfc(text):
            return its
        odd.append(text)
        return in_punycode(nfc(text))
    joined = "".join(char for char in part if char not in JOINERS)
    if joined != part:
        return part_of(joined, new, odd)
    text = ""
    for char in part:
        its = char.lower() if char.isascii() else known(char)
        if its is None:
            new.append(char)
            its = nfc(nfc(char).lower())
        text += its
    return ".".join(map(in_punycode, nfc(text).split(".")))


def in_punycode(label):
    return label if label.isascii() else "xn--" + label.encode("punycode").decode()


def from_punycode(label):
    return label[4:].encode().decode("punycode") if label.startswith("xn--") else label


def parsed_part(part):
    href = parsed(f"http://{part}.a/".encode())
    return href and href.decode().removeprefix("http://").removesuffix(".a/")


def known(char):
    """What the parser makes of a character, alone or after one of two letters; None if it doesn't know it."""
    for before in ("", "中", "א"):
        if its := parsed_part(before + char):
            if (text := from_punycode(its)).startswith(before):
                return text[len(before):]
    return None


def forms_of(line):
    """The canonical form of a URL and its second reading, each None if there is none."""
    text = re.sub(rb"[\t\r\n]", b"", line).strip(bytes(range(33)))
    href, scheme, refused = parsed(text), scheme_of(text), False
    if href and is_special(href):  # step 1
        first = canonical(href)
    elif scheme is not None and href:  # step 2
        first = None
    else:
        again = None
        if scheme is None:  # step 3
            before = b"http:" if text.startswith(b"//") else b"" if text[:1] in b"/?#" else b"http://"
            again = parsed(before + text)
        first, refused = canonical(again or text), not again
    taken = taken_apart(text)
    if not taken or not refused and not re.search(rb"[\x80-\xff%]", taken[1]):
        return first, None
    scheme, _, raw, rest = taken
    host, plain = modern(raw, refused, "ß"), decoded(raw)
    other, certain, normal = reading(scheme, host, rest)
    if not certain or not other:
        return first, other
    if "\u1e9e" in plain:
        return other, reading(scheme, modern(raw, refused, "ss"), rest)[0]
    if refused and (not plain.isascii() or re.search(rb"(^|\.)xn--", host, re.I)):  # step 4
        return other, None
    return (first, other) if normal else (other, None if refused else first)


def folders_of(line):
    """What is looked up instead of path and query if escapes may lead out of a folder."""
    taken = taken_apart(re.sub(rb"[\t\r\n]", b"", line).strip(bytes(range(33))))
    literal, query = re.fullmatch(rb"(?s)([^?#]*)(.*)", taken[3] if taken else b"").groups()
    folders = folders_before_hidden_dots(literal)
    if not folders:
        return []
    once = re.sub(rb"%([0-9A-Fa-f]{2})", lambda escape: bytes([int(escape[1], 16)]), literal)
    for path in (once, once.replace(b"\\", b"/")):
        path = without_dots(escaped(single_slashes(path)).replace(b"?", b"%3F"))
        folders += folders_before_hidden_dots(path) + [path + query]
    return folders


def folders_before_hidden_dots(path):
    parts = path.split(b"/")
    hidden = [i for i, part in enumerate(parts) if b".." in re.split(rb"[/\\]", unescaped(part))]
    return [b"/".join(parts[:i] + [b""]) for i in hidden[:2]]


def keys_of(line):
    """All keys of a URL."""
    forms = [form for form in forms_of(line) if form]
    in_folders = [canonical(b"http://" + form[0] + folder) for form in forms for folder in folders_of(line)]
    return set().union(*map(keys, forms + in_folders))


def main():
    blob = decode(Path(sys.argv[1]).read_bytes())
    for line in sys.stdin.buffer:
        found = keys_of(line.removesuffix(b"\n"))
        print(int(any(blob.has(key) for key in found)), b" ".join(sorted(found)).decode(), sep="\t")


if __name__ == "__main__":
    main()
