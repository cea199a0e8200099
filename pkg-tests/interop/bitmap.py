"""Makes and asks bitmaps in Redis, with the hash mmh3. Jobs come on standard input, a line each, as systems.mjs says.

The scheme is "BITS HASHES". The argument is the server's port.
"""

import socket
import sys

import mmh3
import redis

port = int(sys.argv[1])
client = redis.Redis(port=port)
# Millions of commands are sent inline, and each is answered by 4 bytes: the client library would take ten times as
# long.
pipe = socket.create_connection(("127.0.0.1", port))
answers = pipe.makefile("rb")


def lines(file):
    with open(file, "rb") as text:
        return text.read().removesuffix(b"\n").split(b"\n")


def bits_of(keys, command, bits, hashes):
    """For each key, the command's answers for its bits."""
    for start in range(0, len(keys), 1000):
        some = keys[start : start + 1000]
        places = (mmh3.hash(key, seed) % bits for key in some for seed in range(hashes))
        pipe.sendall(b"".join(command % place for place in places))
        replies = answers.read(4 * len(some) * hashes)
        assert set(replies[0::4]) == {ord(":")}, replies
        yield from (replies[i + 1 : i + 4 * hashes : 4] for i in range(0, len(replies), 4 * hashes))


for job in sys.stdin:
    what, shape, filter, list, *rest = job.rstrip("\n").split("\t")
    bits, hashes = map(int, shape.split())
    client.delete("filter")
    if what == "make":
        for _ in bits_of(lines(list), b"SETBIT filter %d 1\r\n", bits, hashes):
            pass
        with open(filter, "wb") as file:
            file.write(client.get("filter"))
    else:
        with open(filter, "rb") as file:
            client.set("filter", file.read())
        with open(rest[0], "w") as file:
            for found in bits_of(lines(list), b"GETBIT filter %d\r\n", bits, hashes):
                file.write("0\n" if b"0" in found else "1\n")
