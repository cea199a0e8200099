"""Makes and asks filters of flor. Jobs come on standard input, a line each, as systems.mjs says.

The scheme is "text" or "json", and then maybe data that the file carries.
"""

import json
import sys

from flor import BloomFilter


def keys(file, form):
    with open(file, "rb") as text:
        lines = text.read().removesuffix(b"\n").split(b"\n")
    return lines if form == "text" else [json.loads(line).encode() for line in lines]


for job in sys.stdin:
    what, scheme, filter, list, *rest = job.rstrip("\n").split("\t")
    form, _, data = scheme.partition(" ")
    if what == "make":
        made = BloomFilter(int(rest[0]), float(rest[1]), data.encode())
        for key in keys(list, form):
            try:
                made.add(key)
            except BloomFilter.CapacityError:
                pass  # The last key is in, and the filter now full.
        with open(filter, "wb") as file:
            made.write(file)
    else:
        asked = BloomFilter()
        with open(filter, "rb") as file:
            asked.read(file)
        with open(rest[0], "w") as file:
            file.writelines("1\n" if key in asked else "0\n" for key in keys(list, form))
