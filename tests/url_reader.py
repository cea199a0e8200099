#!/usr/bin/env python3
"""The keys of URLs, by section 10 of FORMAT.md, and what a blob says of them. The numbers of steps are that page's.

    python3 url_reader.py BLOB < URLS

For each line of the standard input it prints 1 if the URL is maybe on the list, and 0 if not, then a tab, and the keys
with spaces between them, sorted. It takes the parser of the URL Standard from the package ada-url, and needs xxhash.

It knows no parser but this one, so it leaves out what only makes lists alike under several: no second reading is newer
(step 4 of "what is canonicalised"), and a part of a host that isn't ASCII and doesn't parse is an error.
"""

import re
import sys
from ipaddress import IPv6Address
from pathlib import Path

import ada_url

from reader import decode

SPECIAL = (b"http", b"https", b"ftp", b"ws", b"wss")
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
MAPPED = {"\u3002": ".", "\uff61": ".", "\ufe6a": "%", **{chr(0xFF01 + i): chr(33 + i) for i in range(94)}}
MAPPED.update((char, "0") for char in "\u2070\u2080\u24ea\U0001d7ce\U0001d7d8\U0001d7e2\U0001d7ec\U0001d7f6\U0001fbf0")


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
    """Step 3. One pass from the left is enough if what a byte completes is looked at again."""
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


def canonical(text):
    """The canonical form of the bytes that were taken: host, path and query; None if there is none."""
    text = unescaped(without_user(text.partition(b"#")[0]))  # steps 1 to 3
    scheme = scheme_of(text) or b"http"  # step 4
    if scheme not in SPECIAL or not authority_at(text):
        return None
    text = without_user(text)
    start, end = authority_at(text)
    host = b".".join(filter(None, without_port(text[start:end]).split(b"."))).lower()  # step 5
    host = ipv4(host) or ipv6(host) or host
    if not host:
        return None
    path, mark, query = text[end:].partition(b"?")  # step 6
    path = re.sub(rb"/+", b"/", without_dots(path))
    escaped = lambda part: re.sub(rb"[\0-\x20\x7f-\xff#%]", lambda byte: b"%%%02X" % byte[0][0], part)
    host, path, query = (escaped(part) for part in (host, path, mark + query))  # step 7
    return host, path.replace(b"\\", b"%5C"), query


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


def second(text, refused):
    """The second reading of a cleaned text, before its canonical form; None if there is none."""
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
    if not refused and not re.search(rb"[\x80-\xff%]", authority):
        return None
    host = authority.rpartition(b"@")[2]  # step 3
    for _ in range(2):  # step 4
        chars = unescaped(host).decode("utf-8", "surrogateescape")
        chars = INVISIBLE.sub(lambda c: c[0] if refused and c[0] in "\u200c\u200d" else "", chars)
        host = "".join(MAPPED.get(char, char) for char in chars).encode("utf-8", "surrogateescape")
    host = without_port(host)
    is_literal = host.startswith(b"[") and len(host) < 1000  # step 5
    chars = host.decode("utf-8", "surrogateescape")
    parts = list(chars) if is_literal else chars.split(".")
    if not is_literal and len(parts) > 128:
        return None
    host = ("" if is_literal else ".").join(map(part_of, parts)).encode("utf-8", "surrogateescape")
    return scheme + b"://" + host + rest  # step 6


def part_of(part):
    if part.isascii() or re.search("[\udc80-\udcff]", part):
        return part
    if href := parsed(f"http://{part}.a/".encode()):
        return href.decode()[len("http://"):-len(".a/")]
    if re.search("[\u200c\u200d]", part):
        return part_of(re.sub("[\u200c\u200d]", "", part))
    raise ValueError(f"ada doesn't know {part!r}")


def keys_of(line):
    """All keys of a URL."""
    text = re.sub(rb"[\t\r\n]", b"", line).strip(bytes(range(33)))
    href, scheme, refused = parsed(text), scheme_of(text), False
    taken = text
    if href and is_special(href):  # step 1
        taken = href
    elif scheme is not None and href:  # step 2
        taken = None
    else:
        again = None
        if scheme is None:  # step 3
            before = b"http:" if text.startswith(b"//") else b"" if text[:1] in b"/?#" else b"http://"
            again = parsed(before + text)
        taken, refused = again or text, not again
    forms = [canonical(taken)] if taken is not None else []
    other = second(text, refused)
    forms += [canonical(other)] if other is not None else []
    return set().union(*(keys(form) for form in forms if form))


def main():
    blob = decode(Path(sys.argv[1]).read_bytes())
    for line in sys.stdin.buffer:
        found = keys_of(line.removesuffix(b"\n"))
        print(int(any(blob.has(key) for key in found)), b" ".join(sorted(found)).decode(), sep="\t")


if __name__ == "__main__":
    main()
